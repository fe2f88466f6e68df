/* log/message_delete.c — deletes one message.
 *
 * The rows that hold its content are rewritten without it, and an event after the node's last row records that. All of
 * this is one commit, and the event is its compare-and-swap: if another writer changed a row of the node or appended to
 * it, this one reads again and retries.
 *
 * Deleting an answer also erases voided attempts at it. Deleting a message with calls erases their arguments and
 * results; one with results, the results; an input, what middleware made of it. These are in rows of the same run,
 * before or after the message. Other derived data (derived.h) and the threads of called sub-agents are erased first, in
 * commits of their own.
 */
#include "base/clock.h"
#include "base/crash.h"
#include "base/log.h"
#include "base/vec.h"
#include "base/vec_add.h"
#include "json/write.h"
#include "log/derived.h"
#include "log/lines.h"
#include "log/note.h"
#include "log/search.h"

enum {
    TRIES = 16,
    EDITS = WL_CHANGES - 8, /* rows that one message's content is in, at most */
    BATCH = 64,
    EVENTS = 64 << 10, /* bytes of the event's data */
};

struct deleting {
    struct wl_store *s;
    const struct wl_owner *o;
    struct wm_id at;
    uint32_t path_index; /* position on its path */
    uint64_t pos;        /* of its row */
    struct wb_uuid message;
    struct upp_str why;
    struct wl_end end;  /* of its node */
    struct wb_uuid run; /* the run that wrote it */
    uint8_t role;
    bool imported;
    struct wm_erasing what;
    bool tape_erased;                /* a tape was erased: the events of the run can no longer be replayed */
    WB_VEC(struct wb_uuid) children; /* sub-agents' runs that were calls of it */
    struct wb_arena a;
    WB_VEC(struct wl_row) edits;
    struct upp_err *err;
};

static void deleting_done(struct deleting *x)
{
    wb_vec_done(&x->edits);
    wb_vec_done(&x->children);
    wb_arena_done(&x->a);
}

static int no_message(const struct deleting *x)
{
    char text[WB_UUID_TEXT + 1];
    return upp_fail(x->err, UPP_ENOTFOUND, "there is no message %s", wb_uuid_text(x->message, text).p);
}

/* ---- The rows it is in ---------------------------------------------------------------------------------- */

static int read_row(struct deleting *x, const struct wl_row *stored, struct wm_row *ret)
{
    int r = wm_row_read(&x->a, stored->format, stored->body, stored->tape, ret, x->err);
    return r < 0 ? upp_wrap(x->err, r, "node %016llx, row %u.%u", (unsigned long long)stored->node,
                            wl_pos_index(stored->pos), (unsigned)(stored->pos & (WL_SUBS - 1)))
                 : 0;
}

