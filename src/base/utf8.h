/* base/utf8.h — UTF-8, and WTF-8: the same with lone surrogates as three bytes. */
#ifndef WB_UTF8_H
#define WB_UTF8_H

#include "base/str.h"

WB_EXPORT_BEGIN

/* The longest prefix of at most `max` bytes that does not end inside a character. */
size_t wb_utf8_cut(struct upp_str s, size_t max);

/* Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. False: *bad (which may be NULL) is the
 * offset of the first byte that is not part of a whole character. */
bool wb_utf8_valid(struct upp_str s, size_t *bad);

/* The same, but lone surrogates (ED A0..BF xx) are fine. A high one followed by a low one is not: that is a pair,
 * and a pair has one spelling only, the four-byte one. */
bool wb_wtf8_valid(struct upp_str s, size_t *bad);

WB_EXPORT_END

#endif
