/* examples/uap/tree_usage.c — a conversation that branches and continues on both branches (UAP 7.2). */
#include "stand_ins.h"
#include <weft/tree.h>

static const char script[] = JSON({"replies": [{"parts": [{"text": "A server."}]}, {"parts": [{"text": "Changed."}]}]});

/* turn = await agent.run(tree.history(), text); tree.current.thread.append(turn) */
static int run_in(struct weft_agent *agent, struct weft_tree *tree, struct upp_str text, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    const struct upp_message                    *history;
    size_t                                       n;

    int r = weft_tree_history(tree, &history, &n, err);
    if (r < 0)
        return r;
    r = weft_agent_run_with(agent, UPP_OPTS(upp_input, .history = history, .n_history = n, .text = text), &turn, err);
    if (r < 0)
        return r;
    printf("%.*s (after %zu messages)\n", UPP_FMT(text), n);
    return upp_thread_append(weft_node_thread(weft_tree_current(tree)), turn, err);
}

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *tree = NULL;
    struct weft_agent                             *agent;
    struct upp_str                                 alternative;

    int r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = stand_in(script)), &agent, err);
    if (r < 0 || (r = weft_tree_new(&tree, err)) < 0)
        return r;

    /* Messages go to the current node's thread. */
    r = run_in(agent, tree, UPP_STR("Create a web server"), err);
    if (r < 0)
        return r;

    /* A branch that continues from here. */
    r = weft_tree_branch(tree, weft_node_id(weft_tree_current(tree)), "alternative-framework", &alternative, err);
    if (r < 0 || (r = weft_tree_checkout(tree, alternative, err)) < 0 ||
        (r = run_in(agent, tree, UPP_STR("Use Express instead"), err)) < 0)
        return r;

    /* Back to the first branch, which does not see the other. */
    r = weft_tree_checkout(tree, weft_node_id(weft_tree_root(tree)), err);
    return r < 0 ? r : run_in(agent, tree, UPP_STR("Add middleware"), err);
}

int main(void)
{
    return run_example(example);
}
