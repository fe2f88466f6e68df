/* dialects/assistants/write.c — writes the messages, steps and runs of a thread of the Assistants API. */
#include "dialects/core/document.h"
#include "dialects/assistants/lower.h"
#include "dialects/core/data_url.h"
#include "model/event.h"
#include "json/value.h"
#include "model/file_url.h"

/* ---- Helpers ----------------------------------------------------------------------------------------------------- */

void wd_asst_seconds(struct wd_asst_out *t, const char *name, int64_t ms)
{
    t->subsecond |= ms % 1000 != 0;
    wj_put_i64(&t->l->w, name, ms / 1000);
}

void wd_asst_null(struct wd_asst_out *t, const char *name)
{
    wj_put_null(&t->l->w, name);
}

static void nulls(struct wd_asst_out *t, const char *const *names)
{
    for (; *names; names++)
        wd_asst_null(t, *names);
}

static const struct wm_doc_agent *agent_of(const struct wd_asst_out *t, const struct wd_asst_piece *p)
{
    uint32_t agent = wd_entry_at(t->l, p->entry)->agent;
    if (agent == WM_NO_AGENT && wd_entry_at(t->l, p->entry)->e.message.role != UPP_ROLE_USER)
        agent = p->turn->agent;
    return agent == WM_NO_AGENT ? NULL : &t->l->doc->agents.p[agent];
}

struct upp_str wd_asst_thread_id(const struct wd_asst_out *t)
{
    static const struct upp_str made = UPP_STR_INIT("thread_00000000000000000000000000000001");
    if (t->list)
        return (struct upp_str){0};
    return t->l->doc->id.p ? t->l->doc->id : made;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

/* A member of the metadata of a part; NULL: none. Valid until the next scratch read. */
static yyjson_val *metadata_of(struct wd_asst_out *t, const struct upp_part *p, const char *whose, const char *name)
{
    if (!p->metadata.n)
        return NULL;
    wb_arena_reset(&t->l->scratch);
    return yyjson_obj_get(yyjson_obj_get(wd_scratch_read(t->l, p->metadata), whose), name);
}

static void put_image(struct wd_asst_out *t, uint32_t entry, const struct upp_part *p)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(WD_DOC_BYTES);
    struct wd_lowering *l = t->l;
    const struct upp_media *m = p->media;
    struct upp_str id;
    bool file = wm_part_file(p, &id);
    wd_member(l, "type", file ? UPP_STR("image_file") : UPP_STR("image_url"));
    wj_put_open(&l->w, file ? "image_file" : "image_url", '{');
    if (m->source != UPP_SOURCE_URL) {
        struct upp_str mime = wb_str_starts(m->mime, UPP_STR("image/")) ? m->mime : UPP_STR("image/png");
        int r = wd_data_url(m, mime, &url, l->w.err);
        if (r < 0)
            wj_writer_fail(&l->w, r);
    } else if (m->mime.p || m->title.p)
        wd_lose(l, entry, "title and media type of an image", "an image has an address alone");
    wd_member(l, file ? "file_id" : "url", file ? id : m->source == UPP_SOURCE_URL ? m->data : wb_buf_str(&url));
    struct upp_str detail = wj_text_of(metadata_of(t, p, "openai", "detail"));
    if (detail.p)
        wd_member(l, "detail", detail);
    wj_write_close(&l->w, '}');
}

/* Documents that are files of the store. */
static void put_attachments(struct wd_asst_out *t, const struct wd_asst_piece *p)
{
    struct wd_lowering *l = t->l;
    const struct upp_message *m = &wd_entry_at(l, p->entry)->e.message;
    struct upp_str id;
    wj_put_open(&l->w, "attachments", '[');
    for (size_t k = 0; k < m->n_parts && !p->more; k++) {
        if (!wm_is_attachment(&m->parts[k]) || !wm_part_file(&m->parts[k], &id))
            continue;
        wj_write_open(&l->w, '{');
        wd_member(l, "file_id", id);
        wj_put_value(&l->w, "tools", metadata_of(t, &m->parts[k], "assistants", "tools"));
        wj_write_close(&l->w, '}');
    }
    wj_write_close(&l->w, ']');
}

