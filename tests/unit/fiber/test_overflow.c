#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fiber/switch.h"
#include "support/fibers.h"

static int deep(volatile char *above, int n)
{
    volatile char here[512];
    here[0] = above ? above[0] : 0;
    return n == 0 ? here[0] : deep(here, n - 1) + here[0];
}

static int overflows(void *arg, struct upp_err *err)
{
    (void)arg, (void)err;
    return deep(NULL, 1000000);
}

static void overflow(void)
{
    if (weft_fiber_report_overflow(NULL) < 0)
        _exit(1);
    (void)test_on_loop(overflows, NULL, NULL);
}

TEST_WITH(overflow_is_named, .no_torture = "it dies in a forked child")
{
    char text[2048];
    int status = test_in_child(overflow, text, sizeof text);
    test_note("%s", text);
    if (WEFT__ANNOTATED) { /* the sanitizer's own report comes first; it is enough that it dies */
        CHECK(status != 0);
        return;
    }
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(strcmp(text, "fiber test overflowed its stack of 64 KiB\n") == 0);
}

/* On the thread of a group, which has an alternate stack of its own. */
static void overflow_in_group(void)
{
    struct weft_group *g = NULL;
    if (weft_group_open(UPP_OPTS(weft_group_opts, .loops = 1, .report_overflow = true), &g, NULL) < 0 ||
        weft_loop_call(weft_group_loop(g, 0), "deep one", overflows, NULL, NULL, NULL, NULL) < 0)
        _exit(1);
}

TEST_WITH(overflow_on_a_loop_of_a_group, .no_torture = "it dies in a forked child")
{
    char text[2048];
    if (WEFT__ANNOTATED)
        return;
    int status = test_in_child(overflow_in_group, text, sizeof text);
    test_note("%s", text);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(strcmp(text, "fiber deep one overflowed its stack of 64 KiB\n") == 0);
}

/* Another fault goes to whoever was there before us. */
static void last_resort(int sig)
{
    static const char text[] = "the handler before\n";
    (void)sig;
    (void)!write(2, text, sizeof text - 1);
    _exit(3);
}

static int faults(void *arg, struct upp_err *err)
{
    (void)err;
    return **(volatile int **)arg;
}

static void fault(void)
{
    static int *nowhere;
    (void)signal(SIGSEGV, last_resort);
    if (weft_fiber_report_overflow(NULL) < 0 || weft_fiber_report_overflow(NULL) < 0)
        _exit(1);
    (void)test_on_loop(faults, &nowhere, NULL);
}

TEST_WITH(overflow_handler_passes_other_faults_on, .no_torture = "it dies in a forked child")
{
    char text[2048];
    if (WEFT__ANNOTATED || test_on_valgrind())
        return; /* the tool keeps the signal to itself */
    int status = test_in_child(fault, text, sizeof text);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    CHECK(strcmp(text, "the handler before\n") == 0);
}

static void fault_by_default(void)
{
    static int *nowhere;
    if (weft_fiber_report_overflow(NULL) < 0)
        _exit(1);
    (void)test_on_loop(faults, &nowhere, NULL);
}

TEST_WITH(overflow_handler_lets_other_faults_kill, .no_torture = "it dies in a forked child")
{
    char text[2048];
    if (WEFT__ANNOTATED || test_on_valgrind())
        return;
    int status = test_in_child(fault_by_default, text, sizeof text);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && text[0] == 0);
}

static void sent_by_somebody(void)
{
    (void)signal(SIGSEGV, SIG_DFL);
    if (weft_fiber_report_overflow(NULL) < 0)
        _exit(1);
    (void)raise(SIGSEGV);
}

TEST_WITH(overflow_handler_lets_a_sent_signal_kill, .no_torture = "it dies in a forked child")
{
    char text[2048];
    if (test_on_valgrind())
        return;
    int status = test_in_child(sent_by_somebody, text, sizeof text);
    if (WEFT__ANNOTATED)
        CHECK(status != 0); /* a sanitizer reports and exits */
    else
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}
