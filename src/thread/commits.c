/* thread/commits.c — writes to the log: a document as a new thread, and a program's changes to a tree.
 *
 * Changes that fit go in one commit. A larger write takes several, the thread's row last: until then nothing of it is
 * visible. After a crash, the sweep removes the rest of a new thread like a deleted thread; the rest in an existing
 * thread is dropped (log/staged.h).
 */
#include "thread/commits.h"

#include "base/vec_add.h"
#include "thread/session_extras.h"

#include "base/clock.h"
#include "base/hooks.h"
#include "json/write.h"
#include "log/change.h"

enum {
    ROW_MESSAGES = 256,
    COMMIT_BYTES = 4 << 20,
    NEW_THREAD_MS = 3600000, /* within which a new thread is complete, or never will be */
};

/* ---- Building commits ------------------------------------------------------------------------------------ */

void wa_put_init(struct wa_put *p, struct wl_store *s, const struct wl_owner *o)
{
    *p = (struct wa_put){.store = s, .owner = o, .memory = WB_ARENA(512u << 20), .body = WB_BUF(WM_ROW_MAX)};
}

void wa_put_done(struct wa_put *p)
{
    wb_arena_done(&p->memory);
    wb_buf_done(&p->body);
    wb_vec_done(&p->changes);
    wb_free(p->entries);
}

int wa_put_add(struct wa_put *p, struct wl_change c, struct upp_err *err)
{
    return wb_vec_add(&p->changes, c, WL_CHANGES, "changes in one commit", err);
}

static WEFT_SUSPENDS int commit(struct wa_put *p, struct upp_err *err)
{
    struct wl_commit c = {.owner = *p->owner, .changes = p->changes.p, .n = p->changes.n, .flags = WL_SYNCED};
    int r = wl_store_commit(p->store, &c, err);
    p->conflict = r == -UPP_EBUSY ? c.conflict : SIZE_MAX;
    if (r >= 0) {
        p->changes.n = 0;
        p->bytes = 0;
        wb_arena_reset(&p->memory);
    }
    return r;
}

/* Adds or drops the value that lists the staged nodes. */
static int add_staged(struct wa_put *p, enum wl_change_kind kind, struct upp_err *err)
{
    char name[WB_UUID_TEXT + 1];
    struct wl_value *v = wb_new(&p->memory, struct wl_value);
    if (!v)
        return wb_arena_check(&p->memory, err);
    *v = (struct wl_value){.space = UPP_STR(WL_STAGED),
                           .name = wb_arena_dup(&p->memory, wb_uuid_text(p->thread->id, name))};
    if (kind == WL_PUT_VALUE)
        v->bytes = wl_staged_text(&p->memory, p->staged, p->n_staged);
    int r = wb_arena_check(&p->memory, err);
    return r < 0 ? r : wa_put_add(p, (struct wl_change){.kind = kind, .value = v}, err);
}

/* Adds or drops the deletion note: until it is complete, a new thread counts as deleted, so that the sweep removes its
 * rest. */
static int add_note(struct wa_put *p, enum wl_change_kind kind, struct upp_err *err)
{
    struct wl_value *v = wb_new(&p->memory, struct wl_value);
    int r = v ? wl_deleted_note(p->owner, p->new_thread, wb_wall_ms() + NEW_THREAD_MS, &p->memory, v, err)
              : wb_arena_check(&p->memory, err);
    return r < 0 ? r : wa_put_add(p, (struct wl_change){.kind = kind, .value = v}, err);
}

/* Marks an incomplete write with the first commit, and removes the mark with the last. */
static int add_mark(struct wa_put *p, enum wl_change_kind kind, struct upp_err *err)
{
    return p->thread ? add_staged(p, kind, err) : p->new_thread ? add_note(p, kind, err) : 0;
}

/* Commits the pending changes of a larger write, without moving the thread. The first such commit drops the rest of an
 * earlier, interrupted write. */
static WEFT_SUSPENDS int commit_some(struct wa_put *p, struct upp_err *err)
{
    int r = p->begun || !p->thread ? 0 : wl_staged_clear(p->store, p->owner, p->thread, err);
    if (r >= 0 && !p->begun)
        r = add_mark(p, WL_PUT_VALUE, err);
    if (r >= 0 && p->thread)
        r = wa_put_add(p, (struct wl_change){.kind = WL_SET_THREAD, .thread = p->thread}, err);
    if (r >= 0)
        r = commit(p, err);
    if (r >= 0) {
        p->begun = true;
        if (p->thread)
            p->thread->version++;
    }
    return r;
}

