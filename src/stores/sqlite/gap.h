/* stores/sqlite/gap.h — the unused part of a database page.
 *
 * SQLite overwrites what is deleted with zeros (secure_delete), but when it moves rows to another page while it
 * balances a tree, their old bytes stay behind in the page's unallocated space: between the array of cell pointers and
 * the first cell (fileformat2.html, 1.6). Nothing ever reads that space.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WS_PAGE = 4096,    /* of every database that Weft creates; pages of another size stay as they are */
    WS_PAGE_HEAD = 32, /* of the first page: what ws_page_gaps reads */
};

/* By the first page of the database: can the pages of its trees be told apart from others? Only if they are of our
 * size, and if there are not too many. */
bool ws_page_gaps(const unsigned char *first);

/* How many bytes such a database reserves at the end of each page, which its trees do not use: 0 or 16 (page.h). */
size_t ws_page_reserved(const unsigned char *first);

/* Where the unallocated space of a page of such a database is. False: it is not a page of a tree. */
bool ws_page_gap(const unsigned char *page, uint64_t number, size_t reserved, size_t *from, size_t *n);
