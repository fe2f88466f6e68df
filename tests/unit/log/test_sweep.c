/* What time takes away, by a clock of the test's own. */
#include "base/clock.h"
#include "log/search.h"
#include "stores/check.h"
#include "support/said.h"

#define DAY WL_DAY_MS

static WEFT_SUSPENDS int sweep_at(struct wl_store *s, int64_t now_ms, struct wl_swept *sum, struct upp_err *err)
{
    struct wl_swept n = {.more = true};
    *sum = (struct wl_swept){0};
    for (unsigned i = 0; n.more && i < 100; i++) {
        TRY(wl_sweep(s, O, now_ms, NULL, &n, err));
        sum->threads += n.threads;
        sum->nodes += n.nodes;
        sum->runs += n.runs;
        sum->rows += n.rows;
        sum->blobs += n.blobs;
        sum->damaged += n.damaged;
    }
    FAIL_UNLESS(!n.more);
    return 0;
}

static WEFT_SUSPENDS int has_node(struct wl_store *s, uint64_t key, bool there, struct upp_err *err)
{
    struct wl_node node;
    int r = wl_get_node(s, O, key, &node, err);
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    FAIL_UNLESS((r >= 0) == there);
    return 0;
}

static WEFT_SUSPENDS int has_run(struct wl_store *s, struct wb_uuid id, bool there, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wm_run run;
    int r = wl_get_run(s, O, id, &a, &run, err);
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    FAIL_UNLESS((r >= 0) == there);
    return 0;
}

/* ---- Deleted threads ------------------------------------------------------------------------------------------ */

/* root (k: question ...)
 *   +- side      of k's second run, which was left again: no thread's head
 *   +- nobody's  a branch that no run and no thread leads to
 *   +- fork.head, behind the first entry */
struct world {
    struct talk k;
    struct wl_thread fork, sub;
    struct wl_node side, nobodys;
    struct wm_run second;
    int64_t now;
};

static WEFT_SUSPENDS int make(struct wl_store *s, struct wb_arena *a, void *world, struct upp_err *err)
{
    struct world *w = world;
    struct wl_node root;
    struct upp_part part;
    uint32_t index;
    struct wm_entry e = tree_says(UPP_ROLE_USER, &part, UPP_STR("fork"));
    TRY(make_talk(s, a, &w->k, err));
    TRY(wl_fork(s, &w->k.t, w->k.t.head, 1, a, &w->fork, err));
    TRY(wl_append(s, O, &w->fork, &e, 1, &index, err));
    TRY(wl_thread_new(s, O, UPP_OPTS(wl_thread_opts, .parent = w->k.t.id), a, &w->sub, err));
    TRY(wl_get_node(s, O, w->k.t.head, &root, err));
    TRY(wl_branch_make(&root, 2, &w->side, err));
    TRY(wl_branch_make(&root, 3, &w->nobodys, err));
    w->second = (struct wm_run){.id = test_uuid(78),
                                .root = test_uuid(78),
                                .thread = w->k.t.id,
                                .node = w->side.key,
                                .version = 1,
                                .status = WM_COMPLETED,
                                .started_ms = 5,
                                .ended_ms = 9};
    w->now = wb_wall_ms();
    return COMMIT(s, *O, NULL, err, ADD_NODE(&w->side), ADD_NODE(&w->nobodys), ADD_RUN(&w->second));
}

