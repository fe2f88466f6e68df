/* stores/sqlite/writer.c — group commit: one writes for all that wait.
 *
 * There is no writer thread. A committing fiber enters the queue; if nobody is writing it becomes the leader and starts
 * a job on a worker, which takes the whole queue, writes it as one transaction, syncs once, and wakes every waiter with
 * its own result. What arrives meanwhile is the next transaction of the same job; after some of these the job ends and
 * the first in the queue becomes the next leader. Waiters cannot be cancelled, so the job works on the callers' own
 * memory and needs none to wake them.
 *
 * A small commit that comes alone, and waits for no sync, is written by the loop itself.
 *
 * Another worker checkpoints the WAL while commits continue. What they append meanwhile would prevent the WAL from ever
 * restarting, so the writer checkpoints that rest itself, between two transactions: it is short.
 *
 * Invariants
 *  1. `writing` is set from the choice of a leader until the queue was seen empty.
 *  2. A waiter is woken once for each `owed` of its loop: to lead, or because it is done.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "fiber/worker.h"
#include "stores/sqlite/store.h"

#include <limits.h>
#include <string.h>
#include <sys/resource.h>

struct ws_waiter {
    struct ws_item item; /* in the queue, then in a batch */
    struct weft__msg msg;
    struct ws_sqlite *store;
    struct weft_fiber *fiber;
    struct weft_loop *loop;
    bool woken;      /* the message has arrived: read only by its own loop */
    bool done;       /* the message means done; otherwise: lead */
    bool checkpoint; /* the WAL has become long: request a checkpoint */
};

/* ---- Waiting and waking ---------------------------------------------------------------------------- */

static void take_wake(struct weft__msg *m)
{
    struct ws_waiter *w = WB_OUTER(m, struct ws_waiter, msg);
    w->loop->owed--;
    w->woken = true;
    weft__wake(w->fiber, 0);
}

static struct ws_waiter waiter(struct ws_sqlite *s, struct wl_commit *c)
{
    struct weft_fiber *f = weft__self("commit");
    return (struct ws_waiter){.msg.take = take_wake, .store = s, .fiber = f, .loop = f->loop, .item.c = c};
}

/* Waits until its message has arrived, not only until it was sent: the waiter is on this stack. */
WEFT_SUSPENDS static void wait_for(struct ws_waiter *w, const char *what)
{
    while (!w->woken)
        (void)weft__park(w->fiber, what, WEFT__NEVER, 0);
    w->woken = false;
}

/* From any thread; w is gone once its fiber runs. */
static void wake(struct ws_waiter *w)
{
    weft__loop_send(w->loop, &w->msg);
}

/* The database must have room for the pages of the WAL when they are moved there: where there is little room, that is
 * done earlier, so early that the reserve is enough in the end. The disk is asked once for so many pages. */
static int wal_limit(struct ws_sqlite *s)
{
    enum { MOST = 64 };
    int limit = s->opts.wal_pages && s->opts.wal_pages <= INT_MAX / 2 ? (int)s->opts.wal_pages : WS_WAL_PAGES;
    int reserve = (int)WB_MIN((s->opts.reserve_kib ? s->opts.reserve_kib : WS_RESERVE_KIB) / 4, (uint32_t)INT_MAX);
    int few = WB_MAX(WB_MIN(reserve / 4, MOST), 1);
    if (!s->room_pages || s->wal_pages < s->room_seen || s->wal_pages - s->room_seen >= few) {
        int64_t pages = INT_MAX, bytes;
        if (sqlite3_file_control(s->writer.db, "main", WS_VFS_ROOM, &bytes) == SQLITE_OK)
            pages = WB_MIN(bytes / WS_WAL_PAGE, (int64_t)INT_MAX);
        s->room_pages = WB_MAX((int)pages, 1);
        s->room_seen = s->wal_pages;
    }
    return WB_MIN(limit, WB_MAX(s->room_pages / 2, few));
}

/* Has the WAL grown by the limit since the last request of a checkpoint, or since its restart? */
static bool wal_is_long(struct ws_sqlite *s)
{
    if (s->wal_pages - s->wal_requested < wal_limit(s))
        return false;
    s->wal_requested = s->wal_pages;
    return true;
}

