/* Envelopes that are as we write them are not compared when they are read: all come back as they were, and so do those
 * that just miss it. */
#include "dialects/core/convert.h"
#include "support/documents.h"
#include "support/test.h"

#define HEAD(role, who)                                                                                                \
    "{\"protocol\":\"multiagent-1.0\",\"role\":\"" role "\"," who "\"timestamp\":\"2026-01-02T03:04:05Z\","
#define NO_MODEL "\"agent\":{\"id\":\"a\",\"name\":\"Ann\",\"model\":\"n/a\"},"
#define MODEL    "\"agent\":{\"id\":\"a\",\"name\":\"Ann\",\"model\":\"m-1\"},"
#define OWN      "\"agent\":{\"id\":\"b\",\"name\":\"Bob\",\"model\":\"m-2\"},"
#define TEN      "0123456789"
#define LONG     TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "012345678"

/* One of each form that is plain. */
static const char plain[] = "[" /* a question */
    HEAD("user",
         "") "\"intent\":\"execute\",\"task\":\"Read it.\",\"content\":{\"type\":\"text\",\"text\":\"Read it.\"},"
             "\"trace\":{\"id\":\"u1\"}}," /* what a model thought, said and called: one message */
    HEAD(
        "agent",
        MODEL) "\"intent\":\"reflect\",\"task\":\"Reasoning: I shall.\",\"content\":{\"type\":\"text\","
               "\"text\":\"I shall.\"},\"trace\":{\"parents\":[\"u1\"],\"id\":\"m1\",\"cost\":{\"input_tokens\":12,"
               "\"output_tokens\":0}},\"weft\":{\"kind\":\"reasoning\",\"provider\":\"p\"}}," HEAD(
                   "agent",
                   MODEL) "\"intent\":\"analyze\",\"task\":\"(nothing)\",\"content\":{\"type\":\"text\",\"text\":\"\"},"
                          "\"trace\":{\"parents\":[\"m1\"],\"id\":\"m1.1\"},\"weft\":{\"of\":\"m1\"}}," HEAD(
                              "agent",
                              MODEL) "\"intent\":\"tool.call\",\"task\":\"Call "
                                     "read\",\"content\":{\"type\":\"json\",\"text\":"
                                     "\"Call "
                                     "read\",\"data\":{\"id\":\"c1\",\"name\":\"read\",\"arguments\":{\"path\":\"a.c\","
                                     "\"line\":1e2}}},"
                                     "\"trace\":{\"parents\":[\"m1.1\"],\"id\":\"m1.2\"},\"weft\":{\"of\":\"m1\"}}"
                                     "," HEAD("agent",
                                              MODEL) "\"intent\":\"tool.call\",\"task\":\"Call a "
                                                     "tool\",\"content\":{\"type\":\"json\",\"text\":"
                                                     "\"Call a "
                                                     "tool\",\"data\":{\"id\":\"c2\",\"name\":\"\",\"arguments\":{}}},"
                                                     "\"trace\":{\"parents\":[\"m1.2\"],\"id\":\"m1.3\"},\"weft\":{"
                                                     "\"of\":\"m1\"}}," /* results */
    HEAD("tool",
         NO_MODEL) "\"intent\":\"tool.call\",\"task\":\"Result of read\",\"content\":{\"type\":\"tool_result\","
                   "\"text\":\"object: a, "
                   "b\",\"data\":{\"a\":[1,null],\"b\":\"x\"}},\"trace\":{\"parents\":[\"m1.2\"],\"id\":\"r1\"},"
                   "\"weft\":{\"call\":\"c1\",\"name\":\"read\"}}," HEAD(
                       "tool",
                       NO_MODEL) "\"intent\":\"tool.call\",\"task\":\"Failure of a "
                                 "tool\",\"content\":{\"type\":\"error\","
                                 "\"text\":\"No \\\"file\\\".\",\"data\":\"No "
                                 "\\\"file\\\".\"},\"trace\":{\"parents\":[\"m1.3\"],\"id\":\"r2\"},"
                                 "\"weft\":{\"call\":\"c2\"}}," HEAD(
                                     "tool",
                                     NO_MODEL) "\"intent\":\"tool.call\",\"task\":\"Result of "
                                               "read\",\"content\":{\"type\":\"tool_result\","
                                               "\"text\":\"list of "
                                               "2\",\"data\":[1,2]},\"trace\":{\"parents\":[\"r2\"],\"id\":\"r3\"},"
                                               "\"weft\":{\"call\":\"c9\",\"name\":\"read\"}}," HEAD(
                                                   "tool",
                                                   NO_MODEL) "\"intent\":\"tool.call\",\"task\":\"Result of "
                                                             "read\",\"content\":{\"type\":\"tool_result\","
                                                             "\"text\":\"object\",\"data\":{}},\"trace\":{\"parents\":["
                                                             "\"m1.2\"],\"id\":\"r4\"},"
                                                             "\"weft\":{\"call\":\"c1\",\"name\":\"read\"}}," /* an
                                                                                                                 answer
                                                                                                                 that is
                                                                                                                 long */
    HEAD("agent", NO_MODEL) "\"intent\":\"analyze\",\"task\":\"" LONG
                            "\",\"content\":{\"type\":\"text\",\"text\":\"" LONG
                            "\xf0\x9f\x98\x80.\"},\"trace\":{\"parents\":[\"r4\"],\"id\":\"m2\"}}," /* of an agent that
                                                                                                       has a model */
    HEAD("tool", OWN) "\"intent\":\"tool.call\",\"task\":\"Result of find\",\"content\":{\"type\":\"tool_result\","
                      "\"text\":\"\",\"data\":\"\"},\"trace\":{\"parents\":[\"m2\"],\"id\":\"r5\"},"
                      "\"weft\":{\"call\":\"c5\",\"name\":\"find\"}}]";

