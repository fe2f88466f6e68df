/* server/documents_v1.c — GET /v1/threads/{t}/export?as=D and POST /v1/threads/import?from=D: whole conversations as
 * documents of others. One dialect has a document so far: uap, whose is SessionJSON.
 */
#include "agent/session_doc.h"
#include "agent/thread_import.h"
#include "base/defs.h"
#include "json/write.h"
#include "server/objects.h"
#include "server/routes_v1.h"
#include "server/server.h"

/* The dialect that a parameter of the query names. */
static int read_dialect(struct sv_exchange *x, const char *name, struct upp_err *err)
{
    struct upp_str given;
    int            r = sv_query(x, wb_cstr(name), &given, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "'%s' names the dialect of the document, and is missing: uap", name);
    if (r > 0 && !wb_str_eq(given, UPP_STR("uap")))
        return upp_fail(err, UPP_EINVALID, "'%s' is uap, not '%.*s'", name, UPP_FMT(given));
    return r < 0 ? r : 0;
}

/* An agent by its id, as long as it is in force. */
static struct upp_str agent_id(void *arg, struct upp_str agent)
{
    const struct wr_agent_def *def = wr_agent(arg, agent);
    return def ? def->id : (struct upp_str){NULL, 0};
}

WEFT_SUSPENDS int sv_export_thread(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    const struct sv_server_opts              *o      = &x->server->opts;
    struct wa_doc_opts                        opts   = {.id_of = agent_id, .arg = o->engine};
    struct upp_str                            view;
    struct wl_thread                          t;
    struct wm_session                         doc;
    struct wj_writer                          w;
    int                                       r = read_dialect(x, "as", err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("view"), &view, err);
    if (r > 0)
        return upp_fail(err, UPP_EINVALID, "'view' is of other dialects: of uap there is one for all");
    if (r >= 0)
        r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = wa_session_doc(o->store, &x->owner, &t, &opts, &memory, &doc, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wm_session_write(&w, &doc);
    x->reply.status = 200;
    r               = wj_writer_check(&w);
    return r == -UPP_ELIMIT ? upp_fail(err, UPP_EREFUSED,
                                       "the document is longer than %d bytes: `weft export` writes it", SV_REPLY_BODY)
                            : r;
}

WEFT_SUSPENDS int sv_import_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct upp_str   conflict;
    struct wl_thread t;
    struct wj_writer w;
    int              r = read_dialect(x, "from", err);
    if (r < 0)
        return r;
    int copy = sv_query(x, UPP_STR("on_conflict"), &conflict, err);
    if (copy > 0 && !wb_str_eq(conflict, UPP_STR("copy")))
        return upp_fail(err, UPP_EINVALID, "'on_conflict' is copy, not '%.*s'", UPP_FMT(conflict));
    if (copy >= 0)
        r = wa_thread_import(x->server->opts.store, &x->owner, wb_buf_str(&x->request->body), copy > 0, &x->arena, &t,
                             err);
    if (copy < 0 || r < 0)
        return copy < 0 ? copy : r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_write_thread(&w, &t);
    x->reply.status = 200;
    return wj_writer_check(&w);
}
