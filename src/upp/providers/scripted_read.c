/* upp/providers/scripted_read.c — scripts from JSON: field tables for the shapes, then what tables cannot say. */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "json/decode.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/id.h"
#include "upp/providers/scripted.h"

/* ---- Shapes --------------------------------------------------------------------------------------------- */

struct j_call {
    struct wj_node node;
    struct upp_str id, name;
    struct upp_str text;   /* arguments as a text, exactly */
    yyjson_val *arguments; /* arguments as an object */
};
static const struct wj_field call_rows[] = {
    F_STR(struct j_call, id, "id", 0),
    F_STR(struct j_call, name, "name", F_REQUIRED),
    F_STR(struct j_call, text, "arguments", F_OR),
    F_ANY(struct j_call, arguments, "arguments", 0),
};
WJ_SHAPE(scripted_call, struct j_call, call_rows);

WJ_ENUM(media_kinds, enum upp_part_kind, WJ_WORD("image", UPP_PART_IMAGE), WJ_WORD("document", UPP_PART_DOCUMENT),
        WJ_WORD("audio", UPP_PART_AUDIO), WJ_WORD("video", UPP_PART_VIDEO), WJ_WORD("binary", UPP_PART_BINARY));

struct j_media {
    struct wj_node node;
    enum upp_part_kind kind;
    struct upp_str mime, title, data, url, text;
};
static const struct wj_field media_rows[] = {
    F_ENUM(struct j_media, kind, "kind", F_REQUIRED, media_kinds),
    F_STR(struct j_media, mime, "mime", 0),
    F_STR(struct j_media, title, "title", 0),
    F_STR(struct j_media, data, "data", 0),
    F_STR(struct j_media, url, "url", 0),
    F_STR(struct j_media, text, "text", 0),
};
WJ_SHAPE(scripted_media, struct j_media, media_rows);

struct j_part {
    struct wj_node node;
    struct upp_str text, reasoning;
    struct j_call *call;
    struct j_media *media;
    bool request;
};
static const struct wj_field part_rows[] = {
    F_STR(struct j_part, text, "text", 0),
    F_STR(struct j_part, reasoning, "reasoning", 0),
    F_OBJ(struct j_part, call, "tool_call", 0, scripted_call),
    F_OBJ(struct j_part, media, "media", 0, scripted_media),
    F_BOOL(struct j_part, request, "request", 0),
};
WJ_SHAPE(scripted_part, struct j_part, part_rows);

struct j_when {
    struct wj_node node;
    struct upp_str contains, tool_result, tool, word;
    WJ_ARR(struct upp_str) words;
};
static const struct wj_field when_rows[] = {
    F_STR(struct j_when, contains, "contains", 0), F_STR(struct j_when, tool_result, "tool_result", 0),
    F_STR(struct j_when, tool, "tool", 0),         F_STR(struct j_when, word, "words", F_OR),
    F_STRS(struct j_when, words, "words", 0),
};
WJ_SHAPE(scripted_when, struct j_when, when_rows);

struct j_fill {
    struct wj_node node;
    struct upp_str name, after, until, is, otherwise; /* one of them, or a list: */
    WJ_ARR(struct upp_str) afters;
    WJ_ARR(struct upp_str) untils;
    WJ_ARR(struct upp_str) are;
    bool earlier, number, result, capital;
};
static const struct wj_field fill_rows[] = {
    F_STR(struct j_fill, name, "name", F_REQUIRED),
    F_STR(struct j_fill, after, "after", F_OR),
    F_STRS(struct j_fill, afters, "after", 0),
    F_STR(struct j_fill, until, "until", F_OR),
    F_STRS(struct j_fill, untils, "until", 0),
    F_STR(struct j_fill, is, "is", F_OR),
    F_STRS(struct j_fill, are, "is", 0),
    F_STR(struct j_fill, otherwise, "default", 0),
    F_BOOL(struct j_fill, earlier, "earlier", 0),
    F_BOOL(struct j_fill, number, "number", 0),
    F_BOOL(struct j_fill, result, "result", 0),
    F_BOOL(struct j_fill, capital, "capital", 0),
};
WJ_SHAPE(scripted_fill, struct j_fill, fill_rows);

