/* cli/doctor_store.h — weft doctor: where the store of the configuration is, and whether it can be read. */
#ifndef CLI_DOCTOR_STORE_H
#define CLI_DOCTOR_STORE_H

#include "runtime/runtime.h"

struct cli_doctor_store {
    char           folder[WRT_PATH_MAX]; /* that it is in; empty: none */
    char           path[WRT_PATH_MAX];   /* its database; empty: none, or none yet */
    bool           looked, bad;          /* at what: */
    struct upp_err what;                 /* .where and .msg, also where nothing is bad */
};

/* given: a folder, memory: or sqlite:PATH; NULL: what the configuration says, or where there is none this folder. */
void cli_doctor_store(const char *config, const char *given, struct cli_doctor_store *ret);

#endif
