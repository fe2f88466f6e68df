/* Agents of C programs that work together: handoffs, and one that judges what another is asked. */
#include <string.h>

#include "support/agents.h"

#define HELPER "{\"replies\":[{\"parts\":[{\"text\":\"I will.\"}]}],\"at_end\":\"repeat_last\"}"

static struct upp_model_ref scripted(const char *script)
{
    return (struct upp_model_ref){.provider = "scripted", .name = script};
}

static bool says(const struct upp_message *m, uint8_t role, const char *text)
{
    return m->role == role && m->n_parts == 1 && wb_str_eq(m->parts[0].text, wb_cstr(text));
}

static WEFT_SUSPENDS int by_tool(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *main, *helper;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .model = scripted(HELPER), .name = "helper"), &helper, err));
    const struct weft_handoff to = {.to = helper, .prompt = "Go on."};
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .handoff = &to, .n_handoff = 1), &main, err));
    TRY(weft_agent_run(main, UPP_STR("go"), &turn, err));
    FAIL_UNLESS(turn->n_messages == 5 && turn->n_executions == 1 && !turn->executions[0].is_error);
    FAIL_UNLESS(says(&turn->messages[3], UPP_ROLE_USER, "Please!") && strcmp(upp_turn_text(turn), "I will.") == 0);
    return 0;
}

/* The call says what the other is asked; where it is silent the agent's definition does. */
/* covers: TP-62/1 */
TEST(agent_hands_over_by_tool)
{
    AGENTS(SCRIPT(REPLY(CALL("c", "handoff_to_helper", "\"reason\":\"better\",\"message\":\"Please!\""))), by_tool);
}

/* A message that is no text is refused, and the agent goes on itself. */
static WEFT_SUSPENDS int refused(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *main, *helper;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .model = scripted(HELPER), .name = "helper"), &helper, err));
    const struct weft_handoff to = {.to = helper};
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .handoff = &to, .n_handoff = 1), &main, err));
    TRY(weft_agent_run(main, UPP_STR("go"), &turn, err));
    FAIL_UNLESS(turn->n_executions == 1 && turn->executions[0].is_error);
    FAIL_UNLESS(strcmp(upp_turn_text(turn), "Then not.") == 0);
    return 0;
}

TEST(agent_handoff_checks_its_arguments)
{
    AGENTS(SCRIPT(REPLY(CALL("c", "handoff_to_helper", "\"message\":7")), REPLY(TEXT("Then not."))), refused);
}

static WEFT_SUSPENDS int by_mention(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *main, *helper;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .model = scripted(HELPER), .name = "Helper"), &helper, err));
    const struct weft_handoff to = {.to = helper, .prompt = "Go on.", .on_mention = true};
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .handoff = &to, .n_handoff = 1), &main, err));
    TRY(weft_agent_run(main, UPP_STR("go"), &turn, err));
    FAIL_UNLESS(turn->n_messages == 4 && says(&turn->messages[2], UPP_ROLE_USER, "Go on."));
    FAIL_UNLESS(strcmp(upp_turn_text(turn), "I will.") == 0);
    return 0;
}

TEST(agent_hands_over_by_mention)
{
    AGENTS(SCRIPT(REPLY(TEXT("Helper, you go on."))), by_mention);
}

static WEFT_SUSPENDS int judged(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL, *none = NULL;
    struct weft_agent *a, *judge;
    struct upp_err why = {0};
    static const char verdicts[] =
        "{\"replies\":[{\"when\":{\"contains\":\"bad\"},\"parts\":[{\"text\":\"Yes, it is.\"}]},"
        "{\"parts\":[{\"text\":\"No.\"}]}],\"at_end\":\"repeat_last\"}";
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .model = scripted(verdicts)), &judge, err));
    const struct weft_guard_rule rule = {.name = "judge", .action = WEFT_REJECT, .agent = judge};
    const struct weft_guardrails_opts opts = {.size = sizeof opts, .input = &rule, .n_input = 1};
    const struct weft_middleware list = weft_guardrails_with(&opts);
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .middleware = &list, .n_middleware = 1), &a,
                       err));
    TRY(weft_agent_run(a, UPP_STR("something good"), &turn, err));
    FAIL_UNLESS(strcmp(upp_turn_text(turn), "something good") == 0);
    int r = weft_agent_run(a, UPP_STR("something bad"), &none, &why);
    FAIL_UNLESS(r == -UPP_EFILTERED && (!none || !none->response));
    return 0;
}

/* covers: UAP-10.4/3 */
TEST(guardrails_may_be_an_agent)
{
    AGENTS(NULL, judged);
}
