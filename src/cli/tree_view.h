/* cli/tree_view.h — the tree of a thread, drawn with lines. */
#pragma once

#include <stdio.h>

#include "thread/summary.h"

struct cli_drawing {
    bool utf8;        /* with box-drawing characters; else ASCII */
    bool checkpoints; /* one line per checkpoint, with its id, instead of a dot */
    bool numbers;     /* of nodes, from 1, in the order of the summary */
    bool coloured;    /* it is a terminal that shows colours */
};

/* One line per node: where it branches off, its name, its number of messages (and how many of them the thread has,
 * if it points into the middle), one dot per checkpoint, its first words, and which other threads end there. '*'
 * marks the thread's position. Texts lose their terminal control sequences. */
int cli_draw_tree(FILE *out, const struct wl_thread *t, const struct wa_tree_summary *l, const struct cli_drawing *how,
                  struct upp_err *err) UPP_MUST_CHECK;

/* Is this file a terminal that shows UTF-8? */
bool cli_draws_utf8(FILE *out);
