/* The access log, request ids, and the routes of operators. */
#include "server/keys/key.h"
#include "server/ops/ops.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/log.h"
#include "server/talk.h"
#include "stores/memory/memory.h"
#include "support/stores.h"

#define HOST "Host: localhost\r\n"

static void donep(struct talk_reply *r)
{
    talk_reply_done(r);
}

struct watched {
    struct sv_ops *ops;
    struct wb_buf log;
};

static void watched_done(struct watched *w)
{
    wb_buf_done(&w->log);
}

static void hear(void *arg, enum wb_log_level level, struct upp_str line)
{
    struct watched *w = arg;
    (void)level;
    wb_buf_add(&w->log, line);
    wb_buf_addc(&w->log, '\n');
}

/* Lets the client act on a server with a monitor; its log lines are in w->log. */
static int watch(struct watched *w, const struct sv_ops_opts *opts, int (*client)(struct talk *t, struct upp_err *err))
{
    struct upp_err err = {0};
    struct talk t = {.client = client, .simulated = true, .seed = 3, .arg = w};
    w->log = (struct wb_buf)WB_BUF(1u << 20);
    int r = sv_ops_open(opts, &w->ops, &err);
    if (r < 0)
        return r;
    t.opts.monitor = &w->ops->http;
    t.opts.ops = &w->ops->door;
    wb_log_setup(WB_INFO, WB_LOG_TEXT, -1);
    wb_log_to(hear, w);
    r = talk_run(&t, &err);
    wb_log_to(NULL, NULL);
    wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
    wb_buf_addc(&w->log, 0);
    sv_ops_close(w->ops);
    if (w->log.failed) /* it does not end with a NUL */
        return -UPP_ENOMEM;
    test_note("%s %s", err.msg, w->log.p);
    return r;
}

/* ---- Request ids ---- */

static int gives_ids(struct talk *t, struct upp_err *err)
{
    static const struct {
        const char *header;
        const char *taken; /* NULL: another one is made */
    } cases[] = {
        {"x-request-id: abc-1~!\r\n", "abc-1~!"},
        {"X-Request-Id: a\r\n", "a"},
        {"", NULL},
        {"x-request-id:\r\n", NULL},
        {"x-request-id: two words\r\n", NULL},
        {"x-request-id: caf\xc3\xa9\r\n", NULL},
        {"x-request-id: a\r\nx-request-id: b\r\n", NULL},
    };
    WB_CLEANUP(donep) struct talk_reply r;
    char request[512], id[SV_REQUEST_ID + 2];
    talk_reply_init(&r);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        (void)snprintf(request, sizeof request, "GET /empty HTTP/1.1\r\n" HOST "%s\r\n", cases[i].header);
        test_note("%s", cases[i].header);
        TRY(talk_once(t, wb_cstr(request), &r, err));
        struct upp_str got = talk_header(&r, UPP_STR("x-request-id"));
        FAIL_UNLESS(r.status == 200);
        FAIL_UNLESS(cases[i].taken ? wb_str_eq(got, wb_cstr(cases[i].taken))
                                   : got.n == 36 && wb_str_starts(got, UPP_STR("req_")));
    }
    for (size_t n = SV_REQUEST_ID; n <= SV_REQUEST_ID + 1; n++) { /* the limit */
        memset(id, 'x', n);
        (void)snprintf(request, sizeof request, "GET /empty HTTP/1.1\r\n" HOST "x-request-id: %.*s\r\n\r\n", (int)n,
                       id);
        TRY(talk_once(t, wb_cstr(request), &r, err));
        FAIL_UNLESS(talk_header(&r, UPP_STR("x-request-id")).n == (n == SV_REQUEST_ID ? n : 36));
    }
    return 0;
}

