/* dialects/agentapi/stream.h — inside of the agentapi dialect's stream: its state, and the frames of one message after
 * the other.
 */
#ifndef WD_AGENTAPI_STREAM_H
#define WD_AGENTAPI_STREAM_H

#include "dialects/agentapi/agentapi.h"
#include "dialects/core/calls.h"
#include "dialects/core/frame.h"
#include "dialects/core/open_message.h"

enum { WD_AAP_NEW, WD_AAP_STARTED, WD_AAP_PAUSED, WD_AAP_ENDED }; /* stages of a stream */

/* The message that is being sent. */
struct wd_aap_live {
    bool               open;
    bool               tool; /* its content is a call: snapshots, not pieces */
    uint8_t            kind; /* enum wd_aap_kind */
    bool               client;
    enum wd_aap_status status;
    size_t             part, told; /* told: bytes of the arguments in the last snapshot */
    struct upp_str     id, call, name, agent;
    struct upp_str     piece; /* what stands in each frame of a text between its number and the text */
    const char        *type;
    struct wb_arena    texts; /* of the five above */
    struct wb_buf      said;
};

struct wd_aap_stream {
    bool                  bare; /* no message is ever "created" */
    const struct upp_str *client;
    size_t                n_client;
    struct upp_str        session;
    uint8_t               stage, aside;
    uint64_t              sequence, responses, messages; /* how many there were; their ids follow from it */
    int64_t               created_ms;
    struct wb_uuid        run;
    struct wd_open        open;
    size_t                next;       /* the first part of what is said that was not sent */
    size_t                mark, made; /* length of the output, and calls, when that began */
    struct wd_aap_live    live;
    struct wd_calls       calls; /* that were sent and have no outcome */
    struct wb_buf         output;
    struct wb_arena       scratch;
    struct wb_buf         text;
};

/* A response begins where none has: created, in progress. And a frame of it; of one that is over with all its output.
 */
void wd_aap_to_started(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o);
void wd_aap_response_frame(struct wd_aap_stream *s, struct wd_out *o, enum wd_aap_status status,
                           const struct wm_event *ev);

/* A message begins; none is open. It is part k of what is said. */
void wd_aap_live_open(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, enum wd_aap_kind kind,
                      size_t k, struct upp_str call, struct upp_str name, bool client);

/* More of its text. A call is told as far as it has come, each time it has doubled. */
void wd_aap_live_add(struct wd_aap_stream *s, struct wd_out *o, struct upp_str text);

/* What there is of its content. */
void wd_aap_content_frame(struct wd_aap_stream *s, struct wd_out *o, enum wd_aap_status status,
                          const struct upp_part *media);

/* The content whole, and the message; it is remembered for the response. Nothing where none is open. */
void wd_aap_live_close(struct wd_aap_stream *s, struct wd_out *o, enum wd_aap_status status,
                       const struct upp_part *media);

/* All of a message at once. */
void wd_aap_whole(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, enum wd_aap_kind kind, size_t k,
                  struct upp_str call, struct upp_str name, struct upp_str text, bool client,
                  enum wd_aap_status status);

#endif
