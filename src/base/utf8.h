/* base/utf8.h — UTF-8, and WTF-8: the same with lone surrogates as three bytes. */
#ifndef WB_UTF8_H
#define WB_UTF8_H

#include "base/str.h"

WB_EXPORT_BEGIN

/* The longest prefix of at most `max` bytes that does not end inside a character. */
size_t wb_utf8_cut(struct upp_str s, size_t max);

WB_EXPORT_END

#endif
