/* dialects/assistants_doc_lower.c — the model as a thread of the Assistants API.
 *
 * What an entry says is cut into pieces: texts and images that stand together are a message, calls that stand together
 * are a step, with the results beside the calls. A step names the message behind which it stands.
 */
#include <endian.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/iso8601.h"
#include "base/uuid.h"
#include "dialects/answers.h"
#include "dialects/assistants_doc.h"
#include "json/read.h"
#include "json/value.h"

enum {
    PIECES = 1 << 26, /* of a document */
};

struct piece {
    uint32_t                  entry, from, n; /* which parts of the entry */
    bool                      calls;
    bool                      more; /* the entry has had one of its kind */
    const struct wm_doc_turn *turn;
    struct upp_str            id, run; /* run: no text: none */
    struct upp_str            after;   /* of calls: the message before them; no text: none */
};

struct lowering {
    struct wd_lowering *l;
    WB_VEC(struct piece) pieces;
    bool fine; /* a time was not a whole second */
    bool list; /* it is one of messages alone: of no thread that the model has */
};

/* ---- What a turn knows --------------------------------------------------------------------------------------------
 */

static struct upp_str said_model(const struct lowering *t, const struct wm_doc_turn *turn)
{
    for (uint32_t i = turn->first; i < turn->first + turn->n; i++)
        if (wd_entry_at(t->l, i)->said.model.p)
            return wd_entry_at(t->l, i)->said.model;
    return (struct upp_str){0};
}

/* Usage where the turn or what was said in it has one. */
static bool usage_of(const struct lowering *t, const struct wm_doc_turn *turn, struct upp_usage *ret)
{
    bool has = turn->has_usage;
    *ret     = turn->usage;
    for (uint32_t i = turn->first; !turn->has_usage && i < turn->first + turn->n; i++) {
        const struct wm_said *s = &wd_entry_at(t->l, i)->said;
        has |= s->has_usage;
        ret->input += s->usage.input;
        ret->output += s->usage.output;
    }
    return has;
}

/* An id that follows from a place: two numbers in 32 hex digits. */
static struct upp_str made_id(struct wd_lowering *l, struct upp_str prefix, uint64_t high, uint64_t low)
{
    struct wb_uuid bits;
    char           text[WB_UUID_HEX + 1];
    high = htobe64(high);
    low  = htobe64(low);
    memcpy(bits.b, &high, sizeof high);
    memcpy(bits.b + sizeof high, &low, sizeof low);
    return wb_arena_join(&l->keep, (struct upp_str[]){prefix, wb_uuid_hex(bits, text)}, 2);
}

/* The run of a turn; no text: nothing is known that only a run could say. */
static struct upp_str run_of(const struct lowering *t, const struct wm_doc_turn *turn)
{
    struct upp_usage usage;
    if (turn->agent == WM_NO_AGENT)
        return (struct upp_str){0};
    if (turn->run.p)
        return turn->run;
    if (!usage_of(t, turn, &usage) && !said_model(t, turn).p)
        return (struct upp_str){0};
    return made_id(t->l, UPP_STR("run_"), 0, turn->first + 1);
}

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

static bool is_content(const struct upp_part *p)
{
    return p->kind == UPP_PART_TEXT || (p->kind == UPP_PART_IMAGE && p->media && p->media->source != UPP_SOURCE_TEXT);
}

static void add_piece(struct lowering *t, struct piece p, struct upp_str *last)
{
    struct wd_lowering        *l = t->l;
    const struct wm_doc_entry *e = wd_entry_at(l, p.entry);
    if (e->id.p && !p.more && !p.calls)
        p.id = e->id;
    else
        p.id = made_id(l, p.calls ? UPP_STR("step_") : UPP_STR("msg_"), p.entry + 1, p.from);
    if (p.calls)
        p.after = *last;
    else
        *last = p.id;
    if (!wb_vec_push(&t->pieces, p, (size_t)PIECES))
        wj_writer_fail(&l->w, upp_fail(l->w.err, UPP_ENOMEM, "no memory for %zu messages", t->pieces.n));
}

