/* cli/report.h — what a command did to the store without its server, as a row of the audit (log/admin.h). */
#pragma once

#include "cli/cli.h"
#include "runtime/runtime.h"

struct cli_report {
    const char *action; /* one that POST /v1/audit takes */
    const char *target;
    const char *tenant, *user; /* for whom; NULL: the whole store */
    struct upp_str detail;     /* empty: none */
};

/* Tells the owner of the store, or becomes it for a moment. why: the action failed (r < 0) with this. What cannot be
 * told is a note on standard error: the action is over. Not on a fiber. */
void cli_report_admin(const struct cli_command *self, const struct wc_config *config, const struct wrt_location *place,
                      const struct cli_report *report, int r, const struct upp_err *why);

/* The row of a command that has the store open itself. */
struct wl_admin cli_admin_row(const char *action, struct upp_str target);
