/* support/work.c — draws the commits of a life from a seed, and applies them. */
#include "support/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stores/memory/memory.h"
#include "support/stores.h"

enum { FAMILIES = 3, NODES = 6, THREADS = 4, RUNS = 6, VALUES = 6, BLOBS = 5, ALIASES = 4, CHANGES = 8 };
enum { FAMILY = 0x51a00000, LONG = 24000 };

const struct wl_owner work_owner = {UPP_STR_INIT("acme"), UPP_STR_INIT("alice")};

/* One commit that is being made. */
struct making {
    struct work *w;
    struct wb_arena *a;
    struct wl_change *changes;
    size_t n;
};

static uint64_t below(struct work *w, uint64_t n)
{
    uint64_t z = w->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

static void *need(void *p)
{
    if (!p)
        abort();
    return p;
}

#define KEEP(m, x)        ((__typeof__(x) *)memcpy(need(wb_new((m)->a, __typeof__(x))), &(x), sizeof(x)))
#define NEW(m, type, ...) (type *)memcpy(need(wb_new((m)->a, type)), &(type){__VA_ARGS__}, sizeof(type))

static struct wl_change *add(struct making *m, enum wl_change_kind kind)
{
    if (m->n >= CHANGES)
        abort();
    m->changes[m->n] = (struct wl_change){.kind = kind};
    return &m->changes[m->n++];
}

static struct upp_str text(struct making *m, const char *what, uint64_t n)
{
    char buf[64];
    (void)snprintf(buf, sizeof buf, "%s %llu", what, (unsigned long long)n);
    struct upp_str s = wb_arena_dup(m->a, wb_cstr(buf));
    need((void *)(uintptr_t)s.p);
    return s;
}

/* Mostly some hundred bytes, now and then several pages. */
static struct upp_str body(struct making *m)
{
    size_t n = below(m->w, 12) ? below(m->w, 600) : below(m->w, LONG);
    char *p = need(wb_arena_alloc(m->a, n + 1, 1));
    memset(p, (int)('a' + below(m->w, 26)), n);
    (void)snprintf(p, n + 1, "%llu", (unsigned long long)below(m->w, 1u << 30));
    return wb_str(p, n);
}

/* ---- What is there ------------------------------------------------------------------------------------ */

static uint32_t family(struct work *w)
{
    return (uint32_t)(FAMILY + below(w, FAMILIES));
}

/* A node of a family that is there, if any of some draws is; else one that is not. */
WEFT_SUSPENDS static struct wl_node some_node(struct making *m, uint32_t f)
{
    struct wl_node n = {0}, got;
    for (int i = 0; i < 4; i++) {
        n = test_family_node(f, 1 + below(m->w, NODES));
        if (wl_get_node(m->w->model, &work_owner, n.key, &got, NULL) >= 0)
            break;
    }
    return n;
}

/* The last row of a node; false: it has none. */
WEFT_SUSPENDS static bool last_row(struct making *m, uint64_t node, struct wl_row *ret)
{
    struct wl_rows rows;
    struct wl_range r = {.node = node, .to = UINT64_MAX, .backwards = true, .max_rows = 1};
    if (wl_store_rows(m->w->model, &work_owner, &r, m->a, &rows, NULL) < 0 || !rows.n)
        return false;
    *ret = rows.p[0];
    return true;
}

static struct wl_thread thread_of(struct making *m, uint32_t f)
{
    return (struct wl_thread){.id = test_family_uuid(f, 100 + below(m->w, THREADS)),
                              .tree = test_family_uuid(f, 1),
                              .owner = work_owner,
                              .kind = WL_MAIN,
                              .version = 1,
                              .created_ms = 5,
                              .updated_ms = (int64_t)below(m->w, 1000)};
}

/* ---- What is done ------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static void do_append(struct making *m)
{
    struct wl_node node = some_node(m, family(m->w));
    struct wl_row last;
    uint64_t pos = last_row(m, node.key, &last) ? wl_pos_next(last.pos, last.n_entries) : 0;
    for (uint64_t i = 0, n = 1 + below(m->w, 3); i < n; i++) {
        struct wl_row *row = NEW(m, struct wl_row, .node = node.key, .pos = pos, .format = 1,
                                 .n_entries = (uint32_t)below(m->w, 3), .body = body(m));
        row->tape = below(m->w, 4) ? (struct upp_str){NULL, 0} : body(m);
        add(m, WL_ADD_ROW)->row = row;
        pos = wl_pos_next(pos, row->n_entries);
    }
}

WEFT_SUSPENDS static void do_thread(struct making *m)
{
    struct wl_thread is;
    uint32_t f = family(m->w);
    struct wl_node n = test_family_node(f, 1 + below(m->w, NODES));
    struct wl_thread t = thread_of(m, f);
    t.head = n.key;
    t.title = text(m, "title", below(m->w, 100));
    add(m, WL_ADD_NODE)->node = KEEP(m, n);
    if (wl_get_thread(m->w->model, &work_owner, t.id, m->a, &is, NULL) < 0)
        add(m, WL_ADD_THREAD)->thread = KEEP(m, t);
}

/* A branch, to which a thread goes; or a place of before, to which it goes back. */
WEFT_SUSPENDS static void do_fork(struct making *m, bool restore)
{
    uint32_t f = family(m->w);
    struct wl_node parent = some_node(m, f), n = test_family_node(f, 1 + below(m->w, NODES));
    struct wl_thread t = thread_of(m, f), is;
    if (wl_get_thread(m->w->model, &work_owner, t.id, m->a, &is, NULL) >= 0)
        t.version = is.version;
    n.parent = parent.key;
    n.parent_length = (uint32_t)below(m->w, 4);
    n.name = below(m->w, 3) ? (struct upp_str){NULL, 0} : text(m, "branch", below(m->w, 9));
    t.head = restore ? parent.key : n.key;
    t.at = restore ? 1 + (uint32_t)below(m->w, 5) : 0;
    if (!restore)
        add(m, WL_ADD_NODE)->node = KEEP(m, n);
    add(m, WL_SET_THREAD)->thread = KEEP(m, t);
}

WEFT_SUSPENDS static void do_set(struct making *m)
{
    struct wl_node node = some_node(m, family(m->w));
    struct wl_row row = {.node = node.key};
    (void)last_row(m, node.key, &row);
    row.format = 1;
    row.body = body(m);
    if (below(m->w, 3))
        add(m, WL_SET_ROW)->row = KEEP(m, row);
    else {
        node.name = text(m, "name", below(m->w, 9));
        add(m, WL_SET_NODE)->node = KEEP(m, node);
    }
}

WEFT_SUSPENDS static void do_drop(struct making *m)
{
    uint32_t f = family(m->w);
    struct wl_thread t = thread_of(m, f), is;
    if (below(m->w, 2)) {
        struct wl_node n = some_node(m, f);
        add(m, WL_DROP_NODE)->node = KEEP(m, n);
        return;
    }
    if (wl_get_thread(m->w->model, &work_owner, t.id, m->a, &is, NULL) >= 0)
        t.version = is.version;
    add(m, WL_DROP_THREAD)->thread = KEEP(m, t);
}

WEFT_SUSPENDS static void do_run(struct making *m)
{
    struct wm_run is;
    struct wm_run *r =
        NEW(m, struct wm_run, .id = test_uuid(50 + below(m->w, RUNS)), .thread = test_family_uuid(FAMILY, 100),
            .version = 1, .agent = UPP_STR("a"), .status = (uint8_t)(WM_QUEUED + below(m->w, 6)), .created_ms = 7);
    r->options = body(m);
    bool there = wl_get_run(m->w->model, &work_owner, r->id, m->a, &is, NULL) >= 0;
    if (there)
        r->version = is.version;
    add(m, !there ? WL_ADD_RUN : wm_status_ended(is.status) ? WL_DROP_RUN : WL_SET_RUN)->run = r;
}

static void do_value(struct making *m)
{
    struct wl_value *v = NEW(m, struct wl_value, .space = UPP_STR("s"), .name = text(m, "v", below(m->w, VALUES)));
    v->bytes = body(m);
    add(m, below(m->w, 3) ? WL_PUT_VALUE : WL_DROP_VALUE)->value = v;
}

static void do_alias(struct making *m)
{
    struct wl_alias *x = NEW(m, struct wl_alias, .kind = WL_ALIAS_THREAD, .text = text(m, "x", below(m->w, ALIASES)));
    x->object = test_family_uuid(FAMILY, 100 + below(m->w, THREADS));
    add(m, below(m->w, 2) ? WL_ADD_ALIAS : WL_DROP_ALIAS)->alias = x;
}

/* Whole in one commit, with or without something that refers to it; or what referred to it goes, or it itself. */
static void do_blob(struct making *m)
{
    struct wl_blob_key *k = NEW(m, struct wl_blob_key, {(unsigned char)(1 + below(m->w, BLOBS))});
    struct wl_ref *ref = NEW(m, struct wl_ref, .blob = *k, .id = test_uuid(900 + below(m->w, 2)));
    uint64_t what = below(m->w, 5);
    if (what < 3) {
        struct wl_piece *p = NEW(m, struct wl_piece, .key = *k, .last = true);
        char *x = need(wb_arena_alloc(m->a, LONG, 1));
        memset(x, k->b[0] + 'a', LONG); /* the same content under the same key */
        p->bytes = wb_str(x, (size_t)k->b[0] * (LONG / 8));
        add(m, WL_ADD_PIECE)->piece = p;
        if (what)
            add(m, WL_ADD_REF)->ref = ref;
    } else if (what == 3)
        add(m, WL_DROP_REF)->ref = ref;
    else
        add(m, WL_DROP_BLOB)->blob = k;
}

WEFT_SUSPENDS static void draw(struct making *m)
{
    uint64_t x = below(m->w, 20);
    if (x < 7)
        do_append(m);
    else if (x < 9)
        do_thread(m);
    else if (x < 12)
        do_fork(m, x == 11);
    else if (x == 12)
        do_set(m);
    else if (x == 13)
        do_drop(m);
    else if (x < 16)
        do_run(m);
    else if (x == 16)
        do_value(m);
    else if (x == 17)
        do_alias(m);
    else
        do_blob(m);
}

/* ---- Histories ---------------------------------------------------------------------------------------- */

WEFT_SUSPENDS int work_commit(struct work *w, uint64_t n, struct wb_arena *a, struct wl_commit *ret,
                              struct upp_err *err)
{
    struct making m = {.w = w, .a = a, .changes = need(wb_new_n(a, struct wl_change, CHANGES))};
    w->random = w->seed * UINT64_C(0x2545f4914f6cdd1d) + n;
    struct wl_value *mark = NEW(&m, struct wl_value, .space = UPP_STR("work"), .name = UPP_STR("n"));
    mark->bytes = text(&m, "", n);
    add(&m, WL_PUT_VALUE)->value = mark; /* first, so that a commit that fails has something to undo */
    for (uint64_t i = 0, k = 1 + (below(w, 3) == 0); i < k; i++)
        draw(&m);
    *ret = (struct wl_commit){.owner = work_owner, .changes = m.changes, .n = m.n, .conflict = SIZE_MAX};
    return wb_arena_check(a, err);
}

WEFT_SUSPENDS int work_step(struct work *w, uint64_t n, struct wb_arena *a, struct wl_commit *ret, int *result,
                            struct upp_err *err)
{
    TRY(work_commit(w, n, a, ret, err));
    struct wl_commit same = *ret;
    *result = wl_store_commit(w->model, &same, err);
    if (*result < 0 && *result != -UPP_EBUSY && *result != -UPP_ENOTFOUND)
        return *result;
    return 0;
}

WEFT_SUSPENDS int work_begin(struct work *w, uint64_t upto, struct upp_err *err)
{
    work_end(w);
    TRY(ws_memory_open(&w->model, err));
    for (uint64_t n = 1; n <= upto; n++) {
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8 << 20);
        struct wl_commit c;
        int result;
        TRY(work_step(w, n, &a, &c, &result, err));
    }
    return 0;
}

