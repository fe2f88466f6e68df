/* Readers of runs that have had more sub-agents and more results than are ever there at the same time; and results that
 * are too long together. */
#include <string.h>

#include "support/family.h"
#include "support/stores.h"
#include "support/tree.h"
#include "model/limits.h"
#include "run/run.h"

enum { CALLS = 128, MESSAGES = 9 /* with so many calls */, MIDS = 8, ASKED = MESSAGES * CALLS };

/* A script: messages that call the tool CALLS times each, and a text. */
static const char *many_calls(struct wb_buf *b, const char *tool)
{
    wb_buf_addf(b, "{\"replies\":[");
    for (int i = 0; i < ASKED; i++)
        wb_buf_addf(b, "%s{\"tool_call\":{\"id\":\"c%d\",\"name\":\"%s\",\"arguments\":{\"task\":\"t\"}}}%s",
                    i % CALLS ? "," : "{\"parts\":[", i, tool, i % CALLS == CALLS - 1 ? "]}," : "");
    wb_buf_addf(b, "{\"parts\":[{\"text\":\"done\"}]}]}");
    wb_buf_addc(b, '\0');
    return b->failed ? NULL : b->p;
}

struct counts {
    uint64_t last; /* number */
    int begun, ended, results;
    uint8_t status;
};

/* Reads on until `calls` of the sub-agent's calls have ended, or to the end. */
static WEFT_SUSPENDS int read_on(struct wr_reader *rd, int calls, struct counts *n, struct upp_err *err)
{
    struct wm_event ev;
    int r = 1;
    while (n->ended < calls && (r = wr_reader_next(rd, true, &ev, err)) > 0) {
        FAIL_UNLESS(ev.number == n->last + 1);
        n->last = ev.number;
        n->begun += ev.kind == WM_RUN && ev.run.status == WM_RUNNING && ev.from->depth == 2;
        n->ended += ev.kind == WM_TOOL_ENDED && ev.from->depth == 1;
        n->status = ev.kind == WM_RUN && !ev.from->depth ? ev.run.status : n->status;
        if (ev.kind == WM_STEP_END && ev.step_end.results && ev.from->depth == 1)
            n->results += (int)ev.step_end.results->message.n_parts;
    }
    return r < 0 ? r : 0;
}

static WEFT_SUSPENDS int read_from_store(struct family *f, struct counts *n, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    TRY(family_restart(f, err));
    TRY(wr_reader_open(f->rig.engine, &rig_owner, f->started.run, NULL, &rd, err));
    TRY(read_on(rd, INT32_MAX, n, err));
    return 0;
}

static const struct wr_tool asks_mid[] = {ASKS("ask_mid", "mid")};
static const struct wr_tool asks_leaf[] = {ASKS("ask_leaf", "leaf")};
static const struct wr_tool asks_none[] = {ASKS("never", "nobody")};
static struct family_member members[] = {
    {"main", SAYS(SAY(1, 1, SAY_CALL("m1", "ask_mid", "{\"task\":\"a\"}")), SAY(1, 1, SAY_TEXT("ok"))),
     FAMILY_TOOLS(asks_mid)},
    {"mid", NULL, FAMILY_TOOLS(asks_leaf)},
    {"leaf", NULL, FAMILY_TOOLS(asks_none)},
};

/* One reader follows until most sub-agents have come and gone, falls behind, and goes on with what the store has;
 * another one reads everything from the store. */
static WEFT_SUSPENDS int read_children(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct counts n = {0}, again = {0};
    WEFT_DEADLINE(600000);
    TRY(family_start(f, err));
    TRY(wr_reader_open(f->rig.engine, &rig_owner, f->started.run, NULL, &rd, err));
    TRY(read_on(rd, 1100, &n, err));
    TRY(weft_sleep_ms(60000, err));
    TRY(read_on(rd, INT32_MAX, &n, err));
    test_note("status %d, %d calls, %d results", n.status, n.ended, n.results);
    FAIL_UNLESS(n.status == WM_COMPLETED && n.ended == ASKED && n.results == ASKED);
    wr_reader_close(rd);
    rd = NULL;
    TRY(family_join(f, err));
    TRY(read_from_store(f, &again, err));
    FAIL_UNLESS(again.last == n.last && again.begun == ASKED && again.status == WM_COMPLETED);
    FAIL_UNLESS(again.ended == n.ended && again.results == n.results);
    return 0;
}

TEST_WITH(reader_passes_any_number_of_sub_agents, .no_torture = "1,152 runs; readers are tortured in other tests")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf script = WB_BUF(4u << 20);
    struct upp_err err;
    members[1].script = many_calls(&script, "ask_leaf");
    CHECK(members[1].script);
    FAMILY_WITH(members, .act = read_children, .unchecked = true);
    CHECK_INT(family_play(f, &err), 0);
}

#define ASK_MID(n) SAY_CALL("m" #n, "ask_mid", "{\"task\":\"" #n "\"}")
static struct family_member members_8[] = {
    {"main",
     SAYS(SAY(1, 1, ASK_MID(1), ASK_MID(2), ASK_MID(3), ASK_MID(4), ASK_MID(5), ASK_MID(6), ASK_MID(7), ASK_MID(8)),
          SAY(1, 1, SAY_TEXT("ok"))),
     FAMILY_TOOLS(asks_mid)},
    {"mid", NULL, FAMILY_TOOLS(asks_leaf)},
    {"leaf", NULL, FAMILY_TOOLS(asks_none)},
};