/* A thread and its branches, while a fork lives; then that too. */
static WEFT_SUSPENDS int after_days(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct world w;
    struct wl_swept n;
    TRY(make(s, &a, &w, err));
    TRY(sweep_at(s, w.now + 20 * DAY, &n, err));
    FAIL_UNLESS(!n.nodes && !n.threads && !n.runs); /* nothing was deleted */
    TRY(wl_thread_delete(s, O, &w.k.t, err));
    TRY(sweep_at(s, w.now + 7 * DAY - 1, &n, err));
    FAIL_UNLESS(!n.nodes && !n.threads && !n.runs);

    TRY(sweep_at(s, w.now + 8 * DAY, &n, err));
    test_note("%d threads %d nodes %d runs", (int)n.threads, (int)n.nodes, (int)n.runs);
    FAIL_UNLESS(n.threads == 2 && n.nodes == 2 && n.runs == 2); /* side, and the sub thread's root */
    TRY(has_node(s, w.side.key, false, err));
    TRY(has_node(s, w.sub.head, false, err));
    TRY(has_node(s, w.nobodys.key, true, err));
    TRY(has_node(s, w.k.t.head, true, err));
    TRY(has_run(s, w.k.run.id, false, err));
    SAYS(s, &w.fork, "m<question secret> m<fork>");

    TRY(wl_thread_delete(s, O, &w.fork, err));
    TRY(sweep_at(s, w.now + 8 * DAY, &n, err));
    FAIL_UNLESS(n.threads == 1 && n.nodes == 3);
    TRY(has_node(s, w.nobodys.key, false, err));
    TRY(has_node(s, w.k.t.head, false, err));
    TRY(sweep_at(s, w.now + 9 * DAY, &n, err));
    FAIL_UNLESS(!n.nodes && !n.threads && !n.runs);
    return 0;
}

TEST_WITH(log_sweep_takes_what_nobody_leads_to, .no_torture = "many stores; tortured in memory, below")
{
    CHECK(test_each_store(after_days, NULL));
}

/* One that was deleted later keeps what it shares until its own time comes; one that was brought back stays. */
static WEFT_SUSPENDS int in_turn(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct world w;
    struct wl_swept n;
    char id[WB_UUID_TEXT + 1], tree[WB_UUID_TEXT + 1], text[200];
    TRY(make(s, &a, &w, err));
    TRY(wl_thread_delete(s, O, &w.fork, err));
    int size = snprintf(text, sizeof text, "{\"tree\":\"%s\",\"head\":%llu,\"time\":%lld,\"user\":\"\"}",
                        wb_uuid_text(w.fork.tree, tree).p, (unsigned long long)w.fork.head,
                        (long long)(w.now + 3 * DAY)); /* as if it had been deleted three days later */
    struct wl_value note = {
        .space = UPP_STR(WL_DELETED), .name = wb_uuid_text(w.fork.id, id), .bytes = wb_str(text, (size_t)size)};
    TRY(COMMIT(s, *O, NULL, err, PUT_VALUE(&note)));
    TRY(wl_thread_delete(s, O, &w.k.t, err));
    TRY(sweep_at(s, w.now + 8 * DAY, &n, err));
    FAIL_UNLESS(n.threads == 2 && n.nodes == 2);
    TRY(has_node(s, w.fork.head, true, err));
    TRY(has_node(s, w.k.t.head, true, err));

    struct wl_thread back = w.fork;
    TRY(COMMIT(s, *O, NULL, err, ADD_THREAD(&back)));
    TRY(sweep_at(s, w.now + 20 * DAY, &n, err));
    FAIL_UNLESS(n.threads == 0 && n.nodes == 0);
    SAYS(s, &back, "m<question secret> m<fork>");
    FAIL_UNLESS(wl_get_value(s, O, note.space, note.name, &a, &note.bytes, err) == -UPP_ENOTFOUND);
    return 0;
}

TEST_WITH(log_sweep_waits_for_each_thread, .no_torture = "many stores; tortured in memory, below")
{
    CHECK(test_each_store(in_turn, NULL));
}

/* The run that led to the branch is older than all that a store lists at once. */
static WEFT_SUSPENDS int many_runs(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct world w;
    struct wl_swept n;
    TRY(make(s, &a, &w, err));
    TRY(add_runs(s, w.k.t.id, w.k.t.head, WS_LIST_MAX + 10, err));
    TRY(wl_thread_delete(s, O, &w.k.t, err));
    TRY(sweep_at(s, w.now + 8 * DAY, &n, err));
    TRY(has_node(s, w.side.key, false, err));
    TRY(has_node(s, w.nobodys.key, true, err));
    TRY(has_run(s, w.second.id, false, err));
    return 0;
}

