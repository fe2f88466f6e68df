/* Messages of UPP that say just what would be written are not compared; those that nearly do are. All come back token
 * for token. */
#include "dialects/core/convert.h"
#include "support/documents.h"
#include "support/test.h"

enum { ROOM = 1 << 20 };

#define TIME    "\"timestamp\":\"2026-01-01T00:00:00.000Z\""
#define CONTENT "\"content\":[{\"type\":\"text\",\"text\":\"x\"}]"
#define USER    "{\"id\":\"u\",\"type\":\"user\"," CONTENT "," TIME "}"

/* Messages of the assistant that say this in metadata.weft, and messages with this instead of what they have. */
#define SAYS(weft)    "{\"id\":\"a\",\"type\":\"assistant\"," CONTENT ",\"metadata\":{\"weft\":{" weft "}}," TIME "}"
#define CALLS(call)   "{\"id\":\"a\",\"type\":\"assistant\",\"content\":[]," TIME ",\"toolCalls\":[" call "]}"
#define GIVES(result) "{\"id\":\"r\",\"type\":\"tool_result\",\"content\":[]," TIME ",\"results\":[" result "]}"
#define CALL          "{\"toolCallId\":\"c\",\"toolName\":\"f\",\"arguments\":{\"n\":[1.0,{}]}}"
#define RESULT        "{\"toolCallId\":\"c\",\"result\":{\"text\":\"\\u0001\"},\"isError\":false}"
#define USAGE                                                                                                          \
    "\"usage\":{\"inputTokens\":12,\"outputTokens\":0,\"totalTokens\":12,\"cacheReadTokens\":3,\"cacheWriteTokens\":"  \
    "0}"
#define USED(in, out, total, more)                                                                                     \
    "\"usage\":{\"inputTokens\":" in ",\"outputTokens\":" out ",\"totalTokens\":" total                                \
    ",\"cacheReadTokens\":0,\"cacheWriteTokens\":0" more "}"
#define DEEP_10(x) "[[[[[[[[[[" x "]]]]]]]]]]"
#define DEEP_130                                                                                                       \
    DEEP_10(DEEP_10(                                                                                                   \
        DEEP_10(DEEP_10(DEEP_10(DEEP_10(DEEP_10(DEEP_10(DEEP_10(DEEP_10(DEEP_10(DEEP_10(DEEP_10("1")))))))))))))

struct row {
    const char *messages;
    unsigned settled; /* so many of them are not compared */
};

static const struct row plain[] = {
    {USER, 1},
    {USER "," USER, 2},
    {"{\"id\":\"\",\"type\":\"user\",\"content\":[]," TIME "}", 1},
    {"{\"id\":\"u\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\\ud800\"}],\"timestamp\":\"0001-01-"
     "01T00:00:00.001Z\"}",
     1},
    {"{\"id\":\"a\",\"type\":\"assistant\",\"content\":[{\"type\":\"reasoning\",\"text\":\"\"}]," TIME "}", 1},
    {CALLS(CALL "," CALL) "," GIVES(RESULT), 2},
    {GIVES(RESULT), 1},
    {GIVES(""), 1},
    {GIVES("{\"toolCallId\":\"c\",\"result\":null,\"isError\":true}"), 1},
    {USER "," SAYS("\"agent\":\"b\",\"name\":\"B\"") "," SAYS("\"agent\":\"b\",\"name\":\"B\""), 3},
    {SAYS("\"model\":\"m\",\"provider\":\"p\",\"response\":\"r\",\"stop\":\"tool_use\"," USAGE), 1},
    {SAYS("\"turn\":{\"id\":\"i\",\"run\":\"r\"," USAGE "},\"model\":\"m\"") "," SAYS("\"turn\":{\"id\":\"i\"}"), 2},
    {SAYS(USED("1", "2", "3", ",\"reasoningTokens\":2")), 1},
    {SAYS(USED("9999999999999999999", "0", "9999999999999999999", "")), 1},
};

