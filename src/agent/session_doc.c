/* agent/session_doc.c — a session out of the log, as a document.
 *
 * A checkpoint is a place in the log. Its messages are those of its run on its node, so that the lists of all
 * checkpoints are pieces of the node's one list; its state stands in the row with which its step ended.
 *
 * Checkpoints that came with a document are kept as they came, under the thread's id (session_put.c).
 */
#include "agent/session_doc.h"

#include <stdlib.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/iso8601.h"
#include "base/vec.h"
#include "json/read.h"
#include "json/value.h"

enum { SUBS = 4096 };

struct reading {
    struct wl_store          *store;
    const struct wl_owner    *owner;
    const struct wl_thread   *thread;
    const struct wa_doc_opts *opts;
    struct wb_arena          *to;
    struct wb_arena           scratch;
    struct wa_doc_node       *nodes;
    size_t                    n_nodes;
    WB_VEC(struct wm_checkpoint) checkpoints;
    WB_VEC(struct wm_sub_session) subs; /* of the run that is read */
    struct wm_run run;                  /* whose rows are read; its id is all zero: of none */
    bool          ended;                /* and it completed */
    size_t        first;                /* of its checkpoints */
    size_t        imported;             /* checkpoints that came with a document */
};

static void reading_done(struct reading *x)
{
    wb_arena_done(&x->scratch);
    wb_vec_done(&x->checkpoints);
    wb_vec_done(&x->subs);
}

static struct upp_str time_text(struct wb_arena *a, int64_t ms)
{
    char           text[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(ms);
    return wb_arena_dup(a, wb_time_upp(&t, text));
}

static struct upp_str uuid_text(struct wb_arena *a, struct wb_uuid id)
{
    char text[WB_UUID_TEXT + 1];
    return wb_arena_dup(a, wb_uuid_text(id, text));
}

/* ---- What an import said of a node ----------------------------------------------------------------------- */

/* A member of the node's origin, or no text. */
static struct upp_str origin(struct reading *x, const struct wl_node *node, const char *name)
{
    yyjson_val *v;
    if (!node->origin.p || wj_read(&x->scratch, node->origin, NULL, &v, NULL) < 0)
        return (struct upp_str){0};
    yyjson_val *m = yyjson_obj_get(v, name);
    return yyjson_is_str(m) ? wb_arena_dup(x->to, wj_text(m)) : (struct upp_str){0};
}

static struct upp_str or_else(struct upp_str given, struct upp_str otherwise)
{
    return given.p ? given : otherwise;
}

static struct upp_str node_id(struct reading *x, const struct wl_node *node)
{
    struct upp_str given = origin(x, node, "id");
    return given.p ? given : uuid_text(x->to, node->id);
}

/* ---- The tree -------------------------------------------------------------------------------------------- */

static int add_children(struct reading *x, struct wm_tree_doc *t, struct upp_err *err)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->nodes[i].parent != UINT32_MAX)
            t->nodes[t->nodes[i].parent].n_children++;
    for (size_t i = 0; i < t->n; i++) {
        t->nodes[i].children   = wb_new_n(x->to, uint32_t, t->nodes[i].n_children);
        t->nodes[i].n_children = 0;
    }
    int r = wb_arena_check(x->to, err);
    for (size_t i = 0; r >= 0 && i < t->n; i++)
        if (t->nodes[i].parent != UINT32_MAX) {
            struct wm_tree_node *parent            = &t->nodes[t->nodes[i].parent];
            parent->children[parent->n_children++] = (uint32_t)i;
        }
    return r;
}

