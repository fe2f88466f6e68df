/* The engine on a model behind real sockets: what breaks is void and asked again; a cancel ends the call.
 *
 */
#include <upp/provider.h>

#include "base/defs.h"
#include "base/log.h"
#include "base/str.h"
#include "stores/memory/memory.h"
#include "support/faults.h"
#include "support/fibers.h"
#include "support/rig.h"
#include "support/test.h"

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
#define SAYS(text, rest)                                                                                               \
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"" text "\"},\"done\":" rest "}\n"

static const struct faults_step broken[] = {
    {.act = FAULTS_SEND, .bytes = UPP_STR_INIT(HEAD)},
    {.act = FAULTS_CHUNK, .bytes = UPP_STR_INIT(SAYS("half of", "false"))},
    {.act = FAULTS_WAIT, .ms = 100},
    {.act = FAULTS_RESET},
};
static const struct faults_step busy[] = {
    {.act = FAULTS_SEND,
     .bytes = UPP_STR_INIT(
         "HTTP/1.1 503 Busy\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"error\":\"busy\"}")},
};
static const struct faults_step well[] = {
    {.act = FAULTS_SEND, .bytes = UPP_STR_INIT(HEAD)},
    {.act = FAULTS_CHUNK, .bytes = UPP_STR_INIT(SAYS("all of it", "true,\"done_reason\":\"stop\""))},
    {.act = FAULTS_CHUNK},
};
static const struct faults_step hangs[] = {
    {.act = FAULTS_SEND, .bytes = UPP_STR_INIT(HEAD)},
    {.act = FAULTS_CHUNK, .bytes = UPP_STR_INIT(SAYS("still", "false"))},
    {.act = FAULTS_HANG},
};

struct scene {
    struct faults *server;
    bool cancel;
    struct wb_buf events;
};

static void store_closep(struct wl_store **s)
{
    if (*s)
        (*s)->ops->close(*s);
}

static int on_server(struct rig *rig, const struct scene *s, struct upp_err *err)
{
    int r = rig_agent(rig, "main", NULL, err);
    if (r < 0)
        return r;
    upp_model_free(WB_TAKE(rig->models[0]));
    r = upp_model_new(upp_ollama("m", .base_url = faults_url(s->server, ""),
                                 .retry = {.kind = UPP_RETRY_EXPONENTIAL, .base_delay_ms = 1, .max_attempts = 3}),
                      &rig->models[0], err);
    rig->agents[0].model = rig->models[0];
    rig->agents[0].n_tools = 0;
    return r;
}

static WEFT_SUSPENDS int play(struct rig *rig, struct scene *s, struct upp_err *err)
{
    struct wr_started run;
    int r = rig_start(rig, "main", "hello", NULL, &run, err);
    if (r >= 0 && s->cancel) {
        while (r >= 0 && !faults_requests(s->server))
            r = weft_sleep_ms(1, err);
        if (r >= 0)
            r = wr_cancel(rig->engine, &rig_owner, run.run, err);
    }
    return r < 0 ? r : rig_read(rig, run.run, &s->events, err);
}

static WEFT_SUSPENDS int in_loop(void *arg, struct upp_err *err)
{
    struct scene *s = arg;
    WB_CLEANUP(store_closep) struct wl_store *store = NULL;
    struct rig rig = {0};
    int r = ws_memory_open(&store, err);
    rig.store = store;
    if (r >= 0)
        r = on_server(&rig, s, err);
    if (r >= 0)
        r = rig_open(&rig, weft_loop_current(), NULL, err);
    if (r >= 0)
        r = play(&rig, s, err);
    rig_close(&rig);
    return r;
}

static bool told(const struct scene *s, const char *what)
{
    return wb_str_find(wb_buf_str(&s->events), wb_cstr(what), 0) != SIZE_MAX;
}

