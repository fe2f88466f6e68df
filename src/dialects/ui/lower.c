/* dialects/ui/lower.c — the model as UI messages of the AI SDK.
 *
 * A turn is a message. A call and its result are one part, in the position of the call.
 */
#include "base/base64.h"
#include "base/err.h"
#include "dialects/core/document.h"
#include "dialects/core/data_url.h"
#include "dialects/core/retained.h"
#include "dialects/core/usage.h"
#include "dialects/pai/pai.h"
#include "dialects/ui/doc.h"
#include "json/read.h"
#include "json/value.h"
#include "model/file_url.h"
#include "model/upp_json.h"

/* The message being written. */
struct message {
    struct wd_lowering *l;
    const struct wm_doc_turn *turn;
    uint32_t first, n;
    struct upp_str id;
    bool user;
};

static bool same(struct upp_str a, struct upp_str b)
{
    return !a.p == !b.p && wb_str_eq(a, b);
}

static struct upp_str joined(struct wd_lowering *l, struct upp_str a, struct upp_str b)
{
    return wb_arena_join(&l->keep, (struct upp_str[]){a, b}, 2);
}

static yyjson_val *read_scratch(struct wd_lowering *l, struct upp_str json)
{
    wb_arena_reset(&l->scratch);
    return wd_scratch_read(l, json);
}

/* ---- Calls and results ----------------------------------------------------------------------------------- */

static bool is_denied(struct wd_lowering *l, const struct upp_part *result)
{
    yyjson_val *outcome = wd_pai_own_at(l, result->metadata, "outcome");
    return result->is_error && outcome && yyjson_is_str(outcome) && wj_named(outcome, UPP_STR("denied"));
}

/* Arguments are JSON; arguments that came as a text (raw_args) are parsed if that gives an object. */
static void put_input(struct wd_lowering *l, uint32_t entry, const struct upp_part *p)
{
    bool raw = yyjson_is_true(wd_pai_own_at(l, p->metadata, "raw_args"));
    if (p->cut && !p->text.n)
        return;
    wd_name(l, "input");
    if (p->text.n && (!raw || p->text.p[0] == '{') && wd_is_compact(p->text)) {
        wj_write_raw(&l->w, p->text.p, p->text.n);
        return;
    }
    yyjson_val *v = p->text.n ? read_scratch(l, p->text) : NULL;
    size_t from = l->w.out->n;
    if (v && (!raw || yyjson_is_obj(v))) {
        wj_write_value(&l->w, v);
        if (!l->w.out->failed && !wb_str_eq(wb_str_sub(wb_buf_str(l->w.out), from, SIZE_MAX), p->text))
            wd_lose(l, entry, "how the arguments of a call were written", "they are a value, not its text");
    } else if (p->text.n)
        wj_write_str(&l->w, p->text);
    else
        wj_write_raw(&l->w, "{}", 2);
}

/* A string as it is, any other value as its JSON. */
static void put_error(struct wd_lowering *l, uint32_t entry, struct upp_str json)
{
    yyjson_val *v = json.n ? read_scratch(l, json) : NULL;
    bool text = v && yyjson_is_str(v);
    if (v && !text)
        wd_lose(l, entry, "that what a tool failed with is not a text", "an error is one");
    wd_member(l, "errorText", text ? wj_text(v) : json.p ? json : UPP_STR(""));
}

/* Members of metadata.pydantic_ai that the part has as members of its own: they are not written twice. */
static bool is_own_member(yyjson_val *name, bool denied)
{
    return wj_named(name, UPP_STR("builtin")) || wj_named(name, UPP_STR("approval")) ||
           (denied && wj_named(name, UPP_STR("outcome")));
}

static size_t count_other(yyjson_val *own, bool denied)
{
    yyjson_val *key, *value;
    size_t i, n, left = 0;
    yyjson_obj_foreach(own, i, n, key, value) left += !is_own_member(key, denied);
    return left;
}

