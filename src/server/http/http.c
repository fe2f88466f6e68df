/* server/http/http.c — the callbacks of llhttp, and the checks that it leaves open. */
#include "server/http/http.h"

#include "base/defs.h"

enum {
    KEEP_BODY = 64 << 10, /* a larger buffer is freed after its request */
    PIECE = 8 << 10,
};

static struct sv_http *of(llhttp_t *p)
{
    return WB_OUTER(p, struct sv_http, parser);
}

static int refuse(struct sv_http *h, int status, const char *why)
{
    if (!h->status) {
        h->status = status;
        h->why = why;
    }
    return HPE_USER;
}

/* Checks a buffer after something was added to it. */
static int added(struct sv_http *h, const struct wb_buf *b)
{
    return b->failed ? refuse(h, 503, "out of memory") : 0;
}

/* ---- Target and headers ------------------------------------------------------------------------------------------ */

static int on_url(llhttp_t *p, const char *at, size_t n)
{
    struct sv_http *h = of(p);
    if (h->n_target + n > SV_MAX_URL)
        return refuse(h, 414, "the target is longer than 8 KiB");
    wb_buf_add(&h->head, wb_str(at, n));
    h->n_target += n;
    return added(h, &h->head);
}

/* Trailers are counted but dropped: they must not be taken for headers. */
static int add_text(struct sv_http *h, const char *at, size_t n, size_t *where)
{
    h->counted += n;
    if (h->counted > SV_MAX_HEAD)
        return refuse(h, 431, "the headers are longer than 32 KiB");
    if (h->head_done)
        return 0;
    wb_buf_add(&h->head, wb_str(at, n));
    *where += n;
    return added(h, &h->head);
}

static int on_header_field(llhttp_t *p, const char *at, size_t n)
{
    struct sv_http *h = of(p);
    if (!h->open.n_name)
        h->open.name = h->head.n;
    return add_text(h, at, n, &h->open.n_name);
}

static int on_header_value(llhttp_t *p, const char *at, size_t n)
{
    struct sv_http *h = of(p);
    if (!h->open.n_value)
        h->open.value = h->head.n;
    return add_text(h, at, n, &h->open.n_value);
}

static int on_header_value_complete(llhttp_t *p)
{
    struct sv_http *h = of(p);
    struct sv_header open = h->open;
    h->open = (struct sv_header){0};
    h->counted += 4;
    if (h->head_done)
        return 0;
    struct upp_str value = wb_str_trim(wb_str(h->head.p + open.value, open.n_value));
    if (open.n_value)
        open.value = (size_t)(value.p - h->head.p);
    open.n_value = value.n;
    if (h->headers.n == SV_MAX_HEADERS)
        return refuse(h, 431, "more than 128 headers");
    if (!wb_vec_push(&h->headers, open, SV_MAX_HEADERS))
        return refuse(h, 503, "out of memory");
    return 0;
}

size_t sv_http_headers(const struct sv_http *h)
{
    return h->headers.n;
}

void sv_http_header_at(const struct sv_http *h, size_t i, struct upp_str *name, struct upp_str *value)
{
    const struct sv_header *at = &h->headers.p[i];
    *name = wb_str(h->head.p + at->name, at->n_name);
    *value = wb_str(h->head.p + at->value, at->n_value);
}

struct upp_str sv_http_header(const struct sv_http *h, struct upp_str name, size_t *count)
{
    struct upp_str found = {NULL, 0}, n, v;
    size_t times = 0;
    for (size_t i = 0; i < h->headers.n; i++) {
        sv_http_header_at(h, i, &n, &v);
        if (wb_str_eq_nocase(n, name) && times++ == 0)
            found = v;
    }
    if (count)
        *count = times;
    return found;
}

/* ---- The head as a whole ----------------------------------------------------------------------------------------- */

static uint8_t method_of(unsigned llhttp_method)
{
    switch (llhttp_method) {
    case HTTP_GET:
        return SV_GET;
    case HTTP_HEAD:
        return SV_HEAD;
    case HTTP_POST:
        return SV_POST;
    case HTTP_PUT:
        return SV_PUT;
    case HTTP_PATCH:
        return SV_PATCH;
    case HTTP_DELETE:
        return SV_DELETE;
    case HTTP_OPTIONS:
        return SV_OPTIONS;
    default:
        return SV_OTHER;
    }
}

const char *sv_method_name(uint8_t method)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (unsigned i = 0; i < WB_LEN(names); i++)
        if (method == 1u << i)
            return names[i];
    return "other";
}

