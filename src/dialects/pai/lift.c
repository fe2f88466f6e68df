/* dialects/pai/lift.c — lifts parts of Pydantic AI and ThreadProtocol into the model. */
#include "base/base64.h"
#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/pai/pai.h"
#include "json/value.h"

#include <upp/model.h>

static const struct wj_field part_rows[] = {
    [WD_PAI_TOOL_NAME] = F_STR(struct wd_pai_part, tool_name, "tool_name", F_NULLABLE),
    [WD_PAI_ARGS] = F_ANY(struct wd_pai_part, args, "args", 0),
    [WD_PAI_CONTENT] = F_ANY(struct wd_pai_part, content, "content", 0),
    [WD_PAI_TOOL_CALL_ID] = F_STR(struct wd_pai_part, tool_call_id, "tool_call_id", F_NULLABLE),
    [WD_PAI_TOOL_KIND] = F_STR(struct wd_pai_part, tool_kind, "tool_kind", F_NULLABLE),
    [WD_PAI_STATUS] = F_STR(struct wd_pai_part, status, "status", F_NULLABLE),
    [WD_PAI_METADATA] = F_ANY(struct wd_pai_part, metadata, "metadata", F_NULLABLE),
    [WD_PAI_TIMESTAMP] = F_STR(struct wd_pai_part, timestamp, "timestamp", F_NULLABLE),
    [WD_PAI_OUTCOME] = F_STR(struct wd_pai_part, outcome, "outcome", F_NULLABLE),
    [WD_PAI_ID] = F_STR(struct wd_pai_part, id, "id", F_NULLABLE),
    [WD_PAI_THINKING_ID] = F_STR(struct wd_pai_part, thinking_id, "thinking_id", F_NULLABLE),
    [WD_PAI_SIGNATURE] = F_STR(struct wd_pai_part, signature, "signature", F_NULLABLE),
    [WD_PAI_PROVIDER_NAME] = F_STR(struct wd_pai_part, provider_name, "provider_name", F_NULLABLE),
    [WD_PAI_PROVIDER_DETAILS] = F_ANY(struct wd_pai_part, provider_details, "provider_details", F_NULLABLE),
    [WD_PAI_PART_KIND] = F_STR(struct wd_pai_part, part_kind, "part_kind", F_REQUIRED),
};
WJ_SHAPE_PUBLIC(wd_pai_part, struct wd_pai_part, part_rows);

static const struct wj_field item_rows[] = {
    F_STR(struct wd_pai_item, url, "url", 0),
    F_STR(struct wd_pai_item, data, "data", 0),
    F_STR(struct wd_pai_item, content, "content", 0),
    F_ANY(struct wd_pai_item, force_download, "force_download", F_NULLABLE),
    F_ANY(struct wd_pai_item, metadata, "metadata", F_NULLABLE),
    F_ANY(struct wd_pai_item, vendor_metadata, "vendor_metadata", F_NULLABLE),
    F_STR(struct wd_pai_item, kind, "kind", F_REQUIRED),
    F_STR(struct wd_pai_item, media_type, "media_type", F_NULLABLE),
    F_STR(struct wd_pai_item, identifier, "identifier", F_NULLABLE),
};
WJ_SHAPE_PUBLIC(wd_pai_item, struct wd_pai_item, item_rows);

#define KIND(word, kind)                                                                                               \
    {                                                                                                                  \
        UPP_STR_INIT(word), kind                                                                                       \
    }

static const struct {
    struct upp_str word;
    uint8_t kind;
} kinds[] = {
    KIND("text", WD_PAI_TEXT),
    KIND("tool-call", WD_PAI_TOOL_CALL),
    KIND("tool-return", WD_PAI_TOOL_RETURN),
    KIND("user-prompt", WD_PAI_USER_PROMPT),
    KIND("thinking", WD_PAI_THINKING),
    KIND("retry-prompt", WD_PAI_RETRY_PROMPT),
    KIND("file", WD_PAI_FILE),
    KIND("system-prompt", WD_PAI_SYSTEM_PROMPT),
};

enum wd_pai_kind wd_pai_kind(struct upp_str part_kind)
{
    for (size_t i = 0; i < WB_LEN(kinds); i++)
        if (wb_str_eq(kinds[i].word, part_kind))
            return kinds[i].kind;
    return WD_PAI_OTHER;
}

