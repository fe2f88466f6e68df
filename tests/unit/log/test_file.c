/* Records of files: found, listed, expired, deleted with their reference; those of others are not found. */
#include "log/file.h"

#include "base/clock.h"
#include "base/defs.h"
#include "stores/blobs/blobs.h"
#include "support/stores.h"

#define S (t->s)

static WEFT_SUSPENDS void close_file(struct ws_file_writer **f)
{
    ws_file_close(*f);
}

/* A file with this text, and its record. */
static WEFT_SUSPENDS int put(struct wl_store *s, struct wl_owner o, struct wl_file *f, struct upp_str text,
                             struct upp_err *err)
{
    UPP_CLEANUP(close_file) struct ws_file_writer *writer = NULL;
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_value record;
    f->user = o.user;
    f->type = UPP_STR("text/plain");
    TRY(wl_file_id_new(s, &o, f->created_ms, &f->id, err));
    TRY(ws_file_open(s, &o, 0, &writer, err));
    TRY(ws_file_write(writer, text, err));
    TRY(ws_file_key(writer, &f->blob, &f->bytes, err));
    TRY(wl_file_value(f, &a, &record, err));
    struct wl_alias alias = {.kind = WL_ALIAS_FILE, .text = f->alias, .object = f->id};
    struct wl_change more[] = {{.kind = WL_PUT_VALUE, .value = &record}, {.kind = WL_ADD_ALIAS, .alias = &alias}};
    return ws_file_end(writer, f->id, more, f->alias.n ? 2 : 1, &f->blob, &f->bytes, err);
}

static WEFT_SUSPENDS int find(struct wl_store *s, struct wl_owner o, const struct wl_file *f, struct wb_arena *a,
                              struct wl_file *ret, struct upp_err *err)
{
    char id[WL_FILE_ID + 1];
    return wl_file_find(s, &o, wl_file_id(f->id, id), a, ret, err);
}

static WEFT_SUSPENDS int life(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    UPP_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(100);
    struct wl_file one = {
        .filename = UPP_STR("a \"b\".txt"), .purpose = UPP_STR("vision"), .created_ms = 1700000000123};
    struct wl_file two = one, got;
    size_t n;
    two.alias = UPP_STR("file-Old");
    TRY(put(S, ALICE, &one, UPP_STR("hello"), err));
    TRY(put(S, ALICE, &two, UPP_STR("hello"), err));
    TRY(find(S, ALICE, &one, &a, &got, err));
    FAIL_UNLESS(wb_str_eq(got.filename, one.filename) && wb_str_eq(got.purpose, one.purpose) && got.bytes == 5 &&
                got.created_ms == one.created_ms && !got.expires_ms && wb_str_eq(got.user, UPP_STR("alice")));
    TRY(wl_file_read(S, &ALICE, &got, 5, &text, err));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&text), UPP_STR("hello")));
    FAIL_UNLESS(wl_file_read(S, &ALICE, &got, 4, &text, NULL) == -UPP_ELIMIT);
    TRY(wl_file_find(S, &ALICE, UPP_STR("file-Old"), &a, &got, err));
    FAIL_UNLESS(wb_uuid_eq(got.id, two.id));
    FAIL_UNLESS(find(S, BOB, &one, &a, &got, NULL) == -UPP_ENOTFOUND); /* another user, another tenant */
    FAIL_UNLESS(find(S, EVE, &one, &a, &got, NULL) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_file_find(S, &ALICE, UPP_STR("file-None"), &a, &got, NULL) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_file_find(S, &ALICE, UPP_STR(""), &a, &got, NULL) == -UPP_ENOTFOUND);
    TRY(wl_file_delete(S, &ALICE, &two, err));
    FAIL_UNLESS(wl_file_find(S, &ALICE, UPP_STR("file-Old"), &a, &got, NULL) == -UPP_ENOTFOUND);
    struct wl_blob_key *loose;
    TRY(wl_list_unreferenced_blobs(S, &ALICE, false, INT64_MAX, 9, &a, &loose, &n, err));
    FAIL_UNLESS(n == 0); /* the other one has the same bytes */
    TRY(wl_file_delete(S, &ALICE, &one, err));
    TRY(wl_list_unreferenced_blobs(S, &ALICE, false, INT64_MAX, 9, &a, &loose, &n, err));
    FAIL_UNLESS(n == 1);
    return 0;
}

/* covers: AITP-10/1 */
TEST(file_is_found_by_its_owner_until_it_is_deleted)
{
    CHECK(test_each_store(life, NULL));
}

enum { FILES = 70 }; /* more than a page of the store */

static WEFT_SUSPENDS int lists(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_file *files = wb_new_n(&a, struct wl_file, FILES), *got;
    size_t n;
    TRY(wb_arena_check(&a, err));
    for (size_t i = 0; i < FILES; i++) {
        files[i] = (struct wl_file){.filename = UPP_STR("x"),
                                    .purpose = i % 2 ? UPP_STR("odd") : UPP_STR("even"),
                                    .created_ms = 1700000000000 + (int64_t)i};
        TRY(put(S, ALICE, &files[i], UPP_STR("x"), err));
    }
    struct wl_file_query q = {.max = 100};
    TRY(wl_file_list(S, &ALICE, &q, &a, &got, &n, err));
    FAIL_UNLESS(n == FILES && wb_uuid_eq(got[0].id, files[FILES - 1].id) && wb_uuid_eq(got[n - 1].id, files[0].id));
    q = (struct wl_file_query){.max = 3, .after = files[10].id};
    TRY(wl_file_list(S, &ALICE, &q, &a, &got, &n, err));
    FAIL_UNLESS(n == 3 && wb_uuid_eq(got[0].id, files[9].id) && wb_uuid_eq(got[2].id, files[7].id));
    q.ascending = true;
    q.purpose = UPP_STR("odd");
    TRY(wl_file_list(S, &ALICE, &q, &a, &got, &n, err));
    FAIL_UNLESS(n == 3 && wb_uuid_eq(got[0].id, files[11].id) && wb_uuid_eq(got[2].id, files[15].id));
    TRY(wl_file_list(S, &BOB, &q, &a, &got, &n, err));
    FAIL_UNLESS(n == 0);
    return 0;
}

TEST(file_lists_are_in_order)
{
    CHECK(test_each_store(lists, NULL));
}

static WEFT_SUSPENDS int expiry(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    int64_t now = wb_wall_ms();
    struct wl_file old = {.filename = UPP_STR("x"), .created_ms = now, .expires_ms = now - 1};
    struct wl_file young = {.filename = UPP_STR("y"), .created_ms = now, .expires_ms = now + 60000};
    struct wl_file got, *list;
    struct wl_file_query q = {.max = 9};
    size_t n;
    TRY(put(S, ALICE, &old, UPP_STR("x"), err));
    TRY(put(S, ALICE, &young, UPP_STR("y"), err));
    FAIL_UNLESS(find(S, ALICE, &old, &a, &got, NULL) == -UPP_ENOTFOUND);
    TRY(wl_file_list(S, &ALICE, &q, &a, &list, &n, err));
    FAIL_UNLESS(n == 1 && list[0].expires_ms == now + 60000);
    TRY(wl_file_expire(S, &ALICE, now, 9, &n, err));
    FAIL_UNLESS(n == 1);
    TRY(wl_file_expire(S, &ALICE, now, 9, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(find(S, ALICE, &young, &a, &got, err));
    return 0;
}

TEST(file_expires)
{
    CHECK(test_each_store(expiry, NULL));
}
