/* envelope/edit.h — inside envelope/: an envelope with some members replaced, all others token for token; and the
 * members that several writers write. */
#pragma once

#include "envelope/envelope.h"

struct we_edit {
    /* trace */
    struct upp_str id;             /* NULL: as it is */
    const struct upp_str *parents; /* NULL: as they are */
    size_t n_parents;
    size_t above;               /* that are left out in the log: dialects/envelope/chains.h */
    const struct upp_str *tags; /* further ones; those that it has are not repeated */
    size_t n_tags;
    bool has_cost; /* where the envelope has none */
    uint64_t input_tokens, output_tokens;

    /* Members that a reply must have; used where it has none. `complete`: also the protocol is forced. */
    bool complete;
    struct upp_str agent_id, agent_name, model, role, intent, task;
    bool foreign; /* `agent` is what the envelope says; otherwise what is above, whatever it says */
    int64_t now_ms;
    double score;                /* the default one */
    const struct upp_str *risks; /* added to those that it has */
    size_t n_risks;
};

int we_edit(struct wb_arena *a, yyjson_val *root, const struct we_edit *edit, struct upp_str *ret,
            struct upp_err *err) UPP_MUST_CHECK;

void we_put_time(struct wj_writer *w, int64_t now_ms);
void we_put_parents(struct wj_writer *w, const struct upp_str *list, size_t n, size_t above);
void we_put_cost(struct wj_writer *w, uint64_t input, uint64_t output);
void we_put_agent(struct wj_writer *w, struct upp_str id, struct upp_str name, struct upp_str model);
void we_put_confidence(struct wj_writer *w, double score, struct upp_str rationale, const struct upp_str *risks,
                       size_t n_risks);
