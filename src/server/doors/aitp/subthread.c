/* server/doors/aitp/subthread.c — POST /v1/threads/{t}/subthread: a thread that begins with chosen messages of another,
 * and names it as its parent. Its creator is the user there (AITP-3). */
#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"
#include "model/id.h"
#include "server/doors/aitp/routes.h"
#include "server/doors/keyed.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/message.h"
#include "server/doors/objects/thread.h"
#include "server/http/server.h"

enum { METADATA_MAX = 1 << 20 };

struct branching {
    struct sv_exchange *x;
    struct sv_body b;
    struct wl_thread from;
    yyjson_val *metadata;           /* of the parent; NULL: none */
    struct wd_aitp_members members; /* of the new thread: those of the parent, with its own creator */
    struct wl_path path;
};

static int read_creator(struct branching *q, struct upp_err *err)
{
    struct upp_str given = {NULL, 0}, client = {NULL, 0};
    int r = sv_body_str(&q->b, q->b.root, UPP_STR("actor"), &given, err);
    if (r >= 0)
        r = sv_members_client(q->x, q->metadata, &client, err);
    if (r < 0 || !q->members.actors)
        return r;
    if (given.p && (!wd_aitp_member(&q->members, given) || (client.p && !wb_str_eq(client, given)))) {
        char shown[WJ_QUOTED];
        return sv_members_refuse(err, "%s cannot make a thread here: it is no member, or not this client",
                                 wj_quote(given, shown, sizeof shown));
    }
    if (given.p || client.p)
        q->members.creator = given.p ? given : client;
    return 0;
}

static int write_metadata(const struct branching *q, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(METADATA_MAX);
    struct wj_writer w;
    if (!q->metadata)
        return 0;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_members_but(&w, q->metadata, q->members.actors ? WJ_NAMES("weft") : WJ_NAMES(NULL));
    if (q->members.actors) {
        wj_put_open(&w, "weft", '{');
        wj_put_str(&w, "user", q->members.creator);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &q->x->arena, ret);
}

static bool is_on_path(const struct wl_path *p, struct wb_uuid u)
{
    struct wm_id id;
    for (size_t i = 0; wm_id_parse(u, &id) && i < p->n; i++)
        if (p->spans[i].node == id.node && id.index < p->spans[i].length)
            return true;
    return false;
}

/* Texts and images of a message: calls stay where their results are. It keeps its author and its time. */
static int copy_parts(struct branching *q, const struct upp_message *from, struct upp_message *to, struct upp_err *err)
{
    const struct upp_part *p = NULL;
    to->n_parts = 0;
    to->parts = wb_new_n(&q->x->arena, struct upp_part, from->n_parts + 1);
    if (!to->parts)
        return wb_arena_check(&q->x->arena, err);
    while ((p = upp_part_next(from, p, 1 << UPP_PART_TEXT | 1 << UPP_PART_IMAGE)))
        to->parts[to->n_parts++] = *p;
    return 0;
}

WEFT_SUSPENDS static int copy_message(struct branching *q, yyjson_val *v, struct wm_entry *ret, struct upp_err *err)
{
    struct wb_uuid u;
    struct wl_line line = {0};
    bool ok = yyjson_is_str(v) && wl_id_parse(wj_text(v), UPP_STR("msg_"), &u) && is_on_path(&q->path, u);
    int r = ok ? wl_entry_find(q->x->server->opts.store, &q->x->owner, u, &q->x->arena, &line, err) : -UPP_ENOTFOUND;
    if (r == -UPP_ENOTFOUND || (r >= 0 && !asst_is_visible(&line.entry)))
        return sv_body_wrong(&q->b, v, err, "this is no message of the thread");
    if (r < 0)
        return r;
    *ret = (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                             .origin = WM_ORIGIN_IMPORT,
                             .audience = WM_AUDIENCE_ALL,
                             .who = line.entry.who,
                             .message = line.entry.message};
    if (q->members.actors && ret->who.n)
        ret->message.role = wd_aitp_role(&q->members, ret->who);
    return copy_parts(q, &line.entry.message, &ret->message, err);
}

WEFT_SUSPENDS static int copy_messages(struct branching *q, struct sv_entries *ret, struct upp_err *err)
{
    yyjson_val *list = NULL, *v;
    size_t i, n;
    int r = sv_body_array(&q->b, q->b.root, UPP_STR("messages_to_copy"), &list, err);
    *ret = (struct sv_entries){0};
    if (r >= 0 && yyjson_arr_size(list) > SV_MAX_MESSAGES)
        r = sv_body_wrong(&q->b, list, err, "at most %d messages in one request", SV_MAX_MESSAGES);
    if (r >= 0)
        r = wl_thread_path(q->x->server->opts.store, &q->x->owner, &q->from, &q->x->arena, &q->path, err);
    if (r < 0)
        return r;
    ret->p = wb_new_n(&q->x->arena, struct wm_entry, 2 * (size_t)SV_MAX_MESSAGES);
    if (!ret->p)
        return wb_arena_check(&q->x->arena, err);
    yyjson_arr_foreach(list, i, n, v)
    {
        r = copy_message(q, v, &ret->p[ret->n++], err);
        if (r < 0)
            return r;
    }
    return 0;
}

WEFT_SUSPENDS static int make_subthread(struct sv_exchange *x, struct wl_store *s, struct wl_thread *ret,
                                        struct upp_err *err)
{
    static const char *const known[] = {"messages_to_copy", "new_messages", "actor", NULL};
    struct branching q = {.x = x};
    struct wl_thread_opts opts = {.size = sizeof opts, .child = true};
    struct sv_entries copies, added;
    int r = sv_find_thread(x, &q.from, err);
    if (r >= 0)
        r = sv_body_read(x, known, &q.b, err);
    if (r >= 0 && q.from.metadata.n)
        r = wj_read(&x->arena, q.from.metadata, NULL, &q.metadata, err);
    q.members = wd_aitp_members_of(q.metadata);
    if (r >= 0)
        r = read_creator(&q, err);
    if (r >= 0)
        r = write_metadata(&q, &opts.metadata, err);
    if (r >= 0)
        r = copy_messages(&q, &copies, err);
    if (r >= 0)
        r = sv_read_messages(x, &q.b, q.b.root, UPP_STR("new_messages"), wr_agent(x->core->engine, x->agent), NULL,
                             &added, err);
    opts.parent = q.from.id;
    if (r >= 0)
        r = sv_members_receive(x, &q.b, &(struct wl_thread){.metadata = opts.metadata, .parent = opts.parent}, true,
                               &added, err);
    for (size_t i = 0; r >= 0 && i < added.n; i++)
        copies.p[copies.n++] = added.p[i];
    return r < 0 ? r : wl_thread_new_with(s, &x->owner, &opts, copies.p, copies.n, &x->arena, ret, err);
}

WEFT_SUSPENDS int sv_aitp_make_subthread(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_keyed k;
    struct wl_thread t;
    int r = sv_keyed_begin(x, SV_MAKES_THREAD, &k, err);
    if (r == 0)
        r = make_subthread(x, &k.store, &t, err);
    r = sv_keyed_thread(&k, r, &t, err);
    return r < 0 ? r : sv_answer_thread(x, &t, err);
}
