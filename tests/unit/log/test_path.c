#include <stdio.h>

#include "log/lines.h"
#include "support/tree.h"

/* A thread whose node is written row by row. */
struct talk {
    struct wl_store *s;
    struct wb_arena a;
    struct wl_thread t;
    uint64_t pos;
    struct upp_err err;
};

static void talk_done(struct talk *k)
{
    tree_closep(&k->s);
    wb_arena_done(&k->a);
}

static int talk_open(struct talk *k)
{
    *k = (struct talk){.a = WB_ARENA(16u << 20)};
    int r = ws_memory_open(&k->s, &k->err);
    return r < 0 ? r : wl_thread_new(k->s, &tree_owner, NULL, &k->a, &k->t, &k->err);
}

static int add(struct talk *k, struct wb_uuid run, struct wm_row row)
{
    return tree_row(k->s, &tree_owner, k->t.head, &k->pos, run, &row, &k->err);
}

/* n messages in one row, called m0, m1 ... by their index. */
static int add_messages(struct talk *k, size_t n)
{
    char texts[8][16];
    struct upp_part parts[8];
    struct wm_entry e[8];
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "m%zu", wl_pos_index(k->pos) + i);
        e[i] = tree_says(UPP_ROLE_USER, &parts[i], wb_cstr(texts[i]));
    }
    return add(k, (struct wb_uuid){0}, (struct wm_row){.time_ms = 1, .entries = e, .n_entries = n});
}

static int tail(struct talk *k, uint32_t end, uint32_t max, struct wl_line **ret, size_t *n)
{
    struct wl_path path;
    struct wl_end at;
    int r = wl_node_end(k->s, &tree_owner, k->t.head, &at, &k->err);
    if (r >= 0)
        r = wl_path_open(k->s, &tree_owner, k->t.head, at.length, &k->a, &path, &k->err);
    return r < 0 ? r : wl_path_tail(k->s, &tree_owner, &path, end, max, &k->a, ret, n, &k->err);
}

static const struct wb_uuid run_1 = {{1}}, run_2 = {{2}};

/* Rows of 1 to 8 entries with empty ones between them: every tail, straddling rows at both ends. */
TEST_WITH(log_path_gives_every_tail, .no_torture = "1,500 tails: the next test takes the same ways once")
{
    WB_CLEANUP(talk_done) struct talk k;
    CHECK(talk_open(&k) == 0);
    for (size_t i = 1; i <= 8; i++) {
        for (size_t empty = 0; empty < i % 4; empty++)
            CHECK(add(&k, run_1, (struct wm_row){.time_ms = 1, .state = UPP_STR("{}")}) == 0);
        CHECK(add_messages(&k, i) == 0);
    }
    CHECK(add(&k, run_1, (struct wm_row){.time_ms = 1}) == 0);
    for (uint32_t end = 0; end <= 38; end++)
        for (uint32_t max = 0; max <= 38; max++) {
            struct wl_line *lines;
            size_t n;
            uint32_t stop = end < 36 ? end : 36, count = max < stop ? max : stop;
            test_note("end %u, max %u", end, max);
            CHECK(tail(&k, end, max, &lines, &n) == 0);
            CHECK_INT(n, count);
            for (size_t i = 0; i < n; i++) {
                char want[16];
                (void)snprintf(want, sizeof want, "m%zu", stop - count + i);
                CHECK(lines[i].node == k.t.head && lines[i].index == stop - count + i);
                CHECK_STR(lines[i].entry.message.parts[0].text, wb_cstr(want));
            }
            wb_arena_reset(&k.a);
        }
}