static void describe(struct reading *x, const struct wa_doc_node *from, struct wm_tree_node *to)
{
    const struct wl_node *n       = &from->node;
    int64_t               updated = n->created_ms;
    for (size_t i = 0; i < from->n_messages; i++)
        updated = WB_MAX(updated, from->messages[i].time_ms);
    *to = (struct wm_tree_node){
        .id       = node_id(x, n),
        .name     = n->name,
        .parent   = from->parent,
        .branch   = WM_ALL_MESSAGES,
        .metadata = n->metadata,
        .untimed  = origin(x, n, "untimed").p != NULL,
        .thread   = {.id       = or_else(origin(x, n, "thread"), uuid_text(x->to, n->id)),
                     .created  = or_else(origin(x, n, "created"), time_text(x->to, n->created_ms)),
                     .updated  = or_else(origin(x, n, "updated"), time_text(x->to, updated)),
                     .messages = from->messages,
                     .n        = from->n_messages},
    };
    if (from->parent != UINT32_MAX)
        to->branch = (uint32_t)wa_messages_before(&x->nodes[from->parent], n->parent_length);
    wb_arena_reset(&x->scratch);
}

static WEFT_SUSPENDS int read_tree(struct reading *x, struct wm_tree_doc *ret, struct upp_err *err)
{
    int r = wa_tree_nodes(x->store, x->owner, x->thread->tree, x->to, &x->nodes, &x->n_nodes, err);
    if (r < 0)
        return r;
    *ret = (struct wm_tree_doc){.nodes = wb_new_n(x->to, struct wm_tree_node, x->n_nodes), .n = x->n_nodes};
    if (!ret->nodes)
        return wb_arena_check(x->to, err);
    for (size_t i = 0; r >= 0 && i < x->n_nodes; i++)
        r = wa_node_read(x->store, x->owner, &x->nodes[i], x->to, err);
    for (size_t i = 0; r >= 0 && i < x->n_nodes; i++) {
        describe(x, &x->nodes[i], &ret->nodes[i]);
        if (!x->nodes[i].node.parent)
            ret->root = (uint32_t)i;
        if (x->nodes[i].node.key == x->thread->head)
            ret->current = (uint32_t)i;
    }
    return r < 0 ? r : add_children(x, ret, err);
}

int wa_tree_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t, struct wb_arena *a,
                struct wm_tree_doc *ret, struct wa_doc_node **nodes, struct upp_err *err)
{
    WB_CLEANUP(reading_done)
    struct reading x = {.store = s, .owner = o, .thread = t, .to = a, .scratch = WB_ARENA(1u << 20)};
    int            r = read_tree(&x, ret, err);
    *nodes           = x.nodes;
    return r;
}

/* ---- Checkpoints ----------------------------------------------------------------------------------------- */

/* Of a turn that has ended the last one alone, where that is wanted. */
static void leave_run(struct reading *x)
{
    if (x->opts->every_turn && x->checkpoints.n > x->first) {
        if (x->ended)
            x->checkpoints.p[x->first++] = x->checkpoints.p[x->checkpoints.n - 1];
        x->checkpoints.n = x->first;
    }
    x->first  = x->checkpoints.n;
    x->ended  = false;
    x->subs.n = 0;
    x->run    = (struct wm_run){0};
}

/* One that is gone (its thread was deleted, and others share what it said) began with its first row. */
static WEFT_SUSPENDS int enter_run(struct reading *x, const struct wl_row *stored, struct upp_err *err)
{
    const struct wb_uuid id = stored->run;
    if (wb_uuid_eq(id, x->run.id))
        return 0;
    leave_run(x);
    if (wb_uuid_eq(id, (struct wb_uuid){{0}}))
        return 0;
    int r = x->store->ops->run(x->store, x->owner, id, x->to, &x->run, err);
    if (r == -UPP_ENOTFOUND)
        x->run = (struct wm_run){.id = id, .input = wl_pos_index(stored->pos)};
    return r == -UPP_ENOTFOUND ? 0 : r;
}

