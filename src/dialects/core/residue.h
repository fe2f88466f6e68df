/* dialects/core/residue.h — residue: what an object has beyond what its dialect would write for it.
 *
 * Computed by comparing: `was` is the object as it was read, `fresh` is what the dialect writes for what the model took
 * of it. Stored as JSON of the same structure as the object:
 *
 *     0                      as the dialect writes it
 *     ["l", VALUE]           left over: not in the model. Written again, unless the dialect now writes a member of that
 *                            name
 *     ["k", VALUE, HASH]     differs from what the dialect writes: VALUE is written while the dialect's value has HASH
 *     {"NAME": NODE, ...}    an object, its members in their order
 *     ["o", {...}, {"NAME": HASH, ...}]  an object without members that the dialect writes: each is omitted while the
 *                            dialect's value has HASH
 *     ["a", NODE, ...]       a list; every node except ["l"] stands for the next item that the dialect writes
 *     ["d", HASH]            in a list: an item that the dialect writes and that was missing; omitted while it has HASH
 *
 * A HASH is a number; 0: the dialect wrote nothing. So a known member always comes from the model, residue never undoes
 * an edit, and what nobody edits comes back token for token.
 */
#pragma once

#include "base/arena.h"
#include "json/scan.h"
#include "json/write.h"

/* Values of `was` that have their own anchor, and are not in `fresh`. */
struct wd_elsewhere {
    const yyjson_val *root;
    const uint8_t *bits; /* one bit per value from root on; NULL: none */
};

/* Appends the residue to out, nothing if there is none. Returns 1 if there is some. `lost` (may be NULL) is called for
 * each value of `was` that the model does not have. */
int wd_residue_make(yyjson_val *was, yyjson_val *fresh, const struct wd_elsewhere *elsewhere, struct wb_buf *out,
                    void (*lost)(void *arg, yyjson_val *value), void *arg, struct upp_err *err) UPP_MUST_CHECK;

/* Applies residue to the one value in `out` from `from` on. `within`: known extents of values in it. *dropped counts
 * residue that an edit has made obsolete. Allocates from scratch, and overwrites temp. */
struct wd_residue_put {
    struct upp_str residue;
    const struct wj_extents *within;
    struct wb_arena *scratch;
    struct wb_buf *temp;
};
int wd_residue_put(const struct wd_residue_put *p, struct wb_buf *out, size_t from, size_t *dropped,
                   struct upp_err *err) UPP_MUST_CHECK;

uint64_t wd_residue_hash(yyjson_val *v); /* of its tokens; never 0, and small enough (52 bits) for any JSON reader */

/* The last member of that name, which is the one that counts. NULL: none. */
yyjson_val *wd_residue_member(yyjson_val *obj, struct upp_str name);

/* Does a member of that name follow among the next `behind` ones? Then this one does not count. */
bool wd_residue_comes_again(yyjson_val *key, size_t behind);
