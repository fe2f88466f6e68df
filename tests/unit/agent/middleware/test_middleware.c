/* The onion: order, what is passed on, recovery, what survives a crash. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "support/bed.h"

/* ---- Middleware that tells what happens ------------------------------------------------------ */

/* `arg` is the bed; the names are in its list. */
struct mark {
    struct bed *b;
    const char *name;
};

static WEFT_SUSPENDS int mark_before(void *arg, struct weft_context *c, struct upp_err *err)
{
    struct mark *m = arg;
    bed_say(m->b, "%s.before\n", m->name);
    if (m->b->fails_in == 1 && m->name[0] == '2')
        return upp_fail(err, UPP_EREFUSED, "not today");
    struct upp_str seen = weft_context_get(c, "seen");
    char text[64];
    snprintf(text, sizeof text, "\"%.*s%s\"", seen.n > 2 ? (int)seen.n - 2 : 0, seen.n > 2 ? seen.p + 1 : "", m->name);
    return weft_context_set(c, "seen", wb_cstr(text), err);
}

static WEFT_SUSPENDS int mark_after(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    struct mark *m = arg;
    bed_say(m->b, "%s.after seen=%.*s '%s'\n", m->name, UPP_FMT(weft_context_get(c, "seen")), upp_turn_text(*turn));
    if (m->b->fails_in == 2 && m->name[0] == '2')
        return upp_fail(err, UPP_EREFUSED, "not like this");
    return 0;
}

static WEFT_SUSPENDS int heal(struct upp_turn **ret, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("never mind")};
    struct upp_message words = {.role = UPP_ROLE_ASSISTANT, .parts = &part, .n_parts = 1};
    struct upp_turn turn = {.messages = &words, .n_messages = 1};
    TRY(upp_turn_copy(&turn, ret, err));
    return 1;
}

static WEFT_SUSPENDS int mark_error(void *arg, struct weft_context *c, const struct upp_err *why, struct upp_turn **ret,
                                    struct upp_err *err)
{
    struct mark *m = arg;
    bed_say(m->b, "%s.on_error seen=%.*s %s\n", m->name, UPP_FMT(weft_context_get(c, "seen")), why->msg);
    if (m->b->heals_in == 2 && m->name[0] == '2')
        return heal(ret, err);
    if (m->b->heals_in == 9 && m->name[0] == '2')
        return upp_fail(err, UPP_EBUSY, "worse");
    return 0;
}

#define MARK(m)                                                                                                        \
    {                                                                                                                  \
        .name = (m).name, .arg = &(m), .before = mark_before, .after = mark_after, .on_error = mark_error              \
    }
#define THREE_MARKS(bed)                                                                                               \
    struct mark marks[] = {{(bed), "1"}, {(bed), "2"}, {(bed), "3"}};                                                  \
    const struct weft_middleware middleware[] = {MARK(marks[0]), MARK(marks[1]), MARK(marks[2])};                      \
    (bed)->list = middleware;                                                                                          \
    (bed)->n = 3

static WEFT_SUSPENDS int just_run(struct bed *b, struct upp_err *err)
{
    return bed_run(b, "hello", false, err);
}

static WEFT_SUSPENDS int run_that_fails(struct bed *b, struct upp_err *err)
{
    int r = bed_run(b, "hello", false, err);
    bed_say(b, "%s: %s\n", upp_code_name(r), r < 0 ? b->why.msg : upp_turn_text(b->turn));
    return r == -UPP_ENOMEM || r == -UPP_ESTORE ? r : 0;
}

/* covers: UAP-10.1/1, UAP-10.2/1 */
TEST(middleware_before_in_order_after_in_reverse)
{
    struct bed b = {.act = just_run};
    THREE_MARKS(&b);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("1.before\n2.before\n3.before\n"
                                       "3.after seen=\"123\" 'hello'\n"
                                       "2.after seen=\"123\" 'hello'\n"
                                       "1.after seen=\"123\" 'hello'\n"));
}

TEST(middleware_without_a_store_is_the_same)
{
    struct bed b = {.act = just_run, .place.no_store = true};
    THREE_MARKS(&b);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("1.before\n2.before\n3.before\n"
                                       "3.after seen=\"123\" 'hello'\n"
                                       "2.after seen=\"123\" 'hello'\n"
                                       "1.after seen=\"123\" 'hello'\n"));
}

