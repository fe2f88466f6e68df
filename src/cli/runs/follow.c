/* cli/runs/follow.c — reads a run's stream to the end, through restarts of the store's owner, and cancels it on a
 * signal. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/runs/follow.h"
#include "base/defs.h"
#include "base/file.h"
#include "base/hooks.h"
#include "cli/setup.h"
#include "json/value.h"
#include "json/write.h"

enum { LOST_MAX = 5 /* consecutive streams that end without an event */ };

WEFT_SUSPENDS static int ask_cancel(struct cli_follow *c, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    yyjson_val *ignored;
    char id[64];
    struct upp_str path = wb_arena_printf(&a, "/v1/runs/%s/cancel", cli_id("run_", c->shown.run, id));
    int r = wb_arena_check(&a, err);
    return r < 0 ? r
                 : cli_owner_call(&c->door, &(struct cli_request){.method = "POST", .path = path}, &a, &ignored, err);
}

/* The first signal cancels the run, if it was started and is ours; the second one, or one before that, ends the
 * command. */
WEFT_SUSPENDS static int watches_signals(void *arg, struct upp_err *err)
{
    struct cli_follow *c = arg;
    for (;;) {
        struct signalfd_siginfo info;
        int64_t n = weft_read(c->signal_fd, &info, sizeof info, err);
        if (n < 0)
            return (int)n;
        if (c->on_signal && c->on_signal(c, (int)info.ssi_signo))
            continue;
        bool again = c->interrupted;
        c->interrupted = true;
        if (again || !c->cancels || wb_uuid_is_nil(c->shown.run) || ask_cancel(c, err) < 0)
            weft_fiber_cancel(c->fiber);
    }
}

static int open_signals(struct cli_follow *c, struct upp_err *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    if (c->on_signal)
        (void)sigaddset(&set, SIGWINCH);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* fails only for invalid arguments */
    c->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return c->signal_fd < 0 ? upp_fail(err, UPP_ELIMIT, "no descriptor for signals") : 0;
}

int cli_follow_id(yyjson_val *object, const char *name, const char *prefix, struct wb_uuid *ret, struct upp_err *err)
{
    yyjson_val *id = yyjson_obj_get(object, name);
    if (id && yyjson_is_str(id) && wl_id_parse(wj_text(id), wb_cstr(prefix), ret))
        return 0;
    return upp_fail(err, UPP_EPROTO, "the owner of the store answers without '%s'", name);
}

/* Opens the stream of events, after the last one received. */
WEFT_SUSPENDS static int begin_stream(struct cli_follow *c, struct cli_answer *a, struct upp_err *err)
{
    char id[64];
    struct cli_request q = {.method = "GET", .last_event_id = wb_cstr(c->last_id)};
    q.path = wb_arena_printf(&c->arena, "/v1/runs/%s/events?as=weft", cli_id("run_", c->shown.run, id));
    int r = wb_arena_check(&c->arena, err);
    if (r >= 0)
        r = cli_owner_ask(&c->door, &q, a, err);
    if (r >= 0 && a->status / 100 != 2)
        r = cli_answer_fail(a, err);
    return r;
}

/* Reads until the run is over (1), or until the stream is lost (0); *some: it delivered an event. */
WEFT_SUSPENDS static int follow(struct cli_follow *c, bool *some, struct upp_err *err)
{
    WB_CLEANUP(cli_answer_done) struct cli_answer a;
    cli_answer_init(&a);
    int r = c->started ? 0 : c->start(c, err);
    if (r > 0) {
        c->stored = true;
        return r;
    }
    if (r >= 0) {
        c->started = true;
        r = begin_stream(c, &a, err);
    }
    while (r >= 0) {
        r = cli_read_event(&a, err);
        if (r <= 0)
            break;
        *some = true;
        r = cli_run_view_event(&c->shown, wb_buf_str(&a.id), wb_buf_str(&a.data), err);
        if (r < 0)
            return r;
        if (a.id.n)
            (void)snprintf(c->last_id, sizeof c->last_id, "%.*s", UPP_FMT(wb_buf_str(&a.id)));
        if (cli_run_view_over(&c->shown))
            return 1;
    }
    return r == -UPP_ENET || r == -UPP_EBUSY ? 0 : r; /* the owner has died or is stopping */
}

/* Follows the run through deaths of its owner. */
WEFT_SUSPENDS static int until_over(struct cli_follow *c, struct upp_err *err)
{
    int r = 0;
    for (unsigned lost = 0; r >= 0;) {
        bool some = false;
        r = follow(c, &some, err);
        if (r != 0)
            break;
        lost = some ? 0 : lost + 1;
        if (lost == LOST_MAX)
            return upp_fail(err, UPP_ENET, "the events of the run cannot be had");
        cli_owner_close(&c->door);
        r = cli_owner_open(&c->door, true, err);
    }
    return r;
}

WEFT_SUSPENDS int cli_follow_run(struct cli_follow *c, struct upp_err *err)
{
    c->started = c->stored = c->interrupted = false;
    wb_buf_clear(&c->shown.status);
    return until_over(c, err);
}

WEFT_SUSPENDS static int run_it(struct cli_follow *c, struct upp_err *err)
{
    int r = cli_owner_open(&c->door, true, err);
    if (r >= 0 && c->session) {
        r = c->session(c, err);
        c->stored = true;
        return r;
    }
    if (r >= 0)
        r = until_over(c, err);
    return r < 0 ? r : cli_run_view_end(&c->shown, c->thread, err);
}

