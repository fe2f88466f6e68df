/* thread/summary.c — summarises a tree: its threads, its branches, its checkpoints. */
#include "thread/summary.h"

#include <stdlib.h>

#include "base/defs.h"
#include "base/iso8601.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "base/vec_add.h"
#include "json/read.h"
#include "json/value.h"

enum { PAGE = 1024, OPENING = 1 << 20 /* bytes of an envelope that is looked into */ };

struct looking {
    struct wl_store *store;
    const struct wl_owner *owner;
    const struct wl_thread *thread;
    struct wb_arena *to;
    struct wb_arena scratch; /* of the node being read */
    struct wa_doc_node *nodes;
    struct wa_tree_summary *look;
    WB_VEC(struct wa_summary_checkpoint) checkpoints;
    WB_VEC(struct wa_summary_thread) threads;
};

static void looking_done(struct looking *x)
{
    wb_arena_done(&x->scratch);
    wb_vec_done(&x->checkpoints);
    wb_vec_done(&x->threads);
}

/* ---- Threads and checkpoints ------------------------------------------------------------------------------ */

static int by_head(const void *a, const void *b)
{
    const struct wa_summary_thread *x = a, *y = b;
    return x->head != y->head ? (x->head < y->head ? -1 : 1) : wb_uuid_cmp(x->id, y->id);
}

/* Only threads of the same owner. Child runs have trees of their own: a sub-thread in this tree is a query's. */
WEFT_SUSPENDS static int list_threads(struct looking *x, struct upp_err *err)
{
    struct wl_store *s = x->store;
    struct wb_uuid after = {{0}};
    struct wl_thread *page;
    size_t n;
    do {
        wb_arena_reset(&x->scratch);
        int r =
            wl_list_family_threads(s, x->owner, wl_family(x->thread->tree), after, PAGE, &x->scratch, &page, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            after = page[i].id;
            if (!wb_uuid_eq(page[i].tree, x->thread->tree) || !wb_str_eq(page[i].owner.user, x->owner->user))
                continue;
            struct wa_summary_thread t = {
                .id = page[i].id, .head = page[i].head, .at = page[i].at, .below = page[i].kind == WL_SUB};
            r = wb_vec_add(&x->threads, t, (size_t)UINT32_MAX, "threads in a tree", err);
            if (r < 0)
                return r;
        }
    } while (n == PAGE);
    if (x->threads.n)
        qsort(x->threads.p, x->threads.n, sizeof *x->threads.p, by_head);
    return 0;
}

static int add_checkpoint(struct looking *x, struct wa_summary_checkpoint cp, struct upp_err *err)
{
    return wb_vec_add(&x->checkpoints, cp, WM_SESSION_CHECKPOINTS, "checkpoints in a tree", err);
}

/* ---- One node ---------------------------------------------------------------------------------------------- */

struct upp_str wa_opening(struct wb_arena *a, struct upp_str text)
{
    yyjson_val *v;
    text = wb_str_trim(text);
    if (!wb_str_starts(text, UPP_STR("{")) || text.n > OPENING ||
        wb_str_find(text, UPP_STR("\"multiagent-"), 0) == SIZE_MAX || wj_read(a, text, NULL, &v, NULL) < 0 ||
        !wb_str_starts(wj_text_at(v, "protocol"), UPP_STR("multiagent-")))
        return text;
    struct upp_str task = wb_str_trim(wj_text_at(v, "task"));
    return task.n ? task : text;
}

static void copy_beginning(struct looking *x, const struct wa_doc_node *from, struct wa_summary_node *to)
{
    if (!from->n_messages)
        return;
    struct upp_str text = wa_opening(&x->scratch, wm_message_text(&x->scratch, &from->messages[0]));
    to->role = from->messages[0].role;
    to->words = wb_arena_dup(x->to, wb_str(text.p, wb_utf8_cut(text, WA_LOOK_WORDS)));
}

/* Its id in the imported document. */
static void find_imported_id(struct looking *x, struct wa_summary_node *n)
{
    yyjson_val *v, *id;
    if (n->node.origin.p && wj_read(&x->scratch, n->node.origin, NULL, &v, NULL) >= 0 &&
        (id = yyjson_obj_get(v, "id")) && yyjson_is_str(id))
        n->foreign = wb_arena_dup(x->to, wj_text(id));
}

/* The threads that end in this node. */
static void assign_threads(struct looking *x, const struct wa_doc_node *from, struct wa_summary_node *to)
{
    size_t low = 0, high = x->threads.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (x->threads.p[mid].head < to->node.key)
            low = mid + 1;
        else
            high = mid;
    }
    while (high < x->threads.n && x->threads.p[high].head == to->node.key)
        high++;
    to->threads = wb_new_n(x->to, struct wa_summary_thread, high - low);
    for (; to->threads && low < high; low++) {
        struct wa_summary_thread t = x->threads.p[low];
        struct wl_thread w = {.at = t.at};
        t.messages = (uint32_t)wa_messages_before(from, wl_thread_length(&w, from->length));
        if (t.below && x->thread->kind != WL_SUB)
            to->aside = true;
        else
            to->threads[to->n_threads++] = t;
    }
}

