/* json/shape.h — tables whose rows each describe one member of a JSON object that is decoded into a struct.
 *
 *     struct tool_use {
 *         struct wj_node node;                                    // first, always
 *         struct upp_str id, name;
 *         yyjson_val    *input;
 *     };
 *     static const struct wj_field tool_use_rows[] = {
 *         F_STR(struct tool_use, id, "id", F_REQUIRED),
 *         F_STR(struct tool_use, name, "name", F_REQUIRED),
 *         F_ANY(struct tool_use, input, "input", F_REQUIRED),      // the value, undecoded
 *     };
 *     WJ_SHAPE(tool_use, struct tool_use, tool_use_rows);
 *
 * Tables must be at file scope. A row whose struct member has the wrong C type does not compile, and neither does a
 * nested row whose shape belongs to another struct.
 *
 * Presence: text, pointers, arrays and maps are present if their pointer is not NULL (an empty array has a pointer
 * too). For numbers, booleans and enums use WJ_IS_SET.
 *
 * A slot points into the value it was decoded from: both live as long as that value's arena.
 */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "base/defs.h"

struct wj_decoder;
struct wj_field;

enum {
    WJ_ROWS = 64,         /* at most, in one shape */
    WJ_SHAPE_DEPTH = 128, /* levels of arrays and objects, at most: the decoder recurses */
};

enum {
    F_REQUIRED = 1 << 0,  /* missing is an error */
    F_NULLABLE = 1 << 1,  /* null is allowed and leaves the slot empty */
    F_OR = 1 << 2,        /* or the next row, which has the same name; the value's JSON type decides */
    F_ALIAS = 1 << 3,     /* another name for the previous row. The first name wins if a document has both. */
    F_BAD_ITEMS = 1 << 4, /* arrays, when collecting problems: a bad item leaves its slot empty, the others are read */
};

/* How one kind of member is decoded. Const, stateless. */
struct wj_kind {
    const char *expects; /* "a string": for error messages */
    uint8_t takes;       /* JSON types: WJ_STRING | ... */
    uint16_t size;       /* of the slot */

    /* Decodes v, whose type is one of `takes`, into the slot, which is cleared. Returns 0; or WJ_SPELLED if a writer
     * would spell the value differently; or the result of wj_refuse. */
    int (*get)(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot);
};

enum {
    WJ_NUMBER = 1 << YYJSON_TYPE_RAW,
    WJ_NULL = 1 << YYJSON_TYPE_NULL,
    WJ_BOOL = 1 << YYJSON_TYPE_BOOL,
    WJ_STRING = 1 << YYJSON_TYPE_STR,
    WJ_ARRAY = 1 << YYJSON_TYPE_ARR,
    WJ_OBJECT = 1 << YYJSON_TYPE_OBJ,
};

enum { WJ_SPELLED = 1 };

struct wj_field {
    struct upp_str name;
    const struct wj_kind *kind;
    const void *arg; /* nested shape, enum names, items */
    uint16_t off, flags;
};

struct wj_shape {
    const char *name;
    const struct wj_field *fields;
    uint16_t n, size;
};

/* First member of every decodable struct. */
struct wj_node {
    const struct wj_shape *shape;
    uint64_t seen, null; /* bit i: row i was read / was null */
    yyjson_val *from;    /* the object it was decoded from */
    uint64_t order;      /* see WJ_ORDER; set without plans, or with wj_plans.ordered */
};

/* wj_node.order: the rows of the object's members in document order, if there are at most ten; plus WJ_TABLE_ORDER if
 * that is the order of the table. 0 if a member is unknown, occurs twice, has aliases or alternatives, or was not read
 * as it is. */
#define WJ_ORDER(...)  wj_order((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}) / sizeof(uint8_t))
#define WJ_TABLE_ORDER ((uint64_t)1 << 63)
#define WJ_BIT(row_)   ((uint64_t)1 << (row_)) /* in `seen` and `null` */
enum { WJ_ORDER_ROWS = 10 };

static inline uint64_t wj_order_step(uint64_t order, unsigned row)
{
    return order << 6 | (row + 1);
}

