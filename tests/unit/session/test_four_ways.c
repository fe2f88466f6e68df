/* Every function of include/weft, called in four ways: outside and inside a fiber, with sessions in memory and in
 * SQLite. Outside of a fiber what waits as a fiber is refused; everything else works in all of them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/weft.h>

#include "base/buf.h"
#include "base/str.h"
#include "support/fibers.h"
#include "support/paths.h"

struct way {
    const char *store;
    bool fiber;
    struct weft_loop *loop;
    struct weft_runtime *rt;
    struct weft_agent *agent;
    struct upp_tool as_tool;
    struct weft_handoff handoff;
    unsigned called; /* how often the strategy, the tool and the middleware below have come by */
};

/* ---- Agents ---------------------------------------------------------------------------------------------- */

#define SAYS "{\"echo\":true,\"delta_bytes\":4}"
#define CALLS                                                                                                          \
    "{\"replies\":[{\"when\":{\"tool_result\":\"look\"},\"parts\":[{\"text\":\"seen\"}]},"                             \
    "{\"parts\":[{\"text\":\"I look.\"},{\"tool_call\":{\"name\":\"look\"}}]}],\"again\":true}"

static struct way *way_now;

static int look(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    way_now->called += weft_call_run(call) && weft_call_key(call).n;
    return upp_value_text(ret, UPP_STR("something"), err);
}

static const struct upp_tool tools[] = {UPP_TOOL(look, "looks", "{}")};

/* A strategy that uses all functions that strategies have. */
static WEFT_SUSPENDS int execute(struct weft_run *run, struct upp_err *err)
{
    size_t history, messages, reasoned, offered;
    const struct upp_tool_spec *specs;
    const struct weft_reply *reply;
    (void)weft_run_history(run, &history);
    (void)weft_run_messages(run, &messages);
    FAIL_UNLESS(weft_run_id(run).n == 36 && weft_run_agent_id(run).n == 36);
    TRY(weft_run_offered(run, &specs, &offered, err));
    TRY(weft_run_event(
        run, (&(const struct weft_system_event){.type = UPP_STR("way.note"), .data = UPP_STR("{\"n\":1}")}), err));
    TRY(weft_run_ask(run, "act", NULL, &reply, err));
    if (reply->n_calls) {
        TRY(weft_run_reasoned(run, UPP_STR("look first"), err));
        (void)weft_run_reasoning(run, &reasoned);
        TRY(weft_run_tools(run, "act", reply, NULL, err));
        TRY(weft_run_set_own(run, UPP_STR("[1]"), err));
        TRY(weft_run_set_plan(run, UPP_STR("[]"), err));
        TRY(weft_run_set_metadata(run, UPP_STR("mine"), UPP_STR("true"), err));
        TRY(weft_run_step_end(run, err));
        TRY(weft_run_ask(run, "act", NULL, &reply, err));
    } else if (way_now->handoff.to && run->state.step == 0)
        TRY(weft_run_handoff(run, &(const struct weft_handoff_to){.agent = UPP_STR("other")}, err));
    way_now->called++;
    return 0;
}

static const struct weft_strategy mine = {.name = "mine", .execute = execute};

static WEFT_SUSPENDS int before(void *arg, struct weft_context *c, struct upp_err *err)
{
    (void)arg;
    TRY(weft_context_set(c, "seen", UPP_STR("1"), err));
    way_now->called += wb_str_eq(weft_context_get(c, "seen"), UPP_STR("1"));
    return 0;
}

static void ignore(void *arg, const char *line)
{
    (void)arg, (void)line;
}