static void lose_part(struct lowering *t, uint32_t i, const struct upp_part *p)
{
    if (p->kind == UPP_PART_REASONING)
        wd_lose(t->l, i, "what was thought", "messages say only what was said");
    else if (p->media)
        wd_lose(t->l, i, "a file", "only images are shown");
}

static void cut_entry(struct lowering *t, const struct wm_doc_turn *turn, struct upp_str run, uint32_t i,
                      struct upp_str *last)
{
    const struct upp_message *m      = &wd_entry_at(t->l, i)->e.message;
    bool                      had[2] = {false, false};
    for (uint32_t k = 0; k < m->n_parts;) {
        bool calls = m->parts[k].kind == UPP_PART_CALL;
        if (!calls && !is_content(&m->parts[k])) {
            lose_part(t, i, &m->parts[k++]);
            continue;
        }
        struct piece p   = {.entry = i, .from = k, .calls = calls, .more = had[calls], .turn = turn, .run = run};
        uint32_t     end = k;
        for (; k < m->n_parts; k++)
            if (calls ? m->parts[k].kind == UPP_PART_CALL : is_content(&m->parts[k]))
                end = k + 1;
            else if (m->parts[k].kind == UPP_PART_CALL || is_content(&m->parts[k]))
                break;
            else
                lose_part(t, i, &m->parts[k]);
        p.n        = end - p.from;
        had[calls] = true;
        add_piece(t, p, last);
    }
}

static void lose_of_entry(struct lowering *t, uint32_t i)
{
    const struct wm_doc_entry *e = wd_entry_at(t->l, i);
    for (size_t k = 0; k < e->e.message.n_parts; k++)
        if (e->e.message.parts[k].metadata.n ||
            (e->e.message.parts[k].cut && e->e.message.parts[k].kind == UPP_PART_CALL)) {
            wd_lose(t->l, i, "that calls were cut, and what providers said of parts", "there is no member for it");
            break;
        }
    if (e->e.message.metadata.n || e->said.response.p || e->said.stop || e->said.provider.p)
        wd_lose(t->l, i, "what providers said of a message", "messages have no member for it");
}

static void cut_all(struct lowering *t)
{
    struct upp_str last = {0};
    for (size_t k = 0; k < t->l->doc->turns.n; k++) {
        const struct wm_doc_turn *turn = &t->l->doc->turns.p[k];
        struct upp_str            run  = run_of(t, turn);
        for (uint32_t i = turn->first; i < turn->first + turn->n && !t->l->w.failed; i++) {
            const struct wm_doc_entry *e = wd_entry_at(t->l, i);
            if (!wm_is_shown(&e->e))
                continue;
            if (e->e.kind == WM_ENTRY_EVENT)
                wd_lose(t->l, i, "an event", "there are only messages and steps");
            else {
                cut_entry(t, turn, run, i, &last);
                lose_of_entry(t, i);
            }
        }
    }
}

/* ---- Small things ------------------------------------------------------------------------------------------------ */

static void seconds(struct lowering *t, const char *name, int64_t ms)
{
    t->fine |= ms % 1000 != 0;
    wd_name(t->l, name);
    wj_write_i64(&t->l->w, ms / 1000);
}

static void null(struct lowering *t, const char *name)
{
    wd_name(t->l, name);
    wj_write_null(&t->l->w);
}

static void nulls(struct lowering *t, const char *const *names)
{
    for (; *names; names++)
        null(t, *names);
}

static const struct wm_doc_agent *agent_of(const struct lowering *t, const struct piece *p)
{
    uint32_t agent = wd_entry_at(t->l, p->entry)->agent;
    if (agent == WM_NO_AGENT && wd_entry_at(t->l, p->entry)->e.message.role != UPP_ROLE_USER)
        agent = p->turn->agent;
    return agent == WM_NO_AGENT ? NULL : &t->l->doc->agents.p[agent];
}

