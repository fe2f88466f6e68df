/* server/members/members.c — who the client is on a thread with members, and whether it may write there. */
#include "server/members/members.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "json/read.h"
#include "json/value.h"
#include "server/http/auth.h"
#include "server/http/error.h"

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