static void put_other(struct wd_lowering *l, yyjson_val *own, bool denied)
{
    yyjson_val *key, *value;
    size_t i, n;
    wj_write_open(&l->w, '{');
    yyjson_obj_foreach(own, i, n, key, value)
    {
        if (is_own_member(key, denied))
            continue;
        wj_put_member(&l->w, key);
    }
    wj_write_close(&l->w, '}');
}

/* Provider metadata of a call or its result. */
static void put_tool_metadata(struct wd_lowering *l, const char *name, struct upp_str metadata, bool denied)
{
    yyjson_val *v = metadata.n ? read_scratch(l, metadata) : NULL, *key, *value;
    yyjson_val *own = yyjson_obj_get(v, "pydantic_ai");
    size_t i, n, left = yyjson_is_obj(own) ? count_other(own, denied) : 0;
    if (!yyjson_is_obj(own) || left == unsafe_yyjson_get_len(own)) {
        wd_member_json(l, name, metadata);
        return;
    }
    if (!left && unsafe_yyjson_get_len(v) == 1)
        return;
    wj_put_open(&l->w, name, '{');
    yyjson_obj_foreach(v, i, n, key, value)
    {
        if (value == own && !left)
            continue;
        wj_write_name(&l->w, wj_text(key));
        if (value == own)
            put_other(l, own, denied);
        else
            wj_write_value(&l->w, value);
    }
    wj_write_close(&l->w, '}');
}

/* The approval request of the call, with its answer if there is one; NULL: none, or version 5, which has no member
 * for it. Valid until the next scratch read. */
static yyjson_val *approval_of(struct wd_lowering *l, const struct upp_part *call)
{
    yyjson_val *v = l->target == 5 ? NULL : wd_pai_own_at(l, call->metadata, "approval");
    return yyjson_is_obj(v) ? v : NULL;
}

static const char *open_state(struct wd_lowering *l, const struct upp_part *call)
{
    yyjson_val *v = approval_of(l, call);
    if (call->cut)
        return "input-streaming";
    if (!v)
        return "input-available";
    return yyjson_is_bool(yyjson_obj_get(v, "approved")) ? "approval-responded" : "approval-requested";
}

static void put_tool(struct wd_lowering *l, uint32_t entry, size_t at, const struct upp_part *p)
{
    const struct upp_part *result = wd_result_of(l->doc, entry, p->id);
    bool denied = result && l->target != 5 && is_denied(l, result);
    const char *state = denied ? "output-denied" : "output-error";
    if (!result)
        state = open_state(l, p);
    else if (!result->is_error)
        state = "output-available";
    wj_write_open(&l->w, '{');
    wd_member(l, "type", joined(l, UPP_STR("tool-"), p->name));
    wd_member(l, "toolCallId",
              p->id.p ? p->id : wb_arena_printf(&l->keep, "call-%u-%zu", (unsigned)(l->before + entry), at));
    wd_member(l, "state", wb_cstr(state));
    put_input(l, entry, p);
    if (result && !result->is_error)
        wd_member_json(l, "output", result->text.n ? result->text : UPP_STR("null"));
    else if (result && !denied)
        put_error(l, entry, result->text);
    if (wd_pai_is_builtin(l, p))
        wj_put_bool(&l->w, "providerExecuted", true);
    put_tool_metadata(l, "callProviderMetadata", p->metadata, false);
    if (result) {
        /* Version 5 has no member for it. */
        if (l->target != 5)
            put_tool_metadata(l, "resultProviderMetadata", result->metadata, denied);
        else if (result->metadata.n)
            wd_lose(l, entry, "what the provider said of a result", "5 has no place for it");
    }
    yyjson_val *approval = approval_of(l, p);
    if (approval) {
        wj_put_value(&l->w, "approval", approval);
    } else if (denied) {
        yyjson_val *v = result->text.n ? read_scratch(l, result->text) : NULL;
        wj_put_open(&l->w, "approval", '{');
        wd_member(l, "id", p->id);
        wj_put_bool(&l->w, "approved", false);
        if (v && yyjson_is_str(v) && !wj_named(v, UPP_STR(WD_UI_DENIED)))
            wd_member(l, "reason", wj_text(v));
        wj_write_close(&l->w, '}');
    }
    wj_write_close(&l->w, '}');
}

