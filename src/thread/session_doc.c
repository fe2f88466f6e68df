/* thread/session_doc.c — reads a session from the log as a document.
 *
 * A later read continues at each node from the first row of a run that has not ended, otherwise after its last row.
 * What precedes that never changes, unless an entry is erased: then everything is read again.
 */

#include "thread/session_extras.h"
#include "thread/repair.h"

#include "base/defs.h"
#include "base/hooks.h"
#include "base/iso8601.h"
#include "base/vec.h"
#include "json/read.h"
#include "json/value.h"

static void reading_done(struct wa_reading *x)
{
    for (size_t i = 0; i < x->progress.n; i++)
        wb_vec_done(&x->progress.p[i].checkpoints);
    wb_vec_done(&x->progress);
    wb_vec_done(&x->subs);
    wb_arena_done(&x->scratch);
}

struct upp_str wa_time_text(struct wb_arena *a, int64_t ms)
{
    char text[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(ms);
    return wb_arena_dup(a, wb_time_upp(&t, text));
}

struct upp_str wa_uuid_text(struct wb_arena *a, struct wb_uuid id)
{
    char text[WB_UUID_TEXT + 1];
    return wb_arena_dup(a, wb_uuid_text(id, text));
}

/* ---- Imported ids and times ------------------------------------------------------------------------------- */

/* A member of the node's origin; empty: absent. */
static struct upp_str origin(struct wa_reading *x, const struct wl_node *node, const char *name)
{
    yyjson_val *v;
    if (!node->origin.p || wj_read(&x->scratch, node->origin, NULL, &v, NULL) < 0)
        return (struct upp_str){0};
    yyjson_val *m = yyjson_obj_get(v, name);
    return yyjson_is_str(m) ? wb_arena_dup(x->to, wj_text(m)) : (struct upp_str){0};
}

static struct upp_str first_of(struct upp_str given, struct upp_str otherwise)
{
    return given.p ? given : otherwise;
}

static struct upp_str node_id(struct wa_reading *x, const struct wl_node *node)
{
    struct upp_str given = origin(x, node, "id");
    return given.p ? given : wa_uuid_text(x->to, node->id);
}

/* ---- The tree -------------------------------------------------------------------------------------------- */

static int add_children(struct wa_reading *x, struct wm_tree_doc *t, struct upp_err *err)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->nodes[i].parent != UINT32_MAX)
            t->nodes[t->nodes[i].parent].n_children++;
    for (size_t i = 0; i < t->n; i++) {
        t->nodes[i].children = wb_new_n(x->to, uint32_t, t->nodes[i].n_children);
        t->nodes[i].n_children = 0;
    }
    int r = wb_arena_check(x->to, err);
    for (size_t i = 0; r >= 0 && i < t->n; i++)
        if (t->nodes[i].parent != UINT32_MAX) {
            struct wm_tree_node *parent = &t->nodes[t->nodes[i].parent];
            parent->children[parent->n_children++] = (uint32_t)i;
        }
    return r;
}

/* Describes the branch point. By default a branch sees all events after the last message that it sees; branch_events is
 * set only if it sees fewer. */
static void describe_branch(const struct wa_doc_node *parent, uint32_t length, struct wm_tree_node *to)
{
    size_t n = wa_messages_before(parent, length);
    uint32_t from = n ? parent->entry_of[n - 1] + 1 : 0;
    uint32_t next = n < parent->n_messages ? parent->entry_of[n] : UINT32_MAX;
    size_t sees = wa_events_between(parent, from, length);
    to->branch = (uint32_t)n;
    if (sees < wa_events_between(parent, from, next))
        to->branch_events = (uint32_t)sees;
}

