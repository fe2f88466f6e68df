/* stores/sqlite/sum.h — a checksum in each row, over its table's name and all of its columns.
 *
 * Disks change bytes, and a changed text is still a text. The checksum is a 32-bit number in the column `sum`: four
 * bytes and one in the record header. It covers the key too, so a row in another row's place is noticed. If SQLite
 * assigns the key (log, runs, blobs), the row's own key counts instead.
 *
 * Statements compute and verify it with three SQL functions:
 *
 *     weft_sum(table, columns...)           the checksum
 *     weft_whole(sum, table, columns...)    1, or the statement fails with SQLITE_FORMAT and a name for the row
 *     weft_damage(sum, table, columns...)   NULL, or a name for the row
 *
 * It detects damage, not malice: whoever can write the file can compute it (docs/storage.md, Encryption).
 */
#pragma once

#include <sqlite3.h>
#include "log/store.h"

/* The columns, in checksum order. */
#define WS_OF_META    "name, value"
#define WS_OF_TENANTS "id, name"
#define WS_OF_LOG     "tenant, node, pos, n, run, format, body, tape"
#define WS_OF_NODES   "tenant, key, id, tree, parent, parent_length, holder, created"
#define WS_OF_THREAD  "id, tree, parent, user, head, kind, version, queued, title, metadata, created, updated, at"
#define WS_OF_THREADS "tenant, " WS_OF_THREAD
#define WS_OF_RUN                                                                                                      \
    "id, root, parent, thread, node, first, input, version, depth, status, durability, cancel, epoch, queue, agent,"   \
    " call, options, error, u_input, u_output, u_read, u_write, created, started, ended, expires, swept"
#define WS_OF_RUNS     "tenant, user, " WS_OF_RUN /* not `engine`: rows of version 4 have none, and keep their sums */
#define WS_OF_ALIASES  "tenant, user, kind, text, object"
#define WS_OF_KEYS     "tenant, route, key, body, object, created"
#define WS_OF_BRANCHES "tenant, key, name, metadata, origin"
#define WS_OF_VALS     "tenant, space, name, bytes"
#define WS_OF_BLOBS    "tenant, key, pieces, whole, refs, loose"
#define WS_OF_PIECES   "id, bytes"
enum { WS_LOG_COLUMNS = 8, WS_PIECES_COLUMNS = 2 };

#define WS_SUM(table, columns)   "weft_sum('" table "', " columns ")"
#define WS_WHOLE(table, columns) "weft_whole(sum, '" table "', " columns ")"

/* Every table that has checksums; ends with a NULL name. */
struct ws_summed {
    const char *table, *columns;
};
extern const struct ws_summed ws_summed[];

/* Registers the three functions with a connection. Returns an SQLite result code. */
int ws_sum_functions(sqlite3 *db);

/* Sets the checksum of every row of every table. */
int ws_sum_all(sqlite3 *db);

/* Reads every row of every table. An SQLite result code. */
struct ws_damage;
int ws_sum_check(sqlite3 *db, struct ws_damage *ret);

/* The checksum of a row of the log, computed without SQL because every step writes one. */
int64_t ws_sum_of_row(int64_t tenant, const struct wl_row *row);

enum { WS_SUM_NAME = 256 };

/* Verifies the checksum after n columns of a row, without reading them again. false: the row is damaged, and `name`
 * identifies it. */
bool ws_sum_holds(sqlite3_stmt *st, const char *table, int n, char name[WS_SUM_NAME]) UPP_MUST_CHECK;
