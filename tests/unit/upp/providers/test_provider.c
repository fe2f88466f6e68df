/* The glue between adapters and the transport: options, headers, bodies that are no answers, limits. */
#include <upp/provider.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/str.h"
#include "support/fault.h"
#include "support/test.h"
#include "upp/providers/adapter.h"

/* ---- A transport of memory ------------------------------------------------------------------- */

struct scene {
    int status;
    const char *type, *body;
    size_t repeat; /* the body so many times */
    bool old;      /* a transport from before `drain` */
    bool deaf;     /* it keeps nothing of what it is sent */
    unsigned sent, read, closed, drained;
    struct wb_buf head, asked;
    size_t max_bytes;
    uint64_t head_ms, idle_ms;
    struct upp_err why;
};

static int scene_send(void *arg, const struct upp_http_request *req, const struct upp_wait *wait,
                      struct upp_http_call **ret, struct upp_err *err)
{
    struct scene *s = arg;
    (void)wait;
    s->sent++;
    s->max_bytes = req->max_bytes;
    s->head_ms = req->head_ms;
    s->idle_ms = req->idle_ms;
    for (size_t i = 0; i < req->n_headers && !s->deaf; i++)
        wb_buf_addf(&s->head, "%.*s=%.*s;", UPP_FMT(req->headers[i].name), UPP_FMT(req->headers[i].value));
    wb_buf_add(&s->asked, req->body);
    *ret = (struct upp_http_call *)(void *)s;
    return wb_buf_check(&s->asked, err);
}

static int scene_head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err)
{
    static struct upp_header headers[2];
    const struct scene *s = (const struct scene *)(const void *)c;
    (void)err;
    headers[0] = (struct upp_header){UPP_STR("content-type"), wb_cstr(s->type)};
    headers[1] = (struct upp_header){UPP_STR("request-id"), UPP_STR("req_7")};
    *ret = (struct upp_http_head){s->status, headers, 2};
    return 0;
}

static int scene_read(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err)
{
    struct scene *s = (struct scene *)(void *)c;
    (void)err;
    if (s->read++ >= s->repeat || !s->body[0])
        return 0;
    *ret = wb_cstr(s->body);
    return 1;
}

static void scene_close(struct upp_http_call *c)
{
    ((struct scene *)(void *)c)->closed++;
}

static void scene_drain(struct upp_http_call *c)
{
    ((struct scene *)(void *)c)->drained++;
}

/* One call; the text of its deltas into `said`. */
static int play(struct scene *s, const char *provider, struct upp_provider_opts o, const struct upp_request *req,
                struct wb_buf *said)
{
    const struct upp_transport via = {.size = s->old ? offsetof(struct upp_transport, drain) : sizeof via,
                                      .arg = s,
                                      .send = scene_send,
                                      .head = scene_head,
                                      .read = scene_read,
                                      .close = scene_close,
                                      .drain = scene_drain};
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("hello")};
    const struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct upp_message *list[] = {&m};
    struct upp_request plain = {.messages = list, .n_messages = 1, .attempt = 1};
    UPP_CLEANUP(upp_model_freep) struct upp_model *model = NULL;
    UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
    struct upp_step_event ev;
    o.size = o.size ? o.size : sizeof o;
    o.api_key = o.api_key ? o.api_key : "sk-secret-key";
    o.transport = &via;
    s->head = (struct wb_buf)WB_BUF(1 << 16);
    s->asked = (struct wb_buf)WB_BUF(1 << 20);
    s->repeat = s->repeat ? s->repeat : 1;
    int r = upp_model_new((struct upp_model_ref){provider, "m-1", &o}, &model, &s->why);
    if (r == 0)
        r = upp_step_open(model, req ? req : &plain, NULL, &step, &s->why);
    while (r >= 0 && (r = upp_step_next(step, &ev, &s->why)) > 0)
        if (ev.kind == UPP_STEP_DELTA && said)
            wb_buf_add(said, ev.text);
    return r;
}

static void scene_done(struct scene *s)
{
    wb_buf_done(&s->head);
    wb_buf_done(&s->asked);
}

static const char line[] =
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"hi \"},\"done\":false}\n";
static const char done[] = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"hi\"},\"done\":true,"
                           "\"done_reason\":\"stop\"}\n";

/* ---- Tests ----------------------------------------------------------------------------------- */

