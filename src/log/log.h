/* log/log.h — trees of entries: threads, branches, paths, read lazily.
 *
 * A history is the path from the root of a tree to (node, length): each node on it contributes its entries up to the
 * point where the next one branches off. Nothing here reads more than it returns.
 */
#pragma once

#include "log/store.h"
#include "model/entry.h"
#include "model/id.h"
#include "model/row.h"

enum {
    WL_PATH_NODES = 4096,   /* on one path: a further branch is refused */
    WL_PATH_READ = 1 << 16, /* on a path that is read: earlier versions refused no branch */
    WL_ID_TRIES = 16,       /* tries for an id that is not taken */
};

/* The end of a node's log. */

struct wl_end {
    uint64_t pos;    /* of the next row */
    uint32_t length; /* entries */
    int64_t time_ms; /* of its newest row: no later row has an earlier time */
};
WEFT_SUSPENDS int wl_node_end(struct wl_store *s, const struct wl_owner *o, uint64_t node, struct wl_end *ret,
                              struct upp_err *err) UPP_MUST_CHECK;

enum { WL_TITLE_MAX = 1024 }; /* bytes of a title */

struct wl_thread_opts {
    uint32_t size;
    struct upp_str title, metadata;
    struct upp_str alias;  /* a foreign id for it; empty: none */
    struct wb_uuid parent; /* makes it a sub-thread */
    bool child;            /* with a parent: it is a thread of its own, which names it, like a fork */
    struct wb_uuid id;     /* all zero: a new one */
};

