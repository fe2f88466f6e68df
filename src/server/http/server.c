/* server/http/server.c — opens listeners and loops, accepts connections, reports readiness, and stops. */
#include "server/http/server.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/opts.h"
#include "log/change.h"
#include "run/engine.h"
#include "server/http/auth.h"
#include "server/http/conn.h"
#include "server/http/stream.h"
#include "server/http/tls.h"

enum {
    FULL_WAIT_MS = 100, /* pause when there is no descriptor or memory for another connection */
    BROKEN = 10,        /* consecutive failures of a listening socket */
    STORE_MS = 250,     /* how often the store is checked */
    RETRY_MS = 1000,    /* how often one that refuses commits is tried */
    LAST_MS = 1000,     /* for responses in progress when the store has failed */
    LOG_MS = 1000,      /* between two log lines that no connection can be accepted */
    LARGE = 4,          /* large responses in progress at the same time */
    WAITING = 1024,     /* requests that wait for one */
    TURN_MS = 20000,
    SMALL = 8 << 10, /* bytes that the budget always has for one connection */
    DAY_MS = 86400000,
    IDLE_MS = 1000,  /* how often it looks whether the server is idle */
    IDLE_MOST = 10,  /* requests in that time of an idle server: probes */
    TRIM_MS = 60000, /* between two times that memory is given back */
};

/* ---- Health checks ----------------------------------------------------------------------------------------------- */

static int respond_ok(struct sv_exchange *x, struct upp_err *err)
{
    (void)err;
    x->reply.status = 200;
    wb_buf_add(&x->reply.body, UPP_STR("{\"status\":\"ok\"}"));
    return 0;
}

const char *sv_server_status(const struct sv_server *s)
{
    static const char *const states[] = {
        [WL_WORKS] = "ok", [WL_FULL] = "disk_full", [WL_FAILING] = "store_failing", [WL_FAILED] = "store_failed"};
    return s->stopping ? "stopping" : states[s->opts.store ? wl_store_state(s->opts.store) : WL_WORKS];
}

/* The server accepts work, but the operator should know of this. */
static void add_warnings(struct wb_buf *out, const struct wl_store *store, const struct wl_sweep_state *sweep)
{
    static const char *const states[] = {[WL_INDEX_DAMAGED] = "damaged", [WL_INDEX_REFILLED] = "rebuilding"};
    const char *index = store ? states[wl_store_index_state(store)] : NULL;
    if (index)
        wb_buf_addf(out, ",\"search\":\"%s\"", index);
    uint64_t damaged = sweep ? atomic_load(&sweep->damaged) : 0;
    bool failing = sweep && atomic_load(&sweep->failing);
    if (damaged || failing)
        wb_buf_addf(out, ",\"sweep\":{\"damaged\":%llu,\"failing\":%s}", (unsigned long long)damaged,
                    failing ? "true" : "false");
}

static int respond_ready(struct sv_exchange *x, struct upp_err *err)
{
    static const struct {
        const char *status, *message;
    } messages[] = {
        {"disk_full", "the disk is full: reading and cancelling work, nothing new is stored until there is room"},
        {"store_failing", "commits fail, and are tried again: nothing new is stored until one succeeds"},
        {"store_failed", "a sync failed, or a file of the store is gone: nothing is written any more"}};
    const char *status = sv_server_status(x->server);
    bool ok = strcmp(status, "ok") == 0;
    (void)err;
    x->reply.status = ok ? 200 : 503;
    wb_buf_addf(&x->reply.body, "{\"status\":\"%s\"", status);
    if (ok)
        add_warnings(&x->reply.body, x->server->opts.store, x->server->opts.sweep);
    for (size_t i = 0; i < WB_LEN(messages); i++)
        if (strcmp(status, messages[i].status) == 0)
            wb_buf_addf(&x->reply.body, ",\"message\":\"%s\"", messages[i].message);
    wb_buf_addc(&x->reply.body, '}');
    return 0;
}

