/* Agents behind other servers, on a transport of memory: what is sent, cut anywhere, out of memory, stopped. */
#include "base/defs.h"
#include "base/hooks.h"
#include "base/str.h"
#include "remote/remote.h"
#include "support/fault.h"
#include "support/test.h"
#include "upp/client/call.h"

/* ---- A transport of memory: one answer after the other ------------------------------------------------------- */

struct answer {
    int status;
    const char *body;
};

struct scene {
    const struct answer *answers;
    size_t n, at, cut; /* cut: where a body is split; 0: nowhere */
    struct upp_str rest;
    bool split;
    struct wb_buf sent; /* "METHOD url body\n" */
    unsigned open;
};

static int scene_send(void *arg, const struct upp_http_request *req, const struct upp_wait *wait,
                      struct upp_http_call **ret, struct upp_err *err)
{
    struct scene *s = arg;
    (void)wait;
    wb_buf_addf(&s->sent, "%.*s %.*s %.*s\n", UPP_FMT(req->method), UPP_FMT(req->url), UPP_FMT(req->body));
    s->rest = s->at < s->n ? wb_cstr(s->answers[s->at].body) : (struct upp_str){0};
    s->split = false;
    s->open++;
    s->at++;
    *ret = (struct upp_http_call *)(void *)s;
    return wb_buf_check(&s->sent, err);
}

static int scene_head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err)
{
    const struct scene *s = (const struct scene *)(const void *)c;
    (void)err;
    *ret = (struct upp_http_head){.status = s->at <= s->n ? s->answers[s->at - 1].status : 500};
    return 0;
}

static int scene_read(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err)
{
    struct scene *s = (struct scene *)(void *)c;
    size_t n = s->cut && !s->split ? WB_MIN(s->cut, s->rest.n) : s->rest.n;
    (void)err;
    *ret = wb_str_sub(s->rest, 0, n);
    s->rest = wb_str_sub(s->rest, n, SIZE_MAX);
    s->split = true;
    return ret->n > 0;
}

static void scene_close(struct upp_http_call *c)
{
    ((struct scene *)(void *)c)->open--;
}

static void scene_done(struct scene *s)
{
    wb_buf_done(&s->sent);
}

/* One call; "kind:text|" of its events into `said`. `stop` after so many events; 0: never. */
static int play(struct scene *s, const char *protocol, const struct upp_request *given, unsigned stop,
                struct wb_buf *said, struct upp_err *err)
{
    const struct upp_transport via = {
        .size = sizeof via, .arg = s, .send = scene_send, .head = scene_head, .read = scene_read, .close = scene_close};
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("hi")};
    const struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct upp_message *list[] = {&m};
    struct upp_request plain = {.messages = list, .n_messages = 1, .session = UPP_STR("S")};
    struct upp_provider_opts o = {
        .size = sizeof o, .base_url = "http://far/process", .transport = &via, .timeout_ms = 1000};
    UPP_CLEANUP(upp_model_freep) struct upp_model *model = NULL;
    UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
    struct upp_step_event ev;
    unsigned n = 0;
    if (!s->sent.max)
        s->sent = (struct wb_buf)WB_BUF(1 << 20);
    int r = rm_model_new(protocol, "far", &o, (struct upp_str){0}, &model, err);
    if (r == 0)
        r = upp_step_open(model, given ? given : &plain, NULL, &step, err);
    while (r >= 0 && (r = upp_step_next(step, &ev, err)) > 0) {
        if (ev.kind == UPP_STEP_DELTA)
            wb_buf_add(said, ev.text);
        else if (ev.kind == UPP_STEP_PART_OPEN)
            wb_buf_addf(said, "|%u:%.*s ", ev.part_kind, UPP_FMT(ev.name));
        else if (ev.kind == UPP_STEP_END)
            wb_buf_addf(said, "|end %u %.*s", ev.stop, UPP_FMT(ev.metadata));
        if (++n == stop)
            return upp__step_stop(step, err);
    }
    return r;
}

#define FRAME(text) "data: {" text "}\n\n"
#define R(n, status, more)                                                                                             \
    FRAME("\"sequence_number\":" n ",\"object\":\"response\",\"status\":\"" status "\",\"id\":\"response_1\"," more    \
          "\"created_at\":10,\"completed_at\":14")
