/* The table of docs/llm.md, row by row; rounds; tools beside each other. */
#include <pthread.h>
#include <string.h>
#include <upp/upp.h>

#include "base/buf.h"
#include "base/defs.h"
#include "support/llm.h"
#include "support/scene.h"
#include "support/test.h"
#include "upp/client/talk.h"

static int play(struct scene *sc, const char *script, struct upp_turn **ret, struct upp_err *err)
{
    return scene_ask(sc, "{x?: integer}", script, ret, err);
}

#define CALLS(name, arguments)                                                                                         \
    "{\"replies\":[{\"parts\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"" name "\",\"arguments\":" arguments           \
    "}}]},{\"parts\":[{\"text\":\"done\"}]}]}"

/* covers: UPP-8/2, UPP-7/1/2 */
TEST(llm_tools_table)
{
    static const struct {
        const char *script;
        struct scene scene;
        const char *result, *execution, *arguments, *log;
        bool is_error;
        uint8_t approved;
    } rows[] = {
        {CALLS("f", "{\"x\":1}"),
         {.on_before = 1, .approval = 1},
         "{\"x\":1}",
         "{\"x\":1}",
         "{\"x\":1}",
         "on_call on_before approval run on_after",
         false,
         UPP_APPROVED_YES},
        {CALLS("f", "{\"x\":1}"),
         {.on_before = 1, .approval = 1, .after = "was "},
         "\"was {\\\"x\\\":1}\"",
         "\"was {\\\"x\\\":1}\"",
         "{\"x\":1}",
         "on_call on_before approval run on_after",
         false,
         UPP_APPROVED_YES},
        {CALLS("f", "{\"x\":1}"),
         {.on_before = 1, .approval = 1, .arguments = "{\"x\":2}"},
         "{\"x\":2}",
         "{\"x\":2}",
         "{\"x\":2}",
         "on_call on_before approval run on_after",
         false,
         UPP_APPROVED_YES},
        {CALLS("f", "\"\""),
         {.on_before = 1, .approval = 1},
         "{}",
         "{}",
         "{}",
         "on_call on_before approval run on_after",
         false,
         UPP_APPROVED_YES},
        {CALLS("g", "{\"x\":1}"),
         {0},
         "\"Tool 'g' not found\"",
         "\"Tool 'g' not found\"",
         "{\"x\":1}",
         "",
         true,
         UPP_APPROVED_UNASKED},
        {CALLS("f", "\"{x\""),
         {0},
         "\"the arguments are not a JSON object\"",
         "\"the arguments are not a JSON object\"",
         "{x",
         " (the arguments are not a JSON object) on_error",
         true,
         UPP_APPROVED_UNASKED},
        {CALLS("f", "{\"x\":1}"),
         {.on_call = -1},
         "\"on_call failed\"",
         "\"on_call failed\"",
         "{\"x\":1}",
         "on_call (on_call failed) on_error",
         true,
         UPP_APPROVED_UNASKED},
        {CALLS("f", "{\"x\":1}"),
         {.on_before = -1, .arguments = "{}"},
         "\"on_before failed\"",
         "\"on_before failed\"",
         "{\"x\":1}",
         "on_call on_before (on_before failed) on_error",
         true,
         UPP_APPROVED_UNASKED},
        {CALLS("f", "{\"x\":1}"),
         {.on_before = 0},
         "\"Tool execution skipped\"",
         "\"Tool execution skipped\"",
         "{\"x\":1}",
         "on_call on_before (Tool execution skipped) on_error",
         true,
         UPP_APPROVED_UNASKED},
        {CALLS("f", "{\"x\":1}"),
         {.on_before = 1, .arguments = "[]"},
         "\"the arguments are not a JSON object\"",
         "\"the arguments are not a JSON object\"",
         "{\"x\":1}",
         "on_call on_before (the arguments are not a JSON object) on_error",
         true,
         UPP_APPROVED_UNASKED},
        {CALLS("f", "{\"x\":1}"),
         {.on_before = 1, .approval = 0},
         "\"Tool execution denied by approval handler\"",
         "\"Tool execution denied\"",
         "{\"x\":1}",
         "on_call on_before approval",
         true,
         UPP_APPROVED_NO},
        {CALLS("f", "{\"x\":1}"),
         {.on_before = 1, .approval = -1},
         "\"approval failed\"",
         "\"approval failed\"",
         "{\"x\":1}",
         "on_call on_before approval (approval failed) on_error",
         true,
         UPP_APPROVED_UNASKED},
        {CALLS("f", "{\"x\":1}"),
         {.on_before = 1, .approval = 1, .run = -1},
         "\"run failed\"",
         "\"run failed\"",
         "{\"x\":1}",
         "on_call on_before approval run (run failed) on_error",
         true,
         UPP_APPROVED_YES},
        {CALLS("f", "{\"x\":1}"),
         {.on_before = 1, .approval = 1, .on_after = -1},
         "\"on_after failed\"",
         "\"on_after failed\"",
         "{\"x\":1}",
         "on_call on_before approval run on_after (on_after failed) on_error",
         true,
         UPP_APPROVED_YES},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        struct upp_err err = {0};
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
        struct scene sc = rows[i].scene;
        test_note("row %zu", i);
        int r = play(&sc, rows[i].script, &turn, &err);
        WB_CLEANUP(wb_buf_done) struct wb_buf log = sc.log;
        CHECK_INT(r, 0);
        CHECK_STR(wb_buf_str(&log), wb_cstr(rows[i].log));
        CHECK_INT(turn->n_messages, 4);
        CHECK_INT(turn->messages[2].role, UPP_ROLE_TOOL);
        CHECK_INT(turn->messages[2].n_parts, 1);
        const struct upp_part *p = &turn->messages[2].parts[0];
        CHECK_STR(p->id, UPP_STR("c1"));
        CHECK_STR(p->text, wb_cstr(rows[i].result));
        CHECK_INT(p->is_error, rows[i].is_error);
        CHECK_INT(turn->n_executions, 1);
        const struct upp_execution *e = &turn->executions[0];
        CHECK_STR(e->id, UPP_STR("c1"));
        CHECK_STR(e->result, wb_cstr(rows[i].execution));
        CHECK_STR(e->arguments, wb_cstr(rows[i].arguments));
        CHECK_INT(e->is_error, rows[i].is_error);
        CHECK_INT(e->approved, rows[i].approved);
        CHECK_INT(turn->n_cycles, 2);
        CHECK_STR(wb_cstr(upp_turn_text(turn)), UPP_STR("done"));
    }
}

