/* dialects/pydantic/lift.c — lifts Pydantic AI's messages into the model.
 *
 * A request of the user begins a user turn; everything else belongs to a turn of the agent, which ends where another
 * run begins. A message without a time has that of a part, otherwise that of the previous message.
 */
#include "base/err.h"
#include "dialects/pydantic/pydantic.h"
#include "json/value.h"
#include "model/call_source.h"

struct lifting {
    struct wd_lifting *l;
    struct wd_parts parts, results; /* results: of provider-executed calls */
    struct upp_err *err;
    uint32_t agent;      /* author of the message */
    struct upp_str time; /* of the previous message; NULL: none had any */
    struct upp_str run;
    size_t open;       /* calls without a result */
    uint8_t open_turn; /* 0: none, 'u': user, 'a': agent */
    bool named;        /* the message says whose it is */
};

static bool is_answer(const struct wd_pai_part *p)
{
    enum wd_pai_kind kind = wd_pai_kind(p->part_kind);
    return kind == WD_PAI_TOOL_RETURN || kind == WD_PAI_RETRY_PROMPT;
}

static bool is_request(const struct wd_pai_message *m)
{
    return wb_str_eq(m->kind, UPP_STR("request"));
}

static bool other_run(const struct lifting *t, const struct wd_pai_message *m)
{
    return m->run_id.p && t->run.p && !wb_str_eq(m->run_id, t->run);
}

/* The agent that it names (see lower.c); NULL: none. */
static struct upp_str named(const struct wd_pai_message *m)
{
    return wj_text_at(yyjson_obj_get(m->metadata, "weft"), "agent");
}

static int agent_of(struct lifting *t, const struct wd_pai_message *m)
{
    return wd_agent_of(t->l, named(m), wj_text_at(yyjson_obj_get(m->metadata, "weft"), "name"), &t->agent, t->err);
}

/* Did the user submit it? */
static bool is_users(const struct lifting *t, const struct wd_pai_message *m)
{
    bool prompt = false;
    if (!is_request(m) || named(m).p)
        return false;
    for (size_t i = 0; i < m->parts.n; i++) {
        if (is_answer(&m->parts.p[i]))
            return false;
        prompt |= wd_pai_kind(m->parts.p[i].part_kind) == WD_PAI_USER_PROMPT ||
                  wb_str_eq(m->parts.p[i].part_kind, UPP_STR("speech"));
    }
    return prompt && (!t->l->doc->entries.n || !t->open || other_run(t, m));
}

static struct upp_str id_of(const struct wd_pai_message *m)
{
    return wj_text_at(yyjson_obj_get(m->metadata, "weft"), "id");
}

static int turn_for(struct lifting *t, const struct wd_pai_message *m, bool user)
{
    const struct wm_doc_turn *last = t->open_turn ? &t->l->doc->turns.p[t->l->doc->turns.n - 1] : NULL;
    if (!user && t->open_turn == 'a' && !other_run(t, m) && last->agent == t->agent && !id_of(m).p)
        return 0;
    struct wm_doc_turn *turn = wm_doc_turn_add(t->l->doc, t->err);
    if (!turn)
        return wd_error_of(t->err);
    turn->agent = user ? WM_NO_AGENT : t->agent;
    turn->run = m->run_id;
    turn->id = id_of(m);
    t->open_turn = user ? 'u' : 'a';
    return 0;
}

static int finish_message(struct lifting *t, uint8_t role, uint32_t agent)
{
    if (!t->parts.list.n)
        return 0;
    struct wm_doc_entry *e = wd_entry_add(t->l, role, agent, t->time, t->err);
    if (!e)
        return wd_error_of(t->err);
    e->users = role == UPP_ROLE_USER && !t->named;
    return wd_parts_finish(t->l->a, &t->parts, &e->e.message, t->err);
}

