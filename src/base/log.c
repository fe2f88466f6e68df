/* base/log.c — lines, their escaping, and where they go.
 *
 * Invariants
 *  1. A line is at most LINE bytes (below PIPE_BUF, so that lines of several threads do not mix in a pipe), holds no
 *     control character but the line feed at its end, and is valid UTF-8; in the JSON form it is one JSON object.
 *  2. What does not fit is cut between characters and marked: "..." at the end of the value, cut=true at the end
 *     of the line. The last RESERVE bytes of a line are kept for that.
 *  3. No value shows what is hidden (base/mask.h).
 *  4. Nothing that happens while a line is made or written can log: one flag a thread.
 */
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/iso8601.h"
#include "base/mask.h"
#include "base/utf8.h"

enum {
    LINE = 2048,  /* with its line feed; half of what a stack frame may hold */
    RESERVE = 32, /* of it: `..."`, `,"cut":true}`, the line feed */
    VALUE = 1024, /* what one value may take, so that it leaves something to the others */
    DEPTH = 16,   /* contexts on one line: the innermost ones */
};
_Static_assert(LINE + 1 <= PIPE_BUF, "one write is one line");

/* The program's log: a mutable global, like the hook table, because it belongs to the process. Off until it is set. */
atomic_int wb_log_max = WB_OFF;

static struct {
    atomic_int format; /* enum wb_log_format; it and fd change while others log */
    atomic_int fd;
    wb_log_sink *sink;
    void *arg;
    wb_log_queue *_Atomic queue;
    atomic_ullong lost;
    atomic_bool torn; /* a line was written in part: the next one begins with a line feed */
} out = {.fd = -1};

static _Thread_local struct wb_log_ctx *context;
static _Thread_local bool busy;

static const char *const level_names[] = {
    [WB_OFF] = "off",   [WB_ERROR] = "error", [WB_WARN] = "warn",
    [WB_INFO] = "info", [WB_DEBUG] = "debug", [WB_TRACE] = "trace",
};

void wb_log_setup(enum wb_log_level level, enum wb_log_format format, int fd)
{
    atomic_store_explicit(&out.format, (int)format, memory_order_relaxed);
    atomic_store_explicit(&out.fd, fd, memory_order_relaxed);
    atomic_store_explicit(&wb_log_max, (int)level, memory_order_relaxed);
}

void wb_log_to(wb_log_sink *sink, void *arg)
{
    out.sink = sink;
    out.arg = arg;
}

void wb_log_via(wb_log_queue *queue)
{
    atomic_store_explicit(&out.queue, queue, memory_order_release);
}

int wb_log_fd(void)
{
    int fd = atomic_load_explicit(&out.fd, memory_order_relaxed);
    return fd < 0 ? 2 : fd;
}

uint64_t wb_log_lost(void)
{
    return atomic_load_explicit(&out.lost, memory_order_relaxed);
}

struct wb_log_ctx *wb_log_ctx_swap(struct wb_log_ctx *top)
{
    struct wb_log_ctx *was = context;
    context = top;
    return was;
}

/* ---- Making a line --------------------------------------------------------------------------- */

struct line {
    bool json, cut, full;
    size_t n;
    char bytes[1 + LINE]; /* the first is a line feed, used after a torn line */
};

/* What is left before the reserve, which an ending may have begun. */
static size_t room(const struct line *l)
{
    const size_t limit = 1 + LINE - RESERVE;
    return l->full || l->n > limit ? 0 : limit - l->n;
}

/* All of it or nothing; once something did not fit the line takes no more. */
static bool put(struct line *l, struct upp_str s)
{
    if (s.n > room(l)) {
        l->full = l->cut = true;
        return false;
    }
    memcpy(l->bytes + l->n, s.p, s.n);
    l->n += s.n;
    return true;
}

/* From what was reserved. */
static void put_end(struct line *l, struct upp_str s)
{
    memcpy(l->bytes + l->n, s.p, s.n);
    l->n += s.n;
}

