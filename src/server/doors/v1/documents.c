/* server/doors/v1/documents.c — GET /v1/threads/{t}/export?as=D and POST /v1/threads/import?from=D: whole
 * conversations as documents. uap is SessionJSON, with the tree and the checkpoints; other dialects have the
 * history. GET /v1/threads/{t}/configurations: the system prompts that an imported document had for its agents, under
 * the name that `config_ref` has in the thread's document (TP-9). */
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "dialects/core/configuration.h"
#include "dialects/core/convert.h"
#include "json/write.h"
#include "server/doors/agent.h"
#include "server/doors/keyed.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/objects/thread.h"
#include "server/doors/v1/routes.h"
#include "server/http/core.h"
#include "server/http/server.h"
#include "server/members/members.h"
#include "thread/doc.h"
#include "thread/doc_put.h"
#include "thread/session_doc.h"

/* What a request wants of a thread. */
struct export
{
    const struct wd_document_ops *to; /* NULL: uap */
    struct upp_str view;
    bool losses; /* what the document would lack, instead of the document */
};

static int unknown_dialect(const char *name, struct upp_str given, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf known = WB_BUF(1024);
    const struct wd_document_ops *ops;
    struct wb_guess guess = {0};
    wb_guess(&guess, given, UPP_STR("uap"));
    for (size_t i = 0; (ops = wd_document_at(i)); i++)
        if (strcmp(ops->name, "uap") != 0) {
            wb_buf_addf(&known, ", %s", ops->name);
            wb_guess(&guess, given, wb_cstr(ops->name));
        }
    int r = wb_buf_check(&known, err);
    return r < 0 ? r
                 : upp_fail(err, UPP_EINVALID, "'%s' is one of uap%.*s, not '%.*s'%s", name,
                            UPP_FMT(wb_buf_str(&known)), UPP_FMT(given), wb_guessed(&guess));
}

/* The dialect that a query parameter names; NULL: uap. */
static int read_dialect(struct sv_exchange *x, const char *name, const struct wd_document_ops **ret,
                        struct upp_err *err)
{
    struct upp_str given;
    int r = sv_query(x, wb_cstr(name), &given, err);
    *ret = NULL;
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "'%s' names the dialect of the document, and is missing: uap", name);
    if (r < 0 || wb_str_eq(given, UPP_STR("uap")))
        return r < 0 ? r : 0;
    *ret = wd_document_find(given);
    return *ret ? 0 : unknown_dialect(name, given, err);
}

/* The id of an agent that is defined now. */
static struct upp_str agent_id(void *arg, struct upp_str agent)
{
    const struct wr_agent_def *def = wr_agent(arg, agent);
    return def && !def->base ? def->id : (struct upp_str){NULL, 0};
}

static struct upp_str agent_title(void *arg, struct upp_str agent)
{
    const struct wr_agent_def *def = wr_agent(arg, agent);
    return def && !def->base && !wb_str_eq(def->title, def->name) ? def->title : (struct upp_str){NULL, 0};
}

