/* dialects/pydantic_check.c — what Pydantic AI refuses when it loads a list of messages, and what it does not keep.
 *
 * An error is what both 2.33, whose form is written here, and 2.66 refuse. What only one of them takes, what is
 * dropped, and what is made up when it is missing (so that two loads differ) are warnings.
 */
#include "base/base64.h"
#include "base/err.h"
#include "dialects/pydantic.h"
#include "dialects/pydantic_values.h"
#include "json/number.h"
#include "json/value.h"

enum { REQUEST = 1, RESPONSE = 2, ROWS = 16 };

struct check {
    struct wd_problems *p;
    const char         *rule; /* of the object that is looked at */
    unsigned            where;
    struct upp_str      time; /* the last that was one: many are the same */
};

/* A member: `is` tells of what is wrong with its value. */
struct row {
    struct upp_str name;
    unsigned       flags;
    void (*is)(struct check *c, yyjson_val *v, const struct row *row);
    const char *const  *words;
    const struct shape *of; /* what its items are */
};
enum {
    NEEDED  = 1 << 0,
    OR_NULL = 1 << 1,
    MADE_UP = 1 << 2, /* where it is missing */
};

#define ANY(name_, flags_)                                                                                             \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .flags = (flags_)                                                                 \
    }
#define OF(name_, flags_, is_)                                                                                         \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .flags = (flags_), .is = (is_)                                                    \
    }
#define ONE(name_, flags_, is_, words_)                                                                                \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .flags = (flags_), .is = (is_), .words = (words_)                                 \
    }

struct shape {
    struct upp_str    name;
    unsigned          where, later; /* which messages may have it, as of 2.33 and since then */
    const struct row *rows;         /* NULL: not looked at */
    size_t            n;
    bool              open; /* members that nobody knows are kept */
};
#define SHAPE(name_, where_, rows_)                                                                                    \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .where = (where_), .rows = (rows_), .n = WB_LEN(rows_)                            \
    }

static void wrong(struct check *c, yyjson_val *v, const struct row *row, const char *what)
{
    char found[WJ_QUOTED];
    wd_problem(c->p, WD_ERROR, c->rule, v, "'%s' is %s, not %s", row->name.p, what, wj_found(v, found, sizeof found));
}

/* ---- Objects ------------------------------------------------------------------------------------------------- */

/* The member that counts: the last of that name. */
static inline yyjson_val *last_of(yyjson_val *object, struct upp_str name)
{
    size_t      i, n;
    yyjson_val *key, *v, *found = NULL;
    yyjson_obj_foreach(object, i, n, key, v)
    {
        if (wj_named(key, name))
            found = v;
    }
    return found;
}

static inline bool is_text(yyjson_val *v, struct upp_str text)
{
    return v && yyjson_is_str(v) && wj_named(v, text);
}

/* The row of that name, or s->n. Members come in the order of the rows, as Pydantic AI writes them: so it is looked for
 * from row `from` on first. */
static size_t row_of(const struct shape *s, yyjson_val *key, size_t from)
{
    while (from < s->n && !wj_named(key, s->rows[from].name))
        from++;
    if (from < s->n)
        return from;
    for (from = 0; from < s->n && !wj_named(key, s->rows[from].name);)
        from++;
    return from;
}

