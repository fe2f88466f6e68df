/* run/ids.c — which call ids are taken, in a few bytes each, whatever the length of the history. */
#include "base/hooks.h"
#include "run/internal.h"

static uint64_t hash(struct upp_str id) /* never 0, which is an empty slot */
{
    uint64_t h = wb_str_hash(id);
    return h ? h : 1;
}

static uint64_t *slot(uint64_t *slots, size_t size, uint64_t h)
{
    size_t i = (size_t)(h >> 32 ^ h) & (size - 1);
    while (slots[i] && slots[i] != h)
        i = (i + 1) & (size - 1);
    return &slots[i];
}

bool wr_ids_have(const struct wr_ids *ids, struct upp_str id)
{
    return ids->size && *slot(ids->slots, ids->size, hash(id));
}

static int grow(struct wr_ids *ids, struct upp_err *err)
{
    size_t    size  = ids->size ? ids->size * 2 : 16;
    uint64_t *slots = wb_calloc(size, sizeof *slots);
    if (!slots)
        return upp_fail(err, UPP_ENOMEM, "no memory for the ids of calls");
    for (size_t i = 0; i < ids->size; i++)
        if (ids->slots[i])
            *slot(slots, size, ids->slots[i]) = ids->slots[i];
    wb_free(ids->slots);
    ids->slots = slots;
    ids->size  = size;
    return 0;
}

int wr_ids_add(struct wr_ids *ids, struct upp_str id, struct upp_err *err)
{
    if (ids->n * 2 >= ids->size) {
        int r = grow(ids, err);
        if (r < 0)
            return r;
    }
    uint64_t  h  = hash(id);
    uint64_t *at = slot(ids->slots, ids->size, h);
    ids->n += *at == 0;
    *at = h;
    return 0;
}

void wr_ids_clear(struct wr_ids *ids)
{
    if (ids->n)
        memset(ids->slots, 0, ids->size * sizeof *ids->slots);
    ids->n = 0;
}

void wr_ids_done(struct wr_ids *ids)
{
    wb_free(ids->slots);
    *ids = (struct wr_ids){0};
}
