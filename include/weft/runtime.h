/* weft/runtime.h — starting up. */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H

#include <upp/hooks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For programs that own the process: upp_global_init, and the same memory (and for SQLite the same file calls) for
 * libuv, SQLite and libcurl. Once, before any of them is used. A library or plug-in must not call it. */
UPP_API int weft_global_init(const struct upp_hooks *hooks, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
