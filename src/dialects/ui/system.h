/* dialects/ui/system.h — system prompts of Pydantic AI as system messages of the AI SDK.
 *
 * The model has none: they lie in the residue of a request, or of the list where a request has nothing else (kept.h).
 */
#ifndef WD_UI_DOC_SYSTEM_H
#define WD_UI_DOC_SYSTEM_H

#include "dialects/core/retained.h"

struct wd_ui_prompts {
    struct wd_lowering      *l;
    struct wd_retained_items list;
    yyjson_val              *whole;   /* the next request of the list that is kept as a whole; NULL: no more */
    size_t                   written; /* messages of Pydantic AI before `entry` */
    uint32_t                 entry;
};

struct wd_ui_prompts wd_ui_prompts(struct wd_lowering *l);

/* All that stand before this entry, as messages of their own. */
void wd_ui_put_systems(struct wd_ui_prompts *p, uint32_t end);

#endif