/* Wakes a whole batch. The waiters of one loop are woken together, so that their next commits can share a transaction
 * again. */
static void wake_all(struct ws_sqlite *s, struct wb_link *batch)
{
    bool checkpoint = wal_is_long(s);
    while (!wb_list_empty(batch)) {
        struct weft_loop *loop = wb_item(batch->next, struct ws_waiter, item.link)->loop;
        struct wb_link msgs;
        wb_list_init(&msgs);
        wb_list_each (l, batch) {
            struct ws_waiter *w = wb_item(l, struct ws_waiter, item.link);
            if (w->loop != loop)
                continue;
            wb_unlink(l);
            w->checkpoint = checkpoint;
            w->done = true;
            checkpoint = false; /* one is enough */
            wb_list_push(&msgs, &w->msg.link);
        }
        weft__loop_send_all(loop, &msgs);
    }
}

/* ---- The job --------------------------------------------------------------------------------------- */

/* Takes as much of the queue as fits one transaction; under the lock. What only changes the search index is never in a
 * transaction with other commits, so that a failure of it is not theirs. */
static void take_batch(struct ws_sqlite *s, struct wb_link *batch)
{
    size_t n = 0, bytes = 0;
    bool index = false;
    wb_list_init(batch);
    while (!wb_list_empty(&s->queue) && n < WS_BATCH_COMMITS && (!n || bytes < WS_BATCH_BYTES)) {
        struct ws_waiter *w = wb_item(s->queue.next, struct ws_waiter, item.link);
        if (n && ws_is_index_work(w->item.c) != index)
            break;
        index = ws_is_index_work(w->item.c);
        wb_unlink(&w->item.link);
        bytes += w->item.bytes;
        n++;
        s->queued--;
        wb_list_push(batch, &w->item.link);
    }
}

/* Wakes whoever waits to close if nothing is in progress any more; under the lock. */
static void signal_idle(struct ws_sqlite *s)
{
    (void)pthread_cond_broadcast(&s->idle);
    if (!s->closer || s->writing || s->checkpointing)
        return;
    struct ws_waiter *w = WB_TAKE(s->closer);
    wake(w);
}

static void pass_lead(struct ws_sqlite *s)
{
    if (wb_list_empty(&s->queue)) {
        s->writing = false;
        signal_idle(s);
        return;
    }
    struct ws_waiter *next = wb_item(s->queue.next, struct ws_waiter, item.link);
    wake(next); /* not done: it becomes the leader */
}

/* Checkpoints what was appended during a checkpoint. Nobody writes now, so the next transaction restarts the WAL,
 * unless a reader still uses it. A failure does no harm either; a failed sync is remembered. */
static void checkpoint_rest(struct ws_sqlite *s)
{
    ws_sqlite_lock(s);
    bool go = s->wal_rest;
    s->wal_rest = false;
    ws_sqlite_unlock(s);
    s->steady = !go && !s->emptied;
    s->emptied = false;
    if (go)
        (void)ws_checkpoint(s, &s->writer, SQLITE_CHECKPOINT_PASSIVE);
}

static int write_job(void *arg, struct upp_err *err)
{
    struct ws_sqlite *s = arg;
    for (int i = 0;; i++) {
        struct wb_link batch;
        ws_sqlite_lock(s);
        if (i == WS_BATCHES_A_JOB || wb_list_empty(&s->queue)) {
            pass_lead(s);
            ws_sqlite_unlock(s); /* from here on the store may be closed */
            return 0;
        }
        take_batch(s, &batch);
        ws_sqlite_unlock(s);
        struct upp_err e = {0};
        ws_batch_write(s, &batch, &e);
        wake_all(s, &batch);
        checkpoint_rest(s);
        (void)ws_poisoned(s, NULL);
    }
    (void)err;
}

static void drop_store(void *arg)
{
    ws_sqlite_unref(arg);
}

