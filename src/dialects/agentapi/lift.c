/* dialects/agentapi/lift.c — messages of the Agent API Protocol into the model.
 *
 * The messages of one reply are one entry: reasoning, text, calls; so are consecutive results. metadata.weft.joins
 * tells where an entry begins. Without it, an entry begins if the agent or role changes, if the previous message had a
 * usage, or if the kind does not follow the previous one in that order. Messages of other types, and system messages,
 * are residue.
 */
#include "base/err.h"
#include "dialects/agentapi/agentapi.h"
#include "dialects/core/lift.h"
#include "dialects/pai/pai.h"
#include "json/value.h"

struct lifting {
    struct wd_lifting *l;
    struct upp_err *err;
    enum wd_aap_form form;
    /* The open entry. */
    size_t entry;
    struct wd_aap_flow flow;
    struct wd_parts parts;
    /* The current message. */
    struct wd_parts got;
    bool silent; /* the last part has no status */
    yyjson_val *weft;
    uint32_t agent;
};

static int no_memory(const struct lifting *t)
{
    return upp_fail(t->err, UPP_ENOMEM, "no memory for a message");
}

/* ---- Media ----------------------------------------------------------------------------------------------- */

static struct upp_str mime_of(struct upp_str url)
{
    static const struct upp_str scheme = UPP_STR_INIT("data:");
    struct upp_str rest = wb_str_sub(url, scheme.n, SIZE_MAX);
    size_t n = 0;
    while (n < rest.n && rest.p[n] != ';' && rest.p[n] != ',')
        n++;
    return wb_str_starts(url, scheme) && n && n < rest.n ? wb_str(rest.p, n) : (struct upp_str){0};
}

/* An address, or bytes with a separate format. */
static int audio_of(const struct lifting *t, struct upp_str data, struct upp_str format, struct upp_part *to)
{
    struct upp_str mime = mime_of(data), none = {0};
    if (format.p && wb_str_find(data, UPP_STR(":"), 0) >= data.n) {
        mime = wb_arena_printf(t->l->a, "audio/%.*s", UPP_FMT(format));
        data = wb_arena_printf(t->l->a, "data:%.*s;base64,%.*s", UPP_FMT(mime), UPP_FMT(data));
    }
    int r = wb_arena_check(t->l->a, t->err);
    return r < 0 ? r : wd_url_media(t->l->a, data, mime, none, to, t->err);
}

static int media_of(const struct lifting *t, const struct wd_aap_content *c, struct upp_part *to)
{
    bool image = wb_str_eq(c->type, UPP_STR("image")), video = wb_str_eq(c->type, UPP_STR("video"));
    struct upp_str url = image ? c->image_url : video ? c->video_url : c->file_url.p ? c->file_url : c->file_data;
    int r;
    if (wb_str_eq(c->type, UPP_STR("audio"))) {
        if (!c->data || !yyjson_is_str(c->data))
            return 0;
        r = audio_of(t, wj_text(c->data), c->format, to);
        to->kind = UPP_PART_AUDIO;
        return r < 0 ? r : 1;
    }
    if ((!image && !video && !wb_str_eq(c->type, UPP_STR("file"))) || !url.p)
        return 0;
    r = wd_url_media(t->l->a, url, mime_of(url), image || video ? (struct upp_str){0} : c->filename, to, t->err);
    to->kind = image ? UPP_PART_IMAGE : video ? UPP_PART_VIDEO : UPP_PART_DOCUMENT;
    return r < 0 ? r : 1;
}

/* ---- Contents -------------------------------------------------------------------------------------------- */

/* Text or media; 0: neither. */
static int words_of(const struct lifting *t, const struct wd_aap_content *c, bool thought, struct upp_part *to)
{
    struct upp_str text = wb_str_eq(c->type, UPP_STR("text"))      ? c->text
                          : wb_str_eq(c->type, UPP_STR("refusal")) ? c->refusal
                                                                   : (struct upp_str){0};
    if (!text.p)
        return thought ? 0 : media_of(t, c, to);
    to->kind = thought ? UPP_PART_REASONING : UPP_PART_TEXT;
    to->text = text;
    return 1;
}

/* Arguments are a text. A text that is not canonical JSON is marked, as Pydantic AI does it. A value that is not a
 * string becomes its JSON. */
