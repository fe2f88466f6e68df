/* dialects/core/retained.h — what pydantic and ui understand of each other's residue.
 *
 * Both have system prompts and metadata of messages, and the model has neither: they lie in the residue of the dialect
 * that was read (dialects/core/residue.h). Whoever of the two writes them for the other finds them here.
 */
#ifndef WD_RETAINED_H
#define WD_RETAINED_H

#include "dialects/core/document.h"

/* Residue of another dialect at an entry, or WD_THREAD; NULL: there is none, or it is not asked for now. Lives as long
 * as the document is written. */
yyjson_val *wd_retained(struct wd_lowering *l, const char *dialect, const char *slot, uint32_t entry);

/* The value that a node of it keeps; NULL: none. */
yyjson_val *wd_retained_value(yyjson_val *node);

/* The node of a member of an object. */
yyjson_val *wd_retained_member(yyjson_val *node, const char *name);

/* The text at the end of a path of members; empty: none. The path ends with NULL. */
struct upp_str wd_retained_text(yyjson_val *node, const char *const *path);

/* Items of a list that are kept as a whole, in their order. */
struct wd_retained_items {
    yyjson_val *next;
    size_t      left;
    size_t      before; /* how many that the dialect writes stand before the one that was given last */
};
struct wd_retained_items wd_retained_items(yyjson_val *node);
yyjson_val              *wd_retained_item(struct wd_retained_items *in); /* NULL: no more */

/* Writes the members of "metadata" that are an application's own, into the object that is open. */
void wd_retained_metadata_put(struct wd_lowering *l, yyjson_val *node);
bool wd_retained_metadata_is(yyjson_val *node); /* are there any? */

#endif
