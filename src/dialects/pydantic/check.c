/* dialects/pydantic/check.c — what Pydantic AI refuses or drops when it loads a list of messages.
 *
 * An error is what both 2.33, whose form we write, and 2.66 refuse. Warnings are what only one of them accepts, what is
 * dropped, and what is generated if missing (so that two loads differ). This file checks messages, check_part.c their
 * parts.
 */
#include "dialects/pydantic/pydantic.h"
#include "dialects/pydantic/shape.h"
#include "dialects/pydantic/values.h"
#include "json/number.h"

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
        pyd_check_part(c, part);
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
