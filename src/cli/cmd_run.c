/* cli/cmd_run.c — weft run AGENT TEXT: starts one run and prints its output.
 *
 * The run belongs to the owner of the store. If that process exits in the middle, this command finds the next owner, or
 * becomes it, and continues reading where it was.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/defs.h"
#include "base/file.h"
#include "base/hooks.h"
#include "cli/cli.h"
#include "cli/store_owner.h"
#include "cli/setup.h"
#include "cli/run_view.h"
#include "json/value.h"
#include "json/write.h"
#include "runtime/config_read.h"

enum { INPUT_MAX = 8 << 20, LOST_MAX = 5 /* consecutive streams that end without an event */ };

struct running {
    struct upp_str      agent, text, thread_text, title;
    struct wb_buf       thread_path; /* percent-encoded */
    struct cli_owner    door;
    struct cli_run_view shown;
    struct wb_arena     arena;
    struct wb_uuid      thread;
    struct weft_fiber  *fiber;
    char                key[WB_UUID_TEXT + 1];
    char                last_id[64]; /* of the last event received */
    int                 signal_fd;
    bool                interrupted;
};

/* ---- Signals --------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int ask_cancel(struct running *c, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    yyjson_val                               *ignored;
    char                                      id[64];
    struct upp_str path = wb_arena_printf(&a, "/v1/runs/%s/cancel", cli_id("run_", c->shown.run, id));
    int            r    = wb_arena_check(&a, err);
    return r < 0 ? r
                 : cli_owner_call(&c->door, &(struct cli_request){.method = "POST", .path = path}, &a, &ignored, err);
}

/* The first signal cancels the run, if it was started; the second one, or one before that, ends the command. */
WEFT_SUSPENDS static int watches_signals(void *arg, struct upp_err *err)
{
    struct running             *c = arg;
    static const struct wb_uuid none;
    for (;;) {
        struct signalfd_siginfo info;
        int64_t                 n = weft_read(c->signal_fd, &info, sizeof info, err);
        if (n < 0)
            return (int)n;
        bool again     = c->interrupted;
        c->interrupted = true;
        if (again || wb_uuid_eq(c->shown.run, none) || ask_cancel(c, err) < 0)
            weft_fiber_cancel(c->fiber);
    }
}

static int open_signals(struct running *c, struct upp_err *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* fails only for invalid arguments */
    c->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return c->signal_fd < 0 ? upp_fail(err, UPP_ELIMIT, "no descriptor for signals") : 0;
}

/* ---- The run ------------------------------------------------------------------------------------------------ */

static int id_of(yyjson_val *object, const char *name, const char *prefix, struct wb_uuid *ret, struct upp_err *err)
{
    yyjson_val *id = yyjson_obj_get(object, name);
    if (id && yyjson_is_str(id) && wl_id_parse(wj_text(id), wb_cstr(prefix), ret))
        return 0;
    return upp_fail(err, UPP_EPROTO, "the owner of the store answers without '%s'", name);
}

/* The thread: the one that was named, or a new one. */
WEFT_SUSPENDS static int find_thread(struct running *c, struct upp_err *err)
{
    yyjson_val *v;
    char        id[64];
    if (c->thread_text.n) { /* the owner accepts every spelling of an id */
        cli_path_add(&c->thread_path, c->thread_text);
        return wb_buf_check(&c->thread_path, err);
    }
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(CLI_MAX_BODY);
    struct wj_writer                      w;
    wj_writer_init(&w, &body, err);
    wj_write_open(&w, '{');
    if (c->title.n)
        wj_put_str(&w, "title", c->title);
    wj_write_close(&w, '}');
    int                r = wj_writer_check(&w);
    struct cli_request q = {.method = "POST", .path = UPP_STR("/v1/threads"), .body = wb_buf_str(&body)};
    if (r >= 0)
        r = cli_owner_call(&c->door, &q, &c->arena, &v, err);
    if (r >= 0)
        r = id_of(v, "id", "thread_", &c->thread, err);
    if (r < 0)
        return r;
    wb_buf_add(&c->thread_path, wb_cstr(cli_id("thread_", c->thread, id)));
    return wb_buf_check(&c->thread_path, err);
}

static int write_request(struct running *c, struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "assistant_id", c->agent);
    wj_put_open(&w, "additional_messages", '[');
    wj_write_open(&w, '{');
    wj_put_str(&w, "role", UPP_STR("user"));
    wj_put_str(&w, "content", c->text);
    wj_write_close(&w, '}');
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

/* Returns the run's id before any event is read, so that a queued run can be cancelled too. Sending the request
 * twice starts one run: it has an idempotency key. */
