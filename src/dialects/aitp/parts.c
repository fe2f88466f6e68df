/* dialects/aitp/parts.c — messages that are more than texts: calls, results, reasoning, media, parts that were cut.
 *
 * AITP has only texts. The whole message is written in UPP's JSON, in the metadata. A part that UPP does not allow is
 * written as the nearest one that it does, and `parts` has its real properties, by index: {"kind", "name", "title",
 * "error", "text", "metadata", "duration", "width", "height"}.
 */
#include "base/err.h"
#include "dialects/aitp/aitp.h"
#include "json/syntax.h"
#include "json/value.h"
#include "model/upp_json.h"

enum { DEPTH = 100 }; /* of a result that is written as UPP's JSON */

static const struct upp_str kinds[] = {
    [UPP_PART_TEXT] = UPP_STR_INIT("text"),     [UPP_PART_REASONING] = UPP_STR_INIT("reasoning"),
    [UPP_PART_IMAGE] = UPP_STR_INIT("image"),   [UPP_PART_DOCUMENT] = UPP_STR_INIT("document"),
    [UPP_PART_AUDIO] = UPP_STR_INIT("audio"),   [UPP_PART_VIDEO] = UPP_STR_INIT("video"),
    [UPP_PART_BINARY] = UPP_STR_INIT("binary"), [UPP_PART_CALL] = UPP_STR_INIT("call"),
    [UPP_PART_RESULT] = UPP_STR_INIT("result"),
};
static const struct upp_str roles[] = {
    [UPP_ROLE_USER] = UPP_STR_INIT("user"),
    [UPP_ROLE_ASSISTANT] = UPP_STR_INIT("assistant"),
    [UPP_ROLE_TOOL] = UPP_STR_INIT("tool"),
};

static uint8_t word_of(const struct upp_str *words, size_t n, struct upp_str word)
{
    for (size_t i = 1; i < n; i++)
        if (word.p && wb_str_eq(words[i], word))
            return (uint8_t)i;
    return 0;
}

bool wd_aitp_needs_whole(const struct upp_message *m, uint8_t actor_role)
{
    bool needs = m->role != actor_role || m->interrupted || m->metadata.n;
    for (size_t i = 0; !needs && i < m->n_parts; i++)
        needs = m->parts[i].kind != UPP_PART_TEXT || m->parts[i].cut || m->parts[i].metadata.n;
    return needs;
}

static bool is_json(struct upp_str s, unsigned depth)
{
    struct wj_syntax seen;
    return wj_is_compact(s, UPP_OPTS(wj_read_opts, .depth = depth)) || (s.n && wj_syntax(s, depth, &seen, NULL) == 0);
}

/* UPP's JSON does not preserve whitespace between tokens. */
static bool has_whitespace(struct upp_str json)
{
    bool inside = false, none = wd_is_compact(json);
    for (size_t i = 0; !none && i < json.n; i++) {
        char c = json.p[i];
        if (inside && c == '\\')
            i++;
        else if (c == '"')
            inside = !inside;
        else if (!inside && (c == ' ' || c == '\n' || c == '\t' || c == '\r'))
            return true;
    }
    return false;
}

/* Sets a kind that allows the media's source; false: the source is invalid. */
static bool fit_medium(struct upp_part *p)
{
    uint8_t source = p->media ? p->media->source : 0;
    bool bytes = source == UPP_SOURCE_BASE64 || source == UPP_SOURCE_BYTES;
    if (source < UPP_SOURCE_BASE64 || source > UPP_SOURCE_TEXT)
        return false;
    if (p->kind == UPP_PART_IMAGE ? source == UPP_SOURCE_TEXT : p->kind != UPP_PART_DOCUMENT && !bytes)
        p->kind = UPP_PART_DOCUMENT;
    else if (p->kind == UPP_PART_DOCUMENT && source == UPP_SOURCE_BYTES)
        p->kind = UPP_PART_IMAGE;
    return true;
}

/* The role that UPP requires for these parts. Results in a message with calls are written as calls. */
static uint8_t fit_role(const struct upp_message *m)
{
    bool calls = false, results = false;
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        calls |= p->kind == UPP_PART_CALL || (p->kind == UPP_PART_RESULT && !is_json(p->text, DEPTH));
        results |= p->kind == UPP_PART_RESULT;
    }
    if (calls || (results && m->role == UPP_ROLE_ASSISTANT))
        return UPP_ROLE_ASSISTANT;
    if (results)
        return UPP_ROLE_TOOL;
    return m->role >= UPP_ROLE_USER && m->role <= UPP_ROLE_TOOL ? m->role : UPP_ROLE_USER;
}

