/* log/sweep.c — removes by retention: what deleted threads led to, the journals of old runs, unreferenced blobs.
 *
 * All state between two calls is in the store: the notes of deleted threads (log/delete.c), how far the journals are
 * swept, and which runs were deferred because they had not ended long enough ago. Each step is one commit that leaves a
 * store from which the next call can continue.
 */
#include <stdio.h>

#include "base/crash.h"
#include "base/log.h"
#include "json/read.h"
#include "json/value.h"
#include "log/lines.h"
#include "log/search.h"
#include "log/sweep.h"

enum {
    PAGE = 256,
    LOOSE_MS = 3600000,
    ERASED_MS = 5000,
    STRIDE = 4096 /* runs of others that a tenant passes without noting it */
};

static const struct upp_str JOURNALS = UPP_STR_INIT("journals"), AT = UPP_STR_INIT("at"), LATER = UPP_STR_INIT("later");

WEFT_SUSPENDS int wl__sweep_commit(struct wl__sweeping *x, const struct wl_change *list, size_t n)
{
    struct wl_commit c = {.owner = *x->o, .changes = list, .n = n, .flags = WL_SYNCED};
    int r = wl_store_commit(x->s, &c, x->err);
    return r == -UPP_EBUSY || r == -UPP_ENOTFOUND ? 1 : r;
}

/* Damage ends the sweep of what is damaged, and of nothing else. */
static bool is_damage(const struct wl__sweeping *x, int r, const struct upp_err *why)
{
    return r == -UPP_ESTORE && !wl_may_pass(why) && wl_store_state(x->s) == WL_WORKS;
}

/* The result of a part whose error is in `why`: 0 if it is damage, which is noted. */
static int pass_over(struct wl__sweeping *x, int r, const struct upp_err *why)
{
    if (!is_damage(x, r, why)) {
        if (r < 0 && x->err)
            *x->err = *why;
        return r;
    }
    if (!x->damage.code)
        x->damage = *why;
    x->damage.code = r;
    return 0;
}

/* ---- Deleted threads ------------------------------------------------------------------------------------------- */

/* Decodes the note of a deleted thread. False: not one of ours; it stays. */
static bool read_note(struct wb_arena *a, const struct wl_value *v, struct wl__gone *ret)
{
    yyjson_val *note, *tree, *head, *time;
    if (!wb_uuid_parse(v->name, &ret->thread) || wj_read(a, v->bytes, NULL, &note, NULL) < 0)
        return false;
    tree = yyjson_obj_get(note, "tree");
    head = yyjson_obj_get(note, "head");
    time = yyjson_obj_get(note, "time");
    return tree && yyjson_is_str(tree) && wb_uuid_parse(wj_text(tree), &ret->tree) && head && yyjson_is_raw(head) &&
           wb_str_u64(wj_text(head), &ret->head) && time && yyjson_is_raw(time) &&
           wb_str_i64(wj_text(time), &ret->time_ms);
}

WEFT_SUSPENDS int wl__gone_list(struct wl__sweeping *x, struct upp_str after, size_t max, struct wb_arena *a,
                                struct wl__gone **ret, size_t *n, struct upp_str *last)
{
    struct wl_value *list;
    size_t got, kept = 0;
    int r = wl_list_values(x->s, x->o, UPP_STR(WL_DELETED), after, max, a, &list, &got, x->err);
    if (r < 0)
        return r;
    struct wl__gone *gone = wb_new_n(a, struct wl__gone, got + 1);
    if (!gone)
        return wb_arena_check(a, x->err);
    for (size_t i = 0; i < got; i++)
        kept += read_note(a, &list[i], &gone[kept]);
    *ret = gone;
    *n = kept;
    *last = got ? list[got - 1].name : (struct upp_str){0};
    return got == max;
}

static WEFT_SUSPENDS int sweep_gone(struct wl__sweeping *x, const struct wl__gone *gone)
{
    struct upp_err why = {0}, *err = x->err;
    x->err = &why;
    int r = wl__sweep_thread(x, gone);
    x->err = err;
    return pass_over(x, r, &why);
}

