/* dialects/thread/check.c — validates the objects of a ThreadProtocol document: required members and allowed values,
 * and the rules about more than one object (times, calls and results, agents). */
#include "base/base64.h"
#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/thread/thread.h"
#include "json/pointer.h"
#include "json/value.h"
#include "model/names.h"

/* ---- Rules about more than one object ------------------------------------------------------------------ */

/* Reports problems that a table finds in a value below the root: adds the value's pointer. */
struct below {
    struct wd_problems *p;
    yyjson_val *at;
};

static void problem_below(void *arg, const char *pointer, const char *sentence)
{
    const struct below *below = arg;
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

/* Times (TP-40, 43, 44), calls and their results (TP-41), agents (TP-42; not in a fragment, which has none). */
static int check_rules(struct wd_problems *p, const struct wd_tp_thread *d, bool fragment, struct upp_err *err)
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

/* ---- Objects ------------------------------------------------------------------------------------------- */

/* ---- Problems found by the tables ------------------------------------------------------------------------- */

/* Finds the rule of a member that violates its table from its pointer. */
static void report_shape(void *ctx, const char *pointer, const char *sentence)
{
    static const char *const rules[][2] = {{"usage", "TP-14"},  {"/parts/", "TP-6"},  {"/messages/", "TP-5"},
                                           {"/turns/", "TP-3"}, {"/agents/", "TP-2"}, {"", "TP-1"}};
    size_t i = 0;
    while (!strstr(pointer, rules[i][0]))
        i++;
    wd_problem_at(ctx, WD_ERROR, rules[i][1], pointer, sentence);
}

static void need(struct wd_problems *p, bool there, const char *rule, const struct wj_node *in, const char *member)
{
    if (!there && !yyjson_obj_get(in->from, member)) /* a wrong type has been reported already */
        wd_problem(p, WD_ERROR, rule, in->from, "member '%s' is missing", member);
}

/* A retry may have null here, a call and its return may not. */
static void need_text(struct wd_problems *p, struct upp_str value, const struct wj_node *in, const char *member)
{
    yyjson_val *v = value.p ? NULL : yyjson_obj_get(in->from, member);
    if (v && yyjson_is_null(v))
        wd_problem(p, WD_ERROR, "TP-6", v, "'%s' is a text, and not null", member);
    else
        need(p, value.p, "TP-6", in, member);
}

#define WORD(text) UPP_STR_INIT(text)

/* The list ends with a NULL text. */
static bool one_of(struct upp_str word, const struct upp_str *words)
{
    while (words->p && !(words->n == word.n && wj_same(words->p, word.p, word.n)))
        words++;
    return words->p;
}

/* Is it one of the words? Reports any other value. */
static bool check_word(struct wd_problems *p, const char *rule, const struct wj_node *in, const char *member,
                       struct upp_str value, const struct upp_str *words)
{
    bool known = value.p && one_of(value, words);
    if (value.p && !known) {
        char quoted[WJ_QUOTED];
        wd_problem(p, WD_ERROR, rule, yyjson_obj_get(in->from, member), "'%s' cannot be %s", member,
                   wj_quote(value, quoted, sizeof quoted));
    }
    return known;
}

/* ---- Parts ------------------------------------------------------------------------------------------------- */

static void check_base64(struct wd_problems *p, yyjson_val *v)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf bytes = WB_BUF(WD_DOC_BYTES);
    struct upp_err err;
    int r = wb_base64_decode(wj_text(v), &bytes, &err);
    if (r == -UPP_EINVALID)
        wd_problem(p, WD_ERROR, "TP-7", v, "%s", err.msg);
    else if (r < 0)
        p->failed = r;
}

static void check_item(struct wd_problems *p, yyjson_val *v)
{
    static const struct upp_str known[] = {WORD("image-url"), WORD("audio-url"), WORD("document-url"),
                                           WORD("video-url"), WORD("binary"),    {0}};
    yyjson_val *kind = yyjson_obj_get(v, "kind"), *url = yyjson_obj_get(v, "url");
    yyjson_val *data = yyjson_obj_get(v, "data"), *mime = yyjson_obj_get(v, "media_type");
    yyjson_val *name = yyjson_obj_get(v, "identifier");
    if (!yyjson_is_obj(v) || !kind || !yyjson_is_str(kind)) {
        wd_problem(p, WD_ERROR, "TP-7", v, "content is a text, or an object with a 'kind'");
        return;
    }
    if (!one_of(wj_text(kind), known))
        return; /* unknown kinds are allowed */
    if (!wb_str_eq(wj_text(kind), UPP_STR("binary"))) {
        if (!url || !yyjson_is_str(url))
            wd_problem(p, WD_ERROR, "TP-7", url ? url : v, "an address needs a 'url' that is a text");
    } else if (!data || !yyjson_is_str(data))
        wd_problem(p, WD_ERROR, "TP-7", data ? data : v, "binary content needs 'data' that is a text");
    else
        check_base64(p, data);
    if (mime ? !yyjson_is_str(mime) && !yyjson_is_null(mime) : wb_str_eq(wj_text(kind), UPP_STR("binary")))
        wd_problem(p, WD_ERROR, "TP-7", mime ? mime : v, "binary content needs a 'media_type' that is a text");
    if (!name || yyjson_is_null(name))
        wd_problem(p, WD_WARNING, "TP-7", name ? name : v, "without an 'identifier' no tool can speak of it");
    else if (!yyjson_is_str(name))
        wd_problem(p, WD_ERROR, "TP-7", name, "'identifier' is a text");
}