/* covers: UPP-8/3 */
TEST(llm_tools_failing_on_error_ends_the_turn)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct scene sc = {.on_before = 1, .approval = 1, .run = -1, .on_error = -1};
    int r = play(&sc, CALLS("f", "{}"), &turn, &err);
    wb_buf_done(&sc.log);
    CHECK_INT(r, -UPP_EREFUSED);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("on_error failed"));
    CHECK_INT(turn->n_messages, 2);
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static int max_reached(void *arg, int max, struct upp_err *err)
{
    int *seen = arg;
    if (*seen < 0)
        return upp_fail(err, UPP_ELIMIT, "enough is enough");
    *seen = max;
    return 0;
}

static int say_null(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    unsigned *times = call->arg;
    (void)ret, (void)err;
    if (times)
        ++*times;
    return 0;
}

/* covers: UPP-4/1, UPP-8/1 */
TEST(llm_tools_stop_after_so_many_rounds)
{
    static const char forever[] = "{\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"f\"}}],\"usage\":"
                                  "{\"input_tokens\":1,\"output_tokens\":2}}]}";
    static const struct {
        int max, seen;
        unsigned rounds;
    } cases[] = {{0, 10, 10}, {1, 1, 1}, {3, 3, 3}, {UPP_HAND_BACK, 0, 0}, {2, -1, 2}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_err err = {0};
        UPP_CLEANUP(upp_model_freep) struct upp_model *model = llm_script(forever);
        UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
        unsigned times = 0;
        int seen = cases[i].seen < 0 ? -1 : 0;
        const struct upp_tool tools[] = {{.name = "f", .parameters = "{}", .run = say_null, .arg = &times}};
        CHECK(model);
        CHECK(
            upp_llm_new(
                UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1,
                         .strategy = {.max_iterations = cases[i].max, .arg = &seen, .on_max_iterations = max_reached}),
                &llm, &err) >= 0);
        int r = upp_ask(llm, UPP_STR("go"), &turn, &err);
        CHECK_INT(times, cases[i].rounds);
        CHECK_INT(seen, cases[i].seen);
        if (cases[i].max == UPP_HAND_BACK) {
            CHECK_INT(r, 0);
            CHECK(upp_part_next(turn->response, NULL, UPP_PARTS_CALLS));
            continue;
        }
        char says[80];
        (void)snprintf(says, sizeof says, "Tool execution exceeded maximum iterations (%u)", cases[i].rounds);
        CHECK_INT(r, seen < 0 ? -UPP_ELIMIT : -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(seen < 0 ? "enough is enough" : says));
        CHECK(turn); /* the transcript so far */
        CHECK_INT(turn->n_messages, 2 + 2 * cases[i].rounds);
        CHECK_INT(turn->n_executions, cases[i].rounds);
        CHECK_INT(turn->n_cycles, cases[i].rounds + 1);
        CHECK_INT(turn->usage.output, 2 * (cases[i].rounds + 1)); /* */
        CHECK_STR(turn->executions[0].result, UPP_STR("null"));
    }
}

