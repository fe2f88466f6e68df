/* run/engine.c — the engine itself: its table of trees, its fibers, its end. */
#include <upp/http.h>

#include "base/clock.h"
#include "base/hooks.h"
#include "run/internal.h"
#include "run/wait.h"

static uint32_t or_u32(uint32_t v, uint32_t otherwise)
{
    return v ? v : otherwise;
}

int wr_engine_open(struct weft_loop *loop, const struct wr_engine_opts *opts, struct wr_engine **ret,
                   struct upp_err *err)
{
    if (!opts->agent)
        return upp_fail(err, UPP_EINVALID, "an engine needs a way to find agents");
    struct wr_engine *e = wb_calloc(1, sizeof *e);
    if (!e)
        return upp_fail(err, UPP_ENOMEM, "no memory for an engine");
    int r = upp_http_new(NULL, &e->http, err); /* connects nothing until it is used */
    if (r < 0) {
        wb_free(e);
        return r;
    }
    e->wait             = wr_wait_table(e->http);
    e->loop             = loop;
    e->opts             = *opts;
    e->store            = opts->store;
    e->opts.durability  = (uint8_t)or_u32(opts->durability, WM_SYNC);
    e->opts.max_runs    = or_u32(opts->max_runs, 4096);
    e->opts.max_queue   = or_u32(opts->max_queue, 16);
    e->opts.max_depth   = or_u32(opts->max_depth, 8);
    e->opts.max_message = opts->max_message ? opts->max_message : (size_t)8 << 20;
    e->opts.wait_ms     = opts->wait_ms ? opts->wait_ms : 600000;
    e->scope.flags      = WEFT_SCOPE_ISOLATED;
    e->look_at_ms       = INT64_MAX;
    for (size_t i = 0; i < WR_BUCKETS; i++)
        wb_list_init(&e->trees[i]);
    *ret = e;
    return 0;
}

void wr_engine_close(struct wr_engine *e)
{
    if (!e)
        return;
    e->closing = true;
    weft_cond_broadcast(&e->look);
    weft_scope_close(&e->scope);
    for (size_t i = 0; i < WR_BUCKETS; i++) /* fibers that were cancelled before they ever ran */
        wb_list_each (l, &e->trees[i]) {
            struct wr_tree *t = wb_item(l, struct wr_tree, link);
            if (t->run)
                wr_run_free(WB_TAKE(t->run));
        }
    wb_vec_done(&e->troubled);
    wr_spares_done(&e->spares);
    upp_http_free(e->http);
    wb_free(e);
}

struct wl_store *wr_engine_store(const struct wr_engine *e)
{
    return e->store;
}

struct wr_counts wr_engine_counts(const struct wr_engine *e)
{
    struct wr_counts c = e->counts;
    c.working          = e->working;
    return c;
}

const struct wr_agent_def *wr_agent(const struct wr_engine *e, struct upp_str name)
{
    return e->opts.agent(e->opts.arg, name);
}

/* ---- Trees --------------------------------------------------------------------------------------------- */

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
    struct wr_tree *t = e->spares.trees;
    if (!t)
        return wb_calloc(1, sizeof *t);
    struct wb_arena memory = t->memory;
    e->spares.trees        = t->spare;
    e->spares.n_trees--;
    *t = (struct wr_tree){.memory = memory};
    return t;
}

static void tree_free(struct wr_tree *t)
{
    struct wr_spares *s = &t->engine->spares;
    if (t->outcome)
        upp_turn_free(t->outcome->turn);
    if (s->n_trees == WR_SPARES || t->memory.used > WR_SPARE_BYTES) {
        wb_arena_done(&t->memory);
        wb_free(t);
        return;
    }
    wb_arena_reset(&t->memory);
    t->spare = s->trees;
    s->trees = t;
    s->n_trees++;
}

int wr_tree_new(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid root, struct wr_tree **ret,
                struct upp_err *err)
{
    struct wr_tree *t = take_tree(e);
    if (!t)
        return upp_fail(err, UPP_ENOMEM, "no memory for a run");
    t->engine     = e;
    t->refs       = 1;
    t->root       = root;
    t->epoch      = 1;
    t->next       = 1;
    t->memory.max = 1u << 20;
    wb_list_init(&t->kept);
    wb_list_init(&t->readers);
    t->owner.tenant = wb_arena_dup(&t->memory, o->tenant);
    t->owner.user   = wb_arena_dup(&t->memory, o->user);
    int r           = wb_arena_check(&t->memory, err);
    if (r < 0) {
        tree_free(t);
        return r;
    }
    wb_list_push(bucket(e, root), &t->link);
    *ret = t;
    return 0;
}

