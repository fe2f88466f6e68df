/* dialects/core/writer.h — internal to reading and writing documents; dialects do not use it. */
#pragma once

#include "dialects/core/document.h"

void wd_lowering_done(struct wd_lowering *l);

/* NULL: the dialect's lift has not anchored that object. */
struct wd_anchor *wd_anchor_find(struct wd_lifting *l, uint32_t entry, const char *slot);

/* The slot, beginning with `prefix`, of an anchor of that entry; NULL: none. */
const char *wd_anchor_like(struct wd_lifting *l, uint32_t entry, const char *prefix);

/* Computes the residue of the anchor's object, for which its dialect writes `fresh`. Failures go to the writer. */
void wd_anchor_compare(struct wd_lifting *l, struct wd_anchor *anchor, yyjson_val *fresh, struct wj_writer *w);

/* Attaches the computed residue to the document's entries. */
int wd_residue_attach(struct wd_lifting *l, const char *dialect, struct upp_err *err) UPP_MUST_CHECK;

/* Reports lost values in document order; call wd_lost_sort first. */
void wd_lost_sort(struct wd_lifting *l);
void wd_lost_report(const struct wd_lifting *l, yyjson_val *const *list, size_t n, struct wd_losses *losses);

/* "entries/7"; for the thread: an empty string. */
struct upp_str wd_loss_pointer(struct wd_losses *l, uint32_t entry);
void wd_loss_add(struct wd_losses *l, struct upp_str pointer, struct upp_str what, struct upp_str why);
void wd_lifting_done(struct wd_lifting *l);
