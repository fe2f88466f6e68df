#include <pthread.h>
#include <string.h>
#include <upp/upp.h>

#include "base/buf.h"
#include "base/defs.h"
#include "support/llm.h"
#include "support/test.h"

static int add(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    int64_t a, b;
    int r = upp_call_arg_i64(call, "a", &a, err);
    if (r >= 0)
        r = upp_call_arg_i64(call, "b", &b, err);
    return r < 0 ? r : upp_value_printf(ret, err, "%lld", (long long)(a + b));
}

static const struct upp_tool tools[] = {UPP_TOOL(add, "adds", "{a: integer, b: integer}")};

/* One event as a word. */
static void log_event(struct wb_buf *b, const struct upp_event *ev)
{
    wb_buf_addf(b, "%s%s:%u", b->n ? " " : "", upp_event_name(ev->type), ev->index);
    if (ev->text.n)
        wb_buf_addf(b, "(%.*s)", UPP_FMT(ev->text));
    if (ev->id.n)
        wb_buf_addf(b, "[%.*s %.*s]", UPP_FMT(ev->id), UPP_FMT(ev->name));
    if (ev->result.n)
        wb_buf_addf(b, "=%.*s%s", UPP_FMT(ev->result), ev->is_error ? "!" : "");
}

static int read_all(struct upp_stream *s, struct wb_buf *b, struct upp_err *err)
{
    struct upp_event ev;
    int r;
    while ((r = upp_stream_next(s, &ev, err)) > 0)
        log_event(b, &ev);
    return r;
}

static const char two_cycles[] =
    "{\"delta_bytes\":4,\"replies\":[{\"parts\":[{\"reasoning\":\"hm\"},{\"text\":\"let me\"},"
    "{\"tool_call\":{\"id\":\"c1\",\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}},"
    "{\"tool_call\":{\"id\":\"c2\",\"name\":\"nope\",\"arguments\":\"\"}}],\"usage\":{\"input_tokens\":3}},"
    "{\"parts\":[{\"text\":\"3\"}],\"usage\":{\"input_tokens\":4}}]}";

/* covers: UPP-6, UPP-1/2 */
TEST(stream_tells_all_of_it_in_order)
{
    struct upp_err err = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 16);
    UPP_CLEANUP(upp_model_freep) struct upp_model *model = llm_script(two_cycles);
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_stream_closep) struct upp_stream *stream = NULL;
    const struct upp_turn *turn = NULL, *again;
    struct upp_event ev;
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1), &llm, &err) >= 0);
    CHECK(upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("1+2")), &stream, &err) >= 0);
    CHECK_INT(read_all(stream, &b, &err), 0);
    CHECK_STR(wb_buf_str(&b),
              UPP_STR("message_start:0 content_block_start:0 reasoning_delta:0(hm) content_block_stop:0 "
                      "content_block_start:1 text_delta:1(let ) text_delta:1(me) content_block_stop:1 "
                      "content_block_start:2 tool_call_delta:2({\"a\")[c1 add] tool_call_delta:2(:1,\")[c1 add] "
                      "tool_call_delta:2(b\":2)[c1 add] tool_call_delta:2(})[c1 add] content_block_stop:2 "
                      "content_block_start:3 tool_call_delta:3[c2 nope] content_block_stop:3 message_stop:0 "
                      "tool_execution_start:0[c1 add] tool_execution_start:1[c2 nope] "
                      "tool_execution_end:1[c2 nope]=\"Tool 'nope' not found\"! tool_execution_end:0[c1 add]=\"3\" "
                      "message_start:0 content_block_start:0 text_delta:0(3) content_block_stop:0 message_stop:0"));
    CHECK_INT(upp_stream_next(stream, &ev, &err), 0);
    CHECK(upp_stream_turn(stream, &turn, &err) >= 0);
    CHECK(upp_stream_turn(stream, &again, &err) >= 0 && again == turn);
    CHECK_INT(turn->usage.input, 7);
    CHECK_INT(turn->n_cycles, 2);
    CHECK_INT(turn->n_messages, 4);
    CHECK_STR(wb_cstr(upp_turn_text(turn)), UPP_STR("3"));
    upp_stream_abort(stream); /* too late to matter */
    CHECK(upp_stream_turn(stream, &again, &err) >= 0 && again == turn);
}

