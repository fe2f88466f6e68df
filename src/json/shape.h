/* json/shape.h — one row describes one member, for reading and for writing.
 *
 *     struct tool_use {
 *         struct wj_node node;                                    // first, always
 *         struct upp_str id, name;
 *         yyjson_val    *input;
 *     };
 *     static const struct wj_field tool_use_rows[] = {
 *         F_CONST("type", "tool_use", F_REQUIRED),
 *         F_STR(struct tool_use, id, "id", F_REQUIRED),
 *         F_STR(struct tool_use, name, "name", F_REQUIRED),
 *         F_ANY(struct tool_use, input, "input", F_REQUIRED),      // kept as JSON, not looked into
 *     };
 *     WJ_SHAPE(tool_use, struct tool_use, tool_use_rows);
 *
 * Tables stand at file scope. What a table does not consume is not lost: unknown and duplicate members, the order of
 * all, null against absent and the spelling of numbers stay with the node and are written back. A row whose member has
 * another C type than the row says does not compile, and neither does a nested row whose shape is of another struct.
 *
 * When is a member there? Text, pointers, arrays and maps: when their pointer is not NULL (an empty array has a
 * pointer too). Numbers, booleans and enums have no such value: they are there when they were read, after
 * WJ_SET(obj, member, value), and, in an object that was not read, when the row is F_REQUIRED.
 *
 * Invariants
 *  1. What is left over is written back only by the shape that read it.
 *  2. A known member always comes from its slot: an edit is never undone by what was read.
 *  3. Where nothing was changed, encoding gives the tokens that were decoded, all of them, in their order.
 *  4. A slot points into the value it was read from: both live as long as that value's arena.
 */
#ifndef WJ_SHAPE_H
#define WJ_SHAPE_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/defs.h"

struct wj_decoder;
struct wj_encoder;
struct wj_field;

enum {
    WJ_ROWS        = 64,  /* at most, in one shape */
    WJ_SHAPE_DEPTH = 128, /* levels of arrays and objects, at most: the coders recurse */
};

/* ---- Flags of a row ------------------------------------------------------------------------------ */

enum {
    F_REQUIRED = 1 << 0,   /* missing is an error */
    F_NULLABLE = 1 << 1,   /* null may stand for a value: the slot is then empty, and null is written back */
    F_OR       = 1 << 2,   /* or the next row, which has the same name: chosen by the JSON type of the value */
    F_ALIAS    = 1 << 3,   /* another name for the row before: read, and written back as it was read, never otherwise.
                            * The first name wins where a document has both. */
    F_OPEN       = 1 << 4, /* F_ENUM: an unknown word is kept and reads as the table's `other` */
    F_NULL_ITEMS = 1 << 5, /* arrays: an item may be null; its slot is then empty */
    F_BAD_ITEMS  = 1 << 6, /* arrays, where problems are gathered: an item that has one leaves its slot empty, and the
                            * others are read. Not for what is to be written back by its shape. */
};

/* ---- Tables --------------------------------------------------------------------------------------- */

/* How one kind of member is read, written and found to be there. Const, stateless. */
struct wj_kind {
    const char *expects; /* "a string": for error messages */
    uint8_t     takes;   /* JSON types: WJ_STRING | ... */
    uint8_t     has;     /* enum wj_has */
    uint16_t    size;    /* of the slot */

    /* Reads v, whose type is one of `takes`. 0; or WJ_SPELLED when `same` must be asked before writing v back in
     * another spelling; or what wj_refuse returned. The slot is cleared. */
    int (*get)(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot);

    /* Writes the value of a slot that has one. */
    void (*put)(struct wj_encoder *e, const struct wj_field *f, const void *slot);

    /* Would v read as what the slot now holds? NULL: a value has one spelling only. */
    bool (*same)(const struct wj_field *f, yyjson_val *v, const void *slot);
};

enum {
    WJ_NUMBER = 1 << YYJSON_TYPE_RAW,
    WJ_NULL   = 1 << YYJSON_TYPE_NULL,
    WJ_BOOL   = 1 << YYJSON_TYPE_BOOL,
    WJ_STRING = 1 << YYJSON_TYPE_STR,
    WJ_ARRAY  = 1 << YYJSON_TYPE_ARR,
    WJ_OBJECT = 1 << YYJSON_TYPE_OBJ,
};

