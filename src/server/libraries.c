/* server/libraries.c — the libraries that the server uses. */
#include "server/libraries.h"

#include <llhttp.h>
#include <openssl/crypto.h>
#include <stddef.h>

#include "config.h"

/* llhttp has no version at run time: the settings struct that it shares with us is part of its soname. */
struct wb_library weft__llhttp_library(void)
{
    return wb_library("llhttp", WEFT_LLHTTP_VERSION, NULL);
}

struct wb_library weft__openssl_library(void)
{
    return wb_library("openssl", OPENSSL_VERSION_STR, OpenSSL_version(OPENSSL_VERSION_STRING));
}