/* covers: UPP-3/1 */
TEST(llm_tools_structured_answer_beside_calls_stops)
{
    static const char script[] = "{\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"f\"}}],\"data\":{\"a\":1}},"
                                 "{\"parts\":[{\"text\":\"done\"}]}]}";
    for (int structured = 0; structured < 2; structured++) {
        struct upp_err err = {0};
        UPP_CLEANUP(upp_model_freep) struct upp_model *model = llm_script(script);
        UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
        const struct upp_tool tools[] = {{.name = "f", .parameters = "{}", .run = say_null}};
        CHECK(model);
        CHECK(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1,
                                   .structure = structured ? "{}" : NULL),
                          &llm, &err) >= 0);
        CHECK(upp_ask(llm, UPP_STR("go"), &turn, &err) >= 0);
        CHECK_INT(turn->n_executions, !structured);
        CHECK_STR(turn->data, structured ? UPP_STR("{\"a\":1}") : (struct upp_str){0});
    }
}

TEST(llm_tools_too_many_at_once)
{
    struct upp_err err = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    const struct upp_tool tools[] = {{.name = "f", .parameters = "{}", .run = say_null}};
    wb_buf_addf(&b, "{\"replies\":[{\"parts\":[");
    for (int i = 0; i <= UPP__CALLS; i++)
        wb_buf_addf(&b, "%s{\"tool_call\":{\"id\":\"%d\",\"name\":\"f\"}}", i ? "," : "", i);
    wb_buf_addf(&b, "]}]}");
    wb_buf_addc(&b, 0);
    CHECK(wb_buf_check(&b, &err) >= 0);
    UPP_CLEANUP(upp_model_freep) struct upp_model *model = llm_script(b.p);
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1), &llm, &err) >= 0);
    CHECK_INT(upp_ask(llm, UPP_STR("go"), &turn, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the model asked for more than 128 tools at once"));
}

/* ---- Beside each other ----------------------------------------------------------------------- */

/* Ends in the order of `turns`: each waits until it is its turn. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int now;
};

static int at_its_turn(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct gate *g = call->arg;
    int64_t turn;
    int r = upp_call_arg_i64(call, "turn", &turn, err);
    (void)pthread_mutex_lock(&g->lock);
    while (r >= 0 && g->now != turn)
        (void)pthread_cond_wait(&g->moved, &g->lock);
    g->now++;
    (void)pthread_cond_broadcast(&g->moved);
    (void)pthread_mutex_unlock(&g->lock);
    return r < 0 ? r : upp_value_printf(ret, err, "%lld", (long long)turn);
}

#define GATED(id, turn) "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"gated\",\"arguments\":{\"turn\":" turn "}}}"

TEST_WITH(llm_tools_that_block_run_beside_each_other,
          .no_torture = "a tool that has no memory would never let the others pass")
{
    struct upp_err err = {0};
    struct gate gate = {.now = 0};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model = llm_script(
        "{\"replies\":[{\"parts\":[" GATED("a", "2") "," GATED("b", "0") "," GATED("c", "1") "]},{\"parts\":[]}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    const struct upp_tool tools[] = {
        {.name = "gated", .parameters = "{turn: integer}", .run = at_its_turn, .arg = &gate, .blocking = true}};
    (void)pthread_mutex_init(&gate.lock, NULL);
    (void)pthread_cond_init(&gate.moved, NULL);
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1), &llm, &err) >= 0);
    CHECK(upp_ask(llm, UPP_STR("go"), &turn, &err) >= 0);
    CHECK_INT(turn->n_executions, 3);
    CHECK_STR(turn->messages[2].parts[0].text, UPP_STR("\"2\""));
    CHECK_STR(turn->messages[2].parts[1].text, UPP_STR("\"0\""));
    CHECK_STR(turn->messages[2].parts[2].text, UPP_STR("\"1\""));
    (void)pthread_cond_destroy(&gate.moved);
    (void)pthread_mutex_destroy(&gate.lock);
}

/* A team that does its pieces in an order of its own. */
struct own_team {
    void (*work)(void *ctx, size_t i);
    void *ctx;
    size_t n, at;
    unsigned opened, closed;
};

static int own_open(void *arg, size_t n, void (*work)(void *ctx, size_t i), void *ctx, struct upp_team **ret,
                    struct upp_err *err)
{
    struct own_team *t = arg;
    (void)err;
    t->work = work;
    t->ctx = ctx;
    t->n = n;
    t->opened++;
    *ret = arg;
    return 0;
}

static int own_next(void *arg, struct upp_team *team, size_t *ret, struct upp_err *err)
{
    static const size_t order[] = {2, 0, 1};
    struct own_team *t = arg;
    (void)team, (void)err;
    if (t->at == t->n)
        return 0;
    *ret = order[t->at++];
    t->work(t->ctx, *ret);
    return 1;
}

static void own_close(void *arg, struct upp_team *team)
{
    struct own_team *t = arg;
    (void)team;
    t->closed++;
}

static int count_beside(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    atomic_uint *times = call->arg;
    atomic_fetch_add(times, 1);
    return upp_value_text(ret, call->id, err);
}

/* covers: UPP-3/2 */
TEST(llm_tools_results_in_call_order_executions_as_they_end)
{
    struct upp_err err = {0};
    atomic_uint times = 0;
    struct own_team own = {0};
    const struct upp_wait wait = {
        .size = sizeof wait, .arg = &own, .team_open = own_open, .team_next = own_next, .team_close = own_close};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model = llm_script(
        "{\"replies\":[{\"parts\":[{\"tool_call\":{\"id\":\"a\",\"name\":\"slow\"}},"
        "{\"tool_call\":{\"id\":\"b\",\"name\":\"slow\"}},{\"tool_call\":{\"id\":\"c\",\"name\":\"slow\"}}]},"
        "{\"parts\":[{\"text\":\"done\"}]}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    const struct upp_tool tools[] = {
        {.name = "slow", .parameters = "{}", .run = count_beside, .arg = &times, .blocking = true}};
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1), &llm, &err) >= 0);
    int r = upp_generate(llm, UPP_OPTS(upp_input, .text = UPP_STR("go"), .wait = &wait), &turn, &err);
    ALWAYS(own.opened == own.closed);
    CHECK_INT(r, 0);
    CHECK_INT(own.opened, 1);
    for (size_t i = 0; i < 3; i++) {
        CHECK_STR(turn->messages[2].parts[i].id, wb_str(&"abc"[i], 1));
        CHECK_STR(turn->executions[i].id, wb_str(&"cab"[i], 1));
    }
}

