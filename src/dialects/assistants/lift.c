/* dialects/assistants/lift.c — threads of the Assistants API into the model.
 *
 * Text is in messages, calls and their outputs are in steps: both lists are merged into one sequence. Messages stay in
 * the order of their list. A step of calls follows the message that its metadata names; without that its time decides,
 * within the limits that the neighbouring steps' messages set. Calls that follow a message of the same agent in the
 * same run become parts of it.
 */
#include <stdlib.h>

#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/assistants/doc.h"
#include "dialects/core/lift.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/file_url.h"

enum { ITEMS = 1 << 24 };

/* An object of a list, by its id. */
struct named {
    struct upp_str id;
    uint32_t at;
};

struct items {
    struct wd_asst_list of;
    WB_VEC(yyjson_val *) list; /* objects, oldest first */
    struct named *by_id;
    bool anchored; /* one of them is in the model */
};

struct lifting {
    struct wd_lifting *l;
    struct upp_err *err;
    struct items messages, runs, steps;
    bool in_order;         /* the lists are in order, whatever their times are */
    size_t next_run;       /* runs before it were used already */
    yyjson_val *run;       /* of the current turn; NULL: unknown */
    struct upp_str run_id; /* as messages and steps name it */
    size_t joinable;       /* the entry that calls may join; SIZE_MAX: none */
    struct wd_parts parts, results;
};

static int failed(const struct lifting *t)
{
    return t->err->code ? -t->err->code : -UPP_ENOMEM;
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int c = wb_str_cmp(x->id, y->id);
    return c ? c : (x->at > y->at) - (x->at < y->at);
}

static int gather(struct lifting *t, struct items *to, yyjson_val *v)
{
    size_t i, n;
    yyjson_val *item;
    to->of = wd_asst_list(v);
    if (!to->of.list)
        return 0;
    to->of.newest_first &= !t->in_order;
    yyjson_arr_foreach(to->of.list, i, n, item)
    {
        if (yyjson_is_obj(item) && !wb_vec_push(&to->list, item, (size_t)ITEMS))
            return upp_fail(t->err, to->list.n < ITEMS ? UPP_ENOMEM : UPP_ELIMIT, "no room for so many objects");
    }
    for (size_t k = 0; to->of.newest_first && k < to->list.n / 2; k++) {
        yyjson_val *other = to->list.p[k];
        to->list.p[k] = to->list.p[to->list.n - 1 - k];
        to->list.p[to->list.n - 1 - k] = other;
    }
    to->by_id = wb_new_n(t->l->a, struct named, to->list.n + 1);
    if (!to->by_id)
        return wb_arena_check(t->l->a, t->err);
    for (size_t k = 0; k < to->list.n; k++)
        to->by_id[k] = (struct named){wj_text_at(to->list.p[k], "id"), (uint32_t)k};
    qsort(to->by_id, to->list.n, sizeof *to->by_id, by_name);
    return 0;
}

