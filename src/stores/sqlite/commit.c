/* stores/sqlite/commit.c — one commit inside the writer's transaction.
 *
 * A row costs one insert into the log and one into its index. Whether it follows the node's last row is known from a
 * cache of node ends, which holds only what is in the database or in the open transaction: a rollback removes its
 * entries.
 */
#include "base/defs.h"
#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

#include <string.h>

/* ---- Statements ------------------------------------------------------------------------------------ */

/* Binds the first n columns of an object, from parameter i on. */
static void bind_columns(sqlite3_stmt *st, int i, const struct ws_kind *k, size_t n, const void *thing)
{
    for (const struct ws_column *c = k->columns, *end = c + n; c < end; c++, i++) {
        const void *at = (const char *)thing + c->at;
        switch ((enum ws_type)c->type) {
        case WS_U8:
            ws_bind_u64(st, i, *(const uint8_t *)at);
            break;
        case WS_U16:
            ws_bind_u64(st, i, *(const uint16_t *)at);
            break;
        case WS_U32:
            ws_bind_u64(st, i, *(const uint32_t *)at);
            break;
        case WS_U64:
            ws_bind_u64(st, i, *(const uint64_t *)at);
            break;
        case WS_BOOL:
            ws_bind_u64(st, i, *(const bool *)at);
            break;
        case WS_ID:
            ws_bind_id(st, i, at);
            break;
        case WS_ID_OR_NONE:
            ws_bind_id_or_null(st, i, at);
            break;
        case WS_HASH:
            (void)sqlite3_bind_blob(st, i, at, sizeof(struct wl_blob_key), SQLITE_STATIC);
            break;
        case WS_TEXT:
            ws_bind_str(st, i, *(const struct upp_str *)at);
            break;
        case WS_NAME:
            ws_bind_name(st, i, *(const struct upp_str *)at);
            break;
        }
    }
}

int ws_do(struct ws_sqlite *s, enum ws_statement i, const struct ws_arg *args, size_t n, struct upp_err *err)
{
    sqlite3_stmt *st;
    int r = ws_conn_need(s, &s->writer, i, &st, err);
    if (r < 0)
        return r;
    for (size_t k = 0; k < n; k++)
        ws_bind_arg(st, (int)k + 1, args[k]);
    return ws_step(s, st, err);
}

int ws_do_number(struct ws_sqlite *s, enum ws_statement i, const struct ws_arg *args, size_t n, int64_t *ret,
                 struct upp_err *err)
{
    int r = ws_do(s, i, args, n, err);
    *ret = r == 1 ? sqlite3_column_int64(ws_row_of(s, i), 0) : 0;
    if (r == 1)
        (void)sqlite3_reset(ws_row_of(s, i));
    return r;
}

int ws_do_with(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, const struct upp_str *user,
               const struct ws_kind *k, size_t n, const void *thing, struct upp_err *err)
{
    sqlite3_stmt *st;
    int r = ws_conn_need(s, &s->writer, i, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, (uint64_t)tenant);
    if (user)
        ws_bind_name(st, 2, *user);
    bind_columns(st, user ? 3 : 2, k, n, thing);
    return ws_step(s, st, err);
}

/* ---- Ends of nodes --------------------------------------------------------------------------------- */

static struct ws_end *end_slot(struct ws_sqlite *s, int64_t tenant, uint64_t node)
{
    uint64_t h = (node ^ (uint64_t)tenant * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return &s->ends[(h >> 32) % WS_ENDS];
}

static void remember_end(struct ws_sqlite *s, int64_t tenant, uint64_t node, uint64_t next)
{
    *end_slot(s, tenant, node) = (struct ws_end){node, next, tenant};
}

void ws_change_forget_end(struct ws_sqlite *s, int64_t tenant, uint64_t node)
{
    struct ws_end *e = end_slot(s, tenant, node);
    if (e->tenant == tenant && e->node == node)
        *e = (struct ws_end){0};
}

int ws_change_is_node(struct ws_sqlite *s, int64_t tenant, uint64_t key, struct upp_err *err)
{
    int64_t whole;
    return ws_do_number(s, WS_NODE_IS, (const struct ws_arg[]){WS_N(tenant), WS_N(key)}, 2, &whole, err);
}

static int find_end(struct ws_sqlite *s, int64_t tenant, uint64_t node, uint64_t *ret, struct upp_err *err)
{
    const struct ws_end *e = end_slot(s, tenant, node);
    if (e->tenant == tenant && e->node == node) {
        *ret = e->next;
        return 0;
    }
    int r = WS_DO(s, WS_NODE_END, err, WS_N(tenant), WS_N(node));
    if (r < 0)
        return r;
    if (r == 1) {
        sqlite3_stmt *st = ws_row_of(s, WS_NODE_END);
        *ret = wl_pos_next((uint64_t)sqlite3_column_int64(st, 2), (uint32_t)sqlite3_column_int64(st, 3));
        r = ws_row_whole(s, st, "log", WS_LOG_COLUMNS, err);
        (void)sqlite3_reset(st);
        return r;
    }
    r = ws_change_is_node(s, tenant, node, err);
    *ret = 0;
    return r < 0 ? r : r == 1 ? 0 : ws_no_node(err, node);
}

/* ---- Tenants --------------------------------------------------------------------------------------- */

static struct ws_tenant *tenant_slot(struct ws_sqlite *s, struct upp_str name)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < name.n; i++)
        h = (h ^ (unsigned char)name.p[i]) * 16777619u;
    return &s->tenants[h % WS_TENANTS];
}

