/* envelope/lineage.h — which envelope follows from which: the edge table of a log, what can be asked of it, and how it
 * is drawn.
 *
 * Envelopes are added in the order of their arrival. On the wire trace.parents may be the whole chain of ancestors; an
 * edge is kept to direct parents only: a parent that is an ancestor of another parent is dropped. A parent that the log
 * does not have is a node that is not known. An edge that would close a circle is left out and recorded.
 *
 * Pure, and bounded: nodes, edges, the memory, and the steps that are spent on ancestors.
 */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"

enum {
    WE_LINEAGE_NODES = 1 << 17, /* those that are not known included */
    WE_LINEAGE_EDGES = 1 << 20,
    WE_LINEAGE_STEPS = 1 << 24, /* along edges, in all, besides a few for each parent: beyond it ancestors stay parents,
                                   and costs are unknown */
    WE_LINEAGE_CIRCLES = 64,    /* that are listed */
    WE_LINEAGE_TEXT = 512,      /* bytes of a task that are kept */
    WE_LINEAGE_DRAWN = 2000,    /* nodes in a picture */
};
#define WE_NO_NODE UINT32_MAX

struct we_lineage_node {
    struct upp_str id;
    bool known; /* false: only named as a parent */
    bool has_score, has_subtree;
    struct upp_str role, agent, intent, task; /* agent: its id; task: its beginning */
    double score;
    uint64_t input_tokens, output_tokens;
    uint64_t subtree_input, subtree_output; /* of it and all that follows from it, each once */
    uint32_t depth;                         /* the longest way from a node without parents */
    uint32_t arrival;                       /* 0, 1, ... */
    uint32_t up, n_up, down, n_down;        /* in the lists of parents and of children */
};

/* An edge that was left out because it closes a circle. */
struct we_circle {
    uint32_t child, parent;
};

struct we_lineage;
int we_lineage_new(struct we_lineage **ret, struct upp_err *err) UPP_MUST_CHECK;
void we_lineage_free(struct we_lineage *l); /* accepts NULL */
void we_lineage_freep(struct we_lineage **l);

/* The next envelope of the log; what it has no use for is not looked at. 1: added. 0: it has no id, or there is one
 * with this id already (the first counts). -UPP_ELIMIT: too many. */
int we_lineage_add(struct we_lineage *l, yyjson_val *envelope, struct upp_err *err) UPP_MUST_CHECK;

/* The end of the log: parents become direct ones, and costs are summed. Once, before anything is asked. */
int we_lineage_end(struct we_lineage *l, struct upp_err *err) UPP_MUST_CHECK;

uint32_t we_lineage_find(const struct we_lineage *l, struct upp_str id); /* WE_NO_NODE: none */
const struct we_lineage_node *we_lineage_node(const struct we_lineage *l, uint32_t node);
size_t we_lineage_count(const struct we_lineage *l); /* of nodes: numbers are below it */
const uint32_t *we_lineage_parents(const struct we_lineage *l, uint32_t node, size_t *n);
const uint32_t *we_lineage_children(const struct we_lineage *l, uint32_t node, size_t *n);
const struct we_circle *we_lineage_circles(const struct we_lineage *l, size_t *n, uint64_t *all);

enum we_relation { WE_RELATION_NONE, WE_RELATION_ANCESTOR, WE_RELATION_SELF, WE_RELATION_DESCENDANT, WE_RELATION_ANY };

/* A part of the graph: what is listed or drawn. */
struct we_lineage_view {
    const struct we_lineage *lineage;
    uint32_t self;           /* WE_NO_NODE: of all */
    const uint8_t *relation; /* enum we_relation, by node */
    const uint32_t *nodes;   /* that are known, in the order of arrival */
    size_t n;
    const uint32_t *unknown; /* that are not */
    size_t n_unknown;
    uint64_t input_tokens, output_tokens; /* of them all */
};

enum { WE_ANCESTORS = 1 << 0, WE_DESCENDANTS = 1 << 1 };

/* An envelope with its ancestors, its descendants or both; WE_NO_NODE: all envelopes. In the arena. */
int we_lineage_view(const struct we_lineage *l, uint32_t self, unsigned which, struct wb_arena *a,
                    struct we_lineage_view *ret, struct upp_err *err) UPP_MUST_CHECK;

/* {"id", "nodes": [{"id", "parents", "role", "agent", "intent", "task", "score", "cost", "subtree_cost", "depth",
 * "relation"}], "cost", "unknown": [id], "circles": [{"child", "parent"}]}. */
int we_lineage_json(const struct we_lineage_view *v, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* For a terminal: one line per envelope, as a tree; without control characters. An envelope with several parents is
 * below the first, and only named below the others. columns: tasks are cut so that lines fit, where that is possible;
 * 0: any number. */
int we_lineage_text(const struct we_lineage_view *v, bool utf8, unsigned columns, struct wb_arena *a,
                    struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* For Graphviz, and as a picture: at most WE_LINEAGE_DRAWN nodes; how many more there are is written. */
int we_lineage_dot(const struct we_lineage_view *v, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;
int we_lineage_svg(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Shared by the files of lineage. */

enum we_label { WE_LABEL_TEXT, WE_LABEL_DOT, WE_LABEL_XML };

/* A text in one line: white space, control characters and what is no character become one blank; at most `max`
 * characters, else it ends with "...". Escaped for where it goes. */
void we_label_add(struct wb_buf *out, struct upp_str text, size_t max, enum we_label form);

/* "score 0.78, 2100+380 tokens, 2400+500 tokens with what follows": what there is, maybe nothing.
 * brief: "score 0.78, 2100+380 of 2400+500 tokens". */
void we_label_numbers(struct wb_buf *out, const struct we_lineage_node *n, bool brief);