/* covers: UAP-10.1/1, UAP-10.2/2 */
TEST(middleware_error_in_before_reaches_all_on_error)
{
    struct bed b = {.act = run_that_fails, .fails_in = 1};
    THREE_MARKS(&b);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("1.before\n2.before\n"
                                       "3.on_error seen=\"1\" before of 2: not today\n"
                                       "2.on_error seen=\"1\" before of 2: not today\n"
                                       "1.on_error seen=\"1\" before of 2: not today\n"
                                       "REFUSED: before of 2: not today\n"));
}

/* covers: UAP-10.2/5 */
TEST(middleware_first_turn_of_on_error_wins)
{
    struct bed b = {.act = run_that_fails, .fails_in = 1, .heals_in = 2};
    THREE_MARKS(&b);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("1.before\n2.before\n"
                                       "3.on_error seen=\"1\" before of 2: not today\n"
                                       "2.on_error seen=\"1\" before of 2: not today\n"
                                       "UNKNOWN: never mind\n"));
}

/* covers: UAP-10.2/2 */
TEST(middleware_error_in_after_reaches_on_error)
{
    struct bed b = {.act = run_that_fails, .fails_in = 2};
    THREE_MARKS(&b);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("1.before\n2.before\n3.before\n"
                                       "3.after seen=\"123\" 'hello'\n2.after seen=\"123\" 'hello'\n"
                                       "3.on_error seen=\"123\" after of 2: not like this\n"
                                       "2.on_error seen=\"123\" after of 2: not like this\n"
                                       "1.on_error seen=\"123\" after of 2: not like this\n"
                                       "REFUSED: after of 2: not like this\n"));
}

TEST(middleware_on_error_that_fails_gives_its_own_error_on)
{
    struct bed b = {.act = run_that_fails, .fails_in = 1, .heals_in = 9};
    THREE_MARKS(&b);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "1.on_error seen=\"1\" on_error of 2: worse\nBUSY: on_error of 2: worse\n"));
}

static WEFT_SUSPENDS int hook_error(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_turn **ret,
                                    struct upp_err *err)
{
    struct bed *b = arg;
    (void)run;
    bed_say(b, "hook %s\n", upp_code_name(why->code));
    return b->heals_in == 1 ? heal(ret, err) : 0;
}

#define BROKEN SCRIPT("{\"error\":{\"code\":\"QUOTA_EXCEEDED\"}}")

/* The strategy's hook comes first; its turn passes after, that of middleware does not. */
/* covers: UAP-10.2/6 */
TEST(middleware_hook_on_error_comes_first)
{
    struct bed b = {.act = run_that_fails, .heals_in = 2, .place.script = BROKEN};
    b.place.hooks = (struct weft_hooks){.arg = &b, .on_error = hook_error};
    THREE_MARKS(&b);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "hook QUOTA_EXCEEDED\n3.on_error"));
    CHECK(strstr(b.text, "2.on_error"));
    CHECK(!strstr(b.text, "after") && !strstr(b.text, "1.on_error"));
    CHECK(strstr(b.text, "never mind\n"));
}

/* covers: UAP-10.2/6 */
TEST(middleware_turn_of_the_hook_passes_after)
{
    struct bed b = {.act = run_that_fails, .heals_in = 1, .place.script = BROKEN};
    b.place.hooks = (struct weft_hooks){.arg = &b, .on_error = hook_error};
    THREE_MARKS(&b);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "hook QUOTA_EXCEEDED\n3.after seen=\"123\" 'never mind'\n2.after"));
    CHECK(!strstr(b.text, "on_error"));
}

/* ---- What is changed ------------------------------------------------------------------------- */

