/* Documents through the model: with everything back in their own dialect, with losses in others, within limits. */
#include "dialects/core/convert.h"

#include "base/hooks.h"
#include "json/read.h"
#include "support/test.h"
#include "support/small_dialects.h"
#include "support/overcommit.h"

/* Reads and writes. */
static int convert(const struct wd_document_ops *from, const struct wd_document_ops *to, struct upp_str text,
                   struct wb_buf *out, struct wd_losses *losses, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int r = wd_document_read(&d, from, text, NULL, err);
    return r < 0 ? r : wd_document_write(&d, to, NULL, out, losses, err);
}

/* "POINTER what: why" each. */
static struct upp_str told(const struct wd_losses *losses, struct wb_buf *out)
{
    for (size_t i = 0; i < losses->list.n; i++) {
        const struct wd_loss *l = &losses->list.p[i];
        wb_buf_addf(out, "%.*s %.*s: %.*s\n", UPP_FMT(l->pointer), UPP_FMT(l->what), UPP_FMT(l->why));
    }
    return wb_buf_str(out);
}

/* ---- In its own dialect ----------------------------------------------------------------------------------- */

static const char *const toys[] = {
    "{\"toy\":1,\"title\":null,\"pairs\":[]}",
    "{\"toy\":1,\"pairs\":[]}",
    "{\"pairs\":[],\"title\":\"t\",\"toy\":1}",
    "{\"toy\":1.0,\"title\":\"t\",\"pairs\":[{\"ask\":{\"text\":\"a\"},\"reply\":{\"text\":\"b\",\"thought\":\"c\"}}]}",
    /* Nulls, absent members, members in another order, members twice. */
    "{\"toy\":1,\"title\":null,\"pairs\":[{\"ask\":{\"text\":null}},{\"reply\":{\"thought\":null,\"text\":\"b\"}}]}",
    "{\"toy\":1,\"title\":\"x\",\"pairs\":[{\"ask\":{}},{\"reply\":{}}]}",
    "{\"toy\":1,\"title\":\"x\",\"pairs\":[{\"reply\":{\"text\":\"b\"},\"ask\":{\"text\":\"a\"}}]}",
    "{\"toy\":0,\"toy\":1,\"title\":\"x\",\"title\":\"y\",\"pairs\":[{\"ask\":{\"text\":\"1\",\"text\":\"2\"}}]}",
    "{\"toy\":1,\"title\":\"x\",\"pairs\":[{\"ask\":{\"text\":\"1\"},\"ask\":{\"text\":\"2\"}}]}",
    /* Unknown members everywhere. */
    "{\"x\":[1,{\"y\":2}],\"toy\":1,\"title\":\"x\",\"z\":{},\"pairs\":[{\"p\":1e3,\"ask\":{\"q\":[],\"text\":\"a\"},"
    "\"r\":true,\"reply\":{\"text\":\"b\",\"s\":{\"t\":null}}}],\"end\":\"\"}",
    /* Items that are no pairs, before, between and behind. */
    "{\"toy\":1,\"title\":\"x\",\"pairs\":[7,{\"ask\":{\"text\":\"a\"}},{\"nothing\":1},{\"reply\":{\"text\":\"b\"}},[]"
    "]}",
    /* Two that its own writer would have put into one. */
    "{\"toy\":1,\"title\":\"x\",\"pairs\":[{\"ask\":{\"text\":\"a\"}},{\"reply\":{\"text\":\"b\"}}]}",
    /* What is no text where a text should be. */
    "{\"toy\":1,\"title\":[\"x\"],\"pairs\":[{\"ask\":\"a\",\"reply\":{\"text\":5}},{\"ask\":{\"text\":{\"a\":1}}}]}",
    "{\"toy\":\"\\u0000\\ud800\",\"title\":\"\\udfff\",\"pairs\":[{\"ask\":{\"text\":\"\\u0001\xc3\xbc\"}}]}",
};