/* Results in rows before, in the same row, twice; other rows between them; asked for with and without those rows. */
TEST(log_path_joins_results_that_stand_before)
{
    WB_CLEANUP(talk_done) struct talk k;
    struct upp_str refs[] = {UPP_STR("c2"), UPP_STR("c1"), UPP_STR("c3"), UPP_STR("c0")};
    static struct wm_event one[2], again[2], rest[2]; /* too large for a frame */
    struct wm_entry shows = tree_shows(refs, WB_LEN(refs));
    struct wl_line *lines, found;
    size_t n;
    one[0] = tree_ended(UPP_STR("c0"), UPP_STR("0"));
    one[1] = tree_ended(UPP_STR("c1"), UPP_STR("\"one\""));
    again[0] = tree_ended(UPP_STR("c1"), UPP_STR("\"late\""));
    again[1] = tree_ended(UPP_STR("c9"), UPP_STR("9"));
    rest[0] = tree_ended(UPP_STR("c2"), UPP_STR("[2]"));
    rest[1] = tree_ended(UPP_STR("c3"), UPP_STR("null"));
    rest[1].tool_ended.outcome = WM_ERROR;
    CHECK(talk_open(&k) == 0 && add_messages(&k, 2) == 0);
    CHECK(add(&k, run_1, (struct wm_row){.time_ms = 1, .records = one, .n_records = 2}) == 0);
    for (size_t i = 0; i < 70; i++) /* more than a batch */
        CHECK(add(&k, run_1, (struct wm_row){.time_ms = 1}) == 0);
    CHECK(add(&k, run_1, (struct wm_row){.time_ms = 1, .records = again, .n_records = 2}) == 0);
    CHECK(add(&k, run_1,
              (struct wm_row){.time_ms = 1, .entries = &shows, .n_entries = 1, .records = rest, .n_records = 2}) == 0);
    CHECK(add_messages(&k, 1) == 0);
    for (uint32_t max = 1; max <= 4; max++) {
        test_note("max %u", max);
        CHECK(tail(&k, 3, max, &lines, &n) == 0);
        CHECK_INT(n, max < 3 ? max : 3);
        const struct upp_message *m = &lines[n - 1].entry.message;
        CHECK(m->n_parts == 4 && wb_uuid_eq(lines[n - 1].run, run_1));
        CHECK_STR(m->parts[0].id, UPP_STR("c2"));
        CHECK_STR(m->parts[0].text, UPP_STR("[2]"));
        CHECK_STR(m->parts[1].text, UPP_STR("\"late\""));
        CHECK_STR(m->parts[2].text, UPP_STR("null"));
        CHECK_STR(m->parts[3].text, UPP_STR("0"));
        CHECK(!m->parts[0].is_error && m->parts[2].is_error);
        CHECK_STR(m->parts[1].name, UPP_STR("t"));
    }
    CHECK(wl_entry_find(k.s, &tree_owner, lines[n - 1].id, &k.a, &found, &k.err) == 0);
    CHECK(found.entry.message.n_parts == 4 && found.index == 2);
}

TEST(log_path_says_when_a_result_is_missing)
{
    struct wm_event one[] = {tree_ended(UPP_STR("c1"), UPP_STR("1"))};
    struct upp_str refs[] = {UPP_STR("c1")};
    struct wm_entry shows = tree_shows(refs, 1);
    const char *sentence = "entry 0: a result that it shows is not in the rows of its run";
    for (int i = 0; i < 3; i++) { /* of another run; of none at all; and it is there */
        WB_CLEANUP(talk_done) struct talk k;
        struct wl_line *lines;
        size_t n;
        CHECK(talk_open(&k) == 0);
        if (i != 1)
            CHECK(add(&k, i == 0 ? run_2 : run_1, (struct wm_row){.time_ms = 1, .records = one, .n_records = 1}) == 0);
        CHECK(add(&k, run_1, (struct wm_row){.time_ms = 1, .entries = &shows, .n_entries = 1}) == 0);
        CHECK_INT(tail(&k, 1, 1, &lines, &n), i == 2 ? 0 : -UPP_ESTORE);
        CHECK(i == 2 || wb_str_ends(wb_cstr(k.err.msg), wb_cstr(sentence)));
    }
}

TEST_WITH(log_path_many_results_are_joined_in_linear_time, .no_torture = "16384 results, and nothing new")
{
    enum { N = 16384 };
    WB_CLEANUP(talk_done) struct talk k;
    struct wl_line *lines;
    size_t n;
    CHECK(talk_open(&k) == 0);
    struct upp_str *refs = wb_new_n(&k.a, struct upp_str, N);
    struct wm_event *ended = wb_new_n(&k.a, struct wm_event, N);
    CHECK(refs && ended);
    for (size_t i = 0; i < N; i++) {
        refs[i] = wb_arena_printf(&k.a, "call_%zu", i * 7919 % N);
        ended[N - 1 - i] = tree_ended(refs[i], refs[i]);
        ended[N - 1 - i].tool_ended.result = UPP_STR("1");
    }
    struct wm_entry shows = tree_shows(refs, N);
    CHECK(add(&k, run_1, (struct wm_row){.time_ms = 1, .records = ended, .n_records = N}) == 0);
    CHECK(add(&k, run_1, (struct wm_row){.time_ms = 1, .entries = &shows, .n_entries = 1}) == 0);
    CHECK(tail(&k, 1, 1, &lines, &n) == 0 && n == 1);
    CHECK_INT(lines[0].entry.message.n_parts, N);
    CHECK_STR(lines[0].entry.message.parts[N - 1].id, refs[N - 1]);
}

