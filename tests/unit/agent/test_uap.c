/* Clauses of UAP-1.0 that no other test shows by the way. */
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "base/hooks.h"
#include "support/agents.h"
#include "support/llm.h"

/* ---- A model that writes down all it is told ------------------------------------------------------------------- */

struct ear {
    struct wb_buf heard; /* the newest request */
    const char *says;
    unsigned calls;
    bool all; /* of them, a line "request" before each */
};

static void ear_done(struct ear *e)
{
    wb_buf_done(&e->heard);
}

/* A result is that of a call, whose id it has. */
static void add_part(struct wb_buf *out, const struct upp_part *p)
{
    struct upp_str name = p->kind == UPP_PART_RESULT ? (struct upp_str){0} : p->name;
    wb_buf_addf(out, "  %d %.*s %.*s %.*s %.*s\n", p->kind, UPP_FMT(p->id), UPP_FMT(name), UPP_FMT(p->text),
                UPP_FMT(p->metadata));
}

static int ear_open(struct upp_step *s, struct upp_err *err)
{
    struct ear *e = s->model->state;
    const struct upp_request *r = s->request;
    if (!e->all)
        wb_buf_clear(&e->heard);
    else
        wb_buf_addf(&e->heard, "request\n");
    wb_buf_addf(&e->heard, "system %.*s\nparams %.*s\nstructure %.*s\n", UPP_FMT(r->system), UPP_FMT(r->params),
                UPP_FMT(r->structure));
    for (size_t i = 0; i < r->n_tools; i++)
        wb_buf_addf(&e->heard, "tool %.*s %.*s %.*s\n", UPP_FMT(r->tools[i].name), UPP_FMT(r->tools[i].description),
                    UPP_FMT(r->tools[i].parameters));
    for (size_t i = 0; i < r->n_messages; i++) {
        const struct upp_message *m = r->messages[i];
        wb_buf_addf(&e->heard, "%d %.*s\n", m->role, UPP_FMT(m->metadata));
        for (size_t k = 0; k < m->n_parts; k++)
            add_part(&e->heard, &m->parts[k]);
    }
    e->calls++;
    return wb_buf_check(&e->heard, err);
}

static int ear_next(struct upp_step *s, struct upp_step_event *ev, struct upp_err *err)
{
    const struct ear *e = s->model->state;
    uint32_t *i = upp_step_state(s);
    (void)err;
    switch ((*i)++) {
    case 0:
        *ev = (struct upp_step_event){.kind = UPP_STEP_PART_OPEN, .part_kind = UPP_PART_TEXT};
        break;
    case 1:
        *ev = (struct upp_step_event){.kind = UPP_STEP_DELTA, .text = wb_cstr(e->says)};
        break;
    case 2:
        *ev = (struct upp_step_event){.kind = UPP_STEP_PART_CLOSE};
        break;
    default:
        *ev = (struct upp_step_event){.kind = UPP_STEP_END, .stop = UPP_STOP_END};
    }
    return 1;
}

static const struct upp_model_ops listens = {
    .size = sizeof listens, .provider = "ear", .step_size = sizeof(uint32_t), .open = ear_open, .next = ear_next};

#define EAR(e_, words)                                                                                                 \
    WB_CLEANUP(ear_done) struct ear e_ = {.heard = WB_BUF(1u << 20), .says = (words)};                                 \
    const struct upp_model e_##_model = {.ops = &listens, .name = UPP_STR("m"), .state = &e_}

/* ---- What was given stays as it was ------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int stream_all(struct weft_agent *a, const struct upp_input *in, struct upp_err *err)
{
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    const struct upp_turn *turn;
    TRY(weft_agent_stream(a, in, NULL, &s, err));
    TRY(weft_stream_turn(s, &turn, err));
    FAIL_UNLESS(turn->n_messages == 2);
    return 0;
}

/* By run and by stream, with a list and with a thread. */
static WEFT_SUSPENDS int use_all_ways(struct weft_agent *a, const struct upp_message *list, size_t n,
                                      const struct upp_thread *t, struct upp_err *err)
{
    const struct upp_input ways[] = {{.size = sizeof ways[0], .history = list, .n_history = n, .text = UPP_STR("And?")},
                                     {.size = sizeof ways[0], .thread = t, .text = UPP_STR("And?")}};
    struct upp_input was[2];
    memcpy(was, ways, sizeof was);
    for (size_t i = 0; i < 2; i++) {
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
        TRY(weft_agent_run_with(a, &ways[i], &turn, err));
        FAIL_UNLESS(turn->n_messages == 2);
        TRY(stream_all(a, &ways[i], err));
    }
    FAIL_UNLESS(memcmp(was, ways, sizeof was) == 0);
    return 0;
}