/* A tenant's number; a new one gets the next. Caches only numbers that were found: an insert may be rolled back
 * alone. */
static int need_tenant(struct ws_sqlite *s, struct upp_str name, int64_t *ret, struct upp_err *err)
{
    struct ws_tenant *t = tenant_slot(s, name);
    if (t->id && wb_str_eq(t->name, name)) {
        *ret = t->id;
        return 0;
    }
    int r = ws_do_number(s, WS_TENANT, (const struct ws_arg[]){WS_A(name)}, 1, ret, err);
    if (r == 1 && name.n <= sizeof t->bytes) {
        memcpy(t->bytes, name.p, name.n);
        t->name = wb_str(t->bytes, name.n);
        t->id = *ret;
    }
    if (r != 0)
        return r;
    r = WS_DO(s, WS_ADD_TENANT, err, WS_A(name));
    *ret = sqlite3_last_insert_rowid(s->writer.db);
    return r;
}

/* ---- Changes --------------------------------------------------------------------------------------- */

static int add_row(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    const struct wl_row *row = c->row;
    uint64_t end;
    int r = find_end(s, tenant, row->node, &end, err);
    if (r < 0)
        return r;
    if (row->pos != end)
        return ws_row_misplaced(err, row, end);
    ws_bind_u64(ws_row_of(s, WS_ADD_ROW), 9, (uint64_t)ws_sum_of_row(tenant, row));
    r = ws_do_with(s, WS_ADD_ROW, tenant, NULL, &ws_rows, ws_rows.n, row, err);
    if (r == WS_CONSTRAINT)
        return ws_row_misplaced(err, row, end);
    if (r >= 0) {
        s->row = sqlite3_last_insert_rowid(s->writer.db);
        remember_end(s, tenant, row->node, wl_pos_next(row->pos, row->n_entries));
    }
    return r;
}

static int add_node(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    int r = ws_do_with(s, WS_ADD_NODE, tenant, NULL, &ws_nodes, WS_NODE_COLUMNS, c->node, err);
    if (r == WS_CONSTRAINT)
        return ws_taken(err, "the key of a node");
    if (r < 0)
        return r;
    remember_end(s, tenant, c->node->key, 0);
    return ws_add_branch(s, tenant, c->node, err);
}

static int hold_node(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    int r = WS_DO(s, WS_HOLD_NODE, err, WS_N(tenant), WS_N(c->hold.node), WS_O(&c->hold.from), WS_O(&c->hold.to));
    if (r < 0 || ws_changed(s))
        return r;
    r = ws_change_is_node(s, tenant, c->hold.node, err);
    if (r == 1)
        return upp_fail(err, UPP_EBUSY, "node %016llx is held by another run", (unsigned long long)c->hold.node);
    return r < 0 ? r : ws_no_node(err, c->hold.node);
}

int ws_change_why_not(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, const char *what,
                      const struct wb_uuid *id, uint32_t given, struct upp_err *err)
{
    int64_t stored;
    int r = ws_do_number(s, i, (const struct ws_arg[]){WS_N(tenant), WS_I(id)}, 2, &stored, err);
    if (r < 0)
        return r;
    return r == 1 ? ws_version_differs(err, what, *id, (uint32_t)stored, given) : ws_no_thing(err, what, *id);
}

static int add_thread(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    struct wl_thread own = *c->thread;
    own.owner.user = s->user;
    int r = ws_do_with(s, WS_ADD_THREAD, tenant, NULL, &ws_threads, ws_threads.n, &own, err);
    if (r == WS_CONSTRAINT)
        return ws_taken(err, "the id of a thread");
    return r < 0 ? r : ws_add_stray_thread(s, tenant, c->thread, err);
}

static int set_thread(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    const struct wl_thread *t = c->thread;
    int r = ws_do_with(s, WS_SET_THREAD, tenant, NULL, &ws_threads, ws_threads.n, t, err);
    return r < 0 || ws_changed(s) ? r
                                  : ws_change_why_not(s, WS_THREAD_VERSION, tenant, "thread", &t->id, t->version, err);
}

static int touch_thread(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    return WS_DO(s, WS_TOUCH_THREAD, err, WS_N(tenant), WS_I(&c->thread->id), WS_N(c->thread->updated_ms));
}

