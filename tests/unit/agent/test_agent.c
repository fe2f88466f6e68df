/* Agents: made, found, derived, and turned into what the engine runs. */
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "base/uuid.h"
#include "support/agents.h"

static bool says(const struct upp_err *err, const char *what)
{
    return strstr(err->msg, what) != NULL;
}

/* ---- Making ------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int a_model_is_enough(struct agents *p, struct upp_err *err)
{
    struct weft_agent *a;
    struct wb_uuid id;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    FAIL_UNLESS(wb_uuid_parse(weft_agent_id(a), &id) && wb_uuid_version(id) == 4);
    FAIL_UNLESS(weft_agent_model(a) == p->model && !weft_agent_tools(a).n && !weft_agent_system(a));
    TRY(weft_agent_run(a, UPP_STR("hello"), &turn, err));
    FAIL_UNLESS(strcmp(upp_turn_text(turn), "hello") == 0);
    return 0;
}

/* covers: UAP-4.3d, UAP-2.5/1/2, UAP-3.4/1 */
TEST(agent_with_a_model_alone_runs)
{
    AGENTS(NULL, a_model_is_enough);
}

static WEFT_SUSPENDS int names_and_ids(struct agents *p, struct upp_err *err)
{
    static const char given[] = "5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11";
    struct weft_agent *a, *b = NULL;
    struct upp_err why = {0};
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .id = given, .name = "one"), &a, err));
    FAIL_UNLESS(wb_str_eq(weft_agent_id(a), wb_cstr(given)));
    int r = weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .id = given), &b, &why);
    FAIL_UNLESS(r == -UPP_ENOMEM || (r == -UPP_EINVALID && says(&why, given) && !b));
    r = weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .name = "one"), &b, &why);
    FAIL_UNLESS(r < 0 && (r != -UPP_EINVALID || says(&why, "'one'")) && !b);
    r = weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .id = "x"), &b, &why);
    FAIL_UNLESS(r < 0 && !b);
    weft_agent_free(a);
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .id = given, .name = "one"), &a, err));
    for (unsigned i = 0; i < 100; i++) {
        TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &b, err));
        TRY(wa_home_index(b->home, b, err));
    }
    FAIL_UNLESS(wa_home_find(a->home, UPP_STR("one")) == a && wa_home_find(a->home, wb_cstr(given)) == a);
    FAIL_UNLESS(wa_home_find(b->home, weft_agent_id(b)) == b && !wa_home_find(a->home, UPP_STR("two")));
    return 0;
}

/* covers: UAP-4.2/2 */
TEST(agent_names_and_ids_are_taken_once)
{
    AGENTS(NULL, names_and_ids);
}

/* An options struct of an older program ends earlier. */
static int shorter_opts(struct agents *p, struct upp_err *err)
{
    struct weft_agent_opts o = {.size = offsetof(struct weft_agent_opts, id), .use = p->model, .id = "not looked at"};
    struct weft_agent *a;
    return weft_agent_new(p->rt, &o, &a, err);
}

TEST(agent_options_may_be_shorter)
{
    AGENTS(NULL, shorter_opts);
}

TEST(agent_is_small)
{
    CHECK(sizeof(struct weft_agent) <= 256);
}

/* ---- What lives how long --------------------------------------------------------------------------------------- */

static int twice(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    int64_t n = 0;
    int r = upp_call_arg_i64(call, "n", &n, err);
    return r < 0 ? r : upp_value_printf(ret, err, "%lld", (long long)(2 * n));
}

/* The safe way: the options, the reference of the model and the id may die; tools and the strategy's options are
 * static. */
static int make_in_a_block(struct agents *p, struct weft_agent **ret, struct upp_err *err)
{
    static const struct upp_tool tools[] = {UPP_TOOL(twice, "doubles", "{n: integer}")};
    static const struct weft_strategy_react_opts four = {.size = sizeof four, .max_steps = 4};
    for (size_t i = 0; i < 1; i++) {
        char id[] = "5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11",
             script[] =
                 SCRIPT(REPLY(TEXT("hm")), REPLY(CALL("1", "twice", "\"n\":21")), REPLY(TEXT("hm")), REPLY(TEXT("42")));
        struct weft_agent_opts o = {.size = sizeof o,
                                    .model = {.provider = "scripted", .name = script},
                                    .id = id,
                                    .tools = {tools, 1},
                                    .execution = weft_react_with(&four)};
        TRY(weft_agent_new(p->rt, &o, ret, err));
        memset(id, 'x', sizeof id - 1);
        memset(script, 'x', sizeof script - 1);
        memset(&o, 0xff, sizeof o);
    }
    return 0;
}

