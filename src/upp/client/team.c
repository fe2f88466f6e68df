/* upp/client/team.c — parallel work on threads: limited in number, always joined.
 *
 * Each thread takes the next item until none is left. If no thread could be started, the caller does the items itself,
 * one in each call of upp__team_next.
 */
#include <pthread.h>
#include <signal.h>

#include "base/hooks.h"
#include "upp/client/talk.h"

struct upp_team {
    void (*work)(void *ctx, size_t i);
    void *ctx;
    size_t n, threads;
    size_t next, ended, reported; /* started, done, and reported; under the lock */
    pthread_mutex_t lock;
    pthread_cond_t more; /* another one has ended */
    pthread_t *ids;
    size_t order[]; /* in which they ended */
};

/* Does one item; false: none left. The lock is held before and after. */
static bool one_piece(struct upp_team *t)
{
    if (t->next == t->n)
        return false;
    size_t i = t->next++;
    (void)pthread_mutex_unlock(&t->lock);
    t->work(t->ctx, i);
    (void)pthread_mutex_lock(&t->lock);
    t->order[t->ended++] = i;
    (void)pthread_cond_signal(&t->more);
    return true;
}

static void *member(void *arg)
{
    struct upp_team *t = arg;
    (void)pthread_mutex_lock(&t->lock);
    while (one_piece(t))
        ;
    (void)pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Blocks signals, so that the program's own threads get them. */
static void start_threads(struct upp_team *t, size_t threads)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (t->threads < threads && pthread_create(&t->ids[t->threads], NULL, member, t) == 0)
        t->threads++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int upp__team_open(size_t n, size_t threads, void (*work)(void *ctx, size_t i), void *ctx, struct upp_team **ret,
                   struct upp_err *err)
{
    threads = WB_MIN(threads, n);
    struct upp_team *t = wb_calloc(1, sizeof *t + n * sizeof t->order[0]);
    pthread_t *p = threads ? wb_calloc(threads, sizeof *p) : NULL;
    if (!t || (threads && !p)) {
        wb_free(t);
        wb_free(p);
        return upp_fail(err, UPP_ENOMEM, "no memory to run %zu tools at once", n);
    }
    t->work = work;
    t->ctx = ctx;
    t->n = n;
    t->ids = p;
    (void)pthread_mutex_init(&t->lock, NULL);
    (void)pthread_cond_init(&t->more, NULL);
    start_threads(t, threads);
    *ret = t;
    return 0;
}

int upp__team_next(struct upp_team *t, size_t *ret)
{
    int r = 0;
    (void)pthread_mutex_lock(&t->lock);
    if (t->reported < t->n) {
        if (!t->threads)
            (void)one_piece(t);
        while (t->reported == t->ended)
            (void)pthread_cond_wait(&t->more, &t->lock);
        *ret = t->order[t->reported++];
        r = 1;
    }
    (void)pthread_mutex_unlock(&t->lock);
    return r;
}

void upp__team_close(struct upp_team *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->threads; i++)
        (void)pthread_join(t->ids[i], NULL);
    (void)pthread_cond_destroy(&t->more);
    (void)pthread_mutex_destroy(&t->lock);
    wb_free(t->ids);
    wb_free(t);
}