TEST(convert_gives_a_document_back_token_for_token)
{
    for (size_t i = 0; i < WB_LEN(toys); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20), said = WB_BUF(1 << 20);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
        struct upp_err err;
        test_note("toy %zu", i);
        CHECK(convert(&toy_dialect, &toy_dialect, wb_cstr(toys[i]), &out, &losses, &err) >= 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(toys[i]));
        CHECK_STR(told(&losses, &said), UPP_STR(""));
    }
}

/* ---- Edits of the model ------------------------------------------------------------------------------------ */

static int read_toy(struct wd_document *d, const char *text, struct upp_err *err)
{
    return wd_document_read(d, &toy_dialect, wb_cstr(text), NULL, err);
}

/* What is written now, and the losses behind it. */
static int written(struct wd_document *d, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    int r = wd_document_write(d, &toy_dialect, NULL, out, &losses, err);
    wb_buf_addc(out, '\n');
    (void)told(&losses, out);
    return r < 0 ? r : wb_buf_check(out, err);
}

TEST(convert_keeps_what_was_said_beside_through_edits)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    struct upp_err err;
    CHECK(read_toy(&d,
                   "{\"title\":\"t\",\"toy\":1,\"pairs\":[{\"x\":1,\"ask\":{\"y\":2,\"text\":\"a\"},\"reply\":"
                   "{\"thought\":null,\"text\":\"b\"}},{\"ask\":{\"text\":null,\"z\":3}}],\"w\":4}",
                   &err) >= 0);
    CHECK_INT(d.doc.entries.n, 3);
    d.doc.title = UPP_STR("new");
    d.doc.entries.p[0].e.message.parts[0].text = UPP_STR("changed");
    d.doc.entries.p[1].e.message.parts[0].kind = UPP_PART_REASONING;
    CHECK(written(&d, &out, &err) >= 0);
    CHECK_STR(
        wb_buf_str(&out),
        UPP_STR("{\"title\":\"new\",\"toy\":1,\"pairs\":[{\"x\":1,\"ask\":{\"y\":2,\"text\":\"changed\"},\"reply\":"
                "{\"thought\":\"b\",\"text\":null}},{\"ask\":{\"text\":null,\"z\":3}}],\"w\":4}\n"));
}

TEST(convert_tells_what_has_to_give_way_to_an_edit)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    struct upp_err err;
    CHECK(read_toy(&d, "{\"toy\":1.0,\"title\":[\"t\"],\"pairs\":[{\"ask\":{\"text\":5,\"z\":6}}]}", &err) >= 0);
    static struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR_INIT("a")};
    d.doc.title = UPP_STR("new");
    d.doc.entries.p[0].e.message.parts = &part;
    d.doc.entries.p[0].e.message.n_parts = 1;
    CHECK(written(&d, &out, &err) >= 0);
    CHECK_STR(wb_buf_str(&out),
              UPP_STR("{\"toy\":1.0,\"title\":\"new\",\"pairs\":[{\"ask\":{\"text\":\"a\",\"z\":6}}]}\n"
                      "entries/0 what it said beside what has changed since: it was about what was there before\n"
                      " what it said beside what has changed since: it was about what was there before\n"));
}

