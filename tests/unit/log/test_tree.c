/* Random trees against a plain model of them: appends, runs with tools, forks, branches, moves, from a seed. */
#include <stdio.h>

#include "log/lines.h"
#include "stores/sqlite/sqlite.h"
#include "support/fibers.h"
#include "support/tree.h"

enum { NODES = 64, THREADS = 24, ENTRIES = 48, TEXT = 24 };

/* What a node holds, as the test knows it: a text for each entry, with that of its results. */
struct plain_node {
    uint64_t key;
    int parent; /* -1: a root */
    uint32_t parent_length;
    uint32_t n;
    char texts[ENTRIES][TEXT];
    bool tool[ENTRIES];
    uint64_t pos; /* of the next row */
};

#define ALL UINT32_MAX

struct world {
    struct wl_store *s;
    struct wb_arena keep; /* threads */
    struct wb_arena a;    /* one look */
    struct plain_node nodes[NODES];
    int n_nodes;
    struct wl_thread threads[THREADS];
    int heads[THREADS], n_threads;
    uint32_t lengths[THREADS]; /* of the head, where the thread ends in the middle of it; ALL: it does not */
    uint64_t seed;
    unsigned serial;
    struct upp_err err;
};

static void world_done(struct world *w)
{
    tree_closep(&w->s);
    wb_arena_done(&w->keep);
    wb_arena_done(&w->a);
}

static unsigned dice(struct world *w, unsigned sides) /* 0 .. sides - 1 */
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return (unsigned)(w->seed >> 33) % sides;
}

/* ---- The plain model ------------------------------------------------------------------------------------------- */

struct place {
    int node;
    uint32_t index;
};

/* All of a path, from its root. */
static size_t plain_path(const struct world *w, int node, uint32_t length, struct place *to, size_t max)
{
    const struct plain_node *p = &w->nodes[node];
    size_t n = p->parent < 0 ? 0 : plain_path(w, p->parent, p->parent_length, to, max);
    for (uint32_t i = 0; i < length && n < max; i++)
        to[n++] = (struct place){node, i};
    return n;
}

static struct plain_node *new_node(struct world *w, uint64_t key, int parent, uint32_t parent_length)
{
    struct plain_node *p = &w->nodes[w->n_nodes++];
    *p = (struct plain_node){.key = key, .parent = parent, .parent_length = parent_length};
    return p;
}

/* A node on the path of a thread and a length of it. */
static int some_place(struct world *w, int thread, uint32_t *length)
{
    int node = w->heads[thread];
    while (w->nodes[node].parent >= 0 && dice(w, 3) == 0)
        node = w->nodes[node].parent;
    *length = dice(w, w->nodes[node].n + 1);
    return node;
}

/* The thread goes on in a node that begins where it ended. */
static void plain_leave(struct world *w, int thread, uint64_t key)
{
    int to = w->n_nodes;
    (void)new_node(w, key, w->heads[thread], w->lengths[thread]);
    w->heads[thread] = to;
    w->lengths[thread] = ALL;
}

/* ---- What happens ---------------------------------------------------------------------------------------------- */

static int thread_new(struct world *w)
{
    struct wl_thread *t = &w->threads[w->n_threads];
    TRY(wl_thread_new(w->s, &tree_owner, NULL, &w->keep, t, &w->err));
    w->lengths[w->n_threads] = ALL;
    w->heads[w->n_threads++] = w->n_nodes;
    (void)new_node(w, t->head, -1, 0);
    return 0;
}

