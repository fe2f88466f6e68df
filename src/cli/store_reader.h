/* cli/store_reader.h — commands that only read: they open the database next to its owner, if it has one. */
#pragma once

#include "cli/cli.h"
#include "cli/store_client.h"
#include "runtime/runtime.h"

/* State of such a command; its function runs on a fiber. */
struct cli_reader {
    const struct cli_command *self;

    struct wl_store *store;
    struct wl_owner owner;
    struct wb_arena arena;
    void *arg;
    WEFT_SUSPENDS int (*fn)(struct cli_reader *r, struct upp_err *err);
    struct wrt_location place;
    const struct wc_config *config;
    struct cli_report report; /* set by fn: a row of the audit, after fn has returned; without an action: none */
    bool may_lack;            /* if there is no database yet, `store` is NULL */
};

/* Opens the store, calls fn and closes it. Returns the exit code. may_lack: a missing database is no error. */
int cli_read_store(const struct cli_command *self, const struct cli_source *from, bool may_lack,
                   int (*fn)(struct cli_reader *r, struct upp_err *err), void *arg);