static struct upp_str thread_id(const struct lowering *t)
{
    static const struct upp_str made = UPP_STR_INIT("thread_00000000000000000000000000000001");
    if (t->list)
        return (struct upp_str){0};
    return t->l->doc->id.p ? t->l->doc->id : made;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

static void put_image(struct lowering *t, uint32_t entry, const struct upp_media *m)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(WD_DOC_BYTES);
    struct wd_lowering                   *l   = t->l;
    wd_name(l, "image_url");
    wj_write_open(&l->w, '{');
    if (m->source != UPP_SOURCE_URL) {
        struct upp_str mime = wb_str_starts(m->mime, UPP_STR("image/")) ? m->mime : UPP_STR("image/png");
        wb_buf_add(&url, UPP_STR("data:"));
        wb_buf_add(&url, mime);
        wb_buf_add(&url, UPP_STR(";base64,"));
        wb_buf_add(&url, m->data);
        if (url.failed)
            wj_writer_fail(&l->w, wb_buf_check(&url, l->w.err));
    } else if (m->mime.p || m->title.p)
        wd_lose(l, entry, "title and media type of an image", "an image has an address alone");
    wd_member(l, "url", m->source == UPP_SOURCE_URL ? m->data : wb_buf_str(&url));
    wj_write_close(&l->w, '}');
}

static void put_content(struct lowering *t, const struct piece *p)
{
    struct wd_lowering       *l = t->l;
    const struct upp_message *m = &wd_entry_at(l, p->entry)->e.message;
    wd_name(l, "content");
    wj_write_open(&l->w, '[');
    for (uint32_t k = p->from; k < p->from + p->n && !l->w.failed; k++) {
        const struct upp_part *part = &m->parts[k];
        if (!is_content(part))
            continue;
        wj_write_open(&l->w, '{');
        wd_member(l, "type", part->media ? UPP_STR("image_url") : UPP_STR("text"));
        if (part->media)
            put_image(t, p->entry, part->media);
        else {
            wd_name(l, "text");
            wj_write_open(&l->w, '{');
            wd_member(l, "value", part->text.p ? part->text : UPP_STR(""));
            wd_name(l, "annotations");
            wj_write_raw(&l->w, "[]", 2);
            wj_write_close(&l->w, '}');
        }
        wj_write_close(&l->w, '}');
    }
    wj_write_close(&l->w, ']');
}

/* Whose words they are where role and assistant_id do not say it, and names. */
static void put_who(struct lowering *t, const struct piece *p, bool user)
{
    struct wd_lowering        *l     = t->l;
    const struct wm_doc_agent *agent = agent_of(t, p);
    struct upp_str             name  = agent ? agent->name : wd_entry_at(l, p->entry)->e.who;
    bool                       named = name.n && !(agent && wb_str_eq(agent->name, agent->id));
    wd_name(l, "metadata");
    wj_write_open(&l->w, '{');
    if (named || (user && agent)) {
        wd_name(l, "weft");
        wj_write_open(&l->w, '{');
        if (user && agent)
            wd_member(l, "agent", agent->id);
        if (named)
            wd_member(l, "name", name);
        wj_write_close(&l->w, '}');
    }
    wj_write_close(&l->w, '}');
}

static bool is_cut(const struct upp_message *m, const struct piece *p)
{
    bool cut = m->interrupted;
    for (uint32_t k = p->from; k < p->from + p->n; k++)
        cut |= m->parts[k].cut;
    return cut;
}

