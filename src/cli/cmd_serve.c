/* cli/cmd_serve.c — weft serve: runs the server until a signal stops it. */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "cli/cli.h"
#include "cli/setup.h"
#include "fiber/log_writer.h"
#include "log/admin.h"
#include "server/doors/doors.h"
#include "server/http/server.h"
#include "server/keys/table.h"
#include "server/ops/ops.h"
#include "server/ops/notify.h"
#include "server/ops/telemetry.h"
#include "server/ops/webhook.h"

enum { FEW_FILES = 4096 };

struct serving {
    /* Options: */
    struct cli_source from;
    const char *listen_text, *level, *loops_text; /* NULL: those of the configuration */
    bool accept_loss, json;

    const struct wc_config *config; /* of the start */
    struct wrt_location place;
    char listen[256];
    uint32_t loops; /* 0: by the processors */
    struct wrt_runtime *runtime;
    struct sv_ops *ops;
    struct sv_keys *keys;
    struct sv_server *server;
    struct sv_webhooks *webhooks;
    struct sv_telemetry *telemetry;
    struct sv_notify notify;
    struct weft_scope fibers;
    struct sv_place places[SV_CORES];
};

/* Raises the limit of open files as far as we may: each connection needs one. */
static void raise_files(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0)
        return;
    rlim_t before = l.rlim_cur;
    l.rlim_cur = l.rlim_max;
    if (l.rlim_cur != before && setrlimit(RLIMIT_NOFILE, &l) != 0)
        l.rlim_cur = before;
    if (l.rlim_cur < FEW_FILES)
        wb_log(WB_WARN,
               "few files may be open, and each connection is one: raise the limit with `ulimit -Hn 65536`, or "
               "LimitNOFILE= of its service",
               WB_LU("limit", l.rlim_cur));
}

/* Makes large blocks separate mappings, which return to the system when they are freed. By default malloc takes them
 * from its heap after the first one was freed, and a heap shrinks only at its end. */
