/* envelope/envelope.c — reads an envelope: checked by the table of the dialect, members that routing needs. */
#include "envelope/envelope.h"

#include "base/err.h"
#include "dialects/core/convert.h"
#include "dialects/core/lift.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"

_Static_assert(WE_INTENTS == 10, "as many as wd_envelope_intents has");

int we_intent_find(struct upp_str name)
{
    for (int i = 0; i < WE_INTENTS; i++)
        if (wb_str_eq(we_intent_name(i), name))
            return i;
    return WE_UNKNOWN;
}

/* A member, if it is a list with something in it. */
static yyjson_val *list_at(yyjson_val *object, const char *name)
{
    yyjson_val *v = yyjson_obj_get(object, name);
    return yyjson_is_arr(v) && yyjson_arr_size(v) ? v : NULL;
}

static void read_inputs(yyjson_val *inputs, struct we_envelope *e)
{
    e->context = wj_text_at(inputs, "context");
    e->resources = list_at(inputs, "resources");
    e->parameters = yyjson_obj_get(inputs, "parameters");
}

static void read_content(yyjson_val *content, struct we_envelope *e)
{
    e->content = content;
    e->type = wj_text_at(content, "type");
    e->text = wj_text_at(content, "text");
    e->data = yyjson_obj_get(content, "data");
}

static void read_confidence(yyjson_val *confidence, struct we_envelope *e)
{
    yyjson_val *score = yyjson_obj_get(confidence, "score");
    e->has_score = yyjson_is_raw(score) && wj_num_f64(wj_text(score), &e->score);
    e->default_score = wb_str_eq(wj_text_at(confidence, "rationale"), UPP_STR(WE_UNSTATED));
}

static void read_trace(yyjson_val *trace, struct we_envelope *e)
{
    yyjson_val *cost = yyjson_obj_get(trace, "cost");
    e->id = wj_text_at(trace, "id");
    e->parents = list_at(trace, "parents");
    e->tags = list_at(trace, "tags");
    e->has_cost = cost != NULL;
    e->input_tokens = cost ? wd_number_at(cost, "input_tokens") : 0;
    e->output_tokens = cost ? wd_number_at(cost, "output_tokens") : 0;
}

static void read_members(struct we_envelope *e)
{
    yyjson_val *found[WD_ENV_FIELDS];
    enum { PROTOCOL, ROLE, AGENT, TIMESTAMP, INTENT, TASK, INPUTS, CONTENT, OUTPUTS, CONFIDENCE, TRACE };
    (void)WJ_MEMBERS(e->root, wd_envelope_table.fields, found);
    e->role = wj_text_of(found[ROLE]);
    e->timestamp = wj_text_of(found[TIMESTAMP]);
    e->intent_name = wj_text_of(found[INTENT]);
    e->intent = we_intent_find(e->intent_name);
    e->task = wj_text_of(found[TASK]);
    e->agent_id = wj_text_at(found[AGENT], "id");
    e->agent_name = wj_text_at(found[AGENT], "name");
    e->model = wj_text_at(found[AGENT], "model");
    read_inputs(found[INPUTS], e);
    read_content(found[CONTENT], e);
    e->artifacts = list_at(found[OUTPUTS], "artifacts");
    e->actions = list_at(found[OUTPUTS], "next_actions");
    read_confidence(found[CONFIDENCE], e);
    read_trace(found[TRACE], e);
}
_Static_assert(WD_ENV_ROW_CONTENT == 7 && WD_ENV_ROW_TRACE == 10, "the order of the table");

/* The first error, as a sentence. */
static int first_problem(const struct wd_problems *p, struct upp_err *err)
{
    for (size_t i = 0; i < p->list.n; i++)
        if (p->list.p[i].severity == WD_ERROR) {
            int r = upp_fail(err, UPP_EINVALID, "%.*s", UPP_FMT(p->list.p[i].sentence));
            wb_err_where(err, p->list.p[i].pointer);
            return r;
        }
    return upp_fail(err, UPP_EINVALID, "not an envelope");
}

static int check(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    int r = 0;
    if (yyjson_is_obj(root))
        r = wd_envelope_validate(p, root, err);
    else
        wd_problem(p, WD_ERROR, "ENV-1.1", root, "an envelope must be an object");
    if (r >= 0 && p->failed)
        r = upp_fail(err, UPP_ENOMEM, "no memory for problems");
    return r < 0 ? r : p->errors ? first_problem(p, err) : 0;
}

