#include "model/session.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "json/compare.h"
#include "json/read.h"
#include "support/test.h"

static int write_session(const struct wm_session *s, struct wb_buf *b, struct upp_err *err)
{
    struct wj_writer w;
    wb_buf_clear(b);
    wj_writer_init(&w, b, err);
    wm_session_write(&w, s);
    return wj_writer_check(&w);
}

/* A file below tests/golden/session without its blanks, in the arena; no text: it failed. */
static struct upp_str compact(struct wb_arena *a, const char *path)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    size_t n;
    yyjson_val *v;
    char *text = test_read(path, &n);
    if (!EXPECT(text))
        return (struct upp_str){0};
    int r = wj_read(a, wb_str(text, n), NULL, &v, NULL);
    free(text);
    return EXPECT(r == 0) && EXPECT(wj_write(v, &b, NULL) == 0) ? wb_arena_dup(a, wb_buf_str(&b)) : (struct upp_str){0};
}

/* ---- What is good --------------------------------------------------------------------------------- */

/* Token for token, in the same order. The one is the seed's example (13.5), with messages where it has dots. */
/* covers: UAP-3.4/3, UAP-13.1/2, UAP-13.6a/1/5 */
TEST(session_json_is_read_and_written_back)
{
    static const char *const files[] = {"golden/session/seed.json", "golden/session/all.json"};
    for (size_t i = 0; i < WB_LEN(files); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
        struct upp_err err = {0};
        struct wm_session s;
        struct upp_str text = compact(&a, files[i]);
        test_note("%s: %s %s", files[i], err.where, err.msg);
        CHECK(text.p);
        CHECK_INT(wm_session_read(&a, text, &s, &err), 0);
        CHECK_INT(write_session(&s, &b, &err), 0);
        CHECK_STR(wb_buf_str(&b), text);
    }
}

/* covers: UAP-6.5b/1, UAP-13.1/1, UAP-13.6a/2/4 */
TEST(session_json_is_read_into_its_parts)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    struct upp_err err = {0};
    struct wm_session s;
    CHECK_INT(wm_session_read(&a, compact(&a, "golden/session/all.json"), &s, &err), 0);
    CHECK_STR(s.id, UPP_STR("5f1c2d3e-0000-4000-8000-000000000001"));
    CHECK_STR(s.metadata, UPP_STR("{\"who\":\"\xf0\x9f\x98\x80\",\"n\":1.50e+3}"));
    CHECK(s.tree.n == 4 && s.tree.root == 1 && s.tree.current == 3);
    const struct wm_tree_node *n = s.tree.nodes;
    CHECK(n[0].parent == 1 && n[1].parent == UINT32_MAX && n[2].parent == 0 && n[3].parent == 1);
    CHECK(n[0].branch == 2 && n[1].branch == WM_ALL_MESSAGES && n[2].branch == 0 && n[3].branch == WM_ALL_MESSAGES);
    CHECK(n[1].n_children == 2 && n[1].children[0] == 3 && n[1].children[1] == 0 && n[0].n_children == 1);
    CHECK_STR(n[0].metadata, UPP_STR("{\"mine\":1.50e+3}"));
    CHECK_STR(n[2].metadata, UPP_STR("{}"));
    CHECK(n[2].name.p && n[2].name.n == 0 && !n[3].name.p && !n[0].untimed);
    CHECK_STR(n[0].thread.created, UPP_STR("2026-02-03T04:05:06.007+01:00"));
    CHECK(n[1].thread.n == 3 && n[1].thread.messages[1].role == UPP_ROLE_ASSISTANT);
    CHECK_STR(n[1].thread.messages[1].metadata,
              UPP_STR("{\"openai\":{\"response_id\":\"r\",\"n\":123456789012345678901234567890,\"n2\":1.50e+3},"
                      "\"anthropic\":{\"cache\":{\"type\":\"ephemeral\"}}}"));
    CHECK(s.n_checkpoints == 2);
    const struct wm_checkpoint *c = s.checkpoints;
    CHECK(c[0].node == 0 && c[0].length == 1 && c[0].step == 2 && c[0].state_step == 1 && c[0].n_messages == 1);
    CHECK(c[1].node == 3 && c[1].length == WM_ALL_MESSAGES && !c[1].own.p && !c[1].plan.p && c[1].n_subs == 0);
    CHECK_STR(c[0].own, UPP_STR("{\"phase\":[\"act\",1.50e+3]}"));
    CHECK_STR(c[0].metadata, UPP_STR("{}"));
    CHECK_STR(c[0].state_metadata, UPP_STR("{\"count\":123456789012345678901234567890}"));
    CHECK(c[0].has_reasoning && c[0].n_reasoning == 0 && c[1].n_reasoning == 1 && c[0].plan.n > 20);
    CHECK(c[0].n_subs == 2 && c[0].subs[0].session->n_checkpoints == 1);
    CHECK_STR(c[0].subs[0].call, UPP_STR("call_7"));
    CHECK_STR(c[0].subs[0].session->checkpoints[0].subs[0].session->id, UPP_STR("innermost"));
}

