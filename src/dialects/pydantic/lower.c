/* dialects/pydantic/lower.c — writes the model as Pydantic AI's messages, as its current version dumps them. */
#include "base/err.h"
#include "base/iso8601.h"
#include "base/words.h"
#include "dialects/core/document.h"
#include "dialects/core/retained.h"
#include "dialects/pydantic/pydantic.h"
#include "json/value.h"
#include "model/call_source.h"

enum { LISTED = 120 /* bytes of names in an error */ };

struct lowering {
    struct wd_lowering *l;
    uint32_t view; /* the agent for whom it is written; WM_NO_AGENT: none */

    const struct wm_doc_turn *turn; /* the current turn */
    struct upp_str system;          /* id of the system message whose prompts are in the request; NULL: none */
    /* System messages of a list of UI messages, each message of which became a turn. */
    struct wd_retained_items prompts;
    yyjson_val *prompt; /* the next one; NULL: no more */
};

static struct upp_str time_of(struct wd_lowering *l, uint32_t i)
{
    const struct upp_message *m = &wd_entry_at(l, i)->e.message;
    return wd_pai_time_dumped(l, m->time_text, m->time_ms);
}

/* Texts of other agents are marked (TP-31). */
static struct upp_str prefix_of(const struct lowering *t, const struct wm_doc_entry *e)
{
    if (t->view == WM_NO_AGENT || e->agent == WM_NO_AGENT || e->agent == t->view)
        return (struct upp_str){0};
    const struct wm_doc_agent *a = &t->l->doc->agents.p[e->agent];
    return wb_arena_printf(&t->l->keep, "{agent:%.*s}: ", UPP_FMT(a->name.p ? a->name : a->id));
}

/* The author; NULL: the default agent, or not to be written. */
static const struct wm_doc_agent *author_of(const struct lowering *t, uint32_t entry)
{
    uint32_t agent = entry == WD_THREAD ? WM_NO_AGENT : wd_entry_at(t->l, entry)->agent;
    if (agent == WM_NO_AGENT || t->l->view.p || t->l->pure)
        return NULL;
    const struct wm_doc_agent *a = &t->l->doc->agents.p[agent];
    return wb_str_eq(a->id, UPP_STR("agent")) && wb_str_eq(a->name, a->id) ? NULL : a;
}

/* An object that is written only if it has members. */
struct opened {
    struct wd_lowering *l;
    const char *name;
    bool is;
};

static void open_for(struct opened *o)
{
    if (o->is)
        return;
    wj_put_open(&o->l->w, o->name, '{');
    o->is = true;
}

static void close_for(struct opened *o)
{
    if (o->is)
        wj_write_close(&o->l->w, '}');
}

/* The approval of a call: what was asked and decided, which UI messages have in the call. NULL: none. */
static yyjson_val *approval_of(struct wd_lowering *l, const struct upp_part *p)
{
    if (p->kind != UPP_PART_CALL || !p->id.p || wb_str_find(p->metadata, UPP_STR("\"approval\""), 0) == SIZE_MAX)
        return NULL;
    yyjson_val *v = wd_pai_own_at(l, p->metadata, "approval");
    return yyjson_is_obj(v) ? v : NULL;
}

/* Where the tool of a call comes from, if that is known (model/call_source.h). NULL: not. */
static yyjson_val *source_of(struct wd_lowering *l, const struct upp_part *p)
{
    if (p->kind != UPP_PART_CALL || !p->id.p || wb_str_find(p->metadata, UPP_STR("\"weft\""), 0) == SIZE_MAX)
        return NULL;
    wb_arena_reset(&l->scratch);
    yyjson_val *v = wd_scratch_read(l, p->metadata);
    return wm_call_source_of(v).source != WM_TOOL_PLUGIN ? yyjson_obj_get(v, "weft") : NULL;
}

