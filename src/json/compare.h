/* json/compare.h — do two values mean the same?
 *
 *  - The order of members does not count; of items it does.
 *  - Numbers are equal by their exact value, whatever their spelling and size: 1 = 1.0 = 10e-1, and -0 = 0.
 *  - Strings are equal by their code units: "\u0041" = "A". Nothing is normalised.
 *  - null and absent are different.
 *  - Members of one name are compared as a list in the order they have: {"a":1,"a":2} is not {"a":2,"a":1}.
 */
#ifndef WJ_COMPARE_H
#define WJ_COMPARE_H

#include <yyjson.h>

#include "base/str.h"

WB_EXPORT_BEGIN

/* 1: they do. 0: they do not, and err (which may be NULL) says where the first difference is and what it is, with code
 * UPP_EINVALID. -UPP_ENOMEM. Values of any two documents. O(n log n); memory for the members of the objects that are
 * open at one time, and only where their order differs; no recursion. */
int wj_equal(yyjson_val *a, yyjson_val *b, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END

#endif
