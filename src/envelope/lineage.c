/* envelope/lineage.c — builds the edge table of a log of envelopes: direct parents, circles, order. */
#include "envelope/lineage.h"

#include "base/defs.h"
#include "base/hooks.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "json/number.h"
#include "json/value.h"
#include "model/names.h"

#define MEMORY  ((size_t)256 << 20)
#define NO_EDGE UINT32_MAX
enum { STEPS_OF_A_PARENT = 8 /* reading it took longer: these are free */ };

/* Of the log: one parent of a child. */
struct edge {
    uint32_t parent, next; /* next: of the same child, in the order of trace.parents */
    bool gone;             /* closes a circle, or its parent is an ancestor of another one */
};

/* What is needed of a node until the end of the log. */
struct tie {
    uint32_t first, last; /* of its edges */
    uint32_t seen;        /* the walk that has been here last */
    uint32_t wanted;      /* the walk that looks for it */
};

struct we_lineage {
    struct wb_arena arena; /* texts, and the lists of the end */
    struct wm_names names; /* the number of an id is that of its node */
    WB_VEC(struct we_lineage_node) nodes;
    WB_VEC(struct tie) ties;
    WB_VEC(struct edge) edges;
    WB_VEC(uint32_t) arrived;
    WB_VEC(uint32_t) queue; /* of a walk */
    uint32_t walks;
    uint64_t steps, max_steps;
    uint32_t *up, *down; /* parents and children of all nodes */
    struct we_circle circles[WE_LINEAGE_CIRCLES];
    uint64_t n_circles;
};

int we_lineage_new(struct we_lineage **ret, struct upp_err *err)
{
    struct we_lineage *l = wb_calloc(1, sizeof *l);
    if (!l)
        return upp_fail(err, UPP_ENOMEM, "no memory for a lineage");
    l->arena = (struct wb_arena)WB_ARENA(MEMORY);
    l->max_steps = WE_LINEAGE_STEPS;
    *ret = l;
    return 0;
}

void we_lineage_free(struct we_lineage *l)
{
    if (!l)
        return;
    wm_names_done(&l->names);
    wb_vec_done(&l->nodes);
    wb_vec_done(&l->ties);
    wb_vec_done(&l->edges);
    wb_vec_done(&l->arrived);
    wb_vec_done(&l->queue);
    wb_arena_done(&l->arena);
    wb_free(l);
}

void we_lineage_freep(struct we_lineage **l)
{
    we_lineage_free(*l);
}

/* ---- The log ---------------------------------------------------------------------------------------------- */

static int full(const struct we_lineage *l, struct upp_err *err)
{
    return l->nodes.n >= WE_LINEAGE_NODES || l->edges.n >= WE_LINEAGE_EDGES
               ? upp_fail(err, UPP_ELIMIT, "a lineage has at most %d envelopes and %d parents", WE_LINEAGE_NODES,
                          WE_LINEAGE_EDGES)
               : upp_fail(err, UPP_ENOMEM, "no memory for a lineage");
}

static void add_circle(struct we_lineage *l, uint32_t child, uint32_t parent)
{
    if (l->n_circles < WE_LINEAGE_CIRCLES)
        l->circles[l->n_circles] = (struct we_circle){child, parent};
    l->n_circles++;
}

/* The node with this id, which may be new. */
static int node_of(struct we_lineage *l, struct upp_str id, uint32_t *ret, struct upp_err *err)
{
    *ret = wm_names_find(&l->names, id);
    if (*ret != UINT32_MAX)
        return 0;
    struct upp_str own = wb_arena_dup(&l->arena, id);
    int r = wb_arena_check(&l->arena, err);
    if (r < 0)
        return r;
    if (!wb_vec_room(&l->nodes, WE_LINEAGE_NODES) || !wb_vec_room(&l->ties, WE_LINEAGE_NODES))
        return full(l, err);
    r = wm_names_add(&l->names, own, ret, err);
    if (r < 0)
        return r;
    l->nodes.p[l->nodes.n++] = (struct we_lineage_node){.id = own, .arrival = UINT32_MAX};
    l->ties.p[l->ties.n++] = (struct tie){.first = NO_EDGE, .last = NO_EDGE};
    return 0;
}

