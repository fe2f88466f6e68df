/* Checksums of pages: whatever bit of a database changes, nobody is given less than what is there without being told.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "log/search.h"
#include "stores/blobs/blobs.h"
#include "stores/sqlite/page.h"
#include "stores/sqlite/sqlite.h"
#include "stores/sqlite/store.h"
#include "stores/sqlite/wal.h"
#include "support/stores.h"

/* ---- The sum ----------------------------------------------------------------------------------------------- */

static const uint64_t KNOWN = UINT64_C(4751434150730188462);

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 16;
}

static void fill_page(unsigned char *page, uint64_t seed)
{
    for (size_t i = 0; i < WS_PAGE_BODY; i++)
        page[i] = (unsigned char)next_random(&seed);
    memset(page + WS_PAGE_BODY, 0, WS_PAGE_TAIL);
}

TEST_WITH(page_sum_is_the_same_on_every_processor, .no_torture = "it is about numbers")
{
    static unsigned char page[WS_PAGE];
    for (uint64_t seed = 0; seed < 50; seed++) {
        fill_page(page, seed);
        CHECK(ws_page_sum(page, false) == ws_page_sum(page, true));
    }
    memset(page, 0, sizeof page);
    CHECK(ws_page_sum(page, true) == KNOWN); /* what is in files is read by others */
}

/* SQLite has computed the checksum of the frame when the page gets its sum. */
TEST_WITH(page_stamp_leaves_the_checksum_of_a_frame, .no_torture = "it is about numbers")
{
    static unsigned char page[WS_PAGE];
    struct ws_frame f = {.page = 7, .size = 9};
    struct ws_sum before = {1234567, 7654321};
    for (uint32_t i = 1; i < 50; i++) {
        fill_page(page, i);
        bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
        struct ws_sum want = ws_frame_sum(before, &f, page, big);
        ws_page_stamp(page, i);
        CHECK(ws_sum_is(ws_frame_sum(before, &f, page, big), want));
        CHECK(ws_page_holds(page, i) && ws_page_holds(page, 0) && !ws_page_holds(page, i + 1));
    }
}

TEST_WITH(page_stamp_notices_every_bit, .no_torture = "it is about numbers")
{
    static unsigned char page[WS_PAGE];
    fill_page(page, 1);
    ws_page_stamp(page, 5);
    for (size_t bit = 0; bit < 8 * WS_PAGE; bit++) {
        page[bit / 8] ^= (unsigned char)(1 << bit % 8);
        CHECK(!ws_page_holds(page, 5));
        CHECK(!ws_page_holds(page, 0));
        page[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    CHECK(ws_page_holds(page, 5));
}

/* ---- A database with one of everything --------------------------------------------------------------------- */

enum { NODES = 6, ROWS = 30, MOST = 1 << 20 };

static const char *db_path(void)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/weft.db", test_folder());
    return path;
}

WEFT_SUSPENDS static int open_db(struct wl_store **ret, struct upp_err *err)
{
    return ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path(), .reserve_kib = UINT32_MAX), ret, err);
}

static struct wl_row row_of(unsigned node, uint32_t i, char text[1800])
{
    uint64_t seed = node * 1000 + i;
    struct wl_row row = test_row(node + 1, wl_pos(i, 0), 1, "");
    size_t n = (size_t)snprintf(text, 1800, "{\"text\":%u,\"more\":\"", i);
    for (size_t more = next_random(&seed) % 1600; more; more--)
        text[n++] = (char)('a' + next_random(&seed) % 26);
    row.body = wb_str(text, n);
    return row;
}

WEFT_SUSPENDS static int fill_node(struct wl_store *s, unsigned i, struct upp_err *err)
{
    static char text[1800]; /* one loop fills at a time */
    struct wl_node node = test_node(i + 1);
    struct wl_thread t = {.id = test_uuid(i + 1), .tree = node.id, .head = i + 1, .kind = WL_MAIN, .version = 1};
    struct wm_run run = {.id = test_uuid(100 + i),
                         .root = test_uuid(100 + i),
                         .thread = t.id,
                         .node = i + 1,
                         .version = 1,
                         .agent = UPP_STR("agent")};
    struct wl_value v = {UPP_STR("space"), wb_str(text, 4), UPP_STR("bytes")};
    (void)snprintf(text, sizeof text, "n%03u", i);
    TRY(COMMIT(s, ALICE, NULL, err, ADD_NODE(&node), ADD_THREAD(&t), ADD_RUN(&run), PUT_VALUE(&v)));
    for (uint32_t k = 0; k < ROWS; k++) {
        struct wl_row row = row_of(i, k, text);
        TRY(COMMIT(s, ALICE, NULL, err, ADD_ROW(&row)));
    }
    return 0;
}

