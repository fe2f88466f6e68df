/* cli/doctor/doctor.h — weft doctor and the store. */
#pragma once

#include "cli/cli.h"
#include "runtime/runtime.h"

/* Where the store of the configuration is, and whether it can be read. */
struct cli_doctor_store {
    char folder[WRT_PATH_MAX];      /* of the store; empty: none */
    char path[WRT_PATH_MAX];        /* its database; empty: none, or none yet */
    const struct ws_driver *driver; /* of that */
    bool looked, bad;               /* looked: `what` is set */
    struct upp_err what;            /* .where and .msg, also if nothing is bad */
    bool rows_read;                 /* all rows were read: */
    struct ws_damage rows;          /* .n: those with a wrong checksum */
    bool index_read;                /* the search index was read: */
    struct upp_err index;           /* .msg: empty: it is whole */
};

/* given: a folder, memory: or sqlite:PATH; NULL: the configuration's, or without one the current folder. */
void cli_doctor_store(const char *config, const char *given, struct cli_doctor_store *ret);

/* --export: writes every readable thread of a damaged store to files. Returns
 * the exit code: 1 also if something was lost. */
int cli_doctor_export(const struct cli_command *self, const char *folder, const struct cli_source *from);

/* --rebuild-search: rebuilds the search index from the log. */
int cli_doctor_search(const struct cli_command *self, const struct cli_source *from);

/* --rewrite: writes the database anew, with checksums of its pages. */
int cli_doctor_rewrite(const struct cli_command *self, const struct cli_source *from);

/* --ready: asks the server that owns the store whether it is ready. */
int cli_doctor_ready(const struct cli_command *self, const struct cli_source *from);
