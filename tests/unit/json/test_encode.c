#include "json/encode.h"

#include <string.h>

#include "base/buf.h"
#include "json/read.h"
#include "json/value.h"
#include "support/chat.h"
#include "support/test.h"

/* One edit of a message, and what comes of it. */
struct edit {
    const char *before, *after;
    void (*change)(struct wb_arena *a, struct message *m);
};

static void nothing(struct wb_arena *a, struct message *m)
{
    (void)a, (void)m;
}
static void clear_text(struct wb_arena *a, struct message *m)
{
    (void)a;
    m->text = (struct upp_str){0};
}
static void set_text(struct wb_arena *a, struct message *m)
{
    (void)a;
    m->text = UPP_STR("new");
}
static void set_vendor(struct wb_arena *a, struct message *m)
{
    (void)a;
    m->vendor_id = UPP_STR("v2");
}
static void set_role(struct wb_arena *a, struct message *m)
{
    (void)a;
    WJ_SET(m, role, ROLE_TOOL);
}
static void parts_for_text(struct wb_arena *a, struct message *m)
{
    struct text_part *t = WJ_NEW(a, text_part);
    m->parts.p          = wb_new(a, struct wj_var);
    m->parts.n          = 1;
    if (t && m->parts.p) {
        t->text       = m->text;
        m->parts.p[0] = (struct wj_var){.node = &t->node, .tag = PART_TEXT};
        m->text       = (struct upp_str){0};
    }
}
static void set_usage(struct wb_arena *a, struct message *m)
{
    if (!m->usage)
        m->usage = WJ_NEW(a, usage);
    if (m->usage) {
        WJ_SET(m->usage, input, 5);
        WJ_SET(m->usage, cost, 0.5);
    }
}
static void unset_cost(struct wb_arena *a, struct message *m)
{
    (void)a;
    WJ_UNSET(m->usage, cost);
}
static void set_output(struct wb_arena *a, struct message *m)
{
    (void)a;
    WJ_SET(m->usage, output, 9);
}
static void same_numbers(struct wb_arena *a, struct message *m)
{
    (void)a;
    m->usage->input = 7;
    m->usage->cost  = 0.5;
}
static void other_numbers(struct wb_arena *a, struct message *m)
{
    (void)a;
    m->usage->input = 8;
    m->usage->cost  = 0.25;
}
static void add_metadata(struct wb_arena *a, struct message *m)
{
    struct wj_pair *p = wb_new_n(a, struct wj_pair, m->metadata.n + 1);
    if (p) {
        if (m->metadata.n)
            memcpy(p, m->metadata.p, m->metadata.n * sizeof *p);
        p[m->metadata.n] = (struct wj_pair){UPP_STR("added"), wj_value_bool(a, true)};
        m->metadata.p    = p;
        m->metadata.n++;
    }
}
static void clear_metadata(struct wb_arena *a, struct message *m)
{
    (void)a;
    m->metadata = (struct wj_map){0};
}