/* Calls of sub-agents have threads, which hold their prompts and answers. */
static int note_children(struct deleting *x, const struct wm_row *row)
{
    for (size_t i = 0; i < row->n_records; i++) {
        const struct wm_event *ev = &row->records[i];
        if (ev->kind != WM_TOOL_STARTED || !ev->tool_started.child_node || wm_is_branch(ev))
            continue;
        for (size_t k = 0; k < x->what.n_calls; k++) {
            if (!wb_str_eq(ev->call.id, x->what.calls[k]))
                continue;
            int r = wb_vec_add(&x->children, ev->tool_started.child, EDITS, "sub-agents of one message", x->err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* Erases the message's data from one row, and adds the row to the commit if anything changed. */
static int edit(struct deleting *x, const struct wl_row *stored, struct wm_row *row, size_t entry)
{
    struct wm_erasing what = x->what;
    struct wl_row done = *stored;
    bool tape = row->tape.n > 0;
    what.entry = entry;
    int r = note_children(x, row);
    if (r >= 0)
        r = wm_row_erase(&x->a, row, &what, x->err);
    if (r <= 0)
        return r;
    r = wl__row_write(&x->a, row, &done, x->err);
    x->tape_erased |= r >= 0 && tape && !row->tape.n;
    return r < 0 ? r : wb_vec_add(&x->edits, done, EDITS, "rows with results of one message", x->err);
}

static bool has_call(const struct deleting *x, const struct wm_entry *e)
{
    for (const struct upp_part *p = NULL; (p = upp_part_next(&e->message, p, UPP_PARTS_CALLS));)
        for (size_t i = 0; i < x->what.n_calls; i++)
            if (wb_str_eq(p->id, x->what.calls[i]))
                return true;
    return false;
}

/* Does this row hold the other end: the results of the calls, or the calls; the first answer to an input? */
static bool is_far_end(const struct deleting *x, const struct wm_row *row, size_t from)
{
    for (size_t i = from; i < row->n_entries; i++) {
        const struct wm_entry *e = &row->entries[i];
        if (x->role == UPP_ROLE_TOOL ? has_call(x, e) : e->message.role == x->role + 1)
            return true;
    }
    return false;
}
_Static_assert(UPP_ROLE_USER + 1 == UPP_ROLE_ASSISTANT && UPP_ROLE_ASSISTANT + 1 == UPP_ROLE_TOOL, "is_far_end");

/* From the message forward to that end, or from results back to the calls. */
static WEFT_SUSPENDS int follow_run(struct deleting *x, uint64_t pos)
{
    const bool back = x->role == UPP_ROLE_TOOL;
    struct wl_range range = {.node = x->at.node,
                             .from = back ? 0 : pos + 1,
                             .to = back ? pos : UINT64_MAX >> 1,
                             .backwards = back,
                             .max_rows = BATCH};
    for (size_t looked = 0; looked < WL_JOIN_ROWS;) {
        struct wl_rows rows;
        int r = wl_store_rows(x->s, x->o, &range, &x->a, &rows, x->err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < rows.n; i++, looked++) {
            struct wm_row row;
            if (!wb_uuid_eq(rows.p[i].run, x->run))
                return 0;
            r = read_row(x, &rows.p[i], &row);
            if (r < 0)
                return r;
            bool last = is_far_end(x, &row, 0);
            r = edit(x, &rows.p[i], &row, SIZE_MAX);
            if (r < 0 || last)
                return r;
            *(back ? &range.to : &range.from) = rows.p[i].pos + !back;
        }
        if (!rows.more || !rows.n)
            return 0;
    }
    return upp_fail(x->err, UPP_ELIMIT, "the results of this message stand more than %d rows away", WL_JOIN_ROWS);
}

static bool has_void(const struct wm_row *row)
{
    for (size_t i = 0; i < row->n_records; i++)
        if (row->records[i].kind == WM_VOID)
            return true;
    return false;
}

/* Voided attempts at an answer: their rows are right before it. */
static WEFT_SUSPENDS int follow_voided(struct deleting *x, uint64_t pos)
{
    struct wl_range range = {.node = x->at.node, .to = pos, .backwards = true, .max_rows = BATCH};
    for (size_t looked = 0; looked < WL_JOIN_ROWS;) {
        struct wl_rows rows;
        int r = wl_store_rows(x->s, x->o, &range, &x->a, &rows, x->err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++, looked++) {
            struct wm_row row;
            if (!wb_uuid_eq(rows.p[i].run, x->run))
                return 0;
            r = read_row(x, &rows.p[i], &row);
            if (r >= 0 && !has_void(&row))
                return 0;
            if (r >= 0)
                r = edit(x, &rows.p[i], &row, SIZE_MAX);
            range.to = rows.p[i].pos;
        }
        if (r < 0 || !rows.more || !rows.n)
            return WB_MIN(r, 0);
    }
    return upp_fail(x->err, UPP_ELIMIT, "more than %d attempts at this message", WL_JOIN_ROWS);
}

/* The ids of the calls that the message makes or answers. */
static int note_calls(struct deleting *x, const struct wm_entry *e)
{
    const struct upp_message *m = &e->message;
    struct upp_str *calls = wb_new_n(&x->a, struct upp_str, m->n_parts + e->n_refs + 1);
    size_t n = 0;
    if (!calls)
        return wb_arena_check(&x->a, x->err);
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CALLS | UPP_PARTS_RESULTS));)
        calls[n++] = p->id;
    for (size_t i = 0; i < e->n_refs; i++)
        calls[n++] = e->refs[i];
    x->role = m->role;
    x->what = (struct wm_erasing){.mark = {.time_ms = WB_MAX(wb_wall_ms(), INT64_C(1)), .why = x->why},
                                  .entry = SIZE_MAX,
                                  .calls = calls,
                                  .n_calls = n,
                                  .arguments = m->role == UPP_ROLE_ASSISTANT,
                                  .lost = m->role == UPP_ROLE_ASSISTANT,
                                  .asides = m->role == UPP_ROLE_USER};
    return 0;
}

static WEFT_SUSPENDS int collect(struct deleting *x)
{
    struct wl_row stored;
    struct wm_row row;
    const struct wm_entry *e = NULL;
    int r = wl__last_row(x->s, x->o, x->at.node, wl__pos_end(x->at.index + 1), &x->a, &stored, x->err);
    uint32_t i = r > 0 ? x->at.index - wl_pos_index(stored.pos) : 0;
    if (r > 0 && i < stored.n_entries)
        r = read_row(x, &stored, &row);
    else if (r >= 0)
        return no_message(x);
    if (r < 0)
        return r;
    if (i < row.n_entries)
        e = &row.entries[i];
    if (!e || e->attempt != x->at.attempt || e->audience != WM_AUDIENCE_ALL || wm_is_erased(e) ||
        (e->kind != WM_ENTRY_MESSAGE && e->kind != WM_ENTRY_REPAIR))
        return no_message(x);
    x->run = stored.run;
    x->pos = stored.pos;
    x->imported = e->origin == WM_ORIGIN_IMPORT;
    r = note_calls(x, e);
    bool more = e->message.role == UPP_ROLE_USER ? !wb_uuid_is_nil(x->run) : x->what.n_calls > 0;
    more &= e->message.role == UPP_ROLE_TOOL || !is_far_end(x, &row, i + 1);
    if (r >= 0)
        r = edit(x, &stored, &row, i);
    if (r >= 0 && x->what.lost)
        r = follow_voided(x, stored.pos);
    return r < 0 || !more ? r : follow_run(x, stored.pos);
}

/* ---- The commit ----------------------------------------------------------------------------------------- */

/* {"type": "message.deleted", "data": {"entry": ID, "why": TEXT, "by": USER}} */
static int write_event(struct deleting *x, struct wl_row *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(EVENTS);
    struct wj_writer w;
    char id[WB_UUID_TEXT + 1];
    wj_writer_init(&w, &b, x->err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "type", UPP_STR("message.deleted"));
    wj_put_open(&w, "data", '{');
    wj_put_str(&w, "entry", wb_uuid_text(x->message, id));
    wj_put_str(&w, "why", x->why);
    if (x->o->user.n)
        wj_put_str(&w, "by", x->o->user);
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    struct wm_entry e = {.data = wb_arena_dup(&x->a, wb_buf_str(&b))};
    r = wb_arena_check(&x->a, x->err);
    return r < 0 ? r : wl__event_row(&x->a, x->o, &e, x->at.node, &x->end, x->what.mark.time_ms, ret, x->err);
}

/* The run that wrote it, read before its rows: the sweep changes rows too, and increments the run's version. */
static WEFT_SUSPENDS int find_run(struct deleting *x, struct wm_run *ret, size_t *n)
{
    struct wl_row stored;
    *n = 0;
    int r = wl__last_row(x->s, x->o, x->at.node, wl__pos_end(x->at.index + 1), &x->a, &stored, x->err);
    if (r <= 0 || wb_uuid_is_nil(stored.run))
        return r < 0 ? r : 0;
    r = wl_get_run(x->s, x->o, stored.run, &x->a, ret, x->err);
    *n = r >= 0;
    return r == -UPP_ENOTFOUND ? 0 : r;
}

/* The events of a run tree are numbered consecutively: if one row's events are lost, none of the tree can be read. */
static WEFT_SUSPENDS int mark_root(struct deleting *x, struct wm_run runs[2], size_t *n)
{
    int r = 0;
    if (!x->tape_erased || !*n)
        return 0;
    if (!wb_uuid_eq(runs[0].root, runs[0].id)) {
        r = wl_get_run(x->s, x->o, runs[0].root, &x->a, &runs[1], x->err);
        *n += r >= 0;
    }
    runs[*n - 1].swept = true;
    return r == -UPP_ENOTFOUND ? 0 : r;
}

/* Imported checkpoints quote messages, whichever thread of the tree they were imported with. */
static WEFT_SUSPENDS int drop_imported(struct deleting *x, const struct wl_thread *t, struct wl_change *list, size_t *n)
{
    struct wl_thread *all;
    size_t below, others;
    int r = wl_thread_family(x->s, x->o, t, &x->a, &all, &below, &others, x->err);
    for (size_t i = 0; r >= 0 && i < below + others; i++) {
        char id[WB_UUID_TEXT + 1];
        struct wl_value *v = wb_uuid_eq(all[i].tree, t->tree) ? wb_new(&x->a, struct wl_value) : NULL;
        if (!v)
            continue;
        *v = (struct wl_value){.space = UPP_STR(WL_IMPORTED), .name = wb_arena_dup(&x->a, wb_uuid_text(all[i].id, id))};
        if (*n + x->edits.n >= WL_CHANGES)
            return upp_fail(x->err, UPP_ELIMIT, "too many threads share this message");
        list[(*n)++] = (struct wl_change){.kind = WL_DROP_VALUE, .value = v};
    }
    return r < 0 ? r : wb_arena_check(&x->a, x->err);
}

/* The search index of a row that was set is dropped, for all its entries. If reindexing the others fails now, the notes
 * stay: that is no reason to report the deletion as failed. */
static WEFT_SUSPENDS void learn_others(struct deleting *x)
{
    struct upp_err why = {0};
    if (wl_reindex_pending(x->s, x->o, &why) < 0)
        wb_log(WB_WARN, "the search has forgotten messages", WB_LZ("why", why.msg));
}

/* The rows without the message, and notes to reindex their other entries. */
static int set_rows(struct deleting *x, struct wl_change *list, size_t *n)
{
    for (size_t i = 0; i < x->edits.n; i++) {
        struct wl_value *note = wb_new(&x->a, struct wl_value);
        int r = note ? wl__reindex_note(&x->edits.p[i], &x->a, note, x->err) : wb_arena_check(&x->a, x->err);
        if (r < 0)
            return r;
        if (*n + 2 > WL_CHANGES)
            return upp_fail(x->err, UPP_ELIMIT, "this message stands in too many rows");
        list[(*n)++] = (struct wl_change){.kind = WL_SET_ROW, .row = &x->edits.p[i]};
        if (r > 0)
            list[(*n)++] = (struct wl_change){.kind = WL_PUT_VALUE, .value = note};
    }
    return 0;
}

/* The content of its sub-agents' threads: erased before the message that leads to them. */
static WEFT_SUSPENDS int erase_children(struct deleting *x)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < x->children.n; i++) {
        struct wm_run run;
        struct wl_thread t;
        r = wl_get_run(x->s, x->o, x->children.p[i], &x->a, &run, x->err);
        if (r >= 0)
            r = wl_get_thread(x->s, x->o, run.thread, &x->a, &t, x->err);
        if (r >= 0 && t.kind == WL_SUB)
            r = wl__tree_erase_content(x->s, x->o, &t, x->err);
        if (r == -UPP_ENOTFOUND)
            r = 0; /* deleted already */
        x->tape_erased = true;
    }
    return r;
}

