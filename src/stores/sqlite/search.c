/* stores/sqlite/search.c — follows the log, and maintains and queries the search index.
 *
 * The index proposes the texts that may have all of a word's trigrams, or the word (grams.h), newest first. It stores
 * no texts, so the caller reads and compares each candidate. If it can answer none of a query's words (fewer than three
 * letters; punctuation only), all texts are candidates.
 *
 * Between following and indexing, a row may be erased. So an indexing commit carries the number of row changes at the
 * time of reading (`changes`). Each change is counted twice, when it is made and when its transaction ends: a reader
 * that loads the count first and then reads cannot have both the final count and the old row.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/str.h"
#include "stores/sqlite/grams.h"
#include "stores/sqlite/reading.h"
#include "stores/sqlite/sum.h"

enum {
    GRAMS = 64, /* of all words of a query; more would hardly narrow the match */
    SQL_MAX = 64 << 10,
    GRAMS_MAX = 256 << 10, /* bytes of a text's set: three per number at most */
    MERGE = 64,            /* pages of a step */
    LEVELS = 1000,         /* of the index, after which it is built anew; FTS5 refuses one with more than 2,000 */
};

#define FORGET_ALL  "DELETE FROM words; INSERT INTO words_text(words_text) VALUES('delete-all');"
#define IS_DAMAGED  "index_damaged"  /* in meta: entries that had to be dropped may still be there */
#define IS_REPLACED "index_replaced" /* in meta: pages of its former tables are unused */
/* clang-format off */
#define PUT_META(name, value) \
    "INSERT OR REPLACE INTO meta(" WS_OF_META ", sum)" \
    " VALUES('" name "', " value ", " WS_SUM("meta", "'" name "', " value) ");"
/* clang-format on */

/* ---- Damage ------------------------------------------------------------------------------------------------ */

bool ws_is_index_work(const struct wl_commit *c)
{
    return c->n == 1 && (c->changes[0].kind == WL_INDEX_ADD || c->changes[0].kind == WL_INDEX_COMPACT);
}

static bool is_damaged(const struct ws_sqlite *s)
{
    return wl_store_index_state(&s->store) == WL_INDEX_DAMAGED;
}

/* In the writer, whose transaction may have dropped it. */
static bool must_drop(const struct ws_sqlite *s)
{
    return is_damaged(s) && !s->dropped;
}

int ws_index_damaged(struct ws_sqlite *s, const char *what, struct upp_err *err)
{
    if (atomic_exchange(&s->store.index_state, WL_INDEX_DAMAGED) != WL_INDEX_DAMAGED)
        wb_log(WB_WARN, "the search index is damaged", WB_LZ("path", s->path), WB_LZ("what", what));
    int r = upp_fail(err, UPP_ESTORE, "the search index is damaged (%s)", what);
    wb_err_where(err, wb_cstr(s->path));
    if (err)
        (void)snprintf(err->cause, sizeof err->cause, "%s", WL_INDEX_IS_DAMAGED);
    return r;
}

/* Of a statement that concerns only the tables of the index: then so does what SQLite cannot read, or misses. */
static int of_index(struct ws_sqlite *s, sqlite3 *db, int r, struct upp_err *err)
{
    int rc = sqlite3_errcode(db) & 0xff;
    if (r >= 0 || (rc != SQLITE_CORRUPT && rc != SQLITE_ERROR))
        return r;
    return ws_index_damaged(s, sqlite3_errmsg(db), err);
}

/* Dropping a table follows the pointers between its pages: wild ones lead into other tables. Checked on a connection of
 * its own, because after SQLITE_CORRUPT a transaction refuses to write. */
static int has_sound_trees(struct ws_sqlite *s, struct upp_err *err)
{
    static const char ask[] =
        "SELECT count(*) FROM sqlite_schema t, pragma_quick_check(t.name) c WHERE t.type = 'table' AND t.rootpage"
        " AND (t.name = 'words' OR t.name GLOB 'words_text_*') AND c.quick_check <> 'ok'";
    struct ws_conn c = {.db = NULL};
    int64_t bad = 0;
    int r = ws_conn_open(s, WS_READER, &c, err);
    if (r < 0)
        return r;
    r = ws_conn_number(s, &c, ask, &bad, err);
    bool corrupt = r < 0 && (sqlite3_errcode(c.db) & 0xff) == SQLITE_CORRUPT;
    ws_conn_close(&c);
    if (corrupt)
        return 0;
    return r < 0 ? r : bad == 0;
}

