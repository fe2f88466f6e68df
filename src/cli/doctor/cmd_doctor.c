/* cli/doctor/cmd_doctor.c — weft doctor: checks this machine.
 *
 * A check is one function that adds one finding. Every check runs, whatever the others found.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>

#include "agent/tool/command.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/iso8601.h"
#include "base/library.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "cli/doctor/doctor.h"
#include "cli/list.h"
#include "json/read.h"
#include "server/libraries.h"

#include "config.h"

struct doctor_options {
    struct cli_source from;
    const char *export; /* a folder; NULL: none */
    bool json, rebuild_search, rewrite, ready;
};

enum state { GOOD, WARN, BAD };

static const char *const state_names[] = {[GOOD] = "ok", [WARN] = "warn", [BAD] = "bad"};

struct finding {
    const char *name;
    enum state state;
    struct upp_str text; /* UTF-8, one line */
};

enum { MAX_FINDINGS = 32 };

struct report {
    struct wb_arena arena;
    struct finding rows[MAX_FINDINGS];
    size_t n;
};

/* A folder's name may contain any bytes: prints UTF-8 without control characters. */
static struct upp_str printable(struct wb_arena *a, struct upp_str raw)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 10);
    wb_utf8_add_clean(&b, raw);
    for (size_t i = 0; i < b.n; i++)
        if ((unsigned char)b.p[i] < 0x20 || b.p[i] == 0x7f)
            b.p[i] = '?';
    struct upp_str text = wb_buf_check(&b, NULL) < 0 ? (struct upp_str){0} : wb_arena_dup(a, wb_buf_str(&b));
    return text.p ? text : UPP_STR("too long to show");
}

UPP_PRINTF(4, 5) static void add(struct report *r, const char *name, enum state state, const char *fmt, ...)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf raw = WB_BUF(32u << 10);
    va_list args;
    if (r->n == MAX_FINDINGS)
        return;
    va_start(args, fmt);
    wb_buf_vaddf(&raw, fmt, args);
    va_end(args);
    r->rows[r->n++] = (struct finding){name, state, printable(&r->arena, wb_buf_str(&raw))};
}

/* ---- Libraries ----------------------------------------------------------------------------------- */

static void check_libraries(struct report *r)
{
    for (size_t i = 0; i < WB_LEN(sv_libraries); i++) {
        struct wb_library l = sv_libraries[i]();
        if (!l.built)
            add(r, l.name, GOOD, "not in this build");
        else if (!l.running[0])
            add(r, l.name, GOOD, "%s", l.built);
        else if (strcmp(l.built, l.running) == 0)
            add(r, l.name, GOOD, "%s", l.running);
        else
            add(r, l.name, GOOD, "%s (built with %s)", l.running, l.built);
    }
}

/* ---- Store folder ---------------------------------------------------------------------------------- */

/* Writes a file as a store would, under a name of its own, and removes it. */
static void check_folder(struct report *r, const char *folder)
{
    char id[WB_UUID_HEX + 1];
    struct wb_uuid unique;
    struct upp_err err = {0};
    if (wb_uuid_new(&unique, &err) < 0) {
        add(r, "store", BAD, "%s", err.msg);
        return;
    }
    const char *path = wb_arena_printf(&r->arena, "%s/.weft-doctor-%s", folder, wb_uuid_hex(unique, id).p).p;
    if (wb_arena_check(&r->arena, &err) < 0) {
        add(r, "store", BAD, "the name of the folder: %s", err.msg);
        return;
    }
    uint64_t begin = wb_mono_ns();
    int w = wb_file_write(path, UPP_STR("weft\n"), 0600, &err);
    double ms = (double)(wb_mono_ns() - begin) / 1e6;
    if (w < 0) {
        add(r, "store", BAD, "cannot write in %s: %s", folder, err.msg);
        return;
    }
    int u = WB_CALL(unlink)(path);
    if (u < 0) {
        add(r, "store", BAD, "cannot remove %s: %s", path, strerror(-u));
        return;
    }
    struct statvfs fs;
    if (statvfs(folder, &fs) != 0) {
        add(r, "store", WARN, "%s is writable, but its free space is unknown: %s", folder, strerror(errno));
        return;
    }
    double free_gib = (double)fs.f_bavail * (double)fs.f_frsize / (1u << 30);
    add(r, "store", free_gib < 0.25 ? WARN : GOOD, "%s is writable, %.1f GiB free, a synced write takes %.1f ms",
        folder, free_gib, ms);
}

