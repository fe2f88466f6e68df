/* json/match.h — a writer that compares: what is written is held against a value that was read.
 *
 * As long as both say the same, no text is made: most texts are the very bytes that were read, and their address says
 * so. With the first thing that differs, the writer gets the text of all that was the same, and goes on as any other.
 *
 * Values may stand elsewhere: a list is compared without them; of a member that does, the name is, and what it says is
 * stepped over (wj_match_skip). In the text a list is without them, and such a member says 0.
 */
#ifndef WJ_MATCH_H
#define WJ_MATCH_H

#include "json/write.h"

enum { WJ_MATCH_DEPTH = 256 }; /* what is deeper does not match */

struct wj_match {
    yyjson_val    *value;     /* what is compared */
    yyjson_val    *root;      /* in which it is */
    const uint8_t *elsewhere; /* a bit for each value from root on; NULL: none */
    yyjson_val    *at;        /* what has to come: a name or a value, or the end of what is open */
    unsigned       depth;
    bool           named; /* the value of a member has to come */
    yyjson_val    *open[WJ_MATCH_DEPTH];
};

WB_EXPORT_BEGIN

/* The next value that is written to w is compared; m is in use until wj_match_end, or until it differs. */
void wj_match_begin(struct wj_match *m, struct wj_writer *w, yyjson_val *value, yyjson_val *root,
                    const uint8_t *elsewhere);

/* The value was written whole, and is the same? The writer writes again. */
bool wj_match_end(struct wj_writer *w);

/* The value that has to come stands elsewhere, and is this one: steps over it. */
bool wj_match_skip(struct wj_writer *w, const yyjson_val *value);

/* For the writer, which has a match: is this what has to come? False: it has none any more, and writes. (Those of
 * brackets and names stand in json/write.h.) */
bool wj_match_str(struct wj_writer *w, struct upp_str s);
bool wj_match_raw(struct wj_writer *w, const char *p, size_t n);

WB_EXPORT_END

#endif
