#include "json/decode.h"

#include <stdlib.h>
#include <weft/fiber.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "json/read.h"
#include "json/value.h"
#include "support/chat.h"
#include "support/test.h"

/* Reads and decodes; whatever it returns, the arena is the caller's. */
static int decode(struct wb_arena *a, const char *text, const struct wj_decode_opts *opts, struct chat *ret,
                  struct upp_err *err)
{
    yyjson_val *v;
    int r = wj_read(a, wb_cstr(text), NULL, &v, err);
    return r < 0 ? r : WJ_DECODE(a, chat, v, opts, ret, err);
}

/* The ways to read an object: row by row; by a plan; by one that keeps the order; where there is no room for one more
 * plan. */
enum way { BY_ROWS, PLANNED, ORDERED, NO_ROOM, WAYS };

static struct wj_plans *plans_of(enum way way, struct wj_plans *plans)
{
    *plans = (struct wj_plans){.ordered = way == ORDERED, .n = way == NO_ROOM ? WB_LEN(plans->list) : 0};
    return way == BY_ROWS ? NULL : plans;
}

static void fill_every_kind_of_slot(enum way way)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_err err = {0};
    struct wj_plans plans;
    struct chat c;
    CHECK(
        decode(
            &a,
            "{\"id\":\"c\\u0000\",\"title\":null,\"version\":2e0,\"messages\":["
            "{\"id\":\"1\",\"role\":\"user\",\"content\":\"hi\",\"metadata\":{\"k\":[1],\"k\":2}},"
            "{\"id\":\"2\",\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"content\":\"t\"},"
            "{\"type\":\"tool_result\",\"id\":\"r\",\"content\":[\"x\",\"\"],\"failed\":true},{\"type\":\"song\"}]"
            ","
            "\"usage\":{\"input_tokens\":5,\"output_tokens\":null,\"cost\":1e999}},"
            "{\"id\":\"3\",\"role\":\"tool\",\"vendor_id\":\"v\",\"replies\":[{\"id\":\"4\",\"role\":\"assistant\"}]}],"
            "\"tags\":[],\"state\":null}",
            UPP_OPTS(wj_decode_opts, .plans = plans_of(way, &plans)), &c, &err) == 0);
    CHECK_STR(c.id, UPP_STR("c\0"));
    CHECK(!c.title.p && c.node.null == WJ_BIT(1));
    CHECK(c.version == 2 && WJ_IS_SET(&c, version));
    CHECK(c.tags.p && c.tags.n == 0);
    CHECK(c.state && yyjson_is_null(c.state)); /* F_ANY without F_NULLABLE: null is a value */
    CHECK_INT(c.messages.n, 3);

    struct message *m = c.messages.p;
    CHECK(m[0].role == ROLE_USER && m[0].metadata.n == 2 && !m[0].usage && !m[0].parts.p);
    CHECK_STR(m[0].text, UPP_STR("hi"));
    CHECK_STR(m[0].metadata.p[1].name, UPP_STR("k"));
    CHECK_STR(wj_text(m[0].metadata.p[1].value), UPP_STR("2"));

    CHECK(m[1].role == ROLE_TOOL && !m[1].text.p && m[1].parts.n == 3);
    const struct part *parts = m[1].parts.p;
    CHECK_STR(parts[0].text, UPP_STR("t"));
    CHECK(!WJ_IS_SET(&parts[0], failed) && !parts[0].lines.p);
    CHECK(parts[1].failed && WJ_IS_SET(&parts[1], failed) && !parts[1].text.p && parts[1].lines.n == 2);
    CHECK(parts[1].lines.p[0].n == 1 && parts[1].lines.p[1].p && parts[1].lines.p[1].n == 0);
    CHECK(m[1].usage && m[1].usage->input == 5 && WJ_IS_SET(m[1].usage, input));
    CHECK(!WJ_IS_SET(m[1].usage, output) && m[1].usage->node.null == WJ_BIT(2));
    CHECK_STR(m[1].usage->cost, UPP_STR("1e999"));

    CHECK_STR(m[2].vendor_id, UPP_STR("v"));
    CHECK(m[2].replies.n == 1 && m[2].replies.p[0].role == ROLE_ASSISTANT);
}

TEST(decode_fills_every_kind_of_slot)
{
    for (enum way way = BY_ROWS; way < WAYS; way++)
        fill_every_kind_of_slot(way);
}

