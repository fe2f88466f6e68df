/* Queries beside the conversation of a session. */
#include <stdio.h>
#include <string.h>

#include "support/agents.h"

#define REPLIES                                                                                                        \
    SCRIPT("{\"when\":{\"contains\":\"hello\"}," PARTS(TEXT("Hello.")) "}",                                            \
           "{\"when\":{\"contains\":\"aside\"}," PARTS(TEXT("Aside.")) "}",                                            \
           "{\"when\":{\"contains\":\"further\"}," PARTS(TEXT("Further.")) "}",                                        \
           "{\"when\":{\"contains\":\"wonder\"}," PARTS(TEXT("Let me see."), CALL("c1", "ask", "")) "}",               \
           "{\"when\":{\"tool_result\":\"ask\"}," PARTS(TEXT("I know.")) "}")

struct desk {
    struct weft_session *session;
    struct weft_query_result *query; /* of the tool */
    size_t saves;
};

static size_t length(const struct upp_thread *t)
{
    size_t n;
    (void)upp_thread_messages(t, &n);
    return n;
}

static bool says(const struct upp_turn *t, const char *text)
{
    return t && strcmp(upp_turn_text(t), text) == 0;
}

static int ask(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct desk *d = call->arg;
    TRY(weft_session_query(d->session, UPP_STR("aside"), &d->query, err));
    return upp_value_printf(ret, err, "%s", upp_turn_text(d->query->turn));
}

static WEFT_SUSPENDS int say(struct weft_session *s, const char *text, const char *answer, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(weft_session_run(s, wb_cstr(text), &turn, err));
    FAIL_UNLESS(says(turn, answer));
    return 0;
}

static WEFT_SUSPENDS int count(struct weft_session *s, size_t expected, struct upp_err *err)
{
    size_t n;
    TRY(weft_session_checkpoints(s, &n, err));
    test_note("%zu checkpoints, not %zu", n, expected);
    FAIL_UNLESS(n == expected);
    return 0;
}

static WEFT_SUSPENDS int make(struct agents *p, struct desk *d, const struct weft_session_opts *opts,
                              struct upp_err *err)
{
    static struct upp_tool tool = {.name = "ask", .description = "asks aside", .run = ask};
    struct weft_agent *a;
    tool.arg = d;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {&tool, 1}), &a, err));
    return weft_session_new(a, opts, &d->session, err);
}

/* A thread of its own, in the session's tree. */

static WEFT_SUSPENDS int beside(struct desk *d, struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *one = NULL, *two = NULL;
    struct weft_tree *t;
    const struct upp_message *list;
    size_t n;
    TRY(make(p, d, NULL, err));
    struct weft_session *s = d->session;
    TRY(say(s, "hello", "Hello.", err));
    TRY(weft_session_query(s, UPP_STR("an aside"), &one, err));
    FAIL_UNLESS(says(one->turn, "Aside.") && length(one->thread) == 2 && one->agent == weft_session_agent(s));
    TRY(count(s, 1, err));

    /* The session is where it was; the tree has it, now and when it goes on. */
    TRY(weft_session_tree(s, &t, err));
    FAIL_UNLESS(weft_tree_count(t) == 2 && weft_tree_current(t) == weft_tree_root(t));
    struct weft_node *node = weft_tree_next(t, weft_tree_root(t));
    FAIL_UNLESS(wb_str_eq(weft_node_id(node), upp_thread_id(one->thread)) && weft_node_branch_point(node) == 0);
    FAIL_UNLESS(wb_str_eq(weft_node_name(node), UPP_STR("query")) && length(weft_node_thread(node)) == 2);
    TRY(weft_query_continue(one, UPP_STR("go further"), &two, err));
    FAIL_UNLESS(says(two->turn, "Further.") && length(two->thread) == 4 && two->thread == one->thread);
    FAIL_UNLESS(length(weft_node_thread(node)) == 4 && weft_tree_count(t) == 2);
    TRY(weft_tree_history(t, &list, &n, err));
    FAIL_UNLESS(n == 2);

    /* In the middle of a run, by a tool. */
    TRY(say(s, "I wonder", "I know.", err));
    FAIL_UNLESS(weft_tree_count(t) == 3 && length(weft_node_thread(weft_tree_root(t))) == 6);
    FAIL_UNLESS(d->query && length(d->query->thread) == 2 && length(weft_node_thread(weft_tree_next(t, node))) == 2);
    TRY(count(s, 3, err));
    struct weft_query_result *none = NULL;
    FAIL_UNLESS(weft_session_query_open(s, UPP_STR("nothing"), &none, NULL) == -UPP_ENOTFOUND);
    FAIL_UNLESS(weft_session_query_open(s, weft_node_id(weft_tree_root(t)), &none, NULL) == -UPP_ENOTFOUND);
    FAIL_UNLESS(weft_session_query(s, (struct upp_str){0}, &none, NULL) == -UPP_EINVALID && !none);
    return 0;
}

