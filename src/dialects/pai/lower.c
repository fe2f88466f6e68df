/* dialects/pai/lower.c — writes the model's parts as Pydantic AI and ThreadProtocol do. */
#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/pai/pai.h"
#include "json/read.h"
#include "json/value.h"

#include <upp/model.h>

const char *wd_pai_finish(uint8_t stop)
{
    static const char *const words[] = {[UPP_STOP_END] = "stop",
                                        [UPP_STOP_LENGTH] = "length",
                                        [UPP_STOP_TOOLS] = "tool_call",
                                        [UPP_STOP_FILTER] = "content_filter",
                                        [UPP_STOP_ERROR] = "error"};
    return stop < WB_LEN(words) ? words[stop] : NULL;
}

struct upp_str wd_pai_time_made(struct wd_lowering *l, const struct upp_message *m)
{
    char text[WB_TIME_TEXT];
    struct wd_timed *last = &l->pai_time;
    if (!last->spelled.p || last->ms != m->time_ms) {
        struct wb_time t = wb_time_from_ms(m->time_ms);
        last->spelled = wb_arena_dup(&l->keep, wb_time_pydantic(&t, text));
        last->ms = m->time_ms;
    }
    return last->spelled;
}

struct upp_str wd_pai_time_dumped(struct wd_lowering *l, struct upp_str given, int64_t otherwise)
{
    char text[WB_TIME_TEXT];
    struct wb_time t;
    if (wb_time_is_pydantic(given))
        return given;
    if (!given.p || wb_time_parse(given, &t, NULL) < 0)
        t = wb_time_from_ms(otherwise);
    struct upp_str dumped = wb_time_pydantic(&t, text);
    return wb_str_eq(dumped, given) ? given : wb_arena_dup(&l->keep, dumped);
}

/* ---- Metadata of a part ----------------------------------------------------------------------------------- */

/* metadata.pydantic_ai, or that of another provider; NULL: none. Valid until the next one is read. */
struct sidecar {
    yyjson_val *own;
    struct upp_str provider; /* the provider, if it is not Pydantic AI */
};

static struct sidecar read_sidecar(struct wd_lowering *l, struct upp_str metadata)
{
    struct sidecar b = {0};
    yyjson_val *v;
    if (!metadata.n)
        return b;
    wb_arena_reset(&l->scratch);
    v = wd_scratch_read(l, metadata);
    if (!yyjson_is_obj(v))
        return b;
    b.own = yyjson_obj_get(v, "pydantic_ai");
    if (b.own || !unsafe_yyjson_get_len(v))
        return b;
    yyjson_val *key = unsafe_yyjson_get_first(v); /* that of a provider comes before our own (model/call_source.h) */
    if (wj_named(key, UPP_STR("weft")))
        return b;
    b.provider = wj_text(key);
    b.own = key + 1;
    return b;
}

yyjson_val *wd_pai_own(struct wd_lowering *l, struct upp_str metadata)
{
    return read_sidecar(l, metadata).own;
}

yyjson_val *wd_pai_own_at(struct wd_lowering *l, struct upp_str metadata, const char *name)
{
    struct sidecar b = read_sidecar(l, metadata);
    return b.provider.p ? NULL : yyjson_obj_get(b.own, name);
}

/* Inline: most parts have no metadata, and many members are looked up. */
static inline yyjson_val *sidecar_at(const struct sidecar *b, const char *name)
{
    return b->own ? yyjson_obj_get(b->own, name) : NULL;
}

static struct upp_str text_of(const struct sidecar *b, const char *name)
{
    yyjson_val *v = sidecar_at(b, name);
    return wj_text_of(v);
}

static bool is_true(const struct sidecar *b, const char *name)
{
    return yyjson_is_true(sidecar_at(b, name));
}

/* Are metadata members written? Pydantic AI writes null where ThreadProtocol omits them, and most parts have none. */
static inline bool puts_sidecar(const struct wd_pai_out *o, const struct sidecar *b)
{
    return b->own || o->style == WD_PAI_PYDANTIC;
}