static void check_prompt(struct wd_problems *p, const struct wd_pai_part *part)
{
    size_t i, n;
    yyjson_val *item;
    if (part->content && !yyjson_is_str(part->content) && !yyjson_is_arr(part->content))
        wd_problem(p, WD_ERROR, "TP-7", part->content, "a prompt's content is a text or a list");
    yyjson_arr_foreach(part->content, i, n, item)
    {
        if (!yyjson_is_str(item))
            check_item(p, item);
    }
}

static void check_text(struct wd_problems *p, yyjson_val *content)
{
    if (content && !yyjson_is_str(content))
        wd_problem(p, WD_ERROR, "TP-6", content, "content is a text");
}

static void check_part(struct wd_problems *p, const struct wd_pai_part *part)
{
    static const struct upp_str statuses[] = {WORD("success"), WORD("error"), WORD("validation_error"), {0}};
    const struct wj_node *in = &part->node;
    enum wd_pai_kind kind = wd_pai_kind(part->part_kind);
    if (kind == WD_PAI_SYSTEM_PROMPT)
        wd_problem(p, WD_ERROR, "TP-9", in->from, "a system prompt is the agent's configuration, and never a part");
    if (kind == WD_PAI_OTHER || kind == WD_PAI_SYSTEM_PROMPT)
        return;
    if (kind != WD_PAI_TOOL_CALL && kind != WD_PAI_THINKING)
        need(p, part->content, "TP-6", in, "content");
    if (kind == WD_PAI_TOOL_CALL || kind == WD_PAI_TOOL_RETURN) {
        need_text(p, part->tool_name, in, "tool_name");
        need(p, part->tool_call_id.p, "TP-6", in, "tool_call_id");
    }
    switch (kind) {
    case WD_PAI_USER_PROMPT:
        check_prompt(p, part);
        break;
    case WD_PAI_THINKING:
        if (!part->provider_name.p)
            wd_problem(p, WD_WARNING, "TP-6", in->from, "thinking without 'provider_name' goes back to no provider");
        if (part->content && !yyjson_is_null(part->content))
            check_text(p, part->content);
        break;
    case WD_PAI_TEXT:
        check_text(p, part->content);
        break;
    case WD_PAI_TOOL_CALL:
        need(p, part->args, "TP-6", in, "args");
        break;
    case WD_PAI_TOOL_RETURN:
        need(p, part->status.p, "TP-6", in, "status");
        (void)check_word(p, "TP-6", in, "status", part->status, statuses);
        break;
    case WD_PAI_RETRY_PROMPT:
        if (part->content && !yyjson_is_str(part->content) && !yyjson_is_arr(part->content))
            wd_problem(p, WD_ERROR, "TP-6", part->content, "a retry's content is a text or a list of errors");
        break;
    default:
        if (part->content)
            check_item(p, part->content);
        break;
    }
}

/* ---- Messages and turns --------------------------------------------------------------------------------------- */

static void check_message(struct wd_problems *p, const struct wd_tp_message *m)
{
    static const struct upp_str kinds[] = {WORD("response"), WORD("request"), WORD("system"), {0}};
    static const struct upp_str reasons[] = {WORD("stop"),      WORD("length"), WORD("content_filter"),
                                             WORD("tool_call"), WORD("error"),  {0}};
    const struct wj_node *in = &m->node;
    if (!in->from) /* not an object: reported already */
        return;
    bool known = check_word(p, "TP-4", in, "message_type", m->message_type, kinds);
    need(p, m->timestamp.p, "TP-5", in, "timestamp");
    if (wb_str_eq(m->message_type, UPP_STR("system"))) {
        need(p, m->event_type.p, "TP-8", in, "event_type");
        need(p, m->event_data, "TP-8", in, "event_data");
        return;
    }
    if (!known)
        return;
    need(p, m->parts.p, "TP-5", in, "parts");
    need(p, m->agent_id.p, "TP-5", in, "agent_id");
    (void)check_word(p, "TP-14", in, "finish_reason", m->finish_reason, reasons);
    for (size_t i = 0; i < m->parts.n; i++)
        check_part(p, &m->parts.p[i]);
}

