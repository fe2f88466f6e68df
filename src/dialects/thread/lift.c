/* dialects/thread/lift.c — lifts a ThreadProtocol document into the model.
 *
 * A user turn becomes one user message per prompt. A request becomes messages of results and of prompts in their order,
 * a response one assistant message, a system message an event.
 */
#include "base/err.h"
#include "dialects/thread/extension.h"
#include "dialects/thread/thread.h"
#include "json/value.h"

struct lifting {
    struct wd_lifting *l;
    struct wd_parts parts;
    struct upp_err *err;
};

/* ---- Requests ---------------------------------------------------------------------------------------------- */

/* Makes a message of the collected parts: results, or text to the model. */
static int finish_message(struct lifting *t, uint8_t role, uint32_t agent, struct upp_str time)
{
    if (!t->parts.list.n)
        return 0;
    struct wm_doc_entry *e = wd_entry_add(t->l, role, agent, time, t->err);
    return e ? wd_parts_finish(t->l->a, &t->parts, &e->e.message, t->err) : wd_error_of(t->err);
}

/* Each prompt is a message of its own; consecutive results are one message. */
static int lift_request(struct lifting *t, const struct wd_pai_part *parts, size_t n, uint32_t agent,
                        struct upp_str time)
{
    uint8_t role = 0;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n; i++) {
        enum wd_pai_kind kind = wd_pai_kind(parts[i].part_kind);
        if (!wd_pai_fits(kind, true))
            continue;
        bool result = kind == WD_PAI_TOOL_RETURN ||
                      (kind == WD_PAI_RETRY_PROMPT && parts[i].tool_name.p && parts[i].tool_call_id.p);
        uint8_t now = result ? UPP_ROLE_TOOL : UPP_ROLE_USER;
        if (role && (now != role || now == UPP_ROLE_USER))
            r = finish_message(t, role, agent, time);
        role = now;
        if (r >= 0)
            r = wd_pai_lift(t->l, &parts[i], &t->parts, t->err);
    }
    return r < 0 ? r : finish_message(t, role, agent, time);
}

/* ---- Responses and system messages --------------------------------------------------------------------------- */

void wd_tp_lift_usage(const struct wd_tp_usage *u, bool *has, struct upp_usage *to)
{
    if (!u)
        return;
    *has = true;
    *to = (struct upp_usage){.input = wd_number_of(u->input),
                             .output = wd_number_of(u->output),
                             .cache_read = wd_number_of(u->cache_read),
                             .cache_write = wd_number_of(u->cache_write),
                             .reasoning = wd_number_of(u->thinking)};
}

static int lift_response(struct lifting *t, const struct wd_tp_message *m, uint32_t agent)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < m->parts.n; i++)
        if (wd_pai_fits(wd_pai_kind(m->parts.p[i].part_kind), false))
            r = wd_pai_lift(t->l, &m->parts.p[i], &t->parts, t->err);
    struct wm_doc_entry *e = r < 0 ? NULL : wd_entry_add(t->l, UPP_ROLE_ASSISTANT, agent, m->timestamp, t->err);
    if (!e)
        return r < 0 ? r : wd_error_of(t->err);
    e->said = (struct wm_reply_info){.model = m->model_name,
                                     .provider = m->provider_name,
                                     .response = m->provider_response_id,
                                     .stop = m->finish_reason.p ? wd_pai_stop(m->finish_reason) : 0};
    wd_tp_lift_usage(m->usage, &e->said.has_usage, &e->said.usage);
    return wd_parts_finish(t->l->a, &t->parts, &e->e.message, t->err);
}

static int lift_event(struct lifting *t, const struct wd_tp_message *m, uint32_t agent)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer w;
    struct wm_doc_entry *e = wd_entry_add(t->l, 0, agent, m->timestamp, t->err);
    if (!e)
        return wd_error_of(t->err);
    wj_writer_init(&w, &b, t->err);
    wj_write_open(&w, '{');
    wj_put_str_or_empty(&w, "type", m->event_type);
    wj_put_value(&w, "data", m->event_data);
    wj_put_text(&w, "source", m->source_agent);
    if (m->target_agents.p) {
        wj_put_open(&w, "targets", '[');
        for (size_t i = 0; i < m->target_agents.n; i++)
            wj_write_str(&w, m->target_agents.p[i]);
        wj_write_close(&w, ']');
    }
    wj_write_close(&w, '}');
    e->e.kind = WM_ENTRY_EVENT;
    return wj_writer_text(&w, t->l->a, &e->e.data);
}

/* ---- Turns --------------------------------------------------------------------------------------------------- */

