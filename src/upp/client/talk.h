/* upp/client/talk.h — internals of llm, turn, stream and round: a turn in progress.
 *
 * generate and stream share one state machine (struct upp_stream): it calls the model, reads its answer, runs a round
 * of tools, and calls the model again. generate produces no events.
 */
#pragma once

#include <stdatomic.h>
#include <upp/llm.h>

#include "base/arena.h"
#include "base/buf.h"
#include "json/value.h"
#include "json/write.h"
#include "upp/client/call.h"

enum {
    UPP__TURN_BYTES = 1 << 30, /* memory of one turn, at most */
    UPP__CALLS = 128,          /* tool calls of one message */
    UPP__TEAM = 64,            /* tools running at one time */
    UPP__ITERATIONS = 10,
};

struct upp_llm {
    struct wb_arena arena; /* of the llm itself and everything below */
    struct upp_model *model;
    bool owned; /* the model is ours */
    struct upp_str system, params, structure;
    struct upp_tool *tools;
    struct upp_tool_spec *specs;
    size_t n_tools;
    struct upp_tool_strategy strategy;
};

/* Can the model do this? -UPP_EINVALID names what it cannot do. */
int upp__llm_may(const struct upp_llm *llm, bool stream, struct upp_err *err) UPP_MUST_CHECK;
int upp__llm_may_send(const struct upp_llm *llm, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;

/* Fails with INVALID_REQUEST in the name of the model's provider. */
int upp__llm_refuse(const struct upp_llm *llm, struct upp_err *err, const char *fmt, ...) UPP_PRINTF(3, 4);

/* A table around the caller's: ends waits at the turn's deadline and when the stream is aborted. */
struct upp__guard {
    struct upp_wait table;
    const struct upp_wait *inner;
    uint64_t until_ms; /* monotonic; UPP_FOREVER: none */
    uint64_t turn_ms;
    bool ours; /* inner is the stream's own: it adds nothing to `aborted` */
    atomic_bool aborted;
};
void upp__guard_init(struct upp__guard *g, const struct upp_wait *inner, uint64_t turn_ms);
int upp__guard_check(struct upp__guard *g, struct upp_err *err) UPP_MUST_CHECK; /* aborted, stopped, too late */

/* Work on other threads: as team_* of struct upp_wait. Items without a thread, and all if `threads` is 0, are done by
 * the caller inside upp__team_next. */
int upp__team_open(size_t n, size_t threads, void (*work)(void *ctx, size_t i), void *ctx, struct upp_team **ret,
                   struct upp_err *err) UPP_MUST_CHECK;
int upp__team_next(struct upp_team *t, size_t *ret);
void upp__team_close(struct upp_team *t);

struct upp__turn {
    struct upp_turn pub;
    struct wb_arena arena; /* contains the turn itself */
    const char *text;
};

/* The text of the response, in the arena unless it is one part: then it is that part's own text, followed by a NUL.
 * NULL: no memory. */
const char *upp__text_of(struct wb_arena *a, const struct upp_message *m);

/* State of a part of the open message. */
struct upp__growing {
    size_t cap;
    bool closed, has_delta;
};

struct upp__making {
    struct upp__turn *turn;
    const struct upp_message **path; /* history and turn: what the model receives */
    size_t n_path, cap_path, n_history;
    struct upp_message *open; /* the answer being read; NULL: none */
    struct upp__growing *growing;
    size_t cap_parts;
    struct upp_usage *cycles;
    size_t cap_cycles;
    struct upp_execution *executions;
    size_t cap_executions;
    struct upp_loss *losses;
    size_t cap_losses, loss; /* loss: index of the next one, if it is a repetition */
    int64_t now_ms;          /* never decreases */
    uint64_t call_ids[16];   /* a Bloom filter of call ids: a clear bit means new */
};

int upp__making_begin(struct upp__making *m, const struct upp_llm *llm, const struct upp_input *in,
                      struct upp_err *err) UPP_MUST_CHECK;
void upp__making_loss(void *making, const struct upp_loss *loss); /* on_loss of a request */

/* Opens the answer; adds an event to it. -UPP_ENOMEM and -UPP_ELIMIT come from the arena. */
int upp__making_open(struct upp__making *m, struct upp_err *err) UPP_MUST_CHECK;
int upp__making_take(struct upp__making *m, const struct upp_step_event *ev, struct upp_err *err) UPP_MUST_CHECK;
void upp__making_cut(struct upp__making *m); /* keeps the output so far */

/* Adds a message to the turn, with an id and a time if it has none. */
int upp__making_add(struct upp__making *m, struct upp_message *message, struct upp_err *err) UPP_MUST_CHECK;
int upp__making_execution(struct upp__making *m, const struct upp_execution *e, struct upp_err *err) UPP_MUST_CHECK;

/* Completes the turn: sets its public members. NULL: no output, or no memory; then it is freed. */
struct upp_turn *upp__making_end(struct upp__making *m, bool failed);
void upp__making_done(struct upp__making *m); /* frees a turn that was not taken */

int64_t upp__making_now(struct upp__making *m);

/* Gives a message an id and a time if it has none. *now_ms never decreases. */
int upp__message_stamp(struct wb_arena *a, struct upp_message *m, int64_t *now_ms, struct upp_err *err) UPP_MUST_CHECK;

/* A stamped copy in an arena. */
int upp__message_own(struct wb_arena *a, const struct upp_message *m, int64_t *now_ms, struct upp_message *ret,
                     struct upp_err *err) UPP_MUST_CHECK;

/* A new id as text. */
int upp__new_id(struct wb_arena *a, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_BEGIN

/* Moves the buffer's contents out; free them with upp_text_free. */
int upp__text_take(struct wb_buf *b, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* UPP's StreamEvent. */
void upp__event_write(struct wj_writer *w, const struct upp_event *ev);

WB_EXPORT_END

struct upp__job {
    struct upp__call call;
    const struct upp_part *part;
    struct upp_str result; /* JSON, as the model receives it */
    struct upp_value *value;
    struct upp_err *why;
    uint64_t ms;
    int r; /* of run */
    uint8_t approved;
    bool ready, ended, is_error;
};

struct upp__round {
    struct upp__job *jobs;
    size_t n, at;
    size_t *team_jobs; /* which jobs are running */
    size_t n_team;
    struct upp_team *team;
    uint8_t phase;
};

struct upp_stream;
int upp__round_begin(struct upp_stream *s, struct upp_err *err) UPP_MUST_CHECK;
/* 1: *ret is its next event. 0: it is over, and its results are in the turn. */
int upp__round_next(struct upp_stream *s, struct upp_event *ret, struct upp_err *err) UPP_MUST_CHECK;
void upp__round_close(struct upp_stream *s); /* waits for running tools */

enum { UPP__QUEUE = 4 };

struct upp_stream {
    struct upp_llm *llm;
    const struct upp_wait *wait; /* the caller's, or the guard's */
    struct upp__making making;
    struct upp_request request;
    struct upp_step *step;
    struct upp__round round;
    struct upp_value value; /* of tools that run here, one after the other */
    unsigned rounds;
    uint8_t phase;
    bool quiet;   /* generate: no events */
    bool started; /* MESSAGE_START of this answer was queued */
    bool guarded; /* wait is the guard's */
    bool watched; /* a deadline, or a table that may stop: checked between events */
    uint8_t at, n_queue;
    struct upp_event queue[UPP__QUEUE];
    struct upp_turn *done; /* the turn, once it is over */
    int failed;
    struct upp_err why;
    struct upp_wait given;     /* a copy of the caller's table: one of an older program may be shorter */
    struct upp_cancel *cancel; /* ends the waits of a stream for which the caller gave no table */
    struct upp__guard guard;
};

/* Is the turn cancelled or too late? */
static inline int upp__stream_check(struct upp_stream *s, struct upp_err *err)
{
    if (s->guarded)
        return upp__guard_check(&s->guard, err);
    return s->wait && s->wait->stopped ? s->wait->stopped(s->wait->arg, err) : 0;
}

/* Makes room for one more item in a list in an arena; the old list is left as garbage. NULL: no memory. */
void *upp__grow(struct wb_arena *a, void *list, size_t n, size_t *cap, size_t item);
#define upp__room(a, list, n, cap)                                                                                     \
    ((n) < (cap) || ((list) = upp__grow((a), (list), (n), &(cap), sizeof *(list))) != NULL)