static WEFT_SUSPENDS int shout(void *arg, struct weft_context *c, struct upp_err *err)
{
    struct bed *b = arg;
    static char text[64]; /* what is set is copied: this is written over below */
    struct upp_part part = {.kind = UPP_PART_TEXT};
    struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    (void)err;
    bed_say(b, "shout\n");
    snprintf(text, sizeof text, "%.*s!", UPP_FMT(c->input->parts[0].text));
    part.text = wb_cstr(text);
    static struct upp_message kept; /* the pointer need not outlive the call, but this is a test in C */
    static struct upp_part kept_part;
    kept_part = part;
    kept = m;
    kept.parts = &kept_part;
    c->input = &kept;
    return 0;
}

#define SHOUT(bed) ((struct weft_middleware){.name = "shout", .arg = (bed), .before = shout})

static WEFT_SUSPENDS int run_and_show(struct bed *b, struct upp_err *err)
{
    TRY(bed_run(b, "hello", false, err));
    bed_say(b, "turn: %.*s -> %s\n", UPP_FMT(b->turn->messages[0].parts[0].text), upp_turn_text(b->turn));
    return bed_history(b, err);
}

/* The model is told the new input, the log and the turn keep the user's; both are referred to. covers: TP-61 */
TEST(middleware_rewritten_input_leaves_what_the_user_said)
{
    struct bed b = {.act = run_and_show};
    const struct weft_middleware middleware[] = {SHOUT(&b), SHOUT(&b)};
    b.list = middleware;
    b.n = 2;
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "shout\nshout\nturn: hello -> hello!!\n"
                         "user: hello\nuser: hello!!\n"
                         "event {\"type\":\"prompt.enriched\",\"data\":{\"original\":{\"entry\":\""));
    CHECK(strstr(b.text, "\"source\":\"main\"}\nassistant: hello!!\n"));
    const char *at = b.text;
    for (uint32_t i = 0; i < 2; i++) { /* the entries that are named are these two */
        struct wb_uuid id;
        struct wm_id parsed;
        at = strstr(at, "\"entry\":\"");
        CHECK(at && wb_uuid_parse(wb_str(at + 9, WB_UUID_TEXT), &id));
        CHECK(wm_id_parse(id, &parsed) && parsed.index == i && parsed.noun == WM_NOUN_ENTRY);
        at += 9;
    }
}

static WEFT_SUSPENDS int run_twice(struct bed *b, struct upp_err *err)
{
    TRY(bed_run(b, "one", false, err));
    TRY(bed_run(b, "two", true, err));
    return 0;
}

/* The rewritten input is on the path of its run alone. */
/* covers: UAP-10.2/3 */
TEST(middleware_rewritten_input_is_for_its_run)
{
    struct bed b = {.act = run_twice}, *p = &b;
    const struct weft_middleware middleware[] = {SHOUT(&b), BED_SPY(&p)};
    b.list = middleware;
    b.n = 2;
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("shout\ntold: u<one!>\nshout\ntold: u<one> a<one!> u<two!>\n"));
}

static WEFT_SUSPENDS int other_past(void *arg, struct weft_context *c, struct upp_err *err)
{
    static struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR_INIT("once upon a time")};
    static struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    static const struct upp_message *list[2];
    struct bed *b = arg;
    (void)err;
    bed_say(b, "past %zu\n", c->n_history);
    list[0] = &m;
    list[1] = c->n_history ? c->history[c->n_history - 1] : NULL;
    c->history = list;
    c->n_history = c->n_history ? 2 : 1;
    return 0;
}

#define PAST(bed) ((struct weft_middleware){.name = "past", .arg = (bed), .before = other_past})

/* covers: UAP-10.1/2, UAP-10.2/3 */
TEST(middleware_other_history_is_told_and_not_kept)
{
    struct bed b = {.act = run_twice}, *p = &b;
    const struct weft_middleware middleware[] = {PAST(&b), BED_SPY(&p)};
    b.list = middleware;
    b.n = 2;
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("past 0\ntold: u<once upon a time> u<one>\n"
                                       "past 2\ntold: u<once upon a time> a<one> u<two>\n"));
}

/* ---- After a crash --------------------------------------------------------------------------- */

static WEFT_SUSPENDS int crash_in_the_first_step(struct bed *b, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(bed_run(b, "first", false, err));
    TRY(rig_start(&b->place.rig, "main", "second", &b->thread, &s, err));
    TRY(weft_sleep_ms(50, err)); /* the model begins to speak */
    TRY(place_restart(&b->place, &n, err));
    TRY(place_await(&b->place, s.run, &status, err));
    FAIL_UNLESS(n == 1 && status == WM_COMPLETED);
    return 0;
}

