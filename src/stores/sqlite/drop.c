/* stores/sqlite/drop.c — what is changed in place and what is deleted, inside the writer's transaction.
 *
 * Rows of the log are numbered as they come, and whoever follows it remembers a number. SQLite would give the number of
 * the newest row again when that is deleted, so a row that belongs to nobody keeps it.
 */
#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

/* Each statement here begins with the tenant and one number or id. */
static int need(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, uint64_t key, sqlite3_stmt **ret,
                struct upp_err *err)
{
    int r = ws_change_need(s, i, ret, err);
    if (r < 0)
        return r;
    ws_bind_u64(*ret, 1, (uint64_t)tenant);
    ws_bind_u64(*ret, 2, key);
    return 0;
}

static int need_by_id(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, const struct wb_uuid *id,
                      sqlite3_stmt **ret, struct upp_err *err)
{
    int r = ws_change_need(s, i, ret, err);
    if (r < 0)
        return r;
    ws_bind_u64(*ret, 1, (uint64_t)tenant);
    ws_bind_id(*ret, 2, id);
    return 0;
}

static int drop_by_key(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, uint64_t key, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = need(s, i, tenant, key, &st, err);
    return r < 0 ? r : ws_change_run(s, st, err);
}

/* ---- Families and branches ------------------------------------------------------------------------- */

static struct upp_str family_of(const struct wb_uuid *tree)
{
    return wb_str((const char *)tree->b, 4);
}

static int keep_texts(struct ws_sqlite *s, int64_t tenant, const struct wl_node *n, struct upp_str origin,
                      struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = need(s, WS_SET_BRANCH, tenant, n->key, &st, err);
    if (r < 0)
        return r;
    ws_bind_str(st, 3, n->name);
    ws_bind_str(st, 4, n->metadata);
    ws_bind_str(st, 5, origin);
    return ws_change_run(s, st, err);
}

/* Below a thread that is a stray (it is from before there were families) what comes is one too, under the same
 * families. The tree of a sub thread has the sub thread's id. */
static int stray_as_tree(struct ws_sqlite *s, int64_t tenant, const struct wl_node *n, struct upp_err *err)
{
    sqlite3_stmt  *st;
    struct wb_uuid own = {{0}};
    int            r   = s->strays ? need_by_id(s, WS_STRAY_NODE_AS, tenant, &n->tree, &st, err) : 0;
    if (r < 0 || !s->strays)
        return r;
    for (int i = 0; i < 4; i++)
        own.b[i] = (unsigned char)(n->key >> (56 - 8 * i));
    ws_bind_u64(st, 3, (uint64_t)ws_place(n->key));
    ws_bind_name(st, 4, family_of(&own));
    return ws_change_run(s, st, err);
}

static int stray_as_parent(struct ws_sqlite *s, int64_t tenant, const struct wl_thread *t, struct upp_err *err)
{
    sqlite3_stmt *st;
    if (!s->strays || ws_none(t->parent))
        return 0;
    int r = need_by_id(s, WS_STRAY_THREAD_AS, tenant, &t->parent, &st, err);
    if (r < 0)
        return r;
    ws_bind_id(st, 3, &t->id);
    return ws_change_run(s, st, err);
}

int ws_keep_branch(struct ws_sqlite *s, int64_t tenant, const struct wl_node *n, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = 0;
    if (n->key >> 32 != wl_family(n->tree)) {
        r = ws_change_need(s, WS_ADD_STRAY_NODE, &st, err);
        if (r < 0)
            return r;
        ws_bind_u64(st, 1, (uint64_t)tenant);
        ws_bind_name(st, 2, family_of(&n->tree));
        ws_bind_u64(st, 3, (uint64_t)ws_place(n->key));
        r = ws_change_run(s, st, err);
    }
    if (r >= 0)
        r = stray_as_tree(s, tenant, n, err);
    if (r >= 0 && (n->name.p || n->metadata.p || n->origin.p))
        r = keep_texts(s, tenant, n, n->origin, err);
    return r;
}

int ws_keep_stray_thread(struct ws_sqlite *s, int64_t tenant, const struct wl_thread *t, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = stray_as_parent(s, tenant, t, err);
    if (r < 0 || wl_family(t->id) == wl_family(t->tree))
        return r;
    s->strays = true;
    r         = ws_change_need(s, WS_ADD_STRAY_THREAD, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, (uint64_t)tenant);
    ws_bind_name(st, 2, family_of(&t->tree));
    ws_bind_id(st, 3, &t->id);
    return ws_change_run(s, st, err);
}

