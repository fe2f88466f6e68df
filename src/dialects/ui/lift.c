/* dialects/ui/lift.c — UI messages into the model.
 *
 * A user message is a turn of the user. An assistant message is a turn of the agent: each of its steps becomes the
 * model's output (with its tool calls), then the results of these calls, then the events in between. Everything else
 * (system messages, sources, approvals ...) is residue.
 */
#include "base/err.h"
#include "dialects/core/lift.h"
#include "dialects/ui/doc.h"
#include "json/value.h"
#include "model/file_url.h"

struct lifting {
    struct wd_lifting *l;
    struct upp_err *err;
    /* The current message. */
    uint32_t agent;
    struct wd_ui_about about;
    /* Its current step. */
    struct wd_parts output, results;
    WB_VEC(const struct wd_ui_part *) events;
};

static int metadata_of(const struct lifting *t, yyjson_val *v, struct upp_str *ret)
{
    return yyjson_is_obj(v) ? wj_value_text(t->l->a, v, ret, t->err) : 0;
}

/* ---- Files ----------------------------------------------------------------------------------------------- */

/* An uploaded file has a URN in UI messages, and an address of its own in the log. */
static struct upp_str address(struct wb_arena *a, struct upp_str url)
{
    if (!wb_str_starts(url, UPP_STR(WM_FILE_URN)))
        return url;
    struct upp_str id = wb_str_sub(url, sizeof WM_FILE_URN - 1, SIZE_MAX);
    return wb_arena_join(a, (struct upp_str[]){UPP_STR(WM_FILE_SCHEME), id}, 2);
}

/* Text, reasoning or a file; 0: something else. */
static int content_of(const struct lifting *t, const struct wd_ui_part *p, struct upp_part *to)
{
    bool thought = wb_str_eq(p->type, UPP_STR("reasoning"));
    int r = 0;
    if ((thought || wb_str_eq(p->type, UPP_STR("text"))) && p->text.p) {
        to->kind = thought ? UPP_PART_REASONING : UPP_PART_TEXT;
        to->text = p->text;
        to->cut = wb_str_eq(p->state, UPP_STR("streaming"));
    } else if (wb_str_eq(p->type, UPP_STR("file")) && p->url.p)
        r = wd_url_media(t->l->a, address(t->l->a, p->url), p->media_type, p->filename, to, t->err);
    else
        return 0;
    if (r >= 0)
        r = metadata_of(t, p->provider_metadata, &to->metadata);
    return r < 0 ? r : 1;
}

/* ---- Tools ----------------------------------------------------------------------------------------------- */

/* Copies the object's members except `name`; nothing if it is not an object. */
static void put_except(struct wj_writer *w, yyjson_val *object, struct upp_str name)
{
    yyjson_val *key, *value;
    size_t i, n;
    if (!yyjson_is_obj(object))
        return;
    yyjson_obj_foreach(object, i, n, key, value)
    {
        if (!wj_named(key, name))
            wj_put_member(w, key);
    }
}

/* What is known about a tool part apart from provider metadata; stored in metadata.pydantic_ai, as in messages of
 * Pydantic AI. */
struct own {
    bool denied, builtin; /* builtin: the provider made the call itself */
    yyjson_val *approval;
};

static bool is_own(yyjson_val *name, const struct own *own)
{
    return (own->denied && wj_named(name, UPP_STR("outcome"))) ||
           (own->builtin && wj_named(name, UPP_STR("builtin"))) ||
           (own->approval && wj_named(name, UPP_STR("approval")));
}

static void put_own(struct wj_writer *w, yyjson_val *provider, const struct own *own)
{
    yyjson_val *key, *value;
    size_t i, n;
    wj_write_open(w, '{');
    if (yyjson_is_obj(provider)) {
        yyjson_obj_foreach(provider, i, n, key, value)
        {
            if (is_own(key, own))
                continue;
            wj_put_member(w, key);
        }
    }
    if (own->denied)
        wj_put_str(w, "outcome", UPP_STR("denied"));
    if (own->builtin)
        wj_put_bool(w, "builtin", true);
    wj_put_value(w, "approval", own->approval);
    wj_write_close(w, '}');
}

