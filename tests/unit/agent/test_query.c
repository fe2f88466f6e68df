/* ask and query: turns of a thread. */
#include <string.h>

#include "support/agents.h"

static size_t length(const struct upp_thread *t)
{
    size_t n;
    (void)upp_thread_messages(t, &n);
    return n;
}

static WEFT_SUSPENDS int asks(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *thread = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *one = NULL, *two = NULL, *three = NULL;
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_ask(a, UPP_STR("first"), &thread, &one, err));
    FAIL_UNLESS(thread && length(thread) == 2 && strcmp(upp_turn_text(one), "one") == 0);
    struct upp_thread *same = thread;
    TRY(weft_ask(a, UPP_STR("second"), &thread, &two, err));
    FAIL_UNLESS(thread == same && length(thread) == 4 && strcmp(upp_turn_text(two), "two") == 0);
    /* What fails is not appended. */
    struct upp_err why = {0};
    int r = weft_ask(a, UPP_STR("third"), &thread, &three, &why);
    FAIL_UNLESS(r < 0 && length(thread) == 4);
    struct upp_thread *fresh = NULL;
    struct upp_turn *none = NULL;
    r = weft_ask(a, (struct upp_str){0}, &fresh, &none, &why);
    FAIL_UNLESS(r < 0 && !fresh && !none);
    return 0;
}

/* covers: UAP-9.1, UAP-2.4/2 */
TEST(ask_goes_on_with_a_thread)
{
    AGENTS(SCRIPT(REPLY(TEXT("one")), REPLY(TEXT("two")), "{\"error\":{\"code\":\"RATE_LIMITED\"}}"), asks);
}

static WEFT_SUSPENDS int queries(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *one = NULL, *two = NULL, *three = NULL;
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_query(a, UPP_STR("first"), &one, err));
    FAIL_UNLESS(one->agent == a && length(one->thread) == 2 && strcmp(upp_turn_text(one->turn), "one") == 0);
    TRY(weft_query_continue(one, UPP_STR("second"), &two, err));
    FAIL_UNLESS(two->thread == one->thread && length(two->thread) == 4 && strcmp(upp_turn_text(two->turn), "two") == 0);
    FAIL_UNLESS(strcmp(upp_turn_text(one->turn), "one") == 0);
    /* On an older result: at the end of the thread. */
    TRY(weft_query_continue(one, UPP_STR("third"), &three, err));
    FAIL_UNLESS(length(three->thread) == 6 && strcmp(upp_turn_text(three->turn), "three") == 0);
    weft_query_free(one);
    weft_query_free(two);
    one = two = NULL;
    FAIL_UNLESS(length(three->thread) == 6); /* which lives as long as any of them */
    struct weft_query_result *failed = NULL;
    FAIL_UNLESS(weft_query_continue(three, UPP_STR("fourth"), &failed, NULL) < 0 && !failed);
    return 0;
}

/* covers: UAP-9.2a/1, UAP-9.2b/1 */
TEST(query_has_a_thread_of_its_own)
{
    AGENTS(
        SCRIPT(REPLY(TEXT("one")), REPLY(TEXT("two")), REPLY(TEXT("three")), "{\"error\":{\"code\":\"RATE_LIMITED\"}}"),
        queries);
}

struct second {
    struct weft_query_result *query;
    int result;
};

static WEFT_SUSPENDS int go_on(void *arg, struct upp_err *err)
{
    struct second *s = arg;
    struct weft_query_result *ret = NULL;
    s->result = weft_query_continue(s->query, UPP_STR("again"), &ret, err);
    weft_query_free(ret);
    return 0;
}

/* Two at the same time would answer different pasts. */
static WEFT_SUSPENDS int two_at_once(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *q = NULL;
    struct second one, two;
    struct weft_agent *a;
    if (!p->loop)
        return 0;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_query(a, UPP_STR("first"), &q, err));
    one = two = (struct second){.query = q};
    {
        UPP_CLEANUP(weft_scope_close) struct weft_scope scope = {0};
        TRY(weft_scope_spawn(&scope, "one", go_on, &one, NULL, err));
        TRY(weft_scope_spawn(&scope, "two", go_on, &two, NULL, err));
        TRY(weft_scope_join(&scope, err));
    }
    if (one.result == -UPP_ENOMEM || two.result == -UPP_ENOMEM)
        return -UPP_ENOMEM;
    FAIL_UNLESS((one.result == 0) + (two.result == 0) == 1 && (one.result == -UPP_EBUSY || two.result == -UPP_EBUSY));
    return 0;
}

struct asking {
    struct weft_agent *agent;
    struct upp_thread *thread;
    int result;
    struct upp_err why;
};

static WEFT_SUSPENDS int asks_on(void *arg, struct upp_err *err)
{
    struct asking *s = arg;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct upp_thread *t = s->thread;
    (void)err;
    s->result = weft_ask(s->agent, UPP_STR("again"), &t, &turn, &s->why);
    return 0;
}

/* Also by another agent: it is the thread that is being answered. */
static WEFT_SUSPENDS int asked_twice(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *thread = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a, *b;
    struct asking one, two;
    if (!p->loop)
        return 0;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &b, err));
    TRY(upp_thread_new(&thread, err));
    one = (struct asking){.agent = a, .thread = thread};
    two = (struct asking){.agent = b, .thread = thread};
    {
        UPP_CLEANUP(weft_scope_close) struct weft_scope scope = {0};
        TRY(weft_scope_spawn(&scope, "one", asks_on, &one, NULL, err));
        TRY(weft_scope_spawn(&scope, "two", asks_on, &two, NULL, err));
        TRY(weft_scope_join(&scope, err));
    }
    if (one.result == -UPP_ENOMEM || two.result == -UPP_ENOMEM)
        return -UPP_ENOMEM;
    FAIL_UNLESS((one.result == 0) + (two.result == 0) == 1);
    const struct asking *late = one.result ? &one : &two;
    FAIL_UNLESS(late->result == -UPP_EBUSY && strcmp(late->why.msg, "the thread is being answered") == 0);
    FAIL_UNLESS(length(thread) == 2);
    TRY(weft_ask(b, UPP_STR("and now?"), &thread, &turn, err)); /* it is free again */
    FAIL_UNLESS(length(thread) == 4);
    return 0;
}

TEST(ask_answers_one_at_a_time)
{
    AGENTS(SCRIPT(SLOW_REPLY(5, TEXT("one")), REPLY(TEXT("two"))), asked_twice);
}

TEST(query_answers_one_at_a_time)
{
    AGENTS(SCRIPT(REPLY(TEXT("one")), SLOW_REPLY(5, TEXT("two"))), two_at_once);
}
