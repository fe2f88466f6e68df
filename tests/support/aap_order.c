/* support/aap_order.c — the order of an Agent API stream (AAP-3, AAP-8 to AAP-10). */
#include "support/aap_order.h"

#include <stdio.h>

#include "dialects/agentapi/agentapi.h"
#include "dialects/core/lift.h"
#include "json/read.h"
#include "json/value.h"

void aap_order_init(struct aap_order *c)
{
    *c = (struct aap_order){
        .a = WB_ARENA(256 << 20), .text = WB_BUF(64 << 20), .response = -1, .message = -1, .content = -1};
}

void aap_order_done(struct aap_order *c)
{
    wb_arena_done(&c->a);
    wb_buf_done(&c->text);
    wb_vec_done(&c->closed);
}

static bool wrong(struct aap_order *c, const char *what)
{
    if (!c->wrong[0])
        (void)snprintf(c->wrong, sizeof c->wrong, "frame %u: %.120s", (unsigned)c->sequence, what);
    return false;
}

static bool follows(struct aap_order *c, int *state, enum wd_aap_status now, const char *what)
{
    bool first = *state < 0;
    if (first ? now != WD_AAP_CREATED && now != WD_AAP_IN_PROGRESS
              : !wd_aap_may_follow((enum wd_aap_status) * state, now))
        return wrong(c, what);
    *state = (int)now;
    return true;
}

/* The ids of the output are those of messages that are over, in their order. */
static bool output(struct aap_order *c, yyjson_val *list)
{
    yyjson_val *m;
    size_t i, n, at = 0;
    if (!yyjson_is_arr(list))
        return wrong(c, "a response that is over has its output");
    yyjson_arr_foreach(list, i, n, m)
    {
        while (at < c->closed.n && !wb_str_eq(c->closed.p[at], wj_text_at(m, "id")))
            at++;
        if (at++ == c->closed.n)
            return wrong(c, "the output has a message that was not sent, or out of order");
    }
    return true;
}

static bool response(struct aap_order *c, yyjson_val *v, enum wd_aap_status now)
{
    bool begins = now == WD_AAP_CREATED;
    if (begins && c->response >= WD_AAP_COMPLETED)
        c->response = -1;
    if (begins != (c->response < 0))
        return wrong(c, "a response begins as created, once");
    if (!follows(c, &c->response, now, "a response cannot come to this status"))
        return false;
    if (c->message >= 0 && now >= WD_AAP_COMPLETED)
        return wrong(c, "a response is over and a message is not");
    if ((now == WD_AAP_FAILED) != yyjson_is_obj(yyjson_obj_get(v, "error")))
        return wrong(c, "an error is there where it failed");
    return now < WD_AAP_COMPLETED || output(c, yyjson_obj_get(v, "output"));
}

static bool message(struct aap_order *c, yyjson_val *v, enum wd_aap_status now)
{
    struct upp_str id = wj_text_at(v, "id");
    if (c->message < 0) {
        for (size_t i = 0; i < c->closed.n; i++)
            if (wb_str_eq(c->closed.p[i], id))
                return wrong(c, "a message of an id that was there");
        c->id = id;
        c->content = -1;
        c->index = 0;
    } else if (!wb_str_eq(id, c->id))
        return wrong(c, "a message begins while one is open");
    if (!follows(c, &c->message, now, "a message cannot come to this status"))
        return false;
    if (now < WD_AAP_COMPLETED)
        return true;
    yyjson_val *first = yyjson_arr_get_first(yyjson_obj_get(v, "content"));
    if (c->content >= 0 && c->content < WD_AAP_COMPLETED)
        return wrong(c, "a message is over and a content is not");
    if (c->whole.p && !wb_str_eq(wj_text_at(first, "text"), c->whole))
        return wrong(c, "a message does not say what its content said");
    c->message = -1;
    c->whole = (struct upp_str){0};
    return wb_vec_push(&c->closed, c->id, (size_t)1 << 20) || wrong(c, "no memory");
}

static bool content(struct aap_order *c, yyjson_val *v, enum wd_aap_status now)
{
    bool delta = yyjson_is_true(yyjson_obj_get(v, "delta")), text = wb_str_eq(wj_text_at(v, "type"), UPP_STR("text"));
    if (c->message != WD_AAP_IN_PROGRESS || !wb_str_eq(wj_text_at(v, "msg_id"), c->id))
        return wrong(c, "a content of no message that is open");
    if (c->content >= WD_AAP_COMPLETED && wd_number_at(v, "index") != c->index + 1)
        return wrong(c, "a content goes on after its end");
    if (c->content < 0)
        wb_buf_clear(&c->text);
    c->index = wd_number_at(v, "index");
    c->content = (int)now;
    if (delta != (text && now == WD_AAP_IN_PROGRESS))
        return wrong(c, "pieces are of text in progress");
    if (delta)
        wb_buf_add(&c->text, wj_text_at(v, "text"));
    else if (text) {
        c->whole = wj_text_at(v, "text");
        if (c->text.n && !wb_str_eq(wb_buf_str(&c->text), c->whole))
            return wrong(c, "a content is not what its pieces were");
    }
    return true;
}

bool aap_order_frame(struct aap_order *c, struct upp_str frame)
{
    yyjson_val *v = NULL;
    struct upp_err err;
    if (c->wrong[0])
        return false;
    if (wj_read(&c->a, frame, NULL, &v, &err) < 0)
        return wrong(c, err.msg);
    struct upp_str object = wj_text_at(v, "object");
    enum wd_aap_status now = wd_aap_status(wj_text_at(v, "status"));
    yyjson_val *number = yyjson_obj_get(v, "sequence_number");
    if (now == WD_AAP_UNKNOWN)
        return wrong(c, "no such status");
    if (wb_str_eq(object, UPP_STR("response")) && now == WD_AAP_CREATED)
        c->sequence = 0;
    else if (c->response < 0 || c->response >= WD_AAP_COMPLETED)
        return wrong(c, "outside of a response");
    if (!number || !yyjson_is_raw(number) || wd_number_at(v, "sequence_number") != c->sequence)
        return wrong(c, "sequence_number is not the next");
    bool good = wb_str_eq(object, UPP_STR("response"))  ? response(c, v, now)
                : wb_str_eq(object, UPP_STR("message")) ? message(c, v, now)
                : wb_str_eq(object, UPP_STR("content")) ? content(c, v, now)
                                                        : wrong(c, "no such object");
    c->sequence++;
    return good;
}

bool aap_order_end(struct aap_order *c, bool ended)
{
    if (!c->wrong[0] && ended && c->response < WD_AAP_COMPLETED)
        return wrong(c, "there is no end");
    return !c->wrong[0];
}
