/* dialects/core/losses_unsupported.c — reports as losses what a dialect cannot express outside of messages.
 *
 * Each dialect reports its own losses in messages; these are the same for all dialects that lack a member.
 */
#include "dialects/core/writer.h"

static void of_thread(struct wd_lowering *l, unsigned what)
{
    const struct wm_doc *d = l->doc;
    if (what & WD_IMPLIED_ID && d->id.p)
        wd_lose(l, WD_THREAD, "the thread's id", "there is no member for it");
    if (what & WD_IMPLIED_THREAD && (d->title.p || d->metadata.p || d->parent.p))
        wd_lose(l, WD_THREAD, "the thread's title, metadata and parent", "there is no member for them");
    if (what & WD_IMPLIED_MADE && (d->created.p || d->updated.p))
        wd_lose(l, WD_THREAD, "when the thread was made and changed", "there is no member for it");
}

static void of_agents(struct wd_lowering *l)
{
    const struct wm_doc *d = l->doc;
    uint8_t *speaks = wb_new_n(&l->keep, uint8_t, d->agents.n + 1);
    bool made = false, silent = false;
    for (size_t i = 0; speaks && i < d->entries.n; i++)
        speaks[WB_MIN(d->entries.p[i].agent, (uint32_t)d->agents.n)] = 1;
    for (size_t i = 0; speaks && i < d->agents.n; i++) {
        const struct wm_doc_agent *a = &d->agents.p[i];
        made |= a->config.p || a->prompt.p || a->created.p || a->model.p || a->provider.p;
        silent |= !speaks[i];
    }
    if (made)
        wd_lose(l, WD_THREAD, "how the agents were made", "they are named only");
    if (silent)
        wd_lose(l, WD_THREAD, "agents that say nothing", "they are named only where they speak");
}

/* A turn's own members, and that several prompts were one submission. */
static void of_turn(struct wd_lowering *l, const struct wm_doc_turn *t)
{
    if (t->id.p || t->run.p || t->started.p || t->ended.p || t->partial || t->has_usage)
        wd_lose(l, t->first, "id, run, times and usage of a turn", "there are messages alone");
    if (t->agent == WM_NO_AGENT && t->n > 1)
        wd_lose(l, t->first, "that prompts were submitted at once", "there are messages alone");
}

/* For dialects whose entries are not objects of their own. */
static void of_entries(struct wd_lowering *l, const struct wm_doc_turn *t, unsigned what)
{
    const struct wm_doc_entry *first = &l->doc->entries.p[t->first];
    for (uint32_t i = t->first; i < t->first + t->n; i++) {
        const struct wm_doc_entry *e = &l->doc->entries.p[i];
        bool ids = what & WD_IMPLIED_IDS || (what & WD_IMPLIED_LATER_IDS && i > t->first);
        if (ids && (e->id.p || e->e.message.id.p))
            wd_lose(l, i, "its id", "it has none of its own");
        if (what & WD_IMPLIED_LATER_TIMES && e->e.message.time_ms != first->e.message.time_ms)
            wd_lose(l, i, "when it was", "it has no time of its own");
    }
}

void wd_implied(struct wd_lowering *l, unsigned what)
{
    if (!l->losses || l->compare)
        return;
    of_thread(l, what);
    if (what & WD_IMPLIED_AGENTS)
        of_agents(l);
    for (size_t i = 0; i < l->doc->turns.n; i++) {
        if (what & WD_IMPLIED_TURNS)
            of_turn(l, &l->doc->turns.p[i]);
        of_entries(l, &l->doc->turns.p[i], what);
    }
}