/* covers: UPP-11/1/2 */
TEST(provider_options_reach_the_wire)
{
    static const struct upp_header mine[] = {{UPP_STR_INIT("x-team"), UPP_STR_INIT("blue")},
                                             {UPP_STR_INIT("Anthropic-Version"), UPP_STR_INIT("1999-01-01")},
                                             {UPP_STR_INIT("X-API-Key"), {0}}};
    WB_CLEANUP(scene_done) struct scene s = {.status = 500, .type = "application/json", .body = "{}"};
    int r = play(
        &s, "anthropic",
        (struct upp_provider_opts){.headers = mine, .n_headers = 3, .timeout_ms = 7, .idle_ms = 8, .max_answer = 9000},
        NULL, NULL);
    CHECK_INT(r, -UPP_EPROVIDER);
    CHECK_STR(wb_buf_str(&s.head), UPP_STR("content-type=application/json;x-team=blue;Anthropic-Version=1999-01-01;"));
    CHECK(s.head_ms == 7 && s.idle_ms == 8 && s.max_bytes == 9000);
    ALWAYS(s.sent == s.closed);
    CHECK_STR(wb_cstr(s.why.where), UPP_STR("req_7"));
    CHECK(s.why.http == 500 && !strcmp(s.why.provider, "anthropic"));
}

/* A key that is sent as it is, one behind "Bearer", and one in a header of the program's own. */
TEST(provider_keys_are_wiped)
{
    static const char *const key = "sk-one-that-nobody-may-find";
    static const struct upp_header mine[] = {
        {UPP_STR_INIT("authorization"), UPP_STR_INIT("my sk-one-that-nobody-may-find")}};
    static const struct {
        const char *provider;
        size_t n_headers;
    } cases[] = {{"anthropic", 0}, {"openai", 0}, {"ollama", 0}, {"google", 0}, {"openai", 1}, {"ollama", 1}};
    fault_watch(key);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(scene_done) struct scene s = {.status = 500, .type = "application/json", .body = "{}", .deaf = true};
        test_note("case %zu", i);
        int r = play(&s, cases[i].provider,
                     (struct upp_provider_opts){.api_key = key, .headers = mine, .n_headers = cases[i].n_headers}, NULL,
                     NULL);
        ALWAYS(fault_watched() == 0);
        CHECK_INT(r, -UPP_EPROVIDER);
    }
    char *found = wb_alloc(100); /* it would be seen */
    CHECK(found);
    (void)strcpy(found + 10, key);
    wb_free(found);
    CHECK_INT(fault_watched(), 1);
}

/* A caller that was compiled when there were fewer options: what lies behind those is not ours to read. */
TEST(provider_options_of_an_older_caller)
{
    static const size_t sizes[] = {
        offsetof(struct upp_provider_opts, http),  offsetof(struct upp_provider_opts, transport),
        offsetof(struct upp_provider_opts, retry), offsetof(struct upp_provider_opts, headers),
        offsetof(struct upp_provider_opts, api),   0};
    for (size_t i = 0; i < WB_LEN(sizes); i++) {
        UPP_CLEANUP(upp_model_freep) struct upp_model *model = NULL;
        struct upp_provider_opts o = {.base_url = "http://127.0.0.1:1"};
        struct upp_err err = {0};
        test_note("case %zu", i);
        memset((char *)&o + sizes[i], 0xa5, sizeof o - sizes[i]);
        o.size = (uint32_t)sizes[i];
        CHECK_INT(upp_model_new((struct upp_model_ref){"ollama", "m", &o}, &model, &err), 0);
        CHECK(!model->retry && !model->turn_ms);
    }
}

/* One that knows more of them than we do: those are passed over. */
TEST(provider_options_of_a_newer_caller)
{
    WB_CLEANUP(scene_done) struct scene s = {.status = 200, .type = "application/x-ndjson", .body = done};
    CHECK_INT(play(&s, "ollama",
                   (struct upp_provider_opts){.size = sizeof(struct upp_provider_opts) + 64, .idle_ms = 8}, NULL, NULL),
              0);
    CHECK_INT(s.idle_ms, 8);
}

TEST(provider_headers_carry_no_lines_of_their_own)
{
    static const struct upp_header mine[] = {{UPP_STR_INIT("x-team"), UPP_STR_INIT("blue\r\nx-admin: yes")}};
    WB_CLEANUP(scene_done) struct scene s = {.status = 200, .type = "application/x-ndjson", .body = done};
    WB_CLEANUP(scene_done) struct scene t = {.status = 200, .type = "application/x-ndjson", .body = done};
    CHECK_INT(play(&s, "ollama", (struct upp_provider_opts){.headers = mine, .n_headers = 1}, NULL, NULL),
              -UPP_EINVALID);
    ALWAYS(s.sent == 0);
    CHECK_INT(play(&t, "ollama", (struct upp_provider_opts){.api_key = "a\nb"}, NULL, NULL), -UPP_EINVALID);
    CHECK_STR(wb_cstr(t.why.msg), UPP_STR("the key holds a line end or another control character"));
    ALWAYS(t.sent == 0);
}