static void check_object(struct check *c, yyjson_val *object, const struct shape *s)
{
    yyjson_val *found[ROWS] = {0}, *key, *v;
    size_t      i, n, next = 0;
    yyjson_obj_foreach(object, i, n, key, v)
    {
        size_t at = row_of(s, key, next);
        if (at == s->n) {
            if (!s->open)
                wd_problem(c->p, WD_WARNING, "PAI-1.0", v, "Pydantic AI 2.33 does not know this member and drops it");
            continue;
        }
        if (found[at])
            wd_problem(c->p, WD_WARNING, "PAI-1.0", v, "'%s' is named twice: the last one counts", s->rows[at].name.p);
        found[at] = v;
        next      = at + 1;
    }
    for (i = 0; i < s->n; i++) {
        const struct row *row = &s->rows[i];
        if (found[i]) {
            if (row->is && !(row->flags & OR_NULL && yyjson_is_null(found[i])))
                row->is(c, found[i], row);
        } else if (row->flags & NEEDED)
            wd_problem(c->p, WD_ERROR, c->rule, object, "member '%s' is missing", row->name.p);
        else if (row->flags & MADE_UP)
            wd_problem(c->p, WD_WARNING, c->rule, object,
                       "member '%s' is missing: Pydantic AI makes up another one each time it loads this", row->name.p);
    }
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

static void text(struct check *c, yyjson_val *v, const struct row *row)
{
    if (!yyjson_is_str(v))
        wrong(c, v, row, "a text");
}

static void object(struct check *c, yyjson_val *v, const struct row *row)
{
    if (!yyjson_is_obj(v))
        wrong(c, v, row, "an object");
}

static void whole(struct check *c, yyjson_val *v, const struct row *row)
{
    if (!wd_pydantic_int(v))
        wrong(c, v, row, "a whole number");
}

static void decimal(struct check *c, yyjson_val *v, const struct row *row)
{
    if (!wd_pydantic_decimal(v))
        wrong(c, v, row, "a decimal number");
}

static void moment(struct check *c, yyjson_val *v, const struct row *row)
{
    char quoted[WJ_QUOTED];
    if (c->time.p && yyjson_is_str(v) && wj_named(v, c->time))
        return;
    if (wd_pydantic_time(v)) {
        if (yyjson_is_str(v))
            c->time = wj_text(v);
        return;
    }
    if (yyjson_is_str(v))
        wd_problem(c->p, WD_ERROR, c->rule, v, "'%s' is no time: %s", row->name.p,
                   wj_quote(wj_text(v), quoted, sizeof quoted));
    else
        wrong(c, v, row, "a time");
}

static void word(struct check *c, yyjson_val *v, const struct row *row)
{
    for (const char *const *w = row->words; *w; w++)
        if (is_text(v, wb_cstr(*w)))
            return;
    struct wj_list list = {0};
    char           found[WJ_QUOTED];
    for (const char *const *w = row->words; *w; w++)
        wj_list_add(&list, ", ", "'", wb_cstr(*w));
    wd_problem(c->p, WD_ERROR, c->rule, v, "'%s' is one of %s, not %s", row->name.p, list.p,
               yyjson_is_str(v) ? wj_quote(wj_text(v), found, sizeof found) : wj_found(v, found, sizeof found));
}

static void texts(struct check *c, yyjson_val *v, const struct row *row)
{
    size_t      i, n;
    yyjson_val *item;
    if (!yyjson_is_arr(v))
        wrong(c, v, row, "a list of texts");
    yyjson_arr_foreach(v, i, n, item)
    {
        if (!yyjson_is_str(item))
            wrong(c, item, row, "a list of texts");
    }
}

static void download(struct check *c, yyjson_val *v, const struct row *row)
{
    if (!wd_pydantic_bool(v) && !is_text(v, UPP_STR("allow-local")))
        wrong(c, v, row, "true, false or 'allow-local'");
}

static void bytes(struct check *c, yyjson_val *v, const struct row *row)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WD_DOC_BYTES);
    struct upp_err                        err;
    int                                   r = yyjson_is_str(v) ? wb_base64_decode(wj_text(v), &out, &err) : 0;
    if (!yyjson_is_str(v))
        wrong(c, v, row, "base64");
    else if (r == -UPP_EINVALID)
        wd_problem(c->p, WD_ERROR, c->rule, v, "%s", err.msg);
    else if (r < 0)
        c->p->failed = r;
}

/* ---- Content of prompts ---------------------------------------------------------------------------------------- */

static const char *const lifetimes[] = {"5m", "1h", NULL};
static const char *const uploaders[] = {"anthropic", "openai", "google", "google-cloud", "google-gla", "google-vertex",
                                        "bedrock",   "xai",    NULL};
static const char *const binary_kind[] = {"binary", NULL};

