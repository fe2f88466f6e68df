/* What the search keeps of the log: pieces of texts, whole words, or nothing; and from one to the other. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

#include "base/buf.h"
#include "base/file.h"
#include "log/change.h"
#include "log/search.h"
#include "stores/blobs/blobs.h"
#include "stores/memory/memory.h"
#include "stores/sqlite/store.h"
#include "support/stores.h"

static WEFT_SUSPENDS int say(struct wl_store *s, uint64_t node, const char *text, struct upp_err *err)
{
    UPP_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(1 << 20);
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_cstr(text)};
    static struct wm_entry entry; /* not kept over a wait */
    struct wl_end end;
    TRY(wl_node_end(s, &ALICE, node, &end, err));
    entry = (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                              .origin = WM_ORIGIN_IMPORT,
                              .audience = WM_AUDIENCE_ALL,
                              .who = UPP_STR("alice"),
                              .message = {.role = UPP_ROLE_USER, .time_ms = 1, .parts = &part, .n_parts = 1}};
    TRY(wm_row_write(&(struct wm_row){.time_ms = 1, .entries = &entry, .n_entries = 1}, &body, err));
    struct wl_row row = {.node = node, .pos = end.pos, .n_entries = 1, .format = WM_FORMAT, .body = wb_buf_str(&body)};
    return COMMIT(s, ALICE, NULL, err, ADD_ROW(&row));
}

static WEFT_SUSPENDS int learn(struct wl_store *s, struct upp_err *err)
{
    size_t n = 1;
    while (n)
        TRY(wl_index_rows(s, &n, err));
    return 0;
}

/* How many are found; or why none. */
static WEFT_SUSPENDS int found(struct wl_store *s, const char *words, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_results x;
    struct wl_search q = {.words = wb_cstr(words), .max = WL_SEARCH_MAX};
    int r = wl_search(s, &ALICE, &q, &a, &x, err);
    for (size_t i = 0; r >= 0 && i < x.n && x.whole; i++)
        FAIL_UNLESS(x.p[i].match_n > 0 && x.p[i].match + x.p[i].match_n <= x.p[i].snippet.n);
    return r < 0 ? r : (int)x.n;
}

#define FINDS(words, want)                                                                                             \
    do {                                                                                                               \
        int found_ = found(s, words, err);                                                                             \
        if (found_ != (want))                                                                                          \
            test_note("'%s': %d, not %d", words, found_, (want));                                                      \
        FAIL_UNLESS(found_ == (want));                                                                                 \
    } while (0)

static WEFT_SUSPENDS int open_as(const char *path, uint8_t index, struct wl_store **ret, struct upp_err *err)
{
    return ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path, .index = index, .reserve_kib = UINT32_MAX), ret, err);
}

static const char *const texts[] = {
    "He plans a journey to the lake",
    "The plan: planets, planes and a foo_bar.",
    ("\xc3\x9c"
     "BER den Fluss; don't, x->y and 100%"),
    "\xe6\x9d\xb1\xe4\xba\xac\xe9\x83\xbd\xe3\x81\xab\xe8\xa1\x8c\xe3\x81\x8f",
};

static WEFT_SUSPENDS int say_all(struct wl_store *s, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_thread x;
    TRY(wl_thread_new(s, &ALICE, NULL, &a, &x, err));
    for (size_t i = 0; i < WB_LEN(texts); i++)
        TRY(say(s, x.head, texts[i], err));
    return 0;
}

static WEFT_SUSPENDS int finds_words(struct wl_store *s, struct upp_err *err)
{
    FAIL_UNLESS(wl_store_index(s) == WL_INDEX_WORDS);
    FINDS("PLAN", 1);
    FINDS("plan planes", 1);
    FINDS("lan", 0);
    FINDS("a", 2);
    FINDS("foo", 1);
    FINDS("foo_bar.", 1);
    FINDS("oo_bar", 0);
    FINDS("foo_b", 0);
    FINDS("\xc3\xbc"
          "ber fluss",
          1);
    FINDS("don't", 1);
    FINDS("->", 1); /* no word: all are read */
    FINDS("x->y", 1);
    FINDS("100", 1);
    FINDS("00%", 0);
    FINDS("\xe4\xba\xac\xe9\x83\xbd", 1); /* no blanks there: any piece */
    FINDS("\xe9\x83\xbd\xe4\xba\xac", 0);
    return 0;
}

