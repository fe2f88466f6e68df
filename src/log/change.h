/* log/change.h — what can be deleted and erased, and what time takes away.
 *
 * The log says what happened; these are the few ways in which that can be made unreadable. A message is hidden and its
 * body erased, in place: its id, its place and the pairing of calls and results stay. A thread is a pointer: it goes,
 * and what no thread reaches any more is swept later. Each of these leaves a record of itself in the log or beside it.
 */
#ifndef WL_CHANGE_H
#define WL_CHANGE_H

#include "log/log.h"

enum {
    WL_FAMILY      = 65536, /* threads of one family, at most: of those that go together */
    WL_RUNS        = 65536, /* runs of one thread that goes, at most */
    WL_SWEEP_BATCH = 64,    /* things that one sweep looks at, of each kind, before it lets others go on */
};
#define WL_DAY_MS INT64_C(86400000)

/* The space of values in which sessions keep what came with the document they were made of, by the thread's id. It
 * quotes messages: it goes with the thread, and with a message that came so too. */
#define WL_IMPORTED "imported"

/* Hides the message with this id and erases its body; with calls that it made go their arguments and results, where
 * they stand in the same node. -UPP_EBUSY: a run holds the node. -UPP_ENOTFOUND: there is none on the path of the
 * thread, or it is erased already. `why`: a word for the record; no text: "deleted". */
WEFT_SUSPENDS int wl_message_delete(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                    struct wb_uuid message, struct upp_str why, struct upp_err *err) UPP_MUST_CHECK;

/* What is known of threads that were deleted, until the sweep has taken what they led to: by the thread's id a JSON
 * object with its tree, its head, the time and the user who did it. */
#define WL_DELETED "deleted"

/* Such a note, in the arena; as if it was deleted at that time. Also for a thread that comes in several commits, of
 * which the last one takes it away: what dies in between is swept. */
int wl_deleted_note(const struct wl_owner *o, const struct wl_thread *t, int64_t time_ms, struct wb_arena *a,
                    struct wl_value *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The thread, as it is now, and all sub threads below it: *n of them. Behind these the *others of its family. */
WEFT_SUSPENDS int wl_thread_family(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                   struct wb_arena *a, struct wl_thread **ret, size_t *n, size_t *others,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Takes the pointer away, and those of its sub threads. What no thread reaches any more is swept later. -UPP_EBUSY: a
 * run of it has not ended. */
WEFT_SUSPENDS int wl_thread_delete(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Deletes the thread and erases all that its tree says, also what other threads share. Those others stay, with erased
 * messages; they are named in *lost. Can be called again after it failed or died halfway. -UPP_EBUSY: a run of the tree
 * has not ended, its own or another thread's. */
WEFT_SUSPENDS int wl_tree_erase(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                struct wb_arena *a, struct wb_uuid **lost, size_t *n,
                                struct upp_err *err) UPP_MUST_CHECK;

/* ---- What time takes away --------------------------------------------------------------------------- */

struct wl_retention {
    uint32_t size;
    int64_t
        deleted_ms; /* how long a deleted thread's nodes and rows stay in the database; 0: 7 days; < 0: not at all */
    int64_t journal_ms; /* how long tapes and journal rows other than results outlive their run; 0: 30 days; < 0: they
                         * stay */
    int64_t loose_ms;   /* how long a blob waits for somebody to refer to it; 0: an hour */
};

struct wl_swept {
    uint64_t nodes, runs, rows, blobs, threads;
    bool     more; /* call again */
};

/* One bounded piece of work for one tenant. Whatever it does not finish, or dies in, the next one does. */
WEFT_SUSPENDS int wl_sweep(struct wl_store *s, const struct wl_owner *o, int64_t now_ms, const struct wl_retention *r,
                           struct wl_swept *ret, struct upp_err *err) UPP_MUST_CHECK;

/* What was erased or swept leaves the indexes of the store for good: one bounded piece of work for all tenants.
 * *more: there is some left. */
WEFT_SUSPENDS int wl_tidy(struct wl_store *s, bool *more, struct upp_err *err) UPP_MUST_CHECK;

#endif