/* What comes with a success and is no answer. */
TEST(provider_knows_what_is_no_answer)
{
    static const struct {
        const char *type, *body;
        int code;
        const char *msg;
    } cases[] = {
        {"text/html; charset=utf-8", "<html>log in</html>", UPP_EPROTO,
         "the answer is a web page (HTTP 200), not of the model's API"},
        {"application/json", "", UPP_EPROTO, "the answer is empty"},
        {"application/json", "{\"model\":", UPP_EPROTO, NULL},
        {"application/x-ndjson", "", UPP_ENET, NULL},
        {"application/x-ndjson", "{\"model\":\"m\",\"message\"", UPP_ENET, "the stream ended inside of an event"},
        {"application/x-ndjson", line, UPP_ENET, NULL},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(scene_done) struct scene s = {.status = 200, .type = cases[i].type, .body = cases[i].body};
        test_note("case %zu: %s", i, s.why.msg);
        CHECK_INT(play(&s, "ollama", (struct upp_provider_opts){0}, NULL, NULL), -cases[i].code);
        if (cases[i].msg)
            CHECK_STR(wb_cstr(s.why.msg), wb_cstr(cases[i].msg));
        ALWAYS(s.sent == s.closed);
    }
}

/* A stream was asked for and one answer came: it is read as one. */
TEST(provider_takes_a_whole_answer_for_a_stream)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(4096);
    WB_CLEANUP(scene_done) struct scene s = {.status = 200, .type = "Application/JSON; charset=utf-8", .body = done};
    CHECK_INT(play(&s, "ollama", (struct upp_provider_opts){0}, NULL, &said), 0);
    CHECK_STR(wb_buf_str(&said), UPP_STR("hi"));
    ALWAYS(s.sent == s.closed);
}

/* After the end nothing more is read, and the connection is given the chance to be used again. */
TEST(provider_stops_at_the_end)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(4096);
    WB_CLEANUP(scene_done) struct scene s = {.status = 200, .type = "application/x-ndjson", .body = done, .repeat = 50};
    CHECK_INT(play(&s, "ollama", (struct upp_provider_opts){0}, NULL, &said), 0);
    CHECK_STR(wb_buf_str(&said), UPP_STR("hi"));
    CHECK(s.read == 1 && s.drained == 1 && s.closed == 1);
}

TEST(provider_answers_have_a_limit)
{
    WB_CLEANUP(scene_done)
    struct scene long_event = {.status = 200,
                               .type = "application/x-ndjson",
                               .body = "{\"model\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                               .repeat = 100};
    CHECK_INT(play(&long_event, "ollama", (struct upp_provider_opts){.max_event = 1024}, NULL, NULL), -UPP_ELIMIT);
    CHECK(long_event.read < 40);
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("hello")};
    const struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct upp_message *list[] = {&m};
    const struct upp_request whole = {.messages = list, .n_messages = 1, .whole = true};
    WB_CLEANUP(scene_done)
    struct scene body = {
        .status = 200, .type = "application/json", .body = "                                ", .repeat = 10000};
    CHECK_INT(play(&body, "ollama", (struct upp_provider_opts){.max_answer = 4096}, &whole, NULL), -UPP_ELIMIT);
    CHECK(body.read < 200);
    ALWAYS(body.sent == body.closed && long_event.sent == long_event.closed);
}

/* The largest number is no limit. */
TEST(provider_limits_may_be_none)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("hello")};
    const struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct upp_message *list[] = {&m};
    const struct upp_provider_opts most = {.max_answer = SIZE_MAX, .max_event = SIZE_MAX};
    WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(4096);
    WB_CLEANUP(scene_done) struct scene s = {.status = 200, .type = "application/x-ndjson", .body = done};
    WB_CLEANUP(scene_done) struct scene w = {.status = 200, .type = "application/json", .body = done};
    const struct upp_request whole = {.messages = list, .n_messages = 1, .whole = true};
    CHECK_INT(play(&s, "ollama", most, NULL, &said), 0);
    CHECK_INT(play(&w, "ollama", most, &whole, &said), 0);
    CHECK_STR(wb_buf_str(&said), UPP_STR("hihi"));
}

/* covers: UPP-11/2 */
TEST(provider_uses_no_member_that_an_old_transport_lacks)
{
    WB_CLEANUP(scene_done)
    struct scene s = {.status = 200, .type = "application/x-ndjson", .body = done, .repeat = 50, .old = true};
    CHECK_INT(play(&s, "ollama", (struct upp_provider_opts){0}, NULL, NULL), 0);
    CHECK(s.read == 1 && s.drained == 0 && s.closed == 1);
}