/* ---- Files ----------------------------------------------------------------------------------------------- */

static struct upp_str guess(struct upp_str url)
{
    static const struct {
        struct upp_str ending, mime;
    } table[] = {
        {UPP_STR_INIT(".png"), UPP_STR_INIT("image/png")},   {UPP_STR_INIT(".jpg"), UPP_STR_INIT("image/jpeg")},
        {UPP_STR_INIT(".jpeg"), UPP_STR_INIT("image/jpeg")}, {UPP_STR_INIT(".gif"), UPP_STR_INIT("image/gif")},
        {UPP_STR_INIT(".webp"), UPP_STR_INIT("image/webp")}, {UPP_STR_INIT(".pdf"), UPP_STR_INIT("application/pdf")},
        {UPP_STR_INIT(".txt"), UPP_STR_INIT("text/plain")},  {UPP_STR_INIT(".mp3"), UPP_STR_INIT("audio/mpeg")},
        {UPP_STR_INIT(".wav"), UPP_STR_INIT("audio/wav")},   {UPP_STR_INIT(".mp4"), UPP_STR_INIT("video/mp4")},
    };
    for (size_t i = 0; i < WB_LEN(table); i++)
        if (wb_str_ends(url, table[i].ending))
            return table[i].mime;
    return (struct upp_str){0};
}

static struct upp_str media_type(struct wd_lowering *l, uint32_t entry, const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    struct upp_str guessed = m->source == UPP_SOURCE_TEXT  ? UPP_STR("text/plain")
                             : m->source == UPP_SOURCE_URL ? guess(m->data)
                                                           : (struct upp_str){0};
    struct upp_str id;
    if (m->mime.n || guessed.p)
        return m->mime.n ? m->mime : guessed;
    if (p->kind == UPP_PART_IMAGE && wm_part_file(p, &id))
        return UPP_STR("image/*"); /* what kind of image is known when it is loaded */
    wd_lose(l, entry, "that nobody knows what a file is", "a file has a media type");
    return UPP_STR("application/octet-stream");
}

static void put_file(struct wd_lowering *l, uint32_t entry, const struct upp_part *p)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(WD_DOC_BYTES);
    const struct upp_media *m = p->media;
    struct upp_str mime = media_type(l, entry, p), id;
    wj_write_open(&l->w, '{');
    wd_member(l, "type", UPP_STR("file"));
    wd_member(l, "mediaType", mime);
    wd_member(l, "filename", m->title);
    int r = 0;
    if (wm_part_file(p, &id)) {
        wb_buf_add(&url, UPP_STR(WM_FILE_URN));
        wb_buf_add(&url, id);
    } else if (m->source == UPP_SOURCE_URL)
        wb_buf_add(&url, m->data);
    else
        r = wd_data_url(m, mime, &url, l->w.err);
    if (r < 0)
        wj_writer_fail(&l->w, r);
    wd_member(l, "url", wb_buf_str(&url));
    wd_member_json(l, "providerMetadata", p->metadata);
    wj_write_close(&l->w, '}');
}

/* ---- Parts ----------------------------------------------------------------------------------------------- */

static void put_step(struct message *m, uint32_t i)
{
    const struct upp_message *said = &wd_entry_at(m->l, i)->e.message;
    if (!m->user) {
        wj_write_open(&m->l->w, '{');
        wd_member(m->l, "type", UPP_STR("step-start"));
        wj_write_close(&m->l->w, '}');
    }
    for (size_t k = 0; k < said->n_parts && !m->l->w.failed; k++) {
        const struct upp_part *p = &said->parts[k];
        if (p->kind == UPP_PART_RESULT)
            continue;
        if (p->kind == UPP_PART_CALL)
            put_tool(m->l, i, k, p);
        else if (p->media)
            put_file(m->l, i, p);
        else {
            struct wd_lowering *l = m->l;
            wj_write_open(&l->w, '{');
            wd_member(l, "type", p->kind == UPP_PART_REASONING ? UPP_STR("reasoning") : UPP_STR("text"));
            wd_member(l, "text", p->text.p ? p->text : UPP_STR(""));
            if (p->cut || !m->user)
                wd_member(l, "state", p->cut ? UPP_STR("streaming") : UPP_STR("done"));
            wd_member_json(l, "providerMetadata", p->metadata);
            wj_write_close(&l->w, '}');
        }
    }
}

