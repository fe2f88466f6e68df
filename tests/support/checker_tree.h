/* support/checker_tree.h — the events of a run tree out of the rows of its nodes, without the engine's readers. */
#pragma once

#include "base/vec.h"
#include "log/log.h"

/* A run of the tree, with its row. */
struct tree_run {
    struct wm_run run;
    struct wm_source from;
    struct wb_uuid step; /* that began last */
};

struct tree_row {
    struct wm_row row;
    struct tree_run *of;
    uint32_t index;
};

struct tree_event {
    struct wm_event ev;
    struct upp_str text;
};

struct tree {
    struct wb_arena memory;
    WB_VEC(struct tree_run *) runs; /* the root first */
    WB_VEC(struct tree_row *) rows;
    WB_VEC(struct tree_event) events;
};

void tree_done(struct tree *t);
WEFT_SUSPENDS int tree_load(struct wl_store *s, const struct wl_owner *o, struct wb_uuid root, struct tree *t,
                            struct upp_err *err);
