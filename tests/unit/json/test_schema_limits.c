#include <stdio.h>
#include <upp/schema.h>
#include <weft/fiber.h>

#include "base/buf.h"
#include "json/number.h"
#include "json/read.h"
#include "json/schema.h"
#include "support/test.h"

/* `head`, n times `piece` (with %d: which one) and commas between, `tail`. */
static void add_many(struct wb_buf *b, const char *head, const char *piece, size_t n, const char *tail)
{
    wb_buf_add(b, wb_cstr(head));
    for (size_t i = 0; i < n; i++) {
        struct upp_str rest = wb_cstr(piece), part;
        if (i)
            wb_buf_addc(b, ',');
        for (bool first = true; wb_str_split(&rest, '%', &part); first = false) {
            if (!first)
                wb_buf_addf(b, "%zu", i);
            wb_buf_add(b, part);
        }
    }
    wb_buf_add(b, wb_cstr(tail));
}

static int make_many(const char *head, const char *piece, size_t n, const char *tail, struct upp_err *err)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(4u << 20);
    add_many(&b, head, piece, n, tail);
    return b.failed ? b.failed : upp_schema_new(wb_buf_str(&b), &s, err);
}

TEST_WITH(schema_has_a_largest_size, .no_torture = "large, and the parts are tortured elsewhere")
{
    struct upp_err err = {0};
    CHECK_INT(make_many("{\"enum\":[", "\"%\"", 130000, "]}", &err), -UPP_ELIMIT); /* bytes */
    CHECK_INT(make_many("{\"enum\":[", "\"%\"", 100000, "]}", &err), 0);
    CHECK_INT(make_many("{\"anyOf\":[", "{}", WJ_SCHEMA_COUNT - 1, "]}", &err), 0);
    CHECK_INT(make_many("{\"anyOf\":[", "{}", WJ_SCHEMA_COUNT, "]}", &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("schema: more than 10000 schemas in a schema"));
    CHECK_STR(wb_cstr(err.where), UPP_STR("/anyOf/9999"));
    CHECK_INT(make_many("{\"required\":[", "\"%\"", WJ_SCHEMA_NAMES, "]}", &err), 0);
    CHECK_INT(make_many("{\"required\":[", "\"%\"", WJ_SCHEMA_NAMES + 1, "]}", &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("schema: more than 1024 members of an object"));
    CHECK_INT(make_many("{\"required\":[", "\"%\"", 3 * WJ_SCHEMA_NAMES, "]}", &err), -UPP_ELIMIT);
    CHECK_INT(make_many("{\"properties\":{", "\"%\":true", WJ_SCHEMA_NAMES + 1, "}}", &err), -UPP_ELIMIT);
    CHECK_INT(make_many("{\"anyOf\":[", "{\"pattern\":\"a{4000}\"}", 700, "]}", &err), -UPP_ELIMIT); /* memory */
    CHECK_INT(make_many("{\"pattern\":\"", "a{4000}", 2, "\"}", &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/pattern"));
    CHECK_INT(make_many("{\"multipleOf\":1234567890123456789", "", 0, "}", &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("schema: more than 18 digits"));
}

TEST_WITH(schema_references_have_a_budget, .no_torture = "large, and the parts are tortured elsewhere")
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(4u << 20);
    struct upp_err err = {0};
    add_many(&b, "{\"$defs\":{", "\"%\":0", 40000, ",\"z\":true},");
    add_many(&b, "\"anyOf\":[", "{\"$ref\":\"#/$defs/z\"}", 1000, "]}");
    CHECK_INT(wb_buf_check(&b, NULL), 0);
    CHECK_INT(upp_schema_new(wb_buf_str(&b), &s, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("schema: the references of this schema take too long to follow"));
}

/* n arrays in each other. */
static int check_nested(const struct upp_schema *s, size_t n, struct upp_err *err)
{
    char text[2 * WJ_SCHEMA_DEPTH + 8];
    memset(text, '[', n);
    memset(text + n, ']', n);
    return upp_schema_check(s, wb_str(text, 2 * n), NULL, NULL, err);
}

TEST(schema_check_has_a_depth)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *plain = NULL, *twice = NULL;
    struct upp_err err = {0};
    CHECK(upp_schema_new(UPP_STR("{\"items\":{\"items\":{\"$ref\":\"#/items\"},\"type\":\"array\"}}"), &plain, &err) ==
          0);
    CHECK(upp_schema_new(UPP_STR("{\"allOf\":[{\"items\":{\"$ref\":\"#\"}}]}"), &twice, &err) == 0);
    CHECK_INT(check_nested(plain, WJ_SCHEMA_DEPTH / 2, &err), 0);
    CHECK_INT(check_nested(plain, WJ_SCHEMA_DEPTH, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the check goes through more than 128 schemas within schemas"));
    CHECK_INT(check_nested(twice, WJ_SCHEMA_DEPTH / 3, &err), 0);
    CHECK_INT(check_nested(twice, WJ_SCHEMA_DEPTH / 3 + 2, &err), -UPP_ELIMIT);
    CHECK_INT(check_nested(plain, WJ_MAX_DEPTH + 1, &err), -UPP_ELIMIT); /* the reader's */
}

/* To the limit and beyond, each level through an alternative whose reasons are told, on a stack that is smaller than a
 * fiber's. What fails to fit is at the bottom. */
static int check_deep(void *arg, struct upp_err *err)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    int r;
    (void)arg;
    r = upp_schema_new(
        UPP_STR("{\"anyOf\":[{\"type\":\"object\",\"patternProperties\":{\"a\":{\"$ref\":\"#\"}}},{\"type\":"
                "\"string\",\"pattern\":\"^x\"}]}"),
        &s, err);
    for (int levels = 1; r == 0 && levels < WJ_MAX_DEPTH; levels++) {
        wb_buf_clear(&b);
        for (int i = 0; i < levels; i++)
            wb_buf_add(&b, UPP_STR("{\"a\":"));
        wb_buf_add(&b, UPP_STR("\"y\""));
        for (int i = 0; i < levels; i++)
            wb_buf_addc(&b, '}');
        struct upp_schema_report report;
        r = b.failed ? b.failed : upp_schema_check(s, wb_buf_str(&b), NULL, &report, err);
        r = r == 1 ? 0 : r == 0 ? -UPP_EBUG : r;
    }
    return r;
}

TEST(schema_depth_fits_a_fibers_stack)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
    size_t stack = 256u << 10; /* frames are larger there, and so are the stacks of fibers */
#else
    size_t stack = 48u << 10;
#endif
    CHECK(weft_loop_open(UPP_OPTS(weft_loop_opts, .stack_size = stack), &l, &err) == 0);
    CHECK_INT(weft_loop_run(l, "deep", check_deep, NULL, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the check goes through more than 128 schemas within schemas"));
}

/* Twice the work at each level, and each of the two ways fails or fits. */
TEST_WITH(schema_check_has_a_budget, .no_torture = "nothing but work")
{
    for (size_t i = 0; i < 2; i++) {
        WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
        struct upp_err err = {0};
        wb_buf_add(&b, i ? UPP_STR("{\"not\":{\"$ref\":\"#/$defs/0\"},\"$defs\":{")
                         : UPP_STR("{\"$ref\":\"#/$defs/0\",\"$defs\":{"));
        for (int k = 0; k < 30; k++)
            wb_buf_addf(&b, "\"%d\":{\"allOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":\"#/$defs/%d\"}]},", k, k + 1,
                        k + 1);
        wb_buf_add(&b, UPP_STR("\"30\":true}}"));
        CHECK(wb_buf_check(&b, NULL) == 0 && upp_schema_new(wb_buf_str(&b), &s, &err) == 0);
        CHECK_INT(upp_schema_check(s, UPP_STR("1"), NULL, NULL, &err), -UPP_ELIMIT);
        CHECK_STR(wb_cstr(err.msg), UPP_STR("the check takes more than 10000000 steps"));
    }
}

/* An array of n pieces against a schema that is itself made of `in` pieces. */
static int check_large(const char *head, const char *inside, size_t in, const char *tail, const char *piece, size_t n,
                       struct upp_err *err)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20), schema = WB_BUF(1u << 20);
    add_many(&schema, head, inside, in, tail);
    add_many(&b, "[", piece, n, "]");
    int r = b.failed ? b.failed : upp_schema_new(wb_buf_str(&schema), &s, err);
    return r < 0 ? r : upp_schema_check(s, wb_buf_str(&b), NULL, NULL, err);
}

TEST_WITH(schema_check_pays_for_everything, .no_torture = "nothing but work")
{
    static const struct {
        const char *head, *inside;
        size_t in;
        const char *tail, *piece;
        size_t n;
        int r;
    } rows[] = {
        {"{\"uniqueItems\":true", "", 0, "}", "%", 1000, 0},
        {"{\"uniqueItems\":true", "", 0, "}", "%", 5000, -UPP_ELIMIT},
        {"{\"items\":{\"pattern\":\"^x\"}", "", 0, "}", "\"xyz\"", 1000, 0},
        {"{\"items\":{\"pattern\":\"(x*y*z*){400}w\"}", "", 0, "}", "\"xyzxyzxyzxyzxyzxyzxyzxyz\"", 1000, -UPP_ELIMIT},
        {"{\"items\":{\"enum\":[", "-%", 100, "]}}", "1000", 1000, 1000},
        {"{\"items\":{\"enum\":[", "-%", 5000, "]}}", "1000", 3000, -UPP_ELIMIT},
        {"{\"items\":{\"dependentRequired\":{\"a\":[", "\"%\"", 5000, "]}}}", "{\"x\":1}", 1500, -UPP_ELIMIT},
        {"{\"items\":{\"required\":[", "\"%\"", 1000, "]}}", "{}", 11000, -UPP_ELIMIT},
        {"{\"items\":{\"anyOf\":[", "false", 5000, "]}}", "1", 3000, -UPP_ELIMIT},
        {"{\"items\":{\"patternProperties\":{", "\"%\":true", 3000, "}}}", "{\"x\":1}", 4000, -UPP_ELIMIT},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        struct upp_err err = {0};
        test_note("row %zu", i);
        CHECK_INT(check_large(rows[i].head, rows[i].inside, rows[i].in, rows[i].tail, rows[i].piece, rows[i].n, &err),
                  rows[i].r);
        if (rows[i].r < 0)
            CHECK_STR(wb_cstr(err.msg), UPP_STR("the check takes more than 10000000 steps"));
    }
}
