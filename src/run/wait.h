/* run/wait.h — libupp's wait table on fibers: sleep, descriptors, parking, concurrent work. */
#pragma once

#include <upp/wait.h>

/* `http` (may be NULL): the loop's connections. The table may be used only on fibers. */
struct upp_wait wr_wait_table(struct upp_http *http);
