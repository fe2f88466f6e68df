/* dialects/uap/doc.c — UAP 1.0 sessions as documents.
 *
 * The model is the path from the root to the current node. It is written as the nodes from which it was read, otherwise
 * as one node. Other branches, checkpoints and their content are residue, and stay in their positions.
 */
#include <stdlib.h>

#include "base/err.h"
#include "dialects/upp/doc.h"
#include "json/value.h"
#include "model/session.h"

static int detect(yyjson_val *root)
{
    yyjson_val *tree = wd_last_at(root, "threadTree");
    if (!yyjson_is_arr(wd_last_at(tree, "nodes")))
        return 0;
    return wb_str_starts(wj_text_at(root, "version"), UPP_STR("1.")) ? 3 : 2;
}

struct node {
    uint32_t first, end;       /* its entries */
    struct upp_str id, parent; /* parent NULL: none */
    struct upp_str next;       /* its child on the path; NULL: none */
    struct upp_str slot;
    uint64_t rank; /* position among the nodes, if they were not in order from the root on */
};

static struct upp_str node_id(struct wd_lowering *l, uint32_t first)
{
    return wb_arena_numbered(&l->keep, UPP_STR("node-"), first);
}

/* Did a node begin with this entry when the document was read? */
static bool begins(struct wd_lowering *l, uint32_t i)
{
    struct upp_str slot = wd_slot_like(l, i, WD_UAP_NODE);
    return slot.p && l->doc->entries.p[i].e.kind != WM_ENTRY_EVENT && wd_span(l, i, slot.p, 0);
}

/* The first entry of the next node. */
static uint32_t end_of(struct wd_lowering *l, uint32_t first)
{
    uint32_t n = (uint32_t)l->doc->entries.n, i = first + 1;
    while (i < n && !begins(l, i))
        i++;
    return WB_MIN(i, n);
}

static void put_thread(struct wd_upp_out *t, const struct node *node)
{
    struct wd_lowering *l = t->l;
    wj_put_open(&l->w, "thread", '{');
    wd_member(l, "id", wb_arena_numbered(&l->keep, UPP_STR("thread-"), node->first));
    wj_put_open(&l->w, "messages", '[');
    for (uint32_t i = node->first; i < node->end && !l->w.failed && !l->w.out->failed;)
        i += wd_upp_put_message(t, i);
    wj_write_close(&l->w, ']');
    wd_member(l, "createdAt", wd_upp_created(l));
    wd_member(l, "updatedAt", wd_upp_updated(l));
    wj_write_close(&l->w, '}');
}

static void put_node(struct wd_upp_out *t, const struct node *node)
{
    struct wd_lowering *l = t->l;
    uint32_t entry = node->first < node->end ? node->first : WD_THREAD;
    if (entry != WD_THREAD)
        (void)wd_span(l, entry, node->slot.p, node->parent.p ? 0 : (uint32_t)l->doc->entries.n - entry);
    wd_open(l, entry, node->slot.p);
    wj_write_open(&l->w, '{');
    wd_member(l, "id", node->id);
    wd_member_or_null(l, "parentId", node->parent);
    put_thread(t, node);
    wj_put_open(&l->w, "children", '[');
    if (node->next.p)
        wj_write_str(&l->w, node->next);
    wj_write_close(&l->w, ']');
    wj_put_open(&l->w, "metadata", '{');
    wj_write_close(&l->w, '}');
    wj_write_close(&l->w, '}');
    wd_close(l);
}

static int by_rank(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : (x->first > y->first) - (x->first < y->first);
}

static void put_nodes(struct wd_upp_out *t, uint32_t first)
{
    struct wd_lowering *l = t->l;
    uint32_t n = (uint32_t)l->doc->entries.n;
    struct node node = {.first = first, .next = node_id(l, first)};
    WB_VEC(struct node) list = {0};
    do {
        node.id = node.next;
        node.end = node.first < n ? end_of(l, node.first) : n;
        node.next = node.end < n ? node_id(l, node.end) : (struct upp_str){0};
        /* Finds the slot, which contains the node's rank if it did not come after its parent. */
        struct upp_str slot = node.first < node.end ? wd_slot_like(l, node.first, WD_UAP_NODE) : (struct upp_str){0};
        node.slot = slot.p ? slot : UPP_STR(WD_UAP_NODE);
        node.rank = 0;
        (void)wb_str_u64(wb_str_sub(node.slot, sizeof WD_UAP_NODE, SIZE_MAX), &node.rank); /* after a dash; absent: 0 */
        if (!wb_vec_push(&list, node, (size_t)WM_DOC_ENTRIES + 1))
            wj_writer_fail(&l->w, upp_fail(l->w.err, UPP_ENOMEM, "no memory for a node"));
        node.first = node.end;
        node.parent = node.id;
    } while (node.next.p && !l->w.failed && !l->w.out->failed);
    if (list.n > 1)
        qsort(list.p, list.n, sizeof *list.p, by_rank);
    wj_write_open(&l->w, '[');
    for (size_t i = 0; i < list.n && !l->w.failed && !l->w.out->failed; i++)
        put_node(t, &list.p[i]);
    wj_write_close(&l->w, ']');
    wb_vec_done(&list);
}

static void put_tree(struct wd_upp_out *t)
{
    struct wd_lowering *l = t->l;
    uint32_t first = wd_upp_first(l), n = (uint32_t)l->doc->entries.n, last = first;
    for (uint32_t end = last; end < n; end = end_of(l, last))
        last = end;
    wj_put_open(&l->w, "threadTree", '{');
    wd_member(l, "rootId", node_id(l, first));
    wd_member(l, "currentId", node_id(l, last));
    wd_name(l, "nodes");
    put_nodes(t, first);
    wj_write_close(&l->w, '}');
}

static int lower(struct wd_lowering *l, struct upp_err *err)
{
    const struct wm_doc *d = l->doc;
    struct wd_upp_out t = {.l = l, .agent = UPP_STR("agent")};
    if (d->agents.n)
        t.agent = d->agents.p[0].id.p ? d->agents.p[0].id : d->agents.p[0].name;
    wd_open(l, WD_THREAD, "session");
    wj_write_open(&l->w, '{');
    wd_member(l, "version", UPP_STR(WM_SESSION_VERSION));
    wd_member(l, "id", d->id.n ? d->id : UPP_STR("session"));
    wd_member(l, "agentId", t.agent);
    wd_member(l, "createdAt", wd_upp_created(l));
    wd_member(l, "updatedAt", wd_upp_updated(l));
    put_tree(&t);
    wj_put_open(&l->w, "checkpoints", '[');
    wj_write_close(&l->w, ']');
    wd_upp_put_about(&t, true);
    wj_write_close(&l->w, '}');
    wd_close(l);
    wd_upp_out_done(&t);
    return wb_arena_check(&l->keep, err);
}

const struct wd_document_ops wd_document_uap = {.name = "uap",
                                                .title = "session of UAP 1.0",
                                                .detect = detect,
                                                .validate = wd_uap_validate,
                                                .half = WD_WARNING,
                                                .half_rule = "UAP-13.1",
                                                .lift = wd_uap_lift,
                                                .lower = lower};
