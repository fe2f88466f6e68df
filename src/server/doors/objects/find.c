/* server/doors/objects/find.c — finds the thread or the run of a path, and the loop where it is at home; says that an
 * object is deleted. */
#include "server/doors/objects/find.h"

#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "log/change.h"
#include "run/engine.h"
#include "server/http/conn.h"
#include "server/http/server.h"
#include "server/members/members.h"

WEFT_SUSPENDS int sv_find_thread(struct sv_exchange *x, struct wl_thread *ret, struct upp_err *err)
{
    if (x->thread) {
        *ret = *x->thread;
        return 0;
    }
    return wl_thread_find(x->server->opts.store, &x->owner, x->params[0], &x->arena, ret, err);
}

WEFT_SUSPENDS int sv_find_thread_to_change(struct sv_exchange *x, struct wl_thread *ret, struct upp_err *err)
{
    int r = sv_find_thread(x, ret, err);
    return r < 0 ? r : sv_may_write(x, ret, err);
}

int sv_run_id(struct upp_str text, struct wb_uuid *ret, struct upp_err *err)
{
    return wl_id_parse(text, UPP_STR("run_"), ret) ? 0 : upp_fail(err, UPP_ENOTFOUND, "no run '%.*s'", UPP_FMT(text));
}

/* The user of a run: that of its thread, also if that was deleted. */
WEFT_SUSPENDS static int user_of(struct sv_exchange *x, const struct wm_run *run, struct upp_str *ret,
                                 struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_thread t = {0};
    yyjson_val *note;
    struct upp_str text;
    char name[WB_UUID_TEXT + 1];
    int r = wl_get_thread(s, &x->owner, run->thread, &x->arena, &t, err);
    *ret = t.owner.user;
    if (r != -UPP_ENOTFOUND)
        return r;
    r = wl_get_value(s, &x->owner, UPP_STR(WL_DELETED), wb_uuid_text(run->thread, name), &x->arena, &text, err);
    if (r >= 0)
        r = wj_read(&x->arena, text, NULL, &note, err);
    if (r >= 0)
        *ret = wj_text_at(note, "user");
    return r == -UPP_ENOTFOUND ? 0 : r;
}

/* A run of another tenant, of another user of the tenant and none at all get the same answer. */
WEFT_SUSPENDS int sv_find_run(struct sv_exchange *x, struct upp_str text, struct wb_uuid *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wm_run run;
    struct upp_str user = {NULL, 0};
    int r = sv_run_id(text, ret, err);
    if (r >= 0)
        r = wl_get_run(s, &x->owner, *ret, &x->arena, &run, err);
    if (r >= 0)
        r = user_of(x, &run, &user, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && !wb_str_eq(user, x->owner.user)))
        return upp_fail(err, UPP_ENOTFOUND, "no run '%.*s'", UPP_FMT(text));
    return r;
}

/* What is not found is handled anywhere: the handler says so. */
WEFT_SUSPENDS int sv_home_of_path(struct sv_exchange *x, uint32_t *ret, struct upp_err *err)
{
    struct upp_str pattern = wb_cstr(x->conn->match.route->pattern);
    struct wl_store *s = x->server->opts.store;
    int r = -UPP_ENOTFOUND;
    struct wb_uuid run;
    if (wb_str_starts(pattern, UPP_STR("/v1/threads/{t}"))) {
        struct wl_thread *t = wb_new(&x->arena, struct wl_thread);
        r = t ? wl_thread_find(s, &x->owner, x->params[0], &x->arena, t, err) : wb_arena_check(&x->arena, err);
        if (r >= 0) {
            x->thread = t;
            *ret = wr_home(t->tree, x->server->n_cores);
        }
    } else if (wb_str_starts(pattern, UPP_STR("/v1/runs/{r}")) && sv_run_id(x->params[0], &run, NULL) >= 0)
        r = wr_home_of_run(s, &x->owner, run, x->server->n_cores, ret, err);
    return r == -UPP_ENOTFOUND ? 0 : r;
}

int sv_answer_deleted(struct sv_exchange *x, struct upp_str id, const char *object, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", id);
    wj_put_str(&w, "object", wb_cstr(object));
    wj_put_bool(&w, "deleted", true);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}
