/* stores/salvage.h — saves what can be read of a damaged database into a new one.
 *
 * The damaged file is copied, with its WAL, and not touched again. Tables are read from both ends until a damaged page,
 * and around that page if their key is a number. Indexes are rebuilt; the old ones also show which rows are missing. A
 * row with a wrong checksum is lost. A node's rows are kept up to the first lost one: later rows cannot be placed. If
 * nothing is lost, SQLite's integrity_check is run too.
 *
 * The new database is in a folder of the caller's; ws_salvage_close deletes it. On a fiber these functions wait for a
 * worker; elsewhere they block.
 */
#pragma once

#include "log/store.h"

struct ws_salvage;

void ws_salvage_close(struct ws_salvage *s); /* deletes the files it made; accepts NULL */
void ws_salvage_closep(struct ws_salvage **s);

/* The new database: open it read-only. */
const char *ws_salvage_path(const struct ws_salvage *s);

/* A table that could not be read completely, or one of its rows with a wrong checksum. NULL: no more. */
struct ws_salvage_loss {
    const char *table;
    char why[256];
};
const struct ws_salvage_loss *ws_salvage_loss(const struct ws_salvage *s, size_t i);

/* Lists, one item per call: 1, or 0 at the end (the next call starts over). Texts are in the arena. */
struct ws_salvage_item {
    struct wl_owner owner;
    struct wb_uuid thread;
    uint64_t node, pos;
    struct upp_str why;
};
WEFT_SUSPENDS int ws_salvage_nodes(struct ws_salvage *s, struct wb_arena *a, struct ws_salvage_item *ret,
                                   struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_salvage_threads(struct ws_salvage *s, struct wb_arena *a, struct ws_salvage_item *ret,
                                     struct upp_err *err) UPP_MUST_CHECK; /* no sub-threads */
WEFT_SUSPENDS int ws_salvage_lost(struct ws_salvage *s, struct wb_arena *a, struct ws_salvage_item *ret,
                                  struct upp_err *err) UPP_MUST_CHECK; /* threads of which only the name is known */

/* The next gap in the trees of a thread's family: where the rows of a node end early, and why. `of`: the thread; the
 * same one until the list ends. */
WEFT_SUSPENDS int ws_salvage_holes(struct ws_salvage *s, const struct ws_salvage_item *of, struct wb_arena *a,
                                   struct ws_salvage_item *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Drops a row that can be read but not decoded, and all rows after it. */
WEFT_SUSPENDS int ws_salvage_cut(struct ws_salvage *s, struct upp_str tenant, uint64_t node, uint64_t pos,
                                 struct upp_str why, struct upp_err *err) UPP_MUST_CHECK;
