/* server/libraries.c — what the server stands on. */
#include "server/libraries.h"

#include <llhttp.h>
#include <openssl/crypto.h>
#include <stddef.h>

#include "config.h"

/* llhttp does not say its version at run time: the settings it shares with us are part of its soname. */
struct wb_library weft__llhttp_library(void)
{
    return wb_library("llhttp", WEFT_LLHTTP_VERSION, NULL);
}

struct wb_library weft__openssl_library(void)
{
    return wb_library("openssl", OPENSSL_VERSION_STR, OpenSSL_version(OPENSSL_VERSION_STRING));
}
