/* model/upp_json_read.c — reads messages and threads as UPP and its reference implementation write them. */
#include "base/base64.h"
#include "base/err.h"
#include "base/iso8601.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"
#include "model/id.h"
#include "model/session_get.h"
#include "model/upp_json.h"
#include "model/upp_weft.h"

struct get {
    struct wm_getting in;
    const int64_t *untimed; /* the time of messages that have none; NULL: a time is required */
    bool checks;            /* only checks whether it is a message: JSON inside is not converted to text */
    bool leaves;            /* the caller handles metadata: */
    yyjson_val *metadata;
    bool canonical; /* the writer would produce the same text */
};

/* ---- Values --------------------------------------------------------------------------------------- */

static void refuse_missing(struct get *g, yyjson_val *object, struct upp_str name)
{
    wm_getting_fail(&g->in, object, UPP_EINVALID, "expected the member '%.*s'", UPP_FMT(name));
}

/* The first of that name. Inline because objects here have few members with short names. */
static inline yyjson_val *member(yyjson_val *object, struct upp_str name)
{
    if (!yyjson_is_obj(object))
        return NULL;
    yyjson_val *key = unsafe_yyjson_get_first(object);
    for (size_t n = unsafe_yyjson_get_len(object); n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (wj_named(key, name))
            return key + 1;
    return NULL;
}

static bool need_object(struct get *g, yyjson_val *v)
{
    if (!yyjson_is_obj(v))
        wm_getting_refuse(&g->in, v, "an object");
    return !g->in.failed;
}

/* An optional string. */
static struct upp_str get_str(struct get *g, yyjson_val *object, struct upp_str name)
{
    yyjson_val *v = member(object, name);
    if (v && yyjson_is_str(v))
        return wj_text(v);
    if (v)
        wm_getting_refuse(&g->in, v, "a string");
    return (struct upp_str){0};
}

/* A required string: v is the member of that name, or NULL. */
static inline struct upp_str need_text(struct get *g, yyjson_val *object, struct upp_str name, yyjson_val *v)
{
    if (v && yyjson_is_str(v))
        return wj_text(v);
    if (v)
        wm_getting_refuse(&g->in, v, "a string");
    else
        refuse_missing(g, object, name);
    return (struct upp_str){0};
}

static inline struct upp_str need_str(struct get *g, yyjson_val *object, struct upp_str name)
{
    return need_text(g, object, name, member(object, name));
}

static struct upp_str get_num(struct get *g, yyjson_val *object, struct upp_str name)
{
    yyjson_val *v = member(object, name);
    if (v && !yyjson_is_raw(v))
        wm_getting_refuse(&g->in, v, "a number");
    return v && yyjson_is_raw(v) ? wj_text(v) : (struct upp_str){0};
}

static struct upp_str as_text(struct get *g, yyjson_val *v)
{
    return g->checks ? (struct upp_str){0} : wm_getting_json(&g->in, v);
}

static struct upp_str get_object(struct get *g, yyjson_val *object, struct upp_str name)
{
    yyjson_val *v = member(object, name);
    return v && need_object(g, v) ? as_text(g, v) : (struct upp_str){0};
}

/* An optional array: v may be NULL. */
static size_t get_items(struct get *g, yyjson_val *v, yyjson_val **first)
{
    if (v && !yyjson_is_arr(v))
        wm_getting_refuse(&g->in, v, "an array");
    if (!v || g->in.failed)
        return 0;
    *first = unsafe_yyjson_get_first(v);
    return unsafe_yyjson_get_len(v);
}

/* A required time, as text: v is the member of that name, or NULL. *ms may be NULL. */
static struct upp_str need_time(struct get *g, yyjson_val *object, struct upp_str name, yyjson_val *v, int64_t *ms,
                                bool *usual)
{
    char upp[WB_TIME_TEXT];
    struct wb_time t;
    struct upp_str text = need_text(g, object, name, v);
    if (g->in.failed)
        return text;
    if (ms && wb_time_parse_upp(text, ms))
        return text; /* the common case */
    int r = wb_time_parse(text, &t, g->in.err);
    if (r < 0) {
        wm_getting_fail_at(&g->in, v, r);
        return text;
    }
    if (ms) {
        *ms = wb_time_ms(&t);
        struct wb_time m = wb_time_from_ms(*ms);
        *usual = wb_str_eq(wb_time_upp(&m, upp), text);
    }
    return text;
}

/* ---- Bytes ---------------------------------------------------------------------------------------- */

static bool add_byte(struct get *g, yyjson_val *v, struct wb_buf *bytes)
{
    uint64_t n;
    if (!yyjson_is_raw(v) || !wb_str_u64(wj_text(v), &n) || n > 255) {
        wm_getting_refuse(&g->in, v, "a byte (0 to 255)");
        return false;
    }
    wb_buf_addc(bytes, (char)n);
    return true;
}

/* {"0":1,"1":2}: JSON.stringify of a Uint8Array. */
static void add_indexed(struct get *g, yyjson_val *v, struct wb_buf *bytes)
{
    yyjson_val *key = unsafe_yyjson_get_first(v);
    size_t n = unsafe_yyjson_get_len(v);
    for (size_t i = 0; i < n; i++, key += 2) {
        uint64_t at;
        if (!wb_str_u64(wj_text(key), &at) || at != i) {
            wm_getting_refuse(&g->in, key, "bytes by their index, from 0 on");
            return;
        }
        if (!add_byte(g, key + 1, bytes))
            return;
    }
}

/* Converts bytes in any of the three forms to padded base64. */
static struct upp_str as_base64(struct get *g, yyjson_val *v)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf bytes = WB_BUF(WJ_MAX_BYTES);
    int r = 0;
    if (yyjson_is_str(v))
        r = wb_base64_decode(wj_text(v), &bytes, g->in.err);
    else if (yyjson_is_obj(v))
        add_indexed(g, v, &bytes);
    else if (yyjson_is_arr(v)) {
        yyjson_val *item = unsafe_yyjson_get_first(v);
        for (size_t n = unsafe_yyjson_get_len(v); n && add_byte(g, item, &bytes); n--)
            item++;
    } else
        wm_getting_refuse(&g->in, v, "bytes: base64, an array or an object of numbers");
    if (r == 0 && !g->in.failed)
        r = wb_buf_check(&bytes, g->in.err);
    if (r < 0)
        wm_getting_fail_at(&g->in, v, r);
    if (g->in.failed)
        return (struct upp_str){0};
    wb_buf_clear(g->in.scratch);
    wb_base64_add(g->in.scratch, wb_buf_str(&bytes), WB_BASE64);
    r = wb_buf_check(g->in.scratch, g->in.err);
    if (r < 0)
        wm_getting_fail_at(&g->in, v, r);
    return r < 0 ? (struct upp_str){0} : wb_arena_dup(g->in.a, wb_buf_str(g->in.scratch));
}

