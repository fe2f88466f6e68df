/* cli/doctor_search.c — see doctor_search.h. Cut off, the rest is learned by the next server. */
#include "cli/doctor_search.h"

#include <stdio.h>

#include "cli/setup.h"
#include "log/search.h"

struct rebuilding {
    const struct wc_config *config;
    struct wrt_place        place;
    size_t                  rows;
};

WEFT_SUSPENDS static int learn_all(struct wl_store *s, size_t *rows, struct upp_err *err)
{
    size_t n = 0;
    int    r = wl__search_on(s, err);
    if (r < 0)
        return r;
    r = wl_learn(s, &n, err); /* says whether there is anything to rebuild, before it is forgotten */
    if (r == -UPP_EREFUSED)
        return upp_fail(err, UPP_EREFUSED, "this store keeps no words: whoever searches reads the log");
    if (r >= 0)
        r = wl_forget(s, err);
    for (n = 1; r >= 0 && n; *rows += n)
        r = wl_learn(s, &n, err);
    return r;
}

WEFT_SUSPENDS static int rebuild(void *arg, struct upp_err *err)
{
    struct rebuilding *x = arg;
    struct wl_store   *s;
    int                r = wrt_store_open(x->config, &x->place, &s, err);
    if (r < 0)
        return r;
    r = learn_all(s, &x->rows, err);
    s->ops->close(s);
    return r;
}

int cli_doctor_search(const struct cli_command *self, const char *file, const char *store)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct rebuilding                             x      = {0};
    struct upp_err                                err    = {0};
    int                                           r      = cli_config_load(file, true, &config, &err);
    if (r >= 0)
        r = wrt_place_of(config, store, &x.place, &err);
    if (r >= 0) {
        (void)cli_log_setup(config, NULL, WB_WARN);
        x.config = config;
        r        = cli_on_loop(rebuild, &x, &err);
    }
    if (r < 0)
        return cli_fail(self, &err);
    (void)printf("the search knows %zu rows of the log again\n", x.rows);
    return CLI_GOOD;
}