static void put_content(struct wd_asst_out *t, const struct wd_asst_piece *p)
{
    struct wd_lowering *l = t->l;
    const struct upp_message *m = &wd_entry_at(l, p->entry)->e.message;
    wj_put_open(&l->w, "content", '[');
    for (uint32_t k = p->from; k < p->from + p->n && !l->w.failed; k++) {
        const struct upp_part *part = &m->parts[k];
        if (!wd_asst_is_content(part))
            continue;
        wj_write_open(&l->w, '{');
        if (part->media)
            put_image(t, p->entry, part);
        else {
            wd_member(l, "type", UPP_STR("text"));
            wj_put_open(&l->w, "text", '{');
            wd_member(l, "value", part->text.p ? part->text : UPP_STR(""));
            wj_put_raw(&l->w, "annotations", "[]", 2);
            wj_write_close(&l->w, '}');
        }
        wj_write_close(&l->w, '}');
    }
    wj_write_close(&l->w, ']');
}

/* The agent, if role and assistant_id do not give it, and names. */
static void put_who(struct wd_asst_out *t, const struct wd_asst_piece *p, bool user)
{
    struct wd_lowering *l = t->l;
    const struct wm_doc_agent *agent = agent_of(t, p);
    struct upp_str name = agent ? agent->name : wd_entry_at(l, p->entry)->e.who;
    bool named = name.n && !(agent && wb_str_eq(agent->name, agent->id));
    wj_put_open(&l->w, "metadata", '{');
    if (named || (user && agent)) {
        wj_put_open(&l->w, "weft", '{');
        if (user && agent)
            wd_member(l, "agent", agent->id);
        if (named)
            wd_member(l, "name", name);
        wj_write_close(&l->w, '}');
    }
    wj_write_close(&l->w, '}');
}

static bool is_cut(const struct upp_message *m, const struct wd_asst_piece *p)
{
    bool cut = m->interrupted;
    for (uint32_t k = p->from; k < p->from + p->n; k++)
        cut |= m->parts[k].cut;
    return cut;
}

void wd_asst_put_message(struct wd_asst_out *t, const struct wd_asst_piece *p)
{
    struct wd_lowering *l = t->l;
    const struct upp_message *m = &wd_entry_at(l, p->entry)->e.message;
    bool user = m->role == UPP_ROLE_USER, cut = is_cut(m, p);
    const struct wm_doc_agent *agent = user ? NULL : agent_of(t, p);
    wd_open(l, p->entry, p->more ? "message/more" : "message");
    wj_write_open(&l->w, '{');
    wd_member(l, "id", p->id);
    wd_member(l, "object", UPP_STR("thread.message"));
    wd_asst_seconds(t, "created_at", m->time_ms);
    wd_member_or_null(l, "thread_id", wd_asst_thread_id(t));
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
        wd_asst_null(t, "completed_at");
    else
        wd_asst_seconds(t, "completed_at", m->time_ms);
    if (cut)
        wd_asst_seconds(t, "incomplete_at", m->time_ms);
    else
        wd_asst_null(t, "incomplete_at");
    put_content(t, p);
    wd_member_or_null(l, "assistant_id", agent ? agent->id : (struct upp_str){0});
    wd_member_or_null(l, "run_id", p->run);
    put_attachments(t, p);
    put_who(t, p, user);
    wj_write_close(&l->w, '}');
    wd_close(l);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static struct upp_str call_id(struct wd_asst_out *t, const struct wd_asst_piece *p, uint32_t k)
{
    const struct upp_part *call = &wd_entry_at(t->l, p->entry)->e.message.parts[k];
    return call->id.p ? call->id : wd_asst_derived_id(t->l, UPP_STR("call_"), p->entry + 1, k);
}

/* The text of a string; the JSON of another value, and *json. Valid until the next scratch read. */
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
    *json = v && !yyjson_is_str(v);
    return v && yyjson_is_str(v) ? wj_text(v) : text;
}

