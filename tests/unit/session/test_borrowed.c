/* What a program hands to an object may be that object's own: a checkpoint's id, the text of a message, a part of the
 * metadata. Freed memory is overwritten here (support/fault.c), so that these fail without a sanitizer too. */
#include <stdio.h>
#include <string.h>

#include "base/hooks.h"
#include "support/agents.h"
#include "support/llm.h"

#define FIRST "the first words of a conversation"

static bool has(const struct upp_err *err, struct upp_str text)
{
    return wb_str_find(wb_cstr(err->msg), text, 0) < strlen(err->msg);
}

static bool answers(const struct upp_turn *t, const char *text)
{
    test_note("answered with '%s'", t ? upp_turn_text(t) : "nothing");
    return t && strcmp(upp_turn_text(t), text) == 0;
}

static bool says(const struct upp_message *m, const char *text)
{
    return m->n_parts == 1 && wb_str_eq(m->parts[0].text, wb_cstr(text));
}

static WEFT_SUSPENDS int say(struct weft_session *s, struct upp_str text, const char *expected, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(weft_session_run(s, text, &turn, err));
    FAIL_UNLESS(answers(turn, expected));
    return 0;
}

/* ---- Sessions -------------------------------------------------------------------------------------------------- */

/* A session of one turn as it is after weft_session_from_json: all that it is lies in the document, which is freed when
 * the session goes into the log. */
static WEFT_SUSPENDS int read_one(struct agents *p, struct weft_session **ret, struct weft_checkpoint *cp,
                                  struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_agent *a;
    struct upp_str json;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_session_new(a, UPP_OPTS(weft_session_opts, .metadata = "{\"task\":\"X\"}"), &s, err));
    TRY(say(s, UPP_STR(FIRST), FIRST, err));
    TRY(weft_session_to_json(s, &json, err));
    int r = weft_session_from_json(a, json, NULL, ret, err);
    upp_text_free(json);
    TRY(r);
    return weft_session_checkpoint(*ret, 0, cp, err);
}

static struct upp_str said(const struct weft_checkpoint *cp)
{
    return cp->messages[0].parts[0].text;
}

typedef WEFT_SUSPENDS int use_fn(struct weft_session *s, const struct weft_checkpoint *cp, struct upp_err *err);

static WEFT_SUSPENDS int with_one(struct agents *p, use_fn *use, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_checkpoint cp;
    TRY(read_one(p, &s, &cp, err));
    return use(s, &cp, err);
}

static WEFT_SUSPENDS int restores(struct weft_session *s, const struct weft_checkpoint *cp, struct upp_err *err)
{
    TRY(weft_session_restore(s, cp->id, err));
    return say(s, UPP_STR("then"), "then", err);
}

/* What is named in the error is what was asked for. */
static WEFT_SUSPENDS int restores_none(struct weft_session *s, const struct weft_checkpoint *cp, struct upp_err *err)
{
    char node[64];
    struct upp_err why = {0};
    snprintf(node, sizeof node, "no checkpoint '%.*s'", UPP_FMT(cp->node));
    int r = weft_session_restore(s, cp->node, &why);
    TRY(r == -UPP_ENOTFOUND ? 0 : r);
    test_note("%s", why.msg);
    FAIL_UNLESS(r == -UPP_ENOTFOUND && has(&why, wb_cstr(node)));
    (void)err;
    return 0;
}

static WEFT_SUSPENDS int forks(struct weft_session *s, const struct weft_checkpoint *cp, struct upp_err *err)
{
    struct upp_str id;
    struct weft_tree *t;
    TRY(weft_session_fork(s, cp->node, &id, err));
    TRY(weft_session_tree(s, &t, err));
    FAIL_UNLESS(weft_tree_node(t, id) && weft_tree_count(t) == 2);
    return 0;
}

static WEFT_SUSPENDS int forks_none(struct weft_session *s, const struct weft_checkpoint *cp, struct upp_err *err)
{
    char name[64];
    struct upp_err why = {0};
    struct upp_str id;
    snprintf(name, sizeof name, "%.*s", UPP_FMT(cp->id));
    int r = weft_session_fork(s, cp->id, &id, &why);
    TRY(r == -UPP_ENOTFOUND ? 0 : r);
    test_note("%s", why.msg);
    FAIL_UNLESS(r == -UPP_ENOTFOUND && has(&why, wb_cstr(name)));
    (void)err;
    return 0;
}

