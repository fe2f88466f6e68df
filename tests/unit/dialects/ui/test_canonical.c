/* UI messages that say just what we would write are not compared; all others are. Either way they come back. */
#include "dialects/core/convert.h"
#include "support/documents.h"
#include "support/test.h"

enum { ROOM = 1 << 20 };

/* ' stands for " in all of them. */
#define TIME       "'pydantic_ai':{'timestamp':'2026-01-01T00:00:00Z'}"
#define USER(...)  "{'id':'m1','role':'user','metadata':{" TIME "},'parts':[" __VA_ARGS__ "]}"
#define ABOUT(...) "{'id':'m2','role':'assistant','metadata':{" __VA_ARGS__ "},'parts':[" STEP "," DONE "]}"
#define WEFT(...)  ABOUT(TIME ",'weft':{" __VA_ARGS__ "}")
#define USAGE(...) ABOUT(TIME ",'usage':{" __VA_ARGS__ "}")
#define SAID(...)  "{'id':'m2','role':'assistant','metadata':{" TIME "},'parts':[" __VA_ARGS__ "]}"
#define STEP       "{'type':'step-start'}"
#define DONE       "{'type':'text','text':'a','state':'done'}"
#define CALL(id)   "{'type':'tool-t','toolCallId':'" id "','state':'input-available','input':{}}"
#define RESULT(id)                                                                                                     \
    "{'type':'tool-t','toolCallId':'" id "','state':'output-available','input':{'n':1.50},'output':[null]}"
#define ERROR(id) "{'type':'tool-t','toolCallId':'" id "','state':'output-error','input':null,'errorText':'\\ud800'}"
#define TOKENS    "'inputTokens':1,'outputTokens':2,'totalTokens':3,'cacheReadTokens':0,'cacheWriteTokens':5"

/* Each is a message. */
static const char *const plain[] = {
    USER("{'type':'text','text':'a'}"),
    USER("{'type':'text','text':''},{'type':'text','text':'b'}"),
    SAID(STEP "," DONE),
    SAID(STEP ",{'type':'reasoning','text':'a','state':'streaming'}"),
    SAID(STEP "," RESULT("1") "," STEP "," RESULT("1")),
    SAID(STEP "," DONE "," CALL("1") "," RESULT("2") "," ERROR("3") "," DONE),
    WEFT("'agent':'a'"),
    WEFT("'agent':'b','name':'B','model':'m','provider':'p','ended':'2026-01-02T00:00:00Z'"),
    WEFT("'name':'A'"),
    WEFT("'run':'r','partial':true"),
    WEFT("'partial':true"),
    USAGE(TOKENS),
    USAGE(TOKENS ",'reasoningTokens':7"),
    USAGE("'inputTokens':9999999999999999999,'outputTokens':9999999999999999999,'totalTokens':1553255926290448382,"
          "'cacheReadTokens':0,'cacheWriteTokens':0"),
};

