/* Messages that are hidden and erased, in every store. */
#include "log/search.h"
#include "support/said.h"

#define IN_MEMORY "many stores; what is above them is tortured over the one in memory, below"

/* ---- One by one ------------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int each(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct talk k;
    struct wl_store *s = st->s;
    struct wl_line line;
    TRY(make_talk(s, &a, &k, err));
    SAYS(s, &k.t, Q ASIDE ASKS SHOWS ANSWER);

    TRY(wl_message_delete(s, O, &k.t, k.id[4], UPP_STR(""), err)); /* the answer */
    SAYS(s, &k.t, Q ASIDE ASKS SHOWS " - e");
    TRY(nowhere(s, k.t.head, "answer", err));
    FAIL_UNLESS(wl_message_delete(s, O, &k.t, k.id[4], UPP_STR(""), err) == -UPP_ENOTFOUND); /* once */

    TRY(wl_message_delete(s, O, &k.t, k.id[3], UPP_STR(""), err)); /* results */
    SAYS(s, &k.t, Q ASIDE ASKS " x<\"erased\"><\"erased\"> - e e");
    TRY(nowhere(s, k.t.head, "one secret", err));

    TRY(wl_message_delete(s, O, &k.t, k.id[0], UPP_STR("asked for"), err)); /* an input, and what was made of it */
    SAYS(s, &k.t, "- -" ASKS " x<\"erased\"><\"erased\"> - e e e");
    TRY(nowhere(s, k.t.head, "aside", err));

    /* What stands in its place has its id, its role, its time. */
    TRY(wl_entry_find(s, O, k.id[0], &a, &line, err));
    FAIL_UNLESS(line.entry.message.role == UPP_ROLE_USER);
    FAIL_UNLESS(wb_str_eq(line.entry.erased.why, UPP_STR("asked for")) && line.entry.erased.time_ms > 9);
    TRY(wl_entry_find(s, O, k.id[5], &a, &line, err));
    FAIL_UNLESS(line.entry.kind == WM_ENTRY_EVENT && line.entry.message.time_ms >= 9);
    FAIL_UNLESS(wb_str_find(line.entry.data, UPP_STR("{\"type\":\"message.deleted\",\"data\":{\"entry\":\""), 0) == 0);
    return 0;
}

TEST_WITH(log_delete_message_hides_and_erases, .no_torture = IN_MEMORY)
{
    CHECK(test_each_store(each, NULL));
}

/* A message with calls takes along what they were asked and what came of them. */
static WEFT_SUSPENDS int calls(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct talk k;
    TRY(make_talk(st->s, &a, &k, err));
    TRY(wl_message_delete(st->s, O, &k.t, k.id[2], UPP_STR(""), err));
    SAYS(st->s, &k.t, Q ASIDE " x<{}><{}> m<\"erased\"><\"erased\">" ANSWER " e");
    TRY(nowhere(st->s, k.t.head, "one secret", err));
    TRY(nowhere(st->s, k.t.head, "thinking", err));
    TRY(nowhere(st->s, k.t.head, "\\\"a\\\"", err));
    return 0;
}

TEST_WITH(log_delete_message_with_calls_keeps_their_pairs, .no_torture = IN_MEMORY)
{
    CHECK(test_each_store(calls, NULL));
}