WEFT_SUSPENDS static int write_session(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    const struct sv_server_opts *o = &x->server->opts;
    struct wa_doc_opts opts = {.id_of = agent_id, .title_of = agent_title, .arg = x->core->engine, .whole = true};
    struct wm_session doc;
    struct wj_writer w;
    int r = wa_session_doc(o->store, &x->owner, t, &opts, &memory, &doc, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wm_session_write(&w, &doc);
    return wj_writer_check(&w);
}

/* What is known about an agent that is defined now. A view of an agent begins with its system prompt, for those who may
 * read it; no other document reveals that. */
static void know_agent(void *arg, struct wm_doc_agent *agent)
{
    struct sv_exchange *x = arg;
    const struct wr_agent_def *def = wr_agent(x->core->engine, agent->name);
    if (!def || def->base)
        return;
    agent->id = def->id;
    if (def->title.n)
        agent->name = def->title;
    if (sv_agent_shows_all(x))
        agent->prompt_now = def->system;
}

static int write_losses(struct sv_exchange *x, const struct wd_losses *losses, struct upp_err *err)
{
    struct wj_writer w;
    x->reply.body.n = 0;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "object", UPP_STR("export.losses"));
    wj_put_open(&w, "data", '[');
    for (size_t i = 0; i < losses->list.n; i++) {
        wj_write_open(&w, '{');
        wj_put_str(&w, "pointer", losses->list.p[i].pointer);
        wj_put_str(&w, "what", losses->list.p[i].what);
        wj_put_str(&w, "why", losses->list.p[i].why);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, ']');
    wj_put_u64(&w, "more", losses->more);
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

WEFT_SUSPENDS static int write_history(struct sv_exchange *x, const struct wl_thread *t, const struct export *what,
                                       struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &memory};
    const struct wd_document_ops *to = what->to;
    const struct sv_server_opts *o = &x->server->opts;
    struct wa_thread_doc_opts opts = {.agent = know_agent, .arg = x, .dialect = wb_cstr(to->name)};
    if (strcmp(to->name, "aitp") == 0 && sv_has_members(t))
        opts.agent = NULL; /* actors are called as the thread calls them */
    int r = wa_thread_doc(o->store, &x->owner, t, &opts, &memory, &doc, err);
    struct upp_str seen = what->view.p ? agent_id(x->core->engine, what->view) : what->view; /* as configured */
    struct upp_str view = seen.p ? seen : what->view;
    if (r >= 0)
        r = wd_doc_write(&doc, to, UPP_OPTS(wd_convert_opts, .view = view), &x->reply.body,
                         what->losses ? &losses : NULL, err);
    return r >= 0 && what->losses ? write_losses(x, &losses, err) : r;
}

static int read_wanted(struct sv_exchange *x, struct export *ret, struct upp_err *err)
{
    struct upp_str text;
    int r = read_dialect(x, "as", &ret->to, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("view"), &ret->view, err);
    if (r > 0 && !(ret->to && ret->to->views))
        return upp_fail(err, UPP_EINVALID, "'view' is for pydantic: other dialects have one view for all agents");
    if (r >= 0)
        r = sv_query(x, UPP_STR("losses"), &text, err);
    ret->losses = r > 0 && wb_str_eq(text, UPP_STR("true"));
    if (r > 0 && !ret->losses && !wb_str_eq(text, UPP_STR("false")))
        return upp_fail(err, UPP_EINVALID, "losses is true or false");
    return r;
}

WEFT_SUSPENDS int sv_export_thread(struct sv_exchange *x, struct upp_err *err)
{
    static const struct wd_losses none;
    struct export what = {0};
    struct wl_thread t;
    int r = read_wanted(x, &what, err);
    if (r >= 0)
        r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = what.to       ? write_history(x, &t, &what, err)
            : what.losses ? write_losses(x, &none, err) /* the log's own form */
                          : write_session(x, &t, err);
    if (r >= 0)
        x->reply.status = 200;
    return r == -UPP_ELIMIT ? upp_fail(err, UPP_EREFUSED,
                                       "the document is longer than %d bytes: `weft export` writes it", SV_REPLY_BODY)
                            : r;
}

/* Finds every problem before anything is created; the error has the first one and their number. */
static int check_document(const struct wd_document_ops *from, struct upp_str text, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    WB_CLEANUP(wd_problems_done) struct wd_problems problems = {0};
    int r = wd_document_validate(from, text, &memory, &problems, &from, err);
    if (r < 0 || !problems.errors)
        return r;
    for (size_t i = 0; i < problems.list.n; i++) {
        const struct wd_problem *p = &problems.list.p[i];
        if (p->severity != WD_ERROR)
            continue;
        (void)upp_fail(err, UPP_EINVALID, "%s: %.*s (%zu mistake%s; `weft validate` tells them all)", p->rule,
                       UPP_FMT(p->sentence), problems.errors, problems.errors == 1 ? "" : "s");
        wb_err_where(err, p->pointer);
        return -UPP_EINVALID;
    }
    return upp_fail(err, UPP_EINVALID, "%zu mistakes: `weft validate` tells them", problems.errors);
}

