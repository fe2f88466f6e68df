/* cli/doctor_export.h — weft doctor --export: every thread that a damaged store still has, as files. */
#ifndef CLI_DOCTOR_EXPORT_H
#define CLI_DOCTOR_EXPORT_H

#include "cli/cli.h"

/* store: URL; NULL: the configuration's. The exit code: 1 also when something was lost. */
int cli_doctor_export(const struct cli_command *self, const char *folder, const char *config, const char *store);

#endif