static WEFT_SUSPENDS int finds_pieces(struct wl_store *s, struct upp_err *err)
{
    FINDS("plan", 2);
    FINDS("lan", 2);
    FINDS("oo_b", 1);
    FINDS("\xe4\xba\xac\xe9\x83\xbd", 1);
    return 0;
}

/* ---- From one to the other --------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int refuses(struct wl_store *s, struct upp_err *err)
{
    struct upp_err why = {0};
    size_t n;
    FAIL_UNLESS(wl_store_index(s) == WL_INDEX_OFF && wl_store_index_state(s) == WL_INDEX_SOUND);
    FAIL_UNLESS(found(s, "plan", &why) == -UPP_EREFUSED && strstr(why.msg, "`search`"));
    FAIL_UNLESS(wl_index_rows(s, &n, NULL) == -UPP_EREFUSED);
    FAIL_UNLESS(wl_reindex(s, &ALICE, 1, 0, 1, NULL) == -UPP_EREFUSED);
    (void)err;
    return 0;
}

/* One number of the file. */
static int64_t ask(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    int64_t n = -1;
    if (test_db_open(path, &db) == SQLITE_OK && sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK) {
        int rc = sqlite3_step(st);
        n = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : rc == SQLITE_DONE ? 0 : -1;
    }
    (void)sqlite3_finalize(st);
    test_db_close(db);
    return n;
}

static WEFT_SUSPENDS int in_turn(const char *path, uint8_t index, uint8_t want, bool learned, struct upp_err *err)
{
    struct wl_store *s;
    uint64_t upto, end;
    TRY(open_as(path, index, &s, err));
    int r = wl_store_index(s) == want ? 0 : -UPP_EBUG;
    if (r >= 0)
        r = wl_get_index_progress(s, &upto, &end, err);
    if (r >= 0 && (end != WB_LEN(texts) || upto != (learned ? end : 0)))
        r = upp_fail(err, UPP_EBUG, "%d of %d are known", (int)upto, (int)end);
    if (r >= 0 && want != WL_INDEX_OFF)
        r = learn(s, err);
    if (r >= 0)
        r = want == WL_INDEX_OFF     ? refuses(s, err)
            : want == WL_INDEX_WORDS ? finds_words(s, err)
                                     : finds_pieces(s, err);
    s->ops->close(s);
    return r;
}

static WEFT_SUSPENDS int changes(void *arg, struct upp_err *err)
{
    enum { SAME, PIECES, WORDS, OFF };
    const char *path = arg;
    struct wl_store *s;
    TRY(open_as(path, SAME, &s, err));
    int r = wl_store_index(s) == WL_INDEX_WORDS ? say_all(s, err) : -UPP_EBUG; /* a new one has words */
    s->ops->close(s);
    TRY(r);
    TRY(in_turn(path, SAME, WORDS, false, err));
    TRY(in_turn(path, WORDS, WORDS, true, err));
    TRY(in_turn(path, PIECES, PIECES, false, err));
    TRY(in_turn(path, SAME, PIECES, true, err));
    TRY(in_turn(path, WORDS, WORDS, false, err));
    TRY(in_turn(path, OFF, OFF, false, err));
    TRY(in_turn(path, SAME, OFF, false, err));
    FAIL_UNLESS(ask(path, "SELECT count(*) FROM words") == 0);
    TRY(in_turn(path, PIECES, PIECES, false, err));
    /* A file from before there was a choice has pieces. */
    FAIL_UNLESS(ask(path, "DELETE FROM meta WHERE name = 'search'") == 0);
    TRY(in_turn(path, SAME, PIECES, true, err));
    TRY(in_turn(path, WORDS, WORDS, false, err));
    FAIL_UNLESS(ask(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0);
    return 0;
}

TEST(search_index_is_what_the_setting_says)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/index.db", test_folder());
    CHECK(test_on_loop(changes, path, NULL) >= 0);
}

