/* server/members/members.c — who the client is on a thread with members, whether it may write there, and who answers
 * (AITP-13). */
#include "server/members/members.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "dialects/assistants/objects.h"
#include "json/read.h"
#include "json/value.h"
#include "run/engine.h"
#include "server/http/auth.h"
#include "server/http/error.h"
#include "server/http/server.h"

static const struct upp_str first_member = UPP_STR_INIT("{\"actors\":[");

bool sv_has_members(const struct wl_thread *t)
{
    return wb_str_starts(t->metadata, first_member);
}

int sv_members_read(struct wb_arena *a, struct upp_str metadata, struct wd_aitp_members *ret, struct upp_err *err)
{
    yyjson_val *root;
    *ret = (struct wd_aitp_members){0};
    if (!wb_str_starts(metadata, first_member))
        return 0;
    int r = wj_read(a, metadata, NULL, &root, err);
    if (r >= 0)
        *ret = wd_aitp_members_of(root);
    return r;
}

int sv_members_refuse(struct upp_err *err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int r = wb_vfail(err, UPP_EREFUSED, fmt, args);
    va_end(args);
    if (err)
        (void)snprintf(err->cause, sizeof err->cause, "%s", SV_MEMBER);
    return r;
}

int sv_members_client(const struct sv_exchange *x, yyjson_val *metadata, struct upp_str *ret, struct upp_err *err)
{
    struct upp_str key = sv_auth_key(x);
    yyjson_val *actor = wd_aitp_member_of_key(yyjson_obj_get(metadata, "actors"), key);
    *ret = wj_text_at(actor, "id");
    if (!actor && wd_aitp_member_of_key(yyjson_obj_get(yyjson_obj_get(metadata, "weft"), "left"), key))
        return sv_members_refuse(err, "the actor of this API key has left the thread");
    return 0;
}

static int actor_of(struct sv_exchange *x, const struct wl_thread *t, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *root = NULL;
    *ret = (struct upp_str){NULL, 0};
    if (!sv_has_members(t))
        return 0;
    int r = wj_read(&x->arena, t->metadata, NULL, &root, err);
    return r < 0 ? r : sv_members_client(x, root, ret, err);
}

int sv_may_write(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err)
{
    struct upp_str actor;
    return actor_of(x, t, &actor, err);
}

int sv_members_author(struct sv_exchange *x, const struct wl_thread *t, struct upp_str *ret, struct upp_err *err)
{
    int r = actor_of(x, t, ret, err);
    if (r >= 0 && !ret->n)
        *ret = x->owner.user.n ? x->owner.user : sv_auth_key_name(x);
    return r;
}

int sv_members_attribute(struct sv_exchange *x, const struct wl_thread *t, struct sv_entries *e, struct upp_err *err)
{
    yyjson_val *root = NULL;
    struct upp_str client;
    if (!sv_has_members(t))
        return 0;
    int r = wj_read(&x->arena, t->metadata, NULL, &root, err);
    struct wd_aitp_members members = wd_aitp_members_of(root);
    if (r >= 0)
        r = sv_members_client(x, root, &client, err);
    for (size_t i = 0; r >= 0 && i < e->n; i++) {
        struct wm_entry *at = &e->p[i];
        if (at->who.n || at->message.role != UPP_ROLE_USER)
            continue;
        at->who = client.n ? client : members.creator;
        at->message.role = wd_aitp_role(&members, at->who);
        if (!wd_aitp_member(&members, at->who))
            r = sv_members_refuse(err, "'%.*s', who made the thread, is no member any more", UPP_FMT(at->who));
    }
    return r;
}

enum { BACK = 256 /* entries in which the last speaker is looked for */ };

struct choosing {
    struct sv_exchange *x;
    struct wd_aitp_members members;
    yyjson_val *left; /* actors that were removed; NULL: none */
    struct wl_line *lines;
    size_t n;
};

WEFT_SUSPENDS static int begin_choosing(struct sv_exchange *x, const struct wl_thread *t, struct choosing *ret,
                                        struct upp_err *err)
{
    yyjson_val *root = NULL;
    struct wl_path path;
    *ret = (struct choosing){.x = x};
    int r = sv_has_members(t) ? wj_read(&x->arena, t->metadata, NULL, &root, err) : 0;
    if (r < 0)
        return r;
    ret->members = wd_aitp_members_of(root);
    ret->left = yyjson_obj_get(yyjson_obj_get(root, "weft"), "left");
    r = wl_thread_path(x->server->opts.store, &x->owner, t, &x->arena, &path, err);
    return r < 0 ? r
                 : wl_path_tail(x->server->opts.store, &x->owner, &path, path.length, BACK, &x->arena, &ret->lines,
                                &ret->n, err);
}

