/* json/match.h — a writer that compares: what is written is held against a value that was read.
 *
 * No text is made: most texts are the very bytes that were read, and their address says so. With the first thing that
 * differs the writer goes on to make values of what it writes, as if its text had been read.
 *
 * Values may stand elsewhere: a list is compared without them; of a member that does, the name is, and what it says is
 * stepped over (wj_match_skip). In the values that are made a list is without them, and such a member says 0.
 */
#ifndef WJ_MATCH_H
#define WJ_MATCH_H

#include "base/arena.h"
#include "base/vec.h"
#include "json/write.h"

enum {
    WJ_MATCH_DEPTH  = 256, /* what is deeper fails, and so do more values than these, and more bytes of texts */
    WJ_MATCH_VALUES = 1 << 27,
    WJ_MATCH_BYTES  = 0x7fffffff,
    WJ_MATCH_NAMES  = 64, /* as many members are looked at for one of a name that comes out of turn */
};

struct wj_match {             /* begins all zero */
    yyjson_val    *value;     /* what is compared */
    yyjson_val    *root;      /* in which it is */
    const uint8_t *elsewhere; /* a bit for each value from root on; NULL: none */
    yyjson_val    *at;        /* what has to come: a name or a value, or the end of what is open */
    yyjson_val    *end;       /* of what is open */
    unsigned       depth;
    bool           object; /* it is one */
    bool           named;  /* the value of a member has to come */
    yyjson_val    *open[WJ_MATCH_DEPTH];

    /* Once it differs `at` and `open` are what may be the same, `open` NULL where nothing is; and `due` is `named`. */
    bool            differs;
    bool            due;
    yyjson_val     *like; /* what the member whose value has to come says */
    struct wb_arena texts;
    WB_VEC(yyjson_val) said;
    uint32_t made[WJ_MATCH_DEPTH]; /* where in it those begin that are open */
};

WB_EXPORT_BEGIN

/* The next value that is written to w is compared; m is in use until wj_match_end. */
void wj_match_begin(struct wj_match *m, struct wj_writer *w, yyjson_val *value, yyjson_val *root,
                    const uint8_t *elsewhere);

/* What was written: the value itself where it is the same; else one that is good until m is used again. NULL: w failed,
 * or nothing was compared. The writer writes again. */
yyjson_val *wj_match_end(struct wj_writer *w);

void wj_match_done(struct wj_match *m);

/* The value that has to come stands elsewhere, and is this one: steps over it. */
bool wj_match_skip(struct wj_writer *w, const yyjson_val *value);

/* Is the text what has to come? Then it is taken, as if it had been written. False: nothing has changed. */
bool wj_match_same(struct wj_writer *w, struct upp_str json);

/* For the writer, which has a match: takes what it writes. False: w failed. (Those of brackets and names
 * stand in json/write.h.) */
bool wj_match_str(struct wj_writer *w, struct upp_str s);
bool wj_match_raw(struct wj_writer *w, const char *p, size_t n); /* a whole value */

WB_EXPORT_END

/* A name was written, and its value not. */
static inline bool wj_match_named(const struct wj_match *m)
{
    return m->named || m->due;
}

#endif
