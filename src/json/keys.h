/* json/keys.h — the members of an object, sorted by name. */
#pragma once

#include "json/value.h"

WB_EXPORT_BEGIN

/* The names of obj's members, sorted by their bytes and then by position in the document, so that duplicates are
 * adjacent, in document order. `to` and `scratch` have room for as many pointers as obj has members. O(n log n)
 * comparisons, whatever the names. */
void wj_keys_sort(yyjson_val *obj, yyjson_val **to, yyjson_val **scratch);

/* Looks for duplicate members in all objects of root. 0: none. -UPP_EINVALID: found, see err. -UPP_ENOMEM. */
int wj_keys_unique(yyjson_val *root, size_t values, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
