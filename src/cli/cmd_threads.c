/* cli/cmd_threads.c — weft threads: lists threads, the last changed one first. */
#include <stdio.h>

#include "base/defs.h"
#include "base/iso8601.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "cli/store_reader.h"
#include "cli/run_view.h"
#include "json/write.h"
#include "log/log.h"
#include "model/upp_json.h"

enum { PAGE = 256 };

struct listing {
    bool                json;
    size_t              n;
    struct cli_reads_as as;
};

static int write_thread(const struct wl_thread *t, uint32_t length, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64u << 20);
    struct wj_writer                      w;
    char                                  id[64];
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", wb_cstr(cli_id("thread_", t->id, id)));
    wj_write_name(&w, UPP_STR("created"));
    wm_time_write(&w, t->created_ms);
    wj_write_name(&w, UPP_STR("updated"));
    wm_time_write(&w, t->updated_ms);
    wj_put_u64(&w, "entries", length);
    wj_put_str(&w, "title", t->title);
    wj_write_name(&w, UPP_STR("metadata"));
    struct upp_str metadata = t->metadata.n ? t->metadata : UPP_STR("{}");
    wj_write_raw(&w, metadata.p, metadata.n);
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r >= 0)
        (void)printf("%.*s\n", UPP_FMT(wb_buf_str(&out)));
    return r;
}

WEFT_SUSPENDS static int list_one(struct cli_reader *rd, const struct wl_thread *t, struct upp_err *err)
{
    struct listing *l = rd->arg;
    struct wl_path  path;
    char            id[64], time[WB_TIME_TEXT];
    int             r = wl_thread_path(rd->store, &rd->owner, t, &rd->arena, &path, err);
    if (r < 0)
        return r;
    l->n++;
    if (l->json)
        return write_thread(t, path.length, err);
    struct wb_time updated = wb_time_from_ms(t->updated_ms);
    (void)wb_time_upp(&updated, time);
    (void)printf("%s  %s  %6u  ", cli_id("thread_", t->id, id), time, path.length);
    cli_print_text(stdout, t->title, 0);
    (void)putchar('\n');
    return 0;
}

WEFT_SUSPENDS static int list_all(struct cli_reader *rd, struct upp_err *err)
{
    struct listing *l     = rd->arg;
    struct wb_uuid  after = {{0}};
    cli_read_as(rd, &l->as);
    for (size_t n = rd->store ? PAGE : 0; n == PAGE;) {
        struct wl_thread *t;
        wb_arena_reset(&rd->arena);
        int r = wl_list_threads(rd->store, &rd->owner, after, PAGE, &rd->arena, &t, &n, err);
        if (r < 0)
            return r;
        if (n)
            after = t[n - 1].id;
        for (size_t i = 0; i < n; i++)
            if (t[i].kind == WL_MAIN) {
                r = list_one(rd, &t[i], err);
                if (r < 0)
                    return r;
            }
    }
    return 0;
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct listing          l    = {0};
    const char             *file = NULL, *store = NULL;
    const struct cli_option options[] = {{"--config", "a file", &file, NULL},
                                         {"--store", "sqlite:PATH", &store, NULL},
                                         CLI_READS_AS(&l.as),
                                         {"--json", NULL, NULL, &l.json}};
    int                     bad       = cli_parse(self, argc, argv, options, WB_LEN(options), NULL, 0, NULL);
    if (bad)
        return bad;
    int r = cli_read_store(self, file, store, true, list_all, &l);
    if (r == CLI_GOOD && !l.n) /* not on standard output, which lists only names of threads */
        (void)fprintf(stderr, "weft threads: no threads yet\n");
    return r;
}

const struct cli_command cli_threads = {
    .name    = "threads",
    .usage   = "[--tenant T] [--user U] [--json] [--config FILE] [--store URL]",
    .summary = "lists the threads of the store",
    .help =
        "Prints one line per thread, most recently changed first: id, time of the change, number of entries, title.\n"
        "--json: one object per line. --tenant, --user: whose threads (default: tenant local, no user). The database "
        "can be read while a server uses it.",
    .run = run,
};
