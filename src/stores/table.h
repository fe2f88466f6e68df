/* stores/table.h — a hash table: open addressing over pointers, the hash inside the entry.
 *
 * The table owns nothing. The caller reserves room first (which may fail), so that adding cannot fail.
 */
#pragma once

#include "base/str.h"

struct ws_entry {
    uint64_t hash;
};

struct ws_table {
    struct ws_entry **slot;
    size_t cap, n; /* cap: 0 or a power of two, at most 3/4 full */
};

bool ws_table_room(struct ws_table *t); /* for one more; false: no memory */
void ws_table_add(struct ws_table *t, struct ws_entry *e);
void ws_table_remove(struct ws_table *t, const struct ws_entry *e);
void ws_table_replace(struct ws_table *t, const struct ws_entry *old, struct ws_entry *e); /* must have the same hash */
void ws_table_done(struct ws_table *t);

/* The first entry with this hash for which same() returns true, or NULL. */
void *ws_table_find(const struct ws_table *t, uint64_t hash, bool (*same)(const void *e, const void *key),
                    const void *key);

/* A hash keyed by a secret seed. */
uint64_t ws_hash(uint64_t seed, const void *p, size_t n);