TEST(convert_keeps_what_was_said_beside_when_entries_come_and_go)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    struct upp_err err;
    CHECK(read_toy(
              &d,
              "{\"toy\":1,\"title\":\"t\",\"pairs\":[{\"ask\":{\"text\":\"a\"}},{\"x\":1,\"reply\":{\"text\":\"b\"}},"
              "{\"y\":2,\"ask\":{\"text\":\"c\"},\"reply\":{\"text\":\"d\"}}]}",
              &err) >= 0);
    CHECK_INT(d.doc.entries.n, 4);
    d.doc.entries.n = 3; /* the last reply is gone */
    CHECK(written(&d, &out, &err) >= 0);
    CHECK_STR(
        wb_buf_str(&out),
        UPP_STR("{\"toy\":1,\"title\":\"t\",\"pairs\":[{\"ask\":{\"text\":\"a\"}},{\"x\":1,\"reply\":{\"text\":\"b\"}},"
                "{\"y\":2,\"ask\":{\"text\":\"c\"}}]}\n"));
    d.doc.entries.p[0] = d.doc.entries.p[2]; /* and the beginning */
    d.doc.entries.n = 1;
    wb_buf_clear(&out);
    CHECK(written(&d, &out, &err) >= 0);
    CHECK_STR(wb_buf_str(&out),
              UPP_STR("{\"toy\":1,\"title\":\"t\",\"pairs\":[{\"y\":2,\"ask\":{\"text\":\"c\"}}]}\n"));
    d.doc.entries.n = 0;
    wb_buf_clear(&out);
    CHECK(written(&d, &out, &err) >= 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("{\"toy\":1,\"title\":\"t\",\"pairs\":[]}\n"));
}

TEST(convert_forgets_where_that_is_asked_for)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    struct upp_err err;
    CHECK(wd_document_read(&d, &toy_dialect,
                           UPP_STR("{\"x\":1,\"toy\":2,\"pairs\":[{\"ask\":{\"text\":\"a\",\"y\":1}}]}"),
                           UPP_OPTS(wd_convert_opts, .forget = true), &err) >= 0);
    CHECK(!d.doc.residue && !d.doc.entries.p[0].residue && !d.lifting.lost.n);
    CHECK(written(&d, &out, &err) >= 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("{\"toy\":1,\"title\":null,\"pairs\":[{\"ask\":{\"text\":\"a\"}}]}\n"));
}

/* ---- In others --------------------------------------------------------------------------------------------- */

TEST(convert_tells_every_loss_with_its_place)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20), said = WB_BUF(1 << 20);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    struct upp_err err;
    CHECK(convert(&toy_dialect, &lines_dialect,
                  UPP_STR("{\"v\":[1,2],\"toy\":1,\"title\":\"t\",\"pairs\":[{\"ask\":{\"text\":\"a\",\"x/y\":null}},3,"
                          "{\"reply\":{\"thought\":\"h\",\"text\":\"b\"},\"w\":{}}]}"),
                  &out, &losses, &err) >= 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("[\"u: a\",\"a: b\"]"));
    CHECK_STR(told(&losses, &said), UPP_STR("/v an array: only its own dialect has a place for it\n"
                                            "/pairs/0/ask/x~1y null: only its own dialect has a place for it\n"
                                            "/pairs/1 the number 3: only its own dialect has a place for it\n"
                                            "/pairs/2/w an object: only its own dialect has a place for it\n"
                                            " the title: lines have none\n"
                                            "entries/1 a thought: lines have none\n"));
    CHECK(!losses.more && !losses.failed);
}

TEST(convert_carries_what_others_said_beside)
{
    for (size_t i = 0; i < WB_LEN(toys); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20), again = WB_BUF(1 << 20), back = WB_BUF(1 << 20);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
        struct upp_err err;
        test_note("toy %zu", i);
        CHECK(convert(&toy_dialect, &carrier_dialect, wb_cstr(toys[i]), &out, &losses, &err) >= 0);
        CHECK(convert(&carrier_dialect, &carrier_dialect, wb_buf_str(&out), &again, &losses, &err) >= 0);
        CHECK_STR(wb_buf_str(&again), wb_buf_str(&out));
        CHECK(convert(&carrier_dialect, &toy_dialect, wb_buf_str(&out), &back, &losses, &err) >= 0);
        CHECK_STR(wb_buf_str(&back), wb_cstr(toys[i]));
        CHECK_INT(losses.list.n, 0);
    }
}

/* ---- Clock and ids ------------------------------------------------------------------------------------------ */

