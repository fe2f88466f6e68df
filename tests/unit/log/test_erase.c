/* Threads that are deleted, and trees that are erased. */
#include "base/err.h"
#include "log/pages.h"
#include "log/staged.h"
#include "stores/check.h"
#include "support/said.h"

static const struct wb_uuid nobody;

/* A talk `k`; its fork, which shares the first three entries and says one more; a sub thread of the talk with a tree of
 * its own, and one below that. In the talk and in the sub thread somebody began to put two branches, one upon the
 * other, and died. */
struct world {
    struct talk k;
    struct wl_thread fork, sub, subsub;
    uint64_t half[4];
};

static WEFT_SUSPENDS int append(struct wl_store *s, struct wl_thread *t, struct upp_str text, struct upp_err *err)
{
    struct upp_part part;
    uint32_t index;
    struct wm_entry e = tree_says(UPP_ROLE_USER, &part, text);
    return wl_append(s, O, t, &e, 1, &index, err);
}

static WEFT_SUSPENDS int put_half(struct wl_store *s, const struct wl_thread *t, struct wb_arena *a, uint64_t keys[2],
                                  struct upp_err *err)
{
    struct wl_node node, branch[2];
    struct upp_part part;
    struct wm_entry e = tree_says(UPP_ROLE_USER, &part, UPP_STR("half secret"));
    struct wm_row row = {.time_ms = 9, .entries = &e, .n_entries = 1};
    uint64_t pos = 0;
    char id[WB_UUID_TEXT + 1];
    struct wl_value v = {.space = UPP_STR(WL_STAGED), .name = wb_uuid_text(t->id, id)};
    TRY(wl_get_node(s, O, t->head, &node, err));
    TRY(wl_branch_make(&node, 1, &branch[0], err));
    TRY(wl_branch_make(&branch[0], 1, &branch[1], err));
    keys[0] = branch[0].key;
    keys[1] = branch[1].key;
    v.bytes = wl_staged_text(a, keys, 2);
    TRY(wb_arena_check(a, err));
    TRY(COMMIT(s, *O, NULL, err, ADD_NODE(&branch[0]), ADD_NODE(&branch[1]), PUT_VALUE(&v)));
    return tree_row(s, O, keys[0], &pos, nobody, &row, err);
}

static WEFT_SUSPENDS int make(struct wl_store *s, struct wb_arena *a, void *world, struct upp_err *err)
{
    struct world *w = world;
    char id[WB_UUID_TEXT + 1];
    TRY(make_talk(s, a, &w->k, err));
    TRY(wl_fork(s, &w->k.t, w->k.t.head, 1, a, &w->fork, err));
    TRY(append(s, &w->fork, UPP_STR("fork secret"), err));
    TRY(wl_thread_new(s, O, UPP_OPTS(wl_thread_opts, .parent = w->k.t.id), a, &w->sub, err));
    TRY(append(s, &w->sub, UPP_STR("sub secret"), err));
    TRY(wl_thread_new(s, O, UPP_OPTS(wl_thread_opts, .parent = w->sub.id), a, &w->subsub, err));
    TRY(put_half(s, &w->k.t, a, w->half, err));
    TRY(put_half(s, &w->sub, a, w->half + 2, err));
    struct wl_value imported = {
        .space = UPP_STR(WL_IMPORTED), .name = wb_uuid_text(w->k.t.id, id), .bytes = UPP_STR("secret")};
    return COMMIT(s, *O, NULL, err, PUT_VALUE(&imported));
}

static WEFT_SUSPENDS int is_there(struct wl_store *s, const struct wl_thread *t, bool there, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread got;
    struct upp_str bytes;
    char id[WB_UUID_TEXT + 1];
    int r = wl_get_thread(s, O, t->id, &a, &got, err);
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    FAIL_UNLESS((r >= 0) == there);
    r = wl_get_value(s, O, UPP_STR(WL_DELETED), wb_uuid_text(t->id, id), &a, &bytes, err); /* and a note, or none */
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    FAIL_UNLESS((r >= 0) == !there);
    r = wl_get_value(s, O, UPP_STR(WL_IMPORTED), wb_uuid_text(t->id, id), &a, &bytes, err);
    FAIL_UNLESS(there || r == -UPP_ENOTFOUND);
    return 0;
}