/* A setting that is damaged is no other setting. */
static WEFT_SUSPENDS int damaged(void *arg, struct upp_err *err)
{
    const char *path = arg;
    struct wl_store *s;
    struct upp_err why = {0};
    TRY(open_as(path, WL_INDEX_WORDS, &s, err));
    s->ops->close(s);
    FAIL_UNLESS(ask(path, "UPDATE meta SET value = 1 WHERE name = 'search'") == 0);
    FAIL_UNLESS(open_as(path, WL_INDEX_SAME, &s, &why) == -UPP_ESTORE && strstr(why.msg, "checksum"));
    return 0;
}

TEST_WITH(search_index_that_is_damaged_is_refused, .no_torture = "the calls of the others")
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/index.db", test_folder());
    CHECK(test_on_loop(damaged, path, NULL) >= 0);
}

/* Stores that keep no words are read: any piece is found, unless it is off. */
static WEFT_SUSPENDS int reads(void *arg, struct upp_err *err)
{
    struct wl_store *inner, *s;
    (void)arg;
    TRY(ws_memory_open(&inner, err));
    TRY(ws_blobs_open(inner, &s, err));
    int r = say_all(s, err);
    for (uint8_t i = WL_INDEX_SAME; r >= 0 && i <= WL_INDEX_OFF; i++) {
        inner->index = i;
        r = i == WL_INDEX_OFF ? refuses(s, err) : finds_pieces(s, err);
    }
    s->ops->close(s);
    return r;
}

TEST(search_without_an_index_finds_pieces)
{
    CHECK(test_on_loop(reads, NULL, NULL) >= 0);
}

/* ---- Of a program's runtime -------------------------------------------------------------------------------- */

static int have_session(const char *url, const char *search, struct upp_model *model, struct upp_err *err)
{
    UPP_CLEANUP(weft_runtime_closep) struct weft_runtime *rt = NULL;
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_agent *a;
    TRY(weft_runtime_open(UPP_OPTS(weft_runtime_opts, .store = url, .search = search), &rt, err));
    TRY(weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .use = model, .name = "a"), &a, err));
    return weft_session_new(a, NULL, &s, err);
}

TEST_WITH(search_index_of_a_program, .no_torture = "sessions and the store have tests of their own that are")
{
    static const char has[] = "SELECT value FROM meta WHERE name = 'search'";
    struct upp_model *model = NULL;
    struct upp_err err = {0};
    char url[600];
    int n = snprintf(url, sizeof url, "sqlite:%s/program.db", test_folder());
    CHECK(n > 7 && (size_t)n < sizeof url);
    CHECK_INT(upp_scripted_new((struct upp_str){NULL, 0}, &model, &err), 0);
    static const struct {
        const char *search;
        int want;
    } cases[] = {{NULL, 2}, {"off", 3}, {NULL, 3}, {"substrings", 1}, {"words", 2}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        CHECK_INT(have_session(url, cases[i].search, model, &err), 0);
        CHECK_INT(ask(url + 7, has), cases[i].want);
    }
    CHECK_INT(have_session(url, "letters", model, &err), -UPP_EINVALID);
    CHECK(strstr(err.msg, "words, substrings or off, not 'letters'"));
    upp_model_free(model);
}

/* ---- Against an oracle ------------------------------------------------------------------------------------- */

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)); p++)
        if ((p == text || p[-1] == ' ' || p[-1] == '-') && (!p[n] || p[n] == ' ' || p[n] == '-'))
            return true;
    return false;
}