static struct upp_str need_bytes(struct get *g, yyjson_val *object, struct upp_str name)
{
    yyjson_val *v = member(object, name);
    if (!v)
        refuse_missing(g, object, name);
    return v ? as_base64(g, v) : (struct upp_str){0};
}

/* ---- Content -------------------------------------------------------------------------------------- */

struct word {
    struct upp_str text;
    uint8_t value;
};

/* The value of a word (v is the member "type", or NULL), or 0 and an error that names it. */
static uint8_t need_word(struct get *g, yyjson_val *object, yyjson_val *v, const struct word *words, size_t n,
                         const char *what)
{
    char found[WJ_QUOTED];
    struct upp_str text = need_text(g, object, UPP_STR("type"), v);
    if (g->in.failed)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (wj_named(v, words[i].text))
            return words[i].value;
    wm_getting_fail(&g->in, v, UPP_EINVALID, "unknown %s type %s", what, wj_quote(text, found, sizeof found));
    return 0;
}

static void get_source(struct get *g, yyjson_val *block, uint8_t kind, struct upp_media *m)
{
    static const struct word image[] = {{UPP_STR_INIT("base64"), UPP_SOURCE_BASE64},
                                        {UPP_STR_INIT("url"), UPP_SOURCE_URL},
                                        {UPP_STR_INIT("bytes"), UPP_SOURCE_BYTES}};
    static const struct word document[] = {{UPP_STR_INIT("base64"), UPP_SOURCE_BASE64},
                                           {UPP_STR_INIT("url"), UPP_SOURCE_URL},
                                           {UPP_STR_INIT("text"), UPP_SOURCE_TEXT}};
    yyjson_val *v = member(block, UPP_STR("source"));
    if (!v) {
        refuse_missing(g, block, UPP_STR("source"));
        return;
    }
    if (!need_object(g, v))
        return;
    yyjson_val *type = member(v, UPP_STR("type"));
    m->source = kind == UPP_PART_IMAGE ? need_word(g, v, type, image, WB_LEN(image), "image source")
                                       : need_word(g, v, type, document, WB_LEN(document), "document source");
    if (g->in.failed)
        return;
    if (m->source == UPP_SOURCE_URL)
        m->data = need_str(g, v, UPP_STR("url"));
    else if (m->source == UPP_SOURCE_TEXT)
        m->data = need_str(g, v, UPP_STR("data"));
    else
        m->data = need_bytes(g, v, UPP_STR("data"));
}

