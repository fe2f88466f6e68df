/* Agents that ask agents: what a child is asked and answers, whose model it has, what it uses, who it is. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "base/log.h"
#include "fiber/loop.h"
#include "json/read.h"
#include "json/value.h"
#include "support/family.h"

static bool says(const struct wb_buf *b, const char *text)
{
    return wb_str_find(wb_buf_str(b), wb_cstr(text), 0) != SIZE_MAX;
}

static size_t count(const struct wb_buf *b, const char *text)
{
    size_t n = 0;
    for (size_t at = 0; (at = wb_str_find(wb_buf_str(b), wb_cstr(text), at)) != SIZE_MAX; at++)
        n++;
    return n;
}

static bool result_is(const struct family *f, size_t i, bool error, const char *json)
{
    if (!f->turn || i >= f->turn->n_executions)
        return false;
    const struct upp_execution *e = &f->turn->executions[i];
    if (e->is_error == error && wb_str_eq(e->result, wb_cstr(json)))
        return true;
    test_note("result %zu: %.*s", i, UPP_FMT(e->result));
    return false;
}

static const struct wr_tool asks_helper[] = {ASKS("ask", "helper")};
static const struct wr_tool none[] = {ASKS("never", "nobody")};

/* ---- Input and result ------------------------------------------------------------------------------------------ */

/* covers: UAP-8.2/5 */
TEST(children_input_is_the_task_or_all_arguments)
{
    static const struct family_member members[] = {
        {"main",
         SAYS(SAY(1, 1, SAY_CALL("c1", "ask", "{\"task\":\"count\",\"n\":3}"),
                  SAY_CALL("c2", "ask", "\"{ \\\"a\\\" : 1,  \\\"b\\\":[1, 2] }\""),
                  SAY_CALL("c3", "ask", "{\"task\":7}"), SAY_CALL("c4", "ask", "\"\"")),
              SAY(1, 1, SAY_TEXT("done"))),
         FAMILY_TOOLS(asks_helper)},
        {"helper", NULL, FAMILY_TOOLS(none)}};
    struct upp_err err;
    FAMILY(members);
    CHECK_INT(family_play(f, &err), 0);
    CHECK_INT(f->result, 0);
    CHECK(says(&f->asked, "helper params= asked=count tools"));
    CHECK(says(&f->asked, "helper params= asked={\"a\":1,\"b\":[1,2]} tools"));
    CHECK(says(&f->asked, "helper params= asked={\"task\":7} tools"));
    CHECK(f->turn && f->turn->n_executions == 4);
    CHECK_STR(wb_cstr(upp_turn_text(f->turn)), UPP_STR("done"));
}

/* The result is the text of the turn, a failure an error result with the reason. */
/* covers: UAP-8.2/4 */
TEST(children_result_is_the_turns_text)
{
    static const struct family_member members[] = {
        {"main",
         SAYS(SAY(1, 1, SAY_CALL("c1", "ask", "{\"task\":\"a\"}")),
              SAY(1, 1, SAY_CALL("c2", "ask", "{\"task\":\"fail\"}")), SAY(1, 1, SAY_TEXT("done"))),
         FAMILY_TOOLS(asks_helper)},
        {"helper",
         SAYS("{\"when\":{\"contains\":\"fail\"},\"error\":{\"code\":\"INVALID_REQUEST\",\"message\":\"I will not\"}}",
              SAY(1, 1, SAY_TEXT("one"), SAY_TEXT("two"))),
         FAMILY_TOOLS(none)}};
    struct upp_err err;
    FAMILY(members);
    CHECK_INT(family_play(f, &err), 0);
    CHECK_INT(f->result, 0);
    CHECK(result_is(f, 0, false, "\"one\\n\\ntwo\""));
    CHECK(result_is(f, 1, true, "\"I will not\""));
}

/* ---- Models ----------------------------------------------------------------------------------------------------- */

#define WHEN(text, ...)  "{\"when\":{\"contains\":\"" text "\"},\"parts\":[" JOIN(__VA_ARGS__) "]}"
#define AFTER(tool, ...) "{\"when\":{\"tool_result\":\"" tool "\"},\"parts\":[" __VA_ARGS__ "]}"