TEST(decode_says_what_it_expected_where)
{
#define MSG(rest) "{\"id\":\"c\",\"messages\":[{\"id\":\"1\",\"role\":\"user\"" rest "}]}"
    static const struct {
        const char *text, *where, *msg;
    } cases[] = {
        {"[]", "", "expected an object, found an array"},
        {"7", "", "expected an object, found the number 7"},
        {"{}", "", "member 'id' is missing"},
        {"{\"id\":\"c\"}", "", "member 'messages' is missing"},
        {"{\"id\":1,\"messages\":[]}", "/id", "expected a string, found the number 1"},
        {"{\"id\":null,\"messages\":[]}", "/id", "expected a string, found null"},
        {"{\"id\":\"c\",\"messages\":{}}", "/messages", "expected an array, found an object"},
        {"{\"id\":\"c\",\"messages\":[3]}", "/messages/0", "expected an object, found the number 3"},
        {"{\"id\":\"c\",\"messages\":[{\"id\":\"1\"}]}", "/messages/0", "member 'role' is missing"},
        {"{\"id\":\"c\",\"version\":-1,\"messages\":[]}", "/version",
         "expected an integer of 64 bits that is not negative, found the number -1"},
        {"{\"id\":\"c\",\"version\":1.5,\"messages\":[]}", "/version",
         "expected an integer of 64 bits that is not negative, found the number 1.5"},
        {"{\"id\":\"c\",\"version\":\"1\",\"messages\":[]}", "/version",
         "expected an integer of 64 bits that is not negative, found a string"},
        {"{\"id\":\"c\",\"tags\":[\"a\",null],\"messages\":[]}", "/tags/1", "expected a string, found null"},
        {MSG(",\"content\":true"), "/messages/0/content", "expected a string or an array, found true"},
        {MSG(",\"content\":[1]"), "/messages/0/content/0", "expected an object, found the number 1"},
        {MSG(",\"content\":[{\"id\":\"x\"}]"), "/messages/0/content/0", "member 'type' is missing"},
        {MSG(",\"content\":[{\"type\":\"text\",\"content\":{}}]"), "/messages/0/content/0/content",
         "expected a string or an array, found an object"},
        {MSG(",\"content\":[{\"type\":\"tool_result\",\"id\":\"x\",\"failed\":0}]"), "/messages/0/content/0/failed",
         "expected true or false, found the number 0"},
        {MSG(",\"usage\":{\"input_tokens\":12345678901234567890123}"), "/messages/0/usage/input_tokens",
         "expected an integer of 64 bits that is not negative, found the number 12345678901234567890123"},
        {MSG(",\"usage\":{\"request_tokens\":\"7\"}"), "/messages/0/usage/request_tokens",
         "expected an integer of 64 bits that is not negative, found a string"},
        {MSG(",\"usage\":{\"input_tokens\":1,\"cost\":true}"), "/messages/0/usage/cost",
         "expected a number, found true"},
        {MSG(",\"usage\":{\"cost\":1}"), "/messages/0/usage", "member 'input_tokens' is missing"},
        {MSG(",\"metadata\":[]"), "/messages/0/metadata", "expected an object, found an array"},
        {MSG(",\"replies\":[{\"id\":\"2\",\"role\":\"user\"},{\"id\":\"3\",\"role\":7}]"), "/messages/0/replies/1/role",
         "expected a string, found the number 7"},
    };
    for (size_t i = 0; i < WAYS * WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_err err = {0};
        enum way way = (enum way)(i / WB_LEN(cases));
        struct wj_plans plans;
        struct chat c;
        const size_t k = i % WB_LEN(cases);
        test_note("case %zu, way %d", k, (int)way);
        CHECK_INT(decode(&a, cases[k].text, UPP_OPTS(wj_decode_opts, .plans = plans_of(way, &plans)), &c, &err),
                  -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[k].msg));
        CHECK_STR(wb_cstr(err.where), wb_cstr(cases[k].where));
    }
}