WEFT_SUSPENDS static int start_run(struct running *c, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(CLI_MAX_BODY);
    yyjson_val                           *v;
    struct cli_request                    q = {.method = "POST", .key = wb_cstr(c->key)};
    int                                   r = write_request(c, &body, err);
    q.path = wb_arena_printf(&c->arena, "/v1/threads/%.*s/runs", UPP_FMT(wb_buf_str(&c->thread_path)));
    q.body = wb_buf_str(&body);
    if (r >= 0)
        r = wb_arena_check(&c->arena, err);
    if (r >= 0)
        r = cli_owner_call(&c->door, &q, &c->arena, &v, err);
    if (r >= 0)
        r = id_of(v, "thread_id", "thread_", &c->thread, err);
    return r < 0 ? r : id_of(v, "id", "run_", &c->shown.run, err);
}

/* Opens the stream of events, after the last one received. */
WEFT_SUSPENDS static int begin_stream(struct running *c, struct cli_answer *a, struct upp_err *err)
{
    static const struct wb_uuid none;
    char                        id[64];
    struct cli_request          q = {.method = "GET", .last_event_id = wb_cstr(c->last_id)};
    int                         r = wb_uuid_eq(c->shown.run, none) ? start_run(c, err) : 0;
    if (r < 0)
        return r;
    q.path = wb_arena_printf(&c->arena, "/v1/runs/%s/events?as=uap", cli_id("run_", c->shown.run, id));
    r      = wb_arena_check(&c->arena, err);
    if (r >= 0)
        r = cli_owner_ask(&c->door, &q, a, err);
    if (r >= 0 && a->status / 100 != 2)
        r = cli_answer_fail(a, err);
    return r;
}

/* Reads until the run is over (1), or until the stream is lost (0); *some: it delivered an event. */
WEFT_SUSPENDS static int follow(struct running *c, bool *some, struct upp_err *err)
{
    WB_CLEANUP(cli_answer_done) struct cli_answer a;
    cli_answer_init(&a);
    int r = begin_stream(c, &a, err);
    while (r >= 0) {
        r = cli_read_event(&a, err);
        if (r <= 0)
            break;
        *some = true;
        r     = cli_run_view_event(&c->shown, wb_buf_str(&a.id), wb_buf_str(&a.data), err);
        if (r < 0)
            return r;
        if (a.id.n)
            (void)snprintf(c->last_id, sizeof c->last_id, "%.*s", UPP_FMT(wb_buf_str(&a.id)));
        if (cli_run_view_over(&c->shown))
            return 1;
    }
    return r == -UPP_ENET || r == -UPP_EBUSY ? 0 : r; /* the owner has died or is stopping */
}

WEFT_SUSPENDS static int run_it(struct running *c, struct upp_err *err)
{
    int r = cli_owner_open(&c->door, true, err);
    if (r >= 0)
        r = find_thread(c, err);
    for (unsigned lost = 0; r >= 0;) {
        bool some = false;
        r         = follow(c, &some, err);
        if (r != 0)
            break;
        lost = some ? 0 : lost + 1;
        if (lost == LOST_MAX)
            return upp_fail(err, UPP_ENET, "the events of the run cannot be had");
        cli_owner_close(&c->door);
        r = cli_owner_open(&c->door, true, err);
    }
    return r < 0 ? r : cli_run_view_end(&c->shown, c->thread, err);
}

WEFT_SUSPENDS static int command(void *arg, struct upp_err *err)
{
    struct running   *c       = arg;
    struct weft_scope signals = {.flags = WEFT_SCOPE_ISOLATED};
    c->fiber                  = weft_fiber_self();
    int r                     = weft_scope_spawn(&signals, "signals", watches_signals, c, NULL, err);
    if (r >= 0)
        r = run_it(c, err);
    cli_owner_close(&c->door);
    weft_scope_close(&signals);
    return r;
}

/* ---- The command --------------------------------------------------------------------------------------------- */

static int read_text(const char *word, struct wb_buf *in, struct upp_str *ret, struct upp_err *err)
{
    *ret = wb_cstr(word);
    if (strcmp(word, "-") != 0)
        return 0;
    for (;;) {
        if (!wb_buf_reserve(in, 4096))
            return wb_buf_check(in, err);
        int64_t n = wb_fd_read(0, in->p + in->n, 4096);
        if (n < 0)
            return upp_fail(err, UPP_EINVALID, "standard input cannot be read");
        if (n == 0)
            break;
        in->n += (size_t)n;
    }
    *ret = wb_buf_str(in);
    return 0;
}

static int exit_code(struct running *c)
{
    if (cli_run_view_is(&c->shown, "completed"))
        return CLI_GOOD;
    (void)fflush(stdout);
    if (c->interrupted)
        (void)fprintf(stderr, "weft run: interrupted: the run is cancelled\n");
    else
        cli_run_view_explain(&c->shown);
    return c->interrupted ? CLI_INTERRUPTED : cli_run_view_is(&c->shown, "incomplete") ? CLI_INCOMPLETE : CLI_FAILED;
}