#define TIMES  "\"createdAt\":\"2026-02-03T04:05:06Z\",\"updatedAt\":\"2026-02-03T04:05:07Z\""
#define THREAD "\"thread\":{\"id\":\"t\",\"messages\":[]}"
#define NODE   "{\"id\":\"n\"," THREAD ",\"children\":[]}"
#define HEAD   "{\"version\":\"1.0.0\",\"id\":\"s\",\"agentId\":\"a\"," TIMES ","
#define TREE   "\"threadTree\":{\"rootId\":\"n\",\"currentId\":\"n\",\"nodes\":[" NODE "]}"

/* What may be absent is filled in as the seed's example has it; what nobody knows is dropped. */
/* covers: UAP-13.1/1 */
TEST(session_json_may_leave_things_out)
{
    static const struct {
        const char *text, *back;
    } rows[] = {
        {HEAD TREE ",\"checkpoints\":[]}",
         HEAD "\"threadTree\":{\"rootId\":\"n\",\"currentId\":\"n\",\"nodes\":[{\"id\":\"n\",\"parentId\":null," THREAD
              ",\"children\":[],\"metadata\":{}}]},\"checkpoints\":[],\"metadata\":{}}"},
        /* Null is absent; other members; another 1.0; one of the two times of a thread; a state with nulls. */
        {"{\"version\":\"1.0.17\",\"x\":[{}],\"id\":\"s\",\"agentId\":\"a\"," TIMES
         ",\"checkpoints\":[{\"threadId\":\"n\",\"id\":\"c\",\"sessionId\":\"s\",\"timestamp\":\"2026-02-03T04:05:06+"
         "01:00\","
         "\"step\":1.0,\"state\":{\"step\":0,\"messages\":[],\"metadata\":{\"a\":1,\"a\":2},\"reasoning\":null,"
         "\"plan\":null}}],"
         "\"threadTree\":{\"rootId\":\"n\",\"currentId\":\"n\",\"nodes\":[{\"id\":\"n\",\"parentId\":null,\"name\":"
         "null,"
         "\"thread\":{\"id\":\"t\",\"messages\":[],\"createdAt\":\"2020-01-01T00:00:00Z\"},\"children\":[]}]}}",
         HEAD
         "\"threadTree\":{\"rootId\":\"n\",\"currentId\":\"n\",\"nodes\":[{\"id\":\"n\",\"parentId\":null,\"thread\":{"
         "\"id\":\"t\",\"messages\":[],\"createdAt\":\"2020-01-01T00:00:00Z\",\"updatedAt\":\"2026-02-03T04:05:07Z\"},"
         "\"children\":[],\"metadata\":{}}]},\"checkpoints\":[{\"id\":\"c\",\"sessionId\":\"s\",\"timestamp\":"
         "\"2026-02-03T04:05:06+01:00\",\"step\":1,\"threadId\":\"n\",\"state\":{\"step\":0,\"messages\":[],"
         "\"metadata\":{\"a\":1,\"a\":2}},\"subAgentStates\":{},\"metadata\":{}}],\"metadata\":{}}"},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
        struct upp_err err = {0};
        struct wm_session s;
        int r = wm_session_read(&a, wb_cstr(rows[i].text), &s, &err);
        test_note("row %zu: %s %s", i, err.where, err.msg);
        CHECK_INT(r, 0);
        CHECK_STR(s.tree.nodes[0].thread.updated, s.updated); /* the session's */
        CHECK_INT(write_session(&s, &b, &err), 0);
        CHECK_STR(wb_buf_str(&b), wb_cstr(rows[i].back));
    }
}

TEST(session_tree_alone_is_read_and_written)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err = {0};
    struct wj_writer w;
    struct wm_tree_doc t;
    CHECK_INT(wm_tree_read(&a, UPP_STR("{\"rootId\":\"n\",\"currentId\":\"n\",\"nodes\":[" NODE "]}"), &t, &err), 0);
    CHECK(t.nodes[0].untimed && !t.nodes[0].thread.created.p);
    wj_writer_init(&w, &b, &err);
    wm_tree_write(&w, &t);
    CHECK_INT(wj_writer_check(&w), 0);
    CHECK_STR(wb_buf_str(&b),
              UPP_STR("{\"rootId\":\"n\",\"currentId\":\"n\",\"nodes\":[{\"id\":\"n\",\"parentId\":null," THREAD
                      ",\"children\":[],\"metadata\":{}}]}"));
    t = (struct wm_tree_doc){0};
    CHECK_INT(wm_tree_read(&a, UPP_STR("{\"rootId\":\"n\",\"nodes\":[" NODE "]}"), &t, &err), -UPP_EINVALID);
    ALWAYS(!t.nodes);
}

/* ---- What is broken ------------------------------------------------------------------------------- */

/* The good document with the first `find` replaced. The pointer is that of the place; "..." stands for its front. */
struct broken {
    const char *find, *with, *where, *msg;
};

#define ROOT "5f1c2d3e-0000-4000-8000-000000000002"
#define SELF "5f1c2d3e-0000-4000-8000-000000000001"