static int client_says(struct world *w, int thread)
{
    struct upp_part parts[3];
    struct wm_entry e[3];
    char texts[3][TEXT];
    uint32_t index, n = 1 + dice(w, 3);
    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(texts[i], TEXT, "u%u", w->serial++);
        e[i] = tree_says(UPP_ROLE_USER, &parts[i], wb_cstr(texts[i]));
    }
    TRY(wl_append(w->s, &tree_owner, &w->threads[thread], e, n, &index, &w->err));
    if (w->lengths[thread] != ALL)
        plain_leave(w, thread, w->threads[thread].head);
    struct plain_node *p = &w->nodes[w->heads[thread]];
    FAIL_UNLESS(index == p->n && w->threads[thread].head == p->key);
    memcpy(p->texts[p->n], texts, n * sizeof texts[0]);
    p->n += n;
    p->pos = wl_pos(p->n, 0);
    return 0;
}

/* An assistant message; then results, each in a row of its own but perhaps the last; then the message of them. */
static int run_says(struct world *w, int thread)
{
    struct plain_node *p = &w->nodes[w->heads[thread]];
    struct wb_uuid run = {{9}};
    char *said = p->texts[p->n], calls[3][TEXT], result[TEXT + 2];
    struct upp_part part;
    struct upp_str refs[3];
    struct wm_event ended;
    size_t n = 1 + dice(w, 3);
    memcpy(run.b + 1, &w->serial, sizeof w->serial);
    (void)snprintf(said, TEXT, "a%u", w->serial++);
    struct wm_entry e = tree_says(UPP_ROLE_ASSISTANT, &part, wb_cstr(said));
    e.attempt = (uint8_t)dice(w, WM_ATTEMPTS);
    TRY(tree_row(w->s, &tree_owner, p->key, &p->pos, run, &(struct wm_row){.time_ms = 1, .entries = &e, .n_entries = 1},
                 &w->err));
    (void)snprintf(p->texts[p->n + 1], TEXT, "r%u", w->serial);
    (void)snprintf(result, sizeof result, "\"r%u\"", w->serial);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(calls[i], TEXT, "call%u", w->serial++);
        refs[i] = wb_cstr(calls[i]);
        ended = tree_ended(refs[i], wb_cstr(result));
        if (i + 1 < n || dice(w, 2)) {
            TRY(tree_row(w->s, &tree_owner, p->key, &p->pos, run,
                         &(struct wm_row){.time_ms = 1, .records = &ended, .n_records = 1}, &w->err));
            ended.kind = 0;
        }
    }
    e = tree_shows(refs, n);
    TRY(tree_row(w->s, &tree_owner, p->key, &p->pos, run,
                 &(struct wm_row){
                     .time_ms = 1, .entries = &e, .n_entries = 1, .records = &ended, .n_records = ended.kind ? 1 : 0},
                 &w->err));
    p->tool[p->n + 1] = true;
    p->n += 2;
    return 0;
}

static int fork_it(struct world *w, int thread)
{
    uint32_t length;
    int node = some_place(w, thread, &length);
    struct wl_thread *t = &w->threads[w->n_threads];
    TRY(wl_fork(w->s, &w->threads[thread], w->nodes[node].key, length, &w->keep, t, &w->err));
    w->lengths[w->n_threads] = length;
    w->heads[w->n_threads++] = node;
    return 0;
}

static int move(struct world *w, int thread, const struct wl_node *branch, int to)
{
    struct wl_thread t;
    TRY(wl_get_thread(w->s, &tree_owner, w->threads[thread].id, &w->a, &t, &w->err));
    t.head = w->nodes[to].key;
    t.at = 0;
    const struct wl_change c[] = {{.kind = WL_SET_THREAD, .thread = &t}, {.kind = WL_ADD_NODE, .node = branch}};
    struct wl_commit commit = {.owner = tree_owner, .changes = c, .n = branch ? 2 : 1};
    TRY(wl_store_commit(w->s, &commit, &w->err));
    w->heads[thread] = to;
    w->lengths[thread] = ALL;
    w->threads[thread].head = t.head;
    return 0;
}