static WEFT_SUSPENDS int oracle(void *arg, struct upp_err *err)
{
    enum { TEXTS = 90, LONG = 60 };
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    static char all[TEXTS][LONG + 1];
    static const char letters[] = "aabbc --";
    struct wl_store *s;
    struct wl_thread x;
    uint32_t seed = 1;
    int r = 0;
    TRY(open_as(arg, WL_INDEX_WORDS, &s, err));
    r = wl_thread_new(s, &ALICE, NULL, &a, &x, err);
    for (int i = 0; r >= 0 && i < TEXTS; i++) {
        for (int j = 0; j < LONG; j++)
            all[i][j] = letters[(seed = seed * 1664525 + 1013904223) >> 24 & 7];
        r = say(s, x.head, all[i], err);
    }
    if (r >= 0)
        r = learn(s, err);
    for (int i = 0; r >= 0 && i < 200; i++) {
        char word[8];
        int n = 1 + i % 5, want = 0;
        for (int j = 0; j < n; j++)
            word[j] = "abc-"[(seed = seed * 1664525 + 1013904223) >> 24 & 3];
        word[0] = word[0] == '-' ? 'a' : word[0];
        word[n - 1] = word[n - 1] == '-' ? 'b' : word[n - 1];
        word[n] = 0;
        for (int j = 0; j < TEXTS; j++)
            want += has_word(all[j], word);
        r = found(s, word, err);
        if (r >= 0 && r != want)
            r = upp_fail(err, UPP_EBUG, "'%s': %d, not %d", word, r, want);
    }
    s->ops->close(s);
    return r < 0 ? r : 0;
}

TEST_WITH(search_by_words_agrees_with_an_oracle, .no_torture = "the calls of the others")
{
    char path[512];
    struct upp_err err = {0};
    (void)snprintf(path, sizeof path, "%s/oracle.db", test_folder());
    int r = test_on_loop(oracle, path, &err);
    test_note("%s", err.msg);
    CHECK(r >= 0);
}

/* ---- Growth and damage ------------------------------------------------------------------------------------- */

enum { LEVELS_MAX = 1010 }; /* FTS5 fails for ever at 2,001 */

/* A byte of FTS5's structure record. */
static int64_t structure(const char *path, int i)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "SELECT 16 * instr('123456789ABCDEF', substr(hex(block), %d, 1)) +"
                   " instr('123456789ABCDEF', substr(hex(block), %d, 1)) FROM words_text_data WHERE id = 10",
                   2 * i + 1, 2 * i + 2);
    return ask(path, sql);
}

static int64_t levels(const char *path)
{
    int64_t first = structure(path, 4);
    return first < 0x80 ? first : (first & 0x7f) << 7 | structure(path, 5);
}

static WEFT_SUSPENDS int compact(struct wl_store *s, struct upp_err *err)
{
    bool more = true;
    for (unsigned i = 0; more && i < 64; i++)
        TRY(wl_index_compact(s, &more, err));
    FAIL_UNLESS(!more);
    return 0;
}

/* So many words that the index takes several pages: FTS5 adds no levels to a smaller one. */
static WEFT_SUSPENDS int say_many_words(struct wl_store *s, uint64_t node, struct upp_err *err)
{
    enum { WORDS = 3000 };
    UPP_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 20);
    for (int i = 0; i < WORDS; i++)
        wb_buf_addf(&text, "w%d ", i);
    wb_buf_addc(&text, 0);
    TRY(wb_buf_check(&text, err));
    return say(s, node, text.p, err);
}

/* Entries are deleted and added again between all sweeps: each merges the whole index. */
static WEFT_SUSPENDS int sweeps(struct wl_store *s, const char *path, unsigned n, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_thread x;
    int64_t most = 0;
    TRY(wl_thread_new(s, &ALICE, NULL, &a, &x, err));
    for (size_t i = 0; i < WB_LEN(texts); i++)
        TRY(say(s, x.head, texts[i], err));
    TRY(say_many_words(s, x.head, err));
    for (unsigned i = 0; i < n; i++) {
        TRY(learn(s, err));
        TRY(wl_reindex(s, &ALICE, x.head, i % WB_LEN(texts), i % WB_LEN(texts) + 1, err));
        TRY(compact(s, err));
        int64_t now = levels(path);
        FAIL_UNLESS(now >= 0 && now <= LEVELS_MAX); /* 0: it has just been dropped */
        most = WB_MAX(most, now);
    }
    TRY(learn(s, err));
    test_note("%u sweeps: %d levels at most, %d now", n, (int)most, (int)levels(path));
    FAIL_UNLESS(wl_store_index_state(s) == WL_INDEX_SOUND);
    return finds_words(s, err);
}

