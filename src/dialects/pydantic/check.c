/* dialects/pydantic/check.c — what Pydantic AI refuses or drops when it loads a list of messages.
 *
 * An error is what both 2.33, whose form we write, and 2.66 refuse. Warnings are what only one of them accepts, what is
 * dropped, and what is generated if missing (so that two loads differ).
 */
#include "dialects/pydantic/pydantic.h"

#include "base/base64.h"
#include "dialects/pydantic/shape.h"
#include "json/number.h"

/* ---- Parts --------------------------------------------------------------------------------------------- */

/* ---- Content of prompts ---------------------------------------------------------------------------------------- */

static void download(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    if (!wd_pydantic_bool(v) && !pyd_is_text(v, UPP_STR("allow-local")))
        pyd_wrong(c, v, row, "true, false or 'allow-local'");
}

static void bytes(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WD_DOC_BYTES);
    struct upp_err err;
    int r = yyjson_is_str(v) ? wb_base64_decode(wj_text(v), &out, &err) : 0;
    if (!yyjson_is_str(v))
        pyd_wrong(c, v, row, "base64");
    else if (r == -UPP_EINVALID)
        wd_problem(c->p, WD_ERROR, c->rule, v, "%s", err.msg);
    else if (r < 0)
        c->p->failed = r;
}

static const char *const lifetimes[] = {"5m", "1h", NULL};
static const char *const uploaders[] = {"anthropic", "openai", "google", "google-cloud", "google-gla", "google-vertex",
                                        "bedrock",   "xai",    NULL};
static const char *const binary_kind[] = {"binary", NULL};

static const struct pyd_row url_rows[] = {
    PYD_OF("url", PYD_NEEDED, pyd_text),
    PYD_OF("force_download", 0, download),
    PYD_OF("vendor_metadata", PYD_OR_NULL, pyd_object),
    PYD_ANY("kind", 0),
    PYD_OF("media_type", PYD_OR_NULL, pyd_text),
    PYD_OF("identifier", PYD_OR_NULL, pyd_text),
};
static const struct pyd_row binary_rows[] = {
    PYD_OF("data", PYD_NEEDED, bytes),
    PYD_OF("media_type", PYD_NEEDED, pyd_text),
    PYD_OF("vendor_metadata", PYD_OR_NULL, pyd_object),
    PYD_ONE("kind", 0, pyd_word, binary_kind),
    PYD_OF("identifier", PYD_OR_NULL, pyd_text),
};
static const struct pyd_row text_rows[] = {PYD_OF("content", PYD_NEEDED, pyd_text), PYD_ANY("metadata", 0),
                                           PYD_ANY("kind", 0)};
static const struct pyd_row cache_rows[] = {PYD_ANY("kind", 0), PYD_ONE("ttl", 0, pyd_word, lifetimes)};
static const struct pyd_row upload_rows[] = {
    PYD_OF("file_id", PYD_NEEDED, pyd_text),
    PYD_ONE("provider_name", PYD_NEEDED, pyd_word, uploaders),
    PYD_OF("vendor_metadata", PYD_OR_NULL, pyd_object),
    PYD_ANY("kind", 0),
    PYD_OF("media_type", PYD_OR_NULL, pyd_text),
    PYD_OF("identifier", PYD_OR_NULL, pyd_text),
};
static const struct pyd_shape items[] = {
    PYD_SHAPE("image-url", PYD_REQUEST, url_rows),
    PYD_SHAPE("audio-url", PYD_REQUEST, url_rows),
    PYD_SHAPE("video-url", PYD_REQUEST, url_rows),
    PYD_SHAPE("document-url", PYD_REQUEST, url_rows),
    PYD_SHAPE("binary", PYD_REQUEST, binary_rows),
    PYD_SHAPE("text-content", PYD_REQUEST, text_rows),
    PYD_SHAPE("cache-point", PYD_REQUEST, cache_rows),
    PYD_SHAPE("uploaded-file", PYD_REQUEST, upload_rows),
    {.name = UPP_STR_INIT("structured-content"), .later = PYD_REQUEST},
};

