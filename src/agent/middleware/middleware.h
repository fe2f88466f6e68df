/* agent/middleware/middleware.h — an agent's list of middleware, put together for the engine.
 *
 *     const struct wr_middleware *around;
 *     r = wa_middleware_new(opts->middleware, opts->n_middleware, agent, &around, err);
 *     def->around = around;
 *     ...
 *     wa_middleware_free(around);                     when no run uses the definition any more
 */
#ifndef WA_MIDDLEWARE_H
#define WA_MIDDLEWARE_H

#include <weft/middleware.h>

#include "run/middleware.h"

enum { WA_MIDDLEWARE = 64 /* of one agent */ };

/* The list is copied, what it points to is borrowed. *ret is NULL where the list is empty. -UPP_EINVALID: options that
 * make no sense; err names the middleware. */
int  wa_middleware_new(const struct weft_middleware *list, size_t n, const struct weft_agent *agent,
                       const struct wr_middleware **ret, struct upp_err *err) UPP_MUST_CHECK;
void wa_middleware_free(const struct wr_middleware *middleware); /* NULL is fine */

/* One call of one function of one middleware, when it has returned. */
struct wa_trace {
    const char *name;  /* of the middleware */
    const char *which; /* "before", "after", "on_error" */
    unsigned    order; /* counts the calls of this run, from 1 */
    uint64_t    ns;    /* how long it took */
    int         result;
};

/* Every call is told at level debug of the log, and to this function. For tests, before any run. */
void wa_middleware_trace(const struct wr_middleware *middleware, void (*fn)(void *arg, const struct wa_trace *t),
                         void                       *arg);

/* ---- Those that are built in ----------------------------------------------------------------------------------- */

/* What a built-in one may do beyond the public functions. `own` is what make() made of the options. */
struct weft_middleware_kind {
    const char *name;
    int (*make)(const void *opts, void **own, struct upp_err *err);
    void (*free)(void *own);
    WEFT_SUSPENDS int (*before)(void *own, struct weft_context *c, struct upp_err *err);
    WEFT_SUSPENDS int (*after)(void *own, struct weft_context *c, struct upp_turn **turn, struct upp_err *err);
    WEFT_SUSPENDS int (*on_error)(void *own, struct weft_context *c, const struct upp_err *why, struct upp_turn **ret,
                                  struct upp_err *err);
    WEFT_SUSPENDS int (*view)(void *own, struct weft_context *c, struct upp_request *request, struct upp_err *err);
    WEFT_SUSPENDS int (*screen)(void *own, struct weft_context *c, struct upp_message *said, struct upp_err *err);
    WEFT_SUSPENDS int (*call)(void *own, struct weft_context *c, struct upp_call *call, struct upp_err *err);
    void (*observe)(void *own, struct weft_context *c, const struct wm_event *ev);
    bool (*screens)(const void *own);                     /* does it want to? NULL: where it can */
    bool (*calls)(const void *own);                       /* likewise, for `call` */
    const struct weft_budget *(*budget)(const void *own); /* NULL: none */
};

extern const struct weft_middleware_kind wa_logging, wa_guardrails, wa_memory, wa_budget;

/* 64 bits that the middleware keeps for the run while it works here; 0 at first. */
uint64_t *wa_context_word(struct weft_context *c);

struct wb_arena *wa_context_memory(struct weft_context *c);

/* A copy of a struct that begins with its size, as its caller knew it: what he did not know is 0. */
int wa_opts_copy(const void *opts, size_t size, void **ret, struct upp_err *err) UPP_MUST_CHECK;

#endif
