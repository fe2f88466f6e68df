/* A tree that takes several commits to store: nobody sees a part of it, whatever dies in between. */
#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "thread/position.h"
#include "base/clock.h"
#include "log/change.h"
#include "log/staged.h"
#include "support/agents.h"

enum { BRANCHES = 600, COMMITS = 16 /* at most, of one save */ };

/* A store whose commits fail from some number on, as if the process were dead. */
static struct {
    const struct wl_store_ops *whole;
    struct wl_store_ops broken;
    unsigned good, commits;
} disk;

static WEFT_SUSPENDS int commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    if (disk.commits++ >= disk.good)
        return upp_fail(err, UPP_ESTORE, "the disk is gone");
    return disk.whole->commit(s, c, err);
}

static void break_disk(struct wl_store *store, unsigned good)
{
    disk.whole = store->ops;
    disk.broken = *store->ops;
    disk.broken.commit = commit;
    disk.good = good;
    disk.commits = 0;
    store->ops = &disk.broken;
}

static WEFT_SUSPENDS int save_on(struct weft_session *s, unsigned good, struct upp_err *err)
{
    struct wl_store *store = wr_engine_store(s->home->kept);
    break_disk(store, good);
    int r = weft_session_save(s, err);
    store->ops = disk.whole;
    return r;
}

/* Nodes that are in the log, seen or not; and is there a list of those that are not whole? */
static WEFT_SUSPENDS int look(struct weft_session *s, size_t *nodes, size_t *half, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_store *store = wr_engine_store(s->home->kept);
    struct wl_node *list;
    struct wl_value *values;
    TRY(wl_list_family_nodes(store, &wa_owner, wl_family(s->thread), WB_UUID_NIL, 10000, &a, &list, nodes, err));
    return wl_list_values(store, &wa_owner, UPP_STR(WL_STAGED), (struct upp_str){0}, 10, &a, &values, half, err);
}

static WEFT_SUSPENDS int open_again(struct weft_session *s, struct weft_session **ret, struct weft_tree **tree,
                                    struct upp_err *err)
{
    TRY(weft_session_open(weft_session_agent(s), weft_session_id(s), NULL, ret, err));
    return weft_session_tree(*ret, tree, err);
}

static size_t messages(struct weft_node *n)
{
    size_t count;
    (void)upp_thread_messages(weft_node_thread(n), &count);
    return count;
}

static int begin(struct agents *p, struct weft_session **ret, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_session_new(a, NULL, ret, err));
    return weft_session_run(*ret, UPP_STR("hello"), &turn, err);
}

/* Branches, each with a message, some upon another one; the last one is checked out. The root says one more. */
static WEFT_SUSPENDS int grow(struct weft_tree *t, struct upp_err *err)
{
    struct upp_str id = weft_node_id(weft_tree_root(t));
    struct upp_str root = id;
    TRY(upp_thread_user(weft_node_thread(weft_tree_root(t)), UPP_STR("one more"), err));
    for (int i = 0; i < BRANCHES; i++) {
        TRY(weft_tree_branch(t, i % 3 ? id : root, "b", &id, err));
        TRY(upp_thread_user(weft_node_thread(weft_tree_node(t, id)), UPP_STR("by the way"), err));
    }
    return weft_tree_checkout(t, id, err);
}

static bool grown(struct weft_tree *t)
{
    bool fine = weft_tree_count(t) == BRANCHES + 1 && messages(weft_tree_root(t)) == 3;
    for (struct weft_node *n = weft_tree_next(t, weft_tree_root(t)); n; n = weft_tree_next(t, n))
        fine =
            fine && messages(n) == 1 && weft_node_branch_point(n) == (weft_node_parent(n) == weft_tree_root(t) ? 3 : 1);
    return fine && messages(weft_tree_current(t)) == 1;
}

static bool as_it_was(struct weft_tree *t)
{
    return weft_tree_count(t) == 1 && messages(weft_tree_root(t)) == 2;
}