TEST(encode_writes_edits_and_keeps_the_rest)
{
    static const struct edit edits[] = {
        {"{\"x\":1,\"id\":\"1\",\"y\":2,\"role\":\"user\"}", "{\"x\":1,\"id\":\"1\",\"y\":2,\"role\":\"user\"}",
         nothing},
        /* left out */
        {"{\"x\":1,\"content\":\"t\",\"id\":\"1\",\"role\":\"user\"}", "{\"x\":1,\"id\":\"1\",\"role\":\"user\"}",
         clear_text},
        {"{\"content\":\"t\",\"id\":\"1\",\"role\":\"user\",\"content\":\"u\"}",
         "{\"content\":\"t\",\"id\":\"1\",\"role\":\"user\"}", clear_text}, /* the duplicate is not ours */
        /* new: to the end where the order is the document's, to its place where it is the table's */
        {"{\"role\":\"user\",\"id\":\"1\",\"z\":0}", "{\"role\":\"user\",\"id\":\"1\",\"z\":0,\"content\":\"new\"}",
         set_text},
        {"{\"id\":\"1\",\"role\":\"user\",\"metadata\":{}}",
         "{\"id\":\"1\",\"role\":\"user\",\"content\":\"new\",\"metadata\":{}}", set_text},
        /* null becomes a value, and a value stays where null was */
        {"{\"id\":\"1\",\"content\":null,\"role\":\"user\"}", "{\"id\":\"1\",\"content\":\"new\",\"role\":\"user\"}",
         set_text},
        {"{\"id\":\"1\",\"content\":null,\"role\":\"user\"}", "{\"id\":\"1\",\"content\":null,\"role\":\"user\"}",
         clear_text},
        /* one spelling for another, in its place */
        {"{\"content\":\"t\",\"id\":\"1\",\"role\":\"user\",\"q\":0}",
         "{\"content\":[{\"type\":\"text\",\"text\":\"t\"}],\"id\":\"1\",\"role\":\"user\",\"q\":0}", parts_for_text},
        {"{\"id\":\"1\",\"role\":\"user\",\"content\":\"t\"}",
         "{\"id\":\"1\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"t\"}]}", parts_for_text},
        /* an alias stays what it was; a new member has the first name */
        {"{\"id\":\"1\",\"role\":\"user\",\"vendor_id\":\"v\"}",
         "{\"id\":\"1\",\"role\":\"user\",\"vendor_id\":\"v2\"}", set_vendor},
        {"{\"id\":\"1\",\"role\":\"user\",\"vendor_id\":null}", "{\"id\":\"1\",\"role\":\"user\",\"vendor_id\":\"v2\"}",
         set_vendor},
        {"{\"id\":\"1\",\"role\":\"user\"}", "{\"id\":\"1\",\"role\":\"user\",\"provider_response_id\":\"v2\"}",
         set_vendor},
        /* a word nobody knew */
        {"{\"id\":\"1\",\"role\":\"bard\"}", "{\"id\":\"1\",\"role\":\"bard\"}", nothing},
        {"{\"id\":\"1\",\"role\":\"bard\"}", "{\"id\":\"1\",\"role\":\"tool\"}", set_role},
        /* numbers: an unchanged value keeps its spelling */
        {"{\"id\":\"1\",\"role\":\"user\",\"usage\":{\"input_tokens\":7.0,\"cost\":5e-1}}",
         "{\"id\":\"1\",\"role\":\"user\",\"usage\":{\"input_tokens\":7.0,\"cost\":5e-1}}", same_numbers},
        {"{\"id\":\"1\",\"role\":\"user\",\"usage\":{\"input_tokens\":7.0,\"cost\":5e-1}}",
         "{\"id\":\"1\",\"role\":\"user\",\"usage\":{\"input_tokens\":8,\"cost\":0.25}}", other_numbers},
        {"{\"id\":\"1\",\"role\":\"user\",\"usage\":{\"request_tokens\":7,\"k\":0}}",
         "{\"id\":\"1\",\"role\":\"user\",\"usage\":{\"request_tokens\":5,\"k\":0,\"cost\":0.5}}", set_usage},
        {"{\"id\":\"1\",\"role\":\"user\",\"usage\":{\"input_tokens\":7,\"cost\":0.5}}",
         "{\"id\":\"1\",\"role\":\"user\",\"usage\":{\"input_tokens\":7}}", unset_cost},
        {"{\"id\":\"1\",\"role\":\"user\",\"usage\":{\"output_tokens\":null,\"input_tokens\":7}}",
         "{\"id\":\"1\",\"role\":\"user\",\"usage\":{\"output_tokens\":9,\"input_tokens\":7}}", set_output},
        {"{\"id\":\"1\",\"role\":\"user\"}",
         "{\"id\":\"1\",\"role\":\"user\",\"usage\":{\"input_tokens\":5,\"cost\":0.5}}", set_usage},
        /* maps */
        {"{\"id\":\"1\",\"role\":\"user\",\"metadata\":{\"b\":1,\"a\":[1.0]}}",
         "{\"id\":\"1\",\"role\":\"user\",\"metadata\":{\"b\":1,\"a\":[1.0],\"added\":true}}", add_metadata},
        {"{\"id\":\"1\",\"role\":\"user\",\"metadata\":null}",
         "{\"id\":\"1\",\"role\":\"user\",\"metadata\":{\"added\":true}}", add_metadata},
        {"{\"id\":\"1\",\"role\":\"user\",\"metadata\":{}}", "{\"id\":\"1\",\"role\":\"user\"}", clear_metadata},
    };
    for (size_t i = 0; i < WB_LEN(edits); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(1u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf     b   = WB_BUF(1u << 20);
        struct upp_err                            err = {0};
        struct message                            m;
        yyjson_val                               *v;
        test_note("case %zu", i);
        CHECK(wj_read(&a, wb_cstr(edits[i].before), NULL, &v, &err) == 0);
        CHECK(WJ_DECODE(&a, message, v, NULL, &m, &err) == 0);
        edits[i].change(&a, &m);
        CHECK(wb_arena_check(&a, NULL) == 0);
        CHECK(WJ_ENCODE(message, &m, &b, &err) == 0);
        CHECK_STR(wb_buf_str(&b), wb_cstr(edits[i].after));
    }
}

TEST(encode_objects_made_by_hand)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(1u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     b   = WB_BUF(1u << 20);
    struct upp_err                            err = {0};
    struct usage                              u   = {.node = WJ_NODE(usage), .input = 3, .exact = UPP_STR("1e999")};
    struct call_part   call    = {.id = UPP_STR("c1"), .name = UPP_STR("f"), .args = wj_value_i64(&a, -4)};
    struct upp_str     lines[] = {UPP_STR("one"), {0}};
    struct result_part result  = {.node = WJ_NODE(result_part), .id = UPP_STR("c1"), .lines = {lines, 2, NULL}};
    struct wj_var      parts[] = {{.node = &call.node, .tag = PART_CALL}, {.node = &result.node, .tag = PART_RESULT}};
    struct message     m[]     = {{.id = UPP_STR("1"), .role = ROLE_ASSISTANT, .parts = {parts, 2, NULL}, .usage = &u},
                                   {.id = UPP_STR("2"), .role = ROLE_USER, .text = UPP_STR("\xed\xa0\xbd")}};
    struct chat        c       = {.node = WJ_NODE(chat), .id = UPP_STR("c"), .messages = {m, 2, NULL}};
    WJ_SET(&c, version, 1);
    WJ_SET(&result, failed, false);
    CHECK(call.args);
    CHECK(WJ_ENCODE(chat, &c, &b, &err) == 0);
    CHECK_STR(wb_buf_str(&b),
              UPP_STR("{\"id\":\"c\",\"version\":1,\"messages\":[{\"id\":\"1\",\"role\":\"assistant\",\"content\":["
                      "{\"type\":\"tool_call\",\"id\":\"c1\",\"name\":\"f\",\"args\":-4},{\"type\":\"tool_result\","
                      "\"id\":\"c1\",\"content\":[\"one\",null],\"failed\":false}],\"usage\":{\"input_tokens\":3,"
                      "\"exact\":1e999}},{\"id\":\"2\",\"role\":\"user\",\"content\":\"\\ud83d\"}]}"));
}

/* Leftovers belong to the shape that read them. */
static const struct wj_field words_rows[] = {F_STR(struct text_part, text, "words", F_REQUIRED)};
WJ_SHAPE(words, struct text_part, words_rows);

TEST(encode_by_another_shape_leaves_out_what_is_not_its_own)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     b = WB_BUF(1u << 20);
    struct text_part                          t;
    yyjson_val                               *v;
    CHECK(wj_read(&a, UPP_STR("{\"z\":1,\"text\":\"t\",\"type\":\"text\"}"), NULL, &v, NULL) == 0);
    CHECK(WJ_DECODE(&a, text_part, v, NULL, &t, NULL) == 0);
    CHECK(WJ_ENCODE(words, &t, &b, NULL) == 0);
    CHECK_STR(wb_buf_str(&b), UPP_STR("{\"words\":\"t\"}"));
}