static WEFT_SUSPENDS int changes_nothing(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *one = NULL;
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *thread = NULL;
    struct weft_agent_opts opts = {.size = sizeof opts, .use = p->model, .tools = AGENTS_ALL, .system = "Be kind."};
    struct weft_agent_opts opts_were;
    struct upp_str before = {0}, after = {0}, list_before = {0}, list_after = {0};
    struct weft_agent *a;
    memcpy(&opts_were, &opts, sizeof opts);
    TRY(weft_agent_new(p->rt, &opts, &a, err));
    TRY(weft_agent_run(a, UPP_STR("My name is Alice"), &one, err));
    TRY(upp_thread_new(&thread, err));
    TRY(upp_thread_append(thread, one, err));
    char id[64];
    snprintf(id, sizeof id, "%.*s", UPP_FMT(weft_agent_id(a)));
    int r = upp_thread_to_json(thread, &before, err);
    if (r >= 0)
        r = upp_turn_to_json(one, &list_before, err);
    if (r >= 0)
        r = use_all_ways(a, one->messages, one->n_messages, thread, err);
    if (r >= 0)
        r = upp_thread_to_json(thread, &after, err);
    if (r >= 0)
        r = upp_turn_to_json(one, &list_after, err);
    bool same = wb_str_eq(before, after) && wb_str_eq(list_before, list_after);
    upp_text_free(before);
    upp_text_free(after);
    upp_text_free(list_before);
    upp_text_free(list_after);
    TRY(r);
    FAIL_UNLESS(same && memcmp(&opts, &opts_were, sizeof opts) == 0);
    FAIL_UNLESS(wb_str_eq(weft_agent_id(a), wb_cstr(id)) && weft_agent_model(a) == p->model);
    FAIL_UNLESS(weft_agent_tools(a).list == agents_tools && strcmp(weft_agent_system(a), "Be kind.") == 0);
    return 0;
}

/* covers: UAP-2.4/1, UAP-4.3b/2 */
TEST(uap_run_and_stream_change_nothing_that_was_given)
{
    AGENTS(NULL, changes_nothing);
}

static WEFT_SUSPENDS int derives(struct agents *p, struct upp_err *err)
{
    static const struct weft_middleware middleware = {.name = "m"};
    static const struct weft_hooks hooks = {.arg = NULL};
    static const struct upp_tool_strategy calls = {.max_iterations = 3};
    static const struct weft_rights rights = {.max_depth = 2};
    static struct weft_handoff handoff = {.prompt = "go on"};
    struct weft_agent *a, *b, *to;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .name = "to"), &to, err));
    handoff.to = to;
    TRY(weft_agent_new(p->rt,
                       UPP_OPTS(weft_agent_opts, .use = p->model, .params = "{\"x\":1}",
                                .execution = weft_strategy_react, .tools = AGENTS_ALL, .system = "Be kind.",
                                .structure = "{\"type\":\"object\"}", .middleware = &middleware, .n_middleware = 1,
                                .hooks = &hooks, .tool_strategy = &calls, .name = "a", .description = "kind",
                                .rights = &rights, .handoff = &handoff, .n_handoff = 1),
                       &a, err));
    FAIL_UNLESS(weft_agent_model(a) == p->model && weft_agent_tools(a).list == agents_tools &&
                weft_agent_tools(a).n == AGENTS_TOOLS && strcmp(weft_agent_system(a), "Be kind.") == 0);
    TRY(weft_agent_derive(a, NULL, &b, err));
    FAIL_UNLESS(!wb_str_eq(weft_agent_id(a), weft_agent_id(b)));
    FAIL_UNLESS(b->model == a->model && b->params == a->params && b->execution.execute == a->execution.execute &&
                b->tools.list == a->tools.list && b->tools.n == a->tools.n && b->system == a->system);
    FAIL_UNLESS(b->structure == a->structure && b->middleware == &middleware && b->n_middleware == 1 &&
                b->hooks == &hooks && b->tool_strategy == &calls && b->description == a->description &&
                b->rights == &rights && b->handoff == &handoff && b->n_handoff == 1);
    return 0;
}

/* covers: UAP-2.2/2/3, UAP-4.2/1 */
TEST(uap_derived_agent_has_every_option)
{
    AGENTS(NULL, derives);
}

/* ---- Ids --------------------------------------------------------------------------------------------------------- */

static bool is_uuid4(struct upp_str text)
{
    struct wb_uuid id;
    char again[WB_UUID_TEXT + 1];
    test_note("'%.*s'", UPP_FMT(text));
    return wb_uuid_parse(text, &id) && wb_uuid_version(id) == 4 && (id.b[8] & 0xc0) == 0x80 &&
           wb_str_eq(wb_uuid_text(id, again), text);
}

static WEFT_SUSPENDS int note_run(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    (void)step, (void)err;
    snprintf(arg, 64, "%.*s", UPP_FMT(weft_run_id(run)));
    return 0;
}