TEST_WITH(log_sweep_follows_the_oldest_run, .no_torture = "10,000 runs")
{
    struct upp_err err = {0};
    CHECK_INT(in_memory(many_runs, &err), 0);
}

static WEFT_SUSPENDS int sweep_world(struct wl_store *s, void *world, struct upp_err *err)
{
    struct world *w = world;
    struct wl_swept n;
    return sweep_at(s, w->now + 40 * DAY, &n, err);
}

static WEFT_SUSPENDS int make_deleted(struct wl_store *s, struct wb_arena *a, void *world, struct upp_err *err)
{
    struct world *w = world;
    TRY(make(s, a, world, err));
    return wl_thread_delete(s, O, &w->k.t, err);
}

static WEFT_SUSPENDS int fork_stands(struct wl_store *s, void *world, struct upp_err *err)
{
    struct world *w = world;
    SAYS(s, &w->fork, "m<question secret> m<fork>");
    return 0;
}

static WEFT_SUSPENDS int is_swept(struct wl_store *s, void *world, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct world *w = world;
    struct wl_value *notes;
    size_t n;
    TRY(fork_stands(s, world, err));
    TRY(has_node(s, w->side.key, false, err));
    TRY(has_node(s, w->sub.head, false, err));
    TRY(has_node(s, w->nobodys.key, true, err));
    TRY(has_run(s, w->k.run.id, false, err));
    TRY(has_run(s, w->second.id, false, err));
    TRY(wl_list_values(s, O, UPP_STR(WL_DELETED), (struct upp_str){0}, 10, &a, &notes, &n, err));
    FAIL_UNLESS(n == 0);
    return 0;
}

TEST_WITH(log_sweep_dies_anywhere, .no_torture = "it dies by itself")
{
    static struct world w;
    struct upp_err err = {0};
    struct dying d = {make_deleted, sweep_world, fork_stands, is_swept, &w, 0};
    CHECK_INT(die_everywhere(&d, &err), 0);
    CHECK(d.deaths >= 10);
}

/* ---- Journals ---------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int journals(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct talk k;
    struct wl_swept n;
    struct wm_run run, live = {0};
    TRY(make_talk(s, &a, &k, err));
    live = (struct wm_run){.id = test_uuid(99),
                           .root = test_uuid(99),
                           .thread = k.t.id,
                           .node = k.t.head,
                           .version = 1,
                           .status = WM_WAITING};
    TRY(COMMIT(s, *O, NULL, err, ADD_RUN(&live)));
    TRY(sweep_at(s, 9 + 30 * DAY - 1, &n, err));
    FAIL_UNLESS(!n.rows);
    TRY(sweep_at(s, 9 + 30 * DAY, &n, err));
    FAIL_UNLESS(n.rows == 1); /* with the starts of two tools */
    SAYS(s, &k.t,
         "m<question secret> m<aside secret> m<thinking secret><{\"a\":\"secret\"}><{\"a\":\"secret\"}> "
         "m<\"one secret\"><\"two\"> m<answer secret>");
    TRY(wl_get_run(s, O, k.run.id, &a, &run, err));
    FAIL_UNLESS(run.swept);
    TRY(sweep_at(s, 9 + 31 * DAY, &n, err));
    FAIL_UNLESS(!n.rows);

    /* The one that waited ends, and its time comes. */
    TRY(wl_get_run(s, O, live.id, &a, &live, err));
    FAIL_UNLESS(!live.swept);
    live.status = WM_EXPIRED;
    live.ended_ms = 50 * DAY;
    TRY(COMMIT(s, *O, NULL, err, SET_RUN(&live)));
    TRY(sweep_at(s, 80 * DAY - 1, &n, err));
    TRY(wl_get_run(s, O, live.id, &a, &live, err));
    FAIL_UNLESS(!live.swept);
    TRY(sweep_at(s, 80 * DAY, &n, err));
    TRY(wl_get_run(s, O, live.id, &a, &live, err));
    FAIL_UNLESS(live.swept);

    /* What was swept can still be deleted. */
    TRY(wl_message_delete(s, O, &k.t, k.id[2], UPP_STR(""), err));
    TRY(nowhere(s, k.t.head, "thinking", err));
    return 0;
}

