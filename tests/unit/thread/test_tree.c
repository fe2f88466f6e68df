#include <weft/weft.h>

#include <stdio.h>

#include "thread/tree.h"
#include "base/uuid.h"
#include "json/compare.h"
#include "json/read.h"
#include "support/test.h"

/* The texts of a list of messages, each with a blank behind it. */
static struct upp_str texts(struct wb_arena *a, const struct upp_message *list, size_t n)
{
    struct upp_str s = UPP_STR("");
    for (size_t i = 0; i < n; i++)
        s = wb_arena_printf(a, "%.*s%.*s ", UPP_FMT(s), UPP_FMT(list[i].parts[0].text));
    return s;
}

static struct upp_str history(struct wb_arena *a, struct weft_tree *t)
{
    const struct upp_message *list;
    size_t n;
    return EXPECT(weft_tree_history(t, &list, &n, NULL) == 0) ? texts(a, list, n) : (struct upp_str){0};
}

static struct upp_str thread(struct wb_arena *a, struct weft_node *node)
{
    size_t n;
    const struct upp_message *list = upp_thread_messages(weft_node_thread(node), &n);
    return texts(a, list, n);
}

static bool say(struct weft_tree *t, const char *text)
{
    return EXPECT(upp_thread_user(weft_node_thread(weft_tree_current(t)), wb_cstr(text), NULL) == 0);
}

/* A branch that is checked out, with one message. */
static struct weft_node *grow(struct weft_tree *t, struct weft_node *from, const char *text)
{
    struct upp_str id;
    if (!EXPECT(weft_tree_branch(t, weft_node_id(from), text, &id, NULL) == 0) ||
        !EXPECT(weft_tree_checkout(t, id, NULL) == 0) || !say(t, text))
        return NULL;
    return weft_tree_current(t);
}

/* ---- The seed's programs -------------------------------------------------------------------------- */

/* The second answer is that to a conversation that has one already. */
static const char script[] = "{\"replies\":[{\"parts\":[{\"text\":\"Made.\"}]},{\"parts\":[{\"text\":\"Done.\"}]}]}";

/* agent.run(tree.history(), input); tree.current.thread.append(turn) */
static int turn_of(struct weft_agent *a, struct weft_tree *t, const char *text, size_t *before, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    const struct upp_message *list;
    int r = weft_tree_history(t, &list, before, err);
    if (r >= 0)
        r = weft_agent_run_with(a, UPP_OPTS(upp_input, .history = list, .n_history = *before, .text = wb_cstr(text)),
                                &turn, err);
    return r < 0 ? r : upp_thread_append(weft_node_thread(weft_tree_current(t)), turn, err);
}

/* 7.2. */
/* covers: UAP-7.1a/1/3, UAP-7.2/2 */
TEST(tree_of_the_seed)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    UPP_CLEANUP(weft_runtime_closep) struct weft_runtime *rt = NULL;
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    struct upp_err err = {0};
    struct weft_agent *agent;
    struct upp_str alternative;
    size_t before;
    CHECK(weft_runtime_open(NULL, &rt, &err) >= 0);
    CHECK(weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = script}), &agent,
                         &err) >= 0);
    CHECK(weft_tree_new(&t, &err) >= 0);

    CHECK(turn_of(agent, t, "Create", &before, &err) >= 0);
    CHECK_INT(before, 0);
    CHECK(weft_tree_branch(t, weft_node_id(weft_tree_current(t)), "alternative-framework", &alternative, &err) >= 0);
    CHECK(weft_tree_current(t) == weft_tree_root(t)); /* it is not checked out */
    CHECK(weft_tree_checkout(t, alternative, &err) >= 0);
    CHECK(turn_of(agent, t, "Use", &before, &err) >= 0);
    CHECK_INT(before, 2);
    CHECK_STR(history(&a, t), UPP_STR("Create Made. Use Done. "));

    CHECK(weft_tree_checkout(t, weft_node_id(weft_tree_root(t)), &err) >= 0);
    CHECK(turn_of(agent, t, "Add", &before, &err) >= 0);
    CHECK_INT(before, 2); /* nothing of the other branch */
    CHECK_STR(history(&a, t), UPP_STR("Create Made. Add Done. "));

    /* What the root said since is not seen from the branch. */
    CHECK(weft_tree_checkout(t, alternative, &err) >= 0);
    CHECK_STR(history(&a, t), UPP_STR("Create Made. Use Done. "));
    CHECK_STR(weft_node_name(weft_tree_current(t)), UPP_STR("alternative-framework"));
    CHECK_INT(weft_node_branch_point(weft_tree_current(t)), 2);
}

