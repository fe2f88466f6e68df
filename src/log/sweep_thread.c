/* log/sweep_thread.c — removes what only a deleted thread led to.
 *
 * A thread leads to its head, to the nodes that its runs held, and to all their ancestors. Nodes that a living thread
 * of the tree leads to stay; so do those of a deleted thread that can still be restored. Nodes that no known thread
 * created (a branch abandoned by a session) stay as long as any thread of the tree lives; then the whole tree is
 * removed. Leaves first, one commit per node: whatever a crash leaves is a tree.
 */
#include <stdio.h>

#include "base/crash.h"
#include "log/lines.h"
#include "log/note.h"
#include "log/pages.h"
#include "log/sweep.h"

enum { PAGE = 256, NODES = 1 << 24 /* of one tree, at most: as many as fit the arena */ };

struct spot {
    uint64_t key, parent;
    uint32_t children;
    bool reached, retained;
};

struct tree {
    struct wl__sweeping *x;
    const struct wl__gone *gone;
    struct wb_arena a;
    struct spot *spots; /* by key */
    size_t n, cap;
    bool lives; /* another thread leads to it */
};

static void tree_done(struct tree *t)
{
    wb_arena_done(&t->a);
}

static int add_spot(struct tree *t, const struct wl_node *node)
{
    if (t->n == NODES)
        return upp_fail(t->x->err, UPP_ELIMIT, "a tree of more than %d nodes", NODES);
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 64;
        struct spot *p = wb_new_n(&t->a, struct spot, cap);
        if (!p)
            return wb_arena_check(&t->a, t->x->err);
        if (t->n)
            memcpy(p, t->spots, t->n * sizeof *p);
        t->spots = p;
        t->cap = cap;
    }
    t->spots[t->n++] = (struct spot){.key = node->key, .parent = node->parent};
    return 0;
}

static void sort(struct spot *p, size_t n)
{
    size_t gap = 1;
    while (gap < n / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (size_t i = gap; i < n; i++) {
            struct spot one = p[i];
            size_t k = i;
            for (; k >= gap && p[k - gap].key > one.key; k -= gap)
                p[k] = p[k - gap];
            p[k] = one;
        }
}

static struct spot *find(const struct tree *t, uint64_t key)
{
    size_t lo = 0, hi = t->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (t->spots[mid].key == key)
            return &t->spots[mid];
        *(t->spots[mid].key < key ? &lo : &hi) = t->spots[mid].key < key ? mid + 1 : mid;
    }
    return NULL;
}

static WEFT_SUSPENDS int read_nodes(struct tree *t)
{
    WB_CLEANUP(wl_pages_done)
    struct wl_pages p =
        WL_PAGES(t->x->s, .what = WL_LIST_FAMILY_NODES, .owner = t->x->o, .number = wl_family(t->gone->tree));
    int r;
    while ((r = wl_pages_next(&p, t->x->err)) > 0) {
        const struct wl_node *list = p.list.p;
        for (size_t i = 0; r >= 0 && i < p.list.n; i++)
            if (wb_uuid_eq(list[i].tree, t->gone->tree))
                r = add_spot(t, &list[i]);
        if (r < 0)
            return r;
    }
    if (r < 0)
        return r;
    sort(t->spots, t->n);
    for (size_t i = 0; i < t->n; i++) {
        struct spot *parent = find(t, t->spots[i].parent);
        if (parent)
            parent->children++;
    }
    return 0;
}

/* Marks a node and its ancestors. If a node is marked, so are its ancestors. */
static void mark(struct tree *t, uint64_t key, bool retained)
{
    for (struct spot *s = find(t, key); s && !(retained ? s->retained : s->reached); s = find(t, s->parent))
        *(retained ? &s->retained : &s->reached) = true;
}

static WEFT_SUSPENDS int mark_runs(struct tree *t, struct wb_uuid thread, bool retained)
{
    WB_CLEANUP(wl_pages_done)
    struct wl_pages p = WL_PAGES(t->x->s, .what = WL_LIST_RUNS, .owner = t->x->o, .id = thread);
    int r;
    while ((r = wl_pages_next(&p, t->x->err)) > 0) {
        const struct wm_run *runs = p.list.p;
        for (size_t i = 0; i < p.list.n; i++)
            mark(t, runs[i].node, retained);
    }
    return r;
}

static WEFT_SUSPENDS int retain(struct tree *t, struct wb_uuid thread, uint64_t head)
{
    t->lives = true;
    mark(t, head, true);
    return mark_runs(t, thread, true);
}

static WEFT_SUSPENDS int mark_living(struct tree *t)
{
    WB_CLEANUP(wl_pages_done)
    struct wl_pages p =
        WL_PAGES(t->x->s, .what = WL_LIST_FAMILY_THREADS, .owner = t->x->o, .number = wl_family(t->gone->tree));
    int r;
    while ((r = wl_pages_next(&p, t->x->err)) > 0) {
        const struct wl_thread *list = p.list.p;
        for (size_t i = 0; r >= 0 && i < p.list.n; i++)
            if (wb_uuid_eq(list[i].tree, t->gone->tree))
                r = retain(t, list[i].id, list[i].head);
        if (r < 0)
            return r;
    }
    return r;
}

