/* cli/doctor_store.c — see doctor_store.h. */
#include "cli/doctor_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/setup.h"
#include "stores/sqlite/sqlite.h"

struct looking {
    const struct wc_config *config;
    struct wrt_place        place;
};

/* As the commands do that only look: beside its owner, if it has one. */
WEFT_SUSPENDS static int look(void *arg, struct upp_err *err)
{
    struct looking  *l = arg;
    struct wl_store *s;
    int              r = ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = l->place.path, .read_only = true), &s, err);
    if (r >= 0)
        r = wrt_store_dress(l->config, &l->place, s, &s, err);
    if (r >= 0)
        s->ops->close(s);
    return r;
}

static void look_at(struct looking *l, struct cli_doctor_store *ret)
{
    ret->looked = true;
    if (l->place.kind == WC_STORE_MEMORY) {
        (void)upp_fail(&ret->what, UPP_ENOTFOUND, "memory:, which keeps nothing");
        return;
    }
    const char *slash = strrchr(l->place.path, '/');
    (void)snprintf(ret->folder, sizeof ret->folder, "%.*s", slash ? (int)(slash - l->place.path) : 1,
                   slash ? l->place.path : ".");
    int r    = cli_on_loop(look, l, &ret->what);
    ret->bad = r < 0 && r != -UPP_ENOTFOUND;
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
    struct looking                                l      = {0};
    *ret                                                 = (struct cli_doctor_store){0};
    bool url  = given && (!strncmp(given, "sqlite:", 7) || !strcmp(given, "memory:"));
    bool said = file || (getenv("WEFT_CONFIG") && getenv("WEFT_CONFIG")[0]);
    int  r    = given && !url ? -UPP_ENOTFOUND : cli_config_load(file, true, &config, &ret->what);
    if (r == -UPP_ENOTFOUND && (given || !said) && !url) {
        (void)snprintf(ret->folder, sizeof ret->folder, "%s", given ? given : ".");
        return;
    }
    if (r >= 0 || (url && !said && r == -UPP_ENOTFOUND))
        r = wrt_place_of(config, given, &l.place, &ret->what);
    ret->looked = ret->bad = r < 0;
    l.config               = config;
    if (r >= 0)
        look_at(&l, ret);
}
