/* fiber/worker.h — jobs: blocking work that is done elsewhere.
 *
 * A job is a heap object with two sides. The fiber's side waits for job->msg; the worker's side runs it. Exactly one
 * of them frees it: when the fiber gives up first, the worker calls drop and frees; when the worker was first, the
 * message does.
 */
#pragma once

#include "fiber/loop.h"

struct weft__job {
    struct weft__msg msg;
    struct wb_link link;      /* in a queue of the pool */
    struct weft__timer timer; /* the simulated kind of loop */
    struct weft_loop *loop;
    struct weft_fiber *fiber; /* that waits; NULL: none. Changed only by the loop, and once SENT */
    weft_fn *fn;
    void *arg;
    void (*drop)(void *arg);
    int result;
    enum weft__job_state state; /* under the pool's lock */
    bool home;                  /* the message has been taken */
    bool is_long;
    uint64_t place; /* of all jobs of the pool */
    struct upp_err err;
};

void weft__job_run(struct weft__job *j);  /* on the worker: fills result and err */
void weft__job_drop(struct weft__job *j); /* drop(arg), and frees the job */

/* The operations of a loop that has real threads. */
int weft__workers_submit(struct weft_loop *l, struct weft__job *j, struct upp_err *err);
enum weft__job_state weft__workers_withdraw(struct weft_loop *l, struct weft__job *j);

/* weft_work for what may take as long as it likes: it never has all threads of the pool (max_long). */
WEFT_SUSPENDS int weft__work_long(weft_fn *fn, void *arg, void (*drop)(void *arg), int *ret,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* A job without a waiter: abandoned from the start. On failure the caller keeps arg. */
int weft__work_alone(struct weft_loop *l, weft_fn *fn, void *arg, void (*drop)(void *arg), struct upp_err *err);