/* ---- Is the store complete? -------------------------------------------------------------------------------- */

/* Does the store have every acknowledged commit; and if not, when was it opened without them? */
static void check_log(struct report *r, const struct ws_driver *driver, const char *path)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf accepted = WB_BUF(1u << 20);
    struct ws_losses losses = {.accepted = &accepted};
    struct ws_owner_info owner;
    struct upp_err err = {0};
    if (driver->owner(path, &owner, NULL) >= 0) {
        add(r, "log", GOOD, "process %d has %s open, and looked at it when it started", owner.pid, path);
        return;
    }
    if (driver->losses(path, &losses, &err) < 0) {
        add(r, "log", BAD, "%s: %s", path, err.msg);
        return;
    }
    if (losses.missing[0])
        add(r, "log", BAD, "%s", losses.missing);
    struct upp_str rest = wb_buf_str(&accepted), line;
    for (unsigned i = 0; i < 8 && rest.n && wb_str_split(&rest, '\n', &line); i++)
        add(r, "log", WARN, "started without what is missing, %.*s", UPP_FMT(line));
    if (!losses.missing[0] && !accepted.n)
        add(r, "log", GOOD, "%s has all that was acknowledged", path);
}

static void check_pages(struct report *r, const struct ws_driver *driver, const char *path)
{
    struct ws_pages pages;
    struct upp_err err = {0};
    if (driver->check_pages(path, &pages, &err) < 0)
        add(r, "pages", BAD, "%s: %s", path, err.msg);
    else if (!pages.summed)
        add(r, "pages", WARN, "the pages of %s have no checksums: `weft doctor --rewrite` gives them some", path);
    else if (!pages.wrong)
        add(r, "pages", GOOD, "%llu pages have their checksums", (unsigned long long)pages.n);
    else if (pages.index)
        add(r, "pages", WARN,
            "%llu of %llu pages have a wrong checksum (the first is %u), but none that is needed: they are of the "
            "search"
            " index, or unused; `weft doctor --rewrite` leaves them out",
            (unsigned long long)pages.wrong, (unsigned long long)pages.n, pages.first);
    else
        add(r, "pages", BAD,
            "%llu of %llu pages have a wrong checksum (the first is %u): `weft doctor --export DIR` saves what can be"
            " read; if another program wrote them, `weft doctor --rewrite` takes them as they are",
            (unsigned long long)pages.wrong, (unsigned long long)pages.n, pages.first);
}

/* The store of the configuration, and its folder. */
static void check_store(struct report *r, const char *config, const char *given)
{
    struct cli_doctor_store *s = wb_new_n(&r->arena, struct cli_doctor_store, 1); /* too large for a stack frame */
    if (!s) {
        add(r, "store", BAD, "no memory");
        return;
    }
    cli_doctor_store(config, given, s);
    if (s->folder[0])
        check_folder(r, s->folder);
    if (s->looked)
        add(r, "database", s->bad ? BAD : GOOD, "%s%s%s", s->what.where, s->what.where[0] ? ": " : "", s->what.msg);
    if (s->index_read && s->index.msg[0])
        add(r, "search", WARN, "%s; `weft serve` rebuilds it, or run `weft doctor --rebuild-search`", s->index.msg);
    else if (s->index_read)
        add(r, "search", GOOD, "the index can be read");
    if (s->rows_read && s->rows.n)
        add(r, "rows", BAD, "%llu have a wrong checksum (%s): `weft doctor --export DIR` saves all others",
            (unsigned long long)s->rows.n, s->rows.first);
    else if (s->rows_read)
        add(r, "rows", GOOD, "all have their checksums");
    if (s->path[0] && s->driver->check_pages)
        check_pages(r, s->driver, s->path);
    if (s->path[0] && s->driver->losses)
        check_log(r, s->driver, s->path);
}

/* ---- Clock and limits --------------------------------------------------------------------------------- */

static void check_clock(struct report *r)
{
    char now[WB_TIME_TEXT] = "";
    int64_t wall = wb_wall_ms();
    struct wb_time t = wb_time_from_ms(wall);
    uint64_t a = wb_mono_ns(), b = a;
    for (int i = 0; i < 1000000 && b == a; i++)
        b = wb_mono_ns();
    (void)wb_time_upp(&t, now);
    if (b <= a)
        add(r, "clock", BAD, "the monotonic clock stands still");
    else if (wall < WEFT_RELEASED * INT64_C(1000))
        add(r, "clock", BAD, "it is %s here, before this program was made", now);
    else
        add(r, "clock", GOOD, "%s, steps of %llu ns", now, (unsigned long long)(b - a));
}

