/* dialects/assistants_doc_check.c — is it a thread of the Assistants API, as its clients would take it?
 *
 * Members by tables. The API gives every member, null where there is nothing; what people store has fewer: only those
 * must be there without which nobody can tell what an object is.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "dialects/assistants_doc.h"
#include "dialects/lift.h"
#include "json/value.h"

enum { PAIRS = 16, KEY_MAX = 64, VALUE_MAX = 512 }; /* of metadata */

enum { ROWS = 20 }; /* of a table, at most */

struct member {
    struct upp_str name;
    char           type; /* 's' text, 'n' whole number, 'o' object, 'l' list, 'b' true or false, 'a' anything */
    bool           must; /* it is there, and not null */
};

#define NAME(text) UPP_STR_INIT(text)
static const struct member thread[] = {
    {NAME("id"), 's', true},
    {NAME("created_at"), 'n', true},
    {NAME("metadata"), 'o', false},
    {NAME("tool_resources"), 'o', false},
    {{0}, 0, false},
};
static const struct member message[] = {
    {NAME("id"), 's', true},
    {NAME("created_at"), 'n', true},
    {NAME("role"), 's', true},
    {NAME("content"), 'a', true},
    {NAME("thread_id"), 's', false},
    {NAME("status"), 's', false},
    {NAME("incomplete_details"), 'o', false},
    {NAME("completed_at"), 'n', false},
    {NAME("incomplete_at"), 'n', false},
    {NAME("assistant_id"), 's', false},
    {NAME("run_id"), 's', false},
    {NAME("attachments"), 'l', false},
    {NAME("metadata"), 'o', false},
    {{0}, 0, false},
};
static const struct member run[] = {
    {NAME("id"), 's', true},
    {NAME("created_at"), 'n', true},
    {NAME("assistant_id"), 's', true},
    {NAME("status"), 's', true},
    {NAME("thread_id"), 's', false},
    {NAME("started_at"), 'n', false},
    {NAME("expires_at"), 'n', false},
    {NAME("cancelled_at"), 'n', false},
    {NAME("failed_at"), 'n', false},
    {NAME("completed_at"), 'n', false},
    {NAME("last_error"), 'o', false},
    {NAME("incomplete_details"), 'o', false},
    {NAME("required_action"), 'o', false},
    {NAME("model"), 's', false},
    {NAME("instructions"), 's', false},
    {NAME("tools"), 'l', false},
    {NAME("metadata"), 'o', false},
    {NAME("usage"), 'o', false},
    {NAME("truncation_strategy"), 'o', false},
    {NAME("parallel_tool_calls"), 'b', false},
    {{0}, 0, false},
};
static const struct member step[] = {
    {NAME("id"), 's', true},
    {NAME("created_at"), 'n', true},
    {NAME("step_details"), 'o', true},
    {NAME("type"), 's', false},
    {NAME("status"), 's', false},
    {NAME("run_id"), 's', false},
    {NAME("assistant_id"), 's', false},
    {NAME("thread_id"), 's', false},
    {NAME("cancelled_at"), 'n', false},
    {NAME("completed_at"), 'n', false},
    {NAME("expired_at"), 'n', false},
    {NAME("failed_at"), 'n', false},
    {NAME("last_error"), 'o', false},
    {NAME("metadata"), 'o', false},
    {NAME("usage"), 'o', false},
    {{0}, 0, false},
};
_Static_assert(WB_LEN(run) == ROWS + 1, "the longest table has as many rows as there is room for");

static const char *const message_status[] = {"in_progress", "incomplete", "completed", NULL};
static const char *const run_status[]     = {"queued", "in_progress", "requires_action", "cancelling", "cancelled",
                                             "failed", "completed",   "incomplete",      "expired",    NULL};
static const char *const step_status[]    = {"in_progress", "cancelled", "failed", "completed", "expired", NULL};
static const char *const why_message[]    = {"content_filter", "max_tokens", "run_cancelled",
                                             "run_expired",    "run_failed", NULL};
static const char *const why_run[]        = {"max_completion_tokens", "max_prompt_tokens", NULL};
static const char *const codes[]          = {"server_error", "rate_limit_exceeded", "invalid_prompt", NULL};
static const char *const roles[]          = {"user", "assistant", NULL};

/* ---- Members ----------------------------------------------------------------------------------------------------- */

static bool is_whole(yyjson_val *v)
{
    int64_t n;
    return yyjson_is_raw(v) && wb_str_i64(wj_text(v), &n);
}