static void get_media(struct get *g, yyjson_val *block, struct upp_part *p)
{
    struct upp_media *m = wb_new(g->in.a, struct upp_media);
    p->media = m;
    if (!m)
        return;
    if (p->kind == UPP_PART_IMAGE || p->kind == UPP_PART_DOCUMENT)
        get_source(g, block, p->kind, m);
    else {
        m->source = UPP_SOURCE_BASE64;
        m->data = need_bytes(g, block, UPP_STR("data"));
    }
    m->mime = get_str(g, block, UPP_STR("mimeType"));
    if (p->kind == UPP_PART_DOCUMENT)
        m->title = get_str(g, block, UPP_STR("title"));
    if (p->kind == UPP_PART_AUDIO || p->kind == UPP_PART_VIDEO)
        m->duration = get_num(g, block, UPP_STR("duration"));
    if (p->kind == UPP_PART_IMAGE || p->kind == UPP_PART_VIDEO) {
        m->width = get_num(g, block, UPP_STR("width"));
        m->height = get_num(g, block, UPP_STR("height"));
    }
    if (p->kind == UPP_PART_BINARY)
        p->metadata = get_object(g, block, UPP_STR("metadata"));
}

/* ---- Fast paths: parts in canonical form ---------------------------------------------------------- */

/* So few values cannot be nested too deep to be written. */
static bool is_shallow(yyjson_val *v)
{
    return unsafe_yyjson_get_next(v) - v <= WJ_MAX_DEPTH;
}

static bool has_members(yyjson_val *v, size_t n)
{
    return yyjson_is_obj(v) && unsafe_yyjson_get_len(v) == n;
}

/* Does the member have that name and a string value? */
static bool is_text_at(yyjson_val *name, struct upp_str is)
{
    return wj_named(name, is) && yyjson_is_str(name + 1);
}

/* A text or reasoning block. False: another one, or not canonical; so for the functions below. */
static bool get_canonical_block(yyjson_val *v, struct upp_part *p)
{
    if (!has_members(v, 2) || !is_text_at(v + 1, UPP_STR("type")) || !is_text_at(v + 3, UPP_STR("text")))
        return false;
    if (wj_named(v + 2, UPP_STR("text")))
        p->kind = UPP_PART_TEXT;
    else if (wj_named(v + 2, UPP_STR("reasoning")))
        p->kind = UPP_PART_REASONING;
    else
        return false;
    p->text = wj_text(v + 4);
    return true;
}

static bool get_canonical_call(struct get *g, yyjson_val *v, struct upp_part *p)
{
    if (!has_members(v, 3) || !is_text_at(v + 1, UPP_STR("toolCallId")) || !is_text_at(v + 3, UPP_STR("toolName")) ||
        !wj_named(v + 5, UPP_STR("arguments")) || !yyjson_is_obj(v + 6) || !is_shallow(v + 6))
        return false;
    p->kind = UPP_PART_CALL;
    p->id = wj_text(v + 2);
    p->name = wj_text(v + 4);
    p->text = as_text(g, v + 6);
    return true;
}