TEST(convert_takes_clock_and_ids_from_the_caller)
{
    static const struct upp_str text = UPP_STR_INIT("[\"u: a\",\"a: b\"]");
    struct upp_err err;
    WB_CLEANUP(wd_document_done) struct wd_document a = {0};
    WB_CLEANUP(wd_document_done) struct wd_document b = {0};
    WB_CLEANUP(wd_document_done) struct wd_document c = {0};
    CHECK(wd_document_read(&a, &lines_dialect, text, UPP_OPTS(wd_convert_opts, .seed = 1, .now_ms = 77), &err) >= 0);
    CHECK(wd_document_read(&b, &lines_dialect, text, UPP_OPTS(wd_convert_opts, .seed = 1, .now_ms = 77), &err) >= 0);
    CHECK(wd_document_read(&c, &lines_dialect, text, UPP_OPTS(wd_convert_opts, .seed = 2), &err) >= 0);
    for (size_t i = 0; i < 2; i++) {
        struct upp_message *x = &a.doc.entries.p[i].e.message, *y = &b.doc.entries.p[i].e.message;
        CHECK(wb_str_starts(x->id, UPP_STR("toy_")) && x->id.n == 36);
        CHECK_STR(x->id, y->id);
        CHECK(!wb_str_eq(x->id, c.doc.entries.p[i].e.message.id));
        CHECK(x->time_ms == 77 && c.doc.entries.p[i].e.message.time_ms == 0);
    }
    CHECK(!wb_str_eq(a.doc.entries.p[0].e.message.id, a.doc.entries.p[1].e.message.id));
}

/* ---- What is no document ------------------------------------------------------------------------------------ */

TEST(convert_says_where_it_is_no_json_or_no_such_document)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    struct upp_err err = {0};
    CHECK_INT(convert(&toy_dialect, &toy_dialect, UPP_STR("{\"toy\":\n 1,]"), &out, NULL, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.where), UPP_STR("line 2, column 4 (byte 11)"));
    CHECK_INT(convert(&toy_dialect, &toy_dialect, UPP_STR(""), &out, NULL, &err), -UPP_EINVALID);
    CHECK_INT(convert(&toy_dialect, &toy_dialect, UPP_STR("{\"toy\":1}"), &out, NULL, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("no toy: it has no pairs"));
    CHECK_INT(convert(NULL, &toy_dialect, UPP_STR("{\"nobodys\":1}"), &out, NULL, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("no dialect knows this document: name one"));
    CHECK_INT(out.n, 0);
    CHECK(!wd_document_find(UPP_STR("toy")));
    CHECK(convert(&toy_dialect, &toy_dialect, UPP_STR("\xef\xbb\xbf{\"pairs\":[]}"), &out, NULL, &err) >= 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("{\"pairs\":[]}"));
}

TEST(convert_validates_with_pointers_rules_and_severities)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    const struct wd_document_ops *whose = NULL;
    struct upp_err err = {0};
    CHECK(wd_document_validate(&toy_dialect, UPP_STR("{\"toy\":1,\"pairs\":[{\"ask\":{}},7,{}]}"), &a, &p, &whose,
                               &err) >= 0);
    CHECK(whose == &toy_dialect && p.errors == 1 && p.warnings == 1 && p.list.n == 2);
    CHECK_STR(p.list.p[0].pointer, UPP_STR("/pairs/1"));
    CHECK_STR(wb_cstr(p.list.p[0].rule), UPP_STR("TOY-2"));
    CHECK_STR(p.list.p[0].sentence, UPP_STR("pair 1 is no object"));
    CHECK_INT(p.list.p[0].severity, WD_ERROR);
    CHECK_STR(p.list.p[1].pointer, UPP_STR("/pairs/2"));
    CHECK_INT(p.list.p[1].severity, WD_WARNING);
    wd_problems_done(&p);
    CHECK(wd_document_validate(&toy_dialect, UPP_STR("[]"), &a, &p, &whose, &err) >= 0);
    CHECK_STR(p.list.p[0].pointer, UPP_STR(""));
    CHECK_INT(wd_document_validate(NULL, UPP_STR("[}"), &a, &p, &whose, &err), -UPP_EINVALID);
}