/* What before changed is there again, and before is not done again. */
/* covers: UAP-10.2/3 */
TEST(middleware_before_is_not_done_again_after_a_crash)
{
    struct bed b = {.act = crash_in_the_first_step, .place.script = SLOWLY}, *p = &b;
    struct mark mark = {&b, "1"};
    const struct weft_middleware middleware[] = {PAST(&b), SHOUT(&b), MARK(mark), BED_SPY(&p)};
    b.list = middleware;
    b.n = 4;
    BED_PLAYS(&b);
    const char *second = strstr(b.text, "past 2\n");
    CHECK(second);
    CHECK_STR(wb_cstr(second),
              UPP_STR("past 2\nshout\n1.before\n"
                      "told: u<once upon a time> a<One two three four five six seven eight nine ten> u<second!>\n"
                      "told: u<once upon a time> a<One two three four five six seven eight nine ten> u<second!>\n"
                      "1.after seen=\"1\" 'One two three four five six seven eight nine ten'\n"));
}

static WEFT_SUSPENDS int waits_for_ever(void *arg, struct weft_context *c, struct upp_err *err)
{
    struct bed *b = arg;
    (void)c;
    return b->fails_in ? upp_fail(err, UPP_EWAIT, "in a week") : weft_sleep_ms(100000, err);
}

static WEFT_SUSPENDS int cancel_in_before(struct bed *b, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    TRY(rig_start(&b->place.rig, "main", "hello", NULL, &s, err));
    TRY(weft_sleep_ms(10, err));
    TRY(wr_cancel(b->place.rig.engine, &rig_owner, s.run, err));
    TRY(place_await(&b->place, s.run, &status, err));
    FAIL_UNLESS(status == WM_CANCELED);
    return 0;
}

TEST(middleware_cancel_in_before_is_a_cancel)
{
    struct bed b = {.act = cancel_in_before};
    struct mark mark = {&b, "1"};
    const struct weft_middleware middleware[] = {MARK(mark), {.name = "slow", .arg = &b, .before = waits_for_ever}};
    b.list = middleware;
    b.n = 2;
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("1.before\n"));
}

TEST(middleware_cannot_wait_for_an_answer)
{
    struct bed b = {.act = run_that_fails, .fails_in = 9};
    const struct weft_middleware middleware[] = {{.name = "slow", .arg = &b, .before = waits_for_ever}};
    b.list = middleware;
    b.n = 1;
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("REFUSED: before of slow: it cannot wait for an answer from outside\n"));
}

/* ---- Turns ----------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int another_turn(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    (void)arg;
    (void)c;
    *turn = NULL; /* the old one is not ours to free */
    return heal(turn, err) < 0 ? -err->code : 0;
}

static WEFT_SUSPENDS int no_turn(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    (void)arg;
    (void)c;
    (void)err;
    *turn = NULL;
    return 0;
}

/* covers: UAP-10.2/4 */
TEST(middleware_after_may_replace_the_turn)
{
    struct bed b = {.act = run_that_fails};
    struct mark mark = {&b, "1"};
    const struct weft_middleware middleware[] = {MARK(mark), {.name = "other", .after = another_turn}};
    b.list = middleware;
    b.n = 2;
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("1.before\n1.after seen=\"1\" 'never mind'\nUNKNOWN: never mind\n"));
}

/* covers: UAP-10.2/4 */
TEST(middleware_after_must_give_a_turn)
{
    struct bed b = {.act = run_that_fails};
    const struct weft_middleware middleware[] = {{.name = "none", .after = no_turn}};
    b.list = middleware;
    b.n = 1;
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("INVALID_REQUEST: after of none: it gave back no turn\n"));
}

/* ---- The seed's example ---------------------------------------------------------------------- */

static WEFT_SUSPENDS int timing_before(void *arg, struct weft_context *c, struct upp_err *err)
{
    char now[24];
    (void)arg;
    snprintf(now, sizeof now, "%lld", (long long)wb_wall_ms());
    return weft_context_set(c, "startTime", wb_cstr(now), err);
}