static WEFT_SUSPENDS int makes_agents(struct way *w, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *q = NULL, *again = NULL;
    struct upp_thread *thread = NULL;
    struct weft_agent *derived, *other;
    struct upp_turn *asked = NULL;
    const struct weft_middleware around[] = {{.name = "way", .before = before}, weft_logging(.logger = ignore)};
    const struct weft_strategy all[] = {weft_loop(.max_iterations = 2), weft_react(.max_steps = 2),
                                        weft_plan(.max_plan_steps = 2)};
    const struct weft_middleware more[] = {weft_guardrails(.n_input = 0), weft_memory(.max_tokens = 1000),
                                           weft_budget(.max_tokens = 1 << 20)};
    FAIL_UNLESS(all[0].name && all[1].name && all[2].name && more[0].kind && more[1].kind && more[2].kind);
    TRY(weft_agent_new(w->rt,
                       UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = SAYS}, .name = "other"),
                       &other, err));
    w->handoff = (struct weft_handoff){.to = other};
    TRY(weft_agent_new(w->rt,
                       UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = CALLS}, .tools = {tools, 1},
                                .system = "Look.", .execution = mine, .middleware = around, .n_middleware = 2),
                       &w->agent, err));
    TRY(weft_agent_derive(w->agent, NULL, &derived, err));
    TRY(weft_agent_to_tool(w->agent, NULL, &w->as_tool, err));
    FAIL_UNLESS(weft_agent_id(derived).n == 36 && weft_agent_model(derived) && weft_agent_tools(derived).n == 1 &&
                strcmp(weft_agent_system(derived), "Look.") == 0);
    TRY(weft_agent_run(w->agent, UPP_STR("What is there?"), &turn, err));
    FAIL_UNLESS(w->called == 3 && strcmp(upp_turn_text(turn), "seen") == 0);
    upp_turn_free(turn);
    turn = NULL;
    TRY(weft_agent_run_with(derived, UPP_OPTS(upp_input, .text = UPP_STR("And there?")), &turn, err));
    int r = weft_ask(w->agent, UPP_STR("And here?"), &thread, &asked, err);
    upp_turn_free(asked);
    upp_thread_free(thread);
    TRY(r);
    TRY(weft_query(other, UPP_STR("one"), &q, err));
    TRY(weft_query_continue(q, UPP_STR("two"), &again, err));
    weft_query_free(again);
    again = NULL;
    weft_agent_free(derived);

    /* an agent that hands over */
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *handed = NULL;
    struct weft_agent *first;
    TRY(weft_agent_new(w->rt,
                       UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = SAYS}, .execution = mine,
                                .handoff = &w->handoff, .n_handoff = 1),
                       &first, err));
    TRY(weft_agent_run(first, UPP_STR("take over"), &handed, err));
    w->handoff = (struct weft_handoff){0};
    return 0;
}

/* ---- Streams --------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int reads(struct weft_stream *s, struct upp_err *err)
{
    const struct upp_turn *turn;
    struct weft_event ev;
    struct upp_str json;
    size_t deltas = 0, ends = 0;
    int r;
    while ((r = weft_stream_next(s, &ev, err)) > 0) {
        deltas += ev.source == WEFT_SOURCE_UPP && ev.upp.type == UPP_TEXT_DELTA && ev.upp.text.n > 0;
        ends += ev.source == WEFT_SOURCE_UAP && ev.type == WEFT_STEP_END;
        FAIL_UNLESS(ev.source != WEFT_SOURCE_UAP || weft_event_name(ev.type)[0]);
        TRY(weft_event_to_json(&ev, &json, err));
        FAIL_UNLESS(json.n > 2 && json.p[0] == '{');
        upp_text_free(json);
    }
    TRY(r);
    TRY(weft_stream_turn(s, &turn, err));
    test_note("%zu deltas, %zu ends of steps", deltas, ends);
    FAIL_UNLESS(deltas >= 1 && ends >= 1 && turn && turn->response);
    return 0;
}

static WEFT_SUSPENDS int streams_agent(struct way *w, struct upp_err *err)
{
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *all = NULL, *aborted = NULL;
    struct weft_event ev;
    TRY(weft_agent_stream(w->agent, UPP_OPTS(upp_input, .text = UPP_STR("What is there?")), NULL, &all, err));
    TRY(reads(all, err));
    TRY(weft_agent_stream(w->agent, UPP_OPTS(upp_input, .text = UPP_STR("What is there?")), NULL, &aborted, err));
    FAIL_UNLESS(weft_stream_next(aborted, &ev, err) == 1);
    weft_stream_abort(aborted);
    FAIL_UNLESS(weft_stream_turn(aborted, &(const struct upp_turn *){NULL}, NULL) <= 0);
    return 0;
}

/* The most natural embedding: a session that is streamed. Half of the streams are closed before their end. */
static WEFT_SUSPENDS int streams_session(struct weft_session *s, struct upp_err *err)
{
    for (int i = 0; i < 4; i++) {
        UPP_CLEANUP(weft_stream_closep) struct weft_stream *stream = NULL;
        struct weft_event ev;
        TRY(weft_session_stream(s, UPP_OPTS(upp_input, .text = UPP_STR("What is there?")), NULL, &stream, err));
        if (i % 2 == 0)
            TRY(reads(stream, err));
        for (int k = 0; i % 2 && k <= i; k++)
            FAIL_UNLESS(weft_stream_next(stream, &ev, err) == 1);
        weft_stream_close(WB_TAKE(stream));
    }
    return 0;
}

