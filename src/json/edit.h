/* json/edit.h — copies of a JSON object with members set, dropped or merged: the one way to change an object.
 *
 * All other members keep their order and are written token for token, so that compact text (json/compact.h) keeps its
 * bytes. A member that is set becomes the last. Duplicates of its name are dropped.
 */
#pragma once

#include "json/write.h"

struct wj_edit {
    struct upp_str name;
    struct upp_str json; /* its new value, known to be valid; NULL: the member is dropped */
};

WB_EXPORT_BEGIN

/* The object's text with n edits. No text: an object without members. Limits: those of wj_read. */
int wj_edit(struct wb_arena *a, struct upp_str object, const struct wj_edit *edits, size_t n, struct upp_str *ret,
            struct upp_err *err) UPP_MUST_CHECK;

/* The members of both: those of `under` that `over` does not have, then those of `over`. */
int wj_merge(struct wb_arena *a, struct upp_str under, struct upp_str over, struct upp_str *ret,
             struct upp_err *err) UPP_MUST_CHECK;

/* Writes members of an object that was read into the open one. An object that is NULL or another value has none. */
void wj_put_members(struct wj_writer *w, yyjson_val *object);
void wj_put_members_but(struct wj_writer *w, yyjson_val *object, const char *const *names); /* NULL: the last */
void wj_put_members_under(struct wj_writer *w, yyjson_val *object, yyjson_val *over);       /* that `over` has not */
#define WJ_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The same from the text of an object, without reading it: it is known to be valid, and brackets may have blanks beside
 * them. No text: no members. */
void wj_put_members_text(struct wj_writer *w, struct upp_str object);

WB_EXPORT_END

/* One edit. */
UPP_MUST_CHECK static inline int wj_set(struct wb_arena *a, struct upp_str object, const char *name,
                                        struct upp_str json, struct upp_str *ret, struct upp_err *err)
{
    return wj_edit(a, object, &(struct wj_edit){wb_cstr(name), json}, 1, ret, err);
}