static void put_message(struct lowering *t, const struct piece *p)
{
    struct wd_lowering        *l    = t->l;
    const struct upp_message  *m    = &wd_entry_at(l, p->entry)->e.message;
    bool                       user = m->role == UPP_ROLE_USER, cut = is_cut(m, p);
    const struct wm_doc_agent *agent = user ? NULL : agent_of(t, p);
    wd_open(l, p->entry, p->more ? "message/more" : "message");
    wj_write_open(&l->w, '{');
    wd_member(l, "id", p->id);
    wd_member(l, "object", UPP_STR("thread.message"));
    seconds(t, "created_at", m->time_ms);
    wd_member_or_null(l, "thread_id", thread_id(t));
    wd_member(l, "role", user ? UPP_STR("user") : UPP_STR("assistant"));
    wd_member(l, "status", cut ? UPP_STR("incomplete") : UPP_STR("completed"));
    wd_name(l, "incomplete_details");
    if (cut) {
        wj_write_open(&l->w, '{');
        wd_member(l, "reason", UPP_STR("run_cancelled"));
        wj_write_close(&l->w, '}');
    } else
        wj_write_null(&l->w);
    if (cut)
        null(t, "completed_at");
    else
        seconds(t, "completed_at", m->time_ms);
    if (cut)
        seconds(t, "incomplete_at", m->time_ms);
    else
        null(t, "incomplete_at");
    put_content(t, p);
    wd_member_or_null(l, "assistant_id", agent ? agent->id : (struct upp_str){0});
    wd_member_or_null(l, "run_id", p->run);
    wd_name(l, "attachments");
    wj_write_raw(&l->w, "[]", 2);
    put_who(t, p, user);
    wj_write_close(&l->w, '}');
    wd_close(l);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static void lose_results(struct wd_lowering *l)
{
    for (uint32_t i = 0; i < l->doc->entries.n; i++)
        if (wm_is_shown(&wd_entry_at(l, i)->e))
            wd_lose_answers(l, i);
}

static struct upp_str call_id(struct lowering *t, const struct piece *p, uint32_t k)
{
    const struct upp_part *call = &wd_entry_at(t->l, p->entry)->e.message.parts[k];
    return call->id.p ? call->id : made_id(t->l, UPP_STR("call_"), p->entry + 1, k);
}

/* A string's text, or the JSON of another value: *json. Good until the next one is read. */
static struct upp_str output_of(struct wd_lowering *l, const struct upp_part *result, bool *json)
{
    *json = false;
    if (!result)
        return (struct upp_str){0};
    struct upp_str text = result->text.n ? result->text : UPP_STR("null");
    if (wd_is_compact(text) && (text.p[0] != '"' || !memchr(text.p, '\\', text.n))) {
        *json = text.p[0] != '"';
        return *json ? text : wb_str_sub(text, 1, text.n - 2);
    }
    wb_arena_reset(&l->scratch);
    yyjson_val *v = wd_scratch_read(l, text);
    *json         = v && !yyjson_is_str(v);
    return v && yyjson_is_str(v) ? wj_text(v) : text;
}

static void put_call(struct lowering *t, const struct piece *p, uint32_t k)
{
    struct wd_lowering    *l    = t->l;
    const struct upp_part *call = &wd_entry_at(l, p->entry)->e.message.parts[k];
    bool                   json;
    wj_write_open(&l->w, '{');
    wd_member(l, "id", call_id(t, p, k));
    wd_member(l, "type", UPP_STR("function"));
    wd_name(l, "function");
    wj_write_open(&l->w, '{');
    wd_member(l, "name", call->name.p ? call->name : UPP_STR(""));
    wd_member(l, "arguments", call->text.p ? call->text : UPP_STR(""));
    wd_member_or_null(l, "output", output_of(l, wd_answer_of(l->doc, p->entry, call->id), &json));
    wj_write_close(&l->w, '}');
    wj_write_close(&l->w, '}');
}

/* The calls whose results are errors, or the JSON of what is no string. */
static void put_named(struct lowering *t, const struct piece *p, const char *name, bool errors)
{
    struct wd_lowering *l   = t->l;
    bool                any = false, said;
    for (uint32_t k = p->from; k < p->from + p->n; k++) {
        const struct upp_part *call   = &wd_entry_at(l, p->entry)->e.message.parts[k];
        const struct upp_part *result = call->kind == UPP_PART_CALL ? wd_answer_of(l->doc, p->entry, call->id) : NULL;
        if (errors)
            said = result && result->is_error;
        else
            (void)output_of(l, result, &said);
        if (!said)
            continue;
        if (!any) {
            wd_name(l, name);
            wj_write_open(&l->w, '[');
        }
        any = true;
        wj_write_str(&l->w, call_id(t, p, k));
    }
    if (any)
        wj_write_close(&l->w, ']');
}

static bool is_open(const struct lowering *t, const struct piece *p)
{
    for (uint32_t k = p->from; k < p->from + p->n; k++) {
        const struct upp_part *call = &wd_entry_at(t->l, p->entry)->e.message.parts[k];
        if (call->kind == UPP_PART_CALL && !wd_answer_of(t->l->doc, p->entry, call->id))
            return true;
    }
    return false;
}

static void put_step(struct lowering *t, const struct piece *p)
{
    static const char *const   none[] = {"expired_at", "failed_at", "last_error", NULL};
    struct wd_lowering        *l      = t->l;
    const struct upp_message  *m      = &wd_entry_at(l, p->entry)->e.message;
    const struct wm_doc_agent *agent  = agent_of(t, p);
    bool                       open   = is_open(t, p);
    wd_open(l, p->entry, p->more ? "step/more" : "step");
    wj_write_open(&l->w, '{');
    wd_member(l, "id", p->id);
    wd_member(l, "object", UPP_STR("thread.run.step"));
    seconds(t, "created_at", m->time_ms);
    wd_member_or_null(l, "run_id", p->run);
    wd_member_or_null(l, "assistant_id", agent ? agent->id : (struct upp_str){0});
    wd_member_or_null(l, "thread_id", thread_id(t));
    wd_member(l, "type", UPP_STR("tool_calls"));
    wd_member(l, "status", open ? UPP_STR("in_progress") : UPP_STR("completed"));
    null(t, "cancelled_at");
    if (open)
        null(t, "completed_at");
    else
        seconds(t, "completed_at", m->time_ms);
    nulls(t, none);
    wd_name(l, "step_details");
    wj_write_open(&l->w, '{');
    wd_member(l, "type", UPP_STR("tool_calls"));
    wd_name(l, "tool_calls");
    wj_write_open(&l->w, '[');
    for (uint32_t k = p->from; k < p->from + p->n && !l->w.failed; k++)
        if (m->parts[k].kind == UPP_PART_CALL)
            put_call(t, p, k);
    wj_write_close(&l->w, ']');
    wj_write_close(&l->w, '}');
    wd_name(l, "metadata");
    wj_write_open(&l->w, '{');
    wd_name(l, "weft");
    wj_write_open(&l->w, '{');
    if (agent && !wb_str_eq(agent->name, agent->id))
        wd_member(l, "name", agent->name);
    wd_member_or_null(l, "after", p->after);
    put_named(t, p, "errors", true);
    put_named(t, p, "json", false);
    wj_write_close(&l->w, '}');
    wj_write_close(&l->w, '}');
    null(t, "usage");
    wj_write_close(&l->w, '}');
    wd_close(l);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static void put_usage(struct lowering *t, const struct wm_doc_turn *turn)
{
    struct wd_lowering *l = t->l;
    struct upp_usage    u;
    wd_name(l, "usage");
    if (!usage_of(t, turn, &u)) {
        wj_write_null(&l->w);
        return;
    }
    if (u.cache_read || u.cache_write || turn->reasoning)
        wd_lose(l, turn->first, "tokens of caches and of reasoning", "a run counts two kinds");
    wj_write_open(&l->w, '{');
    wd_member_u64(l, "prompt_tokens", u.input);
    wd_member_u64(l, "completion_tokens", u.output);
    wd_member_u64(l, "total_tokens", u.input + u.output);
    wj_write_close(&l->w, '}');
}

static void put_run(struct lowering *t, const struct wm_doc_turn *turn, struct upp_str id)
{
    static const char *const none[]   = {"expires_at", "cancelled_at", "failed_at", NULL};
    static const char *const after[]  = {"required_action", "last_error", "incomplete_details", NULL};
    static const char *const limits[] = {"temperature", "top_p", "max_prompt_tokens", "max_completion_tokens", NULL};
    struct wd_lowering      *l        = t->l;
    int64_t                  first    = wd_entry_at(l, turn->first)->e.message.time_ms;
    wd_open(l, turn->first, "run");
    wj_write_open(&l->w, '{');
    wd_member(l, "id", id);
    wd_member(l, "object", UPP_STR("thread.run"));
    seconds(t, "created_at", first);
    wd_member(l, "assistant_id", l->doc->agents.p[turn->agent].id);
    wd_member_or_null(l, "thread_id", thread_id(t));
    wd_member(l, "status", turn->partial ? UPP_STR("incomplete") : UPP_STR("completed"));
    seconds(t, "started_at", first);
    nulls(t, none);
    seconds(t, "completed_at", wd_entry_at(l, turn->first + turn->n - 1)->e.message.time_ms);
    nulls(t, after);
    wd_member_or_null(l, "model", said_model(t, turn));
    wd_member(l, "instructions", UPP_STR(""));
    wd_member_json(l, "tools", UPP_STR("[]"));
    wd_member_json(l, "metadata", UPP_STR("{}"));
    put_usage(t, turn);
    nulls(t, limits);
    wd_member_json(l, "truncation_strategy", UPP_STR("{\"type\":\"auto\",\"last_messages\":null}"));
    wd_member(l, "response_format", UPP_STR("auto"));
    wd_member(l, "tool_choice", UPP_STR("auto"));
    wd_member_json(l, "parallel_tool_calls", UPP_STR("true"));
    wj_write_close(&l->w, '}');
    wd_close(l);
}

/* A turn that goes on with the run of the one before it has none of its own. */
static void put_run_of(struct lowering *t, size_t i)
{
    const struct wm_doc_turn *turn = &t->l->doc->turns.p[i], *before = i ? turn - 1 : NULL;
    struct upp_str            id = run_of(t, turn);
    if (!id.p || !turn->n ||
        (before && turn->run.p && before->agent != WM_NO_AGENT && wb_str_eq(before->run, turn->run)))
        return;
    put_run(t, turn, id);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static void put_item(struct lowering *t, enum wd_asst_which which, size_t i)
{
    if (which == WD_ASST_RUNS)
        put_run_of(t, i);
    else if (t->pieces.p[i].calls == (which == WD_ASST_STEPS)) {
        if (which == WD_ASST_STEPS)
            put_step(t, &t->pieces.p[i]);
        else
            put_message(t, &t->pieces.p[i]);
    }
}

static void put_items(struct lowering *t, enum wd_asst_which which, bool back)
{
    size_t n = which == WD_ASST_RUNS ? t->l->doc->turns.n : t->pieces.n;
    wj_write_open(&t->l->w, '[');
    for (size_t i = 0; i < n && !t->l->w.failed; i++)
        put_item(t, which, back ? n - 1 - i : i);
    wj_write_close(&t->l->w, ']');
}

static struct upp_str last_message(const struct lowering *t, bool first)
{
    for (size_t i = 0; i < t->pieces.n; i++) {
        const struct piece *p = &t->pieces.p[first ? i : t->pieces.n - 1 - i];
        if (!p->calls)
            return p->id;
    }
    return (struct upp_str){0};
}

static void put_page(struct lowering *t, enum wd_asst_which which, bool back)
{
    struct wd_lowering *l = t->l;
    wj_write_open(&l->w, '{');
    wd_member(l, "object", UPP_STR("list"));
    wd_name(l, "data");
    put_items(t, which, back);
    wd_member_or_null(l, "first_id", last_message(t, !back));
    wd_member_or_null(l, "last_id", last_message(t, back));
    wd_name(l, "has_more");
    wj_write_bool(&l->w, false);
    wj_write_close(&l->w, '}');
}

/* How a list was when it was read; WD_ASST_FORMS: nobody knows. */
static enum wd_asst_form form_of(struct lowering *t, enum wd_asst_which which)
{
    enum wd_asst_form form = WD_ASST_SIMPLE;
    while (form < WD_ASST_FORMS && !(t->l->doc->entries.n && wd_span(t->l, 0, wd_asst_slots[which][form], 0)))
        form++;
    return form;
}

static void put_list(struct lowering *t, enum wd_asst_which which, enum wd_asst_form form)
{
    enum wd_asst_which items = which == WD_ASST_ROOT ? WD_ASST_MESSAGES : which;
    bool               back = form == WD_ASST_BACK || form == WD_ASST_PAGE_BACK, known = form != WD_ASST_FORMS;
    if (known)
        wd_open(t->l, 0, wd_asst_slots[which][form]);
    if (form == WD_ASST_PAGE || form == WD_ASST_PAGE_BACK)
        put_page(t, items, back);
    else
        put_items(t, items, back);
    if (known)
        wd_close(t->l);
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static void put_created(struct lowering *t)
{
    const struct wm_doc *d  = t->l->doc;
    int64_t              ms = d->entries.n ? d->entries.p[0].e.message.time_ms : t->l->now_ms;
    struct wb_time       time;
    if (d->created.p && wb_time_parse(d->created, &time, NULL) >= 0)
        ms = wb_time_ms(&time);
    seconds(t, "created_at", ms);
}

static void put_thread(struct lowering *t)
{
    struct wd_lowering *l = t->l;
    wd_unsaid(l, WD_UNSAID_THREAD | WD_UNSAID_MADE | WD_UNSAID_AGENTS | WD_UNSAID_TURNS | WD_UNSAID_LATER_IDS |
                     WD_UNSAID_LATER_TIMES);
    wd_open(l, WD_THREAD, "thread");
    wj_write_open(&l->w, '{');
    wd_member_or_null(l, "id", thread_id(t));
    wd_member(l, "object", UPP_STR("thread"));
    put_created(t);
    wd_member_json(l, "metadata", l->doc->metadata.n ? l->doc->metadata : UPP_STR("{}"));
    null(t, "tool_resources");
    wd_name(l, "messages");
    put_list(t, WD_ASST_MESSAGES, form_of(t, WD_ASST_MESSAGES));
    wd_name(l, "runs");
    put_list(t, WD_ASST_RUNS, form_of(t, WD_ASST_RUNS));
    wd_name(l, "steps");
    put_list(t, WD_ASST_STEPS, form_of(t, WD_ASST_STEPS));
    wj_write_close(&l->w, '}');
    wd_close(l);
}

static void put_messages(struct lowering *t, enum wd_asst_form form)
{
    struct wd_lowering *l = t->l;
    put_list(t, WD_ASST_ROOT, form);
    for (size_t i = 0; i < t->pieces.n; i++)
        if (t->pieces.p[i].calls)
            wd_lose(l, t->pieces.p[i].entry, "calls and results", "it is a list of messages alone");
}

int wd_asst_lower(struct wd_lowering *l, struct upp_err *err)
{
    struct lowering   t    = {.l = l};
    enum wd_asst_form form = form_of(&t, WD_ASST_ROOT);
    t.list                 = form != WD_ASST_FORMS;
    cut_all(&t);
    lose_results(l);
    if (t.list)
        put_messages(&t, form);
    else
        put_thread(&t);
    if (t.fine)
        wd_lose(l, WD_THREAD, "times finer than a second", "times are whole seconds");
    wb_vec_done(&t.pieces);
    return wb_arena_check(&l->keep, err);
}
