#include "fiber/stack.h"

#include <string.h>
#include <sys/mman.h>

#include "base/defs.h"
#include "support/test.h"

static size_t resident(const struct weft__stack *s, size_t page)
{
    unsigned char v[1024];
    size_t n = 0, pages = (s->size + page - 1) / page;
    if (pages > sizeof v || mincore(s->low, s->size, v) != 0)
        return 0;
    for (size_t i = 0; i < pages; i++)
        n += v[i] & 1;
    return n;
}

/* A pool and what was taken from it, given back at the end of the test. */
struct taken {
    struct weft__stacks pool;
    struct weft__stack *s[WEFT__STACKS_WARM + 1];
    int n;
};

static void give_back(struct taken *t)
{
    while (t->n)
        weft__stack_release(&t->pool, t->s[--t->n]);
    weft__stacks_done(&t->pool);
}

static bool take(struct taken *t)
{
    struct weft__stack *s = weft__stack_take(&t->pool, NULL);
    if (s)
        t->s[t->n++] = s;
    return s;
}

TEST(stack_is_reused_last_first)
{
    WB_CLEANUP(give_back) struct taken t = {.n = 0};
    weft__stacks_init(&t.pool, 20000);
    CHECK(t.pool.size % t.pool.page == 0 && t.pool.size >= 20000);
    CHECK(take(&t) && take(&t));
    struct weft__stack *a = t.s[0], *b = t.s[1];
    CHECK(a != b);
    memset(b->low, 1, b->size);
    t.n = 0;
    weft__stack_release(&t.pool, b);
    weft__stack_release(&t.pool, a);
    CHECK(take(&t) && take(&t));
    CHECK(t.s[0] == a && t.s[1] == b);
    CHECK(b->low[0] == 1); /* few are free: its pages stay */
}

TEST(stack_gives_pages_back_beyond_the_warm_ones)
{
    enum { N = WEFT__STACKS_WARM + 1 };
    WB_CLEANUP(give_back) struct taken t = {.n = 0};
    weft__stacks_init(&t.pool, 64 * 1024);
    while (t.n < N) {
        CHECK(take(&t));
        memset(t.s[t.n - 1]->low, 1, t.s[t.n - 1]->size);
    }
    struct weft__stack *first = t.s[N - 1], *last = t.s[0]; /* in the order in which they are given back */
    CHECK_INT(resident(last, t.pool.page), 16);
    while (t.n)
        weft__stack_release(&t.pool, t.s[--t.n]);
    uint64_t never = UINT64_MAX, second = UINT64_C(1000000000);
    CHECK(weft__stacks_trim(&t.pool, 5) == 5 + second && weft__stacks_trim(&t.pool, 6) == 5 + second);
    CHECK_INT(resident(last, t.pool.page), 16);
    CHECK(weft__stacks_trim(&t.pool, 5 + second) == never && weft__stacks_trim(&t.pool, 6 + second) == never);
    CHECK(t.pool.n_warm == WEFT__STACKS_WARM && t.pool.n_cool == 1);
    CHECK_INT(resident(first, t.pool.page), 16);
    CHECK_INT(resident(last, t.pool.page), 4);
}

TEST(stack_guard_is_below)
{
    struct weft__stacks p;
    weft__stacks_init(&p, 0);
    struct weft__stack *s = weft__stack_take(&p, NULL);
    CHECK(s);
    bool at = weft__stack_guards(s, s->low - 1) && weft__stack_guards(s, s->low - s->guard);
    bool over = weft__stack_guards(s, s->low) || weft__stack_guards(s, s->low - s->guard - 1);
    weft__stack_release(&p, s);
    weft__stacks_done(&p);
    CHECK(at && !over);
}

TEST(stack_is_unmapped_beyond_what_is_kept)
{
    enum { N = WEFT__STACKS_WARM + WEFT__STACKS_KEEP + 5 };
    static struct weft__stack *s[N];
    struct weft__stacks p;
    weft__stacks_init(&p, 0);
    int n = 0;
    while (n < N && (s[n] = weft__stack_take(&p, NULL)))
        n++;
    for (int i = 0; i < n; i++)
        weft__stack_release(&p, s[i]);
    uint64_t now = 1;
    for (uint64_t next; (next = weft__stacks_trim(&p, now)) != UINT64_MAX;)
        now = next;
    bool kept = p.n_warm == WEFT__STACKS_WARM && p.n_cool == WEFT__STACKS_KEEP;
    weft__stacks_done(&p);
    CHECK(n == N && kept);
}
