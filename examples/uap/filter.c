/* examples/uap/filter.c — the events of one source only, and a stream that is aborted (UAP 12.1, 12.4, 12.5). */
#include "stand_ins.h"

static const char script[] =
    JSON({"delta_bytes": 6, "replies": [
    {"parts": [{"tool_call": {"name": "Read", "arguments": {"path": "a"}}}]},
    {"parts": [{"text": "It has one line."}], "delay_ms": 50}]});

/* only: WEFT_SOURCE_UAP, WEFT_SOURCE_UPP, or 0 for both. Aborts the stream after `most` text deltas. */
static int listen(struct weft_agent *agent, uint8_t only, int most, struct upp_err *err)
{
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *stream = NULL;
    const struct upp_turn                              *turn;
    struct weft_event                                   ev;

    int r = weft_agent_stream(agent, UPP_OPTS(upp_input, .text = UPP_STR("What is in it?")),
                                              UPP_OPTS(weft_stream_opts, .only = only), &stream, err);
    while (r >= 0 && (r = weft_stream_next(stream, &ev, err)) > 0) {
        if (ev.source == WEFT_SOURCE_UAP)
            printf("%s of step %u, ", weft_event_name(ev.type), ev.step);
        else if (ev.upp.type == UPP_TEXT_DELTA)
            printf("'%.*s', ", UPP_FMT(ev.upp.text));
        if (ev.source == WEFT_SOURCE_UPP && ev.upp.type == UPP_TEXT_DELTA && !--most)
            weft_stream_abort(stream);
    }
    if (r < 0 && r != -UPP_ECANCELED)
        return r;
    printf("%s: ", r < 0 ? "given up" : "over");
    if ((r = weft_stream_turn(stream, &turn, err)) < 0) /* the turn so far */
        return r;
    printf("'%s'\n", upp_turn_text(turn));
    return 0;
}

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent *agent;
    int r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = stand_in(script), .tools = WEFT_TOOLS(Read)), &agent,
                           err);
    if (r < 0 || (r = listen(agent, WEFT_SOURCE_UAP, 0, err)) < 0 || (r = listen(agent, WEFT_SOURCE_UPP, 0, err)) < 0 ||
        (r = listen(agent, 0, 0, err)) < 0)
        return r;
    return listen(agent, WEFT_SOURCE_UPP, 1, err);
}

int main(void)
{
    return run_example(example);
}