static const struct broken broken[] = {
    /* SessionJSON */
    {"\"version\":\"1.0.0\",", "", "", "expected the member 'version'"},
    {"\"1.0.0\"", "\"2.0.0\"", "/version", "expected version 1.0.x, found '2.0.0'"},
    {"\"1.0.0\"", "\"1.1.0\"", "/version", "expected version 1.0.x, found '1.1.0'"},
    {"\"1.0.0\"", "\"1.0\"", "/version", "expected version 1.0.x, found '1.0'"},
    {"\"1.0.0\"", "\"1.0.\"", "/version", NULL},
    {"\"1.0.0\"", "\"1.0.0-draft\"", "/version", NULL},
    {"\"1.0.0\"", "1.0", "/version", "expected a string, found the number 1.0"},
    {"\"1.0.0\"", "null", "/version", "expected a string, found null"},
    {"\"id\":\"" SELF "\",\"agentId\"", "\"agentId\"", "", "expected the member 'id'"},
    {"\"id\":\"" SELF "\"", "\"id\":7", "/id", "expected a string, found the number 7"},
    {"\"id\":\"" SELF "\"", "\"id\":\"\"", "/id", "expected an id, found an empty string"},
    {"\"agentId\":\"agent\",", "", "", "expected the member 'agentId'"},
    {"\"agentId\":\"agent\"", "\"agentId\":null", "/agentId", NULL},
    {"\"createdAt\":\"2026-02-03T04:05:06.007Z\",\"updatedAt\"", "\"updatedAt\"", "",
     "expected the member 'createdAt'"},
    {"\"createdAt\":\"2026-02-03T04:05:06.007Z\"", "\"createdAt\":1770091506007", "/createdAt",
     "expected a string: a time, found the number 1770091506007"},
    {"\"createdAt\":\"2026-02-03T04:05:06.007Z\"", "\"createdAt\":\"yesterday\"", "/createdAt", NULL},
    {"\"createdAt\":\"2026-02-03T04:05:06.007Z\"", "\"createdAt\":\"2026-02-30T04:05:06Z\"", "/createdAt", NULL},
    {"\"createdAt\":\"2026-02-03T04:05:06.007Z\"", "\"createdAt\":\"2026-02-03T04:05:06\"", "/createdAt",
     "expected a time with its zone (Z or +01:00), found '2026-02-03T04:05:06'"},
    {"\"updatedAt\":\"2026-02-03T04:05:06.007Z\",\"threadTree\"", "\"threadTree\"", "",
     "expected the member 'updatedAt'"},
    {"\"updatedAt\":\"2026-02-03T04:05:06.007Z\",\"threadTree\"", "\"updatedAt\":[],\"threadTree\"", "/updatedAt",
     NULL},
    {"\"threadTree\":", "\"tree\":", "", "expected the member 'threadTree'"},
    {"\"threadTree\":{", "\"threadTree\":[],\"x\":{", "/threadTree", "expected an object, found an array"},
    {"\"checkpoints\":[{\"id\":\"cp1\"", "\"points\":[{\"id\":\"cp1\"", "", "expected the member 'checkpoints'"},
    {"\"checkpoints\":[{\"id\":\"cp1\"", "\"checkpoints\":{},\"x\":[{\"id\":\"cp1\"", "/checkpoints", NULL},
    {"\"metadata\":{\"who\"", "\"metadata\":null,\"x\":{\"who\"", "/metadata", "expected an object, found null"},
    {"\"metadata\":{\"who\"", "\"metadata\":[],\"x\":{\"who\"", "/metadata", NULL},
    {"{\"version\":\"1.0.0\"", "{\"version\":\"1.0.0\",\"version\":\"1.0.0\"", "/version",
     "the member 'version' comes twice"},
    {"{\"version\"", "{\"metadata\":{},\"version\"", "/metadata", "the member 'metadata' comes twice"},
    /* ThreadTreeJSON */
    {"\"rootId\":\"" ROOT "\",", "", "/threadTree", "expected the member 'rootId'"},
    {"\"rootId\":\"" ROOT "\"", "\"rootId\":\"X\"", "/threadTree/rootId", "there is no node 'X'"},
    {"\"rootId\":\"" ROOT "\"", "\"rootId\":null", "/threadTree/rootId", NULL},
    {"\"rootId\":\"" ROOT "\"", "\"rootId\":\"A\"", "/threadTree/nodes/0/parentId", "the root has a parent"},
    {"\"currentId\":\"C\",", "", "/threadTree", "expected the member 'currentId'"},
    {"\"currentId\":\"C\"", "\"currentId\":\"X\"", "/threadTree/currentId", "there is no node 'X'"},
    {"\"currentId\":\"C\"", "\"currentId\":{}", "/threadTree/currentId", NULL},
    {"\"nodes\":[", "\"node\":[", "/threadTree", "expected the member 'nodes'"},
    {"\"nodes\":[", "\"nodes\":\"\",\"x\":[", "/threadTree/nodes", NULL},
    {"\"nodes\":[", "\"nodes\":[],\"x\":[", "/threadTree/rootId", NULL},
    {"\"nodes\":[", "\"nodes\":[7,", "/threadTree/nodes/0", "expected an object, found the number 7"},
    {"\"currentId\":\"C\"", "\"currentId\":\"C\",\"currentId\":\"A\"", "/threadTree/currentId", NULL},
    /* ThreadNodeJSON */
    {"{\"id\":\"A\",", "{", "/threadTree/nodes/0", "expected the member 'id'"},
    {"{\"id\":\"A\",", "{\"id\":1,", "/threadTree/nodes/0/id", NULL},
    {"{\"id\":\"A\",", "{\"id\":\"A\",\"id\":\"A\",", "/threadTree/nodes/0/id", "the member 'id' comes twice"},
    {"{\"id\":\"C\"", "{\"id\":\"A\"", "/threadTree/nodes/3/id", "node 0 has this id too"},
    {"{\"id\":\"C\"", "{\"id\":\"D\"", "/threadTree/currentId", NULL},
    {"\"parentId\":\"" ROOT "\",\"name\":\"a\"", "\"name\":\"a\"", "/threadTree/nodes/0",
     "it has no parentId, and is not the root"},
    {"\"parentId\":\"" ROOT "\",\"name\":\"a\"", "\"parentId\":null,\"name\":\"a\"", "/threadTree/nodes/0", NULL},
    {"\"parentId\":\"" ROOT "\"", "\"parentId\":\"X\"", "/threadTree/nodes/0/parentId", "there is no node 'X'"},
    {"\"parentId\":\"" ROOT "\"", "\"parentId\":false", "/threadTree/nodes/0/parentId", NULL},
    {"\"parentId\":\"" ROOT "\"", "\"parentId\":\"C\"", "/threadTree/nodes/1/children/1",
     "the parentId of node 0 is another"},
    {"\"parentId\":\"" ROOT "\",\"name\":\"a\"", "\"parentId\":\"A\",\"name\":\"a\"", "/threadTree/nodes/1/children/1",
     NULL},
    {"\"parentId\":null", "\"parentId\":\"A\"", "/threadTree/nodes/1/parentId", "the root has a parent"},
    {"\"name\":\"a\"", "\"name\":[]", "/threadTree/nodes/0/name", NULL},
    {"\"thread\":", "\"threads\":", "/threadTree/nodes/0", "expected the member 'thread'"},
    {"\"thread\":{", "\"thread\":\"\",\"x\":{", "/threadTree/nodes/0/thread", NULL},
    {"\"children\":[\"B\"],", "", "/threadTree/nodes/0", "expected the member 'children'"},
    {"\"children\":[\"B\"]", "\"children\":{}", "/threadTree/nodes/0/children", NULL},
    {"\"children\":[\"B\"]", "\"children\":[]", "/threadTree/nodes/2/parentId",
     "this parent does not name it among its children"},
    {"\"children\":[\"B\"]", "\"children\":[\"X\"]", "/threadTree/nodes/0/children/0", "there is no node 'X'"},
    {"\"children\":[\"B\"]", "\"children\":[null]", "/threadTree/nodes/0/children/0", NULL},
    {"\"children\":[\"B\"]", "\"children\":[\"C\"]", "/threadTree/nodes/0/children/0",
     "the parentId of node 3 is another"},
    {"\"children\":[\"B\"]", "\"children\":[\"B\",\"B\"]", "/threadTree/nodes/0/children/1",
     "this child is named twice"},
    {"\"children\":[\"B\"]", "\"children\":[\"B\",\"B\",\"B\",\"B\",\"B\"]", "/threadTree/nodes/0/children", NULL},
    {"\"metadata\":{\"mine\":1.50e+3", "\"metadata\":7,\"x\":{\"mine\":1.50e+3", "/threadTree/nodes/0/metadata", NULL},
    {"\"uap.branchPoint\":2", "\"uap.branchPoint\":4", "/threadTree/nodes/0/metadata/uap.branchPoint",
     "expected at most 3, the messages that are there, found 4"},
    {"\"uap.branchPoint\":2", "\"uap.branchPoint\":-1", "/threadTree/nodes/0/metadata/uap.branchPoint", NULL},
    {"\"uap.branchPoint\":2", "\"uap.branchPoint\":\"2\"", "/threadTree/nodes/0/metadata/uap.branchPoint", NULL},
    {"\"uap.branchPoint\":2", "\"uap.branchPoint\":1,\"uap.branchPoint\":2",
     "/threadTree/nodes/0/metadata/uap.branchPoint", NULL},
    {"\"metadata\":{\"k\":{", "\"metadata\":{\"uap.branchPoint\":0,\"k\":{",
     "/threadTree/nodes/1/metadata/uap.branchPoint", "the root branches off nothing"},
    /* ThreadJSON and messages */
    {"{\"id\":\"tA\",", "{", "/threadTree/nodes/0/thread", "expected the member 'id'"},
    {"\"id\":\"tA\",\"messages\":", "\"id\":\"tA\",\"message\":", "/threadTree/nodes/0/thread", NULL},
    {"\"id\":\"tA\",\"messages\":[", "\"id\":\"tA\",\"messages\":true,\"x\":[", "/threadTree/nodes/0/thread/messages",
     NULL},
    {"\"2026-02-03T04:05:06.007+01:00\"", "\"2026-02-03\"", "/threadTree/nodes/0/thread/createdAt", NULL},
    {"\"2026-02-03T04:05:06.007+01:00\"", "null", "/threadTree/nodes/0/thread/createdAt", NULL},
    {"\"id\":\"mA\",", "", "/threadTree/nodes/0/thread/messages/0", "expected the member 'id'"},
    {"\"id\":\"mA\",\"type\":\"user\"", "\"id\":\"mA\",\"type\":\"system\"",
     "/threadTree/nodes/0/thread/messages/0/type", "unknown message type 'system'"},
    {"\"type\":\"reasoning\"", "\"type\":\"thought\"", "...Tree/nodes/1/thread/messages/1/content/0/type", NULL},
    {"\"iVBORw0KGgo=\"", "\"*\"", "...nodes/1/thread/messages/1/content/1/source/data", NULL},
    {"\"arguments\":{\"path\"", "\"arguments\":[],\"x\":{\"path\"", "...s/1/thread/messages/1/toolCalls/0/arguments",
     NULL},
    {"\"isError\":false", "\"isError\":0", "...ree/nodes/1/thread/messages/2/results/0/isError", NULL},
    /* CheckpointJSON */
    {"{\"id\":\"cp1\",", "{", "/checkpoints/0", "expected the member 'id'"},
    {"\"id\":\"cp2\"", "\"id\":\"cp1\"", "/checkpoints/1/id", "checkpoint 0 has this id too"},
    {"\"id\":\"cp1\",", "\"id\":[],", "/checkpoints/0/id", NULL},
    {"\"sessionId\":\"" SELF "\",", "", "/checkpoints/0", "expected the member 'sessionId'"},
    {"\"sessionId\":\"" SELF "\"", "\"sessionId\":\"X\"", "/checkpoints/0/sessionId",
     "the checkpoint is of another session"},
    {"\"sessionId\":\"" SELF "\"", "\"sessionId\":3", "/checkpoints/0/sessionId", NULL},
    {"\"timestamp\":\"2026-02-03T04:05:06.007Z\",\"step\":2,\"threadId\":\"A\"", "\"step\":2,\"threadId\":\"A\"",
     "/checkpoints/0", "expected the member 'timestamp'"},
    {"\"timestamp\":\"2026-02-03T04:05:06.007Z\",\"step\":2,\"threadId\":\"A\"",
     "\"timestamp\":\"now\",\"step\":2,\"threadId\":\"A\"", "/checkpoints/0/timestamp", NULL},
    {"\"step\":2,\"threadId\":\"A\"", "\"threadId\":\"A\"", "/checkpoints/0", "expected the member 'step'"},
    {"\"step\":2,\"threadId\":\"A\"", "\"step\":\"2\",\"threadId\":\"A\"", "/checkpoints/0/step", NULL},
    {"\"step\":2,\"threadId\":\"A\"", "\"step\":1.5,\"threadId\":\"A\"", "/checkpoints/0/step",
     "expected a whole number from 0 to 4294967294, found the number 1.5"},
    {"\"step\":2,\"threadId\":\"A\"", "\"step\":-1,\"threadId\":\"A\"", "/checkpoints/0/step", NULL},
    {"\"step\":2,\"threadId\":\"A\"", "\"step\":1e400,\"threadId\":\"A\"", "/checkpoints/0/step", NULL},
    {"\"step\":2,\"threadId\":\"A\"", "\"step\":4294967295,\"threadId\":\"A\"", "/checkpoints/0/step", NULL},
    {"\"threadId\":\"A\",", "", "/checkpoints/0", "expected the member 'threadId'"},
    {"\"threadId\":\"A\"", "\"threadId\":\"tA\"", "/checkpoints/0/threadId", "there is no node 'tA'"},
    {"\"threadId\":\"A\"", "\"threadId\":null", "/checkpoints/0/threadId", NULL},
    {"\"state\":{", "\"states\":{", "/checkpoints/0", "expected the member 'state'"},
    {"\"state\":{", "\"state\":[],\"x\":{", "/checkpoints/0/state", NULL},
    {"\"subAgentStates\":{\"call_7\"", "\"subAgentStates\":[],\"x\":{\"call_7\"", "/checkpoints/0/subAgentStates",
     NULL},
    {"\"call_9\":{", "\"call_7\":{", "/checkpoints/0/subAgentStates/call_7", "member 0 has this id too"},
    {"\"call_9\":{\"version\":\"1.0.0\"", "\"call_9\":{\"version\":\"3.0.0\"",
     "/checkpoints/0/subAgentStates/call_9/version", NULL},
    {"\"call_9\":{", "\"call_9\":0,\"x\":{", "/checkpoints/0/subAgentStates/call_9",
     "expected an object, found the number 0"},
    {"\"sessionId\":\"inner\"", "\"sessionId\":\"" SELF "\"", "...0/subAgentStates/call_7/checkpoints/0/sessionId",
     NULL},
    {"\"uap.threadLength\":1", "\"uap.threadLength\":2", "/checkpoints/0/metadata/uap.threadLength", NULL},
    {"\"uap.threadLength\":1", "\"uap.threadLength\":null", "/checkpoints/0/metadata/uap.threadLength", NULL},
    {"\"metadata\":{\"note\"", "\"metadata\":\"\",\"x\":{\"note\"", "/checkpoints/1/metadata", NULL},
    /* ExecutionStateJSON */
    {"\"state\":{\"step\":1,", "\"state\":{", "/checkpoints/0/state", "expected the member 'step'"},
    {"\"state\":{\"step\":1,", "\"state\":{\"step\":true,", "/checkpoints/0/state/step", NULL},
    {"\"state\":{\"step\":1,\"messages\":", "\"state\":{\"step\":1,\"message\":", "/checkpoints/0/state",
     "expected the member 'messages'"},
    {"\"state\":{\"step\":1,\"messages\":[", "\"state\":{\"step\":1,\"messages\":{},\"x\":[",
     "/checkpoints/0/state/messages", NULL},
    {"\"state\":{\"step\":1,\"messages\":[", "\"state\":{\"step\":1,\"messages\":[null,",
     "/checkpoints/0/state/messages/0", NULL},
    {"\"metadata\":{\"count\"", "\"meta\":{\"count\"", "/checkpoints/0/state", "expected the member 'metadata'"},
    {"\"metadata\":{\"count\"", "\"metadata\":[],\"x\":{\"count\"", "/checkpoints/0/state/metadata", NULL},
    {"\"reasoning\":[]", "\"reasoning\":\"\"", "/checkpoints/0/state/reasoning", NULL},
    {"\"reasoning\":[]", "\"reasoning\":[1]", "/checkpoints/0/state/reasoning/0",
     "expected a string, found the number 1"},
    /* PlanStepJSON */
    {"\"plan\":[", "\"plan\":7,\"x\":[", "/checkpoints/0/state/plan", NULL},
    {"\"plan\":[", "\"plan\":[[],", "/checkpoints/0/state/plan/0", NULL},
    {"{\"id\":\"s1\",", "{", "/checkpoints/0/state/plan/0", "expected the member 'id'"},
    {"\"id\":\"s2\"", "\"id\":\"s1\"", "/checkpoints/0/state/plan/1/id", "step 0 has this id too"},
    {"\"description\":\"read\",", "", "/checkpoints/0/state/plan/0", "expected the member 'description'"},
    {"\"description\":\"read\"", "\"description\":null", "/checkpoints/0/state/plan/0/description", NULL},
    {"\"tool\":\"look\",\"dep", "\"tool\":{},\"dep", "/checkpoints/0/state/plan/0/tool", NULL},
    {"\"dependsOn\":[],", "", "/checkpoints/0/state/plan/0", "expected the member 'dependsOn'"},
    {"\"dependsOn\":[]", "\"dependsOn\":\"s2\"", "/checkpoints/0/state/plan/0/dependsOn", NULL},
    {"\"dependsOn\":[\"s1\"]", "\"dependsOn\":[\"s1\",\"s3\"]", "/checkpoints/0/state/plan/1/dependsOn/1",
     "there is no step 's3'"},
    {"\"dependsOn\":[\"s1\"]", "\"dependsOn\":[0]", "/checkpoints/0/state/plan/1/dependsOn/0", NULL},
    {"\"status\":\"completed\"", "\"status\":\"done\"", "/checkpoints/0/state/plan/0/status",
     "expected 'pending', 'in_progress', 'completed' or 'failed', found 'done'"},
    {"\"dependsOn\":[]", "\"dependsOn\":[\"s2\"]", "...points/0/state/plan/1/dependsOn/0",
     "the steps depend on each other in a circle"},
    {"\"dependsOn\":[]", "\"dependsOn\":[\"s1\"]", "...points/0/state/plan/0/dependsOn/0", NULL},
    {",\"status\":\"completed\"", "", "/checkpoints/0/state/plan/0", "expected the member 'status'"},
    /* No JSON at all: the place is a line and a column. */
    {"\"step\":2,", "\"step\":NaN,", "line 1, column", NULL},
    {"\"step\":2,", "\"step\":Infinity,", "line 1, column", NULL},
    {"\"step\":2,", "\"step\":02,", "line 1, column", NULL},
    {"\"call_9\":{", "\"call_9\":{\xff", "line 1, column", NULL},
    {"\"agentId\":\"agent\"", "\"agentId\":\"\xed\xa0\x80\"", "line 1, column", NULL},
    {"{\"version\"", "[]{\"version\"", "line 1, column 3", NULL},
    {"{\"version\":", "[", "line 1, column", NULL},
};