static void kept_free(struct wr_tree *t, struct wr_kept *k)
{
    wb_unlink(&k->link);
    t->n_kept--;
    t->kept_bytes -= k->body.n + k->tape.n;
    wb_free(k);
}

void wr_tree_unref(struct wr_tree *t)
{
    if (!t || --t->refs)
        return;
    while (!wb_list_empty(&t->kept))
        kept_free(t, wb_item(t->kept.next, struct wr_kept, link));
    wb_unlink(&t->link);
    wr_ids_done(&t->ids);
    tree_free(t);
}

void wr_tree_unrefp(struct wr_tree **t)
{
    wr_tree_unref(*t);
}

/* With a store old rows go when there are many: readers find them there. Without one they go when all readers have
 * had them. */
static uint64_t had_by_all(const struct wr_tree *t)
{
    uint64_t had = UINT64_MAX;
    for (struct wb_link *l = t->readers.next; l != &t->readers; l = l->next)
        had = WB_MIN(had, wb_item(l, struct wr_reader, link)->next);
    return had;
}

void wr_kept_trim(struct wr_tree *t)
{
    if (wb_list_empty(&t->kept))
        return;
    bool     store = t->engine->store != NULL;
    uint64_t had   = store ? 0 : had_by_all(t);
    while (!wb_list_empty(&t->kept)) {
        struct wr_kept *k = wb_item(t->kept.next, struct wr_kept, link);
        bool full = store ? t->n_kept > WR_KEPT_ROWS || t->kept_bytes > WR_KEPT_BYTES : t->kept_bytes > WR_KEPT_ALONE;
        if (!full && (store || k->at.number + k->events > had))
            break;
        kept_free(t, k);
    }
}

static WEFT_SUSPENDS __attribute__((noinline)) void lane_wait(struct wr_tree *t)
{
    while (t->locked) {
        struct weft_shield shield = weft__shield_forever();
        int                r      = weft_cond_wait(&t->lane, NULL);
        weft_shield_end(&shield);
        (void)r; /* shielded: only the signal ends it */
    }
}

void wr_lane_take(struct wr_tree *t)
{
    if (WB_UNLIKELY(t->locked))
        lane_wait(t);
    t->locked = true;
}

void wr_lane_leave(struct wr_tree *t)
{
    t->locked = false;
    weft_cond_signal(&t->lane);
}

static struct wb_uuid agent_uuid(struct wr_engine *e, struct upp_str text)
{
    struct wb_uuid u;
    if (text.n == WB_UUID_TEXT && memcmp(text.p, e->last_id_text, WB_UUID_TEXT) == 0)
        return e->last_id;
    if (!wb_uuid_parse(text, &u))
        return (struct wb_uuid){{0}};
    if (text.n == WB_UUID_TEXT) {
        memcpy(e->last_id_text, text.p, WB_UUID_TEXT);
        e->last_id = u;
    }
    return u;
}

struct wr_faces *wr_tree_face(struct wr_tree *t, const struct wm_run *run, struct upp_str agent_id)
{
    for (struct wr_faces *f = t->faces; f; f = f->next)
        if (wb_uuid_eq(f->from.run, run->id) && wb_str_eq(f->from.agent, run->agent)) {
            f->from.node  = run->node; /* a queued run that could not start at one node starts at another */
            f->from.input = run->input;
            return f;
        }
    struct wr_faces *f = wb_new(&t->memory, struct wr_faces);
    if (!f)
        return NULL;
    f->from.run      = run->id;
    f->from.root     = t->root;
    f->from.node     = run->node;
    f->from.input    = run->input;
    f->from.depth    = run->depth;
    f->from.agent    = wb_arena_dup(&t->memory, run->agent);
    f->from.agent_id = agent_uuid(t->engine, agent_id);
    f->next          = t->faces;
    t->faces         = f;
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
        rd->wake             = NULL;
        rd->asleep           = false;
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