/* An empty index of 982 levels, as after so many sweeps: four bytes, the number, and two zeros for each level. */
static WEFT_SUSPENDS int add_levels(const char *path, struct upp_err *err)
{
    static const char head[] = "UPDATE words_text_data SET block = x'000000008756";
    static char sql[sizeof head + 4 * 983 + 32];
    (void)snprintf(sql, sizeof sql, "%s%0*d' WHERE id = 10", head, 4 * 983, 0);
    FAIL_UNLESS(ask(path, sql) == 0 && levels(path) == 982);
    (void)err;
    return 0;
}

static WEFT_SUSPENDS int grows(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    TRY(open_as(arg, WL_INDEX_WORDS, &s, err));
    s->ops->close(s);
    TRY(add_levels(arg, err));
    TRY(open_as(arg, WL_INDEX_WORDS, &s, err));
    int r = sweeps(s, arg, (unsigned)test_number("WEFT_SWEEPS", 30), err);
    s->ops->close(s);
    return r;
}

TEST_WITH(search_index_does_not_grow_by_sweeps, .no_torture = "the calls of the others, often", .seconds = 1800)
{
    char path[512];
    struct upp_err err = {0};
    (void)snprintf(path, sizeof path, "%s/levels.db", test_folder());
    int r = test_on_loop(grows, path, &err);
    test_note("%s", err.msg);
    CHECK(r >= 0);
}

/* What is done to the index. The first is what merges of SQLite 3.40 leave; the second is a page that the disk has
 * lost.
 */
static const struct damage {
    const char *sql, *page_of;
} damages[] = {
    {"UPDATE words_text_data SET block = x'000000008F510000' WHERE id = 10", NULL},
    {"DELETE FROM words_text_data WHERE id = 10", NULL},
    {"UPDATE words_text_data SET block = x'0102'", NULL},
    {"DROP TABLE words_text_idx", NULL},
    {"UPDATE words_text_config SET v = v + 7", NULL},
    {NULL, "words_text_config"},
    {NULL, "words_text_data"},
    {NULL, "words_text_idx"},
    {NULL, "words"},
    {NULL, "words_at"},
};

struct damaging {
    char path[512];
    const struct damage *damage;
    uint8_t index;
};

/* The root of the table, which is a leaf as long as there is little in it. */
static WEFT_SUSPENDS int damage(const struct damaging *x, struct upp_err *err)
{
    static const char zeros[4096];
    char sql[128];
    if (x->damage->sql) {
        FAIL_UNLESS(ask(x->path, x->damage->sql) == 0);
        return 0;
    }
    (void)snprintf(sql, sizeof sql, "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", x->damage->page_of);
    int64_t page = ask(x->path, sql);
    FAIL_UNLESS(page > 1);
    FILE *f = fopen(x->path, "r+");
    FAIL_UNLESS(f && fseek(f, (page - 1) * (long)sizeof zeros, SEEK_SET) == 0);
    FAIL_UNLESS(fwrite(zeros, sizeof zeros, 1, f) == 1 && fclose(f) == 0);
    (void)err;
    return 0;
}

struct others {
    struct wl_store *s;
    uint64_t node, dropped;
    unsigned done;
};

WEFT_SUSPENDS static int says(void *arg, struct upp_err *err)
{
    struct others *o = arg;
    struct wl_row row = test_row(o->node + ++o->done, 0, 1, "[]");
    struct wl_node node = test_node(row.node);
    return COMMIT(o->s, BOB, NULL, err, ADD_NODE(&node), ADD_ROW(&row));
}

/* Its entries are dropped from the index. */
WEFT_SUSPENDS static int drops(void *arg, struct upp_err *err)
{
    const struct others *o = arg;
    struct wl_node n = test_node(o->dropped);
    return COMMIT(o->s, ALICE, NULL, err, DROP_NODE(&n));
}

WEFT_SUSPENDS static int learns(void *arg, struct upp_err *err)
{
    const struct others *o = arg;
    size_t n;
    return wl_index_rows(o->s, &n, err);
}