/* covers: UPP-10/4 */
TEST_WITH(run_over_http_voids_what_broke, .no_torture = "run_voids_* and outgoing_* are tortured")
{
    struct faults_reply replies[] = {FAULTS_REPLY(busy), FAULTS_REPLY(broken), FAULTS_REPLY(well)};
    replies[0].times = replies[1].times = 1;
    __attribute__((cleanup(faults_stopp))) struct faults *server =
        faults_start(&(struct faults_opts){.replies = replies, .n_replies = 3});
    struct scene s = {.server = server, .events = WB_BUF(1 << 20)};
    struct upp_err err = {0};
    int r = test_on_loop(in_loop, &s, &err);
    test_note("%s: %.*s", err.msg, UPP_FMT(wb_buf_str(&s.events)));
    bool ok = r >= 0 && told(&s, "void") && told(&s, "all of it");
    unsigned asked = faults_requests(server);
    wb_buf_done(&s.events);
    CHECK(ok);
    CHECK_INT(asked, 3);
}

TEST_WITH(run_over_http_is_cancelled_in_mid_answer, .no_torture = "run_cancel* and outgoing_* are tortured")
{
    FAULTS_SERVER(server, FAULTS_REPLY(hangs));
    struct scene s = {.server = server, .cancel = true, .events = WB_BUF(1 << 20)};
    struct upp_err err = {0};
    int r = test_on_loop(in_loop, &s, &err);
    test_note("%s: %.*s", err.msg, UPP_FMT(wb_buf_str(&s.events)));
    bool ok = r >= 0;
    unsigned asked = faults_requests(server);
    wb_buf_done(&s.events);
    CHECK(ok);
    CHECK_INT(asked, 1);
}

struct heard {
    struct faults *server;
    struct wb_buf lines;
};

static void hear(void *arg, enum wb_log_level level, struct upp_str line)
{
    (void)level;
    wb_buf_add(&((struct heard *)arg)->lines, line);
}

static WEFT_SUSPENDS int with_a_past(void *arg, struct upp_err *err)
{
    struct heard *h = arg;
    struct upp_part said[] = {{.kind = UPP_PART_REASONING, .text = UPP_STR("another vendor's thoughts")},
                              {.kind = UPP_PART_TEXT, .text = UPP_STR("yes")}};
    struct upp_part ask = {.kind = UPP_PART_TEXT, .text = UPP_STR("and now?")};
    const struct upp_message earlier = {.role = UPP_ROLE_ASSISTANT, .parts = said, .n_parts = 2};
    const struct upp_message *past[] = {&earlier};
    const struct upp_message input = {.role = UPP_ROLE_USER, .parts = &ask, .n_parts = 1};
    struct wr_start what = {
        .owner = rig_owner, .agent = UPP_STR("main"), .input = &input, .history = past, .n_history = 1};
    struct wr_started started;
    struct rig rig = {0};
    uint8_t status;
    int r = rig_agent(&rig, "main", NULL, err);
    if (r >= 0) {
        upp_model_free(WB_TAKE(rig.models[0]));
        r = upp_model_new(upp_anthropic("m", .base_url = faults_url(h->server, ""), .api_key = "k"), &rig.models[0],
                          err);
        rig.agents[0].model = rig.models[0];
    }
    if (r >= 0)
        r = rig_open(&rig, weft_loop_current(), NULL, err);
    if (r >= 0)
        r = wr_start(rig.engine, &what, &started, err);
    if (r >= 0)
        r = wr_wait(rig.engine, &rig_owner, started.run, &status, err);
    rig_close(&rig);
    return r == -UPP_ENOTFOUND ? 0 : r; /* without a store a run that has ended is gone */
}

/* covers: UPP-13 */
TEST_WITH(run_over_http_tells_what_another_vendor_said, .no_torture = "it is about a line in the log")
{
    FAULTS_SERVER(server, FAULTS_REPLY(busy));
    struct heard h = {.server = server, .lines = WB_BUF(1 << 20)};
    struct upp_err err = {0};
    wb_log_setup(WB_WARN, WB_LOG_TEXT, -1);
    wb_log_to(hear, &h);
    int r = test_on_loop(with_a_past, &h, &err);
    wb_log_to(NULL, NULL);
    wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
    test_note("%s: %.*s", err.msg, UPP_FMT(wb_buf_str(&h.lines)));
    bool ok = r >= 0 && wb_str_find(wb_buf_str(&h.lines), UPP_STR("does not go to this model"), 0) != SIZE_MAX &&
              wb_str_find(wb_buf_str(&h.lines), UPP_STR("reasoning"), 0) != SIZE_MAX;
    wb_buf_done(&h.lines);
    CHECK(ok);
}
