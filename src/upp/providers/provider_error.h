/* upp/providers/provider_error.h — provider errors in one struct, and the one table that maps them to error codes. */
#pragma once

#include <upp/http.h>

/* Every text may be empty; texts are borrowed. */
struct upp__provider_error {
    int status;                /* HTTP status; 0: inside a stream */
    struct upp_str type, code; /* "rate_limit_error", "context_length_exceeded"; as the vendor spells them */
    struct upp_str reason;     /* a second code where the vendor has one: Google's status is `type`, its reason this */
    struct upp_str message;
    struct upp_str request_id;
    uint64_t retry_ms; /* 0: unknown; UINT64_MAX: do not retry */
};

/* Fills err (http, retry_after_ms, where = the request id, cause = the vendor's type and code, msg) and returns the
 * negative code. Masks `key` where the vendor repeats it in its message. */
int upp__provider_fail(const struct upp__provider_error *t, struct upp_str key, struct upp_err *err);

/* Masks the key in an error that was made without it, as errors inside a stream are. Any eight consecutive bytes of the
 * key are masked; a key of less than four bytes is no secret. Accepts NULL. */
void upp__mask(struct upp_err *err, struct upp_str key);

/* retry_ms from the headers x-should-retry, retry-after-ms and retry-after (seconds, also 1.5, or a date). `now_ms` is
 * since 1970. At most max_ms; "at once" and dates in the past are 1. */
uint64_t upp__retry_after(const struct upp_http_head *h, int64_t now_ms, uint64_t max_ms);

/* A duration as Go and Google write it: "34.4s", "6m0s", "20ms". False: it is not one. */
bool upp__duration_ms(struct upp_str s, uint64_t *ret);
