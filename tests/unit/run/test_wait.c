/* libupp's waits on fibers: the table itself, and HTTP calls that share connections by it. */
#include "run/engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "support/calls.h"
#include "support/certs.h"
#include "support/faults.h"
#include "support/fibers.h"
#include "upp/http/curl_call.h"

/* ---- The table ------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int readable(void *arg, struct upp_err *err)
{
    struct upp_wait w = wr_wait_table(NULL);
    WB_CLEANUP(test_closep) int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)arg;
    FAIL_UNLESS(fd >= 0);
    TRY(upp_wait_ms(&w, 1, err));
    FAIL_UNLESS(upp_wait_stopped(&w, err) == 0);
    int r = upp_wait_readable(&w, fd, 1, err);
    TRY(r);
    FAIL_UNLESS(r == 0);
    FAIL_UNLESS(upp_wait_readable(&w, fd, 0, err) == 0);
    FAIL_UNLESS(write(fd, &(uint64_t){1}, 8) == 8);
    FAIL_UNLESS(upp_wait_readable(&w, fd, 0, err) == 1);
    r = upp_wait_readable(&w, fd, 10000, err);
    TRY(r);
    FAIL_UNLESS(r == 1);
    r = upp_wait_readable(&w, fd, UPP_FOREVER, err);
    TRY(r);
    FAIL_UNLESS(r == 1);
    FAIL_UNLESS(read(fd, &(uint64_t){0}, 8) == 8);
    {
        WEFT_DEADLINE(5);
        r = upp_wait_readable(&w, fd, 10000, err); /* the fiber's own time */
        FAIL_UNLESS(r == -UPP_ETIMEOUT || r == -UPP_ENOMEM);
        FAIL_UNLESS(upp_wait_stopped(&w, err) == -UPP_ETIMEOUT || r == -UPP_ENOMEM);
        FAIL_UNLESS(upp_wait_readable(&w, fd, 0, err) == -UPP_ETIMEOUT || r == -UPP_ENOMEM);
    }
    return 0;
}

TEST(run_wait_readable_tells_its_limit_from_the_fibers)
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(readable, NULL, &err), 0);
}

struct parking {
    struct upp_wait w;
    struct upp_place place;
    int woken;
};

static WEFT_SUSPENDS int parked(void *arg, struct upp_err *err)
{
    struct parking *p = arg;
    p->woken = p->w.park(p->w.arg, &p->place, UPP_FOREVER, err);
    return p->woken < 0 ? p->woken : 0;
}

static WEFT_SUSPENDS int parking(void *arg, struct upp_err *err)
{
    struct parking p = {.w = wr_wait_table(NULL)};
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    (void)arg;
    int r = p.w.park(p.w.arg, &p.place, 1, err);
    FAIL_UNLESS(r == 0);
    p.w.wake(p.w.arg, &p.place); /* nobody is there */
    TRY(weft_scope_spawn(&all, "parked", parked, &p, NULL, err));
    TRY(weft_yield(err));
    FAIL_UNLESS(p.woken == 0);
    p.w.wake(p.w.arg, &p.place);
    TRY(weft_scope_join(&all, err));
    FAIL_UNLESS(p.woken == 1);
    TRY(weft_scope_spawn(&all, "parked", parked, &p, NULL, err));
    TRY(weft_yield(err));
    weft_scope_cancel(&all);
    r = weft_scope_join(&all, err);
    FAIL_UNLESS(p.woken == -UPP_ECANCELED);
    return 0;
}

TEST(run_wait_places)
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(parking, NULL, &err), 0);
}

struct crew {
    struct upp_wait w;
    bool ran[5];
    int result[5];
    bool hang;
};

static WEFT_SUSPENDS void work(void *ctx, size_t i)
{
    struct crew *c = ctx;
    c->ran[i] = true;
    c->result[i] = upp_wait_ms(&c->w, c->hang ? 1000000 : 20 - 4 * i, NULL);
}

static WEFT_SUSPENDS int teams(void *arg, struct upp_err *err)
{
    struct crew c = {.w = wr_wait_table(NULL)};
    struct upp_team *t = NULL;
    bool told[5] = {0};
    size_t i;
    int r;
    (void)arg;
    TRY(c.w.team_open(c.w.arg, 5, work, &c, &t, err));
    for (size_t n = 0; (r = c.w.team_next(c.w.arg, t, &i, err)) > 0; n++) {
        EXPECT(!told[i] && c.ran[i] && c.result[i] == 0);
        EXPECT(n || i == 4); /* the quickest first */
        told[i] = true;
    }
    c.w.team_close(c.w.arg, t);
    FAIL_UNLESS(r == 0);
    for (i = 0; i < 5; i++)
        FAIL_UNLESS(told[i]);
    TRY(c.w.team_open(c.w.arg, 0, work, &c, &t, err));
    r = c.w.team_next(c.w.arg, t, &i, err);
    c.w.team_close(c.w.arg, t);
    FAIL_UNLESS(r == 0);

    c.hang = true;
    TRY(c.w.team_open(c.w.arg, 5, work, &c, &t, err));
    {
        WEFT_DEADLINE(5);
        r = c.w.team_next(c.w.arg, t, &i, err);
    }
    c.w.team_close(c.w.arg, t);
    FAIL_UNLESS(r == -UPP_ETIMEOUT);
    for (i = 0; i < 5; i++)
        FAIL_UNLESS(c.result[i] == -UPP_ECANCELED);
    return 0;
}