enum wj_has {
    WJ_HAS_POINTER, /* the slot begins with a pointer that is not NULL */
    WJ_HAS_EITHER,  /* one of the two pointers it begins with */
    WJ_HAS_BIT,     /* the node says so */
    WJ_HAS_CONST,   /* no slot: always, in an object that was not read */
};

enum { WJ_SPELLED = 1 };

struct wj_field {
    struct upp_str        name; /* stands inside a literal ,"name": so that it is written by one copy */
    const struct wj_kind *kind;
    const void           *arg; /* nested shape, enum names, variants, items */
    uint16_t              off, flags;
};

struct wj_shape {
    const char            *name;
    const struct wj_field *fields;
    uint16_t               n, size;
};

/* First member of every decodable struct. */
struct wj_node {
    const struct wj_shape *shape;      /* of the rows below; NULL: made by the program, all zero */
    uint64_t               seen, null; /* bit i: row i was read or set / was null */
    yyjson_val            *from;       /* the object it was read from; NULL: made by the program */
    union {
        uint8_t *rows;  /* what became of each member of `from`; NULL: rows in the table's order, no more */
        uint64_t order; /* of one that was read by a plan (wj_plans.ordered) */
    };
};

/* In wj_node.order: the rows of an object's members as they stand there, where each is of a row of its own, there once
 * and taken as it is, and they are at most ten; and WJ_RISING where they stand in the table's order. 0: neither. */
#define WJ_ORDER(...) wj_order((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}) / sizeof(uint8_t))
#define WJ_RISING     ((uint64_t)1 << 63)
#define WJ_BIT(row_)  ((uint64_t)1 << (row_)) /* in seen and null */
enum { WJ_ORDER_ROWS = 10 };

static inline uint64_t wj_order_step(uint64_t order, unsigned row)
{
    return order << 6 | (row + 1);
}

/* Known when it is compiled, where the rows are. */
static inline uint64_t wj_order(const uint8_t *rows, size_t n)
{
    uint64_t order = 0;
    for (size_t i = 0; i < n; i++)
        order = wj_order_step(order, rows[i]);
    return order;
}

static inline bool wj_came_as(const struct wj_node *node, uint64_t order)
{
    return (node->order & ~WJ_RISING) == order && !node->null;
}

/* In the table's order: all of these rows, and none but them and those; no null. */
static inline bool wj_came_rising(const struct wj_node *node, uint64_t all, uint64_t perhaps)
{
    return (node->order & WJ_RISING) && (node->seen & all) == all && !(node->seen & ~(all | perhaps)) && !node->null;
}

/* In wj_node.rows: the number of a row, perhaps with this bit, or that the table did not consume the member. */
enum { WJ_ROW = WJ_ROWS - 1, WJ_ROW_SPELLED = 0x40, WJ_EXTRA = 0xff };

/* ---- Types of slots ------------------------------------------------------------------------------- */

/* An array: `WJ_ARR(struct upp_str) stop;`. `from` helps to keep spellings; leave it alone. */
#define WJ_ARR(E)                                                                                                      \
    struct {                                                                                                           \
        E          *p;                                                                                                 \
        size_t      n;                                                                                                 \
        yyjson_val *from;                                                                                              \
    }

/* An object of unknown names, in order, duplicates included. */
struct wj_pair {
    struct upp_str name;
    yyjson_val    *value;
};
struct wj_map {
    struct wj_pair *p;
    size_t          n;
};

/* One of several structs, chosen by a tag. With a tag nobody knows, `raw` is the whole value and node is NULL. */
struct wj_var {
    struct wj_node *node; /* WJ_AS(struct text, v) */
    yyjson_val     *raw;
    int             tag;
};
#define WJ_AS(T, var) ((T *)(void *)(var)->node)

/* ---- Arguments of rows ---------------------------------------------------------------------------- */

struct wj_word {
    struct upp_str text;
    int            value;
};
struct wj_enum {
    const struct wj_word *words;
    unsigned              n;
    int                   other; /* what an unknown word reads as, under F_OPEN */
};

