/* dialects/thread/extension_needs.c — finds what the members of a thread cannot express of the model, and must be
 * carried. */
#include "base/err.h"
#include "dialects/thread/extension.h"
#include "json/compact.h"
#include "json/read.h"
#include "json/value.h"

/* ---- What the members of a part express of its metadata ---------------------------------------------------- */

enum {
    ANSWER_TEXT = 1 << 0, /* a text of the assistant */
    REASONING = 1 << 1,
    CALL = 1 << 2,
    RESULT = 1 << 3,
    FILE_ = 1 << 4,
    PROMPT_MEDIA = 1 << 5,
    FEEDBACK = 1 << 6, /* a text that is a retry-prompt */
    RETRY = 1 << 7,    /* a result that is a retry-prompt */
};

/* In the order in which lift.c writes them. */
static const struct {
    const char *name;
    unsigned kinds;
    char type; /* 's' a string, 't' true, 'a' anything except null; for the others see is_type */
} members[] = {
    {"identifier", FILE_ | PROMPT_MEDIA, 's'},
    {"force_download", FILE_ | PROMPT_MEDIA, 'd'},
    {"vendor_metadata", FILE_ | PROMPT_MEDIA, 'a'},
    {"id", ANSWER_TEXT | REASONING | CALL | FILE_, 's'},
    {"signature", REASONING, 's'},
    {"provider_name", ANSWER_TEXT | REASONING | CALL | FILE_, 's'},
    {"provider_details", ANSWER_TEXT | REASONING | CALL | FILE_, 'a'},
    {"tool_kind", CALL | RESULT, 's'},
    {"raw_args", CALL, 't'},
    {"retry", FEEDBACK | RETRY, 't'},
    {"errors", FEEDBACK, 't'},
    {"outcome", RESULT, 'o'},
    {"status", RESULT, 'v'},
    {"metadata", RESULT, 'a'},
};

static unsigned kind_of(const struct upp_message *m, const struct upp_part *p, bool retry)
{
    bool prompt = m->role == UPP_ROLE_USER;
    if (p->media)
        return prompt ? PROMPT_MEDIA : FILE_;
    switch (p->kind) {
    case UPP_PART_TEXT:
        return !prompt ? ANSWER_TEXT : retry && m->n_parts == 1 ? FEEDBACK : 0;
    case UPP_PART_REASONING:
        return REASONING;
    case UPP_PART_CALL:
        return CALL;
    default:
        return retry && p->id.p && p->name.p ? RETRY : RESULT;
    }
}

static bool is_type(yyjson_val *v, char type)
{
    switch (type) {
    case 's':
        return yyjson_is_str(v);
    case 't':
        return yyjson_is_true(v);
    case 'd': /* false is not written */
        return !yyjson_is_null(v) && !yyjson_is_false(v);
    case 'o': /* success is not written */
        return yyjson_is_str(v) && !wb_str_eq(wj_text(v), UPP_STR("success"));
    case 'v':
        return yyjson_is_str(v) && wb_str_eq(wj_text(v), UPP_STR("validation_error"));
    default:
        return !yyjson_is_null(v);
    }
}

/* Will reading the thread give exactly the same metadata? */
static bool metadata_returns(struct wd_lowering *l, const struct upp_message *m, const struct upp_part *p)
{
    yyjson_val *v = NULL, *own, *key;
    size_t at = 0;
    if (!p->metadata.n)
        return true;
    wb_arena_reset(&l->scratch);
    v = wd_scratch_read(l, p->metadata);
    if (!yyjson_is_obj(v))
        return true; /* not valid metadata */
    own = yyjson_obj_get(v, "pydantic_ai");
    if (!yyjson_is_obj(own) || unsafe_yyjson_get_len(v) != 1 || !unsafe_yyjson_get_len(own))
        return false;
    unsigned kind = kind_of(m, p, yyjson_is_true(yyjson_obj_get(own, "retry")));
    key = unsafe_yyjson_get_first(own);
    for (size_t n = unsafe_yyjson_get_len(own); n; n--, key = unsafe_yyjson_get_next(key + 1)) {
        while (at < WB_LEN(members) && !wb_str_eq(wj_text(key), wb_cstr(members[at].name)))
            at++;
        if (at == WB_LEN(members) || !(members[at].kinds & kind) || !is_type(key + 1, members[at].type))
            return false;
        if (members[at].type == 'd' && p->media->source != UPP_SOURCE_URL)
            return false;
        at++;
    }
    return true;
}

