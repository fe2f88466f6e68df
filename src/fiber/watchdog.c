/* fiber/watchdog.c — a thread that names the fiber which holds a loop for too long.
 *
 * It reads three relaxed atomics of each loop: who runs, and the count of resumes. The same count at two looks and
 * somebody running means that fiber has not given way between them. It never stops or changes anything.
 */
#include <stdlib.h>
#include <time.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/opts.h"
#include "fiber/loop.h"
#include "fiber/thread.h"

enum { OVER_MS = 100, LOOKS = 4 }; /* looks in the time that is allowed */

struct watched {
    const struct weft_loop *loop;
    uint64_t resumes, since;
    bool told;
};

struct weft_watchdog {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool stopping;
    uint64_t over_ns;
    void (*report)(void *arg, const char *fiber, uint64_t id, uint64_t held_ms);
    void *arg;
    size_t n;
    struct watched loops[];
};

static void say(void *arg, const char *fiber, uint64_t id, uint64_t held_ms)
{
    (void)arg;
    wb_log(WB_WARN, "fiber has held the loop", WB_LZ("fiber", fiber), WB_LU("id", id), WB_LU("ms", held_ms));
}

static void look(struct weft_watchdog *w, struct watched *o, uint64_t now)
{
    const char *name = atomic_load_explicit(&o->loop->running, memory_order_relaxed);
    uint64_t id = atomic_load_explicit(&o->loop->running_id, memory_order_relaxed);
    uint64_t resumes = atomic_load_explicit(&o->loop->resumes, memory_order_relaxed);
    if (!name || resumes != o->resumes) {
        o->resumes = resumes;
        o->since = now;
        o->told = false;
    } else if (!o->told && now - o->since >= w->over_ns) {
        o->told = true;
        w->report(w->arg, name, id, (now - o->since) / 1000000);
    }
}

static void *thread(void *arg)
{
    struct weft_watchdog *w = arg;
    uint64_t step = w->over_ns / LOOKS;
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at); /* for pthread_cond_timedwait, whose clock is no hook */
    if (pthread_mutex_lock(&w->lock))
        abort();
    while (!w->stopping) {
        at.tv_nsec += (long)(step % 1000000000u);
        at.tv_sec += (time_t)(step / 1000000000u) + at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&w->wake, &w->lock, &at);
        uint64_t now = WB_CALL(mono_ns)();
        for (size_t i = 0; i < w->n; i++)
            look(w, &w->loops[i], now);
    }
    if (pthread_mutex_unlock(&w->lock))
        abort();
    return NULL;
}

int weft_watchdog_start(struct weft_loop *const *loops, size_t n, const struct weft_watchdog_opts *opts,
                        struct weft_watchdog **ret, struct upp_err *err)
{
    struct weft_watchdog_opts o;
    wb_opts(&o, sizeof o, opts);
    struct weft_watchdog *w = wb_calloc(1, sizeof *w + n * sizeof w->loops[0]);
    pthread_condattr_t attr;
    if (!w)
        return upp_fail(err, UPP_ENOMEM, "no memory for a watchdog");
    w->over_ns = UINT64_C(1000000) * (o.over_ms ? o.over_ms : OVER_MS);
    w->report = o.report ? o.report : say;
    w->arg = o.arg;
    w->n = n;
    for (size_t i = 0; i < n; i++)
        w->loops[i].loop = loops[i];
    if (pthread_mutex_init(&w->lock, NULL) || pthread_condattr_init(&attr) ||
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) || pthread_cond_init(&w->wake, &attr)) {
        wb_free(w); /* none of these allocates on the systems we know */
        return upp_fail(err, UPP_ENOMEM, "no locks for a watchdog");
    }
    (void)pthread_condattr_destroy(&attr);
    if (weft__thread_start(&w->thread, thread, w) < 0) {
        (void)pthread_cond_destroy(&w->wake);
        (void)pthread_mutex_destroy(&w->lock);
        wb_free(w);
        return upp_fail(err, UPP_ELIMIT, "no thread can be started");
    }
    *ret = w;
    return 0;
}

void weft_watchdog_stop(struct weft_watchdog *w)
{
    if (!w)
        return;
    if (pthread_mutex_lock(&w->lock))
        abort();
    w->stopping = true;
    (void)pthread_cond_signal(&w->wake);
    if (pthread_mutex_unlock(&w->lock))
        abort();
    (void)pthread_join(w->thread, NULL);
    (void)pthread_cond_destroy(&w->wake);
    (void)pthread_mutex_destroy(&w->lock);
    wb_free(w);
}

void weft_watchdog_stopp(struct weft_watchdog **w)
{
    weft_watchdog_stop(*w);
}
