/* examples/uap/stream.c — streams a run: events of both sources, UAP and UPP (UAP 12.1 to 12.3, A.3). */
#include "stand_ins.h"

static const char script[] = JSON({"delta_bytes": 12, "replies": [
    {"parts": [{"text": "A server needs a file."}], "usage": {"input_tokens": 10, "output_tokens": 5}},
    {"parts": [{"text": "I write it."}, {"tool_call": {"name": "Write", "arguments": {"path": "s.c", "text": "..."}}}],
     "usage": {"input_tokens": 20, "output_tokens": 5}},
    {"parts": [{"text": "It is written."}], "usage": {"input_tokens": 30, "output_tokens": 5}},
    {"parts": [{"text": "The server is in s.c."}], "usage": {"input_tokens": 40, "output_tokens": 5}}]});

static void show_agent_event(const struct weft_event *ev)
{
    size_t n = 0;
    switch (ev->type) {
    case WEFT_STEP_START:
        printf("\n=== Step %u ===\n", ev->step);
        break;
    case WEFT_REASONING:
        printf("\n[Thinking] %.*s\n", UPP_FMT(ev->text));
        break;
    case WEFT_ACTION:
        for (const struct upp_part *p = NULL; (p = upp_part_next(ev->message, p, UPP_PARTS_CALLS));)
            printf("\n[Action] %.*s(%.*s)\n", UPP_FMT(p->name), UPP_FMT(p->text));
        break;
    case WEFT_OBSERVATION:
        for (const struct upp_part *p = NULL; (p = upp_part_next(ev->message, p, UPP_PARTS_RESULTS));)
            n++;
        printf("[Result] %zu results\n", n);
        break;
    case WEFT_STEP_END:
        printf("\n[Tokens] %llu\n", (unsigned long long)(ev->usage.input + ev->usage.output));
        break;
    default: /* checkpoints */
        break;
    }
}

static void show_model_event(const struct upp_event *ev)
{
    switch (ev->type) {
    case UPP_TEXT_DELTA:
        printf("%.*s|", UPP_FMT(ev->text));
        break;
    case UPP_TOOL_CALL_DELTA: /* a fragment of the arguments */
    default:
        break;
    }
}

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                                  *coder;
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *stream = NULL;
    struct weft_event                                   ev;
    const struct upp_turn                              *turn;

    int r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = stand_in(script),
                                    .execution = weft_react(.max_steps = 10), .tools = WEFT_TOOLS(Read, Write)),
                           &coder, err);
    if (r < 0)
        return r;
    r = weft_agent_stream(coder, UPP_OPTS(upp_input, .text = UPP_STR("Implement a simple HTTP server")), NULL, &stream,
                                          err);
    while (r >= 0 && (r = weft_stream_next(stream, &ev, err)) > 0)
        if (ev.source == WEFT_SOURCE_UAP)
            show_agent_event(&ev);
        else
            show_model_event(&ev.upp);

    if (r < 0 || (r = weft_stream_turn(stream, &turn, err)) < 0)
        return r;
    printf("\nFinal response: %s\nTotal tokens: %llu\n", upp_turn_text(turn),
           (unsigned long long)(turn->usage.input + turn->usage.output));
    return 0;
}

int main(void)
{
    return run_example(example);
}
