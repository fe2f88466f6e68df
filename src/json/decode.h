/* json/decode.h — values to structs, as a table of rows says.
 *
 * Either the first problem ends it, or (opts.problem) every problem is reported, the member it is about is left out,
 * and decoding goes on. Of members of one name the last fills the slot.
 *
 * Time is linear in the value, whatever its members are called; each problem that is told costs one more walk through
 * it, to find the pointer. It recurses once for each array and object that a row describes, at most `depth` deep: 128
 * levels need less than 40 KiB of stack. Values that are kept as they are count as one level.
 */
#ifndef WJ_DECODE_H
#define WJ_DECODE_H

#include "json/shape.h"

enum { WJ_MAX_PROBLEMS = 100 };

/* A shape as it is looked into where many objects of it are read: made at the first of them. */
struct wj_plan {
    const struct wj_shape *shape;
    uint64_t               required;  /* rows whose member has to be there: the first of each group */
    uint64_t               alone;     /* rows without alternatives that are no alias */
    uint8_t                rows[128]; /* 1 + the first row of a name, at a place the name says or behind it; 0: none */
    uint8_t                after[WJ_ROWS + 1]; /* by 1 + a row, or 0: the row that came behind it the last time */
};

/* Plans of the shapes that were met, as many as there is room for; all zero at first. */
struct wj_plans {
    bool           ordered; /* whoever reads wants to know in what order members come (wj_node.order) */
    unsigned       n;
    struct wj_plan list[8];
};

struct wj_decode_opts {
    uint32_t size;
    unsigned depth; /* of nested arrays and objects; 0, and at most: WJ_SHAPE_DEPTH */

    /* NULL: the first problem is the error. Else called for each, up to max_problems (0: WJ_MAX_PROBLEMS): a JSON
     * pointer and a sentence, both UTF-8 and good for the call only. A member that had a problem is not missing too. */
    void (*problem)(void *ctx, const char *pointer, const char *sentence);
    void    *ctx;
    unsigned max_problems;

    bool closed; /* an unknown member is a problem */

    /* For many objects, in one call or one call after the other. NULL: names are looked for row by row. */
    struct wj_plans *plans;
};

WB_EXPORT_BEGIN

/* Reads v, a value from wj_read, into ret, which begins the shape's struct and is cleared first. opts may be NULL.
 * >= 0: how many problems there were (always 0 without opts.problem). -UPP_EINVALID: v does not have the shape; err
 * has what was expected and found, and the pointer. -UPP_ELIMIT: deeper than allowed, or more than the arena holds. */
int wj_decode(struct wb_arena *a, const struct wj_shape *s, yyjson_val *v, const struct wj_decode_opts *opts,
              struct wj_node *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same, with the C type of `ret` (a pointer) checked against the shape's. */
#define WJ_DECODE(a, shape_, v, opts, ret, err)                                                                        \
    wj_decode((a),                                                                                                     \
              &(shape_).of + WJ_TRUE_(__builtin_types_compatible_p(__typeof__(ret), __typeof__((shape_).type)),        \
                                      "WJ_DECODE: " #ret " is not of the type of shape " #shape_),                     \
              (v), (opts), &(ret)->node, (err))

/* ---- For kinds ---------------------------------------------------------------------------------------- */

struct wj_decoder {
    struct wb_arena             *arena;
    yyjson_val                  *root; /* pointers are relative to it */
    const struct wj_decode_opts *opts;
    struct upp_err              *err;
    unsigned                     depth, limit, problems;
};

/* Reports a problem with v and returns -UPP_EINVALID, for `get` to return. */
int wj_refuse(struct wj_decoder *d, const yyjson_val *v, const char *fmt, ...) UPP_PRINTF(3, 4);

/* v, which is at the limit, is refused: -UPP_ELIMIT. Kinds that contain others count d->depth up and down. */
int wj_too_deep(struct wj_decoder *d, const yyjson_val *v);

/* Reads v by the row, or by a later one where F_OR says so, into base + row.off. Returns `get`'s result. */
int wj_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, char *base);

int wj_decode_object(struct wj_decoder *d, const struct wj_shape *s, yyjson_val *v, struct wj_node *node);

WB_EXPORT_END

#endif
