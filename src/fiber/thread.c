/* fiber/thread.c — starting a thread of ours. */
#include "fiber/thread.h"

#include <signal.h>
#include <stddef.h>

int weft__thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg)
{
    /* Blocked, a fault would kill without its handler, and nobody could say why. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t mask, before;
    (void)sigfillset(&mask);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        (void)sigdelset(&mask, faults[i]);
    int r = pthread_sigmask(SIG_SETMASK, &mask, &before);
    if (r)
        return -r;
    r = pthread_create(ret, NULL, fn, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}