/* 7.3. covers: UAP-7.3 */
TEST(tree_history_is_that_of_the_path)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena arena = WB_ARENA(1u << 20);
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    struct upp_err err = {0};
    CHECK(weft_tree_new(&t, &err) >= 0);
    CHECK_STR(history(&arena, t), UPP_STR(""));
    CHECK(say(t, "root"));
    struct weft_node *a = grow(t, weft_tree_root(t), "A"), *b = a ? grow(t, a, "B") : NULL;
    struct weft_node *c = b ? grow(t, weft_tree_root(t), "C") : NULL, *d = c ? grow(t, c, "D") : NULL;
    CHECK(d && weft_tree_count(t) == 5);
    CHECK(weft_tree_checkout(t, weft_node_id(b), &err) >= 0);
    CHECK_STR(history(&arena, t), UPP_STR("root A B "));
    CHECK(weft_tree_checkout(t, weft_node_id(d), &err) >= 0);
    CHECK_STR(history(&arena, t), UPP_STR("root C D "));

    /* Every node on the way goes on; none of it is seen further down. */
    CHECK(weft_tree_checkout(t, weft_node_id(weft_tree_root(t)), &err) >= 0 && say(t, "later"));
    CHECK(weft_tree_checkout(t, weft_node_id(c), &err) >= 0 && say(t, "too"));
    CHECK_STR(history(&arena, t), UPP_STR("root C too "));
    CHECK(weft_tree_checkout(t, weft_node_id(d), &err) >= 0);
    CHECK_STR(history(&arena, t), UPP_STR("root C D "));

    /* What is taken away is gone everywhere, and what comes in its place is not seen further down than it was. */
    upp_thread_clear(weft_node_thread(weft_tree_root(t)));
    CHECK_STR(history(&arena, t), UPP_STR("C D "));
    CHECK_INT(weft_node_branch_point(c), 0);
}

/* covers: UAP-7.4, UAP-3.4/1, UAP-7.1a/2/4 */
TEST(tree_nodes_can_be_looked_at)
{
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    struct upp_err err = {0};
    struct wb_uuid root, id;
    struct upp_str first, second;
    CHECK(weft_tree_new(&t, &err) >= 0);
    struct weft_node *top = weft_tree_root(t);
    CHECK(weft_tree_current(t) == top && !weft_node_parent(top) && !weft_node_name(top).p && !weft_node_child(top, 0));
    CHECK(wb_uuid_parse(weft_node_id(top), &root) && wb_uuid_version(root) == 4);
    CHECK(weft_tree_branch(t, weft_node_id(top), "one", &first, &err) >= 0);
    CHECK(weft_tree_branch(t, weft_node_id(top), NULL, &second, &err) >= 0);
    CHECK(wb_uuid_parse(second, &id) && wb_uuid_version(id) == 4 && !wb_uuid_eq(id, root));
    CHECK(memcmp(id.b, root.b, 4) == 0); /* one family */
    struct weft_node *one = weft_tree_node(t, first), *two = weft_tree_node(t, second);
    CHECK(one && two && weft_node_child(top, 0) == one && weft_node_child(top, 1) == two && !weft_node_child(top, 2));
    CHECK(weft_node_parent(one) == top && weft_node_id(one).p == first.p && !weft_node_name(two).p);
    CHECK(weft_tree_next(t, NULL) == top && weft_tree_next(t, top) == one && weft_tree_next(t, one) == two);
    CHECK(!weft_tree_next(t, two) && !weft_tree_node(t, UPP_STR("x")) && !weft_tree_node(t, (struct upp_str){0}));
    CHECK(wb_uuid_parse(upp_thread_id(weft_node_thread(one)), &id) && wb_uuid_version(id) == 4);

    CHECK_STR(weft_node_metadata(one), UPP_STR("{}"));
    CHECK(weft_node_set_metadata(one, UPP_STR(" {\"a\" : 1.0, \"a\":[]}"), &err) >= 0);
    CHECK(weft_node_set_metadata(one, UPP_STR("{\"b\":2}"), &err) >= 0);
    CHECK_INT(weft_node_set_metadata(one, UPP_STR("[]"), &err), -UPP_EINVALID);
    CHECK_INT(weft_node_set_metadata(one, UPP_STR("{"), &err), -UPP_EINVALID);
    CHECK_INT(weft_node_set_metadata(one, UPP_STR("{\"uap.branchPoint\":1}"), &err), -UPP_EINVALID);
    CHECK_STR(weft_node_metadata(one), UPP_STR("{\"b\":2}"));
}

