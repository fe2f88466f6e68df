/* System events, handoffs between agents, tools that are granted and revoked. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "run/event.h"
#include "stores/memory/memory.h"
#include "support/fibers.h"
#include "support/rig.h"

#define SCRIPT(...)    "{\"replies\":[" __VA_ARGS__ "]}"
#define REPLY(...)     "{\"parts\":[" __VA_ARGS__ "]}"
#define TEXT(text)     "{\"text\":\"" text "\"}"
#define CALL(id, name) "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"" name "\"}}"
#define CALL_WITH(id, name, arguments)                                                                                 \
    "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":" arguments "}}"

struct scene {
    const char *script, *helper;
    const struct wr_handoff *handoffs;
    size_t n_handoffs;
    struct weft_hooks hooks, helper_hooks;
    bool no_store;
    const char *history, *events; /* what is expected; NULL: not looked at */
    int status;
    unsigned handed; /* so many are expected; 0: not counted */
};

static void store_closep(struct wl_store **s)
{
    if (*s)
        (*s)->ops->close(*s);
}

/* Without the ids and numbers: what happened, and to which agent. */
static WEFT_SUSPENDS int read_events(struct rig *rig, struct wb_uuid run, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wm_event ev;
    int r = wr_reader_open(rig->engine, &rig_owner, run, NULL, &rd, err);
    while (r >= 0 && (r = wr_reader_next(rd, true, &ev, err)) > 0)
        if (ev.kind == WM_SYSTEM)
            wb_buf_addf(out, "%.*s: %.*s\n", UPP_FMT(ev.from->agent), UPP_FMT(ev.system.entry->data));
        else if (ev.kind == WM_MESSAGE || ev.kind == WM_STEP_END)
            wb_buf_addf(out, "%.*s: %s %u\n", UPP_FMT(ev.from->agent), ev.kind == WM_MESSAGE ? "message" : "step",
                        ev.step);
    return r < 0 ? r : wb_buf_check(out, err);
}

static int same(const char *what, struct wb_buf *is, const char *expected, struct upp_err *err)
{
    struct upp_str s = wb_buf_str(is);
    if (!expected || wb_str_eq(s, wb_cstr(expected)))
        return 0;
    test_note("%s:\n%.*s", what, UPP_FMT(s));
    return upp_fail(err, UPP_EBUG, "other %s than expected", what);
}

static unsigned count(struct upp_str in, struct upp_str what)
{
    unsigned n = 0;
    for (size_t i = 0; i + what.n <= in.n; i++)
        n += memcmp(in.p + i, what.p, what.n) == 0;
    return n;
}

static WEFT_SUSPENDS int play(struct scene *sc, struct rig *rig, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done)
    struct wb_buf history = WB_BUF(1u << 20), events = WB_BUF(1u << 20), again = WB_BUF(1u << 20);
    struct wr_started s;
    uint8_t status;
    TRY(rig_start(rig, "main", "hello", NULL, &s, err));
    TRY(read_events(rig, s.run, &events, err));
    FAIL_UNLESS(!sc->handed || count(wb_buf_str(&events), UPP_STR("agent.handoff")) == sc->handed);
    if (sc->no_store)
        return same("events", &events, sc->events, err);
    TRY(wr_wait(rig->engine, &rig_owner, s.run, &status, err));
    FAIL_UNLESS(status == (sc->status ? sc->status : WM_COMPLETED));
    TRY(rig_history(rig, s.thread, &history, err));
    TRY(same("history", &history, sc->history, err));
    TRY(same("events", &events, sc->events, err));
    rig_close(rig); /* and after a restart the same */
    TRY(rig_agent(rig, "main", sc->script, err));
    TRY(rig_agent(rig, "helper", sc->helper, err));
    TRY(rig_open(rig, weft_loop_current(), NULL, err));
    TRY(read_events(rig, s.run, &again, err));
    TRY(same("events after a restart", &again, sc->events, err));
    return rig_well_formed(rig->store, &rig_owner, s.thread, err);
}

