/* support/envelope_schema.c — the JSON Schema and the TypeScript types of an envelope, from the table of its members.
 */
#include "support/envelope_schema.h"

#include "json/write.h"

/* As wd_envelope_is_time, but for the calendar, which a pattern cannot know. */
#define TIME_PATTERN                                                                                                   \
    "^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"           \
    "(\\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"

static void refer(struct wj_writer *w, const char *name)
{
    char text[64];
    (void)snprintf(text, sizeof text, "#/$defs/%s", name);
    wj_put_str(w, "$ref", wb_cstr(text));
}

static void schema_object(struct wj_writer *w, const struct wd_envelope_shape *s);

static void schema_words(struct wj_writer *w, const struct wd_envelope_words *words, const char *name)
{
    wj_put_str(w, "type", UPP_STR("string"));
    wj_put_open(w, name, '[');
    for (const struct upp_str *word = words->list; word->p; word++)
        wj_write_str(w, *word);
    wj_write_close(w, ']');
}

static void schema_word(struct wj_writer *w, const struct wd_envelope_field *f)
{
    if (f->flags & WD_ENV_OPEN)
        schema_words(w, f->words, "examples");
    else if (f->words->name)
        refer(w, f->words->name);
    else if (!f->words->list[1].p)
        wj_put_str(w, "const", wb_cstr(f->words->list[0].p));
    else
        schema_words(w, f->words, "enum");
}

static void schema_text(struct wj_writer *w, const struct wd_envelope_field *f)
{
    if (f->flags & WD_ENV_NULLABLE) {
        wj_put_open(w, "type", '[');
        wj_write_str(w, UPP_STR("string"));
        wj_write_str(w, UPP_STR("null"));
        wj_write_close(w, ']');
    } else
        wj_put_str(w, "type", UPP_STR("string"));
    if (f->flags & WD_ENV_FILLED)
        wj_put_u64(w, "minLength", 1);
    if (f->type == WD_ENV_TIME) {
        wj_put_str(w, "format", UPP_STR("date-time"));
        wj_put_str(w, "pattern", wb_cstr(TIME_PATTERN));
    }
}

static void schema_number(struct wj_writer *w, bool count)
{
    wj_put_str(w, "type", wb_cstr(count ? "integer" : "number"));
    wj_put_u64(w, "minimum", 0);
    if (!count)
        wj_put_u64(w, "maximum", 1);
}

static void schema_of(struct wj_writer *w, const struct wd_envelope_shape *s)
{
    if (s->name)
        refer(w, s->name);
    else
        schema_object(w, s);
}

static void schema_list(struct wj_writer *w, const struct wd_envelope_field *f)
{
    wj_put_str(w, "type", UPP_STR("array"));
    wj_put_open(w, "items", '{');
    if (f->type == WD_ENV_OBJECTS)
        schema_of(w, f->of);
    else
        wj_put_str(w, "type", UPP_STR("string"));
    wj_write_close(w, '}');
}

static void schema_field(struct wj_writer *w, const struct wd_envelope_field *f)
{
    wj_write_name(w, f->name);
    wj_write_open(w, '{');
    if (f->about)
        wj_put_str(w, "description", wb_cstr(f->about));
    switch (f->type) {
    case WD_ENV_WORD:
        schema_word(w, f);
        break;
    case WD_ENV_TEXT:
    case WD_ENV_TIME:
        schema_text(w, f);
        break;
    case WD_ENV_RATIO:
    case WD_ENV_COUNT:
        schema_number(w, f->type == WD_ENV_COUNT);
        break;
    case WD_ENV_OBJECTS:
    case WD_ENV_TEXTS:
        schema_list(w, f);
        break;
    case WD_ENV_MAP:
        wj_put_str(w, "type", UPP_STR("object"));
        break;
    case WD_ENV_OBJECT:
        schema_of(w, f->of);
        break;
    default: /* anything */
        break;
    }
    wj_write_close(w, '}');
}

static void schema_object(struct wj_writer *w, const struct wd_envelope_shape *s)
{
    const struct wd_envelope_field *f;
    bool any = false;
    wj_put_str(w, "type", UPP_STR("object"));
    for (f = s->fields; f->name.p; f++) {
        if (!(f->flags & WD_ENV_REQUIRED))
            continue;
        if (!any)
            wj_put_open(w, "required", '[');
        any = true;
        wj_write_str(w, f->name);
    }
    if (any)
        wj_write_close(w, ']');
    wj_put_open(w, "properties", '{');
    for (f = s->fields; f->name.p; f++)
        schema_field(w, f);
    wj_write_close(w, '}');
}

/* What has a name and stands in s, each once. */
struct named {
    const struct wd_envelope_shape *shapes[8];
    const struct wd_envelope_words *words[8];
    size_t n_shapes, n_words;
};

static void gather(const struct wd_envelope_shape *s, struct named *to)
{
    for (const struct wd_envelope_field *f = s->fields; f->name.p; f++) {
        bool shape = f->of && f->of->name, words = f->words && f->words->name;
        for (size_t i = 0; i < to->n_shapes; i++)
            shape &= to->shapes[i] != f->of;
        for (size_t i = 0; i < to->n_words; i++)
            words &= to->words[i] != f->words;
        if (words && to->n_words < WB_LEN(to->words))
            to->words[to->n_words++] = f->words;
        if (f->of)
            gather(f->of, to);
        if (shape && to->n_shapes < WB_LEN(to->shapes))
            to->shapes[to->n_shapes++] = f->of;
    }
}