struct wj_variant {
    struct upp_str         name;
    int                    tag;
    const struct wj_shape *shape; /* NULL: known, but kept whole */
};
struct wj_variants {
    struct upp_str           member; /* that holds the tag: "type" */
    const struct wj_variant *list;
    uint16_t                 n;
    bool                     open; /* keep a value whose tag is unknown or missing, as `other` */
    int                      other;
};

struct wj_item {
    const struct wj_field *alts; /* how one item is read: the first row, or by F_OR a later one */
    size_t                 size;
};

/* A table with the C type it is about. Only `of` is ever used; `type` is for the compiler to compare. */
#define WJ_TYPED_(name_, What, T)                                                                                      \
    union name_##_typed {                                                                                              \
        struct What of;                                                                                                \
        T          *type;                                                                                              \
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

/* A shape of this file. A shape that contains itself is declared first: WJ_SHAPE_FORWARD, then WJ_SHAPE_DEFINE. */
#define WJ_SHAPE_FORWARD(name_, T)                                                                                     \
    WJ_TYPED_(name_, wj_shape, T);                                                                                     \
    static const union name_##_typed name_
#define WJ_SHAPE_DEFINE(name_, T, rows_) static const union name_##_typed name_ = WJ_SHAPE_BODY_(name_, T, rows_)
#define WJ_SHAPE(name_, T, rows_)                                                                                      \
    WJ_SHAPE_FORWARD(name_, T);                                                                                        \
    WJ_SHAPE_DEFINE(name_, T, rows_)

/* A shape that other files use: WJ_SHAPE_EXTERN in the header, WJ_SHAPE_PUBLIC beside the rows. */
#define WJ_SHAPE_EXTERN(name_, T)                                                                                      \
    WJ_TYPED_(name_, wj_shape, T);                                                                                     \
    extern const union name_##_typed name_
#define WJ_SHAPE_PUBLIC(name_, T, rows_) const union name_##_typed name_ = WJ_SHAPE_BODY_(name_, T, rows_)

/* WJ_ENUM(roles, enum role, ROLE_OTHER, WJ_WORD("user", ROLE_USER), ...); */
#define WJ_WORD(text_, value_)                                                                                         \
    {                                                                                                                  \
        UPP_STR_INIT(text_), (value_)                                                                                  \
    }
#define WJ_ENUM(name_, E, other_, ...)                                                                                 \
    static const struct wj_word name_##_words[] = {__VA_ARGS__};                                                       \
    WJ_TYPED_(name_, wj_enum, E);                                                                                      \
    static const union name_##_typed name_ = {.of = {name_##_words, WB_LEN(name_##_words), (other_)}}

/* WJ_VARIANTS(blocks, "type", BLOCK_OTHER, WJ_VARIANT("text", BLOCK_TEXT, text), ...); an unknown tag is kept whole.
 * WJ_VARIANTS_CLOSED(blocks, "type", ...): an unknown tag is an error. */
#define WJ_VARIANT(text_, tag_, shape_)                                                                                \
    {                                                                                                                  \
        UPP_STR_INIT(text_), (tag_), &(shape_).of                                                                      \
    }