TEST(decode_last_duplicate_and_first_name_win)
{
    static const struct {
        const char *usage;
        uint64_t input;
    } cases[] = {
        {"{\"input_tokens\":1,\"input_tokens\":2}", 2},
        {"{\"input_tokens\":2.0,\"x\":0,\"input_tokens\":1}", 1},
        {"{\"request_tokens\":1}", 1},
        {"{\"request_tokens\":1,\"request_tokens\":2}", 2},
        {"{\"request_tokens\":1,\"input_tokens\":2}", 2},
        {"{\"input_tokens\":2,\"request_tokens\":1}", 2},
        {"{\"request_tokens\":1,\"input_tokens\":2,\"request_tokens\":3,\"input_tokens\":4,\"request_tokens\":5}", 4},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        yyjson_val *v;
        struct wj_plans plans;
        struct usage u;
        test_note("case %zu", i);
        CHECK(wj_read(&a, wb_cstr(cases[i].usage), NULL, &v, NULL) == 0);
        for (enum way way = WAYS; way-- > BY_ROWS;) {
            CHECK(WJ_DECODE(&a, usage, v, UPP_OPTS(wj_decode_opts, .plans = plans_of(way, &plans)), &u, NULL) == 0);
            CHECK_INT(u.input, cases[i].input);
            CHECK(WJ_IS_SET(&u, input));
        }
    }
}

/* A duplicate of another kind leaves nothing of the first behind. */
TEST(decode_duplicate_of_another_type_clears_the_slot)
{
    for (enum way way = BY_ROWS; way < WAYS; way++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct wj_plans plans;
        struct chat c;
        CHECK(decode(&a,
                     "{\"id\":\"c\",\"title\":\"t\",\"title\":null,\"messages\":["
                     "{\"id\":\"1\",\"role\":\"user\",\"content\":\"a\",\"content\":[]},"
                     "{\"id\":\"1\",\"role\":\"user\",\"content\":[],\"content\":null}]}",
                     UPP_OPTS(wj_decode_opts, .plans = plans_of(way, &plans)), &c, NULL) == 0);
        CHECK(!c.title.p && c.node.null == WJ_BIT(1));
        CHECK(!c.messages.p[0].text.p && c.messages.p[0].parts.p);
        CHECK(!c.messages.p[1].text.p && !c.messages.p[1].parts.p);
        CHECK(!c.messages.p[0].node.null && c.messages.p[1].node.null == WJ_BIT(2));
    }
}

/* ---- All problems of a document ------------------------------------------------------------------- */

static void note_problem(void *ctx, const char *pointer, const char *sentence)
{
    wb_buf_addf(ctx, "%s: %s\n", pointer, sentence);
}

struct letters {
    struct wj_node node;
    struct upp_str a, b, c, d, e, f, g, h, i, j, k;
};
static const struct wj_field letter_rows[] = {
    F_STR(struct letters, a, "a", F_NULLABLE), F_STR(struct letters, a, "A", F_NULLABLE | F_ALIAS),
    F_STR(struct letters, b, "b", 0),          F_STR(struct letters, c, "c", 0),
    F_STR(struct letters, d, "d", 0),          F_STR(struct letters, e, "e", 0),
    F_STR(struct letters, f, "f", 0),          F_STR(struct letters, g, "g", 0),
    F_STR(struct letters, h, "h", 0),          F_STR(struct letters, i, "i", 0),
    F_STR(struct letters, j, "j", 0),          F_STR(struct letters, k, "k", 0),
};
WJ_SHAPE(letters, struct letters, letter_rows);

static void leave(void *ctx, const char *pointer, const char *sentence)
{
    (void)ctx, (void)pointer, (void)sentence;
}

