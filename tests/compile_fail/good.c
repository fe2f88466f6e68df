/* Every row macro, used rightly: this must compile, or the others prove nothing. */
#include "rows.h"

static const struct wj_field all_rows[] = {
    F_STR(struct all, str, "str", 0),
    F_BOOL(struct all, flag, "flag", 0),
    F_I64(struct all, i, "i", 0),
    F_U64(struct all, u, "u", 0),
    F_F64(struct all, d, "d", 0),
    F_NUM(struct all, str, "num", 0),
    F_ENUM(struct all, color, "color", 0, colors),
    F_ANY(struct all, any, "any", 0),
    F_MAP(struct all, map, "map", 0),
    F_OBJ(struct all, obj, "obj", 0, inner),
    F_VAR(struct all, var, "var", 0, inners),
    F_STRS(struct all, strs, "strs", 0),
    F_LIST(struct all, list, "list", 0, inner),
    F_VARS(struct all, vars, "vars", 0, inners),
};
WJ_SHAPE(all, struct all, all_rows);

int use(struct wb_arena *a, yyjson_val *v, struct wb_buf *b);
int use(struct wb_arena *a, yyjson_val *v, struct wb_buf *b)
{
    struct all x;
    int        r = WJ_DECODE(a, all, v, NULL, &x, NULL);
    return r < 0 ? r : WJ_ENCODE(all, &x, b, NULL);
}
