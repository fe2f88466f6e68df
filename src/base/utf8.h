/* base/utf8.h — UTF-8, and WTF-8: the same with lone surrogates as three bytes.
 *
 * JSON strings are UTF-16 underneath and may hold half a pair. Inside, such a half is kept as the three bytes
 * that UTF-8 would use if it allowed them (WTF-8). Well-formed WTF-8 never holds a high half directly followed
 * by a low one: the two are one character of four bytes. What leaves for a provider is UTF-8.
 *
 * "At" and "bad" are byte offsets. Functions that count or cut take well-formed text; on other bytes they
 * answer something, and never read outside.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

enum { WB_CHAR_MAX = 0x10ffff, WB_CHAR_REPLACEMENT = 0xfffd };

WB_EXPORT_BEGIN

/* Well-formed? If not, *bad (which may be NULL) is the length of the longest well-formed prefix. */
bool wb_utf8_valid(struct upp_str s, size_t *bad);
bool wb_wtf8_valid(struct upp_str s, size_t *bad);

/* The character at byte `at`: how many bytes it takes, or 0 when there is no well-formed one (or no byte left).
 * wb_wtf8_decode also gives halves of pairs, each by itself. */
size_t wb_utf8_decode(struct upp_str s, size_t at, uint32_t *ret);
size_t wb_wtf8_decode(struct upp_str s, size_t at, uint32_t *ret);

/* Writes one character and returns its length; a surrogate takes three bytes (WTF-8). 0 past WB_CHAR_MAX. */
size_t wb_utf8_encode(uint32_t c, char out[4]);

/* How many characters, and how many UTF-16 units (JavaScript's length). */
size_t wb_utf8_count(struct upp_str s);
size_t wb_utf16_count(struct upp_str s);

/* The longest prefix of at most `max` bytes, or UTF-16 units, that does not end inside a character. */
size_t wb_utf8_cut(struct upp_str s, size_t max);
size_t wb_utf16_cut(struct upp_str s, size_t max);

/* Does well-formed WTF-8 hold a lone surrogate, so that it is no UTF-8? */
bool wb_wtf8_lone(struct upp_str s);

/* Appends well-formed WTF-8 to well-formed WTF-8. A high half at the end of the buffer and a low one at the front
 * of s become the character they are halves of: the pieces of a stream joined are the text that was cut. */
void wb_wtf8_add(struct wb_buf *b, struct upp_str s);

/* The same for those who have no buffer: are the end of `before` and the front of s such halves? Then ret is the
 * character, four bytes that stand for the last three of the one and the first three of the other. */
bool wb_wtf8_join(struct upp_str before, struct upp_str s, char ret[4]);

/* Appends s as UTF-8: U+FFFD for a lone surrogate, and for each byte that belongs to nothing. */
void wb_utf8_add_clean(struct wb_buf *b, struct upp_str s);

WB_EXPORT_END