/* ---- Sessions -------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int uses_tree(struct weft_tree *t, struct upp_err *err)
{
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *copy = NULL;
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *fresh = NULL;
    struct weft_node *root = weft_tree_root(t);
    const struct upp_message *messages;
    struct upp_str id, json;
    size_t n, had;
    TRY(weft_tree_new(&fresh, err));
    FAIL_UNLESS(!weft_node_parent(root) && weft_tree_next(t, NULL) == root);
    TRY(weft_tree_history(t, &messages, &had, err));
    struct weft_node *from = weft_tree_current(t);
    TRY(weft_tree_branch(t, weft_node_id(from), "way", &id, err));
    struct weft_node *branch = weft_tree_node(t, id);
    FAIL_UNLESS(branch && weft_node_parent(branch) == from && weft_node_child(from, weft_tree_count(t)) == NULL);
    FAIL_UNLESS(wb_str_eq(weft_node_name(branch), UPP_STR("way")));
    FAIL_UNLESS(weft_node_branch_point(branch) <= had);
    TRY(weft_node_set_metadata(branch, UPP_STR("{\"a\":1}"), err));
    FAIL_UNLESS(wb_str_eq(weft_node_metadata(branch), UPP_STR("{\"a\":1}")));
    TRY(weft_tree_checkout(t, id, err));
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("by the way")};
    struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    TRY(upp_thread_push(weft_node_thread(branch), &m, 1, err));
    TRY(weft_tree_merge(t, id, weft_node_id(from), err));
    TRY(weft_tree_history(t, &messages, &n, err));
    FAIL_UNLESS(n == had + 1);
    TRY(weft_tree_to_json(t, &json, err));
    int r = weft_tree_from_json(json, &copy, err);
    upp_text_free(json);
    return r;
}

static WEFT_SUSPENDS int moves_in_session(struct weft_session *s, struct upp_err *err)
{
    struct weft_checkpoint point;
    struct weft_tree *tree;
    struct upp_str fork;
    size_t n;
    TRY(weft_session_checkpoints(s, &n, err));
    FAIL_UNLESS(n > 2);
    TRY(weft_session_tree(s, &tree, err));
    TRY(uses_tree(tree, err));
    TRY(weft_session_fork(s, weft_node_id(weft_tree_root(tree)), &fork, err));
    TRY(weft_session_save(s, err));
    TRY(weft_session_checkpoint(s, 0, &point, err));
    return weft_session_restore(s, point.id, err);
}

static WEFT_SUSPENDS int asks_beside(struct weft_session *s, struct upp_err *err)
{
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *q = NULL, *again = NULL;
    TRY(weft_session_query(s, UPP_STR("beside"), &q, err));
    char id[64];
    snprintf(id, sizeof id, "%.*s", UPP_FMT(upp_thread_id(q->thread)));
    TRY(weft_session_query_open(s, wb_cstr(id), &again, err));
    return 0;
}

static WEFT_SUSPENDS int uses_sessions(struct way *w, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL, *same = NULL, *copy = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL, *next = NULL;
    struct upp_str json;
    TRY(weft_session_new(w->agent, NULL, &s, err));
    FAIL_UNLESS(weft_session_id(s).n == 36 && weft_session_agent(s) == w->agent && weft_session_metadata(s).n == 2);
    TRY(streams_session(s, err));
    TRY(weft_session_run(s, UPP_STR("What is there?"), &turn, err));
    TRY(weft_session_run_with(s, UPP_OPTS(upp_input, .text = UPP_STR("And now?")), &next, err));
    TRY(asks_beside(s, err));
    TRY(moves_in_session(s, err));
    TRY(streams_session(s, err)); /* on a branch, with a tree in memory */
    FAIL_UNLESS(weft_session_resume(s, &(struct upp_turn *){NULL}, NULL) == -UPP_ENOTFOUND);
    TRY(weft_session_open(w->agent, weft_session_id(s), NULL, &same, err));
    TRY(streams_session(same, err));
    TRY(weft_session_to_json(same, &json, err));
    weft_session_close(WB_TAKE(same));
    int r = weft_session_erase(s, err);
    if (r >= 0)
        r = weft_session_from_json(w->agent, json, NULL, &copy, err);
    upp_text_free(json);
    TRY(r);
    TRY(streams_session(copy, err));
    return weft_session_erase(copy, err);
}