static long long since(struct weft_context *c)
{
    int64_t at = 0;
    return wb_str_i64(weft_context_get(c, "startTime"), &at) ? (long long)(wb_wall_ms() - at) : -1;
}

static WEFT_SUSPENDS int timing_after(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    (void)turn;
    (void)err;
    bed_say(arg, "Execution took %lldms\n", since(c));
    return 0;
}

static WEFT_SUSPENDS int timing_error(void *arg, struct weft_context *c, const struct upp_err *why,
                                      struct upp_turn **ret, struct upp_err *err)
{
    struct bed *b = arg;
    bed_say(b, "Failed after %lldms: %s\n", since(c), upp_code_name(why->code));
    return b->heals_in ? heal(ret, err) : 0;
}

#define TIMING(bed)                                                                                                    \
    {                                                                                                                  \
        .name = "timing", .arg = (bed), .before = timing_before, .after = timing_after, .on_error = timing_error       \
    }

/* covers: UAP-10.5/1 */
TEST(middleware_timing_measures_a_run)
{
    struct bed b = {.act = just_run, .place.script = SCRIPT(SLOW_REPLY(100, TEXT("abcdefgh")))};
    const struct weft_middleware middleware[] = {TIMING(&b)};
    b.list = middleware;
    b.n = 1;
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("Execution took 200ms\n"));
}

/* covers: UAP-10.5/2 */
TEST(middleware_timing_measures_a_failure_and_a_recovery)
{
    for (unsigned heals = 0; heals < 2; heals++) {
        struct bed b = {.act = run_that_fails, .heals_in = heals, .place.script = BROKEN};
        const struct weft_middleware middleware[] = {TIMING(&b)};
        b.list = middleware;
        b.n = 1;
        BED_PLAYS(&b);
        CHECK(strstr(b.text, "Failed after 0ms: QUOTA_EXCEEDED\n"));
        CHECK((strstr(b.text, "UNKNOWN: never mind\n") != NULL) == (heals == 1));
    }
}

/* ---- The trace ------------------------------------------------------------------------------- */

static void traced(void *arg, const struct wa_trace *t)
{
    bed_say(arg, "%u %s %s %d\n", t->order, t->name, t->which, t->result);
}

static void no_line(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

static WEFT_SUSPENDS int trace_and_run(struct bed *b, struct upp_err *err)
{
    wa_middleware_trace(b->place.middleware, traced, b);
    return bed_run(b, "hello", false, err);
}

/* covers: UAP-2.4/3 */
TEST(middleware_calls_are_traced)
{
    struct bed b = {.act = trace_and_run};
    const struct weft_middleware middleware[] = {
        weft_logging(.level = "error", .logger = no_line), SHOUT(&b), {.name = "other", .after = another_turn}};
    b.list = middleware;
    b.n = 3;
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text),
              UPP_STR("1 logging before 0\nshout\n2 shout before 0\n3 other after 0\n4 logging after 0\n"));
}

static void traced_time(void *arg, const struct wa_trace *t)
{
    bed_say(arg, "%s %s %llu ms\n", t->name, t->which, (unsigned long long)(t->ns / 1000000));
}

static WEFT_SUSPENDS int takes_its_time(void *arg, struct weft_context *c, struct upp_err *err)
{
    (void)arg, (void)c;
    return weft_sleep_ms(70, err);
}

static WEFT_SUSPENDS int time_and_run(struct bed *b, struct upp_err *err)
{
    wa_middleware_trace(b->place.middleware, traced_time, b);
    return bed_run(b, "hello", false, err);
}

/* covers: UAP-2.4/4 */
TEST(middleware_calls_are_traced_with_their_time)
{
    struct bed b = {.act = time_and_run};
    const struct weft_middleware middleware[] = {{.name = "slow", .before = takes_its_time},
                                                 {.name = "other", .after = another_turn}};
    b.list = middleware;
    b.n = 2;
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("slow before 70 ms\nother after 0 ms\n"));
}

/* ---- Run and stream -------------------------------------------------------------------------- */

