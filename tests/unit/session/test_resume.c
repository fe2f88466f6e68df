/* Sessions in a database: opened again by another process, and gone on with after one that died in the middle of a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/uuid.h"
#include "support/agents.h"

#define AGENT_ID   "5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11"
#define SESSION_ID "0e2b7a52-3f0f-4c49-8a5e-6f2d1c0b9a87"

#define STORY                                                                                                          \
    SCRIPT("{\"when\":{\"contains\":\"count\"}," PARTS(TEXT("First."), CALL("c1", "tally", "")) "}",                   \
           "{\"when\":{\"tool_result\":\"tally\"}," PARTS(TEXT("Then."), CALL("c2", "fatal", "")) "}",                 \
           "{\"when\":{\"tool_result\":\"fatal\"}," PARTS(TEXT("Done.")) "}",                                          \
           "{\"when\":{\"contains\":\"again\"}," PARTS(TEXT("Again.")) "}")

struct life {
    char url[300], tally[300];
    bool dies;
    struct upp_model *model;
    struct weft_runtime *rt;
    struct weft_agent *agent;
};

/* One letter for each time that it runs, in whatever process. */
static int tally(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    const struct life *l = call->arg;
    FILE *f = fopen(l->tally, "a");
    if (!f || fputc('x', f) == EOF || fclose(f) != 0)
        return upp_fail(err, UPP_ESTORE, "the tally");
    return upp_value_printf(ret, err, "counted");
}

static int fatal(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    const struct life *l = call->arg;
    if (l->dies)
        _exit(42);
    return upp_value_printf(ret, err, "survived");
}

static int begin(struct life *l, struct upp_err *err)
{
    static const struct weft_tool_opts again = {.size = sizeof again, .delivery = WEFT_IDEMPOTENT};
    static struct upp_tool tools[2];
    tools[0] = (struct upp_tool){.name = "tally", .description = "counts", .run = tally, .arg = l};
    tools[1] = (struct upp_tool){.name = "fatal", .description = "kills", .run = fatal, .arg = l, .extra = &again};
    TRY(upp_scripted_new(UPP_STR(STORY), &l->model, err));
    TRY(weft_runtime_open(UPP_OPTS(weft_runtime_opts, .store = l->url), &l->rt, err));
    return weft_agent_new(l->rt, UPP_OPTS(weft_agent_opts, .use = l->model, .id = AGENT_ID, .tools = {tools, 2}),
                          &l->agent, err);
}

static void end(struct life *l)
{
    weft_runtime_close(l->rt);
    upp_model_free(l->model);
    l->rt = NULL;
    l->model = NULL;
}

static int first_life(struct life *l, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(weft_session_new(l->agent, UPP_OPTS(weft_session_opts, .id = SESSION_ID, .metadata = "{\"a\":1}"), &s, err));
    return weft_session_run(s, UPP_STR("count"), &turn, err);
}

static int second_life(struct life *l, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL, *taken = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL, *none = NULL, *more = NULL;
    size_t n;
    TRY(weft_session_open(l->agent, UPP_STR(SESSION_ID), NULL, &s, err));
    FAIL_UNLESS(wb_str_eq(weft_session_metadata(s), UPP_STR("{\"a\":1}")));
    FAIL_UNLESS(weft_session_new(l->agent, UPP_OPTS(weft_session_opts, .id = SESSION_ID), &taken, NULL) == -UPP_EBUSY);
    TRY(weft_session_checkpoints(s, &n, err));
    FAIL_UNLESS(n == 1);
    FAIL_UNLESS(weft_session_run(s, UPP_STR("again"), &none, NULL) == -UPP_EBUSY);
    TRY(weft_session_resume(s, &turn, err));
    FAIL_UNLESS(strcmp(upp_turn_text(turn), "Done.") == 0 && turn->n_messages == 6);
    TRY(weft_session_checkpoints(s, &n, err));
    FAIL_UNLESS(n == 3);
    FAIL_UNLESS(weft_session_resume(s, &none, NULL) == -UPP_ENOTFOUND);
    TRY(weft_session_run(s, UPP_STR("again"), &more, err));
    FAIL_UNLESS(strcmp(upp_turn_text(more), "Again.") == 0);
    return 0;
}

static int die(struct life *l)
{
    pid_t child = fork();
    if (child == 0) {
        struct upp_err err = {0};
        l->dies = true;
        int r = begin(l, &err);
        if (r >= 0)
            r = first_life(l, &err);
        fprintf(stderr, "it lived: %d %s\n", r, err.msg);
        _exit(1);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* covers: UAP-6.6, UAP-6.1b/3 */
TEST_WITH(session_goes_on_after_a_death, .no_torture = "another process dies in it")
{
    struct life l = {0};
    struct upp_err err = {0};
    snprintf(l.url, sizeof l.url, "sqlite:%s/sessions.db", test_folder());
    snprintf(l.tally, sizeof l.tally, "%s/tally", test_folder());
    CHECK_INT(die(&l), 42);
    int r = begin(&l, &err);
    if (r >= 0)
        r = second_life(&l, &err);
    end(&l);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
    char seen[8] = "";
    FILE *f = fopen(l.tally, "r");
    CHECK(f && fgets(seen, sizeof seen, f));
    CHECK(fclose(f) == 0);
    CHECK_STR(wb_cstr(seen), UPP_STR("x")); /* what was done is not done again */
}
