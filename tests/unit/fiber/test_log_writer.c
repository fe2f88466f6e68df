#include "fiber/log_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hooks.h"
#include "base/log.h"
#include "support/fibers.h"

enum { RING = 1024, LINES = 200 };

/* The descriptor of the log is a pipe. */
struct pipe_log {
    int ends[2];
};

static void pipe_log_down(struct pipe_log *p)
{
    if (p->ends[0] >= 0)
        (void)close(p->ends[0]);
    p->ends[0] = -1; /* a thread that hangs in the pipe hangs no more */
    (void)weft__log_writer_stop(60000);
    wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
    (void)close(p->ends[1]);
}

static bool pipe_log_up(struct pipe_log *p)
{
    p->ends[0] = p->ends[1] = -1;
    if (pipe2(p->ends, O_CLOEXEC) != 0)
        return false;
    wb_log_setup(WB_INFO, WB_LOG_TEXT, p->ends[1]);
    return true;
}

/* Fills the pipe: how many bytes that took. */
static size_t fill(int fd)
{
    static const char zeros[4096];
    size_t n = 0;
    int flags = fcntl(fd, F_GETFL);
    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    for (ssize_t got; (got = write(fd, zeros, sizeof zeros)) > 0;)
        n += (size_t)got;
    (void)fcntl(fd, F_SETFL, flags);
    return n;
}

static bool skip(int fd, size_t n)
{
    static char some[4096];
    for (ssize_t got; n; n -= (size_t)got)
        if ((got = read(fd, some, n < sizeof some ? n : sizeof some)) <= 0)
            return false;
    return true;
}

/* The next line, without its end. */
static bool next_line(int fd, char *line, size_t size)
{
    size_t n = 0;
    while (n + 1 < size && read(fd, line + n, 1) == 1)
        if (line[n++] == '\n') {
            line[n - 1] = 0;
            return true;
        }
    return false;
}

/* Does the line have this number behind this text? */
static bool is_line(const char *line, const char *text, unsigned long long i)
{
    const char *at = strstr(line, text);
    return at && strtoull(at + strlen(text), NULL, 10) == i;
}

TEST_WITH(log_writer_drops_and_counts_what_nobody_reads,
          .no_torture = "it counts lines, and a failed write is one less")
{
    UPP_CLEANUP(pipe_log_down) struct pipe_log p;
    char line[512];
    uint64_t before = wb_log_lost();
    CHECK(pipe_log_up(&p));
    size_t filled = fill(p.ends[1]);
    CHECK(weft__log_writer_start(RING, NULL) == 0);
    CHECK_INT(weft__log_writer_start(RING, NULL), -UPP_EINVALID);
    for (unsigned i = 0; i < LINES; i++)
        wb_log(WB_INFO, "line", WB_LU("i", i));
    uint64_t lost = wb_log_lost() - before;
    CHECK(lost > 0 && lost < LINES);
    CHECK(!weft__log_writer_flush(1));
    CHECK(skip(p.ends[0], filled));
    for (uint64_t i = 0; i < LINES - lost; i++) /* the first ones, each of them, in their order */
        CHECK(next_line(p.ends[0], line, sizeof line) && is_line(line, "msg=\"line\" i=", i));
    CHECK(next_line(p.ends[0], line, sizeof line) &&
          is_line(line, "log lines are missing here: they could not be written\" lines=", lost));
    wb_log(WB_INFO, "line", WB_LU("i", LINES));
    CHECK(next_line(p.ends[0], line, sizeof line) && is_line(line, "msg=\"line\" i=", LINES));
    CHECK(weft__log_writer_stop(60000));
}

/* Around the end of the ring many times: the lines have all lengths, and who logs repeats one that was lost. What was
 * lost may have been the writer's own line, then a line is there twice. */
/* Nobody reads any more: each line is lost, and the report of that is not one more of them for ever. */
TEST_WITH(log_writer_that_cannot_write_rests, .no_torture = "it counts lines, and a failed write is one less")
{
    UPP_CLEANUP(pipe_log_down) struct pipe_log p;
    uint64_t before = wb_log_lost();
    CHECK(pipe_log_up(&p));
    CHECK(weft__log_writer_start(RING, NULL) == 0);
    (void)close(p.ends[0]);
    p.ends[0] = -1;
    for (unsigned i = 0; i < 3; i++)
        wb_log(WB_INFO, "line", WB_LU("i", i));
    CHECK(weft__log_writer_flush(60000));
    CHECK(weft__log_writer_stop(60000));
    CHECK_INT(wb_log_lost() - before, 3);
}