int ws_set_node(struct ws_sqlite *s, int64_t tenant, const struct wl_node *n, struct upp_err *err)
{
    int r = ws_change_is_node(s, tenant, n->key, err);
    if (r != 1)
        return r < 0 ? r : ws_no_node(err, n->key);
    return keep_texts(s, tenant, n, (struct upp_str){NULL, 0}, err);
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

/* What rows from..to (both included) of a node referred to. */
static int forget_refs(struct ws_sqlite *s, int64_t tenant, uint64_t node, uint64_t from, uint64_t to,
                       struct upp_err *err)
{
    static const enum ws_statement both[] = {WS_FREE_BLOBS, WS_FORGET_REFS};
    int                            r      = 0;
    for (size_t i = 0; r >= 0 && i < 2; i++) {
        sqlite3_stmt *st;
        r = need(s, both[i], tenant, node, &st, err);
        if (r < 0)
            break;
        ws_bind_u64(st, 3, from);
        ws_bind_u64(st, 4, to);
        if (both[i] == WS_FREE_BLOBS)
            ws_bind_u64(st, 5, (uint64_t)s->now_ms);
        r = ws_change_run(s, st, err);
    }
    return r;
}

int ws_forget_words(struct ws_sqlite *s, int64_t tenant, uint64_t node, uint64_t from, uint64_t to, struct upp_err *err)
{
    static const enum ws_statement both[] = {WS_FORGET_TEXT, WS_FORGET_WORDS};
    int                            r      = 0;
    for (size_t i = 0; r >= 0 && i < 2; i++) {
        sqlite3_stmt *st;
        r = need(s, both[i], tenant, node, &st, err);
        if (r < 0)
            break;
        ws_bind_u64(st, 3, from);
        ws_bind_u64(st, 4, to);
        r = ws_change_run(s, st, err);
    }
    if (r >= 0 && sqlite3_changes(s->writer.db) > 0)
        s->tidy = false;
    return r;
}

int ws_set_row(struct ws_sqlite *s, int64_t tenant, const struct wl_row *row, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = need(s, WS_ROW_IS, tenant, row->node, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 3, row->pos);
    r                = ws_step(s, st, err);
    uint64_t entries = r == 1 ? (uint64_t)sqlite3_column_int64(st, 3) : 0;
    int      whole   = r == 1 ? ws_row_whole(s, st, "log", WS_LOG_COLUMNS, err) : 0;
    (void)sqlite3_reset(st);
    if (r != 1 || whole < 0)
        return r < 0 ? r : whole < 0 ? whole : ws_no_row(err, row);
    r = need(s, WS_SET_ROW, tenant, row->node, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 3, row->pos);
    ws_bind_u64(st, 4, row->format);
    ws_bind_str(st, 5, row->body);
    ws_bind_str(st, 6, row->tape);
    ws_forgot(s);
    r = ws_change_run(s, st, err);
    if (r >= 0)
        r = forget_refs(s, tenant, row->node, row->pos, row->pos, err);
    uint64_t first = wl_pos_index(row->pos);
    return r < 0 || !entries ? r : ws_forget_words(s, tenant, row->node, first, first + entries, err);
}

/* ---- Threads, runs, aliases ------------------------------------------------------------------------ */

int ws_drop_thread(struct ws_sqlite *s, int64_t tenant, const struct wl_thread *t, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = need_by_id(s, WS_DROP_THREAD, tenant, &t->id, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 3, t->version);
    r = ws_change_run(s, st, err);
    if (r >= 0 && !ws_changed(s))
        return ws_change_why_not(s, WS_THREAD_VERSION, tenant, "thread", &t->id, t->version, err);
    static const enum ws_statement also[] = {WS_DROP_ALIASES_OF, WS_DROP_STRAY_THREAD};
    for (size_t i = 0; r >= 0 && i < 2; i++) {
        r = need_by_id(s, also[i], tenant, &t->id, &st, err);
        if (r >= 0)
            r = ws_change_run(s, st, err);
    }
    return r;
}

int ws_drop_run(struct ws_sqlite *s, int64_t tenant, const struct wm_run *run, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = need_by_id(s, WS_DROP_RUN, tenant, &run->id, &st, err);
    if (r >= 0)
        r = ws_change_run(s, st, err);
    if (r < 0 || ws_changed(s))
        return r;
    r = ws_change_why_not(s, WS_RUN_VERSION, tenant, "run", &run->id, 0, err);
    return r == -UPP_EBUSY ? ws_run_lives(err, run->id) : r;
}

int ws_drop_alias(struct ws_sqlite *s, int64_t tenant, struct upp_str user, const struct wl_alias *a,
                  struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = ws_change_need(s, WS_DROP_ALIAS, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, (uint64_t)tenant);
    ws_bind_name(st, 2, user);
    ws_bind_u64(st, 3, a->kind);
    ws_bind_name(st, 4, a->text);
    return ws_change_run(s, st, err);
}

/* ---- Nodes ----------------------------------------------------------------------------------------- */

/* Does another node stand on it? It is of the same tree, so among those of the tree's family. */
static int has_children(struct ws_sqlite *s, int64_t tenant, uint64_t key, const struct wb_uuid *tree,
                        struct upp_err *err)
{
    sqlite3_stmt  *st;
    const uint64_t low = (uint64_t)wl_family(*tree) << 32;
    int            r   = need(s, WS_NODE_UNDER, tenant, key, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 3, low);
    ws_bind_u64(st, 4, low | UINT32_MAX);
    r = ws_step(s, st, err);
    (void)sqlite3_reset(st);
    if (r != 0)
        return r;
    r = need(s, WS_STRAY_UNDER, tenant, key, &st, err);
    if (r < 0)
        return r;
    ws_bind_name(st, 3, family_of(tree));
    r = ws_step(s, st, err);
    (void)sqlite3_reset(st);
    return r;
}

static int newest_row(struct ws_sqlite *s, int64_t *ret, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = ws_change_need(s, WS_LOG_NEWEST, &st, err);
    if (r < 0)
        return r;
    r    = ws_step(s, st, err);
    *ret = r == 1 ? sqlite3_column_int64(st, 0) : 0;
    (void)sqlite3_reset(st);
    return r < 0 ? r : 0;
}

static int drop_rows(struct ws_sqlite *s, int64_t tenant, uint64_t key, struct upp_err *err)
{
    int64_t before, after;
    int     r = newest_row(s, &before, err);
    if (r >= 0)
        r = drop_by_key(s, WS_DROP_ROWS, tenant, key, err);
    if (r >= 0)
        r = newest_row(s, &after, err);
    if (r < 0 || after == before)
        return r;
    sqlite3_stmt *st;
    r = ws_change_need(s, WS_LOG_KEEP, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, (uint64_t)before);
    return ws_change_run(s, st, err);
}

static int may_drop(struct ws_sqlite *s, int64_t tenant, uint64_t key, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = need(s, WS_NODE_HELD, tenant, key, &st, err);
    if (r < 0)
        return r;
    r                   = ws_step(s, st, err);
    struct wb_uuid tree = r == 1 ? ws_column_id(st, 0) : (struct wb_uuid){{0}};
    bool           held = r == 1 && sqlite3_column_type(st, 1) != SQLITE_NULL;
    (void)sqlite3_reset(st);
    if (r != 1)
        return r < 0 ? r : ws_no_node(err, key);
    if (held)
        return ws_node_stays(err, key, "a run holds it");
    r = has_children(s, tenant, key, &tree, err);
    return r == 1 ? ws_node_stays(err, key, "another node stands on it") : r;
}

int ws_drop_node(struct ws_sqlite *s, int64_t tenant, uint64_t key, struct upp_err *err)
{
    int r = may_drop(s, tenant, key, err);
    if (r < 0)
        return r;
    ws_change_forget_end(s, tenant, key);
    ws_forgot(s);
    r = ws_forget_words(s, tenant, key, 0, INT64_MAX, err);
    if (r >= 0)
        r = forget_refs(s, tenant, key, 0, INT64_MAX, err);
    if (r >= 0)
        r = drop_rows(s, tenant, key, err);
    if (r >= 0)
        r = drop_by_key(s, WS_DROP_BRANCH, tenant, key, err);
    if (r >= 0)
        r = drop_by_key(s, WS_DROP_STRAY_NODE, tenant, (uint64_t)ws_place(key), err);
    return r < 0 ? r : drop_by_key(s, WS_DROP_NODE, tenant, key, err);
}
