/* stores/sqlite/tables.c — the tables of each version. docs/storage.md explains why they look like this.
 *
 * A new file goes through the same steps as an old one, so that both end with the same tables. All missing steps are
 * one transaction: if it is interrupted, the file is unchanged.
 */
#include "base/crash.h"
#include "base/err.h"
#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

enum {
    MIN_READER = 3,          /* programs that know this version can read what we write (docs/storage.md) */
    APP_ID     = 0x57656674, /* "Weft" */
};

static const char to_1[] =
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

/* Families of ids, deleting, blobs, values, search.
 *
 *  - Texts of branches are outside `nodes`: a fork has none, and pays nothing for them.
 *  - Strays are found under the family of their tree and, below a sub-thread, under that of the topmost thread.
 *  - A piece's id combines the blob's number and its own, so it needs no index.
 *  - `words_text` indexes `words`; the writer updates it explicitly, because no trigger may use a virtual table of an
 *    untrusted schema.
 *  - `loose`: since when nothing refers to the blob; NULL if something does. */
static const char to_2[] =
    "ALTER TABLE threads ADD COLUMN at INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE runs ADD COLUMN swept INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX aliases_of ON aliases(tenant, object);"
    "CREATE TABLE branches(tenant INTEGER NOT NULL, key INTEGER NOT NULL, name BLOB, metadata BLOB, origin BLOB,"
    " PRIMARY KEY(tenant, key)) WITHOUT ROWID;"
    "CREATE TABLE vals(tenant INTEGER NOT NULL, space BLOB NOT NULL, name BLOB NOT NULL, bytes BLOB,"
    " PRIMARY KEY(tenant, space, name)) WITHOUT ROWID;"
    "CREATE TABLE blobs(number INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, key BLOB NOT NULL,"
    " pieces INTEGER NOT NULL, whole INTEGER NOT NULL, refs INTEGER NOT NULL, loose INTEGER);"
    "CREATE UNIQUE INDEX blobs_key ON blobs(tenant, key);"
    "CREATE INDEX blobs_loose ON blobs(tenant, loose) WHERE loose IS NOT NULL;"
    "CREATE TABLE pieces(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);"
    "CREATE TABLE refs(tenant INTEGER NOT NULL, node INTEGER NOT NULL, pos INTEGER NOT NULL, id BLOB NOT NULL,"
    " blob INTEGER NOT NULL, PRIMARY KEY(tenant, node, pos, id, blob)) WITHOUT ROWID;"
    "CREATE TABLE words(id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, node INTEGER NOT NULL,"
    " entry INTEGER NOT NULL, time INTEGER NOT NULL, who TEXT, tool TEXT, text TEXT);"
    "CREATE UNIQUE INDEX words_at ON words(tenant, node, entry);"
    "CREATE VIRTUAL TABLE words_text USING fts5(text, content='words', content_rowid='id', tokenize='trigram');"
    "CREATE TABLE stray_nodes(tenant INTEGER NOT NULL, family BLOB NOT NULL, place INTEGER NOT NULL,"
    " PRIMARY KEY(tenant, family, place)) WITHOUT ROWID;"
    "CREATE INDEX stray_nodes_at ON stray_nodes(tenant, place);"
    "CREATE TABLE stray_threads(tenant INTEGER NOT NULL, family BLOB NOT NULL, id BLOB NOT NULL,"
    " PRIMARY KEY(tenant, family, id)) WITHOUT ROWID;"
    "CREATE INDEX stray_threads_at ON stray_threads(tenant, id);"
    "INSERT INTO meta VALUES('learned', 0);";

#define INDEX_TABLES                                                                                                   \
    "CREATE TABLE words(id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, node INTEGER NOT NULL,"                       \
    " entry INTEGER NOT NULL, time INTEGER NOT NULL, who TEXT, tool TEXT, grams BLOB);"                                \
    "CREATE UNIQUE INDEX words_at ON words(tenant, node, entry);"                                                      \
    "CREATE VIRTUAL TABLE words_text USING fts5(grams, content='', tokenize='ascii', detail=none, columnsize=0);"

const char ws_tables_index[] = INDEX_TABLES;