/* A compile-time constant if the rows are. */
static inline uint64_t wj_order(const uint8_t *rows, size_t n)
{
    uint64_t order = 0;
    for (size_t i = 0; i < n; i++)
        order = wj_order_step(order, rows[i]);
    return order;
}

static inline bool wj_has_order(const struct wj_node *node, uint64_t order)
{
    return (node->order & ~WJ_TABLE_ORDER) == order && !node->null;
}

/* Did the members come in the table's order: all rows of `all`, others only of `perhaps`, and no null? */
static inline bool wj_has_table_order(const struct wj_node *node, uint64_t all, uint64_t perhaps)
{
    return (node->order & WJ_TABLE_ORDER) && (node->seen & all) == all && !(node->seen & ~(all | perhaps)) &&
           !node->null;
}

/* An array: `WJ_ARR(struct upp_str) stop;`. */
#define WJ_ARR(E)                                                                                                      \
    struct {                                                                                                           \
        E *p;                                                                                                          \
        size_t n;                                                                                                      \
    }

/* An object of unknown names, in order, duplicates included. */
struct wj_pair {
    struct upp_str name;
    yyjson_val *value;
};
struct wj_map {
    struct wj_pair *p;
    size_t n;
};

struct wj_word {
    struct upp_str text;
    int value;
};
struct wj_enum {
    const struct wj_word *words;
    unsigned n;
};

struct wj_item {
    struct wj_field row; /* how one item is read */
    size_t size;
};

/* A table and the C type it is for. Only `of` is used at run time; `type` is for the compiler's checks. */
#define WJ_TYPED_(name_, What, T)                                                                                      \
    union name_##_typed {                                                                                              \
        struct What of;                                                                                                \
        T *type;                                                                                                       \
    }

#define WJ_SHAPE_BODY_(name_, T, rows_)                                                                                \
    {                                                                                                                  \
        .of = {                                                                                                        \
            #name_,                                                                                                    \
            (rows_),                                                                                                   \
            WB_LEN(rows_) + WJ_TRUE_(WB_LEN(rows_) <= WJ_ROWS, "shape: more than 64 rows") +                           \
                WJ_TRUE_(offsetof(T, node) == 0, "shape: node is not the first member") +                              \
                WJ_IS_("shape", T, node, struct wj_node),                                                              \
            sizeof(T)                                                                                                  \
        }                                                                                                              \
    }

/* A shape private to this file. Declare a recursive shape first: WJ_SHAPE_FORWARD, then WJ_SHAPE_DEFINE. */
#define WJ_SHAPE_FORWARD(name_, T)                                                                                     \
    WJ_TYPED_(name_, wj_shape, T);                                                                                     \
    static const union name_##_typed name_
#define WJ_SHAPE_DEFINE(name_, T, rows_) static const union name_##_typed name_ = WJ_SHAPE_BODY_(name_, T, rows_)
#define WJ_SHAPE(name_, T, rows_)                                                                                      \
    WJ_SHAPE_FORWARD(name_, T);                                                                                        \
    WJ_SHAPE_DEFINE(name_, T, rows_)

/* A shape shared between files: WJ_SHAPE_EXTERN in the header, WJ_SHAPE_PUBLIC next to the rows. */
#define WJ_SHAPE_EXTERN(name_, T)                                                                                      \
    WJ_TYPED_(name_, wj_shape, T);                                                                                     \
    extern const union name_##_typed name_
#define WJ_SHAPE_PUBLIC(name_, T, rows_) const union name_##_typed name_ = WJ_SHAPE_BODY_(name_, T, rows_)

/* WJ_ENUM(roles, enum role, WJ_WORD("user", ROLE_USER), ...); */
#define WJ_WORD(text_, value_)                                                                                         \
    {                                                                                                                  \
        UPP_STR_INIT(text_), (value_)                                                                                  \
    }
#define WJ_ENUM(name_, E, ...)                                                                                         \
    static const struct wj_word name_##_words[] = {__VA_ARGS__};                                                       \
    WJ_TYPED_(name_, wj_enum, E);                                                                                      \
    static const union name_##_typed name_ = {.of = {name_##_words, WB_LEN(name_##_words)}}

