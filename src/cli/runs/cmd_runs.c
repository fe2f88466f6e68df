/* cli/runs/cmd_runs.c — weft runs: lists runs, the last one first. */
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "cli/run_view.h"
#include "cli/store_reader.h"
#include "cli/list.h"
#include "cli/thread_word.h"
#include "dialects/core/frame.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "log/log.h"
#include "model/upp_json.h"
#include "runtime/config_read.h"

enum { PAGE = 16 };

struct run_list {
    struct cli_list list;
    struct cli_source from;
    const char *thread, *state; /* NULL: any */
};

struct run_row {
    const struct wm_run *run;
    bool deleted; /* its thread is */
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

static void write_run(void *row, struct wb_arena *a, struct wj_writer *w)
{
    const struct run_row *x = row;
    const struct wm_run *run = x->run;
    char id[64];
    struct upp_str reason = why(run, a);
    wj_put_str(w, "id", wb_cstr(cli_id("run_", run->id, id)));
    wj_put_str(w, "state", wb_cstr(state_of(run)));
    wj_put_str_or_empty(w, "agent", run->agent);
    wj_put_str(w, "thread", wb_cstr(cli_id("thread_", run->thread, id)));
    wj_put_bool(w, "thread_deleted", x->deleted);
    put_time(w, "created", run->created_ms);
    put_time(w, "begun", run->started_ms);
    put_time(w, "ended", run->ended_ms);
    put_time(w, "expires", run->status == WM_WAITING ? run->expires_ms : 0);
    wj_put_i64(w, "duration_ms", duration_ms(run));
    wj_put_u64(w, "input_tokens", run->usage.input);
    wj_put_u64(w, "output_tokens", run->usage.output);
    if (reason.n)
        wj_put_str(w, "why", reason);
    else
        wj_put_null(w, "why");
}

static struct upp_str duration_text(int64_t ms, struct wb_arena *a)
{
    if (ms < 60000)
        return wb_arena_printf(a, "%lld.%llds", (long long)ms / 1000, (long long)ms % 1000 / 100);
    if (ms < 100 * 60000LL)
        return wb_arena_printf(a, "%lldm", (long long)ms / 60000);
    if (ms < 100 * 3600000LL)
        return wb_arena_printf(a, "%lldh", (long long)ms / 3600000);
    return wb_arena_printf(a, "%lldd", (long long)ms / 86400000);
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

static void run_cells(void *row, struct wb_arena *a, struct cli_cell *ret)
{
    const struct run_row *x = row;
    const struct wm_run *run = x->run;
    struct upp_str reason = why(run, a);
    char id[64];
    if (run->status == WM_WAITING && run->expires_ms)
        reason = wb_arena_printf(a, "until %.*s", UPP_FMT(cli_time_text(run->expires_ms, a)));
    if (x->deleted)
        reason = wb_arena_printf(a, "thread deleted%s%.*s", reason.n ? "  " : "", UPP_FMT(reason));
    ret[0].text = wb_arena_printf(a, "%s", cli_id("run_", run->id, id));
    ret[1] = (struct cli_cell){wb_cstr(state_of(run)), colour_of(state_of(run)), 0};
    ret[2].text = run->agent;
    ret[3] = (struct cli_cell){wb_arena_printf(a, "%s", cli_id("thread_", run->thread, id)), CLI_CYAN, 0};
    ret[4] = (struct cli_cell){cli_time_text(run->started_ms ? run->started_ms : run->created_ms, a), CLI_DIM, 0};
    ret[5].text = duration_text(duration_ms(run), a);
    ret[6].text = wb_arena_printf(a, "%llu", (unsigned long long)(run->usage.input + run->usage.output));
    ret[7].text = reason;
}

/* 0 also if it is not one of those that are listed. */
WEFT_SUSPENDS static int list_run(struct cli_reader *rd, const struct wm_run *run, struct upp_err *err)
{
    struct run_list *l = rd->arg;
    struct wl_thread t;
    if ((l->state && strcmp(l->state, state_of(run)) != 0) || cli_list_full(&l->list))
        return 0;
    int r = wl_get_thread(rd->store, &rd->owner, run->thread, &rd->arena, &t, err);
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    return cli_list_row(&l->list, &(struct run_row){run, r == -UPP_ENOTFOUND}, &rd->arena, err);
}

WEFT_SUSPENDS static int list_runs(struct cli_reader *rd, struct upp_err *err)
{
    struct run_list *l = rd->arg;
    struct wl_thread thread = {0};
    struct wb_uuid after = {{0}};
    int r = rd->store && l->thread ? cli_thread_find(rd, l->thread, &thread, err) : 0;
    if (r < 0)
        return r;
    for (size_t n = rd->store ? PAGE : 0; n == PAGE && !l->list.more;) {
        struct wm_run *runs;
        wb_arena_reset(&rd->arena);
        r = wl_list_runs_after(rd->store, l->thread ? WL_LIST_RUNS : WL_LIST_OWN_RUNS, &rd->owner, thread.id, after,
                               PAGE, &rd->arena, &runs, &n, err);
        for (size_t i = 0; r >= 0 && i < n && !l->list.more; i++) {
            after = runs[i].id;
            r = list_run(rd, &runs[i], err);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int run_runs(const struct cli_command *self, int argc, char **argv)
{
    struct run_list l = {0};
    int bad = cli_parse(self, argc, argv, &l, NULL, 0, NULL);
    if (!bad && l.state)
        bad = cli_word(self, "--state", l.state, states, &(size_t){0});
    if (bad)
        return bad;
    const struct cli_list_kind runs = {.noun = l.state || l.thread ? "such run" : "run",
                                       .columns = columns,
                                       .n_columns = WB_LEN(columns),
                                       .cells = run_cells,
                                       .members = write_run};
    bad = cli_list_begin(&l.list, self, &runs);
    return bad ? bad : cli_list_end(&l.list, cli_read_store(self, &l.from, true, list_runs, &l));
}

static const struct cli_option runs_options[] = {
    CLI_VALUE("--thread", "ID", "an id", struct run_list, thread, "only those of this thread"),
    CLI_VALUE_OF("--state", "STATE", "a state", struct run_list, state, CLI_CHOICE, states, "only those in this state"),
    CLI_LIMIT_OPTION(struct run_list, list),
    CLI_FLAG("--json", struct run_list, list.json, "one object per line"),
    CLI_SOURCE_OPTIONS(struct run_list, from),
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
    .run = run_runs,
    CLI_OPTIONS(runs_options),
    .examples = "weft runs --state waiting\n"
                "weft runs --thread THREAD --json\n",
};
