/* json/surrogate.h — accepting lone surrogates.
 *
 * JavaScript and Python write half a surrogate pair as an escape ("\ud83d"), for instance if a text was cut in the
 * middle of an emoji. yyjson refuses such escapes whatever the flags. In memory such text is WTF-8: the surrogate is
 * three bytes.
 */
#pragma once

#include "base/str.h"

/* Copies JSON that wj_syntax has accepted, and converts every lone surrogate escape to its three bytes. `to` has room
 * for text.n bytes and may not overlap. Returns the number of bytes written. */
size_t wj_surrogates_in(struct upp_str text, char *to);
