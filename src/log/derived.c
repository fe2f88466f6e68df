/* log/derived.c — finds the rows that were derived from a message, and erases them.
 *
 * A commit sets rows of one node. The event after its last row is the compare-and-swap against concurrent deletions;
 * incrementing the version of each run that wrote the rows is the one against the sweep. Both are read before the rows
 * that are changed.
 */
#include "log/derived.h"

#include <stdlib.h>

#include "base/vec.h"
#include "json/write.h"
#include "log/lines.h"
#include "log/search.h"

enum {
    TRIES = 16,
    PAGE = 256,      /* nodes, and rows, read per batch */
    BATCH = 64,      /* rows set per commit */
    NODES = 1 << 24, /* of one tree, at most */
    OWN = 4096,      /* runs that share the work of one run, at most */
};

enum reach { UNKNOWN, UNAFFECTED, AFFECTED };

struct spot {
    uint64_t key, parent;
    uint32_t parent_length;
    struct wb_uuid holder;
    enum reach reach;
};

struct erasing {
    struct wl_store *s;
    const struct wl_owner *o;
    const struct wl_derived *d;
    WB_VEC(struct spot) spots;  /* by key */
    WB_VEC(struct wb_uuid) own; /* the run that wrote it, and the runs that did parallel work for it */
    struct wb_arena a;          /* for one commit */
    struct upp_err *err;
};

static void erasing_done(struct erasing *x)
{
    wb_vec_done(&x->spots);
    wb_vec_done(&x->own);
    wb_arena_done(&x->a);
}

/* ---- The nodes behind the message -------------------------------------------------------------------------- */

static WEFT_SUSPENDS int read_nodes(struct erasing *x, struct wb_uuid tree)
{
    struct wb_uuid after = {{0}};
    for (size_t n = PAGE; n == PAGE;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WL__SCRATCH);
        struct wl_node *list;
        int r = wl_list_family_nodes(x->s, x->o, wl_family(tree), after, PAGE, &a, &list, &n, x->err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            after = list[i].id;
            struct spot spot = {.key = list[i].key,
                                .parent = list[i].parent,
                                .parent_length = list[i].parent_length,
                                .holder = list[i].holder,
                                .reach = list[i].key == x->d->at.node ? AFFECTED : UNKNOWN};
            if (!wb_uuid_eq(list[i].tree, tree))
                continue;
            if (x->spots.n == NODES)
                return upp_fail(x->err, UPP_ELIMIT, "a tree of more than %d nodes", NODES);
            if (!wb_vec_push(&x->spots, spot, NODES))
                return upp_fail(x->err, UPP_ENOMEM, "no memory for the nodes of a tree");
        }
    }
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static struct spot *parent_of(const struct erasing *x, const struct spot *s)
{
    const struct spot wanted = {.key = s->parent};
    return s->parent ? bsearch(&wanted, x->spots.p, x->spots.n, sizeof wanted, by_key) : NULL;
}

/* Climbs to a node whose answer is known, and stores that answer on the way. */
static void classify(struct erasing *x, struct spot *from)
{
    enum reach reach = UNAFFECTED;
    for (const struct spot *s = from; s; s = parent_of(x, s)) {
        if (s->reach != UNKNOWN || s->parent == x->d->at.node) {
            reach = s->reach != UNKNOWN ? s->reach : s->parent_length > x->d->at.index ? AFFECTED : UNAFFECTED;
            break;
        }
    }
    for (struct spot *s = from; s && s->reach == UNKNOWN; s = parent_of(x, s))
        s->reach = reach;
}

static void classify_all(struct erasing *x)
{
    if (x->spots.n)
        qsort(x->spots.p, x->spots.n, sizeof *x->spots.p, by_key);
    for (size_t i = 0; i < x->spots.n; i++)
        classify(x, &x->spots.p[i]);
}

static int check_idle(const struct erasing *x)
{
    for (size_t i = 0; i < x->spots.n; i++)
        if (x->spots.p[i].reach == AFFECTED && !wb_uuid_is_nil(x->spots.p[i].holder))
            return upp_fail(x->err, UPP_EBUSY, "a run is under way behind this message");
    return 0;
}

/* ---- The rows of one node ----------------------------------------------------------------------------------- */

static bool is_own(const struct erasing *x, struct wb_uuid run)
{
    for (size_t i = 0; i < x->own.n; i++)
        if (wb_uuid_eq(x->own.p[i], run))
            return true;
    return false;
}