static WEFT_SUSPENDS int has_ids(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL, *other = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_checkpoint cp;
    char run[64] = "";
    const struct weft_hooks hooks = {.arg = run, .on_step_start = note_run};
    struct weft_agent *a;
    struct weft_tree *t;
    struct upp_err why = {0};
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .hooks = &hooks), &a, err));
    TRY(weft_session_new(a, NULL, &s, err));
    FAIL_UNLESS(wb_str_eq(weft_session_metadata(s), UPP_STR("{}")) && weft_session_agent(s) == a);
    TRY(weft_session_run(s, UPP_STR("hello"), &turn, err));
    TRY(weft_session_checkpoint(s, 0, &cp, err));
    TRY(weft_session_tree(s, &t, err));
    FAIL_UNLESS(is_uuid4(weft_agent_id(a)) && is_uuid4(weft_session_id(s)) && is_uuid4(wb_cstr(run)));
    FAIL_UNLESS(is_uuid4(cp.node) && is_uuid4(weft_node_id(weft_tree_root(t))));
    FAIL_UNLESS(is_uuid4(upp_thread_id(weft_node_thread(weft_tree_root(t)))));

    /* One that a program gives is one, too: neither another text nor another version. */
    static const char *const given[] = {"x", "5f0c8c1e-6a4e-1f0e-9d0c-0b8f6f6a1c11",
                                        "5f0c8c1e-6a4e-7f0e-9d0c-0b8f6f6a1c11", "5f0c8c1e-6a4e-4f0e-1d0c-0b8f6f6a1c11"};
    for (size_t i = 0; i < WB_LEN(given); i++) {
        int r = weft_session_new(a, UPP_OPTS(weft_session_opts, .id = given[i]), &other, &why);
        TRY(r == -UPP_ENOMEM ? r : 0);
        test_note("%s: %d %s", given[i], r, why.msg);
        FAIL_UNLESS(r == -UPP_EINVALID && !other && strstr(why.msg, given[i]));
    }
    return 0;
}

/* covers: UAP-3.4/1/5, UAP-6.1a/1 */
TEST(uap_ids_are_uuids_of_version_4)
{
    AGENTS(NULL, has_ids);
}

/* ---- Strategies -------------------------------------------------------------------------------------------------- */

struct seen {
    const struct weft_agent *agent;
    const struct weft_hooks *hooks;
    bool all;
    char order[64];
};

static WEFT_SUSPENDS int looks_round(struct weft_run *run, struct upp_err *err)
{
    struct seen *seen;
    size_t history, messages, thoughts;
    memcpy(&seen, &run->opts, sizeof seen);
    (void)weft_run_reasoning(run, &thoughts);
    const struct upp_message *const *said = weft_run_messages(run, &messages);
    const struct upp_message *const *had = weft_run_history(run, &history);
    seen->all = run->agent == seen->agent && run->hooks == seen->hooks && run->has_tools && !run->parent &&
                run->input && wb_str_eq(run->input->parts[0].text, UPP_STR("now")) && history == 1 &&
                wb_str_eq(had[0]->parts[0].text, UPP_STR("before")) && messages == 1 &&
                wb_str_eq(said[0]->parts[0].text, UPP_STR("now")) && run->state.step == 0 && thoughts == 0 &&
                !run->state.plan.p && weft_run_agent_id(run).n == WB_UUID_TEXT;
    TRY(weft_run_set_metadata(run, UPP_STR("mine"), UPP_STR("1"), err));
    seen->all = seen->all && strstr(run->state.metadata.p, "\"mine\":1");
    const struct weft_reply *reply;
    strcat(seen->order, "execute ");
    return weft_run_ask(run, "act", NULL, &reply, err);
}

static WEFT_SUSPENDS int mark_before(void *arg, struct weft_context *c, struct upp_err *err)
{
    struct seen *seen = arg;
    (void)err;
    strcat(seen->order, c->agent == seen->agent && c->run && c->input && !c->session ? "before " : "wrong ");
    return 0;
}

static WEFT_SUSPENDS int mark_after(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    struct seen *seen = arg;
    (void)c, (void)turn, (void)err;
    strcat(seen->order, "after ");
    return 0;
}

static WEFT_SUSPENDS int mark_error(void *arg, struct weft_context *c, const struct upp_err *why, struct upp_turn **ret,
                                    struct upp_err *err)
{
    struct seen *seen = arg;
    (void)c, (void)why, (void)ret, (void)err;
    strcat(seen->order, "on_error ");
    return 0;
}

static WEFT_SUSPENDS int with_context(struct agents *p, struct upp_err *err)
{
    static const struct weft_hooks hooks = {.arg = NULL};
    struct seen seen = {.hooks = &hooks};
    const struct weft_middleware middleware = {
        .name = "m", .arg = &seen, .before = mark_before, .after = mark_after, .on_error = mark_error};
    const struct weft_strategy looks = {.name = "looks", .execute = looks_round, .opts = &seen};
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("before")};
    const struct upp_message past = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    const struct upp_turn *streamed;
    struct weft_agent *a;
    const struct upp_input in = {.size = sizeof in, .history = &past, .n_history = 1, .text = UPP_STR("now")};
    TRY(weft_agent_new(p->rt,
                       UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL, .execution = looks,
                                .hooks = &hooks, .middleware = &middleware, .n_middleware = 1),
                       &a, err));
    seen.agent = a;
    int r = weft_agent_run_with(a, &in, &turn, err);
    if (r >= 0 && !(seen.all && strcmp(seen.order, "before execute after ") == 0))
        r = upp_fail(err, UPP_EBUG, "run: %s", seen.order);
    seen.order[0] = 0;
    if (r >= 0)
        r = weft_agent_stream(a, &in, NULL, &s, err);
    if (r >= 0 && seen.order[0])
        r = upp_fail(err, UPP_EBUG, "before the first pull: %s", seen.order);
    struct weft_event ev;
    if (r >= 0)
        r = weft_stream_next(s, &ev, err);
    if (r >= 0 && strncmp(seen.order, "before ", 7) != 0)
        r = upp_fail(err, UPP_EBUG, "after the first pull: %s", seen.order);
    if (r >= 0)
        r = weft_stream_turn(s, &streamed, err);
    if (r >= 0 && strcmp(seen.order, "before execute after ") != 0)
        r = upp_fail(err, UPP_EBUG, "stream: %s", seen.order);
    weft_stream_close(WB_TAKE(s));
    weft_agent_free(a);
    return r;
}