static void put_text(struct wd_pai_out *o, const char *name, struct upp_str text)
{
    if (o->style == WD_PAI_PYDANTIC)
        wd_member_or_null(o->l, name, text);
    else
        wd_member(o->l, name, text);
}

static void put_value(struct wd_pai_out *o, const char *name, yyjson_val *v)
{
    if (!v && o->style == WD_PAI_THREAD)
        return;
    wd_name(o->l, name);
    if (v)
        wj_write_value(&o->l->w, v);
    else
        wj_write_null(&o->l->w);
}

static void put_sidecar(struct wd_pai_out *o, const struct sidecar *b, const char *name)
{
    put_value(o, name, sidecar_at(b, name));
}

/* Pydantic AI accepts only an object. */
static void put_object(struct wd_pai_out *o, const struct sidecar *b, const char *name)
{
    yyjson_val *v = sidecar_at(b, name);
    put_value(o, name, o->style == WD_PAI_THREAD || yyjson_is_obj(v) ? v : NULL);
}

/* And only these two kinds. */
static void put_tool_kind(struct wd_pai_out *o, const struct sidecar *b)
{
    struct upp_str kind = text_of(b, "tool_kind");
    if (o->style == WD_PAI_THREAD)
        put_sidecar(o, b, "tool_kind");
    else if (wb_str_eq(kind, UPP_STR("tool-search")) || wb_str_eq(kind, UPP_STR("capability-load")))
        wd_member(o->l, "tool_kind", kind);
    else
        put_text(o, "tool_kind", (struct upp_str){0});
}

/* Pydantic AI accepts no null as a tool's name. */
static void put_tool_name(struct wd_pai_out *o, struct upp_str name)
{
    wd_member_or_null(o->l, "tool_name", name.p || o->style == WD_PAI_THREAD ? name : UPP_STR(""));
}

static struct upp_str provider_of(const struct sidecar *b)
{
    struct upp_str given = text_of(b, "provider_name");
    return given.p ? given : b->provider;
}

static void put_provider(struct wd_pai_out *o, const struct sidecar *b)
{
    put_text(o, "provider_name", text_of(b, "provider_name"));
    put_object(o, b, "provider_details");
}

/* The part's kind comes first in ThreadProtocol, last in Pydantic AI. */
static void open_part(struct wd_pai_out *o, struct upp_str kind)
{
    wj_write_open(&o->l->w, '{');
    if (o->style == WD_PAI_THREAD)
        wd_member(o->l, "part_kind", kind);
}

static void close_part(struct wd_pai_out *o, struct upp_str kind)
{
    if (o->style == WD_PAI_PYDANTIC)
        wd_member(o->l, "part_kind", kind);
    wj_write_close(&o->l->w, '}');
}

/* ---- Media ------------------------------------------------------------------------------------------------ */

const char *wd_pai_url_kind(uint8_t kind)
{
    switch (kind) {
    case UPP_PART_IMAGE:
        return "image-url";
    case UPP_PART_AUDIO:
        return "audio-url";
    case UPP_PART_VIDEO:
        return "video-url";
    default:
        return "document-url";
    }
}

/* Base64 in the URL-safe alphabet, as Pydantic AI dumps bytes. */
static void put_data(struct wd_pai_out *o, struct upp_str data)
{
    if (o->style == WD_PAI_PYDANTIC && data.p) {
        char *p = wb_arena_alloc(&o->l->scratch, data.n + 1, 1);
        for (size_t i = 0; p && i < data.n; i++)
            p[i] = data.p[i] == '+' ? '-' : data.p[i] == '/' ? '_' : data.p[i];
        if (!p)
            wj_writer_fail(&o->l->w, wb_arena_check(&o->l->scratch, o->l->w.err));
        data.p = p ? p : data.p;
    }
    wd_member_or_null(o->l, "data", data);
}

