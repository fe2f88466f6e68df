/* session/query.c — queries outside a session's conversation.
 *
 * The thread of a query is a node under the root of the session's tree that sees none of the root's messages, and a
 * sub-thread of the log that ends in it. So it is stored, written and read with the tree, its runs are ordinary runs of
 * a thread, and it is deleted with the session's thread.
 */
#include "agent/query.h"
#include "session/session.h"
#include "base/hooks.h"
#include "model/upp_json.h"
#include "upp/client/threads.h"

enum { PAGE = 256 };

struct session_query {
    struct wa_query_backend backend;
    struct weft_session *session;
    struct wb_uuid thread; /* in the log */
    uint64_t node;
    struct wr_watch watch;
    struct upp_str id; /* the thread's id for programs */
    char text[];
};

static struct session_query *query_of(struct wa_query_backend *p)
{
    return (struct session_query *)(void *)p;
}

static void free_query(struct wa_query_backend *p)
{
    wb_free(query_of(p));
}

/* The session is saved when the query has ended. */
static WEFT_SUSPENDS int stepped(void *arg, struct weft_run *run, struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    return 0;
}

/* ---- A turn ------------------------------------------------------------------------------------------------ */

struct asking {
    struct session_query *query;
    struct upp_thread *thread;
    struct upp_str text;
    struct upp_turn *turn;
};

/* The session has new content. An active run of the session will save it. */
static WEFT_SUSPENDS int update_session(struct session_query *q, struct upp_err *err)
{
    struct weft_session *s = q->session;
    wa_session_stale(s);
    int r = s->tree ? wa_session_tree_query(s, q->node, err) : 0;
    return r < 0 || s->running || s->no_checkpoints ? r : wa_session_persist(s, err);
}

static WEFT_SUSPENDS int answer(struct asking *x, struct wa_run_input *asked, struct upp_err *err)
{
    struct session_query *q = x->query;
    struct weft_session *s = q->session;
    struct wr_started started;
    struct wa_where where = {.engine = s->home->kept, .thread = q->thread, .watch = &q->watch};
    int r = wa_start(s->agent, &where, asked, false, &started, err);
    if (r < 0)
        return r;
    r = wa_join(where.engine, &started, NULL, &x->turn, err);
    wr_tree_release(started.tree);
    return r;
}

static WEFT_SUSPENDS int ask(struct weft_session *s, void *arg, struct upp_err *err)
{
    struct asking *x = arg;
    struct wa_run_input asked;
    struct upp_err why = {0};
    (void)s;
    int r = wa_run_input_take(&asked, UPP_OPTS(upp_input, .text = x->text), err);
    if (r >= 0)
        r = wa_run_input_own(&asked, err); /* a run of the session may change the text meanwhile */
    if (r >= 0)
        r = answer(x, &asked, err);
    wa_run_input_done(&asked);
    if (r >= 0)
        r = upp_thread_append(x->thread, x->turn, err);
    int saved = update_session(x->query, &why);
    if (r < 0 || saved >= 0)
        return r;
    if (err)
        *err = why;
    return saved;
}

static WEFT_SUSPENDS int turn(struct wa_query_backend *p, struct upp_thread *t, struct upp_str text,
                              struct upp_turn **ret, struct upp_err *err)
{
    struct asking x = {.query = query_of(p), .thread = t, .text = text};
    int r = wa_session_look(x.query->session, "weft_session_query", ask, &x, err);
    *ret = x.turn;
    return r;
}

/* ---- Its node and thread in the log ------------------------------------------------------------------------ */

static WEFT_SUSPENDS int find_root(struct weft_session *s, uint64_t key, struct wl_node *ret, struct upp_err *err)
{
    struct wl_store *store = wr_engine_store(s->home->kept);
    int r = wl_get_node(store, &wa_owner, key, ret, err);
    for (unsigned i = 0; r >= 0 && ret->parent; i++)
        r = i < WL_PATH_READ ? wl_get_node(store, &wa_owner, ret->parent, ret, err)
                             : upp_fail(err, UPP_ESTORE, "the nodes of session %.*s go round", UPP_FMT(s->id));
    return r;
}

