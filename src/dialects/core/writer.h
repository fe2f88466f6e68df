/* dialects/core/writer.h — what reading and writing a document share with each other, and with no dialect. */
#ifndef WD_LOWERING_H
#define WD_LOWERING_H

#include "dialects/core/document.h"

void wd_lowering_done(struct wd_lowering *l);

/* NULL: the dialect's lift has not said what that object was read from. */
struct wd_anchor *wd_anchor_find(struct wd_lifting *l, uint32_t entry, const char *slot);

/* The slot of one of that entry that begins so; NULL: none. */
const char *wd_anchor_like(struct wd_lifting *l, uint32_t entry, const char *prefix);

/* Makes the residue of the anchor's object, of which its dialect writes `fresh`. Failures are the writer's. */
void wd_anchor_compare(struct wd_lifting *l, struct wd_anchor *anchor, yyjson_val *fresh, struct wj_writer *w);

/* Hangs what was made on the document. */
int wd_residue_hang(struct wd_lifting *l, const char *dialect, struct upp_err *err) UPP_MUST_CHECK;

/* Values of the document that are lost, in its order; l->lost is sorted before. */
void wd_lost_sort(struct wd_lifting *l);
void wd_lost_tell(const struct wd_lifting *l, yyjson_val *const *list, size_t n, struct wd_losses *losses);

/* "entries/7"; of what is no entry's: an empty text. */
struct upp_str wd_loss_place(struct wd_losses *l, uint32_t entry);
void           wd_loss_add(struct wd_losses *l, struct upp_str pointer, struct upp_str what, struct upp_str why);
void           wd_lifting_done(struct wd_lifting *l);

#endif
