/* dialects/core/data_url.h — media at addresses, and as addresses: "data:MIME;base64,...". */
#ifndef WD_DATA_URL_H
#define WD_DATA_URL_H

#include <upp/message.h>

#include "base/arena.h"
#include "base/buf.h"

/* A medium at an address, which may be its bytes ("data:MIME;base64,..."); its kind is that of the media type. */
int wd_url_media(struct wb_arena *a, struct upp_str url, struct upp_str mime, struct upp_str name, struct upp_part *to,
                 struct upp_err *err) UPP_MUST_CHECK;

/* The media type, or what stands for it where nobody knows. */
struct upp_str wd_media_type(const struct upp_media *m);

/* Adds the address of a medium that is not at one. */
int wd_data_url(const struct upp_media *m, struct upp_str mime, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

#endif