/* Every function of libupp works on a node's thread. */
/* covers: UAP-7.2/1/2 */
TEST(tree_threads_are_threads)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *slice = NULL, *copy = NULL;
    struct upp_err err = {0};
    struct upp_str json = {0};
    CHECK(weft_tree_new(&t, &err) >= 0 && say(t, "one") && say(t, "two"));
    struct upp_thread *th = weft_node_thread(weft_tree_root(t));
    CHECK(upp_thread_assistant(th, UPP_STR("three"), &err) >= 0);
    CHECK(upp_thread_slice(th, 1, INT64_MAX, &slice, &err) >= 0);
    size_t n;
    const struct upp_message *list = upp_thread_messages(slice, &n);
    CHECK(upp_thread_push(th, list, n, &err) >= 0);
    CHECK_STR(history(&a, t), UPP_STR("one two three two three "));
    CHECK(upp_thread_filter(th, NULL, UPP_ROLE_ASSISTANT) && upp_thread_updated_ms(th) >= upp_thread_created_ms(th));
    CHECK(upp_thread_to_json(th, &json, &err) >= 0);
    int r = upp_thread_from_json(json, &copy, &err);
    upp_text_free(json);
    CHECK(r >= 0);
    CHECK_STR(upp_thread_id(copy), upp_thread_id(th));
    upp_thread_clear(th);
    CHECK_STR(history(&a, t), UPP_STR(""));
    CHECK(say(t, "new"));
    CHECK_STR(history(&a, t), UPP_STR("new "));
}

/* ---- Merging -------------------------------------------------------------------------------------- */

/* covers: UAP-7.1b/2/3 */
TEST(tree_merge_appends_what_is_not_there)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    struct upp_err err = {0};
    CHECK(weft_tree_new(&t, &err) >= 0 && say(t, "root"));
    struct weft_node *root = weft_tree_root(t), *x = grow(t, root, "X"), *y = x ? grow(t, x, "Y") : NULL;
    struct weft_node *z = y ? grow(t, root, "Z") : NULL;
    CHECK(z);
    CHECK(weft_tree_checkout(t, weft_node_id(root), &err) >= 0 && say(t, "more"));
    struct upp_str to = weft_node_id(z), from = weft_node_id(y);

    /* Itself and what is above it: nothing. */
    CHECK(weft_tree_merge(t, to, to, &err) == 0 && weft_tree_merge(t, weft_node_id(root), to, &err) == 0);
    CHECK(weft_tree_merge(t, weft_node_id(x), from, &err) == 0);
    CHECK_STR(thread(&a, z), UPP_STR("Z "));
    CHECK_STR(thread(&a, y), UPP_STR("Y "));

    CHECK(weft_tree_merge(t, from, to, &err) == 0);
    CHECK_STR(thread(&a, z), UPP_STR("Z X Y "));
    CHECK_STR(thread(&a, y), UPP_STR("Y "));
    CHECK(weft_tree_current(t) == root);
    CHECK(weft_tree_merge(t, from, to, &err) == 0); /* all of it is there */
    CHECK_STR(thread(&a, z), UPP_STR("Z X Y "));

    /* Down into what is above. */
    CHECK(weft_tree_merge(t, to, weft_node_id(root), &err) == 0);
    CHECK_STR(history(&a, t), UPP_STR("root more Z X Y "));
    size_t n, m;
    const struct upp_message *there = upp_thread_messages(weft_node_thread(root), &n),
                             *here = upp_thread_messages(weft_node_thread(z), &m);
    CHECK_STR(there[2].id, here[0].id);
}