static int arguments_of(const struct lifting *t, yyjson_val *v, struct upp_part *to)
{
    bool canonical = true;
    int r = 0;
    to->text = UPP_STR("{}");
    if (!v || yyjson_is_null(v))
        return 0;
    if (!yyjson_is_str(v))
        return wj_value_text(t->l->a, v, &to->text, t->err);
    to->text = wj_text(v);
    r = wd_aap_is_canonical(to->text, &canonical, t->err);
    if (!canonical)
        to->metadata = UPP_STR(WD_AAP_RAW);
    return r;
}

/* A tool's output is JSON in a string; a string that is not JSON is the output itself. */
static int output_of(const struct lifting *t, yyjson_val *v, struct upp_str *ret)
{
    const struct wj_read_opts *opts = UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES);
    yyjson_val *read;
    *ret = UPP_STR("null");
    if (!v || !yyjson_is_str(v))
        return wj_value_text(t->l->a, v, ret, t->err);
    if (wj_is_compact(wj_text(v), opts)) {
        *ret = wj_text(v);
        return 0;
    }
    int r = wj_read(t->l->a, wj_text(v), opts, &read, NULL);
    if (r == -UPP_ENOMEM)
        return no_memory(t);
    return r < 0 ? wd_string_text(t->l->a, wj_text(v), ret, t->err) : wj_value_text(t->l->a, read, ret, t->err);
}

static int tool_of(const struct lifting *t, const struct wd_aap_content *c, bool result, struct upp_part *to)
{
    yyjson_val *arguments = yyjson_obj_get(c->data, "arguments"), *output = yyjson_obj_get(c->data, "output");
    if (!wb_str_eq(c->type, UPP_STR("data")) || !yyjson_is_obj(c->data))
        return 0;
    to->kind = result ? UPP_PART_RESULT : UPP_PART_CALL;
    to->id = wj_text_at(c->data, "call_id");
    to->name = wj_text_at(c->data, "name");
    int r = result ? output_of(t, output, &to->text) : arguments_of(t, arguments, to);
    return r < 0 ? r : 1;
}

static int lift_content(struct lifting *t, const struct wd_aap_message *m, enum wd_aap_kind kind, size_t i)
{
    const struct wd_aap_content *c = &m->content.p[i];
    struct upp_part part = {0};
    if (!c->node.from || !c->type.p)
        return 0;
    int r = kind == WD_AAP_CALL || kind == WD_AAP_OUTPUT ? tool_of(t, c, kind == WD_AAP_OUTPUT, &part)
                                                         : words_of(t, c, kind == WD_AAP_REASONING, &part);
    if (r <= 0)
        return r;
    if (kind == WD_AAP_OUTPUT)
        part.is_error = wd_aap_status(c->status.p ? c->status : m->status) == WD_AAP_FAILED;
    else
        part.cut = wd_aap_unfinished(c->status);
    t->silent = !c->status.p;
    /* The part's provider metadata. */
    yyjson_val *v = yyjson_arr_get(yyjson_obj_get(t->weft, "parts"), t->got.list.n);
    r = yyjson_is_obj(v) ? wj_value_text(t->l->a, v, &part.metadata, t->err) : 0;
    return r < 0 ? r : wd_parts_add(&t->got, &part, t->err);
}

/* ---- Entries --------------------------------------------------------------------------------------------- */

static int finish_entry(struct lifting *t)
{
    int r = t->flow.role ? wd_parts_finish(t->l->a, &t->parts, &t->l->doc->entries.p[t->entry].e.message, t->err) : 0;
    t->flow = (struct wd_aap_flow){0};
    return r;
}

