/* examples/agent.c — a first agent: a model, a system prompt, a tool. Without UPP_MODEL, a scripted model answers.
 *
 *     UPP_MODEL=anthropic:claude-sonnet-4-20250514 agent 'How warm is it in Tokyo?'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

static const char script[] = "scripted:{\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"get_weather\","
                             "\"arguments\":{\"city\":\"Tokyo\"}}}]},"
                             "{\"parts\":[{\"text\":\"18 degrees in Tokyo.\"}]}]}";

static int get_weather(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct upp_str city;
    int            r = upp_call_arg_str(call, "city", &city, err);
    return r < 0 ? r : upp_value_printf(ret, err, "18 degrees in %.*s", UPP_FMT(city));
}

int main(int argc, char **argv)
{
    const struct weft_tools tools  = WEFT_TOOLS(UPP_TOOL(get_weather, "The weather of a city", "{city: string}"));
    const char             *chosen = getenv("UPP_MODEL"), *question = argc > 1 ? argv[1] : "How warm is it in Tokyo?";
    char                *provider = strdup(chosen ? chosen : script), *model = provider ? strchr(provider, ':') : NULL;
    struct upp_err       err = {0};
    struct weft_runtime *rt  = NULL;
    struct weft_agent   *agent;
    struct upp_turn     *turn = NULL;
    if (!model)
        return fprintf(stderr, "UPP_MODEL is PROVIDER:NAME\n"), 2;
    *model++ = 0;

    int r = weft_runtime_open(NULL, &rt, &err);
    if (r >= 0)
        r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = {.provider = provider, .name = model},
                                    .system = "You know the weather.", .tools = tools),
                           &agent, &err);
    if (r >= 0)
        r = weft_agent_run(agent, (struct upp_str){question, strlen(question)}, &turn, &err);
    (void)(r < 0 ? fprintf(stderr, "%s: %s\n", upp_code_name(r), err.msg) : puts(upp_turn_text(turn)));
    upp_turn_free(turn);
    weft_runtime_close(rt);
    free(provider);
    return r < 0;
}
