/* cli/doctor/export.c — weft doctor --export: writes what can be read of a damaged store as documents.
 *
 * Readable data is copied to a new database (stores/salvage.h). There, invalid rows and all rows after them are
 * cut off; then every thread is written as SessionJSON, and report.json lists what is missing.
 */
#include "cli/doctor/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thread/session_doc.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/progress.h"
#include "cli/setup.h"
#include "cli/run_view.h"
#include "json/write.h"
#include "runtime/runtime.h"
#include "stores/salvage.h"

enum { REPORT_MAX = 256 << 20 };

struct exporting {
    const char *folder;
    const struct wc_config *config;
    struct wrt_location place, made;
    struct ws_salvage *from;
    struct wl_store *store;
    struct wb_buf report;
    struct wj_writer w;
    size_t whole, cut, lost;
    struct cli_progress progress;

    const struct cli_command *self;
};

/* ---- Invalid rows ------------------------------------------------------------------------------------------ */

/* Decodes a row that could be read, to find errors in it. */
static int look_at(struct wb_arena *a, const struct wl_row *p, struct upp_err *err)
{
    struct wm_row row;
    int r = wm_row_read(a, p->format, p->body, p->tape, &row, err);
    if (r >= 0 && row.n_entries != p->n_entries)
        r = upp_fail(err, UPP_ESTORE, "it does not hold as many entries as it says");
    return r;
}

/* The first row of a node that cannot be read: 1, its position and why; 0: all can. If a batch fails (blobs,
 * encryption), its rows are read one by one. */
WEFT_SUSPENDS static int find_bad(struct exporting *x, const struct ws_salvage_item *of, uint64_t *pos,
                                  struct upp_err *why)
{
    size_t many = 64;
    for (*pos = 0;;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
        struct wl_range range = {.node = of->node, .from = *pos, .to = UINT64_MAX >> 1, .max_rows = many};
        struct wl_rows rows;
        int r = wl_store_rows(x->store, &of->owner, &range, &a, &rows, why);
        if (r < 0 && many > 1) {
            many = 1;
            continue;
        }
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            r = look_at(&a, &rows.p[i], why);
            *pos = r < 0 ? rows.p[i].pos : wl_pos_next(rows.p[i].pos, rows.p[i].n_entries);
        }
        if (r < 0)
            return r == -UPP_ENOMEM ? r : 1;
        if (!rows.more)
            return 0;
    }
}

WEFT_SUSPENDS static int cut_bad_rows(struct exporting *x, struct upp_err *err)
{
    for (;;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct ws_salvage_item item;
        struct upp_err why = {0};
        uint64_t pos;
        int r = ws_salvage_nodes(x->from, &a, &item, err);
        if (r <= 0)
            return r;
        r = find_bad(x, &item, &pos, &why);
        if (r > 0)
            r = ws_salvage_cut(x->from, item.owner.tenant, item.node, pos, wb_cstr(why.msg), err);
        else if (r < 0)
            return upp_wrap(err, r, "%s", why.msg);
        if (r < 0)
            return r;
    }
}

/* ---- Threads ----------------------------------------------------------------------------------------------- */

static void write_loss(struct exporting *x, const struct ws_salvage_item *hole)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)hole->node);
    wj_write_open(&x->w, '{');
    wj_put_str(&x->w, "node", wb_cstr(text));
    wj_put_u64(&x->w, "position", wl_pos_index(hole->pos));
    wj_put_str(&x->w, "reason", hole->why);
    wj_write_close(&x->w, '}');
}

WEFT_SUSPENDS static int write_holes(struct exporting *x, const struct ws_salvage_item *thread, struct wb_arena *a,
                                     size_t *n, struct upp_err *err)
{
    struct ws_salvage_item hole;
    int r;
    while ((r = ws_salvage_holes(x->from, thread, a, &hole, err)) > 0) {
        write_loss(x, &hole);
        ++*n;
    }
    return r;
}

/* With its checkpoints; without them if they cannot be read. */
WEFT_SUSPENDS static int read_doc(struct exporting *x, const struct wl_owner *o, const struct wl_thread *t,
                                  struct wb_arena *a, struct wm_session *ret, struct upp_err *without,
                                  struct upp_err *err)
{
    int r = wa_session_doc(x->store, o, t, NULL, a, ret, without);
    if (r >= 0 || r == -UPP_ENOMEM)
        return r < 0 ? upp_wrap(err, r, "out of memory") : 0;
    r = wa_session_doc(x->store, o, t, &(struct wa_doc_opts){.no_checkpoints = true}, a, ret, err);
    return r < 0 ? r : 1;
}