TEST(decode_tells_in_what_order_members_came)
{
    static const struct {
        const char *text;
        size_t n; /* rows of which the order is known, and they */
        uint8_t rows[WJ_ORDER_ROWS];
        bool rising;
    } cases[] = {
        {"{}", 0, {0}, true},
        {"{'a':'','c':''}", 2, {0, 3}, true},
        {"{'c':'','a':''}", 2, {3, 0}, false},
        {"{'a':null,'b':''}", 2, {0, 2}, true},
        {"{'A':'','b':''}", 0, {0}, false},        /* by another name */
        {"{'A':'','a':'','b':''}", 0, {0}, false}, /* and then by its own */
        {"{'a':'','b':'','b':''}", 0, {0}, false}, /* twice */
        {"{'a':'','z':''}", 0, {0}, false},        /* unknown */
        {"{'a':'','b':1}", 0, {0}, false},         /* no text: not taken */
        {"{'a':'','b':'','c':'','d':'','e':'','f':'','g':'','h':'','i':'','k':''}",
         10,
         {0, 2, 3, 4, 5, 6, 7, 8, 9, 11},
         true},
        {"{'a':'','b':'','c':'','d':'','e':'','f':'','g':'','h':'','i':'','j':'','k':''}", 0, {0}, true},
        {"{'a':'','b':'','c':'','d':'','e':'','f':'','g':'','h':'','i':'','k':'','j':''}", 0, {0}, false},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct wj_plans plans;
        struct letters l;
        yyjson_val *v;
        char text[256];
        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        for (char *c = text; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        test_note("%s", text);
        CHECK(wj_read(&a, wb_cstr(text), NULL, &v, NULL) >= 0);
        for (enum way way = BY_ROWS; way < WAYS; way++) {
            struct wj_decode_opts opts = {.size = sizeof opts, .problem = leave, .plans = plans_of(way, &plans)};
            CHECK(WJ_DECODE(&a, letters, v, &opts, &l, NULL) >= 0);
            CHECK_INT(!!(l.node.order & WJ_TABLE_ORDER), way != PLANNED && cases[i].rising);
            CHECK((l.node.order & ~WJ_TABLE_ORDER) == (way == PLANNED ? 0 : wj_order(cases[i].rows, cases[i].n)));
        }
    }
}

TEST(decode_collects_problems)
{
    static const char text[] = "{\"title\":7,\"messages\":[{\"role\":\"user\",\"content\":5,\"usage\":{\"cost\":\"?\"},"
                               "\"metadata\":[]},{\"id\":\"2\",\"role\":\"user\",\"content\":[{\"id\":\"\"},\"x\"],"
                               "\"replies\":[{}]}],\"tags\":[\"a\",1,null],\"version\":-1,\"version\":2}";
    static const char problems[] =
        "/title: expected a string, found the number 7\n"
        "/messages/0/content: expected a string or an array, found the number 5\n"
        "/messages/0/usage/cost: expected a number, found a string\n"
        "/messages/0/usage: member 'input_tokens' is missing\n"
        "/messages/0/metadata: expected an object, found an array\n"
        "/messages/0: member 'id' is missing\n"
        "/messages/1/content/0: member 'type' is missing\n"
        "/messages/1/content/1: expected an object, found a string\n"
        "/messages/1/replies/0: member 'id' is missing\n"
        "/messages/1/replies/0: member 'role' is missing\n"
        "/tags/1: expected a string, found the number 1\n"
        "/tags/2: expected a string, found null\n"
        "/version: expected an integer of 64 bits that is not negative, found the number -1\n"
        ": member 'id' is missing\n";
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err = {0};
    struct wj_decode_opts opts = {.size = sizeof opts, .problem = note_problem, .ctx = &b};
    struct wj_plans plans;
    struct chat c;
    for (enum way way = WAYS; way-- > BY_ROWS;) {
        wb_buf_clear(&b);
        opts.plans = plans_of(way, &plans);
        CHECK_INT(decode(&a, text, &opts, &c, &err), 14);
        CHECK(wb_buf_check(&b, NULL) == 0);
        CHECK_STR(wb_buf_str(&b), wb_cstr(problems));
        CHECK(err.code == 0 && c.version == 2);
    }

    wb_buf_clear(&b);
    opts.max_problems = 2;
    CHECK_INT(decode(&a, text, &opts, &c, &err), 14); /* counted, not told */
    CHECK(wb_str_starts(wb_cstr(problems), wb_buf_str(&b)) && wb_buf_str(&b).n < 130);
}

TEST(decode_tells_each_problem_once)
{
    static const struct {
        const char *text, *problems;
    } cases[] = {
        {"{\"id\":5,\"messages\":[]}", "/id: expected a string, found the number 5\n"},
        {"{\"id\":\"ok\",\"id\":5,\"messages\":[]}", "/id: expected a string, found the number 5\n"},
        {"{\"id\":5,\"id\":\"ok\",\"messages\":[]}", "/id: expected a string, found the number 5\n"},
        {"{\"messages\":[7]}", "/messages/0: expected an object, found the number 7\n"
                               ": member 'id' is missing\n"},
        {"{\"id\":\"c\",\"messages\":[{\"id\":null,\"role\":1,\"usage\":{\"request_tokens\":\"\"}}]}",
         "/messages/0/id: expected a string, found null\n"
         "/messages/0/role: expected a string, found the number 1\n"
         "/messages/0/usage/request_tokens: expected an integer of 64 bits that is not negative, found a string\n"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
        struct wj_decode_opts opts = {.size = sizeof opts, .problem = note_problem, .ctx = &b};
        struct wj_plans plans;
        struct chat c;
        test_note("case %zu", i);
        for (enum way way = WAYS; way-- > BY_ROWS;) {
            wb_buf_clear(&b);
            opts.plans = plans_of(way, &plans);
            CHECK(decode(&a, cases[i].text, &opts, &c, NULL) > 0);
            CHECK(wb_buf_check(&b, NULL) == 0);
            CHECK_STR(wb_buf_str(&b), wb_cstr(cases[i].problems));
        }
    }
}

/* ---- Hostile values --------------------------------------------------------------------------------- */

TEST_WITH(decode_many_members_in_linear_time, .no_torture = "nothing but time", .seconds = 120)
{
    enum { N = 1000000 };
    static const struct {
        const char *name, *head, *tail; /* of member i, around i */
    } kinds[] = {
        {"unknown", ",\"x", "\":0"},
        {"one unknown name", ",\"xx\":", ""},
        {"duplicates", ",\"id\":\"", "\""},
        {"duplicates of all names in turn", ",\"id\":\"", "\",\"title\":null,\"version\":1.0,\"tags\":[],\"state\":0"},
    };
    for (size_t k = 0; k < WB_LEN(kinds); k++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(256u << 20);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA((size_t)2 << 30);
        struct wj_plans plans;
        struct chat c;
        yyjson_val *v;
        wb_buf_add(&b, UPP_STR("{\"id\":\"c\",\"messages\":[]"));
        for (int i = 0; i < (k == 3 ? N / 5 : N); i++) {
            wb_buf_add(&b, wb_cstr(kinds[k].head));
            wb_buf_addf(&b, "%d", i);
            wb_buf_add(&b, wb_cstr(kinds[k].tail));
        }
        wb_buf_addc(&b, '}');
        test_note("%s", kinds[k].name);
        CHECK(wj_read(&a, wb_buf_str(&b), UPP_OPTS(wj_read_opts, .max_bytes = SIZE_MAX / 64), &v, NULL) == 0);
        for (enum way way = BY_ROWS; way < WAYS; way++)
            CHECK(WJ_DECODE(&a, chat, v, UPP_OPTS(wj_decode_opts, .plans = plans_of(way, &plans)), &c, NULL) == 0);
    }
}

/* Duplicates under two names and of two types, near each other and far apart. */
TEST_WITH(decode_many_duplicates_in_linear_time, .no_torture = "nothing but time", .seconds = 120)
{
    enum { N = 300000 };
#define NAME  "\"input_tokens\":1"
#define ALIAS "\"request_tokens\":1"
#define NEW   "\"id\":\"m\",\"role\":\"user\""
    static const struct {
        const char *name, *first, *even, *odd, *last;
        const struct wj_shape *shape;
    } cases[] = {
        {"the name, then the alias", NAME, ALIAS, ALIAS, ALIAS, &usage.of},
        {"the alias, then the name", ALIAS, ALIAS, ALIAS, NAME, &usage.of},
        {"the alias, then the name often", ALIAS, NAME, NAME, NAME, &usage.of},
        {"alias and name in turn", NAME, ALIAS, NAME, ALIAS, &usage.of},
        {"unknown ones, then the alias", NAME ",\"x\":0", "\"x\":0", ALIAS, ALIAS, &usage.of},
        {"the name far from the first", NAME, "\"x\":0", "\"cost\":1", NAME "," ALIAS "," NAME, &usage.of},
        {"two types in turn", NEW, "\"content\":\"t\"", "\"content\":[]", "\"content\":null", &message.of},
        {"two types, one far away", NEW ",\"content\":[]", "\"x\":0", "\"vendor_id\":null", "\"content\":\"t\"",
         &message.of},
        {"the first name null, then the alias", NEW ",\"provider_response_id\":null", "\"vendor_id\":\"v\"",
         "\"vendor_id\":null", "\"content\":null", &message.of},
    };
    for (size_t k = 0; k < WB_LEN(cases); k++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(256u << 20);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA((size_t)2 << 30);
        struct wj_plans plans;
        union {
            struct wj_node node;
            struct usage usage;
            struct message message;
        } to;
        yyjson_val *v;
        wb_buf_addf(&b, "{%s", cases[k].first);
        for (int i = 0; i < N; i++)
            wb_buf_addf(&b, ",%s", i % 2 ? cases[k].odd : cases[k].even);
        wb_buf_addf(&b, ",%s}", cases[k].last);
        test_note("%s", cases[k].name);
        CHECK(wj_read(&a, wb_buf_str(&b), NULL, &v, NULL) == 0);
        for (enum way way = BY_ROWS; way < WAYS; way++)
            CHECK(wj_decode(&a, cases[k].shape, v, UPP_OPTS(wj_decode_opts, .plans = plans_of(way, &plans)), &to.node,
                            NULL) == 0);
    }
}

static void ignore_problem(void *ctx, const char *pointer, const char *sentence)
{
    (void)pointer, (void)sentence;
    ++*(unsigned *)ctx;
}

/* Every member a problem; and those that are told, at the far end. */
TEST_WITH(decode_many_problems_in_linear_time, .no_torture = "nothing but time", .seconds = 120)
{
    enum { N = 1000000 };
    static const char *const bad[] = {",\"title\":0", ",\"x\":0"};
    for (size_t k = 0; k < WB_LEN(bad); k++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(256u << 20);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA((size_t)2 << 30);
        unsigned told = 0;
        struct wj_decode_opts opts = {.size = sizeof opts, .problem = ignore_problem, .ctx = &told};
        struct chat c;
        yyjson_val *v;
        wb_buf_add(&b, UPP_STR("{\"id\":\"c\",\"messages\":[]"));
        for (int i = 0; i < N; i++)
            wb_buf_add(&b, wb_cstr(bad[k]));
        for (int i = 0; i < 200; i++)
            wb_buf_add(&b, UPP_STR(",\"version\":\"\""));
        wb_buf_addc(&b, '}');
        CHECK(wj_read(&a, wb_buf_str(&b), UPP_OPTS(wj_read_opts, .max_bytes = SIZE_MAX / 64), &v, NULL) == 0);
        CHECK_INT(WJ_DECODE(&a, chat, v, &opts, &c, NULL), k == 0 ? N + 200 : 200);
        CHECK_INT(told, WJ_MAX_PROBLEMS);
    }
}

/* Nested shapes at their limit, on a stack that is smaller than a fiber's. */
static int decode_deep(void *arg, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    int r = 0;
    (void)arg;
    for (int levels = 1; r == 0 && levels <= 63; levels++) { /* of two each, and two around them */
        struct chat c;
        yyjson_val *v;
        wb_buf_clear(&b);
        wb_buf_add(&b, UPP_STR("{\"id\":\"c\",\"messages\":["));
        for (int i = 0; i < levels; i++)
            wb_buf_add(&b, UPP_STR("{\"id\":\"m\",\"role\":\"user\",\"replies\":["));
        for (int i = 0; i < levels; i++)
            wb_buf_add(&b, UPP_STR("]}"));
        wb_buf_add(&b, UPP_STR("]}"));
        r = wj_read(&a, wb_buf_str(&b), NULL, &v, err);
        if (r == 0)
            r = WJ_DECODE(&a, chat, v, NULL, &c, err);
    }
    return r;
}

TEST(decode_depth_fits_a_fibers_stack)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
    size_t stack = 256u << 10; /* frames are larger there, and so are the stacks of fibers */
#else
    size_t stack = 48u << 10;
#endif
    CHECK(weft_loop_open(UPP_OPTS(weft_loop_opts, .stack_size = stack), &l, &err) == 0);
    CHECK_INT(weft_loop_run(l, "deep", decode_deep, NULL, &err), 0);
}

TEST(decode_refuses_what_is_nested_too_deep)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_err err = {0};
    struct wj_decode_opts opts = {.size = sizeof opts, .depth = 5};
    struct chat c;
    CHECK_INT(decode(&a, MSG(",\"replies\":[{\"id\":\"2\",\"role\":\"user\"}]"), &opts, &c, &err), 0);
    CHECK_INT(
        decode(&a,
               MSG(",\"replies\":[{\"id\":\"2\",\"role\":\"user\",\"replies\":[{\"id\":\"3\",\"role\":\"user\"}]}]"),
               &opts, &c, &err),
        -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("nested deeper than 5 levels"));
    CHECK_STR(wb_cstr(err.where), UPP_STR("/messages/0/replies/0/replies"));
}

