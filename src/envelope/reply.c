/* envelope/reply.c — what a model answered, as an envelope: taken where it is one, else wrapped. */
#include "base/err.h"
#include "dialects/core/convert.h"
#include "envelope/adapter.h"
#include "envelope/envelope.h"
#include "json/keys.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"

struct reply {
    struct wb_arena *a;
    const struct we_adapter *adapter; /* NULL: none */
    const struct we_replied *of;
    const struct upp_str *parents;
    size_t n_parents;
    const struct upp_str *risks;
    size_t n_risks;
};

static double default_score(const struct we_replied *r)
{
    return r->default_score > 0 ? r->default_score : WE_DEFAULT_SCORE;
}

/* A reply that is an envelope. */

/* By its name; or without one, by what only envelopes have. */
static bool seems_envelope(yyjson_val *v)
{
    yyjson_val *protocol = yyjson_obj_get(v, "protocol");
    if (!yyjson_is_obj(v))
        return false;
    if (protocol)
        return wb_str_eq(wj_text_of(protocol), UPP_STR(WD_ENVELOPE_PROTOCOL));
    return yyjson_is_obj(yyjson_obj_get(v, "content")) && yyjson_is_str(yyjson_obj_get(v, "intent"));
}

/* Is it one as it stands? Then it is one with our members too. */
static int is_envelope(struct wb_arena *a, yyjson_val *v, bool *ret, struct upp_err *err)
{
    WB_CLEANUP(wd_problems_done) struct wd_problems problems = {.a = a, .root = v};
    int r = wd_envelope_validate(&problems, v, err);
    *ret = r >= 0 && !problems.errors;
    return r < 0 ? r : problems.failed;
}

static int take(const struct reply *p, yyjson_val *v, struct upp_str *ret, struct upp_err *err)
{
    const struct we_replied *r = p->of;
    struct we_edit edit = {.id = r->id,
                           .parents = p->parents,
                           .n_parents = p->n_parents,
                           .above = r->above,
                           .has_cost = r->has_cost,
                           .input_tokens = r->input_tokens,
                           .output_tokens = r->output_tokens,
                           .complete = true,
                           .agent_id = r->agent_id,
                           .agent_name = r->agent_name,
                           .model = r->model,
                           .foreign = r->foreign,
                           .role = UPP_STR("agent"),
                           .intent = r->request->intent_name,
                           .task = r->request->task,
                           .now_ms = r->now_ms,
                           .score = default_score(r),
                           .risks = p->risks,
                           .n_risks = p->n_risks};
    struct we_envelope checked;
    struct upp_str text;
    bool good = false;
    int code = is_envelope(p->a, v, &good, err);
    if (code >= 0)
        code = we_edit(p->a, v, &edit, &text, err);
    if (code >= 0 && !good) /* what it lacked may have been added */
        code = we_read_any(p->a, text, NULL, &checked, err);
    if (code >= 0 && !good && checked.intent == WE_UNKNOWN && !wb_str_eq(checked.intent_name, r->request->intent_name))
        code = we_read(p->a, text, NULL, &checked, err); /* says what is wrong */
    if (code >= 0)
        *ret = text;
    return code;
}

/* The score that the adapter asked for. */
static bool own_score(const struct reply *p, yyjson_val *v, double *ret)
{
    yyjson_val *score;
    if (!p->adapter || !p->adapter->confidence.n)
        return false;
    score = yyjson_obj_getn(v, p->adapter->confidence.p, p->adapter->confidence.n);
    if (yyjson_is_obj(score))
        score = yyjson_obj_get(score, "score");
    return yyjson_is_raw(score) && wj_num_f64(wj_text(score), ret) && *ret >= 0 && *ret <= 1;
}

static struct upp_str own_text(const struct reply *p, yyjson_val *v)
{
    return p->adapter && p->adapter->text.n ? wj_text_of(yyjson_obj_getn(v, p->adapter->text.p, p->adapter->text.n))
                                            : (struct upp_str){0};
}

/* Has it no more than the text and the score that were asked for? */
static bool only_asked(const struct reply *p, yyjson_val *v)
{
    bool score = p->adapter->confidence.n && yyjson_obj_getn(v, p->adapter->confidence.p, p->adapter->confidence.n);
    return yyjson_obj_size(v) == (size_t)1 + score;
}

static void give_json(const struct reply *p, yyjson_val *v, struct we_draft *d)
{
    struct upp_str text = own_text(p, v);
    double score;
    if (own_score(p, v, &score)) {
        d->has_score = true;
        d->score = score;
        d->rationale = (struct upp_str){0};
    }
    d->text = text;
    if (text.p && only_asked(p, v))
        return;
    d->type = UPP_STR("json");
    d->data = v;
}

