/* dialects/thread/extension.c — the residue of other dialects in a thread.
 *
 *     "x_weft": {"residue": [{"dialect": "pydantic", "slot": "message", "entry": 0, "entries": 2, "said": NODE}]}
 *
 * `entry` counts from the first entry of the object that has the member.
 */
#include "base/err.h"
#include "dialects/thread/extension.h"
#include "json/read.h"
#include "json/value.h"

struct carried {
    struct wj_node node;
    struct upp_str dialect, slot;
    uint64_t entry, entries;
    yyjson_val *json;
};
static const struct wj_field rows[] = {
    F_STR(struct carried, dialect, "dialect", F_REQUIRED),
    F_STR(struct carried, slot, "slot", F_REQUIRED),
    F_U64(struct carried, entry, "entry", 0),
    F_U64(struct carried, entries, "entries", 0),
    F_ANY(struct carried, json, "said", 0),
};
WJ_SHAPE(carried, struct carried, rows);

/* Attaches one to its entry; anything else stays in the document like an unknown member. */
static int attach(struct wd_lifting *l, yyjson_val *v, const struct wd_carry *at, struct upp_err *err)
{
    struct carried c;
    if (!yyjson_is_obj(v) || WJ_DECODE(l->a, carried, v, NULL, &c, NULL) < 0)
        return wb_arena_check(l->a, err);
    if (at->first != WD_THREAD && c.entry >= at->n)
        return 0;
    struct wm_residue **to = &l->doc->residue, *residue = wb_new(l->a, struct wm_residue);
    struct upp_str json = {0};
    int r = wj_value_text(l->a, c.json, &json, err);
    if (r < 0 || !residue)
        return r < 0 ? r : wb_arena_check(l->a, err);
    if (at->first != WD_THREAD)
        to = &l->doc->entries.p[at->first + c.entry].residue;
    while (*to)
        to = &(*to)->next;
    *residue = (struct wm_residue){.dialect = c.dialect,
                                   .slot = c.slot,
                                   .entries = (uint32_t)WB_MIN(c.entries, (uint64_t)WM_DOC_ENTRIES),
                                   .json = json};
    *to = residue;
    return wb_arena_check(l->a, err);
}

int wd_carried_read(struct wd_lifting *l, yyjson_val *x_weft, struct wd_carry *c, struct upp_err *err)
{
    yyjson_val *list = yyjson_obj_get(x_weft, "residue"), *one;
    size_t i, max;
    int r = c->first == WD_THREAD ? 0 : wd_carried_parts_read(l, x_weft, c, err);
    yyjson_arr_foreach(list, i, max, one)
    {
        if (r >= 0)
            r = attach(l, one, c, err);
    }
    return r;
}

static bool is_other(const struct wd_lowering *l, const struct wm_residue *r)
{
    return !wb_str_eq(r->dialect, wb_cstr(l->dialect));
}

static bool has_other(const struct wd_lowering *l, const struct wm_residue *r)
{
    while (r && !is_other(l, r))
        r = r->next;
    return r;
}

static bool has_residue(const struct wd_lowering *l, const struct wd_carry *c)
{
    if (c->first == WD_THREAD)
        return has_other(l, l->doc->residue);
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        if (has_other(l, l->doc->entries.p[i].residue) && wm_is_visible(&l->doc->entries.p[i].e))
            return true;
    return false;
}

unsigned wd_carries(struct wd_lowering *l, const struct wd_carry *c)
{
    unsigned residue = has_residue(l, c) ? WD_CARRIES_RESIDUE : 0;
    return wd_carries_parts(l, c) ? residue | WD_CARRIES_PARTS : residue;
}

static void put_residue(struct wd_lowering *l, uint32_t at, const struct wm_residue *r)
{
    for (; r; r = r->next) {
        if (!is_other(l, r))
            continue;
        wj_write_open(&l->w, '{');
        wd_member(l, "dialect", r->dialect);
        wd_member(l, "slot", r->slot);
        wd_member_u64(l, "entry", at);
        wd_member_u64(l, "entries", r->entries);
        wd_member_json(l, "said", r->json);
        wj_write_close(&l->w, '}');
    }
}

static void write_residue(struct wd_lowering *l, const struct wd_carry *c)
{
    uint32_t at = 0;
    wj_put_open(&l->w, "residue", '[');
    if (c->first == WD_THREAD)
        put_residue(l, 0, l->doc->residue);
    for (uint32_t i = c->first; c->first != WD_THREAD && i < c->first + c->n; i++)
        if (wm_is_visible(&l->doc->entries.p[i].e))
            put_residue(l, at++, l->doc->entries.p[i].residue);
    wj_write_close(&l->w, ']');
}

void wd_carried_write(struct wd_lowering *l, const struct wd_carry *c, unsigned what)
{
    if (what & WD_CARRIES_RESIDUE)
        write_residue(l, c);
    if (what & WD_CARRIES_PARTS)
        wd_carried_parts_write(l, c);
}
