#include "base/clock.h"

#include "support/test.h"

static int64_t fake_wall;

static int64_t wall(void)
{
    return fake_wall;
}

static uint64_t mono(void)
{
    return 1999999;
}

TEST_WITH(clock_reads_the_hooks, .no_torture = "it replaces the table that injects the faults")
{
    static const struct {
        int64_t ns, ms;
    } cases[] = {{0, 0},   {999999, 0},    {1000000, 1},  {1789000000123456789, 1789000000123},
                 {-1, -1}, {-1000000, -1}, {-1000001, -2}};
    struct upp_hooks before = *wb_hooks(), mine = before;
    int64_t got[sizeof cases / sizeof cases[0]];
    mine.wall_ns = wall;
    mine.mono_ns = mono;
    int r = upp_global_init(&mine, NULL);
    uint64_t ns = wb_mono_ns(), ms = wb_mono_ms();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fake_wall = cases[i].ns;
        got[i] = wb_wall_ms();
    }
    CHECK(upp_global_init(&before, NULL) == 0 && r == 0);
    CHECK(ns == 1999999 && ms == 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_INT(got[i], cases[i].ms);
}

TEST(clock_of_the_system_moves)
{
    uint64_t a = wb_mono_ns(), b = wb_mono_ns();
    CHECK(a <= b && b - a < 60000000000u);
    CHECK(wb_wall_ms() > 1700000000000); /* after 2023 */
}
