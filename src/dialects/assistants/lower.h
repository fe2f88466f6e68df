/* dialects/assistants/lower.h — internals of writing a thread of the Assistants API: pieces of the model, and the
 * objects they become.
 *
 * An entry is cut into pieces: adjacent texts and images are a message, adjacent calls are a step, which also has
 * their results. A step names the message that it follows.
 */
#pragma once

#include "dialects/assistants/doc.h"

struct wd_asst_piece {
    uint32_t entry, from, n; /* parts `from` to `from + n` of the entry */
    bool calls;
    bool more; /* not the entry's first piece of its kind */
    const struct wm_doc_turn *turn;
    struct upp_str id, run; /* run empty: none */
    struct upp_str after;   /* of calls: the message before them; empty: none */
};

struct wd_asst_out {
    struct wd_lowering *l;
    WB_VEC(struct wd_asst_piece) pieces;
    bool subsecond; /* a time was not a whole second */
    bool list;      /* the document is a list of messages, without a thread object */
};

/* Pieces: pieces.c. */

/* Cuts all visible entries into t->pieces; reports what has no place in them as lost. */
void wd_asst_cut(struct wd_asst_out *t);

/* Is it a part that a message can contain? */
bool wd_asst_is_content(const struct upp_part *p);

/* The model of the turn's replies (empty: unknown); the usage of the turn, or the sum of its entries'; the turn's
 * run (empty: the turn has nothing that only a run could hold). */
struct upp_str wd_asst_model_of(const struct wd_asst_out *t, const struct wm_doc_turn *turn);
bool wd_asst_usage_of(const struct wd_asst_out *t, const struct wm_doc_turn *turn, struct upp_usage *ret);
struct upp_str wd_asst_run_of(const struct wd_asst_out *t, const struct wm_doc_turn *turn);

/* An id derived from a position: two numbers as 32 hex digits. */
struct upp_str wd_asst_derived_id(struct wd_lowering *l, struct upp_str prefix, uint64_t high, uint64_t low);

/* Objects: write.c. */

void wd_asst_put_message(struct wd_asst_out *t, const struct wd_asst_piece *p);
void wd_asst_put_step(struct wd_asst_out *t, const struct wd_asst_piece *p);

/* The run of turn i; nothing if it continues the run of the turn before it. */
void wd_asst_put_run(struct wd_asst_out *t, size_t i);

/* The thread's id, or a derived one; empty: the document is a list of messages without a thread. */
struct upp_str wd_asst_thread_id(const struct wd_asst_out *t);

/* A member: a time, in whole seconds; null. */
void wd_asst_seconds(struct wd_asst_out *t, const char *name, int64_t ms);
void wd_asst_null(struct wd_asst_out *t, const char *name);
