/* stores/sqlite/promise.c — writes the record of the WAL, and compares it with the files when the store is opened. */
#include "stores/sqlite/promise.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/str.h"
#include "stores/sqlite/lock.h"

static const char magic[8] = "weftlog1";

enum { PATHS = 1100, ID_AT = 60 };

_Static_assert(sizeof(struct ws_record) <= 1024, "a slot has room for it");
_Static_assert(sizeof(struct ws_promise_page) <= WS_LOCK_PAGE_SIZE, "it fits");

/* ---- Records ------------------------------------------------------------------------------------------------- */

static uint64_t check_of(const struct ws_record *r)
{
    uint64_t h = 0xcbf29ce484222325u, x;
    for (size_t i = 0; i + 8 <= offsetof(struct ws_record, check); i += 8) {
        memcpy(&x, (const char *)r + i, 8);
        h = (h ^ x) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}
_Static_assert(offsetof(struct ws_record, check) % 8 == 0, "all of it is under the checksum");

static bool is_record(const struct ws_record *r)
{
    return memcmp(r->magic, magic, sizeof magic) == 0 && r->check == check_of(r) && r->n_proofs <= WS_PROOFS;
}

static uint32_t tag_of(uint64_t salt)
{
    return (uint32_t)salt ^ (uint32_t)(salt >> 32);
}

static void read_boot(char ret[40])
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64);
    memset(ret, 0, 40);
    if (wb_file_read("/proc/sys/kernel/random/boot_id", &b, NULL) < 0)
        return; /* unknown: treated like another boot */
    struct upp_str s = wb_str_trim(wb_buf_str(&b));
    if (s.n < 40)
        memcpy(ret, s.p, s.n);
}

/* ---- Checking ------------------------------------------------------------------------------------------------ */

/* The database without its WAL. */
struct file {
    bool there; /* exists and is not empty */
    uint64_t inode;
    uint32_t id;
    int fd;
    void *page; /* buffer for one */
};

static void file_done(struct file *f)
{
    wb_fd_close(&f->fd);
    wb_free(f->page);
}

static int file_open(const char *path, struct file *f, struct upp_err *err)
{
    unsigned char head[ID_AT + 4] = {0};
    struct stat st;
    int r = 0;
    f->page = wb_alloc(WS_WAL_PAGE);
    if (!f->page)
        return upp_fail(err, UPP_ENOMEM, "no memory for a page");
    f->fd = -EINTR;
    for (int i = 0; i < 100 && f->fd == -EINTR; i++)
        f->fd = WB_CALL(open)(path, O_RDONLY | O_CLOEXEC, 0);
    if (f->fd == -ENOENT || f->fd == -ENOTDIR) /* SQLite says so */
        return 0;
    if (f->fd < 0)
        r = f->fd;
    if (r >= 0 && fstat(f->fd, &st) != 0)
        r = -errno;
    int64_t n = r < 0 ? r : ws_pread(f->fd, head, sizeof head, 0);
    if (n < 0) {
        r = wb_fail_sys(err, (int)n, UPP_ESTORE, "cannot read the database");
        wb_err_where(err, wb_cstr(path));
        return r;
    }
    f->there = st.st_size > 0;
    f->inode = (uint64_t)st.st_ino;
    for (int i = 0; i < 4; i++)
        f->id = f->id << 8 | head[ID_AT + i];
    return 0;
}

static bool has(const struct file *f, const struct ws_proof *p, bool big)
{
    struct ws_frame frame = {.page = p->page, .size = p->size};
    if (!p->page || ws_pread(f->fd, f->page, WS_WAL_PAGE, (int64_t)(p->page - 1) * WS_WAL_PAGE) != WS_WAL_PAGE)
        return false;
    return ws_sum_is(ws_frame_sum(p->before, &frame, f->page, big), p->sum);
}