/* Of the last message. */
static const struct row not_plain[] = {
    /* Members. */
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT "," TIME ",\"more\":1}", 0},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT "," TIME ",\"id\":\"v\"}", 0},
    {"{\"type\":\"user\",\"id\":\"u\"," CONTENT "," TIME "}", 0},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT "}", 0},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT ",\"timestamp\":\"2026-01-01T00:00:00Z\"}", 0},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT ",\"timestamp\":\"2026-01-01T00:00:00.0000001Z\"}", 0},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT "," TIME ",\"toolCalls\":[]}", 0},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT "," TIME ",\"results\":[" RESULT "]}", 0},
    {"{\"id\":\"a\",\"type\":\"assistant\"," CONTENT "," TIME ",\"toolCalls\":[]}", 0},
    {"{\"id\":\"a\",\"type\":\"assistant\"," CONTENT "," TIME ",\"results\":[]}", 0},
    {"{\"id\":\"r\",\"type\":\"tool_result\"," TIME ",\"results\":[]}", 0},
    {"{\"id\":\"r\",\"type\":\"tool_result\",\"content\":[]," TIME "}", 0},
    {"{\"id\":\"r\",\"type\":\"tool_result\",\"content\":[]," TIME ",\"toolCalls\":[" CALL "]}", 0},

    /* Parts. */
    {"{\"id\":\"u\",\"type\":\"user\",\"content\":[{\"text\":\"x\",\"type\":\"text\"}]," TIME "}", 0},
    {"{\"id\":\"u\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\",\"y\":1}]," TIME "}", 0},
    {"{\"id\":\"u\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\",\"text\":\"y\"}]," TIME "}", 0},
    {"{\"id\":\"u\",\"type\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"bytes\",\"data\":[1]},"
     "\"mimeType\":\"image/png\"}]," TIME "}",
     0},
    {"{\"id\":\"u\",\"type\":\"user\",\"content\":[{\"type\":\"binary\",\"data\":\"AQ\"}]," TIME "}", 0},
    {CALLS("{\"toolName\":\"f\",\"toolCallId\":\"c\",\"arguments\":{}}"), 0},
    {CALLS("{\"toolCallId\":\"c\",\"toolName\":\"f\",\"arguments\":{},\"type\":\"function\"}"), 0},
    {CALLS("{\"toolCallId\":\"c\",\"toolName\":\"f\",\"arguments\":{\"a\":" DEEP_130 "}}"), 0},
    {GIVES("{\"toolCallId\":\"c\",\"isError\":false,\"result\":1}"), 0},
    {GIVES("{\"toolCallId\":\"c\",\"result\":1}"), 0},
    {GIVES("{\"toolCallId\":\"c\",\"result\":1,\"isError\":false,\"x\":1}"), 0},
    {GIVES("{\"toolCallId\":\"c\",\"isError\":false}"), 0},
    {GIVES("{\"toolCallId\":\"c\",\"result\":" DEEP_130 ",\"isError\":false}"), 0},

    /* Metadata. */
    {SAYS(""), 0},
    {SAYS("\"agent\":\"b\",\"else\":1"), 0},
    {SAYS("\"name\":\"B\",\"agent\":\"b\""), 0},
    {SAYS("\"agent\":\"b\",\"agent\":\"b\""), 0},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT ",\"metadata\":{}," TIME "}", 0},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT ",\"metadata\":{\"weft\":1}," TIME "}", 0},
    {"{\"id\":\"a\",\"type\":\"assistant\"," CONTENT ",\"metadata\":{\"weft\":{\"agent\":\"b\"},\"p\":{}}," TIME "}",
     0},
    {"{\"id\":\"a\",\"type\":\"assistant\"," CONTENT "," TIME ",\"metadata\":{\"weft\":{\"agent\":\"b\"}}}", 0},

    /* Agents: said where they need not be, or in another way. */
    {SAYS("\"agent\":\"agent\""), 0},
    {SAYS("\"agent\":\"b\",\"name\":\"b\""), 0},
    {SAYS("\"agent\":\"b\",\"name\":1"), 0},
    {SAYS("\"agent\":1"), 0},
    {SAYS("\"agent\":null"), 0},
    {SAYS("\"agent\":\"b\",\"name\":\"B\"") "," SAYS("\"agent\":\"b\",\"name\":\"C\""), 1},
    {SAYS("\"agent\":\"b\",\"name\":\"B\"") "," SAYS("\"agent\":\"b\""), 1},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT ",\"metadata\":{\"weft\":{\"agent\":\"b\"}}," TIME "}", 0},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT ",\"metadata\":{\"weft\":{\"name\":\"b\"}}," TIME "}", 0},

    /* Turns. */
    {SAYS("\"turn\":{}"), 0},
    {SAYS("\"turn\":1"), 0},
    {SAYS("\"turn\":{\"id\":1}"), 0},
    {SAYS("\"turn\":{\"run\":\"r\",\"id\":\"i\"}"), 0},
    {SAYS("\"turn\":{\"id\":\"i\",\"x\":1}"), 0},
    {SAYS("\"turn\":{\"id\":\"i\",\"started\":\"2026-01-01T00:00:00.000Z\"}"), 0},
    {SAYS("\"turn\":{\"id\":\"i\",\"ended\":\"2026-01-02T00:00:00.000Z\"}"), 0},
    {SAYS("\"turn\":{\"id\":\"i\",\"partial\":false}"), 0},
    {SAYS("\"turn\":{\"id\":\"i\",\"agent\":\"b\"}"), 0},
    {SAYS("\"turn\":{\"id\":\"i\",\"name\":\"b\"}"), 0},
    {SAYS("\"turn\":{\"id\":\"i\",\"usage\":1}"), 0},

    /* The model. */
    {SAYS("\"model\":1"), 0},
    {SAYS("\"provider\":null"), 0},
    {SAYS("\"response\":{}"), 0},
    {SAYS("\"stop\":\"tired\""), 0},
    {SAYS("\"usage\":{}"), 0},
    {SAYS("\"usage\":null"), 0},
    {SAYS(USED("1", "2", "4", "")), 0},
    {SAYS(USED("1.0", "2", "3", "")), 0},
    {SAYS(USED("-0", "0", "0", "")), 0},
    {SAYS(USED("1", "2", "null", "")), 0},
    {SAYS(USED("0", "99999999999999999999", "99999999999999999999", "")), 0},
    {SAYS(USED("1", "2", "3", ",\"reasoningTokens\":0")), 0},
    {SAYS(USED("1", "2", "3", ",\"reasoningTokens\":\"2\"")), 0},
    {SAYS(USED("1", "2", "3", ",\"x\":2")), 0},
    {SAYS("\"usage\":{\"outputTokens\":2,\"inputTokens\":1,\"totalTokens\":3}"), 0},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT ",\"metadata\":{\"weft\":{\"model\":\"m\"}}," TIME "}", 0},
    {"{\"id\":\"u\",\"type\":\"user\"," CONTENT ",\"metadata\":{\"weft\":{" USAGE "}}," TIME "}", 0},

    /* What else is ours. */
    {SAYS("\"model\":\"m\",\"id\":\"a\""), 0},
    {SAYS("\"model\":\"m\",\"more\":false"), 0},
    {SAYS("\"model\":\"m\",\"role\":\"assistant\""), 0},
    {SAYS("\"model\":\"m\",\"parts\":{}"), 0},
    {SAYS("\"model\":\"m\",\"events\":[]"), 0},
    {SAYS("\"model\":\"m\",\"events\":[{\"id\":\"e\"," TIME ",\"said\":{}}]"), 0},
    {SAYS("\"model\":\"m\",\"order\":[\"content\"]"), 0},
    {SAYS("\"model\":\"m\",\"arguments\":{}"), 0},
    {SAYS("\"model\":\"m\",\"interrupted\":true"), 0},
    {SAYS("\"model\":\"m\",\"cut\":[0]"), 0},

    /* What comes behind makes it another: more of it, or another agent. */
    {CALLS(CALL) ",{\"id\":\"a\",\"type\":\"tool_result\",\"content\":[],\"metadata\":{\"weft\":{\"more\":true}}," TIME
                 ",\"results\":[" RESULT "]}",
     0},
    {CALLS(CALL) "," SAYS("\"agent\":\"b\""), 0},

    /* A result whose tool is that of another call. */
    {CALLS(CALL) "," CALLS("{\"toolCallId\":\"c\",\"toolName\":\"g\",\"arguments\":{}}") "," GIVES(
         RESULT) ",{\"id\":\"r\",\"type\":\"tool_result\",\"content\":[],\"metadata\":{\"weft\":{\"parts\":{\"0\":{"
                 "\"name\":\"f\"}}}}," TIME ",\"results\":[" RESULT "]}",
     3},
};

