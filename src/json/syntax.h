/* json/syntax.h — finds where and why a text is not JSON.
 *
 * The fast reader (json/read.h) calls it only after it has refused a text: this parser is slower, but knows what it
 * expected at every byte. It is independent of the fast one, so that fuzzing can compare the two.
 */
#pragma once

#include "base/str.h"

/* A hard limit, whatever a caller asks for: depth costs stack. */
enum { WJ_DEPTH_MAX = 1024 };

struct wj_syntax {
    size_t values;  /* in the text; names are not counted */
    size_t lone;    /* surrogate escapes that are not half of a pair */
    unsigned depth; /* the deepest nesting; 0: no arrays or objects */
};

WB_EXPORT_BEGIN

/* 0: the text is JSON (RFC 8259, UTF-8) of at most `depth` levels, and *ret is set. -UPP_EINVALID: it is not.
 * -UPP_ELIMIT: it is deeper. err: what was expected and found, and in `where` the line, the column (in characters,
 * both from 1) and the byte (from 0). Lone surrogate escapes are JSON; raw surrogates are not UTF-8. No allocation,
 * no recursion. */
int wj_syntax(struct upp_str text, unsigned depth, struct wj_syntax *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Writes "line 3, column 7 (byte 42)" into err->where. */
void wj_err_position(struct upp_err *err, struct upp_str text, size_t at);

/* The value of four hexadecimal digits, or -1. */
int wj_hex4(const char *p);

WB_EXPORT_END