#define WJ_VARIANTS(name_, member_, other_, ...)                                                                       \
    static const struct wj_variant  name_##_list[] = {__VA_ARGS__};                                                    \
    static const struct wj_variants name_ = {UPP_STR_INIT(member_), name_##_list, WB_LEN(name_##_list), true, (other_)}
#define WJ_VARIANTS_CLOSED(name_, member_, ...)                                                                        \
    static const struct wj_variant  name_##_list[] = {__VA_ARGS__};                                                    \
    static const struct wj_variants name_ = {UPP_STR_INIT(member_), name_##_list, WB_LEN(name_##_list), false, 0}

/* Items of an array that may be of several JSON types: WJ_ITEMS(contents, struct content, content_alts), where the
 * alternatives are rows of struct content with the name "", chained by F_OR. */
#define WJ_ITEMS(name_, E, alts_)                                                                                      \
    WJ_TYPED_(name_, wj_item, E);                                                                                      \
    static const union name_##_typed name_ = {.of = {(alts_), sizeof(E)}}

/* ---- Rows ------------------------------------------------------------------------------------------ */

/* 0, or the end of the compilation with a sentence. */
#define WJ_TRUE_(cond, sentence)                                                                                       \
    (0 * sizeof(struct {                                                                                               \
         _Static_assert(cond, sentence);                                                                               \
         char unused;                                                                                                  \
     }))
#define WJ_IS_(row, T, m, C)                                                                                           \
    WJ_TRUE_(__builtin_types_compatible_p(__typeof__(((T *)0)->m), C), row ": " #T "." #m " is not " #C)
#define WJ_NAME_(nm)                                                                                                   \
    {                                                                                                                  \
        &(",\"" nm "\":")[2], sizeof("" nm) - 1                                                                        \
    }
#define WJ_ROW_(row, T, m, C, nm, fl, kind_, arg_)                                                                     \
    {                                                                                                                  \
        WJ_NAME_(nm), &(kind_), (arg_), offsetof(T, m) + WJ_IS_(row, T, m, C), (fl)                                    \
    }
#define WJ_ARR_ROW_(row, T, m, E, nm, fl, arg_)                                                                        \
    {                                                                                                                  \
        WJ_NAME_(nm), &wj_kind_arr, (arg_),                                                                            \
            offsetof(T, m) + WJ_IS_(row, T, m.p, E *) + WJ_IS_(row, T, m.n, size_t) +                                  \
                WJ_IS_(row, T, m.from, yyjson_val *) +                                                                 \
                WJ_TRUE_(offsetof(T, m.p) == offsetof(T, m) && offsetof(T, m.n) == offsetof(T, m) + sizeof(void *),    \
                         row ": " #T "." #m " is not a WJ_ARR"),                                                       \
            (fl)                                                                                                       \
    }

#define F_STR(T, m, nm, fl)  WJ_ROW_("F_STR", T, m, struct upp_str, nm, fl, wj_kind_str, NULL)
#define F_BOOL(T, m, nm, fl) WJ_ROW_("F_BOOL", T, m, bool, nm, fl, wj_kind_bool, NULL)
#define F_I64(T, m, nm, fl)  WJ_ROW_("F_I64", T, m, int64_t, nm, fl, wj_kind_i64, NULL)
#define F_U64(T, m, nm, fl)  WJ_ROW_("F_U64", T, m, uint64_t, nm, fl, wj_kind_u64, NULL)
#define F_F64(T, m, nm, fl)  WJ_ROW_("F_F64", T, m, double, nm, fl, wj_kind_f64, NULL)

/* A number of any size, as text (json/number.h). */
#define F_NUM(T, m, nm, fl) WJ_ROW_("F_NUM", T, m, struct upp_str, nm, fl, wj_kind_num, NULL)

/* A word of a table made by WJ_ENUM. */
#define F_ENUM(T, m, nm, fl, words_)                                                                                   \
    WJ_ROW_("F_ENUM", T, m, __typeof__(*(words_).type), nm, fl, wj_kind_enum, &(words_).of)

/* A member that always has the same text: the tag of a variant. It has no slot. */
#define F_CONST(nm, text_, fl)                                                                                         \
    {                                                                                                                  \
        WJ_NAME_(nm), &wj_kind_const, &(const struct upp_str)UPP_STR_INIT(text_), 0, (fl)                              \
    }

/* Any value, kept as it is. Null is a value too; with F_NULLABLE it leaves the slot empty instead. */
#define F_ANY(T, m, nm, fl) WJ_ROW_("F_ANY", T, m, yyjson_val *, nm, fl, wj_kind_any, NULL)

/* An object of unknown names. */
#define F_MAP(T, m, nm, fl) WJ_ROW_("F_MAP", T, m, struct wj_map, nm, fl, wj_kind_map, NULL)

/* An object of a shape, behind a pointer. */
#define F_OBJ(T, m, nm, fl, shape_) WJ_ROW_("F_OBJ", T, m, __typeof__((shape_).type), nm, fl, wj_kind_obj, &(shape_).of)

/* An object whose shape a tag chooses. */
#define F_VAR(T, m, nm, fl, variants_) WJ_ROW_("F_VAR", T, m, struct wj_var, nm, fl, wj_kind_var, &(variants_))

/* Arrays: of strings, of objects of one shape (in a row, not by pointers), of variants, of other items. */
#define F_STRS(T, m, nm, fl) WJ_ARR_ROW_("F_STRS", T, m, struct upp_str, nm, fl, &wj_item_str)
#define F_LIST(T, m, nm, fl, shape_)                                                                                   \
    WJ_ARR_ROW_("F_LIST", T, m, __typeof__(*(shape_).type), nm, fl,                                                    \
                (&(const struct wj_item){&(const struct wj_field){.kind = &wj_kind_inl, .arg = &(shape_).of},          \
                                         sizeof(*(shape_).type)}))
#define F_VARS(T, m, nm, fl, variants_)                                                                                \
    WJ_ARR_ROW_("F_VARS", T, m, struct wj_var, nm, fl,                                                                 \
                (&(const struct wj_item){&(const struct wj_field){.kind = &wj_kind_var, .arg = &(variants_)},          \
                                         sizeof(struct wj_var)}))
#define F_ARR(T, m, nm, fl, items_) WJ_ARR_ROW_("F_ARR", T, m, __typeof__(*(items_).type), nm, fl, &(items_).of)

/* ---- Functions ------------------------------------------------------------------------------------- */

WB_EXPORT_BEGIN

extern const struct wj_kind wj_kind_str, wj_kind_bool, wj_kind_i64, wj_kind_u64, wj_kind_f64, wj_kind_num, wj_kind_enum,
    wj_kind_const, wj_kind_any, wj_kind_map, wj_kind_obj, wj_kind_inl, wj_kind_var, wj_kind_arr;
extern const struct wj_item wj_item_str;

/* A cleared object of a shape, with its node set up; NULL when the arena failed. WJ_NEW(a, tool_use) has its type. */
void *wj_new(struct wb_arena *a, const struct wj_shape *s);
#define WJ_NEW(a, shape_) ((__typeof__((shape_).type))wj_new((a), &(shape_).of))

/* The node of an object that is not in an arena: `struct tool_use t = {.node = WJ_NODE(tool_use), ...}`. */
#define WJ_NODE(shape_)                                                                                                \
    {                                                                                                                  \
        .shape = &(shape_).of                                                                                          \
    }

/* Sets a number, boolean or enum and says that it is there; or says that it is not. */
#define WJ_SET(obj, member, value)                                                                                     \
    ((obj)->member = (value), wj_mark(&(obj)->node, offsetof(__typeof__(*(obj)), member), true))
#define WJ_UNSET(obj, member)  wj_mark(&(obj)->node, offsetof(__typeof__(*(obj)), member), false)
#define WJ_IS_SET(obj, member) wj_marked(&(obj)->node, offsetof(__typeof__(*(obj)), member))
void wj_mark(struct wj_node *node, size_t off, bool there);
bool wj_marked(const struct wj_node *node, size_t off);

/* Was the member null in the document? (And is it empty still: a slot that was set since is not.) */
#define WJ_WAS_NULL(obj, member) wj_was_null(&(obj)->node, offsetof(__typeof__(*(obj)), member))
bool wj_was_null(const struct wj_node *node, size_t off);

/* What the table did not consume, in the order of the document: the name of the next such member (its value stands
 * behind it: name + 1), or NULL. `struct wj_extras at = {0}; while ((name = wj_extra(&obj->node, &at)))`. */
struct wj_extras {
    size_t      i;
    yyjson_val *next;
};
yyjson_val *wj_extra(const struct wj_node *node, struct wj_extras *at);

/* Is a table sound? NULL, or a sentence. For tests: nothing calls it otherwise. */
const char *wj_shape_wrong(const struct wj_shape *s);

WB_EXPORT_END

/* The rows that speak of one member: its alternatives (F_OR) and aliases. From the first to one past the last. */
static inline unsigned wj_group_first(const struct wj_shape *s, unsigned i)
{
    while (i > 0 && ((s->fields[i].flags & F_ALIAS) || (s->fields[i - 1].flags & F_OR)))
        i--;
    return i;
}

static inline unsigned wj_group_end(const struct wj_shape *s, unsigned i)
{
    do
        i++;
    while (i < s->n && ((s->fields[i].flags & F_ALIAS) || (s->fields[i - 1].flags & F_OR)));
    return i;
}

static inline uint64_t wj_bits(unsigned first, unsigned end) /* first < end <= 64 */
{
    return (~(uint64_t)0 >> (64 - (end - first))) << first;
}

#endif
