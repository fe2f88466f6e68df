/* upp/http/curl.h — the one door to libcurl. */
#pragma once

#include <upp/http.h>

#include "base/export.h"
#include "base/library.h"

WB_EXPORT_BEGIN

struct wb_library upp__curl_library(void);

/* Starts libcurl for the process, with our allocator. Programs and tests call it once, before anything else uses
 * libcurl; the libraries never do. */
int upp__curl_use_hooks(struct upp_err *err) UPP_MUST_CHECK;

/* upp_http_send over a Unix socket (its path; with '@' in front an abstract name, for one call); the address is only
 * written into the request. */
int upp__http_send_unix(struct upp_http *h, const char *path, const struct upp_http_request *req,
                        const struct upp_wait *wait, struct upp_http_call **ret, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