TEST(run_wait_teams_work_beside_the_caller)
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(teams, NULL, &err), 0);
}

/* ---- Calls that share connections ------------------------------------------------------------ */

#define SEND(text)                                                                                                     \
    {                                                                                                                  \
        .act = FAULTS_SEND, .bytes = UPP_STR_INIT(text)                                                                \
    }

enum { MANY = 24 };

struct world {
    struct faults *server;
    struct upp_wait w;
    struct upp_http *http;
    char slow[100], quick[100], hang[100];
    unsigned whole, stopped;
    int failed;
};

static const struct faults_step quick[] = {SEND("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")};
static const struct faults_step hang[] = {{.act = FAULTS_HANG}};
static const struct faults_step slow[] = {
    SEND("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    {.act = FAULTS_CHUNK, .bytes = UPP_STR_INIT("data: 1\n\n")},
    {.act = FAULTS_WAIT, .ms = 2},
    {.act = FAULTS_CHUNK, .bytes = UPP_STR_INIT("data: 2\n\n")},
    {.act = FAULTS_WAIT, .ms = 2},
    {.act = FAULTS_CHUNK, .bytes = UPP_STR_INIT("data: 3\n\n")},
    {.act = FAULTS_CHUNK},
};

static WEFT_SUSPENDS int one_slow(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    CALLED(got);
    TRY(call_url(w->http, w->slow, &w->w, &got, err));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&got.body), UPP_STR("data: 1\n\ndata: 2\n\ndata: 3\n\n")));
    w->whole++;
    return 0;
}

static WEFT_SUSPENDS int one_quick(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    CALLED(got);
    TRY(call_url(w->http, w->quick, &w->w, &got, err));
    w->whole++;
    return 0;
}

static WEFT_SUSPENDS int one_stopped(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    CALLED(got);
    int r = call_url(w->http, w->hang, &w->w, &got, err);
    if (r == -UPP_ECANCELED)
        w->stopped++;
    return r;
}

static WEFT_SUSPENDS int all_of_them(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    for (unsigned round = 0; round < 3; round++) {
        UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
        w->whole = 0;
        for (int i = 0; i < MANY; i++)
            TRY(weft_scope_spawn(&all, "call", i % 2 ? one_slow : one_quick, w, NULL, err));
        TRY(weft_scope_join(&all, err));
        FAIL_UNLESS(w->whole == MANY);
    }
    FAIL_UNLESS(faults_connections(w->server) <= MANY);
    return 0;
}

/* The one that leads is cancelled, one after the other; another takes over, and those that are left are served. */
static WEFT_SUSPENDS int leaders_go(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {.flags = WEFT_SCOPE_ISOLATED}, rest = {0};
    struct weft_fiber *fibers[6] = {0};
    int r = 0;
    for (int i = 0; r >= 0 && i < 6; i++)
        r = weft_scope_spawn(&all, "hangs", one_stopped, w, &fibers[i], err);
    if (r >= 0)
        r = weft_sleep_ms(1, err);
    for (int i = 0; r >= 0 && i < 6; i++) {
        r = weft_scope_spawn(&rest, "quick", one_quick, w, NULL, err);
        weft_fiber_cancel(fibers[i]);
        if (r >= 0)
            r = weft_scope_join(&rest, err);
    }
    for (int i = 0; i < 6; i++)
        weft_fiber_unref(fibers[i]);
    TRY(r);
    TRY(weft_scope_join(&all, err));
    FAIL_UNLESS(w->whole == 6);
    FAIL_UNLESS(w->stopped == 6);
    return 0;
}

static WEFT_SUSPENDS int in_time(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    CALLED(got);
    WEFT_DEADLINE(10);
    int r = call_url(w->http, w->hang, &w->w, &got, err);
    FAIL_UNLESS(r == -UPP_ETIMEOUT || r == -UPP_ENOMEM || r == -UPP_ENET);
    return r == -UPP_ETIMEOUT ? 0 : r;
}