static WEFT_SUSPENDS int runs(struct weft_session *s, const struct weft_checkpoint *cp, struct upp_err *err)
{
    return say(s, said(cp), FIRST, err);
}

static WEFT_SUSPENDS int runs_with(struct weft_session *s, const struct upp_input *in, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(weft_session_run_with(s, in, &turn, err));
    FAIL_UNLESS(answers(turn, FIRST));
    return 0;
}

static WEFT_SUSPENDS int runs_with_messages(struct weft_session *s, const struct weft_checkpoint *cp,
                                            struct upp_err *err)
{
    return runs_with(s, UPP_OPTS(upp_input, .messages = cp->messages, .n_messages = 1), err);
}

static WEFT_SUSPENDS int runs_with_parts(struct weft_session *s, const struct weft_checkpoint *cp, struct upp_err *err)
{
    return runs_with(s, UPP_OPTS(upp_input, .parts = cp->messages[0].parts, .n_parts = 1), err);
}

/* Two messages: the first is history, which goes into the log before the run begins. */
static WEFT_SUSPENDS int runs_with_history(struct weft_session *s, const struct weft_checkpoint *cp,
                                           struct upp_err *err)
{
    const struct upp_message both[] = {cp->messages[1], cp->messages[0]};
    struct weft_tree *t;
    const struct upp_message *list;
    size_t n;
    TRY(runs_with(s, UPP_OPTS(upp_input, .messages = both, .n_messages = 2), err));
    TRY(weft_session_tree(s, &t, err));
    TRY(weft_tree_history(t, &list, &n, err));
    FAIL_UNLESS(n == 5 && wb_str_eq(list[2].parts[0].text, UPP_STR(FIRST)));
    return 0;
}

/* A stream begins with its first pull: what the session did meanwhile is nothing to it. */
static WEFT_SUSPENDS int streams(struct weft_session *s, const struct weft_checkpoint *cp, struct upp_err *err)
{
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *stream = NULL;
    const struct upp_turn *turn;
    TRY(weft_session_stream(s, UPP_OPTS(upp_input, .text = said(cp)), NULL, &stream, err));
    TRY(weft_session_save(s, err));
    TRY(weft_stream_turn(stream, &turn, err));
    FAIL_UNLESS(answers(turn, FIRST));
    return 0;
}

static WEFT_SUSPENDS int queries(struct weft_session *s, const struct weft_checkpoint *cp, struct upp_err *err)
{
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *q = NULL, *more = NULL;
    TRY(weft_session_query(s, said(cp), &q, err));
    FAIL_UNLESS(answers(q->turn, FIRST));
    size_t n;
    const struct upp_message *list = upp_thread_messages(q->thread, &n);
    FAIL_UNLESS(n == 2);
    TRY(weft_query_continue(q, list[0].parts[0].text, &more, err));
    FAIL_UNLESS(answers(more->turn, FIRST));
    return 0;
}

static WEFT_SUSPENDS int opens_a_query(struct weft_session *s, const struct weft_checkpoint *cp, struct upp_err *err)
{
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *q = NULL;
    char name[64];
    struct upp_err why = {0};
    snprintf(name, sizeof name, "no query '%.*s'", UPP_FMT(cp->id));
    int r = weft_session_query_open(s, cp->id, &q, &why);
    TRY(r == -UPP_ENOTFOUND ? 0 : r);
    test_note("%s", why.msg);
    FAIL_UNLESS(r == -UPP_ENOTFOUND && has(&why, wb_cstr(name)));
    (void)err;
    return 0;
}

