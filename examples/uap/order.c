/* examples/uap/order.c — middleware wraps a run in layers, like an onion (UAP 10.1, 10.2). */
#include "stand_ins.h"
#include <weft/middleware.h>

static const char script[] = JSON({"replies": [{"parts": [{"text": "Done."}]}]});

static int before(void *arg, struct weft_context *c, struct upp_err *err)
{
    const char *name = arg;
    printf("%s.before() sees %.*s\n", name, UPP_FMT(c->metadata));
    return weft_context_set(c, name, UPP_STR("true"), err); /* the next middleware sees it */
}

static int after(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    const char *name = arg;
    (void)c, (void)err; /* may replace *turn: see upp_turn_copy */
    printf("%s.after() sees '%s'\n", name, upp_turn_text(*turn));
    return 0;
}

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    char                         first[] = "first", second[] = "second", third[] = "third";
    const struct weft_middleware around[] = {{.name = first, .arg = first, .before = before, .after = after},
                                             {.name = second, .arg = second, .before = before, .after = after},
                                             {.name = third, .arg = third, .before = before, .after = after}};
    struct weft_agent           *agent;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r = weft_agent_new(
        rt, UPP_OPTS(weft_agent_opts, .model = stand_in(script), .middleware = around, .n_middleware = 3), &agent, err);
    return r < 0 ? r : weft_agent_run(agent, UPP_STR("Do it"), &turn, err);
}

int main(void)
{
    return run_example(example);
}
