/* upp/client/parameters.c — the parameters of a tool: JSON Schema as it is, or the short form converted to it.
 *
 *     {city: string, days?: integer, units: "metric"|"imperial", tags: string[], place: {lat: number, lon: number}}
 *
 * Types: string, integer, number, boolean, object, any. A `?` after the name makes it optional.
 */
#include <upp/tool.h>

#include "base/vec.h"
#include "json/read.h"
#include "json/write.h"
#include "upp/client/talk.h"

enum { DEPTH = 16, SCHEMA_BYTES = 1 << 20, MEMBERS = 1024 };

struct reader {
    struct upp_str text;
    size_t at;
    unsigned depth;
    struct wj_writer w;
    struct upp_err *err;
    int failed;
};

static void refuse(struct reader *r, const char *expected)
{
    if (!r->failed)
        r->failed = upp_fail(r->err, UPP_EINVALID, "parameters: expected %s at byte %zu", expected, r->at);
}

static char peek(struct reader *r)
{
    while (r->at < r->text.n && strchr(" \t\r\n", r->text.p[r->at]))
        r->at++;
    return r->at < r->text.n ? r->text.p[r->at] : 0;
}

static bool take(struct reader *r, char c)
{
    bool there = peek(r) == c;
    r->at += there;
    return there;
}

static void need(struct reader *r, char c, const char *expected)
{
    if (!take(r, c))
        refuse(r, expected);
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '$';
}

static struct upp_str word(struct reader *r, const char *expected)
{
    (void)peek(r);
    size_t from = r->at;
    while (r->at < r->text.n && in_word(r->text.p[r->at]))
        r->at++;
    if (r->at == from)
        refuse(r, expected);
    return wb_str_sub(r->text, from, r->at - from);
}

static void type(struct reader *r);

/* "a"|"b": an enum. No escapes. */
static void literals(struct reader *r)
{
    wj_write_open(&r->w, '{');
    wj_put_str(&r->w, "type", UPP_STR("string"));
    wj_put_open(&r->w, "enum", '[');
    do {
        need(r, '"', "a string in quotes");
        size_t from = r->at;
        while (r->at < r->text.n && r->text.p[r->at] != '"' && r->text.p[r->at] != '\\')
            r->at++;
        wj_write_str(&r->w, wb_str_sub(r->text, from, r->at - from));
        if (!r->failed && (r->at == r->text.n || r->text.p[r->at++] != '"'))
            refuse(r, "the end of the string");
    } while (!r->failed && take(r, '|'));
    wj_write_close(&r->w, ']');
    wj_write_close(&r->w, '}');
}

struct names {
    WB_VEC(struct upp_str) list;
};

/* Refuses duplicate names. */
static void take_name(struct reader *r, struct names *seen, struct upp_str name)
{
    for (size_t i = 0; i < seen->list.n && !r->failed; i++)
        if (wb_str_eq(seen->list.p[i], name)) {
            r->at -= name.n;
            refuse(r, "a name that is not there yet");
        }
    if (r->failed || wb_vec_push(&seen->list, name, MEMBERS))
        return;
    r->failed = seen->list.n == MEMBERS
                    ? upp_fail(r->err, UPP_ELIMIT, "parameters: more than %d in one object", MEMBERS)
                    : upp_fail(r->err, UPP_ENOMEM, "out of memory");
}

static void names_done(struct names *n)
{
    wb_vec_done(&n->list);
}

static void object(struct reader *r)
{
    WB_CLEANUP(names_done) struct names seen = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf names = WB_BUF(SCHEMA_BYTES); /* the required ones */
    struct wj_writer required;
    wj_writer_init(&required, &names, r->err);
    wj_write_open(&r->w, '{');
    wj_put_str(&r->w, "type", UPP_STR("object"));
    wj_put_open(&r->w, "properties", '{');
    need(r, '{', "'{'");
    while (!r->failed && peek(r) != '}') {
        struct upp_str name = word(r, "a name");
        take_name(r, &seen, name);
        if (!take(r, '?'))
            wj_write_str(&required, name);
        need(r, ':', "':'");
        wj_write_name(&r->w, name);
        if (!r->failed)
            type(r);
        if (!take(r, ','))
            break;
    }
    need(r, '}', "',' or '}'");
    wj_write_close(&r->w, '}');
    int bad = wj_writer_check(&required);
    if (bad < 0 && !r->failed)
        r->failed = bad;
    if (names.n) {
        wj_put_open(&r->w, "required", '[');
        wj_write_raw(&r->w, names.p, names.n);
        wj_write_close(&r->w, ']');
    }
    wj_write_close(&r->w, '}');
}

