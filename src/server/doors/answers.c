/* server/doors/answers.c — answers to open calls of a thread: of a run that waits, or of an imported document that ends
 * with them. */
#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"
#include "run/settings/settings.h"
#include "server/doors/options.h"
#include "server/doors/start.h"
#include "server/http/auth.h"
#include "server/http/server.h"
#include "server/members/members.h"
#include "thread/repair.h"

static const struct wr_answer *answer_for(const struct sv_answers *a, struct upp_str call)
{
    for (size_t i = 0; i < a->n; i++)
        if (wb_str_eq(a->p[i].call, call))
            return &a->p[i];
    return NULL;
}

static int check_open(const struct sv_answers *a, const struct wa_open *open, struct upp_err *err)
{
    struct upp_str calls[SV_ANSWERS_MAX];
    for (size_t i = 0; i < a->n; i++)
        calls[i] = a->p[i].call;
    int r = wa_open_check(open, calls, a->n, err);
    for (size_t i = 0; r >= 0 && i < a->n; i++)
        if (!a->p[i].result.p && a->p[i].approved) /* calls of an imported document are never executed */
            r = upp_fail(err, UPP_EINVALID,
                         "call '%.*s' came with a document and is not run here: its output is wanted",
                         UPP_FMT(a->p[i].call));
    return r;
}

/* All results in one message, in the order of the calls: each call has one (check_open). */
static int make_results(struct sv_exchange *x, const struct sv_answers *a, const struct wa_open *open,
                        struct upp_message **ret, struct upp_err *err)
{
    struct upp_message *m = wb_new(&x->arena, struct upp_message);
    struct upp_part *parts = wb_new_n(&x->arena, struct upp_part, a->n);
    if (!m || !parts)
        return wb_arena_check(&x->arena, err);
    *m = (struct upp_message){.role = UPP_ROLE_TOOL, .parts = parts};
    for (const struct upp_part *p = NULL; (p = wa_open_next(open, p));) {
        const struct wr_answer *answer = answer_for(a, p->id);
        bool denied = !answer->result.p;
        struct upp_str text = answer->result;
        int r = denied ? wr_denial(&x->arena, answer->reason, &text, err) : 0;
        if (r < 0)
            return r;
        parts[m->n_parts++] = (struct upp_part){.kind = UPP_PART_RESULT,
                                                .is_error = denied || answer->is_error,
                                                .id = p->id,
                                                .name = p->name,
                                                .text = text};
    }
    *ret = m;
    return 0;
}

/* Who the client is on the thread of the run's tree. -UPP_EREFUSED: its actor has left. */
WEFT_SUSPENDS static int author_of(struct sv_exchange *x, struct wb_uuid run, struct wr_author *ret,
                                   struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wm_run row;
    struct wl_thread t;
    ret->api_key = sv_auth_key(x);
    int r = wl_get_run(s, &x->owner, run, &x->arena, &row, err);
    if (r >= 0 && !wb_uuid_eq(row.root, run))
        r = wl_get_run(s, &x->owner, row.root, &x->arena, &row, err);
    if (r >= 0)
        r = wl_get_thread(s, &x->owner, row.thread, &x->arena, &t, err);
    return r < 0 ? r : sv_members_author(x, &t, &ret->who, err);
}

int sv_answer_calls(struct sv_exchange *x, struct wb_uuid run, const struct sv_answers *a, struct upp_err *err)
{
    return sv_answer_calls_as(x, run, a, (struct upp_str){NULL, 0}, err);
}

int sv_answer_calls_as(struct sv_exchange *x, struct wb_uuid run, const struct sv_answers *a, struct upp_str alias,
                       struct upp_err *err)
{
    struct wr_author by = {.alias = alias, .options = a->options};
    if (a->request && a->request->key.n) {
        by.route = a->request->route;
        by.key = a->request->key;
        by.body = a->request->body;
    }
    int r = author_of(x, run, &by, err);
    if (r >= 0)
        r = wr_answer_by(x->core->engine, &x->owner, run, a->p, a->n, &by, err);
    x->done = r >= 0;
    if (r < 0 && by.key.p && sv_key_is_used(x, a->request))
        return 1;
    return r < 0 ? r : 0;
}