static const struct sv_route own_routes[] = {
    {SV_GET, "/livez", respond_ok, 1, SV_ROUTE_ALWAYS | SV_ROUTE_OPEN},
    {SV_GET, "/readyz", respond_ready, 1, SV_ROUTE_ALWAYS | SV_ROUTE_OPEN},
    {SV_GET, "/liveness", respond_ok, 1, SV_ROUTE_ALWAYS | SV_ROUTE_OPEN}, /* names that AgentScope's clients know */
    {SV_GET, "/readiness", respond_ready, 1, SV_ROUTE_ALWAYS | SV_ROUTE_OPEN},
};
static const struct sv_door own_door = {
    .name = "server", .prefix = "", .routes = own_routes, .n_routes = WB_LEN(own_routes)};

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static uint64_t either(uint64_t given, uint64_t otherwise)
{
    return given ? given : otherwise;
}

static void fill_opts(struct sv_server_opts *to, const struct sv_server_opts *given)
{
    wb_opts(to, sizeof *to, given);
    to->max_conns = (uint32_t)either(to->max_conns, 12000);
    to->header_ms = either(to->header_ms, 10000);
    to->body_ms = either(to->body_ms, 30000);
    to->idle_ms = either(to->idle_ms, 75000);
    to->send_ms = either(to->send_ms, 30000);
    to->ping_ms = either(to->ping_ms, 15000);
    to->drain_ms = either(to->drain_ms, 8000);
    to->linger_ms = either(to->linger_ms, 10000);
    to->max_held = either(to->max_held, 128u << 20);
}

static void warn(const struct sv_server *s, const struct sv_listener *l)
{
    if (!l->loopback && !l->tls && !s->opts.proxies.n)
        wb_log(WB_WARN,
               "plain HTTP on an address that others can reach: keys and conversations can be read on the way. Set "
               "server.tls, or server.trusted_proxies if a proxy in front of the server does TLS",
               WB_LZ("url", l->url));
    if (!l->local && sv_keys_required(s->opts.keys) && !sv_keys_usable(s->opts.keys))
        wb_log(WB_WARN,
               "every request over TCP is refused: all API keys are revoked. Add one with `weft keys add NAME`",
               WB_LZ("url", l->url));
    for (const char *const *o = s->opts.origins; o && *o && !sv_keys_required(s->opts.keys); o++)
        if (strcmp(*o, "*") == 0 && !l->local)
            wb_log(WB_WARN, "every web page that is opened on this machine can use the server: origins is '*', and "
                            "there are no keys");
}

static int add_listener(struct sv_server *s, const char *where, struct upp_err *err)
{
    struct sv_listener *l = &s->listeners[s->n_listeners], look;
    int r = sv_listen_parse(wb_cstr(where), &look, err);
    if (r < 0)
        return r;
    if (!look.loopback && !sv_keys_usable(s->opts.keys))
        return upp_fail(err, UPP_EREFUSED,
                        "%s can be reached from other machines, and the store has no API keys: add one with "
                        "`weft keys add NAME`, or stay on this machine with `weft serve --listen 127.0.0.1:8787`",
                        where);
    if (!look.local && s->opts.proxies.n && !sv_keys_usable(s->opts.keys))
        return upp_fail(err, UPP_EREFUSED,
                        "server.trusted_proxies lets in whoever reaches the proxy, and the store has no API keys: add "
                        "one with `weft keys add NAME`, or stay on this machine with `weft serve --listen "
                        "127.0.0.1:8787` and without server.trusted_proxies");
    r = sv_listen(wb_cstr(where), l, err);
    if (r < 0)
        return r;
    s->n_listeners++;
    l->tls = s->tls && !l->local;
    if (l->tls) {
        memmove(l->url + 5, l->url + 4, sizeof l->url - 5); /* https: there is room, addresses are short */
        l->url[4] = 's';
        l->url[sizeof l->url - 1] = 0;
    }
    warn(s, l);
    return 0;
}

static int open_signals(struct sv_server *s, struct upp_err *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* fails only for invalid arguments */
    s->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return s->signal_fd < 0 ? upp_fail(err, UPP_ELIMIT, "no descriptor for signals") : 0;
}

