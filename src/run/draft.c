/* run/draft.c — commits what a run did as one row.
 *
 * The run's draft collects everything of a commit point, which is written as one row. The commit lock puts the commits
 * of a tree in order, and events are numbered in that order.
 */
#include "base/clock.h"
#include "base/crash.h"
#include "base/hooks.h"
#include "fiber/loop.h"
#include "run/engine_state.h"
#include "run/middleware.h"
#include "run/ask/open_message.h"
#include "run/run.h"

enum { MAX_RECORDS = 1024, MAX_ENTRIES = 256 };

int wr_draft_failed(const struct wr_run *run, struct upp_err *err)
{
    const struct wr_draft *d = &run->draft;
    if (d->records.n >= MAX_RECORDS)
        return upp_fail(err, UPP_ELIMIT, "more than %d events of a run before its next commit", MAX_RECORDS);
    if (d->entries.n >= MAX_ENTRIES)
        return upp_fail(err, UPP_ELIMIT, "more than %d entries of a run before its next commit", MAX_ENTRIES);
    return upp_fail(err, UPP_ENOMEM, "no memory for an entry of a run");
}

struct wm_event *wr_draft_record(struct wr_run *run, uint8_t kind, struct upp_err *err)
{
    struct wr_draft *d = &run->draft;
    if (!wb_vec_room(&d->records, MAX_RECORDS)) {
        (void)wr_draft_failed(run, err);
        return NULL;
    }
    struct wm_event *ev = &d->records.p[d->records.n++];
    *ev = (struct wm_event){.kind = kind, .step = run->pub.state.step + 1};
    ev->time_ms = run->time_ms ? run->time_ms : wr_now(run);
    return ev;
}

struct wm_entry *wr_draft_entry(struct wr_run *run, struct upp_err *err)
{
    struct wr_draft *d = &run->draft;
    if (!wb_vec_room(&d->entries, MAX_ENTRIES)) {
        (void)wr_draft_failed(run, err);
        return NULL;
    }
    struct wm_entry *e = &d->entries.p[d->entries.n++];
    *e = (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                           .origin = WM_ORIGIN_RUN,
                           .audience = WM_AUDIENCE_ALL,
                           .step = run->pub.state.step + 1};
    e->message.time_ms = run->time_ms ? run->time_ms : wr_now(run);
    return e;
}

bool wr_draft_empty(const struct wr_run *run)
{
    const struct wr_draft *d = &run->draft;
    return !d->entries.n && !d->records.n && !d->open && !d->state;
}

int64_t wr_now(struct wr_run *run)
{
    int64_t now = weft__loop_wall_ms(run->engine->loop);
    run->time_ms = WB_MAX(run->time_ms, now);
    return run->time_ms;
}

/* ---- Flushing -------------------------------------------------------------------------------------------- */

/* The data of one flush. */
struct flush {
    struct wr_run *run;
    struct wr_draft draft; /* taken from the run: what comes meanwhile goes into the next row */
    int64_t time_ms;
    struct wm_row row;
    struct wb_buf state, body;
};

static void take_draft(struct flush *f, struct wr_run *run)
{
    f->run = run;
    f->draft = run->draft;
    f->time_ms = run->time_ms;
    f->state = f->body = (struct wb_buf)WB_BUF(WR_RUN_MEMORY);
    run->draft = (struct wr_draft){.turn = f->draft.turn + 1};
}

static uint64_t events_of(const struct wr_draft *d)
{
    return d->records.n + (d->open && !d->lost ? d->open->tape.events : 0);
}

/* Nothing was written: puts the draft back, before what came since. False: no memory even for that. */
static bool put_back(struct flush *f)
{
    struct wr_draft *now = &f->run->draft;
    bool ok = true;
    for (size_t i = 0; i < now->entries.n; i++)
        ok &= wb_vec_push(&f->draft.entries, now->entries.p[i], 2 * MAX_ENTRIES);
    for (size_t i = 0; i < now->records.n; i++)
        ok &= wb_vec_push(&f->draft.records, now->records.p[i], 2 * MAX_RECORDS);
    wb_vec_done(&now->entries);
    wb_vec_done(&now->records);
    *now = f->draft;
    return ok;
}

