/* dialects/agentapi/decode.h — reading the stream of an Agent API response (docs/dialects/agentapi.md) into the model.
 *
 *     struct wd_aap_decoder d;
 *     wd_aap_decoder_init(&d, &arena);
 *     for each line of the stream: r = wd_aap_decode(&d, line, &err);
 *     wd_aap_decoder_end(&d);
 *     ... d.status, d.code, d.message, d.usage, and wd_aap_decoded_write ...
 *     wd_aap_decoder_done(&d);
 *
 * Lines are SSE lines ("data: {...}") or bare JSON. Deltas are collected by msg_id and index; without a msg_id they
 * belong to the open message. A stream that ends before its response has failed: its content is retained, and
 * whatever was open is cut.
 */
#pragma once

#include "dialects/agentapi/build.h"

enum {
    WD_AAP_LINE = 64 << 20,    /* bytes per line */
    WD_AAP_MESSAGES = 1 << 12, /* per stream */
};

struct wd_aap_decoder {
    struct wb_arena *a; /* holds all texts */
    struct wb_arena scratch;
    WB_VEC(struct wd_aap_building) messages;
    size_t open;  /* 1 + index of the message begun last; 0: none */
    size_t last;  /* 1 + index of the message that the last frame was about; 0: none */
    size_t first; /* index of the current response's first message */
    bool begun;
    bool numbered; /* there was a sequence_number; `sequence` is the last one */
    uint64_t sequence;
    enum wd_aap_status status; /* of the response */
    struct upp_str id, session, code, message;
    uint64_t created_at, completed_at; /* seconds; 0: absent */
    bool has_usage;
    struct upp_usage usage;
    uint64_t reasoning;
    size_t frames, skipped;
};

void wd_aap_decoder_init(struct wd_aap_decoder *d, struct wb_arena *a);
void wd_aap_decoder_done(struct wd_aap_decoder *d);

/* -UPP_EINVALID: not a frame, a missing or repeated sequence_number, a delta after its content's end ...;
 * -UPP_ELIMIT. A refused line changes nothing that was collected. */
int wd_aap_decode(struct wd_aap_decoder *d, struct upp_str line, struct upp_err *err) UPP_MUST_CHECK;

/* Are these the lines of a stream? Its first frame is a response or a content. */
bool wd_aap_is_stream(struct upp_str lines);

/* Writes the whole stream as a response document (docs/dialects/agentapi.md). err names the line that is wrong. */
int wd_aap_stream_document(struct upp_str lines, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* The stream has ended: a response without an end has failed. */
void wd_aap_decoder_end(struct wd_aap_decoder *d);

/* The same, and the doc has one turn more, if there was output. `agent`: if the stream names none. */
int wd_aap_decode_end(struct wd_aap_decoder *d, struct wm_doc *doc, struct upp_str agent, int64_t now_ms,
                      struct upp_err *err) UPP_MUST_CHECK;

/* Writes the messages, as a list. */
void wd_aap_decoded_write(struct wj_writer *w, struct wd_aap_decoder *d);
