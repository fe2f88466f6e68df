/* upp/base.h — used by every other header: strings, results, errors, options, version.
 *
 * Plain C11, also C++ (UPP_OPTS and UPP_CLEANUP are C only). Nothing here allocates.
 */
#pragma once

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

/* The version of the library at run time, "MAJOR.MINOR.PATCH". */
UPP_API const char *upp_version(void);

/* A string: pointer and length. UTF-8 (WTF-8 inside the model), may contain NUL, need not be NUL-terminated.
 * {NULL, 0} is the null string: no value ("NULL" in comments). {"", 0} is the empty string. */
struct upp_str {
    const char *p;
    size_t n;
};

/* A string literal as struct upp_str; its length is a compile-time constant. */
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

/* Arguments for printf's "%.*s"; cuts a string longer than INT_MAX. */
#define UPP_FMT(s) ((s).n > 0x7fffffff ? 0x7fffffff : (int)(s).n), ((s).p ? (s).p : "")

/* Every function that can fail returns an int: >= 0 is success, < 0 is -enum upp_code.
 * The list is closed: a code exists because a caller acts differently on it.
 * Rows: suffix, value, spelling in UPP JSON, default message. */
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

/* Details of an error: a plain value on the caller's stack. No allocation, no free, no thread-local state.
 * All zero means no error. The return value tells whether a call failed, this struct tells why. */
struct upp_err {
    int code;                /* the positive enum upp_code; the call returned its negative */
    int http;                /* HTTP status; 0: not from HTTP */
    uint64_t retry_after_ms; /* as the server asks; UINT64_MAX: it forbids a retry */
    char provider[24];
    uint8_t modality;
    char where[128]; /* JSON pointer, file or request id; if too long, only its end */
    char cause[128]; /* original text of the layer below */
    char msg[256];   /* one sentence, lower case, no newline; always valid UTF-8 */
};

/* "RATE_LIMITED" for UPP_ERATE or -UPP_ERATE; "UNKNOWN" for any other number. Never NULL. */
UPP_API const char *upp_code_name(int code);

/* The default message of a code: "rate limited". Never NULL. */
UPP_API const char *upp_code_text(int code);

/* Fills *err (err may be NULL) and returns -code, for `return upp_fail(err, ...)`. Arguments may contain any bytes:
 * control characters become blanks, invalid UTF-8 is replaced. A message that is too long is cut at a character
 * boundary and ends with "...". */
UPP_API int upp_fail(struct upp_err *err, enum upp_code code, const char *fmt, ...) UPP_PRINTF(3, 4);

/* Prepends "context: " to the message and returns r. */
UPP_API int upp_wrap(struct upp_err *err, int r, const char *fmt, ...) UPP_PRINTF(3, 4);

/* An options struct begins with `uint32_t size`; zero is always the default; new members are added at the end. */
#define UPP_OPTS(type, ...) (&(struct type){.size = sizeof(struct type), __VA_ARGS__})

#ifdef __cplusplus
}
#endif
