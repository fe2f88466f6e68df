#include <stdio.h>

#include "base/clock.h"
#include "log/log.h"
#include "support/tree.h"

/* A store that goes in between: another writer is first, `first` times, before each commit that adds a row. */
struct rival {
    struct wl_store store; /* what the code under test sees */
    unsigned first, commits;
    bool moves; /* the thread, in the place of a row */
};

static struct rival *rival(struct wl_store *s)
{
    return WB_OUTER(s, struct rival, store);
}

static int other_row(struct rival *v, const struct wl_row *row, struct upp_err *err)
{
    struct upp_part part;
    struct wm_entry e = tree_says(UPP_ROLE_USER, &part, UPP_STR("me first"));
    uint64_t pos = row->pos;
    return tree_row(v->store.inner, &tree_owner, row->node, &pos, (struct wb_uuid){0},
                    &(struct wm_row){.time_ms = 5, .entries = &e, .n_entries = 1}, err);
}

static int other_change(struct rival *v, const struct wl_thread *t, struct upp_err *err)
{
    struct wl_thread x = *t;
    const struct wl_change set = {.kind = WL_SET_THREAD, .thread = &x};
    struct wl_commit c = {.owner = tree_owner, .changes = &set, .n = 1};
    x.title = UPP_STR("changed");
    return wl_store_commit(v->store.inner, &c, err);
}

static int rival_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct rival *v = rival(s);
    int r = 0;
    v->commits++;
    if (v->first > 0) {
        v->first--;
        for (size_t i = 0; r >= 0 && i < c->n; i++) {
            if (c->changes[i].kind == WL_ADD_ROW && !v->moves)
                r = other_row(v, c->changes[i].row, err);
            if (c->changes[i].kind == WL_SET_THREAD && v->moves)
                r = other_change(v, c->changes[i].thread, err);
        }
    }
    return r < 0 ? r : wl_store_commit(v->store.inner, c, err);
}

static const struct wl_store_ops rival_ops = {.size = sizeof rival_ops, .name = "rival", .commit = rival_commit};

TEST(log_append_gives_indices_and_times)
{
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread t, now;
    struct wl_end end;
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    uint32_t index;
    struct upp_part parts[2];
    struct upp_err err = {0};
    const int64_t future = wb_wall_ms() + 100000;
    struct wm_entry e[2] = {tree_says(UPP_ROLE_USER, &parts[0], UPP_STR("one")),
                            tree_says(UPP_ROLE_ASSISTANT, &parts[1], UPP_STR("two"))};
    CHECK(ws_memory_open(&s, &err) == 0);
    CHECK(wl_thread_new(s, &tree_owner, NULL, &a, &t, &err) == 0);
    CHECK(wl_node_end(s, &tree_owner, t.head, &end, &err) == 0);
    CHECK(end.pos == 0 && end.length == 0 && end.time_ms == 0);
    CHECK_INT(wl_append(s, &tree_owner, &t, e, 0, &index, &err), -UPP_EINVALID);
    CHECK(wl_append(s, &tree_owner, &t, e, 2, &index, &err) == 0 && index == 0);
    CHECK(wl_append(s, &tree_owner, &t, e, 1, &index, &err) == 0 && index == 2);
    CHECK(e[0].message.time_ms > 0 && e[0].message.time_ms < future);

    /* The clock went back: no entry is earlier than the one before it. */
    uint64_t pos = wl_pos(3, 0);
    CHECK(tree_row(s, &tree_owner, t.head, &pos, (struct wb_uuid){0},
                   &(struct wm_row){.time_ms = future, .entries = e, .n_entries = 1}, &err) == 0);
    CHECK(wl_append(s, &tree_owner, &t, e, 1, &index, &err) == 0 && index == 4);
    CHECK_INT(e[0].message.time_ms, future);

    /* An imported time is never corrected; the next one is not before the row it stands in. */
    e[0].origin = WM_ORIGIN_IMPORT;
    e[0].message.time_ms = 77;
    e[0].message.time_text = UPP_STR("1970-01-01T00:00:00.077000Z");
    CHECK(wl_append(s, &tree_owner, &t, e, 1, &index, &err) == 0 && index == 5);
    CHECK_INT(e[0].message.time_ms, 77);
    CHECK(wl_node_end(s, &tree_owner, t.head, &end, &err) == 0);
    CHECK(end.length == 6 && end.pos == wl_pos(6, 0) && end.time_ms == future);

    CHECK(wl_path_open(s, &tree_owner, t.head, end.length, &a, &path, &err) == 0);
    CHECK(wl_path_tail(s, &tree_owner, &path, UINT32_MAX, 100, &a, &lines, &n, &err) == 0 && n == 6);
    CHECK_STR(lines[1].entry.message.parts[0].text, UPP_STR("two"));
    CHECK_STR(lines[5].entry.message.time_text, UPP_STR("1970-01-01T00:00:00.077000Z"));
    CHECK(lines[5].entry.origin == WM_ORIGIN_IMPORT && lines[4].entry.origin == WM_ORIGIN_CLIENT);
    CHECK(wl_thread_find(s, &tree_owner, wb_uuid_text(t.id, (char[40]){0}), &a, &now, &err) == 0);
    CHECK(now.updated_ms >= future); /* lists show it first; while the clock is behind, their time goes on slowly */
}