static struct upp_str event_id(const struct message *m, uint32_t i)
{
    const struct wm_doc_entry *e = wd_entry_at(m->l, i);
    if (e->e.message.id.p)
        return e->e.message.id;
    return e->id.p && !wb_str_eq(e->id, m->id) ? e->id
                                               : wb_arena_numbered(&m->l->keep, UPP_STR("event-"), m->l->before + i);
}

static void put_event(struct message *m, uint32_t i)
{
    struct wd_lowering *l = m->l;
    yyjson_val *v = read_scratch(l, wd_entry_at(l, i)->e.data);
    yyjson_val *type = yyjson_obj_get(v, "type"), *data = yyjson_obj_get(v, "data");
    struct upp_str name = type && yyjson_is_str(type) ? wj_text(type) : UPP_STR("");
    wj_write_open(&l->w, '{');
    wd_member(l, "type", joined(l, UPP_STR("data-"), name));
    wd_member(l, "id", event_id(m, i));
    wd_name(l, "data");
    if (data)
        wj_write_value(&l->w, data);
    else
        wj_write_null(&l->w);
    wj_write_close(&l->w, '}');
}

static void put_parts(struct message *m)
{
    struct wd_lowering *l = m->l;
    wj_put_open(&l->w, "parts", '[');
    for (uint32_t i = m->first; i < m->first + m->n && !l->w.failed; i++) {
        const struct wm_doc_entry *e = wd_entry_at(l, i);
        if (!wm_is_visible(&e->e))
            continue;
        if (e->e.kind != WM_ENTRY_EVENT)
            wd_lose_unmatched_results(l, i);
        if (e->e.kind == WM_ENTRY_EVENT && m->user)
            wd_lose(l, i, "an event", "a message of the user has none");
        else if (e->e.kind == WM_ENTRY_EVENT)
            put_event(m, i);
        else if (wm_is_prompt(&e->e))
            wd_lose(l, i, "what one agent asked another", "a message of the user is what the user wrote");
        else if (e->e.message.role != UPP_ROLE_TOOL)
            put_step(m, i);
    }
    wj_write_close(&l->w, ']');
}

/* ---- Metadata -------------------------------------------------------------------------------------------- */

struct about {
    struct upp_str model, provider;
};

/* The model, if it is the same for all replies. */
static struct about about_model(struct message *m)
{
    const struct wm_reply_info *reply = NULL;
    bool one = true, more = false, agents = false;
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        const struct wm_doc_entry *e = wd_entry_at(m->l, i);
        agents |= e->agent != WM_NO_AGENT && e->agent != m->turn->agent;
        if (e->e.kind == WM_ENTRY_EVENT || e->e.message.role != UPP_ROLE_ASSISTANT)
            continue;
        one &= !reply || (same(reply->model, e->said.model) && same(reply->provider, e->said.provider));
        more |= e->said.response.p || e->said.stop;
        reply = &e->said;
    }
    if (agents)
        wd_lose(m->l, m->first, "which agent said each of its steps", "a message has one");
    if (more)
        wd_lose(m->l, m->first, "why the model stopped, and its ids of what it said", "there is no member for it");
    if (!one)
        wd_lose(m->l, m->first, "which model said each of its steps", "they were several");
    return reply && one ? (struct about){reply->model, reply->provider} : (struct about){0};
}

static void weft_name(struct wd_lowering *l, bool *open, const char *name, struct upp_str text)
{
    if (!text.p)
        return;
    if (!*open)
        wj_put_open(&l->w, "weft", '{');
    *open = true;
    wd_member(l, name, text);
}