static WEFT_SUSPENDS int outlives_its_options(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    TRY(make_in_a_block(p, &a, err));
    TRY(weft_agent_run(a, UPP_STR("21"), &turn, err));
    FAIL_UNLESS(turn->n_executions == 1 && strcmp(upp_turn_text(turn), "42") == 0);
    FAIL_UNLESS(wb_str_eq(weft_agent_id(a), UPP_STR("5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11")));
    return 0;
}

TEST(agent_outlives_its_options)
{
    AGENTS(NULL, outlives_its_options);
}

#if defined __SANITIZE_ADDRESS__ && !defined __clang__
/* The trap: a literal dies with its block, and the agent points to it still. GCC's sanitizer sees that; clang lets
 * literals live as long as the function. */
static int trapped(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a = NULL;
    for (size_t i = 0; i < 1; i++) {
        TRY(weft_agent_new(
            p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = WEFT_TOOLS(UPP_TOOL(twice, "doubles", "{}"))),
            &a, err));
    }
    return weft_agent_run(a, UPP_STR("21"), &turn, err);
}

static void run_trapped(void)
{
    int r = agents_play(NULL, trapped, NULL);
    (void)r;
}

TEST_WITH(agent_literals_die_with_their_block, .no_torture = "it is about a report of the sanitizer")
{
    char text[8192];
    int status = test_in_child(run_trapped, text, sizeof text);
    test_note("%s", text);
    CHECK(status != 0 && strstr(text, "stack-use-after-scope"));
}
#endif

/* ---- Deriving --------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int derives(struct agents *p, struct upp_err *err)
{
    static const struct weft_hooks hooks;
    static const struct upp_tool_strategy calls;
    static const struct weft_rights rights;
    const struct weft_strategy thrice = weft_loop(.max_iterations = 3); /* TRY is a block */
    struct weft_agent *a, *b, *c;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(weft_agent_new(p->rt,
                       UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = "{\"echo\":true}"},
                                .params = "{\"x\":1}", .system = "Be kind.", .tools = AGENTS_ALL, .hooks = &hooks,
                                .tool_strategy = &calls, .rights = &rights, .name = "first", .description = "kind",
                                .execution = thrice),
                       &a, err));
    TRY(weft_agent_derive(a, UPP_OPTS(weft_agent_opts, .system = "Be short."), &b, err));
    TRY(weft_agent_derive(b, NULL, &c, err));
    FAIL_UNLESS(!wb_str_eq(weft_agent_id(a), weft_agent_id(b)) && !b->name && a->name);
    FAIL_UNLESS(strcmp(b->system, "Be short.") == 0 && strcmp(a->system, "Be kind.") == 0 && c->system == b->system);
    FAIL_UNLESS(b->params == a->params && b->hooks == &hooks && b->tool_strategy == &calls && b->rights == &rights &&
                b->description == a->description && b->tools.list == agents_tools && b->model == a->model &&
                b->execution.execute == a->execution.execute);
    weft_agent_free(a); /* the model stays for the others */
    weft_agent_free(b);
    TRY(weft_agent_run(c, UPP_STR("hi"), &turn, err));
    FAIL_UNLESS(strcmp(upp_turn_text(turn), "hi") == 0);
    return 0;
}

/* covers: UAP-2.2/2/3, UAP-4.2/1 */
TEST(agent_derives_all_options)
{
    AGENTS(NULL, derives);
}

/* ---- What cannot be run ---------------------------------------------------------------------- */

static WEFT_SUSPENDS int refused(struct agents *p, const struct weft_agent_opts *opts, const char *why,
                                 struct upp_err *err)
{
    struct weft_agent *a;
    struct upp_err seen = {0};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(weft_agent_new(p->rt, opts, &a, err));
    int r = weft_agent_run(a, UPP_STR("go"), &turn, &seen);
    if (r != -UPP_EINVALID && r < 0) /* a fault */
        return *err = seen, r;
    if (r >= 0 || !says(&seen, why))
        test_note("%s", seen.msg);
    FAIL_UNLESS(r < 0 && says(&seen, why) && !turn);
    return 0;
}

