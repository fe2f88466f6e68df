#include "base/hooks.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fibers.h"
#include "support/test.h"

static unsigned counted;

static void *counting_alloc(size_t n)
{
    counted++;
    return NULL;
    (void)n;
}

static void *no_resize(void *p, size_t n)
{
    (void)p, (void)n;
    return NULL;
}

static void no_release(void *p)
{
    (void)p;
}

TEST_WITH(hooks_are_replaced_and_filled_up, .no_torture = "it replaces the table that injects the faults")
{
    struct upp_hooks before = *wb_hooks();
    struct upp_hooks mine = {.size = sizeof mine, .alloc = counting_alloc, .resize = no_resize, .release = no_release};
    struct upp_err err;
    int r = upp_global_init(&mine, &err);
    void *p = wb_alloc(0);
    bool full = wb_hooks()->pread && wb_hooks()->spawn && wb_hooks()->mono_ns;
    int back = upp_global_init(&before, &err);
    CHECK(r == 0 && back == 0 && !p && full);
    CHECK_INT(counted, 1);

    mine.resize = NULL;
    CHECK_INT(upp_global_init(&mine, &err), -UPP_EINVALID);
    mine = (struct upp_hooks){.size = sizeof mine, .map = wb_hooks()->map};
    CHECK_INT(upp_global_init(&mine, &err), -UPP_EINVALID);
    mine = (struct upp_hooks){.size = sizeof mine + 8};
    CHECK_INT(upp_global_init(&mine, &err), -UPP_EINVALID);
    CHECK(wb_hooks()->alloc == before.alloc);
}

TEST(hooks_calloc_refuses_overflow)
{
    CHECK(!wb_calloc(SIZE_MAX / 2, 3));
}

TEST(hooks_map_pages_with_a_guard)
{
    enum { PAGES = 65536 };
    char *p = WB_CALL(map)(PAGES, PAGES);
    CHECK(p);
    bool clear = p[0] == 0 && p[PAGES - 1] == 0;
    p[0] = p[PAGES - 1] = 1;
    WB_CALL(unmap)(p, PAGES, PAGES);
    CHECK(clear);
    CHECK(!WB_CALL(map)((size_t)1 << 60, 0));
}

TEST(hooks_files_return_negative_errno)
{
    char name[600], text[8] = "";
    CHECK(WB_CALL(open)("/nonexistent/x", O_RDONLY, 0) < 0);
    (void)snprintf(name, sizeof name, "%s/f", test_folder());
    int fd = WB_CALL(open)(name, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0);
    bool wrote = WB_CALL(pwrite)(fd, "hello", 5, 0) == 5 && WB_CALL(sync)(fd) == 0;
    bool cut = WB_CALL(truncate)(fd, 4) == 0;
    bool read = WB_CALL(pread)(fd, text, 8, 0) == 4;
    (void)WB_CALL(close)(fd);
    CHECK(wrote && cut && read && memcmp(text, "hell", 4) == 0);
}

TEST(hooks_pipe_has_one_end_that_does_not_block)
{
    for (int ours = 0; ours < 2; ours++) {
        int fds[2];
        char c = 'x', got = 0;
        CHECK_INT(WB_CALL(pipe)(fds, ours), 0);
        bool right = fds[0] > 2 && fds[1] > 2;
        for (int i = 0; i < 2; i++)
            right &= !(fcntl(fds[i], F_GETFL) & O_NONBLOCK) == (i != ours) && (fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
        bool moves = write(fds[1], &c, 1) == 1 && read(fds[0], &got, 1) == 1 && got == c;
        (void)WB_CALL(close)(fds[0]);
        (void)WB_CALL(close)(fds[1]);
        CHECK(right && moves);
    }
}

TEST(hooks_spawn_runs_a_program)
{
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"test -z \"$HOME\" && exit 7"}, NULL};
    struct upp_spawn what = {.file = "sh", .argv = argv, .in = -1, .out = -1, .error = -1, .own_session = true};
    int status = 0, pid = WB_CALL(spawn)(&what);
    CHECK(pid > 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    what.file = "/nonexistent/program";
    pid = WB_CALL(spawn)(&what);
    if (pid > 0) /* valgrind runs vfork as fork: the child cannot say why, and leaves with 127 */
        CHECK(test_on_valgrind() && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 127);
}
