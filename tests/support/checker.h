/* support/checker.h — what must hold of runs, whatever happened to the process that did them.
 *
 * Three accounts are compared: the *ledger* of what tools really did (told to the checker by the tools themselves,
 * outside of the world that crashes), the *journal* (the rows of the store), and what each *client* was told: the
 * acknowledgements of wr_start, wr_answer and wr_cancel, and every event a reader got, with its epoch and number.
 *
 *     checker_acked_start(c, &ack);            after wr_start has returned 0
 *     checker_saw(c, &view, ev, err);          every event of a reader; a view is one connection
 *     checker_ran(c, call, WEFT_PURE);         first thing in every tool
 *     checker_check(c, store, false, &err);    after a recovery, and with `last` when all has come to rest
 *
 * What is checked, each failure with a sentence that names the run:
 *  1. Acknowledged starts exist with their input; the same idempotency key gave one run. Acknowledged answers and
 *     cancels are there.
 *  2. Every event that anybody saw is in the store with the same bytes; only what has the strength of deltas may be
 *     missing, and only where a later epoch or nothing yet stands at its number. A reader's own view has no gap and
 *     goes back only with a void.
 *  3. Stored events are numbered 1, 2, 3 ...; epochs never fall; a void names the last record before it.
 *  4. No at_most_once call ran twice, and no idempotent one with two keys; nothing ran without its TOOL_STARTED in
 *     the log; nothing ran after its result was stored.
 *  5. Every path is well-formed: a call has one result in the next message. While its run lives the last message may
 *     still be without.
 *  6. A run's row says what its last record says; a run that has ended says nothing more, holds nothing, has no child
 *     that has not ended; a run that works or waits holds its node. The usage of an ended run is that of its messages
 *     and its children.
 *  7. The id of every message leads back to its entry.
 *  8. A thread whose delete was acknowledged is not there; a message whose delete was says nothing. Both of threads
 * that were named before they were changed (checker_excuse): what was said there is not compared any more.
 *
 * Runs that are not durable (async, exit) may lose what was acknowledged where power is lost, and are held to 3 to 7
 * alone then.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "run/engine.h"

struct checker_event; /* one seen */
struct checker_run;   /* all that is known of one root run from outside */

/* A start that was acknowledged. */
struct checker_start {
    struct wb_uuid run, thread;
    struct upp_str input; /* its text */
    struct upp_str key;   /* no text: none */
    bool durable;
};

struct checker_answer {
    struct wb_uuid run; /* the root */
    struct upp_str call, result;
    bool approval, approved;
};

/* A tool ran. */
struct checker_ran {
    struct wb_uuid run; /* whose call it was */
    struct upp_str call, tool, key;
    uint8_t delivery;
    bool found; /* its run is in the store */
};

/* A call whose result was found in the store when the ledger had `at` lines: it never runs again. */
struct checker_over {
    struct wb_uuid run;
    struct upp_str call;
    size_t at;
};

struct checker {
    struct wl_owner owner;
    bool power_stays; /* only programs die: what was written is kept, synced or not */
    struct wb_arena memory;
    WB_VEC(struct checker_start) starts;
    WB_VEC(struct checker_answer) answers;
    WB_VEC(struct wb_uuid) cancels;
    WB_VEC(struct wb_uuid) excused, deleted, erased; /* threads; threads; messages */
    WB_VEC(struct checker_ran) ran;
    WB_VEC(struct checker_over) over;
    WB_VEC(struct checker_run *) runs;
    char wrong[400]; /* the first thing that was wrong while it was told */
    uint64_t hash;   /* of all that was told and found: the same seed gives the same */
    struct {
        uint64_t events, stored, voids, runs, checks;
    } count;
};

void checker_init(struct checker *c, struct wl_owner owner);
void checker_done(struct checker *c);

int checker_acked_start(struct checker *c, const struct checker_start *s);
int checker_acked_answer(struct checker *c, const struct checker_answer *a);
int checker_acked_cancel(struct checker *c, struct wb_uuid run);
int checker_excuse(struct checker *c, struct wb_uuid thread); /* something of it is about to be deleted */
int checker_acked_delete(struct checker *c, struct wb_uuid thread);
int checker_acked_message_delete(struct checker *c, struct wb_uuid message);
void checker_ran(struct checker *c, struct upp_call *call, uint8_t delivery);
/* From a ledger that was kept elsewhere. */
int checker_ran_key(struct checker *c, struct upp_str tool, struct upp_str key, uint8_t delivery);

/* One connection of a reader. All zero: none of its events was seen yet. */
struct checker_view {
    struct wb_uuid run;
    uint32_t epoch;
    uint64_t number;
};
int checker_saw(struct checker *c, struct checker_view *v, const struct wm_event *ev, struct upp_err *err);

/* One event with all that is in it, as a line. */
void checker_event_text(struct wb_buf *out, const struct wm_event *ev);

/* 0, or -UPP_EBUG with a sentence. `last`: all runs of which a client was told must have ended. */
WEFT_SUSPENDS int checker_check(struct checker *c, struct wl_store *s, bool last, struct upp_err *err);

/* The events of a root run as the rows of the store have them, without the engine: lines of checker_event_text. */
WEFT_SUSPENDS int checker_stored(struct wl_store *s, const struct wl_owner *o, struct wb_uuid root, struct wb_buf *out,
                                 struct upp_err *err);