/* Checksums. Tables that consist only of their keys have none: content is read from the rows they lead to.
 *
 * And an index of words without the texts (grams.h). It is rebuilt by following the log. */
static const char to_3[] = "ALTER TABLE meta ADD COLUMN sum INTEGER;"
                           "ALTER TABLE tenants ADD COLUMN sum INTEGER;"
                           "ALTER TABLE log ADD COLUMN sum INTEGER;"
                           "ALTER TABLE nodes ADD COLUMN sum INTEGER;"
                           "ALTER TABLE threads ADD COLUMN sum INTEGER;"
                           "ALTER TABLE runs ADD COLUMN sum INTEGER;"
                           "ALTER TABLE aliases ADD COLUMN sum INTEGER;"
                           "ALTER TABLE keys ADD COLUMN sum INTEGER;"
                           "ALTER TABLE branches ADD COLUMN sum INTEGER;"
                           "ALTER TABLE vals ADD COLUMN sum INTEGER;"
                           "ALTER TABLE blobs ADD COLUMN sum INTEGER;"
                           "ALTER TABLE pieces ADD COLUMN sum INTEGER;"
                           "DROP TABLE words_text;"
                           "DROP TABLE words;" INDEX_TABLES "UPDATE meta SET value = 0 WHERE name = 'learned';"
                           "INSERT INTO meta(name, value) VALUES('search', 2);"; /* WL_INDEX_WORDS */
_Static_assert(WL_INDEX_WORDS == 2, "what a new file has");

/* Each of its statements can be repeated. */
const char ws_tables_strays[] =
    /* Every thread with the family of its topmost ancestor. */
    "CREATE TABLE kin(tenant, id, tree, family, PRIMARY KEY(tenant, id)) WITHOUT ROWID;"
    "CREATE INDEX kin_above ON threads(tenant, parent) WHERE parent IS NOT NULL;"
    "WITH RECURSIVE below(tenant, id, tree, family) AS ("
    " SELECT tenant, id, tree, substr(tree, 1, 4) FROM threads WHERE parent IS NULL"
    " UNION ALL SELECT t.tenant, t.id, t.tree, b.family FROM below b"
    "  JOIN threads t INDEXED BY kin_above ON t.tenant = b.tenant AND t.parent = b.id WHERE t.parent IS NOT NULL)"
    " INSERT INTO kin SELECT * FROM below;"
    "DROP INDEX kin_above;"
    "CREATE INDEX kin_tree ON kin(tenant, tree);"
    "INSERT OR IGNORE INTO stray_threads SELECT tenant, substr(tree, 1, 4), id FROM threads"
    " WHERE substr(id, 1, 4) <> substr(tree, 1, 4);"
    "INSERT OR IGNORE INTO stray_threads SELECT tenant, family, id FROM kin WHERE substr(id, 1, 4) <> family;"
    "INSERT OR IGNORE INTO stray_nodes SELECT tenant, substr(tree, 1, 4), " WS_SIGNED_KEY(
        "key") " FROM nodes"
               " WHERE printf('%08X', key >> 32 & 0xffffffff) <> hex(substr(tree, 1, 4));"
               "INSERT OR IGNORE INTO stray_nodes SELECT n.tenant, k.family, " WS_SIGNED_KEY(
                   "n.key") " FROM kin k"
                            " JOIN nodes n ON n.tenant = k.tenant AND n.tree = k.tree WHERE k.family <> substr(k.tree, "
                            "1, 4)"
                            " AND printf('%08X', n.key >> 32 & 0xffffffff) <> hex(k.family);"
                            "DROP TABLE kin;";

/* [i]: from version i to i + 1. `fill` derives data from existing rows and is skipped for a new file. */
static const struct {
    const char *tables, *fill;
} steps[] = {{to_1, ""}, {to_2, ws_tables_strays}, {to_3, ""}};
_Static_assert(sizeof steps / sizeof steps[0] == WS_SCHEMA, "a step for each version");

