/* stores/sqlite/driver.c — SQLite as a kind of store. */
#include "stores/sqlite/sqlite.h"

#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

WEFT_SUSPENDS static int open_sqlite(const struct ws_open_opts *o, struct wl_store **ret, struct upp_err *err)
{
    return ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = o->path, .read_only = o->read_only,
                                   .accept_loss = o->accept_loss, .index = o->index, .cache_kib = o->cache_kib,
                                   .group_ms = o->group_ms),
                          ret, err);
}

static int check_rows(struct wl_store *store, struct ws_damage *ret, struct upp_err *err)
{
    struct ws_sqlite *s = ws_sqlite(store);
    int rc = ws_sum_check(s->writer.db, ret);
    return rc == SQLITE_OK ? 0 : ws_sqlite_fail(s, s->writer.db, rc, "checking its rows", err);
}

const struct ws_driver ws_sqlite_driver = {
    .scheme = "sqlite:",
    .durable = true,
    .open = open_sqlite,
    .socket = ws_sqlite_socket,
    .owner = ws_lock_read,
    .losses = ws_sqlite_losses,
    .check_pages = ws_sqlite_check_pages,
    .check_rows = check_rows,
    .check_index = ws_sqlite_check_index,
    .rewrite = ws_sqlite_rewrite,
    .backup = ws_sqlite_backup,
    .salvage = ws_sqlite_salvage,
};
