/* upp/http/rules.c — heads of answers, what may be sent where. No I/O. */
#include "upp/http/rules.h"

#include "base/defs.h"
#include "base/hooks.h"

struct upp_str upp_http_header(const struct upp_http_head *h, struct upp_str name)
{
    for (size_t i = 0; i < h->n_headers; i++)
        if (wb_str_eq(h->headers[i].name, name))
            return h->headers[i].value;
    return (struct upp_str){0};
}

void upp__head_init(struct upp__head *h)
{
    *h = (struct upp__head){.text = WB_BUF(UPP__HEAD_BYTES)};
}

void upp__head_done(struct upp__head *h)
{
    wb_buf_done(&h->text);
    wb_free(WB_TAKE(h->headers));
}

struct upp_str upp__head_get(const struct upp__head *h, struct upp_str name)
{
    return upp_http_header(&(struct upp_http_head){.headers = h->headers, .n_headers = h->whole ? h->n : 0}, name);
}

/* "HTTP/1.1 200 OK", "HTTP/2 200": begins a head, also after another one. */
static int take_status(struct upp__head *h, struct upp_str line, struct upp_err *err)
{
    size_t at = wb_str_find(line, UPP_STR(" "), 0);
    uint64_t status = 0;
    if (at == SIZE_MAX || !wb_str_u64(wb_str_sub(line, at + 1, 3), &status) || status < 100)
        return upp_fail(err, UPP_EPROTO, "the answer has no status");
    wb_buf_clear(&h->text);
    h->n = 0;
    h->status = (int)status;
    return 0;
}

static void add_lower(struct wb_buf *b, struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        wb_buf_addc(b, (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + ('a' - 'A') : s.p[i]));
}

static int take_field(struct upp__head *h, struct upp_str line, struct upp_err *err)
{
    size_t colon = wb_str_find(line, UPP_STR(":"), 0);
    if (colon == 0 || colon == SIZE_MAX || memchr(line.p, 0, line.n))
        return upp_fail(err, UPP_EPROTO, "line %zu of the answer's head is no header", h->n + 1);
    if (++h->n > UPP__HEAD_LINES)
        return upp_fail(err, UPP_ELIMIT, "the answer has more than %d headers", UPP__HEAD_LINES);
    add_lower(&h->text, wb_str_trim(wb_str_sub(line, 0, colon)));
    wb_buf_addc(&h->text, 0);
    wb_buf_add(&h->text, wb_str_trim(wb_str_sub(line, colon + 1, line.n)));
    wb_buf_addc(&h->text, 0);
    return 0;
}

/* A line that begins with a blank goes on with the value before it (RFC 9112, 5.2). */
static int take_fold(struct upp__head *h, struct upp_str more, struct upp_err *err)
{
    if (!h->n || memchr(more.p, 0, more.n))
        return upp_fail(err, UPP_EPROTO, "the answer's head begins with a blank");
    if (h->text.n && !h->text.failed)
        h->text.n--;
    wb_buf_addc(&h->text, ' ');
    wb_buf_add(&h->text, more);
    wb_buf_addc(&h->text, 0);
    return 0;
}

static int head_finish(struct upp__head *h, struct upp_err *err)
{
    if (!h->status)
        return upp_fail(err, UPP_EPROTO, "the answer has no status");
    if (h->status < 200)
        return 0;
    struct upp_header *table = wb_calloc(h->n ? h->n : 1, sizeof *table);
    if (!table)
        return upp_fail(err, UPP_ENOMEM, "no memory for the answer's head");
    struct upp_str rest = wb_buf_str(&h->text);
    for (size_t i = 0; i < h->n; i++)
        if (!wb_str_split(&rest, 0, &table[i].name) || !wb_str_split(&rest, 0, &table[i].value))
            break; /* cannot be: each was written with its two ends */
    wb_free(h->headers);
    h->headers = table;
    h->whole = true;
    return 1;
}

int upp__head_line(struct upp__head *h, struct upp_str line, struct upp_err *err)
{
    if (h->whole)
        return 0;
    bool folded = line.n && (line.p[0] == ' ' || line.p[0] == '\t');
    struct upp_str bare = wb_str_trim(line);
    if (!bare.n && !folded)
        return head_finish(h, err);
    int r = folded                                  ? take_fold(h, bare, err)
            : wb_str_starts(bare, UPP_STR("HTTP/")) ? take_status(h, bare, err)
                                                    : take_field(h, bare, err);
    if (r < 0)
        return r;
    if (h->text.failed == -UPP_ELIMIT)
        return upp_fail(err, UPP_ELIMIT, "the answer's head has more than %d bytes", UPP__HEAD_BYTES);
    return wb_buf_check(&h->text, err);
}

/* RFC 9110, 5.6.2. */
static bool is_token(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alnum && (c == 0 || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return s.n > 0;
}

static bool is_line(struct upp_str s, unsigned char least)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < least && s.p[i] != '\t') || s.p[i] == 127)
            return false;
    return true;
}

int upp__http_check(const struct upp_http_request *req, struct upp_err *err)
{
    if (!req->url.n || !is_line(req->url, ' ' + 1) || memchr(req->url.p, '\t', req->url.n))
        return upp_fail(err, UPP_EINVALID, "an address is empty or has a blank in it");
    if (req->method.n && !is_token(req->method))
        return upp_fail(err, UPP_EINVALID, "this is no method of HTTP");
    if (req->body.p && wb_str_eq(req->method, UPP_STR("HEAD")))
        return upp_fail(err, UPP_EINVALID, "a HEAD has no body");
    for (size_t i = 0; i < req->n_headers; i++) {
        const struct upp_header *h = &req->headers[i];
        if (!is_token(h->name))
            return upp_fail(err, UPP_EINVALID, "header %zu has a name that cannot be sent", i + 1);
        if (!is_line(h->value, ' '))
            return upp_fail(err, UPP_EINVALID, "the value of header '%.*s' has a control character in it",
                            UPP_FMT(h->name));
    }
    return 0;
}

bool upp__http_moved(const struct upp__head *h)
{
    bool points = h->status == 301 || h->status == 302 || h->status == 303 || h->status == 307 || h->status == 308;
    return h->whole && points && upp__head_get(h, UPP_STR("location")).n;
}

bool upp__http_travels(struct upp_str name)
{
    static const struct upp_str harmless[] = {
        UPP_STR_INIT("accept"),
        UPP_STR_INIT("accept-language"),
        UPP_STR_INIT("user-agent"),
    };
    for (size_t i = 0; i < WB_LEN(harmless); i++)
        if (wb_str_eq_nocase(name, harmless[i]))
            return true;
    return false;
}

/* libcurl would take brotli and zstd too, whose windows may be 16 and 128 MiB, and several one inside another. */
int upp__http_coding(struct upp_str s, struct upp_err *err)
{
    if (!s.n || wb_str_eq_nocase(s, UPP_STR("identity")))
        return 1;
    if (wb_str_eq_nocase(s, UPP_STR("gzip")) || wb_str_eq_nocase(s, UPP_STR("x-gzip")) ||
        wb_str_eq_nocase(s, UPP_STR("deflate")))
        return 0;
    return upp_fail(err, UPP_EPROTO, "the answer is encoded as '%.*s', which was not asked for", UPP_FMT(s));
}

void upp__http_cause(struct upp_err *err, const char *text)
{
    size_t n = 0;
    if (!err)
        return;
    for (; text[n] && text[n] != '?' && n + 1 < sizeof err->cause; n++)
        err->cause[n] = (char)(text[n] < ' ' || text[n] > '~' ? '.' : text[n]);
    err->cause[n] = 0;
}