TEST(log_entry_is_found_by_its_id_and_attempt)
{
    WB_CLEANUP(talk_done) struct talk k;
    const struct wl_owner foreign = {UPP_STR("other"), {0}};
    struct wl_line *lines, found;
    size_t n;
    struct upp_part part;
    struct wm_entry e = tree_says(UPP_ROLE_ASSISTANT, &part, UPP_STR("third try"));
    e.attempt = 2;
    CHECK(talk_open(&k) == 0 && add_messages(&k, 3) == 0);
    CHECK(add(&k, run_1, (struct wm_row){.time_ms = 1}) == 0);
    CHECK(add(&k, run_1, (struct wm_row){.time_ms = 1, .entries = &e, .n_entries = 1}) == 0);
    CHECK(add_messages(&k, 2) == 0 && add(&k, run_1, (struct wm_row){.time_ms = 1}) == 0);
    CHECK(tail(&k, 6, 6, &lines, &n) == 0 && n == 6);
    for (size_t i = 0; i < n; i++) {
        test_note("entry %zu", i);
        CHECK(wl_entry_find(k.s, &tree_owner, lines[i].id, &k.a, &found, &k.err) == 0);
        CHECK(found.index == i && found.node == k.t.head && wb_uuid_eq(found.id, lines[i].id));
        CHECK_STR(found.entry.message.parts[0].text, lines[i].entry.message.parts[0].text);
        CHECK_INT(wl_entry_find(k.s, &foreign, lines[i].id, &k.a, &found, &k.err), -UPP_ENOTFOUND);
    }
    struct wm_id id = {.node = k.t.head, .index = 3, .noun = WM_NOUN_ENTRY};
    for (id.attempt = 0; id.attempt < 4; id.attempt++)
        CHECK_INT(wl_entry_find(k.s, &tree_owner, wm_id_uuid(id), &k.a, &found, &k.err),
                  id.attempt == 2 ? 0 : -UPP_ENOTFOUND);
    static const struct wm_id none[] = {
        {.index = 6, .noun = WM_NOUN_ENTRY},
        {.index = UINT32_MAX, .noun = WM_NOUN_ENTRY},
        {.index = 0, .noun = WM_NOUN_TURN},
        {.index = 0, .noun = WM_NOUN_STEP},
        {.index = 0, .noun = WM_NOUN_ENTRY, .part = 1},
    };
    for (size_t i = 0; i < WB_LEN(none); i++) {
        id = none[i];
        id.node = k.t.head;
        test_note("none %zu", i);
        CHECK_INT(wl_entry_find(k.s, &tree_owner, wm_id_uuid(id), &k.a, &found, &k.err), -UPP_ENOTFOUND);
    }
    id = (struct wm_id){.node = 12345, .noun = WM_NOUN_ENTRY};
    CHECK_INT(wl_entry_find(k.s, &tree_owner, wm_id_uuid(id), &k.a, &found, &k.err), -UPP_ENOTFOUND);
    CHECK_INT(wl_entry_find(k.s, &tree_owner, k.t.id, &k.a, &found, &k.err), -UPP_ENOTFOUND); /* of another version */
}

/* ---- Trees that are none, from a store that lies ---------------------------------------------------------------- */

/* Whatever parents a store gives, we do not walk for ever. */

static size_t ring_n, ring_last; /* the parent of the last one; SIZE_MAX: it is a root */

static int ring_get(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, void *ret, struct upp_err *err)
{
    uint64_t key = ask->number;
    (void)s, (void)a;
    if (ask->what != WL_GET_NODE || key == 0 || key > ring_n)
        return upp_fail(err, UPP_ENOTFOUND, "none");
    size_t i = (size_t)key - 1;
    *(struct wl_node *)ret =
        (struct wl_node){.key = key, .parent = i + 1 < ring_n ? key + 1 : ring_last, .parent_length = 1};
    return 0;
}

