/* examples/session.c — a conversation that survives the program: each answer is streamed, and stored as it goes.
 *
 *     ./session What is a fiber?        # starts a conversation in session.db, or continues it
 */
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

/* A real program has .model = upp_anthropic("claude-sonnet-4-20250514") and ANTHROPIC_API_KEY in its environment. */
static const char script[] = "{\"echo\":true,\"delta_bytes\":6}";

/* One id, so that each start of the program finds the same conversation. */
#define ID "5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11"

static int open_session(struct weft_agent *agent, struct weft_session **ret, struct upp_err *err)
{
    int r = weft_session_open(agent, UPP_STR(ID), NULL, ret, err);
    return r == -UPP_ENOTFOUND ? weft_session_new(agent, UPP_OPTS(weft_session_opts, .id = ID), ret, err) : r;
}

/* Prints the answer as it is generated. The run's messages are in the store when the stream ends. */
static int ask(struct weft_session *s, struct upp_str text, struct upp_err *err)
{
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *stream = NULL;
    struct weft_event                                   ev;

    int r = weft_session_stream(s, UPP_OPTS(upp_input, .text = text), NULL, &stream, err);
    while (r >= 0 && (r = weft_stream_next(stream, &ev, err)) > 0)
        if (ev.source == WEFT_SOURCE_UPP && ev.upp.type == UPP_TEXT_DELTA) {
            printf("%.*s", UPP_FMT(ev.upp.text));
            (void)fflush(stdout);
        }
    printf("\n");
    return r;
}

static int talk(struct weft_runtime *rt, struct upp_str text, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_agent                                    *agent;
    size_t                                                answers;

    int r =
        weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = script}), &agent, err);
    if (r >= 0)
        r = open_session(agent, &s, err);
    if (r >= 0)
        r = ask(s, text, err);
    if (r >= 0)
        r = weft_session_checkpoints(s, &answers, err);
    if (r >= 0)
        printf("(%zu answers so far)\n", answers);
    return r;
}

int main(int argc, char **argv)
{
    UPP_CLEANUP(weft_runtime_closep) struct weft_runtime *rt  = NULL;
    struct upp_err                                        err = {0};
    const char                                           *say = argc > 1 ? argv[1] : "What is a fiber?";

    if (weft_runtime_open(UPP_OPTS(weft_runtime_opts, .store = "sqlite:session.db"), &rt, &err) < 0 ||
        talk(rt, (struct upp_str){say, strlen(say)}, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    return 0;
}