/* If this changes the message's own node, the commit below conflicts and is retried. */
static WEFT_SUSPENDS int erase_derived(struct deleting *x, const struct wl_thread *t)
{
    const struct wl_derived d = {
        .at = x->at, .pos = x->pos, .path_index = x->path_index, .run = x->run, .mark = x->what.mark};
    return wl__derived_erase(x->s, x->o, t, &d, x->err);
}

/* 0: done. 1: another writer was first. */
static WEFT_SUSPENDS int try_once(struct deleting *x, const struct wl_thread *t)
{
    struct wl_change *list = wb_new_n(&x->a, struct wl_change, WL_CHANGES);
    struct wl_row event;
    struct wl_value note;
    struct wm_run runs[2];
    size_t n_runs = 0;
    size_t n = 0;
    int r = list ? 0 : wb_arena_check(&x->a, x->err);
    if (r >= 0)
        r = wl_node_end(x->s, x->o, x->at.node, &x->end, x->err);
    if (r >= 0)
        r = find_run(x, runs, &n_runs);
    if (r >= 0)
        r = collect(x);
    if (r >= 0)
        r = erase_derived(x, t);
    if (r >= 0)
        r = erase_children(x);
    if (r >= 0)
        r = write_event(x, &event);
    if (r >= 0)
        r = mark_root(x, runs, &n_runs);
    if (r >= 0)
        r = wl_note_of(&x->a, x->at, &note, x->err);
    if (r < 0)
        return r;
    list[n++] = (struct wl_change){.kind = WL_HOLD_NODE, .hold = {.node = x->at.node}};
    list[n++] = (struct wl_change){.kind = WL_ADD_ROW, .row = &event};
    list[n++] = (struct wl_change){.kind = WL_DROP_VALUE, .value = &note};
    for (size_t i = 0; i < n_runs; i++)
        list[n++] = (struct wl_change){.kind = WL_SET_RUN, .run = &runs[i]};
    r = x->imported ? drop_imported(x, t, list, &n) : 0;
    if (r >= 0)
        r = set_rows(x, list, &n);
    if (r < 0)
        return r;
    struct wl_commit c = {.owner = *x->o, .changes = list, .n = n, .flags = WL_SYNCED};
    wb_crashpoint("message.delete.before");
    r = wl_store_commit(x->s, &c, x->err);
    if (r >= 0) {
        wb_crashpoint("message.delete.after");
        learn_others(x);
    }
    if (r == -UPP_EBUSY && c.conflict == 0)
        return upp_fail(x->err, UPP_EBUSY, "a run is under way on this thread");
    return r == -UPP_EBUSY ? 1 : r;
}

