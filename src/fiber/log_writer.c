/* fiber/log_writer.c — the ring of log lines, and the thread that writes them.
 *
 * Invariants
 *  1. A record is a length and a line, in one piece. The ring is [tail, head); when a record does not fit before the
 *     end of the memory it starts at the front, and `wrap` is where the records before it end.
 *  2. Only the thread moves tail, and only after a line is written: it writes from the ring, without the lock.
 *  3. The lock is static and held for a copy at most. A child of fork never takes it: it has no thread.
 *  4. A writer that did not end in time belongs to its thread alone.
 */
#include "fiber/log_writer.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/log.h"
#include "fiber/thread.h"

enum { HEAD = sizeof(uint32_t), SMALLEST = 256, LOOK_MS = 1 };

struct writer {
    pthread_t thread;
    bool stopping, ended, abandoned; /* all of this is under the lock */
    uint64_t lost;                   /* lines, when that was last logged */
    bool failing;                    /* the last line could not be written */
    size_t size, head, tail, wrap;   /* wrap: 0 unless head is before tail */
    char ring[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct writer *current;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Lines that wait in the ring, the one that is being written included. */
static atomic_size_t waiting;

static void take_lock(void)
{
    if (pthread_mutex_lock(&lock))
        abort();
}

static void give_lock(void)
{
    if (pthread_mutex_unlock(&lock))
        abort();
}

/* Where a record of n bytes goes; SIZE_MAX: there is no room. One byte stays free, so that full is not empty. */
static size_t place_of(struct writer *w, size_t n)
{
    if (w->wrap)
        return n < w->tail - w->head ? w->head : SIZE_MAX;
    if (w->head == w->tail)
        w->head = w->tail = 0;
    if (n <= w->size - w->head)
        return w->head;
    if (n >= w->tail)
        return SIZE_MAX;
    w->wrap = w->head;
    return 0;
}

static bool push(struct writer *w, struct upp_str line)
{
    if (line.n > w->size - HEAD)
        return false;
    size_t at = place_of(w, HEAD + line.n);
    if (at == SIZE_MAX)
        return false;
    uint32_t n = (uint32_t)line.n;
    memcpy(w->ring + at, &n, HEAD);
    memcpy(w->ring + at + HEAD, line.p, n);
    w->head = at + HEAD + n;
    (void)atomic_fetch_add(&waiting, 1);
    return true;
}

static bool take_line(struct upp_str line)
{
    take_lock();
    bool taken = current && push(current, line);
    if (taken)
        (void)pthread_cond_signal(&more);
    give_lock();
    return taken;
}

/* The oldest line; the ring is not empty. */
static struct upp_str oldest(struct writer *w)
{
    uint32_t n;
    if (w->wrap && w->tail == w->wrap)
        w->tail = w->wrap = 0;
    memcpy(&n, w->ring + w->tail, HEAD);
    return wb_str(w->ring + w->tail + HEAD, n);
}

static bool is_empty(const struct writer *w)
{
    return !w->wrap && w->head == w->tail;
}

/* Once the ring is empty: what is missing in the log is said in it. */
static void log_lost(struct writer *w)
{
    uint64_t lost = wb_log_lost();
    if (lost == w->lost)
        return;
    uint64_t n = lost - w->lost;
    w->lost = lost;
    give_lock();
    wb_log(WB_WARN, "log lines are missing here: they could not be written", WB_LU("lines", n));
    take_lock();
}

static void *thread(void *arg)
{
    struct writer *w = arg;
    take_lock();
    for (;;) {
        if (is_empty(w) && !w->failing) /* or the report of a lost line would be the next one */
            log_lost(w);
        if (is_empty(w) && w->stopping)
            break;
        if (is_empty(w)) {
            (void)pthread_cond_wait(&more, &lock);
            continue;
        }
        struct upp_str line = oldest(w);
        give_lock();
        bool written = wb_log_write(line);
        take_lock();
        w->failing = !written;
        w->tail += HEAD + line.n;
        if (!w->abandoned)
            (void)atomic_fetch_sub(&waiting, 1);
    }
    w->ended = true;
    bool abandoned = w->abandoned;
    give_lock();
    if (abandoned)
        wb_free(w);
    return NULL;
}

static bool is_writable(void)
{
    struct pollfd fd = {.fd = wb_log_fd(), .events = POLLOUT};
    return poll(&fd, 1, 0) == 1;
}

static void wait_a_little(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
}

bool weft__log_writer_flush(unsigned limit_ms)
{
    for (unsigned spent = 0; atomic_load(&waiting); spent += LOOK_MS) {
        if (spent >= limit_ms)
            return false;
        wait_a_little(); /* a condition cannot be waited for in a handler */
    }
    return true;
}

/* The handler was for one signal: now it ends the process. */
static void on_end(int signal_number)
{
    (void)weft__log_writer_flush(WEFT__LOG_LAST_MS);
    (void)raise(signal_number);
}

static void in_child(void)
{
    wb_log_via(NULL);
    current = NULL;
    atomic_store(&waiting, 0);
}

/* Signals that somebody handles are left alone; SIGSEGV belongs to fiber/overflow.c. */
static void handle_ends(void)
{
    static const int ends[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL};
    struct sigaction ours = {.sa_handler = on_end, .sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER}, before;
    (void)sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < WB_LEN(ends); i++)
        if (sigaction(ends[i], NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL)
            (void)sigaction(ends[i], &ours, NULL);
}

static void follow_forks(void)
{
    (void)pthread_atfork(NULL, NULL, in_child); /* if there is no memory for it, lines of a child are lost */
}

int weft__log_writer_start(size_t bytes, struct upp_err *err)
{
    size_t size = WB_MAX(bytes ? bytes : (size_t)WEFT__LOG_RING, (size_t)SMALLEST);
    struct writer *w = current ? NULL : wb_calloc(1, sizeof *w + size);
    if (!w)
        return current ? upp_fail(err, UPP_EINVALID, "the log has a writer")
                       : upp_fail(err, UPP_ENOMEM, "no memory for the log's writer");
    w->size = size;
    w->lost = wb_log_lost();
    (void)pthread_once(&once, follow_forks);
    handle_ends();
    if (weft__thread_start(&w->thread, thread, w) < 0) {
        wb_free(w);
        return upp_fail(err, UPP_ELIMIT, "no thread can be started for the log");
    }
    take_lock();
    current = w;
    give_lock();
    wb_log_via(take_line);
    return 0;
}

static bool has_ended(struct writer *w, bool last_look)
{
    take_lock();
    bool ended = w->ended;
    w->abandoned = last_look && !ended;
    give_lock();
    return ended;
}

bool weft__log_writer_stop(unsigned limit_ms)
{
    struct writer *w = current;
    if (!w)
        return true;
    wb_log_via(NULL);
    take_lock();
    current = NULL;
    w->stopping = true;
    (void)pthread_cond_signal(&more);
    give_lock();
    pthread_t id = w->thread;
    bool ended = false;
    for (unsigned spent = 0; !ended && spent < limit_ms; spent += LOOK_MS) {
        ended = has_ended(w, false);
        if (!ended)
            wait_a_little();
    }
    if (!ended && !has_ended(w, true)) {
        (void)pthread_detach(id);
        atomic_store(&waiting, 0);
        return false;
    }
    (void)pthread_join(id, NULL);
    wb_free(w);
    return is_writable();
}
