/* json/scan.h — iterates over the members or items of a text made by our writer, without parsing it.
 *
 * The text is compact JSON. Errors are detected on the scan's way, but not inside values. Values with known extents are
 * skipped in one step, however long they are.
 */
#pragma once

#include "base/defs.h"
#include "base/str.h"

struct wj_extent {
    size_t from, to;
};

/* Extents of values in a text, as offsets from `base`: sorted, not nested. */
struct wj_extents {
    const char *base;
    const struct wj_extent *p;
    size_t n;
};

struct wj_scan {
    const char *p, *end;
    const struct wj_extents *known; /* NULL: none */
    char close;                     /* the closing bracket of what is scanned */
    bool first, bad;
};

WB_EXPORT_BEGIN

/* bracket: '{' or '['. A text that does not begin with it is bad. */
void wj_scan_init(struct wj_scan *s, struct upp_str text, char bracket, const struct wj_extents *known);

/* The next one. False: no more, or the text is bad. The name is as spelled in the text, without quotes; empty in an
 * array. */
bool wj_scan_next(struct wj_scan *s, struct upp_str *name, struct upp_str *value);

WB_EXPORT_END
