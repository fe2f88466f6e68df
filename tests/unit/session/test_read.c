/* A session that is looked at again and again: what was read is not read again, and it is always what the log has. */
#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "log/change.h"
#include "support/agents.h"

#define REPLIES                                                                                                        \
    SCRIPT("{\"when\":{\"contains\":\"program\"}," PARTS(TEXT("Look."), CALL("c1", "add", "\"a\":1,\"b\":2")) "}",     \
           "{\"when\":{\"tool_result\":\"add\"}," PARTS(TEXT("It is 3.")) "}",                                         \
           "{\"when\":{\"contains\":\"look\"}," PARTS(TEXT("Wait."), CALL("c2", "look", "")) "}",                      \
           "{\"when\":{\"tool_result\":\"look\"}," PARTS(TEXT("Seen.")) "}",                                           \
           "{\"when\":{\"contains\":\"errors\"}," PARTS(TEXT("Errors are handled.")) "}")

/* A store that counts the rows it gives out. */
static struct {
    const struct wl_store_ops *whole;
    struct wl_store_ops counting;
    size_t rows;
} meter;

static WEFT_SUSPENDS int rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *range,
                              struct wb_arena *a, struct wl_rows *ret, struct upp_err *err)
{
    int r = meter.whole->rows ? meter.whole->rows(s, o, range, a, ret, err)
                              : wl_store_rows(s->inner, o, range, a, ret, err);
    meter.rows += r < 0 ? 0 : ret->n;
    return r;
}

static WEFT_SUSPENDS int count(struct weft_session *s, size_t *points, struct upp_err *err)
{
    struct wl_store *store = wr_engine_store(s->home->kept);
    meter.whole = store->ops;
    meter.counting = *store->ops;
    meter.counting.rows = rows;
    meter.rows = 0;
    store->ops = &meter.counting;
    int r = weft_session_checkpoints(s, points, err);
    store->ops = meter.whole;
    return r;
}

/* As it is for one who reads it for the first time. */
static WEFT_SUSPENDS int compare(struct weft_session *s, const struct weft_session_opts *opts, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *fresh = NULL;
    struct upp_str x = {0}, y = {0};
    TRY(weft_session_open(weft_session_agent(s), weft_session_id(s), opts, &fresh, err));
    int r = weft_session_to_json(s, &x, err);
    if (r >= 0)
        r = weft_session_to_json(fresh, &y, err);
    bool same = r >= 0 && wb_str_eq(x, y);
    if (r >= 0)
        test_note("%.*s\n%.*s", UPP_FMT(x), UPP_FMT(y));
    upp_text_free(x);
    upp_text_free(y);
    TRY(r);
    FAIL_UNLESS(same);
    return 0;
}

static WEFT_SUSPENDS int say(struct weft_session *s, const char *text, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    return weft_session_run(s, wb_cstr(text), &turn, err);
}

/* Called by the model: looks at the session in the middle of its run. */
static int look(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    size_t n;
    TRY(weft_session_checkpoints(*(struct weft_session **)call->arg, &n, err));
    return upp_value_printf(ret, err, "%zu", n);
}

static WEFT_SUSPENDS int look_often(struct agents *p, const struct weft_session_opts *opts, size_t each,
                                    struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct upp_tool tools[] = {agents_tools[0], {.name = "look", .description = "looks", .run = look, .arg = &s}};
    struct weft_agent *a;
    struct weft_checkpoint cp;
    size_t n, expected = 0;
    char id[64];
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {tools, 2}), &a, err));
    TRY(weft_session_new(a, opts, &s, err));
    for (int i = 0; i < 5; i++) {
        if (i == 3) { /* a branch */
            TRY(weft_session_checkpoint(s, 0, &cp, err));
            snprintf(id, sizeof id, "%.*s", UPP_FMT(cp.id));
            TRY(weft_session_restore(s, wb_cstr(id), err));
        }
        TRY(say(s, i % 2 ? "errors" : i == 2 ? "look" : "a program", err));
        expected += i % 2 ? 1 : each;
        TRY(count(s, &n, err));
        test_note("after run %d: %zu checkpoints, %zu rows", i, n, meter.rows);
        FAIL_UNLESS(n == expected);
        FAIL_UNLESS(meter.rows < 12); /* those of one run, twice, whatever came before */
        TRY(compare(s, opts, err));
    }
    return 0;
}

static WEFT_SUSPENDS int steps(struct agents *p, struct upp_err *err)
{
    return look_often(p, NULL, 2, err);
}

static WEFT_SUSPENDS int turns(struct agents *p, struct upp_err *err)
{
    return look_often(p, UPP_OPTS(weft_session_opts, .interval = WEFT_EVERY_TURN), 1, err);
}

TEST(session_is_read_on_after_each_run)
{
    AGENTS(REPLIES, steps);
}

TEST(session_is_read_on_turn_by_turn)
{
    AGENTS(REPLIES, turns);
}

static WEFT_SUSPENDS int erased(struct agents *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_agent *agent;
    struct wl_thread t;
    struct wl_path path;
    struct wl_line *lines;
    struct weft_checkpoint cp;
    size_t n;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL), &agent, err));
    TRY(weft_session_new(agent, NULL, &s, err));
    TRY(say(s, "a program", err));
    TRY(say(s, "errors", err));
    TRY(weft_session_checkpoint(s, 2, &cp, err));
    FAIL_UNLESS(cp.n_messages == 2);
    struct wl_store *store = wr_engine_store(s->home->kept);
    TRY(wa_session_thread(s, &a, &t, err));
    TRY(wl_thread_path(store, &wa_owner, &t, &a, &path, err));
    TRY(wl_path_tail(store, &wa_owner, &path, path.length, 1, &a, &lines, &n, err));
    TRY(wl_message_delete(store, &wa_owner, &t, lines[0].id, (struct upp_str){0}, err));
    TRY(say(s, "a program", err)); /* what it read before is not true any more */
    TRY(weft_session_checkpoint(s, 2, &cp, err));
    FAIL_UNLESS(cp.n_messages == 1);
    return compare(s, NULL, err);
}

TEST(session_is_read_anew_when_something_was_erased)
{
    AGENTS(REPLIES, erased);
}