TEST(log_append_tries_again_when_somebody_was_first)
{
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread t;
    struct wl_end end;
    uint32_t index;
    struct upp_part part;
    struct upp_err err = {0};
    struct wm_entry e = tree_says(UPP_ROLE_USER, &part, UPP_STR("one"));
    CHECK(ws_memory_open(&s, &err) == 0);
    CHECK(wl_thread_new(s, &tree_owner, NULL, &a, &t, &err) == 0);
    struct rival v = {.store = {.ops = &rival_ops, .inner = s}, .first = 15};
    CHECK(wl_append(&v.store, &tree_owner, &t, &e, 1, &index, &err) == 0);
    CHECK(index == 15 && v.commits == 16);
    v.first = 16;
    v.commits = 0;
    CHECK_INT(wl_append(&v.store, &tree_owner, &t, &e, 1, &index, &err), -UPP_EBUSY);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("somebody else was first, 16 times"));
    CHECK(v.commits == 16 && wl_node_end(s, &tree_owner, t.head, &end, &err) == 0 && end.length == 32);
    v.first = 3; /* the thread was changed meanwhile: looked at again */
    v.moves = true;
    CHECK(wl_append(&v.store, &tree_owner, &t, &e, 1, &index, &err) == 0 && index == 32);
}

/* A thread is there with all its first entries, or not at all. */
TEST(log_thread_and_its_first_entries_are_one_commit)
{
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread t;
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    uint32_t index;
    struct upp_part parts[2];
    struct upp_err err = {0};
    struct wm_entry e[2] = {tree_says(UPP_ROLE_USER, &parts[0], UPP_STR("one")),
                            tree_says(UPP_ROLE_USER, &parts[1], UPP_STR("two"))};
    struct wl_thread_opts opts = {.size = sizeof opts, .title = UPP_STR("T"), .alias = UPP_STR("mine")};
    CHECK(ws_memory_open(&s, &err) == 0);
    struct rival v = {.store = {.ops = &rival_ops, .inner = s}};
    CHECK(wl_thread_new_with(&v.store, &tree_owner, &opts, e, 2, &a, &t, &err) == 0);
    CHECK_INT(v.commits, 1);
    CHECK(wl_thread_path(s, &tree_owner, &t, &a, &path, &err) == 0);
    CHECK(wl_path_tail(s, &tree_owner, &path, UINT32_MAX, 100, &a, &lines, &n, &err) == 0 && n == 2);
    CHECK_STR(lines[1].entry.message.parts[0].text, UPP_STR("two"));
    CHECK_INT(lines[0].entry.message.time_ms, t.created_ms);
    CHECK(wl_append(s, &tree_owner, &t, e, 1, &index, &err) == 0 && index == 2);
    CHECK_INT(wl_thread_new_with(s, &tree_owner, &opts, e, 2, &a, &t, &err), -UPP_EBUSY);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("thread 'mine' exists already"));
    opts.title = wb_str(wb_arena_alloc(&a, WL_TITLE_MAX + 1, 1), WL_TITLE_MAX + 1);
    CHECK(wb_arena_check(&a, &err) == 0);
    CHECK_INT(wl_thread_new(s, &tree_owner, &opts, &a, &t, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the title of a thread has at most 1024 bytes, this one 1025"));
}

TEST(log_append_leaves_a_held_node_alone)
{
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread t;
    struct wl_end end;
    uint32_t index;
    struct upp_part part;
    struct upp_err err = {0};
    struct wm_entry e = tree_says(UPP_ROLE_USER, &part, UPP_STR("one"));
    struct wb_uuid run = {{1, 2, 3}};
    CHECK(ws_memory_open(&s, &err) == 0);
    CHECK(wl_thread_new(s, &tree_owner, NULL, &a, &t, &err) == 0);
    struct wl_change hold = {.kind = WL_HOLD_NODE, .hold = {.node = t.head, .to = run}};
    struct wl_commit c = {.owner = tree_owner, .changes = &hold, .n = 1};
    CHECK(wl_store_commit(s, &c, &err) == 0);
    CHECK_INT(wl_append(s, &tree_owner, &t, &e, 1, &index, &err), -UPP_EBUSY);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("a run is under way on this thread"));
    CHECK(wl_node_end(s, &tree_owner, t.head, &end, &err) == 0 && end.length == 0);
    hold.hold.from = run;
    hold.hold.to = (struct wb_uuid){0};
    CHECK(wl_store_commit(s, &c, &err) == 0);
    CHECK(wl_append(s, &tree_owner, &t, &e, 1, &index, &err) == 0 && index == 0);
    /* Another tenant finds nothing, and a message without sense is refused with its place. */
    const struct wl_owner foreign = {UPP_STR("other"), {0}};
    CHECK_INT(wl_append(s, &foreign, &t, &e, 1, &index, &err), -UPP_ENOTFOUND);
    CHECK_INT(wl_node_end(s, &foreign, t.head, &end, &err), -UPP_ENOTFOUND);
    e.message.role = 0;
    CHECK_INT(wl_append(s, &tree_owner, &t, &e, 1, &index, &err), -UPP_EINVALID);
}

