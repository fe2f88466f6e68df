/* Sessions of programs: runs, checkpoints, restore, SessionJSON, a program's own store. */
#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "base/hooks.h"
#include "base/iso8601.h"
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

/* ---- The seed's 6.2 -------------------------------------------------------------------------- */

static WEFT_SUSPENDS int usage(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_checkpoint first, last;
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

/* An id that a program gives is a UUID of version 4. */
static WEFT_SUSPENDS int given_ids(struct agents *p, struct upp_err *err)
{
    static const char *const wrong[] = {"mine", "", "c232ab00-9414-11ec-b3c8-9f6bdeced846", /* version 1 */
                                        "01890a5d-ac96-774b-bcce-b302099a8057",             /* version 7 */
                                        "f81d4fae-7dec-41d0-c765-00a0c91e6bf6"};            /* of another variant */
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct upp_err why = {0};
        int r = make(p, UPP_OPTS(weft_session_opts, .id = wrong[i]), &s, &why);
        test_note("'%s': %d %s", wrong[i], r, why.msg);
        FAIL_UNLESS(r == -UPP_ENOMEM || (r == -UPP_EINVALID && strstr(why.msg, "version 4")));
        TRY(r == -UPP_ENOMEM ? r : 0);
    }
    TRY(make(p, UPP_OPTS(weft_session_opts, .id = "5F0C8C1E-6a4e-4f0e-9d0c-0b8f6f6a1c11"), &s, err));
    FAIL_UNLESS(wb_str_eq(weft_session_id(s), UPP_STR("5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11")));
    return 0;
}

/* covers: UAP-3.4/5 */
TEST(session_takes_an_id_of_version_4)
{
    AGENTS(TWO_STEPS, given_ids);
}

/* covers: UAP-6.1a/1/2/3, UAP-6.2/4, UAP-6.5b/1, UAP-6.5c/1 */
TEST(session_goes_back_and_branches)
{
    AGENTS(TWO_STEPS, usage);
}

/* ---- SessionJSON -------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int same_json(struct weft_session *a, struct weft_session *b, struct upp_err *err)
{
    struct upp_str x = {0}, y = {0};
    int r = weft_session_to_json(a, &x, err);
    if (r >= 0)
        r = weft_session_to_json(b, &y, err);
    if (r >= 0)
        test_note("%.*s\n%.*s", UPP_FMT(x), UPP_FMT(y));
    bool same = r >= 0 && wb_str_eq(x, y);
    upp_text_free(x);
    upp_text_free(y);
    TRY(r);
    FAIL_UNLESS(same);
    return 0;
}

/* Every time in it is UTC, to the millisecond: how many there are. */
static size_t times(struct upp_str json)
{
    static const char *const names[] = {"\"createdAt\":\"", "\"updatedAt\":\"", "\"timestamp\":\""};
    size_t n = 0;
    for (size_t i = 0; i < WB_LEN(names); i++)
        for (const char *at = json.p; (at = strstr(at, names[i]));) {
            struct wb_time t;
            char again[WB_TIME_TEXT];
            at += strlen(names[i]);
            struct upp_str text = wb_str(at, strcspn(at, "\""));
            if (wb_time_parse(text, &t, NULL) < 0 || !wb_str_eq(wb_time_upp(&t, again), text))
                return 0;
            n++;
        }
    return n;
}

