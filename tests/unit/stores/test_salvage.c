/* What is saved of a damaged database. (tests/cli/doctor.py damages every page of one, and looks at what is written.)
 */
#include "stores/salvage.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stores/sqlite/sqlite.h"
#include "support/stores.h"

enum { PAGE = 4096, THREADS = 12, ROWS = 6 };

static char path_of[512];

/* Rows that fill a page or two each. */
WEFT_SUSPENDS static int put_thread(struct wl_store *s, unsigned k, struct upp_err *err)
{
    static char text[3000];
    struct wl_node node = test_family_node(0x1000 + k, 1);
    struct wl_thread t = {
        .id = test_family_uuid(0x1000 + k, 2), .tree = node.id, .head = node.key, .kind = WL_MAIN, .version = 1};
    struct wl_row rows[ROWS];
    struct wl_change changes[ROWS + 2] = {ADD_NODE(&node), ADD_THREAD(&t)};
    memset(text, 'a', sizeof text);
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = test_row(node.key, wl_pos(i, 0), 1, "");
        rows[i].body = wb_str(text, sizeof text);
        changes[2 + i] = (struct wl_change)ADD_ROW(&rows[i]);
    }
    return test_commit(s, ALICE, changes, ROWS + 2, NULL, err);
}

WEFT_SUSPENDS static int fill(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    (void)arg;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path_of, .reserve_kib = UINT32_MAX), &s, err));
    int r = 0;
    for (unsigned k = 0; k < THREADS && r >= 0; k++)
        r = put_thread(s, k, err);
    s->ops->close(s);
    return r;
}

/* The page on which a row of the log begins: its text stands there. Fills it with nonsense. */
static bool damage_row(int64_t id)
{
    static char page[PAGE];
    sqlite3 *db = NULL;
    bool done = false;
    bool ok = test_db_open(path_of, &db) == SQLITE_OK;
    char sql[128]; /* a mark that can be found in the file */
    (void)snprintf(sql, sizeof sql, "UPDATE log SET body = CAST('find me' AS BLOB) || substr(body, 8) WHERE id = %lld",
                   (long long)id);
    ok = ok && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    test_db_close(db); /* the log is in the database now */
    int fd = ok ? open(path_of, O_RDWR | O_CLOEXEC) : -1;
    for (off_t at = 0; fd >= 0 && !done && pread(fd, page, PAGE, at) == PAGE; at += PAGE)
        if (memmem(page, PAGE, "find me", 7)) {
            memset(page, 0x5a, PAGE);
            done = pwrite(fd, page, PAGE, at) == PAGE;
        }
    if (fd >= 0)
        (void)close(fd);
    return done;
}

struct counted {
    unsigned nodes, threads, lost, holes;
    bool log_is_hurt, others_are;
};

static int count(struct ws_salvage *s, struct counted *n, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct ws_salvage_item item, hole;
    int r;
    while ((r = ws_salvage_nodes(s, &a, &item, err)) > 0)
        n->nodes++;
    TRY(r);
    while ((r = ws_salvage_lost(s, &a, &item, err)) > 0)
        n->lost++;
    TRY(r);
    while ((r = ws_salvage_threads(s, &a, &item, err)) > 0) {
        n->threads++;
        int h;
        while ((h = ws_salvage_holes(s, &item, &a, &hole, err)) > 0) {
            EXPECT(wb_str_eq(hole.why, UPP_STR("a row is lost")) && wl_pos_index(hole.pos) < ROWS);
            n->holes++;
        }
        TRY(h);
    }
    for (size_t i = 0; ws_salvage_loss(s, i); i++) {
        bool log = strcmp(ws_salvage_loss(s, i)->table, "log") == 0;
        n->log_is_hurt |= log;
        n->others_are |= !log;
    }
    return r;
}

static bool prepare(struct upp_err *err)
{
    (void)snprintf(path_of, sizeof path_of, "%s/weft.db", test_folder());
    return test_on_loop(fill, NULL, err) >= 0;
}

