/* A session that is erased leaves nothing behind. */
#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "base/clock.h"
#include "log/change.h"
#include "log/staged.h"
#include "log/search.h"
#include "support/agents.h"

#define REPLIES                                                                                                        \
    SCRIPT("{\"when\":{\"contains\":\"hello\"}," PARTS(TEXT("Hello.")) "}",                                            \
           "{\"when\":{\"contains\":\"aside\"}," PARTS(TEXT("Aside."), CALL("c1", "add", "\"a\":1,\"b\":2")) "}",      \
           "{\"when\":{\"tool_result\":\"add\"}," PARTS(TEXT("It is 3.")) "}")

/* Everything that a family can have. */
static WEFT_SUSPENDS int left(struct wl_store *store, uint32_t family, struct wb_uuid thread, size_t *ret,
                              struct upp_err *err)
{
    static const char *const spaces[] = {WL_STAGED, WA_IMPORTED, WL_DELETED};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    struct wl_node *nodes;
    struct wl_thread *threads;
    struct wm_run *runs;
    struct wl_value *values;
    size_t n;
    TRY(wl_list_family_nodes(store, &wa_owner, family, WB_UUID_NIL, 100, &a, &nodes, ret, err));
    TRY(wl_list_family_threads(store, &wa_owner, family, WB_UUID_NIL, 100, &a, &threads, &n, err));
    *ret += n;
    TRY(wl_list_runs(store, &wa_owner, thread, false, 100, &a, &runs, &n, err));
    *ret += n;
    for (size_t i = 0; i < WB_LEN(spaces); i++) {
        TRY(wl_list_values(store, &wa_owner, wb_cstr(spaces[i]), (struct upp_str){0}, 100, &a, &values, &n, err));
        *ret += n;
    }
    return 0;
}

static WEFT_SUSPENDS int say(struct weft_session *s, const char *text, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    return weft_session_run(s, wb_cstr(text), &turn, err);
}

/* With branches, a query, and checkpoints of a document. */
static WEFT_SUSPENDS int make(struct weft_agent *a, struct weft_session **ret, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(weft_query_freep) struct weft_query_result *q = NULL;
    struct upp_str json, branch;
    struct weft_tree *t;
    TRY(weft_session_new(a, NULL, &s, err));
    TRY(say(s, "hello", err));
    TRY(weft_session_to_json(s, &json, err));
    int r = weft_session_erase(s, err);
    if (r >= 0)
        r = weft_session_from_json(a, json, NULL, ret, err);
    upp_text_free(json);
    TRY(r);
    TRY(say(*ret, "hello", err));
    TRY(weft_session_tree(*ret, &t, err));
    TRY(weft_session_fork(*ret, weft_node_id(weft_tree_root(t)), &branch, err));
    return weft_session_query(*ret, UPP_STR("an aside"), &q, err);
}

static WEFT_SUSPENDS int erase(struct weft_agent *a, bool at_once, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL, *again = NULL;
    const struct wl_retention keep = {.size = sizeof keep};
    struct wl_swept swept;
    size_t n;
    TRY(make(a, &s, err));
    struct wl_store *store = wr_engine_store(s->home->kept);
    uint32_t family = wl_family(s->thread);
    TRY(left(store, family, s->thread, &n, err));
    FAIL_UNLESS(n >= 3 + 2 + 1 + 1); /* nodes, threads, a run, a value */
    TRY(weft_session_erase(s, err));
    FAIL_UNLESS(weft_session_open(a, weft_session_id(s), NULL, &again, NULL) == -UPP_ENOTFOUND);
    TRY(left(store, family, s->thread, &n, err));
    test_note("%zu things are left at once", n);
    FAIL_UNLESS((n == 0) == at_once);
    for (swept.more = true; swept.more;)
        TRY(wl_sweep(store, &wa_owner, wb_wall_ms() + 8 * WL_DAY_MS, &keep, &swept, err));
    TRY(left(store, family, s->thread, &n, err));
    test_note("%zu things are left for ever", n);
    FAIL_UNLESS(n == 0);
    return 0;
}

