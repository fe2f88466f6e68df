/* dialects/envelope/write.h — writes one envelope: of a part, of a message without parts, or of an event. */
#pragma once

#include "dialects/core/document.h"
#include "dialects/envelope/envelope.h"

struct wd_envelope_out {
    struct wd_lowering *l;

    /* What the envelope stands for. */
    const struct wm_doc_entry *e;
    uint32_t i;                  /* the entry's index */
    uint32_t agent;              /* the author; WM_NO_AGENT: none */
    const struct upp_part *part; /* NULL: an event, or a message without parts */
    unsigned k;                  /* its index among the entry's envelopes */

    const char *slot;
    struct upp_str first, id; /* first: id of the entry's first envelope */
    struct upp_str parent;    /* empty: none */
    struct upp_usage cost;    /* of the entry */
    bool has_cost;

    /* State of write.c. */
    bool weft;                                /* the object "weft" is open */
    struct upp_str time;                      /* the last valid time: the next one is often the same */
    struct upp_str agent_json;                /* JSON that was written for the last agent */
    const struct wm_doc_agent *agent_written; /* which agent that was; NULL: none */
    struct upp_str task;                      /* of the envelope */
    struct wj_extent task_at;                 /* its extent in the output, between the quotes */
};

void wd_envelope_write_part(struct wd_envelope_out *o);
void wd_envelope_write_event(struct wd_envelope_out *o);

/* A short text for data: "object: a, b, c", "list of 3", the beginning of a string, or the value itself. */
struct upp_str wd_envelope_summary(struct wb_arena *a, yyjson_val *v);
