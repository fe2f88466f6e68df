/* dialects/agentapi/decode.h — reading the stream of an Agent API response (docs/dialects/agentapi.md) into the model.
 *
 *     struct wd_aap_decoder d;
 *     wd_aap_decoder_init(&d, &arena);
 *     for each line of the stream: r = wd_aap_decode(&d, line, &err);
 *     wd_aap_decoder_end(&d);
 *     ... d.status, d.code, d.message, d.usage, and wd_aap_decoded_write ...
 *     wd_aap_decoder_done(&d);
 *
 * Lines are those of SSE ("data: {...}"), or JSON alone. Deltas are gathered by msg_id and index; without a msg_id the
 * message that is open is meant. A stream that ends before its response does has failed: what was said is kept, and
 * what was open is cut.
 */
#ifndef WD_AGENTAPI_DECODE_H
#define WD_AGENTAPI_DECODE_H

#include "dialects/agentapi/build.h"

enum {
    WD_AAP_LINE     = 64 << 20, /* bytes of one line */
    WD_AAP_MESSAGES = 1 << 12,  /* of one stream */
};

struct wd_aap_decoder {
    struct wb_arena *a; /* all texts */
    struct wb_arena  scratch;
    WB_VEC(struct wd_aap_building) messages;
    size_t             open;  /* the message that was begun last, and one more; 0: none */
    size_t             first; /* message of the response that is read */
    bool               begun;
    bool               numbered; /* there was a sequence_number: the last one is */
    uint64_t           sequence;
    enum wd_aap_status status; /* of the response */
    struct upp_str     id, session, code, message;
    uint64_t           created_at, completed_at; /* seconds; 0: not said */
    bool               has_usage;
    struct upp_usage   usage;
    uint64_t           reasoning;
    size_t             frames, skipped;
};

void wd_aap_decoder_init(struct wd_aap_decoder *d, struct wb_arena *a);
void wd_aap_decoder_done(struct wd_aap_decoder *d);

/* -UPP_EINVALID: it is no frame, a sequence_number is missing or came twice, a content goes on after its end ...;
 * -UPP_ELIMIT. What is refused changes nothing that was gathered. */
int wd_aap_decode(struct wd_aap_decoder *d, struct upp_str line, struct upp_err *err) UPP_MUST_CHECK;

/* Are these the lines of a stream? Its first frame is a response or a content. */
bool wd_aap_is_stream(struct upp_str lines);

/* All that a stream said as the document of a response (docs/dialects/agentapi.md). err says which line is wrong. */
int wd_aap_stream_document(struct upp_str lines, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* Nothing more comes: a response that has not ended has failed. */
void wd_aap_decoder_end(struct wd_aap_decoder *d);

/* The messages, as a list. */
void wd_aap_decoded_write(struct wj_writer *w, struct wd_aap_decoder *d);

#endif
