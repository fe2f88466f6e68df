/* upp/model.h — one model call, event by event: the interface that providers implement.
 *
 *     struct upp_step *step;
 *     r = upp_step_open(model, &request, NULL, &step, err);
 *     while (r >= 0 && (r = upp_step_next(step, &ev, err)) > 0)
 *         ...
 *     upp_step_close(step);
 *
 * A step is one model call and never runs tools. It waits only through the table of upp/wait.h, so it blocks a thread
 * in a plain program and a fiber under libweft. Events and their strings are borrowed until the next call.
 *
 * Invariants
 *  1. Parts are opened in order (0, 1, 2 ...), each exactly once, and closed once; a delta belongs to an open part.
 *     Several parts may be open at a time.
 *  2. END comes last, after every part is closed; nothing follows END or a failure.
 *  3. The caller may retry a failure before the first PART_OPEN; the step itself never retries.
 */
#pragma once

#include <upp/message.h>
#include <upp/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tool as described to the model. */
struct upp_tool_spec {
    struct upp_str name, description;
    struct upp_str parameters; /* JSON Schema of an object */
    struct upp_str metadata;   /* JSON object keyed by provider; NULL: none */
};

/* Content of an earlier message that cannot be sent to this model: reasoning of another vendor, for example. */
struct upp_loss {
    size_t message, part; /* index of the message in the request, of the part in the message */
    const char *what;     /* "reasoning" */
    const char *why;      /* a sentence */
};

struct upp_request {
    const struct upp_message *const *messages; /* oldest first */
    size_t n_messages;
    struct upp_str system; /* NULL: none */
    struct upp_str params; /* JSON object, passed on unchanged; empty: none */
    const struct upp_tool_spec *tools;
    size_t n_tools;
    struct upp_str structure; /* JSON Schema of the response; NULL: free text */
    unsigned attempt;         /* 1, 2 ...: the number of this attempt */
    bool whole;               /* nobody reads deltas: the response may come in one piece */

    /* Called once for each piece of content that cannot be sent to this provider; NULL: not called. */
    void (*on_loss)(void *arg, const struct upp_loss *loss);
    void *on_loss_arg;

    struct upp_str traceparent; /* sent as the header of that name (W3C Trace Context); empty: none */

    /* The conversation that this is a call of, for models that remember it: one id per agent and branch of a thread,
     * also after a restart. Empty: none. */
    struct upp_str session;

    /* The name of the agent that calls this one as its sub-agent, for models that tell their server who calls. Empty:
     * a user does. */
    struct upp_str caller;
};

enum upp_step_kind {
    UPP_STEP_OPEN = 1, /* the message begins: .text is its id at the vendor, or NULL. Optional, at most once, first */
    UPP_STEP_PART_OPEN,
    UPP_STEP_DELTA,
    UPP_STEP_PART_CLOSE,
    UPP_STEP_END,
};

enum upp_stop {
    UPP_STOP_END = 1, /* "end_turn" */
    UPP_STOP_LENGTH,  /* "max_tokens" */
    UPP_STOP_TOOLS,   /* "tool_use" */
    UPP_STOP_FILTER,  /* "content_filter" */
    UPP_STOP_ERROR,   /* "error" */
};

struct upp_step_event {
    uint8_t kind;                  /* enum upp_step_kind */
    uint8_t part_kind;             /* PART_OPEN */
    uint8_t stop;                  /* END: enum upp_stop */
    uint32_t part;                 /* PART_OPEN, DELTA, PART_CLOSE: the part's index in the message */
    struct upp_str text;           /* OPEN: the message's id; DELTA: text to append to the part */
    struct upp_str id, name;       /* PART_OPEN of a call */
    struct upp_str metadata;       /* PART_CLOSE: of the part; END: of the message. JSON object; NULL: none */
    struct upp_str data;           /* END: the structured response as JSON; NULL: none */
    const struct upp_media *media; /* PART_OPEN of a media part, complete */
    struct upp_usage usage;        /* END */
};

struct upp_model;
struct upp_step;

/* Implemented by a provider. Const and stateless; `state` belongs to the model. */
struct upp_model_ops {
    uint32_t size;
    const char *provider; /* "scripted": the key of its metadata */
    size_t step_size;     /* bytes that each step reserves for the provider, zeroed: upp_step_state */

    /* Starts the call. May wait. The request and all it points to stay valid until close. */
    int (*open)(struct upp_step *s, struct upp_err *err);
    int (*next)(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err); /* *ret is zeroed before */
    void (*close)(struct upp_step *s); /* NULL: nothing to do. Never waits. Also called if open failed */

    void (*free)(void *state); /* NULL: nothing to do */

    /* The call will not be read to its end: tells the server, which would go on working. May wait. After a failure or a
     * cancel, before close. NULL: closing is enough. */
    int (*stop)(struct upp_step *s, struct upp_err *err);
};

/* Capabilities of a model. A request for anything else is rejected before the call. */
enum upp_can {
    UPP_CAN_STREAM = 1 << 0,
    UPP_CAN_TOOLS = 1 << 1,
    UPP_CAN_STRUCTURE = 1 << 2,
    UPP_CAN_IMAGES = 1 << 3,
    UPP_CAN_DOCUMENTS = 1 << 4,
    UPP_CAN_AUDIO = 1 << 5,
    UPP_CAN_VIDEO = 1 << 6,
    UPP_CAN_ALL = (1 << 7) - 1,
};

struct upp_retry;

struct upp_model {
    const struct upp_model_ops *ops;
    struct upp_str name; /* "claude-sonnet-4-20250514" */
    void *state;
    uint32_t can;            /* UPP_CAN_*; 0: unknown, nothing is rejected */
    struct upp_retry *retry; /* retry strategy, owned by the model; NULL: no retries */
    uint64_t turn_ms;        /* limit of a whole turn; 0: none */

    /* A call has effects elsewhere: it is not repeated once it had output, nor if the server says that it failed. */
    bool once;
};

struct upp_step {
    const struct upp_model *model;
    const struct upp_request *request;
    const struct upp_wait *wait;
    bool ended;
};

/* `wait` NULL: the calling thread blocks. */
UPP_API int upp_step_open(const struct upp_model *m, const struct upp_request *req, const struct upp_wait *wait,
                          struct upp_step **ret, struct upp_err *err) UPP_MUST_CHECK;

/* 1: *ret is set. 0: end of the step. <0: the step failed and has ended. */
UPP_API int upp_step_next(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err) UPP_MUST_CHECK;

UPP_API void upp_step_close(struct upp_step *s); /* accepts NULL; abandons a call that is not complete */
UPP_API void upp_step_closep(struct upp_step **s);

/* The step_size bytes that the step reserves for its provider. */
UPP_API void *upp_step_state(struct upp_step *s);

UPP_API void upp_model_free(struct upp_model *m); /* accepts NULL; no step of it may be open */
UPP_API void upp_model_freep(struct upp_model **m);

/* The scripted model: responds from a script (docs/scripted.md). `script` is JSON, copied; NULL: echoes the newest user
 * text. -UPP_EINVALID: err.where is the JSON pointer of the error. */
UPP_API int upp_scripted_new(struct upp_str script, struct upp_model **ret, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