/* Does the database hold the last transaction without the WAL? It does after a checkpoint of all of it. If another
 * program may have made that one, all known pages of the transaction must match: a single one may be as it was long
 * before (an index that has entries only while a run is live). During a checkpoint, page by page, the highest page must
 * match too. Pages that we checkpoint do not match if they have bytes of moved rows in the WAL (gap.h). */
static bool proven(const struct file *f, const struct ws_promise_look *x)
{
    const struct ws_record *r = &x->record;
    bool big = x->wal.head.big;
    if (x->checkpointed >= r->frames && !x->checkpointing)
        return true;
    for (uint32_t i = 0; i < r->n_proofs; i++)
        if (!has(f, &r->proofs[i], big))
            return false;
    return r->n_proofs && (!x->checkpointing || has(f, &r->top, big));
}

/* Reads both slots, the newer first. */
static int read_records(int lock, struct ws_promise_look *x, struct ws_record *before, struct upp_err *err)
{
    struct ws_promise_page page = {0};
    int64_t n = lock < 0 ? 0 : ws_pread(lock, &page, sizeof page, WS_LOCK_PAGE);
    if (n < 0)
        return wb_fail_sys(err, (int)n, UPP_ESTORE, "cannot read the lock of the database");
    const struct ws_record *a = &page.slots[0].r, *b = &page.slots[1].r;
    bool is_a = is_record(a), is_b = is_record(b);
    if (is_b && (!is_a || b->number > a->number)) {
        const struct ws_record *t = a;
        bool u = is_a;
        a = b, is_a = true;
        b = t, is_b = u;
    }
    x->known = is_a;
    if (is_a)
        x->record = *a;
    *before = is_a && is_b ? *b : (struct ws_record){0};
    uint64_t checkpointed = page.checkpointed;
    x->checkpointing = page.checkpointing || page.failed;
    x->checkpointed = is_a && (uint32_t)(checkpointed >> 32) == tag_of(a->salt) ? (uint32_t)checkpointed : 0;
    return 0;
}

UPP_PRINTF(2, 3) static void is_bad(struct ws_promise_look *x, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(x->why, sizeof x->why, fmt, args);
    va_end(args);
    x->bad = true;
}

/* Checks the WAL that the record describes. */
static void check_wal(struct ws_promise_look *x, const struct file *f)
{
    const struct ws_record *r = &x->record;
    const struct ws_wal_state *w = &x->wal;
    if (w->frames >= x->needed && (x->needed < r->frames || !r->frames || w->holds))
        return;
    bool all = x->same_boot && r->frames == x->needed && proven(f, x);
    x->aside = all || (x->checkpointed > w->frames && !x->checkpointing);
    if (all) {
        x->needed = 0;
        is_bad(x, "is damaged: the database has all that it held");
        return;
    }
    uint32_t less = r->transactions > w->transactions ? r->transactions - w->transactions : 0;
    is_bad(x, "is %s: %u of %u pages that it must hold are missing, at least %u transaction%s that %s acknowledged",
           !w->exists             ? "gone"
           : w->there < x->needed ? "cut short"
                                  : "damaged",
           x->needed > w->frames ? x->needed - w->frames : 1, x->needed, WB_MAX(less, 1u), less > 1 ? "s" : "",
           less > 1 ? "were" : "was");
}

/* Compares a record with the database it belongs to. */
static void compare(struct ws_promise_look *x, const struct file *f, const struct ws_record *before)
{
    const struct ws_record *r = &x->record;
    const struct ws_wal_state *w = &x->wal;
    if (w->head.whole && w->head.salt == r->salt) {
        x->needed = x->same_boot ? r->frames : r->synced;
        check_wal(x, f);
        return;
    }
    if (w->head.whole && w->head.salt == before->salt && before->frames) {
        if (x->same_boot && before->frames > w->frames) { /* the database has all of it, but SQLite would replay it */
            x->aside = true;
            is_bad(x, "is damaged: the database has all that it held");
        }
        return;
    }
    /* Another WAL, or none that can be read. Whoever restarted the WAL had checkpointed all of this one. */
    x->row = !x->same_boot ? r->synced_row : r->frames ? r->row : 0;
    if (!x->same_boot || !r->frames || proven(f, x))
        return;
    x->needed = r->frames;
    is_bad(x, "is %s: all %u pages that it must hold are missing, %u transaction%s that %s acknowledged",
           !w->exists      ? "gone"
           : w->head.whole ? "another one"
           : w->there == 0 ? "empty"
                           : "damaged at its beginning",
           r->frames, r->transactions, r->transactions == 1 ? "" : "s", r->transactions == 1 ? "was" : "were");
}

