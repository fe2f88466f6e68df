/* model/upp_json.c — writes messages, threads, usage and errors as UPP JSON. */
#include "model/upp_json.h"

#include <stdio.h>

#include "base/iso8601.h"
#include "json/compact.h"
#include "json/match.h"
#include "json/read.h"
#include "json/value.h"
#include "model/upp_weft.h"

/* ---- Members -------------------------------------------------------------------------------------- */

static void put_num(struct wj_writer *w, const char *name, struct upp_str s)
{
    if (s.p)
        wj_put_num(w, name, s);
}

/* ---- Parts of some kinds -------------------------------------------------------------------------- */

static bool is_of(const struct upp_part *p, unsigned kinds)
{
    return p->kind < 32 && kinds >> p->kind & 1;
}

static bool has_any(const struct upp_message *m, unsigned kinds)
{
    size_t i = 0;
    while (i < m->n_parts && !is_of(&m->parts[i], kinds))
        i++;
    return i < m->n_parts;
}

/* ---- JSON inside ---------------------------------------------------------------------------------- */

static bool is_json(struct upp_str s)
{
    struct wj_syntax seen;
    return wj_syntax(s, WJ_MAX_DEPTH, &seen, NULL) == 0;
}

/* While comparing: is it equal to what was read here? Then it is valid JSON, and with so few values not too deep. */
static bool is_as_read(struct wj_writer *w, struct upp_str json)
{
    const struct wj_match *m = w->match;
    return m && m->named && unsafe_yyjson_get_next(m->at) - m->at <= WJ_MAX_DEPTH && wj_match_same(w, json);
}

/* Writes JSON unchanged, after a check: invalid text would corrupt the whole document. False: not JSON. */
static bool put_value(struct wj_writer *w, struct upp_str json)
{
    if (is_as_read(w, json))
        return true;
    if (!is_json(json))
        return false;
    wj_write_raw(w, json.p, json.n);
    return true;
}

static void refuse_json(struct wj_writer *w, struct upp_str name, struct upp_str json)
{
    struct wj_syntax seen;
    struct upp_err err = {0};
    int r = wj_syntax(json, WJ_MAX_DEPTH, &seen, &err);
    if (r < 0)
        wj_writer_fail(w, upp_fail(w->err, (enum upp_code) - r, "%.*s: %s", UPP_FMT(name), err.msg));
}

static void put_metadata_text(struct wj_writer *w, struct upp_str json)
{
    struct upp_str name = UPP_STR("metadata");
    if (!json.p)
        return;
    wj_write_name(w, name);
    if (!put_value(w, json))
        refuse_json(w, name, json);
    else if (wb_str_trim(json).p[0] != '{')
        wj_writer_fail(w, upp_fail(w->err, UPP_EINVALID, "metadata: expected an object"));
}

/* ---- Parts ---------------------------------------------------------------------------------------- */

static const struct upp_str types[] = {
    [UPP_PART_TEXT] = UPP_STR_INIT("text"),     [UPP_PART_REASONING] = UPP_STR_INIT("reasoning"),
    [UPP_PART_IMAGE] = UPP_STR_INIT("image"),   [UPP_PART_DOCUMENT] = UPP_STR_INIT("document"),
    [UPP_PART_AUDIO] = UPP_STR_INIT("audio"),   [UPP_PART_VIDEO] = UPP_STR_INIT("video"),
    [UPP_PART_BINARY] = UPP_STR_INIT("binary"),
};

static void refuse_source(struct wj_writer *w, const struct upp_part *p)
{
    wj_writer_fail(w, upp_fail(w->err, UPP_EINVALID, "UPP has no %.*s with a source of kind %u",
                               UPP_FMT(types[p->kind]), p->media ? p->media->source : 0u));
}

