/* What is left of a row when something in it is erased. */
#include "base/buf.h"
#include "model/row.h"
#include "support/rows.h"
#include "support/test.h"

static const struct wm_erased mark = {.time_ms = 9000, .why = UPP_STR_INIT("asked")};

/* Erases and writes: the body as text. */
static int erased(struct wb_arena *a, struct upp_str body, struct upp_str tape, const struct wm_erasing *what,
                  struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wm_row row;
    int r = wm_row_read(a, WM_FORMAT, body, tape, &row, err), n;
    if (r < 0)
        return r;
    n = r = wm_row_erase(a, &row, what, err);
    if (r >= 0)
        r = wm_row_write(&row, &out, err);
    if (r < 0)
        return r;
    *ret = wb_arena_dup(a, wb_buf_str(&out));
    r = wm_row_read(a, WM_FORMAT, *ret, row.tape, &row, err); /* and it can be read */
    return r < 0 ? r : wb_arena_check(a, err) < 0 ? -UPP_ENOMEM : n;
}

#define SAID                                                                                                           \
    "{\"v\":3,\"c\":1,\"s\":1,\"t\":5000,\"e\":["                                                                      \
    "{\"w\":\"bob\",\"h\":\"act\",\"j\":{\"secret\":1},\"r\":2,\"i\":\"m1\",\"d\":{\"x\":\"secret\"},\"p\":["          \
    "{\"x\":\"secret\"},{\"k\":8,\"i\":\"c1\",\"n\":\"add\",\"x\":\"{\\\"a\\\":\\\"secret\\\"}\",\"d\":{\"y\":1}},"    \
    "{\"k\":8,\"i\":\"c2\",\"n\":\"sub\",\"x\":\"{\\\"sec\",\"c\":1}]},"                                               \
    "{\"o\":2,\"s\":0,\"r\":1,\"p\":[{\"x\":\"stays\"}]}],"                                                            \
    "\"r\":[{\"k\":2},{\"k\":3,\"c\":\"c1\",\"n\":\"add\",\"x\":\"{\\\"a\\\":\\\"secret\\\"}\"},"                      \
    "{\"k\":3,\"c\":\"c9\",\"n\":\"add\",\"x\":\"{\\\"a\\\":9}\"},"                                                    \
    "{\"k\":4,\"o\":1,\"c\":\"c1\",\"n\":\"add\",\"j\":\"secret\"},{\"k\":4,\"o\":2,\"c\":\"c9\",\"j\":9},"            \
    "{\"k\":1,\"u\":3,\"p\":[{\"c\":\"c1\",\"n\":\"add\",\"a\":\"secret\"},{\"c\":\"c9\",\"a\":\"9\"}]}],"             \
    "\"x\":{\"step\":1}}"

TEST(model_erase_keeps_calls_and_their_results)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_str out = {0};
    struct upp_err err = {0};
    const struct upp_str calls[] = {UPP_STR("c1")};
    struct wm_erasing what = {.mark = mark, .entry = 0, .calls = calls, .n_calls = 1, .arguments = true};
    int n = erased(&a, UPP_STR(SAID), UPP_STR(""), &what, &out, &err);
    test_note("%s", err.msg);
    CHECK_INT(n, 4);
    CHECK_STR(out,
              UPP_STR("{\"v\":3,\"c\":1,\"s\":1,\"t\":5000,\"e\":["
                      "{\"w\":\"bob\",\"h\":\"act\",\"e\":9000,\"y\":\"asked\",\"r\":2,\"i\":\"m1\",\"p\":["
                      "{\"k\":8,\"i\":\"c1\",\"n\":\"add\",\"x\":\"{}\"}]},"
                      "{\"o\":2,\"s\":0,\"r\":1,\"p\":[{\"x\":\"stays\"}]}],"
                      "\"r\":[{\"k\":2},{\"k\":3,\"c\":\"c1\",\"n\":\"add\",\"x\":\"{}\"},"
                      "{\"k\":3,\"c\":\"c9\",\"n\":\"add\",\"x\":\"{\\\"a\\\":9}\"},"
                      "{\"k\":4,\"o\":1,\"c\":\"c1\",\"n\":\"add\",\"j\":\"erased\"},"
                      "{\"k\":4,\"o\":2,\"c\":\"c9\",\"j\":9},"
                      "{\"k\":1,\"u\":3,\"p\":[{\"c\":\"c1\",\"n\":\"add\",\"a\":\"{}\"},{\"c\":\"c9\",\"a\":\"9\"}]}],"
                      "\"x\":{\"step\":1}}"));

    /* Of the results alone: what was asked stays. A second time there is nothing to do. */
    what.entry = SIZE_MAX;
    what.arguments = false;
    CHECK_INT(erased(&a, UPP_STR(SAID), UPP_STR(""), &what, &out, &err), 1);
    CHECK(wb_str_find(out, UPP_STR("\"j\":\"erased\""), 0) != SIZE_MAX);
    CHECK(wb_str_find(out, UPP_STR("\"j\":\"secret\""), 0) == SIZE_MAX);
    CHECK_INT(erased(&a, out, UPP_STR(""), &what, &out, &err), 0);
}