int sv_cancel(struct sv_exchange *x, struct wb_uuid run, struct upp_err *err)
{
    struct wr_author by;
    int r = author_of(x, run, &by, err);
    if (r >= 0)
        r = wr_cancel(x->core->engine, &x->owner, run, err);
    x->done = r >= 0;
    return r;
}

/* Does the request name another agent than the run's? */
static bool names_other(struct sv_exchange *x, struct upp_str named, struct upp_str of_run)
{
    const struct wr_agent_def *def = wr_agent(x->core->engine, named);
    if (!named.n || wb_str_eq(named, of_run))
        return false;
    return !def || def->base || def != wr_agent(x->core->engine, of_run);
}

/* Metadata that the request does not set stays. */
static int keep_metadata(struct sv_exchange *x, const struct wm_run *row, struct upp_str own, struct upp_str *ret,
                         struct upp_err *err)
{
    yyjson_val *v = NULL;
    struct upp_str metadata;
    int r = wr_options_read(&x->arena, row->options, &v, err);
    v = yyjson_obj_get(v, "metadata");
    *ret = own;
    if (r < 0 || !v)
        return r;
    r = sv_body_text(&x->arena, v, &metadata, err);
    if (r < 0)
        return r;
    struct upp_str had = wb_arena_printf(&x->arena, "{\"metadata\":%.*s}", UPP_FMT(metadata));
    r = wb_arena_check(&x->arena, err);
    return r < 0 ? r : wj_merge(&x->arena, had, own, ret, err);
}

/* The options of the run from now on; empty: those that it has. */
static int next_options(struct sv_exchange *x, struct sv_start *s, const struct wm_run *row, struct upp_str own,
                        struct upp_str *ret, struct upp_err *err)
{
    const struct upp_str agent = s->run.agent, started = s->run.options;
    bool other = names_other(x, agent, row->agent), some;
    int r = sv_has_options(x, own, &some, err);
    if (r >= 0 && other && s->system.n)
        r = upp_fail(err, UPP_EINVALID, "the system text is for '%.*s', and the run that waits is of '%.*s'",
                     UPP_FMT(agent), UPP_FMT(row->agent));
    if (r >= 0 && other && s->agent_member)
        sv_reply_header(&x->reply, "weft-ignored", wb_cstr(s->agent_member));
    if (r < 0 || (!some && !s->system.n))
        return r;
    s->run.agent = row->agent;
    r = keep_metadata(x, row, own, &s->run.options, err);
    if (r >= 0)
        r = sv_next_options(x, row, s, ret, err);
    s->run.agent = agent;
    s->run.options = started;
    return r;
}

/* Resumes the run that waits. 1; 0: the same request was first. */
WEFT_SUSPENDS static int resume(struct sv_exchange *x, struct sv_start *s, struct upp_str own, struct wb_uuid run,
                                struct upp_err *err)
{
    struct sv_answers with = s->answers;
    struct wm_run row;
    with.request = &s->run;
    int r = wl_get_run(x->server->opts.store, &x->owner, run, &x->arena, &row, err);
    if (r >= 0 && row.status == WM_WAITING)
        r = next_options(x, s, &row, own, &with.options, err);
    if (r >= 0)
        r = sv_answer_calls(x, run, &with, err);
    return r < 0 ? r : r == 0;
}

int sv_put_answers(struct sv_exchange *x, struct sv_start *s, struct upp_str own, struct wb_uuid *run,
                   struct upp_err *err)
{
    struct wl_store *store = x->server->opts.store;
    struct wl_node head;
    struct wa_open open;
    struct upp_message *results = NULL;
    int r = wl_get_node(store, &x->owner, s->thread.head, &head, err);
    if (r >= 0)
        r = wl_thread_busy(store, &s->thread, &head, run, err);
    if (r >= 0 && !wb_uuid_is_nil(*run))
        return resume(x, s, own, *run, err);
    if (r >= 0)
        r = wa_open_imported(store, &x->owner, &s->thread, &x->arena, &open, &s->run.at, err);
    if (r == 0)
        r = upp_fail(err, UPP_EINVALID, "no call of the thread is open");
    if (r > 0)
        r = check_open(&s->answers, &open, err);
    if (r >= 0)
        r = make_results(x, &s->answers, &open, &results, err);
    if (r < 0)
        return r;
    s->run.input = results;
    s->run.who = s->run.agent;
    s->run.head = s->thread.head;
    s->run.on_busy = WR_REJECT;
    return 0;
}
