/* json/number.h — numbers as the text of the document, of any size.
 *
 * A JSON number has no size limit, and 1, 1.0 and 10e-1 are one value in three spellings. Values keep the text; these
 * functions interpret it. They do not depend on the locale or allocate, and take time linear in the text, whatever the
 * exponent.
 */
#pragma once

#include "base/str.h"

/* Buffer size for wj_num_format. */
enum { WJ_NUM_MAX = 40 };

WB_EXPORT_BEGIN

/* Is s a valid JSON number? */
bool wj_num_valid(struct upp_str s);

/* The exact value if it is an integer in range: 7, -0, 1.0 and 12e2 are, 1.5 and 1e99 are not. */
bool wj_num_i64(struct upp_str s, int64_t *ret);
bool wj_num_u64(struct upp_str s, uint64_t *ret);

/* The nearest double; false if the number is too large for one. */
bool wj_num_f64(struct upp_str s, double *ret);

/* Exact equality: 1 = 1.0 = 10e-1, and -0 = 0 = 0e9. Both are valid numbers. */
bool wj_num_eq(struct upp_str a, struct upp_str b);

/* Exact comparison: -1, 0, 1. Both are valid numbers. */
int wj_num_cmp(struct upp_str a, struct upp_str b);

/* Is a exactly an integer multiple of b? Both are valid numbers; b is above 0 and has at most WJ_NUM_DIVISOR digits
 * from its first to its last that is not zero. */
enum { WJ_NUM_DIVISOR = 18 };
bool wj_num_multiple(struct upp_str a, struct upp_str b);

/* May the number be the second argument of wj_num_multiple? */
bool wj_num_divisor(struct upp_str s);

/* Is the value an integer, of any size? 1.0, -0 and 1e99 are. */
bool wj_num_whole(struct upp_str s);

/* Writes the shortest text that reads back as v, into a buffer of WJ_NUM_MAX. Returns its length; 0 if v is not
 * finite. */
size_t wj_num_format(double v, char *to);

WB_EXPORT_END