/* covers: UAP-5.1/2/3, UAP-5.5/1/4, UAP-10.1/2, UAP-10.2/7 */
TEST(uap_strategy_and_middleware_see_their_context_in_run_and_stream)
{
    AGENTS(NULL, with_context);
}

static WEFT_SUSPENDS int fails_in_a_stream(struct agents *p, struct upp_err *err)
{
    struct seen seen = {0};
    const struct weft_middleware middleware = {
        .name = "m", .arg = &seen, .before = mark_before, .after = mark_after, .on_error = mark_error};
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    struct weft_agent *a;
    const struct upp_turn *turn;
    struct upp_err why = {0};
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .middleware = &middleware, .n_middleware = 1),
                       &a, err));
    seen.agent = a;
    int r = weft_agent_stream(a, UPP_OPTS(upp_input, .text = UPP_STR("go")), NULL, &s, err);
    if (r >= 0)
        r = weft_stream_turn(s, &turn, &why);
    weft_stream_close(WB_TAKE(s));
    weft_agent_free(a);
    if (r != -UPP_ERATE)
        return r < 0 ? (*err = why, r) : -UPP_EBUG;
    test_note("%s", seen.order);
    FAIL_UNLESS(strcmp(seen.order, "before on_error ") == 0);
    return 0;
}

/* covers: UAP-10.2/8 */
TEST(uap_middleware_hears_of_a_stream_that_fails)
{
    AGENTS(SCRIPT("{\"error\":{\"code\":\"RATE_LIMITED\"}}"), fails_in_a_stream);
}

/* A checkpoint after every step of every strategy. */
static WEFT_SUSPENDS int checkpoints_of(struct agents *p, const char *script, struct weft_strategy how, size_t steps,
                                        struct upp_err *err)
{
    struct upp_model *model = NULL;
    struct weft_agent *a = NULL;
    struct weft_session *s = NULL;
    struct upp_turn *turn = NULL;
    size_t n = 0;
    int r = upp_scripted_new(wb_cstr(script), &model, err);
    if (r >= 0)
        r = weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = model, .tools = AGENTS_ALL, .execution = how), &a,
                           err);
    if (r >= 0)
        r = weft_session_new(a, NULL, &s, err);
    if (r >= 0)
        r = weft_session_run(s, UPP_STR("go"), &turn, err);
    if (r >= 0)
        r = weft_session_checkpoints(s, &n, err);
    upp_turn_free(turn);
    weft_session_close(s);
    weft_agent_free(a);
    upp_model_free(model);
    TRY(r);
    test_note("%s: %zu checkpoints, not %zu", how.name, n, steps);
    FAIL_UNLESS(n == steps);
    return 0;
}

static WEFT_SUSPENDS int once(struct weft_run *run, struct upp_err *err)
{
    const struct weft_reply *reply;
    return weft_run_ask(run, "act", NULL, &reply, err);
}

#define STEP(id, after) "{\"id\":\"" id "\",\"description\":\"do it\",\"dependsOn\":[" after "]}"
#define PLAN_OF(steps)  "{\"data\":{\"steps\":[" steps "]}}"

static WEFT_SUSPENDS int every_strategy(struct agents *p, struct upp_err *err)
{
    static const struct weft_strategy own = {.name = "own", .execute = once};
    TRY(checkpoints_of(p, SCRIPT(REPLY(CALL("1", "add", "")), REPLY(TEXT("done"))), weft_strategy_loop, 2, err));
    TRY(checkpoints_of(p,
                       SCRIPT(REPLY(TEXT("hm")), REPLY(CALL("1", "add", "")), REPLY(TEXT("hm")), REPLY(TEXT("done"))),
                       weft_strategy_react, 2, err));
    TRY(checkpoints_of(p, SCRIPT(PLAN_OF(STEP("a", "") "," STEP("b", "\"a\"")), REPLY(TEXT("one")), REPLY(TEXT("two"))),
                       weft_strategy_plan, 3, err));
    return checkpoints_of(p, SCRIPT(REPLY(TEXT("done"))), own, 1, err);
}

/* covers: UAP-5.5/2, UAP-6.5c/2 */
TEST(uap_every_strategy_makes_checkpoints)
{
    AGENTS(NULL, every_strategy);
}

/* ---- Limits that nobody gave ------------------------------------------------------------------------------------- */

struct counting {
    unsigned steps, completes, errors;
    size_t messages; /* it is enough with more */
    bool heals, cut;
};

static WEFT_SUSPENDS int count_step(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    struct counting *c = arg;
    (void)run, (void)err;
    c->steps = step;
    return 0;
}