static int tool_metadata(const struct lifting *t, yyjson_val *provider, const struct own *own, struct upp_str *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer w;
    if (!own->denied && !own->builtin && !own->approval)
        return metadata_of(t, provider, ret);
    wj_writer_init(&w, &b, t->err);
    wj_write_open(&w, '{');
    put_except(&w, provider, UPP_STR("pydantic_ai"));
    wj_write_name(&w, UPP_STR("pydantic_ai"));
    put_own(&w, yyjson_obj_get(provider, "pydantic_ai"), own);
    wj_write_close(&w, '}');
    return wj_writer_text(&w, t->l->a, ret);
}

/* Returns 1 if the part has a result. */
static int result_of(const struct lifting *t, const struct wd_ui_part *p, struct upp_part *to)
{
    bool good = wb_str_eq(p->state, UPP_STR("output-available")), bad = wb_str_eq(p->state, UPP_STR("output-error"));
    bool denied = wb_str_eq(p->state, UPP_STR("output-denied"));
    int r;
    if (!good && !bad && !denied)
        return 0;
    *to = (struct upp_part){.kind = UPP_PART_RESULT, .id = p->tool_call_id, .name = wd_ui_tool(p), .is_error = !good};
    if (good) {
        to->text = UPP_STR("null");
        r = wj_value_text(t->l->a, p->output, &to->text, t->err);
    } else {
        struct upp_str reason = denied ? wj_text_at(p->approval, "reason") : p->error_text;
        r = wd_string_text(t->l->a,
                           reason.p ? reason
                           : denied ? UPP_STR(WD_UI_DENIED)
                                    : UPP_STR(""),
                           &to->text, t->err);
    }
    struct own own = {.denied = denied, .builtin = yyjson_is_true(p->provider_executed)};
    if (r >= 0)
        r = tool_metadata(t, p->result_metadata, &own, &to->metadata);
    return r < 0 ? r : 1;
}

static int call_of(const struct lifting *t, const struct wd_ui_part *p, struct upp_part *to)
{
    yyjson_val *input = p->input ? p->input : p->raw_input;
    *to = (struct upp_part){.kind = UPP_PART_CALL,
                            .id = p->tool_call_id,
                            .name = wd_ui_tool(p),
                            .cut = wb_str_eq(p->state, UPP_STR("input-streaming"))};
    to->text = to->cut ? UPP_STR("") : UPP_STR("{}");
    int r = wj_value_text(t->l->a, input, &to->text, t->err);
    struct own own = {.builtin = yyjson_is_true(p->provider_executed),
                      .approval = yyjson_is_obj(p->approval) ? p->approval : NULL};
    return r < 0 ? r : tool_metadata(t, p->call_metadata, &own, &to->metadata);
}

/* ---- Events ---------------------------------------------------------------------------------------------- */

static bool is_event(const struct wd_ui_part *p)
{
    return wb_str_starts(p->type, UPP_STR("data-"));
}