static void named_type(struct reader *r)
{
    static const struct upp_str types[] = {UPP_STR_INIT("string"), UPP_STR_INIT("integer"), UPP_STR_INIT("number"),
                                           UPP_STR_INIT("boolean"), UPP_STR_INIT("object")};
    struct upp_str name = word(r, "a type");
    bool any = wb_str_eq(name, UPP_STR("any"));
    size_t i = 0;
    while (i < WB_LEN(types) && !wb_str_eq(types[i], name))
        i++;
    if (i == WB_LEN(types) && !any) {
        r->at -= name.n;
        refuse(r, "string, integer, number, boolean, object, any, a string in quotes or '{'");
    }
    wj_write_open(&r->w, '{');
    if (!any)
        wj_put_str(&r->w, "type", name);
    wj_write_close(&r->w, '}');
}

/* Counts the [] after the type that begins here: their schemas are written before it. */
static size_t arrays_after(struct reader *r)
{
    struct wb_buf nowhere = WB_BUF(SCHEMA_BYTES);
    struct reader ahead = {.text = r->text, .at = r->at, .depth = r->depth};
    size_t n = 0;
    wj_writer_init(&ahead.w, &nowhere, NULL);
    char first = peek(&ahead);
    if (first == '{') { /* skips to its end by counting brackets */
        size_t open = 0;
        for (bool quoted = false; ahead.at < ahead.text.n; ahead.at++) {
            char c = ahead.text.p[ahead.at];
            quoted ^= c == '"';
            open += !quoted && c == '{';
            if (!quoted && c == '}' && --open == 0)
                break;
        }
        ahead.at += ahead.at < ahead.text.n;
    } else if (first == '"')
        literals(&ahead);
    else
        (void)word(&ahead, "a type");
    wb_buf_done(&nowhere);
    while (!ahead.failed && n < DEPTH && take(&ahead, '[') && take(&ahead, ']'))
        n++;
    return ahead.failed ? 0 : n;
}

static void type(struct reader *r)
{
    if (++r->depth > DEPTH) {
        r->failed = upp_fail(r->err, UPP_ELIMIT, "parameters: nested deeper than %d", DEPTH);
        return;
    }
    size_t n = arrays_after(r);
    for (size_t i = 0; i < n; i++) {
        wj_write_open(&r->w, '{');
        wj_put_str(&r->w, "type", UPP_STR("array"));
        wj_write_name(&r->w, UPP_STR("items"));
    }
    char first = peek(r);
    if (first == '{')
        object(r);
    else if (first == '"')
        literals(r);
    else
        named_type(r);
    for (size_t i = 0; i < n && !r->failed; i++) {
        need(r, '[', "'['");
        need(r, ']', "']'");
        wj_write_close(&r->w, '}');
    }
    r->depth--;
}

static int schema(struct wb_arena *a, struct upp_str json, struct upp_str *ret, struct upp_err *err)
{
    struct wj_syntax seen;
    int r = wj_syntax(json, WJ_MAX_DEPTH, &seen, err);
    if (r < 0)
        return upp_wrap(err, r, "parameters");
    *ret = wb_arena_dup(a, json);
    return wb_arena_check(a, err);
}

int upp__parameters(struct wb_arena *a, struct upp_str text, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SCHEMA_BYTES);
    struct reader r = {.text = text.p ? text : UPP_STR("{}"), .err = err};
    if (take(&r, '{') && peek(&r) == '"')
        return schema(a, wb_str_trim(text), ret, err);
    r.at = 0;
    wj_writer_init(&r.w, &out, err);
    object(&r);
    if (peek(&r) && !r.failed)
        refuse(&r, "the end");
    if (r.failed)
        return r.failed;
    return wj_writer_text(&r.w, a, ret);
}