WEFT_SUSPENDS static int import_document(struct sv_exchange *x, struct wl_store *s, const struct wd_document_ops *from,
                                         bool copy, struct wl_thread *ret, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_str text = wb_buf_str(&x->request->body), agent = {NULL, 0};
    struct wb_uuid seed;
    int r = sv_query(x, UPP_STR("agent"), &agent, err);
    if (r >= 0)
        r = check_document(from, text, err);
    if (r >= 0)
        r = wb_uuid_new(&seed, err);
    struct wd_convert_opts opts = {.size = sizeof opts, .now_ms = wb_wall_ms(), .agent = agent};
    if (r >= 0)
        memcpy(&opts.seed, seed.b + 8, sizeof opts.seed);
    if (r >= 0)
        r = wd_document_read(&d, from, text, &opts, err);
    if (r >= 0 && strcmp(from->name, "thread") != 0) /* its agents name their configurations themselves */
        r = wd_configurations_mark(&d.doc, err);
    return r < 0 ? r : wa_doc_put(s, &x->owner, &d.doc, copy, &x->arena, ret, err);
}

/* The dialect that 'from' names, or the detected one; NULL: uap. */
static int import_dialect(struct sv_exchange *x, const struct wd_document_ops **ret, struct upp_err *err)
{
    struct upp_str given;
    int r = sv_query(x, UPP_STR("from"), &given, err);
    if (r < 0)
        return r;
    if (r == 0 || !wb_str_eq(given, UPP_STR("auto")))
        return read_dialect(x, "from", ret, err);
    r = wd_document_detect_text(wb_buf_str(&x->request->body), ret, err);
    if (r >= 0 && !*ret)
        return upp_fail(err, UPP_EINVALID, "no dialect knows this document: 'from' names one");
    if (r >= 0 && strcmp((*ret)->name, "uap") == 0)
        *ret = NULL;
    return r;
}

WEFT_SUSPENDS static int import_body(struct sv_exchange *x, struct wl_store *s, struct wl_thread *ret,
                                     struct upp_err *err)
{
    struct upp_str conflict;
    const struct wd_document_ops *from;
    int r = import_dialect(x, &from, err);
    if (r < 0)
        return r;
    int copy = sv_query(x, UPP_STR("on_conflict"), &conflict, err);
    if (copy > 0 && !wb_str_eq(conflict, UPP_STR("copy")))
        return upp_fail(err, UPP_EINVALID, "'on_conflict' is copy, not '%.*s'", UPP_FMT(conflict));
    if (copy >= 0)
        r = from ? import_document(x, s, from, copy > 0, ret, err)
                 : wa_thread_import(s, &x->owner, wb_buf_str(&x->request->body), copy > 0, &x->arena, ret, err);
    return copy < 0 ? copy : WB_MIN(r, 0);
}

WEFT_SUSPENDS int sv_import_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_keyed k;
    struct wl_thread t;
    int r = sv_keyed_begin(x, SV_MAKES_THREAD, &k, err);
    if (r == 0)
        r = import_body(x, &k.store, &t, err);
    r = sv_keyed_thread(&k, r, &t, err);
    return r < 0 ? r : sv_answer_thread(x, &t, err);
}

static void write_configuration(struct wj_writer *w, const struct wm_doc_agent *agent,
                                const struct wd_configuration *configuration)
{
    wj_write_open(w, '{');
    wj_put_str(w, "id", agent->config);
    wj_put_str(w, "object", UPP_STR("thread.configuration"));
    wj_put_str(w, "agent_id", agent->id.n ? agent->id : agent->name);
    wj_put_str(w, "agent_name", agent->name.n ? agent->name : agent->id);
    wj_put_open(w, "prompts", '[');
    for (const struct wd_prompt *p = configuration->first; p; p = p->next)
        wj_write_str(w, p->text);
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

WEFT_SUSPENDS int sv_list_configurations(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    struct wd_configuration *list;
    struct wl_thread t;
    struct wj_writer w;
    int r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = wa_thread_doc(x->server->opts.store, &x->owner, &t, NULL, &memory, &doc, err);
    if (r >= 0)
        r = wd_configurations_read(&doc, &memory, &list, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < doc.agents.n; i++)
        if (doc.agents.p[i].config.n)
            write_configuration(&w, &doc.agents.p[i], &list[i]);
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}