TEST(convert_reads_what_it_understands_and_tells_the_rest)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err;
    CHECK(read_toy(&d, "{\"toy\":1,\"pairs\":[{},{\"ask\":{\"text\":\"a\"}},8]}", &err) >= 0);
    CHECK(d.doc.entries.n == 1 && d.problems.list.n == 2 && d.problems.warnings == 2);
    CHECK_STR(d.problems.list.p[1].pointer, UPP_STR("/pairs/2"));
}

/* ---- Limits -------------------------------------------------------------------------------------------------- */

static void deep(struct wb_buf *b, unsigned levels)
{
    wb_buf_add(b, UPP_STR("{\"pairs\":[],\"x\":")); /* a level */
    for (unsigned i = 1; i < levels; i++)
        wb_buf_addc(b, '[');
    for (unsigned i = 1; i < levels; i++)
        wb_buf_addc(b, ']');
    wb_buf_addc(b, '}');
}

TEST(convert_has_a_limit_of_depth)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 20), out = WB_BUF(1 << 20);
    struct upp_err err = {0};
    deep(&text, WD_DOC_DEPTH);
    CHECK(wb_buf_check(&text, &err) == 0);
    CHECK(convert(&toy_dialect, &toy_dialect, wb_buf_str(&text), &out, NULL, &err) >= 0);
    CHECK_STR(wb_buf_str(&out), wb_buf_str(&text));
    wb_buf_clear(&text);
    deep(&text, WD_DOC_DEPTH + 1);
    CHECK(wb_buf_check(&text, &err) == 0);
    CHECK_INT(convert(&toy_dialect, &toy_dialect, wb_buf_str(&text), &out, NULL, &err), -UPP_ELIMIT);
}

TEST(convert_has_a_limit_of_bytes)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20), small = WB_BUF(40);
    struct upp_err err = {0};
    /* Nothing of it is looked at. */
    CHECK_INT(convert(&toy_dialect, &toy_dialect, wb_str("{}", (size_t)WD_DOC_BYTES + 1), &out, NULL, &err),
              -UPP_ELIMIT);
    CHECK_INT(convert(&toy_dialect, &toy_dialect, wb_cstr(toys[3]), &small, NULL, &err), -UPP_ELIMIT);
}

/* [TEXT,TEXT,...] */
static void many(struct wb_buf *b, struct upp_str head, struct upp_str item, size_t n, struct upp_str tail)
{
    wb_buf_add(b, head);
    for (size_t i = 0; i < n; i++) {
        if (i)
            wb_buf_addc(b, ',');
        wb_buf_add(b, item);
    }
    wb_buf_add(b, tail);
}

TEST(convert_tells_a_limited_number_of_problems_and_counts_all)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 20);
    const struct wd_document_ops *whose;
    struct upp_err err;
    many(&text, UPP_STR("["), UPP_STR("1"), WD_MAX_PROBLEMS + 5, UPP_STR("]"));
    CHECK(wb_buf_check(&text, &err) == 0);
    CHECK(wd_document_validate(&lines_dialect, wb_buf_str(&text), &a, &p, &whose, &err) >= 0);
    CHECK(p.list.n == WD_MAX_PROBLEMS && p.errors == WD_MAX_PROBLEMS + 5);
}

TEST_WITH(convert_tells_a_limited_number_of_losses_and_counts_the_rest, .no_torture = "100,000 losses a run")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256 << 20);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(16 << 20), out = WB_BUF(16 << 20);
    struct upp_err err;
    many(&text, UPP_STR("{\"pairs\":["), UPP_STR("{\"ask\":{\"text\":\"\",\"x\":1}}"), WD_MAX_LOSSES + 5,
         UPP_STR("]}"));
    CHECK(wb_buf_check(&text, &err) == 0);
    CHECK(convert(&toy_dialect, &lines_dialect, wb_buf_str(&text), &out, &losses, &err) >= 0);
    CHECK(losses.list.n == WD_MAX_LOSSES && losses.more == 5);
    CHECK_STR(losses.list.p[WD_MAX_LOSSES - 1].pointer, UPP_STR("/pairs/99999/ask/x"));
}