/* One without an id is never the same as another, and is given one where it goes. */
TEST(tree_merge_of_messages_without_ids)
{
#define SAID(text)                                                                                                     \
    "{\"id\":\"\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" text                                  \
    "\"}],\"timestamp\":\"2026-02-03T04:05:06Z\"}"
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    struct upp_err err = {0};
    size_t n;
    CHECK(
        weft_tree_from_json(
            UPP_STR(
                "{\"rootId\":\"r\",\"currentId\":\"r\",\"nodes\":[{\"id\":\"r\",\"thread\":{\"id\":\"t\",\"messages\":["
                "]},\"children\":[\"a\",\"b\"]},{\"id\":\"a\",\"parentId\":\"r\",\"thread\":{\"id\":\"t\",\"messages\":"
                "[" SAID("one") "," SAID(
                    "two") "]},\"children\":[]},{\"id\":\"b\",\"parentId\":\"r\",\"thread\":{\"id\":\"t\","
                           "\"messages\":[]},\"children\":[]}]}"),
            &t, &err) >= 0);
    CHECK(weft_tree_merge(t, UPP_STR("a"), UPP_STR("b"), &err) == 0);
    CHECK(weft_tree_merge(t, UPP_STR("a"), UPP_STR("b"), &err) == 0);
    CHECK_STR(thread(&a, weft_tree_node(t, UPP_STR("b"))), UPP_STR("one two one two "));
    CHECK(upp_thread_messages(weft_node_thread(weft_tree_node(t, UPP_STR("b"))), &n)->id.n == WB_UUID_TEXT);
}

/* covers: UAP-7.1b/1 */
TEST(tree_of_unknown_nodes_is_an_error)
{
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    struct upp_err err = {0};
    struct upp_str id = {0};
    CHECK(weft_tree_new(&t, &err) >= 0);
    struct upp_str root = weft_node_id(weft_tree_root(t));
    CHECK_INT(weft_tree_branch(t, UPP_STR("x"), NULL, &id, &err), -UPP_ENOTFOUND);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("there is no node 'x'"));
    CHECK_INT(weft_tree_checkout(t, UPP_STR("y"), &err), -UPP_ENOTFOUND);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("there is no node 'y'"));
    CHECK_INT(weft_tree_checkout(t, (struct upp_str){0}, &err), -UPP_ENOTFOUND);
    CHECK_INT(weft_tree_merge(t, UPP_STR("z"), root, &err), -UPP_ENOTFOUND);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("there is no node 'z'"));
    CHECK_INT(weft_tree_merge(t, root, UPP_STR("z"), &err), -UPP_ENOTFOUND);
    CHECK(!id.p && weft_tree_count(t) == 1 && weft_tree_current(t) == weft_tree_root(t));
    weft_tree_free(NULL);
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

/* The tree of a file below tests/golden/session, without blanks; no text: it failed. */
static struct upp_str tree_text(struct wb_arena *a, const char *path)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    size_t n;
    yyjson_val *v;
    char *text = test_read(path, &n);
    if (!EXPECT(text))
        return (struct upp_str){0};
    int r = wj_read(a, wb_str(text, n), NULL, &v, NULL);
    free(text);
    return EXPECT(r == 0) && EXPECT(wj_write(yyjson_obj_get(v, "threadTree"), &b, NULL) == 0)
               ? wb_arena_dup(a, wb_buf_str(&b))
               : (struct upp_str){0};
}