/* Each misses it by one thing. */
static const char *const others[] = {
    /* Messages of users. */
    "{'id':'m1','role':'user','metadata':{" TIME "},'parts':[{'type':'text','text':'a'}],'more':1}",
    "{'role':'user','id':'m1','metadata':{" TIME "},'parts':[{'type':'text','text':'a'}]}",
    "{'role':'user','metadata':{" TIME "},'parts':[{'type':'text','text':'a'}]}",
    "{'id':null,'role':'user','metadata':{" TIME "},'parts':[{'type':'text','text':'a'}]}",
    "{'id':'m1','id':'m1','role':'user','metadata':{" TIME "},'parts':[{'type':'text','text':'a'}]}",
    "{'id':'m1','role':'user','parts':[{'type':'text','text':'a'}]}",
    "{'id':'m1','role':'user','metadata':{},'parts':[{'type':'text','text':'a'}]}",
    "{'id':'m1','role':'user','metadata':7,'parts':[{'type':'text','text':'a'}]}",
    "{'id':'m1','role':'user','metadata':{" TIME ",'weft':{'agent':'a'}},'parts':[{'type':'text','text':'a'}]}",
    "{'id':'m1','role':'user','metadata':{" TIME ",'weft':{'name':'a'}},'parts':[{'type':'text','text':'a'}]}",
    "{'id':'m1','role':'user','metadata':{" TIME ",'usage':{" TOKENS "}},'parts':[{'type':'text','text':'a'}]}",
    USER("{'type':'text','text':'a','state':'done'}"),
    USER("{'text':'a','type':'text'}"),
    USER("{'type':'text','text':'a','providerMetadata':{}}"),
    USER("{'type':'text','text':'a'},{'type':'reasoning','text':'a'}"),
    USER("{'type':'text','text':'a'},{'type':'text','text':null}"),
    USER("{'type':'text','text':'a'},{'type':'step-start'}"),
    USER("{'type':'text','text':'a'},{'text':'a'}"),
    USER("{'type':'file','mediaType':'image/png','url':'https://example.org/a.png'}"),
    /* Metadata. */
    ABOUT("'pydantic_ai':{}"),
    ABOUT("'pydantic_ai':'2026-01-01T00:00:00Z'"),
    ABOUT("'pydantic_ai':{'timestamp':7}"),
    ABOUT("'pydantic_ai':{'timestamp':'2026-01-01T00:00:00Z','timestamp':'2026-01-01T00:00:00Z'}"),
    ABOUT("'pydantic_ai':{'timestamp':'2026-01-01T00:00:00Z','more':1}"),
    ABOUT(TIME ",'more':1"),
    ABOUT(TIME "," TIME),
    ABOUT("'weft':{'agent':'a'}," TIME),
    ABOUT("'weft':{'agent':'a'}"),
    ABOUT(TIME ",'usage':{" TOKENS "},'weft':{'agent':'a'}"),
    ABOUT(TIME ",'weft':{},'usage':{" TOKENS "}"),
    ABOUT(TIME ",'weft':'a'"),
    ABOUT(TIME ",'weft_events':{}"),
    WEFT("'agent':'agent'"),
    WEFT("'agent':'a','name':'a'"),
    WEFT("'name':'agent'"),
    WEFT("'name':'A','agent':'a'"),
    WEFT("'agent':'a','more':1"),
    WEFT("'agent':'a','model':null"),
    WEFT("'agent':'a','partial':false"),
    WEFT("'partial':true,'run':'r'"),
    "{'id':'m1','role':'user','metadata':{" TIME ",'weft':{'agent':'a','partial':true}},'parts':[" STEP "," DONE "]}",
    WEFT("'agent':'a','agent':'b'"),
    WEFT("'agent':'a','provider':'p','model':'m'"),
    WEFT("'ended':'2026-01-01T00:00:00Z'"),
    ABOUT(TIME ",'usage':7"),
    USAGE(""),
    USAGE(TOKENS ",'more':1"),
    USAGE(TOKENS ",'reasoningTokens':0"),
    USAGE("'inputTokens':1,'outputTokens':2,'totalTokens':3,'cacheReadTokens':0"),
    USAGE("'inputTokens':1,'outputTokens':2,'totalTokens':3,'cacheReadTokens':0,'reasoningTokens':0"),
    USAGE("'inputTokens':1,'outputTokens':2,'totalTokens':3,'cacheReadTokens':0,'reasoningTokens':1"),
    USAGE("'outputTokens':2,'inputTokens':1,'totalTokens':3,'cacheReadTokens':0,'cacheWriteTokens':5"),
    USAGE("'inputTokens':1,'outputTokens':2,'totalTokens':4,'cacheReadTokens':0,'cacheWriteTokens':5"),
    USAGE("'inputTokens':1.0,'outputTokens':2,'totalTokens':2,'cacheReadTokens':0,'cacheWriteTokens':5"),
    USAGE("'inputTokens':-0,'outputTokens':2,'totalTokens':2,'cacheReadTokens':0,'cacheWriteTokens':5"),
    USAGE("'inputTokens':'1','outputTokens':2,'totalTokens':2,'cacheReadTokens':0,'cacheWriteTokens':5"),
    USAGE(
        "'inputTokens':1,'outputTokens':2,'totalTokens':3,'cacheReadTokens':0,'cacheWriteTokens':99999999999999999999"),
    /* Steps. */
    SAID(DONE),
    SAID(DONE "," STEP "," DONE),
    SAID(STEP "," STEP "," DONE),
    SAID(STEP "," DONE "," STEP),
    SAID("{'type':'step-start','more':1}," DONE),
    SAID(STEP ",{'type':'text','text':'a'}"),
    SAID(STEP ",{'type':'text','text':'a','state':'gone'}"),
    SAID(STEP ",{'type':'text','state':'done','text':'a'}"),
    SAID(STEP ",{'type':'text','text':'a','state':'done','id':'1'}"),
    SAID(STEP ",{'type':'text','text':'a','state':'done','providerMetadata':{'p':{}}}"),
    SAID(STEP "," DONE ",{'type':'custom','text':'a','state':'done'}"),
    SAID(STEP "," DONE ",{'type':'data-x','id':'e','data':1}"),
    SAID(STEP "," DONE ",{'type':'source-url','sourceId':'1','url':'u'}"),
    /* Calls. */
    SAID(STEP "," RESULT("1") "," RESULT("1")),
    SAID(STEP "," RESULT("1") "," CALL("1")),
    SAID(STEP "," DONE "," CALL("")),
    SAID(STEP ",{'type':'dynamic-tool','toolName':'t','toolCallId':'1','state':'input-available','input':{}}"),
    SAID(STEP ",{'type':'tool-t','toolCallId':'1','state':'input-streaming','input':{}}"),
    SAID(STEP ",{'type':'tool-t','toolCallId':'1','state':'input-available'}"),
    SAID(STEP ",{'type':'tool-t','toolCallId':'1','state':'input-available','rawInput':{}}"),
    SAID(STEP ",{'type':'tool-t','toolCallId':'1','state':'input-available','input':{},'output':1}"),
    SAID(STEP ",{'type':'tool-t','toolCallId':'1','state':'output-available','input':{}}"),
    SAID(STEP ",{'type':'tool-t','toolCallId':'1','state':'output-available','output':1,'input':{}}"),
    SAID(STEP ",{'type':'tool-t','toolCallId':'1','state':'output-error','input':{}}"),
    SAID(STEP ",{'type':'tool-t','toolCallId':'1','state':'output-error','input':{},'errorText':7}"),
    SAID(STEP ",{'type':'tool-t','toolCallId':'1','state':'output-error','input':{},'output':'a'}"),
    SAID(STEP ",{'type':'tool-t','toolCallId':'1','state':'output-denied','input':{},"
              "'approval':{'id':'1','approved':false}}"),
    SAID(STEP ",{'type':'tool-t','state':'input-available','toolCallId':'1','input':{}}"),
    SAID(STEP "," DONE ",{'type':'tool-t','state':'input-available','input':{}}"),
};