static WEFT_SUSPENDS int die_at(struct agents *p, unsigned good, bool *over, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL, *other = NULL, *third = NULL;
    struct weft_tree *t, *seen;
    struct upp_err why = {0};
    size_t nodes, half;
    TRY(begin(p, &s, err));
    TRY(weft_session_tree(s, &t, err));
    TRY(grow(t, err));
    int r = save_on(s, good, &why);
    *over = r >= 0;
    FAIL_UNLESS(*over || r == -UPP_ESTORE);
    TRY(open_again(s, &other, &seen, err));
    TRY(look(s, &nodes, &half, err));
    test_note("after %u commits: %zu nodes are seen of %zu", good, weft_tree_count(seen), nodes);
    FAIL_UNLESS(*over ? grown(seen) && half == 0 : as_it_was(seen) && half == (good > 0));
    FAIL_UNLESS(*over || (good > 0) == (nodes > 1));

    if (good % 2) { /* another one puts something there: what was left is dropped, and if it takes two tries */
        struct upp_str id;
        TRY(weft_tree_branch(seen, weft_node_id(weft_tree_root(seen)), "other", &id, err));
        FAIL_UNLESS(save_on(other, 0, NULL) == -UPP_ESTORE);
        FAIL_UNLESS(*over || good == 1 || save_on(other, 1, NULL) == -UPP_ESTORE);
        TRY(weft_session_save(other, err));
        TRY(look(s, &nodes, &half, err));
        FAIL_UNLESS(nodes == (*over ? BRANCHES + 2 : 2) && half == 0);
        return 0;
    }
    TRY(weft_session_save(s, err)); /* the process lives, and tries again: all of it is stored after all */
    TRY(look(s, &nodes, &half, err));
    FAIL_UNLESS(nodes == BRANCHES + 1 && half == 0);
    TRY(open_again(s, &third, &seen, err));
    FAIL_UNLESS(grown(seen));
    return 0;
}

static WEFT_SUSPENDS int deaths(struct agents *p, struct upp_err *err)
{
    unsigned good = 0;
    for (bool over = false; !over; good++) {
        FAIL_UNLESS(good < COMMITS);
        TRY(die_at(p, good, &over, err));
    }
    test_note("%u commits", good - 1);
    FAIL_UNLESS(good > 3); /* so it did take several */
    return 0;
}

TEST_WITH(session_tree_of_many_commits_is_seen_whole, .no_torture = "thousands of calls; each commit is made to fail")
{
    AGENTS(NULL, deaths);
}

/* ---- A document that becomes a new thread --------------------------------------------------------------------- */

static WEFT_SUSPENDS int count(struct wl_store *s, size_t *rows, size_t *notes, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_followed *followed;
    struct wl_value *values;
    TRY(wl_store_follow(s, 0, 10000, 64u << 20, &a, &followed, rows, err));
    return wl_list_values(s, &wa_owner, UPP_STR(WL_DELETED), (struct upp_str){0}, 10, &a, &values, notes, err);
}

/* What died in the middle is swept; what came whole is not. */
static WEFT_SUSPENDS int read_dying(struct weft_agent *a, struct upp_str json, unsigned good, bool *over,
                                    struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    const struct wl_retention keep = {.size = sizeof keep, .journal_ms = -1};
    struct wl_swept swept = {.more = true};
    size_t before, rows, notes;
    TRY(weft_session_from_json(a, json, NULL, &s, err));
    struct wl_store *store = wr_engine_store(s->home->kept);
    TRY(count(store, &before, &notes, err));
    FAIL_UNLESS(notes == 0);
    *over = save_on(s, good, NULL) >= 0;
    TRY(count(store, &rows, &notes, err));
    test_note("after %u commits: %zu rows, %zu notes", good, rows - before, notes);
    FAIL_UNLESS(notes == (good > 0 && !*over) && (!*over || rows > before));
    TRY(wl_sweep(store, &wa_owner, wb_wall_ms(), &keep, &swept, err)); /* its time has not come */
    FAIL_UNLESS(!swept.more);
    TRY(count(store, &rows, &notes, err));
    FAIL_UNLESS(notes == (good > 0 && !*over));
    for (swept.more = true; swept.more;)
        TRY(wl_sweep(store, &wa_owner, wb_wall_ms() + 8 * WL_DAY_MS, &keep, &swept, err));
    TRY(count(store, &rows, &notes, err));
    FAIL_UNLESS(notes == 0 && (rows > before) == *over);
    return 0;
}