TEST_WITH(log_sweep_takes_journals_and_leaves_messages, .no_torture = "many stores; tortured in memory, below")
{
    CHECK(test_each_store(journals, NULL));
}

/* What is found of a word, after the search has learned all there is to learn. */
static WEFT_SUSPENDS int finds(struct wl_store *s, struct upp_str word, size_t expected, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_results found;
    size_t rows = 1;
    for (int r = 0; r >= 0 && rows;) {
        r = wl_index_rows(s, &rows, err);
        if (r < 0 && r != -UPP_EREFUSED)
            return r;
    }
    TRY(wl_search(s, O, &(struct wl_search){.size = sizeof(struct wl_search), .words = word}, &a, &found, err));
    test_note("'%.*s' is found %zu times", UPP_FMT(word), found.n);
    FAIL_UNLESS(found.n == expected);
    return 0;
}

/* Rows are set when they are swept and when one message of several is deleted: the others are found all the same. */
static WEFT_SUSPENDS int searched(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct talk k;
    struct wl_thread t;
    struct wl_swept n;
    struct upp_part p[2];
    uint32_t index;
    struct wm_entry e[] = {tree_says(UPP_ROLE_USER, &p[0], UPP_STR("okapi one")),
                           tree_says(UPP_ROLE_USER, &p[1], UPP_STR("okapi two"))};
    TRY(make_talk(s, &a, &k, err));
    TRY(wl_thread_new(s, O, NULL, &a, &t, err));
    TRY(wl_append(s, O, &t, e, 2, &index, err));
    TRY(finds(s, UPP_STR("thinking"), 1, err));
    TRY(finds(s, UPP_STR("okapi"), 2, err));
    TRY(sweep_at(s, 40 * DAY, &n, err));
    FAIL_UNLESS(n.rows == 1);
    TRY(finds(s, UPP_STR("thinking"), 1, err));
    TRY(wl_message_delete(s, O, &t, wm_id_uuid((struct wm_id){.node = t.head, .noun = WM_NOUN_ENTRY}), UPP_STR(""),
                          err));
    TRY(finds(s, UPP_STR("okapi"), 1, err));
    TRY(finds(s, UPP_STR("one"), 1, err)); /* a result */
    TRY(finds(s, UPP_STR("two"), 2, err));
    return 0;
}

TEST_WITH(log_sweep_and_delete_leave_the_rest_to_be_found, .no_torture = "many stores; tortured in memory, below")
{
    CHECK(test_each_store(searched, NULL));
}

/* More runs than one piece takes: each once, none is left. */
static WEFT_SUSPENDS int pieces(struct test_store *st, struct upp_err *err)
{
    enum { MANY = 2 * WL_SWEEP_BATCH + 5 };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct wl_swept n;
    struct wm_run run;
    for (unsigned i = 0; i < MANY; i++) {
        run = (struct wm_run){
            .id = test_uuid(1000 + i), .root = test_uuid(1000 + i), .version = 1, .status = WM_FAILED, .ended_ms = 5};
        TRY(COMMIT(s, *O, NULL, err, ADD_RUN(&run)));
    }
    TRY(wl_sweep(s, O, 40 * DAY, NULL, &n, err));
    FAIL_UNLESS(n.more);
    TRY(sweep_at(s, 40 * DAY, &n, err));
    for (unsigned i = 0; i < MANY; i++) {
        wb_arena_reset(&a);
        TRY(wl_get_run(s, O, test_uuid(1000 + i), &a, &run, err));
        FAIL_UNLESS(run.swept);
    }
    return 0;
}