static bool get_canonical_result(struct get *g, yyjson_val *v, struct upp_part *p)
{
    if (!has_members(v, 3) || !is_text_at(v + 1, UPP_STR("toolCallId")) || !wj_named(v + 3, UPP_STR("result")) ||
        !is_shallow(v + 4))
        return false;
    yyjson_val *error = unsafe_yyjson_get_next(v + 4);
    if (!wj_named(error, UPP_STR("isError")) || !yyjson_is_bool(error + 1))
        return false;
    p->kind = UPP_PART_RESULT;
    p->id = wj_text(v + 2);
    p->text = as_text(g, v + 4);
    p->is_error = unsafe_yyjson_is_true(error + 1);
    return true;
}

/* ---- Parts in any form ---------------------------------------------------------------------------- */

static void get_block(struct get *g, yyjson_val *v, struct upp_part *p)
{
    static const struct word types[] = {
        {UPP_STR_INIT("text"), UPP_PART_TEXT},     {UPP_STR_INIT("reasoning"), UPP_PART_REASONING},
        {UPP_STR_INIT("image"), UPP_PART_IMAGE},   {UPP_STR_INIT("document"), UPP_PART_DOCUMENT},
        {UPP_STR_INIT("audio"), UPP_PART_AUDIO},   {UPP_STR_INIT("video"), UPP_PART_VIDEO},
        {UPP_STR_INIT("binary"), UPP_PART_BINARY},
    };
    if (get_canonical_block(v, p))
        return;
    g->canonical = false;
    if (!need_object(g, v))
        return;
    p->kind = need_word(g, v, member(v, UPP_STR("type")), types, WB_LEN(types), "content block");
    if (g->in.failed)
        return;
    if (p->kind <= UPP_PART_REASONING)
        p->text = need_str(g, v, UPP_STR("text"));
    else
        get_media(g, v, p);
}

static void get_call(struct get *g, yyjson_val *v, struct upp_part *p)
{
    if (get_canonical_call(g, v, p))
        return;
    g->canonical = false;
    p->kind = UPP_PART_CALL;
    if (!need_object(g, v))
        return;
    p->id = need_str(g, v, UPP_STR("toolCallId"));
    p->name = need_str(g, v, UPP_STR("toolName"));
    if (!member(v, UPP_STR("arguments")))
        refuse_missing(g, v, UPP_STR("arguments"));
    if (!g->in.failed)
        p->text = get_object(g, v, UPP_STR("arguments"));
}

static void get_result(struct get *g, yyjson_val *v, struct upp_part *p)
{
    if (get_canonical_result(g, v, p))
        return;
    g->canonical = false;
    p->kind = UPP_PART_RESULT;
    if (!need_object(g, v))
        return;
    p->id = need_str(g, v, UPP_STR("toolCallId"));
    yyjson_val *value = member(v, UPP_STR("result")), *error = member(v, UPP_STR("isError"));
    if (error && !yyjson_is_bool(error))
        wm_getting_refuse(&g->in, error, "true or false");
    p->is_error = error && yyjson_is_true(error);
    if (value && !g->in.failed)
        p->text = as_text(g, value);
}

/* ---- metadata.weft -------------------------------------------------------------------------------- */

/* Restores the original order of the parts (content comes first in UPP), if `order` fits them. */
static void reorder(struct get *g, yyjson_val *order, struct upp_message *m, size_t n_content)
{
    struct upp_part *to = m->n_parts ? wb_new_n(g->in.a, struct upp_part, m->n_parts) : NULL;
    if (!to || !yyjson_is_arr(order) || unsafe_yyjson_get_len(order) != m->n_parts)
        return;
    yyjson_val *item = unsafe_yyjson_get_first(order);
    size_t next[2] = {0, n_content}, end[2] = {n_content, m->n_parts};
    for (size_t i = 0; i < m->n_parts; i++, item = unsafe_yyjson_get_next(item)) {
        size_t list = !yyjson_is_str(item) || !wb_str_eq(wj_text(item), UPP_STR("content"));
        if (next[list] == end[list])
            return;
        to[i] = m->parts[next[list]++];
        if (!yyjson_is_str(item) || !wb_str_eq(wj_text(item), wm_weft_word(to[i].kind)))
            return;
    }
    m->parts = to;
}