static WEFT_SUSPENDS int on_stage(void *arg, struct upp_err *err)
{
    struct scene *sc = arg;
    WB_CLEANUP(store_closep) struct wl_store *store = NULL;
    struct rig rig = {0};
    if (!sc->no_store)
        TRY(ws_memory_open(&store, err));
    rig.store = store;
    int r = rig_agent(&rig, "main", sc->script, err);
    if (r >= 0)
        r = rig_agent(&rig, "helper", sc->helper, err);
    if (r >= 0) {
        rig.agents[0].handoffs = sc->handoffs;
        rig.agents[0].n_handoffs = sc->n_handoffs;
        rig.agents[0].hooks = &sc->hooks;
        rig.agents[1].hooks = &sc->helper_hooks;
        r = rig_open(&rig, weft_loop_current(), NULL, err);
    }
    if (r >= 0)
        r = play(sc, &rig, err);
    if (rig.engine)
        rig_close(&rig);
    rig_done(&rig);
    return r;
}

static bool plays(struct scene *sc)
{
    struct upp_err err = {0};
    int r = test_on_loop(on_stage, sc, &err);
    test_note("%s", err.msg);
    return EXPECT(r == 0);
}
#define PLAYS(...) CHECK(plays(&(struct scene){__VA_ARGS__}))

/* ---- Handoffs ---------------------------------------------------------------------------------------------- */

/* What the helper is told: the first agent's words under its name, the tools' results as they are. */
static int sees_names(void *arg, struct weft_run *pub, uint32_t step, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    bool seen = false;
    (void)arg, (void)step;
    for (size_t i = 0; i < run->path.n; i++)
        for (const struct upp_part *p = NULL; (p = upp_part_next(run->path.p[i], p, 1u << UPP_PART_TEXT));)
            seen |= wb_str_eq(p->text, UPP_STR("{agent:main}: It is 18 degrees. Helper, you go on."));
    for (size_t i = 0; i < run->mine.n; i++) /* the turn keeps what was said */
        for (const struct upp_part *p = NULL; (p = upp_part_next(run->mine.p[i], p, 1u << UPP_PART_TEXT));)
            if (wb_str_starts(p->text, UPP_STR("{agent:")))
                return upp_fail(err, UPP_EBUG, "the name is in the turn");
    return seen ? 0 : upp_fail(err, UPP_EBUG, "the helper does not see who spoke");
}

static const struct wr_handoff to_helper = {.agent = UPP_STR_INIT("helper"),
                                            .title = UPP_STR_INIT("Helper"),
                                            .prompt = UPP_STR_INIT("What would you do?"),
                                            .on_mention = true};

#define HANDED(reason)                                                                                                 \
    "{\"type\":\"agent.handoff\",\"data\":{\"from\":\"main\",\"to\":\"helper\",\"reason\":\"" reason                   \
    "\"},\"source\":\"main\",\"targets\":[\"helper\"]}"

static const char mentioned_events[] = "main: message 1\nmain: step 1\nmain: " HANDED("explicit_mention") //
    "\nhelper: message 2\nhelper: step 2\n";

/* covers: TP-62/3/4 */
TEST(handoff_by_mention)
{
    PLAYS(.script = SCRIPT(REPLY(TEXT("It is 18 degrees. Helper, you go on."))),
          .helper = SCRIPT(REPLY(TEXT("Go for a walk."))), .handoffs = &to_helper, .n_handoffs = 1,
          .helper_hooks = {.on_step_start = sees_names}, .events = mentioned_events,
          .history =
              "user: hello\nassistant: It is 18 degrees. Helper, you go on.\nevent " HANDED("explicit_mention") //
          "\nturn of helper\nuser: What would you do?\nassistant: Go for a walk.\n");
}

TEST(handoff_by_mention_without_a_store)
{
    PLAYS(.script = SCRIPT(REPLY(TEXT("It is 18 degrees. Helper, you go on."))),
          .helper = SCRIPT(REPLY(TEXT("Go for a walk."))), .handoffs = &to_helper, .n_handoffs = 1,
          .helper_hooks = {.on_step_start = sees_names}, .events = mentioned_events, .no_store = true);
}

