/* cli/cmd_backup.c — weft backup FILE, weft backup --restore FILE. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/list.h"
#include "cli/progress.h"
#include "cli/store_client.h"
#include "cli/setup.h"
#include "stores/backup.h"

struct backup_command {
    const struct cli_command *self;
    struct cli_source from;
    const char *restore; /* a file; NULL: backs up */
    bool json;
    const struct ws_driver *driver;
    struct ws_backup b;
    struct cli_progress bar;
    enum ws_backup_stage stage;
    bool begun;
    uint64_t told_ms;
    int signals; /* a descriptor */
    bool interrupted;
};

static const char *const stages[] = {[WS_BACKUP_COPIES] = "copy", [WS_BACKUP_CHECKS] = "check"};

/* With --json, at most once a second: {"progress":{"stage":"copy","done":4096,"all":8192}} */
static void tell_program(struct backup_command *x, uint64_t done, uint64_t all)
{
    enum { EVERY_MS = 1000 };
    uint64_t now = wb_mono_ms();
    if (x->begun && now - x->told_ms < EVERY_MS && done < all)
        return;
    x->told_ms = now;
    (void)fprintf(stderr, "{\"progress\":{\"stage\":\"%s\",\"done\":%llu,\"all\":%llu}}\n", stages[x->stage],
                  (unsigned long long)done, (unsigned long long)WB_MAX(done, all));
}

/* On the worker. */
static void on_progress(void *arg, enum ws_backup_stage stage, uint64_t done, uint64_t all)
{
    struct backup_command *x = arg;
    bool next = !x->begun || stage != x->stage;
    x->stage = stage;
    if (x->self->json && !x->self->quiet) {
        x->begun = x->begun && !next;
        tell_program(x, done, all);
    } else if (next) {
        cli_progress_end(&x->bar);
        cli_progress_begin(&x->bar, x->self, stage == WS_BACKUP_COPIES ? NULL : "rows verified", all);
    }
    x->begun = true;
    cli_progress_to(&x->bar, done);
}

WEFT_SUSPENDS static int watches_signals(void *arg, struct upp_err *err)
{
    struct backup_command *x = arg;
    for (;;) {
        struct signalfd_siginfo info;
        int64_t n = weft_read(x->signals, &info, sizeof info, err);
        if (n < 0)
            return (int)n;
        x->interrupted = true;
        ws_backup_stop(&x->b);
    }
}

/* Before any thread is started, so that none takes them. */
static int open_signals(struct backup_command *x, struct upp_err *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* fails only for invalid arguments */
    x->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return x->signals < 0 ? upp_fail(err, UPP_ELIMIT, "no descriptor for signals") : 0;
}

WEFT_SUSPENDS static int make_backup(void *arg, struct upp_err *err)
{
    struct backup_command *x = arg;
    struct weft_scope signals = {.flags = WEFT_SCOPE_ISOLATED};
    int r = weft_scope_spawn(&signals, "signals", watches_signals, x, NULL, err);
    if (r >= 0)
        r = x->driver->backup(&x->b, err);
    weft_scope_close(&signals);
    return r;
}

static int print_json(const struct backup_command *x, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 16);
    const struct ws_backup_counts *n = &x->b.counts;
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, x->b.restore ? "restored" : "backup", wb_cstr(x->b.restore ? x->b.from : x->b.to));
    wj_put_str(&w, "store", wb_cstr(x->b.restore ? x->b.to : x->b.from));
    wj_put_u64(&w, "bytes", n->bytes);
    wj_put_u64(&w, "threads", n->threads);
    wj_put_u64(&w, "runs", n->runs);
    wj_put_u64(&w, "rows", n->rows);
    wj_put_u64(&w, "blobs", n->blobs);
    wj_put_bool(&w, "encrypted", n->sealed);
    wj_write_close(&w, '}');
    return cli_line_out(stdout, &w);
}

static void print_text(const struct backup_command *x)
{
    const struct ws_backup_counts *n = &x->b.counts;
    (void)printf("%s %s: %.1f MiB, %llu threads, %llu runs, %llu blobs; every row is verified\n",
                 x->b.restore ? "restored into" : "backed up to", x->b.to, (double)n->bytes / (1 << 20),
                 (unsigned long long)n->threads, (unsigned long long)n->runs, (unsigned long long)n->blobs);
    if (n->sealed)
        cli_note(x->self,
                 "the store is encrypted: its master key is not in the backup, and nobody can read it without");
}