/* Deleted threads of the family that are still retained: their names share a prefix. (Threads from before there were
 * families are searched for among all.) */
static WEFT_SUSPENDS int mark_waiting(struct tree *t)
{
    char name[WB_UUID_TEXT + 1];
    const bool alike = wl_family(t->gone->thread) == wl_family(t->gone->tree);
    struct upp_str after = {name, alike ? 8 : 0};
    (void)snprintf(name, sizeof name, "%08x", (unsigned)wl_family(t->gone->thread));
    for (int more = 1; more > 0;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WL__SCRATCH);
        struct wl__gone *list;
        struct upp_str last;
        size_t n;
        int r = more = wl__gone_list(t->x, after, PAGE, &a, &list, &n, &last);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            if (alike && wl_family(list[i].thread) != wl_family(t->gone->thread))
                return 0;
            if (wb_uuid_eq(list[i].tree, t->gone->tree) && list[i].time_ms > t->x->now_ms - t->x->retention.deleted_ms)
                r = retain(t, list[i].thread, list[i].head);
        }
        if (r < 0)
            return r;
        if (last.n > WB_UUID_TEXT)
            return 0;
        if (last.n)
            memcpy(name, last.p, last.n);
        after.n = last.n;
    }
    return 0;
}

static WEFT_SUSPENDS int decide(struct tree *t)
{
    int r = read_nodes(t);
    if (r >= 0)
        r = mark_living(t);
    if (r >= 0)
        r = mark_waiting(t);
    if (r >= 0 && t->lives) {
        mark(t, t->gone->head, false);
        r = mark_runs(t, t->gone->thread, false);
    }
    for (size_t i = 0; r >= 0 && i < t->n; i++)
        if (!t->lives)
            t->spots[i].reached = true;
        else if (!t->spots[i].reached)
            mark(t, t->spots[i].key, true);
    return r;
}

/* Drops a node without children, then its parent if that has no other child. */
static WEFT_SUSPENDS int drop_up(struct tree *t, struct spot *s)
{
    while (s && s->reached && !s->retained && !s->children) {
        const struct wl_node node = {.key = s->key};
        const struct wl_change drop = {.kind = WL_DROP_NODE, .node = &node};
        int r = wl__sweep_commit(t->x, &drop, 1);
        if (r == 0)
            r = wl_notes_drop(t->x->s, t->x->o, s->key, t->x->err);
        if (r < 0)
            return r;
        s->reached = false; /* done, or somebody uses it again */
        if (r > 0)
            return 0;
        t->x->ret->nodes++;
        wb_crashpoint("sweep.node");
        s = find(t, s->parent);
        if (s)
            s->children--;
    }
    return 0;
}

/* 1: one of them has not ended. */
static WEFT_SUSPENDS int drop_runs(struct tree *t)
{
    for (;;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WL__LARGE);
        struct wl_change list[WL_SWEEP_BATCH];
        struct wm_run *runs;
        size_t n;
        int r = wl_list_runs(t->x->s, t->x->o, t->gone->thread, false, WL_SWEEP_BATCH, &a, &runs, &n, t->x->err);
        if (r < 0 || !n)
            return r < 0 ? r : 0;
        for (size_t i = 0; i < n; i++)
            list[i] = (struct wl_change){.kind = WL_DROP_RUN, .run = &runs[i]};
        r = wl__sweep_commit(t->x, list, n);
        if (r != 0)
            return r;
        t->x->ret->runs += n;
        wb_crashpoint("sweep.run");
    }
}

static WEFT_SUSPENDS int drop_note(struct tree *t)
{
    char name[WB_UUID_TEXT + 1];
    const struct wl_value note = {.space = UPP_STR(WL_DELETED), .name = wb_uuid_text(t->gone->thread, name)};
    const struct wl_change drop = {.kind = WL_DROP_VALUE, .value = &note};
    int r = wl__sweep_commit(t->x, &drop, 1);
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int wl__sweep_thread(struct wl__sweeping *x, const struct wl__gone *gone)
{
    WB_CLEANUP(tree_done) struct tree t = {.x = x, .gone = gone, .a = WB_ARENA(WL__LARGE)};
    struct wl_thread back;
    int r = wl_get_thread(x->s, x->o, gone->thread, &t.a, &back, x->err);
    if (r >= 0)
        return drop_note(&t); /* somebody has restored it */
    if (r == -UPP_ENOTFOUND)
        r = decide(&t);
    for (size_t i = 0; r >= 0 && i < t.n; i++)
        r = drop_up(&t, &t.spots[i]);
    if (r >= 0)
        r = drop_runs(&t);
    if (r == 0) {
        r = drop_note(&t);
        x->ret->threads += r == 0;
    }
    return r < 0 ? r : 0;
}
