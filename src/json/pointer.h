/* json/pointer.h — JSON pointers (RFC 6901) for messages.
 *
 * Nothing tracks a path while all goes well: a value lies inside its containers in memory (json/read.h, invariant 5),
 * so its pointer can be computed from its address once it is needed.
 *
 * For display: control characters become blanks and lone surrogates U+FFFD; a pointer that does not fit loses its
 * front, marked by "...".
 */
#pragma once

#include <yyjson.h>

#include "base/str.h"

/* A pointer under construction in a buffer of `size` bytes (at least 32), always NUL-terminated. */
struct wj_pointer {
    char *p;
    size_t n, size;
    bool cut;
};

WB_EXPORT_BEGIN

void wj_pointer_init(struct wj_pointer *t, char *p, size_t size);
void wj_pointer_name(struct wj_pointer *t, struct upp_str name); /* adds "/name" */
void wj_pointer_index(struct wj_pointer *t, size_t i);           /* adds "/7" */

/* Adds the path from root to `what`: a value inside it, or a member's name (which means that member). */
void wj_pointer_find(struct wj_pointer *t, yyjson_val *root, const yyjson_val *what);

/* The same into err->where. err may be NULL. */
void wj_pointer_err(struct upp_err *err, yyjson_val *root, const yyjson_val *what);

WB_EXPORT_END

static inline struct upp_str wj_pointer_str(const struct wj_pointer *t)
{
    return wb_str(t->p, t->n);
}