/* Adds a sub-thread that ends in the node, and the node itself if it is new. 1: an id is taken. */
static WEFT_SUSPENDS int add_sub_thread(struct weft_session *s, const struct wl_thread *t, const struct wl_node *node,
                                        bool fresh, struct wb_uuid *ret, struct upp_err *err)
{
    struct wl_store *store = wr_engine_store(s->home->kept);
    struct wl_thread sub = {.tree = t->tree,
                            .parent = t->id,
                            .owner = wa_owner,
                            .head = node->key,
                            .kind = WL_SUB,
                            .version = 1,
                            .created_ms = node->created_ms,
                            .updated_ms = node->created_ms};
    int r = wl_id_new(wl_family(t->tree), &sub.id, err);
    if (r < 0)
        return r;
    const struct wl_change changes[] = {{.kind = WL_ADD_NODE, .node = node}, {.kind = WL_ADD_THREAD, .thread = &sub}};
    struct wl_commit c = {
        .owner = wa_owner, .changes = changes + !fresh, .n = WB_LEN(changes) - !fresh, .flags = WL_SYNCED};
    r = wl_store_commit(store, &c, err);
    if (r >= 0)
        *ret = sub.id;
    return r == -UPP_EBUSY ? 1 : r;
}

static WEFT_SUSPENDS int make_node(struct weft_session *s, const struct wl_thread *t, struct wl_node *ret,
                                   struct wb_uuid *thread, struct upp_err *err)
{
    struct wl_node root;
    int r = find_root(s, t->head, &root, err);
    for (unsigned i = 0; r >= 0 && i < WL_ID_TRIES; i++) {
        r = wl_branch_make(&root, 0, ret, err);
        if (r < 0)
            return r;
        ret->name = UPP_STR("query");
        r = add_sub_thread(s, t, ret, true, thread, err);
        if (r <= 0)
            return r;
    }
    return r < 0 ? r : upp_fail(err, UPP_EBUSY, "%d ids in a row were taken", WL_ID_TRIES);
}

/* Finds the sub-thread of a node, or adds one. */
static WEFT_SUSPENDS int find_sub_thread(struct weft_session *s, const struct wl_thread *t, const struct wl_node *node,
                                         struct wb_uuid *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_store *store = wr_engine_store(s->home->kept);
    struct wb_uuid after = {{0}};
    struct wl_thread *list;
    size_t n;
    do {
        int r = wl_list_family_threads(store, &wa_owner, wl_family(t->tree), after, PAGE, &a, &list, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            after = list[i].id;
            if (list[i].kind == WL_SUB && list[i].head == node->key) {
                *ret = list[i].id;
                return wa_session_end_runs(s, *ret, err);
            }
        }
    } while (n == PAGE);
    int r = 1;
    for (unsigned i = 0; r == 1 && i < WL_ID_TRIES; i++)
        r = add_sub_thread(s, t, node, false, ret, err);
    return r == 1 ? upp_fail(err, UPP_EBUSY, "%d ids in a row were taken", WL_ID_TRIES) : r;
}

/* ---- For programs ------------------------------------------------------------------------------------------ */

struct beginning {
    struct upp_str id; /* NULL: a new query */
    struct session_query *query;
    struct upp_thread *thread;
    const struct upp_message *messages; /* of the query so far */
    size_t n;
};

static int make_query(struct weft_session *s, struct beginning *b, uint64_t node, struct wb_uuid thread,
                      struct upp_err *err)
{
    struct session_query *q = wb_calloc(1, sizeof *q + b->id.n + 1);
    if (!q)
        return upp_fail(err, UPP_ENOMEM, "no memory for a query");
    memcpy(q->text, b->id.p, b->id.n);
    q->backend = (struct wa_query_backend){.turn = turn, .free = free_query};
    q->session = s;
    q->thread = thread;
    q->node = node;
    q->watch = (struct wr_watch){.arg = s, .stepped = stepped};
    q->id = wb_str(q->text, b->id.n);
    b->query = q;
    int r = upp__thread_lend(&(struct wm_thread_json){.id = q->id}, &b->thread, err);
    if (r >= 0 && b->n)
        r = upp_thread_push(b->thread, b->messages, b->n, err);
    return r;
}

/* Ensures that the session is in the log. */
static WEFT_SUSPENDS int ensure_stored(struct weft_session *s, struct upp_err *err)
{
    if (wa_session_stored(s))
        return 0;
    if (s->busy || s->running)
        return upp_fail(err, UPP_EINVALID, "session %.*s is busy with another call", UPP_FMT(s->id));
    s->busy = true;
    int result = wa_session_flush(s, err);
    s->busy = false;
    return result;
}

