/* A struct with a member for every kind of row. */
#include "json/decode.h"
#include "json/encode.h"

enum color { RED, GREEN };
enum other { ONE, TWO };

struct inner {
    struct wj_node node;
    struct upp_str name;
};

struct all {
    struct wj_node node;
    struct upp_str str;
    const char    *c;
    bool           flag;
    int            small;
    int64_t        i;
    uint64_t       u;
    double         d;
    float          f;
    enum color     color;
    enum other     other;
    yyjson_val    *any;
    struct wj_map  map;
    struct inner  *obj;
    struct all    *self;
    struct wj_var  var;
    WJ_ARR(struct upp_str) strs;
    WJ_ARR(struct inner) list;
    WJ_ARR(struct wj_var) vars;
    struct {
        struct upp_str *p;
        size_t          n;
    } half;
};

static const struct wj_field inner_rows[] = {F_STR(struct inner, name, "name", 0)};
WJ_SHAPE(inner, struct inner, inner_rows);
WJ_VARIANTS(inners, "type", 0, WJ_VARIANT("inner", 1, inner));
WJ_ENUM(colors, enum color, RED, WJ_WORD("red", RED), WJ_WORD("green", GREEN));
