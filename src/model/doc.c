/* model/doc.c — the lists of a document. */
#include "model/doc.h"

#include "base/err.h"

void wm_doc_done(struct wm_doc *d)
{
    wb_vec_done(&d->agents);
    wb_vec_done(&d->turns);
    wb_vec_done(&d->entries);
}

static void *no_room(size_t n, size_t max, const char *what, struct upp_err *err)
{
    if (n >= max)
        (void)upp_fail(err, UPP_ELIMIT, "a document of more than %zu %s", max, what);
    else
        (void)upp_fail(err, UPP_ENOMEM, "no memory for %zu %s", n + 1, what);
    return NULL;
}

struct wm_doc_entry *wm_doc_entry_add(struct wm_doc *d, struct upp_err *err)
{
    if (!wb_vec_room(&d->entries, (size_t)WM_DOC_ENTRIES))
        return no_room(d->entries.n, WM_DOC_ENTRIES, "entries", err);
    struct wm_doc_entry *e = &d->entries.p[d->entries.n++];
    *e = (struct wm_doc_entry){
        .agent = WM_NO_AGENT, .e = {.kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_IMPORT, .audience = WM_AUDIENCE_ALL}};
    return e;
}

struct wm_doc_turn *wm_doc_turn_add(struct wm_doc *d, struct upp_err *err)
{
    if (!wb_vec_room(&d->turns, (size_t)WM_DOC_ENTRIES))
        return no_room(d->turns.n, WM_DOC_ENTRIES, "turns", err);
    struct wm_doc_turn *t = &d->turns.p[d->turns.n++];
    *t = (struct wm_doc_turn){.first = (uint32_t)d->entries.n, .agent = WM_NO_AGENT};
    return t;
}

uint32_t wm_doc_agent_find(const struct wm_doc *d, struct upp_str id)
{
    for (size_t i = 0; i < d->agents.n; i++)
        if (wb_str_eq(d->agents.p[i].id, id))
            return (uint32_t)i;
    for (size_t i = 0; i < d->agents.n; i++)
        if (wb_str_eq(d->agents.p[i].name, id))
            return (uint32_t)i;
    return WM_NO_AGENT;
}

int wm_doc_agent_add(struct wm_doc *d, const struct wm_doc_agent *agent, uint32_t *ret, struct upp_err *err)
{
    if (!wb_vec_push(&d->agents, *agent, (size_t)WM_DOC_AGENTS)) {
        no_room(d->agents.n, WM_DOC_AGENTS, "agents", err);
        return d->agents.n >= WM_DOC_AGENTS ? -UPP_ELIMIT : -UPP_ENOMEM;
    }
    *ret = (uint32_t)(d->agents.n - 1);
    return 0;
}

static bool is_users(const struct wm_doc_entry *e)
{
    return e->e.message.role == UPP_ROLE_USER && e->agent == WM_NO_AGENT;
}

/* The agent of turns whose agent is unknown. */
static int unknown_agent(struct wm_doc *d, uint32_t *ret, struct upp_err *err)
{
    static const struct wm_doc_agent agent = {.id = UPP_STR_INIT("agent"), .name = UPP_STR_INIT("agent")};
    *ret = wm_doc_agent_find(d, agent.id);
    return *ret != WM_NO_AGENT ? 0 : wm_doc_agent_add(d, &agent, ret, err);
}

/* The turn of a message: the last one, or a new one. NULL: see err. */
static struct wm_doc_turn *turn_of(struct wm_doc *d, size_t i, struct upp_err *err)
{
    const struct wm_doc_entry *e = &d->entries.p[i];
    struct wm_doc_turn *t = d->turns.n ? &d->turns.p[d->turns.n - 1] : NULL;
    uint32_t agent = e->agent;
    if (t && is_users(e) ? t->agent == WM_NO_AGENT
                         : t && t->agent != WM_NO_AGENT && (agent == WM_NO_AGENT || agent == t->agent))
        return t;
    if (!is_users(e) && agent == WM_NO_AGENT && unknown_agent(d, &agent, err) < 0)
        return NULL;
    uint32_t first = t ? (uint32_t)i : 0; /* leading events belong to the first turn */
    t = wm_doc_turn_add(d, err);
    if (t) {
        t->agent = agent;
        t->first = first;
    }
    return t;
}

int wm_doc_divide(struct wm_doc *d, struct upp_err *err)
{
    struct upp_err why = {0};
    if (d->turns.n)
        return 0;
    for (size_t i = 0; i < d->entries.n; i++) {
        struct wm_doc_turn *t = d->turns.n ? &d->turns.p[d->turns.n - 1] : NULL;
        if (d->entries.p[i].e.kind != WM_ENTRY_EVENT || (!t && i + 1 == d->entries.n))
            t = turn_of(d, i, &why);
        if (!t && why.code) {
            if (err)
                *err = why;
            return -why.code;
        }
        if (t)
            t->n = (uint32_t)(i + 1) - t->first;
    }
    return 0;
}