int ws_others_are_whole(struct ws_sqlite *s, struct upp_err *err)
{
    static const char ask[] =
        "SELECT count(*) FROM sqlite_schema t, pragma_quick_check(t.name) c WHERE t.type = 'table' AND t.rootpage"
        " AND NOT (t.name = 'words' OR t.name GLOB 'words_text_*') AND c.quick_check <> 'ok'";
    struct ws_conn c = {.db = NULL};
    int64_t bad = 1;
    int r = ws_conn_open(s, WS_READER, &c, err);
    if (r >= 0)
        r = ws_conn_number(s, &c, ask, &bad, err);
    ws_conn_close(&c);
    return r < 0 ? r : bad == 0;
}

bool ws_tables_are_whole(const char *path)
{
    struct ws_sqlite *s = wb_calloc(1, sizeof *s); /* only what a connection needs */
    if (!s || ws_vfs_init(&s->vfs, NULL, NULL) < 0) {
        wb_free(s);
        return false;
    }
    s->path = (char *)(uintptr_t)path;
    s->opts.read_only = true;
    int r = ws_others_are_whole(s, NULL);
    ws_vfs_done(&s->vfs);
    wb_free(s);
    return r > 0;
}

/* Of a search, which also reads tables that are not the index's. */
static int of_search(struct ws_sqlite *s, sqlite3 *db, int r, struct upp_err *err)
{
    const char *text = sqlite3_errmsg(db);
    bool other = strstr(text, "no such table") && !strstr(text, "words");
    if (r < 0 && sqlite3_extended_errcode(db) == SQLITE_CORRUPT)
        other = has_sound_trees(s, NULL) != 0;
    return other ? r : of_index(s, db, r, err);
}

int ws_sqlite_check_index(struct wl_store *store, struct upp_err *err)
{
    static const char terms[] = "CREATE VIRTUAL TABLE temp.index_terms USING fts5vocab('main', 'words_text', 'row')";
    struct ws_sqlite *s = ws_sqlite(store);
    int64_t n;
    if (store->index == WL_INDEX_OFF)
        return 0;
    if (is_damaged(s))
        return ws_index_damaged(s, "a server has found that", err);
    int r = has_sound_trees(s, err);
    if (r <= 0)
        return r < 0 ? r : ws_index_damaged(s, "its pages do not fit together", err);
    r = ws_conn_exec(s, &s->writer, terms, err);
    if (r >= 0)
        r = ws_conn_number(s, &s->writer,
                           "SELECT EXISTS(SELECT 1 FROM temp.index_terms) OR"
                           " NOT EXISTS(SELECT 1 FROM words WHERE length(grams))",
                           &n, err);
    if (r >= 0 && !n)
        return ws_index_damaged(s, "it is empty", err);
    if (r >= 0)
        r = ws_conn_number(s, &s->writer, "SELECT count(*) FROM temp.index_terms", &n, err);
    r = of_index(s, s->writer.db, r, err);
    return r < 0 ? r : ws_conn_exec(s, &s->writer, "DROP TABLE temp.index_terms", err);
}

/* Their pages stay in the file, where nothing refers to them any more. */
static int replace_tables(struct ws_sqlite *s, struct upp_err *err)
{
    wb_log(WB_WARN, "the tables of the search index cannot be emptied: they are replaced, and their pages stay unused",
           WB_LZ("path", s->path));
    int r = ws_conn_exec(s, &s->writer,
                         "PRAGMA writable_schema = ON;"
                         "DELETE FROM sqlite_schema WHERE tbl_name = 'words' OR tbl_name GLOB 'words_text*';"
                         "PRAGMA writable_schema = RESET;" PUT_META(IS_REPLACED, "1"),
                         err);
    return r < 0 ? r : ws_conn_exec(s, &s->writer, ws_index_sql.p, err);
}

