/* upp/wait.h — how libupp waits: a table, because it knows neither threads' loops nor fibers.
 *
 * Every wait can end early with -UPP_ECANCELED or -UPP_ETIMEOUT; whoever called the library gave the table. Without one
 * (NULL) the calling thread blocks. libweft brings a table with which the fiber waits; a plain program that wants to
 * stop a call from another thread, or from a signal handler, takes the table of a struct upp_cancel.
 */
#ifndef UPP_WAIT_H
#define UPP_WAIT_H

#include <upp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upp_http;
struct upp_team;

#define UPP_FOREVER UINT64_MAX

/* Where one waits until another wakes it; all zero to begin with. Its bytes belong to the table. */
struct upp_place {
    void *room[4];
};

struct upp_wait {
    uint32_t size;
    void    *arg;
    int (*sleep_ms)(void *arg, uint64_t ms, struct upp_err *err); /* NULL: the calling thread sleeps */

    /* Waits until the descriptor can be read: 1; 0 when `ms` passed (UPP_FOREVER: never). NULL: the calling thread. */
    int (*readable)(void *arg, int fd, uint64_t ms, struct upp_err *err);

    /* Waits at a place until wake() is called on it: 1; 0 when `ms` passed. Where many wait on one thread. Both or
     * neither; NULL: one waits at a time, and needs nobody to wake it. */
    int (*park)(void *arg, struct upp_place *p, uint64_t ms, struct upp_err *err);
    void (*wake)(void *arg, struct upp_place *p);

    /* Connections that those who wait by this table share; they are all on one thread. NULL: each model keeps its own.
     */
    struct upp_http *http;

    /* Work beside the caller: work(ctx, 0) ... work(ctx, n - 1), all at the same time. team_next: 1, one more has
     * ended, *ret says which; 0: all have; <0: cancelled, and so are those still at work. team_close waits for all of
     * them. NULL: threads. */
    int (*team_open)(void *arg, size_t n, void (*work)(void *ctx, size_t i), void *ctx, struct upp_team **ret,
                     struct upp_err *err);
    int (*team_next)(void *arg, struct upp_team *t, size_t *ret, struct upp_err *err);
    void (*team_close)(void *arg, struct upp_team *t);

    /* -UPP_ECANCELED when whoever waits by this table was told to stop (-UPP_ETIMEOUT: its time is up), else 0. NULL:
     * never. */
    int (*stopped)(void *arg, struct upp_err *err);
};

/* Each by the table; `w` NULL: the calling thread. */
UPP_API int upp_wait_ms(const struct upp_wait *w, uint64_t ms, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_wait_readable(const struct upp_wait *w, int fd, uint64_t ms, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_wait_stopped(const struct upp_wait *w, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Stopping a call from outside, without libweft --------------------------------------------------------------- */

struct upp_cancel;

UPP_API int  upp_cancel_new(struct upp_cancel **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_cancel_free(struct upp_cancel *c); /* NULL is fine; nobody waits by it */
UPP_API void upp_cancel_freep(struct upp_cancel **c);
UPP_API void upp_cancel_fire(struct upp_cancel *c); /* from any thread, also from a signal handler; sticky */
UPP_API bool upp_cancel_fired(const struct upp_cancel *c);

/* A thread that waits by this table is stopped when c is fired. Several threads may. */
UPP_API const struct upp_wait *upp_cancel_wait(struct upp_cancel *c);

#ifdef __cplusplus
}
#endif
#endif