/* The messages as a document, in which each has what it has alone. */
static void make(struct wb_buf *b, const char *const *messages, size_t n)
{
    wb_buf_add(b, UPP_STR("["));
    for (size_t i = 0; i < n; i++) {
        wb_buf_add(b, UPP_STR(","));
        b->n -= !i;
        for (const char *c = messages[i]; *c; c++)
            wb_buf_addc(b, *c == '\'' ? '"' : *c);
    }
    wb_buf_add(b, UPP_STR("]"));
}

/* Do they come back, and how many of them need not be compared? */
static bool come_back(const char *const *messages, size_t n, size_t want)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM);
    make(&text, messages, n);
    test_note("%.*s", UPP_FMT(wb_buf_str(&text)));
    return test_comes_back_settled(&wd_document_ui, wb_buf_str(&text), want);
}

TEST(ui_plain_messages_are_not_compared)
{
    size_t step = test_brief() ? 5 : 1;
    for (size_t i = 0; i < WB_LEN(plain); i += step)
        CHECK(come_back(&plain[i], 1, 1));
}

TEST(ui_plain_all_others_are)
{
    size_t step = test_brief() ? 13 : 1;
    for (size_t i = 0; i < WB_LEN(others); i += step)
        CHECK(come_back(&others[i], 1, 0));
}

/* The id of a call is looked for among so many parts of its step; behind them the message is compared. */
TEST(ui_plain_looks_for_calls_in_so_many_parts)
{
    enum { NEAR = 16 };
    for (int n = NEAR; n <= NEAR + 1; n++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(ROOM);
        wb_buf_add(&b, UPP_STR("{'id':'m2','role':'assistant','metadata':{" TIME "},'parts':[" STEP ","));
        for (int i = 0; i < n; i++)
            wb_buf_add(&b, UPP_STR(DONE ","));
        wb_buf_add(&b, UPP_STR(CALL("1") "]}"));
        wb_buf_addc(&b, 0);
        CHECK(!b.failed && come_back(&(const char *){b.p}, 1, n == NEAR));
    }
}

/* An agent has the name that was said first; and an id may be called again. */
TEST(ui_plain_messages_beside_others)
{
    static const char *const named[] = {WEFT("'agent':'a','name':'A'"), WEFT("'agent':'a','name':'A'"),
                                        WEFT("'agent':'a','name':'B'"), WEFT("'agent':'a'")};
    static const char *const nameless[] = {WEFT("'agent':'a'"), WEFT("'agent':'a','name':'A'")};
    static const char *const again[] = {SAID(STEP "," CALL("1")), SAID(STEP "," RESULT("1")),
                                        SAID(STEP "," RESULT("1"))};
    CHECK(come_back(named, WB_LEN(named), 2));
    CHECK(come_back(nameless, WB_LEN(nameless), 1));
    CHECK(come_back(again, WB_LEN(again), WB_LEN(again)));
    CHECK(come_back(plain, WB_LEN(plain), WB_LEN(plain) - 1)); /* one names an agent that had no name before */
}

/* Who speaks where nobody is named is the caller's to say. */
TEST(ui_plain_is_asked_on_behalf_of_somebody)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), back = WB_BUF(ROOM);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    static const char *const one = SAID(STEP "," DONE);
    struct upp_err err = {0};
    make(&text, &one, 1);
    CHECK(wd_document_read(&d, &wd_document_ui, wb_buf_str(&text),
                           UPP_OPTS(wd_convert_opts, .agent = UPP_STR("somebody")), &err) >= 0);
    CHECK(!d.lifting.anchors.p[0].settled);
    CHECK(wd_document_write(&d, &wd_document_ui, NULL, &back, NULL, &err) >= 0);
    CHECK_STR(wb_buf_str(&back), wb_buf_str(&text));
}