static int lift_request(struct lifting *t, const struct wd_pai_message *m, uint32_t agent)
{
    uint8_t role = 0;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < m->parts.n; i++) {
        const struct wd_pai_part *p = &m->parts.p[i];
        enum wd_pai_kind kind = wd_pai_kind(p->part_kind);
        if (!wd_pai_fits(kind, true))
            continue;
        bool result =
            kind == WD_PAI_TOOL_RETURN || (kind == WD_PAI_RETRY_PROMPT && p->tool_name.p && p->tool_call_id.p);
        uint8_t now = result ? UPP_ROLE_TOOL : UPP_ROLE_USER;
        if (role && (now != role || now == UPP_ROLE_USER))
            r = finish_message(t, role, agent);
        role = now;
        t->open -= result && t->open;
        if (r >= 0)
            r = wd_pai_lift(t->l, p, &t->parts, t->err);
    }
    return r < 0 ? r : finish_message(t, role, agent);
}

/* A provider-executed call is in the same message as its result. Without the other, neither is lifted: a run would wait
 * for the result. */
static const struct upp_str builtins[] = {UPP_STR_INIT("builtin-tool-call"), UPP_STR_INIT("builtin-tool-return")};

static bool has_builtin(const struct wd_pai_part *from, const struct wd_pai_part *end, struct upp_str kind,
                        struct upp_str call)
{
    while (from < end && !(wb_str_eq(from->part_kind, kind) && wb_str_eq(from->tool_call_id, call)))
        from++;
    return from < end;
}

static int lift_builtin(struct lifting *t, const struct wd_pai_message *m, const struct wd_pai_part *p)
{
    const struct wd_pai_part *all = m->parts.p, *end = all + m->parts.n;
    if (!p->tool_call_id.p || !p->tool_name.p)
        return 0;
    if (wb_str_eq(p->part_kind, builtins[0]))
        return has_builtin(p + 1, end, builtins[1], p->tool_call_id) &&
                       !has_builtin(all, p, builtins[0], p->tool_call_id)
                   ? wd_pai_lift_builtin(t->l, p, true, &t->parts, t->err)
                   : 0;
    return wb_str_eq(p->part_kind, builtins[1]) && has_builtin(all, p, builtins[0], p->tool_call_id) &&
                   !has_builtin(all, p, builtins[1], p->tool_call_id)
               ? wd_pai_lift_builtin(t->l, p, false, &t->results, t->err)
               : 0;
}

/* Approvals are in the message's metadata (see lower.c). */
static int lift_approval(struct lifting *t, const struct wd_pai_message *m, struct upp_str call)
{
    yyjson_val *all = yyjson_obj_get(yyjson_obj_get(m->metadata, "weft"), "approvals");
    yyjson_val *v = call.p ? yyjson_obj_getn(all, call.p, call.n) : NULL;
    struct upp_str json;
    int r = yyjson_is_obj(v) && t->parts.list.n ? wj_value_text(t->l->a, v, &json, t->err) : 1;
    if (r)
        return r < 0 ? r : 0;
    return wd_pai_sidecar_add(t->l->a, &t->parts.list.p[t->parts.list.n - 1].metadata, "approval", json, t->err);
}

/* So are the sources of tools. What is no source of ours stays in the message as residue. */
static int lift_source(struct lifting *t, const struct wd_pai_message *m, struct upp_str call)
{
    yyjson_val *all = yyjson_obj_get(yyjson_obj_get(m->metadata, "weft"), "sources");
    yyjson_val *v = call.p ? yyjson_obj_getn(all, call.p, call.n) : NULL;
    struct upp_str source;
    int r = wm_call_source_write(t->l->a, wm_call_source_in(v), &source, t->err);
    if (r < 0 || !source.n || !t->parts.list.n)
        return r;
    struct upp_str *to = &t->parts.list.p[t->parts.list.n - 1].metadata;
    return wm_call_source_join(t->l->a, *to, source, to, t->err);
}

