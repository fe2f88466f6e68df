/* dialects/envelope/plain.c — envelopes that say of their part just what we would write: they need not be compared.
 *
 * Most do. What is not here is not wrong: it is written again and compared.
 */
#include "base/utf8.h"
#include "dialects/envelope/envelope.h"
#include "json/value.h"

static bool is_word(struct upp_str s, struct upp_str word)
{
    return s.n == word.n && wj_same(s.p, word.p, word.n);
}

/* ---- Tasks and summaries --------------------------------------------------------------------------------- */

/* Is it the beginning of a text, of so many UTF-16 units? */
static bool is_cut(struct upp_str s, struct upp_str text, size_t units)
{
    return s.n <= text.n && s.n == wb_utf16_cut(text, units) && memcmp(s.p, text.p, s.n) == 0;
}

static bool is_task(struct upp_str task, struct upp_str text)
{
    return text.n ? is_cut(task, text, WD_ENVELOPE_TASK) : is_word(task, UPP_STR("(nothing)"));
}

/* Does a text that is never cut begin so? Takes it off. */
static bool takes(struct upp_str *s, struct upp_str head)
{
    if (s->n < head.n || !wj_same(s->p, head.p, head.n))
        return false;
    *s = wb_str_sub(*s, head.n, SIZE_MAX);
    return true;
}

/* "Call NAME" */
static bool is_titled(struct upp_str s, struct upp_str what, struct upp_str name)
{
    return s.n <= WD_ENVELOPE_TASK && takes(&s, what) && is_word(s, name.n ? name : UPP_STR("a tool"));
}

/* "object: a, b, c" */
static bool names_members(struct upp_str s, yyjson_val *object)
{
    yyjson_val *key = object + 1, *end = unsafe_yyjson_get_next(object);
    if (s.n > WD_ENVELOPE_TASK || !takes(&s, UPP_STR("object")))
        return false;
    for (; key < end; key = unsafe_yyjson_get_next(key + 1))
        if (!takes(&s, key == object + 1 ? UPP_STR(": ") : UPP_STR(", ")) || !takes(&s, wj_text(key)))
            return false;
    return !s.n;
}

/* "list of 3" */
static bool counts_items(struct upp_str s, yyjson_val *list)
{
    uint64_t n;
    return takes(&s, UPP_STR("list of ")) && wb_str_u64(s, &n) && n == unsafe_yyjson_get_len(list) &&
                 (s.p[0] != '0' || s.n == 1);
}

static bool is_summary(struct upp_str s, yyjson_val *data)
{
    switch (unsafe_yyjson_get_type(data)) {
    case YYJSON_TYPE_STR:
        return is_cut(s, wj_text(data), WD_ENVELOPE_TASK);
    case YYJSON_TYPE_OBJ:
        return names_members(s, data);
    case YYJSON_TYPE_ARR:
        return counts_items(s, data);
    default:
        return false;
    }
}

/* ---- Parts ----------------------------------------------------------------------------------------------- */

/* {"id", "name", "arguments"}: texts, and an object. */
static bool is_plain_call(yyjson_val *data)
{
    return unsafe_yyjson_get_len(data) == 3 &&
           wj_named(data + 1, UPP_STR("id")) && unsafe_yyjson_is_str(data + 2) &&
                    wj_named(data + 3, UPP_STR("name")) && unsafe_yyjson_is_str(data + 4) &&
                             wj_named(data + 5, UPP_STR("arguments")) && unsafe_yyjson_is_obj(data + 6);
}

static bool says_call(const struct wd_envelope *e, const struct upp_part *p)
{
    return is_word(e->intent, UPP_STR("tool.call")) && is_plain_call(e->data) &&
                   is_titled(e->task, UPP_STR("Call "), p->name) && wb_str_eq(e->text, e->task);
}

static bool says_result(const struct wd_envelope *e, const struct upp_part *p)
{
    return is_word(e->intent, UPP_STR("tool.call")) && e->call.p && e->data &&
                   is_word(e->type, p->is_error ? UPP_STR("error") : UPP_STR("tool_result")) &&
                           is_titled(e->task, p->is_error ? UPP_STR("Failure of ") : UPP_STR("Result of "), p->name) &&
                                     is_summary(e->text, e->data);
}

static bool says_reasoning(const struct wd_envelope *e)
{
    struct upp_str what = UPP_STR("Reasoning: "), rest = e->task;
    return is_word(e->intent, UPP_STR("reflect")) && is_word(e->type, UPP_STR("text")) && !e->data &&
                                                             takes(&rest, what) &&
                                                             is_cut(rest, e->text, WD_ENVELOPE_TASK - what.n);
}

static bool says_text(const struct wd_envelope *e)
{
    bool user = is_word(e->role, UPP_STR("user"));
    return is_word(e->intent, user ? UPP_STR("execute") : UPP_STR("analyze")) &&
                   is_word(e->type, UPP_STR("text")) && !e->data && is_task(e->task, e->text);
}

bool wd_envelope_is_plain(const struct wd_envelope *e, const struct upp_part *p)
{
    if (!e->plain || p->media || p->cut || p->metadata.n)
        return false;
    switch (p->kind) {
    case UPP_PART_CALL:
        return says_call(e, p);
    case UPP_PART_RESULT:
        return says_result(e, p);
    case UPP_PART_REASONING:
        return says_reasoning(e);
    default:
        return p->kind == UPP_PART_TEXT && says_text(e);
    }
}
