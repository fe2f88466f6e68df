/* dialects/assistants/objects.c — writes runs, messages and steps of the Assistants API, with all keys. */
#include "dialects/assistants/objects.h"

#include <stdio.h>

#include "base/defs.h"
#include "json/read.h"
#include "json/value.h"
#include "model/file_url.h"

/* ---- Helpers ----------------------------------------------------------------------------------------------------- */

void asst_put_seconds(struct wj_writer *w, const char *key, int64_t ms)
{
    wj_write_name(w, wb_cstr(key));
    if (ms)
        wj_write_i64(w, ms / 1000);
    else
        wj_write_null(w);
}

void asst_id(struct wj_writer *w, const char *prefix, struct wb_uuid id)
{
    char hex[WB_UUID_HEX + 1], out[64];
    if (wb_uuid_is_nil(id)) {
        wj_write_null(w);
        return;
    }
    (void)wb_uuid_hex(id, hex);
    int n = snprintf(out, sizeof out, "%s%s", prefix, hex);
    wj_write_str(w, wb_str(out, (size_t)n));
}

void asst_put_id(struct wj_writer *w, const char *key, const char *prefix, struct wb_uuid id)
{
    wj_write_name(w, wb_cstr(key));
    asst_id(w, prefix, id);
}

static yyjson_val *member(yyjson_val *obj, const char *key)
{
    yyjson_val *v = obj ? yyjson_obj_get(obj, key) : NULL;
    return v && yyjson_is_null(v) ? NULL : v;
}

/* A member of a stored JSON object, unchanged; `otherwise` if it has none. */
static void stored(struct wj_writer *w, const char *key, yyjson_val *obj, const char *otherwise)
{
    yyjson_val *v = member(obj, key);
    wj_write_name(w, wb_cstr(key));
    if (v)
        wj_write_value(w, v);
    else
        wj_write_raw(w, otherwise, strlen(otherwise));
}

int asst_stored(struct wb_arena *a, struct upp_str json, yyjson_val **ret, struct upp_err *err)
{
    *ret = NULL;
    if (!json.n)
        return 0;
    int r = wj_read(a, json, NULL, ret, err);
    if (r < 0)
        return upp_wrap(err, r, "stored JSON");
    if (!yyjson_is_obj(*ret))
        *ret = NULL;
    return 0;
}

/* `u` NULL: null. */
static void write_usage(struct wj_writer *w, const struct upp_usage *u)
{
    wj_write_name(w, UPP_STR("usage"));
    if (!u) {
        wj_write_null(w);
        return;
    }
    wj_write_open(w, '{');
    wj_put_u64(w, "prompt_tokens", u->input);
    wj_put_u64(w, "completion_tokens", u->output);
    wj_put_u64(w, "total_tokens", u->input + u->output);
    wj_write_close(w, '}');
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* How many of the pending calls are of the client's own tools. The others wait for an approval: required_action lists
 * them under a type of our own, so that no client executes a tool of the server. */
static size_t count_client_calls(const struct wm_pending *pending, size_t n)
{
    size_t own = 0;
    for (size_t i = 0; i < n; i++)
        own += !pending[i].approval;
    return own;
}

const char *asst_status(const struct wm_run *run, size_t n)
{
    switch (run->status) {
    case WM_QUEUED:
        return "queued";
    case WM_WAITING:
        return n ? "requires_action" : "in_progress";
    case WM_CANCELING:
        return "cancelling";
    case WM_COMPLETED:
        return wm_is_incomplete(run->status, run->error) ? "incomplete" : "completed";
    case WM_FAILED:
        return "failed";
    case WM_CANCELED:
        return "cancelled";
    case WM_EXPIRED:
        return "expired";
    default:
        return run->cancel ? "cancelling" : "in_progress";
    }
}

const char *asst_pending_kind(const struct wm_pending *p)
{
    return p->approval ? "approval" : "tool";
}

void asst_function_members(struct wj_writer *w, struct upp_str name, struct upp_str arguments)
{
    wj_put_str_or_empty(w, "name", name);
    wj_put_str(w, "arguments", arguments.p ? arguments : UPP_STR("{}"));
}

/* The code that a call of code_interpreter has: its member `input` or `code`, or all of its arguments. */
static void put_input(struct wj_writer *w, struct upp_str arguments)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    yyjson_val *v = NULL;
    struct upp_str text;
    if (!arguments.n || wj_read(&a, arguments, NULL, &v, NULL) < 0)
        v = NULL;
    text = wj_text_at(v, "input");
    if (!text.p)
        text = wj_text_at(v, "code");
    wj_put_str_or_empty(w, "input", text.p ? text : arguments);
}