TEST(decode_stays_inside_the_arena)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    wb_buf_add(&b, UPP_STR("{\"id\":\"c\",\"messages\":[{\"id\":\"\",\"role\":\"\"}"));
    for (int i = 0; i < 2000; i++)
        wb_buf_add(&b, UPP_STR(",{\"id\":\"\",\"role\":\"\"}"));
    wb_buf_add(&b, UPP_STR("]}"));
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(300u << 10);
    struct upp_err err = {0};
    yyjson_val *v;
    struct chat c;
    CHECK(wj_read(&a, wb_buf_str(&b), NULL, &v, &err) == 0);
    CHECK_INT(WJ_DECODE(&a, chat, v, NULL, &c, &err), -UPP_ELIMIT);
}

/* ---- Forms of one member, strict words, closed shapes ------------------------------------------------------ */

struct mixed {
    struct wj_node node;
    enum role role;
    yyjson_val *rest;
    struct upp_str label;
};
static const struct wj_field mixed_rows[] = {
    F_ENUM(struct mixed, role, "role", 0, roles),
    F_STR(struct mixed, label, "either", F_OR),
    F_ANY(struct mixed, rest, "either", 0),
};
WJ_SHAPE(mixed, struct mixed, mixed_rows);

TEST(decode_forms_of_one_member)
{
    static const struct {
        const char *text, *where, *msg; /* where NULL: is read */
        bool label, rest;
    } cases[] = {
        {"{\"role\":\"bard\"}", "/role", "expected one of 'user', 'assistant', 'tool', found 'bard'", false, false},
        {"{\"either\":\"a string\"}", NULL, NULL, true, false},
        {"{\"either\":[null,{\"or\":\"anything\"}]}", NULL, NULL, false, true},
        {"{\"either\":null}", NULL, NULL, false, true},
        {"{\"either\":\"a string\",\"either\":1}", NULL, NULL, false, true},
        {"{\"either\":1,\"role\":\"user\",\"either\":\"a string\"}", NULL, NULL, true, false},
        {"{\"role\":\"user\",\"rule\":1,\"either\":1}", "/rule", "expected no such member", false, false},
    };
    for (size_t i = 0; i < WAYS * WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_err err = {0};
        const size_t k = i % WB_LEN(cases);
        struct wj_plans plans;
        struct mixed m;
        yyjson_val *v;
        struct wj_decode_opts opts = {
            .size = sizeof opts, .closed = true, .plans = plans_of((enum way)(i / WB_LEN(cases)), &plans)};
        test_note("case %zu", i);
        CHECK(wj_read(&a, wb_cstr(cases[k].text), NULL, &v, &err) == 0);
        CHECK_INT(WJ_DECODE(&a, mixed, v, &opts, &m, &err), cases[k].where ? -UPP_EINVALID : 0);
        if (cases[k].where) {
            CHECK_STR(wb_cstr(err.where), wb_cstr(cases[k].where));
            CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[k].msg));
        } else
            CHECK(!!m.label.p == cases[k].label && !!m.rest == cases[k].rest);
    }
}

