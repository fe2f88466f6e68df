/* log/erase.c — erases the content of a tree, whoever shares it.
 *
 * Works node by node, each in as many commits as it takes. The last commit of a node appends the event that records it,
 * at the end that was read before the first: if another writer changed a row of the node meanwhile, that end has moved,
 * and the node is read again. The thread itself is deleted last: until then everything can be repeated.
 */
#include "base/clock.h"
#include "base/crash.h"
#include "base/vec.h"
#include "log/derived.h"
#include "log/forget.h"
#include "log/lines.h"
#include "log/note.h"
#include "log/pages.h"

enum { TRIES = 16, ROWS = 64, RUNS = 64 /* per commit */ };

struct erasing {
    struct wl_store *s;
    const struct wl_owner *o;
    struct wl_thread *threads; /* the thread, its sub-threads, then the others of its family */
    size_t n, others;
    struct wb_arena a;    /* for the whole operation */
    struct wb_arena page; /* for one node */
    struct upp_err *err;
};

static void erasing_done(struct erasing *x)
{
    wb_arena_done(&x->a);
    wb_arena_done(&x->page);
}

/* Is it the tree of the thread or of one of its sub-threads? */
static bool is_target(const struct erasing *x, struct wb_uuid tree)
{
    for (size_t i = 0; i < x->n; i++)
        if (wb_uuid_eq(x->threads[i].tree, tree))
            return true;
    return false;
}

static int erase_row(struct erasing *x, const struct wm_erasing *what, struct wl_row *row)
{
    struct wm_row parsed;
    int r = wm_row_read(&x->page, row->format, row->body, row->tape, &parsed, x->err);
    if (r >= 0)
        r = wm_row_erase(&x->page, &parsed, what, x->err);
    return r <= 0 ? r : wl__row_write(&x->page, &parsed, row, x->err);
}

static int write_event(struct erasing *x, uint64_t node, const struct wl_end *end, int64_t now, struct wl_row *ret)
{
    struct wm_entry e = {.data = UPP_STR("{\"type\":\"tree.erased\"}"),
                         .erased = {.time_ms = now, .why = UPP_STR("tree")}};
    return wl__event_row(&x->page, x->o, &e, node, end, now, ret, x->err);
}

static WEFT_SUSPENDS int commit(struct erasing *x, const struct wl_change *list, size_t n)
{
    struct wl_commit c = {.owner = *x->o, .changes = list, .n = n, .flags = WL_SYNCED};
    int r = wl_store_commit(x->s, &c, x->err);
    if (r == -UPP_EBUSY && list[c.conflict].kind == WL_HOLD_NODE)
        return upp_fail(x->err, UPP_EBUSY, "a run is under way in this tree");
    return r == -UPP_EBUSY ? 1 : r;
}

/* A range of a node's rows. 1: another writer was first. */
static WEFT_SUSPENDS int erase_rows(struct erasing *x, const struct wl_node *node, const struct wl_end *end,
                                    uint64_t *from, bool *any, bool *more)
{
    struct wm_erasing what = {
        .mark = {.time_ms = WB_MAX(wb_wall_ms(), INT64_C(1)), .why = UPP_STR("tree")}, .all = true, .entry = SIZE_MAX};
    struct wl_range range = {.node = node->key, .from = *from, .to = end->pos, .max_rows = ROWS};
    struct wl_change *list;
    struct wl_rows rows;
    struct wl_row event;
    size_t n = 0;
    wb_arena_reset(&x->page);
    list = wb_new_n(&x->page, struct wl_change, ROWS + 2); /* too large for a stack frame */
    if (!list)
        return wb_arena_check(&x->page, x->err);
    list[n++] = (struct wl_change){.kind = WL_HOLD_NODE, .hold = {.node = node->key}};
    int r = wl_store_rows(x->s, x->o, &range, &x->page, &rows, x->err);
    for (size_t i = 0; r >= 0 && i < rows.n; i++) {
        r = erase_row(x, &what, &rows.p[i]);
        if (r > 0)
            list[n++] = (struct wl_change){.kind = WL_SET_ROW, .row = &rows.p[i]};
        *from = rows.p[i].pos + 1;
    }
    if (r < 0)
        return r;
    *any |= n > 1;
    *more = rows.more && rows.n;
    if (!*more && *any) {
        r = write_event(x, node->key, end, what.mark.time_ms, &event);
        list[n++] = (struct wl_change){.kind = WL_ADD_ROW, .row = &event};
    }
    return r < 0 || n == 1 ? WB_MIN(r, 0) : commit(x, list, n);
}

static WEFT_SUSPENDS int try_node(struct erasing *x, const struct wl_node *node)
{
    struct wl_end end;
    bool any = false, more = true;
    int r = wl_node_end(x->s, x->o, node->key, &end, x->err);
    for (uint64_t from = 0; r == 0 && more;)
        r = erase_rows(x, node, &end, &from, &any, &more);
    if (r == 0 && (node->name.p || node->metadata.p)) {
        struct wl_node bare = {.key = node->key};
        const struct wl_change set = {.kind = WL_SET_NODE, .node = &bare};
        r = commit(x, &set, 1);
    }
    return r;
}

static WEFT_SUSPENDS int erase_node(struct erasing *x, const struct wl_node *node)
{
    int r = 1;
    for (unsigned i = 0; r > 0 && i < TRIES; i++)
        r = try_node(x, node);
    if (r == 0)
        r = wl_notes_drop(x->s, x->o, node->key, x->err);
    if (r == 0)
        wb_crashpoint("erase.node");
    return r > 0 ? upp_fail(x->err, UPP_EBUSY, "somebody else was first, %d times", TRIES) : r;
}

