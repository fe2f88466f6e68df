/* json/read.h — text to values, within limits.
 *
 * Values are yyjson's, immutable, and live in the caller's arena together with the text they point into: they are
 * good as long as the arena is. There is no document object to free.
 *
 * Invariants of every value made here
 *  1. Numbers are of type YYJSON_TYPE_RAW: the text of the document, syntactically valid, of any size.
 *  2. Strings are valid WTF-8 and may hold NUL.
 *  3. Members are in the order of the document, duplicates included.
 *  4. Nothing is nested deeper than the limit.
 *  5. A container and everything in it lie in a row in memory, in document order (json/pointer.h lives on this).
 *
 * Cost: time linear in the text, and no allocation where the chunk of the arena has room; memory at most 13 bytes for
 * each byte of text plus 8 KiB while reading
 * ("[0,0,0,..." is the worst: yyjson spends 16 bytes on a value that took two, and grows by half), and what the
 * values need, plus the text, afterwards.
 */
#ifndef WJ_READ_H
#define WJ_READ_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/library.h"
#include "json/syntax.h"

enum {
    WJ_UNIQUE   = 1 << 0, /* refuse an object that names a member twice: for requests */
    WJ_SKIP_BOM = 1 << 1, /* step over a byte order mark at the beginning, and count bytes behind it: for files */
};

enum { WJ_MAX_BYTES = 16 << 20, WJ_MAX_DEPTH = 128 };

struct wj_read_opts {
    uint32_t size;
    uint32_t flags;
    size_t   max_bytes; /* 0: WJ_MAX_BYTES */
    unsigned depth;     /* levels of nesting; 0: WJ_MAX_DEPTH; never more than WJ_DEPTH_MAX */
    bool    *utf8;      /* set: all its texts are UTF-8, there is no lone surrogate in them; NULL: nobody asks */
};

WB_EXPORT_BEGIN

struct wb_library wj_library(void);

/* The one value of a text. opts may be NULL.
 * -UPP_EINVALID: not JSON; err has what was expected and found, and where.
 * -UPP_ELIMIT: too long, too deep, or too much for the arena. -UPP_ENOMEM.
 * The arena may hold some rubbish after a failure; it is not failed itself unless it ran out. */
int wj_read(struct wb_arena *a, struct upp_str text, const struct wj_read_opts *opts, yyjson_val **ret,
            struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END

#endif