static int add_own(struct erasing *x, struct wb_uuid run)
{
    if (is_own(x, run) || wb_vec_push(&x->own, run, OWN))
        return 0;
    return x->own.n == OWN ? upp_fail(x->err, UPP_ELIMIT, "a run with more than %d others beside it", OWN)
                           : upp_fail(x->err, UPP_ENOMEM, "no memory to delete a message");
}

/* Parallel work of a run is done by other runs, on branches of their own. */
static int add_branches(struct erasing *x, const struct wm_row *row)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < row->n_records; i++)
        if (row->records[i].kind == WM_TOOL_STARTED && wm_is_branch(&row->records[i]))
            r = add_own(x, row->records[i].tool_started.child);
    return r;
}

/* Can it contain derived data? Summaries and rewritten histories are marked as such. */
static bool may_have(const struct erasing *x, const struct wl_row *row)
{
    return is_own(x, row->run) || wb_str_find(row->body, UPP_STR("\"summary\""), 0) != SIZE_MAX ||
           wb_str_find(row->body, UPP_STR("\"history\""), 0) != SIZE_MAX;
}

/* 1: there was derived data, and *row is without it. */
static int erase_row(struct erasing *x, struct wl_row *row)
{
    const bool own = is_own(x, row->run);
    const struct wm_erasing what = {.mark = x->d->mark,
                                    .entry = SIZE_MAX,
                                    .rewritten = true,
                                    .summed = true,
                                    .place = x->d->path_index,
                                    .prompts = own,
                                    .plans = own};
    struct wm_row parsed;
    int r = wm_row_read(&x->a, row->format, row->body, row->tape, &parsed, x->err);
    if (r >= 0 && own)
        r = add_branches(x, &parsed);
    if (r >= 0)
        r = wm_row_erase(&x->a, &parsed, &what, x->err);
    return r <= 0 ? r : wl__row_write(&x->a, &parsed, row, x->err);
}

/* {"type": "derived.erased", "data": {"entry": ID}} */
static int write_event(struct erasing *x, uint64_t node, const struct wl_end *end, struct wl_row *ret)
{
    char id[WB_UUID_TEXT + 1];
    struct wm_entry e = {0};
    (void)wb_uuid_text(wm_id_uuid(x->d->at), id);
    e.data = wb_arena_printf(&x->a, "{\"type\":\"derived.erased\",\"data\":{\"entry\":\"%s\"}}", id);
    int r = wb_arena_check(&x->a, x->err);
    return r < 0 ? r : wl__event_row(&x->a, x->o, &e, node, end, x->d->mark.time_ms, ret, x->err);
}

/* The runs of these rows, without duplicates. */
static WEFT_SUSPENDS int read_runs(struct erasing *x, const struct wl_row *rows, size_t n, struct wm_run *runs,
                                   size_t *n_runs)
{
    *n_runs = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < *n_runs && !wb_uuid_eq(runs[k].id, rows[i].run))
            k++;
        if (k < *n_runs || wb_uuid_is_nil(rows[i].run))
            continue;
        int r = wl_get_run(x->s, x->o, rows[i].run, &x->a, &runs[k], x->err);
        if (r < 0 && r != -UPP_ENOTFOUND)
            return r;
        *n_runs += r >= 0;
    }
    return 0;
}

struct batch {
    struct wl_row event, rows[BATCH];
    size_t n;
    struct wm_run runs[BATCH];
    size_t n_runs;
    struct wl_value notes[BATCH];
    struct wl_change list[3 * BATCH + 2];
};

/* The next rows of a node that may contain derived data, up to one commit's worth. */
static WEFT_SUSPENDS int find_rows(struct erasing *x, uint64_t node, uint64_t end, uint64_t *from, struct batch *b)
{
    b->n = 0;
    for (bool more = true; more && b->n < BATCH;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WL__LARGE);
        struct wl_range range = {.node = node, .from = *from, .to = end, .max_rows = PAGE};
        struct wl_rows rows;
        int r = wl_store_rows(x->s, x->o, &range, &a, &rows, x->err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < rows.n && b->n < BATCH; i++) {
            *from = rows.p[i].pos + 1;
            if (may_have(x, &rows.p[i]))
                b->rows[b->n++] = (struct wl_row){.node = node, .pos = rows.p[i].pos, .run = rows.p[i].run};
        }
        more = rows.more && rows.n;
    }
    return 0;
}