/* Finds the agent that a turn or message names, or adds it: validation reports one that is not in the registry. */
static int agent_of(struct lifting *t, struct upp_str id, uint32_t *ret)
{
    struct upp_str name = id.p ? id : UPP_STR("agent");
    *ret = wm_doc_agent_find(t->l->doc, name);
    if (*ret != WM_NO_AGENT)
        return 0;
    return wm_doc_agent_add(t->l->doc, &(struct wm_doc_agent){.id = name, .name = name}, ret, t->err);
}

static int lift_message(struct lifting *t, const struct wd_tp_message *m, uint32_t of)
{
    uint32_t agent = of;
    size_t first = t->l->doc->entries.n;
    int r = m->agent_id.p ? agent_of(t, m->agent_id, &agent) : 0;
    if (r < 0)
        return r;
    if (wb_str_eq(m->message_type, UPP_STR("response")))
        r = lift_response(t, m, agent);
    else if (wb_str_eq(m->message_type, UPP_STR("system")))
        r = lift_event(t, m, agent);
    else if (wb_str_eq(m->message_type, UPP_STR("request")))
        r = lift_request(t, m->parts.p, m->parts.n, agent, m->timestamp);
    if (r < 0)
        return r;
    struct wd_carry c = {
        .first = (uint32_t)first, .n = (uint32_t)(t->l->doc->entries.n - first), .agent = agent, .time = m->timestamp};
    r = wd_carried_read(t->l, m->x_weft, &c, t->err);
    if (r >= 0 && c.n)
        r = wd_anchor(t->l, m->node.from, "message", first, c.n, t->err);
    if (r >= 0 && c.n == 1)
        wd_canonical(t->l, wd_tp_is_canonical_message(m, t->l->doc));
    return r;
}

/* Drops times of a turn that are those of its entries. */
static void drop_implied_times(const struct wm_doc *doc, struct wm_doc_turn *turn, bool user)
{
    const struct upp_message *first = &doc->entries.p[turn->first].e.message;
    const struct upp_message *last = &doc->entries.p[turn->first + turn->n - 1].e.message;
    if (first->time_text.p && wb_str_eq(turn->started, first->time_text))
        turn->started = (struct upp_str){0};
    if (!user && last->time_text.p && wb_str_eq(turn->ended, last->time_text))
        turn->ended = (struct upp_str){0};
}

/* x_weft of a turn: what ThreadProtocol has no member for. */
static void lift_own(struct lifting *t, const struct wd_tp_turn *turn, bool user, struct wm_doc_turn *to)
{
    static const struct wj_decode_opts lenient = {.size = sizeof lenient};
    yyjson_val *usage = yyjson_obj_get(turn->x_weft, "usage");
    struct wd_tp_usage decoded;
    to->id = wj_text_at(turn->x_weft, "id");
    to->run = wj_text_at(turn->x_weft, "run");
    to->partial = yyjson_is_true(yyjson_obj_get(turn->x_weft, "partial"));
    if (user) {
        to->ended = wj_text_at(turn->x_weft, "ended");
        if (yyjson_is_obj(usage) && WJ_DECODE(t->l->a, wd_tp_usage, usage, &lenient, &decoded, NULL) >= 0)
            wd_tp_lift_usage(&decoded, &to->has_usage, &to->usage);
    } else if (!yyjson_is_true(yyjson_obj_get(turn->x_weft, "summed")))
        wd_tp_lift_usage(turn->total_usage, &to->has_usage, &to->usage);
}

static int lift_turn(struct lifting *t, const struct wd_tp_turn *turn)
{
    struct wm_doc *doc = t->l->doc;
    size_t first = doc->entries.n, at = doc->turns.n;
    bool user = wb_str_eq(turn->turn_type, UPP_STR("user"));
    uint32_t agent = WM_NO_AGENT;
    int r = 0;
    if (!user && !wb_str_eq(turn->turn_type, UPP_STR("agent")))
        return 0;
    if (!user)
        r = agent_of(t, turn->agent_id, &agent);
    struct wm_doc_turn *to = r < 0 ? NULL : wm_doc_turn_add(doc, t->err);
    if (!to)
        return r < 0 ? r : wd_error_of(t->err);
    to->agent = agent;
    to->started = user ? turn->submitted_at : turn->started_at;
    to->ended = turn->completed_at;
    lift_own(t, turn, user, to);
    if (user) {
        struct wd_carry c = {.first = (uint32_t)t->l->doc->entries.n, .agent = WM_NO_AGENT, .time = turn->submitted_at};
        r = lift_request(t, turn->parts.p, turn->parts.n, WM_NO_AGENT, turn->submitted_at);
        c.n = (uint32_t)(t->l->doc->entries.n - c.first);
        if (r >= 0)
            r = wd_carried_read(t->l, turn->x_weft, &c, t->err);
    }
    for (size_t i = 0; !user && r >= 0 && i < turn->messages.n; i++)
        r = lift_message(t, &turn->messages.p[i], agent);
    size_t n = doc->entries.n - first;
    doc->turns.p[at].n = (uint32_t)n;
    if (r < 0)
        return r;
    if (!n) { /* nothing of it is in the model: it stays in its position as residue */
        doc->turns.n = at;
        return 0;
    }
    drop_implied_times(doc, &doc->turns.p[at], user);
    r = wd_anchor(t->l, turn->node.from, "turn", first, n, t->err);
    if (r >= 0 && user && n == 1)
        wd_canonical(t->l, wd_tp_is_canonical_prompt(turn));
    return r;
}

