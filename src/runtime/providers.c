/* runtime/providers.c — follows the tool providers whose lists are not fixed: each new list is a generation of agents.
 *
 * A start does not wait for them: until a provider has listed its tools, and while it is unavailable, agents are
 * without them.
 */
#include "base/defs.h"
#include "base/hooks.h"
#include "base/log.h"
#include "runtime/runtime.h"

enum { RETRY_MS = 1000, RETRY_MAX_MS = 60000, LIST_BYTES = 64 << 20 };

static struct wrt_tool_list *unref_list(struct wrt_tool_list *l)
{
    if (l && --l->users == 0) {
        wb_arena_done(&l->arena);
        wb_free(l);
    }
    return NULL;
}

void wrt__lists_unref(struct wrt_tool_list **lists, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lists[i] = unref_list(lists[i]);
}

WEFT_SUSPENDS static int read_list(struct wrt_provider *x, struct wrt_tool_list **ret, struct upp_err *err)
{
    struct wrt_tool_list *l = wb_calloc(1, sizeof *l);
    if (!l)
        return upp_fail(err, UPP_ENOMEM, "no memory for a list of tools");
    *l = (struct wrt_tool_list){.arena = WB_ARENA(LIST_BYTES), .users = 1};
    int r = x->provider->ops->list(x->provider, &l->arena, &l->tools, &l->n, err);
    if (r >= 0)
        r = wb_arena_check(&l->arena, err);
    *ret = r < 0 ? unref_list(l) : l;
    return r;
}

/* Agents get what is there now. If too many generations are in use, the old one stays until one is free. */
WEFT_SUSPENDS static int use_list(struct wrt_provider *x, struct wrt_tool_list *l, struct upp_err *err)
{
    struct wrt_tool_list *before = x->list;
    x->list = l;
    int r = before || l ? wrt__generation_next(x->rt, x->rt->agents->owned, x->rt->config, err) : 0;
    if (r < 0)
        x->list = before;
    (void)unref_list(r < 0 ? l : before);
    return r;
}

/* Lists the tools once. Cancelled: fails; otherwise its state says how it went. */
WEFT_SUSPENDS static int refresh(struct wrt_provider *x, struct upp_err *err)
{
    struct wrt_tool_list *l = NULL;
    struct upp_err why = {0}, unused = {0};
    x->changed = false;
    int r = read_list(x, &l, &why);
    if (r < 0 && weft_fiber_canceled())
        return upp_fail(err, UPP_ECANCELED, "cancelled");
    if (r < 0)
        wb_log(WB_WARN, "a tool provider is unavailable", WB_LS("provider", x->provider->name),
               WB_LZ("reason", why.msg));
    int used = use_list(x, l, &unused);
    if (used < 0 && weft_fiber_canceled())
        return upp_fail(err, UPP_ECANCELED, "cancelled");
    x->state = r < 0 ? WRT_UNAVAILABLE : used < 0 ? WRT_LISTING : WRT_READY;
    x->why = used < 0 ? unused : why;
    if (x->state == WRT_READY)
        x->why = (struct upp_err){0};
    return 0;
}

/* Until the provider says that its list has changed, or the time is over. */
WEFT_SUSPENDS static int wait_for_change(struct wrt_provider *x, uint64_t ms, struct upp_err *err)
{
    WEFT_DEADLINE(ms);
    int r = 0;
    while (r >= 0 && !x->changed)
        r = weft_cond_wait(&x->wake, err);
    return r == -UPP_ETIMEOUT ? 0 : r;
}

/* Ends only when it is cancelled: without memory to wait, it lists again. */
WEFT_SUSPENDS static int follow_provider(void *arg, struct upp_err *err)
{
    struct wrt_provider *x = arg;
    for (uint64_t retry = RETRY_MS;;) {
        int r = refresh(x, err);
        if (r < 0)
            return r;
        r = wait_for_change(x, x->state == WRT_READY ? UPP_FOREVER : retry, err);
        if (r < 0)
            r = weft_yield(err);
        if (r < 0 && weft_fiber_canceled())
            return r;
        retry = x->state == WRT_READY ? RETRY_MS : WB_MIN(2 * retry, (uint64_t)RETRY_MAX_MS);
    }
}

