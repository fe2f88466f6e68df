/* What documents need that goes on elsewhere: results of calls, which are put in when the session begins; ids. */
#include <stdio.h>
#include <string.h>

#include "agent/session.h"
#include "support/agents.h"

#define TIME "\"2026-01-15T10:30:00.000Z\""
#define USER(id, text)                                                                                                 \
    "{\"id\":\"" id "\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"timestamp\":" TIME \
    "}"
#define ASKS(id, call)                                                                                                 \
    "{\"id\":\"" id "\",\"type\":\"assistant\",\"content\":[],\"timestamp\":" TIME                                     \
    ",\"toolCalls\":[{\"toolCallId\":\"" call "\",\"toolName\":\"add\",\"arguments\":{}}]}"
#define CHECKPOINT(id)                                                                                                 \
    "{\"id\":\"" id "\",\"sessionId\":\"s-1\",\"timestamp\":" TIME ",\"step\":1,\"threadId\":\"node-1\","              \
    "\"state\":{\"step\":1,\"messages\":[],\"metadata\":{}},\"metadata\":{}}"
#define DOCUMENT                                                                                                       \
    "{\"version\":\"1.0.0\",\"id\":\"s-1\",\"agentId\":\"a\",\"threadTree\":{\"rootId\":\"node-1\","                   \
    "\"currentId\":\"node-1\",\"nodes\":[{\"id\":\"node-1\",\"parentId\":null,\"thread\":{\"id\":\"th-1\","            \
    "\"messages\":[" USER("m1", "do it") "," ASKS("m2", "c1") "," USER("m3", "and this") "," ASKS(                     \
        "m4", "c2") "]},\"name\":\"main\",\"metadata\":{},\"children\":[]}]},\"checkpoints\":"                         \
                    "[" CHECKPOINT("cp-1") "],\"metadata\":{},\"createdAt\":" TIME ",\"updatedAt\":" TIME "}"

/* The roles of what a model is told: each call has its result right behind it. */
static WEFT_SUSPENDS int path_is(struct weft_session *s, const char *roles, struct upp_err *err)
{
    const struct upp_message *list;
    struct weft_tree         *t;
    char                      got[32] = "";
    size_t                    n;
    TRY(weft_session_tree(s, &t, err));
    TRY(weft_tree_history(t, &list, &n, err));
    for (size_t i = 0; i < n && i + 1 < sizeof got; i++) {
        got[i] = "?uat"[list[i].role];
        for (const struct upp_part *p = NULL;
             list[i].role == UPP_ROLE_TOOL && (p = upp_part_next(&list[i], p, UPP_PARTS_RESULTS));)
            FAIL_UNLESS(p->is_error && wb_str_find(p->text, UPP_STR("outcome unknown"), 0) != SIZE_MAX);
    }
    test_note("%s, not %s", got, roles);
    FAIL_UNLESS(strcmp(got, roles) == 0);
    return 0;
}

static WEFT_SUSPENDS int say(struct weft_session *s, const char *text, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    return weft_session_run(s, wb_cstr(text), &turn, err);
}

static WEFT_SUSPENDS int mends(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct upp_str                                        json;
    struct weft_agent                                    *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL), &a, err));
    TRY(weft_session_from_json(a, UPP_STR(DOCUMENT), NULL, &s, err));
    TRY(weft_session_to_json(s, &json, err)); /* nothing has begun: it is what it was */
    bool as_it_came = wb_str_find(json, UPP_STR("tool_result"), 0) == SIZE_MAX;
    upp_text_free(json);
    FAIL_UNLESS(as_it_came);
    TRY(say(s, "go on", err));
    TRY(path_is(s, "uatuatua", err));
    TRY(say(s, "and on", err));
    TRY(path_is(s, "uatuatuaua", err));

    /* A checkpoint that does not say how long its node was stands where the document ended. */
    TRY(weft_session_restore(s, UPP_STR("cp-1"), err));
    TRY(path_is(s, "uatuat", err));
    TRY(say(s, "otherwise", err));
    TRY(path_is(s, "uatuatua", err));
    return 0;
}

/* covers: UAP-13.6b/4 */
TEST(session_of_a_document_with_open_calls)
{
    AGENTS(NULL, mends);
}

/* ---- Ids ------------------------------------------------------------------------------------------------------- */

/* Every message of a document has one of its own; those of checkpoints are the same messages. */
static int check_ids(struct upp_str json, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    struct wm_session                         doc;
    TRY(wm_session_read(&a, json, &doc, err));
    const struct wm_tree_node *root = &doc.tree.nodes[0];
    FAIL_UNLESS(root->thread.n == 4 && doc.n_checkpoints == 2);
    for (size_t i = 0; i < root->thread.n; i++) {
        FAIL_UNLESS(root->thread.messages[i].id.n == WB_UUID_TEXT);
        for (size_t k = 0; k < i; k++)
            FAIL_UNLESS(!wb_str_eq(root->thread.messages[i].id, root->thread.messages[k].id));
    }
    FAIL_UNLESS(doc.checkpoints[1].n_messages == 2);
    FAIL_UNLESS(wb_str_eq(doc.checkpoints[1].messages[1].id, root->thread.messages[3].id));
    return 0;
}

static WEFT_SUSPENDS int has_ids(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL, *copy = NULL;
    struct weft_checkpoint                                cp;
    struct weft_agent                                    *a;
    struct weft_tree                                     *t;
    struct upp_str                                        json;
    char                                                  id[64];
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_session_new(a, NULL, &s, err));
    TRY(say(s, "one", err));
    TRY(say(s, "two", err));
    TRY(weft_session_to_json(s, &json, err));
    int r = check_ids(json, err);
    if (r >= 0)
        r = weft_session_from_json(a, json, NULL, &copy, err);
    upp_text_free(json);
    TRY(r);

    /* So the messages of a checkpoint are found in its node: to go back there copies nothing. */
    TRY(weft_session_checkpoint(copy, 0, &cp, err));
    snprintf(id, sizeof id, "%.*s", UPP_FMT(cp.id));
    TRY(weft_session_restore(copy, wb_cstr(id), err));
    TRY(weft_session_tree(copy, &t, err));
    FAIL_UNLESS(weft_tree_count(t) == 1);
    TRY(say(copy, "three", err));
    TRY(path_is(copy, "uaua", err));
    FAIL_UNLESS(weft_tree_count(t) == 2);
    return 0;
}

/* covers: UAP-13.6a/1 */
TEST(session_messages_of_a_document_have_ids)
{
    AGENTS(NULL, has_ids);
}
