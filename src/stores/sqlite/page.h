/* stores/sqlite/page.h — the checksum of a database page, in the bytes that the file reserves at the end of each page.
 *
 * The last 16 bytes of a page are its sum (8 bytes, over the others and the number of the page) and a balance (8
 * bytes). SQLite has computed the checksum of a WAL frame before a VFS sees the page, with zeros in these bytes. The
 * balance makes that checksum come out the same: the WAL's checksum is linear, so two words can undo what two others
 * add. So WAL and database hold the same bytes, and whoever checkpoints or recovers copies sums that are right.
 *
 * SQLite never sees them: pages are given to it with zeros there (vfs.c). Another program that writes a page leaves the
 * sum of what the page was before.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stores/sqlite/gap.h"

enum {
    WS_PAGE_TAIL = 16,                     /* reserved bytes of a page */
    WS_PAGE_BODY = WS_PAGE - WS_PAGE_TAIL, /* what the sum is over */
};

/* Writes the tail. It was zero when SQLite computed the checksum of the frame. */
void ws_page_stamp(unsigned char page[WS_PAGE], uint32_t number);

/* Has it the sum of this page? number 0: of any page. */
bool ws_page_holds(const unsigned char page[WS_PAGE], uint32_t number);

/* Gives it a tail that no page has: a damaged one that is copied stays damaged. */
void ws_page_spoil(unsigned char page[WS_PAGE]);
bool ws_page_is_spoilt(const unsigned char page[WS_PAGE]);

/* Does a database that begins with these bytes reserve the tail of its pages? */
bool ws_page_reserves(const unsigned char first[WS_PAGE_HEAD]);

/* Does the database with this first page, which may be damaged, have sums? Not all that reserve tails do: if SQLite
 * itself wrote it anew (VACUUM, VACUUM INTO), they are zero, that of the first page too. */
bool ws_page_has_sums(const unsigned char first[WS_PAGE]);

/* The sum of a page's body, with the processor's instruction for CRC-32C if it has one; `plain`: without. */
uint64_t ws_page_sum(const unsigned char page[WS_PAGE], bool plain);