/* Starts a job that nobody waits for; it holds a reference to the store. */
static int start_job(struct ws_sqlite *s, struct weft_loop *l, weft_fn *fn, struct upp_err *err)
{
    (void)atomic_fetch_add(&s->refs, 1);
    int r = weft__work_alone(l, fn, s, drop_store, err);
    if (r < 0)
        ws_sqlite_unref(s);
    return r;
}

/* ---- A small commit, on the loop ------------------------------------------------------------------- */

enum {
    HERE_CHANGES = 8,
    HERE_BYTES = 16 << 10,
    SLOW_NS = 1000000, /* a write that slept and took longer has met a slow disk: */
    SLOW_SHARE = 100,  /* the loop spends at most 1/SLOW_SHARE of its time on such */
};

/* Each of these changes one or two rows found by key. */
static const bool light[] = {
    [WL_ADD_ROW] = true, [WL_ADD_NODE] = true, [WL_ADD_THREAD] = true, [WL_SET_THREAD] = true, [WL_HOLD_NODE] = true,
    [WL_ADD_RUN] = true, [WL_SET_RUN] = true,  [WL_ADD_ALIAS] = true,  [WL_ADD_KEY] = true,    [WL_TOUCH_THREAD] = true,
};

static bool is_light(const struct ws_item *x)
{
    const struct wl_commit *c = x->c;
    if (c->flags & WL_SYNCED || c->n == 0 || c->n > HERE_CHANGES || x->bytes > HERE_BYTES)
        return false;
    for (size_t i = 0; i < c->n; i++)
        if (c->changes[i].kind >= WB_LEN(light) || !light[c->changes[i].kind])
            return false;
    return true;
}

/* The way to a worker and back costs as much as a small transaction without a sync. A commit that comes alone, to a
 * loop that has nothing else to do, is written on the loop: unless it might restart the WAL, which syncs, or the disk
 * was slow recently. */
static bool may_write_here(const struct ws_sqlite *s, const struct ws_waiter *w)
{
    return is_light(&w->item) && wb_list_empty(&w->loop->ready) && s->steady && !s->disk_full &&
           !atomic_load(&s->no_room) && wb_mono_ns() >= s->here_again;
}

/* Takes the commit from the queue if it is the only one. */
static bool take_alone(struct ws_sqlite *s, struct wb_link *batch)
{
    ws_sqlite_lock(s);
    bool alone = s->queued == 1 && !s->checkpoint_asked && !s->wal_rest;
    if (alone)
        take_batch(s, batch);
    ws_sqlite_unlock(s);
    return alone;
}

static void requeue(struct ws_sqlite *s, struct ws_waiter *w)
{
    ws_sqlite_lock(s);
    wb_list_push(s->queue.next, &w->item.link); /* at the front */
    s->queued++;
    ws_sqlite_unlock(s);
}

static void is_done(struct ws_waiter *w)
{
    w->done = w->woken = true;
    weft__wake(w->fiber, 0);
}

/* How often this thread has slept: that is, waited for a disk, not for its processor. Cannot fail. */
static long sleeps(void)
{
    struct rusage u = {0};
    (void)getrusage(RUSAGE_THREAD, &u);
    return u.ru_nvcsw;
}

/* false: it is still in the queue, for a worker; the worker waits if another program has locked the file, and empties
 * the WAL if the disk is full. */
static bool write_here(struct ws_sqlite *s, struct ws_waiter *w)
{
    struct wb_link batch;
    struct upp_err err = {0};
    if (!take_alone(s, &batch))
        return false;
    long slept = sleeps();
    uint64_t from = wb_mono_ns();
    weft__loop_works_for(w->loop, w->fiber);
    (void)sqlite3_busy_timeout(s->writer.db, 0);
    s->on_loop = true;
    ws_batch_write(s, &batch, &err);
    s->on_loop = false;
    (void)sqlite3_busy_timeout(s->writer.db, WS_BUSY_MS);
    weft__loop_rests(w->loop);
    uint64_t took = wb_mono_ns() - from;
    bool slow = took > SLOW_NS && sleeps() != slept;
    s->here_again = slow ? from + took + took * SLOW_SHARE : 0;
    bool waits = w->item.result < 0 &&
                 (strcmp(w->item.err.cause, WL_LOCKED) == 0 || strcmp(w->item.err.cause, WL_DISK_FULL) == 0);
    wb_unlink(&w->item.link);
    if (waits) {
        requeue(s, w);
        return false;
    }
    w->checkpoint = wal_is_long(s);
    ws_sqlite_lock(s);
    pass_lead(s);
    ws_sqlite_unlock(s); /* from here on the store may be closed */
    is_done(w);
    return true;
}

