/* dialects/core/residue.h — what an object said beyond what its dialect would write for it.
 *
 * Made by comparing: `was` is the object as it was read, `fresh` what the dialect writes for what the model took of it.
 * Kept as JSON that has the object's form:
 *
 *     0                      as the model says
 *     ["l", VALUE]           said, and nothing of it is in the model: written again, unless the dialect has come to say
 *                            a member of that name
 *     ["k", VALUE, HASH]     said otherwise than the dialect says it: written again as long as what it says has HASH
 *     {"NAME": NODE, ...}    an object, its members in their order
 *     ["o", {...}, {"NAME": HASH, ...}]  one that lacks members which the dialect writes: they stay away as long as
 *                            what it says has HASH
 *     ["a", NODE, ...]       a list; every node but ["l"] stands for the next item that the dialect writes
 *     ["d", HASH]            in a list: an item that the dialect writes and was not there; it stays away as long as it
 * has HASH
 *
 * A HASH is a number; 0: the dialect said nothing. So a known member always comes from the model, an edit is never
 * undone by what was read, and what nobody edits comes back token for token.
 */
#ifndef WD_RESIDUE_H
#define WD_RESIDUE_H

#include "base/arena.h"
#include "json/scan.h"
#include "json/write.h"

/* Values of `was` that are objects of their own (anchored elsewhere), and are not in `fresh`. */
struct wd_elsewhere {
    const yyjson_val *root;
    const uint8_t    *bits; /* one for each value from root on; NULL: none */
};

/* Writes the residue to out, nothing where there is none. Returns 1 when there is some. `lost` (may be NULL) is called
 * for each value of `was` that the model does not have. */
int wd_residue_make(yyjson_val *was, yyjson_val *fresh, const struct wd_elsewhere *elsewhere, struct wb_buf *out,
                    void (*lost)(void *arg, yyjson_val *value), void *arg, struct upp_err *err) UPP_MUST_CHECK;

/* Makes of the one value that was written to out from `from` on what it is with its residue. `within`: values in it
 * whose places are known. What had to give way to an edit is counted in *dropped. In scratch is what that takes, spare
 * is overwritten. */
struct wd_residue_put {
    struct upp_str           residue;
    const struct wj_extents *within;
    struct wb_arena         *scratch;
    struct wb_buf           *spare;
};
int wd_residue_put(const struct wd_residue_put *p, struct wb_buf *out, size_t from, size_t *dropped,
                   struct upp_err *err) UPP_MUST_CHECK;

/* ---- For both ways --------------------------------------------------------------------------------------------- */

uint64_t wd_residue_hash(yyjson_val *v); /* of its tokens; never 0, and small enough to be any reader's number */

/* The last member of that name: the one that counts. NULL: none. */
yyjson_val *wd_residue_member(yyjson_val *obj, struct upp_str name);

/* A member of that name is among the next ones: then this one does not count. */
bool wd_residue_comes_again(yyjson_val *key, size_t behind);

#endif