/* A call of a tool that stands for one of the API's own (`hosted` of an agent): by its name. */
static bool hosted_members(struct wj_writer *w, const struct asst_call *c)
{
    bool search = wb_str_eq(c->name, UPP_STR("file_search"));
    if (!search && !wb_str_eq(c->name, UPP_STR("code_interpreter")))
        return false;
    wj_put_str(w, "type", c->name);
    wj_put_open(w, search ? "file_search" : "code_interpreter", '{');
    if (!search)
        put_input(w, c->arguments);
    if (search && c->json && c->output.n && c->output.p[0] == '[')
        wj_put_raw(w, "results", c->output.p, c->output.n);
    else {
        wj_put_open(w, search ? "results" : "outputs", '[');
        if (c->output.p) {
            wj_write_open(w, '{');
            if (search) {
                wj_put_str(w, "file_id", UPP_STR(""));
                wj_put_str(w, "file_name", UPP_STR(""));
                wj_put_u64(w, "score", 1);
                wj_put_open(w, "content", '[');
                wj_write_open(w, '{');
            }
            wj_put_str(w, "type", search ? UPP_STR("text") : UPP_STR("logs"));
            wj_put_str(w, search ? "text" : "logs", c->output);
            wj_write_close(w, '}');
            if (search) {
                wj_write_close(w, ']');
                wj_write_close(w, '}');
            }
        }
        wj_write_close(w, ']');
    }
    wj_write_close(w, '}');
    return true;
}

void asst_call_members(struct wj_writer *w, const struct asst_call *c, bool output)
{
    wj_put_str_or_empty(w, "id", c->id);
    if (output && hosted_members(w, c))
        return;
    wj_put_str(w, "type", UPP_STR("function"));
    wj_put_open(w, "function", '{');
    asst_function_members(w, c->name, c->arguments);
    if (output)
        wj_put_str(w, "output", c->output);
    wj_write_close(w, '}');
}