static const struct row url_rows[] = {
    OF("url", NEEDED, text), OF("force_download", 0, download), OF("vendor_metadata", OR_NULL, object),
    ANY("kind", 0),          OF("media_type", OR_NULL, text),   OF("identifier", OR_NULL, text),
};
static const struct row binary_rows[] = {
    OF("data", NEEDED, bytes),         OF("media_type", NEEDED, text),  OF("vendor_metadata", OR_NULL, object),
    ONE("kind", 0, word, binary_kind), OF("identifier", OR_NULL, text),
};
static const struct row text_rows[]   = {OF("content", NEEDED, text), ANY("metadata", 0), ANY("kind", 0)};
static const struct row cache_rows[]  = {ANY("kind", 0), ONE("ttl", 0, word, lifetimes)};
static const struct row upload_rows[] = {
    OF("file_id", NEEDED, text),
    ONE("provider_name", NEEDED, word, uploaders),
    OF("vendor_metadata", OR_NULL, object),
    ANY("kind", 0),
    OF("media_type", OR_NULL, text),
    OF("identifier", OR_NULL, text),
};
static const struct shape items[] = {
    SHAPE("image-url", REQUEST, url_rows),
    SHAPE("audio-url", REQUEST, url_rows),
    SHAPE("video-url", REQUEST, url_rows),
    SHAPE("document-url", REQUEST, url_rows),
    SHAPE("binary", REQUEST, binary_rows),
    SHAPE("text-content", REQUEST, text_rows),
    SHAPE("cache-point", REQUEST, cache_rows),
    SHAPE("uploaded-file", REQUEST, upload_rows),
    {.name = UPP_STR_INIT("structured-content"), .later = REQUEST},
};

static const struct shape *shape_of(const struct shape *list, size_t n, yyjson_val *name)
{
    for (size_t i = 0; i < n; i++)
        if (is_text(name, list[i].name))
            return &list[i];
    return NULL;
}

static void unknown(struct check *c, yyjson_val *object, const char *member, yyjson_val *name)
{
    char found[WJ_QUOTED];
    if (!name)
        wd_problem(c->p, WD_ERROR, c->rule, object, "member '%s' is missing", member);
    else
        wd_problem(c->p, WD_ERROR, c->rule, name, "'%s' cannot be %s", member,
                   yyjson_is_str(name) ? wj_quote(wj_text(name), found, sizeof found)
                                       : wj_found(name, found, sizeof found));
}

static void newer(struct check *c, yyjson_val *at, const char *what)
{
    wd_problem(c->p, WD_WARNING, "PAI-1.7", at, "%s is newer than Pydantic AI 2.33, which refuses it", what);
}

static void check_item(struct check *c, yyjson_val *item)
{
    yyjson_val         *kind = last_of(item, UPP_STR("kind"));
    const struct shape *s    = shape_of(items, WB_LEN(items), kind);
    if (yyjson_is_str(item))
        return;
    if (!yyjson_is_obj(item))
        wd_problem(c->p, WD_ERROR, c->rule, item, "an item of a prompt is a text or an object");
    else if (!kind)
        wd_problem(c->p, WD_WARNING, c->rule, item, "an item without 'kind': Pydantic AI guesses one");
    else if (!s)
        unknown(c, item, "kind", kind);
    else if (s->later)
        newer(c, kind, "this kind of item");
    else
        check_object(c, item, s);
}

static void prompt(struct check *c, yyjson_val *v, const struct row *row)
{
    const char *rule = c->rule;
    size_t      i, n;
    yyjson_val *item;
    if (!yyjson_is_str(v) && !yyjson_is_arr(v))
        wrong(c, v, row, "a text or a list");
    c->rule = "PAI-1.5";
    yyjson_arr_foreach(v, i, n, item)
    {
        check_item(c, item);
    }
    c->rule = rule;
}

static void binary(struct check *c, yyjson_val *v, const struct row *row)
{
    static const struct shape s    = SHAPE("binary", 0, binary_rows);
    const char               *rule = c->rule;
    if (!yyjson_is_obj(v)) {
        wrong(c, v, row, "binary content");
        return;
    }
    c->rule = "PAI-1.5";
    check_object(c, v, &s);
    c->rule = rule;
}