/* `walk`: a number of its own for each child, so that a parent named twice is one. */
static int add_edge(struct we_lineage *l, uint32_t child, uint32_t parent, uint32_t walk, struct upp_err *err)
{
    struct tie *t = &l->ties.p[child];
    if (parent == child) {
        add_circle(l, child, parent);
        return 0;
    }
    if (l->ties.p[parent].seen == walk)
        return 0;
    l->ties.p[parent].seen = walk;
    if (!wb_vec_push(&l->edges, ((struct edge){.parent = parent, .next = NO_EDGE}), WE_LINEAGE_EDGES))
        return full(l, err);
    uint32_t e = (uint32_t)(l->edges.n - 1);
    if (t->first == NO_EDGE)
        t->first = e;
    else
        l->edges.p[t->last].next = e;
    t->last = e;
    return 0;
}

static uint64_t tokens(yyjson_val *cost, const char *name)
{
    yyjson_val *v = yyjson_obj_get(cost, name);
    uint64_t ret = 0;
    return yyjson_is_raw(v) && wj_num_u64(wj_text(v), &ret) ? WB_MIN(ret, (uint64_t)UINT32_MAX) : 0;
}

static struct upp_str member(struct we_lineage *l, yyjson_val *object, const char *name)
{
    struct upp_str s = wj_text_at(object, name);
    return wb_arena_dup(&l->arena, wb_str_sub(s, 0, wb_utf8_cut(s, WE_LINEAGE_TEXT)));
}

static int fill(struct we_lineage *l, struct we_lineage_node *n, yyjson_val *envelope, struct upp_err *err)
{
    yyjson_val *score = yyjson_obj_get(yyjson_obj_get(envelope, "confidence"), "score"),
               *cost = yyjson_obj_get(yyjson_obj_get(envelope, "trace"), "cost");
    n->known = true;
    n->arrival = (uint32_t)l->arrived.n;
    n->role = member(l, envelope, "role");
    n->intent = member(l, envelope, "intent");
    n->task = member(l, envelope, "task");
    n->agent = member(l, yyjson_obj_get(envelope, "agent"), "id");
    n->has_score = yyjson_is_raw(score) && wj_num_f64(wj_text(score), &n->score);
    n->input_tokens = tokens(cost, "input_tokens");
    n->output_tokens = tokens(cost, "output_tokens");
    return wb_arena_check(&l->arena, err);
}

/* ---- Direct parents --------------------------------------------------------------------------------------- */

/* Drops each edge of the child, except `from`, whose parent the walk has seen. Returns how many are left; the walk
 * wants to see those. */
static size_t drop_seen(struct we_lineage *l, uint32_t child, uint32_t from, uint32_t walk)
{
    size_t left = 0;
    for (uint32_t e = l->ties.p[child].first; e != NO_EDGE; e = l->edges.p[e].next) {
        struct edge *d = &l->edges.p[e];
        l->steps += 2; /* this loop, and that of `reduce` */
        if (!d->gone && e != from && l->ties.p[d->parent].seen == walk)
            d->gone = true;
        l->ties.p[d->parent].wanted = d->gone ? 0 : walk;
        left += !d->gone;
    }
    return left;
}

/* Sees all ancestors of `from`, or enough of them: `wanted` that are wanted. */
static int walk_up(struct we_lineage *l, uint32_t from, uint32_t walk, size_t wanted, struct upp_err *err)
{
    l->queue.n = 0;
    if (!wb_vec_push(&l->queue, from, WE_LINEAGE_NODES))
        return full(l, err);
    for (size_t i = 0; i < l->queue.n; i++)
        for (uint32_t e = l->ties.p[l->queue.p[i]].first; e != NO_EDGE; e = l->edges.p[e].next) {
            uint32_t parent = l->edges.p[e].parent;
            l->steps++;
            if (l->edges.p[e].gone || l->ties.p[parent].seen == walk)
                continue;
            l->ties.p[parent].seen = walk;
            if (l->ties.p[parent].wanted == walk && --wanted == 0)
                return 0;
            if (!wb_vec_push(&l->queue, parent, WE_LINEAGE_NODES))
                return full(l, err);
        }
    return 0;
}

/* Drops the parents that are ancestors of other parents. On the wire the nearest is the last: it is looked at first,
 * and usually the only one. */