TEST(llm_tools_beside_and_here_in_one_round)
{
    struct upp_err err = {0};
    atomic_uint times = 0;
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model =
        llm_script("{\"replies\":[{\"parts\":[{\"tool_call\":{\"id\":\"a\",\"name\":\"slow\"}},"
                   "{\"tool_call\":{\"id\":\"b\",\"name\":\"fast\"}},{\"tool_call\":{\"id\":\"c\",\"name\":\"slow\"}},"
                   "{\"tool_call\":{\"id\":\"d\",\"name\":\"none\"}}]},{\"parts\":[{\"text\":\"done\"}]}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    const struct upp_tool tools[] = {
        {.name = "slow", .parameters = "{}", .run = count_beside, .arg = &times, .blocking = true},
        {.name = "fast", .parameters = "{}", .run = count_beside, .arg = &times}};
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 2), &llm, &err) >= 0);
    CHECK(upp_ask(llm, UPP_STR("go"), &turn, &err) >= 0);
    CHECK_INT(atomic_load(&times), 3);
    CHECK_INT(turn->n_executions, 4);
    CHECK_STR(turn->executions[0].id, UPP_STR("d")); /* nobody ran it: it ended first */
    CHECK_STR(turn->messages[2].parts[0].text, UPP_STR("\"a\""));
    CHECK_STR(turn->messages[2].parts[1].text, UPP_STR("\"b\""));
    CHECK_STR(turn->messages[2].parts[2].text, UPP_STR("\"c\""));
    CHECK(turn->messages[2].parts[3].is_error);
}