#define C(n, text)                                                                                                     \
    FRAME("\"sequence_number\":" n ",\"object\":\"content\",\"status\":\"in_progress\",\"type\":\"text\",\"index\":0," \
          "\"delta\":true,\"msg_id\":\"m\",\"text\":\"" text "\"")
#define BEGIN                                                                                                          \
    R("0", "created", "")                                                                                              \
    FRAME("\"sequence_number\":1,\"object\":\"message\",\"status\":\"in_progress\","                                   \
          "\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\"")
#define ANSWER BEGIN C("2", "Hel") C("3", "lo") R("4", "completed", "")

/* ---- Agent API -------------------------------------------------------------------------------------------------- */

/* covers: AAP-15/1, AAP-15/5 */
TEST(remote_agentapi_cut_anywhere)
{
    static const struct answer one = {200, ANSWER};
    for (size_t cut = 0; cut < sizeof ANSWER; cut++) {
        WB_CLEANUP(scene_done) struct scene s = {.answers = &one, .n = 1, .cut = cut};
        WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(1 << 16);
        struct upp_err err = {0};
        test_note("cut %zu", cut);
        CHECK_INT(play(&s, "agentapi", NULL, 0, &said, &err), 0);
        CHECK_STR(wb_str_sub(wb_buf_str(&said), 0, 17), UPP_STR("|1: Hello|end 1 {"));
        CHECK(wb_str_find(wb_buf_str(&said), UPP_STR("\"latency_seconds\":4"), 0) != SIZE_MAX);
        CHECK(!s.open);
    }
}

TEST(remote_agentapi_failures)
{
    static const struct {
        struct answer answer;
        int r;
        const char *why;
    } cases[] = {
        {{200, BEGIN C("2", "a")}, -UPP_ENET, "the stream ended before its response was over"},
        {{200, BEGIN C("3", "a")}, -UPP_EPROTO, "the remote server's stream is wrong: frame 3 comes after frame 1"},
        {{200, BEGIN C("1", "a")}, -UPP_EPROTO, "the remote server's stream is wrong: frame 1 comes after frame 1"},
        {{200, R("0", "failed", "\"error\":{\"code\":\"RATE_LIMIT_EXCEEDED\",\"message\":\"m\"},")},
         -UPP_ERATE,
         "the remote agent failed (RATE_LIMIT_EXCEEDED): m"},
        {{200, R("0", "failed", "")}, -UPP_EPROVIDER, "the remote agent failed"},
        {{200, R("0", "canceled", "")}, -UPP_EPROVIDER, "the remote run was cancelled there"},
        {{200, R("0", "rejected", "")}, -UPP_EREFUSED, "the remote agent rejected the request"},
        {{409, "{\"detail\":\"busy\"}"}, -UPP_EPROVIDER, "busy"},
        {{200, FRAME("\"error\":\"busy\"")}, -UPP_EPROVIDER, "the remote agent failed: busy"},
        {{200, "data: nonsense\n\n"}, -UPP_EPROTO, NULL},
        {{200, BEGIN FRAME("\"sequence_number\":2,\"object\":\"message\",\"status\":\"completed\",\"id\":\"m\","
                           "\"content\":[{\"type\":\"text\",\"text\":\"gone\"}]")
                   R("3", "completed", "\"output\":[{\"id\":\"n\",\"content\":[]}],")},
         -UPP_EPROTO,
         "the remote agent withdrew a message that it had sent"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(scene_done) struct scene s = {.answers = &cases[i].answer, .n = 1};
        WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(1 << 16);
        struct upp_err err = {0};
        test_note("case %zu", i);
        CHECK_INT(play(&s, "agentapi", NULL, 0, &said, &err), cases[i].r);
        if (cases[i].why)
            CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].why));
    }
}

TEST(remote_agentapi_is_stopped)
{
    static const struct answer two[] = {{200, ANSWER}, {200, "{}"}};
    WB_CLEANUP(scene_done) struct scene s = {.answers = two, .n = 2};
    WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(1 << 16);
    struct upp_err err = {0};
    CHECK_INT(play(&s, "agentapi", NULL, 3, &said, &err), 0);
    struct upp_str sent = wb_buf_str(&s.sent), first;
    CHECK(wb_str_split(&sent, '\n', &first));
    CHECK_STR(sent, UPP_STR("POST http://far/stop {\"input\":[],\"session_id\":\"S\"}\n"));
    CHECK(!s.open);
}