static bool has_type(yyjson_val *v, char type)
{
    switch (type) {
    case 's':
        return yyjson_is_str(v);
    case 'n':
        return is_whole(v);
    case 'o':
        return yyjson_is_obj(v);
    case 'l':
        return yyjson_is_arr(v);
    case 'b':
        return yyjson_is_bool(v);
    default:
        return true;
    }
}

static const char *type_name(char type)
{
    return type == 's'   ? "a text"
           : type == 'n' ? "a whole number"
           : type == 'o' ? "an object"
           : type == 'l' ? "a list"
                         : "true or false";
}

static void check_members(struct wd_problems *p, const char *rule, yyjson_val *of, const struct member *rows)
{
    yyjson_val *found[ROWS];
    size_t      n = WJ_MEMBERS(of, rows, found);
    for (size_t i = 0; i < n; i++) {
        yyjson_val *v    = found[i];
        bool        none = !v || yyjson_is_null(v);
        if (none && rows[i].must)
            wd_problem(p, WD_ERROR, rule, v ? v : of, "member '%s' is missing", rows[i].name.p);
        else if (!none && !has_type(v, rows[i].type))
            wd_problem(p, WD_ERROR, rule, v, "'%s' must be %s", rows[i].name.p, type_name(rows[i].type));
    }
}

static void check_word(struct wd_problems *p, const char *rule, yyjson_val *of, const char *name,
                       const char *const *words)
{
    yyjson_val *v = yyjson_obj_get(of, name);
    char        quoted[WJ_QUOTED];
    if (!v || !yyjson_is_str(v))
        return;
    while (*words && !wj_named(v, wb_cstr(*words)))
        words++;
    if (!*words)
        wd_problem(p, WD_ERROR, rule, v, "no client knows the %s %s", name,
                   wj_quote(wj_text(v), quoted, sizeof quoted));
}

static void check_object(struct wd_problems *p, const char *rule, yyjson_val *v, const char *name)
{
    yyjson_val *object = yyjson_obj_get(v, "object");
    if (!object || !yyjson_is_str(object) || !wj_named(object, wb_cstr(name)))
        wd_problem(p, WD_ERROR, rule, object ? object : v, "'object' must be '%s'", name);
}