TEST(model_erase_of_all_leaves_no_text)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_str out = {0};
    struct upp_err err = {0};
    struct wm_erasing what = {.mark = mark, .all = true, .entry = SIZE_MAX};
    CHECK(erased(&a, UPP_STR(SAID), UPP_STR(""), &what, &out, &err) > 0);
    CHECK(wb_str_find(out, UPP_STR("secret"), 0) == SIZE_MAX && wb_str_find(out, UPP_STR("stays"), 0) == SIZE_MAX);
    CHECK(wb_str_find(out, UPP_STR("step"), 0) == SIZE_MAX && wb_str_find(out, UPP_STR("9}"), 0) == SIZE_MAX);
    CHECK_INT(erased(&a, out, UPP_STR(""), &what, &out, &err), 0);

    /* Events and turns are none of those that anybody reads. Work beside keeps its shape. */
    CHECK(erased(&a,
                 UPP_STR("{\"e\":[{\"k\":2,\"j\":{\"type\":\"x\",\"data\":\"secret\"}},{\"k\":4,\"j\":\"secret\"}],"
                         "\"r\":[{\"k\":8},{\"k\":4,\"o\":1,\"c\":\"b\",\"j\":null},"
                         "{\"k\":1,\"u\":6,\"j\":{\"message\":\"secret\"}}]}"),
                 UPP_STR(""), &what, &out, &err) > 0);
    CHECK_STR(out, UPP_STR("{\"e\":[{\"k\":2,\"e\":9000,\"y\":\"asked\",\"j\":{\"type\":\"erased\"}},"
                           "{\"k\":4,\"e\":9000,\"y\":\"asked\",\"j\":{\"type\":\"erased\"}}],"
                           "\"r\":[{\"k\":8},{\"k\":4,\"o\":1,\"c\":\"b\",\"j\":null},{\"k\":1,\"u\":6}]}"));
}

TEST(model_erase_of_results_that_stand_in_a_message)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_str out = {0};
    struct upp_err err = {0};
    const struct upp_str calls[] = {UPP_STR("c2")};
    struct wm_erasing what = {.mark = mark, .entry = SIZE_MAX, .calls = calls, .n_calls = 1, .arguments = true};
    CHECK_INT(erased(&a,
                     UPP_STR("{\"e\":[{\"o\":3,\"r\":3,\"p\":[{\"k\":9,\"i\":\"c1\",\"j\":1},"
                             "{\"k\":9,\"i\":\"c2\",\"j\":{\"a\":2},\"e\":1,\"d\":{}}]}]}"),
                     UPP_STR(""), &what, &out, &err),
              1);
    CHECK_STR(out, UPP_STR("{\"e\":[{\"o\":3,\"r\":3,\"p\":[{\"k\":9,\"i\":\"c1\",\"j\":1},"
                           "{\"k\":9,\"i\":\"c2\",\"j\":\"erased\",\"e\":1}]}]}"));

    /* What middleware made of an input. */
    what = (struct wm_erasing){.mark = mark, .entry = SIZE_MAX, .asides = true};
    CHECK_INT(erased(&a,
                     UPP_STR("{\"s\":1,\"e\":[{\"a\":2,\"s\":0,\"h\":\"input\",\"r\":1,\"p\":[{\"x\":\"secret\"}]},"
                             "{\"a\":2,\"h\":\"plan\",\"r\":1,\"p\":[{\"x\":\"own\"}]}]}"),
                     UPP_STR(""), &what, &out, &err),
              1);
    CHECK_STR(out, UPP_STR("{\"s\":1,\"e\":[{\"a\":2,\"s\":0,\"h\":\"input\",\"e\":9000,\"y\":\"asked\",\"r\":1},"
                           "{\"a\":2,\"h\":\"plan\",\"r\":1,\"p\":[{\"x\":\"own\"}]}]}"));
}

TEST(model_erase_takes_the_tape_and_keeps_the_numbers)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wm_tape_done) struct wm_tape t = {.out = WB_BUF(100)};
    struct upp_err err = {0};
    struct wm_row row;
    uint64_t events;
    struct wm_erasing what = {.mark = mark, .entry = 1};
    const struct upp_str body =
        UPP_STR("{\"v\":7,\"e\":[{\"r\":2,\"p\":[{\"x\":\"abc\"}]},{\"r\":1}],\"r\":[{\"k\":2}]}");
    wm_tape_mark(&t, WM_MARK_STEP, 0);
    wm_tape_mark(&t, WM_MARK_OPEN, 0);
    CHECK(wm_row_read(&a, WM_FORMAT, body, wm_tape_end(&t), &row, &err) == 0);
    CHECK(wm_row_events(&row, &events, &err) == 0 && events == 3);
    CHECK_INT(wm_row_erase(&a, &row, &what, &err), 1); /* it is about another message */
    CHECK(row.tape.n && row.event == 7);
    what.entry = 0;
    CHECK_INT(wm_row_erase(&a, &row, &what, &err), 2);
    CHECK(!row.tape.n && row.event == 9 && wm_row_events(&row, &events, &err) == 0 && events == 1);
    CHECK(wm_is_hidden(&row.entries[0]) && row.entries[0].message.role == UPP_ROLE_ASSISTANT);
}