static int wrap(const struct reply *p, yyjson_val *json, struct upp_str *ret, struct upp_err *err)
{
    const struct we_replied *r = p->of;
    bool asked = (p->adapter && p->adapter->json) || wb_str_eq(r->request->type, UPP_STR("json"));
    struct we_draft d = {.role = UPP_STR("agent"),
                         .agent_id = r->agent_id,
                         .agent_name = r->agent_name,
                         .model = r->model,
                         .now_ms = r->now_ms,
                         .intent = r->request->intent_name,
                         .task = r->request->task,
                         .type = UPP_STR("text"),
                         .has_score = true,
                         .score = default_score(r),
                         .rationale = UPP_STR(WE_UNSTATED),
                         .risks = p->risks,
                         .n_risks = p->n_risks,
                         .trace = {.id = r->id,
                                   .parents = p->parents,
                                   .n_parents = p->n_parents,
                                   .above = r->above,
                                   .has_cost = r->has_cost,
                                   .input_tokens = r->input_tokens,
                                   .output_tokens = r->output_tokens}};
    if (json && asked && wj_keys_unique(json, wj_size(json), NULL) >= 0) /* no envelope has a member twice */
        give_json(p, json, &d);
    else
        d.text = r->text.p ? r->text : UPP_STR("");
    return we_write(p->a, &d, ret, err);
}

/* Adds that the model's envelope has mistakes. */
static int add_risk(struct reply *p, const struct upp_err *why, struct upp_err *err)
{
    struct upp_str *list = wb_new_n(p->a, struct upp_str, p->n_risks + 1);
    if (!list)
        return wb_arena_check(p->a, err);
    for (size_t i = 0; i < p->n_risks; i++)
        list[i] = p->risks[i];
    list[p->n_risks++] = wb_arena_printf(p->a, "the model's envelope is not valid: %s%s%s", why->where,
                                         why->where[0] ? ": " : "", why->msg);
    p->risks = list;
    return wb_arena_check(p->a, err);
}

/* Without ``` and its language around the whole: many models write JSON in it. */
static struct upp_str without_fence(struct upp_str text)
{
    struct upp_str s = wb_str_trim(text);
    if (s.n < 7 || !wb_str_starts(s, UPP_STR("```")) || !wb_str_ends(s, UPP_STR("```")))
        return s;
    size_t line = wb_str_find(s, UPP_STR("\n"), 0);
    return line == SIZE_MAX || line + 4 > s.n ? s : wb_str_sub(s, line + 1, s.n - line - 4);
}

static int write_failure(const struct reply *p, int code, struct upp_str text, struct upp_str *ret, struct upp_err *err)
{
    static const uint32_t again =
        1u << UPP_ERATE | 1u << UPP_EPROVIDER | 1u << UPP_ENET | 1u << UPP_ETIMEOUT | 1u << UPP_EBUSY;
    struct we_error e = {.request = p->of->request,
                         .code = upp_code_name(code),
                         .text = text,
                         .retryable = code > 0 && code < 32 && again >> code & 1,
                         .direct = p->of->direct,
                         .id = p->of->id,
                         .above = p->of->above,
                         .now_ms = p->of->now_ms,
                         .has_cost = p->of->has_cost,
                         .input_tokens = p->of->input_tokens,
                         .output_tokens = p->of->output_tokens};
    return we_write_error(p->a, &e, ret, err);
}

static int take_or_wrap(struct reply *p, struct upp_str *ret, struct upp_err *err)
{
    struct upp_err why = {0};
    yyjson_val *json = NULL;
    int r = wj_read(p->a, without_fence(p->of->text),
                    UPP_OPTS(wj_read_opts, .max_bytes = WE_MAX_BYTES, .depth = WE_MAX_DEPTH / 2), &json, &why);
    if (r < 0 && r != -UPP_EINVALID && r != -UPP_ELIMIT) {
        if (err)
            *err = why;
        return r;
    }
    if (r < 0)
        json = NULL;
    if (json && seems_envelope(json)) {
        r = take(p, json, ret, &why);
        if (r >= 0)
            return r;
        if (r != -UPP_EINVALID) {
            if (err)
                *err = why;
            return r;
        }
        r = add_risk(p, &why, err);
        if (r < 0)
            return r;
    }
    return wrap(p, json, ret, err);
}

int we_take_reply(struct wb_arena *a, const struct we_adapter *adapter, const struct we_replied *r, struct upp_str *ret,
                  struct upp_err *err)
{
    struct reply p = {.a = a, .adapter = adapter, .of = r, .risks = r->risks, .n_risks = r->n_risks};
    if (r->failure)
        return write_failure(&p, r->failure->code, wb_cstr(r->failure->msg), ret, err);
    int code = we_chain(a, r->request, r->direct, &p.parents, &p.n_parents, err);
    if (code >= 0)
        code = take_or_wrap(&p, ret, err);
    if (code == -UPP_ELIMIT)
        return write_failure(&p, UPP_ELIMIT, UPP_STR("the reply is too large for an envelope"), ret, err);
    return code;
}