static void put_call(struct wd_asst_out *t, const struct wd_asst_piece *p, uint32_t k)
{
    struct wd_lowering *l = t->l;
    const struct upp_part *call = &wd_entry_at(l, p->entry)->e.message.parts[k];
    yyjson_val *whole = metadata_of(t, call, "assistants", "call"); /* of one of the API's own tools */
    bool json;
    if (yyjson_is_obj(whole)) {
        wj_write_value(&l->w, whole);
        return;
    }
    wj_write_open(&l->w, '{');
    wd_member(l, "id", call_id(t, p, k));
    wd_member(l, "type", UPP_STR("function"));
    wj_put_open(&l->w, "function", '{');
    wd_member(l, "name", call->name.p ? call->name : UPP_STR(""));
    wd_member(l, "arguments", call->text.p ? call->text : UPP_STR(""));
    wd_member_or_null(l, "output", output_of(l, wd_result_of(l->doc, p->entry, call->id), &json));
    wj_write_close(&l->w, '}');
    wj_write_close(&l->w, '}');
}

/* Lists the calls whose results are errors, or the JSON of a value that is not a string. */
static void put_named(struct wd_asst_out *t, const struct wd_asst_piece *p, const char *name, bool errors)
{
    struct wd_lowering *l = t->l;
    bool any = false, listed;
    for (uint32_t k = p->from; k < p->from + p->n; k++) {
        const struct upp_part *call = &wd_entry_at(l, p->entry)->e.message.parts[k];
        const struct upp_part *result = call->kind == UPP_PART_CALL ? wd_result_of(l->doc, p->entry, call->id) : NULL;
        if (errors)
            listed = result && result->is_error;
        else
            (void)output_of(l, result, &listed);
        if (!listed || yyjson_is_obj(metadata_of(t, call, "assistants", "call")))
            continue;
        if (!any)
            wj_put_open(&l->w, name, '[');
        any = true;
        wj_write_str(&l->w, call_id(t, p, k));
    }
    if (any)
        wj_write_close(&l->w, ']');
}

static bool is_open(const struct wd_asst_out *t, const struct wd_asst_piece *p)
{
    for (uint32_t k = p->from; k < p->from + p->n; k++) {
        const struct upp_part *call = &wd_entry_at(t->l, p->entry)->e.message.parts[k];
        if (call->kind == UPP_PART_CALL && !wd_result_of(t->l->doc, p->entry, call->id))
            return true;
    }
    return false;
}

