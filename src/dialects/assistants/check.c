/* dialects/assistants/check.c — whether clients would accept the document as a thread of the Assistants API.
 *
 * Tables of members. The API sends every member, null if empty; stored documents have fewer. Only members without
 * which an object cannot be identified are required.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "dialects/assistants/doc.h"
#include "dialects/core/lift.h"
#include "dialects/core/members.h"
#include "json/value.h"

enum { PAIRS = 16, KEY_MAX = 64, VALUE_MAX = 512 }; /* limits of metadata */

/* In the API's order, unless problems are to be reported in another. All but the thread begin with the same two. */
enum { ID, OBJECT };
#define NAME(text) UPP_STR_INIT(text)
static const struct wd_row thread[] = {
    {NAME("id"), 's', WD_MUST},
    {NAME("created_at"), 'w', WD_MUST},
    {NAME("metadata"), 'o', 0},
    {NAME("tool_resources"), 'o', 0},
    {{0}, 0, 0},
};
enum {
    MESSAGE_ROLE = 4,
    MESSAGE_STATUS,
    MESSAGE_DETAILS,
    MESSAGE_CONTENT = 9,
    MESSAGE_RUN = 11,
    MESSAGE_METADATA = 13,
};
static const struct wd_row message[] = {
    {NAME("id"), 's', WD_MUST},
    {NAME("object"), 'v', 0},
    {NAME("created_at"), 'w', WD_MUST},
    {NAME("thread_id"), 's', 0},
    [MESSAGE_ROLE] = {NAME("role"), 's', WD_MUST},
    [MESSAGE_STATUS] = {NAME("status"), 's', 0},
    [MESSAGE_DETAILS] = {NAME("incomplete_details"), 'o', 0},
    {NAME("completed_at"), 'w', 0},
    {NAME("incomplete_at"), 'w', 0},
    [MESSAGE_CONTENT] = {NAME("content"), 'v', WD_MUST},
    {NAME("assistant_id"), 's', 0},
    [MESSAGE_RUN] = {NAME("run_id"), 's', 0},
    {NAME("attachments"), 'a', 0},
    [MESSAGE_METADATA] = {NAME("metadata"), 'o', 0},
    {{0}, 0, 0},
};
enum { RUN_STATUS = 5, RUN_ERROR = 11, RUN_DETAILS, RUN_ACTION, RUN_METADATA = 17 };
static const struct wd_row run[] = {
    {NAME("id"), 's', WD_MUST},
    {NAME("object"), 'v', 0},
    {NAME("created_at"), 'w', WD_MUST},
    {NAME("assistant_id"), 's', WD_MUST},
    {NAME("thread_id"), 's', 0},
    [RUN_STATUS] = {NAME("status"), 's', WD_MUST},
    {NAME("started_at"), 'w', 0},
    {NAME("expires_at"), 'w', 0},
    {NAME("cancelled_at"), 'w', 0},
    {NAME("failed_at"), 'w', 0},
    {NAME("completed_at"), 'w', 0},
    [RUN_ERROR] = {NAME("last_error"), 'o', 0},
    [RUN_DETAILS] = {NAME("incomplete_details"), 'o', 0},
    [RUN_ACTION] = {NAME("required_action"), 'o', 0},
    {NAME("model"), 's', 0},
    {NAME("instructions"), 's', 0},
    {NAME("tools"), 'a', 0},
    [RUN_METADATA] = {NAME("metadata"), 'o', 0},
    {NAME("usage"), 'o', 0},
    {NAME("truncation_strategy"), 'o', 0},
    {NAME("parallel_tool_calls"), 'b', 0},
    {{0}, 0, 0},
};
enum { STEP_TYPE = 3, STEP_STATUS, STEP_RUN, STEP_ERROR = 12, STEP_DETAILS, STEP_METADATA };
static const struct wd_row step[] = {
    {NAME("id"), 's', WD_MUST},
    {NAME("object"), 'v', 0},
    {NAME("created_at"), 'w', WD_MUST},
    [STEP_TYPE] = {NAME("type"), 's', 0},
    [STEP_STATUS] = {NAME("status"), 's', 0},
    [STEP_RUN] = {NAME("run_id"), 's', 0},
    {NAME("assistant_id"), 's', 0},
    {NAME("thread_id"), 's', 0},
    {NAME("cancelled_at"), 'w', 0},
    {NAME("completed_at"), 'w', 0},
    {NAME("expired_at"), 'w', 0},
    {NAME("failed_at"), 'w', 0},
    [STEP_ERROR] = {NAME("last_error"), 'o', 0},
    [STEP_DETAILS] = {NAME("step_details"), 'o', WD_MUST},
    [STEP_METADATA] = {NAME("metadata"), 'o', 0},
    {NAME("usage"), 'o', 0},
    {{0}, 0, 0},
};
_Static_assert(WB_LEN(run) <= WD_ROWS + 1, "there is room for all rows");

