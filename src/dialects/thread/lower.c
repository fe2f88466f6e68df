/* dialects/thread/lower.c — writes the model as a ThreadProtocol document. */
#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/core/usage.h"
#include "dialects/thread/extension.h"
#include "dialects/thread/thread.h"
#include "json/read.h"
#include "json/value.h"

static struct upp_str time_at(struct wd_lowering *l, uint32_t entry)
{
    return wd_pai_time_text(l, &wd_entry_at(l, entry)->e.message);
}

static struct upp_str or_else(struct upp_str a, struct upp_str b)
{
    return a.p ? a : b;
}

static struct upp_str agent_id(const struct wd_lowering *l, uint32_t agent)
{
    if (agent == WM_NO_AGENT)
        return (struct upp_str){0};
    const struct wm_doc_agent *a = &l->doc->agents.p[agent];
    return or_else(a->id, a->name);
}

void wd_tp_put_usage(struct wd_lowering *l, const char *name, const struct upp_usage *u)
{
    wj_put_open(&l->w, name, '{');
    wd_member_u64(l, "input_tokens", u->input);
    wd_member_u64(l, "output_tokens", u->output);
    if (u->reasoning)
        wd_member_u64(l, "thinking_tokens", u->reasoning);
    wd_member_u64(l, "total_tokens", u->input + u->output);
    if (u->cache_read)
        wd_member_u64(l, "cache_read_tokens", u->cache_read);
    if (u->cache_write)
        wd_member_u64(l, "cache_write_tokens", u->cache_write);
    wj_write_close(&l->w, '}');
}

/* What a turn has and ThreadProtocol has no member for. */
struct own {
    const struct wm_doc_turn *turn;
    bool summed, ended, usage;
};

/* Even a pure document has run and partial. */
static bool has_own(const struct wd_lowering *l, const struct own *o)
{
    bool carried = !l->pure && o && o->turn && (o->turn->id.p || o->summed || o->ended || o->usage);
    return carried || (o && o->turn && (o->turn->run.p || o->turn->partial));
}

static void put_own(struct wd_lowering *l, const struct own *o)
{
    if (!has_own(l, o))
        return;
    if (!l->pure)
        wd_member(l, "id", o->turn->id);
    wd_member(l, "run", o->turn->run);
    if (o->turn->partial)
        wj_put_bool(&l->w, "partial", true);
    if (l->pure)
        return;
    if (o->summed)
        wj_put_bool(&l->w, "summed", true);
    if (o->ended)
        wd_member(l, "ended", o->turn->ended);
    if (o->usage)
        wd_tp_put_usage(l, "usage", &o->turn->usage);
}

/* Names the generated members: the dialects whose residue is here did not have them. */
static void put_generated(struct wd_lowering *l)
{
    const struct wm_doc *d = l->doc;
    if (d->id.p && d->created.p && d->updated.p)
        return;
    wj_put_open(&l->w, "unsaid", '[');
    if (!d->id.p)
        wj_write_str(&l->w, UPP_STR("thread_id"));
    if (!d->created.p)
        wj_write_str(&l->w, UPP_STR("created_at"));
    if (!d->updated.p)
        wj_write_str(&l->w, UPP_STR("updated_at"));
    wj_write_close(&l->w, ']');
}

static void put_carried(struct wd_lowering *l, const struct wd_carry *c, const struct own *o)
{
    unsigned carries = wd_carries(l, c);
    if (l->pure && carries & WD_CARRIES_PARTS)
        wd_lose(l, c->first, "what ThreadProtocol has no member for", "x_weft alone has a place for it");
    if (l->pure)
        carries = 0;
    if (!carries && !has_own(l, o))
        return;
    wj_put_open(&l->w, "x_weft", '{');
    put_own(l, o);
    if (c->first == WD_THREAD)
        put_generated(l);
    if (carries)
        wd_carried_write(l, c, carries);
    wj_write_close(&l->w, '}');
}

/* ---- Messages ------------------------------------------------------------------------------------------------ */

static void put_value(struct wd_lowering *l, const char *name, yyjson_val *v)
{
    wd_name(l, name);
    if (v)
        wj_write_value(&l->w, v);
    else
        wj_write_null(&l->w);
}

