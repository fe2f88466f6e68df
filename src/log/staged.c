/* log/staged.c — staged imports: lists their incomplete nodes, and drops those that were never finished. */
#include "log/staged.h"

#include <stdlib.h>

#include "base/vec.h"

enum { DIGITS = 16, PAGE = 16, BATCH = WL_CHANGES / 2 };

struct upp_str wl_staged_text(struct wb_arena *a, const uint64_t *keys, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    char *p = wb_new_n(a, char, n *DIGITS + 1);
    for (size_t i = 0; p && i < n; i++)
        for (unsigned k = 0; k < DIGITS; k++)
            p[i * DIGITS + k] = digits[keys[i] >> (60 - 4 * k) & 15];
    return wb_str(p, p ? n * DIGITS : 0);
}

static int take_key(struct upp_str text, size_t i, uint64_t *ret, struct upp_err *err)
{
    uint64_t key = 0;
    for (unsigned k = 0; k < DIGITS; k++) {
        char c = text.p[i * DIGITS + k];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return upp_fail(err, UPP_ESTORE, "the list of nodes that are not whole is broken");
        key = key << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *ret = key;
    return 0;
}

static int take_keys(struct upp_str text, struct wb_arena *a, uint64_t **ret, size_t *n, struct upp_err *err)
{
    *n = text.n / DIGITS;
    *ret = wb_new_n(a, uint64_t, *n);
    int r = wb_arena_check(a, err);
    for (size_t i = 0; r >= 0 && i < *n; i++)
        r = take_key(text, i, &(*ret)[i], err);
    return r;
}

static int by_key(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;
    return *a < *b ? -1 : *a > *b;
}

static int add(struct wl_staged *to, struct upp_str text, struct wb_arena *a, struct upp_err *err)
{
    uint64_t *more;
    size_t n;
    int r = take_keys(text, a, &more, &n, err);
    if (r < 0)
        return r;
    uint64_t *all = wb_new_n(a, uint64_t, to->n + n);
    if (!all)
        return wb_arena_check(a, err);
    if (to->n)
        memcpy(all, to->keys, to->n * sizeof *all);
    if (n)
        memcpy(all + to->n, more, n * sizeof *all);
    *to = (struct wl_staged){all, to->n + n};
    return 0;
}

int wl_staged_read(struct wl_store *s, const struct wl_owner *o, uint32_t family, struct wb_arena *a,
                   struct wl_staged *ret, struct upp_err *err)
{
    struct upp_str prefix = wb_arena_printf(a, "%08x", family), after = prefix; /* the prefix of the family's ids */
    struct wl_value *page;
    size_t n;
    do {
        int r = wb_arena_check(a, err);
        if (r >= 0)
            r = wl_list_values(s, o, UPP_STR(WL_STAGED), after, PAGE, a, &page, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            if (!wb_str_starts(page[i].name, prefix))
                n = 0; /* the next family */
            else if ((r = add(ret, page[i].bytes, a, err)) < 0)
                return r;
            else
                after = page[i].name;
        }
    } while (n == PAGE);
    if (ret->n)
        qsort(ret->keys, ret->n, sizeof *ret->keys, by_key);
    return 0;
}

bool wl_staged_has(const struct wl_staged *h, uint64_t key)
{
    return h->n && bsearch(&key, h->keys, h->n, sizeof key, by_key);
}

struct clearing {
    struct wl_store *store;
    const struct wl_owner *owner;
    struct wl_thread *thread;
    struct wl_node nodes[BATCH]; /* only their keys are used */
    struct wl_change changes[BATCH + 2];
    size_t n;
};

static WEFT_SUSPENDS int commit(struct clearing *x, const struct wl_value *last, struct upp_err *err)
{
    x->changes[x->n++] = (struct wl_change){.kind = WL_SET_THREAD, .thread = x->thread};
    if (last)
        x->changes[x->n++] = (struct wl_change){.kind = WL_DROP_VALUE, .value = last};
    struct wl_commit c = {.owner = *x->owner, .changes = x->changes, .n = x->n, .flags = WL_SYNCED};
    int r = wl_store_commit(x->store, &c, err);
    x->n = 0;
    if (r >= 0)
        x->thread->version++;
    return r;
}

/* Children come after their parents: last ones first. */
static WEFT_SUSPENDS int drop(struct clearing *x, const uint64_t *keys, size_t n, const struct wl_value *value,
                              struct upp_err *err)
{
    for (size_t i = n; i-- > 0;) {
        struct wl_node *node = &x->nodes[x->n];
        int r = wl_get_node(x->store, x->owner, keys[i], node, err);
        if (r == -UPP_ENOTFOUND)
            continue; /* never created, or dropped already */
        if (r < 0)
            return r;
        x->changes[x->n++] = (struct wl_change){.kind = WL_DROP_NODE, .node = node};
        if (x->n == BATCH && (r = commit(x, NULL, err)) < 0)
            return r;
    }
    return commit(x, value, err);
}

int wl_staged_clear(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    char name[WB_UUID_TEXT + 1];
    struct wl_value value = {.space = UPP_STR(WL_STAGED), .name = wb_uuid_text(t->id, name)};
    uint64_t *keys;
    size_t n;
    struct wl_thread whole; /* t may be without its texts */
    int r = wl_get_value(s, o, value.space, value.name, &a, &value.bytes, err);
    if (r == -UPP_ENOTFOUND)
        return 0;
    if (r >= 0)
        r = take_keys(value.bytes, &a, &keys, &n, err);
    if (r >= 0)
        r = wl_get_thread(s, o, t->id, &a, &whole, err);
    struct clearing *x = wb_new(&a, struct clearing);
    if (r < 0 || !x)
        return r < 0 ? r : wb_arena_check(&a, err);
    whole.version = t->version; /* it has changed since then: -UPP_EBUSY */
    x->store = s;
    x->owner = o;
    x->thread = &whole;
    r = drop(x, keys, n, &value, err);
    t->version = whole.version;
    return r;
}