static WEFT_SUSPENDS int count_complete(void *arg, struct weft_run *run, const struct upp_turn *turn,
                                        struct upp_err *err)
{
    struct counting *c = arg;
    (void)turn, (void)err;
    c->completes++;
    c->cut = run->state.metadata.p && (strstr(run->state.metadata.p, "\"maxStepsReached\":true") ||
                                       strstr(run->state.metadata.p, "\"planTruncated\":true"));
    return 0;
}

static WEFT_SUSPENDS int count_error(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_turn **ret,
                                     struct upp_err *err)
{
    struct counting *c = arg;
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("never mind")};
    struct upp_message m = {.role = UPP_ROLE_ASSISTANT, .parts = &part, .n_parts = 1};
    (void)run, (void)why;
    c->errors++;
    if (!c->heals)
        return 0;
    int r = upp_turn_copy(&(struct upp_turn){.messages = &m, .n_messages = 1}, ret, err);
    return r < 0 ? r : 1;
}

static WEFT_SUSPENDS bool enough_messages(void *arg, struct weft_run *run)
{
    const struct counting *c = arg;
    size_t n;
    (void)weft_run_messages(run, &n);
    return c->messages && n > c->messages;
}

static WEFT_SUSPENDS int counted(struct agents *p, struct counting *c, struct weft_strategy how, struct upp_err *err)
{
    const struct weft_hooks hooks = {.arg = c,
                                     .on_step_start = count_step,
                                     .on_complete = count_complete,
                                     .on_error = count_error,
                                     .stop = enough_messages};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a = NULL;
    int r = weft_agent_new(
        p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL, .execution = how, .hooks = &hooks), &a,
        err);
    if (r >= 0)
        r = weft_agent_run(a, UPP_STR("go"), &turn, err);
    weft_agent_free(a);
    return r;
}

#define AGAIN "{\"replies\":[{\"parts\":[" TEXT("again") ",{\"tool_call\":{\"name\":\"add\",\"arguments\":{}}}]}]}"

static WEFT_SUSPENDS int ten_steps(struct agents *p, struct upp_err *err)
{
    struct counting c = {0};
    TRY(counted(p, &c, weft_strategy_react, err));
    test_note("%u steps", c.steps);
    FAIL_UNLESS(c.steps == 10 && c.completes == 1 && c.cut);
    return 0;
}

/* covers: UAP-5.3a/5 */
TEST_WITH(uap_react_has_ten_steps, .no_torture = "many calls of one kind; react_* are tortured")
{
    AGENTS(AGAIN, ten_steps);
}

/* A message count: one of the conditions of UAP 11.6. */
static WEFT_SUSPENDS int few_messages(struct agents *p, struct upp_err *err)
{
    struct counting c = {.messages = 4};
    TRY(counted(p, &c, weft_strategy_loop, err));
    test_note("%u steps", c.steps);
    FAIL_UNLESS(c.steps == 2 && c.completes == 1); /* 3 messages, then 5 */
    return 0;
}

/* covers: UAP-11.6/4 */
TEST(uap_stop_at_a_number_of_messages)
{
    AGENTS(AGAIN, few_messages);
}

#define ELEVEN                                                                                                         \
    STEP("a", "")                                                                                                      \
    "," STEP("b", "\"a\"") "," STEP("c", "\"b\"") "," STEP("d", "\"c\"") "," STEP("e", "\"d\"") "," STEP(              \
        "f", "\"e\"") "," STEP("g", "\"f\"") "," STEP("h",                                                             \
                                                      "\"g\"") "," STEP("i",                                           \
                                                                        "\"h\"") "," STEP("j",                         \
                                                                                          "\"i\"") "," STEP("k",       \
                                                                                                            "\"j\"")

static WEFT_SUSPENDS int ten_planned(struct agents *p, struct upp_err *err)
{
    struct counting c = {0};
    TRY(counted(p, &c, weft_strategy_plan, err));
    test_note("%u steps", c.steps);
    FAIL_UNLESS(c.steps == 11 && c.completes == 1 && c.cut); /* one of them made the plan */
    return 0;
}

/* covers: UAP-5.4a/3 */
TEST_WITH(uap_plan_has_ten_steps, .no_torture = "many calls of one kind; plan_* are tortured")
{
    AGENTS("{\"at_end\":\"repeat_last\",\"replies\":[" PLAN_OF(ELEVEN) "," REPLY(TEXT("done")) "]}", ten_planned);
}

/* ---- Errors and hooks -------------------------------------------------------------------------------------------- */

/* Without a new plan the error of a step ends the run, unless the hook has a turn; and then the run is complete. */
static WEFT_SUSPENDS int recovers(struct agents *p, struct upp_err *err)
{
    struct counting c = {.heals = true}, d = {0};
    const struct weft_strategy once = weft_plan(.no_replan = true);
    TRY(counted(p, &c, once, err));
    FAIL_UNLESS(c.errors == 1 && c.completes == 1);
    int r = counted(p, &d, once, err);
    FAIL_UNLESS(r < 0 && (r == -UPP_ENOMEM || (d.errors == 1 && d.completes == 0)));
    return r == -UPP_ENOMEM ? r : 0;
}

