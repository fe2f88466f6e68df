/* server/doors/process/process.h — the Agent API Protocol over HTTP: POST /process, tasks, sessions.
 *
 * A session is a thread. Its id is the client's own, an alias of the thread per tenant and user; the id of a thread is
 * a session too. A response is a run, or what of it lies between two waits; a task is a run.
 */
#pragma once

#include "server/doors/conversation/conversation.h"
#include "server/doors/run_stream.h"
#include "server/doors/start.h"
#include "server/http/body.h"
#include "server/http/route.h"
#include "thread/position.h"

/* For sv_server_opts.doors, with .engine and .store set. */
extern const struct sv_door sv_door_process;

/* ---- Shared by the files of this door ---- */

enum {
    SV_SESSION_ID = 256, /* bytes */
    SV_RESPONSE_ID = 128,
};

/* The route under which the ids of requests are stored, as Idempotency-Keys of the runs that they start. */
#define SV_PROCESS_KEYS "POST /process"

extern const char *const sv_process_members[]; /* of a request; ends with NULL */

/* A request, from its session to what it starts. */
struct sv_process {
    struct sv_body body;
    bool streams;           /* not `stream: false` */
    struct upp_str session; /* its id, as the client spells it, or a new one */
    bool is_new;            /* there is no such session: `fresh` becomes its thread */
    struct wb_uuid fresh;
    struct upp_str id;     /* of the response, as the request wants it; empty: the run's */
    struct wb_uuid after;  /* the run of response_id; all zero: none */
    struct wa_position to; /* where that ends, if `moves`: the session is elsewhere */
    bool moves;
    struct wb_uuid join; /* the session has the messages already: the run that they started; all zero: none */
    struct sv_start start;
    struct sv_joining joining; /* start.joined: the run of the same request before */
    bool task;
    bool again; /* there was no such session, and now there is */

    /* The response: its run, and for a stream how. */
    struct wb_uuid run;
    struct sv_run_stream stream;
};

/* server/doors/process/session.c */

/* The user of a request. A key's user cannot be another one; without one the scope act-as is needed. */
int sv_process_user(struct sv_exchange *x, const struct sv_body *b, struct upp_str user,
                    struct upp_err *err) UPP_MUST_CHECK;

/* Reads the body as far as to know the session, and finds its thread: start.thread, unless is_new. */
WEFT_SUSPENDS int sv_process_find(struct sv_exchange *x, struct sv_process **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Where the run begins: on a thread that is made with it, or elsewhere in that of the session. */
int sv_process_open(const struct sv_exchange *x, struct sv_process *p, struct upp_err *err) UPP_MUST_CHECK;

/* Finds the end of the response that the request continues: start.thread is there, in memory only. */
WEFT_SUSPENDS int sv_process_branch(struct sv_exchange *x, struct sv_process *p, struct upp_err *err) UPP_MUST_CHECK;

/* The session of a run that an earlier request with the same key has started: p->session. */
WEFT_SUSPENDS int sv_process_session(struct sv_exchange *x, struct sv_process *p, struct upp_err *err) UPP_MUST_CHECK;

/* The newest run of a session. -UPP_ENOTFOUND: it has none. */
WEFT_SUSPENDS int sv_process_last(struct sv_exchange *x, const struct wl_thread *t, struct wm_run *ret,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* server/doors/process/request.c: everything but the session and the input. 1: it has answered already. */
WEFT_SUSPENDS int sv_process_read(struct sv_exchange *x, struct sv_process *p, struct upp_err *err) UPP_MUST_CHECK;

/* Responds with 422 and all problems of the request: 1. 0: it has none. */
int sv_process_check(struct sv_exchange *x, struct upp_err *err) UPP_MUST_CHECK;

/* The body of an error: {"detail": ...}. */
void sv_process_error(const struct sv_exchange *x, const struct sv_error *e, struct wb_buf *out);

/* server/doors/process/input.c: the messages of the request, as entries or answers. */
WEFT_SUSPENDS int sv_process_input(struct sv_exchange *x, struct sv_process *p, struct upp_err *err) UPP_MUST_CHECK;

/* server/doors/process/session.c */

/* Where the response of a run begins that is its last one: after the wait before it. */
WEFT_SUSPENDS int sv_process_from(struct sv_exchange *x, struct wb_uuid run, struct wr_from *ret,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* The last response object of a run, appended to out. `whole`: waits for the end of the run, or its next wait. */
WEFT_SUSPENDS int sv_process_result(struct sv_exchange *x, struct wb_uuid run, bool whole, struct wb_buf *out,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* Which messages of a request a session has already (history.c). */

struct sv_history {
    struct upp_str *ids; /* of messages of the request that the session has */
    size_t n_ids;
    struct upp_str *calls; /* that have a result */
    size_t n_calls;
    struct wb_uuid last; /* the run that the last one of them started; all zero: none */
};

/* How far back it looks. */
enum { SV_HISTORY_ENTRIES = 1024, SV_HISTORY_RUNS = 64 };

/* `list`: the messages of the request. Ids are those that clients gave their messages, those of the thread's entries,
 * and those that streams have shown. */
WEFT_SUSPENDS int sv_history_read(struct sv_exchange *x, const struct wl_thread *t, yyjson_val *list,
                                  struct sv_history *ret, struct upp_err *err) UPP_MUST_CHECK;

bool sv_history_has(const struct sv_history *h, struct upp_str id);
bool sv_history_answered(const struct sv_history *h, struct upp_str call);
