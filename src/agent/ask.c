/* agent/ask.c — UAP 9.1: one more turn of a thread. */
#include <weft/agent.h>

#include "base/defs.h"
#include "upp/client/call.h"

int weft_ask(struct weft_agent *a, struct upp_str text, struct upp_thread **thread, struct upp_turn **ret,
             struct upp_err *err)
{
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *made = NULL;
    *ret = NULL;
    int r = *thread ? 0 : upp_thread_new(&made, err);
    if (r < 0)
        return r;
    struct upp_thread *t = made ? made : *thread;
    r = upp__thread_take(t, err);
    if (r < 0)
        return r;
    r = weft_agent_run_with(a, UPP_OPTS(upp_input, .thread = t, .text = text), ret, err);
    if (r >= 0)
        r = upp_thread_append(t, *ret, err);
    upp__thread_leave(t);
    if (r >= 0 && made)
        *thread = WB_TAKE(made);
    return r;
}
