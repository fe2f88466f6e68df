/* server/doors/aitp/moves.c — a thread that is forked or moved has the members of its new position (AITP-5).
 *
 * The log has who joined and who left. Undoing the events of the old path gives those that the thread was made with;
 * the events of the new path, applied to them, those of the new position.
 */
#include "base/defs.h"
#include "json/read.h"
#include "json/value.h"
#include "server/doors/aitp/routes.h"
#include "server/http/server.h"

enum { METADATA_MAX = 1 << 20, BATCH = 128, LIST_MAX = 4 * WD_AITP_MEMBERS_MAX };

struct list {
    struct sv_exchange *x;
    yyjson_val        **actors;
    size_t              n;
    struct upp_err     *err;
};

static void drop(struct list *l, struct upp_str id)
{
    for (size_t i = 0; i < l->n; i++)
        if (wb_str_eq(wj_text_at(l->actors[i], "id"), id)) {
            memmove(&l->actors[i], &l->actors[i + 1], (l->n - i - 1) * sizeof *l->actors);
            l->n--;
            return;
        }
}

/* One event, forwards or backwards. */
static int apply(struct list *l, const struct wm_entry *e, bool forwards)
{
    yyjson_val *v;
    if (e->kind != WM_ENTRY_EVENT || wm_is_erased(e) || wb_str_find(e->data, UPP_STR("\"actor."), 0) == SIZE_MAX)
        return 0;
    int r = wj_read(&l->x->arena, e->data, NULL, &v, l->err);
    if (r < 0)
        return r;
    struct upp_str type   = wj_text_at(v, "type");
    yyjson_val    *actor  = yyjson_obj_get(yyjson_obj_get(v, "data"), "actor");
    bool           joined = wb_str_eq(type, UPP_STR(SV_AITP_JOINED));
    if (!joined && !wb_str_eq(type, UPP_STR(SV_AITP_LEFT)))
        return 0;
    drop(l, wj_text_at(actor, "id"));
    if (joined == forwards && l->n < LIST_MAX)
        l->actors[l->n++] = actor;
    return 0;
}

WEFT_SUSPENDS static int walk(struct list *l, const struct wl_path *p, bool forwards)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    struct wl_store                          *s = l->x->server->opts.store;
    int                                       r = 0;
    for (uint32_t done = 0; r >= 0 && done < p->length;) {
        uint32_t        some = WB_MIN(p->length - done, (uint32_t)BATCH);
        uint32_t        to   = forwards ? done + some : p->length - done;
        struct wl_line *lines;
        size_t          n;
        wb_arena_reset(&a);
        done += some;
        r = wl_path_tail(s, &l->x->owner, p, to, some, &a, &lines, &n, l->err);
        for (size_t i = 0; r >= 0 && i < n; i++)
            r = apply(l, &lines[forwards ? i : n - 1 - i].entry, forwards);
    }
    return r;
}

static int write_metadata(const struct list *l, yyjson_val *old, struct upp_str *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out  = WB_BUF(METADATA_MAX);
    yyjson_val                           *list = yyjson_obj_get(old, "actors"), *weft = yyjson_obj_get(old, "weft");
    yyjson_val                           *key, *value;
    struct wj_writer                      w;
    size_t                                i, n;
    wj_writer_init(&w, &out, l->err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "actors", '[');
    for (i = 0; i < l->n; i++)
        wd_aitp_put_member(&w, l->actors[i]);
    wj_write_close(&w, ']');
    yyjson_obj_foreach(old, i, n, key, value)
    {
        if (value != list && value != weft)
            wj_put_member(&w, key);
    }
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

WEFT_SUSPENDS int sv_aitp_moved(struct sv_exchange *x, const struct wl_path *from, struct wl_thread *t,
                                struct upp_err *err)
{
    struct wl_store *s   = x->server->opts.store;
    yyjson_val      *old = NULL, *actor;
    struct list      l   = {.x = x, .err = err};
    struct wl_path   to;
    struct upp_str   metadata;
    size_t           i, n;
    if (!sv_aitp_has_members(t))
        return 0;
    l.actors = wb_new_n(&x->arena, yyjson_val *, LIST_MAX);
    int r    = l.actors ? wj_read(&x->arena, t->metadata, NULL, &old, err) : wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = wl_thread_path(s, &x->owner, t, &x->arena, &to, err);
    if (r < 0)
        return r;
    yyjson_arr_foreach(yyjson_obj_get(old, "actors"), i, n, actor)
    {
        if (l.n < LIST_MAX)
            l.actors[l.n++] = actor;
    }
    r = walk(&l, from, false);
    if (r >= 0)
        r = walk(&l, &to, true);
    if (r >= 0)
        r = write_metadata(&l, old, &metadata);
    if (r < 0 || wb_str_eq(metadata, t->metadata))
        return r;
    r = wl_thread_set(s, &x->owner, t, metadata, err);
    return r > 0 ? upp_fail(err, UPP_EBUSY, "the thread was changed by somebody else") : r;
}