TEST(salvage_passes_by_pages)
{
    UPP_CLEANUP(ws_salvage_closep) struct ws_salvage *s = NULL;
    struct upp_err err = {0};
    struct counted n = {0};
    char left[600];
    CHECK(prepare(&err));
    CHECK(damage_row(10) && damage_row(30) && damage_row(31) && damage_row(60)); /* not neighbours: pages between */
    int r = ws_sqlite_salvage(path_of, test_folder(), &s, &err);
    test_note("%d: %s", r, err.msg);
    CHECK_INT(r, 0);
    CHECK_INT(count(s, &n, &err), 0);
    test_note("%u nodes, %u threads, %u lost, %u holes", n.nodes, n.threads, n.lost, n.holes);
    CHECK(n.nodes == THREADS && n.threads == THREADS && n.lost == 0 && n.log_is_hurt && !n.others_are);
    CHECK(n.holes >= 3 && n.holes <= 6); /* a page has one row, or two; all others are there */
    (void)snprintf(left, sizeof left, "%s", ws_salvage_path(s));
    ws_salvage_close(WB_TAKE(s));
    CHECK(access(left, F_OK) < 0 && access(path_of, F_OK) == 0); /* what it made is gone */
}

TEST(salvage_cuts_what_makes_no_sense)
{
    UPP_CLEANUP(ws_salvage_closep) struct ws_salvage *s = NULL;
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct upp_err err = {0};
    struct ws_salvage_item item, hole;
    CHECK(prepare(&err));
    CHECK_INT(ws_sqlite_salvage(path_of, test_folder(), &s, &err), 0);
    CHECK(!ws_salvage_loss(s, 0));
    uint64_t node = test_family_node(0x1003, 1).key;
    CHECK_INT(ws_salvage_cut(s, UPP_STR("acme"), node, wl_pos(2, 0), UPP_STR("it is odd"), &err), 0);
    unsigned holes = 0;
    int r;
    while ((r = ws_salvage_threads(s, &a, &item, &err)) > 0) {
        int h;
        while ((h = ws_salvage_holes(s, &item, &a, &hole, &err)) > 0) {
            CHECK(wb_uuid_eq(item.thread, test_family_uuid(0x1003, 2)) && hole.node == node);
            CHECK(hole.pos == wl_pos(2, 0) && wb_str_eq(hole.why, UPP_STR("it is odd")));
            holes++;
        }
        CHECK_INT(h, 0);
    }
    CHECK_INT(r, 0);
    CHECK_INT(holes, 1);
}

TEST(salvage_of_nonsense_is_empty)
{
    UPP_CLEANUP(ws_salvage_closep) struct ws_salvage *s = NULL;
    struct upp_err err = {0};
    struct counted n = {0};
    (void)snprintf(path_of, sizeof path_of, "%s/weft.db", test_folder());
    CHECK_INT(ws_sqlite_salvage(path_of, test_folder(), &s, &err), -UPP_ENOTFOUND);
    FILE *f = fopen(path_of, "w");
    CHECK(f);
    for (int i = 0; i < 1000; i++)
        (void)fputs("this is no database\n", f);
    (void)fclose(f);
    CHECK_INT(ws_sqlite_salvage(path_of, test_folder(), &s, &err), 0);
    CHECK_INT(count(s, &n, &err), 0);
    CHECK(n.threads == 0 && n.log_is_hurt && n.others_are);
}

TEST(salvage_refuses_a_file_that_is_open)
{
    UPP_CLEANUP(ws_salvage_closep) struct ws_salvage *s = NULL;
    struct upp_err err = {0};
    struct wl_store *open;
    CHECK(prepare(&err));
    CHECK_INT(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path_of), &open, &err), 0);
    int r = ws_sqlite_salvage(path_of, test_folder(), &s, &err);
    open->ops->close(open);
    CHECK_INT(r, -UPP_EBUSY);
}
