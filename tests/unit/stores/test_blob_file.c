/* Files as blobs: in pieces, once, limited, gone when they were not ended. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hooks.h"
#include "stores/blobs/cut.h"
#include "stores/blobs/blobs.h"
#include "stores/sqlite/sqlite.h"
#include "support/stores.h"

#define S (t->s)
#define O (t->s->ops)

enum { KIB = 1 << 10, MIB = 1 << 20 };

static WEFT_SUSPENDS void close_file(struct ws_file_writer **f)
{
    ws_file_close(*f);
}

/* n bytes in steps, other ones for each `kind`. */
static WEFT_SUSPENDS int write_kind(struct wl_store *s, unsigned kind, size_t n, size_t step, uint64_t max, uint64_t id,
                                    struct wl_blob_key *key, struct upp_err *err)
{
    UPP_CLEANUP(close_file) struct ws_file_writer *f = NULL;
    static const char bytes[64 * KIB + 8] = "the same, again and again";
    uint64_t size;
    TRY(ws_file_open(s, &ALICE, max, &f, err));
    for (size_t done = 0, some; done < n; done += some) {
        some = WB_MIN(step, n - done);
        TRY(ws_file_write(f, wb_str(bytes + kind, some), err));
    }
    TRY(ws_file_end(f, test_uuid(id), NULL, 0, key, &size, err));
    FAIL_UNLESS(size == n);
    FAIL_UNLESS(ws_file_write(f, UPP_STR("x"), NULL) == -UPP_EINVALID);
    FAIL_UNLESS(ws_file_end(f, test_uuid(id), NULL, 0, key, &size, NULL) == -UPP_EINVALID);
    return 0;
}

static WEFT_SUSPENDS int write_file(struct wl_store *s, size_t n, size_t step, uint64_t max, uint64_t id,
                                    struct wl_blob_key *key, struct upp_err *err)
{
    return write_kind(s, 0, n, step, max, id, key, err);
}

static WEFT_SUSPENDS int count_loose(struct test_store *t, size_t *n, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_blob_key *p;
    return wl_list_unreferenced_blobs(S, &ALICE, false, INT64_MAX, 99, &a, &p, n, err);
}

static WEFT_SUSPENDS int sizes(struct test_store *t, struct upp_err *err)
{
    static const size_t lengths[] = {0, 1, WL_PIECE - 1, WL_PIECE, WL_PIECE + 1, 2 * WL_PIECE};
    size_t n;
    for (size_t i = 0; i < WB_LEN(lengths); i++) {
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
        struct wl_blob_key key, again;
        struct wl_piece p = {0};
        uint64_t total = 0;
        TRY(write_file(S, lengths[i], 64 * KIB, 0, i, &key, err));
        for (uint32_t k = 0; !p.last; k++) {
            TRY(wl_get_piece(S, &ALICE, &key, k, &a, &p, err));
            total += p.bytes.n;
        }
        FAIL_UNLESS(total == lengths[i]);
        TRY(write_file(S, lengths[i], 64 * KIB, 0, 100 + i, &again, err)); /* another file with the same bytes */
        FAIL_UNLESS(memcmp(key.b, again.b, sizeof key.b) == 0);
    }
    TRY(count_loose(t, &n, err));
    FAIL_UNLESS(n == 0);
    struct wl_blob_key key, want;
    TRY(write_file(S, 3, 3, 0, 7, &key, err));
    TRY(ws_sha256(UPP_STR("the"), &want, err));
    FAIL_UNLESS(memcmp(key.b, want.b, sizeof key.b) == 0);
    return 0;
}

/* covers: TP-52 */
TEST(blob_file_of_any_size_is_kept_once)
{
    CHECK(test_each_store(sizes, NULL));
}

