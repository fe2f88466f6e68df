/* server/doors/v1/assistants.c — /v1/assistants: agents of the configuration, which cannot be changed here, and stored
 * assistants, which can. */
#include "server/doors/assistants.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/utf8.h"
#include "json/number.h"
#include "json/pointer.h"
#include "json/value.h"
#include "server/doors/metadata.h"
#include "server/doors/v1/routes.h"
#include "server/http/auth.h"
#include "server/http/body.h"
#include "server/http/error.h"
#include "server/http/server.h"

/* OpenAI's reference, 2026-08: characters of texts, tools of an assistant. */
enum { NAME = 256, DESCRIPTION = 512, INSTRUCTIONS = 256000, TOOLS = 128, TOOL_NAME = 64 };

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

struct setting;
struct reading {
    struct sv_exchange *x;
    struct sv_body      b;
};
typedef int check_fn(const struct reading *q, const struct setting *s, yyjson_val *v, struct upp_err *err);

struct setting {
    const char *name;
    check_fn   *check;
    size_t      max;          /* characters of a text */
    const char *least, *most; /* of a number */
};

static int check_text(const struct reading *q, const struct setting *s, yyjson_val *v, struct upp_err *err)
{
    if (!yyjson_is_str(v))
        return sv_body_wrong(&q->b, v, err, "'%s' is a string", s->name);
    if (wb_utf8_count(wj_text(v)) > s->max)
        return sv_body_wrong(&q->b, v, err, "'%s' has at most %zu characters", s->name, s->max);
    return 0;
}

static int check_model(const struct reading *q, const struct setting *s, yyjson_val *v, struct upp_err *err)
{
    int r = check_text(q, s, v, err);
    if (r < 0 || wr_has_model(q->x->core->engine, wj_text(v)))
        return r;
    char shown[WJ_QUOTED];
    r = upp_fail(err, UPP_ENOMODEL, "the configuration has no model %s", wj_quote(wj_text(v), shown, sizeof shown));
    wj_pointer_err(err, q->b.root, v);
    return r;
}

/* As for a run: whoever may not set the system prompt of a run may not store one either. */
static int check_instructions(const struct reading *q, const struct setting *s, yyjson_val *v, struct upp_err *err)
{
    int r = check_text(q, s, v, err);
    if (r < 0 || !wj_text(v).n)
        return r;
    if (q->x->server->opts.no_instructions) {
        r = upp_fail(err, UPP_EREFUSED, "'%s' are not taken: the configuration has server.instructions: false",
                     s->name);
        if (err)
            (void)snprintf(err->cause, sizeof err->cause, "%s", SV_INSTRUCTIONS);
    } else
        r = sv_auth_need(q->x, SV_SCOPE_INSTRUCTIONS, err);
    if (r < 0)
        wj_pointer_err(err, q->b.root, v);
    return r;
}

static int check_number(const struct reading *q, const struct setting *s, yyjson_val *v, struct upp_err *err)
{
    if (!yyjson_is_raw(v) || wj_num_cmp(wj_text(v), wb_cstr(s->least)) < 0 ||
        wj_num_cmp(wj_text(v), wb_cstr(s->most)) > 0)
        return sv_body_wrong(&q->b, v, err, "'%s' is a number from %s to %s", s->name, s->least, s->most);
    return 0;
}

static int check_metadata(const struct reading *q, const struct setting *s, yyjson_val *v, struct upp_err *err)
{
    struct upp_str text;
    (void)s, (void)v;
    int r = sv_metadata_read(&q->b, q->b.root, &q->x->arena, &text, err);
    return r < 0 ? r : 0;
}

static int check_resources(const struct reading *q, const struct setting *s, yyjson_val *v, struct upp_err *err)
{
    struct upp_str text;
    (void)s, (void)v;
    int r = sv_resources_read(&q->b, q->b.root, &q->x->arena, &text, err);
    return r < 0 ? r : 0;
}