/* Neither the branches nor what says that they are not whole. */
static WEFT_SUSPENDS int no_half(struct wl_store *s, const struct world *w, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_value *values;
    struct wl_node node;
    size_t n;
    TRY(wl_list_values(s, O, UPP_STR(WL_STAGED), (struct upp_str){0}, 10, &a, &values, &n, err));
    FAIL_UNLESS(n == 0);
    for (size_t i = 0; i < WB_LEN(w->half); i++) {
        int r = wl_get_node(s, O, w->half[i], &node, err);
        FAIL_UNLESS(r < 0);
        if (r != -UPP_ENOTFOUND)
            return r;
    }
    return 0;
}

/* What is not whole is never seen as if it were. */
static WEFT_SUSPENDS int half_is_known(struct wl_store *s, const struct world *w, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_staged half = {0};
    struct wl_node node;
    TRY(wl_staged_read(s, O, wl_family(w->k.t.tree), &a, &half, err));
    for (size_t i = 0; i < WB_LEN(w->half); i++) {
        int r = wl_get_node(s, O, w->half[i], &node, err);
        if (r < 0 && r != -UPP_ENOTFOUND)
            return r;
        FAIL_UNLESS(r < 0 || wl_staged_has(&half, w->half[i]));
    }
    return 0;
}

/* ---- Deleting ------------------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int delete_it(struct wl_store *s, void *world, struct upp_err *err)
{
    struct world *w = world;
    return wl_thread_delete(s, O, &w->k.t, err);
}

static WEFT_SUSPENDS int only_fork(struct wl_store *s, void *world, struct upp_err *err)
{
    struct world *w = world;
    TRY(is_there(s, &w->k.t, false, err));
    TRY(is_there(s, &w->sub, false, err));
    TRY(is_there(s, &w->subsub, false, err));
    TRY(is_there(s, &w->fork, true, err));
    SAYS(s, &w->fork, "m<question secret> m<fork secret>");
    return no_half(s, w, err);
}

static WEFT_SUSPENDS int all_or_none(struct wl_store *s, void *world, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct world *w = world;
    struct wl_thread t;
    int r = wl_get_thread(s, O, w->k.t.id, &a, &t, err);
    if (r == -UPP_ENOTFOUND)
        return only_fork(s, world, err);
    TRY(r);
    TRY(is_there(s, &w->sub, true, err));
    TRY(is_there(s, &w->subsub, true, err));
    return half_is_known(s, w, err);
}

static WEFT_SUSPENDS int deletes(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct world w;
    struct wm_run run = {.id = test_uuid(9), .root = test_uuid(9), .version = 1};
    struct wl_thread stale;
    TRY(make(s, &a, &w, err));

    /* Not while a run is under way: of it, or below it. */
    run.thread = w.subsub.id;
    run.status = WM_RUNNING;
    TRY(COMMIT(s, *O, NULL, err, ADD_RUN(&run)));
    FAIL_UNLESS(wl_thread_delete(s, O, &w.k.t, err) == -UPP_EBUSY);
    run.status = WM_CANCELED;
    TRY(COMMIT(s, *O, NULL, err, SET_RUN(&run)));
    TRY(COMMIT(s, *O, NULL, err, HOLD(w.k.t.head, nobody, test_uuid(9))));
    FAIL_UNLESS(wl_thread_delete(s, O, &w.k.t, err) == -UPP_EBUSY);
    TRY(COMMIT(s, *O, NULL, err, HOLD(w.k.t.head, test_uuid(9), nobody)));
    TRY(all_or_none(s, &w, err));

    /* What is held here may be old: it is looked at as it is. Then once and not again. */
    stale = w.k.t;
    TRY(append(s, &w.k.t, UPP_STR("newer"), err));
    TRY(wl_thread_delete(s, O, &stale, err));
    TRY(only_fork(s, &w, err));
    FAIL_UNLESS(wl_thread_delete(s, O, &w.k.t, err) == -UPP_ENOTFOUND);
    return 0;
}

TEST_WITH(log_delete_thread_takes_what_is_below_it, .no_torture = "many stores; tortured in memory, below")
{
    CHECK(test_each_store(deletes, NULL));
}

TEST(log_delete_thread_in_memory)
{
    struct upp_err err = {0};
    CHECK_INT(in_memory(deletes, &err), 0);
}

TEST_WITH(log_delete_thread_dies_anywhere, .no_torture = "it dies by itself")
{
    static struct world w;
    struct upp_err err = {0};
    struct dying d = {make, delete_it, all_or_none, only_fork, &w, 0};
    CHECK_INT(die_everywhere(&d, &err), 0);
    CHECK(d.deaths >= 2);
}