/* Do both texts have the same value? */
static bool is_value(struct get *g, struct upp_str text, struct upp_str compact)
{
    yyjson_val *v;
    int r = wj_read(g->in.a, text, NULL, &v, NULL);
    if (r == -UPP_ENOMEM)
        g->in.failed = g->in.failed ? g->in.failed : wb_arena_check(g->in.a, g->in.err);
    return r >= 0 && wb_str_eq(as_text(g, v), compact);
}

/* Restores arguments that are not objects, or not spelled as we write them, by the number of the call. */
static void get_arguments(struct get *g, yyjson_val *map, struct upp_message *m)
{
    if (!map || !yyjson_is_obj(map) || !m->n_parts)
        return;
    struct upp_part **calls = wb_new_n(g->in.a, struct upp_part *, m->n_parts);
    size_t n = 0;
    for (size_t i = 0; calls && i < m->n_parts; i++)
        if (m->parts[i].kind == UPP_PART_CALL)
            calls[n++] = &m->parts[i];
    yyjson_val *key = unsafe_yyjson_get_first(map);
    for (size_t k = unsafe_yyjson_get_len(map); k; k--, key = unsafe_yyjson_get_next(key + 1)) {
        uint64_t at;
        if (yyjson_is_str(key + 1) && wb_str_u64(wj_text(key), &at) && at < n &&
            (wb_str_eq(calls[at]->text, UPP_STR("{}")) || is_value(g, wj_text(key + 1), calls[at]->text)))
            calls[at]->text = wj_text(key + 1);
    }
}

static void get_cut(yyjson_val *list, struct upp_message *m)
{
    if (!yyjson_is_arr(list))
        return;
    yyjson_val *item = unsafe_yyjson_get_first(list);
    for (size_t n = unsafe_yyjson_get_len(list); n; n--, item = unsafe_yyjson_get_next(item)) {
        uint64_t at;
        if (yyjson_is_raw(item) && wb_str_u64(wj_text(item), &at) && at < m->n_parts)
            m->parts[at].cut = true;
    }
}

int wm_weft_foreign(struct wb_arena *a, struct wb_buf *scratch, yyjson_val *map, const struct upp_str *ours,
                    struct upp_str *ret, struct upp_err *err)
{
    struct wj_writer w;
    yyjson_val *key, *value;
    size_t i, max, kept = 0;
    wb_buf_clear(scratch);
    wj_writer_init(&w, scratch, err);
    wj_write_open(&w, '{');
    yyjson_obj_foreach(map, i, max, key, value)
    {
        if (!wm_weft_is_weft(key))
            wj_put_member(&w, key);
        else if (wm_weft_put_others(NULL, value, ours)) {
            wj_put_open(&w, "weft", '{');
            (void)wm_weft_put_others(&w, value, ours);
            wj_write_close(&w, '}');
        } else
            continue;
        kept++;
    }
    wj_write_close(&w, '}');
    return kept ? wj_writer_text(&w, a, ret) : wj_writer_check(&w);
}

static void get_weft(struct get *g, yyjson_val *weft, struct upp_message *m, size_t n_content)
{
    yyjson_val *order = NULL, *arguments = NULL, *interrupted = NULL, *cut = NULL;
    yyjson_val *key = unsafe_yyjson_get_first(weft);
    for (size_t n = unsafe_yyjson_get_len(weft); n; n--, key = unsafe_yyjson_get_next(key + 1)) {
        yyjson_val **is = wj_named(key, wm_upp_message_names[WM_WEFT_ORDER])         ? &order
                          : wj_named(key, wm_upp_message_names[WM_WEFT_ARGUMENTS])   ? &arguments
                          : wj_named(key, wm_upp_message_names[WM_WEFT_INTERRUPTED]) ? &interrupted
                          : wj_named(key, wm_upp_message_names[WM_WEFT_CUT])         ? &cut
                                                                                     : NULL;
        if (is && !*is)
            *is = key + 1;
    }
    if (order)
        reorder(g, order, m, n_content); /* else UPP's order stays */
    get_arguments(g, arguments, m);
    m->interrupted = interrupted && yyjson_is_true(interrupted);
    get_cut(cut, m);
}