static void give_memory_back(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

/* On a worker, when the server is idle. */
static int trim_memory(void *none, struct upp_err *err)
{
    (void)none, (void)err;
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
    return 0;
}

/* Tells the service manager that we are ready, and follows the server on its behalf. */
WEFT_SUSPENDS static int notify_manager(struct sv_notify *n, struct sv_server *server, size_t recovered,
                                        struct weft_scope *fibers, struct upp_err *err)
{
    char status[256];
    sv_notify_init(n, getenv("NOTIFY_SOCKET"), getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
    if (!n->length)
        return 0;
    n->server = server;
    (void)snprintf(status, sizeof status, "listening on %s; runs resumed: %zu", sv_server_url(server, 0), recovered);
    sv_notify_ready(n, status);
    return weft_scope_spawn(fibers, "notify", sv_notify_follow, n, NULL, err);
}

/* ---- Reloading --------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int read_again(struct serving *s, struct upp_err *err)
{
    WB_CLEANUP(wc_report_done) struct wc_report report = {0};
    int r = wrt_reload(s->runtime, &report, err);
    cli_log_report(&report);
    if (r < 0)
        return upp_wrap(err, r, "the configuration was not reloaded: the old one stays");
    const struct wc_config *c = s->runtime->config;
    r = sv_server_reconfigure(s->server,
                              &(struct sv_server_opts){.hosts = c->server.hosts,
                                                       .origins = c->server.origins,
                                                       .proxies = {c->server.proxies, c->server.n_proxies},
                                                       .on_busy = c->on_busy,
                                                       .ai_sdk = c->ai_sdk,
                                                       .names = {c->aliases, c->n_aliases},
                                                       .no_instructions = c->no_instructions,
                                                       .heartbeats = c->heartbeats},
                              err);
    if (r < 0)
        return upp_wrap(err, r, "agents and models were reloaded, what requests may do was not");
    sv_ops_reconfigure(s->ops, c->no_access_log, c->open_metrics);
    (void)cli_log_setup(c, s->level, WB_INFO); /* the level was good before */
    wb_log(WB_INFO, "the configuration was reloaded", WB_LU("agents", c->n_agents), WB_LU("models", c->n_models));
    return 0;
}

/* "agents 3 -> 4, retention.audit_days 365 -> 30" */
static void describe_reload(const struct wc_config *old, const struct wc_config *new, struct wb_buf *out)
{
    const struct {
        const char *what;
        uint64_t before, after;
    } numbers[] = {
        {"agents", old->n_agents, new->n_agents},
        {"models", old->n_models, new->n_models},
        {"retention.tapes_days", old->retention.tapes_days, new->retention.tapes_days},
        {"retention.deleted_days", old->retention.deleted_days, new->retention.deleted_days},
        {"retention.audit_days", old->retention.audit_days, new->retention.audit_days},
        {"retention.usage_days", old->retention.usage_days, new->retention.usage_days},
        {"retention.every_seconds", old->retention.every_seconds, new->retention.every_seconds},
    };
    for (size_t i = 0; i < WB_LEN(numbers); i++)
        if (numbers[i].before != numbers[i].after)
            wb_buf_addf(out, "%s%s %llu -> %llu", out->n ? ", " : "", numbers[i].what,
                        (unsigned long long)numbers[i].before, (unsigned long long)numbers[i].after);
}

/* SIGHUP: agents, models, tools, and what requests may do. A file with a mistake changes nothing. An administrator who
 * repairs a configuration is not stopped by a store that cannot write the audit. */
WEFT_SUSPENDS static int reload(void *arg, struct upp_err *err)
{
    struct serving *s = arg;
    const struct wc_config *old = s->runtime->config;
    WB_CLEANUP(wb_buf_done) struct wb_buf detail = WB_BUF(1024);
    struct wl_admin row = {
        .actor = WL_ADMIN_SIGNAL, .uid = -1, .action = UPP_STR("config.reload"), .target = s->config->file};
    struct upp_err why = {0};
    sv_notify_reloading(&s->notify);
    bool noted = wl_admin_begin(s->runtime->store, &row, &why) >= 0;
    int r = read_again(s, err);
    if (r >= 0)
        describe_reload(old, s->runtime->config, &detail);
    row.detail = wb_buf_str(&detail);
    if (noted)
        wl_admin_end(s->runtime->store, &row, r, err);
    else
        wb_log(WB_WARN, "a reload is not in the audit", WB_LERR(&why));
    sv_notify_ready(&s->notify, r < 0 ? "not reloaded: the log says why" : "reloaded");
    return r;
}

/* ---- Serving ----------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int open_server(struct serving *s, struct upp_err *err)
{
    const struct wc_config *c = s->config;
    struct wrt_runtime *rt = s->runtime;
    char local[128] = "";
    if (wrt_socket(rt)[0])
        (void)snprintf(local, sizeof local, "unix:%s", wrt_socket(rt));
    int r = sv_server_open(
        weft_loop_current(),
        UPP_OPTS(sv_server_opts, .listen = s->listen, .listen_local = local[0] ? local : NULL, .hosts = c->server.hosts,
                 .origins = c->server.origins, .certificate = c->server.certificate, .key = c->server.key,
                 .proxies = {c->server.proxies, c->server.n_proxies}, .doors = sv_doors, .ops = &s->ops->door,
                 .monitor = &s->ops->http, .keys = s->keys, .engine = rt->engine, .places = s->places,
                 .n_places = rt->n_others, .store = rt->store, .sweep = &rt->sweep, .on_busy = c->on_busy,
                 .ai_sdk = c->ai_sdk, .names = {c->aliases, c->n_aliases}, .no_instructions = c->no_instructions,
                 .heartbeats = c->heartbeats, .ping_ms = c->ping_ms, .app = s, .reload = reload, .trim = trim_memory,
                 .signals = true),
        &s->server, err);
    struct upp_err why = *err;
    if (r == -UPP_EREFUSED && !s->place.driver->durable) /* it would forget a key that is added */
        return upp_fail(err, UPP_EREFUSED,
                        "%s can be reached from other machines, and a store in memory has no API keys: set `store: "
                        "sqlite:FILE` and add one with `weft keys add NAME`, or stay on this machine with `weft serve "
                        "--listen 127.0.0.1:8787`",
                        s->listen);
    if (r != -UPP_EBUSY)
        return r;
    return upp_fail(err, UPP_EBUSY, "%s; --listen ADDR:PORT chooses another address", why.msg);
}

/* Every engine is watched and limited by keys; the server reaches those on other loops. */
static int add_engines(struct serving *s, struct upp_err *err)
{
    struct wrt_runtime *rt = s->runtime;
    int r = sv_ops_watch(s->ops, rt->engine, err);
    wr_engine_set_quota(rt->engine, sv_keys_quota(s->keys));
    for (uint32_t i = 0; r >= 0 && i < rt->n_others; i++) {
        s->places[i] = (struct sv_place){weft_group_loop(rt->group, i), rt->others[i]};
        r = sv_ops_watch(s->ops, rt->others[i], err);
        wr_engine_set_quota(rt->others[i], sv_keys_quota_elsewhere(s->keys));
    }
    return r;
}