TEST(decode_tells_of_every_unknown_member)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct wj_decode_opts opts = {.size = sizeof opts, .problem = note_problem, .ctx = &b, .closed = true};
    struct chat c;
    CHECK_INT(
        decode(&a, "{\"x\":1,\"messages\":[{\"id\":\"1\",\"role\":\"user\",\"y\":2}],\"id\":\"c\"}", &opts, &c, NULL),
        2);
    CHECK(wb_buf_check(&b, NULL) == 0);
    CHECK_STR(wb_buf_str(&b), UPP_STR("/x: expected no such member\n/messages/0/y: expected no such member\n"));
    CHECK(c.id.p && c.messages.n == 1 && c.messages.p[0].role == ROLE_USER);
}

/* ---- Sentences about text that was found ---------------------------------------------------------------- */

enum colour { COLOUR_NONE, COLOUR_ONE };
struct painted {
    struct wj_node node;
    enum colour colour;
};
#define W16(c) c c c c c c c c c c c c c c c c
WJ_ENUM(colours, enum colour, WJ_WORD(W16("red"), COLOUR_ONE), WJ_WORD(W16("\xe2\x82\xac"), COLOUR_ONE),
        WJ_WORD(W16("blue"), COLOUR_ONE), WJ_WORD(W16("green"), COLOUR_ONE));
