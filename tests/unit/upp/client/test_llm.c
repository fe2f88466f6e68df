#include <string.h>
#include <upp/upp.h>

#include "base/buf.h"
#include "base/defs.h"
#include "base/uuid.h"
#include "support/llm.h"
#include "support/test.h"

/* covers: UPP-1/1 */
TEST(llm_asks_and_gives_a_turn)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model = llm_script("{\"replies\":[{\"parts\":[{\"reasoning\":\"hm\"},"
                                         "{\"text\":\"four\"}],\"usage\":{\"input_tokens\":5,"
                                         "\"output_tokens\":2,\"cache_read_tokens\":3}}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct wb_uuid id;
    CHECK(model);
    CHECK(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .system = "be brief", .params = "{\"x\":1}"), &llm, &err) >=
          0);
    ALWAYS(!turn);
    CHECK(upp_ask(llm, UPP_STR("two plus two?"), &turn, &err) >= 0);
    CHECK_INT(turn->n_messages, 2);
    CHECK_INT(turn->messages[0].role, UPP_ROLE_USER);
    CHECK_STR(turn->messages[0].parts[0].text, UPP_STR("two plus two?"));
    CHECK(wb_uuid_parse(turn->messages[0].id, &id) && wb_uuid_version(id) == 4);
    CHECK(wb_uuid_parse(turn->response->id, &id) && wb_uuid_version(id) == 4);
    CHECK(turn->messages[1].time_ms >= turn->messages[0].time_ms && turn->messages[0].time_ms > 0);
    CHECK(turn->response == &turn->messages[1]);
    CHECK_INT(turn->response->n_parts, 2);
    CHECK_INT(turn->response->parts[0].kind, UPP_PART_REASONING);
    CHECK_STR(wb_cstr(upp_turn_text(turn)), UPP_STR("four"));
    CHECK_INT(turn->usage.input, 5);
    CHECK_INT(turn->usage.output, 2);
    CHECK_INT(turn->usage.cache_read, 3);
    CHECK_INT(turn->n_cycles, 1);
    CHECK_INT(turn->n_executions, 0);
    CHECK(!turn->data.p);
}

/* Looks at what a provider is told. */
struct told {
    struct upp_request req;
    size_t messages, losses;
    bool whole;
};

static int told_open(struct upp_step *s, struct upp_err *err)
{
    struct told *t = s->model->state;
    (void)err;
    t->req = *s->request;
    t->messages = s->request->n_messages;
    t->whole = s->request->whole;
    for (int i = 0; i < 2; i++) {
        struct upp_loss loss = {.message = (size_t)i, .part = 0, .what = "reasoning", .why = "it is another vendor's"};
        s->request->on_loss(s->request->on_loss_arg, &loss);
    }
    t->losses++;
    return 0;
}

static int told_next(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err)
{
    int *i = upp_step_state(s);
    (void)err;
    if ((*i)++ == 0)
        *ret = (struct upp_step_event){.kind = UPP_STEP_OPEN, .text = UPP_STR("msg_7")};
    else
        *ret = (struct upp_step_event){.kind = UPP_STEP_END, .stop = UPP_STOP_END, .data = UPP_STR("{\"a\":1}")};
    return 1;
}

static const struct upp_model_ops told_ops = {
    .size = sizeof told_ops, .provider = "told", .step_size = sizeof(int), .open = told_open, .next = told_next};

/* covers: UPP-1/3, UPP-3/1 */
TEST(llm_hands_its_options_to_the_provider)
{
    struct upp_err err = {0};
    struct told told = {0};
    struct upp_model model = {.ops = &told_ops, .name = UPP_STR("m"), .state = &told};
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *thread = NULL;
    char system[] = "be brief";
    CHECK(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = &model, .system = system, .params = " {\"k\": [1]} ",
                               .structure = "{\"type\":\"object\"}"),
                      &llm, &err) >= 0);
    memset(system, 'x', sizeof system - 1); /* it was copied */
    CHECK(upp_thread_new(&thread, &err) >= 0 && upp_thread_user(thread, UPP_STR("a"), &err) >= 0 &&
          upp_thread_assistant(thread, UPP_STR("b"), &err) >= 0);
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("c")};
    CHECK(upp_generate(llm, UPP_OPTS(upp_input, .thread = thread, .parts = &part, .n_parts = 1), &turn, &err) >= 0);
    CHECK_STR(told.req.system, UPP_STR("be brief"));
    CHECK_STR(told.req.params, UPP_STR("{\"k\": [1]}"));
    CHECK_STR(told.req.structure, UPP_STR("{\"type\":\"object\"}"));
    CHECK_INT(told.req.attempt, 1);
    CHECK(told.whole);
    CHECK_INT(told.messages, 3);
    CHECK_INT(turn->n_messages, 2); /* without the history */
    CHECK_STR(turn->response->id, UPP_STR("msg_7"));
    CHECK_STR(turn->data, UPP_STR("{\"a\":1}"));
    CHECK_STR(wb_cstr(upp_turn_text(turn)), UPP_STR(""));
    CHECK_INT(turn->n_losses, 2);
    CHECK_INT(turn->losses[1].message, 1);
    CHECK_STR(wb_cstr(turn->losses[1].why), UPP_STR("it is another vendor's"));
}