static void put_info(struct wd_lowering *l, const struct upp_part *p, const struct upp_part *as)
{
    bool tool = p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT;
    wj_write_open(&l->w, '{');
    if (p->kind != as->kind)
        wd_member(l, "kind", kinds[p->kind]);
    if (as->kind == UPP_PART_RESULT)
        wd_member(l, "name", p->name);
    if (tool && p->kind != as->kind && p->is_error)
        wj_put_bool(&l->w, "error", true);
    if (tool && (!p->text.n || has_whitespace(p->text)))
        wd_member(l, "text", p->text.p ? p->text : UPP_STR(""));
    if (p->media && as->kind != UPP_PART_DOCUMENT)
        wd_member(l, "title", p->media->title);
    if (p->media && p->kind != as->kind) {
        wd_member_json(l, "duration", p->media->duration);
        wd_member_json(l, "width", p->media->width);
        wd_member_json(l, "height", p->media->height);
    }
    wd_member_json(l, "metadata", p->metadata);
    wj_write_close(&l->w, '}');
}

static bool needs_info(const struct upp_part *p, const struct upp_part *as)
{
    bool tool = p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT;
    return p->kind != as->kind || p->metadata.n || (as->kind == UPP_PART_RESULT && p->name.p) ||
           (tool && (!p->text.n || has_whitespace(p->text))) ||
           (p->media && p->media->title.p && as->kind != UPP_PART_DOCUMENT);
}

static void put_infos(struct wd_lowering *l, const struct upp_part *const *from, const struct upp_message *as)
{
    bool open = false;
    for (size_t i = 0; i < as->n_parts && !l->w.failed; i++) {
        if (!needs_info(from[i], &as->parts[i]))
            continue;
        if (!open)
            wj_put_open(&l->w, "parts", '{');
        open = true;
        struct upp_str index = wb_arena_numbered(&l->scratch, UPP_STR(""), i);
        wj_write_name(&l->w, index);
        put_info(l, from[i], &as->parts[i]);
    }
    if (open)
        wj_write_close(&l->w, '}');
}

/* Makes a message that UPP allows; from[i]: the original of its part i. */
static void fit(struct wd_lowering *l, uint32_t entry, const struct upp_message *m, struct upp_message *to,
                const struct upp_part **from)
{
    static const int64_t last = 253402300799999; /* of the year 9999 */
    *to = (struct upp_message){.role = fit_role(m), .interrupted = m->interrupted, .id = m->id, .parts = to->parts};
    to->time_ms = m->time_ms < 0 || m->time_ms > last ? 0 : m->time_ms;
    for (size_t i = 0; i < m->n_parts; i++) {
        struct upp_part p = m->parts[i];
        p.metadata = (struct upp_str){0};
        bool good = p.kind >= UPP_PART_TEXT && p.kind <= UPP_PART_RESULT;
        if (p.kind == UPP_PART_RESULT && to->role != UPP_ROLE_TOOL)
            p.kind = UPP_PART_CALL;
        else if (p.kind > UPP_PART_REASONING && p.kind < UPP_PART_CALL)
            good = fit_medium(&p);
        if (!good) {
            wd_lose(l, entry, "a part", "it is of no kind that anybody knows");
            continue;
        }
        from[to->n_parts] = &m->parts[i];
        to->parts[to->n_parts++] = p;
    }
}

void wd_aitp_put_whole(struct wd_lowering *l, uint32_t entry, const struct upp_message *m)
{
    struct upp_message as = {0};
    const struct upp_part **from = NULL;
    wb_arena_reset(&l->scratch);
    as.parts = wb_new_n(&l->scratch, struct upp_part, m->n_parts + 1);
    from = wb_new_n(&l->scratch, const struct upp_part *, m->n_parts + 1);
    if (!as.parts || !from) {
        wj_writer_fail(&l->w, upp_fail(l->w.err, UPP_ENOMEM, "no memory for a message"));
        return;
    }
    fit(l, entry, m, &as, from);
    if (as.role != m->role && m->role >= UPP_ROLE_USER && m->role <= UPP_ROLE_TOOL)
        wd_member(l, "role", roles[m->role]);
    wd_member_json(l, "metadata", m->metadata);
    wd_name(l, "message");
    wm_message_write(&l->w, &as);
    put_infos(l, from, &as);
}

static struct upp_str number_at(yyjson_val *v, const char *name)
{
    v = yyjson_obj_get(v, name);
    return v && yyjson_is_raw(v) ? wj_text(v) : (struct upp_str){0};
}