/* "/path?query", or an absolute URL, whose host then replaces the Host header (RFC 9112 3.2.2). */
static int split_target(struct sv_http *h)
{
    static const struct upp_str schemes[] = {UPP_STR_INIT("http://"), UPP_STR_INIT("https://")};
    struct upp_str t = wb_str(h->head.p, h->n_target);
    for (size_t i = 0; i < WB_LEN(schemes); i++)
        if (t.n >= schemes[i].n && wb_str_eq_nocase(wb_str_sub(t, 0, schemes[i].n), schemes[i])) {
            t = wb_str_sub(t, schemes[i].n, SIZE_MAX);
            size_t n = 0;
            while (n < t.n && t.p[n] != '/' && t.p[n] != '?')
                n++;
            h->host = wb_str(t.p, n);
            t = wb_str_sub(t, n, SIZE_MAX);
            if (!h->host.n)
                return refuse(h, 400, "the target has no host");
            if (!t.n)
                t = UPP_STR("/");
        }
    if ((!t.n || t.p[0] != '/') && !(h->method == SV_OPTIONS && wb_str_eq(t, UPP_STR("*"))))
        return refuse(h, 400, "the target does not begin with a slash");
    size_t q = wb_str_find(t, UPP_STR("?"), 0);
    h->path = wb_str_sub(t, 0, q);
    h->query = q == SIZE_MAX ? (struct upp_str){NULL, 0} : wb_str_sub(t, q + 1, SIZE_MAX);
    if (memchr(t.p, '#', t.n))
        return refuse(h, 400, "the target holds a fragment");
    return 0;
}

