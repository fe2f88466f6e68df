/* dialects/core/retained.h — what pydantic and ui read of each other's residue.
 *
 * Both have system prompts and metadata of messages. The model has neither: they are in the residue of the dialect that
 * was read (dialects/core/residue.h). Each of the two writes them for the other with these functions.
 */
#pragma once

#include "dialects/core/document.h"

/* Residue of another dialect at an entry, or WD_THREAD. NULL: none, or a document is being compared. Lives until the
 * document is written. */
yyjson_val *wd_retained(struct wd_lowering *l, const char *dialect, const char *slot, uint32_t entry);

/* The node of a member of an object. */
yyjson_val *wd_retained_member(yyjson_val *node, const char *name);

/* The text at the end of a path of member names, which ends with NULL; empty: none. */
struct upp_str wd_retained_text(yyjson_val *node, const char *const *path);

/* Iterates over the items of a list that are stored whole, in order. */
struct wd_retained_items {
    yyjson_val *next;
    size_t left;
    size_t before; /* how many items that the dialect writes are before the last one returned */
};
struct wd_retained_items wd_retained_items(yyjson_val *node);
yyjson_val *wd_retained_item(struct wd_retained_items *in); /* NULL: no more */

/* Writes the application's own members of "metadata" into the open object. */
void wd_retained_metadata_put(struct wd_lowering *l, yyjson_val *node);
bool wd_retained_metadata_is(yyjson_val *node); /* are there any? */
