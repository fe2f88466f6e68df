/* Threads with deleted messages go on: what the model is told then, and what of the run before can be read. */
#include "log/change.h"
#include "support/bed.h"

static struct wb_uuid message_id(uint64_t node, uint32_t index)
{
    return wm_id_uuid((struct wm_id){.node = node, .index = index, .noun = WM_NOUN_ENTRY});
}

/* Runs once, deletes the messages with these indices, runs again; what the model was told is in b->text. */
struct deletes {
    struct bed b; /* first */
    uint32_t indices[4];
    size_t n;
};

/* What must hold of any store holds of this one; and the checker knows what was deleted. */
static WEFT_SUSPENDS int check_store(struct bed *b, const struct deletes *d, uint64_t node, struct wb_uuid run,
                                     struct upp_err *err)
{
    struct checker c;
    checker_init(&c, rig_owner);
    struct checker_start s = {.run = run, .thread = b->thread, .input = UPP_STR("first question"), .durable = true};
    int r = checker_acked_start(&c, &s);
    if (r >= 0)
        r = checker_excuse(&c, b->thread);
    for (size_t i = 0; r >= 0 && i < d->n; i++)
        r = checker_acked_message_delete(&c, message_id(node, d->indices[i]));
    if (r >= 0)
        r = checker_check(&c, b->place.rig.store, true, err);
    if (r >= 0) {
        r = checker_acked_message_delete(&c, message_id(node, 4)); /* it would see one that is not */
        if (r >= 0 && checker_check(&c, b->place.rig.store, true, NULL) != -UPP_EBUG)
            r = upp_fail(err, UPP_EBUG, "the checker sees nothing");
    }
    checker_done(&c);
    return r;
}

static WEFT_SUSPENDS int delete_and_go_on(struct bed *b, struct upp_err *err)
{
    struct deletes *d = (struct deletes *)(void *)b;
    struct wl_store *s = b->place.rig.store;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wl_thread t;
    struct wm_run run;
    TRY(bed_run(b, "first question", false, err));
    TRY(wl_get_thread(s, &rig_owner, b->thread, &a, &t, err));
    struct wb_uuid before = b->run;
    for (size_t i = 0; i < d->n; i++)
        TRY(wl_message_delete(s, &rig_owner, &t, message_id(t.head, d->indices[i]), UPP_STR(""), err));
    b->n_text = 0;
    TRY(bed_run(b, "second question", true, err));
    TRY(wl_get_run(s, &rig_owner, before, &a, &run, err));
    bed_say(b, "events %s\n", run.swept ? "swept" : "there");
    TRY(check_store(b, d, t.head, before, err));
    struct wr_reader *rd = NULL;
    int r = wr_reader_open(b->place.rig.engine, &rig_owner, before, NULL, &rd, err);
    wr_reader_close(rd);
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    FAIL_UNLESS((r == -UPP_ENOTFOUND) == run.swept);
    return rig_well_formed(s, &rig_owner, b->thread, err);
}

#define TOOLS                                                                                                          \
    SCRIPT("{\"when\":{\"contains\":\"first\"},\"parts\":[" TEXT("Let me see.") "," CALL(                              \
        "c1", "add") "]},"                                                                                             \
                     "{\"when\":{\"tool_result\":\"add\"},\"parts\":[" TEXT(                                           \
                         "It is 3.") "]},"                                                                             \
                                     "{\"when\":{\"contains\":\"second\"},\"parts\":[" TEXT("Yes.") "]}")

#define DELETES(...)                                                                                                   \
    static struct deletes d;                                                                                           \
    d = (struct deletes){.b = {.act = delete_and_go_on, .place.script = TOOLS}};                                       \
    static struct bed *spied = &d.b;                                                                                   \
    const struct weft_middleware list[] = {BED_SPY(&spied)};                                                           \
    const uint32_t which[] = {__VA_ARGS__};                                                                            \
    d.b.list = list;                                                                                                   \
    d.b.n = 1;                                                                                                         \
    d.n = WB_LEN(which);                                                                                               \
    memcpy(d.indices, which, sizeof which);                                                                            \
    BED_PLAYS(&d.b)

TEST(run_after_a_deleted_answer)
{
    DELETES(3);
    CHECK_STR(wb_cstr(d.b.text), UPP_STR("told: u<first question> a<Let me see.><add{}> t<add0> u<second question>\n"
                                         "events swept\n"));
}

TEST(run_after_a_deleted_message_with_calls)
{
    DELETES(1);
    CHECK_STR(wb_cstr(d.b.text),
              UPP_STR("told: u<first question> a<add{}> t<add\"erased\"> a<It is 3.> u<second question>\n"
                      "events swept\n"));
}