static const struct wj_field painted_rows[] = {F_ENUM(struct painted, colour, "colour", 0, colours)};
WJ_SHAPE(painted, struct painted, painted_rows);

TEST(decode_says_which_text_it_found)
{
    static const struct {
        const char *text, *msg;
    } cases[] = {
        {"{\"role\":\"u\\u0000ser\"}", "expected one of 'user', 'assistant', 'tool', found 'u\\u0000ser'"},
        {"{\"role\":\"\\ud83d\\n\"}", "expected one of 'user', 'assistant', 'tool', found '\xef\xbf\xbd\\n'"},
        {"{\"role\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}",
         "expected one of 'user', 'assistant', 'tool', found "
         "'012345678901234567890123456789012345678901234567890123456789012345...'"},
        {"{\"role\":\"x\xf0\x9f\x98\x80\xf0\x9f\x98\x80" W16("\xf0\x9f\x98\x80") "\"}",
         "expected one of 'user', 'assistant', 'tool', found 'x" W16("\xf0\x9f\x98\x80") "...'"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_err err = {0};
        struct mixed m;
        yyjson_val *v;
        test_note("case %zu", i);
        CHECK(wj_read(&a, wb_cstr(cases[i].text), NULL, &v, NULL) == 0);
        CHECK_INT(WJ_DECODE(&a, mixed, v, NULL, &m, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].msg));
    }
}

