/* cli/run_view.h — the events of a run (AgentStreamEvents of the uap dialect), as `weft run` shows them. */
#pragma once

#include <pthread.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/uuid.h"

enum cli_show {
    CLI_SHOW_TEXT,   /* the output, as it arrives */
    CLI_SHOW_OBJECT, /* one JSON object at the end */
    CLI_SHOW_LINES,  /* one line per event */
    CLI_SHOW_EVENTS, /* the events themselves, one per line */
    CLI_SHOW_NOT,    /* on_event shows them */
};

struct cli_run_view {
    enum cli_show how;
    const char *name;                                 /* of the command, for messages */
    bool terminal;                                    /* standard output is a terminal */
    struct wb_arena arena;                            /* for the current event */
    struct wb_buf text;                               /* of the last message */
    struct wb_uuid run;                               /* all zero: unknown yet */
    struct wb_buf status, usage, cut, error, pending; /* of the last state of the run; JSON, except status */
    /* Of CLI_SHOW_NOT: the type of an event, all of it, and its data. */
    int (*on_event)(void *arg, struct upp_str type, yyjson_val *event, yyjson_val *data, struct upp_err *err);
    void *arg;
    bool open; /* the last line on standard output is not complete */

    pthread_mutex_t lock; /* for `open` and `held`: any thread may log */
    bool same;            /* standard output and standard error are the same file or terminal */
    struct wb_buf held;   /* log lines that came in the middle of a line */
};
void cli_run_view_init(struct cli_run_view *s, enum cli_show how);

/* A sink (base/log.h) for the logger: if output and log go to the same terminal or file, log lines wait until the
 * current line of output is complete. */
void cli_run_view_log(void *shown, enum wb_log_level level, struct upp_str line);
void cli_run_view_done(struct cli_run_view *s);

int cli_run_view_event(struct cli_run_view *s, struct upp_str id, struct upp_str data,
                       struct upp_err *err) UPP_MUST_CHECK;

/* No more events: the run has ended, or waits. */
bool cli_run_view_over(const struct cli_run_view *s);
bool cli_run_view_is(const struct cli_run_view *s, const char *status);

/* Prints the rest on standard output. */
int cli_run_view_end(struct cli_run_view *s, struct wb_uuid thread, struct upp_err *err) UPP_MUST_CHECK;

/* On standard error: why the run failed, or what it waits for and how to answer. */
void cli_run_view_explain(struct cli_run_view *s);

/* "run_" + 32 digits. */
const char *cli_id(const char *prefix, struct wb_uuid id, char out[64]);

/* A run as it was typed, in any spelling, as "run_" + 32 digits; and that there is none, which the owner of the store
 * says in the same words. */
int cli_run_id(const char *typed, char ret[64], struct upp_err *err) UPP_MUST_CHECK;
int cli_no_run(const char *typed, struct upp_err *err);
