/* dialects/responses/response.h — a run as a response of OpenAI's Responses API, while it grows: its items and the
 * response object.
 *
 * A response is one segment of a run: it ends when the run ends, or when the client has to act. Text of one message of
 * the log is an item `message`, each reasoning part an item `reasoning`, a call of the client's tools `function_call`,
 * a call that the server runs `mcp_call`, an approval that a person has to give `mcp_approval_request`.
 */
#pragma once

#include "base/vec.h"
#include "dialects/core/frame.h"
#include "dialects/core/open_message.h"
#include "model/event.h"
#include "model/run.h"

/* true, among the options of a run: its request said `store: false`. */
#define RESP_OPTION_UNSTORED "weft_unstored"

/* Of a stream. */
struct wd_responses_opts {
    bool whole; /* one frame at the end of each segment: the response */
};

/* A call that the server runs. */
struct resp_call {
    struct upp_str id, name, arguments;
    uint32_t output; /* index of its item */
};

/* A part of the open message. */
struct resp_part {
    uint32_t output, content; /* index of its item, and of the part in it */
};

struct resp_stream {
    bool whole;             /* no events: one frame at the end of each segment */
    bool begun;             /* this response has its first event */
    bool paused;            /* the client has to act */
    bool ended;             /* the run has */
    bool aside;             /* the open message is scaffolding */
    bool has_item;          /* the open message has its item ... */
    uint32_t item;          /* ... with this index, */
    uint32_t n_content;     /* so many parts */
    struct wb_uuid message; /* and this id */
    uint32_t segment;       /* responses before this one */
    uint32_t sequence;      /* number of the next event */
    uint32_t n_output;      /* items so far */
    size_t kept;            /* bytes of `items` at the last record */
    uint8_t status;         /* of the run */
    uint8_t stop;           /* of its last message */
    int64_t created_ms;
    int64_t now;
    struct wb_uuid run, thread;
    struct upp_usage usage;
    struct upp_str options; /* of the run */
    struct wb_buf agent, items, error;
    struct wd_open open;
    struct wb_arena scratch, of_calls;
    WB_VEC(struct resp_part) parts;
    WB_VEC(struct resp_call) calls;
};

/* Members with ids: PREFIX and hex digits; PREFIX and the id of a call, which a model or a client has chosen. */
void resp_put_id(struct wj_writer *w, const char *name, const char *prefix, struct wb_uuid id);
void resp_put_call_id(struct wj_writer *w, const char *name, const char *prefix, struct upp_str call);

/* The response object as it is now; `status`: "completed" ... */
void resp_write(struct resp_stream *s, struct wj_writer *w, const char *status);

/* The object of a response that has not ended, from the run's row. */
int resp_write_unfinished(struct wj_writer *w, const struct wm_run *run, uint32_t segment,
                          struct upp_err *err) UPP_MUST_CHECK;

/* Adds an item to those of the response. */
void resp_keep(struct resp_stream *s, struct wd_out *o, struct upp_str json);

/* The writers of items. `status`: "in_progress", "completed", "incomplete". */
void resp_message_item(struct wj_writer *w, struct wb_uuid id, const struct upp_message *m, const char *status);
/* Without a status: OpenAI gives these items none, and clients compare their members. */
void resp_reasoning_item(struct wj_writer *w, struct wb_uuid id, struct upp_str text);
void resp_function_item(struct wj_writer *w, const struct wm_pending *p, bool begins); /* begins: without arguments */
void resp_call_item(struct wj_writer *w, struct wb_uuid id, const struct upp_part *p); /* a call, or its output */
void resp_approval_item(struct wj_writer *w, const struct wm_pending *p);
/* ended NULL: it runs. */
void resp_tool_item(struct wj_writer *w, const struct resp_call *c, const struct wm_event *ended);
void resp_text_part(struct wj_writer *w, struct upp_str text);
