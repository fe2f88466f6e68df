/* fiber/child.h — child processes as the operating system has them: the operations of a loop that is real. */
#pragma once

#include "fiber/loop.h"

int weft__child_open(struct weft_loop *l, int pid);
int weft__child_status(struct weft_loop *l, const struct weft__child *c, int *status);
void weft__child_kill(struct weft_loop *l, const struct weft__child *c);
void weft__child_reap(struct weft_loop *l, const struct weft__child *c);
