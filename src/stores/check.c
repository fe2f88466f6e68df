/* stores/check.c — checks the changes of a commit, and makes the errors that all stores share. */
#include "stores/check.h"

#include "base/defs.h"
#include "base/str.h"
#include "stores/columns.h"

/* A list that is read page by page ends with a page that is not full: no store may cut a full one. */
_Static_assert((int)WL_PAGE <= (int)WS_LIST_MAX, "a page is read at once");
_Static_assert((int)WL_PAGE_NAME >= (int)WS_NAME_MAX, "a list continues after any name");
_Static_assert((int)WL_CHANGES <= (int)WS_LIST_MAX, "what one commit changes is read at once");

static int check_owner(const struct wl_owner *o, struct upp_err *err)
{
    if (!o->tenant.n)
        return upp_fail(err, UPP_EINVALID, "no tenant is named");
    int r = ws_text_check("a tenant's name", o->tenant, WS_NAME_MAX, err);
    return r < 0 ? r : ws_text_check("a user's name", o->user, WS_NAME_MAX, err);
}

static int check_row(const struct wl_row *row, struct upp_err *err)
{
    if (row->body.n > WS_ROW_MAX || row->tape.n > WS_ROW_MAX - row->body.n)
        return upp_fail(err, UPP_ELIMIT, "a row of %zu bytes, at most %d are allowed", row->body.n + row->tape.n,
                        WS_ROW_MAX);
    uint32_t index = wl_pos_index(row->pos);
    if (row->pos >> 48)
        return upp_fail(err, UPP_EINVALID, "no position: %llu", (unsigned long long)row->pos);
    if (row->n_entries > UINT32_MAX - index)
        return upp_fail(err, UPP_ELIMIT, "a node holds at most %u entries", UINT32_MAX);
    if (!row->n_entries && (row->pos & (WL_SUBS - 1)) == WL_SUBS - 1)
        return upp_fail(err, UPP_ELIMIT, "%d rows in a row that add no entry, the limit", WL_SUBS);
    return 0;
}

static int check_piece(const struct wl_piece *p, struct upp_err *err)
{
    if (p->number >= WS_PIECES_MAX)
        return upp_fail(err, UPP_ELIMIT, "piece %u of a blob, at most %d are allowed", p->number, WS_PIECES_MAX);
    if (p->bytes.n > WL_PIECE || (p->bytes.n < WL_PIECE && !p->last))
        return upp_fail(err, UPP_EINVALID, "a piece of %zu bytes, where all but the last have %d", p->bytes.n,
                        WL_PIECE);
    return 0;
}

