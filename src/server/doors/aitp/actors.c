/* server/doors/aitp/actors.c — members of a thread come and go: GET, POST and DELETE .../actors, GET .../capabilities.
 *
 * Joining and leaving are system events of the log, in the same commit as the new list in the thread's metadata.
 */
#include "base/defs.h"
#include "dialects/aitp/aitp.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"
#include "server/doors/aitp/routes.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/start.h"
#include "server/http/server.h"

enum { METADATA_MAX = 1 << 20, LEFT_MAX = 256 /* actors that left, and are remembered in the metadata */ };

struct change {
    struct sv_exchange *x;
    const struct sv_body *b;
    yyjson_val *joins; /* the actor; NULL: somebody leaves */
    struct upp_str id;
    struct wm_entry *entry;
};

static void put_list(struct wj_writer *w, const struct change *c, yyjson_val *actors)
{
    yyjson_val *actor;
    size_t i, n;
    wj_put_open(w, "actors", '[');
    if (!actors && !wb_str_eq(c->id, UPP_STR(WD_AITP_USER))) /* the first one joins whoever made the thread */
        wj_write_raw(w, "{\"id\":\"" WD_AITP_USER "\",\"capabilities\":[]}",
                     sizeof "{\"id\":\"" WD_AITP_USER "\",\"capabilities\":[]}" - 1);
    yyjson_arr_foreach(actors, i, n, actor)
    {
        if (c->joins || !wb_str_eq(wj_text_at(actor, "id"), c->id))
            wj_write_value(w, actor);
    }
    if (c->joins)
        wd_aitp_put_member(w, c->joins);
    wj_write_close(w, ']');
}

/* weft: the creator, and who has left. Whoever comes back has not. */
static void put_weft(struct wj_writer *w, const struct change *c, yyjson_val *weft, struct upp_str creator,
                     yyjson_val *leaves)
{
    yyjson_val *left = yyjson_obj_get(weft, "left"), *one;
    size_t i, n;
    bool full = yyjson_arr_size(left) >= LEFT_MAX;
    wj_put_open(w, "weft", '{');
    wj_put_str(w, "user", creator);
    wj_put_open(w, "left", '[');
    yyjson_arr_foreach(left, i, n, one)
    {
        bool bound = yyjson_is_str(yyjson_obj_get(one, "client_id")); /* to an API key, which could come back */
        if (full && !bound)
            full = false; /* the oldest one is forgotten */
        else if (!wb_str_eq(wj_text_at(one, "id"), c->id))
            wj_write_value(w, one);
    }
    if (leaves) {
        wj_write_open(w, '{');
        wj_put_str(w, "id", c->id);
        wj_put_value(w, "client_id", yyjson_obj_get(leaves, "client_id"));
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

static int write_metadata(const struct change *c, yyjson_val *old, const struct wd_aitp_members *m, yyjson_val *leaves,
                          struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(METADATA_MAX);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    put_list(&w, c, m->actors);
    wj_put_members_but(&w, old, WJ_NAMES("actors", "weft"));
    put_weft(&w, c, yyjson_obj_get(old, "weft"), m->creator.p ? m->creator : UPP_STR(WD_AITP_USER), leaves);
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &c->x->arena, ret);
}

/* {"type": "actor.joined", "data": {"actor": {...}, "by": ID}} */
static int write_event(const struct change *c, yyjson_val *actor, struct upp_str by, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(METADATA_MAX);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "type", c->joins ? UPP_STR(WD_AITP_JOINED) : UPP_STR(WD_AITP_LEFT));
    wj_put_open(&w, "data", '{');
    wj_write_name(&w, UPP_STR("actor"));
    wd_aitp_put_member(&w, actor);
    wj_put_text(&w, "by", by);
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    *c->entry = (struct wm_entry){
        .kind = WM_ENTRY_EVENT, .origin = WM_ORIGIN_CLIENT, .audience = WM_AUDIENCE_ALL, .who = c->id};
    return wj_writer_text(&w, &c->x->arena, &c->entry->data);
}

