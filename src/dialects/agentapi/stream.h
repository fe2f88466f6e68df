/* dialects/agentapi/stream.h — internals of the agentapi dialect's stream: its state, and the frames of a message.
 */
#pragma once

#include "dialects/agentapi/agentapi.h"
#include "dialects/core/open_message.h"
#include "dialects/core/frame.h"
#include "model/call_source.h"

enum { WD_AAP_NEW, WD_AAP_STARTED, WD_AAP_PAUSED, WD_AAP_ENDED }; /* stages of a stream */

/* The message being sent. */
struct wd_aap_live {
    bool open;
    bool tool;                /* its content is a call, sent as snapshots, not as deltas */
    uint8_t kind;             /* enum wd_aap_kind */
    struct wm_call_source of; /* of a call, or of the call of an output */
    bool closes, cut;         /* its part is closed; the next event tells how it ended: closing frames wait */
    enum wd_aap_status status;
    size_t part, sent; /* sent: bytes of the arguments in the last snapshot */
    struct upp_str id, call, name, agent;
    struct upp_str delta_head; /* of a text's frames: what comes between the sequence number and the text */
    const char *type;
    struct wb_arena texts; /* holds the five texts above */
    struct wb_buf content;
};

struct wd_aap_stream {
    bool bare;                 /* no message gets the status "created" */
    const struct wd_tool *mcp; /* tools of the agent that are of MCP servers */
    size_t n_mcp;
    struct upp_str session, id; /* id: of the first response, if the request chose one */
    struct wb_arena memory;     /* of the run's options */
    uint8_t stage, aside;
    bool fresh;                             /* the response is created, and "in progress" waits for the next event */
    uint64_t sequence, responses, messages; /* counts; ids are derived from them */
    uint64_t number;                        /* of the frame that is being written */
    int64_t created_ms;
    struct wb_uuid run;
    struct wd_open open;
    size_t next;              /* the first part of the open message that was not sent */
    size_t n_output, n_calls; /* bytes of `output`, and number of calls, when the open message began */
    struct wd_aap_live live;
    struct wd_calls calls; /* calls that were sent and have no outcome */
    struct wb_buf output;
    struct wb_arena scratch;
    struct wb_buf text;
};

/* The UUID in the id of the nth response of a run, from 1. Applied to it again, it gives the run. */
struct wb_uuid wd_aap_response_uuid(struct wb_uuid run, uint64_t number);

/* Begins a response unless one is open: created; and in progress, unless that was said. Writes a response frame; a
 * final one contains all output. */
void wd_aap_progress(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o);
void wd_aap_to_started(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o);
void wd_aap_response_frame(struct wd_aap_stream *s, struct wd_out *o, enum wd_aap_status status,
                           const struct wm_event *ev);

/* A message of type heartbeat. It takes a number of the sequence, and is in no output. */
void wd_aap_heartbeat(struct wd_aap_stream *s, struct wd_out *o);

/* What a message is about; all zero: no call. */
struct wd_aap_about {
    struct upp_str call, name;
    struct wm_call_source of;
};

/* Begins a message; none is open. It is part k of the model's message. */
void wd_aap_live_open(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, enum wd_aap_kind kind,
                      size_t k, const struct wd_aap_about *about);

/* Adds text. A call is sent as a snapshot each time its size has doubled. */
void wd_aap_live_add(struct wd_aap_stream *s, struct wd_out *o, struct upp_str text);

/* Sends the content as far as it has come. */
void wd_aap_content_frame(struct wd_aap_stream *s, struct wd_out *o, enum wd_aap_status status,
                          const struct upp_part *media);

/* Completes the content and the message, and adds the message to the response's output. Does nothing if none is
 * open. */
void wd_aap_live_close(struct wd_aap_stream *s, struct wd_out *o, enum wd_aap_status status,
                       const struct upp_part *media);

/* Sends a whole message. */
void wd_aap_whole(struct wd_aap_stream *s, const struct wm_event *ev, struct wd_out *o, enum wd_aap_kind kind, size_t k,
                  const struct wd_aap_about *about, struct upp_str text, enum wd_aap_status status);
