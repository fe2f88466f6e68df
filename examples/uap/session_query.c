/* examples/uap/session_query.c — a question outside the conversation, stored in its session (UAP 9.2). */
#include "stand_ins.h"
#include <weft/session.h>

static const char script[] =
    JSON({"replies": [{"parts": [{"text": "First answer."}]}, {"parts": [{"text": "Second answer."}]}]});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session   *sess  = NULL;
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *aside = NULL, *further = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn            *one = NULL, *two = NULL;
    struct weft_agent                                      *coder;
    struct weft_tree                                       *tree;

    int r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = stand_in(script)), &coder, err);
    if (r < 0 || (r = weft_session_new(coder, NULL, &sess, err)) < 0 ||
        (r = weft_session_run(sess, UPP_STR("Begin"), &one, err)) < 0)
        return r;

    /* The query does not see the conversation, nor the conversation the query. */
    if ((r = weft_session_query(sess, UPP_STR("What is a thread?"), &aside, err)) < 0 ||
         (r = weft_session_run(sess, UPP_STR("Go on"), &two, err)) < 0 ||
          (r = weft_query_continue(aside, UPP_STR("And a tree?"), &further, err)) < 0)
        return r;
    printf("session: %s %s\n", upp_turn_text(one), upp_turn_text(two));
    printf("query:   %s %s\n", upp_turn_text(aside->turn), upp_turn_text(further->turn));

    /* Both are in the tree of the session, and in its JSON. */
    if ((r = weft_session_tree(sess, &tree, err)) < 0)
        return r;
    struct weft_node *node = weft_tree_node(tree, upp_thread_id(aside->thread));
    printf("%zu nodes, one is called '%.*s'\n", weft_tree_count(tree), UPP_FMT(weft_node_name(node)));
    return 0;
}

int main(void)
{
    return run_example(example);
}