static int check_join(const struct change *c, const struct wd_aitp_members *m, struct upp_err *err)
{
    yyjson_val *id = yyjson_obj_get(c->joins, "id");
    if (wd_aitp_member(m, c->id))
        return sv_body_wrong(c->b, id, err, "another actor has the same id");
    if (wd_aitp_member_of_key(m->actors, wj_text_at(c->joins, "client_id")))
        return sv_body_wrong(c->b, yyjson_obj_get(c->joins, "client_id"), err, "another actor has the same client_id");
    if (yyjson_arr_size(m->actors) >= WD_AITP_MEMBERS_MAX)
        return upp_fail(err, UPP_ELIMIT, "a thread has at most %d actors", WD_AITP_MEMBERS_MAX);
    return 0;
}

static int edit(void *arg, struct wl_thread *t, struct upp_err *err)
{
    const struct change *c = arg;
    yyjson_val *old = NULL;
    struct upp_str by;
    int r = t->metadata.n ? wj_read(&c->x->arena, t->metadata, NULL, &old, err) : 0;
    if (r >= 0)
        r = sv_members_client(c->x, old, &by, err);
    if (r < 0)
        return r;
    struct wd_aitp_members m = wd_aitp_members_of(old);
    yyjson_val *leaves = c->joins ? NULL : wd_aitp_member(&m, c->id);
    if (!c->joins && !leaves)
        return upp_fail(err, UPP_ENOTFOUND, "there is no actor '%.*s' in this thread", UPP_FMT(c->id));
    r = c->joins ? check_join(c, &m, err) : 0;
    if (r >= 0)
        r = write_event(c, c->joins ? c->joins : leaves, by, err);
    return r < 0 ? r : write_metadata(c, old, &m, leaves, &t->metadata, err);
}

WEFT_SUSPENDS static int apply_change(struct change *c, struct wl_thread *t, struct upp_err *err)
{
    struct wm_entry entry = {0};
    uint32_t index;
    c->entry = &entry;
    int r = wl_append_edit(c->x->server->opts.store, &c->x->owner, t, &entry, 1, edit, c, &index, err);
    return r == -UPP_EBUSY ? sv_busy_error(c->x, t, false, err) : r;
}

WEFT_SUSPENDS int sv_aitp_add_actor(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"id", "capabilities", "client_id", "name", "metadata", NULL};
    struct wl_thread t;
    struct sv_body b;
    const yyjson_val *at;
    struct wj_writer w;
    int r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r < 0)
        return r;
    const char *why = b.root ? wd_aitp_actor_wrong(b.root, &at) : "an actor is an object with the text 'id'";
    if (why)
        return b.root ? sv_body_wrong(&b, at, err, "%s", why) : upp_fail(err, UPP_EINVALID, "%s", why);
    struct change c = {.x = x, .b = &b, .joins = b.root, .id = wj_text_at(b.root, "id")};
    r = apply_change(&c, &t, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wd_aitp_put_member(&w, b.root);
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_aitp_remove_actor(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct change c = {.x = x, .id = x->params[1]};
    int r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = apply_change(&c, &t, err);
    return r < 0 ? r : sv_answer_deleted(x, c.id, "thread.actor.deleted", err);
}

WEFT_SUSPENDS static int read_members(struct sv_exchange *x, struct wd_aitp_members *ret, struct upp_err *err)
{
    struct wl_thread t;
    int r = sv_find_thread(x, &t, err);
    return r < 0 ? r : sv_members_read(&x->arena, t.metadata, ret, err);
}

WEFT_SUSPENDS int sv_aitp_list_actors(struct sv_exchange *x, struct upp_err *err)
{
    struct wd_aitp_members m;
    struct wj_writer w;
    yyjson_val *actor;
    size_t i, n;
    int r = read_members(x, &m, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    yyjson_arr_foreach(m.actors, i, n, actor)
    {
        wj_write_value(&w, actor);
    }
    wj_write_close(&w, ']');
    wj_put_str(&w, "creator", m.creator);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_aitp_list_capabilities(struct sv_exchange *x, struct upp_err *err)
{
    struct wd_aitp_members m;
    struct wj_writer w;
    int r = read_members(x, &m, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "object", UPP_STR("list"));
    wj_write_name(&w, UPP_STR("data"));
    wd_aitp_write_shared(&w, m.actors);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}
