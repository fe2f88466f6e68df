/* fuzz/fuzz_ollama.c — whatever Ollama sends: fuzz/adapter.h says what holds. */
#include "fuzz/adapter.h"

FUZZ(ollama)
{
    fuzz_adapter(&upp__ollama, in);
}
