#include "server/ops/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/hooks.h"
#include "base/log.h"
#include "server/talk.h"

TEST(notify_reads_the_environment)
{
    char mine[24], other[24], file[107 + 2];
    (void)snprintf(mine, sizeof mine, "%ld", (long)getpid());
    (void)snprintf(other, sizeof other, "%ld", (long)getpid() + 1);
    memset(file, 'x', sizeof file - 1);
    file[0] = '/';
    file[sizeof file - 1] = 0;
    const struct {
        const char *address, *usec, *pid;
        unsigned length;
        uint64_t ping_ms;
    } cases[] = {
        {NULL, NULL, NULL, 0, 0},
        {"", "1000000", NULL, 0, 0},
        {NULL, "1000000", NULL, 0, 0},
        {"/run/n", NULL, NULL, sizeof(struct sockaddr_un), 0},
        {"/run/n", "3000000", NULL, sizeof(struct sockaddr_un), 1500},
        {"/run/n", "3000000", mine, sizeof(struct sockaddr_un), 1500},
        {"/run/n", "3000000", other, sizeof(struct sockaddr_un), 0},
        {"/run/n", "3000000", "x", sizeof(struct sockaddr_un), 0},
        {"/run/n", "0", mine, sizeof(struct sockaddr_un), 0},
        {"/run/n", "soon", mine, sizeof(struct sockaddr_un), 0},
        {"/run/n", "1", mine, sizeof(struct sockaddr_un), 10},
        {"@name", NULL, NULL, offsetof(struct sockaddr_un, sun_path) + 5, 0},
        {"vsock:2:3", "3000000", NULL, 0, 0},
        {"run/n", NULL, NULL, 0, 0},
        {"/", NULL, NULL, 0, 0},
        {"@", NULL, NULL, 0, 0},
        {file, NULL, NULL, 0, 0},
        {file + 1, NULL, NULL, 0, 0},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct sv_notify n;
        test_note("%s %s", cases[i].address, cases[i].usec);
        sv_notify_init(&n, cases[i].address, cases[i].usec, cases[i].pid);
        CHECK_INT(n.length, cases[i].length);
        CHECK_INT(n.ping_ms, cases[i].ping_ms);
    }
}

/* ---- A manager's socket ---- */

static int bind_manager(const char *address, int *ret)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    unsigned len = sizeof a;
    (void)snprintf(a.sun_path, sizeof a.sun_path, "%s", address);
    if (address[0] == '@') {
        a.sun_path[0] = 0;
        len = (unsigned)(offsetof(struct sockaddr_un, sun_path) + strlen(address));
    }
    int fd = WB_CALL(socket)(AF_UNIX, SOCK_DGRAM, 0);
    if (fd < 0)
        return -UPP_ENET;
    *ret = fd;
    return WB_CALL(bind)(fd, (const struct sockaddr *)&a, len) < 0 ? -UPP_ENET : 0;
}

/* The next message; gives up early if one was not sent, because of an injected fault. */
WEFT_SUSPENDS static int next(const struct sv_notify *n, int fd, char *text, size_t size, struct upp_err *err)
{
    uint64_t since = wb_mono_ms();
    int64_t got = -UPP_ETIMEOUT;
    while (got == -UPP_ETIMEOUT && !n->failed && wb_mono_ms() - since < 5000) {
        WEFT_DEADLINE(20);
        got = weft_recv(fd, text, size - 1, err);
    }
    text[got < 0 ? 0 : got] = 0;
    return got < 0 ? (int)got : 0;
}

#define NEXT(want)                                                                                                     \
    do {                                                                                                               \
        TRY(next(&n, fd, text, sizeof text, err));                                                                     \
        test_note("%s", text);                                                                                         \
        FAIL_UNLESS(strncmp(text, (want), strlen(want)) == 0);                                                         \
    } while (0)