static void check_descriptors(struct report *r)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0)
        add(r, "files", WARN, "the limit of open files is unknown: %s", strerror(errno));
    else
        add(r, "files", l.rlim_max < 4096 ? WARN : GOOD, "%llu open files now, %llu at most (raise with ulimit -n)",
            (unsigned long long)l.rlim_cur, (unsigned long long)l.rlim_max);
}

/* A fiber's stack and its guard page are two mappings. */
static void check_maps(struct report *r)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64);
    uint64_t maps;
    if (wb_file_read("/proc/sys/vm/max_map_count", &b, NULL) < 0 || !wb_str_u64(wb_str_trim(wb_buf_str(&b)), &maps))
        add(r, "maps", WARN, "vm.max_map_count is unknown: how many fibers fit cannot be said");
    else
        add(r, "maps", maps < 65530 ? WARN : GOOD, "%llu maps, room for %llu fibers", (unsigned long long)maps,
            (unsigned long long)(maps / 2));
}

/* weft-reaper prints how it enforces a tool's limits, on this system and for this user. */
static void check_tools(struct report *r)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf path = WB_BUF(8192), output = WB_BUF(1024);
    struct upp_err err = {0};
    int fds[2], status = 0;
    if (wa_reaper_find(&path, &err) < 0) {
        add(r, "tools", WARN, "%s", err.msg);
        return;
    }
    char *argv[] = {path.p, (char[]){"--limits"}, NULL};
    int pid = WB_CALL(pipe)(fds, 0);
    if (pid >= 0) {
        pid = WB_CALL(spawn)(&(struct upp_spawn){.file = path.p, .argv = argv, .in = -1, .out = fds[1], .error = -1});
        (void)WB_CALL(close)(fds[1]);
        struct pollfd ready = {.fd = fds[0], .events = POLLIN};
        while (pid >= 0 && poll(&ready, 1, 10000) > 0 && wb_buf_reserve(&output, 256)) {
            int64_t n = wb_fd_read(fds[0], output.p + output.n, 1);
            if (n <= 0)
                break;
            output.n += (size_t)n;
        }
        (void)WB_CALL(close)(fds[0]);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    struct upp_str text = wb_str_trim(wb_buf_str(&output));
    if (pid < 0 || status != 0 || !text.n)
        add(r, "tools", WARN, "%s does not say how tools are held to their limits", path.p);
    else /* limits that are only watched are enforced late */
        add(r, "tools", wb_str_ends(text, UPP_STR("of a tool: watched")) ? WARN : GOOD, "%.*s", UPP_FMT(text));
}

static void report_done(struct report *r)
{
    wb_arena_done(&r->arena);
}

/* ---- The command ------------------------------------------------------------------------------------------- */

static void print_text(const struct report *r)
{
    static const enum cli_colour colours[] = {[GOOD] = CLI_GREEN, [WARN] = CLI_YELLOW, [BAD] = CLI_RED};
    bool coloured = cli_colours(stdout);
    for (size_t i = 0; i < r->n; i++) {
        cli_colour(stdout, coloured, colours[r->rows[i].state]);
        (void)printf("%-4s", state_names[r->rows[i].state]);
        cli_colour(stdout, coloured, CLI_PLAIN);
        (void)printf("  %-9s %.*s\n", r->rows[i].name, UPP_FMT(r->rows[i].text));
    }
}

static int print_json(const struct cli_command *self, const struct report *r, enum state worst)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err;
    struct wj_writer w;
    wj_writer_init(&w, &b, &err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "version", wb_cstr(upp_version()));
    wj_put_str(&w, "state", wb_cstr(state_names[worst]));
    wj_put_open(&w, "checks", '[');
    for (size_t i = 0; i < r->n; i++) {
        wj_write_open(&w, '{');
        wj_put_str(&w, "name", wb_cstr(r->rows[i].name));
        wj_put_str(&w, "state", wb_cstr(state_names[r->rows[i].state]));
        wj_put_str(&w, "text", r->rows[i].text);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return cli_line_out(stdout, &w) < 0 ? cli_fail(self, &err) : CLI_GOOD;
}