static WEFT_SUSPENDS int round_trip(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL, *again = NULL, *third = NULL;
    struct weft_checkpoint cp;
    struct upp_str json = {0};
    TRY(make(p, UPP_OPTS(weft_session_opts, .metadata = "{\"task\":\"X\",\"n\":1.50}"), &s, err));
    TRY(say(s, "Create a hello world program", "It is 3.", err));
    TRY(say(s, "Handle errors", "Errors are handled.", err));
    TRY(weft_session_to_json(s, &json, err));
    size_t n = times(json); /* session 2, thread 2, messages 6, checkpoints 3 with theirs: 3, 4 and 2 */
    test_note("%zu times", n);
    int r = n == 22 ? 0 : -UPP_EBUG;
    if (r >= 0)
        r = weft_session_from_json(weft_session_agent(s), json, NULL, &again, err);
    upp_text_free(json);
    TRY(r);
    FAIL_UNLESS(wb_str_eq(weft_session_id(again), weft_session_id(s)));
    FAIL_UNLESS(wb_str_eq(weft_session_metadata(again), UPP_STR("{\"task\":\"X\",\"n\":1.50}")));
    TRY(same_json(s, again, err)); /* as it was read */
    TRY(count(again, 3, err));
    TRY(weft_session_save(again, err)); /* and out of the log again */
    TRY(count(again, 3, err));
    TRY(weft_session_to_json(again, &json, err));
    r = weft_session_from_json(weft_session_agent(s), json, NULL, &third, err);
    upp_text_free(json);
    TRY(r);
    TRY(weft_session_checkpoint(again, 0, &cp, err));
    char id[64];
    snprintf(id, sizeof id, "%.*s", UPP_FMT(cp.id));
    TRY(weft_session_restore(again, wb_cstr(id), err)); /* one of another log */
    TRY(say(again, "Add logging instead", "It logs.", err));
    TRY(count(again, 4, err));
    TRY(say(third, "Add logging instead", "It logs.", err));
    return count(third, 4, err);
}

/* covers: UAP-6.5d, UAP-6.1a/5, UAP-6.5a/2 */
TEST(session_survives_its_json)
{
    AGENTS(TWO_STEPS, round_trip);
}

/* ---- Intervals ---------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int intervals(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *turn = NULL, *none = NULL, *bad = NULL;
    TRY(make(p, UPP_OPTS(weft_session_opts, .interval = WEFT_EVERY_TURN), &turn, err));
    TRY(say(turn, "Create a hello world program", "It is 3.", err));
    TRY(count(turn, 1, err));
    TRY(say(turn, "Handle errors", "Errors are handled.", err));
    TRY(count(turn, 2, err));
    TRY(weft_session_new(weft_session_agent(turn), UPP_OPTS(weft_session_opts, .no_checkpoints = true), &none, err));
    TRY(say(none, "Create a hello world program", "It is 3.", err));
    TRY(count(none, 0, err));
    struct weft_agent *a = weft_session_agent(turn);
    FAIL_UNLESS(weft_session_new(a, UPP_OPTS(weft_session_opts, .interval = 9), &bad, NULL) == -UPP_EINVALID);
    FAIL_UNLESS(weft_session_new(a, UPP_OPTS(weft_session_opts, .id = "x"), &bad, NULL) == -UPP_EINVALID);
    FAIL_UNLESS(weft_session_new(a, UPP_OPTS(weft_session_opts, .metadata = "[]"), &bad, NULL) == -UPP_EINVALID);
    FAIL_UNLESS(weft_session_restore(turn, UPP_STR("nothing"), NULL) == -UPP_ENOTFOUND);
    return 0;
}

/* covers: UAP-6.1a/6, UAP-6.5c/3 */
TEST(session_checkpoints_steps_or_turns_or_nothing)
{
    AGENTS(TWO_STEPS, intervals);
}

/* ---- Its tree ------------------------------------------------------------------------------------------------ */

static size_t messages(struct weft_node *n)
{
    size_t count;
    (void)upp_thread_messages(weft_node_thread(n), &count);
    return count;
}

