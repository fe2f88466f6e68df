/* stores/table.c — finds, adds and removes entries, and grows the table. */
#include "stores/table.h"

#include "base/hooks.h"
#include "base/random.h"

enum { FIRST_CAP = 16 };

uint64_t ws_hash(uint64_t seed, const void *p, size_t n)
{
    uint64_t h = seed ^ wb_mix(n + 0x9e3779b97f4a7c15u);
    const char *at = p;
    while (n) {
        uint64_t word = 0;
        size_t some = n < sizeof word ? n : sizeof word;
        memcpy(&word, at, some);
        h = wb_mix(h ^ word) + seed;
        at += some;
        n -= some;
    }
    return wb_mix(h);
}

static void put(struct ws_table *t, struct ws_entry *e)
{
    size_t i = e->hash & (t->cap - 1);
    while (t->slot[i])
        i = (i + 1) & (t->cap - 1);
    t->slot[i] = e;
}

bool ws_table_room(struct ws_table *t)
{
    if ((t->n + 1) * 4 <= t->cap * 3)
        return true;
    struct ws_table grown = {.cap = t->cap ? t->cap * 2 : FIRST_CAP};
    grown.slot = wb_calloc(grown.cap, sizeof grown.slot[0]);
    if (!grown.slot)
        return false;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slot[i])
            put(&grown, t->slot[i]);
    grown.n = t->n;
    wb_free(t->slot);
    *t = grown;
    return true;
}

void ws_table_add(struct ws_table *t, struct ws_entry *e)
{
    put(t, e);
    t->n++;
}

static size_t slot_of(const struct ws_table *t, const struct ws_entry *e)
{
    size_t i = e->hash & (t->cap - 1);
    while (t->slot[i] != e)
        i = (i + 1) & (t->cap - 1);
    return i;
}

/* Entries that follow without a gap are reinserted, so that no lookup ends too early. */
void ws_table_remove(struct ws_table *t, const struct ws_entry *e)
{
    size_t i = slot_of(t, e);
    t->slot[i] = NULL;
    t->n--;
    for (size_t j = (i + 1) & (t->cap - 1); t->slot[j]; j = (j + 1) & (t->cap - 1)) {
        struct ws_entry *moved = t->slot[j];
        t->slot[j] = NULL;
        put(t, moved);
    }
}

void ws_table_replace(struct ws_table *t, const struct ws_entry *old, struct ws_entry *e)
{
    t->slot[slot_of(t, old)] = e;
}

void ws_table_done(struct ws_table *t)
{
    wb_free(t->slot);
    *t = (struct ws_table){0};
}

void *ws_table_find(const struct ws_table *t, uint64_t hash, bool (*same)(const void *e, const void *key),
                    const void *key)
{
    if (!t->cap)
        return NULL;
    for (size_t i = hash & (t->cap - 1); t->slot[i]; i = (i + 1) & (t->cap - 1))
        if (t->slot[i]->hash == hash && same(t->slot[i], key))
            return t->slot[i];
    return NULL;
}
