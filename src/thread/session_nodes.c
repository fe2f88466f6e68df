/* thread/session_nodes.c — reads the nodes of a tree and their messages from the log. */
#include "thread/replies.h"
#include "thread/session_extras.h"

#include <stdlib.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/vec.h"
#include "log/note.h"
#include "log/staged.h"

enum { PAGE = 1024, DEEP = WL_PATH_READ };

struct ordered {
    struct wl_node node;
    uint32_t depth;
};

struct listing {
    WB_VEC(struct ordered) nodes;
};

static void listing_done(struct listing *l)
{
    wb_vec_done(&l->nodes);
}

/* A family also contains the trees of sub-threads. */
static WEFT_SUSPENDS int list(struct wl_store *s, const struct wl_owner *o, struct wb_uuid tree, struct wb_arena *a,
                              struct listing *l, struct upp_err *err)
{
    struct wb_uuid after = {{0}};
    struct wl_node *page;
    size_t n;
    do {
        int r = wl_list_family_nodes(s, o, wl_family(tree), after, PAGE, a, &page, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            after = page[i].id;
            if (!wb_uuid_eq(page[i].tree, tree))
                continue;
            if (l->nodes.n >= WM_SESSION_NODES)
                return upp_fail(err, UPP_ELIMIT, "the tree has more than %d nodes", WM_SESSION_NODES);
            if (!wb_vec_push(&l->nodes, ((struct ordered){.node = page[i]}), WM_SESSION_NODES))
                return upp_fail(err, UPP_ENOMEM, "no memory for the nodes of a tree");
        }
    } while (n == PAGE);
    return 0;
}

/* Omits staged nodes: those that were staged before the nodes were listed, and those staged afterwards. */
static WEFT_SUSPENDS int list_committed(struct wl_store *s, const struct wl_owner *o, struct wb_uuid tree,
                                        struct wb_arena *a, struct listing *l, struct upp_err *err)
{
    struct wl_staged staged = {0};
    int r = wl_staged_read(s, o, wl_family(tree), a, &staged, err);
    if (r >= 0)
        r = list(s, o, tree, a, l, err);
    if (r >= 0)
        r = wl_staged_read(s, o, wl_family(tree), a, &staged, err);
    if (r < 0 || !staged.n)
        return r;
    size_t n = 0;
    for (size_t i = 0; i < l->nodes.n; i++)
        if (!wl_staged_has(&staged, l->nodes.p[i].node.key))
            l->nodes.p[n++] = l->nodes.p[i];
    l->nodes.n = n;
    return 0;
}

static int by_key(const void *x, const void *y)
{
    const struct ordered *a = x, *b = y;
    return a->node.key < b->node.key ? -1 : a->node.key > b->node.key;
}

/* Parents are not younger than their children; at the same age the node nearer to the root comes first. */
static int by_age(const void *x, const void *y)
{
    const struct ordered *a = x, *b = y;
    if (a->node.created_ms != b->node.created_ms)
        return a->node.created_ms < b->node.created_ms ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    return by_key(x, y);
}

static struct ordered *find_node(const struct listing *l, uint64_t key)
{
    struct ordered wanted = {.node = {.key = key}};
    return bsearch(&wanted, l->nodes.p, l->nodes.n, sizeof wanted, by_key);
}

/* Computes the depths; the list is sorted by key. */
static int set_depths(struct listing *l, struct upp_err *err)
{
    for (size_t i = 0; i < l->nodes.n; i++) {
        const struct ordered *n = &l->nodes.p[i];
        uint32_t depth = 0;
        for (; n->node.parent; depth++) {
            uint64_t parent = n->node.parent;
            n = find_node(l, parent);
            if (!n)
                return upp_fail(err, UPP_ESTORE, "node %016llx is not in its tree", (unsigned long long)parent);
            if (n->depth) {
                depth += n->depth + 1;
                break;
            }
            if (depth > DEEP)
                break;
        }
        if (depth >= DEEP)
            return upp_fail(err, UPP_ELIMIT, "the tree has a path of more than %d nodes", DEEP);
        l->nodes.p[i].depth = depth;
    }
    return 0;
}

/* Sorts by age, and sets the index of each parent. */
static int sort_nodes(struct listing *l, struct wb_arena *a, struct wa_doc_node **ret, struct upp_err *err)
{
    size_t n = l->nodes.n;
    struct wa_doc_node *nodes = wb_new_n(a, struct wa_doc_node, n);
    uint32_t *index = wb_new_n(a, uint32_t, n); /* by index in the list sorted by key */
    if (!nodes || !index)
        return wb_arena_check(a, err);
    qsort(l->nodes.p, n, sizeof *l->nodes.p, by_age);
    for (size_t i = 0; i < n; i++)
        nodes[i] = (struct wa_doc_node){.node = l->nodes.p[i].node, .parent = UINT32_MAX};
    qsort(l->nodes.p, n, sizeof *l->nodes.p, by_key);
    for (size_t i = 0; i < n; i++)
        index[find_node(l, nodes[i].node.key) - l->nodes.p] = (uint32_t)i;
    for (size_t i = 0; i < n; i++)
        if (nodes[i].node.parent)
            nodes[i].parent = index[find_node(l, nodes[i].node.parent) - l->nodes.p];
    *ret = nodes;
    return 0;
}

