/* dialects/uap/lift.c — lifts the path of a session into the model.
 *
 * The path is followed by ids as far as possible: a tree with mistakes gives as much of it as can be found.
 */
#include <stdlib.h>

#include "base/err.h"
#include "dialects/upp/doc.h"
#include "json/value.h"
#include "model/session.h"

struct path {
    struct wd_upp_in in;
    struct wm_names ids;
    yyjson_val **nodes; /* by the number of their id */
    yyjson_val **list;  /* from the current node to the root */
    size_t n;
    yyjson_val **ranks; /* `list` in document order, if that is not from the root on; otherwise NULL */
};

/* Returns the node with that id, but only once: this ends a cycle. */
static yyjson_val *take_node(struct path *t, struct upp_str id)
{
    uint32_t at = id.p ? wm_names_find(&t->ids, id) : UINT32_MAX;
    return at == UINT32_MAX ? NULL : WB_TAKE(t->nodes[at]);
}

static int read_ids(struct path *t, yyjson_val *list)
{
    struct wb_arena *a = t->in.l->a;
    size_t n = yyjson_arr_size(list), i, max;
    yyjson_val *v;
    uint32_t at;
    if (n > WM_SESSION_NODES)
        return upp_fail(t->in.err, UPP_ELIMIT, "expected at most %d nodes, found %zu", WM_SESSION_NODES, n);
    t->nodes = wb_new_n(a, yyjson_val *, n + 1);
    t->list = wb_new_n(a, yyjson_val *, n + 1);
    if (!t->nodes || !t->list)
        return wb_arena_check(a, t->in.err);
    yyjson_arr_foreach(list, i, max, v)
    {
        struct upp_str id = wj_text_at(v, "id");
        int r = id.p ? wm_names_add(&t->ids, id, &at, t->in.err) : 0;
        if (r < 0)
            return r;
        if (r > 0)
            t->nodes[at] = v;
    }
    return 0;
}

static yyjson_val *first_node(yyjson_val *tree)
{
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(wd_last_at(tree, "nodes"), i, n, v)
    {
        if (yyjson_is_obj(v))
            return v;
    }
    return NULL;
}

static int by_position(const void *a, const void *b)
{
    const yyjson_val *const *x = a, *const *y = b;
    return (*x > *y) - (*x < *y);
}

static int find_ranks(struct path *t)
{
    size_t i = 1;
    while (i < t->n && t->list[i] < t->list[i - 1])
        i++;
    if (i >= t->n)
        return 0;
    t->ranks = wb_new_n(t->in.l->a, yyjson_val *, t->n);
    if (!t->ranks)
        return wb_arena_check(t->in.l->a, t->in.err);
    memcpy(t->ranks, t->list, t->n * sizeof *t->list);
    qsort(t->ranks, t->n, sizeof *t->ranks, by_position);
    return 0;
}

/* NULL: out of memory. */
static const char *slot_of(struct path *t, yyjson_val *node)
{
    if (!t->ranks)
        return WD_UAP_NODE;
    yyjson_val **at = bsearch(&node, t->ranks, t->n, sizeof *t->ranks, by_position);
    return wb_arena_numbered(t->in.l->a, UPP_STR(WD_UAP_NODE "-"), (uint64_t)(at - t->ranks)).p;
}

/* How many messages of its parent the node sees. */
static size_t seen(yyjson_val *child)
{
    yyjson_val *v = yyjson_obj_get(yyjson_obj_get(child, "metadata"), "uap.branchPoint");
    uint64_t n = 0;
    return v && yyjson_is_raw(v) && wb_str_u64(wj_text(v), &n) ? (size_t)n : SIZE_MAX;
}

static int lift_node(struct path *t, yyjson_val *node, yyjson_val *child)
{
    struct wm_doc *doc = t->in.l->doc;
    yyjson_val *list = wd_last_at(wd_last_at(node, "thread"), "messages"), *v;
    int r = wd_upp_lift_events(&t->in, yyjson_obj_get(node, "metadata"));
    size_t first = doc->entries.n, most = child ? seen(child) : SIZE_MAX, i, max;
    wd_upp_lift_reserve(&t->in, WB_MIN(yyjson_arr_size(list), most));
    yyjson_arr_foreach(list, i, max, v)
    {
        if (r >= 0 && i < most)
            r = wd_upp_lift_message(&t->in, v);
    }
    if (r >= 0)
        r = wd_upp_lift_end(&t->in);
    size_t n = doc->entries.n - first;
    if (r < 0 || !n)
        return r;
    const char *slot = slot_of(t, node);
    return slot ? wd_anchor(t->in.l, node, slot, first, n, t->in.err) : wb_arena_check(t->in.l->a, t->in.err);
}

static int lift_path(struct path *t, yyjson_val *tree)
{
    uint32_t agent;
    int r = wd_agent_of(t->in.l, t->in.agent, (struct upp_str){0}, &agent, t->in.err);
    size_t before = t->in.l->doc->entries.n;
    if (r >= 0)
        r = read_ids(t, wd_last_at(tree, "nodes"));
    if (r < 0)
        return r;
    t->in.default_agent = t->in.l->doc->agents.p[0].id;
    t->in.nameless = true;
    /* Follows the parents from the current node up. */
    yyjson_val *v = take_node(t, wj_text_at(tree, "currentId"));
    if (!v)
        v = take_node(t, wj_text_at(tree, "rootId"));
    if (!v) {
        v = first_node(tree);
        (void)take_node(t, wj_text_at(v, "id"));
    }
    for (; v && yyjson_is_obj(v); v = take_node(t, wj_text_at(v, "parentId")))
        t->list[t->n++] = v;
    r = find_ranks(t);
    for (size_t i = t->n; i && r >= 0; i--)
        r = lift_node(t, t->list[i - 1], i > 1 ? t->list[i - 2] : NULL);
    wd_upp_lift_finish(&t->in);
    if (r >= 0 && t->in.l->doc->entries.n == before && t->n) /* no messages: anchors only the root */
        r = wd_anchor(t->in.l, t->list[t->n - 1], WD_UAP_NODE, WD_THREAD, 0, t->in.err);
    return r;
}

static int lift_session(struct path *t, yyjson_val *root)
{
    struct wm_doc *doc = t->in.l->doc;
    t->in.agent = wj_text_at(root, "agentId");
    if (!t->in.agent.n)
        t->in.agent = (struct upp_str){0};
    doc->id = wj_text_at(root, "id");
    doc->created = wj_text_at(root, "createdAt");
    doc->updated = wj_text_at(root, "updatedAt");
    int r = wd_upp_lift_about(&t->in, yyjson_obj_get(root, "metadata"));
    if (r >= 0)
        r = lift_path(t, wd_last_at(root, "threadTree"));
    return r < 0 ? r : wd_anchor(t->in.l, root, "session", WD_THREAD, 0, t->in.err);
}

int wd_uap_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    struct upp_err why = {0};
    struct path t = {.in = {.l = l, .err = &why, .scratch = WB_BUF(WD_DOC_BYTES)}};
    int r = first_node(wd_last_at(root, "threadTree"))
                ? lift_session(&t, root)
                : upp_fail(&why, UPP_EINVALID, "expected a session of UAP: a 'threadTree' with 'nodes'");
    wd_upp_in_done(&t.in);
    wm_names_done(&t.ids);
    if (r < 0 && err)
        *err = why;
    return r;
}