static WEFT_SUSPENDS int trees(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL, *other = NULL;
    struct weft_tree *t, *u;
    struct weft_checkpoint cp;
    struct upp_str branch, second;
    const struct upp_message *list;
    size_t n;
    TRY(make(p, NULL, &s, err));
    TRY(say(s, "Create a hello world program", "It is 3.", err));
    TRY(weft_session_tree(s, &t, err));
    FAIL_UNLESS(weft_tree_count(t) == 1 && messages(weft_tree_root(t)) == 4);
    TRY(say(s, "Handle errors", "Errors are handled.", err));
    FAIL_UNLESS(messages(weft_tree_root(t)) == 6);

    /* What a program puts into it is in the log with the next run. */
    TRY(weft_session_fork(s, weft_node_id(weft_tree_root(t)), &branch, err));
    FAIL_UNLESS(weft_tree_current(t) == weft_tree_root(t) && weft_tree_count(t) == 2);
    TRY(weft_tree_branch(t, branch, "deep", &second, err));
    TRY(weft_tree_checkout(t, second, err));
    TRY(upp_thread_user(weft_node_thread(weft_tree_current(t)), UPP_STR("by the way"), err));
    TRY(weft_node_set_metadata(weft_tree_current(t), UPP_STR("{\"why\":\"because\"}"), err));
    TRY(say(s, "Add logging instead", "It logs.", err));
    FAIL_UNLESS(messages(weft_tree_current(t)) == 3 && wb_str_eq(weft_node_id(weft_tree_current(t)), second));
    TRY(weft_tree_history(t, &list, &n, err));
    FAIL_UNLESS(n == 9);

    /* Whoever opens it sees the same. */
    TRY(weft_session_open(weft_session_agent(s), weft_session_id(s), NULL, &other, err));
    TRY(weft_session_tree(other, &u, err));
    FAIL_UNLESS(weft_tree_count(u) == 3 && wb_str_eq(weft_node_id(weft_tree_current(u)), second));
    FAIL_UNLESS(wb_str_eq(weft_node_name(weft_tree_current(u)), UPP_STR("deep")));
    FAIL_UNLESS(wb_str_eq(weft_node_metadata(weft_tree_current(u)), UPP_STR("{\"why\":\"because\"}")));
    TRY(weft_tree_history(u, &list, &n, err));
    FAIL_UNLESS(n == 9);
    TRY(same_json(s, other, err));

    /* Restored, it shows what there was then; the next run branches. */
    TRY(weft_session_checkpoint(s, 0, &cp, err));
    char id[64];
    snprintf(id, sizeof id, "%.*s", UPP_FMT(cp.id));
    for (int i = 0; i < 2; i++) { /* twice is once */
        TRY(weft_session_restore(s, wb_cstr(id), err));
        TRY(weft_tree_history(t, &list, &n, err));
        FAIL_UNLESS(n == 3 && weft_tree_count(t) == 3);
    }
    TRY(say(s, "Add logging instead", "It logs.", err));
    FAIL_UNLESS(weft_tree_count(t) == 4 && messages(weft_tree_current(t)) == 2);
    TRY(weft_tree_history(t, &list, &n, err));
    FAIL_UNLESS(n == 5 && messages(weft_tree_root(t)) == 6);

    /* What the log has cannot be taken away. */
    upp_thread_clear(weft_node_thread(weft_tree_root(t)));
    FAIL_UNLESS(weft_session_save(s, NULL) == -UPP_EINVALID);
    return 0;
}

/* covers: UAP-2.4/2, UAP-6.1a/2/4, UAP-6.2/1/2/3/4, UAP-6.5b/2, UAP-7.2/3 */
TEST(session_has_a_tree)
{
    AGENTS(TWO_STEPS, trees);
}

/* ---- A program's own store ------------------------------------------------------------------------------------ */

struct shelf {
    struct wb_buf data;
    char key[80];
    unsigned saves, fail_from;
};

static WEFT_SUSPENDS int shelf_save(void *arg, struct upp_str key, struct upp_str data, struct upp_err *err)
{
    struct shelf *s = arg;
    if (s->fail_from && ++s->saves >= s->fail_from)
        return upp_fail(err, UPP_ESTORE, "the shelf is full");
    s->saves += !s->fail_from;
    snprintf(s->key, sizeof s->key, "%.*s", UPP_FMT(key));
    wb_buf_clear(&s->data);
    wb_buf_add(&s->data, data);
    return wb_buf_check(&s->data, err);
}

