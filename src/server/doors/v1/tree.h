/* server/doors/v1/tree.h — the tree of a thread as JSON, for the route and for `weft tree --json`. */
#pragma once

#include "thread/summary.h"
#include "json/write.h"

void sv_write_tree(struct wj_writer *w, const struct wl_thread *t, const struct wa_tree_summary *l);
