/* cli/doctor/store.c — weft doctor: can the store be read? Also --rebuild-search and --rewrite. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "base/err.h"
#include "cli/progress.h"
#include "cli/store_client.h"
#include "cli/setup.h"
#include "log/search.h"
#include "cli/store_owner.h"

struct looking {
    const struct wc_config *config;
    struct wrt_location place;
    bool index_read, rows_read;
    struct upp_err index;
    struct ws_damage rows;
};

/* Read only, next to its owner if it has one. */
WEFT_SUSPENDS static int look(void *arg, struct upp_err *err)
{
    struct looking *l = arg;
    struct wl_store *s;
    int r = l->place.driver->open(UPP_OPTS(ws_open_opts, .path = l->place.path, .read_only = true), &s, err);
    if (r < 0)
        return r;
    l->index_read = s->index != WL_INDEX_OFF;
    if (l->place.driver->check_index && l->place.driver->check_index(s, &l->index) >= 0)
        l->index = (struct upp_err){0};
    l->rows_read = l->place.driver->check_rows && l->place.driver->check_rows(s, &l->rows, NULL) >= 0;
    r = wrt_store_dress(l->config, &l->place, s, &s, err);
    if (r >= 0)
        s->ops->close(s);
    return r;
}

static void look_at(struct looking *l, struct cli_doctor_store *ret)
{
    ret->looked = true;
    ret->driver = l->place.driver;
    if (!l->place.driver->durable) {
        (void)upp_fail(&ret->what, UPP_ENOTFOUND, "memory:, which keeps nothing");
        return;
    }
    const char *slash = strrchr(l->place.path, '/');
    (void)snprintf(ret->folder, sizeof ret->folder, "%.*s", slash ? (int)(slash - l->place.path) : 1,
                   slash ? l->place.path : ".");
    int r = cli_on_loop(look, l, &ret->what);
    ret->bad = r < 0 && r != -UPP_ENOTFOUND;
    ret->index_read = r >= 0 && l->index_read;
    ret->index = l->index;
    ret->rows_read = l->rows_read;
    ret->rows = l->rows;
    if (r != -UPP_ENOTFOUND)
        (void)snprintf(ret->path, sizeof ret->path, "%s", l->place.path);
    if (r >= 0) {
        (void)upp_fail(&ret->what, UPP_ENOTFOUND, "can be read");
        wb_err_where(&ret->what, wb_cstr(l->place.path));
    }
}

void cli_doctor_store(const char *file, const char *given, struct cli_doctor_store *ret)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct looking l = {0};
    *ret = (struct cli_doctor_store){0};
    struct upp_str path;
    bool url = given && ws_driver_find(wb_cstr(given), &path);
    bool named = file || (getenv("WEFT_CONFIG") && getenv("WEFT_CONFIG")[0]);
    int r = given && !url ? -UPP_ENOTFOUND : cli_config_load(file, CLI_NEEDS_STORE, &config, &ret->what);
    if (r == -UPP_ENOTFOUND && (given || !named) && !url) {
        (void)snprintf(ret->folder, sizeof ret->folder, "%s", given ? given : ".");
        return;
    }
    if (r >= 0 || (url && !named && r == -UPP_ENOTFOUND))
        r = wrt_location_of(config, given, &l.place, &ret->what);
    ret->looked = ret->bad = r < 0;
    l.config = config;
    if (r >= 0)
        look_at(&l, ret);
}

/* ---- --rebuild-search: if interrupted, the next server completes it ---------------------------------------- */

struct rebuilding {
    const struct wc_config *config;
    struct wrt_location place;
    size_t rows;
    struct cli_progress progress;
};

WEFT_SUSPENDS static int learn_all(struct wl_store *s, struct rebuilding *x, struct upp_err *err)
{
    size_t n = 0;
    int r = wl__search_on(s, err);
    if (r < 0)
        return r;
    r = wl_index_rows(s, &n, err); /* fails if there is no index, before anything is deleted */
    if (r == -UPP_EREFUSED)
        return upp_fail(err, UPP_EREFUSED, "this store keeps no words: whoever searches reads the log");
    if (r >= 0)
        r = wl_index_reset(s, err);
    for (n = 1; r >= 0 && n; x->rows += n) {
        r = wl_index_rows(s, &n, err);
        cli_progress_add(&x->progress, n);
    }
    return r;
}