static WEFT_SUSPENDS int sweep_deleted(struct wl__sweeping *x)
{
    struct upp_str after = {0};
    char name[WB_UUID_TEXT + 1];
    size_t done = 0;
    for (int more = 1; more > 0;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WL__SCRATCH);
        struct wl__gone *gone;
        struct upp_str last;
        size_t n;
        int r = more = wl__gone_list(x, after, PAGE, &a, &gone, &n, &last);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            if (gone[i].time_ms > x->now_ms - x->retention.deleted_ms)
                continue;
            if (done++ == WL_SWEEP_BATCH) {
                x->ret->more = true;
                return 0;
            }
            r = sweep_gone(x, &gone[i]);
        }
        if (r < 0)
            return r;
        if (last.n > WB_UUID_TEXT)
            return 0; /* our names come before it */
        if (last.n)
            memcpy(name, last.p, last.n);
        after = wb_str(name, last.n);
    }
    return 0;
}

/* ---- The audit of deleted threads ------------------------------------------------------------ */

static const struct upp_str AUDITED = UPP_STR_INIT("audited");

/* Where the last call ended, so that each reads a page of the notes, however many there are. */
static WEFT_SUSPENDS int move_audited(struct wl__sweeping *x, struct upp_str before, struct upp_str now)
{
    const struct wl_value at = {.space = AUDITED, .name = AT, .bytes = now};
    const struct wl_change change = {.kind = now.n ? WL_PUT_VALUE : WL_DROP_VALUE, .value = &at};
    return wb_str_eq(before, now) ? 0 : wl__sweep_commit(x, &change, 1);
}

static WEFT_SUSPENDS int sweep_audit(struct wl__sweeping *x)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WL__SCRATCH);
    struct upp_str after = {0};
    struct wl_value *list;
    struct wl_change *drops = wb_new_n(&a, struct wl_change, PAGE);
    size_t n = 0, n_drops = 0;
    if (x->retention.audit_ms < 0 || !drops)
        return drops ? 0 : wb_arena_check(&a, x->err);
    int r = wl_get_value(x->s, x->o, AUDITED, AT, &a, &after, x->err);
    if (r >= 0 || r == -UPP_ENOTFOUND)
        r = wl_list_values(x->s, x->o, UPP_STR(WL_AUDIT), after, PAGE, &a, &list, &n, x->err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        struct wl__gone gone;
        if (read_note(&a, &list[i], &gone) && gone.time_ms <= x->now_ms - x->retention.audit_ms)
            drops[n_drops++] = (struct wl_change){.kind = WL_DROP_VALUE, .value = &list[i]};
    }
    if (r >= 0 && n_drops)
        r = wl__sweep_commit(x, drops, n_drops);
    if (r < 0)
        return r;
    x->ret->more |= n == PAGE && n_drops;
    return move_audited(x, after, n == PAGE ? list[n - 1].name : (struct upp_str){0});
}

/* ---- Journals -------------------------------------------------------------------------------- */

static int sweep_row(struct wl__sweeping *x, struct wb_arena *a, struct wl_row *row)
{
    struct wm_row parsed;
    int r = wm_row_read(a, row->format, row->body, row->tape, &parsed, x->err);
    if (r < 0)
        return upp_wrap(x->err, r, "node %016llx", (unsigned long long)row->node);
    if (!wm_row_sweep(&parsed))
        return 0;
    parsed.tape = (struct upp_str){0};
    return wl__row_write(a, &parsed, row, x->err);
}

/* Reindexes the rows that were set, whose index was dropped: also if an earlier sweep died before it did this. */
static WEFT_SUSPENDS int learn_rows(struct wl__sweeping *x, const struct wl_rows *rows)
{
    uint32_t first = rows->n ? wl_pos_index(rows->p[0].pos) : 0, end = first;
    if (x->no_words)
        return 0;
    for (size_t i = 0; i < rows->n; i++)
        end = wl_pos_index(rows->p[i].pos) + rows->p[i].n_entries;
    int r = rows->n ? wl_reindex(x->s, x->o, rows->p[0].node, first, end, x->err) : 0;
    x->no_words = r == -UPP_EREFUSED;
    if (r == -UPP_ESTORE && strcmp(x->err->cause, WL_INDEX_IS_DAMAGED) == 0)
        return 0; /* it will be filled again from the whole log */
    return r == -UPP_EREFUSED || r == -UPP_EBUSY ? 0 : r;
}