/* What a provider may say: UPP's twelve. Ours (a store failed, a run waits) are not for models. */
WJ_ENUM(codes, enum upp_code, WJ_WORD("AUTHENTICATION_FAILED", UPP_EAUTH), WJ_WORD("RATE_LIMITED", UPP_ERATE),
        WJ_WORD("CONTEXT_LENGTH_EXCEEDED", UPP_ECONTEXT), WJ_WORD("MODEL_NOT_FOUND", UPP_ENOMODEL),
        WJ_WORD("INVALID_REQUEST", UPP_EINVALID), WJ_WORD("INVALID_RESPONSE", UPP_EPROTO),
        WJ_WORD("CONTENT_FILTERED", UPP_EFILTERED), WJ_WORD("QUOTA_EXCEEDED", UPP_EQUOTA),
        WJ_WORD("PROVIDER_ERROR", UPP_EPROVIDER), WJ_WORD("NETWORK_ERROR", UPP_ENET), WJ_WORD("TIMEOUT", UPP_ETIMEOUT),
        WJ_WORD("CANCELLED", UPP_ECANCELED));

struct j_error {
    struct wj_node node;
    enum upp_code code;
    uint64_t status, retry_after_ms, after;
    struct upp_str message;
};
static const struct wj_field error_rows[] = {
    F_ENUM(struct j_error, code, "code", F_REQUIRED, codes),
    F_U64(struct j_error, status, "status", 0),
    F_U64(struct j_error, retry_after_ms, "retry_after_ms", 0),
    F_STR(struct j_error, message, "message", 0),
    F_U64(struct j_error, after, "after", 0),
};
WJ_SHAPE(scripted_error, struct j_error, error_rows);

struct j_usage {
    struct wj_node node;
    uint64_t input, output, cache_read, cache_write, reasoning;
};
static const struct wj_field usage_rows[] = {
    F_U64(struct j_usage, input, "input_tokens", 0),
    F_U64(struct j_usage, output, "output_tokens", 0),
    F_U64(struct j_usage, cache_read, "cache_read_tokens", 0),
    F_U64(struct j_usage, cache_write, "cache_write_tokens", 0),
    F_U64(struct j_usage, reasoning, "reasoning_tokens", 0),
};
WJ_SHAPE(scripted_usage, struct j_usage, usage_rows);

WJ_ENUM(stops, enum upp_stop, WJ_WORD("end_turn", UPP_STOP_END), WJ_WORD("max_tokens", UPP_STOP_LENGTH),
        WJ_WORD("tool_use", UPP_STOP_TOOLS), WJ_WORD("content_filter", UPP_STOP_FILTER),
        WJ_WORD("error", UPP_STOP_ERROR));

struct j_reply {
    struct wj_node node;
    struct j_when *when;
    WJ_ARR(struct j_fill) fill;
    WJ_ARR(struct j_part) parts;
    struct j_usage *usage;
    uint64_t delta_bytes, delay_ms;
    struct j_error *error;
    yyjson_val *data;
    enum upp_stop stop;
    struct upp_str id;
};
static const struct wj_field reply_rows[] = {
    F_OBJ(struct j_reply, when, "when", 0, scripted_when),    F_LIST(struct j_reply, fill, "fill", 0, scripted_fill),
    F_LIST(struct j_reply, parts, "parts", 0, scripted_part), F_OBJ(struct j_reply, usage, "usage", 0, scripted_usage),
    F_U64(struct j_reply, delta_bytes, "delta_bytes", 0),     F_U64(struct j_reply, delay_ms, "delay_ms", 0),
    F_OBJ(struct j_reply, error, "error", 0, scripted_error), F_ANY(struct j_reply, data, "data", 0),
    F_ENUM(struct j_reply, stop, "stop", 0, stops),           F_STR(struct j_reply, id, "id", 0),
};
WJ_SHAPE(scripted_reply, struct j_reply, reply_rows);

WJ_ENUM(ends, enum upp__at_end, WJ_WORD("repeat_last", UPP__REPEAT_LAST), WJ_WORD("restart", UPP__RESTART),
        WJ_WORD("fail", UPP__FAIL));