void work_end(struct work *w)
{
    if (w->model)
        w->model->ops->close(w->model);
    w->model = NULL;
}

WEFT_SUSPENDS int work_number(struct wl_store *s, uint64_t *ret, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 16);
    struct upp_str v;
    int r = wl_get_value(s, &work_owner, UPP_STR("work"), UPP_STR("n"), &a, &v, err);
    *ret = 0;
    if (r == -UPP_ENOTFOUND)
        return 0;
    if (r >= 0 && v.n < 24) {
        char buf[24] = {0};
        memcpy(buf, v.p, v.n);
        *ret = strtoull(buf, NULL, 10);
    }
    return r;
}

/* ---- All that is there -------------------------------------------------------------------------------- */

static unsigned long long hash(struct upp_str s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
    return h ^ s.n;
}

WEFT_SUSPENDS static int dump_nodes(struct wl_store *s, uint32_t f, struct wb_arena *a, struct wb_buf *out,
                                    struct upp_err *err)
{
    struct wl_node *nodes;
    size_t n;
    TRY(wl_list_family_nodes(s, &work_owner, f, WB_UUID_NIL, 100, a, &nodes, &n, err));
    for (size_t i = 0; i < n; i++) {
        struct wl_rows rows;
        struct wl_range all = {.node = nodes[i].key, .to = UINT64_MAX, .max_rows = 10000, .max_bytes = 32 << 20};
        wb_buf_addf(out, "node %llx on %llx at %u '%.*s'\n", (unsigned long long)nodes[i].key,
                    (unsigned long long)nodes[i].parent, nodes[i].parent_length, UPP_FMT(nodes[i].name));
        TRY(wl_store_rows(s, &work_owner, &all, a, &rows, err));
        for (size_t k = 0; k < rows.n; k++)
            wb_buf_addf(out, " row %llx + %u: %llx %llx\n", (unsigned long long)rows.p[k].pos, rows.p[k].n_entries,
                        hash(rows.p[k].body), hash(rows.p[k].tape));
    }
    struct wl_thread *threads;
    TRY(wl_list_family_threads(s, &work_owner, f, WB_UUID_NIL, 100, a, &threads, &n, err));
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(out, "thread %d version %u head %llx at %u updated %lld '%.*s'\n", threads[i].id.b[5],
                    threads[i].version, (unsigned long long)threads[i].head, threads[i].at,
                    (long long)threads[i].updated_ms, UPP_FMT(threads[i].title));
    return 0;
}

