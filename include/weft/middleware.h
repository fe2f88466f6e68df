/* weft/middleware.h — what stands around an agent's work (UAP 10): custom middleware and the four that are built in.
 *
 *     const struct weft_middleware around[] = {weft_logging(.level = "debug"), weft_budget(.max_tokens = 20000)};
 *
 * before in order, after and on_error in reverse order. The same for run and stream. At least once across a crash; what
 * before changed is part of the run's state and is not asked for again.
 */
#ifndef WEFT_MIDDLEWARE_H
#define WEFT_MIDDLEWARE_H

#include <weft/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* UAP's MiddlewareContext. What a function sets here is copied when it returns and is what the next one sees. */
struct weft_context {
    struct weft_run                 *run;
    const struct weft_agent         *agent;
    const struct upp_message        *input;   /* what the model is told; the log keeps what the user said */
    const struct upp_message *const *history; /* likewise */
    size_t                           n_history;
    struct upp_str                   metadata; /* JSON object, of this request: weft_context_set */
    struct weft_session             *session;  /* whose run it is, or whose agent below asked; NULL: no session's */
};

/* One member of the metadata; json no text: removes it. weft_context_get: no text when there is none. */
UPP_API int            weft_context_set(struct weft_context *c, const char *name, struct upp_str json,
                                        struct upp_err *err) UPP_MUST_CHECK;
UPP_API struct upp_str weft_context_get(const struct weft_context *c, const char *name);

struct weft_middleware {
    const char *name;
    void       *arg;
    WEFT_SUSPENDS int (*before)(void *arg, struct weft_context *c, struct upp_err *err);
    /* *turn may be replaced: the new one is taken over, the old one freed. */
    WEFT_SUSPENDS int (*after)(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err);
    /* 0: the error goes on. 1: the run completes with *ret. */
    WEFT_SUSPENDS int (*on_error)(void *arg, struct weft_context *c, const struct upp_err *why, struct upp_turn **ret,
                                  struct upp_err *err);
    const struct weft_middleware_kind *kind; /* of those built in; NULL: a custom one */
    const void                        *opts;
};

/* ---- logging ---------------------------------------------------------------------------------------------- */

struct weft_logging_opts {
    uint32_t    size;
    const char *level; /* "debug", "info" (NULL), "warn", "error" */
    void (*logger)(void *arg, const char *line);
    void *arg;
    bool  include_messages, no_timing;
};
UPP_API struct weft_middleware weft_logging_with(const struct weft_logging_opts *opts); /* opts must outlive it */

/* ---- guardrails --------------------------------------------------------------------------------------------- */

enum weft_guard_action { WEFT_REJECT = 1, WEFT_REWRITE, WEFT_FLAG };

/* One rule: of pattern, callback and agent, one is set. */
struct weft_guard_rule {
    const char *name;
    uint8_t     action;  /* enum weft_guard_action */
    const char *pattern; /* as in JSON Schema (upp/schema.h), anywhere in the text */
    const char *instead; /* REWRITE by pattern: what stands where it matched; NULL: "[removed]" */
    /* 1: the rule applies; for REWRITE *ret is the new text (borrowed until the next call). 0: it does not. */
    WEFT_SUSPENDS int (*check)(void *arg, struct upp_str text, struct upp_str *ret, struct upp_err *err);
    void              *arg;
    struct weft_agent *agent; /* is asked; an answer that begins with "yes" means that the rule applies */
};
struct weft_guardrails_opts {
    uint32_t                      size;
    const struct weft_guard_rule *input, *output;
    size_t                        n_input, n_output;
    const struct weft_guard_rule *tools; /* for the arguments of calls, as JSON text, before the tool runs */
    size_t                        n_tools;
};
UPP_API struct weft_middleware weft_guardrails_with(const struct weft_guardrails_opts *opts);

/* ---- memory --------------------------------------------------------------------------------------------------- */

enum weft_memory_mode { WEFT_TRUNCATE = 1, WEFT_SUMMARISE, WEFT_RETRIEVE };

struct weft_memory_opts {
    uint32_t                size;
    uint64_t                max_tokens; /* of what the model is told; estimated; 0: 8000 */
    uint8_t                 mode;       /* enum weft_memory_mode; 0: TRUNCATE */
    uint32_t                keep_last;  /* messages that always stay; 0: 4 */
    const struct upp_model *model;      /* SUMMARISE: NULL: the agent's */
    /* RETRIEVE: writes what is worth remembering for this input. */
    WEFT_SUSPENDS int (*retriever)(void *arg, struct upp_str input, struct upp_value *ret, struct upp_err *err);
    void *arg;
};
UPP_API struct weft_middleware weft_memory_with(const struct weft_memory_opts *opts);

/* ---- budget --------------------------------------------------------------------------------------------------- */

UPP_API struct weft_middleware weft_budget_with(const struct weft_budget *limits); /* must outlive it */

#ifndef __cplusplus
/* The options live until the end of the block that they are written in: see struct weft_agent_opts. */
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
#endif