static struct upp_str written(struct wb_arena *a, struct weft_tree *t)
{
    struct upp_str json = {0};
    if (!EXPECT(weft_tree_to_json(t, &json, NULL) == 0))
        return json;
    struct upp_str copy = wb_arena_dup(a, json);
    upp_text_free(json);
    return copy;
}

/* covers: UAP-7.4, UAP-3.4/3, UAP-13.6a/3 */
TEST(tree_json_keeps_all_of_it)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    struct upp_err err = {0};
    struct upp_str text = tree_text(&a, "golden/session/all.json"), id;
    CHECK(text.p && weft_tree_from_json(text, &t, &err) >= 0);
    CHECK_STR(written(&a, t), text);

    /* It goes on as one that was made here does. */
    struct weft_node *c = weft_tree_current(t), *root = weft_tree_root(t);
    struct wb_uuid u, first;
    CHECK_STR(weft_node_id(c), UPP_STR("C"));
    CHECK(weft_node_parent(c) == root && weft_node_child(root, 0) == c && weft_node_branch_point(c) == 3);
    CHECK(weft_tree_branch(t, UPP_STR("B"), "b", &id, &err) >= 0);
    CHECK(wb_uuid_parse(id, &u) && wb_uuid_parse(weft_node_id(root), &first) && memcmp(u.b, first.b, 4) == 0);
    CHECK_INT(weft_node_branch_point(weft_tree_node(t, id)), 0);
    size_t n;
    CHECK(upp_thread_user(weft_node_thread(root), UPP_STR("on"), &err) >= 0);
    CHECK(upp_thread_messages(weft_node_thread(root), &n) && n == 4);
    CHECK_INT(weft_node_branch_point(c), 3); /* all that there was when it was read */
    struct upp_str after = written(&a, t);
    CHECK(wb_str_find(after,
                      UPP_STR("\"id\":\"C\",\"parentId\":\"5f1c2d3e-0000-4000-8000-000000000002\",\"thread\":{\"id\":"
                              "\"tC\",\"messages\":[],\"createdAt\":\"2026-02-03T04:05:06.007+01:00\",\"updatedAt\":"
                              "\"2026-02-03T04:05:06.007Z\"},\"children\":[],\"metadata\":{\"uap.branchPoint\":3}"),
                      0) != SIZE_MAX);
    CHECK(upp_thread_push(weft_node_thread(root), upp_thread_messages(weft_node_thread(root), &n), 4, &err) >= 0);
    upp_thread_clear(weft_node_thread(root)); /* and what was lent is not freed */
    CHECK(upp_thread_user(weft_node_thread(root), UPP_STR("new"), &err) >= 0);
}

/* covers: UAP-7.4, UAP-6.5a/2 */
TEST(tree_json_of_one_that_was_made)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL, *back = NULL, *seed = NULL;
    struct upp_err err = {0};
    struct upp_str id;
    CHECK(weft_tree_new(&t, &err) >= 0 && say(t, "root"));
    struct weft_node *x = grow(t, weft_tree_root(t), "X");
    CHECK(x && weft_node_set_metadata(x, UPP_STR("{\"k\":1e2}"), &err) >= 0);
    CHECK(weft_tree_branch(t, weft_node_id(x), NULL, &id, &err) >= 0);
    struct upp_str text = written(&a, t), now = history(&a, t);
    CHECK(text.p && weft_tree_from_json(text, &back, &err) >= 0);
    CHECK_STR(written(&a, back), text);
    CHECK_STR(history(&a, back), now);
    CHECK_STR(weft_node_metadata(weft_tree_current(back)), UPP_STR("{\"k\":1e2}"));

    /* Threads without times have that of now, which is written. */
    CHECK(weft_tree_from_json(tree_text(&a, "golden/session/seed.json"), &seed, &err) >= 0);
    CHECK_STR(history(&a, seed), UPP_STR("Implement feature X I read the code. Another way "));
    CHECK(upp_thread_created_ms(weft_node_thread(weft_tree_root(seed))) > 1700000000000);
    CHECK(wb_str_find(written(&a, seed), UPP_STR("createdAt"), 0) != SIZE_MAX);
    struct weft_tree *none = NULL;
    CHECK_INT(weft_tree_from_json(UPP_STR("{\"rootId\":\"n\",\"currentId\":\"n\",\"nodes\":[]}"), &none, &err),
              -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/rootId"));
    ALWAYS(!none);
}

