/* What the log knows of a conversation is in its SessionJSON, and comes back in another runtime: system events, who
 * spoke, names of tools, metadata of parts. covers: UAP-13.6a/6, TP-63/2 */
#include <string.h>

#include "session/session.h"
#include "support/agents.h"

#define MAIN_ID   "11111111-1111-4111-8111-111111111111"
#define HELPER_ID "22222222-2222-4222-8222-222222222222"
#define HELPER    "{\"replies\":[{\"parts\":[{\"text\":\"I will.\"}]}],\"at_end\":\"repeat_last\"}"

static int count_secret;

static int secret(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    count_secret++;
    return upp_value_text(ret, UPP_STR("told"), err);
}

static int grants(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls, struct upp_err *err)
{
    (void)arg, (void)calls;
    if (step != 1)
        return 0;
    return weft_run_event(
        run, &(struct weft_system_event){.type = UPP_STR("tool.grant"), .data = UPP_STR("{\"tools\":[\"secret\"]}")},
        err);
}

static const struct weft_tool_opts withheld = {.size = sizeof withheld, .withheld = true};
static const struct weft_hooks granting = {.on_act = grants};

/* The agents of one runtime. Only those of the first have the hook that grants. */
struct cast {
    struct upp_tool tools[2];
    struct weft_handoff to;
    struct weft_agent *main, *helper;
};

static WEFT_SUSPENDS int make_cast(struct weft_runtime *rt, struct upp_model *model, const struct weft_hooks *hooks,
                                   struct cast *c, struct upp_err *err)
{
    struct upp_model_ref scripted = {.provider = "scripted", .name = HELPER};
    c->tools[0] = agents_tools[0];
    c->tools[1] = (struct upp_tool)UPP_TOOL(secret, "tells a secret", "{}");
    c->tools[1].extra = &withheld;
    TRY(weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = scripted, .name = "helper", .id = HELPER_ID), &c->helper,
                       err));
    c->to = (struct weft_handoff){.to = c->helper};
    return weft_agent_new(rt,
                          UPP_OPTS(weft_agent_opts, .use = model, .name = "main", .id = MAIN_ID, .tools = {c->tools, 2},
                                   .handoff = &c->to, .n_handoff = 1, .hooks = hooks),
                          &c->main, err);
}

static bool has(struct upp_str json, const char *what)
{
    return wb_str_find(json, wb_cstr(what), 0) != SIZE_MAX;
}

/* The name of the first result on the current node. */
static WEFT_SUSPENDS int first_result(struct weft_session *s, struct upp_str *ret, struct upp_err *err)
{
    struct weft_tree *tree;
    size_t n;
    *ret = (struct upp_str){0};
    TRY(weft_session_tree(s, &tree, err));
    const struct upp_message *list = upp_thread_messages(weft_node_thread(weft_tree_current(tree)), &n);
    for (size_t i = 0; i < n && !ret->p; i++)
        for (const struct upp_part *p = NULL; !ret->p && (p = upp_part_next(&list[i], p, UPP_PARTS_RESULTS));)
            *ret = p->name;
    return 0;
}

/* In a runtime of its own, with a log of its own. */
static WEFT_SUSPENDS int elsewhere(struct agents *p, struct weft_runtime *rt, struct upp_str json, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    static struct cast c;
    struct upp_str again = {0}, name;
    TRY(make_cast(rt, p->model, NULL, &c, err));
    TRY(weft_session_from_json(c.main, json, NULL, &s, err));
    TRY(first_result(s, &name, err)); /* it is in the log now */
    FAIL_UNLESS(wb_str_eq(name, UPP_STR("add")));
    TRY(weft_session_to_json(s, &again, err));
    bool same = wb_str_eq(json, again);
    test_note("%.*s\n%.*s", UPP_FMT(json), UPP_FMT(again));
    upp_text_free(again);
    FAIL_UNLESS(same);
    count_secret = 0;
    TRY(weft_session_run(s, UPP_STR("again"), &turn, err));
    test_note("the secret was told %d times; '%s'", count_secret, upp_turn_text(turn));
    FAIL_UNLESS(count_secret == 1 && strcmp(upp_turn_text(turn), "I know.") == 0);
    return 0;
}

static WEFT_SUSPENDS int granted_and_handed(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    static struct cast c;
    struct weft_runtime *other = NULL;
    struct upp_str json = {0};
    TRY(make_cast(p->rt, p->model, &granting, &c, err));
    TRY(weft_session_new(c.main, NULL, &s, err));
    TRY(weft_session_run(s, UPP_STR("go"), &turn, err));
    FAIL_UNLESS(strcmp(upp_turn_text(turn), "I will.") == 0);
    TRY(weft_session_to_json(s, &json, err));
    bool all = has(json, "tool.grant") && has(json, "agent.handoff") &&
               has(json, "\"agent\":\"" HELPER_ID "\",\"name\":\"helper\"") &&
               has(json, "\"agent\":\"" MAIN_ID "\",\"name\":\"main\"");
    test_note("%.*s", UPP_FMT(json));
    int r = all ? weft_runtime_open(UPP_OPTS(weft_runtime_opts, .loop = p->loop), &other, err)
                : upp_fail(err, UPP_EBUG, "not all that the log knows is in the document");
    if (r >= 0)
        r = elsewhere(p, other, json, err);
    weft_runtime_close(other);
    upp_text_free(json);
    return r;
}

TEST(session_json_has_events_and_who_spoke)
{
    AGENTS("{\"replies\":[{\"when\":{\"contains\":\"go\"}," PARTS(CALL(
               "c1", "add",
               "\"a\":1,\"b\":2")) "},"
                                   "{\"when\":{\"tool_result\":\"add\"}," PARTS(CALL(
                                       "c2", "handoff_to_helper",
                                       "\"message\":\"Please!\"")) "},"
                                                                   "{\"when\":{\"contains\":\"again\"}," PARTS(CALL(
                                                                       "c3", "secret",
                                                                       "")) "},"
                                                                            "{\"when\":{\"tool_result\":\"secret\"}"
                                                                            "," PARTS(TEXT("I know.")) "}]}",
           granted_and_handed);
}
