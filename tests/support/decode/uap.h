/* support/decode/uap.h — reading AgentStreamEvents (docs/dialects/uap.md) into the model.
 *
 *     struct wd_uap_decoder d;
 *     wd_uap_decoder_init(&d, &doc, &arena, agent);
 *     for each event of the stream: r = wd_uap_decode(&d, data, number, now_ms, &err);
 *     r = wd_uap_decode_end(&d, &err);          the doc has a turn more for each agent that spoke
 *     wd_uap_decoder_done(&d);
 *
 * What the model said is a message, what tools answered a message behind it, system events stand where they came. What
 * is scaffolding, and what child runs say, is left out. Events nobody knows are skipped and counted.
 */
#pragma once

#include "base/buf.h"
#include "dialects/upp/doc.h"

enum {
    WD_UAP_BLOCKS = 1 << 14, /* of one message, and results of one round */
    WD_UAP_EVENT = 64 << 20, /* bytes of one event, and of one text */
};

/* A part as it comes. */
struct wd_uap_block {
    uint64_t index;
    uint8_t kind; /* 0: nothing of it has come yet */
    bool open;
    struct upp_str id, name;
    struct wb_buf text;
};

struct wd_uap_result {
    struct upp_part part;
    uint64_t number; /* of the event that told it */
};

struct wd_uap_decoder {
    struct wm_doc *doc;
    struct wb_arena *a; /* the doc's texts */
    struct wb_arena scratch;
    struct upp_str agent; /* where the stream names none */
    struct upp_str who, run;
    struct wd_upp_calls calls;
    WB_VEC(struct wd_uap_block) blocks;
    WB_VEC(struct wd_uap_result) results; /* that no message has yet */
    WB_VEC(uint64_t) numbers;             /* of the events that made the entries, from `first` on */
    size_t first, turns;                  /* of the doc, when it began */
    uint32_t last;                        /* the message whose calls are not known to be run yet */
    bool speaking, asked;                 /* a message is open; there is a `last` */
    uint64_t number;
    int64_t now_ms;
    size_t events, skipped;
};

void wd_uap_decoder_init(struct wd_uap_decoder *d, struct wm_doc *doc, struct wb_arena *a, struct upp_str agent);
void wd_uap_decoder_done(struct wd_uap_decoder *d);

/* One event. `number` is that of the event of the run (the id of the SSE event); 0: nobody knows, and a void attempt
 * takes back only the message that is open. -UPP_EINVALID: it is no JSON object with a source and an event;
 * -UPP_ELIMIT. */
int wd_uap_decode(struct wd_uap_decoder *d, struct upp_str data, uint64_t number, int64_t now_ms,
                  struct upp_err *err) UPP_MUST_CHECK;

/* Nothing more comes: what is still open was cut. */
int wd_uap_decode_end(struct wd_uap_decoder *d, struct upp_err *err) UPP_MUST_CHECK;