TEST(handoff_needs_the_name_as_a_word)
{
    PLAYS(.script = SCRIPT(REPLY(TEXT("Helpers are many."))), .helper = SCRIPT(REPLY(TEXT("?"))),
          .handoffs = &to_helper, .n_handoffs = 1, .events = "main: message 1\nmain: step 1\n");
}

/* covers: TP-62/1/3 */
TEST(handoff_by_tool)
{
    PLAYS(.script = SCRIPT(
              REPLY(CALL("a", "add") "," CALL_WITH("c", "pass_on", "{\"reason\":\"better\",\"message\":\"Please!\"}"))),
          .helper = SCRIPT(REPLY(TEXT("I will."))),
          .history = "user: hello\nassistant: add={} pass_on={\"reason\":\"better\",\"message\":\"Please!\"}\n"
                     "tool: add=0 pass_on=\"helper goes on from here\"\nevent " HANDED("better") //
          "\nturn of helper\nuser: Please!\nassistant: I will.\n");
}

static int hands_over(void *arg, struct weft_run *run, uint32_t step, const struct weft_step_result *result,
                      struct upp_err *err)
{
    (void)arg, (void)step, (void)result;
    return weft_run_handoff(run, &(struct weft_handoff_to){.agent = UPP_STR("helper")}, err);
}

/* covers: TP-62/2 */
TEST(handoff_by_the_program)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("a", "add")) "," REPLY(TEXT("never said"))),
          .helper = SCRIPT(REPLY(TEXT("I will."))), .hooks = {.on_step_end = hands_over},
          .events = "main: message 1\nmain: step 1\nmain: " HANDED("program") "\nhelper: message 2\nhelper: step 2\n");
}

static int hands_nowhere(void *arg, struct weft_run *run, uint32_t step, const struct weft_step_result *result,
                         struct upp_err *err)
{
    (void)arg, (void)step, (void)result;
    return weft_run_handoff(run, &(struct weft_handoff_to){.agent = UPP_STR("nobody")}, err);
}

TEST(handoff_to_nobody_fails)
{
    PLAYS(.script = SCRIPT(REPLY(TEXT("so"))), .helper = SCRIPT(REPLY(TEXT("?"))),
          .hooks = {.on_step_end = hands_nowhere}, .status = WM_FAILED);
}

/* The helper hands over to itself for ever: eight times, and then the tool says no. */
/* covers: TP-62/5 */
TEST(handoff_has_a_limit)
{
    static const char helper[] =
        "{\"replies\":[{\"when\":{\"contains\":\"already\"},\"parts\":[{\"text\":\"Enough.\"}]},"
        "{\"parts\":[" CALL("", "pass_on") "]}],\"at_end\":\"repeat_last\"}";
    PLAYS(.script = helper, .helper = helper, .handed = 8);
}

/* ---- System events ------------------------------------------------------------------------------------------ */

static int tells(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    struct upp_str to = UPP_STR("helper");
    struct weft_system_event ev = {
        .type = UPP_STR("state.update"), .data = UPP_STR("{\"n\":1}"), .targets = &to, .n_targets = 1};
    (void)arg, (void)step;
    return weft_run_event(run, &ev, err);
}

static int asked_without_it(void *arg, struct weft_run *pub, uint32_t step, const struct weft_step_result *result,
                            struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    (void)arg, (void)step, (void)result;
    return run->path.n == 2 ? 0 : upp_fail(err, UPP_EBUG, "the model was told %zu messages", run->path.n - 1);
}

