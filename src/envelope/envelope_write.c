/* envelope/envelope_write.c — envelopes that Weft writes: members in the order of the specification. */
#include "base/iso8601.h"
#include "dialects/envelope/chains.h"
#include "dialects/envelope/write.h"
#include "envelope/envelope.h"
#include "json/value.h"

void we_put_agent(struct wj_writer *w, struct upp_str id, struct upp_str name, struct upp_str model)
{
    wj_put_open(w, "agent", '{');
    wj_put_str(w, "id", id);
    wj_put_str(w, "name", wd_envelope_filled(name, "Mux"));
    wj_put_str(w, "model", wd_envelope_filled(model, WD_ENVELOPE_NO_MODEL));
    wj_write_close(w, '}');
}

void we_put_time(struct wj_writer *w, int64_t now_ms)
{
    char text[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(now_ms);
    wj_put_str(w, "timestamp", wb_time_upp(&t, text));
}

static void put_parameters(struct wj_writer *w, yyjson_val *parameters, struct upp_str without)
{
    yyjson_val *key, *value;
    size_t i, n;
    wj_put_open(w, "parameters", '{');
    yyjson_obj_foreach(parameters, i, n, key, value)
    {
        if (!without.n || !wb_str_eq(wj_text(key), without))
            wj_put_member(w, key);
    }
    wj_write_close(w, '}');
}

static void put_inputs(struct wj_writer *w, const struct we_draft *d)
{
    if (!d->context.p && !d->resources && !d->parameters)
        return;
    wj_put_open(w, "inputs", '{');
    wj_put_text(w, "context", d->context);
    wj_put_value(w, "resources", d->resources);
    if (yyjson_is_obj(d->parameters))
        put_parameters(w, d->parameters, d->not_parameter);
    wj_write_close(w, '}');
}

static void put_content(struct wj_writer *w, const struct we_draft *d, struct upp_str text)
{
    wj_put_open(w, "content", '{');
    wj_put_str(w, "type", d->type);
    wj_put_text(w, "text", text);
    if (d->data_json.n)
        wj_put_raw(w, "data", d->data_json.p, d->data_json.n);
    else
        wj_put_value(w, "data", d->data);
    wj_write_close(w, '}');
}

static void put_texts(struct wj_writer *w, const char *name, const struct upp_str *list, size_t n)
{
    wj_put_open(w, name, '[');
    for (size_t i = 0; i < n; i++)
        wj_write_str(w, list[i]);
    wj_write_close(w, ']');
}

void we_put_parents(struct wj_writer *w, const struct upp_str *list, size_t n, size_t above)
{
    put_texts(w, "parents", list, n);
    if (above)
        wj_put_u64(w, WD_ENVELOPE_ABOVE, above);
}

void we_put_cost(struct wj_writer *w, uint64_t input, uint64_t output)
{
    wj_put_open(w, "cost", '{');
    wj_put_u64(w, "input_tokens", input);
    wj_put_u64(w, "output_tokens", output);
    wj_write_close(w, '}');
}

void we_put_confidence(struct wj_writer *w, double score, struct upp_str rationale, const struct upp_str *risks,
                       size_t n_risks)
{
    wj_put_open(w, "confidence", '{');
    wj_write_name(w, UPP_STR("score"));
    if (score == 0 || score == 1) /* 0 and 1, and not 0.0 and 1.0 */
        wj_write_u64(w, (uint64_t)score);
    else
        wj_write_f64(w, score);
    wj_put_text(w, "rationale", rationale);
    if (n_risks)
        put_texts(w, "risks", risks, n_risks);
    wj_write_close(w, '}');
}

static void put_trace(struct wj_writer *w, const struct we_trace *t)
{
    if (!t->id.n && !t->n_parents && !t->n_tags && !t->has_cost)
        return;
    wj_put_open(w, "trace", '{');
    if (t->n_parents)
        we_put_parents(w, t->parents, t->n_parents, t->above);
    if (t->id.n)
        wj_put_str(w, "id", t->id);
    if (t->n_tags)
        put_texts(w, "tags", t->tags, t->n_tags);
    if (t->has_cost)
        we_put_cost(w, t->input_tokens, t->output_tokens);
    wj_write_close(w, '}');
}

static bool wants_score(const struct we_draft *d)
{
    return wb_str_eq(d->role, UPP_STR("agent")) || wb_str_eq(d->role, UPP_STR("tool"));
}

static void write_draft(struct wj_writer *w, struct wb_arena *a, const struct we_draft *d)
{
    struct upp_str text = d->text;
    if (!d->bare && !text.p && d->data && !wb_str_eq(d->type, UPP_STR("text")))
        text = wd_envelope_summary(a, d->data);
    wj_write_open(w, '{');
    wj_put_str(w, "protocol", UPP_STR(WD_ENVELOPE_PROTOCOL));
    wj_put_str(w, "role", d->role);
    if (d->agent_id.n)
        we_put_agent(w, d->agent_id, d->agent_name, d->model);
    we_put_time(w, d->now_ms);
    wj_put_str(w, "intent", d->intent);
    wj_put_str(w, "task", d->task);
    put_inputs(w, d);
    put_content(w, d, text);
    if (d->has_score)
        we_put_confidence(w, d->score, d->rationale, d->risks, d->n_risks);
    else if (!d->bare && wants_score(d))
        we_put_confidence(w, WE_DEFAULT_SCORE, UPP_STR(WE_UNSTATED), d->risks, d->n_risks);
    put_trace(w, &d->trace);
    wj_write_close(w, '}');
}

int we_write(struct wb_arena *a, const struct we_draft *d, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WE_MAX_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    write_draft(&w, a, d);
    int r = wb_arena_check(a, err);
    return r < 0 ? r : wj_writer_text(&w, a, ret);
}

int we_chain(struct wb_arena *a, const struct we_envelope *request, bool direct, const struct upp_str **ret, size_t *n,
             struct upp_err *err)
{
    size_t above = direct || !request->parents ? 0 : yyjson_arr_size(request->parents);
    size_t skip = above >= WE_MAX_PARENTS ? above - (WE_MAX_PARENTS - 1) : 0;
    struct upp_str *list = wb_new_n(a, struct upp_str, above - skip + 1);
    yyjson_val *v;
    size_t i, max, to = 0;
    if (!list)
        return wb_arena_check(a, err);
    if (above)
        yyjson_arr_foreach(request->parents, i, max, v)
        {
            if (i >= skip)
                list[to++] = wj_text_of(v);
        }
    if (request->id.n)
        list[to++] = request->id;
    *ret = list;
    *n = to;
    return 0;
}

int we_retrace(struct wb_arena *a, const struct we_envelope *e, struct upp_str id, const struct upp_str *parents,
               size_t n_parents, const struct upp_str *tags, size_t n_tags, struct upp_str *ret, struct upp_err *err)
{
    struct we_edit edit = {.id = id, .parents = parents, .n_parents = n_parents, .tags = tags, .n_tags = n_tags};
    return we_edit(a, e->root, &edit, ret, err);
}

static void put_problems(struct wj_writer *w, const struct wd_problems *p)
{
    wj_put_open(w, "problems", '[');
    for (size_t i = 0; i < p->list.n; i++) {
        const struct wd_problem *one = &p->list.p[i];
        if (one->severity != WD_ERROR)
            continue;
        wj_write_open(w, '{');
        wj_put_str(w, "pointer", one->pointer);
        wj_put_str(w, "rule", wb_cstr(one->rule));
        wj_put_str(w, "sentence", one->sentence);
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

static int error_data(struct wb_arena *a, const struct we_error *e, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WE_MAX_BYTES / 2);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "code", wb_cstr(e->code));
    wj_put_bool(&w, "retryable", e->retryable);
    if (e->problems && e->problems->list.n)
        put_problems(&w, e->problems);
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

int we_write_error(struct wb_arena *a, const struct we_error *e, struct upp_str *ret, struct upp_err *err)
{
    const struct we_envelope *of = e->request;
    struct we_draft d = {.role = UPP_STR("system"),
                         .agent_id = UPP_STR(WE_ORCHESTRATOR),
                         .now_ms = e->now_ms,
                         .intent = of ? of->intent_name : UPP_STR("reflect"),
                         .task = of ? of->task : UPP_STR("Report a problem"),
                         .type = UPP_STR("error"),
                         .text = e->text.p ? e->text : wb_cstr(e->code),
                         .has_score = true,
                         .trace = {.id = e->id,
                                   .above = e->above,
                                   .has_cost = e->has_cost,
                                   .input_tokens = e->input_tokens,
                                   .output_tokens = e->output_tokens}};
    int r = error_data(a, e, &d.data_json, err);
    if (r >= 0 && of)
        r = we_chain(a, of, e->direct, &d.trace.parents, &d.trace.n_parents, err);
    return r < 0 ? r : we_write(a, &d, ret, err);
}

int we_write_handshake(struct wb_arena *a, const struct we_announcement *h, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
    struct wj_writer w;
    struct we_draft d = {.role = UPP_STR("system"),
                         .agent_id = wd_envelope_filled(h->agent_id, WE_ORCHESTRATOR),
                         .agent_name = h->agent_name,
                         .now_ms = h->now_ms,
                         .intent = UPP_STR("reflect"),
                         .task = UPP_STR("Announce envelope support and capabilities"),
                         .type = UPP_STR("json"),
                         .text = UPP_STR("object: supports, max_tokens"),
                         .has_score = true,
                         .score = 0.9, /* the seed's */
                         .trace = h->trace};
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "supports", '[');
    for (const struct upp_str *t = wd_envelope_contents.list; t->p; t++)
        wj_write_str(&w, *t);
    wj_write_close(&w, ']');
    if (h->max_tokens)
        wj_put_u64(&w, "max_tokens", h->max_tokens);
    wj_write_close(&w, '}');
    int r = wj_writer_text(&w, a, &d.data_json);
    return r < 0 ? r : we_write(a, &d, ret, err);
}
