/* model/doc.h — a conversation as one document: what every dialect lifts to and is lowered from.
 *
 * Plain data in one arena: a thread's own members, its agents, its turns, and the entries of one path in their order.
 * What a dialect said beyond it hangs on the thread or on an entry as residue, and is written again by that dialect
 * alone.
 */
#ifndef WM_DOC_H
#define WM_DOC_H

#include "base/arena.h"
#include "base/vec.h"
#include "model/entry.h"

enum {
    WM_DOC_ENTRIES = 1 << 24,
    WM_DOC_AGENTS  = 1 << 16,
};

#define WM_NO_AGENT UINT32_MAX

struct wm_doc_agent {
    struct upp_str id, name;
    struct upp_str model, provider, config, created; /* no text: not said */
    struct upp_str prompt;                           /* its system prompt where the document has it; no text: not */
    struct upp_str prompt_now; /* what its configuration says today: a view begins with it, no document keeps it */
};

/* What is known of the call of a model that said a message. */
struct wm_reply_info {
    struct upp_str   model, provider, response; /* response: the vendor's id of it */
    uint8_t          stop;                      /* enum upp_stop; 0: not said */
    bool             has_usage;
    struct upp_usage usage;
    uint64_t         reasoning; /* tokens, within usage.output */
};

/* What a dialect said that the model has no place for (dialects/core/residue.h writes and reads it). */
struct wm_residue {
    struct wm_residue *next;
    struct upp_str     dialect;
    struct upp_str     slot;    /* which of the dialect's objects at this place */
    uint32_t           entries; /* how many entries, from this one on, its object became; 0: it is the thread's */
    struct upp_str     json;
};

struct wm_doc_entry {
    struct wm_entry      e;
    struct upp_str       id;    /* as the document has it; no text: none */
    uint32_t             agent; /* its place in the list, or WM_NO_AGENT: the user, or nobody knows */
    struct wm_reply_info said;  /* messages of the assistant */
    struct wm_residue   *residue;
};

/* Entries that are one turn: what a user submitted, or all that one run said. */
struct wm_doc_turn {
    uint32_t         first, n;
    uint32_t         agent; /* WM_NO_AGENT: the user's */
    struct upp_str   id, run;
    struct upp_str   started, ended; /* as text; no text: as its entries say */
    bool             has_usage, partial;
    struct upp_usage usage;
    uint64_t         reasoning;
};

struct wm_doc {
    struct upp_str dialect;                     /* that it was read from; no text: none */
    struct upp_str id, title, created, updated; /* times as text; no text: not said */
    struct upp_str metadata;                    /* JSON object; no text: none */
    struct upp_str parent;                      /* the thread it was branched from; no text: none */
    uint32_t       parent_at;                   /* how many entries of that came before */
    WB_VEC(struct wm_doc_agent) agents;
    WB_VEC(struct wm_doc_turn) turns; /* in order, without a gap; none: nobody has divided the entries yet */
    WB_VEC(struct wm_doc_entry) entries;
    struct wm_residue *residue;
};

WB_EXPORT_BEGIN

void wm_doc_done(struct wm_doc *d); /* the lists; the texts are an arena's */

/* Room for one more, cleared; NULL: no memory, or too many of them (err says which). Pointers are good until the next
 * one. An entry belongs to no agent and no turn. */
struct wm_doc_entry *wm_doc_entry_add(struct wm_doc *d, struct upp_err *err);
struct wm_doc_turn  *wm_doc_turn_add(struct wm_doc *d, struct upp_err *err); /* begins at the next entry */

/* The agent of that id, or of that name; WM_NO_AGENT: none. `add` makes one where there is none: < 0 when it cannot. */
uint32_t wm_doc_agent_find(const struct wm_doc *d, struct upp_str id);
int      wm_doc_agent_add(struct wm_doc *d, const struct wm_doc_agent *agent, uint32_t *ret,
                          struct upp_err *err) UPP_MUST_CHECK;

/* Divides the entries into turns where they are not: a turn of the user's messages, then all of one agent up to the
 * user's next or another agent's. Events belong to the turn before them; the first ones to the one after. */
int wm_doc_divide(struct wm_doc *d, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END

#endif