/* Adds a void attempt to the row, if it is not too large and still has the number and index it was streamed with. */
static void add_void_attempt(struct flush *f)
{
    struct wr_open *o = f->draft.open;
    size_t text = o->tape.out.n;
    for (size_t i = 0; i < o->entry.message.n_parts; i++) {
        const struct upp_part *p = &o->entry.message.parts[i];
        text += p->text.n + p->metadata.n + (p->media ? p->media->data.n : 0);
    }
    if (text > WR_VOID_BYTES || f->row.event != o->number || f->row.records[0].kind != WM_VOID ||
        o->index != f->run->end.length + f->row.n_entries)
        return;
    f->row.lost = &o->entry;
    f->row.tape = wm_tape_end(&o->tape);
}

static int make_row(struct flush *f, struct upp_err *err)
{
    struct wr_run *run = f->run;
    struct wr_tree *t = run->tree;
    f->row = (struct wm_row){.epoch = t->epoch + f->draft.voids,
                             .event = t->next,
                             .step = run->pub.state.step,
                             .time_ms = f->time_ms,
                             .entries = f->draft.entries.p,
                             .n_entries = f->draft.entries.n,
                             .records = f->draft.records.p,
                             .n_records = f->draft.records.n,
                             .agent = wr_agent_now(run)};
    for (size_t i = 0; i < f->row.n_records; i++) /* the entries do not move any more */
        if (wm_has_entry(f->row.records[i].kind))
            f->row.records[i].message.entry = &f->row.entries[f->row.records[i].message.index];
    if (f->draft.lost)
        add_void_attempt(f);
    else if (f->draft.open)
        f->row.tape = wm_tape_end(&f->draft.open->tape);
    if (!events_of(&f->draft))
        f->row.event = 0;
    if (!f->draft.state)
        return 0;
    int r = wr_state_write(run, &f->state, err);
    f->row.state = wb_buf_str(&f->state);
    return r;
}

static int cache_row(struct flush *f, struct upp_err *err)
{
    struct wr_tree *t = f->run->tree;
    struct wr_cached_row *k = wb_alloc(sizeof *k + f->body.n + f->row.tape.n);
    if (!k)
        return upp_fail(err, UPP_ENOMEM, "no memory to keep a row");
    char *bytes = (char *)(k + 1);
    *k = (struct wr_cached_row){.body = wb_str(bytes, f->body.n),
                                .tape = wb_str(bytes + f->body.n, f->row.tape.n),
                                .at = {.epoch = f->row.epoch, .number = f->row.event},
                                .events = events_of(&f->draft),
                                .index = f->run->end.length,
                                .source = f->run->source};
    memcpy(bytes, f->body.p, f->body.n);
    if (f->row.tape.n)
        memcpy(bytes + f->body.n, f->row.tape.p, f->row.tape.n);
    wb_list_push(&t->cached, &k->link);
    t->n_cached++;
    t->cached_bytes += k->body.n + k->tape.n;
    return 0;
}

static unsigned sync_flag(const struct wr_run *run, const struct wr_draft *d, bool ends)
{
    switch (run->row.durability) {
    case WM_ASYNC:
        return d->must_sync ? WL_SYNCED : 0;
    case WM_EXIT:
        return d->must_sync || ends ? WL_SYNCED : 0;
    default:
        return WL_SYNCED;
    }
}

static WEFT_SUSPENDS int commit(struct flush *f, const struct wr_more *more, struct upp_err *err)
{
    struct wr_run *run = f->run;
    struct wl_row row = {.node = run->row.node,
                         .pos = run->end.pos,
                         .n_entries = (uint32_t)f->row.n_entries,
                         .format = WM_FORMAT,
                         .run = run->row.id,
                         .body = wb_buf_str(&f->body),
                         .tape = f->row.tape};
    struct wl_change changes[WR_MORE + 1];
    size_t n = 0;
    bool ends = false;
    for (size_t i = 0; more && i < more->n; i++) { /* the node comes before its rows */
        changes[n++] = more->changes[i];
        ends |= more->changes[i].kind == WL_SET_RUN;
    }
    changes[n++] = (struct wl_change){.kind = WL_ADD_ROW, .row = &row};
    struct wl_commit c = {
        .owner = run->tree->owner, .changes = changes, .n = n, .flags = sync_flag(run, &f->draft, ends)};
    struct wl_store *s = run->engine->store;
    wb_crashpoint("commit.before");
    const struct wr_monitor *m = run->engine->monitor;
    uint64_t from = m ? wb_mono_ns() : 0;
    int r = wl_store_commit(s, &c, err);
    if (m)
        m->commit(m->arg, wb_mono_ns() - from);
    wb_crashpoint("commit.after");
    return r;
}

