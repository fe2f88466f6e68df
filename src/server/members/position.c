/* server/members/position.c — a thread that is forked or moved has the members of its new position (AITP-5).
 *
 * The log has who joined and who left. Undoing the events of the old path gives those that the thread was made with;
 * the events of the new path, applied to them, those of the new position. They are in the commit that moves the thread.
 */
#include "base/defs.h"
#include "base/hooks.h"
#include "dialects/aitp/aitp.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"
#include "server/http/server.h"
#include "server/members/members.h"

enum { METADATA_MAX = 1 << 20, BATCH = 128, LIST_MAX = 4 * WD_AITP_MEMBERS_MAX };

struct list {
    struct sv_exchange *x;
    yyjson_val **actors;
    size_t n;
    struct upp_err *err;
};

static void drop_actor(struct list *l, struct upp_str id)
{
    for (size_t i = 0; i < l->n; i++)
        if (wb_str_eq(wj_text_at(l->actors[i], "id"), id)) {
            memmove(&l->actors[i], &l->actors[i + 1], (l->n - i - 1) * sizeof *l->actors);
            l->n--;
            return;
        }
}

/* A thread never has so many: there is no such log. */
static int add_actor(struct list *l, yyjson_val *actor)
{
    if (l->n == LIST_MAX)
        return upp_fail(l->err, UPP_ELIMIT, "the thread has more than %d members at its new position", LIST_MAX);
    l->actors[l->n++] = actor;
    return 0;
}

/* One event, forwards or backwards. */
static int apply_event(struct list *l, const struct wm_entry *e, bool forwards)
{
    yyjson_val *v;
    if (e->kind != WM_ENTRY_EVENT || wm_is_erased(e) || wb_str_find(e->data, UPP_STR("\"actor."), 0) == SIZE_MAX)
        return 0;
    int r = wj_read(&l->x->arena, e->data, NULL, &v, l->err);
    if (r < 0)
        return r;
    struct upp_str type = wj_text_at(v, "type");
    yyjson_val *actor = yyjson_obj_get(yyjson_obj_get(v, "data"), "actor");
    bool joined = wb_str_eq(type, UPP_STR(WD_AITP_JOINED));
    if (!joined && !wb_str_eq(type, UPP_STR(WD_AITP_LEFT)))
        return 0;
    drop_actor(l, wj_text_at(actor, "id"));
    if (joined == forwards)
        return add_actor(l, actor);
    return 0;
}

WEFT_SUSPENDS static int walk_path(struct list *l, const struct wl_path *p, bool forwards)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    struct wl_store *s = l->x->server->opts.store;
    int r = 0;
    for (uint32_t done = 0; r >= 0 && done < p->length;) {
        uint32_t some = WB_MIN(p->length - done, (uint32_t)BATCH);
        uint32_t to = forwards ? done + some : p->length - done;
        struct wl_line *lines;
        size_t n;
        wb_arena_reset(&a);
        done += some;
        r = wl_path_tail(s, &l->x->owner, p, to, some, &a, &lines, &n, l->err);
        for (size_t i = 0; r >= 0 && i < n; i++)
            r = apply_event(l, &lines[forwards ? i : n - 1 - i].entry, forwards);
    }
    return r;
}

static int write_metadata(const struct list *l, yyjson_val *old, struct upp_str *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(METADATA_MAX);
    yyjson_val *list = yyjson_obj_get(old, "actors"), *weft = yyjson_obj_get(old, "weft");
    yyjson_val *value;
    struct wj_writer w;
    size_t i, n;
    wj_writer_init(&w, &out, l->err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "actors", '[');
    for (i = 0; i < l->n; i++)
        wd_aitp_put_member(&w, l->actors[i]);
    wj_write_close(&w, ']');
    wj_put_members_but(&w, old, WJ_NAMES("actors", "weft"));
    wj_put_open(&w, "weft", '{');
    wj_put_str(&w, "user", wj_text_at(weft, "user"));
    wj_put_open(&w, "left", '[');
    yyjson_arr_foreach(list, i, n, value)
    {
        bool stays = false;
        for (size_t k = 0; k < l->n; k++)
            stays |= wb_str_eq(wj_text_at(l->actors[k], "id"), wj_text_at(value, "id"));
        if (stays)
            continue;
        wj_write_open(&w, '{');
        wj_put_str(&w, "id", wj_text_at(value, "id"));
        wj_put_value(&w, "client_id", yyjson_obj_get(value, "client_id"));
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &l->x->arena, ret);
}