static int check_learned(const struct wl_index_update *l, struct upp_err *err)
{
    if (l->n > WS_LEARN_MAX)
        return upp_fail(err, UPP_ELIMIT, "%zu entries to learn, at most %d are allowed", l->n, WS_LEARN_MAX);
    for (size_t i = 0; i < l->n; i++) {
        const struct wl_index_entry *w = &l->list[i];
        int r = check_owner(&(struct wl_owner){.tenant = w->tenant}, err);
        if (r >= 0)
            r = ws_text_check("the name of who said it", w->who, WS_TEXT_MAX, err);
        if (r >= 0)
            r = ws_text_check("the tools of an entry", w->tool, WS_TEXT_MAX, err);
        if (r >= 0)
            r = ws_text_check("the text of an entry", w->text, WS_ROW_MAX, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_change(const struct wl_change *c, struct upp_err *err)
{
    switch (c->kind) {
    case WL_ADD_ROW:
    case WL_SET_ROW:
        return check_row(c->row, err);
    case WL_ADD_NODE:
    case WL_SET_NODE:
        return c->node->key ? ws_texts_check(&ws_nodes, c->node, err)
                            : upp_fail(err, UPP_EINVALID, "a node without a key");
    case WL_ADD_THREAD:
    case WL_SET_THREAD:
        return ws_texts_check(&ws_threads, c->thread, err);
    case WL_HOLD_NODE:
    case WL_TOUCH_THREAD:
    case WL_DROP_THREAD:
    case WL_DROP_NODE:
    case WL_DROP_RUN:
    case WL_ADD_REF:
    case WL_DROP_REF:
    case WL_DROP_BLOB:
    case WL_NAME_BLOB:
        return 0;
    case WL_ADD_RUN:
    case WL_SET_RUN:
        return ws_texts_check(&ws_runs, c->run, err);
    case WL_ADD_ALIAS:
    case WL_DROP_ALIAS:
        return ws_texts_check(&ws_aliases, c->alias, err);
    case WL_ADD_KEY:
        return ws_texts_check(&ws_keys, c->key, err);
    case WL_PUT_VALUE:
    case WL_DROP_VALUE:
        return c->value->name.n ? ws_texts_check(&ws_values, c->value, err)
                                : upp_fail(err, UPP_EINVALID, "a value without a name");
    case WL_ADD_PIECE:
        return check_piece(c->piece, err);
    case WL_INDEX_ADD:
        return check_learned(c->learned, err);
    case WL_INDEX_COMPACT:
        return 0;
    }
    return upp_fail(err, UPP_EINVALID, "no kind of change: %d", (int)c->kind);
}

int ws_check_commit(const struct wl_commit *c, struct upp_err *err)
{
    bool sealed = c->flags & WL_SEALED;
    size_t max = sealed ? 2 * WL_CHANGES : WL_CHANGES;
    int r = check_owner(&c->owner, err);
    if (r >= 0 && c->n > max)
        r = upp_fail(err, UPP_ELIMIT, "%zu changes in one commit, at most %zu are allowed", c->n, max);
    for (size_t i = 0; r >= 0 && !sealed && i < c->n; i++) {
        r = check_change(&c->changes[i], err);
        if (r < 0)
            r = upp_wrap(err, r, "change %zu", i);
    }
    return r;
}

struct wl_range ws_range(const struct wl_range *r)
{
    struct wl_range x = *r;
    x.max_rows = WB_MIN(x.max_rows ? x.max_rows : WS_RANGE, (size_t)WS_ROWS_MAX);
    x.max_bytes = WB_MIN(x.max_bytes ? x.max_bytes : WS_RANGE_BYTES, (size_t)WS_BYTES_MAX);
    x.from = WB_MIN(x.from, (uint64_t)INT64_MAX);
    x.to = WB_MIN(x.to, (uint64_t)INT64_MAX);
    return x;
}

size_t ws_commit_bytes(const struct wl_commit *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct wl_change *x = &c->changes[i];
        if (x->kind == WL_ADD_ROW || x->kind == WL_SET_ROW)
            n += x->row->body.n + x->row->tape.n;
        else if (x->kind == WL_ADD_PIECE)
            n += x->piece->bytes.n;
        else if (x->kind == WL_PUT_VALUE)
            n += x->value->bytes.n;
        else if (x->kind == WL_INDEX_ADD)
            for (size_t k = 0; k < x->learned->n; k++)
                n += x->learned->list[k].text.n;
    }
    return n;
}

int ws_no_node(struct upp_err *err, uint64_t node)
{
    return upp_fail(err, UPP_ENOTFOUND, "there is no node %016llx", (unsigned long long)node);
}

int ws_no_thing(struct upp_err *err, const char *what, struct wb_uuid id)
{
    char text[WB_UUID_TEXT + 1];
    return upp_fail(err, UPP_ENOTFOUND, "there is no %s %s", what, wb_uuid_text(id, text).p);
}

int ws_row_misplaced(struct upp_err *err, const struct wl_row *row, uint64_t end)
{
    return upp_fail(err, UPP_EBUSY, "node %016llx: a row at %u.%u, but the next one stands at %u.%u",
                    (unsigned long long)row->node, wl_pos_index(row->pos), (unsigned)(row->pos & (WL_SUBS - 1)),
                    wl_pos_index(end), (unsigned)(end & (WL_SUBS - 1)));
}

int ws_version_differs(struct upp_err *err, const char *what, struct wb_uuid id, uint32_t stored, uint32_t given)
{
    char text[WB_UUID_TEXT + 1];
    return upp_fail(err, UPP_EBUSY, "%s %s has changed: it is at version %u, not %u", what, wb_uuid_text(id, text).p,
                    stored, given);
}

int ws_taken(struct upp_err *err, const char *what)
{
    return upp_fail(err, UPP_EBUSY, "%s is taken", what);
}

int ws_no_row(struct upp_err *err, const struct wl_row *row)
{
    return upp_fail(err, UPP_ENOTFOUND, "node %016llx has no row at %u.%u", (unsigned long long)row->node,
                    wl_pos_index(row->pos), (unsigned)(row->pos & (WL_SUBS - 1)));
}

int ws_run_lives(struct upp_err *err, struct wb_uuid id)
{
    char text[WB_UUID_TEXT + 1];
    return upp_fail(err, UPP_EBUSY, "run %s has not ended", wb_uuid_text(id, text).p);
}

int ws_node_stays(struct upp_err *err, uint64_t node, const char *why)
{
    return upp_fail(err, UPP_EBUSY, "node %016llx stays: %s", (unsigned long long)node, why);
}

int ws_no_blob(struct upp_err *err, int code)
{
    return upp_fail(err, code, "there is no such blob");
}

int ws_blob_stays(struct upp_err *err, const char *why)
{
    return upp_fail(err, UPP_EBUSY, "a blob stays as it is: %s", why);
}

int ws_piece_misplaced(struct upp_err *err, const struct wl_piece *p, uint32_t pieces, bool whole)
{
    if (whole)
        return upp_fail(err, UPP_EINVALID, "piece %u of a blob that is whole with %u", p->number, pieces);
    return upp_fail(err, UPP_EBUSY, "piece %u of a blob that has %u so far", p->number, pieces);
}

int ws_not_found(struct upp_err *err, const struct wl_ask *k)
{
    switch ((int)k->what) {
    case WL_GET_NODE:
        return ws_no_node(err, k->number);
    case WL_GET_THREAD:
        return ws_no_thing(err, "thread", k->id);
    case WL_GET_RUN:
        return ws_no_thing(err, "run", k->id);
    case WL_GET_ALIAS:
        return upp_fail(err, UPP_ENOTFOUND, "nothing is called '%.*s'", UPP_FMT(k->name));
    case WL_GET_KEY:
        return upp_fail(err, UPP_ENOTFOUND, "the idempotency key was not used");
    case WL_GET_VALUE:
        return upp_fail(err, UPP_ENOTFOUND, "there is no value '%.*s' in '%.*s'", UPP_FMT(k->name), UPP_FMT(k->space));
    default:
        return ws_no_blob(err, UPP_ENOTFOUND);
    }
}

int ws_no_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q, struct wb_arena *a,
                 struct wl_hit **ret, size_t *n, struct upp_err *err)
{
    (void)s, (void)o, (void)q, (void)a, (void)ret, (void)n;
    return upp_fail(err, UPP_EREFUSED, "this store keeps no words");
}

static bool drops(enum wl_change_kind k)
{
    return k == WL_DROP_THREAD || k == WL_DROP_NODE || k == WL_DROP_RUN || k == WL_DROP_ALIAS || k == WL_DROP_VALUE ||
           k == WL_DROP_REF || k == WL_DROP_BLOB;
}

bool ws_allowed_when_full(const struct wl_commit *c)
{
    size_t n = 0;
    bool ends = false;
    for (size_t i = 0; i < c->n; i++) {
        const struct wl_change *x = &c->changes[i];
        if (x->kind == WL_ADD_RUN) /* it ends one for another */
            return false;
        ends |= x->kind == WL_SET_RUN && (x->run->cancel || wm_status_ended(x->run->status));
        n += drops(x->kind);
    }
    return ends || n == c->n; /* also an empty commit: a flush */
}

void ws_count_commit(struct wl_store *s, const struct wl_commit *c, size_t bytes)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < c->n; i++)
        rows += c->changes[i].kind == WL_ADD_ROW;
    (void)__atomic_fetch_add(&s->count.commits, 1, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&s->count.rows, rows, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&s->count.bytes, bytes, __ATOMIC_RELAXED);
}