/* What it is called, and what is known of it, is good as long as the session. */
static WEFT_SUSPENDS int keeps_its_id(struct weft_session *s, const struct weft_checkpoint *cp, struct upp_err *err)
{
    char was[64];
    struct upp_str id = weft_session_id(s), metadata = weft_session_metadata(s);
    snprintf(was, sizeof was, "%.*s", UPP_FMT(id));
    FAIL_UNLESS(wb_str_eq(cp->session_id, id));
    TRY(weft_session_save(s, err));
    FAIL_UNLESS(wb_str_eq(id, wb_cstr(was)) && wb_str_eq(weft_session_id(s), id));
    FAIL_UNLESS(wb_str_eq(metadata, UPP_STR("{\"task\":\"X\"}")) && wb_str_eq(weft_session_metadata(s), metadata));
    return 0;
}

#define SESSION_TEST(name, use)                                                                                        \
    static WEFT_SUSPENDS int use##_act(struct agents *p, struct upp_err *err)                                          \
    {                                                                                                                  \
        return with_one(p, use, err);                                                                                  \
    }                                                                                                                  \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        AGENTS(NULL, use##_act);                                                                                       \
    }

SESSION_TEST(borrowed_checkpoint_is_restored, restores)
SESSION_TEST(borrowed_id_of_no_checkpoint_is_named, restores_none)
SESSION_TEST(borrowed_node_is_forked, forks)
SESSION_TEST(borrowed_id_of_no_node_is_named, forks_none)
SESSION_TEST(borrowed_text_is_run, runs)
SESSION_TEST(borrowed_messages_are_run, runs_with_messages)
SESSION_TEST(borrowed_parts_are_run, runs_with_parts)
SESSION_TEST(borrowed_messages_before_the_input_are_kept, runs_with_history)
SESSION_TEST(borrowed_text_is_streamed, streams)
SESSION_TEST(borrowed_text_is_asked_beside_the_session, queries)
SESSION_TEST(borrowed_id_of_no_query_is_named, opens_a_query)
SESSION_TEST(borrowed_id_of_a_session_lasts, keeps_its_id)

/* One in the log: what was read of it is read anew when too much of that memory is waste. */
static WEFT_SUSPENDS int restores_after_much(struct agents *p, struct upp_err *err)
{
    enum { MUCH = 300 << 10 };
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(MUCH);
    struct weft_checkpoint cp;
    struct weft_agent *a;
    struct weft_tree *t;
    size_t n;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_session_new(a, NULL, &s, err));
    TRY(say(s, UPP_STR(FIRST), FIRST, err));
    TRY(weft_session_checkpoints(s, &n, err));
    TRY(weft_session_tree(s, &t, err));
    while (b.n < MUCH && wb_buf_check(&b, NULL) >= 0)
        wb_buf_addc(&b, 'x');
    TRY(upp_thread_user(weft_node_thread(weft_tree_current(t)), wb_buf_str(&b), err));
    TRY(weft_session_save(s, err));
    TRY(weft_session_checkpoint(s, 0, &cp, err));
    TRY(upp_thread_user(weft_node_thread(weft_tree_current(t)), UPP_STR("more"), err));
    return weft_session_restore(s, cp.id, err);
}

TEST(borrowed_checkpoint_is_restored_when_all_is_read_anew)
{
    AGENTS(NULL, restores_after_much);
}

/* Several fibers look at once, and the store takes its time: each sees all of it. */
struct looker {
    struct weft_session *session;
    size_t n;
};

static WEFT_SUSPENDS int look_once(void *arg, struct upp_err *err)
{
    struct looker *l = arg;
    struct upp_str json;
    TRY(weft_session_to_json(l->session, &json, err));
    l->n = json.n;
    upp_text_free(json);
    return 0;
}

static WEFT_SUSPENDS int look_together(struct weft_session *s, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope scope = {0};
    struct looker lookers[4];
    for (size_t i = 0; i < WB_LEN(lookers); i++) {
        lookers[i] = (struct looker){.session = s};
        TRY(weft_scope_spawn(&scope, "looks", look_once, &lookers[i], NULL, err));
    }
    TRY(weft_scope_join(&scope, err));
    for (size_t i = 1; i < WB_LEN(lookers); i++)
        FAIL_UNLESS(lookers[i].n && lookers[i].n == lookers[0].n);
    return 0;
}

