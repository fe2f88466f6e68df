/* A thread that was branched as often as it may be: what would branch it once more is refused, and changes nothing. */
#include <string.h>

#include "support/race_rig.h"
#include "support/tree.h"
#include "thread/position.h"
#include "thread/session_doc.h"

static WEFT_SUSPENDS int start(struct place *p, const struct wl_thread *t, struct wr_start what, struct wr_started *ret,
                               struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("again")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    what.owner = rig_owner;
    what.thread = t->id;
    what.agent = UPP_STR("main");
    what.input = &input;
    return wr_start(p->rig.engine, &what, ret, err);
}

/* The start is refused with the way out, and neither the thread nor its list of runs has changed. */
static WEFT_SUSPENDS int is_refused(struct place *p, const struct wl_thread *t, const struct wr_start *what,
                                    size_t runs, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_err why = {0};
    struct wr_started s;
    struct wl_thread now;
    struct wm_run *list;
    size_t n;
    int r = start(p, t, *what, &s, &why);
    if (r == -UPP_ENOMEM)
        return r;
    FAIL_UNLESS(r == -UPP_ELIMIT && strstr(why.msg, "import it as a copy"));
    TRY(wl_get_thread(p->inner, &rig_owner, t->id, &a, &now, err));
    FAIL_UNLESS(now.head == t->head && now.at == t->at);
    TRY(wl_list_runs(p->inner, &rig_owner, t->id, false, 16, &a, &list, &n, err));
    FAIL_UNLESS(n == runs);
    return 0;
}

static WEFT_SUSPENDS int at_the_limit(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wr_started s;
    struct wl_thread t, first;
    uint8_t status;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    TRY(wl_get_thread(p->inner, &rig_owner, s.thread, &a, &t, err));
    first = t;
    TRY(tree_deepen(p->inner, &rig_owner, &t, 2, WL_PATH_NODES - 1, err));
    TRY(start(p, &t, (struct wr_start){0}, &s, err)); /* its end needs no branch */
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    TRY(is_refused(p, &t, &(struct wr_start){.node = t.head, .length = 1}, 2, err));
    TRY(is_refused(p, &t, &(struct wr_start){.node = t.head, .length = 1, .forks = true}, 2, err));
    TRY(start(p, &t, (struct wr_start){0}, &s, err));
    TRY(is_refused(p, &t, &(struct wr_start){.on_busy = WR_ROLLBACK}, 3, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED); /* nothing has ended it */
    /* The thread can still be moved to where fewer branches lie before it. */
    TRY(start(p, &t, (struct wr_start){.node = first.head, .length = 1}, &s, err));
    return place_await(p, s.run, &status, err);
}

TEST_WITH(deep_thread_is_branched_no_more, .no_torture = "thousands of nodes")
{
    PLAYS(.script = SCRIPT(REPLY(TEXT("so")) "," REPLY(TEXT("and so")) "," SLOW_REPLY(100, TEN_WORDS)),
          .act = at_the_limit);
}

/* Moving it to where calls have no results needs a branch too. Reading its tree does not, however deep that is. */
TEST_WITH(deep_thread_is_moved_and_listed, .no_torture = "thousands of nodes")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    struct upp_part call = {.kind = UPP_PART_CALL, .id = UPP_STR("c"), .name = UPP_STR("t"), .text = UPP_STR("{}")};
    struct upp_part text = {.kind = UPP_PART_TEXT, .text = UPP_STR("so")};
    struct wm_entry list[2] = {tree_says(UPP_ROLE_ASSISTANT, &text, UPP_STR("so")),
                               tree_says(UPP_ROLE_USER, &text, UPP_STR("so"))};
    struct upp_err err = {0};
    struct wl_thread t;
    struct wa_doc_node *nodes;
    uint32_t index;
    size_t n;
    list[0].message.parts = &call;
    CHECK(ws_memory_open(&s, &err) == 0 && wl_thread_new(s, &tree_owner, NULL, &a, &t, &err) == 0);
    CHECK(tree_deepen(s, &tree_owner, &t, 0, WL_PATH_NODES - 1, &err) == 0);
    CHECK(wl_append(s, &tree_owner, &t, list, 2, &index, &err) == 0);
    CHECK(wl_get_thread(s, &tree_owner, t.id, &a, &t, &err) == 0);
    CHECK_INT(wa_thread_move(s, &tree_owner, &t, &(struct wa_position){t.head, 1}, &a, &err), -UPP_ELIMIT);
    CHECK(strstr(err.msg, "4095 times in one line"));
    CHECK_INT(wa_thread_move(s, &tree_owner, &t, &(struct wa_position){t.head, 2}, &a, &err), 0);
    CHECK(wa_tree_nodes(s, &tree_owner, t.tree, &a, &nodes, &n, &err) == 0 && n == WL_PATH_NODES);
    CHECK(wl_thread_new(s, &tree_owner, NULL, &a, &t, &err) == 0); /* as an earlier version could make it */
    CHECK(tree_deepen(s, &tree_owner, &t, 0, WL_PATH_NODES + 100, &err) == 0);
    CHECK(wa_tree_nodes(s, &tree_owner, t.tree, &a, &nodes, &n, &err) == 0 && n == WL_PATH_NODES + 101);
}
