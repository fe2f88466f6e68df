#include "base/arena.h"
#include "base/hooks.h"
#include "support/test.h"

TEST(arena_gives_aligned_cleared_memory)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    for (size_t i = 0; i < 1000; i++) {
        char *c = wb_arena_alloc(&a, 1 + i % 7, 1);
        long *l = wb_new(&a, long);
        CHECK(c && l && *l == 0 && (uintptr_t)l % _Alignof(long) == 0);
        memset(c, 0xff, 1 + i % 7);
        *l = -1;
    }
    char *page = wb_arena_alloc(&a, 100, 4096);
    CHECK(page && (uintptr_t)page % 4096 == 0);
    CHECK(wb_arena_check(&a, NULL) == 0);
}

TEST(arena_fails_sticky_at_its_maximum)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 10);
    struct upp_err err;
    char *first = wb_arena_alloc(&a, 10, 1);
    CHECK(first);
    first[0] = 'x';
    CHECK(!wb_arena_alloc(&a, 64u << 10, 1));
    CHECK(!wb_arena_alloc(&a, 1, 1)); /* sticky */
    CHECK(!wb_new(&a, int) && !wb_arena_dup(&a, UPP_STR("x")).p);
    CHECK_INT(wb_arena_check(&a, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("needs more than 65536 bytes of memory"));
    CHECK(first[0] == 'x');
    wb_arena_reset(&a);
    CHECK(wb_arena_alloc(&a, 1, 1));
}

TEST(arena_refuses_sizes_that_overflow)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(SIZE_MAX);
    CHECK(!wb_new_n(&a, uint64_t, SIZE_MAX / 4));
    CHECK_INT(wb_arena_check(&a, NULL), -UPP_ELIMIT);
}

TEST(arena_copies_text_with_nul_after_it)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_str s = wb_arena_dup(&a, wb_str("a\0b", 3));
    CHECK_STR(s, wb_str("a\0b", 3));
    CHECK(s.p[3] == 0);
    CHECK(!wb_arena_dup(&a, (struct upp_str){0}).p);
    CHECK_STR(wb_arena_dup(&a, UPP_STR("")), UPP_STR(""));
    CHECK_STR(wb_arena_printf(&a, "%d-%s", 7, "x"), UPP_STR("7-x"));
}

TEST(arena_joins_texts_and_numbers)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    const struct upp_str texts[] = {wb_str("a\0b", 3), {0}, UPP_STR(""), UPP_STR("c")};
    struct upp_str s = wb_arena_join(&a, texts, 4);
    CHECK_STR(s, wb_str("a\0bc", 4));
    CHECK(s.p[4] == 0);
    CHECK_STR(wb_arena_join(&a, NULL, 0), UPP_STR(""));
    CHECK_STR(wb_arena_numbered(&a, UPP_STR("entry-"), 0), UPP_STR("entry-0"));
    CHECK_STR(wb_arena_numbered(&a, UPP_STR(""), 10), UPP_STR("10"));
    CHECK_STR(wb_arena_numbered(&a, UPP_STR("n"), UINT64_MAX), UPP_STR("n18446744073709551615"));
    const struct upp_str large[] = {{"x", SIZE_MAX}, {"x", SIZE_MAX}};
    CHECK(!wb_arena_join(&a, large, 2).p);
    CHECK_INT(wb_arena_check(&a, NULL), -UPP_ELIMIT);
}

/* Whether the chunk has room for it or not. */
TEST(arena_prints_texts_of_any_length)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_str all[100];
    char text[600];
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < WB_LEN(all); i++)
        all[i] = wb_arena_printf(&a, "%.*s", (int)(6 * i), text);
    for (size_t i = 0; i < WB_LEN(all); i++) {
        CHECK_STR(all[i], wb_str(text, 6 * i));
        CHECK(all[i].p[6 * i] == 0);
    }
}

TEST(arena_serves_large_requests_and_resets)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    for (int round = 0; round < 3; round++) {
        char *big = wb_arena_alloc(&a, 3u << 20, 1);
        CHECK(big);
        big[(3u << 20) - 1] = 1;
        CHECK(wb_arena_alloc(&a, 10, 1));
        wb_arena_reset(&a);
        CHECK(a.used <= 2u << 20);
    }
}

/* What the borrower and the lender allocate in the meantime never overlaps, and lives as long as the arena. */
TEST(arena_lends_the_rest_of_its_chunk)
{
    for (size_t size = 8; size <= 4096; size *= 8) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        CHECK(wb_arena_alloc(&a, 100, 8));
        struct wb_arena lent = wb_arena_lend(&a);
        char *all[64];
        for (size_t i = 0; i < WB_LEN(all); i++) {
            all[i] = wb_arena_alloc(i % 2 ? &a : &lent, size, 8);
            if (all[i])
                memset(all[i], (int)i, size);
        }
        size_t lenders = a.used, borrowed = lent.used;
        wb_arena_give_back(&a, &lent);
        CHECK(a.used >= lenders && a.used + 1024 >= borrowed);
        CHECK(wb_arena_check(&a, NULL) == 0 && wb_new(&a, long));
        for (size_t i = 0; i < WB_LEN(all); i++)
            CHECK(all[i] && all[i][0] == (char)i && all[i][size - 1] == (char)i);
    }
}

TEST(arena_that_was_lent_has_the_failures_of_both)
{
    for (int who = 0; who < 2; who++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(10000);
        struct wb_arena lent = wb_arena_lend(&a);
        CHECK(!wb_arena_alloc(who ? &a : &lent, 20000, 1));
        wb_arena_give_back(&a, &lent);
        CHECK_INT(wb_arena_check(&a, NULL), -UPP_ELIMIT);
        CHECK(!wb_arena_alloc(&a, 1, 1));
        struct wb_arena again = wb_arena_lend(&a);
        CHECK(!wb_arena_alloc(&again, 1, 1));
        wb_arena_give_back(&a, &again);
    }
}

TEST(arena_takes_over_blocks)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 10);
    char *kept = wb_arena_alloc(&a, 10, 1);
    CHECK(kept);
    memset(kept, 'k', 10);
    for (int round = 0; round < 3; round++) {
        char *p = wb_block_alloc(100);
        CHECK(p && (uintptr_t)p % _Alignof(max_align_t) == 0);
        memset(p, 'p', 100);
        char *grown = wb_block_resize(p, 5000);
        if (!grown)
            wb_block_free(p);
        CHECK(grown && grown[99] == 'p');
        wb_arena_adopt(&a, grown);
        CHECK(wb_arena_check(&a, NULL) == 0);
        CHECK(wb_arena_alloc(&a, 8, 8)); /* the newest chunk is still in use */
        CHECK(kept[9] == 'k' && grown[99] == 'p');
    }
    CHECK(!wb_block_alloc(SIZE_MAX - 8));
    wb_block_free(NULL);

    char *large = wb_block_alloc(60u << 10);
    CHECK(large);
    wb_arena_adopt(&a, large); /* too much: freed at once */
    CHECK_INT(wb_arena_check(&a, NULL), -UPP_ELIMIT);

    wb_arena_reset(&a);
    large = wb_block_alloc(1000);
    CHECK(large);
    wb_arena_adopt(&a, large);
    CHECK(wb_arena_check(&a, NULL) == 0 && wb_new(&a, long));
}

TEST(arena_takes_over_a_block_before_anything_else)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 10);
    char *p = wb_block_alloc(100);
    CHECK(p);
    memset(p, 'p', 100);
    wb_arena_adopt(&a, p);
    long *l = wb_new(&a, long);
    CHECK(l && (char *)l != p && p[0] == 'p' && *l == 0);
}