static uint8_t role_of(const struct lifting *t, const struct wd_aap_message *m, enum wd_aap_kind kind)
{
    static const struct {
        struct upp_str word;
        uint8_t role;
    } roles[] = {
        {UPP_STR_INIT("user"), UPP_ROLE_USER},
        {UPP_STR_INIT("assistant"), UPP_ROLE_ASSISTANT},
        {UPP_STR_INIT("tool"), UPP_ROLE_TOOL},
    };
    if (kind != WD_AAP_MESSAGE)
        return kind == WD_AAP_OUTPUT ? UPP_ROLE_TOOL : UPP_ROLE_ASSISTANT;
    if (wb_str_eq(m->role, roles[2].word) && !yyjson_is_obj(yyjson_obj_get(m->metadata, "weft")))
        return 0; /* only our own writer gives messages this role */
    for (size_t i = 0; i < WB_LEN(roles); i++)
        if (wb_str_eq(m->role, roles[i].word))
            return roles[i].role;
    bool users = t->form != WD_AAP_RESPONSE && !wb_str_eq(m->type, UPP_STR("assistant"));
    return m->role.p ? 0 : users ? UPP_ROLE_USER : UPP_ROLE_ASSISTANT;
}

static int agent_of(struct lifting *t, bool users)
{
    yyjson_val *id = yyjson_obj_get(t->weft, "agent");
    t->agent = WM_NO_AGENT;
    if (id ? !yyjson_is_str(id) : users)
        return 0;
    return wd_agent_of(t->l, wj_text_at(t->weft, "agent"), wj_text_at(t->weft, "name"), &t->agent, t->err);
}

/* Adds an entry, with what the metadata of its first message says about it. */
static struct wm_doc_entry *begin_entry(struct lifting *t, const struct wd_aap_message *m, uint8_t role)
{
    int r = finish_entry(t);
    struct wm_doc_entry *e = r < 0 ? NULL : wd_entry_add(t->l, role, t->agent, wj_text_at(t->weft, "time"), t->err);
    if (!e)
        return NULL;
    t->entry = t->l->doc->entries.n - 1;
    e->id = wj_text_at(t->weft, "id");
    if (!e->id.p)
        e->id = m->id;
    return e;
}

static int open_entry(struct lifting *t, const struct wd_aap_message *m, uint8_t role)
{
    struct wm_doc_entry *e = begin_entry(t, m, role);
    yyjson_val *metadata = yyjson_obj_get(t->weft, "metadata");
    struct upp_str stop = wj_text_at(t->weft, "stop");
    if (!e)
        return wd_error_of(t->err);
    if (role == UPP_ROLE_ASSISTANT)
        e->said = (struct wm_reply_info){.model = wj_text_at(t->weft, "model"),
                                         .provider = wj_text_at(t->weft, "provider"),
                                         .response = wj_text_at(t->weft, "response"),
                                         .stop = stop.p ? wd_pai_stop(stop) : 0};
    t->flow = (struct wd_aap_flow){.role = role, .agent = t->agent};
    return yyjson_is_obj(metadata) ? wj_value_text(t->l->a, metadata, &e->e.message.metadata, t->err) : 0;
}

/* Appends the message's parts to the open entry. If one message holds several calls, reasoning parts or results,
 * each but the first gets an additional anchor, for which nothing is ever written: it records that the part shared a
 * message. */
static int add_parts(struct lifting *t, const struct wd_aap_message *m, enum wd_aap_kind kind)
{
    size_t at = t->parts.list.n;
    struct upp_str slot = wb_arena_numbered(t->l->a, UPP_STR("p"), at);
    int r = wb_arena_check(t->l->a, t->err);
    if (r >= 0)
        r = wd_anchor(t->l, m->node.from, slot.p, t->entry, 1, t->err);
    for (size_t i = 0; r >= 0 && i < t->got.list.n; i++) {
        r = wd_parts_add(&t->parts, &t->got.list.p[i], t->err);
        if (r < 0 || !i || kind == WD_AAP_MESSAGE)
            continue;
        slot = wb_arena_numbered(t->l->a, UPP_STR("c"), at + i);
        r = wb_arena_check(t->l->a, t->err);
        if (r >= 0)
            r = wd_anchor(t->l, m->node.from, slot.p, t->entry, 1, t->err);
    }
    return r;
}

