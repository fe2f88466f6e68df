/* Plans as a model says them: order, and all that can be wrong with them. */
#include <stdio.h>

#include "agent/strategy/plan.h"
#include "base/defs.h"
#include "support/test.h"

static const struct wr_tool tools[] = {{.spec = {.name = UPP_STR_INIT("add")}}};

static int reads(struct wb_arena *a, const char *json, const struct wa_plan *done, struct wb_buf *out,
                 struct upp_err *err)
{
    struct wa_plan_reading how = {.done = done, .tools = tools, .n_tools = 1, .max = 3};
    struct wa_plan plan;
    bool cut;
    int r = wa_plan_read(a, wb_cstr(json), &how, &plan, &cut, err);
    for (size_t i = 0; r >= 0 && i < plan.n; i++)
        wb_buf_addf(out, "%s%.*s", i ? " " : "", UPP_FMT(plan.steps[i].id));
    if (r >= 0 && cut)
        wb_buf_addf(out, " ...");
    return r < 0 ? r : wb_buf_check(out, err);
}

#define S(id, deps) "{\"id\":\"" id "\",\"description\":\"d\",\"dependsOn\":[" deps "]}"
#define P(...)      "{\"steps\":[" __VA_ARGS__ "]}"

/* covers: UAP-5.4a/2, UAP-5.4b/1, UAP-5.4d/1 */
TEST(plan_read_order)
{
    static const struct {
        const char *json, *order;
    } rows[] = {
        {P(S("a", "") "," S("b", "")), "a b"},
        {P(S("b", "\"a\"") "," S("a", "")), "a b"},
        {P(S("d", "\"c\",\"b\"") "," S("c", "\"a\"") "," S("a", "") "," S("b", "\"a\",\"a\"")), "a c b ..."},
        {P(""), "answer"},
        {P("{\"id\":\"a\",\"description\":\"d\"}"), "a"},
        {P("{\"id\":\"a\",\"description\":\"d\",\"tool\":null,\"dependsOn\":null,\"more\":1}"), "a"},
        {P("{\"id\":\"a\",\"description\":\"d\",\"tool\":\"add\",\"status\":\"completed\"}"), "a"},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
        struct upp_err err = {0};
        CHECK_INT(reads(&a, rows[i].json, NULL, &out, &err), 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(rows[i].order));
    }
}

/* covers: UAP-5.4b/7 */
TEST(plan_read_refuses)
{
    static const struct {
        const char *json, *why;
    } rows[] = {
        {"", "it has no list 'steps'"},
        {"{", "it has no list 'steps'"},
        {"[]", "it has no list 'steps'"},
        {"{\"steps\":{}}", "it has no list 'steps'"},
        {P("1"), "step 1 has no id, or one that is no short text"},
        {P("{\"id\":\"\",\"description\":\"d\"}"), "step 1 has no id, or one that is no short text"},
        {P("{\"id\":\"a\\u0000b\",\"description\":\"d\"}"), "step 1 has no id, or one that is no short text"},
        {P("{\"id\":\"a\"}"), "step 'a' has no description"},
        {P("{\"id\":\"a\",\"description\":\"d\",\"tool\":1}"), "the tool of step 'a' is no text"},
        {P("{\"id\":\"a\",\"description\":\"d\",\"tool\":\"rm\"}"), "step 'a' uses the tool 'rm', which there is not"},
        {P("{\"id\":\"a\",\"description\":\"d\",\"dependsOn\":\"b\"}"), "dependsOn of step 'a' is no list"},
        {P(S("a", "") "," S("a", "")), "two steps have the id 'a'"},
        {P(S("a", "\"b\"")), "step 'a' depends on 'b', which there is not"},
        {P(S("a", "1")), "step 'a' depends on '', which there is not"},
        {P(S("a", "\"a\"")), "its steps depend on each other in a circle: 'a' -> 'a'"},
        {P(S("a", "\"b\"") "," S("b", "\"c\"") "," S("c", "\"a\"")),
         "its steps depend on each other in a circle: 'a' -> 'b' -> 'c' -> 'a'"},
        {P(S("x", "\"a\"") "," S("a", "\"b\"") "," S("free", "") "," S("b", "\"free\",\"a\"") "," S("y", "\"x\"")),
         "its steps depend on each other in a circle: 'a' -> 'b' -> 'a'"},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
        struct upp_err err = {0};
        char want[200];
        snprintf(want, sizeof want, "the plan makes no sense: %s", rows[i].why);
        CHECK_INT(reads(&a, rows[i].json, NULL, &out, &err), -UPP_EPROTO);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(want));
    }
}

