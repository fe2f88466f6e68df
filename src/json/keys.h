/* json/keys.h — the members of an object in the order of their names. */
#ifndef WJ_KEYS_H
#define WJ_KEYS_H

#include "json/value.h"

WB_EXPORT_BEGIN

/* The names of obj's members, sorted by their bytes and then by their place in the document, so that duplicates stand
 * in a row, oldest first. `to` and `spare` have room for as many pointers as obj has members. O(n log n) comparisons,
 * whatever the names. */
void wj_keys_sort(yyjson_val *obj, yyjson_val **to, yyjson_val **spare);

/* Looks for an object inside root that names a member twice. 0: there is none. -UPP_EINVALID: there is, see err. */
int wj_keys_unique(yyjson_val *root, size_t values, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END

#endif
