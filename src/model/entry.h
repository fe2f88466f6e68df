/* model/entry.h — one immutable line of the log.
 *
 * An entry says who, when, from where, for whom, and what: a message, a system event, a repair. Entries are stored
 * inside rows (model/row.h). Plain data; texts live in the arena or the row they came from.
 */
#ifndef WM_ENTRY_H
#define WM_ENTRY_H

#include <upp/message.h>

#include "base/defs.h"

enum wm_entry_kind {
    WM_ENTRY_MESSAGE = 1,
    WM_ENTRY_EVENT,  /* a system event: `data` */
    WM_ENTRY_REPAIR, /* a message of results that closes what a crash or a cancel left open */
    WM_ENTRY_TURN,   /* a boundary between turns */
};

enum wm_origin { WM_ORIGIN_RUN = 1, WM_ORIGIN_CLIENT, WM_ORIGIN_IMPORT };

enum wm_audience {
    WM_AUDIENCE_ALL = 1, /* history, every dialect */
    WM_AUDIENCE_RUN,     /* on the path for its run only */
    WM_AUDIENCE_MODEL,   /* stands for the entries before it when a model is asked */
};

/* That it was erased: what it said is gone, its place is not. */
struct wm_erased {
    int64_t        time_ms; /* 0: it was not */
    struct upp_str why;
};

struct wm_entry {
    uint8_t            kind, origin, audience;
    uint8_t            attempt; /* at its index, modulo 64 (model/id.h) */
    uint32_t           step;    /* of its run; 0: none */
    struct upp_str     who;     /* agent or user by name; no text: not said */
    struct upp_str     phase;   /* of its step: which call of the model said it; no text: none */
    struct upp_message message; /* MESSAGE, REPAIR; its time is the entry's time */
    struct upp_str     data;    /* JSON; EVENT, TURN */

    /* MESSAGE of the tool role: its results are not in it but in TOOL_ENDED records of rows before (or of the same
     * row), by call id, in this order. wm_entry_join puts them in. */
    struct upp_str *refs;
    size_t          n_refs;

    struct wm_erased erased; /* what has calls or results keeps them, without what they said */
};

static inline bool wm_is_erased(const struct wm_entry *e)
{
    return e->erased.time_ms != 0;
}

/* Is nothing left of it that a history needs? (A stub with calls or results is needed: they belong together.) */
static inline bool wm_is_hidden(const struct wm_entry *e)
{
    return wm_is_erased(e) && !e->message.n_parts && !e->n_refs;
}

/* Is it part of a history that somebody is shown? */
static inline bool wm_is_visible(const struct wm_entry *e)
{
    return e->audience == WM_AUDIENCE_ALL && e->kind != WM_ENTRY_TURN && !wm_is_hidden(e);
}

#endif
