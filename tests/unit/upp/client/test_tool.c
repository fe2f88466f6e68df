#include <string.h>
#include <upp/tool.h>

#include "base/defs.h"
#include "support/test.h"
#include "upp/client/talk.h"

/* covers: UPP-7/1 */
TEST(tool_parameters_short_form)
{
    static const struct {
        const char *form, *schema;
    } rows[] = {
        {NULL, "{\"type\":\"object\",\"properties\":{}}"},
        {" { } ", "{\"type\":\"object\",\"properties\":{}}"},
        {"{city: string, days?: integer}",
         "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\"}},"
         "\"required\":[\"city\"]}"},
        {"{a:number,b:boolean,c:object,d:any,}",
         "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"},\"b\":{\"type\":\"boolean\"},"
         "\"c\":{\"type\":\"object\"},\"d\":{}},\"required\":[\"a\",\"b\",\"c\",\"d\"]}"},
        {"{u: \"metric\" | \"imperial\"}",
         "{\"type\":\"object\",\"properties\":{\"u\":{\"type\":\"string\",\"enum\":[\"metric\",\"imperial\"]}},"
         "\"required\":[\"u\"]}"},
        {"{t?: string[][]}",
         "{\"type\":\"object\",\"properties\":{\"t\":{\"type\":\"array\",\"items\":{\"type\":\"array\","
         "\"items\":{\"type\":\"string\"}}}}}"},
        {"{p: {lat: number, lon?: number}[]}", "{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"array\","
                                               "\"items\":{\"type\":\"object\",\"properties\":{"
                                               "\"lat\":{\"type\":\"number\"},\"lon\":{\"type\":\"number\"}},"
                                               "\"required\":[\"lat\"]}}},\"required\":[\"p\"]}"},
        {" {\"type\": \"object\"} ", "{\"type\": \"object\"}"},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_err err = {0};
        struct upp_str got = {0};
        test_note("row %zu", i);
        CHECK(upp__parameters(&a, wb_cstr(rows[i].form), &got, &err) >= 0);
        CHECK_STR(got, wb_cstr(rows[i].schema));
    }
}

TEST(tool_parameters_refused)
{
    static const struct {
        const char *form;
        int r;
        const char *says;
    } rows[] = {
        {"", -UPP_EINVALID, "parameters: expected '{' at byte 0"},
        {"{", -UPP_EINVALID, "parameters: expected a name at byte 1"},
        {"{a}", -UPP_EINVALID, "parameters: expected ':' at byte 2"},
        {"{a: text}", -UPP_EINVALID, "parameters: expected string, "},
        {"{a: string b}", -UPP_EINVALID, "parameters: expected ',' or '}' at byte 11"},
        {"{a: \"x}", -UPP_EINVALID, "parameters: expected the end of the string"},
        {"{a: \"x\"|y}", -UPP_EINVALID, "parameters: expected a string in quotes"},
        {"{a: string[}", -UPP_EINVALID, "parameters: expected "},
        {"{} x", -UPP_EINVALID, "parameters: expected the end at byte 3"},
        {"{\"a\":}", -UPP_EINVALID, "parameters: "},
        {"{a: string, b: any, a?: integer}", -UPP_EINVALID,
         "parameters: expected a name that is not there yet at byte 20"},
        {"{a: {b: any, b: any}}", -UPP_EINVALID, "parameters: expected a name that is not there yet at byte 13"},
        {"{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:string}}}}}}}}}}}}}}}}}}", -UPP_ELIMIT,
         "parameters: nested deeper than 16"},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_err err = {0};
        struct upp_str got = {0};
        test_note("row %zu", i);
        int r = upp__parameters(&a, wb_cstr(rows[i].form), &got, &err);
        ALWAYS(r < 0 && !got.p);
        CHECK_INT(r, rows[i].r);
        test_note("%s", err.msg);
        CHECK(strncmp(err.msg, rows[i].says, strlen(rows[i].says)) == 0);
    }
}

