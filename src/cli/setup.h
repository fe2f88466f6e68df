/* cli/setup.h — setup of a command: the configuration, the logger, a loop. */
#pragma once

#include <stdio.h>
#include <weft/fiber.h>

#include "cli/cli.h"
#include "runtime/runtime.h"

/* The path of the configuration: as given, else WEFT_CONFIG, else ./weft.yaml. */
const char *cli_config_path(const char *given);

/* What a command needs of it. */
enum cli_need {
    CLI_NEEDS_ALL = 0,
    CLI_NEEDS_TEXT,  /* creates no models and looks for no programs */
    CLI_NEEDS_STORE, /* the same, and only its store must be right: not even other variables must be set */
};

/* Loads it. Prints all its mistakes on standard error; *err has their number. */
int cli_config_load(const char *given, enum cli_need need, struct wc_config **ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same, with its warnings in *report: wc_report_done. */
int cli_config_report(const char *given, enum cli_need need, struct wc_report *report, struct wc_config **ret,
                      struct upp_err *err) UPP_MUST_CHECK;

/* The two halves of that: prints nothing; prints what was wrong, and completes *err of the failure r. */
int cli_config_quietly(const char *given, enum cli_need need, struct wc_report *report, struct wc_config **ret,
                       struct upp_err *err) UPP_MUST_CHECK;
int cli_config_mistakes(const char *given, const struct wc_report *report, int r, struct upp_err *err) UPP_MUST_CHECK;

/* Loads the configuration, finds the store of the source, and turns the logger on for warnings. For commands that need
 * only the store: with --store, they need no ./weft.yaml. */
int cli_store_find(const struct cli_source *from, struct wc_config **ret, struct wrt_location *place,
                   struct upp_err *err) UPP_MUST_CHECK;

/* A configuration without anything, for commands that need none. */
int cli_no_config(struct wc_config **ret, struct upp_err *err) UPP_MUST_CHECK;

/* A command that opens the store for a moment can do nothing with one in memory. */
int cli_store_lasts(const struct wrt_location *place, struct upp_err *err) UPP_MUST_CHECK;

/* Prints "FILE:LINE:COLUMN: sentence" for each. */
void cli_print_mistakes(FILE *out, const char *path, const struct wc_report *report);

/* Logs the mistakes and warnings of the file. */
void cli_log_report(const struct wc_report *report);

/* Moves the master key in WEFT_ENCRYPTION_KEY, if set, to *ret and to the place. The variable is wiped. */
int cli_take_key(struct wrt_location *place, struct wb_secret **ret, struct upp_err *err) UPP_MUST_CHECK;

/* The names of the levels, from WB_OFF on; ends with NULL. */
extern const char *const cli_log_levels[];

/* Turns the logger on, to standard error, at `level` (NULL: the configuration's, LOG_LEVEL, or `otherwise`). False: not
 * a level. */
bool cli_log_setup(const struct wc_config *c, const char *level, enum wb_log_level otherwise);

/* Runs fn as a fiber on a new loop. */
int cli_on_loop(weft_fn *fn, void *arg, struct upp_err *err) UPP_MUST_CHECK;
