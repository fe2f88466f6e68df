/* stores/sqlite/tables.c — makes the tables of each version (sql/) and migrates those of older files.
 *
 * A new file goes through the same steps as an old one, so that both end with the same tables. All missing steps are
 * one transaction: if it is interrupted, the file is unchanged.
 */
#include "base/crash.h"
#include "base/err.h"
#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

enum {
    MIN_READER = 5,      /* programs that know this version can read what we write (docs/storage.md) */
    SUMMED = 3,          /* the first version whose rows have checksums */
    APP_ID = 0x57656674, /* "Weft" */
};

_Static_assert(WL_INDEX_WORDS == 2, "what tables_3.sql says of a new file");

/* [i]: from version i to i + 1; `then` follows `tables`. `fill` derives data from existing rows and is skipped for a
 * new file. */
static const struct {
    const struct upp_str *tables, *then, *fill;
} steps[] = {{.tables = &ws_tables_1_sql},
             {.tables = &ws_tables_2_sql, .fill = &ws_strays_sql},
             {.tables = &ws_tables_3_sql, .then = &ws_index_sql},
             {.tables = &ws_tables_4_sql},
             {.tables = &ws_tables_5_sql}};
_Static_assert(sizeof steps / sizeof steps[0] == WS_SCHEMA, "a step for each version");

/* In one transaction, from that version on (0: an empty file). */
static int make_tables(struct ws_sqlite *s, struct ws_conn *c, int64_t from, struct upp_err *err)
{
    char more[512];
    /* clang-format off */
    (void)sqlite3_snprintf(sizeof more, more,
                           "PRAGMA application_id = %d;"
                           " INSERT OR REPLACE INTO meta(" WS_OF_META ", sum) VALUES"
                           " ('schema', %d, " WS_SUM("meta", "'schema', %d") "),"
                           " ('min_reader', %d, " WS_SUM("meta", "'min_reader', %d") ")",
                           APP_ID, WS_SCHEMA, WS_SCHEMA, MIN_READER, MIN_READER);
    /* clang-format on */
    int r = ws_conn_exec(s, c, "BEGIN IMMEDIATE", err);
    for (int64_t i = from; r >= 0 && i < WS_SCHEMA; i++) {
        r = ws_conn_exec(s, c, steps[i].tables->p, err);
        if (r >= 0 && steps[i].then)
            r = ws_conn_exec(s, c, steps[i].then->p, err);
        wb_crashpoint("migrate.tables");
        if (r >= 0 && from && steps[i].fill)
            r = ws_conn_exec(s, c, steps[i].fill->p, err);
        wb_crashpoint("migrate.filled");
    }
    if (r >= 0)
        r = ws_conn_exec(s, c, more, err);
    int rc = r >= 0 && from < SUMMED ? ws_sum_all(c->db) : SQLITE_OK; /* later ones have them, or are damaged */
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
    int r = ws_conn_number(s, c, "PRAGMA application_id", &app, err);
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
    int r = look(s, c, &version, err);
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
    return r >= 0 && version < WS_SCHEMA ? make_tables(s, c, version, err) : r;
}