WEFT_SUSPENDS static int fill(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    int r = 0;
    (void)arg;
    TRY(open_db(&s, err));
    for (unsigned i = 0; r >= 0 && i < NODES; i++)
        r = fill_node(s, i, err);
    s->ops->close(s);
    return r;
}

/* ---- What a store answers ----------------------------------------------------------------------------------- */

enum { QUESTIONS = NODES + 5 };

struct answers {
    struct wb_buf text[QUESTIONS]; /* or: */
    struct upp_err err[QUESTIONS];
    int r[QUESTIONS];
    int opened, appended, rows_then;
    struct upp_err append;
};

static void answers_done(struct answers *x)
{
    for (size_t i = 0; i < QUESTIONS; i++)
        wb_buf_done(&x->text[i]);
}

WEFT_SUSPENDS static int ask_rows(struct wl_store *s, uint64_t node, struct wb_buf *out, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct wl_rows rows;
    TRY(wl_store_rows(s, &ALICE, &(struct wl_range){.node = node, .to = UINT64_MAX}, &a, &rows, err));
    for (size_t i = 0; i < rows.n; i++)
        wb_buf_addf(out, "%llu %.*s\n", (unsigned long long)rows.p[i].pos, UPP_FMT(rows.p[i].body));
    return (int)rows.n;
}

WEFT_SUSPENDS static int ask_list(struct wl_store *s, size_t which, struct wb_buf *out, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
    struct wl_thread *t;
    struct wm_run *run;
    struct wl_end end;
    struct upp_str v;
    size_t n = 0;
    switch (which) {
    case 0:
        TRY(wl_list_threads(s, &ALICE, WB_UUID_NIL, 99, &a, &t, &n, err));
        for (size_t i = 0; i < n; i++)
            wb_buf_addf(out, "%llu %u\n", (unsigned long long)t[i].head, t[i].version);
        return 0;
    case 1:
        TRY(wl_list_runs(s, &ALICE, test_uuid(1), false, 9, &a, &run, &n, err));
        wb_buf_addf(out, "%zu %.*s\n", n, n ? (int)run[0].agent.n : 0, n ? run[0].agent.p : "");
        return 0;
    case 2:
        TRY(wl_get_value(s, &ALICE, UPP_STR("space"), UPP_STR("n003"), &a, &v, err));
        wb_buf_add(out, v);
        return 0;
    case 3:
        TRY(wl_node_end(s, &ALICE, 2, &end, err));
        wb_buf_addf(out, "%llu\n", (unsigned long long)end.pos);
        return 0;
    default: {
        struct wl_thread one;
        TRY(wl_get_thread(s, &ALICE, test_uuid(4), &a, &one, err));
        wb_buf_addf(out, "%llu\n", (unsigned long long)one.head);
        return 0;
    }
    }
}

WEFT_SUSPENDS static int ask_all(void *arg, struct upp_err *err)
{
    static char text[1800];
    struct answers *x = arg;
    struct wl_store *s;
    x->opened = open_db(&s, &x->append);
    (void)err;
    if (x->opened < 0)
        return 0;
    for (size_t i = 0; i < QUESTIONS; i++)
        x->r[i] =
            i < NODES ? ask_rows(s, i + 1, &x->text[i], &x->err[i]) : ask_list(s, i - NODES, &x->text[i], &x->err[i]);
    struct wl_row row = row_of(2, ROWS, text);
    x->appended = COMMIT(s, ALICE, NULL, &x->append, ADD_ROW(&row));
    WB_CLEANUP(wb_buf_done) struct wb_buf then = WB_BUF(MOST);
    x->rows_then = ask_rows(s, 3, &then, NULL);
    s->ops->close(s);
    return 0;
}

static int ask_file(struct answers *x)
{
    *x = (struct answers){0};
    for (size_t i = 0; i < QUESTIONS; i++)
        x->text[i] = (struct wb_buf)WB_BUF(MOST);
    return test_on_loop(ask_all, x, NULL);
}

