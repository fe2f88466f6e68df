/* json/compare.h — are two values equal?
 *
 *  - Member order does not matter; item order does.
 *  - Numbers are equal by their exact value, whatever their spelling and size: 1 = 1.0 = 10e-1, and -0 = 0.
 *  - Strings are equal by their code units: "\u0041" = "A". Nothing is normalised.
 *  - null and absent are different.
 *  - Members of the same name are compared as a list in their order: {"a":1,"a":2} is not {"a":2,"a":1}.
 */
#pragma once

#include <yyjson.h>

#include "base/str.h"

WB_EXPORT_BEGIN

/* 1: equal. 0: not equal; err (may be NULL) has the pointer and description of the first difference, with code
 * UPP_EINVALID. -UPP_ENOMEM. The values may be of different documents. O(n log n); allocates only where member order
 * differs, for the members of the objects that are open at one time; no recursion. */
int wj_equal(yyjson_val *a, yyjson_val *b, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
