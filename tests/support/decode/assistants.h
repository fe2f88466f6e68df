/* support/decode/assistants.h — reading a stream of the Assistants API (docs/dialects/assistants.md) into the model.
 *
 *     struct wd_asst_decoder d;
 *     wd_asst_decoder_init(&d, &doc, &arena, agent);
 *     for each event of the stream: r = wd_asst_decode(&d, name, data, now_ms, &err);
 *     r = wd_asst_decode_end(&d, &err);        the doc has the turns of its runs
 *     wd_asst_decoder_done(&d);
 *
 * Segments of one run may be given one after the other: the end of one is not the end of what it is about. The last
 * whole object of a message or step counts; where none came that says more, its deltas do. What comes in an order that
 * clients refuse is read as far as it can be. Events nobody knows are skipped and counted.
 */
#pragma once

#include "base/buf.h"
#include "dialects/core/document.h"

enum {
    WD_ASST_OBJECTS = 1 << 13, /* messages, runs and steps of one stream */
    WD_ASST_PIECES = 1 << 12,  /* parts of a message, calls of a step */
    WD_ASST_EVENT = 64 << 20,  /* bytes of one event, and of one text */
};

/* A part of a message or a call of a step, as its deltas make it. */
struct wd_asst_piece {
    bool there, image;
    struct upp_str id, name, output; /* of a call */
    struct wb_buf text;              /* or the address of an image, or arguments */
};

struct wd_asst_object {
    char kind; /* 'm' message, 'r' run, 's' step */
    bool ended;
    struct upp_str id;
    struct upp_str after; /* of a step: the message before it; no text: none */
    yyjson_val *last;     /* whole; NULL: not yet */
    WB_VEC(struct wd_asst_piece) pieces;
};

struct wd_asst_decoder {
    struct wm_doc *doc;
    struct wb_arena *a; /* the doc's texts */
    struct wb_arena scratch;
    struct upp_str agent; /* where the stream names none */
    WB_VEC(struct wd_asst_object) objects;
    struct upp_str status; /* of the run that was heard of last; no text: none */
    struct upp_str error;  /* that the stream ended with; no text: none */
    int64_t now_ms;
    uint64_t ids;
    size_t events, skipped;
};

void wd_asst_decoder_init(struct wd_asst_decoder *d, struct wm_doc *doc, struct wb_arena *a, struct upp_str agent);
void wd_asst_decoder_done(struct wd_asst_decoder *d);

/* One event: its name (no text: data are {"event","data"}, as old servers have it), and its data. -UPP_EINVALID: they
 * are no JSON object; -UPP_ELIMIT. */
int wd_asst_decode(struct wd_asst_decoder *d, struct upp_str name, struct upp_str data, int64_t now_ms,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Nothing more comes: what is still open was cut. */
int wd_asst_decode_end(struct wd_asst_decoder *d, struct upp_err *err) UPP_MUST_CHECK;
