/* bench/bench_doors.c — a request at every door of a server, with an agent that streams its answer at once.
 *
 *     bench_doors                 the table
 *     bench_doors DOOR REQUESTS   so many requests at one door, for callgrind
 *     bench_doors DOOR N STORE    the same into a store that stays: bench/server fills one. `audit` and `usage` add so
 *                                 many rows without requests
 *
 * Client and server share one thread, one loop and a pair of sockets; the store is in memory. So nothing depends on
 * other processes, on the disk or on which thread is first, and a request costs the same instructions each time. The
 * client only looks for the end of a response. Every request starts a thread of its own, unless it lists one.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/fiber.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/defs.h"
#include "bench.h"
#include "log/admin.h"
#include "log/change.h"
#include "log/usage.h"
#include "runtime/runtime.h"
#include "server/doors/doors.h"
#include "server/http/server.h"
#include "still.h"

enum { LISTED = 100 /* messages of the thread that is listed */, READ = 64 << 10, MAX_BYTES = 16 << 20 };

#define QUESTION "What do I bring to Lisbon in November, if I stay for ten days?"
#define ANSWER                                                                                                         \
    "A raincoat, shoes that you can walk in on wet stone, and something warm for the evening. The train to Porto "     \
    "takes three hours; it is cheaper if you buy the ticket a week before."

static const char config_format[] = "store: '%s'\n"
                                    "durability: exit\n"
                                    "models: {guide: {provider: scripted, script: '%s'}}\n"
                                    "agents: {guide: {model: guide}}\n"
                                    "default_agent: guide\n"
                                    "routes: [{intent: analyze, to: guide}]\n";
static const char script[] = "{\"replies\":[{\"parts\":[{\"text\":\"" ANSWER "\"}],\"usage\":{\"input_tokens\":20,"
                             "\"output_tokens\":40},\"delta_bytes\":4}],\"at_end\":\"restart\"}";

static struct sv_server *server;
static struct wl_store *store;
static int client = -1; /* its end of the pair */
static struct wb_buf sent = WB_BUF(MAX_BYTES);
static struct wb_buf came = WB_BUF(MAX_BYTES); /* the last response, with its head */
static unsigned serial;                        /* makes ids and texts of requests differ */
static char listed[80];                        /* the thread that is listed */
static struct upp_err err;

static void need(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "bench_doors: %s: %s\n%.*s\n", what, err.msg, UPP_FMT(wb_buf_str(&came)));
    exit(1);
}

/* ---- The client -------------------------------------------------------------------------------------------------- */

/* How long the response is, head included; 0: its end has not come. */
static size_t whole(struct upp_str got)
{
    size_t head = wb_str_find(got, UPP_STR("\r\n\r\n"), 0);
    if (head == SIZE_MAX)
        return 0;
    head += 4;
    size_t length = wb_str_find(wb_str_sub(got, 0, head), UPP_STR("\r\nContent-Length: "), 0);
    if (length == SIZE_MAX)
        return got.n >= head + 5 && memcmp(got.p + got.n - 5, "0\r\n\r\n", 5) == 0 ? got.n : 0;
    size_t n = head + strtoul(got.p + length + strlen("\r\nContent-Length: "), NULL, 10);
    return got.n >= n ? n : 0;
}