static WEFT_SUSPENDS int in_memory(struct agents *p, struct upp_err *err)
{
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL), &a, err));
    return erase(a, true, err);
}

TEST(session_that_is_erased_leaves_nothing)
{
    AGENTS(REPLIES, in_memory);
}

static WEFT_SUSPENDS int in_a_file(void *loop, struct upp_err *err)
{
    struct weft_runtime *rt = NULL;
    struct upp_model *model = NULL;
    struct weft_agent *a;
    char url[300];
    snprintf(url, sizeof url, "sqlite:%s/sessions.db", test_folder());
    int r = weft_runtime_open(UPP_OPTS(weft_runtime_opts, .store = url, .loop = loop), &rt, err);
    if (r >= 0)
        r = upp_scripted_new(UPP_STR(REPLIES), &model, err);
    if (r >= 0)
        r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .use = model, .tools = AGENTS_ALL), &a, err);
    if (r >= 0)
        r = erase(a, false, err);
    weft_runtime_close(rt);
    upp_model_free(model);
    return r;
}

/* covers: UAP-6.1b/3 */
TEST_WITH(session_that_is_erased_from_a_file_leaves_nothing, .no_torture = "sessions and stores are tortured each")
{
    struct upp_err err = {0};
    struct weft_loop *loop = NULL;
    CHECK_INT(weft_loop_open(NULL, &loop, &err), 0);
    int r = weft_loop_run(loop, "test", in_a_file, loop, &err);
    weft_loop_close(loop);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

#define WORD "xyzzyplugh"
#define ABOUT_WORD                                                                                                     \
    SCRIPT("{\"when\":{\"contains\":\"look\"}," PARTS(TEXT("Looked.")) "}",                                            \
           "{\"when\":{\"contains\":\"" WORD                                                                           \
           "\"}," PARTS(TEXT("Ask."), CALL("c1", "helper", "\"task\":\"look at " WORD "\"")) "}",                      \
           "{\"when\":{\"tool_result\":\"helper\"}," PARTS(TEXT("Done.")) "}",                                         \
           "{\"when\":{\"contains\":\"again\"}," PARTS(TEXT("More.")) "}")
#define SUMMARY                                                                                                        \
    SCRIPT("{\"when\":{\"contains\":\"" WORD "\"}," PARTS(TEXT("they spoke of " WORD)) "}", REPLY(TEXT("they spoke")))

static WEFT_SUSPENDS int learn(struct wl_store *store, struct upp_err *err)
{
    for (size_t n = 1; n;)
        TRY(wl_index_rows(store, &n, err));
    return 0;
}

/* What was asked, and the answer that asked a sub agent. */
static WEFT_SUSPENDS int delete_two(struct weft_session *s, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    struct wl_store *store = wr_engine_store(s->home->kept);
    bool more = true;
    struct wl_thread t;
    struct wl_path path;
    struct wl_line *lines;
    size_t n, gone = 0;
    TRY(wl_get_thread(store, &wa_owner, s->thread, &a, &t, err));
    TRY(wl_thread_path(store, &wa_owner, &t, &a, &path, err));
    TRY(wl_path_tail(store, &wa_owner, &path, path.length, 100, &a, &lines, &n, err));
    for (size_t i = 0; i < n; i++) {
        const struct wm_entry *e = &lines[i].entry;
        if (e->audience != WM_AUDIENCE_ALL || e->kind != WM_ENTRY_MESSAGE || gone == 2)
            continue;
        TRY(wl_message_delete(store, &wa_owner, &t, lines[i].id, (struct upp_str){0}, err));
        gone++;
    }
    FAIL_UNLESS(gone == 2);
    TRY(learn(store, err));
    while (more)
        TRY(wl_index_compact(store, &more, err));
    return 0;
}

struct planting {
    struct weft_loop *loop;
    struct upp_model *model, *sums;
    char url[300];
    bool deletes;
};

/* It can be written and read, with its checkpoints and the sessions of sub agents, and says nothing of it. */
static WEFT_SUSPENDS int exports(struct weft_session *s, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *open = NULL, *copy = NULL;
    struct upp_str json;
    size_t n;
    TRY(weft_session_open(weft_session_agent(s), weft_session_id(s), NULL, &open, err));
    TRY(weft_session_checkpoints(open, &n, err));
    FAIL_UNLESS(n == 4);
    TRY(weft_session_to_json(open, &json, err));
    bool says = wb_str_find(json, UPP_STR(WORD), 0) != SIZE_MAX || wb_str_find(json, UPP_STR("Done."), 0) == SIZE_MAX;
    int r = weft_session_from_json(weft_session_agent(s), json, NULL, &copy, err);
    upp_text_free(json);
    TRY(r);
    FAIL_UNLESS(!says);
    return 0;
}

static WEFT_SUSPENDS int plant(struct planting *p, struct weft_runtime *rt, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_agent *helper, *a;
    TRY(weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .use = p->model, .name = "helper"), &helper, err));
    const struct weft_tools tools = WEFT_TOOLS(WEFT_TOOL_AGENT(helper));
    const struct weft_middleware sums[] = {
        weft_memory(.mode = WEFT_SUMMARISE, .max_tokens = 1, .keep_last = 1, .model = p->sums)};
    TRY(weft_agent_new(
        rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = tools, .middleware = sums, .n_middleware = 1), &a,
        err));
    TRY(weft_session_new(a, NULL, &s, err));
    TRY(say(s, "Find " WORD, err));
    TRY(say(s, "again", err));
    TRY(learn(wr_engine_store(s->home->kept), err));
    if (!p->deletes)
        return 0;
    TRY(delete_two(s, err));
    TRY(say(s, "again, please", err)); /* which makes a new summary, of what is left */
    return exports(s, err);
}