static struct upp_str replaced(struct wb_arena *a, struct upp_str text, const struct broken *b)
{
    size_t at = wb_str_find(text, wb_cstr(b->find), 0), n = strlen(b->find), with = strlen(b->with);
    char *p = at == SIZE_MAX ? NULL : wb_arena_alloc(a, text.n + with, 1);
    if (!p)
        return (struct upp_str){0};
    memcpy(p, text.p, at);
    memcpy(p + at, b->with, with);
    memcpy(p + at + with, text.p + at + n, text.n - at - n);
    return wb_str(p, text.n - n + with);
}

static bool same_end(const char *where, const char *want)
{
    struct upp_str got = wb_cstr(where), end = wb_cstr(want);
    if (wb_str_starts(end, UPP_STR("...")))
        return wb_str_ends(got, wb_str_sub(end, 3, end.n));
    return wb_str_starts(end, UPP_STR("line")) ? wb_str_starts(got, end) : wb_str_eq(got, end);
}

/* covers: UAP-13.6c, UAP-13.7/1 */
TEST(session_json_that_is_broken_is_refused)
{
    _Static_assert(WB_LEN(broken) >= 80, "the table is long");
    WB_CLEANUP(wb_arena_done) struct wb_arena good = WB_ARENA(8u << 20);
    struct upp_str text = compact(&good, "golden/session/all.json");
    CHECK(text.p);
    for (size_t i = 0; i < WB_LEN(broken); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
        struct upp_err err = {0};
        struct wm_session s = {.n_checkpoints = 4711};
        struct upp_str this = replaced(&a, text, &broken[i]);
        test_note("row %zu: %s -> %s", i, broken[i].find, broken[i].with);
        CHECK(this.p);
        int r = wm_session_read(&a, this, &s, &err);
        test_note("row %zu: %s -> %s: %s: %s", i, broken[i].find, broken[i].with, err.where, err.msg);
        ALWAYS(r < 0 && s.n_checkpoints == 4711);
        CHECK_INT(r, -UPP_EINVALID);
        CHECK(err.code == UPP_EINVALID && err.msg[0] && wb_utf8_valid(wb_cstr(err.msg), NULL));
        CHECK(same_end(err.where, broken[i].where));
        if (broken[i].msg)
            CHECK_STR(wb_cstr(err.msg), wb_cstr(broken[i].msg));
    }
}