static void schema_defs(struct wj_writer *w, const struct named *named)
{
    wj_put_open(w, "$defs", '{');
    for (size_t i = 0; i < named->n_words; i++) {
        wj_put_open(w, named->words[i]->name, '{');
        schema_words(w, named->words[i], "enum");
        wj_write_close(w, '}');
    }
    for (size_t i = 0; i < named->n_shapes; i++) {
        wj_put_open(w, named->shapes[i]->name, '{');
        schema_object(w, named->shapes[i]);
        wj_write_close(w, '}');
    }
    wj_write_close(w, '}');
}

/* JSON without blanks, for people: a line a member, a list in one. */
static void spread(struct upp_str json, struct wb_buf *out)
{
    unsigned depth = 0, lists = 0;
    bool text = false;
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i], next = i + 1 < json.n ? json.p[i + 1] : 0;
        bool line = false;
        if (text || c == '"') {
            text ^= c == '"' && !(text && json.p[i - 1] == '\\');
            wb_buf_addc(out, c);
            continue;
        }
        lists += c == '[';
        lists -= c == ']';
        depth += c == '{';
        depth -= c == '}';
        line = (c == '{' && next != '}') || (c == ',' && !lists);
        if (c == '}' && json.p[i - 1] != '{')
            wb_buf_addf(out, "\n%*s", (int)(2 * depth), "");
        wb_buf_addc(out, c);
        if (line)
            wb_buf_addf(out, "\n%*s", (int)(2 * depth), "");
        else if (c == ':' || c == ',')
            wb_buf_addc(out, ' ');
    }
    wb_buf_addc(out, '\n');
}

void wd_envelope_schema(struct wb_buf *out)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct wj_writer w;
    struct named named = {0};
    gather(&wd_envelope_table, &named);
    wj_writer_init(&w, &b, NULL);
    wj_write_open(&w, '{');
    wj_put_str(&w, "$schema", UPP_STR("https://json-schema.org/draft/2020-12/schema"));
    wj_put_str(&w, "title", wb_cstr("Envelope " WD_ENVELOPE_PROTOCOL));
    schema_object(&w, &wd_envelope_table);
    schema_defs(&w, &named);
    wj_write_close(&w, '}');
    if (wj_writer_check(&w) < 0)
        out->failed = -UPP_ENOMEM;
    else
        spread(wb_buf_str(&b), out);
}

static void type_object(struct wb_buf *out, const struct wd_envelope_shape *s, unsigned depth);

static void type_words(struct wb_buf *out, const struct wd_envelope_words *words)
{
    for (const struct upp_str *w = words->list; w->p; w++)
        wb_buf_addf(out, "%s\"%s\"", w == words->list ? "" : " | ", w->p);
}

static void type_of(struct wb_buf *out, const struct wd_envelope_field *f, unsigned depth)
{
    if (f->type == WD_ENV_WORD && !(f->flags & WD_ENV_OPEN)) {
        if (f->words->name)
            wb_buf_addf(out, "%s", f->words->name);
        else
            type_words(out, f->words);
    } else if (f->of && f->of->name)
        wb_buf_addf(out, "%s", f->of->name);
    else if (f->of)
        type_object(out, f->of, depth);
    else
        wb_buf_addf(out, "%s",
                    f->type == WD_ENV_RATIO || f->type == WD_ENV_COUNT ? "number"
                    : f->type == WD_ENV_ANY                            ? "unknown"
                    : f->type == WD_ENV_MAP                            ? "Record<string, unknown>"
                                                                       : "string");
    if (f->type == WD_ENV_OBJECTS || f->type == WD_ENV_TEXTS)
        wb_buf_add(out, UPP_STR("[]"));
    if (f->flags & WD_ENV_NULLABLE)
        wb_buf_add(out, UPP_STR(" | null"));
}

static void type_object(struct wb_buf *out, const struct wd_envelope_shape *s, unsigned depth)
{
    wb_buf_add(out, UPP_STR("{\n"));
    for (const struct wd_envelope_field *f = s->fields; f->name.p; f++) {
        int blanks = (int)(2 * depth + 2);
        if (f->about)
            wb_buf_addf(out, "%*s/** %s */\n", blanks, "", f->about);
        wb_buf_addf(out, "%*s%s%s: ", blanks, "", f->name.p, f->flags & WD_ENV_REQUIRED ? "" : "?");
        type_of(out, f, depth + 1);
        wb_buf_add(out, UPP_STR(";\n"));
    }
    wb_buf_addf(out, "%*s}", (int)(2 * depth), "");
}

void wd_envelope_types(struct wb_buf *out)
{
    struct named named = {0};
    gather(&wd_envelope_table, &named);
    wb_buf_addf(out, "// Envelope %s. Made from the table that also checks envelopes.\n", WD_ENVELOPE_PROTOCOL);
    for (size_t i = 0; i < named.n_words; i++) {
        wb_buf_addf(out, "\nexport type %s = ", named.words[i]->name);
        type_words(out, named.words[i]);
        wb_buf_add(out, UPP_STR(";\n"));
    }
    for (size_t i = 0; i <= named.n_shapes; i++) {
        const struct wd_envelope_shape *s = i < named.n_shapes ? named.shapes[i] : &wd_envelope_table;
        wb_buf_addf(out, "\nexport interface %s ", s->name);
        type_object(out, s, 0);
        wb_buf_addc(out, '\n');
    }
}