/* What a call has and no member of its part: an object by the ids of the calls. */
static void put_of_calls(struct opened *own, struct opened *weft, uint32_t entry, const char *name,
                         yyjson_val *(*of)(struct wd_lowering *l, const struct upp_part *p))
{
    struct wd_lowering *l = own->l;
    const struct upp_message *m = &wd_entry_at(l, entry)->e.message;
    struct opened all = {.l = l, .name = name};
    for (size_t i = 0; i < m->n_parts && !l->view.p && !l->pure; i++) {
        yyjson_val *v = of(l, &m->parts[i]);
        if (!v)
            continue;
        open_for(own);
        open_for(weft);
        open_for(&all);
        wj_write_name(&l->w, m->parts[i].id);
        wj_write_value(&l->w, v);
    }
    close_for(&all);
}

/* The turn's id, if the entry begins it; not an id that was generated for a UI message without one (ui's lower.c). */
static struct upp_str turn_id(const struct lowering *t, uint32_t entry)
{
    const struct wm_doc_turn *turn = t->turn;
    if (!turn || turn->first != entry || t->l->view.p || t->l->pure || wb_str_starts(turn->id, UPP_STR("message-")))
        return (struct upp_str){0};
    return turn->id;
}

static void put_metadata(struct lowering *t, uint32_t entry)
{
    struct wd_lowering *l = t->l;
    const struct wm_doc_agent *a = author_of(t, entry);
    yyjson_val *retained = entry == WD_THREAD ? NULL : wd_retained(l, "ui", "message", entry);
    struct opened own = {.l = l, .name = "metadata"}, weft = {.l = l, .name = "weft"};
    retained = wd_retained_member(retained, "metadata");
    if (wd_retained_metadata_is(retained)) {
        open_for(&own);
        wd_retained_metadata_put(l, retained);
    }
    if (a || turn_id(t, entry).p || t->system.p) {
        open_for(&own);
        open_for(&weft);
    }
    if (a) {
        wd_member(l, "agent", a->id);
        if (a->name.p && !wb_str_eq(a->name, a->id))
            wd_member(l, "name", a->name);
    }
    wd_member(l, "id", turn_id(t, entry));
    wd_member(l, "system", t->system);
    if (entry != WD_THREAD) {
        put_of_calls(&own, &weft, entry, "approvals", approval_of);
        put_of_calls(&own, &weft, entry, "sources", source_of);
    }
    close_for(&weft);
    close_for(&own);
    if (!own.is)
        wj_put_null(&l->w, "metadata");
}

static void put_ends(struct lowering *t, uint32_t entry, struct upp_str run)
{
    struct wd_lowering *l = t->l;
    wd_member_or_null(l, "run_id", run);
    wj_put_null(&l->w, "conversation_id");
    put_metadata(t, entry);
    wd_member(l, "state", UPP_STR("complete"));
}

static void put_usage(struct wd_lowering *l, const struct wm_reply_info *s)
{
    wj_put_open(&l->w, "usage", '{');
    wd_member_u64(l, "input_tokens", s->usage.input);
    wd_member_u64(l, "cache_write_tokens", s->usage.cache_write);
    wd_member_u64(l, "cache_read_tokens", s->usage.cache_read);
    wd_member_u64(l, "output_tokens", s->usage.output);
    wd_member_u64(l, "input_audio_tokens", 0);
    wd_member_u64(l, "cache_audio_read_tokens", 0);
    wd_member_u64(l, "output_audio_tokens", 0);
    wj_put_open(&l->w, "details", '{');
    if (s->usage.reasoning)
        wd_member_u64(l, "reasoning_tokens", s->usage.reasoning);
    wj_write_close(&l->w, '}');
    wj_put_null(&l->w, "cost");
    wj_write_close(&l->w, '}');
}

/* The model call's usage; if only the turn has usage, and the turn is this one response, the turn's. */
static struct wm_reply_info reply_info(const struct wd_lowering *l, uint32_t i, const struct wm_doc_turn *turn)
{
    struct wm_reply_info info = wd_entry_at(l, i)->said;
    uint32_t n = 0;
    for (uint32_t k = turn->first; !info.has_usage && turn->has_usage && n < 2 && k < turn->first + turn->n; k++)
        n += wd_entry_at(l, k)->e.kind == WM_ENTRY_MESSAGE && wd_entry_at(l, k)->e.message.role == UPP_ROLE_ASSISTANT;
    if (n == 1)
        info.usage = turn->usage;
    return info;
}

