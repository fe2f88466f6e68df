/* json/surrogate.h — lone surrogates on their way in.
 *
 * JavaScript and Python write half a surrogate pair as an escape ("\ud83d"), for instance when a text was cut in the
 * middle of an emoji. yyjson refuses such escapes with every flag. Inside, such text is WTF-8: the half is three bytes.
 */
#ifndef WJ_SURROGATE_H
#define WJ_SURROGATE_H

#include "base/str.h"

/* Copies JSON that wj_syntax has accepted, with every lone surrogate escape turned into its three-byte form. `to` has
 * room for text.n bytes and may not overlap. Returns how many were written. */
size_t wj_surrogates_in(struct upp_str text, char *to);

#endif
