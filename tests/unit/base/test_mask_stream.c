/* Secrets in text that comes in pieces: found wherever it is cut, and nothing else is changed or kept waiting. */
#include "base/mask_stream.h"

#include "base/mask.h"
#include "support/test.h"

static void give(struct wb_masks **m)
{
    wb_masks_give(*m);
}

#define KEY  "sk-proj-0123456789abcdef"
#define KEY2 "sk-proj-0123456789abcdef-and-longer"

static const struct {
    bool json;
    const char *text, *want;
} cases[] = {
    {false, "nothing in it", "nothing in it"},
    {false, "it is " KEY "!", "it is ***!"},
    {false, KEY, "***"},
    {false, KEY KEY2 KEY, "*********"},
    {false, "sk-sk-proj-sk-" KEY, "sk-sk-proj-sk-***"},
    {false, "keys begin with sk-proj-", "keys begin with sk-proj-"},
    {false, "sk-proj-0123456789", "***"}, /* half of it at the end: who knows what would follow */
    {false, "sk-proj-0123456789, no", "sk-proj-0123456789, no"},
    {false, KEY "-and-long", "******"}, /* the longer one, cut */
    {false, KEY "-and-so", "***-and-so"},
    {false, KEY "-and so", "***-and so"},
    {false, "a%2Fb%20c%2Fd%20e%2Ff%20g%2012 and a/b c/d e/f g 12h", "*** and ***h"},
    {false, "4111111111111111", "***"},
    {true, "{\"a\":\"" KEY "\"}", "{\"a\":\"***\"}"},
    {true, "{\"" KEY "\":1}", "{\"***\":1}"},
    {true, "{\"a\":\"\\u0073k-proj-\\u0030123\\u0034567\\u00389abcdef\",\"b\":\"\\n\"}",
     "{\"a\":\"***\",\"b\":\"\\n\"}"},
    {true, "{\"a\":\"x\\n\\u0073k-proj-\\u0030123456789abcdef\\\\\"}", "{\"a\":\"x\\n***\\\\\"}"},
    {true, "{\"a\":\"p\\u00e4\\/\\u20ac-0123456789-secret\"}", "{\"a\":\"***\"}"},
    {true, "{\"a\":4111111111111111,\"b\":[1]}", "{\"a\":1111111111111111,\"b\":[1]}"},
    {true, "{\"a\":\"sk-proj-\",\"b\":\"0123456789abcdef\"}", "{\"a\":\"sk-proj-\",\"b\":\"0123456789abcdef\"}"},
    {true, KEY " is no JSON, \\u00", "*** is no JSON, \\u00"},
    {true, "\"\\u00zz\\", "\"\\u00zz\\"},
};

struct secrets {
    struct wb_hidden *h[6];
};

static bool hide_all(struct secrets *s)
{
    static const char *const texts[] = {
        KEY, KEY2, "a/b c/d e/f g 12", "4111111111111111", "p\xc3\xa4/\xe2\x82\xac-0123456789-secret", "too-short"};
    for (size_t i = 0; i < WB_LEN(texts); i++)
        if (wb_hide(wb_cstr(texts[i]), &s->h[i], NULL) < 0)
            return false;
    return true;
}

static void unhide_all(struct secrets *s)
{
    for (size_t i = 0; i < WB_LEN(s->h); i++)
        s->h[i] = wb_unhide(s->h[i]);
}

/* In pieces of `size` bytes after a first one of `first`. */
static bool in_pieces(const struct wb_masks *m, size_t i, size_t first, size_t size, struct wb_buf *out)
{
    struct wb_mask_stream s = {.masks = m, .json = cases[i].json};
    struct upp_str text = wb_cstr(cases[i].text);
    wb_buf_clear(out);
    for (size_t at = 0; at < text.n;) {
        size_t n = at == 0 && first ? first : size;
        wb_mask_stream_add(&s, wb_str_sub(text, at, n), out);
        at += n;
    }
    wb_mask_stream_end(&s, out);
    bool masked = s.masked;
    wb_mask_stream_done(&s);
    test_note("case %zu, first %zu, then %zu", i, first, size);
    return !out->failed &&
           test_expect_str(wb_buf_str(out), wb_cstr(cases[i].want), __FILE__, __LINE__, cases[i].text) &&
           EXPECT(masked == !wb_str_eq(text, wb_cstr(cases[i].want)));
}