static WEFT_SUSPENDS int read_it(struct bed *b, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wr_started s;
    TRY(rig_start(&b->place.rig, "main", "hello", NULL, &s, err));
    TRY(rig_read(&b->place.rig, s.run, &out, err));
    const char *last = "run completed";
    FAIL_UNLESS(out.n > strlen(last) + 1 && memcmp(out.p + out.n - strlen(last) - 1, last, strlen(last)) == 0);
    return 0;
}

/* covers: UAP-10.2/7 */
TEST(middleware_is_the_same_where_somebody_listens)
{
    struct bed b = {.act = read_it};
    THREE_MARKS(&b);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("1.before\n2.before\n3.before\n"
                                       "3.after seen=\"123\" 'hello'\n"
                                       "2.after seen=\"123\" 'hello'\n"
                                       "1.after seen=\"123\" 'hello'\n"));
}

/* ---- The whole order ------------------------------------------------------------------------- */

static void see(void *own, struct weft_context *c, const struct wm_event *ev)
{
    static const char *const names[] = {
        [WM_STEP_START] = "step", [WM_STEP_END] = "step's end", [WM_TOOL_STARTED] = "tool", [WM_TOOL_ENDED] = "result"};
    (void)c;
    bed_say(*(struct bed **)own, "%s %u\n", names[ev->kind], ev->step);
}

static WEFT_SUSPENDS int step_start(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    (void)run;
    (void)err;
    bed_say(arg, "on_step_start %u\n", step);
    return 0;
}

static WEFT_SUSPENDS int step_end(void *arg, struct weft_run *run, uint32_t step, const struct weft_step_result *result,
                                  struct upp_err *err)
{
    (void)run;
    (void)result;
    (void)err;
    bed_say(arg, "on_step_end %u\n", step);
    return 0;
}

static WEFT_SUSPENDS int complete(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    (void)run;
    (void)turn;
    (void)err;
    bed_say(arg, "on_complete\n");
    return 0;
}

static WEFT_SUSPENDS bool stop(void *arg, struct weft_run *run)
{
    bed_say(arg, "stop? %u\n", run->state.step);
    return false;
}

static WEFT_SUSPENDS int run_and_say(struct bed *b, struct upp_err *err)
{
    TRY(bed_run(b, "hello", false, err));
    bed_say(b, "turn\n");
    return 0;
}

/* covers: UAP-3.3/1, UAP-11.6/1 */
TEST(middleware_stands_around_all_else)
{
    struct bed b = {.act = run_and_say, .place.script = SCRIPT(REPLY(CALL("c1", "add")) "," REPLY(TEXT("x")))}, *p = &b;
    struct mark mark = {&b, "1"};
    const struct weft_middleware_kind kind = {.name = "seer", .make = bed_spy_make, .observe = see};
    const struct weft_middleware middleware[] = {MARK(mark), BED_SPY(&p), {.name = "seer", .kind = &kind, .opts = &p}};
    b.place.hooks = (struct weft_hooks){
        .arg = &b, .on_step_start = step_start, .on_step_end = step_end, .on_complete = complete, .stop = stop};
    b.list = middleware;
    b.n = 3;
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("1.before\n"
                                       "step 1\non_step_start 1\ntold: u<hello>\ntool 1\n"
                                       "result 1\non_step_end 1\nstep's end 1\nstop? 1\n"
                                       "step 2\non_step_start 2\ntold: u<hello> a<add{}> t<add0>\n"
                                       "on_step_end 2\nstep's end 2\nstop? 2\n"
                                       "on_complete\n1.after seen=\"1\" 'x'\nturn\n"));
}

/* ---- Handoffs -------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int hand_over(struct bed *b, struct upp_err *err)
{
    b->place.rig.agents[1].middleware = b->place.middleware;
    return bed_run(b, "hello", false, err);
}

/* Each agent's before when its turn begins; what the first one changed holds for the second. */
TEST(middleware_of_the_agent_that_goes_on)
{
    for (int alone = 0; alone < 2; alone++) {
        struct bed b = {.act = hand_over,
                        .place.no_store = alone,
                        .place.script = SCRIPT(REPLY(CALL("m1", "pass_on"))),
                        .place.helper = SCRIPT(REPLY(TEXT("Helped.")))},
                   *p = &b;
        struct mark mark = {&b, "1"};
        const struct weft_middleware middleware[] = {MARK(mark), SHOUT(&b), BED_SPY(&p)};
        b.list = middleware;
        b.n = 3;
        BED_PLAYS(&b);
        test_note("%s", b.text);
        const char *want = "1.before\nshout\ntold: u<hello!>\n1.before\nshout\ntold: u<hello!!> a<pass_on{}> t<";
        CHECK(strncmp(b.text, want, strlen(want)) == 0);
        CHECK(strstr(b.text, "\n1.after seen=\"1\" 'Helped.'\n"));
    }
}

