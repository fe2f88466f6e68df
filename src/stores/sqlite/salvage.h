/* stores/sqlite/salvage.h — what can be read of a damaged database, put into a new one.
 *
 * The damaged file is copied, with its log, and not touched again. Tables are read from both ends until a page is in
 * the way, and around that page where their keys are numbers. Indexes are made anew; they also say which rows are
 * missing. A row whose checksum is wrong is lost. A node's rows are kept up to the first that is lost: what comes after
 * it cannot be placed. Where nothing is lost, SQLite's own check of the file is asked too.
 *
 * The new database stands in a folder of the caller's, and goes with ws_salvage_close. On a fiber they
 * wait for a worker; elsewhere they block.
 */
#ifndef WS_SALVAGE_H
#define WS_SALVAGE_H

#include "log/store.h"

struct ws_salvage;

/* -UPP_EBUSY: a process has it open. -UPP_ENOTFOUND: there is no file. That nothing of it can be read is no failure. */
WEFT_SUSPENDS int ws_salvage_open(const char *path, const char *folder, struct ws_salvage **ret,
                                  struct upp_err *err) UPP_MUST_CHECK;
void              ws_salvage_close(struct ws_salvage *s); /* removes what it made; NULL is fine */
void              ws_salvage_closep(struct ws_salvage **s);

/* The new database: to be opened for reading only. */
const char *ws_salvage_path(const struct ws_salvage *s);

/* A table of which something could not be read, or a row of it whose checksum is wrong. NULL: there are no more. */
struct ws_salvage_loss {
    const char *table;
    char        why[256];
};
const struct ws_salvage_loss *ws_salvage_loss(const struct ws_salvage *s, size_t i);

/* Lists, one after the other: 1, 0 at the end (the next call begins anew). Texts are in the arena. */
struct ws_salvage_item {
    struct wl_owner owner;
    struct wb_uuid  thread;
    uint64_t        node, pos;
    struct upp_str  why;
};
WEFT_SUSPENDS int ws_salvage_nodes(struct ws_salvage *s, struct wb_arena *a, struct ws_salvage_item *ret,
                                   struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_salvage_threads(struct ws_salvage *s, struct wb_arena *a, struct ws_salvage_item *ret,
                                     struct upp_err *err) UPP_MUST_CHECK; /* no sub threads */
WEFT_SUSPENDS int ws_salvage_lost(struct ws_salvage *s, struct wb_arena *a, struct ws_salvage_item *ret,
                                  struct upp_err *err) UPP_MUST_CHECK; /* threads that are known by name alone */

/* The next hole in the trees of the family of a thread: where the rows of a node end early, and why. `of`: the thread,
 * whose list it is. */
WEFT_SUSPENDS int ws_salvage_holes(struct ws_salvage *s, const struct ws_salvage_item *of, struct wb_arena *a,
                                   struct ws_salvage_item *ret, struct upp_err *err) UPP_MUST_CHECK;

/* A row can be read and makes no sense: it goes, with all behind it. */
WEFT_SUSPENDS int ws_salvage_cut(struct ws_salvage *s, struct upp_str tenant, uint64_t node, uint64_t pos,
                                 struct upp_str why, struct upp_err *err) UPP_MUST_CHECK;

#endif