/* The session of an agent that was asked by a call: its own thread, with where it stands. */
static WEFT_SUSPENDS int add_sub(struct reading *x, const struct wm_event *ev, struct upp_err *err)
{
    struct wm_run      run;
    struct wl_thread   thread;
    struct wl_store   *s    = x->store;
    struct wa_doc_opts opts = *x->opts;
    opts.latest_only        = true;
    opts.every_turn = opts.no_checkpoints = false;
    opts.nested++;
    opts.agent_id = (struct upp_str){0};
    if (opts.nested > WM_SESSION_NESTED)
        return 0;
    int r = s->ops->run(s, x->owner, ev->child, x->to, &run, err);
    if (r == -UPP_ENOTFOUND)
        return 0; /* announced, and not made yet */
    if (r >= 0)
        r = s->ops->thread(s, x->owner, run.thread, x->to, &thread, err);
    struct wm_session *sub = wb_new(x->to, struct wm_session);
    if (r >= 0)
        r = wb_arena_check(x->to, err);
    if (r >= 0)
        r = wa_session_doc(s, x->owner, &thread, &opts, x->to, sub, err);
    if (r < 0)
        return r;
    struct wm_sub_session item = {.call = wb_arena_dup(x->to, ev->call), .session = sub};
    return wb_vec_push(&x->subs, item, SUBS) ? wb_arena_check(x->to, err)
                                             : upp_fail(err, UPP_ELIMIT, "more than %d agents below a run", SUBS);
}

/* A JSON value as it stands in the state of a run; no text: absent. */
static int value_of(struct reading *x, yyjson_val *state, const char *name, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *v = yyjson_obj_get(state, name);
    *ret          = (struct upp_str){0};
    if (!v)
        return 0;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(16u << 20);
    int                                   r = wj_write(v, &b, err);
    if (r >= 0)
        *ret = wb_arena_dup(x->to, wb_buf_str(&b));
    return r < 0 ? r : wb_arena_check(x->to, err);
}

static int read_state(struct reading *x, struct upp_str json, struct wm_checkpoint *ret, struct upp_err *err)
{
    yyjson_val *state;
    if (!json.p)
        return 0;
    int r = wj_read(&x->scratch, json, NULL, &state, err);
    if (r >= 0)
        r = value_of(x, state, "metadata", &ret->state_metadata, err);
    if (r >= 0)
        r = value_of(x, state, "plan", &ret->plan, err);
    return r < 0 ? r : value_of(x, state, "own", &ret->own, err);
}

/* What its run thought before this place. */
static int read_reasoning(struct reading *x, const struct wa_doc_node *node, uint32_t length, struct wm_checkpoint *ret,
                          struct upp_err *err)
{
    ret->reasoning = wb_new_n(x->to, struct upp_str, node->n_thoughts);
    if (!ret->reasoning)
        return wb_arena_check(x->to, err);
    for (size_t i = 0; i < node->n_thoughts; i++)
        if (node->thoughts[i].index < length && wb_uuid_eq(node->thoughts[i].run, x->run.id))
            ret->reasoning[ret->n_reasoning++] = node->thoughts[i].text;
    ret->has_reasoning = ret->n_reasoning > 0;
    return 0;
}

static int add_checkpoint(struct reading *x, size_t at, const struct wl_row *stored, const struct wm_row *row,
                          const struct wm_event *ev, struct upp_err *err)
{
    const struct wa_doc_node *node   = &x->nodes[at];
    uint32_t                  length = wl_pos_index(stored->pos) + stored->n_entries;
    struct wb_uuid            id     = ev->id;
    if (wb_uuid_eq(id, (struct wb_uuid){{0}}))
        id = wm_place_uuid((struct wm_place){node->node.key, length, (uint16_t)ev->step});
    size_t               from = wa_messages_before(node, x->run.input), to = wa_messages_before(node, length);
    struct wm_checkpoint cp = {
        .id         = uuid_text(x->to, id),
        .time       = time_text(x->to, row->time_ms),
        .step       = ev->step,
        .node       = (uint32_t)at,
        .length     = (uint32_t)from,
        .state_step = ev->step,
        .messages   = node->messages + from,
        .n_messages = to - WB_MIN(from, to),
        .subs       = wb_new_n(x->to, struct wm_sub_session, x->subs.n),
        .n_subs     = x->subs.n,
    };
    int r = wb_arena_check(x->to, err);
    if (r >= 0 && x->subs.n)
        memcpy(cp.subs, x->subs.p, x->subs.n * sizeof *cp.subs);
    if (r >= 0)
        r = read_state(x, row->state, &cp, err);
    if (r >= 0)
        r = read_reasoning(x, node, length, &cp, err);
    if (r < 0)
        return r;
    if (x->opts->latest_only)
        x->checkpoints.n = x->imported = x->first = 0;
    return wb_vec_push(&x->checkpoints, cp, WM_SESSION_CHECKPOINTS)
               ? 0
               : upp_fail(err, UPP_ELIMIT, "more than %d checkpoints", WM_SESSION_CHECKPOINTS);
}

