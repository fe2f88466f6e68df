/* stores/sqlite/gap.c — finds the unallocated space of a page. */
#include "stores/sqlite/gap.h"

enum {
    DB_HEADER = 100, /* before the first page's own */
    LEAF = 8,        /* bytes of a page's header; of an interior page four more */
    RESERVED = 20,   /* where the first page says how many bytes are reserved */
};

static size_t number_at(const unsigned char *p)
{
    return (size_t)p[0] << 8 | p[1];
}

/* An overflow page, or one of the free list, begins with the number of another page, highest byte first. In a database
 * of 128 GiB and more that byte could look like the kind of a tree's page. The limit is half of that, because the first
 * page in the file may be older than the page that is written. */
bool ws_page_gaps(const unsigned char *first)
{
    enum { PAGE_SIZE = 16, PAGES = 28 };
    return number_at(first + PAGE_SIZE) == WS_PAGE && (first[RESERVED] == 0 || first[RESERVED] == 16) &&
           first[PAGES] == 0;
}

size_t ws_page_reserved(const unsigned char *first)
{
    return first[RESERVED];
}

bool ws_page_gap(const unsigned char *page, uint64_t number, size_t reserved, size_t *from, size_t *n)
{
    /* With auto_vacuum page 2, and every so many after it, maps pages to their parents. */
    const size_t usable = WS_PAGE - reserved, map_every = usable / 5 + 1;
    const size_t at = number == 1 ? DB_HEADER : 0;
    const unsigned char *head = page + at;
    const bool leaf = head[0] == 10 || head[0] == 13, interior = head[0] == 2 || head[0] == 5;
    if ((!leaf && !interior) || number % map_every == 2)
        return false;
    size_t cells = number_at(head + 3), first = number_at(head + 5), end = at + LEAF + (interior ? 4 : 0) + 2 * cells;
    if (end > first || first > usable)
        return false;
    *from = end;
    *n = first - end;
    return true;
}
