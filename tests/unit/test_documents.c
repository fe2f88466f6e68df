/* Every document of tests/golden/DIALECT/ (or DIALECT/documents/): written back it is what it was, token for token. */
#include "support/documents.h"
#include "support/test.h"

static bool comes_back(const struct wd_document_ops *ops, struct upp_str text, void *arg)
{
    (void)arg;
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(64 << 20), is = WB_BUF(64 << 20);
    struct upp_err                        err = {0};
    if (test_compact(text, &was, &err) < 0 || test_convert(text, NULL, ops, &is, &err) < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be read and written");
    }
    return test_same_text(&is, &was, "written back");
}

/* covers: TP-12, UPP-5, UAP-7.4, UAP-13.6a */
TEST(documents_come_back_token_for_token)
{
    const struct wd_document_ops *ops;
    for (size_t i = 0; (ops = wd_document_at(i)); i++)
        CHECK(test_each_document(ops, comes_back, NULL));
}

/* Through every dialect that carries what it does not understand, and back. */
static bool comes_back_through(const struct wd_document_ops *ops, struct upp_str text, void *arg)
{
    (void)arg;
    const struct wd_document_ops *other;
    for (size_t i = 0; (other = wd_document_at(i)); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(64 << 20), there = WB_BUF(64 << 20), is = WB_BUF(64 << 20);
        struct upp_err                        err = {0};
        if (other == ops || !other->carries)
            continue;
        test_note("through %s", other->name);
        if (test_compact(text, &was, &err) < 0 || test_convert(text, ops, other, &there, &err) < 0 ||
            test_convert(wb_buf_str(&there), other, ops, &is, &err) < 0) {
            test_note("%s: %s", err.where, err.msg);
            return EXPECT(!"it can be read and written");
        }
        if (!test_same_text(&is, &was, "there and back"))
            return false;
    }
    return true;
}

/* covers: TP-32 */
TEST(documents_come_back_through_a_dialect_that_carries)
{
    const struct wd_document_ops *ops;
    for (size_t i = 0; (ops = wd_document_at(i)); i++)
        CHECK(test_each_document(ops, comes_back_through, NULL));
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
    CHECK(test_convert(wb_buf_str(&text), &wd_document_thread, &wd_document_pydantic, &out, &err) >= 0);
    ALWAYS(wb_str_find(wb_buf_str(&out), wb_buf_str(&deep), 0) < out.n);
}
