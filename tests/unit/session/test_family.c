/* Who asked whom, in a session: in what runs see, in the JSON, and in the store. */
#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "json/read.h"
#include "json/value.h"
#include "log/change.h"
#include "support/agents.h"
#include "thread/position.h"

#define USAGE(in, out) "\"usage\":{\"input_tokens\":" #in ",\"output_tokens\":" #out "}}"
#define REPLIES                                                                                                        \
    SCRIPT("{\"when\":{\"contains\":\"program\"}," PARTS(TEXT("Ask."),                                                 \
                                                         CALL("c1", "helper", "\"task\":\"look\"")) "," USAGE(10, 1),  \
           "{\"when\":{\"contains\":\"look\"}," PARTS(TEXT("Looked.")) "," USAGE(200, 20),                             \
           "{\"when\":{\"tool_result\":\"helper\"}," PARTS(TEXT("Done.")) "," USAGE(3000, 300))

struct seen {
    char agent[64], turn[64], parent_agent[64], parent_turn[64];
};

static WEFT_SUSPENDS int look(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    struct seen *s = arg;
    (void)step, (void)err;
    snprintf(s->agent, sizeof s->agent, "%.*s", UPP_FMT(weft_run_agent_id(run)));
    snprintf(s->turn, sizeof s->turn, "%.*s", UPP_FMT(weft_run_id(run)));
    if (run->parent) {
        snprintf(s->parent_agent, sizeof s->parent_agent, "%.*s", UPP_FMT(weft_run_agent_id(run->parent)));
        snprintf(s->parent_turn, sizeof s->parent_turn, "%.*s", UPP_FMT(weft_run_id(run->parent)));
    }
    return 0;
}

/* In JSON: the child's session stands under the call that asked for it. */
static WEFT_SUSPENDS int in_json(struct weft_session *s, const struct seen *seen, struct wb_arena *a,
                                 struct upp_str *child, struct upp_err *err)
{
    struct weft_checkpoint cp;
    struct upp_str text;
    yyjson_val *subs;
    size_t n;
    TRY(weft_session_checkpoints(s, &n, err));
    FAIL_UNLESS(n == 2);
    TRY(weft_session_checkpoint(s, 1, &cp, err));
    TRY(wj_read(a, cp.subagents, NULL, &subs, err));
    yyjson_val *sub = yyjson_obj_get(subs, "c1");
    FAIL_UNLESS(yyjson_obj_size(subs) == 1 && sub);
    FAIL_UNLESS(wb_str_eq(wj_text(yyjson_obj_get(sub, "agentId")), wb_cstr(seen->agent)));
    *child = wj_text(yyjson_obj_get(sub, "id"));
    TRY(weft_session_to_json(s, &text, err)); /* and so it stands in that of the session */
    bool there = wb_str_find(text, *child, 0) < text.n && wb_str_find(text, wb_cstr(seen->parent_agent), 0) < text.n;
    upp_text_free(text);
    FAIL_UNLESS(there);
    return 0;
}

/* In the store: threads and runs know their parents, and each run what it cost. */
static WEFT_SUSPENDS int in_store(struct weft_session *s, const struct seen *seen, struct upp_str child,
                                  struct wb_arena *a, struct upp_err *err)
{
    struct wl_store *store = wr_engine_store(s->home->kept);
    struct wl_thread thread;
    struct wm_run *runs, *above;
    struct wb_uuid id;
    char text[WB_UUID_TEXT + 1];
    size_t n;
    FAIL_UNLESS(wb_uuid_parse(child, &id));
    TRY(wl_get_thread(store, &wa_owner, id, a, &thread, err));
    FAIL_UNLESS(wb_uuid_eq(thread.parent, s->thread) && thread.kind == WL_SUB);
    TRY(wl_list_runs(store, &wa_owner, id, false, 8, a, &runs, &n, err));
    FAIL_UNLESS(n == 1 && wb_str_eq(wb_uuid_text(runs[0].id, text), wb_cstr(seen->turn)));
    FAIL_UNLESS(wb_str_eq(wb_uuid_text(runs[0].parent, text), wb_cstr(seen->parent_turn)));
    FAIL_UNLESS(wb_str_eq(runs[0].call, UPP_STR("c1")) && wb_str_eq(runs[0].agent, UPP_STR("helper")));
    TRY(wl_list_runs(store, &wa_owner, s->thread, false, 8, a, &above, &n, err));
    FAIL_UNLESS(n == 1 && wb_uuid_eq(above[0].id, runs[0].parent) && !above[0].depth && runs[0].depth == 1);
    FAIL_UNLESS(runs[0].usage.input == 200 && runs[0].usage.output == 20);
    FAIL_UNLESS(above[0].usage.input == 3210 && above[0].usage.output == 321);
    return 0;
}

static WEFT_SUSPENDS int family(struct agents *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct seen seen = {0};
    const struct weft_hooks looks = {.arg = &seen, .on_step_start = look};
    struct weft_agent *helper, *coder;
    struct upp_str child;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .name = "helper", .hooks = &looks), &helper,
                       err));
    const struct weft_tools tools = WEFT_TOOLS(WEFT_TOOL_AGENT(helper));
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = tools), &coder, err));
    TRY(weft_session_new(coder, NULL, &s, err));
    TRY(weft_session_run(s, UPP_STR("a program"), &turn, err));
    FAIL_UNLESS(strcmp(upp_turn_text(turn), "Done.") == 0);
    FAIL_UNLESS(wb_str_eq(wb_cstr(seen.agent), weft_agent_id(helper)));
    FAIL_UNLESS(wb_str_eq(wb_cstr(seen.parent_agent), weft_agent_id(coder)));
    TRY(in_json(s, &seen, &a, &child, err));
    return in_store(s, &seen, child, &a, err);
}

/* covers: UAP-6.5a/1, UAP-6.5b/1, UAP-8.4/1/4, UAP-13.6a/4 */
TEST(session_knows_who_asked_whom)
{
    AGENTS(REPLIES, family);
}

/* A fork outlives the thread that it shares a run with, whose sub-agents' threads are gone. */
static WEFT_SUSPENDS int fork_outlives(struct agents *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    const struct wa_doc_opts opts = {0};
    struct wm_session doc;
    struct weft_agent *helper, *coder;
    struct wl_thread thread, fork;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .name = "helper"), &helper, err));
    const struct weft_tools tools = WEFT_TOOLS(WEFT_TOOL_AGENT(helper));
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = tools), &coder, err));
    TRY(weft_session_new(coder, NULL, &s, err));
    TRY(weft_session_run(s, UPP_STR("a program"), &turn, err));
    struct wl_store *store = wr_engine_store(s->home->kept);
    TRY(wl_get_thread(store, &wa_owner, s->thread, &a, &thread, err));
    TRY(wa_thread_fork(store, &wa_owner, &thread, (struct upp_str){0}, &a, &fork, err));
    TRY(wa_session_doc(store, &wa_owner, &fork, &opts, &a, &doc, err));
    FAIL_UNLESS(doc.n_checkpoints == 2 && doc.checkpoints[1].n_subs == 1);
    TRY(wl_thread_delete(store, &wa_owner, &thread, err));
    TRY(wa_session_doc(store, &wa_owner, &fork, &opts, &a, &doc, err));
    FAIL_UNLESS(doc.n_checkpoints == 2 && doc.checkpoints[1].n_subs == 0);
    return 0;
}

TEST(session_of_a_fork_outlives_the_sub_agents)
{
    AGENTS(REPLIES, fork_outlives);
}
