/* run/tree.c — trees of runs: find, create, free; the commit lock, waking readers, loading from the store. */
#include "base/hooks.h"
#include "run/engine_state.h"
#include "run/run.h"

static struct wb_link *bucket(struct wr_engine *e, struct wb_uuid root)
{
    return &e->trees[wm_key(root) % WR_BUCKETS];
}

struct wr_tree *wr_tree_find(struct wr_engine *e, struct wb_uuid root)
{
    struct wb_link *head = bucket(e, root);
    wb_list_each (l, head) {
        struct wr_tree *t = wb_item(l, struct wr_tree, link);
        if (wb_uuid_eq(t->root, root))
            return t;
    }
    return NULL;
}

static struct wr_tree *take_tree(struct wr_engine *e)
{
    struct wr_tree *t = e->pools.trees;
    if (!t)
        return wb_calloc(1, sizeof *t);
    struct wb_arena memory = t->memory;
    e->pools.trees = t->next_free;
    e->pools.n_trees--;
    *t = (struct wr_tree){.memory = memory};
    return t;
}

static void tree_free(struct wr_tree *t)
{
    struct wr_pools *s = &t->engine->pools;
    if (t->outcome)
        upp_turn_free(t->outcome->turn);
    if (s->n_trees == WR_POOL_ITEMS || t->memory.used > WR_POOL_BYTES) {
        wb_arena_done(&t->memory);
        wb_free(t);
        return;
    }
    wb_arena_reset(&t->memory);
    t->next_free = s->trees;
    s->trees = t;
    s->n_trees++;
}

int wr_tree_new(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid root, struct wr_tree **ret,
                struct upp_err *err)
{
    struct wr_tree *t = take_tree(e);
    if (!t)
        return upp_fail(err, UPP_ENOMEM, "no memory for a run");
    t->engine = e;
    t->refs = 1;
    t->root = root;
    t->epoch = 1;
    t->next = 1;
    t->memory.max = 1u << 20;
    wb_list_init(&t->cached);
    wb_list_init(&t->readers);
    t->owner.tenant = wb_arena_dup(&t->memory, o->tenant);
    t->owner.user = wb_arena_dup(&t->memory, o->user);
    int r = wb_arena_check(&t->memory, err);
    if (r < 0) {
        tree_free(t);
        return r;
    }
    wb_list_push(bucket(e, root), &t->link);
    *ret = t;
    return 0;
}

static void cached_row_free(struct wr_tree *t, struct wr_cached_row *k)
{
    wb_unlink(&k->link);
    t->n_cached--;
    t->cached_bytes -= k->body.n + k->tape.n;
    wb_free(k);
}

void wr_tree_unref(struct wr_tree *t)
{
    if (!t || --t->refs)
        return;
    while (!wb_list_empty(&t->cached))
        cached_row_free(t, wb_item(t->cached.next, struct wr_cached_row, link));
    wb_unlink(&t->link);
    wr_ids_done(&t->ids);
    tree_free(t);
}

void wr_tree_unrefp(struct wr_tree **t)
{
    wr_tree_unref(*t);
}

static uint64_t had_by_all(const struct wr_tree *t)
{
    uint64_t had = UINT64_MAX;
    for (struct wb_link *l = t->readers.next; l != &t->readers; l = l->next)
        had = WB_MIN(had, wb_item(l, struct wr_reader, link)->next);
    return had;
}

/* With a store old rows are freed when there are many: readers find them there. Without one they are freed when all
 * readers have read them. */
void wr_cache_trim(struct wr_tree *t)
{
    if (wb_list_empty(&t->cached))
        return;
    bool store = t->engine->store != NULL;
    uint64_t had = store ? 0 : had_by_all(t);
    while (!wb_list_empty(&t->cached)) {
        struct wr_cached_row *k = wb_item(t->cached.next, struct wr_cached_row, link);
        bool full =
            store ? t->n_cached > WR_CACHE_ROWS || t->cached_bytes > WR_CACHE_BYTES : t->cached_bytes > WR_CACHE_ALONE;
        if (!full && (store || k->at.number + k->events > had))
            break;
        cached_row_free(t, k);
    }
}

static WEFT_SUSPENDS __attribute__((noinline)) void commit_lock_wait(struct wr_tree *t)
{
    while (t->locked) {
        struct weft_shield shield = weft__shield_forever();
        int r = weft_cond_wait(&t->commit_lock, NULL);
        weft_shield_end(&shield);
        (void)r; /* shielded: only the signal ends it */
    }
}

void wr_commit_lock_take(struct wr_tree *t)
{
    if (WB_UNLIKELY(t->locked))
        commit_lock_wait(t);
    t->locked = true;
}