/* Bytes after the end, and every beginning of a document, which is none. */
/* covers: UAP-13.7/1 */
TEST_WITH(session_json_that_is_cut_is_refused, .no_torture = "thousands of documents; the others have every fault")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena good = WB_ARENA(8u << 20);
    struct upp_str text = compact(&good, "golden/session/all.json");
    CHECK(text.p);
    for (size_t n = 0; n < text.n; n += 7) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
        struct upp_err err = {0};
        struct wm_session s;
        test_note("the first %zu bytes", n);
        CHECK_INT(wm_session_read(&a, wb_str_sub(text, 0, n), &s, &err), -UPP_EINVALID);
        CHECK(err.where[0] && err.msg[0]);
    }
    struct upp_err err = {0};
    struct wm_session s;
    CHECK_INT(wm_session_read(&good, wb_arena_printf(&good, "%.*s,", UPP_FMT(text)), &s, &err), -UPP_EINVALID);
    CHECK_INT(wm_session_read(&good, wb_arena_printf(&good, "%.*s{}", UPP_FMT(text)), &s, &err), -UPP_EINVALID);
    CHECK_INT(wm_session_read(&good, wb_arena_printf(&good, " %.*s\n", UPP_FMT(text)), &s, &err), 0);
}

/* ---- Limits --------------------------------------------------------------------------------------- */