/* A provider-executed call is followed by its result. */
static void put_answer_part(struct wd_pai_out *o, uint32_t i, const struct upp_part *p)
{
    wd_pai_put_part(o, i, p);
    if (p->kind != UPP_PART_CALL || !wd_pai_is_builtin(o->l, p))
        return;
    const struct upp_part *result = wd_result_of(o->l->doc, i, p->id);
    if (result && wd_pai_is_builtin(o->l, result))
        wd_pai_put_builtin(o, result);
}

static void put_response(struct lowering *t, uint32_t i, const struct wm_doc_turn *turn)
{
    struct wm_reply_info info = reply_info(t->l, i, turn);
    struct wd_lowering *l = t->l;
    const struct wm_doc_entry *e = wd_entry_at(l, i);
    struct upp_str time = time_of(l, i);
    struct wd_pai_out o = {.l = l, .style = WD_PAI_PYDANTIC, .time = time, .prefix = prefix_of(t, e)};
    wj_put_open(&l->w, "parts", '[');
    for (size_t k = 0; k < e->e.message.n_parts; k++)
        if (e->e.message.parts[k].kind != UPP_PART_RESULT)
            put_answer_part(&o, i, &e->e.message.parts[k]);
        else
            wd_lose(l, i, "a result within an answer", "its call has no form that has one");
    wj_write_close(&l->w, ']');
    put_usage(l, &info);
    wd_member_or_null(l, "model_name", e->said.model);
    wd_member(l, "timestamp", time);
    wd_member(l, "kind", UPP_STR("response"));
    wd_member_or_null(l, "provider_name", e->said.provider);
    wj_put_null(&l->w, "provider_url");
    wj_put_null(&l->w, "provider_details");
    wd_member_or_null(l, "provider_response_id", e->said.response);
    wd_member_or_null(l, "finish_reason", wb_cstr(wd_pai_finish(e->said.stop)));
    put_ends(t, i, turn->run);
}

/* ---- System prompts ---------------------------------------------------------------------------------------------- */

static void put_prompt(struct wd_lowering *l, struct upp_str text, struct upp_str time)
{
    wj_write_open(&l->w, '{');
    wd_member(l, "content", text);
    wd_member_or_null(l, "timestamp", time);
    wj_put_null(&l->w, "dynamic_ref");
    wd_member(l, "part_kind", UPP_STR("system-prompt"));
    wj_write_close(&l->w, '}');
}

/* The next system message before the turn with this index; NULL: none. */
static yyjson_val *next_prompt(struct lowering *t, size_t turn)
{
    while (t->prompt && !wb_str_eq(wj_text_at(t->prompt, "role"), UPP_STR("system")))
        t->prompt = wd_retained_item(&t->prompts);
    return t->prompt && t->prompts.before <= turn ? t->prompt : NULL;
}

static size_t turn_number(const struct lowering *t)
{
    return t->turn ? (size_t)(t->turn - t->l->doc->turns.p) : t->l->doc->turns.n;
}

/* Writes the system messages before the turn, as parts of the request that begins it. */
static void put_prompts(struct lowering *t, struct upp_str time)
{
    yyjson_val *m, *part;
    size_t i, n;
    while ((m = next_prompt(t, turn_number(t)))) {
        struct upp_str own = wj_text_at(yyjson_obj_get(yyjson_obj_get(m, "metadata"), "pydantic_ai"), "timestamp");
        yyjson_arr_foreach(yyjson_obj_get(m, "parts"), i, n, part)
        {
            struct upp_str text = wj_text_at(part, "text");
            if (text.p && wb_str_eq(wj_text_at(part, "type"), UPP_STR("text")))
                put_prompt(t->l, text, wb_time_is_pydantic(own) ? own : time);
        }
        if (!t->system.p && !t->l->view.p && !t->l->pure && !wb_str_starts(wj_text_at(m, "id"), UPP_STR("system-")))
            t->system = wj_text_at(m, "id");
        t->prompt = wd_retained_item(&t->prompts);
    }
}

