/* agent/middleware/middleware.h — builds an agent's middleware chain for the engine.
 *
 *     const struct wr_middleware *chain;
 *     r = wa_middleware_new(opts->middleware, opts->n_middleware, agent, &chain, err);
 *     def->middleware = chain;
 *     ...
 *     wa_middleware_free(chain);                     when no run uses the definition any more
 */
#pragma once

#include <weft/middleware.h>

#include "run/middleware.h"

enum { WA_MIDDLEWARE = 64 /* per agent */ };

/* Copies the list, borrows what it points to. *ret is NULL if the list is empty. -UPP_EINVALID: invalid options; err
 * names the middleware. */
int wa_middleware_new(const struct weft_middleware *list, size_t n, const struct weft_agent *agent,
                      const struct wr_middleware **ret, struct upp_err *err) UPP_MUST_CHECK;
void wa_middleware_free(const struct wr_middleware *middleware); /* accepts NULL */

/* A finished call of one function of one middleware. */
struct wa_trace {
    const char *name;  /* of the middleware */
    const char *which; /* "before", "after", "on_error" */
    unsigned order;    /* number of the call in this run, from 1 */
    uint64_t ns;       /* duration */
    int result;
};

/* Every call is logged at level debug, and passed to this function. For tests; set it before any run. */
void wa_middleware_trace(const struct wr_middleware *middleware, void (*fn)(void *arg, const struct wa_trace *t),
                         void *arg);

/* The functions of a built-in middleware, beyond the public ones too. `own` is what make() made of the options. */
struct weft_middleware_kind {
    const char *name;
    int (*make)(const void *opts, void **own, struct upp_err *err);
    void (*free)(void *own);
    WEFT_SUSPENDS int (*before)(void *own, struct weft_context *c, struct upp_err *err);
    WEFT_SUSPENDS int (*after)(void *own, struct weft_context *c, struct upp_turn **turn, struct upp_err *err);
    WEFT_SUSPENDS int (*on_error)(void *own, struct weft_context *c, const struct upp_err *why, struct upp_turn **ret,
                                  struct upp_err *err);
    WEFT_SUSPENDS int (*view)(void *own, struct weft_context *c, struct upp_request *request, struct upp_err *err);
    WEFT_SUSPENDS int (*screen)(void *own, struct weft_context *c, struct upp_message *message, struct upp_err *err);
    WEFT_SUSPENDS int (*call)(void *own, struct weft_context *c, struct upp_call *call, struct upp_err *err);
    void (*observe)(void *own, struct weft_context *c, const struct wm_event *ev);
    bool (*screens)(const void *own);                     /* is `screen` needed? NULL: always */
    bool (*calls)(const void *own);                       /* is `call` needed? NULL: always */
    const struct weft_budget *(*budget)(const void *own); /* NULL: none */
    struct wr_window (*window)(const void *own);          /* of the history that `view` leaves; NULL: it may need all */
};

extern const struct weft_middleware_kind wa_logging, wa_guardrails, wa_memory, wa_budget;

/* 64 bits of state per middleware and run, while the run is in memory; 0 at first. */
uint64_t *wa_context_word(struct weft_context *c);

struct wb_arena *wa_context_memory(struct weft_context *c);

/* Copies a struct that begins with its size as the caller knew it; members that the caller did not know are 0. */
int wa_opts_copy(const void *opts, size_t size, void **ret, struct upp_err *err) UPP_MUST_CHECK;