/* The index of the first object with this id from `from` on, or SIZE_MAX. */
static size_t find(const struct items *in, struct upp_str id, size_t from)
{
    size_t low = 0, high = in->list.n;
    while (id.p && low < high) {
        size_t mid = low + (high - low) / 2;
        struct named key = {id, (uint32_t)WB_MIN(from, (size_t)UINT32_MAX)};
        if (by_name(&in->by_id[mid], &key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return id.p && low < in->list.n && wb_str_eq(in->by_id[low].id, id) ? in->by_id[low].at : SIZE_MAX;
}

/* ---- Turns and runs ---------------------------------------------------------------------------------------------- */

/* The run with this id, unless it comes before one that was used already: runs and turns are then in the same order. */
static yyjson_val *take_run(struct lifting *t, struct upp_str id)
{
    size_t at = find(&t->runs, id, t->next_run);
    if (at == SIZE_MAX)
        return NULL;
    t->next_run = at + 1;
    return t->runs.list.p[at];
}

static void usage_of(yyjson_val *run, struct wm_doc_turn *turn)
{
    yyjson_val *u = yyjson_obj_get(run, "usage");
    if (!yyjson_is_obj(u))
        return;
    turn->has_usage = true;
    turn->usage.input = wd_number_at(u, "prompt_tokens");
    turn->usage.output = wd_number_at(u, "completion_tokens");
}

/* Opens a turn for this agent and run, unless the last one is it. Each user message is a turn of its own: it has a
 * time. */
static int turn_of(struct lifting *t, uint32_t agent, struct upp_str run_id)
{
    struct wm_doc *doc = t->l->doc;
    struct wm_doc_turn *last = doc->turns.n ? &doc->turns.p[doc->turns.n - 1] : NULL;
    bool same = last && wb_str_eq(t->run_id, run_id);
    if (same && last->agent == agent && agent != WM_NO_AGENT)
        return 0;
    bool continues = same && last->agent != WM_NO_AGENT && agent != WM_NO_AGENT && t->run;
    struct wm_doc_turn *turn = wm_doc_turn_add(doc, t->err);
    if (!turn)
        return failed(t);
    turn->agent = agent;
    t->run_id = run_id;
    t->joinable = SIZE_MAX;
    if (agent == WM_NO_AGENT || !continues)
        t->run = agent == WM_NO_AGENT ? NULL : take_run(t, run_id);
    if (!t->run)
        return 0;
    turn->run = run_id;
    if (continues)
        return 0;
    usage_of(t->run, turn);
    t->runs.anchored = true;
    return wd_anchor(t->l, t->run, "run", doc->entries.n, 1, t->err);
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

static void time_of(yyjson_val *v, struct upp_message *m)
{
    uint64_t s = wd_number_at(v, "created_at");
    if (s && s < (uint64_t)1 << 37)
        m->time_ms = (int64_t)s * 1000;
}

static yyjson_val *weft_of(yyjson_val *v)
{
    return yyjson_obj_get(yyjson_obj_get(v, "metadata"), "weft");
}

/* The agent of an object: its own, or that of its run. */
static int agent_of(struct lifting *t, yyjson_val *v, uint32_t *ret)
{
    struct upp_str id = wj_text_at(v, "assistant_id"), run = wj_text_at(v, "run_id");
    size_t at = id.p ? SIZE_MAX : find(&t->runs, run, 0);
    if (at != SIZE_MAX)
        id = wj_text_at(t->runs.list.p[at], "assistant_id");
    return wd_agent_of(t->l, id, wj_text_at(weft_of(v), "name"), ret, t->err);
}

static struct wm_doc_entry *add_entry(struct lifting *t, yyjson_val *v, uint8_t role, uint32_t agent)
{
    struct wm_doc_entry *e = wd_entry_add(t->l, role, agent, (struct upp_str){0}, t->err);
    if (e)
        time_of(v, &e->e.message);
    return e;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

/* A part with the address of an uploaded file. */
static int file_of(struct lifting *t, uint8_t kind, struct upp_str id, struct upp_part *to)
{
    struct upp_media *m = wb_new(t->l->a, struct upp_media);
    if (!wb_str_starts(id, UPP_STR("file-")))
        return 0;
    if (!m)
        return wb_arena_check(t->l->a, t->err);
    *m = (struct upp_media){.source = UPP_SOURCE_URL,
                            .data = wb_arena_join(t->l->a, (struct upp_str[]){UPP_STR(WM_FILE_SCHEME), id}, 2)};
    *to = (struct upp_part){.kind = kind, .media = m};
    int r = wb_arena_check(t->l->a, t->err);
    return r < 0 ? r : 1;
}

static int image_of(struct lifting *t, yyjson_val *v, struct upp_part *to)
{
    yyjson_val *file = yyjson_obj_get(v, "image_file"), *image = file ? file : yyjson_obj_get(v, "image_url");
    struct upp_str url = wj_text_at(image, "url"), mime = {0}, detail = wj_text_at(image, "detail");
    size_t end = wb_str_find(url, UPP_STR(";base64,"), 0);
    int r;
    if (!file && !url.p)
        return 0;
    if (wb_str_starts(url, UPP_STR("data:image/")) && end != SIZE_MAX)
        mime = wb_str_sub(url, 5, end - 5);
    if (file)
        r = file_of(t, UPP_PART_IMAGE, wj_text_at(file, "file_id"), to);
    else {
        r = wd_url_media(t->l->a, url, mime, (struct upp_str){0}, to, t->err);
        r = r < 0 ? r : 1;
    }
    to->kind = UPP_PART_IMAGE;
    if (r > 0 && (wb_str_eq(detail, UPP_STR("auto")) || wb_str_eq(detail, UPP_STR("low")) ||
                  wb_str_eq(detail, UPP_STR("high")))) {
        to->metadata = wb_arena_printf(t->l->a, "{\"openai\":{\"detail\":\"%.*s\"}}", UPP_FMT(detail));
        int bad = wb_arena_check(t->l->a, t->err);
        r = bad < 0 ? bad : r;
    }
    return r;
}

/* Attachments are documents behind the content. */
static int attachments_of(struct lifting *t, yyjson_val *message)
{
    yyjson_val *list = yyjson_obj_get(message, "attachments"), *v;
    size_t i, n;
    if (!yyjson_is_arr(list))
        return 0;
    yyjson_arr_foreach(list, i, n, v)
    {
        yyjson_val *tools = yyjson_obj_get(v, "tools");
        struct upp_part part = {0};
        struct upp_str text;
        int r = file_of(t, UPP_PART_DOCUMENT, wj_text_at(v, "file_id"), &part);
        if (r > 0 && yyjson_is_arr(tools)) {
            int bad = wj_value_text(t->l->a, tools, &text, t->err);
            part.metadata = bad < 0 ? (struct upp_str){0}
                                    : wb_arena_printf(t->l->a, "{\"assistants\":{\"tools\":%.*s}}", UPP_FMT(text));
            r = bad < 0 ? bad : r;
        }
        if (r > 0)
            r = wd_parts_add(&t->parts, &part, t->err);
        if (r < 0)
            return r;
    }
    return wb_arena_check(t->l->a, t->err);
}

/* 1: it is a part of the model. Text is an object in the API's responses and a string in its requests. */
static int part_of(struct lifting *t, yyjson_val *v, struct upp_part *to)
{
    struct upp_str type = wj_text_at(v, "type"), plain = wj_text_at(v, "text");
    if (wb_str_eq(type, UPP_STR("image_url")) || wb_str_eq(type, UPP_STR("image_file")))
        return image_of(t, v, to);
    if (!wb_str_eq(type, UPP_STR("text")))
        return 0;
    to->kind = UPP_PART_TEXT;
    to->text = plain.p ? plain : wj_text_at(yyjson_obj_get(v, "text"), "value");
    return to->text.p != NULL;
}

static int content_of(struct lifting *t, yyjson_val *message)
{
    yyjson_val *content = yyjson_obj_get(message, "content"), *v;
    size_t i, n;
    int r = 0;
    if (content && yyjson_is_str(content))
        return wd_parts_add(&t->parts, &(struct upp_part){.kind = UPP_PART_TEXT, .text = wj_text(content)}, t->err);
    if (!yyjson_is_arr(content))
        return 0;
    yyjson_arr_foreach(content, i, n, v)
    {
        struct upp_part part = {0};
        r = part_of(t, v, &part);
        if (r > 0)
            r = wd_parts_add(&t->parts, &part, t->err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int lift_message(struct lifting *t, yyjson_val *v)
{
    struct upp_str role = wj_text_at(v, "role"), run = wj_text_at(v, "run_id"), of = wj_text_at(weft_of(v), "agent");
    bool user = wb_str_eq(role, UPP_STR("user"));
    uint32_t agent = WM_NO_AGENT;
    if (!user && !wb_str_eq(role, UPP_STR("assistant")))
        return 0;
    int r = content_of(t, v);
    if (r >= 0 && user && t->parts.list.n)
        r = attachments_of(t, v);
    if (r < 0 || !t->parts.list.n)
        return r;
    if (user && of.p) /* text that a program sent to the model in an agent's turn */
        r = wd_agent_of(t->l, of, wj_text_at(weft_of(v), "name"), &agent, t->err);
    else if (!user)
        r = agent_of(t, v, &agent);
    if (r >= 0)
        r = turn_of(t, agent, run);
    size_t at = t->l->doc->entries.n;
    struct wm_doc_entry *e = r < 0 ? NULL : add_entry(t, v, user ? UPP_ROLE_USER : UPP_ROLE_ASSISTANT, agent);
    if (!e)
        return r < 0 ? r : failed(t);
    e->id = wj_text_at(v, "id");
    e->e.message.interrupted = wb_str_eq(wj_text_at(v, "status"), UPP_STR("incomplete"));
    t->parts.list.p[t->parts.list.n - 1].cut = e->e.message.interrupted;
    if (!user)
        e->said.model = wj_text_at(t->run, "model");
    r = wd_parts_finish(t->l->a, &t->parts, &e->e.message, t->err);
    if (r < 0)
        return r;
    t->joinable = user ? SIZE_MAX : at;
    t->messages.anchored = true;
    return wd_anchor(t->l, v, "message", at, 1, t->err);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* A list of calls in the metadata: its items are in the order of the calls, so it is read once. */
struct naming {
    yyjson_val *next;
    size_t left;
};

static struct naming naming_of(yyjson_val *list)
{
    return (struct naming){yyjson_arr_get_first(list), yyjson_arr_size(list)};
}

static bool is_named(struct naming *n, struct upp_str id)
{
    if (!n->left || !yyjson_is_str(n->next) || !wb_str_eq(wj_text(n->next), id))
        return false;
    n->left--;
    n->next = unsafe_yyjson_get_next(n->next);
    return true;
}

/* The JSON in an output, compact; another spelling of it is residue. 0: it is not JSON. */
static int json_of(const struct lifting *t, struct upp_str output, struct upp_str *ret)
{
    yyjson_val *v;
    *ret = output;
    if (wj_is_compact(output, NULL))
        return 1;
    int r = wj_read(t->l->a, output, NULL, &v, NULL);
    if (r == -UPP_ENOMEM)
        return upp_fail(t->err, UPP_ENOMEM, "out of memory");
    if (r < 0)
        return 0;
    r = wj_value_text(t->l->a, v, ret, t->err);
    return r < 0 ? r : 1;
}

/* An output is a string; for calls that the metadata lists, the JSON of another value. */
static int result_of(struct lifting *t, struct naming *errors, struct naming *jsons, const struct upp_part *call,
                     struct upp_str output)
{
    struct upp_part p = {
        .kind = UPP_PART_RESULT, .id = call->id, .name = call->name, .is_error = is_named(errors, call->id)};
    int r = is_named(jsons, call->id) ? json_of(t, output, &p.text) : 0;
    if (!r)
        r = wd_string_text(t->l->a, output, &p.text, t->err);
    return r < 0 ? r : wd_parts_add(&t->results, &p, t->err);
}

/* A call of one of the API's own tools: code_interpreter, file_search. The whole of it is in the part's metadata, and
 * is written from there; input and outputs are what a model of today can read. */
static int hosted_call_of(struct lifting *t, yyjson_val *v)
{
    static const char *const names[] = {"code_interpreter", "file_search"};
    struct upp_str type = wj_text_at(v, "type"), whole, text;
    struct wb_arena *a = t->l->a;
    size_t i = 0;
    while (i < 2 && !wb_str_eq(type, wb_cstr(names[i])))
        i++;
    yyjson_val *of = i < 2 ? yyjson_obj_get(v, names[i]) : NULL, *input = yyjson_obj_get(of, "input");
    yyjson_val *out = yyjson_obj_get(of, i == 0 ? "outputs" : "results");
    if (!yyjson_is_obj(of))
        return 0;
    int r = wj_value_text(a, v, &whole, t->err);
    if (r >= 0 && input)
        r = wj_value_text(a, input, &text, t->err);
    if (r < 0)
        return r;
    struct upp_part call = {.kind = UPP_PART_CALL,
                            .id = wj_text_at(v, "id"),
                            .name = type,
                            .text = input ? wb_arena_printf(a, "{\"input\":%.*s}", UPP_FMT(text)) : UPP_STR("{}"),
                            .metadata = wb_arena_printf(a, "{\"assistants\":{\"call\":%.*s}}", UPP_FMT(whole))};
    if (!call.id.p)
        call.id = t->l->id(t->l->arg, a, "call_");
    struct upp_part result = {.kind = UPP_PART_RESULT, .id = call.id, .name = type};
    r = yyjson_is_arr(out) ? wj_value_text(a, out, &result.text, t->err) : 0;
    if (r >= 0 && !result.text.n)
        result.text = UPP_STR("[]");
    if (r >= 0)
        r = wb_arena_check(a, t->err);
    if (r >= 0)
        r = wd_parts_add(&t->parts, &call, t->err);
    return r < 0 ? r : wd_parts_add(&t->results, &result, t->err);
}

static int call_of(struct lifting *t, struct naming *errors, struct naming *jsons, yyjson_val *v)
{
    yyjson_val *function = yyjson_obj_get(v, "function");
    struct upp_str output = wj_text_at(function, "output");
    struct upp_part p = {.kind = UPP_PART_CALL,
                         .id = wj_text_at(v, "id"),
                         .name = wj_text_at(function, "name"),
                         .text = wj_text_at(function, "arguments")};
    if (!p.name.p)
        return hosted_call_of(t, v);
    if (!p.id.p)
        p.id = t->l->id(t->l->arg, t->l->a, "call_");
    if (!p.text.p)
        p.text = UPP_STR("");
    int r = wb_arena_check(t->l->a, t->err);
    if (r >= 0)
        r = wd_parts_add(&t->parts, &p, t->err);
    return r < 0 || !output.p ? r : result_of(t, errors, jsons, &p, output);
}

/* Appends the calls to the message before them. */
static int join(struct lifting *t, struct wm_doc_entry *e)
{
    struct upp_message *m = &e->e.message;
    struct upp_part *parts = wb_new_n(t->l->a, struct upp_part, m->n_parts + t->parts.list.n);
    if (!parts)
        return wb_arena_check(t->l->a, t->err);
    memcpy(parts, m->parts, m->n_parts * sizeof *parts);
    memcpy(parts + m->n_parts, t->parts.list.p, t->parts.list.n * sizeof *parts);
    m->parts = parts;
    m->n_parts += t->parts.list.n;
    t->parts.list.n = 0;
    return 0;
}

static int put_calls(struct lifting *t, yyjson_val *v, uint32_t agent)
{
    struct wm_doc *doc = t->l->doc;
    if (t->joinable != SIZE_MAX && t->joinable + 1 == doc->entries.n && doc->entries.p[t->joinable].agent == agent)
        return join(t, &doc->entries.p[t->joinable]);
    struct wm_doc_entry *e = add_entry(t, v, UPP_ROLE_ASSISTANT, agent);
    if (!e)
        return failed(t);
    e->said.model = wj_text_at(t->run, "model");
    return wd_parts_finish(t->l->a, &t->parts, &e->e.message, t->err);
}

static int lift_step(struct lifting *t, yyjson_val *v)
{
    yyjson_val *calls = yyjson_obj_get(yyjson_obj_get(v, "step_details"), "tool_calls"), *call;
    struct naming errors = naming_of(yyjson_obj_get(weft_of(v), "errors"));
    struct naming jsons = naming_of(yyjson_obj_get(weft_of(v), "json"));
    size_t i, n;
    int r = 0;
    yyjson_arr_foreach(calls, i, n, call)
    {
        r = call_of(t, &errors, &jsons, call);
        if (r < 0)
            return r;
    }
    if (!t->parts.list.n)
        return 0;
    uint32_t agent;
    r = agent_of(t, v, &agent);
    if (r >= 0)
        r = turn_of(t, agent, wj_text_at(v, "run_id"));
    if (r >= 0)
        r = put_calls(t, v, agent);
    if (r < 0)
        return r;
    size_t at = t->l->doc->entries.n - 1;
    t->joinable = SIZE_MAX;
    if (t->results.list.n) {
        struct wm_doc_entry *e = add_entry(t, v, UPP_ROLE_TOOL, agent);
        r = e ? wd_parts_finish(t->l->a, &t->results, &e->e.message, t->err) : failed(t);
    }
    t->steps.anchored = true;
    return r < 0 ? r : wd_anchor(t->l, v, "step", at, t->l->doc->entries.n - at, t->err);
}

/* ---- Merging both lists ------------------------------------------------------------------------------------------ */

static bool is_calls(yyjson_val *step)
{
    return yyjson_is_arr(yyjson_obj_get(yyjson_obj_get(step, "step_details"), "tool_calls"));
}

static size_t created_by(const struct lifting *t, yyjson_val *step)
{
    yyjson_val *made = yyjson_obj_get(yyjson_obj_get(step, "step_details"), "message_creation");
    return find(&t->messages, wj_text_at(made, "message_id"), 0);
}

/* How many messages come before the step: at least `from`, at most `to`. */
static size_t position_of(const struct lifting *t, yyjson_val *step, size_t from, size_t to)
{
    yyjson_val *after = yyjson_obj_get(weft_of(step), "after");
    if (after && yyjson_is_null(after))
        return from;
    size_t at = after && yyjson_is_str(after) ? find(&t->messages, wj_text(after), from ? from - 1 : 0) : SIZE_MAX;
    if (at != SIZE_MAX)
        return WB_MAX(from, at + 1);
    uint64_t time = wd_number_at(step, "created_at");
    for (at = from; at < to && wd_number_at(t->messages.list.p[at], "created_at") <= time; at++)
        ;
    return at;
}

static int messages_until(struct lifting *t, size_t *at, size_t end)
{
    int r = 0;
    for (; r >= 0 && *at < end; ++*at) {
        t->parts.list.n = 0;
        r = lift_message(t, t->messages.list.p[*at]);
    }
    return r;
}

static int sequence(struct lifting *t)
{
    size_t n = t->steps.list.n, at = 0;
    size_t *next = wb_new_n(t->l->a, size_t, n + 1); /* next[i]: the first message created by step i or a later one */
    int r = 0;
    if (!next)
        return wb_arena_check(t->l->a, t->err);
    next[n] = t->messages.list.n;
    for (size_t i = n; i-- > 0;) {
        size_t made = created_by(t, t->steps.list.p[i]);
        next[i] = made != SIZE_MAX && made < next[i + 1] ? made : next[i + 1];
    }
    for (size_t i = 0; r >= 0 && i < n; i++) {
        yyjson_val *step = t->steps.list.p[i];
        size_t made = created_by(t, step);
        if (made != SIZE_MAX)
            r = messages_until(t, &at, made + 1);
        if (r < 0 || !is_calls(step))
            continue;
        r = messages_until(t, &at, position_of(t, step, at, next[i + 1]));
        t->parts.list.n = t->results.list.n = 0;
        if (r >= 0)
            r = lift_step(t, step);
    }
    return r < 0 ? r : messages_until(t, &at, t->messages.list.n);
}

/* ---- The document ------------------------------------------------------------------------------------------------ */

static int anchor_form(struct lifting *t, const struct items *in, enum wd_asst_which which)
{
    bool page = in->of.of != in->of.list;
    enum wd_asst_form form = page                  ? in->of.newest_first ? WD_ASST_PAGE_BACK : WD_ASST_PAGE
                             : in->of.newest_first ? WD_ASST_BACK
                                                   : WD_ASST_SIMPLE;
    if (!in->anchored || (form == WD_ASST_SIMPLE && which != WD_ASST_ROOT))
        return 0;
    return wd_anchor(t->l, in->of.of, wd_asst_slots[which][form], 0, t->l->doc->entries.n, t->err);
}

static int lift_thread(struct lifting *t, yyjson_val *root)
{
    struct wm_doc *doc = t->l->doc;
    yyjson_val *metadata = yyjson_obj_get(root, "metadata");
    uint64_t created = wd_number_at(root, "created_at");
    char text[WB_TIME_TEXT];
    if (wj_text_at(root, "id").p)
        doc->id = wj_text_at(root, "id");
    if (created && created < (uint64_t)1 << 37) {
        struct wb_time time = wb_time_from_ms((int64_t)created * 1000);
        doc->created = wb_arena_dup(t->l->a, wb_time_upp(&time, text));
    }
    int r = yyjson_is_obj(metadata) ? wj_value_text(t->l->a, metadata, &doc->metadata, t->err) : 0;
    if (r >= 0)
        r = gather(t, &t->runs, wd_last_at(root, "runs"));
    if (r >= 0)
        r = gather(t, &t->steps, wd_last_at(root, "steps"));
    if (r >= 0)
        r = sequence(t);
    if (r >= 0)
        r = anchor_form(t, &t->messages, WD_ASST_MESSAGES);
    if (r >= 0)
        r = anchor_form(t, &t->runs, WD_ASST_RUNS);
    if (r >= 0)
        r = anchor_form(t, &t->steps, WD_ASST_STEPS);
    return r < 0 ? r : wd_anchor(t->l, root, "thread", WD_THREAD, 0, t->err);
}

static int lift(struct lifting *t, yyjson_val *root)
{
    yyjson_val *messages = wd_asst_messages(root);
    bool thread = wb_str_eq(wj_text_at(root, "object"), UPP_STR("thread"));
    int r = gather(t, &t->messages, messages);
    if (r < 0)
        return r;
    if (thread)
        return lift_thread(t, root);
    if (!t->messages.of.list)
        return upp_fail(t->err, UPP_EINVALID, "expected a thread, or a list of its messages");
    r = sequence(t);
    if (r >= 0 && !t->messages.anchored)
        return upp_fail(t->err, UPP_EINVALID, "a list without a message");
    return r < 0 ? r : anchor_form(t, &t->messages, WD_ASST_ROOT);
}

static int lift_any(struct wd_lifting *l, yyjson_val *root, bool in_order, struct upp_err *err)
{
    struct upp_err why = {0};
    struct lifting t = {.l = l, .err = &why, .joinable = SIZE_MAX, .in_order = in_order};
    int r = lift(&t, root);
    wb_vec_done(&t.parts.list);
    wb_vec_done(&t.results.list);
    wb_vec_done(&t.messages.list);
    wb_vec_done(&t.runs.list);
    wb_vec_done(&t.steps.list);
    if (r < 0 && err)
        *err = why;
    return r;
}

int wd_asst_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    return lift_any(l, root, false, err);
}

int wd_asst_lift_stream(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    return lift_any(l, root, true, err);
}