/* ---- Putting it together --------------------------------------------------------------------- */

static void count_warnings(void *arg, enum wb_log_level level, struct upp_str line)
{
    (void)line;
    *(unsigned *)arg += level == WB_WARN;
}

static unsigned warnings_of(const struct weft_middleware *list, size_t n)
{
    const struct wr_middleware *middleware = NULL;
    unsigned seen = 0;
    wb_log_setup(WB_WARN, WB_LOG_TEXT, 2);
    wb_log_to(count_warnings, &seen);
    if (wa_middleware_new(list, n, NULL, &middleware, NULL) < 0)
        seen = 99;
    wb_log_to(NULL, NULL);
    wb_log_setup(WB_OFF, WB_LOG_TEXT, 2);
    wa_middleware_free(middleware);
    return seen;
}

/* covers: UAP-10.4/10 */
TEST(middleware_warns_where_guardrails_comes_late)
{
    struct weft_middleware first[] = {
        weft_logging(), weft_guardrails(), weft_memory(), weft_budget(.max_steps = 3), {.name = "own"}};
    struct weft_middleware late[] = {weft_logging(), weft_memory(), weft_guardrails()};
    struct weft_middleware own[] = {{.name = "own"}, weft_guardrails()};
    CHECK_INT(warnings_of(first, 5), 0);
    CHECK_INT(warnings_of(late, 3), 1);
    CHECK_INT(warnings_of(own, 2), 1);
}

TEST(middleware_options_that_make_no_sense_are_refused)
{
    const struct weft_guard_rule no_action = {.pattern = "x"}, no_test = {.action = WEFT_REJECT};
    const struct weft_guard_rule bad = {.pattern = "(", .action = WEFT_REJECT};
    struct weft_middleware list[] = {weft_logging(.level = "loud"),
                                     weft_memory(.mode = 7),
                                     weft_memory(.mode = WEFT_RETRIEVE),
                                     weft_budget(.max_cost = 1),
                                     weft_guardrails(.input = &no_action, .n_input = 1),
                                     weft_guardrails(.input = &no_test, .n_input = 1),
                                     weft_guardrails(.output = &bad, .n_output = 1)};
    const struct wr_middleware *middleware;
    struct upp_err err;
    for (size_t i = 0; i < WB_LEN(list); i++)
        CHECK_INT(wa_middleware_new(&list[i], 1, NULL, &middleware, &err), -UPP_EINVALID);
    CHECK_INT(wa_middleware_new(NULL, 0, NULL, &middleware, &err), 0);
    CHECK(!middleware);
    CHECK_INT(wa_middleware_new(list, WA_MIDDLEWARE + 1, NULL, &middleware, &err), -UPP_ELIMIT);
}

static struct wr_window window_of(const struct weft_middleware *list, size_t n)
{
    const struct wr_middleware *chain = NULL;
    struct wr_window window = {.tokens = 1};
    if (wa_middleware_new(list, n, NULL, &chain, NULL) >= 0)
        window = chain->window;
    wa_middleware_free(chain);
    return window;
}

/* What the first memory leaves, if no function of the program sees the history, and nothing is summed up. Without a
 * view nothing of it is needed. */