WEFT_SUSPENDS static int read_row(struct looking *x, size_t at, const struct wl_row *stored, struct wb_arena *page,
                                  struct upp_err *err)
{
    const struct wa_doc_node *node = &x->nodes[at];
    uint32_t length = wl_pos_index(stored->pos) + stored->n_entries;
    struct wm_row row;
    int r = wm_row_read(page, stored->format, stored->body, stored->tape, &row, err);
    for (size_t i = 0; r >= 0 && i < row.n_records; i++) {
        const struct wm_event *ev = &row.records[i];
        struct wb_uuid id = ev->checkpoint.id;
        char text[WB_UUID_TEXT + 1];
        if (ev->kind != WM_CHECKPOINT)
            continue;
        if (wb_uuid_is_nil(id))
            id = wm_position_uuid((struct wm_position){node->node.key, length, (uint16_t)ev->step});
        r = add_checkpoint(x,
                           (struct wa_summary_checkpoint){.id = wb_arena_dup(x->to, wb_uuid_text(id, text)),
                                                          .time_ms = row.time_ms,
                                                          .step = ev->step,
                                                          .node = (uint32_t)at,
                                                          .messages = (uint32_t)wa_messages_before(node, length)},
                           err);
    }
    return r;
}

WEFT_SUSPENDS static int read_rows(struct looking *x, size_t at, struct upp_err *err)
{
    struct wl_rows rows = {.more = true};
    for (uint64_t from = 0; rows.more;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena page = WB_ARENA(1u << 30);
        struct wl_range range = {.node = x->nodes[at].node.key, .from = from, .to = UINT64_MAX >> 1};
        int r = wl_store_rows(x->store, x->owner, &range, &page, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            from = rows.p[i].pos + 1;
            r = read_row(x, at, &rows.p[i], &page, err);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

WEFT_SUSPENDS static int look_at(struct looking *x, size_t at, struct upp_err *err)
{
    struct wa_doc_node *from = &x->nodes[at];
    struct wa_summary_node *to = &x->look->nodes[at];
    int r = wa_node_read(x->store, x->owner, from, &x->scratch, err);
    if (r < 0)
        return r;
    to->messages = (uint32_t)from->n_messages;
    copy_beginning(x, from, to);
    find_imported_id(x, to);
    assign_threads(x, from, to);
    r = to->aside ? 0 : read_rows(x, at, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < to->n_children; i++) {
        struct wa_summary_node *child = &x->look->nodes[to->children[i]];
        child->branch = (uint32_t)wa_messages_before(from, child->node.parent_length);
    }
    if (at == x->look->current)
        x->look->messages = (uint32_t)wa_messages_before(from, wl_thread_length(x->thread, from->length));
    from->messages = NULL; /* they point into scratch */
    from->entry_of = NULL;
    from->thoughts = NULL;
    wb_arena_reset(&x->scratch);
    return wb_arena_check(x->to, err);
}

/* ---- Imported checkpoints ---------------------------------------------------------------------------------- */

/* The indices of the document's nodes here: both are in nearly the same order. UINT32_MAX: the node was deleted. */
static int map_nodes(const struct looking *x, const struct wm_tree_doc *tree, struct wb_arena *a, uint32_t **ret,
                     struct upp_err *err)
{
    const struct wa_tree_summary *l = x->look;
    uint32_t *index = wb_new_n(a, uint32_t, tree->n);
    if (!index)
        return wb_arena_check(a, err);
    for (size_t i = 0, next = 0; i < tree->n; i++) {
        size_t tried = 0;
        for (; tried < l->n && !wb_str_eq(l->nodes[next].foreign, tree->nodes[i].id); tried++)
            next = next + 1 < l->n ? next + 1 : 0;
        index[i] = tried < l->n ? (uint32_t)next : UINT32_MAX;
    }
    *ret = index;
    return 0;
}

/* Takes the next number from the line (uap.threadLength of each checkpoint): messages of its node before its run. */
static uint32_t take_length(struct upp_str *line, uint32_t most)
{
    struct upp_str word;
    uint64_t n;
    return wb_str_split(line, ' ', &word) && wb_str_u64(word, &n) && n < most ? (uint32_t)n : most;
}

WEFT_SUSPENDS static int read_imported(struct looking *x, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    char name[WB_UUID_TEXT + 1];
    struct upp_str json, lengths;
    struct wm_session doc;
    uint32_t *index = NULL;
    int r = wl_get_value(x->store, x->owner, UPP_STR(WA_IMPORTED), wb_uuid_text(x->thread->id, name), &a, &json, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    (void)wb_str_split(&json, '\n', &lengths);
    r = wm_session_read(&a, json, &doc, err);
    if (r >= 0)
        r = map_nodes(x, &doc.tree, &a, &index, err);
    for (size_t i = 0; r >= 0 && i < doc.n_checkpoints; i++) {
        const struct wm_checkpoint *cp = &doc.checkpoints[i];
        struct wb_time time;
        if (index[cp->node] == UINT32_MAX)
            continue;
        uint32_t before = take_length(&lengths, x->look->nodes[index[cp->node]].messages);
        r = add_checkpoint(x,
                           (struct wa_summary_checkpoint){
                               .id = wb_arena_dup(x->to, cp->id),
                               .time_ms = wb_time_parse(cp->time, &time, NULL) < 0 ? 0 : wb_time_ms(&time),
                               .step = cp->step,
                               .node = index[cp->node],
                               .messages = before + (uint32_t)cp->n_messages,
                               .imported = true,
                           },
                           err);
    }
    return r;
}

static int by_order(const void *a, const void *b)
{
    const struct wa_summary_checkpoint *x = *(struct wa_summary_checkpoint *const *)a,
                                       *y = *(struct wa_summary_checkpoint *const *)b;
    if (x->imported != y->imported)
        return x->imported ? -1 : 1;
    if (x->time_ms != y->time_ms && !x->imported)
        return x->time_ms < y->time_ms ? -1 : 1;
    return x < y ? -1 : x > y; /* in reading order */
}

/* Distributes the checkpoints to their nodes, and sorts the list of all. */
static int assign_checkpoints(struct looking *x, struct upp_err *err)
{
    struct wa_tree_summary *l = x->look;
    l->n_checkpoints = x->checkpoints.n;
    l->checkpoints = wb_new_n(x->to, struct wa_summary_checkpoint *, l->n_checkpoints);
    struct wa_summary_checkpoint *all = wb_new_n(x->to, struct wa_summary_checkpoint, l->n_checkpoints);
    if (!l->checkpoints || !all)
        return wb_arena_check(x->to, err);
    for (size_t i = 0; i < l->n_checkpoints; i++)
        l->nodes[x->checkpoints.p[i].node].n_checkpoints++;
    for (size_t i = 0, first = 0; i < l->n; i++) {
        l->nodes[i].checkpoints = all + first;
        first += l->nodes[i].n_checkpoints;
        l->nodes[i].n_checkpoints = 0;
    }
    for (size_t i = 0; i < l->n_checkpoints; i++) {
        struct wa_summary_node *n = &l->nodes[x->checkpoints.p[i].node];
        n->checkpoints[n->n_checkpoints] = x->checkpoints.p[i];
        l->checkpoints[i] = &n->checkpoints[n->n_checkpoints++];
    }
    if (l->n_checkpoints)
        qsort(l->checkpoints, l->n_checkpoints, sizeof *l->checkpoints, by_order);
    return 0;
}

/* ---- The whole tree ------------------------------------------------------------------------------------------ */

/* Fills in the nodes, their parents and their children. */
static int link_nodes(struct looking *x, struct upp_err *err)
{
    struct wa_tree_summary *l = x->look;
    l->nodes = wb_new_n(x->to, struct wa_summary_node, l->n);
    if (!l->nodes)
        return wb_arena_check(x->to, err);
    for (size_t i = 0; i < l->n; i++) {
        l->nodes[i].node = x->nodes[i].node;
        l->nodes[i].parent = x->nodes[i].parent;
        if (x->nodes[i].parent == UINT32_MAX)
            l->root = (uint32_t)i;
        else
            l->nodes[x->nodes[i].parent].n_children++;
        if (x->nodes[i].node.key == x->thread->head)
            l->current = (uint32_t)i;
    }
    for (size_t i = 0; i < l->n; i++) {
        l->nodes[i].children = wb_new_n(x->to, uint32_t, l->nodes[i].n_children);
        l->nodes[i].n_children = 0;
    }
    int r = wb_arena_check(x->to, err);
    for (size_t i = 0; r >= 0 && i < l->n; i++)
        if (l->nodes[i].parent != UINT32_MAX) {
            struct wa_summary_node *parent = &l->nodes[l->nodes[i].parent];
            parent->children[parent->n_children++] = (uint32_t)i;
        }
    return r;
}

int wa_tree_summarise(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t, struct wb_arena *a,
                      struct wa_tree_summary *ret, struct upp_err *err)
{
    struct wa_tree_summary l = {.put_back = t->at != 0};
    WB_CLEANUP(looking_done)
    struct looking x = {.store = s, .owner = o, .thread = t, .to = a, .scratch = WB_ARENA(1u << 30), .look = &l};
    int r = wa_tree_nodes(s, o, t->tree, a, &x.nodes, &l.n, err);
    if (r >= 0)
        r = link_nodes(&x, err);
    if (r >= 0)
        r = list_threads(&x, err);
    for (size_t i = 0; r >= 0 && i < l.n; i++)
        r = look_at(&x, i, err);
    if (r >= 0)
        r = read_imported(&x, err);
    if (r >= 0)
        r = assign_checkpoints(&x, err);
    if (r >= 0)
        r = wb_arena_check(a, err);
    if (r >= 0)
        *ret = l;
    return r;
}