static int event_add(struct lifting *t, const struct wd_ui_part *p)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer w;
    struct wm_doc_entry *e = wd_entry_add(t->l, 0, t->agent, t->about.time, t->err);
    yyjson_val *more = p->id.p ? yyjson_obj_getn(t->about.events, p->id.p, p->id.n) : NULL;
    if (!e)
        return wd_error_of(t->err);
    wj_writer_init(&w, &b, t->err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "type", wb_str_sub(p->type, 5, SIZE_MAX));
    wj_put_value(&w, "data", p->data);
    yyjson_val *source = yyjson_obj_get(more, "sourceAgent"), *targets = yyjson_obj_get(more, "targetAgents");
    bool names = yyjson_is_arr(targets);
    yyjson_val *one;
    size_t i, n;
    yyjson_arr_foreach(targets, i, n, one) names &= yyjson_is_str(one);
    wj_put_value(&w, "source", yyjson_is_str(source) ? source : NULL);
    wj_put_value(&w, "targets", names ? targets : NULL);
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    uint64_t time = wd_number_at(more, "timestamp");
    e->e.kind = WM_ENTRY_EVENT;
    e->e.data = wb_arena_dup(t->l->a, wb_buf_str(&b));
    e->e.message.id = p->id;
    if (time && time < (uint64_t)1 << 47) {
        e->e.message.time_ms = (int64_t)time;
        e->e.message.time_text = (struct upp_str){0};
    }
    return wb_arena_check(t->l->a, t->err);
}

/* ---- Steps ----------------------------------------------------------------------------------------------- */

static int step_end(struct lifting *t)
{
    struct wm_doc_entry *e;
    int r = 0;
    if (t->output.list.n) {
        e = wd_entry_add(t->l, UPP_ROLE_ASSISTANT, t->agent, t->about.time, t->err);
        if (!e)
            return wd_error_of(t->err);
        e->said.model = t->about.model;
        e->said.provider = t->about.provider;
        r = wd_parts_finish(t->l->a, &t->output, &e->e.message, t->err);
    }
    if (r >= 0 && t->results.list.n) {
        e = wd_entry_add(t->l, UPP_ROLE_TOOL, t->agent, t->about.time, t->err);
        r = e ? wd_parts_finish(t->l->a, &t->results, &e->e.message, t->err) : wd_error_of(t->err);
    }
    for (size_t i = 0; r >= 0 && i < t->events.n; i++)
        r = event_add(t, t->events.p[i]);
    t->events.n = 0;
    return r;
}

static int lift_event(struct lifting *t, const struct wd_ui_part *p)
{
    if (!t->output.list.n)
        return event_add(t, p);
    if (wb_vec_push(&t->events, p, (size_t)WD_PARTS))
        return 0;
    return t->events.n < WD_PARTS ? upp_fail(t->err, UPP_ENOMEM, "no memory for an event")
                                  : upp_fail(t->err, UPP_ELIMIT, "a step of more than %d events", WD_PARTS);
}

static int lift_tool(struct lifting *t, const struct wd_ui_part *p)
{
    struct upp_part call, result;
    int r = call_of(t, p, &call);
    if (r >= 0)
        r = wd_parts_add(&t->output, &call, t->err);
    if (r >= 0)
        r = result_of(t, p, &result);
    return r > 0 ? wd_parts_add(&t->results, &result, t->err) : r;
}

static int lift_part(struct lifting *t, const struct wd_ui_part *p)
{
    struct upp_part part = {0};
    if (wb_str_eq(p->type, UPP_STR("step-start")))
        return step_end(t);
    if (is_event(p))
        return lift_event(t, p);
    if (wd_ui_tool(p).p && p->tool_call_id.p)
        return lift_tool(t, p);
    int r = content_of(t, p, &part);
    return r > 0 ? wd_parts_add(&t->output, &part, t->err) : r;
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

static int lift_user(struct lifting *t, const struct wd_ui_message *m)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < m->parts.n; i++) {
        struct upp_part part = {0};
        r = content_of(t, &m->parts.p[i], &part);
        if (r > 0 && part.kind != UPP_PART_REASONING)
            r = wd_parts_add(&t->output, &part, t->err);
    }
    if (r < 0 || !t->output.list.n)
        return r;
    struct wm_doc_entry *e = wd_entry_add(t->l, UPP_ROLE_USER, t->agent, t->about.time, t->err);
    if (!e)
        return wd_error_of(t->err);
    e->users = true; /* a page shows what has this role as the user's */
    return wd_parts_finish(t->l->a, &t->output, &e->e.message, t->err);
}

