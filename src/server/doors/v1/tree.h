/* server/doors/v1/tree.h — the tree of a thread as JSON, for the route and for `weft tree --json`. */
#ifndef SV_TREE_V1_H
#define SV_TREE_V1_H

#include "thread/look.h"
#include "json/write.h"

void sv_write_tree(struct wj_writer *w, const struct wl_thread *t, const struct wa_look *l);

#endif
