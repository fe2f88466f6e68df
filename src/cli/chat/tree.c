/* cli/chat/tree.c — /tree and /switch: the branches of the conversation. */
#include <stdio.h>

#include "base/defs.h"
#include "cli/chat/chat.h"
#include "cli/tree_view.h"
#include "json/value.h"

/* The tree that the server describes, as it is drawn. */

static uint32_t index_of(const struct wa_tree_summary *l, struct upp_str id)
{
    struct wb_uuid u;
    if (!id.n || !wb_uuid_parse(id, &u))
        return UINT32_MAX;
    for (uint32_t i = 0; i < l->n; i++)
        if (wb_uuid_eq(l->nodes[i].node.id, u))
            return i;
    return UINT32_MAX;
}

static void read_threads(struct wb_arena *a, struct wa_summary_node *n, yyjson_val *list)
{
    yyjson_val *t;
    size_t i, max;
    n->threads = wb_new_n(a, struct wa_summary_thread, yyjson_arr_size(list) + 1);
    yyjson_arr_foreach(list, i, max, t)
    {
        if (!n->threads || !wl_id_parse(wj_text_at(t, "id"), UPP_STR("thread_"), &n->threads[n->n_threads].id))
            continue;
        n->threads[n->n_threads++].messages = (uint32_t)cli_number_at(t, "messages");
    }
}

static void read_node(struct wb_arena *a, struct wa_tree_summary *l, yyjson_val *v)
{
    struct wa_summary_node *n = &l->nodes[l->n];
    *n = (struct wa_summary_node){.branch = (uint32_t)cli_number_at(v, "branch_point"),
                                  .messages = (uint32_t)cli_number_at(v, "messages"),
                                  .words = wj_text_at(v, "text"),
                                  .n_checkpoints = yyjson_arr_size(yyjson_obj_get(v, "checkpoints"))};
    (void)wb_uuid_parse(wj_text_at(v, "id"), &n->node.id);
    n->node.name = wj_text_at(v, "name");
    if (yyjson_is_true(yyjson_obj_get(v, "imported")))
        n->node.origin = UPP_STR("");
    n->parent = index_of(l, wj_text_at(v, "parent_id")); /* parents come before their children */
    l->n_checkpoints += n->n_checkpoints;
    read_threads(a, n, yyjson_obj_get(v, "threads"));
    l->n++;
}

static void link_children(struct wb_arena *a, struct wa_tree_summary *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        struct wa_summary_node *p = l->nodes[i].parent < l->n ? &l->nodes[l->nodes[i].parent] : NULL;
        if (p && !p->children)
            p->children = wb_new_n(a, uint32_t, l->n);
        if (p && p->children)
            p->children[p->n_children++] = i;
    }
}

WEFT_SUSPENDS static int get_tree(struct cli_chat *c, struct wl_thread *t, struct wa_tree_summary *l,
                                  struct upp_err *err)
{
    struct upp_str path;
    yyjson_val *v, *node;
    size_t i, max;
    *t = (struct wl_thread){0};
    *l = (struct wa_tree_summary){0};
    int r = cli_chat_path(c, "/tree", &path, err);
    if (r >= 0)
        r = cli_chat_call(c, "GET", path, NULL, &v, err);
    if (r < 0)
        return r;
    yyjson_val *list = yyjson_obj_get(v, "nodes");
    l->nodes = wb_new_n(&c->arena, struct wa_summary_node, yyjson_arr_size(list) + 1);
    yyjson_arr_foreach(list, i, max, node)
    {
        if (l->nodes)
            read_node(&c->arena, l, node);
    }
    link_children(&c->arena, l);
    (void)wl_id_parse(wj_text_at(v, "thread_id"), UPP_STR("thread_"), &t->id);
    l->root = index_of(l, wj_text_at(v, "root_id"));
    l->current = index_of(l, wj_text_at(v, "current_id"));
    l->messages = (uint32_t)cli_number_at(v, "current_messages");
    r = wb_arena_check(&c->arena, err);
    return r < 0 || l->root < l->n ? r : upp_fail(err, UPP_EPROTO, "the server's tree has no root");
}

WEFT_SUSPENDS int cli_chat_tree(struct cli_chat *c, struct upp_str rest, struct upp_err *err)
{
    struct wl_thread t;
    struct wa_tree_summary l;
    (void)rest;
    int r = get_tree(c, &t, &l, err);
    if (r < 0)
        return r;
    r = cli_draw_tree(stdout, &t, &l, &(struct cli_drawing){.utf8 = c->view.utf8, .numbers = true}, err);
    (void)fflush(stdout);
    return r;
}

WEFT_SUSPENDS int cli_chat_switch(struct cli_chat *c, struct upp_str to, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(4096);
    struct wl_thread t;
    struct wa_tree_summary l;
    struct upp_str path;
    yyjson_val *v;
    uint64_t n;
    char id[WB_UUID_TEXT + 1];
    if (to.n && !wb_str_u64(to, &n))
        return cli_chat_enter(c, to, err);
    if (!to.n)
        return cli_chat_tree(c, to, err);
    int r = get_tree(c, &t, &l, err);
    if (r >= 0 && (n < 1 || n > l.n))
        r = upp_fail(err, UPP_ENOTFOUND, "there is no node %llu: /tree shows their numbers", (unsigned long long)n);
    if (r >= 0)
        r = cli_chat_body(&body, "node_id", wb_uuid_text(l.nodes[n - 1].node.id, id), err);
    if (r >= 0)
        r = cli_chat_path(c, "/checkout", &path, err);
    if (r >= 0)
        r = cli_chat_call(c, "POST", path, &body, &v, err);
    return r < 0 ? r : cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "at the end of node %llu", (unsigned long long)n);
}
