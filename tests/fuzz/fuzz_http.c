/* fuzz/fuzz_http.c — requests: the same whatever way the bytes are cut, within the limits, and framed in one way only.
 */
#include "server/http/http.h"

#include "base/hooks.h"
#include "fuzz/fuzz.h"

/* Beyond this the limits on noise, which are looked at between pieces, may strike a little later in one way than in the
 * other. */
enum { LONGEST = 32 << 10 };

struct outcome {
    enum sv_http_state state;
    size_t used;
    int status;
};

/* Feeds pieces of `cut` bytes (0: all at once), each in memory of its own. */
static struct outcome feed(struct sv_http *h, struct upp_str in, size_t cut)
{
    struct outcome o = {SV_HTTP_MORE, 0, 0};
    for (size_t at = 0; at < in.n && o.state == SV_HTTP_MORE;) {
        size_t n = cut && cut < in.n - at ? cut : in.n - at, used;
        char *p = wb_alloc(n);
        REQUIRE(p);
        memcpy(p, in.p + at, n);
        o.state = sv_http_feed(h, wb_str(p, n), &used);
        REQUIRE(used <= n && (o.state != SV_HTTP_MORE || used == n));
        wb_free(p);
        o.used += used;
        at += n;
    }
    o.status = h->status;
    return o;
}

static void check_request(const struct sv_http *h)
{
    size_t hosts, lengths, encodings;
    (void)sv_http_header(h, UPP_STR("host"), &hosts);
    (void)sv_http_header(h, UPP_STR("content-length"), &lengths);
    (void)sv_http_header(h, UPP_STR("transfer-encoding"), &encodings);
    REQUIRE(hosts <= 1 && (hosts == 1 || h->minor == 0));
    REQUIRE(lengths + encodings <= 1);
    REQUIRE(h->minor <= 1 && h->method && h->path.n && (h->path.p[0] == '/' || h->path.p[0] == '*'));
    REQUIRE(h->path.n + h->query.n <= SV_MAX_URL && h->body.n <= h->max_body);
    REQUIRE(h->has_body || !h->body.n);
    for (size_t i = 0; i < sv_http_headers(h); i++) {
        struct upp_str name, value;
        sv_http_header_at(h, i, &name, &value);
        REQUIRE(name.n);
        for (size_t k = 0; k < name.n; k++)
            REQUIRE(name.p[k] > ' ' && name.p[k] < 0x7f && name.p[k] != ':');
        for (size_t k = 0; k < value.n; k++)
            REQUIRE((unsigned char)value.p[k] >= ' ' || value.p[k] == '\t');
    }
}

FUZZ(http)
{
    struct sv_http whole, cut;
    if (in.n > LONGEST)
        return;
    sv_http_init(&whole, NULL);
    sv_http_init(&cut, NULL);
    for (int i = 0; i < 8 && in.n; i++) { /* requests that follow each other */
        struct outcome a = feed(&whole, in, 0), b = feed(&cut, in, 1 + in.n % 7);
        REQUIRE(a.state == b.state && a.status == b.status);
        if (a.state == SV_HTTP_REFUSED)
            REQUIRE(a.status >= 400 && a.status < 600 && whole.why && *whole.why);
        if (a.state != SV_HTTP_DONE)
            break;
        REQUIRE(a.used == b.used && a.used > 0);
        REQUIRE(whole.keep_alive == cut.keep_alive && whole.method == cut.method);
        REQUIRE(wb_str_eq(wb_buf_str(&whole.body), wb_buf_str(&cut.body)));
        REQUIRE(wb_str_eq(wb_buf_str(&whole.head), wb_buf_str(&cut.head)));
        check_request(&whole);
        in = wb_str(in.p + a.used, in.n - a.used);
        sv_http_reset(&whole);
        sv_http_reset(&cut);
    }
    sv_http_done(&whole);
    sv_http_done(&cut);
}