/* ---- Erasing --------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int erase_it(struct wl_store *s, void *world, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct world *w = world;
    struct wb_uuid *lost;
    size_t n;
    TRY(wl_tree_erase(s, O, &w->k.t, &a, &lost, &n, err));
    FAIL_UNLESS(n == 1 && wb_uuid_eq(lost[0], w->fork.id));
    return 0;
}

/* Threads can be read, whatever of them is erased. */
static WEFT_SUSPENDS int readable(struct wl_store *s, void *world, struct upp_err *err)
{
    struct world *w = world;
    static char said[4096];
    TRY(say(s, &w->fork, said, sizeof said, err));
    return half_is_known(s, w, err);
}

static WEFT_SUSPENDS int nothing_left(struct wl_store *s, void *world, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct world *w = world;
    struct wm_run run;
    TRY(is_there(s, &w->k.t, false, err));
    TRY(is_there(s, &w->sub, false, err));
    TRY(is_there(s, &w->fork, true, err));
    SAYS(s, &w->fork, "- - e");
    TRY(nowhere(s, w->k.t.head, "secret", err));
    TRY(nowhere(s, w->fork.head, "secret", err));
    TRY(nowhere(s, w->sub.head, "secret", err));
    TRY(wl_get_run(s, O, w->k.run.id, &a, &run, err));
    FAIL_UNLESS(run.swept && !run.options.p && !run.error.p);
    return no_half(s, w, err);
}

static WEFT_SUSPENDS int erases(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct world w;
    struct wb_uuid *lost;
    size_t n;
    TRY(make(s, &a, &w, err));
    TRY(COMMIT(s, *O, NULL, err, HOLD(w.fork.head, nobody, test_uuid(9)))); /* another thread's */
    FAIL_UNLESS(wl_tree_erase(s, O, &w.k.t, &a, &lost, &n, err) == -UPP_EBUSY);
    SAYS(s, &w.fork, "m<question secret> m<fork secret>");
    TRY(COMMIT(s, *O, NULL, err, HOLD(w.fork.head, test_uuid(9), nobody)));
    TRY(erase_it(s, &w, err));
    TRY(nothing_left(s, &w, err));
    TRY(append(s, &w.fork, UPP_STR("goes on"), err));
    SAYS(s, &w.fork, "- - e m<goes on>");
    return 0;
}

TEST_WITH(log_erase_tree_says_who_loses_text, .no_torture = "many stores; tortured in memory, below")
{
    CHECK(test_each_store(erases, NULL));
}

TEST(log_erase_tree_in_memory)
{
    struct upp_err err = {0};
    CHECK_INT(in_memory(erases, &err), 0);
}

/* More runs than a store lists at once. */
static WEFT_SUSPENDS int erases_all_runs(struct test_store *st, struct upp_err *err)
{
    enum { MANY = WS_LIST_MAX + 300 };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    WB_CLEANUP(wl_pages_done) struct wl_pages pages = WL_PAGES(st->s, .what = WL_LIST_RUNS, .owner = O);
    struct talk k;
    struct wb_uuid *lost;
    size_t n, seen = 0;
    int r;
    TRY(make_talk(st->s, &a, &k, err));
    TRY(add_runs(st->s, k.t.id, k.t.head, MANY, err));
    TRY(wl_tree_erase(st->s, O, &k.t, &a, &lost, &n, err));
    pages.ask.id = k.t.id;
    while ((r = wl_pages_next(&pages, err)) > 0)
        for (size_t i = 0; i < pages.list.n; i++, seen++)
            FAIL_UNLESS(!((const struct wm_run *)pages.list.p)[i].options.p);
    TRY(r);
    FAIL_UNLESS(seen == MANY + 1);
    return 0;
}

TEST_WITH(log_erase_tree_reaches_the_oldest_run, .no_torture = "10,000 runs")
{
    struct upp_err err = {0};
    CHECK_INT(in_memory(erases_all_runs, &err), 0);
}

/* ---- Large families ---------------------------------------------------------------------------------------- */

/* More than 65,536; under a sanitizer, which makes the store's lists slow, more than a store lists at once. */
static size_t crowd(void)
{
    return test_share() == 1 ? 65536 + 300 : WS_LIST_MAX + 300;
}

