/* dialects/envelope/write.c — writes the members of one envelope, and reports what it has no member for as lost. */
#include "dialects/envelope/write.h"

#include "base/iso8601.h"
#include "base/utf8.h"
#include "dialects/core/data_url.h"
#include "dialects/envelope/envelope.h"
#include "dialects/pai/pai.h"
#include "json/value.h"

/* ---- Intent, task and content -------------------------------------------------------------------------- */

struct content {
    struct upp_str intent, type, task, text;
    yyjson_val *data;      /* NULL: none, or one of the next two */
    struct upp_str string; /* data that is a string */
    struct upp_str json;   /* data as compact JSON */
};

static struct upp_str cut(struct upp_str text)
{
    return wb_str_sub(text, 0, wb_utf16_cut(text, WD_ENVELOPE_TASK));
}

enum { NAMES = 4 * WD_ENVELOPE_TASK }; /* bytes of names in a summary: no more are added once it has as many */

/* "object: a, b, c" */
struct names {
    size_t n;
    char p[NAMES + 3 * WD_ENVELOPE_TASK + 2]; /* a UTF-16 unit has at most three bytes of UTF-8 */
};

static bool add_name(struct names *to, struct upp_str name)
{
    struct upp_str between = !to->n ? UPP_STR("object: ") : UPP_STR(", "), part = cut(name);
    if (to->n > NAMES)
        return false;
    memcpy(to->p + to->n, between.p, between.n);
    memcpy(to->p + to->n + between.n, part.p, part.n);
    to->n += between.n + part.n;
    return true;
}

static struct upp_str named(struct wb_arena *a, const struct names *names)
{
    return names->n ? cut(wb_arena_dup(a, wb_str(names->p, names->n))) : UPP_STR("object");
}

struct upp_str wd_envelope_summary(struct wb_arena *a, yyjson_val *v)
{
    struct names names;
    yyjson_val *key, *value;
    size_t i, n;
    if (yyjson_is_str(v) || yyjson_is_raw(v))
        return cut(wj_text(v));
    if (yyjson_is_arr(v))
        return wb_arena_numbered(a, UPP_STR("list of "), yyjson_arr_size(v));
    if (!yyjson_is_obj(v))
        return yyjson_is_null(v) ? UPP_STR("null") : yyjson_is_true(v) ? UPP_STR("true") : UPP_STR("false");
    names.n = 0;
    yyjson_obj_foreach(v, i, n, key, value)
    {
        if (!add_name(&names, wj_text(key)))
            break;
    }
    return named(a, &names);
}

static bool has_escapes(struct upp_str text)
{
    return text.n && memchr(text.p, '\\', text.n);
}

/* The same for compact JSON, without parsing it. False: it must be parsed. */
static bool summary_of_text(struct wd_lowering *l, struct upp_str json, struct upp_str *ret)
{
    struct names names;
    struct wj_compact_iter in = wj_compact_iter(json);
    struct upp_str one = json.p[0] == '"' ? wb_str_sub(json, 1, json.n - 2) : json;
    size_t n = 0;
    names.n = 0;
    if (!in.at) {
        *ret = cut(one);
        return !has_escapes(one);
    }
    for (bool room = true; room && wj_compact_next(&in, &one); n++) {
        if (in.object && has_escapes(one))
            return false;
        if (in.object)
            room = add_name(&names, one);
    }
    *ret = in.object ? named(&l->scratch, &names) : wb_arena_numbered(&l->scratch, UPP_STR("list of "), n);
    return true;
}

static struct upp_str titled(struct wd_lowering *l, struct upp_str what, struct upp_str of)
{
    return cut(wb_arena_join(&l->scratch, (struct upp_str[]){what, cut(of)}, 2));
}

/* metadata.envelope of the part; NULL: none. */
static yyjson_val *about(struct wd_lowering *l, const struct upp_part *p)
{
    return p->metadata.n ? yyjson_obj_get(wd_scratch_read(l, p->metadata), "envelope") : NULL;
}