/* ---- Parts --------------------------------------------------------------------------------------------------- */

/* Is it written as a value that is read back as the same text? */
static bool is_same_value(struct wd_lowering *l, struct upp_str text)
{
    if (wd_is_compact_still(l, text))
        return text.p[0] != '"' && text.p[0] != 'n';
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    yyjson_val *v = wd_scratch_read(l, text);
    if (!v || yyjson_is_str(v) || yyjson_is_null(v))
        return false;
    int r = wj_write(v, &b, l->w.err);
    if (r < 0)
        wj_writer_fail(&l->w, r);
    return r >= 0 && wb_str_eq(wb_buf_str(&b), text);
}

/* Would the text come back differently? For a call: arguments that are a string, null, or invalid JSON. */
static bool text_differs(struct wd_lowering *l, const struct upp_message *m, const struct upp_part *p, yyjson_val *own)
{
    switch (p->kind) {
    case UPP_PART_CALL:
        if (own && yyjson_is_true(yyjson_obj_get(own, "raw_args")))
            return false;
        return p->text.n ? !wb_str_eq(p->text, UPP_STR("{}")) && !is_same_value(l, p->text) : true;
    case UPP_PART_TEXT: /* feedback */
        return own && m->role == UPP_ROLE_USER && m->n_parts == 1 && yyjson_is_true(yyjson_obj_get(own, "retry")) &&
               yyjson_is_true(yyjson_obj_get(own, "errors")) && !is_same_value(l, p->text);
    default:
        return p->kind == UPP_PART_RESULT && !p->text.n;
    }
}

static bool error_differs(const struct upp_part *p, yyjson_val *own)
{
    if (!own || p->kind != UPP_PART_RESULT)
        return false;
    yyjson_val *outcome = yyjson_obj_get(own, "outcome"), *status = yyjson_obj_get(own, "status");
    bool error = p->is_error;
    if (yyjson_is_true(yyjson_obj_get(own, "retry")) && p->id.p && p->name.p)
        error = true;
    else if (yyjson_is_str(outcome))
        error = !wb_str_eq(wj_text(outcome), UPP_STR("success"));
    else if (yyjson_is_str(status))
        error = !wb_str_eq(wj_text(status), UPP_STR("success"));
    return error != p->is_error;
}

/* Base64 is read in the standard alphabet, padded: does this differ? */
static bool data_differs(const struct upp_media *m)
{
    struct upp_str text = m->data;
    size_t n = text.n;
    if (m->source == UPP_SOURCE_URL || m->source == UPP_SOURCE_TEXT)
        return false;
    while (n && text.p[n - 1] == '=')
        n--;
    return n % 4 != 1 && n && ((n + 3) / 4 * 4 != text.n || memchr(text.p, '-', n) || memchr(text.p, '_', n));
}

static void needs_medium(const struct upp_part *p, struct wd_carried_needs *to)
{
    const struct upp_media *m = p->media;
    bool text = m->source == UPP_SOURCE_TEXT;
    const char *kind = m->source == UPP_SOURCE_URL ? wd_pai_url_kind(p->kind) : "binary";
    to->title = m->title.p;
    to->source = text || (m->source != UPP_SOURCE_URL && m->source != UPP_SOURCE_BASE64);
    to->kind = text || wd_pai_medium(wb_cstr(kind), m->mime) != p->kind;
    to->size = m->duration.p || m->width.p || m->height.p;
    to->data = data_differs(m);
    if (text)
        to->metadata = p->metadata.n;
}

bool wd_carried_is_expressed(struct wd_lowering *l, const struct upp_message *m, const struct upp_part *p)
{
    if (p->metadata.n || p->media || p->cut || !wd_carried_part_fits(m, p))
        return false;
    return p->kind == UPP_PART_TEXT || !text_differs(l, m, p, NULL);
}