static int branch_at(struct world *w, int thread, int node, uint32_t length)
{
    struct wl_node under, branch;
    TRY(wl_get_node(w->s, &tree_owner, w->nodes[node].key, &under, &w->err));
    TRY(wl_branch_make(&under, length, &branch, &w->err));
    int at = w->n_nodes;
    (void)new_node(w, branch.key, node, length);
    return move(w, thread, &branch, at);
}

/* Regenerate and edit: a branch, and the head moves there. */
static int branch_it(struct world *w, int thread)
{
    uint32_t length;
    int node = some_place(w, thread, &length);
    return branch_at(w, thread, node, length);
}

/* Checkout: any node of the same tree. */
static int checkout(struct world *w, int thread)
{
    int to = (int)dice(w, (unsigned)w->n_nodes), root = to, mine = w->heads[thread];
    while (w->nodes[root].parent >= 0)
        root = w->nodes[root].parent;
    while (w->nodes[mine].parent >= 0)
        mine = w->nodes[mine].parent;
    return root == mine ? move(w, thread, NULL, to) : 0;
}

static int step(struct world *w)
{
    unsigned what = dice(w, 20);
    int thread = w->n_threads ? (int)dice(w, (unsigned)w->n_threads) : 0;
    bool room = w->n_nodes < NODES && w->n_threads < THREADS;
    if (w->n_threads == 0 || (what == 0 && room))
        return thread_new(w);
    if (what <= 3 && room)
        return fork_it(w, thread);
    if (what <= 6 && w->n_nodes < NODES)
        return branch_it(w, thread);
    if (what <= 8)
        return checkout(w, thread);
    if (w->lengths[thread] != ALL && w->n_nodes == NODES)
        return 0;
    if (w->lengths[thread] == ALL && w->nodes[w->heads[thread]].n + 3 > ENTRIES)
        return 0;
    if (what % 2 == 0 && w->lengths[thread] != ALL) /* as the start of a run does */
        TRY(branch_at(w, thread, w->heads[thread], w->lengths[thread]));
    return what % 2 ? client_says(w, thread) : run_says(w, thread);
}

/* ---- What is seen ----------------------------------------------------------------------------------------------- */

static int same_line(struct world *w, const struct wl_line *line, struct place want)
{
    const struct plain_node *p = &w->nodes[want.node];
    const struct upp_message *m = &line->entry.message;
    FAIL_UNLESS(line->node == p->key && line->index == want.index && m->n_parts > 0);
    for (size_t i = 0; i < m->n_parts; i++) {
        struct upp_str text = m->parts[i].text;
        if (p->tool[want.index])
            text = wb_str_sub(text, 1, text.n - 2);
        FAIL_UNLESS(test_expect_str(text, wb_cstr(p->texts[want.index]), __FILE__, __LINE__, "text"));
        FAIL_UNLESS((m->parts[i].kind == UPP_PART_RESULT) == p->tool[want.index]);
    }
    return 0;
}

static int same_tail(struct world *w, const struct wl_path *path, const struct place *want, uint32_t end, uint32_t max)
{
    struct wl_line *lines;
    size_t n, stop = end < path->length ? end : path->length, count = max < stop ? max : stop;
    test_note("tail of %u before %u, of %u", max, end, path->length);
    TRY(wl_path_tail(w->s, &tree_owner, path, end, max, &w->a, &lines, &n, &w->err));
    FAIL_UNLESS(n == count);
    for (size_t i = 0; i < n; i++)
        TRY(same_line(w, &lines[i], want[stop - count + i]));
    return 0;
}

static int same_ids(struct world *w, const struct wl_path *path, const struct place *want)
{
    struct wl_line *lines, found;
    size_t n;
    TRY(wl_path_tail(w->s, &tree_owner, path, path->length, path->length, &w->a, &lines, &n, &w->err));
    for (size_t i = 0; i < n; i++) {
        TRY(wl_entry_find(w->s, &tree_owner, lines[i].id, &w->a, &found, &w->err));
        TRY(same_line(w, &found, want[i]));
        FAIL_UNLESS(wb_uuid_eq(found.id, lines[i].id) && found.entry.attempt == lines[i].entry.attempt);
        for (size_t k = 0; k < i; k++)
            FAIL_UNLESS(!wb_uuid_eq(lines[i].id, lines[k].id));
    }
    return 0;
}