static bool is_type(yyjson_val *v, const char *word)
{
    return v && yyjson_is_str(v) && wb_str_eq(wj_text(v), wb_cstr(word));
}

static void text_content(struct wd_lowering *l, const struct upp_part *p, bool user, struct content *s)
{
    yyjson_val *own = about(l, p), *type = yyjson_obj_get(own, "type");
    struct upp_str text = p->text.p ? p->text : UPP_STR("");
    bool result = is_type(type, "tool_result");
    yyjson_val *json = result || is_type(type, "json") ? wd_scratch_read(l, text) : NULL;
    s->intent = user ? UPP_STR("execute") : UPP_STR("analyze");
    s->type = UPP_STR("text");
    s->task = cut(text);
    s->text = text;
    s->data = yyjson_obj_get(own, "data");
    if (json) {
        s->type = result ? UPP_STR("tool_result") : UPP_STR("json");
        s->text = s->task = wd_envelope_summary(&l->scratch, json);
        s->data = json;
    } else if (is_type(type, "code")) {
        s->type = UPP_STR("code");
        if (!s->data) {
            s->text = s->task;
            s->string = text;
        }
    } else if (is_type(type, "error"))
        s->type = UPP_STR("error");
    if (p->kind != UPP_PART_REASONING)
        return;
    s->intent = UPP_STR("reflect");
    s->task = titled(l, UPP_STR("Reasoning: "), text);
}

static void result_content(struct wd_lowering *l, const struct upp_part *p, struct content *s)
{
    s->intent = UPP_STR("tool.call");
    s->type = p->is_error ? UPP_STR("error") : UPP_STR("tool_result");
    s->task =
        titled(l, p->is_error ? UPP_STR("Failure of ") : UPP_STR("Result of "), wd_envelope_filled(p->name, "a tool"));
    struct upp_str text = p->text.n ? p->text : UPP_STR("null");
    if (wd_is_compact(text) && summary_of_text(l, text, &s->text)) {
        s->json = text;
        return;
    }
    s->data = wd_scratch_read(l, text);
    if (!s->data)
        s->string = p->text;
    s->text = s->data ? wd_envelope_summary(&l->scratch, s->data) : cut(p->text);
}

/* p NULL: a message without parts. New texts are in l->scratch, which is not reset. A call's data is not set here. */
static void part_content(struct wd_lowering *l, const struct upp_part *p, bool user, struct content *s)
{
    if (!p)
        *s = (struct content){.intent = UPP_STR("analyze"), .type = UPP_STR("text"), .text = UPP_STR("")};
    else if (p->kind == UPP_PART_CALL) {
        s->intent = UPP_STR("tool.call");
        s->type = UPP_STR("json");
        s->task = s->text = titled(l, UPP_STR("Call "), wd_envelope_filled(p->name, "a tool"));
    } else if (p->kind == UPP_PART_RESULT)
        result_content(l, p, s);
    else if (p->media) {
        s->intent = user ? UPP_STR("execute") : UPP_STR("analyze");
        s->type = UPP_STR("text");
        s->task = s->text = wd_envelope_filled(cut(p->media->title), "medium");
    } else
        text_content(l, p, user, s);
}

/* ---- Envelopes ----------------------------------------------------------------------------------------- */

/* ---- Members --------------------------------------------------------------------------------------------- */

static struct upp_str time_of(struct wd_envelope_out *o)
{
    const struct upp_message *m = &o->e->e.message;
    char text[WB_TIME_TEXT];
    if (m->time_text.p && (wb_str_eq(m->time_text, o->time) || wd_envelope_is_time(m->time_text)))
        return o->time = m->time_text;
    struct wb_time t = wb_time_from_ms(m->time_ms);
    struct upp_str s = wb_time_pydantic(&t, text); /* as in a thread: the time is the same after a detour through one */
    return s.p ? wb_arena_dup(&o->l->scratch, s) : UPP_STR("1970-01-01T00:00:00Z");
}

enum role { AGENT, USER, TOOL, SYSTEM };