/* ---- Every page, every kind --------------------------------------------------------------------------------- */

static bool put_file(const struct wb_buf *whole)
{
    static const char *const with[] = {"-wal", "-shm", ".lock"};
    char name[600];
    for (size_t i = 0; i < WB_LEN(with); i++) {
        (void)snprintf(name, sizeof name, "%s%s", db_path(), with[i]);
        (void)remove(name);
    }
    FILE *f = fopen(db_path(), "wb");
    return f && fwrite(whole->p, 1, whole->n, f) == whole->n && fclose(f) == 0;
}

/* Counters of the first page, of which no answer depends (page.c). */
static bool matters(uint64_t at)
{
    return !((at >= 24 && at < 28) || (at >= 40 && at < 44) || (at >= 92 && at < 100));
}

static bool is_named(int r, const struct upp_err *err)
{
    return (r == -UPP_ESTORE || r == -UPP_EREFUSED) && strstr(err->where, "weft.db") &&
           (strstr(err->msg, "is damaged") || strstr(err->msg, "another program"));
}

/* Nothing is silent: each answer is that of the whole file, or an error that names it. */
static bool is_honest(const struct answers *x, const struct answers *want)
{
    if (x->opened < 0)
        return is_named(x->opened, &x->append);
    for (size_t i = 0; i < QUESTIONS; i++) {
        bool same = x->r[i] == want->r[i] && wb_str_eq(wb_buf_str(&x->text[i]), wb_buf_str(&want->text[i]));
        if (!same && !is_named(x->r[i], &x->err[i])) {
            test_note("question %zu: %d %s", i, x->r[i], x->err[i].msg);
            return false;
        }
    }
    if (x->appended < 0)
        return is_named(x->appended, &x->append);
    return x->rows_then == ROWS + 1 || x->rows_then < 0;
}

static void answers_donep(struct answers **x)
{
    answers_done(*x);
    memset(*x, 0, sizeof **x);
}

TEST_WITH(store_tells_every_flipped_bit_of_every_page, .no_torture = "the file is changed from outside", .seconds = 600)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf whole = WB_BUF(64 << 20), hurt = WB_BUF(64 << 20);
    static struct answers kept[2]; /* too large for a frame */
    WB_CLEANUP(answers_donep) struct answers *want = &kept[0];
    struct upp_err err = {0};
    struct ws_pages pages;
    uint64_t random = 20, named = 0;
    CHECK(test_on_loop(fill, NULL, &err) == 0);
    CHECK(wb_file_read(db_path(), &whole, &err) >= 0);
    CHECK(ask_file(want) == 0 && want->appended == 0 && want->rows_then == ROWS + 1);
    const uint64_t all = whole.n / WS_PAGE, flips = test_times("WEFT_FLIPS", 1000);
    CHECK(put_file(&whole) && ws_sqlite_check_pages(db_path(), &pages, &err) == 0);
    CHECK(pages.summed && pages.n == all && !pages.wrong);
    for (uint64_t i = 0; i < flips; i++) {
        WB_CLEANUP(answers_donep) struct answers *is = &kept[1];
        const uint64_t page = i % all, bit = next_random(&random) % (8 * WS_PAGE), at = page * WS_PAGE + bit / 8;
        whole.p[at] ^= (char)(1 << bit % 8);
        bool put = put_file(&whole);
        whole.p[at] ^= (char)(1 << bit % 8);
        CHECK(put && ws_sqlite_check_pages(db_path(), &pages, &err) == 0);
        bool found = !matters(at) || (pages.summed && pages.wrong == 1 && pages.first == page + 1);
        CHECK(ask_file(is) == 0);
        bool honest = is_honest(is, want);
        if (!found || !honest)
            test_note("page %llu, bit %llu", (unsigned long long)page + 1, (unsigned long long)bit);
        CHECK(found && honest);
        for (size_t k = 0; k < QUESTIONS; k++)
            named += is->opened < 0 || is->r[k] < 0;
    }
    CHECK(named > flips); /* on average each fails more than one question */
}

/* ---- The write-ahead log ------------------------------------------------------------------------------------- */