static int make_cores(struct sv_server *s, struct upp_err *err)
{
    const struct sv_server_opts *o = &s->opts;
    if (o->n_places >= SV_CORES)
        return upp_fail(err, UPP_EINVALID, "a server has at most %d loops", SV_CORES);
    s->cores = wb_calloc(1 + o->n_places, sizeof *s->cores);
    if (!s->cores)
        return upp_fail(err, UPP_ENOMEM, "no memory for a server");
    s->n_cores = 1 + (uint32_t)o->n_places;
    s->cores[0].loop = s->loop;
    s->cores[0].engine = o->engine;
    for (size_t i = 0; i < o->n_places; i++) {
        s->cores[i + 1].loop = o->places[i].loop;
        s->cores[i + 1].engine = o->places[i].engine;
    }
    for (uint32_t i = 0; i < s->n_cores; i++)
        wb_list_init(&s->cores[i].streams);
    return 0;
}

int sv_server_open(struct weft_loop *loop, const struct sv_server_opts *opts, struct sv_server **ret,
                   struct upp_err *err)
{
    UPP_CLEANUP(sv_server_closep) struct sv_server *s = wb_calloc(1, sizeof *s);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "no memory for a server");
    s->loop = loop;
    s->signal_fd = -1;
    fill_opts(&s->opts, opts);
    wb_list_init(&s->conns);
    s->fibers.flags = WEFT_SCOPE_ISOLATED;
    size_t n = 0;
    s->doors[n++] = &own_door;
    if (s->opts.ops)
        s->doors[n++] = s->opts.ops;
    for (size_t i = 0; s->opts.doors && s->opts.doors[i]; i++) {
        if (i == SV_DOORS)
            return upp_fail(err, UPP_EBUG, "a server has at most %d doors", SV_DOORS);
        s->doors[n++] = s->opts.doors[i];
    }
    s->scratch = wb_alloc(SV_READ);
    if (!s->scratch)
        return upp_fail(err, UPP_ENOMEM, "no memory for a server");
    int r = make_cores(s, err);
    if (r >= 0 && s->opts.certificate)
        r = sv_tls_open(s->opts.certificate, s->opts.key, &s->tls, err);
    if (r >= 0 && s->opts.listen)
        r = add_listener(s, s->opts.listen, err);
    if (r >= 0 && s->opts.listen_local)
        r = add_listener(s, s->opts.listen_local, err);
    if (r >= 0 && !s->n_listeners && !s->opts.takes)
        r = upp_fail(err, UPP_EINVALID, "a server needs an address to listen on");
    if (r >= 0 && s->opts.signals)
        r = open_signals(s, err);
    if (r >= 0)
        r = sv_settings_new(&s->opts, s->listeners, s->n_listeners, &s->settings, err);
    if (r < 0)
        return r;
    *ret = WB_TAKE(s);
    return 0;
}

void sv_server_close(struct sv_server *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_listeners; i++)
        sv_listener_close(&s->listeners[i]);
    if (s->signal_fd >= 0)
        (void)WB_CALL(close)(s->signal_fd);
    sv_tls_close(s->tls);
    sv_settings_unref(s->settings);
    wb_free(s->cores);
    wb_free(s->scratch);
    wb_free(s);
}

void sv_server_closep(struct sv_server **s)
{
    sv_server_close(*s);
}