/* The client's own calls, whose outputs it submits. */
static void client_calls(struct wj_writer *w, const struct wm_pending *pending, size_t n)
{
    wj_put_open(w, "submit_tool_outputs", '{');
    wj_put_open(w, "tool_calls", '[');
    for (size_t i = 0; i < n; i++) {
        struct asst_call c = {.id = pending[i].call, .name = pending[i].name, .arguments = pending[i].arguments};
        if (pending[i].approval)
            continue;
        wj_write_open(w, '{');
        asst_call_members(w, &c, false);
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

/* Calls of the server's tools that somebody has to approve. */
static void approval_calls(struct wj_writer *w, const struct wm_pending *pending, size_t n)
{
    wj_put_open(w, "approval", '{');
    wj_put_open(w, "calls", '[');
    for (size_t i = 0; i < n; i++) {
        if (!pending[i].approval)
            continue;
        wj_write_open(w, '{');
        wj_put_str_or_empty(w, "id", pending[i].call);
        asst_function_members(w, pending[i].name, pending[i].arguments);
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

/* With calls of both kinds the type is that of the client's own, and the approvals are beside them: a client that knows
 * nothing of approvals does its part, and both kinds are answered in any order. */
static void required_action(struct wj_writer *w, const struct wm_run *run, const struct wm_pending *pending, size_t n)
{
    size_t own = count_client_calls(pending, n);
    wj_write_name(w, UPP_STR("required_action"));
    if (run->status != WM_WAITING || !n) {
        wj_write_null(w);
        return;
    }
    wj_write_open(w, '{');
    wj_put_str(w, "type", wb_cstr(own ? "submit_tool_outputs" : "approval"));
    if (own)
        client_calls(w, pending, n);
    if (own < n)
        approval_calls(w, pending, n);
    wj_write_close(w, '}');
}

static void last_error(struct wj_writer *w, const char *code, struct upp_str message)
{
    wj_put_open(w, "last_error", '{');
    wj_put_str(w, "code", wb_cstr(code));
    wj_put_str(w, "message", message);
    wj_write_close(w, '}');
}

static void run_error(struct wj_writer *w, yyjson_val *error)
{
    yyjson_val *code = member(error, "code"), *message = member(error, "message");
    bool rate = code && yyjson_is_str(code) && wb_str_eq(wj_text(code), UPP_STR("RATE_LIMITED"));
    if (!error)
        wj_put_null(w, "last_error");
    else
        last_error(w, rate ? "rate_limit_exceeded" : "server_error",
                   message && yyjson_is_str(message) ? wj_text(message) : UPP_STR("the run failed"));
}

int asst_run_write(struct wj_writer *w, struct wb_arena *a, const struct wm_run *run, const struct wm_pending *pending,
                   size_t n, struct upp_err *err)
{
    yyjson_val *options, *error;
    int r = asst_stored(a, run->options, &options, err);
    if (r >= 0)
        r = asst_stored(a, run->error, &error, err);
    if (r < 0)
        return r;
    wj_write_open(w, '{');
    asst_put_id(w, "id", "run_", run->id);
    wj_put_str(w, "object", UPP_STR("thread.run"));
    asst_put_seconds(w, "created_at", run->created_ms);
    wj_put_str(w, "assistant_id", run->agent);
    asst_put_id(w, "thread_id", "thread_", run->thread);
    wj_put_str(w, "status", wb_cstr(asst_status(run, n)));
    asst_put_seconds(w, "started_at", run->started_ms);
    asst_put_seconds(w, "expires_at", run->status == WM_WAITING ? run->expires_ms : 0);
    asst_put_seconds(w, "cancelled_at", run->status == WM_CANCELED ? run->ended_ms : 0);
    asst_put_seconds(w, "failed_at", run->status == WM_FAILED ? run->ended_ms : 0);
    asst_put_seconds(w, "completed_at", run->status == WM_COMPLETED ? run->ended_ms : 0);
    required_action(w, run, pending, n);
    run_error(w, run->status == WM_FAILED ? error : NULL);
    wj_write_name(w, UPP_STR("incomplete_details"));
    if (error && run->status == WM_COMPLETED)
        wj_write_value(w, error);
    else
        wj_write_null(w);
    stored(w, "model", options, "null");
    stored(w, "instructions", options, "\"\"");
    stored(w, "tools", options, "[]");
    stored(w, "metadata", options, "{}");
    write_usage(w, wm_status_ended(run->status) ? &run->usage : NULL);
    stored(w, "temperature", options, "null");
    stored(w, "top_p", options, "null");
    stored(w, "max_prompt_tokens", options, "null");
    stored(w, "max_completion_tokens", options, "null");
    stored(w, "truncation_strategy", options, "{\"type\":\"auto\",\"last_messages\":null}");
    stored(w, "response_format", options, "\"auto\"");
    stored(w, "tool_choice", options, "\"auto\"");
    stored(w, "parallel_tool_calls", options, "true");
    wj_write_close(w, '}');
    return 0;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

bool asst_part_is_shown(uint8_t kind, const struct upp_media *media)
{
    return kind == UPP_PART_TEXT || (kind == UPP_PART_IMAGE && media && media->source == UPP_SOURCE_URL);
}

bool asst_is_visible(const struct wm_entry *e)
{
    return e->kind == WM_ENTRY_MESSAGE && e->audience == WM_AUDIENCE_ALL && !wm_is_erased(e) && !wm_is_prompt(e) &&
           (e->message.role == UPP_ROLE_USER ||
            (e->message.role == UPP_ROLE_ASSISTANT && upp_part_next(&e->message, NULL, ASST_SHOWN)));
}

/* The metadata of a part or NULL; in the arena. */
static yyjson_val *metadata_of(struct wb_arena *a, const struct upp_part *p, const char *whose)
{
    yyjson_val *v = NULL;
    if (!p->metadata.n || wj_read(a, p->metadata, NULL, &v, NULL) < 0)
        return NULL;
    return yyjson_obj_get(v, whose);
}

static void image_members(struct wj_writer *w, const struct upp_part *p)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_str id;
    bool file = wm_part_file(p, &id);
    wj_put_str(w, "type", wb_cstr(file ? "image_file" : "image_url"));
    wj_put_open(w, file ? "image_file" : "image_url", '{');
    wj_put_str(w, file ? "file_id" : "url", file ? id : p->media->data);
    wj_put_text(w, "detail", wj_text_at(metadata_of(&a, p, "openai"), "detail"));
    wj_write_close(w, '}');
}

void asst_part_members(struct wj_writer *w, const struct upp_part *p)
{
    if (p->kind == UPP_PART_IMAGE) {
        image_members(w, p);
        return;
    }
    wj_put_str(w, "type", UPP_STR("text"));
    wj_put_open(w, "text", '{');
    wj_put_str_or_empty(w, "value", p->text);
    wj_put_open(w, "annotations", '[');
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

const char *asst_why_incomplete(uint8_t status)
{
    switch (status) {
    case WM_CANCELED:
    case WM_COMPLETED: /* what a run leaves behind and goes on without */
        return "run_cancelled";
    case WM_EXPIRED:
        return "run_expired";
    default:
        return "run_failed";
    }
}

/* Documents that are files of the store, as they were attached. */
static void attachments(struct wj_writer *w, const struct upp_message *m)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_str id;
    wj_put_open(w, "attachments", '[');
    for (const struct upp_part *p = NULL; m && (p = upp_part_next(m, p, 1 << UPP_PART_DOCUMENT));) {
        if (!wm_part_file(p, &id))
            continue;
        wj_write_open(w, '{');
        wj_put_str(w, "file_id", id);
        wj_put_value(w, "tools", yyjson_obj_get(metadata_of(&a, p, "assistants"), "tools"));
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

static void content(struct wj_writer *w, const struct upp_message *m)
{
    wj_put_open(w, "content", '[');
    for (const struct upp_part *p = NULL; m && (p = upp_part_next(m, p, ASST_SHOWN));)
        if (asst_part_is_shown(p->kind, p->media)) {
            wj_write_open(w, '{');
            asst_part_members(w, p);
            wj_write_close(w, '}');
        }
    wj_write_close(w, ']');
}

void asst_message_write(struct wj_writer *w, const struct asst_message *m)
{
    wj_write_open(w, '{');
    asst_put_id(w, "id", "msg_", m->id);
    wj_put_str(w, "object", UPP_STR("thread.message"));
    asst_put_seconds(w, "created_at", m->created_ms);
    asst_put_id(w, "thread_id", "thread_", m->thread);
    wj_put_str(w, "role", wb_cstr(m->from_assistant ? "assistant" : "user"));
    wj_put_str(w, "status", wb_cstr(m->status));
    wj_write_name(w, UPP_STR("incomplete_details"));
    if (m->reason) {
        wj_write_open(w, '{');
        wj_put_str(w, "reason", wb_cstr(m->reason));
        wj_write_close(w, '}');
    } else
        wj_write_null(w);
    asst_put_seconds(w, "completed_at", m->completed_ms);
    asst_put_seconds(w, "incomplete_at", m->incomplete_ms);
    content(w, m->content);
    wj_put_str(w, "assistant_id", m->from_assistant && m->assistant.n ? m->assistant : (struct upp_str){NULL, 0});
    asst_put_id(w, "run_id", "run_", m->run);
    attachments(w, m->content);
    wj_write_name(w, UPP_STR("metadata"));
    if (m->metadata)
        wj_write_value(w, m->metadata);
    else
        wj_write_raw(w, "{}", 2);
    wj_write_close(w, '}');
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static void step_details(struct wj_writer *w, const struct asst_step *s)
{
    bool calls = wb_uuid_is_nil(s->message);
    wj_put_open(w, "step_details", '{');
    wj_put_str(w, "type", wb_cstr(calls ? "tool_calls" : "message_creation"));
    if (calls) {
        wj_put_open(w, "tool_calls", '[');
        for (size_t i = 0; i < s->n_calls; i++) {
            wj_write_open(w, '{');
            asst_call_members(w, &s->calls[i], true);
            wj_write_close(w, '}');
        }
        wj_write_close(w, ']');
    } else {
        wj_put_open(w, "message_creation", '{');
        asst_put_id(w, "message_id", "msg_", s->message);
        wj_write_close(w, '}');
    }
    wj_write_close(w, '}');
}

static void named_calls(struct wj_writer *w, const struct asst_step *s, const char *key, bool errors)
{
    bool any = false;
    for (size_t i = 0; i < s->n_calls; i++) {
        const struct asst_call *c = &s->calls[i];
        if (!c->output.p || !(errors ? c->is_error : c->json))
            continue;
        if (!any)
            wj_put_open(w, key, '[');
        any = true;
        wj_write_str(w, c->id);
    }
    if (any)
        wj_write_close(w, ']');
}

/* Outputs are strings: the metadata lists which of them are errors, and which are the JSON of other values. */
static void step_metadata(struct wj_writer *w, const struct asst_step *s)
{
    bool any = false;
    for (size_t i = 0; i < s->n_calls; i++)
        any |= s->calls[i].output.p && (s->calls[i].is_error || s->calls[i].json);
    wj_put_open(w, "metadata", '{');
    if (any) {
        wj_put_open(w, "weft", '{');
        named_calls(w, s, "errors", true);
        named_calls(w, s, "json", false);
        wj_write_close(w, '}');
    }
    wj_write_close(w, '}');
}

static void ended(struct wj_writer *w, const struct asst_step *s, const char *key, const char *status)
{
    asst_put_seconds(w, key, wb_str_eq(wb_cstr(s->status), wb_cstr(status)) ? s->ended_ms : 0);
}

void asst_step_write(struct wj_writer *w, const struct asst_step *s)
{
    wj_write_open(w, '{');
    asst_put_id(w, "id", "step_", s->id);
    wj_put_str(w, "object", UPP_STR("thread.run.step"));
    asst_put_seconds(w, "created_at", s->created_ms);
    asst_put_id(w, "run_id", "run_", s->run);
    wj_put_str(w, "assistant_id", s->assistant);
    asst_put_id(w, "thread_id", "thread_", s->thread);
    wj_put_str(w, "type", wb_cstr(wb_uuid_is_nil(s->message) ? "tool_calls" : "message_creation"));
    wj_put_str(w, "status", wb_cstr(s->status));
    ended(w, s, "cancelled_at", "cancelled");
    ended(w, s, "completed_at", "completed");
    ended(w, s, "expired_at", "expired");
    ended(w, s, "failed_at", "failed");
    if (s->error)
        last_error(w, "server_error", wb_cstr(s->error));
    else
        wj_put_null(w, "last_error");
    step_details(w, s);
    step_metadata(w, s);
    write_usage(w, s->usage);
    wj_write_close(w, '}');
}