/* ThreadProtocol requires an identifier, and Pydantic AI gives every medium one. */
static void put_identifier(struct wd_pai_out *o, const struct upp_media *m, const struct sidecar *b)
{
    char generated[WD_PAI_IDENTIFIER];
    struct upp_err err = {0};
    struct upp_str given = text_of(b, "identifier");
    if (!given.n) {
        given = wd_pai_identifier(m, generated, &err);
        if (err.code && err.code != UPP_EINVALID)
            wj_writer_fail(&o->l->w, upp_fail(o->l->w.err, err.code, "%s", err.msg));
    }
    wd_member(o->l, "identifier", given);
}

/* Pydantic AI needs a media type: without one it could not dump the message. */
static void put_media_type(struct wd_pai_out *o, const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    if (m->mime.n || o->style == WD_PAI_THREAD) {
        if (m->mime.p || m->source != UPP_SOURCE_URL)
            wd_member_or_null(o->l, "media_type", m->mime);
    } else if (m->source == UPP_SOURCE_URL)
        wd_member(o->l, "media_type", wd_pai_media_type(m->data, p->kind));
    else
        wd_member(o->l, "media_type", UPP_STR("application/octet-stream"));
}

static bool is_download(yyjson_val *v)
{
    return yyjson_is_bool(v) || (v && yyjson_is_str(v) && wb_str_eq(wj_text(v), UPP_STR("allow-local")));
}

static void put_media(struct wd_pai_out *o, const struct upp_part *p, const struct sidecar *b)
{
    struct wj_writer *w = &o->l->w;
    const struct upp_media *m = p->media;
    wj_write_open(w, '{');
    if (m->source == UPP_SOURCE_URL) {
        wd_member(o->l, "url", m->data);
        yyjson_val *download = sidecar_at(b, "force_download");
        if (o->style == WD_PAI_PYDANTIC && !is_download(download))
            download = NULL;
        if (download || o->style == WD_PAI_PYDANTIC) {
            wd_name(o->l, "force_download");
            if (download)
                wj_write_value(w, download);
            else
                wj_write_bool(w, false);
        }
        put_object(o, b, "vendor_metadata");
        wd_member(o->l, "kind", wb_cstr(wd_pai_url_kind(p->kind)));
        put_media_type(o, p);
        put_identifier(o, m, b);
    } else {
        put_data(o, m->data);
        put_media_type(o, p);
        put_object(o, b, "vendor_metadata");
        wd_member(o->l, "kind", UPP_STR("binary"));
        put_identifier(o, m, b);
    }
    wj_write_close(w, '}');
}

static bool is_media(const struct upp_part *p)
{
    return p->media && p->media->source != UPP_SOURCE_TEXT;
}

/* ---- Parts ------------------------------------------------------------------------------------------------ */

static void put_text_item(struct wd_pai_out *o, uint32_t entry, const struct upp_part *p)
{
    if (p->kind == UPP_PART_TEXT)
        wj_write_str(&o->l->w, p->text);
    else if (p->media)
        wj_write_str(&o->l->w, p->media->data);
    else
        wd_lose(o->l, entry, "a part that no prompt can have", "only texts and media are");
}

static void put_prompt(struct wd_pai_out *o, uint32_t entry, const struct upp_message *m)
{
    struct wj_writer *w = &o->l->w;
    open_part(o, UPP_STR("user-prompt"));
    wd_name(o->l, "content");
    if (m->n_parts == 1 && m->parts[0].kind == UPP_PART_TEXT)
        put_text_item(o, entry, &m->parts[0]);
    else {
        wj_write_open(w, '[');
        for (size_t i = 0; i < m->n_parts; i++) {
            struct sidecar b = read_sidecar(o->l, m->parts[i].metadata);
            if (is_media(&m->parts[i]))
                put_media(o, &m->parts[i], &b);
            else
                put_text_item(o, entry, &m->parts[i]);
        }
        wj_write_close(w, ']');
    }
    if (o->style == WD_PAI_PYDANTIC)
        wd_member_or_null(o->l, "timestamp", o->time);
    close_part(o, UPP_STR("user-prompt"));
}