/* A path of n nodes, the deepest first, so that each is known only when all are read. `round`: all but the root in a
 * ring. */
static void add_path(struct wb_buf *b, unsigned n, bool round)
{
    wb_buf_addf(b, "{\"rootId\":\"0\",\"currentId\":\"0\",\"nodes\":[");
    for (unsigned i = n; i-- > 0;) {
        unsigned parent = round && i == 1 ? n - 1 : i - 1, child = round && i == n - 1 ? 1 : i + 1;
        wb_buf_addf(b, "{\"id\":\"%u\",", i);
        if (i)
            wb_buf_addf(b, "\"parentId\":\"%u\",", parent);
        wb_buf_addf(b, THREAD ",\"children\":[");
        if ((i || !round) && child < n)
            wb_buf_addf(b, "\"%u\"", child);
        wb_buf_addf(b, i ? "]}," : "]}");
    }
    wb_buf_addf(b, "]}");
}

/* covers: UAP-13.7/1 */
TEST_WITH(session_tree_has_a_depth, .no_torture = "thousands of nodes; the others have every fault")
{
    static const struct {
        unsigned n;
        bool round;
        int r;
        const char *msg;
    } rows[] = {
        {WM_SESSION_DEPTH, false, 0, ""},
        {WM_SESSION_DEPTH + 1, false, -UPP_ELIMIT, "expected at most 4096 nodes from the root to one"},
        {3, true, -UPP_EINVALID, "its parents go round and never come to the root"},
        {5000, true, -UPP_EINVALID, "its parents go round and never come to the root"},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(16u << 20);
        struct upp_err err = {0};
        struct wm_tree_doc t;
        add_path(&b, rows[i].n, rows[i].round);
        test_note("row %zu", i);
        CHECK_INT(wm_tree_read(&a, wb_buf_str(&b), &t, &err), rows[i].r);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(rows[i].msg));
        CHECK(!rows[i].r || wb_str_starts(wb_cstr(err.where), UPP_STR("/nodes/")));
    }
}