/* covers: UPP-6 */
TEST(stream_structured_and_media)
{
    struct upp_err err = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 16);
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model = llm_script(
        "{\"replies\":[{\"parts\":[{\"media\":{\"kind\":\"image\",\"mime\":\"image/png\",\"data\":\"AQ==\"}},"
        "{\"media\":{\"kind\":\"audio\",\"mime\":\"a/b\",\"data\":\"Ag==\"}},"
        "{\"media\":{\"kind\":\"video\",\"mime\":\"a/b\",\"data\":\"Aw==\"}},{\"text\":\"{}\"}],\"data\":{}}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_stream_closep) struct upp_stream *stream = NULL;
    const struct upp_turn *turn = NULL;
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .structure = "{}"), &llm, &err) >= 0);
    CHECK(upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("x")), &stream, &err) >= 0);
    CHECK_INT(read_all(stream, &b, &err), 0);
    CHECK_STR(wb_buf_str(&b),
              UPP_STR("message_start:0 content_block_start:0 image_delta:0(AQ==) content_block_stop:0 "
                      "content_block_start:1 audio_delta:1(Ag==) content_block_stop:1 content_block_start:2 "
                      "video_delta:2(Aw==) content_block_stop:2 content_block_start:3 object_delta:3({}) "
                      "content_block_stop:3 message_stop:0"));
    CHECK(upp_stream_turn(stream, &turn, &err) >= 0);
    CHECK_STR(turn->data, UPP_STR("{}"));
}

/* The turn of a stream is what generate gives. */
TEST(stream_turn_drains)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_model_freep) struct upp_model *model = llm_script(two_cycles);
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_stream_closep) struct upp_stream *stream = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *made = NULL;
    const struct upp_turn *turn = NULL;
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1), &llm, &err) >= 0);
    CHECK(upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("1+2")), &stream, &err) >= 0);
    CHECK(upp_stream_turn(stream, &turn, &err) >= 0);
    CHECK(upp_ask(llm, UPP_STR("1+2"), &made, &err) >= 0);
    CHECK_INT(turn->n_messages, made->n_messages);
    for (size_t i = 0; i < made->n_messages; i++) {
        CHECK_INT(turn->messages[i].n_parts, made->messages[i].n_parts);
        for (size_t k = 0; k < made->messages[i].n_parts; k++)
            CHECK_STR(turn->messages[i].parts[k].text, made->messages[i].parts[k].text);
    }
}

/* covers: UPP-6 */
TEST(stream_aborted_at_every_event)
{
    for (size_t stop = 0; stop < 100; stop++) {
        struct upp_err err = {0};
        UPP_CLEANUP(upp_model_freep) struct upp_model *model = llm_script(two_cycles);
        UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
        UPP_CLEANUP(upp_stream_closep) struct upp_stream *stream = NULL;
        const struct upp_turn *turn = NULL;
        struct upp_event ev;
        int r = 1;
        CHECK(model &&
              upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1), &llm, &err) >= 0);
        CHECK(upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("1+2")), &stream, &err) >= 0);
        for (size_t i = 0; i < stop && r > 0; i++)
            r = upp_stream_next(stream, &ev, &err);
        CHECK(r >= 0);
        if (r == 0) {
            CHECK(stop > 20);
            return;
        }
        upp_stream_abort(stream);
        r = upp_stream_next(stream, &ev, &err);
        if (r == 0)
            return; /* the last event was out already */
        CHECK_INT(r, -UPP_ECANCELED);
        CHECK_STR(wb_cstr(err.msg), UPP_STR("Stream cancelled"));
        CHECK_INT(upp_stream_next(stream, &ev, &err), 0);
        CHECK_INT(upp_stream_turn(stream, &turn, &err), -UPP_ECANCELED);
        CHECK(stop < 3 || turn); /* what was said until then */
    }
    CHECK(!"it never ended");
}

/* Aborting reaches a tool that waits, and skips those that have not started. */
static int wait_long(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct upp_stream **s = call->arg;
    (void)ret;
    upp_stream_abort(*s);
    return upp_wait_ms(call->wait, 3600000, err);
}

TEST(stream_abort_reaches_tools)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model = llm_script("{\"replies\":[{\"parts\":[{\"tool_call\":{\"id\":\"a\",\"name\":\"wait\"}},"
                                         "{\"tool_call\":{\"id\":\"b\",\"name\":\"wait\"}}]}]}");
    struct upp_stream *stream = NULL;
    struct upp_llm *llm = NULL;
    const struct upp_turn *turn = NULL;
    const struct upp_tool waits[] = {{.name = "wait", .parameters = "{}", .run = wait_long, .arg = &stream}};
    CHECK(model);
    int r = upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = waits, .n_tools = 1), &llm, &err);
    if (r >= 0)
        r = upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("x")), &stream, &err);
    bool opened = r >= 0;
    if (opened)
        r = upp_stream_turn(stream, &turn, &err);
    size_t n = turn ? turn->n_executions : 0;
    upp_stream_close(stream);
    upp_llm_free(llm);
    CHECK(opened);
    CHECK_INT(r, -UPP_ECANCELED);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("Stream cancelled"));
    CHECK_INT(n, 0);
}

