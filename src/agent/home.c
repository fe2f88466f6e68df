/* agent/home.c — the agents of a runtime: found by name and by id in a hash table, and freed with it. */
#include "agent/home.h"

#include <endian.h>

#include "agent/agent.h"
#include "base/hooks.h"
#include "fiber/loop.h"

const struct wl_owner wa_owner = {.tenant = UPP_STR_INIT("local"), .user = UPP_STR_INIT("")};

enum { FIRST_CHAINS = 16 };

/* Agents by id and by name. */

static struct upp_str key_of(const struct weft_agent *a, enum wa_key key)
{
    return key == WA_BY_ID ? wa_agent_id(a) : wb_cstr(a->name);
}

static uint64_t hash(struct upp_str s)
{
    uint64_t h = s.n, word = 0;
    size_t i = 0;
    for (; i + 8 <= s.n; i += 8) {
        memcpy(&word, s.p + i, 8);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    word = 0;
    if (i < s.n)
        memcpy(&word, s.p + i, s.n - i);
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

static struct weft_agent **chain(const struct wa_index *x, struct upp_str key)
{
    return &x->chains[hash(key) & (x->size - 1)];
}

static struct weft_agent *find_agent(const struct wa_home *h, enum wa_key by, struct upp_str key)
{
    const struct wa_index *x = &h->agents[by];
    if (!x->n || !key.n)
        return NULL;
    struct weft_agent *a = *chain(x, key);
    while (a && !wb_str_eq(key_of(a, by), key))
        a = a->next[by];
    return a;
}

/* Makes room for one more agent. */
static int grow(struct wa_index *x, enum wa_key by, struct upp_err *err)
{
    if (x->n < x->size)
        return 0;
    struct wa_index more = {.n = x->n, .size = x->size ? 2 * x->size : FIRST_CHAINS};
    more.chains = wb_calloc(more.size, sizeof *more.chains);
    if (!more.chains)
        return upp_fail(err, UPP_ENOMEM, "no memory for an agent");
    for (size_t i = 0; i < x->size; i++)
        for (struct weft_agent *a = x->chains[i], *next; a; a = next) {
            struct weft_agent **to = chain(&more, key_of(a, by));
            next = a->next[by];
            a->next[by] = *to;
            *to = a;
        }
    wb_free(x->chains);
    *x = more;
    return 0;
}

static void index_agent(struct wa_index *x, enum wa_key by, struct weft_agent *a)
{
    struct weft_agent **to = chain(x, key_of(a, by));
    a->next[by] = *to;
    *to = a;
    x->n++;
}

static void take(struct wa_index *x, enum wa_key by, struct weft_agent *a)
{
    struct weft_agent **at = chain(x, key_of(a, by));
    while (*at != a)
        at = &(*at)->next[by];
    *at = a->next[by];
    x->n--;
}

int wa_home_index(struct wa_home *h, struct weft_agent *a, struct upp_err *err)
{
    int r = a->found ? 0 : grow(&h->agents[WA_BY_ID], WA_BY_ID, err);
    if (r >= 0 && !a->found)
        index_agent(&h->agents[WA_BY_ID], WA_BY_ID, a);
    a->found |= r >= 0;
    return r;
}

static int name_free(const struct wa_home *h, const struct weft_agent *a, struct upp_err *err)
{
    struct upp_str name = wb_cstr(a->name);
    if (!name.n)
        return upp_fail(err, UPP_EINVALID, "the name of an agent is empty");
    if (wa_home_find(h, name))
        return upp_fail(err, UPP_EINVALID, "there is an agent '%.*s' already", UPP_FMT(name));
    return 0;
}

int wa_home_add(struct wa_home *h, struct weft_agent *a, bool given_id, struct upp_err *err)
{
    int r = a->name ? name_free(h, a, err) : 0;
    if (r < 0)
        return r;
    if (given_id && find_agent(h, WA_BY_ID, wa_agent_id(a)))
        return upp_fail(err, UPP_EINVALID, "there is an agent with the id %.*s already", UPP_FMT(wa_agent_id(a)));
    if (h->n >= WA_AGENTS)
        return upp_fail(err, UPP_ELIMIT, "a runtime has at most %d agents", WA_AGENTS);
    if (a->name)
        r = grow(&h->agents[WA_BY_NAME], WA_BY_NAME, err);
    if (r >= 0 && given_id)
        r = wa_home_index(h, a, err);
    if (r < 0)
        return r;
    if (a->name)
        index_agent(&h->agents[WA_BY_NAME], WA_BY_NAME, a);
    wb_list_push(&h->all, &a->link);
    h->n++;
    return 0;
}

void wa_home_remove(struct wa_home *h, struct weft_agent *a)
{
    if (a->found)
        take(&h->agents[WA_BY_ID], WA_BY_ID, a);
    if (a->name)
        take(&h->agents[WA_BY_NAME], WA_BY_NAME, a);
    if (h->last == a)
        h->last = NULL;
    wb_unlink(&a->link);
    h->n--;
}

struct weft_agent *wa_home_find(const struct wa_home *h, struct upp_str name)
{
    struct weft_agent *a = find_agent(h, WA_BY_NAME, name);
    return a ? a : find_agent(h, WA_BY_ID, name);
}

const struct wr_agent_def *wa_home_def(void *home, struct upp_str name)
{
    struct wa_home *h = home;
    const struct wr_agent_def *def = h->last && h->last->def ? &h->last->def->pub : NULL;
    if (def && name.p == def->name.p && name.n == def->name.n)
        return def;
    struct weft_agent *a = wa_home_find(h, name);
    if (!a || wa_agent_def(a, &def, NULL) < 0)
        return NULL;
    h->last = a;
    return def;
}

void wa_home_done(struct wa_home *h)
{
    while (!wb_list_empty(&h->all))
        weft_agent_free(wb_item(h->all.next, struct weft_agent, link));
    for (size_t i = 0; i < WA_KEYS; i++)
        wb_free(h->agents[i].chains);
}

int wa_home_do(struct wa_home *h, const char *name, weft_fn *fn, void *arg, struct upp_err *err)
{
    const struct weft_loop *here = weft_loop_current();
    if (here == h->loop && weft_fiber_self())
        return fn(arg, err);
    if (here == h->loop)
        return upp_fail(err, UPP_EINVALID, "%s: on the loop of the runtime it is called by fibers alone", name);
    if (here)
        return upp_fail(err, UPP_EINVALID, "%s: the runtime is on another loop (weft_loop_call goes there)", name);
    if (atomic_load_explicit(&h->loop->driven, memory_order_relaxed))
        return upp_fail(err, UPP_EINVALID, "%s: another thread drives the loop of the runtime", name);
    return weft_loop_run(h->loop, name, fn, arg, err);
}