/* Is it on the path of the thread? */
static WEFT_SUSPENDS int locate(struct deleting *x, const struct wl_thread *t)
{
    struct wl_path path;
    if (!wm_id_parse(x->message, &x->at) || x->at.noun != WM_NOUN_ENTRY || x->at.part != 0 || x->at.index == UINT32_MAX)
        return no_message(x);
    int r = wl_thread_path(x->s, x->o, t, &x->a, &path, x->err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < path.n; i++)
        if (path.spans[i].node == x->at.node && x->at.index < path.spans[i].length) {
            x->path_index = path.spans[i].before + x->at.index;
            return 0;
        }
    return no_message(x);
}

WEFT_SUSPENDS int wl_message_delete(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                    struct wb_uuid message, struct upp_str why, struct upp_err *err)
{
    WB_CLEANUP(deleting_done)
    struct deleting x = {.s = s,
                         .o = o,
                         .message = message,
                         .why = why.n ? why : UPP_STR("deleted"),
                         .a = WB_ARENA(WL__LARGE),
                         .err = err};
    int r = locate(&x, t);
    for (unsigned i = 0; r >= 0 && i < TRIES; i++) {
        wb_arena_reset(&x.a);
        x.edits.n = x.children.n = 0;
        x.tape_erased = false;
        r = try_once(&x, t);
        if (r <= 0)
            return r;
    }
    return r < 0 ? r : upp_fail(err, UPP_EBUSY, "somebody else was first, %d times", TRIES);
}