WEFT_SUSPENDS static int rebuild(void *arg, struct upp_err *err)
{
    struct rebuilding *x = arg;
    struct wl_store *s;
    int r = wrt_store_open(x->config, &x->place, &s, err);
    if (r < 0)
        return r;
    r = learn_all(s, x, err);
    s->ops->close(s);
    return r;
}

int cli_doctor_search(const struct cli_command *self, const struct cli_source *from)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct rebuilding x = {0};
    struct upp_err err = {0};
    int r = cli_store_find(from, &config, &x.place, &err);
    x.config = config;
    if (r >= 0) {
        cli_progress_begin(&x.progress, self, "rows", 0);
        r = cli_on_loop(rebuild, &x, &err);
        cli_progress_end(&x.progress); /* also if the store could not be opened */
    }
    if (r < 0)
        return cli_fail(self, &err);
    (void)printf(self->json ? "{\"rows\":%zu}\n" : "the search knows %zu rows of the log again\n", x.rows);
    return CLI_GOOD;
}

/* ---- --rewrite ---------------------------------------------------------------------------------------------- */

struct rewriting {
    struct wrt_location place;
    struct ws_rewritten done;
};

WEFT_SUSPENDS static int rewrite(void *arg, struct upp_err *err)
{
    struct rewriting *x = arg;
    if (!x->place.driver->rewrite)
        return upp_fail(err, UPP_EREFUSED, "%s has no file", x->place.driver->scheme);
    return x->place.driver->rewrite(x->place.path, &x->done, err);
}

int cli_doctor_rewrite(const struct cli_command *self, const struct cli_source *from)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct rewriting x = {0};
    struct upp_err err = {0};
    int r = cli_store_find(from, &config, &x.place, &err);
    if (r >= 0)
        r = cli_on_loop(rewrite, &x, &err);
    if (r >= 0)
        cli_report_admin(self, config, &x.place,
                         &(struct cli_report){.action = "store.rewrite", .target = x.place.path}, r, NULL);
    if (r < 0)
        return cli_fail(self, &err);
    const struct ws_rewritten *d = &x.done;
    if (self->json) {
        (void)printf("{\"before\":%llu,\"after\":%llu,\"wrong\":%llu}\n", (unsigned long long)d->before,
                     (unsigned long long)d->after, (unsigned long long)d->wrong);
        return CLI_GOOD;
    }
    if (d->wrong)
        (void)printf("%llu pages had a wrong checksum (the first was %u), though every row has its own: another program"
                     " wrote them\n",
                     (unsigned long long)d->wrong, d->first);
    (void)printf("all pages have checksums; the file had %llu bytes, and has %llu\n", (unsigned long long)d->before,
                 (unsigned long long)d->after);
    return CLI_GOOD;
}

/* ---- --ready: over the Unix socket next to the database, so that it needs neither a key nor a certificate ----------
 */

enum { READY_MS = 5000 };

WEFT_SUSPENDS static int ask_ready(void *arg, struct upp_err *err)
{
    static const struct cli_request q = {.method = "GET", .path = UPP_STR_INIT("/readyz")};
    WB_CLEANUP(cli_answer_done) struct cli_answer a;
    struct cli_owner *owner = arg;
    cli_answer_init(&a);
    WEFT_DEADLINE(READY_MS);
    int r = cli_owner_find(owner, err);
    if (r >= 0)
        r = cli_owner_ask(owner, &q, &a, err);
    if (r >= 0)
        r = cli_read_body(&a, err);
    if (r < 0)
        return r;
    (void)printf("%.*s\n", UPP_FMT(wb_buf_str(&a.raw)));
    return a.status == 200 ? 0 : upp_fail(err, UPP_EBUSY, "the server is not ready");
}

int cli_doctor_ready(const struct cli_command *self, const struct cli_source *from)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct wrt_location place;
    struct cli_owner owner = {.place = &place};
    struct upp_err err = {0};
    int r = cli_store_find(from, &config, &place, &err);
    if (r >= 0 && !place.driver->owner)
        r = upp_fail(&err, UPP_EINVALID, "a server with a store in memory has no local socket to ask");
    owner.config = config;
    if (r >= 0)
        r = cli_on_loop(ask_ready, &owner, &err);
    cli_owner_done(&owner);
    return r < 0 ? cli_fail(self, &err) : CLI_GOOD;
}