static WEFT_SUSPENDS int reads(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_tree *t;
    struct upp_str json;
    unsigned good = 0;
    int r = 0;
    TRY(begin(p, &s, err));
    TRY(weft_session_tree(s, &t, err));
    TRY(grow(t, err));
    TRY(weft_session_save(s, err));
    TRY(weft_session_to_json(s, &json, err));
    struct weft_agent *a = weft_session_agent(s);
    r = weft_session_erase(s, err);
    for (bool over = false; r >= 0 && !over; good++)
        r = good < COMMITS ? read_dying(a, json, good, &over, err) : -UPP_EINVALID;
    upp_text_free(json);
    FAIL_UNLESS(r < 0 || good > 3);
    return r;
}

TEST_WITH(session_document_of_many_commits_is_there_or_swept,
          .no_torture = "thousands of calls; each commit is made to fail")
{
    AGENTS(NULL, reads);
}

/* ---- A checkpoint whose messages its node has not -------------------------------------------------------------- */

enum { SAID = 6 }; /* messages of a mebibyte: they take two commits */

#define TIME "\"2026-01-15T10:30:00.000Z\""

static void add_message(struct wb_buf *b, const char *id, size_t n)
{
    wb_buf_addf(
        b, "{\"id\":\"%s\",\"type\":\"user\",\"timestamp\":" TIME ",\"content\":[{\"type\":\"text\",\"text\":\"", id);
    for (size_t i = 0; i < n; i++)
        wb_buf_addc(b, 'x');
    wb_buf_addf(b, "\"}]}");
}

static int write_doc(struct wb_buf *b, struct upp_err *err)
{
    wb_buf_addf(
        b,
        "{\"version\":\"1.0.0\",\"id\":\"s-1\",\"agentId\":\"a\",\"threadTree\":{\"rootId\":\"n\",\"currentId\":\"n\","
        "\"nodes\":[{\"id\":\"n\",\"parentId\":null,\"thread\":{\"id\":\"t\",\"messages\":[");
    add_message(b, "m1", 4);
    wb_buf_addf(b,
                "]},\"metadata\":{},\"children\":[]}]},\"checkpoints\":[{\"id\":\"cp-1\",\"sessionId\":\"s-1\","
                "\"timestamp\":" TIME
                ",\"step\":1,\"threadId\":\"n\",\"metadata\":{},\"state\":{\"step\":1,\"metadata\":{},\"messages\":[");
    for (int i = 0; i < SAID; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "c%d", i);
        wb_buf_addf(b, i ? "," : "");
        add_message(b, id, 1 << 20);
    }
    wb_buf_addf(b, "]}}],\"metadata\":{},\"createdAt\":" TIME ",\"updatedAt\":" TIME "}");
    return wb_buf_check(b, err);
}

struct going {
    bool forks;
    unsigned good;
};

/* What is seen of it, and what is left when the thread is deleted. */
static WEFT_SUSPENDS int go_dying(struct weft_session *s, const struct going *g, bool *over, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    const struct wl_retention keep = {.size = sizeof keep, .deleted_ms = -1, .journal_ms = -1};
    struct wl_store *store = wr_engine_store(s->home->kept);
    struct wl_swept swept = {.more = true};
    struct wa_doc_node *seen;
    struct wl_thread t, fork;
    size_t n, nodes, half;
    TRY(wl_get_thread(store, &wa_owner, s->thread, &a, &t, err));
    break_disk(store, g->good);
    int r = g->forks ? wa_thread_fork(store, &wa_owner, &t, UPP_STR("cp-1"), &a, &fork, NULL)
                     : wa_thread_restore(store, &wa_owner, &t, UPP_STR("cp-1"), &a, NULL);
    store->ops = disk.whole;
    *over = r >= 0;
    FAIL_UNLESS(*over || r == -UPP_ESTORE);
    TRY(wa_tree_nodes(store, &wa_owner, t.tree, &a, &seen, &n, err));
    TRY(look(s, &nodes, &half, err));
    test_note("%s after %u commits: %zu nodes are seen of %zu", g->forks ? "fork" : "restore", g->good, n, nodes);
    bool whole = *over || (g->forks && g->good == 2); /* the thread of the fork is missing alone */
    FAIL_UNLESS(n == (whole ? 2 : 1) && half == (g->good > 0 && !whole));
    if (*over && !g->forks) {
        FAIL_UNLESS(t.head == seen[1].node.key && t.at == SAID + 1);
        TRY(wl_get_thread(store, &wa_owner, s->thread, &a, &fork, err));
        FAIL_UNLESS(fork.head == t.head && fork.at == t.at && fork.version == t.version);
    }
    TRY(wl_thread_delete(store, &wa_owner, &t, err));
    TRY(look(s, &nodes, &half, err));
    FAIL_UNLESS(half == 0 && nodes == (whole ? 2 : 1));
    if (*over && g->forks)
        TRY(wl_thread_delete(store, &wa_owner, &fork, err));
    while (swept.more)
        TRY(wl_sweep(store, &wa_owner, wb_wall_ms(), &keep, &swept, err));
    TRY(look(s, &nodes, &half, err));
    FAIL_UNLESS(nodes == 0 && half == 0);
    return 0;
}