static WEFT_SUSPENDS int looks(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_runtime_closep) struct weft_runtime *rt = NULL;
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_agent *a;
    TRY(weft_runtime_open(UPP_OPTS(weft_runtime_opts, .loop = weft_loop_current(), .store = arg), &rt, err));
    TRY(weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = "{\"echo\":true}"}), &a,
                       err));
    TRY(weft_session_new(a, NULL, &s, err));
    for (int i = 0; i < 3; i++) {
        TRY(say(s, UPP_STR(FIRST), FIRST, err));
        TRY(look_together(s, err));
    }
    return 0;
}

TEST_WITH(borrowed_session_is_read_by_one_at_a_time, .no_torture = "threads of the store come as they like")
{
    char url[256];
    struct upp_err err = {0};
    snprintf(url, sizeof url, "sqlite:%s/sessions.db", test_folder());
    int r = test_on_loop(looks, url, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* Names of phases that are made in one place: each is a phase of its own. And what a run says of itself is put back. */
static WEFT_SUSPENDS int asks_in_phases(struct weft_run *run, struct upp_err *err)
{
    const struct weft_reply *first = NULL, *second = NULL;
    char phase[16];
    size_t n;
    TRY(weft_run_set_own(run, UPP_STR("{\"own\":[1,2]}"), err));
    TRY(weft_run_set_own(run, run->state.own, err));
    TRY(weft_run_set_own(run, wb_str_sub(run->state.own, 7, 5), err));
    TRY(weft_run_set_plan(run, run->state.own, err));
    TRY(weft_run_set_plan(run, run->state.plan, err));
    FAIL_UNLESS(wb_str_eq(run->state.plan, UPP_STR("[1,2]")) && wb_str_eq(run->state.own, UPP_STR("[1,2]")));
    TRY(weft_run_set_metadata(run, UPP_STR("kept"), run->state.plan, err));
    struct upp_str all = run->state.metadata;
    TRY(weft_run_set_metadata(run, wb_str_sub(all, 2, 4), all, err)); /* "kept" holds what there was */
    FAIL_UNLESS(wb_str_eq(run->state.metadata, UPP_STR("{\"kept\":{\"kept\":[1,2]}}")));
    TRY(weft_run_set_plan(run, UPP_STR("[]"), err));

    snprintf(phase, sizeof phase, "one");
    TRY(weft_run_ask(run, phase, NULL, &first, err));
    snprintf(phase, sizeof phase, "two");
    const struct upp_message *const *list = weft_run_messages(run, &n);
    FAIL_UNLESS(n == 2);
    TRY(weft_run_ask(run, phase, UPP_OPTS(weft_ask_opts, .prompt = list[0]), &second, err));
    FAIL_UNLESS(first != second && says(first->message, FIRST) && says(second->message, FIRST));
    TRY(weft_run_event(run, &(struct weft_system_event){.type = wb_cstr(phase), .data = run->state.metadata}, err));
    return weft_run_reasoned(run, second->message->parts[0].text, err);
}
static const struct weft_strategy phases = {.name = "phases", .execute = asks_in_phases};

static WEFT_SUSPENDS int plays_phases(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .execution = phases), &a, err));
    TRY(weft_agent_run(a, UPP_STR(FIRST), &turn, err));
    FAIL_UNLESS(turn->n_messages == 3 && turn->n_cycles == 2);
    return 0;
}

/* covers: UAP-5.1/3, TP-60/2 */
TEST(borrowed_texts_of_a_run_are_put_back)
{
    AGENTS(NULL, plays_phases);
}

/* ---- Middleware -------------------------------------------------------------------------------------------------- */

#define WORDS "{\"words\":1}"

struct seen {
    char metadata[64], input[64], words[32];
    struct upp_part part;
    struct upp_message message;
};

/* What it sets is written over when it has returned, or lies in a turn that it replaces. */
static WEFT_SUSPENDS int before(void *arg, struct weft_context *c, struct upp_err *err)
{
    struct seen *s = arg;
    snprintf(s->words, sizeof s->words, "%s", WORDS);
    s->part = (struct upp_part){.kind = UPP_PART_TEXT, .text = wb_cstr(s->words)};
    s->message = (struct upp_message){.role = UPP_ROLE_USER, .parts = &s->part, .n_parts = 1};
    c->input = &s->message;
    int r = weft_context_set(c, "a", UPP_STR("[1]"), err);
    if (r >= 0)
        r = weft_context_set(c, "b", weft_context_get(c, "a"), err);
    return r < 0 ? r : weft_context_set(c, "a", c->metadata, err);
}