/* ---- Envelopes ------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int plans(void *arg, struct upp_str envelope, struct weft_mux_answer *reply, struct upp_err *err)
{
    (void)arg, (void)envelope;
    return weft_mux_reply(reply, UPP_STR("1) look 2) say"), err);
}

static WEFT_SUSPENDS int routes(struct way *w, struct upp_err *err)
{
    UPP_CLEANUP(weft_mux_freep) struct weft_mux *mux = NULL;
    const struct weft_mux_rule rules[] = {{.intent = "plan", .fn = plans},
                                          {.intent = "reflect", .agent = w->agent, .name = "helper"}};
    struct upp_str answer;
    TRY(weft_mux_new(rules, 2, NULL, &mux, err));
    static const char *const intents[] = {"plan", "reflect"};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"protocol\":\"multiagent-1.0\",\"role\":\"user\",\"agent\":{\"id\":\"u\",\"name\":\"User\","
                 "\"model\":\"n/a\"},"
                 "\"timestamp\":\"2026-11-19T01:00:00.000Z\","
                 "\"intent\":\"%s\",\"task\":\"look\",\"content\":{\"type\":\"text\",\"text\":\"go\"},"
                 "\"trace\":{\"id\":\"0b3d6a1e-6a4e-4f0e-9d0c-0b8f6f6a1c1%zu\"}}",
                 intents[i], i);
        TRY(weft_mux_route(mux, wb_cstr(text), &answer, err));
        test_note("%.*s", UPP_FMT(answer));
        bool good = strstr(answer.p, i ? "seen" : "look 2") != NULL;
        upp_text_free(answer);
        FAIL_UNLESS(good);
    }
    weft_mux_free(WB_TAKE(mux));
    return 0;
}

/* ---- Fibers ---------------------------------------------------------------------------------------------- */