/* covers: TP-60/3/5 */
TEST(system_event_is_stored_streamed_and_not_sent)
{
    PLAYS(.script = SCRIPT(REPLY(TEXT("so"))), .helper = SCRIPT(REPLY(TEXT("?"))),
          .hooks = {.on_step_start = tells, .on_step_end = asked_without_it},
          .history =
              "user: hello\nevent {\"type\":\"state.update\",\"data\":{\"n\":1},\"source\":\"main\",\"targets\":["
              "\"helper\"]}\nassistant: so\n",
          .events =
              "main: {\"type\":\"state.update\",\"data\":{\"n\":1},\"source\":\"main\",\"targets\":[\"helper\"]}\n"
              "main: message 1\nmain: step 1\n");
}

static int tells_nonsense(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    struct weft_system_event ev = {.type = UPP_STR("x"), .data = UPP_STR("{")};
    (void)arg, (void)step;
    return weft_run_event(run, &ev, err) == -UPP_EINVALID &&
                   weft_run_event(run, &(struct weft_system_event){0}, err) < 0
               ? 0
               : -UPP_EBUG;
}

TEST(system_event_must_be_one)
{
    PLAYS(.script = SCRIPT(REPLY(TEXT("so"))), .helper = SCRIPT(REPLY(TEXT("?"))),
          .hooks = {.on_step_start = tells_nonsense}, .history = "user: hello\nassistant: so\n");
}

/* What says that a row is full: how much that is, and not that there is no memory. */
static int tells_too_much(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    static char large[1 << 20];
    struct weft_system_event ev = {.type = UPP_STR("x")};
    struct upp_err why = {0};
    int r = 0;
    bool big = arg != NULL;
    unsigned n;
    memset(large, ' ', sizeof large);
    memcpy(large, "{\"a\":\"", 6);
    memcpy(large + sizeof large - 102, "\"}", 2);
    if (big)
        ev.data = wb_str(large, sizeof large - 100);
    for (n = 0; r >= 0 && n < 300; n++)
        r = weft_run_event(run, &ev, &why);
    (void)step;
    if (r == -UPP_ELIMIT && strstr(why.msg, big ? "more than 16 MiB of system events" : "more than 256 entries") &&
        n == (big ? 17 : 257)) {              /* the last one was refused */
        wr_of(run)->draft.entries.n -= n - 1; /* the log of this test stays small */
        wr_of(run)->draft.records.n -= n - 1;
        return 0;
    }
    test_note("%d after %u: %s", r, n, why.msg);
    return upp_fail(err, UPP_EBUG, "not the limit");
}

TEST_WITH(system_events_of_a_row_have_limits, .no_torture = "hundreds of events")
{
    static char big;
    PLAYS(.script = SCRIPT(REPLY(TEXT("so"))), .helper = SCRIPT(REPLY(TEXT("?"))),
          .hooks = {.on_step_start = tells_too_much});
    PLAYS(.script = SCRIPT(REPLY(TEXT("so"))), .helper = SCRIPT(REPLY(TEXT("?"))),
          .hooks = {.on_step_start = tells_too_much, .arg = &big});
}

/* ---- Grants -------------------------------------------------------------------------------------------------- */

static int revokes(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls, struct upp_err *err)
{
    (void)arg, (void)calls;
    if (step > 2)
        return 0;
    return weft_run_event(
        run,
        &(struct weft_system_event){.type = step == 1 ? UPP_STR("tool.revoke") : UPP_STR("tool.grant"),
                                    .data = UPP_STR("{\"tools\":[\"add\"]}")},
        err);
}

#define EVENT(type) "event {\"type\":\"tool." type "\",\"data\":{\"tools\":[\"add\"]},\"source\":\"main\"}\n"

/* Revoked in the first step: that step's call is still answered, the next one is unknown, and the one after it was
 * granted again. */
/* covers: TP-63/1/2/3 */
TEST(grants_hold_from_the_next_step)
{
    PLAYS(.script = SCRIPT(
              REPLY(CALL("a", "add")) "," REPLY(CALL("b", "add")) "," REPLY(CALL("c", "add")) "," REPLY(TEXT("so"))),
          .helper = SCRIPT(REPLY(TEXT("?"))), .hooks = {.on_act = revokes},
          .history = "user: hello\nassistant: add={}\n" EVENT("revoke") "tool: add=0\nassistant: add={}\n" EVENT(
              "grant") "tool: add=\"Tool 'add' not found\"\nassistant: add={}\ntool: add=0\nassistant: so\n");
}