/* Is an unknown intent its only mistake? */
static bool is_other_intent(const struct wd_problems *p, yyjson_val *root)
{
    yyjson_val *intent = yyjson_obj_get(root, "intent");
    size_t n = yyjson_is_str(intent) ? wj_text(intent).n : 0;
    bool found = false;
    if (!n || n > WE_MAX_INTENT || p->errors != 1)
        return false;
    for (size_t i = 0; i < p->list.n; i++)
        found |= p->list.p[i].severity == WD_ERROR && wb_str_eq(p->list.p[i].pointer, UPP_STR("/intent"));
    return found;
}

static int read_envelope(struct wb_arena *a, struct upp_str text, bool any, struct wd_problems *problems,
                         struct we_envelope *ret, struct upp_err *err)
{
    WB_CLEANUP(wd_problems_done) struct wd_problems own = {0};
    struct wd_problems *p = problems ? problems : &own;
    struct we_envelope e = {0};

    int r = wj_read(a, text, UPP_OPTS(wj_read_opts, .max_bytes = WE_MAX_BYTES, .depth = WE_MAX_DEPTH), &e.root, err);
    if (r < 0)
        return r;
    *p = (struct wd_problems){.a = a, .root = e.root};
    struct upp_err why = {0};
    r = check(p, e.root, &why);
    if (r < 0 && !(any && r == -UPP_EINVALID && is_other_intent(p, e.root))) {
        if (err)
            *err = why;
        return r;
    }
    read_members(&e);
    e.json = wb_arena_dup(a, text);
    r = wb_arena_check(a, err);
    if (r < 0)
        return r;
    *ret = e;
    return 0;
}

int we_read(struct wb_arena *a, struct upp_str text, struct wd_problems *problems, struct we_envelope *ret,
            struct upp_err *err)
{
    return read_envelope(a, text, false, problems, ret, err);
}

int we_read_any(struct wb_arena *a, struct upp_str text, struct wd_problems *problems, struct we_envelope *ret,
                struct upp_err *err)
{
    return read_envelope(a, text, true, problems, ret, err);
}

bool we_is_doubted(const struct we_envelope *e, double doubt)
{
    bool written = wb_str_eq(e->role, UPP_STR("agent")) || wb_str_eq(e->role, UPP_STR("tool"));
    return written && e->has_score && !e->default_score && !we_is_error(e) && e->score < doubt;
}

bool we_is_handshake(const struct we_envelope *e)
{
    return wb_str_eq(e->role, UPP_STR("system")) && yyjson_is_arr(yyjson_obj_get(e->data, "supports"));
}

bool we_error_code(const struct we_envelope *e, struct upp_str *code, bool *retryable)
{
    *code = we_is_error(e) ? wj_text_at(e->data, "code") : (struct upp_str){0};
    *retryable = we_is_error(e) && yyjson_is_true(yyjson_obj_get(e->data, "retryable"));
    return code->p != NULL;
}

bool we_has_tag(const struct we_envelope *e, struct upp_str tag)
{
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(e->tags, i, n, v)
    {
        if (wb_str_eq(wj_text_of(v), tag))
            return true;
    }
    return false;
}

struct upp_str we_parent(const struct we_envelope *e)
{
    return wj_text_of(yyjson_arr_get_last(e->parents));
}

bool we_peer_read(const struct we_envelope *handshake, struct we_peer *ret)
{
    yyjson_val *v;
    size_t i, n;
    *ret = (struct we_peer){0};
    if (!we_is_handshake(handshake))
        return false;
    yyjson_arr_foreach(yyjson_obj_get(handshake->data, "supports"), i, n, v)
    {
        for (size_t k = 0; wd_envelope_contents.list[k].p; k++)
            if (wb_str_eq(wd_envelope_contents.list[k], wj_text_of(v)))
                ret->types |= 1u << k;
    }
    ret->max_tokens = wd_number_at(handshake->data, "max_tokens");
    return true;
}

bool we_peer_takes(const struct we_peer *p, const struct we_envelope *e, const char **why)
{
    yyjson_val *tokens = yyjson_obj_get(e->parameters, "max_tokens");
    uint64_t asked = 0;
    size_t k = 0;
    while (wd_envelope_contents.list[k].p && !wb_str_eq(wd_envelope_contents.list[k], e->type))
        k++;
    if (!(p->types & 1u << k)) {
        *why = "it has not announced this content type";
        return false;
    }
    if (p->max_tokens && tokens &&
        (!yyjson_is_raw(tokens) || !wj_num_u64(wj_text(tokens), &asked) || asked > p->max_tokens)) {
        *why = "it announced fewer tokens than max_tokens asks for";
        return false;
    }
    return true;
}