/* An error's body of any length: its beginning is enough. */
TEST(provider_reads_enough_of_an_error)
{
    WB_CLEANUP(scene_done)
    struct scene s = {
        .status = 503, .type = "text/plain", .body = "no room at all, come back later; ", .repeat = 1 << 20};
    CHECK_INT(play(&s, "ollama", (struct upp_provider_opts){0}, NULL, NULL), -UPP_EPROVIDER);
    CHECK(s.read < 20000 && s.why.http == 503);
}

/* covers: UPP-9/4 */
TEST(provider_never_shows_the_key)
{
    WB_CLEANUP(scene_done)
    struct scene s = {.status = 401,
                      .type = "application/json",
                      .body = "{\"error\":\"bad key sk-secret-key, really: sk-secret-key\"}"};
    CHECK_INT(play(&s, "ollama", (struct upp_provider_opts){0}, NULL, NULL), -UPP_EAUTH);
    CHECK(wb_str_find(wb_cstr(s.why.msg), UPP_STR("bad key"), 0) != SIZE_MAX);
    ALWAYS(!strstr(s.why.msg, "sk-secret") && !strstr(s.why.cause, "sk-secret") && !strstr(s.why.where, "sk-secret"));
}

/* Half a pair of surrogates is nothing a vendor takes. */
TEST(provider_sends_no_half_pairs)
{
    struct upp_part part = {.kind = UPP_PART_TEXT,
                            .text = UPP_STR("a\xed\xa0\xbd"
                                            "b\\ud800")};
    const struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct upp_message *list[] = {&m};
    const struct upp_request req = {.messages = list, .n_messages = 1};
    WB_CLEANUP(scene_done) struct scene s = {.status = 200, .type = "application/x-ndjson", .body = done};
    CHECK_INT(play(&s, "ollama", (struct upp_provider_opts){0}, &req, NULL), 0);
    CHECK(wb_str_find(wb_buf_str(&s.asked),
                      UPP_STR("a\xef\xbf\xbd"
                              "b\\\\ud800"),
                      0) != SIZE_MAX);
}

/* covers: UPP-15/2 */
TEST(provider_refuses_what_it_cannot_do_before_any_call)
{
    const struct upp_media sound = {.source = UPP_SOURCE_BASE64, .data = UPP_STR("AQL/"), .mime = UPP_STR("audio/wav")};
    struct upp_part parts[] = {{.kind = UPP_PART_TEXT, .text = UPP_STR("hear")},
                               {.kind = UPP_PART_AUDIO, .media = &sound}};
    const struct upp_message m = {.role = UPP_ROLE_USER, .parts = parts, .n_parts = 2};
    const struct upp_message *list[] = {&m};
    const struct upp_request req = {.messages = list, .n_messages = 1};
    WB_CLEANUP(scene_done) struct scene s = {.status = 200, .type = "application/x-ndjson", .body = done};
    CHECK_INT(play(&s, "ollama", (struct upp_provider_opts){0}, &req, NULL), -UPP_EINVALID);
    ALWAYS(s.sent == 0);
    CHECK_STR(wb_cstr(s.why.where), UPP_STR("/messages/0/content/1"));
    CHECK_STR(wb_cstr(s.why.msg), UPP_STR("model 'm-1' does not support audio input"));
}

/* covers: UPP-12 */
TEST(provider_options_that_make_no_sense)
{
    static const struct {
        const char *provider, *name, *api, *base_url, *msg;
    } cases[] = {
        {"anthropic", "", NULL, NULL, "a model of 'anthropic' needs a name"},
        {"anthropic", "m", "chat", NULL, "provider 'anthropic' has no api 'chat'"},
        {"vllm", "m", NULL, NULL, "provider 'vllm' needs a base_url"},
        {"ollama", "m", NULL, "ftp://h", "base_url begins with http:// or https://"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_provider_opts o = {.size = sizeof o, .api = cases[i].api, .base_url = cases[i].base_url};
        struct upp_model *m = NULL;
        struct upp_err err = {0};
        test_note("case %zu", i);
        int r = upp_model_new((struct upp_model_ref){cases[i].provider, cases[i].name, &o}, &m, &err);
        ALWAYS(r < 0 && !m);
        CHECK_INT(r, -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].msg));
    }
}

TEST(provider_names_are_told)
{
    struct upp_model *m = NULL;
    struct upp_err err = {0};
    CHECK_STR(wb_cstr(upp_provider_name(0)), UPP_STR("scripted"));
    size_t n = 0;
    while (upp_provider_name(n))
        n++;
    CHECK_INT(n, 13);
    CHECK_INT(upp_model_new((struct upp_model_ref){"antropic", "m", NULL}, &m, &err), -UPP_EINVALID);
    CHECK(strstr(err.msg, "'antropic'") && strstr(err.msg, "'anthropic'"));
}
