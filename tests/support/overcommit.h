/* support/overcommit.h — more memory than there is, for limits that nobody reaches otherwise.
 *
 * A list whose limit is millions is given room for all of them, and told that it is nearly full: only the pages that
 * are touched take memory.
 */
#pragma once

#include "base/buf.h"

void *test_vast(size_t bytes); /* zeros; NULL: there is no room for so many addresses */
void test_vast_done(void *p, size_t bytes);

/* The buffer has room for one byte more, as if all the others had been written. It is emptied by the second one, and
 * before it is done. */
bool test_vast_fill(struct wb_buf *b);
void test_vast_empty(struct wb_buf *b);
