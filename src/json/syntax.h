/* json/syntax.h — says where and why a text is not JSON.
 *
 * The fast reader (json/read.h) asks only once it has refused a text: this one is slower, but knows what it expected
 * at every byte. It is written apart from the fast one, so that fuzzing can hold the two against each other.
 */
#ifndef WJ_SYNTAX_H
#define WJ_SYNTAX_H

#include "base/str.h"

/* Nothing here goes deeper, whatever a caller asks for: depth costs stack. */
enum { WJ_DEPTH_MAX = 1024 };

struct wj_syntax {
    size_t   values; /* in the text; a member's name is not counted */
    size_t   lone;   /* surrogate escapes that are not half of a pair */
    unsigned depth;  /* the deepest nesting; 0 for a text without arrays and objects */
};

WB_EXPORT_BEGIN

/* 0: the text is JSON (RFC 8259, UTF-8) of at most `depth` levels, and *ret is set. -UPP_EINVALID: it is not.
 * -UPP_ELIMIT: it is deeper. err: what was expected and found, and in `where` the line, the column (in characters,
 * both from 1) and the byte (from 0). Lone surrogate escapes are JSON; raw surrogates are not UTF-8. No allocation,
 * no recursion. */
int wj_syntax(struct upp_str text, unsigned depth, struct wj_syntax *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Puts "line 3, column 7 (byte 42)" into err->where. */
void wj_place(struct upp_err *err, struct upp_str text, size_t at);

/* The value of four hexadecimal digits, or -1. */
int wj_hex4(const char *p);

WB_EXPORT_END

#endif