/* Takes the lock first and recovers runs last: if it cannot bind the port, no run was recovered. */
WEFT_SUSPENDS static int open_all(struct serving *s, size_t *recovered, struct upp_err *err)
{
    const struct wc_config *c = s->config;
    int r = wrt_runtime_open(weft_loop_current(), c, &s->place, &s->runtime, err);
    if (r >= 0)
        r = wrt_runtime_spread(s->runtime, s->loops, err);
    if (r >= 0 && c->telemetry.otlp.n)
        r = sv_telemetry_open(UPP_OPTS(sv_telemetry_opts, .config = &c->telemetry), &s->telemetry, err);
    if (r >= 0)
        r = sv_ops_open(UPP_OPTS(sv_ops_opts, .store = s->runtime->store, .no_access_log = c->no_access_log,
                                 .open_metrics = c->open_metrics, .telemetry = s->telemetry),
                        &s->ops, err);
    if (r >= 0)
        r = sv_keys_open(s->runtime->store, NULL, &s->keys, err);
    if (r >= 0)
        r = add_engines(s, err);
    if (r >= 0)
        r = open_server(s, err);
    if (r >= 0 && s->runtime->outbox)
        r = sv_webhooks_open(UPP_OPTS(sv_webhook_opts, .runtime = s->runtime), &s->webhooks, err);
    if (r >= 0 && s->webhooks)
        r = weft_scope_spawn(&s->fibers, "webhooks", sv_webhooks_main, s->webhooks, NULL, err);
    if (r >= 0 && s->telemetry)
        r = weft_scope_spawn(&s->fibers, "telemetry", sv_telemetry_main, s->telemetry, NULL, err);
    if (r >= 0)
        r = wrt_runtime_recover(s->runtime, recovered, err);
    return r < 0 ? r : wrt_runtime_follow(s->runtime, err);
}

/* The engines tell webhooks, keys, `ops` and the telemetry what happens, to their end. */
WEFT_SUSPENDS static void close_all(struct serving *s)
{
    weft_scope_close(&s->fibers);
    if (s->runtime)
        wrt_runtime_stop(s->runtime); /* and what the server has posted to other loops is done */
    sv_server_close(s->server);
    sv_webhooks_close(s->webhooks);
    sv_keys_close(s->keys);
    wrt_runtime_close(s->runtime);
    sv_ops_close(s->ops);
    sv_telemetry_flush(s->telemetry);
    sv_telemetry_close(s->telemetry);
}

/* A server with routes announces what it takes; clients ask for it at GET /v1/envelopes/handshake. */
static void announce(const struct wc_config *c)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 16);
    struct we_announcement h = {.max_tokens = c->envelopes.announced_tokens, .now_ms = wb_wall_ms()};
    struct upp_str text;
    if (c->envelopes.routes.n && we_write_handshake(&a, &h, &text, NULL) >= 0)
        wb_log(WB_INFO, "handshake", WB_LS("envelope", text));
}

WEFT_SUSPENDS static int serve(void *arg, struct upp_err *err)
{
    struct serving *s = arg;
    size_t recovered = 0;
    s->fibers.flags = WEFT_SCOPE_ISOLATED;
    int r = open_all(s, &recovered, err);
    if (r >= 0) {
        const char *url = sv_server_url(s->server, 0);
        wb_log(WB_INFO, "ready", WB_LZ("url", url), WB_LZ("store", wrt_store_base(s->runtime->store)->ops->name),
               WB_LZ("path", s->place.path), WB_LU("recovered", recovered));
        announce(s->runtime->config);
        (void)printf(s->json ? "{\"listening\":\"%s\"}\n" : "listening on %s\n", url); /* a URL needs no escapes */
        (void)fflush(stdout);
        r = notify_manager(&s->notify, s->server, recovered, &s->fibers, err);
        if (r >= 0)
            r = sv_server_run(s->server, err);
        wb_log(WB_INFO, "stopped");
    }
    close_all(s);
    return r;
}

static void put_listen(struct serving *s, const char *given)
{
    const struct wc_config *c = s->config;
    bool colon = memchr(c->host.p, ':', c->host.n);
    if (given)
        (void)snprintf(s->listen, sizeof s->listen, "%s", given);
    else
        (void)snprintf(s->listen, sizeof s->listen, "%s%.*s%s:%u", colon ? "[" : "", UPP_FMT(c->host), colon ? "]" : "",
                       c->port);
}

static bool read_loops(const char *text, uint32_t *ret)
{
    uint64_t n;
    if (!wb_str_u64(wb_cstr(text), &n) || n < 1 || n > WC_MAX_LOOPS)
        return false;
    *ret = (uint32_t)n;
    return true;
}

