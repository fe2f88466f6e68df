#include <stdio.h>

#include "base/clock.h"
#include "log/log.h"
#include "support/stores.h"
#include "support/tree.h"

static const struct wl_owner other_tenant = {UPP_STR_INIT("other"), UPP_STR_INIT("")},
                             alice = {UPP_STR_INIT("acme"), UPP_STR_INIT("alice")};

TEST(log_thread_is_found_by_every_spelling)
{
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread t, found;
    struct upp_err err = {0};
    char text[WB_UUID_TEXT + 1], hex[WB_UUID_HEX + 1], prefixed[48], upper[48];
    CHECK(ws_memory_open(&s, &err) == 0);
    CHECK(wl_thread_new(s, &tree_owner,
                        UPP_OPTS(wl_thread_opts, .title = UPP_STR("A talk"), .metadata = UPP_STR("{\"a\":1}"),
                                 .alias = UPP_STR("chat 7")),
                        &a, &t, &err) == 0);
    (void)snprintf(prefixed, sizeof prefixed, "thread_%s", wb_uuid_hex(t.id, hex).p);
    (void)snprintf(upper, sizeof upper, "thread_%s", wb_uuid_text(t.id, text).p);
    const struct upp_str names[] = {wb_uuid_text(t.id, text), wb_uuid_hex(t.id, hex), wb_cstr(prefixed), wb_cstr(upper),
                                    UPP_STR("chat 7")};
    for (size_t i = 0; i < WB_LEN(names); i++) {
        test_note("name %zu", i);
        CHECK(wl_thread_find(s, &tree_owner, names[i], &a, &found, &err) == 0);
        CHECK(wb_uuid_eq(found.id, t.id) && wb_uuid_eq(found.tree, t.tree) && found.head == t.head);
        CHECK(found.kind == WL_MAIN && found.version == t.version && found.created_ms == t.created_ms);
        CHECK_STR(found.title, UPP_STR("A talk"));
        CHECK_STR(found.metadata, UPP_STR("{\"a\":1}"));
        /* Somebody else's is as unknown as none, by any name. */
        CHECK_INT(wl_thread_find(s, &other_tenant, names[i], &a, &found, &err), -UPP_ENOTFOUND);
        CHECK_INT(wl_thread_find(s, &alice, names[i], &a, &found, &err), -UPP_ENOTFOUND);
    }
    CHECK_STR(wb_cstr(err.msg), UPP_STR("there is no thread 'chat 7'"));
    static const char *const none[] = {"", "thread_", "chat 8", "run_00000000000040008000000000000000",
                                       "00000000-0000-4000-8000-000000000000"};
    for (size_t i = 0; i < WB_LEN(none); i++)
        CHECK_INT(wl_thread_find(s, &tree_owner, wb_cstr(none[i]), &a, &found, &err), -UPP_ENOTFOUND);
}

TEST(log_thread_alias_is_of_one_user_and_taken_once)
{
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread t, u, found;
    struct upp_err err = {0};
    const struct wl_thread_opts *named = UPP_OPTS(wl_thread_opts, .alias = UPP_STR("chat"));
    CHECK(ws_memory_open(&s, &err) == 0);
    CHECK(wl_thread_new(s, &tree_owner, named, &a, &t, &err) == 0);
    CHECK(wl_thread_new(s, &alice, named, &a, &u, &err) == 0); /* her own */
    CHECK_INT(wl_thread_new(s, &tree_owner, named, &a, &found, &err), -UPP_EBUSY);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("thread 'chat' exists already"));
    CHECK(wl_thread_find(s, &alice, UPP_STR("chat"), &a, &found, &err) == 0 && wb_uuid_eq(found.id, u.id));
    CHECK(wl_thread_find(s, &tree_owner, UPP_STR("chat"), &a, &found, &err) == 0 && wb_uuid_eq(found.id, t.id));
    CHECK_INT(wl_thread_new(s, &tree_owner, UPP_OPTS(wl_thread_opts, .metadata = UPP_STR("[1]")), &a, &found, &err),
              -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("metadata of a thread: expected an object"));
    CHECK_INT(wl_thread_new(s, &tree_owner, UPP_OPTS(wl_thread_opts, .metadata = UPP_STR("{")), &a, &found, &err),
              -UPP_EINVALID);
}