/* A thread that was put back into its head: what is said then stands on a branch from there, and the head is as it was.
 */
TEST(log_append_leaves_a_head_that_was_restored)
{
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread t, now;
    struct wl_node node;
    struct wl_end end;
    struct wl_path path;
    struct upp_err err = {0};
    struct upp_part part;
    struct wm_entry e[3];
    uint32_t index;
    for (size_t i = 0; i < 3; i++)
        e[i] = tree_says(UPP_ROLE_USER, &part, UPP_STR("said"));
    CHECK(ws_memory_open(&s, &err) == 0);
    for (uint32_t keep = 0; keep <= 4; keep++) { /* 4: more than there are, so all */
        CHECK(wl_thread_new(s, &tree_owner, NULL, &a, &t, &err) == 0);
        CHECK(wl_append(s, &tree_owner, &t, e, 3, &index, &err) == 0);
        CHECK(wl_get_thread(s, &tree_owner, t.id, &a, &now, &err) == 0);
        const uint64_t head = now.head;
        now.at = keep + 1;
        struct wl_change set = {.kind = WL_SET_THREAD, .thread = &now};
        struct wl_commit c = {.owner = tree_owner, .changes = &set, .n = 1};
        CHECK(wl_store_commit(s, &c, &err) == 0);
        CHECK(wl_thread_path(s, &tree_owner, &now, &a, &path, &err) == 0);
        CHECK_INT(path.length, keep < 3 ? keep : 3);

        CHECK(wl_append(s, &tree_owner, &t, e, 2, &index, &err) == 0);
        CHECK(index == 0 && t.head != head && t.at == 0);
        CHECK(wl_get_thread(s, &tree_owner, t.id, &a, &now, &err) == 0);
        CHECK(now.head == t.head && now.at == 0);
        CHECK(wl_get_node(s, &tree_owner, t.head, &node, &err) == 0);
        CHECK(node.parent == head && node.parent_length == (keep < 3 ? keep : 3));
        CHECK(wl_thread_path(s, &tree_owner, &now, &a, &path, &err) == 0);
        CHECK_INT(path.length, (keep < 3 ? keep : 3) + 2);
        CHECK(wl_node_end(s, &tree_owner, head, &end, &err) == 0);
        CHECK_INT(end.length, 3);
        CHECK(wl_append(s, &tree_owner, &t, e, 1, &index, &err) == 0 && index == 2); /* and goes on there */
    }
}