static void begin_request(struct lowering *t)
{
    wj_write_open(&t->l->w, '{');
    wj_put_open(&t->l->w, "parts", '[');
}

static void end_request(struct lowering *t, struct upp_str time)
{
    wj_write_close(&t->l->w, ']');
    wd_member_or_null(t->l, "timestamp", time);
    wj_put_null(&t->l->w, "instructions");
    wd_member(t->l, "kind", UPP_STR("request"));
    put_ends(t, WD_THREAD, (struct upp_str){0});
    wj_write_close(&t->l->w, '}');
    t->system = (struct upp_str){0};
}

/* Writes system messages as a request of their own: before a turn that does not begin with a request, or at the end. */
static void put_prompts_alone(struct lowering *t)
{
    const struct wm_doc *d = t->l->doc;
    if (!next_prompt(t, turn_number(t)))
        return;
    uint32_t at = t->turn ? t->turn->first : (uint32_t)d->entries.n - 1;
    struct upp_str time = d->entries.n ? time_of(t->l, at) : wd_pai_time_dumped(t->l, d->created, t->l->now_ms);
    begin_request(t);
    put_prompts(t, time);
    end_request(t, time);
}

static void put_request(struct lowering *t, uint32_t first, uint32_t n, struct upp_str run)
{
    struct wd_lowering *l = t->l;
    struct upp_str time = time_of(l, first);
    struct wd_pai_out o = {.l = l, .style = WD_PAI_PYDANTIC, .time = time};
    wj_put_open(&l->w, "parts", '[');
    if (first == t->turn->first)
        put_prompts(t, time);
    for (uint32_t i = first; i < first + n; i++)
        wd_pai_put_request(&o, i, &wd_entry_at(l, i)->e.message);
    wj_write_close(&l->w, ']');
    wd_member(l, "timestamp", time);
    wj_put_null(&l->w, "instructions");
    wd_member(l, "kind", UPP_STR("request"));
    put_ends(t, first, run);
    t->system = (struct upp_str){0};
}

static bool is_request(const struct wm_doc_entry *e)
{
    return e->e.message.role == UPP_ROLE_USER || e->e.message.role == UPP_ROLE_TOOL;
}

/* Results that are written in the response: a request of only them would be empty. */
static bool is_in_answer(struct wd_lowering *l, uint32_t i)
{
    const struct wm_doc_entry *e = wd_entry_at(l, i);
    size_t n = 0;
    if (e->e.kind != WM_ENTRY_MESSAGE || e->e.message.role != UPP_ROLE_TOOL || !e->e.message.n_parts)
        return false;
    while (n < e->e.message.n_parts && wd_pai_is_builtin(l, &e->e.message.parts[n]))
        n++;
    return n == e->e.message.n_parts;
}

/* How many entries are one message if nothing is known from reading: consecutive prompts of a user, or a response with
 * its results of provider-executed calls. */
static uint32_t natural(struct wd_lowering *l, uint32_t i, uint32_t end, bool user)
{
    uint32_t n = 1;
    if (i + 1 < end && !is_request(wd_entry_at(l, i)) && is_in_answer(l, i + 1))
        return 2;
    while (user && i + n < end && is_request(wd_entry_at(l, i + n)))
        n++;
    return n;
}

static void put_message(struct lowering *t, uint32_t i, uint32_t n, const struct wm_doc_turn *turn)
{
    struct wd_lowering *l = t->l;
    const struct wm_doc_entry *e = wd_entry_at(l, i);
    if (e->e.kind == WM_ENTRY_EVENT || e->e.kind == WM_ENTRY_TURN || e->e.audience != WM_AUDIENCE_ALL) {
        if (e->e.kind == WM_ENTRY_EVENT)
            wd_lose(l, i, "a system event", "there are none in these messages");
        return;
    }
    if (wd_is_canonical(l, i, "message") || is_in_answer(l, i))
        return;
    wd_open(l, i, "message");
    wj_write_open(&l->w, '{');
    if (is_request(e))
        put_request(t, i, n, turn->run);
    else
        put_response(t, i, turn);
    wj_write_close(&l->w, '}');
    wd_close(l);
}