struct wd_carried_needs wd_carried_needs(struct wd_lowering *l, const struct upp_message *m, const struct upp_part *p,
                                         bool is_new)
{
    struct wd_carried_needs n = {.cut = p->cut};
    if (is_new || !wd_carried_part_fits(m, p)) {
        bool media = p->media;
        return (struct wd_carried_needs){.whole = true,
                                         .kind = true,
                                         .metadata = p->metadata.n,
                                         .text = p->text.p,
                                         .cut = p->cut,
                                         .title = media && p->media->title.p,
                                         .source = media,
                                         .size = media,
                                         .data = media,
                                         .error = p->is_error};
    }
    yyjson_val *own = p->kind == UPP_PART_REASONING ? NULL : wd_pai_own(l, p->metadata);
    n.error = error_differs(p, own);
    n.text = text_differs(l, m, p, own);
    n.metadata = n.text ? p->metadata.n : !metadata_returns(l, m, p);
    if (p->media)
        needs_medium(p, &n);
    return n;
}

/* ---- Entries ------------------------------------------------------------------------------------------------- */

/* Has it this role, and a part that a request can express? */
static bool is_expressible(const struct wm_doc_entry *e, uint8_t role)
{
    const struct upp_message *m = &e->e.message;
    if (e->e.kind == WM_ENTRY_EVENT || m->role != role || !wm_is_visible(&e->e))
        return false;
    for (size_t i = 0; i < m->n_parts; i++)
        if (wd_carried_part_fits(m, &m->parts[i]))
            return true;
    return false;
}

/* Consecutive results are read as one message. */
static bool follows_results(const struct wd_lowering *l, uint32_t first, uint32_t i)
{
    while (i-- > first) {
        if (is_expressible(&l->doc->entries.p[i], UPP_ROLE_TOOL))
            return true;
        if (is_expressible(&l->doc->entries.p[i], UPP_ROLE_USER))
            return false;
    }
    return false;
}

bool wd_carried_is_unsupported(const struct wd_lowering *l, const struct wd_carry *c, uint32_t i)
{
    const struct wm_doc_entry *e = &l->doc->entries.p[i];
    return !is_expressible(e, UPP_ROLE_USER) && (!is_expressible(e, UPP_ROLE_TOOL) || follows_results(l, c->first, i));
}

/* ---- Events -------------------------------------------------------------------------------------------------- */

void wd_carried_mention(struct wd_lowering *l, struct wj_writer *w, yyjson_val *v)
{
    uint32_t agent = yyjson_is_str(v) ? wm_doc_agent_find(l->doc, wj_text(v)) : WM_NO_AGENT;
    if (agent == WM_NO_AGENT) {
        wj_write_value(w, v);
        return;
    }
    const struct wm_doc_agent *a = &l->doc->agents.p[agent];
    wj_write_str(w, a->id.p ? a->id : a->name);
}

static bool are_texts(yyjson_val *list)
{
    yyjson_val *one;
    size_t i, n;
    bool all = yyjson_is_arr(list);
    yyjson_arr_foreach(list, i, n, one)
    {
        all &= yyjson_is_str(one);
    }
    return all;
}

/* Writes the event as it would be read back. */
static void put_as_read(struct wd_lowering *l, struct wj_writer *w, yyjson_val *v)
{
    yyjson_val *source = yyjson_obj_get(v, "source"), *targets = yyjson_obj_get(v, "targets"), *one;
    size_t i, n;
    wj_write_open(w, '{');
    wj_put_value(w, "type", yyjson_obj_get(v, "type"));
    wj_put_value(w, "data", yyjson_obj_get(v, "data"));
    if (source) {
        wj_write_name(w, UPP_STR("source"));
        wd_carried_mention(l, w, source);
    }
    if (targets) {
        wj_put_open(w, "targets", '[');
        yyjson_arr_foreach(targets, i, n, one)
        {
            wd_carried_mention(l, w, one);
        }
        wj_write_close(w, ']');
    }
    wj_write_close(w, '}');
}

bool wd_carried_event_is_expressed(struct wd_lowering *l, const struct wm_doc_entry *e)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer w;
    wb_arena_reset(&l->scratch);
    yyjson_val *v = wd_scratch_read(l, e->e.data), *type = yyjson_obj_get(v, "type");
    yyjson_val *source = yyjson_obj_get(v, "source"), *targets = yyjson_obj_get(v, "targets");
    if (!yyjson_is_str(type) || !yyjson_obj_get(v, "data") || (source && !yyjson_is_str(source)) ||
        (targets && !are_texts(targets)))
        return false;
    wj_writer_init(&w, &b, l->w.err);
    put_as_read(l, &w, v);
    int r = wj_writer_check(&w);
    if (r < 0)
        wj_writer_fail(&l->w, r);
    return r >= 0 && wb_str_eq(wb_buf_str(&b), e->e.data);
}