/* An event of the log: {"type","data","source","targets"}. */
static void put_event(struct wd_lowering *l, const struct wm_doc_entry *e)
{
    yyjson_val *v = NULL;
    wb_arena_reset(&l->scratch);
    int r = wj_read(&l->scratch, e->e.data, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH),
                    &v, l->w.err);
    if (r < 0) {
        wj_writer_fail(&l->w, r);
        return;
    }
    yyjson_val *type = yyjson_obj_get(v, "type"), *data = yyjson_obj_get(v, "data");
    yyjson_val *source = yyjson_obj_get(v, "source"), *targets = yyjson_obj_get(v, "targets"), *one;
    size_t k, n;
    put_value(l, "event_type", type);
    put_value(l, "event_data", data);
    if (source) {
        wd_name(l, "source_agent");
        wd_carried_mention(l, &l->w, source);
    }
    if (!targets)
        return;
    wj_put_open(&l->w, "target_agents", '[');
    yyjson_arr_foreach(targets, k, n, one)
    {
        wd_carried_mention(l, &l->w, one);
    }
    wj_write_close(&l->w, ']');
}

/* The message without parts that its role cannot express: those are carried. */
static const struct upp_message *expressible(struct wd_lowering *l, const struct upp_message *m,
                                             struct upp_message *room)
{
    size_t fits = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        fits += wd_carried_part_fits(m, &m->parts[i]);
    struct upp_part *parts = fits < m->n_parts ? wb_new_n(&l->keep, struct upp_part, fits + 1) : NULL;
    if (!parts)
        return m;
    *room = *m;
    room->parts = parts;
    room->n_parts = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        if (wd_carried_part_fits(m, &m->parts[i]))
            parts[room->n_parts++] = m->parts[i];
    return room;
}

static void put_parts(struct wd_lowering *l, const struct wd_carry *c)
{
    struct wd_pai_out o = {.l = l, .style = WD_PAI_THREAD, .time = c->time};
    wj_put_open(&l->w, "parts", '[');
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        if (!wm_is_visible(&wd_entry_at(l, i)->e) || wd_carried_is_new(l, c, i))
            continue;
        struct upp_message room;
        wd_pai_put_request(&o, i, expressible(l, &wd_entry_at(l, i)->e.message, &room));
    }
    wj_write_close(&l->w, ']');
}

static void put_message(struct wd_lowering *l, uint32_t first, uint32_t n, uint32_t turn_agent)
{
    if (wd_is_canonical(l, first, "message"))
        return;
    const struct wm_doc_entry *e = wd_entry_at(l, first);
    bool event = e->e.kind == WM_ENTRY_EVENT;
    bool response = !event && e->e.message.role == UPP_ROLE_ASSISTANT;
    struct wd_carry c = {.first = first, .n = n, .agent = turn_agent, .time = time_at(l, first)};
    c.is = event ? WD_CARRY_EVENT : response ? WD_CARRY_RESPONSE : WD_CARRY_REQUEST;
    if (!event && e->agent != WM_NO_AGENT)
        c.agent = e->agent;
    wd_open(l, first, "message");
    wj_write_open(&l->w, '{');
    wd_member(l, "message_type", event ? UPP_STR("system") : response ? UPP_STR("response") : UPP_STR("request"));
    wd_member(l, "timestamp", c.time);
    if (event)
        put_event(l, e);
    else {
        wd_member_or_null(l, "agent_id", agent_id(l, c.agent));
        if (response) {
            wd_member(l, "model_name", e->said.model);
            wd_member(l, "provider_name", e->said.provider);
            wd_member(l, "provider_response_id", e->said.response);
            if (e->said.has_usage)
                wd_tp_put_usage(l, "usage", &e->said.usage);
            if (wd_pai_finish(e->said.stop))
                wd_member(l, "finish_reason", wb_cstr(wd_pai_finish(e->said.stop)));
        }
        put_parts(l, &c);
    }
    put_carried(l, &c, NULL);
    wj_write_close(&l->w, '}');
    wd_close(l);
}

/* ---- Turns --------------------------------------------------------------------------------------------------- */

static void put_user_turn(struct wd_lowering *l, const struct wm_doc_turn *t)
{
    struct own own = {.turn = t, .ended = t->ended.p, .usage = t->has_usage};
    struct wd_carry c = {.first = t->first,
                         .n = t->n,
                         .agent = WM_NO_AGENT,
                         .time = or_else(t->started, time_at(l, t->first)),
                         .is = WD_CARRY_REQUEST};
    wd_member(l, "turn_type", UPP_STR("user"));
    wd_member(l, "submitted_at", c.time);
    put_parts(l, &c);
    put_carried(l, &c, &own);
}

/* The turn of an agent that works and has not said anything yet. */
static void put_silent_turn(struct wd_lowering *l, const struct wm_doc_turn *t)
{
    wj_write_open(&l->w, '{');
    wd_member(l, "turn_type", UPP_STR("agent"));
    wd_member_or_null(l, "agent_id", agent_id(l, t->agent));
    wd_member(l, "started_at", t->started);
    wd_member(l, "completed_at", t->ended);
    wj_put_open(&l->w, "messages", '[');
    wj_write_close(&l->w, ']');
    wj_put_open(&l->w, "x_weft", '{');
    put_own(l, &(struct own){.turn = t});
    wj_write_close(&l->w, '}');
    wj_write_close(&l->w, '}');
}

