/* upp/model.h — one call of a model, event by event: what providers implement and loops are made of.
 *
 *     struct upp_step *step;
 *     r = upp_step_open(model, &request, &step, err);
 *     while (r >= 0 && (r = upp_step_next(step, &ev, err)) > 0)
 *         ...
 *     upp_step_close(step);
 *
 * A step does one cycle and never runs tools. It waits through the table of upp/wait.h alone, so that it blocks a
 * thread in a plain program and a fiber under libweft. Events and their texts are borrowed until the next call.
 *
 * Invariants
 *  1. Parts are opened in order (0, 1, 2 ...), each exactly once, and closed once; deltas name an open part. Parts may
 *     overlap.
 *  2. END comes last, after every part is closed; after it, or after a failure, nothing follows.
 *  3. A failure before the first PART_OPEN may be tried again by the caller; the step itself never does.
 */
#ifndef UPP_MODEL_H
#define UPP_MODEL_H

#include <upp/message.h>
#include <upp/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tool as a model is told of it. */
struct upp_tool_spec {
    struct upp_str name, description;
    struct upp_str parameters; /* JSON Schema of an object */
    struct upp_str metadata;   /* JSON object by provider; no text: none */
};

/* Something said earlier that does not go to the model: reasoning of another vendor, say. */
struct upp_loss {
    size_t      message, part; /* indexes: of the message in the request, of the part in it */
    const char *what;          /* "reasoning" */
    const char *why;           /* a sentence */
};

struct upp_request {
    const struct upp_message *const *messages; /* path order */
    size_t                           n_messages;
    struct upp_str                   system; /* no text: none */
    struct upp_str                   params; /* JSON object, passed on as it is; no text: none */
    const struct upp_tool_spec      *tools;
    size_t                           n_tools;
    struct upp_str                   structure; /* JSON Schema of the answer; no text: free text */
    unsigned                         attempt;   /* 1, 2 ...: how often this call has been tried */
    bool                             whole;     /* the answer may come in one piece: nobody listens while it is made */

    /* What of the messages this provider cannot be told, one call for each thing; NULL: nobody wants to know. */
    void (*on_loss)(void *arg, const struct upp_loss *loss);
    void *on_loss_arg;
};

enum upp_step_kind {
    UPP_STEP_OPEN =
        1, /* the message begins: .text is its id at the vendor, or no text. Optional, at most once, first */
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
    uint8_t                 kind;      /* enum upp_step_kind */
    uint8_t                 part_kind; /* PART_OPEN */
    uint8_t                 stop;      /* END: enum upp_stop */
    uint32_t                part;      /* PART_OPEN, DELTA, PART_CLOSE: its index in the message */
    struct upp_str          text;      /* OPEN: the message's id; DELTA: what is added to the part's text */
    struct upp_str          id, name;  /* PART_OPEN of a call */
    struct upp_str          metadata;  /* PART_CLOSE: of the part; END: of the message. JSON object; no text: none */
    struct upp_str          data;      /* END: a structured answer as JSON; no text: none */
    const struct upp_media *media;     /* PART_OPEN of a medium, whole */
    struct upp_usage        usage;     /* END */
};

struct upp_model;
struct upp_step;

/* What a provider implements. Const and stateless; `state` is what its constructor made. */
struct upp_model_ops {
    uint32_t    size;
    const char *provider;  /* "scripted": the namespace of its metadata */
    size_t      step_size; /* bytes of its own in a step, cleared: upp_step_state */

    /* Begins a call. May wait. The request and all it points to live until close. */
    int (*open)(struct upp_step *s, struct upp_err *err);
    int (*next)(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err); /* *ret is cleared */
    void (*close)(struct upp_step *s); /* NULL: nothing to do. Never waits. Also after an open that failed */

    void (*free)(void *state); /* NULL: nothing to do */
};

/* What a model can do; asking for something else is refused before any call is made. */
enum upp_can {
    UPP_CAN_STREAM    = 1 << 0,
    UPP_CAN_TOOLS     = 1 << 1,
    UPP_CAN_STRUCTURE = 1 << 2,
    UPP_CAN_IMAGES    = 1 << 3,
    UPP_CAN_DOCUMENTS = 1 << 4,
    UPP_CAN_AUDIO     = 1 << 5,
    UPP_CAN_VIDEO     = 1 << 6,
    UPP_CAN_ALL       = (1 << 7) - 1,
};

struct upp_retry;

struct upp_model {
    const struct upp_model_ops *ops;
    struct upp_str              name; /* "claude-sonnet-4-20250514" */
    void                       *state;
    uint32_t                    can;     /* UPP_CAN_*; 0: not said, nothing is refused */
    struct upp_retry           *retry;   /* how its calls are tried again; NULL: not at all. Belongs to the model */
    uint64_t                    turn_ms; /* for a whole turn; 0: no limit */
};

struct upp_step {
    const struct upp_model   *model;
    const struct upp_request *request;
    const struct upp_wait    *wait;
    bool                      ended;
};

/* `wait` NULL: the calling thread blocks. */
UPP_API int upp_step_open(const struct upp_model *m, const struct upp_request *req, const struct upp_wait *wait,
                          struct upp_step **ret, struct upp_err *err) UPP_MUST_CHECK;

/* 1: *ret is set. 0: the step is over. <0: it failed, and is over. */
UPP_API int upp_step_next(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err) UPP_MUST_CHECK;

UPP_API void upp_step_close(struct upp_step *s); /* NULL is fine; in the middle it abandons the call */
UPP_API void upp_step_closep(struct upp_step **s);

/* The provider's own bytes of a step. */
UPP_API void *upp_step_state(struct upp_step *s);

UPP_API void upp_model_free(struct upp_model *m); /* NULL is fine; no step of it is open */
UPP_API void upp_model_freep(struct upp_model **m);

/* The scripted model: answers from a script (docs/scripted.md), or, with no script, echoes the newest user text.
 * `script` is JSON text, copied. -UPP_EINVALID names the place in it. */
UPP_API int upp_scripted_new(struct upp_str script, struct upp_model **ret, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