static WEFT_SUSPENDS int plants(void *arg, struct upp_err *err)
{
    struct planting *p = arg;
    struct weft_runtime *rt = NULL;
    int r = weft_runtime_open(UPP_OPTS(weft_runtime_opts, .store = p->url, .loop = p->loop), &rt, err);
    if (r >= 0)
        r = upp_scripted_new(UPP_STR(ABOUT_WORD), &p->model, err);
    if (r >= 0)
        r = upp_scripted_new(UPP_STR(SUMMARY), &p->sums, err);
    if (r >= 0)
        r = plant(p, rt, err);
    weft_runtime_close(rt);
    upp_model_free(p->model);
    upp_model_free(p->sums);
    return r;
}

/* How often the word is in a file; one that is not there has none. */
static size_t count_word(const char *path)
{
    static char buf[8 << 20];
    size_t n = 0, found = 0;
    FILE *f = fopen(path, "rb");
    if (f) {
        n = fread(buf, 1, sizeof buf, f);
        fclose(f);
    }
    for (const char *at = buf; (at = memmem(at, n - (size_t)(at - buf), WORD, sizeof WORD - 1)); at++)
        found++;
    return found;
}

/* In no row, summary, sub agent's thread, journal or index of the file. */
TEST_WITH(session_message_that_is_deleted_is_in_no_file,
          .no_torture = "sessions, deleting and stores are tortured each")
{
    for (int deletes = 0; deletes < 2; deletes++) {
        struct upp_err err = {0};
        struct planting p = {.deletes = deletes};
        char path[400];
        snprintf(p.url, sizeof p.url, "sqlite:%s/planted-%d.db", test_folder(), deletes);
        CHECK_INT(weft_loop_open(NULL, &p.loop, &err), 0);
        int r = weft_loop_run(p.loop, "test", plants, &p, &err);
        weft_loop_close(p.loop);
        test_note("%s", err.msg);
        CHECK_INT(r, 0);
        size_t found = count_word(p.url + sizeof "sqlite:" - 1);
        snprintf(path, sizeof path, "%s-wal", p.url + sizeof "sqlite:" - 1);
        found += count_word(path);
        test_note("deletes %d: found %zu times", deletes, found);
        CHECK(deletes ? found == 0 : found >= 5);
    }
}