int ws_promise_look(const char *path, int lock, struct ws_promise_look *x, struct upp_err *err)
{
    WB_CLEANUP(file_done) struct file f = {.fd = -1};
    struct ws_record before = {0};
    struct stat st;
    char name[PATHS], boot[40];
    *x = (struct ws_promise_look){0};
    if ((size_t)snprintf(name, sizeof name, "%s-wal", path) >= sizeof name)
        return upp_fail(err, UPP_EINVALID, "the path is too long");
    int r = read_records(lock, x, &before, err);
    if (r >= 0)
        r = file_open(path, &f, err);
    if (r >= 0)
        r = ws_wal_scan(name, x->record.frames, x->record.sum, &x->wal, err);
    if (r < 0)
        return r;
    read_boot(boot);
    x->looked = true;
    x->same_boot = x->known && boot[0] && memcmp(boot, x->record.boot, sizeof boot) == 0;
    bool in_place = x->known && fstat(lock, &st) == 0 && (uint64_t)st.st_ino == x->record.lock_inode;
    bool used = x->known && x->record.inode && !x->record.clean;
    if (!f.there) {
        x->known = false;
        x->aside = x->database = (used && in_place) || x->wal.frames;
        if (x->database)
            is_bad(x, "is %s, and %s", f.fd < 0 ? "missing" : "empty",
                   x->wal.frames ? "its write-ahead log is there" : "was not closed when it was last in use");
        return 0;
    }
    /* A record that was copied together with its database can be matched only by the database's id. */
    bool other = x->known && ((f.id && x->record.id && f.id != x->record.id) ||
                              (in_place && x->record.inode && f.inode != x->record.inode));
    if (other) {
        bool theirs = x->wal.head.whole && (x->wal.head.salt == x->record.salt || x->wal.head.salt == before.salt);
        if (theirs && x->wal.frames) {
            x->aside = true;
            is_bad(x, "is not of this database, but of the one that was here before: it must not be replayed");
        } else if (used && in_place) {
            x->database = true;
            is_bad(x, "is another file than the one that was in use here, which was not closed");
        }
        x->known = false;
        return 0;
    }
    if (x->known)
        compare(x, &f, &before);
    return 0;
}

/* ---- Writing ------------------------------------------------------------------------------------------------- */

static void put(struct ws_promise *p)
{
    if (!p->map)
        return;
    p->now.number++;
    p->now.check = check_of(&p->now);
    memcpy(&p->map->slots[p->now.number & 1].r, &p->now, sizeof p->now);
    atomic_signal_fence(memory_order_seq_cst); /* a process dies between two instructions: only their order matters */
}

static int make_room(int fd)
{
    static const char zeros[WS_LOCK_PAGE_SIZE];
    struct stat st;
    if (fstat(fd, &st) != 0)
        return -errno;
    if (st.st_size >= WS_LOCK_PAGE + WS_LOCK_PAGE_SIZE)
        return 0;
    int r = WB_CALL(truncate)(fd, WS_LOCK_PAGE);
    if (r < 0)
        return r;
    int64_t n = WB_CALL(pwrite)(fd, zeros, sizeof zeros, WS_LOCK_PAGE);
    return n == sizeof zeros ? 0 : n < 0 ? (int)n : -ENOSPC;
}