static void get_metadata(struct get *g, yyjson_val *map, struct upp_message *m, size_t n_content)
{
    if (!map || !need_object(g, map))
        return;
    yyjson_val *weft = wm_weft_find(map);
    g->metadata = map;
    if (weft)
        get_weft(g, weft, m, n_content);
    if (g->leaves || g->checks)
        return;
    if (!weft)
        m->metadata = as_text(g, map);
    else {
        int r = wm_weft_foreign(g->in.a, g->in.scratch, map, wm_upp_part_names, &m->metadata, g->in.err);
        if (r < 0)
            wm_getting_fail_at(&g->in, map, r);
    }
}

/* ---- Messages and threads --------------------------------------------------------------------------- */

/* The members of a message, in the order of writing. */
enum { ID, TYPE, CONTENT, METADATA, TIMESTAMP, CALLS, RESULTS, MEMBERS };
/* clang-format off */
static const struct upp_str members[] = {
    [ID]        = UPP_STR_INIT("id"),
    [TYPE]      = UPP_STR_INIT("type"),
    [CONTENT]   = UPP_STR_INIT("content"),
    [METADATA]  = UPP_STR_INIT("metadata"),
    [TIMESTAMP] = UPP_STR_INIT("timestamp"),
    [CALLS]     = UPP_STR_INIT("toolCalls"),
    [RESULTS]   = UPP_STR_INIT("results"),
    [MEMBERS]   = {0},
};
/* clang-format on */

static void get_parts(struct get *g, yyjson_val *v, yyjson_val *const *found, struct upp_message *m, size_t *n_content)
{
    yyjson_val *block = NULL, *item = NULL;
    bool tool = m->role == UPP_ROLE_TOOL;
    yyjson_val *content = found[CONTENT];
    if (!tool && !content)
        refuse_missing(g, v, UPP_STR("content"));
    size_t n = get_items(g, content, &block), more = 0;
    if (m->role != UPP_ROLE_USER)
        more = get_items(g, found[tool ? RESULTS : CALLS], &item);
    *n_content = n;
    if (n > WM_PARTS || more > WM_PARTS - n)
        wm_getting_fail(&g->in, v, UPP_ELIMIT, "expected at most %d parts, found %zu", WM_PARTS, n + more);
    if (g->in.failed || n + more == 0)
        return;
    m->parts = wb_new_n(g->in.a, struct upp_part, n + more);
    m->n_parts = m->parts ? n + more : 0;
    for (size_t i = 0; i < m->n_parts && !g->in.failed; i++) {
        if (i < n) {
            get_block(g, block, &m->parts[i]);
            block = unsafe_yyjson_get_next(block);
        } else {
            (tool ? get_result : get_call)(g, item, &m->parts[i]);
            item = unsafe_yyjson_get_next(item);
        }
    }
}

/* Does a message of that role have exactly the lists that the writer would write? */
static bool has_its_lists(uint8_t role, yyjson_val *const *found)
{
    if (role == UPP_ROLE_TOOL)
        return found[CONTENT] && found[RESULTS] && !found[CALLS];
    bool calls = role == UPP_ROLE_ASSISTANT ? !found[CALLS] || yyjson_arr_size(found[CALLS]) : !found[CALLS];
    return found[CONTENT] && calls && !found[RESULTS];
}

static void get_message(struct get *g, yyjson_val *v, struct upp_message *m)
{
    static const struct word types[] = {{UPP_STR_INIT("user"), UPP_ROLE_USER},
                                        {UPP_STR_INIT("assistant"), UPP_ROLE_ASSISTANT},
                                        {UPP_STR_INIT("tool_result"), UPP_ROLE_TOOL}};
    yyjson_val *found[MEMBERS];
    size_t n_content;
    bool usual = true;
    if (!need_object(g, v))
        return;
    g->canonical = wj_members_in_order(v, members, MEMBERS, found);
    m->id = need_text(g, v, members[ID], found[ID]);
    m->role = need_word(g, v, found[TYPE], types, WB_LEN(types), "message");
    if (g->in.failed)
        return;
    get_parts(g, v, found, m, &n_content);
    if (g->untimed && !found[TIMESTAMP])
        m->time_ms = *g->untimed;
    else {
        struct upp_str time = need_time(g, v, members[TIMESTAMP], found[TIMESTAMP], &m->time_ms, &usual);
        if (!usual)
            m->time_text = time;
    }
    g->canonical &= found[TIMESTAMP] && usual && has_its_lists(m->role, found);
    if (!g->in.failed)
        get_metadata(g, found[METADATA], m, n_content);
}

