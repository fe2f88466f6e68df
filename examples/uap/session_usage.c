/* examples/uap/session_usage.c — a session: checkpoints after each step, and a restore of one (UAP 6.2). */
#include "stand_ins.h"
#include <weft/session.h>

static const char script[] = JSON({
    "replies": [
        {"when": {"contains": "hello"}, "parts": [{"tool_call": {"id": "c1", "name": "Write", "arguments": {"path": "hello.c"}}}]},
        {"when": {"tool_result": "Write"}, "parts": [{"text": "It says hello."}]},
        {"when": {"contains": "error"}, "parts": [{"text": "Errors are handled."}]},
        {"when": {"contains": "logging"}, "parts": [{"text": "It logs."}]}
    ]
});

static int run(struct weft_session *sess, struct upp_str text, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    size_t                                       checkpoints;

    int r = weft_session_run(sess, text, &turn, err);
    if (r < 0 || (r = weft_session_checkpoints(sess, &checkpoints, err)) < 0)
        return r;
    printf("%.*s: %s (%zu checkpoints)\n", UPP_FMT(text), upp_turn_text(turn), checkpoints);
    return 0;
}

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    const struct weft_tools                               tools = WEFT_TOOLS(Bash, Read, Write);
    UPP_CLEANUP(weft_session_closep) struct weft_session *sess  = NULL;
    struct weft_agent                                    *coder;
    struct weft_checkpoint                                first;
    struct weft_tree                                     *tree;

    int r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = stand_in(script), .tools = tools), &coder, err);
    if (r < 0 ||
        (r = weft_session_new(coder, UPP_OPTS(weft_session_opts, .interval = WEFT_EVERY_STEP), &sess, err)) < 0)
        return r;

    /* The session stores its state, with a checkpoint after each step. */
    if ((r = run(sess, UPP_STR("Create a hello world program"), err)) < 0 ||
         (r = run(sess, UPP_STR("Add error handling"), err)) < 0)
        return r;

    /* Restore an earlier checkpoint; the next run starts a branch there. */
    if ((r = weft_session_checkpoint(sess, 0, &first, err)) < 0 ||
        (r = weft_session_restore(sess, first.id, err)) < 0 ||
        (r = run(sess, UPP_STR("Add logging instead"), err)) < 0 || (r = weft_session_tree(sess, &tree, err)) < 0)
        return r;
    printf("%zu branches\n", weft_tree_count(tree));
    return 0;
}

int main(void)
{
    return run_example(example);
}