static WEFT_SUSPENDS int read_row(struct reading *x, size_t at, const struct wl_row *stored, struct upp_err *err)
{
    struct wm_row row;
    int           r = wm_row_read(&x->scratch, stored->format, stored->body, stored->tape, &row, err);
    if (r >= 0)
        r = enter_run(x, stored, err);
    for (size_t i = 0; r >= 0 && i < row.n_records; i++) {
        const struct wm_event *ev = &row.records[i];
        if (ev->kind == WM_TOOL_STARTED && ev->child_node && !wm_is_branch(ev))
            r = add_sub(x, ev, err);
        else if (ev->kind == WM_CHECKPOINT)
            r = add_checkpoint(x, at, stored, &row, ev, err);
        else if (ev->kind == WM_RUN)
            x->ended |= ev->status == WM_COMPLETED;
    }
    return r;
}

static WEFT_SUSPENDS int read_rows(struct reading *x, size_t at, struct upp_err *err)
{
    struct wl_rows rows = {.more = true};
    for (uint64_t from = 0; rows.more;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena page = WB_ARENA(1u << 30);
        struct wl_range range = {.node = x->nodes[at].node.key, .from = from, .to = UINT64_MAX >> 1};
        int             r     = x->store->ops->rows(x->store, x->owner, &range, &page, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            from = rows.p[i].pos + 1;
            wb_arena_reset(&x->scratch);
            r = read_row(x, at, &rows.p[i], err);
        }
        if (r < 0)
            return r;
    }
    leave_run(x);
    return 0;
}

static int take_length(struct upp_str *line, uint32_t *ret, struct upp_err *err)
{
    const char *end = line->n ? memchr(line->p, ' ', line->n) : NULL;
    uint64_t    value;
    if (!end || !wb_str_u64(wb_str(line->p, (size_t)(end - line->p)), &value) || value > UINT32_MAX)
        return upp_fail(err, UPP_ESTORE, "the checkpoints of an imported session have no lengths");
    *ret  = (uint32_t)value;
    *line = wb_str_sub(*line, (size_t)(end - line->p) + 1, SIZE_MAX);
    return 0;
}

/* Those that came with the document of which the thread was made: they come first. */
static WEFT_SUSPENDS int read_imported(struct reading *x, const struct wm_tree_doc *tree, struct upp_err *err)
{
    char              name[WB_UUID_TEXT + 1];
    struct upp_str    json;
    struct wm_session doc;
    int               r = x->store->ops->value(x->store, x->owner,
                                               UPP_STR(WA_IMPORTED), wb_uuid_text(x->thread->id, name), x->to, &json, err);
    if (r == -UPP_ENOTFOUND)
        return 0;
    if (r < 0)
        return r;
    const char    *line    = memchr(json.p, '\n', json.n);
    size_t         n       = line ? (size_t)(line - json.p) : 0;
    struct upp_str lengths = wb_str(json.p, n);
    r                      = wm_session_read(x->to, wb_str_sub(json, n, SIZE_MAX), &doc, err);
    for (size_t i = 0; r >= 0 && i < doc.n_checkpoints; i++) {
        struct wm_checkpoint cp = doc.checkpoints[i];
        r                       = take_length(&lengths, &cp.length, err);
        struct upp_str id       = doc.tree.nodes[cp.node].id;
        for (cp.node = 0; cp.node < tree->n && !wb_str_eq(tree->nodes[cp.node].id, id);)
            cp.node++;
        if (r >= 0 && cp.node < tree->n && !wb_vec_push(&x->checkpoints, cp, WM_SESSION_CHECKPOINTS))
            r = upp_fail(err, UPP_ELIMIT, "more than %d checkpoints", WM_SESSION_CHECKPOINTS);
    }
    x->first = x->imported = x->checkpoints.n;
    return r;
}

