/* What is erased is not in the file of the database any more, once its pages are in order. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "stores/sqlite/gap.h"
#include "stores/sqlite/sqlite.h"
#include "support/stores.h"

enum { MANY = 1000, EACH = 100 };

static const char *db_path(void)
{
    static char path[600];
    (void)snprintf(path, sizeof path, "%s/weft.db", test_folder());
    return path;
}

/* Threads whose ids come in no order: their rows are moved from page to page as others come between them. */
static void thread_of(unsigned i, char text[1024], struct wl_thread *ret)
{
    int n = snprintf(text, 1024, "\"quarkzeppelin%0*u\"", (int)(i * 37 % 500) + 1, 7u);
    *ret = (struct wl_thread){.id = test_uuid(i * UINT64_C(0x9e3779b97f4a7c15)),
                              .tree = test_uuid(1),
                              .kind = WL_MAIN,
                              .version = 1,
                              .metadata = wb_str(text, (size_t)n)};
    for (size_t k = 0; k < 8; k++) /* mixed, so that they differ in their first bytes */
        ret->id.b[k] = (unsigned char)((i + 1) * UINT64_C(0x9e3779b97f4a7c15) >> (56 - 8 * k));
}

WEFT_SUSPENDS static int change(struct wl_store *s, bool add, struct upp_err *err)
{
    static struct wl_thread threads[EACH];
    static struct wl_change list[EACH];
    static char text[EACH][1024];
    for (unsigned at = 0; at < MANY; at += EACH) {
        for (unsigned i = 0; i < EACH; i++) {
            thread_of(at + i, text[i], &threads[i]);
            if (!add)
                threads[i].metadata = (struct upp_str){NULL, 0};
            list[i] = (struct wl_change){.kind = add ? WL_ADD_THREAD : WL_SET_THREAD, .thread = &threads[i]};
        }
        TRY(test_commit(s, ALICE, list, EACH, NULL, err));
    }
    return 0;
}

static int occurrences(const char *word, size_t *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf file = WB_BUF(64 << 20);
    struct upp_str rest;
    size_t at;
    TRY(wb_file_read(db_path(), &file, err));
    rest = wb_buf_str(&file);
    for (*ret = 0; (at = wb_str_find(rest, wb_cstr(word), 0)) != SIZE_MAX; ++*ret)
        rest = wb_str(rest.p + at + 1, rest.n - at - 1);
    return 0;
}

WEFT_SUSPENDS static int erases(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    size_t n;
    (void)arg;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path()), &s, err));
    int r = change(s, true, err);
    s->ops->close(s);
    TRY(r);
    TRY(occurrences("quarkzeppelin", &n, err));
    FAIL_UNLESS(n == MANY); /* each once: no page has a second copy */
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path()), &s, err));
    r = change(s, false, err);
    s->ops->close(s);
    TRY(r);
    TRY(occurrences("quarkzeppelin", &n, err));
    test_note("%zu left", n);
    FAIL_UNLESS(n == 0);
    return 0;
}

TEST_WITH(store_file_has_nothing_of_what_was_erased, .no_torture = "a thousand threads")
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(erases, NULL, &err), 0);
}

/* Which pages, and which part of them. */

TEST(store_gap_is_between_pointers_and_cells)
{
    static unsigned char page[WS_PAGE]; /* too large for a frame */
    static const unsigned char header[] = {13, 0, 0, 0, 3, 0x0f, 0x00};
    size_t from = 0, n = 0;
    memset(page, 0, sizeof page);
    memcpy(page, header, sizeof header);
    CHECK(ws_page_gap(page, 5, 0, &from, &n) && from == 8 + 6 && from + n == 0xf00);
    page[0] = 5; /* an interior page's header is longer */
    CHECK(ws_page_gap(page, 5, 0, &from, &n) && from == 12 + 6 && from + n == 0xf00);
    CHECK(!ws_page_gap(page, 2, 0, &from, &n) && !ws_page_gap(page, 822, 0, &from, &n)); /* maps of auto_vacuum */
    CHECK(!ws_page_gap(page, 819, 16, &from, &n) && ws_page_gap(page, 822, 16, &from, &n));
    page[0] = 0; /* overflow, or free */
    CHECK(!ws_page_gap(page, 5, 0, &from, &n));
    page[0] = 13;
    page[3] = 0x10; /* more cells than fit */
    CHECK(!ws_page_gap(page, 5, 0, &from, &n));
    page[3] = 0;
    page[5] = 0x10; /* an empty page: cells begin at its end */
    CHECK(ws_page_gap(page, 5, 0, &from, &n) && from + n == WS_PAGE);
    page[6] = 1;
    CHECK(!ws_page_gap(page, 5, 0, &from, &n));
    memmove(page + 100, page, 8);
    page[106] = 0;
    CHECK(ws_page_gap(page, 1, 0, &from, &n) && from == 100 + 8 + 6); /* behind the database's header */
}

TEST(store_gap_is_left_where_pages_look_alike)
{
    unsigned char first[WS_PAGE_HEAD] = {[16] = 0x10};
    CHECK(ws_page_gaps(first));
    first[28] = 1; /* 64 GiB */
    CHECK(!ws_page_gaps(first));
    first[28] = 0;
    first[20] = 8; /* bytes that somebody reserved in each page */
    CHECK(!ws_page_gaps(first));
    first[20] = 16; /* for checksums */
    CHECK(ws_page_gaps(first) && ws_page_reserved(first) == 16);
    first[16] = 0x20;
    CHECK(!ws_page_gaps(first));
}
