/* Tests with planted faults: the driver must find each one. Run by run.sh, never as tests of their own. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/str.h"
#include "support/test.h"

static void free_it(char **p)
{
    wb_free(*p);
}

TEST(clean)
{
    WB_CLEANUP(free_it) char *a = wb_alloc(10);
    WB_CLEANUP(free_it) char *b = wb_alloc(10);
    CHECK(a && b);
}

TEST(fails_always)
{
    CHECK_INT(1 + 1, 3);
}

TEST(leaks_always)
{
    char *volatile kept = wb_alloc(77);
    CHECK(kept);
    kept = NULL;
}

TEST(leaks_a_descriptor)
{
    CHECK(WB_CALL(open)("/dev/null", O_RDONLY, 0) >= 0);
}

TEST(leaks_when_the_second_allocation_fails)
{
    char *a = wb_alloc(10);
    CHECK(a);
    char *b = wb_alloc(10);
    CHECK(b); /* a stays behind */
    wb_free(a);
    wb_free(b);
}

TEST(crashes_when_memory_is_short)
{
    char *a = wb_alloc(10);
    memset(a, 0, 10);
    wb_free(a);
}

TEST(hides_nothing_but_breaks_its_promise)
{
    /* Writes a file in place: a failed second write leaves it half made. */
    char name[600], text[8] = "";
    (void)snprintf(name, sizeof name, "%s/f", test_folder());
    int fd = WB_CALL(open)(name, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0);
    int64_t a = WB_CALL(pwrite)(fd, "new", 3, 0), b = a == 3 ? WB_CALL(pwrite)(fd, "new", 3, 3) : -1;
    (void)WB_CALL(close)(fd);
    FILE *f = fopen(name, "rb");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        (void)fclose(f);
    ALWAYS(n == 0 || n == 6);
    CHECK(b == 3);
}

TEST_WITH(hangs, .seconds = 1)
{
    for (;;)
        (void)pause();
}

TEST(runs_over_a_buffer)
{
    WB_CLEANUP(free_it) char *a = wb_alloc(10);
    CHECK(a);
    volatile size_t at = 10;
    a[at] = 1;
}

TEST(has_no_golden_file)
{
    CHECK_GOLDEN("never/written.json", UPP_STR("x"));
}

TEST(differs_from_its_golden_file)
{
    CHECK_GOLDEN("harness/text", UPP_STR("golder\n"));
}

TEST(is_its_golden_file)
{
    CHECK_GOLDEN("harness/text", UPP_STR("golden\n"));
}
