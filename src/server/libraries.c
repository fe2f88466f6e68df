/* server/libraries.c — the libraries that the server uses. */
#include "server/libraries.h"

#include <llhttp.h>
#include <openssl/crypto.h>
#include <stddef.h>

#include "config.h"
#include "fiber/loop_uv.h"
#include "json/read.h"
#include "runtime/runtime.h"
#include "stores/library.h"
#include "upp/http/curl.h"

/* llhttp has no version at run time: the settings struct that it shares with us is part of its soname. */
static struct wb_library llhttp_library(void)
{
    return wb_library("llhttp", WEFT_LLHTTP_VERSION, NULL);
}

static struct wb_library openssl_library(void)
{
    return wb_library("openssl", OPENSSL_VERSION_STR, OpenSSL_version(OPENSSL_VERSION_STRING));
}

struct wb_library (*const sv_libraries[SV_LIBRARIES])(void) = {
    wj_library,      weft__uv_library,     upp__curl_library,  llhttp_library,
    openssl_library, weft__sqlite_library, weft__yaml_library,
};
