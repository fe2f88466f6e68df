/* envelope/template.c — expands the tags of a template: fields, data, resources and sections. */
#include "envelope/template.h"

#include "base/err.h"
#include "envelope/stringify.h"
#include "json/value.h"
#include "json/write.h"

enum name { INTENT, TASK, CONTEXT, CONTENT, DATA, RESOURCES, NAMES };
static const struct upp_str names[NAMES] = {
    [INTENT] = UPP_STR_INIT("intent"),   [TASK] = UPP_STR_INIT("task"), [CONTEXT] = UPP_STR_INIT("context"),
    [CONTENT] = UPP_STR_INIT("content"), [DATA] = UPP_STR_INIT("data"), [RESOURCES] = UPP_STR_INIT("resources"),
};

/* {{name}}, {{name:otherwise}}, {{name|form}} */
struct field {
    enum name name;
    struct upp_str otherwise; /* NULL: none */
    bool json;
    unsigned indent;
};

struct writing {
    const struct we_envelope *e; /* NULL: nothing is written */
    struct wb_buf *out;
    struct upp_err *err;
    bool strict, in_section, skip;
};

/* Does the content say more than the task? */
static bool says_more(const struct we_envelope *e)
{
    bool data = e->data && !yyjson_is_null(e->data);
    return data || (e->text.n && !wb_str_eq(e->text, e->task));
}

static bool find_name(struct upp_str text, enum name *ret)
{
    for (unsigned i = 0; i < NAMES; i++)
        if (wb_str_eq(names[i], text)) {
            *ret = (enum name)i;
            return true;
        }
    return false;
}

static int parse_field(struct upp_str text, struct field *f, struct upp_err *err)
{
    size_t bar = wb_str_find(text, UPP_STR("|"), 0), colon = wb_str_find(text, UPP_STR(":"), 0);
    size_t end = bar < colon ? bar : colon;
    char quoted[WJ_QUOTED];
    *f = (struct field){0};
    if (!find_name(wb_str_sub(text, 0, end), &f->name))
        return upp_fail(err, UPP_EINVALID, "%s is not a field of an envelope's prompt",
                        wj_quote(wb_str_sub(text, 0, end), quoted, sizeof quoted));
    if (end == SIZE_MAX)
        return 0;
    struct upp_str rest = wb_str_sub(text, end + 1, SIZE_MAX);
    if (colon < bar && f->name == CONTEXT) {
        f->otherwise = rest;
        return 0;
    }
    f->json = wb_str_eq(rest, UPP_STR("json"));
    if (f->name == DATA && rest.n == 1 && rest.p[0] >= '1' && rest.p[0] <= '8')
        f->indent = (unsigned)(rest.p[0] - '0');
    if (colon < bar || (!f->json && !f->indent))
        return upp_fail(err, UPP_EINVALID, "%s: a form is |json, for data also |1 to |8, for context also :TEXT",
                        wj_quote(text, quoted, sizeof quoted));
    return 0;
}

static int write_json_text(struct writing *s, struct upp_str text)
{
    struct wj_writer w;
    wj_writer_init(&w, s->out, s->err);
    wj_write_str(&w, text);
    return wj_writer_check(&w);
}

/* content.data ?? {} */
static int write_data(struct writing *s, unsigned indent)
{
    if (s->e->data && !yyjson_is_null(s->e->data))
        return we_stringify(s->e->data, indent, s->out, s->err);
    wb_buf_add(s->out, UPP_STR("{}"));
    return 0;
}

static int write_resources(struct writing *s)
{
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(s->e->resources, i, n, v)
    {
        struct upp_str hint = wj_text_at(v, "hint");
        wb_buf_add(s->out, i ? UPP_STR("\n- ") : UPP_STR("- "));
        wb_buf_add(s->out, wj_text_at(v, "type"));
        wb_buf_addc(s->out, ' ');
        wb_buf_add(s->out, wj_text_at(v, "id"));
        if (hint.n)
            wb_buf_addf(s->out, " (%.*s)", UPP_FMT(hint));
    }
    return 0;
}

static int write_field(struct writing *s, const struct field *f)
{
    const struct we_envelope *e = s->e;
    struct upp_str text = {0};
    switch (f->name) {
    case INTENT:
        text = e->intent_name;
        break;
    case TASK:
        text = e->task;
        break;
    case CONTEXT:
        text = e->context.p ? e->context : f->otherwise;
        break;
    case CONTENT:
        if (f->json)
            return we_stringify(e->content, 0, s->out, s->err);
        if (!e->text.p)
            return write_data(s, 0);
        text = e->text;
        break;
    case DATA:
        return write_data(s, f->indent);
    default: /* resources */
        if (f->json && e->resources)
            return we_stringify(e->resources, 0, s->out, s->err);
        wb_buf_add(s->out, f->json ? UPP_STR("[]") : UPP_STR(""));
        return write_resources(s);
    }
    if (f->json)
        return write_json_text(s, text);
    wb_buf_add(s->out, text.p ? text : UPP_STR(""));
    return 0;
}

static bool is_there(const struct writing *s, enum name name)
{
    const struct we_envelope *e = s->e;
    switch (name) {
    case CONTEXT:
        return e->context.n > 0;
    case CONTENT:
        return !s->strict && says_more(e);
    case DATA:
        return e->data && !yyjson_is_null(e->data);
    case RESOURCES:
        return !s->strict && e->resources;
    default:
        return true;
    }
}

static int open_section(struct writing *s, struct upp_str text)
{
    enum name name;
    char quoted[WJ_QUOTED];
    if (s->in_section)
        return upp_fail(s->err, UPP_EINVALID, "a section inside a section");
    if (!find_name(text, &name))
        return upp_fail(s->err, UPP_EINVALID, "%s is not a field of an envelope's prompt",
                        wj_quote(text, quoted, sizeof quoted));
    s->in_section = true;
    s->skip = s->e && !is_there(s, name);
    return 0;
}

/* What stands between {{ and }}. */
static int write_tag(struct writing *s, struct upp_str text)
{
    struct field f;
    if (text.n && text.p[0] == '?')
        return open_section(s, wb_str_sub(text, 1, SIZE_MAX));
    if (wb_str_eq(text, UPP_STR("/"))) {
        if (!s->in_section)
            return upp_fail(s->err, UPP_EINVALID, "{{/}} without a section");
        s->in_section = s->skip = false;
        return 0;
    }
    int r = parse_field(text, &f, s->err);
    return r < 0 || !s->e || s->skip ? r : write_field(s, &f);
}

int we_template_write(struct upp_str template, const struct we_envelope *e, bool strict, struct wb_buf *out,
                      struct upp_err *err)
{
    struct writing s = {.e = e, .out = out, .err = err, .strict = strict};
    size_t at = 0;
    int r = 0;
    while (r >= 0 && at < template.n) {
        size_t open = wb_str_find(template, UPP_STR("{{"), at), close;
        if (e && !s.skip)
            wb_buf_add(out, wb_str_sub(template, at, (open == SIZE_MAX ? template.n : open) - at));
        if (open == SIZE_MAX)
            break;
        close = wb_str_find(template, UPP_STR("}}"), open + 2);
        if (close == SIZE_MAX)
            return upp_fail(err, UPP_EINVALID, "{{ without }}");
        r = write_tag(&s, wb_str_sub(template, open + 2, close - open - 2));
        at = close + 2;
    }
    if (r >= 0 && s.in_section)
        return upp_fail(err, UPP_EINVALID, "a section without {{/}}");
    return r < 0 || !e ? r : wb_buf_check(out, err);
}
