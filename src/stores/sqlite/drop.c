/* stores/sqlite/drop.c — changes in place and deletions, inside the writer's transaction.
 *
 * Rows of the log are numbered in order of arrival, and readers that follow the log remember a number. SQLite would
 * reuse the number of the newest row after its deletion, so a row without a tenant keeps that number taken.
 */
#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

static struct upp_str family_of(const struct wb_uuid *tree)
{
    return wb_str((const char *)tree->b, 4);
}

static int set_texts(struct ws_sqlite *s, int64_t tenant, const struct wl_node *n, struct upp_str origin,
                     struct upp_err *err)
{
    return WS_DO(s, WS_SET_BRANCH, err, WS_N(tenant), WS_N(n->key), WS_S(n->name), WS_S(n->metadata), WS_S(origin));
}

/* Nodes below a stray thread (created before there were families) are strays too, under the same families. The tree of
 * a sub-thread has the sub-thread's id. */
static int stray_as_tree(struct ws_sqlite *s, int64_t tenant, const struct wl_node *n, struct upp_err *err)
{
    struct wb_uuid own = {{0}};
    for (int i = 0; i < 4; i++)
        own.b[i] = (unsigned char)(n->key >> (56 - 8 * i));
    return s->strays ? WS_DO(s, WS_STRAY_NODE_AS, err, WS_N(tenant), WS_I(&n->tree), WS_N(ws_signed_key(n->key)),
                             WS_A(family_of(&own)))
                     : 0;
}

int ws_add_branch(struct ws_sqlite *s, int64_t tenant, const struct wl_node *n, struct upp_err *err)
{
    int r = 0;
    if (n->key >> 32 != wl_family(n->tree))
        r = WS_DO(s, WS_ADD_STRAY_NODE, err, WS_N(tenant), WS_A(family_of(&n->tree)), WS_N(ws_signed_key(n->key)));
    if (r >= 0)
        r = stray_as_tree(s, tenant, n, err);
    if (r >= 0 && (n->name.p || n->metadata.p || n->origin.p))
        r = set_texts(s, tenant, n, n->origin, err);
    return r;
}

int ws_add_stray_thread(struct ws_sqlite *s, int64_t tenant, const struct wl_thread *t, struct upp_err *err)
{
    int r = 0;
    if (s->strays && !wb_uuid_is_nil(t->parent))
        r = WS_DO(s, WS_STRAY_THREAD_AS, err, WS_N(tenant), WS_I(&t->parent), WS_I(&t->id));
    if (r < 0 || wl_family(t->id) == wl_family(t->tree))
        return r;
    s->strays = true;
    return WS_DO(s, WS_ADD_STRAY_THREAD, err, WS_N(tenant), WS_A(family_of(&t->tree)), WS_I(&t->id));
}

int ws_set_node(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    int r = ws_change_is_node(s, tenant, c->node->key, err);
    if (r != 1)
        return r < 0 ? r : ws_no_node(err, c->node->key);
    return set_texts(s, tenant, c->node, (struct upp_str){NULL, 0}, err);
}

/* Drops the references of rows from..to (inclusive) of a node. */
static int forget_refs(struct ws_sqlite *s, int64_t tenant, uint64_t node, uint64_t from, uint64_t to,
                       struct upp_err *err)
{
    int r = WS_DO(s, WS_FREE_BLOBS, err, WS_N(tenant), WS_N(node), WS_N(from), WS_N(to), WS_N(s->now_ms));
    return r < 0 ? r : WS_DO(s, WS_FORGET_REFS, err, WS_N(tenant), WS_N(node), WS_N(from), WS_N(to));
}

int ws_set_row(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    const struct wl_row *row = c->row;
    int r = WS_DO(s, WS_ROW_IS, err, WS_N(tenant), WS_N(row->node), WS_N(row->pos));
    if (r != 1)
        return r < 0 ? r : ws_no_row(err, row);
    sqlite3_stmt *st = ws_row_of(s, WS_ROW_IS);
    uint64_t entries = (uint64_t)sqlite3_column_int64(st, 3);
    r = ws_row_whole(s, st, "log", WS_LOG_COLUMNS, err);
    (void)sqlite3_reset(st);
    if (r < 0)
        return r;
    ws_rows_changed(s);
    r = WS_DO(s, WS_SET_ROW, err, WS_N(tenant), WS_N(row->node), WS_N(row->pos), WS_N(row->format), WS_S(row->body),
              WS_S(row->tape));
    if (r >= 0)
        r = forget_refs(s, tenant, row->node, row->pos, row->pos, err);
    uint64_t first = wl_pos_index(row->pos);
    return r < 0 || !entries ? r : ws_forget_words(s, tenant, row->node, first, first + entries, err);
}

