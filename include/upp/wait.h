/* upp/wait.h — how libupp waits: through a table, because it knows neither event loops nor fibers.
 *
 * The caller passes the table; every wait can end early with -UPP_ECANCELED or -UPP_ETIMEOUT. Without a table (NULL)
 * the calling thread blocks. libweft's table suspends the fiber. A plain program that wants to cancel a call from
 * another thread or from a signal handler uses the table of a struct upp_cancel.
 */
#pragma once

#include <upp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upp_http;
struct upp_team;

#define UPP_FOREVER UINT64_MAX

/* A place to park until somebody calls wake; zero it before use. Its contents belong to the table. */
struct upp_place {
    void *room[4];
};

struct upp_wait {
    uint32_t size;
    void *arg;
    int (*sleep_ms)(void *arg, uint64_t ms, struct upp_err *err); /* NULL: the calling thread sleeps */

    /* Waits until the descriptor is readable: 1; 0: timeout (UPP_FOREVER: none). NULL: blocks the calling thread. */
    int (*readable)(void *arg, int fd, uint64_t ms, struct upp_err *err);

    /* Waits until wake() is called on the place: 1; 0: timeout. Needed if several callers wait on one thread. Both or
     * neither; NULL: only one caller waits at a time, and nobody has to wake it. */
    int (*park)(void *arg, struct upp_place *p, uint64_t ms, struct upp_err *err);
    void (*wake)(void *arg, struct upp_place *p);

    /* Connections shared by all users of this table, which are all on one thread. NULL: each model has its own. */
    struct upp_http *http;

    /* Concurrent work: work(ctx, 0) ... work(ctx, n - 1), all at the same time. team_next: 1: one more has ended, *ret
     * is its index; 0: all have ended; <0: the caller was cancelled, and with it the work in progress. team_close
     * waits for all. NULL: threads. */
    int (*team_open)(void *arg, size_t n, void (*work)(void *ctx, size_t i), void *ctx, struct upp_team **ret,
                     struct upp_err *err);
    int (*team_next)(void *arg, struct upp_team *t, size_t *ret, struct upp_err *err);
    void (*team_close)(void *arg, struct upp_team *t);

    /* -UPP_ECANCELED if the user of this table was cancelled, -UPP_ETIMEOUT if its deadline has passed, else 0. NULL:
     * always 0. */
    int (*stopped)(void *arg, struct upp_err *err);
};

/* Each calls the table's function; w NULL: blocks the calling thread. */
UPP_API int upp_wait_ms(const struct upp_wait *w, uint64_t ms, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_wait_readable(const struct upp_wait *w, int fd, uint64_t ms, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_wait_stopped(const struct upp_wait *w, struct upp_err *err) UPP_MUST_CHECK;

struct upp_cancel;

UPP_API int upp_cancel_new(struct upp_cancel **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_cancel_free(struct upp_cancel *c); /* accepts NULL; nobody may be waiting on it */
UPP_API void upp_cancel_freep(struct upp_cancel **c);
UPP_API void upp_cancel_fire(struct upp_cancel *c); /* from any thread or a signal handler; cannot be undone */
UPP_API bool upp_cancel_fired(const struct upp_cancel *c);

/* Firing c cancels all threads that wait through this table. */
UPP_API const struct upp_wait *upp_cancel_wait(struct upp_cancel *c);

#ifdef __cplusplus
}
#endif
