/* Invented documents from every dialect through every other and back: text, calls, results, order and who said it stay,
 * and what else does not is told. */
#include <stdlib.h>

#include "base/iso8601.h"
#include "json/compare.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"
#include "support/documents.h"
#include "support/invent.h"
#include "support/test.h"

enum { SEEDS = 24 }; /* WEFT_PAIR_SEEDS: as many others */

static int gist_of(const struct wd_document_ops *ops, struct upp_str text, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int r = wd_document_read(&d, ops, text, NULL, err);
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
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 << 20);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    WB_CLEANUP(wb_buf_done) struct wb_buf there = WB_BUF(16 << 20), back = WB_BUF(16 << 20), is = WB_BUF(16 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf again = WB_BUF(16 << 20);
    struct upp_err err = {0};
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
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 << 20);
    WB_CLEANUP(wm_doc_done) struct wm_doc d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf gist = WB_BUF(1 << 20);
    struct upp_err err = {0};
    const struct wd_document_ops *ops, *other;
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
    const char *more = getenv("WEFT_PAIR_SEEDS");
    uint64_t seeds = more ? strtoull(more, NULL, 10) : SEEDS;
    for (uint64_t seed = 1; seed <= seeds; seed++)
        CHECK(every_pair(seed));
}

/* Golden documents: nothing is lost in silence. */

struct telling {
    yyjson_val *root;
    const struct wd_losses *losses;
    bool quiet; /* nothing was told */
};

/* Is there a loss of the value, or of what it stands in; within: or of something in it? */
static bool told(const struct telling *t, yyjson_val *v, bool within)
{
    char text[512];
    struct wj_pointer at;
    if (t->quiet)
        return false;
    wj_pointer_init(&at, text, sizeof text);
    wj_pointer_find(&at, t->root, v);
    struct upp_str pointer = wj_pointer_str(&at);
    for (size_t i = 0; i < t->losses->list.n; i++) {
        struct upp_str p = t->losses->list.p[i].pointer;
        if (wb_str_starts(pointer, p) && (pointer.n == p.n || (p.n && pointer.p[p.n] == '/')))
            return true;
        if (within && wb_str_starts(p, pointer))
            return true;
    }
    if (!within)
        test_note("nobody was told of %.*s", UPP_FMT(pointer));
    return false;
}

static bool same_value(yyjson_val *a, yyjson_val *b)
{
    struct wb_time x, y;
    return wj_equal(a, b, NULL) != 0 ||
           (yyjson_is_str(a) && yyjson_is_str(b) && wb_time_parse(wj_text(a), &x, NULL) >= 0 &&
            wb_time_parse(wj_text(b), &y, NULL) >= 0 && wb_time_cmp(&x, &y) == 0);
}

static yyjson_val *last_member(yyjson_val *obj, struct upp_str name)
{
    yyjson_val *key, *value, *found = NULL;
    size_t i, n;
    yyjson_obj_foreach(obj, i, n, key, value)
    {
        if (wj_named(key, name))
            found = value;
    }
    return found;
}

static bool is_in(const struct telling *t, yyjson_val *was, yyjson_val *is);

/* Each item of a list that has more or fewer now is somewhere in it, or it was told what of it is not. */
static bool all_in(const struct telling *t, yyjson_val *was, yyjson_val *is)
{
    const struct telling quiet = {.root = t->root, .losses = t->losses, .quiet = true};
    yyjson_val *item, *other;
    size_t i, n, k, m;
    bool ok = true;
    yyjson_arr_foreach(was, i, n, item)
    {
        bool found = told(t, item, true);
        yyjson_arr_foreach(is, k, m, other)
        {
            found = found || is_in(&quiet, item, other);
        }
        ok &= found;
    }
    return ok;
}

/* Is everything of the value in the other one, but for what was told? New members do not count. */
static bool is_in(const struct telling *t, yyjson_val *was, yyjson_val *is)
{
    yyjson_val *key, *value;
    size_t i, n;
    bool ok = true;
    if (yyjson_is_null(was) || (is && same_value(was, is)))
        return true;
    if (!is || !unsafe_yyjson_is_ctn(was) || unsafe_yyjson_get_type(was) != unsafe_yyjson_get_type(is))
        return told(t, was, false);
    if (yyjson_is_arr(was) && yyjson_arr_size(was) != yyjson_arr_size(is))
        return all_in(t, was, is);
    yyjson_obj_foreach(yyjson_is_obj(was) ? was : NULL, i, n, key, value)
    {
        if (wj_named(key, UPP_STR("x_weft")))
            continue;
        ok &= is_in(t, value, last_member(is, wj_text(key)));
    }
    yyjson_arr_foreach(yyjson_is_arr(was) ? was : NULL, i, n, value)
    {
        ok &= is_in(t, value, yyjson_arr_get(is, i));
    }
    return ok;
}

static bool comes_back_or_is_told(const struct wd_document_ops *ops, struct upp_str text, void *arg)
{
    const struct wd_document_ops *other = arg;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64 << 20);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    WB_CLEANUP(wb_buf_done) struct wb_buf there = WB_BUF(64 << 20), back = WB_BUF(64 << 20);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    const struct wd_convert_opts opts = {.size = sizeof opts};
    struct upp_err err = {0};
    yyjson_val *is;
    test_note("%s through %s", ops->name, other->name);
    if (wd_document_read(&d, ops, text, &opts, &err) < 0 ||
        wd_document_write(&d, other, &opts, &there, &losses, &err) < 0 ||
        wd_document_returns(&d, other, wb_buf_str(&there), &opts, &losses, &err) < 0 ||
        test_convert(wb_buf_str(&there), other, ops, &back, NULL, &err) < 0 ||
        wj_read(&a, wb_buf_str(&back), UPP_OPTS(wj_read_opts, .max_bytes = 64 << 20), &is, &err) < 0)
        return failed("there and back", &err);
    bool same = wj_equal(d.root, is, NULL) > 0;
    if (same && losses.list.n)
        test_note("told, and not lost: %.*s: %.*s", UPP_FMT(losses.list.p[0].pointer), UPP_FMT(losses.list.p[0].what));
    return EXPECT(!(same && losses.list.n)) &&
           EXPECT(is_in(&(struct telling){.root = d.root, .losses = &losses}, d.root, is));
}

/* Every golden document of each dialect through each: it comes back as it was, or it was told what does not; and what
 * came back was not told to be lost. covers: TP-11, TP-12 */
TEST_WITH(pairs_lose_nothing_in_silence, .no_torture = "documents_come_back_token_for_token is tortured")
{
    const struct wd_document_ops *ops, *other;
    for (size_t i = 0; (ops = wd_document_at(i)); i++)
        for (size_t k = 0; (other = wd_document_at(k)); k++)
            CHECK(test_each_document(ops, comes_back_or_is_told, (void *)(uintptr_t)other));
}
