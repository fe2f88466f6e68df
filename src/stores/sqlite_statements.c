/* stores/sqlite_statements.c — the statements over the tables. */
#include "stores/sqlite_store.h"

_Static_assert(WM_COMPLETED == 5, "status < 5 in the SQL below means: has not ended");

#define OF_TENANT "tenant = (SELECT id FROM tenants WHERE name = ?1)"
#define THREAD    "id, tree, parent, user, head, kind, version, queued, title, metadata, created, updated, at"
#define RUN                                                                                                            \
    "id, root, parent, thread, node, first, input, version, depth, status, durability, cancel, epoch, queue, agent,"   \
    " call, options, error, u_input, u_output, u_read, u_write, created, started, ended, expires, swept"

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
};