static const struct upp_str message_status[] = {NAME("in_progress"), NAME("incomplete"), NAME("completed"), {0}};
static const struct upp_str run_status[] = {
    NAME("queued"), NAME("in_progress"), NAME("requires_action"), NAME("cancelling"), NAME("cancelled"),
    NAME("failed"), NAME("completed"),   NAME("incomplete"),      NAME("expired"),    {0}};
static const struct upp_str step_status[] = {NAME("in_progress"), NAME("cancelled"), NAME("failed"),
                                             NAME("completed"),   NAME("expired"),   {0}};
static const struct upp_str why_message[] = {NAME("content_filter"), NAME("max_tokens"), NAME("run_cancelled"),
                                             NAME("run_expired"),    NAME("run_failed"), {0}};
static const struct upp_str why_run[] = {NAME("max_completion_tokens"), NAME("max_prompt_tokens"), {0}};
static const struct upp_str codes[] = {NAME("server_error"), NAME("rate_limit_exceeded"), NAME("invalid_prompt"), {0}};
static const struct upp_str roles[] = {NAME("user"), NAME("assistant"), {0}};

/* ---- Members ----------------------------------------------------------------------------------------------------- */

/* Checks the members in `found`, by row. Problems of required members are reported first. */
static void check_found(struct wd_problems *p, const char *rule, yyjson_val *of, const struct wd_row *rows,
                        yyjson_val *const *found, size_t n)
{
    for (size_t i = 0; i < 2 * n; i++)
        if ((rows[i % n].flags & WD_MUST) == (i < n))
            (void)wd_check_row(p, rule, of, &rows[i % n], found[i % n], true);
}

static void check_word(struct wd_problems *p, const char *rule, const char *name, yyjson_val *v,
                       const struct upp_str *words)
{
    char quoted[WJ_QUOTED];
    if (!v || !yyjson_is_str(v))
        return;
    while (words->p && !wj_named(v, *words))
        words++;
    if (!words->p)
        wd_problem(p, WD_ERROR, rule, v, "no client knows the %s %s", name,
                   wj_quote(wj_text(v), quoted, sizeof quoted));
}

static void check_object(struct wd_problems *p, const char *rule, yyjson_val *v, yyjson_val *object,
                         struct upp_str name)
{
    if (!object || !yyjson_is_str(object) || !wj_named(object, name))
        wd_problem(p, WD_ERROR, rule, object ? object : v, "'object' must be '%s'", name.p);
}

