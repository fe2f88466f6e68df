/* examples/uap/timing.c — custom middleware that measures the duration of a run (UAP 10.5). */
#include "stand_ins.h"
#include <time.h>
#include <weft/middleware.h>

static const char script[] =
    JSON({"replies": [
    {"when": {"contains": "Work"}, "parts": [{"text": "Worked."}], "delay_ms": 5},
    {"error": {"code": "QUOTA_EXCEEDED", "message": "nothing is left"}}]});

static long long now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static long long since(const struct weft_context *c)
{
    struct upp_str start = weft_context_get(c, "startTime");
    char           text[24];
    (void)snprintf(text, sizeof(text), "%.*s", UPP_FMT(start));
    return now_ms() - atoll(text);
}

static int timing_before(void *arg, struct weft_context *c, struct upp_err *err)
{
    char text[24];
    int  n = snprintf(text, sizeof(text), "%lld", now_ms());
    (void)arg;
    return weft_context_set(c, "startTime", (struct upp_str){text, (size_t)n}, err);
}

static int timing_after(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    (void)arg, (void)turn, (void)err;
    printf("Execution took %lldms\n", since(c));
    return 0;
}

/* Returning 0 passes the error on; 1 with *ret set would complete the run with that turn. */
static int timing_error(void *arg, struct weft_context *c, const struct upp_err *why, struct upp_turn **ret,
                        struct upp_err *err)
{
    (void)arg, (void)ret, (void)err;
    printf("Failed after %lldms: %s\n", since(c), why->msg);
    return 0;
}

static const struct weft_middleware timing = {
    .name = "timing", .before = timing_before, .after = timing_after, .on_error = timing_error};

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                           *agent;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL, *none = NULL;

    int r = weft_agent_new(
        rt, UPP_OPTS(weft_agent_opts, .model = stand_in(script), .middleware = &timing, .n_middleware = 1), &agent,
        err);
    if (r < 0 || (r = weft_agent_run(agent, UPP_STR("Work"), &turn, err)) < 0)
        return r;
    r = weft_agent_run(agent, UPP_STR("And again"), &none, err);
    printf("%s\n", upp_code_name(r));
    return 0;
}

int main(void)
{
    return run_example(example);
}
