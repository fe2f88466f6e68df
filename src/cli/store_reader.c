/* cli/store_reader.c — opens a database for reading only, next to its owner, and runs a command on it. */
#include "cli/store_reader.h"

#include "cli/setup.h"
#include "stores/blobs/blobs.h"

WEFT_SUSPENDS static int read_it(void *arg, struct upp_err *err)
{
    struct cli_reader *rd = arg;
    struct wl_store *s;
    int r = rd->place.driver->open(UPP_OPTS(ws_open_opts, .path = rd->place.path, .read_only = true), &s, err);
    if (r == -UPP_ENOTFOUND && rd->may_lack)
        return rd->fn(rd, err);
    if (r >= 0)
        r = wrt_store_dress(rd->config, &rd->place, s, &rd->store, err);
    if (r < 0)
        return r;
    r = rd->fn(rd, err);
    rd->store->ops->close(rd->store);
    return r;
}

int cli_read_store(const struct cli_command *self, const struct cli_source *from, bool may_lack,
                   int (*fn)(struct cli_reader *r, struct upp_err *err), void *arg)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct upp_err err = {0};
    struct cli_reader rd = {
        .self = self,
        .owner = {.tenant = wb_cstr(from->as.tenant ? from->as.tenant : "local"), .user = wb_cstr(from->as.user)},
        .arena = WB_ARENA(256u << 20),
        .arg = arg,
        .fn = fn};
    int r = cli_store_find(from, &config, &rd.place, &err);
    if (r >= 0)
        r = cli_store_lasts(&rd.place, &err);
    if (r >= 0) {
        rd.config = config;
        rd.may_lack = may_lack;
        r = cli_on_loop(read_it, &rd, &err);
    }
    if (rd.report.action)
        cli_report_admin(self, config, &rd.place, &rd.report, r, &err);
    wb_arena_done(&rd.arena);
    return r < 0 ? cli_fail(self, &err) : CLI_GOOD;
}
