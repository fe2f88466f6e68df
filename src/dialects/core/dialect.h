/* dialects/core/dialect.h — the languages in which the log can be spoken.
 *
 * A stream encoder is a pure function of the events from the run's first one on and of its options: no clock, no random
 * numbers, no store. Whoever joins in the middle encodes from the start and drops. One event makes no, one or several
 * frames.
 */
#ifndef WD_DIALECT_H
#define WD_DIALECT_H

#include "base/buf.h"
#include "base/vec.h"
#include "model/event.h"

/* One frame: text between two blank lines of SSE, or one line of JSON lines. */
struct wd_frame {
    const char *name;    /* of the SSE event; NULL: none */
    size_t      from, n; /* of its data in wd_frames.text: one line of JSON, or a word like [DONE] */
};

struct wd_frames {
    struct wb_buf text;
    WB_VEC(struct wd_frame) list;
};
enum { WD_FRAMES_TEXT = 32 << 20, WD_FRAMES_MAX = 4096 };
void wd_frames_init(struct wd_frames *f);
void wd_frames_clear(struct wd_frames *f); /* keeps its memory */
void wd_frames_done(struct wd_frames *f);

struct wd_stream_opts {
    uint32_t size;
    unsigned target;   /* ui: 5, 6 or 7; 0: 6 */
    bool     children; /* show the events of child runs too, where the dialect can */
    /* agentapi */
    bool                  uncreated;    /* no message is "created" before it is in progress */
    struct upp_str        session;      /* its id; no text: not said */
    const struct upp_str *client_tools; /* whose calls are for the client; they live as long as the encoder */
    size_t                n_client_tools;

    /* assistants: of the run, what no event says. The text lives as long as the encoder. */
    struct wb_uuid thread;
    int64_t        created_ms; /* 0: as the first event */
    struct upp_str options;    /* JSON: what the request said of it; no text: nothing */
};

/* Stateless table of a live stream; the state of one encoder is `state_size` bytes, cleared. */
struct wd_stream_ops {
    const char *name; /* "uap" */
    size_t      state_size;
    const char *headers;    /* extra HTTP headers, each with CRLF; "" : none */
    bool        of_the_run; /* it wants what the options say of the run */
    int (*begin)(void *state, const struct wd_stream_opts *opts, struct upp_err *err);
    /* Adds the frames of one event. */
    int (*event)(void *state, const struct wm_event *ev, struct wd_frames *out, struct upp_err *err);
    /* The run waits: has the stream come to an end with it? NULL: always. */
    bool (*paused)(const void *state);
    void (*done)(void *state); /* frees; NULL: nothing to free */
};

extern const struct wd_stream_ops wd_stream_uap, wd_stream_ui, wd_stream_upp, wd_stream_assistants, wd_stream_agentapi;

const struct wd_stream_ops *wd_stream_find(struct upp_str name); /* NULL: none */
const struct wd_stream_ops *wd_stream_at(size_t i);              /* in a settled order; NULL: no more */

#endif
