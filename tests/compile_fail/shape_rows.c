/* Rows of shapes: the member must have the C type the row says, and nested shapes their own struct.
 * Without WRONG every row macro is used rightly. */
#include "json/decode.h"

enum color { RED, GREEN };
enum other { ONE, TWO };

struct inner {
    struct wj_node node;
    struct upp_str name;
};

struct all {
    struct wj_node node;
    struct upp_str str;
    const char *c;
    bool flag;
    int small;
    uint64_t u;
    int64_t i;
    enum color color;
    enum other other;
    yyjson_val *any;
    struct wj_map map;
    struct inner *obj;
    struct all *self;
    WJ_ARR(struct upp_str) strs;
    WJ_ARR(struct inner) list;
    struct {
        struct upp_str *p;
    } half;
};

static const struct wj_field inner_rows[] = {F_STR(struct inner, name, "name", 0)};
WJ_SHAPE(inner, struct inner, inner_rows);
WJ_ENUM(colors, enum color, WJ_WORD("red", RED), WJ_WORD("green", GREEN));

static const struct wj_field all_rows[] = {
    F_STR(struct all, str, "str", 0),
    F_BOOL(struct all, flag, "flag", 0),
    F_U64(struct all, u, "u", 0),
    F_NUM(struct all, str, "num", 0),
    F_ENUM(struct all, color, "color", 0, colors),
    F_ANY(struct all, any, "any", 0),
    F_MAP(struct all, map, "map", 0),
    F_OBJ(struct all, obj, "obj", 0, inner),
    F_STRS(struct all, strs, "strs", 0),
    F_LIST(struct all, list, "list", 0, inner),
#if WRONG == 1 /* says: F_STR: struct all.c is not struct upp_str */
    F_STR(struct all, c, "c", 0),
#elif WRONG == 2  /* says: F_STR: struct all.i is not struct upp_str */
    F_STR(struct all, i, "i", 0),
#elif WRONG == 3  /* says: F_STR: struct all.strs is not struct upp_str */
    F_STR(struct all, strs, "strs", 0),
#elif WRONG == 4  /* says: F_BOOL: struct all.small is not _Bool */
    F_BOOL(struct all, small, "flag", 0),
#elif WRONG == 5  /* says: F_U64: struct all.i is not uint64_t */
    F_U64(struct all, i, "u", 0),
#elif WRONG == 6  /* says: F_NUM: struct all.u is not struct upp_str */
    F_NUM(struct all, u, "num", 0),
#elif WRONG == 7  /* says: F_ENUM: struct all.other is not */
    F_ENUM(struct all, other, "color", 0, colors),
#elif WRONG == 8  /* says: F_ENUM: struct all.flag is not */
    F_ENUM(struct all, flag, "color", 0, colors),
#elif WRONG == 9  /* says: F_ANY: struct all.obj is not yyjson_val * */
    F_ANY(struct all, obj, "any", 0),
#elif WRONG == 10 /* says: F_MAP: struct all.any is not struct wj_map */
    F_MAP(struct all, any, "map", 0),
#elif WRONG == 11 /* says: F_OBJ: struct all.self is not */
    F_OBJ(struct all, self, "obj", 0, inner),
#elif WRONG == 12 /* says: F_OBJ: struct all.list is not */
    F_OBJ(struct all, list, "obj", 0, inner),
#elif WRONG == 13 /* says: F_STRS: struct all.list.p is not struct upp_str * */
    F_STRS(struct all, list, "strs", 0),
#elif WRONG == 14 /* says: F_LIST: struct all.strs.p is not */
    F_LIST(struct all, strs, "list", 0, inner),
#elif WRONG == 15 /* says: no member named */
    F_STRS(struct all, half, "strs", 0),
#elif WRONG == 16 /* says: no member named */
    F_STR(struct all, none, "none", 0),
#endif
};
WJ_SHAPE(all, struct all, all_rows);

int use(struct wb_arena *a, yyjson_val *v);
int use(struct wb_arena *a, yyjson_val *v)
{
    struct all x;
    int r = WJ_DECODE(a, all, v, NULL, &x, NULL);
#if WRONG == 17 /* says: WJ_DECODE: &x is not of the type of shape inner */
    r = WJ_DECODE(a, inner, v, NULL, &x, NULL);
#endif
    return r;
}

#if WRONG == 18 /* says: shape: node is not the first member */
struct late {
    int x;
    struct wj_node node;
    struct upp_str s;
};
static const struct wj_field late_rows[] = {F_STR(struct late, s, "s", 0)};
WJ_SHAPE(late, struct late, late_rows);
const void *use_late = &late;
#elif WRONG == 19 /* says: shape: struct none.node is not struct wj_node */
struct none {
    struct upp_str node;
    struct upp_str s;
};
static const struct wj_field none_rows[] = {F_STR(struct none, s, "s", 0)};
WJ_SHAPE(none, struct none, none_rows);
const void *use_none = &none;
#elif WRONG == 20 /* says: shape: more than 64 rows */
static const struct wj_field many_rows[65] = {F_STR(struct inner, name, "name", 0)};
WJ_SHAPE(many, struct inner, many_rows);
const void *use_many = &many;
#endif
