/* json/scan.h — the members or items of a text that the writer made, without reading it.
 *
 * The text is compact JSON; what is no JSON is found where the scan comes by, and not within values. Where values in it
 * begin and end may be known: they are stepped over, however long they are.
 */
#ifndef WJ_SCAN_H
#define WJ_SCAN_H

#include "base/defs.h"
#include "base/str.h"

struct wj_extent {
    size_t from, to;
};

/* Values in a text, by their places from `base` on: in order, and none within another. */
struct wj_extents {
    const char             *base;
    const struct wj_extent *p;
    size_t                  n;
};

struct wj_scan {
    const char              *p, *end;
    const struct wj_extents *known; /* NULL: nothing is */
    char                     close; /* of what is scanned */
    bool                     first, bad;
};

WB_EXPORT_BEGIN

/* bracket: '{' or '['. A text that does not begin with it is bad. */
void wj_scan_init(struct wj_scan *s, struct upp_str text, char bracket, const struct wj_extents *known);

/* The next one. False: there is none any more, or the text is bad. The name is as it is written, without quotes; in a
 * list it has no text. */
bool wj_scan_next(struct wj_scan *s, struct upp_str *name, struct upp_str *value);

WB_EXPORT_END

#endif