static int nothing(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call, (void)ret, (void)err;
    return 0;
}

static WEFT_SUSPENDS int bad_agents(struct agents *p, struct upp_err *err)
{
    const struct upp_tool twice[] = {UPP_TOOL(nothing, "a", "{}"), UPP_TOOL(nothing, "b", "{}")};
    const struct upp_tool empty[] = {{.name = "idle"}}, schema[] = {UPP_TOOL(nothing, "a", "{\"type\":7}")};
    struct weft_agent *sub;
    TRY(refused(p, UPP_OPTS(weft_agent_opts, .name = "lonely"), "lonely", err));
    TRY(refused(p, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {twice, 2}), "two tools called 'nothing'", err));
    TRY(refused(p, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {empty, 1}), "'idle' has nothing to run", err));
    TRY(refused(p, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {schema, 1}), "tool 'nothing'", err));
    TRY(refused(p, UPP_OPTS(weft_agent_opts, .use = p->model, .params = "[]"), "params: expected an object", err));
    TRY(refused(p, UPP_OPTS(weft_agent_opts, .use = p->model, .structure = "{"), "structure", err));
    /* What is wrong with an agent below is said before anything runs. */
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .name = "sub", .params = "1"), &sub, err));
    const struct upp_tool below[] = {WEFT_TOOL_AGENT(sub)};
    TRY(refused(p, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {below, 1}), "agent 'sub': params", err));
    const struct upp_tool same[] = {WEFT_TOOL_AGENT(sub), {.name = "sub", .run = nothing}};
    return refused(p, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {same, 2}), "two tools called 'sub'", err);
}

/* covers: UAP-4.7 */
TEST(agent_that_is_wrong_is_refused_when_it_runs)
{
    AGENTS(SCRIPT(REPLY(TEXT("never"))), bad_agents);
}

/* ---- Agents as tools ------------------------------------------------------------------------- */

static int looks_like_a_tool(struct agents *p, struct upp_err *err)
{
    char system[1024];
    struct weft_agent *plain, *named, *top;
    struct upp_tool tool = {0};
    const struct wr_agent_def *def;
    memset(system, 0, sizeof system);
    for (size_t i = 0; i < 300; i++)
        memcpy(system + 3 * i, "\xe2\x82\xac", 3); /* a character of three bytes */
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .system = system), &plain, err));
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .name = "helper"), &named, err));
    TRY(weft_agent_to_tool(plain, NULL, &tool, err));
    FAIL_UNLESS(strncmp(tool.name, "agent_", 6) == 0 && wb_str_eq(wb_cstr(tool.name + 6), weft_agent_id(plain)));
    FAIL_UNLESS(strlen(tool.description) == 3 * 256 && strstr(tool.parameters, "\"task\"") && tool.run);
    TRY(weft_agent_to_tool(
        named, UPP_OPTS(weft_to_tool, .name = "asks", .description = "asks it", .parameters = "{q: string}"), &tool,
        err));
    FAIL_UNLESS(strcmp(tool.name, "asks") == 0 && strcmp(tool.description, "asks it") == 0);
    const struct upp_tool tools[] = {WEFT_TOOL_AGENT(plain), WEFT_TOOL_AGENT(named), tool};
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {tools, 3}), &top, err));
    TRY(wa_agent_def(top, &def, err));
    FAIL_UNLESS(def->n_tools == 3 && def->tools[0].kind == WR_TOOL_AGENT && def->tools[1].kind == WR_TOOL_AGENT);
    FAIL_UNLESS(wb_str_eq(def->tools[0].agent, weft_agent_id(plain)));
    FAIL_UNLESS(wb_str_eq(def->tools[1].spec.name, UPP_STR("helper")) && def->tools[1].spec.description.n);
    FAIL_UNLESS(wb_str_eq(def->tools[2].agent, UPP_STR("helper")) && def->tools[2].schema);
    FAIL_UNLESS(plain->def && named->def); /* together with it */
    return 0;
}