static int nest(struct wd_lowering *l, unsigned levels)
{
    for (unsigned i = 0; i < levels; i++) {
        wd_open(l, WD_THREAD, "nest");
        wj_write_open(&l->w, '[');
    }
    for (unsigned i = 0; i < levels; i++) {
        wj_write_close(&l->w, ']');
        wd_close(l);
    }
    return 0;
}

static int nests(struct wd_lowering *l, struct upp_err *err)
{
    (void)err;
    return nest(l, WD_WITHIN);
}

static int nests_deeper(struct wd_lowering *l, struct upp_err *err)
{
    (void)err;
    return nest(l, WD_WITHIN + 1);
}

TEST(convert_has_a_limit_of_objects_within_each_other)
{
    static const struct wd_document_ops all = {.name = "nest", .lower = nests},
                                        one_more = {.name = "nest", .lower = nests_deeper};
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20), more = WB_BUF(1 << 20);
    struct upp_err err = {0};
    CHECK(read_toy(&d, toys[0], &err) >= 0);
    CHECK_INT(wd_document_write(&d, &all, NULL, &out, NULL, &err), 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("[[[[[[[[]]]]]]]]"));
    CHECK_INT(wd_document_write(&d, &one_more, NULL, &more, NULL, &err), -UPP_EBUG);
}

/* The last object there is room for, and one more. */
TEST_WITH(convert_has_a_limit_of_anchors, .no_torture = "memory that is not ours")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 16);
    size_t bytes = WD_ANCHORS * sizeof(struct wd_anchor);
    yyjson_val *v = NULL;
    struct upp_err err = {0};
    CHECK(wj_read(&a, UPP_STR("[[],[]]"), NULL, &v, &err) == 0);
    struct wd_lifting l = {.a = &a, .root = v, .anchors = {test_vast(bytes), WD_ANCHORS - 1, WD_ANCHORS}};
    CHECK(l.anchors.p);
    int last = wd_anchor(&l, v + 1, "pair", 0, 1, &err);
    int more = wd_anchor(&l, v + 2, "pair", 1, 1, &err);
    test_vast_done(l.anchors.p, bytes);
    CHECK_INT(last, 0);
    CHECK_INT(more, -UPP_ELIMIT);
    CHECK(l.anchors.n == WD_ANCHORS);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("no room for 33554433 objects"));
    CHECK_STR(wb_cstr(err.where), UPP_STR("/1"));
}

static int lift_with_room_for_one(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    if (!wb_vec_reserve(&l->lost, (size_t)WD_LOST))
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    l->lost.n = WD_LOST - 1;
    return toy_dialect.lift(l, root, err);
}

TEST(convert_has_a_limit_of_what_is_lost)
{
    static const char *const texts[] = {"{\"toy\":1,\"pairs\":[{\"ask\":{\"text\":\"a\",\"x\":1}}]}",
                                        "{\"toy\":1,\"pairs\":[{\"ask\":{\"text\":\"a\",\"x\":1,\"y\":2}}]}"};
    struct wd_document_ops ops = toy_dialect;
    ops.lift = lift_with_room_for_one;
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        struct upp_err err = {0};
        CHECK_INT(wd_document_read(&d, &ops, wb_cstr(texts[i]), NULL, &err), 0);
        CHECK(d.lifting.lost.n == WD_LOST && d.lifting.lost_more == i); /* a long log loses more, and is read */
    }
}

