/* stores/sqlite_statements.c — the statements over the tables. */
#include "stores/sqlite_store.h"

_Static_assert(WM_COMPLETED == 5, "status < 5 in the SQL below means: has not ended");

#define OF_TENANT "tenant = (SELECT id FROM tenants WHERE name = ?1)"
#define THREAD    "id, tree, parent, user, head, kind, version, queued, title, metadata, created, updated, at"
#define RUN                                                                                                            \
    "id, root, parent, thread, node, first, input, version, depth, status, durability, cancel, epoch, queue, agent,"   \
    " call, options, error, u_input, u_output, u_read, u_write, created, started, ended, expires, swept"

#define NODE   "n.key, n.id, n.tree, n.parent, n.parent_length, n.holder, n.created, b.name, b.metadata, b.origin"
#define BRANCH " LEFT JOIN branches b ON b.tenant = n.tenant AND b.key = n.key"

const char *const ws_statements[WS_STATEMENTS] = {
    [WS_BEGIN]      = "BEGIN IMMEDIATE",
    [WS_COMMIT]     = "COMMIT",
    [WS_ROLLBACK]   = "ROLLBACK",
    [WS_SAVE]       = "SAVEPOINT one",
    [WS_SAVE_END]   = "RELEASE one",
    [WS_SAVE_UNDO]  = "ROLLBACK TO one",
    [WS_TENANT]     = "SELECT id FROM tenants WHERE name = ?1",
    [WS_ADD_TENANT] = "INSERT INTO tenants(name) VALUES(?1)",
    [WS_NODE_END]   = "SELECT pos, n FROM log WHERE tenant = ?1 AND node = ?2 ORDER BY pos DESC LIMIT 1",
    [WS_NODE_IS]    = "SELECT 1 FROM nodes WHERE tenant = ?1 AND key = ?2",
    [WS_ADD_ROW]    = "INSERT INTO log(tenant, node, pos, n, run, format, body, tape) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
    [WS_ADD_NODE]   = "INSERT INTO nodes(tenant, key, id, tree, parent, parent_length, holder, created)"
                      " VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
    [WS_HOLD_NODE]  = "UPDATE nodes SET holder = ?4 WHERE tenant = ?1 AND key = ?2 AND holder IS ?3",
    [WS_ADD_THREAD] = "INSERT INTO threads(tenant, " THREAD ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)",
    [WS_SET_THREAD] = "UPDATE threads SET head = ?4, version = version + 1, queued = ?5, title = ?6, metadata = ?7,"
                      " updated = ?8, at = ?9 WHERE tenant = ?1 AND id = ?2 AND version = ?3",
    [WS_TOUCH_THREAD]   = "UPDATE threads SET updated = ?3 WHERE tenant = ?1 AND id = ?2 AND updated < ?3",
    [WS_THREAD_VERSION] = "SELECT version FROM threads WHERE tenant = ?1 AND id = ?2",
    [WS_ADD_RUN]      = "INSERT INTO runs(tenant, user, " RUN ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,"
                        "?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,?27,?28,?29)",
    [WS_SET_RUN]      = "UPDATE runs SET node = ?4, first = ?5, input = ?6, version = version + 1, status = ?7,"
                        " durability = ?8, cancel = ?9, epoch = ?10, queue = ?11, agent = ?12, options = ?13, error = ?14,"
                        " u_input = ?15, u_output = ?16, u_read = ?17, u_write = ?18, started = ?19, ended = ?20,"
                        " expires = ?21, swept = ?22 WHERE tenant = ?1 AND id = ?2 AND version = ?3",
    [WS_RUN_VERSION]  = "SELECT version FROM runs WHERE tenant = ?1 AND id = ?2",
    [WS_ADD_ALIAS]    = "INSERT INTO aliases(tenant, user, kind, text, object) VALUES(?1,?2,?3,?4,?5)",
    [WS_ALIAS_OBJECT] = "SELECT object FROM aliases WHERE tenant = ?1 AND user = ?2 AND kind = ?3 AND text = ?4",
    [WS_DROP_KEY]     = "DELETE FROM keys WHERE tenant = ?1 AND route = ?2 AND key = ?3 AND created <= ?4",
    [WS_ADD_KEY]      = "INSERT INTO keys(tenant, route, key, body, object, created) VALUES(?1,?2,?3,?4,?5,?6)",
    [WS_SWEEP_KEYS]   = "DELETE FROM keys WHERE (tenant, route, key) IN"
                        " (SELECT tenant, route, key FROM keys WHERE created <= ?1 ORDER BY created LIMIT 4)",

    [WS_ROWS] = "SELECT pos, n, run, format, body, tape FROM log WHERE " OF_TENANT
                " AND node = ?2 AND pos >= ?3 AND pos < ?4 ORDER BY pos LIMIT ?5",
    [WS_ROWS_BACK] = "SELECT pos, n, run, format, body, tape FROM log WHERE " OF_TENANT
                     " AND node = ?2 AND pos >= ?3 AND pos < ?4 ORDER BY pos DESC LIMIT ?5",
    [WS_NODE]   = "SELECT id, tree, parent, parent_length, holder, created FROM nodes WHERE " OF_TENANT " AND key = ?2",
    [WS_THREAD] = "SELECT " THREAD " FROM threads WHERE " OF_TENANT " AND id = ?2",
    [WS_THREAD_UPDATED] = "SELECT updated FROM threads WHERE " OF_TENANT " AND id = ?2 AND user = ?3",
    [WS_THREADS]        = "SELECT " THREAD " FROM threads WHERE " OF_TENANT
                   " AND user = ?2 AND (updated, id) < (?3, ?4) ORDER BY updated DESC, id DESC LIMIT ?5",
    [WS_RUN]       = "SELECT " RUN " FROM runs WHERE " OF_TENANT " AND id = ?2",
    [WS_RUNS]      = "SELECT " RUN " FROM runs WHERE " OF_TENANT " AND thread = ?2 ORDER BY number DESC LIMIT ?3",
    [WS_RUNS_LIVE] = "SELECT " RUN " FROM runs INDEXED BY runs_waiting WHERE " OF_TENANT
                     " AND thread = ?2 AND status < 5 ORDER BY number LIMIT ?3",
    [WS_LIVE]  = "SELECT " RUN ", (SELECT name FROM tenants WHERE tenants.id = runs.tenant), user"
                 " FROM runs INDEXED BY runs_live WHERE status < 5 AND id > ?1 ORDER BY id, number LIMIT ?2",
    [WS_ALIAS] = "SELECT object FROM aliases WHERE " OF_TENANT " AND user = ?2 AND kind = ?3 AND text = ?4",
    [WS_KEY] =
        "SELECT body, object, created FROM keys WHERE " OF_TENANT " AND route = ?2 AND key = ?3 AND created > ?4",

    [WS_SET_BRANCH]       = "INSERT INTO branches(tenant, key, name, metadata, origin) VALUES(?1,?2,?3,?4,?5)"
                            " ON CONFLICT DO UPDATE SET name = ?3, metadata = ?4",
    [WS_ADD_STRAY_NODE]   = "INSERT OR IGNORE INTO stray_nodes(tenant, family, place) VALUES(?1,?2,?3)",
    [WS_ADD_STRAY_THREAD] = "INSERT OR IGNORE INTO stray_threads(tenant, family, id) VALUES(?1,?2,?3)",
    [WS_STRAY_NODE_AS]    = "INSERT OR IGNORE INTO stray_nodes(tenant, family, place) SELECT tenant, family, ?3"
                            " FROM stray_threads WHERE tenant = ?1 AND id = ?2 AND family <> ?4",
    [WS_STRAY_THREAD_AS]  = "INSERT OR IGNORE INTO stray_threads(tenant, family, id) SELECT tenant, family, ?3"
                            " FROM stray_threads WHERE tenant = ?1 AND id = ?2 AND family <> substr(?3, 1, 4)",
    [WS_ROW_IS]           = "SELECT n FROM log WHERE tenant = ?1 AND node = ?2 AND pos = ?3",
    [WS_SET_ROW]      = "UPDATE log SET format = ?4, body = ?5, tape = ?6 WHERE tenant = ?1 AND node = ?2 AND pos = ?3",
    [WS_FORGET_TEXT]  = "INSERT INTO words_text(words_text, rowid, text) SELECT 'delete', id, text FROM words"
                        " WHERE tenant = ?1 AND node = ?2 AND entry >= ?3 AND entry < ?4",
    [WS_FORGET_WORDS] = "DELETE FROM words WHERE tenant = ?1 AND node = ?2 AND entry >= ?3 AND entry < ?4",
    [WS_FREE_BLOBS] =
        "UPDATE blobs SET refs = refs - x.n, loose = CASE WHEN refs = x.n THEN ?5 END FROM"
        " (SELECT blob, count(*) AS n FROM refs WHERE tenant = ?1 AND node = ?2 AND pos >= ?3 AND pos <= ?4"
        " GROUP BY blob) AS x WHERE number = x.blob",
    [WS_FORGET_REFS]       = "DELETE FROM refs WHERE tenant = ?1 AND node = ?2 AND pos >= ?3 AND pos <= ?4",
    [WS_DROP_THREAD]       = "DELETE FROM threads WHERE tenant = ?1 AND id = ?2 AND version = ?3",
    [WS_DROP_ALIASES_OF]   = "DELETE FROM aliases WHERE tenant = ?1 AND object = ?2",
    [WS_DROP_STRAY_THREAD] = "DELETE FROM stray_threads WHERE tenant = ?1 AND id = ?2",
    [WS_NODE_HELD]         = "SELECT tree, holder FROM nodes WHERE tenant = ?1 AND key = ?2",
    [WS_NODE_UNDER]      = "SELECT 1 FROM nodes WHERE tenant = ?1 AND parent = ?2 AND key >= ?3 AND key <= ?4 LIMIT 1",
    [WS_STRAY_UNDER]     = "SELECT 1 FROM stray_nodes x CROSS JOIN nodes n ON n.tenant = x.tenant"
                           " AND n.key = " WS_PLACE("x.place") " WHERE x.tenant = ?1 AND n.parent = ?2 AND x.family = ?3"
                                                               " LIMIT 1",
    [WS_LOG_NEWEST]      = "SELECT max(id) FROM log",
    [WS_LOG_KEEP]        = "INSERT OR REPLACE INTO log(id, tenant, node, pos, n, format) VALUES(?1, 0, 0, 0, 0, 0)",
    [WS_DROP_ROWS]       = "DELETE FROM log WHERE tenant = ?1 AND node = ?2",
    [WS_DROP_NODE]       = "DELETE FROM nodes WHERE tenant = ?1 AND key = ?2",
    [WS_DROP_BRANCH]     = "DELETE FROM branches WHERE tenant = ?1 AND key = ?2",
    [WS_DROP_STRAY_NODE] = "DELETE FROM stray_nodes WHERE tenant = ?1 AND place = ?2",
    [WS_DROP_RUN]        = "DELETE FROM runs WHERE tenant = ?1 AND id = ?2 AND status >= 5",
    [WS_DROP_ALIAS]      = "DELETE FROM aliases WHERE tenant = ?1 AND user = ?2 AND kind = ?3 AND text = ?4",
    [WS_PUT_VALUE]       = "INSERT OR REPLACE INTO vals(tenant, space, name, bytes) VALUES(?1,?2,?3,?4)",
    [WS_DROP_VALUE]      = "DELETE FROM vals WHERE tenant = ?1 AND space = ?2 AND name = ?3",
    [WS_BLOB_IS]         = "SELECT number, pieces, whole, refs FROM blobs WHERE tenant = ?1 AND key = ?2",
    [WS_ADD_BLOB]        = "INSERT INTO blobs(tenant, key, pieces, whole, refs, loose) VALUES(?1,?2,0,0,0,?3)",
    [WS_NAME_BLOB]       = "UPDATE blobs SET key = ?2, loose = ?3 WHERE number = ?1",
    [WS_TOUCH_BLOB]      = "UPDATE blobs SET loose = ?2 WHERE number = ?1 AND loose IS NOT NULL",
    [WS_DROP_BLOB]       = "DELETE FROM blobs WHERE number = ?1",
    [WS_ADD_PIECE]       = "INSERT INTO pieces(id, bytes) VALUES(?1,?2)",
    [WS_GROW_BLOB]       = "UPDATE blobs SET pieces = pieces + 1, whole = ?2, loose = ?3 WHERE number = ?1",
    [WS_DROP_PIECES]     = "DELETE FROM pieces WHERE id >= ?1 AND id < ?2",
    [WS_ADD_REF]         = "INSERT OR IGNORE INTO refs(tenant, node, pos, id, blob) VALUES(?1,?2,?3,?4,?5)",
    [WS_DROP_REF]        = "DELETE FROM refs WHERE tenant = ?1 AND node = ?2 AND pos = ?3 AND id = ?4 AND blob = ?5",
    [WS_COUNT_REF] = "UPDATE blobs SET refs = refs + ?2, loose = CASE WHEN refs + ?2 = 0 THEN ?3 END WHERE number = ?1",

    [WS_OWN_NODES] = "SELECT " NODE " FROM nodes n" BRANCH " WHERE n." OF_TENANT
                     " AND n.key >= ?2 AND n.key <= ?3 ORDER BY n.key LIMIT ?4",
    [WS_STRAY_NODES] = "SELECT " NODE " FROM stray_nodes x CROSS JOIN nodes n ON n.tenant = x.tenant"
                       " AND n.key = " WS_PLACE("x.place") BRANCH
    " WHERE x." OF_TENANT " AND x.place >= ?2 AND x.place <= ?3 AND x.family = ?5 ORDER BY x.place LIMIT ?4",
    [WS_OWN_THREADS] =
        "SELECT " THREAD " FROM threads WHERE " OF_TENANT " AND id > ?2 AND id >= ?3 AND id <= ?4 ORDER BY id LIMIT ?5",
    [WS_STRAY_THREADS] = "SELECT " THREAD " FROM threads WHERE " OF_TENANT " AND id IN (SELECT id FROM stray_threads"
                         " WHERE " OF_TENANT " AND id > ?2 AND id >= ?3 AND id <= ?4 AND family = ?6)"
                         " ORDER BY id LIMIT ?5",
    [WS_VALUE]         = "SELECT bytes FROM vals WHERE " OF_TENANT " AND space = ?2 AND name = ?3",
    [WS_VALUES] =
        "SELECT name, bytes FROM vals WHERE " OF_TENANT " AND space = ?2 AND name > ?3 ORDER BY name LIMIT ?4",
    [WS_TENANTS_BY_NAME] = "SELECT name FROM tenants WHERE name > ?1 ORDER BY name LIMIT ?2",
    [WS_PIECE]           = "SELECT p.bytes, b.pieces FROM blobs b CROSS JOIN pieces p ON p.id = (b.number << 20) + ?3"
                           " WHERE b." OF_TENANT " AND b.key = ?2 AND b.whole",
    [WS_LOOSE] =
        "SELECT key FROM blobs WHERE " OF_TENANT " AND loose IS NOT NULL AND loose < ?2 ORDER BY loose LIMIT ?3",
    [WS_OLD_RUNS] = "SELECT " RUN ", number FROM runs NOT INDEXED WHERE " OF_TENANT
                    " AND number > ?2 AND created < ?3 ORDER BY number LIMIT ?4",

    /* The row that only keeps a number is of no tenant. */
    [WS_FOLLOW]     = "SELECT l.id, t.name, l.node, l.pos, l.n, l.run, l.format, l.body, l.tape FROM log l"
                      " CROSS JOIN tenants t ON t.id = l.tenant WHERE l.id > ?1 ORDER BY l.id LIMIT ?2",
    [WS_LEARNED]    = "SELECT value FROM meta WHERE name = 'learned'",
    [WS_LOG_END]    = "SELECT id FROM log WHERE tenant <> 0 ORDER BY id DESC LIMIT 1",
    [WS_LEARN_UPTO] = "INSERT OR REPLACE INTO meta VALUES('learned', ?1)",
    [WS_ADD_WORDS]  = "INSERT INTO words(tenant, node, entry, time, who, tool, text) VALUES(?1,?2,?3,?4,?5,?6,?7)",
    [WS_ADD_TEXT]   = "INSERT INTO words_text(rowid, text) VALUES(?1,?2)",
};