/* Aborted from another thread while the model keeps it waiting. */
static void *abort_it(void *arg)
{
    struct upp_stream *s = arg;
    (void)(upp_wait_ms(NULL, 5, NULL) < 0);
    upp_stream_abort(s);
    return NULL;
}

TEST(stream_abort_ends_a_wait)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model = llm_script("{\"replies\":[{\"parts\":[{\"text\":\"late\"}],\"delay_ms\":3600000}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_stream_closep) struct upp_stream *stream = NULL;
    const struct upp_turn *turn = NULL;
    pthread_t other;
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model), &llm, &err) >= 0);
    CHECK(upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("x")), &stream, &err) >= 0);
    CHECK_INT(pthread_create(&other, NULL, abort_it, stream), 0);
    int r = upp_stream_turn(stream, &turn, &err);
    (void)pthread_join(other, NULL);
    CHECK_INT(r, -UPP_ECANCELED);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("Stream cancelled"));
    CHECK(turn && turn->response->interrupted);
}

static int slow_tool(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)ret;
    while (upp_wait_ms(call->wait, 1, err) >= 0) /* until nobody wants it any more */
        ;
    return -UPP_ECANCELED;
}

TEST_WITH(stream_closed_while_tools_are_at_work,
          .no_torture = "a tool that gets no thread runs here, and would wait for what comes after it")
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model = llm_script(
        "{\"replies\":[{\"parts\":[{\"tool_call\":{\"id\":\"a\",\"name\":\"slow\"}},"
        "{\"tool_call\":{\"id\":\"b\",\"name\":\"slow\"}},{\"tool_call\":{\"id\":\"c\",\"name\":\"add\"}}]}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_stream_closep) struct upp_stream *stream = NULL;
    const struct upp_tool both[] = {{.name = "slow", .parameters = "{}", .run = slow_tool, .blocking = true}, tools[0]};
    struct upp_event ev = {0};
    int r = 1;
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = both, .n_tools = 2), &llm, &err) >= 0);
    CHECK(upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("x")), &stream, &err) >= 0);
    while (r > 0 && ev.type != UPP_TOOL_EXECUTION_END)
        r = upp_stream_next(stream, &ev, &err);
    CHECK_INT(r, 1); /* the one that runs here has ended; the others are at work: closing ends them */
    CHECK_STR(ev.id, UPP_STR("c"));
}

/* covers: UPP-6 */
TEST(stream_events_as_json)
{
    static const struct {
        struct upp_event ev;
        const char *json;
    } rows[] = {
        {{.type = UPP_MESSAGE_START}, "{\"type\":\"message_start\",\"index\":0,\"delta\":{}}"},
        {{.type = UPP_CONTENT_BLOCK_STOP, .index = 2}, "{\"type\":\"content_block_stop\",\"index\":2,\"delta\":{}}"},
        {{.type = UPP_TEXT_DELTA, .index = 1, .text = {"a\"b", 3}},
         "{\"type\":\"text_delta\",\"index\":1,\"delta\":{\"text\":\"a\\\"b\"}}"},
        {{.type = UPP_REASONING_DELTA, .text = {"r", 1}},
         "{\"type\":\"reasoning_delta\",\"index\":0,\"delta\":{\"text\":\"r\"}}"},
        {{.type = UPP_OBJECT_DELTA, .text = {"{", 1}},
         "{\"type\":\"object_delta\",\"index\":0,\"delta\":{\"text\":\"{\"}}"},
        {{.type = UPP_IMAGE_DELTA, .text = {"AQ==", 4}},
         "{\"type\":\"image_delta\",\"index\":0,\"delta\":{\"data\":\"AQ==\"}}"},
        {{.type = UPP_TOOL_CALL_DELTA, .id = {"c", 1}, .name = {"f", 1}, .text = {"{}", 2}},
         "{\"type\":\"tool_call_delta\",\"index\":0,\"delta\":{\"toolCallId\":\"c\",\"toolName\":\"f\","
         "\"argumentsJson\":\"{}\"}}"},
        {{.type = UPP_TOOL_EXECUTION_START, .id = {"c", 1}, .name = {"f", 1}, .time_ms = 5},
         "{\"type\":\"tool_execution_start\",\"index\":0,\"delta\":{\"toolCallId\":\"c\",\"toolName\":\"f\","
         "\"timestamp\":5}}"},
        {{.type = UPP_TOOL_EXECUTION_END,
          .id = {"tc1", 3},
          .name = {"calc", 4},
          .result = {"4", 1},
          .time_ms = INT64_C(1770091507300)},
         "{\"type\":\"tool_execution_end\",\"index\":0,\"delta\":{\"toolCallId\":\"tc1\",\"toolName\":\"calc\","
         "\"result\":4,\"isError\":false,\"timestamp\":1770091507300}}"},
        {{.type = 99}, "{\"type\":\"unknown\",\"index\":0,\"delta\":{}}"},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        struct upp_err err = {0};
        struct upp_str json = {0};
        int r = upp_event_to_json(&rows[i].ev, &json, &err);
        ALWAYS(r >= 0 || !json.p);
        bool same = r >= 0 && wb_str_eq(json, wb_cstr(rows[i].json));
        test_note("row %zu: %.*s", i, UPP_FMT(json));
        upp_text_free(json);
        CHECK(same);
    }
}