/* covers: UAP-13.7/1 */
TEST_WITH(session_tree_has_a_number_of_nodes, .no_torture = "65,536 nodes; the others have every fault")
{
    for (unsigned over = 0; over < 2; over++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20);
        struct upp_err err = {0};
        struct wm_tree_doc t;
        unsigned n = WM_SESSION_NODES + over;
        wb_buf_addf(&b,
                    "{\"rootId\":\"0\",\"currentId\":\"%u\",\"nodes\":[{\"id\":\"0\"," THREAD ",\"children\":[\"1\"",
                    n - 1);
        for (unsigned i = 2; i < n; i++)
            wb_buf_addf(&b, ",\"%u\"", i);
        wb_buf_addf(&b, "]}");
        for (unsigned i = 1; i < n; i++)
            wb_buf_addf(&b, ",{\"id\":\"%u\",\"parentId\":\"0\"," THREAD ",\"children\":[]}", i);
        wb_buf_addf(&b, "]}");
        CHECK_INT(wm_tree_read(&a, wb_buf_str(&b), &t, &err), over ? -UPP_ELIMIT : 0);
        CHECK_STR(wb_cstr(err.where), over ? UPP_STR("/nodes") : UPP_STR(""));
    }
}

static void add_nested(struct wb_buf *b, unsigned n)
{
    wb_buf_addf(b, HEAD TREE ",\"checkpoints\":[");
    if (n)
        wb_buf_addf(
            b, "{\"id\":\"c\",\"sessionId\":\"s\",\"timestamp\":\"2026-02-03T04:05:06Z\",\"step\":0,\"threadId\":\"n\","
               "\"state\":{\"step\":0,\"messages\":[],\"metadata\":{}},\"subAgentStates\":{\"call\":");
    if (n)
        add_nested(b, n - 1);
    wb_buf_addf(b, n ? "}}]}" : "]}");
}

