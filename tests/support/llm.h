/* support/llm.h — a scripted model for tests of the loop. */
#pragma once

#include <upp/model.h>

#include "base/str.h"

/* NULL: an echo as script, or no memory as result. */
static inline struct upp_model *llm_script(const char *script)
{
    struct upp_model *m = NULL;
    return upp_scripted_new(wb_cstr(script), &m, NULL) < 0 ? NULL : m;
}