static WEFT_SUSPENDS int limits(struct test_store *t, struct upp_err *err)
{
    struct wl_blob_key key;
    size_t n;
    TRY(write_file(S, 600 * KIB, 64 * KIB, 600 * KIB, 1, &key, err));
    FAIL_UNLESS(write_file(S, 600 * KIB + 1, 64 * KIB, 600 * KIB, 2, &key, err) == -UPP_ELIMIT);
    {
        UPP_CLEANUP(close_file) struct ws_file_writer *f = NULL;
        TRY(ws_file_open(S, &ALICE, 2, &f, err));
        FAIL_UNLESS(ws_file_write(f, UPP_STR("abc"), err) == -UPP_ELIMIT);
        FAIL_UNLESS(ws_file_write(f, UPP_STR("a"), err) == -UPP_EINVALID); /* failed once is failed */
        FAIL_UNLESS(ws_file_end(f, test_uuid(1), NULL, 0, &key, &(uint64_t){0}, err) == -UPP_EINVALID);
    }
    TRY(count_loose(t, &n, err));
    FAIL_UNLESS(n == 0); /* of what did not end nothing stays */
    return 0;
}

TEST(blob_file_has_a_limit)
{
    CHECK(test_each_store(limits, NULL));
}

/* ---- Memory: what is taken through the hook table, at its highest ---- */

static struct {
    struct upp_hooks before;
    _Atomic size_t now, most;
} taken;

static void count_in(void *p)
{
    size_t now = atomic_fetch_add(&taken.now, p ? malloc_usable_size(p) : 0) + (p ? malloc_usable_size(p) : 0);
    size_t most = atomic_load(&taken.most);
    while (now > most && !atomic_compare_exchange_weak(&taken.most, &most, now))
        ;
}

static void count_out(void *p)
{
    if (p)
        (void)atomic_fetch_sub(&taken.now, malloc_usable_size(p));
}

static void *count_alloc(size_t n)
{
    void *p = taken.before.alloc(n);
    count_in(p);
    return p;
}

static void *count_resize(void *p, size_t n)
{
    size_t before = p ? malloc_usable_size(p) : 0;
    void *q = taken.before.resize(p, n);
    if (q) {
        (void)atomic_fetch_sub(&taken.now, before);
        count_in(q);
    }
    return q;
}

static void count_release(void *p)
{
    count_out(p);
    taken.before.release(p);
}

static void hooks_back(int *unused)
{
    (void)unused;
    if (upp_global_init(&taken.before, NULL) < 0)
        abort();
}

static WEFT_SUSPENDS int large(void *arg, struct upp_err *err)
{
    struct test_store t = {.path = arg};
    size_t mib = test_number("WEFT_FILE_MB", 64);
    uint64_t max = mib == 512 ? 0 : mib * MIB; /* 0: the limit that there is, of 512 MiB */
    struct wl_store *file = NULL;
    struct wl_blob_key key;
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = arg), &file, err));
    TRY(ws_blobs_open(file, &t.s, err));
    /* The first one fills SQLite's cache, which has a limit of its own. */
    int r = write_kind(t.s, 1, 96 * MIB, 64 * KIB, 0, 1, &key, err);
    atomic_store(&taken.most, atomic_load(&taken.now));
    size_t before = atomic_load(&taken.now);
    if (r >= 0)
        r = write_file(t.s, mib * MIB, 64 * KIB, max, 2, &key, err);
    size_t peak = atomic_load(&taken.most) - before;
    if (r >= 0 && mib == 512)
        r = write_file(t.s, mib * MIB + 1, 64 * KIB, max, 3, &key, err) == -UPP_ELIMIT ? 0 : -UPP_EBUG;
    t.s->ops->close(t.s);
    TRY(r);
    test_note("%zu bytes at most", peak);
    FAIL_UNLESS(peak < 16 * MIB);
    return 0;
}

TEST_WITH(blob_file_is_never_whole_in_memory, .no_torture = "its calls are those of small files", .seconds = 600)
{
    char path[600];
    struct upp_err err = {0};
    taken.before = *wb_hooks();
    struct upp_hooks table = taken.before;
    table.alloc = count_alloc;
    table.resize = count_resize;
    table.release = count_release;
    UPP_CLEANUP(hooks_back) int undo = 0;
    (void)snprintf(path, sizeof path, "%s/large.db", test_folder());
    CHECK(upp_global_init(&table, NULL) == 0);
    CHECK(test_on_loop(large, path, &err) == 0);
    (void)undo;
}