static int agent_of(struct lifting *t)
{
    size_t before = t->l->doc->agents.n;
    int r = wd_agent_of(t->l, t->about.agent, t->about.name, &t->agent, t->err);
    if (r >= 0 && t->l->doc->agents.n > before) {
        t->l->doc->agents.p[t->agent].model = t->about.model;
        t->l->doc->agents.p[t->agent].provider = t->about.provider;
    }
    return r;
}

/* Adds the turn, with what the message's metadata says about it. */
static int begin_turn(struct lifting *t, const struct wd_ui_message *m, bool user)
{
    wd_ui_about(m->metadata, &t->about);
    t->agent = WM_NO_AGENT;
    bool agents = !user || t->about.agent.p; /* user text may be in an agent's turn */
    int r = agents ? agent_of(t) : 0;
    struct wm_doc_turn *turn = r < 0 ? NULL : wm_doc_turn_add(t->l->doc, t->err);
    if (!turn)
        return r < 0 ? r : wd_error_of(t->err);
    turn->agent = t->agent;
    turn->id = m->id;
    turn->ended = t->about.ended;
    turn->run = t->about.run;
    turn->partial = !user && t->about.partial;
    if (!user && t->about.has_usage) {
        turn->has_usage = true;
        turn->usage = t->about.usage;
    }
    return 0;
}

static int lift_message(struct lifting *t, const struct wd_ui_message *m)
{
    struct wm_doc *doc = t->l->doc;
    size_t at = doc->turns.n, first = doc->entries.n;
    bool user = wb_str_eq(m->role, UPP_STR("user"));
    if (!user && !wb_str_eq(m->role, UPP_STR("assistant")))
        return 0;
    int r = begin_turn(t, m, user);
    if (r >= 0 && user)
        r = lift_user(t, m);
    for (size_t i = 0; !user && r >= 0 && i < m->parts.n; i++)
        r = lift_part(t, &m->parts.p[i]);
    if (!user && r >= 0)
        r = step_end(t);
    size_t n = doc->entries.n - first;
    if (r < 0)
        return r;
    if (!n) { /* nothing of it is in the model: the whole message is residue */
        doc->turns.n = at;
        return 0;
    }
    doc->entries.p[first].id = m->id;
    r = wd_anchor(t->l, m->node.from, "message", first, n, t->err);
    if (r >= 0)
        wd_canonical(t->l, wd_ui_is_canonical(m, &t->about, user ? NULL : &doc->agents.p[t->agent]));
    return r;
}

static int lift_list(struct lifting *t, yyjson_val *root)
{
    struct wj_plans plans = {.ordered = true};
    const struct wj_decode_opts lenient = {.size = sizeof lenient, .problem = wd_ignore_problem, .plans = &plans};
    size_t i, n;
    yyjson_val *v;
    wd_reserve(t->l, yyjson_arr_size(root), 2 * yyjson_arr_size(root), yyjson_arr_size(root) + 1);
    yyjson_arr_foreach(root, i, n, v)
    {
        struct wd_ui_message m;
        if (!yyjson_is_obj(v))
            continue;
        int r = WJ_DECODE(t->l->a, wd_ui_message, v, &lenient, &m, t->err);
        if (r >= 0 && m.parts.p)
            r = lift_message(t, &m);
        if (r < 0)
            return r;
    }
    return wd_anchor(t->l, root, "list", WD_THREAD, 0, t->err);
}

int wd_ui_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    struct upp_err why = {0};
    struct lifting t = {.l = l, .err = &why};
    int r = yyjson_is_arr(root) ? lift_list(&t, root) : upp_fail(&why, UPP_EINVALID, "expected a list of UI messages");
    wb_vec_done(&t.output.list);
    wb_vec_done(&t.results.list);
    wb_vec_done(&t.events);
    if (r < 0 && err)
        *err = why;
    return r;
}
