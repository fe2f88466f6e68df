/* model/names.c — a hash table that numbers texts (open addressing). */
#include "model/names.h"

#include "base/err.h"
#include "base/hooks.h"
#include "base/random.h"

__extension__ typedef unsigned __int128 wide;

/* XOR of both halves of the product. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const struct wm_names *t, struct upp_str s)
{
    uint64_t h = mix(t->seed[0] ^ s.n, t->seed[1]), word;
    for (; s.n >= 8; s.p += 8, s.n -= 8) {
        memcpy(&word, s.p, 8);
        h = mix(h ^ word, t->seed[1]);
    }
    word = 0;
    if (s.n)
        memcpy(&word, s.p, s.n);
    return mix(h ^ word, t->seed[1] ^ t->seed[0]);
}

/* The slot of a text: where it is, or the free one where it belongs. */
static struct wm_name_slot *slot_of(const struct wm_names *t, uint64_t hash, struct upp_str text)
{
    for (size_t i = hash & (t->cap - 1);; i = (i + 1) & (t->cap - 1)) {
        struct wm_name_slot *s = &t->slots[i];
        if (!s->index || (s->hash == (uint32_t)(hash >> 32) && wb_str_eq(t->list.p[s->index - 1], text)))
            return s;
    }
}

static int make_room(struct wm_names *t, struct upp_err *err)
{
    if (!t->cap) {
        int r = wb_random(t->seed, sizeof t->seed, err);
        if (r < 0)
            return r;
        t->seed[1] |= 1; /* never 0 */
    }
    struct wm_names grown = *t;
    grown.cap = t->cap ? t->cap * 2 : 16;
    grown.slots = wb_calloc(grown.cap, sizeof grown.slots[0]);
    if (!grown.slots)
        return upp_fail(err, UPP_ENOMEM, "no memory for %zu ids", grown.cap / 2);
    for (size_t i = 0; i < t->list.n; i++) {
        uint64_t hash = hash_of(t, t->list.p[i]);
        *slot_of(&grown, hash, t->list.p[i]) = (struct wm_name_slot){(uint32_t)i + 1, (uint32_t)(hash >> 32)};
    }
    wb_free(t->slots);
    t->slots = grown.slots;
    t->cap = grown.cap;
    return 0;
}

int wm_names_add(struct wm_names *t, struct upp_str text, uint32_t *ret, struct upp_err *err)
{
    if (t->list.n * 2 >= t->cap) {
        int r = make_room(t, err);
        if (r < 0)
            return r;
    }
    uint64_t hash = hash_of(t, text);
    struct wm_name_slot *s = slot_of(t, hash, text);
    if (s->index) {
        *ret = s->index - 1;
        return 0;
    }
    if (!wb_vec_push(&t->list, text, WM_NAMES_MAX))
        return t->list.n == WM_NAMES_MAX ? upp_fail(err, UPP_ELIMIT, "more than %d ids", WM_NAMES_MAX)
                                         : upp_fail(err, UPP_ENOMEM, "no memory for an id");
    *s = (struct wm_name_slot){(uint32_t)t->list.n, (uint32_t)(hash >> 32)};
    *ret = (uint32_t)t->list.n - 1;
    return 1;
}

uint32_t wm_names_find(const struct wm_names *t, struct upp_str text)
{
    return t->cap ? slot_of(t, hash_of(t, text), text)->index - 1u : UINT32_MAX;
}

void wm_names_drop_last(struct wm_names *t)
{
    if (!t->list.n)
        return;
    struct upp_str text = t->list.p[t->list.n - 1];
    /* It was added last, so no probe sequence continues past its slot: clearing it is safe. */
    *slot_of(t, hash_of(t, text), text) = (struct wm_name_slot){0};
    t->list.n--;
}

void wm_names_done(struct wm_names *t)
{
    wb_vec_done(&t->list);
    wb_free(t->slots);
    *t = (struct wm_names){0};
}