void wr_commit_lock_leave(struct wr_tree *t)
{
    t->locked = false;
    weft_cond_signal(&t->commit_lock);
}

static struct wb_uuid agent_uuid(struct wr_engine *e, struct upp_str text)
{
    struct wb_uuid u;
    if (text.n == WB_UUID_TEXT && memcmp(text.p, e->last_id_text, WB_UUID_TEXT) == 0)
        return e->last_id;
    if (!wb_uuid_parse(text, &u))
        return WB_UUID_NIL;
    if (text.n == WB_UUID_TEXT) {
        memcpy(e->last_id_text, text.p, WB_UUID_TEXT);
        e->last_id = u;
    }
    return u;
}

struct wr_source *wr_tree_source(struct wr_tree *t, const struct wm_run *run, struct upp_str agent_id)
{
    for (struct wr_source *f = t->sources; f; f = f->next)
        if (wb_uuid_eq(f->from.run, run->id) && wb_str_eq(f->from.agent, run->agent)) {
            f->from.node = run->node; /* a queued run that could not start at one node starts at another */
            f->from.input = run->input;
            return f;
        }
    struct wr_source *f = wb_new(&t->memory, struct wr_source);
    if (!f)
        return NULL;
    f->from.run = run->id;
    f->from.root = t->root;
    f->from.node = run->node;
    f->from.input = run->input;
    f->from.depth = run->depth;
    f->from.agent = wb_arena_dup(&t->memory, run->agent);
    f->from.agent_id = agent_uuid(t->engine, agent_id);
    f->next = t->sources;
    t->sources = f;
    return f->from.agent.p || !run->agent.p ? f : NULL;
}

void wr_readers_wake(struct wr_tree *t)
{
    t->news++;
    if (!t->asleep)
        return;
    wb_list_each (l, &t->readers) {
        struct wr_reader *rd = wb_item(l, struct wr_reader, link);
        if (!rd->asleep)
            continue;
        void (*wake)(void *) = rd->wake;
        rd->wake = NULL;
        rd->asleep = false;
        t->asleep--;
        weft_cond_broadcast(&rd->cond);
        if (wake)
            wake(rd->arg);
    }
}

void wr_tree_wake(struct wr_tree *t)
{
    if (t->changed.first)
        weft_cond_broadcast(&t->changed);
    wr_readers_wake(t);
}

/* ---- Loading from the store ------------------------------------------------------------------------------------ */

/* Finds the number after the last committed event of a run that has not ended, including children, which may have
 * committed after it. */
struct tail {
    struct wl_store *store;
    const struct wl_owner *owner;
    uint64_t next;
    uint32_t epoch;
    unsigned depth;
};

static WEFT_SUSPENDS int tail_of(struct tail *t, uint64_t node, uint64_t first, struct upp_err *err);