TEST_WITH(mask_stream_finds_secrets_wherever_they_are_cut,
          .no_torture = "thousands of runs; the next ones are tortured")
{
    WB_CLEANUP(unhide_all) struct secrets h = {0};
    WB_CLEANUP(give) struct wb_masks *m = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
    CHECK(hide_all(&h));
    CHECK_INT(wb_masks_take(&m, NULL), 0);
    CHECK(m);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        for (size_t first = 0; first < wb_cstr(cases[i].text).n; first++)
            CHECK(in_pieces(m, i, first, SIZE_MAX / 4, &out));
        for (size_t size = 1; size < 9; size++)
            CHECK(in_pieces(m, i, 0, size, &out));
    }
}

/* A delta waits only for what may be the beginning of a secret. */
TEST(mask_stream_holds_back_no_more_than_it_must)
{
    WB_CLEANUP(unhide_all) struct secrets h = {0};
    WB_CLEANUP(give) struct wb_masks *m = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
    CHECK(hide_all(&h));
    CHECK_INT(wb_masks_take(&m, NULL), 0);
    struct wb_mask_stream s = {.masks = m};
    static const struct {
        const char *piece, *so_far;
    } steps[] = {{"Hello sk-p", "Hello "},    {"ro", "Hello "},
                 {"n", "Hello sk-pron"},      {" sk-proj-0123456789abcde", "Hello sk-pron "},
                 {"f", "Hello sk-pron "}, /* it may be the longer one */
                 {".", "Hello sk-pron ***."}, {"4111111111111111", "Hello sk-pron ***.***"}};
    for (size_t i = 0; i < WB_LEN(steps); i++) {
        wb_mask_stream_add(&s, wb_cstr(steps[i].piece), &out);
        test_note("step %zu", i);
        if (out.failed ||
            !test_expect_str(wb_buf_str(&out), wb_cstr(steps[i].so_far), __FILE__, __LINE__, steps[i].piece))
            break;
    }
    wb_mask_stream_done(&s);
}

/* Half of it in one text and the rest in the next, which readers show together. */
TEST(mask_stream_goes_on_in_the_next_text)
{
    WB_CLEANUP(unhide_all) struct secrets h = {0};
    WB_CLEANUP(give) struct wb_masks *m = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
    CHECK(hide_all(&h));
    CHECK_INT(wb_masks_take(&m, NULL), 0);
    struct wb_mask_stream one = {.masks = m};
    wb_mask_stream_add(&one, UPP_STR("it is sk-proj-0"), &out);
    wb_mask_stream_end(&one, &out);
    struct wb_mask_stream two = {.masks = m, .at = one.at};
    wb_mask_stream_add(&two, UPP_STR("123456789abcdef."), &out);
    wb_mask_stream_end(&two, &out);
    wb_mask_stream_done(&one);
    wb_mask_stream_done(&two);
    CHECK(!out.failed);
    CHECK_STR(wb_buf_str(&out), UPP_STR("it is sk-proj-0***."));
}

/* Who took the masks keeps them; who takes them later has others. */
TEST(mask_stream_has_the_secrets_of_its_beginning)
{
    WB_CLEANUP(unhide_all) struct secrets h = {0};
    WB_CLEANUP(give) struct wb_masks *m = NULL;
    struct wb_masks *none = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
    CHECK(hide_all(&h));
    CHECK_INT(wb_masks_take(&m, NULL), 0);
    unhide_all(&h);
    CHECK_INT(wb_masks_take(&none, NULL), 0);
    CHECK(!none);
    CHECK(wb_masks_add(m, UPP_STR(KEY), false, &out));
    CHECK_STR(wb_buf_str(&out), UPP_STR("***"));
    CHECK_INT(wb_hide_in_errors(UPP_STR("/home/somebody/or/other"), &h.h[0], NULL), 0);
    CHECK_INT(wb_masks_take(&none, NULL), 0);
    CHECK(!none);
}
