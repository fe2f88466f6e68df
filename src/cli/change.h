/* cli/change.h — commands that change something by one request or a few: through whoever owns the store. */
#ifndef CLI_POSTING_H
#define CLI_POSTING_H

#include "cli/cli.h"
#include "cli/store_owner.h"

/* Everything a command of this kind has; its function runs on a fiber. */
struct cli_posting {
    struct cli_door door;
    struct wb_arena arena;
    struct wb_buf   path; /* of the request */
    void           *arg;
    WEFT_SUSPENDS int (*fn)(struct cli_posting *p, struct upp_err *err);
};

/* Opens the door to the store of the configuration (or of `store`), calls fn, closes: the exit code. Runs that were cut
 * short are not taken up. must_exist: a database that is not there is none to be made. */
int cli_post_store(const struct cli_command *self, const char *file, const char *store, bool must_exist,
                   int (*fn)(struct cli_posting *p, struct upp_err *err), void *arg);

/* p->path is "/v1/threads/THREAD" + rest, whatever is in the name. */
int cli_thread_path(struct cli_posting *p, const char *thread, const char *rest, struct upp_err *err) UPP_MUST_CHECK;

/* POST of {"member": value} (NULL: of {}) there. */
WEFT_SUSPENDS int cli_post_member(struct cli_posting *p, const char *member, const char *value, yyjson_val **ret,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* A text member of an answer; -UPP_EPROTO: it has none. */
int cli_answer_text(yyjson_val *answer, const char *name, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Prints the id of the thread that an answer is. */
int cli_print_thread(yyjson_val *answer, bool json, struct upp_err *err) UPP_MUST_CHECK;

#endif