struct j_script {
    struct wj_node node;
    struct upp_str name;
    bool echo, again;
    uint64_t delta_bytes, delay_ms;
    enum upp__at_end at_end;
    WJ_ARR(struct j_reply) replies;
};
static const struct wj_field script_rows[] = {
    F_STR(struct j_script, name, "name", 0),
    F_BOOL(struct j_script, echo, "echo", 0),
    F_BOOL(struct j_script, again, "again", 0),
    F_U64(struct j_script, delta_bytes, "delta_bytes", 0),
    F_U64(struct j_script, delay_ms, "delay_ms", 0),
    F_LIST(struct j_script, replies, "replies", 0, scripted_reply),
    F_ENUM(struct j_script, at_end, "at_end", 0, ends),
};
WJ_SHAPE(scripted_script, struct j_script, script_rows);

/* ---- What tables cannot say --------------------------------------------------------------------------------- */

struct reading {
    struct wb_arena *arena; /* of the script */
    yyjson_val *root;
    struct upp__script *script;
    struct upp_err *err;
};

static int refuse(const struct reading *in, const yyjson_val *where, const char *sentence)
{
    int r = upp_fail(in->err, UPP_EINVALID, "%s", sentence);
    wj_pointer_err(in->err, in->root, where);
    return r;
}

/* A value as compact JSON. */
static int as_text(const struct reading *in, yyjson_val *v, struct upp_str *ret)
{
    return wj_value_text(in->arena, v, ret, in->err);
}

static int read_call(const struct reading *in, const struct j_call *j, struct upp__script_part *ret)
{
    ret->kind = UPP_PART_CALL;
    ret->id = j->id;
    ret->name = j->name;
    ret->text = j->text.p ? j->text : UPP_STR("{}");
    if (!j->arguments)
        return 0;
    if (!yyjson_is_obj(j->arguments))
        return refuse(in, j->arguments, "expected arguments as an object or a string");
    return as_text(in, j->arguments, &ret->text);
}

static int read_media(const struct reading *in, const struct j_media *j, struct upp__script_part *ret)
{
    if (!!j->data.p + !!j->url.p + !!j->text.p != 1)
        return refuse(in, j->node.from, "expected one of data, url and text");
    ret->kind = (uint8_t)j->kind;
    ret->media = (struct upp_media){.source = j->data.p  ? UPP_SOURCE_BASE64
                                              : j->url.p ? UPP_SOURCE_URL
                                                         : UPP_SOURCE_TEXT,
                                    .data = j->data.p  ? j->data
                                            : j->url.p ? j->url
                                                       : j->text,
                                    .mime = j->mime,
                                    .title = j->title};
    return 0;
}

static int read_part(const struct reading *in, const struct j_part *j, struct upp__script_part *ret)
{
    if (!!j->text.p + !!j->reasoning.p + !!j->call + !!j->media + j->request != 1)
        return refuse(in, j->node.from, "expected one of text, reasoning, tool_call, media and request");
    if (j->request) {
        *ret = (struct upp__script_part){.kind = UPP_PART_TEXT, .shows = true};
        return 0;
    }
    if (j->call)
        return read_call(in, j->call, ret);
    if (j->media)
        return read_media(in, j->media, ret);
    ret->kind = j->text.p ? UPP_PART_TEXT : UPP_PART_REASONING;
    ret->text = j->text.p ? j->text : j->reasoning;
    return 0;
}

static int read_parts(const struct reading *in, const struct j_reply *j, struct upp__reply *ret)
{
    if (j->parts.n > WM_PARTS)
        return refuse(in, j->node.from, "expected at most 16384 parts");
    ret->parts = wb_new_n(in->arena, struct upp__script_part, j->parts.n + 1);
    if (!ret->parts)
        return wb_arena_check(in->arena, in->err);
    for (size_t i = 0; i < j->parts.n; i++) {
        int r = read_part(in, &j->parts.p[i], &ret->parts[i]);
        if (r < 0)
            return r;
        if (ret->parts[i].kind == UPP_PART_CALL)
            ret->stop = UPP_STOP_TOOLS;
        ret->shows |= ret->parts[i].shows;
    }
    ret->n_parts = j->parts.n;
    /* Structured answers come as text, as those of real models do: what was said is in the log. */
    if (!j->parts.p && ret->data.p)
        ret->parts[ret->n_parts++] = (struct upp__script_part){.kind = UPP_PART_TEXT, .text = ret->data};
    return 0;
}