/* Commits of others beside those of the index, in one batch where they may be. */
WEFT_SUSPENDS static int work_on(struct others *o, struct upp_err *err)
{
    enum { SAYS = 4 };
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    for (int i = 0; i < SAYS; i++)
        TRY(weft_scope_spawn(&all, "says", says, o, NULL, err));
    TRY(weft_scope_spawn(&all, "drops", drops, o, NULL, err));
    TRY(weft_scope_spawn(&all, "learns", learns, o, NULL, err));
    TRY(weft_scope_join(&all, err));
    FAIL_UNLESS(o->done == SAYS);
    return 0;
}

/* What doctor says. */
static WEFT_SUSPENDS int check_index(const char *path, bool whole, struct upp_err *err)
{
    struct wl_store *s;
    struct upp_err why = {0};
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path, .read_only = true), &s, err));
    int r = ws_sqlite_check_index(s, &why);
    s->ops->close(s);
    FAIL_UNLESS(whole ? r == 0 : r == -UPP_ESTORE && strstr(why.msg, "the search index is damaged"));
    return 0;
}

static int integrity(const char *path, char why[200], struct upp_err *err)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
    if (rc == SQLITE_OK)
        rc = ws_integrity_check(db, why, 200);
    (void)sqlite3_close(db);
    FAIL_UNLESS(rc == SQLITE_OK);
    (void)err;
    return 0;
}

/* Only pages of tables that were replaced are unused. */
static int check_file(const struct damaging *x, struct upp_err *err)
{
    char why[200];
    TRY(integrity(x->path, why, err));
    FAIL_UNLESS(!why[0]);
    FAIL_UNLESS(!x->damage->page_of || ask(x->path, "SELECT count(*) FROM meta WHERE name = 'index_replaced'") == 1);
    return 0;
}

static WEFT_SUSPENDS int mends(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    const struct damaging *x = arg;
    struct wl_thread t;
    struct others o = {.node = 1000};
    TRY(open_as(x->path, WL_INDEX_WORDS, &o.s, err));
    int r = say_all(o.s, err);
    if (r >= 0)
        r = wl_thread_new(o.s, &ALICE, NULL, &a, &t, err);
    if (r >= 0)
        r = say(o.s, t.head, "a secret plan", err);
    if (r >= 0)
        r = learn(o.s, err);
    o.s->ops->close(o.s);
    TRY(r);
    TRY(check_index(x->path, true, err));
    TRY(damage(x, err));
    TRY(check_index(x->path, false, err));
    TRY(open_as(x->path, x->index, &o.s, err));
    o.dropped = t.head;
    r = x->index == WL_INDEX_OFF ? refuses(o.s, err) : 0;
    if (r >= 0)
        r = x->index == WL_INDEX_OFF ? drops(&o, err) : work_on(&o, err);
    if (r >= 0 && x->index != WL_INDEX_OFF)
        r = learn(o.s, err);
    if (r >= 0 && x->index != WL_INDEX_OFF)
        r = finds_words(o.s, err);
    if (r >= 0 && x->index != WL_INDEX_OFF)
        r = compact(o.s, err);
    if (r >= 0 && x->index != WL_INDEX_OFF && wl_store_index_state(o.s) != WL_INDEX_SOUND)
        r = upp_fail(err, UPP_EBUG, "the index is %d", (int)wl_store_index_state(o.s));
    o.s->ops->close(o.s);
    TRY(r);
    TRY(check_index(x->path, true, err));
    FAIL_UNLESS(ask(x->path, "SELECT count(*) FROM words") == (x->index == WL_INDEX_OFF ? 0 : (int)WB_LEN(texts)));
    FAIL_UNLESS(ask(x->path, "SELECT count(*) FROM meta WHERE name = 'index_damaged'") == 0);
    return check_file(x, err);
}

static bool mends_as(uint8_t index)
{
    bool ok = true;
    for (size_t i = 0; i < WB_LEN(damages); i++) {
        struct damaging x = {.damage = &damages[i], .index = index};
        struct upp_err err = {0};
        (void)snprintf(x.path, sizeof x.path, "%s/damaged-%zu.db", test_folder(), i);
        if (test_on_loop(mends, &x, &err) < 0) {
            test_note("damage %zu: %s", i, err.msg);
            ok = false;
        }
    }
    return ok;
}