/* covers: UAP-5.4d/2/3, UAP-11.1/3 */
TEST(uap_plan_recovers_by_its_hook)
{
    AGENTS(SCRIPT(PLAN_OF(STEP("a", "")), REPLY(CALL("1", "fails", ""))), recovers);
}

static WEFT_SUSPENDS int aborts(struct agents *p, struct upp_err *err)
{
    struct counting c = {0};
    const struct weft_hooks hooks = {.arg = &c, .on_complete = count_complete};
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    struct weft_event ev = {0};
    struct weft_agent *a = NULL;
    int r = weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .hooks = &hooks), &a, err);
    if (r >= 0)
        r = weft_agent_stream(a, UPP_OPTS(upp_input, .text = UPP_STR("go")), NULL, &s, err);
    while (r >= 0 && ev.upp.type != UPP_TEXT_DELTA)
        r = weft_stream_next(s, &ev, err);
    if (r >= 0) {
        weft_stream_abort(s);
        while ((r = weft_stream_next(s, &ev, err)) > 0)
            continue;
        r = r == -UPP_ECANCELED ? 0 : r;
    }
    weft_stream_close(WB_TAKE(s));
    weft_agent_free(a);
    TRY(r);
    FAIL_UNLESS(c.completes == 0);
    return 0;
}

/* covers: UAP-11.1/4 */
TEST(uap_abort_is_no_completion)
{
    AGENTS(SCRIPT(SLOW_REPLY(100, TEXT("One two three four"))), aborts);
}

/* ---- What the model is sent -------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int own_schema(struct agents *p, struct upp_err *err)
{
    static const char schema[] = "{\"type\":\"object\",\"x-mine\":[1.50,\"as it is\"]}";
    EAR(ear, "no plan");
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    const struct weft_strategy mine = weft_plan(.plan_schema = schema, .no_replan = true);
    struct weft_agent *a = NULL;
    struct upp_err why = {0};
    int r = weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = &ear_model, .execution = mine), &a, err);
    if (r >= 0)
        r = weft_agent_run(a, UPP_STR("go"), &turn, &why);
    weft_agent_free(a);
    if (r != -UPP_EPROTO)
        return r < 0 ? (*err = why, r) : -UPP_EBUG;
    char line[128];
    snprintf(line, sizeof line, "\nstructure %s\n", schema);
    test_note("%.*s", UPP_FMT(wb_buf_str(&ear.heard)));
    FAIL_UNLESS(ear.calls == 1 && wb_str_find(wb_buf_str(&ear.heard), wb_cstr(line), 0) != SIZE_MAX);
    return 0;
}

/* covers: UAP-5.4d/4/5 */
TEST(uap_plan_schema_is_sent_as_it_is)
{
    AGENTS(NULL, own_schema);
}

/* Steps of one wave see what there was before it; the next wave sees both. */
static WEFT_SUSPENDS int wave_is_blind(struct agents *p, struct upp_err *err)
{
    EAR(ear, "{\"steps\":[" STEP("a", "") "," STEP("b", "") "," STEP("c", "\"a\",\"b\"") "]}");
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a = NULL;
    ear.all = true;
    int r =
        weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = &ear_model, .execution = weft_strategy_plan), &a, err);
    if (r >= 0)
        r = weft_agent_run(a, UPP_STR("go"), &turn, err);
    weft_agent_free(a);
    TRY(r);
    const struct upp_str all = wb_buf_str(&ear.heard);
    unsigned saw = 0;
    size_t end;
    for (size_t at = 0; at < all.n; at = end) {
        end = WB_MIN(wb_str_find(all, UPP_STR("request\n"), at + 1), all.n);
        struct upp_str one = wb_str_sub(all, at, end - at);
        bool sees_a = wb_str_find(one, UPP_STR("Carry out step 'a'"), 0) != SIZE_MAX,
             sees_b = wb_str_find(one, UPP_STR("Carry out step 'b'"), 0) != SIZE_MAX,
             sees_c = wb_str_find(one, UPP_STR("Carry out step 'c'"), 0) != SIZE_MAX;
        saw += sees_c ? sees_a && sees_b : sees_a != sees_b;
    }
    test_note("%.*s", UPP_FMT(all));
    FAIL_UNLESS(ear.calls == 4 && saw == 3);
    return 0;
}

/* covers: UAP-5.4b/3 */
TEST(uap_plan_steps_of_one_wave_do_not_see_each_other)
{
    AGENTS(NULL, wave_is_blind);
}

/* What the two sessions send with the same next run. */
static WEFT_SUSPENDS int send_the_same(struct ear *ear, struct weft_session *s, struct weft_session *copy,
                                       const char *text, size_t messages, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf first = WB_BUF(1u << 20);
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *one = NULL, *two = NULL;
    size_t n = 0;
    TRY(weft_session_run(s, wb_cstr(text), &one, err));
    wb_buf_add(&first, wb_buf_str(&ear->heard));
    TRY(wb_buf_check(&first, err));
    TRY(weft_session_run(copy, wb_cstr(text), &two, err));
    test_note("%.*s--\n%.*s", UPP_FMT(wb_buf_str(&first)), UPP_FMT(wb_buf_str(&ear->heard)));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&first), wb_buf_str(&ear->heard)));
    for (size_t at = 0; (at = wb_str_find(wb_buf_str(&first), UPP_STR("\n  "), at)) != SIZE_MAX; at++)
        n++;
    FAIL_UNLESS(n == messages); /* of one part each */
    return 0;
}

