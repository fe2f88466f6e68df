/* cli/store_owner.c — connects to the store's owner over its socket, or opens the store and serves the routes in
 * this process. */
#include "cli/store_owner.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/log.h"
#include "json/read.h"
#include "run/engine.h"
#include "server/doors/doors.h"
#include "server/ops/ops.h"

enum { POLL_MS = 20, NOTICE_MS = 500, LOCAL_NAME = 128 };

WEFT_SUSPENDS static int connect_to(const char *path, int *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int fd = WB_CALL(socket)(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (fd < 0)
        return wb_fail_sys(err, fd, UPP_ENET, "no socket");
    (void)snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    int r = weft_connect(fd, (const struct sockaddr *)&a, sizeof a, err);
    if (r < 0)
        return upp_wrap(err, r, "%s", path);
    *ret = fd;
    fd = -1;
    return 0;
}

/* A listener of this process for one connection, with a name that the kernel chooses. */
static int listen_inside(int *ret, char name[LOCAL_NAME], struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    socklen_t n = sizeof a;
    if (fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof a.sun_family) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) < 0)
        return wb_fail_sys(err, -errno, UPP_ENET, "no socket");
    (void)snprintf(name, LOCAL_NAME, "@%.*s", (int)(n - offsetof(struct sockaddr_un, sun_path) - 1), a.sun_path + 1);
    *ret = fd;
    fd = -1;
    return 0;
}

/* Gives the server the connection that was made; any process may have seen the name. */
WEFT_SUSPENDS static int accept_inside(struct sv_server *s, int listener, struct upp_err *err)
{
    WEFT_DEADLINE(CLI_OWNER_MS);
    for (;;) {
        struct ucred who = {0};
        socklen_t n = sizeof who;
        int fd = weft_accept(listener, err);
        if (fd < 0)
            return fd;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.pid == getpid())
            return sv_server_take(s, fd, err);
        wb_fd_close(&fd);
    }
}

WEFT_SUSPENDS static int serves(void *arg, struct upp_err *err)
{
    return sv_server_run(arg, err);
}

WEFT_SUSPENDS static int open_own(struct cli_owner *d, bool recover, struct upp_err *err)
{
    char local[128] = "";
    size_t n;
    int r = wrt_runtime_open(weft_loop_current(), d->config, d->place, &d->runtime, err);
    if (r < 0)
        return r;
    if (wrt_socket(d->runtime)[0])
        (void)snprintf(local, sizeof local, "unix:%s", wrt_socket(d->runtime));
    r = sv_keys_open(d->runtime->store, d->runtime->engine, &d->keys, err);
    if (r >= 0 && wb_log_on(WB_INFO)) /* then requests and runs are logged as those of a server */
        r = sv_ops_open(UPP_OPTS(sv_ops_opts, .store = d->runtime->store), &d->ops, err);
    if (r >= 0 && d->ops)
        r = sv_ops_watch(d->ops, d->runtime->engine, err);
    if (r < 0)
        return r;
    r = sv_server_open(weft_loop_current(),
                       UPP_OPTS(sv_server_opts, .keys = d->keys, .listen_local = local[0] ? local : NULL,
                                .doors = sv_doors, .monitor = d->ops ? &d->ops->http : NULL,
                                .engine = d->runtime->engine, .store = d->runtime->store, .on_busy = d->config->on_busy,
                                .ai_sdk = d->config->ai_sdk, .names = {d->config->aliases, d->config->n_aliases},
                                .no_instructions = d->config->no_instructions, .takes = true),
                       &d->server, err);
    if (r >= 0 && recover)
        r = wrt_runtime_recover(d->runtime, &n, err);
    if (r >= 0)
        r = weft_scope_spawn(&d->serving, "server", serves, d->server, NULL, err);
    return r;
}

WEFT_SUSPENDS int cli_owner_find(struct cli_owner *d, struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int fd = -1;
    struct ws_owner_info who;
    int r = d->place->driver->owner(d->place->path, &who, err);
    if (r < 0)
        return r;
    if (!who.socket[0])
        return upp_fail(err, UPP_ENOTFOUND, "the owner of %s does not say where it listens", d->place->path);
    r = connect_to(who.socket, &fd, err);
    if (r >= 0)
        (void)snprintf(d->socket, sizeof d->socket, "%s", who.socket);
    return r < 0 ? upp_wrap(err, r, "process %d owns %s and does not answer", who.pid, d->place->path) : 0;
}