/* ---- Checkpoints ----------------------------------------------------------------------------------- */

static int checkpoint_job(void *arg, struct upp_err *err)
{
    struct ws_sqlite *s = arg;
    int r = 0;
    ws_sqlite_lock(s);
    bool go = !s->closing;
    s->checkpointing = go;
    ws_sqlite_unlock(s);
    if (!go)
        return 0;
    if (!s->checkpointer.db)
        r = ws_conn_open(s, WS_CHECKPOINTER, &s->checkpointer, err);
    bool moved = r >= 0 && ws_checkpoint(s, &s->checkpointer, SQLITE_CHECKPOINT_PASSIVE) == SQLITE_OK;
    ws_sqlite_lock(s); /* a failed one is retried when the WAL is longer still; a failed sync is remembered */
    s->wal_rest = moved;
    s->checkpointing = s->checkpoint_asked = false;
    (void)ws_poisoned(s, NULL); /* so that the state shows it now */
    signal_idle(s);
    ws_sqlite_unlock(s);
    return r;
}

static void ask_checkpoint(struct ws_sqlite *s, struct weft_loop *l)
{
    ws_sqlite_lock(s);
    bool mine = !s->checkpoint_asked && !s->closing;
    if (mine)
        s->checkpoint_asked = true;
    ws_sqlite_unlock(s);
    if (!mine || start_job(s, l, checkpoint_job, NULL) >= 0)
        return;
    ws_sqlite_lock(s);
    s->checkpoint_asked = false; /* retried later */
    ws_sqlite_unlock(s);
}

/* ---- Commits that do not wait for a sync ----------------------------------------------------------- */

WEFT_SUSPENDS static int flush(struct ws_sqlite *s, struct upp_err *err)
{
    struct wl_commit c = {.owner.tenant = UPP_STR("-"), .flags = WL_SYNCED};
    return ws_writer_commit(&s->store, &c, err);
}

WEFT_SUSPENDS static int flusher(void *arg, struct upp_err *err)
{
    struct ws_sqlite *s = arg;
    int r = weft_sleep_ms(s->opts.flush_ms ? s->opts.flush_ms : WS_FLUSH_MS, err);
    (void)r; /* cancelled: flushes at once */
    ws_sqlite_lock(s);
    s->flush_asked = false;
    ws_sqlite_unlock(s);
    return flush(s, err); /* a store that is being closed refuses this, and flushes itself */
}

static void flusher_ended(struct weft_fiber *f)
{
    ws_sqlite_unref(f->arg);
}

/* Ensures that what was just written is on disk soon. If no fiber can be started, flushes at once. */
WEFT_SUSPENDS static int ask_flush(struct ws_sqlite *s, struct weft_loop *l, struct upp_err *err)
{
    struct weft_fiber *f;
    ws_sqlite_lock(s);
    bool mine = !s->flush_asked && !s->closing;
    if (mine)
        s->flush_asked = true;
    ws_sqlite_unlock(s);
    if (!mine)
        return 0;
    (void)atomic_fetch_add(&s->refs, 1);
    if (weft__loop_spawn(l, "store flush", flusher, s, &f, NULL) >= 0) {
        f->on_end = flusher_ended;
        return 0;
    }
    ws_sqlite_unref(s);
    ws_sqlite_lock(s);
    s->flush_asked = false;
    ws_sqlite_unlock(s);
    return flush(s, err);
}

/* ---- Committing ------------------------------------------------------------------------------------ */