TEST(run_after_deleted_results)
{
    DELETES(2);
    CHECK_STR(wb_cstr(d.b.text),
              UPP_STR("told: u<first question> a<Let me see.><add{}> t<add\"erased\"> a<It is 3.> u<second question>\n"
                      "events there\n"));
}

/* No provider takes a history that begins with an answer. */
TEST(run_after_a_deleted_question)
{
    DELETES(0);
    CHECK_STR(wb_cstr(d.b.text),
              UPP_STR("told: u<[erased]> a<Let me see.><add{}> t<add0> a<It is 3.> u<second question>\n"
                      "events there\n"));
}

TEST(run_after_a_deleted_question_and_answer)
{
    DELETES(0, 3);
    CHECK_STR(wb_cstr(d.b.text), UPP_STR("told: u<[erased]> a<Let me see.><add{}> t<add0> u<second question>\n"
                                         "events swept\n"));
}

TEST(run_after_everything_was_deleted)
{
    DELETES(0, 1, 2, 3);
    CHECK_STR(wb_cstr(d.b.text), UPP_STR("told: u<[erased]> a<add{}> t<add\"erased\"> u<second question>\n"
                                         "events swept\n"));
}

static WEFT_SUSPENDS int delete_busy(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wl_store *s = p->rig.store;
    struct wr_started first, second, third;
    struct wl_thread t;
    struct wm_run run;
    TRY(place_start(p, &first, err));
    TRY(place_start_on(p, first.thread, WR_ENQUEUE, &second, err));
    TRY(place_start_on(p, first.thread, WR_ENQUEUE, &third, err));
    FAIL_UNLESS(second.queued && third.queued);
    TRY(weft_sleep_ms(250, err)); /* in the middle of what it says */
    TRY(wl_get_thread(s, &rig_owner, first.thread, &a, &t, err));
    TRY(wr_thread_delete(p->rig.engine, &rig_owner, &t, NULL, err));
    FAIL_UNLESS(wl_get_thread(s, &rig_owner, first.thread, &a, &t, err) == -UPP_ENOTFOUND);
    const struct wb_uuid ids[] = {first.run, second.run, third.run};
    for (size_t i = 0; i < WB_LEN(ids); i++) {
        TRY(place_stored(p, ids[i], &run, err));
        FAIL_UNLESS(run.status == WM_CANCELED && (i == 0) == (run.started_ms != 0));
    }
    FAIL_UNLESS(wr_thread_delete(p->rig.engine, &rig_owner, &t, NULL, err) == -UPP_ENOTFOUND);
    return 0;
}

TEST(run_thread_is_deleted_while_it_works)
{
    PLAYS(.script = SLOWLY, .act = delete_busy);
}

/* A run that waits is ended, and with it the sub thread of its child; the tree says nothing any more. */
static WEFT_SUSPENDS int erase_waiting(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wl_store *s = p->rig.store;
    struct wr_started run;
    struct wr_erase erase = {.memory = &a};
    struct wl_thread t, *left;
    size_t n;
    uint8_t status;
    TRY(place_start(p, &run, err));
    TRY(place_await(p, run.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(wl_get_thread(s, &rig_owner, run.thread, &a, &t, err));
    TRY(wl_list_family_threads(s, &rig_owner, wl_family(t.tree), WB_UUID_NIL, 10, &a, &left, &n, err));
    FAIL_UNLESS(n == 2);
    TRY(wr_thread_delete(p->rig.engine, &rig_owner, &t, &erase, err));
    FAIL_UNLESS(erase.n == 0);
    TRY(wl_list_family_threads(s, &rig_owner, wl_family(t.tree), WB_UUID_NIL, 10, &a, &left, &n, err));
    FAIL_UNLESS(n == 0);
    struct wl_range range = {.node = t.head, .to = UINT64_MAX >> 1};
    struct wl_rows rows;
    TRY(wl_store_rows(s, &rig_owner, &range, &a, &rows, err));
    for (size_t i = 0; i < rows.n; i++)
        FAIL_UNLESS(wb_str_find(rows.p[i].body, UPP_STR("Ask."), 0) == SIZE_MAX);
    return 0;
}

TEST(run_thread_is_erased_while_a_child_waits)
{
    PLAYS(.script = SCRIPT(REPLY(TEXT("Ask.") "," CALL("c1", "ask_picker")) "," REPLY(TEXT("done"))),
          .picker = SCRIPT(REPLY(CALL("p1", "pick")) "," REPLY(TEXT("picked"))), .act = erase_waiting);
}
