/* server/doors/v1/answers.c — answers to open calls of a run: the member `answers`, POST /v1/runs/{r}/answers, and
 * POST /v1/threads/{t}/runs/{r}/submit_tool_outputs: the outputs of all calls of the client's tools at once, as this
 * API has it. These are answers as any others (sv_answer_calls); it only refuses more. */
#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "json/value.h"
#include "server/doors/conversation/conversation.h"
#include "server/doors/objects/find.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

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
    yyjson_val *output = yyjson_obj_getn(v, "output", 6); /* null is a result too */
    int approval = sv_body_bool(b, v, UPP_STR("approved"), &ret->approved, err);
    if (approval < 0)
        return approval;
    if (!output == !approval)
        return sv_body_wrong(b, v, err, "an answer has an output, or says whether it is approved");
    int reason = sv_body_str(b, v, UPP_STR("reason"), &ret->reason, err);
    if (reason < 0)
        return reason;
    if (reason > 0 && (output || ret->approved))
        return sv_body_wrong(b, v, err, "only a denial has a reason");
    return sv_body_text(&x->arena, output, &ret->result, err);
}

typedef int read_one_fn(struct sv_exchange *x, const struct sv_body *b, yyjson_val *v, struct wr_answer *ret,
                        struct upp_err *err);

/* A member that is a list of answers. 1; 0: absent. */
static int read_list(struct sv_exchange *x, const struct sv_body *b, const char *name, read_one_fn *read_one,
                     struct sv_answers *ret, struct upp_err *err)
{
    yyjson_val *list = NULL, *v;
    size_t i, max;
    *ret = (struct sv_answers){0};
    int r = sv_body_array(b, b->root, wb_cstr(name), &list, err);
    if (r <= 0)
        return r;
    ret->n = yyjson_arr_size(list);
    if (ret->n == 0 || ret->n > SV_ANSWERS_MAX)
        return sv_body_wrong(b, list, err, "%s is an array of 1 to %d", name, SV_ANSWERS_MAX);
    ret->p = wb_new_n(&x->arena, struct wr_answer, ret->n);
    if (!ret->p)
        return wb_arena_check(&x->arena, err);
    yyjson_arr_foreach(list, i, max, v)
    {
        r = read_one(x, b, v, &ret->p[i], err);
        if (r < 0)
            return r;
    }
    return 1;
}

int sv_read_answers(struct sv_exchange *x, const struct sv_body *b, struct sv_answers *ret, struct upp_err *err)
{
    return read_list(x, b, "answers", read_answer, ret, err);
}

/* The Idempotency-Key of a request that answers a run, as sv_start_key: keys are for this run. */
static int read_answers_key(struct sv_exchange *x, struct wb_uuid run, const char *route, struct wr_start *start,
                            unsigned char hash[32], struct upp_err *err)
{
    char hex[WB_UUID_HEX + 1];
    (void)wb_uuid_hex(run, hex);
    return sv_start_key(x, wb_arena_printf(&x->arena, "POST /v1/runs/%s/%s", hex, route), start, hash, err);
}

int sv_post_answers(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"answers", NULL};
    struct sv_answers answers;
    struct sv_joining joining;
    struct wr_start start = {0};
    unsigned char hash[32];
    struct sv_body b;
    struct wb_uuid run;
    int r = sv_find_run(x, x->params[0], &run, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = read_answers_key(x, run, "answers", &start, hash, err);
    if (r >= 0)
        r = sv_join_key(x, &start, &joining, err);
    if (r > 0) /* the answers were sent before */
        return sv_answer_run(x, run, err);
    if (r >= 0)
        r = sv_read_answers(x, &b, &answers, err);
    if (r >= 0 && !answers.n)
        r = upp_fail(err, UPP_EINVALID, "answers is an array of 1 to %d", SV_ANSWERS_MAX);
    if (r < 0)
        return r;
    answers.request = &start;
    r = sv_answer_calls(x, run, &answers, err);
    if (r > 0) /* the same request was first */
        r = sv_join_key(x, &start, &joining, err);
    return r < 0 ? r : sv_answer_run(x, run, err);
}

static int read_output(struct sv_exchange *x, const struct sv_body *b, yyjson_val *v, struct wr_answer *ret,
                       struct upp_err *err)
{
    struct upp_str text;
    *ret = (struct wr_answer){.result = UPP_STR("\"\"")}; /* a tool need not say anything */
    if (!yyjson_is_obj(v))
        return sv_body_wrong(b, v, err, "an output is an object");
    int r = sv_body_str(b, v, UPP_STR("tool_call_id"), &ret->call, err);
    if (r == 0)
        return sv_body_wrong(b, v, err, "an output needs a tool_call_id");
    if (r >= 0)
        r = sv_body_str(b, v, UPP_STR("output"), &text, err);
    return r <= 0 ? r : sv_body_text(&x->arena, sv_member(v, UPP_STR("output")), &ret->result, err);
}