#define ROLE_HEAD(name, next)                                                                                          \
    UPP_STR_INIT("{\"protocol\":\"" WD_ENVELOPE_PROTOCOL "\",\"role\":\"" name "\",\"" next "\":")
#define ROLE(name)                                                                                                     \
    {                                                                                                                  \
        UPP_STR_INIT(name), ROLE_HEAD(name, "agent"), ROLE_HEAD(name, "timestamp")                                     \
    }
static const struct {
    struct upp_str name;
    struct upp_str to_agent, to_time; /* how an envelope begins: up to its agent; up to its time if it has none */
} roles[] = {[AGENT] = ROLE("agent"), [USER] = ROLE("user"), [TOOL] = ROLE("tool"), [SYSTEM] = ROLE("system")};

static enum role wire_role(const struct wd_envelope_out *o)
{
    uint8_t part = o->part ? o->part->kind : 0;
    if (wd_is_event(o->e))
        return SYSTEM;
    if (part == UPP_PART_RESULT)
        return TOOL;
    return o->e->e.message.role == UPP_ROLE_USER && part != UPP_PART_CALL ? USER : AGENT;
}

static struct upp_str agent_id(const struct wm_doc_agent *a)
{
    return a->id.n ? a->id : wd_envelope_filled(a->name, "agent");
}

static struct upp_str agent_name(const struct wm_doc_agent *a)
{
    return a->name.p ? a->name : agent_id(a);
}

static struct upp_str model_of(const struct wd_envelope_out *o, const struct wm_doc_agent *a)
{
    struct upp_str model = o->e->said.model.p ? o->e->said.model : a->model;
    return model.p ? model : UPP_STR(WD_ENVELOPE_NO_MODEL);
}

/* Writes an agent up to its model. If it is the same as before, copies what was written then. */
static void put_agent_head(struct wd_envelope_out *o, const struct wm_doc_agent *a)
{
    struct wd_lowering *l = o->l;
    size_t from = l->w.out->n;
    if (o->agent_written == a && !l->w.match) {
        wj_write_head(&l->w, o->agent_json);
        return;
    }
    wj_write_open(&l->w, '{');
    wd_member(l, "id", agent_id(a));
    wd_member(l, "name", agent_name(a));
    wd_name(l, "model");
    if (l->w.match || l->w.out->failed)
        return;
    o->agent_json = wb_arena_dup(&l->keep, wb_str(l->w.out->p + from, l->w.out->n - from));
    o->agent_written = o->agent_json.p ? a : NULL;
}

/* Protocol, role, agent and time. */
static void put_head(struct wd_envelope_out *o)
{
    struct wd_lowering *l = o->l;
    enum role role = wire_role(o);
    struct upp_str time = time_of(o);
    if (o->agent == WM_NO_AGENT)
        wj_write_head(&l->w, roles[role].to_time);
    else {
        const struct wm_doc_agent *a = &l->doc->agents.p[o->agent];
        wj_write_head(&l->w, roles[role].to_agent);
        put_agent_head(o, a);
        wj_write_str(&l->w, model_of(o, a));
        wj_write_close(&l->w, '}');
        wd_name(l, "timestamp");
    }
    wj_write_unescaped_str(&l->w, time.p, time.n);
}

/* Arguments that are a JSON object are written as one, all others as the string that the model wrote. */
static void put_call(struct wd_envelope_out *o)
{
    struct wd_lowering *l = o->l;
    bool none = !o->part->text.n && !o->part->cut;
    struct upp_str text = none ? UPP_STR("{}") : o->part->text;
    bool as_is = text.n && text.p[0] == '{' && wd_is_compact(text);
    yyjson_val *args = as_is ? NULL : wd_scratch_read(l, text);
    wj_write_open(&l->w, '{');
    wd_member(l, "id", o->part->id.p ? o->part->id : UPP_STR(""));
    wd_member(l, "name", o->part->name.p ? o->part->name : UPP_STR(""));
    wd_name(l, "arguments");
    if (as_is)
        wd_json_value(l, text);
    else if (yyjson_is_obj(args))
        wj_write_value(&l->w, args);
    else
        wj_write_str(&l->w, o->part->text.p ? o->part->text : UPP_STR(""));
    wj_write_close(&l->w, '}');
}