static void describe(struct wa_reading *x, const struct wa_doc_node *from, struct wm_tree_node *to)
{
    const struct wl_node *n = &from->node;
    int64_t updated = n->created_ms;
    for (size_t i = 0; i < from->n_messages; i++)
        updated = WB_MAX(updated, from->messages[i].time_ms);
    *to = (struct wm_tree_node){
        .id = node_id(x, n),
        .name = n->name,
        .parent = from->parent,
        .branch = WM_ALL_MESSAGES,
        .metadata = n->metadata,
        .untimed = origin(x, n, "untimed").p != NULL,
        .thread = {.id = first_of(origin(x, n, "thread"), wa_uuid_text(x->to, n->id)),
                   .created = first_of(origin(x, n, "created"), wa_time_text(x->to, n->created_ms)),
                   .updated = first_of(origin(x, n, "updated"), wa_time_text(x->to, updated)),
                   .messages = from->messages,
                   .n = from->n_messages},
    };
    to->branch_events = WM_ALL_MESSAGES;
    if (from->parent != UINT32_MAX)
        describe_branch(&x->nodes[from->parent], n->parent_length, to);
    wb_arena_reset(&x->scratch);
}

/* Grows a list in the arena. */
static bool make_room(struct wb_arena *a, void **list, size_t n, size_t item, size_t *room, size_t more)
{
    if (n + more <= *room)
        return true;
    size_t want = WB_MAX(n + more, 2 * *room);
    void *p = wb_arena_zero(a, want * item, _Alignof(max_align_t));
    if (p && n)
        memcpy(p, *list, n * item);
    *list = p;
    *room = want;
    return p != NULL;
}

static int append(struct wa_reading *x, struct wa_doc_node *node, struct wa_progress *p, const struct wa_doc_node *more,
                  struct upp_err *err)
{
    size_t message_room = p->message_room;
    if (!make_room(x->to, (void **)(void *)&node->messages, node->n_messages, sizeof *node->messages, &message_room,
                   more->n_messages) ||
        !make_room(x->to, (void **)(void *)&node->entry_of, node->n_messages, sizeof *node->entry_of, &p->message_room,
                   more->n_messages) ||
        !make_room(x->to, (void **)(void *)&node->thoughts, node->n_thoughts, sizeof *node->thoughts, &p->thought_room,
                   more->n_thoughts))
        return wb_arena_check(x->to, err);
    for (size_t i = 0; i < more->n_messages; i++) {
        node->messages[node->n_messages + i] = more->messages[i];
        node->entry_of[node->n_messages + i] = more->entry_of[i];
    }
    for (size_t i = 0; i < more->n_thoughts; i++)
        node->thoughts[node->n_thoughts + i] = more->thoughts[i];
    node->n_messages += more->n_messages;
    node->n_thoughts += more->n_thoughts;
    node->length = more->length;
    return 0;
}

/* Drops the messages from there on: they are read again. */
static void cut(struct wa_doc_node *node, uint32_t length)
{
    if (length >= node->length)
        return;
    node->n_messages = wa_messages_before(node, length);
    while (node->n_thoughts && node->thoughts[node->n_thoughts - 1].index >= length)
        node->n_thoughts--;
    node->length = length;
}

static WEFT_SUSPENDS int read_node(struct wa_reading *x, size_t at, struct upp_err *err)
{
    struct wa_doc_node *node = &x->nodes[at];
    struct wa_progress *p = &x->progress.p[at];
    cut(node, wl_pos_index(p->from));
    struct wa_doc_node more = {.node = node->node, .length = node->length, .known = x->opts};
    for (size_t i = 0; i < node->n_messages; i++)
        if (node->messages[i].role == UPP_ROLE_ASSISTANT)
            more.caller = &node->messages[i];
    int r = wa_node_read(x->store, x->owner, &more, x->to, err);
    if (r < 0)
        return r;
    x->stale |= more.has_events && p->from; /* one of them may erase a message */
    if (node->length)
        return append(x, node, p, &more, err);
    more.parent = node->parent;
    *node = more; /* the whole node, without a copy */
    p->message_room = more.n_messages;
    p->thought_room = more.n_thoughts;
    return 0;
}