static WEFT_SUSPENDS int before_and_fails(void *arg, struct weft_context *c, struct upp_err *err)
{
    int r = before(arg, c, err);
    return r < 0 ? r : upp_fail(err, UPP_EREFUSED, "no");
}

static WEFT_SUSPENDS int after(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    struct upp_turn *other;
    (void)arg;
    int r = upp_turn_copy(&(struct upp_turn){.messages = (*turn)->messages, .n_messages = (*turn)->n_messages}, &other,
                          err);
    if (r < 0)
        return r;
    c->input = (*turn)->response;
    c->metadata = (*turn)->response->parts[0].text;
    *turn = other;
    return 0;
}

static void look(struct seen *seen, const struct weft_context *c)
{
    memset(seen->words, 'x', sizeof seen->words);
    snprintf(seen->metadata, sizeof seen->metadata, "%.*s", UPP_FMT(c->metadata));
    snprintf(seen->input, sizeof seen->input, "%.*s", UPP_FMT(c->input->parts[0].text));
}

static WEFT_SUSPENDS int looks_after(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    (void)turn, (void)err;
    look(arg, c);
    return 0;
}

static WEFT_SUSPENDS int looks_at_failure(void *arg, struct weft_context *c, const struct upp_err *why,
                                          struct upp_turn **ret, struct upp_err *err)
{
    (void)why, (void)ret, (void)err;
    look(arg, c);
    return 0;
}

static WEFT_SUSPENDS int around(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct seen seen = {.words = ""};
    const struct weft_middleware well[] = {{.name = "looks", .arg = &seen, .after = looks_after},
                                           {.name = "sets", .arg = &seen, .before = before, .after = after}};
    const struct weft_middleware badly[] = {{.name = "looks", .arg = &seen, .on_error = looks_at_failure},
                                            {.name = "sets", .arg = &seen, .before = before_and_fails}};
    struct weft_agent *a, *b;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .middleware = well, .n_middleware = 2), &a,
                       err));
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .middleware = badly, .n_middleware = 2), &b,
                       err));
    int r = weft_agent_run(a, UPP_STR(FIRST), &turn, err);
    if (r >= 0 && !(answers(turn, WORDS) && strcmp(seen.metadata, WORDS) == 0 && strcmp(seen.input, WORDS) == 0))
        r = upp_fail(err, UPP_EBUG, "after: metadata '%s', input '%s'", seen.metadata, seen.input);
    weft_agent_free(a);
    if (r >= 0) {
        upp_turn_free(WB_TAKE(turn));
        r = weft_agent_run(b, UPP_STR(FIRST), &turn, err) == -UPP_EREFUSED ? 0 : -UPP_EBUG;
        if (strcmp(seen.metadata, "{\"b\":[1],\"a\":{\"a\":[1],\"b\":[1]}}") != 0 || strcmp(seen.input, WORDS) != 0)
            r = upp_fail(err, UPP_EBUG, "on_error: metadata '%s', input '%s'", seen.metadata, seen.input);
    }
    weft_agent_free(b);
    return r;
}

TEST(borrowed_texts_of_a_context_are_copied)
{
    AGENTS(NULL, around);
}

/* ---- Calls of tools ---------------------------------------------------------------------------------------------- */

/* The arguments are what was inside of them, and what was read before is good until the call ends. */
static int unwraps(void *arg, struct upp_call *call, struct upp_err *err)
{
    struct upp_str inner, city, outer;
    (void)arg;
    int r = upp_call_arg_str(call, "city", &outer, err);
    if (r >= 0)
        r = upp_call_arg(call, "inner", &inner, err);
    if (r < 0)
        return r;
    call->arguments = inner;
    r = upp_call_arg_str(call, "city", &city, err);
    if (r >= 0 && !(wb_str_eq(city, UPP_STR("Oslo, in the North")) && wb_str_eq(outer, UPP_STR("Rome, in the South"))))
        r = upp_fail(err, UPP_EINVALID, "'%.*s', '%.*s'", UPP_FMT(city), UPP_FMT(outer));
    return r < 0 ? r : 1;
}

