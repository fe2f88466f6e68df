/* dialects/core/writer.c — writing a document: its objects, each with its residue applied.
 *
 * The same code writes a document as output, and writes back a document that was read to compute its residue. In the
 * second case each object is discarded when it is closed, so memory is bounded by one object.
 */
#include "dialects/core/writer.h"

#include "base/err.h"
#include "dialects/core/document.h"
#include "dialects/core/residue.h"
#include "json/match.h"
#include "json/read.h"
#include "json/value.h"

void wd_lowering_done(struct wd_lowering *l)
{
    for (size_t i = 0; i < WB_LEN(l->matches); i++)
        if (l->matches[i])
            wj_match_done(l->matches[i]);
    wb_vec_done(&l->open);
    wb_vec_done(&l->within);
    wb_buf_done(&l->temp);
    wb_arena_done(&l->scratch);
    wb_arena_done(&l->keep);
}

static const struct wm_residue *find_residue(const struct wd_lowering *l, const struct wm_residue *r, const char *slot)
{
    while (r && !(wb_str_eq(r->dialect, wb_cstr(l->dialect)) && wb_str_eq(r->slot, wb_cstr(slot))))
        r = r->next;
    return r;
}

static inline const struct wm_residue *residue_of(const struct wd_lowering *l, uint32_t entry, const char *slot)
{
    const struct wm_residue *r = NULL;
    if (entry == WD_THREAD)
        r = l->doc->residue;
    else if (entry < l->doc->entries.n)
        r = l->doc->entries.p[entry].residue;
    return r ? find_residue(l, r, slot) : NULL; /* most have none */
}

/* Compares what is written from here on with the object that was read. */
static void begin_match(struct wd_lowering *l, struct wd_opened *o)
{
    struct wj_match **m = &l->matches[l->open.n];
    o->outer = l->w.match;
    l->w.match = NULL;
    o->anchor = wd_anchor_find(l->compare, o->entry, o->slot);
    if (!o->anchor)
        return;
    if (!*m)
        *m = wb_new(&l->keep, struct wj_match);
    if (*m)
        wj_match_begin(*m, &l->w, o->anchor->wire, l->compare->root, l->compare->elsewhere);
    else
        wj_writer_fail(&l->w, wb_arena_check(&l->keep, l->w.err));
}

void wd_open(struct wd_lowering *l, uint32_t entry, const char *slot)
{
    if (!wb_vec_room(&l->open, (size_t)WD_WITHIN)) {
        wj_writer_fail(&l->w,
                       upp_fail(l->w.err, l->open.n < WD_WITHIN ? UPP_ENOMEM : UPP_EBUG, "no room for an object"));
        return;
    }
    struct wd_opened *o = &l->open.p[l->open.n];
    *o = (struct wd_opened){.from = l->w.out->n, .entry = entry, .slot = slot, .comma = l->w.comma};
    if (l->compare)
        begin_match(l, o);
    else {
        o->residue = residue_of(l, entry, slot);
        o->inner = l->within.n;
    }
    l->open.n++;
}

uint32_t wd_span(struct wd_lowering *l, uint32_t entry, const char *slot, uint32_t otherwise)
{
    uint32_t most = entry < l->doc->entries.n ? (uint32_t)(l->doc->entries.n - entry) : 0;
    if (l->compare) {
        struct wd_anchor *a = wd_anchor_find(l->compare, entry, slot);
        if (!a)
            return otherwise;
        a->natural = otherwise;
        return WB_MIN(a->entries, most);
    }
    const struct wm_residue *r = residue_of(l, entry, slot);
    return r && r->entries ? WB_MIN(r->entries, most) : otherwise;
}

struct upp_str wd_slot_like(struct wd_lowering *l, uint32_t entry, const char *prefix)
{
    if (l->compare)
        return wb_cstr(wd_anchor_like(l->compare, entry, prefix));
    const struct wm_residue *r = entry < l->doc->entries.n ? l->doc->entries.p[entry].residue : NULL;
    while (r && !(wb_str_eq(r->dialect, wb_cstr(l->dialect)) && wb_str_starts(r->slot, wb_cstr(prefix))))
        r = r->next;
    return r ? r->slot : (struct upp_str){0};
}

/* Continues the comparison of the enclosing object after this one. */
static void step_over(struct wd_lowering *l, const struct wd_anchor *anchor, bool of_member)
{
    if (of_member && !(l->w.match && anchor && wj_match_skip(&l->w, anchor->wire)))
        wj_write_u64(&l->w, 0);
}

bool wd_is_canonical(struct wd_lowering *l, uint32_t entry, const char *slot)
{
    if (!l->compare || l->w.failed || l->w.out->failed)
        return false;
    struct wd_anchor *a = wd_anchor_find(l->compare, entry, slot);
    if (!a || !a->settled)
        return false;
    step_over(l, a, l->w.match ? wj_match_named(l->w.match) : l->w.out->n && l->w.out->p[l->w.out->n - 1] == ':');
    return true;
}

/* Computes the residue of a closed object and discards what was written. Most are equal, and nothing was. */
static void compare(struct wd_lowering *l, const struct wd_opened *o)
{
    struct wj_writer *w = &l->w;
    yyjson_val *fresh = wj_match_end(w);
    if (fresh && fresh != o->anchor->wire)
        wd_anchor_compare(l->compare, o->anchor, fresh, w);
    if (w->failed || w->out->failed)
        return;
    bool of_member = o->outer ? wj_match_named(o->outer) : o->from && w->out->p[o->from - 1] == ':';
    w->out->n = o->from;
    w->comma = o->comma;
    w->match = o->outer;
    step_over(l, o->anchor, of_member);
}