/* covers: UPP-1/1 */
TEST(llm_history_alone_gives_a_turn_without_a_user_message)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_model_freep) struct upp_model *model = llm_script(NULL);
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("said before")};
    struct upp_message old = {
        .role = UPP_ROLE_USER, .id = UPP_STR("u1"), .parts = &part, .n_parts = 1, .time_ms = INT64_C(9999999999999)};
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model), &llm, &err) >= 0);
    CHECK(upp_generate(llm, UPP_OPTS(upp_input, .history = &old, .n_history = 1), &turn, &err) >= 0);
    CHECK_INT(turn->n_messages, 1);
    CHECK_STR(wb_cstr(upp_turn_text(turn)), UPP_STR("said before"));
    CHECK(turn->response->time_ms >= old.time_ms); /* time never goes back */
    upp_turn_free(turn);
    turn = NULL;
    int r = upp_generate(llm, UPP_OPTS(upp_input, .wait = NULL), &turn, &err);
    CHECK_INT(r, -UPP_EINVALID);
    ALWAYS(!turn);
}

struct bad_opts {
    struct upp_llm_opts opts;
    uint32_t can;
    const char *says;
};

static int nothing(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call, (void)ret, (void)err;
    return 0;
}

/* covers: UPP-1/4, UPP-15/2 */
TEST(llm_refuses_what_makes_no_sense_before_any_call)
{
    static const struct upp_tool one[] = {UPP_TOOL(nothing, "does nothing", "{}")};
    static const struct upp_tool two[] = {UPP_TOOL(nothing, "a", "{}"), UPP_TOOL(nothing, "b", "{}")};
    static const struct upp_tool idle[] = {{.name = "idle"}};
    static const struct upp_tool odd[] = {UPP_TOOL(nothing, "a", "{x: strin}")};
    static const struct bad_opts bad[] = {
        {.opts = {.params = "[1]"}, .says = "params: expected an object"},
        {.opts = {.params = "{"}, .says = "params: "},
        {.opts = {.structure = "7"}, .says = "structure: expected an object"},
        {.opts = {.tools = two, .n_tools = 2}, .says = "there are two tools called 'nothing'"},
        {.opts = {.tools = idle, .n_tools = 1}, .says = "tool 'idle' has nothing to run"},
        {.opts = {.tools = odd, .n_tools = 1}, .says = "tool 'nothing': parameters: expected string"},
        {.opts = {.tools = one, .n_tools = 1}, .can = UPP_CAN_STREAM, .says = "model 'm' does not support tools"},
        {.opts = {.structure = "{}"}, .can = UPP_CAN_TOOLS, .says = "model 'm' does not support structured output"},
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        struct upp_err err = {0};
        struct upp_model model = {.ops = &told_ops, .name = UPP_STR("m"), .can = bad[i].can};
        struct upp_llm *llm = NULL;
        struct upp_llm_opts opts = bad[i].opts;
        opts.size = sizeof opts;
        opts.use = &model;
        test_note("case %zu", i);
        int r = upp_llm_new(&opts, &llm, &err);
        ALWAYS(r < 0 && !llm);
        CHECK_INT(r, -UPP_EINVALID);
        CHECK(strncmp(err.msg, bad[i].says, strlen(bad[i].says)) == 0);
    }
    struct upp_llm *none = NULL;
    CHECK_INT(upp_llm_new(UPP_OPTS(upp_llm_opts, .system = "x"), &none, NULL), -UPP_EINVALID);
}

