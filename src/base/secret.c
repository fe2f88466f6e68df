/* base/secret.c — keys and passwords.
 *
 * A secret is one mapping of whole pages: this header, then the bytes. It is mapped and not allocated, because the
 * marks below are put on pages, and a page of the heap holds other things too.
 */
#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"

struct wb_secret {
    size_t mapped, n;
    char bytes[]; /* room for a NUL more than was asked for */
};

static struct wb_secret *map(size_t n)
{
    size_t mapped = (sizeof(struct wb_secret) + n + 1 + 4095) & ~(size_t)4095;
    void *p = WB_CALL(map)(mapped, 0);
    if (!p)
        return NULL;
    /* Best effort, both: an old kernel or a limit on locked memory is no reason to do without the secret. */
    (void)madvise(p, mapped, MADV_DONTDUMP);
    (void)mlock(p, mapped);
    struct wb_secret *s = p;
    s->mapped = mapped;
    return s;
}

int wb_secret_room(size_t n, struct wb_secret **ret, char **into, struct upp_err *err)
{
    if (n > WB_SECRET_MAX)
        return upp_fail(err, UPP_ELIMIT, "a secret of more than %d bytes", WB_SECRET_MAX);
    return wb_secret_pages(n, ret, into, err);
}

int wb_secret_pages(size_t n, struct wb_secret **ret, char **into, struct upp_err *err)
{
    struct wb_secret *s = map(n);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    *into = s->bytes;
    *ret = s;
    return 0;
}

void wb_secret_end(struct wb_secret *s, size_t n)
{
    s->n = n;
    s->bytes[n] = 0; /* what was written may have gone on after it */
}

int wb_secret_new(struct upp_str text, struct wb_secret **ret, struct upp_err *err)
{
    struct wb_secret *s = NULL;
    char *into = NULL;
    int r = wb_secret_room(text.n, &s, &into, err);
    if (r < 0)
        return r;
    if (text.n)
        memcpy(into, text.p, text.n);
    wb_secret_end(s, text.n);
    *ret = s;
    return 0;
}

struct wb_secret *wb_secret_free(struct wb_secret *s)
{
    if (s) {
        size_t mapped = s->mapped;
        explicit_bzero(s, mapped);
        WB_CALL(unmap)(s, mapped, 0); /* unlocks it too */
    }
    return NULL;
}

int wb_secret_env(const char *name, struct wb_secret **ret, struct upp_err *err)
{
    const char *value = getenv(name);
    int r;
    if (!value)
        r = upp_fail(err, UPP_ENOTFOUND, "the environment variable is not set");
    else if (!*value)
        r = upp_fail(err, UPP_EINVALID, "the environment variable is empty");
    else
        r = wb_secret_new(wb_cstr(value), ret, err);
    if (r < 0)
        wb_err_where(err, wb_cstr(name));
    return r;
}

void wb_env_wipe(const char *name)
{
    size_t n = strlen(name);
    for (char **at = environ; at && *at; at++)
        if (strncmp(*at, name, n) == 0 && (*at)[n] == '=')
            explicit_bzero(*at + n + 1, strlen(*at + n + 1));
    (void)unsetenv(name); /* fails only for names that are none */
}

/* Read into pages like its own, not into a buffer that would leave copies on the heap as it grows. */
static int read_into(struct wb_secret *s, size_t room, const char *path, struct upp_err *err)
{
    int64_t r;
    do
        r = WB_CALL(open)(path, O_RDONLY, 0);
    while (r == -EINTR);
    WB_CLEANUP(wb_fd_close) int fd = (int)r;
    if (r < 0)
        return wb_fail_sys(err, fd, UPP_ESTORE, "cannot open");
    r = wb_fd_read(fd, s->bytes, room);
    if (r < 0)
        return wb_fail_sys(err, (int)r, UPP_ESTORE, "cannot read");
    s->n = (size_t)r;
    return 0;
}

int wb_secret_file(const char *path, struct wb_secret **ret, struct upp_err *err)
{
    if (wb_file_exposed(path)) {
        int r = upp_fail(err, UPP_EREFUSED, "others can read this file, which holds a key: chmod 600");
        wb_err_where(err, wb_cstr(path));
        return r;
    }
    const size_t room = WB_SECRET_MAX + sizeof "\r\n"; /* one more than may be there */
    WB_CLEANUP(wb_secret_freep) struct wb_secret *all = map(room);
    if (!all)
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    int r = read_into(all, room, path, err);
    if (r == 0) {
        struct upp_str text = wb_secret_reveal(all);
        if (wb_str_ends(text, UPP_STR("\n")))
            text.n -= wb_str_ends(text, UPP_STR("\r\n")) ? 2 : 1;
        r = text.n ? wb_secret_new(text, ret, err) : upp_fail(err, UPP_EINVALID, "the file is empty");
    }
    if (r < 0)
        wb_err_where(err, wb_cstr(path));
    return r;
}

struct upp_str wb_secret_reveal(const struct wb_secret *s)
{
    return wb_str(s->bytes, s->n);
}

bool wb_secret_is(const struct wb_secret *s, struct upp_str given)
{
    volatile unsigned char differs = s->n != given.n;
    for (size_t i = 0; i < given.n; i++) /* past its end: against its first byte, or the NUL */
        differs |= (unsigned char)(given.p[i] ^ s->bytes[i < s->n ? i : 0]);
    return !differs;
}
