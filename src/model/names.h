/* model/names.h — numbers texts: the ids of a document, or of a tree.
 *
 * A hash table with a random seed, so that nobody can choose ids that make it slow. The texts are borrowed.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"

struct wm_name_slot {
    uint32_t index; /* 1 + the text's number; 0: free */
    uint32_t hash;  /* the upper half: distinguishes most texts without comparing them */
};

struct wm_names {
    WB_VEC(struct upp_str) list;
    struct wm_name_slot *slots;
    size_t cap; /* a power of two, at least twice the list */
    uint64_t seed[2];
};

enum { WM_NAMES_MAX = 1 << 25 };

WB_EXPORT_BEGIN

/* Starts all zero. 1: new, and *ret is its number, one more than the previous. 0: present already, *ret is its number.
 * < 0: nothing was added. */
int wm_names_add(struct wm_names *t, struct upp_str text, uint32_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The text's number; UINT32_MAX: not present. */
uint32_t wm_names_find(const struct wm_names *t, struct upp_str text);

/* Removes the text that was added last. */
void wm_names_drop_last(struct wm_names *t);

void wm_names_done(struct wm_names *t);

WB_EXPORT_END