/* What was made of a message elsewhere. */

#define MADE                                                                                                           \
    "{\"t\":5000,\"e\":["                                                                                              \
    "{\"a\":3,\"j\":{\"through\":4},\"r\":1,\"p\":[{\"x\":\"sum of 4\"}]},"                                            \
    "{\"a\":3,\"j\":{\"through\":5},\"r\":1,\"p\":[{\"x\":\"sum of 5\"}]},"                                            \
    "{\"a\":3,\"r\":1,\"p\":[{\"x\":\"sum of all\"}]},"                                                                \
    "{\"a\":2,\"h\":\"history\",\"r\":1,\"p\":[{\"x\":\"rewritten\"}]},"                                               \
    "{\"a\":2,\"h\":\"input\",\"r\":1,\"p\":[{\"x\":\"aside\"}]},"                                                     \
    "{\"a\":2,\"s\":2,\"h\":\"step:1\",\"r\":1,\"p\":[{\"x\":\"prompt\"}]},"                                           \
    "{\"a\":2,\"s\":2,\"h\":\"step:1\",\"r\":2,\"p\":[{\"x\":\"thought\"}]}],"                                         \
    "\"x\":{\"step\":1,\"plan\":{\"goal\":\"secret\"},\"usage\":[1,2],\"own\":\"secret\",\"metadata\":{},\"request\":" \
    "1}}"

static bool has(struct upp_str s, const char *what)
{
    return wb_str_find(s, wb_cstr(what), 0) != SIZE_MAX;
}

TEST(model_erase_takes_what_was_made_of_a_message)
{
    static const struct {
        struct wm_erasing what;
        int n;
        const char *stays[5], *goes[4];
    } cases[] = {
        {{.summed = true, .place = 4}, 2, {"sum of 4", "rewritten", "prompt", "plan"}, {"sum of 5", "sum of all"}},
        {{.summed = true, .place = 3}, 3, {"rewritten", "secret"}, {"sum of"}},
        {{.rewritten = true}, 1, {"sum of 4", "aside", "prompt", "thought"}, {"rewritten"}},
        {{.prompts = true}, 1, {"sum of 4", "aside", "rewritten", "thought"}, {"prompt"}},
        {{.plans = true}, 4, {"sum of 4", "{\"step\":1,\"usage\":[1,2]}"}, {"secret", "request", "metadata"}},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_str out = {0};
        struct upp_err err = {0};
        struct wm_erasing what = cases[i].what;
        what.mark = mark;
        what.entry = SIZE_MAX;
        int n = erased(&a, UPP_STR(MADE), UPP_STR(""), &what, &out, &err);
        test_note("case %zu: %s", i, err.msg);
        CHECK_INT(n, cases[i].n);
        for (size_t k = 0; k < WB_LEN(cases[i].stays) && cases[i].stays[k]; k++)
            CHECK(has(out, cases[i].stays[k]));
        for (size_t k = 0; k < WB_LEN(cases[i].goes) && cases[i].goes[k]; k++)
            CHECK(!has(out, cases[i].goes[k]));
    }
}

/* What the audit needs of a wait for an approval, and of the answer to it, stays; other waits go. */
TEST(erase_a_sweep_keeps_approvals)
{
    static const struct wm_pending asks = {.call = UPP_STR_INIT("a"), .name = UPP_STR_INIT("pay"), .approval = true};
    static const struct wm_pending runs = {.call = UPP_STR_INIT("b"), .name = UPP_STR_INIT("ask")};
    struct wm_event ev[] = {{.kind = WM_RUN, .run = {.status = WM_WAITING, .pending = &asks, .n_pending = 1}},
                            {.kind = WM_RUN, .run = {.status = WM_RUNNING, .answered_by = UPP_STR("ann")}},
                            {.kind = WM_RUN, .run = {.status = WM_WAITING, .pending = &runs, .n_pending = 1}},
                            {.kind = WM_RUN, .run.status = WM_RUNNING},
                            {.kind = WM_RUN, .run.status = WM_COMPLETED}};
    struct wm_row row = {.records = ev, .n_records = sizeof ev / sizeof *ev};
    CHECK_INT(wm_row_sweep(&row), 2);
    CHECK_INT(row.n_records, 3);
    CHECK(ev[0].run.n_pending == 1 && ev[0].run.pending->approval && wb_str_eq(ev[1].run.answered_by, UPP_STR("ann")));
    CHECK(ev[2].run.status == WM_COMPLETED);
}