/* Waits until the server at the URL answers. */
WEFT_SUSPENDS static int open_url(struct cli_owner *d, struct upp_err *err)
{
    uint64_t since = wb_mono_ms();
    for (;;) {
        WB_CLEANUP(cli_answer_done) struct cli_answer a;
        cli_answer_init(&a);
        int r = cli_owner_ask(d, &(struct cli_request){.method = "GET", .path = UPP_STR("/livez")}, &a, err);
        if (r >= 0 && a.status / 100 != 2)
            return upp_fail(err, UPP_EPROTO, "%s is no server of Weft: it answers %d to /livez", d->url, a.status);
        bool wait = (r == -UPP_ENET || r == -UPP_ETIMEOUT) && d->was_there && wb_mono_ms() - since < CLI_URL_MS;
        d->was_there |= r >= 0;
        if (!wait)
            return r < 0 ? upp_wrap(err, r, "%s", d->url) : 0;
        r = weft_sleep_ms(POLL_MS * 10, err);
        if (r < 0)
            return r;
    }
}

WEFT_SUSPENDS int cli_owner_open(struct cli_owner *d, bool recover, struct upp_err *err)
{
    uint64_t since = wb_mono_ms();
    if (d->url)
        return open_url(d, err);
    for (;;) {
        int r = d->only_others ? -UPP_EBUSY : open_own(d, recover, err);
        if (r != -UPP_EBUSY || !d->place->driver->owner || d->runtime)
            return r;
        r = cli_owner_find(d, err);
        if (r != -UPP_ENOTFOUND && r != -UPP_ENET)
            return r;
        if (wb_mono_ms() - since > CLI_OWNER_MS)
            return r;
        int slept = weft_sleep_ms(POLL_MS, err); /* it starts or stops; then we can take over */
        if (slept < 0)
            return slept;
    }
}

/* Runs that we resumed or that others started are completed before we exit. */
WEFT_SUSPENDS static void finish_others(struct cli_owner *d)
{
    bool printed = false;
    uint64_t since = wb_mono_ms();
    while (d->runtime && d->runtime->engine) {
        size_t n = wr_engine_counts(d->runtime->engine).working;
        if (!n || weft_sleep_ms(POLL_MS, NULL) < 0)
            return;
        if (!printed && wb_mono_ms() - since > NOTICE_MS)
            (void)fprintf(stderr, "weft: finishes %zu other run%s of this store; Ctrl-C leaves them for later\n", n,
                          n == 1 ? "" : "s");
        printed = printed || wb_mono_ms() - since > NOTICE_MS;
    }
}

WEFT_SUSPENDS void cli_owner_close(struct cli_owner *d)
{
    finish_others(d);
    struct sv_server *server = WB_TAKE(d->server); /* requests of other fibers now find none */
    struct sv_keys *keys = WB_TAKE(d->keys);
    struct wrt_runtime *runtime = WB_TAKE(d->runtime);
    struct sv_ops *ops = WB_TAKE(d->ops);
    d->socket[0] = 0;
    if (server) {
        sv_server_stop(server);
        (void)!weft_scope_join(&d->serving, NULL); /* requests in progress are completed, unless we were cancelled */
    }
    weft_scope_close(&d->serving);
    sv_server_close(server);
    sv_keys_close(keys);
    wrt_runtime_close(runtime);
    sv_ops_close(ops);
}

static int open_http(struct cli_owner *d, struct upp_err *err)
{
    int r = d->http ? 0 : upp_http_new(NULL, &d->http, err);
    if (r >= 0)
        d->wait = wr_wait_table(d->http);
    return r;
}

WEFT_SUSPENDS int cli_owner_ask(struct cli_owner *d, const struct cli_request *q, struct cli_answer *a,
                                struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int listener = -1;
    char name[LOCAL_NAME];
    struct cli_request named = *q;
    if (!q->tenant.n)
        named.tenant = wb_cstr(d->as.tenant);
    if (!q->user.n)
        named.user = wb_cstr(d->as.user);
    int r = named.tenant.n ? sv_tenant_check(named.tenant, err) : 0; /* they become headers */
    if (r >= 0 && named.user.n)
        r = sv_user_check(named.user, err);
    if (r >= 0)
        r = open_http(d, err);
    if (r >= 0 && d->server)
        r = listen_inside(&listener, name, err);
    if (r < 0)
        return r;
    const struct cli_peer peer = {d->http, &d->wait, wb_cstr(d->url), wb_cstr(d->key), d->server ? name : d->socket};
    r = cli_send(&peer, &named, a, err);
    if (r >= 0 && d->server)
        r = accept_inside(d->server, listener, err);
    return r < 0 ? r : cli_read_head(a, err);
}

void cli_owner_done(struct cli_owner *d)
{
    upp_http_free(WB_TAKE(d->http));
}

WEFT_SUSPENDS int cli_owner_call(struct cli_owner *d, const struct cli_request *q, struct wb_arena *arena,
                                 yyjson_val **ret, struct upp_err *err)
{
    WB_CLEANUP(cli_answer_done) struct cli_answer a;
    cli_answer_init(&a);
    int r = cli_owner_ask(d, q, &a, err);
    if (r >= 0 && a.status / 100 != 2)
        return cli_answer_fail(&a, err);
    if (r >= 0)
        r = cli_read_body(&a, err);
    return r < 0 ? r : wj_read(arena, wb_arena_dup(arena, wb_buf_str(&a.raw)), NULL, ret, err);
}
