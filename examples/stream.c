/* examples/stream.c — streams a run: steps, tool calls, and text as it is generated (UAP A.3). */
#include <stdio.h>
#include <weft/weft.h>

static const char script[] = "{\"replies\":[{\"delta_bytes\":4,\"parts\":[{\"text\":\"Let me "
                             "look.\"},{\"tool_call\":{\"name\":\"list_files\"}}]},"
                             "{\"delta_bytes\":4,\"parts\":[{\"text\":\"There is one "
                             "file.\"}],\"usage\":{\"input_tokens\":12,\"output_tokens\":5}}]}";

static int list_files(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    return upp_value_json(ret, UPP_STR("[\"main.c\"]"), err);
}

static void show(const struct weft_event *ev)
{
    if (ev->source == WEFT_SOURCE_UPP) {
        if (ev->upp.type == UPP_TEXT_DELTA)
            printf("%.*s", UPP_FMT(ev->upp.text));
        return;
    }
    if (ev->type == WEFT_STEP_START)
        printf("[step %u] ", ev->step);
    if (ev->type == WEFT_ACTION)
        for (const struct upp_part *p = NULL; (p = upp_part_next(ev->message, p, UPP_PARTS_CALLS));)
            printf(" (%.*s)", UPP_FMT(p->name));
    if (ev->type == WEFT_STEP_END)
        printf("\n");
    (void)fflush(stdout);
}

int main(void)
{
    const struct weft_tools tools  = WEFT_TOOLS(UPP_TOOL(list_files, "The files of a project", "{}"));
    struct upp_err          err    = {0};
    struct weft_runtime    *rt     = NULL;
    struct weft_agent      *agent  = NULL;
    struct weft_stream     *stream = NULL;
    const struct upp_turn  *turn;
    struct weft_event       ev;
    const struct upp_input in = {.size = sizeof(in), .text = UPP_STR("What is here?")}; /* must outlive the stream */
    int                    r  = weft_runtime_open(NULL, &rt, &err);
    if (r >= 0)
        r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = script}, .tools = tools),
                           &agent, &err);
    if (r >= 0)
        r = weft_agent_stream(agent, &in, NULL, &stream, &err);
    while (r >= 0 && (r = weft_stream_next(stream, &ev, &err)) > 0)
        show(&ev);
    if (r >= 0)
        r = weft_stream_turn(stream, &turn, &err);
    if (r >= 0)
        printf("%llu tokens\n", (unsigned long long)(turn->usage.input + turn->usage.output));
    else
        (void)fprintf(stderr, "%s: %s\n", upp_code_name(r), err.msg);
    weft_stream_close(stream);
    weft_runtime_close(rt);
    return r < 0;
}
