/* fiber/thread.h — starting a thread of ours. */
#pragma once

#include <pthread.h>

/* A thread on which no signal handler of the program runs, but for faults. 0, or a negative errno. */
int weft__thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg);