TEST(encode_says_where_it_failed)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a     = WB_ARENA(1u << 20);
    struct upp_str                            bad[] = {UPP_STR("fine"), UPP_STR("\xff")};
    struct usage                              inf   = {.cost = 1e308 * 10};
    struct text_part                          t     = {.text = {0}};
    struct wj_var no_text[] = {{.node = &t.node, .tag = PART_TEXT}}, unknown[] = {{.node = &t.node, .tag = 77}},
                  nothing_at_all[] = {{0}};
    struct result_part hole        = {.id = UPP_STR("x"), .lines = {bad, 2, NULL}};
    struct wj_var      lines[]     = {{.node = &hole.node, .tag = PART_RESULT}};
    struct wj_pair     pair[]      = {{UPP_STR("\xc3"), wj_value_null(&a)}};
    yyjson_val        *opaque;
    CHECK(wj_read(&a, UPP_STR("[[\"?\"]]"), NULL, &opaque, NULL) == 0);
    CHECK(yyjson_set_strn(opaque + 2, "\xfe", 1) && pair[0].value);
    inf.node.shape = &usage.of;
    WJ_SET(&inf, cost, 1e308 * 10);
    const struct {
        struct message m;
        const char    *where, *msg;
    } cases[] = {
        {{.role = ROLE_USER}, "/messages/0", "member 'id' is missing"},
        {{.id = UPP_STR("1"), .role = ROLE_OTHER}, "/messages/0/role", "expected a value that has a word, found 0"},
         {{.id = UPP_STR("\x80"), .role = ROLE_USER},
           "/messages/0/id",
           "expected UTF-8 in a string, found the byte 0x80"},
          {{.id = UPP_STR("1"), .role = ROLE_USER, .parts = {no_text, 1, NULL}},
            "/messages/0/content/0",
            "member 'text' is missing"},
           {{.id = UPP_STR("1"), .role = ROLE_USER, .parts = {unknown, 1, NULL}},
             "/messages/0/content/0",
             "expected a known variant, found 77"},
            {{.id = UPP_STR("1"), .role = ROLE_USER, .parts = {nothing_at_all, 1, NULL}},
              "/messages/0/content/0",
              "expected an object, found nothing"},
             {{.id = UPP_STR("1"), .role = ROLE_USER, .parts = {lines, 1, NULL}},
               "/messages/0/content/0/content/1",
               "expected UTF-8 in a string, found the byte 0xff"},
              {{.id = UPP_STR("1"), .role = ROLE_USER, .usage = &inf},
                "/messages/0/usage/cost",
                "expected a finite number, found inf"},
               {{.id = UPP_STR("1"), .role = ROLE_USER, .metadata = {pair, 1}},
                 "/messages/0/metadata",
                 "expected UTF-8 in a string, found the byte 0xc3"},
              };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b   = WB_BUF(1u << 20);
        struct upp_err                        err = {0};
        struct message                        m   = cases[i].m;
        struct chat                           c   = {.id = UPP_STR("c"), .messages = {&m, 1, NULL}};
        test_note("case %zu", i);
        CHECK_INT(WJ_ENCODE(chat, &c, &b, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].msg));
        CHECK_STR(wb_cstr(err.where), wb_cstr(cases[i].where));
    }
    WB_CLEANUP(wb_buf_done) struct wb_buf b   = WB_BUF(1u << 20);
    struct upp_err                        err = {0};
    struct message                        none[1];
    struct chat                           c = {.id = UPP_STR("c"), .messages = {none, 0, NULL}, .state = opaque};
    CHECK_INT(WJ_ENCODE(chat, &c, &b, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/state/0/0"));
}

TEST(encode_a_circle_ends)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b   = WB_BUF(1u << 20);
    struct upp_err                        err = {0};
    struct message                        m   = {.id = UPP_STR("1"), .role = ROLE_USER};
    m.replies.p                               = &m;
    m.replies.n                               = 1;
    CHECK_INT(WJ_ENCODE(message, &m, &b, &err), -UPP_ELIMIT);
}