static int run_doctor(const struct cli_command *self, int argc, char **argv)
{
    WB_CLEANUP(report_done) struct report r = {.arena = WB_ARENA(1u << 20)};
    struct doctor_options o = {0};
    int bad = cli_parse(self, argc, argv, &o, NULL, 0, NULL);
    if (bad)
        return bad;
    if (o.ready + o.rebuild_search + o.rewrite + (o.export != NULL) > 1)
        return cli_misuse(self, "--export, --rebuild-search, --rewrite and --ready exclude each other");
    if (o.ready)
        return cli_doctor_ready(self, &o.from);
    if (o.rebuild_search)
        return cli_doctor_search(self, &o.from);
    if (o.rewrite)
        return cli_doctor_rewrite(self, &o.from);
    if (o.export)
        return cli_doctor_export(self, o.export, &o.from);
    check_libraries(&r);
    check_store(&r, o.from.config, o.from.store);
    check_clock(&r);
    check_descriptors(&r);
    check_maps(&r);
    check_tools(&r);

    enum state worst = GOOD;
    for (size_t i = 0; i < r.n; i++)
        worst = WB_MAX(worst, r.rows[i].state);
    if (!o.json)
        print_text(&r);
    else if (print_json(self, &r, worst) != CLI_GOOD)
        return CLI_FAILED;
    return worst == BAD ? CLI_FAILED : CLI_GOOD;
}

static const struct cli_option doctor_options[] = {
    CLI_CONFIG_OPTION(struct doctor_options, from.config),
    CLI_VALUE("--store", "FOLDER|URL", "a folder or a store", struct doctor_options, from.store,
              "another store (sqlite:PATH), or a folder"),
    CLI_FLAG("--json", struct doctor_options, json,
             "one JSON object: all checks; the report; the number of rows; sizes; or the server's answer"),
    CLI_VALUE_OF("--export", "DIR", "a folder", struct doctor_options, export, CLI_FOLDER, NULL,
                 "writes every thread that can be read from a damaged store to DIR"),
    CLI_FLAG("--rebuild-search", struct doctor_options, rebuild_search, "rebuilds the search index from the log"),
    CLI_FLAG("--rewrite", struct doctor_options, rewrite, "writes the database anew, with checksums of its pages"),
    CLI_FLAG("--ready", struct doctor_options, ready, "asks the server that has the store open whether it is ready"),
};

const struct cli_command cli_doctor = {
    .name = "doctor",
    .usage = "[--config FILE] [--store FOLDER|URL] [--json] | --export DIR | --rebuild-search |\n"
             "       --rewrite | --ready\n"
             "       each also takes [--json] [--config FILE] [--store URL]",
    .summary = "checks this machine: libraries, store folder, clock, limits",
    .help =
        "Checks the libraries, the store, the clock and the limits. The store is the configuration's: its folder must\n"
        "be writable, and the database, if there is one, readable; without a configuration it is the current folder.\n"
        "Prints one line per check: ok, warn or bad. Exits 1 if one is bad.\n"
        "With a URL (sqlite:PATH) it also checks that no acknowledged data is missing: missing parts of the\n"
        "write-ahead log are bad; a store that was started without them (`weft serve --accept-loss`) is a warning.\n"
        "\n"
        "--export writes one file of SessionJSON per thread, as `weft export --as uap` does, up to the first lost "
        "message;\n"
        "and report.json, which lists what is missing. The store is copied to DIR first and never written to. No "
        "process\n"
        "may have it open. Exits 1 if something was lost.\n"
        "\n"
        "--rebuild-search: no process may have the store open. `search` in the configuration selects the index: "
        "words,\n"
        "substrings or off.\n"
        "\n"
        "--rewrite gives every page of the database a checksum, which databases of older versions and copies that "
        "SQLite\n"
        "made (VACUUM INTO) do not have, and gives unused space back. No process may have the store open; its folder\n"
        "needs room for a second one. A store with a damaged row or index stays as it is.\n"
        "\n"
        "--ready asks over the Unix socket and prints the answer. Exits 0 if the server is ready, 1 if it is not, or "
        "if\n"
        "there is none: for health checks of containers.",
    .run = run_doctor,
    CLI_OPTIONS(doctor_options),
    .examples = "weft doctor\n"
                "weft doctor --store sqlite:weft.db --export saved\n"
                "weft doctor --ready\n",
};