TEST_WITH(log_sweep_works_in_pieces, .no_torture = "hundreds of commits")
{
    struct upp_err err = {0};
    CHECK_INT(in_memory(pieces, &err), 0);
}

/* More that wait than one page has, and than one piece takes. */
static WEFT_SUSPENDS int many_wait(struct test_store *st, struct upp_err *err)
{
    enum { MANY = 300 };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct wl_value *later;
    struct wl_swept n;
    size_t left;
    for (unsigned i = 0; i < MANY; i++) {
        struct wm_run run = {
            .id = test_uuid(1000 + i), .root = test_uuid(1000 + i), .version = 1, .status = WM_WAITING};
        TRY(COMMIT(s, *O, NULL, err, ADD_RUN(&run)));
    }
    TRY(sweep_at(s, 40 * DAY, &n, err));
    TRY(wl_list_values(s, O, UPP_STR("later"), (struct upp_str){0}, 1000, &a, &later, &left, err));
    FAIL_UNLESS(left == MANY);
    for (unsigned i = 0; i < MANY; i++) {
        struct wm_run run;
        wb_arena_reset(&a);
        TRY(wl_get_run(s, O, test_uuid(1000 + i), &a, &run, err));
        run.status = WM_EXPIRED;
        run.ended_ms = 41 * DAY;
        TRY(COMMIT(s, *O, NULL, err, SET_RUN(&run)));
    }
    TRY(sweep_at(s, 80 * DAY, &n, err));
    wb_arena_reset(&a);
    TRY(wl_list_values(s, O, UPP_STR("later"), (struct upp_str){0}, 1000, &a, &later, &left, err));
    FAIL_UNLESS(left == 0);
    return 0;
}

TEST_WITH(log_sweep_comes_back_to_those_that_waited, .no_torture = "hundreds of commits")
{
    struct upp_err err = {0};
    CHECK_INT(in_memory(many_wait, &err), 0);
}

static void damage_index(struct wl_store *s)
{
    while (s->inner)
        s = s->inner;
    atomic_store(&s->index_state, WL_INDEX_DAMAGED);
}

/* Damage of the search index is no reason not to sweep. */
static WEFT_SUSPENDS int swept_without_index(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct talk k;
    struct wl_swept n;
    struct wm_run run;
    TRY(make_talk(s, &a, &k, err));
    TRY(finds(s, UPP_STR("thinking"), 1, err));
    damage_index(s);
    TRY(sweep_at(s, 40 * DAY, &n, err));
    FAIL_UNLESS(n.rows == 1);
    TRY(wl_get_run(s, O, k.run.id, &a, &run, err));
    FAIL_UNLESS(run.swept);
    return finds(s, UPP_STR("thinking"), 1, err);
}

TEST_WITH(log_sweep_needs_no_index, .no_torture = "many stores; the others are tortured in memory, below")
{
    CHECK(test_each_store(swept_without_index, NULL));
}

/* A row that cannot be read is passed over, and what comes behind it is swept. */
static WEFT_SUSPENDS int broken(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct talk k;
    struct wm_run run;
    struct wl_swept n;
    TRY(make_talk(s, &a, &k, err));
    struct wl_row bad = {.node = k.t.head, .pos = 0, .n_entries = 1, .format = WM_FORMAT, .body = UPP_STR("{\"?\":1}")};
    run = (struct wm_run){.id = test_uuid(78), .root = test_uuid(78), .version = 1, .status = WM_FAILED, .ended_ms = 5};
    TRY(COMMIT(s, *O, NULL, err, SET_ROW(&bad), ADD_RUN(&run)));
    TRY(sweep_at(s, 40 * DAY, &n, err));
    FAIL_UNLESS(n.damaged == 1);
    TRY(wl_get_run(s, O, k.run.id, &a, &run, err));
    FAIL_UNLESS(!run.swept);
    TRY(wl_get_run(s, O, test_uuid(78), &a, &run, err));
    FAIL_UNLESS(run.swept);
    return 0;
}