/* Sends a request with a body (NULL: GET) and reads its response, which must be 200. */
UPP_PRINTF(2, 3) WEFT_SUSPENDS static void ask(const char *body, const char *path, ...)
{
    va_list args;
    char line[160];
    va_start(args, path);
    (void)vsnprintf(line, sizeof line, path, args);
    va_end(args);
    wb_buf_clear(&sent);
    wb_buf_addf(&sent, "%s %s HTTP/1.1\r\nHost: localhost\r\n", body ? "POST" : "GET", line);
    if (body)
        wb_buf_addf(&sent, "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
    wb_buf_addf(&sent, "\r\n%s", body ? body : "");
    need(weft_send(client, sent.p, sent.n, &err) >= 0, "send");
    wb_buf_clear(&came);
    while (!whole(wb_buf_str(&came))) {
        need(wb_buf_reserve(&came, READ), "a response is too long");
        int64_t n = weft_recv(client, came.p + came.n, READ, &err);
        need(n > 0, line);
        came.n += (size_t)n;
    }
    need(wb_str_starts(wb_buf_str(&came), UPP_STR("HTTP/1.1 200 ")), line);
}

/* The first id of this kind in the last response. */
static void take_id(const char *prefix, char ret[80])
{
    size_t at = wb_str_find(wb_buf_str(&came), wb_cstr(prefix), 0);
    need(at != SIZE_MAX, "an answer without an id");
    size_t n = strcspn(came.p + at, "\"");
    need(n < 80, "a long id");
    memcpy(ret, came.p + at, n);
    ret[n] = 0;
}

/* ---- The doors --------------------------------------------------------------------------------------------------- */

/* A text in the form of printf with the number of the request, in a buffer that the next call reuses. */
UPP_PRINTF(1, 2) static const char *numbered(const char *fmt, ...)
{
    static char text[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return text;
}

/* Texts differ: a conversation that is there already would be continued. */
WEFT_SUSPENDS static void chat(unsigned times)
{
    while (times--)
        ask(numbered(
                "{\"model\":\"guide\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"%06u " QUESTION
                "\"}]}",
                serial++),
            "/v1/chat/completions");
}

WEFT_SUSPENDS static void responses(unsigned times)
{
    while (times--)
        ask("{\"model\":\"guide\",\"stream\":true,\"input\":\"" QUESTION "\"}", "/v1/responses");
}

WEFT_SUSPENDS static void assistants(unsigned times)
{
    while (times--)
        ask("{\"assistant_id\":\"guide\",\"stream\":true,\"thread\":{\"messages\":[{\"role\":\"user\",\"content\":"
            "\"" QUESTION "\"}]}}",
            "/v1/threads/runs");
}

/* The same, as Weft's own events. */
WEFT_SUSPENDS static void uap(unsigned times)
{
    while (times--)
        ask("{\"assistant_id\":\"guide\",\"stream\":true,\"thread\":{\"messages\":[{\"role\":\"user\",\"content\":"
            "\"" QUESTION "\"}]}}",
            "/v1/threads/runs?as=weft");
}

WEFT_SUSPENDS static void ui(unsigned times)
{
    while (times--)
        ask(numbered("{\"id\":\"chat-%06u\",\"messages\":[{\"id\":\"m1\",\"role\":\"user\",\"parts\":[{\"type\":"
                     "\"text\",\"text\":\"" QUESTION "\"}]}]}",
                     serial++),
            "/api/chat");
}

WEFT_SUSPENDS static void process(unsigned times)
{
    while (times--)
        ask(numbered(
                "{\"session_id\":\"session-%06u\",\"input\":[{\"role\":\"user\",\"type\":\"message\",\"content\":[{"
                "\"type\":\"text\",\"text\":\"" QUESTION "\"}]}]}",
                serial++),
            "/process");
}

/* A thread with members, and its run. */
WEFT_SUSPENDS static void aitp(unsigned times)
{
    char thread[80];
    while (times--) {
        ask("{\"messages\":[\"" QUESTION "\"],\"metadata\":{\"actors\":[{\"id\":\"me.near\",\"capabilities\":[]},"
            "{\"id\":\"guide\",\"capabilities\":[]}]}}",
            "/agents/guide/v1/thread");
        take_id("thread_", thread);
        ask("{\"stream\":true}", "/agents/guide/v1/threads/%s/runs", thread);
    }
}

WEFT_SUSPENDS static void envelopes(unsigned times)
{
    while (times--)
        ask(numbered("{\"protocol\":\"multiagent-1.0\",\"role\":\"user\",\"timestamp\":\"2026-11-01T12:40:00Z\","
                     "\"intent\":\"analyze\",\"task\":\"Pack\",\"content\":{\"type\":\"text\",\"text\":\"" QUESTION
                     "\"},\"trace\":{\"id\":\"5f0c8c1e-6a4e-4f0e-9d0c-%012u\"}}",
                     serial++),
            "/v1/envelopes");
}

WEFT_SUSPENDS static void make_listed(void)
{
    ask("{}", "/v1/threads");
    take_id("thread_", listed);
    for (unsigned i = 0; i < LISTED; i++)
        ask("{\"role\":\"user\",\"content\":\"" QUESTION "\"}", "/v1/threads/%s/messages", listed);
}

/* A page of the messages of a thread. */
WEFT_SUSPENDS static void page(unsigned times)
{
    if (!listed[0])
        make_listed();
    while (times--)
        ask(NULL, "/v1/threads/%s/messages?limit=20", listed);
}

/* ---- Rows without requests --------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static void audit(unsigned times)
{
    while (times--) {
        struct wl_admin row = {
            .actor = WL_ADMIN_LOCAL, .action = UPP_STR("backup"), .target = UPP_STR("weft-2026-11-19.db")};
        need(wl_admin_begin(store, &row, &err) >= 0, "the audit");
        wl_admin_end(store, &row, 0, NULL);
    }
}

/* Of 256 tenants, on the days before today. */
WEFT_SUSPENDS static void usage(unsigned times)
{
    enum { TENANTS = 256 };
    static struct wl_value values[TENANTS];
    static struct wl_change changes[TENANTS];
    int64_t today = wb_wall_ms() / WL_DAY_MS;
    for (unsigned day = 1; times; day++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        unsigned n = WB_MIN(times, (unsigned)TENANTS);
        for (unsigned i = 0; i < n; i++) {
            struct wl_usage u = {
                .day = today - day, .tenant = wb_cstr(numbered("tenant-%03u", i)), .runs = 3, .input = 20};
            need(wl_usage_value(&a, &u, &values[i], &err) >= 0, "usage");
            changes[i] = (struct wl_change){.kind = WL_PUT_VALUE, .value = &values[i]};
        }
        struct wl_commit c = {.owner = {.tenant = UPP_STR(WL_OWN_TENANT)}, .changes = changes, .n = n};
        need(wl_store_commit(store, &c, &err) >= 0, "usage");
        times -= n;
    }
}

static const struct {
    const char *name, *row; /* row: of the table; NULL: none */
    void (*fn)(unsigned times);
} doors[] = {
    {"chat", "request: chat completions", chat},
    {"responses", "request: responses", responses},
    {"assistants", "request: assistants", assistants},
    {"uap", "request: run as uap", uap},
    {"ui", "request: api/chat", ui},
    {"process", "request: process", process},
    {"aitp", "two requests: aitp", aitp},
    {"envelopes", "request: envelope", envelopes},
    {"page", "page of 20 messages", page},
    {"audit", NULL, audit},
    {"usage", NULL, usage},
};

/* ---- The server -------------------------------------------------------------------------------------------------- */

struct wanted {
    const char *door; /* NULL: all of them, as a table */
    unsigned times;
    const char *store; /* its URL */
};

WEFT_SUSPENDS static void measure(const struct wanted *w)
{
    size_t found = 0;
    for (size_t i = 0; i < WB_LEN(doors); i++) {
        if (!w->door && doors[i].row) {
            BENCH(.name = doors[i].row, .product = doors[i].fn, .times = 100);
        } else if (w->door && strcmp(doors[i].name, w->door) == 0) {
            doors[i].fn(w->times);
            found++;
        }
    }
    err = (struct upp_err){0};
    need(!w->door || found, "no door has this name");
}

WEFT_SUSPENDS static int serves(void *arg, struct upp_err *why)
{
    (void)arg;
    return sv_server_run(server, why);
}

static void connect_client(void)
{
    int fds[2];
    need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0, "socketpair");
    client = fds[0];
    need(sv_server_take(server, fds[1], &err) >= 0, "the connection");
}

/* The agent's script is in a file for as long as the configuration is read. */
static void read_config(const struct wanted *w, struct wc_config **ret)
{
    char path[] = "/tmp/bench_doors_XXXXXX", text[sizeof config_format + sizeof path + 512];
    int fd = mkstemp(path);
    need(fd >= 0 && write(fd, script, sizeof script - 1) == sizeof script - 1, "mkstemp");
    (void)close(fd);
    (void)snprintf(text, sizeof text, config_format, w->store, path);
    int r = wc_config_parse("weft.yaml", wb_cstr(text), UPP_OPTS(wc_opts, .makers = &wc_makers), NULL, ret, &err);
    (void)unlink(path);
    need(r >= 0, "the configuration");
}

WEFT_SUSPENDS static int play(void *arg, struct upp_err *unused)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct wrt_location at;
    struct wrt_runtime *rt;
    (void)unused;
    read_config(arg, &config);
    need(wrt_location_of(config, NULL, &at, &err) >= 0, "the store");
    need(wrt_runtime_open(weft_loop_current(), config, &at, &rt, &err) >= 0, "the runtime");
    store = rt->store;
    need(sv_server_open(weft_loop_current(),
                        UPP_OPTS(sv_server_opts, .takes = true, .doors = sv_doors, .engine = rt->engine,
                                 .store = rt->store, .ping_ms = UINT32_MAX),
                        &server, &err) >= 0,
         "the server");
    {
        UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
        need(weft_scope_spawn(&s, "server", serves, NULL, NULL, &err) >= 0, "the server");
        need(weft_yield(&err) >= 0, "the server"); /* it takes connections while it runs */
        connect_client();
        measure(arg);
        (void)close(client);
        sv_server_stop(server);
        need(weft_scope_join(&s, &err) >= 0, "the server");
    }
    wrt_runtime_stop(rt);
    sv_server_close(server);
    wrt_runtime_close(rt);
    return 0;
}

int main(int argc, char **argv)
{
    struct weft_loop *loop;
    struct wanted w = {.store = argc > 3 ? argv[3] : "memory:"};
    if (argc > 2) {
        w.door = argv[1];
        w.times = (unsigned)atoi(argv[2]);
    }
    need(argc != 3 || stand_still(&err) >= 0, "hooks");
    need(weft_loop_open(NULL, &loop, &err) >= 0, "the loop");
    need(weft_loop_run(loop, "bench", play, &w, &err) >= 0, "the loop");
    weft_loop_close(loop);
    wb_buf_done(&sent);
    wb_buf_done(&came);
    return 0;
}