static WEFT_SUSPENDS int speaks_as_before(struct ear *ear, const struct upp_model *model, struct agents *p,
                                          struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL, *copy = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct upp_part parts[] = {
        {.kind = UPP_PART_TEXT, .text = UPP_STR("what is 1 + 2?")},
        {.kind = UPP_PART_CALL,
         .id = UPP_STR("c1"),
         .name = UPP_STR("add"),
         .text = UPP_STR("{ \"a\" : 1.0, \"b\":\"\\u0041\" }")},
        {.kind = UPP_PART_RESULT, .id = UPP_STR("c1"), .name = UPP_STR("add"), .text = UPP_STR("3")},
        {.kind = UPP_PART_TEXT, .text = UPP_STR("so?")}};
    const struct upp_message said[] = {
        {.role = UPP_ROLE_USER, .parts = &parts[0], .n_parts = 1},
        {.role = UPP_ROLE_ASSISTANT, .parts = &parts[1], .n_parts = 1, .metadata = UPP_STR("{\"ear\":{\"n\":1.50}}")},
        {.role = UPP_ROLE_TOOL, .parts = &parts[2], .n_parts = 1},
        {.role = UPP_ROLE_USER, .parts = &parts[3], .n_parts = 1}};
    struct weft_checkpoint cp;
    struct weft_agent *a;
    struct upp_str json;
    TRY(weft_agent_new(p->rt,
                       UPP_OPTS(weft_agent_opts, .use = model, .tools = AGENTS_ALL, .system = "Be kind.",
                                .params = "{\"temperature\":0.5}"),
                       &a, err));
    TRY(weft_session_new(a, NULL, &s, err));
    TRY(weft_session_run_with(s, UPP_OPTS(upp_input, .messages = said, .n_messages = 4), &turn, err));
    TRY(weft_session_to_json(s, &json, err));
    int r = weft_session_from_json(a, json, NULL, &copy, err);
    upp_text_free(json);
    TRY(r);
    TRY(send_the_same(ear, s, copy, "and then?", 6, err));
    TRY(send_the_same(ear, s, copy, "and then?", 8, err));
    TRY(weft_session_checkpoint(s, 0, &cp, err));
    TRY(weft_session_restore(s, cp.id, err));
    TRY(weft_session_checkpoint(copy, 0, &cp, err));
    TRY(weft_session_restore(copy, cp.id, err));
    return send_the_same(ear, s, copy, "or otherwise?", 6, err);
}

static WEFT_SUSPENDS int sends_the_same(struct agents *p, struct upp_err *err)
{
    EAR(ear, "it is 3");
    return speaks_as_before(&ear, &ear_model, p, err);
}

/* covers: UAP-6.5b/2, UAP-13.6b/2/3 */
TEST(uap_session_from_json_sends_the_same_requests)
{
    AGENTS(NULL, sends_the_same);
}

/* In the next life of a program its agent has another id, unless the program gives one. */
static WEFT_SUSPENDS int goes_on_as(struct agents *p, const struct ear *ear, const struct upp_model *model,
                                    const char *name, struct upp_str id, struct upp_str json, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = model, .name = name), &a, err));
    if (json.n)
        TRY(weft_session_from_json(a, json, NULL, &s, err));
    else
        TRY(weft_session_open(a, id, NULL, &s, err));
    TRY(weft_session_run(s, UPP_STR("and then?"), &turn, err));
    weft_session_close(WB_TAKE(s));
    weft_agent_free(a);
    struct upp_str heard = wb_buf_str(&ear->heard);
    test_note("%.*s", UPP_FMT(heard));
    FAIL_UNLESS(wb_str_find(heard, UPP_STR("it is 3"), 0) < heard.n &&
                wb_str_find(heard, UPP_STR("{agent:"), 0) >= heard.n);
    return 0;
}

static WEFT_SUSPENDS int has_one_past(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    struct upp_str json;
    char id[64];
    EAR(ear, "it is 3");
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = &ear_model), &a, err));
    TRY(weft_session_new(a, NULL, &s, err));
    TRY(weft_session_run(s, UPP_STR("what is 1 + 2?"), &turn, err));
    TRY(weft_session_to_json(s, &json, err));
    (void)snprintf(id, sizeof id, "%.*s", UPP_FMT(weft_session_id(s)));
    weft_session_close(WB_TAKE(s));
    int r = goes_on_as(p, &ear, &ear_model, NULL, wb_cstr(id), json, err); /* while the first agent is still there */
    if (r >= 0)
        r = goes_on_as(p, &ear, &ear_model, "helper", wb_cstr(id), json, err);
    weft_agent_free(a);
    if (r >= 0)
        r = goes_on_as(p, &ear, &ear_model, NULL, wb_cstr(id), (struct upp_str){0}, err);
    if (r >= 0)
        r = goes_on_as(p, &ear, &ear_model, NULL, wb_cstr(id), json, err);
    if (r >= 0)
        r = goes_on_as(p, &ear, &ear_model, "helper", wb_cstr(id), json, err);
    upp_text_free(json);
    return r;
}