/* In the order in which they were made; the times of ours are of one spelling. */
static int by_time(const void *a, const void *b)
{
    const struct wm_checkpoint *x = a, *y = b;
    int                         c = memcmp(x->time.p, y->time.p, WB_MIN(x->time.n, y->time.n));
    if (c || x->node == y->node)
        return c ? c : x->step < y->step ? -1 : x->step > y->step;
    return x->node < y->node ? -1 : 1;
}

static WEFT_SUSPENDS int read_checkpoints(struct reading *x, struct wm_session *ret, struct upp_err *err)
{
    int r = read_imported(x, &ret->tree, err);
    for (size_t i = 0; r >= 0 && i < x->n_nodes; i++)
        r = read_rows(x, i, err);
    if (r < 0)
        return r;
    ret->n_checkpoints = x->checkpoints.n;
    ret->checkpoints   = wb_new_n(x->to, struct wm_checkpoint, x->checkpoints.n);
    if (!ret->checkpoints)
        return wb_arena_check(x->to, err);
    if (x->checkpoints.n)
        memcpy(ret->checkpoints, x->checkpoints.p, x->checkpoints.n * sizeof *ret->checkpoints);
    if (x->checkpoints.n > x->imported)
        qsort(ret->checkpoints + x->imported, x->checkpoints.n - x->imported, sizeof *ret->checkpoints, by_time);
    return 0;
}

/* ---- The session ----------------------------------------------------------------------------------------- */

/* The agent that answered last, where nobody says. */
static WEFT_SUSPENDS int find_agent(struct reading *x, struct upp_str *ret, struct upp_err *err)
{
    struct wm_run *runs;
    size_t         n;
    *ret = x->opts->agent_id;
    if (ret->p)
        return 0;
    *ret = origin(x, &x->nodes[0].node, "agent");
    if (ret->p)
        return 0;
    int r = x->store->ops->runs(x->store, x->owner, x->thread->id, false, 1, x->to, &runs, &n, err);
    if (r < 0)
        return r;
    if (n && x->opts->id_of)
        *ret = x->opts->id_of(x->opts->arg, runs[0].agent);
    if (!ret->p)
        *ret = n ? runs[0].agent : UPP_STR("");
    return 0;
}

int wa_session_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                   const struct wa_doc_opts *opts, struct wb_arena *a, struct wm_session *ret, struct upp_err *err)
{
    static const struct wa_doc_opts plain;
    WB_CLEANUP(reading_done)
    struct reading x = {
        .store = s, .owner = o, .thread = t, .opts = opts ? opts : &plain, .to = a, .scratch = WB_ARENA(1u << 30)};
    struct wm_session doc = {.metadata = t->metadata};
    int               r   = read_tree(&x, &doc.tree, err);
    if (r >= 0 && !x.opts->no_checkpoints)
        r = read_checkpoints(&x, &doc, err);
    if (r >= 0)
        r = find_agent(&x, &doc.agent_id, err);
    if (r < 0)
        return r;
    const struct wl_node *root = &x.nodes[doc.tree.root].node;
    doc.id                     = or_else(origin(&x, root, "session"), uuid_text(a, t->id));
    doc.created                = or_else(origin(&x, root, "began"), time_text(a, t->created_ms));
    doc.updated                = time_text(a, t->updated_ms);
    *ret                       = doc;
    return wb_arena_check(a, err);
}