/* covers: UAP-8.3/2 */
TEST(children_without_a_model_have_their_parents)
{
    static const struct wr_tool of_main[] = {ASKS("ask_mid", "mid")};
    static const struct wr_tool of_mid[] = {ASKS("ask_leaf", "leaf")};
    static const struct family_member members[] = {
        {"main",
         SAYS(WHEN("go", SAY_CALL("c1", "ask_mid", "{\"task\":\"mid-task\"}")),
              WHEN("mid-task", SAY_CALL("c3", "ask_leaf", "{\"task\":\"leaf-task\"}")),
              WHEN("leaf-task", SAY_TEXT("leaf")), AFTER("ask_leaf", SAY_TEXT("mid")),
              AFTER("ask_mid", SAY_TEXT("main"))),
         FAMILY_TOOLS(of_main), .params = "{\"p\":1}"},
        {"mid", NULL, FAMILY_TOOLS(of_mid), .params = "{\"p\":2}", .no_model = true},
        {"leaf", NULL, FAMILY_TOOLS(none), .params = "{\"p\":3}", .no_model = true}};
    struct upp_err err;
    FAMILY(members);
    CHECK_INT(family_play(f, &err), 0);
    CHECK_INT(f->result, 0);
    CHECK_STR(wb_cstr(upp_turn_text(f->turn)), UPP_STR("main"));
    CHECK(says(&f->asked, "main params={\"p\":1} asked=mid-task tools=ask_leaf\n"));
    CHECK(says(&f->asked, "main params={\"p\":1} asked=leaf-task tools=never\n"));
}

/* One with a model of its own has nothing of its parent's, and gives its own to those below. */
/* covers: UAP-8.3/1 */
TEST(children_with_a_model_keep_it)
{
    static const struct wr_tool of_main[] = {ASKS("ask_own", "own")}, of_own[] = {ASKS("ask_low", "low")};
    static const struct family_member members[] = {
        {"main",
         SAYS(WHEN("go", SAY_CALL("c2", "ask_own", "{\"task\":\"own-task\"}")), AFTER("ask_own", SAY_TEXT("main"))),
         FAMILY_TOOLS(of_main), .params = "{\"p\":1}"},
        {"own",
         SAYS(WHEN("own-task", SAY_CALL("c4", "ask_low", "{\"task\":\"low-task\"}")), WHEN("low-task", SAY_TEXT("low")),
              AFTER("ask_low", SAY_TEXT("own"))),
         FAMILY_TOOLS(of_own)},
        {"low", NULL, FAMILY_TOOLS(none), .params = "{\"p\":5}", .no_model = true}};
    struct upp_err err;
    FAMILY(members);
    CHECK_INT(family_play(f, &err), 0);
    CHECK_INT(f->result, 0);
    CHECK(says(&f->asked, "own params= asked=own-task tools=ask_low\n"));
    CHECK(says(&f->asked, "own params= asked=low-task tools=never\n"));
}

/* ---- Usage and the tree of calls ------------------------------------------------------------- */

static const struct wr_tool asks_two[] = {ASKS("ask_helper", "helper"), ASKS("ask_picker", "picker")};
static const struct wr_tool asks_leaf[] = {ASKS("ask_leaf", "leaf")};
static const struct wr_tool picks[] = {{.spec = SPEC_OF("pick"), .kind = WR_TOOL_CLIENT}};

static const struct family_member tree_members[] = {
    {"main",
     SAYS(SAY(1, 2, SAY_CALL("c1", "ask_helper", "{\"task\":\"h\"}"), SAY_CALL("c2", "ask_picker", "{\"task\":\"p\"}")),
          SAY(3, 4, SAY_TEXT("done"))),
     FAMILY_TOOLS(asks_two)},
    {"helper", SAYS(SAY(10, 20, SAY_CALL("c3", "ask_leaf", "{\"task\":\"l\"}")), SAY(30, 40, SAY_TEXT("helped"))),
     FAMILY_TOOLS(asks_leaf)},
    {"picker", SAYS(SAY(100, 200, SAY_CALL("c4", "pick", "{}")), SAY(300, 400, SAY_TEXT("picked"))),
     FAMILY_TOOLS(picks)},
    {"leaf", SAYS(SAY(1000, 2000, SAY_TEXT("leaf"))), FAMILY_TOOLS(none)}};

