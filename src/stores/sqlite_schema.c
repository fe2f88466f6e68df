/* stores/sqlite_schema.c — the tables and the statements over them. docs/storage.md says why they look like this. */
#include "base/err.h"
#include "stores/sqlite_store.h"

enum {
    SCHEMA     = 1,
    MIN_READER = 1,          /* what we write can be read by programs that know this number */
    WE_READ    = 1,          /* the newest that we know */
    APP_ID     = 0x57656674, /* "Weft" */
};

_Static_assert(WM_COMPLETED == 5, "status < 5 in the SQL below means: has not ended");

static const char setup[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE tenants(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);"
    "CREATE TABLE log(id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, node INTEGER NOT NULL, pos INTEGER NOT NULL,"
    " n INTEGER NOT NULL, run BLOB, format INTEGER NOT NULL, body BLOB, tape BLOB);"
    "CREATE UNIQUE INDEX log_at ON log(tenant, node, pos);"
    "CREATE TABLE nodes(tenant INTEGER NOT NULL, key INTEGER NOT NULL, id BLOB NOT NULL, tree BLOB NOT NULL,"
    " parent INTEGER NOT NULL, parent_length INTEGER NOT NULL, holder BLOB, created INTEGER NOT NULL,"
    " PRIMARY KEY(tenant, key)) WITHOUT ROWID;"
    "CREATE TABLE threads(tenant INTEGER NOT NULL, id BLOB NOT NULL, tree BLOB NOT NULL, parent BLOB,"
    " user BLOB NOT NULL, head INTEGER NOT NULL, kind INTEGER NOT NULL, version INTEGER NOT NULL,"
    " queued INTEGER NOT NULL, title BLOB, metadata BLOB, created INTEGER NOT NULL, updated INTEGER NOT NULL,"
    " PRIMARY KEY(tenant, id)) WITHOUT ROWID;"
    "CREATE INDEX threads_of ON threads(tenant, user, updated, id);"
    "CREATE TABLE runs(number INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, id BLOB NOT NULL, user BLOB NOT NULL,"
    " root BLOB NOT NULL, parent BLOB, thread BLOB NOT NULL, node INTEGER NOT NULL, first INTEGER NOT NULL,"
    " input INTEGER NOT NULL, version INTEGER NOT NULL, depth INTEGER NOT NULL, status INTEGER NOT NULL,"
    " durability INTEGER NOT NULL, cancel INTEGER NOT NULL, epoch INTEGER NOT NULL, queue INTEGER NOT NULL,"
    " agent BLOB, call BLOB, options BLOB, error BLOB, u_input INTEGER NOT NULL, u_output INTEGER NOT NULL,"
    " u_read INTEGER NOT NULL, u_write INTEGER NOT NULL, created INTEGER NOT NULL, started INTEGER NOT NULL,"
    " ended INTEGER NOT NULL, expires INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX runs_id ON runs(tenant, id);"
    "CREATE INDEX runs_of ON runs(tenant, thread);"
    "CREATE INDEX runs_waiting ON runs(tenant, thread) WHERE status < 5;"
    "CREATE INDEX runs_live ON runs(id) WHERE status < 5;"
    "CREATE TABLE aliases(tenant INTEGER NOT NULL, user BLOB NOT NULL, kind INTEGER NOT NULL, text BLOB NOT NULL,"
    " object BLOB NOT NULL, PRIMARY KEY(tenant, user, kind, text)) WITHOUT ROWID;"
    "CREATE TABLE keys(tenant INTEGER NOT NULL, route BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL,"
    " object BLOB NOT NULL, created INTEGER NOT NULL, PRIMARY KEY(tenant, route, key)) WITHOUT ROWID;"
    "CREATE INDEX keys_age ON keys(created);";

#define OF_TENANT "tenant = (SELECT id FROM tenants WHERE name = ?1)"
#define THREAD    "id, tree, parent, user, head, kind, version, queued, title, metadata, created, updated"
#define RUN                                                                                                            \
    "id, root, parent, thread, node, first, input, version, depth, status, durability, cancel, epoch, queue, agent,"   \
    " call, options, error, u_input, u_output, u_read, u_write, created, started, ended, expires"

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
    [WS_ADD_THREAD] = "INSERT INTO threads(tenant, " THREAD ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)",
    [WS_SET_THREAD] = "UPDATE threads SET head = ?4, version = version + 1, queued = ?5, title = ?6, metadata = ?7,"
                      " updated = ?8 WHERE tenant = ?1 AND id = ?2 AND version = ?3",
    [WS_THREAD_VERSION] = "SELECT version FROM threads WHERE tenant = ?1 AND id = ?2",
    [WS_ADD_RUN]      = "INSERT INTO runs(tenant, user, " RUN ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,"
                        "?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,?27,?28)",
    [WS_SET_RUN]      = "UPDATE runs SET node = ?4, first = ?5, input = ?6, version = version + 1, status = ?7,"
                        " durability = ?8, cancel = ?9, epoch = ?10, queue = ?11, agent = ?12, options = ?13, error = ?14,"
                        " u_input = ?15, u_output = ?16, u_read = ?17, u_write = ?18, started = ?19, ended = ?20,"
                        " expires = ?21 WHERE tenant = ?1 AND id = ?2 AND version = ?3",
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