void ws_promise_open(struct ws_promise *p, const char *path, int lock, const struct ws_promise_look *from)
{
    struct stat st;
    int r = make_room(lock);
    *p = (struct ws_promise){.fd = lock};
    if (r >= 0 && fstat(lock, &st) != 0)
        r = -errno;
    void *map =
        r < 0 ? MAP_FAILED : mmap(NULL, WS_LOCK_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, lock, WS_LOCK_PAGE);
    if (map == MAP_FAILED && r >= 0)
        r = -errno;
    if (r < 0) {
        wb_log(WB_WARN, "no room for a record of the log: whether it is whole cannot be told at the next start",
               WB_LZ("path", path), WB_LZ("why", strerror(-r)));
        return;
    }
    p->map = map;
    p->was_clean = from->record.clean;
    p->now = from->known ? from->record : (struct ws_record){0};
    if (!from->known || p->now.salt != from->wal.head.salt || p->now.frames != from->wal.frames) {
        p->now.n_proofs = 0;
        p->now.top = (struct ws_proof){0};
    }
    memcpy(p->now.magic, magic, sizeof magic);
    read_boot(p->now.boot);
    p->now.number = 0;
    for (int i = 0; i < 2; i++)
        if (is_record(&p->map->slots[i].r))
            p->now.number = WB_MAX(p->now.number, p->map->slots[i].r.number);
    p->now.clean = 0;
    p->now.lock_inode = (uint64_t)st.st_ino;
    p->now.salt = from->wal.head.whole ? from->wal.head.salt : 0;
    p->now.head = from->wal.head.sum;
    p->now.frames = from->wal.frames;
    p->now.synced = 0;
    p->now.transactions = from->wal.transactions;
    p->now.sum = from->wal.sum;
    if (from->bad) /* the loss was accepted */
        p->now.row = p->now.synced_row = 0;
    atomic_store(&p->tag, tag_of(p->now.salt));
    atomic_store(&p->map->failed, from->checkpointing); /* whoever was at it is gone */
    atomic_store(&p->map->checkpointing, 0);
    p->next = p->now;
    p->last = p->now.frames;
    p->last_sum = p->now.sum;
    put(p);
    put(p); /* both slots */
}

void ws_promise_is(struct ws_promise *p, uint64_t inode, uint32_t id)
{
    p->now.inode = p->next.inode = inode;
    p->now.id = p->next.id = id;
    put(p);
}

void ws_promise_close(struct ws_promise *p, bool clean)
{
    if (!p->map)
        return;
    p->now.clean = clean && !p->now.frames;
    put(p);
    if (p->now.clean) {
        atomic_store(&p->map->checkpointing, 0);
        atomic_store(&p->map->failed, 0);
    }
    (void)munmap(p->map, WS_LOCK_PAGE_SIZE);
    p->map = NULL;
}

/* A WAL without frames: nothing is required of it. */
static void begin(struct ws_promise *p, uint64_t salt, struct ws_sum head)
{
    p->now.salt = salt;
    p->now.head = head;
    p->now.frames = p->now.synced = p->now.transactions = 0;
    p->now.sum = head;
    p->now.n_proofs = 0;
    p->now.top = (struct ws_proof){0};
    atomic_store(&p->tag, tag_of(salt));
    p->next = p->now;
    p->last = 0;
    p->last_sum = head;
    put(p);
}

void ws_promise_none(struct ws_promise *p)
{
    if (p->map)
        begin(p, 0, (struct ws_sum){0});
}

/* If a page is written twice, the last version counts; of many pages, the last ones are kept. */
static void add_proof(struct ws_record *x, uint32_t number, const struct ws_proof *proof)
{
    uint32_t i = 0;
    while (i < x->n_proofs && x->proofs[i].page != proof->page)
        i++;
    if (i == WS_PROOFS)
        i = number % WS_PROOFS;
    x->n_proofs = WB_MAX(x->n_proofs, i + 1);
    x->proofs[i] = *proof;
}

