/* upp/client/waits.h — what those share who wait: tables that may be old, and the thread that blocks. */
#ifndef UPP_WAITS_H
#define UPP_WAITS_H

#include <upp/wait.h>

/* Does the table have this member: one that an older program brought may be shorter. */
#define UPP__CAN(w, member) ((w) && (w)->size >= offsetof(struct upp_wait, member) + sizeof(w)->member && (w)->member)

/* The calling thread waits until fd can be read: 1; or until `stop` can: 2; or `ms` have passed: 0. Either may be -1. A
 * signal that was handled does not shorten it. <0: a negative errno. */
int upp__poll(int fd, int stop, uint64_t ms);

#endif