/* What a thread's last run answered, as one line of its history. */
static WEFT_SUSPENDS int has_line(struct rig *rig, struct wb_uuid thread, const char *line, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf history = WB_BUF(1u << 20);
    TRY(rig_history(rig, thread, &history, err));
    test_note("%.*s", UPP_FMT(wb_buf_str(&history)));
    return wb_str_find(wb_buf_str(&history), wb_cstr(line), 0) == SIZE_MAX ? upp_fail(err, UPP_EBUG, "no '%s'", line)
                                                                           : 0;
}

static WEFT_SUSPENDS int run_on(struct rig *rig, struct wb_uuid *thread, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    bool fresh = wb_uuid_is_nil(*thread);
    TRY(rig_start(rig, "main", "hello", fresh ? NULL : thread, &s, err));
    TRY(wr_wait(rig->engine, &rig_owner, s.run, &status, err));
    *thread = s.thread;
    return status == WM_COMPLETED ? 0 : upp_fail(err, UPP_EBUG, "status %u", status);
}

static int revokes_always(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls,
                          struct upp_err *err)
{
    (void)arg, (void)calls, (void)step;
    return weft_run_event(
        run, &(struct weft_system_event){.type = UPP_STR("tool.revoke"), .data = UPP_STR("{\"tools\":[\"add\"]}")},
        err);
}

static WEFT_SUSPENDS int on_a_branch(struct rig *rig, struct wb_uuid *thread, struct wb_uuid *fork, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread from, made;
    TRY(wl_get_thread(rig->store, &rig_owner, *thread, &a, &from, err));
    TRY(wl_fork(rig->store, &from, from.head, 1, &a, &made, err)); /* before anything was revoked */
    *fork = made.id;
    return 0;
}

/* Revoked for good in one run: after a restart it is unknown on that thread, and not on one that branched off before.
 */
static WEFT_SUSPENDS int revoked_for_good(void *arg, struct upp_err *err)
{
    static const char script[] =
        SCRIPT(REPLY(CALL("", "add")) "," REPLY(TEXT("so")) "," REPLY(CALL("", "add")) "," REPLY(TEXT("well")));
    WB_CLEANUP(store_closep) struct wl_store *store = NULL;
    const struct weft_hooks hooks = {.on_act = revokes_always};
    struct rig rig = {0};
    struct wb_uuid thread = {{0}}, fork;
    (void)arg;
    TRY(ws_memory_open(&store, err));
    rig.store = store;
    int r = rig_agent(&rig, "main", script, err);
    if (r >= 0) {
        rig.agents[0].hooks = &hooks;
        r = rig_open(&rig, weft_loop_current(), NULL, err);
    }
    if (r >= 0)
        r = run_on(&rig, &thread, err);
    if (r >= 0)
        r = on_a_branch(&rig, &thread, &fork, err);
    rig_close(&rig);
    if (r >= 0)
        r = rig_agent(&rig, "main", script, err);
    if (r >= 0)
        r = rig_open(&rig, weft_loop_current(), NULL, err);
    if (r >= 0)
        r = run_on(&rig, &thread, err);
    if (r >= 0)
        r = has_line(&rig, thread, "tool: add=\"Tool 'add' not found\"\nassistant: well", err);
    if (r >= 0)
        r = run_on(&rig, &fork, err);
    if (r >= 0)
        r = has_line(&rig, fork, "tool: add=0\nassistant: so", err);
    if (rig.engine)
        rig_close(&rig);
    rig_done(&rig);
    return r;
}

/* covers: TP-63/2 */
TEST(grants_outlive_a_restart_and_follow_the_branch)
{
    struct upp_err err = {0};
    int r = test_on_loop(revoked_for_good, NULL, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}
