/* Messages that are hidden and erased, in every store. */
#include "support/said.h"

#define IN_MEMORY "many stores; what is above them is tortured over the one in memory, below"

/* ---- One by one ------------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int each(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct talk                               k;
    struct wl_store                          *s = st->s;
    struct wl_line                            line;
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
    struct talk                               k;
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
    struct talk                               k;
    struct wl_store                          *s = st->s;
    struct wl_thread                          fork;
    struct wb_uuid                            none = {{0}}, run = test_uuid(5);
    struct wl_owner                           eve = {UPP_STR("evil"), UPP_STR("")};
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
    struct wl_thread                          t;
    uint64_t                                  pos = 0;
    struct upp_part                           part;
    struct upp_str                            call  = UPP_STR("c1");
    struct wb_uuid                            run   = test_uuid(3);
    struct wm_entry                           asks  = tree_says(UPP_ROLE_ASSISTANT, &part, UPP_STR("asks"));
    struct wm_event                           ended = tree_ended(call, UPP_STR("\"result\""));
    struct wm_row                             row   = {.time_ms = 1, .entries = &asks, .n_entries = 1};
    part                                            = (struct upp_part){.kind = UPP_PART_CALL, .id = call};
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
    CHECK(test_each_store(many, NULL));
}

/* ---- Two at once ------------------------------------------------------------------------------------------- */

/* Another message of the same row is deleted first, before the commit: both stay deleted. */
struct rival {
    struct wl_store_ops        ops; /* first */
    const struct wl_store_ops *real;
    struct wl_thread           t;
    struct wb_uuid             other;
};

static WEFT_SUSPENDS int rival_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    const struct rival *v = (const struct rival *)(const void *)s->ops;
    s->ops                = v->real;
    int r                 = wl_message_delete(s, O, &v->t, v->other, UPP_STR(""), err);
    return r < 0 ? r : v->real->commit(s, c, err);
}

static WEFT_SUSPENDS int race(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_store                          *s = st->s;
    struct rival                              v = {.real = s->ops, .ops = *s->ops};
    struct upp_part                           p[2];
    uint32_t                                  index;
    struct wm_entry                           e[] = {tree_says(UPP_ROLE_USER, &p[0], UPP_STR("one")),
                                                               tree_says(UPP_ROLE_USER, &p[1], UPP_STR("two"))};
    TRY(wl_thread_new(s, O, NULL, &a, &v.t, err));
    TRY(wl_append(s, O, &v.t, e, 2, &index, err));
    struct wb_uuid mine = wm_id_uuid((struct wm_id){.node = v.t.head, .index = 1, .noun = WM_NOUN_ENTRY});
    v.other             = wm_id_uuid((struct wm_id){.node = v.t.head, .noun = WM_NOUN_ENTRY});
    v.ops.commit        = rival_commit;
    s->ops              = &v.ops;
    int r               = wl_message_delete(s, O, &v.t, mine, UPP_STR(""), err);
    s->ops              = v.real;
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
    struct wl_thread                          t, fork;
    struct upp_part                           p[3];
    char                                      id[WB_UUID_TEXT + 1];
    uint32_t                                  index;
    struct wm_entry                           e[] = {tree_says(UPP_ROLE_USER, &p[0], UPP_STR("one")),
                                                               tree_says(UPP_ROLE_ASSISTANT, &p[1], UPP_STR("")),
                                                                         tree_says(UPP_ROLE_TOOL, &p[2], UPP_STR(""))};
    p[1]                                          = (struct upp_part){.kind = UPP_PART_CALL,
                                                                      .id = UPP_STR("c"), .name = UPP_STR("t"), .text = UPP_STR("{\"a\":1}")};
    p[2] = (struct upp_part){.kind = UPP_PART_RESULT, .id = UPP_STR("c"), .text = UPP_STR("\"found\"")};
    for (size_t i = 0; i < 3; i++)
        e[i].origin = WM_ORIGIN_IMPORT;
    TRY(wl_thread_new(st->s, O, NULL, &a, &t, err));
    TRY(wl_append(st->s, O, &t, e, 3, &index, err));
    TRY(wl_fork(st->s, &t, t.head, 3, &a, &fork, err));
    struct wl_value v = {.space = UPP_STR(WL_IMPORTED), .name = wb_uuid_text(t.id, id), .bytes = UPP_STR("one")};
    TRY(COMMIT(st->s, *O, NULL, err, PUT_VALUE(&v)));
    TRY(wl_message_delete(st->s, O, &fork,
                          wm_id_uuid((struct wm_id){.node = t.head, .index = 1, .noun = WM_NOUN_ENTRY}),
                          UPP_STR(""), err));
    SAYS(st->s, &fork, "m<one> x<{}> m<\"erased\">");
    FAIL_UNLESS(st->s->ops->value(st->s, O, v.space, v.name, &a, &v.bytes, err) == -UPP_ENOTFOUND);
    return 0;
}

TEST_WITH(log_delete_message_that_was_imported, .no_torture = IN_MEMORY)
{
    CHECK(test_each_store(imported, NULL));
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
