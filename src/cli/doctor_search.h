/* cli/doctor_search.h — weft doctor --rebuild-search: what the search knows of the log, made anew. */
#ifndef CLI_DOCTOR_SEARCH_H
#define CLI_DOCTOR_SEARCH_H

#include "cli/cli.h"

int cli_doctor_search(const struct cli_command *self, const char *config, const char *store);

#endif
