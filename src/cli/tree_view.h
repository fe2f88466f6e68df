/* cli/tree_view.h — the tree of a thread, drawn with lines. */
#ifndef CLI_DRAWN_H
#define CLI_DRAWN_H

#include <stdio.h>

#include "thread/look.h"

struct cli_drawing {
    bool utf8;        /* with the characters that are made for it; else in ASCII */
    bool checkpoints; /* a line each, with its id, instead of a dot */
};

/* A line a node: where it branched off, its name, how many messages it has (of how many, where the thread stands in
 * the middle), a dot a checkpoint, how it begins, which other threads end there. '*' is where the thread stands.
 * Nothing in it is a command to a terminal. */
int cli_draw_tree(FILE *out, const struct wl_thread *t, const struct wa_look *l, const struct cli_drawing *how,
                  struct upp_err *err) UPP_MUST_CHECK;

/* Is this file a terminal that shows UTF-8? */
bool cli_draws_utf8(FILE *out);

#endif