static WEFT_SUSPENDS int shelf_load(void *arg, struct upp_str key, struct upp_str *ret, struct upp_err *err)
{
    struct shelf *s = arg;
    *ret = (struct upp_str){0};
    if (!wb_str_eq(key, wb_cstr(s->key)))
        return 0;
    char *p = wb_alloc(s->data.n + 1);
    if (!p)
        return upp_fail(err, UPP_ENOMEM, "no memory");
    memcpy(p, s->data.p, s->data.n);
    p[s->data.n] = 0;
    *ret = wb_str(p, s->data.n);
    return 0;
}

static WEFT_SUSPENDS int shelf_erase(void *arg, struct upp_str key, struct upp_err *err)
{
    struct shelf *s = arg;
    (void)err;
    if (wb_str_eq(key, wb_cstr(s->key)))
        s->key[0] = 0;
    return 0;
}

static WEFT_SUSPENDS int on_a_shelf(struct agents *p, struct shelf *shelf, struct upp_err *err)
{
    const struct weft_persistence on = {shelf, shelf_save, shelf_load, shelf_erase};
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL, *later = NULL, *none = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct upp_err why = {0};
    TRY(make(p, UPP_OPTS(weft_session_opts, .persistence = &on), &s, err));
    FAIL_UNLESS(shelf->saves == 0);
    TRY(say(s, "Create a hello world program", "It is 3.", err));
    FAIL_UNLESS(shelf->saves == 2 && strncmp(shelf->key, "session:", 8) == 0);
    TRY(weft_session_save(s, err));
    FAIL_UNLESS(shelf->saves == 3);
    FAIL_UNLESS(weft_session_open(weft_session_agent(s), UPP_STR("nobody"),
                                  UPP_OPTS(weft_session_opts, .persistence = &on), &none, NULL) == -UPP_ENOTFOUND);

    /* A store that fails fails the run; the session stays as it is and can be saved later. */
    shelf->fail_from = shelf->saves + 1;
    int r = weft_session_run(s, UPP_STR("Handle errors"), &turn, &why);
    FAIL_UNLESS(r == -UPP_ESTORE && strstr(why.msg, "the shelf is full") && turn);
    shelf->fail_from = 0;
    TRY(weft_session_save(s, err));

    /* Found there by somebody who has nothing else. */
    char id[64];
    snprintf(id, sizeof id, "%.*s", UPP_FMT(weft_session_id(s)));
    TRY(weft_session_erase(s, err));
    FAIL_UNLESS(shelf->key[0] == 0);
    snprintf(shelf->key, sizeof shelf->key, "session:%s", id);
    TRY(weft_session_open(weft_session_agent(s), wb_cstr(id), UPP_OPTS(weft_session_opts, .persistence = &on), &later,
                          err));
    TRY(count(later, 3, err));
    return say(later, "Add logging instead", "It logs.", err);
}

static WEFT_SUSPENDS int shelves(struct agents *p, struct upp_err *err)
{
    struct shelf shelf = {.data = WB_BUF(1u << 20)};
    int r = on_a_shelf(p, &shelf, err);
    wb_buf_done(&shelf.data);
    return r;
}

/* covers: UAP-6.1a/5, UAP-6.1b/1 */
TEST(session_is_kept_by_a_programs_own_store)
{
    AGENTS(TWO_STEPS, shelves);
}