/* The source of an image's or document's bytes. */
static void put_source(struct wj_writer *w, const struct upp_part *p)
{
    static const struct upp_str names[] = {
        [UPP_SOURCE_BASE64] = UPP_STR_INIT("base64"),
        [UPP_SOURCE_BYTES] = UPP_STR_INIT("bytes"),
        [UPP_SOURCE_URL] = UPP_STR_INIT("url"),
        [UPP_SOURCE_TEXT] = UPP_STR_INIT("text"),
    };
    const struct upp_media *m = p->media;
    uint8_t other =
        p->kind == UPP_PART_IMAGE ? UPP_SOURCE_TEXT : UPP_SOURCE_BYTES; /* the source that this kind cannot have */
    if (m->source == 0 || m->source >= WB_LEN(names) || m->source == other) {
        refuse_source(w, p);
        return;
    }
    wj_put_open(w, "source", '{');
    wj_put_text(w, "type", names[m->source]);
    wj_put_str_or_empty(w, m->source == UPP_SOURCE_URL ? "url" : "data", m->data);
    wj_write_close(w, '}');
}

static void put_media(struct wj_writer *w, const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    if (!m) {
        refuse_source(w, p);
        return;
    }
    wj_write_head(w, UPP_STR("{\"type\":"));
    wj_write_str(w, types[p->kind]);
    if (p->kind == UPP_PART_IMAGE || p->kind == UPP_PART_DOCUMENT)
        put_source(w, p);
    else if (m->source == UPP_SOURCE_BASE64 || m->source == UPP_SOURCE_BYTES)
        wj_put_str_or_empty(w, "data", m->data);
    else
        refuse_source(w, p);
    wj_put_text(w, "mimeType", m->mime);
    if (p->kind == UPP_PART_DOCUMENT)
        wj_put_text(w, "title", m->title);
    if (p->kind == UPP_PART_AUDIO || p->kind == UPP_PART_VIDEO)
        put_num(w, "duration", m->duration);
    if (p->kind == UPP_PART_IMAGE || p->kind == UPP_PART_VIDEO) {
        put_num(w, "width", m->width);
        put_num(w, "height", m->height);
    }
    if (p->kind == UPP_PART_BINARY)
        put_metadata_text(w, p->metadata);
}

/* known: the arguments are known to be empty or a valid object. */
static void put_call(struct wj_writer *w, const struct upp_part *p, bool known)
{
    wj_write_head(w, UPP_STR("{\"toolCallId\":"));
    wj_write_str(w, p->id.p ? p->id : UPP_STR(""));
    wj_put_str_or_empty(w, "toolName", p->name);
    wj_write_name(w, UPP_STR("arguments"));
    struct upp_str text = wb_str_trim(p->text);
    if (known && text.n)
        wj_write_raw(w, text.p, text.n);
    else if (!text.n || text.p[0] != '{' || !put_value(w, text))
        wj_write_raw(w, "{}", 2);
}

/* False: the result is not JSON, and was written as a string. */
static bool put_result(struct wj_writer *w, const struct upp_part *p)
{
    bool ok = true;
    wj_write_head(w, UPP_STR("{\"toolCallId\":"));
    wj_write_str(w, p->id.p ? p->id : UPP_STR(""));
    if (p->text.p) {
        wj_write_name(w, UPP_STR("result"));
        ok = put_value(w, p->text);
        if (!ok)
            wj_write_str(w, p->text);
    }
    wj_put_bool(w, "isError", p->is_error);
    return ok;
}

static bool put_part(struct wj_writer *w, const struct upp_part *p, bool known)
{
    bool ok = true;
    if (p->kind == UPP_PART_TEXT || p->kind == UPP_PART_REASONING) {
        wj_write_head(w, p->kind == UPP_PART_TEXT ? UPP_STR("{\"type\":\"text\",\"text\":")
                                                  : UPP_STR("{\"type\":\"reasoning\",\"text\":"));
        wj_write_str(w, p->text.p ? p->text : UPP_STR(""));
    } else if (p->kind == UPP_PART_CALL)
        put_call(w, p, known);
    else if (p->kind == UPP_PART_RESULT)
        ok = put_result(w, p);
    else if (p->kind == 0 || p->kind > UPP_PART_RESULT)
        wj_writer_fail(w, upp_fail(w->err, UPP_EINVALID, "a part of the unknown kind %u", p->kind));
    else
        put_media(w, p);
    wj_write_close(w, '}');
    return ok;
}

