/* dialects/assistants/lower.h — inside of writing a thread of the Assistants API: the pieces that the model is cut
 * into, and the objects that they become.
 *
 * What an entry says is cut into pieces: texts and images that stand together are a message, calls that stand together
 * are a step, with the results beside the calls. A step names the message behind which it stands.
 */
#ifndef WD_ASSISTANTS_DOC_LOWER_H
#define WD_ASSISTANTS_DOC_LOWER_H

#include "dialects/assistants/doc.h"

struct wd_asst_piece {
    uint32_t                  entry, from, n; /* which parts of the entry */
    bool                      calls;
    bool                      more; /* the entry has had one of its kind */
    const struct wm_doc_turn *turn;
    struct upp_str            id, run; /* run: no text: none */
    struct upp_str            after;   /* of calls: the message before them; no text: none */
};

struct wd_asst_out {
    struct wd_lowering *l;
    WB_VEC(struct wd_asst_piece) pieces;
    bool fine; /* a time was not a whole second */
    bool list; /* it is one of messages alone: of no thread that the model has */
};

/* ---- Pieces: pieces.c -------------------------------------------------------------------------- */

/* All of what is shown, in t->pieces; what has no place in them is lost. */
void wd_asst_cut(struct wd_asst_out *t);

/* A part that a message shows? */
bool wd_asst_is_content(const struct upp_part *p);

/* What a turn knows: the model of what was said in it (no text: nobody knows it); usage, where it or what was said in
 * it has one; its run (no text: nothing is known that only a run could say). */
struct upp_str wd_asst_said_model(const struct wd_asst_out *t, const struct wm_doc_turn *turn);
bool           wd_asst_usage_of(const struct wd_asst_out *t, const struct wm_doc_turn *turn, struct upp_usage *ret);
struct upp_str wd_asst_run_of(const struct wd_asst_out *t, const struct wm_doc_turn *turn);

/* An id that follows from a place: two numbers in 32 hex digits. */
struct upp_str wd_asst_made_id(struct wd_lowering *l, struct upp_str prefix, uint64_t high, uint64_t low);

/* ---- Objects: write.c -------------------------------------------------------------------------- */

void wd_asst_put_message(struct wd_asst_out *t, const struct wd_asst_piece *p);
void wd_asst_put_step(struct wd_asst_out *t, const struct wd_asst_piece *p);

/* Of turn i. One that goes on with the run of the turn before it has none of its own. */
void wd_asst_put_run(struct wd_asst_out *t, size_t i);

/* The thread's, or one that was made; no text: it is a list of messages, of no thread. */
struct upp_str wd_asst_thread_id(const struct wd_asst_out *t);

/* A member: a time, as whole seconds; null. */
void wd_asst_seconds(struct wd_asst_out *t, const char *name, int64_t ms);
void wd_asst_null(struct wd_asst_out *t, const char *name);

#endif
