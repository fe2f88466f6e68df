/* model/entry.h — one immutable item of the log.
 *
 * An entry has an author, a time, an origin, an audience and content: a message, a system event, a repair. Entries are
 * stored inside rows (model/row.h). Texts live in the arena or the row they came from.
 */
#pragma once

#include <upp/message.h>

#include "base/defs.h"
#include "base/str.h"

enum wm_entry_kind {
    WM_ENTRY_MESSAGE = 1,
    WM_ENTRY_EVENT,  /* a system event: `data` */
    WM_ENTRY_REPAIR, /* a message of results that closes the calls a crash or a cancel left open */
    WM_ENTRY_TURN,   /* a boundary between turns */
};

enum wm_origin { WM_ORIGIN_RUN = 1, WM_ORIGIN_CLIENT, WM_ORIGIN_IMPORT };

enum wm_audience {
    WM_AUDIENCE_ALL = 1, /* history, every dialect */
    WM_AUDIENCE_RUN,     /* visible only to its run */
    WM_AUDIENCE_MODEL,   /* replaces the entries before it in model requests */
};

/* Marks an erased entry: its content is gone, its position stays. */
struct wm_erased {
    int64_t time_ms; /* 0: not erased */
    struct upp_str why;
};

struct wm_entry {
    uint8_t kind, origin, audience;
    uint8_t attempt;            /* at its index, modulo 64 (model/id.h) */
    uint32_t step;              /* of its run; 0: none */
    struct upp_str who;         /* name of an agent or user; empty: unknown */
    struct upp_str phase;       /* of its step: which model call produced it; empty: none */
    struct upp_message message; /* MESSAGE, REPAIR; its time is the entry's time */
    struct upp_str data;        /* JSON; EVENT, TURN */

    /* MESSAGE of the tool role: its results are not stored in it but in TOOL_ENDED records of earlier rows or the same
     * row; these are their call ids, in order. wm_entry_join inserts them. */
    struct upp_str *refs;
    size_t n_refs;

    struct wm_erased erased; /* calls and results stay, without their content */
};

static inline bool wm_is_erased(const struct wm_entry *e)
{
    return e->erased.time_ms != 0;
}

/* Is nothing left of it that a history needs? (Erased calls and results stay, because they must pair up.) */
static inline bool wm_is_hidden(const struct wm_entry *e)
{
    return wm_is_erased(e) && !e->message.n_parts && !e->n_refs;
}

/* Is it part of a history that users see? */
static inline bool wm_is_visible(const struct wm_entry *e)
{
    return e->audience == WM_AUDIENCE_ALL && e->kind != WM_ENTRY_TURN && !wm_is_hidden(e);
}

#define WM_PHASE_PROMPT "handoff" /* of a prompt that was imported; those of runs have no phase */

/* Is it what one agent asks another when it hands over the thread (run/handoff.c)? For a model it is a user's text, but
 * no user wrote it: it is shown to nobody as one. */
static inline bool wm_is_prompt(const struct wm_entry *e)
{
    bool imported = e->origin == WM_ORIGIN_IMPORT && wb_str_eq(e->phase, UPP_STR(WM_PHASE_PROMPT));
    return e->kind == WM_ENTRY_MESSAGE && e->message.role == UPP_ROLE_USER && (e->origin == WM_ORIGIN_RUN || imported);
}
