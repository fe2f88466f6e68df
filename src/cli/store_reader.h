/* cli/store_reader.h — commands that only look: they open the database beside its owner, if it has one. */
#ifndef CLI_READING_H
#define CLI_READING_H

#include "cli/cli.h"
#include "runtime/runtime.h"

/* Everything a command of this kind has; its function runs on a fiber. */
struct cli_reading {
    struct wl_store *store;
    struct wl_owner  owner;
    struct wb_arena  arena;
    void            *arg;
    WEFT_SUSPENDS int (*fn)(struct cli_reading *r, struct upp_err *err);
    struct wrt_place        place;
    const struct wc_config *config;
    bool                    may_lack; /* where there is no database yet, `store` is NULL */
};

/* Opens the store of the configuration (or of `store`), calls fn, closes: the exit code. may_lack: also before the
 * first run. */
int cli_read_store(const struct cli_command *self, const char *file, const char *store, bool may_lack,
                   int (*fn)(struct cli_reading *r, struct upp_err *err), void *arg);

#endif