TEST(ops_takes_request_ids)
{
    struct upp_err err = {0};
    struct talk t = {.client = gives_ids, .simulated = true, .seed = 4};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* ---- The access log ---- */

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"

static int asks(struct talk *t, struct upp_err *err)
{
    static const char *const requests[] = {
        "GET /echo/secret/x/b?q=hidden HTTP/1.1\r\n" HOST "x-request-id: one\r\n"
        "traceparent: 00-" TRACE "-00f067aa0ba902b7-01\r\n\r\n",
        "HEAD /empty HTTP/1.1\r\n" HOST "x-request-id: two\r\n\r\n",
        "GET /fail/13 HTTP/1.1\r\n" HOST "x-request-id: three\r\n\r\n",
        "GET /private/path HTTP/1.1\r\n" HOST "x-request-id: four\r\n\r\n",
        "POST /small HTTP/1.1\r\n" HOST "x-request-id: five\r\nContent-Length: 17\r\n\r\n",
        "GET /stream HTTP/1.1\r\n" HOST "x-request-id: six\r\n\r\n",
        "nonsense\r\n\r\n",
    };
    WB_CLEANUP(donep) struct talk_reply r;
    talk_reply_init(&r);
    t->limit = 3;
    for (size_t i = 0; i < WB_LEN(requests); i++)
        TRY(talk_once(t, wb_cstr(requests[i]), &r, err));
    return 0;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++)
        n++;
    return n;
}

TEST(ops_logs_each_request)
{
    WB_CLEANUP(watched_done) struct watched w = {0};
    int r = watch(&w, NULL, asks);
    CHECK_INT(r, 0);
    static const char *const parts[] = {
        "msg=\"request\" method=GET route=/echo/{a}/x/{b} status=200 bytes=",
        " id=one tenant=local client=- trace=" TRACE "\n",
        "method=HEAD route=/empty status=200 bytes=",
        "method=GET route=/fail/{code} status=404 bytes=",
        "method=GET route=- status=404 bytes=",
        "id=four tenant=- client=-\n",
        "method=POST route=/small status=413 bytes=",
        "method=GET route=/stream status=200 bytes=",
        "id=six tenant=local client=- stream=true\n",
        "route=- status=400 bytes=",
    };
    for (size_t i = 0; i < WB_LEN(parts); i++) {
        test_note("%s\n%s", parts[i], w.log.p);
        CHECK(strstr(w.log.p, parts[i]));
    }
    CHECK_INT(count(w.log.p, "msg=\"request\""), 7);
    CHECK(!strstr(w.log.p, "secret") && !strstr(w.log.p, "hidden") && !strstr(w.log.p, "private"));
}

TEST(ops_logs_no_request_if_told_so)
{
    WB_CLEANUP(watched_done) struct watched w = {0};
    int r = watch(&w, UPP_OPTS(sv_ops_opts, .no_access_log = true), asks);
    CHECK_INT(r, 0);
    CHECK_INT(count(w.log.p, "msg=\"request\""), 0);
}

/* ---- Routes ---- */

static int looks(struct talk *t, struct upp_err *err)
{
    static const struct {
        const char *path, *part;
    } cases[] = {
        {"/health",
         "{\"status\":\"ok\",\"version\":\"" UPP_VERSION "\",\"uptime_seconds\":0,\"loops\":1,\"connections\":"},
        {"/version", "{\"version\":\"" UPP_VERSION "\",\"commit\":"},
        {"/version", "{\"name\":\"sqlite\",\"version\":\""},
        {"/metrics", "\nweft_http_requests_total{method=\"GET\",route=\"/version\",status=\"200\"} 2\n"},
        {"/metrics", "\nweft_http_request_duration_seconds_count{route=\"/metrics\"} 1\n"},
        {"/metrics", "\nprocess_resident_memory_bytes "},
    };
    WB_CLEANUP(donep) struct talk_reply r;
    char request[128];
    talk_reply_init(&r);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n" HOST "\r\n", cases[i].path);
        TRY(talk_once(t, wb_cstr(request), &r, err));
        test_note("%s: %.*s", cases[i].part, (int)r.body.n, r.body.p);
        FAIL_UNLESS(r.status == 200);
        FAIL_UNLESS(wb_str_find(wb_buf_str(&r.body), wb_cstr(cases[i].part), 0) != SIZE_MAX);
    }
    FAIL_UNLESS(
        wb_str_eq(talk_header(&r, UPP_STR("content-type")), UPP_STR("text/plain; version=0.0.4; charset=utf-8")));
    sv_server_stop(t->server);
    return 0;
}

TEST(ops_has_routes)
{
    WB_CLEANUP(watched_done) struct watched w = {0};
    int r = watch(&w, NULL, looks);
    CHECK_INT(r, 0);
}

/* ---- Runs that a page counts ---- */

