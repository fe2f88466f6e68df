/* upp/client/signature.h — a vendor's signatures of what its model said, in metadata that was masked. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* Appends `is`, the metadata `was` with secrets masked, without the signatures of what was masked: a vendor refuses
 * text that does not fit its signature. These are the members `signature` and `thoughtSignature` of each object in
 * which something was masked; with an empty `was`, of all. -UPP_EINVALID: not JSON. */
int upp__signatures_drop(struct wb_arena *scratch, struct upp_str was, struct upp_str is, struct wb_buf *out,
                         struct upp_err *err) UPP_MUST_CHECK;