void wd_asst_put_step(struct wd_asst_out *t, const struct wd_asst_piece *p)
{
    static const char *const none[] = {"expired_at", "failed_at", "last_error", NULL};
    struct wd_lowering *l = t->l;
    const struct upp_message *m = &wd_entry_at(l, p->entry)->e.message;
    const struct wm_doc_agent *agent = agent_of(t, p);
    bool open = is_open(t, p);
    wd_open(l, p->entry, p->more ? "step/more" : "step");
    wj_write_open(&l->w, '{');
    wd_member(l, "id", p->id);
    wd_member(l, "object", UPP_STR("thread.run.step"));
    wd_asst_seconds(t, "created_at", m->time_ms);
    wd_member_or_null(l, "run_id", p->run);
    wd_member_or_null(l, "assistant_id", agent ? agent->id : (struct upp_str){0});
    wd_member_or_null(l, "thread_id", wd_asst_thread_id(t));
    wd_member(l, "type", UPP_STR("tool_calls"));
    wd_member(l, "status", open ? UPP_STR("in_progress") : UPP_STR("completed"));
    wd_asst_null(t, "cancelled_at");
    if (open)
        wd_asst_null(t, "completed_at");
    else
        wd_asst_seconds(t, "completed_at", m->time_ms);
    nulls(t, none);
    wj_put_open(&l->w, "step_details", '{');
    wd_member(l, "type", UPP_STR("tool_calls"));
    wj_put_open(&l->w, "tool_calls", '[');
    for (uint32_t k = p->from; k < p->from + p->n && !l->w.failed; k++)
        if (m->parts[k].kind == UPP_PART_CALL)
            put_call(t, p, k);
    wj_write_close(&l->w, ']');
    wj_write_close(&l->w, '}');
    wj_put_open(&l->w, "metadata", '{');
    wj_put_open(&l->w, "weft", '{');
    if (agent && !wb_str_eq(agent->name, agent->id))
        wd_member(l, "name", agent->name);
    wd_member_or_null(l, "after", p->after);
    put_named(t, p, "errors", true);
    put_named(t, p, "json", false);
    wj_write_close(&l->w, '}');
    wj_write_close(&l->w, '}');
    wd_asst_null(t, "usage");
    wj_write_close(&l->w, '}');
    wd_close(l);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* After a handoff the next turn belongs to the same run. */
static bool continues_run(const struct wm_doc_turn *turn, const struct wm_doc_turn *before)
{
    return turn->run.p && before->agent != WM_NO_AGENT && wb_str_eq(before->run, turn->run);
}

static bool sum_usage(struct wd_asst_out *t, const struct wm_doc_turn *turn, struct upp_usage *ret)
{
    const struct wm_doc_turn *end = t->l->doc->turns.p + t->l->doc->turns.n;
    bool has = wd_asst_usage_of(t, turn, ret);
    for (const struct wm_doc_turn *next = turn + 1; has && next < end && continues_run(next, next - 1); next++) {
        struct upp_usage more;
        if (wd_asst_usage_of(t, next, &more))
            wm_usage_add(ret, &more);
    }
    return has;
}

static void put_usage(struct wd_asst_out *t, const struct wm_doc_turn *turn)
{
    struct wd_lowering *l = t->l;
    struct upp_usage u;
    wd_name(l, "usage");
    if (!sum_usage(t, turn, &u)) {
        wj_write_null(&l->w);
        return;
    }
    if (u.cache_read || u.cache_write || turn->usage.reasoning)
        wd_lose(l, turn->first, "tokens of caches and of reasoning", "a run counts two kinds");
    wj_write_open(&l->w, '{');
    wd_member_u64(l, "prompt_tokens", u.input);
    wd_member_u64(l, "completion_tokens", u.output);
    wd_member_u64(l, "total_tokens", u.input + u.output);
    wj_write_close(&l->w, '}');
}

static void put_run(struct wd_asst_out *t, const struct wm_doc_turn *turn, struct upp_str id)
{
    static const char *const none[] = {"expires_at", "cancelled_at", "failed_at", NULL};
    static const char *const after[] = {"required_action", "last_error", "incomplete_details", NULL};
    static const char *const limits[] = {"temperature", "top_p", "max_prompt_tokens", "max_completion_tokens", NULL};
    struct wd_lowering *l = t->l;
    int64_t first = wd_entry_at(l, turn->first)->e.message.time_ms;
    wd_open(l, turn->first, "run");
    wj_write_open(&l->w, '{');
    wd_member(l, "id", id);
    wd_member(l, "object", UPP_STR("thread.run"));
    wd_asst_seconds(t, "created_at", first);
    wd_member(l, "assistant_id", l->doc->agents.p[turn->agent].id);
    wd_member_or_null(l, "thread_id", wd_asst_thread_id(t));
    wd_member(l, "status", turn->partial ? UPP_STR("incomplete") : UPP_STR("completed"));
    wd_asst_seconds(t, "started_at", first);
    nulls(t, none);
    wd_asst_seconds(t, "completed_at", wd_entry_at(l, turn->first + turn->n - 1)->e.message.time_ms);
    nulls(t, after);
    wd_member_or_null(l, "model", wd_asst_model_of(t, turn));
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

void wd_asst_put_run(struct wd_asst_out *t, size_t i)
{
    const struct wm_doc_turn *turn = &t->l->doc->turns.p[i], *before = i ? turn - 1 : NULL;
    struct upp_str id = wd_asst_run_of(t, turn);
    bool continues = before && continues_run(turn, before);
    if (id.p && turn->n && continues)
        wd_lose(t->l, turn->first, "the model and the usage of an agent that took over", "a run has one of each");
    if (!id.p || !turn->n || continues)
        return;
    put_run(t, turn, id);
}
