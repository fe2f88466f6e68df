/* examples/tools.c — a model with two tools; one of them needs approval. Without UPP_MODEL, a scripted model answers.
 *
 *     UPP_MODEL=openai:gpt-5 tools 'Is it warmer in Tokyo or in Oslo?'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upp/upp.h>

static const char script[] =
    "scripted:{\"replies\":[{\"parts\":[{\"text\":\"Let me look.\"},"
    "{\"tool_call\":{\"id\":\"call_1\",\"name\":\"get_weather\",\"arguments\":{\"city\":\"Tokyo\"}}},"
    "{\"tool_call\":{\"id\":\"call_2\",\"name\":\"remember\",\"arguments\":{\"what\":\"Tokyo is mild\"}}}]},"
    "{\"parts\":[{\"text\":\"18 degrees in Tokyo; I may not remember it.\"}]}]}";

static int get_weather(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct upp_str city;
    int            r = upp_call_arg_str(call, "city", &city, err);
    return r < 0 ? r : upp_value_printf(ret, err, "18 degrees in %.*s", UPP_FMT(city));
}

static int remember(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    return upp_value_text(ret, UPP_STR("remembered"), err);
}

static int never(struct upp_call *call, struct upp_err *err)
{
    (void)call, (void)err;
    return 0;
}

int main(int argc, char **argv)
{
    const struct upp_tool tools[] = {UPP_TOOL(get_weather, "The weather of a city", "{city: string}"),
                                     {.name        = "remember",
                                      .description = "Keeps a note",
                                      .parameters  = "{what: string}",
                                      .run         = remember,
                                      .approval    = never}};
    const char           *chosen = getenv("UPP_MODEL"), *question = argc > 1 ? argv[1] : "How warm is it in Tokyo?";
    char                 *provider = strdup(chosen ? chosen : script), *model = provider ? strchr(provider, ':') : NULL;
    struct upp_err        err  = {0};
    struct upp_llm       *llm  = NULL;
    struct upp_turn      *turn = NULL;
    if (!model)
        return fprintf(stderr, "UPP_MODEL is PROVIDER:NAME\n"), 2;
    *model++ = 0;

    int r = upp_llm_new(
        UPP_OPTS(upp_llm_opts, .model = {.provider = provider, .name = model}, .tools = tools, .n_tools = 2), &llm,
        &err);
    if (r >= 0)
        r = upp_ask(llm, (struct upp_str){question, strlen(question)}, &turn, &err);
    for (size_t i = 0; turn && i < turn->n_executions; i++)
        printf("%.*s: %.*s\n", UPP_FMT(turn->executions[i].name), UPP_FMT(turn->executions[i].result));
    (void)(r < 0 ? fprintf(stderr, "%s: %s\n", upp_code_name(r), err.msg) : puts(upp_turn_text(turn)));
    upp_turn_free(turn);
    upp_llm_free(llm);
    free(provider);
    return r < 0;
}
