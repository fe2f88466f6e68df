/* server/members/metadata.c — the metadata of threads with members: read from requests, written into objects. */
#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"
#include "server/http/auth.h"
#include "server/http/server.h"
#include "server/members/members.h"

enum { METADATA_MAX = 1 << 20 };

static bool shows_parent(const struct wl_thread *t)
{
    return !wb_uuid_is_nil(t->parent) || sv_has_members(t);
}

void sv_members_put_parent(struct wj_writer *w, const struct wl_thread *t)
{
    if (shows_parent(t)) {
        wj_write_name(w, UPP_STR("parent_id"));
        asst_id(w, "thread_", t->parent);
    }
}

void sv_members_put_metadata(struct wj_writer *w, const struct wl_thread *t)
{
    struct upp_str stored = t->metadata.n > 2 ? t->metadata : UPP_STR("{}");
    if (!shows_parent(t)) {
        wj_put_raw(w, "metadata", stored.p, stored.n);
        return;
    }
    wj_put_open(w, "metadata", '{');
    sv_members_put_parent(w, t);
    wj_put_members_text(w, stored);
    wj_write_close(w, '}');
}

struct request {
    struct sv_exchange *x;
    const struct sv_body *b;
    yyjson_val *metadata, *actors, *parent; /* as given; NULL: not */
};

static int read_request(struct request *q, struct upp_err *err)
{
    int r = sv_body_object(q->b, q->b->root, UPP_STR("metadata"), &q->metadata, err);
    if (r < 0)
        return r;
    q->actors = sv_member(q->metadata, UPP_STR("actors"));
    q->parent = sv_member(q->metadata, UPP_STR("parent_id"));
    if (!q->actors)
        q->actors = sv_member(q->b->root, UPP_STR("actors"));
    if (!q->parent)
        q->parent = sv_member(q->b->root, UPP_STR("parent_id"));
    if (q->parent && !yyjson_is_str(q->parent))
        return sv_body_wrong(q->b, q->parent, err, "'parent_id' is the id of a thread, or null");
    yyjson_val *top = sv_member(q->b->root, UPP_STR("actors"));
    const yyjson_val *at;
    const char *why = q->actors ? wd_aitp_actors_wrong(q->actors, &at) : NULL;
    if (!why && top && top != q->actors)
        why = wd_aitp_actors_wrong(top, &at);
    if (!why && !yyjson_arr_size(q->actors)) /* nobody: an ordinary thread */
        q->actors = NULL;
    return why ? sv_body_wrong(q->b, at, err, "%s", why) : 0;
}

/* Whoever made the thread: the actor of the client's key, else of the first message of a user, else the first one. */
static struct upp_str creator_of(const struct request *q)
{
    yyjson_val *bound = wd_aitp_member_of_key(q->actors, sv_auth_key(q->x)), *m;
    yyjson_val *list = sv_member(q->b->root, UPP_STR("messages"));
    struct upp_str first = wj_text_at(yyjson_arr_get_first(q->actors), "id");
    size_t i, n;
    if (bound)
        return wj_text_at(bound, "id");
    const struct wd_aitp_members all = {.actors = q->actors};
    yyjson_arr_foreach(list, i, n, m)
    {
        struct upp_str actor = wj_text_at(sv_member(m, UPP_STR("metadata")), "actor");
        if (!actor.p)
            actor = wj_text_at(m, "actor");
        if (actor.p && wb_str_eq(wj_text_at(m, "role"), UPP_STR("user")) && wd_aitp_member(&all, actor))
            return actor;
    }
    return first;
}

static void put_actors(struct wj_writer *w, yyjson_val *actors)
{
    yyjson_val *actor;
    size_t i, n;
    wj_put_open(w, "actors", '[');
    yyjson_arr_foreach(actors, i, n, actor) wd_aitp_put_member(w, actor);
    wj_write_close(w, ']');
}

/* What the client says besides: everything but the members that are ours. */
static void put_others(struct wj_writer *w, yyjson_val *metadata, bool members)
{
    wj_put_members_but(w, metadata,
                       members ? WJ_NAMES("actors", "parent_id", "weft") : WJ_NAMES("actors", "parent_id"));
}

static int write_new(const struct request *q, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(METADATA_MAX);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    if (q->actors)
        put_actors(&w, q->actors);
    put_others(&w, q->metadata, q->actors != NULL);
    if (q->actors) {
        wj_put_open(&w, "weft", '{');
        wj_put_str(&w, "user", creator_of(q));
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &q->x->arena, ret);
}

WEFT_SUSPENDS static int find_parent(const struct request *q, struct wb_uuid *ret, struct upp_err *err)
{
    struct wl_thread t;
    if (!q->parent)
        return 0;
    int r = wl_thread_find(q->x->server->opts.store, &q->x->owner, wj_text(q->parent), &q->x->arena, &t, err);
    if (r == -UPP_ENOTFOUND)
        return sv_body_wrong(q->b, q->parent, err, "there is no thread of that id to be the parent");
    if (r >= 0)
        *ret = t.id;
    return r;
}

/* Its members, and with them the creator, stay what they are. */
static int write_changed(const struct request *q, const struct wl_thread *t, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2 * METADATA_MAX), given = WB_BUF(METADATA_MAX);
    yyjson_val *old = NULL;
    struct wj_writer w;
    int r = t->metadata.n ? wj_read(&q->x->arena, t->metadata, NULL, &old, err) : 0;
    if (r < 0)
        return r;
    bool members = sv_has_members(t);
    if (q->actors) {
        struct upp_str now;
        wj_writer_init(&w, &given, err);
        wj_write_open(&w, '{');
        put_actors(&w, q->actors);
        wj_write_close(&w, '}');
        r = wj_writer_check(&w);
        now = wb_buf_str(&given);
        if (r >= 0 && !(members && wb_str_starts(t->metadata, wb_str_sub(now, 0, now.n - 1))))
            r = sv_body_wrong(q->b, q->actors, err,
                              "actors join and leave at /v1/threads/{t}/actors: they cannot be replaced here");
    }
    if (r < 0)
        return r;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    if (members)
        put_actors(&w, yyjson_obj_get(old, "actors"));
    put_others(&w, q->metadata, members);
    if (members)
        wj_put_value(&w, "weft", yyjson_obj_get(old, "weft"));
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &q->x->arena, ret);
}

WEFT_SUSPENDS int sv_members_metadata(struct sv_exchange *x, const struct sv_body *b, const struct wl_thread *t,
                                      struct upp_str *ret, struct wb_uuid *parent, struct upp_err *err)
{
    struct request q = {.x = x, .b = b};
    struct wb_uuid u = {{0}};
    int r = read_request(&q, err);
    if (r >= 0)
        r = find_parent(&q, &u, err);
    if (r < 0)
        return r;
    if (t && q.parent && !wb_uuid_eq(u, t->parent))
        return sv_body_wrong(b, q.parent, err, "the parent of a thread does not change");
    if (!t) {
        *parent = u;
        *ret = (struct upp_str){NULL, 0};
        return q.metadata || q.actors ? write_new(&q, ret, err) : 0;
    }
    return write_changed(&q, t, ret, err);
}