/* ---- What cannot be deleted ------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int refused(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct talk k;
    struct wl_store *s = st->s;
    struct wl_thread fork;
    struct wb_uuid none = {{0}}, run = test_uuid(5);
    struct wl_owner eve = {UPP_STR("evil"), UPP_STR("")};
    TRY(make_talk(s, &a, &k, err));
    TRY(COMMIT(s, *O, NULL, err, HOLD(k.t.head, none, run)));
    FAIL_UNLESS(wl_message_delete(s, O, &k.t, k.id[0], UPP_STR(""), err) == -UPP_EBUSY);
    TRY(COMMIT(s, *O, NULL, err, HOLD(k.t.head, run, none)));
    const struct wb_uuid nothing[] = {
        k.id[1] /* scaffolding */,
        k.id[6],
        test_uuid(1),
        none,
        k.t.id,
        wm_id_uuid((struct wm_id){.node = k.t.head, .noun = WM_NOUN_ENTRY, .attempt = 1}),
        wm_id_uuid((struct wm_id){.node = k.t.head, .noun = WM_NOUN_ENTRY, .part = 1}),
        wm_id_uuid((struct wm_id){.node = k.t.head, .noun = WM_NOUN_TURN}),
        wm_id_uuid((struct wm_id){.node = k.t.head, .noun = WM_NOUN_ENTRY, .index = UINT32_MAX})};
    for (size_t i = 0; i < WB_LEN(nothing); i++) {
        test_note("id %zu", i);
        FAIL_UNLESS(wl_message_delete(s, O, &k.t, nothing[i], UPP_STR(""), err) == -UPP_ENOTFOUND);
    }
    FAIL_UNLESS(wl_message_delete(s, &eve, &k.t, k.id[0], UPP_STR(""), err) == -UPP_ENOTFOUND);

    /* Through a fork: what it shares, and no more. Both lose it. */
    TRY(wl_fork(s, &k.t, k.t.head, 1, &a, &fork, err));
    FAIL_UNLESS(wl_message_delete(s, O, &fork, k.id[2], UPP_STR(""), err) == -UPP_ENOTFOUND);
    TRY(wl_message_delete(s, O, &fork, k.id[0], UPP_STR(""), err));
    SAYS(s, &fork, "-");
    SAYS(s, &k.t, "- -" ASKS SHOWS ANSWER " e");
    return 0;
}

TEST_WITH(log_delete_message_refuses_what_is_not_there, .no_torture = IN_MEMORY)
{
    CHECK(test_each_store(refused, NULL));
}

/* Results in more rows than one commit changes. */
static WEFT_SUSPENDS int many(struct test_store *st, struct upp_err *err)
{
    enum { MANY = WL_CHANGES };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_thread t;
    uint64_t pos = 0;
    struct upp_part part;
    struct upp_str call = UPP_STR("c1");
    struct wb_uuid run = test_uuid(3);
    struct wm_entry asks = tree_says(UPP_ROLE_ASSISTANT, &part, UPP_STR("asks"));
    struct wm_event ended = tree_ended(call, UPP_STR("\"result\""));
    struct wm_row row = {.time_ms = 1, .entries = &asks, .n_entries = 1};
    part = (struct upp_part){.kind = UPP_PART_CALL, .id = call};
    TRY(wl_thread_new(st->s, O, NULL, &a, &t, err));
    TRY(tree_row(st->s, O, t.head, &pos, run, &row, err));
    row = (struct wm_row){.time_ms = 1, .records = &ended, .n_records = 1};
    for (size_t i = 0; i < MANY; i++)
        TRY(tree_row(st->s, O, t.head, &pos, run, &row, err));
    struct wb_uuid id = wm_id_uuid((struct wm_id){.node = t.head, .noun = WM_NOUN_ENTRY});
    FAIL_UNLESS(wl_message_delete(st->s, O, &t, id, UPP_STR(""), err) == -UPP_ELIMIT);
    SAYS(st->s, &t, "m<>");
    return 0;
}

TEST_WITH(log_delete_message_changes_so_many_rows, .no_torture = "thousands of commits")
{
    struct upp_err err = {0};
    CHECK_INT(in_memory(many, &err), 0);
}

/* ---- Two at once ------------------------------------------------------------------------------------------- */

/* Another message of the same row is deleted first, before the commit: both stay deleted. */
struct rival {
    struct wl_store_ops ops; /* first */
    const struct wl_store_ops *real;
    struct wl_thread t;
    struct wb_uuid other;
};

static WEFT_SUSPENDS int rival_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    const struct rival *v = (const struct rival *)(const void *)s->ops;
    s->ops = v->real;
    int r = wl_message_delete(s, O, &v->t, v->other, UPP_STR(""), err);
    return r < 0 ? r : v->real->commit(s, c, err);
}