void wm_part_write(struct wj_writer *w, const struct upp_part *p)
{
    if (!put_part(w, p, false))
        refuse_json(w, UPP_STR("result"), p->text);
}

/* Writes the parts of these kinds, and the closing bracket of their list. */
static bool put_parts(struct wj_writer *w, const struct upp_message *m, unsigned kinds, bool known)
{
    bool ok = true;
    for (size_t i = 0; i < m->n_parts && !w->out->failed; i++)
        if (is_of(&m->parts[i], kinds))
            ok &= put_part(w, &m->parts[i], known);
    wj_write_close(w, ']');
    return ok;
}

/* ---- metadata.weft -------------------------------------------------------------------------------- */

/* Would arguments read back in a different spelling? */
static bool is_lost(const struct upp_part *p)
{
    return p->kind == UPP_PART_CALL && p->text.n && !(p->text.p[0] == '{' && wj_is_compact(p->text, NULL));
}

unsigned wm_weft_needs(const struct upp_message *m)
{
    unsigned needs = m->interrupted ? WM_NEEDS_INTERRUPTED : 0;
    bool called = false;
    for (size_t i = 0; i < m->n_parts; i++) {
        bool content = m->parts[i].kind < UPP_PART_CALL;
        if (content && called)
            needs |= WM_NEEDS_ORDER;
        if (m->parts[i].cut)
            needs |= WM_NEEDS_CUT;
        if (is_lost(&m->parts[i]))
            needs |= WM_NEEDS_ARGUMENTS;
        called |= !content;
    }
    return needs;
}

static void put_index(struct wj_writer *w, size_t i, struct upp_str text)
{
    char name[24];
    (void)snprintf(name, sizeof name, "%zu", i);
    wj_put_text(w, name, text);
}

void wm_weft_write(struct wj_writer *w, const struct upp_message *m, unsigned needs)
{
    if (needs & WM_NEEDS_ORDER) {
        wj_put_open(w, wm_upp_message_names[WM_WEFT_ORDER].p, '[');
        for (size_t i = 0; i < m->n_parts; i++)
            wj_write_str(w, wm_weft_word(m->parts[i].kind));
        wj_write_close(w, ']');
    }
    if (needs & WM_NEEDS_ARGUMENTS) {
        size_t call = 0;
        wj_put_open(w, wm_upp_message_names[WM_WEFT_ARGUMENTS].p, '{');
        for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CALLS)); call++)
            if (is_lost(p))
                put_index(w, call, p->text);
        wj_write_close(w, '}');
    }
    if (needs & WM_NEEDS_INTERRUPTED)
        wj_put_bool(w, wm_upp_message_names[WM_WEFT_INTERRUPTED].p, true);
    if (needs & WM_NEEDS_CUT) {
        wj_put_open(w, wm_upp_message_names[WM_WEFT_CUT].p, '[');
        for (size_t i = 0; i < m->n_parts; i++)
            if (m->parts[i].cut)
                wj_write_u64(w, i);
        wj_write_close(w, ']');
    }
}

/* Writes the object "weft": foreign members, then ours. */
static void put_weft(struct wj_writer *w, yyjson_val *others, const struct upp_message *m, unsigned needs)
{
    wj_put_open(w, "weft", '{');
    if (others)
        (void)wm_weft_put_others(w, others, wm_upp_part_names);
    wm_weft_write(w, m, needs);
    wj_write_close(w, '}');
}