/* What only a fiber can do. */
#define WAITS(call, expected)                                                                                          \
    do {                                                                                                               \
        struct upp_err why_ = {0};                                                                                     \
        int64_t r_ = (call);                                                                                           \
        test_note("%s: %d %s", #call, (int)r_, why_.msg);                                                              \
        FAIL_UNLESS(w->fiber ? r_ == (expected) : r_ == -UPP_EINVALID && strstr(why_.msg, "fibers alone"));            \
    } while (0)

static int nothing(void *arg, struct upp_err *err)
{
    (void)err;
    if (arg)
        ++*(unsigned *)arg;
    return 0;
}

static WEFT_SUSPENDS int builds_messages(struct way *w, struct upp_err *err)
{
    UPP_CLEANUP(weft_agentapi_message_freep) struct weft_agentapi_message *m = NULL;
    const struct upp_str text = UPP_STR("{\"type\":\"text\",\"text\":\"x\"}");
    struct upp_str json;
    (void)w;
    TRY(weft_agentapi_message_new(NULL, &m, err));
    TRY(weft_agentapi_message_add_delta_content(m, 0, text, err));
    TRY(weft_agentapi_message_content_completed(m, 0, err));
    TRY(weft_agentapi_message_add_content(m, text, err));
    TRY(weft_agentapi_message_end(m, "completed", err));
    TRY(weft_agentapi_message_json(m, &json, err));
    upp_text_free(json);
    return 0;
}

static void posted(void *arg)
{
    ++*(unsigned *)arg;
}

static WEFT_SUSPENDS int uses_fibers(struct way *w, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope scope = {0};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *child = NULL;
    struct weft_cond cond = {0};
    static unsigned n;
    n = 0;
    FAIL_UNLESS(!weft_fiber_self() == !w->fiber && !weft_fiber_canceled());
    FAIL_UNLESS(!w->fiber || (weft_fiber_id(weft_fiber_self()) && weft_fiber_name(weft_fiber_self())));
    WAITS(weft_yield(&why_), 0);
    WAITS(weft_sleep_ms(1, &why_), 0);
    WAITS(weft_scope_spawn(&scope, "child", nothing, &n, &child, &why_), 0);
    if (child) {
        FAIL_UNLESS(!weft_fiber_ended(child));
        TRY(weft_fiber_join(child, err));
        FAIL_UNLESS(n == 1);
        weft_fiber_cancel(child);
        weft_fiber_unref(WB_TAKE(child));
    }
    WAITS(weft_fiber_join(weft_fiber_self(), &why_), -UPP_EINVALID);
    WAITS(weft_scope_join(&scope, &why_), 0);
    weft_scope_cancel(&scope);
    weft_cond_signal(&cond);
    weft_cond_broadcast(&cond);
    {
        WEFT_DEADLINE(1);
        WAITS(weft_cond_wait(&cond, &why_), -UPP_ETIMEOUT);
    }
    struct weft_deadline d = weft_deadline_begin(1000);
    struct weft_shield h = weft_shield_begin(1000);
    weft_pin();
    weft_unpin();
    weft_shield_end(&h);
    weft_deadline_end(&d);
    WAITS(weft_work(nothing, NULL, NULL, NULL, &why_), 0);
    FAIL_UNLESS(weft_loop_current() == (w->fiber ? w->loop : NULL));
    TRY(weft_loop_post(w->loop, posted, &n, err));
    return 0;
}

static WEFT_SUSPENDS int uses_channels(struct way *w, struct upp_err *err)
{
    UPP_CLEANUP(weft_channel_freep) struct weft_channel *c = NULL;
    int item = 7, got = 0;
    TRY(weft_channel_new(2, sizeof item, &c, err));
    WAITS(weft_channel_send(c, &item, &why_), 0);
    WAITS(weft_channel_recv(c, &got, &why_), 1);
    TRY(weft_channel_try_send(c, &item, err));
    FAIL_UNLESS(weft_channel_count(c) == 1 && weft_channel_try_recv(c, &got, err) == 1 && got == 7);
    weft_channel_close(c);
    return 0;
}

static WEFT_SUSPENDS int uses_descriptors(struct way *w, struct upp_err *err)
{
    int fds[2];
    char byte = 'x';
    (void)err;
    FAIL_UNLESS(test_socketpair(fds) == 0);
    UPP_CLEANUP(test_closep) int one = fds[0];
    UPP_CLEANUP(test_closep) int two = fds[1];
    WAITS(weft_send(one, "a", 1, &why_), 0);
    WAITS(weft_write(one, "b", 1, &why_), 0);
    WAITS(weft_fd_wait(two, WEFT_READABLE, &why_), WEFT_READABLE);
    WAITS(weft_recv(two, &byte, 1, &why_), 1);
    WAITS(weft_read(two, &byte, 1, &why_), 1);
    WAITS(weft_accept(one, &why_), -UPP_EINVALID); /* it does not listen */
    WAITS(weft_connect(one, &(struct sockaddr){.sa_family = AF_INET}, sizeof(struct sockaddr), &why_),
          0); /* it is connected */
    return 0;
}

static WEFT_SUSPENDS int uses_processes(struct way *w, struct upp_err *err)
{
    UPP_CLEANUP(weft_process_closep) struct weft_process *p = NULL;
    char *const argv[] = {(char[]){"true"}, NULL};
    const struct upp_spawn what = {.file = "true", .argv = argv, .in = -1, .out = -1, .error = -1};
    int status = -1;
    (void)err;
    WAITS(weft_process_open(&what, &p, &why_), 0);
    if (p) {
        FAIL_UNLESS(weft_process_pid(p) > 0);
        WAITS(weft_process_wait(p, &status, &why_), 0);
        FAIL_UNLESS(status == 0);
    }
    return 0;
}

/* Loops and threads of their own: one more loop, a group, workers, a watchdog. */
static WEFT_SUSPENDS int uses_loops(struct way *w, struct upp_err *err)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *more = NULL;
    UPP_CLEANUP(weft_group_closep) struct weft_group *group = NULL;
    UPP_CLEANUP(weft_workers_closep) struct weft_workers *pool = NULL;
    UPP_CLEANUP(weft_watchdog_stopp) struct weft_watchdog *dog = NULL;
    static unsigned n;
    int got = -1;
    n = 0;
    TRY(weft_group_open(UPP_OPTS(weft_group_opts, .loops = 1), &group, err));
    FAIL_UNLESS(weft_group_count(group) == 1);
    TRY(weft_loop_call(weft_group_loop(group, 0), "there", nothing, &n, NULL, &got, err));
    FAIL_UNLESS(got == 0 && n == 1);
    FAIL_UNLESS(weft_loop_spawn(weft_group_loop(group, 0), "there", nothing, NULL, NULL) == -UPP_EINVALID);
    TRY(weft_workers_open(NULL, &pool, err));
    struct weft_loop *const watched[] = {w->loop};
    TRY(weft_watchdog_start(watched, 1, UPP_OPTS(weft_watchdog_opts, .over_ms = 60000), &dog, err));
    TRY(weft_loop_spawn(w->loop, "background", nothing, &n, err));
    TRY(weft_loop_open(NULL, &more, err));
    weft_loop_cancel(more);
    /* A fiber's thread drives its loop already. */
    struct upp_err why = {0};
    int run = weft_loop_run(more, "more", nothing, NULL, &why), poll = weft_loop_poll(more, &why);
    test_note("%d %d %s", run, poll, why.msg);
    FAIL_UNLESS(w->fiber ? run == -UPP_EINVALID && poll == -UPP_EINVALID : run == 0 || run == -UPP_ECANCELED);
    return 0;
}