/* A range of a run's rows. Each commit increments the run's version, which detects concurrent changes of these rows. 1:
 * there was one. */
static WEFT_SUSPENDS int sweep_some(struct wl__sweeping *x, struct wm_run *run, uint64_t *from, bool *more)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WL__LARGE);
    struct wl_range range = {.node = run->node, .from = *from, .to = UINT64_MAX >> 1, .max_rows = WL_SWEEP_BATCH};
    struct wl_change *list = wb_new_n(&a, struct wl_change, WL_SWEEP_BATCH + 1);
    struct wl_rows rows = {0};
    size_t n = 0, mine = 0;
    int r = list ? wl_store_rows(x->s, x->o, &range, &a, &rows, x->err) : wb_arena_check(&a, x->err);
    for (; r >= 0 && mine < rows.n && wb_uuid_eq(rows.p[mine].run, run->id); mine++) {
        r = sweep_row(x, &a, &rows.p[mine]);
        if (r > 0)
            list[n++] = (struct wl_change){.kind = WL_SET_ROW, .row = &rows.p[mine]};
        *from = rows.p[mine].pos + 1;
    }
    if (r < 0)
        return r;
    *more = rows.more && mine && mine == rows.n;
    rows.n = mine;
    if (n) {
        list[n++] = (struct wl_change){.kind = WL_SET_RUN, .run = run};
        r = wl__sweep_commit(x, list, n);
        if (r != 0)
            return r;
        x->ret->rows += n - 1;
        run->version++;
    }
    return learn_rows(x, &rows);
}

/* The run is marked as swept only when all of it was. */
static WEFT_SUSPENDS int sweep_rows(struct wl__sweeping *x, struct wm_run *run)
{
    uint64_t from = run->first;
    int r = 0;
    for (bool more = run->started_ms != 0; r == 0 && more;)
        r = sweep_some(x, run, &from, &more);
    if (r != 0)
        return r;
    run->swept = true;
    const struct wl_change set = {.kind = WL_SET_RUN, .run = run};
    r = wl__sweep_commit(x, &set, 1);
    run->swept = r == 0;
    return r;
}

/* One broken row must not prevent all others from being swept. */
static WEFT_SUSPENDS int sweep_run(struct wl__sweeping *x, struct wm_run *run)
{
    struct upp_err why = {0}, *err = x->err;
    x->err = &why;
    int r = sweep_rows(x, run);
    x->err = err;
    if (is_damage(x, r, &why)) {
        wb_log(WB_WARN, "a run was not swept", WB_LZ("why", why.msg));
        x->ret->damaged++;
        run->swept = true;
        return 0;
    }
    if (r < 0 && err)
        *err = why;
    return r;
}

static bool is_due(const struct wl__sweeping *x, const struct wm_run *run)
{
    return wm_status_ended(run->status) && run->ended_ms <= x->now_ms - x->retention.journal_ms;
}