/* Characters that end a line, or turn the direction of text around, somewhere: nobody shall be fooled by the looks. */
static bool deceives(uint32_t c)
{
    return (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* One character as it stands between quotes. The two forms differ only in control characters. */
static struct upp_str escape(uint32_t c, bool json, char to[8])
{
    int n = 0;
    if (c == '"' || c == '\\')
        n = snprintf(to, 8, "\\%c", (char)c);
    else if (c == '\n' || c == '\r' || c == '\t')
        n = snprintf(to, 8, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else if ((c < 0x20 || c == 0x7f) && !json)
        n = snprintf(to, 8, "\\x%02x", (unsigned)c);
    else if (c < 0x20 || deceives(c))
        n = snprintf(to, 8, "\\u%04x", (unsigned)c);
    else
        n = (int)wb_utf8_encode(c, to);
    return wb_str(to, (size_t)n);
}

/* How many bytes at the front stand for themselves between quotes. */
static size_t clear_run(struct upp_str s)
{
    size_t n = 0;
    while (n < s.n && s.p[n] >= ' ' && s.p[n] < 0x7f && s.p[n] != '"' && s.p[n] != '\\')
        n++;
    return n;
}

/* Is it clear without quotes? */
static bool plain(struct upp_str s)
{
    if (s.n == 0 || s.n > VALUE)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f || s.p[i] == '"' || s.p[i] == '=' || s.p[i] == '\\')
            return false;
    return true;
}

static void put_quoted(struct line *l, struct upp_str s)
{
    if (!put(l, UPP_STR("\"")))
        return;
    size_t from = l->n;
    for (size_t at = 0; at < s.n;) {
        size_t left = WB_MIN(room(l), VALUE - (l->n - from));
        size_t run = clear_run(wb_str_sub(s, at, left));
        (void)put(l, wb_str_sub(s, at, run));
        at += run;
        if (at == s.n)
            break;
        char one[8];
        uint32_t c = WB_CHAR_REPLACEMENT;
        size_t n = wb_utf8_decode(s, at, &c);
        if (n == 0) { /* half a pair is one mistake, any other byte too */
            uint32_t half;
            n = wb_wtf8_decode(s, at, &half);
        }
        struct upp_str as = escape(c, l->json, one);
        if (l->n - from + as.n > VALUE || !put(l, as)) {
            l->cut = true;
            put_end(l, UPP_STR("..."));
            break;
        }
        at += n ? n : 1;
    }
    put_end(l, UPP_STR("\""));
}

static void put_str(struct line *l, struct upp_str s)
{
    char shown[VALUE + 16]; /* a little more than a value may take, so that it is seen to be cut */
    s = wb_mask(wb_str_sub(s, 0, sizeof shown), shown, sizeof shown);
    if (!s.p)
        (void)put(l, UPP_STR("null"));
    else if (!l->json && plain(s) && s.n <= room(l))
        (void)put(l, s);
    else
        put_quoted(l, s); /* as much as fits */
}

/* Some locales have another decimal point, of one byte or more: whatever belongs to no number is the point. */
static void put_double(struct line *l, double d)
{
    char text[48];
    if (!isfinite(d)) {
        (void)put(l, l->json ? UPP_STR("null") : isnan(d) ? UPP_STR("nan") : d < 0 ? UPP_STR("-inf") : UPP_STR("inf"));
        return;
    }
    size_t n = (size_t)snprintf(text, sizeof text, "%.15g", d), to = 0;
    for (size_t i = 0; i < n; i++) {
        bool digit = text[i] && strchr("0123456789+-e", text[i]);
        if (digit || to == 0 || text[to - 1] != '.')
            text[to++] = digit ? text[i] : '.';
    }
    (void)put(l, wb_str(text, to));
}

static void put_number(struct line *l, bool minus, uint64_t v)
{
    char text[24];
    size_t at = sizeof text;
    do
        text[--at] = (char)('0' + v % 10);
    while (v /= 10);
    if (minus)
        text[--at] = '-';
    (void)put(l, wb_str(text + at, sizeof text - at));
}

/* Many lines have a duration: without printf it costs a tenth. */
static void put_ms(struct line *l, uint64_t us)
{
    char rest[4] = {'.', (char)('0' + us / 100 % 10), (char)('0' + us / 10 % 10), (char)('0' + us % 10)};
    put_number(l, false, us / 1000);
    (void)put(l, wb_str(rest, sizeof rest));
}

static void put_field(struct line *l, const struct wb_log_field *f);

static void put_err(struct line *l, const struct upp_err *e)
{
    const struct wb_log_field all[] = {
        WB_LZ("err", e->msg[0] ? e->msg : upp_code_text(e->code)),
        WB_LZ("code", upp_code_name(e->code)),
        WB_LZ("where", e->where),
        WB_LZ("cause", e->cause),
        WB_LZ("provider", e->provider),
        WB_LI("http", e->http),
        WB_LU("retry_after_ms", e->retry_after_ms),
    };
    for (size_t i = 0; i < WB_LEN(all); i++) {
        bool set = all[i].kind == WB_LOG_STR ? all[i].as.str.n > 0 : all[i].as.u != 0;
        if (set)
            put_field(l, &all[i]);
    }
}

static void put_value(struct line *l, const struct wb_log_field *f)
{
    switch (f->kind) {
    case WB_LOG_STR:
        put_str(l, f->as.str);
        break;
    case WB_LOG_INT:
        put_number(l, f->as.i < 0, f->as.i < 0 ? 0 - (uint64_t)f->as.i : (uint64_t)f->as.i);
        break;
    case WB_LOG_UINT:
        put_number(l, false, f->as.u);
        break;
    case WB_LOG_DOUBLE:
        put_double(l, f->as.d);
        break;
    case WB_LOG_MS:
        put_ms(l, f->as.u);
        break;
    case WB_LOG_BOOL:
        (void)put(l, f->as.b ? UPP_STR("true") : UPP_STR("false"));
        break;
    case WB_LOG_SECRET: /* never looked into */
        (void)put(l, !f->as.secret ? UPP_STR("null") : l->json ? UPP_STR("\"***\"") : UPP_STR("***"));
        break;
    case WB_LOG_ERR:
    case WB_LOG_END:
        break;
    }
}

static void put_field(struct line *l, const struct wb_log_field *f)
{
    if (f->kind == WB_LOG_ERR) {
        if (f->as.err && f->as.err->code)
            put_err(l, f->as.err);
        return;
    }
    size_t from = l->n;
    (void)put(l, l->json ? UPP_STR(",\"") : UPP_STR(" "));
    (void)put(l, wb_cstr(f->key));
    (void)put(l, l->json ? UPP_STR("\":") : UPP_STR("="));
    size_t value = l->n;
    put_value(l, f);
    if (l->n == value) /* it did not fit, or its key did not */
        l->n = from;
}

static bool has_key(const struct wb_log_field *f, const char *key)
{
    while (f->kind != WB_LOG_END && strcmp(f->key, key) != 0)
        f++;
    return f->kind != WB_LOG_END;
}

/* own: fields that come later; what they say is not said here. NULL: none. */
static void put_fields(struct line *l, const struct wb_log_field *f, const struct wb_log_field *own)
{
    for (; f->kind != WB_LOG_END && !l->full; f++)
        if (!own || !has_key(own, f->key))
            put_field(l, f);
}

/* What the line itself says comes before its context. */
static void put_contexts(struct line *l, const struct wb_log_field *own)
{
    const struct wb_log_ctx *chain[DEPTH];
    size_t n = 0;
    const struct wb_log_ctx *c = context;
    for (; c && n < DEPTH; c = c->outer)
        chain[n++] = c;
    if (c)
        l->cut = true;
    while (n)
        put_fields(l, chain[--n]->fields, own);
}

static void make(struct line *l, enum wb_log_level level, const char *msg, const struct wb_log_field *fields)
{
    char stamp[WB_TIME_TEXT];
    struct wb_time now = wb_time_from_ms(wb_wall_ms());
    l->json = atomic_load_explicit(&out.format, memory_order_relaxed) == WB_LOG_JSON;
    l->bytes[l->n++] = '\n';
    (void)put(l, l->json ? UPP_STR("{\"time\":") : UPP_STR("time="));
    put_str(l, wb_time_upp(&now, stamp));
    put_field(l, &(struct wb_log_field)WB_LZ("level", level_names[level]));
    (void)put(l, l->json ? UPP_STR(",\"msg\":") : UPP_STR(" msg="));
    put_quoted(l, wb_cstr(msg));
    put_contexts(l, fields);
    put_fields(l, fields, NULL);
    if (l->cut)
        put_end(l, l->json ? UPP_STR(",\"cut\":true") : UPP_STR(" cut=true"));
    put_end(l, l->json ? UPP_STR("}\n") : UPP_STR("\n"));
}

/* ---- Writing it ------------------------------------------------------------------------------ */

static void lose(void)
{
    (void)atomic_fetch_add_explicit(&out.lost, 1, memory_order_relaxed);
}

/* Its first byte is a line feed. */
bool wb_log_write(struct upp_str line)
{
    bool torn = atomic_exchange_explicit(&out.torn, false, memory_order_relaxed);
    struct upp_str s = wb_str_sub(line, !torn, SIZE_MAX);
    size_t whole = s.n;
    while (s.n) {
        int64_t r = WB_CALL(write)(wb_log_fd(), s.p, s.n);
        if (r == -EINTR)
            continue;
        if (r <= 0 || (uint64_t)r > s.n) {
            if (torn || s.n < whole)
                atomic_store_explicit(&out.torn, true, memory_order_relaxed);
            lose();
            return false;
        }
        s = wb_str_sub(s, (size_t)r, s.n);
    }
    return true;
}

static void give(enum wb_log_level level, struct upp_str line)
{
    wb_log_queue *queue = atomic_load_explicit(&out.queue, memory_order_acquire);
    if (out.sink)
        out.sink(out.arg, level, wb_str_sub(line, 1, line.n - 2));
    else if (!queue)
        (void)wb_log_write(line); /* counted as lost */
    else if (!queue(line))
        lose();
}

void wb_log_put(enum wb_log_level level, struct upp_str line)
{
    if (busy) {
        lose();
        return;
    }
    busy = true;
    give(level, line);
    busy = false;
}

enum wb_log_format wb_log_format_of(void)
{
    return (enum wb_log_format)atomic_load_explicit(&out.format, memory_order_relaxed);
}

void wb_log_line(enum wb_log_level level, const char *msg, const struct wb_log_field *fields)
{
    if (busy) {
        lose();
        return;
    }
    busy = true;
    struct line l;
    l.cut = l.full = false;
    l.n = 0; /* the bytes are not cleared: they are written before they are read */
    make(&l, level, msg, fields);
    give(level, wb_str(l.bytes, l.n));
    busy = false;
}
