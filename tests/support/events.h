/* support/events.h — events of a run from a terse script, as an engine would number them.
 *
 * One line, one event:
 *
 *     run STATUS [CALL|?CALL ...] [ERROR...]   the calls it waits for (?: for an approval), or the error's message
 *     step [ID]                        the next step begins; the same one again after a void. ID: which of a plan
 *     open [PHASE]                     a message is opened; its parts are counted from 0. With a PHASE it is
 * scaffolding part KIND [CALL NAME]            text, reasoning, call, image, document media KIND SOURCE MIME DATA a
 * part that is a medium: SOURCE base64, url, text; `late` before KIND: seen only in the message
 *     + PART TEXT                      a delta; TEXT is the rest of the line, with \n for a newline
 *     close PART
 *     message [STOP]                   length, tools, filter, cut (interrupted; open parts are cut); else the end of
 * the turn whole KIND TEXT                  a part of the next message that no event tells of start CALL NAME ARGUMENTS
 *     end CALL OUTCOME JSON            done, error, unknown, denied, stopped
 *     endstep                          with the results since the last one
 *     results                          those since the last one, of a round after which the step goes on
 *     checkpoint
 *     void
 *     event JSON                       a system event
 *     agent N                          no event: from here on the run is another agent's
 *     aside PHASE                      no event: the next message, which no event opens, is scaffolding
 *     child N EVENT                    the event is one of the child run N (1 to 3)
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "model/event.h"

enum { EVENTS_MAX = 1 << 16, EVENTS_PARTS = 64, EVENTS_RUNS = 4 };

struct events_run {
    struct wm_source from;
    const struct wm_source *now; /* `from`, or that of another agent */
    struct upp_str phase;        /* of the message that is said, where it is scaffolding */
    uint32_t step, index;
    uint8_t attempt;
    bool again; /* the step was voided */
    struct upp_part parts[EVENTS_PARTS];
    bool quiet[EVENTS_PARTS], open[EVENTS_PARTS];
    size_t n_parts;
    struct upp_part results[EVENTS_PARTS];
    size_t n_results;
};

struct events {
    struct wb_arena memory;
    WB_VEC(struct wm_event) list;
    uint64_t number, record; /* of the last event, of the last record */
    struct events_run *runs; /* EVENTS_RUNS of them, in memory; NULL when there is none */
};

void events_init(struct events *e);
void events_done(struct events *e);

/* Adds the script's events. -UPP_EINVALID names the line that makes no sense. */
int events_play(struct events *e, struct upp_str script, struct upp_err *err) UPP_MUST_CHECK;

/* A script of a valid run, made up: `pick` gives a number below n. Waits, voids, cancels and failures come anywhere. */
void events_invent(struct wb_buf *script, unsigned (*pick)(void *arg, unsigned n), void *arg);

/* Scripts with a name, one for each thing a stream must be able to show. */
struct events_script {
    const char *name, *text;
};
extern const struct events_script events_scripts[];
extern const size_t events_n_scripts;