/* Undoes the events of a path. *old: the metadata of the thread. */
WEFT_SUSPENDS static int undo(struct list *l, struct upp_str metadata, const struct wl_path *path, yyjson_val **old)
{
    yyjson_val *actor;
    size_t i, n;
    l->actors = wb_new_n(&l->x->arena, yyjson_val *, LIST_MAX);
    if (!l->actors)
        return wb_arena_check(&l->x->arena, l->err);
    int r = wj_read(&l->x->arena, metadata, NULL, old, l->err);
    if (r < 0)
        return r;
    yyjson_arr_foreach(yyjson_obj_get(*old, "actors"), i, n, actor)
    {
        r = r < 0 ? r : add_actor(l, actor);
    }
    return r < 0 ? r : walk_path(l, path, false);
}

WEFT_SUSPENDS int sv_members_made_with(struct sv_exchange *x, const struct wl_thread *t, const struct wl_path *path,
                                       yyjson_val ***ret, size_t *n, struct upp_err *err)
{
    struct list l = {.x = x, .err = err};
    yyjson_val *now = NULL;
    int r = sv_has_members(t) ? undo(&l, t->metadata, path, &now) : 0;
    *ret = l.actors;
    *n = l.n;
    return r;
}

/* The path to where a commit puts a thread. Its head may be a branch of the same commit: no event is on that. */
WEFT_SUSPENDS static int path_to(const struct sv_members_move *m, const struct wl_commit *c, const struct wl_thread *t,
                                 struct wl_path *ret, struct upp_err *err)
{
    struct sv_exchange *x = m->x;
    for (size_t i = 0; i < c->n; i++)
        if (c->changes[i].kind == WL_ADD_NODE && c->changes[i].node->key == t->head)
            return wl_path_open(m->store.inner, &x->owner, c->changes[i].node->parent,
                                c->changes[i].node->parent_length, &x->arena, ret, err);
    return wl_thread_path(m->store.inner, &x->owner, t, &x->arena, ret, err);
}

/* The path to where the thread is now: as it is stored, or as the request has found the one that is forked. */
WEFT_SUSPENDS static int path_from(const struct sv_members_move *m, const struct wl_change *row, struct wl_path *ret,
                                   struct upp_err *err)
{
    struct sv_exchange *x = m->x;
    struct wl_thread now;
    if (row->kind == WL_ADD_THREAD)
        return wl_thread_path(m->store.inner, &x->owner, m->from, &x->arena, ret, err);
    int r = wl_get_thread(m->store.inner, &x->owner, row->thread->id, &x->arena, &now, err);
    return r < 0 ? r : wl_thread_path(m->store.inner, &x->owner, &now, &x->arena, ret, err);
}

/* The metadata of the thread with the members of the position that the commit gives it. */
WEFT_SUSPENDS static int metadata_there(const struct sv_members_move *m, const struct wl_commit *c,
                                        const struct wl_change *row, struct upp_str *ret, struct upp_err *err)
{
    const struct wl_thread *t = row->thread;
    yyjson_val *old = NULL;
    struct list l = {.x = m->x, .err = err};
    struct wl_path from, to;
    int r = path_from(m, row, &from, err);
    if (r >= 0)
        r = path_to(m, c, t, &to, err);
    if (r >= 0)
        r = undo(&l, t->metadata, &from, &old);
    if (r >= 0)
        r = walk_path(&l, &to, true);
    return r < 0 ? r : write_metadata(&l, old, ret);
}

/* The row of the thread that a commit adds or moves, if it has members. */
static const struct wl_change *moved_row(const struct wl_commit *c)
{
    for (size_t i = 0; i < c->n; i++)
        if ((c->changes[i].kind == WL_ADD_THREAD || c->changes[i].kind == WL_SET_THREAD) &&
            sv_has_members(c->changes[i].thread))
            return &c->changes[i];
    return NULL;
}

static WEFT_SUSPENDS int commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct sv_members_move *m = WB_OUTER(s, struct sv_members_move, store);
    const struct wl_change *row = moved_row(c);
    if (!row)
        return wl_store_commit(s->inner, c, err);
    struct wl_thread t = *row->thread;
    struct wl_commit with = *c;
    struct wl_change *list = wb_calloc(c->n, sizeof *list);
    int r = list ? metadata_there(m, c, row, &t.metadata, err) : upp_fail(err, UPP_ENOMEM, "no memory for a commit");
    if (r >= 0) {
        memcpy(list, c->changes, c->n * sizeof *list);
        list[row - c->changes].thread = &t;
        with.changes = list;
        r = wl_store_commit(s->inner, &with, err);
        c->conflict = with.conflict;
    }
    wb_free(list);
    if (r >= 0)
        m->metadata = t.metadata;
    return r;
}

static const struct wl_store_ops ops = {
    .size = sizeof ops, .name = "moving", .commit = commit, /* no close: the request ends, not the store */
};

struct wl_store *sv_members_move_begin(struct sv_exchange *x, struct wl_store *behind, const struct wl_thread *from,
                                       struct sv_members_move *m)
{
    *m = (struct sv_members_move){.store = {.ops = &ops, .inner = behind}, .x = x, .from = from};
    return &m->store;
}
