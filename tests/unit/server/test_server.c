#include "server/http/server.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/defs.h"
#include "log/change.h"
#include "server/keys/table.h"
#include "server/talk.h"
#include "stores/memory/memory.h"

#define HOST "Host: localhost\r\n"
#define GET  "GET /empty HTTP/1.1\r\n" HOST "\r\n"

static void donep(struct talk_reply *r)
{
    talk_reply_done(r);
}

TEST(server_refuses_public_addresses_without_keys)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    UPP_CLEANUP(sv_server_closep) struct sv_server *s = NULL;
    struct upp_err err;
    CHECK(weft_loop_open(NULL, &l, &err) == 0);
    static const char *const outside[] = {"0.0.0.0:0", "[::]:0", "192.0.2.1:80"};
    for (size_t i = 0; i < WB_LEN(outside); i++) {
        int r = sv_server_open(l, UPP_OPTS(sv_server_opts, .listen = outside[i]), &s, &err);
        ALWAYS(r < 0);
        CHECK_INT(r, -UPP_EREFUSED);
    }
    CHECK_INT(sv_server_open(l, UPP_OPTS(sv_server_opts, .listen = "nowhere"), &s, &err), -UPP_EINVALID);
    CHECK_INT(sv_server_open(l, UPP_OPTS(sv_server_opts, .listen = NULL), &s, &err), -UPP_EINVALID);
}

/* ---- Keys ---- */

static int ask_with_keys(struct talk *t, const char *key, struct upp_err *err)
{
    static const struct {
        const char *headers, *path;
        int status;
    } cases[] = {
        {"", "/echo/a/x/b", 401},
        {"Authorization: Bearer %s\r\n", "/echo/a/x/b", 200},
        {"authorization: bearer  %s \r\n", "/echo/a/x/b", 200},
        {"x-api-key: %s\r\n", "/echo/a/x/b", 200},
        {"Authorization: Basic abc\r\nX-API-Key: %s\r\n", "/echo/a/x/b", 200},
        {"Authorization: Bearer open\r\n", "/echo/a/x/b", 401},
        {"Authorization: Bearer %s0\r\n", "/echo/a/x/b", 401},
        {"Authorization: Basic %s\r\n", "/echo/a/x/b", 401},
        {"Authorization: Bearer %s\r\nAuthorization: Bearer sesame\r\n", "/echo/a/x/b", 401},
        {"x-api-key: %s\r\nx-api-key: sesame\r\n", "/echo/a/x/b", 401},
        {"Authorization: Bearer %s\r\nweft-tenant: thieves\r\n", "/echo/a/x/b", 403},
        {"Authorization: Bearer %s\r\nweft-user: ali\r\n", "/echo/a/x/b", 403},
        {"", "/livez", 200},
        {"", "/readyz", 200},
        {"", "/none", 404},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(donep) struct talk_reply r;
        WB_CLEANUP(wb_buf_done) struct wb_buf request = WB_BUF(1024);
        struct upp_str h = wb_cstr(cases[i].headers);
        size_t at = wb_str_find(h, UPP_STR("%s"), 0);
        talk_reply_init(&r);
        wb_buf_addf(&request, "GET %s HTTP/1.1\r\n" HOST, cases[i].path);
        wb_buf_add(&request, wb_str_sub(h, 0, at));
        if (at != SIZE_MAX) {
            wb_buf_add(&request, wb_cstr(key));
            wb_buf_add(&request, wb_str_sub(h, at + 2, SIZE_MAX));
        }
        wb_buf_add(&request, UPP_STR("\r\n"));
        test_note("%s %s", cases[i].path, cases[i].headers);
        TRY(talk_once(t, wb_buf_str(&request), &r, err));
        FAIL_UNLESS(r.status == cases[i].status);
        FAIL_UNLESS(r.status != 401 || wb_str_eq(talk_header(&r, UPP_STR("www-authenticate")), UPP_STR("Bearer")));
        FAIL_UNLESS(r.keep_alive);
        FAIL_UNLESS(r.status != 200 || cases[i].path[1] != 'e' ||
                    wb_str_eq(wb_buf_str(&r.body), UPP_STR("a b - forty")));
    }
    return 0;
}