static int visits(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct upp_str city;
    int r = upp_call_arg_str(call, "city", &city, err);
    return r < 0 ? r : upp_value_text(ret, city, err);
}

/* A result is made of what it was. */
static int wraps(void *arg, struct upp_call *call, struct upp_value *v, struct upp_err *err)
{
    (void)arg, (void)call;
    int r = upp_value_json(v, upp_value_get(v), err);
    if (r >= 0)
        r = upp_value_printf(v, err, "(%.*s)", UPP_FMT(upp_value_get(v)));
    return r < 0 ? r : upp_value_text(v, upp_value_get(v), err);
}

#define VISIT                                                                                                          \
    SCRIPT(REPLY(CALL("c1", "visits", "\"city\":\"Rome, in the South\",\"inner\":{\"city\":\"Oslo, in the North\"}")), \
           REPLY(TEXT("done")))
#define VISITED "\"\\\"(\\\\\\\"Oslo, in the North\\\\\\\")\\\"\""

static const struct upp_tool visit[] = {{.name = "visits", .description = "", .run = visits}};
static const struct upp_tool_strategy between = {.on_before = unwraps, .on_after = wraps};

/* covers: UPP-8/2 */
TEST(borrowed_arguments_of_a_call)
{
    WB_CLEANUP(upp_model_freep) struct upp_model *model = NULL;
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    CHECK_INT(upp_scripted_new(UPP_STR(VISIT), &model, NULL), 0);
    CHECK_INT(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = visit, .n_tools = 1, .strategy = between), &llm,
                          NULL),
              0);
    CHECK_INT(upp_ask(llm, UPP_STR("go"), &turn, NULL), 0);
    CHECK(turn->n_executions == 1);
    CHECK_STR(turn->executions[0].arguments, UPP_STR("{\"city\":\"Oslo, in the North\"}"));
    CHECK_STR(turn->executions[0].result, UPP_STR(VISITED));
}

static WEFT_SUSPENDS int visits_in_a_run(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    TRY(weft_agent_new(
        p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {visit, 1}, .tool_strategy = &between), &a, err));
    TRY(weft_agent_run(a, UPP_STR("go"), &turn, err));
    FAIL_UNLESS(turn->n_executions == 1);
    test_note("%.*s", UPP_FMT(turn->executions[0].result));
    FAIL_UNLESS(wb_str_eq(turn->executions[0].arguments, UPP_STR("{\"city\":\"Oslo, in the North\"}")));
    FAIL_UNLESS(wb_str_eq(turn->executions[0].result, UPP_STR(VISITED)));
    return 0;
}

/* covers: UAP-4.2/2 */
TEST(borrowed_arguments_of_a_call_in_a_run)
{
    AGENTS(VISIT, visits_in_a_run);
}

/* ---- Threads, trees, turns --------------------------------------------------------------------------------------- */

/* Again and again, so that its memory grows and its list moves. */
TEST(borrowed_messages_of_a_thread_are_pushed)
{
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *t = NULL, *lent = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL, *again = NULL;
    const struct upp_message *list;
    struct upp_str json;
    size_t n;
    CHECK_INT(upp_thread_new(&t, NULL), 0);
    CHECK_INT(upp_thread_user(t, UPP_STR(FIRST), NULL), 0);
    for (int i = 0; i < 6; i++) {
        list = upp_thread_messages(t, &n);
        CHECK_INT(upp_thread_push(t, list, n, NULL), 0);
        list = upp_thread_messages(t, &n);
        CHECK_INT(upp_thread_assistant(t, list[n - 1].parts[0].text, NULL), 0);
        list = upp_thread_messages(t, &n);
        CHECK_INT(upp_thread_user(t, list[0].parts[0].text, NULL), 0);
    }
    list = upp_thread_messages(t, &n);
    CHECK_INT(upp_turn_copy(&(struct upp_turn){.messages = list, .n_messages = n}, &turn, NULL), 0);
    CHECK_INT(upp_turn_copy(turn, &again, NULL), 0);
    CHECK_INT(upp_thread_append(t, again, NULL), 0);
    list = upp_thread_messages(t, &n);
    CHECK_INT(n, 380);
    for (size_t i = 0; i < n; i++)
        CHECK(says(&list[i], FIRST));
    CHECK_INT(upp_thread_to_json(t, &json, NULL), 0);
    int r = upp_thread_from_json(json, &lent, NULL);
    upp_text_free(json);
    CHECK_INT(r, 0);
    CHECK_STR(upp_thread_id(lent), upp_thread_id(t));
}

