/* dialects/envelope/write.h — one envelope: of a part, of a message without parts, of an event. */
#ifndef WD_ENVELOPE_WRITE_H
#define WD_ENVELOPE_WRITE_H

#include "dialects/envelope/envelope.h"

struct wd_envelope_out {
    struct wd_lowering *l;

    /* What it is of. */
    const struct wm_doc_entry *e;
    uint32_t                   i;     /* the entry's place */
    uint32_t                   agent; /* whose it is; WM_NO_AGENT: nobody's */
    const struct upp_part     *part;  /* NULL: an event, or a message without parts */
    unsigned                   k;     /* of how many in the entry */

    const char      *slot;
    struct upp_str   first, id; /* first: of the first envelope of the entry */
    struct upp_str   parent;    /* no text: none */
    struct upp_usage cost;      /* of the entry */
    bool             has_cost;

    /* write.c's own. */
    bool                       weft;    /* its object is open */
    struct upp_str             time;    /* the last that was one as an envelope has it: often the next is the same */
    struct upp_str             who;     /* what was written of the agent that came last */
    const struct wm_doc_agent *who_of;  /* and which that is; NULL: nobody */
    struct upp_str             task;    /* of the envelope */
    struct wj_extent           task_at; /* in what is written, between its quotes */
};

void wd_envelope_write_part(struct wd_envelope_out *o);
void wd_envelope_write_event(struct wd_envelope_out *o);

#endif
