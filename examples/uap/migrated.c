/* examples/uap/migrated.c — a hand-written loop around a model, migrated to an agent with a session (UAP B.2). */
#include <string.h>

#include "stand_ins.h"
#include <weft/execution.h>
#include <weft/middleware.h>
#include <weft/session.h>

static const char script[] =
    JSON({"replies": [
    {"parts": [{"text": "I have to see it."}]},
    {"parts": [{"tool_call": {"id": "c1", "name": "Read", "arguments": {"path": "main.c"}}}]},
    {"parts": [{"text": "x has to be declared."}]},
    {"parts": [{"text": "DONE, almost: I write it down."},
               {"tool_call": {"id": "c2", "name": "Write", "arguments": {"path": "main.c", "text": "int x;"}}}]},
    {"parts": [{"text": "Nobody asks for this any more."}]}]});

static void logger(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

static bool says_done(const struct upp_message *m)
{
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CONTENT));)
        for (size_t i = 0; i + 4 <= p->text.n; i++)
            if (memcmp(p->text.p + i, "DONE", 4) == 0)
                return true;
    return false;
}

static bool stop(void *arg, struct weft_run *run)
{
    size_t                           n;
    const struct upp_message *const *messages = weft_run_messages(run, &n);
    (void)arg;
    if (n > 100)
        return true;
    for (size_t i = 0; i < n; i++)
        if (messages[i]->role == UPP_ROLE_ASSISTANT && says_done(messages[i]))
            return true;
    return false;
}

static const struct weft_hooks hooks = {.stop = stop};

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    const struct weft_tools                               tools    = WEFT_TOOLS(Read, Write, Bash);
    const struct weft_middleware                          around[] = {weft_logging(.logger = logger)};
    UPP_CLEANUP(weft_session_closep) struct weft_session *sess     = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn          *turn     = NULL;
    struct weft_agent                                    *coder;
    struct weft_checkpoint                                first;
    size_t                                                checkpoints;

    int r =
        weft_agent_new(rt,
                       UPP_OPTS(weft_agent_opts, .model = stand_in(script), .execution = weft_react(.max_steps = 50),
                                .tools = tools, .system = "You are a coding assistant.", .middleware = around,
                                .n_middleware = 1, .hooks = &hooks, .id = "00000000-0000-4000-8000-000000000001"),
                       &coder, err);
    if (r < 0 || (r = weft_session_new(coder, NULL, &sess, err)) < 0 ||
        (r = weft_session_run(sess, UPP_STR("Repair main.c"), &turn, err)) < 0)
        return r;
    printf("%s\n", upp_turn_text(turn));

    /* Checkpoints, logging and the stop condition are automatic, and the session can be restored. */
    if ((r = weft_session_checkpoints(sess, &checkpoints, err)) < 0 ||
        (r = weft_session_checkpoint(sess, 0, &first, err)) < 0 || (r = weft_session_restore(sess, first.id, err)) < 0)
        return r;
    printf("%zu checkpoints\n", checkpoints);
    return 0;
}

int main(void)
{
    return run_example(example);
}
