/* agent/tool/command.h — tools that are programs: arguments on standard input, the result on standard output.
 *
 * A call starts the program under weft-reaper (agent/tool/reaper.h): whatever the program does, when the call is over,
 * for whatever reason, no process of it is left; also when this process is killed. Its environment is exactly what was
 * given and WEFT_CALL_KEY, the idempotency key of the call.
 *
 * Invariants
 *  1. At most `output` bytes of standard output and a few KiB of standard error are held at any time.
 *  2. A command is not changed by its calls: many may be under way, on any loop.
 */
#ifndef WA_COMMAND_H
#define WA_COMMAND_H

#include "run/def.h"

#include "base/buf.h"
#include "base/secret.h"

enum {
    WA_COMMAND_SECONDS   = 60,
    WA_COMMAND_MEMORY_MB = 512,
    WA_COMMAND_OUTPUT_KB = 1024,
    WA_COMMAND_PROCESSES = 512,
    WA_COMMAND_WORDS     = 256, /* of a command line, and variables of an environment */
    WA_COMMAND_TAIL      = 4096 /* bytes of standard error that are kept: the last ones */
};

/* One variable of the environment. */
struct wa_variable {
    struct upp_str          name;
    struct upp_str          value;
    const struct wb_secret *secret; /* instead of value; must outlive the command. NULL: none */
};

struct wa_command_opts {
    uint32_t                  size;
    const struct upp_str     *words; /* the program and its arguments; looked up in PATH when it holds no slash */
    size_t                    n_words;
    const struct wa_variable *env; /* all of it */
    size_t                    n_env;
    struct upp_str            folder;    /* to run in; no text: ours */
    uint32_t                  seconds;   /* 0: 60. Also of processor time, for each of its processes */
    uint32_t                  memory_mb; /* 0: 512. Address space of each of its processes, and memory of all of them
                                          * together; UINT32_MAX: no limit */
    uint32_t    output_kb;               /* 0: 1024 */
    const char *reaper;                  /* the path of weft-reaper; NULL: wa_reaper_find */
    uint32_t    processes;               /* 0: 512. At the same time, threads included; UINT32_MAX: no limit */
};

struct wa_command;

/* Everything is copied but the secrets. -UPP_EINVALID: a word holds NUL, a name '='. -UPP_ENOTFOUND: no weft-reaper. */
int  wa_command_new(const struct wa_command_opts *opts, struct wa_command **ret, struct upp_err *err) UPP_MUST_CHECK;
void wa_command_free(struct wa_command *c); /* NULL is fine; no call is under way */

WB_DEFINE_CLEANUP(struct wa_command, wa_command_free)

/* How a call went. */
struct wa_command_end {
    struct wb_buf out;    /* standard output, at most the limit */
    struct wb_buf error;  /* the end of standard error */
    bool          cut;    /* there was more output, and the program was ended */
    int           status; /* in waitpid's form, unless cut */
};
void wa_command_end_done(struct wa_command_end *e);

/* Runs the program. 0: it ended, *ret says how (also of an exit code that is not 0). -UPP_ETIMEOUT, -UPP_ECANCELED: it
 * was ended. Whatever is returned, no process of it is left (but see docs/tools.md for those that cannot be killed). */
WEFT_SUSPENDS int wa_command_run(const struct wa_command *c, struct upp_str arguments, struct upp_str key,
                                 struct wa_command_end *ret, struct upp_err *err) UPP_MUST_CHECK;

/* What a model is told of it, added to `text`, whether that is JSON, and whether it is an error: JSON on standard
 * output is JSON, anything else is text (made UTF-8); an exit code that is not 0, a signal, or too much output is an
 * error, with the end of standard error. */
int wa_command_tell(const struct wa_command_end *e, struct wb_buf *text, bool *json, bool *failed,
                    struct upp_err *err) UPP_MUST_CHECK;

/* Both as the run() of a tool whose `arg` is the command. */
WEFT_SUSPENDS int wa_command_call(struct upp_call *call, struct upp_value *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Where weft-reaper is: $WEFT_REAPER, beside the running program, or where it was installed. A NUL follows that is not
 * counted. -UPP_ENOTFOUND. */
int wa_reaper_find(struct wb_buf *ret, struct upp_err *err) UPP_MUST_CHECK;

#endif
