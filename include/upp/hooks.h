/* upp/hooks.h — the hook table: the libraries' only access to the operating system.
 *
 * The libraries reach memory, clocks, randomness, files, sockets and processes only through this table,
 * so a program can supply its own functions and a test can make the Nth call fail. A NULL member means
 * the operating system's function. Functions that can fail return >= 0, or a negative errno.
 *
 * The table is process-wide and belongs to the program: the libraries never install one.
 */
#pragma once

#include <upp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sockaddr;

/* A program to start. The child gets only the descriptors named here (all of the libraries' are close-on-exec). */
struct upp_spawn {
    const char *file;   /* looked up in PATH if it contains no slash */
    char *const *argv;  /* NULL-terminated */
    char *const *envp;  /* NULL-terminated; NULL: an empty environment */
    const char *dir;    /* working directory; NULL: the parent's */
    int in, out, error; /* the child's 0, 1, 2: above 2, or already that number; -1: /dev/null */
    bool own_session;   /* setsid, so that one kill reaches the whole process group */
};

struct upp_hooks {
    uint32_t size;

    /* Memory: like malloc, realloc, free; all three or none. n is never 0. */
    void *(*alloc)(size_t n);
    void *(*resize)(void *p, size_t n);
    void (*release)(void *p);

    /* Pages: n zeroed bytes above `guard` inaccessible bytes; NULL on failure. Both or neither. */
    void *(*map)(size_t n, size_t guard);
    void (*unmap)(void *p, size_t n, size_t guard);

    /* Time in nanoseconds: since an arbitrary fixed point (monotonic), and since 1970. */
    uint64_t (*mono_ns)(void);
    int64_t (*wall_ns)(void);

    /* Random bytes for ids and keys: returns how many were written (0 < r <= n), or a negative errno. */
    int64_t (*random)(void *p, size_t n);

    /* Files. Reads and writes may be partial. */
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

    /* Processes: returns the child's pid, or a negative errno. */
    int (*spawn)(const struct upp_spawn *what);

    /* A pipe to a child: fds[0] reads, fds[1] writes; both above 2 and close-on-exec. The end `ours` (0 or 1) is
     * non-blocking; the other end is for the child and blocks. */
    int (*pipe)(int fds[2], int ours);
};

/* Installs a table (copied; the system's functions replace NULL members); NULL installs the system's own table. Call
 * it before any other function of the libraries, from one thread, while no object of theirs exists. */
UPP_API int upp_global_init(const struct upp_hooks *hooks, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
