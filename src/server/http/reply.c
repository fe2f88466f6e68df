/* server/http/reply.c — builds and writes the head of a response; compares media types by the header Accept. */
#include "server/http/reply.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/defs.h"

/* Not strftime: it uses the locale's names. */
static struct upp_str date_now(struct sv_date *d)
{
    static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t now = wb_wall_ms() / 1000;
    if (now != d->second || !d->text[0]) {
        time_t t = (time_t)now;
        struct tm tm;
        if (!gmtime_r(&t, &tm))
            return (struct upp_str){NULL, 0};
        (void)snprintf(d->text, sizeof d->text, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT", days + 3 * tm.tm_wday,
                       tm.tm_mday % 100, months + 3 * tm.tm_mon, (tm.tm_year + 1900) % 10000, tm.tm_hour % 100,
                       tm.tm_min % 100, tm.tm_sec % 100);
        d->second = now;
    }
    return wb_cstr(d->text);
}

void sv_reply_init(struct sv_reply *r)
{
    *r = (struct sv_reply){0};
    r->headers = (struct wb_buf)WB_BUF(SV_REPLY_HEADERS);
    r->body = (struct wb_buf)WB_BUF(SV_REPLY_BODY);
}

void sv_reply_done(struct sv_reply *r)
{
    wb_buf_done(&r->headers);
    wb_buf_done(&r->body);
}

static bool is_token(const char *s)
{
    static const char more[] = "!#$%&'*+-.^_`|~";
    if (!*s)
        return false;
    for (; *s; s++)
        if (!((*s >= '0' && *s <= '9') || (*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z') || strchr(more, *s)))
            return false;
    return true;
}

static bool is_value(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return true;
}

void sv_reply_header(struct sv_reply *r, const char *name, struct upp_str value)
{
    if (!is_token(name) || !is_value(value)) {
        r->headers.failed = -UPP_EBUG; /* a value must not inject another header */
        return;
    }
    wb_buf_add(&r->headers, wb_cstr(name));
    wb_buf_add(&r->headers, UPP_STR(": "));
    wb_buf_add(&r->headers, value);
    wb_buf_add(&r->headers, UPP_STR("\r\n"));
}

static const struct {
    int status;
    const char *text;
} statuses[] = {
    {200, "OK"},
    {201, "Created"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

static const char *status_text(int status)
{
    for (size_t i = 0; i < WB_LEN(statuses); i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    return "Other";
}

static void add_header(struct wb_buf *out, struct upp_str name, struct upp_str value)
{
    wb_buf_add(out, name);
    wb_buf_add(out, value);
    wb_buf_add(out, UPP_STR("\r\n"));
}

void sv_head_write(struct wb_buf *out, const struct sv_head *head, struct sv_date *date)
{
    wb_buf_addf(out, "HTTP/1.1 %d %s\r\n", head->status, status_text(head->status));
    struct upp_str now = date_now(date);
    if (now.p)
        add_header(out, UPP_STR("Date: "), now);
    if (head->type)
        add_header(out, UPP_STR("Content-Type: "), wb_cstr(head->type));
    if (head->length >= 0)
        wb_buf_addf(out, "Content-Length: %lld\r\n", (long long)head->length);
    else if (head->length == SV_LENGTH_CHUNKED)
        wb_buf_add(out, UPP_STR("Transfer-Encoding: chunked\r\n"));
    if (!head->keep_alive)
        wb_buf_add(out, UPP_STR("Connection: close\r\n"));
    else if (head->minor == 0)
        wb_buf_add(out, UPP_STR("Connection: keep-alive\r\n"));
    if (head->request_id.n)
        add_header(out, UPP_STR("x-request-id: "), head->request_id);
    wb_buf_add(out, UPP_STR("X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n"));
    wb_buf_add(out, head->headers);
    wb_buf_add(out, UPP_STR("\r\n"));
}

enum { WHOLE = 1000 }; /* a weight has three digits behind the point */

/* How well a range of the header fits a type. */
enum fit { NONE, ANY, FAMILY, EXACT };

struct preference {
    enum fit fit; /* of the closest range, whose weight counts */
    unsigned weight;
};

static enum fit fit_of(struct upp_str range, struct upp_str type)
{
    size_t slash = wb_str_find(type, UPP_STR("/"), 0);
    if (wb_str_eq_nocase(range, type))
        return EXACT;
    if (wb_str_eq(range, UPP_STR("*/*")))
        return ANY;
    bool family = wb_str_ends(range, UPP_STR("/*")) && range.n == slash + 2 &&
                  wb_str_eq_nocase(wb_str_sub(range, 0, slash), wb_str_sub(type, 0, slash));
    return family ? FAMILY : NONE;
}

/* "0.5", "1", "0.123". One that is no weight says nothing. */
static unsigned parse_weight(struct upp_str s)
{
    unsigned weight = 0, digit = WHOLE;
    for (size_t i = 0; i < s.n; i++) {
        if (i == 1 && s.p[i] == '.')
            continue;
        if (i == 1 || s.p[i] < '0' || s.p[i] > '9')
            return WHOLE;
        weight += (unsigned)(s.p[i] - '0') * digit;
        digit /= 10;
    }
    return s.n ? WB_MIN(weight, (unsigned)WHOLE) : (unsigned)WHOLE;
}

static unsigned weight_of(struct upp_str parameters)
{
    struct upp_str one;
    while (wb_str_split(&parameters, ';', &one)) {
        one = wb_str_trim(one);
        if (one.n > 1 && (one.p[0] == 'q' || one.p[0] == 'Q') && one.p[1] == '=')
            return parse_weight(wb_str_sub(one, 2, SIZE_MAX));
    }
    return WHOLE;
}

static struct preference preference_of(struct upp_str accept, struct upp_str type)
{
    struct preference best = {NONE, 0};
    struct upp_str range, name;
    while (wb_str_split(&accept, ',', &range)) {
        if (!wb_str_split(&range, ';', &name))
            continue;
        enum fit fit = fit_of(wb_str_trim(name), type);
        if (fit > best.fit)
            best = (struct preference){fit, weight_of(range)};
    }
    return best;
}

bool sv_accept_prefers(struct upp_str accept, const char *type, const char *other)
{
    struct preference a = preference_of(accept, wb_cstr(type)), b = preference_of(accept, wb_cstr(other));
    return a.weight != b.weight ? a.weight > b.weight : a.weight && a.fit > b.fit;
}