/* Rejects duplicates of headers that would be ambiguous. */
static int check_headers(struct sv_http *h)
{
    size_t n;
    struct upp_str host = sv_http_header(h, UPP_STR("host"), &n);
    if (n > 1 || (n == 0 && h->minor >= 1))
        return refuse(h, 400, n ? "more than one Host header" : "no Host header");
    if (!h->host.p)
        h->host = host;

    struct upp_str te = sv_http_header(h, UPP_STR("transfer-encoding"), &n);
    if (n && h->minor == 0)
        return refuse(h, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (n > 1)
        return refuse(h, 400, "more than one Transfer-Encoding header");
    if (n && !wb_str_eq_nocase(te, UPP_STR("chunked")))
        return refuse(h, 501, "a Transfer-Encoding other than chunked");
    if (n && sv_http_header(h, UPP_STR("content-length"), NULL).p) /* llhttp checks this too */
        return refuse(h, 400, "Content-Length and Transfer-Encoding together");

    struct upp_str expect = sv_http_header(h, UPP_STR("expect"), &n);
    if (n && (n > 1 || !wb_str_eq_nocase(expect, UPP_STR("100-continue"))))
        return refuse(h, 417, "an Expect header other than 100-continue");
    h->expects = n && h->has_body && h->minor >= 1;
    return 0;
}

static int on_headers_complete(llhttp_t *p)
{
    struct sv_http *h = of(p);
    h->method = method_of(p->method);
    h->minor = p->http_minor;
    p->upgrade = 0; /* upgrades are not supported */
    if (p->http_major != 1 || p->http_minor > 1)
        return refuse(h, 505, "HTTP/1.1 and HTTP/1.0 are spoken here");
    if (p->method == HTTP_CONNECT)
        return refuse(h, 501, "this is no proxy");
    h->has_body = p->flags & F_CHUNKED || p->content_length > 0;
    if (split_target(h) || check_headers(h))
        return HPE_USER;
    int status = h->on_head ? h->on_head(h) : 0;
    if (status)
        return refuse(h, status, h->why ? h->why : "refused");
    if (!(p->flags & F_CHUNKED) && p->content_length > h->max_body)
        return refuse(h, 413, "the body is longer than this route takes");
    h->body.max = h->max_body;
    h->head_done = true;
    return 0;
}

/* ---- The body ---------------------------------------------------------------------------------------------------- */

static int on_body(llhttp_t *p, const char *at, size_t n)
{
    struct sv_http *h = of(p);
    h->expects = false;
    if (n > h->max_body - h->taken - h->body.n)
        return refuse(h, 413, "the body is longer than this route takes");
    wb_buf_add(&h->body, wb_str(at, n));
    return added(h, &h->body);
}

/* The line with a chunk's size is complete. Refuses too large a chunk before its bytes arrive. */
static int on_chunk_header(llhttp_t *p)
{
    struct sv_http *h = of(p);
    h->extension = 0;
    return p->content_length > h->max_body - h->taken - h->body.n
               ? refuse(h, 413, "the body is longer than this route takes")
               : 0;
}

static int on_chunk_extension(llhttp_t *p, const char *at, size_t n)
{
    struct sv_http *h = of(p);
    (void)at; /* not used */
    h->extension += n;
    return h->extension > SV_MAX_EXT ? refuse(h, 400, "the extensions of a chunk are longer than 4 KiB") : 0;
}

static int on_message_complete(llhttp_t *p)
{
    struct sv_http *h = of(p);
    h->done = true;
    h->expects = false;
    h->keep_alive = llhttp_should_keep_alive(p) != 0;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_chunk_header = on_chunk_header,
    .on_chunk_extension_name = on_chunk_extension,
    .on_chunk_extension_value = on_chunk_extension,
    .on_message_complete = on_message_complete,
};

/* ---- Feeding ----------------------------------------------------------------------------------------------------- */

void sv_http_init(struct sv_http *h, int (*on_head)(struct sv_http *h))
{
    *h = (struct sv_http){.on_head = on_head};
    h->head = (struct wb_buf)WB_BUF(SV_MAX_URL + SV_MAX_HEAD);
    h->body = (struct wb_buf)WB_BUF(SV_MAX_BODY);
    h->parser = (llhttp_t){0};
    sv_http_reset(h);
}

void sv_http_drop(struct sv_http *h)
{
    if (h->body.cap > KEEP_BODY)
        wb_buf_done(&h->body);
    wb_buf_clear(&h->body);
}

void sv_http_take(struct sv_http *h)
{
    h->taken += h->body.n;
    wb_buf_clear(&h->body);
}

void sv_http_reset(struct sv_http *h)
{
    sv_http_drop(h);
    wb_buf_clear(&h->head);
    h->headers.n = 0;
    h->open = (struct sv_header){0};
    h->method = 0;
    h->minor = 1;
    h->head_done = h->done = h->keep_alive = h->has_body = h->expects = false;
    h->n_target = h->counted = h->fed = h->fed_body = h->extension = h->taken = 0;
    h->blanks = 0;
    h->line_last = 0;
    h->max_body = SV_MAX_BODY;
    h->status = 0;
    h->why = NULL;
    h->path = h->query = h->host = (struct upp_str){NULL, 0};
    llhttp_init(&h->parser, HTTP_REQUEST, &settings); /* again for each message: nothing of the last one remains */
}

void sv_http_done(struct sv_http *h)
{
    wb_buf_done(&h->head);
    wb_buf_done(&h->body);
    wb_vec_done(&h->headers);
}

/* Limits on what is neither header nor body: blank lines before a request, chunk extensions, zeros before a size. */
static int check_noise(struct sv_http *h, size_t used, bool in_body)
{
    h->fed += used;
    if (!h->head_done)
        return h->fed > SV_MAX_URL + SV_MAX_HEAD + 4096 ? refuse(h, 431, "the head is longer than 40 KiB") : 0;
    if (in_body)
        h->fed_body += used;
    return h->fed_body > SV_MAX_NOISE + 8 * (h->taken + h->body.n)
               ? refuse(h, 400, "a chunked body that is mostly not body")
               : 0;
}

/* A request line has two spaces, one on each side of the target (RFC 9112 3). llhttp accepts any number. Checked on
 * the bytes that llhttp has read, before any error that it found after them: the result does not depend on how the
 * bytes were split. */
static int check_line(struct sv_http *h, struct upp_str bytes)
{
    for (size_t i = 0; i < bytes.n && h->line_last != '\n'; i++) {
        char c = bytes.p[i];
        if (!h->line_last && (c == '\r' || c == '\n')) /* an empty line before it is allowed */
            continue;
        if (c == ' ' && (h->line_last == ' ' || ++h->blanks > 2)) {
            h->status = 0;
            return refuse(h, 400, "a request line has two blanks, and not one after the other");
        }
        h->line_last = c ? c : '?';
    }
    return 0;
}

static enum sv_http_state feed(struct sv_http *h, struct upp_str bytes, size_t *used)
{
    bool in_body = h->head_done;
    llhttp_errno_t r = llhttp_execute(&h->parser, bytes.p, bytes.n);
    size_t read = r == HPE_OK ? bytes.n : (size_t)(llhttp_get_error_pos(&h->parser) - bytes.p);
    *used = bytes.n;
    if (check_line(h, wb_str_sub(bytes, 0, read)))
        return SV_HTTP_REFUSED;
    if (r == HPE_PAUSED && h->done) {
        *used = read;
        return check_noise(h, read, in_body) ? SV_HTTP_REFUSED : SV_HTTP_DONE;
    }
    if (r != HPE_OK) {
        const char *why = llhttp_get_error_reason(&h->parser);
        bool ours = h->parser.http_major == 1 && h->parser.http_minor <= 1; /* then what follows it is wrong */
        bool other = r == HPE_INVALID_VERSION && !ours;
        (void)refuse(h, other ? 505 : 400, why && *why ? why : "this is no HTTP request");
    } else if (check_noise(h, bytes.n, in_body) == 0)
        return SV_HTTP_MORE;
    return SV_HTTP_REFUSED;
}

/* In small pieces, so that limits do not depend on how the bytes were split. */
enum sv_http_state sv_http_feed(struct sv_http *h, struct upp_str bytes, size_t *used)
{
    enum sv_http_state state = h->status ? SV_HTTP_REFUSED : h->done ? SV_HTTP_DONE : SV_HTTP_MORE;
    size_t part;
    *used = 0;
    while (state == SV_HTTP_MORE && *used < bytes.n) {
        state = feed(h, wb_str_sub(bytes, *used, PIECE), &part);
        *used += part;
    }
    return state;
}