const char *sv_server_url(const struct sv_server *s, size_t i)
{
    return i < s->n_listeners ? s->listeners[i].url : NULL;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

void sv_server_busy(struct sv_server *s, bool *flag, bool now)
{
    if (*flag == now)
        return;
    *flag = now;
    s->busy += now ? 1 : (size_t)-1;
    if (s->stopping)
        weft_cond_broadcast(&s->changed);
}

bool sv_server_hold(struct sv_server *s, size_t *mine, size_t now)
{
    size_t others = s->held - *mine;
    if (now > *mine && now > SMALL && (now > s->opts.max_held || others > s->opts.max_held - now))
        return false;
    *mine = now;
    s->held = others + now;
    s->most_held = WB_MAX(s->most_held, s->held);
    return true;
}

WEFT_SUSPENDS int sv_server_turn(struct sv_server *s, struct upp_err *err)
{
    int r = 0;
    if (s->waiting >= WAITING)
        return wb_fail_full(err, "%d requests wait to be answered, the limit", WAITING);
    s->waiting++;
    {
        WEFT_DEADLINE(TURN_MS);
        while (r >= 0 && s->large >= LARGE)
            r = weft_cond_wait(&s->turn, err);
    }
    s->waiting--;
    if (r == -UPP_ETIMEOUT)
        return wb_fail_full(err, "too many large answers are being made");
    if (r >= 0)
        s->large++;
    return r < 0 ? r : 0;
}

void sv_server_turn_end(struct sv_server *s)
{
    s->large--;
    weft_cond_signal(&s->turn);
}

int sv_server_reconfigure(struct sv_server *s, const struct sv_server_opts *from, struct upp_err *err)
{
    struct sv_settings *new;
    int r = sv_settings_new(from, s->listeners, s->n_listeners, &new, err);
    if (r < 0)
        return r;
    sv_settings_unref(s->settings);
    s->settings = new;
    if (from->proxies.n && !sv_keys_usable(s->opts.keys))
        wb_log(WB_WARN,
               "every request over TCP is refused: server.trusted_proxies needs an API key. Add one with `weft "
               "keys add NAME`");
    return 0;
}

void sv_server_wake_streams(struct sv_server *s)
{
    for (uint32_t i = 0; i < s->n_cores; i++)
        sv_core_wake(&s->cores[i]);
}

void sv_server_stop(struct sv_server *s)
{
    if (s->stopping)
        return;
    s->stopping = true;
    sv_server_wake_streams(s);
    weft_cond_broadcast(&s->changed);
}

/* Starts a fiber for an accepted descriptor, or closes it. */
static int start_conn(struct sv_server *s, int fd, bool local, bool tls, struct upp_err *err)
{
    bool full = s->n_conns >= s->opts.max_conns;
    struct sv_conn *c = NULL;
    s->count.accepted++;
    s->count.refused += full;
    if (full && s->n_refusers >= SV_REFUSERS) {
        (void)WB_CALL(close)(fd);
        return 0;
    }
    if (!local)
        sv_net_tune(fd);
    int r = sv_conn_new(s, fd, local, tls, full, &c, err);
    if (r < 0) {
        (void)WB_CALL(close)(fd);
        return r;
    }
    r = weft_scope_spawn(&s->fibers, "connection", sv_conn_main, c, NULL, err);
    if (r < 0)
        sv_conn_free(c);
    return r;
}

int sv_server_take(struct sv_server *s, int fd, struct upp_err *err)
{
    return start_conn(s, fd, true, false, err);
}

/* Accepting is retried ten times a second, and logged once a second. */
static void log_full(struct sv_acceptor *a, const struct upp_err *err)
{
    uint64_t now = wb_mono_ms();
    if (a->logged_ms && now - a->logged_ms < LOG_MS) {
        a->unlogged++;
        return;
    }
    wb_log(WB_WARN, "cannot take a connection", WB_LERR(err), WB_LU("not_told", a->unlogged));
    a->logged_ms = now;
    a->unlogged = 0;
}

WEFT_SUSPENDS static int accepts(void *arg, struct upp_err *err)
{
    struct sv_acceptor *a = arg;
    struct sv_server *s = a->server;
    struct sv_listener *l = a->listener;
    for (unsigned failures = 0;;) {
        int fd = weft_accept(l->fd, err);
        int r = fd < 0 ? fd : start_conn(s, fd, l->local, l->tls, err);
        if (r >= 0) {
            failures = 0;
            r = weft_yield(err); /* existing connections before new ones */
            if (r < 0)
                return r;
            continue;
        }
        if (r == -UPP_ECANCELED)
            return r;
        log_full(a, err);
        if (r == -UPP_ENET && ++failures == BROKEN) { /* this socket will never accept again */
            s->failed = *err;
            sv_server_stop(s);
            return r;
        }
        r = weft_sleep_ms(FULL_WAIT_MS, err); /* no descriptor or memory: wait until a connection has closed */
        if (r < 0)
            return r;
    }
}

WEFT_SUSPENDS static int watches_signals(void *arg, struct upp_err *err)
{
    struct sv_server *s = arg;
    for (;;) {
        struct signalfd_siginfo info;
        int64_t n = weft_read(s->signal_fd, &info, sizeof info, err);
        if (n < 0)
            return (int)n;
        wb_log(WB_INFO, "signal", WB_LU("number", info.ssi_signo));
        if (info.ssi_signo == SIGHUP) {
            s->reload = true;
            weft_cond_signal(&s->hangup);
            continue;
        }
        if (s->stopping)
            s->opts.drain_ms = 1; /* the second signal */
        sv_server_stop(s);
        weft_cond_broadcast(&s->changed);
    }
}

WEFT_SUSPENDS static void reload(struct sv_server *s)
{
    struct upp_err err = {0};
    int r = s->tls ? sv_tls_reload(s->tls, &err) : 0;
    if (r == -UPP_ECANCELED)
        return;
    if (r < 0)
        wb_log(WB_ERROR, "the certificate was not reloaded: the old one stays", WB_LERR(&err));
    else if (s->tls)
        wb_log(WB_INFO, "the certificate was reloaded", WB_LZ("file", s->opts.certificate));
    if (s->opts.reload && s->opts.reload(s->opts.app, &err) < 0)
        wb_log(WB_ERROR, "not reloaded", WB_LERR(&err));
}

/* In a fiber of its own: a slow reload keeps nobody from stopping the server. Signals that come meanwhile are one. */
WEFT_SUSPENDS static int reloads(void *arg, struct upp_err *err)
{
    struct sv_server *s = arg;
    for (;;) {
        int r = 0;
        while (r >= 0 && !s->reload)
            r = weft_cond_wait(&s->hangup, err);
        if (r < 0)
            return r;
        s->reload = false;
        reload(s);
    }
}

/* A store that cannot write any more cannot acknowledge anything: the process's supervisor should start another
 * process, which reads what is on the disk. */
WEFT_SUSPENDS static int watches_store(void *arg, struct upp_err *err)
{
    struct sv_server *s = arg;
    struct wl_store *store = s->opts.store;
    struct wl_commit none = {.owner.tenant = UPP_STR("-"), .flags = WL_SYNCED};
    while (wl_store_state(store) != WL_FAILED) {
        bool works = wl_store_state(store) == WL_WORKS;
        int r = weft_sleep_ms(works ? STORE_MS : RETRY_MS, err);
        if (r < 0)
            return r;
        if (!works) /* a balancer may wait for that, and nobody writes */
            r = wl_store_commit(store, &none, NULL);
        if (!works && r >= 0 && wl_store_state(store) == WL_WORKS)
            wb_log(WB_INFO, "the store takes commits again");
    }
    if (wl_store_commit(store, &none, &s->failed) >= 0) /* it returns the reason */
        return 0;
    wb_log(WB_ERROR, "the store has failed: the server stops", WB_LERR(&s->failed));
    s->opts.drain_ms = WB_MIN(s->opts.drain_ms, (uint64_t)LAST_MS);
    sv_server_stop(s);
    return 0;
}

/* A certificate that expires while the server runs: a line of the log a day. */
WEFT_SUSPENDS static int watches_certificate(void *arg, struct upp_err *err)
{
    const struct sv_server *s = arg;
    for (;;) {
        int r = weft_sleep_ms(DAY_MS, err);
        if (r < 0)
            return r;
        sv_tls_check(s->tls);
    }
}

static bool is_at_work(const struct sv_server *s)
{
    for (uint32_t i = 0; i < s->n_cores; i++)
        if (s->cores[i].engine && wr_engine_working(s->cores[i].engine))
            return true;
    return s->busy > 0;
}

/* After a burst malloc keeps what was freed. Walking its heaps takes milliseconds in which other threads wait for
 * memory, so this is done when nobody waits for an answer. */
WEFT_SUSPENDS static int gives_memory_back(void *arg, struct upp_err *err)
{
    const struct sv_server *s = arg;
    uint64_t last = wb_mono_ms(), requests = 0;
    bool worked = false;
    for (;;) {
        int r = weft_sleep_ms(IDLE_MS, err);
        if (r < 0)
            return r;
        uint64_t new = s->count.requests - requests;
        bool busy = is_at_work(s) || new > IDLE_MOST;
        worked = worked || busy || new;
        requests = s->count.requests;
        if (busy || !worked || wb_mono_ms() - last < TRIM_MS)
            continue;
        r = weft_work(s->opts.trim, NULL, NULL, NULL, err);
        if (r == -UPP_ECANCELED)
            return r;
        if (r < 0) /* no worker now: tries again */
            continue;
        last = wb_mono_ms();
        worked = false;
    }
}

/* Those who came once more than was told, and not again. */
WEFT_SUSPENDS static int tells_strangers(void *arg, struct upp_err *err)
{
    struct sv_server *s = arg;
    for (;;) {
        int r = weft_sleep_ms(SV_STRANGERS_MS / 4, err);
        if (r < 0)
            return r;
        sv_strangers_tell(&s->strangers, wb_mono_ms());
    }
}

/* Waits until no connection is busy, at most drain_ms, which a second signal shortens. */
WEFT_SUSPENDS static int drain(struct sv_server *s, struct upp_err *err)
{
    uint64_t since = wb_mono_ms();
    int r = 0;
    while (r >= 0 && s->busy) {
        uint64_t spent = wb_mono_ms() - since;
        if (spent >= s->opts.drain_ms)
            break;
        WEFT_DEADLINE(s->opts.drain_ms - spent);
        r = weft_cond_wait(&s->changed, err);
    }
    return r == -UPP_ETIMEOUT ? 0 : r;
}

WEFT_SUSPENDS int sv_server_run(struct sv_server *s, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < s->n_listeners; i++) {
        s->acceptors[i] = (struct sv_acceptor){.server = s, .listener = &s->listeners[i]};
        r = weft_scope_spawn(&s->fibers, "accept", accepts, &s->acceptors[i], NULL, err);
    }
    if (r >= 0 && s->signal_fd >= 0)
        r = weft_scope_spawn(&s->fibers, "signals", watches_signals, s, NULL, err);
    if (r >= 0 && s->signal_fd >= 0)
        r = weft_scope_spawn(&s->fibers, "reload", reloads, s, NULL, err);
    if (r >= 0 && s->tls)
        r = weft_scope_spawn(&s->fibers, "certificate", watches_certificate, s, NULL, err);
    if (r >= 0 && s->opts.store)
        r = weft_scope_spawn(&s->fibers, "store", watches_store, s, NULL, err);
    if (r >= 0 && s->opts.keys)
        r = weft_scope_spawn(&s->fibers, "strangers", tells_strangers, s, NULL, err);
    if (r >= 0 && s->opts.trim)
        r = weft_scope_spawn(&s->fibers, "memory", gives_memory_back, s, NULL, err);
    while (r >= 0 && !s->stopping)
        r = weft_cond_wait(&s->changed, err);
    if (r >= 0)
        r = drain(s, err);
    s->stopping = true;
    weft_scope_close(&s->fibers);
    for (uint32_t i = 1; i < s->n_cores; i++)
        sv_core_settle(&s->cores[i]);
    wb_list_each (l, &s->conns) /* their fibers were cancelled before they began */
        sv_conn_free(wb_item(l, struct sv_conn, link));
    sv_strangers_tell(&s->strangers, UINT64_MAX);
    if (r >= 0 && s->failed.code) {
        if (err)
            *err = s->failed;
        return -s->failed.code;
    }
    return r < 0 ? r : 0;
}