int wa_put_commit(struct wa_put *p, struct upp_err *err)
{
    bool sets = p->thread && (p->moved || p->begun);
    int r = sets ? wa_put_add(p, (struct wl_change){.kind = WL_SET_THREAD, .thread = p->thread}, err) : 0;
    if (r >= 0 && p->begun)
        r = add_mark(p, WL_DROP_VALUE, err);
    if (r < 0 || !p->changes.n)
        return r;
    r = commit(p, err);
    if (r >= 0 && sets)
        p->thread->version++;
    if (r >= 0)
        p->begun = p->moved = false;
    return r;
}

int wa_put_lost_name(const struct wa_put *p, int r)
{
    bool name = r == -UPP_EBUSY && p->conflict < p->changes.n && p->changes.p[p->conflict].kind == WL_ADD_ALIAS;
    return name ? 1 : r;
}

int wa_put_room(struct wa_put *p, size_t changes, size_t bytes, struct upp_err *err)
{
    if (p->whole || !p->changes.n || (p->changes.n + changes <= WA_PUT_CHANGES && p->bytes + bytes <= COMMIT_BYTES))
        return 0;
    int r = commit_some(p, err);
    return r < 0 ? r : 1;
}

size_t wa_put_rows(size_t messages)
{
    return (messages + ROW_MESSAGES - 1) / ROW_MESSAGES;
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

int wa_put_row(struct wa_put *p, uint64_t node, struct wl_end *end, const struct wm_row *row, struct upp_err *err)
{
    if (row->n_entries > UINT32_MAX - end->length)
        return upp_fail(err, UPP_ELIMIT, "a node holds at most %u entries", UINT32_MAX);
    wb_buf_clear(&p->body);
    int r = wm_row_write(row, &p->body, err);
    if (r >= 0)
        r = wa_put_room(p, 1, p->body.n, err);
    struct wl_row *stored = r >= 0 ? wb_new(&p->memory, struct wl_row) : NULL;
    if (!stored)
        return r < 0 ? r : wb_arena_check(&p->memory, err);
    *stored = (struct wl_row){.node = node,
                              .pos = end->pos,
                              .n_entries = (uint32_t)row->n_entries,
                              .format = WM_FORMAT,
                              .body = wb_arena_dup(&p->memory, wb_buf_str(&p->body))};
    r = wb_arena_check(&p->memory, err);
    p->bytes += p->body.n;
    end->pos = wl_pos_next(end->pos, (uint32_t)row->n_entries);
    end->length += (uint32_t)row->n_entries;
    end->time_ms = row->time_ms;
    return r < 0 ? r : wa_put_add(p, (struct wl_change){.kind = WL_ADD_ROW, .row = stored}, err);
}

static int alloc_entries(struct wa_put *p, struct upp_err *err)
{
    if (!p->entries && !(p->entries = wb_calloc(ROW_MESSAGES, sizeof *p->entries)))
        return upp_fail(err, UPP_ENOMEM, "no memory for the entries of a row");
    return 0;
}

/* Writes a row of the first n entries. Entries without a time get `now`. */
static WEFT_SUSPENDS int add_row(struct wa_put *p, uint64_t node, struct wl_end *end, size_t n, int64_t now,
                                 struct upp_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!p->entries[i].message.time_ms && !p->entries[i].message.time_text.p)
            p->entries[i].message.time_ms = now;
    struct wm_row row = {.time_ms = now, .entries = p->entries, .n_entries = n};
    return wa_put_row(p, node, end, &row, err);
}

int wa_put_messages(struct wa_put *p, uint64_t node, struct wl_end *end, const struct upp_message *list, size_t n,
                    struct upp_err *err)
{
    int64_t wall = wb_wall_ms(), now = WB_MAX(wall, end->time_ms);
    int r = alloc_entries(p, err);
    for (size_t at = 0; r >= 0 && at < n;) {
        size_t some = WB_MIN(n - at, (size_t)ROW_MESSAGES);
        for (size_t i = 0; i < some; i++)
            p->entries[i] = (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                                              .origin = WM_ORIGIN_IMPORT,
                                              .audience = WM_AUDIENCE_ALL,
                                              .message = list[at + i]};
        r = add_row(p, node, end, some, now, err);
        at += some;
    }
    return r;
}