/* covers: UAP-5.4c/2 */
TEST(plan_read_keeps_what_is_completed)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
    struct upp_err err = {0};
    struct wa_step steps[] = {{.id = UPP_STR("a"), .description = UPP_STR("d"), .status = WA_COMPLETED},
                              {.id = UPP_STR("b"), .description = UPP_STR("d"), .status = WA_FAILED},
                              {.id = UPP_STR("c"), .description = UPP_STR("d"), .status = WA_PENDING}};
    struct wa_plan done = {steps, WB_LEN(steps)};
    CHECK_INT(reads(&a, P(S("b", "\"a\"") "," S("a", "\"b\"") "," S("e", "")), &done, &out, &err), 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("a b e"));
    wb_buf_clear(&out);
    CHECK_INT(reads(&a, P(""), &done, &out, &err), 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("a"));
    CHECK_INT(reads(&a, P(S("x", "\"c\"")), &done, &out, &err), -UPP_EPROTO);
}

TEST_WITH(plan_read_a_thousand_steps, .no_torture = "many allocations of one kind; the others are tortured")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(1u << 20), out = WB_BUF(1u << 20);
    struct wa_plan_reading how = {.max = 1000};
    struct upp_err err = {0};
    struct wa_plan plan, again;
    bool cut;
    wb_buf_addf(&json, "{\"steps\":[");
    for (int i = 0; i < 1000; i++) /* the last one first */
        wb_buf_addf(&json, "%s{\"id\":\"s%d\",\"description\":\"\",\"dependsOn\":[%s%.*d%s]}", i ? "," : "", 999 - i,
                    i < 999 ? "\"s" : "", i < 999 ? 1 : 0, i < 999 ? 998 - i : 0, i < 999 ? "\"" : "");
    wb_buf_addf(&json, "]}");
    CHECK_INT(wa_plan_read(&a, wb_buf_str(&json), &how, &plan, &cut, &err), 0);
    CHECK_INT(plan.n, 1000);
    CHECK(!cut);
    CHECK_STR(plan.steps[999].id, UPP_STR("s999"));
    CHECK_INT(plan.steps[999].after[0], 998);
    CHECK_INT(wa_plan_write(&plan, &out, &err), 0);
    CHECK_INT(wa_plan_load(&a, wb_buf_str(&out), &again, &err), 0);
    CHECK_INT(again.n, 1000);
    CHECK_STR(again.steps[500].id, UPP_STR("s500"));
    CHECK_INT(again.steps[500].after[0], 499);

    wb_buf_clear(&json);
    wb_buf_addf(&json, "{\"steps\":[0");
    for (int i = 0; i < WA_PLAN_STEPS; i++)
        wb_buf_addf(&json, ",0");
    wb_buf_addf(&json, "]}");
    CHECK_INT(wa_plan_read(&a, wb_buf_str(&json), &how, &plan, &cut, &err), -UPP_EPROTO);
}

TEST(plan_read_finds_json_in_a_text)
{
    CHECK_STR(wa_plan_find(UPP_STR("so: {\"a\":{}} and")), UPP_STR("{\"a\":{}}"));
    CHECK(!wa_plan_find(UPP_STR("} {")).p);
    CHECK(!wa_plan_find(UPP_STR("none")).p);
    CHECK(!wa_plan_find(UPP_STR("{ none")).p);
}