/* The time, in the member that Pydantic AI uses; then agent, model and end time. */
static void put_about(struct message *m)
{
    struct wd_lowering *l = m->l;
    uint32_t last = m->first + m->n - 1;
    struct upp_str time = wd_pai_time_text(l, &wd_entry_at(l, m->first)->e.message);
    struct upp_str end = wd_pai_time_text(l, &wd_entry_at(l, last)->e.message);
    struct about is = {0};
    bool open = false;
    if (last + 1 == m->turn->first + m->turn->n && m->turn->ended.p)
        end = m->turn->ended;
    wj_put_open(&l->w, "pydantic_ai", '{');
    wd_member(l, "timestamp", time);
    wj_write_close(&l->w, '}');
    if (m->turn->agent != WM_NO_AGENT) {
        const struct wm_doc_agent *a = &l->doc->agents.p[m->turn->agent];
        struct upp_str id = a->id.p ? a->id : a->name;
        if (m->user || !wb_str_eq(id, UPP_STR("agent"))) /* on user text, the agent marks whose turn it is in */
            weft_name(l, &open, "agent", id);
        if (a->name.p && !wb_str_eq(a->name, id))
            weft_name(l, &open, "name", a->name);
        if (!m->user)
            is = about_model(m);
    }
    weft_name(l, &open, "model", is.model);
    weft_name(l, &open, "provider", is.provider);
    if (!m->user && !wb_str_eq(end, time))
        weft_name(l, &open, "ended", end);
    weft_name(l, &open, "run", m->turn->run);
    if (!m->user && m->turn->partial) {
        if (!open)
            wj_put_open(&l->w, "weft", '{');
        open = true;
        wj_put_bool(&l->w, "partial", true);
    }
    if (open)
        wj_write_close(&l->w, '}');
}

static void put_usage(struct message *m)
{
    const struct wm_doc_turn *t = m->turn;
    struct upp_usage sum = t->usage;
    bool has = t->has_usage && m->first + m->n == t->first + t->n;
    if (!t->has_usage)
        has = wd_usage_of_replies(m->l, m->first, m->n, &sum);
    if (!has)
        return;
    wd_name(m->l, "usage");
    wm_usage_write_all(&m->l->w, &sum);
}

/* Source, targets and time of each event, as in the live stream (stream_chunks.c). */
static void put_events(struct message *m)
{
    struct wd_lowering *l = m->l;
    bool any = false;
    for (uint32_t i = m->first; !m->user && i < m->first + m->n; i++) {
        const struct wm_doc_entry *e = wd_entry_at(l, i);
        if (e->e.kind != WM_ENTRY_EVENT || !wm_is_visible(&e->e))
            continue;
        if (!any)
            wj_put_open(&l->w, "weft_events", '{');
        any = true;
        yyjson_val *v = read_scratch(l, e->e.data), *source = yyjson_obj_get(v, "source");
        yyjson_val *targets = yyjson_obj_get(v, "targets");
        wj_write_name(&l->w, event_id(m, i));
        wj_write_open(&l->w, '{');
        wj_put_value(&l->w, "sourceAgent", source);
        wj_put_value(&l->w, "targetAgents", targets);
        wd_member_u64(l, "timestamp", (uint64_t)WB_MAX(e->e.message.time_ms, 0));
        wj_write_close(&l->w, '}');
    }
    if (any)
        wj_write_close(&l->w, '}');
}

/* Application metadata of Pydantic AI messages: that of the first message that has some. */
static void put_app_metadata(struct message *m)
{
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        yyjson_val *retained = wd_retained_member(wd_retained(m->l, "pydantic", "message", i), "metadata");
        if (!wd_retained_metadata_is(retained))
            continue;
        wd_retained_metadata_put(m->l, retained);
        return;
    }
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

static struct upp_str id_of(const struct message *m)
{
    const struct wm_doc_entry *e = wd_entry_at(m->l, m->first);
    if (m->turn->id.p && m->first == m->turn->first)
        return m->turn->id;
    return e->id.p ? e->id : wb_arena_numbered(&m->l->keep, UPP_STR("message-"), m->l->before + m->first);
}

