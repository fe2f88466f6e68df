/* fuzz/fuzz_document.c — any JSON as a document of every dialect: what reads is written back token for token, also when
 * it has been through a dialect that carries what it does not understand; and it is written by every other dialect,
 * for Pydantic AI without an error if it had none.
 */
#include "dialects/core/convert.h"
#include "fuzz/fuzz.h"
#include "json/read.h"

static void refused(int r, const struct upp_err *err)
{
    REQUIRE_SHOWN(err->msg);
    REQUIRE_SHOWN(err->where);
    REQUIRE((r == -UPP_EINVALID || r == -UPP_ELIMIT) && err->code == -r && err->msg[0]);
}

/* Writes the document in a dialect. False: it is too deep for that. */
static bool put(struct wd_document *d, const struct wd_document_ops *to, struct wb_buf *out)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    struct upp_err err = {0};
    int r = wd_document_write(d, to, NULL, out, &losses, &err);
    if (r < 0)
        refused(r, &err);
    REQUIRE(r >= 0 || r == -UPP_ELIMIT);
    for (size_t i = 0; i < losses.list.n; i++) {
        REQUIRE(wb_utf8_valid(losses.list.p[i].pointer, NULL));
        REQUIRE(losses.list.p[i].what.n && losses.list.p[i].why.n);
    }
    return r >= 0;
}

/* What `other` carries comes back. */
static void come_back(struct upp_str text, const struct wd_document_ops *other, const struct wd_document_ops *ops,
                      struct upp_str was)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64u << 20);
    struct upp_err err = {0};
    int r = wd_document_read(&d, other, text, NULL, &err);
    REQUIRE(r >= 0 || r == -UPP_ELIMIT); /* residue is deeper than what it is about */
    if (r >= 0 && put(&d, ops, &out) && other->carries)
        REQUIRE(wb_str_eq(wb_buf_str(&out), was));
}

/* Is it a document of that dialect without an error? Half of a surrogate pair is none to every dialect, and no text to
 * Pydantic AI. */
static bool validate(const struct wd_document_ops *ops, struct upp_str in)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    struct upp_err err = {0};
    const struct wd_document_ops *whose = NULL;
    int r = wd_document_validate(ops, in, &a, &p, &whose, &err);
    if (r < 0)
        refused(r, &err);
    for (size_t i = 0; r >= 0 && i < p.list.n; i++) {
        REQUIRE(wb_utf8_valid(p.list.p[i].pointer, NULL) && wb_utf8_valid(p.list.p[i].sentence, NULL));
        REQUIRE(p.list.p[i].rule && p.list.p[i].sentence.n);
    }
    return r >= 0 && !p.errors && p.utf8;
}

static void as(const struct wd_document_ops *ops, struct upp_str in)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(64u << 20), out = WB_BUF(64u << 20);
    struct upp_err err = {0};
    const struct wd_document_ops *other;
    int r = wd_document_read(&d, ops, in, NULL, &err);
    if (r < 0) {
        refused(r, &err);
        return;
    }
    REQUIRE(wj_write(d.root, &was, &err) == 0);
    bool good = validate(ops, in);
    for (size_t i = 0; (other = wd_document_at(i)); i++) {
        wb_buf_clear(&out);
        if (!put(&d, other, &out))
            continue;
        if (other == ops)
            REQUIRE(wb_str_eq(wb_buf_str(&out), wb_buf_str(&was)));
        else {
            bool loads = validate(other, wb_buf_str(&out));
            REQUIRE(loads || !good || other != &wd_document_pydantic); /* Pydantic AI refuses a whole list */
            come_back(wb_buf_str(&out), other, ops, wb_buf_str(&was));
        }
    }
}

FUZZ(document)
{
    const struct wd_document_ops *ops;
    for (size_t i = 0; (ops = wd_document_at(i)); i++) {
        as(ops, in);
        (void)validate(ops, in);
    }
    (void)validate(NULL, in);
}
