/* support/overcommit.c — more memory than there is. */
#include "support/overcommit.h"

#include <sys/mman.h>

void *test_vast(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void test_vast_done(void *p, size_t bytes)
{
    if (p)
        (void)munmap(p, bytes);
}

bool test_vast_fill(struct wb_buf *b)
{
    wb_buf_done(b);
    b->p = test_vast(b->max);
    if (!b->p)
        return false;
    b->cap = b->max;
    b->n = b->max - 1;
    return true;
}

void test_vast_empty(struct wb_buf *b)
{
    test_vast_done(b->p, b->max);
    *b = (struct wb_buf)WB_BUF(b->max);
}
