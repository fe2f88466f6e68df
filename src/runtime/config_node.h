/* runtime/config_node.h — a configuration file as a tree of nodes with their positions.
 *
 * Made from YAML (JSON is YAML). An alias is a second pointer to the node of its anchor, so nothing is copied; the size
 * of the tree with all aliases expanded is counted and limited (WC_MAX_WEIGHT). Scalars are the text of the file:
 * nothing is replaced or converted here.
 */
#pragma once

#include "base/arena.h"

enum {
    WC_MAX_FILE = 1 << 20,
    WC_MAX_DEPTH = 32,
    WC_MAX_WEIGHT = 4 << 20, /* bytes of text and nodes, aliases counted each time */
    WC_MAX_ANCHORS = 256,
};

enum wc_kind { WC_SCALAR, WC_LIST, WC_MAP };

struct wc_node {
    uint8_t kind;          /* enum wc_kind */
    bool plain;            /* a scalar without quotes: it may be a number, a boolean or null */
    bool open;             /* being read: an alias may not refer to it */
    uint8_t height;        /* 0 for a scalar */
    uint32_t line, column; /* from 1 */
    uint32_t weight;
    struct upp_str text;
    struct wc_item *first, *last;
    size_t n;
};

struct wc_item {
    const struct wc_node *key; /* NULL in a list */
    struct wc_node *value;
    struct wc_item *next;
};

/* The position of a failure. */
struct wc_mark {
    uint32_t line, column;
};

/* The only document of a text; *ret NULL: the text has none. On failure *at has the position. -UPP_EINVALID: not
 * YAML, or YAML that is not supported; -UPP_ELIMIT: too large, too deep, too many aliases. */
int wc_node_read(struct wb_arena *a, struct upp_str text, const struct wc_node **ret, struct wc_mark *at,
                 struct upp_err *err) UPP_MUST_CHECK;