TEST_WITH(log_sweep_passes_over_a_broken_row, .no_torture = "many stores; tortured in memory, below")
{
    CHECK(test_each_store(broken, NULL));
}

/* ---- The audit of deleted threads ------------------------------------------------------------ */

enum { NOTES = 600, KEPT = 3 };

/* How many notes there are, and whether the newest are among them. */
static WEFT_SUSPENDS int count_notes(struct wl_store *s, size_t *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_value *list;
    return wl_list_values(s, O, UPP_STR(WL_AUDIT), (struct upp_str){0}, 1000, &a, &list, ret, err);
}

static WEFT_SUSPENDS int audit_goes(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct wl_swept n;
    size_t left;
    for (unsigned i = 0; i < NOTES; i++) {
        struct wl_thread t = {.id = test_uuid(i + 1), .tree = test_uuid(i + 1)};
        struct wl_value note;
        TRY(wl_deleted_note(O, &t, i % (NOTES / KEPT) ? DAY : 300 * DAY, &a, &note, err));
        note.space = UPP_STR(WL_AUDIT);
        TRY(COMMIT(s, *O, NULL, err, PUT_VALUE(&note)));
    }
    TRY(sweep_at(s, 300 * DAY, &n, err));
    TRY(count_notes(s, &left, err));
    FAIL_UNLESS(left == NOTES && !n.more); /* a year has not passed */
    for (unsigned i = 0; i < 8; i++)
        TRY(sweep_at(s, 400 * DAY, &n, err));
    TRY(count_notes(s, &left, err));
    FAIL_UNLESS(left == KEPT && !n.more);
    TRY(sweep_at(s, 700 * DAY, &n, err));
    TRY(count_notes(s, &left, err));
    FAIL_UNLESS(left == 0);
    return 0;
}

TEST_WITH(log_sweep_forgets_who_deleted_a_thread, .no_torture = "hundreds of commits")
{
    CHECK(test_each_store(audit_goes, NULL));
}

/* ---- Blobs ----------------------------------------------------------------------------------- */

/* Sweeps what was erased so long after now, and is there a piece of this blob? */
static WEFT_SUSPENDS int erased_is_left(struct wl_store *s, int64_t later_ms, const struct wl_blob_key *key,
                                        bool *is_left, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_piece piece;
    bool more;
    TRY(wl_sweep_erased(s, O, wb_wall_ms() + later_ms, &more, err));
    FAIL_UNLESS(!more);
    int r = wl_get_piece(s, O, key, 0, &a, &piece, err);
    *is_left = r >= 0;
    return r == -UPP_ENOTFOUND ? 0 : r;
}

/* A call removes so many, and says that there are more. */
static WEFT_SUSPENDS int erased_in_batches(struct test_store *st, struct upp_err *err)
{
    enum { ERASED = WL_SWEEP_BATCH + 1 };
    static struct wl_piece pieces[ERASED];
    static struct wl_change changes[2 * ERASED]; /* not kept over another wait */
    static struct wl_ref refs[ERASED];
    bool more;
    for (uint8_t i = 0; i < ERASED; i++) {
        pieces[i] = (struct wl_piece){.key = {{9, i}}, .last = true, .bytes = UPP_STR("large")};
        refs[i] = (struct wl_ref){.blob = pieces[i].key};
        changes[i] = (struct wl_change)ADD_PIECE(&pieces[i]);
        changes[ERASED + i] = (struct wl_change)ADD_REF(&refs[i]);
    }
    TRY(test_commit(st->s, *O, changes, 2 * ERASED, NULL, err));
    for (size_t i = 0; i < ERASED; i++)
        changes[i] = (struct wl_change)DROP_REF(&refs[i]);
    TRY(test_commit(st->s, *O, changes, ERASED, NULL, err));
    for (int i = 0; i < 2; i++) {
        TRY(wl_sweep_erased(st->s, O, wb_wall_ms() + 600000, &more, err));
        FAIL_UNLESS(more == (i == 0));
    }
    return 0;
}