/* Its text is the thread's own. */
static WEFT_SUSPENDS int asks(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *t = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    size_t n;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_ask(a, UPP_STR(FIRST), &t, &turn, err));
    for (int i = 0; i < 5; i++) {
        upp_turn_free(WB_TAKE(turn));
        const struct upp_message *list = upp_thread_messages(t, &n);
        TRY(weft_ask(a, list[n - 1].parts[0].text, &t, &turn, err));
        FAIL_UNLESS(answers(turn, FIRST));
    }
    return 0;
}

TEST(borrowed_text_of_a_thread_is_asked)
{
    AGENTS(NULL, asks);
}

TEST(borrowed_texts_of_a_tree)
{
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    struct weft_node *root;
    struct upp_str id, other;
    CHECK_INT(weft_tree_new(&t, NULL), 0);
    root = weft_tree_root(t);
    CHECK_INT(weft_node_set_metadata(root, UPP_STR("{\"a\":{\"b\":1}}"), NULL), 0);
    CHECK_INT(weft_node_set_metadata(root, weft_node_metadata(root), NULL), 0);
    CHECK_INT(weft_node_set_metadata(root, wb_str_sub(weft_node_metadata(root), 5, 7), NULL), 0);
    CHECK_STR(weft_node_metadata(root), UPP_STR("{\"b\":1}"));
    CHECK_INT(upp_thread_user(weft_node_thread(root), UPP_STR(FIRST), NULL), 0);
    CHECK_INT(weft_tree_branch(t, weft_node_id(root), "name", &id, NULL), 0);
    CHECK_INT(weft_tree_branch(t, id, weft_node_name(weft_tree_node(t, id)).p, &other, NULL), 0);
    CHECK_STR(weft_node_name(weft_tree_node(t, other)), UPP_STR("name"));
    CHECK_INT(weft_tree_checkout(t, other, NULL), 0);

    /* A history is a list of the tree's, which moves with the next one. */
    const struct upp_message *list;
    size_t n;
    for (int i = 0; i < 6; i++) {
        CHECK_INT(weft_tree_history(t, &list, &n, NULL), 0);
        CHECK_INT(upp_thread_push(weft_node_thread(weft_tree_current(t)), list, n, NULL), 0);
    }
    CHECK_INT(weft_tree_merge(t, weft_node_id(weft_tree_current(t)), weft_node_id(root), NULL), 0);
    CHECK_INT(weft_tree_history(t, &list, &n, NULL), 0);
    CHECK_INT(n, 64);
    for (size_t i = 0; i < n; i++)
        CHECK(says(&list[i], FIRST));
}

/* An error is told with words of the one before it. */
TEST(borrowed_words_of_an_error)
{
    struct upp_err err = {0};
    (void)upp_fail(&err, UPP_ENET, "the wire is cut");
    snprintf(err.cause, sizeof err.cause, "a knife");
    (void)upp_fail(&err, UPP_EPROVIDER, "it failed (%s), says %s", err.cause, err.msg);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("it failed (a knife), says the wire is cut"));
    CHECK_INT(err.code, UPP_EPROVIDER);
    CHECK_STR(wb_cstr(err.cause), UPP_STR(""));
    (void)upp_wrap(&err, -UPP_EPROVIDER, "%s", err.msg);
    CHECK_STR(wb_cstr(err.msg),
              UPP_STR("it failed (a knife), says the wire is cut: it failed (a knife), says the wire is cut"));
}
