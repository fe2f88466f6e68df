/* stores/sqlite/wal.c — scans a WAL to its last valid transaction, and applies its frames to a database. */
#include "stores/sqlite/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/str.h"

/* ---- Bytes --------------------------------------------------------------------------------------------------- */

static uint32_t get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static struct ws_sum get_sum(const unsigned char *p)
{
    return (struct ws_sum){get_u32(p), get_u32(p + 4)};
}

static bool native_big(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

/* n: a multiple of 8. */
static struct ws_sum add_sum(struct ws_sum s, const unsigned char *p, size_t n, bool big)
{
    for (size_t i = 0; i < n; i += 8) {
        uint32_t x[2];
        memcpy(x, p + i, sizeof x);
        if (big != native_big()) {
            x[0] = __builtin_bswap32(x[0]);
            x[1] = __builtin_bswap32(x[1]);
        }
        s.a += x[0] + s.b;
        s.b += x[1] + s.a;
    }
    return s;
}

struct ws_wal_head ws_wal_head(const unsigned char p[WS_WAL_HEAD])
{
    enum { MAGIC = 0x377f0682, VERSION = 3007000 }; /* last bit of the magic: byte order of checksums */
    struct ws_wal_head h = {
        .big = get_u32(p) & 1, .salt = (uint64_t)get_u32(p + 16) << 32 | get_u32(p + 20), .sum = get_sum(p + 24)};
    bool is = (get_u32(p) & ~1u) == MAGIC && get_u32(p + 4) == VERSION && get_u32(p + 8) == WS_WAL_PAGE;
    h.whole = is && ws_sum_is(add_sum((struct ws_sum){0}, p, 24, h.big), h.sum);
    if (!h.whole)
        h.big = native_big();
    return h;
}

struct ws_frame ws_frame_head(const unsigned char p[WS_FRAME_HEAD])
{
    return (struct ws_frame){.page = get_u32(p),
                             .size = get_u32(p + 4),
                             .salt = (uint64_t)get_u32(p + 8) << 32 | get_u32(p + 12),
                             .sum = get_sum(p + 16)};
}

struct ws_sum ws_frame_sum(struct ws_sum before, const struct ws_frame *f, const unsigned char page[WS_WAL_PAGE],
                           bool big)
{
    unsigned char head[8];
    for (int i = 0; i < 4; i++) {
        head[i] = (unsigned char)(f->page >> (24 - 8 * i));
        head[4 + i] = (unsigned char)(f->size >> (24 - 8 * i));
    }
    return add_sum(add_sum(before, head, sizeof head, big), page, WS_WAL_PAGE, big);
}

uint32_t ws_frame_number(int64_t at)
{
    int64_t n = (at - WS_WAL_HEAD) / WS_FRAME;
    return at < WS_WAL_HEAD || (at - WS_WAL_HEAD) % WS_FRAME || n >= UINT32_MAX ? 0 : (uint32_t)n + 1;
}

static int64_t frame_at(uint32_t number)
{
    return WS_WAL_HEAD + (int64_t)(number - 1) * WS_FRAME;
}

int64_t ws_pread(int fd, void *p, size_t n, int64_t at)
{
    size_t got = 0;
    for (int tries = 0; got < n && tries < 1000; tries++) {
        int64_t r = WB_CALL(pread)(fd, (char *)p + got, n - got, at + (int64_t)got);
        if (r == -EINTR)
            continue;
        if (r < 0)
            return r;
        if (r == 0)
            break;
        got += (size_t)r;
    }
    return (int64_t)got;
}

/* ---- Reading ------------------------------------------------------------------------------------------------- */

struct reader {
    const char *path;
    int fd;
    uint64_t there;
    struct ws_wal_head head;
    unsigned char *bytes; /* one frame */
};

static void reader_done(struct reader *r)
{
    wb_fd_close(&r->fd);
    wb_free(r->bytes);
}

static int failed(const struct reader *x, int r, struct upp_err *err)
{
    r = wb_fail_sys(err, r, UPP_ESTORE, "cannot read the write-ahead log");
    wb_err_where(err, wb_cstr(x->path));
    return r;
}

/* 1; 0: there is no such file. */
static int reader_open(struct reader *x, const char *path, struct upp_err *err)
{
    struct stat st;
    x->path = path;
    x->bytes = wb_alloc(WS_FRAME);
    if (!x->bytes)
        return upp_fail(err, UPP_ENOMEM, "no memory for the write-ahead log");
    x->fd = -EINTR;
    for (int i = 0; i < 100 && x->fd == -EINTR; i++)
        x->fd = WB_CALL(open)(path, O_RDONLY | O_CLOEXEC, 0);
    if (x->fd == -ENOENT || x->fd == -ENOTDIR)
        return 0;
    if (x->fd < 0)
        return failed(x, x->fd, err);
    if (fstat(x->fd, &st) != 0)
        return failed(x, -errno, err);
    int64_t n = ws_pread(x->fd, x->bytes, WS_WAL_HEAD, 0);
    if (n < 0)
        return failed(x, (int)n, err);
    if (n < WS_WAL_HEAD)
        memset(x->bytes + n, 0, (size_t)(WS_WAL_HEAD - n));
    x->head = ws_wal_head(x->bytes);
    x->there = st.st_size <= WS_WAL_HEAD ? 0 : (uint64_t)(st.st_size - WS_WAL_HEAD) / WS_FRAME;
    x->there = WB_MIN(x->there, (uint64_t)UINT32_MAX - 1);
    return 1;
}

/* 1; 0: the file ends before it. */
static int read_frame(struct reader *x, uint32_t number, struct ws_frame *f, struct upp_err *err)
{
    int64_t n = ws_pread(x->fd, x->bytes, WS_FRAME, frame_at(number));
    if (n < 0)
        return failed(x, (int)n, err);
    *f = ws_frame_head(x->bytes);
    return n == WS_FRAME;
}

static struct ws_sum sum_of(const struct reader *x, struct ws_sum before, const struct ws_frame *f)
{
    return ws_frame_sum(before, f, x->bytes + WS_FRAME_HEAD, x->head.big);
}

int ws_wal_scan(const char *path, uint32_t frame, struct ws_sum sum, struct ws_wal_state *ret, struct upp_err *err)
{
    WB_CLEANUP(reader_done) struct reader x = {.fd = -1};
    struct ws_frame f;
    bool met = false;
    *ret = (struct ws_wal_state){0};
    int r = reader_open(&x, path, err);
    if (r <= 0)
        return r;
    ret->exists = true;
    ret->there = x.there;
    ret->head = x.head;
    ret->sum = x.head.sum;
    struct ws_sum at = x.head.sum;
    const uint32_t last = x.head.whole ? (uint32_t)x.there : 0;
    for (uint32_t i = 1; i <= last; i++) {
        r = read_frame(&x, i, &f, err);
        if (r < 0)
            return r;
        if (r == 0 || f.salt != x.head.salt || !f.page)
            break;
        at = sum_of(&x, at, &f);
        if (!ws_sum_is(at, f.sum))
            break;
        met = met || (i == frame && ws_sum_is(at, sum));
        if (!f.size)
            continue;
        ret->frames = i;
        ret->pages = f.size;
        ret->transactions++;
        ret->sum = at;
        ret->holds = met;
    }
    return 0;
}

int ws_wal_each(const char *path, const struct ws_wal_state *found, ws_wal_page_fn *fn, void *arg, struct upp_err *err)
{
    WB_CLEANUP(reader_done) struct reader x = {.fd = -1};
    struct ws_sum at = found->head.sum;
    int r = reader_open(&x, path, err);
    if (r <= 0)
        return r;
    for (uint32_t i = 1; i <= found->frames; i++) {
        struct ws_frame f;
        r = read_frame(&x, i, &f, err);
        if (r < 0)
            return r;
        if (r == 0 || f.salt != found->head.salt)
            return 0;
        at = sum_of(&x, at, &f);
        if (!ws_sum_is(at, f.sum))
            return 0;
        fn(arg, f.page, x.bytes + WS_FRAME_HEAD);
    }
    return 0;
}

/* ---- Applying ------------------------------------------------------------------------------------------------ */

enum {
    GOOD = 1, /* its checksum fits */
    OURS = 2, /* it has the WAL's salt */
    HELD = 4, /* it is bad, but the database has its page */
};

struct seen {
    uint32_t page, size;
    uint8_t is;
};

struct applying {
    struct reader from;
    int to;
    struct seen *frames; /* [number]; [0] is unused */
    uint32_t n;          /* frames in the file */
    uint32_t end;        /* the last one to apply */
    unsigned char *page; /* buffer for a page of the database */
};

static void applying_done(struct applying *x)
{
    reader_done(&x->from);
    wb_fd_close(&x->to);
    wb_free(x->frames);
    wb_free(x->page);
}

/* Is the page in the database what a bad frame should have held? */
static bool has_page(struct applying *x, struct ws_sum before, const struct ws_frame *f)
{
    if (!f->page || ws_pread(x->to, x->page, WS_WAL_PAGE, (int64_t)(f->page - 1) * WS_WAL_PAGE) != WS_WAL_PAGE)
        return 0;
    return ws_sum_is(ws_frame_sum(before, f, x->page, x->from.head.big), f->sum);
}

/* Finds the good frames. A frame's checksum continues from the checksum that the frame before it stores, or from the
 * one computed for it: in the latter case only the stored checksum was damaged. */
static int look_at_all(struct applying *x, uint64_t salt, struct ws_sum head, struct upp_err *err)
{
    struct ws_sum stored = head, is = head;
    for (uint32_t i = 1; i <= x->n; i++) {
        struct ws_frame f;
        int r = read_frame(&x->from, i, &f, err);
        if (r < 0)
            return r;
        struct ws_sum a = sum_of(&x->from, stored, &f), b = sum_of(&x->from, is, &f);
        bool good = f.page && (ws_sum_is(a, f.sum) || ws_sum_is(b, f.sum));
        if (good && !ws_sum_is(a, f.sum))
            x->frames[i - 1].is |= GOOD;
        uint8_t flags = good ? GOOD : has_page(x, stored, &f) ? HELD : 0;
        x->frames[i] = (struct seen){f.page, f.size, (uint8_t)(flags | (f.salt == salt ? OURS : 0))};
        stored = f.sum;
        is = good ? f.sum : a;
    }
    return 0;
}

/* As far as the record promises, and from there on as far as SQLite would replay. If the file ends before that, or
 * nothing is known: the last transaction whose end is there. */
static uint32_t find_end(const struct applying *x, uint32_t promised)
{
    uint32_t end = promised <= x->n ? promised : x->n;
    while (promised > x->n && end && !(x->frames[end].size && x->frames[end].is & GOOD))
        end--;
    for (uint32_t i = promised + 1; i <= x->n; i++) {
        bool good = (x->frames[i].is & (GOOD | OURS)) == (GOOD | OURS);
        if (good && x->frames[i].size)
            end = i;
        if (!good && promised)
            break;
    }
    return end;
}

static int write_page(struct applying *x, uint32_t frame, struct upp_err *err)
{
    struct ws_frame f;
    int r = read_frame(&x->from, frame, &f, err);
    if (r < 0)
        return r;
    int64_t n = WB_CALL(pwrite)(x->to, x->from.bytes + WS_FRAME_HEAD, WS_WAL_PAGE, (int64_t)(f.page - 1) * WS_WAL_PAGE);
    return n == WS_WAL_PAGE ? 0 : wb_fail_sys(err, n < 0 ? (int)n : -EIO, UPP_ESTORE, "cannot write the copy");
}

/* Writes the last good frame of each page, from the last frame to the first, with a bit for each page already seen. A
 * bad frame is lost unless its page was seen. */
static int write_pages(struct applying *x, const struct ws_wal_hint *hint, uint32_t top, struct ws_wal_applied *ret,
                       struct upp_err *err)
{
    unsigned char *met = wb_calloc(top / 8 + 1, 1);
    int r = met ? 0 : upp_fail(err, UPP_ENOMEM, "no memory for the write-ahead log");
    for (uint32_t i = x->end; r >= 0 && i > hint->checkpointed; i--) {
        const struct seen *s = &x->frames[i];
        bool good = s->is & GOOD, later = s->page <= top && met[s->page / 8] & 1 << s->page % 8;
        ret->bad += !good;
        ret->lost += !(s->is & (GOOD | HELD)) && !later;
        if (!(s->is & (GOOD | HELD)) || later)
            continue;
        met[s->page / 8] |= (unsigned char)(1 << s->page % 8);
        r = good ? write_page(x, i, err) : 0;
    }
    wb_free(met);
    return r;
}

/* Writes all good pages up to the end, and sets the size of the database. */
static int write_all(struct applying *x, const struct ws_wal_hint *hint, struct ws_wal_applied *ret,
                     struct upp_err *err)
{
    uint32_t top = 0, size = 0;
    for (uint32_t i = 1; i <= x->end; i++)
        if (x->frames[i].is & (GOOD | HELD)) {
            top = WB_MAX(top, x->frames[i].page);
            size = x->frames[i].size ? x->frames[i].size : size;
        }
    int r = write_pages(x, hint, top, ret, err);
    if (r < 0 || x->end <= hint->checkpointed || !size)
        return r;
    r = WB_CALL(truncate)(x->to, (int64_t)size * WS_WAL_PAGE);
    return r < 0 ? wb_fail_sys(err, r, UPP_ESTORE, "cannot write the copy") : 0;
}

int ws_wal_apply(const char *path, const char *db, const struct ws_wal_hint *hint, struct ws_wal_applied *ret,
                 struct upp_err *err)
{
    WB_CLEANUP(applying_done) struct applying x = {.from.fd = -1, .to = -1};
    *ret = (struct ws_wal_applied){.frames = hint->frames};
    int r = reader_open(&x.from, path, err);
    if (r < 0)
        return r;
    if (r == 0)
        x.from.there = 0;
    x.n = (uint32_t)x.from.there;
    x.to = WB_CALL(open)(db, O_RDWR | O_CLOEXEC, 0);
    x.frames = wb_calloc((size_t)x.n + 1, sizeof *x.frames);
    x.page = wb_alloc(WS_WAL_PAGE);
    if (x.to < 0)
        return wb_fail_sys(err, x.to, UPP_ESTORE, "cannot open the copy");
    if (!x.frames || !x.page)
        return upp_fail(err, UPP_ENOMEM, "no memory for the write-ahead log");
    const struct ws_wal_head *h = &x.from.head;
    r = look_at_all(&x, hint->salt ? hint->salt : h->salt, hint->salt ? hint->head : h->sum, err);
    x.end = r < 0 ? 0 : find_end(&x, hint->frames);
    if (r >= 0)
        r = write_all(&x, hint, ret, err);
    uint32_t upto = WB_MAX(x.end, hint->checkpointed);
    if (hint->frames > upto) { /* the file ends before them */
        ret->bad += hint->frames - upto;
        ret->lost += hint->frames - upto;
    }
    ret->frames = WB_MAX(hint->frames, x.end);
    return r;
}
