/* base/vec.h — growing arrays of any type.
 *
 *     WB_VEC(int) v = {0};
 *     if (!wb_vec_push(&v, 7, MAX_ITEMS)) ...      no memory, or the maximum is reached: nothing changed
 *     wb_vec_done(&v);
 *
 * A pointer into the array is good until the next push.
 */
#pragma once

#include <upp/base.h>

#include "base/export.h"

#define WB_VEC(T)                                                                                                      \
    struct {                                                                                                           \
        T *p;                                                                                                          \
        size_t n, cap;                                                                                                 \
    }

WB_EXPORT_BEGIN
/* Room for one more; false when there is no memory or n has reached max. */
bool wb_vec_grow(void **p, size_t n, size_t *cap, size_t item, size_t max);
/* Room for `want` items in all; false: there is none, and nothing changed. */
bool wb_vec_widen(void **p, size_t *cap, size_t item, size_t want);
void wb_vec_free(void **p, size_t *n, size_t *cap);
WB_EXPORT_END

#define wb_vec_room(v, max)                                                                                            \
    ((v)->n < (v)->cap ? (v)->n < (max)                                                                                \
                       : wb_vec_grow((void **)(void *)&(v)->p, (v)->n, &(v)->cap, sizeof *(v)->p, (max)))
#define wb_vec_push(v, value, max) (wb_vec_room((v), (max)) ? ((v)->p[(v)->n++] = (value), true) : false)
/* For those who know how many there will be: lists that grow are copied again and again. */
#define wb_vec_reserve(v, want) wb_vec_widen((void **)(void *)&(v)->p, &(v)->cap, sizeof *(v)->p, (want))
#define wb_vec_done(v)          wb_vec_free((void **)(void *)&(v)->p, &(v)->n, &(v)->cap)