static WEFT_SUSPENDS int query_begin(struct weft_session *s, void *arg, struct upp_err *err)
{
    struct beginning *b = arg;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    char text[WB_UUID_TEXT + 1];
    struct wl_thread t;
    struct wl_node node;
    struct wb_uuid thread;
    int r = ensure_stored(s, err);
    if (r >= 0)
        r = wa_session_thread(s, &a, &t, err);
    if (r >= 0)
        r = make_node(s, &t, &node, &thread, err);
    if (r < 0)
        return r;
    b->id = wb_uuid_text(node.id, text);
    return make_query(s, b, node.key, thread, err);
}

/* A copy: an active run may free what was read of the session. */
static int copy_messages(struct wb_arena *a, const struct wm_thread_json *from, struct beginning *b,
                         struct upp_err *err)
{
    struct upp_message *list = wb_new_n(a, struct upp_message, from->n);
    int r = wb_arena_check(a, err);
    for (size_t i = 0; r >= 0 && i < from->n; i++)
        r = wm_message_copy(a, &from->messages[i], &list[i], err);
    b->messages = list;
    b->n = from->n;
    return r;
}

/* A query's node sees no messages of its parent. */
static int find_query(struct weft_session *s, struct wb_arena *a, struct beginning *b, size_t *ret, struct upp_err *err)
{
    const struct wm_tree_doc *t = &s->doc.tree;
    for (size_t i = 0; i < t->n; i++)
        if (wb_str_eq(t->nodes[i].thread.id, b->id) && t->nodes[i].parent == t->root && !t->nodes[i].branch) {
            *ret = i;
            return copy_messages(a, &t->nodes[i].thread, b, err);
        }
    return upp_fail(err, UPP_ENOTFOUND, "session %.*s has no query '%.*s'", UPP_FMT(s->id),
                    (int)WB_MIN(b->id.n, (size_t)64), b->id.p);
}

static WEFT_SUSPENDS int reopen(struct weft_session *s, void *arg, struct upp_err *err)
{
    struct beginning *b = arg;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    struct wl_thread t;
    struct wa_doc_node *nodes;
    struct wb_uuid thread;
    size_t at = 0, n;
    b->id = wb_arena_dup(&a, b->id); /* it may point into what is freed now */
    int r = wb_arena_check(&a, err);
    if (r >= 0)
        r = ensure_stored(s, err);
    if (r >= 0)
        r = wa_session_thread(s, &a, &t, err);
    if (r >= 0)
        r = wa_tree_nodes(wr_engine_store(s->home->kept), &wa_owner, t.tree, &a, &nodes, &n, err);
    if (r >= 0)
        r = wa_session_read(s, err); /* valid until the next suspension */
    if (r >= 0)
        r = find_query(s, &a, b, &at, err);
    if (r >= 0 && at >= n)
        r = upp_fail(err, UPP_EBUSY, "the tree of session %.*s has just changed", UPP_FMT(s->id));
    if (r >= 0)
        r = find_sub_thread(s, &t, &nodes[at].node, &thread, err);
    return r < 0 ? r : make_query(s, b, nodes[at].node.key, thread, err);
}

static WEFT_SUSPENDS int start(struct weft_session *s, struct beginning *b, wa_session_fn *fn, struct upp_str text,
                               struct weft_query_result **ret, struct upp_err *err)
{
    int r = wa_session_look(s, "weft_session_query", fn, b, err);
    if (r < 0) {
        upp_thread_free(b->thread);
        wb_free(b->query);
        return r;
    }
    return wa_query_at(s->agent, &b->query->backend, b->thread, text, ret, err);
}

int weft_session_query(struct weft_session *s, struct upp_str text, struct weft_query_result **ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    struct upp_str own = wb_arena_dup(&a, text); /* it may point into what is freed now */
    struct beginning b = {0};
    int r = wb_arena_check(&a, err);
    if (r < 0)
        return r;
    return text.p ? start(s, &b, query_begin, own, ret, err)
                  : upp_fail(err, UPP_EINVALID, "a query without a question");
}

int weft_session_query_open(struct weft_session *s, struct upp_str thread, struct weft_query_result **ret,
                            struct upp_err *err)
{
    struct beginning b = {.id = thread.p ? thread : UPP_STR("")};
    return start(s, &b, reopen, (struct upp_str){0}, ret, err);
}
