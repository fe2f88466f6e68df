/* fuzz/tokens.h — are two values the same, token for token? Stricter than wj_equal: order and spelling count. */
#pragma once

#include "json/value.h"

/* Values lie in a row: containers are equal when their counts and all that follows are. */
static inline bool same_tokens(yyjson_val *a, yyjson_val *b)
{
    yyjson_val *end = unsafe_yyjson_get_next(a);
    if (end - a != unsafe_yyjson_get_next(b) - b)
        return false;
    for (; a < end; a++, b++) {
        if (a->tag != b->tag && (unsafe_yyjson_get_type(a) != unsafe_yyjson_get_type(b) ||
                                 unsafe_yyjson_get_len(a) != unsafe_yyjson_get_len(b)))
            return false;
        if ((yyjson_is_str(a) || yyjson_is_raw(a)) && !wb_str_eq(wj_text(a), wj_text(b)))
            return false;
        if (yyjson_is_bool(a) && yyjson_get_bool(a) != yyjson_get_bool(b))
            return false;
    }
    return true;
}