static int read_error(const struct reading *in, const struct j_reply *j, struct upp__reply *ret)
{
    const struct j_error *e = j->error;
    ret->error = (struct upp__script_error){.code = e->code,
                                            .status = (int)e->status,
                                            .retry_after_ms = e->retry_after_ms,
                                            .message = e->message,
                                            .breaks = WJ_IS_SET(e, after),
                                            .after = e->after};
    if (e->status > 599)
        return refuse(in, e->node.from, "expected a status of at most 599");
    if (j->data || WJ_IS_SET(j, stop) || j->usage)
        return refuse(in, j->node.from, "an error has neither data nor usage nor stop");
    if (ret->error.breaks != !!j->parts.p)
        return refuse(in, j->node.from, "parts before an error need its 'after', and the other way round");
    return 0;
}

/* One text, or a list of them. None is empty: it would be everywhere. */
static int read_words(const struct reading *in, const yyjson_val *where, struct upp_str one, const struct upp_str *list,
                      size_t n, struct upp__script_words *ret)
{
    ret->n = one.p ? 1 : n;
    ret->p = wb_new_n(in->arena, struct upp_str, ret->n + 1);
    if (!ret->p)
        return wb_arena_check(in->arena, in->err);
    for (size_t i = 0; i < ret->n; i++) {
        ret->p[i] = one.p ? one : list[i];
        if (!ret->p[i].n)
            return refuse(in, where, "expected texts that are not empty");
    }
    return ret->n <= UPP__SCRIPT_WORDS ? 0 : refuse(in, where, "expected at most 64 texts");
}

static int read_fill(const struct reading *in, const struct j_fill *j, struct upp__script_fill *f)
{
    if (!j->name.n || (j->after.p && !j->after.n) || (!j->number && !j->after.p && !j->afters.n))
        return refuse(in, j->node.from, "expected a name and an 'after' that are not empty");
    *f = (struct upp__script_fill){.mark = wb_arena_printf(in->arena, "${%.*s}", UPP_FMT(j->name)),
                                   .otherwise = j->otherwise.p ? j->otherwise : UPP_STR(""),
                                   .needed = !WJ_IS_SET(j, otherwise),
                                   .earlier = j->earlier,
                                   .number = j->number,
                                   .result = j->result,
                                   .capital = j->capital};
    int r = read_words(in, j->node.from, j->after, j->afters.p, j->afters.n, &f->after);
    if (r >= 0)
        r = read_words(in, j->node.from, j->until, j->untils.p, j->untils.n, &f->until);
    return r < 0 ? r : read_words(in, j->node.from, j->is, j->are.p, j->are.n, &f->is);
}

static int read_fills(const struct reading *in, const struct j_reply *j, struct upp__reply *ret)
{
    if (j->fill.n > UPP__SCRIPT_FILLS)
        return refuse(in, j->node.from, "expected at most 16 fills");
    if (j->data)
        return refuse(in, j->node.from, "expected either fill or data");
    ret->fills = wb_new_n(in->arena, struct upp__script_fill, j->fill.n + 1);
    if (!ret->fills)
        return wb_arena_check(in->arena, in->err);
    for (size_t i = 0; i < j->fill.n; i++) {
        int r = read_fill(in, &j->fill.p[i], &ret->fills[ret->n_fills++]);
        if (r < 0)
            return r;
    }
    return wb_arena_check(in->arena, in->err);
}