TEST(remote_agentapi_out_of_memory)
{
    static const struct answer one = {200, ANSWER};
    for (unsigned long n = 1;; n++) {
        WB_CLEANUP(scene_done) struct scene s = {.answers = &one, .n = 1};
        WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(1 << 16);
        struct upp_err err = {0};
        fault_at(FAULT_MEMORY, n, 12, false);
        int r = play(&s, "agentapi", NULL, 0, &said, &err);
        unsigned long fired = fault_fired();
        fault_off();
        test_note("allocation %lu", n);
        ALWAYS(r == 0 || r == -UPP_ENOMEM);
        if (!fired)
            break;
    }
}

/* ---- AITP ------------------------------------------------------------------------------------------------------- */

static const struct answer t01[] = {
    {404, "{}"},
    {200, "{\"id\":\"t1\"}"},
    {200, "{\"role\":\"user\"}"},
    {405, "{}"},
    {200, "[{\"role\":\"user\",\"content\":[\"hi\"]}]"},
    {503, "{}"},
    {200, "[{\"role\":\"user\",\"content\":[\"hi\"]},{\"role\":\"assistant\",\"content\":[\"hello\"],"
          "\"metadata\":{\"actor\":\"far.away\"}}]"},
};

/* covers: AITP-28/4 */
TEST(remote_aitp_without_runs)
{
    WB_CLEANUP(scene_done) struct scene s = {.answers = t01, .n = WB_LEN(t01)};
    WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(1 << 16);
    struct upp_err err = {0};
    CHECK_INT(play(&s, "aitp", NULL, 0, &said, &err), 0);
    CHECK_STR(wb_str_sub(wb_buf_str(&said), 0, 10), UPP_STR("|1: hello|"));
    CHECK(wb_str_find(wb_buf_str(&said), UPP_STR("\"thread\":\"t1\",\"replies\":1,\"actor\":\"far.away\""), 0) !=
          SIZE_MAX);
    CHECK(wb_str_find(wb_buf_str(&s.sent), UPP_STR("GET http://far/process/v1/threads/t1/messages?order=asc"), 0) !=
          SIZE_MAX);
    CHECK(!s.open);
}

TEST(remote_aitp_out_of_memory)
{
    for (unsigned long n = 1;; n++) {
        WB_CLEANUP(scene_done) struct scene s = {.answers = t01, .n = WB_LEN(t01)};
        WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(1 << 16);
        struct upp_err err = {0};
        fault_at(FAULT_MEMORY, n, 12, false);
        int r = play(&s, "aitp", NULL, 0, &said, &err);
        unsigned long fired = fault_fired();
        fault_off();
        test_note("allocation %lu", n);
        ALWAYS(r == 0 || r == -UPP_ENOMEM);
        if (!fired)
            break;
    }
}

TEST(remote_aitp_failures)
{
    static const struct {
        struct answer answers[5];
        int r;
    } cases[] = {
        {{{200, "{\"id\":\"../x\"}"}}, -UPP_EPROTO},
        {{{200, "{}"}}, -UPP_EPROTO},
        {{{200, "[1"}}, -UPP_EPROTO},
        {{{401, "{\"detail\":\"no\"}"}}, -UPP_EAUTH},
        {{{200, "{\"id\":\"t\"}"}, {409, "{}"}}, -UPP_EPROVIDER},
        {{{200, "{\"id\":\"t\"}"}, {200, "{}"}, {200, "{\"id\":\"r\",\"status\":\"strange\"}"}}, -UPP_EPROVIDER},
        {{{200, "{\"id\":\"t\"}"}, {200, "{}"}, {404, "{}"}, {200, "{}"}}, -UPP_EPROTO},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(scene_done) struct scene s = {.answers = cases[i].answers, .n = 5};
        WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(1 << 16);
        struct upp_err err = {0};
        test_note("case %zu", i);
        CHECK_INT(play(&s, "aitp", NULL, 0, &said, &err), cases[i].r);
        CHECK(!s.open);
    }
}

