/* run/wait.h — the table by which libupp waits on fibers: sleeping, descriptors, places, work beside the caller. */
#ifndef WR_WAIT_H
#define WR_WAIT_H

#include <upp/wait.h>

/* The table; `http` (may be NULL) are the connections of the loop. Called on fibers alone. */
struct upp_wait wr_wait_table(struct upp_http *http);

#endif
