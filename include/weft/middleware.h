/* weft/middleware.h — middleware around an agent's runs (UAP 10): custom ones and the four built-in ones.
 *
 *     const struct weft_middleware around[] = {weft_logging(.level = "debug"), weft_budget(.max_tokens = 20000)};
 *
 * before is called in list order, after and on_error in reverse order, for runs and streams alike. A crash may cause a
 * second call; but before is not called again once its changes are committed with the run's state.
 */
#pragma once

#include <weft/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* UAP's MiddlewareContext. What a function sets here is copied when it returns; the next function sees it. */
struct weft_context {
    struct weft_run *run;
    const struct weft_agent *agent;
    const struct upp_message *input;          /* what the model receives; the log has the user's original */
    const struct upp_message *const *history; /* likewise */
    size_t n_history;
    struct upp_str metadata;      /* JSON object, for this request only: weft_context_set */
    struct weft_session *session; /* of the run, or of the run that called this sub-agent; NULL: none */
};

/* One member of the metadata. set: an empty json removes it. get: NULL if it is absent. */
UPP_API int weft_context_set(struct weft_context *c, const char *name, struct upp_str json,
                             struct upp_err *err) UPP_MUST_CHECK;
UPP_API struct upp_str weft_context_get(const struct weft_context *c, const char *name);

struct weft_middleware {
    const char *name;
    void *arg;
    WEFT_SUSPENDS int (*before)(void *arg, struct weft_context *c, struct upp_err *err);
    /* May replace *turn: the engine takes over the new turn and frees the old one. */
    WEFT_SUSPENDS int (*after)(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err);
    /* 0: the error is passed on. 1: the run completes with *ret, which the engine frees. <0: err replaces `why`. */
    WEFT_SUSPENDS int (*on_error)(void *arg, struct weft_context *c, const struct upp_err *why, struct upp_turn **ret,
                                  struct upp_err *err);
    const struct weft_middleware_kind *kind; /* set in built-in ones; NULL: custom */
    const void *opts;
};

struct weft_logging_opts {
    uint32_t size;
    const char *level; /* "debug", "info" (NULL), "warn", "error" */
    void (*logger)(void *arg, const char *line);
    void *arg;
    bool include_messages, no_timing;
};
UPP_API struct weft_middleware weft_logging_with(const struct weft_logging_opts *opts); /* opts must outlive it */

enum weft_guard_action { WEFT_REJECT = 1, WEFT_REWRITE, WEFT_FLAG };

/* A rule; exactly one of pattern, check and agent is set. */
struct weft_guard_rule {
    const char *name;
    uint8_t action;      /* enum weft_guard_action */
    const char *pattern; /* as in JSON Schema (upp/schema.h); matches anywhere in the text */
    const char *instead; /* REWRITE: replaces each match; by agent, or by check without a *ret, the whole text.
                          * NULL: "[removed]" */
    /* 1: the rule applies; for REWRITE *ret is the new text (borrowed until the next call). 0: it does not apply. */
    WEFT_SUSPENDS int (*check)(void *arg, struct upp_str text, struct upp_str *ret, struct upp_err *err);
    void *arg;
    struct weft_agent *agent; /* receives the text; the rule applies if its response begins with "yes" */
};
struct weft_guardrails_opts {
    uint32_t size;
    const struct weft_guard_rule *input, *output;
    size_t n_input, n_output;
    const struct weft_guard_rule *tools; /* for the arguments of calls, as JSON, before the tool runs */
    size_t n_tools;
};
UPP_API struct weft_middleware weft_guardrails_with(const struct weft_guardrails_opts *opts);

enum weft_memory_mode { WEFT_TRUNCATE = 1, WEFT_SUMMARISE, WEFT_RETRIEVE };

struct weft_memory_opts {
    uint32_t size;
    uint64_t max_tokens;           /* of what the model receives, estimated; 0: 8000 */
    uint8_t mode;                  /* enum weft_memory_mode; 0: TRUNCATE */
    uint32_t keep_last;            /* number of last messages that always stay; 0: 4 */
    const struct upp_model *model; /* for SUMMARISE; NULL: the agent's */
    /* RETRIEVE: writes what the model should know for this input. */
    WEFT_SUSPENDS int (*retriever)(void *arg, struct upp_str input, struct upp_value *ret, struct upp_err *err);
    void *arg;
};
UPP_API struct weft_middleware weft_memory_with(const struct weft_memory_opts *opts);

UPP_API struct weft_middleware weft_budget_with(const struct weft_budget *limits); /* must outlive it */

#ifndef __cplusplus
/* The options live until the end of the enclosing block: see struct weft_agent_opts. */
#define weft_logging(...)                                                                                              \
    weft_logging_with(&(const struct weft_logging_opts){.size = sizeof(struct weft_logging_opts), __VA_ARGS__})
#define weft_guardrails(...)                                                                                           \
    weft_guardrails_with(&(const struct weft_guardrails_opts){.size = sizeof(struct weft_guardrails_opts), __VA_ARGS__})
#define weft_memory(...)                                                                                               \
    weft_memory_with(&(const struct weft_memory_opts){.size = sizeof(struct weft_memory_opts), __VA_ARGS__})
#define weft_budget(...) weft_budget_with(&(const struct weft_budget){__VA_ARGS__})
#endif

#ifdef __cplusplus
}
#endif
