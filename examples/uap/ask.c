/* examples/uap/ask.c — questions on one thread; each sees the messages before it (UAP 9.1). */
#include "stand_ins.h"
#include <upp/thread.h>

static const char script[] =
    JSON({"replies": [
    {"parts": [{"tool_call": {"name": "Glob", "arguments": {"pattern": "*.ts"}}}]},
    {"parts": [{"text": "There are two."}]},
    {"parts": [{"text": "The first one."}]}]});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent *explorer;
    UPP_CLEANUP(upp_thread_freep)
    struct upp_thread                           *thread = NULL; /* created by the first ask, or by upp_thread_new */
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn1 = NULL, *turn2 = NULL;
    size_t                                       n;

    int r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = stand_in(script), .tools = WEFT_TOOLS(Glob, Read)),
                           &explorer, err);
    if (r < 0 || (r = weft_ask(explorer, UPP_STR("Find all TypeScript files"), &thread, &turn1, err)) < 0 ||
                  (r = weft_ask(explorer, UPP_STR("Which ones have errors?"), &thread, &turn2, err)) < 0)
        return r;
    (void)upp_thread_messages(thread, &n);
    printf("%s %s\n%zu messages: %zu and %zu\n", upp_turn_text(turn1), upp_turn_text(turn2), n, turn1->n_messages,
           turn2->n_messages);
    return 0;
}

int main(void)
{
    return run_example(example);
}
