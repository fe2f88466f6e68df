/* dialects/envelope/content.c — writes intent, task and content of an envelope for a part or an event. */
#include "dialects/envelope/content.h"

#include "base/utf8.h"
#include "dialects/envelope/envelope.h"
#include "json/value.h"

static struct upp_str cut(struct upp_str text)
{
    return wb_str_sub(text, 0, wb_utf16_cut(text, WD_ENVELOPE_TASK));
}

enum { NAMES = 4 * WD_ENVELOPE_TASK }; /* bytes of names in a summary: no more are added once it has as many */

/* "object: a, b, c" */
struct names {
    size_t n;
    char p[NAMES + 3 * WD_ENVELOPE_TASK + 2]; /* a UTF-16 unit has at most three bytes of UTF-8 */
};

static bool add_name(struct names *to, struct upp_str name)
{
    struct upp_str between = !to->n ? UPP_STR("object: ") : UPP_STR(", "), part = cut(name);
    if (to->n > NAMES)
        return false;
    memcpy(to->p + to->n, between.p, between.n);
    memcpy(to->p + to->n + between.n, part.p, part.n);
    to->n += between.n + part.n;
    return true;
}

static struct upp_str named(struct wb_arena *a, const struct names *names)
{
    return names->n ? cut(wb_arena_dup(a, wb_str(names->p, names->n))) : UPP_STR("object");
}

struct upp_str wd_envelope_summary(struct wb_arena *a, yyjson_val *v)
{
    struct names names;
    yyjson_val *key, *value;
    size_t i, n;
    if (yyjson_is_str(v) || yyjson_is_raw(v))
        return cut(wj_text(v));
    if (yyjson_is_arr(v))
        return wb_arena_numbered(a, UPP_STR("list of "), yyjson_arr_size(v));
    if (!yyjson_is_obj(v))
        return yyjson_is_null(v) ? UPP_STR("null") : yyjson_is_true(v) ? UPP_STR("true") : UPP_STR("false");
    names.n = 0;
    yyjson_obj_foreach(v, i, n, key, value)
    {
        if (!add_name(&names, wj_text(key)))
            break;
    }
    return named(a, &names);
}

static bool has_escapes(struct upp_str text)
{
    return text.n && memchr(text.p, '\\', text.n);
}

/* The same for compact JSON, without parsing it. False: it must be parsed. */
static bool summary_of_text(struct wd_lowering *l, struct upp_str json, struct upp_str *ret)
{
    struct names names;
    struct wj_compact_iter in = wj_compact_iter(json);
    struct upp_str one = json.p[0] == '"' ? wb_str_sub(json, 1, json.n - 2) : json;
    size_t n = 0;
    names.n = 0;
    if (!in.at) {
        *ret = cut(one);
        return !has_escapes(one);
    }
    for (bool room = true; room && wj_compact_next(&in, &one); n++) {
        if (in.object && has_escapes(one))
            return false;
        if (in.object)
            room = add_name(&names, one);
    }
    *ret = in.object ? named(&l->scratch, &names) : wb_arena_numbered(&l->scratch, UPP_STR("list of "), n);
    return true;
}

static struct upp_str titled(struct wd_lowering *l, struct upp_str what, struct upp_str of)
{
    return cut(wb_arena_join(&l->scratch, (struct upp_str[]){what, cut(of)}, 2));
}

/* metadata.envelope of the part; NULL: none. */
static yyjson_val *about(struct wd_lowering *l, const struct upp_part *p)
{
    return p->metadata.n ? yyjson_obj_get(wd_scratch_read(l, p->metadata), "envelope") : NULL;
}

static bool is_type(yyjson_val *v, const char *word)
{
    return v && yyjson_is_str(v) && wb_str_eq(wj_text(v), wb_cstr(word));
}