static int write_doc(struct exporting *x, const char *name, const struct wm_session *doc, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WM_SESSION_BYTES);
    struct wj_writer w;
    char path[WRT_PATH_MAX + 64];
    wj_writer_init(&w, &out, err);
    wm_session_write(&w, doc);
    int r = wj_writer_check(&w);
    wb_buf_add(&out, UPP_STR("\n"));
    (void)snprintf(path, sizeof path, "%s/%s", x->folder, name);
    return r < 0 ? r : wb_file_write(path, wb_buf_str(&out), 0600, err);
}

/* -UPP_ENOTFOUND and similar errors concern the thread; a file that cannot be written ends the export. */
WEFT_SUSPENDS static int export_one(struct exporting *x, const struct ws_salvage_item *item, struct wb_arena *a,
                                    struct upp_err *err)
{
    struct wl_thread t;
    struct wm_session doc;
    struct upp_err why = {0}, without = {0};
    char id[64], name[80];
    size_t holes = 0;
    int r = wl_get_thread(x->store, &item->owner, item->thread, a, &t, &why);
    int read = r < 0 ? r : read_doc(x, &item->owner, &t, a, &doc, &without, &why);
    if (read == -UPP_ENOMEM)
        return upp_wrap(err, read, "a thread");
    (void)snprintf(name, sizeof name, "%s.json", cli_id("thread_", item->thread, id));
    r = read < 0 ? 0 : write_doc(x, name, &doc, err);
    if (r < 0)
        return r;
    wj_write_open(&x->w, '{');
    wj_put_str(&x->w, "id", wb_cstr(id));
    wj_put_str(&x->w, "tenant", item->owner.tenant);
    wj_put_str(&x->w, "user", item->owner.user);
    wj_put_str(&x->w, "file", read < 0 ? (struct upp_str){0} : wb_cstr(name));
    wj_put_open(&x->w, "losses", '[');
    r = write_holes(x, item, a, &holes, err);
    if (read != 0) {
        holes++;
        wj_write_open(&x->w, '{');
        wj_put_str(&x->w, read < 0 ? "thread" : "checkpoints", UPP_STR("all"));
        wj_put_str(&x->w, "reason", wb_cstr(read < 0 ? why.msg : without.msg));
        wj_write_close(&x->w, '}');
    }
    wj_write_close(&x->w, ']');
    wj_write_close(&x->w, '}');
    x->lost += read < 0;
    x->cut += read >= 0 && holes;
    x->whole += !holes;
    return r;
}

WEFT_SUSPENDS static int write_lost(struct exporting *x, struct upp_err *err)
{
    for (;;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct ws_salvage_item item;
        char id[64];
        int r = ws_salvage_lost(x->from, &a, &item, err);
        if (r <= 0)
            return r;
        x->lost++;
        wj_write_open(&x->w, '{');
        wj_put_str(&x->w, "id", wb_cstr(cli_id("thread_", item.thread, id)));
        wj_put_str(&x->w, "tenant", item.owner.tenant);
        wj_put_str(&x->w, "user", item.owner.user);
        wj_put_str(&x->w, "file", (struct upp_str){0});
        wj_put_open(&x->w, "losses", '[');
        wj_write_open(&x->w, '{');
        wj_put_str(&x->w, "thread", UPP_STR("all"));
        wj_put_str(&x->w, "reason", UPP_STR("its row is lost"));
        wj_write_close(&x->w, '}');
        wj_write_close(&x->w, ']');
        wj_write_close(&x->w, '}');
    }
}

WEFT_SUSPENDS static int export_threads(struct exporting *x, struct upp_err *err)
{
    int r = 1;
    cli_progress_begin(&x->progress, x->self, "threads", 0);
    while (r > 0) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
        struct ws_salvage_item item;
        r = ws_salvage_threads(x->from, &a, &item, err);
        if (r <= 0)
            break;
        r = export_one(x, &item, &a, err);
        r = r < 0 ? r : 1;
        cli_progress_add(&x->progress, 1);
    }
    cli_progress_end(&x->progress);
    return r < 0 ? r : write_lost(x, err);
}

/* ---- The report -------------------------------------------------------------------------------------------- */

