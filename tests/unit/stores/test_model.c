/* Thousands of random commits and questions, the stores against a model of plain arrays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/stores.h"

enum { TENANTS = 2, NODES = 6, THREADS = 5, RUNS = 6, ALIASES = 5, ROWS = 400, CHANGES = 4, OPS = 600 };

struct m_row {
    uint64_t pos;
    uint32_t n, tag;
};

/* One tenant. Numbers stand for ids. */
struct model {
    struct {
        bool is;
        unsigned holder;
        size_t n;
        struct m_row rows[ROWS];
    } node[NODES];
    struct {
        bool is;
        uint32_t version, tag;
        int64_t updated;
    } thread[THREADS];
    struct {
        bool is;
        uint32_t version;
        uint8_t status;
        uint64_t number;
    } run[RUNS];
    unsigned alias[ALIASES]; /* object; 0: none */
};

struct world {
    uint64_t random, number;
    struct model now[TENANTS], next; /* next: the commit that is tried */
};

static uint64_t below(struct world *w, uint64_t n)
{
    uint64_t z = w->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

static struct wl_owner owner_of(unsigned t)
{
    return t ? OWNER("two", "u") : OWNER("one", "u");
}

/* ---- A random change: for the store, and on the model with what must come of it ---------------------- */

union thing {
    struct wl_row row;
    struct wl_node node;
    struct wl_thread thread;
    struct wm_run run;
    struct wl_alias alias;
};

static struct wb_uuid holder(unsigned h)
{
    return h ? test_uuid(900 + h) : WB_UUID_NIL;
}

static int random_row(struct world *w, union thing *x, char text[16])
{
    unsigned k = (unsigned)below(w, NODES);
    size_t n = w->next.node[k].n;
    uint64_t end = n ? wl_pos_next(w->next.node[k].rows[n - 1].pos, w->next.node[k].rows[n - 1].n) : 0;
    uint64_t pos = below(w, 8) ? end : end + 1 + below(w, 3);
    uint32_t tag = (uint32_t)below(w, 1000);
    (void)snprintf(text, 16, "%u", tag);
    x->row = test_row(k + 1, pos, (uint32_t)below(w, 3), text);
    bool fits = pos == end;
    if (!w->next.node[k].is)
        return -UPP_ENOTFOUND;
    if (!fits)
        return -UPP_EBUSY;
    if (n < ROWS)
        w->next.node[k].rows[w->next.node[k].n++] = (struct m_row){pos, x->row.n_entries, tag};
    return 0;
}

static int random_node(struct world *w, union thing *x)
{
    unsigned k = (unsigned)below(w, NODES);
    x->node = test_node(k + 1);
    if (w->next.node[k].is)
        return -UPP_EBUSY;
    w->next.node[k].is = true;
    return 0;
}

static int random_hold(struct world *w, struct wl_change *c)
{
    unsigned k = (unsigned)below(w, NODES), from = (unsigned)below(w, 2), to = (unsigned)below(w, 3);
    c->hold.node = k + 1;
    c->hold.from = holder(from);
    c->hold.to = holder(to);
    if (!w->next.node[k].is)
        return -UPP_ENOTFOUND;
    if (w->next.node[k].holder != from)
        return -UPP_EBUSY;
    w->next.node[k].holder = to;
    return 0;
}

static int random_thread(struct world *w, union thing *x, bool set)
{
    unsigned k = (unsigned)below(w, THREADS);
    uint32_t version = w->next.thread[k].version + (uint32_t)(below(w, 5) == 0);
    x->thread = (struct wl_thread){.id = test_uuid(k + 1),
                                   .head = below(w, 100),
                                   .kind = WL_MAIN,
                                   .version = set ? version : 1,
                                   .updated_ms = (int64_t)below(w, 50)};
    if (set && !w->next.thread[k].is)
        return -UPP_ENOTFOUND;
    if (set ? version != w->next.thread[k].version : w->next.thread[k].is)
        return -UPP_EBUSY;
    w->next.thread[k].is = true;
    w->next.thread[k].version = set ? version + 1 : 1;
    w->next.thread[k].tag = (uint32_t)x->thread.head;
    w->next.thread[k].updated = x->thread.updated_ms;
    return 0;
}

static int random_touch(struct world *w, union thing *x)
{
    unsigned k = (unsigned)below(w, THREADS);
    x->thread = (struct wl_thread){.id = test_uuid(k + 1), .updated_ms = (int64_t)below(w, 50)};
    if (w->next.thread[k].is && w->next.thread[k].updated < x->thread.updated_ms)
        w->next.thread[k].updated = x->thread.updated_ms;
    return 0;
}

static int random_run(struct world *w, union thing *x, bool set)
{
    unsigned k = (unsigned)below(w, RUNS);
    uint32_t version = w->next.run[k].version + (uint32_t)(below(w, 5) == 0);
    x->run = (struct wm_run){.id = test_uuid(50 + k),
                             .thread = test_uuid(1),
                             .version = set ? version : 1,
                             .status = (uint8_t)(WM_QUEUED + below(w, 6)),
                             .agent = UPP_STR("a")};
    if (set && !w->next.run[k].is)
        return -UPP_ENOTFOUND;
    if (set ? version != w->next.run[k].version : w->next.run[k].is)
        return -UPP_EBUSY;
    if (!set)
        w->next.run[k].number = ++w->number;
    w->next.run[k].is = true;
    w->next.run[k].version = set ? version + 1 : 1;
    w->next.run[k].status = x->run.status;
    return 0;
}

static int random_alias(struct world *w, union thing *x)
{
    static const struct upp_str names[ALIASES] = {UPP_STR_INIT("a"), UPP_STR_INIT("b"), UPP_STR_INIT(""),
                                                  UPP_STR_INIT("a\0"), UPP_STR_INIT("A")};
    unsigned k = (unsigned)below(w, ALIASES), object = 1 + (unsigned)below(w, 3);
    x->alias = (struct wl_alias){.kind = 1, .text = names[k], .object = test_uuid(object)};
    if (w->next.alias[k] && w->next.alias[k] != object)
        return -UPP_EBUSY;
    w->next.alias[k] = object;
    return 0;
}

static int random_change(struct world *w, struct wl_change *c, union thing *x, char text[16])
{
    static const enum wl_change_kind kinds[] = {
        WL_ADD_ROW,    WL_ADD_ROW,    WL_ADD_ROW, WL_ADD_ROW, WL_ADD_ROW, WL_ADD_NODE,  WL_HOLD_NODE,   WL_ADD_THREAD,
        WL_SET_THREAD, WL_SET_THREAD, WL_ADD_RUN, WL_SET_RUN, WL_SET_RUN, WL_ADD_ALIAS, WL_TOUCH_THREAD};
    *c = (struct wl_change){.kind = kinds[below(w, sizeof kinds / sizeof kinds[0])], .row = &x->row};
    switch (c->kind) {
    case WL_ADD_ROW:
        return random_row(w, x, text);
    case WL_ADD_NODE:
        return random_node(w, x);
    case WL_HOLD_NODE:
        return random_hold(w, c);
    case WL_ADD_THREAD:
    case WL_SET_THREAD:
        return random_thread(w, x, c->kind == WL_SET_THREAD);
    case WL_TOUCH_THREAD:
        return random_touch(w, x);
    case WL_ADD_RUN:
    case WL_SET_RUN:
        return random_run(w, x, c->kind == WL_SET_RUN);
    default:
        return random_alias(w, x);
    }
}

WEFT_SUSPENDS static int random_commit(struct wl_store *s, struct world *w, struct upp_err *err)
{
    unsigned t = (unsigned)below(w, TENANTS);
    size_t n = 1 + below(w, CHANGES), want_at = SIZE_MAX, got_at;
    union thing things[CHANGES];
    struct wl_change changes[CHANGES];
    char texts[CHANGES][16];
    int want = 0;
    uint64_t number = w->number;
    w->next = w->now[t];
    for (size_t i = 0; i < n; i++) {
        int r = random_change(w, &changes[i], &things[i], texts[i]);
        if (r < 0 && want == 0) {
            want = r;
            want_at = i;
        }
    }
    int r = test_commit(s, owner_of(t), changes, n, &got_at, err);
    if (r != want && r != -UPP_EBUSY && r != -UPP_ENOTFOUND && r < 0)
        return r; /* a fault that was injected */
    test_note("%zu changes: %d (%s), the model says %d at %zu", n, r, r < 0 ? err->msg : "", want, want_at);
    FAIL_UNLESS(r == want);
    FAIL_UNLESS(r != -UPP_EBUSY || got_at == want_at);
    if (r == 0)
        w->now[t] = w->next;
    else
        w->number = number;
    return 0;
}

/* ---- Everything, compared --------------------------------------------------------------------------- */

WEFT_SUSPENDS static int compare_nodes(struct wl_store *s, const struct wl_owner *o, const struct model *m,
                                       struct upp_err *err)
{
    for (unsigned k = 0; k < NODES; k++) {
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        struct wl_node node;
        struct wl_rows rows;
        int r = wl_get_node(s, o, k + 1, &node, err);
        if (r < 0 && r != -UPP_ENOTFOUND)
            return r;
        FAIL_UNLESS((r == 0) == m->node[k].is);
        FAIL_UNLESS(r < 0 || wb_uuid_eq(node.holder, holder(m->node[k].holder)));
        bool back = k % 2;
        TRY(wl_store_rows(s, o,
                          &(struct wl_range){.node = k + 1, .to = UINT64_MAX, .backwards = back, .max_rows = 1000}, &a,
                          &rows, err));
        FAIL_UNLESS(rows.n == m->node[k].n);
        for (size_t i = 0; i < rows.n; i++) {
            const struct m_row *want = &m->node[k].rows[back ? rows.n - 1 - i : i];
            char text[16];
            (void)snprintf(text, sizeof text, "%u", want->tag);
            FAIL_UNLESS(rows.p[i].pos == want->pos && rows.p[i].n_entries == want->n);
            FAIL_UNLESS(wb_str_eq(rows.p[i].body, wb_cstr(text)));
        }
    }
    return 0;
}

WEFT_SUSPENDS static int compare_threads(struct wl_store *s, const struct wl_owner *o, const struct model *m,
                                         struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_thread *p;
    size_t n, want = 0;
    TRY(wl_list_threads(s, o, WB_UUID_NIL, 100, &a, &p, &n, err));
    for (unsigned k = 0; k < THREADS; k++) {
        want += m->thread[k].is;
        for (size_t i = 0; i < n; i++)
            if (wb_uuid_eq(p[i].id, test_uuid(k + 1))) {
                FAIL_UNLESS(m->thread[k].is && p[i].version == m->thread[k].version);
                FAIL_UNLESS(p[i].head == m->thread[k].tag && p[i].updated_ms == m->thread[k].updated);
                FAIL_UNLESS(i == 0 || p[i - 1].updated_ms >= p[i].updated_ms);
            }
    }
    FAIL_UNLESS(n == want);
    return 0;
}

WEFT_SUSPENDS static int compare_runs(struct wl_store *s, const struct wl_owner *o, const struct model *m,
                                      struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    for (int live = 0; live < 2; live++) {
        struct wm_run *p;
        size_t n, want = 0;
        uint64_t last = live ? 0 : UINT64_MAX;
        TRY(wl_list_runs(s, o, test_uuid(1), live, 100, &a, &p, &n, err));
        for (unsigned k = 0; k < RUNS; k++)
            want += m->run[k].is && (!live || !wm_status_ended(m->run[k].status));
        FAIL_UNLESS(n == want);
        for (size_t i = 0; i < n; i++)
            for (unsigned k = 0; k < RUNS; k++)
                if (wb_uuid_eq(p[i].id, test_uuid(50 + k))) {
                    FAIL_UNLESS(p[i].version == m->run[k].version && p[i].status == m->run[k].status);
                    FAIL_UNLESS(live ? m->run[k].number > last : m->run[k].number < last);
                    last = m->run[k].number;
                }
    }
    return 0;
}

WEFT_SUSPENDS static int random_walk(struct test_store *t, struct upp_err *err)
{
    struct world *w = t->arg;
    memset(w->now, 0, sizeof w->now);
    for (unsigned i = 0; i < OPS; i++) {
        TRY(random_commit(t->s, w, err));
        if (i % 60 != 59)
            continue;
        for (unsigned k = 0; k < TENANTS; k++) {
            struct wl_owner o = owner_of(k);
            TRY(compare_nodes(t->s, &o, &w->now[k], err));
            TRY(compare_threads(t->s, &o, &w->now[k], err));
            TRY(compare_runs(t->s, &o, &w->now[k], err));
        }
    }
    return 0;
}

TEST_WITH(store_is_as_the_model_says, .no_torture = "thousands of calls; the suite of all stores is tortured",
          .seconds = 300)
{
    struct world *w = malloc(sizeof *w);
    if (!w)
        abort();
    bool ok = true;
    for (uint64_t seed = 1; seed <= test_times("WEFT_SEEDS", 20) && ok; seed++) {
        memset(w, 0, sizeof *w);
        w->random = seed;
        ok = test_each_store(random_walk, w);
    }
    free(w);
    CHECK(ok);
}