static WEFT_SUSPENDS int one_failed(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    struct upp_http_request q = {.url = wb_cstr(w->hang), .head_ms = UPP_FOREVER};
    CALLED(got);
    w->failed = call_http(w->http, &q, &w->w, &got, err);
    return 0;
}

/* All calls fail at once, by the doing of one that does not lead: the leader hears of it too, and does not wait for its
 * own time to pass. */
static WEFT_SUSPENDS int leader_is_told(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    TRY(weft_scope_spawn(&all, "leads", one_failed, w, NULL, err));
    do /* until libcurl wants nothing any more, or it has failed: a fault was injected */
        TRY(weft_sleep_ms(1, err));
    while (w->http->crowd.leader && w->http->timer_at < wb_mono_ms() + 5000);
    if (!w->http->crowd.leader)
        return weft_scope_join(&all, err);
    w->http->lost = true; /* as if the kernel had not taken a socket */
    upp__curl_dispatch(w->http);
    TRY(weft_scope_join(&all, err));
    FAIL_UNLESS(w->failed == -UPP_ENOMEM);
    return 0;
}

static int run_world(weft_fn *fn, struct upp_err *err)
{
    FAULTS_SERVER(s, FAULTS_REPLY_AT("/slow", slow), FAULTS_REPLY_AT("/hang", hang), FAULTS_REPLY(quick));
    struct world w = {.server = s};
    (void)snprintf(w.slow, sizeof w.slow, "%s", faults_url(s, "/slow"));
    (void)snprintf(w.quick, sizeof w.quick, "%s", faults_url(s, "/quick"));
    (void)snprintf(w.hang, sizeof w.hang, "%s", faults_url(s, "/hang"));
    HTTP(h);
    int r = upp_http_new(UPP_OPTS(upp_http_opts, .proxy = ""), &h, err);
    if (r < 0)
        return r;
    w.http = h;
    w.w = wr_wait_table(h);
    return test_on_loop(fn, &w, err);
}

TEST(run_wait_many_calls_share_one_loop)
{
    struct upp_err err = {0};
    int r = run_world(all_of_them, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

TEST(run_wait_another_leads_when_the_leader_goes)
{
    struct upp_err err = {0};
    int r = run_world(leaders_go, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

TEST(run_wait_a_leader_hears_that_all_have_failed)
{
    struct upp_err err = {0};
    CHECK_INT(run_world(leader_is_told, &err), 0);
}

TEST(run_wait_a_deadline_of_the_fiber_ends_a_call)
{
    struct upp_err err = {0};
    CHECK_INT(run_world(in_time, &err), 0);
    CHECK(!strstr(err.msg, "request timed out"));
}

/* A handshake and what verifies a certificate run on the stack of the fiber that leads. */
static WEFT_SUSPENDS int by_tls(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    CALLED(got);
    TRY(call_url(w->http, w->quick, &w->w, &got, err));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&got.body), UPP_STR("hello")));
    return 0;
}

TEST(run_wait_tls_fits_on_a_fibers_stack)
{
    /* RSA takes more stack, and as long to make as all the rest: what fails then is the same with the others. */
    const int bits = test_brief() ? 0 : 2048;
    WB_CLEANUP(cert_done) struct cert ca = cert_new(&(struct cert_opts){.ca = true, .name = "ca", .rsa_bits = bits});
    WB_CLEANUP(cert_done) struct cert leaf = cert_new(&(struct cert_opts){.issuer = &ca, .rsa_bits = bits});
    WB_CLEANUP(cert_server_freep) SSL_CTX *tls = cert_server(&leaf, NULL);
    const struct faults_reply reply = {.steps = quick, .n = WB_LEN(quick)};
    const struct faults_opts opts = {.replies = &reply, .n_replies = 1, .tls = tls};
    WB_CLEANUP(faults_stopp) struct faults *s = faults_start(&opts);
    WB_CLEANUP(weft_loop_closep) struct weft_loop *loop = NULL;
    struct upp_err err = {0};
    struct world w = {.server = s};
    char path[300];
    HTTP(h);
    (void)snprintf(path, sizeof path, "%s/ca.pem", test_folder());
    (void)snprintf(w.quick, sizeof w.quick, "%s", faults_url(s, "/"));
    cert_write(&ca, path);
    CHECK_INT(upp_http_new(UPP_OPTS(upp_http_opts, .ca_file = path, .proxy = ""), &h, &err), 0);
    w.http = h;
    w.w = wr_wait_table(h);
    CHECK_INT(weft_loop_open(UPP_OPTS(weft_loop_opts, .stack_size = test_number("WEFT_STACK", 0)), &loop, &err), 0);
    CHECK_INT(weft_loop_run(loop, "tls", by_tls, &w, &err), 0);
}