/* An alias may look like an id of ours: our own forms come first. */
TEST(log_thread_own_ids_come_before_aliases)
{
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread t, u, found;
    struct upp_err err = {0};
    char text[WB_UUID_TEXT + 1];
    CHECK(ws_memory_open(&s, &err) == 0);
    CHECK(wl_thread_new(s, &tree_owner, NULL, &a, &t, &err) == 0);
    CHECK(wl_thread_new(s, &tree_owner, UPP_OPTS(wl_thread_opts, .alias = wb_uuid_text(t.id, text)), &a, &u, &err) ==
          0);
    CHECK(wl_thread_find(s, &tree_owner, wb_cstr(text), &a, &found, &err) == 0 && wb_uuid_eq(found.id, t.id));
    struct upp_str foreign = UPP_STR("0b0b0b0b-0b0b-4b0b-8b0b-0b0b0b0b0b0b");
    CHECK(wl_thread_new(s, &tree_owner, UPP_OPTS(wl_thread_opts, .alias = foreign, .parent = t.id), &a, &u, &err) == 0);
    CHECK(u.kind == WL_SUB && wb_uuid_eq(u.parent, t.id));
    CHECK(wl_thread_find(s, &tree_owner, foreign, &a, &found, &err) == 0 && wb_uuid_eq(found.id, u.id));
}

TEST(log_id_takes_uuids_with_and_without_prefix)
{
    struct wb_uuid u, v;
    CHECK(wl_id_parse(UPP_STR("01234567-89ab-4cde-8f01-23456789abcd"), UPP_STR("msg_"), &u));
    CHECK(wl_id_parse(UPP_STR("msg_0123456789AB4CDE8F0123456789ABCD"), UPP_STR("msg_"), &v) && wb_uuid_eq(u, v));
    CHECK(wl_id_parse(UPP_STR("0123456789ab4cde8f0123456789abcd"), (struct upp_str){0}, &v) && wb_uuid_eq(u, v));
    CHECK(!wl_id_parse(UPP_STR("msg_0123456789ab4cde8f0123456789abcd"), UPP_STR("run_"), &v));
    CHECK(!wl_id_parse(UPP_STR("msg_msg_0123456789ab4cde8f0123456789abcd"), UPP_STR("msg_"), &v));
    CHECK(!wl_id_parse(UPP_STR(""), UPP_STR("msg_"), &v) && !wl_id_parse((struct upp_str){0}, UPP_STR("msg_"), &v));
}

/* Everything of a conversation begins alike: threads, trees, nodes, forks, and what is below a sub thread. */
TEST(log_ids_of_a_conversation_begin_alike)
{
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread t, sub, fork, other, *threads;
    struct wl_node *nodes;
    struct upp_err err = {0};
    size_t n;
    CHECK(ws_memory_open(&s, &err) == 0);
    CHECK(wl_thread_new(s, &tree_owner, NULL, &a, &t, &err) == 0);
    CHECK(wl_thread_new(s, &tree_owner, NULL, &a, &other, &err) == 0);
    CHECK(wl_thread_new(s, &tree_owner, UPP_OPTS(wl_thread_opts, .parent = t.id), &a, &sub, &err) == 0);
    CHECK(wl_fork(s, &t, t.head, 0, &a, &fork, &err) == 0);
    const uint32_t family = wl_family(t.tree);
    CHECK(wl_family(t.id) == family && t.head >> 32 == family);
    CHECK(wl_family(sub.id) == family && wl_family(sub.tree) == family && sub.head >> 32 == family);
    CHECK(wl_family(fork.id) == family && fork.head >> 32 == family);
    CHECK(wl_family(other.tree) != family); /* one of four thousand million */
    CHECK(!wb_uuid_eq(t.tree, sub.tree) && !wb_uuid_eq(t.id, t.tree));
    CHECK(wl_list_family_threads(s, &tree_owner, family, WB_UUID_NIL, 9, &a, &threads, &n, &err) == 0);
    CHECK_INT(n, 3);
    CHECK(wl_list_family_nodes(s, &tree_owner, family, WB_UUID_NIL, 9, &a, &nodes, &n, &err) == 0);
    CHECK_INT(n, 2); /* the fork has none as long as nothing is added */
}

/* A store in which the first so many nodes are taken. */
struct crowded {
    struct wl_store store;
    struct wl_store *real;
    unsigned taken, nodes, asked; /* commits that fail; keys that are found */
};

static int crowded_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct crowded *x = WB_OUTER(s, struct crowded, store);
    if (x->asked++ < x->taken) {
        c->conflict = 0;
        return upp_fail(err, UPP_EBUSY, "the key of a node is taken");
    }
    return wl_store_commit(x->real, c, err);
}

