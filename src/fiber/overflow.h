/* fiber/overflow.h — the thread's part of naming a stack overflow. */
#pragma once

void weft__overflow_thread_ends(void); /* takes away this thread's alternate stack, if we gave it one */