/* All nodes of the family that are in these trees. `erase` false: only checks that no run holds one. */
static WEFT_SUSPENDS int each_node(struct erasing *x, bool erase)
{
    WB_CLEANUP(wl_pages_done)
    struct wl_pages p =
        WL_PAGES(x->s, .what = WL_LIST_FAMILY_NODES, .owner = x->o, .number = wl_family(x->threads[0].tree));
    int r;
    while ((r = wl_pages_next(&p, x->err)) > 0) {
        const struct wl_node *list = p.list.p;
        for (size_t i = 0; r >= 0 && i < p.list.n; i++) {
            if (!is_target(x, list[i].tree))
                continue;
            if (!wb_uuid_is_nil(list[i].holder))
                r = upp_fail(x->err, UPP_EBUSY, "a run is under way in this tree");
            else if (erase)
                r = erase_node(x, &list[i]);
        }
        if (r < 0)
            return r;
    }
    return r;
}

/* Options and error of a run may quote messages; its events can no longer be replayed. */
static WEFT_SUSPENDS int erase_some_runs(struct erasing *x, struct wl_pages *p)
{
    struct wm_run *runs = p->list.p;
    struct wl_change *list = wb_new_n(&p->a, struct wl_change, p->list.n);
    size_t set = 0;
    if (!list)
        return wb_arena_check(&p->a, x->err);
    for (size_t i = 0; i < p->list.n; i++) {
        if (!wm_status_ended(runs[i].status))
            return upp_fail(x->err, UPP_EBUSY, "a run is under way in this tree");
        if (runs[i].swept && !runs[i].options.p && !runs[i].error.p)
            continue;
        runs[i].swept = true;
        runs[i].options = runs[i].error = (struct upp_str){0};
        list[set++] = (struct wl_change){.kind = WL_SET_RUN, .run = &runs[i]};
    }
    int r = set ? commit(x, list, set) : 0;
    return r > 0 ? upp_fail(x->err, UPP_EBUSY, "a run of this tree was changed") : r;
}

static WEFT_SUSPENDS int erase_runs(struct erasing *x, const struct wl_thread *t)
{
    WB_CLEANUP(wl_pages_done)
    struct wl_pages p = WL_PAGES(x->s, .what = WL_LIST_RUNS, .owner = x->o, .id = t->id, .max = RUNS);
    int r;
    while ((r = wl_pages_next(&p, x->err)) > 0) {
        r = erase_some_runs(x, &p);
        if (r < 0)
            return r;
    }
    return r;
}

static WEFT_SUSPENDS int drop_imported(struct erasing *x, const struct wl_thread *t)
{
    char id[WB_UUID_TEXT + 1];
    struct wl_value imported = {.space = UPP_STR(WL_IMPORTED), .name = wb_uuid_text(t->id, id)};
    struct wl_change drop = {.kind = WL_DROP_VALUE, .value = &imported};
    return commit(x, &drop, 1);
}

/* The other threads of these trees that have at least one entry. */
static WEFT_SUSPENDS int name_lost(struct erasing *x, struct wb_arena *to, struct wb_uuid **lost, size_t *n)
{
    struct wb_uuid *list = wb_new_n(to, struct wb_uuid, x->others + 1);
    *n = 0;
    if (!list)
        return wb_arena_check(to, x->err);
    for (size_t i = x->n; i < x->n + x->others; i++) {
        struct wl_path path;
        if (!is_target(x, x->threads[i].tree))
            continue;
        wb_arena_reset(&x->page);
        int r = wl_thread_path(x->s, x->o, &x->threads[i], &x->page, &path, x->err);
        if (r < 0)
            return r;
        if (path.length)
            list[(*n)++] = x->threads[i].id;
    }
    *lost = list;
    return 0;
}

/* Erases the content of the trees; the threads stay. */
static WEFT_SUSPENDS int erase_all(struct erasing *x)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < x->n + x->others; i++) {
        if (!is_target(x, x->threads[i].tree))
            continue;
        r = erase_runs(x, &x->threads[i]);
        if (r >= 0)
            r = drop_imported(x, &x->threads[i]);
    }
    return r < 0 ? r : each_node(x, true);
}

WEFT_SUSPENDS int wl__tree_erase_content(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                         struct upp_err *err)
{
    WB_CLEANUP(erasing_done)
    struct erasing x = {.s = s, .o = o, .a = WB_ARENA(WL__LARGE), .page = WB_ARENA(WL__LARGE), .err = err};
    int r = wl_thread_family(s, o, t, &x.a, &x.threads, &x.n, &x.others, err);
    if (r >= 0)
        r = each_node(&x, false);
    return r < 0 ? r : erase_all(&x);
}

WEFT_SUSPENDS int wl_tree_erase(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                struct wb_arena *a, struct wb_uuid **lost, size_t *n, struct upp_err *err)
{
    WB_CLEANUP(erasing_done)
    struct erasing x = {.s = s, .o = o, .a = WB_ARENA(WL__LARGE), .page = WB_ARENA(WL__LARGE), .err = err};
    int r = wl_thread_family(s, o, t, &x.a, &x.threads, &x.n, &x.others, err);
    if (r >= 0)
        r = each_node(&x, false);
    if (r >= 0)
        r = name_lost(&x, a, lost, n);
    if (r >= 0)
        r = erase_all(&x);
    if (r >= 0)
        r = wl_thread_delete(s, o, t, err);
    if (r >= 0)
        wb_crashpoint("erase.after");
    return r;
}

WEFT_SUSPENDS int wl_tree_forget(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                 struct upp_err *err)
{
    int r = wl__tree_erase_content(s, o, t, err);
    return r < 0 ? r : wl__thread_forget(s, o, t, err);
}
