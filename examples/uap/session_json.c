/* examples/uap/session_json.c — reads the specification's example session and writes it again (UAP 13.5). */
#include <string.h>

#include "stand_ins.h"
#include <weft/session.h>

static const char script[] = JSON({"replies": [{"parts": [{"text": "Feature X is there."}]}]});

/* The specification omits three lists of messages; they are filled in here. */
static const char stored[] = JSON({
    "version": "1.0.0",
    "id": "sess_abc123",
    "agentId": "agent_xyz789",
    "createdAt": "2024-01-15T10:30:00.000Z",
    "updatedAt": "2024-01-15T10:35:00.000Z",
    "threadTree": {
        "rootId": "node_root",
        "currentId": "node_branch1",
        "nodes": [
            {
                "id": "node_root",
                "parentId": null,
                "name": "main",
                "thread": {
                    "id": "thread_001",
                    "messages": [
                        {"id": "m1", "type": "user", "content": [{"type": "text", "text": "Implement feature X"}],
                         "metadata": {}, "timestamp": "2024-01-15T10:30:00.000Z"},
                        {"id": "m2", "type": "assistant", "content": [{"type": "text", "text": "Which way?"}],
                         "metadata": {"anthropic": {"stop_reason": "end_turn"}}, "timestamp": "2024-01-15T10:31:00.000Z"}
                    ]
                },
                "children": ["node_branch1"],
                "metadata": {}
            },
            {
                "id": "node_branch1",
                "parentId": "node_root",
                "name": "alternative",
                "thread": {
                    "id": "thread_002",
                    "messages": [
                        {"id": "m3", "type": "user", "content": [{"type": "text", "text": "The other way"}],
                         "metadata": {}, "timestamp": "2024-01-15T10:34:00.000Z"}
                    ]
                },
                "children": [],
                "metadata": {}
            }
        ]
    },
    "checkpoints": [
        {
            "id": "cp_001",
            "sessionId": "sess_abc123",
            "timestamp": "2024-01-15T10:32:00.000Z",
            "step": 3,
            "threadId": "node_root",
            "state": {
                "step": 3,
                "messages": [
                    {"id": "m1", "type": "user", "content": [{"type": "text", "text": "Implement feature X"}],
                     "metadata": {}, "timestamp": "2024-01-15T10:30:00.000Z"}
                ],
                "metadata": {"taskComplete": false},
                "reasoning": ["First, I need to...", "Now I should..."]
            },
            "subAgentStates": {},
            "metadata": {}
        }
    ],
    "metadata": {"task": "Implement feature X"}
});

/* Ids, times and maps come back unchanged. */
static int write_back(struct weft_session *sess, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *again = NULL;
    struct upp_str                                        one, two;
    int                                                   r = weft_session_to_json(sess, &one, err);
    if (r < 0 || (r = weft_session_from_json(weft_session_agent(sess), one, NULL, &again, err)) < 0 ||
        (r = weft_session_to_json(again, &two, err)) < 0)
        return r;
    printf("written back: %s\n", one.n == two.n && memcmp(one.p, two.p, one.n) == 0 ? "the same" : "something else");
    upp_text_free(one);
    upp_text_free(two);
    return 0;
}

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *sess = NULL, *none = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn          *turn = NULL;
    struct weft_agent                                    *coder;
    struct weft_checkpoint                                cp;
    struct weft_tree                                     *tree;
    struct upp_err                                        why;

    int r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = stand_in(script)), &coder, err);
    if (r < 0 ||
        (r = weft_session_from_json(coder, (struct upp_str){stored, sizeof stored - 1}, NULL, &sess, err)) < 0 ||
        (r = write_back(sess, err)) < 0 || (r = weft_session_checkpoint(sess, 0, &cp, err)) < 0)
        return r;
    printf("%.*s: step %u, %zu thoughts, %.*s\n", UPP_FMT(cp.id), cp.step, cp.n_reasoning, UPP_FMT(cp.state.metadata));

    /* The session continues on its current node, the branch. */
    if ((r = weft_session_run(sess, UPP_STR("Go on"), &turn, err)) < 0 || (r = weft_session_tree(sess, &tree, err)) < 0)
        return r;
    for (struct weft_node *n = NULL; (n = weft_tree_next(tree, n));) {
        size_t messages;
        (void)upp_thread_messages(weft_node_thread(n), &messages);
        printf("%.*s: %zu messages%s\n", UPP_FMT(weft_node_name(n)), messages,
               n == weft_tree_current(tree) ? ", the current one" : "");
    }

    /* An invalid document is refused; the error says where. */
    static const char broken[] = JSON({"version": "1.0.0", "id": 7});
    int refused = weft_session_from_json(coder, (struct upp_str){broken, sizeof broken - 1}, NULL, &none, &why);
    printf("%s at %s: %s\n", upp_code_name(refused), why.where, why.msg);
    return 0;
}

int main(void)
{
    return run_example(example);
}
