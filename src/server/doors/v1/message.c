/* server/doors/v1/message.c — one message: retrieve it, and modify its metadata. What was said stays as it is: new
 * metadata is noted beside the log (log/note.h). */
#include "dialects/assistants/objects.h"
#include "log/note.h"
#include "server/doors/metadata.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/message.h"
#include "server/doors/v1/objects.h"
#include "server/doors/v1/routes.h"
#include "server/http/body.h"
#include "server/http/server.h"
#include "server/members/members.h"

static int no_message(const struct sv_exchange *x, struct upp_err *err)
{
    return upp_fail(err, UPP_ENOTFOUND, "No message found with id '%.*s'.", UPP_FMT(x->params[1]));
}

static bool is_on(const struct wl_path *path, uint64_t node, uint32_t index)
{
    for (size_t i = 0; i < path->n; i++)
        if (path->spans[i].node == node && index < path->spans[i].length)
            return true;
    return false;
}

/* The message that {t}/{m} name, if the API shows it. */
WEFT_SUSPENDS static int find(struct sv_exchange *x, struct wl_thread *t, struct wl_line *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wb_uuid id;
    struct wl_path path;
    int r = sv_find_thread(x, t, err);
    if (r < 0)
        return r;
    if (!wl_id_parse(x->params[1], UPP_STR("msg_"), &id))
        return no_message(x, err);
    r = wl_entry_find(s, &x->owner, id, &x->arena, ret, err);
    if (r >= 0)
        r = wl_thread_path(s, &x->owner, t, &x->arena, &path, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && (!asst_is_visible(&ret->entry) || !is_on(&path, ret->node, ret->index))))
        return no_message(x, err);
    return r < 0 ? r : wl_notes_read(s, &x->owner, ret, 1, &x->arena, err);
}

WEFT_SUSPENDS static int answer(struct sv_exchange *x, const struct wl_thread *t, struct wl_line *line,
                                struct upp_err *err)
{
    struct wj_writer w;
    const char *why;
    int r = sv_why_incomplete(x, line, &why, err);
    wj_writer_init(&w, &x->reply.body, err);
    if (r >= 0)
        r = sv_members_name_author(&x->arena, t, line, err);
    if (r >= 0)
        r = sv_write_message(&w, &x->arena, t->id, line, why, err);
    return r < 0 ? r : sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_get_message(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct wl_line line;
    int r = find(x, &t, &line, err);
    return r < 0 ? r : answer(x, &t, &line, err);
}

WEFT_SUSPENDS int sv_modify_message(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"metadata", NULL};
    struct wl_store *s = x->server->opts.store;
    struct wl_thread t;
    struct wl_line line;
    struct sv_body b;
    struct upp_str given, members;
    int r = find(x, &t, &line, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_metadata_read(&b, b.root, &x->arena, &given, err);
    if (r <= 0)
        return r < 0 ? r : answer(x, &t, &line, err);
    r = sv_message_metadata(&x->arena, given, &members, err);
    if (r >= 0)
        r = sv_may_write(x, &t, err);
    if (r >= 0)
        r = wl_note_put(s, &x->owner, &line, members, err);
    if (r >= 0)
        r = wl_notes_read(s, &x->owner, &line, 1, &x->arena, err);
    return r < 0 ? r : answer(x, &t, &line, err);
}
