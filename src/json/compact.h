/* json/compact.h — JSON as the writer (json/write.h) spells it: no blanks, no escape but where one is needed.
 *
 * Most JSON that is kept as a text was written by the writer: then it need not be read and written again to be put into
 * another text, or to know what it is.
 */
#ifndef WJ_COMPACT_H
#define WJ_COMPACT_H

#include "json/read.h"

WB_EXPORT_BEGIN

/* Would the reader take this text, and the writer write it again byte for byte? "No" may be wrong where that takes
 * reading, as with lone surrogates; "yes" never is. opts as wj_read has them, without the flags; may be NULL. */
bool wj_is_compact(struct upp_str text, const struct wj_read_opts *opts);

/* What stands in a text that is compact, one after the other: for an object its names, as they are spelled between
 * their quotes; for a list its items. False: no more. */
struct wj_inside {
    const char *at, *end;
    bool        object;
};
struct wj_inside wj_inside(struct upp_str compact);
bool             wj_inside_next(struct wj_inside *in, struct upp_str *ret);

WB_EXPORT_END

#endif
