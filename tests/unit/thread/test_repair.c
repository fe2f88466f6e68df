/* What documents need that goes on elsewhere: results of calls, which are put in when the session begins; ids. */
#include <stdio.h>
#include <string.h>

#include "session/session.h"
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
    struct weft_tree *t;
    char got[32] = "";
    size_t n;
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
    struct upp_str json;
    struct weft_agent *a;
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

static const struct upp_message *last_of(struct weft_session *s, size_t *n, struct upp_err *err)
{
    const struct upp_message *list;
    struct weft_tree *t;
    if (weft_session_tree(s, &t, err) < 0 || weft_tree_history(t, &list, n, err) < 0 || !*n)
        return NULL;
    return &list[*n - 1];
}

/* Results as new messages of a run. */
static WEFT_SUSPENDS int answer(struct weft_session *s, const char *const *calls, size_t n, struct upp_turn **ret,
                                struct upp_err *err)
{
    struct upp_part parts[4];
    struct upp_message m = {.role = UPP_ROLE_TOOL, .parts = parts, .n_parts = n};
    for (size_t i = 0; i < n; i++)
        parts[i] = (struct upp_part){.kind = UPP_PART_RESULT, .id = wb_cstr(calls[i]), .text = UPP_STR("{\"day\":3}")};
    return weft_session_run_with(s, UPP_OPTS(upp_input, .messages = &m, .n_messages = 1), ret, err);
}

#define REFUSED(says_, calls_, n_)                                                                                     \
    do {                                                                                                               \
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn_ = NULL;                                                     \
        struct upp_err why_ = {0};                                                                                     \
        int r_ = answer(s, (calls_), (n_), &turn_, &why_);                                                             \
        if (r_ != -UPP_EINVALID)                                                                                       \
            return r_ < 0 ? (*err = why_, r_) : -UPP_EBUG;                                                             \
        test_note("%s", why_.msg);                                                                                     \
        FAIL_UNLESS(strstr(why_.msg, (says_)));                                                                        \
    } while (0)

/* A session that waits goes elsewhere as a document; there its calls are open, and their answers begin the next run. */
static WEFT_SUSPENDS int is_answered(struct weft_agent *a, struct upp_str json, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    static const char *const both[] = {"2", "1"}, *const twice[] = {"1", "1"}, *const others[] = {"1", "2", "9"};
    const struct upp_message *m;
    struct weft_tree *t;
    struct upp_str again;
    size_t n;
    TRY(weft_session_from_json(a, json, NULL, &s, err));
    TRY(weft_session_save(s, err)); /* it is in the log */
    TRY(weft_session_to_json(s, &again, err));
    bool open = wb_str_find(again, UPP_STR("tool_result"), 0) == SIZE_MAX;
    upp_text_free(again);
    FAIL_UNLESS(open);
    REFUSED("call '2' has no answer", both + 1, 1);
    REFUSED("call '1' is answered twice", twice, 2);
    REFUSED("call '9' is not open", others, 3);
    m = last_of(s, &n, err);
    FAIL_UNLESS(m && n == 2 && m->role == UPP_ROLE_ASSISTANT); /* and nobody is shown what closes them */
    TRY(answer(s, both, 2, &turn, err));
    m = last_of(s, &n, err);
    FAIL_UNLESS(m && n == 4 && m->n_parts == 1 && wb_str_eq(m->parts[0].text, UPP_STR("Booked.")));
    FAIL_UNLESS(m[-1].role == UPP_ROLE_TOOL && m[-1].n_parts == 2 && !m[-1].parts[0].is_error &&
                wb_str_eq(m[-1].parts[0].text, UPP_STR("{\"day\":3}")));
    TRY(weft_session_tree(s, &t, err));
    FAIL_UNLESS(weft_tree_count(t) == 2); /* the answers stand on a branch from where the calls were open */
    return 0;
}

static WEFT_SUSPENDS int goes_elsewhere(struct agents *p, struct upp_err *err)
{
    static const struct weft_tool_opts client = {.size = sizeof client, .client = true};
    const struct upp_tool pick = {.name = "pick", .extra = &client};
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct upp_err why = {0};
    struct weft_agent *a;
    struct upp_str json;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {&pick, 1}), &a, err));
    TRY(weft_session_new(a, NULL, &s, err));
    int r = weft_session_run(s, UPP_STR("go"), &turn, &why);
    if (r != -UPP_EWAIT)
        return r < 0 ? (*err = why, r) : -UPP_EBUG;
    TRY(weft_session_to_json(s, &json, err));
    r = is_answered(a, json, err);
    upp_text_free(json);
    return r;
}

/* The current node has said nothing yet: what is open stands above it. */
#define ABOVE                                                                                                          \
    "{\"version\":\"1.0.0\",\"id\":\"s-2\",\"agentId\":\"a\",\"threadTree\":{\"rootId\":\"node-1\","                   \
    "\"currentId\":\"node-2\",\"nodes\":[{\"id\":\"node-1\",\"parentId\":null,\"thread\":{\"id\":\"th-1\","            \
    "\"messages\":[" USER("m1", "do it") "," ASKS(                                                                     \
        "m2", "c1") "]},\"metadata\":{},\"children\":[\"node-2\"]},"                                                   \
                    "{\"id\":\"node-2\",\"parentId\":\"node-1\",\"thread\":{\"id\":\"th-2\",\"messages\":[]},"         \
                    "\"metadata\":{},"                                                                                 \
                    "\"children\":[]}]},\"checkpoints\":[],\"metadata\":{},\"createdAt\":" TIME ",\"updatedAt\":" TIME \
                    "}"

static WEFT_SUSPENDS int is_open_above(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    static const char *const call[] = {"c1"};
    const struct upp_message *m;
    struct weft_agent *a;
    size_t n;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_session_from_json(a, UPP_STR(ABOVE), NULL, &s, err));
    TRY(answer(s, call, 1, &turn, err));
    m = last_of(s, &n, err);
    FAIL_UNLESS(m && n == 4 && !m[-1].parts[0].is_error && wb_str_eq(m[-1].parts[0].id, UPP_STR("c1")));
    return 0;
}

TEST(session_whose_calls_are_open_above_its_node)
{
    AGENTS(SCRIPT(REPLY(TEXT("Booked."))), is_open_above);
}

TEST(session_that_waits_is_answered_elsewhere)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "pick", ""), CALL("2", "pick", "")), REPLY(TEXT("Booked."))), goes_elsewhere);
}

/* Every message of a document has one of its own; those of checkpoints are the same messages. */
static int check_ids(struct upp_str json, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    struct wm_session doc;
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
    struct weft_checkpoint cp;
    struct weft_agent *a;
    struct weft_tree *t;
    struct upp_str json;
    char id[64];
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