/* ---- Conversations ---------------------------------------------------------------------------------------------- */

TEST(remote_session)
{
    struct upp_part parts[4] = {{.kind = UPP_PART_TEXT, .text = UPP_STR("one")},
                                {.kind = UPP_PART_TEXT, .text = UPP_STR("first")},
                                {.kind = UPP_PART_TEXT, .text = UPP_STR("two")},
                                {.kind = UPP_PART_TEXT, .text = UPP_STR("half")}};
    struct upp_message m[4] = {{.role = UPP_ROLE_USER, .parts = &parts[0], .n_parts = 1},
                               {.role = UPP_ROLE_ASSISTANT, .parts = &parts[1], .n_parts = 1},
                               {.role = UPP_ROLE_USER, .parts = &parts[2], .n_parts = 1},
                               {.role = UPP_ROLE_ASSISTANT, .parts = &parts[3], .n_parts = 1}};
    const struct upp_message *list[] = {&m[0], &m[1], &m[2], &m[3]};
    struct upp_request req = {.messages = list, .n_messages = 1, .session = UPP_STR("S")};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct rm_session s;
    struct upp_err err = {0};
    char seen[RM_SEEN + 1];
    CHECK_INT(rm_session_find(&a, "agentapi", &req, &s, &err), 0);
    CHECK(!s.note && s.from == 0 && wb_str_eq(s.id, UPP_STR("S")));
    m[1].metadata =
        wb_arena_printf(&a, "{\"agentapi\":{\"session\":\"S\",\"seen\":\"%s\"}}", rm_seen_text(s.seen, seen).p);
    req.n_messages = 3;
    CHECK_INT(rm_session_find(&a, "agentapi", &req, &s, &err), 0);
    CHECK(s.note && s.from == 2 && wb_str_eq(s.id, UPP_STR("S")));
    CHECK_INT(rm_session_find(&a, "aitp", &req, &s, &err), 0); /* another protocol's note is none */
    CHECK(!s.note && s.from == 0 && wb_str_eq(s.id, UPP_STR("S.3")));
    req.session = UPP_STR("T"); /* another branch */
    CHECK_INT(rm_session_find(&a, "agentapi", &req, &s, &err), 0);
    CHECK(!s.note && s.from == 0);
    req.session = UPP_STR("S");
    m[3].interrupted = true;
    req.n_messages = 4;
    CHECK_INT(rm_session_find(&a, "agentapi", &req, &s, &err), 0);
    CHECK(!s.note && s.from == 0);
    m[3].interrupted = false; /* of another agent */
    CHECK_INT(rm_session_find(&a, "agentapi", &req, &s, &err), 0);
    CHECK(s.note && s.from == 2);
    parts[0].text = UPP_STR("edited");
    CHECK_INT(rm_session_find(&a, "agentapi", &req, &s, &err), 0);
    CHECK(!s.note && s.from == 0);
}

/* ---- Envelopes ------------------------------------------------------------------------------- */

#define HEAD(role, intent)                                                                                             \
    "{\"protocol\":\"multiagent-1.0\",\"role\":\"" role                                                                \
    "\",\"timestamp\":\"2025-10-10T12:40:00Z\",\"intent\":\"" intent "\",\"task\":\"t\",\"content\":"
#define ANNOUNCES(types)                                                                                               \
    HEAD("system", "reflect")                                                                                          \
    "{\"type\":\"json\",\"data\":{\"supports\":[" types "],\"max_tokens\":100}}}"
#define REPLIES(content) HEAD("agent", "analyze") content ",\"trace\":{\"id\":\"r1\",\"cost\":{\"output_tokens\":3}}}"

/* The call with one message of this text. */
static int send(struct scene *s, const char *text, struct wb_buf *said, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_cstr(text)};
    const struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1, .time_ms = 1000};
    const struct upp_message *list[] = {&m};
    struct upp_request req = {.messages = list, .n_messages = 1, .session = UPP_STR("S")};
    return play(s, "envelopes", &req, 0, said, err);
}

#define JSON_DATA HEAD("user", "analyze") "{\"type\":\"json\",\"text\":\"one\",\"data\":{\"a\":1}}"