/* covers: UPP-15/2 */
TEST(llm_checks_media_of_users_history_included)
{
    static const struct {
        uint8_t kind;
        const char *says;
    } media[] = {{UPP_PART_IMAGE, "model 'm' does not support image input"},
                 {UPP_PART_DOCUMENT, "model 'm' does not support document input"},
                 {UPP_PART_AUDIO, "model 'm' does not support audio input"},
                 {UPP_PART_VIDEO, "model 'm' does not support video input"},
                 {UPP_PART_BINARY, NULL}};
    struct told told = {0};
    struct upp_model model = {.ops = &told_ops, .name = UPP_STR("m"), .state = &told, .can = UPP_CAN_TOOLS};
    for (size_t i = 0; i < 2 * WB_LEN(media); i++) {
        struct upp_err err = {0};
        UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
        struct upp_media data = {.source = UPP_SOURCE_BASE64, .data = UPP_STR("AA=="), .mime = UPP_STR("x/y")};
        struct upp_part part = upp_media_part(media[i / 2].kind, &data);
        struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
        const char *says = media[i / 2].says;
        told = (struct told){0};
        CHECK(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = &model), &llm, &err) >= 0);
        int r = i % 2 ? upp_generate(llm, UPP_OPTS(upp_input, .history = &m, .n_history = 1), &turn, &err)
                      : upp_generate(llm, UPP_OPTS(upp_input, .messages = &m, .n_messages = 1), &turn, &err);
        CHECK_INT(r, says ? -UPP_EINVALID : 0);
        CHECK(!says || (strcmp(err.msg, says) == 0 && strcmp(err.provider, "told") == 0));
        CHECK_INT(told.losses, says ? 0 : 1); /* nobody was asked */
    }
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    struct upp_stream *stream = NULL;
    CHECK(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = &model), &llm, NULL) >= 0);
    CHECK_INT(upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("x")), &stream, NULL), -UPP_EINVALID);
    ALWAYS(!stream);
}

/* covers: UPP-2/3 */
TEST(llm_keeps_the_order_of_what_was_said)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model =
        llm_script("{\"replies\":[{\"parts\":[{\"text\":\"a\"},{\"tool_call\":{\"id\":\"c1\",\"name\":\"f\"}},"
                   "{\"text\":\"b\"},{\"tool_call\":{\"id\":\"c1\",\"name\":\"f\"}},{\"tool_call\":{\"name\":\"f\"}},"
                   "{\"media\":{\"kind\":\"image\",\"mime\":\"image/png\",\"data\":\"AQI=\"}}]}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model), &llm, &err) >= 0);
    CHECK(upp_ask(llm, UPP_STR("?"), &turn, &err) >= 0); /* calls, and no tools: handed back */
    const struct upp_part *p = turn->response->parts;
    CHECK_INT(turn->response->n_parts, 6);
    CHECK(p[0].kind == UPP_PART_TEXT && p[1].kind == UPP_PART_CALL && p[2].kind == UPP_PART_TEXT);
    CHECK_STR(p[1].id, UPP_STR("c1"));
    CHECK(p[3].id.n == 5 + WB_UUID_HEX && wb_str_starts(p[3].id, UPP_STR("call_"))); /* taken: a new one */
    CHECK(p[4].id.n == 5 + WB_UUID_HEX && !wb_str_eq(p[3].id, p[4].id));
    CHECK_STR(p[5].media->data, UPP_STR("AQI="));
    CHECK_STR(wb_cstr(upp_turn_text(turn)), UPP_STR("a\n\nb"));
    CHECK_INT(turn->n_executions, 0);
}

TEST(llm_failure_keeps_what_was_said)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model =
        llm_script("{\"replies\":[{\"parts\":[{\"reasoning\":\"so\"},{\"text\":\"as I was say\"}],\"delta_bytes\":3,"
                   "\"error\":{\"code\":\"NETWORK_ERROR\",\"message\":\"cut\",\"after\":2}}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model), &llm, &err) >= 0);
    int r = upp_ask(llm, UPP_STR("?"), &turn, &err);
    ALWAYS(r < 0);
    CHECK_INT(r, -UPP_ENET);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("cut"));
    CHECK_STR(wb_cstr(err.provider), UPP_STR("scripted"));
    CHECK(turn && turn->response && turn->response->interrupted);
    CHECK_INT(turn->n_messages, 2);
    CHECK(!turn->response->parts[0].cut && turn->response->parts[1].cut);
    CHECK_STR(turn->response->parts[1].text, UPP_STR("as "));
}

/* A wait table that can be told to stop, and that counts. */
struct patience {
    unsigned sleeps, checks, stop_after;
    uint64_t ms;
};

static int patient_sleep(void *arg, uint64_t ms, struct upp_err *err)
{
    struct patience *p = arg;
    (void)err;
    p->sleeps++;
    p->ms += ms;
    return 0;
}

static int patient_stopped(void *arg, struct upp_err *err)
{
    struct patience *p = arg;
    return ++p->checks > p->stop_after ? upp_fail(err, UPP_ECANCELED, "cancelled") : 0;
}