static void put_agent_turn(struct wd_lowering *l, const struct wm_doc_turn *t)
{
    struct upp_usage sum;
    wd_member(l, "turn_type", UPP_STR("agent"));
    wd_member_or_null(l, "agent_id", agent_id(l, t->agent));
    wd_member(l, "started_at", or_else(t->started, time_at(l, t->first)));
    wd_member(l, "completed_at", or_else(t->ended, time_at(l, t->first + t->n - 1)));
    wj_put_open(&l->w, "messages", '[');
    for (uint32_t i = t->first; i < t->first + t->n && !l->w.failed;) {
        uint32_t n = WB_MIN(wd_span(l, i, "message", 1), t->first + t->n - i);
        if (wm_is_visible(&wd_entry_at(l, i)->e))
            put_message(l, i, WB_MAX(n, 1), t->agent);
        i += WB_MAX(n, 1);
    }
    wj_write_close(&l->w, ']');
    bool has = wd_usage_of_turn(l, t, &sum);
    if (has)
        wd_tp_put_usage(l, "total_usage", &sum);
    put_carried(l, &(struct wd_carry){.first = t->first}, &(struct own){.turn = t, .summed = has && !t->has_usage});
}

static void put_turn(struct wd_lowering *l, const struct wm_doc_turn *t)
{
    if (!t->n && t->partial && t->started.p && t->agent != WM_NO_AGENT) {
        put_silent_turn(l, t);
        return;
    }
    if (wd_is_canonical(l, t->first, "turn"))
        return;
    wd_open(l, t->first, "turn");
    wj_write_open(&l->w, '{');
    if (t->agent == WM_NO_AGENT)
        put_user_turn(l, t);
    else
        put_agent_turn(l, t);
    wj_write_close(&l->w, '}');
    wd_close(l);
}

/* ---- The thread ---------------------------------------------------------------------------------------------- */

static void put_agents(struct wd_lowering *l, struct upp_str created)
{
    wj_put_open(&l->w, "agents", '{');
    for (size_t i = 0; i < l->doc->agents.n; i++) {
        const struct wm_doc_agent *a = &l->doc->agents.p[i];
        wj_write_name(&l->w, or_else(a->id, a->name));
        wj_write_open(&l->w, '{');
        wd_member(l, "agent_id", or_else(a->id, a->name));
        wd_member(l, "agent_name", or_else(a->name, a->id));
        wd_member(l, "model_name", a->model);
        wd_member(l, "provider_name", a->provider);
        wd_member(l, "created_at", or_else(a->created, created));
        wd_member(l, "config_ref", a->config);
        if (a->prompt.p && !l->pure && !l->no_system) {
            wj_put_open(&l->w, "x_weft", '{');
            wd_member(l, "prompt", a->prompt);
            wj_write_close(&l->w, '}');
        }
        wj_write_close(&l->w, '}');
    }
    wj_write_close(&l->w, '}');
}

static struct upp_str now_text(struct wd_lowering *l)
{
    struct upp_message now = {.time_ms = l->now_ms};
    return wd_pai_time_text(l, &now);
}

int wd_tp_lower(struct wd_lowering *l, struct upp_err *err)
{
    const struct wm_doc *d = l->doc;
    struct upp_str first = d->entries.n ? time_at(l, 0) : now_text(l);
    struct upp_str last = d->entries.n ? time_at(l, (uint32_t)d->entries.n - 1) : first;
    struct upp_str created = or_else(d->created, first);
    wd_open(l, WD_THREAD, "thread");
    wj_write_open(&l->w, '{');
    wd_member(l, "version", UPP_STR(WD_THREAD_VERSION));
    wd_member(l, "thread_id", or_else(d->id, UPP_STR("thread")));
    wd_member(l, "created_at", created);
    wd_member(l, "updated_at", or_else(d->updated, last));
    wd_member(l, "title", d->title);
    wd_member_json(l, "metadata", d->metadata);
    if (d->parent.p) {
        wd_member(l, "parent_thread_id", d->parent);
        wd_member_u64(l, "branch_point", d->parent_at);
    }
    put_agents(l, created);
    wj_put_open(&l->w, "turns", '[');
    l->items.from = l->w.out->n;
    for (size_t i = 0; i < d->turns.n && !l->w.failed; i++)
        put_turn(l, &d->turns.p[i]);
    l->items.to = l->w.out->n;
    wj_write_close(&l->w, ']');
    put_carried(l, &(struct wd_carry){.first = WD_THREAD}, NULL);
    wj_write_close(&l->w, '}');
    wd_close(l);
    return wb_arena_check(&l->keep, err);
}