TEST_WITH(search_index_damaged_is_rebuilt_and_fails_no_commit, .no_torture = "damage is no failing call")
{
    CHECK(mends_as(WL_INDEX_WORDS));
}

TEST_WITH(search_index_damaged_can_be_switched_off_and_changed, .no_torture = "damage is no failing call")
{
    CHECK(mends_as(WL_INDEX_OFF));
}

/* Another program changes entries while the store is open: the WAL that is left has pages of the index with a wrong
 * checksum, and the next start goes on. */
WEFT_SUSPENDS static int mends_a_log(void *arg, struct upp_err *err)
{
    const char *path = arg;
    struct wl_store *s;
    struct ws_pages pages;
    TRY(open_as(path, WL_INDEX_WORDS, &s, err));
    int r = say_all(s, err);
    if (r >= 0)
        r = learn(s, err);
    sqlite3 *db = NULL;
    bool changed = r >= 0 && sqlite3_open(path, &db) == SQLITE_OK &&
                   sqlite3_exec(db, "UPDATE words SET time = time + 1", NULL, NULL, NULL) == SQLITE_OK;
    (void)sqlite3_close(db);
    s->ops->close(s);
    TRY(r);
    FAIL_UNLESS(changed);
    TRY(ws_sqlite_check_pages(path, &pages, err));
    FAIL_UNLESS(pages.wrong && pages.index);
    TRY(open_as(path, WL_INDEX_WORDS, &s, err));
    r = found(s, "plan", err); /* in the log itself, by any part of a word */
    if (r >= 0)
        r = learn(s, err);
    if (r >= 0)
        r = finds_words(s, err);
    if (r >= 0 && wl_store_index_state(s) != WL_INDEX_SOUND)
        r = upp_fail(err, UPP_EBUG, "the index is %d", (int)wl_store_index_state(s));
    s->ops->close(s);
    TRY(r);
    return check_index(path, true, err);
}

TEST_WITH(search_index_damaged_in_the_log_is_rebuilt, .no_torture = "damage is no failing call")
{
    struct upp_err err = {0};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/log.db", test_folder());
    CHECK_INT(test_on_loop(mends_a_log, path, &err), 0);
}

/* Some versions of SQLite (3.40) see no unused page in some schemas with virtual tables: so there is none here. */
TEST_WITH(search_index_replaced_leaves_pages_that_are_no_damage, .no_torture = "damage is no failing call")
{
    sqlite3 *db = NULL;
    char why[200], path[512];
    (void)snprintf(path, sizeof path, "%s/unused.db", test_folder());
    int rc = sqlite3_open(path, &db);
    bool empty = rc == SQLITE_OK && ws_integrity_check(db, why, sizeof why) == SQLITE_OK && !why[0];
    rc =
        sqlite3_exec(db,
                     "CREATE TABLE meta(name, value); CREATE TABLE words(x); CREATE TABLE t(x); CREATE INDEX i ON t(x);"
                     "INSERT INTO words VALUES(zeroblob(20000)); INSERT INTO t VALUES(1);"
                     "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'words';"
                     "PRAGMA writable_schema = RESET",
                     NULL, NULL, NULL);
    bool made = rc == SQLITE_OK;
    bool found = ws_integrity_check(db, why, sizeof why) == SQLITE_OK && strstr(why, "never used");
    rc = sqlite3_exec(db, "INSERT INTO meta VALUES('index_replaced', 1)", NULL, NULL, NULL);
    bool known = rc == SQLITE_OK && ws_integrity_check(db, why, sizeof why) == SQLITE_OK && !why[0];
    rc = sqlite3_exec(db,
                      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t(-x)' WHERE"
                      " name = 'i'; PRAGMA writable_schema = RESET",
                      NULL, NULL, NULL);
    bool other = rc == SQLITE_OK && ws_integrity_check(db, why, sizeof why) == SQLITE_OK && strstr(why, "index i");
    test_note("%s", why);
    (void)sqlite3_close(db);
    CHECK(empty && made);
    CHECK(found);
    CHECK(known);
    CHECK(other);
}