static WEFT_SUSPENDS int race(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct rival v = {.real = s->ops, .ops = *s->ops};
    struct upp_part p[2];
    uint32_t index;
    struct wm_entry e[] = {tree_says(UPP_ROLE_USER, &p[0], UPP_STR("one")),
                           tree_says(UPP_ROLE_USER, &p[1], UPP_STR("two"))};
    TRY(wl_thread_new(s, O, NULL, &a, &v.t, err));
    TRY(wl_append(s, O, &v.t, e, 2, &index, err));
    struct wb_uuid mine = wm_id_uuid((struct wm_id){.node = v.t.head, .index = 1, .noun = WM_NOUN_ENTRY});
    v.other = wm_id_uuid((struct wm_id){.node = v.t.head, .noun = WM_NOUN_ENTRY});
    v.ops.commit = rival_commit;
    s->ops = &v.ops;
    int r = wl_message_delete(s, O, &v.t, mine, UPP_STR(""), err);
    s->ops = v.real;
    TRY(r);
    SAYS(s, &v.t, "- - e e");
    return 0;
}

TEST_WITH(log_delete_message_looks_again_when_somebody_was_first, .no_torture = IN_MEMORY)
{
    CHECK(test_each_store(race, NULL));
}

/* ---- What was imported -------------------------------------------------------------------------------------- */

/* The checkpoints that came along are gone, also where it is deleted through a fork. */
static WEFT_SUSPENDS int imported(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_thread t, fork;
    struct upp_part p[3];
    char id[WB_UUID_TEXT + 1];
    uint32_t index;
    struct wm_entry e[] = {tree_says(UPP_ROLE_USER, &p[0], UPP_STR("one")),
                           tree_says(UPP_ROLE_ASSISTANT, &p[1], UPP_STR("")),
                           tree_says(UPP_ROLE_TOOL, &p[2], UPP_STR(""))};
    p[1] = (struct upp_part){
        .kind = UPP_PART_CALL, .id = UPP_STR("c"), .name = UPP_STR("t"), .text = UPP_STR("{\"a\":1}")};
    p[2] = (struct upp_part){.kind = UPP_PART_RESULT, .id = UPP_STR("c"), .text = UPP_STR("\"found\"")};
    for (size_t i = 0; i < 3; i++)
        e[i].origin = WM_ORIGIN_IMPORT;
    TRY(wl_thread_new(st->s, O, NULL, &a, &t, err));
    TRY(wl_append(st->s, O, &t, e, 3, &index, err));
    TRY(wl_fork(st->s, &t, t.head, 3, &a, &fork, err));
    struct wl_value v = {.space = UPP_STR(WL_IMPORTED), .name = wb_uuid_text(t.id, id), .bytes = UPP_STR("one")};
    TRY(COMMIT(st->s, *O, NULL, err, PUT_VALUE(&v)));
    TRY(wl_message_delete(st->s, O, &fork,
                          wm_id_uuid((struct wm_id){.node = t.head, .index = 1, .noun = WM_NOUN_ENTRY}), UPP_STR(""),
                          err));
    SAYS(st->s, &fork, "m<one> x<{}> m<\"erased\">");
    FAIL_UNLESS(wl_get_value(st->s, O, v.space, v.name, &a, &v.bytes, err) == -UPP_ENOTFOUND);
    return 0;
}

TEST_WITH(log_delete_message_that_was_imported, .no_torture = IN_MEMORY)
{
    CHECK(test_each_store(imported, NULL));
}

/* ---- What was made of it --------------------------------------------------------------------------------------- */

/* A talk whose run had a plan and a prompt, and did work beside it on a branch of a branch; behind it another run with
 * a summary of the question, one with a history that was rewritten; a fork behind the question with a summary, and one
 * before it that has nothing of it. */
struct made {
    struct talk k;
    struct wl_thread behind, beside;
    struct wm_run run;
    uint64_t work[2];
};

/* A branch with a prompt of the run that did the work there, which names another one if it is told to. */
static WEFT_SUSPENDS int add_work(struct wl_store *s, uint64_t under, uint32_t length, unsigned run, unsigned next,
                                  uint64_t *ret, struct upp_err *err)
{
    struct wl_node node, branch;
    struct upp_part part;
    uint64_t pos = 0;
    struct wm_entry e = tree_says(UPP_ROLE_USER, &part, UPP_STR("work secret"));
    struct wm_event started = {
        .kind = WM_TOOL_STARTED, .call.id = UPP_STR("b"), .tool_started = {.child = test_uuid(next), .child_node = 7}};
    struct wm_row row = {
        .time_ms = 10, .step = 1, .entries = &e, .n_entries = 1, .records = &started, .n_records = next ? 1 : 0};
    e.audience = WM_AUDIENCE_RUN;
    e.step = 1;
    TRY(wl_get_node(s, O, under, &node, err));
    TRY(wl_branch_make(&node, length, &branch, err));
    TRY(COMMIT(s, *O, NULL, err, ADD_NODE(&branch)));
    *ret = branch.key;
    return tree_row(s, O, branch.key, &pos, test_uuid(run), &row, err);
}