TEST(middleware_window_is_what_memory_leaves)
{
    const struct weft_middleware cut = weft_memory(.max_tokens = 70, .keep_last = 3);
    const struct weft_middleware longer = weft_memory(.max_tokens = 500), sums = weft_memory(.mode = WEFT_SUMMARISE);
    struct weft_middleware lists[][3] = {{weft_logging(), cut, longer},
                                         {cut, sums, weft_budget(.max_steps = 1)},
                                         {sums, cut, weft_logging()},
                                         {cut, {.name = "own"}, longer},
                                         {weft_logging(), weft_guardrails(), weft_budget(.max_steps = 1)}};
    static const struct wr_window wanted[] = {{70, 3}, {70, 3}, {0, 0}, {0, 0}, {UINT64_MAX, 0}};
    for (size_t i = 0; i < WB_LEN(lists); i++) {
        struct wr_window w = window_of(lists[i], 3);
        test_note("list %zu", i);
        CHECK(w.tokens == wanted[i].tokens && w.keep == wanted[i].keep);
    }
}

/* ---- System events --------------------------------------------------------------------------- */

static int append(struct weft_run *run, const char *type, struct upp_err *err)
{
    return weft_run_event(run, &(struct weft_system_event){.type = wb_cstr(type), .source = UPP_STR("x")}, err);
}

static WEFT_SUSPENDS int append_before(void *arg, struct weft_context *c, struct upp_err *err)
{
    (void)arg;
    return append(c->run, "before", err);
}

static WEFT_SUSPENDS int append_after(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    (void)arg, (void)turn;
    return append(c->run, "after", err);
}

static WEFT_SUSPENDS int append_start(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    (void)arg, (void)step;
    return append(run, "start", err);
}

static WEFT_SUSPENDS int append_act(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *m,
                                    struct upp_err *err)
{
    (void)arg, (void)step, (void)m;
    return append(run, "act", err);
}

static WEFT_SUSPENDS int append_observe(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *m,
                                        struct upp_err *err)
{
    (void)arg, (void)step, (void)m;
    return append(run, "observe", err);
}

static WEFT_SUSPENDS int append_end(void *arg, struct weft_run *run, uint32_t step,
                                    const struct weft_step_result *result, struct upp_err *err)
{
    (void)arg, (void)step, (void)result;
    return append(run, "end", err);
}

static WEFT_SUSPENDS int append_complete(void *arg, struct weft_run *run, const struct upp_turn *turn,
                                         struct upp_err *err)
{
    (void)arg, (void)turn;
    return append(run, "complete", err);
}

/* What is on the thread, and what a reader of the run hears of it, now and later. */
static WEFT_SUSPENDS int all_append(struct bed *b, struct upp_err *err)
{
    size_t n;
    TRY(bed_run(b, "go", false, err));
    TRY(bed_history(b, err));
    for (int i = 0; i < 2; i++) {
        WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
        struct wm_event ev;
        int r;
        unsigned told = 0;
        TRY(wr_reader_open(b->place.rig.engine, &rig_owner, b->run, NULL, &rd, err));
        while ((r = wr_reader_next(rd, false, &ev, err)) > 0)
            told += ev.kind == WM_SYSTEM;
        TRY(r);
        FAIL_UNLESS(told == 10);
        wr_reader_close(WB_TAKE(rd));
        TRY(place_restart(&b->place, &n, err));
    }
    return 0;
}

#define ADDED(type) "event {\"type\":\"" type "\",\"data\":{},\"source\":\"x\"}\n"

/* covers: TP-60/1 */
TEST(middleware_hooks_and_tools_append_system_events)
{
    const struct weft_middleware list[] = {{.name = "appends", .before = append_before, .after = append_after}};
    struct bed b = {.list = list,
                    .n = WB_LEN(list),
                    .act = all_append,
                    .place.script = SCRIPT(REPLY(CALL("c1", "tells")) "," REPLY(TEXT("ok"))),
                    .place.hooks = {.on_step_start = append_start,
                                    .on_act = append_act,
                                    .on_observe = append_observe,
                                    .on_step_end = append_end,
                                    .on_complete = append_complete}};
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text),
              UPP_STR("user: go\n" ADDED("before") ADDED("start") "assistant: tells={}\n" ADDED(
                  "act") "event {\"type\":\"agent.note\",\"data\":{},\"source\":\"main\"}\ntool: "
                         "tells=\"told\"\n" ADDED("observe") ADDED("end") ADDED("start") "assistant: ok\n" ADDED("end")
                             ADDED("complete") ADDED("after")));
}
