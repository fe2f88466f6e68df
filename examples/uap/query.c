/* examples/uap/query.c — questions on a separate thread, each continuing the one before (UAP 9.2, A.2). */
#include "stand_ins.h"

static const char script[] =
    JSON({"replies": [
    {"parts": [{"text": "Say what failed, and where."}]},
    {"parts": [{"text": "Await inside of try."}]},
    {"parts": [{"text": "try { await f() } catch (e) { tell(e) } finally { close() }"}]}]});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                                      *researcher;
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *result = NULL, *followup1 = NULL, *followup2 = NULL;
    size_t                                                  n;

    int r =
        weft_agent_new(rt,
                       UPP_OPTS(weft_agent_opts, .model = stand_in(script),
                                .system = "You are a technical researcher. Provide detailed, accurate information."),
                       &researcher, err);
    if (r < 0 || (r = weft_query(researcher, UPP_STR("What are the best practices for error handling in TypeScript?"),
                                                     &result, err)) < 0)
        return r;
    printf("%s\n", upp_turn_text(result->turn));

    r = weft_query_continue(result, UPP_STR("How does this apply to async/await?"), &followup1, err);
    if (r < 0)
        return r;
    printf("%s\n", upp_turn_text(followup1->turn));

    r = weft_query_continue(followup1, UPP_STR("Show me examples with try-catch-finally"), &followup2, err);
    if (r < 0)
        return r;
    printf("%s\n", upp_turn_text(followup2->turn));

    (void)upp_thread_messages(followup2->thread, &n); /* its id: upp_thread_id */
    printf("%zu messages in %s thread\n", n, followup2->thread == result->thread ? "one" : "another");
    return 0;
}

int main(void)
{
    return run_example(example);
}
