/* fuzz/fuzz_openai_chat.c — whatever a server that speaks Chat Completions sends: fuzz/adapter.h says what holds. */
#include "fuzz/adapter.h"

FUZZ(openai_chat)
{
    fuzz_adapter(&upp__openai_chat, in);
}
