/* upp/client/waits.h — shared by waiting code: tables of older versions, and blocking the thread. */
#pragma once

#include <upp/wait.h>

/* Does the table have this member? One of an older program may be shorter. */
#define UPP__CAN(w, member) ((w) && (w)->size >= offsetof(struct upp_wait, member) + sizeof(w)->member && (w)->member)

/* Blocks the calling thread until fd is readable: 1; or `stop` is: 2; or `ms` have passed: 0. Either may be -1. Handled
 * signals do not shorten the wait. < 0: a negative errno. */
int upp__poll(int fd, int stop, uint64_t ms);