/* The newest message of the thread; NULL: none in sight. */
static const struct wl_line *last_line(const struct choosing *c)
{
    for (size_t i = c->n; i--;)
        if (asst_is_visible(&c->lines[i].entry))
            return &c->lines[i];
    return NULL;
}

static bool has_left(const struct choosing *c, struct upp_str id)
{
    const struct wd_aitp_members gone = {.actors = c->left};
    return wd_aitp_member(&gone, id) && !wd_aitp_member(&c->members, id);
}

/* An agent of the server that may answer here: of a thread with members, one of them. */
static bool may_be(const struct choosing *c, struct upp_str id)
{
    return id.n && wr_agent(c->x->core->engine, id) && (!c->members.actors || wd_aitp_member(&c->members, id));
}

/* The agent that a message is for: metadata.to, or @id at its start. */
static int addressee(const struct choosing *c, const struct upp_message *m, struct upp_str *ret, struct upp_err *err)
{
    const struct upp_part *p = upp_part_next(m, NULL, 1 << UPP_PART_TEXT);
    yyjson_val *metadata;
    int r = asst_stored(&c->x->arena, m->metadata, &metadata, err);
    struct upp_str to = wj_text_at(sv_member(metadata, UPP_STR("assistants")), "to");
    if (r >= 0 && !may_be(c, to) && p)
        to = wd_aitp_mention(p->text);
    *ret = r >= 0 && may_be(c, to) ? to : (struct upp_str){NULL, 0};
    return r;
}

/* The agent that spoke last; else that of the members who is an agent here; else the default. */
static struct upp_str usual_agent(const struct choosing *c)
{
    yyjson_val *actor;
    size_t i, n;
    for (i = c->n; i--;) {
        const struct wm_entry *e = &c->lines[i].entry;
        if (asst_is_visible(&c->lines[i].entry) && e->message.role == UPP_ROLE_ASSISTANT && may_be(c, e->who))
            return e->who;
    }
    yyjson_arr_foreach(c->members.actors, i, n, actor)
    {
        struct upp_str id = wj_text_at(actor, "id");
        if (!wb_str_eq(id, c->members.creator) && may_be(c, id))
            return id;
    }
    const struct wr_agent_def *def = wr_agent(c->x->core->engine, (struct upp_str){NULL, 0});
    return def && !has_left(c, def->name) ? def->name : (struct upp_str){NULL, 0};
}

WEFT_SUSPENDS int sv_members_answerer(struct sv_exchange *x, const struct wl_thread *t, const struct sv_entries *added,
                                      struct upp_str *ret, struct upp_err *err)
{
    struct choosing c;
    int r = begin_choosing(x, t, &c, err);
    if (r < 0)
        return r;
    const struct wl_line *line = last_line(&c);
    const struct upp_message *last = added->n ? &added->p[added->n - 1].message : line ? &line->entry.message : NULL;
    *ret = (struct upp_str){NULL, 0};
    r = last ? addressee(&c, last, ret, err) : 0;
    if (r >= 0 && !ret->n)
        *ret = usual_agent(&c);
    if (r >= 0 && !ret->n)
        return upp_fail(err, UPP_EINVALID, "assistant_id names the agent, and is missing: no member is an agent here");
    return r;
}

WEFT_SUSPENDS int sv_members_may_answer(struct sv_exchange *x, const struct wl_thread *t,
                                        const struct sv_entries *added, struct upp_str agent, struct upp_err *err)
{
    struct choosing c;
    if (!sv_has_members(t))
        return 0;
    int r = begin_choosing(x, t, &c, err);
    if (r < 0)
        return r;
    if (has_left(&c, agent))
        return sv_members_refuse(err, "'%.*s' has left this thread", UPP_FMT(agent));
    const struct wl_line *line = added->n ? NULL : last_line(&c);
    if (line && line->entry.message.role == UPP_ROLE_ASSISTANT && wb_str_eq(line->entry.who, agent))
        return upp_fail(err, UPP_EREFUSED, "'%.*s' wrote the last message itself: it answers a new one",
                        UPP_FMT(agent));
    return 0;
}
