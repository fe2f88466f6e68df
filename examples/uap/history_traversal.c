/* examples/uap/history_traversal.c — the history that each node of a tree sees (UAP 7.3). */
#include "stand_ins.h"
#include <weft/tree.h>

/* Adds a child of `parent`, whose only message is its name. */
static int add(struct weft_tree *tree, struct weft_node *parent, const char *name, struct weft_node **ret,
               struct upp_err *err)
{
    struct upp_str id;
    int            r = weft_tree_branch(tree, weft_node_id(parent), name, &id, err);
    if (r < 0)
        return r;
    *ret = weft_tree_node(tree, id);
    return upp_thread_user(weft_node_thread(*ret), weft_node_name(*ret), err);
}

static int tell(struct weft_tree *tree, struct weft_node *node, struct upp_err *err)
{
    const struct upp_message *history;
    size_t                    n;

    int r = weft_tree_checkout(tree, weft_node_id(node), err);
    if (r < 0 || (r = weft_tree_history(tree, &history, &n, err)) < 0)
        return r;
    printf("from %.*s:", UPP_FMT(weft_node_name(node)));
    for (size_t i = 0; i < n; i++)
        printf(" %.*s", UPP_FMT(history[i].parts[0].text));
    printf("\n");
    return 0;
}

/* root -> A -> B
 *      -> C -> D */
static int example(struct weft_runtime *rt, struct upp_err *err)
{
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *tree = NULL;
    struct weft_node                              *A, *B, *C, *D;
    (void)rt; /* a tree needs no runtime */

    int r = weft_tree_new(&tree, err);
    if (r < 0 || (r = upp_thread_user(weft_node_thread(weft_tree_root(tree)), UPP_STR("root"), err)) < 0)
        return r;
    if ((r = add(tree, weft_tree_root(tree), "A", &A, err)) < 0 || (r = add(tree, A, "B", &B, err)) < 0 ||
        (r = add(tree, weft_tree_root(tree), "C", &C, err)) < 0 || (r = add(tree, C, "D", &D, err)) < 0)
        return r;
    r = tell(tree, B, err);
    return r < 0 ? r : tell(tree, D, err);
}

int main(void)
{
    return run_example(example);
}