static void put_content(struct wd_pai_out *o, struct upp_str prefix, struct upp_str text)
{
    char *both = prefix.n ? wb_arena_alloc(&o->l->keep, prefix.n + text.n + 1, 1) : NULL;
    wd_name(o->l, "content");
    if (both) {
        memcpy(both, prefix.p, prefix.n);
        if (text.n)
            memcpy(both + prefix.n, text.p, text.n);
        text = wb_str(both, prefix.n + text.n);
    }
    wj_write_str(&o->l->w, text.p ? text : UPP_STR(""));
}

static void put_text_part(struct wd_pai_out *o, const struct upp_part *p, const struct sidecar *b)
{
    bool thinking = p->kind == UPP_PART_REASONING;
    struct upp_str kind = thinking ? UPP_STR("thinking") : UPP_STR("text");
    open_part(o, kind);
    put_content(o, thinking ? (struct upp_str){0} : o->prefix, p->text);
    if (puts_sidecar(o, b)) {
        put_text(o, thinking && o->style == WD_PAI_THREAD ? "thinking_id" : "id", text_of(b, "id"));
        if (thinking) {
            put_text(o, "signature", text_of(b, "signature"));
            put_text(o, "provider_name", provider_of(b));
            put_object(o, b, "provider_details");
        } else
            put_provider(o, b);
    }
    close_part(o, kind);
}

/* A text that is valid JSON becomes a value, unless it came as a string; for Pydantic AI only if it is an object. */
static void put_args(struct wd_pai_out *o, const struct upp_part *p, bool raw)
{
    yyjson_val *v = NULL;
    wd_name(o->l, "args");
    if (!raw && !p->text.n)
        wj_write_raw(&o->l->w, "{}", 2);
    else if (!raw && (o->style == WD_PAI_THREAD || p->text.p[0] == '{') && wd_is_compact_still(o->l, p->text))
        wj_write_raw(&o->l->w, p->text.p, p->text.n);
    else if (!raw && (v = wd_scratch_read(o->l, p->text)) && (o->style == WD_PAI_THREAD || yyjson_is_obj(v)))
        wj_write_value(&o->l->w, v);
    else
        wj_write_str(&o->l->w, p->text);
}

static void put_call(struct wd_pai_out *o, const struct upp_part *p, const struct sidecar *b, struct upp_str kind)
{
    open_part(o, kind);
    put_tool_name(o, p->name);
    bool raw = is_true(b, "raw_args");
    if (o->style == WD_PAI_THREAD)
        wd_member_or_null(o->l, "tool_call_id", p->id);
    put_args(o, p, raw);
    if (o->style == WD_PAI_PYDANTIC)
        wd_member(o->l, "tool_call_id", p->id.p ? p->id : UPP_STR(""));
    if (puts_sidecar(o, b)) {
        put_tool_kind(o, b);
        put_text(o, "id", text_of(b, "id"));
        put_provider(o, b);
    }
    close_part(o, kind);
}

static void put_retry(struct wd_pai_out *o, const struct upp_part *p, const struct sidecar *b)
{
    bool errors = is_true(b, "errors") && yyjson_is_ctn(wd_scratch_read(o->l, p->text));
    open_part(o, UPP_STR("retry-prompt"));
    if (p->kind == UPP_PART_RESULT || errors)
        wd_member_json(o->l, "content", p->text);
    else
        put_content(o, (struct upp_str){0}, p->text);
    put_text(o, "tool_name", p->name);
    if (p->id.p || o->style == WD_PAI_PYDANTIC)
        wd_member(o->l, "tool_call_id", p->id.p ? p->id : UPP_STR(""));
    if (o->style == WD_PAI_PYDANTIC)
        wd_member_or_null(o->l, "timestamp", o->time);
    close_part(o, UPP_STR("retry-prompt"));
}

static bool is_outcome(struct upp_str word)
{
    return wb_str_eq(word, UPP_STR("success")) || wb_str_eq(word, UPP_STR("failed")) ||
           wb_str_eq(word, UPP_STR("denied")) || wb_str_eq(word, UPP_STR("interrupted"));
}

