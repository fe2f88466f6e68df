/* base/base64.h — bytes as text (RFC 4648), in both alphabets.
 *
 * Written: one alphabet, always padded, no line breaks.
 * Read: either alphabet, but not both in one value; padding whole, in part or absent. Refused, with the place:
 * any other byte (blanks and line breaks too), a length that no bytes give, more padding than needed, and bits
 * left over that are not zero, because then two texts would mean the same bytes.
 */
#pragma once

#include "base/buf.h"

enum wb_base64 {
    WB_BASE64,     /* '+' and '/': data URLs, most JSON */
    WB_BASE64_URL, /* '-' and '_' */
};

WB_EXPORT_BEGIN

/* How many bytes of text n bytes make; SIZE_MAX when that is too many to say. */
size_t wb_base64_size(size_t n);

void wb_base64_add(struct wb_buf *b, struct upp_str bytes, enum wb_base64 alphabet);

/* Appends the bytes that `text` means. After a failure the buffer holds what it held before;
 * -UPP_EINVALID: this is no base64, and the buffer can be used on. */
int wb_base64_decode(struct upp_str text, struct wb_buf *ret, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