static void put_text(struct wd_envelope_out *o, struct upp_str text)
{
    enum { FEW = 32 }; /* shorter texts are not worth copying */
    struct wj_writer *w = &o->l->w;
    struct wj_extent at = o->task_at;
    if (!text.p)
        return;
    wd_name(o->l, "text");
    if (w->match || w->out->failed || text.p != o->task.p || text.n < o->task.n || o->task.n <= FEW)
        wj_write_str(w, text);
    else
        wj_write_str_begun(w, text, o->task.n, wb_str(w->out->p + at.from, at.to - at.from));
}

static void put_content(struct wd_envelope_out *o, const struct content *s)
{
    struct wd_lowering *l = o->l;
    bool call = o->part && o->part->kind == UPP_PART_CALL, event = wd_is_event(o->e);
    wj_put_open(&l->w, "content", '{');
    wd_member_word(l, "type", s->type);
    put_text(o, s->text);
    if (call || s->data || s->string.p || s->json.p || event)
        wd_name(l, "data");
    if (call)
        put_call(o);
    else if (s->json.p)
        wd_json_value(l, s->json);
    else if (s->string.p)
        wj_write_str(&l->w, s->string);
    else if (s->data)
        wj_write_value(&l->w, s->data);
    else if (event)
        wj_write_null(&l->w);
    wj_write_close(&l->w, '}');
}

/* The media type, or the best guess. */
static struct upp_str mime_of(const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    return !m->mime.n && m->source == UPP_SOURCE_URL ? wd_pai_media_type(m->data, p->kind) : wd_media_type(m);
}

/* "data:MIME;base64,..." */
static void put_bytes(struct wd_envelope_out *o, const struct upp_media *m)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(WD_DOC_BYTES);
    int r = wd_data_url(m, mime_of(o->part), &url, o->l->w.err);
    if (r < 0)
        wj_writer_fail(&o->l->w, r);
    wd_member(o->l, "uri", wb_buf_str(&url));
}

static void put_artifact(struct wd_envelope_out *o)
{
    struct wd_lowering *l = o->l;
    const struct upp_media *m = o->part->media;
    wj_put_open(&l->w, "outputs", '{');
    wj_put_open(&l->w, "artifacts", '[');
    wj_write_open(&l->w, '{');
    wd_member(l, "kind", o->part->kind == UPP_PART_DOCUMENT ? UPP_STR("report") : UPP_STR("dataset"));
    wd_member(l, "name", wd_envelope_filled(m->title, "medium"));
    if (m->source == UPP_SOURCE_URL)
        wd_member(l, "uri", m->data.p ? m->data : UPP_STR(""));
    else
        put_bytes(o, m);
    wj_write_close(&l->w, '}');
    wj_write_close(&l->w, ']');
    wj_write_close(&l->w, '}');
}

static void put_trace(struct wd_envelope_out *o)
{
    struct wd_lowering *l = o->l;
    wj_put_open(&l->w, "trace", '{');
    if (o->parent.p) {
        wj_put_open(&l->w, "parents", '[');
        wj_write_str(&l->w, o->parent);
        wj_write_close(&l->w, ']');
    }
    wd_member(l, "id", o->id);
    if (o->has_cost && !o->k) {
        wj_put_open(&l->w, "cost", '{');
        wd_member_u64(l, "input_tokens", o->cost.input);
        wd_member_u64(l, "output_tokens", o->cost.output);
        wj_write_close(&l->w, '}');
    }
    wj_write_close(&l->w, '}');
}

/* ---- The member weft ------------------------------------------------------------------------------------- */

static void weft_open(struct wd_envelope_out *o)
{
    if (o->weft)
        return;
    o->weft = true;
    wj_put_open(&o->l->w, "weft", '{');
}