static uint64_t tokens(yyjson_val *v, const char *usage, const char *name)
{
    uint64_t n = 0;
    yyjson_val *t = yyjson_obj_get(yyjson_obj_get(v, usage), name);
    return t && wb_str_u64(wj_text(t), &n) ? n : UINT64_MAX;
}

static struct upp_str text_in(yyjson_val *v, const char *name)
{
    yyjson_val *t = yyjson_obj_get(v, name);
    return t && yyjson_is_str(t) ? wj_text(t) : UPP_STR("");
}

/* "main(go) completed 4/6 1444/2666[helper ... ]", with the sums checked. */
static bool walk(yyjson_val *v, yyjson_val *parent, struct wb_buf *out, uint64_t *input)
{
    uint64_t own = tokens(v, "usage", "inputTokens"), sum = own, below;
    wb_buf_addf(out, "%.*s(%.*s) %.*s %llu/%llu %llu/%llu", UPP_FMT(text_in(v, "agent")), UPP_FMT(text_in(v, "input")),
                UPP_FMT(text_in(v, "status")), (unsigned long long)own,
                (unsigned long long)tokens(v, "usage", "outputTokens"),
                (unsigned long long)tokens(v, "totalUsage", "inputTokens"),
                (unsigned long long)tokens(v, "totalUsage", "outputTokens"));
    if (parent && (!wb_str_eq(text_in(v, "parentTurnId"), text_in(parent, "turnId")) ||
                   !wb_str_eq(text_in(v, "parentAgentId"), text_in(parent, "agentId")) || !text_in(v, "toolCallId").n))
        return false;
    yyjson_val *children = yyjson_obj_get(v, "children");
    wb_buf_addc(out, '[');
    for (size_t i = 0; i < yyjson_arr_size(children); i++) {
        if (!walk(yyjson_arr_get(children, i), v, out, &below))
            return false;
        sum += below;
    }
    wb_buf_addc(out, ']');
    yyjson_val *started = yyjson_obj_get(v, "started");
    uint64_t when = 0;
    *input = tokens(v, "totalUsage", "inputTokens");
    return *input == sum && text_in(v, "turnId").n == WB_UUID_TEXT && started && wb_str_u64(wj_text(started), &when) &&
           when > 0;
}

static WEFT_SUSPENDS int check_trace(struct family *f, const char *want, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(1u << 20), line = WB_BUF(1u << 16);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    yyjson_val *v;
    uint64_t input;
    TRY(wr_trace(f->rig.engine, &rig_owner, f->started.run, &json, err));
    TRY(wj_read(&a, wb_buf_str(&json), NULL, &v, err));
    FAIL_UNLESS(walk(v, NULL, &line, &input));
    TRY(wb_buf_check(&line, err));
    if (!wb_str_eq(wb_buf_str(&line), wb_cstr(want)))
        test_note("trace: %.*s", UPP_FMT(wb_buf_str(&line)));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&line), wb_cstr(want)));
    return 0;
}

static WEFT_SUSPENDS int answer(struct family *f, const char *call, struct upp_err *err)
{
    const struct wr_answer a = {.call = wb_cstr(call), .result = UPP_STR("\"red\"")};
    return wr_answer(f->rig.engine, &rig_owner, f->started.run, &a, 1, err);
}

static const char all_of_it[] =
    "main(go) completed 4/6 1444/2666[helper(h) completed 40/60 1040/2060[leaf(l) completed 1000/2000 1000/2000[]]"
    "picker(p) completed 400/600 400/600[]]";

static WEFT_SUSPENDS int use_it(struct family *f, bool restart, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    uint8_t status;
    struct wm_run row;
    TRY(family_start(f, err));
    wr_tree_release(f->started.tree);
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(check_trace(f,
                    "main(go) waiting 1/2 1141/2262[helper(h) completed 40/60 1040/2060[leaf(l) completed 1000/2000 "
                    "1000/2000[]]picker(p) waiting 100/200 100/200[]]",
                    err));
    if (restart)
        TRY(family_restart(f, err));
    TRY(answer(f, "c4", err));
    if (restart)
        TRY(family_restart(f, err));
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    TRY(wl_get_run(f->store, &rig_owner, f->started.run, &a, &row, err));
    FAIL_UNLESS(row.usage.input == 1444 && row.usage.output == 2666);
    return check_trace(f, all_of_it, err);
}