/* Known nodes keep their order; new ones come after them. */
static WEFT_SUSPENDS int read_nodes(struct wa_reading *x, struct upp_err *err)
{
    struct wa_doc_node *nodes;
    size_t n;
    int r = wa_tree_nodes(x->store, x->owner, x->thread->tree, x->to, &nodes, &n, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < x->progress.n; i++) {
        if (i >= n || nodes[i].node.key != x->progress.p[i].key) {
            x->stale = true;
            return 0;
        }
        struct wa_doc_node known = x->nodes[i];
        known.node = nodes[i].node;
        known.parent = nodes[i].parent;
        nodes[i] = known;
    }
    x->nodes = nodes;
    x->n_nodes = n;
    for (size_t i = x->progress.n; i < n; i++)
        if (!wb_vec_push(&x->progress, ((struct wa_progress){.key = nodes[i].node.key}), WM_SESSION_NODES))
            return upp_fail(err, UPP_ENOMEM, "no memory to read a session");
    for (size_t i = 0; r >= 0 && !x->stale && i < n; i++)
        r = read_node(x, i, err);
    return r;
}

static WEFT_SUSPENDS int read_tree(struct wa_reading *x, struct wm_tree_doc *ret, struct upp_err *err)
{
    int r = read_nodes(x, err);
    if (r < 0 || x->stale)
        return r;
    *ret = (struct wm_tree_doc){.nodes = wb_new_n(x->to, struct wm_tree_node, x->n_nodes), .n = x->n_nodes};
    if (!ret->nodes)
        return wb_arena_check(x->to, err);
    for (size_t i = 0; i < x->n_nodes; i++) {
        struct wa_doc_node *node = &x->nodes[i];
        describe(x, node, &ret->nodes[i]);
        if (node->node.parent)
            r = wa_extras_events(x->to, x->opts, node->before, node->n_before, &ret->nodes[i].metadata, err);
        else
            ret->root = (uint32_t)i;
        if (r < 0)
            return r;
        if (x->nodes[i].node.key == x->thread->head)
            ret->current = (uint32_t)i;
    }
    return add_children(x, ret, err);
}

int wa_tree_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t, struct wb_arena *a,
                struct wm_tree_doc *ret, struct wa_doc_node **nodes, struct upp_err *err)
{
    WB_CLEANUP(reading_done)
    struct wa_reading x = {.store = s, .owner = o, .thread = t, .to = a, .scratch = WB_ARENA(1u << 20)};
    int r = read_tree(&x, ret, err);
    *nodes = x.nodes;
    return r;
}

/* ---- The session ----------------------------------------------------------------------------------------- */

/* The agent of the options or of the import, otherwise that of the last run. */
static WEFT_SUSPENDS int find_agent(struct wa_reading *x, struct upp_str *ret, struct upp_err *err)
{
    struct wm_run *runs;
    size_t n;
    *ret = x->opts->agent_id;
    if (ret->p)
        return 0;
    *ret = origin(x, &x->nodes[0].node, "agent");
    if (ret->p)
        return 0;
    int r = wl_list_runs(x->store, x->owner, x->thread->id, false, 1, x->to, &runs, &n, err);
    if (r < 0)
        return r;
    if (n && x->opts->id_of)
        *ret = x->opts->id_of(x->opts->arg, runs[0].agent);
    if (ret->p) /* the configuration may be replaced while the rest is read */
        *ret = wb_arena_dup(x->to, *ret);
    if (!ret->p)
        *ret = n ? runs[0].agent : UPP_STR("");
    return 0;
}

/* Appends the results that a waiting run already has: they follow the messages that were read, but are not part of the
 * cache. */
static WEFT_SUSPENDS int add_waiting_results(struct wa_reading *x, struct wm_tree_doc *tree, struct upp_err *err)
{
    const struct wa_doc_node *head = &x->nodes[tree->current];
    struct wm_thread_json *t = &tree->nodes[tree->current].thread;
    struct upp_message m;
    struct wb_uuid run;
    int r = x->thread->at ? 0 : wl_thread_busy(x->store, x->thread, &head->node, &run, err);
    if (r < 0 || x->thread->at || wb_uuid_is_nil(run))
        return r;
    r = wa_results_waiting(x->store, x->owner, head->node.key, head->length, x->to, &m, err);
    if (r <= 0)
        return r;
    struct upp_message *list = wb_new_n(x->to, struct upp_message, t->n + 1);
    if (!list)
        return wb_arena_check(x->to, err);
    if (t->n)
        memcpy(list, t->messages, t->n * sizeof *list);
    m.id = wa_uuid_text(
        x->to, wm_id_uuid((struct wm_id){.node = head->node.key, .index = head->length, .noun = WM_NOUN_ENTRY}));
    list[t->n++] = m;
    t->messages = list;
    return 0;
}

