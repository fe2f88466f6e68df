/* server/doors/v1/answers.c — answers to open calls: of a run that waits, or of an imported thread that ends with
 * them. */
#include "thread/repair.h"
#include "json/value.h"
#include "server/http/body.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

enum { ANSWERS_MAX = 128 };

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static int read_answer(struct sv_exchange *x, const struct sv_body *b, yyjson_val *v, struct wr_answer *ret,
                       struct upp_err *err)
{
    *ret = (struct wr_answer){0};
    if (!yyjson_is_obj(v))
        return sv_body_wrong(b, v, err, "an answer is an object");
    int r = sv_body_str(b, v, UPP_STR("call_id"), &ret->call, err);
    if (r == 0)
        r = sv_body_str(b, v, UPP_STR("tool_call_id"), &ret->call, err);
    if (r == 0)
        return sv_body_wrong(b, v, err, "an answer needs a call_id");
    if (r >= 0)
        r = sv_body_bool(b, v, UPP_STR("is_error"), &ret->is_error, err);
    if (r < 0)
        return r;
    yyjson_val *output   = yyjson_obj_getn(v, "output", 6); /* null is a result too */
    int         approval = sv_body_bool(b, v, UPP_STR("approved"), &ret->approved, err);
    if (approval < 0)
        return approval;
    if (!output == !approval)
        return sv_body_wrong(b, v, err, "an answer has an output, or says whether it is approved");
    return sv_body_text(&x->arena, output, &ret->result, err);
}

int sv_read_answers(struct sv_exchange *x, const struct sv_body *b, struct sv_answers *ret, struct upp_err *err)
{
    yyjson_val *list = NULL, *v;
    size_t      i, max;
    *ret  = (struct sv_answers){0};
    int r = sv_body_array(b, b->root, UPP_STR("answers"), &list, err);
    if (r <= 0)
        return r;
    ret->n = yyjson_arr_size(list);
    if (ret->n == 0 || ret->n > ANSWERS_MAX)
        return sv_body_wrong(b, list, err, "answers is an array of 1 to %d", ANSWERS_MAX);
    ret->p = wb_new_n(&x->arena, struct wr_answer, ret->n);
    if (!ret->p)
        return wb_arena_check(&x->arena, err);
    yyjson_arr_foreach(list, i, max, v)
    {
        r = read_answer(x, b, v, &ret->p[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Of a run ---------------------------------------------------------------------------------------------------- */

int sv_post_answers(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_answers answers;
    struct sv_body    b;
    struct wb_uuid    run;
    int               r = sv_run_id(x->params[0], &run, err);
    if (r >= 0)
        r = sv_body_read(x, &b, err);
    if (r >= 0)
        r = sv_read_answers(x, &b, &answers, err);
    if (r >= 0 && !answers.n)
        r = upp_fail(err, UPP_EINVALID, "answers is an array of 1 to %d", ANSWERS_MAX);
    if (r >= 0)
        r = wr_answer(x->server->opts.engine, &x->owner, run, answers.p, answers.n, err);
    return r < 0 ? r : sv_answer_run(x, run, err);
}

/* ---- Of a thread ------------------------------------------------------------------------------------------------- */

static const struct wr_answer *answer_for(const struct sv_answers *a, struct upp_str call)
{
    for (size_t i = 0; i < a->n; i++)
        if (wb_str_eq(a->p[i].call, call))
            return &a->p[i];
    return NULL;
}

static int check_open(const struct sv_answers *a, const struct wa_open *open, struct upp_err *err)
{
    struct upp_str calls[ANSWERS_MAX];
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
    struct upp_message *m     = wb_new(&x->arena, struct upp_message);
    struct upp_part    *parts = wb_new_n(&x->arena, struct upp_part, a->n);
    if (!m || !parts)
        return wb_arena_check(&x->arena, err);
    *m = (struct upp_message){.role = UPP_ROLE_TOOL, .parts = parts};
    for (const struct upp_part *p = NULL; (p = wa_open_next(open, p));) {
        const struct wr_answer *answer = answer_for(a, p->id);
        bool                    denied = !answer->result.p;
        parts[m->n_parts++]            = (struct upp_part){
                       .kind     = UPP_PART_RESULT,
                       .is_error = denied || answer->is_error,
                       .id       = p->id,
                       .name     = p->name,
                       .text     = denied ? UPP_STR("\"Tool execution denied by approval handler\"") : answer->result};
    }
    *ret = m;
    return 0;
}

int sv_put_answers(struct sv_exchange *x, const struct wl_thread *t, const struct sv_answers *a, struct wr_start *start,
                   struct wb_uuid *run, struct upp_err *err)
{
    struct wl_store    *s = x->server->opts.store;
    struct wl_node      head;
    struct wa_open      open;
    struct upp_message *results = NULL;
    int                 r       = wl_get_node(s, &x->owner, t->head, &head, err);
    if (r >= 0)
        r = wl_thread_busy(s, t, &head, run, err);
    if (r >= 0 && !wb_uuid_eq(*run, (struct wb_uuid){{0}})) {
        r = wr_answer(x->server->opts.engine, &x->owner, *run, a->p, a->n, err);
        return r < 0 ? r : 1;
    }
    if (r >= 0)
        r = wa_open_imported(s, &x->owner, t, &x->arena, &open, &start->at, err);
    if (r == 0)
        r = upp_fail(err, UPP_EINVALID, "no call of the thread is open");
    if (r > 0)
        r = check_open(a, &open, err);
    if (r >= 0)
        r = make_results(x, a, &open, &results, err);
    if (r < 0)
        return r;
    start->input   = results;
    start->who     = start->agent;
    start->head    = t->head;
    start->on_busy = WR_REJECT;
    return 0;
}
