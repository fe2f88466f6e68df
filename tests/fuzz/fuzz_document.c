/* fuzz/fuzz_document.c — any JSON as a document of a dialect.
 *
 * The first byte chooses the dialect, by its place in the table; beyond the last, it is to be found out.
 *  1. What reads is written back token for token.
 *  2. It is written in every other dialect, as a document of that dialect: its own reader takes it.
 *  3. A dialect that carries what it does not understand gives it all back.
 *  4. What Pydantic AI gets from a document without errors has none that it would refuse.
 *  5. A failure has a code and says why.
 */
#include "dialects/convert.h"
#include "fuzz/fuzz.h"
#include "json/read.h"

enum { BYTES = 64 << 20 };

static bool compact(struct upp_str text, struct wb_buf *out)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(BYTES);
    yyjson_val                               *v;
    return wj_read(&a, text, UPP_OPTS(wj_read_opts, .flags = WJ_SKIP_BOM, .depth = WD_DOC_DEPTH), &v, NULL) == 0 &&
           wj_write(v, out, NULL) == 0;
}

/* Errors of the document, as its dialect sees them. */
static size_t errors_of(const struct wd_document_ops *ops, struct upp_str text)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena       a   = WB_ARENA(BYTES);
    WB_CLEANUP(wd_problems_done) struct wd_problems p   = {0};
    struct upp_err                                  err = {0};
    int                                             r   = wd_document_validate(ops, text, &a, &p, &ops, &err);
    REQUIRE(r >= 0);
    for (size_t i = 0; i < p.list.n; i++)
        REQUIRE(wb_utf8_valid(p.list.p[i].pointer, NULL) && wb_utf8_valid(p.list.p[i].sentence, NULL) &&
                p.list.p[i].sentence.n);
    REQUIRE(p.errors + p.warnings >= p.list.n);
    return p.errors;
}

static int convert(const struct wd_document_ops *from, const struct wd_document_ops *to, struct upp_str text,
                   struct wb_buf *out)
{
    WB_CLEANUP(wd_document_done) struct wd_document d   = {0};
    struct upp_err                                  err = {0};
    int                                             r   = wd_document_read(&d, from, text, NULL, &err);
    if (r >= 0)
        r = wd_document_write(&d, to, NULL, out, NULL, &err);
    REQUIRE_SHOWN(err.msg);
    REQUIRE_SHOWN(err.where);
    REQUIRE(r >= 0 || ((r == -UPP_EINVALID || r == -UPP_ELIMIT) && err.code == -r && err.msg[0]));
    return r;
}

static void through(const struct wd_document_ops *ops, const struct wd_document_ops *other, struct upp_str was,
                    bool good)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf there = WB_BUF(BYTES), back = WB_BUF(BYTES), again = WB_BUF(BYTES);
    int                                   r = convert(ops, other, was, &there);
    REQUIRE(r >= 0 || r == -UPP_ELIMIT);
    if (r < 0)
        return;
    size_t errors = errors_of(other, wb_buf_str(&there));
    REQUIRE(!good || other != &wd_document_pydantic || !errors);
    REQUIRE(convert(other, other, wb_buf_str(&there), &again) >= 0);
    REQUIRE(wb_str_eq(wb_buf_str(&again), wb_buf_str(&there)));
    if (!other->carries)
        return;
    REQUIRE(convert(other, ops, wb_buf_str(&there), &back) >= 0);
    REQUIRE(wb_str_eq(wb_buf_str(&back), was));
}

FUZZ(document)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf           was = WB_BUF(BYTES), is = WB_BUF(BYTES);
    WB_CLEANUP(wd_document_done) struct wd_document d   = {0};
    struct upp_err                                  err = {0};
    if (!in.n)
        return;
    const struct wd_document_ops *ops = wd_document_at((uint8_t)in.p[0] - '0');
    in                                = wb_str_sub(in, 1, SIZE_MAX);
    int r                             = wd_document_read(&d, ops, in, NULL, &err);
    REQUIRE_SHOWN(err.msg);
    REQUIRE_SHOWN(err.where);
    if (r < 0) {
        REQUIRE((r == -UPP_EINVALID || r == -UPP_ELIMIT) && err.code == -r && err.msg[0]);
        return;
    }
    ops = d.ops;
    REQUIRE(compact(in, &was));
    REQUIRE(wd_document_write(&d, ops, NULL, &is, NULL, &err) >= 0);
    REQUIRE(wb_str_eq(wb_buf_str(&is), wb_buf_str(&was)));
    bool good = !errors_of(ops, in);
    for (size_t i = 0; wd_document_at(i); i++)
        if (wd_document_at(i) != ops)
            through(ops, wd_document_at(i), wb_buf_str(&was), good);
}
