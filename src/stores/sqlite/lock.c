/* stores/sqlite/lock.c — takes, reads and releases FILE.lock. flock belongs to the open file description: it ends
 * with the process, and two stores of one process exclude each other as well. The file itself stays: deleting it
 * would race with the next owner. */
#include "stores/sqlite/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"

_Static_assert(sizeof((struct sockaddr_un){0}).sun_path >= sizeof((struct ws_owner_info){0}).socket, "sun_path");

enum { TRIES = 100, MAX_TEXT = 256 };

static int fail(struct upp_err *err, int r, const char *path, const char *what)
{
    r = wb_fail_sys(err, r, UPP_ESTORE, "cannot %s the lock of the database", what);
    wb_err_where(err, wb_cstr(path));
    return r;
}

static int lock_name(const char *path, struct wb_buf *ret, struct upp_err *err)
{
    wb_buf_add(ret, wb_cstr(path));
    wb_buf_add(ret, wb_str(".lock", 6)); /* with its NUL */
    return wb_buf_check(ret, err);
}

static int open_lock(const char *path, int flags, struct upp_err *err, int *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf name = WB_BUF(1 << 16);
    int r = lock_name(path, &name, err);
    if (r < 0)
        return r;
    int fd = -EINTR;
    for (int i = 0; i < TRIES && fd == -EINTR; i++)
        fd = WB_CALL(open)(name.p, flags | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(err, fd, path, "open");
    *ret = fd;
    return 0;
}

/* 1: acquired. 0: another process has it. */
static int try_lock(int fd, int kind)
{
    for (int i = 0; i < TRIES; i++) {
        if (flock(fd, kind | LOCK_NB) == 0)
            return 1;
        if (errno == EWOULDBLOCK)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
    return -EINTR;
}

static int read_info(int fd, struct ws_owner_info *ret)
{
    char text[MAX_TEXT + 1];
    (void)lseek(fd, 0, SEEK_SET);
    int64_t n = wb_fd_read(fd, text, MAX_TEXT);
    if (n < 0)
        return (int)n;
    text[n] = 0;
    *ret = (struct ws_owner_info){0};
    char *end = strchr(text, '\n');
    if (!end || sscanf(text, "%d", &ret->pid) != 1) {
        ret->pid = 0;
        return 0;
    }
    char *socket = end + 1;
    end = strchr(socket, '\n');
    if (end && (size_t)(end - socket) < sizeof ret->socket)
        memcpy(ret->socket, socket, (size_t)(end - socket));
    return 0;
}

/* NULL: no owner. The page after the text stays. */
static int write_info(int fd, const struct ws_owner_info *info)
{
    char text[MAX_TEXT] = {0};
    if (info)
        (void)snprintf(text, sizeof text, "%d\n%s\n", info->pid, info->socket);
    (void)lseek(fd, 0, SEEK_SET);
    return wb_fd_write(fd, wb_str(text, sizeof text));
}

int ws_lock_take(const char *path, struct ws_lock *ret, struct upp_err *err)
{
    struct ws_owner_info mine = {.pid = (int)getpid()}, other = {0};
    WB_CLEANUP(wb_fd_close) int fd = -1;
    int r = ws_lock_socket(path, mine.socket, err);
    if (r >= 0)
        r = open_lock(path, O_RDWR | O_CREAT, err, &fd);
    if (r < 0)
        return r;
    /* A reader (ws_lock_read) holds it for a moment: then no live process is named as the owner. */
    for (unsigned tries = 0; (r = try_lock(fd, LOCK_EX)) == 0 && tries < 100; tries++) {
        if (read_info(fd, &other) >= 0 && other.pid > 0 && (kill(other.pid, 0) == 0 || errno != ESRCH))
            break;
        (void)usleep(2000);
    }
    if (r == 0) {
        r = upp_fail(err, UPP_EBUSY, "the database is in use by process %d (socket %s)", other.pid, other.socket);
        wb_err_where(err, wb_cstr(path));
        return r;
    }
    if (r > 0)
        r = write_info(fd, &mine);
    if (r < 0)
        return fail(err, r, path, "take");
    *ret = (struct ws_lock){fd, mine};
    fd = -1;
    return 0;
}

void ws_lock_release(struct ws_lock *l)
{
    if (l->fd >= 0)
        (void)write_info(l->fd, NULL); /* the lock itself ends with the descriptor */
    wb_fd_close(&l->fd);
}

int ws_lock_read(const char *path, struct ws_owner_info *ret, struct upp_err *err)
{
    struct ws_owner_info info;
    WB_CLEANUP(wb_fd_close) int fd = -1;
    int r = open_lock(path, O_RDWR, err, &fd);
    if (r < 0)
        return r;
    r = try_lock(fd, LOCK_EX);
    if (r > 0) {
        r = upp_fail(err, UPP_ENOTFOUND, "nobody has the database open");
        wb_err_where(err, wb_cstr(path));
        return r;
    }
    if (r == 0)
        r = read_info(fd, &info);
    if (r < 0)
        return fail(err, r, path, "read");
    *ret = info;
    return 0;
}

int ws_lock_open_unowned(const char *path, int *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int fd = -1;
    int r = open_lock(path, O_RDONLY, err, &fd);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 1 : r;
    r = try_lock(fd, LOCK_SH);
    if (r < 0)
        return fail(err, r, path, "read");
    if (r == 0)
        return 0;
    (void)flock(fd, LOCK_UN); /* readers must not make anybody wait */
    *ret = fd;
    fd = -1;
    return 1;
}

static uint32_t fold(const char *s)
{
    uint32_t h = 2166136261u; /* FNV-1a: databases in one folder must differ */
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

int ws_lock_socket(const char *path, char ret[108], struct upp_err *err)
{
    enum { ROOM = sizeof((struct ws_owner_info){0}).socket };
    const char *slash = strrchr(path, '/');
    size_t n = strlen(path);
    if (n + sizeof ".sock" <= ROOM) {
        (void)snprintf(ret, ROOM, "%s.sock", path);
        return 0;
    }
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    if (folder + sizeof ".weft-12345678.sock" <= ROOM) {
        (void)snprintf(ret, ROOM, "%.*s.weft-%08x.sock", (int)folder, path, fold(path + folder));
        return 0;
    }
    int r = upp_fail(err, UPP_EINVALID, "the path is too long for a socket beside the database (%zu bytes, %d fit)",
                     folder + sizeof ".weft-12345678.sock", ROOM);
    wb_err_where(err, wb_cstr(path));
    return r;
}