static const struct wm_pending *find_pending(const struct wr_run_info *look, struct upp_str call)
{
    for (size_t i = 0; i < look->n_pending; i++)
        if (wb_str_eq(look->pending[i].call, call))
            return &look->pending[i];
    return NULL;
}

static size_t count_outputs(const struct sv_answers *a, struct upp_str call)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++)
        n += wb_str_eq(a->p[i].call, call);
    return n;
}

/* Every call of the client's tools has one output, and there is no other. */
static int check_outputs(const struct wr_run_info *look, const struct sv_answers *a, struct upp_err *err)
{
    const char *status = asst_status(&look->run, look->n_pending);
    if (look->run.status != WM_WAITING)
        return upp_fail(err, UPP_EINVALID, "Runs in status '%s' do not accept tool outputs: call '%.*s' is not open.",
                        status, UPP_FMT(a->p[0].call));
    for (size_t i = 0; i < a->n; i++) {
        const struct wm_pending *p = find_pending(look, a->p[i].call);
        if (!p)
            return upp_fail(err, UPP_EINVALID,
                            "Call '%.*s' is not open: the run is in status '%s' and waits for others.",
                            UPP_FMT(a->p[i].call), status);
        if (p->approval)
            return upp_fail(
                err, UPP_EINVALID,
                "Call '%.*s' of the run in status '%s' waits for an approval (POST /v1/runs/{r}/answers), not "
                "for an output.",
                UPP_FMT(p->call), status);
        if (count_outputs(a, p->call) > 1)
            return upp_fail(err, UPP_EINVALID, "Call '%.*s' of the run in status '%s' has two outputs.",
                            UPP_FMT(p->call), status);
    }
    for (size_t i = 0; i < look->n_pending; i++)
        if (!look->pending[i].approval && !count_outputs(a, look->pending[i].call))
            return upp_fail(err, UPP_EINVALID,
                            "Call '%.*s' of the run in status '%s' has no output: all of them are submitted at once.",
                            UPP_FMT(look->pending[i].call), status);
    return 0;
}

struct submitting {
    struct sv_run_request q;
    struct sv_joining joining;
    struct wb_uuid run;
};

/* The outputs were submitted before: the run as it is now, or its stream from there. */
WEFT_SUSPENDS static int join_submitted(struct sv_exchange *x, struct upp_err *err)
{
    struct submitting *s = x->work;
    int r = sv_join_from(x, &s->joining, &s->q.stream, err);
    return r < 0 ? r : sv_answer_started(x, s->run, &s->q, err);
}

WEFT_SUSPENDS static int submit_outputs(struct sv_exchange *x, struct submitting *s, const struct sv_body *b,
                                        const struct wr_run_info *look, struct upp_err *err)
{
    struct sv_answers *answers = &s->q.start.answers;
    int r = read_list(x, b, "tool_outputs", read_output, answers, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "tool_outputs is missing");
    answers->request = &s->q.start.run;
    if (r >= 0)
        r = check_outputs(look, answers, err);
    if (r >= 0)
        r = sv_answer_calls(x, s->run, answers, err);
    if (r > 0)
        return sv_join_other(x, &s->q.start.run, s->run, &s->joining, join_submitted, err);
    s->q.stream.from = (struct wr_from){look->epoch, look->last, 0}; /* what follows is new to the client */
    return r < 0 ? r : sv_answer_started(x, s->run, &s->q, err);
}

WEFT_SUSPENDS int sv_submit_tool_outputs(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"tool_outputs", "stream", NULL};
    struct submitting *s = wb_new(&x->arena, struct submitting);
    struct wr_run_info look;
    struct sv_body b;
    if (!s)
        return wb_arena_check(&x->arena, err);
    *s = (struct submitting){0};
    x->work = s;
    int r = sv_find_in_thread(x, &look, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_body_bool(&b, b.root, UPP_STR("stream"), &s->q.streams, err);
    if (r >= 0 && s->q.streams)
        r = sv_run_stream_read(x, NULL, &s->q.stream, err); /* before anything is answered */
    if (r < 0)
        return r;
    s->run = look.run.id;
    r = read_answers_key(x, s->run, "submit_tool_outputs", &s->q.start.run, s->q.hash, err);
    if (r >= 0)
        r = sv_join_key(x, &s->q.start.run, &s->joining, err);
    if (r > 0)
        return join_submitted(x, err);
    if (r >= 0)
        r = submit_outputs(x, s, &b, &look, err);
    return sv_join_failed(x, r, &s->q.start.run, &s->joining, join_submitted, err);
}