/* covers: UAP-4.3c, UAP-8.1, UAP-8.2/1/2/3 */
TEST(agent_looks_like_a_tool)
{
    AGENTS(NULL, looks_like_a_tool);
}

/* Who may call weft_run_history gets all of it; middleware is looked at by itself (middleware_window). */
static int may_ask_for_history(struct agents *p, struct upp_err *err)
{
    static const struct weft_hooks hooks = {0};
    static const struct weft_rights rights = {0};
    static const struct upp_tool_strategy strategy;
    const struct upp_tool tool[] = {UPP_TOOL(nothing, "a", "{}")};
    struct weft_strategy own = weft_strategy_loop;
    own.stream = weft_strategy_loop.execute;
    const struct weft_agent_opts opts[] = {
        {.size = sizeof *opts, .use = p->model},
        {.size = sizeof *opts, .use = p->model, .execution = weft_strategy_plan},
        {.size = sizeof *opts, .use = p->model, .hooks = &hooks},
        {.size = sizeof *opts, .use = p->model, .rights = &rights},
        {.size = sizeof *opts, .use = p->model, .tool_strategy = &strategy},
        {.size = sizeof *opts, .use = p->model, .tools = {tool, 1}},
        {.size = sizeof *opts, .use = p->model, .execution = own},
    };
    for (size_t i = 0; i < WB_LEN(opts); i++) {
        struct weft_agent *a;
        const struct wr_agent_def *def;
        TRY(weft_agent_new(p->rt, &opts[i], &a, err));
        TRY(wa_agent_def(a, &def, err));
        test_note("agent %zu", i);
        FAIL_UNLESS(def->reads_history == (i >= 2));
    }
    return 0;
}

TEST(agent_whose_functions_get_runs_reads_histories)
{
    AGENTS(NULL, may_ask_for_history);
}

static WEFT_SUSPENDS int asks_an_agent(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_model_freep) struct upp_model *echo = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL, *plain = NULL;
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    struct weft_agent *helper, *top;
    struct upp_tool tool = {0};
    TRY(upp_scripted_new((struct upp_str){0}, &echo, err));
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = echo, .name = "helper"), &helper, err));
    TRY(weft_agent_to_tool(helper, UPP_OPTS(weft_to_tool, .parameters = "{task?: string, n?: integer}"), &tool, err));
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {&tool, 1}), &top, err));
    int r = weft_agent_run(top, UPP_STR("go"), &turn, err);
    if (r >= 0)
        FAIL_UNLESS(turn->n_executions == 2 && wb_str_eq(turn->executions[0].result, UPP_STR("\"say this\"")) &&
                    wb_str_eq(turn->executions[1].result, UPP_STR("\"{\\\"n\\\":1}\"")));
    /* The same tool in libupp's own loop. */
    if (r >= 0)
        r = upp_llm_new(UPP_OPTS(upp_llm_opts, .use = p->model, .tools = &tool, .n_tools = 1), &llm, err);
    if (r >= 0 && !p->loop)
        r = upp_ask(llm, UPP_STR("go"), &plain, err);
    if (r >= 0 && plain)
        FAIL_UNLESS(wb_str_eq(plain->executions[0].result, UPP_STR("\"say this\"")));
    weft_agent_free(helper);
    return r;
}

/* covers: UAP-8.1, UAP-8.2/4/5 */
TEST(agent_as_a_tool_answers)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "helper", "\"task\":\"say this\"")), REPLY(CALL("2", "helper", "\"n\":1")),
                  REPLY(TEXT("done"))),
           asks_an_agent);
}

/* An agent may stand below itself: the depth ends it, and the model is told. */
static WEFT_SUSPENDS int asks_itself(struct agents *p, struct upp_err *err)
{
    struct weft_tool_opts extra = {.size = sizeof extra};
    struct upp_tool self = {.extra = &extra};
    struct weft_agent *a;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .name = "self", .tools = {&self, 1}), &a,
                       err));
    extra.agent = a;
    TRY(weft_agent_run(a, UPP_STR("go"), &turn, err));
    FAIL_UNLESS(turn->n_executions == 1 && !turn->executions[0].is_error);
    return 0;
}

TEST(agent_below_itself_is_limited_by_depth)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "self", "\"task\":\"again\"")), REPLY(TEXT("done"))), asks_itself);
}
