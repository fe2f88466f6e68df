/* base/random.h — random bytes fit for ids and keys.
 *
 * They come from the hook table in batches, one for each thread, because a system call for every id would cost
 * more than the id. Bytes handed out are wiped from the batch.
 *
 * After fork the child starts a batch of its own, so that it does not repeat its parent's numbers. Not seen are a
 * child made by _Fork or the bare clone system call (it may only exec), and a machine that is resumed twice from one
 * saved image: there the rest of one batch comes twice.
 */
#pragma once

#include <upp/base.h>

#include "base/export.h"

WB_EXPORT_BEGIN

/* Fills p with n random bytes. On failure (-UPP_EREFUSED: the system has none) p holds nothing of use. */
int wb_random(void *p, size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* Forgets what this thread has in stock: the next call asks the hook. For those who change the hook. */
void wb_random_forget(void);

WB_EXPORT_END

/* A number that looks like a random one, another for each (the finish of SplitMix64). Nothing about it is secret. */
static inline uint64_t wb_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}
