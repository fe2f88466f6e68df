/* log/change.h — deleting, erasing and the retention sweep.
 *
 * The log records what happened; these are the few ways to make parts of it unreadable. A message is hidden and its
 * body erased in place: its id, its position and the pairing of calls and results stay. A thread is a pointer: deleting
 * removes it, and a later sweep removes what no thread reaches any more. Each deletion leaves a record in the log or in
 * a value.
 */
#pragma once

#include "log/log.h"

enum {
    WL_FAMILY = 1 << 28, /* threads of one family: more than fit memory, which is the limit */
    WL_SWEEP_BATCH = 64, /* items of each kind that one sweep handles before it lets others run */
};
#define WL_DAY_MS INT64_C(86400000)

/* The space of values in which sessions store the checkpoints of the document they were imported from, by thread id.
 * These quote messages: the value is deleted with the thread, and with any imported message. */
#define WL_IMPORTED "imported"

/* Hides the message with this id and erases its body; also the arguments and results of its calls, if they are in the
 * same node. -UPP_EBUSY: a run holds the node. -UPP_ENOTFOUND: it is not on the path of the thread, or is erased
 * already. `why`: a word for the record; empty: "deleted". */
WEFT_SUSPENDS int wl_message_delete(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                    struct wb_uuid message, struct upp_str why, struct upp_err *err) UPP_MUST_CHECK;

/* Records of deleted threads, until the sweep has removed what they led to: by thread id, a JSON object with its tree,
 * its head, the time and the user who deleted it. */
#define WL_DELETED "deleted"

/* The same notes, which stay longer: that a thread was deleted is part of its audit. */
#define WL_AUDIT "audit"
enum { WL_AUDIT_DAYS = 365 /* by default */ };

/* Makes such a note in the arena, as if the thread was deleted at that time. Also for a thread that is imported in
 * several commits, of which the last one removes the note: the sweep removes what an interrupted import leaves. */
int wl_deleted_note(const struct wl_owner *o, const struct wl_thread *t, int64_t time_ms, struct wb_arena *a,
                    struct wl_value *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The thread, as it is now, and all its sub-threads: *n of them. After these the *others of its family. Without their
 * texts and users. */
WEFT_SUSPENDS int wl_thread_family(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                   struct wb_arena *a, struct wl_thread **ret, size_t *n, size_t *others,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Deletes the thread and its sub-threads. What no thread reaches any more is swept later. -UPP_EBUSY: one of its runs
 * has not ended. */
WEFT_SUSPENDS int wl_thread_delete(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Deletes the thread and erases the content of its tree, including what other threads share. Those other threads stay,
 * with erased messages; *lost lists them. Can be repeated after a failure or a crash. -UPP_EBUSY: a run of the tree has
 * not ended, its own or another thread's. */
WEFT_SUSPENDS int wl_tree_erase(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                struct wb_arena *a, struct wb_uuid **lost, size_t *n,
                                struct upp_err *err) UPP_MUST_CHECK;

struct wl_retention {
    uint32_t size;
    int64_t deleted_ms; /* how long a deleted thread's nodes and rows stay; 0: 7 days; < 0: not at all */
    int64_t journal_ms; /* how long tapes and journal rows except results outlive their run; 0: 30 days; < 0: forever */
    int64_t loose_ms;   /* how long a blob stays without a reference; 0: an hour */
    int64_t audit_ms;   /* how long it is known that a thread was deleted; 0: a year; < 0: forever */
};

struct wl_swept {
    uint64_t nodes, runs, rows, blobs, threads;
    uint64_t damaged; /* runs passed over, because they cannot be read; also set on failure */
    bool more;        /* call again */
};

/* What a sweeper cannot remove: for those who operate the store. Read from other threads. */
struct wl_sweep_state {
    _Atomic uint64_t damaged; /* the sum of what it passed over since it began */
    _Atomic bool failing;     /* some tenant could not be swept to the end; the next sweep tries again */
};

/* One bounded step for one tenant. The next call continues what this one did not finish, also after a crash. */
WEFT_SUSPENDS int wl_sweep(struct wl_store *s, const struct wl_owner *o, int64_t now_ms, const struct wl_retention *r,
                           struct wl_swept *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Removes blobs that were erased: complete ones that have had no reference for a few seconds, in which whoever has read
 * a row reads them. Incomplete ones are still being written. At most WL_SWEEP_BATCH; *more: there may be more. */
WEFT_SUSPENDS int wl_sweep_erased(struct wl_store *s, const struct wl_owner *o, int64_t now_ms, bool *more,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* Removes what was erased or swept from the store's indexes for good: one bounded step for all tenants. *more: some is
 * left. */
WEFT_SUSPENDS int wl_index_compact(struct wl_store *s, bool *more, struct upp_err *err) UPP_MUST_CHECK;