/* Collects entries until they fill a row. */
struct collecting {
    struct wa_put *put;
    uint64_t node;
    struct wl_end *end;
    struct wb_arena a; /* of the row */
    size_t n;
    int64_t now;
};

static WEFT_SUSPENDS int end_row(struct collecting *g, struct upp_err *err)
{
    int r = g->n ? add_row(g->put, g->node, g->end, g->n, g->now, err) : 0;
    g->n = 0;
    return r;
}

static WEFT_SUSPENDS int collect(struct collecting *g, const struct wm_entry *list, size_t n, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n; i++) {
        g->put->entries[g->n++] = list[i];
        r = g->n == ROW_MESSAGES ? end_row(g, err) : 0;
    }
    return r;
}

int wa_put_known(struct wa_put *p, uint64_t node, struct wl_end *end, const struct wa_extras *before,
                 const struct upp_message *list, size_t n, struct upp_err *err)
{
    int64_t wall = wb_wall_ms();
    const struct upp_message *caller = NULL;
    struct collecting g = {
        .put = p, .node = node, .end = end, .a = WB_ARENA(1u << 30), .now = WB_MAX(wall, end->time_ms)};
    int r = alloc_entries(p, err);
    if (r >= 0 && before)
        r = collect(&g, before->events, before->n, err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        struct wa_extras k;
        if (!g.n)
            wb_arena_reset(&g.a);
        r = wa_extras_take(&g.a, &list[i], caller, &k, err);
        if (r >= 0 && p->written_as.n && wb_str_eq(k.message.who, p->author))
            k.message.who = p->written_as;
        if (r >= 0)
            r = collect(&g, &k.message, 1, err);
        if (r >= 0)
            r = collect(&g, k.events, k.n, err);
        caller = list[i].role == UPP_ROLE_ASSISTANT ? &list[i] : caller;
    }
    if (r >= 0)
        r = end_row(&g, err);
    wb_arena_done(&g.a);
    return r;
}

/* ---- Nodes ----------------------------------------------------------------------------------------------- */

int wa_put_node(struct wa_put *p, const struct wl_node *node, struct upp_err *err)
{
    int r = wa_put_room(p, 1, node->metadata.n + node->origin.n, err);
    if (r < 0)
        return r;
    struct wl_node *copy = wb_new(&p->memory, struct wl_node);
    if (!copy)
        return wb_arena_check(&p->memory, err);
    *copy = *node;
    copy->name = wb_arena_dup(&p->memory, node->name);
    copy->metadata = wb_arena_dup(&p->memory, node->metadata);
    copy->origin = wb_arena_dup(&p->memory, node->origin);
    r = wb_arena_check(&p->memory, err);
    return r < 0 ? r : wa_put_add(p, (struct wl_change){.kind = WL_ADD_NODE, .node = copy}, err);
}

/* ---- A document ------------------------------------------------------------------------------------------ */