/* No such agent: suggests a similar name. The owner of the store may have other agents than our file. */
static int no_agent(struct running *c, int r, struct upp_err *err)
{
    struct upp_err  why   = *err;
    struct wc_guess guess = {0};
    if (r != -UPP_ENOTFOUND || !wb_str_starts(wb_cstr(why.msg), UPP_STR("no agent")))
        return r;
    for (size_t i = 0; i < c->door.config->n_agents; i++)
        wc_guess(&guess, c->agent, c->door.config->agents[i].def.name);
    return upp_fail(err, UPP_ENOTFOUND, "%s%s", why.msg, wc_guessed(&guess));
}

static void running_done(struct running *c)
{
    wb_log_to(NULL, NULL);
    cli_run_view_done(&c->shown);
    wb_buf_done(&c->thread_path);
    wb_arena_done(&c->arena);
    wb_fd_close(&c->signal_fd);
}

static int go(const struct cli_command *self, struct running *c, const char *file, const char *store)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    WB_CLEANUP(wb_secret_freep) struct wb_secret *master = NULL;
    struct wrt_location                           place;
    struct wb_uuid                                key;
    struct upp_err                                err = {0};
    int                                           r   = cli_config_load(file, false, &config, &err);
    if (r >= 0)
        r = wrt_location_of(config, store, &place, &err);
    if (r >= 0)
        r = cli_take_key(&place, &master, &err);
    if (r >= 0)
        r = wb_uuid_new(&key, &err);
    if (r >= 0)
        r = open_signals(c, &err);
    if (r < 0)
        return cli_fail(self, &err);
    (void)cli_log_setup(config, NULL, WB_WARN);
    wb_log_to(cli_run_view_log, &c->shown);
    (void)wb_uuid_text(key, c->key);
    c->door.config = config;
    c->door.place  = &place;
    r              = cli_on_loop(command, c, &err);
    if (r < 0)
        r = no_agent(c, r, &err);
    if (r < 0 && c->interrupted) {
        (void)fprintf(stderr, "weft run: interrupted\n");
        return CLI_INTERRUPTED;
    }
    return r < 0 ? cli_fail(self, &err) : exit_code(c);
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf in = WB_BUF(INPUT_MAX);
    WB_CLEANUP(running_done)
    struct running          c    = {.arena = WB_ARENA(16u << 20), .thread_path = WB_BUF(4096), .signal_fd = -1};
    const char             *file = NULL, *store = NULL, *thread = NULL, *title = NULL, *words[2];
    bool                    events = false, json = false;
    struct upp_err          err       = {0};
    const struct cli_option options[] = {
        {"--config", "a file", &file, NULL},  {"--store", "memory: or sqlite:PATH", &store, NULL},
        {"--thread", "an id", &thread, NULL}, {"--title", "a text", &title, NULL},
        {"--events", NULL, NULL, &events},    {"--json", NULL, NULL, &json}};
    cli_run_view_init(&c.shown, CLI_SHOW_TEXT);
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), words, 2, "an agent and a text");
    if (bad)
        return bad;
    c.shown.how   = events ? json ? CLI_SHOW_EVENTS : CLI_SHOW_LINES : json ? CLI_SHOW_OBJECT : CLI_SHOW_TEXT;
    c.agent       = wb_cstr(words[0]);
    c.thread_text = wb_cstr(thread);
    c.title       = wb_cstr(title);
    if (thread && title)
        return cli_misuse(self, "--title is of a new thread, and --thread names one that is there");
    if (read_text(words[1], &in, &c.text, &err) < 0)
        return cli_fail(self, &err);
    if (!wb_str_trim(c.text).n)
        return cli_misuse(self, "wants a text that says something");
    return go(self, &c, file, store);
}

const struct cli_command cli_run = {
    .name    = "run",
    .usage   = "AGENT TEXT [--thread ID | --title TITLE] [--events] [--json] [--config FILE] [--store URL]",
    .summary = "runs an agent once and prints its answer",
    .help =
        "Gives TEXT (-: standard input) to AGENT, in a new thread (with the title TITLE) or in the thread ID, and\n"
        "prints the answer as it is generated.\n"
        "  --json            one JSON object at the end: run, thread, status, text, incomplete, usage, error, pending\n"
        "  --events          one line per event\n"
        "  --events --json   the events as JSON (UAP's AgentStreamEvents), one per line\n"
        "If a server owns the store, the server executes the run. Ctrl-C cancels the run; a second one exits at once.\n"
        "Exits 0 if the run completed; 1 if it failed, was cancelled by somebody else or waits for answers (standard\n"
        "error says for which, and how to answer); 3 if a limit cut it short (a budget or max_steps; standard error\n"
        "says which); 130 if it was interrupted.",
    .run = run,
};