static int lower_with_room_for(struct wd_lowering *l, size_t room, struct upp_err *err)
{
    size_t bytes = WD_EXTENTS * sizeof *l->within.p;
    void *vast = test_vast(bytes);
    if (!vast)
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    l->within.p = vast;
    l->within.cap = WD_EXTENTS;
    l->within.n = WD_EXTENTS - room;
    int r = toy_dialect.lower(l, err);
    l->within.p = NULL; /* it is none that wb_vec_done may free */
    l->within.n = l->within.cap = 0;
    test_vast_done(vast, bytes);
    return r;
}

static int lower_with_room_for_none(struct wd_lowering *l, struct upp_err *err)
{
    return lower_with_room_for(l, 0, err);
}

static int lower_with_room_for_one(struct wd_lowering *l, struct upp_err *err)
{
    return lower_with_room_for(l, 1, err);
}

/* Places for which there is no room are looked for: the same is written. */
TEST_WITH(convert_needs_no_room_for_places, .no_torture = "memory that is not ours")
{
    static const char text[] = "{\"toy\":1,\"v\":0,\"pairs\":[{\"x\":1,\"ask\":{\"y\":2,\"text\":\"a\"},\"z\":[3],"
                               "\"reply\":{\"text\":\"b\",\"y\":{}}},{\"reply\":{\"w\":[],\"text\":\"c\"},\"x\":4}]}";
    int (*const lowers[])(struct wd_lowering * l, struct upp_err * err) = {toy_dialect.lower, lower_with_room_for_one,
                                                                           lower_with_room_for_none};
    for (size_t i = 0; i < WB_LEN(lowers); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 16);
        struct upp_err err = {0};
        struct wd_document_ops ops = toy_dialect;
        ops.lower = lowers[i];
        CHECK(read_toy(&d, text, &err) >= 0);
        CHECK_INT(wd_document_write(&d, &ops, NULL, &out, NULL, &err), 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(text));
    }
}

/* ---- Any document -------------------------------------------------------------------------------------------- */

