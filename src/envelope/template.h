/* envelope/template.h — inside envelope/: prompts from templates (adapter.h has their language). */
#pragma once

#include "envelope/adapter.h"

/* e NULL: only checks the template. */
int we_template_write(struct upp_str template, const struct we_envelope *e, bool strict, struct wb_buf *out,
                      struct upp_err *err) UPP_MUST_CHECK;