/* Few pairs of strings, except members that are known to be other values. */
static void check_metadata(struct wd_problems *p, yyjson_val *metadata)
{
    yyjson_val *key, *v;
    size_t i, n;
    if (!yyjson_is_obj(metadata))
        return;
    if (yyjson_obj_size(metadata) > PAIRS)
        wd_problem(p, WD_WARNING, "OA-10", metadata, "more than %d pairs of metadata", PAIRS);
    yyjson_obj_foreach(metadata, i, n, key, v)
    {
        if (wj_named(key, UPP_STR("weft")) || wj_named(key, UPP_STR("actors")) || wj_named(key, UPP_STR("parent_id")))
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
    char quoted[WJ_QUOTED];
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

/* Checkers return the member that names the object's run, or NULL; found: the object's members, by row. */
static yyjson_val *check_message(struct wd_problems *p, yyjson_val *v, yyjson_val **found)
{
    size_t i, n = WJ_MEMBERS(v, message, found);
    check_object(p, "OA-3", v, found[OBJECT], UPP_STR("thread.message"));
    check_found(p, "OA-3", v, message, found, n);
    yyjson_val *status = found[MESSAGE_STATUS], *why = found[MESSAGE_DETAILS], *content = found[MESSAGE_CONTENT], *part;
    check_word(p, "OA-3", "role", found[MESSAGE_ROLE], roles);
    check_word(p, "OA-4", "status", status, message_status);
    check_word(p, "OA-4", "reason", yyjson_obj_get(why, "reason"), why_message);
    if (status && yyjson_is_str(status) && yyjson_is_obj(why) && !wj_named(status, UPP_STR("incomplete")))
        wd_problem(p, WD_WARNING, "OA-4", why, "only an incomplete message has a reason");
    if (content && !yyjson_is_null(content) && !yyjson_is_arr(content) && !yyjson_is_str(content))
        wd_problem(p, WD_ERROR, "OA-5", content, "a content is a list of parts, or a text");
    if (yyjson_is_arr(content)) {
        yyjson_arr_foreach(content, i, n, part) check_part(p, part);
    }
    check_metadata(p, found[MESSAGE_METADATA]);
    return found[MESSAGE_RUN];
}

/* ---- Runs and steps ---------------------------------------------------------------------------------------------- */

static yyjson_val *check_run(struct wd_problems *p, yyjson_val *v, yyjson_val **found)
{
    size_t n = WJ_MEMBERS(v, run, found);
    check_object(p, "OA-6", v, found[OBJECT], UPP_STR("thread.run"));
    check_found(p, "OA-6", v, run, found, n);
    yyjson_val *status = found[RUN_STATUS], *asks = found[RUN_ACTION];
    check_word(p, "OA-6", "status", status, run_status);
    check_word(p, "OA-6", "code", yyjson_obj_get(found[RUN_ERROR], "code"), codes);
    check_word(p, "OA-6", "reason", yyjson_obj_get(found[RUN_DETAILS], "reason"), why_run);
    if (status && yyjson_is_str(status) && wj_named(status, UPP_STR("requires_action")) != yyjson_is_obj(asks))
        wd_problem(p, WD_WARNING, "OA-6", asks ? asks : v,
                   "'required_action' is there while action is required, and only then");
    check_metadata(p, found[RUN_METADATA]);
    return NULL;
}

static void check_call(struct wd_problems *p, yyjson_val *v)
{
    yyjson_val *function = yyjson_obj_get(v, "function"), *output = yyjson_obj_get(function, "output");
    if (!wj_text_at(v, "id").p || !wj_text_at(v, "type").p)
        wd_problem(p, WD_ERROR, "OA-8", v, "a call has an 'id' and a 'type'");
    if (!wb_str_eq(wj_text_at(v, "type"), UPP_STR("function")))
        return;
    if (!wj_text_at(function, "name").p || !wj_text_at(function, "arguments").p)
        wd_problem(p, WD_ERROR, "OA-8", function ? function : v,
                   "a function has a 'name' and 'arguments', which are texts");
    if (output && !yyjson_is_str(output) && !yyjson_is_null(output))
        wd_problem(p, WD_ERROR, "OA-8", output, "'output' must be a text");
}

static yyjson_val *check_step(struct wd_problems *p, yyjson_val *v, yyjson_val **found)
{
    size_t i, n = WJ_MEMBERS(v, step, found);
    check_object(p, "OA-7", v, found[OBJECT], UPP_STR("thread.run.step"));
    check_found(p, "OA-7", v, step, found, n);
    yyjson_val *details = found[STEP_DETAILS], *calls = yyjson_obj_get(details, "tool_calls"), *call;
    yyjson_val *declared = found[STEP_TYPE];
    struct upp_str type = wj_text_at(details, "type");
    check_word(p, "OA-7", "status", found[STEP_STATUS], step_status);
    check_word(p, "OA-7", "code", yyjson_obj_get(found[STEP_ERROR], "code"), codes);
    if (yyjson_is_obj(details) && declared && yyjson_is_str(declared) && !wb_str_eq(type, wj_text(declared)))
        wd_problem(p, WD_ERROR, "OA-7", details, "its details are not those of its type");
    if (wb_str_eq(type, UPP_STR("message_creation"))) {
        if (!wj_text_at(yyjson_obj_get(details, "message_creation"), "message_id").p)
            wd_problem(p, WD_ERROR, "OA-7", details, "it does not say which message it made");
    } else if (!wb_str_eq(type, UPP_STR("tool_calls")) || !yyjson_is_arr(calls)) {
        if (yyjson_is_obj(details))
            wd_problem(p, WD_ERROR, "OA-7", details, "a step makes a message, or has 'tool_calls'");
    } else {
        yyjson_arr_foreach(calls, i, n, call) check_call(p, call);
    }
    check_metadata(p, found[STEP_METADATA]);
    return found[STEP_RUN];
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

struct known {
    struct upp_str id;
    yyjson_val *of;
};

struct list {
    yyjson_val *list;
    struct known *by_id; /* sorted */
    size_t n;
    yyjson_val **runs; /* the runs that the items name, by index; NULL: none */
};

static int by_id(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    int c = wb_str_cmp(x->id, y->id);
    return c ? c : (x->of > y->of) - (x->of < y->of);
}

/* Ids that are numbers are mostly sorted already. */
static void sort(struct list *l)
{
    for (size_t i = 1; i < l->n; i++)
        if (by_id(&l->by_id[i - 1], &l->by_id[i]) > 0) {
            qsort(l->by_id, l->n, sizeof *l->by_id, by_id);
            return;
        }
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
                      yyjson_val *(*check)(struct wd_problems *p, yyjson_val *v, yyjson_val **found), struct list *ret,
                      struct upp_err *err)
{
    size_t i, n;
    yyjson_val *item, *found[WD_ROWS];
    *ret = (struct list){.list = wd_asst_list(v).list};
    if (!v || yyjson_is_null(v))
        return 0;
    if (!ret->list) {
        wd_problem(p, WD_ERROR, "OA-1", v, "'%s' must be a list, or a page of one", what);
        return 0;
    }
    ret->by_id = wb_new_n(p->a, struct known, yyjson_arr_size(ret->list) + 1);
    ret->runs = wb_new_n(p->a, yyjson_val *, yyjson_arr_size(ret->list) + 1);
    if (!ret->by_id || !ret->runs)
        return wb_arena_check(p->a, err);
    yyjson_arr_foreach(ret->list, i, n, item)
    {
        if (!yyjson_is_obj(item)) {
            wd_problem(p, WD_ERROR, "OA-1", item, "an item of '%s' must be an object", what);
            continue;
        }
        ret->runs[i] = check(p, item, found);
        if (found[ID] && yyjson_is_str(found[ID]))
            ret->by_id[ret->n++] = (struct known){wj_text(found[ID]), item};
    }
    sort(ret);
    for (i = 1; i < ret->n; i++)
        if (wb_str_eq(ret->by_id[i - 1].id, ret->by_id[i].id))
            wd_problem(p, WD_ERROR, "OA-9", yyjson_obj_get(ret->by_id[i].of, "id"), "there is one with this id before");
    return 0;
}

/* Runs and messages that are referenced must exist, if the document has such a list. */
static void check_names(struct wd_problems *p, const struct list *of, const struct list *in, bool messages)
{
    size_t i, n;
    yyjson_val *v;
    struct upp_str last = {0}; /* last id found: neighbours mostly belong to one run */
    if (!of->list || !in->list)
        return;
    yyjson_arr_foreach(of->list, i, n, v)
    {
        yyjson_val *made = messages ? yyjson_obj_get(yyjson_obj_get(v, "step_details"), "message_creation") : NULL;
        yyjson_val *id = messages ? yyjson_obj_get(made, "message_id") : of->runs[i];
        if (!id || !yyjson_is_str(id) || (last.p && wj_named(id, last)))
            continue;
        if (is_known(in, wj_text(id)))
            last = wj_text(id);
        else
            wd_problem(p, WD_WARNING, "OA-11", id, "the document has no %s of this id", messages ? "message" : "run");
    }
}

int wd_asst_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    struct list messages, runs, steps;
    bool is_thread = wb_str_eq(wj_text_at(root, "object"), UPP_STR("thread"));
    if (!is_thread && !wd_asst_list(root).list) {
        wd_problem(p, WD_ERROR, "OA-1", root, "expected a thread, or a list of its messages");
        return 0;
    }
    int r = check_list(p, wd_asst_messages(root), "messages", check_message, &messages, err);
    if (r < 0 || !is_thread)
        return r;
    yyjson_val *found[WD_ROWS];
    check_found(p, "OA-2", root, thread, found, WJ_MEMBERS(root, thread, found));
    check_metadata(p, yyjson_obj_get(root, "metadata"));
    r = check_list(p, wd_last_at(root, "runs"), "runs", check_run, &runs, err);
    if (r >= 0)
        r = check_list(p, wd_last_at(root, "steps"), "steps", check_step, &steps, err);
    if (r < 0)
        return r;
    check_names(p, &messages, &runs, false);
    check_names(p, &steps, &runs, false);
    check_names(p, &steps, &messages, true);
    return 0;
}