TEST(tool_parameters_have_a_limit)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf form = WB_BUF(1u << 16);
    for (int n = 1024; n <= 1025; n++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_err err = {0};
        struct upp_str got = {0};
        wb_buf_clear(&form);
        wb_buf_addc(&form, '{');
        for (int i = 0; i < n; i++)
            wb_buf_addf(&form, "a%d: any, ", i);
        wb_buf_addc(&form, '}');
        CHECK_INT(wb_buf_check(&form, NULL), 0);
        int r = upp__parameters(&a, wb_buf_str(&form), &got, &err);
        CHECK_INT(r, n > 1024 ? -UPP_ELIMIT : 0);
        CHECK(n == 1024 || strcmp(err.msg, "parameters: more than 1024 in one object") == 0);
    }
}

static void call_done(struct upp__call *c)
{
    wb_arena_done(&c->scratch);
}

/* covers: UPP-7/1 */
TEST(tool_arguments_by_name)
{
    struct upp_err err = {0};
    WB_CLEANUP(call_done)
    struct upp__call c = {
        .pub = {.arguments = UPP_STR("{\"s\":\"x\",\"n\":7,\"f\":1.5,\"b\":true,\"o\":{\"a\":[1]},\"s\":\"y\"}")},
        .scratch = WB_ARENA(1u << 20)};
    struct upp_str s;
    int64_t n;
    double f;
    bool b;
    CHECK(upp_call_arg_str(&c.pub, "s", &s, &err) >= 0);
    CHECK_STR(s, UPP_STR("y"));
    CHECK(upp_call_arg_i64(&c.pub, "n", &n, &err) >= 0);
    CHECK_INT(n, 7);
    CHECK(upp_call_arg_f64(&c.pub, "f", &f, &err) >= 0 && f > 1.4 && f < 1.6);
    CHECK(upp_call_arg_f64(&c.pub, "n", &f, &err) >= 0);
    CHECK(upp_call_arg_bool(&c.pub, "b", &b, &err) >= 0 && b);
    CHECK_INT(upp_call_arg(&c.pub, "o", &s, &err), 1);
    CHECK_STR(s, UPP_STR("{\"a\":[1]}"));
    CHECK_INT(upp_call_arg(&c.pub, "z", &s, &err), 0);
    CHECK_INT(upp_call_arg_str(&c.pub, "z", &s, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the argument 'z' is missing"));
    CHECK_INT(upp_call_arg_i64(&c.pub, "f", &n, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the argument 'f' must be a whole number, and is the number 1.5"));
    CHECK_INT(upp_call_arg_bool(&c.pub, "n", &b, &err), -UPP_EINVALID);
    CHECK_INT(upp_call_arg_str(&c.pub, "n", &s, &err), -UPP_EINVALID);
    c.pub.arguments = UPP_STR("{\"s\":\"other\"}"); /* on_before changed them */
    CHECK(upp_call_arg_str(&c.pub, "s", &s, &err) >= 0);
    CHECK_STR(s, UPP_STR("other"));
    c.pub.arguments = UPP_STR("[1]");
    CHECK_INT(upp_call_arg(&c.pub, "s", &s, &err), -UPP_EINVALID);
}

TEST(tool_values)
{
    struct upp_err err = {0};
    WB_CLEANUP(upp__value_done) struct upp_value v = UPP__VALUE;
    CHECK_STR(upp_value_get(&v), UPP_STR("null"));
    CHECK(upp_value_text(&v, UPP_STR("a\"b"), &err) >= 0);
    CHECK_STR(upp_value_get(&v), UPP_STR("\"a\\\"b\""));
    CHECK(upp_value_text(&v, upp_value_get(&v), &err) >= 0); /* from itself */
    CHECK_STR(upp_value_get(&v), UPP_STR("\"\\\"a\\\\\\\"b\\\"\""));
    CHECK(upp_value_json(&v, UPP_STR(" [1, 2] "), &err) >= 0);
    CHECK_STR(upp_value_get(&v), UPP_STR("[1, 2]"));
    CHECK(upp_value_printf(&v, &err, "%d degrees", 18) >= 0);
    CHECK_STR(upp_value_get(&v), UPP_STR("\"18 degrees\""));
    CHECK_INT(upp_value_json(&v, UPP_STR("[1"), &err), -UPP_EINVALID); /* the last that went well stays */
    CHECK_STR(upp_value_get(&v), UPP_STR("\"18 degrees\""));
    CHECK_INT(upp_value_text(&v, wb_str("", UPP__RESULT_BYTES + 1u), &err), -UPP_ELIMIT);
}
