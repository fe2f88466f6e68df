/* base/err.h — filling errors in: what upp/base.h leaves to the inside. */
#pragma once

#include <stdarg.h>
#include <upp/base.h>

#include "base/export.h"

/* Initialises an error: its texts are empty, but not all their bytes are cleared. */
static inline void wb_err_init(struct upp_err *err)
{
    err->code = 0;
    err->http = 0;
    err->retry_after_ms = 0;
    err->modality = 0;
    err->provider[0] = err->where[0] = err->cause[0] = err->msg[0] = 0;
}

WB_EXPORT_BEGIN

/* upp_fail for those who have arguments of their own. */
int wb_vfail(struct upp_err *err, enum upp_code code, const char *fmt, va_list args) UPP_PRINTF(3, 0);

/* Says where it went wrong: a file, a JSON pointer, a request. Any bytes, made fit to be shown as those of a message
 * are; of a long one the end is kept. err may be NULL. */
void wb_err_where(struct upp_err *err, struct upp_str where);

/* Fails with an error of the operating system. `r` is a negative errno; the code comes from it where a caller would do
 * something different (not found, refused, out of memory, busy ...), and is `otherwise` where not.
 * msg: "the sentence: no such file or directory". cause: "ENOENT". */
int wb_fail_sys(struct upp_err *err, int r, enum upp_code otherwise, const char *fmt, ...) UPP_PRINTF(4, 5);

/* -UPP_ELIMIT that passes: so much is under way that nothing more is taken now, and trying again later helps. Without
 * a time to try again -UPP_ELIMIT means that what was asked for is too large, today and tomorrow. */
int wb_fail_full(struct upp_err *err, const char *fmt, ...) UPP_PRINTF(2, 3);

WB_EXPORT_END