static int refused(struct ws_sqlite *s, struct upp_err *err, const char *why)
{
    int r = upp_fail(err, UPP_EREFUSED, "%s", why);
    wb_err_where(err, wb_cstr(s->path));
    return r;
}

/* In one transaction: a file whose making was cut off is an empty database, and is made again. */
static int make(struct ws_sqlite *s, struct ws_conn *c, struct upp_err *err)
{
    char more[256];
    (void)sqlite3_snprintf(sizeof more, more,
                           "PRAGMA application_id = %d; INSERT INTO meta VALUES('schema', %d), ('min_reader', %d);",
                           APP_ID, SCHEMA, MIN_READER);
    int r = ws_conn_exec(s, c, "BEGIN IMMEDIATE", err);
    if (r >= 0)
        r = ws_conn_exec(s, c, setup, err);
    if (r >= 0)
        r = ws_conn_exec(s, c, more, err);
    if (r >= 0)
        r = ws_conn_exec(s, c, "COMMIT", err);
    return r;
}

static int look(struct ws_sqlite *s, struct ws_conn *c, bool *empty, struct upp_err *err)
{
    int64_t app, tables, schema, reader;
    int     r = ws_conn_number(s, c, "PRAGMA application_id", &app, err);
    if (r >= 0)
        r = ws_conn_number(s, c, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (r < 0)
        return r;
    *empty = app == 0 && tables == 0;
    if (*empty)
        return 0;
    if (app != APP_ID)
        return refused(s, err, "this is a database of another program");
    r = ws_conn_number(s, c, "SELECT value FROM meta WHERE name = 'schema'", &schema, err);
    if (r >= 0)
        r = ws_conn_number(s, c, "SELECT value FROM meta WHERE name = 'min_reader'", &reader, err);
    if (r < 0)
        return r;
    if (schema < 1 || reader < 1)
        return refused(s, err, "the database does not say which version of the tables it holds");
    if (reader > WE_READ) {
        r = upp_fail(
            err, UPP_EREFUSED,
            "the database was written by a newer weft: it needs one that reads version %lld, this one reads %d",
            (long long)reader, WE_READ);
        wb_err_where(err, wb_cstr(s->path));
    }
    return r;
}

int ws_schema_open(struct ws_sqlite *s, struct ws_conn *c, struct upp_err *err)
{
    bool empty;
    int  r = look(s, c, &empty, err);
    if (r < 0)
        return r;
    if (empty && s->opts.read_only)
        return refused(s, err, "the database is empty");
    if (s->opts.read_only)
        return 0;
    if (empty) /* these two count only before anything is written */
        r = ws_conn_exec(s, c, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL;", err);
    int64_t wal = 0;
    if (r >= 0)
        r = ws_conn_number(s, c, "PRAGMA journal_mode = WAL", &wal, err);
    if (r >= 0)
        r = ws_conn_number(s, c, "SELECT 1 FROM pragma_journal_mode WHERE journal_mode = 'wal'", &wal, err);
    if (r >= 0 && !wal)
        return refused(s, err, "the file system has no shared memory for a write-ahead log");
    return r >= 0 && empty ? make(s, c, err) : r;
}