/* The ids and times of the document, which the log has no other field for. */
static int origin_of(const struct wm_session *doc, const struct wm_tree_node *node, struct wb_arena *a,
                     struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct wj_writer w;
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_put_text(&w, "id", node->id);
    wj_put_text(&w, "thread", node->thread.id);
    wj_put_text(&w, "created", node->thread.created);
    wj_put_text(&w, "updated", node->thread.updated);
    if (node->untimed)
        wj_put_text(&w, "untimed", UPP_STR("yes"));
    if (node->parent == UINT32_MAX) {
        wj_put_text(&w, "session", doc->id);
        wj_put_text(&w, "agent", doc->agent_id);
        wj_put_text(&w, "began", doc->created);
        wj_put_text(&w, "changed", doc->updated);
    }
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

struct import {
    const struct wm_session *doc;
    struct upp_str agent;              /* see wa_session_put */
    const struct upp_message *closing; /* after the current node; NULL: none */
    struct wl_new_thread made;
    struct wl_node *nodes;    /* by index in the document */
    struct wa_extras *before; /* the events before the first message of each */
    uint32_t **starts;        /* see find_starts; NULL: not computed yet */
    struct upp_str metadata;  /* of the thread */
    struct wb_arena *memory;
    struct upp_str rest; /* WA_IMPORTED */
    struct wl_value value;
    char name[WB_UUID_TEXT + 1];
};

/* The index of each message among the entries of its node, then the number of entries. Computed once per node. */
static int find_starts(struct import *x, uint32_t node, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    const struct wm_thread_json *t = &x->doc->tree.nodes[node].thread;
    uint32_t at = (uint32_t)x->before[node].n;
    uint32_t *start = wb_new_n(x->memory, uint32_t, t->n + 1);
    int r = wb_arena_check(x->memory, err);
    for (size_t i = 0; r >= 0 && i < t->n; i++) {
        struct upp_str metadata = t->messages[i].metadata;
        struct wa_extras k;
        start[i] = at;
        r = wa_extras_take_events(&a, &metadata, &k, err);
        at += 1 + (uint32_t)k.n;
        wb_arena_reset(&a);
    }
    if (r < 0)
        return r;
    start[t->n] = at;
    x->starts[node] = start;
    return 0;
}

/* The number of entries of its parent that a branch sees. */
static int seen_length(struct import *x, const struct wm_tree_node *branch, uint32_t *ret, struct upp_err *err)
{
    size_t n = WB_MIN((size_t)branch->branch, x->doc->tree.nodes[branch->parent].thread.n);
    int r = x->starts[branch->parent] ? 0 : find_starts(x, branch->parent, err);
    if (r < 0)
        return r;
    const uint32_t *start = x->starts[branch->parent];
    uint32_t behind = n ? start[n - 1] + 1 : 0;
    *ret = behind + WB_MIN(start[n] - behind, branch->branch_events);
    return 0;
}

/* Nodes retain the order of the document: each is created a millisecond after the previous one. */
static int make_nodes(struct import *x, const struct wa_extras *first, struct upp_err *err)
{
    const struct wm_tree_doc *t = &x->doc->tree;
    x->nodes = wb_new_n(x->memory, struct wl_node, t->n);
    x->before = wb_new_n(x->memory, struct wa_extras, t->n);
    x->starts = wb_new_n(x->memory, uint32_t *, t->n);
    int r = wb_arena_check(x->memory, err);
    if (r >= 0)
        x->before[t->root] = *first;
    for (size_t i = 0; r >= 0 && i < t->n; i++) {
        struct wl_node *n = &x->nodes[i];
        struct upp_str metadata = t->nodes[i].metadata;
        if (i != t->root)
            r = wa_extras_take_events(x->memory, &metadata, &x->before[i], err);
        if (r < 0)
            return r;
        *n = (struct wl_node){.tree = x->made.root.tree,
                              .created_ms = x->made.root.created_ms + (int64_t)i,
                              .name = t->nodes[i].name,
                              .metadata = metadata};
        n->id = x->made.root.id;
        if (i != t->root)
            r = wl_id_new(wl_family(x->made.root.tree), &n->id, err);
        n->key = wm_key(n->id);
        if (r >= 0)
            r = origin_of(x->doc, &t->nodes[i], x->memory, &n->origin, err);
    }
    for (size_t i = 0; r >= 0 && i < t->n; i++) {
        const struct wm_tree_node *n = &t->nodes[i];
        if (n->parent == UINT32_MAX)
            continue;
        x->nodes[i].parent = x->nodes[n->parent].key;
        r = seen_length(x, n, &x->nodes[i].parent_length, err);
    }
    return r;
}

/* Its checkpoints (session_doc.h, WA_IMPORTED). */
static int store_checkpoints(struct import *x, struct upp_err *err)
{
    struct wm_session doc = *x->doc;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20);
    struct wj_writer w;
    if (!doc.n_checkpoints)
        return 0;
    doc.tree.nodes = wb_new_n(x->memory, struct wm_tree_node, doc.tree.n);
    doc.checkpoints = wb_new_n(x->memory, struct wm_checkpoint, doc.n_checkpoints);
    if (!doc.tree.nodes || !doc.checkpoints)
        return wb_arena_check(x->memory, err);
    for (size_t i = 0; i < doc.n_checkpoints; i++) {
        doc.checkpoints[i] = x->doc->checkpoints[i];
        doc.checkpoints[i].length = WM_ALL_MESSAGES;
        wb_buf_addf(&b, "%u ", x->doc->checkpoints[i].length);
    }
    wb_buf_addc(&b, '\n');
    for (size_t i = 0; i < doc.tree.n; i++) {
        doc.tree.nodes[i] = x->doc->tree.nodes[i];
        doc.tree.nodes[i].thread.n = 0;
        doc.tree.nodes[i].branch = WM_ALL_MESSAGES;
    }
    wj_writer_init(&w, &b, err);
    wm_session_write(&w, &doc);
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    x->rest = wb_arena_dup(x->memory, wb_buf_str(&b));
    x->value = (struct wl_value){
        .space = UPP_STR(WA_IMPORTED), .name = wb_uuid_text(x->made.thread.id, x->name), .bytes = x->rest};
    return wb_arena_check(x->memory, err);
}

