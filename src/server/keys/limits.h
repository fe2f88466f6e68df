/* server/keys/limits.h — what an API key may use: its limits as text, and a token bucket for requests.
 *
 *     requests=600/m,runs=8,tokens=1000000/d,bytes=10GiB
 */
#pragma once

#include "base/buf.h"
#include "run/engine.h"

/* 0: no limit. */
struct sv_limits {
    uint64_t requests; /* per minute */
    uint64_t runs;     /* that have not ended */
    uint64_t tokens;   /* per day, UTC */
    uint64_t bytes;    /* stored by the key's tenant */
};

#define SV_LIMIT_MAX (UINT64_C(1) << 50) /* of each; requests: SV_REQUESTS_MAX */
enum { SV_REQUESTS_MAX = 1000000000 };

/* Empty: no limits. -UPP_EINVALID names the part that is wrong. */
int sv_limits_parse(struct upp_str text, struct sv_limits *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The text above; nothing if there are no limits. */
void sv_limits_write(const struct sv_limits *l, struct wb_buf *out);

/* The stricter of two, limit by limit. */
struct sv_limits sv_limits_both(const struct sv_limits *a, const struct sv_limits *b);

/* ---- Requests ---- */

/* A token bucket that holds one minute's requests and refills evenly. All zero: full. */
struct sv_bucket {
    uint64_t used; /* what is missing to be full: milliseconds times requests per minute */
    uint64_t at_ms;
};

/* Takes one request. 0: taken; otherwise nothing changed, and one can be taken in so many milliseconds. */
uint64_t sv_bucket_take(struct sv_bucket *b, uint64_t per_minute, uint64_t now_ms);

/* How many can be taken at once, and in how many milliseconds it is full. */
uint64_t sv_bucket_left(const struct sv_bucket *b, uint64_t per_minute, uint64_t now_ms);
uint64_t sv_bucket_reset_ms(const struct sv_bucket *b, uint64_t per_minute, uint64_t now_ms);

/* ---- Times ---- */

enum { SV_DAY_MS = 86400000 };

/* "350ms", "7s", "6m0s", "5h3m0s": as OpenAI's rate limit headers have it. */
enum { SV_DURATION = 32 };
struct upp_str sv_duration(uint64_t ms, char out[SV_DURATION]);

/* A quota of one loop, for engines on other loops: they ask the loop that counts.
 *
 * They must have been closed before the quota is.
 */

struct sv_elsewhere {
    struct wr_quota quota; /* for the others */
    const struct wr_quota *here;
    struct weft_loop *loop; /* of `here` */
};

void sv_elsewhere_init(struct sv_elsewhere *e, const struct wr_quota *here, struct weft_loop *loop);
