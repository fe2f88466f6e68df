/* dialects/ui/decode.h — reading a UI message stream (docs/dialects/ui.md) into the model.
 *
 *     struct wd_ui_decoder d;
 *     wd_ui_decoder_init(&d, &doc, &arena, agent);
 *     for each event of the stream: r = wd_ui_decode(&d, data, now_ms, &err);
 *     r = wd_ui_decode_end(&d, &err);          the doc has one turn more a message
 *     wd_ui_decoder_done(&d);
 *
 * Deltas of one text become one part; two texts are never one. What comes in an order that the AI SDK refuses is read
 * as far as it can be. Chunks nobody knows are skipped and counted.
 */
#pragma once

#include "base/buf.h"
#include "dialects/core/document.h"

enum {
    WD_UI_SLOTS = 1 << 14,  /* parts, steps and events of one message */
    WD_UI_CHUNK = 64 << 20, /* bytes of one chunk, and of one text */
};

/* A part as it comes, an event, or (kind 0) the beginning of a step. */
struct wd_ui_slot {
    struct upp_part part;
    struct upp_part result; /* kind 0: none yet */
    struct upp_str block;   /* the id of an open block */
    struct wb_buf text;
    bool open, event;
    /* Of an event: its id is part.id, its type part.name, its data part.text. */
    struct upp_str source, targets; /* JSON */
    int64_t time_ms;
};

struct wd_ui_decoder {
    struct wm_doc *doc;
    struct wb_arena *a; /* the doc's texts */
    struct wb_arena scratch;
    struct upp_str agent; /* where the stream names none */
    WB_VEC(struct wd_ui_slot) slots;
    bool begun; /* there is a message */
    struct upp_str id, who, name, model, provider, time, ended;
    uint8_t stop;
    struct wm_doc_turn usage; /* its has_usage and usage */
    int64_t now_ms;
    size_t chunks, skipped;
};

void wd_ui_decoder_init(struct wd_ui_decoder *d, struct wm_doc *doc, struct wb_arena *a, struct upp_str agent);
void wd_ui_decoder_done(struct wd_ui_decoder *d);

/* The data of one event: a chunk, or [DONE]. -UPP_EINVALID: it is no JSON object with a type; -UPP_ELIMIT. */
int wd_ui_decode(struct wd_ui_decoder *d, struct upp_str data, int64_t now_ms, struct upp_err *err) UPP_MUST_CHECK;

/* Nothing more comes: what is still open was cut. */
int wd_ui_decode_end(struct wd_ui_decoder *d, struct upp_err *err) UPP_MUST_CHECK;

/* Are these the lines of a stream (Server-Sent Events, or a chunk per line)? Its first chunk is one that begins. */
bool wd_ui_is_stream(struct upp_str lines);

/* Writes the messages of a whole stream as a document, a list (docs/dialects/ui.md). `agent`: if the stream names none.
 * *skipped: the chunks that nobody knows. err names the line that is wrong. */
int wd_ui_stream_document(struct upp_str lines, struct upp_str agent, int64_t now_ms, struct wb_buf *out,
                          size_t *skipped, struct upp_err *err) UPP_MUST_CHECK;

/* The message that was gathered becomes a turn (decode_turn.c). */

int wd_ui_decode_turn(struct wd_ui_decoder *d, struct upp_err *err) UPP_MUST_CHECK;
