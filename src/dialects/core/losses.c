/* dialects/core/losses.c — reports the lost values of a document, each with its JSON pointer.
 *
 * A long list can have very many. They are reported in document order, and the search for each begins where the one
 * before ended. Then what a dialect cannot express outside of messages: each dialect reports its own losses in
 * messages.
 */
#include <stdlib.h>

#include "dialects/core/writer.h"
#include "json/pointer.h"
#include "json/value.h"

/* A position in a container. */
struct level {
    yyjson_val *container, *child; /* child of an object: the name */
    size_t index;
};

struct path {
    struct level at[WD_DOC_DEPTH];
};

static yyjson_val *next_child(const struct level *s)
{
    return unsafe_yyjson_get_next(unsafe_yyjson_is_obj(s->container) ? s->child + 1 : s->child);
}

/* Advances to the child that is `what` or contains it. */
static void step_to(struct level *s, yyjson_val *container, const yyjson_val *what)
{
    if (s->container != container || s->child > what)
        *s = (struct level){.container = container, .child = unsafe_yyjson_get_first(container)};
    for (yyjson_val *next; s->index + 1 < unsafe_yyjson_get_len(container) && (next = next_child(s)) <= what;
         s->index++)
        s->child = next;
}

/* Builds the pointer of `what`, a value in root. */
static void find_pointer(struct path *path, struct wj_pointer *pointer, yyjson_val *root, const yyjson_val *what)
{
    for (size_t depth = 0; root != what && unsafe_yyjson_is_ctn(root) && depth < WD_DOC_DEPTH; depth++) {
        struct level *s = &path->at[depth];
        step_to(s, root, what);
        if (unsafe_yyjson_is_obj(root))
            wj_pointer_name(pointer, wj_text(s->child));
        else
            wj_pointer_index(pointer, s->index);
        root = unsafe_yyjson_is_obj(root) ? s->child + 1 : s->child;
    }
}

static int by_position(const void *a, const void *b)
{
    const yyjson_val *x = *(yyjson_val *const *)a, *y = *(yyjson_val *const *)b;
    return (x > y) - (x < y);
}

void wd_lost_sort(struct wd_lifting *l)
{
    if (l->lost.n)
        qsort(l->lost.p, l->lost.n, sizeof *l->lost.p, by_position);
}

/* Is it, or a value that contains it, listed as not in the model? */
static bool is_known(const struct wd_lifting *l, const yyjson_val *v)
{
    size_t low = 0, high = l->lost.n; /* finds the first one after v */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->lost.p[mid] <= v)
            low = mid + 1;
        else
            high = mid;
    }
    return low && unsafe_yyjson_get_next(l->lost.p[low - 1]) > v;
}

void wd_lost_report(const struct wd_lifting *l, yyjson_val *const *list, size_t n, struct wd_losses *losses)
{
    struct path *path = n ? wb_new(losses->a, struct path) : NULL;
    if (n && !path)
        losses->failed = -UPP_ENOMEM;
    for (size_t i = 0; path && i < n; i++) {
        char text[512], what[64];
        struct wj_pointer pointer;
        wj_pointer_init(&pointer, text, sizeof text);
        find_pointer(path, &pointer, l->root, list[i]);
        const char *value = wj_found(list[i], what, sizeof what);
        wd_loss_add(losses, wj_pointer_str(&pointer), wb_cstr(value),
                    is_known(l, list[i]) ? UPP_STR("only its own dialect has a place for it")
                                         : UPP_STR("it does not come back as it was"));
    }
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
    const struct wm_doc *d = l->doc;
    if (what & WD_IMPLIED_ID && d->id.p)
        wd_lose(l, WD_THREAD, "the thread's id", "there is no member for it");
    if (what & WD_IMPLIED_THREAD && (d->title.p || d->metadata.p || d->parent.p))
        wd_lose(l, WD_THREAD, "the thread's title, metadata and parent", "there is no member for them");
    if (what & WD_IMPLIED_MADE && (d->created.p || d->updated.p))
        wd_lose(l, WD_THREAD, "when the thread was made and changed", "there is no member for it");
    if (what & WD_IMPLIED_AGENTS)
        of_agents(l);
    for (size_t i = 0; i < l->doc->turns.n; i++) {
        if (what & WD_IMPLIED_TURNS)
            of_turn(l, &l->doc->turns.p[i]);
        of_entries(l, &l->doc->turns.p[i], what);
    }
}
