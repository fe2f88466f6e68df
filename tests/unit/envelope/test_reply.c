/* Replies of models: envelopes are taken, all else is wrapped; scores, risks, costs, failures. */
#include "base/err.h"
#include "json/value.h"
#include "support/envelopes.h"
#include "support/test.h"

#define ONE_AGENT "models: {m: {provider: scripted, echo: true}}\nagents: {a: {model: m}}\n"
#define TRACE     ",\"trace\":{\"parents\":[\"r0\"],\"id\":\"req\",\"tags\":[\"keep\"]}"

struct bed {
    struct wb_arena a;
    struct wc_config *c;
    struct we_envelope request, reply;
    struct we_replied from;
};

static void done(struct bed *b)
{
    wc_config_free(b->c);
    wb_arena_done(&b->a);
}

static int open(struct bed *b)
{
    *b = (struct bed){.a = WB_ARENA(ENVELOPES_ROOM)};
    int r = envelopes_config(ONE_AGENT, &b->c, NULL);
    if (r >= 0)
        r = envelopes_read(&b->a, envelopes_text(&b->a, "user", "plan", TRACE), &b->request);
    b->from = (struct we_replied){.request = &b->request,
                                  .agent_id = UPP_STR("planner"),
                                  .agent_name = UPP_STR("Planner"),
                                  .model = UPP_STR("gpt-5"),
                                  .id = UPP_STR("new"),
                                  .now_ms = 1767323045678};
    return r;
}

static int reply(struct bed *b, const char *adapter, const char *text)
{
    struct upp_str out;
    b->from.text = wb_cstr(text);
    int r = we_take_reply(&b->a, we_adapter_named(&b->c->envelopes.adapters, wb_cstr(adapter)), &b->from, &out, NULL);
    if (r >= 0)
        test_note("%.*s", UPP_FMT(out));
    return r < 0 ? r : we_read(&b->a, out, NULL, &b->reply, NULL);
}

static struct upp_str at(const struct bed *b, const char *object, const char *member)
{
    return wj_text_at(yyjson_obj_get(b->reply.root, object), member);
}

/* covers: ENV-3/4, ENV-6/1, ENV-6/2, ENV-14/1 */
TEST(reply_that_is_an_envelope_is_taken)
{
    WB_CLEANUP(done) struct bed b = {0};
    CHECK(open(&b) >= 0);
    CHECK(reply(&b, "gpt5", "```json\n{\"protocol\":\"multiagent-0.9\",\"role\":\"agent\"}\n```") >= 0);
    CHECK_STR(b.reply.type, UPP_STR("json")); /* another protocol: no envelope */
    CHECK(reply(&b, "gpt5",
                "```json\n{\"protocol\":\"multiagent-1.0\",\"role\":\"tool\",\"agent\":{\"id\":\"x\",\"name\":\"X\","
                "\"model\":\"y\",\"mine\":\"stays\"},"
                "\"timestamp\":\"2020-01-01T00:00:00Z\",\"intent\":\"finalize\",\"task\":\"Mine\",\"content\":{"
                "\"type\":\"json\",\"data\":"
                "{\"a\":1.50}},\"confidence\":{\"score\":0.3},\"mine\":[1],\"trace\":{\"id\":\"theirs\",\"parents\":["
                "\"wrong\"],\"tags\":"
                "[\"t\"],\"cost\":{\"input_tokens\":7}}}\n```") >= 0);
    CHECK_STR(b.reply.id, UPP_STR("new"));
    CHECK_INT(yyjson_arr_size(b.reply.parents), 2);
    CHECK_STR(we_parent(&b.reply), UPP_STR("req"));
    CHECK(we_has_tag(&b.reply, UPP_STR("t")) && b.reply.input_tokens == 7);
    CHECK_STR(b.reply.timestamp, UPP_STR("2020-01-01T00:00:00Z")); /* never rewritten */
    CHECK_STR(b.reply.agent_id, b.from.agent_id);                  /* who answered is what we know, not what it says */
    CHECK_STR(b.reply.model, UPP_STR("gpt-5"));
    CHECK_STR(at(&b, "agent", "name"), b.from.agent_name);
    CHECK_STR(at(&b, "agent", "mine"), UPP_STR("stays"));
    CHECK_STR(b.reply.text, UPP_STR("object: a"));
    CHECK(yyjson_obj_get(b.reply.root, "mine") && b.reply.score == 0.3 && !b.reply.default_score);
    CHECK_STR(wj_text(yyjson_obj_get(b.reply.data, "a")), UPP_STR("1.50"));
    b.from.direct = true;
    CHECK(reply(&b, "gpt5", b.reply.json.p) >= 0);
    CHECK_INT(yyjson_arr_size(b.reply.parents), 1);
    /* As it is stored; what a model writes in its place is dropped. */
    b.from.above = 1;
    CHECK(reply(&b, "gpt5", b.reply.json.p) >= 0);
    CHECK(wb_str_find(b.reply.json, UPP_STR("\"parents\":[\"req\"],\"above\":1,"), 0) != SIZE_MAX);
    b.from.above = 0;
    CHECK(reply(&b, "gpt5", b.reply.json.p) >= 0);
    CHECK(wb_str_find(b.reply.json, UPP_STR("above"), 0) == SIZE_MAX);
}