static WEFT_SUSPENDS int queries(struct agents *p, struct upp_err *err)
{
    struct desk d = {0};
    int r = beside(&d, p, err);
    weft_query_free(d.query);
    weft_session_close(d.session);
    return r;
}

/* covers: UAP-9.2b/2 */
TEST(session_query_has_a_thread_in_its_tree)
{
    AGENTS(REPLIES, queries);
}

/* The model says its first reply to whoever has not heard it: each history has its own. */
static WEFT_SUSPENDS int isolated(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *q = NULL, *more = NULL;
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_session_new(a, NULL, &s, err));
    TRY(say(s, "a", "one", err));
    TRY(weft_session_query(s, UPP_STR("b"), &q, err));
    FAIL_UNLESS(says(q->turn, "one"));
    TRY(say(s, "c", "two", err));
    TRY(weft_query_continue(q, UPP_STR("d"), &more, err));
    FAIL_UNLESS(says(more->turn, "two"));
    return say(s, "e", "three", err);
}

/* covers: UAP-9.2a/2 */
TEST(session_query_neither_hears_nor_is_heard)
{
    AGENTS(SCRIPT(REPLY(TEXT("one")), REPLY(TEXT("two")), REPLY(TEXT("three"))), isolated);
}

static WEFT_SUSPENDS int go_on(struct weft_session *s, struct upp_str id, size_t had, struct upp_err *err)
{
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *q = NULL, *more = NULL;
    TRY(weft_session_query_open(s, id, &q, err));
    FAIL_UNLESS(!q->turn && length(q->thread) == had && wb_str_eq(upp_thread_id(q->thread), id));
    TRY(weft_query_continue(q, UPP_STR("go further"), &more, err));
    FAIL_UNLESS(says(more->turn, "Further.") && length(more->thread) == had + 2);
    return count(s, 1, err);
}

static WEFT_SUSPENDS int again(struct desk *d, struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *q = NULL;
    UPP_CLEANUP(weft_session_closep) struct weft_session *other = NULL, *read = NULL;
    struct upp_str json;
    TRY(make(p, d, NULL, err));
    TRY(say(d->session, "hello", "Hello.", err));
    TRY(weft_session_query(d->session, UPP_STR("an aside"), &q, err));
    TRY(weft_session_to_json(d->session, &json, err));
    int r = weft_session_from_json(weft_session_agent(d->session), json, NULL, &read, err);
    upp_text_free(json);
    TRY(r);
    TRY(weft_session_open(weft_session_agent(d->session), weft_session_id(d->session), NULL, &other, err));
    TRY(go_on(other, upp_thread_id(q->thread), 2, err));
    TRY(go_on(other, upp_thread_id(q->thread), 4, err));
    TRY(go_on(read, upp_thread_id(q->thread), 2, err)); /* of the document, which is another session */
    return go_on(read, upp_thread_id(q->thread), 4, err);
}

static WEFT_SUSPENDS int kept(struct agents *p, struct upp_err *err)
{
    struct desk d = {0};
    int r = again(&d, p, err);
    weft_session_close(d.session);
    return r;
}

/* covers: UAP-9.2b/2 */
TEST(session_query_is_kept_with_the_session)
{
    AGENTS(REPLIES, kept);
}

static WEFT_SUSPENDS int shelf_save(void *arg, struct upp_str key, struct upp_str data, struct upp_err *err)
{
    struct desk *d = arg;
    (void)key, (void)err;
    d->saves += wb_str_find(data, UPP_STR("\"name\":\"query\""), 0) < data.n;
    return 0;
}

static WEFT_SUSPENDS int shelf_load(void *arg, struct upp_str key, struct upp_str *ret, struct upp_err *err)
{
    (void)arg, (void)key, (void)err;
    *ret = (struct upp_str){0};
    return 0;
}

static WEFT_SUSPENDS int shelf_erase(void *arg, struct upp_str key, struct upp_err *err)
{
    (void)arg, (void)key, (void)err;
    return 0;
}

static WEFT_SUSPENDS int saved(struct agents *p, struct upp_err *err)
{
    struct desk d = {0};
    const struct weft_persistence on = {&d, shelf_save, shelf_load, shelf_erase};
    struct weft_query_result *q = NULL;
    int r = make(p, &d, UPP_OPTS(weft_session_opts, .persistence = &on), err);
    if (r >= 0)
        r = weft_session_query(d.session, UPP_STR("an aside"), &q, err);
    weft_query_free(q);
    weft_session_close(d.session);
    TRY(r);
    FAIL_UNLESS(d.saves == 1);
    return 0;
}

TEST(session_query_is_saved_by_a_programs_own_store)
{
    AGENTS(REPLIES, saved);
}
