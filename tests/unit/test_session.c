/* Sessions of programs: runs, checkpoints, restore, SessionJSON, a program's own store. */
#include <stdio.h>
#include <string.h>

#include "support/agents.h"

#define TWO_STEPS                                                                                                      \
    SCRIPT("{\"when\":{\"contains\":\"program\"}," PARTS(TEXT("Look."), CALL("c1", "add", "\"a\":1,\"b\":2")) "}",     \
           "{\"when\":{\"tool_result\":\"add\"}," PARTS(TEXT("It is 3.")) "}",                                         \
           "{\"when\":{\"contains\":\"errors\"}," PARTS(TEXT("Errors are handled.")) "}",                              \
           "{\"when\":{\"contains\":\"logging\"}," PARTS(TEXT("It logs.")) "}")

static WEFT_SUSPENDS int say(struct weft_session *s, const char *text, const char *expected, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(weft_session_run(s, wb_cstr(text), &turn, err));
    const char *got = upp_turn_text(turn);
    test_note("'%s' was answered with '%s'", text, got ? got : "nothing");
    FAIL_UNLESS(got && strcmp(got, expected) == 0);
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

static WEFT_SUSPENDS int make(struct agents *p, const struct weft_session_opts *opts, struct weft_session **ret,
                              struct upp_err *err)
{
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL), &a, err));
    return weft_session_new(a, opts, ret, err);
}

/* ---- The seed's 6.2
 * --------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int usage(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_checkpoint                                first, last;
    TRY(make(p, NULL, &s, err));
    TRY(count(s, 0, err));
    TRY(say(s, "Create a hello world program", "It is 3.", err));
    TRY(count(s, 2, err));
    TRY(say(s, "Handle errors", "Errors are handled.", err));
    TRY(count(s, 3, err));
    TRY(weft_session_checkpoint(s, 0, &first, err));
    FAIL_UNLESS(first.step == 1 && first.n_messages == 3 && wb_str_eq(first.session_id, weft_session_id(s)));
    char id[64];
    snprintf(id, sizeof id, "%.*s", UPP_FMT(first.id));
    TRY(weft_session_restore(s, wb_cstr(id), err));
    TRY(count(s, 3, err));
    TRY(weft_session_restore(s, wb_cstr(id), err));
    TRY(say(s, "Add logging instead", "It logs.", err));
    TRY(count(s, 4, err));
    TRY(weft_session_checkpoint(s, 3, &last, err));
    TRY(weft_session_checkpoint(s, 0, &first, err));
    FAIL_UNLESS(!wb_str_eq(first.node, last.node));
    FAIL_UNLESS(weft_session_checkpoint(s, 4, &last, NULL) == -UPP_ENOTFOUND);
    return 0;
}

/* covers: UAP-6.1a, UAP-6.2, UAP-6.5b, UAP-6.5c */
TEST(session_goes_back_and_branches)
{
    AGENTS(TWO_STEPS, usage);
}
