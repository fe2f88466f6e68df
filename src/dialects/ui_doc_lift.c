/* dialects/ui_doc_lift.c — UI messages into the model.
 *
 * A message of the user is a turn of the user. One of the assistant is a turn of the agent: each of its steps becomes
 * what was said (with the calls of tools), then the results of these, then the events that came meanwhile. What is
 * neither (system messages, sources, approvals ...) stays where it is.
 */
#include "base/err.h"
#include "dialects/pai.h"
#include "dialects/ui_doc.h"
#include "json/value.h"

enum { PARTS = 1 << 14 };

struct lifting {
    struct wd_lifting *l;
    struct upp_err    *err;
    /* Of the message that is read. */
    uint32_t       agent;
    struct upp_str time, model, provider;
    yyjson_val    *events; /* metadata.weft_events */
    /* Of its step. */
    WB_VEC(struct upp_part) said;
    WB_VEC(struct upp_part) results;
    WB_VEC(const struct wd_ui_part *) meanwhile;
};

static int failed(const struct lifting *t)
{
    return t->err->code ? -t->err->code : -UPP_ENOMEM;
}

static int no_room(const struct lifting *t, size_t n)
{
    return n < PARTS ? upp_fail(t->err, UPP_ENOMEM, "no memory for a part")
                     : upp_fail(t->err, UPP_ELIMIT, "a message of more than %d parts", PARTS);
}

/* JSON text of a value; no value: no text. */
static int value_text(const struct lifting *t, yyjson_val *v, struct upp_str *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    int                                   r = v ? wj_write(v, &b, t->err) : 0;
    if (r < 0 || !v)
        return r;
    *ret = wb_arena_dup(t->l->a, wb_buf_str(&b));
    return wb_arena_check(t->l->a, t->err);
}

static int string_text(const struct lifting *t, struct upp_str text, struct upp_str *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer                      w;
    wj_writer_init(&w, &b, t->err);
    wj_write_str(&w, text);
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    *ret = wb_arena_dup(t->l->a, wb_buf_str(&b));
    return wb_arena_check(t->l->a, t->err);
}

static int metadata_of(const struct lifting *t, yyjson_val *v, struct upp_str *ret)
{
    return yyjson_is_obj(v) ? value_text(t, v, ret) : 0;
}

static struct upp_str text_at(yyjson_val *obj, const char *name)
{
    yyjson_val *v = yyjson_obj_get(obj, name);
    return v && yyjson_is_str(v) ? wj_text(v) : (struct upp_str){0};
}

static uint64_t number_at(yyjson_val *obj, const char *name)
{
    yyjson_val *v = yyjson_obj_get(obj, name);
    uint64_t    n = 0;
    return v && yyjson_is_raw(v) && wb_str_u64(wj_text(v), &n) ? n : 0;
}

/* ---- Files ----------------------------------------------------------------------------------------------- */