/* Updates run and tree in memory after the commit of a row. */
static void after_commit(struct wr_run *run, const struct wr_draft *d, int64_t time_ms)
{
    struct wr_tree *t = run->tree;
    uint32_t n = (uint32_t)d->entries.n;
    run->end.pos = wl_pos_next(run->end.pos, n);
    run->end.length += n;
    run->end.time_ms = time_ms;
    if (n)
        run->attempt = 0;
    t->next += events_of(d);
    if (d->voids)
        t->epoch++;
    if (d->open) {
        wr_readers_leave(t, d->open, d->lost);
        if (t->open == d->open)
            t->open = NULL;
        wr_open_free(run->engine, d->open);
    }
    for (size_t i = 0; i < d->records.n && run->row.depth == 0; i++)
        if (d->records.p[i].kind == WM_RUN)
            t->status = d->records.p[i].run.status;
}

static WEFT_SUSPENDS int write_row(struct flush *f, const struct wr_more *more, bool watched, struct upp_err *err)
{
    struct wr_tree *t = f->run->tree;
    int r = make_row(f, err);
    if (r >= 0)
        r = wm_row_write(&f->row, &f->body, err);
    if (r >= 0 && watched)
        r = cache_row(f, err); /* before the commit: after it nothing may fail */
    if (r < 0)
        return r;
    if (f->run->engine->store)
        r = commit(f, more, err);
    if (r < 0 && watched) {
        struct wr_cached_row *k = wb_item(t->cached.prev, struct wr_cached_row, link);
        wb_unlink(&k->link);
        t->n_cached--;
        t->cached_bytes -= k->body.n + k->tape.n;
        wb_free(k);
    }
    return r;
}

/* Reuses the lists for the next row. */
static void reuse_lists(struct wr_run *run, struct wr_draft *old)
{
    struct wr_draft *now = &run->draft;
    if (!now->entries.cap) {
        now->entries.p = old->entries.p;
        now->entries.cap = old->entries.cap;
    } else
        wb_vec_done(&old->entries);
    if (!now->records.cap) {
        now->records.p = old->records.p;
        now->records.cap = old->records.cap;
    } else
        wb_vec_done(&old->records);
}

/* Writes the row for the store, for readers, or for both. */
static WEFT_SUSPENDS int flush(struct wr_run *run, const struct wr_more *more, bool watched, struct upp_err *err)
{
    struct flush f;
    take_draft(&f, run);
    int r = write_row(&f, more, watched, err);
    wb_buf_done(&f.state);
    wb_buf_done(&f.body);
    if (r >= 0) {
        after_commit(run, &f.draft, f.time_ms);
        reuse_lists(run, &f.draft);
    } else if (!put_back(&f) || r == -UPP_ESTORE)
        run->tree->refused = r; /* recovery continues from what the store has */
    return r;
}

/* Nobody needs the row: there is nothing to write, and nobody to wait for. */
static void skip_row(struct wr_run *run)
{
    struct wr_draft *d = &run->draft;
    after_commit(run, d, run->time_ms);
    d->entries.n = d->records.n = d->observed = 0;
    d->open = NULL;
    d->state = d->must_sync = d->lost = d->voids = false;
    d->turn++;
}

int wr_flush(struct wr_run *run, const struct wr_more *more, struct upp_err *err)
{
    struct wr_tree *t = run->tree;
    uint64_t turn = run->draft.turn;
    int r = 0;
    wr_commit_lock_take(t);
    if (turn != run->draft.turn && !more && wr_draft_empty(run)) { /* another flush committed it */
        wr_commit_lock_leave(t);
        return 0;
    }
    wr_observe(run);
    bool watched = !wb_list_empty(&t->readers);
    if (t->refused)
        r = upp_fail(err, (enum upp_code) - t->refused, "the store failed this run before");
    else if (run->engine->store || watched)
        r = flush(run, more, watched, err);
    else
        skip_row(run);
    if (r >= 0) {
        wr_cache_trim(t);
        wr_tree_wake(t);
    }
    wr_commit_lock_leave(t);
    return r;
}