static int lift_event(struct lifting *t, const struct wd_aap_message *m)
{
    yyjson_val *data = m->content.n == 1 && m->content.p[0].node.from ? m->content.p[0].data : NULL;
    yyjson_val *type = yyjson_obj_get(data, "type");
    if (!type || !yyjson_is_str(type))
        return 0;
    struct wm_doc_entry *e = begin_entry(t, m, 0);
    if (!e)
        return wd_error_of(t->err);
    e->e.kind = WM_ENTRY_EVENT;
    int r = wj_value_text(t->l->a, data, &e->e.data, t->err);
    return r < 0 ? r : wd_anchor(t->l, m->node.from, "p0", t->entry, 1, t->err);
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

static int lift_parts(struct lifting *t, const struct wd_aap_message *m, enum wd_aap_kind kind, uint8_t role)
{
    yyjson_val *flag = yyjson_obj_get(t->weft, "joins");
    bool joins = yyjson_is_true(flag) ? wd_aap_may_join(&t->flow, kind, role, t->agent)
                                      : !yyjson_is_false(flag) && wd_aap_joins(&t->flow, kind, role, t->agent);
    bool empty = !t->got.list.n;
    int r = joins && !empty ? 0 : open_entry(t, m, role);
    if (r >= 0)
        r = add_parts(t, m, kind);
    if (r < 0)
        return r;
    struct wm_doc_entry *e = &t->l->doc->entries.p[t->entry];
    if (role == UPP_ROLE_ASSISTANT)
        e->said.has_usage |= wd_usage_read(m->usage, wd_aap_usage, &e->said.usage);
    for (size_t i = 0; i < t->got.list.n; i++)
        e->e.message.interrupted |= t->got.list.p[i].cut;
    t->flow.kind = kind;
    t->flow.ended = empty || yyjson_is_obj(m->usage);
    return 0;
}

static int lift_message(struct lifting *t, const struct wd_aap_message *m)
{
    enum wd_aap_kind kind = wd_aap_kind(m->type);
    uint8_t role = role_of(t, m, kind);
    int r = 0;
    t->weft = yyjson_obj_get(m->metadata, "weft");
    t->got.list.n = 0;
    if (kind == WD_AAP_OTHER || !m->content.p || (!role && kind != WD_AAP_IS_EVENT))
        return 0;
    for (size_t i = 0; r >= 0 && kind != WD_AAP_IS_EVENT && i < m->content.n; i++)
        r = lift_content(t, m, kind, i);
    size_t last = t->got.list.n;
    if (last && kind != WD_AAP_OUTPUT && t->silent)
        t->got.list.p[last - 1].cut = wd_aap_unfinished(m->status);
    bool empty = kind == WD_AAP_MESSAGE && role == UPP_ROLE_ASSISTANT && !m->content.n;
    if (r < 0 || (kind != WD_AAP_IS_EVENT && !t->got.list.n && !empty))
        return r;
    r = agent_of(t, role == UPP_ROLE_USER);
    if (r < 0)
        return r;
    return kind == WD_AAP_IS_EVENT ? lift_event(t, m) : lift_parts(t, m, kind, role);
}

static int lift_list(struct lifting *t, yyjson_val *list)
{
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v)
    {
        struct wd_aap_message m;
        if (!yyjson_is_obj(v))
            continue;
        int r =
            WJ_DECODE(t->l->a, wd_aap_message, v, UPP_OPTS(wj_decode_opts, .problem = wd_ignore_problem), &m, t->err);
        if (r >= 0)
            r = lift_message(t, &m);
        if (r < 0)
            return r;
    }
    return finish_entry(t);
}

/* The whole document: a list, or an object around it, whose id is the session's. */
static int lift_root(struct lifting *t, yyjson_val *root)
{
    yyjson_val *list;
    t->form = wd_aap_form(root, &list);
    if (t->form == WD_AAP_NONE)
        return upp_fail(t->err, UPP_EINVALID,
                        "expected messages of the Agent API Protocol: a list, or an object with "
                        "'messages', 'input' or 'output'");
    if (t->form != WD_AAP_LIST)
        t->l->doc->id = wj_text_at(root, t->form == WD_AAP_SESSION ? "id" : "session_id");
    int r = lift_list(t, list);
    return r < 0 ? r : wd_anchor(t->l, root, wd_aap_slot(t->form), WD_THREAD, t->form != WD_AAP_LIST, t->err);
}

int wd_aap_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    struct upp_err why = {0};
    struct lifting t = {.l = l, .err = &why};
    int r = lift_root(&t, root);
    wb_vec_done(&t.parts.list);
    wb_vec_done(&t.got.list);
    if (r < 0 && err)
        *err = why;
    return r;
}
