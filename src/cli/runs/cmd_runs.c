/* cli/runs/cmd_runs.c — weft runs: lists runs, the last one first. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/iso8601.h"
#include "cli/cli.h"
#include "cli/run_view.h"
#include "cli/store_reader.h"
#include "cli/table.h"
#include "cli/thread_word.h"
#include "dialects/core/frame.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "log/log.h"
#include "model/upp_json.h"
#include "runtime/config_read.h"

enum { PAGE = 16 };

struct listing {
    const char *thread, *state;
    bool json;
    uint64_t limit; /* 0: all */
    uint64_t n;
    bool more;

    struct cli_as as;
    struct cli_table table;
};

static const char *const states[] = {"queued",     "running", "waiting",   "cancelling", "completed",
                                     "incomplete", "failed",  "cancelled", "expired",    NULL};

static const char *state_of(const struct wm_run *run)
{
    return wm_is_incomplete(run->status, run->error)                                   ? "incomplete"
           : run->cancel && !wm_status_ended(run->status) && run->status != WM_WAITING ? "cancelling"
                                                                                       : wd_status_word(run->status);
}

/* How long it took, or takes so far; 0: it has not begun. */
static int64_t duration_ms(const struct wm_run *run)
{
    int64_t end = run->ended_ms ? run->ended_ms : wb_wall_ms();
    return run->started_ms && end > run->started_ms ? end - run->started_ms : 0;
}

/* Why it ended as it did: the limit that it has reached, or its error. Empty: no reason to tell. */
static struct upp_str why(const struct wm_run *run, struct wb_arena *a)
{
    yyjson_val *error;
    if (!run->error.n || wj_read(a, run->error, NULL, &error, NULL) < 0)
        return (struct upp_str){NULL, 0};
    return wj_text_at(error, wm_is_incomplete(run->status, run->error) ? "reason" : "message");
}

static void put_time(struct wj_writer *w, const char *key, int64_t ms)
{
    wj_write_name(w, wb_cstr(key));
    if (ms)
        wm_time_write(w, ms);
    else
        wj_write_null(w);
}

static int write_run(const struct wm_run *run, bool deleted, struct wb_arena *a, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64u << 20);
    struct wj_writer w;
    char id[64];
    struct upp_str reason = why(run, a);
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", wb_cstr(cli_id("run_", run->id, id)));
    wj_put_str(&w, "state", wb_cstr(state_of(run)));
    wj_put_str_or_empty(&w, "agent", run->agent);
    wj_put_str(&w, "thread", wb_cstr(cli_id("thread_", run->thread, id)));
    wj_put_bool(&w, "thread_deleted", deleted);
    put_time(&w, "created", run->created_ms);
    put_time(&w, "begun", run->started_ms);
    put_time(&w, "ended", run->ended_ms);
    put_time(&w, "expires", run->status == WM_WAITING ? run->expires_ms : 0);
    wj_put_i64(&w, "duration_ms", duration_ms(run));
    wj_put_u64(&w, "input_tokens", run->usage.input);
    wj_put_u64(&w, "output_tokens", run->usage.output);
    if (reason.n)
        wj_put_str(&w, "why", reason);
    else
        wj_put_null(&w, "why");
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r >= 0)
        (void)printf("%.*s\n", UPP_FMT(wb_buf_str(&out)));
    return r;
}

static const char *text_of(int64_t ms, char out[WB_TIME_TEXT])
{
    struct wb_time t = wb_time_from_ms(ms);
    (void)wb_time_upp(&t, out);
    return out;
}

static const char *duration_text(int64_t ms, char out[32])
{
    if (ms < 60000)
        (void)snprintf(out, 32, "%lld.%llds", (long long)ms / 1000, (long long)ms % 1000 / 100);
    else if (ms < 100 * 60000LL)
        (void)snprintf(out, 32, "%lldm", (long long)ms / 60000);
    else if (ms < 100 * 3600000LL)
        (void)snprintf(out, 32, "%lldh", (long long)ms / 3600000);
    else
        (void)snprintf(out, 32, "%lldd", (long long)ms / 86400000);
    return out;
}

static const struct cli_column columns[] = {
    {.title = "RUN"},
    {.title = "STATE", .width = 10},
    {.title = "AGENT", .width = 12},
    {.title = "THREAD", .may_go = true},
    {.title = "BEGAN", .may_go = true},
    {.title = "TIME", .width = 6, .right = true},
    {.title = "TOKENS", .width = 8, .right = true},
    {.title = "WHY"},
};

static enum cli_colour colour_of(const char *state)
{
    static const struct {
        const char *state;
        enum cli_colour colour;
    } colours[] = {{"running", CLI_CYAN},      {"waiting", CLI_YELLOW}, {"completed", CLI_GREEN},
                   {"incomplete", CLI_YELLOW}, {"failed", CLI_RED},     {"expired", CLI_RED}};
    for (size_t i = 0; i < WB_LEN(colours); i++)
        if (strcmp(colours[i].state, state) == 0)
            return colours[i].colour;
    return CLI_PLAIN;
}