/* Bytes as the model has them: padded, and of the standard alphabet. */
static bool is_base64(struct upp_str s)
{
    size_t n = s.n;
    while (n && s.n - n < 2 && s.p[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/'))
            return false;
    }
    return s.n % 4 == 0;
}

/* The bytes of "data:MIME;base64,..."; no text: it is another address, and stays one. */
static struct upp_str data_of(struct upp_str url, struct upp_str mime)
{
    static const struct upp_str scheme = UPP_STR_INIT("data:"), base64 = UPP_STR_INIT(";base64,");
    struct upp_str              rest = wb_str_sub(url, scheme.n, SIZE_MAX), none = {0};
    if (!wb_str_starts(url, scheme) || !mime.p || !wb_str_starts(rest, mime))
        return none;
    rest = wb_str_sub(rest, mime.n, SIZE_MAX);
    if (!wb_str_starts(rest, base64))
        return none;
    rest = wb_str_sub(rest, base64.n, SIZE_MAX);
    return is_base64(rest) ? rest : none;
}

static uint8_t medium_of(struct upp_str mime)
{
    return !mime.p ? UPP_PART_DOCUMENT
                   : wb_str_starts(mime, UPP_STR("image/"))
                                   ? UPP_PART_IMAGE
                   : wb_str_starts(mime, UPP_STR("audio/"))
                                   ? UPP_PART_AUDIO
                   : wb_str_starts(mime, UPP_STR("video/")) ? UPP_PART_VIDEO
                   : UPP_PART_DOCUMENT;
}

int wd_ui_media(struct wb_arena *a, struct upp_str url, struct upp_str mime, struct upp_str name, struct upp_part *to,
                struct upp_err *err)
{
    struct upp_media *media = wb_new(a, struct upp_media);
    struct upp_str    data  = data_of(url, mime);
    if (!media)
        return wb_arena_check(a, err);
    *media    = (struct upp_media){.source = data.p ? UPP_SOURCE_BASE64 : UPP_SOURCE_URL,
                                   .data   = data.p ? data : url,
                                   .mime   = mime,
                                   .title  = name};
    to->kind  = medium_of(mime);
    to->media = media;
    return 0;
}

/* Text, reasoning or a file; 0: none of them. */
static int content_of(const struct lifting *t, const struct wd_ui_part *p, struct upp_part *to)
{
    bool thought = wb_str_eq(p->type, UPP_STR("reasoning"));
    int  r       = 0;
    if ((thought || wb_str_eq(p->type, UPP_STR("text"))) && p->text.p) {
        to->kind = thought ? UPP_PART_REASONING : UPP_PART_TEXT;
        to->text = p->text;
        to->cut  = wb_str_eq(p->state, UPP_STR("streaming"));
    } else if (wb_str_eq(p->type, UPP_STR("file")) && p->url.p)
        r = wd_ui_media(t->l->a, p->url, p->media_type, p->filename, to, t->err);
    else
        return 0;
    if (r >= 0)
        r = metadata_of(t, p->provider_metadata, &to->metadata);
    return r < 0 ? r : 1;
}

/* ---- Tools ----------------------------------------------------------------------------------------------- */

/* The members of an object, if it is one, but for that of one name. */
static void put_but(struct wj_writer *w, yyjson_val *object, struct upp_str name)
{
    yyjson_val *key, *value;
    size_t      i, n;
    if (!yyjson_is_obj(object))
        return;
    yyjson_obj_foreach(object, i, n, key, value)
    {
        if (wj_named(key, name))
            continue;
        wj_write_name(w, wj_text(key));
        wj_write_value(w, value);
    }
}

/* What the provider said of the result, and that it was denied. */
static int denied_metadata(const struct lifting *t, yyjson_val *said, struct upp_str *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer                      w;
    yyjson_val                           *own = yyjson_obj_get(said, "pydantic_ai");
    wj_writer_init(&w, &b, t->err);
    wj_write_open(&w, '{');
    put_but(&w, said, UPP_STR("pydantic_ai"));
    wj_write_name(&w, UPP_STR("pydantic_ai"));
    wj_write_open(&w, '{');
    put_but(&w, own, UPP_STR("outcome"));
    wj_write_name(&w, UPP_STR("outcome"));
    wj_write_str(&w, UPP_STR("denied"));
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    *ret = wb_arena_dup(t->l->a, wb_buf_str(&b));
    return wb_arena_check(t->l->a, t->err);
}

/* 1: it has a result. */
static int result_of(const struct lifting *t, const struct wd_ui_part *p, struct upp_part *to)
{
    bool good = wb_str_eq(p->state, UPP_STR("output-available")), bad = wb_str_eq(p->state, UPP_STR("output-error"));
    bool denied = wb_str_eq(p->state, UPP_STR("output-denied"));
    int  r;
    if (!good && !bad && !denied)
        return 0;
    *to = (struct upp_part){.kind = UPP_PART_RESULT, .id = p->tool_call_id, .name = wd_ui_tool(p), .is_error = !good};
    if (good) {
        to->text = UPP_STR("null");
        r        = value_text(t, p->output, &to->text);
    } else {
        struct upp_str reason = denied ? text_at(p->approval, "reason") : p->error_text;
        r = string_text(t, reason.p ? reason : denied ? UPP_STR(WD_UI_DENIED) : UPP_STR(""), &to->text);
    }
    if (r >= 0)
        r = denied ? denied_metadata(t, p->result_metadata, &to->metadata)
                   : metadata_of(t, p->result_metadata, &to->metadata);
    return r < 0 ? r : 1;
}

static int call_of(const struct lifting *t, const struct wd_ui_part *p, struct upp_part *to)
{
    yyjson_val *input = p->input ? p->input : p->raw_input;
    *to               = (struct upp_part){.kind = UPP_PART_CALL,
                                          .id   = p->tool_call_id,
                                          .name = wd_ui_tool(p),
                                          .cut  = wb_str_eq(p->state, UPP_STR("input-streaming"))};
    to->text          = to->cut ? UPP_STR("") : UPP_STR("{}");
    int r             = value_text(t, input, &to->text);
    return r < 0 ? r : metadata_of(t, p->call_metadata, &to->metadata);
}

/* ---- Events ---------------------------------------------------------------------------------------------- */

static struct wm_doc_entry *entry_add(struct lifting *t, uint8_t role)
{
    struct wm_doc_entry *e = wm_doc_entry_add(t->l->doc, t->err);
    if (!e)
        return NULL;
    e->agent          = t->agent;
    e->e.message.role = role;
    if (t->agent != WM_NO_AGENT)
        e->e.who = t->l->doc->agents.p[t->agent].name;
    wd_pai_time(t->time, t->l->now_ms, &e->e.message);
    t->l->doc->turns.p[t->l->doc->turns.n - 1].n++;
    return e;
}

static bool is_event(const struct wd_ui_part *p)
{
    return wb_str_starts(p->type, UPP_STR("data-"));
}

static void put_member(struct wj_writer *w, const char *name, yyjson_val *v)
{
    if (!v)
        return;
    wj_write_name(w, wb_cstr(name));
    wj_write_value(w, v);
}

static int event_add(struct lifting *t, const struct wd_ui_part *p)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer                      w;
    struct wm_doc_entry                  *e    = entry_add(t, 0);
    yyjson_val                           *more = p->id.p ? yyjson_obj_getn(t->events, p->id.p, p->id.n) : NULL;
    if (!e)
        return failed(t);
    wj_writer_init(&w, &b, t->err);
    wj_write_open(&w, '{');
    wj_write_name(&w, UPP_STR("type"));
    wj_write_str(&w, wb_str_sub(p->type, 5, SIZE_MAX));
    put_member(&w, "data", p->data);
    yyjson_val *source = yyjson_obj_get(more, "sourceAgent"), *targets = yyjson_obj_get(more, "targetAgents");
    bool        names = yyjson_is_arr(targets);
    yyjson_val *one;
    size_t      i, n;
    yyjson_arr_foreach(targets, i, n, one) names &= yyjson_is_str(one);
    put_member(&w, "source", yyjson_is_str(source) ? source : NULL);
    put_member(&w, "targets", names ? targets : NULL);
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    uint64_t time   = number_at(more, "timestamp");
    e->e.kind       = WM_ENTRY_EVENT;
    e->e.data       = wb_arena_dup(t->l->a, wb_buf_str(&b));
    e->e.message.id = p->id;
    if (time && time < (uint64_t)1 << 47) {
        e->e.message.time_ms   = (int64_t)time;
        e->e.message.time_text = (struct upp_str){0};
    }
    return wb_arena_check(t->l->a, t->err);
}

