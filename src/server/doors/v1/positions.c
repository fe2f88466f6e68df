/* server/doors/v1/positions.c — POST /v1/threads/{t}/fork, .../restore and .../checkout: move a thread to another
 * position of its tree, or create one there. They start no run and delete no messages. */
#include "thread/position.h"
#include "base/defs.h"
#include "server/doors/aitp/members.h"
#include "server/http/body.h"
#include "server/doors/v1/objects.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

/* The thread, its path, and the one member that the body of these routes has; or the other one (may be NULL), which is
 * then 2. */
WEFT_SUSPENDS static int read_request(struct sv_exchange *x, const char *member, const char *other, struct wl_thread *t,
                                      struct wl_path *path, struct upp_str *ret, struct upp_err *err)
{
    const char *const known[] = {member, other, NULL};
    struct sv_body    b;
    *ret  = (struct upp_str){NULL, 0};
    int r = sv_find_thread_to_change(x, t, err);
    if (r >= 0 && sv_aitp_has_members(t)) /* otherwise nobody asks for it */
        r = wl_thread_path(x->server->opts.store, &x->owner, t, &x->arena, path, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, wb_cstr(member), ret, err);
    if (r < 0 || !other)
        return r;
    struct upp_str second = {NULL, 0};
    int            more   = sv_body_str(&b, b.root, wb_cstr(other), &second, err);
    if (more > 0 && r > 0)
        return upp_fail(err, UPP_EINVALID, "%s and %s name two places: give one", member, other);
    if (more > 0)
        *ret = second;
    return more < 0 ? more : more > 0 ? 2 : r;
}

/* Responds with the thread's current position. */
WEFT_SUSPENDS static int answer_place(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_node   node;
    struct wl_path   path;
    struct wj_writer w;
    char             id[WB_UUID_TEXT + 1];
    int              r = wl_get_node(s, &x->owner, t->head, &node, err);
    if (r >= 0)
        r = wl_thread_path(s, &x->owner, t, &x->arena, &path, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "object", UPP_STR("thread.place"));
    sv_put_id(&w, "thread_id", "thread_", t->id);
    wj_put_str(&w, "node_id", wb_uuid_text(node.id, id));
    wj_put_u64(&w, "entries", path.length);
    wj_put_bool(&w, "put_back", t->at != 0);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_fork_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t, fork;
    struct wl_path   path;
    struct upp_str   at;
    int              r = read_request(x, "at", NULL, &t, &path, &at, err);
    if (r >= 0)
        r = wa_thread_fork(x->server->opts.store, &x->owner, &t, at, &x->arena, &fork, err);
    if (r >= 0)
        r = sv_aitp_moved(x, &path, &fork, err);
    return r < 0 ? r : sv_answer_thread(x, &fork, err);
}

WEFT_SUSPENDS int sv_restore_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct wl_path   path;
    struct upp_str   id;
    int              r = read_request(x, "checkpoint_id", "before", &t, &path, &id, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID,
                        "checkpoint_id names the place to go back to, and is missing; or before, a message");
    if (r == 2)
        r = wa_thread_restore_before(x->server->opts.store, &x->owner, &t, id, &x->arena, err);
    else if (r >= 0)
        r = wa_thread_restore(x->server->opts.store, &x->owner, &t, id, &x->arena, err);
    if (r >= 0)
        r = sv_aitp_moved(x, &path, &t, err);
    return r < 0 ? r : answer_place(x, &t, err);
}

WEFT_SUSPENDS int sv_checkout_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct wl_path   path;
    struct upp_str   id;
    int              r = read_request(x, "node_id", NULL, &t, &path, &id, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "node_id names the node to go to, and is missing");
    if (r >= 0)
        r = wa_thread_checkout(x->server->opts.store, &x->owner, &t, id, &x->arena, err);
    if (r >= 0)
        r = sv_aitp_moved(x, &path, &t, err);
    return r < 0 ? r : answer_place(x, &t, err);
}