static WEFT_SUSPENDS int use_it_once(struct family *f, struct upp_err *err)
{
    return use_it(f, false, err);
}

static WEFT_SUSPENDS int use_it_in_three_lives(struct family *f, struct upp_err *err)
{
    return use_it(f, true, err);
}

/* covers: UAP-8.4/5/6 */
TEST(children_usage_is_their_parents_too)
{
    struct upp_err err;
    FAMILY_WITH(tree_members, .act = use_it_once);
    CHECK_INT(family_play(f, &err), 0);
}

/* covers: UAP-8.4/5 */
TEST(children_usage_is_counted_once_across_restarts)
{
    struct upp_err err;
    FAMILY_WITH(tree_members, .act = use_it_in_three_lives);
    CHECK_INT(family_play(f, &err), 0);
}

static const struct family_member no_picks[] = {
    {"main",
     SAYS(SAY(1, 2, SAY_CALL("c1", "ask_helper", "{\"task\":\"h\"}"), SAY_CALL("c2", "ask_picker", "{\"task\":\"p\"}")),
          SAY(3, 4, SAY_TEXT("done"))),
     FAMILY_TOOLS(asks_two)},
    {"helper", SAYS(SAY(10, 20, SAY_CALL("c3", "ask_leaf", "{\"task\":\"l\"}")), SAY(30, 40, SAY_TEXT("helped"))),
     FAMILY_TOOLS(asks_leaf)},
    {"picker", SAYS(SAY(100, 200, SAY_TEXT("picked"))), FAMILY_TOOLS(none)},
    {"leaf", SAYS(SAY(1000, 2000, SAY_TEXT("leaf"))), FAMILY_TOOLS(none)}};

static bool turn_has_all(const struct family *f)
{
    uint64_t in = 0, out = 0;
    for (size_t i = 0; f->turn && i < f->turn->n_cycles; i++) {
        in += f->turn->cycles[i].input;
        out += f->turn->cycles[i].output;
    }
    return f->turn && f->turn->n_cycles == 6 && f->turn->usage.input == 1144 && in == 1144 &&
           f->turn->usage.output == 2266 && out == 2266;
}

/* covers: UAP-8.4/5 */
TEST(children_cycles_are_in_the_turn)
{
    struct upp_err err;
    FAMILY(no_picks);
    CHECK_INT(family_play(f, &err), 0);
    CHECK(turn_has_all(f));
}

TEST(children_cycles_are_in_the_turn_without_a_store)
{
    struct upp_err err;
    FAMILY_WITH(no_picks, .no_store = true);
    CHECK_INT(family_play(f, &err), 0);
    CHECK(turn_has_all(f));
}

