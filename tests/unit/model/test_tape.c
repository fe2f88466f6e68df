#include "model/tape.h"

#include "base/utf8.h"
#include "model/id.h"
#include "support/test.h"

struct seen {
    enum wm_mark mark;
    uint32_t part;
    uint64_t bytes;
};

static uint32_t draw(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

static bool same(const struct seen *a, enum wm_mark mark, uint32_t part, uint64_t bytes)
{
    return a->mark == mark && a->part == part && a->bytes == bytes;
}

TEST(model_tape_bytes_are_few_and_fixed)
{
    WB_CLEANUP(wm_tape_done) struct wm_tape t;
    wm_tape_init(&t, 1u << 16);
    wm_tape_mark(&t, WM_MARK_STEP, 9); /* a step has no part */
    wm_tape_mark(&t, WM_MARK_OPEN, 0);
    wm_tape_mark(&t, WM_MARK_PART, 0);
    for (int i = 0; i < 300; i++)
        wm_tape_delta(&t, 0, 4);
    wm_tape_delta(&t, 0, 0); /* nothing */
    wm_tape_delta(&t, 0, 200);
    wm_tape_mark(&t, WM_MARK_CLOSE, 0);
    wm_tape_mark(&t, WM_MARK_PART, 16383);
    struct upp_str tape = wm_tape_end(&t);
    CHECK(wb_buf_check(&t.out, NULL) == 0);
    CHECK(t.events == 306);
    CHECK_STR(tape, UPP_STR("\x00\x01\x02\x03\x04\xab\x02\x03\xc8\x01\x00\x04\xfa\xff\x07"));
    uint64_t events, text;
    CHECK(wm_tape_count(tape, &events, &text, NULL) == 0);
    CHECK(events == t.events && text == 1400);
}

/* A reader that looks after every mark, one that looks now and then, and one that reads the stored tape see the same.
 */
TEST_WITH(model_tape_is_read_while_it_grows, .no_torture = "many seeds; the next test has the faults")
{
    for (uint64_t s = 0; s < 200; s++) {
        WB_CLEANUP(wm_tape_done) struct wm_tape t;
        struct wm_tape_at eager = {0}, lazy = {0}, end = {0};
        static struct seen all[400];
        struct seen now;
        size_t n = 0, n_lazy = 0;
        uint64_t seed = s;
        test_note("seed %llu", (unsigned long long)s);
        wm_tape_init(&t, 1u << 16);
        for (int i = 0; i < 400; i++) {
            now = (struct seen){draw(&seed, 3) ? WM_MARK_DELTA : (enum wm_mark)draw(&seed, 5), draw(&seed, 2),
                                1 + draw(&seed, 2)};
            if (now.mark < WM_MARK_PART)
                now.part = 0;
            if (now.mark == WM_MARK_DELTA)
                wm_tape_delta(&t, now.part, now.bytes);
            else {
                now.bytes = 0;
                wm_tape_mark(&t, now.mark, now.part);
            }
            all[n++] = now;
            CHECK(wm_tape_follow(&t, &eager, &now.mark, &now.part, &now.bytes, NULL) == 1);
            CHECK(same(&all[n - 1], now.mark, now.part, now.bytes));
            CHECK(wm_tape_follow(&t, &eager, &now.mark, &now.part, &now.bytes, NULL) == 0);
            for (uint32_t k = draw(&seed, 3); k && n_lazy < n; k--, n_lazy++) {
                CHECK(wm_tape_follow(&t, &lazy, &now.mark, &now.part, &now.bytes, NULL) == 1);
                CHECK(same(&all[n_lazy], now.mark, now.part, now.bytes));
            }
        }
        struct upp_str tape = wm_tape_end(&t);
        CHECK(wb_buf_check(&t.out, NULL) == 0 && t.events == n);
        for (size_t i = 0; i < n; i++) {
            CHECK(wm_tape_next(tape, &end, &now.mark, &now.part, &now.bytes, NULL) == 1);
            CHECK(same(&all[i], now.mark, now.part, now.bytes));
        }
        CHECK(wm_tape_next(tape, &end, &now.mark, &now.part, &now.bytes, NULL) == 0);
        for (; n_lazy < n; n_lazy++) { /* one that followed goes on with what was stored */
            CHECK(wm_tape_next(tape, &lazy, &now.mark, &now.part, &now.bytes, NULL) == 1);
            CHECK(same(&all[n_lazy], now.mark, now.part, now.bytes));
        }
        CHECK(wm_tape_next(tape, &lazy, &now.mark, &now.part, &now.bytes, NULL) == 0);
        CHECK(wm_tape_next(tape, &eager, &now.mark, &now.part, &now.bytes, NULL) == 0);
    }
}

TEST(model_tape_that_failed_says_so)
{
    WB_CLEANUP(wm_tape_done) struct wm_tape t;
    struct wm_tape_at at = {0};
    enum wm_mark mark;
    uint32_t part;
    uint64_t bytes;
    wm_tape_init(&t, 4);
    wm_tape_mark(&t, WM_MARK_OPEN, 0);
    wm_tape_mark(&t, WM_MARK_PART, 0);
    CHECK(wm_tape_follow(&t, &at, &mark, &part, &bytes, NULL) == 1);
    wm_tape_delta(&t, 0, 5);
    wm_tape_mark(&t, WM_MARK_CLOSE, 0); /* the run does not fit */
    CHECK_INT(wm_tape_follow(&t, &at, &mark, &part, &bytes, NULL), -UPP_ELIMIT);
    CHECK_STR(wm_tape_end(&t), UPP_STR("\x01\x02"));
    CHECK_INT(wb_buf_check(&t.out, NULL), -UPP_ELIMIT);

    wm_tape_done(&t);
    wm_tape_mark(&t, WM_MARK_OPEN, 0); /* it can be used again */
    CHECK_STR(wm_tape_end(&t), UPP_STR("\x01"));
    CHECK(t.events == 1 && wb_buf_check(&t.out, NULL) == 0);
    wm_tape_mark(&t, WM_MARK_PART, WM_PARTS);
    CHECK_INT(wb_buf_check(&t.out, NULL), -UPP_ELIMIT);
}

TEST(model_tape_of_other_bytes_is_refused)
{
    static const struct {
        struct upp_str tape;
        int good; /* marks before it breaks */
        const char *msg;
    } bad[] = {
        {UPP_STR_INIT("\x01\x80"), 1, "the tape is broken at byte 1: expected a mark"},
        {UPP_STR_INIT("\x82\x00"), 0, "the tape is broken at byte 0: expected a mark"},
        {UPP_STR_INIT("\x05"), 0, "the tape is broken at byte 0: expected a mark of a known kind"},
        {UPP_STR_INIT("\x07"), 0, "the tape is broken at byte 0: expected a mark of a known kind"},
        {UPP_STR_INIT("\x08"), 0, "the tape is broken at byte 0: expected a part that a message can have"},
        {UPP_STR_INIT("\x82\x80\x08"), 0, "the tape is broken at byte 0: expected a part that a message can have"},
        {UPP_STR_INIT("\x02\x03"), 1, "the tape is broken at byte 2: expected the bytes of a delta and how often"},
        {UPP_STR_INIT("\x03\x04"), 0, "the tape is broken at byte 1: expected the bytes of a delta and how often"},
        {UPP_STR_INIT("\x03\x04\x80\x00"), 0,
         "the tape is broken at byte 1: expected the bytes of a delta and how often"},
        {UPP_STR_INIT("\x03\x00\x01"), 0, "the tape is broken at byte 1: expected deltas that a text can have"},
        {UPP_STR_INIT("\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"), 0,
         "the tape is broken at byte 1: expected deltas that a text can have"},
        {UPP_STR_INIT("\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00"), 0,
         "the tape is broken at byte 1: expected the bytes of a delta and how often"},
        {UPP_STR_INIT("\x03\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0,
         "the tape is broken at byte 1: expected deltas that a text can have"},
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        struct wm_tape_at at = {0};
        struct upp_err err = {0};
        enum wm_mark mark;
        uint32_t part;
        uint64_t bytes, events, text;
        test_note("case %zu", i);
        for (int k = 0; k < bad[i].good; k++)
            CHECK(wm_tape_next(bad[i].tape, &at, &mark, &part, &bytes, &err) == 1);
        CHECK_INT(wm_tape_next(bad[i].tape, &at, &mark, &part, &bytes, &err), -UPP_ESTORE);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(bad[i].msg));
        CHECK_INT(wm_tape_next(bad[i].tape, &at, &mark, &part, &bytes, NULL), -UPP_ESTORE); /* and stays so */
        CHECK_INT(wm_tape_count(bad[i].tape, &events, &text, NULL), -UPP_ESTORE);
    }

    /* A cursor that had five deltas of a run, and a tape on which it has three. */
    struct wm_tape_at at = {.taken = 5};
    enum wm_mark mark;
    uint32_t part;
    uint64_t bytes, events, text;
    CHECK_INT(wm_tape_next(UPP_STR("\x03\x01\x02"), &at, &mark, &part, &bytes, NULL), -UPP_ESTORE);
    CHECK_INT(wm_tape_next(UPP_STR("\x01"), &at, &mark, &part, &bytes, NULL), -UPP_ESTORE);

    /* Two runs that are each as long as a text can be. */
    CHECK_INT(
        wm_tape_count(UPP_STR("\x03\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00\x03\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
                              "\x00\x03\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00"),
                      &events, &text, NULL),
        -UPP_ESTORE);
}
