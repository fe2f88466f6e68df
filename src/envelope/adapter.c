/* envelope/adapter.c — adapters of model families: which one, the prompt of an envelope, the envelope of an input. */
#include "base/err.h"
#include "base/utf8.h"
#include "dialects/envelope/write.h"
#include "envelope/adapter.h"
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

/* e NULL: only checks the template. */
static int write_template(struct upp_str template, const struct we_envelope *e, bool strict, struct wb_buf *out,
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

const struct we_adapter *we_adapter_for(const struct we_adapters *set, struct upp_str model)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct we_adapter *one = &set->list[i];
        for (size_t k = 0; k < one->n_match; k++)
            if (we_glob(one->match[k], model))
                return one;
        if (!one->n_match)
            return one;
    }
    return NULL;
}

const struct we_adapter *we_adapter_named(const struct we_adapters *set, struct upp_str name)
{
    for (size_t i = 0; i < set->n; i++)
        if (wb_str_eq(set->list[i].name, name))
            return &set->list[i];
    return NULL;
}

int we_template_check(struct upp_str template, struct upp_err *err)
{
    if (template.n > WE_MAX_TEMPLATE)
        return upp_fail(err, UPP_ELIMIT, "a template has more than %d bytes", WE_MAX_TEMPLATE);
    return write_template(template, NULL, false, NULL, err);
}

static int fill(struct wb_arena *a, struct upp_str template, const struct we_envelope *e, bool strict,
                struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WE_MAX_PROMPT);
    int r = write_template(template, e, strict, &out, err);
    if (r < 0)
        return r;
    *ret = wb_arena_dup(a, wb_buf_str(&out));
    return wb_arena_check(a, err);
}

int we_prompt(struct wb_arena *a, const struct we_adapter *adapter, const struct we_envelope *e, bool strict,
              struct we_prompt *ret, struct upp_err *err)
{
    struct we_prompt p = {.system = UPP_STR("")};
    int r = adapter->system.n ? fill(a, adapter->system, e, strict, &p.system, err) : 0;
    if (r >= 0)
        r = fill(a, adapter->user, e, strict, &p.user, err);
    if (r >= 0)
        *ret = p;
    return r;
}

static void give_input(const struct we_adapter *adapter, const struct we_raw *raw, struct we_draft *d)
{
    struct upp_str user = raw->user.p ? raw->user : UPP_STR("");
    if (adapter->input == WE_INPUT_DATA) {
        d->task = user;
        d->type = UPP_STR("json");
        d->data = raw->data && !yyjson_is_null(raw->data) ? raw->data : NULL;
        d->data_json = d->data ? (struct upp_str){0} : UPP_STR("{}");
        d->text = raw->strict || d->data ? (struct upp_str){0} : UPP_STR("object");
        return;
    }
    d->task = wb_str_sub(user, 0, wb_utf16_cut(user, WD_ENVELOPE_TASK));
    d->type = UPP_STR("text");
    d->text = user;
    if (adapter->input == WE_INPUT_SYSTEM)
        d->context = raw->system.p ? raw->system : UPP_STR("");
}

int we_to_envelope(struct wb_arena *a, const struct we_adapter *adapter, const struct we_raw *raw, struct upp_str *ret,
                   struct upp_err *err)
{
    struct we_draft d = {.role = UPP_STR("agent"),
                         .agent_id = adapter->agent_id,
                         .agent_name = adapter->agent_name,
                         .model = adapter->model.n ? adapter->model : raw->model,
                         .now_ms = raw->now_ms,
                         .intent = we_intent_name(adapter->intent),
                         .trace = raw->trace,
                         .bare = raw->strict};
    give_input(adapter, raw, &d);
    if (!raw->strict)
        d.task = wd_envelope_filled(d.task, "(nothing)");
    return we_write(a, &d, ret, err);
}