static WEFT_SUSPENDS int read_session(struct wa_reading *x, struct wm_session *ret, struct upp_err *err)
{
    const struct wl_thread *t = x->thread;
    struct wm_session doc = {.metadata = wb_arena_dup(x->to, t->metadata)};
    int r = read_tree(x, &doc.tree, err);
    if (r < 0 || x->stale)
        return r;
    if (!x->opts->no_checkpoints)
        r = wa_read_checkpoints(x, &doc, err);
    if (r >= 0)
        r = find_agent(x, &doc.agent_id, err);
    if (r >= 0)
        r = add_waiting_results(x, &doc.tree, err);
    if (r < 0)
        return r;
    const struct wa_doc_node *first = &x->nodes[doc.tree.root];
    const struct wl_node *root = &first->node;
    r = wa_extras_events(x->to, x->opts, first->before, first->n_before, &doc.metadata, err);
    if (r < 0)
        return r;
    doc.id = first_of(origin(x, root, "session"), wa_uuid_text(x->to, t->id));
    doc.created = first_of(origin(x, root, "began"), wa_time_text(x->to, t->created_ms));
    struct upp_str was =
        t->version == 1 && t->created_ms == root->created_ms ? origin(x, root, "changed") : (struct upp_str){0};
    doc.updated = first_of(was, wa_time_text(x->to, t->updated_ms)); /* unchanged since the import */
    *ret = doc;
    return wb_arena_check(x->to, err);
}

static const struct wa_doc_opts default_opts;

int wa_session_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                   const struct wa_doc_opts *opts, struct wb_arena *a, struct wm_session *ret, struct upp_err *err)
{
    WB_CLEANUP(reading_done)
    struct wa_reading x = {.store = s,
                           .owner = o,
                           .thread = t,
                           .opts = opts ? opts : &default_opts,
                           .to = a,
                           .scratch = WB_ARENA(1u << 30)};
    return read_session(&x, ret, err);
}

/* ---- Cached reading ---------------------------------------------------------------------------------------- */

enum { WASTE = 64 << 10 }; /* bytes of garbage (grown lists, texts read again) that are tolerated */

struct wa_doc {
    struct wa_reading reading;
    struct wb_arena memory;
    size_t used; /* bytes of it after the last full read */
};

static void reset(struct wa_doc *d)
{
    reading_done(&d->reading);
    wb_arena_done(&d->memory);
    d->reading = (struct wa_reading){.to = &d->memory, .scratch = WB_ARENA(1u << 30)};
    d->used = 0;
}

struct wa_doc *wa_doc_new(void)
{
    struct wa_doc *d = wb_calloc(1, sizeof *d);
    if (d) {
        d->memory = (struct wb_arena)WB_ARENA(4ull * WM_SESSION_BYTES);
        reset(d);
    }
    return d;
}

void wa_doc_free(struct wa_doc *d)
{
    if (!d)
        return;
    reset(d);
    wb_free(d);
}

static WEFT_SUSPENDS int read_once(struct wa_doc *d, struct wl_store *s, const struct wl_owner *o,
                                   const struct wl_thread *t, const struct wa_doc_opts *opts, struct wm_session *ret,
                                   struct upp_err *err)
{
    struct wa_reading *x = &d->reading;
    x->store = s;
    x->owner = o;
    x->thread = t;
    x->opts = opts ? opts : &default_opts;
    int r = read_session(x, ret, err);
    wb_arena_done(&x->scratch);
    if (r < 0)
        reset(d);
    else if (!d->used)
        d->used = d->memory.used;
    return r;
}

int wa_doc_read(struct wa_doc *d, struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                const struct wa_doc_opts *opts, struct wm_session *ret, struct upp_err *err)
{
    if (d->used && d->memory.used > 2 * d->used + WASTE)
        reset(d);
    int r = read_once(d, s, o, t, opts, ret, err);
    if (r < 0 || !d->reading.stale)
        return r;
    reset(d);
    return read_once(d, s, o, t, opts, ret, err);
}
