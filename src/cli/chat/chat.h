/* cli/chat/chat.h — the state of `weft chat`: a thread, an agent, and who serves them. */
#pragma once

#include "cli/chat/line_editor.h"
#include "cli/chat/view.h"
#include "cli/runs/follow.h"

enum { CLI_CHAT_THREADS = 20 /* that /threads lists */ };

struct cli_chat {
    const struct cli_command *self;
    struct cli_follow f;
    struct cli_chat_view view;
    struct cli_line_editor *lines;
    struct wb_arena arena; /* of the current command */
    struct wb_buf thread;  /* as in a path; empty: none yet */
    struct wb_buf agent, model;
    struct wb_buf asked;   /* who was asked the last question, and has handed over; empty: the agent */
    struct wb_buf line;    /* the last one that was read */
    struct wb_buf text;    /* what the user says */
    struct wb_buf answers; /* the body of a request that answers open calls */
    struct wb_buf again;   /* what is to be edited; empty: nothing */
    char key[64];          /* of the current run */
    uint64_t in, out;      /* tokens of this chat */
    unsigned runs, attempts;
    bool leaves, asked_to_leave, failed;
    char prompt[128];
    struct wb_uuid listed[CLI_CHAT_THREADS]; /* the threads that were listed last */
    size_t n_listed;
};

/* A request about anything, with `body` (NULL: none); its answer is in c->arena. If the server is gone, it is looked
 * for again, once. */
WEFT_SUSPENDS int cli_chat_call(struct cli_chat *c, const char *method, struct upp_str path, const struct wb_buf *body,
                                yyjson_val **ret, struct upp_err *err) UPP_MUST_CHECK;

/* {"name": "value"} */
int cli_chat_body(struct wb_buf *out, const char *name, struct upp_str value, struct upp_err *err) UPP_MUST_CHECK;

/* The agent: as given, of the thread's last run, of the configuration, or the only one. It exists. */
WEFT_SUSPENDS int cli_chat_find_agent(struct cli_chat *c, struct upp_err *err) UPP_MUST_CHECK;

/* Says c->text to the agent, shows the answer, and asks what it waits for. */
WEFT_SUSPENDS int cli_chat_say(struct cli_chat *c, struct upp_err *err) UPP_MUST_CHECK;

/* The same in the place of the last question, on a branch; empty: asks that one again. */
WEFT_SUSPENDS int cli_chat_edit(struct cli_chat *c, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;

/* A line that begins with a slash. 0 also if it was wrong, which it says. */
WEFT_SUSPENDS int cli_chat_command(struct cli_chat *c, struct upp_str line, struct upp_err *err) UPP_MUST_CHECK;

/* Asks for the answers to the calls that the run waits for, and follows it. 1: they are answered; 0: nobody did. */
WEFT_SUSPENDS int cli_chat_answer(struct cli_chat *c, struct upp_err *err) UPP_MUST_CHECK;

/* Asks as long as the run in c->f.shown waits; then says why it did not complete, if it did not. */
WEFT_SUSPENDS int cli_chat_finish(struct cli_chat *c, struct upp_err *err) UPP_MUST_CHECK;

/* What the commands of the chat share. */

/* "/v1/threads/THREAD" + rest, in c->arena. -UPP_EINVALID: nothing was said yet. */
int cli_chat_path(struct cli_chat *c, const char *rest, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* /tree and /switch. */
WEFT_SUSPENDS int cli_chat_tree(struct cli_chat *c, struct upp_str rest, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int cli_chat_switch(struct cli_chat *c, struct upp_str to, struct upp_err *err) UPP_MUST_CHECK;

/* /agent and /model: without a name they list what there is. */
WEFT_SUSPENDS int cli_chat_set_agent(struct cli_chat *c, struct upp_str name, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int cli_chat_set_model(struct cli_chat *c, struct upp_str name, struct upp_err *err) UPP_MUST_CHECK;

/* The agent of the thread's last run; none: *ret stays. */
WEFT_SUSPENDS int cli_chat_thread_agent(struct cli_chat *c, struct wb_buf *ret, struct upp_err *err) UPP_MUST_CHECK;

/* /new and /threads. */
int cli_chat_new(struct cli_chat *c, struct upp_str rest, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int cli_chat_threads(struct cli_chat *c, struct upp_str rest, struct upp_err *err) UPP_MUST_CHECK;

/* Goes to a thread, and to the agent of its last run. */
WEFT_SUSPENDS int cli_chat_enter(struct cli_chat *c, struct upp_str thread, struct upp_err *err) UPP_MUST_CHECK;