static void check_turn(struct wd_problems *p, const struct wd_tp_turn *t)
{
    static const struct upp_str kinds[] = {WORD("user"), WORD("agent"), {0}};
    const struct wj_node *in = &t->node;
    (void)check_word(p, "TP-3", in, "turn_type", t->turn_type, kinds);
    if (wb_str_eq(t->turn_type, UPP_STR("user"))) {
        need(p, t->submitted_at.p, "TP-3", in, "submitted_at");
        need(p, t->parts.p, "TP-3", in, "parts");
        for (size_t i = 0; i < t->parts.n; i++)
            check_part(p, &t->parts.p[i]);
    } else if (wb_str_eq(t->turn_type, UPP_STR("agent"))) {
        need(p, t->agent_id.p, "TP-3", in, "agent_id");
        need(p, t->started_at.p, "TP-3", in, "started_at");
        need(p, t->completed_at.p, "TP-3", in, "completed_at");
        need(p, t->messages.p, "TP-3", in, "messages");
        for (size_t i = 0; i < t->messages.n; i++)
            check_message(p, &t->messages.p[i]);
    }
}

/* ---- The thread ------------------------------------------------------------------------------------------------ */

/* Older versions and fragments are read, and missing members are generated: each one is a warning. */
static void check_envelope(struct wd_problems *p, const struct wd_tp_thread *d, bool lenient)
{
    const struct {
        const char *name;
        bool there;
    } members[] = {{"version", d->version.p},
                   {"thread_id", d->thread_id.p},
                   {"created_at", d->created_at.p},
                   {"updated_at", d->updated_at.p},
                   {"agents", d->agents.p}};
    for (size_t i = 0; i < WB_LEN(members); i++) {
        if (members[i].there || yyjson_obj_get(d->node.from, members[i].name))
            continue;
        if (lenient)
            wd_problem(p, WD_WARNING, "TP-13", d->node.from, "member '%s' is missing and is made up when this is read",
                       members[i].name);
        else
            wd_problem(p, WD_ERROR, "TP-1", d->node.from, "member '%s' is missing", members[i].name);
    }
    if (d->metadata && !yyjson_is_obj(d->metadata))
        wd_problem(p, WD_ERROR, "TP-1", d->metadata, "'metadata' is an object");
}

static int check_agents(struct wd_problems *p, const struct wd_tp_thread *d, struct upp_err *err)
{
    for (size_t i = 0; i < d->agents.n; i++) {
        struct wd_tp_agent a;
        yyjson_val *v = d->agents.p[i].value;
        if (!yyjson_is_obj(v)) {
            wd_problem(p, WD_ERROR, "TP-2", v, "an agent is an object");
            continue;
        }
        struct below below = {.p = p, .at = v};
        int r =
            WJ_DECODE(p->a, wd_tp_agent, v, UPP_OPTS(wj_decode_opts, .problem = problem_below, .ctx = &below), &a, err);
        if (r < 0)
            return r;
        if (a.agent_id.p && !wb_str_eq(a.agent_id, d->agents.p[i].name))
            wd_problem(p, WD_ERROR, "TP-42", yyjson_obj_get(v, "agent_id"), "the agent stands under another id");
    }
    return 0;
}

int wd_tp_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    struct wj_plans plans = {0};
    struct wd_tp_thread d;
    if (!yyjson_is_obj(root)) {
        wd_problem(p, WD_ERROR, "TP-1", root, "a thread is an object");
        return 0;
    }
    int r = WJ_DECODE(
        p->a, wd_tp_thread, root,
        UPP_OPTS(wj_decode_opts, .problem = report_shape, .ctx = p, .max_problems = WD_MAX_PROBLEMS, .plans = &plans),
        &d, err);
    if (r < 0)
        return r;
    int version = wd_tp_version(d.version);
    if (version < 0) {
        char quoted[WJ_QUOTED];
        wd_problem(p, WD_ERROR, "TP-13", yyjson_obj_get(root, "version"),
                   "version %s is not one that " WD_THREAD_VERSION " can read",
                   wj_quote(d.version, quoted, sizeof quoted));
        return 0;
    }
    bool fragment = !d.version.p && !d.thread_id.p && !d.agents.p;
    if (d.version.p && version)
        wd_problem(p, WD_WARNING, "TP-13", yyjson_obj_get(root, "version"),
                   "not version " WD_THREAD_VERSION ": what it has is kept");
    check_envelope(p, &d, version != 0);
    r = check_agents(p, &d, err);
    for (size_t i = 0; r >= 0 && i < d.turns.n; i++)
        check_turn(p, &d.turns.p[i]);
    return r < 0 ? r : check_rules(p, &d, fragment, err);
}
