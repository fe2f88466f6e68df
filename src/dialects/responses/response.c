/* dialects/responses/response.c — writes the items of a response, and the response object. */
#include "dialects/responses/response.h"

#include <inttypes.h>
#include <stdio.h>
#include <upp/model.h>

#include "dialects/core/failure.h"
#include "dialects/core/usage.h"
#include "json/read.h"
#include "json/value.h"

/* "resp_" + the run, and "_2" for its second segment. */
static struct upp_str response_id(const struct resp_stream *s, char out[64])
{
    char hex[WB_UUID_HEX + 1];
    (void)wb_uuid_hex(s->run, hex);
    int n = snprintf(out, 64, "resp_%s", hex);
    if (s->segment)
        n += snprintf(out + n, 64 - (size_t)n, "_%" PRIu32, s->segment + 1);
    return wb_str(out, (size_t)n);
}

void resp_put_id(struct wj_writer *w, const char *name, const char *prefix, struct wb_uuid id)
{
    char hex[WB_UUID_HEX + 1], text[64];
    (void)wb_uuid_hex(id, hex);
    int n = snprintf(text, sizeof text, "%s%s", prefix, hex);
    wj_put_str(w, name, wb_str(text, (size_t)n));
}

void resp_put_call_id(struct wj_writer *w, const char *name, const char *prefix, struct upp_str call)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 20);
    wb_buf_add(&text, wb_cstr(prefix));
    wb_buf_add(&text, call);
    if (text.failed)
        wj_writer_fail(w, wb_buf_check(&text, w->err));
    wj_put_str(w, name, wb_buf_str(&text));
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */

void resp_text_part(struct wj_writer *w, struct upp_str text)
{
    wj_write_open(w, '{');
    wj_put_str(w, "type", UPP_STR("output_text"));
    wj_put_str_or_empty(w, "text", text);
    wj_put_raw(w, "annotations", "[]", 2);
    wj_put_raw(w, "logprobs", "[]", 2);
    wj_write_close(w, '}');
}

void resp_message_item(struct wj_writer *w, struct wb_uuid id, const struct upp_message *m, const char *status)
{
    wj_write_open(w, '{');
    resp_put_id(w, "id", "msg_", id);
    wj_put_str(w, "type", UPP_STR("message"));
    wj_put_str(w, "status", wb_cstr(status));
    wj_put_open(w, "content", '[');
    for (const struct upp_part *p = NULL; m && (p = upp_part_next(m, p, 1 << UPP_PART_TEXT));)
        resp_text_part(w, p->text);
    wj_write_close(w, ']');
    wj_put_str(w, "role", UPP_STR("assistant"));
    wj_write_close(w, '}');
}

