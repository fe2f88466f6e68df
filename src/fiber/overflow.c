/* fiber/overflow.c — naming the fiber whose stack overflowed.
 *
 * The fault happens on a stack that is full, so the handler needs one of its own, for each thread. Only the fiber
 * that runs on the faulting thread can have overflowed, so only its guard is looked at. A signal handler has no
 * context but globals: the handler before ours is one.
 */
#include "fiber/overflow.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hooks.h"
#include "fiber/log_writer.h"
#include "fiber/loop.h"

enum { SIZE = 64 * 1024 };

static struct sigaction before;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int install_errno;

static _Thread_local void *alternate;

/* A line built of pieces without anything that is not async-signal-safe. */
struct line {
    char text[256];
    size_t n;
};

static void add(struct line *l, const char *s)
{
    while (*s && l->n < sizeof l->text)
        l->text[l->n++] = *s++;
}

static void add_number(struct line *l, size_t n)
{
    char digits[24], *p = digits + sizeof digits - 1;
    *p = 0;
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    add(l, p);
}

static void pass_on(int sig, siginfo_t *info, void *context)
{
    bool sent = info->si_code <= 0; /* by raise or kill: nothing faults again when we return */
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(sig, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(sig);
    else if (!sent || before.sa_handler == SIG_DFL) {
        (void)signal(sig, SIG_DFL); /* a fault cannot be ignored: it comes again, and that ends the process */
        if (sent)
            (void)raise(sig);
    }
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    const struct weft_loop *l = weft__loop();
    const struct weft_fiber *f = l ? l->current : NULL;
    (void)weft__log_writer_flush(WEFT__LOG_LAST_MS);
    if (info->si_code <= 0 || !f || !f->stack || !weft__stack_guards(f->stack, info->si_addr)) {
        pass_on(sig, info, context);
        return;
    }
    struct line line = {.n = 0};
    add(&line, "fiber ");
    add(&line, f->name);
    add(&line, " overflowed its stack of ");
    add_number(&line, l->stacks.size / 1024);
    add(&line, " KiB\n");
    if (poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, WEFT__LOG_LAST_MS) == 1)
        (void)!write(STDERR_FILENO, line.text, line.n);
    (void)signal(sig, SIG_DFL);
}

static void install(void)
{
    struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    (void)sigemptyset(&ours.sa_mask);
    if (sigaction(SIGSEGV, &ours, &before) != 0)
        install_errno = errno;
}

int weft_fiber_report_overflow(struct upp_err *err)
{
    if (!alternate) {
        void *map = WB_CALL(map)(SIZE, 0);
        if (!map)
            return upp_fail(err, UPP_ENOMEM, "no memory for an alternate stack");
        stack_t stack = {.ss_sp = map, .ss_size = SIZE};
        if (sigaltstack(&stack, NULL) != 0) {
            WB_CALL(unmap)(map, SIZE, 0);
            return wb_fail_sys(err, -errno, UPP_EBUG, "sigaltstack");
        }
        alternate = map;
    }
    (void)pthread_once(&once, install);
    return install_errno ? wb_fail_sys(err, -install_errno, UPP_EBUG, "sigaction") : 0;
}

void weft__overflow_thread_ends(void)
{
    if (!alternate)
        return;
    stack_t none = {.ss_flags = SS_DISABLE};
    (void)sigaltstack(&none, NULL);
    WB_CALL(unmap)(alternate, SIZE, 0);
    alternate = NULL;
}
