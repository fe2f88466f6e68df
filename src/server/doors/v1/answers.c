/* server/doors/v1/answers.c — answers to open calls in a request. */
#include "json/value.h"
#include "server/doors/conversation/join.h"
#include "server/doors/objects/find.h"
#include "server/doors/v1/routes.h"
#include "server/http/body.h"
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

int sv_read_answers(struct sv_exchange *x, const struct sv_body *b, struct sv_answers *ret, struct upp_err *err)
{
    yyjson_val *list = NULL, *v;
    size_t i, max;
    *ret = (struct sv_answers){0};
    int r = sv_body_array(b, b->root, UPP_STR("answers"), &list, err);
    if (r <= 0)
        return r;
    ret->n = yyjson_arr_size(list);
    if (ret->n == 0 || ret->n > SV_ANSWERS_MAX)
        return sv_body_wrong(b, list, err, "answers is an array of 1 to %d", SV_ANSWERS_MAX);
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

int sv_answers_key(struct sv_exchange *x, struct wb_uuid run, const char *route, struct wr_start *start,
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
        r = sv_answers_key(x, run, "answers", &start, hash, err);
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
