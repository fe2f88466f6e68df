/* support/sim/world.h — what the files of the simulated world share. */
#pragma once

#include "fiber/loop.h"
#include "support/sim/sim.h"

enum { WEFT__SIM_FD = 1 << 20 }; /* the first simulated descriptor and process number */

struct weft__sim_fd; /* sim_fd.c */

struct weft__sim {
    uint64_t random, trace;
    uint64_t now; /* nanoseconds, also of the hook table's clocks */
    struct weft__timers events;
    size_t n_jobs, max_jobs;
    struct upp_hooks before;
    void (*tell)(void *arg, const char *line);
    void *tell_arg;

    struct weft__sim_fd **fds; /* by number from WEFT__SIM_FD; NULL: closed */
    size_t n_fds, cap_fds;
    struct wb_link children, programs;
    int last_pid;

    uint32_t n;
    struct weft_loop **loops;
};

/* Adds to the trace. */
void weft__sim_note(struct weft__sim *w, const char *what, uint64_t a, uint64_t b);

/* Arms an event this many nanoseconds from now, at most; harmless when it is armed. Its place is reserved. */
void weft__sim_soon(struct weft__sim *w, struct weft__timer *t, uint64_t at_most);

/* Wakes a fiber of any of the loops. */
void weft__sim_wake(struct weft_fiber *f);

/* The world whose hooks are in force. */
struct weft__sim *weft__sim_now(void);

int weft__sim_hooks_install(struct weft__sim *w, struct upp_err *err) UPP_MUST_CHECK;
void weft__sim_hooks_remove(struct weft__sim *w);

/* sim_fd.c: the operations of the loop and of the hook table. The latter return negative errnos. */
int weft__sim_fd_watch(struct weft_loop *l, struct weft_fiber *f, struct upp_err *err);
void weft__sim_fd_forget(struct weft_loop *l, struct weft_fiber *f);
bool weft__sim_fd_is(const struct weft__sim *w, int fd);
int weft__sim_socket(struct weft__sim *w);
int weft__sim_bind(struct weft__sim *w, int fd, const void *address, size_t n);
int weft__sim_listen(struct weft__sim *w, int fd);
int weft__sim_connect(struct weft__sim *w, int fd, const void *address, size_t n);
int weft__sim_accept(struct weft__sim *w, int fd);
int64_t weft__sim_recv(struct weft__sim *w, int fd, void *p, size_t n);
int64_t weft__sim_send(struct weft__sim *w, int fd, const void *p, size_t n);
int weft__sim_close_fd(struct weft__sim *w, int fd);
void weft__sim_fds_done(struct weft__sim *w);

/* A descriptor that becomes readable when it is told so: the end of a process. */
int weft__sim_signal_fd(struct weft__sim *w);
void weft__sim_signal(struct weft__sim *w, int fd);

/* sim_child.c */
int weft__sim_spawn(struct weft__sim *w, const struct upp_spawn *what);
int weft__sim_child_open(struct weft_loop *l, int pid);
int weft__sim_child_status(struct weft_loop *l, const struct weft__child *child, int *status);
void weft__sim_child_kill(struct weft_loop *l, const struct weft__child *child);
void weft__sim_child_reap(struct weft_loop *l, const struct weft__child *child);
void weft__sim_children_done(struct weft__sim *w);
