/* json/match.h — a writer that compares its output with a value that was read, instead of writing text.
 *
 * Most strings written are the very bytes that were read, which a comparison of addresses shows. At the first
 * difference the writer begins to build values from its output, as if its text had been written and read.
 *
 * Values may be marked as being elsewhere: an array is compared without them; of such a member the name is compared and
 * the value skipped (wj_match_skip). In the values that are built, an array lacks them, and such a member has the value
 * 0.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "json/write.h"

enum {
    WJ_MATCH_DEPTH = 256, /* exceeding any of these limits is a failure */
    WJ_MATCH_VALUES = 1 << 27,
    WJ_MATCH_BYTES = 0x7fffffff,
    WJ_MATCH_NAMES = 64, /* how many members are searched for a name that comes out of order */
};

struct wj_match {             /* starts all zero */
    yyjson_val *value;        /* the value to compare with */
    yyjson_val *root;         /* the document that contains it */
    const uint8_t *elsewhere; /* bitmap of values, by index from root; NULL: none */
    yyjson_val *at;           /* expected next: a name or a value, or the end of the innermost open container */
    yyjson_val *end;          /* of the innermost open container */
    unsigned depth;
    bool object; /* that container is an object */
    bool named;  /* a member's value is expected next */
    yyjson_val *open[WJ_MATCH_DEPTH];

    /* After the first difference `at` and `open` are the counterparts of what is written, `open` NULL where there is
     * none; `due` replaces `named`. */
    bool differs;
    bool due;
    yyjson_val *like; /* counterpart of the member value that is due */
    struct wb_arena texts;
    WB_VEC(yyjson_val) values;
    uint32_t made[WJ_MATCH_DEPTH]; /* indexes in `values` of the open containers */
};

WB_EXPORT_BEGIN

/* Compares the next value that is written to w. m is in use until wj_match_end. */
void wj_match_begin(struct wj_match *m, struct wj_writer *w, yyjson_val *value, yyjson_val *root,
                    const uint8_t *elsewhere);

/* Ends the comparison; w writes text again. Returns `value` itself if the output was equal; else the value that was
 * written, valid until m is used again. NULL: w failed, or nothing was compared. */
yyjson_val *wj_match_end(struct wj_writer *w);

void wj_match_done(struct wj_match *m);

/* Skips the value expected next, if it is this one and is elsewhere. */
bool wj_match_skip(struct wj_writer *w, const yyjson_val *value);

/* Is this text the value expected next? True: counts as written. False: nothing has changed. */
bool wj_match_same(struct wj_writer *w, struct upp_str json);

/* For the writer, while it compares: handles what it writes. False: w failed. (The functions for brackets and names are
 * in json/write.h.) */
bool wj_match_str(struct wj_writer *w, struct upp_str s);
bool wj_match_raw(struct wj_writer *w, const char *p, size_t n); /* a whole value */

WB_EXPORT_END

/* True between a member's name and its value. */
static inline bool wj_match_named(const struct wj_match *m)
{
    return m->named || m->due;
}