/* Changes a byte in every page of the WAL. */
static bool hurt_wal(void)
{
    char name[600];
    unsigned char byte;
    (void)snprintf(name, sizeof name, "%s-wal", db_path());
    FILE *f = fopen(name, "r+b");
    bool some = false;
    for (long at = WS_WAL_HEAD + WS_FRAME_HEAD + 2000; f; at += WS_FRAME) {
        if (fseek(f, at, SEEK_SET) != 0 || fread(&byte, 1, 1, f) != 1)
            break;
        byte ^= 16;
        some = fseek(f, at, SEEK_SET) == 0 && fwrite(&byte, 1, 1, f) == 1;
    }
    return f && fclose(f) == 0 && some;
}

WEFT_SUSPENDS static int reads_a_hurt_wal(void *arg, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(MOST);
    struct upp_err why = {0};
    struct wl_store *s;
    (void)arg;
    TRY(open_db(&s, err));
    int r = fill_node(s, 0, err);
    if (r >= 0 && !hurt_wal())
        r = upp_fail(err, UPP_EBUG, "there is no log");
    int got = r < 0 ? r : ask_rows(s, 1, &text, &why);
    test_note("%d %s", got, why.msg);
    s->ops->close(s);
    if (r >= 0 && !(got == -UPP_ESTORE && strstr(why.msg, "is damaged (page ")))
        r = upp_fail(err, UPP_EBUG, "a damaged page of the log was given out");
    return r;
}

TEST_WITH(store_names_a_damaged_page_of_its_log, .no_torture = "the file is changed from outside")
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(reads_a_hurt_wal, NULL, &err), 0);
}

/* Another program, which knows no checksums. */
static bool run_sql(const char *sql)
{
    sqlite3 *db = NULL;
    bool ok = sqlite3_open(db_path(), &db) == SQLITE_OK && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    (void)sqlite3_close(db);
    return ok;
}

WEFT_SUSPENDS static int leaves_a_hurt_wal(void *arg, struct upp_err *err)
{
    const char *sql = arg;
    struct wl_store *s;
    struct ws_pages before, then;
    TRY(open_db(&s, err));
    int r = fill_node(s, 0, err);
    if (r >= 0)
        r = ws_sqlite_check_pages(db_path(), &before, err);
    bool ran = r >= 0 && run_sql(sql);
    if (r >= 0)
        r = ws_sqlite_check_pages(db_path(), &then, err);
    s->ops->close(s);
    TRY(r);
    FAIL_UNLESS(ran && before.summed && !before.wrong && then.n == before.n && then.wrong);
    return 0;
}

/* What doctor says of the pages is what the next start says. */
TEST_WITH(store_finds_damaged_pages_that_only_its_log_has, .no_torture = "the file is changed from outside")
{
    struct upp_err err = {0};
    static struct answers x; /* too large for a frame */
    struct ws_pages pages;
    CHECK_INT(test_on_loop(leaves_a_hurt_wal, (char[]){"UPDATE runs SET u_input = u_input + 7"}, &err), 0);
    CHECK(ws_sqlite_check_pages(db_path(), &pages, &err) == 0);
    CHECK(pages.wrong && !pages.index);
    CHECK(ask_file(&x) == 0);
    answers_done(&x);
    CHECK(x.opened == -UPP_ESTORE && strstr(x.append.msg, "is damaged (page "));
}

/* A page of the index is none that the store needs. */
TEST_WITH(store_starts_with_damaged_pages_of_its_index_in_the_log, .no_torture = "the file is changed from outside")
{
    struct upp_err err = {0};
    static struct answers x; /* too large for a frame */
    struct ws_pages pages;
    CHECK_INT(test_on_loop(leaves_a_hurt_wal, (char[]){"UPDATE words_text_data SET block = x'0102'"}, &err), 0);
    CHECK(ws_sqlite_check_pages(db_path(), &pages, &err) == 0);
    CHECK(pages.wrong && pages.index);
    CHECK(ask_file(&x) == 0);
    answers_done(&x);
    CHECK_INT(x.opened, 0);
    CHECK_INT(x.r[0], ROWS);
    CHECK(ws_sqlite_check_pages(db_path(), &pages, &err) == 0);
    CHECK(pages.wrong && pages.index); /* they are in the database now, and still damaged */
}