/* A talk with so many sub-threads, as if it had called so many sub-agents. */
static WEFT_SUSPENDS int make_crowd(struct wl_store *s, struct wb_arena *a, struct talk *k, struct upp_err *err)
{
    enum { EACH = 256 };
    static struct wl_thread subs[EACH];
    static struct wl_change changes[EACH]; /* not kept over another wait */
    TRY(make_talk(s, a, k, err));
    for (size_t at = 0; at < crowd();) {
        size_t n = 0;
        for (; n < EACH && at < crowd(); n++, at++) {
            struct wb_uuid id = test_family_uuid(wl_family(k->t.tree), at);
            id.b[9] = (unsigned char)(at >> 16);
            subs[n] = (struct wl_thread){
                .id = id, .tree = k->t.tree, .parent = k->t.id, .head = k->t.head, .kind = WL_SUB, .version = 1};
            changes[n] = (struct wl_change)ADD_THREAD(&subs[n]);
        }
        TRY(test_commit(s, *O, changes, n, NULL, err));
    }
    return 0;
}

static WEFT_SUSPENDS int family_is_gone(struct wl_store *s, const struct talk *k, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread *list;
    size_t n;
    TRY(wl_list_family_threads(s, O, wl_family(k->t.tree), nobody, 1, &a, &list, &n, err));
    FAIL_UNLESS(n == 0);
    return 0;
}

static WEFT_SUSPENDS int deletes_crowd(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct talk k;
    TRY(make_crowd(st->s, &a, &k, err));
    TRY(wl_thread_delete(st->s, O, &k.t, err));
    return family_is_gone(st->s, &k, err);
}

TEST_WITH(log_delete_thread_with_any_number_below_it, .no_torture = "thousands of commits", .seconds = 300)
{
    struct upp_err err = {0};
    int r = in_memory(deletes_crowd, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

static WEFT_SUSPENDS int erases_crowd(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wl_pages_done) struct wl_pages pages = WL_PAGES(st->s, .what = WL_LIST_RUNS, .owner = O);
    struct talk k;
    struct wb_uuid *lost;
    size_t n, seen = 0;
    int r;
    TRY(make_crowd(st->s, &a, &k, err));
    TRY(add_runs(st->s, k.t.id, k.t.head, crowd(), err));
    TRY(wl_tree_erase(st->s, O, &k.t, &a, &lost, &n, err));
    TRY(family_is_gone(st->s, &k, err));
    pages.ask.id = k.t.id;
    while ((r = wl_pages_next(&pages, err)) > 0)
        for (size_t i = 0; i < pages.list.n; i++, seen++)
            FAIL_UNLESS(!((const struct wm_run *)pages.list.p)[i].options.p);
    TRY(r);
    FAIL_UNLESS(seen == crowd() + 1);
    return 0;
}

TEST_WITH(log_erase_tree_with_any_number_of_threads_and_runs, .no_torture = "thousands of commits", .seconds = 300)
{
    struct upp_err err = {0};
    int r = in_memory(erases_crowd, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

/* ---- Pages ------------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int list_none(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a,
                                   struct wl_list *ret, struct upp_err *err)
{
    (void)ask, (void)a, (void)ret;
    s->count.rows++;
    return s->index ? wb_fail_full(err, "many reads are in progress") : upp_fail(err, UPP_ELIMIT, "a large page");
}

/* Only a page that is too large is read in parts. */
WEFT_SUSPENDS static int pages_are_halved(void *arg, struct upp_err *err)
{
    static const struct wl_store_ops ops = {.list = list_none};
    (void)arg, (void)err;
    for (uint8_t busy = 0; busy < 2; busy++) {
        struct wl_store s = {.ops = &ops, .index = busy};
        WB_CLEANUP(wl_pages_done) struct wl_pages p = WL_PAGES(&s, .what = WL_LIST_RUNS, .max = 256);
        FAIL_UNLESS(wl_pages_next(&p, NULL) == -UPP_ELIMIT);
        FAIL_UNLESS(s.count.rows == (busy ? 1 : 9));
    }
    return 0;
}

TEST(log_pages_are_halved_only_if_they_are_large)
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(pages_are_halved, NULL, &err), 0);
}

TEST_WITH(log_erase_tree_dies_anywhere, .no_torture = "it dies by itself")
{
    static struct world w;
    struct upp_err err = {0};
    struct dying d = {make, erase_it, readable, nothing_left, &w, 0};
    CHECK_INT(die_everywhere(&d, &err), 0);
    CHECK(d.deaths >= 10);
}
