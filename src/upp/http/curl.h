/* upp/http/curl.h — the one door to libcurl. */
#pragma once

#include <upp/base.h>

#include "base/export.h"
#include "base/library.h"

WB_EXPORT_BEGIN

struct wb_library upp__curl_library(void);

/* Starts libcurl for the process, with our allocator. Programs and tests call it once, before anything else uses
 * libcurl; the libraries never do. */
int upp__curl_use_hooks(struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