/* Pairs of texts, and few of them: but for what others are known to put there. */
static void check_metadata(struct wd_problems *p, yyjson_val *of)
{
    yyjson_val *metadata = yyjson_obj_get(of, "metadata"), *key, *v;
    size_t      i, n;
    if (!yyjson_is_obj(metadata))
        return;
    if (yyjson_obj_size(metadata) > PAIRS)
        wd_problem(p, WD_WARNING, "OA-10", metadata, "more than %d pairs of metadata", PAIRS);
    yyjson_obj_foreach(metadata, i, n, key, v)
    {
        if (wj_named(key, UPP_STR("weft")) || wj_named(key, UPP_STR("actors")) ||
                                                       wj_named(key, UPP_STR("parent_id")) ||
                                                                wj_named(key, UPP_STR("weft_pending")))
            continue;
        if (!yyjson_is_str(v))
            wd_problem(p, WD_WARNING, "OA-10", v, "metadata are texts");
        else if (wb_utf8_count(wj_text(v)) > VALUE_MAX || wb_utf8_count(wj_text(key)) > KEY_MAX)
            wd_problem(p, WD_WARNING, "OA-10", v, "a name of metadata has at most %d characters, a value %d", KEY_MAX,
                       VALUE_MAX);
    }
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

static void need_text(struct wd_problems *p, yyjson_val *part, const char *outer, const char *inner)
{
    yyjson_val *v = yyjson_obj_get(part, outer), *text = inner ? yyjson_obj_get(v, inner) : v;
    if (!text || !yyjson_is_str(text))
        wd_problem(p, WD_ERROR, "OA-5", v ? v : part, "it needs a text '%s%s%s'", outer, inner ? "." : "",
                   inner ? inner : "");
}

static void check_part(struct wd_problems *p, yyjson_val *part)
{
    yyjson_val *type = yyjson_obj_get(part, "type"), *text = yyjson_obj_get(part, "text");
    char        quoted[WJ_QUOTED];
    if (!type || !yyjson_is_str(type))
        wd_problem(p, WD_ERROR, "OA-5", part, "a part of a content is an object with a 'type'");
    else if (wj_named(type, UPP_STR("text"))) {
        if (!text || !yyjson_is_str(text))
            need_text(p, part, "text", "value");
    } else if (wj_named(type, UPP_STR("image_url")))
        need_text(p, part, "image_url", "url");
    else if (wj_named(type, UPP_STR("image_file")))
        need_text(p, part, "image_file", "file_id");
    else if (wj_named(type, UPP_STR("refusal")))
        need_text(p, part, "refusal", NULL);
    else
        wd_problem(p, WD_ERROR, "OA-5", type, "there is no part of type %s",
                   wj_quote(wj_text(type), quoted, sizeof quoted));
}

static void check_message(struct wd_problems *p, yyjson_val *v)
{
    yyjson_val *content = yyjson_obj_get(v, "content"), *part;
    yyjson_val *status = yyjson_obj_get(v, "status"), *why = yyjson_obj_get(v, "incomplete_details");
    size_t      i, n;
    check_object(p, "OA-3", v, "thread.message");
    check_members(p, "OA-3", v, message);
    check_word(p, "OA-3", v, "role", roles);
    check_word(p, "OA-4", v, "status", message_status);
    check_word(p, "OA-4", why, "reason", why_message);
    if (status && yyjson_is_str(status) && yyjson_is_obj(why) && !wj_named(status, UPP_STR("incomplete")))
        wd_problem(p, WD_WARNING, "OA-4", why, "only an incomplete message has a reason");
    if (content && !yyjson_is_null(content) && !yyjson_is_arr(content) && !yyjson_is_str(content))
        wd_problem(p, WD_ERROR, "OA-5", content, "a content is a list of parts, or a text");
    if (yyjson_is_arr(content)) {
        yyjson_arr_foreach(content, i, n, part) check_part(p, part);
    }
    check_metadata(p, v);
}

/* ---- Runs and steps ---------------------------------------------------------------------------------------------- */

static void check_run(struct wd_problems *p, yyjson_val *v)
{
    yyjson_val *status = yyjson_obj_get(v, "status"), *asks = yyjson_obj_get(v, "required_action");
    check_object(p, "OA-6", v, "thread.run");
    check_members(p, "OA-6", v, run);
    check_word(p, "OA-6", v, "status", run_status);
    check_word(p, "OA-6", yyjson_obj_get(v, "last_error"), "code", codes);
    check_word(p, "OA-6", yyjson_obj_get(v, "incomplete_details"), "reason", why_run);
    if (status && yyjson_is_str(status) && wj_named(status, UPP_STR("requires_action")) != yyjson_is_obj(asks))
        wd_problem(p, WD_WARNING, "OA-6", asks ? asks : v,
                   "'required_action' is there while action is required, and only then");
    check_metadata(p, v);
}

static void check_call(struct wd_problems *p, yyjson_val *v)
{
    yyjson_val *function = yyjson_obj_get(v, "function"), *output = yyjson_obj_get(function, "output");
    if (!wd_text_at(v, "id").p || !wd_text_at(v, "type").p)
        wd_problem(p, WD_ERROR, "OA-8", v, "a call has an 'id' and a 'type'");
    if (!wb_str_eq(wd_text_at(v, "type"), UPP_STR("function")))
        return;
    if (!wd_text_at(function, "name").p || !wd_text_at(function, "arguments").p)
        wd_problem(p, WD_ERROR, "OA-8", function ? function : v,
                   "a function has a 'name' and 'arguments', which are texts");
    if (output && !yyjson_is_str(output) && !yyjson_is_null(output))
        wd_problem(p, WD_ERROR, "OA-8", output, "'output' must be a text");
}

static void check_step(struct wd_problems *p, yyjson_val *v)
{
    yyjson_val    *details = yyjson_obj_get(v, "step_details"), *calls = yyjson_obj_get(details, "tool_calls"), *call;
    struct upp_str type = wd_text_at(details, "type"), said = wd_text_at(v, "type");
    size_t         i, n;
    check_object(p, "OA-7", v, "thread.run.step");
    check_members(p, "OA-7", v, step);
    check_word(p, "OA-7", v, "status", step_status);
    check_word(p, "OA-7", yyjson_obj_get(v, "last_error"), "code", codes);
    if (yyjson_is_obj(details) && said.p && !wb_str_eq(type, said))
        wd_problem(p, WD_ERROR, "OA-7", details, "its details are not those of its type");
    if (wb_str_eq(type, UPP_STR("message_creation"))) {
        if (!wd_text_at(yyjson_obj_get(details, "message_creation"), "message_id").p)
            wd_problem(p, WD_ERROR, "OA-7", details, "it does not say which message it made");
    } else if (!wb_str_eq(type, UPP_STR("tool_calls")) || !yyjson_is_arr(calls)) {
        if (yyjson_is_obj(details))
            wd_problem(p, WD_ERROR, "OA-7", details, "a step makes a message, or has 'tool_calls'");
    } else {
        yyjson_arr_foreach(calls, i, n, call) check_call(p, call);
    }
    check_metadata(p, v);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

struct known {
    struct upp_str id;
    yyjson_val    *of;
};

struct list {
    yyjson_val   *list;
    struct known *by_id; /* sorted */
    size_t        n;
};

static int by_id(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    int                 c = wb_str_cmp(x->id, y->id);
    return c ? c : (x->of > y->of) - (x->of < y->of);
}

static bool is_known(const struct list *l, struct upp_str id)
{
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (wb_str_cmp(l->by_id[mid].id, id) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < l->n && wb_str_eq(l->by_id[low].id, id);
}

static int check_list(struct wd_problems *p, yyjson_val *v, const char *what,
                      void (*check)(struct wd_problems *p, yyjson_val *v), struct list *ret, struct upp_err *err)
{
    size_t      i, n;
    yyjson_val *item;
    *ret = (struct list){.list = wd_asst_list(v).list};
    if (!v || yyjson_is_null(v))
        return 0;
    if (!ret->list) {
        wd_problem(p, WD_ERROR, "OA-1", v, "'%s' must be a list, or a page of one", what);
        return 0;
    }
    ret->by_id = wb_new_n(p->a, struct known, yyjson_arr_size(ret->list) + 1);
    if (!ret->by_id)
        return wb_arena_check(p->a, err);
    yyjson_arr_foreach(ret->list, i, n, item)
    {
        if (!yyjson_is_obj(item)) {
            wd_problem(p, WD_ERROR, "OA-1", item, "an item of '%s' must be an object", what);
            continue;
        }
        check(p, item);
        if (wd_text_at(item, "id").p)
            ret->by_id[ret->n++] = (struct known){wd_text_at(item, "id"), item};
    }
    qsort(ret->by_id, ret->n, sizeof *ret->by_id, by_id);
    for (i = 1; i < ret->n; i++)
        if (wb_str_eq(ret->by_id[i - 1].id, ret->by_id[i].id))
            wd_problem(p, WD_ERROR, "OA-9", yyjson_obj_get(ret->by_id[i].of, "id"), "there is one with this id before");
    return 0;
}

/* Runs and messages that are named, where the document has such a list. */
static void check_names(struct wd_problems *p, const struct list *of, const struct list *in, bool messages)
{
    size_t      i, n;
    yyjson_val *v;
    if (!of->list || !in->list)
        return;
    yyjson_arr_foreach(of->list, i, n, v)
    {
        yyjson_val *made = messages ? yyjson_obj_get(yyjson_obj_get(v, "step_details"), "message_creation") : v;
        yyjson_val *id   = yyjson_obj_get(made, messages ? "message_id" : "run_id");
        if (id && yyjson_is_str(id) && !is_known(in, wj_text(id)))
            wd_problem(p, WD_WARNING, "OA-11", id, "the document has no %s of this id", messages ? "message" : "run");
    }
}

int wd_asst_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    struct list messages, runs, steps;
    bool        is_thread = wb_str_eq(wd_text_at(root, "object"), UPP_STR("thread"));
    if (!is_thread && !wd_asst_list(root).list) {
        wd_problem(p, WD_ERROR, "OA-1", root, "expected a thread, or a list of its messages");
        return 0;
    }
    int r = check_list(p, wd_asst_messages(root), "messages", check_message, &messages, err);
    if (r < 0 || !is_thread)
        return r;
    check_members(p, "OA-2", root, thread);
    check_metadata(p, root);
    r = check_list(p, yyjson_obj_get(root, "runs"), "runs", check_run, &runs, err);
    if (r >= 0)
        r = check_list(p, yyjson_obj_get(root, "steps"), "steps", check_step, &steps, err);
    if (r < 0)
        return r;
    check_names(p, &messages, &runs, false);
    check_names(p, &steps, &runs, false);
    check_names(p, &steps, &messages, true);
    return 0;
}