static int read_reply(const struct reading *in, const struct j_reply *j, size_t index, struct upp__reply *ret)
{
    int r = 0;
    ret->delta_bytes = WJ_IS_SET(j, delta_bytes) ? j->delta_bytes : in->script->delta_bytes;
    ret->delay_ms = WJ_IS_SET(j, delay_ms) ? j->delay_ms : in->script->delay_ms;
    ret->stop = UPP_STOP_END;
    ret->id = j->id;
    ret->metadata = wb_arena_printf(in->arena, "{\"scripted\":{\"reply\":%zu%.*s", index, UPP_FMT(in->script->tail));
    if (j->when) {
        ret->contains = j->when->contains;
        ret->tool_result = j->when->tool_result;
        ret->tool = j->when->tool;
        r = read_words(in, j->when->node.from, j->when->word, j->when->words.p, j->when->words.n, &ret->words);
    }
    if (j->usage)
        ret->usage = (struct upp_usage){.input = j->usage->input,
                                        .output = j->usage->output,
                                        .cache_read = j->usage->cache_read,
                                        .cache_write = j->usage->cache_write,
                                        .reasoning = j->usage->reasoning};
    if (r >= 0 && !j->parts.p && !j->error && !j->data)
        r = refuse(in, j->node.from, "expected parts, data or error");
    if (r >= 0 && ret->delay_ms > UPP__SCRIPT_DELAY)
        r = refuse(in, j->node.from, "expected a delay_ms of at most 3600000");
    if (r >= 0 && j->fill.p)
        r = read_fills(in, j, ret);
    if (r >= 0 && j->data)
        r = as_text(in, j->data, &ret->data);
    if (r >= 0 && j->error)
        r = read_error(in, j, ret);
    if (r >= 0)
        r = read_parts(in, j, ret);
    if (r >= 0 && WJ_IS_SET(j, stop))
        ret->stop = (uint8_t)j->stop;
    return r;
}

static int read_replies(const struct reading *in, const struct j_script *j)
{
    struct upp__script *s = in->script;
    if (s->echo ? j->replies.p || WJ_IS_SET(j, at_end) : !j->replies.n)
        return refuse(in, j->node.from, "expected either replies (at least one) or echo");
    if (s->again && WJ_IS_SET(j, at_end))
        return refuse(in, j->node.from, "a script whose replies come again has no at_end");
    if (j->replies.n > UPP__SCRIPT_REPLIES)
        return refuse(in, j->node.from, "expected at most 65536 replies");
    s->replies = wb_new_n(in->arena, struct upp__reply, j->replies.n);
    if (!s->replies)
        return wb_arena_check(in->arena, in->err);
    for (size_t i = 0; i < j->replies.n; i++) {
        int r = read_reply(in, &j->replies.p[i], i, &s->replies[i]);
        if (r < 0)
            return r;
    }
    s->n = j->replies.n;
    return wb_arena_check(in->arena, in->err);
}

int upp__script_read(struct upp__script *s, struct upp_str text, struct upp_err *err)
{
    struct j_script j;
    yyjson_val *v;
    int r = wj_read(&s->arena, text,
                    UPP_OPTS(wj_read_opts, .flags = WJ_UNIQUE | WJ_SKIP_BOM, .max_bytes = UPP__SCRIPT_BYTES), &v, err);
    if (r < 0)
        return r;
    /* A member nobody knows is a spelling mistake: a script is written by hand. */
    r = WJ_DECODE(&s->arena, scripted_script, v, UPP_OPTS(wj_decode_opts, .closed = true), &j, err);
    if (r < 0)
        return r;
    struct reading in = {.arena = &s->arena, .root = v, .script = s, .err = err};
    s->name = j.name;
    s->tail = wb_arena_printf(&s->arena, "%.*s%016" PRIx64 "\"}}", UPP_FMT(UPP__SCRIPT_MEMBER), wb_str_hash(text));
    s->echo = j.echo;
    s->again = j.again;
    s->delta_bytes = j.delta_bytes;
    s->delay_ms = j.delay_ms;
    s->at_end = WJ_IS_SET(&j, at_end) ? (uint8_t)j.at_end : UPP__REPEAT_LAST;
    if (s->delay_ms > UPP__SCRIPT_DELAY)
        return refuse(&in, v, "expected a delay_ms of at most 3600000");
    return read_replies(&in, &j);
}