/* What was erased goes at once; what is still being written, or is another row's too, stays. */
static WEFT_SUSPENDS int erased_blobs(struct test_store *st, struct upp_err *err)
{
    static const struct wb_uuid first = {{1}}, second = {{2}};
    static const char bytes[WL_PIECE];
    struct wl_store *s = st->s;
    struct wl_piece whole = {.key = {{7}}, .last = true, .bytes = UPP_STR("large")};
    struct wl_piece part = {.key = {{8}}, .bytes = wb_str(bytes, sizeof bytes)};
    struct wl_ref refs[2];
    struct wl_swept swept;
    int64_t now = wb_wall_ms();
    bool is_left;
    for (int i = 0; i < 2; i++)
        refs[i] = (struct wl_ref){.id = i ? second : first, .blob = whole.key};
    TRY(COMMIT(s, *O, NULL, err, ADD_PIECE(&whole), ADD_PIECE(&part), ADD_REF(&refs[0]), ADD_REF(&refs[1])));
    TRY(COMMIT(s, *O, NULL, err, DROP_REF(&refs[0])));
    TRY(erased_is_left(s, 600000, &whole.key, &is_left, err));
    FAIL_UNLESS(is_left);
    TRY(COMMIT(s, *O, NULL, err, DROP_REF(&refs[1])));
    TRY(erased_is_left(s, 1000, &whole.key, &is_left, err)); /* somebody may be reading it */
    FAIL_UNLESS(is_left);
    TRY(erased_is_left(s, 600000, &whole.key, &is_left, err));
    FAIL_UNLESS(!is_left);
    TRY(sweep_at(s, now + 3700000, &swept, err));
    FAIL_UNLESS(swept.blobs == 1); /* the unfinished one */
    return 0;
}

static WEFT_SUSPENDS int blobs(struct test_store *st, struct upp_err *err)
{
    struct wl_store *s = st->s;
    struct wl_piece piece = {.key = {{7}}, .last = true, .bytes = UPP_STR("large")};
    struct wl_swept n;
    int64_t now = wb_wall_ms();
    TRY(COMMIT(s, *O, NULL, err, ADD_PIECE(&piece)));
    TRY(sweep_at(s, now + 3500000, &n, err));
    FAIL_UNLESS(n.blobs == 0);
    TRY(sweep_at(s, now + 3700000, &n, err));
    FAIL_UNLESS(n.blobs == 1);
    TRY(sweep_at(s, now + 3700000, &n, err));
    FAIL_UNLESS(n.blobs == 0);
    return 0;
}

TEST_WITH(log_sweep_takes_loose_blobs, .no_torture = "many stores; tortured in memory, below")
{
    CHECK(test_each_store(blobs, NULL));
    CHECK(test_each_store(erased_blobs, NULL));
    CHECK(test_each_store(erased_in_batches, NULL));
}

TEST(log_sweep_in_memory)
{
    struct upp_err err = {0};
    CHECK_INT(in_memory(after_days, &err), 0);
    CHECK_INT(in_memory(in_turn, &err), 0);
    CHECK_INT(in_memory(journals, &err), 0);
    CHECK_INT(in_memory(blobs, &err), 0);
    CHECK_INT(in_memory(erased_blobs, &err), 0);
    CHECK_INT(in_memory(broken, &err), 0);
    CHECK_INT(in_memory(searched, &err), 0);
}