WEFT_SUSPENDS static int command(void *arg, struct upp_err *err)
{
    struct cli_follow *c = arg;
    struct weft_scope signals = {.flags = WEFT_SCOPE_ISOLATED};
    c->fiber = weft_fiber_self();
    int r = weft_scope_spawn(&signals, "signals", watches_signals, c, NULL, err);
    if (r >= 0)
        r = run_it(c, err);
    cli_owner_close(&c->door);
    weft_scope_close(&signals);
    cli_owner_done(&c->door);
    return r;
}

int cli_follow_text(const char *word, struct wb_buf *in, struct upp_str *ret, struct upp_err *err)
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

static int exit_code(struct cli_follow *c)
{
    if (c->stored || cli_run_view_is(&c->shown, "completed"))
        return CLI_GOOD;
    (void)fflush(stdout);
    if (c->interrupted)
        (void)fprintf(stderr, "weft %s: interrupted: the run is cancelled\n", c->shown.name);
    else
        cli_run_view_explain(&c->shown);
    return c->interrupted ? CLI_INTERRUPTED : cli_run_view_is(&c->shown, "incomplete") ? CLI_INCOMPLETE : CLI_FAILED;
}

void cli_follow_init(struct cli_follow *c, enum cli_show how, const char *name)
{
    *c = (struct cli_follow){.arena = WB_ARENA(512u << 20), .signal_fd = -1};
    cli_run_view_init(&c->shown, how);
    c->shown.name = name;
}

void cli_follow_done(struct cli_follow *c)
{
    wb_log_to(NULL, NULL);
    cli_run_view_done(&c->shown);
    wb_arena_done(&c->arena);
    wb_fd_close(&c->signal_fd);
}

WEFT_SUSPENDS static int has_owner(void *arg, struct upp_err *err)
{
    return cli_owner_find(arg, err);
}

/* All of the configuration; or, if there are mistakes in it (say, its secrets are not set in this shell) and another
 * process owns the store and runs the agents, the store alone. */
static int find_owner(struct cli_follow *c, const struct cli_source *from, struct wc_config **config,
                      struct wrt_location *place, struct upp_err *err)
{
    WB_CLEANUP(wc_report_done) struct wc_report report = {0};
    int r = cli_config_quietly(from->config, CLI_NEEDS_ALL, &report, config, err);
    if (r == -UPP_EINVALID || r == -UPP_ENOTFOUND) {
        WB_CLEANUP(wc_config_freep) struct wc_config *only = NULL;
        struct cli_owner owner = {.place = place};
        c->door.only_others = cli_store_find(from, &only, place, NULL) >= 0 && place->driver->owner &&
                              cli_on_loop(has_owner, &owner, NULL) >= 0;
        if (!c->door.only_others)
            return cli_config_mistakes(from->config, &report, r, err);
        *config = WB_TAKE(only);
        return 0;
    }
    return r < 0 ? r : wrt_location_of(*config, from->store, place, err);
}

int cli_follow(const struct cli_command *self, struct cli_follow *c, const struct cli_source *from, bool must_exist)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    WB_CLEANUP(wb_secret_freep) struct wb_secret *master = NULL;
    struct wrt_location place;
    struct upp_err err = {0};
    c->door.as = from->as;
    int r = c->door.url ? cli_no_config(&config, &err) : find_owner(c, from, &config, &place, &err);
    if (c->door.url)
        place = (struct wrt_location){0};
    else if (r >= 0)
        r = cli_take_key(&place, &master, &err);
    if (r >= 0 && must_exist)
        r = cli_store_lasts(&place, &err);
    if (r >= 0 && must_exist && access(place.path, F_OK) != 0)
        r = upp_fail(&err, UPP_ENOTFOUND, "there is no database %s", place.path);
    if (r >= 0)
        r = open_signals(c, &err);
    if (r < 0)
        return cli_fail(self, &err);
    (void)cli_log_setup(config, NULL, WB_WARN);
    wb_log_to(cli_run_view_log, &c->shown);
    c->door.config = config;
    c->door.place = &place;
    r = cli_on_loop(command, c, &err);
    if (r < 0 && c->interrupted) {
        (void)fprintf(stderr, "weft %s: interrupted\n", self->name);
        return CLI_INTERRUPTED;
    }
    return r < 0 ? cli_fail(self, &err) : exit_code(c);
}

static int write_request(const struct cli_start *s, struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "assistant_id", s->agent);
    if (s->model.n)
        wj_put_str(&w, "model", s->model);
    if (!s->thread.n && s->title.n) {
        wj_put_open(&w, "thread", '{');
        wj_put_str(&w, "title", s->title);
        wj_write_close(&w, '}');
    }
    wj_put_open(&w, "additional_messages", '[');
    wj_write_open(&w, '{');
    wj_put_str(&w, "role", UPP_STR("user"));
    wj_put_str(&w, "content", s->text);
    wj_write_close(&w, '}');
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

WEFT_SUSPENDS int cli_start_run(struct cli_follow *f, const struct cli_start *start, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(CLI_MAX_BODY);
    yyjson_val *v;
    struct cli_request q = {.method = "POST", .key = start->key};
    int r = write_request(start, &body, err);
    q.path = start->thread.n ? wb_arena_printf(&f->arena, "/v1/threads/%.*s/runs", UPP_FMT(start->thread))
                             : UPP_STR("/v1/threads/runs");
    q.body = wb_buf_str(&body);
    if (r >= 0)
        r = wb_arena_check(&f->arena, err);
    if (r >= 0)
        r = cli_owner_call(&f->door, &q, &f->arena, &v, err);
    if (r >= 0)
        r = cli_follow_id(v, "thread_id", "thread_", &f->thread, err);
    return r < 0 ? r : cli_follow_id(v, "id", "run_", &f->shown.run, err);
}
