/* server/doors/v1/delete.c — DELETE of threads and messages. `?erase=tree` also erases what other threads share with
 * the thread, and lists those threads. */
#include "dialects/assistants/objects.h"
#include "json/write.h"
#include "log/change.h"
#include "server/doors/objects/find.h"
#include "server/doors/v1/routes.h"
#include "server/http/admin.h"
#include "server/http/server.h"

static void write_deleted(struct wj_writer *w, const char *prefix, struct wb_uuid id, struct upp_str object)
{
    wj_write_open(w, '{');
    asst_put_id(w, "id", prefix, id);
    wj_put_str(w, "object", object);
    wj_put_bool(w, "deleted", true);
}

WEFT_SUSPENDS int sv_delete_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wr_erase erase = {.memory = &x->arena};
    struct upp_str what;
    struct wl_thread t;
    struct wj_writer w;
    int r = sv_query(x, UPP_STR("erase"), &what, err), erases = r;
    if (r > 0 && !wb_str_eq(what, UPP_STR("tree")))
        return upp_fail(err, UPP_EINVALID, "erase is tree, or is not there");
    if (r > 0)
        r = sv_admin_begin(x, "thread.erase", x->params[0], err);
    if (r >= 0)
        r = sv_find_thread_to_change(x, &t, err);
    if (r >= 0)
        r = wr_thread_delete(x->core->engine, &x->owner, &t, erases > 0 ? &erase : NULL, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    write_deleted(&w, "thread_", t.id, UPP_STR("thread.deleted"));
    if (erases > 0) {
        wj_put_open(&w, "erased_threads", '[');
        for (size_t i = 0; i < erase.n; i++)
            asst_id(&w, "thread_", erase.lost[i]);
        wj_write_close(&w, ']');
    }
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_delete_message(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct wb_uuid id;
    struct wj_writer w;
    int r = sv_find_thread_to_change(x, &t, err);
    if (r >= 0 && !wl_id_parse(x->params[1], UPP_STR("msg_"), &id))
        r = upp_fail(err, UPP_ENOTFOUND, "there is no message '%.*s'", UPP_FMT(x->params[1]));
    if (r >= 0)
        r = wl_message_delete(x->server->opts.store, &x->owner, &t, id, UPP_STR("deleted"), err);
    if (r == -UPP_EBUSY)
        return sv_busy_error(x, &t, false, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    write_deleted(&w, "msg_", id, UPP_STR("thread.message.deleted"));
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}