/* All tails of a short path, some of a long one. */
static int same_history(struct world *w, int thread)
{
    enum { MAX = NODES * ENTRIES };
    static struct place want[MAX];
    int head = w->heads[thread];
    struct wl_thread t;
    struct wl_end end;
    struct wl_path path;
    char text[WB_UUID_TEXT + 1];
    TRY(wl_thread_find(w->s, &tree_owner, wb_uuid_text(w->threads[thread].id, text), &w->a, &t, &w->err));
    FAIL_UNLESS(t.head == w->nodes[head].key);
    TRY(wl_node_end(w->s, &tree_owner, t.head, &end, &w->err));
    FAIL_UNLESS(end.length == w->nodes[head].n && end.pos == w->nodes[head].pos);
    TRY(wl_thread_path(w->s, &tree_owner, &t, &w->a, &path, &w->err));
    size_t n = plain_path(w, head, WB_MIN(w->lengths[thread], end.length), want, MAX);
    FAIL_UNLESS(path.length == n);
    for (size_t i = 1; i + 1 < path.n; i++) /* chains do not grow by branches of nothing */
        FAIL_UNLESS(path.spans[i].length > 0);
    TRY(same_tail(w, &path, want, UINT32_MAX, UINT32_MAX));
    TRY(same_ids(w, &path, want));
    for (uint32_t to = 0; n <= 24 && to <= n + 1; to++)
        for (uint32_t max = 0; max <= n + 1; max++)
            TRY(same_tail(w, &path, want, to, max));
    for (unsigned i = 0; i < 20; i++)
        TRY(same_tail(w, &path, want, dice(w, (unsigned)n + 2), dice(w, 20)));
    return 0;
}

static int grow(struct world *w, const char *file, unsigned steps)
{
    TRY(file ? ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = file), &w->s, &w->err) : ws_memory_open(&w->s, &w->err));
    for (unsigned i = 0; i < steps; i++) {
        TRY(step(w));
        wb_arena_reset(&w->a);
    }
    for (int i = 0; i < w->n_threads; i++) {
        TRY(same_history(w, i));
        wb_arena_reset(&w->a);
    }
    return 0;
}

static int try_seed(const char *file, uint64_t seed, unsigned steps)
{
    static struct world memory; /* too large for a stack */
    memory =
        (struct world){.keep = WB_ARENA(16u << 20), .a = WB_ARENA(256u << 20), .seed = (seed + 1) * 0x9e3779b97f4a7c15};
    int r = grow(&memory, file, steps);
    world_done(&memory);
    return r;
}

TEST_WITH(log_trees_are_what_a_plain_model_says, .no_torture = "the small one below is")
{
    uint64_t seeds = test_times("WEFT_SEEDS", 40);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        test_note("seed %llu", (unsigned long long)seed);
        CHECK(try_seed(NULL, seed, 150) == 0);
    }
}

TEST(log_small_tree_is_what_a_plain_model_says)
{
    CHECK(try_seed(NULL, 7, 14) == 0);
}

static int on_sqlite(void *arg, struct upp_err *err)
{
    char path[512];
    const uint64_t seeds = test_number("WEFT_SEEDS", 6);
    (void)arg, (void)err;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        test_note("seed %llu", (unsigned long long)seed);
        (void)snprintf(path, sizeof path, "%s/%llu.db", test_folder(), (unsigned long long)seed);
        TRY(try_seed(path, 1000 + seed, 80));
    }
    return 0;
}

TEST_WITH(log_trees_on_sqlite_are_what_a_plain_model_says, .no_torture = "the store's own tests have that")
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(on_sqlite, NULL, &err), 0);
}
