/* server/http/accept.h — which of two media types a client would rather have (RFC 9110, 12.5.1). */
#pragma once

#include "base/str.h"

/* Does the header Accept prefer `type` to `other`? By its weights; where these are equal, a type that it names is
 * preferred to one that a range with * stands for. */
bool sv_accept_prefers(struct upp_str accept, const char *type, const char *other);