int wa_tree_nodes(struct wl_store *s, const struct wl_owner *o, struct wb_uuid tree, struct wb_arena *a,
                  struct wa_doc_node **ret, size_t *n, struct upp_err *err)
{
    WB_CLEANUP(listing_done) struct listing l = {0};
    int r = list_committed(s, o, tree, a, &l, err);
    if (r >= 0 && !l.nodes.n)
        r = upp_fail(err, UPP_ESTORE, "the tree has no nodes");
    if (r < 0)
        return r;
    qsort(l.nodes.p, l.nodes.n, sizeof *l.nodes.p, by_key);
    r = set_depths(&l, err);
    if (r >= 0)
        r = sort_nodes(&l, a, ret, err);
    *n = l.nodes.n;
    return r;
}

size_t wa_messages_before(const struct wa_doc_node *node, uint32_t length)
{
    size_t low = 0, high = node->n_messages;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (node->entry_of[mid] < length)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t wa_events_between(const struct wa_doc_node *node, uint32_t from, uint32_t to)
{
    size_t n = 0;
    for (size_t i = 0; i < node->n_events; i++)
        n += node->event_of[i] >= from && node->event_of[i] < to;
    return n;
}

static bool is_message(const struct wm_entry *e)
{
    return (e->kind == WM_ENTRY_MESSAGE || e->kind == WM_ENTRY_REPAIR) && e->audience == WM_AUDIENCE_ALL &&
           !wm_is_hidden(e);
}

static bool is_thought(const struct wm_entry *e)
{
    return e->kind == WM_ENTRY_MESSAGE && e->message.role == UPP_ROLE_ASSISTANT && !wm_is_erased(e) &&
           wb_str_eq(e->phase, UPP_STR("reason"));
}

/* A message without an id of a provider or client is identified by its entry's id, as in every stream and route. */
static struct upp_message message_of(struct wb_arena *a, const struct wl_line *line)
{
    struct upp_message m = line->entry.message;
    char text[WB_UUID_TEXT + 1];
    if (!m.id.n)
        m.id = wb_arena_dup(a, wb_uuid_text(line->id, text));
    return m;
}

/* Adds metadata.weft to each message, from its entry and those up to the next message. */
static int add_known(struct wa_doc_node *node, struct wl_line *lines, size_t n,
                     const struct wm_reply_info *const *replies, struct wb_arena *a, struct upp_err *err)
{
    struct wa_extras_around around = {.lines = lines, .n = n, .caller = node->caller};
    size_t at = 0, next = 0;
    int r = 0;
    while (at < n && !is_message(&lines[at].entry))
        at++;
    node->before = lines;
    node->n_before = at;
    for (size_t i = 0; r >= 0 && at < n; i++, at = next) {
        struct upp_message *m = &node->messages[i];
        for (next = at + 1; next < n && !is_message(&lines[next].entry);)
            next++;
        around.reply = replies ? replies[at] : NULL;
        r = wa_extras_message(a, node->known, &lines[at], next - at, &around, m, err);
        if (m->role == UPP_ROLE_ASSISTANT)
            around.caller = m;
    }
    return r;
}

/* A repair that closes open calls of an imported document stays at the end of its node until the calls are answered, on
 * a sibling branch. It counts as a message as soon as another entry follows. */
static size_t without_closing(const struct wl_line *lines, size_t n)
{
    const struct wm_entry *e = n ? &lines[n - 1].entry : NULL;
    return e && e->kind == WM_ENTRY_REPAIR && e->origin == WM_ORIGIN_IMPORT ? n - 1 : n;
}

int wa_node_read(struct wl_store *s, const struct wl_owner *o, struct wa_doc_node *node, struct wb_arena *a,
                 struct upp_err *err)
{
    const struct wm_reply_info **replies = NULL;
    struct wl_end end;
    struct wl_line *lines;
    size_t n;
    int r = wl_node_end(s, o, node->node.key, &end, err);
    if (r < 0)
        return r;
    struct wl_span span = {.node = node->node.key, .length = end.length};
    struct wl_path path = {.spans = &span, .n = 1, .length = end.length};
    r = wl_path_tail(s, o, &path, end.length, end.length - WB_MIN(node->length, end.length), a, &lines, &n, err);
    if (r >= 0)
        r = wl_notes_read(s, o, lines, n, a, err);
    if (r < 0)
        return r;
    size_t visible = without_closing(lines, n);
    end.length -= (uint32_t)(n - visible);
    n = visible;
    node->n_messages = node->n_thoughts = node->n_events = 0;
    node->has_events = false;
    node->messages = wb_new_n(a, struct upp_message, n);
    node->entry_of = wb_new_n(a, uint32_t, n);
    node->thoughts = wb_new_n(a, struct wa_thought, n);
    node->event_of = wb_new_n(a, uint32_t, n);
    if (!node->messages || !node->entry_of || !node->thoughts || !node->event_of)
        return wb_arena_check(a, err);
    for (size_t i = 0; i < n; i++) {
        const struct wm_entry *e = &lines[i].entry;
        node->has_events |= e->kind == WM_ENTRY_EVENT;
        if (e->kind == WM_ENTRY_EVENT && wm_is_visible(e))
            node->event_of[node->n_events++] = lines[i].index;
        if (is_message(e)) {
            node->entry_of[node->n_messages] = lines[i].index;
            node->messages[node->n_messages++] = message_of(a, &lines[i]);
        }
        if (is_thought(e))
            node->thoughts[node->n_thoughts++] = (struct wa_thought){
                .index = lines[i].index, .run = lines[i].run, .text = wm_message_text(a, &e->message)};
    }
    node->length = end.length;
    if (node->known && node->known->whole && n)
        r = wa_replies_read(s, o, node->node.key, lines[0].index, n, a, &replies, err);
    if (r >= 0 && node->known)
        r = add_known(node, lines, n, replies, a, err);
    return r < 0 ? r : wb_arena_check(a, err);
}
