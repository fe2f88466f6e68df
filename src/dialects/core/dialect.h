/* dialects/core/dialect.h — stream encoders: a run's events as frames of a dialect.
 *
 * An encoder's output depends only on its options and on the run's events from the first one on: no clock, no random
 * numbers, no store. A client that joins in the middle is served by encoding from the start and dropping frames. One
 * event gives zero or more frames.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "model/event.h"

/* One frame: text between two blank lines of SSE, or one line of JSON lines. */
struct wd_frame {
    const char *name; /* of the SSE event; NULL: none */
    size_t from, n;   /* its data in wd_frames.text: one line of JSON, or a word like [DONE] */
};

struct wd_frames {
    struct wb_buf text;
    WB_VEC(struct wd_frame) list;
};
enum { WD_FRAMES_TEXT = 32 << 20, WD_FRAMES_MAX = 4096 };
void wd_frames_init(struct wd_frames *f);
void wd_frames_clear(struct wd_frames *f); /* keeps its memory */
void wd_frames_done(struct wd_frames *f);

/* A tool of an MCP server that the run's agent has. */
struct wd_tool {
    struct upp_str name;
    struct upp_str server, description, parameters; /* server: its label; parameters: JSON Schema */
};

/* Among the options of a run: the name that its request asked for, if that is not the agent's; true: it was asked to
 * work in the background. */
#define WD_OPTION_ASKED      "weft_asked"
#define WD_OPTION_BACKGROUND "weft_background"

struct wd_stream_opts {
    uint32_t size;
    bool children; /* include events of child runs, if the dialect can */
    void *own;     /* the dialect's own: struct wd_NAME_opts of its header; NULL: its defaults, as all zero */

    /* What people call an agent; NULL, or no text: its name. Must outlive the encoder. */
    struct upp_str (*title_of)(void *arg, struct upp_str agent);
    void *arg;

    /* Properties of the run that no event has, for dialects with of_the_run. The texts must outlive the encoder. */
    struct wb_uuid thread;
    int64_t created_ms;     /* 0: that of the first event */
    struct upp_str options; /* JSON: the run's members of the request, and WD_OPTION_...; empty: none */
    const struct wd_tool *tools;
    size_t n_tools;
};

/* One of a dialect's own options that a client may set by name: a query parameter. */
struct wd_stream_option {
    const char *name;
    int (*set)(void *own, struct upp_str value, struct upp_err *err);
};

/* A stream encoder. The state of one instance is `state_size` zeroed bytes. */
struct wd_stream_ops {
    const char *name; /* "uap" */
    size_t state_size;
    size_t own_size;     /* of its own options; 0: it has none */
    const char *headers; /* extra HTTP headers, each with CRLF; "": none */
    bool of_the_run;     /* it needs the run's properties in the options */
    bool to_the_end;     /* a reader follows the run to its end, over its waits; otherwise it gets one segment */

    const struct wd_stream_option *options; /* ends with a NULL name; NULL: none */
    int (*begin)(void *state, const struct wd_stream_opts *opts, struct upp_err *err);
    /* Adds the frames of one event. */
    int (*event)(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err);
    /* Adds a frame that readers ignore, for a stream that is silent; or none. It is not part of the run: a client that
     * comes back does not get it again. NULL: the dialect has none. */
    int (*beat)(void *state, struct wd_frames *out, struct upp_err *err);
    /* The run waits: does the stream end here? NULL: always. */
    bool (*paused)(const void *state);
    void (*done)(void *state); /* frees; NULL: nothing to free */
};

/* wd_stream_weft is UAP's stream with events of three further types: run, system_event, attempt_void. */
extern const struct wd_stream_ops wd_stream_uap, wd_stream_weft, wd_stream_ui, wd_stream_upp, wd_stream_assistants,
    wd_stream_agentapi, wd_stream_chat, wd_stream_responses, wd_stream_envelope;

const struct wd_stream_ops *wd_stream_find(struct upp_str name); /* NULL: none */
const struct wd_stream_ops *wd_stream_at(size_t i);              /* in a fixed order; NULL: no more */
