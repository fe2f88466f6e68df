/* cli/doctor.h — what weft doctor does with a store. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/cli.h"
#include "runtime/runtime.h"

/* Where the store of the configuration is, and whether it can be read. */
struct cli_doctor_store {
    char           folder[WRT_PATH_MAX]; /* that it is in; empty: none */
    char           path[WRT_PATH_MAX];   /* its database; empty: none, or none yet */
    bool           looked, bad;          /* at what: */
    struct upp_err what;                 /* .where and .msg, also where nothing is bad */
};

/* given: a folder, memory: or sqlite:PATH; NULL: what the configuration says, or where there is none this folder. */
void cli_doctor_store(const char *config, const char *given, struct cli_doctor_store *ret);

/* --export: every thread that a damaged store still has, as files. store: URL; NULL: the configuration's. The exit
 * code: 1 also when something was lost. */
int cli_doctor_export(const struct cli_command *self, const char *folder, const char *config, const char *store);

/* --rebuild-search: what the search knows of the log, made anew. */
int cli_doctor_search(const struct cli_command *self, const char *config, const char *store);

#endif
