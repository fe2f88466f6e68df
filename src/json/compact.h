/* json/compact.h — compact JSON: spelled as the writer (json/write.h) spells it, without whitespace and with escapes
 * only where JSON requires them.
 *
 * Most stored JSON text was written by the writer. Such text can be inspected, or inserted into another text, without
 * parsing it and writing it again.
 */
#pragma once

#include "json/read.h"

WB_EXPORT_BEGIN

/* Would the reader accept this text, and the writer write it again byte for byte? True is always right; false may be
 * wrong where only parsing could tell, as with lone surrogates. opts as for wj_read, without the flags; may be NULL. */
bool wj_is_compact(struct upp_str text, const struct wj_read_opts *opts);

/* Iterates over a compact text: an object's names, as spelled between their quotes, or an array's items. False: no
 * more. */
struct wj_compact_iter {
    const char *at, *end;
    bool object;
};
struct wj_compact_iter wj_compact_iter(struct upp_str compact);
bool wj_compact_next(struct wj_compact_iter *in, struct upp_str *ret);

WB_EXPORT_END
