/* agent/tool/command.h — tools that are programs: arguments on standard input, the result on standard output.
 *
 * A call runs the program under weft-reaper (agent/tool/reaper.h): when the call is over, for whatever reason, no
 * process of it is left, even if this process is killed. Its environment is exactly the given one plus WEFT_CALL_KEY,
 * the idempotency key of the call.
 *
 * Invariants
 * 1. At most `output` bytes of standard output and a few KiB of standard error are in memory at any time.
 * 2. Calls do not change a command: many may be in progress, on any loop.
 */
#pragma once

#include "run/def.h"

#include "base/buf.h"
#include "base/secret.h"

enum {
    WA_COMMAND_SECONDS = 60,
    WA_COMMAND_MEMORY_MB = 512,
    WA_COMMAND_OUTPUT_KB = 1024,
    WA_COMMAND_PROCESSES = 512,
    WA_COMMAND_WORDS = 256, /* of a command line; also variables of an environment */
    WA_COMMAND_TAIL = 4096  /* last bytes of standard error that are retained */
};

/* One variable of the environment. */
struct wa_variable {
    struct upp_str name;
    struct upp_str value;
    const struct wb_secret *secret; /* instead of value; must outlive the command. NULL: none */
};

struct wa_command_opts {
    uint32_t size;
    const struct upp_str *words; /* the program and its arguments; looked up in PATH if it has no slash */
    size_t n_words;
    const struct wa_variable *env; /* the whole environment */
    size_t n_env;
    struct upp_str folder; /* working directory; NULL: that of this process */
    uint32_t seconds;      /* 0: 60. Also the CPU seconds of each of its processes */
    uint32_t memory_mb;    /* 0: 512. Address space of each of its processes, and memory of all of them together;
                              UINT32_MAX: no limit */
    uint32_t output_kb;    /* 0: 1024 */
    const char *reaper;    /* the path of weft-reaper; NULL: wa_reaper_find */
    uint32_t processes;    /* 0: 512. Concurrent processes and threads; UINT32_MAX: no limit */
};

struct wa_command;

/* Copies everything except secrets. -UPP_EINVALID: a word contains NUL, a name '='. -UPP_ENOTFOUND: no weft-reaper. */
int wa_command_new(const struct wa_command_opts *opts, struct wa_command **ret, struct upp_err *err) UPP_MUST_CHECK;
void wa_command_free(struct wa_command *c); /* accepts NULL; no call may be in progress */

WB_DEFINE_CLEANUP(struct wa_command, wa_command_free)

/* The outcome of a call. */
struct wa_command_end {
    struct wb_buf out;   /* standard output, at most the limit */
    struct wb_buf error; /* the end of standard error */
    bool cut;            /* there was more output, and the program was killed */
    int status;          /* in waitpid's form, unless cut */
};
void wa_command_end_done(struct wa_command_end *e);

/* Runs the program. 0: it ended, *ret has the outcome (also with an exit code other than 0). -UPP_ETIMEOUT,
 * -UPP_ECANCELED: it was killed. In every case no process of it is left (docs/tools.md lists those that cannot be
 * killed). */
WEFT_SUSPENDS int wa_command_run(const struct wa_command *c, struct upp_str arguments, struct upp_str key,
                                 struct wa_command_end *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Formats the outcome for the model: adds it to `text`, and sets whether it is JSON and whether it is an error. JSON on
 * standard output is JSON, anything else is text (made UTF-8). An exit code other than 0, a signal, or too much output
 * is an error, with the end of standard error. */
int wa_command_result(const struct wa_command_end *e, struct wb_buf *text, bool *json, bool *failed,
                      struct upp_err *err) UPP_MUST_CHECK;

/* wa_command_run and wa_command_result as the run() of a tool whose `arg` is the command. */
WEFT_SUSPENDS int wa_command_call(struct upp_call *call, struct upp_value *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Finds weft-reaper: $WEFT_REAPER, next to the running program, or where it was installed. The path is NUL-terminated;
 * the NUL is not counted. -UPP_ENOTFOUND. */
int wa_reaper_find(struct wb_buf *ret, struct upp_err *err) UPP_MUST_CHECK;