static int check_format(const struct reading *q, const struct setting *s, yyjson_val *v, struct upp_err *err)
{
    static const struct upp_str types[] = {UPP_STR_INIT("text"), UPP_STR_INIT("json_object"),
                                           UPP_STR_INIT("json_schema")};
    if (yyjson_is_str(v) && wb_str_eq(wj_text(v), UPP_STR("auto")))
        return 0;
    struct upp_str type = yyjson_is_obj(v) ? wj_text_at(v, "type") : (struct upp_str){NULL, 0};
    bool           ok   = false;
    for (size_t i = 0; i < WB_LEN(types); i++)
        ok |= wb_str_eq(type, types[i]);
    if (ok && wb_str_eq(type, types[2]))
        ok = yyjson_is_obj(yyjson_obj_get(yyjson_obj_get(v, "json_schema"), "schema"));
    return ok ? 0
              : sv_body_wrong(
                    &q->b, v, err,
                    "'%s' is \"auto\", or an object of type text, json_object or json_schema (with its schema)",
                    s->name);
}

static int check_effort(const struct reading *q, const struct setting *s, yyjson_val *v, struct upp_err *err)
{
    static const char *const words[] = {"none", "minimal", "low", "medium", "high", "xhigh"};
    for (size_t i = 0; yyjson_is_str(v) && i < WB_LEN(words); i++)
        if (wb_str_eq(wj_text(v), wb_cstr(words[i])))
            return 0;
    return sv_body_wrong(&q->b, v, err, "'%s' is none, minimal, low, medium, high or xhigh", s->name);
}

static bool is_tool_name(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
              (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '_' || s.p[i] == '-'))
            return false;
    return s.n >= 1 && s.n <= TOOL_NAME;
}

static int check_tool(const struct reading *q, yyjson_val *v, struct upp_err *err)
{
    struct upp_str type = yyjson_is_obj(v) ? wj_text_at(v, "type") : (struct upp_str){NULL, 0};
    yyjson_val    *f    = sv_member(yyjson_is_obj(v) ? v : NULL, UPP_STR("function")), *schema;
    struct upp_str text;
    bool           strict;
    if (wb_str_eq(type, UPP_STR("file_search")) || wb_str_eq(type, UPP_STR("code_interpreter")))
        return sv_body_wrong(&q->b, v, err,
                             "the tool '%.*s' is not here: a stored assistant has tools of type function, which the "
                             "client runs; tools of the server belong to agents of the configuration",
                             UPP_FMT(type));
    if (!wb_str_eq(type, UPP_STR("function")) || !yyjson_is_obj(f))
        return sv_body_wrong(&q->b, v, err, "a tool is {\"type\": \"function\", \"function\": {...}}");
    if (!is_tool_name(wj_text_at(f, "name")))
        return sv_body_wrong(&q->b, f, err, "the name of a function has 1 to %d letters, digits, _ or -", TOOL_NAME);
    int r = sv_body_str(&q->b, f, UPP_STR("description"), &text, err);
    if (r >= 0)
        r = sv_body_object(&q->b, f, UPP_STR("parameters"), &schema, err);
    if (r >= 0)
        r = sv_body_bool(&q->b, f, UPP_STR("strict"), &strict, err);
    return r < 0 ? r : 0;
}

static int check_tools(const struct reading *q, const struct setting *s, yyjson_val *v, struct upp_err *err)
{
    yyjson_val *one, *other;
    size_t      i, k, max;
    if (!yyjson_is_arr(v) || yyjson_arr_size(v) > TOOLS)
        return sv_body_wrong(&q->b, v, err, "'%s' is an array of at most %d", s->name, TOOLS);
    yyjson_arr_foreach(v, i, max, one)
    {
        int r = check_tool(q, one, err);
        if (r < 0)
            return r;
        struct upp_str name  = wj_text_at(yyjson_obj_get(one, "function"), "name");
        yyjson_val    *first = yyjson_arr_get_first(v);
        for (k = 0, other = first; k < i; k++, other = unsafe_yyjson_get_next(other))
            if (wb_str_eq(name, wj_text_at(yyjson_obj_get(other, "function"), "name")))
                return sv_body_wrong(&q->b, one, err, "two tools are called '%.*s'", UPP_FMT(name));
    }
    return 0;
}

