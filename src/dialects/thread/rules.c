/* dialects/thread/rules.c — checks ids, times, calls and turns of a ThreadProtocol document against each other. */
#include "dialects/thread/rules.h"

#include "base/err.h"
#include "base/iso8601.h"
#include "json/pointer.h"
#include "json/value.h"
#include "model/names.h"

void wd_problem_below(void *arg, const char *pointer, const char *sentence)
{
    const struct wd_below *below = arg;
    char text[512];
    struct wj_pointer at;
    wj_pointer_init(&at, text, sizeof text);
    wj_pointer_find(&at, below->p->root, below->at);
    struct upp_str whole = wb_arena_printf(below->p->a, "%s%s", text, pointer);
    if (whole.p)
        wd_problem_at(below->p, WD_ERROR, "TP-2", whole.p, sentence);
}

struct call {
    struct upp_str tool;
    bool open;
};

struct rules {
    struct wd_problems *p;
    struct wm_names agents, calls;
    WB_VEC(struct call) states; /* by the number of the call's id */
    bool fragment;
    struct wb_time last;  /* the last one that was checked: many are the same */
    struct wb_time ended; /* of the previous turn */
    bool has_ended;
    struct upp_err *err;
};

static bool check_time(struct rules *r, const struct wj_node *in, const char *member, struct upp_str text,
                       struct wb_time *ret)
{
    struct upp_err err;
    if (!text.p)
        return false;
    if (r->last.text.p && r->last.text.n == text.n && wj_same(text.p, r->last.text.p, text.n)) {
        *ret = r->last;
        return true;
    }
    if (wb_time_parse(text, ret, &err) < 0) {
        wd_problem(r->p, WD_ERROR, "TP-40", yyjson_obj_get(in->from, member), "no time: %s", err.msg);
        return false;
    }
    bool rfc = text.n > 10 && (text.p[10] == 'T' || text.p[10] == 't') && !ret->date_only;
    if (!rfc)
        wd_problem(r->p, WD_ERROR, "TP-40", yyjson_obj_get(in->from, member), "no time as RFC 3339 writes it");
    else if (ret->naive)
        wd_problem(r->p, WD_WARNING, "TP-40", yyjson_obj_get(in->from, member),
                   "a time without an offset counts as UTC");
    else
        r->last = *ret; /* only one without a problem */
    return true;
}

static void no_overlap(struct rules *r, const struct wj_node *in, const char *member, const struct wb_time *begin)
{
    if (r->has_ended && wb_time_cmp(begin, &r->ended) < 0)
        wd_problem(r->p, WD_ERROR, "TP-43", yyjson_obj_get(in->from, member),
                   "the turn begins before the one before it has ended");
}

static int check_call(struct rules *r, const struct wd_pai_part *part)
{
    uint32_t i;
    int add = wm_names_add(&r->calls, part->tool_call_id, &i, r->err);
    if (add < 0)
        return add;
    if (add && !wb_vec_push(&r->states, ((struct call){0}), (size_t)WM_NAMES_MAX))
        return upp_fail(r->err, UPP_ENOMEM, "no memory for a call");
    yyjson_val *at = add ? NULL : yyjson_obj_get(part->node.from, "tool_call_id");
    if (!add && r->states.p[i].open)
        wd_problem(r->p, WD_ERROR, "TP-41", at, "a call of this id is still open");
    else if (!add)
        wd_problem(r->p, WD_WARNING, "TP-41", at, "the id of a call that was answered is used again");
    r->states.p[i] = (struct call){.tool = part->tool_name, .open = true};
    return 0;
}

static void check_answer(struct rules *r, const struct wd_pai_part *part)
{
    static const char id[] = "tool_call_id";
    uint32_t i = wm_names_find(&r->calls, part->tool_call_id);
    if (i == UINT32_MAX) {
        wd_problem(r->p, WD_ERROR, "TP-41", yyjson_obj_get(part->node.from, id),
                   "an answer to a call that was not made before");
        return;
    }
    struct call *call = &r->states.p[i];
    if (!call->open)
        wd_problem(r->p, WD_ERROR, "TP-41", yyjson_obj_get(part->node.from, id), "a second answer to one call");
    if (part->tool_name.p && call->tool.p && !wb_str_eq(part->tool_name, call->tool))
        wd_problem(r->p, WD_WARNING, "TP-41", yyjson_obj_get(part->node.from, "tool_name"),
                   "the call was one of another tool");
    call->open = false;
}

static int check_parts(struct rules *r, const struct wd_pai_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!parts[i].tool_call_id.p)
            continue;
        enum wd_pai_kind kind = wd_pai_kind(parts[i].part_kind);
        if (kind == WD_PAI_TOOL_CALL) {
            int x = check_call(r, &parts[i]);
            if (x < 0)
                return x;
        } else if (kind == WD_PAI_TOOL_RETURN || (kind == WD_PAI_RETRY_PROMPT && parts[i].tool_name.p))
            check_answer(r, &parts[i]);
    }
    return 0;
}