/* The same program in its next life: an agent object with the same definition and without an id, and the document. */
static WEFT_SUSPENDS int sends_the_same_anew(struct agents *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf first = WB_BUF(1u << 20);
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *made = NULL, *one = NULL, *two = NULL;
    struct weft_agent *a;
    struct upp_str json;
    EAR(ear, "it is 3");
    const struct weft_agent_opts is = {.size = sizeof is,
                                       .use = &ear_model,
                                       .tools = AGENTS_ALL,
                                       .system = "Be kind.",
                                       .params = "{\"temperature\":0.5}"};
    TRY(weft_agent_new(p->rt, &is, &a, err));
    TRY(weft_session_new(a, NULL, &s, err));
    TRY(weft_session_run(s, UPP_STR("what is 1 + 2?"), &made, err));
    TRY(weft_session_to_json(s, &json, err));
    int r = weft_session_run(s, UPP_STR("and then?"), &one, err);
    wb_buf_add(&first, wb_buf_str(&ear.heard));
    weft_session_close(WB_TAKE(s));
    weft_agent_free(a);
    if (r >= 0)
        r = weft_agent_new(p->rt, &is, &a, err);
    if (r >= 0)
        r = weft_session_from_json(a, json, NULL, &s, err);
    upp_text_free(json);
    TRY(r);
    TRY(weft_session_run(s, UPP_STR("and then?"), &two, err));
    TRY(wb_buf_check(&first, err));
    test_note("%.*s--\n%.*s", UPP_FMT(wb_buf_str(&first)), UPP_FMT(wb_buf_str(&ear.heard)));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&first), wb_buf_str(&ear.heard)));
    FAIL_UNLESS(wb_str_find(wb_buf_str(&first), UPP_STR("Be kind."), 0) != SIZE_MAX);
    FAIL_UNLESS(wb_str_find(wb_buf_str(&first), UPP_STR("it is 3"), 0) != SIZE_MAX);
    return 0;
}

/* covers: UAP-13.6b/1 */
TEST(uap_session_from_json_of_a_new_agent_object_sends_the_same_requests)
{
    AGENTS(NULL, sends_the_same_anew);
}

TEST(uap_session_of_a_new_agent_object_has_its_past)
{
    AGENTS(NULL, has_one_past);
}

/* ---- ask --------------------------------------------------------------------------------------------------------- */

struct asked {
    struct upp_thread *thread;
    size_t had;
};

static WEFT_SUSPENDS int look_at_thread(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    struct asked *x = arg;
    (void)c, (void)turn, (void)err;
    (void)upp_thread_messages(x->thread, &x->had);
    return 0;
}

static WEFT_SUSPENDS int appends_at_last(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *t = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct asked x = {0};
    const struct weft_middleware middleware = {.name = "m", .arg = &x, .after = look_at_thread};
    struct weft_agent *a;
    size_t n;
    TRY(upp_thread_new(&t, err));
    TRY(upp_thread_user(t, UPP_STR("earlier"), err));
    x.thread = t;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .middleware = &middleware, .n_middleware = 1),
                       &a, err));
    int r = weft_ask(a, UPP_STR("now"), &t, &turn, err);
    weft_agent_free(a);
    TRY(r);
    (void)upp_thread_messages(t, &n);
    FAIL_UNLESS(x.had == 1 && n == 3);
    return 0;
}

/* covers: UAP-3.3/4 */
TEST(uap_ask_appends_when_middleware_is_done)
{
    AGENTS(NULL, appends_at_last);
}

/* ---- Arguments that nobody checks -------------------------------------------------------------------------------- */

static int takes_all(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    return upp_value_json(ret, call->arguments, err);
}

static WEFT_SUSPENDS int calls_both(struct agents *p, struct upp_err *err)
{
    static const struct weft_tool_opts off = {.size = sizeof off, .unchecked = true};
    static const struct upp_tool tools[] = {
        {.name = "checked", .parameters = "{n: integer}", .run = takes_all},
        {.name = "unchecked", .parameters = "{n: integer}", .run = takes_all, .extra = &off}};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {tools, 2}), &a, err));
    TRY(weft_agent_run(a, UPP_STR("go"), &turn, err));
    FAIL_UNLESS(turn->n_messages == 4 && turn->messages[2].n_parts == 2);
    const struct upp_part *results = turn->messages[2].parts;
    FAIL_UNLESS(results[0].is_error && wb_str_find(results[0].text, UPP_STR("/n"), 0) != SIZE_MAX);
    FAIL_UNLESS(!results[1].is_error && wb_str_eq(results[1].text, UPP_STR("{\"n\":\"x\"}")));
    return 0;
}

/* covers: UPP-17/4 */
TEST(uap_tool_may_go_unchecked)
{
    AGENTS(
        SCRIPT(REPLY(CALL("1", "checked", "\"n\":\"x\""), CALL("2", "unchecked", "\"n\":\"x\"")), REPLY(TEXT("done"))),
        calls_both);
}