/* Reads the rows as they are now and erases; rows without derived data are left out of the batch. */
static WEFT_SUSPENDS int edit_rows(struct erasing *x, struct batch *b)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->n; i++) {
        struct wl_range range = {
            .node = b->rows[i].node, .from = b->rows[i].pos, .to = b->rows[i].pos + 1, .max_rows = 1};
        struct wl_rows rows;
        int r = wl_store_rows(x->s, x->o, &range, &x->a, &rows, x->err);
        if (r >= 0 && rows.n)
            r = erase_row(x, &rows.p[0]);
        if (r < 0)
            return r;
        if (rows.n && r > 0)
            b->rows[kept++] = rows.p[0];
    }
    b->n = kept;
    return 0;
}

static WEFT_SUSPENDS int commit(struct erasing *x, uint64_t node, const struct wl_end *end, struct batch *b)
{
    size_t n = 0, noted = 0;
    int r = write_event(x, node, end, &b->event);
    b->list[n++] = (struct wl_change){.kind = WL_HOLD_NODE, .hold = {.node = node}};
    b->list[n++] = (struct wl_change){.kind = WL_ADD_ROW, .row = &b->event};
    for (size_t i = 0; i < b->n_runs; i++)
        b->list[n++] = (struct wl_change){.kind = WL_SET_RUN, .run = &b->runs[i]};
    for (size_t i = 0; r >= 0 && i < b->n; i++) {
        b->list[n++] = (struct wl_change){.kind = WL_SET_ROW, .row = &b->rows[i]};
        r = wl__reindex_note(&b->rows[i], &x->a, &b->notes[noted], x->err);
        if (r > 0)
            b->list[n++] = (struct wl_change){.kind = WL_PUT_VALUE, .value = &b->notes[noted++]};
    }
    if (r < 0)
        return r;
    struct wl_commit c = {.owner = *x->o, .changes = b->list, .n = n, .flags = WL_SYNCED};
    r = wl_store_commit(x->s, &c, x->err);
    if (r == -UPP_EBUSY && c.conflict == 0)
        return upp_fail(x->err, UPP_EBUSY, "a run is under way behind this message");
    return r == -UPP_EBUSY ? 1 : r;
}

/* One batch of a node's rows. 1: another writer was first. */
static WEFT_SUSPENDS int erase_some(struct erasing *x, uint64_t node, uint64_t *from, bool *more, struct batch *b)
{
    struct wl_end end;
    uint64_t next = *from;
    wb_arena_reset(&x->a);
    int r = wl_node_end(x->s, x->o, node, &end, x->err);
    if (r >= 0)
        r = find_rows(x, node, end.pos, &next, b);
    *more = r >= 0 && b->n == BATCH;
    if (r >= 0)
        r = read_runs(x, b->rows, b->n, b->runs, &b->n_runs);
    if (r >= 0)
        r = edit_rows(x, b);
    if (r >= 0 && b->n)
        r = commit(x, node, &end, b);
    if (r == 0)
        *from = next;
    return r;
}

static WEFT_SUSPENDS int erase_in(struct erasing *x, uint64_t node, uint64_t from, struct batch *b)
{
    int r = 0;
    unsigned tries = 0;
    for (bool more = true; r >= 0 && (more || r > 0) && tries < TRIES;) {
        r = erase_some(x, node, &from, &more, b);
        tries = r > 0 ? tries + 1 : 0;
    }
    return r > 0 ? upp_fail(x->err, UPP_EBUSY, "somebody else was first, %d times", TRIES) : r;
}

/* Rows of the message's own node name the runs that did parallel work, and the rows of those may name others. */
static WEFT_SUSPENDS int erase_all(struct erasing *x, struct batch *b)
{
    size_t known;
    int r = erase_in(x, x->d->at.node, x->d->pos, b);
    do {
        known = x->own.n;
        for (size_t i = 0; r >= 0 && i < x->spots.n; i++)
            if (x->spots.p[i].reach == AFFECTED && x->spots.p[i].key != x->d->at.node)
                r = erase_in(x, x->spots.p[i].key, 0, b);
    } while (r >= 0 && x->own.n > known);
    return r;
}

WEFT_SUSPENDS int wl__derived_erase(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                    const struct wl_derived *d, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena own = WB_ARENA(1u << 20);
    WB_CLEANUP(erasing_done)
    struct erasing x = {.s = s, .o = o, .d = d, .a = WB_ARENA(WL__LARGE), .err = err};
    struct batch *b = wb_new(&own, struct batch);
    int r = b ? read_nodes(&x, t->tree) : wb_arena_check(&own, err);
    if (r >= 0 && !wb_uuid_is_nil(d->run))
        r = add_own(&x, d->run);
    if (r < 0)
        return r;
    classify_all(&x);
    r = check_idle(&x);
    return r < 0 ? r : erase_all(&x, b);
}