static WEFT_SUSPENDS int add_waiting(struct wl_store *s, uint64_t from, uint64_t n, struct upp_err *err)
{
    enum { EACH = 256 };
    static struct wm_run runs[EACH];
    static struct wl_change changes[EACH]; /* not kept over another wait */
    const struct wl_owner owner = {.tenant = UPP_STR("local")};
    for (uint64_t at = 0; at < n;) {
        size_t k = 0;
        for (; k < EACH && at < n; k++, at++) {
            runs[k] = (struct wm_run){.id = test_uuid(from + at),
                                      .root = test_uuid(from + at),
                                      .thread = test_uuid(1),
                                      .version = 1,
                                      .status = WM_WAITING};
            changes[k] = (struct wl_change)ADD_RUN(&runs[k]);
        }
        TRY(test_commit(s, owner, changes, k, NULL, err));
    }
    return 0;
}

static int has_metric(struct talk *t, const char *line, struct upp_err *err)
{
    WB_CLEANUP(donep) struct talk_reply r;
    talk_reply_init(&r);
    TRY(talk_once(t, UPP_STR("GET /metrics HTTP/1.1\r\n" HOST "\r\n"), &r, err));
    test_note("%s: %.*s", line, (int)r.body.n, r.body.p);
    FAIL_UNLESS(r.status == 200 && wb_str_find(wb_buf_str(&r.body), wb_cstr(line), 0) != SIZE_MAX);
    return 0;
}

/* Ten thousand are counted; that there may be more is said. */
static WEFT_SUSPENDS int counts_runs(struct talk *t, struct upp_err *err)
{
    struct watched *w = t->arg;
    TRY(add_waiting(w->ops->opts.store, 2, 3, err));
    TRY(has_metric(t, "\nweft_runs_cut 0\n", err));
    TRY(add_waiting(w->ops->opts.store, 5, 10300, err));
    TRY(has_metric(t, "\nweft_runs_cut 1\n", err));
    sv_server_stop(t->server);
    return 0;
}

static int with_store(struct talk *t, struct upp_err *err)
{
    struct watched *w = t->arg;
    struct wl_store *s;
    TRY(ws_memory_open(&s, err));
    w->ops->opts.store = s;
    int r = counts_runs(t, err);
    w->ops->opts.store = NULL;
    s->ops->close(s);
    return r;
}

TEST_WITH(ops_says_that_not_all_runs_are_counted, .no_torture = "ten thousand runs")
{
    WB_CLEANUP(watched_done) struct watched w = {0};
    CHECK_INT(watch(&w, NULL, with_store), 0);
}

/* ---- Keys: /health is open; /metrics if the configuration opens it ---- */

static WEFT_SUSPENDS int asks_without_key(struct talk *t, const char *key, struct upp_err *err)
{
    static const char *const paths[] = {"/health", "/version", "/metrics"};
    WB_CLEANUP(donep) struct talk_reply r;
    char request[128], *got = t->arg;
    (void)key;
    talk_reply_init(&r);
    for (size_t i = 0; i < WB_LEN(paths); i++) {
        (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n" HOST "\r\n", paths[i]);
        TRY(talk_once(t, wb_cstr(request), &r, err));
        (void)snprintf(got + strlen(got), 32, "%d ", r.status);
    }
    return 0;
}

static WEFT_SUSPENDS int without_key(struct talk *t, struct upp_err *err)
{
    return talk_with_key(t, SV_SCOPE_RUN, asks_without_key, err);
}

TEST(ops_needs_keys_where_there_are_some)
{
    for (int open = 0; open < 2; open++) {
        UPP_CLEANUP(sv_ops_closep) struct sv_ops *ops = NULL;
        struct upp_err err = {0};
        char got[64] = "";
        struct talk t = {.client = without_key, .simulated = true, .seed = 2, .arg = got};
        CHECK_INT(sv_ops_open(UPP_OPTS(sv_ops_opts, .open_metrics = open), &ops, &err), 0);
        t.opts.monitor = &ops->http;
        t.opts.ops = &ops->door;
        CHECK_INT(talk_run(&t, &err), 0);
        CHECK_STR(wb_cstr(got), open ? UPP_STR("200 401 200 ") : UPP_STR("200 401 401 "));
    }
}
