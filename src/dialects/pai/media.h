/* dialects/pai/media.h — what Pydantic AI says of a medium though nobody told it. */
#ifndef WD_PAI_MEDIA_H
#define WD_PAI_MEDIA_H

#include <upp/message.h>

#include "base/str.h"

enum { WD_PAI_IDENTIFIER = sizeof "50173a" };

/* How it calls a medium that has no name: the first six hex digits of SHA-1 over the address, or over the bytes. No
 * text: what should be base64 is none, or there is no memory (err says which). */
struct upp_str wd_pai_identifier(const struct upp_media *m, char out[WD_PAI_IDENTIFIER], struct upp_err *err);

/* The type of what stands at an address, by its ending; never none. `kind`: enum upp_part_kind. */
struct upp_str wd_pai_media_type(struct upp_str url, uint8_t kind);

#endif
