/* json/number.h — numbers as the text a document had, of any size.
 *
 * A JSON number has no size limit, and 1, 1.0 and 10e-1 are one value in three spellings. The text is kept; these
 * functions look at it. Nothing here depends on the locale, allocates, or takes longer than the text is long, whatever
 * the exponent says.
 */
#ifndef WJ_NUMBER_H
#define WJ_NUMBER_H

#include "base/str.h"

/* Room for what wj_num_format writes. */
enum { WJ_NUM_MAX = 40 };

WB_EXPORT_BEGIN

/* Is s a number as JSON writes it? */
bool wj_num_valid(struct upp_str s);

/* The exact value, where it is an integer in range: 7, -0, 1.0 and 12e2 are, 1.5 and 1e99 are not. */
bool wj_num_i64(struct upp_str s, int64_t *ret);
bool wj_num_u64(struct upp_str s, uint64_t *ret);

/* The nearest double; false when the number is too large for one. */
bool wj_num_f64(struct upp_str s, double *ret);

/* The same value, exactly: 1 = 1.0 = 10e-1, and -0 = 0 = 0e9. Both are valid numbers. */
bool wj_num_eq(struct upp_str a, struct upp_str b);

/* Which is larger, exactly: -1, 0, 1. Both are valid numbers. */
int wj_num_cmp(struct upp_str a, struct upp_str b);

/* Is a, exactly, a whole number of times b? Both are valid numbers; b is above 0 and has at most WJ_NUM_DIVISOR digits
 * between its first and its last that are not zero. */
enum { WJ_NUM_DIVISOR = 18 };
bool wj_num_multiple(struct upp_str a, struct upp_str b);

/* May a number be the second of wj_num_multiple? */
bool wj_num_divisor(struct upp_str s);

/* Is the value a whole number, of any size? 1.0, -0 and 1e99 are. */
bool wj_num_whole(struct upp_str s);

/* The shortest text that reads back as v, into a buffer of WJ_NUM_MAX: its length, 0 when v is not finite. */
size_t wj_num_format(double v, char *to);

WB_EXPORT_END

#endif
