/* dialects/core/answers.c — finds the result of a call and the call of a result, and reports results without a call
 * as lost. */
#include "dialects/core/answers.h"

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