static void note_frame(struct ws_promise *p, uint32_t number, const struct ws_frame *f)
{
    struct ws_record *x = &p->next;
    if (x->salt != f->salt) { /* another program has restarted the WAL */
        begin(p, f->salt, (struct ws_sum){0});
        p->last = UINT32_MAX;
    }
    bool first = number == p->now.frames + 1; /* of a transaction */
    bool known = first || (number > 1 && number == p->last + 1);
    struct ws_sum before = first ? p->now.sum : p->last_sum;
    if (first || !known)
        x->n_proofs = 0;
    if (first)
        x->top = p->now.top;
    struct ws_proof proof = {f->page, f->size, before, f->sum};
    if (known)
        add_proof(x, number, &proof);
    if (known && f->page >= x->top.page)
        x->top = proof;
    x->frames = number;
    x->sum = f->sum;
    p->last = number;
    p->last_sum = f->sum;
}

void ws_promise_write(struct ws_promise *p, const void *bytes, int n, int64_t at)
{
    uint32_t number = n == WS_FRAME_HEAD ? ws_frame_number(at) : 0;
    if (!p->map)
        return;
    if (n == WS_WAL_HEAD && at == 0) {
        struct ws_wal_head h = ws_wal_head(bytes);
        begin(p, h.salt, h.sum);
    } else if (number) {
        struct ws_frame f = ws_frame_head(bytes);
        note_frame(p, number, &f);
    }
}

void ws_promise_acknowledge(struct ws_promise *p, int64_t row, bool synced)
{
    if (!p->map)
        return;
    struct ws_record *x = &p->next;
    x->transactions = p->now.transactions + 1;
    x->row = WB_MAX(x->row, row);
    x->synced = synced ? x->frames : p->now.synced;
    x->synced_row = synced ? x->row : p->now.synced_row;
    x->number = p->now.number;
    p->now = *x;
    put(p);
}

void ws_promise_synced(struct ws_promise *p)
{
    p->now.synced = p->now.frames;
    p->now.synced_row = p->now.row;
    p->next = p->now;
    put(p);
}

uint32_t ws_promise_checkpoint_begin(struct ws_promise *p)
{
    if (p->map)
        (void)atomic_fetch_add(&p->map->checkpointing, 1);
    return atomic_load(&p->tag);
}

void ws_promise_checkpoint_end(struct ws_promise *p, uint32_t tag, int frames)
{
    if (!p->map)
        return;
    if (frames >= 0 && tag == atomic_load(&p->tag))
        atomic_store(&p->map->checkpointed, (uint64_t)tag << 32 | (uint32_t)frames);
    (void)atomic_fetch_sub(&p->map->checkpointing, 1);
}

void ws_promise_checkpoint_failed(struct ws_promise *p)
{
    if (!p->map)
        return;
    atomic_store(&p->map->failed, 1);
    (void)atomic_fetch_sub(&p->map->checkpointing, 1);
}

void ws_promise_checkpointed(struct ws_promise *p)
{
    if (p->map)
        atomic_store(&p->map->failed, 0);
}

void ws_promise_watch(struct ws_promise *p, int64_t now_ms)
{
    enum { ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, EVERY_MS = 1000 };
    struct stat st;
    if (!p->map || p->lost || (now_ms >= p->watched_ms && now_ms - p->watched_ms < EVERY_MS))
        return;
    p->watched_ms = now_ms;
    if (fstat(p->fd, &st) == 0 && st.st_size >= WS_LOCK_PAGE + WS_LOCK_PAGE_SIZE)
        return;
    wb_log(WB_WARN, "the lock of the database was cut: whether its log is whole cannot be told at the next start");
    p->lost = mmap(p->map, WS_LOCK_PAGE_SIZE, PROT_READ | PROT_WRITE, ANONYMOUS, -1, 0) != MAP_FAILED;
}