/* ---- Steps ----------------------------------------------------------------------------------------------- */

static int settle(struct lifting *t, struct upp_message *m, const struct upp_part *parts, size_t n)
{
    m->n_parts = n;
    m->parts   = wb_new_n(t->l->a, struct upp_part, n);
    if (m->parts)
        memcpy(m->parts, parts, n * sizeof *parts);
    return wb_arena_check(t->l->a, t->err);
}

static int step_end(struct lifting *t)
{
    struct wm_doc_entry *e;
    int                  r = 0;
    if (t->said.n) {
        e = entry_add(t, UPP_ROLE_ASSISTANT);
        if (!e)
            return failed(t);
        e->said.model    = t->model;
        e->said.provider = t->provider;
        r                = settle(t, &e->e.message, t->said.p, t->said.n);
    }
    if (r >= 0 && t->results.n) {
        e = entry_add(t, UPP_ROLE_TOOL);
        r = e ? settle(t, &e->e.message, t->results.p, t->results.n) : failed(t);
    }
    for (size_t i = 0; r >= 0 && i < t->meanwhile.n; i++)
        r = event_add(t, t->meanwhile.p[i]);
    t->said.n = t->results.n = t->meanwhile.n = 0;
    return r;
}

static int lift_event(struct lifting *t, const struct wd_ui_part *p)
{
    if (!t->said.n)
        return event_add(t, p);
    return wb_vec_push(&t->meanwhile, p, (size_t)PARTS) ? 0 : no_room(t, t->meanwhile.n);
}

static int lift_tool(struct lifting *t, const struct wd_ui_part *p)
{
    struct upp_part call, result;
    int             r = call_of(t, p, &call);
    if (r < 0)
        return r;
    if (!wb_vec_push(&t->said, call, (size_t)PARTS))
        return no_room(t, t->said.n);
    r = result_of(t, p, &result);
    if (r > 0 && !wb_vec_push(&t->results, result, (size_t)PARTS))
        return no_room(t, t->results.n);
    return r;
}

static int lift_part(struct lifting *t, const struct wd_ui_part *p)
{
    struct upp_part part = {0};
    if (wb_str_eq(p->type, UPP_STR("step-start")))
        return step_end(t);
    if (is_event(p))
        return lift_event(t, p);
    if (wd_ui_tool(p).p && p->tool_call_id.p)
        return lift_tool(t, p);
    int r = content_of(t, p, &part);
    if (r > 0 && !wb_vec_push(&t->said, part, (size_t)PARTS))
        return no_room(t, t->said.n);
    return r;
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

static int lift_user(struct lifting *t, const struct wd_ui_message *m)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < m->parts.n; i++) {
        struct upp_part part = {0};
        r                    = content_of(t, &m->parts.p[i], &part);
        if (r > 0 && part.kind != UPP_PART_REASONING && !wb_vec_push(&t->said, part, (size_t)PARTS))
            r = no_room(t, t->said.n);
    }
    if (r < 0 || !t->said.n)
        return r;
    struct wm_doc_entry *e = entry_add(t, UPP_ROLE_USER);
    r                      = e ? settle(t, &e->e.message, t->said.p, t->said.n) : failed(t);
    t->said.n              = 0;
    return r;
}