/* ---- Feedback ---------------------------------------------------------------------------------------------------- */

static void place(struct check *c, yyjson_val *v, const struct row *row)
{
    size_t      i, n;
    yyjson_val *item;
    if (!yyjson_is_arr(v))
        wrong(c, v, row, "a list of texts and whole numbers");
    yyjson_arr_foreach(v, i, n, item)
    {
        if (!yyjson_is_str(item) && !wd_pydantic_int(item))
            wrong(c, item, row, "a list of texts and whole numbers");
    }
}

static void errors(struct check *c, yyjson_val *v, const struct row *row)
{
    static const struct row rows[] = {
        OF("type", NEEDED, text), OF("loc", NEEDED, place), OF("msg", NEEDED, text),
        ANY("input", NEEDED),     OF("ctx", 0, object),     OF("url", 0, text),
    };
    static const struct shape s = SHAPE("error", 0, rows);
    size_t                    i, n;
    yyjson_val               *item;
    if (!yyjson_is_str(v) && !yyjson_is_arr(v))
        wrong(c, v, row, "a text or a list of errors");
    yyjson_arr_foreach(v, i, n, item)
    {
        if (yyjson_is_obj(item))
            check_object(c, item, &s);
        else
            wrong(c, item, row, "a list of errors");
    }
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

static const char *const outcomes[] = {"success", "failed", "denied", "interrupted", NULL};

static void outcome(struct check *c, yyjson_val *v, const struct row *row)
{
    if (is_text(v, UPP_STR("retried")))
        newer(c, v, "this outcome");
    else
        word(c, v, row);
}

static void args(struct check *c, yyjson_val *v, const struct row *row)
{
    if (!yyjson_is_str(v) && !yyjson_is_obj(v))
        wrong(c, v, row, "a text, an object or null");
}

static void tool_kind(struct check *c, yyjson_val *v, const struct row *row)
{
    if (!yyjson_is_str(v))
        wrong(c, v, row, "a text or null");
    else if (!is_text(v, UPP_STR("tool-search")) && !is_text(v, UPP_STR("capability-load")))
        newer(c, v, "this kind of tool");
}

static void speaker(struct check *c, yyjson_val *v, const struct row *row)
{
    char        found[WJ_QUOTED];
    const char *who = c->where == REQUEST ? "user" : "assistant";
    if (!is_text(v, wb_cstr(who)))
        wd_problem(c->p, WD_ERROR, c->rule, v, "'%s' of a %s is '%s', not %s", row->name.p,
                   c->where == REQUEST ? "request" : "response", who, wj_found(v, found, sizeof found));
}

static const struct row system_rows[] = {OF("content", NEEDED, text), OF("timestamp", MADE_UP, moment),
                                         OF("dynamic_ref", OR_NULL, text), ANY("part_kind", 0)};
static const struct row user_rows[]   = {OF("content", NEEDED, prompt), OF("timestamp", MADE_UP, moment),
                                         ANY("part_kind", 0)};
static const struct row return_rows[] = {
    OF("tool_name", NEEDED, text),        ANY("content", NEEDED), OF("tool_call_id", MADE_UP, text),
    OF("tool_kind", OR_NULL, tool_kind),  ANY("metadata", 0),     OF("timestamp", MADE_UP, moment),
    ONE("outcome", 0, outcome, outcomes), ANY("part_kind", 0),
};
static const struct row builtin_return_rows[] = {
    OF("tool_name", NEEDED, text),
    ANY("content", NEEDED),
    OF("tool_call_id", MADE_UP, text),
    OF("tool_kind", OR_NULL, tool_kind),
    ANY("metadata", 0),
    OF("timestamp", MADE_UP, moment),
    ONE("outcome", 0, outcome, outcomes),
    OF("provider_name", OR_NULL, text),
    OF("provider_details", OR_NULL, object),
    ANY("part_kind", 0),
};
static const struct row retry_rows[] = {
    OF("content", NEEDED, errors),
    OF("tool_name", OR_NULL, text),
    OF("tool_call_id", MADE_UP, text),
    OF("timestamp", MADE_UP, moment),
    ANY("part_kind", 0),
};
static const struct row delta_rows[]  = {OF("tools_added", 0, texts), OF("added", 0, texts),
                                         OF("tool_call_id", OR_NULL, text), ANY("part_kind", 0)};
static const struct row speech_rows[] = {
    OF("speaker", NEEDED, speaker),
    OF("transcript", OR_NULL, text),
    OF("audio", OR_NULL, binary),
    OF("interrupted_at_ms", OR_NULL, whole),
    OF("id", OR_NULL, text),
    OF("provider_name", OR_NULL, text),
    OF("provider_details", OR_NULL, object),
    ANY("part_kind", 0),
};
static const struct row said_rows[] = {
    OF("content", NEEDED, text),
    OF("id", OR_NULL, text),
    OF("provider_name", OR_NULL, text),
    OF("provider_details", OR_NULL, object),
    ANY("part_kind", 0),
};
static const struct row thinking_rows[] = {
    OF("content", NEEDED, text),
    OF("id", OR_NULL, text),
    OF("signature", OR_NULL, text),
    OF("provider_name", OR_NULL, text),
    OF("provider_details", OR_NULL, object),
    ANY("part_kind", 0),
};
static const struct row call_rows[] = {
    OF("tool_name", NEEDED, text),           OF("args", OR_NULL, args), OF("tool_call_id", MADE_UP, text),
    OF("tool_kind", OR_NULL, tool_kind),     OF("id", OR_NULL, text),   OF("provider_name", OR_NULL, text),
    OF("provider_details", OR_NULL, object), ANY("part_kind", 0),
};
static const struct row file_rows[] = {
    OF("content", NEEDED, binary),           OF("id", OR_NULL, text), OF("provider_name", OR_NULL, text),
    OF("provider_details", OR_NULL, object), ANY("part_kind", 0),
};
static const struct row compaction_rows[] = {
    OF("content", OR_NULL, text),
    OF("id", OR_NULL, text),
    OF("provider_name", OR_NULL, text),
    OF("provider_details", OR_NULL, object),
    ANY("part_kind", 0),
};

static const struct shape parts[] = {
    SHAPE("system-prompt", REQUEST, system_rows),
    SHAPE("user-prompt", REQUEST, user_rows),
    SHAPE("tool-return", REQUEST, return_rows),
    SHAPE("retry-prompt", REQUEST, retry_rows),
    SHAPE("tool-availability-delta", REQUEST, delta_rows),
    SHAPE("speech", REQUEST | RESPONSE, speech_rows),
    SHAPE("text", RESPONSE, said_rows),
    SHAPE("thinking", RESPONSE, thinking_rows),
    SHAPE("tool-call", RESPONSE, call_rows),
    SHAPE("builtin-tool-call", RESPONSE, call_rows),
    SHAPE("builtin-tool-return", RESPONSE, builtin_return_rows),
    SHAPE("file", RESPONSE, file_rows),
    {UPP_STR_INIT("compaction"), RESPONSE, REQUEST, compaction_rows, WB_LEN(compaction_rows), false},
     {.name = UPP_STR_INIT("retry-feedback"), .later = REQUEST},
      {.name = UPP_STR_INIT("capability-load-delta"), .later = REQUEST},
       {.name = UPP_STR_INIT("model-settings-delta"), .later = REQUEST},
        {.name = UPP_STR_INIT("instruction-delta"), .later = REQUEST},
         {.name = UPP_STR_INIT("instruction-baseline"), .later = REQUEST},
};

/* ---- Tools of Pydantic AI itself: their kind fixes what they are called with and what they give ---------------------
 */

static void queries(struct check *c, yyjson_val *v, const struct row *row)
{
    if (yyjson_is_obj(v))
        check_object(c, v, &(struct shape){.rows = row, .n = 1});
}

static void tool_names(struct check *c, yyjson_val *v, const struct row *row)
{
    size_t      i, n;
    yyjson_val *item;
    if (!yyjson_is_arr(v))
        wrong(c, v, row, "a list of tools");
    yyjson_arr_foreach(v, i, n, item)
    {
        if (yyjson_is_obj(item))
            check_object(c, item, row->of);
        else
            wrong(c, item, row, "a list of tools");
    }
}

static void content_of_kind(struct check *c, yyjson_val *part, bool search)
{
    static const struct row   tool[]  = {OF("name", NEEDED, text)};
    static const struct shape tools   = {.rows = tool, .n = 1, .open = true};
    static const struct row   found[] = {
          {.name = UPP_STR_INIT("discovered_tools"), .flags = NEEDED, .is = tool_names, .of = &tools},
           OF("message", 0, text),
    };
    static const struct row   loaded[] = {OF("instructions", 0, text)};
    static const struct row   content  = ANY("content", 0);
    static const struct shape a = {.rows = found, .n = 2}, b = {.rows = loaded, .n = 1};
    yyjson_val               *v = last_of(part, UPP_STR("content"));
    if (v && !yyjson_is_obj(v))
        wrong(c, v, &content, "an object where 'tool_kind' is said");
    else if (v)
        check_object(c, v, search ? &a : &b);
}

static void check_kind_of_tool(struct check *c, yyjson_val *part, const char *kind)
{
    static const struct row searched = OF("queries", NEEDED, texts), loaded = OF("id", NEEDED, text);
    yyjson_val             *said = last_of(part, UPP_STR("tool_kind"));
    if (!said)
        return;
    bool builtin = strncmp(kind, "builtin-", 8) == 0, search = is_text(said, UPP_STR("tool-search"));
    if (!search && (builtin || !is_text(said, UPP_STR("capability-load"))))
        return;
    bool        gives = strstr(kind, "return") != NULL;
    yyjson_val *ended = last_of(part, UPP_STR("outcome"));
    if (gives && ended && !is_text(ended, UPP_STR("success"))) {
        wd_problem(c->p, WD_WARNING, "PAI-1.7", said, "Pydantic AI 2.33 wants what a success gives here too");
        return;
    }
    yyjson_val *name = last_of(part, UPP_STR("tool_name"));
    const char *must = !search ? "load_capability" : builtin ? "tool_search" : "search_tools";
    if (name && yyjson_is_str(name) && !is_text(name, wb_cstr(must)))
        wd_problem(c->p, WD_ERROR, c->rule, name, "a tool of this 'tool_kind' is '%s'", must);
    if (gives)
        content_of_kind(c, part, search);
    else
        queries(c, last_of(part, UPP_STR("args")), search ? &searched : &loaded);
}

static void check_part(struct check *c, yyjson_val *part)
{
    yyjson_val         *kind = last_of(part, UPP_STR("part_kind"));
    const struct shape *s    = shape_of(parts, WB_LEN(parts), kind);
    if (!yyjson_is_obj(part))
        wd_problem(c->p, WD_ERROR, c->rule, part, "a part is an object");
    else if (!s)
        unknown(c, part, "part_kind", kind);
    else if (!((s->where | s->later) & c->where))
        wd_problem(c->p, WD_ERROR, c->rule, kind, "a %s has no part of kind '%s'",
                   c->where == REQUEST ? "request" : "response", s->name.p);
    else {
        if (s->later & c->where)
            newer(c, kind, "this kind of part here");
        if (s->rows)
            check_object(c, part, s);
        check_kind_of_tool(c, part, s->name.p);
    }
}

/* ---- Messages ------------------------------------------------------------------------------------------------------
 */

static void parts_of(struct check *c, yyjson_val *v, const struct row *row)
{
    const char *rule = c->rule;
    size_t      i, n;
    yyjson_val *part;
    if (!yyjson_is_arr(v))
        wrong(c, v, row, "a list");
    c->rule = c->where == REQUEST ? "PAI-1.3" : "PAI-1.4";
    yyjson_arr_foreach(v, i, n, part)
    {
        check_part(c, part);
    }
    c->rule = rule;
}

/* What is as good as nothing is nothing. */
static void details(struct check *c, yyjson_val *v, const struct row *row)
{
    size_t      i, n;
    yyjson_val *key, *count;
    bool        nothing = yyjson_is_null(v) || yyjson_is_false(v) ||
                   (yyjson_is_raw(v) && wj_num_eq(wj_text(v), UPP_STR("0"))) ||
                    ((yyjson_is_arr(v) || yyjson_is_str(v)) && !unsafe_yyjson_get_len(v));
    if (!yyjson_is_obj(v) && !nothing)
        wrong(c, v, row, "an object");
    yyjson_obj_foreach(v, i, n, key, count)
    {
        if (!wd_pydantic_int(count))
            wrong(c, count, row, "an object of whole numbers");
    }
}

static void usage(struct check *c, yyjson_val *v, const struct row *row)
{
    static const struct row rows[] = {
        OF("input_tokens", 0, whole),        OF("request_tokens", OR_NULL, whole),
        OF("cache_write_tokens", 0, whole),  OF("cache_read_tokens", 0, whole),
        OF("output_tokens", 0, whole),       OF("response_tokens", OR_NULL, whole),
        OF("input_audio_tokens", 0, whole),  OF("cache_audio_read_tokens", 0, whole),
        OF("output_audio_tokens", 0, whole), OF("details", 0, details),
        OF("cost", OR_NULL, decimal),
    };
    static const struct shape s = {.rows = rows, .n = WB_LEN(rows), .open = true};
    if (yyjson_is_obj(v))
        check_object(c, v, &s);
    else
        wrong(c, v, row, "an object");
}

static const char *const request_states[]  = {"complete", "interrupted", NULL};
static const char *const response_states[] = {"complete", "incomplete", "suspended", "interrupted", NULL};
static const char *const reasons[]         = {"stop", "length", "content_filter", "tool_call", "error", NULL};

static const struct row request_rows[] = {
    OF("parts", NEEDED, parts_of),     OF("timestamp", OR_NULL, moment),
    OF("instructions", OR_NULL, text), ANY("kind", 0),
    OF("run_id", OR_NULL, text),       OF("conversation_id", OR_NULL, text),
    OF("metadata", OR_NULL, object),   ONE("state", 0, word, request_states),
};
static const struct row response_rows[] = {
    OF("parts", NEEDED, parts_of),
    OF("usage", 0, usage),
    OF("model_name", OR_NULL, text),
    OF("timestamp", MADE_UP, moment),
    ANY("kind", 0),
    OF("provider_name", OR_NULL, text),
    OF("provider_url", OR_NULL, text),
    OF("provider_details", OR_NULL, object),
    OF("vendor_details", OR_NULL, object),
    OF("provider_response_id", OR_NULL, text),
    OF("vendor_id", OR_NULL, text),
    ONE("finish_reason", OR_NULL, word, reasons),
    OF("run_id", OR_NULL, text),
    OF("conversation_id", OR_NULL, text),
    OF("metadata", OR_NULL, object),
    ONE("state", 0, word, response_states),
};
_Static_assert(WB_LEN(response_rows) <= ROWS, "check_object has room for every row");

static void check_message(struct check *c, yyjson_val *m)
{
    static const struct shape request  = SHAPE("request", REQUEST, request_rows),
                              response = SHAPE("response", RESPONSE, response_rows);
    yyjson_val *kind                   = last_of(m, UPP_STR("kind"));
    bool        asks = is_text(kind, UPP_STR("request")), answers = is_text(kind, UPP_STR("response"));
    c->rule  = asks ? "PAI-1.1" : answers ? "PAI-1.2" : "PAI-1.0";
    c->where = asks ? REQUEST : RESPONSE;
    if (!yyjson_is_obj(m))
        wd_problem(c->p, WD_ERROR, c->rule, m, "a message is an object");
    else if (!asks && !answers)
        unknown(c, m, "kind", kind);
    else
        check_object(c, m, asks ? &request : &response);
}

int wd_pydantic_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    struct check c = {.p = p, .rule = "PAI-1.0"};
    size_t       i, n;
    yyjson_val  *m;
    (void)err;
    if (!yyjson_is_arr(root))
        wd_problem(p, WD_ERROR, "PAI-1.0", root, "messages are a list");
    yyjson_arr_foreach(root, i, n, m)
    {
        check_message(&c, m);
    }
    return 0;
}