int ws_tables_make(struct ws_sqlite *s, struct ws_conn *c, int64_t from, struct upp_err *err)
{
    char more[256];
    (void)sqlite3_snprintf(sizeof more, more,
                           "PRAGMA application_id = %d; INSERT OR REPLACE INTO meta(name, value) VALUES('schema', %d),"
                           " ('min_reader', %d)",
                           APP_ID, WS_SCHEMA, MIN_READER);
    int r = ws_conn_exec(s, c, "BEGIN IMMEDIATE", err);
    for (int64_t i = from; r >= 0 && i < WS_SCHEMA; i++) {
        r = ws_conn_exec(s, c, steps[i].tables, err);
        wb_crashpoint("migrate.tables");
        if (r >= 0 && from)
            r = ws_conn_exec(s, c, steps[i].fill, err);
        wb_crashpoint("migrate.filled");
    }
    if (r >= 0)
        r = ws_conn_exec(s, c, more, err);
    int rc = r >= 0 ? ws_sum_all(c->db) : SQLITE_OK;
    if (rc != SQLITE_OK)
        r = ws_sqlite_fail(s, c->db, rc, "giving its rows checksums", err);
    if (r >= 0)
        r = ws_conn_exec(s, c, "COMMIT", err);
    wb_crashpoint("migrate.after");
    return r;
}

int ws_tables_touch(struct ws_sqlite *s, struct upp_err *err)
{
    char sql[64];
    (void)sqlite3_snprintf(sizeof sql, sql, "PRAGMA application_id = %d", APP_ID);
    return ws_conn_exec(s, &s->writer, sql, err);
}

static int refused(struct ws_sqlite *s, struct upp_err *err, const char *why)
{
    int r = upp_fail(err, UPP_EREFUSED, "%s", why);
    wb_err_where(err, wb_cstr(s->path));
    return r;
}

/* The version of the tables in the file; 0: it is empty. */
static int look(struct ws_sqlite *s, struct ws_conn *c, int64_t *ret, struct upp_err *err)
{
    int64_t app, tables, reader;
    int     r = ws_conn_number(s, c, "PRAGMA application_id", &app, err);
    if (r >= 0)
        r = ws_conn_number(s, c, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (r < 0)
        return r;
    *ret = 0;
    if (app == 0 && tables == 0)
        return 0;
    if (app != APP_ID)
        return refused(s, err, "this is a database of another program");
    r = ws_conn_number(s, c, "SELECT value FROM meta WHERE name = 'schema'", ret, err);
    if (r >= 0)
        r = ws_conn_number(s, c, "SELECT value FROM meta WHERE name = 'min_reader'", &reader, err);
    if (r < 0)
        return r;
    if (*ret < 1 || reader < 1)
        return refused(s, err, "the database does not say which version of the tables it holds");
    if (reader > WS_SCHEMA) {
        r = upp_fail(
            err, UPP_EREFUSED,
            "the database was written by a newer weft: it needs one that reads version %lld, this one reads %d",
            (long long)reader, WS_SCHEMA);
        wb_err_where(err, wb_cstr(s->path));
    }
    return r;
}

int ws_schema_open(struct ws_sqlite *s, struct ws_conn *c, struct upp_err *err)
{
    int64_t version;
    int     r = look(s, c, &version, err);
    if (r < 0)
        return r;
    if (s->opts.read_only && version == 0)
        return refused(s, err, "the database is empty");
    if (s->opts.read_only && version < WS_SCHEMA && !s->opts.older)
        return refused(s, err, "the tables are those of an older weft: open it once for writing (`weft run`, `serve`)");
    if (s->opts.read_only)
        return 0;
    int64_t wal = 0;
    if (version == 0) /* these take effect only before anything is written, which auto_vacuum does */
        r = ws_conn_reserve(s, c, err);
    if (r >= 0 && version == 0)
        r = ws_conn_exec(s, c, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL;", err);
    if (r >= 0)
        r = ws_conn_number(s, c, "PRAGMA journal_mode = WAL", &wal, err);
    if (r >= 0)
        r = ws_conn_number(s, c, "SELECT 1 FROM pragma_journal_mode WHERE journal_mode = 'wal'", &wal, err);
    if (r >= 0 && !wal)
        return refused(s, err, "the file system has no shared memory for a write-ahead log");
    return r >= 0 && version < WS_SCHEMA ? ws_tables_make(s, c, version, err) : r;
}