static int back_up(struct backup_command *x, const char *file, struct upp_err *err)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct wrt_location place;
    int r = cli_store_find(&x->from, &config, &place, err);
    if (r >= 0)
        r = cli_store_lasts(&place, err);
    if (r >= 0 && !x->b.restore && access(place.path, F_OK) != 0)
        r = upp_fail(err, UPP_ENOTFOUND, "there is no database %s", place.path);
    if (r >= 0)
        r = open_signals(x, err);
    if (r < 0)
        return r;
    x->driver = place.driver;
    x->b.from = x->b.restore ? file : place.path;
    x->b.to = x->b.restore ? place.path : file;
    ws_backup_init(&x->b);
    x->b.progress = on_progress;
    x->b.arg = x;
    r = cli_on_loop(make_backup, x, err);
    cli_progress_end(&x->bar);
    ws_backup_done(&x->b);
    wb_fd_close(&x->signals);
    if (!x->b.restore || r >= 0) /* a restore that failed leaves the store as it was: empty, if it was that */
        cli_report_admin(x->self, config, &place,
                         &(struct cli_report){.action = x->b.restore ? "backup.restore" : "backup", .target = file}, r,
                         err);
    if (r >= 0 && x->self->json)
        r = print_json(x, err);
    else if (r >= 0)
        print_text(x);
    return r;
}

static int run_backup(const struct cli_command *self, int argc, char **argv)
{
    struct backup_command x = {.self = self, .signals = -1};
    struct upp_err err = {0};
    const char *file = NULL;
    size_t n;
    int bad = cli_parse_some(self, argc, argv, &x, &file, 1, &n);
    if (bad)
        return bad;
    if ((n == 1) == (x.restore != NULL))
        return cli_misuse(self, "wants a file to write, or --restore and a file to read");
    if (x.restore && x.b.replace)
        return cli_misuse(self, "--force is for a backup: a store that has data is never replaced");
    x.b.restore = x.restore != NULL;
    if (back_up(&x, x.restore ? x.restore : file, &err) >= 0)
        return CLI_GOOD;
    bad = cli_fail(self, &err);
    return x.interrupted ? CLI_INTERRUPTED : bad;
}

static const struct cli_option backup_options[] = {
    CLI_VALUE_OF("--restore", "FILE", "a file", struct backup_command, restore, CLI_FILE, NULL,
                 "restores the store from FILE, instead"),
    CLI_FLAG("--force", struct backup_command, b.replace, "replaces FILE if it exists"),
    CLI_FLAG("--json", struct backup_command, json,
             "one JSON object: backup or restored, store, bytes, threads, runs, rows, blobs, encrypted"),
    CLI_STORE_OPTIONS(struct backup_command, from),
};

const struct cli_command cli_backup = {
    .name = "backup",
    .usage = "FILE [--force] | --restore FILE   each also takes [--json] [--config FILE] [--store URL]",
    .summary = "a verified copy of the store, also while it is in use; and back",
    .help =
        "Writes one file with everything that is in the store at that moment: threads, runs, files, API keys, the "
        "keys\n"
        "of tenants. A server may have the store open and go on writing. FILE is a SQLite database. It gets its name\n"
        "once every page, row and blob of it is verified and on disk; if the disk is full, or with Ctrl-C, nothing is\n"
        "left of it. Not in it: the configuration, and the master key of an encrypted store. Keep both elsewhere.\n"
        "\n"
        "--restore verifies FILE and makes it the store, which must be empty: no database yet, or one without data.\n"
        "No process may have the store open.\n"
        "\n"
        "Standard error has a bar on a terminal; with --json one line per second:\n"
        "{\"progress\":{\"stage\":\"copy\",\"done\":N,\"all\":N}}, in bytes, then \"check\", in rows.",
    .run = run_backup,
    CLI_OPTIONS(backup_options),
    .examples = "weft backup backup.db\n"
                "weft backup --force /mnt/backups/monday.db --quiet      # for cron\n"
                "weft backup --restore backup.db\n",
    .takes = CLI_FILE,
};