/* The same, but for one place. */
static const struct test_edit missed[] = {
    /* members: another, one less, another order, null, another type */
    {"\"role\":\"user\",", "\"role\":\"user\",\"x\":1,"},
    {"\"protocol\":\"multiagent-1.0\",\"role\":\"user\",", "\"role\":\"user\",\"protocol\":\"multiagent-1.0\","},
    {"\"protocol\":\"multiagent-1.0\",\"role\":\"user\",", "\"role\":\"user\","},
    {"multiagent-1.0", "multiagent-1.1"},
    {"\"protocol\":\"multiagent-1.0\"", "\"protocol\":1"},
    {"\"role\":\"user\",", "\"role\":\"user\",\"role\":\"user\","},
    {"\"intent\":\"execute\",", ""},
    {"\"task\":\"Read it.\",", "\"task\":null,"},
    {"\"trace\":{\"id\":\"u1\"}}", "\"trace\":{\"id\":\"u1\"},\"weft\":{}}"},
    {"\"trace\":{\"id\":\"u1\"}}", "\"trace\":{\"id\":\"u1\"},\"weft\":null}"},
    {"\"trace\":{\"id\":\"u1\"}}", "\"trace\":{\"id\":\"u1\"},\"confidence\":{\"score\":0.5}}"},
    {"\"trace\":{\"id\":\"u1\"}}", "\"weft\":{\"x\":1},\"trace\":{\"id\":\"u1\"}}"},
    /* role and agent */
    {"\"role\":\"user\",", "\"role\":\"user\",\"agent\":{\"id\":\"a\",\"name\":\"Ann\",\"model\":\"n/a\"},"},
    {"\"role\":\"tool\"", "\"role\":\"agent\""},
    {"\"role\":\"tool\"", "\"role\":\"user\""},
    {"\"role\":\"agent\"", "\"role\":\"user\""},
    {"\"role\":\"agent\"", "\"role\":\"tool\""},
    {"\"name\":\"Ann\",\"model\":\"n/a\"", "\"name\":\"Eve\",\"model\":\"n/a\""},
    {"\"name\":\"Ann\",\"model\":\"n/a\"", "\"model\":\"n/a\",\"name\":\"Ann\""},
    {"\"name\":\"Ann\",\"model\":\"n/a\"", "\"name\":\"Ann\",\"model\":\"n/a\",\"version\":\"1\""},
    {"\"name\":\"Ann\",\"model\":\"n/a\"", "\"name\":\"Ann\""},
    {"\"name\":\"Ann\",\"model\":\"n/a\"", "\"name\":\"Ann\",\"model\":\"m-3\""},
    {"\"name\":\"Ann\",\"model\":\"n/a\"", "\"name\":\"Ann\",\"model\":\"\""},
    {"\"id\":\"a\",\"name\":\"Ann\",\"model\":\"n/a\"", "\"id\":\"\",\"name\":\"Ann\",\"model\":\"n/a\""},
    {"\"id\":\"a\",\"name\":\"Ann\",\"model\":\"n/a\"", "\"id\":\"b\",\"name\":\"Bob\",\"model\":\"n/a\""},
    {NO_MODEL, ""},
    {NO_MODEL, "\"agent\":null,"},
    /* time */
    {"\"timestamp\":\"2026-01-02T03:04:05Z\"", "\"timestamp\":\"2026-01-02\""},
    {"\"timestamp\":\"2026-01-02T03:04:05Z\"", "\"timestamp\":\"soon\""},
    {"\"timestamp\":\"2026-01-02T03:04:05Z\",\"intent\":\"analyze\"",
     "\"timestamp\":\"2026-01-02T03:04:06Z\",\"intent\":\"analyze\""},
    /* intent, task, content */
    {"\"intent\":\"execute\"", "\"intent\":\"plan\""},
    {"\"intent\":\"reflect\"", "\"intent\":\"analyze\""},
    {"\"intent\":\"tool.call\"", "\"intent\":\"execute\""},
    {"\"task\":\"Read it.\"", "\"task\":\"Read it\""},
    {"\"task\":\"Read it.\"", "\"task\":\"Read it.!\""},
    {"\"task\":\"Read it.\"", "\"task\":\"\""},
    {"\"task\":\"(nothing)\"", "\"task\":\"\""},
    {"\"task\":\"Reasoning: I shall.\"", "\"task\":\"I shall.\""},
    {"\"task\":\"Reasoning: I shall.\"", "\"task\":\"Reasoning: I shall\""},
    {"\"task\":\"Call read\"", "\"task\":\"Call reading\""},
    {"\"text\":\"Call read\"", "\"text\":\"Call of read\""},
    {"\"text\":\"Call a tool\"", "\"text\":\"Call \""},
    {"\"task\":\"Result of read\"", "\"task\":\"Result of\""},
    {"\"task\":\"Failure of a tool\"", "\"task\":\"Result of a tool\""},
    {"\"task\":\"" LONG "\"", "\"task\":\"" LONG "\xf0\x9f\x98\x80\""},
    {"\"task\":\"" LONG "\"", "\"task\":\"" LONG ".\""},
    {"\"type\":\"text\"", "\"type\":\"code\""},
    {"\"type\":\"text\"", "\"type\":\"error\""},
    {"\"type\":\"text\",\"text\":\"Read it.\"", "\"text\":\"Read it.\",\"type\":\"text\""},
    {"\"text\":\"Read it.\"}", "\"text\":\"Read it.\",\"data\":null}"},
    {"\"text\":\"Read it.\"}", "\"text\":\"Read it.\",\"mime\":\"text/plain\"}"},
    {"\"type\":\"tool_result\"", "\"type\":\"json\""},
    {"\"text\":\"object: a, b\"", "\"text\":\"object: a\""},
    {"\"text\":\"object: a, b\"", "\"text\":\"object: a, b, c\""},
    {"\"text\":\"object: a, b\"", "\"text\":\"object: b, a\""},
    {"\"text\":\"object: a, b\"", "\"text\":\"Object: a, b\""},
    {"\"text\":\"object\"", "\"text\":\"object: \""},
    {"\"text\":\"list of 2\"", "\"text\":\"list of 3\""},
    {"\"text\":\"list of 2\"", "\"text\":\"list of 02\""},
    {"\"text\":\"list of 2\"", "\"text\":\"list of \""},
    {"\"text\":\"\",\"data\":\"\"", "\"text\":\"null\",\"data\":null"},
    {"\"text\":\"\",\"data\":\"\"", "\"text\":\"1\",\"data\":1.0"},
    {"\"text\":\"\",\"data\":\"\"", "\"text\":\"x\",\"data\":\"\""},
    {"\"text\":\"\",\"data\":\"\"", "\"text\":\"\""},
    {"\"text\":\"\",\"data\":\"\"", "\"data\":\"\""},
    /* calls */
    {"\"id\":\"c1\",\"name\":\"read\",", "\"name\":\"read\",\"id\":\"c1\","},
    {"\"id\":\"c1\",\"name\":\"read\",", "\"id\":\"c1\",\"name\":\"read\",\"x\":1,"},
    {"\"id\":\"c1\",\"name\":\"read\",", "\"id\":1,\"name\":\"read\","},
    {"\"arguments\":{}", "\"arguments\":\"{}\""},
    {"\"arguments\":{}", "\"arguments\":\"\""},
    {"\"arguments\":{}", "\"arguments\":[]"},
    {"\"arguments\":{}", "\"arguments\":{},\"arguments\":{}"},
    /* trace */
    {"\"trace\":{\"id\":\"u1\"}", "\"trace\":{}"},
    {"\"trace\":{\"id\":\"u1\"}", "\"trace\":{\"id\":\"\"}"},
    {"\"trace\":{\"id\":\"u1\"}", "\"trace\":{\"parents\":[],\"id\":\"u1\"}"},
    {"\"trace\":{\"id\":\"u1\"}", "\"trace\":{\"parents\":[\"u0\"],\"id\":\"u1\"}"},
    {"\"trace\":{\"id\":\"u1\"}", "\"trace\":{\"id\":\"u1\",\"tags\":[]}"},
    {"\"trace\":{\"id\":\"u1\"}", "\"trace\":{\"id\":\"u1\",\"cost\":{\"input_tokens\":1,\"output_tokens\":1}}"},
    {"\"trace\":{\"id\":\"u1\"}", "\"trace\":{\"id\":\"r1\"}"},   /* one that comes again */
    {"\"trace\":{\"id\":\"u1\"}", "\"trace\":{\"id\":\"m1.1\"}"}, /* one that a part would have */
    {"\"parents\":[\"u1\"]", "\"parents\":[\"u1\",\"u1\"]"},
    {"\"parents\":[\"u1\"]", "\"parents\":[\"u0\",\"u1\"]"},
    {"\"parents\":[\"u1\"]", "\"parents\":[1]"},
    {"\"parents\":[\"u1\"]", "\"parents\":\"u1\""},
    {"\"parents\":[\"u1\"],", ""},
    {"\"parents\":[\"m1.2\"],\"id\":\"r1\"", "\"parents\":[\"m1.3\"],\"id\":\"r1\""},
    {"\"parents\":[\"m1.3\"],\"id\":\"r2\"", "\"parents\":[\"r1\"],\"id\":\"r2\""},
    {"\"parents\":[\"r2\"],\"id\":\"r3\"", "\"id\":\"r3\",\"parents\":[\"r2\"]"},
    {"\"id\":\"m1.1\"", "\"id\":\"m1.5\""},
    {"\"id\":\"r4\"", "\"id\":\"r1\""},
    {"\"id\":\"m1.3\"", "\"id\":\"m1.3\",\"cost\":{\"input_tokens\":1,\"output_tokens\":1}"},
    {"\"id\":\"r1\"", "\"id\":\"r1\",\"cost\":{\"input_tokens\":1,\"output_tokens\":1}"},
    {"\"input_tokens\":12", "\"input_tokens\":12.0"},
    {"\"input_tokens\":12", "\"input_tokens\":-1"},
    {"\"input_tokens\":12", "\"input_tokens\":\"12\""},
    {"\"input_tokens\":12", "\"input_tokens\":99999999999999999999999"},
    {"\"output_tokens\":0", "\"output_tokens\":-0"},
    {"\"output_tokens\":0", "\"output_tokens\":0,\"total_tokens\":12"},
    {"\"input_tokens\":12,\"output_tokens\":0", "\"output_tokens\":0,\"input_tokens\":12"},
    {"\"input_tokens\":12,\"output_tokens\":0", "\"output_tokens\":0"},
    /* weft */
    {"\"weft\":{\"of\":\"m1\"}", "\"weft\":{\"of\":\"m2\"}"},
    {",\"weft\":{\"of\":\"m1\"}", ""},
    {"\"weft\":{\"of\":\"m1\"}", "\"weft\":{\"of\":\"m1\",\"provider\":\"p\"}"},
    {"\"weft\":{\"of\":\"m1\"}", "\"weft\":{\"of\":\"m1\",\"cut\":true}"},
    {"\"weft\":{\"of\":\"m1\"}", "\"weft\":{\"of\":\"m1\",\"metadata\":{\"x\":1}}"},
    {"\"weft\":{\"of\":\"m1\"}", "\"weft\":{\"of\":\"m1\",\"kind\":\"nothing\"}"},
    {"\"weft\":{\"of\":\"m1\"}", "\"weft\":{\"of\":\"m1\",\"call\":\"c1\"}"},
    {"\"kind\":\"reasoning\",\"provider\":\"p\"", "\"provider\":\"p\",\"kind\":\"reasoning\""},
    {"\"kind\":\"reasoning\",\"provider\":\"p\"", "\"kind\":\"medium\",\"provider\":\"p\""},
    {"\"kind\":\"reasoning\",\"provider\":\"p\"", "\"of\":\"m0\",\"kind\":\"reasoning\",\"provider\":\"p\""},
    {"\"kind\":\"reasoning\",\"provider\":\"p\"", "\"kind\":\"reasoning\",\"provider\":null"},
    {"\"kind\":\"reasoning\",\"provider\":\"p\"", "\"provider\":\"p\""},
    {"\"weft\":{\"call\":\"c2\"}", "\"weft\":{\"call\":\"c2\",\"name\":\"\"}"},
    {"\"weft\":{\"call\":\"c2\"}", "\"weft\":{\"provider\":\"p\",\"call\":\"c2\"}"},
    {"\"weft\":{\"call\":\"c2\"}", "\"weft\":{\"call\":\"\"}"},
    {",\"weft\":{\"call\":\"c2\"}", ""},
    {"\"weft\":{\"call\":\"c5\",\"name\":\"find\"}", "\"weft\":{\"name\":\"find\",\"call\":\"c5\"}"},
};

TEST(envelope_plain_ones_have_no_residue)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err;
    size_t settled;
    CHECK_INT(wd_document_read(&d, &wd_document_envelope, wb_cstr(plain), NULL, &err), 0);
    for (size_t i = 0; i < d.doc.entries.n; i++)
        CHECK(!d.doc.entries.p[i].residue);
    CHECK(test_comes_back(&wd_document_envelope, wb_cstr(plain), &settled));
}

/* In each place alone where it stands. */
TEST(envelope_plain_but_for_one_place_comes_back)
{
    struct upp_str text = wb_cstr(plain);
    for (size_t i = 0; i < WB_LEN(missed); i++) {
        struct upp_str was = wb_cstr(missed[i].was);
        size_t settled, places = 0;
        test_note("%s -> %s", missed[i].was, missed[i].is);
        for (size_t at = wb_str_find(text, was, 0); at != SIZE_MAX; at = wb_str_find(text, was, at + 1), places++)
            CHECK(test_comes_back_edited(&wd_document_envelope, text, at, &missed[i], &settled));
        CHECK(places);
    }
}