TEST(log_path_is_neither_endless_nor_too_long)
{
    static const struct wl_store_ops ops = {.size = sizeof ops, .get = ring_get};
    struct wl_store s = {.ops = &ops};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    struct wl_path path;
    struct upp_err err = {0};
    ring_n = WL_PATH_READ;
    ring_last = 0;
    CHECK_INT(wl_path_open(&s, &tree_owner, 1, 7, &a, &path, &err), 0);
    CHECK(path.n == WL_PATH_READ && path.length == WL_PATH_READ - 1 + 7);
    CHECK(path.spans[0].before == 0 && path.spans[path.n - 1].before == WL_PATH_READ - 1);
    CHECK(path.spans[path.n - 1].node == 1 && path.spans[0].node == WL_PATH_READ);
    ring_n++;
    CHECK_INT(wl_path_open(&s, &tree_owner, 1, 7, &a, &path, &err), -UPP_ELIMIT);
    static const struct {
        size_t n, last;
    } cycles[] = {{1, 1}, {2, 1}, {2, 2}, {5, 3}, {1000, 1}, {1000, 1000}, {1500, 700}};
    for (size_t i = 0; i < WB_LEN(cycles); i++) {
        ring_n = cycles[i].n;
        ring_last = cycles[i].last;
        test_note("cycle %zu", i);
        CHECK_INT(wl_path_open(&s, &tree_owner, 1, 7, &a, &path, &err), -UPP_ESTORE);
        CHECK(wb_str_ends(wb_cstr(err.msg), UPP_STR("is its own ancestor")));
    }
    ring_n = 3;
    ring_last = 9;
    CHECK_INT(wl_path_open(&s, &tree_owner, 1, 7, &a, &path, &err), -UPP_ESTORE);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("node 0000000000000003 has no parent 0000000000000009"));
    CHECK_INT(wl_path_open(&s, &tree_owner, 77, 7, &a, &path, &err), -UPP_ENOTFOUND);
    ring_n = 2;
    ring_last = 0;
    CHECK_INT(wl_path_open(&s, &tree_owner, 1, UINT32_MAX, &a, &path, &err), -UPP_ELIMIT);
}

/* A branch is refused before it exists; what an earlier version has made is read all the same. */
TEST_WITH(log_path_has_no_branch_too_many, .no_torture = "thousands of nodes: log_fork_shares takes the same ways")
{
    struct upp_part part;
    struct wm_entry e = tree_says(UPP_ROLE_USER, &part, UPP_STR("from the middle"));
    for (int more = 0; more < 3; more++) {
        WB_CLEANUP(talk_done) struct talk k;
        struct wl_thread f;
        struct wl_path path;
        struct wl_line *lines;
        size_t n;
        uint32_t index;
        test_note("%d more", more);
        CHECK(talk_open(&k) == 0 && add_messages(&k, 2) == 0);
        CHECK(tree_deepen(k.s, &tree_owner, &k.t, 2, WL_PATH_NODES - 3 + more, &k.err) == 0);
        CHECK(wl_append(k.s, &tree_owner, &k.t, &e, 1, &index, &k.err) == 0);
        CHECK(wl_append(k.s, &tree_owner, &k.t, &e, 1, &index, &k.err) == 0);
        CHECK(wl_fork(k.s, &k.t, k.t.head, 1, &k.a, &f, &k.err) == 0);
        struct wl_thread was = f;
        CHECK_INT(wl_append(k.s, &tree_owner, &f, &e, 1, &index, &k.err), more < 2 ? 0 : -UPP_ELIMIT);
        if (more == 2) {
            CHECK(wb_str_find(wb_cstr(k.err.msg), UPP_STR("4095 times in one line"), 0) != SIZE_MAX);
            CHECK(f.head == was.head && f.at == was.at);
        }
        CHECK(wl_thread_path(k.s, &tree_owner, &f, &k.a, &path, &k.err) == 0);
        CHECK_INT(path.n, more == 2 ? WL_PATH_NODES : WL_PATH_NODES - 1 + more);
        CHECK_INT(path.length, more == 2 ? 3 : 4);
        CHECK(wl_path_tail(k.s, &tree_owner, &path, path.length, 4, &k.a, &lines, &n, &k.err) == 0 && n == path.length);
        CHECK(wl_append(k.s, &tree_owner, &k.t, &e, 1, &index, &k.err) == 0); /* the thread itself goes on */
    }
    WB_CLEANUP(talk_done) struct talk k;
    struct wl_path path;
    CHECK(talk_open(&k) == 0 && add_messages(&k, 1) == 0);
    CHECK(tree_deepen(k.s, &tree_owner, &k.t, 1, WL_PATH_NODES + 100, &k.err) == 0);
    CHECK(wl_thread_path(k.s, &tree_owner, &k.t, &k.a, &path, &k.err) == 0 && path.n == WL_PATH_NODES + 101);
}

