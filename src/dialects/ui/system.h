/* dialects/ui/system.h — system prompts of Pydantic AI as system messages of the AI SDK.
 *
 * The model has none: they are in the residue of a request, or of the list if a request has nothing else (retained.h).
 */
#pragma once

#include "dialects/core/retained.h"

struct wd_ui_prompts {
    struct wd_lowering *l;
    struct wd_retained_items list;
    yyjson_val *whole; /* the next request of the list that is residue as a whole; NULL: no more */
    size_t written;    /* messages of Pydantic AI before `entry` */
    uint32_t entry;
};

struct wd_ui_prompts wd_ui_prompts(struct wd_lowering *l);

/* Writes all prompts that come before entry `end`, each request's as a message. */
void wd_ui_put_systems(struct wd_ui_prompts *p, uint32_t end);