/* In compact JSON this is always a member: inside a string the quotes would be escaped. */
static bool retains_prompt(const struct wm_residue *r)
{
    for (; r; r = r->next)
        if ((wb_str_eq(r->dialect, UPP_STR("pydantic")) &&
             wb_str_find(r->json, UPP_STR("\"part_kind\":\"system-prompt\""), 0) != SIZE_MAX) ||
            (wb_str_eq(r->dialect, UPP_STR("ui")) &&
             wb_str_find(r->json, UPP_STR("\"role\":\"system\""), 0) != SIZE_MAX))
            return true;
    return false;
}

/* Will the messages have prompts with which they were read? */
static bool has_own_prompt(const struct wm_doc *doc)
{
    bool has = retains_prompt(doc->residue);
    for (size_t i = 0; !has && i < doc->entries.n; i++)
        has = retains_prompt(doc->entries.p[i].residue);
    return has;
}

/* The viewing agent's own prompt comes first, if it is known and the messages have none (TP-37). */
static void put_system(struct lowering *t)
{
    struct wd_lowering *l = t->l;
    if (t->view == WM_NO_AGENT || l->no_system || has_own_prompt(l->doc))
        return;
    const struct wm_doc_agent *agent = &l->doc->agents.p[t->view];
    struct upp_str prompt = agent->prompt_now.n ? agent->prompt_now : agent->prompt;
    if (!prompt.n)
        return;
    struct upp_str time = l->doc->entries.n ? time_of(l, 0) : wd_pai_time_dumped(l, l->doc->created, l->now_ms);
    begin_request(t);
    put_prompt(l, prompt, time);
    end_request(t, time);
}

/* Says which agents there are, as far as they fit. */
static int no_agent(const struct wd_lowering *l, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(4096);
    struct wb_guess guess = {0};
    for (size_t i = 0; i < l->doc->agents.n; i++) {
        struct upp_str name = l->doc->agents.p[i].name;
        wb_guess(&guess, l->view, name);
        if (all.n + name.n < LISTED)
            wb_buf_addf(&all, "%s %.*s",
                        all.n                  ? ","
                        : l->doc->agents.n > 1 ? "; there are:"
                                               : "; there is:",
                        UPP_FMT(name));
    }
    return upp_fail(err, UPP_ENOTFOUND, "the thread has no agent '%.*s'%.*s%s", UPP_FMT(l->view),
                    UPP_FMT(wb_buf_str(&all)), wb_guessed(&guess));
}

int wd_pydantic_lower(struct wd_lowering *l, struct upp_err *err)
{
    struct lowering t = {.l = l, .view = l->view.p ? wm_doc_agent_find(l->doc, l->view) : WM_NO_AGENT};
    if (l->view.p && t.view == WM_NO_AGENT)
        return no_agent(l, err);
    wd_implied(l, WD_IMPLIED_ID | WD_IMPLIED_THREAD | WD_IMPLIED_MADE | WD_IMPLIED_AGENTS | WD_IMPLIED_TURNS |
                      WD_IMPLIED_IDS);
    wd_open(l, WD_THREAD, "list");
    wj_write_open(&l->w, '[');
    put_system(&t);
    if (!l->no_system)
        t.prompts = wd_retained_items(wd_retained(l, "ui", "list", WD_THREAD));
    t.prompt = wd_retained_item(&t.prompts);
    for (size_t k = 0; k < l->doc->turns.n && !l->w.failed; k++) {
        const struct wm_doc_turn *turn = &l->doc->turns.p[k];
        uint32_t end = turn->first + turn->n;
        t.turn = turn;
        if (turn->n && !is_request(wd_entry_at(l, turn->first)))
            put_prompts_alone(&t);
        for (uint32_t i = turn->first; i < end;) {
            uint32_t n = wd_span(l, i, "message", natural(l, i, end, turn->agent == WM_NO_AGENT));
            n = WB_MAX(WB_MIN(n, end - i), 1);
            put_message(&t, i, n, turn);
            i += n;
        }
    }
    t.turn = NULL;
    put_prompts_alone(&t);
    wj_write_close(&l->w, ']');
    wd_close(l);
    return wb_arena_check(&l->keep, err);
}