static uint32_t roll(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static void any_value(uint32_t *seed, struct wj_writer *w, unsigned depth)
{
    static const struct upp_str words[] = {UPP_STR_INIT("text"), UPP_STR_INIT("ask"), UPP_STR_INIT("x"),
                                           UPP_STR_INIT("")};
    uint32_t n = roll(seed, 4);
    switch (roll(seed, depth ? 7 : 5)) {
    case 0:
        wj_write_null(w);
        break;
    case 1:
        wj_write_bool(w, n & 1);
        break;
    case 2:
        wj_write_num(w, n & 1 ? UPP_STR("1") : UPP_STR("1.0"));
        break;
    case 3:
    case 4:
        wj_write_str(w, words[n]);
        break;
    case 5:
        wj_write_open(w, '[');
        while (n--)
            any_value(seed, w, depth - 1);
        wj_write_close(w, ']');
        break;
    default:
        wj_write_open(w, '{');
        while (n--) {
            wj_write_name(w, words[roll(seed, WB_LEN(words))]);
            any_value(seed, w, depth - 1);
        }
        wj_write_close(w, '}');
        break;
    }
}

/* An object whose members are mostly these, in any order, some twice, some missing. */
static void any_object(uint32_t *seed, struct wj_writer *w, const char *const *names, size_t n_names,
                       void (*value)(uint32_t *seed, struct wj_writer *w, const char *name))
{
    uint32_t n = 1 + roll(seed, 4);
    wj_write_open(w, '{');
    while (n--) {
        const char *name = names[roll(seed, (uint32_t)n_names)];
        wj_write_name(w, wb_cstr(name));
        if (roll(seed, 6))
            value(seed, w, name);
        else
            any_value(seed, w, 2);
    }
    wj_write_close(w, '}');
}

static void any_text(uint32_t *seed, struct wj_writer *w, const char *name)
{
    (void)name;
    wj_write_str(w, roll(seed, 2) ? UPP_STR("one") : UPP_STR("two"));
}

static void any_side(uint32_t *seed, struct wj_writer *w, const char *name)
{
    static const char *const names[] = {"text", "thought", "text", "other"};
    (void)name;
    any_object(seed, w, names, WB_LEN(names), any_text);
}

static void any_toy(uint32_t *seed, struct wj_writer *w)
{
    static const char *const names[] = {"ask", "reply", "more"};
    uint32_t n = roll(seed, 5);
    wj_write_open(w, '{');
    if (roll(seed, 2)) {
        wj_write_name(w, UPP_STR("title"));
        any_value(seed, w, 1);
    }
    wj_write_name(w, UPP_STR("pairs"));
    wj_write_open(w, '[');
    while (n--)
        if (roll(seed, 8))
            any_object(seed, w, names, WB_LEN(names), any_side);
        else
            any_value(seed, w, 2);
    wj_write_close(w, ']');
    if (roll(seed, 2)) {
        wj_write_name(w, UPP_STR("toy"));
        any_value(seed, w, 1);
    }
    wj_write_close(w, '}');
}

TEST(convert_gives_any_document_back)
{
    uint32_t rounds = test_brief() ? 20 : (uint32_t)test_times("WEFT_SEEDS", 3000);
    for (uint32_t i = 0; i < rounds; i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 20), out = WB_BUF(1 << 20), mid = WB_BUF(1 << 20);
        struct upp_err err;
        struct wj_writer w;
        uint32_t seed = i;
        wj_writer_init(&w, &text, &err);
        any_toy(&seed, &w);
        CHECK(wj_writer_check(&w) >= 0);
        test_note("seed %u: %.*s", i, UPP_FMT(wb_buf_str(&text)));
        CHECK(convert(&toy_dialect, &toy_dialect, wb_buf_str(&text), &out, NULL, &err) >= 0);
        CHECK_STR(wb_buf_str(&out), wb_buf_str(&text));
        CHECK(convert(&toy_dialect, &carrier_dialect, wb_buf_str(&text), &mid, NULL, &err) >= 0);
        wb_buf_clear(&out);
        CHECK(convert(&carrier_dialect, &toy_dialect, wb_buf_str(&mid), &out, NULL, &err) >= 0);
        CHECK_STR(wb_buf_str(&out), wb_buf_str(&text));
    }
}

/* ---- Real dialects ------------------------------------------------------------------------------------------- */

/* Messages that Pydantic AI would refuse, and nobody may lose. */
static const char *const strays[] = {
    "{\"content\":\"1\",\"tool_call_id\":null,\"part_kind\":\"tool-return\"}",
    "{\"content\":\"be brief\",\"part_kind\":\"tool-call\"}",
    "{\"content\":\"x\",\"part_kind\":\"text\"}",
    "{\"content\":\"hi\",\"part_kind\":\"user-prompt\"}",
    "{\"tool_name\":\"f\",\"content\":1,\"tool_call_id\":\"c\",\"part_kind\":\"tool-return\"}",
};

TEST(convert_carries_parts_that_stand_where_they_cannot)
{
    for (size_t i = 0; i < 2 * WB_LEN(strays); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 20), out = WB_BUF(1 << 20), back = WB_BUF(1 << 20);
        struct upp_err err;
        wb_buf_addf(&text, "[{\"parts\":[%s,{\"content\":\"hi\",\"part_kind\":\"user-prompt\"}],\"kind\":\"%s\"}]",
                    strays[i / 2], i % 2 ? "request" : "response");
        CHECK(wb_buf_check(&text, &err) == 0);
        test_note("%.*s", UPP_FMT(wb_buf_str(&text)));
        CHECK(convert(&wd_document_pydantic, &wd_document_thread, wb_buf_str(&text), &out, NULL, &err) >= 0);
        CHECK(convert(&wd_document_thread, &wd_document_pydantic, wb_buf_str(&out), &back, NULL, &err) >= 0);
        CHECK_STR(wb_buf_str(&back), wb_buf_str(&text));
    }
}