uint8_t wd_pai_stop(struct upp_str reason)
{
    for (uint8_t stop = UPP_STOP_END; stop <= UPP_STOP_ERROR; stop++)
        if (wb_str_eq(reason, wb_cstr(wd_pai_finish(stop))))
            return stop;
    return 0;
}

/* ---- Metadata of a part ---------------------------------------------------------------------------------- */

struct sidecar {
    struct wb_buf text;
    struct wj_writer w;
};

static void sidecar_name(struct sidecar *b, const char *name)
{
    if (!b->text.n)
        wb_buf_add(&b->text, UPP_STR("{\"pydantic_ai\":{"));
    wj_write_name(&b->w, wb_cstr(name));
}

static void sidecar_str(struct sidecar *b, const char *name, struct upp_str text)
{
    if (!text.p)
        return;
    sidecar_name(b, name);
    wj_write_str(&b->w, text);
}

static void sidecar_value(struct sidecar *b, const char *name, yyjson_val *v)
{
    if (!v)
        return;
    sidecar_name(b, name);
    wj_write_value(&b->w, v);
}

static void sidecar_true(struct sidecar *b, const char *name)
{
    sidecar_name(b, name);
    wj_write_bool(&b->w, true);
}

static int sidecar_end(struct sidecar *b, struct wd_lifting *l, struct upp_str *ret, struct upp_err *err)
{
    int r = wj_writer_check(&b->w);
    if (r < 0 || !b->text.n)
        return r;
    wb_buf_add(&b->text, UPP_STR("}}"));
    r = wb_buf_check(&b->text, err);
    *ret = wb_arena_dup(l->a, wb_buf_str(&b->text));
    return r < 0 ? r : wb_arena_check(l->a, err);
}

/* ---- Media ------------------------------------------------------------------------------------------------ */

uint8_t wd_pai_medium(struct upp_str kind, struct upp_str mime)
{
    if (wb_str_starts(kind, UPP_STR("image")) || wb_str_starts(mime, UPP_STR("image/")))
        return UPP_PART_IMAGE;
    if (wb_str_starts(kind, UPP_STR("audio")) || wb_str_starts(mime, UPP_STR("audio/")))
        return UPP_PART_AUDIO;
    if (wb_str_starts(kind, UPP_STR("video")) || wb_str_starts(mime, UPP_STR("video/")))
        return UPP_PART_VIDEO;
    return UPP_PART_DOCUMENT;
}

/* Converts base64 to the model's form: standard alphabet, padded. Invalid base64 stays as it is: validation reports
 * it. */
static struct upp_str standard_base64(struct wb_arena *a, struct upp_str text)
{
    size_t n = text.n;
    while (n && text.p[n - 1] == '=')
        n--;
    if (n % 4 == 1 || (n == text.n && n % 4 == 0 && !memchr(text.p, '-', n) && !memchr(text.p, '_', n)))
        return text;
    size_t padded = (n + 3) / 4 * 4;
    char *p = wb_arena_alloc(a, padded + 1, 1);
    if (!p)
        return text;
    for (size_t i = 0; i < padded; i++)
        p[i] = i >= n ? '=' : text.p[i] == '-' ? '+' : text.p[i] == '_' ? '/' : text.p[i];
    p[padded] = 0;
    return wb_str(p, padded);
}

/* ThreadProtocol has an identifier for every medium: the one that would be written again is not stored, so that it
 * appears in no other dialect. */
static int own_identifier(const struct wd_lifting *l, const struct upp_media *m, struct upp_str *given,
                          struct upp_err *err)
{
    struct upp_err why = {0};
    char generated[WD_PAI_IDENTIFIER];
    if (!given->n || !wb_str_eq(l->doc->dialect, UPP_STR("thread")))
        return 0;
    struct upp_str own = wd_pai_identifier(m, generated, &why);
    if (!own.n && why.code == UPP_ENOMEM)
        return upp_fail(err, UPP_ENOMEM, "no memory for an identifier");
    if (wb_str_eq(own, *given))
        *given = (struct upp_str){0};
    return 0;
}