static int lift_response(struct lifting *t, const struct wd_pai_message *m)
{
    int r = 0;
    t->open = 0; /* a new response abandons the open calls */
    for (size_t i = 0; r >= 0 && i < m->parts.n; i++) {
        const struct wd_pai_part *p = &m->parts.p[i];
        enum wd_pai_kind kind = wd_pai_kind(p->part_kind);
        if (kind == WD_PAI_OTHER)
            r = lift_builtin(t, m, p);
        else if (wd_pai_fits(kind, false))
            r = wd_pai_lift(t->l, p, &t->parts, t->err);
        bool call = r > 0 && kind == WD_PAI_TOOL_CALL;
        if (call)
            r = lift_approval(t, m, p->tool_call_id);
        if (call && r >= 0)
            r = lift_source(t, m, p->tool_call_id);
        t->open += kind == WD_PAI_TOOL_CALL;
    }
    struct wm_doc_entry *e = r < 0 ? NULL : wd_entry_add(t->l, UPP_ROLE_ASSISTANT, t->agent, t->time, t->err);
    if (!e)
        return r < 0 ? r : wd_error_of(t->err);
    e->said = (struct wm_reply_info){.model = m->model_name,
                                     .provider = m->provider_name,
                                     .response = m->provider_response_id,
                                     .stop = m->finish_reason.p ? wd_pai_stop(m->finish_reason) : 0};
    if (m->usage) {
        e->said.has_usage = true;
        e->said.usage.input = wd_number_of(m->usage->input);
        e->said.usage.output = wd_number_of(m->usage->output);
        e->said.usage.cache_read = wd_number_of(m->usage->cache_read);
        e->said.usage.cache_write = wd_number_of(m->usage->cache_write);
        e->said.usage.reasoning = wd_number_at(m->usage->details, "reasoning_tokens");
    }
    r = wd_parts_finish(t->l->a, &t->parts, &e->e.message, t->err);
    if (r < 0 || !t->results.list.n)
        return r;
    e = wd_entry_add(t->l, UPP_ROLE_TOOL, t->agent, t->time, t->err);
    return e ? wd_parts_finish(t->l->a, &t->results, &e->e.message, t->err) : wd_error_of(t->err);
}

static int lift_message(struct lifting *t, const struct wd_pai_message *m)
{
    size_t first = t->l->doc->entries.n, turns = t->l->doc->turns.n;
    bool user = is_users(t, m);
    uint8_t open_turn = t->open_turn;
    if (!is_request(m) && !wb_str_eq(m->kind, UPP_STR("response")))
        return 0;
    /* The time of the message, of one of its parts, or of the previous message. */
    struct upp_str time = m->timestamp;
    for (size_t i = 0; !time.p && i < m->parts.n; i++)
        time = m->parts.p[i].timestamp;
    if (time.p)
        t->time = time;
    t->named = named(m).p;
    int r = user ? 0 : agent_of(t, m);
    if (r >= 0)
        r = turn_for(t, m, user);
    if (r >= 0)
        r = is_request(m) ? lift_request(t, m, user ? WM_NO_AGENT : t->agent) : lift_response(t, m);
    if (r < 0)
        return r;
    size_t n = t->l->doc->entries.n - first;
    if (!n) { /* nothing of it is in the model: it stays in the list as residue */
        t->l->doc->turns.n = turns;
        t->open_turn = open_turn;
        return 0;
    }
    if (m->run_id.p)
        t->run = m->run_id;
    if (id_of(m).p)
        t->l->doc->entries.p[first].id = id_of(m);
    r = wd_anchor(t->l, m->node.from, "message", first, n, t->err);
    if (r >= 0 && n == 1)
        wd_canonical(t->l, wd_pai_is_canonical_message(m, t->l->doc));
    return r;
}

int wd_pydantic_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    struct upp_err why = {0};
    struct lifting t = {.l = l, .err = &why};
    struct wj_plans plans = {.ordered = true};
    const struct wj_decode_opts lenient = {.size = sizeof lenient, .problem = wd_ignore_problem, .plans = &plans};
    size_t i, n;
    yyjson_val *v;
    int r = yyjson_is_arr(root) ? 0 : upp_fail(&why, UPP_EINVALID, "expected a list of messages");
    if (r >= 0) {
        wd_reserve(l, 0, yyjson_arr_size(root), yyjson_arr_size(root) + 1);
        yyjson_arr_foreach(root, i, n, v)
        {
            struct wd_pai_message m;
            if (!yyjson_is_obj(v))
                continue;
            r = WJ_DECODE(l->a, wd_pai_message, v, &lenient, &m, &why);
            if (r >= 0 && m.parts.p)
                r = lift_message(&t, &m);
            if (r < 0)
                break;
        }
    }
    if (r >= 0)
        r = wd_anchor(l, root, "list", WD_THREAD, 0, &why);
    wb_vec_done(&t.parts.list);
    wb_vec_done(&t.results.list);
    if (r < 0 && err)
        *err = why;
    return r;
}