static int finish_get(struct get *g)
{
    int r = wb_arena_check(g->in.a, g->in.failed ? NULL : g->in.err);
    return g->in.failed ? g->in.failed : r;
}

static int read_message(struct get *g, struct upp_message *ret)
{
    struct upp_message m = {0};
    get_message(g, g->in.root, &m);
    int r = finish_get(g);
    if (r == 0)
        *ret = m;
    return r;
}

int wm_message_read(struct wb_arena *a, yyjson_val *v, struct upp_message *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf scratch = WB_BUF(WM_MESSAGE_SCRATCH);
    return read_message(&(struct get){.in = {.a = a, .root = v, .scratch = &scratch, .err = err}}, ret);
}

int wm_message_check(struct wb_arena *a, yyjson_val *v, struct upp_message *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf scratch = WB_BUF(WM_MESSAGE_SCRATCH);
    return read_message(&(struct get){.in = {.a = a, .root = v, .scratch = &scratch, .err = err}, .checks = true}, ret);
}

int wm_message_read_untimed(struct wb_arena *a, yyjson_val *v, int64_t ms, struct upp_message *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf scratch = WB_BUF(WM_MESSAGE_SCRATCH);
    return read_message(&(struct get){.in = {.a = a, .root = v, .scratch = &scratch, .err = err}, .untimed = &ms}, ret);
}

int wm_message_lift(struct wb_arena *a, struct wb_buf *scratch, yyjson_val *v, int64_t ms, struct upp_message *ret,
                    struct wm_message_sidecar *sidecar, struct upp_err *err)
{
    struct get g = {.in = {.a = a, .root = v, .scratch = scratch, .err = err}, .untimed = &ms, .leaves = true};
    int r = read_message(&g, ret);
    if (r == 0)
        *sidecar = (struct wm_message_sidecar){g.metadata, g.canonical};
    return r;
}

static struct upp_message *read_list(struct get *g, yyjson_val *first, size_t n)
{
    struct upp_message *list = n ? wb_new_n(g->in.a, struct upp_message, n) : NULL;
    for (size_t i = 0; list && i < n && !g->in.failed; i++, first = unsafe_yyjson_get_next(first))
        get_message(g, first, &list[i]);
    return list;
}

int wm_messages_read(struct wb_arena *a, yyjson_val *root, yyjson_val *list, struct upp_message **ret, size_t *n,
                     struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf scratch = WB_BUF(WM_MESSAGE_SCRATCH);
    struct get g = {.in = {.a = a, .root = root, .scratch = &scratch, .err = err}};
    if (!yyjson_is_arr(list))
        wm_getting_refuse(&g.in, list, "an array");
    size_t found = g.in.failed ? 0 : unsafe_yyjson_get_len(list);
    struct upp_message *messages = found ? read_list(&g, unsafe_yyjson_get_first(list), found) : NULL;
    int r = finish_get(&g);
    if (r == 0) {
        *ret = messages;
        *n = found;
    }
    return r;
}

int wm_thread_read(struct wb_arena *a, yyjson_val *v, struct wm_thread_json *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf scratch = WB_BUF(WM_MESSAGE_SCRATCH);
    struct get g = {.in = {.a = a, .root = v, .scratch = &scratch, .err = err}};
    struct wm_thread_json t = {0};
    yyjson_val *item = NULL;
    if (!need_object(&g, v))
        return g.in.failed;
    t.id = need_str(&g, v, UPP_STR("id"));
    yyjson_val *list = member(v, UPP_STR("messages"));
    if (!list)
        refuse_missing(&g, v, UPP_STR("messages"));
    t.n = get_items(&g, list, &item);
    t.messages = read_list(&g, item, t.n);
    t.created = need_time(&g, v, UPP_STR("createdAt"), member(v, UPP_STR("createdAt")), NULL, NULL);
    t.updated = need_time(&g, v, UPP_STR("updatedAt"), member(v, UPP_STR("updatedAt")), NULL, NULL);
    int r = finish_get(&g);
    if (r == 0)
        *ret = t;
    return r;
}
