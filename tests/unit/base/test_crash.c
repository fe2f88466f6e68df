#include "base/crash.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "support/fibers.h"
#include "support/test.h"

static void arm(const char *spec)
{
    if (wb_crash_arm(spec, NULL) < 0)
        _exit(1);
}

/* Says how far it came; the third hit of "b" is the seventh of all. */
static void work(void)
{
    static const char *const points[] = {"a", "b", "c", "b", "a", "anything", "b", "c"};
    for (size_t i = 0; i < WB_LEN(points); i++) {
        wb_crashpoint(points[i]);
        (void)!write(2, points[i], 1);
    }
    _exit(7);
}

static void third_b(void)
{
    arm("b:3");
    work();
}

static void fifth_of_any(void)
{
    arm("any:5");
    work();
}

static void never(void)
{
    arm("d:1");
    work();
}

static void one_hit_too_few(void)
{
    arm("b:4");
    work();
}

static void disarmed(void)
{
    arm("a:1");
    arm("");
    work();
}

TEST_WITH(crash_points_kill_at_the_nth_hit, .no_torture = "children inherit the injected faults")
{
    static const struct {
        void (*fn)(void);
        bool killed;
        const char *text;
    } cases[] = {
        {third_b, true, "abcbaa"}, {fifth_of_any, true, "abcb"},         {never, false, "abcbaabc"},
        {work, false, "abcbaabc"}, {one_hit_too_few, false, "abcbaabc"}, {disarmed, false, "abcbaabc"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        char text[200];
        int status = test_in_child(cases[i].fn, text, sizeof text);
        test_note("case %zu", i);
        CHECK_STR(wb_cstr(text), wb_cstr(cases[i].text));
        if (cases[i].killed)
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        else
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
}

TEST(crash_points_are_named_with_a_number)
{
    static const char *const bad[] = {"a",     "a:",
                                      "a:0",   "a:-1",
                                      "a:1x",  ":1",
                                      "a:b:1", "a:99999999999999999999",
                                      ":",     "0123456789012345678901234567890123456789012345678901234567890123:1"};
    struct upp_err err;
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        test_note("case %zu", i);
        CHECK_INT(wb_crash_arm(bad[i], &err), -UPP_EINVALID);
        CHECK(!wb_crash_armed);
    }
    CHECK_STR(wb_cstr(err.msg),
              UPP_STR("crash point '0123456789012345678901234567890123456789012345678901234567890123:1' is "
                      "not NAME:N"));
    CHECK_INT(wb_crash_arm(NULL, &err), 0);
    CHECK(!wb_crash_armed);
}
