/* base/mask_forms.h — between mask.c, which has the secrets, and mask_stream.c, which looks for them: the automaton. */
#pragma once

#include "base/defs.h"
#include "base/str.h"

/* A node is a beginning of secrets. 0 is the empty one, and none where a node is named. */
struct wb_mask_node {
    uint32_t child, sibling; /* one byte longer; the same but for the last byte */
    uint32_t fail;           /* the longest end of it that is a node, too */
    uint32_t depth;          /* its bytes */
    uint32_t found;          /* the longest secret that ends here; 0: none */
    uint32_t least;          /* the shortest secret that begins so */
    uint8_t byte;            /* the last */
};

struct wb_masks {
    size_t refs; /* of mask.c */
    struct wb_secret *pages;
    struct wb_mask_node *nodes;
    bool first[256]; /* does a secret begin with this byte? */
};