TEST(llm_is_cancelled_at_every_point)
{
    static const struct upp_tool tools[] = {UPP_TOOL(nothing, "does nothing", "{}")};
    for (unsigned stop = 0; stop < 100; stop++) {
        struct upp_err err = {0};
        UPP_CLEANUP(upp_model_freep)
        struct upp_model *model = llm_script(
            "{\"delta_bytes\":2,\"replies\":[{\"parts\":[{\"text\":\"abcd\"},{\"tool_call\":{\"name\":\"nothing\"}},"
            "{\"tool_call\":{\"name\":\"nothing\"}}]},{\"parts\":[{\"text\":\"done\"}]}]}");
        UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
        struct patience p = {.stop_after = stop};
        struct upp_wait wait = {.size = sizeof wait, .arg = &p, .sleep_ms = patient_sleep, .stopped = patient_stopped};
        CHECK(model &&
              upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1), &llm, &err) >= 0);
        int r = upp_generate(llm, UPP_OPTS(upp_input, .text = UPP_STR("x"), .wait = &wait), &turn, &err);
        if (r >= 0) {
            CHECK(stop > 8);
            CHECK_STR(wb_cstr(upp_turn_text(turn)), UPP_STR("done"));
            return;
        }
        CHECK_INT(r, -UPP_ECANCELED);
    }
    CHECK(!"it never ended");
}

static int count(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)ret, (void)err;
    ++*(unsigned *)call->arg;
    return 0;
}

static int flag_stopped(void *arg, struct upp_err *err)
{
    return *(bool *)arg ? upp_fail(err, UPP_ECANCELED, "cancelled") : 0;
}

/* Whoever listens may take its time between two events: what was told to stop then has not started, and never does. */
TEST(llm_stopped_between_two_events_runs_no_tool)
{
    unsigned ran = 0;
    bool stop = false;
    const struct upp_tool tools[] = {{.name = "count", .run = count, .arg = &ran}};
    struct upp_err err = {0};
    struct upp_event ev = {0};
    struct upp_wait wait = {.size = sizeof wait, .arg = &stop, .stopped = flag_stopped};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model = llm_script("{\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"count\"}},"
                                         "{\"tool_call\":{\"name\":\"count\"}}]},{\"parts\":[{\"text\":\"done\"}]}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_stream_closep) struct upp_stream *stream = NULL;
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1), &llm, &err) >= 0);
    CHECK(upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("x"), .wait = &wait), &stream, &err) >= 0);
    unsigned starts = 0;
    while (starts < 2) {
        CHECK_INT(upp_stream_next(stream, &ev, &err), 1);
        starts += ev.type == UPP_TOOL_EXECUTION_START;
    }
    stop = true;
    int r = upp_stream_next(stream, &ev, &err);
    ALWAYS(r < 0 && ran == 0);
    CHECK_INT(r, -UPP_ECANCELED);
}

static int refuse_silently(void *arg, int max, struct upp_err *err)
{
    (void)arg, (void)max, (void)err;
    return -UPP_EREFUSED;
}

/* What a call that was tried again had failed with is no part of a later failure. */
TEST(llm_failure_of_an_earlier_attempt_is_forgotten)
{
    unsigned ran = 0;
    const struct upp_tool tools[] = {{.name = "count", .run = count, .arg = &ran}};
    struct upp_err err = {0};
    struct patience p = {.stop_after = UINT32_MAX};
    struct upp_wait wait = {.size = sizeof wait, .arg = &p, .sleep_ms = patient_sleep, .stopped = patient_stopped};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model = llm_script(
        "{\"replies\":[{\"error\":{\"code\":\"RATE_LIMITED\",\"status\":429,\"message\":\"slow down\"}},"
        "{\"parts\":[{\"tool_call\":{\"name\":\"count\"}}]},{\"parts\":[{\"tool_call\":{\"name\":\"count\"}}]}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    CHECK(model && upp_retry_new(&(struct upp_retry_opts){.kind = UPP_RETRY_LINEAR}, &model->retry, &err) >= 0);
    CHECK(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1,
                               .strategy = {.max_iterations = 1, .on_max_iterations = refuse_silently}),
                      &llm, &err) >= 0);
    int r = upp_generate(llm, UPP_OPTS(upp_input, .text = UPP_STR("x"), .wait = &wait), &turn, &err);
    CHECK_INT(r, -UPP_EREFUSED);
    CHECK_INT(p.sleeps, 1);
    CHECK(err.code == UPP_EREFUSED && !err.msg[0] && !err.http);
}

TEST(llm_turn_has_a_deadline)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model =
        llm_script("{\"replies\":[{\"parts\":[{\"text\":\"abcdef\"}],\"delta_bytes\":1,\"delay_ms\":3600000}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    CHECK(model);
    model->turn_ms = 100;
    CHECK(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model), &llm, &err) >= 0);
    int r = upp_ask(llm, UPP_STR("?"), &turn, &err);
    CHECK_INT(r, -UPP_ETIMEOUT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the turn took longer than 100 ms"));
    CHECK(turn && turn->response->interrupted);
}
