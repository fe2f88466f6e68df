/* dialects/pai/media.h — what Pydantic AI derives for a medium without an identifier or type. */
#pragma once

#include <upp/message.h>

#include "base/str.h"

enum { WD_PAI_IDENTIFIER = sizeof "50173a" };

/* The identifier: the first six hex digits of SHA-1 over the URL, or over the bytes. NULL: invalid base64, or no memory
 * (see err). */
struct upp_str wd_pai_identifier(const struct upp_media *m, char out[WD_PAI_IDENTIFIER], struct upp_err *err);

/* The media type of a URL, by its file extension; never empty. `kind`: enum upp_part_kind. */
struct upp_str wd_pai_media_type(struct upp_str url, uint8_t kind);