/* ---- For sessions --------------------------------------------------------------------------------- */

TEST(tree_placed_within_a_node)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    struct upp_err err = {0};
    struct upp_str id;
    struct weft_node *n;
    CHECK(weft_tree_new(&t, &err) >= 0 && say(t, "1") && say(t, "2") && say(t, "3"));
    struct weft_node *root = weft_tree_root(t);
    CHECK(root->logged == 0 && !root->data);
    weft__tree_position(t, root, 2);
    CHECK_STR(history(&a, t), UPP_STR("1 2 "));
    CHECK(weft_tree_branch(t, weft_node_id(root), NULL, &id, &err) >= 0);
    CHECK_INT(weft_node_branch_point(weft_tree_node(t, id)), 2);
    weft__tree_position(t, root, 9); /* more than there is */
    CHECK_STR(history(&a, t), UPP_STR("1 2 3 "));
    weft__tree_position(t, root, 0);
    CHECK_STR(history(&a, t), UPP_STR(""));
    CHECK(weft_tree_checkout(t, weft_node_id(root), &err) >= 0);
    CHECK_STR(history(&a, t), UPP_STR("1 2 3 "));
    CHECK(weft__tree_branch(t, root, 1, UPP_STR("mine"), UPP_STR("name"), &n, &err) >= 0);
    CHECK_STR(weft_node_id(n), UPP_STR("mine"));
    CHECK_INT(weft__tree_branch(t, root, 1, UPP_STR("mine"), UPP_STR("name"), &n, &err), -UPP_EINVALID);
    CHECK_INT(weft_tree_count(t), 3);
}

/* ---- Limits --------------------------------------------------------------------------------------- */

TEST_WITH(tree_has_a_depth, .no_torture = "thousands of nodes; the others have every fault")
{
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL, *back = NULL;
    struct upp_err err = {0};
    struct upp_str id, json = {0};
    const struct upp_message *list;
    size_t n;
    CHECK(weft_tree_new(&t, &err) >= 0 && say(t, "1"));
    id = weft_node_id(weft_tree_root(t));
    for (unsigned i = 1; i < WEFT_TREE_DEPTH; i++)
        CHECK(weft_tree_branch(t, id, NULL, &id, &err) >= 0 && weft_tree_checkout(t, id, &err) >= 0 && say(t, "1"));
    CHECK(weft_tree_history(t, &list, &n, &err) >= 0 && n == WEFT_TREE_DEPTH);
    CHECK_INT(weft_tree_branch(t, id, NULL, &id, &err), -UPP_ELIMIT);
    CHECK(weft_tree_to_json(t, &json, &err) >= 0);
    int r = weft_tree_from_json(json, &back, &err);
    upp_text_free(json);
    CHECK(r >= 0 && weft_tree_history(back, &list, &n, &err) >= 0);
    CHECK_INT(n, WEFT_TREE_DEPTH);
    CHECK_INT(weft_tree_branch(back, weft_node_id(weft_tree_current(back)), NULL, &id, &err), -UPP_ELIMIT);
}

TEST_WITH(tree_has_a_number_of_nodes, .no_torture = "65,536 nodes; the others have every fault")
{
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    struct upp_err err = {0};
    struct upp_str id;
    CHECK(weft_tree_new(&t, &err) >= 0);
    struct upp_str root = weft_node_id(weft_tree_root(t));
    for (unsigned i = 1; i < WEFT_TREE_NODES; i++)
        CHECK(weft_tree_branch(t, root, NULL, &id, &err) >= 0);
    CHECK_INT(weft_tree_branch(t, root, NULL, &id, &err), -UPP_ELIMIT);
    CHECK(weft_tree_count(t) == WEFT_TREE_NODES && weft_tree_node(t, id) && weft_tree_checkout(t, id, &err) >= 0);
}