/* Enters the queue; *lead: there was no leader. */
static int enter(struct ws_sqlite *s, struct ws_waiter *w, bool *lead, struct upp_err *err)
{
    int r = 0;
    ws_sqlite_lock(s);
    if (s->closing)
        r = upp_fail(err, UPP_EREFUSED, "the store is being closed");
    else if (s->queued >= WS_QUEUE_MAX)
        r = wb_fail_full(err, "%zu commits wait, the limit", s->queued);
    else {
        wb_list_push(&s->queue, &w->item.link);
        s->queued++;
        *lead = !s->writing;
        s->writing = true;
    }
    ws_sqlite_unlock(s);
    return r;
}

/* Runs on the leader's loop after all ready fibers have run: they may join its transaction. Fibers woken by one
 * transaction come back together; without this the first of them would go alone. */
static void take_lead(struct weft__msg *m)
{
    struct ws_waiter *w = WB_OUTER(m, struct ws_waiter, msg);
    struct ws_sqlite *s = w->store;
    m->take = take_wake;
    if (may_write_here(s, w) && write_here(s, w))
        return;
    struct upp_err err;
    w->loop->owed++;
    int r = start_job(s, w->loop, write_job, &err);
    if (r >= 0)
        return;      /* w belongs to the job now */
    w->loop->owed--; /* without a job the commit fails, and the next in the queue may try */
    w->item.result = r;
    w->item.err = err;
    ws_sqlite_lock(s);
    wb_unlink(&w->item.link);
    s->queued--;
    pass_lead(s);
    ws_sqlite_unlock(s);
    is_done(w);
}

WEFT_SUSPENDS static void lead(struct ws_sqlite *s, struct ws_waiter *w)
{
    int r = s->opts.group_ms ? weft_sleep_ms(s->opts.group_ms, NULL) : 0;
    (void)r; /* shielded: cannot be interrupted */
    w->msg.take = take_lead;
    weft__loop_send_later(w->loop, &w->msg);
}

WEFT_SUSPENDS int ws_writer_commit(struct wl_store *store, struct wl_commit *c, struct upp_err *err)
{
    struct ws_sqlite *s = ws_sqlite(store);
    int r = ws_check_commit(c, err);
    if (r >= 0 && s->opts.read_only)
        r = upp_fail(err, UPP_EREFUSED, "the store is open for reading only");
    if (r < 0)
        return r;
    WEFT__SHIELD_FOREVER;
    struct ws_waiter w = waiter(s, c);
    bool mine = false;
    w.item.bytes = ws_commit_bytes(c);
    (void)atomic_fetch_add(&s->refs, 1); /* until we return: a close may come between our wake and our return */
    r = enter(s, &w, &mine, err);
    if (r >= 0 && mine)
        lead(s, &w);
    else if (r >= 0)
        w.loop->owed++;
    for (bool over = false; r >= 0 && !over;) {
        wait_for(&w, "a commit"); /* wait first: the result is in w */
        over = w.done;
        if (!over)
            lead(s, &w);
    }
    if (r >= 0) {
        r = w.item.result;
        if (r < 0 && err)
            *err = w.item.err;
        if (w.checkpoint)
            ask_checkpoint(s, w.loop);
    }
    /* It is applied and in order. If no flush can be started, the next synced commit makes it durable too. */
    if (r >= 0 && !(c->flags & WL_SYNCED) && c->n && ask_flush(s, w.loop, NULL) < 0)
        wb_log(WB_WARN, "a flush of the store could not be started", WB_LZ("path", s->path));
    ws_sqlite_unref(s);
    return r;
}

/* ---- Stopping -------------------------------------------------------------------------------------- */

WEFT_SUSPENDS void ws_writer_stop(struct ws_sqlite *s)
{
    struct weft_fiber *f = weft_fiber_self();
    ws_sqlite_lock(s);
    s->closing = true;
    if (!f)
        while (s->writing || s->checkpointing)
            (void)pthread_cond_wait(&s->idle, &s->lock);
    bool wait = s->writing || s->checkpointing;
    if (!wait) {
        ws_sqlite_unlock(s);
        return;
    }
    struct ws_waiter w = waiter(s, NULL);
    w.loop->owed++;
    s->closer = &w;
    ws_sqlite_unlock(s);
    WEFT__SHIELD_FOREVER;
    wait_for(&w, "the store's writer");
}
