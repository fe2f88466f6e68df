/* json/encode.h — structs to JSON, as a table of rows says.
 *
 * What was read is written in the order it was read in, with all that the table did not consume in its place. Members
 * that were not read follow in the table's order; where all of an object was in the table's order, they go to their
 * place in it. Members whose slot was emptied are left out.
 */
#ifndef WJ_ENCODE_H
#define WJ_ENCODE_H

#include "json/shape.h"
#include "json/write.h"

WB_EXPORT_BEGIN

/* Adds the object to out. -UPP_EINVALID: a required member is empty, or a text is not UTF-8 (err has the pointer);
 * -UPP_ELIMIT, -UPP_ENOMEM: the buffer's. After a failure out holds a part of the text. */
int wj_encode(const struct wj_shape *s, const struct wj_node *node, struct wb_buf *out,
              struct upp_err *err) UPP_MUST_CHECK;

/* The same, with the C type of `obj` (a pointer) checked against the shape's. */
#define WJ_ENCODE(shape_, obj, out, err)                                                                               \
    wj_encode(&(shape_).of + WJ_TRUE_(__builtin_types_compatible_p(__typeof__(*(obj)), __typeof__(*(shape_).type)),    \
                                      "WJ_ENCODE: " #obj " is not of the type of shape " #shape_),                     \
              &(obj)->node, (out), (err))

/* ---- For kinds ---------------------------------------------------------------------------------------- */

/* Where the encoder is: a chain from the innermost container outwards. */
struct wj_level {
    const struct wj_level *up;
    const struct wj_field *row; /* of the member being written; NULL: an array */
    size_t                 index;
};

struct wj_encoder {
    struct wj_writer       w;
    const struct wj_level *at;
    yyjson_val            *value; /* the last one that was written as it is: w.bad may be inside */
    unsigned               depth;
    bool                   placed; /* err->where is set */
};

void wj_encode_object(struct wj_encoder *e, const struct wj_shape *s, const struct wj_node *node);

/* One level deeper (the caller counts e->depth down again), or a failure. */
bool wj_encode_enter(struct wj_encoder *e);

/* After a failure: puts the pointer of the current place into the error, once. */
void wj_encode_place(struct wj_encoder *e);

WB_EXPORT_END

/* Has the slot of this row a value, as far as the slot itself can say? WJ_HAS_BIT and WJ_HAS_CONST: yes. */
static inline bool wj_slot_filled(const struct wj_field *f, const void *slot)
{
    const void *p[2]; /* by memcpy: the slot has the program's own pointer type */
    if (f->kind->has == WJ_HAS_POINTER) {
        memcpy(p, slot, sizeof p[0]);
        return p[0];
    }
    if (f->kind->has == WJ_HAS_EITHER) {
        memcpy(p, slot, sizeof p);
        return p[0] || p[1];
    }
    return true;
}

#endif