static WEFT_SUSPENDS int shows_keys(struct talk *t, struct upp_err *err)
{
    return talk_with_key(t, SV_SCOPE_READ, ask_with_keys, err);
}

TEST(server_asks_for_keys)
{
    struct upp_err err = {0};
    struct talk t = {.client = shows_keys, .simulated = true, .seed = 2};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* ---- The Unix socket ---- */

static int by_socket(struct talk *t, struct upp_err *err)
{
    static const char get[] = "GET /empty HTTP/1.1\r\nHost: whatever\r\n\r\n";
    WB_CLEANUP(donep) struct talk_reply r;
    UPP_CLEANUP(test_closep) int fd = -1;
    talk_reply_init(&r);
    TRY(talk_connect(t, 1, &fd, err));
    TRY(weft_send(fd, get, sizeof get - 1, err));
    TRY(talk_read(fd, &r, false, err));
    FAIL_UNLESS(r.status == 200);
    return 0;
}

TEST(server_listens_on_a_unix_socket_too)
{
    struct upp_err err = {0};
    char where[256];
    (void)snprintf(where, sizeof where, "unix:%s/s", test_folder());
    struct talk t = {.client = by_socket, .opts.listen_local = where};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* ---- Too many ---- */

static void close_all(int (*fds)[40])
{
    for (size_t i = 0; i < 40; i++)
        test_closep(&(*fds)[i]);
}

static int crowds(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(close_all) int fds[40];
    WB_CLEANUP(donep) struct talk_reply r;
    talk_reply_init(&r);
    memset(fds, -1, sizeof fds);
    for (size_t i = 0; i < 40; i++)
        TRY(talk_connect(t, 0, &fds[i], err));
    size_t served = 0, refused = 0;
    for (size_t i = 0; i < 40; i++) {
        wb_buf_clear(&r.raw);
        int sent = weft_send(fds[i], GET, sizeof GET - 1, NULL);
        FAIL_UNLESS(sent == 0 || sent == -UPP_ENET); /* a refused one may be closed already; its answer is there */
        TRY(talk_read(fds[i], &r, false, err));
        served += r.status == 200;
        refused += r.status == 503 && talk_header(&r, UPP_STR("retry-after")).n;
    }
    FAIL_UNLESS(served == 8 && refused == 32);
    FAIL_UNLESS(t->server->n_conns == 8);
    for (size_t i = 0; i < 40; i++)
        test_closep(&fds[i]);
    TRY(weft_sleep_ms(2000, err));
    FAIL_UNLESS(t->server->n_conns == 0 && t->server->n_refusers == 0);
    TRY(talk_once(t, UPP_STR(GET), &r, err)); /* there is room again */
    FAIL_UNLESS(r.status == 200);
    return 0;
}

TEST(server_has_room_for_so_many)
{
    struct upp_err err = {0};
    struct talk t = {.client = crowds, .simulated = true, .seed = 3, .opts.max_conns = 8};
    int r = talk_run(&t, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

/* ---- Many at once, on both loops ---- */

struct visitor {
    struct talk *t;
    unsigned done;
};

static int visits(void *arg, struct upp_err *err)
{
    struct visitor *v = arg;
    WB_CLEANUP(donep) struct talk_reply r;
    UPP_CLEANUP(test_closep) int fd = -1;
    talk_reply_init(&r);
    TRY(talk_connect(v->t, 0, &fd, err));
    for (int i = 0; i < 5; i++) {
        TRY(weft_send(fd, GET, sizeof GET - 1, err));
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS(r.status == 200);
    }
    v->done++;
    return 0;
}

static int many(struct talk *t, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct visitor v = {t, 0};
    for (int i = 0; i < 100; i++)
        TRY(weft_scope_spawn(&s, "visitor", visits, &v, NULL, err));
    TRY(weft_scope_join(&s, err));
    FAIL_UNLESS(v.done == 100 && t->server->count.requests == 500);
    return 0;
}

TEST(server_serves_many_at_once)
{
    for (uint64_t seed = 0; seed <= 2; seed++) {
        struct upp_err err = {0};
        struct talk t = {.client = many, .simulated = seed > 0, .seed = seed};
        int r = talk_run(&t, &err);
        test_note("seed %d: %s", (int)seed, err.msg);
        CHECK_INT(r, 0);
    }
}

/* ---- Stopping ---- */

/* Does not wait for the end of the connection, as talk_once does: that takes time where there is no shutdown. */
WEFT_SUSPENDS static int asks(struct talk *t, struct upp_str request, struct talk_reply *r, struct upp_err *err)
{
    UPP_CLEANUP(test_closep) int fd = -1;
    wb_buf_clear(&r->raw);
    TRY(talk_connect(t, 0, &fd, err));
    TRY(weft_send(fd, request.p, request.n, err));
    return talk_read(fd, r, false, err);
}

/* ---- A store that refuses commits ---- */

struct healing {
    struct wl_store store;
    unsigned asked, after; /* it works again with this commit */
};

WEFT_SUSPENDS static int heal(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct healing *h = WB_OUTER(s, struct healing, store);
    if (c->n || ++h->asked < h->after)
        return upp_fail(err, UPP_ESTORE, "it does not work yet");
    atomic_store(&s->state, WL_WORKS);
    return 0;
}

/* Nobody writes, because a balancer has taken the server out: it finds out itself. */
static int gets_ready(struct talk *t, struct upp_err *err)
{
    static const struct {
        enum wl_state state;
        const char *says;
    } cases[] = {{WL_FULL, "{\"status\":\"disk_full\""}, {WL_FAILING, "{\"status\":\"store_failing\""}};
    WB_CLEANUP(donep) struct talk_reply r;
    struct healing *h = t->arg;
    talk_reply_init(&r);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        h->asked = 0;
        atomic_store(&h->store.state, (uint8_t)cases[i].state);
        TRY(talk_once(t, UPP_STR("GET /readyz HTTP/1.1\r\n" HOST "\r\n"), &r, err));
        FAIL_UNLESS(r.status == 503 && wb_str_starts(wb_buf_str(&r.body), wb_cstr(cases[i].says)));
        TRY(weft_sleep_ms(10000, err));
        TRY(talk_once(t, UPP_STR("GET /readyz HTTP/1.1\r\n" HOST "\r\n"), &r, err));
        FAIL_UNLESS(r.status == 200 && h->asked == h->after);
    }
    return 0;
}

TEST(server_finds_out_that_its_store_works_again)
{
    static const struct wl_store_ops ops = {.size = sizeof ops, .name = "healing", .commit = heal};
    struct upp_err err = {0};
    struct healing h = {.store.ops = &ops, .after = 3};
    struct talk t = {.client = gets_ready, .arg = &h, .simulated = true, .seed = 1, .opts.store = &h.store};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* The server works without the index: it is ready, and says what the operator should know. */
static int says_index(struct talk *t, struct upp_err *err)
{
    static const struct {
        enum wl_index_state index;
        const char *body;
    } cases[] = {
        {WL_INDEX_DAMAGED, "{\"status\":\"ok\",\"search\":\"damaged\"}"},
        {WL_INDEX_REFILLED, "{\"status\":\"ok\",\"search\":\"rebuilding\"}"},
        {WL_INDEX_SOUND, "{\"status\":\"ok\"}"},
    };
    WB_CLEANUP(donep) struct talk_reply r;
    struct healing *h = t->arg;
    talk_reply_init(&r);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        atomic_store(&h->store.index_state, (uint8_t)cases[i].index);
        TRY(talk_once(t, UPP_STR("GET /readyz HTTP/1.1\r\n" HOST "\r\n"), &r, err));
        test_note("%.*s", UPP_FMT(wb_buf_str(&r.body)));
        FAIL_UNLESS(r.status == 200 && wb_str_eq(wb_buf_str(&r.body), wb_cstr(cases[i].body)));
    }
    return 0;
}

TEST(server_says_that_the_search_index_is_damaged)
{
    static const struct wl_store_ops ops = {.size = sizeof ops, .name = "healing", .commit = heal};
    struct upp_err err = {0};
    struct healing h = {.store.ops = &ops, .after = 1};
    struct talk t = {.client = says_index, .arg = &h, .simulated = true, .seed = 1, .opts.store = &h.store};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* Likewise what the sweep cannot remove. */
static int says_sweep(struct talk *t, struct upp_err *err)
{
    static const struct {
        uint64_t damaged;
        bool failing;
        const char *body;
    } cases[] = {
        {2, false, "{\"status\":\"ok\",\"sweep\":{\"damaged\":2,\"failing\":false}}"},
        {0, true, "{\"status\":\"ok\",\"sweep\":{\"damaged\":0,\"failing\":true}}"},
        {0, false, "{\"status\":\"ok\"}"},
    };
    WB_CLEANUP(donep) struct talk_reply r;
    struct wl_sweep_state *sweep = t->arg;
    talk_reply_init(&r);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        atomic_store(&sweep->damaged, cases[i].damaged);
        atomic_store(&sweep->failing, cases[i].failing);
        TRY(talk_once(t, UPP_STR("GET /readyz HTTP/1.1\r\n" HOST "\r\n"), &r, err));
        test_note("%.*s", UPP_FMT(wb_buf_str(&r.body)));
        FAIL_UNLESS(r.status == 200 && wb_str_eq(wb_buf_str(&r.body), wb_cstr(cases[i].body)));
    }
    return 0;
}

TEST(server_says_what_the_sweep_cannot_remove)
{
    struct upp_err err = {0};
    struct wl_sweep_state sweep = {0};
    struct talk t = {.client = says_sweep, .arg = &sweep, .simulated = true, .seed = 1, .opts.sweep = &sweep};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* ---- Memory that is given back ---- */

static _Atomic unsigned trims;

static int count_trim(void *none, struct upp_err *err)
{
    (void)none, (void)err;
    trims++;
    return 0;
}

/* Asks n times, with a pause of ms before each time. */
WEFT_SUSPENDS static int ask_often(struct talk *t, unsigned n, uint64_t ms, struct upp_err *err)
{
    WB_CLEANUP(donep) struct talk_reply r;
    talk_reply_init(&r);
    for (unsigned i = 0; i < n; i++) {
        TRY(weft_sleep_ms(ms, err));
        TRY(talk_once(t, UPP_STR(GET), &r, err));
        FAIL_UNLESS(r.status == 200);
    }
    return 0;
}

static int gets_idle(struct talk *t, struct upp_err *err)
{
    static const char stream[] = "GET /quiet HTTP/1.1\r\n" HOST "\r\n";
    UPP_CLEANUP(test_closep) int fd = -1;
    TRY(weft_sleep_ms(300000, err));
    FAIL_UNLESS(trims == 0); /* nothing was done */
    TRY(ask_often(t, 600, 50, err));
    FAIL_UNLESS(trims == 0); /* half a minute of twenty requests a second: busy, although it often waits */
    TRY(weft_sleep_ms(3000, err));
    FAIL_UNLESS(trims == 1);
    TRY(weft_sleep_ms(300000, err));
    FAIL_UNLESS(trims == 1); /* nothing was done since */
    TRY(ask_often(t, 150, 2000, err));
    FAIL_UNLESS(trims >= 5 && trims <= 6); /* five minutes of probes: once a minute */
    TRY(weft_sleep_ms(120000, err));
    unsigned before = trims;
    TRY(talk_connect(t, 0, &fd, err));
    TRY(weft_send(fd, stream, sizeof stream - 1, err));
    TRY(weft_sleep_ms(300000, err));
    FAIL_UNLESS(trims == before); /* a stream is open */
    test_closep(&fd);
    TRY(weft_sleep_ms(120000, err));
    FAIL_UNLESS(trims == before + 1);
    return 0;
}

TEST(server_gives_memory_back_when_it_is_idle)
{
    struct upp_err err = {0};
    struct talk t = {.client = gets_idle, .simulated = true, .seed = 4, .opts.trim = count_trim};
    trims = 0;
    CHECK_INT(talk_run(&t, &err), 0);
}

/* With a request under way, an idle connection and a stream: readyz says no at once, the request is answered, new ones
 * are not taken, the stream ends well, and all is over in time. */
static int stops(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(donep) struct talk_reply r, s;
    UPP_CLEANUP(test_closep) int idle = -1, slow = -1, stream = -1;
    static const char ready[] = "GET /readyz HTTP/1.1\r\n" HOST "\r\n",
                      slow_get[] = "GET /slow HTTP/1.1\r\n" HOST "\r\n",
                      quiet[] = "GET /quiet HTTP/1.1\r\n" HOST "\r\n";
    talk_reply_init(&r);
    talk_reply_init(&s);
    TRY(talk_connect(t, 0, &idle, err));
    TRY(weft_send(idle, ready, sizeof ready - 1, err));
    TRY(talk_read(idle, &r, false, err));
    FAIL_UNLESS(r.status == 200);
    TRY(talk_connect(t, 0, &stream, err));
    TRY(weft_send(stream, quiet, sizeof quiet - 1, err));
    TRY(talk_connect(t, 0, &slow, err));
    TRY(weft_send(slow, slow_get, sizeof slow_get - 1, err));
    TRY(weft_sleep_ms(500, err));

    uint64_t begin = wb_mono_ms();
    sv_server_stop(t->server);
    TRY(weft_send(idle, ready, sizeof ready - 1, err));
    TRY(talk_read(idle, &r, false, err));
    FAIL_UNLESS(r.status == 503 && !r.keep_alive);
    TRY(asks(t, UPP_STR("GET /readyz HTTP/1.1\r\n" HOST "\r\n"), &r, err)); /* by a new connection too */
    FAIL_UNLESS(r.status == 503 && !r.keep_alive);
    TRY(asks(t, UPP_STR("GET /livez HTTP/1.1\r\n" HOST "\r\n"), &r, err));
    FAIL_UNLESS(r.status == 200 && !r.keep_alive);
    TRY(asks(t, UPP_STR(GET), &r, err));
    FAIL_UNLESS(r.status == 503 && talk_header(&r, UPP_STR("retry-after")).n);
    TRY(talk_read(stream, &s, false, err));
    FAIL_UNLESS(s.status == 200 && wb_str_find(wb_buf_str(&s.body), UPP_STR("Last-Event-ID"), 0) != SIZE_MAX);
    wb_buf_clear(&r.raw);
    TRY(talk_read(slow, &r, false, err));
    FAIL_UNLESS(r.status == 200 && !r.keep_alive);
    FAIL_UNLESS(wb_mono_ms() - begin < 2000);
    return 0;
}

TEST(server_stops_gracefully)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct upp_err err = {0};
        struct talk t = {.client = stops, .simulated = true, .seed = seed};
        int r = talk_run(&t, &err);
        test_note("seed %d: %s", (int)seed, err.msg);
        CHECK_INT(r, 0);
        CHECK_INT(t.served, 0);
    }
}

/* Somebody who never ends: cut after eight seconds. */
static int never_ends(struct talk *t, struct upp_err *err)
{
    static const char half[] = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n";
    UPP_CLEANUP(test_closep) int fd = -1;
    TRY(talk_connect(t, 0, &fd, err));
    TRY(weft_send(fd, half, sizeof half - 1, err));
    TRY(weft_sleep_ms(100, err));
    uint64_t begin = wb_mono_ms();
    sv_server_stop(t->server);
    char c;
    int64_t n = weft_recv(fd, &c, 1, err);
    TRY((int)n);
    FAIL_UNLESS(n == 0 && wb_mono_ms() - begin >= 7900 && wb_mono_ms() - begin < 9000);
    return 0;
}

TEST(server_stops_in_time)
{
    struct upp_err err = {0};
    struct talk t = {.client = never_ends, .simulated = true, .seed = 9};
    CHECK_INT(talk_run(&t, &err), 0);
    CHECK_INT(t.served, 0);
}

/* ---- A reload in the middle of a request ---- */

static struct sv_server_opts new_opts(void)
{
    static const char *const hosts[] = {"new.example", NULL};
    return (struct sv_server_opts){.hosts = hosts, .on_busy = 2, .ai_sdk = 6, .no_instructions = true};
}

/* The settings before and after a reload that comes while it waits. */
static int reloads_and_shows(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_server_opts new = new_opts();
    wb_buf_addf(&x->reply.body, "%u %u %d,", x->settings->on_busy, x->settings->ai_sdk, x->settings->no_instructions);
    TRY(sv_server_reconfigure(x->server, &new, err));
    TRY(weft_yield(err));
    wb_buf_addf(&x->reply.body, "%u %u %d", x->settings->on_busy, x->settings->ai_sdk, x->settings->no_instructions);
    x->reply.status = 200;
    return 0;
}

static int sees_one(struct talk *t, struct upp_err *err)
{
    static const char get[] = "GET /show HTTP/1.1\r\n" HOST "\r\n";
    static const char old[] = "GET /show HTTP/1.1\r\nHost: new.example\r\n\r\n";
    UPP_CLEANUP(test_closep) int fd = -1;
    WB_CLEANUP(donep) struct talk_reply r;
    talk_reply_init(&r);
    TRY(asks(t, wb_cstr(old), &r, err));
    FAIL_UNLESS(r.status == 421);
    TRY(talk_connect(t, 0, &fd, err));
    TRY(weft_send(fd, get, sizeof get - 1, err));
    TRY(talk_read(fd, &r, false, err));
    FAIL_UNLESS(r.status == 200 && wb_str_eq(wb_buf_str(&r.body), UPP_STR("1 5 0,1 5 0")));
    TRY(weft_send(fd, old, sizeof old - 1, err)); /* the next one, on the same connection */
    TRY(talk_read(fd, &r, false, err));
    FAIL_UNLESS(r.status == 200 && wb_str_eq(wb_buf_str(&r.body), UPP_STR("2 6 1,2 6 1")));
    return 0;
}

TEST(server_request_has_one_configuration_to_its_end)
{
    static const struct sv_route routes[] = {{SV_GET, "/show", reloads_and_shows, 1, 0}};
    static const struct sv_door door = {.name = "show", .prefix = "/", .routes = routes, .n_routes = 1};
    static const struct sv_door *const doors[] = {&door, NULL};
    struct upp_err err = {0};
    struct talk t = {.client = sees_one, .opts.doors = doors, .opts.on_busy = 1, .opts.ai_sdk = 5, .simulated = true};
    CHECK_INT(talk_run(&t, &err), 0);
    CHECK_INT(t.served, 0);
}

static int by_signal(struct talk *t, struct upp_err *err)
{
    TRY(weft_sleep_ms(1, err));
    FAIL_UNLESS(raise(SIGTERM) == 0); /* for this thread alone */
    for (int i = 0; i < 1000 && !t->server->stopping; i++)
        TRY(weft_sleep_ms(1, err));
    FAIL_UNLESS(t->server->stopping);
    return 0;
}

static int counts_reloads(void *app, struct upp_err *err)
{
    struct talk *t = app;
    unsigned *n = t->arg;
    ++*n;
    int r = weft_sleep_ms(1, err); /* it may wait */
    return r < 0 ? r : upp_fail(err, UPP_EINVALID, "a failure is logged");
}

static int by_hangup(struct talk *t, struct upp_err *err)
{
    const unsigned *n = t->arg;
    for (unsigned k = 1; k <= 3; k++) {
        TRY(weft_sleep_ms(1, err));
        FAIL_UNLESS(raise(SIGHUP) == 0);
        for (int i = 0; i < 1000 && *n < k; i++)
            TRY(weft_sleep_ms(1, err));
        FAIL_UNLESS(*n == k && !t->server->stopping);
    }
    return 0;
}

/* A hangup calls opts.reload each time, and stops nothing. */
TEST(server_reloads_by_signal)
{
    struct upp_err err = {0};
    sigset_t before, none, hup;
    unsigned n = 0;
    struct talk t = {.client = by_hangup, .arg = &n, .opts.signals = true, .opts.reload = counts_reloads};
    (void)sigemptyset(&none);
    CHECK(pthread_sigmask(SIG_BLOCK, &none, &before) == 0);
    int r = talk_run(&t, &err);
    (void)sigemptyset(&hup);
    (void)sigaddset(&hup, SIGHUP);
    while (sigtimedwait(&hup, NULL, &(struct timespec){0, 0}) > 0) /* a fault may have left it for us */
        ;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    CHECK_INT(r, 0);
    CHECK_INT(t.served, 0);
}

TEST(server_stops_by_signal)
{
    struct upp_err err = {0};
    sigset_t before, none, term;
    struct talk t = {.client = by_signal, .opts.signals = true};
    (void)sigemptyset(&none);
    CHECK(pthread_sigmask(SIG_BLOCK, &none, &before) == 0);
    int r = talk_run(&t, &err);
    (void)sigemptyset(&term);
    (void)sigaddset(&term, SIGTERM);
    while (sigtimedwait(&term, NULL, &(struct timespec){0, 0}) > 0) /* a fault may have left it for us */
        ;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    CHECK_INT(r, 0);
    CHECK_INT(t.served, 0);
}