static int read_info(struct wb_arena *a, yyjson_val *v, struct upp_part *p, struct upp_err *err)
{
    uint8_t kind = word_of(kinds, WB_LEN(kinds), wj_text_at(v, "kind"));
    struct upp_str name = wj_text_at(v, "name"), text = wj_text_at(v, "text"), title = wj_text_at(v, "title");
    yyjson_val *metadata = yyjson_obj_get(v, "metadata");
    bool tool = p->kind >= UPP_PART_CALL;
    if (kind && tool == (kind >= UPP_PART_CALL) && !p->media == (kind < UPP_PART_IMAGE || tool)) {
        p->is_error = kind == UPP_PART_RESULT && yyjson_is_true(yyjson_obj_get(v, "error"));
        p->kind = kind;
    }
    if (name.p)
        p->name = name;
    if (text.p && tool)
        p->text = text;
    if (p->kind == UPP_PART_RESULT && p->text.n && !is_json(p->text, WD_DOC_DEPTH)) { /* then it is a string */
        int r = wd_string_text(a, p->text, &p->text, err);
        if (r < 0)
            return r;
    }
    if (p->media && (title.p || kind)) {
        struct upp_media *media = wb_new(a, struct upp_media);
        if (!media)
            return wb_arena_check(a, err);
        *media = *p->media;
        media->title = title.p ? title : media->title;
        media->duration = kind ? number_at(v, "duration") : media->duration;
        media->width = kind ? number_at(v, "width") : media->width;
        media->height = kind ? number_at(v, "height") : media->height;
        p->media = media;
    }
    return yyjson_is_obj(metadata) ? wj_value_text(a, metadata, &p->metadata, err) : 0;
}

static bool has_texts(const struct upp_message *m, const struct wd_parts *texts)
{
    size_t n = 0;
    const struct upp_part *p = NULL;
    while ((p = upp_part_next(m, p, 1 << UPP_PART_TEXT)))
        if (n >= texts->list.n || !wb_str_eq(p->text, texts->list.p[n++].text))
            return false;
    return n == texts->list.n;
}

static int read_infos(struct wb_arena *a, yyjson_val *weft, struct upp_message *m, struct upp_err *err)
{
    yyjson_val *infos = yyjson_obj_get(weft, "parts"), *metadata = yyjson_obj_get(weft, "metadata"), *key, *value;
    size_t i, n;
    int r = 0;
    uint8_t role = word_of(roles, WB_LEN(roles), wj_text_at(weft, "role"));
    if (role)
        m->role = role;
    if (yyjson_is_obj(metadata))
        r = wj_value_text(a, metadata, &m->metadata, err);
    if (yyjson_is_obj(infos))
        yyjson_obj_foreach(infos, i, n, key, value)
        {
            uint64_t at;
            if (r >= 0 && wb_str_u64(wj_text(key), &at) && at < m->n_parts)
                r = read_info(a, value, &m->parts[at], err);
        }
    return r;
}

/* A user message has only texts and media. */
static bool is_prompt(const struct upp_message *m)
{
    return m->role == UPP_ROLE_USER &&
           !upp_part_next(m, NULL, 1 << UPP_PART_REASONING | UPP_PARTS_CALLS | UPP_PARTS_RESULTS);
}

int wd_aitp_read_whole(struct wb_arena *a, yyjson_val *weft, const struct wd_parts *texts, struct upp_message *m,
                       struct upp_err *err)
{
    struct upp_message whole;
    struct upp_err why = {0};
    yyjson_val *v = yyjson_obj_get(weft, "message");
    int r = yyjson_is_obj(v) ? wm_message_read(a, v, &whole, &why) : -UPP_EINVALID;
    if (r == -UPP_EINVALID || (r >= 0 && !has_texts(&whole, texts)))
        return 0; /* it is not ours, or `content` was edited since */
    if (r < 0) {
        if (err)
            *err = why;
        return r;
    }
    for (size_t i = 0; i < whole.n_parts; i++)
        if (whole.parts[i].kind == UPP_PART_RESULT && !whole.parts[i].text.p)
            whole.parts[i].text = UPP_STR("null"); /* as in every other dialect */
    r = read_infos(a, weft, &whole, err);
    if (r < 0 || (m->role == UPP_ROLE_USER && !is_prompt(&whole)))
        return WB_MIN(r, 0);
    m->role = whole.role;
    m->id = whole.id.n ? whole.id : (struct upp_str){0};
    m->interrupted = whole.interrupted;
    m->metadata = whole.metadata;
    m->parts = whole.parts;
    m->n_parts = whole.n_parts;
    return 1;
}
