/* model/tape.c — stores how a message was streamed, in a few bytes per event. */
#include "model/tape.h"

#include "model/id.h"

enum { KIND_BITS = 3, VARINT_MAX = 10 };

static size_t varint(char *to, uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        to[n++] = (char)(v | 0x80);
    to[n++] = (char)v;
    return n;
}

/* Writes a whole mark or, if the buffer fails, nothing of it. */
__attribute__((noinline)) static void add_long(struct wm_tape *t, enum wm_mark mark, uint32_t part, uint64_t bytes,
                                               uint64_t times)
{
    char text[3 * VARINT_MAX];
    size_t n = varint(text, (uint64_t)part << KIND_BITS | mark);
    if (part >= WM_PARTS && !t->out.failed)
        t->out.failed = -UPP_ELIMIT;
    if (mark == WM_MARK_DELTA) {
        n += varint(text + n, bytes);
        n += varint(text + n, times - 1);
    }
    wb_buf_add(&t->out, wb_str(text, n));
}

static void close_run(struct wm_tape *t)
{
    if (t->times) {
        add_long(t, WM_MARK_DELTA, t->part, t->bytes, t->times);
        t->times = 0;
    }
}

void wm_tape_init(struct wm_tape *t, size_t max)
{
    *t = (struct wm_tape){.out = WB_BUF(max)};
}

void wm_tape_done(struct wm_tape *t)
{
    wb_buf_done(&t->out);
    wm_tape_init(t, t->out.max);
}

void wm_tape_mark(struct wm_tape *t, enum wm_mark mark, uint32_t part)
{
    close_run(t);
    if (mark == WM_MARK_STEP || mark == WM_MARK_OPEN)
        part = 0;
    if (part < 1 << (7 - KIND_BITS)) /* nearly all marks: one byte */
        wb_buf_addc(&t->out, (char)(part << KIND_BITS | mark));
    else
        add_long(t, mark, part, 0, 0);
    t->events++;
}

void wm_tape_new_run(struct wm_tape *t, uint32_t part, uint64_t bytes)
{
    close_run(t);
    t->part = part;
    t->bytes = bytes;
    t->times = 1;
    t->events++;
}

struct upp_str wm_tape_end(struct wm_tape *t)
{
    close_run(t);
    return wb_buf_str(&t->out);
}

/* Reads one number in its only valid spelling. False: truncated, too long, or too large. */
static bool take_varint(struct upp_str tape, size_t *at, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned shift = 0; *at < tape.n && shift < 64; shift += 7) {
        unsigned char c = (unsigned char)tape.p[(*at)++];
        if (shift == 63 && c > 1)
            return false;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            *ret = v;
            return c || !shift; /* a last byte of zero is redundant */
        }
    }
    return false;
}

static int no_tape(struct upp_err *err, size_t at, const char *why)
{
    return upp_fail(err, UPP_ESTORE, "the tape is broken at byte %zu: %s", at, why);
}

/* Reads the next mark at *at; a run of deltas is one mark. */
static int take_mark(struct upp_str tape, size_t *at, enum wm_mark *mark, uint32_t *part, uint64_t *bytes,
                     uint64_t *times, struct upp_err *err)
{
    size_t from = *at;
    uint64_t head;
    if (!take_varint(tape, at, &head))
        return no_tape(err, from, "expected a mark");
    unsigned kind = head & ((1u << KIND_BITS) - 1);
    head >>= KIND_BITS;
    if (kind > WM_MARK_CLOSE)
        return no_tape(err, from, "expected a mark of a known kind");
    if (head >= WM_PARTS || (head && kind < WM_MARK_PART))
        return no_tape(err, from, "expected a part that a message can have");
    *mark = (enum wm_mark)kind;
    *part = (uint32_t)head;
    *bytes = 0;
    *times = 1;
    if (kind != WM_MARK_DELTA)
        return 0;
    from = *at;
    if (!take_varint(tape, at, bytes) || !take_varint(tape, at, times))
        return no_tape(err, from, "expected the bytes of a delta and how often");
    if (*bytes == 0 || *times == UINT64_MAX || (uint64_t)(*times + 1) > (uint64_t)INT64_MAX / *bytes)
        return no_tape(err, from, "expected deltas that a text can have");
    ++*times;
    return 0;
}

/* Moves the cursor onto a run of deltas that was just read, minus those it delivered while the run was open. */
static void begin_run(struct wm_tape_at *at, uint32_t part, uint64_t bytes, uint64_t times)
{
    at->part = part;
    at->bytes = bytes;
    at->left = times - at->taken;
    at->taken = 0;
}

static int next(struct upp_str tape, struct wm_tape_at *at, enum wm_mark *mark, uint32_t *part, uint64_t *bytes,
                struct upp_err *err)
{
    while (!at->left) {
        uint64_t times = 0;
        size_t to = at->at;
        if (to >= tape.n)
            return 0;
        int r = take_mark(tape, &to, mark, part, bytes, &times, err);
        if (r < 0)
            return r;
        if (at->taken && (*mark != WM_MARK_DELTA || times < at->taken))
            return no_tape(err, at->at, "expected the deltas that were given out before");
        at->at = to;
        if (*mark != WM_MARK_DELTA)
            return 1;
        begin_run(at, *part, *bytes, times);
    }
    at->left--;
    *mark = WM_MARK_DELTA;
    *part = at->part;
    *bytes = at->bytes;
    return 1;
}

int wm_tape_next(struct upp_str tape, struct wm_tape_at *at, enum wm_mark *mark, uint32_t *part, uint64_t *bytes,
                 struct upp_err *err)
{
    return next(tape, at, mark, part, bytes, err);
}

int wm_tape_behind(const struct wm_tape *t, struct wm_tape_at *at, enum wm_mark *mark, uint32_t *part, uint64_t *bytes,
                   struct upp_err *err)
{
    int r = wb_buf_check(&t->out, err);
    return r < 0 ? r : next(wb_buf_str(&t->out), at, mark, part, bytes, err);
}

int wm_tape_count(struct upp_str tape, uint64_t *events, uint64_t *text, struct upp_err *err)
{
    uint64_t n = 0, sum = 0, bytes = 0, times = 0;
    for (size_t at = 0; at < tape.n;) {
        enum wm_mark mark;
        uint32_t part;
        size_t from = at;
        int r = take_mark(tape, &at, &mark, &part, &bytes, &times, err);
        if (r < 0)
            return r;
        if (__builtin_add_overflow(n, times, &n) || __builtin_add_overflow(sum, bytes * times, &sum))
            return no_tape(err, from, "expected fewer deltas");
    }
    *events = n;
    *text = sum;
    return 0;
}
