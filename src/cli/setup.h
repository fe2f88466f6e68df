/* cli/setup.h — what a command needs before it can begin: the configuration, the log, a loop. */
#ifndef CLI_SETUP_H
#define CLI_SETUP_H

#include <stdio.h>
#include <weft/fiber.h>

#include "cli/cli.h"
#include "runtime/runtime.h"

/* The file: as given, else WEFT_CONFIG, else ./weft.yaml. */
const char *cli_config_path(const char *given);

/* Loads it; where it has mistakes says all of them on standard error, and *err says how many there are.
 * text_only: models are not made, programs not looked for (to read a store it needs neither). */
int cli_config_load(const char *given, bool text_only, struct wc_config **ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same, with its warnings for the caller: wc_report_done. */
int cli_config_report(const char *given, bool text_only, struct wc_report *report, struct wc_config **ret,
                      struct upp_err *err) UPP_MUST_CHECK;

/* The configuration, and the store that `store` names (NULL: the configuration's); turns the log on, for warnings. For
 * commands that need nothing but the store. */
int cli_store_find(const char *config, const char *store, struct wc_config **ret, struct wrt_place *place,
                   struct upp_err *err) UPP_MUST_CHECK;

/* "FILE:LINE:COLUMN: sentence" each. */
void cli_print_mistakes(FILE *out, const char *path, const struct wc_report *report);

/* The warnings of the file, in the log. */
void cli_log_warnings(const struct wc_report *report);

/* The master key that WEFT_ENCRYPTION_KEY holds, if it is set: into *ret, and to the place. The variable is wiped. */
int cli_take_key(struct wrt_place *place, struct wb_secret **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Turns the log on, to standard error: at `level` (a word; NULL: as the file says, LOG_LEVEL, or `otherwise`).
 * False: it is no level. */
bool cli_log_setup(const struct wc_config *c, const char *level, enum wb_log_level otherwise);

/* Runs fn as a fiber on a loop of its own. */
int cli_on_loop(weft_fn *fn, void *arg, struct upp_err *err) UPP_MUST_CHECK;

#endif