static WEFT_SUSPENDS int trace_nothing(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(1u << 20);
    struct wb_uuid id = {{1}};
    TRY(family_turn(f, err));
    FAIL_UNLESS(wr_trace(f->rig.engine, &rig_owner, id, &json, err) == -UPP_ENOTFOUND);
    struct wl_owner other = {.tenant = UPP_STR("other"), .user = UPP_STR("")};
    FAIL_UNLESS(wr_trace(f->rig.engine, &other, f->started.run, &json, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(!json.n);
    json.max = 100;
    FAIL_UNLESS(wr_trace(f->rig.engine, &rig_owner, f->started.run, &json, err) == -UPP_ELIMIT);
    return 0;
}

TEST_WITH(children_trace_of_what_is_not_there, .no_torture = "it fails as it should; the others are tortured")
{
    struct upp_err err;
    FAMILY_WITH(no_picks, .act = trace_nothing);
    CHECK_INT(family_play(f, &err), 0);
}

/* ---- Ids ------------------------------------------------------------------------------------- */

struct seen {
    char run[WB_UUID_TEXT + 1], parent[WB_UUID_TEXT + 1], tool[WB_UUID_TEXT + 1];
    char agent_id[WB_UUID_TEXT + 1], parent_agent_id[WB_UUID_TEXT + 1];
    unsigned depth, hooks, agents, lines;
};

static void copy(char *to, struct upp_str text)
{
    (void)snprintf(to, WB_UUID_TEXT + 1, "%.*s", UPP_FMT(text));
}

static WEFT_SUSPENDS int look_at_run(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    struct seen *seen = arg;
    (void)step, (void)err;
    seen->hooks++;
    seen->depth = run->depth;
    copy(seen->run, weft_run_id(run));
    copy(seen->parent, run->parent ? weft_run_id(run->parent) : UPP_STR(""));
    copy(seen->agent_id, weft_run_agent_id(run));
    copy(seen->parent_agent_id, run->parent ? weft_run_agent_id(run->parent) : UPP_STR(""));
    seen->agents +=
        weft_run_agent_id(run).n == WB_UUID_TEXT && run->parent && weft_run_agent_id(run->parent).n == WB_UUID_TEXT;
    return 0;
}

static struct seen seen;

static WEFT_SUSPENDS int look_at_call(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    copy(seen.tool, weft_run_id(weft_call_run(call)));
    return upp_value_text(ret, UPP_STR("looked"), err);
}

static WEFT_SUSPENDS int look_at_events(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wm_event ev;
    char id[WB_UUID_TEXT + 1];
    unsigned of_child = 0, of_root = 0;
    int r;
    TRY(family_turn(f, err));
    copy(id, wb_uuid_text(f->started.run, (char[WB_UUID_TEXT + 1]){0}));
    FAIL_UNLESS(strcmp(seen.parent, id) == 0 && strcmp(seen.tool, seen.run) == 0 && strcmp(seen.run, id) != 0);
    FAIL_UNLESS(seen.depth == 1 && seen.hooks == 2 && seen.agents == 2);
    TRY(wr_reader_open(f->rig.engine, &rig_owner, f->started.run, NULL, &rd, err));
    while ((r = wr_reader_next(rd, true, &ev, err)) > 0) {
        copy(id, wb_uuid_text(ev.from->run, (char[WB_UUID_TEXT + 1]){0}));
        if (ev.from->depth)
            of_child += strcmp(id, seen.run) == 0 && wb_str_eq(ev.from->agent, UPP_STR("helper"));
        else
            of_root += strcmp(id, seen.parent) == 0 && wb_str_eq(ev.from->agent, UPP_STR("main"));
        if (ev.kind == WM_TOOL_STARTED && !ev.from->depth) {
            copy(id, wb_uuid_text(ev.tool_started.child, (char[WB_UUID_TEXT + 1]){0}));
            FAIL_UNLESS(strcmp(id, seen.run) == 0);
        }
    }
    FAIL_UNLESS(r < 0 || (of_child > 5 && of_root > 5));
    return r;
}

/* Lines of the log that have all four: who it is and who asked it. */
static void look_at_line(void *arg, enum wb_log_level level, struct upp_str line)
{
    char text[256];
    (void)arg, (void)level;
    (void)snprintf(text, sizeof text, "child=%s parent=%s agent=helper agent_id=%s parent_agent_id=%s call=c1",
                   seen.run, seen.parent, seen.agent_id, seen.parent_agent_id);
    seen.lines += seen.run[0] && wb_str_find(line, wb_cstr(text), 0) != SIZE_MAX;
}

/* covers: UAP-8.4/3 */
TEST(children_are_named_in_the_log)
{
    static const struct weft_hooks hooks = {.arg = &seen, .on_step_start = look_at_run};
    static const struct family_member members[] = {
        {"main", SAYS(SAY(1, 1, SAY_CALL("c1", "ask", "{\"task\":\"a\"}")), SAY(1, 1, SAY_TEXT("done"))),
         FAMILY_TOOLS(asks_helper)},
        {"helper", SAYS(SAY(1, 1, SAY_TEXT("helped"))), .hooks = &hooks}};
    struct upp_err err;
    seen = (struct seen){.depth = 0};
    FAMILY_WITH(members, .act = family_turn);
    wb_log_setup(WB_DEBUG, WB_LOG_TEXT, -1);
    wb_log_to(look_at_line, NULL);
    int r = family_play(f, &err);
    wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
    wb_log_to(NULL, NULL);
    CHECK_INT(r, 0);
    CHECK(seen.lines > 0); /* the one when it has ended: before, its hook was not asked */
    CHECK(strlen(seen.agent_id) == WB_UUID_TEXT && strlen(seen.parent_agent_id) == WB_UUID_TEXT);
}

/* covers: UAP-8.4/1/2 */
TEST(children_know_who_they_and_their_parents_are)
{
    static const struct weft_hooks hooks = {.arg = &seen, .on_step_start = look_at_run};
    static const struct wr_tool look[] = {{.spec = SPEC_OF("look"), .base = {.run = look_at_call}}};
    static const struct family_member members[] = {
        {"main", SAYS(SAY(1, 1, SAY_CALL("c1", "ask", "{\"task\":\"a\"}")), SAY(1, 1, SAY_TEXT("done"))),
         FAMILY_TOOLS(asks_helper)},
        {"helper", SAYS(SAY(1, 1, SAY_CALL("c2", "look", "{}")), SAY(1, 1, SAY_TEXT("helped"))), FAMILY_TOOLS(look),
         .hooks = &hooks}};
    struct upp_err err;
    seen = (struct seen){.depth = 0};
    FAMILY_WITH(members, .act = look_at_events);
    CHECK_INT(family_play(f, &err), 0);
}

/* ---- At the same time ------------------------------------------------------------------------ */

static WEFT_SUSPENDS int measure(struct family *f, struct upp_err *err)
{
    uint64_t from = weft__loop_clock(weft_loop_current());
    TRY(family_turn(f, err));
    uint64_t ms = (weft__loop_clock(weft_loop_current()) - from) / 1000000;
    if (f->result >= 0 && !f->why.code)
        FAIL_UNLESS(ms >= 200 && ms < 300);
    return 0;
}

/* covers: UAP-8.5 */
TEST(children_asked_together_work_at_the_same_time)
{
    static const char slowly[] = "{\"replies\":[{\"parts\":[{\"text\":\"x\"}],\"delay_ms\":200}]}";
    static const struct family_member members[] = {
        {"main",
         SAYS(SAY(1, 1, SAY_CALL("c1", "ask_helper", "{}"), SAY_CALL("c2", "ask_picker", "{}")),
              SAY(1, 1, SAY_TEXT("done"))),
         FAMILY_TOOLS(asks_two)},
        {"helper", slowly, FAMILY_TOOLS(none)},
        {"picker", slowly, FAMILY_TOOLS(none)}};
    struct upp_err err;
    FAMILY_WITH(members, .act = measure);
    CHECK_INT(family_play(f, &err), 0);
    CHECK(f->turn && f->turn->n_executions == 2);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static const struct wr_tool waits[] = {{.spec = SPEC_OF("pick"), .kind = WR_TOOL_CLIENT}, ASKS("ask_leaf", "leaf")};

static WEFT_SUSPENDS int answer_all(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf p = WB_BUF(1u << 16);
    uint8_t status;
    TRY(family_start(f, err));
    wr_tree_release(f->started.tree);
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(family_pending(f, &p, err));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&p), UPP_STR("answer:c2 answer:c4")));
    FAIL_UNLESS(answer(f, "c9", err) == -UPP_EINVALID);
    TRY(family_restart(f, err));
    TRY(answer(f, "c4", err)); /* the grandchild's */
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    FAIL_UNLESS(answer(f, "c4", err) == -UPP_EINVALID);
    TRY(answer(f, "c2", err));
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    p.n = 0;
    TRY(family_story(f, &p, err));
    FAIL_UNLESS(says(&p, "pick=\"red\"") && says(&p, "ask=\"helped\"") && says(&p, "assistant: done"));
    return 0;
}