static void weft_text(struct wd_envelope_out *o, const char *name, struct upp_str text)
{
    if (!text.p)
        return;
    weft_open(o);
    wd_member(o->l, name, text);
}

static void weft_json(struct wd_envelope_out *o, const char *name, struct upp_str json)
{
    if (!json.n)
        return;
    weft_open(o);
    wd_member_json(o->l, name, json);
}

/* The kind of part, if it cannot be told from the envelope. */
static struct upp_str kind_of(const struct wd_envelope_out *o)
{
    if (!o->part)
        return UPP_STR("nothing");
    if (o->part->media)
        return UPP_STR("medium");
    return o->part->kind == UPP_PART_REASONING ? UPP_STR("reasoning") : (struct upp_str){0};
}

/* True if the metadata contains more than this dialect itself put there, or than the envelope shows (raw_args). */
static bool has_metadata(struct wd_envelope_out *o)
{
    const struct upp_part *p = o->part;
    yyjson_val *v = p->metadata.n ? wd_scratch_read(o->l, p->metadata) : NULL;
    yyjson_val *pai = yyjson_obj_get(v, "pydantic_ai");
    if (!yyjson_is_obj(v) || yyjson_obj_size(v) != 1)
        return yyjson_is_obj(v);
    if (p->kind == UPP_PART_CALL && yyjson_obj_size(pai) == 1 && yyjson_is_true(yyjson_obj_get(pai, "raw_args")))
        return yyjson_is_obj(wd_scratch_read(o->l, p->text));
    return !((p->kind == UPP_PART_TEXT || p->kind == UPP_PART_REASONING) && yyjson_obj_get(v, "envelope"));
}

static void put_weft_part(struct wd_envelope_out *o)
{
    const struct upp_part *p = o->part;
    if (p->kind == UPP_PART_RESULT) {
        weft_text(o, "call", p->id.p ? p->id : UPP_STR(""));
        weft_text(o, "name", p->name.n ? p->name : (struct upp_str){0});
    }
    if (p->media) {
        weft_text(o, "mime", mime_of(p));
        weft_text(o, "title", p->media->title);
    }
    if (p->cut)
        weft_json(o, "cut", UPP_STR("true"));
    if (has_metadata(o))
        weft_json(o, "metadata", p->metadata);
}

static void put_weft(struct wd_envelope_out *o)
{
    const struct wm_doc_entry *e = o->e;
    const struct wm_doc_agent *agent = o->agent == WM_NO_AGENT ? NULL : &o->l->doc->agents.p[o->agent];
    if (o->l->pure)
        return;
    if (o->k)
        weft_text(o, "of", o->first);
    weft_text(o, "kind", kind_of(o));
    if (agent && e->e.message.role == UPP_ROLE_USER)
        weft_text(o, "agent", agent_id(agent));
    if (!o->k)
        weft_text(o, "provider", e->said.provider);
    if (o->part)
        put_weft_part(o);
}

/* Agents are written by id, however the event names them. */
static void put_mention(struct wd_envelope_out *o, yyjson_val *v)
{
    uint32_t agent = yyjson_is_str(v) ? wm_doc_agent_find(o->l->doc, wj_text(v)) : WM_NO_AGENT;
    if (agent == WM_NO_AGENT)
        wj_write_value(&o->l->w, v);
    else
        wj_write_str(&o->l->w, agent_id(&o->l->doc->agents.p[agent]));
}

static void put_weft_event(struct wd_envelope_out *o, yyjson_val *event)
{
    yyjson_val *type = yyjson_obj_get(event, "type"), *source = yyjson_obj_get(event, "source");
    yyjson_val *targets = yyjson_obj_get(event, "targets"), *one;
    size_t i, n;
    if (o->l->pure)
        return;
    weft_text(o, "event", type && yyjson_is_str(type) ? wj_text(type) : UPP_STR(""));
    if (source && yyjson_is_str(source)) {
        wd_name(o->l, "source");
        put_mention(o, source);
    }
    if (!yyjson_is_arr(targets))
        return;
    wj_put_open(&o->l->w, "targets", '[');
    yyjson_arr_foreach(targets, i, n, one) put_mention(o, one);
    wj_write_close(&o->l->w, ']');
}