static void apply_residue(struct wd_lowering *l, const struct wd_opened *o)
{
    size_t n = l->within.n - o->inner;
    struct wj_extents within = {l->w.out->p, n ? l->within.p + o->inner : NULL, n};
    struct wd_residue_put p = {o->residue->json, &within, &l->scratch, &l->temp};
    size_t dropped = 0;
    wb_arena_reset(&l->scratch);
    int r = wd_residue_put(&p, l->w.out, o->from + o->comma, &dropped, l->w.err);
    if (r < 0)
        wj_writer_fail(&l->w, r);
    else if (dropped)
        wd_lose(l, o->entry, "what it said beside what has changed since", "it was about what was there before");
}

void wd_close(struct wd_lowering *l)
{
    if (l->w.failed || l->w.out->failed || !l->open.n)
        return;
    const struct wd_opened *o = &l->open.p[--l->open.n];
    if (l->compare) {
        compare(l, o);
        return;
    }
    if (o->residue && o->residue->json.n)
        apply_residue(l, o);
    /* Records the object's extent for an enclosing object with residue, which then need not scan for it. Without memory
     * it scans. */
    struct wj_extent at = {o->from + o->comma, l->w.out->n};
    l->within.n = o->inner;
    if (l->open.n && l->open.p[l->open.n - 1].residue)
        (void)wb_vec_push(&l->within, at, (size_t)WD_EXTENTS);
}

/* The texts are in the arena. */
static void add_loss(struct wd_losses *l, struct wd_loss loss)
{
    if (l->list.n >= WD_MAX_LOSSES)
        l->more++;
    else if (!wb_vec_push(&l->list, loss, (size_t)WD_MAX_LOSSES))
        l->failed = -UPP_ENOMEM;
}

struct upp_str wd_loss_pointer(struct wd_losses *l, uint32_t entry)
{
    return entry == WD_THREAD ? UPP_STR("") : wb_arena_numbered(l->a, UPP_STR("entries/"), entry);
}

void wd_lose(struct wd_lowering *l, uint32_t entry, const char *what, const char *why)
{
    struct wd_losses *to = l->losses;
    if (to && !l->compare)
        add_loss(to, (struct wd_loss){wd_loss_pointer(to, entry), wb_arena_dup(to->a, wb_cstr(what)),
                                      wb_arena_dup(to->a, wb_cstr(why))});
}

void wd_loss_add(struct wd_losses *l, struct upp_str pointer, struct upp_str what, struct upp_str why)
{
    add_loss(l, (struct wd_loss){wb_arena_dup(l->a, pointer), wb_arena_dup(l->a, what), wb_arena_dup(l->a, why)});
}

yyjson_val *wd_scratch_read(struct wd_lowering *l, struct upp_str json)
{
    yyjson_val *v = NULL;
    int r =
        wj_read(&l->scratch, json, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH), &v, NULL);
    if (r == -UPP_ENOMEM)
        wj_writer_fail(&l->w, upp_fail(l->w.err, UPP_ENOMEM, "no memory for a value"));
    return r < 0 ? NULL : v;
}

static const struct upp_part *part_of(const struct wm_doc_entry *e, uint8_t kind, struct upp_str id)
{
    for (size_t i = 0; i < e->e.message.n_parts; i++) {
        const struct upp_part *p = &e->e.message.parts[i];
        if (p->kind == kind && wb_str_eq(p->id, id))
            return p;
    }
    return NULL;
}

const struct upp_part *wd_result_of(const struct wm_doc *d, uint32_t at, struct upp_str id)
{
    const struct upp_part *found = NULL;
    for (uint32_t i = at; !found && id.p && i < d->entries.n && i - at < WD_RESULT_DISTANCE; i++) {
        if (i > at && part_of(&d->entries.p[i], UPP_PART_CALL, id))
            break;
        found = part_of(&d->entries.p[i], UPP_PART_RESULT, id);
    }
    return found;
}

const struct upp_part *wd_call_of(const struct wm_doc *d, uint32_t at, struct upp_str id)
{
    const struct upp_part *found = NULL;
    for (uint32_t k = 0; !found && id.p && k <= at && k < WD_RESULT_DISTANCE; k++)
        found = part_of(&d->entries.p[at - k], UPP_PART_CALL, id);
    return found;
}

/* Is it the result of a call in this entry or an earlier one? */
static bool has_call(const struct wm_doc *d, uint32_t at, const struct upp_part *result)
{
    for (uint32_t k = 0; k <= at && k < WD_RESULT_DISTANCE; k++)
        if (part_of(&d->entries.p[at - k], UPP_PART_CALL, result->id))
            return wd_result_of(d, at - k, result->id) == result;
    return false;
}

void wd_lose_unmatched_results(struct wd_lowering *l, uint32_t entry)
{
    const struct upp_message *m = &l->doc->entries.p[entry].e.message;
    for (size_t k = 0; k < m->n_parts && l->losses && !l->compare; k++)
        if (m->parts[k].kind == UPP_PART_RESULT && !has_call(l->doc, entry, &m->parts[k]))
            wd_lose(l, entry, "a result", "the call that it answers is not there, or was answered before");
}
