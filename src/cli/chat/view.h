/* cli/chat/view.h — the events of runs, as `weft chat` shows them.
 *
 * On a terminal: markdown rendered as it arrives, reasoning folded to one line, a line for each tool call. Otherwise
 * the answer goes to standard output as it is, and everything else to standard error.
 */
#pragma once

#include <yyjson.h>

#include "base/vec.h"
#include "cli/chat/table.h"
#include "cli/chat/stream.h"

enum { CLI_CALLS_MAX = 4096 };

/* A whole number of an object; 0: there is none. */
int64_t cli_number_at(yyjson_val *object, const char *name);

struct cli_call {
    char id[128], name[128];
    struct wb_buf arguments;
    int64_t since_ms;
};

struct cli_chat_view {
    bool terminal, styled, utf8;
    struct cli_screen screen;
    struct cli_stream text;
    enum { CLI_SHOWS_NOTHING, CLI_SHOWS_TEXT, CLI_SHOWS_REASONING } now;
    bool open;          /* not a terminal: the last line of the answer has no end */
    struct wb_buf said; /* the text of this message; what is beyond its maximum is not in it */
    size_t again;       /* how much of it has come again ... */
    bool repeats;       /* ... after an attempt that was void: as long as it is the same, it is not shown again */
    struct wb_buf reasoning;
    uint64_t since_ms; /* of the reasoning */
    WB_VEC(struct cli_call) calls;
    struct wb_buf agent;        /* that took over the thread; empty: none */
    const struct wb_buf *asked; /* the agent that the user talks to */
    struct wb_buf held;         /* a text that may be a structured message: shown as one when it is complete */
    bool cut;                   /* the last note was longer than it may be */
};
void cli_chat_view_init(struct cli_chat_view *v);
void cli_chat_view_done(struct cli_chat_view *v);

/* Before each answer: looks how large the terminal is. fresh: of another run than the last one. */
void cli_chat_view_begin(struct cli_chat_view *v, bool fresh);

/* The terminal has another size, maybe. */
void cli_chat_view_resize(struct cli_chat_view *v);

/* cli_run_view.on_event. */
int cli_chat_view_event(void *view, struct upp_str type, yyjson_val *event, yyjson_val *data,
                        struct upp_err *err) UPP_MUST_CHECK;

/* The run has ended or waits: what is open is completed. */
int cli_chat_view_end(struct cli_chat_view *v, struct upp_err *err) UPP_MUST_CHECK;

/* How a note is shown on a terminal. */
struct cli_note {
    unsigned style;
    unsigned indent; /* of all rows but the first; 0: 2 */
    unsigned rows;   /* at most; 0: CLI_NOTE_ROWS */
    bool framed;     /* a bar before each row: what an agent asks */
};
enum { CLI_NOTE_ROWS = 40 };

/* A paragraph about the conversation. Its text is not trusted. It is wrapped to the width of the terminal; more rows
 * than there may be are cut, which v->cut tells. A format ends a text at a NUL: what a person decides about is a text
 * of its own. */
int cli_chat_note_text(struct cli_chat_view *v, const struct cli_note *as, struct upp_str text,
                       struct upp_err *err) UPP_MUST_CHECK;
int cli_chat_note_as(struct cli_chat_view *v, const struct cli_note *as, struct upp_err *err, const char *fmt, ...)
    UPP_PRINTF(4, 5) UPP_MUST_CHECK;
int cli_chat_note(struct cli_chat_view *v, unsigned style, struct upp_err *err, const char *fmt, ...)
    UPP_PRINTF(4, 5) UPP_MUST_CHECK;

/* What an agent asks in a structured message, in a frame that Weft's own questions do not have.
 */

enum { CLI_QUESTION_MAX = 100000 /* bytes of a structured message, as in the page */ };

/* Shows the text of an agent in a frame that says who asks, if it is a structured message that asks. 1: it is shown; 0:
 * it is any other text. */
int cli_chat_question(struct cli_chat_view *v, struct upp_str asker, struct upp_str text,
                      struct upp_err *err) UPP_MUST_CHECK;