static WEFT_SUSPENDS int append(struct wl_store *s, struct wl_thread *t, struct upp_str text, struct upp_err *err)
{
    struct upp_part part;
    uint32_t index;
    struct wm_entry e = tree_says(UPP_ROLE_USER, &part, text);
    return wl_append(s, O, t, &e, 1, &index, err);
}

static struct wm_entry for_models(struct upp_part *part, const char *text, uint8_t audience, const char *phase)
{
    struct wm_entry e = tree_says(UPP_ROLE_USER, part, wb_cstr(text));
    e.audience = audience;
    e.phase = wb_cstr(phase);
    return e;
}

static WEFT_SUSPENDS int make_derived(struct wl_store *s, struct wb_arena *a, void *world, struct upp_err *err)
{
    struct made *m = world;
    struct wl_end end;
    struct upp_part p[4];
    struct wm_entry e[] = {for_models(&p[0], "prompt secret", WM_AUDIENCE_RUN, "step:1"),
                           for_models(&p[1], "summary secret", WM_AUDIENCE_MODEL, "summary"),
                           tree_says(UPP_ROLE_USER, &p[2], UPP_STR("kept")),
                           for_models(&p[3], "rewritten secret", WM_AUDIENCE_RUN, "history")};
    TRY(make_talk(s, a, &m->k, err));
    TRY(wl_node_end(s, O, m->k.t.head, &end, err));
    e[0].step = 1;
    e[1].data = UPP_STR("{\"through\":2,\"covers\":2}");
    m->run = m->k.run;
    m->run.id = m->run.root = test_uuid(78);
    struct wm_event work = {
        .kind = WM_TOOL_STARTED, .call.id = UPP_STR("b"), .tool_started = {.child = test_uuid(80), .child_node = 7}};
    struct wm_row rows[] = {{.time_ms = 10,
                             .records = &work,
                             .n_records = 1,
                             .step = 1,
                             .entries = e,
                             .n_entries = 1,
                             .state = UPP_STR("{\"step\":1,\"plan\":{\"goal\":\"plan secret\"},\"usage\":[1,2]}")},
                            {.time_ms = 11, .entries = e + 1, .n_entries = 2},
                            {.time_ms = 12, .entries = e + 3, .n_entries = 1}};
    TRY(COMMIT(s, *O, NULL, err, ADD_RUN(&m->run)));
    for (size_t i = 0; i < WB_LEN(rows); i++)
        TRY(tree_row(s, O, m->k.t.head, &end.pos, i ? m->run.id : m->k.run.id, &rows[i], err));
    TRY(add_work(s, m->k.t.head, 3, 80, 81, &m->work[0], err));
    TRY(add_work(s, m->work[0], 1, 81, 0, &m->work[1], err));
    TRY(wl_fork(s, &m->k.t, m->k.t.head, 1, a, &m->behind, err));
    TRY(append(s, &m->behind, UPP_STR("goes on"), err));
    TRY(wl_fork(s, &m->k.t, m->k.t.head, 0, a, &m->beside, err));
    TRY(append(s, &m->beside, UPP_STR("begins"), err));
    const struct wl_thread *forks[] = {&m->behind, &m->beside};
    for (size_t i = 0; i < WB_LEN(forks); i++) {
        e[1].data = i ? UPP_STR("{\"through\":1,\"covers\":1}") : UPP_STR("{\"covers\":1}");
        TRY(wl_node_end(s, O, forks[i]->head, &end, err));
        TRY(tree_row(s, O, forks[i]->head, &end.pos, test_uuid(79), &rows[1], err));
    }
    return 0;
}

static WEFT_SUSPENDS int delete_question(struct wl_store *s, void *world, struct upp_err *err)
{
    struct made *m = world;
    return wl_message_delete(s, O, &m->k.t, m->k.id[0], UPP_STR(""), err);
}