static int reduce(struct we_lineage *l, uint32_t child, struct upp_err *err)
{
    uint32_t walk = ++l->walks, done = NO_EDGE;
    size_t left = drop_seen(l, child, NO_EDGE, walk);
    l->ties.p[child].seen = walk; /* in a circle it is its own ancestor */
    while (left > 1 && l->steps < l->max_steps) {
        uint32_t from = NO_EDGE; /* the last one that was not looked at */
        for (uint32_t e = l->ties.p[child].first; e != done && e != NO_EDGE; e = l->edges.p[e].next)
            if (!l->edges.p[e].gone)
                from = e;
        if (from == NO_EDGE)
            break;
        int r = walk_up(l, l->edges.p[from].parent, walk, left - 1, err);
        if (r < 0)
            return r;
        left = drop_seen(l, child, from, walk);
        done = from;
    }
    return 0;
}

/* Without those that are no direct parents, a log of long chains needs little memory. */
static void pack(struct we_lineage *l, uint32_t child, size_t from)
{
    uint32_t to = (uint32_t)from;
    for (size_t e = from; e < l->edges.n; e++)
        if (!l->edges.p[e].gone) {
            l->edges.p[to] = (struct edge){.parent = l->edges.p[e].parent, .next = to + 1};
            to++;
        }
    l->ties.p[child].last = to - 1;
    l->edges.p[to - 1].next = NO_EDGE;
    l->edges.n = to;
}

static int add_parents(struct we_lineage *l, uint32_t child, yyjson_val *parents, struct upp_err *err)
{
    size_t edges = l->edges.n, i, n;
    uint32_t walk = ++l->walks, parent;
    yyjson_val *v;
    yyjson_arr_foreach(parents, i, n, v)
    {
        struct upp_str text = wj_text_of(v);
        int r = text.n ? node_of(l, text, &parent, err) : 1;
        if (r == 0)
            r = add_edge(l, child, parent, walk, err);
        if (r < 0)
            return r;
    }
    if (l->edges.n - edges < 2)
        return 0;
    l->max_steps += STEPS_OF_A_PARENT * (l->edges.n - edges);
    int r = reduce(l, child, err);
    if (r >= 0)
        pack(l, child, edges);
    return r;
}

int we_lineage_add(struct we_lineage *l, yyjson_val *envelope, struct upp_err *err)
{
    yyjson_val *trace = yyjson_obj_get(envelope, "trace");
    struct upp_str id = wj_text_at(trace, "id");
    uint32_t node;
    int r = id.n ? node_of(l, id, &node, err) : 1;
    if (r != 0)
        return r < 0 ? r : 0;
    if (l->nodes.p[node].known)
        return 0;
    if (!wb_vec_room(&l->arrived, WE_LINEAGE_NODES))
        return full(l, err);
    r = fill(l, &l->nodes.p[node], envelope, err);
    if (r < 0)
        return r;
    l->arrived.p[l->arrived.n++] = node;
    r = add_parents(l, node, yyjson_obj_get(trace, "parents"), err);
    return r < 0 ? r : 1;
}

/* ---- The end of the log ----------------------------------------------------------------------------------- */

enum { WHITE, GREY, BLACK };

/* All nodes, parents before children. Edges that close a circle are dropped. `at`: the edge that is next, by node. */
struct sorting {
    uint32_t *order, *stack, *at;
    uint8_t *colour;
    size_t n, depth;
};

static void enter(struct we_lineage *l, struct sorting *s, uint32_t node)
{
    s->colour[node] = GREY;
    s->at[node] = l->ties.p[node].first;
    s->stack[s->depth++] = node;
}

static void visit(struct we_lineage *l, struct sorting *s, uint32_t root)
{
    if (s->colour[root] != WHITE)
        return;
    enter(l, s, root);
    while (s->depth) {
        uint32_t node = s->stack[s->depth - 1], e = s->at[node];
        if (e == NO_EDGE) {
            s->colour[node] = BLACK;
            s->order[s->n++] = node;
            s->depth--;
            continue;
        }
        struct edge *d = &l->edges.p[e];
        s->at[node] = d->next;
        if (!d->gone && s->colour[d->parent] == GREY) {
            d->gone = true;
            add_circle(l, node, d->parent);
        } else if (!d->gone && s->colour[d->parent] == WHITE)
            enter(l, s, d->parent);
    }
}