/* A client tool in a grandchild and one in the root: the root waits for both, each answer finds its run. */
TEST(children_of_children_wait_and_are_answered)
{
    static const struct wr_tool of_main[] = {ASKS("ask", "helper"), {.spec = SPEC_OF("pick"), .kind = WR_TOOL_CLIENT}};
    static const struct family_member members[] = {
        {"main",
         SAYS(SAY(1, 1, SAY_CALL("c1", "ask", "{}"), SAY_CALL("c2", "pick", "{}")), SAY(1, 1, SAY_TEXT("done"))),
         FAMILY_TOOLS(of_main)},
        {"helper", SAYS(SAY(1, 1, SAY_CALL("c3", "ask_leaf", "{}")), SAY(1, 1, SAY_TEXT("helped"))),
         FAMILY_TOOLS(waits)},
        {"leaf", SAYS(SAY(1, 1, SAY_CALL("c4", "pick", "{}")), SAY(1, 1, SAY_TEXT("leaf"))), FAMILY_TOOLS(waits)}};
    struct upp_err err;
    FAMILY_WITH(members, .act = answer_all);
    CHECK_INT(family_play(f, &err), 0);
}

static WEFT_SUSPENDS int cancel_waiting(struct family *f, struct upp_err *err)
{
    uint8_t status;
    TRY(family_start(f, err));
    wr_tree_release(f->started.tree);
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(wr_cancel(f->rig.engine, &rig_owner, f->started.run, err));
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_CANCELED);
    return check_trace(f,
                       "main(go) cancelled 1/2 1141/2262[helper(h) completed 40/60 1040/2060[leaf(l) completed "
                       "1000/2000 1000/2000[]]picker(p) cancelled 100/200 100/200[]]",
                       err);
}