/* What an erased session led to is gone from memory, and nothing waits for a time that never comes. */
static WEFT_SUSPENDS int erases(struct agents *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct wl_node *nodes;
    struct wl_value *notes;
    size_t n;
    TRY(make(p, NULL, &s, err));
    TRY(say(s, "Create a hello world program", "It is 3.", err));
    TRY(say(s, "Handle errors", "Errors are handled.", err));
    struct wl_store *store = wr_engine_store(s->home->kept);
    const uint32_t family = wl_family(s->thread);
    TRY(wl_list_family_nodes(store, &wa_owner, family, WB_UUID_NIL, 10, &a, &nodes, &n, err));
    FAIL_UNLESS(n > 0);
    TRY(weft_session_erase(s, err));
    TRY(wl_list_family_nodes(store, &wa_owner, family, WB_UUID_NIL, 10, &a, &nodes, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(wl_list_values(store, &wa_owner, UPP_STR(WL_DELETED), (struct upp_str){0}, 10, &a, &notes, &n, err));
    FAIL_UNLESS(n == 0);
    return 0;
}

/* covers: UAP-6.1b/2 */
TEST(session_that_is_erased_leaves_nothing)
{
    AGENTS(TWO_STEPS, erases);
}

/* ---- Streams --------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int streams(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *stream = NULL, *second = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_event ev;
    size_t seen = 0;
    char ids[2][64];
    TRY(make(p, NULL, &s, err));
    TRY(weft_session_stream(s, UPP_OPTS(upp_input, .text = UPP_STR("Create a hello world program")), NULL, &stream,
                            err));
    int r;
    while ((r = weft_stream_next(stream, &ev, err)) > 0) {
        if (ev.source == WEFT_SOURCE_UAP && ev.type == WEFT_CHECKPOINT && seen < 2)
            snprintf(ids[seen++], sizeof ids[0], "%.*s", UPP_FMT(ev.id));
        if (seen == 1) { /* one thing at a time */
            FAIL_UNLESS(weft_session_run(s, UPP_STR("Handle errors"), &turn, NULL) == -UPP_EINVALID);
            FAIL_UNLESS(weft_session_restore(s, wb_cstr(ids[0]), NULL) == -UPP_EINVALID);
        }
    }
    TRY(r);
    FAIL_UNLESS(seen == 2);
    TRY(count(s, 2, err));
    for (size_t i = 0; i < 2; i++) {
        struct weft_checkpoint cp;
        TRY(weft_session_checkpoint(s, i, &cp, err));
        FAIL_UNLESS(wb_str_eq(cp.id, wb_cstr(ids[i])));
    }
    TRY(say(s, "Handle errors", "Errors are handled.", err));
    FAIL_UNLESS(weft_session_stream(s,
                                    UPP_OPTS(upp_input, .history = (const struct upp_message[]){{0}}, .n_history = 1),
                                    NULL, &second, NULL) == -UPP_EINVALID);
    return 0;
}

/* covers: UAP-6.1a/3, UAP-12.2/4, UAP-12.5c/3 */
TEST(session_streams_with_its_checkpoints)
{
    AGENTS(TWO_STEPS, streams);
}

/* How many are told, each of which is there then: *last is its id. */
static WEFT_SUSPENDS int count_told(struct weft_session *s, size_t *told_points, char last[64], struct upp_err *err)
{
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *stream = NULL;
    struct weft_event ev;
    int r;
    *told_points = 0;
    TRY(weft_session_stream(s, UPP_OPTS(upp_input, .text = UPP_STR("Create a hello world program")), NULL, &stream,
                            err));
    while ((r = weft_stream_next(stream, &ev, err)) > 0)
        if (ev.source == WEFT_SOURCE_UAP && ev.type == WEFT_CHECKPOINT) {
            ++*told_points;
            FAIL_UNLESS(ev.step == 2 || *told_points == 1);
            snprintf(last, 64, "%.*s", UPP_FMT(ev.id));
        }
    return r;
}

