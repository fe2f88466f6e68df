/* upp/hooks.h — the one place where the libraries touch the outside world.
 *
 * Memory, clocks, randomness, files, sockets and processes are reached through this table and nothing
 * else, so that a program can bring its own and a test can make the Nth call fail. A member left NULL
 * means the operating system's. Calls that can fail return >= 0, or a negative errno.
 *
 * The table is process-wide and belongs to the program: the libraries never install one.
 */
#ifndef UPP_HOOKS_H
#define UPP_HOOKS_H

#include <upp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sockaddr;

/* A program to start. Descriptors not named are closed in the child (all of ours are close-on-exec). */
struct upp_spawn {
    const char  *file;           /* looked up in PATH when it holds no slash */
    char *const *argv;           /* NULL-terminated */
    char *const *envp;           /* NULL-terminated; NULL: an empty environment */
    const char  *dir;            /* NULL: ours */
    int          in, out, error; /* become 0, 1, 2; each its own number already, or above 2; -1: /dev/null */
    bool         own_session;    /* setsid, so that one kill reaches its whole group */
};

struct upp_hooks {
    uint32_t size;

    /* Memory: as malloc, realloc, free. n is never 0. */
    void *(*alloc)(size_t n);
    void *(*resize)(void *p, size_t n);
    void (*release)(void *p);

    /* Pages: n bytes, cleared, above `guard` bytes that nobody can touch; NULL when there are none. */
    void *(*map)(size_t n, size_t guard);
    void (*unmap)(void *p, size_t n, size_t guard);

    /* Time in nanoseconds: since some fixed moment, and since 1970. */
    uint64_t (*mono_ns)(void);
    int64_t (*wall_ns)(void);

    /* Random bytes fit for ids and keys: how many were written (0 < r <= n), or a negative errno. */
    int64_t (*random)(void *p, size_t n);

    /* Files. Reads and writes may be short. */
    int (*open)(const char *path, int flags, unsigned mode);
    int (*close)(int fd);
    int64_t (*read)(int fd, void *p, size_t n);
    int64_t (*write)(int fd, const void *p, size_t n);
    int64_t (*pread)(int fd, void *p, size_t n, int64_t off);
    int64_t (*pwrite)(int fd, const void *p, size_t n, int64_t off);
    int (*truncate)(int fd, int64_t n);
    int (*sync)(int fd); /* fdatasync */
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
    int (*mkdir)(const char *path, unsigned mode);

    /* Sockets; always non-blocking and close-on-exec. */
    int (*socket)(int domain, int type, int protocol);
    int (*connect)(int fd, const struct sockaddr *addr, unsigned len);
    int (*bind)(int fd, const struct sockaddr *addr, unsigned len);
    int (*listen)(int fd, int backlog);
    int (*accept)(int fd);
    int64_t (*recv)(int fd, void *p, size_t n);
    int64_t (*send)(int fd, const void *p, size_t n);

    /* Processes: the child's pid, or a negative errno. */
    int (*spawn)(const struct upp_spawn *what);

    /* A pipe for one of them: fds[0] to read, fds[1] to write; above 2 and close-on-exec. The end `ours` (0 or 1) is
     * non-blocking, the other is not: it is for the child. */
    int (*pipe)(int fds[2], int ours);
};

/* Installs a table (copied; NULL members are filled with the system's), or with NULL the system's own.
 * Call it before any other function of the libraries, from one thread, while nothing of theirs lives. */
UPP_API int upp_global_init(const struct upp_hooks *hooks, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