static WEFT_SUSPENDS int read_results(struct family *f, struct upp_err *err)
{
    struct counts n = {0};
    WEFT_DEADLINE(600000);
    TRY(family_turn(f, err));
    TRY(read_from_store(f, &n, err));
    test_note("status %d, %d calls, %d results: %s", n.status, n.ended, n.results, f->why.msg);
    FAIL_UNLESS(n.status == WM_COMPLETED && n.ended == MIDS * ASKED && n.results == MIDS * ASKED);
    return 0;
}

TEST_WITH(reader_passes_any_number_of_results, .no_torture = "9,216 calls; readers are tortured in other tests")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf script = WB_BUF(4u << 20);
    struct upp_err err;
    members_8[1].script = many_calls(&script, "missing");
    CHECK(members_8[1].script);
    FAMILY_WITH(members_8, .act = read_results, .unchecked = true);
    CHECK_INT(family_play(f, &err), 0);
}

enum { RESULTS = WR_CALLS * WR_CALLS };

/* A run of one step in which so many calls ended, as the log has it; reads their events. */
static WEFT_SUSPENDS int read_step(struct rig *rig, uint64_t number, size_t n, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    static struct wm_event ended[RESULTS + 1];
    struct wm_row row = {.event = 1, .epoch = 1, .step = 1, .time_ms = 5, .records = ended, .n_records = n};
    struct wl_thread t;
    struct wm_event ev;
    uint64_t pos = 0;
    int r = 1;
    for (size_t i = 0; i < n; i++)
        ended[i] = tree_ended(UPP_STR("c"), UPP_STR("1"));
    TRY(wl_thread_new(rig->store, &rig_owner, NULL, &a, &t, err));
    struct wm_run run = {.id = test_uuid(number),
                         .root = test_uuid(number),
                         .thread = t.id,
                         .node = t.head,
                         .version = 1,
                         .epoch = 1,
                         .status = WM_COMPLETED,
                         .agent = UPP_STR("main"),
                         .started_ms = 5,
                         .ended_ms = 9};
    TRY(COMMIT(rig->store, rig_owner, NULL, err, ADD_RUN(&run)));
    TRY(tree_row(rig->store, &rig_owner, t.head, &pos, run.id, &row, err));
    TRY(wr_reader_open(rig->engine, &rig_owner, run.id, NULL, &rd, err));
    for (size_t i = 0; r > 0 && i < n; i++)
        r = wr_reader_next(rd, true, &ev, err);
    FAIL_UNLESS(r != 0);
    return r < 0 ? r : 0;
}

static WEFT_SUSPENDS int read_steps(void *arg, struct upp_err *err)
{
    struct rig *rig = arg;
    TRY(ws_memory_open(&rig->store, err));
    int r = rig_agent(rig, "main", NULL, err);
    if (r >= 0)
        r = rig_open(rig, weft_loop_current(), NULL, err);
    if (r >= 0)
        r = read_step(rig, 1, RESULTS, err);
    if (r >= 0)
        r = read_step(rig, 2, RESULTS + 1, err);
    if (rig->engine)
        rig_close(rig);
    rig_done(rig);
    rig->store->ops->close(rig->store);
    return r;
}

TEST_WITH(reader_takes_so_many_results_of_a_step, .no_torture = "thousands of results; others are tortured")
{
    static struct rig rig;
    struct upp_err err = {0};
    rig = (struct rig){0};
    int r = test_on_loop(read_steps, &rig, &err);
    CHECK_INT(r, -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("more than 16384 results in one step"));
}

/* Results that are too long together. */

static WEFT_SUSPENDS int answer_at_length(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    static char text[1 << 20];
    (void)call;
    memset(text, 'x', sizeof text);
    return upp_value_text(ret, wb_str(text, sizeof text), err);
}

static const struct wr_tool big[] = {{.spec = SPEC_OF("big"), .base = {.run = answer_at_length}}};
static struct family_member long_answers[] = {{"main", NULL, FAMILY_TOOLS(big)}};

/* 16 results of 1 MiB: the first eleven fit, the twelfth has no room for its quotes, and the others have little. */
TEST_WITH(reader_gets_results_that_fit_into_a_frame, .no_torture = "16 MiB; tools are tortured in other tests")
{
    static const struct upp_str mark = UPP_STR_INIT(" [cut: the results of this message are too long together]\"");
    WB_CLEANUP(wb_buf_done) struct wb_buf script = WB_BUF(1u << 20);
    struct upp_err err;
    size_t all = 0, cut = 0;
    wb_buf_addf(&script, "{\"replies\":[{\"parts\":[");
    for (int i = 0; i < 16; i++)
        wb_buf_addf(&script, "%s{\"tool_call\":{\"id\":\"c%d\",\"name\":\"big\",\"arguments\":{}}}", i ? "," : "", i);
    wb_buf_addf(&script, "]},{\"parts\":[{\"text\":\"done\"}]}]}");
    wb_buf_addc(&script, '\0');
    CHECK(!script.failed);
    long_answers[0].script = script.p;
    FAMILY(long_answers);
    CHECK_INT(family_play(f, &err), 0);
    CHECK_INT(f->result, 0);
    CHECK(f->turn && f->turn->n_executions == 16);
    for (size_t i = 0; i < f->turn->n_executions; i++) {
        struct upp_str json = f->turn->executions[i].result;
        all += json.n;
        cut += json.n > mark.n && wb_str_eq(wb_str_sub(json, json.n - mark.n, mark.n), mark);
    }
    CHECK(cut == 5 && all <= WM_RESULTS_MAX && all > WM_RESULTS_MAX / 2);
}
