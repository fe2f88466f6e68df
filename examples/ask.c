/* examples/ask.c — asks a model and prints the answer as it is generated. Without UPP_MODEL, a scripted model answers.
 *
 *     UPP_MODEL=anthropic:claude-sonnet-4-20250514 ask 'two plus two?'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upp/upp.h>

int main(int argc, char **argv)
{
    static const char  script[] = "scripted:{\"delta_bytes\":4,\"replies\":[{\"parts\":[{\"text\":\"It is four.\"}]}]}";
    const char        *chosen = getenv("UPP_MODEL"), *question = argc > 1 ? argv[1] : "two plus two?";
    char              *provider = strdup(chosen ? chosen : script), *model = provider ? strchr(provider, ':') : NULL;
    struct upp_err     err    = {0};
    struct upp_llm    *llm    = NULL;
    struct upp_stream *stream = NULL;
    struct upp_event   ev;
    if (!model)
        return fprintf(stderr, "UPP_MODEL is PROVIDER:NAME\n"), 2;
    *model++ = 0;

    int r = upp_llm_new(UPP_OPTS(upp_llm_opts, .model = {.provider = provider, .name = model}), &llm, &err);
    if (r >= 0)
        r = upp_stream_open(llm, UPP_OPTS(upp_input, .text = {question, strlen(question)}), &stream, &err);
    while (r >= 0 && (r = upp_stream_next(stream, &ev, &err)) > 0)
        if (ev.type == UPP_TEXT_DELTA)
            (void)fwrite(ev.text.p, 1, ev.text.n, stdout), (void)fflush(stdout);
    (void)(r < 0 ? fprintf(stderr, "%s: %s\n", upp_code_name(r), err.msg) : puts(""));
    upp_stream_close(stream);
    upp_llm_free(llm);
    free(provider);
    return r < 0;
}
