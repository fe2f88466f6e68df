/* support/llm.h — a scripted model for tests of the loop. */
#ifndef TEST_LLM_H
#define TEST_LLM_H

#include <upp/model.h>

#include "base/str.h"

/* NULL: an echo as script, or no memory as result. */
static inline struct upp_model *llm_script(const char *script)
{
    struct upp_model *m = NULL;
    return upp_scripted_new(wb_cstr(script), &m, NULL) < 0 ? NULL : m;
}

#endif
