/* model/doc.h — a conversation as one document: what every dialect lifts to and lowers from.
 *
 * All data is in one arena: the thread's members, its agents, its turns, and the entries of one path in order. Whatever
 * else a dialect's document contained hangs on the thread or on an entry as residue; only that dialect writes it again.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "model/entry.h"

enum {
    WM_DOC_ENTRIES = 1 << 24,
    WM_DOC_AGENTS = 1 << 16,
};

#define WM_NO_AGENT UINT32_MAX

struct wm_doc_agent {
    struct upp_str id, name;
    struct upp_str model, provider, config, created; /* empty: unknown */
    struct upp_str prompt;                           /* system prompt in the document; empty: none */
    bool prompted;             /* the document has system prompts for it: a thread names them as its configuration */
    struct upp_str prompt_now; /* prompt in today's configuration: a view begins with it, no document stores it */
};

/* What is known about the model call that produced a message. */
struct wm_reply_info {
    struct upp_str model, provider, response; /* response: the vendor's id */
    uint8_t stop;                             /* enum upp_stop; 0: unknown */
    bool has_usage;
    struct upp_usage usage;
};

static inline bool wm_has_reply(const struct wm_reply_info *s)
{
    return s->model.p || s->provider.p || s->response.p || s->stop || s->has_usage;
}

/* Part of a dialect's document that the model cannot represent (written and read by dialects/core/residue.h). */
struct wm_residue {
    struct wm_residue *next;
    struct upp_str dialect;
    struct upp_str slot; /* which of the dialect's objects at this position */
    uint32_t entries;    /* how many entries, from this one on, its object became; 0: belongs to the thread */
    struct upp_str json;
};

struct wm_doc_entry {
    struct wm_entry e;
    struct upp_str id;         /* in the document; empty: none */
    uint32_t agent;            /* index in the list, or WM_NO_AGENT: the user, or unknown */
    bool users;                /* in an agent's turn: the document does not say that no user wrote this text */
    struct wm_reply_info said; /* of assistant messages */
    struct wm_residue *residue;
};

/* The entries of one turn: a user's input, or the output of one run. */
struct wm_doc_turn {
    uint32_t first, n;
    uint32_t agent; /* WM_NO_AGENT: the user */
    struct upp_str id, run;
    struct upp_str started, ended; /* as text; empty: the times of its entries */
    bool has_usage, partial;
    struct upp_usage usage;
};

struct wm_doc {
    struct upp_str dialect;                     /* that it was read from; empty: none */
    struct upp_str id, title, created, updated; /* times as text; empty: unknown */
    struct upp_str metadata;                    /* JSON object; empty: none */
    struct upp_str parent;                      /* the thread it was branched from; empty: none */
    uint32_t parent_at;                         /* how many entries of the parent come before */
    WB_VEC(struct wm_doc_agent) agents;
    WB_VEC(struct wm_doc_turn) turns; /* in order, without a gap; empty: the entries are not divided yet */
    WB_VEC(struct wm_doc_entry) entries;
    struct wm_residue *residue;
};

WB_EXPORT_BEGIN

void wm_doc_done(struct wm_doc *d); /* frees the lists; an arena owns the texts */

/* Adds one, cleared. NULL: out of memory, or too many (see err). Pointers are valid until the next call. A new entry
 * has no agent and no turn. */
struct wm_doc_entry *wm_doc_entry_add(struct wm_doc *d, struct upp_err *err);
struct wm_doc_turn *wm_doc_turn_add(struct wm_doc *d, struct upp_err *err); /* begins at the next entry */

/* The agent of that id, or else of that name; WM_NO_AGENT: none. `add` appends one: < 0 on failure. */
uint32_t wm_doc_agent_find(const struct wm_doc *d, struct upp_str id);
int wm_doc_agent_add(struct wm_doc *d, const struct wm_doc_agent *agent, uint32_t *ret,
                     struct upp_err *err) UPP_MUST_CHECK;

/* Divides the entries into turns if that is not done yet: the user's messages are one turn, then those of one agent up
 * to the next message of the user or of another agent. Events belong to the turn before them, leading ones to the first
 * turn. */
int wm_doc_divide(struct wm_doc *d, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
