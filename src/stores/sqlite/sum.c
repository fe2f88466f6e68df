/* stores/sqlite/sum.c — computes the checksum of a row, and the SQL functions that verify it. */
#include "stores/sqlite/sum.h"

#include <ctype.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "stores/driver.h"

const struct ws_summed ws_summed[] = {
    {"meta", WS_OF_META},
    {"tenants", WS_OF_TENANTS},
    {"log", WS_OF_LOG},
    {"nodes", WS_OF_NODES},
    {"threads", WS_OF_THREADS},
    {"runs", WS_OF_RUNS},
    {"aliases", WS_OF_ALIASES},
    {"keys", WS_OF_KEYS},
    {"branches", WS_OF_BRANCHES},
    {"vals", WS_OF_VALS},
    {"blobs", WS_OF_BLOBS},
    {"pieces", WS_OF_PIECES},
    {NULL, NULL},
};

/* ---- The checksum ------------------------------------------------------------------------------------------ */

/* Every step is invertible, so one differing word always yields a different 64-bit state; only the final reduction to
 * 32 bits can lose the difference. Four words are processed in parallel. */
static const uint64_t seeds[4] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 0xd6e8feb86659fd93u};

static inline uint64_t stir(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

/* A cheaper step: for long texts, whose lanes are stirred again at the end. */
static inline uint64_t turn(uint64_t h, uint64_t word)
{
    h ^= word;
    return (h << 29 | h >> 35) * 0xd6e8feb86659fd93u;
}

static inline uint64_t word_at(const unsigned char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return le64toh(w);
}

static uint64_t stir_bytes(uint64_t h, const unsigned char *p, size_t n)
{
    enum { LANES = 4, STEP = 8 * LANES };
    const size_t all = n;
    if (n >= STEP) {
        uint64_t lane[LANES];
        for (int i = 0; i < LANES; i++)
            lane[i] = h ^ seeds[i];
        for (; n >= STEP; p += STEP, n -= STEP)
            for (int i = 0; i < LANES; i++)
                lane[i] = turn(lane[i], word_at(p + 8 * i));
        for (int i = 0; i < LANES; i++)
            h = stir(h, lane[i]);
    }
    for (; n >= 8; p += 8, n -= 8)
        h = stir(h, word_at(p));
    unsigned char rest[8] = {0};
    if (n)
        memcpy(rest, p, n);
    return stir(stir(h, word_at(rest)), all);
}

/* Makes values of different types differ. */
static inline uint64_t of_type(uint64_t h, int type)
{
    return h ^ (uint64_t)type * 0x94d049bb133111ebu;
}

static uint64_t stir_value(uint64_t h, sqlite3_value *v)
{
    int type = sqlite3_value_type(v);
    h = of_type(h, type);
    if (type == SQLITE_INTEGER)
        return stir(h, (uint64_t)sqlite3_value_int64(v));
    if (type == SQLITE_NULL)
        return stir(h, 0);
    const unsigned char *p = sqlite3_value_blob(v); /* a real number, which no table of ours has, counts as its text */
    return stir_bytes(h, p, p ? (size_t)sqlite3_value_bytes(v) : 0);
}

/* 32 bits, signed: SQLite stores that in four bytes. */
static inline sqlite3_int64 finish(uint64_t h)
{
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return (int32_t)(h >> 32);
}

/* Table names have at most eight letters, and are compile-time constants where speed matters. */
static inline uint64_t begin(const char *table)
{
    uint64_t name = 0;
    for (int i = 0; i < 8 && table[i]; i++)
        name |= (uint64_t)(unsigned char)table[i] << 8 * i;
    return stir(seeds[1], name);
}

/* ---- Naming a row ------------------------------------------------------------------------------------------ */

enum how { NUMBER, KEY, POSITION, ID, TEXT, PIECE };

/* The columns that identify a row. */
static const struct {
    const char *table;
    struct {
        const char *label;
        uint8_t column, how;
    } parts[3];
} names[] = {
    {"meta", {{"name", 0, TEXT}}},
    {"tenants", {{"number", 0, NUMBER}, {"name", 1, TEXT}}},
    {"log", {{"node", 1, KEY}, {"position", 2, POSITION}}},
    {"nodes", {{"node", 1, KEY}}},
    {"threads", {{"thread", 1, ID}}},
    {"runs", {{"run", 2, ID}}},
    {"aliases", {{"alias", 3, TEXT}}},
    {"keys", {{"route", 1, TEXT}, {"key", 2, TEXT}}},
    {"branches", {{"node", 1, KEY}}},
    {"vals", {{"space", 1, TEXT}, {"name", 2, TEXT}}},
    {"blobs", {{"key", 1, ID}}},
    {"pieces", {{"blob", 0, PIECE}}},
};

static int put_bytes(char *out, size_t room, enum how how, sqlite3_value *v)
{
    enum { PRINTED = 40 };
    const unsigned char *p = sqlite3_value_blob(v);
    size_t n = WB_MIN((size_t)sqlite3_value_bytes(v), (size_t)PRINTED), k = 0;
    bool text = how == TEXT;
    for (size_t i = 0; text && p && i < n; i++)
        text = isascii(p[i]) && isprint(p[i]);
    if (!p || text)
        return snprintf(out, room, "'%.*s'", p ? (int)n : 0, p ? (const char *)p : "");
    for (size_t i = 0; i < n && k + 3 < room; i++)
        k += (size_t)snprintf(out + k, room - k, "%02x", p[i]);
    return (int)k;
}

static int put_part(char *out, size_t room, enum how how, sqlite3_value *v)
{
    uint64_t x = (uint64_t)sqlite3_value_int64(v);
    switch (how) {
    case NUMBER:
        return snprintf(out, room, "%lld", (long long)x);
    case KEY:
        return snprintf(out, room, "%016llx", (unsigned long long)x);
    case POSITION:
        return snprintf(out, room, "%llu.%u", (unsigned long long)(x >> 16), (unsigned)(x & 0xffff));
    case PIECE: /* its id combines the blob's number and its own */
        return snprintf(out, room, "%llu, piece %u", (unsigned long long)(x >> 20), (unsigned)(x & 0xfffff));
    case ID:
    case TEXT:
        return put_bytes(out, room, how, v);
    }
    return 0;
}

/* "log, node 00..., position 3.0: its checksum is wrong" */
static void name_row(char out[WS_SUM_NAME], const char *table, int n, sqlite3_value **v)
{
    size_t k = (size_t)snprintf(out, WS_SUM_NAME, "a row of %s", table);
    for (size_t i = 0; i < WB_LEN(names); i++) {
        if (strcmp(names[i].table, table) != 0)
            continue;
        for (size_t p = 0; p < WB_LEN(names[i].parts) && names[i].parts[p].label; p++) {
            int at = names[i].parts[p].column;
            if (at >= n || k + 120 > WS_SUM_NAME)
                break;
            k += (size_t)snprintf(out + k, WS_SUM_NAME - k, ", %s ", names[i].parts[p].label);
            k += (size_t)put_part(out + k, WS_SUM_NAME - k, (enum how)names[i].parts[p].how, v[at]);
        }
    }
    (void)snprintf(out + k, WS_SUM_NAME - k, ": its checksum is wrong");
}

/* ---- In SQL ------------------------------------------------------------------------------------------------ */

static sqlite3_int64 sum_of(const char *table, int n, sqlite3_value **v)
{
    uint64_t h = begin(table);
    for (int i = 0; i < n; i++)
        h = stir_value(h, v[i]);
    return finish(h);
}

static inline uint64_t stir_number(uint64_t h, uint64_t v)
{
    return stir(of_type(h, SQLITE_INTEGER), v);
}

static inline uint64_t stir_str(uint64_t h, const char *p, size_t n)
{
    return p ? stir_bytes(of_type(h, SQLITE_BLOB), (const unsigned char *)p, n) : stir(of_type(h, SQLITE_NULL), 0);
}

int64_t ws_sum_of_row(int64_t tenant, const struct wl_row *row)
{
    const bool run = !wb_uuid_is_nil(row->run);
    uint64_t h = begin("log");
    h = stir_number(h, (uint64_t)tenant);
    h = stir_number(h, row->node);
    h = stir_number(h, row->pos);
    h = stir_number(h, row->n_entries);
    h = stir_str(h, run ? (const char *)row->run.b : NULL, sizeof row->run.b);
    h = stir_number(h, row->format);
    h = stir_str(h, row->body.p, row->body.n);
    return finish(stir_str(h, row->tape.p, row->tape.n));
}

static const char *table_of(sqlite3_value *v)
{
    const char *table = (const char *)sqlite3_value_text(v);
    return table ? table : "";
}

static void make_sum(sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *table = table_of(v[0]);
    if (*table)
        sqlite3_result_int64(c, sum_of(table, n - 1, v + 1));
    else
        sqlite3_result_error_nomem(c);
}

static bool holds(int n, sqlite3_value **v)
{
    return sqlite3_value_type(v[0]) == SQLITE_INTEGER &&
           sqlite3_value_int64(v[0]) == sum_of(table_of(v[1]), n - 2, v + 2);
}

static void check_whole(sqlite3_context *c, int n, sqlite3_value **v)
{
    char name[WS_SUM_NAME];
    if (holds(n, v)) {
        sqlite3_result_int(c, 1);
        return;
    }
    name_row(name, table_of(v[1]), n - 2, v + 2);
    sqlite3_result_error(c, name, -1);
    sqlite3_result_error_code(c, SQLITE_FORMAT); /* SQLite itself does not use this code */
}

static void name_damage(sqlite3_context *c, int n, sqlite3_value **v)
{
    char name[WS_SUM_NAME];
    if (holds(n, v))
        return;
    name_row(name, table_of(v[1]), n - 2, v + 2);
    sqlite3_result_text(c, name, -1, SQLITE_TRANSIENT);
}

int ws_sum_functions(sqlite3 *db)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    int rc = sqlite3_create_function_v2(db, "weft_sum", -1, flags, NULL, make_sum, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(db, "weft_whole", -1, flags, NULL, check_whole, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(db, "weft_damage", -1, flags, NULL, name_damage, NULL, NULL, NULL);
    return rc;
}

int ws_sum_all(sqlite3 *db)
{
    int rc = SQLITE_OK;
    for (const struct ws_summed *t = ws_summed; rc == SQLITE_OK && t->table; t++) {
        char sql[1024];
        (void)sqlite3_snprintf(sizeof sql, sql, "UPDATE %s SET sum = weft_sum('%s', %s)", t->table, t->table,
                               t->columns);
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    return rc;
}

int ws_sum_check(sqlite3 *db, struct ws_damage *ret)
{
    int rc = SQLITE_OK;
    *ret = (struct ws_damage){0};
    for (const struct ws_summed *t = ws_summed; rc == SQLITE_OK && t->table; t++) {
        char sql[1024];
        sqlite3_stmt *st = NULL;
        (void)sqlite3_snprintf(sizeof sql, sql,
                               "SELECT count(why), min(why) FROM (SELECT weft_damage(sum, '%s', %s) AS why FROM %s)",
                               t->table, t->columns, t->table);
        rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
        if (rc == SQLITE_OK)
            rc = sqlite3_step(st);
        if (rc == SQLITE_ROW) {
            const char *why = (const char *)sqlite3_column_text(st, 1);
            if (!ret->n && why)
                (void)snprintf(ret->first, sizeof ret->first, "%s", why);
            ret->n += (uint64_t)sqlite3_column_int64(st, 0);
            rc = SQLITE_OK;
        }
        (void)sqlite3_finalize(st);
    }
    return rc;
}

/* ---- In C -------------------------------------------------------------------------------------------------- */

/* Each connection is used by one thread at a time, so its column values can be used as ordinary (protected) values. */
bool ws_sum_holds(sqlite3_stmt *st, const char *table, int n, char name[WS_SUM_NAME])
{
    enum { MOST = 16 };
    sqlite3_value *v[MOST];
    n = WB_MIN(n, (int)MOST);
    for (int i = 0; i < n; i++)
        v[i] = sqlite3_column_value(st, i);
    if (sqlite3_column_type(st, n) == SQLITE_INTEGER && sqlite3_column_int64(st, n) == sum_of(table, n, v))
        return true;
    name_row(name, table, n, v);
    return false;
}
