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
#include "base/log.h"
#include "base/str.h"
#include "stores/sqlite/grams.h"
#include "stores/sqlite/reading.h"
#include "stores/sqlite/sum.h"

enum {
    GRAMS     = 64, /* of all words of a query; more would hardly narrow the match */
    SQL_MAX   = 64 << 10,
    GRAMS_MAX = 256 << 10, /* bytes of a text's set: three per number at most */
};

#define FORGET_ALL "DELETE FROM words; INSERT INTO words_text(words_text) VALUES('delete-all');"
#define PUT_META(name, value)                                                                                          \
    "INSERT OR REPLACE INTO meta(" WS_OF_META ", sum) VALUES('" name "', " value                                       \
    ", " WS_SUM("meta", "'" name "', " value) ");"

/* ---- The kind of index ------------------------------------------------------------------------------------ */

/* Dropping the index and recording its new kind are one transaction. The new one is filled as the log is followed. */
static int change_index(struct ws_sqlite *s, int64_t to, struct upp_err *err)
{
    char sql[1024];
    (void)snprintf(sql, sizeof sql,
                   "BEGIN IMMEDIATE;" FORGET_ALL PUT_META("learned", "0") PUT_META("search", "%d") "COMMIT", (int)to,
                   (int)to);
    struct upp_err why  = {0};
    int            r    = ws_conn_exec(s, &s->writer, sql, &why);
    bool           full = r < 0 && (sqlite3_errcode(s->writer.db) & 0xff) == SQLITE_FULL;
    if (r < 0 && !sqlite3_get_autocommit(s->writer.db))
        (void)sqlite3_exec(s->writer.db, "ROLLBACK", NULL, NULL, NULL); /* the error is already reported */
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
    int64_t           is = 0, rows = 0;
    int               r = ws_conn_number(s, &s->writer, ask, &is, err);
    if (r < 0)
        return r;
    if (is < WL_INDEX_SUBSTRINGS || is > WL_INDEX_OFF) /* from before there was a choice */
        is = WL_INDEX_SUBSTRINGS;
    s->store.index = (uint8_t)is;
    if (s->opts.read_only || !s->opts.index || s->opts.index == is)
        return 0;
    r = ws_conn_number(s, &s->writer, "SELECT EXISTS(SELECT 1 FROM log)", &rows, err);
    if (r >= 0)
        r = change_index(s, s->opts.index, err);
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

static int add_words(struct ws_sqlite *s, const struct wl_index_entry *w, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf grams  = WB_BUF(GRAMS_MAX);
    int64_t                               tenant = 0; /* 0: the store does not have this tenant */
    int r = ws_do_number(s, WS_TENANT, (const struct ws_arg[]){WS_A(w->tenant)}, 1, &tenant, err);
    ws_grams_of(w->text, s->store.index == WL_INDEX_WORDS, &grams);
    if (r >= 0)
        r = wb_buf_check(&grams, err);
    if (r >= 0 && tenant)
        r = ws_forget_words(s, tenant, w->node, w->index, (uint64_t)w->index + 1, err);
    if (r < 0 || !tenant)
        return r;
    sqlite3_stmt *st;
    r = ws_conn_need(s, &s->writer, WS_ADD_WORDS, &st, err);
    if (r < 0)
        return r;
    bind_text(st, 5, w->who);
    bind_text(st, 6, w->tool);
    ws_bind_name(st, 7, wb_buf_str(&grams));
    r = WS_DO(s, WS_ADD_WORDS, err, WS_N(tenant), WS_N(w->node), WS_N(w->index), WS_N(w->time_ms));
    return r < 0 ? r : WS_DO(s, WS_ADD_TEXT, err, WS_N(sqlite3_last_insert_rowid(s->writer.db)));
}

int ws_learn(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    const struct wl_index_update *l = c->learned;
    int                           r = 0;
    (void)tenant;
    if (l->n && l->changes != atomic_load(&s->changes))
        return upp_fail(err, UPP_EBUSY, "rows were changed since they were read");
    if (l->anew)
        r = ws_conn_exec(s, &s->writer, FORGET_ALL, err);
    for (size_t i = 0; r >= 0 && i < l->n; i++)
        r = add_words(s, &l->list[i], err);
    return r < 0 ? r : WS_DO(s, WS_LEARN_UPTO, err, WS_N(l->upto));
}

/* FTS5 keeps deleted entries until its segments are merged. A file that was just opened may contain some. */
int ws_tidy(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    (void)tenant;
    sqlite3_int64 before = sqlite3_total_changes64(s->writer.db);
    int           r      = 0;
    if (!s->tidy)
        r = ws_conn_exec(s, &s->writer, "INSERT INTO words_text(words_text, rank) VALUES('merge', -64)", err);
    /* 'merge' counts one change if it did nothing. */
    s->tidy  = s->tidy || (r >= 0 && sqlite3_total_changes64(s->writer.db) - before < 2);
    *c->more = !s->tidy;
    return r;
}

/* ---- Following ------------------------------------------------------------------------------------------- */

static int follow(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    sqlite3_stmt       *st;
    size_t              bytes   = 0;
    uint64_t            changes = atomic_load(&x->s->changes); /* before anything is read */
    struct wl_followed *p       = wb_new_n(x->a, struct wl_followed, x->range.max_rows);
    int                 r       = ws_conn_need(x->s, c, WS_FOLLOW, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, WB_MIN(x->key, (uint64_t)INT64_MAX));
    ws_bind_u64(st, 2, x->range.max_rows);
    while (p && x->n < x->range.max_rows && (r = ws_step(x->s, st, err)) == 1) {
        bytes += (size_t)sqlite3_column_bytes(st, 7) + (size_t)sqlite3_column_bytes(st, 8);
        if (x->n && bytes > x->range.max_bytes)
            break;
        p[x->n].changes = changes;
        p[x->n].number  = ws_column_u64(st, 0);
        p[x->n].tenant  = ws_column_str(x->a, st, 1);
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
    struct ws_reading x = {.s     = ws_sqlite(s),
                           .fn    = follow,
                           .a     = a,
                           .ret   = ret,
                           .key   = after,
                           .range = ws_range(&(struct wl_range){.max_rows = max_rows, .max_bytes = max_bytes})};
    int               r = ws_ask(&x, err);
    if (r >= 0)
        *n = x.n;
    return r;
}

static int one_number(struct ws_reading *x, struct ws_conn *c, enum ws_statement i, uint64_t *ret, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = ws_conn_need(x->s, c, i, &st, err);
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
    int                r = one_number(x, c, WS_LEARNED, &p.upto, err);
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
    size_t         n;
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
                    " AND (w.node BETWEEN ?%d AND ?%d OR w.node IN (SELECT " WS_SIGNED_KEY(
                        "place") " FROM stray_nodes x"
                                 " WHERE x.tenant = w.tenant AND x.family = ?%d))",
                    AT_LOW, AT_HIGH, AT_FAMILY);
    wb_buf_addf(out, " ORDER BY %s DESC LIMIT ?%d", row, AT_MAX);
    wb_buf_addc(out, 0);
}

static void bind_query(sqlite3_stmt *st, const struct ws_reading *x, struct upp_str match,
                       const unsigned char family[4])
{
    const struct wl_query *q   = x->query;
    uint64_t               low = (uint64_t)q->family << 32;
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
    WB_CLEANUP(finalizep) sqlite3_stmt   *st = NULL;
    const struct wl_query                *q  = x->query;
    struct words                          w  = {.n = 0};
    unsigned char family[4]                  = {(unsigned char)(q->family >> 24), (unsigned char)(q->family >> 16),
                                                (unsigned char)(q->family >> 8), (unsigned char)q->family};
    int           r                          = split(q->words, &w, err);
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
    if (rc != SQLITE_OK)
        return ws_sqlite_fail(x->s, c->db, rc, "a search", err);
    bind_query(st, x, wb_buf_str(&match), family);
    struct wl_hit *p = wb_new_n(x->a, struct wl_hit, x->max);
    while (p && x->n < x->max && (r = ws_step(x->s, st, err)) == 1)
        p[x->n++] = (struct wl_hit){
            .number = ws_column_u64(st, 0), .node = ws_column_u64(st, 1), .index = (uint32_t)ws_column_u64(st, 2)};
    (void)sqlite3_reset(st);
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wl_hit **)x->ret = p;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int ws_look_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q,
                                 struct wb_arena *a, struct wl_hit **ret, size_t *n, struct upp_err *err)
{
    struct ws_reading x = {.s     = ws_sqlite(s),
                           .fn    = search,
                           .o     = o,
                           .a     = a,
                           .ret   = ret,
                           .query = q,
                           .max   = WB_MIN(q->max, (size_t)WS_LIST_MAX)};
    int               r = ws_ask(&x, err);
    if (r >= 0)
        *n = x.n;
    return r;
}
