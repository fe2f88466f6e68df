/* Every document of tests/golden/DIALECT/ (or DIALECT/documents/): written back it is what it was, token for token. */
#include <dirent.h>
#include <stdlib.h>

#include "dialects/convert.h"
#include "json/read.h"
#include "support/test.h"

static void freep(char **p)
{
    free(*p);
}

/* The same text without blanks between its tokens. */
static int compact(struct upp_str text, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256 << 20);
    yyjson_val                               *v;
    int r = wj_read(&a, text, UPP_OPTS(wj_read_opts, .depth = WD_DOC_DEPTH), &v, err);
    return r < 0 ? r : wj_write(v, out, err);
}

static int convert(struct upp_str text, const struct wd_document_ops *from, const struct wd_document_ops *to,
                   struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int                                             r = wd_document_read(&d, from, text, NULL, err);
    return r < 0 ? r : wd_document_write(&d, to, NULL, out, NULL, err);
}

/* Calls for each golden document of a dialect. */
static bool for_each(const struct wd_document_ops *ops,
                     bool (*check)(const struct wd_document_ops *ops, struct upp_str text))
{
    char folder[64], path[320];
    (void)snprintf(folder, sizeof folder, "golden/%s/documents", ops->name); /* of one that has streams, too */
    DIR *dir = opendir(test_source(folder));
    if (!dir) {
        (void)snprintf(folder, sizeof folder, "golden/%s", ops->name);
        dir = opendir(test_source(folder));
    }
    bool any = false, good = dir != NULL;
    for (struct dirent *e; good && (e = readdir(dir));) {
        size_t                  n    = 0;
        WB_CLEANUP(freep) char *text = NULL;
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
        text = test_read(path, &n);
        test_note("%s", path);
        good = text && check(ops, wb_str(text, n));
        any  = true;
    }
    if (dir)
        closedir(dir);
    return good && any;
}

/* What was written without an error is right, also where something failed on the way. */
static bool equal(const struct wb_buf *is, const struct wb_buf *was, const char *what)
{
    bool same = test_expect_str(wb_buf_str(is), wb_buf_str(was), __FILE__, __LINE__, what);
    return test_expect(same, true, __FILE__, __LINE__, what);
}

static bool comes_back(const struct wd_document_ops *ops, struct upp_str text)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(64 << 20), is = WB_BUF(64 << 20);
    struct upp_err                        err = {0};
    if (compact(text, &was, &err) < 0 || convert(text, NULL, ops, &is, &err) < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be read and written");
    }
    return equal(&is, &was, "written back");
}

/* covers: TP-12 */
TEST(documents_come_back_token_for_token)
{
    const struct wd_document_ops *ops;
    for (size_t i = 0; (ops = wd_document_at(i)); i++)
        CHECK(for_each(ops, comes_back));
}

/* Through every dialect that carries what it does not understand, and back. */
static bool comes_back_through(const struct wd_document_ops *ops, struct upp_str text)
{
    const struct wd_document_ops *other;
    for (size_t i = 0; (other = wd_document_at(i)); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(64 << 20), there = WB_BUF(64 << 20), is = WB_BUF(64 << 20);
        struct upp_err                        err = {0};
        if (other == ops || !other->carries)
            continue;
        test_note("through %s", other->name);
        if (compact(text, &was, &err) < 0 || convert(text, ops, other, &there, &err) < 0 ||
            convert(wb_buf_str(&there), other, ops, &is, &err) < 0) {
            test_note("%s: %s", err.where, err.msg);
            return EXPECT(!"it can be read and written");
        }
        if (!equal(&is, &was, "there and back"))
            return false;
    }
    return true;
}

/* covers: TP-32 */
TEST(documents_come_back_through_a_dialect_that_carries)
{
    const struct wd_document_ops *ops;
    for (size_t i = 0; (ops = wd_document_at(i)); i++)
        CHECK(for_each(ops, comes_back_through));
}

/* Deeper than a value that stands alone may be, and not deeper than a document: from one dialect to another. */
TEST(documents_pass_on_metadata_that_is_deep)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf deep = WB_BUF(1 << 10), text = WB_BUF(1 << 20), out = WB_BUF(1 << 20);
    struct upp_err                        err;
    wb_buf_add(&deep, UPP_STR("\"provider_details\":{\"d\":"));
    for (int i = 0; i < 300; i++)
        wb_buf_addc(&deep, i < 150 ? '[' : ']');
    wb_buf_addc(&deep, '}');
    wb_buf_add(&text,
               UPP_STR("{\"version\":\"2.0.0\",\"turns\":[{\"turn_type\":\"agent\",\"agent_id\":\"a\",\"messages\":[{"
                              "\"message_type\":\"response\",\"agent_id\":\"a\",\"parts\":[{\"part_kind\":\"text\","
                              "\"content\":\"x\","));
    wb_buf_add(&text, wb_buf_str(&deep));
    wb_buf_add(&text, UPP_STR("}]}]}]}"));
    CHECK(!deep.failed && !text.failed);
    CHECK(convert(wb_buf_str(&text), &wd_document_thread, &wd_document_pydantic, &out, &err) >= 0);
    ALWAYS(wb_str_find(wb_buf_str(&out), wb_buf_str(&deep), 0) < out.n);
}
