/* dialects/core/data_url.h — media at URLs, and data URLs: "data:MIME;base64,...". */
#pragma once

#include <upp/message.h>

#include "base/arena.h"
#include "base/buf.h"

/* Makes a part of a medium at a URL, which may be a data URL ("data:MIME;base64,..."). The part's kind follows from the
 * media type. */
int wd_url_media(struct wb_arena *a, struct upp_str url, struct upp_str mime, struct upp_str name, struct upp_part *to,
                 struct upp_err *err) UPP_MUST_CHECK;

/* The media type; if unknown, a generic one. */
struct upp_str wd_media_type(const struct upp_media *m);

/* Appends a data URL of a medium that has no URL. */
int wd_data_url(const struct upp_media *m, struct upp_str mime, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;