TEST(log_path_says_when_the_node_is_shorter)
{
    WB_CLEANUP(talk_done) struct talk k;
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    CHECK(talk_open(&k) == 0 && add_messages(&k, 2) == 0);
    for (uint32_t more = 3; more < 5; more++) {
        CHECK(wl_path_open(k.s, &tree_owner, k.t.head, more, &k.a, &path, &k.err) == 0);
        CHECK(wl_path_tail(k.s, &tree_owner, &path, 2, 2, &k.a, &lines, &n, &k.err) == 0 && n == 2);
        CHECK_INT(wl_path_tail(k.s, &tree_owner, &path, more, 1, &k.a, &lines, &n, &k.err), -UPP_ESTORE);
    }
    const struct wl_owner foreign = {UPP_STR("other"), {0}};
    CHECK_INT(wl_path_open(k.s, &foreign, k.t.head, 2, &k.a, &path, &k.err), -UPP_ENOTFOUND);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

TEST(log_fork_shares_and_does_not_grow_chains)
{
    WB_CLEANUP(talk_done) struct talk k;
    struct wl_thread f, g, h;
    struct wl_node n;
    struct wl_path path;
    struct wl_end end;
    struct upp_part part;
    struct wm_entry e = tree_says(UPP_ROLE_USER, &part, UPP_STR("of the fork"));
    uint32_t index;
    CHECK(talk_open(&k) == 0 && add_messages(&k, 3) == 0);
    CHECK(wl_fork(k.s, &k.t, k.t.head, 2, &k.a, &f, &k.err) == 0);
    CHECK(wb_uuid_eq(f.tree, k.t.tree) && !wb_uuid_eq(f.id, k.t.id) && f.head == k.t.head && f.at == 3);
    CHECK(wl_thread_path(k.s, &tree_owner, &f, &k.a, &path, &k.err) == 0 && path.n == 1 && path.length == 2);
    for (size_t i = 0; i < 100; i++) { /* forks of forks stand beside each other */
        CHECK(wl_fork(k.s, &f, f.head, f.at - 1, &k.a, &g, &k.err) == 0);
        CHECK(g.head == k.t.head && g.at == 3);
        f = g;
    }
    CHECK(wl_append(k.s, &tree_owner, &f, &e, 1, &index, &k.err) == 0); /* now it has a node of its own */
    CHECK(index == 0 && f.head != k.t.head && f.at == 0);
    CHECK(wl_get_node(k.s, &tree_owner, f.head, &n, &k.err) == 0);
    CHECK(n.parent == k.t.head && n.parent_length == 2);
    CHECK(wl_node_end(k.s, &tree_owner, f.head, &end, &k.err) == 0);
    CHECK(end.length == 1 && end.time_ms >= 1); /* not before the entry it follows */
    CHECK(wl_thread_path(k.s, &tree_owner, &f, &k.a, &path, &k.err) == 0 && path.n == 2 && path.length == 3);

    /* From before everything, of a node that has a parent: beside it. */
    CHECK(wl_fork(k.s, &f, f.head, 0, &k.a, &h, &k.err) == 0);
    CHECK(wl_append(k.s, &tree_owner, &h, &e, 1, &index, &k.err) == 0);
    CHECK(wl_get_node(k.s, &tree_owner, h.head, &n, &k.err) == 0);
    CHECK(n.parent == k.t.head && n.parent_length == 2);

    CHECK_INT(wl_fork(k.s, &k.t, k.t.head, 4, &k.a, &g, &k.err), -UPP_EINVALID);
    CHECK_INT(wl_fork(k.s, &k.t, f.head, 2, &k.a, &g, &k.err), -UPP_EINVALID);
    CHECK_INT(wl_fork(k.s, &k.t, 12345, 0, &k.a, &g, &k.err), -UPP_ENOTFOUND);
    CHECK(wl_thread_new(k.s, &tree_owner, NULL, &k.a, &g, &k.err) == 0);
    CHECK_INT(wl_fork(k.s, &g, k.t.head, 2, &k.a, &h, &k.err), -UPP_EINVALID); /* of another tree */
    struct wl_thread foreign = k.t;
    foreign.owner.tenant = UPP_STR("other");
    CHECK_INT(wl_fork(k.s, &foreign, k.t.head, 2, &k.a, &h, &k.err), -UPP_ENOTFOUND);
}
