/* fuzz/fuzz_openai_responses.c — answers of the Responses API. */
#include "fuzz/answers.h"

FUZZ(openai_responses)
{
    fuzz_answer(&upp__openai_responses, in);
}