int ws_drop_thread(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    const struct wl_thread *t = c->thread;
    int r = WS_DO(s, WS_DROP_THREAD, err, WS_N(tenant), WS_I(&t->id), WS_N(t->version));
    if (r >= 0 && !ws_changed(s))
        return ws_change_why_not(s, WS_THREAD_VERSION, tenant, "thread", &t->id, t->version, err);
    if (r >= 0)
        r = WS_DO(s, WS_DROP_ALIASES_OF, err, WS_N(tenant), WS_I(&t->id));
    return r < 0 ? r : WS_DO(s, WS_DROP_STRAY_THREAD, err, WS_N(tenant), WS_I(&t->id));
}

int ws_drop_run(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    int r = WS_DO(s, WS_DROP_RUN, err, WS_N(tenant), WS_I(&c->run->id));
    if (r >= 0 && ws_changed(s))
        return WS_DO(s, WS_DROP_ALIASES_OF, err, WS_N(tenant), WS_I(&c->run->id));
    if (r < 0)
        return r;
    r = ws_change_why_not(s, WS_RUN_VERSION, tenant, "run", &c->run->id, 0, err);
    return r == -UPP_EBUSY ? ws_run_lives(err, c->run->id) : r;
}

int ws_drop_alias(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    return ws_do_with(s, WS_DROP_ALIAS, tenant, &s->user, &ws_aliases, 2, c->alias, err);
}

/* Does another node have it as parent? Such a node is of the same tree, so among those of the tree's family. */
static int has_children(struct ws_sqlite *s, int64_t tenant, uint64_t key, const struct wb_uuid *tree,
                        struct upp_err *err)
{
    const uint64_t low = (uint64_t)wl_family(*tree) << 32;
    struct ws_arg own[] = {WS_N(tenant), WS_N(key), WS_N(low), WS_N(low | UINT32_MAX)};
    struct ws_arg stray[] = {WS_N(tenant), WS_N(key), WS_A(family_of(tree))};
    int64_t one;
    int r = ws_do_number(s, WS_NODE_UNDER, own, WB_LEN(own), &one, err);
    return r != 0 ? r : ws_do_number(s, WS_STRAY_UNDER, stray, WB_LEN(stray), &one, err);
}

static int drop_rows(struct ws_sqlite *s, int64_t tenant, uint64_t key, struct upp_err *err)
{
    int64_t before, after = 0;
    int r = ws_do_number(s, WS_LOG_NEWEST, NULL, 0, &before, err);
    if (r >= 0)
        r = WS_DO(s, WS_DROP_ROWS, err, WS_N(tenant), WS_N(key));
    if (r >= 0)
        r = ws_do_number(s, WS_LOG_NEWEST, NULL, 0, &after, err);
    return r < 0 || after == before ? r : WS_DO(s, WS_LOG_KEEP, err, WS_N(before));
}

static int may_drop(struct ws_sqlite *s, int64_t tenant, uint64_t key, struct upp_err *err)
{
    int r = WS_DO(s, WS_NODE_HELD, err, WS_N(tenant), WS_N(key));
    if (r != 1)
        return r < 0 ? r : ws_no_node(err, key);
    struct wb_uuid tree = ws_column_id(ws_row_of(s, WS_NODE_HELD), 0);
    bool held = sqlite3_column_type(ws_row_of(s, WS_NODE_HELD), 1) != SQLITE_NULL;
    (void)sqlite3_reset(ws_row_of(s, WS_NODE_HELD));
    if (held)
        return ws_node_stays(err, key, "a run holds it");
    r = has_children(s, tenant, key, &tree, err);
    return r == 1 ? ws_node_stays(err, key, "another node stands on it") : r;
}

int ws_drop_node(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    const uint64_t key = c->node->key;
    int r = may_drop(s, tenant, key, err);
    if (r < 0)
        return r;
    ws_change_forget_end(s, tenant, key);
    ws_rows_changed(s);
    r = ws_forget_words(s, tenant, key, 0, INT64_MAX, err);
    if (r >= 0)
        r = forget_refs(s, tenant, key, 0, INT64_MAX, err);
    if (r >= 0)
        r = drop_rows(s, tenant, key, err);
    if (r >= 0)
        r = WS_DO(s, WS_DROP_BRANCH, err, WS_N(tenant), WS_N(key));
    if (r >= 0)
        r = WS_DO(s, WS_DROP_STRAY_NODE, err, WS_N(tenant), WS_N(ws_signed_key(key)));
    return r < 0 ? r : WS_DO(s, WS_DROP_NODE, err, WS_N(tenant), WS_N(key));
}