/* Writes the message's own map, with our members in its first "weft". */
static void put_merged(struct wj_writer *w, yyjson_val *map, const struct upp_message *m, unsigned needs)
{
    bool merged = false;
    wj_write_open(w, '{');
    yyjson_val *key = map ? unsafe_yyjson_get_first(map) : NULL;
    for (size_t n = map ? unsafe_yyjson_get_len(map) : 0; n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (!merged && wm_weft_is_weft(key)) {
            put_weft(w, key + 1, m, needs);
            merged = true;
        } else {
            wj_put_member(w, key);
        }
    if (!merged)
        put_weft(w, NULL, m, needs);
    wj_write_close(w, '}');
}

static void put_metadata(struct wj_writer *w, const struct upp_message *m, unsigned needs)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA((size_t)16 * WJ_MAX_BYTES);
    yyjson_val *map = NULL;
    if (!needs) {
        put_metadata_text(w, m->metadata);
        return;
    }
    if (m->metadata.p) {
        int r = wj_read(&a, m->metadata, NULL, &map, w->err);
        if (r == 0 && !yyjson_is_obj(map))
            r = upp_fail(w->err, UPP_EINVALID, "metadata: expected an object");
        if (r < 0) {
            wj_writer_fail(w, r);
            return;
        }
    }
    wj_write_name(w, UPP_STR("metadata"));
    put_merged(w, map, m, needs);
}

/* ---- Messages and threads --------------------------------------------------------------------------- */

