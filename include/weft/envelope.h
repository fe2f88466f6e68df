/* weft/envelope.h — envelopes multiagent-1.0 between functions and agents of a C program, without server, store or
 * configuration.
 *
 *     static int plan(void *arg, struct upp_str envelope, struct weft_mux_answer *reply, struct upp_err *err)
 *     {
 *         return weft_mux_reply(reply, UPP_STR("1) Collect URLs 2) Scrape daily"), err);
 *     }
 *
 *     static const struct weft_mux_rule rules[] = {{.intent = "plan", .fn = plan}, {.intent = "reflect", .fn =
 * reflect}}; struct weft_mux *mux; struct upp_str   answer; if (weft_mux_new(rules, 2, NULL, &mux, &err) < 0 ||
 * weft_mux_route(mux, envelope, &answer, &err) < 0) return fprintf(stderr, "%s\n", err.msg), 1; puts(answer.p);
 *     upp_text_free(answer);
 *     weft_mux_free(mux);
 *
 * An envelope goes to the rule of its intent; intent route to that of plan if it has none; any other without a rule to
 * reflect. The reply keeps what the agent wrote; its protocol is forced, its trace.id is a new UUID, and its
 * trace.parents are the request's parents and id. A reply that is no envelope is wrapped in one. What goes wrong is
 * answered by an envelope with content of type error: no rule (code no_route), a failure of the agent, problems of the
 * envelope.
 */
#pragma once

#include <upp/base.h>
#include <weft/fiber.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_agent;
struct weft_mux;
struct weft_mux_answer;

/* Answers an envelope, whose text is NUL-terminated and borrowed: with weft_mux_reply, or <0. Without a reply the text
 * is empty. */
typedef WEFT_SUSPENDS int weft_mux_fn(void *arg, struct upp_str envelope, struct weft_mux_answer *reply,
                                      struct upp_err *err);

/* An envelope, or any text; it is copied. A second call replaces the first. */
UPP_API int weft_mux_reply(struct weft_mux_answer *reply, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;

struct weft_mux_rule {
    const char *intent; /* one of the ten */
    weft_mux_fn *fn;    /* a function ... */
    void *arg;
    struct weft_agent *agent; /* ... or an agent; it gets the prompt that its model's adapter writes */
    const char *name;         /* agent.id of replies that have none; NULL: the intent */
    const char *model;        /* agent.model likewise; NULL: the agent's, or n/a */
};

enum { WEFT_MUX_RULES = 256, WEFT_MUX_REPLY = 4 << 20 /* bytes of a reply */ };

struct weft_mux_opts {
    uint32_t size;
    double doubt;                   /* replies with a score below go to reflect, on another model; 0: none do */
    uint32_t reflections;           /* per message; 0: 2 */
    bool direct_parents;            /* trace.parents: the request alone */
    bool strict;                    /* prompts of agents: exactly the specification's */
    bool actions;                   /* next_actions are picked up, one after the other */
    uint32_t depth, count, fan_out; /* of actions; 0: 4, 32, 8 */
    uint64_t max_tokens;            /* no action is picked up beyond it; 0: no limit */
    bool unknown_reflects;          /* an envelope whose intent is none of the ten goes to reflect */
    bool doubtful_reflects;         /* an envelope that comes with a score below `doubt` goes to reflect */
};

/* Rules are copied; names, functions and agents must outlive the mux. A mux does not change: several fibers may use it.
 */
UPP_API int weft_mux_new(const struct weft_mux_rule *rules, size_t n, const struct weft_mux_opts *opts,
                         struct weft_mux **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_mux_free(struct weft_mux *m); /* accepts NULL */
UPP_API void weft_mux_freep(struct weft_mux **m);

/* The answer, NUL-terminated: free it with upp_text_free. <0 only if there is none: no memory, or -UPP_ECANCELED. */
UPP_API WEFT_SUSPENDS int weft_mux_route(struct weft_mux *m, struct upp_str envelope, struct upp_str *ret,
                                         struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