static int refuse_max(void *arg, int max, struct upp_err *err)
{
    (void)arg;
    return upp_fail(err, UPP_ELIMIT, "%d is enough", max);
}

/* An answer that came whole is told of whole, also when it asks for one round too many, or for too many tools. */
TEST(stream_failure_after_an_answer_comes_after_its_end)
{
    struct upp_err err = {0};
    struct upp_event ev;
    unsigned starts = 0, stops = 0;
    int r;
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model = llm_script("{\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"x\"}}]},"
                                         "{\"parts\":[{\"tool_call\":{\"name\":\"x\"}}]}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_stream_closep) struct upp_stream *stream = NULL;
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1,
                                        .strategy = {.max_iterations = 1, .on_max_iterations = refuse_max}),
                               &llm, &err) >= 0);
    CHECK(upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("x")), &stream, &err) >= 0);
    while ((r = upp_stream_next(stream, &ev, &err)) > 0) {
        starts += ev.type == UPP_MESSAGE_START;
        stops += ev.type == UPP_MESSAGE_STOP;
    }
    CHECK_INT(r, -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("1 is enough"));
    CHECK_INT(starts, 2);
    CHECK_INT(stops, 2);
}

/* ---- Trying again ---------------------------------------------------------------------------- */

struct again {
    unsigned failed, succeeded, before;
};

static int again_failed(void *arg, const struct upp_err *why, unsigned attempt, uint64_t *ms)
{
    struct again *a = arg;
    a->failed++;
    *ms = 0;
    return why->code == UPP_ERATE && attempt < 3;
}

static uint64_t again_before(void *arg)
{
    struct again *a = arg;
    a->before++;
    return 0;
}

static void again_succeeded(void *arg)
{
    struct again *a = arg;
    a->succeeded++;
}

/* covers: UPP-10/4 */
TEST(stream_tries_again_before_anything_was_said)
{
    static const struct {
        const char *script;
        int r;
        unsigned failed, before;
    } cases[] = {
        {"{\"replies\":[{\"error\":{\"code\":\"RATE_LIMITED\"}},{\"error\":{\"code\":\"RATE_LIMITED\"}},"
         "{\"parts\":[{\"text\":\"ok\"}]}]}",
         0, 2, 3},
        {"{\"replies\":[{\"error\":{\"code\":\"RATE_LIMITED\"}}]}", -UPP_ERATE, 3, 3},
        {"{\"replies\":[{\"error\":{\"code\":\"INVALID_REQUEST\"}}]}", -UPP_EINVALID, 1, 1},
        {"{\"replies\":[{\"parts\":[{\"text\":\"ok\"}],\"error\":{\"code\":\"RATE_LIMITED\",\"after\":0}}]}",
         -UPP_ERATE, 0, 1},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_err err = {0};
        struct again again = {0};
        UPP_CLEANUP(upp_model_freep) struct upp_model *model = llm_script(cases[i].script);
        UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
        struct upp_retry_opts opts = {.kind = UPP_RETRY_CUSTOM,
                                      .on_failure = again_failed,
                                      .before = again_before,
                                      .succeeded = again_succeeded,
                                      .arg = &again};
        struct upp_retry *retry = NULL;
        CHECK(model);
        CHECK(upp_retry_new(&opts, &retry, &err) >= 0);
        model->retry = retry;
        test_note("case %zu", i);
        int r = upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model), &llm, &err);
        if (r >= 0)
            r = upp_ask(llm, UPP_STR("x"), &turn, &err);
        model->retry = NULL;
        upp_retry_free(retry);
        CHECK_INT(r, cases[i].r);
        CHECK_INT(again.failed, cases[i].failed);
        CHECK_INT(again.before, cases[i].before);
        CHECK_INT(again.succeeded, r == 0);
    }
}