static bool knows(const struct rules *r, struct upp_str id)
{
    return !id.p || r->fragment || wm_names_find(&r->agents, id) != UINT32_MAX;
}

static void unknown_agent(struct rules *r, yyjson_val *at, struct upp_str id, enum wd_severity severity)
{
    char quoted[WJ_QUOTED];
    wd_problem(r->p, severity, "TP-42", at, "agent %s is not in 'agents'", wj_quote(id, quoted, sizeof quoted));
}

static void check_agents_of(struct rules *r, const struct wd_tp_message *m, struct upp_str turns)
{
    yyjson_val *from = m->node.from;
    bool other = m->agent_id.p && turns.p && !wb_str_eq(m->agent_id, turns);
    if ((other || !turns.p) && !knows(r, m->agent_id))
        unknown_agent(r, yyjson_obj_get(from, "agent_id"), m->agent_id, WD_ERROR);
    if (!knows(r, m->source_agent))
        unknown_agent(r, yyjson_obj_get(from, "source_agent"), m->source_agent, WD_WARNING);
    for (size_t i = 0; i < m->target_agents.n; i++)
        if (!knows(r, m->target_agents.p[i]))
            unknown_agent(r, yyjson_arr_get(yyjson_obj_get(from, "target_agents"), i), m->target_agents.p[i],
                          WD_WARNING);
    if (other && !wb_str_eq(m->message_type, UPP_STR("system")))
        wd_problem(r->p, WD_WARNING, "TP-42", yyjson_obj_get(from, "agent_id"), "another agent than its turn's");
}

static int check_user_turn(struct rules *r, const struct wd_tp_turn *t)
{
    struct wb_time at;
    if (check_time(r, &t->node, "submitted_at", t->submitted_at, &at)) {
        no_overlap(r, &t->node, "submitted_at", &at);
        r->ended = at;
        r->has_ended = true;
    }
    return check_parts(r, t->parts.p, t->parts.n);
}

static int check_agent_turn(struct rules *r, const struct wd_tp_turn *t)
{
    struct wb_time begin, end, at, before;
    bool has_begin = check_time(r, &t->node, "started_at", t->started_at, &begin);
    bool has_end = check_time(r, &t->node, "completed_at", t->completed_at, &end), has_before = false;
    int x = 0;
    if (!knows(r, t->agent_id))
        unknown_agent(r, yyjson_obj_get(t->node.from, "agent_id"), t->agent_id, WD_ERROR);
    if (has_begin)
        no_overlap(r, &t->node, "started_at", &begin);
    if (has_begin && has_end && wb_time_cmp(&end, &begin) < 0)
        wd_problem(r->p, WD_ERROR, "TP-43", yyjson_obj_get(t->node.from, "completed_at"), "it ends before it begins");
    for (size_t i = 0; x >= 0 && i < t->messages.n; i++) {
        const struct wd_tp_message *m = &t->messages.p[i];
        check_agents_of(r, m, t->agent_id);
        if (check_time(r, &m->node, "timestamp", m->timestamp, &at)) {
            if (has_before && wb_time_cmp(&at, &before) < 0)
                wd_problem(r->p, WD_ERROR, "TP-44", yyjson_obj_get(m->node.from, "timestamp"),
                           "earlier than the message before it");
            else if ((has_begin && wb_time_cmp(&at, &begin) < 0) || (has_end && wb_time_cmp(&at, &end) > 0))
                wd_problem(r->p, WD_WARNING, "TP-44", yyjson_obj_get(m->node.from, "timestamp"),
                           "outside the time of its turn");
            before = at;
            has_before = true;
        }
        x = check_parts(r, m->parts.p, m->parts.n);
    }
    if (has_end || has_begin) {
        r->ended = has_end ? end : begin;
        r->has_ended = true;
    }
    return x;
}

int wd_tp_rules(struct wd_problems *p, const struct wd_tp_thread *d, bool fragment, struct upp_err *err)
{
    struct rules r = {.p = p, .fragment = fragment, .err = err};
    struct wb_time ignored;
    uint32_t number;
    int x = 0;
    for (size_t i = 0; x >= 0 && i < d->agents.n; i++)
        x = wm_names_add(&r.agents, d->agents.p[i].name, &number, err);
    if (x >= 0) {
        x = 0;
        (void)check_time(&r, &d->node, "created_at", d->created_at, &ignored);
        (void)check_time(&r, &d->node, "updated_at", d->updated_at, &ignored);
    }
    for (size_t i = 0; x >= 0 && i < d->turns.n; i++) {
        const struct wd_tp_turn *t = &d->turns.p[i];
        if (wb_str_eq(t->turn_type, UPP_STR("user")))
            x = check_user_turn(&r, t);
        else if (wb_str_eq(t->turn_type, UPP_STR("agent")))
            x = check_agent_turn(&r, t);
    }
    wm_names_done(&r.agents);
    wm_names_done(&r.calls);
    wb_vec_done(&r.states);
    return x;
}