static int lift_item(struct wd_lifting *l, yyjson_val *v, const struct wd_pai_part *of, struct wd_parts *to,
                     struct upp_err *err)
{
    struct wd_pai_item item;
    struct upp_part part = {0};
    struct sidecar b = {.text = WB_BUF(WD_DOC_BYTES)};
    if (!yyjson_is_obj(v) || WJ_DECODE(l->a, wd_pai_item, v, NULL, &item, err) < 0)
        return wb_arena_check(l->a, err);
    bool binary = wb_str_eq(item.kind, UPP_STR("binary"));
    struct upp_media *media = wb_new(l->a, struct upp_media);
    if (wb_str_eq(item.kind, UPP_STR("uploaded-file"))) /* only its location is known */
        item.url = wj_text_at(v, "file_id");
    else if (!wb_str_ends(item.kind, UPP_STR("-url")))
        item.url = (struct upp_str){0};
    if (!(binary ? item.data.p : item.url.p) || !media)
        return wb_arena_check(l->a, err);
    *media = (struct upp_media){.source = binary ? UPP_SOURCE_BASE64 : UPP_SOURCE_URL,
                                .data = binary ? standard_base64(l->a, item.data) : item.url,
                                .mime = item.media_type};
    part.kind = wd_pai_medium(item.kind, item.media_type);
    part.media = media;
    int r = own_identifier(l, media, &item.identifier, err);
    if (r < 0)
        return r;
    wj_writer_init(&b.w, &b.text, err);
    sidecar_str(&b, "identifier", item.identifier);
    if (item.force_download && !yyjson_is_false(item.force_download))
        sidecar_value(&b, "force_download", item.force_download);
    sidecar_value(&b, "vendor_metadata", item.vendor_metadata);
    if (of) {
        sidecar_str(&b, "id", of->id);
        sidecar_str(&b, "provider_name", of->provider_name);
        sidecar_value(&b, "provider_details", of->provider_details);
    }
    r = sidecar_end(&b, l, &part.metadata, err);
    wb_buf_done(&b.text);
    return r < 0 ? r : wd_parts_add(to, &part, err);
}

/* ---- Parts ------------------------------------------------------------------------------------------------ */

static int lift_prompt(struct wd_lifting *l, const struct wd_pai_part *p, struct wd_parts *to, struct upp_err *err)
{
    struct upp_part text = {.kind = UPP_PART_TEXT};
    size_t i, n;
    yyjson_val *item;
    int r = 0, any = 0;
    if (yyjson_is_str(p->content)) {
        text.text = wj_text(p->content);
        return wd_parts_add(to, &text, err);
    }
    yyjson_arr_foreach(p->content, i, n, item)
    {
        if (yyjson_is_str(item)) {
            text.text = wj_text(item);
            r = wd_parts_add(to, &text, err);
        } else
            r = lift_item(l, item, NULL, to, err);
        if (r < 0)
            return r;
        any |= r;
    }
    return any;
}

static int lift_call(struct wd_lifting *l, const struct wd_pai_part *p, struct upp_part *part, struct sidecar *b,
                     struct upp_err *err)
{
    part->kind = UPP_PART_CALL;
    part->id = p->tool_call_id;
    part->name = p->tool_name;
    part->text = UPP_STR("");
    if (yyjson_is_str(p->args)) {
        part->text = wj_text(p->args);
        sidecar_true(b, "raw_args");
    } else if (p->args && !yyjson_is_null(p->args))
        return wj_value_text(l->a, p->args, &part->text, err);
    return 0;
}

static int lift_result(struct wd_lifting *l, const struct wd_pai_part *p, bool retry, struct upp_part *part,
                       struct sidecar *b, struct upp_err *err)
{
    bool success = p->outcome.p ? wb_str_eq(p->outcome, UPP_STR("success"))
                                : !p->status.p || wb_str_eq(p->status, UPP_STR("success"));
    part->kind = UPP_PART_RESULT;
    part->id = p->tool_call_id;
    part->name = p->tool_name;
    part->is_error = retry || !success;
    part->text = UPP_STR("null");
    if (retry)
        sidecar_true(b, "retry");
    else if (p->outcome.p && !success)
        sidecar_str(b, "outcome", p->outcome);
    if (wb_str_eq(p->status, UPP_STR("validation_error")))
        sidecar_str(b, "status", p->status);
    sidecar_value(b, "metadata", p->metadata);
    return p->content ? wj_value_text(l->a, p->content, &part->text, err) : 0;
}

