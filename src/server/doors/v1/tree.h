/* server/doors/v1/tree.h — the tree of a thread as JSON, as the route gives it and `weft tree --json` prints it. */
#ifndef SV_TREE_V1_H
#define SV_TREE_V1_H

#include "thread/look.h"
#include "json/write.h"

void sv_write_tree(struct wj_writer *w, const struct wl_thread *t, const struct wa_look *l);

#endif