WEFT_SUSPENDS static int dump_rest(struct wl_store *s, struct wb_arena *a, struct wb_buf *out, struct upp_err *err)
{
    struct wl_old_run *runs;
    struct wl_value *values;
    struct wl_blob_key *loose;
    size_t n;
    unsigned bits = 0; /* in the order of time, which may be the same */
    TRY(wl_list_old_runs(s, &work_owner, 0, INT64_MAX, 100, a, &runs, &n, err));
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(out, "run %d version %u status %d %llx\n", runs[i].run.id.b[15], runs[i].run.version,
                    runs[i].run.status, hash(runs[i].run.options));
    TRY(wl_list_values(s, &work_owner, UPP_STR("s"), UPP_STR(""), 100, a, &values, &n, err));
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(out, "value %.*s %llx\n", UPP_FMT(values[i].name), hash(values[i].bytes));
    for (unsigned i = 0; i < ALIASES; i++) {
        struct wb_uuid id;
        char name[8];
        (void)snprintf(name, sizeof name, "x %u", i);
        int r = wl_get_alias(s, &work_owner, WL_ALIAS_THREAD, wb_cstr(name), &id, err);
        if (r < 0 && r != -UPP_ENOTFOUND)
            return r;
        wb_buf_addf(out, "alias %u %d\n", i, r < 0 ? 0 : id.b[5]);
    }
    for (unsigned char k = 1; k <= BLOBS; k++) {
        struct wl_piece piece;
        int r = wl_get_piece(s, &work_owner, &(struct wl_blob_key){{k}}, 0, a, &piece, err);
        if (r < 0 && r != -UPP_ENOTFOUND)
            return r;
        if (r >= 0)
            wb_buf_addf(out, "blob %d %llx\n", k, hash(piece.bytes));
    }
    TRY(wl_list_unreferenced_blobs(s, &work_owner, false, INT64_MAX, 100, a, &loose, &n, err));
    for (size_t i = 0; i < n; i++)
        bits |= 1u << loose[i].b[0];
    wb_buf_addf(out, "loose %x\n", bits);
    return 0;
}

WEFT_SUSPENDS int work_dump(struct wl_store *s, struct wb_buf *out, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64 << 20);
    wb_buf_clear(out);
    for (uint32_t f = FAMILY; f < FAMILY + FAMILIES; f++)
        TRY(dump_nodes(s, f, &a, out, err));
    TRY(dump_rest(s, &a, out, err));
    return wb_buf_check(out, err);
}