static int crowded_get(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, void *ret, struct upp_err *err)
{
    struct crowded *x = WB_OUTER(s, struct crowded, store);
    if (ask->what == WL_GET_NODE && x->nodes && x->nodes--) {
        *(struct wl_node *)ret = (struct wl_node){.key = ask->number};
        return 0;
    }
    return wl_store_get(x->real, ask, a, ret, err);
}

TEST(log_ids_that_are_taken_are_minted_again)
{
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    static const struct wl_store_ops ops = {.size = sizeof ops, .commit = crowded_commit, .get = crowded_get};
    struct wl_thread t, u;
    struct wb_uuid id;
    struct upp_err err = {0};
    CHECK(ws_memory_open(&s, &err) == 0);
    CHECK(wl_thread_new(s, &tree_owner, NULL, &a, &t, &err) == 0);
    for (unsigned taken = 0; taken <= WL_ID_TRIES; taken++) {
        int want = taken < WL_ID_TRIES ? 0 : -UPP_EBUSY;
        struct crowded x = {.store.ops = &ops, .real = s, .taken = taken};
        CHECK_INT(wl_thread_new(&x.store, &tree_owner, NULL, &a, &u, &err), want);
        x.asked = 0;
        CHECK_INT(wl_fork(&x.store, &t, t.head, 0, &a, &u, &err), want);
        x.nodes = taken;
        CHECK_INT(wl_id_new_node(&x.store, &tree_owner, 7, &id, &err), want ? -UPP_ELIMIT : 0);
        CHECK(wl_family(id) == 7);
    }
}

/* To its last entries at once. */

static WEFT_SUSPENDS int say_more(struct wl_store *s, struct wl_thread *t, struct upp_str text, struct upp_err *err)
{
    struct upp_part part;
    uint32_t index;
    struct wm_entry e = tree_says(UPP_ROLE_USER, &part, text);
    return wl_append(s, &tree_owner, t, &e, 1, &index, err);
}

/* As the three reads give it, whatever stands before the store and however many nodes the path has. */
static WEFT_SUSPENDS int tails(struct test_store *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf large = WB_BUF(1u << 20);
    struct wl_store *s = st->s;
    struct wl_thread t, fork;
    struct wl_path path;
    struct wl_line *lines;
    struct wl_tail tail;
    size_t n;
    char id[WB_UUID_TEXT + 1];
    for (int i = 0; i < 40000; i++)
        wb_buf_addc(&large, (char)('a' + i % 26));
    TRY(wb_buf_check(&large, err));
    TRY(wl_thread_new(s, &tree_owner, UPP_OPTS(wl_thread_opts, .alias = UPP_STR("foreign")), &a, &t, err));
    TRY(say_more(s, &t, UPP_STR("one"), err));
    TRY(say_more(s, &t, UPP_STR("two"), err));
    TRY(wl_fork(s, &t, t.head, 1, &a, &fork, err));
    TRY(say_more(s, &fork, wb_buf_str(&large), err)); /* kept in pieces, where there are pieces */
    TRY(say_more(s, &fork, UPP_STR("last"), err));
    for (uint32_t max = 0; max < 5; max++) {
        TRY(wl_thread_path(s, &tree_owner, &fork, &a, &path, err));
        TRY(wl_path_tail(s, &tree_owner, &path, path.length, max, &a, &lines, &n, err));
        TRY(wl_thread_tail(s, &tree_owner, wb_uuid_text(fork.id, id), max, &a, &tail, err));
        FAIL_UNLESS(tail.n == n && n == WB_MIN(max, 3u) && tail.path.n == 2 && tail.path.length == 3);
        FAIL_UNLESS(wb_uuid_eq(tail.thread.id, fork.id) && tail.thread.head == fork.head);
        for (size_t i = 0; i < n; i++)
            FAIL_UNLESS(wb_uuid_eq(tail.lines[i].id, lines[i].id) &&
                        wb_str_eq(tail.lines[i].entry.message.parts[0].text, lines[i].entry.message.parts[0].text));
    }
    TRY(wl_thread_tail(s, &tree_owner, UPP_STR("foreign"), 9, &a, &tail, err));
    FAIL_UNLESS(wb_uuid_eq(tail.thread.id, t.id) && tail.n == 2);
    FAIL_UNLESS(wl_thread_tail(s, &tree_owner, UPP_STR("unknown"), 9, &a, &tail, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(wl_thread_tail(s, &BOB, wb_uuid_text(t.id, id), 9, &a, &tail, err) == -UPP_ENOTFOUND);
    return 0;
}

TEST(log_thread_tail_is_what_three_reads_give)
{
    CHECK(test_each_store(tails, NULL));
}