/* The deferred runs. */
static WEFT_SUSPENDS int sweep_deferred(struct wl__sweeping *x, size_t *done)
{
    char name[WB_UUID_TEXT + 1];
    struct upp_str after = {0};
    for (size_t n = PAGE; n == PAGE && *done < WL_SWEEP_BATCH;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WL__SCRATCH);
        struct wl_value *list;
        int r = wl_list_values(x->s, x->o, LATER, after, PAGE, &a, &list, &n, x->err);
        for (size_t i = 0; r >= 0 && i < n && *done < WL_SWEEP_BATCH; i++) {
            struct wm_run run = {0};
            struct wb_uuid id;
            if (list[i].name.n > WB_UUID_TEXT)
                return 0; /* not a name of ours, nor are those after it */
            after = wb_str(memcpy(name, list[i].name.p, list[i].name.n), list[i].name.n);
            r = wb_uuid_parse(after, &id) ? wl_get_run(x->s, x->o, id, &a, &run, x->err) : -UPP_ENOTFOUND;
            bool gone = r == -UPP_ENOTFOUND;
            if (r < 0 && !gone)
                return r;
            if (!gone && !run.swept && !is_due(x, &run)) {
                r = 0;
                continue;
            }
            ++*done;
            r = gone || run.swept ? 0 : sweep_run(x, &run);
            const struct wl_change drop = {.kind = WL_DROP_VALUE, .value = &list[i]};
            if (r == 0)
                r = wl__sweep_commit(x, &drop, 1);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static WEFT_SUSPENDS int read_position(struct wl__sweeping *x, struct wb_arena *a, uint64_t *ret)
{
    struct upp_str text;
    *ret = 0;
    int r = wl_get_value(x->s, x->o, JOURNALS, AT, a, &text, x->err);
    if (r >= 0 && !wb_str_u64(text, ret))
        *ret = 0; /* starts over; swept runs are skipped */
    return r == -UPP_ENOTFOUND ? 0 : r;
}

enum { POSITION_TEXT = 24 };
static struct wl_value position(uint64_t number, char text[POSITION_TEXT])
{
    int size = snprintf(text, POSITION_TEXT, "%llu", (unsigned long long)number);
    return (struct wl_value){.space = JOURNALS, .name = AT, .bytes = wb_str(text, (size_t)size)};
}

/* An old run: sweeps it now or defers it, and advances the position past it. */
static WEFT_SUSPENDS int sweep_or_defer(struct wl__sweeping *x, struct wm_run *run, uint64_t number, size_t *done)
{
    char id[WB_UUID_TEXT + 1], text[POSITION_TEXT];
    int r = 0;
    struct wl_value later = {.space = LATER, .name = wb_uuid_text(run->id, id), .bytes = UPP_STR("")};
    struct wl_value at = position(number, text);
    struct wl_change list[2];
    size_t n = 0;
    bool due = is_due(x, run);
    if (!run->swept && due) {
        ++*done;
        r = sweep_run(x, run);
        if (r < 0)
            return r;
    }
    if (!run->swept && (!due || r > 0))
        list[n++] = (struct wl_change){.kind = WL_PUT_VALUE, .value = &later};
    list[n++] = (struct wl_change){.kind = WL_PUT_VALUE, .value = &at};
    r = wl__sweep_commit(x, list, n);
    wb_crashpoint("sweep.run");
    return r;
}

/* Past the old runs of others: a tenant that has few must not read all of theirs at each sweep. */
static WEFT_SUSPENDS int pass_others(struct wl__sweeping *x, uint64_t upto)
{
    char text[POSITION_TEXT];
    const struct wl_value at = position(upto, text);
    const struct wl_change put = {.kind = WL_PUT_VALUE, .value = &at};
    return wl__sweep_commit(x, &put, 1);
}

static WEFT_SUSPENDS int sweep_journals(struct wl__sweeping *x)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WL__LARGE);
    struct wl_ask ask = {.what = WL_LIST_OLD_RUNS,
                         .owner = x->o,
                         .before_ms = x->now_ms - x->retention.journal_ms,
                         .max = WL_SWEEP_BATCH};
    struct wl_list list = {0};
    size_t done = 0;
    if (x->retention.journal_ms < 0)
        return 0;
    int r = sweep_deferred(x, &done);
    if (r >= 0)
        r = read_position(x, &a, &ask.number);
    if (r >= 0)
        r = wl_store_list(x->s, &ask, &a, &list, x->err);
    if (r >= 0 && list.reach.damaged) {
        wb_log(WB_WARN, "damaged runs were not swept", WB_LU("runs", list.reach.damaged),
               WB_LU("last", list.reach.past));
        x->ret->damaged += list.reach.damaged;
    }
    struct wl_old_run *runs = list.p;
    for (size_t i = 0; r >= 0 && i < list.n && done < WL_SWEEP_BATCH; i++)
        r = sweep_or_defer(x, &runs[i].run, runs[i].number, &done);
    if (r < 0)
        return r;
    if (list.n == WL_SWEEP_BATCH || done >= WL_SWEEP_BATCH) {
        x->ret->more = true;
        return 0;
    }
    uint64_t last = list.n ? runs[list.n - 1].number : ask.number;
    bool far = list.reach.upto >= STRIDE && list.reach.upto - STRIDE >= last;
    if (!far && list.reach.past <= last)
        return 0;
    r = pass_others(x, far ? list.reach.upto : list.reach.past);
    return r < 0 ? r : 0;
}