/* A required member that was read and then emptied is an error; one that never was is not, or nothing that was
 * collected could be written back. */
/* A message is a level, and so is the list of its replies. */
TEST(encode_has_a_depth)
{
    static struct message m[WJ_SHAPE_DEPTH / 2 + 1];
    for (size_t n = WJ_SHAPE_DEPTH / 2; n <= WJ_SHAPE_DEPTH / 2 + 1; n++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b    = WB_BUF(1u << 20);
        struct upp_err                        err  = {0};
        bool                                  fits = n == WJ_SHAPE_DEPTH / 2;
        memset(m, 0, sizeof m);
        for (size_t i = 0; i < n; i++) {
            m[i].id        = UPP_STR("1");
            m[i].role      = ROLE_USER;
            m[i].replies.p = i + 1 < n ? &m[i + 1] : NULL;
            m[i].replies.n = i + 1 < n;
        }
        CHECK_INT(WJ_ENCODE(message, &m[0], &b, &err), fits ? 0 : -UPP_ELIMIT);
        CHECK_STR(wb_cstr(err.msg), fits ? UPP_STR("") : UPP_STR("nested deeper than 128 levels"));
        CHECK(fits ? !err.where[0] : strlen(err.where) > 0);
    }
}

TEST(encode_required_member_emptied)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(1u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     b   = WB_BUF(1u << 20);
    struct upp_err                            err = {0};
    struct message                            m;
    yyjson_val                               *v;
    CHECK(wj_read(&a, UPP_STR("{\"role\":\"user\",\"id\":\"1\"}"), NULL, &v, NULL) == 0);
    CHECK(WJ_DECODE(&a, message, v, NULL, &m, NULL) == 0);
    m.id = (struct upp_str){0};
    CHECK_INT(WJ_ENCODE(message, &m, &b, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("member 'id' is missing"));
    CHECK_STR(wb_cstr(err.where), UPP_STR(""));
}
