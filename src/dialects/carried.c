/* dialects/carried.c — the residue of other dialects in a document that has a place for it.
 *
 *     "x_weft": {"residue": [{"dialect": "pydantic", "slot": "message", "entry": 0, "entries": 2, "said": NODE}]}
 *
 * `entry` counts from the first entry of the object that has the member.
 */
#include "base/err.h"
#include "dialects/thread.h"
#include "json/read.h"
#include "json/value.h"

struct carried {
    struct wj_node node;
    struct upp_str dialect, slot;
    uint64_t       entry, entries;
    yyjson_val    *said;
};
static const struct wj_field rows[] = {
    F_STR(struct carried, dialect, "dialect", F_REQUIRED),
    F_STR(struct carried, slot, "slot", F_REQUIRED),
    F_U64(struct carried, entry, "entry", 0),
    F_U64(struct carried, entries, "entries", 0),
    F_ANY(struct carried, said, "said", 0),
};
WJ_SHAPE(carried, struct carried, rows);

/* One of them onto its entry; what is none of ours stays in the document as any unknown member does. */
static int hang(struct wd_lifting *l, yyjson_val *v, uint32_t first, uint32_t n, struct upp_err *err)
{
    struct carried c;
    if (!yyjson_is_obj(v) || WJ_DECODE(l->a, carried, v, NULL, &c, NULL) < 0)
        return wb_arena_check(l->a, err);
    if (first != WD_THREAD && c.entry >= n)
        return 0;
    WB_CLEANUP(wb_buf_done) struct wb_buf b  = WB_BUF(WD_DOC_BYTES);
    struct wm_residue                   **to = &l->doc->residue, *residue = wb_new(l->a, struct wm_residue);
    int                                   r = c.said ? wj_write(c.said, &b, err) : 0;
    if (r < 0 || !residue)
        return r < 0 ? r : wb_arena_check(l->a, err);
    if (first != WD_THREAD)
        to = &l->doc->entries.p[first + c.entry].residue;
    while (*to)
        to = &(*to)->next;
    *residue = (struct wm_residue){.dialect = c.dialect,
                                   .slot    = c.slot,
                                   .entries = (uint32_t)WB_MIN(c.entries, (uint64_t)WM_DOC_ENTRIES),
                                   .json    = c.said ? wb_arena_dup(l->a, wb_buf_str(&b)) : (struct upp_str){0}};
    *to      = residue;
    return wb_arena_check(l->a, err);
}

int wd_carried_read(struct wd_lifting *l, yyjson_val *x_weft, uint32_t first, uint32_t n, struct upp_err *err)
{
    yyjson_val *list = yyjson_obj_get(x_weft, "residue"), *one;
    size_t      i, max;
    int         r = 0;
    yyjson_arr_foreach(list, i, max, one)
    {
        r = hang(l, one, first, n, err);
        if (r < 0)
            return r;
    }
    return first == WD_THREAD ? r : wd_carried_parts_read(l, x_weft, first, n, err);
}

static const struct wm_residue *residue_at(const struct wd_lowering *l, uint32_t i)
{
    return i == WD_THREAD ? l->doc->residue : l->doc->entries.p[i].residue;
}

static bool is_other(const struct wd_lowering *l, const struct wm_residue *r)
{
    return !wb_str_eq(r->dialect, wb_cstr(l->dialect));
}

static bool has_residue(const struct wd_lowering *l, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; !l->pure && i < (first == WD_THREAD ? 1 : n); i++)
        for (const struct wm_residue *r = residue_at(l, first == WD_THREAD ? first : first + i); r; r = r->next)
            if (is_other(l, r))
                return true;
    return false;
}

bool wd_carries(struct wd_lowering *l, uint32_t first, uint32_t n)
{
    return has_residue(l, first, n) || wd_carries_parts(l, first, n);
}

static void write_residue(struct wd_lowering *l, uint32_t first, uint32_t n)
{
    wd_name(l, "residue");
    wj_write_open(&l->w, '[');
    for (uint32_t i = 0; i < (first == WD_THREAD ? 1 : n); i++)
        for (const struct wm_residue *r = residue_at(l, first == WD_THREAD ? first : first + i); r; r = r->next) {
            if (!is_other(l, r))
                continue;
            wj_write_open(&l->w, '{');
            wd_member(l, "dialect", r->dialect);
            wd_member(l, "slot", r->slot);
            wd_member_u64(l, "entry", i);
            wd_member_u64(l, "entries", r->entries);
            wd_member_json(l, "said", r->json);
            wj_write_close(&l->w, '}');
        }
    wj_write_close(&l->w, ']');
}

void wd_carried_write(struct wd_lowering *l, uint32_t first, uint32_t n)
{
    if (has_residue(l, first, n))
        write_residue(l, first, n);
    if (wd_carries_parts(l, first, n))
        wd_carried_parts_write(l, first, n);
}
