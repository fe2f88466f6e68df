/* upp/base.h — what every other header stands on: text, results, errors, options, version.
 *
 * Plain C11, also C++ (UPP_OPTS and UPP_CLEANUP are C only). Nothing here allocates.
 */
#ifndef UPP_BASE_H
#define UPP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define UPP_API              __attribute__((visibility("default")))
#define UPP_MUST_CHECK       __attribute__((warn_unused_result))
#define UPP_PRINTF(fmt, arg) __attribute__((format(printf, fmt, arg)))
#define UPP_CLEANUP(fn)      __attribute__((cleanup(fn)))
#else
#define UPP_API
#define UPP_MUST_CHECK
#define UPP_PRINTF(fmt, arg)
#endif

#define UPP_VERSION_MAJOR 0
#define UPP_VERSION_MINOR 1
#define UPP_VERSION_PATCH 0
#define UPP_VERSION       "0.1.0"

/* The version of the library that is running, "MAJOR.MINOR.PATCH". */
UPP_API const char *upp_version(void);

/* ---- Text ---------------------------------------------------------------------------------- */

/* Bytes with a length. UTF-8 (WTF-8 inside the model), may hold NUL, never assumed terminated.
 * {NULL, 0} means "no text"; {"", 0} is the empty text. */
struct upp_str {
    const char *p;
    size_t      n;
};

/* A literal as text; its length is known when compiling. */
#ifdef __cplusplus
#define UPP_STR(lit) (upp_str{("" lit), sizeof("" lit) - 1})
#else
#define UPP_STR(lit) ((struct upp_str){("" lit), sizeof("" lit) - 1})
#endif

/* The same as a static initialiser: `static const struct upp_str name = UPP_STR_INIT("x");`. */
#define UPP_STR_INIT(lit)                                                                                              \
    {                                                                                                                  \
        ("" lit), sizeof("" lit) - 1                                                                                   \
    }

/* For printf's "%.*s"; text longer than INT_MAX is cut. */
#define UPP_FMT(s) ((s).n > 0x7fffffff ? 0x7fffffff : (int)(s).n), ((s).p ? (s).p : "")

/* ---- Results and errors ---------------------------------------------------------------------- */

/* Every function that can fail returns an int: >= 0 is success, < 0 is -enum upp_code.
 * The list is closed: a code exists because a caller does something different for it.
 * Rows: suffix, value, spelling in UPP JSON, sentence used when nothing better is known. */
#define UPP_CODES(X)                                                                                                   \
    X(AUTH, 1, "AUTHENTICATION_FAILED", "authentication failed")                                                       \
    X(RATE, 2, "RATE_LIMITED", "rate limited")                                                                         \
    X(CONTEXT, 3, "CONTEXT_LENGTH_EXCEEDED", "the context is too long")                                                \
    X(NOMODEL, 4, "MODEL_NOT_FOUND", "no such model")                                                                  \
    X(INVALID, 5, "INVALID_REQUEST", "invalid request")                                                                \
    X(PROTO, 6, "INVALID_RESPONSE", "the answer makes no sense")                                                       \
    X(FILTERED, 7, "CONTENT_FILTERED", "the content was filtered")                                                     \
    X(QUOTA, 8, "QUOTA_EXCEEDED", "the quota is used up")                                                              \
    X(PROVIDER, 9, "PROVIDER_ERROR", "the provider failed")                                                            \
    X(NET, 10, "NETWORK_ERROR", "the network failed")                                                                  \
    X(TIMEOUT, 11, "TIMEOUT", "timed out")                                                                             \
    X(CANCELED, 12, "CANCELLED", "cancelled")                                                                          \
    X(NOTFOUND, 13, "NOT_FOUND", "not found")                                                                          \
    X(LIMIT, 14, "LIMIT_EXCEEDED", "a limit was reached")                                                              \
    X(BUSY, 15, "BUSY", "busy")                                                                                        \
    X(REFUSED, 16, "REFUSED", "refused")                                                                               \
    X(NOMEM, 17, "OUT_OF_MEMORY", "out of memory")                                                                     \
    X(STORE, 18, "STORE_ERROR", "the store failed")                                                                    \
    X(WAIT, 19, "WAITING", "waiting for an answer from outside")                                                       \
    X(BUG, 20, "INTERNAL_ERROR", "a bug in weft")

enum upp_code {
#define UPP_CODE_ENUM_(suffix, value, spelling, sentence) UPP_E##suffix = value,
    UPP_CODES(UPP_CODE_ENUM_)
#undef UPP_CODE_ENUM_
};

/* What went wrong, as a plain value on the caller's stack: no allocation, no free, no thread state.
 * All zero means no error. The return value decides whether a call failed; this says why. */
struct upp_err {
    int      code; /* the positive enum upp_code; the call returned its negative */
    int      http; /* 0 when not from HTTP */
    uint64_t retry_after_ms;
    char     provider[24];
    uint8_t  modality;
    char     where[128]; /* JSON pointer, file, or request id; the front is cut when too long */
    char     cause[128]; /* what the layer below said */
    char     msg[256];   /* one sentence, lower case, no newline; always UTF-8 */
};

/* "RATE_LIMITED" for UPP_ERATE or -UPP_ERATE; "UNKNOWN" for what is no code. Never NULL. */
UPP_API const char *upp_code_name(int code);

/* The sentence of a code: "rate limited". Never NULL. */
UPP_API const char *upp_code_text(int code);

/* Fills *err (which may be NULL) and returns -code, so that `return upp_fail(err, ...)` reads well. Arguments may be
 * any bytes: control characters become blanks and what is no UTF-8 is replaced. A long message is cut at a character
 * and ends in "...". */
UPP_API int upp_fail(struct upp_err *err, enum upp_code code, const char *fmt, ...) UPP_PRINTF(3, 4);

/* Puts "context: " before the message on the way up and returns r. */
UPP_API int upp_wrap(struct upp_err *err, int r, const char *fmt, ...) UPP_PRINTF(3, 4);

/* ---- Options ---------------------------------------------------------------------------------- */

/* An options struct begins with `uint32_t size`; zero is always the default; new members go to its end. */
#define UPP_OPTS(type, ...) (&(struct type){.size = sizeof(struct type), __VA_ARGS__})

#ifdef __cplusplus
}
#endif
#endif