/* A runtime of which nothing is said: on a fiber it is on the fiber's loop. */
static WEFT_SUSPENDS int uses_another_runtime(struct way *w, struct upp_err *err)
{
    UPP_CLEANUP(weft_runtime_closep) struct weft_runtime *rt = NULL;
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    char url[256];
    struct weft_agent *agent;
    snprintf(url, sizeof url, "%s%s", w->store, strcmp(w->store, "memory:") == 0 ? "" : ".another");
    TRY(weft_runtime_open(UPP_OPTS(weft_runtime_opts, .store = url), &rt, err));
    TRY(weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = SAYS}), &agent, err));
    TRY(weft_session_new(agent, NULL, &s, err));
    TRY(streams_session(s, err));
    return weft_session_run(s, UPP_STR("there"), &turn, err);
}

/* ---- All of them ----------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int goes(void *arg, struct upp_err *err)
{
    static int (*const parts[])(struct way *, struct upp_err *) = {
        makes_agents,     streams_agent,  uses_sessions, routes,          uses_fibers,         uses_channels,
        uses_descriptors, uses_processes, uses_loops,    builds_messages, uses_another_runtime};
    struct way *w = arg;
    TRY(weft_runtime_open(UPP_OPTS(weft_runtime_opts, .loop = w->loop, .store = w->store), &w->rt, err));
    int r = 0;
    for (size_t i = 0; r >= 0 && i < WB_LEN(parts); i++) {
        r = parts[i](w, err);
        if (r < 0)
            test_note("part %zu: %d", i, r);
    }
    if (r >= 0)
        r = weft_runtime_poll(w->rt, err);
    weft_runtime_close(WB_TAKE(w->rt));
    return r;
}

static void check_way(const char *store, bool fiber)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *loop = NULL;
    struct upp_err err = {0};
    CHECK_INT(weft_loop_open(NULL, &loop, &err), 0);
    struct way w = {.store = store, .fiber = fiber, .loop = loop};
    way_now = &w;
    int r = fiber ? weft_loop_run(loop, "test", goes, &w, &err) : goes(&w, &err);
    test_note("%s, %s a fiber: %d %s", store, fiber ? "inside" : "outside", r, err.msg);
    CHECK_INT(r, 0);
}

TEST_WITH(public_calls_work_in_four_ways, .no_torture = "threads of the store come as they like")
{
    char url[256];
    for (int fiber = 0; fiber < 2; fiber++) {
        check_way("memory:", fiber);
        snprintf(url, sizeof url, "sqlite:%s/way-%d.db", test_folder(), fiber);
        check_way(url, fiber);
    }
}

/* ---- None is missing ------------------------------------------------------------------------------------- */