/* An agent of another service: its envelope says which. */
TEST(reply_envelope_of_a_peer_names_its_agent)
{
    WB_CLEANUP(done) struct bed b = {0};
    CHECK(open(&b) >= 0);
    b.from.foreign = true;
    CHECK(reply(&b, "generic",
                "{\"protocol\":\"multiagent-1.0\",\"agent\":{\"id\":\"x\",\"name\":\"X\",\"model\":\"y\"},"
                "\"content\":{\"type\":\"text\",\"text\":\"yes\"}}") >= 0);
    CHECK_STR(b.reply.agent_id, UPP_STR("x"));
    CHECK_STR(b.reply.model, UPP_STR("y"));
}

/* What is missing is filled in: the time is ours, the protocol is forced. covers: ENV-6/1, ENV-14/1 */
TEST(reply_envelope_is_completed)
{
    static const struct upp_str risk[] = {UPP_STR_INIT("top_k was not honoured")};
    WB_CLEANUP(done) struct bed b = {0};
    CHECK(open(&b) >= 0);
    b.from.risks = risk;
    b.from.n_risks = 1;
    b.from.default_score = 0.6;
    b.from.has_cost = true;
    b.from.input_tokens = 11;
    CHECK(reply(&b, "claude", "{\"intent\":\"plan\",\"content\":{\"type\":\"text\",\"text\":\"yes\"}}") >= 0);
    CHECK_STR(b.reply.timestamp, UPP_STR("2026-01-02T03:04:05.678Z"));
    CHECK_STR(b.reply.task, UPP_STR("Do it"));
    CHECK_STR(b.reply.model, UPP_STR("gpt-5"));
    CHECK(b.reply.score == 0.6 && b.reply.default_score && b.reply.input_tokens == 11);
    CHECK_STR(at(&b, "confidence", "rationale"), UPP_STR("not stated by the model"));
    CHECK(wb_str_find(b.reply.json, UPP_STR("\"risks\":[\"top_k was not honoured\"]"), 0) != SIZE_MAX);
    CHECK(reply(&b, "claude",
                "{\"protocol\":\"multiagent-1.0\",\"content\":{\"type\":\"error\",\"text\":\"no\"},\"confidence\":{"
                "\"score\":1,\"risks\":[\"r\"]}}") >= 0);
    CHECK(wb_str_find(b.reply.json,
                      UPP_STR("\"confidence\":{\"score\":1,\"risks\":[\"r\",\"top_k was not honoured\"]}"),
                      0) != SIZE_MAX);
    CHECK(reply(&b, "claude", "{\"protocol\":\"multiagent-1.0\",\"content\":{\"type\":\"error\",\"text\":\"no\"}}") >=
          0);
    CHECK(b.reply.has_score && b.reply.score == 0);
}