static void check_item(struct pyd_check *c, yyjson_val *item)
{
    yyjson_val *kind = pyd_last_of(item, UPP_STR("kind"));
    const struct pyd_shape *s = pyd_shape_of(items, WB_LEN(items), kind);
    if (yyjson_is_str(item))
        return;
    if (!yyjson_is_obj(item))
        wd_problem(c->p, WD_ERROR, c->rule, item, "an item of a prompt is a text or an object");
    else if (!kind)
        wd_problem(c->p, WD_WARNING, c->rule, item, "an item without 'kind': Pydantic AI guesses one");
    else if (!s)
        pyd_unknown(c, item, "kind", kind);
    else if (s->later)
        pyd_newer(c, kind, "this kind of item");
    else
        pyd_check_object(c, item, s);
}

static void prompt(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    const char *rule = c->rule;
    size_t i, n;
    yyjson_val *item;
    if (!yyjson_is_str(v) && !yyjson_is_arr(v))
        pyd_wrong(c, v, row, "a text or a list");
    c->rule = "PAI-1.5";
    yyjson_arr_foreach(v, i, n, item)
    {
        check_item(c, item);
    }
    c->rule = rule;
}

static void binary(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    static const struct pyd_shape s = PYD_SHAPE("binary", 0, binary_rows);
    const char *rule = c->rule;
    if (!yyjson_is_obj(v)) {
        pyd_wrong(c, v, row, "binary content");
        return;
    }
    c->rule = "PAI-1.5";
    pyd_check_object(c, v, &s);
    c->rule = rule;
}

/* ---- Feedback ---------------------------------------------------------------------------------------------------- */

static void location(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    size_t i, n;
    yyjson_val *item;
    if (!yyjson_is_arr(v))
        pyd_wrong(c, v, row, "a list of texts and whole numbers");
    yyjson_arr_foreach(v, i, n, item)
    {
        if (!yyjson_is_str(item) && !wd_pydantic_int(item))
            pyd_wrong(c, item, row, "a list of texts and whole numbers");
    }
}