static int add_run(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    int r = ws_do_with(s, WS_ADD_RUN, tenant, &s->user, &ws_runs, ws_runs.n, c->run, err);
    return r == WS_CONSTRAINT ? ws_taken(err, "the id of a run") : r;
}

static int set_run(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    const struct wm_run *x = c->run;
    int r = ws_do_with(s, WS_SET_RUN, tenant, &s->user, &ws_runs, ws_runs.n, x, err);
    return r < 0 || ws_changed(s) ? r : ws_change_why_not(s, WS_RUN_VERSION, tenant, "run", &x->id, x->version, err);
}

static int add_alias(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    int r = ws_do_with(s, WS_ADD_ALIAS, tenant, &s->user, &ws_aliases, ws_aliases.n, c->alias, err);
    if (r != WS_CONSTRAINT)
        return r;
    r = ws_do_with(s, WS_ALIAS_OBJECT, tenant, &s->user, &ws_aliases, 2, c->alias, err);
    bool same = r == 1 && wb_uuid_eq(ws_column_id(ws_row_of(s, WS_ALIAS_OBJECT), 0), c->alias->object);
    (void)sqlite3_reset(ws_row_of(s, WS_ALIAS_OBJECT));
    return r < 0 ? r : same ? 0 : ws_taken(err, "the alias");
}

static int add_key(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    int64_t expired = s->now_ms - WS_KEY_MS;
    int r = WS_DO(s, WS_DROP_KEY, err, WS_N(tenant), WS_A(c->key->route), WS_A(c->key->key), WS_N(expired));
    if (r >= 0)
        r = ws_do_with(s, WS_ADD_KEY, tenant, NULL, &ws_keys, ws_keys.n, c->key, err);
    if (r == WS_CONSTRAINT)
        return ws_taken(err, "the idempotency key");
    return r < 0 ? r : WS_DO(s, WS_SWEEP_KEYS, err, WS_N(expired));
}

/* ---- A commit -------------------------------------------------------------------------------------- */

static ws_change_fn *const changes[] = {
    [WL_ADD_ROW] = add_row,
    [WL_ADD_NODE] = add_node,
    [WL_ADD_THREAD] = add_thread,
    [WL_SET_THREAD] = set_thread,
    [WL_HOLD_NODE] = hold_node,
    [WL_ADD_RUN] = add_run,
    [WL_SET_RUN] = set_run,
    [WL_ADD_ALIAS] = add_alias,
    [WL_ADD_KEY] = add_key,
    [WL_TOUCH_THREAD] = touch_thread,
    [WL_SET_NODE] = ws_set_node,
    [WL_SET_ROW] = ws_set_row,
    [WL_DROP_THREAD] = ws_drop_thread,
    [WL_DROP_NODE] = ws_drop_node,
    [WL_DROP_RUN] = ws_drop_run,
    [WL_DROP_ALIAS] = ws_drop_alias,
    [WL_PUT_VALUE] = ws_put_value,
    [WL_DROP_VALUE] = ws_drop_value,
    [WL_ADD_PIECE] = ws_add_piece,
    [WL_NAME_BLOB] = ws_name_blob,
    [WL_ADD_REF] = ws_add_ref,
    [WL_DROP_REF] = ws_drop_ref,
    [WL_DROP_BLOB] = ws_drop_blob,
    [WL_INDEX_ADD] = ws_learn,
    [WL_INDEX_COMPACT] = ws_tidy,
};

static int apply_one(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    ws_change_fn *fn = c->kind < WB_LEN(changes) ? changes[c->kind] : NULL;
    return fn ? fn(s, tenant, c, err) : upp_fail(err, UPP_EINVALID, "no kind of change: %d", (int)c->kind);
}

int ws_change_apply(struct ws_sqlite *s, struct wl_commit *c, size_t *done, struct upp_err *err)
{
    int64_t tenant = 0;
    int r = c->n && !ws_is_index_work(c) ? need_tenant(s, c->owner.tenant, &tenant, err) : 0;
    s->user = c->owner.user;
    *done = 0;
    for (; r >= 0 && *done < c->n; *done += r >= 0)
        r = apply_one(s, tenant, &c->changes[*done], err);
    if (r == -UPP_EBUSY)
        c->conflict = *done;
    return r < 0 ? r : 0;
}

void ws_change_forget(struct ws_sqlite *s, const struct wl_commit *c)
{
    for (size_t i = 0; i < c->n; i++) {
        uint64_t node = c->changes[i].kind == WL_ADD_ROW    ? c->changes[i].row->node
                        : c->changes[i].kind == WL_ADD_NODE ? c->changes[i].node->key
                                                            : 0;
        for (size_t k = 0; node && k < WS_ENDS; k++)
            if (s->ends[k].node == node)
                s->ends[k] = (struct ws_end){0};
    }
}

void ws_change_forget_all(struct ws_sqlite *s)
{
    memset(s->ends, 0, sizeof s->ends);
    memset(s->tenants, 0, sizeof s->tenants);
}