static WEFT_SUSPENDS int goes(struct agents *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf doc = WB_BUF(16u << 20);
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(write_doc(&doc, err));
    for (int forks = 0; forks < 2; forks++) {
        struct going g = {.forks = forks};
        bool over = false;
        for (; !over; g.good++) {
            UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
            FAIL_UNLESS(g.good < COMMITS);
            TRY(weft_session_from_json(a, wb_buf_str(&doc), NULL, &s, err));
            TRY(weft_session_save(s, err));
            TRY(go_dying(s, &g, &over, err));
        }
        FAIL_UNLESS(g.good == (forks ? 4 : 3)); /* it took two commits, and one for the fork */
    }
    return 0;
}

TEST_WITH(session_checkpoint_of_many_commits_is_gone_to_whole,
          .no_torture = "many mebibytes; each commit is made to fail")
{
    AGENTS(NULL, goes);
}

/* ---- Nodes that the log has ----------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int change_all(struct weft_tree *t, struct upp_err *err)
{
    for (struct weft_node *n = NULL; (n = weft_tree_next(t, n));) {
        TRY(weft_node_set_metadata(n, UPP_STR("{\"seen\":true}"), err));
        TRY(upp_thread_user(weft_node_thread(n), UPP_STR("later"), err));
    }
    return 0;
}

/* Each node has both of it or nothing: how many have it; SIZE_MAX: one has half. */
static size_t changed(struct weft_tree *t)
{
    size_t count = 0;
    for (struct weft_node *n = NULL; (n = weft_tree_next(t, n));) {
        bool said = wb_str_eq(weft_node_metadata(n), UPP_STR("{\"seen\":true}"));
        size_t extra = messages(n) - (n == weft_tree_root(t) ? 3 : 1);
        if (extra != said)
            return SIZE_MAX;
        count += said;
    }
    return count;
}

static WEFT_SUSPENDS int change_dying(struct agents *p, unsigned good, bool *over, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL, *other = NULL, *third = NULL;
    struct weft_tree *t, *seen;
    TRY(begin(p, &s, err));
    TRY(weft_session_tree(s, &t, err));
    TRY(grow(t, err));
    TRY(weft_session_save(s, err));
    TRY(change_all(t, err));
    *over = save_on(s, good, NULL) >= 0;
    TRY(open_again(s, &other, &seen, err));
    size_t n = changed(seen);
    test_note("after %u commits %zu nodes are changed", good, n);
    FAIL_UNLESS(n != SIZE_MAX && (n > 0) == (good > 0) && (n == BRANCHES + 1) == *over);
    TRY(weft_session_save(s, err));
    TRY(open_again(s, &third, &seen, err));
    FAIL_UNLESS(changed(seen) == BRANCHES + 1);
    return 0;
}

static WEFT_SUSPENDS int changes(struct agents *p, struct upp_err *err)
{
    unsigned good = 0;
    for (bool over = false; !over; good++) {
        FAIL_UNLESS(good < COMMITS);
        TRY(change_dying(p, good, &over, err));
    }
    FAIL_UNLESS(good > 3);
    return 0;
}

TEST_WITH(session_tree_of_many_changes_keeps_nodes_whole,
          .no_torture = "thousands of calls; each commit is made to fail")
{
    AGENTS(NULL, changes);
}