static void errors(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    static const struct pyd_row rows[] = {
        PYD_OF("type", PYD_NEEDED, pyd_text), PYD_OF("loc", PYD_NEEDED, location), PYD_OF("msg", PYD_NEEDED, pyd_text),
        PYD_ANY("input", PYD_NEEDED),         PYD_OF("ctx", 0, pyd_object),        PYD_OF("url", 0, pyd_text),
    };
    static const struct pyd_shape s = PYD_SHAPE("error", 0, rows);
    size_t i, n;
    yyjson_val *item;
    if (!yyjson_is_str(v) && !yyjson_is_arr(v))
        pyd_wrong(c, v, row, "a text or a list of errors");
    yyjson_arr_foreach(v, i, n, item)
    {
        if (yyjson_is_obj(item))
            pyd_check_object(c, item, &s);
        else
            pyd_wrong(c, item, row, "a list of errors");
    }
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

static const char *const outcomes[] = {"success", "failed", "denied", "interrupted", NULL};

static void outcome(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    if (pyd_is_text(v, UPP_STR("retried")))
        pyd_newer(c, v, "this outcome");
    else
        pyd_word(c, v, row);
}

static void args(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    if (!yyjson_is_str(v) && !yyjson_is_obj(v))
        pyd_wrong(c, v, row, "a text, an object or null");
}

static void tool_kind(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    if (!yyjson_is_str(v))
        pyd_wrong(c, v, row, "a text or null");
    else if (!pyd_is_text(v, UPP_STR("tool-search")) && !pyd_is_text(v, UPP_STR("capability-load")))
        pyd_newer(c, v, "this kind of tool");
}

static void speaker(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    char found[WJ_QUOTED];
    const char *who = c->where == PYD_REQUEST ? "user" : "assistant";
    if (!pyd_is_text(v, wb_cstr(who)))
        wd_problem(c->p, WD_ERROR, c->rule, v, "'%s' of a %s is '%s', not %s", row->name.p,
                   c->where == PYD_REQUEST ? "request" : "response", who, wj_found(v, found, sizeof found));
}

static const struct pyd_row system_rows[] = {PYD_OF("content", PYD_NEEDED, pyd_text),
                                             PYD_OF("timestamp", PYD_GENERATED, pyd_moment),
                                             PYD_OF("dynamic_ref", PYD_OR_NULL, pyd_text), PYD_ANY("part_kind", 0)};
static const struct pyd_row user_rows[] = {PYD_OF("content", PYD_NEEDED, prompt),
                                           PYD_OF("timestamp", PYD_GENERATED, pyd_moment), PYD_ANY("part_kind", 0)};
static const struct pyd_row return_rows[] = {
    PYD_OF("tool_name", PYD_NEEDED, pyd_text),
    PYD_ANY("content", PYD_NEEDED),
    PYD_OF("tool_call_id", PYD_GENERATED, pyd_text),
    PYD_OF("tool_kind", PYD_OR_NULL, tool_kind),
    PYD_ANY("metadata", 0),
    PYD_OF("timestamp", PYD_GENERATED, pyd_moment),
    PYD_ONE("outcome", 0, outcome, outcomes),
    PYD_ANY("part_kind", 0),
};
static const struct pyd_row builtin_return_rows[] = {
    PYD_OF("tool_name", PYD_NEEDED, pyd_text),
    PYD_ANY("content", PYD_NEEDED),
    PYD_OF("tool_call_id", PYD_GENERATED, pyd_text),
    PYD_OF("tool_kind", PYD_OR_NULL, tool_kind),
    PYD_ANY("metadata", 0),
    PYD_OF("timestamp", PYD_GENERATED, pyd_moment),
    PYD_ONE("outcome", 0, outcome, outcomes),
    PYD_OF("provider_name", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_details", PYD_OR_NULL, pyd_object),
    PYD_ANY("part_kind", 0),
};
static const struct pyd_row retry_rows[] = {
    PYD_OF("content", PYD_NEEDED, errors),
    PYD_OF("tool_name", PYD_OR_NULL, pyd_text),
    PYD_OF("tool_call_id", PYD_GENERATED, pyd_text),
    PYD_OF("timestamp", PYD_GENERATED, pyd_moment),
    PYD_ANY("part_kind", 0),
};
static const struct pyd_row delta_rows[] = {PYD_OF("tools_added", 0, pyd_texts), PYD_OF("added", 0, pyd_texts),
                                            PYD_OF("tool_call_id", PYD_OR_NULL, pyd_text), PYD_ANY("part_kind", 0)};
static const struct pyd_row speech_rows[] = {
    PYD_OF("speaker", PYD_NEEDED, speaker),
    PYD_OF("transcript", PYD_OR_NULL, pyd_text),
    PYD_OF("audio", PYD_OR_NULL, binary),
    PYD_OF("interrupted_at_ms", PYD_OR_NULL, pyd_whole),
    PYD_OF("id", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_name", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_details", PYD_OR_NULL, pyd_object),
    PYD_ANY("part_kind", 0),
};
static const struct pyd_row text_part_rows[] = {
    PYD_OF("content", PYD_NEEDED, pyd_text),
    PYD_OF("id", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_name", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_details", PYD_OR_NULL, pyd_object),
    PYD_ANY("part_kind", 0),
};
static const struct pyd_row thinking_rows[] = {
    PYD_OF("content", PYD_NEEDED, pyd_text),
    PYD_OF("id", PYD_OR_NULL, pyd_text),
    PYD_OF("signature", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_name", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_details", PYD_OR_NULL, pyd_object),
    PYD_ANY("part_kind", 0),
};
static const struct pyd_row call_rows[] = {
    PYD_OF("tool_name", PYD_NEEDED, pyd_text),
    PYD_OF("args", PYD_OR_NULL, args),
    PYD_OF("tool_call_id", PYD_GENERATED, pyd_text),
    PYD_OF("tool_kind", PYD_OR_NULL, tool_kind),
    PYD_OF("id", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_name", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_details", PYD_OR_NULL, pyd_object),
    PYD_ANY("part_kind", 0),
};
static const struct pyd_row file_rows[] = {
    PYD_OF("content", PYD_NEEDED, binary),
    PYD_OF("id", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_name", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_details", PYD_OR_NULL, pyd_object),
    PYD_ANY("part_kind", 0),
};
static const struct pyd_row compaction_rows[] = {
    PYD_OF("content", PYD_OR_NULL, pyd_text),
    PYD_OF("id", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_name", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_details", PYD_OR_NULL, pyd_object),
    PYD_ANY("part_kind", 0),
};

static const struct pyd_shape parts[] = {
    PYD_SHAPE("system-prompt", PYD_REQUEST, system_rows),
    PYD_SHAPE("user-prompt", PYD_REQUEST, user_rows),
    PYD_SHAPE("tool-return", PYD_REQUEST, return_rows),
    PYD_SHAPE("retry-prompt", PYD_REQUEST, retry_rows),
    PYD_SHAPE("tool-availability-delta", PYD_REQUEST, delta_rows),
    PYD_SHAPE("speech", PYD_REQUEST | PYD_RESPONSE, speech_rows),
    PYD_SHAPE("text", PYD_RESPONSE, text_part_rows),
    PYD_SHAPE("thinking", PYD_RESPONSE, thinking_rows),
    PYD_SHAPE("tool-call", PYD_RESPONSE, call_rows),
    PYD_SHAPE("builtin-tool-call", PYD_RESPONSE, call_rows),
    PYD_SHAPE("builtin-tool-return", PYD_RESPONSE, builtin_return_rows),
    PYD_SHAPE("file", PYD_RESPONSE, file_rows),
    {UPP_STR_INIT("compaction"), PYD_RESPONSE, PYD_REQUEST, compaction_rows, WB_LEN(compaction_rows), false},
    {.name = UPP_STR_INIT("retry-feedback"), .later = PYD_REQUEST},
    {.name = UPP_STR_INIT("capability-load-delta"), .later = PYD_REQUEST},
    {.name = UPP_STR_INIT("model-settings-delta"), .later = PYD_REQUEST},
    {.name = UPP_STR_INIT("instruction-delta"), .later = PYD_REQUEST},
    {.name = UPP_STR_INIT("instruction-baseline"), .later = PYD_REQUEST},
};

/* ---- Pydantic AI's own tools: their kind determines arguments and results --------------------------------------- */

static void queries(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    if (yyjson_is_obj(v))
        pyd_check_object(c, v, &(struct pyd_shape){.rows = row, .n = 1});
}

static void tool_names(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    size_t i, n;
    yyjson_val *item;
    if (!yyjson_is_arr(v))
        pyd_wrong(c, v, row, "a list of tools");
    yyjson_arr_foreach(v, i, n, item)
    {
        if (yyjson_is_obj(item))
            pyd_check_object(c, item, row->of);
        else
            pyd_wrong(c, item, row, "a list of tools");
    }
}

static void content_of_kind(struct pyd_check *c, yyjson_val *part, bool search)
{
    static const struct pyd_row tool[] = {PYD_OF("name", PYD_NEEDED, pyd_text)};
    static const struct pyd_shape tools = {.rows = tool, .n = 1, .open = true};
    static const struct pyd_row found[] = {
        {.name = UPP_STR_INIT("discovered_tools"), .flags = PYD_NEEDED, .is = tool_names, .of = &tools},
        PYD_OF("message", 0, pyd_text),
    };
    static const struct pyd_row loaded[] = {PYD_OF("instructions", 0, pyd_text)};
    static const struct pyd_row content = PYD_ANY("content", 0);
    static const struct pyd_shape a = {.rows = found, .n = 2}, b = {.rows = loaded, .n = 1};
    yyjson_val *v = pyd_last_of(part, UPP_STR("content"));
    if (v && !yyjson_is_obj(v))
        pyd_wrong(c, v, &content, "an object where 'tool_kind' is said");
    else if (v)
        pyd_check_object(c, v, search ? &a : &b);
}

static void check_kind_of_tool(struct pyd_check *c, yyjson_val *part, const char *kind)
{
    static const struct pyd_row searched = PYD_OF("queries", PYD_NEEDED, pyd_texts),
                                loaded = PYD_OF("id", PYD_NEEDED, pyd_text);
    yyjson_val *kind_value = pyd_last_of(part, UPP_STR("tool_kind"));
    if (!kind_value)
        return;
    bool builtin = strncmp(kind, "builtin-", 8) == 0, search = pyd_is_text(kind_value, UPP_STR("tool-search"));
    if (!search && (builtin || !pyd_is_text(kind_value, UPP_STR("capability-load"))))
        return;
    bool gives = strstr(kind, "return") != NULL;
    yyjson_val *ended = pyd_last_of(part, UPP_STR("outcome"));
    if (gives && ended && !pyd_is_text(ended, UPP_STR("success"))) {
        wd_problem(c->p, WD_WARNING, "PAI-1.7", kind_value, "Pydantic AI 2.33 wants what a success gives here too");
        return;
    }
    yyjson_val *name = pyd_last_of(part, UPP_STR("tool_name"));
    const char *must = !search ? "load_capability" : builtin ? "tool_search" : "search_tools";
    if (name && yyjson_is_str(name) && !pyd_is_text(name, wb_cstr(must)))
        wd_problem(c->p, WD_ERROR, c->rule, name, "a tool of this 'tool_kind' is '%s'", must);
    if (gives)
        content_of_kind(c, part, search);
    else
        queries(c, pyd_last_of(part, UPP_STR("args")), search ? &searched : &loaded);
}

static void check_part(struct pyd_check *c, yyjson_val *part)
{
    yyjson_val *kind = pyd_last_of(part, UPP_STR("part_kind"));
    const struct pyd_shape *s = pyd_shape_of(parts, WB_LEN(parts), kind);
    if (!yyjson_is_obj(part))
        wd_problem(c->p, WD_ERROR, c->rule, part, "a part is an object");
    else if (!s)
        pyd_unknown(c, part, "part_kind", kind);
    else if (!((s->where | s->later) & c->where))
        wd_problem(c->p, WD_ERROR, c->rule, kind, "a %s has no part of kind '%s'",
                   c->where == PYD_REQUEST ? "request" : "response", s->name.p);
    else {
        if (s->later & c->where)
            pyd_newer(c, kind, "this kind of part here");
        if (s->rows)
            pyd_check_object(c, part, s);
        check_kind_of_tool(c, part, s->name.p);
    }
}

/* ---- Messages ------------------------------------------------------------------------------------------ */

static void parts_of(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    const char *rule = c->rule;
    size_t i, n;
    yyjson_val *part;
    if (!yyjson_is_arr(v))
        pyd_wrong(c, v, row, "a list");
    c->rule = c->where == PYD_REQUEST ? "PAI-1.3" : "PAI-1.4";
    yyjson_arr_foreach(v, i, n, part)
    {
        check_part(c, part);
    }
    c->rule = rule;
}

/* Pydantic AI accepts any falsy value as none. */
static void details(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    size_t i, n;
    yyjson_val *key, *count;
    bool nothing = yyjson_is_null(v) || yyjson_is_false(v) ||
                   (yyjson_is_raw(v) && wj_num_eq(wj_text(v), UPP_STR("0"))) ||
                   ((yyjson_is_arr(v) || yyjson_is_str(v)) && !unsafe_yyjson_get_len(v));
    if (!yyjson_is_obj(v) && !nothing)
        pyd_wrong(c, v, row, "an object");
    yyjson_obj_foreach(v, i, n, key, count)
    {
        if (!wd_pydantic_int(count))
            pyd_wrong(c, count, row, "an object of whole numbers");
    }
}

static void usage(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    static const struct pyd_row rows[] = {
        PYD_OF("input_tokens", 0, pyd_whole),        PYD_OF("request_tokens", PYD_OR_NULL, pyd_whole),
        PYD_OF("cache_write_tokens", 0, pyd_whole),  PYD_OF("cache_read_tokens", 0, pyd_whole),
        PYD_OF("output_tokens", 0, pyd_whole),       PYD_OF("response_tokens", PYD_OR_NULL, pyd_whole),
        PYD_OF("input_audio_tokens", 0, pyd_whole),  PYD_OF("cache_audio_read_tokens", 0, pyd_whole),
        PYD_OF("output_audio_tokens", 0, pyd_whole), PYD_OF("details", 0, details),
        PYD_OF("cost", PYD_OR_NULL, pyd_decimal),
    };
    static const struct pyd_shape s = {.rows = rows, .n = WB_LEN(rows), .open = true};
    if (yyjson_is_obj(v))
        pyd_check_object(c, v, &s);
    else
        pyd_wrong(c, v, row, "an object");
}

static const char *const request_states[] = {"complete", "interrupted", NULL};
static const char *const response_states[] = {"complete", "incomplete", "suspended", "interrupted", NULL};
static const char *const reasons[] = {"stop", "length", "content_filter", "tool_call", "error", NULL};

static const struct pyd_row request_rows[] = {
    PYD_OF("parts", PYD_NEEDED, parts_of),         PYD_OF("timestamp", PYD_OR_NULL, pyd_moment),
    PYD_OF("instructions", PYD_OR_NULL, pyd_text), PYD_ANY("kind", 0),
    PYD_OF("run_id", PYD_OR_NULL, pyd_text),       PYD_OF("conversation_id", PYD_OR_NULL, pyd_text),
    PYD_OF("metadata", PYD_OR_NULL, pyd_object),   PYD_ONE("state", 0, pyd_word, request_states),
};
static const struct pyd_row response_rows[] = {
    PYD_OF("parts", PYD_NEEDED, parts_of),
    PYD_OF("usage", 0, usage),
    PYD_OF("model_name", PYD_OR_NULL, pyd_text),
    PYD_OF("timestamp", PYD_GENERATED, pyd_moment),
    PYD_ANY("kind", 0),
    PYD_OF("provider_name", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_url", PYD_OR_NULL, pyd_text),
    PYD_OF("provider_details", PYD_OR_NULL, pyd_object),
    PYD_OF("vendor_details", PYD_OR_NULL, pyd_object),
    PYD_OF("provider_response_id", PYD_OR_NULL, pyd_text),
    PYD_OF("vendor_id", PYD_OR_NULL, pyd_text),
    PYD_ONE("finish_reason", PYD_OR_NULL, pyd_word, reasons),
    PYD_OF("run_id", PYD_OR_NULL, pyd_text),
    PYD_OF("conversation_id", PYD_OR_NULL, pyd_text),
    PYD_OF("metadata", PYD_OR_NULL, pyd_object),
    PYD_ONE("state", 0, pyd_word, response_states),
};
_Static_assert(WB_LEN(response_rows) <= PYD_ROWS, "check_object has room for every row");

static void check_message(struct pyd_check *c, yyjson_val *m)
{
    static const struct pyd_shape request = PYD_SHAPE("request", PYD_REQUEST, request_rows),
                                  response = PYD_SHAPE("response", PYD_RESPONSE, response_rows);
    yyjson_val *kind = pyd_last_of(m, UPP_STR("kind"));
    bool asks = pyd_is_text(kind, UPP_STR("request")), answers = pyd_is_text(kind, UPP_STR("response"));
    c->rule = asks ? "PAI-1.1" : answers ? "PAI-1.2" : "PAI-1.0";
    c->where = asks ? PYD_REQUEST : PYD_RESPONSE;
    if (!yyjson_is_obj(m))
        wd_problem(c->p, WD_ERROR, c->rule, m, "a message is an object");
    else if (!asks && !answers)
        pyd_unknown(c, m, "kind", kind);
    else
        pyd_check_object(c, m, asks ? &request : &response);
}

int wd_pydantic_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    struct pyd_check c = {.p = p, .rule = "PAI-1.0"};
    size_t i, n;
    yyjson_val *m;
    (void)err;
    if (!yyjson_is_arr(root))
        wd_problem(p, WD_ERROR, "PAI-1.0", root, "messages are a list");
    yyjson_arr_foreach(root, i, n, m)
    {
        check_message(&c, m);
    }
    return 0;
}