static size_t write_tables(struct exporting *x)
{
    const struct ws_salvage_loss *l;
    size_t n = 0;
    wj_put_open(&x->w, "tables", '[');
    for (; (l = ws_salvage_loss(x->from, n)); n++) {
        wj_write_open(&x->w, '{');
        wj_put_str(&x->w, "table", wb_cstr(l->table));
        wj_put_str(&x->w, "reason", wb_cstr(l->why));
        wj_write_close(&x->w, '}');
    }
    wj_write_close(&x->w, ']');
    return n;
}

WEFT_SUSPENDS static int export_all(void *arg, struct upp_err *err)
{
    struct exporting *x = arg;
    struct wl_store *s;
    char path[WRT_PATH_MAX + 64];
    int r = x->place.driver->salvage(x->place.path, x->folder, &x->from, err);
    if (r < 0)
        return r;
    (void)snprintf(x->made.path, sizeof x->made.path, "%s", ws_salvage_path(x->from));
    r = x->made.driver->open(UPP_OPTS(ws_open_opts, .path = x->made.path, .read_only = true), &s, err);
    if (r >= 0)
        r = wrt_store_dress(x->config, &x->made, s, &x->store, err);
    if (r < 0)
        return r;
    wj_write_open(&x->w, '{');
    wj_put_str(&x->w, "store", wb_cstr(x->place.path));
    wj_put_open(&x->w, "threads", '[');
    r = cut_bad_rows(x, err);
    if (r >= 0)
        r = export_threads(x, err);
    x->store->ops->close(x->store);
    wj_write_close(&x->w, ']');
    size_t tables = write_tables(x);
    wj_put_u64(&x->w, "whole", x->whole);
    wj_put_u64(&x->w, "cut", x->cut);
    wj_put_u64(&x->w, "lost", x->lost);
    wj_write_close(&x->w, '}');
    if (r >= 0)
        r = wj_writer_check(&x->w);
    (void)snprintf(path, sizeof path, "%s/report.json", x->folder);
    if (r >= 0)
        r = wb_file_write(path, wb_buf_str(&x->report), 0600, err);
    x->lost += tables;
    return r;
}

/* ---- The command ------------------------------------------------------------------------------------------- */

/* A configuration is needed only if no store was given, or for its key. */
static int find_store(struct exporting *x, const struct cli_source *from, struct wc_config **config,
                      struct upp_err *err)
{
    bool needed = !from->store || from->config || getenv("WEFT_CONFIG") || access(cli_config_path(NULL), F_OK) == 0;
    int r = needed ? cli_config_load(from->config, CLI_NEEDS_STORE, config, err) : 0;
    if (r >= 0)
        r = wrt_location_of(*config, from->store, &x->place, err);
    if (r >= 0 && !x->place.driver->salvage)
        r = upp_fail(err, UPP_EINVALID, "the store is memory:, of which nothing is left");
    x->config = *config;
    x->made = x->place;
    x->made.key = *config ? NULL : getenv("WEFT_ENCRYPTION_KEY");
    return r;
}

int cli_doctor_export(const struct cli_command *self, const char *folder, const struct cli_source *from)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct upp_err err = {0};
    struct exporting x = {.self = self, .folder = folder, .report = WB_BUF(REPORT_MAX)};
    if (strlen(folder) >= WRT_PATH_MAX - 32)
        return cli_misuse(self, "the name of the folder is too long");
    wj_writer_init(&x.w, &x.report, &err);
    int r = find_store(&x, from, &config, &err);
    if (r >= 0 && mkdir(folder, 0700) < 0 && errno != EEXIST) {
        r = wb_fail_sys(&err, -errno, UPP_ESTORE, "cannot make the folder");
        wb_err_where(&err, wb_cstr(folder));
    }
    if (r >= 0) {
        (void)cli_log_setup(config, NULL, WB_OFF);
        r = cli_on_loop(export_all, &x, &err);
    }
    const struct ws_salvage_loss *l;
    for (size_t i = 0; r >= 0 && !self->json && (l = ws_salvage_loss(x.from, i)); i++)
        (void)printf("damaged: %s: %s\n", l->table, l->why);
    ws_salvage_close(x.from);
    if (r < 0) {
        wb_buf_done(&x.report);
        return cli_fail(self, &err);
    }
    if (self->json) /* all of it, as in report.json */
        (void)printf("%.*s\n", UPP_FMT(wb_buf_str(&x.report)));
    else
        (void)printf("%zu threads are written whole, %zu up to what is lost of them; %s/report.json says more\n",
                     x.whole, x.cut, folder);
    wb_buf_done(&x.report);
    return x.cut || x.lost ? CLI_FAILED : CLI_GOOD;
}