/* Feedback that is not about a call: the model reads it as user text, although the user did not write it. */
static int lift_feedback(struct wd_lifting *l, const struct wd_pai_part *p, struct upp_part *part, struct sidecar *b,
                         struct upp_err *err)
{
    part->kind = UPP_PART_TEXT;
    sidecar_true(b, "retry");
    if (yyjson_is_str(p->content)) {
        part->text = wj_text(p->content);
        return 0;
    }
    sidecar_true(b, "errors");
    return p->content ? wj_value_text(l->a, p->content, &part->text, err) : 0;
}

static int lift_one(struct wd_lifting *l, const struct wd_pai_part *p, enum wd_pai_kind kind, struct upp_part *part,
                    struct sidecar *b, struct upp_err *err)
{
    sidecar_str(b, "id", p->id.p ? p->id : p->thinking_id);
    sidecar_str(b, "signature", p->signature);
    sidecar_str(b, "provider_name", p->provider_name);
    sidecar_value(b, "provider_details", p->provider_details);
    sidecar_str(b, "tool_kind", p->tool_kind);
    switch (kind) {
    case WD_PAI_TEXT:
    case WD_PAI_THINKING:
        part->kind = kind == WD_PAI_TEXT ? UPP_PART_TEXT : UPP_PART_REASONING;
        part->text = yyjson_is_str(p->content) ? wj_text(p->content) : UPP_STR("");
        return 0;
    case WD_PAI_TOOL_CALL:
        return lift_call(l, p, part, b, err);
    case WD_PAI_TOOL_RETURN:
        return lift_result(l, p, false, part, b, err);
    default:
        return p->tool_call_id.p && p->tool_name.p ? lift_result(l, p, true, part, b, err)
                                                   : lift_feedback(l, p, part, b, err);
    }
}

static int lift_to(struct wd_lifting *l, const struct wd_pai_part *p, enum wd_pai_kind kind, bool builtin,
                   struct wd_parts *to, struct upp_err *err)
{
    struct upp_part part = {0};
    struct sidecar b = {.text = WB_BUF(WD_DOC_BYTES)};
    wj_writer_init(&b.w, &b.text, err);
    int r = lift_one(l, p, kind, &part, &b, err);
    if (builtin)
        sidecar_true(&b, "builtin");
    if (r >= 0)
        r = sidecar_end(&b, l, &part.metadata, err);
    wb_buf_done(&b.text);
    return r < 0 ? r : wd_parts_add(to, &part, err);
}

int wd_pai_lift_builtin(struct wd_lifting *l, const struct wd_pai_part *part, bool call, struct wd_parts *to,
                        struct upp_err *err)
{
    return lift_to(l, part, call ? WD_PAI_TOOL_CALL : WD_PAI_TOOL_RETURN, true, to, err);
}

int wd_pai_sidecar_add(struct wb_arena *a, struct upp_str *metadata, const char *name, struct upp_str json,
                       struct upp_err *err)
{
    bool first = !metadata->n;
    const struct upp_str list[] = {first ? UPP_STR("{\"pydantic_ai\":{") : wb_str_sub(*metadata, 0, metadata->n - 2),
                                   first ? UPP_STR("\"") : UPP_STR(",\""),
                                   wb_cstr(name),
                                   UPP_STR("\":"),
                                   json,
                                   UPP_STR("}}")};
    *metadata = wb_arena_join(a, list, WB_LEN(list));
    return wb_arena_check(a, err);
}

int wd_pai_lift(struct wd_lifting *l, const struct wd_pai_part *p, struct wd_parts *to, struct upp_err *err)
{
    enum wd_pai_kind kind = wd_pai_kind(p->part_kind);
    if (kind == WD_PAI_OTHER || kind == WD_PAI_SYSTEM_PROMPT)
        return 0;
    if (kind == WD_PAI_USER_PROMPT)
        return lift_prompt(l, p, to, err);
    if (kind == WD_PAI_FILE)
        return p->content ? lift_item(l, p->content, p, to, err) : 0;
    return lift_to(l, p, kind, false, to, err);
}
