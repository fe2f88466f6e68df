/* json/read.h — text to values, within limits.
 *
 * Values are yyjson's, immutable, and live in the caller's arena together with the text they point into: they are valid
 * as long as the arena is. There is no document object to free.
 *
 * Invariants of every value made here
 *  1. Numbers are of type YYJSON_TYPE_RAW: the text of the document, syntactically valid, of any size.
 *  2. Strings are valid WTF-8 and may hold NUL.
 *  3. Members are in the order of the document, duplicates included.
 *  4. Nothing is nested deeper than the limit.
 *  5. A container and everything in it are contiguous in memory, in document order (json/pointer.h depends on this).
 *
 * Cost: time linear in the text, and no allocation if the arena's chunk has room. Memory while reading: at most 13
 * bytes per byte of text plus 8 KiB ("[0,0,0,..." is the worst: yyjson spends 16 bytes on a value that took two, and
 * grows by half); afterwards the values and the text.
 */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "base/library.h"
#include "json/syntax.h"

enum {
    WJ_UNIQUE = 1 << 0,   /* refuse duplicate members: for requests */
    WJ_SKIP_BOM = 1 << 1, /* skip a byte order mark at the beginning, and count bytes from after it: for files */
};

enum { WJ_MAX_BYTES = 16 << 20, WJ_MAX_DEPTH = 128 };

struct wj_read_opts {
    uint32_t size;
    uint32_t flags;
    size_t max_bytes; /* 0: WJ_MAX_BYTES */
    unsigned depth;   /* levels of nesting; 0: WJ_MAX_DEPTH; never more than WJ_DEPTH_MAX */
    bool *utf8;       /* set to whether all strings are UTF-8, without lone surrogates; may be NULL */
};

WB_EXPORT_BEGIN

struct wb_library wj_library(void);

/* Reads the one value of a text. opts may be NULL.
 * -UPP_EINVALID: not JSON; err has what was expected and found, and where.
 * -UPP_ELIMIT: too long, too deep, or too much for the arena. -UPP_ENOMEM.
 * After a failure the arena may hold garbage; it is not itself failed unless it ran out. */
int wj_read(struct wb_arena *a, struct upp_str text, const struct wj_read_opts *opts, yyjson_val **ret,
            struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
