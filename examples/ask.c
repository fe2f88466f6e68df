/* examples/ask.c — asks a model and writes the answer while it comes.
 *
 *     UPP_MODEL=anthropic:claude-sonnet-4-20250514 ask 'two plus two?'
 *
 * Without UPP_MODEL the answer comes from a script: no key, no network.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upp/upp.h>

int main(int argc, char **argv)
{
    struct upp_err                                    err    = {0};
    UPP_CLEANUP(upp_llm_freep) struct upp_llm        *llm    = NULL;
    UPP_CLEANUP(upp_stream_closep) struct upp_stream *stream = NULL;
    const char *name = getenv("UPP_MODEL"), *asked = argc > 1 ? argv[1] : "Why is the sky blue?";
    char        provider[64];
    (void)snprintf(provider, sizeof provider, "%s", name ? name : "scripted:" UPP_EXAMPLES "/ask.json");
    provider[strcspn(provider, ":")] = 0;
    const char *model = strchr(name ? name : "scripted:" UPP_EXAMPLES "/ask.json", ':');
    (void)model;
    return 0;
}