static void put_result(struct wd_pai_out *o, const struct upp_part *p, const struct sidecar *b, bool builtin)
{
    struct upp_str kind = builtin ? UPP_STR("builtin-tool-return") : UPP_STR("tool-return");
    struct upp_str outcome = text_of(b, "outcome"), status = text_of(b, "status");
    open_part(o, kind);
    put_tool_name(o, p->name);
    if (o->style == WD_PAI_THREAD) {
        wd_member_or_null(o->l, "tool_call_id", p->id);
        wd_member(o->l, "status", status.p ? status : p->is_error ? UPP_STR("error") : UPP_STR("success"));
    }
    wd_member_json(o->l, "content", p->text.n ? p->text : UPP_STR("null"));
    if (o->style == WD_PAI_PYDANTIC)
        wd_member(o->l, "tool_call_id", p->id.p ? p->id : UPP_STR(""));
    if (puts_sidecar(o, b)) {
        put_tool_kind(o, b);
        put_sidecar(o, b, "metadata");
    }
    if (o->style == WD_PAI_PYDANTIC) {
        wd_member_or_null(o->l, "timestamp", o->time);
        wd_member(o->l, "outcome",
                  is_outcome(outcome) ? outcome
                  : p->is_error       ? UPP_STR("failed")
                                      : UPP_STR("success"));
    } else
        wd_member(o->l, "outcome", outcome);
    if (builtin)
        put_provider(o, b);
    close_part(o, kind);
}

/* ThreadProtocol has no provider-executed calls: there they are ordinary calls. */
static bool is_native(const struct wd_pai_out *o, const struct sidecar *b)
{
    return o->style == WD_PAI_PYDANTIC && !b->provider.p && is_true(b, "builtin");
}

bool wd_pai_is_builtin(struct wd_lowering *l, const struct upp_part *p)
{
    return wb_str_find(p->metadata, UPP_STR("\"builtin\""), 0) != SIZE_MAX &&
           yyjson_is_true(wd_pai_own_at(l, p->metadata, "builtin"));
}

void wd_pai_put_builtin(struct wd_pai_out *o, const struct upp_part *p)
{
    struct sidecar b = read_sidecar(o->l, p->metadata);
    put_result(o, p, &b, true);
}

void wd_pai_put_part(struct wd_pai_out *o, uint32_t entry, const struct upp_part *p)
{
    struct sidecar b = read_sidecar(o->l, p->metadata);
    bool result = p->kind == UPP_PART_RESULT;
    if (result && is_true(&b, "retry") && p->id.p && p->name.p) /* without them it would become user text */
        put_retry(o, p, &b);
    else if (p->kind == UPP_PART_CALL)
        put_call(o, p, &b, is_native(o, &b) ? UPP_STR("builtin-tool-call") : UPP_STR("tool-call"));
    else if (result)
        put_result(o, p, &b, false);
    else if (is_media(p) && (o->style == WD_PAI_THREAD || p->media->source != UPP_SOURCE_URL)) {
        open_part(o, UPP_STR("file"));
        wd_name(o->l, "content");
        put_media(o, p, &b);
        put_text(o, "id", text_of(&b, "id"));
        put_provider(o, &b);
        close_part(o, UPP_STR("file"));
    } else {
        if (p->media)
            wd_lose(o->l, entry, "a medium that is an address", "an answer has files with their bytes alone");
        put_text_part(o, p->media ? &(struct upp_part){.kind = UPP_PART_TEXT, .text = p->media->data} : p, &b);
    }
}

void wd_pai_put_request(struct wd_pai_out *o, uint32_t entry, const struct upp_message *m)
{
    if (m->role == UPP_ROLE_USER) {
        struct sidecar b = m->n_parts == 1 ? read_sidecar(o->l, m->parts[0].metadata) : (struct sidecar){0};
        if (is_true(&b, "retry") && m->parts[0].kind == UPP_PART_TEXT)
            put_retry(o, &m->parts[0], &b);
        else
            put_prompt(o, entry, m);
        return;
    }
    for (size_t i = 0; i < m->n_parts; i++)
        if (o->style == WD_PAI_THREAD || !wd_pai_is_builtin(o->l, &m->parts[i]))
            wd_pai_put_part(o, entry, &m->parts[i]);
}