/* ---- Envelopes ------------------------------------------------------------------------------------------- */

/* Records where the task was written: most texts begin with it. */
static void put_task(struct wd_envelope_out *o, struct upp_str task)
{
    struct wj_writer *w = &o->l->w;
    wd_name(o->l, "task");
    o->task = task;
    o->task_at.from = w->out->n + 1;
    wj_write_str(w, task);
    o->task_at.to = w->out->n - 1;
}

static void open_envelope(struct wd_envelope_out *o, struct upp_str intent, struct upp_str task)
{
    struct wd_lowering *l = o->l;
    o->weft = false;
    wd_open(l, o->i, o->slot);
    put_head(o);
    wd_member_word(l, "intent", intent);
    put_task(o, wd_envelope_filled(task, "(nothing)"));
}

static void close_envelope(struct wd_envelope_out *o)
{
    int r = wb_arena_check(&o->l->scratch, o->l->w.err);
    if (r < 0)
        wj_writer_fail(&o->l->w, r);
    if (o->weft)
        wj_write_close(&o->l->w, '}');
    wj_write_close(&o->l->w, '}');
    wd_close(o->l);
}

void wd_envelope_write_part(struct wd_envelope_out *o)
{
    struct content s = {0};
    part_content(o->l, o->part, o->e->e.message.role == UPP_ROLE_USER, &s);
    open_envelope(o, s.intent, s.task);
    put_content(o, &s);
    if (o->part && o->part->media)
        put_artifact(o);
    put_trace(o);
    put_weft(o);
    close_envelope(o);
}

/* {"type": "envelope.INTENT", "data": {"task", "content"}}: what lift makes of an envelope of role system. */
static bool is_own(yyjson_val *event, struct upp_str *intent, yyjson_val **task, yyjson_val **content)
{
    static const struct upp_str prefix = UPP_STR_INIT("envelope.");
    yyjson_val *type = yyjson_obj_get(event, "type"), *data = yyjson_obj_get(event, "data");
    *task = yyjson_obj_get(data, "task");
    *content = yyjson_obj_get(data, "content");
    if (!yyjson_is_str(type) || !wb_str_starts(wj_text(type), prefix) || !yyjson_is_str(*task) ||
        !yyjson_is_obj(*content))
        return false;
    *intent = wb_str_sub(wj_text(type), prefix.n, SIZE_MAX);
    return wd_envelope_is_word(&wd_envelope_intents, *intent) && wj_text(*task).n;
}

void wd_envelope_write_event(struct wd_envelope_out *o)
{
    struct content s = {0};
    yyjson_val *event = wd_scratch_read(o->l, o->e->e.data), *task, *content;
    struct upp_str intent;
    if (is_own(event, &intent, &task, &content)) {
        open_envelope(o, intent, wj_text(task));
        wj_put_value(&o->l->w, "content", content);
        put_trace(o);
    } else {
        /* For events that are not envelopes of role system. */
        yyjson_val *type = yyjson_obj_get(event, "type"), *data = yyjson_obj_get(event, "data");
        struct upp_str name = yyjson_is_str(type) ? wj_text(type) : UPP_STR("");
        s.intent = wb_str_eq(name, UPP_STR("agent.handoff")) ? UPP_STR("route") : UPP_STR("analyze");
        s.type = data ? UPP_STR("json") : UPP_STR("text");
        s.task = titled(o->l, UPP_STR("Event "), name);
        s.text = data ? wd_envelope_summary(&o->l->scratch, data) : s.task;
        s.data = data;
        open_envelope(o, s.intent, s.task);
        put_content(o, &s);
        put_trace(o);
        put_weft_event(o, event);
    }
    close_envelope(o);
}