/* ---- Teams ----------------------------------------------------------------------------------- */

enum { PIECES = 200 };

struct pieces {
    atomic_uint done[PIECES], now, most;
};

static void one_piece(void *ctx, size_t i)
{
    struct pieces *p = ctx;
    unsigned now = atomic_fetch_add(&p->now, 1) + 1, most = atomic_load(&p->most);
    while (now > most && !atomic_compare_exchange_weak(&p->most, &most, now))
        ;
    atomic_fetch_add(&p->done[i], 1);
    atomic_fetch_sub(&p->now, 1);
}

TEST(llm_team_does_each_piece_once_with_and_without_threads)
{
    for (size_t threads = 0; threads < 3; threads++) {
        struct pieces p = {0};
        struct upp_team *team = NULL;
        bool told[PIECES] = {0};
        size_t i, n = 0;
        int r = upp__team_open(PIECES, threads * 2, one_piece, &p, &team, NULL);
        ALWAYS(r >= 0 || !team);
        CHECK_INT(r, 0);
        while (upp__team_next(team, &i) > 0 && i < PIECES && !told[i])
            told[i] = ++n;
        upp__team_close(team);
        CHECK_INT(n, PIECES);
        for (i = 0; i < PIECES; i++)
            ALWAYS(atomic_load(&p.done[i]) == 1);
        ALWAYS(atomic_load(&p.most) <= (threads ? threads * 2 : 1));
    }
}

TEST(llm_team_closed_early_waits_for_all)
{
    struct pieces p = {0};
    struct upp_team *team = NULL;
    CHECK_INT(upp__team_open(PIECES, 3, one_piece, &p, &team, NULL), 0);
    upp__team_close(team);
    for (size_t i = 0; i < PIECES; i++)
        ALWAYS(atomic_load(&p.done[i]) == 1);
}

static int takes_all(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    return upp_value_json(ret, call->arguments, err);
}

/* What the schema says is for the model: a layer above may check it. */
/* covers: UPP-7/3 */
TEST(llm_tools_arguments_are_handed_on_unchecked)
{
    static const struct upp_tool tool = {.name = "f", .parameters = "{x: integer}", .run = takes_all};
    UPP_CLEANUP(upp_model_freep) struct upp_model *model = llm_script(CALLS("f", "{\"x\":\"text\",\"y\":1}"));
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    CHECK(model);
    CHECK_INT(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = &tool, .n_tools = 1), &llm, NULL), 0);
    CHECK_INT(upp_ask(llm, UPP_STR("go"), &turn, NULL), 0);
    CHECK(turn->n_executions == 1 && !turn->executions[0].is_error);
    CHECK_STR(turn->executions[0].result, UPP_STR("{\"x\":\"text\",\"y\":1}"));
}
