/* dialects/core/configuration.c — collects the system prompts of a document by agent, and marks whose they are. */
#include "dialects/core/configuration.h"

#include "base/err.h"
#include "dialects/core/document.h"
#include "json/read.h"
#include "json/value.h"

struct reading {
    const struct wm_doc *doc;
    struct wb_arena *a;
    struct wd_configuration *list; /* by agent */
    size_t n;                      /* prompts */
};

static int add_prompt(struct reading *g, uint32_t agent, struct upp_str text, struct upp_err *err)
{
    struct wd_configuration *c = agent == WM_NO_AGENT ? NULL : &g->list[agent];
    if (!c || !text.n || (c->last && wb_str_eq(c->last->text, text)))
        return 0;
    if (g->n++ == WD_PROMPTS)
        return upp_fail(err, UPP_ELIMIT, "more than %d system prompts in one document", WD_PROMPTS);
    struct wd_prompt *p = wb_new(g->a, struct wd_prompt);
    if (!p)
        return wb_arena_check(g->a, err);
    p->text = text;
    if (c->last)
        c->last->next = p;
    else
        c->first = p;
    c->last = p;
    return 0;
}

/* A value that residue has: as it was, or after the letter that says how ("l" or "k"). */
static struct upp_str text_of(yyjson_val *v)
{
    return wj_text_of(yyjson_is_arr(v) ? yyjson_arr_get(v, 1) : v);
}

/* The prompt that this object of Pydantic AI is or has: a part, or the instructions of a message. */
static int add_pydantic(struct reading *g, uint32_t agent, yyjson_val *object, struct upp_err *err)
{
    if (wb_str_eq(wj_text_at(object, "part_kind"), UPP_STR("system-prompt")))
        return add_prompt(g, agent, wj_text_at(object, "content"), err);
    yyjson_val *instructions = yyjson_obj_get(object, "kind") ? yyjson_obj_get(object, "instructions") : NULL;
    return instructions ? add_prompt(g, agent, text_of(instructions), err) : 0;
}

/* A UI message of role system. */
static int add_ui(struct reading *g, uint32_t agent, yyjson_val *object, struct upp_err *err)
{
    yyjson_val *part;
    size_t i, n;
    int r = 0;
    if (!wb_str_eq(wj_text_at(object, "role"), UPP_STR("system")))
        return 0;
    yyjson_arr_foreach(yyjson_obj_get(object, "parts"), i, n, part)
    {
        r = add_prompt(g, agent, wj_text_at(part, "text"), err);
        if (r < 0)
            return r;
    }
    return r;
}

/* The values of a read text follow each other in memory, so no object is missed however deep it is. */
static int add_residue(struct reading *g, uint32_t agent, const struct wm_residue *list, struct upp_err *err)
{
    for (const struct wm_residue *x = list; x; x = x->next) {
        bool pydantic = wb_str_eq(x->dialect, UPP_STR("pydantic"));
        yyjson_val *root = NULL;
        if (!pydantic && !wb_str_eq(x->dialect, UPP_STR("ui")))
            continue;
        int r = wj_read(g->a, x->json, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH), &root,
                        err);
        for (yyjson_val *v = root, *end = r < 0 ? v : unsafe_yyjson_get_next(root); r >= 0 && v < end; v++)
            if (yyjson_is_obj(v))
                r = pydantic ? add_pydantic(g, agent, v, err) : add_ui(g, agent, v, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The agent that answers in this turn or in the next one of an agent; otherwise the last one that did. */
static uint32_t answering(const struct wm_doc *d, size_t turn, uint32_t last)
{
    for (size_t i = turn; i < d->turns.n; i++)
        if (d->turns.p[i].agent != WM_NO_AGENT)
            return d->turns.p[i].agent;
    return last != WM_NO_AGENT || !d->agents.n ? last : 0;
}

static int read_turns(struct reading *g, struct upp_err *err)
{
    const struct wm_doc *d = g->doc;
    uint32_t last = WM_NO_AGENT;
    for (size_t i = 0; i < d->turns.n; i++) {
        const struct wm_doc_turn *turn = &d->turns.p[i];
        uint32_t agent = turn->agent;
        if (agent == WM_NO_AGENT && (i == 0 || d->turns.p[i - 1].agent != WM_NO_AGENT))
            last = answering(d, i, last); /* once for consecutive turns of the user */
        else if (agent != WM_NO_AGENT)
            last = agent;
        for (uint32_t k = turn->first; k < turn->first + turn->n; k++) {
            int r = add_residue(g, last, d->entries.p[k].residue, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

int wd_configurations_read(const struct wm_doc *d, struct wb_arena *a, struct wd_configuration **ret,
                           struct upp_err *err)
{
    struct reading g = {.doc = d, .a = a, .list = wb_new_n(a, struct wd_configuration, d->agents.n + 1)};
    int r = wb_arena_check(a, err);
    *ret = g.list;
    for (uint32_t i = 0; r >= 0 && i < d->agents.n; i++)
        r = add_prompt(&g, i, d->agents.p[i].prompt, err);
    if (r >= 0)
        r = add_residue(&g, answering(d, 0, WM_NO_AGENT), d->residue, err);
    return r < 0 ? r : read_turns(&g, err);
}

int wd_configurations_mark(struct wm_doc *d, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    struct wd_configuration *list;
    int r = wd_configurations_read(d, &a, &list, err);
    for (size_t i = 0; r >= 0 && i < d->agents.n; i++)
        d->agents.p[i].prompted = list[i].first;
    return r;
}