/* A thread with a tree and an empty root node of its own, not yet stored: the changes go into the caller's commit. */
struct wl_new_thread {
    struct wl_thread thread;
    struct wl_node root;
    struct wl_alias alias;
    struct wl_change changes[3];
    size_t n;
};
int wl_thread_make(struct wl_store *s, const struct wl_owner *o, const struct wl_thread_opts *opts,
                   struct wl_new_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Makes one and commits it with its first entries, which get the indices from 0 on. */
WEFT_SUSPENDS int wl_thread_new_with(struct wl_store *s, const struct wl_owner *o, const struct wl_thread_opts *opts,
                                     struct wm_entry *entries, size_t n, struct wb_arena *a, struct wl_thread *ret,
                                     struct upp_err *err) UPP_MUST_CHECK;

/* The same without entries. */
WEFT_SUSPENDS int wl_thread_new(struct wl_store *s, const struct wl_owner *o, const struct wl_thread_opts *opts,
                                struct wb_arena *a, struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

/* By any spelling of its id (UUID, thread_HEX), otherwise by alias. -UPP_ENOTFOUND also if it is another owner's. */
WEFT_SUSPENDS int wl_thread_find(struct wl_store *s, const struct wl_owner *o, struct upp_str id, struct wb_arena *a,
                                 struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Replaces the metadata of a thread that was just read, and stores the title that it has now; 1: another writer was
 * first, read it again. */
WEFT_SUSPENDS int wl_thread_set(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                struct upp_str metadata, struct upp_err *err) UPP_MUST_CHECK;

/* A new thread in the same tree that shares everything up to `length` entries of the given node: one row, however long
 * the history. The fork gets its own node with its first append. */
WEFT_SUSPENDS int wl_fork(struct wl_store *s, const struct wl_thread *from, uint64_t node, uint32_t length,
                          struct wb_arena *a, struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Only makes it, for a commit of the caller's, who has checked the position. */
int wl_fork_make(const struct wl_thread *from, uint64_t node, uint32_t length, struct wb_arena *a,
                 struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The run that prevents appends to the thread, whose head was just read; all zero: none. If appends leave the head
 * anyway (at), only a run of this thread blocks them. */
WEFT_SUSPENDS int wl_thread_busy(struct wl_store *s, const struct wl_thread *t, const struct wl_node *head,
                                 struct wb_uuid *ret, struct upp_err *err) UPP_MUST_CHECK;

/* A new node under (node, length), not yet stored. -UPP_ELIMIT: its path would have more than WL_PATH_NODES. */
WEFT_SUSPENDS int wl_branch(struct wl_store *s, const struct wl_owner *o, const struct wl_node *under, uint32_t length,
                            struct wl_node *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same without that check, for a node that is known to have few above it. */
int wl_branch_make(const struct wl_node *under, uint32_t length, struct wl_node *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* The row that such entries become at the end of a node, in a commit of the caller's; `body` has its text. Sets their
 * times. */
int wl_row_of(struct wm_entry *entries, size_t n, uint64_t node, const struct wl_end *end, int64_t now,
              struct wb_buf *body, struct wl_row *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Appends entries that no run wrote (a client's message). Retries if another writer was first. The new entries have
 * consecutive indexes from *index on, in the node that is then the head of *t: a new branch if the thread was restored
 * (at). -UPP_EBUSY: a run holds the node. */
WEFT_SUSPENDS int wl_append(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t, struct wm_entry *entries,
                            size_t n, uint32_t *index, struct upp_err *err) UPP_MUST_CHECK;

/* The same, and the thread's metadata changes in the same commit. `edit` gets the thread as it is stored and sets
 * metadata, to a text that outlives the call; it may change the entries too. It must not suspend, and is called again
 * if another writer was first. */
typedef int wl_thread_edit(void *arg, struct wl_thread *t, struct upp_err *err);
WEFT_SUSPENDS int wl_append_edit(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                 struct wm_entry *entries, size_t n, wl_thread_edit *edit, void *arg, uint32_t *index,
                                 struct upp_err *err) UPP_MUST_CHECK;

struct wl_span {
    uint64_t node;
    uint32_t length; /* entries of it on the path */
    uint32_t before; /* entries of the path before its first */
};

/* From the root to (node, length). */
struct wl_path {
    struct wl_span *spans;
    size_t n;
    uint32_t length; /* entries on it */
};
WEFT_SUSPENDS int wl_path_open(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t length,
                               struct wb_arena *a, struct wl_path *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The history of a thread: to the end of its head, or to the position it was restored to. */
WEFT_SUSPENDS int wl_thread_path(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                 struct wb_arena *a, struct wl_path *ret, struct upp_err *err) UPP_MUST_CHECK;

/* An entry with its position. */
struct wl_line {
    uint64_t node;
    uint32_t index;        /* in the node */
    struct wb_uuid id;     /* model/id.h */
    struct wb_uuid run;    /* the run that wrote it; all zero: none */
    struct wm_entry entry; /* with its results joined in */
    struct upp_str grants; /* of its row (model/row.h) */
};

/* At most `max` entries of the path that end before `end` (counted from the start of the path), in path order: reads
 * the tail of a long thread without the rest. */
WEFT_SUSPENDS int wl_path_tail(struct wl_store *s, const struct wl_owner *o, const struct wl_path *p, uint32_t end,
                               uint32_t max, struct wb_arena *a, struct wl_line **ret, size_t *n,
                               struct upp_err *err) UPP_MUST_CHECK;

/* A thread, by any spelling of its id, with its last entries: wl_thread_find, wl_thread_path and wl_path_tail in one
 * call. */
struct wl_tail {
    struct wl_thread thread;
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
};
WEFT_SUSPENDS int wl_thread_tail(struct wl_store *s, const struct wl_owner *o, struct upp_str id, uint32_t max,
                                 struct wb_arena *a, struct wl_tail *ret, struct upp_err *err) UPP_MUST_CHECK;

/* One entry by its id. -UPP_ENOTFOUND: it does not exist, has another attempt number, or belongs to another tenant. */
WEFT_SUSPENDS int wl_entry_find(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                                struct wl_line *ret, struct upp_err *err) UPP_MUST_CHECK;

/* A new random id of a family. The key derived from it has 32 random bits of its own: with many new ids some collide
 * with an existing key (WL_ADD_NODE: -UPP_EBUSY); the caller then retries with a new id. */
int wl_id_new(uint32_t family, struct wb_uuid *ret, struct upp_err *err) UPP_MUST_CHECK;

/* A new id whose key no existing node has, as far as is known now: for nodes that are announced before they are
 * created. */
WEFT_SUSPENDS int wl_id_new_node(struct wl_store *s, const struct wl_owner *o, uint32_t family, struct wb_uuid *ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* Spellings of ids: a UUID with or without dashes, optionally after a prefix such as "thread_". */
bool wl_id_parse(struct upp_str text, struct upp_str prefix, struct wb_uuid *ret);

/* Runs of all tenants that have not ended, after this one: as many as fit the arena, which is emptied first. *n is 0 at
 * the end. A run's options may be megabytes, so that a fixed number of them would fit no memory. */
WEFT_SUSPENDS int wl_live_page(struct wl_store *s, struct wb_uuid after, struct wb_arena *a, struct wl_live_run **ret,
                               size_t *n, struct upp_err *err) UPP_MUST_CHECK;