static WEFT_SUSPENDS int tail_children(struct tail *t, const struct wm_row *row, struct upp_err *err)
{
    for (size_t i = 0; i < row->n_records; i++) {
        const struct wm_event *ev = &row->records[i];
        if (ev->kind != WM_TOOL_STARTED || !ev->tool_started.child_node)
            continue;
        int r = tail_of(t, ev->tool_started.child_node, 0, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static WEFT_SUSPENDS int tail_row(struct tail *t, struct wb_arena *a, const struct wl_row *stored, bool *stop,
                                  struct upp_err *err)
{
    struct wm_row row;
    uint64_t n = 0;
    int r = wm_row_read(a, stored->format, stored->body, stored->tape, &row, err);
    if (r >= 0)
        r = wm_row_events(&row, &n, err);
    if (r < 0)
        return r;
    if (row.event) {
        t->next = WB_MAX(t->next, row.event + n);
        t->epoch = WB_MAX(t->epoch, row.epoch);
    }
    for (size_t i = 0; i < row.n_records; i++)
        *stop |= row.records[i].kind == WM_STEP_END;
    return tail_children(t, &row, err);
}

static WEFT_SUSPENDS int tail_of(struct tail *t, uint64_t node, uint64_t first, struct upp_err *err)
{
    if (t->depth > 64)
        return upp_fail(err, UPP_ESTORE, "runs are nested too deeply");
    t->depth++;
    bool stop = false;
    int r = 0;
    for (uint64_t to = UINT64_MAX >> 1; r >= 0 && !stop;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WR_RUN_MEMORY);
        struct wl_range range = {.node = node, .from = first, .to = to, .backwards = true, .max_rows = 16};
        struct wl_rows rows = {0};
        r = wl_store_rows(t->store, t->owner, &range, &a, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n && !stop; i++) {
            r = tail_row(t, &a, &rows.p[i], &stop, err);
            to = rows.p[i].pos;
        }
        if (!rows.more)
            break;
    }
    t->depth--;
    return r;
}

/* Others that want the tree wait until it is loaded, so what is read here stays valid: everything written to a tree
 * goes through it. */
static WEFT_SUSPENDS int tree_fill(struct wr_tree *t, struct upp_err *err)
{
    struct wl_store *s = t->engine->store;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct tail tail = {.store = s, .owner = &t->owner, .next = 1, .epoch = 1};
    struct wm_run root;
    int r = wl_get_run(s, &t->owner, t->root, &a, &root, err);
    if (r >= 0 && !wm_status_ended(root.status) && root.status != WM_QUEUED)
        r = tail_of(&tail, root.node, root.first, err);
    if (r < 0)
        return r;
    t->next = tail.next;
    t->epoch = tail.epoch;
    t->status = root.status;
    t->resumed = root.status != WM_QUEUED;
    return 0;
}

/* Waits for a tree that somebody else loads from the store. */
static WEFT_SUSPENDS int tree_await(struct wr_tree *t, struct upp_err *err)
{
    int r = 0;
    while (r >= 0 && t->loading)
        r = weft_cond_wait(&t->changed, err);
    return r >= 0 && t->unread ? upp_fail(err, (enum upp_code) - t->unread, "the run could not be read") : r;
}

int wr_tree_get(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *root, struct wr_tree **ret,
                struct upp_err *err)
{
    struct wr_tree *t = wr_tree_find(e, root->id);
    int r = 0;
    if (t) {
        t->refs++;
        r = tree_await(t, err);
    } else {
        r = wr_tree_new(e, o, root->id, &t, err);
        if (r < 0)
            return r;
        t->loading = true;
        t->was_read = true;
        r = tree_fill(t, err);
        t->loading = false;
        t->unread = r < 0 ? r : 0;
        wr_tree_wake(t);
    }
    if (r < 0)
        wr_tree_unref(t);
    else
        *ret = t;
    return r;
}

void wr_tree_take(struct wr_tree *t, struct wr_run *run)
{
    t->refused = 0; /* that was another one: this has what is in the store */
    t->run = run;
}

int wr_tree_own(struct wr_tree *t, const struct wm_run *row, struct wr_run **ret, struct upp_err *err)
{
    while (t->run) {
        int r = weft_cond_wait(&t->changed, err);
        if (r < 0)
            return r;
    }
    struct wr_run *run;
    int r = wr_run_new(t->engine, t, NULL, row, &run, err);
    if (r < 0)
        return r;
    wr_tree_take(t, run);
    *ret = run;
    return 0;
}

/* ---- Call ids in use, in a few bytes each, whatever the length of the history ---------------------------------- */

static uint64_t hash(struct upp_str id) /* never 0, which is an empty slot */
{
    uint64_t h = wb_str_hash(id);
    return h ? h : 1;
}

static uint64_t *slot(uint64_t *slots, size_t size, uint64_t h)
{
    size_t i = (size_t)(h >> 32 ^ h) & (size - 1);
    while (slots[i] && slots[i] != h)
        i = (i + 1) & (size - 1);
    return &slots[i];
}

bool wr_ids_have(const struct wr_ids *ids, struct upp_str id)
{
    return ids->size && *slot(ids->slots, ids->size, hash(id));
}

static int grow(struct wr_ids *ids, struct upp_err *err)
{
    size_t size = ids->size ? ids->size * 2 : 16;
    uint64_t *slots = wb_calloc(size, sizeof *slots);
    if (!slots)
        return upp_fail(err, UPP_ENOMEM, "no memory for the ids of calls");
    for (size_t i = 0; i < ids->size; i++)
        if (ids->slots[i])
            *slot(slots, size, ids->slots[i]) = ids->slots[i];
    wb_free(ids->slots);
    ids->slots = slots;
    ids->size = size;
    return 0;
}

int wr_ids_add(struct wr_ids *ids, struct upp_str id, struct upp_err *err)
{
    if (ids->n * 2 >= ids->size) {
        int r = grow(ids, err);
        if (r < 0)
            return r;
    }
    uint64_t h = hash(id);
    uint64_t *at = slot(ids->slots, ids->size, h);
    ids->n += *at == 0;
    *at = h;
    return 0;
}

void wr_ids_clear(struct wr_ids *ids)
{
    if (ids->n)
        memset(ids->slots, 0, ids->size * sizeof *ids->slots);
    ids->n = 0;
}

void wr_ids_done(struct wr_ids *ids)
{
    wb_free(ids->slots);
    *ids = (struct wr_ids){0};
}
