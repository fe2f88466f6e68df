/* upp/providers/trouble.h — what a vendor says when it fails, in one shape, and the one table that makes a code of it. */
#ifndef UPP_TROUBLE_H
#define UPP_TROUBLE_H

#include <upp/http.h>

/* All texts may be none; they are borrowed. */
struct upp__trouble {
    int            status;     /* of HTTP; 0: inside a stream */
    struct upp_str type, code; /* "rate_limit_error", "context_length_exceeded"; as the vendor spells them */
    struct upp_str reason;     /* a second code where the vendor has one: Google's status is `type`, its reason this */
    struct upp_str message;
    struct upp_str request_id;
    uint64_t       retry_ms; /* 0: not said; UINT64_MAX: said not to try again */
};

/* Fills err (http, retry_after_ms, where = the request id, cause = the vendor's words, msg) and returns the code, below
 * 0. Never shows `key` where the vendor repeats it in its message. */
int upp__trouble_fail(const struct upp__trouble *t, struct upp_str key, struct upp_err *err);

/* The same for an error that was made without the key at hand, as those inside of a stream: its texts lose what is of
 * the key. `err` may be NULL. Eight bytes of it in a row are a piece of it; a key of less than four is no secret. */
void upp__mask(struct upp_err *err, struct upp_str key);

/* What the headers say about trying again, as retry_ms: x-should-retry, retry-after-ms, retry-after in seconds (also
 * 1.5) or as a date. `now_ms` since 1970. Cut to max_ms. Who says at once, or a moment that is over, says 1. */
uint64_t upp__retry_after(const struct upp_http_head *h, int64_t now_ms, uint64_t max_ms);

/* A duration as Go and Google write it: "34.4s", "6m0s", "20ms". False: it is none. */
bool upp__duration_ms(struct upp_str s, uint64_t *ret);

#endif