static int follows(struct talk *t, struct upp_err *err)
{
    UPP_CLEANUP(test_closep) int fd = -1;
    UPP_CLEANUP(weft_scope_close) struct weft_scope fibers = {0};
    struct sv_notify n;
    char text[256];
    unsigned long long usec;
    TRY(bind_manager(t->arg, &fd));
    sv_notify_init(&n, t->arg, "40000", NULL);
    n.server = t->server;
    sv_notify_ready(&n, "here");
    NEXT("READY=1\nSTATUS=here");
    sv_notify_reloading(&n);
    NEXT("RELOADING=1\nMONOTONIC_USEC=");
    FAIL_UNLESS(sscanf(text + strlen("RELOADING=1\n"), "MONOTONIC_USEC=%llu", &usec) == 1 &&
                usec <= wb_mono_ns() / 1000 && usec + 5000000 > wb_mono_ns() / 1000);
    TRY(weft_scope_spawn(&fibers, "notify", sv_notify_follow, &n, NULL, err));
    NEXT("WATCHDOG=1");
    NEXT("WATCHDOG=1");
    sv_server_stop(t->server);
    NEXT("STOPPING=1\nSTATUS=");
    NEXT("WATCHDOG=1"); /* draining may take longer than the watchdog waits */
    return 0;
}

TEST(notify_follows_the_server)
{
    struct upp_err err = {0};
    char where[256];
    (void)snprintf(where, sizeof where, "%s/n", test_folder());
    struct talk t = {.client = follows, .arg = where};
    CHECK_INT(talk_run(&t, &err), 0);
}

TEST(notify_abstract_address)
{
    struct upp_err err = {0};
    char where[64];
    (void)snprintf(where, sizeof where, "@weft-notify-%ld", (long)getpid());
    struct talk t = {.client = follows, .arg = where};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* ---- A manager that is gone, or does not read ---- */

static void count_lines(void *arg, enum wb_log_level level, struct upp_str line)
{
    (void)line;
    *(unsigned *)arg += level == WB_WARN;
}

static int loses(struct talk *t, struct upp_err *err)
{
    UPP_CLEANUP(test_closep) int fd = -1;
    struct sv_notify n;
    char text[256];
    unsigned lines = 0;
    wb_log_setup(WB_WARN, WB_LOG_TEXT, -1);
    wb_log_to(count_lines, &lines);
    sv_notify_init(&n, t->arg, NULL, NULL);
    sv_notify_ready(&n, "nobody");
    sv_notify_stopping(&n);
    bool once = n.failed && lines == 1;
    int r = bind_manager(t->arg, &fd);
    if (r >= 0) {
        sv_notify_ready(&n, "again"); /* the next manager gets the next message */
        r = next(&n, fd, text, sizeof text, err);
    }
    wb_log_to(NULL, NULL);
    wb_log_setup(WB_OFF, WB_LOG_TEXT, 2);
    TRY(r);
    FAIL_UNLESS(once && !n.failed && strcmp(text, "READY=1\nSTATUS=again") == 0);
    return 0;
}

TEST(notify_manager_gone)
{
    struct upp_err err = {0};
    char where[256];
    (void)snprintf(where, sizeof where, "%s/n", test_folder());
    struct talk t = {.client = loses, .arg = where};
    CHECK_INT(talk_run(&t, &err), 0);
}

static int waits(struct talk *t, struct upp_err *err)
{
    UPP_CLEANUP(test_closep) int fd = -1;
    struct sv_notify n;
    uint64_t since = wb_mono_ms();
    TRY(bind_manager(t->arg, &fd));
    sv_notify_init(&n, t->arg, NULL, NULL);
    for (int i = 0; i < 10000 && !n.failed; i++) /* until its queue is full */
        sv_notify_ready(&n, "busy");
    FAIL_UNLESS(n.failed && wb_mono_ms() - since < 4000);
    return upp_fail(err, UPP_ETIMEOUT, "as it should");
}

TEST_WITH(notify_manager_does_not_read, .no_torture = "waits a second of real time")
{
    struct upp_err err = {0};
    char where[256];
    (void)snprintf(where, sizeof where, "%s/n", test_folder());
    struct talk t = {.client = waits, .arg = where};
    CHECK_INT(talk_run(&t, &err), -UPP_ETIMEOUT);
}