/* If nobody reads standard error, what is left is lost: the process must end, and what it still says may not hang. */
static void stop_log(void)
{
    int none;
    if (weft__log_writer_stop(WEFT__LOG_LAST_MS))
        return;
    none = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (none >= 0)
        (void)dup2(none, STDERR_FILENO);
}

static int run_serve(const struct cli_command *self, int argc, char **argv)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct serving s = {0};
    struct upp_err err = {0};
    int bad = cli_parse(self, argc, argv, &s, NULL, 0, NULL);
    if (bad)
        return bad;
    WB_CLEANUP(wc_report_done) struct wc_report report = {0};
    WB_CLEANUP(wb_secret_freep) struct wb_secret *key = NULL;
    int r = cli_config_report(s.from.config, CLI_NEEDS_ALL, &report, &config, &err);
    if (r < 0)
        return cli_fail(self, &err);
    if (!cli_log_setup(config, s.level, WB_INFO))
        return cli_word(self, "--log-level", s.level, cli_log_levels, &(size_t){0});
    cli_log_report(&report);
    s.config = config;
    s.loops = config->loops;
    if (s.loops_text && !read_loops(s.loops_text, &s.loops))
        return cli_misuse(self, "--loops is a number from 1 to %d, not '%s'", WC_MAX_LOOPS, s.loops_text);
    put_listen(&s, s.listen_text);
    raise_files();
    give_memory_back();
    r = wrt_location_of(config, s.from.store, &s.place, &err);
    s.place.accept_loss = s.accept_loss;
    if (r >= 0)
        r = cli_take_key(&s.place, &key, &err);
    if (r >= 0)
        r = weft__log_writer_start(0, &err);
    if (r >= 0)
        r = cli_on_loop(serve, &s, &err);
    stop_log();
    return r < 0 ? cli_fail(self, &err) : CLI_GOOD;
}

static const struct cli_option serve_options[] = {
    CLI_CONFIG_OPTION(struct serving, from.config),
    CLI_VALUE("--store", "URL", "memory: or sqlite:PATH", struct serving, from.store,
              "memory: or sqlite:PATH, instead of the configuration's store"),
    CLI_VALUE("--listen", "ADDR:PORT", "ADDR:PORT", struct serving, listen_text,
              "where it listens (default: server.listen of the configuration); port 0: a free one"),
    CLI_VALUE(
        "--loops", "N", "a number", struct serving, loops_text,
        "runs and streams work on N threads, 1 to 64 (default: server.loops of the configuration, else one for each "
        "processor, at most 16)"),
    CLI_VALUE_OF("--log-level", "LEVEL", "a level", struct serving, level, CLI_CHOICE, cli_log_levels,
                 "how much it logs (default: log.level of the configuration, else LOG_LEVEL, else info)"),
    CLI_FLAG("--json", struct serving, json, "prints where it listens as one object: listening"),
    CLI_FLAG("--accept-loss", struct serving, accept_loss, "starts although acknowledged data is missing"),
};

const struct cli_command cli_serve = {
    .name = "serve",
    .usage = "[--config FILE] [--listen ADDR:PORT] [--loops N] [--store URL] [--log-level LEVEL] [--json]\n"
             "                  [--accept-loss]",
    .summary = "the server",
    .help =
        "Serves the routes of /v1 on ADDR:PORT and, for commands, on a Unix socket next to the database. Resumes\n"
        "interrupted runs, then prints `listening on http://ADDR:PORT` (https with server.tls).\n"
        "SIGTERM and SIGINT stop it: requests in progress are completed; runs stop where they are and continue at the\n"
        "next start. A second signal stops it at once.\n"
        "SIGHUP reads the configuration, the TLS certificate and its key again; a file with a mistake changes "
        "nothing.\n"
        "Under systemd (NOTIFY_SOCKET, WATCHDOG_USEC) it reports when it is ready and when it stops, and sends the\n"
        "messages of the watchdog.\n"
        "\n"
        "If acknowledged data is missing from the store (its write-ahead log was damaged, cut or deleted after an\n"
        "unclean stop), it refuses to start. `weft doctor --export` saves what can be read. --accept-loss starts\n"
        "without the missing data, keeps the damaged log as FILE-wal.damaged-TIME and records that in the store,\n"
        "where `weft doctor --store URL` shows it.",
    .run = run_serve,
    CLI_OPTIONS(serve_options),
    .examples = "weft serve\n"
                "weft serve --listen 127.0.0.1:0 --store memory:    # a free port, and nothing is kept\n"
                "weft serve --config /etc/weft/weft.yaml --log-level debug\n",
};
