/* fiber/switch_ucontext.c — the switch by swapcontext, for machines without assembly of ours.
 *
 * Correct everywhere, and some 20 times slower: it saves the signal mask by a system call each way. What the
 * assembly keeps as a stack pointer is here a pointer to the context, which lies on the stack that is left.
 */
#include "fiber/switch.h"

#include <signal.h>
#include <ucontext.h>

struct frame {
    ucontext_t at;
    int value;
};

int weft__switch(void **save, void *to, int value)
{
    struct frame here, *there = to;
    *save = &here;
    here.at.uc_stack.ss_sp = NULL; /* nobody sets them but for a first frame, and AddressSanitizer looks at both */
    here.at.uc_stack.ss_size = 0;
    there->value = value;
    /* The mask of signals belongs to the thread, not to the fiber: what one has blocked stays blocked. */
    if (pthread_sigmask(SIG_BLOCK, NULL, &there->at.uc_sigmask) != 0)
        __builtin_trap();
    if (swapcontext(&here.at, &there->at) != 0)
        __builtin_trap();
    return here.value;
}

void *weft__switch_frame(void *low, size_t size, void (*entry)(void))
{
    struct frame *first = weft__align_down((char *)low + size - sizeof *first, 64);
    if (getcontext(&first->at) != 0)
        __builtin_trap();
    first->at.uc_stack.ss_sp = low;
    first->at.uc_stack.ss_size = (size_t)((char *)first - (char *)low);
    first->at.uc_link = NULL;
    makecontext(&first->at, entry, 0);
    return first;
}