static const struct setting settings[] = {
    {"model", check_model, NAME, NULL, NULL},
    {"name", check_text, NAME, NULL, NULL},
    {"description", check_text, DESCRIPTION, NULL, NULL},
    {"instructions", check_instructions, INSTRUCTIONS, NULL, NULL},
    {"tools", check_tools, 0, NULL, NULL},
    {"tool_resources", check_resources, 0, NULL, NULL},
    {"metadata", check_metadata, 0, NULL, NULL},
    {"temperature", check_number, 0, "0", "2"},
    {"top_p", check_number, 0, "0", "1"},
    {"response_format", check_format, 0, NULL, NULL},
    {"reasoning_effort", check_effort, 0, NULL, NULL},
};

static int read_settings(struct sv_exchange *x, struct reading *ret, struct upp_err *err)
{
    const char *known[WB_LEN(settings) + 1];
    for (size_t i = 0; i < WB_LEN(settings); i++)
        known[i] = settings[i].name;
    known[WB_LEN(settings)] = NULL;
    ret->x                  = x;
    int r                   = sv_body_read(x, known, &ret->b, err);
    for (size_t i = 0; r >= 0 && i < WB_LEN(settings); i++) {
        yyjson_val *v = sv_member(ret->b.root, wb_cstr(settings[i].name));
        r             = v ? settings[i].check(ret, &settings[i], v, err) : 0;
    }
    return r;
}

/* The record: what is given, over what was there. null takes a setting away; a model always is. */
static int make_record(const struct reading *q, const struct sv_assistant *old, int64_t created_ms, struct upp_str *ret,
                       struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2 * SV_ASSISTANT_BYTES);
    struct wj_writer                      w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_i64(&w, "created_ms", created_ms);
    for (size_t i = 0; i < WB_LEN(settings); i++) {
        const char *name  = settings[i].name;
        yyjson_val *given = q->b.root ? yyjson_obj_get(q->b.root, name) : NULL;
        bool        keep  = !given || (i == 0 && yyjson_is_null(given));
        yyjson_val *v     = keep ? (old ? yyjson_obj_get(old->record, name) : NULL) : given;
        if (v && !yyjson_is_null(v))
            wj_put_value(&w, name, v);
    }
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &q->x->arena, ret);
}

/* ---- One of them ------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int answer(struct sv_exchange *x, struct upp_str id, struct upp_err *err)
{
    struct sv_assistant s;
    struct wj_writer    w;
    int                 r = sv_assistant_find(x, id, &x->arena, &s, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_assistant_write(&w, x, &s);
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_create_assistant(struct sv_exchange *x, struct upp_err *err)
{
    struct reading q;
    struct upp_str record, id = {NULL, 0};
    int            r = read_settings(x, &q, err);
    if (r >= 0 && !sv_member(q.b.root, UPP_STR("model")))
        return upp_fail(err, UPP_EINVALID, "model names a model of the configuration, and is missing");
    if (r >= 0)
        r = make_record(&q, NULL, wb_wall_ms(), &record, err);
    if (r >= 0)
        r = sv_assistant_add(x, record, &id, err);
    return r < 0 ? r : answer(x, id, err);
}

WEFT_SUSPENDS int sv_get_assistant(struct sv_exchange *x, struct upp_err *err)
{
    return answer(x, x->params[0], err);
}

/* The stored one that {a} names: an agent stays as the configuration says. */
WEFT_SUSPENDS static int find_stored(struct sv_exchange *x, struct sv_assistant *ret, struct upp_err *err)
{
    int r = sv_assistant_find(x, x->params[0], &x->arena, ret, err);
    if (r >= 0 && !ret->record)
        r = upp_fail(err, UPP_EREFUSED,
                     "'%.*s' is an agent of the server's configuration: it is neither modified nor deleted here",
                     UPP_FMT(ret->id));
    return r;
}