/* ---- The thread ------------------------------------------------------------------------------------------------ */

static int lift_agents(struct lifting *t, const struct wd_tp_thread *d)
{
    static const struct wj_decode_opts lenient = {.size = sizeof lenient};
    for (size_t i = 0; i < d->agents.n; i++) {
        struct wd_tp_agent a;
        uint32_t ignored;
        if (!yyjson_is_obj(d->agents.p[i].value) ||
            WJ_DECODE(t->l->a, wd_tp_agent, d->agents.p[i].value, &lenient, &a, NULL) < 0)
            memset(&a, 0, sizeof a); /* invalid: only its key is used */
        if (!t->l->doc->created.p && wb_str_eq(a.created_at, d->created_at))
            a.created_at = (struct upp_str){0}; /* generated, like the thread's */
        int r = wm_doc_agent_add(t->l->doc,
                                 &(struct wm_doc_agent){.id = d->agents.p[i].name,
                                                        .name = a.agent_name.p ? a.agent_name : d->agents.p[i].name,
                                                        .model = a.model_name,
                                                        .provider = a.provider_name,
                                                        .config = a.config_ref,
                                                        .created = a.created_at,
                                                        .prompt = wj_text_at(a.x_weft, "prompt")},
                                 &ignored, t->err);
        if (r < 0)
            return r;
    }
    return wb_arena_check(t->l->a, t->err);
}

/* Drops members that were generated when the thread was written. */
static void drop_generated(struct wm_doc *doc, yyjson_val *x_weft)
{
    yyjson_val *v, *list = yyjson_obj_get(x_weft, "unsaid");
    size_t i, n;
    yyjson_arr_foreach(list, i, n, v)
    {
        if (!yyjson_is_str(v))
            continue;
        if (wj_named(v, UPP_STR("thread_id")))
            doc->id = (struct upp_str){0};
        else if (wj_named(v, UPP_STR("created_at")))
            doc->created = (struct upp_str){0};
        else if (wj_named(v, UPP_STR("updated_at")))
            doc->updated = (struct upp_str){0};
    }
}

int wd_tp_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    struct upp_err why = {0};
    struct lifting t = {.l = l, .err = &why};
    struct wm_doc *doc = l->doc;
    struct wd_tp_thread d;
    struct wj_plans plans = {.ordered = true};
    int r = WJ_DECODE(l->a, wd_tp_thread, root, UPP_OPTS(wj_decode_opts, .problem = wd_ignore_problem, .plans = &plans),
                      &d, &why);
    if (r >= 0 && (!d.turns.p || wd_tp_version(d.version) < 0))
        r = !d.turns.p ? upp_fail(&why, UPP_EINVALID, "a thread has turns")
                       : upp_fail(&why, UPP_EINVALID, "version '%.*s' is not one of " WD_THREAD_VERSION "'s",
                                  UPP_FMT(d.version));
    if (r >= 0) {
        doc->id = d.thread_id;
        doc->title = d.title;
        doc->created = d.created_at;
        doc->updated = d.updated_at;
        drop_generated(doc, d.x_weft);
        doc->parent = d.parent_thread_id;
        doc->parent_at = (uint32_t)wd_number_of(d.branch_point);
        r = wj_value_text(l->a, d.metadata, &doc->metadata, &why);
    }
    if (r >= 0) {
        /* Mostly a prompt or message is one entry. */
        size_t entries = 0, messages = 0;
        for (size_t i = 0; i < d.turns.n; i++) {
            messages += d.turns.p[i].messages.n;
            entries += d.turns.p[i].parts.n;
        }
        wd_reserve(t.l, d.turns.n, entries + messages, d.turns.n + messages + 1);
        r = lift_agents(&t, &d);
    }
    for (size_t i = 0; r >= 0 && i < d.turns.n; i++)
        r = lift_turn(&t, &d.turns.p[i]);
    if (r >= 0)
        r = wd_anchor(l, root, "thread", WD_THREAD, 0, &why);
    if (r >= 0)
        r = wd_carried_read(l, d.x_weft, &(struct wd_carry){.first = WD_THREAD}, &why);
    wb_vec_done(&t.parts.list);
    if (r < 0 && err)
        *err = why;
    return r;
}