void resp_reasoning_item(struct wj_writer *w, struct wb_uuid id, struct upp_str text)
{
    wj_write_open(w, '{');
    resp_put_id(w, "id", "rs_", id);
    wj_put_str(w, "type", UPP_STR("reasoning"));
    wj_put_open(w, "summary", '[');
    if (text.n) {
        wj_write_open(w, '{');
        wj_put_str(w, "type", UPP_STR("summary_text"));
        wj_put_str(w, "text", text);
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

/* The members of a function_call after its id. */
static void put_function(struct wj_writer *w, const char *status, struct upp_str call, struct upp_str name,
                         struct upp_str arguments)
{
    wj_put_str(w, "type", UPP_STR("function_call"));
    wj_put_str(w, "status", wb_cstr(status));
    wj_put_str_or_empty(w, "arguments", arguments);
    wj_put_str(w, "call_id", call);
    wj_put_str(w, "name", name);
}

void resp_function_item(struct wj_writer *w, const struct wm_pending *p, bool begins)
{
    struct upp_str arguments = p->arguments.n ? p->arguments : UPP_STR("{}");
    wj_write_open(w, '{');
    resp_put_call_id(w, "id", "fc_", p->call);
    put_function(w, begins ? "in_progress" : "completed", p->call, p->name,
                 begins ? (struct upp_str){NULL, 0} : arguments); /* they follow */
    wj_write_close(w, '}');
}

void resp_call_item(struct wj_writer *w, struct wb_uuid id, const struct upp_part *p)
{
    const char *status = p->cut ? "incomplete" : "completed";
    wj_write_open(w, '{');
    resp_put_id(w, "id", p->kind == UPP_PART_CALL ? "fc_" : "fco_", id);
    if (p->kind == UPP_PART_CALL)
        put_function(w, status, p->id, p->name, p->text);
    else {
        wj_put_str(w, "type", UPP_STR("function_call_output"));
        wj_put_str(w, "status", wb_cstr(status));
        wj_put_str(w, "call_id", p->id);
        wj_put_str(w, "output", p->text);
    }
    wj_write_close(w, '}');
}

void resp_approval_item(struct wj_writer *w, const struct wm_pending *p)
{
    wj_write_open(w, '{');
    resp_put_call_id(w, "id", "mcpr_", p->call);
    wj_put_str(w, "type", UPP_STR("mcp_approval_request"));
    wj_put_str(w, "arguments", p->arguments.n ? p->arguments : UPP_STR("{}"));
    wj_put_str(w, "name", p->name);
    wj_put_str(w, "server_label", UPP_STR("weft"));
    wj_write_close(w, '}');
}

void resp_tool_item(struct wj_writer *w, const struct resp_call *c, const struct wm_event *ended)
{
    bool good = ended && ended->tool_ended.outcome == WM_DONE;
    wj_write_open(w, '{');
    resp_put_call_id(w, "id", "mcp_", c->id);
    wj_put_str(w, "type", UPP_STR("mcp_call"));
    wj_put_str(w, "status", !ended ? UPP_STR("in_progress") : good ? UPP_STR("completed") : UPP_STR("failed"));
    wj_put_null(w, "approval_request_id");
    wj_put_str(w, "arguments", c->arguments.n ? c->arguments : UPP_STR("{}"));
    wj_put_str(w, "error", ended && !good ? ended->tool_ended.result : (struct upp_str){NULL, 0});
    wj_put_str(w, "name", c->name);
    wj_put_str(w, "output", good ? ended->tool_ended.result : (struct upp_str){NULL, 0});
    wj_put_str(w, "server_label", UPP_STR("weft"));
    wj_write_close(w, '}');
}

void resp_keep(struct resp_stream *s, struct wd_out *o, struct upp_str json)
{
    if (s->items.n)
        wb_buf_add(&s->items, UPP_STR(","));
    wb_buf_add(&s->items, json);
    if (s->items.failed)
        wj_writer_fail(&o->w, wb_buf_check(&s->items, o->w.err));
}

/* ---- The response ------------------------------------------------------------------------------------------------ */

static void put_error(struct resp_stream *s, struct wj_writer *w)
{
    struct wd_failure f;
    if (s->status != WM_FAILED && s->status != WM_EXPIRED) {
        wj_put_null(w, "error");
        return;
    }
    wd_failure_read(&s->scratch, s->status, wb_buf_str(&s->error), &f);
    wj_put_open(w, "error", '{');
    wj_put_str(w, "code", f.refused ? f.code : UPP_STR("server_error")); /* clients know few codes */
    wj_put_str(w, "message", f.message);
    wj_write_close(w, '}');
}

static void put_incomplete(const struct resp_stream *s, struct wj_writer *w, const char *status)
{
    if (!wb_str_eq(wb_cstr(status), UPP_STR("incomplete"))) {
        wj_put_null(w, "incomplete_details");
        return;
    }
    wj_put_open(w, "incomplete_details", '{');
    wj_put_str(w, "reason", s->stop == UPP_STOP_FILTER ? UPP_STR("content_filter") : UPP_STR("max_output_tokens"));
    wj_write_close(w, '}');
}

static void put_usage(const struct resp_stream *s, struct wj_writer *w)
{
    static const struct wd_usage_member members[] = {
        {.name = "input_tokens", .at = WD_USAGE_OF(input)},
        {.name = "cached_tokens", .at = WD_USAGE_OF(cache_read), .within = "input_tokens_details"},
        {.name = "output_tokens", .at = WD_USAGE_OF(output)},
        {.name = "reasoning_tokens", .at = WD_USAGE_OF(reasoning), .within = "output_tokens_details"},
        {.name = "total_tokens", .at = WD_USAGE_TOTAL},
        {0},
    };
    wj_write_name(w, UPP_STR("usage"));
    wd_usage_write(w, members, &s->usage);
}

static void put_option(struct wj_writer *w, const char *name, yyjson_val *options, const char *of, const char *other)
{
    yyjson_val *v = yyjson_obj_get(options, of);
    if (v)
        wj_put_value(w, name, v);
    else
        wj_put_raw(w, name, other, strlen(other));
}

/* {"type":"function","function":{...}} of a run's options, without the inner object. */
static void put_tools(struct wj_writer *w, yyjson_val *options)
{
    yyjson_val *tool, *tools = yyjson_obj_get(options, "tools");
    size_t i, max;
    wj_put_open(w, "tools", '[');
    yyjson_arr_foreach(tools, i, max, tool)
    {
        yyjson_val *f = yyjson_obj_get(tool, "function");
        wj_write_open(w, '{');
        wj_put_str(w, "type", UPP_STR("function"));
        put_option(w, "name", f, "name", "\"\"");
        put_option(w, "description", f, "description", "null");
        put_option(w, "parameters", f, "parameters", "null");
        put_option(w, "strict", f, "strict", "false");
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

static void put_format(struct wj_writer *w, yyjson_val *options)
{
    yyjson_val *format = yyjson_obj_get(options, "response_format"), *schema = yyjson_obj_get(format, "json_schema");
    wj_put_open(w, "text", '{');
    wj_put_open(w, "format", '{');
    wj_put_str(w, "type", wj_text_at(format, "type").p ? wj_text_at(format, "type") : UPP_STR("text"));
    if (schema) {
        put_option(w, "name", schema, "name", "\"\"");
        put_option(w, "schema", schema, "schema", "{}");
        put_option(w, "strict", schema, "strict", "false");
    }
    wj_write_close(w, '}');
    wj_write_close(w, '}');
}

static void put_options(struct resp_stream *s, struct wj_writer *w, yyjson_val *v)
{
    put_option(w, "instructions", v, "additional_instructions", "null");
    put_option(w, "max_output_tokens", v, "max_completion_tokens", "null");
    put_option(w, "metadata", v, "metadata", "{}");
    put_option(w, "parallel_tool_calls", v, "parallel_tool_calls", "true");
    if (s->segment) {
        char id[64];
        struct resp_stream before = {.run = s->run, .segment = s->segment - 1};
        wj_put_str(w, "previous_response_id", response_id(&before, id));
    } else
        put_option(w, "previous_response_id", v, "weft_previous", "null");
    wj_put_open(w, "reasoning", '{');
    put_option(w, "effort", v, "reasoning_effort", "null");
    wj_put_null(w, "summary");
    wj_write_close(w, '}');
    put_option(w, "temperature", v, "temperature", "null");
    put_format(w, v);
    put_option(w, "tool_choice", v, "tool_choice", "\"auto\"");
    put_tools(w, v);
    put_option(w, "top_p", v, "top_p", "null");
}

void resp_write(struct resp_stream *s, struct wj_writer *w, const char *status)
{
    char id[64];
    yyjson_val *v = NULL;
    if (s->options.n && wj_read(&s->scratch, s->options, NULL, &v, NULL) < 0)
        v = NULL;
    struct upp_str asked = wj_text_at(v, WD_OPTION_ASKED);
    wj_write_open(w, '{');
    wj_put_str(w, "id", response_id(s, id));
    wj_put_str(w, "object", UPP_STR("response"));
    wj_put_i64(w, "created_at", s->created_ms / 1000);
    wj_put_str(w, "status", wb_cstr(status));
    wj_put_bool(w, "background", yyjson_is_true(yyjson_obj_get(v, WD_OPTION_BACKGROUND)));
    wj_put_open(w, "conversation", '{');
    resp_put_id(w, "id", "conv_", s->thread);
    wj_write_close(w, '}');
    put_error(s, w);
    put_incomplete(s, w, status);
    wj_put_str(w, "model", asked.n ? asked : wb_buf_str(&s->agent));
    wj_put_open(w, "output", '[');
    if (s->items.n)
        wj_write_raw(w, s->items.p, s->items.n);
    wj_write_close(w, ']');
    wj_put_bool(w, "store", !yyjson_is_true(yyjson_obj_get(v, RESP_OPTION_UNSTORED)));
    wj_put_str(w, "truncation", UPP_STR("disabled"));
    put_options(s, w, v);
    if (wb_str_eq(wb_cstr(status), UPP_STR("in_progress")) || wb_str_eq(wb_cstr(status), UPP_STR("queued")))
        wj_put_null(w, "usage");
    else
        put_usage(s, w);
    wj_put_null(w, "user");
    wj_write_close(w, '}');
    if (wb_arena_check(&s->scratch, w->err) < 0)
        wj_writer_fail(w, -UPP_ENOMEM);
    wb_arena_reset(&s->scratch);
}

int resp_write_unfinished(struct wj_writer *w, const struct wm_run *run, uint32_t segment, struct upp_err *err)
{
    struct resp_stream s = {.run = run->id,
                            .thread = run->thread,
                            .segment = segment,
                            .status = run->status,
                            .created_ms = run->created_ms,
                            .options = run->options,
                            .agent = WB_BUF(1 << 16),
                            .scratch = WB_ARENA(512u << 20)};
    wb_buf_add(&s.agent, run->agent);
    int r = wb_buf_check(&s.agent, err);
    if (r >= 0)
        resp_write(&s, w, run->status == WM_QUEUED ? "queued" : "in_progress");
    wb_buf_done(&s.agent);
    wb_arena_done(&s.scratch);
    return r;
}
