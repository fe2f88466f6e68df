/* dialects/envelope_say.c — see envelope_say.h. */
#include "dialects/envelope_say.h"

#include "base/utf8.h"
#include "dialects/envelope.h"
#include "json/value.h"

static struct upp_str cut(struct upp_str text)
{
    return wb_str_sub(text, 0, wb_utf16_cut(text, WD_ENVELOPE_TASK));
}

static struct upp_str or_else(struct upp_str text, const char *otherwise)
{
    return text.n ? text : wb_cstr(otherwise);
}

/* ---- Summaries ------------------------------------------------------------------------------------------- */

/* "object: a, b, c", "list of 3", a text's beginning, or the value itself. */
static struct upp_str summary(struct wd_lowering *l, yyjson_val *v)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    yyjson_val                           *key, *value;
    size_t                                i, n;
    if (yyjson_is_str(v))
        return cut(wj_text(v));
    if (yyjson_is_arr(v))
        return wb_arena_printf(&l->scratch, "list of %zu", yyjson_arr_size(v));
    if (!yyjson_is_obj(v)) {
        if (wj_write(v, &b, l->w.err) < 0)
            wj_writer_fail(&l->w, -UPP_ENOMEM);
        return cut(wb_arena_dup(&l->scratch, wb_buf_str(&b)));
    }
    wb_buf_add(&b, UPP_STR("object"));
    yyjson_obj_foreach(v, i, n, key, value)
    {
        if (b.n > 4u * WD_ENVELOPE_TASK)
            break;
        wb_buf_add(&b, i ? UPP_STR(", ") : UPP_STR(": "));
        wb_buf_add(&b, cut(wj_text(key)));
    }
    if (b.failed)
        wj_writer_fail(&l->w, wb_buf_check(&b, l->w.err));
    return cut(wb_arena_dup(&l->scratch, wb_buf_str(&b)));
}

static struct upp_str titled(struct wd_lowering *l, const char *what, struct upp_str of)
{
    struct upp_str text = wb_arena_printf(&l->scratch, "%s%.*s", what, UPP_FMT(cut(of)));
    return cut(text);
}

/* ---- What is said ---------------------------------------------------------------------------------------- */

/* metadata.envelope of the part; NULL: none. */
static yyjson_val *about(struct wd_lowering *l, const struct upp_part *p)
{
    return p->metadata.n ? yyjson_obj_get(wd_scratch_read(l, p->metadata), "envelope") : NULL;
}

static bool is_type(yyjson_val *v, const char *word)
{
    return v && yyjson_is_str(v) && wb_str_eq(wj_text(v), wb_cstr(word));
}

static void say_text(struct wd_lowering *l, const struct upp_part *p, bool user, struct wd_envelope_says *s)
{
    yyjson_val    *own = about(l, p), *type = yyjson_obj_get(own, "type");
    struct upp_str text = p->text.p ? p->text : UPP_STR("");
    yyjson_val *json = is_type(type, "json") ? wd_scratch_read(l, text) : NULL;
    s->intent        = user ? "execute" : "analyze";
    s->type          = "text";
    s->task          = cut(text);
    s->text          = text;
    s->data          = yyjson_obj_get(own, "data");
    if (json) {
        s->type = "json";
        s->text = s->task = summary(l, json);
        s->data           = json;
    } else if (is_type(type, "code")) {
        s->type = "code";
        if (!s->data) {
            s->text   = s->task;
            s->string = text;
        }
    } else if (is_type(type, "error"))
        s->type = "error";
    if (p->kind != UPP_PART_REASONING)
        return;
    s->intent = "reflect";
    s->task   = titled(l, "Reasoning: ", text);
}

/* Arguments that are an object are one; all others are the text that the model wrote. */
static void say_call(struct wd_lowering *l, const struct upp_part *p, struct wd_envelope_says *s)
{
    s->intent = "tool.call";
    s->type   = "json";
    s->task = s->text = titled(l, "Call ", or_else(p->name, "a tool"));
}

static void say_result(struct wd_lowering *l, const struct upp_part *p, struct wd_envelope_says *s)
{
    s->intent = "tool.call";
    s->type   = p->is_error ? "error" : "tool_result";
    s->task   = titled(l, p->is_error ? "Failure of " : "Result of ", or_else(p->name, "a tool"));
    s->data   = wd_scratch_read(l, p->text.n ? p->text : UPP_STR("null"));
    if (!s->data)
        s->string = p->text;
    s->text = s->data ? summary(l, s->data) : cut(p->text);
}

static void say_medium(const struct upp_part *p, bool user, struct wd_envelope_says *s)
{
    s->intent = user ? "execute" : "analyze";
    s->type   = "text";
    s->task = s->text = or_else(cut(p->media->title), "medium");
}

/* An envelope that was an event, or an event of another's. */
void wd_envelope_say_event(struct wd_lowering *l, yyjson_val *event, struct wd_envelope_says *s)
{
    yyjson_val    *type = yyjson_obj_get(event, "type"), *data = yyjson_obj_get(event, "data");
    struct upp_str name = yyjson_is_str(type) ? wj_text(type) : UPP_STR("");
    s->intent = wb_str_eq(name, UPP_STR("agent.handoff")) ? "route": "analyze";
    s->type   = data ? "json" : "text";
    s->task   = titled(l, "Event ", name);
    s->text   = data ? summary(l, data) : s->task;
    s->data   = data;
}

void wd_envelope_say_part(struct wd_lowering *l, const struct upp_part *p, bool user, struct wd_envelope_says *s)
{
    if (!p)
        *s = (struct wd_envelope_says){.intent = "analyze", .type = "text", .text = UPP_STR("")};
    else if (p->kind == UPP_PART_CALL)
        say_call(l, p, s);
    else if (p->kind == UPP_PART_RESULT)
        say_result(l, p, s);
    else if (p->media)
        say_medium(p, user, s);
    else
        say_text(l, p, user, s);
}