void wm_time_write(struct wj_writer *w, int64_t ms)
{
    char text[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(ms);
    struct upp_str s = wb_time_upp(&t, text);
    if (s.p)
        wj_write_str(w, s);
    else
        wj_writer_fail(w, upp_fail(w->err, UPP_EINVALID, "%lld ms is in no year from 1 to 9999", (long long)ms));
}

/* A message type; how it and its list of calls or results begin. */
struct type {
    struct upp_str name, head, list;
    unsigned kinds;
};

/* NULL: no type for this role. */
static const struct type *type_of(const struct upp_message *m)
{
    /* clang-format off */
    static const struct type types_of[] = {
        [UPP_ROLE_USER]      = {UPP_STR_INIT("user"), UPP_STR_INIT("\"type\":\"user\",\"content\":["), {0}, 0},
        [UPP_ROLE_ASSISTANT] = {UPP_STR_INIT("assistant"), UPP_STR_INIT("\"type\":\"assistant\",\"content\":["),
                                UPP_STR_INIT("\"toolCalls\":["), UPP_PARTS_CALLS},
        [UPP_ROLE_TOOL]      = {UPP_STR_INIT("tool_result"), UPP_STR_INIT("\"type\":\"tool_result\",\"content\":["),
                                UPP_STR_INIT("\"results\":["), UPP_PARTS_RESULTS},
    };
    /* clang-format on */
    return m->role && m->role < WB_LEN(types_of) ? &types_of[m->role] : NULL;
}

void wm_message_begin(struct wj_writer *w, const struct upp_message *m)
{
    const struct type *type = type_of(m);
    if (!type) {
        wj_writer_fail(w, upp_fail(w->err, UPP_EINVALID, "a message of the unknown role %u", m->role));
        return;
    }
    if (has_any(m, (UPP_PARTS_CALLS | UPP_PARTS_RESULTS) & ~type->kinds))
        wj_writer_fail(w, upp_fail(w->err, UPP_EINVALID,
                                   "UPP has no calls or results of this kind in a message of \"type\":\"%.*s\"",
                                   UPP_FMT(type->name)));
    wj_write_head(w, UPP_STR("{\"id\":"));
    wj_write_str(w, m->id.p ? m->id : UPP_STR(""));
    wj_write_head(w, type->head);
    (void)put_parts(w, m, UPP_PARTS_CONTENT, false);
}

bool wm_message_end(struct wj_writer *w, const struct upp_message *m, unsigned needs)
{
    const struct type *type = type_of(m);
    bool ok = true;
    if (!type)
        return ok;
    wj_write_name(w, UPP_STR("timestamp"));
    if (m->time_text.p)
        wj_write_str(w, m->time_text);
    else
        wm_time_write(w, m->time_ms);
    if (m->role == UPP_ROLE_TOOL || has_any(m, type->kinds)) {
        wj_write_head(w, type->list);
        ok = put_parts(w, m, type->kinds, !(needs & WM_NEEDS_ARGUMENTS));
    }
    wj_write_close(w, '}');
    return ok;
}

void wm_message_write(struct wj_writer *w, const struct upp_message *m)
{
    wm_message_begin(w, m);
    if (w->out->failed)
        return;
    unsigned needs = wm_weft_needs(m);
    put_metadata(w, m, needs);
    if (wm_message_end(w, m, needs))
        return;
    for (const struct upp_part *p = NULL; !w->out->failed && (p = upp_part_next(m, p, UPP_PARTS_RESULTS));)
        if (p->text.p)
            refuse_json(w, UPP_STR("result"), p->text);
}

void wm_thread_write(struct wj_writer *w, const struct wm_thread_json *t)
{
    wj_write_open(w, '{');
    wj_put_text(w, "id", t->id);
    wj_put_open(w, "messages", '[');
    for (size_t i = 0; i < t->n && !w->out->failed; i++)
        wm_message_write(w, &t->messages[i]);
    wj_write_close(w, ']');
    wj_put_text(w, "createdAt", t->created);
    wj_put_text(w, "updatedAt", t->updated);
    wj_write_close(w, '}');
}

/* ---- The rest --------------------------------------------------------------------------------------- */

void wm_usage_open(struct wj_writer *w, const struct upp_usage *u, bool total)
{
    wj_write_head(w, UPP_STR("{\"inputTokens\":"));
    wj_write_u64(w, u->input);
    wj_put_u64(w, "outputTokens", u->output);
    if (total)
        wj_put_u64(w, "totalTokens", u->input + u->output);
    wj_put_u64(w, "cacheReadTokens", u->cache_read);
    wj_put_u64(w, "cacheWriteTokens", u->cache_write);
}

void wm_usage_write(struct wj_writer *w, const struct upp_usage *u)
{
    wm_usage_open(w, u, true);
    wj_write_close(w, '}');
}

void wm_usage_write_all(struct wj_writer *w, const struct upp_usage *u)
{
    wm_usage_open(w, u, true);
    if (u->reasoning)
        wj_put_u64(w, "reasoningTokens", u->reasoning);
    wj_write_close(w, '}');
}

void wm_usage_put(struct wj_writer *w, const struct upp_usage *u)
{
    wj_write_name(w, UPP_STR("usage"));
    wm_usage_write(w, u);
}

void wm_err_write(struct wj_writer *w, const struct upp_err *e)
{
    static const struct upp_str modalities[] = {UPP_STR_INIT("llm"), UPP_STR_INIT("embedding"), UPP_STR_INIT("image"),
                                                UPP_STR_INIT("audio"), UPP_STR_INIT("video")};
    wj_write_open(w, '{');
    wj_put_text(w, "name", UPP_STR("UPPError"));
    wj_put_text(w, "message", wb_cstr(e->msg[0] ? e->msg : upp_code_text(e->code)));
    wj_put_text(w, "code", wb_cstr(upp_code_name(e->code)));
    if (e->provider[0])
        wj_put_text(w, "provider", wb_cstr(e->provider));
    wj_put_text(w, "modality", modalities[e->modality < WB_LEN(modalities) ? e->modality : 0]);
    if (e->http > 0)
        wj_put_u64(w, "statusCode", (uint64_t)e->http);
    if (e->cause[0])
        wj_put_text(w, "cause", wb_cstr(e->cause));
    if (e->code == UPP_ERATE || e->code == UPP_EQUOTA || e->code == UPP_EPROVIDER) /* others are not over with time */
        if (e->retry_after_ms && e->retry_after_ms != UINT64_MAX)
            wj_put_u64(w, "retryAfterMs", e->retry_after_ms);
    wj_write_close(w, '}');
}