/* A message may have several lines, one for each page. */
static void note_first(const char *message, bool replaced, char *why, size_t size)
{
    for (struct upp_str rest = wb_cstr(message), line; !why[0] && rest.n;) {
        size_t end = wb_str_find(rest, UPP_STR("\n"), 0), n = WB_MIN(end, rest.n);
        line = wb_str(rest.p, n);
        rest = wb_str(rest.p + n + (end != SIZE_MAX), rest.n - n - (end != SIZE_MAX));
        if (!line.n || wb_str_eq(line, UPP_STR("ok")) || wb_str_starts(line, UPP_STR("*** in database")))
            continue;
        if (!replaced || wb_str_find(line, UPP_STR("never used"), 0) == SIZE_MAX)
            (void)snprintf(why, size, "%.*s", UPP_FMT(line));
    }
}

int ws_integrity_check(sqlite3 *db, char *why, size_t size)
{
    sqlite3_stmt *st = NULL;
    why[0] = 0;
    bool replaced =
        sqlite3_prepare_v2(db, "SELECT 1 FROM meta WHERE name = '" IS_REPLACED "'", -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW;
    (void)sqlite3_finalize(st);
    const char *ask = replaced ? "PRAGMA integrity_check(1000000)" : "PRAGMA integrity_check(1)";
    int rc = sqlite3_prepare_v2(db, ask, -1, &st, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const char *message = (const char *)sqlite3_column_text(st, 0);
        note_first(message ? message : "no memory for a message", replaced, why, size);
        rc = SQLITE_OK;
    }
    (void)sqlite3_finalize(st);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Within a transaction. What follows the log starts over. */
static int drop_index(struct ws_sqlite *s, struct upp_err *err)
{
    struct upp_err why = {0};
    int r = has_sound_trees(s, err);
    if (r < 0)
        return r;
    if (r)
        r = of_index(s, s->writer.db, ws_conn_exec(s, &s->writer, FORGET_ALL, &why), &why);
    if (!r || (r < 0 && is_damaged(s)))
        r = replace_tables(s, &why);
    if (r >= 0)
        r = ws_conn_exec(s, &s->writer, PUT_META("learned", "0") "DELETE FROM meta WHERE name = '" IS_DAMAGED "'",
                         &why);
    if (r < 0 && err)
        *err = why;
    s->dropped = r >= 0;
    s->tidy = s->merging = false;
    return r;
}

void ws_index_done(struct ws_sqlite *s)
{
    if (s->dropped)
        atomic_store(&s->store.index_state, WL_INDEX_REFILLED);
    s->dropped = false;
}

void ws_index_undone(struct ws_sqlite *s)
{
    s->dropped = s->tidy = s->merging = false;
}

/* ---- The kind of index ------------------------------------------------------------------------------------ */

/* Dropping the index and recording its new kind are one transaction. The new one is filled as the log is followed. */
static int change_index(struct ws_sqlite *s, int64_t to, struct upp_err *err)
{
    char sql[512];
    (void)snprintf(sql, sizeof sql, PUT_META("search", "%d") "COMMIT", (int)to, (int)to);
    struct upp_err why = {0};
    int r = ws_conn_exec(s, &s->writer, "BEGIN IMMEDIATE", &why);
    if (r >= 0)
        r = drop_index(s, &why);
    if (r >= 0)
        r = ws_conn_exec(s, &s->writer, sql, &why);
    bool full = r < 0 && (sqlite3_errcode(s->writer.db) & 0xff) == SQLITE_FULL;
    if (r < 0 && !sqlite3_get_autocommit(s->writer.db))
        (void)sqlite3_exec(s->writer.db, "ROLLBACK", NULL, NULL, NULL); /* the error is already reported */
    if (r < 0)
        ws_index_undone(s);
    else
        ws_index_done(s);
    if (r >= 0 && to == WL_INDEX_OFF)
        atomic_store(&s->store.index_state, WL_INDEX_SOUND); /* nobody fills it */
    if (r < 0 && !full && err)
        *err = why;
    if (!full)
        return r;
    wb_log(WB_WARN, "the disk is full: the search keeps the index it has", WB_LZ("path", s->path));
    return 1;
}

int ws_index_open(struct ws_sqlite *s, struct upp_err *err)
{
    static const char ask[] = "SELECT max(value) FROM meta WHERE name = 'search' AND " WS_WHOLE("meta", WS_OF_META);
    int64_t is = 0, rows = 0, damaged = 0;
    int r = ws_conn_number(s, &s->writer, ask, &is, err);
    if (r >= 0)
        r = ws_conn_number(s, &s->writer, "SELECT 1 FROM meta WHERE name = '" IS_DAMAGED "'", &damaged, err);
    if (r < 0)
        return r;
    if (damaged)
        atomic_store(&s->store.index_state, WL_INDEX_DAMAGED);
    if (is < WL_INDEX_SUBSTRINGS || is > WL_INDEX_OFF) /* from before there was a choice */
        is = WL_INDEX_SUBSTRINGS;
    s->store.index = (uint8_t)is;
    if (s->opts.read_only || !s->opts.index || s->opts.index == is)
        return 0;
    r = ws_conn_number(s, &s->writer, "SELECT EXISTS(SELECT 1 FROM log)", &rows, err);
    if (r >= 0)
        r = change_index(s, s->opts.index, err);
    if (r < 0 && is_damaged(s)) { /* nothing else needs it; the next start tries again */
        s->store.index = s->opts.index == WL_INDEX_OFF ? WL_INDEX_OFF : (uint8_t)is;
        return 0;
    }
    if (r != 0)
        return r < 0 ? r : 0;
    if (rows)
        wb_log(WB_INFO, "the index of the search is another one now: what it knew is forgotten", WB_LZ("path", s->path),
               WB_LZ("was", wl_index_names[is - 1]), WB_LZ("search", wl_index_names[s->opts.index - 1]));
    s->store.index = s->opts.index;
    return 1;
}

/* ---- Indexing: in the writer ------------------------------------------------------------------------------ */

void ws_rows_changed(struct ws_sqlite *s)
{
    s->rows_changed = true;
    atomic_fetch_add(&s->changes, 1);
}

void ws_rows_changed_end(struct ws_sqlite *s)
{
    if (s->rows_changed)
        atomic_fetch_add(&s->changes, 1);
    s->rows_changed = false;
}

static void bind_text(sqlite3_stmt *st, int i, struct upp_str s)
{
    (void)sqlite3_bind_text64(st, i, s.p ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8);
}

int ws_forget_words(struct ws_sqlite *s, int64_t tenant, uint64_t node, uint64_t from, uint64_t to, struct upp_err *err)
{
    /* A damaged index is dropped before it is used again, also by another process. */
    if (must_drop(s))
        return ws_conn_exec(s, &s->writer, PUT_META(IS_DAMAGED, "1"), err);
    int r = WS_DO(s, WS_FORGET_TEXT, err, WS_N(tenant), WS_N(node), WS_N(from), WS_N(to));
    if (r >= 0)
        r = WS_DO(s, WS_FORGET_WORDS, err, WS_N(tenant), WS_N(node), WS_N(from), WS_N(to));
    if (r >= 0 && ws_changed(s))
        s->tidy = false;
    return of_index(s, s->writer.db, r, err);
}

static int insert_words(struct ws_sqlite *s, int64_t tenant, const struct wl_index_entry *w, struct upp_str grams,
                        struct upp_err *err)
{
    sqlite3_stmt *st;
    int r = ws_conn_need(s, &s->writer, WS_ADD_WORDS, &st, err);
    if (r < 0)
        return r;
    bind_text(st, 5, w->who);
    bind_text(st, 6, w->tool);
    ws_bind_name(st, 7, grams);
    r = WS_DO(s, WS_ADD_WORDS, err, WS_N(tenant), WS_N(w->node), WS_N(w->index), WS_N(w->time_ms));
    if (r == WS_CONSTRAINT) /* what was in its place has just been deleted */
        return ws_index_damaged(s, "an entry is in it twice", err);
    return r < 0 ? r : WS_DO(s, WS_ADD_TEXT, err, WS_N(sqlite3_last_insert_rowid(s->writer.db)));
}

static int add_words(struct ws_sqlite *s, const struct wl_index_entry *w, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf grams = WB_BUF(GRAMS_MAX);
    int64_t tenant = 0; /* 0: the store does not have this tenant */
    int r = ws_do_number(s, WS_TENANT, (const struct ws_arg[]){WS_A(w->tenant)}, 1, &tenant, err);
    ws_grams_of(w->text, s->store.index == WL_INDEX_WORDS, &grams);
    if (r >= 0)
        r = wb_buf_check(&grams, err);
    if (r >= 0 && tenant)
        r = ws_forget_words(s, tenant, w->node, w->index, (uint64_t)w->index + 1, err);
    if (r < 0 || !tenant)
        return r;
    return of_index(s, s->writer.db, insert_words(s, tenant, w, wb_buf_str(&grams), err), err);
}

int ws_learn(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    const struct wl_index_update *l = c->learned;
    int64_t at = 0;
    int r = 0;
    (void)tenant;
    if (l->anew)
        return drop_index(s, err);
    if (must_drop(s))
        return ws_index_damaged(s, "it is to be dropped", err);
    if (l->n && l->changes != atomic_load(&s->changes))
        return upp_fail(err, UPP_EBUSY, "rows were changed since they were read");
    if (l->upto != l->from)
        r = ws_do_number(s, WS_LEARNED, NULL, 0, &at, err);
    if (r >= 0 && l->upto != l->from && (uint64_t)at != l->from)
        return upp_fail(err, UPP_EBUSY, "the index is at row %lld, not %llu", (long long)at,
                        (unsigned long long)l->from);
    for (size_t i = 0; r >= 0 && i < l->n; i++)
        r = add_words(s, &l->list[i], err);
    return r < 0 || l->upto == l->from ? r : WS_DO(s, WS_LEARN_UPTO, err, WS_N(l->upto));
}

/* The number of levels in FTS5's structure record: after four bytes (and four more in its second version), a number of
 * seven bits per byte. 0: there is none. */
static int read_levels(struct ws_sqlite *s, unsigned *ret, struct upp_err *err)
{
    static const unsigned char second[] = {0xff, 0, 0, 1};
    sqlite3_stmt *st = NULL;
    *ret = 0;
    int rc = sqlite3_prepare_v2(s->writer.db, "SELECT block FROM words_text_data WHERE id = 10", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    const unsigned char *p = rc == SQLITE_ROW ? sqlite3_column_blob(st, 0) : NULL;
    int n = p ? sqlite3_column_bytes(st, 0) : 0, i = 4;
    if (n >= 8 && memcmp(p + 4, second, 4) == 0)
        i = 8;
    for (; i < n && *ret <= LEVELS; i++) {
        *ret = *ret << 7 | (p[i] & 0x7f);
        if (!(p[i] & 0x80))
            break;
    }
    (void)sqlite3_finalize(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : ws_sqlite_fail(s, s->writer.db, rc, "the search index", err);
}

/* 1: it did something. */
static int merge(struct ws_sqlite *s, int pages, struct upp_err *err)
{
    char sql[96];
    sqlite3_int64 before = sqlite3_total_changes64(s->writer.db);
    (void)snprintf(sql, sizeof sql, "INSERT INTO words_text(words_text, rank) VALUES('merge', %d)", pages);
    int r = ws_conn_exec(s, &s->writer, sql, err);
    /* 'merge' counts one change if it did nothing. */
    return r < 0 ? r : sqlite3_total_changes64(s->writer.db) - before >= 2;
}

/* FTS5 keeps deleted entries until all its segments are merged; a file that was just opened may contain some. A
 * negative number of pages begins such a merge, and a positive one continues it. With some versions of SQLite (3.40)
 * every beginning adds two levels to the index, which nothing but a new index ever takes away: so a merge begins once,
 * whatever is added and deleted meanwhile, and the index is built anew before FTS5 has too many. */
static int tidy_step(struct ws_sqlite *s, struct upp_err *err)
{
    unsigned levels = 0;
    int r = 0;
    if (s->tidy && !s->merging)
        return 0;
    if (!s->merging)
        r = read_levels(s, &levels, err);
    if (r < 0)
        return r;
    if (levels > LEVELS) {
        r = drop_index(s, err);
        if (r >= 0)
            wb_log(WB_INFO, "the search index has many levels: it is filled again from the log",
                   WB_LZ("path", s->path));
        return r;
    }
    if (!s->merging)
        s->tidy = true;
    r = merge(s, s->merging ? MERGE : -MERGE, err);
    s->merging = r > 0;
    return r;
}

int ws_tidy(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    (void)tenant;
    *c->more = false;
    if (must_drop(s))
        return 0; /* it is dropped by who follows the log */
    int r = of_index(s, s->writer.db, tidy_step(s, err), err);
    if (r >= 0)
        *c->more = s->merging;
    return r;
}

/* ---- Following ------------------------------------------------------------------------------------------- */

static int follow(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    sqlite3_stmt *st;
    size_t bytes = 0;
    uint64_t changes = atomic_load(&x->s->changes); /* before anything is read */
    struct wl_followed *p = wb_new_n(x->a, struct wl_followed, x->range.max_rows);
    int r = ws_conn_need(x->s, c, WS_FOLLOW, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, WB_MIN(x->key, (uint64_t)INT64_MAX));
    ws_bind_u64(st, 2, x->range.max_rows);
    while (p && x->n < x->range.max_rows && (r = ws_step(x->s, st, err)) == 1) {
        bytes += (size_t)sqlite3_column_bytes(st, 7) + (size_t)sqlite3_column_bytes(st, 8);
        if (x->n && bytes > x->range.max_bytes)
            break;
        p[x->n].changes = changes;
        p[x->n].number = ws_column_u64(st, 0);
        p[x->n].tenant = ws_column_str(x->a, st, 1);
        ws_read_columns(st, 2, ws_rows.columns, ws_rows.n, x->a, &p[x->n++].row);
    }
    (void)sqlite3_reset(st);
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wl_followed **)x->ret = p;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int ws_look_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes,
                                 struct wb_arena *a, struct wl_followed **ret, size_t *n, struct upp_err *err)
{
    struct ws_reading x = {.s = ws_sqlite(s),
                           .fn = follow,
                           .a = a,
                           .ret = ret,
                           .key = after,
                           .range = ws_range(&(struct wl_range){.max_rows = max_rows, .max_bytes = max_bytes})};
    int r = ws_ask(&x, err);
    if (r >= 0)
        *n = x.n;
    return r;
}

static int one_number(struct ws_reading *x, struct ws_conn *c, enum ws_statement i, uint64_t *ret, struct upp_err *err)
{
    sqlite3_stmt *st;
    int r = ws_conn_need(x->s, c, i, &st, err);
    if (r >= 0)
        r = ws_step(x->s, st, err);
    if (r < 0)
        return r;
    *ret = r == 1 ? ws_column_u64(st, 0) : 0;
    (void)sqlite3_reset(st);
    return 0;
}

int ws_read_learned(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    struct wl_progress p = {0};
    int r = one_number(x, c, WS_LEARNED, &p.upto, err);
    if (r >= 0)
        r = one_number(x, c, WS_LOG_END, &p.end, err);
    p.end = WB_MAX(p.upto, p.end); /* the newest rows may have been dropped */
    if (r >= 0)
        *(struct wl_progress *)x->ret = p;
    return r;
}

/* ---- Searching ------------------------------------------------------------------------------------------- */

struct words {
    struct upp_str p[WL_QUERY_WORDS];
    size_t n;
};

static int split(struct upp_str text, struct words *ret, struct upp_err *err)
{
    struct upp_str word;
    while (wb_str_split(&text, ' ', &word)) {
        if (!word.n)
            continue;
        if (ret->n == WL_QUERY_WORDS)
            return upp_fail(err, UPP_ELIMIT, "more than %d words to look for", WL_QUERY_WORDS);
        ret->p[ret->n++] = word;
    }
    return 0;
}

/* The FTS5 expression for all words that the index can answer. */
static void match_of(const struct words *w, bool whole, struct wb_buf *out)
{
    for (size_t i = 0; i < w->n; i++)
        (void)ws_grams_words(w->p[i], whole, GRAMS / w->n, out);
}

enum { AT_TENANT = 1, AT_BEFORE, AT_MAX, AT_MATCH, AT_WHO, AT_TOOL, AT_SINCE, AT_UNTIL, AT_LOW, AT_HIGH, AT_FAMILY };

static void sql_of(const struct wl_query *q, bool match, struct wb_buf *out)
{
    const char *row = match ? "words_text.rowid" : "w.id";
    wb_buf_addf(out, "SELECT w.id, w.node, w.entry FROM %s WHERE %s < ?%d",
                match ? "words_text CROSS JOIN words w ON w.id = words_text.rowid" : "words w", row, AT_BEFORE);
    wb_buf_addf(out, " AND w.tenant = (SELECT id FROM tenants WHERE name = ?%d)", AT_TENANT);
    if (match)
        wb_buf_addf(out, " AND words_text MATCH ?%d", AT_MATCH);
    if (q->who.n)
        wb_buf_addf(out, " AND w.who = ?%d", AT_WHO);
    if (q->tool.n)
        wb_buf_addf(out, " AND instr(char(10) || w.tool || char(10), char(10) || ?%d || char(10))", AT_TOOL);
    if (q->since_ms)
        wb_buf_addf(out, " AND w.time >= ?%d", AT_SINCE);
    if (q->until_ms)
        wb_buf_addf(out, " AND w.time < ?%d", AT_UNTIL);
    if (q->in_family)
        wb_buf_addf(out,
                    " AND (w.node BETWEEN ?%d AND ?%d OR w.node IN"
                    " (SELECT %s FROM stray_nodes x WHERE x.tenant = w.tenant AND x.family = ?%d))",
                    AT_LOW, AT_HIGH, WS_SIGNED_KEY("place"), AT_FAMILY);
    wb_buf_addf(out, " ORDER BY %s DESC LIMIT ?%d", row, AT_MAX);
    wb_buf_addc(out, 0);
}

static void bind_query(sqlite3_stmt *st, const struct ws_reading *x, struct upp_str match,
                       const unsigned char family[4])
{
    const struct wl_query *q = x->query;
    uint64_t low = (uint64_t)q->family << 32;
    ws_bind_name(st, AT_TENANT, x->o->tenant);
    ws_bind_u64(st, AT_BEFORE, q->after ? q->after : INT64_MAX);
    ws_bind_u64(st, AT_MAX, x->max);
    bind_text(st, AT_MATCH, match);
    bind_text(st, AT_WHO, q->who);
    bind_text(st, AT_TOOL, q->tool);
    ws_bind_u64(st, AT_SINCE, (uint64_t)q->since_ms);
    ws_bind_u64(st, AT_UNTIL, (uint64_t)q->until_ms);
    ws_bind_u64(st, AT_LOW, low);
    ws_bind_u64(st, AT_HIGH, low | UINT32_MAX);
    (void)sqlite3_bind_blob(st, AT_FAMILY, family, 4, SQLITE_STATIC);
}

static void finalizep(sqlite3_stmt **st)
{
    (void)sqlite3_finalize(*st);
}

static int search(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf sql = WB_BUF(SQL_MAX), match = WB_BUF(SQL_MAX);
    WB_CLEANUP(finalizep) sqlite3_stmt *st = NULL;
    const struct wl_query *q = x->query;
    struct words w = {.n = 0};
    unsigned char family[4] = {(unsigned char)(q->family >> 24), (unsigned char)(q->family >> 16),
                               (unsigned char)(q->family >> 8), (unsigned char)q->family};
    if (is_damaged(x->s))
        return upp_fail(err, UPP_EREFUSED, "the search index is damaged");
    int r = split(q->words, &w, err);
    if (r < 0)
        return r;
    match_of(&w, x->s->store.index == WL_INDEX_WORDS, &match);
    sql_of(q, match.n > 0, &sql);
    r = wb_buf_check(&sql, err);
    if (r >= 0)
        r = wb_buf_check(&match, err);
    if (r < 0)
        return r;
    int rc = sqlite3_prepare_v2(c->db, sql.p, (int)sql.n, &st, NULL);
    if (rc != SQLITE_OK) {
        r = of_search(x->s, c->db, ws_sqlite_fail(x->s, c->db, rc, "a search", err), err);
        return is_damaged(x->s) ? -UPP_EREFUSED : r;
    }
    bind_query(st, x, wb_buf_str(&match), family);
    struct wl_hit *p = wb_new_n(x->a, struct wl_hit, x->max);
    while (p && x->n < x->max && (r = ws_step(x->s, st, err)) == 1)
        p[x->n++] = (struct wl_hit){
            .number = ws_column_u64(st, 0), .node = ws_column_u64(st, 1), .index = (uint32_t)ws_column_u64(st, 2)};
    if (r < 0)
        r = of_search(x->s, c->db, r, err);
    (void)sqlite3_reset(st);
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wl_hit **)x->ret = p;
    return r >= 0 ? 0 : is_damaged(x->s) ? -UPP_EREFUSED : r;
}

WEFT_SUSPENDS int ws_look_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q,
                                 struct wb_arena *a, struct wl_hit **ret, size_t *n, struct upp_err *err)
{
    struct ws_reading x = {.s = ws_sqlite(s),
                           .fn = search,
                           .o = o,
                           .a = a,
                           .ret = ret,
                           .query = q,
                           .max = WB_MIN(q->max, (size_t)WS_LIST_MAX)};
    int r = ws_ask(&x, err);
    if (r >= 0)
        *n = x.n;
    return r;
}
