/* json/decode.h — decodes values into structs, as a table of rows describes.
 *
 * Decoding ends at the first problem, or (opts.problem) reports every problem, leaves out the member and continues. Of
 * duplicate members the last one fills the slot.
 *
 * Time is linear in the value, whatever its members are called; each reported problem costs one more walk through it,
 * to find the pointer. Decoding recurses once for each array and object that a row describes, at most `depth` deep: 128
 * levels need less than 40 KiB of stack. Values that are stored undecoded count as one level.
 */
#pragma once

#include "json/shape.h"

enum { WJ_MAX_PROBLEMS = 100 };

/* A lookup table for a shape of which many objects are decoded; made at the first of them. */
struct wj_plan {
    const struct wj_shape *shape;
    uint64_t required;          /* rows whose member is required: the first of each group */
    uint64_t alone;             /* rows that have no alternatives and are not aliases */
    uint8_t rows[128];          /* hash table by name, linear probing: 1 + the first row of the name; 0: free */
    uint8_t after[WJ_ROWS + 1]; /* by 1 + the previous row, or 0: the row that followed it last time */
};

/* Plans of the shapes met so far, as many as fit. Starts all zero. */
struct wj_plans {
    bool ordered; /* record the order of members (wj_node.order) */
    unsigned n;
    struct wj_plan list[8];
};

struct wj_decode_opts {
    uint32_t size;
    unsigned depth; /* of nested arrays and objects; 0: the maximum, WJ_SHAPE_DEPTH */

    /* NULL: decoding fails at the first problem. Else called for each problem, up to max_problems (0: WJ_MAX_PROBLEMS),
     * with a JSON pointer and a sentence, both UTF-8 and valid during the call only. A member that had a problem is not
     * also reported as missing. */
    void (*problem)(void *ctx, const char *pointer, const char *sentence);
    void *ctx;
    unsigned max_problems;

    bool closed; /* an unknown member is a problem */

    /* For many objects, in one call or in several. NULL: names are searched row by row. */
    struct wj_plans *plans;
};

WB_EXPORT_BEGIN

/* Decodes v, a value from wj_read, into ret, the start of the shape's struct, which is cleared first. opts may be NULL.
 * >= 0: the number of problems (always 0 without opts.problem). -UPP_EINVALID: v does not have the shape; err has what
 * was expected and found, and the pointer. -UPP_ELIMIT: nested too deep, or too large for the arena. */
int wj_decode(struct wb_arena *a, const struct wj_shape *s, yyjson_val *v, const struct wj_decode_opts *opts,
              struct wj_node *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same, with the C type of `ret` (a pointer) checked against the shape's. */
#define WJ_DECODE(a, shape_, v, opts, ret, err)                                                                        \
    wj_decode((a),                                                                                                     \
              &(shape_).of + WJ_TRUE_(__builtin_types_compatible_p(__typeof__(ret), __typeof__((shape_).type)),        \
                                      "WJ_DECODE: " #ret " is not of the type of shape " #shape_),                     \
              (v), (opts), &(ret)->node, (err))

struct wj_decoder {
    struct wb_arena *arena;
    yyjson_val *root; /* pointers are relative to it */
    const struct wj_decode_opts *opts;
    struct upp_err *err;
    unsigned depth, limit, problems;
};

/* Reports a problem with v and returns -UPP_EINVALID, for `get` to return. */
int wj_refuse(struct wj_decoder *d, const yyjson_val *v, const char *fmt, ...) UPP_PRINTF(3, 4);

/* Refuses v because of its depth: -UPP_ELIMIT. Kinds that contain others increment and decrement d->depth. */
int wj_too_deep(struct wj_decoder *d, const yyjson_val *v);

/* Decodes v by the row, or by a later one as F_OR allows, into base + row.off. Returns the result of `get`. */
int wj_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, char *base);

int wj_decode_object(struct wj_decoder *d, const struct wj_shape *s, yyjson_val *v, struct wj_node *node);

WB_EXPORT_END
