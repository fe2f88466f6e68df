/* fuzz/fuzz_openai_responses.c — whatever OpenAI (Responses) sends: fuzz/adapter.h says what holds. */
#include "fuzz/adapter.h"

FUZZ(openai_responses)
{
    fuzz_adapter(&upp__openai_responses, in);
}