/* covers: ENV-3/4, ENV-14/1, ENV-16 */
TEST(reply_that_is_none_is_wrapped)
{
    WB_CLEANUP(done) struct bed b = {0};
    CHECK(open(&b) >= 0);
    CHECK(reply(&b, "claude", "{\"a\":1}") >= 0); /* JSON that nobody asked for */
    CHECK_STR(b.reply.type, UPP_STR("text"));
    CHECK_STR(b.reply.text, UPP_STR("{\"a\":1}"));
    CHECK_STR(b.reply.role, UPP_STR("agent"));
    CHECK_STR(b.reply.intent_name, UPP_STR("plan"));
    CHECK(b.reply.score == 0.5 && b.reply.default_score);
    CHECK(reply(&b, "gpt5", "{\"steps\":[1,2],\"confidence\":{\"score\":0.4}}") >= 0);
    CHECK_STR(b.reply.type, UPP_STR("json"));
    CHECK_STR(b.reply.text, UPP_STR("object: steps, confidence"));
    CHECK(b.reply.score == 0.4 && !b.reply.default_score);
    CHECK(reply(&b, "generic", "```\n{\"text\":\"Hello\",\"confidence\":0.9}\n```") >= 0);
    CHECK_STR(b.reply.type, UPP_STR("text"));
    CHECK_STR(b.reply.text, UPP_STR("Hello"));
    CHECK(b.reply.score == 0.9 && !b.reply.data);
    CHECK(reply(&b, "generic", "{\"text\":\"Hello\",\"confidence\":1.5,\"x\":[]}") >= 0); /* no score */
    CHECK_STR(b.reply.type, UPP_STR("json"));
    CHECK(b.reply.default_score);
    CHECK(reply(&b, "gpt5", "Not JSON") >= 0);
    CHECK_STR(b.reply.text, UPP_STR("Not JSON"));
    CHECK(reply(&b, "gpt5", "{\"a\":1,\"a\":2}") >= 0); /* no envelope has a member twice: a text */
    CHECK_STR(b.reply.text, UPP_STR("{\"a\":1,\"a\":2}"));
    CHECK(reply(&b, "none", "") >= 0);
    CHECK_STR(b.reply.text, UPP_STR(""));
}

TEST(reply_with_mistakes_is_wrapped_and_says_so)
{
    WB_CLEANUP(done) struct bed b = {0};
    CHECK(open(&b) >= 0);
    CHECK(reply(&b, "claude", "{\"protocol\":\"multiagent-1.0\",\"content\":{\"type\":\"song\"}}") >= 0);
    CHECK_STR(b.reply.type, UPP_STR("text"));
    CHECK(wb_str_find(b.reply.json, UPP_STR("the model's envelope is not valid: /content/type: "), 0) != SIZE_MAX);
}

/* covers: ENV-14/2 */
TEST(reply_of_a_failure_is_an_error)
{
    WB_CLEANUP(done) struct bed b = {0};
    struct upp_err why = {0};
    struct upp_str code;
    bool again;
    CHECK(open(&b) >= 0);
    (void)upp_fail(&why, UPP_ERATE, "too many");
    b.from.failure = &why;
    CHECK(reply(&b, "claude", "") >= 0);
    CHECK(we_is_error(&b.reply) && we_error_code(&b.reply, &code, &again) && again);
    CHECK_STR(code, UPP_STR("RATE_LIMITED"));
    CHECK_STR(b.reply.text, UPP_STR("too many"));
    CHECK_STR(b.reply.intent_name, UPP_STR("plan"));
    CHECK_STR(we_parent(&b.reply), UPP_STR("req"));
    CHECK(b.reply.has_score && b.reply.score == 0 && !we_is_doubted(&b.reply, 0.5));
}

TEST_WITH(reply_is_limited, .no_torture = "4 MiB")
{
    WB_CLEANUP(done) struct bed b = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(16u << 20);
    CHECK(open(&b) >= 0);
    CHECK(wb_buf_reserve(&text, WE_MAX_BYTES + 1));
    memset(text.p, 'x', WE_MAX_BYTES);
    text.p[WE_MAX_BYTES] = 0;
    CHECK(reply(&b, "claude", text.p) >= 0);
    CHECK(we_is_error(&b.reply));
}
