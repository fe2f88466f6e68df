/* log/path.c — histories: from the root of a tree to a position in it, and the entries at its end. */
#include "base/hooks.h"
#include "base/vec.h"
#include "log/lines.h"

/* Nodes from the end up to the root, while climbing. */
struct way {
    WB_VEC(struct wl_span) spans;
    uint64_t mark; /* a visited node: reaching it again means a cycle (Brent's algorithm) */
    size_t moved;  /* number of nodes when the mark was set; it moves after 1, 2, 4 ... nodes */
    size_t every;
};

static void way_done(struct way *w)
{
    wb_vec_done(&w->spans);
}

static int way_add(struct way *w, uint64_t node, uint32_t length, struct upp_err *err)
{
    if (w->spans.n && node == w->mark)
        return upp_fail(err, UPP_ESTORE, "node %016llx is its own ancestor", (unsigned long long)node);
    if (w->spans.n >= WL_PATH_READ)
        return upp_fail(err, UPP_ELIMIT, "a path of more than %d nodes", WL_PATH_READ);
    if (!wb_vec_push(&w->spans, ((struct wl_span){.node = node, .length = length}), WL_PATH_READ))
        return upp_fail(err, UPP_ENOMEM, "no memory for a path");
    if (w->spans.n - w->moved >= w->every) {
        w->mark = node;
        w->moved = w->spans.n;
        w->every *= 2;
    }
    return 0;
}

WEFT_SUSPENDS static int climb(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t length,
                               struct way *w, struct upp_err *err)
{
    struct wb_uuid tree = {0};
    for (;;) {
        struct wl_node n;
        int r = wl_get_node(s, o, node, &n, err);
        if (r == -UPP_ENOTFOUND && w->spans.n)
            return upp_fail(err, UPP_ESTORE, "node %016llx has no parent %016llx",
                            (unsigned long long)w->spans.p[w->spans.n - 1].node, (unsigned long long)node);
        if (r < 0 || (r = way_add(w, node, length, err)) < 0)
            return r;
        if (w->spans.n == 1)
            tree = n.tree;
        else if (!wb_uuid_eq(tree, n.tree))
            return upp_fail(err, UPP_ESTORE, "node %016llx is of another tree than its child",
                            (unsigned long long)node);
        if (!n.parent)
            return 0;
        node = n.parent;
        length = n.parent_length;
    }
}

WEFT_SUSPENDS int wl_path_open(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t length,
                               struct wb_arena *a, struct wl_path *ret, struct upp_err *err)
{
    WB_CLEANUP(way_done) struct way way = {.every = 1};
    uint64_t sum = 0;
    int r = climb(s, o, node, length, &way, err);
    if (r < 0)
        return r;
    size_t n = way.spans.n;
    struct wl_span *spans = wb_new_n(a, struct wl_span, n);
    if (!spans)
        return wb_arena_check(a, err);
    for (size_t i = 0; i < n; i++) {
        spans[i] = way.spans.p[n - 1 - i];
        spans[i].before = (uint32_t)sum;
        sum += spans[i].length;
        if (sum > UINT32_MAX)
            return upp_fail(err, UPP_ELIMIT, "a path of more than %u entries", UINT32_MAX);
    }
    *ret = (struct wl_path){.spans = spans, .n = n, .length = (uint32_t)sum};
    return 0;
}

WEFT_SUSPENDS int wl_thread_path(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                 struct wb_arena *a, struct wl_path *ret, struct upp_err *err)
{
    struct wl_end end;
    int r = wl_node_end(s, o, t->head, &end, err);
    return r < 0 ? r : wl_path_open(s, o, t->head, wl_thread_length(t, end.length), a, ret, err);
}

WEFT_SUSPENDS int wl_path_tail(struct wl_store *s, const struct wl_owner *o, const struct wl_path *p, uint32_t end,
                               uint32_t max, struct wb_arena *a, struct wl_line **ret, size_t *n, struct upp_err *err)
{
    end = WB_MIN(end, p->length);
    const size_t count = WB_MIN(max, end);
    const uint32_t first = end - (uint32_t)count;
    struct wl_line *lines = wb_new_n(a, struct wl_line, count);
    if (!lines)
        return wb_arena_check(a, err);
    for (size_t i = p->n; i-- > 0;) {
        const struct wl_span *span = &p->spans[i];
        uint32_t from = WB_MAX(first, span->before), to = WB_MIN(end, span->before + span->length);
        if (from >= to)
            continue;
        int r =
            wl__lines(s, o, span->node, from - span->before, to - span->before, a, lines + (from - first), NULL, err);
        if (r == -UPP_ENOTFOUND) /* the path says that it exists */
            r = upp_fail(err, UPP_ESTORE, "node %016llx is shorter than the %u entries of the path",
                         (unsigned long long)span->node, span->length);
        if (r < 0)
            return r;
    }
    *ret = lines;
    *n = count;
    return 0;
}

struct opening {
    const struct wl_owner *o;
    struct upp_str id;
    uint32_t max;
    struct wb_arena *a;
    struct wl_tail tail;
};

WEFT_SUSPENDS static int read_tail(struct wl_store *s, void *arg, struct upp_err *err)
{
    struct opening *x = arg;
    struct wl_tail *t = &x->tail;
    int r = wl_thread_find(s, x->o, x->id, x->a, &t->thread, err);
    if (r >= 0)
        r = wl_thread_path(s, x->o, &t->thread, x->a, &t->path, err);
    return r < 0 ? r : wl_path_tail(s, x->o, &t->path, t->path.length, x->max, x->a, &t->lines, &t->n, err);
}

WEFT_SUSPENDS int wl_thread_tail(struct wl_store *s, const struct wl_owner *o, struct upp_str id, uint32_t max,
                                 struct wb_arena *a, struct wl_tail *ret, struct upp_err *err)
{
    struct wb_arena lent = wb_arena_lend(a);
    struct opening x = {.o = o, .id = id, .max = max, .a = &lent};
    int r = wl_store_at_once(s, read_tail, &x, err);
    wb_arena_give_back(a, &lent);
    if (r >= 0)
        *ret = x.tail;
    return r;
}
