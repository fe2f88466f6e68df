/* Invented documents from every dialect through every other and back: text, calls, results, order and who said it stay,
 * and what else does not is told. */
#include <stdlib.h>

#include "support/documents.h"
#include "support/invent.h"
#include "support/test.h"

enum { SEEDS = 24 }; /* WEFT_PAIR_SEEDS: as many others */

static int gist_of(const struct wd_document_ops *ops, struct upp_str text, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int                                             r = wd_document_read(&d, ops, text, NULL, err);
    if (r >= 0)
        test_gist(&d.doc, out);
    return r < 0 ? r : wb_buf_check(out, err);
}

static bool failed(const char *what, const struct upp_err *err)
{
    test_note("%s: %s %s", what, err->where, err->msg);
    return false;
}

/* x, of the first dialect, through the other and back. */
static bool pair(const struct wd_document_ops *ops, const struct wd_document_ops *other, const struct wb_buf *x,
                 const struct wb_buf *gist)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena   a      = WB_ARENA(16 << 20);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    WB_CLEANUP(wb_buf_done) struct wb_buf there = WB_BUF(16 << 20), back = WB_BUF(16 << 20), is = WB_BUF(16 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf again = WB_BUF(16 << 20);
    struct upp_err                        err   = {0};
    test_note("%s through %s", ops->name, other->name);
    if (test_convert(wb_buf_str(x), ops, other, &there, &losses, &err) < 0)
        return failed("there", &err);
    if (test_convert(wb_buf_str(&there), other, ops, &back, NULL, &err) < 0)
        return failed("and back", &err);
    if (gist_of(ops, wb_buf_str(&back), &is, &err) < 0)
        return failed("read again", &err);
    if (!test_same_text(&is, gist, "what must not be lost"))
        return false;
    if (!losses.list.n && !test_same_text(&back, x, "what differs is told"))
        return false;
    if (test_convert(wb_buf_str(&there), other, other, &again, NULL, &err) < 0)
        return failed("again", &err);
    return test_same_text(&again, &there, "what was written is written again");
}

static bool every_pair(uint64_t seed)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a    = WB_ARENA(16 << 20);
    WB_CLEANUP(wm_doc_done) struct wm_doc     d    = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf     gist = WB_BUF(1 << 20);
    struct upp_err                            err  = {0};
    const struct wd_document_ops             *ops, *other;
    if (test_invent(seed, &a, &d, &err) < 0)
        return failed("invented", &err);
    test_gist(&d, &gist);
    for (size_t i = 0; (ops = wd_document_at(i)); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf x = WB_BUF(16 << 20), has = WB_BUF(1 << 20);
        test_note("seed %u, %s", (unsigned)seed, ops->name);
        if (wd_doc_write(&d, ops, NULL, &x, NULL, &err) < 0 || gist_of(ops, wb_buf_str(&x), &has, &err) < 0)
            return failed("written", &err);
        if (!test_same_text(&has, &gist, "what the dialect keeps"))
            return false;
        for (size_t k = 0; (other = wd_document_at(k)); k++)
            if (other != ops && !pair(ops, other, &x, &gist))
                return false;
    }
    return true;
}

/* covers: TP-11, AITP-27, AAP-17, ENV-11/2 */
TEST_WITH(pairs_of_dialects_keep_what_was_said, .no_torture = "thousands of documents; the golden ones are tortured")
{
    const char *more  = getenv("WEFT_PAIR_SEEDS");
    uint64_t    seeds = more ? strtoull(more, NULL, 10) : SEEDS;
    for (uint64_t seed = 1; seed <= seeds; seed++)
        CHECK(every_pair(seed));
}
