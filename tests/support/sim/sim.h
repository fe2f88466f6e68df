/* support/sim/sim.h — a simulated world: loops, time, workers, sockets and processes that follow from one seed.
 *
 * All loops of a world run on the thread that drives any one of them. What runs next (which loop, which ready fiber,
 * which message), how long a job takes and how bytes are cut and delayed on the wire is drawn from the seed; time is
 * virtual and jumps when nothing is ready. The same seed gives the same run, to the last bit of the trace.
 *
 * For tests. While a world is open its hook table is in force (over the one before), so the whole process sees its
 * clock, its random numbers, its sockets and its programs; so there is one world at a time.
 */
#pragma once

#include <weft/fiber.h>

struct weft__sim;

struct weft__sim_opts {
    uint32_t size;
    uint64_t seed;
    uint32_t loops;                             /* 0: 1 */
    uint32_t max_jobs;                          /* 0: 1024 */
    struct weft_loop_opts loop;                 /* for each; .workers is not used */
    void (*trace)(void *arg, const char *line); /* a line for each thing that happens; NULL: none */
    void *arg;
};

int weft__sim_open(const struct weft__sim_opts *opts, struct weft__sim **ret, struct upp_err *err) UPP_MUST_CHECK;
void weft__sim_close(struct weft__sim *w); /* closes its loops, lets jobs end, puts the hook table back */
void weft__sim_closep(struct weft__sim **w);

/* A loop of the world: driven by weft_loop_run and weft_loop_poll, closed with the world. A run in which nobody can go
 * on fails with -UPP_EBUG and names who waits for what; everybody is cancelled so that it ends. */
struct weft_loop *weft__sim_loop(struct weft__sim *w, uint32_t i);

/* All that happened so far, as one number. */
uint64_t weft__sim_trace(const struct weft__sim *w);

/* A number below n from the world's seed, for programs of tests. */
uint64_t weft__sim_below(struct weft__sim *w, uint64_t n);

/* Two connected sockets. Closed through the hook table, like those of its socket and accept. */
int weft__sim_pair(struct weft__sim *w, int fds[2], struct upp_err *err) UPP_MUST_CHECK;

/* Breaks a connection: both sides see ECONNRESET. */
void weft__sim_cut(struct weft__sim *w, int fd);

/* From now on `file` can be spawned: it ends by itself after ms with this status (waitpid's form). */
int weft__sim_program(struct weft__sim *w, const char *file, uint64_t ms, int status,
                      struct upp_err *err) UPP_MUST_CHECK;

/* What is open: descriptors and processes that were not closed or reaped. */
size_t weft__sim_open_fds(const struct weft__sim *w);
size_t weft__sim_children(const struct weft__sim *w);