static int sort(struct we_lineage *l, struct sorting *s, struct upp_err *err)
{
    size_t n = l->nodes.n;
    s->order = wb_new_n(&l->arena, uint32_t, n + 1);
    s->stack = wb_new_n(&l->arena, uint32_t, n + 1);
    s->at = wb_new_n(&l->arena, uint32_t, n + 1);
    s->colour = wb_new_n(&l->arena, uint8_t, n + 1);
    int r = wb_arena_check(&l->arena, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < l->arrived.n; i++)
        visit(l, s, l->arrived.p[i]);
    for (uint32_t i = 0; i < n; i++)
        visit(l, s, i);
    return 0;
}

/* Parents and children as lists, in the order of trace.parents and of arrival. */
static int list(struct we_lineage *l, const struct sorting *s, struct upp_err *err)
{
    uint32_t up = 0, down = 0;
    l->up = wb_new_n(&l->arena, uint32_t, l->edges.n + 1);
    l->down = wb_new_n(&l->arena, uint32_t, l->edges.n + 1);
    int r = wb_arena_check(&l->arena, err);
    for (size_t i = 0; r >= 0 && i < s->n; i++) {
        struct we_lineage_node *n = &l->nodes.p[s->order[i]];
        n->up = up;
        for (uint32_t e = l->ties.p[s->order[i]].first; e != NO_EDGE; e = l->edges.p[e].next) {
            struct we_lineage_node *parent = &l->nodes.p[l->edges.p[e].parent];
            if (l->edges.p[e].gone)
                continue;
            l->up[up++] = l->edges.p[e].parent;
            n->depth = WB_MAX(n->depth, parent->depth + 1);
            parent->n_down++;
        }
        n->n_up = up - n->up;
    }
    for (size_t i = 0; r >= 0 && i < l->nodes.n; i++) {
        l->nodes.p[i].down = down;
        down += l->nodes.p[i].n_down;
        l->nodes.p[i].n_down = 0;
    }
    for (size_t i = 0; r >= 0 && i < l->arrived.n; i++)
        for (uint32_t k = 0; k < l->nodes.p[l->arrived.p[i]].n_up; k++) {
            struct we_lineage_node *parent = &l->nodes.p[l->up[l->nodes.p[l->arrived.p[i]].up + k]];
            l->down[parent->down + parent->n_down++] = l->arrived.p[i];
        }
    return r;
}

/* Adds the cost of what follows from the node, each once. 1, or 0: too many steps. */
static int add_up(struct we_lineage *l, uint32_t node, struct upp_err *err)
{
    struct we_lineage_node *n = &l->nodes.p[node];
    uint32_t walk = ++l->walks;
    l->queue.n = 0;
    if (!wb_vec_push(&l->queue, node, WE_LINEAGE_NODES))
        return full(l, err);
    for (size_t i = 0; i < l->queue.n; i++) {
        const struct we_lineage_node *m = &l->nodes.p[l->queue.p[i]];
        n->subtree_input += m->input_tokens;
        n->subtree_output += m->output_tokens;
        for (uint32_t k = 0; k < m->n_down; k++) {
            uint32_t child = l->down[m->down + k];
            if (++l->steps > l->max_steps)
                return 0;
            if (l->ties.p[child].seen == walk)
                continue;
            l->ties.p[child].seen = walk;
            if (!wb_vec_push(&l->queue, child, WE_LINEAGE_NODES))
                return full(l, err);
        }
    }
    return 1;
}

static int sum(struct we_lineage *l, const struct sorting *s, struct upp_err *err)
{
    uint8_t *joins = s->colour; /* something that follows from it has several parents: it must be counted once */
    memset(joins, 0, l->nodes.n);
    for (size_t i = s->n; i-- > 0;) {
        struct we_lineage_node *n = &l->nodes.p[s->order[i]];
        uint64_t input = n->input_tokens, output = n->output_tokens;
        for (uint32_t k = 0; k < n->n_down; k++) {
            const struct we_lineage_node *child = &l->nodes.p[l->down[n->down + k]];
            joins[s->order[i]] |= joins[l->down[n->down + k]] || child->n_up > 1 || !child->has_subtree;
            input += child->subtree_input;
            output += child->subtree_output;
        }
        if (joins[s->order[i]]) {
            int r = add_up(l, s->order[i], err);
            if (r < 0)
                return r;
            n->has_subtree = r > 0;
            continue;
        }
        n->subtree_input = input;
        n->subtree_output = output;
        n->has_subtree = true;
    }
    return 0;
}

