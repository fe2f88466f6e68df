#include "fiber/stack.h"

#include <string.h>
#include <sys/mman.h>

#include "support/test.h"

static size_t resident(const struct weft__stack *s, size_t page)
{
    unsigned char v[1024];
    size_t        n = 0, pages = (s->size + page - 1) / page;
    if (pages > sizeof v || mincore(s->low, s->size, v) != 0)
        return 0;
    for (size_t i = 0; i < pages; i++)
        n += v[i] & 1;
    return n;
}

TEST(stack_is_reused_last_first)
{
    struct weft__stacks p;
    weft__stacks_init(&p, 20000);
    CHECK(p.size % p.page == 0 && p.size >= 20000);
    struct weft__stack *a = weft__stack_take(&p, NULL), *b = weft__stack_take(&p, NULL);
    CHECK(a && b && a != b);
    memset(a->low, 1, a->size);
    weft__stack_release(&p, a);
    weft__stack_release(&p, b);
    bool last = weft__stack_take(&p, NULL) == b && weft__stack_take(&p, NULL) == a;
    bool kept = a->low[0] == 1; /* few are free: its pages stay */
    weft__stack_release(&p, a);
    weft__stack_release(&p, b);
    weft__stacks_done(&p);
    CHECK(last && kept);
}

TEST(stack_gives_pages_back_beyond_the_warm_ones)
{
    enum { N = WEFT__STACKS_WARM + 1 };
    struct weft__stacks p;
    struct weft__stack *s[N];
    weft__stacks_init(&p, 64 * 1024);
    for (int i = 0; i < N; i++) {
        s[i] = weft__stack_take(&p, NULL);
        CHECK(s[i]);
        memset(s[i]->low, 1, s[i]->size);
    }
    size_t full = resident(s[N - 1], p.page);
    for (int i = 0; i < N; i++)
        weft__stack_release(&p, s[i]);
    uint64_t never = UINT64_MAX, second = UINT64_C(1000000000);
    bool     asked   = weft__stacks_trim(&p, 5) == 5 + second && weft__stacks_trim(&p, 6) == 5 + second;
    size_t   early   = resident(s[N - 1], p.page);
    bool     done    = weft__stacks_trim(&p, 5 + second) == never && weft__stacks_trim(&p, 6 + second) == never;
    size_t   trimmed = resident(s[N - 1], p.page), warm = resident(s[0], p.page);
    bool     counted = p.n_warm == WEFT__STACKS_WARM && p.n_cool == 1;
    weft__stacks_done(&p);
    CHECK(asked && done && counted);
    CHECK_INT(full, 16);
    CHECK_INT(early, 16);
    CHECK_INT(warm, 16);
    CHECK_INT(trimmed, 4);
}

TEST(stack_guard_is_below)
{
    struct weft__stacks p;
    weft__stacks_init(&p, 0);
    struct weft__stack *s = weft__stack_take(&p, NULL);
    CHECK(s);
    bool at   = weft__stack_guards(s, s->low - 1) && weft__stack_guards(s, s->map);
    bool over = weft__stack_guards(s, s->low) || weft__stack_guards(s, s->map - 1);
    weft__stack_release(&p, s);
    weft__stacks_done(&p);
    CHECK(at && !over);
}

TEST(stack_is_unmapped_beyond_what_is_kept)
{
    enum { N = WEFT__STACKS_WARM + WEFT__STACKS_KEEP + 5 };
    static struct weft__stack *s[N];
    struct weft__stacks        p;
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
