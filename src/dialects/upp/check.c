/* dialects/upp/check.c — the rules of UPP threads. Messages are checked by their reader. */
#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/upp/doc.h"
#include "json/pointer.h"
#include "json/value.h"
#include "model/upp_json.h"

static yyjson_val *need_text(struct wd_problems *p, yyjson_val *obj, const char *name, const char *rule)
{
    char found[WJ_QUOTED];
    yyjson_val *v = yyjson_obj_get(obj, name);
    if (!v)
        wd_problem(p, WD_ERROR, rule, obj, "expected the member '%s'", name);
    else if (!yyjson_is_str(v))
        wd_problem(p, WD_ERROR, rule, v, "expected a string, found %s", wj_found(v, found, sizeof found));
    return v && yyjson_is_str(v) ? v : NULL;
}

void wd_upp_check_text(struct wd_problems *p, yyjson_val *obj, const char *name, const char *rule)
{
    yyjson_val *v = need_text(p, obj, name, rule);
    if (v && !wj_text(v).n)
        wd_problem(p, WD_ERROR, rule, v, "expected an id, found an empty string");
}

void wd_upp_check_time(struct wd_problems *p, yyjson_val *obj, const char *name, const char *rule)
{
    struct upp_err err;
    struct wb_time t;
    yyjson_val *v = need_text(p, obj, name, rule);
    if (v && wb_time_parse(wj_text(v), &t, &err) < 0)
        wd_problem(p, WD_ERROR, rule, v, "%s", err.msg);
    else if (v && t.naive)
        wd_problem(p, WD_ERROR, rule, v, "expected a time with its zone");
}

struct checking {
    struct wd_problems *p;
    struct upp_err *err;
    struct wm_names ids;
    struct wd_upp_calls calls;
};

/* Does it continue the previous message? */
static bool is_more(yyjson_val *v)
{
    yyjson_val *weft = yyjson_obj_get(yyjson_obj_get(v, "metadata"), "weft");
    return yyjson_is_true(yyjson_obj_get(weft, "more"));
}

static int check_message(struct checking *c, struct wb_arena *a, yyjson_val *v)
{
    struct upp_message m;
    struct upp_err why; /* set on failure; clearing it for each message would be measurable */
    uint32_t at;
    int r = wm_message_check(a, v, &m, &why);
    if (r == -UPP_EINVALID) {
        /* Reports the reader's error, with the pointer in the document. */
        char text[512], where[1024];
        struct wj_pointer pointer;
        wj_pointer_init(&pointer, text, sizeof text);
        wj_pointer_find(&pointer, c->p->root, v);
        (void)snprintf(where, sizeof where, "%s%s", text, why.where);
        wd_problem_at(c->p, WD_ERROR, "UPP-2", where, why.msg);
        return 0;
    }
    if (r < 0) {
        if (c->err)
            *c->err = why;
        return r;
    }
    r = wm_names_add(&c->ids, m.id, &at, c->err);
    if (r == 0 && !is_more(v))
        wd_problem(c->p, WD_WARNING, "UPP-5", yyjson_obj_get(v, "id"), "another message has this id too");
    if (r < 0)
        return r;
    r = 0;
    for (size_t i = 0; r >= 0 && i < m.n_parts; i++) {
        if (m.parts[i].kind == UPP_PART_CALL)
            r = wd_upp_call_note(&c->calls, &m.parts[i], c->err);
        else if (m.parts[i].kind == UPP_PART_RESULT && !wd_upp_call_tool(&c->calls, m.parts[i].id).p)
            wd_problem(c->p, WD_WARNING, "UPP-7", yyjson_obj_get(v, "results"),
                       "the call '%.*s' is not before its result", UPP_FMT(m.parts[i].id));
    }
    return r;
}

int wd_upp_check_messages(struct wd_problems *p, yyjson_val *list, struct upp_err *err)
{
    struct checking c = {.p = p, .err = err};
    yyjson_val *v;
    size_t i, n;
    int r = 0;
    yyjson_arr_foreach(list, i, n, v)
    {
        if (r >= 0)
            r = check_message(&c, p->a, v);
    }
    wm_names_done(&c.ids);
    wd_upp_calls_done(&c.calls);
    return r;
}

int wd_upp_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    char found[WJ_QUOTED];
    yyjson_val *messages = wd_last_at(root, "messages");
    if (!yyjson_is_obj(root)) {
        wd_problem(p, WD_ERROR, "UPP-5", root, "expected an object, found %s", wj_found(root, found, sizeof found));
        return 0;
    }
    wd_upp_check_text(p, root, "id", "UPP-5");
    wd_upp_check_time(p, root, "createdAt", "UPP-5");
    wd_upp_check_time(p, root, "updatedAt", "UPP-5");
    if (!messages)
        wd_problem(p, WD_ERROR, "UPP-5", root, "expected the member 'messages'");
    else if (!yyjson_is_arr(messages))
        wd_problem(p, WD_ERROR, "UPP-5", messages, "expected an array, found %s",
                   wj_found(messages, found, sizeof found));
    return wd_upp_check_messages(p, messages, err);
}