/* covers: UAP-13.7/1 */
TEST_WITH(session_plan_may_be_long, .no_torture = "thousands of steps; the others have every fault")
{
    const unsigned steps = 20000;
    for (unsigned ring = 0; ring < 2; ring++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(16u << 20);
        struct upp_err err = {0};
        struct wm_session s;
        wb_buf_addf(&b, HEAD TREE
                    ",\"checkpoints\":[{\"id\":\"c\",\"sessionId\":\"s\",\"timestamp\":\"2026-02-03T04:05:06Z\","
                    "\"step\":0,\"threadId\":\"n\",\"state\":{\"step\":0,\"messages\":[],\"metadata\":{},\"plan\":[");
        for (unsigned i = 0; i < steps; i++) /* each after the next, and the last after all */
            wb_buf_addf(&b,
                        "%s{\"id\":\"%u\",\"description\":\"\",\"dependsOn\":[\"%u\",\"%u\"],\"status\":\"pending\"}",
                        i ? "," : "", i, i + 1, steps);
        wb_buf_addf(&b, ",{\"id\":\"%u\",\"description\":\"\",\"dependsOn\":[%s],\"status\":\"pending\"}]}}]}", steps,
                    ring ? "\"7\"" : "");
        CHECK_INT(wm_session_read(&a, wb_buf_str(&b), &s, &err), ring ? -UPP_EINVALID : 0);
        CHECK_STR(wb_cstr(err.msg), ring ? UPP_STR("the steps depend on each other in a circle") : UPP_STR(""));
    }
}

/* covers: UAP-13.7/1 */
TEST(session_json_nests_eight_sessions)
{
    for (unsigned over = 0; over < 2; over++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20), back = WB_BUF(1u << 20);
        struct upp_err err = {0};
        struct wm_session s, outer = {0};
        add_nested(&b, WM_SESSION_NESTED + over);
        CHECK_INT(wm_session_read(&a, wb_buf_str(&b), &s, &err), over ? -UPP_ELIMIT : 0);
        if (over) {
            CHECK(wb_str_ends(wb_cstr(err.where), UPP_STR("/checkpoints/0/subAgentStates")));
            continue;
        }
        CHECK_INT(write_session(&s, &back, &err), 0);
        /* One more around it is not written either. */
        struct wm_sub_session sub = {UPP_STR("call"), &s};
        struct wm_checkpoint c = s.checkpoints[0];
        outer = s;
        c.subs = &sub;
        outer.checkpoints = &c;
        CHECK_INT(write_session(&outer, &back, &err), -UPP_ELIMIT);
    }
}

TEST(session_json_has_a_depth_and_a_length)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20), small = WB_ARENA(6000);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err = {0};
    struct wm_session s;
    wb_buf_addf(&b, HEAD TREE ",\"checkpoints\":[],\"metadata\":{\"a\":");
    for (unsigned i = 0; i < WM_SESSION_JSON - 1; i++)
        wb_buf_addc(&b, '[');
    for (unsigned i = 0; i < WM_SESSION_JSON - 1; i++)
        wb_buf_addc(&b, ']');
    wb_buf_addf(&b, "}}");
    CHECK_INT(wm_session_read(&a, wb_buf_str(&b), &s, &err), -UPP_ELIMIT);
    char *text = NULL; /* never looked at */
    CHECK_INT(wm_session_read(&a, wb_str((const char *)&text, (size_t)WM_SESSION_BYTES + 1), &s, &err), -UPP_ELIMIT);
    CHECK_INT(wm_session_read(&small, compact(&a, "golden/session/all.json"), &s, &err), -UPP_ELIMIT);
}

/* What is no JSON inside of the struct does not get out. */
TEST(session_write_looks_at_what_it_writes)
{
    static const char *const bad[] = {"", "{", "[]", "7", "{} {}", "{\"a\":}", "\xff"};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err = {0};
    struct wm_session s;
    CHECK_INT(wm_session_read(&a, UPP_STR(HEAD TREE ",\"checkpoints\":[]}"), &s, &err), 0);
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        test_note("row %zu", i);
        s.metadata = wb_cstr(bad[i]);
        CHECK_INT(write_session(&s, &b, &err), -UPP_EINVALID);
        s.metadata = UPP_STR("{}");
        s.tree.nodes[0].metadata = wb_cstr(bad[i]);
        CHECK_INT(write_session(&s, &b, &err), -UPP_EINVALID);
        s.tree.nodes[0].metadata = UPP_STR(" { \"a\" : 1 } ");
    }
    s.tree.nodes[0].branch = 0;
    CHECK_INT(write_session(&s, &b, &err), 0);
    CHECK(wb_str_find(wb_buf_str(&b), UPP_STR("uap.branchPoint"), 0) == SIZE_MAX); /* a root has none */
    s.tree.nodes[0].parent = 0;
    CHECK_INT(write_session(&s, &b, &err), 0);
    CHECK(wb_str_find(wb_buf_str(&b), UPP_STR("{\"a\" : 1,\"uap.branchPoint\":0}"), 0) != SIZE_MAX);
}
