/* server/doors/responses/options.c — reads the options of a response.
 *
 * The request's members are rewritten to those of the Assistants API, in which the options of all runs are checked and
 * stored (server/doors/options.h).
 */
#include "server/doors/responses/responses.h"

#include <string.h>

#include "base/defs.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "server/doors/options.h"

int sv_responses_refuse(const struct sv_body *b, struct upp_err *err)
{
    static const char *const names[] = {"prompt", "max_tool_calls", "top_logprobs"};
    for (size_t i = 0; i < WB_LEN(names); i++) {
        yyjson_val *v = sv_member(b->root, wb_cstr(names[i]));
        if (v)
            return sv_body_wrong(b, v, err, "'%s' is not supported", names[i]);
    }
    yyjson_val *v = sv_member(b->root, UPP_STR("truncation"));
    if (v && !(yyjson_is_str(v) && wb_str_eq(wj_text(v), UPP_STR("disabled"))))
        return sv_body_wrong(b, v, err, "truncation is disabled");
    return 0;
}

static void put_member(struct wj_writer *w, const char *name, yyjson_val *object, const char *of)
{
    yyjson_val *v = sv_member(object, wb_cstr(of));
    if (v)
        wj_put_value(w, name, v);
}

/* A function tool has its members in an inner object; any other type stays as it is, to be judged there. */
static void put_function(struct wj_writer *w, yyjson_val *v, const char *const *names)
{
    bool function = yyjson_is_obj(v) && wb_str_eq(wj_text_at(v, "type"), UPP_STR("function"));
    if (!function) {
        wj_write_value(w, v);
        return;
    }
    wj_write_open(w, '{');
    wj_put_str(w, "type", UPP_STR("function"));
    wj_put_open(w, "function", '{');
    for (; *names; names++)
        put_member(w, *names, v, *names);
    wj_write_close(w, '}');
    wj_write_close(w, '}');
}

static void put_tools(struct wj_writer *w, yyjson_val *root)
{
    static const char *const tool[] = {"name", "description", "parameters", "strict", NULL}, *const choice[] = {"name",
                                                                                                                NULL};
    yyjson_val *tools = sv_member(root, UPP_STR("tools")), *v;
    size_t i, max;
    if (yyjson_is_arr(tools)) {
        wj_put_open(w, "tools", '[');
        yyjson_arr_foreach(tools, i, max, v)
        {
            put_function(w, v, tool);
        }
        wj_write_close(w, ']');
    } else if (tools)
        wj_put_value(w, "tools", tools);
    v = sv_member(root, UPP_STR("tool_choice"));
    if (v) {
        wj_write_name(w, UPP_STR("tool_choice"));
        put_function(w, v, choice);
    }
}

static void put_format(struct wj_writer *w, yyjson_val *root)
{
    yyjson_val *text = sv_member(root, UPP_STR("text")), *format = sv_member(text, UPP_STR("format"));
    struct upp_str type = wj_text_at(format, "type");
    if (!format || wb_str_eq(type, UPP_STR("text")))
        return;
    wj_put_open(w, "response_format", '{');
    put_member(w, "type", format, "type");
    if (wb_str_eq(type, UPP_STR("json_schema"))) {
        wj_put_open(w, "json_schema", '{');
        put_member(w, "name", format, "name");
        put_member(w, "schema", format, "schema");
        put_member(w, "strict", format, "strict");
        wj_write_close(w, '}');
    }
    wj_write_close(w, '}');
}

/* What is not read from the members: the response before. */
static int add_previous(struct sv_exchange *x, struct upp_str previous, struct upp_str *options, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 16);
    struct upp_str more = {NULL, 0};
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_text(&w, "weft_previous", previous);
    wj_write_close(&w, '}');
    int r = wj_writer_text(&w, &x->arena, &more);
    return r < 0 ? r : wj_merge(&x->arena, *options, more, options, err);
}

/* A pointer into the rewritten request becomes one into the client's. */
static void rename_place(struct upp_err *err)
{
    static const struct {
        const char *from, *to;
    } names[] = {{"/additional_instructions", "/instructions"}, {"/max_completion_tokens", "/max_output_tokens"},
                 {"/reasoning_effort", "/reasoning/effort"},    {"/response_format/json_schema", "/text/format"},
                 {"/response_format", "/text/format"},          {"/function", ""}};
    if (!err)
        return;
    for (size_t i = 0; i < WB_LEN(names); i++) {
        char *at = strstr(err->where, names[i].from);
        if (!at || (names[i].to[0] && at != err->where))
            continue;
        size_t n = strlen(names[i].from), m = strlen(names[i].to);
        memmove(at + m, at + n, strlen(at + n) + 1); /* no name becomes longer */
        memcpy(at, names[i].to, m);
        return;
    }
}

static int check_objects(const struct sv_body *b, struct upp_err *err)
{
    yyjson_val *text = NULL, *other = NULL;
    int r = sv_body_object(b, b->root, UPP_STR("text"), &text, err);
    if (r > 0)
        r = sv_body_object(b, text, UPP_STR("format"), &other, err);
    return r < 0 ? r : sv_body_object(b, b->root, UPP_STR("reasoning"), &other, err);
}

int sv_responses_options(struct sv_exchange *x, const struct sv_body *b, struct upp_str agent, bool model,
                         struct upp_str previous, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_MAX_BODY * 2);
    struct sv_body rewritten = {NULL};
    struct upp_str text;
    struct wj_writer w;
    int r = check_objects(b, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    /* In the spelling of the Assistants API. */
    static const char *const same[] = {"metadata", "temperature", "top_p", "parallel_tool_calls"};
    for (size_t i = 0; i < WB_LEN(same); i++)
        put_member(&w, same[i], b->root, same[i]);
    put_member(&w, "additional_instructions", b->root, "instructions");
    put_member(&w, "max_completion_tokens", b->root, "max_output_tokens");
    put_member(&w, "reasoning_effort", sv_member(b->root, UPP_STR("reasoning")), "effort");
    put_tools(&w, b->root);
    put_format(&w, b->root);
    if (model)
        put_member(&w, "model", b->root, "model");
    wj_write_close(&w, '}');
    r = wj_writer_text(&w, &x->arena, &text);
    if (r >= 0)
        r = wj_read(&x->arena, text, NULL, &rewritten.root, err);
    if (r >= 0)
        r = sv_options_read(x, &rewritten, rewritten.root, agent, NULL, ret, err);
    if (r < 0)
        rename_place(err);
    return r < 0 || !previous.p ? r : add_previous(x, previous, ret, err);
}