/* A search reads other tables too: what is damaged there is not the index. */
static WEFT_SUSPENDS int damages_another(void *arg, struct upp_err *err)
{
    static const struct damage tenants = {NULL, "sqlite_autoindex_tenants_1"};
    struct damaging *x = arg;
    struct upp_err why = {0};
    struct wl_store *s;
    TRY(open_as(x->path, WL_INDEX_WORDS, &s, err));
    int r = say_all(s, err);
    if (r >= 0)
        r = learn(s, err);
    s->ops->close(s);
    TRY(r);
    x->damage = &tenants;
    TRY(damage(x, err));
    TRY(open_as(x->path, WL_INDEX_WORDS, &s, err));
    r = found(s, "plan", &why);
    bool sound = wl_store_index_state(s) == WL_INDEX_SOUND;
    s->ops->close(s);
    test_note("%d: %s", r, why.msg);
    FAIL_UNLESS(r == -UPP_ESTORE && sound);
    return 0;
}

TEST_WITH(search_index_is_not_damaged_where_another_table_is, .no_torture = "damage is no failing call")
{
    struct damaging x = {.index = WL_INDEX_WORDS};
    (void)snprintf(x.path, sizeof x.path, "%s/tenants.db", test_folder());
    CHECK_INT(test_on_loop(damages_another, &x, NULL), 0);
}

/* ---- What it costs ------------------------------------------------------------------------------------------ */

static const struct shape {
    unsigned question, answer;
} shapes[] = {{100, 1000}, {100, 4000}, {400, 3600}, {2000, 2000}};

struct costing {
    const struct shape *shape;
    char path[512];
    struct upp_str prose;
};

/* Prose, in turns of a question and an answer, in a store as it is without any setting. */
static WEFT_SUSPENDS int costs(void *arg, struct upp_err *err)
{
    enum { TEXT = 1200000, LONGEST = 4000 };
    const struct costing *x = arg;
    const size_t q = x->shape->question, n = x->shape->answer;
    const unsigned turns = (unsigned)(TEXT / (q + n));
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    static char question[LONGEST + 1], answer[LONGEST + 1];
    struct wl_thread t;
    struct wl_store *s;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = x->path), &s, err));
    int r = wl_thread_new(s, &ALICE, NULL, &a, &t, err);
    question[q] = answer[n] = 0;
    for (unsigned i = 0; r >= 0 && i < turns; i++) {
        const char *from = x->prose.p + (size_t)i * 997 % (x->prose.n - q - n);
        memcpy(question, from, q);
        memcpy(answer, from + q, n);
        r = say(s, t.head, question, err);
        if (r >= 0)
            r = say(s, t.head, answer, err);
    }
    if (r >= 0)
        r = learn(s, err);
    s->ops->close(s);
    TRY(r);
    int64_t size = ask(x->path, "SELECT page_count * 4096 FROM pragma_page_count");
    double each = (double)size / (double)(turns * (q + n));
    test_note("%zu/%zu: %.2f bytes of file for a byte of text", q, n, each);
    FAIL_UNLESS(size > 0 && each <= 3);
    return 0;
}

TEST_WITH(search_and_log_are_three_times_the_text_at_most, .no_torture = "it is about a size")
{
    UPP_CLEANUP(wb_buf_done) struct wb_buf prose = WB_BUF(1 << 20);
    CHECK(wb_file_read(test_source("../docs/storage.md"), &prose, NULL) >= 0);
    for (size_t i = 0; i < prose.n; i++)
        prose.p[i] = prose.p[i] < ' ' || prose.p[i] == '"' || prose.p[i] == '\\' ? ' ' : prose.p[i];
    for (size_t i = 0; i < WB_LEN(shapes); i++) {
        struct costing x = {.shape = &shapes[i], .prose = wb_buf_str(&prose)};
        (void)snprintf(x.path, sizeof x.path, "%s/costs-%zu.db", test_folder(), i);
        CHECK(test_on_loop(costs, &x, NULL) >= 0);
    }
}