/* A message of results alone is not written: results are in the parts of their calls. */
static bool is_visible(const struct message *m)
{
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        const struct wm_doc_entry *e = wd_entry_at(m->l, i);
        if (wm_is_visible(&e->e) && !wm_is_prompt(&e->e) &&
            (e->e.kind == WM_ENTRY_EVENT ? !m->user : e->e.message.role != UPP_ROLE_TOOL))
            return true;
    }
    return false;
}

static void put_message(struct message *m)
{
    struct wd_lowering *l = m->l;
    if (!is_visible(m)) {
        for (uint32_t i = m->first; i < m->first + m->n; i++)
            wd_lose_unmatched_results(l, i);
        return;
    }
    m->id = id_of(m);
    wd_open(l, m->first, "message");
    wj_write_open(&l->w, '{');
    wd_member(l, "id", m->id);
    wd_member(l, "role", m->user ? UPP_STR("user") : UPP_STR("assistant"));
    wj_put_open(&l->w, "metadata", '{');
    put_about(m);
    if (!m->user)
        put_usage(m);
    put_events(m);
    put_app_metadata(m);
    wj_write_close(&l->w, '}');
    put_parts(m);
    wj_write_close(&l->w, '}');
    wd_close(l);
}

static bool is_users(const struct wm_doc_entry *e)
{
    return e->e.kind != WM_ENTRY_EVENT && e->e.message.role == UPP_ROLE_USER && !wm_is_prompt(&e->e);
}

/* How many entries are one message by default: all that the user submitted at once, or one text to the model in the
 * middle of an agent's turn, or the agent's entries up to such a text. */
static uint32_t default_span(const struct wd_lowering *l, const struct wm_doc_turn *turn, uint32_t i)
{
    uint32_t end = turn->first + turn->n, n = 1;
    if (turn->agent == WM_NO_AGENT)
        return end - i;
    while (!is_users(wd_entry_at(l, i)) && i + n < end && !is_users(wd_entry_at(l, i + n)))
        n++;
    return n;
}

static void put_turn(struct wd_ui_prompts *p, const struct wm_doc_turn *turn)
{
    struct wd_lowering *l = p->l;
    uint32_t end = turn->first + turn->n;
    if (wd_is_canonical(l, turn->first, "message")) /* a message that was read is always a whole turn */
        return;
    for (uint32_t i = turn->first; i < end && !l->w.failed;) {
        uint32_t n = wd_span(l, i, "message", default_span(l, turn, i));
        struct message m = {.l = l, .turn = turn, .first = i, .n = WB_MAX(WB_MIN(n, end - i), 1)};
        m.user = turn->agent == WM_NO_AGENT || is_users(wd_entry_at(l, i));
        wd_ui_put_systems(p, i + m.n);
        put_message(&m);
        i += m.n;
    }
}

int wd_ui_lower(struct wd_lowering *l, struct upp_err *err)
{
    if (!l->target)
        l->target = WD_UI_TARGET;
    if (l->target < 5 || l->target > 7)
        return upp_fail(err, UPP_EINVALID, "ui: the target is 5, 6 or 7, not %u", l->target);
    wd_implied(l, WD_IMPLIED_ID | WD_IMPLIED_THREAD | WD_IMPLIED_MADE | WD_IMPLIED_AGENTS | WD_IMPLIED_TURNS |
                      WD_IMPLIED_LATER_IDS | WD_IMPLIED_LATER_TIMES);
    wd_open(l, WD_THREAD, "list");
    wj_write_open(&l->w, '[');
    struct wd_ui_prompts p = wd_ui_prompts(l);
    for (size_t i = 0; i < l->doc->turns.n && !l->w.failed; i++)
        put_turn(&p, &l->doc->turns.p[i]);
    wd_ui_put_systems(&p, (uint32_t)l->doc->entries.n);
    wj_write_close(&l->w, ']');
    wd_close(l);
    return wb_arena_check(&l->keep, err);
}
