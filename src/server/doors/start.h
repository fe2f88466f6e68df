/* server/doors/start.h — starting a run for a request, whatever door it came through.
 *
 * A door reads its request into a struct sv_start; sv_start_run does the rest. The response is the door's: a stream
 * (server/doors/run_stream.h) or an object.
 */
#pragma once

#include <yyjson.h>

#include "dialects/core/dialect.h"
#include "run/engine.h"
#include "server/http/route.h"
#include "server/members/members.h"

struct sv_answers {
    struct wr_answer *p;
    size_t n;
    struct upp_str options; /* of the run from then on; empty: those that it has */

    const struct wr_start *request; /* its Idempotency-Key is stored with them; NULL: none */
};
enum { SV_ANSWERS_MAX = 128 };

/* Option of a run: its thread was made for it, or for a run that it continues, and nobody asked for a thread. It is
 * deleted with the last response in it. */
#define SV_MADE_THREAD "weft_made_thread"

/* Option of a run: the name of the conversation that it answers, where clients send it whole (doors/chat). */
#define SV_CONVERSATION "weft_conversation"

/* Option of a run: a chat completion that its client has stored (doors/chat/stored.h). */
#define SV_STORED "weft_stored"

/* Options of a run: the name that its request asked for, where that is not the agent's; whether it was to work in the
 * background; whether its system text is the client's (struct sv_start). */
#define SV_ASKED         WD_OPTION_ASKED
#define SV_BACKGROUND    WD_OPTION_BACKGROUND
#define SV_SYSTEM_OPTION "weft_client_system"

struct sv_start {
    struct wl_thread thread;
    bool new_thread;  /* it is made in the commit of the run, as thread_opts say */
    bool made_thread; /* a request to run made it, not one for a thread (SV_MADE_THREAD) */
    struct wl_thread_opts thread_opts;
    struct wr_start run;        /* owner, agent, options, on_busy, key, node; the rest is filled here */
    struct sv_entries messages; /* appended; the last one is the run's input if it is a user's */
    struct sv_answers answers;  /* to open calls of the thread: instead of messages */
    bool calls_by_id;           /* clients find the run by the ids of its calls (WR_CALL_IDS) ... */
    const char *conversation;   /* ... in this conversation (SV_CONVERSATION); NULL: not told */
    struct upp_str asked;       /* SV_ASKED; empty: the agent's name */
    const char *agent_member;   /* the request's, which names the agent; NULL: it has none */
    struct upp_str system;      /* of the client, for an agent that is a gateway; empty: none */
    bool background;            /* SV_BACKGROUND */
    bool stored;                /* SV_STORED */
    bool unstored;              /* the thread is erased with the end of the run (run/unstored.c) */
    bool indexed;               /* by a step: run.alias may be another run's, which keeps it */
    bool joined;                /* filled here: a request with the same key had started the run */
};

/* A new thread for the run, with these options (NULL: none). Its id is made here: the door goes on where it is at home.
 */
int sv_start_new_thread(const struct sv_exchange *x, struct sv_start *s, const struct wl_thread_opts *opts,
                        struct upp_err *err) UPP_MUST_CHECK;

/* Goes on with `handler` on the loop where the run will be, or is, at home: the one of `s`, or any. */
WEFT_SUSPENDS int sv_start_at_home(struct sv_exchange *x, const struct sv_start *s, sv_handler *handler,
                                   struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int sv_run_at_home(struct sv_exchange *x, struct wb_uuid run, sv_handler *handler,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* Does the run have the option SV_MADE_THREAD? */
bool sv_made_thread(struct sv_exchange *x, const struct wm_run *run);

/* Starts a run, or resumes the one that waits for the answers. Nothing is written before it, and a failure has changed
 * nothing. -UPP_EBUSY: another run holds the thread; the message names it. Or the new thread's alias is taken:
 * err.cause is WR_THREAD_TAKEN. */
WEFT_SUSPENDS int sv_start_run(struct sv_exchange *x, struct sv_start *s, struct wb_uuid *run,
                               struct upp_err *err) UPP_MUST_CHECK;

/* What a door adds to the starts of all: an alias, options. The steps of all doors, before anything is checked; NULL
 * ends them (server/doors/doors.c). */
typedef int sv_start_step(struct sv_exchange *x, struct sv_start *s, struct upp_err *err);
extern sv_start_step *const sv_start_steps[];

/* After a failure to read what the response needs. True: what the request asks for is committed (x->done), so that it
 * must not be refused, and the reason may pass; this has waited a little, and the caller tries again. */
WEFT_SUSPENDS bool sv_try_again(struct sv_exchange *x, int r, const struct upp_err *err, unsigned *tries);

/* The run, for the response. If it cannot be read, and the request has started it: as it was committed. */
WEFT_SUSPENDS int sv_look_at_run(struct sv_exchange *x, struct wb_uuid run, struct wr_run_info *ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The request's Idempotency-Key: 1; 0: it has none. Whoever reads it honours it. */
int sv_key_header(struct sv_exchange *x, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The route of an idempotency key. Keys belong to a tenant: this keeps those of its users, and of the agent that the
 * path names, apart. The caller checks the arena. */
struct upp_str sv_key_route(struct sv_exchange *x, const char *route);

/* Reads the request's Idempotency-Key, if it has one, and makes a hash of its body, which must outlive the start. */
int sv_start_key(struct sv_exchange *x, struct upp_str route, struct wr_start *start, unsigned char hash[32],
                 struct upp_err *err) UPP_MUST_CHECK;

/* Has an earlier request with this key started or answered a run? */
WEFT_SUSPENDS bool sv_key_is_used(struct sv_exchange *x, const struct wr_start *start);

/* After -UPP_EBUSY: a sentence, OpenAI's, that names the run that holds the thread. */
WEFT_SUSPENDS int sv_busy_error(struct sv_exchange *x, const struct wl_thread *t, bool for_run, struct upp_err *err);

/* Answers whatever has open calls on a thread (server/doors/answers.c). 1: a run waited for them and resumes: *run. 0:
 * they came with an imported document, and s->run begins with their results; or the same request was first, and s->run
 * joins its run. A run that waited has the request's options from then on, if it brings any: `own`, as the request gave
 * them. It stays its agent's; another one that the request names is ignored. */
WEFT_SUSPENDS int sv_put_answers(struct sv_exchange *x, struct sv_start *s, struct upp_str own, struct wb_uuid *run,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* Answers open calls of a run, in the name of the client. 1: a request with the same Idempotency-Key was first.
 * -UPP_EREFUSED: its actor has left the thread. */
WEFT_SUSPENDS int sv_answer_calls(struct sv_exchange *x, struct wb_uuid run, const struct sv_answers *a,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* The same; in the commit of the answers the run takes the alias. */
WEFT_SUSPENDS int sv_answer_calls_as(struct sv_exchange *x, struct wb_uuid run, const struct sv_answers *a,
                                     struct upp_str alias, struct upp_err *err) UPP_MUST_CHECK;

/* The options of a run that waits and goes on for a request of its own: the request's, with those of the run that no
 * client sets. Checked. In x->arena. */
int sv_next_options(struct sv_exchange *x, const struct wm_run *run, struct sv_start *s, struct upp_str *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

/* Does a request bring options of a run? `own`: those that a door has read. */
int sv_has_options(struct sv_exchange *x, struct upp_str own, bool *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Cancels a run (wr_cancel), if the client may. */
WEFT_SUSPENDS int sv_cancel(struct sv_exchange *x, struct wb_uuid run, struct upp_err *err) UPP_MUST_CHECK;