static void on_change(void *arg)
{
    struct wrt_provider *x = arg;
    x->changed = true;
    weft_cond_signal(&x->wake);
}

int wrt__providers_open(struct wrt_runtime *rt, struct upp_err *err)
{
    const struct wc_config *c = rt->config;
    if (!c->n_providers)
        return 0;
    rt->providers = wb_calloc(c->n_providers, sizeof *rt->providers);
    if (!rt->providers)
        return upp_fail(err, UPP_ENOMEM, "no memory for tool providers");
    rt->n_providers = c->n_providers;
    for (size_t i = 0; i < rt->n_providers; i++) {
        struct wrt_provider *x = &rt->providers[i];
        *x = (struct wrt_provider){.rt = rt, .provider = c->providers[i]};
        x->provider->changed = on_change;
        x->provider->arg = x;
        int r = weft_scope_spawn(&rt->background, "provider", follow_provider, x, NULL, err);
        if (r < 0)
            return r;
    }
    return 0;
}

void wrt__providers_close(struct wrt_runtime *rt)
{
    for (size_t i = 0; i < rt->n_providers; i++) {
        rt->providers[i].provider->changed = NULL;
        (void)unref_list(rt->providers[i].list);
    }
    wb_free(rt->providers);
}

/* ---- Generations ------------------------------------------------------------------------------------------------ */

static bool has_tool(const struct wr_tool *tools, size_t n, struct upp_str name)
{
    for (size_t i = 0; i < n; i++)
        if (wb_str_eq(tools[i].spec.name, name))
            return true;
    return false;
}

static const struct wrt_tool_list *list_of(const struct wrt_runtime *rt, const struct wrt_generation *g,
                                           const struct wa_provider *p)
{
    for (size_t i = 0; i < rt->n_providers; i++)
        if (rt->providers[i].provider == p)
            return g->lists[i];
    return NULL;
}

int wrt__lists_take(const struct wrt_runtime *rt, struct wrt_generation *g, struct upp_err *err)
{
    g->lists = wb_new_n(&g->arena, struct wrt_tool_list *, rt->n_providers + 1);
    if (!g->lists)
        return wb_arena_check(&g->arena, err);
    g->n_lists = rt->n_providers;
    for (size_t i = 0; i < g->n_lists; i++) {
        g->lists[i] = rt->providers[i].list;
        if (g->lists[i])
            g->lists[i]->users++;
    }
    return 0;
}

int wrt__add_tools(const struct wrt_runtime *rt, struct wrt_generation *g, const struct wc_agent *a,
                   struct wr_agent_def *def, struct upp_err *err)
{
    size_t n = def->n_tools, room = n;
    for (size_t i = 0; i < a->n_providers; i++) {
        const struct wrt_tool_list *l = list_of(rt, g, a->providers[i]);
        room += l ? l->n : 0;
    }
    if (room == n)
        return 0;
    struct wr_tool *tools = wb_new_n(&g->arena, struct wr_tool, room);
    if (!tools)
        return wb_arena_check(&g->arena, err);
    if (n)
        memcpy(tools, def->tools, n * sizeof *tools);
    for (size_t i = 0; i < a->n_providers; i++) {
        const struct wrt_tool_list *l = list_of(rt, g, a->providers[i]);
        for (size_t k = 0; l && k < l->n; k++) {
            if (has_tool(tools, n, l->tools[k].spec.name))
                wb_log(WB_WARN, "an agent has a tool of this name already", WB_LS("agent", def->name),
                       WB_LS("provider", a->providers[i]->name), WB_LS("tool", l->tools[k].spec.name));
            else
                tools[n++] = l->tools[k];
        }
    }
    def->tools = tools;
    def->n_tools = n;
    return 0;
}
