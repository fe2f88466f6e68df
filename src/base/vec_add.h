/* base/vec_add.h — adds to an array (base/vec.h), or says why there is no room.
 *
 *     r = wb_vec_add(&v, 7, MAX_ITEMS, "numbers in a list", err);      0, -UPP_ELIMIT or -UPP_ENOMEM
 *
 * A full array and no memory are two errors: after the first one a caller sends less, after the second one it waits.
 */
#pragma once

#include "base/vec.h"

/* `what`: the items of which there are too many, "calls in a message". */
#define wb_vec_add(v, value, max, what, err)                                                                           \
    (wb_vec_push((v), value, (max)) ? 0 : wb_vec_full((v)->n, (max), (what), (err)))

WB_EXPORT_BEGIN
/* Why there is no room in a list of n items: -UPP_ELIMIT "more than MAX WHAT", or -UPP_ENOMEM "no memory for WHAT". */
int wb_vec_full(size_t n, size_t max, const char *what, struct upp_err *err);
WB_EXPORT_END