TEST_WITH(log_writer_keeps_lines_whole_and_in_order, .no_torture = "it repeats a line until it is written")
{
    static const char dots[] = "............................................................";
    UPP_CLEANUP(pipe_log_down) struct pipe_log p;
    char line[512];
    CHECK(pipe_log_up(&p));
    CHECK(weft__log_writer_start(RING, NULL) == 0);
    for (unsigned i = 0; i < LINES;) {
        uint64_t before = wb_log_lost();
        wb_log(WB_INFO, "line", WB_LU("i", i), WB_LS("dots", wb_str(dots, i % (sizeof dots - 1))));
        i += wb_log_lost() == before;
    }
    CHECK(weft__log_writer_stop(60000)); /* the pipe has room for all of it */
    for (unsigned i = 0; i < LINES; i++) {
        do
            CHECK(next_line(p.ends[0], line, sizeof line));
        while (strstr(line, "log lines are missing here") || (i && is_line(line, "msg=\"line\" i=", i - 1)));
        CHECK(is_line(line, "msg=\"line\" i=", i));
        CHECK(strlen(strstr(line, "dots=")) == strlen("dots=") + (i % (sizeof dots - 1) ? i % (sizeof dots - 1) : 2));
    }
}

TEST(log_writer_starts_and_stops)
{
    UPP_CLEANUP(pipe_log_down) struct pipe_log p;
    CHECK(weft__log_writer_stop(0)); /* there is none */
    CHECK(pipe_log_up(&p));
    CHECK(weft__log_writer_start(0, NULL) == 0);
    wb_log(WB_INFO, "line");
    ALWAYS(weft__log_writer_stop(60000));
    CHECK(weft__log_writer_start(0, NULL) == 0);
}

/* Ends although the thread hangs in the pipe for ever, and what is logged then is written by who logs. */
static void stops_in_vain(void)
{
    struct pipe_log p;
    if (!pipe_log_up(&p) || !fill(p.ends[1]) || weft__log_writer_start(RING, NULL) < 0)
        _exit(3);
    wb_log(WB_INFO, "line");
    if (weft__log_writer_stop(20))
        _exit(4);
    wb_log_setup(WB_INFO, WB_LOG_TEXT, 2);
    wb_log(WB_INFO, "after it");
}

TEST_WITH(log_writer_gives_up_when_nobody_reads, .no_torture = "in a forked child")
{
    char text[2048];
    int status = test_in_child(stops_in_vain, text, sizeof text);
    test_note("%s", text);
    CHECK_INT(status, 0);
    CHECK(strstr(text, "msg=\"after it\"") && !strstr(text, "msg=\"line\""));
}

static void logs_and_aborts(void)
{
    wb_log_setup(WB_INFO, WB_LOG_TEXT, 2);
    if (weft__log_writer_start(0, NULL) < 0)
        _exit(3);
    for (unsigned i = 0; i < 50; i++)
        wb_log(WB_INFO, "line", WB_LU("i", i));
    abort();
}

TEST_WITH(log_writer_writes_the_rest_before_a_crash, .no_torture = "in a forked child")
{
    static char text[8192];
    int status = test_in_child(logs_and_aborts, text, sizeof text);
    test_note("%s", text);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(text, "i=0\n") && strstr(text, "i=49\n"));
}

static void logs_in_child(void)
{
    wb_log_setup(WB_INFO, WB_LOG_TEXT, 2);
    wb_log(WB_INFO, "by the child itself");
}

TEST_WITH(log_writer_is_not_inherited, .no_torture = "in a forked child")
{
    UPP_CLEANUP(pipe_log_down) struct pipe_log p;
    char text[1024];
    CHECK(pipe_log_up(&p));
    CHECK(weft__log_writer_start(0, NULL) == 0);
    int status = test_in_child(logs_in_child, text, sizeof text);
    CHECK_INT(status, 0);
    CHECK(strstr(text, "msg=\"by the child itself\""));
}