/* Called by the test driver itself, or not to be called here. */
static const char *const elsewhere[] = {
    "weft_global_init",           /* once per process, by the test driver */
    "weft_fiber_report_overflow", /* installs a signal handler: test_overflow.c */
};

static int read_file(const char *name, struct wb_buf *ret)
{
    char path[512], part[1024];
    snprintf(path, sizeof path, "%s/%s", test_tree, name);
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    for (size_t n; (n = fread(part, 1, sizeof part, f));)
        wb_buf_add(ret, wb_str(part, n));
    return fclose(f);
}

static bool is_called(struct upp_str name, struct upp_str here)
{
    char call[96];
    for (size_t i = 0; i < WB_LEN(elsewhere); i++)
        if (wb_str_eq(name, wb_cstr(elsewhere[i])))
            return true;
    if (wb_str_ends(name, UPP_STR("_with"))) /* called by the macro of that name */
        name.n -= 5;
    snprintf(call, sizeof call, "%.*s(", UPP_FMT(name));
    if (wb_str_find(here, wb_cstr(call), 0) < here.n)
        return true;
    /* As a cleanup, or through the one that ends in p. */
    snprintf(call, sizeof call, "(%.*s)", UPP_FMT(name));
    if (wb_str_find(here, wb_cstr(call), 0) < here.n)
        return true;
    snprintf(call, sizeof call, "(%.*sp)", UPP_FMT(name));
    return wb_str_find(here, wb_cstr(call), 0) < here.n;
}

/* The name of the function that is declared at `at`. */
static struct upp_str declared(struct upp_str text, size_t at)
{
    size_t from = wb_str_find(text, UPP_STR("weft_"), at), to = from;
    for (; from < text.n; from = wb_str_find(text, UPP_STR("weft_"), to)) {
        for (to = from; to < text.n && (text.p[to] == '_' || (text.p[to] >= 'a' && text.p[to] <= 'z') ||
                                        (text.p[to] >= '0' && text.p[to] <= '9'));
             to++)
            ;
        if (to < text.n && text.p[to] == '(')
            break;
    }
    return wb_str_sub(text, from, to - from);
}

/* How many functions the header declares; each is to be called in `here`. */
static size_t check_header(const char *name, struct upp_str here)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf header = WB_BUF(1u << 20);
    char path[300];
    size_t n = 0;
    snprintf(path, sizeof path, "../include/weft/%s", name);
    EXPECT(read_file(path, &header) == 0);
    struct upp_str text = wb_buf_str(&header);
    for (size_t at = 0; (at = wb_str_find(text, UPP_STR("UPP_API "), at)) < text.n; at++, n++) {
        struct upp_str function = declared(text, at);
        bool ok = is_called(function, here);
        test_note("%s: %.*s is %s", name, UPP_FMT(function), ok ? "called" : "not called in four ways");
        EXPECT(ok);
    }
    return n;
}

/* Every header of include/weft, also a new one. Those of include/upp are not among them: libupp knows no fibers,
 * sessions or stores. What of it waits does so through upp/wait.h, which stands for a fiber there: tests/unit/upp. */
TEST_WITH(public_calls_are_all_in_the_four_ways, .no_torture = "it reads files of the tree")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf here = WB_BUF(1u << 20);
    char folder[512];
    size_t n = 0, headers = 0;
    CHECK_INT(read_file("unit/session/test_four_ways.c", &here), 0);
    snprintf(folder, sizeof folder, "%s/../include/weft", test_tree);
    DIR *d = opendir(folder);
    CHECK(d);
    for (const struct dirent *one; (one = readdir(d));) {
        if (!wb_str_ends(wb_cstr(one->d_name), UPP_STR(".h")))
            continue;
        n += check_header(one->d_name, wb_buf_str(&here));
        headers++;
    }
    closedir(d);
    test_note("%zu functions in %zu headers", n, headers);
    CHECK(n > 160 && headers >= 10);
}