static int agent_of(struct lifting *t, yyjson_val *weft)
{
    struct upp_str id = text_at(weft, "agent"), name = text_at(weft, "name");
    id = id.p ? id : t->l->agent.p ? t->l->agent : UPP_STR("agent");
    t->agent              = wm_doc_agent_find(t->l->doc, id);
    struct wm_doc_agent a = {.id = id, .name = name.p ? name : id, .model = t->model, .provider = t->provider};
    return t->agent != WM_NO_AGENT ? 0 : wm_doc_agent_add(t->l->doc, &a, &t->agent, t->err);
}

static void usage_of(yyjson_val *v, struct wm_doc_turn *turn)
{
    if (!yyjson_is_obj(v))
        return;
    turn->has_usage = true;
    turn->usage     = (struct upp_usage){.input       = number_at(v, "inputTokens"),
                                         .output      = number_at(v, "outputTokens"),
                                         .cache_read  = number_at(v, "cacheReadTokens"),
                                         .cache_write = number_at(v, "cacheWriteTokens")};
    turn->reasoning = number_at(v, "reasoningTokens");
}

/* What the metadata know of the message. */
static int begin(struct lifting *t, const struct wd_ui_message *m, bool user)
{
    yyjson_val *weft           = yyjson_obj_get(m->metadata, "weft");
    t->time                    = text_at(yyjson_obj_get(m->metadata, "pydantic_ai"), "timestamp");
    t->model                   = text_at(weft, "model");
    t->provider                = text_at(weft, "provider");
    t->events                  = yyjson_obj_get(m->metadata, "weft_events");
    t->agent                   = WM_NO_AGENT;
    bool                agents = !user || text_at(weft, "agent").p; /* words to the model within its turn */
    int                 r      = agents ? agent_of(t, weft) : 0;
    struct wm_doc_turn *turn   = r < 0 ? NULL : wm_doc_turn_add(t->l->doc, t->err);
    if (!turn)
        return r < 0 ? r : failed(t);
    turn->agent = t->agent;
    turn->id    = m->id;
    turn->ended = text_at(weft, "ended");
    if (!user)
        usage_of(yyjson_obj_get(m->metadata, "usage"), turn);
    return 0;
}

static int lift_message(struct lifting *t, const struct wd_ui_message *m)
{
    struct wm_doc *doc = t->l->doc;
    size_t         at = doc->turns.n, first = doc->entries.n;
    bool           user = wb_str_eq(m->role, UPP_STR("user"));
    if (!user && !wb_str_eq(m->role, UPP_STR("assistant")))
        return 0;
    int r = begin(t, m, user);
    if (r >= 0 && user)
        r = lift_user(t, m);
    for (size_t i = 0; !user && r >= 0 && i < m->parts.n; i++)
        r = lift_part(t, &m->parts.p[i]);
    if (!user && r >= 0)
        r = step_end(t);
    size_t n = doc->entries.n - first;
    if (r < 0)
        return r;
    if (!n) { /* nothing of it is in the model: it stays in the list as a whole */
        doc->turns.n = at;
        return 0;
    }
    doc->entries.p[first].id = m->id;
    return wd_anchor(t->l, m->node.from, "message", first, n, t->err);
}

static void wrong(void *ctx, const char *pointer, const char *sentence)
{
    (void)ctx, (void)pointer, (void)sentence; /* it stays where it is; validating tells of it */
}

static int lift_list(struct lifting *t, yyjson_val *root)
{
    size_t      i, n;
    yyjson_val *v;
    yyjson_arr_foreach(root, i, n, v)
    {
        struct wd_ui_message m;
        if (!yyjson_is_obj(v))
            continue;
        int r = WJ_DECODE(t->l->a, wd_ui_message, v, UPP_OPTS(wj_decode_opts, .problem = wrong), &m, t->err);
        if (r >= 0 && m.parts.p)
            r = lift_message(t, &m);
        if (r < 0)
            return r;
    }
    return wd_anchor(t->l, root, "list", WD_THREAD, 0, t->err);
}

int wd_ui_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    struct upp_err why = {0};
    struct lifting t   = {.l = l, .err = &why};
    int r = yyjson_is_arr(root) ? lift_list(&t, root) : upp_fail(&why, UPP_EINVALID, "expected a list of UI messages");
    wb_vec_done(&t.said);
    wb_vec_done(&t.results);
    wb_vec_done(&t.meanwhile);
    if (r < 0 && err)
        *err = why;
    return r;
}