/* covers: ENV-8/2 */
TEST(remote_envelopes_keeps_to_the_handshake)
{
    static const struct {
        const char *text;
        struct answer answers[2];
        int r;
        const char *sent, *said;
    } cases[] = {
        /* as it is; without a handshake; content as its text; more tokens than it takes; text of a user */
        {JSON_DATA "}",
         {{200, ANNOUNCES("\"text\",\"json\"")}, {200, REPLIES("{\"type\":\"text\",\"text\":\"x\"}")}},
         0,
         " http://far/process/v1/envelopes " JSON_DATA "}\n",
         "|1: {\"protocol\""},
        {JSON_DATA "}",
         {{404, "{}"}, {200, REPLIES("{\"type\":\"text\",\"text\":\"x\"}")}},
         0,
         " http://far/process/v1/envelopes " JSON_DATA "}\n",
         "|1: {\"protocol\""},
        {JSON_DATA "}",
         {{200, ANNOUNCES("\"text\"")}, {200, REPLIES("{\"type\":\"text\",\"text\":\"x\"}")}},
         0,
         " http://far/process/v1/envelopes " HEAD("user", "analyze") "{\"type\":\"text\",\"text\":\"one\"}}\n",
         "|1: {\"protocol\""},
        {JSON_DATA ",\"inputs\":{\"parameters\":{\"max_tokens\":101}}}",
         {{200, ANNOUNCES("\"json\"")}},
         -UPP_EINVALID,
         "GET http://far/process/v1/envelopes/handshake \n",
         ""},
        {"hello",
         {{404, "{}"}, {200, REPLIES("{\"type\":\"json\",\"text\":\"one\",\"data\":{\"a\":1}}")}},
         0,
         "\"task\":\"hello\",\"content\":{\"type\":\"text\",\"text\":\"hello\"},\"trace\":{\"id\":\"msg_",
         "|1: {\"a\":1}|end 1 {\"envelopes\":{\"session\":\"S\""},
        {"hello",
         {{404, "{}"}, {200, REPLIES("{\"type\":\"error\",\"text\":\"I will not\"}")}},
         -UPP_EPROVIDER,
         "hello",
         ""},
        {"hello", {{404, "{}"}, {200, "{}"}}, -UPP_EPROTO, "hello", ""},
        {"hello", {{200, "[]"}}, -UPP_EPROTO, "handshake", ""},
        {"hello", {{500, "{}"}}, -UPP_EPROVIDER, "handshake", ""},
        {"hello",
         {{404, "{}"}, {400, REPLIES("{\"type\":\"error\",\"text\":\"no\",\"data\":{\"code\":\"c\"}}")}},
         -UPP_EINVALID,
         "hello",
         ""},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(scene_done) struct scene s = {.answers = cases[i].answers, .n = 2};
        WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(1 << 16);
        struct upp_err err = {0};
        int r = send(&s, cases[i].text, &said, &err);
        test_note("case %zu: %d %s, sent %.*s, said %.*s", i, r, err.msg, UPP_FMT(wb_buf_str(&s.sent)),
                  UPP_FMT(wb_buf_str(&said)));
        CHECK_INT(r, cases[i].r);
        CHECK(wb_str_find(wb_buf_str(&s.sent), wb_cstr(cases[i].sent), 0) != SIZE_MAX);
        CHECK(wb_str_starts(wb_buf_str(&said), wb_cstr(cases[i].said)));
        CHECK(!s.open);
    }
}

TEST(remote_envelopes_out_of_memory)
{
    static const struct answer two[] = {{200, ANNOUNCES("\"text\"")},
                                        {200, REPLIES("{\"type\":\"text\",\"text\":\"x\"}")}};
    for (unsigned long n = 1;; n++) {
        WB_CLEANUP(scene_done) struct scene s = {.answers = two, .n = 2};
        WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(1 << 16);
        struct upp_err err = {0};
        fault_at(FAULT_MEMORY, n, 12, false);
        int r = send(&s, n % 2 ? JSON_DATA "}" : "hello", &said, &err);
        unsigned long fired = fault_fired();
        fault_off();
        test_note("allocation %lu", n);
        ALWAYS(r == 0 || r == -UPP_ENOMEM);
        if (!fired)
            break;
    }
}
