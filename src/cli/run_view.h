/* cli/run_view.h — the events of a run (AgentStreamEvents of the uap dialect), as `weft run` shows them. */
#ifndef CLI_RUN_VIEW_H
#define CLI_RUN_VIEW_H

#include <pthread.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/uuid.h"

enum cli_show {
    CLI_SHOW_TEXT,   /* what is said, as it is said */
    CLI_SHOW_OBJECT, /* one JSON object in the end */
    CLI_SHOW_LINES,  /* a line an event */
    CLI_SHOW_EVENTS, /* the events themselves, one a line */
};

struct cli_run_view {
    enum cli_show   how;
    bool            terminal;                           /* standard output is one */
    struct wb_arena arena;                              /* of the event at hand */
    struct wb_buf   text;                               /* of the last message */
    struct wb_uuid  run;                                /* all zero: not known yet */
    struct wb_buf   status, usage, cut, error, pending; /* of the last state of the run; JSON but for the first */
    bool            open;                               /* standard output stands in the middle of a line */

    pthread_mutex_t lock; /* of `open` and what is held: any thread may log */
    bool            same; /* standard output and standard error are one file, or one terminal */
    struct wb_buf   held; /* lines of the log that came in the middle of a line */
};
void cli_run_view_init(struct cli_run_view *s, enum cli_show how);

/* A sink (base/log.h) for the program's log: where both go to the same place, a line of it waits until the line of the
 * text has ended. */
void cli_run_view_log(void *shown, enum wb_log_level level, struct upp_str line);
void cli_run_view_done(struct cli_run_view *s);

int cli_run_view_event(struct cli_run_view *s, struct upp_str id, struct upp_str data,
                       struct upp_err *err) UPP_MUST_CHECK;

/* Nothing more comes: the run has ended, or waits. */
bool cli_run_view_over(const struct cli_run_view *s);
bool cli_run_view_is(const struct cli_run_view *s, const char *status);

/* What is left to say on standard output. */
int cli_run_view_end(struct cli_run_view *s, struct wb_uuid thread, struct upp_err *err) UPP_MUST_CHECK;

/* On standard error: why it failed, or what it waits for and how to answer. */
void cli_run_view_explain(struct cli_run_view *s);

/* "run_" + 32 digits. */
const char *cli_id(const char *prefix, struct wb_uuid id, char out[64]);

#endif