static void print_run(struct cli_table *to, const struct wm_run *run, bool deleted, struct wb_arena *a)
{
    char id[64], thread[64], time[WB_TIME_TEXT], until[WB_TIME_TEXT], took[32], tokens[32];
    struct upp_str reason = why(run, a);
    bool waits = run->status == WM_WAITING && run->expires_ms;
    if (waits)
        reason = wb_arena_printf(a, "until %s", text_of(run->expires_ms, until));
    if (deleted)
        reason = wb_arena_printf(a, "thread deleted%s%.*s", reason.n ? "  " : "", UPP_FMT(reason));
    (void)snprintf(tokens, sizeof tokens, "%llu", (unsigned long long)(run->usage.input + run->usage.output));
    cli_table_row(to, (struct cli_cell[]){
                          {wb_cstr(cli_id("run_", run->id, id)), CLI_PLAIN, 0},
                          {wb_cstr(state_of(run)), colour_of(state_of(run)), 0},
                          {run->agent, CLI_PLAIN, 0},
                          {wb_cstr(cli_id("thread_", run->thread, thread)), CLI_CYAN, 0},
                          {wb_cstr(text_of(run->started_ms ? run->started_ms : run->created_ms, time)), CLI_DIM, 0},
                          {wb_cstr(duration_text(duration_ms(run), took)), CLI_PLAIN, 0},
                          {wb_cstr(tokens), CLI_PLAIN, 0},
                          {reason, CLI_PLAIN, 0}});
}

WEFT_SUSPENDS static int list_one(struct cli_reader *rd, const struct wm_run *run, struct upp_err *err)
{
    struct listing *l = rd->arg;
    struct wl_thread t;
    if (l->state && strcmp(l->state, state_of(run)) != 0)
        return 0;
    if (l->limit && l->n == l->limit) {
        l->more = true;
        return 0;
    }
    l->n++;
    int r = wl_get_thread(rd->store, &rd->owner, run->thread, &rd->arena, &t, err);
    bool deleted = r == -UPP_ENOTFOUND;
    if (r < 0 && !deleted)
        return r;
    if (l->json)
        return write_run(run, deleted, &rd->arena, err);
    print_run(&l->table, run, deleted, &rd->arena);
    return 0;
}

WEFT_SUSPENDS static int list_all(struct cli_reader *rd, struct upp_err *err)
{
    struct listing *l = rd->arg;
    struct wl_thread thread = {0};
    struct wb_uuid after = {{0}};
    cli_read_as(rd, &l->as);
    int r = rd->store && l->thread ? cli_thread_find(rd, l->thread, &thread, err) : 0;
    for (size_t n = rd->store ? PAGE : 0; r >= 0 && n == PAGE && !l->more;) {
        struct wm_run *runs;
        wb_arena_reset(&rd->arena);
        r = wl_list_runs_after(rd->store, l->thread ? WL_LIST_RUNS : WL_LIST_OWN_RUNS, &rd->owner, thread.id, after,
                               PAGE, &rd->arena, &runs, &n, err);
        for (size_t i = 0; r >= 0 && i < n && !l->more; i++) {
            after = runs[i].id;
            r = list_one(rd, &runs[i], err);
        }
    }
    return r;
}

static int check_state(const struct cli_command *self, const char *state)
{
    size_t ignored;
    return state ? cli_word(self, "--state", state, states, &ignored) : 0;
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct listing l = {0};
    const char *file = NULL, *store = NULL, *limit = NULL;
    const struct cli_option options[] = {{"--config", "a file", &file, NULL},
                                         {"--store", "sqlite:PATH", &store, NULL},
                                         {"--thread", "an id", &l.thread, NULL},
                                         {"--state", "a state", &l.state, NULL},
                                         {"--limit", "a number", &limit, NULL},
                                         {"--json", NULL, NULL, &l.json},
                                         CLI_AS(&l.as)};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), NULL, 0, NULL);
    if (!bad)
        bad = check_state(self, l.state);
    if (!bad)
        bad = cli_list_limit(self, limit, &l.limit);
    if (bad)
        return bad;
    struct upp_err err = {0};
    cli_table_begin(&l.table, columns, WB_LEN(columns));
    int r = cli_read_store(self, file, store, true, list_all, &l);
    if (cli_table_end(&l.table, &err) < 0 && r == CLI_GOOD)
        r = cli_fail(self, &err);
    if (r == CLI_GOOD)
        cli_list_end(self, l.state || l.thread ? "such run" : "run", l.n, l.more);
    return r;
}

static const struct cli_about about_runs[] = {
    {"--thread", "ID", "only those of this thread", CLI_TEXT, NULL},
    {"--state", "STATE", "only those in this state", CLI_CHOICE, states},
    CLI_ABOUT_LIMIT,
    {"--json", NULL, "one object per line", CLI_TEXT, NULL},
    CLI_ABOUT_AS,
    CLI_ABOUT_CONFIG,
    CLI_ABOUT_STORE,
};

const struct cli_command cli_runs = {
    .name = "runs",
    .usage = "[--thread ID] [--state STATE] [--limit N] [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "lists runs",
    .help = "Prints one line per run, the last one first: id, state, agent, thread, when it began, duration, tokens, "
            "and why\n"
            "it stopped (the limit it has reached, or its error) or until when it waits. A run whose thread was "
            "deleted says\n"
            "`thread deleted`. Runs of sub-agents are part of their caller's.\n"
            "The database can be read while a server uses it.",
    .run = run,
    CLI_OPTIONS(about_runs),
    .examples = "weft runs --state waiting\n"
                "weft runs --thread THREAD --json\n",
};
