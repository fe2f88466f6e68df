/* json/value.c — what a value is, in words; simple values. */
#include "json/value.h"

#include <stdio.h>

const char *wj_found(yyjson_val *v, char *buf, size_t size)
{
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_NULL:
        return "null";
    case YYJSON_TYPE_BOOL:
        return yyjson_get_bool(v) ? "true" : "false";
    case YYJSON_TYPE_ARR:
        return "an array";
    case YYJSON_TYPE_OBJ:
        return "an object";
    case YYJSON_TYPE_STR:
        return "a string";
    default:
        break;
    }
    struct upp_str s = wj_text(v);
    if (s.n > 40)
        return "a long number";
    (void)snprintf(buf, size, "the number %.*s", UPP_FMT(s));
    return buf;
}

static yyjson_val *new_value(struct wb_arena *a)
{
    return wb_new(a, yyjson_val);
}

yyjson_val *wj_value_str(struct wb_arena *a, struct upp_str s)
{
    struct upp_str copy = wb_arena_dup(a, s.p ? s : UPP_STR(""));
    yyjson_val    *v    = new_value(a);
    if (v && copy.p)
        (void)yyjson_set_strn(v, copy.p, copy.n);
    return copy.p ? v : NULL;
}

yyjson_val *wj_value_i64(struct wb_arena *a, int64_t n)
{
    struct upp_str text = wb_arena_printf(a, "%lld", (long long)n);
    yyjson_val    *v    = new_value(a);
    if (v && text.p)
        (void)yyjson_set_raw(v, text.p, text.n);
    return text.p ? v : NULL;
}

yyjson_val *wj_value_bool(struct wb_arena *a, bool b)
{
    yyjson_val *v = new_value(a);
    if (v)
        (void)yyjson_set_bool(v, b);
    return v;
}

yyjson_val *wj_value_null(struct wb_arena *a)
{
    yyjson_val *v = new_value(a);
    if (v)
        (void)yyjson_set_null(v);
    return v;
}
