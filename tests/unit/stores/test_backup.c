/* A backup, with every allocation and file call failing in turn: a whole copy, or none. (tests/server/backup.py looks
 * at what is in one.) */
#include "stores/backup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stores/sqlite/sqlite.h"
#include "support/stores.h"

static char from[512], to[512], back[512];

WEFT_SUSPENDS static int fill(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    struct wl_node node = test_node(1);
    struct wl_row row = test_row(1, 0, 1, "a row");
    struct wl_change make[] = {ADD_NODE(&node), ADD_ROW(&row)};
    (void)arg;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = from, .reserve_kib = UINT32_MAX), &s, err));
    int r = test_commit(s, ALICE, make, WB_LEN(make), NULL, err);
    s->ops->close(s);
    return r;
}

static int copy(const char *source, const char *target, bool restore, struct ws_backup_counts *n, struct upp_err *err)
{
    struct ws_backup b = {.from = source, .to = target, .restore = restore};
    ws_backup_init(&b);
    int r = ws_sqlite_backup(&b, err);
    *n = b.counts;
    ws_backup_done(&b);
    return r;
}

static bool partial(const char *of)
{
    char name[600];
    (void)snprintf(name, sizeof name, "%s.partial-%d", of, (int)getpid());
    return access(name, F_OK) == 0;
}

TEST(backup_is_whole_or_none)
{
    struct upp_err err = {0};
    struct ws_backup_counts n = {0}, again = {0};
    (void)snprintf(from, sizeof from, "%s/weft.db", test_folder());
    (void)snprintf(to, sizeof to, "%s/backup.db", test_folder());
    (void)snprintf(back, sizeof back, "%s/restored.db", test_folder());
    int r = test_on_loop(fill, NULL, &err);
    if (r >= 0) {
        r = copy(from, to, false, &n, &err);
        ALWAYS(r < 0 || (access(to, F_OK) == 0 && !partial(to)));
    }
    if (r >= 0) {
        r = copy(to, back, true, &again, &err);
        ALWAYS(r < 0 || (access(back, F_OK) == 0 && !partial(back)));
    }
    test_note("%d: %s: %s", r, err.where, err.msg);
    CHECK_INT(r, 0);
    CHECK_INT(n.rows, 1);
    CHECK_INT(again.rows, 1);
    CHECK(n.bytes > 0 && !n.sealed && !n.blobs);
    CHECK_INT(copy(to, from, true, &again, &err), -UPP_EREFUSED);
    CHECK_INT(copy(from, to, false, &again, &err), -UPP_EREFUSED);
}