static WEFT_SUSPENDS int told_if_kept(struct agents *p, struct upp_err *err)
{
    static const struct {
        struct weft_session_opts opts;
        size_t points;
    } kinds[] = {{{.size = sizeof kinds[0].opts}, 2},
                 {{.size = sizeof kinds[0].opts, .interval = WEFT_EVERY_TURN}, 1},
                 {{.size = sizeof kinds[0].opts, .no_checkpoints = true}, 0}};
    UPP_CLEANUP(weft_session_closep) struct weft_session *first = NULL;
    for (size_t i = 0; i < WB_LEN(kinds); i++) {
        UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
        size_t n;
        char last[64];
        TRY(i ? weft_session_new(weft_session_agent(first), &kinds[i].opts, &s, err)
              : make(p, &kinds[i].opts, &first, err));
        struct weft_session *it = i ? s : first;
        TRY(count_told(it, &n, last, err));
        FAIL_UNLESS(n == kinds[i].points);
        TRY(count(it, n, err));
        if (!n)
            continue;
        struct weft_checkpoint cp;
        TRY(weft_session_checkpoint(it, n - 1, &cp, err));
        FAIL_UNLESS(wb_str_eq(cp.id, wb_cstr(last)) && cp.step == 2);
        TRY(weft_session_restore(it, wb_cstr(last), err));
    }
    return 0;
}

/* covers: UAP-12.2/5 */
TEST(session_tells_of_checkpoints_that_are_kept)
{
    AGENTS(TWO_STEPS, told_if_kept);
}

/* ---- In which order ---------------------------------------------------------------------------------------------- */

static struct wb_buf *order; /* of the play that is under way: plays come one after the other */

static void told(const char *what)
{
    wb_buf_add(order, wb_cstr(what));
    wb_buf_addc(order, ' ');
}

static WEFT_SUSPENDS int order_save(void *arg, struct upp_str key, struct upp_str data, struct upp_err *err)
{
    (void)arg, (void)key, (void)data, (void)err;
    told("checkpoint");
    return 0;
}

static WEFT_SUSPENDS int order_start(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    (void)arg, (void)run, (void)step, (void)err;
    told("start");
    return 0;
}

static WEFT_SUSPENDS int order_end(void *arg, struct weft_run *run, uint32_t step,
                                   const struct weft_step_result *result, struct upp_err *err)
{
    (void)arg, (void)run, (void)step, (void)result, (void)err;
    told("end");
    return 0;
}

static WEFT_SUSPENDS bool order_stop(void *arg, struct weft_run *run)
{
    (void)arg, (void)run;
    told("stop?");
    return false;
}

static WEFT_SUSPENDS int order_before(void *arg, struct weft_context *c, struct upp_err *err)
{
    (void)arg, (void)err;
    told(c->session ? "before(session)" : "before");
    return 0;
}

static WEFT_SUSPENDS int order_after(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    (void)arg, (void)turn, (void)err;
    told(c->session && weft_session_id(c->session).n == 36 ? "after(session)" : "after");
    return 0;
}

static WEFT_SUSPENDS int in_order(struct agents *p, struct upp_err *err)
{
    static const struct weft_hooks hooks = {.on_step_start = order_start, .on_step_end = order_end, .stop = order_stop};
    static const struct weft_middleware around = {.name = "m", .before = order_before, .after = order_after};
    static const struct weft_persistence shelf = {NULL, order_save, shelf_load, shelf_erase};
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    order = &p->trace;
    wb_buf_clear(order);
    TRY(weft_agent_new(p->rt,
                       UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL, .hooks = &hooks,
                                .middleware = &around, .n_middleware = 1),
                       &a, err));
    TRY(weft_session_new(a, UPP_OPTS(weft_session_opts, .persistence = &shelf), &s, err));
    TRY(say(s, "Create a hello world program", "It is 3.", err));
    told("turn");
    test_note("%.*s", UPP_FMT(wb_buf_str(order)));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(order), UPP_STR("before(session) start end checkpoint stop? start end stop? "
                                                     "after(session) checkpoint turn ")));
    wb_buf_clear(order);
    TRY(weft_agent_run(a, UPP_STR("Create a hello world program"), &turn, err)); /* of no session */
    FAIL_UNLESS(wb_str_starts(wb_buf_str(order), UPP_STR("before start end stop? start end stop? after ")));
    return 0;
}

/* covers: UAP-3.3/2/3, UAP-10.1/3 */
TEST(session_checkpoints_have_their_place)
{
    AGENTS(TWO_STEPS, in_order);
}
