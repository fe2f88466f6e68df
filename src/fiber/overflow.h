/* fiber/overflow.h — the thread's part of naming a stack overflow. */
#ifndef WEFT_FIBER_OVERFLOW_H
#define WEFT_FIBER_OVERFLOW_H

void weft__overflow_thread_ends(void); /* takes away this thread's alternate stack, if we gave it one */

#endif