/* 0, or a compile error with this sentence. */
#define WJ_TRUE_(cond, sentence)                                                                                       \
    (0 * sizeof(struct {                                                                                               \
         _Static_assert(cond, sentence);                                                                               \
         char unused;                                                                                                  \
     }))
#define WJ_IS_(row, T, m, C)                                                                                           \
    WJ_TRUE_(__builtin_types_compatible_p(__typeof__(((T *)0)->m), C), row ": " #T "." #m " is not " #C)
#define WJ_ROW_(row, T, m, C, nm, fl, kind_, arg_)                                                                     \
    {                                                                                                                  \
        UPP_STR_INIT(nm), &(kind_), (arg_), offsetof(T, m) + WJ_IS_(row, T, m, C), (fl)                                \
    }
#define WJ_ARR_ROW_(row, T, m, E, nm, fl, arg_)                                                                        \
    {                                                                                                                  \
        UPP_STR_INIT(nm), &wj_kind_arr, (arg_),                                                                        \
            offsetof(T, m) + WJ_IS_(row, T, m.p, E *) + WJ_IS_(row, T, m.n, size_t) +                                  \
                WJ_TRUE_(offsetof(T, m.p) == offsetof(T, m) && offsetof(T, m.n) == offsetof(T, m) + sizeof(void *),    \
                         row ": " #T "." #m " is not a WJ_ARR"),                                                       \
            (fl)                                                                                                       \
    }

#define F_STR(T, m, nm, fl)  WJ_ROW_("F_STR", T, m, struct upp_str, nm, fl, wj_kind_str, NULL)
#define F_BOOL(T, m, nm, fl) WJ_ROW_("F_BOOL", T, m, bool, nm, fl, wj_kind_bool, NULL)
#define F_U64(T, m, nm, fl)  WJ_ROW_("F_U64", T, m, uint64_t, nm, fl, wj_kind_u64, NULL)

/* A number of any size, as text (json/number.h). */
#define F_NUM(T, m, nm, fl) WJ_ROW_("F_NUM", T, m, struct upp_str, nm, fl, wj_kind_num, NULL)

/* A word of a table made by WJ_ENUM. */
#define F_ENUM(T, m, nm, fl, words_)                                                                                   \
    WJ_ROW_("F_ENUM", T, m, __typeof__(*(words_).type), nm, fl, wj_kind_enum, &(words_).of)

/* Any value, undecoded. Null is a value too; with F_NULLABLE it leaves the slot empty instead. */
#define F_ANY(T, m, nm, fl) WJ_ROW_("F_ANY", T, m, yyjson_val *, nm, fl, wj_kind_any, NULL)

/* An object with arbitrary names. */
#define F_MAP(T, m, nm, fl) WJ_ROW_("F_MAP", T, m, struct wj_map, nm, fl, wj_kind_map, NULL)

/* An object of a shape, behind a pointer. */
#define F_OBJ(T, m, nm, fl, shape_) WJ_ROW_("F_OBJ", T, m, __typeof__((shape_).type), nm, fl, wj_kind_obj, &(shape_).of)

/* Arrays: of strings, of objects of one shape (stored consecutively, not as pointers). */
#define F_STRS(T, m, nm, fl) WJ_ARR_ROW_("F_STRS", T, m, struct upp_str, nm, fl, &wj_item_str)
#define F_LIST(T, m, nm, fl, shape_)                                                                                   \
    WJ_ARR_ROW_("F_LIST", T, m, __typeof__(*(shape_).type), nm, fl,                                                    \
                (&(const struct wj_item){{.kind = &wj_kind_inl, .arg = &(shape_).of}, sizeof(*(shape_).type)}))

WB_EXPORT_BEGIN

extern const struct wj_kind wj_kind_str, wj_kind_bool, wj_kind_u64, wj_kind_num, wj_kind_enum, wj_kind_any, wj_kind_map,
    wj_kind_obj, wj_kind_inl, wj_kind_arr;
extern const struct wj_item wj_item_str;

/* Was a number, boolean or enum read, and not null? */
#define WJ_IS_SET(obj, member) wj_is_set(&(obj)->node, offsetof(__typeof__(*(obj)), member))
bool wj_is_set(const struct wj_node *node, size_t off);

WB_EXPORT_END