static void need_utf8(void *ctx, const char *pointer, const char *sentence)
{
    bool *ok = ctx;
    *ok = *ok && wb_utf8_valid(wb_cstr(pointer), NULL) && wb_utf8_valid(wb_cstr(sentence), NULL);
}

/* Whatever text a document holds and however long it is, a sentence is UTF-8, and ends or says that it was cut. */
TEST_WITH(decode_sentences_are_utf8_and_say_when_they_are_cut, .no_torture = "nothing but text")
{
    static const char *const bits[] = {"a",        "\\ud83d",          "\\ude00", "\\u0000",
                                       "\xc3\xa9", "\xf0\x9f\x98\x80", "\\n",     "'"};
    static const struct {
        const char *before, *after;
        const struct wj_shape *shape;
    } places[] = {
        {"{\"role\":\"", "\"}", &mixed.of},
        {"{\"colour\":\"", "\"}", &painted.of},
    };
    unsigned x = 1;
    for (size_t k = 0; k < 2000; k++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
        struct upp_err err = {0};
        bool ok = true;
        union {
            struct wj_node node;
            struct mixed mixed;
            struct painted painted;
        } to;
        yyjson_val *v;
        size_t p = k % WB_LEN(places);
        wb_buf_add(&b, wb_cstr(places[p].before));
        for (size_t i = 0; i < k / 20; i++) {
            x = x * 1103515245u + 12345u;
            wb_buf_add(&b, wb_cstr(bits[x >> 16 & 7]));
        }
        wb_buf_add(&b, wb_cstr(places[p].after));
        CHECK(wj_read(&a, wb_buf_str(&b), NULL, &v, NULL) == 0);
        CHECK_INT(wj_decode(&a, places[p].shape, v, NULL, &to.node, &err), -UPP_EINVALID);
        struct upp_str msg = wb_cstr(err.msg);
        CHECK(wb_utf8_valid(msg, NULL) && wb_utf8_valid(wb_cstr(err.where), NULL));
        CHECK(wb_str_ends(msg, UPP_STR("'")) || wb_str_ends(msg, UPP_STR("...")));
        struct wj_decode_opts opts = {.size = sizeof opts, .problem = need_utf8, .ctx = &ok};
        CHECK_INT(wj_decode(&a, places[p].shape, v, &opts, &to.node, NULL), 1);
        CHECK(ok);
    }
}

TEST(decode_says_that_a_list_of_words_was_cut)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_err err = {0};
    struct painted p;
    yyjson_val *v;
    CHECK(wj_read(&a, UPP_STR("{\"colour\":\"pink\"}"), NULL, &v, NULL) == 0);
    CHECK_INT(WJ_DECODE(&a, painted, v, NULL, &p, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg),
              UPP_STR("expected one of '" W16("red") "', '" W16("\xe2\x82\xac") "', ..., found 'pink'"));
}
