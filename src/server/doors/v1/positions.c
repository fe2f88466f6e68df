/* server/doors/v1/positions.c — POST /v1/threads/{t}/fork, .../restore and .../checkout: move a thread to another
 * position of its tree, or create one there. They start no run and delete no messages. */
#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "server/doors/keyed.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/thread.h"
#include "server/doors/v1/routes.h"
#include "server/http/body.h"
#include "server/http/server.h"
#include "server/members/members.h"
#include "thread/position.h"

/* The thread, and the one member that the body of these routes has: *which is its index in `known`. 0: there
 * is none. */
WEFT_SUSPENDS static int read_request(struct sv_exchange *x, const char *const *known, struct wl_thread *t,
                                      size_t *which, struct upp_str *ret, struct upp_err *err)
{
    struct sv_body b;
    int found = 0;
    *ret = (struct upp_str){NULL, 0};
    int r = sv_find_thread_to_change(x, t, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    for (size_t i = 0; r >= 0 && known[i]; i++) {
        struct upp_str text;
        r = sv_body_str(&b, b.root, wb_cstr(known[i]), &text, err);
        if (r <= 0)
            continue;
        if (found++)
            return sv_body_wrong(&b, sv_member(b.root, wb_cstr(known[i])), err, "'%s' or '%s', not both", known[*which],
                                 known[i]);
        *which = i;
        *ret = text;
    }
    return r < 0 ? r : found;
}

/* Responds with the thread's current position. */
WEFT_SUSPENDS static int answer_place(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_node node;
    struct wl_path path;
    struct wj_writer w;
    char id[WB_UUID_TEXT + 1];
    int r = wl_get_node(s, &x->owner, t->head, &node, err);
    if (r >= 0)
        r = wl_thread_path(s, &x->owner, t, &x->arena, &path, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "object", UPP_STR("thread.place"));
    asst_put_id(&w, "thread_id", "thread_", t->id);
    wj_put_str(&w, "node_id", wb_uuid_text(node.id, id));
    wj_put_u64(&w, "entries", path.length);
    wj_put_bool(&w, "put_back", t->at != 0);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_fork_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t, fork;
    static const char *const known[] = {"at", NULL};
    struct upp_str at;
    size_t which;
    struct sv_members_move m;
    struct sv_keyed k;
    int r = sv_keyed_begin(x, SV_MAKES_THREAD, &k, err);
    if (r == 0) {
        struct wl_store *s = sv_members_move_begin(x, &k.store, &t, &m);
        r = read_request(x, known, &t, &which, &at, err);
        if (r >= 0)
            r = wa_thread_fork(s, &x->owner, &t, at, &x->arena, &fork, err);
        if (r >= 0 && m.metadata.p)
            fork.metadata = m.metadata;
    }
    r = sv_keyed_thread(&k, r, &fork, err);
    return r < 0 ? r : sv_answer_thread(x, &fork, err);
}

/* Where a thread can be set back to. */
enum { CHECKPOINT, BEFORE, AFTER };
static const char *const places[] = {[CHECKPOINT] = "checkpoint_id", [BEFORE] = "before", [AFTER] = "after", NULL};

WEFT_SUSPENDS static int move_to_message(struct sv_exchange *x, struct wl_store *s, struct wl_thread *t,
                                         struct upp_str id, bool before, struct upp_err *err)
{
    struct wa_position to;
    int r = wa_message_find(s, &x->owner, t, id, before, &to, err);
    if (r == 0)
        return upp_fail(err, UPP_ENOTFOUND, "the thread's tree has no message '%.*s'", UPP_FMT(id));
    return r < 0 ? r : wa_thread_move(s, &x->owner, t, &to, &x->arena, err);
}

WEFT_SUSPENDS int sv_restore_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct upp_str id;
    size_t which;
    struct sv_members_move m;
    struct wl_store *s = sv_members_move_begin(x, x->server->opts.store, NULL, &m);
    int r = read_request(x, places, &t, &which, &id, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "the place to go back to is missing: checkpoint_id, before or after");
    if (r >= 0)
        r = which == CHECKPOINT ? wa_thread_restore(s, &x->owner, &t, id, &x->arena, err)
                                : move_to_message(x, s, &t, id, which == BEFORE, err);
    return r < 0 ? r : answer_place(x, &t, err);
}

WEFT_SUSPENDS int sv_checkout_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    static const char *const known[] = {"node_id", NULL};
    struct upp_str id;
    size_t which;
    struct sv_members_move m;
    struct wl_store *s = sv_members_move_begin(x, x->server->opts.store, NULL, &m);
    int r = read_request(x, known, &t, &which, &id, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "node_id names the node to go to, and is missing");
    if (r >= 0)
        r = wa_thread_checkout(s, &x->owner, &t, id, &x->arena, err);
    return r < 0 ? r : answer_place(x, &t, err);
}
