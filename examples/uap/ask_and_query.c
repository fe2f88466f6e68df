/* examples/uap/ask_and_query.c — a conversation, and a query that does not change it (UAP 9.3). */
#include "stand_ins.h"
#include <upp/thread.h>

static const char codes[] = JSON({"replies": [{"parts": [{"text": "Created."}]}, {"parts": [{"text": "Tested."}]}]});
static const char compares[] =
    JSON({"replies": [{"parts": [{"text": "Either."}]}, {"parts": [{"text": "Vitest is younger."}]}]});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                                      *coder, *researcher;
    UPP_CLEANUP(upp_thread_freep) struct upp_thread        *main_thread = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn            *created = NULL, *tested = NULL;
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *result = NULL, *more = NULL;
    size_t                                                  n_main, n_query;

    int r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = stand_in(codes)), &coder, err);
    if (r < 0 || (r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = stand_in(compares)), &researcher, err)) < 0)
        return r;

    /* Part of the conversation. */
    r = weft_ask(coder, UPP_STR("Create a function"), &main_thread, &created, err);
    if (r < 0 || (r = weft_ask(coder, UPP_STR("Add tests for it"), &main_thread, &tested, err)) < 0)
        return r;

    /* Outside the conversation. */
    r = weft_query(researcher, UPP_STR("What testing framework is best?"), &result, err);
    if (r < 0 || (r = weft_query_continue(result, UPP_STR("Compare Jest and Vitest"), &more, err)) < 0)
        return r;

    (void)upp_thread_messages(main_thread, &n_main);
    (void)upp_thread_messages(more->thread, &n_query);
    printf("%s %s %s\n%zu messages in the conversation, %zu beside it\n", upp_turn_text(tested),
           upp_turn_text(result->turn), upp_turn_text(more->turn), n_main, n_query);
    return 0;
}

int main(void)
{
    return run_example(example);
}