/* Nothing of it is left where the message is gone. */
static WEFT_SUSPENDS int derived_first(struct wl_store *s, void *world, struct upp_err *err)
{
    static const char *const all[] = {"prompt", "summary secret", "rewritten", "plan secret"};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct made *m = world;
    struct wl_line line;
    TRY(wl_entry_find(s, O, m->k.id[0], &a, &line, err));
    for (size_t i = 0; wm_is_erased(&line.entry) && i < WB_LEN(all); i++)
        TRY(nowhere(s, m->k.t.head, all[i], err));
    for (size_t i = 0; wm_is_erased(&line.entry) && i < WB_LEN(m->work); i++)
        TRY(nowhere(s, m->work[i], "secret", err));
    return wm_is_erased(&line.entry) ? nowhere(s, m->behind.head, "secret", err) : 0;
}

static WEFT_SUSPENDS int derived_gone(struct wl_store *s, void *world, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct made *m = world;
    struct wl_range range = {.node = m->k.t.head, .to = UINT64_MAX >> 1};
    struct wl_rows rows;
    struct wl_value *notes;
    struct wl_line line;
    size_t n;
    TRY(wl_entry_find(s, O, m->k.id[0], &a, &line, err));
    FAIL_UNLESS(wm_is_erased(&line.entry));
    TRY(derived_first(s, world, err));
    SAYS(s, &m->beside, "m<begins> m<summary secret> m<kept>");
    TRY(wl_store_rows(s, O, &range, &a, &rows, err));
    bool state = false;
    for (size_t i = 0; i < rows.n; i++)
        state |= wb_str_find(rows.p[i].body, UPP_STR("{\"step\":1,\"usage\":[1,2]}"), 0) != SIZE_MAX;
    FAIL_UNLESS(state);
    TRY(wl_reindex_pending(s, O, err)); /* where it died before */
    TRY(wl_list_values(s, O, UPP_STR(WL_REINDEX), (struct upp_str){0}, 10, &a, &notes, &n, err));
    FAIL_UNLESS(n == 0);
    return 0;
}

static WEFT_SUSPENDS int derived(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store *s = st->s;
    struct wb_uuid none = {{0}}, run = test_uuid(5);
    struct made m;
    TRY(make_derived(s, &a, &m, err));
    TRY(wl_message_delete(s, O, &m.k.t, m.k.id[4], UPP_STR(""), err)); /* the summary does not stand for the answer */
    SAYS(s, &m.k.t, Q ASIDE ASKS SHOWS " - - m<summary secret> m<kept> - e e");
    TRY(COMMIT(s, *O, NULL, err, HOLD(m.behind.head, none, run)));
    FAIL_UNLESS(delete_question(s, &m, err) == -UPP_EBUSY);
    SAYS(s, &m.k.t, Q ASIDE ASKS SHOWS " - - m<summary secret> m<kept> - e e");
    TRY(COMMIT(s, *O, NULL, err, HOLD(m.behind.head, run, none)));
    TRY(delete_question(s, &m, err));
    SAYS(s, &m.k.t, "- -" ASKS SHOWS " - - - m<kept> - e e e e");
    SAYS(s, &m.behind, "- m<goes on> - m<kept> e");
    return derived_gone(s, &m, err);
}

TEST_WITH(log_delete_message_takes_what_was_made_of_it, .no_torture = IN_MEMORY)
{
    CHECK(test_each_store(derived, NULL));
}

TEST_WITH(log_delete_message_with_what_was_made_of_it_dies_anywhere, .no_torture = "it dies by itself")
{
    static struct made m;
    struct upp_err err = {0};
    struct dying d = {make_derived, delete_question, derived_first, derived_gone, &m, 0};
    CHECK_INT(die_everywhere(&d, &err), 0);
    CHECK(d.deaths >= 6);
}

TEST(log_delete_message_with_what_was_made_of_it_in_memory)
{
    struct upp_err err = {0};
    CHECK_INT(in_memory(derived, &err), 0);
}

/* ---- Over the store in memory, where each allocation fails once ---------------------------------------------- */

TEST(log_delete_message_in_memory)
{
    struct upp_err err = {0};
    CHECK_INT(in_memory(each, &err), 0);
    CHECK_INT(in_memory(calls, &err), 0);
    CHECK_INT(in_memory(race, &err), 0);
    CHECK_INT(in_memory(imported, &err), 0);
}