/* Appends the repair that closes the calls at the end; they count as open until a run answers them or continues without
 * answers. */
static WEFT_SUSPENDS int put_closing(struct wa_put *p, uint64_t node, struct wl_end *end, const struct upp_message *m,
                                     struct upp_err *err)
{
    struct wm_entry e = {
        .kind = WM_ENTRY_REPAIR, .origin = WM_ORIGIN_IMPORT, .audience = WM_AUDIENCE_ALL, .message = *m};
    struct wm_row row = {.time_ms = WB_MAX(wb_wall_ms(), end->time_ms), .entries = &e, .n_entries = 1};
    return wa_put_row(p, node, end, &row, err);
}

static WEFT_SUSPENDS int put_all(struct import *x, struct wa_put *p, struct upp_err *err)
{
    const struct wm_tree_doc *t = &x->doc->tree;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < t->n; i++)
        r = wa_put_node(p, &x->nodes[i], err);
    for (size_t i = 0; r >= 0 && i < t->n; i++) {
        struct wl_end end = {0};
        const struct wm_thread_json *thread = &t->nodes[i].thread;
        r = wa_put_known(p, x->nodes[i].key, &end, &x->before[i], thread->messages, thread->n, err);
        if (r >= 0 && x->closing && i == t->current)
            r = put_closing(p, x->nodes[i].key, &end, x->closing, err);
    }
    if (r >= 0 && x->rest.p)
        r = wa_put_add(p, (struct wl_change){.kind = WL_PUT_VALUE, .value = &x->value}, err);
    x->made.thread.head = x->nodes[t->current].key;
    if (r >= 0)
        r = wa_put_add(p, (struct wl_change){.kind = WL_ADD_THREAD, .thread = &x->made.thread}, err);
    if (r >= 0 && x->made.alias.text.p)
        r = wa_put_add(p, (struct wl_change){.kind = WL_ADD_ALIAS, .alias = &x->made.alias}, err);
    return r < 0 ? r : wa_put_commit(p, err);
}

/* 1: another thread has the name by now. */
static WEFT_SUSPENDS int put_named(struct import *x, struct wl_store *s, const struct wl_owner *o, struct upp_str name,
                                   struct upp_err *err)
{
    WB_CLEANUP(wa_put_done) struct wa_put p;
    struct wa_extras first;
    wa_put_init(&p, s, o);
    p.author = x->doc->agent_id;
    p.written_as = x->agent;
    x->metadata = x->doc->metadata;
    int r = wa_extras_take_events(x->memory, &x->metadata, &first, err);
    if (r >= 0)
        r = wl_thread_make(s, o, UPP_OPTS(wl_thread_opts, .metadata = x->metadata, .alias = name), &x->made, err);
    if (r >= 0)
        r = make_nodes(x, &first, err);
    if (r >= 0)
        r = store_checkpoints(x, err);
    if (r < 0)
        return r;
    p.new_thread = &x->made.thread;
    r = put_all(x, &p, err);
    return r < 0 ? wa_put_lost_name(&p, r) : 0;
}

int wa_session_put(struct wl_store *s, const struct wl_owner *o, const struct wm_session *doc, struct upp_str agent,
                   const struct upp_message *closing, bool anyway, struct wb_arena *a, struct wl_thread *ret,
                   struct upp_err *err)
{
    struct import x = {.doc = doc, .agent = agent, .closing = closing, .memory = a};
    struct wb_uuid other;
    int taken = wl_get_alias(s, o, WL_ALIAS_THREAD, doc->id, &other, err);
    if (taken < 0 && taken != -UPP_ENOTFOUND)
        return taken;
    int r = put_named(&x, s, o, anyway && taken >= 0 ? (struct upp_str){0} : doc->id, err);
    if (r > 0)
        r = anyway ? put_named(&x, s, o, (struct upp_str){0}, err)
                   : upp_fail(err, UPP_EBUSY, "session '%.*s' exists already", UPP_FMT(doc->id));
    *ret = x.made.thread;
    return WB_MIN(r, 0);
}
