/* fuzz/fuzz_openai_chat.c — answers of Chat Completions. */
#include "fuzz/answers.h"

FUZZ(openai_chat)
{
    fuzz_answer(&upp__openai_chat, in);
}