static bool flip_byte(long at)
{
    unsigned char byte;
    FILE *f = fopen(db_path(), "r+b");
    bool is = f && fseek(f, at, SEEK_SET) == 0 && fread(&byte, 1, 1, f) == 1;
    byte ^= 1;
    is = is && fseek(f, at, SEEK_SET) == 0 && fwrite(&byte, 1, 1, f) == 1;
    return f && fclose(f) == 0 && is;
}

/* ---- Reads past the cache ------------------------------------------------------------------------------------ */

/* Newer SQLite reads overflow pages like this: whole or in part, without its cache. */
WEFT_SUSPENDS static int reads_parts(void *arg, struct upp_err *err)
{
    static unsigned char page[WS_PAGE], part[WS_PAGE];
    struct wl_store *s;
    sqlite3_file *f = NULL;
    (void)arg;
    TRY(open_db(&s, err));
    TRY(fill_node(s, 0, err));
    s->ops->close(s);
    TRY(open_db(&s, err));
    sqlite3 *db = ((struct ws_sqlite *)(void *)s)->writer.db;
    bool all = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &f) == SQLITE_OK && f;
    for (sqlite3_int64 at = WS_PAGE; all && at < 8 * WS_PAGE; at += WS_PAGE)
        for (int n = 100; n < WS_PAGE; n += WS_PAGE_BODY - 100) {
            all = all && f->pMethods->xRead(f, page, WS_PAGE, at) == SQLITE_OK;
            all = all && f->pMethods->xRead(f, part, n, at) == SQLITE_OK && memcmp(page, part, (size_t)n) == 0;
        }
    bool hurt = flip_byte(3 * WS_PAGE + 2000);
    bool told = hurt && f && f->pMethods->xRead(f, part, 100, 3 * WS_PAGE) == SQLITE_CORRUPT;
    s->ops->close(s);
    return all && told ? 0 : upp_fail(err, UPP_EBUG, "parts of pages: %d %d", all, told);
}

TEST_WITH(store_checks_pages_that_are_read_in_part, .no_torture = "the file is changed from outside")
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(reads_parts, NULL, &err), 0);
}

/* ---- Neighbours ---------------------------------------------------------------------------------------------- */

struct pair {
    struct wl_store *s;
    int result[2];
    struct upp_err err[2];
};

/* The root of a table, which is a leaf as long as there is little in it. */
static bool hurt_table(const char *table)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    int64_t page = 0;
    if (sqlite3_open_v2(db_path(), &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_schema WHERE name = ?", -1, &st, NULL) == SQLITE_OK &&
        sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        page = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    (void)sqlite3_close(db);
    FILE *f = page ? fopen(db_path(), "r+b") : NULL;
    return f && fseek(f, (long)(page - 1) * WS_PAGE + 1000, SEEK_SET) == 0 && fwrite("?", 1, 1, f) == 1 &&
           fclose(f) == 0;
}

WEFT_SUSPENDS static int one_of(void *arg, struct upp_err *err)
{
    static char text[1800];
    struct pair *p = arg;
    struct wl_row row = row_of(1, ROWS, text);
    (void)err;
    p->result[1] = COMMIT(p->s, ALICE, NULL, &p->err[1], ADD_ROW(&row));
    return 0;
}

WEFT_SUSPENDS static int together(void *arg, struct upp_err *err)
{
    struct pair *p = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    TRY(open_db(&p->s, err));
    struct wl_alias a = {.kind = WL_ALIAS_THREAD, .text = UPP_STR("nick"), .object = test_uuid(1)};
    int r = weft_scope_spawn(&all, "the other", one_of, p, NULL, err);
    p->result[0] = COMMIT(p->s, ALICE, NULL, &p->err[0], ADD_ALIAS(&a));
    if (r >= 0)
        r = weft_scope_join(&all, err);
    p->s->ops->close(p->s);
    return r;
}

TEST_WITH(store_commits_beside_a_damaged_page, .no_torture = "the file is changed from outside")
{
    struct upp_err err = {0};
    struct pair p = {0};
    CHECK(test_on_loop(fill, NULL, &err) == 0);
    CHECK(hurt_table("aliases"));
    CHECK(test_on_loop(together, &p, &err) == 0);
    test_note("%d %s, %d %s", p.result[0], p.err[0].msg, p.result[1], p.err[1].msg);
    CHECK(p.result[0] == -UPP_ESTORE && strstr(p.err[0].msg, "is damaged (page "));
    CHECK(p.result[1] == 0);
}