static void text_content(struct wd_lowering *l, const struct upp_part *p, bool user, struct wd_envelope_content *s)
{
    yyjson_val *own = about(l, p), *type = yyjson_obj_get(own, "type");
    struct upp_str text = p->text.p ? p->text : UPP_STR("");
    bool result = is_type(type, "tool_result");
    yyjson_val *json = result || is_type(type, "json") ? wd_scratch_read(l, text) : NULL;
    s->intent = user ? UPP_STR("execute") : UPP_STR("analyze");
    s->type = UPP_STR("text");
    s->task = cut(text);
    s->text = text;
    s->data = yyjson_obj_get(own, "data");
    if (json) {
        s->type = result ? UPP_STR("tool_result") : UPP_STR("json");
        s->text = s->task = wd_envelope_summary(&l->scratch, json);
        s->data = json;
    } else if (is_type(type, "code")) {
        s->type = UPP_STR("code");
        if (!s->data) {
            s->text = s->task;
            s->string = text;
        }
    } else if (is_type(type, "error"))
        s->type = UPP_STR("error");
    if (p->kind != UPP_PART_REASONING)
        return;
    s->intent = UPP_STR("reflect");
    s->task = titled(l, UPP_STR("Reasoning: "), text);
}

static void call_content(struct wd_lowering *l, const struct upp_part *p, struct wd_envelope_content *s)
{
    s->intent = UPP_STR("tool.call");
    s->type = UPP_STR("json");
    s->task = s->text = titled(l, UPP_STR("Call "), wd_envelope_filled(p->name, "a tool"));
}

static void result_content(struct wd_lowering *l, const struct upp_part *p, struct wd_envelope_content *s)
{
    s->intent = UPP_STR("tool.call");
    s->type = p->is_error ? UPP_STR("error") : UPP_STR("tool_result");
    s->task =
        titled(l, p->is_error ? UPP_STR("Failure of ") : UPP_STR("Result of "), wd_envelope_filled(p->name, "a tool"));
    struct upp_str text = p->text.n ? p->text : UPP_STR("null");
    if (wd_is_compact(text) && summary_of_text(l, text, &s->text)) {
        s->json = text;
        return;
    }
    s->data = wd_scratch_read(l, text);
    if (!s->data)
        s->string = p->text;
    s->text = s->data ? wd_envelope_summary(&l->scratch, s->data) : cut(p->text);
}

static void medium_content(const struct upp_part *p, bool user, struct wd_envelope_content *s)
{
    s->intent = user ? UPP_STR("execute") : UPP_STR("analyze");
    s->type = UPP_STR("text");
    s->task = s->text = wd_envelope_filled(cut(p->media->title), "medium");
}

/* For events that are not envelopes of role system: write.c handles those. */
void wd_envelope_event_content(struct wd_lowering *l, yyjson_val *event, struct wd_envelope_content *s)
{
    yyjson_val *type = yyjson_obj_get(event, "type"), *data = yyjson_obj_get(event, "data");
    struct upp_str name = yyjson_is_str(type) ? wj_text(type) : UPP_STR("");
    s->intent = wb_str_eq(name, UPP_STR("agent.handoff")) ? UPP_STR("route") : UPP_STR("analyze");
    s->type = data ? UPP_STR("json") : UPP_STR("text");
    s->task = titled(l, UPP_STR("Event "), name);
    s->text = data ? wd_envelope_summary(&l->scratch, data) : s->task;
    s->data = data;
}

void wd_envelope_part_content(struct wd_lowering *l, const struct upp_part *p, bool user, struct wd_envelope_content *s)
{
    if (!p)
        *s = (struct wd_envelope_content){.intent = UPP_STR("analyze"), .type = UPP_STR("text"), .text = UPP_STR("")};
    else if (p->kind == UPP_PART_CALL)
        call_content(l, p, s);
    else if (p->kind == UPP_PART_RESULT)
        result_content(l, p, s);
    else if (p->media)
        medium_content(p, user, s);
    else
        text_content(l, p, user, s);
}