WEFT_SUSPENDS int sv_modify_assistant(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_assistant s;
    struct reading      q;
    struct upp_str      record;
    int                 r = find_stored(x, &s, err);
    if (r >= 0)
        r = read_settings(x, &q, err);
    if (r >= 0)
        r = make_record(&q, &s, s.created_ms, &record, err);
    if (r >= 0)
        r = sv_assistant_set(x, &s, record, err);
    return r < 0 ? r : answer(x, s.id, err);
}

WEFT_SUSPENDS int sv_delete_assistant(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_assistant s;
    struct wj_writer    w;
    int                 r = find_stored(x, &s, err);
    if (r >= 0)
        r = sv_assistant_drop(x, &s, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", s.id);
    wj_put_str(&w, "object", UPP_STR("assistant.deleted"));
    wj_put_bool(&w, "deleted", true);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* The page: `n` of the ids from `first` on, in their order, or in the other one. */
struct page {
    struct upp_str *ids;
    size_t          n_ids, first, n;
    bool            ascending, more;
};

/* The place among the ids of the assistant that a parameter names. 1; 0: the parameter is absent. */
WEFT_SUSPENDS static int read_cursor(struct sv_exchange *x, const struct page *p, struct upp_str name, size_t *ret,
                                     struct upp_err *err)
{
    struct upp_str      text;
    struct sv_assistant s;
    int                 r = sv_query(x, name, &text, err);
    if (r <= 0)
        return r;
    r = sv_assistant_find(x, text, &x->arena, &s, err);
    for (*ret = 0; r >= 0 && *ret < p->n_ids; (*ret)++)
        if (wb_str_eq(p->ids[*ret], s.id))
            return 1;
    return r < 0 && r != -UPP_ENOTFOUND
               ? r
               : upp_fail(err, UPP_EINVALID, "'%.*s' names no assistant: '%.*s'", UPP_FMT(name), UPP_FMT(text));
}

WEFT_SUSPENDS static int read_page(struct sv_exchange *x, struct page *p, struct upp_err *err)
{
    uint64_t limit;
    size_t   after = 0, before = 0;
    int      r = sv_read_limit(x, &limit, &p->ascending, err);
    if (r >= 0)
        r = sv_assistant_ids(x, &p->ids, &p->n_ids, err);
    if (r < 0)
        return r;
    int has_after  = read_cursor(x, p, UPP_STR("after"), &after, err);
    int has_before = has_after < 0 ? 0 : read_cursor(x, p, UPP_STR("before"), &before, err);
    if (has_after < 0 || has_before < 0)
        return has_after < 0 ? has_after : has_before;
    size_t lo = 0, hi = p->n_ids;
    if (has_after > 0)
        *(p->ascending ? &lo : &hi) = p->ascending ? after + 1 : after;
    if (has_before > 0)
        *(p->ascending ? &hi : &lo) = p->ascending ? before : before + 1;
    size_t between = lo < hi ? hi - lo : 0;
    bool   low     = p->ascending != (has_before > 0 && has_after == 0); /* from the lower end on */
    p->n           = WB_MIN(between, (size_t)limit);
    p->more        = between > p->n;
    p->first       = low ? lo : hi - p->n;
    return 0;
}

WEFT_SUSPENDS int sv_list_assistants(struct sv_exchange *x, struct upp_err *err)
{
    struct page      p     = {0};
    struct upp_str   first = {NULL, 0}, last = {NULL, 0};
    struct wj_writer w;
    int              r = read_page(x, &p, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < p.n; i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a  = WB_ARENA(16u << 20); /* records may be long */
        struct upp_str                            id = p.ids[p.ascending ? p.first + i : p.first + p.n - 1 - i];
        struct sv_assistant                       s;
        r = sv_assistant_find(x, id, &a, &s, err);
        if (r == -UPP_ENOTFOUND) /* deleted just now */
            continue;
        if (r < 0)
            return r;
        sv_assistant_write(&w, x, &s);
        first = first.p ? first : id;
        last  = id;
    }
    wj_write_close(&w, ']');
    wj_put_str(&w, "first_id", first);
    wj_put_str(&w, "last_id", last);
    wj_put_bool(&w, "has_more", p.more);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}