/* What a child used that never came to its end is its parent's all the same. */
TEST(children_that_wait_are_cancelled_with_their_parent)
{
    struct upp_err err;
    FAMILY_WITH(tree_members, .act = cancel_waiting);
    CHECK_INT(family_play(f, &err), 0);
}

/* ---- Depth ----------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int go_deep(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(1u << 20);
    TRY(family_turn(f, err));
    TRY(wr_trace(f->rig.engine, &rig_owner, f->started.run, &json, err));
    FAIL_UNLESS(count(&json, "\"turnId\"") == (f->max_depth ? f->max_depth : 8) + 1u);
    return 0;
}

static const struct wr_tool asks_itself[] = {ASKS("again", "main")};
static const struct family_member without_end[] = {
    {"main",
     SAYS(SAY(1, 1, SAY_CALL("c", "again", "{\"task\":\"go\"}")),
          "{\"when\":{\"contains\":\"deep\"},\"parts\":[{\"text\":\"I was told: too deep\"}]}"),
     FAMILY_TOOLS(asks_itself)}};

/* covers: UAP-8.6 */
TEST_WITH(children_are_eight_deep, .no_torture = "nine runs; the next one is tortured")
{
    struct upp_err err;
    FAMILY_WITH(without_end, .act = go_deep);
    CHECK_INT(family_play(f, &err), 0);
    CHECK(result_is(f, 0, false, "\"I was told: too deep\"")); /* it goes up all the way */
}

/* covers: UAP-8.6 */
TEST(children_are_as_deep_as_the_engine_says)
{
    struct upp_err err;
    FAMILY_WITH(without_end, .act = go_deep, .max_depth = 2);
    CHECK_INT(family_play(f, &err), 0);
    CHECK(result_is(f, 0, false, "\"I was told: too deep\""));
}

/* ---- Time ------------------------------------------------------------------------------------ */

/* A child that takes too long ends, and its parent is told. */
TEST(children_have_the_time_of_their_tool)
{
    static const struct wr_tool hurried[] = {ASKS_WITH("ask", "helper", .timeout_ms = 100)};
    static const struct family_member members[] = {
        {"main", SAYS(SAY(1, 1, SAY_CALL("c1", "ask", "{}")), SAY(1, 1, SAY_TEXT("done"))), FAMILY_TOOLS(hurried)},
        {"helper", "{\"replies\":[{\"parts\":[{\"text\":\"x\"}],\"delay_ms\":5000}]}", FAMILY_TOOLS(none)}};
    struct upp_err err;
    FAMILY(members);
    CHECK_INT(family_play(f, &err), 0);
    CHECK_INT(f->result, 0);
    CHECK(f->turn && f->turn->n_executions == 1 && f->turn->executions[0].is_error);
    CHECK_STR(wb_cstr(upp_turn_text(f->turn)), UPP_STR("done"));
}
