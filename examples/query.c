/* examples/query.c — a question outside the conversation, and a follow-up (UAP A.2). */
#include <stdio.h>
#include <weft/weft.h>

static const char script[] = "{\"replies\":[{\"parts\":[{\"text\":\"Three functions.\"}]},"
                             "{\"parts\":[{\"text\":\"The second one.\"}]}]}";

int main(void)
{
    struct upp_err            err   = {0};
    struct weft_runtime      *rt    = NULL;
    struct weft_agent        *agent = NULL;
    struct weft_query_result *one = NULL, *two = NULL;
    int                       r = weft_runtime_open(NULL, &rt, &err);
    if (r >= 0)
        r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = script}), &agent,
                           &err);
    if (r >= 0)
        r = weft_query(agent, UPP_STR("How many functions does the file have?"), &one, &err);
    if (r >= 0)
        r = weft_query_continue(one, UPP_STR("Which of them is slow?"), &two, &err);
    if (r < 0)
        (void)fprintf(stderr, "%s: %s\n", upp_code_name(r), err.msg);
    else {
        size_t n;
        (void)upp_thread_messages(two->thread, &n);
        printf("%s\n%s\n%zu messages in thread %.*s\n", upp_turn_text(one->turn), upp_turn_text(two->turn), n,
               UPP_FMT(upp_thread_id(two->thread)));
    }
    weft_query_free(one);
    weft_query_free(two);
    weft_runtime_close(rt);
    return r < 0;
}
