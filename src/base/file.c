/* base/file.c — whole files.
 *
 * A signal may interrupt any call that waits, and reads and writes may move less than asked: every call here goes on
 * where it was. Except close: on Linux the descriptor is gone whatever it says.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/hooks.h"
#include "base/random.h"

enum { CHUNK = 65536 };

/* The call again for as long as a signal gets in its way. */
#define UNINTERRUPTED(call)                                                                                            \
    __extension__({                                                                                                    \
        __typeof__(call) r_;                                                                                           \
        do                                                                                                             \
            r_ = (call);                                                                                               \
        while (r_ == -EINTR);                                                                                          \
        r_;                                                                                                            \
    })

static int fail(struct upp_err *err, int64_t r, const char *path, const char *what)
{
    int code = wb_fail_sys(err, (int)r, UPP_ESTORE, "cannot %s", what);
    wb_err_where(err, wb_cstr(path));
    return code;
}

bool wb_file_exposed(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & (S_IRWXG | S_IRWXO);
}

int64_t wb_fd_read(int fd, void *p, size_t n)
{
    size_t got = 0;
    while (got < n) {
        int64_t r = UNINTERRUPTED(WB_CALL(read)(fd, (char *)p + got, n - got));
        if (r < 0)
            return r;
        if (r == 0)
            break;
        got += (size_t)r;
    }
    return (int64_t)got;
}

int wb_fd_write(int fd, struct upp_str bytes)
{
    while (bytes.n) {
        int64_t r = UNINTERRUPTED(WB_CALL(write)(fd, bytes.p, bytes.n));
        if (r <= 0)
            return r < 0 ? (int)r : -EIO; /* nothing written and nothing wrong: not for ever */
        bytes = wb_str_sub(bytes, (size_t)r, bytes.n);
    }
    return 0;
}

void wb_fd_close(int *fd)
{
    if (*fd >= 0)
        (void)WB_CALL(close)(*fd);
    *fd = -1;
}

static int read_on(int fd, const char *path, struct wb_buf *b, struct upp_err *err)
{
    for (;;) {
        char more;
        size_t room = b->max - b->n;
        int64_t r;
        if (room == 0) { /* full: it must end here */
            r = wb_fd_read(fd, &more, 1);
            if (r > 0) {
                r = upp_fail(err, UPP_ELIMIT, "larger than %zu bytes", b->max);
                wb_err_where(err, wb_cstr(path));
                return (int)r;
            }
        } else {
            if (!wb_buf_reserve(b, WB_MIN(room, (size_t)CHUNK)))
                return wb_buf_check(b, err);
            r = UNINTERRUPTED(WB_CALL(read)(fd, b->p + b->n, WB_MIN(b->cap - b->n, room)));
        }
        if (r < 0)
            return fail(err, r, path, "read");
        if (r == 0)
            return 0;
        b->n += (size_t)r;
    }
}

int wb_file_read(const char *path, struct wb_buf *ret, struct upp_err *err)
{
    size_t start = ret->n;
    if (ret->failed)
        return wb_buf_check(ret, err);
    WB_CLEANUP(wb_fd_close) int fd = UNINTERRUPTED(WB_CALL(open)(path, O_RDONLY, 0));
    if (fd < 0)
        return fail(err, fd, path, "open");
    int r = read_on(fd, path, ret, err);
    if (r < 0)
        ret->n = start;
    return r;
}

/* So that the new name is on disk, too. Some network file systems sync names at once and refuse to be asked. */
static int sync_folder_of(const char *path, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf name = WB_BUF(SIZE_MAX);
    const char *slash = strrchr(path, '/');
    wb_buf_add(&name, !slash ? UPP_STR(".") : slash == path ? UPP_STR("/") : wb_str(path, (size_t)(slash - path)));
    wb_buf_addc(&name, 0);
    int r = wb_buf_check(&name, err);
    if (r < 0)
        return r;
    WB_CLEANUP(wb_fd_close) int fd = UNINTERRUPTED(WB_CALL(open)(name.p, O_RDONLY | O_DIRECTORY, 0));
    if (fd < 0)
        return fail(err, fd, path, "open the folder to sync it");
    r = UNINTERRUPTED(WB_CALL(sync)(fd));
    return r < 0 && r != -EINVAL ? fail(err, r, path, "sync the folder") : 0;
}

static int write_new(const char *temp, const char *path, struct upp_str bytes, unsigned mode, bool sync,
                     struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int fd = UNINTERRUPTED(WB_CALL(open)(temp, O_WRONLY | O_CREAT | O_EXCL, mode));
    if (fd < 0)
        return fail(err, fd, path, "make a file beside it");
    int r = wb_fd_write(fd, bytes);
    const char *what = "write";
    if (r == 0 && sync) {
        r = UNINTERRUPTED(WB_CALL(sync)(fd));
        what = "sync";
    }
    if (r == 0) {
        r = WB_CALL(close)(fd);
        r = r == -EINTR ? 0 : r; /* it is closed, and synced before where that matters */
        fd = -1;
        what = "close"; /* where network file systems admit what went wrong */
    }
    if (r == 0) {
        r = UNINTERRUPTED(WB_CALL(rename)(temp, path));
        what = "replace";
    }
    if (r < 0) {
        r = fail(err, r, path, what);
        (void)WB_CALL(unlink)(temp);
    }
    return r;
}

static int replace(const char *path, struct upp_str bytes, unsigned mode, bool sync, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf temp = WB_BUF(SIZE_MAX);
    uint64_t unique;
    int r = wb_random(&unique, sizeof unique, err);
    if (r < 0)
        return r;
    wb_buf_add(&temp, wb_cstr(path));
    wb_buf_addf(&temp, ".%016llx.tmp", (unsigned long long)unique);
    wb_buf_addc(&temp, 0);
    r = wb_buf_check(&temp, err);
    if (r == 0)
        r = write_new(temp.p, path, bytes, mode, sync, err);
    return r;
}

int wb_file_publish(const char *temp, const char *path, struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int fd = UNINTERRUPTED(WB_CALL(open)(temp, O_RDONLY, 0));
    if (fd < 0)
        return fail(err, fd, temp, "open");
    int r = UNINTERRUPTED(WB_CALL(sync)(fd));
    if (r < 0)
        return fail(err, r, temp, "sync");
    r = UNINTERRUPTED(WB_CALL(rename)(temp, path));
    return r < 0 ? fail(err, r, path, "replace") : sync_folder_of(path, err);
}

int wb_file_write(const char *path, struct upp_str bytes, unsigned mode, struct upp_err *err)
{
    int r = replace(path, bytes, mode, true, err);
    return r < 0 ? r : sync_folder_of(path, err);
}

int wb_file_write_unsynced(const char *path, struct upp_str bytes, unsigned mode, struct upp_err *err)
{
    return replace(path, bytes, mode, false, err);
}