int we_lineage_end(struct we_lineage *l, struct upp_err *err)
{
    struct sorting s = {0};
    int r = sort(l, &s, err);
    for (size_t i = 0; r >= 0 && i < s.n; i++) { /* those that arrived before their ancestors */
        uint32_t first = l->ties.p[s.order[i]].first;
        if (first != NO_EDGE && l->edges.p[first].next != NO_EDGE)
            r = reduce(l, s.order[i], err);
    }
    if (r >= 0)
        r = list(l, &s, err);
    return r < 0 ? r : sum(l, &s, err);
}

/* ---- Asking ------------------------------------------------------------------------------------------------ */

uint32_t we_lineage_find(const struct we_lineage *l, struct upp_str id)
{
    return wm_names_find(&l->names, id);
}

const struct we_lineage_node *we_lineage_node(const struct we_lineage *l, uint32_t node)
{
    return &l->nodes.p[node];
}

size_t we_lineage_count(const struct we_lineage *l)
{
    return l->nodes.n;
}

const uint32_t *we_lineage_parents(const struct we_lineage *l, uint32_t node, size_t *n)
{
    *n = l->nodes.p[node].n_up;
    return l->up + l->nodes.p[node].up;
}

const uint32_t *we_lineage_children(const struct we_lineage *l, uint32_t node, size_t *n)
{
    *n = l->nodes.p[node].n_down;
    return l->down + l->nodes.p[node].down;
}

const struct we_circle *we_lineage_circles(const struct we_lineage *l, size_t *n, uint64_t *all)
{
    *all = l->n_circles;
    *n = WB_MIN(l->n_circles, (uint64_t)WE_LINEAGE_CIRCLES);
    return l->circles;
}

/* Marks what can be reached from `self`, along parents or children. */
static void mark(const struct we_lineage *l, uint32_t self, bool up, uint8_t *relation, uint32_t *queue)
{
    size_t n = 0;
    queue[n++] = self;
    for (size_t i = 0; i < n; i++) {
        size_t count;
        const uint32_t *next = up ? we_lineage_parents(l, queue[i], &count) : we_lineage_children(l, queue[i], &count);
        for (size_t k = 0; k < count; k++)
            if (!relation[next[k]]) {
                relation[next[k]] = up ? WE_RELATION_ANCESTOR : WE_RELATION_DESCENDANT;
                queue[n++] = next[k];
            }
    }
}

int we_lineage_view(const struct we_lineage *l, uint32_t self, unsigned which, struct wb_arena *a,
                    struct we_lineage_view *ret, struct upp_err *err)
{
    size_t all = l->nodes.n;
    uint8_t *relation = wb_new_n(a, uint8_t, all + 1);
    uint32_t *nodes = wb_new_n(a, uint32_t, all + 1);
    uint32_t *unknown = wb_new_n(a, uint32_t, all + 1);
    int r = wb_arena_check(a, err);
    if (r < 0)
        return r;
    *ret =
        (struct we_lineage_view){.lineage = l, .self = self, .relation = relation, .nodes = nodes, .unknown = unknown};
    if (self == WE_NO_NODE)
        memset(relation, WE_RELATION_ANY, all);
    else {
        relation[self] = WE_RELATION_SELF;
        if (which & WE_ANCESTORS)
            mark(l, self, true, relation, nodes);
        if (which & WE_DESCENDANTS)
            mark(l, self, false, relation, nodes);
    }
    for (size_t i = 0; i < l->arrived.n; i++) {
        const struct we_lineage_node *n = &l->nodes.p[l->arrived.p[i]];
        if (!relation[l->arrived.p[i]])
            continue;
        nodes[ret->n++] = l->arrived.p[i];
        ret->input_tokens += n->input_tokens;
        ret->output_tokens += n->output_tokens;
    }
    for (uint32_t i = 0; i < all; i++)
        if (relation[i] && !l->nodes.p[i].known)
            unknown[ret->n_unknown++] = i;
    return 0;
}
