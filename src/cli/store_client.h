/* cli/store_client.h — commands that send a few requests to the store's owner. */
#pragma once

#include "cli/cli.h"
#include "cli/store_owner.h"
#include "runtime/runtime.h"

/* State of such a command; its function runs on a fiber. */
struct cli_client {
    struct cli_owner door;
    struct wb_arena arena;
    struct wb_buf path; /* of the request, or part of it */
    void *arg;
    const char *file; /* that is wrong, if fn fails; NULL: none */
    WEFT_SUSPENDS int (*fn)(struct cli_client *p, struct upp_err *err);
};

/* Connects to the owner of the store, or becomes it, calls fn and disconnects. Returns the exit code. Interrupted runs
 * are not resumed. must_exist: a missing database is an error, and is not created. */
int cli_client_run(const struct cli_command *self, const struct cli_source *from, bool must_exist,
                   int (*fn)(struct cli_client *p, struct upp_err *err), void *arg);

/* The same, with `agents` with the whole configuration: for a change that names its models and agents. */
int cli_client_run_with(const struct cli_command *self, bool agents, const struct cli_source *from, bool must_exist,
                        int (*fn)(struct cli_client *p, struct upp_err *err), void *arg);

/* Sets p->path to "/v1/threads/THREAD" + rest, encoded. */
int cli_thread_path(struct cli_client *p, const char *thread, const char *rest, struct upp_err *err) UPP_MUST_CHECK;

/* POSTs {"member": value} (NULL: {}) to p->path. */
WEFT_SUSPENDS int cli_client_post(struct cli_client *p, const char *member, const char *value, yyjson_val **ret,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* A string member of an answer; -UPP_EPROTO: it is missing. */
int cli_answer_text(yyjson_val *answer, const char *name, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Prints the id of the thread in an answer. */
int cli_print_thread(yyjson_val *answer, bool json, struct upp_err *err) UPP_MUST_CHECK;

/* What a command did to the store without its server, as a row of the audit (log/admin.h). */

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
