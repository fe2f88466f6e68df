/* examples/uap/imports.c — each part has its own header (UAP 1.7, 3.2); libupp's headers are used directly. */
#include "stand_ins.h"
#include <upp/llm.h>         /* llm, providers, Tool, Turn, Thread */
#include <upp/thread.h>      /* Thread, UserMessage */
#include <weft/agent.h>      /* agent, ask, query */
#include <weft/execution.h>  /* loop, react, plan */
#include <weft/middleware.h> /* logging */

static const char script[] = JSON({"replies": [{"parts": [{"text": "Hello."}]}]});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    const struct weft_middleware                     around[] = {weft_logging(.level = "error")};
    struct weft_agent                               *agent;
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *thread = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn     *turn   = NULL;

    int r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = stand_in(script), .execution = weft_loop(),
                                    .middleware = around, .n_middleware = 1),
                           &agent, err);
    if (r < 0 || (r = weft_ask(agent, UPP_STR("Hello?"), &thread, &turn, err)) < 0)
        return r;
    printf("%s\n", upp_turn_text(turn));
    return 0;
}

int main(void)
{
    return run_example(example);
}