/* ---- Blobs ----------------------------------------------------------------------------------- */

/* One batch. *full: there may be more. */
static WEFT_SUSPENDS int sweep_blobs(struct wl__sweeping *x, bool complete, int64_t before_ms, bool *full)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_blob_key *keys;
    size_t n, dropped = 0;
    int r = wl_list_unreferenced_blobs(x->s, x->o, complete, before_ms, WL_SWEEP_BATCH, &a, &keys, &n, x->err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        const struct wl_change drop = {.kind = WL_DROP_BLOB, .blob = &keys[i]};
        r = wl__sweep_commit(x, &drop, 1); /* 1: it is referenced again, or gone */
        dropped += r == 0;
    }
    x->ret->blobs += dropped;
    *full = r >= 0 && n == WL_SWEEP_BATCH && dropped;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int wl_sweep_erased(struct wl_store *s, const struct wl_owner *o, int64_t now_ms, bool *more,
                                  struct upp_err *err)
{
    struct wl_swept swept = {0};
    struct wl__sweeping x = {.s = s, .o = o, .now_ms = now_ms, .ret = &swept, .err = err};
    return sweep_blobs(&x, true, now_ms - ERASED_MS, more);
}

static WEFT_SUSPENDS int sweep_loose(struct wl__sweeping *x)
{
    bool more = false;
    int r = sweep_blobs(x, false, x->now_ms - x->retention.loose_ms, &more);
    x->ret->more |= more;
    return r;
}

static WEFT_SUSPENDS int sweep_part(struct wl__sweeping *x, WEFT_SUSPENDS int (*part)(struct wl__sweeping *))
{
    struct upp_err why = {0}, *err = x->err;
    x->err = &why;
    int r = part(x);
    x->err = err;
    return pass_over(x, r, &why);
}

WEFT_SUSPENDS int wl_sweep(struct wl_store *s, const struct wl_owner *o, int64_t now_ms,
                           const struct wl_retention *retention, struct wl_swept *ret, struct upp_err *err)
{
    struct wl_swept swept = {0};
    struct wl__sweeping x = {.s = s, .o = o, .now_ms = now_ms, .ret = &swept, .err = err};
    if (retention)
        x.retention = *retention;
    if (!x.retention.deleted_ms)
        x.retention.deleted_ms = 7 * WL_DAY_MS;
    if (!x.retention.journal_ms)
        x.retention.journal_ms = 30 * WL_DAY_MS;
    if (!x.retention.loose_ms)
        x.retention.loose_ms = LOOSE_MS;
    if (!x.retention.audit_ms)
        x.retention.audit_ms = WL_AUDIT_DAYS * WL_DAY_MS;
    struct upp_err why = {0};
    int r = wl_reindex_pending(s, o, &why); /* left by a crash; one broken row must not stop the sweep */
    if (r < 0)
        wb_log(WB_WARN, "the search has forgotten messages", WB_LZ("why", why.msg));
    static WEFT_SUSPENDS int (*const parts[])(struct wl__sweeping *) = {sweep_deleted, sweep_audit, sweep_journals,
                                                                        sweep_loose};
    r = 0;
    for (size_t i = 0; r >= 0 && i < WB_LEN(parts); i++)
        r = sweep_part(&x, parts[i]);
    ret->damaged = swept.damaged; /* they are passed over once: also if something else failed */
    if (r >= 0 && x.damage.code && err)
        *err = x.damage;
    if (r < 0 || x.damage.code)
        return r < 0 ? r : x.damage.code;
    wb_crashpoint("sweep.after");
    *ret = swept;
    return 0;
}

WEFT_SUSPENDS int wl_index_compact(struct wl_store *s, bool *more, struct upp_err *err)
{
    const struct wl_change change = {.kind = WL_INDEX_COMPACT, .more = more};
    struct wl_commit c = {.owner.tenant = UPP_STR("-"), .changes = &change, .n = 1, .flags = WL_SYNCED};
    return wl_store_commit(s, &c, err);
}