#define DATES "\"createdAt\":\"2026-01-01T00:00:00Z\",\"updatedAt\":\"2026-01-01T00:00:00Z\""

static void put_document(struct wb_buf *b, const struct wd_document_ops *ops, const char *messages)
{
    if (ops == &wd_document_upp)
        wb_buf_addf(b, "{\"id\":\"t\",\"messages\":[%s]," DATES "}", messages);
    else
        wb_buf_addf(b,
                    "{\"version\":\"1.0.0\",\"id\":\"s\",\"agentId\":\"agent\"," DATES ",\"threadTree\":{\"rootId\":"
                    "\"node-0\",\"currentId\":\"node-0\",\"nodes\":[{\"id\":\"node-0\",\"parentId\":null,\"thread\":{"
                    "\"id\":\"thread-0\",\"messages\":[%s]," DATES
                    "},\"children\":[],\"metadata\":{}}]},\"checkpoints\":[],\"metadata\":{}}",
                    messages);
}

static bool comes_back(const struct wd_document_ops *ops, const struct row *row)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM);
    test_note("%s: %s", ops->name, row->messages);
    put_document(&text, ops, row->messages);
    return test_comes_back_settled(ops, wb_buf_str(&text), row->settled);
}

static void all_come_back(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!comes_back(&wd_document_upp, &rows[i]) || !comes_back(&wd_document_uap, &rows[i]))
            return;
}

TEST(upp_plain_messages_are_not_compared)
{
    all_come_back(plain, WB_LEN(plain));
}

TEST(upp_plain_is_only_what_would_be_written)
{
    all_come_back(not_plain, WB_LEN(not_plain));
}
