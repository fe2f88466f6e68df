/* Pydantic AI's messages: what it refuses, what it does not keep; media; generated lists there and back. */
#include "dialects/core/convert.h"
#include "dialects/pai/pai.h"
#include "dialects/pydantic/pydantic.h"
#include "json/read.h"
#include "support/documents.h"
#include "support/test.h"

/* ---- Validation ------------------------------------------------------------------------------------------- */

#define T           "\"2026-02-03T04:05:06Z\""
#define REQUEST(x)  "[{\"kind\":\"request\",\"parts\":[" x "]}]"
#define RESPONSE(x) "[{\"kind\":\"response\",\"timestamp\":" T ",\"parts\":[" x "]}]"
#define ITEM(x)     REQUEST("{\"part_kind\":\"user-prompt\",\"timestamp\":" T ",\"content\":[" x "]}")
#define RETURN(x)                                                                                                      \
    REQUEST("{\"part_kind\":\"tool-return\",\"tool_name\":\"t\",\"content\":1,\"tool_call_id\":\"i\",\"timestamp\":" T \
            "," x "}")
#define CALL(x)  RESPONSE("{\"part_kind\":\"tool-call\",\"tool_call_id\":\"i\"," x "}")
#define SAID(x)  "[{\"kind\":\"response\",\"parts\":[],\"timestamp\":" T "," x "}]"
#define ASKED(x) "[{\"kind\":\"request\",\"parts\":[]," x "}]"
#define TIME(x)  ASKED("\"timestamp\":" x)
#define RETRY(x)                                                                                                       \
    REQUEST("{\"part_kind\":\"retry-prompt\",\"tool_call_id\":\"i\",\"timestamp\":" T ",\"content\":[" x "]}")
#define SPEECH "{\"part_kind\":\"speech\",\"speaker\":"

struct row {
    const char *json;
    const char *pointer; /* NULL: no problem at all; of the first problem */
    const char *rule;
    uint8_t severity;
};

#define GOOD(json_)                                                                                                    \
    {                                                                                                                  \
        json_, NULL, NULL, 0                                                                                           \
    }
#define BAD(json_, pointer_, rule_)                                                                                    \
    {                                                                                                                  \
        json_, pointer_, rule_, WD_ERROR                                                                               \
    }
#define HMM(json_, pointer_, rule_)                                                                                    \
    {                                                                                                                  \
        json_, pointer_, rule_, WD_WARNING                                                                             \
    }

static bool judged(const struct row *row)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 << 20);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    const struct wd_document_ops *ops;
    struct upp_err err = {0};
    int r = wd_document_validate(&wd_document_pydantic, wb_cstr(row->json), &a, &p, &ops, &err);
    test_note("%s: %s %s", row->json, err.where, err.msg);
    if (!EXPECT(r == 0))
        return false;
    if (p.list.n)
        test_note("%s %s %s", p.list.p[0].rule, p.list.p[0].pointer.p, p.list.p[0].sentence.p);
    if (!row->pointer)
        return EXPECT(!p.list.n && !p.errors && !p.warnings);
    return EXPECT(p.list.n == 1) && EXPECT(wb_str_eq(p.list.p[0].pointer, wb_cstr(row->pointer))) &&
           EXPECT(strcmp(p.list.p[0].rule, row->rule) == 0) && EXPECT(p.list.p[0].severity == row->severity) &&
           EXPECT(p.errors == (row->severity == WD_ERROR));
}

static bool all_judged(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!judged(&rows[i]))
            return false;
    return true;
}

/* covers: TP-45/1 */
TEST(dialect_pydantic_refuses_messages)
{
    static const struct row rows[] = {
        GOOD("[]"),
        BAD("{}", "", "PAI-1.0"),
        BAD("[1]", "/0", "PAI-1.0"),
        BAD("[{\"parts\":[]}]", "/0", "PAI-1.0"),
        BAD("[{\"kind\":\"answer\",\"parts\":[]}]", "/0/kind", "PAI-1.0"),
        BAD("[{\"kind\":7,\"parts\":[]}]", "/0/kind", "PAI-1.0"),
        BAD("[{\"kind\":\"request\"}]", "/0", "PAI-1.1"),
        BAD("[{\"kind\":\"request\",\"parts\":null}]", "/0/parts", "PAI-1.1"),
        BAD(ASKED("\"metadata\":[]"), "/0/metadata", "PAI-1.1"),
        BAD(ASKED("\"instructions\":1"), "/0/instructions", "PAI-1.1"),
        BAD(ASKED("\"state\":\"suspended\""), "/0/state", "PAI-1.1"),
        BAD(ASKED("\"metadata\":{\"a\":[\"\\ud800\"]}"), "/0/metadata/a/0", "PAI-1.0"),
        GOOD(ASKED("\"timestamp\":null,\"run_id\":null,\"state\":\"interrupted\"")),
        GOOD(SAID("\"state\":\"suspended\",\"finish_reason\":null,\"vendor_id\":\"v\"")),
        BAD(SAID("\"state\":null"), "/0/state", "PAI-1.2"),
        BAD(SAID("\"finish_reason\":\"tools\""), "/0/finish_reason", "PAI-1.2"),
        BAD(SAID("\"usage\":null"), "/0/usage", "PAI-1.2"),
        BAD(SAID("\"usage\":[]"), "/0/usage", "PAI-1.2"),
        BAD(SAID("\"usage\":{\"input_tokens\":null}"), "/0/usage/input_tokens", "PAI-1.2"),
        BAD(SAID("\"usage\":{\"input_tokens\":1.5}"), "/0/usage/input_tokens", "PAI-1.2"),
        BAD(SAID("\"usage\":{\"output_tokens\":\"x\"}"), "/0/usage/output_tokens", "PAI-1.2"),
        BAD(SAID("\"usage\":{\"details\":{\"a\":null}}"), "/0/usage/details/a", "PAI-1.2"),
        BAD(SAID("\"usage\":{\"details\":[1]}"), "/0/usage/details", "PAI-1.2"),
        BAD(SAID("\"usage\":{\"cost\":\"NaN\"}"), "/0/usage/cost", "PAI-1.2"),
        BAD(SAID("\"usage\":{\"cost\":true}"), "/0/usage/cost", "PAI-1.2"),
        BAD(SAID("\"usage\":{\"cost\":\"1e\"}"), "/0/usage/cost", "PAI-1.2"),
        GOOD(SAID("\"usage\":{\"request_tokens\":null,\"total_tokens\":null,\"more\":{},\"details\":null}")),
        GOOD(SAID("\"usage\":{\"input_tokens\":\" -5.00\",\"output_tokens\":true,\"details\":{\"a\":1e2}}")),
        BAD(SAID("\"usage\":{\"input_tokens\":1e20}"), "/0/usage/input_tokens", "PAI-1.2"),
        GOOD(SAID("\"usage\":{\"input_tokens\":100000000000000000000,\"details\":0.0}")),
        GOOD(SAID("\"usage\":{\"cost\":\"-.5e+3\",\"cache_read_tokens\":\"1_000\"}")),
        BAD(SAID("\"usage\":{\"cache_read_tokens\":\"1__0\"}"), "/0/usage/cache_read_tokens", "PAI-1.2"),
        BAD("[{\"kind\":\"response\",\"parts\":[],\"timestamp\":null}]", "/0/timestamp", "PAI-1.2"),
        HMM("[{\"kind\":\"response\",\"parts\":[]}]", "/0", "PAI-1.2"),
        HMM(ASKED("\"more\":1"), "/0/more", "PAI-1.0"),
        HMM(SAID("\"provider_request_id\":\"x\""), "/0/provider_request_id", "PAI-1.0"),
        HMM(ASKED("\"run_id\":1,\"run_id\":\"a\""), "/0/run_id", "PAI-1.0"),
    };
    CHECK(all_judged(rows, WB_LEN(rows)));
}

TEST(dialect_pydantic_refuses_times)
{
    static const struct row rows[] = {
        GOOD(TIME("\"2026-02-03\"")),
        GOOD(TIME("\"2026-02-03 04:05\"")),
        GOOD(TIME("\"2026-02-03t04:05:06.123456789z\"")),
        GOOD(TIME("\"2026-02-03_04:05:06,5+0530\"")),
        GOOD(TIME("1700000000.5")),
        GOOD(TIME("\"-5\"")),
        GOOD(TIME("253402300799000")),
        BAD(TIME("253402300800000"), "/0/timestamp", "PAI-1.1"),
        BAD(TIME("1e400"), "/0/timestamp", "PAI-1.1"),
        BAD(TIME("true"), "/0/timestamp", "PAI-1.1"),
        BAD(TIME("\"\""), "/0/timestamp", "PAI-1.1"),
        BAD(TIME("\"20260203T040506Z\""), "/0/timestamp", "PAI-1.1"),
        BAD(TIME("\"2026-02-03T24:05:06Z\""), "/0/timestamp", "PAI-1.1"),
        BAD(TIME("\"2026-02-03T04:05:60Z\""), "/0/timestamp", "PAI-1.1"),
        BAD(TIME("\"2026-02-30T04:05:06Z\""), "/0/timestamp", "PAI-1.1"),
        BAD(TIME("\"2026-02-03T04:05:06+05\""), "/0/timestamp", "PAI-1.1"),
        BAD(TIME("\"2026-02-03T04:05:06."
                 "0000000000000000000000000000000000000000000000000000000000000000000000000000x\""),
            "/0/timestamp", "PAI-1.1"),
    };
    CHECK(all_judged(rows, WB_LEN(rows)));
}

TEST(dialect_pydantic_refuses_parts)
{
    static const struct row rows[] = {
        BAD(REQUEST("7"), "/0/parts/0", "PAI-1.3"),
        BAD(REQUEST("{\"content\":\"x\"}"), "/0/parts/0", "PAI-1.3"),
        BAD(REQUEST("{\"part_kind\":\"x\"}"), "/0/parts/0/part_kind", "PAI-1.3"),
        BAD(REQUEST("{\"part_kind\":\"text\",\"content\":\"x\"}"), "/0/parts/0/part_kind", "PAI-1.3"),
        BAD(RESPONSE("{\"part_kind\":\"user-prompt\",\"content\":\"x\"}"), "/0/parts/0/part_kind", "PAI-1.4"),
        HMM(REQUEST("{\"part_kind\":\"retry-feedback\"}"), "/0/parts/0/part_kind", "PAI-1.7"),
        HMM(REQUEST("{\"part_kind\":\"compaction\"}"), "/0/parts/0/part_kind", "PAI-1.7"),
        BAD(REQUEST("{\"part_kind\":\"system-prompt\",\"content\":null,\"timestamp\":" T "}"), "/0/parts/0/content",
            "PAI-1.3"),
        BAD(REQUEST("{\"part_kind\":\"user-prompt\",\"timestamp\":" T "}"), "/0/parts/0", "PAI-1.3"),
        BAD(REQUEST("{\"part_kind\":\"user-prompt\",\"content\":\"\",\"timestamp\":null}"), "/0/parts/0/timestamp",
            "PAI-1.3"),
        HMM(REQUEST("{\"part_kind\":\"user-prompt\",\"content\":\"\"}"), "/0/parts/0", "PAI-1.3"),
        GOOD(RETURN("\"outcome\":\"denied\",\"metadata\":[1],\"tool_kind\":null")),
        BAD(RETURN("\"outcome\":null"), "/0/parts/0/outcome", "PAI-1.3"),
        BAD(RETURN("\"outcome\":\"lost\""), "/0/parts/0/outcome", "PAI-1.3"),
        HMM(RETURN("\"outcome\":\"retried\""), "/0/parts/0/outcome", "PAI-1.7"),
        HMM(RETURN("\"tool_kind\":\"x\""), "/0/parts/0/tool_kind", "PAI-1.7"),
        BAD(RETURN("\"tool_kind\":7"), "/0/parts/0/tool_kind", "PAI-1.3"),
        BAD(REQUEST("{\"part_kind\":\"tool-return\",\"tool_name\":null,\"content\":1,\"tool_call_id\":\"i\","
                    "\"timestamp\":" T "}"),
            "/0/parts/0/tool_name", "PAI-1.3"),
        BAD(REQUEST("{\"part_kind\":\"tool-return\",\"tool_name\":\"t\",\"tool_call_id\":\"i\",\"timestamp\":" T "}"),
            "/0/parts/0", "PAI-1.3"),
        HMM(REQUEST("{\"part_kind\":\"tool-return\",\"tool_name\":\"t\",\"content\":null,\"timestamp\":" T "}"),
            "/0/parts/0", "PAI-1.3"),
        GOOD(RETRY("{\"type\":\"a\",\"loc\":[\"a\",1,1.0],\"msg\":\"m\",\"input\":null,\"ctx\":{},\"url\":\"u\"}")),
        BAD(RETRY("{\"type\":\"a\",\"loc\":[null],\"msg\":\"m\",\"input\":1}"), "/0/parts/0/content/0/loc/0",
            "PAI-1.3"),
        BAD(RETRY("{\"type\":\"a\",\"loc\":{},\"msg\":\"m\",\"input\":1}"), "/0/parts/0/content/0/loc", "PAI-1.3"),
        BAD(RETRY("{\"type\":\"a\",\"loc\":[],\"msg\":\"m\"}"), "/0/parts/0/content/0", "PAI-1.3"),
        BAD(RETRY("{\"type\":\"a\",\"loc\":[],\"msg\":\"m\",\"input\":1,\"ctx\":null}"), "/0/parts/0/content/0/ctx",
            "PAI-1.3"),
        BAD(RETRY("\"x\""), "/0/parts/0/content/0", "PAI-1.3"),
        HMM(RETRY("{\"type\":\"a\",\"loc\":[],\"msg\":\"m\",\"input\":1,\"more\":1}"), "/0/parts/0/content/0/more",
            "PAI-1.0"),
        BAD(REQUEST("{\"part_kind\":\"retry-prompt\",\"content\":1,\"tool_call_id\":\"i\",\"timestamp\":" T "}"),
            "/0/parts/0/content", "PAI-1.3"),
        GOOD(REQUEST("{\"part_kind\":\"tool-availability-delta\",\"added\":[\"a\"]}")),
        BAD(REQUEST("{\"part_kind\":\"tool-availability-delta\",\"tools_added\":[1]}"), "/0/parts/0/tools_added/0",
            "PAI-1.3"),
        GOOD(REQUEST(SPEECH "\"user\",\"interrupted_at_ms\":5}")),
        BAD(REQUEST(SPEECH "\"assistant\"}"), "/0/parts/0/speaker", "PAI-1.3"),
        BAD(RESPONSE(SPEECH "\"user\"}"), "/0/parts/0/speaker", "PAI-1.4"),
        BAD(REQUEST(SPEECH "\"user\",\"audio\":7}"), "/0/parts/0/audio", "PAI-1.3"),
        BAD(REQUEST(SPEECH "\"user\",\"audio\":{\"data\":\"\"}}"), "/0/parts/0/audio", "PAI-1.5"),
        BAD(RESPONSE("{\"part_kind\":\"text\",\"content\":null}"), "/0/parts/0/content", "PAI-1.4"),
        BAD(RESPONSE("{\"part_kind\":\"text\",\"content\":\"\",\"provider_details\":[]}"),
            "/0/parts/0/provider_details", "PAI-1.4"),
        BAD(RESPONSE("{\"part_kind\":\"thinking\",\"content\":null}"), "/0/parts/0/content", "PAI-1.4"),
        GOOD(CALL("\"tool_name\":\"t\"")),
        GOOD(CALL("\"tool_name\":\"t\",\"args\":\"no JSON\"")),
        BAD(CALL("\"tool_name\":\"t\",\"args\":[]"), "/0/parts/0/args", "PAI-1.4"),
        BAD(CALL("\"tool_name\":\"t\",\"args\":7"), "/0/parts/0/args", "PAI-1.4"),
        BAD(CALL("\"args\":{}"), "/0/parts/0", "PAI-1.4"),
        BAD(RESPONSE("{\"part_kind\":\"tool-call\",\"tool_name\":\"t\",\"tool_call_id\":null}"),
            "/0/parts/0/tool_call_id", "PAI-1.4"),
        GOOD(RESPONSE("{\"part_kind\":\"compaction\"}")),
        BAD(RESPONSE("{\"part_kind\":\"file\",\"content\":\"x\"}"), "/0/parts/0/content", "PAI-1.4"),
        BAD(RESPONSE("{\"part_kind\":\"file\",\"content\":{\"kind\":\"file\",\"data\":\"\",\"media_type\":\"a/b\"}}"),
            "/0/parts/0/content/kind", "PAI-1.5"),
    };
    CHECK(all_judged(rows, WB_LEN(rows)));
}

TEST(dialect_pydantic_refuses_tools_of_a_kind)
{
#define SEARCH  "\"tool_kind\":\"tool-search\",\"tool_name\":\"search_tools\""
#define LOAD    "\"tool_kind\":\"capability-load\",\"tool_name\":\"load_capability\""
#define GAVE(x) REQUEST("{\"part_kind\":\"tool-return\",\"tool_call_id\":\"i\",\"timestamp\":" T "," x "}")
    static const struct row rows[] = {
        GOOD(CALL(SEARCH)),
        GOOD(CALL(SEARCH ",\"args\":\"\"")),
        GOOD(CALL(SEARCH ",\"args\":{\"queries\":[\"a\"]}")),
        BAD(CALL(SEARCH ",\"args\":{\"queries\":\"a\"}"), "/0/parts/0/args/queries", "PAI-1.4"),
        BAD(CALL(SEARCH ",\"args\":{}"), "/0/parts/0/args", "PAI-1.4"),
        HMM(CALL(SEARCH ",\"args\":{\"queries\":[],\"more\":1}"), "/0/parts/0/args/more", "PAI-1.0"),
        BAD(CALL("\"tool_kind\":\"tool-search\",\"tool_name\":\"x\""), "/0/parts/0/tool_name", "PAI-1.4"),
        GOOD(CALL(LOAD ",\"args\":{\"id\":\"a\"}")),
        BAD(CALL(LOAD ",\"args\":{\"id\":1}"), "/0/parts/0/args/id", "PAI-1.4"),
        GOOD(GAVE(SEARCH ",\"content\":{\"discovered_tools\":[{\"name\":\"a\"}],\"message\":\"m\"}")),
        BAD(GAVE(SEARCH ",\"content\":{\"discovered_tools\":[{}]}"), "/0/parts/0/content/discovered_tools/0",
            "PAI-1.3"),
        BAD(GAVE(SEARCH ",\"content\":{\"discovered_tools\":{}}"), "/0/parts/0/content/discovered_tools", "PAI-1.3"),
        BAD(GAVE(SEARCH ",\"content\":{\"discovered_tools\":[1]}"), "/0/parts/0/content/discovered_tools/0", "PAI-1.3"),
        BAD(GAVE(SEARCH ",\"content\":\"x\""), "/0/parts/0/content", "PAI-1.3"),
        GOOD(GAVE(LOAD ",\"content\":{}")),
        GOOD(GAVE(LOAD ",\"content\":{},\"outcome\":\"success\"")),
        HMM(GAVE(LOAD ",\"content\":\"broken\",\"outcome\":\"failed\""), "/0/parts/0/tool_kind", "PAI-1.7"),
        BAD(GAVE(LOAD ",\"content\":{\"instructions\":null}"), "/0/parts/0/content/instructions", "PAI-1.3"),
        GOOD(RESPONSE("{\"part_kind\":\"builtin-tool-call\",\"tool_call_id\":\"i\",\"tool_kind\":\"tool-search\","
                      "\"tool_name\":\"tool_search\"}")),
        BAD(RESPONSE("{\"part_kind\":\"builtin-tool-call\",\"tool_call_id\":\"i\"," SEARCH "}"), "/0/parts/0/tool_name",
            "PAI-1.4"),
        GOOD(RESPONSE("{\"part_kind\":\"builtin-tool-return\",\"tool_call_id\":\"i\",\"timestamp\":" T
                      ",\"content\":1,\"tool_kind\":\"capability-load\",\"tool_name\":\"x\"}")),
    };
    CHECK(all_judged(rows, WB_LEN(rows)));
}

TEST(dialect_pydantic_refuses_items)
{
    static const struct row rows[] = {
        GOOD(ITEM("\"x\",{\"kind\":\"image-url\",\"url\":\"u\",\"force_download\":\"YES\",\"media_type\":null}")),
        GOOD(ITEM("{\"kind\":\"image-url\",\"url\":\"u\",\"force_download\":1}")),
        BAD(ITEM("1"), "/0/parts/0/content/0", "PAI-1.5"),
        HMM(ITEM("{}"), "/0/parts/0/content/0", "PAI-1.5"),
        BAD(ITEM("{\"kind\":\"x\"}"), "/0/parts/0/content/0/kind", "PAI-1.5"),
        HMM(ITEM("{\"kind\":\"structured-content\"}"), "/0/parts/0/content/0/kind", "PAI-1.7"),
        BAD(ITEM("{\"kind\":\"audio-url\",\"url\":null}"), "/0/parts/0/content/0/url", "PAI-1.5"),
        BAD(ITEM("{\"kind\":\"image-url\",\"url\":\"u\",\"force_download\":null}"),
            "/0/parts/0/content/0/force_download", "PAI-1.5"),
        BAD(ITEM("{\"kind\":\"image-url\",\"url\":\"u\",\"force_download\":2}"), "/0/parts/0/content/0/force_download",
            "PAI-1.5"),
        GOOD(ITEM("{\"kind\":\"video-url\",\"url\":\"u\",\"force_download\":\"allow-local\"}")),
        BAD(ITEM("{\"kind\":\"image-url\",\"url\":\"u\",\"vendor_metadata\":[]}"),
            "/0/parts/0/content/0/vendor_metadata", "PAI-1.5"),
        BAD(ITEM("{\"kind\":\"binary\",\"data\":\"-_8=\"}"), "/0/parts/0/content/0", "PAI-1.5"),
        GOOD(ITEM("{\"kind\":\"binary\",\"data\":\"-_8\",\"media_type\":\"a/b\",\"identifier\":null}")),
        BAD(ITEM("{\"kind\":\"binary\",\"data\":\"-/8=\",\"media_type\":\"a/b\"}"), "/0/parts/0/content/0/data",
            "PAI-1.5"),
        BAD(ITEM("{\"kind\":\"binary\",\"data\":\"-_9\",\"media_type\":\"a/b\"}"), "/0/parts/0/content/0/data",
            "PAI-1.5"),
        BAD(ITEM("{\"kind\":\"binary\",\"data\":7,\"media_type\":\"a/b\"}"), "/0/parts/0/content/0/data", "PAI-1.5"),
        BAD(ITEM("{\"kind\":\"text-content\",\"content\":null}"), "/0/parts/0/content/0/content", "PAI-1.5"),
        GOOD(ITEM("{\"kind\":\"cache-point\"}")),
        BAD(ITEM("{\"kind\":\"cache-point\",\"ttl\":\"2m\"}"), "/0/parts/0/content/0/ttl", "PAI-1.5"),
        GOOD(ITEM("{\"kind\":\"uploaded-file\",\"file_id\":\"f\",\"provider_name\":\"xai\"}")),
        BAD(ITEM("{\"kind\":\"uploaded-file\",\"file_id\":\"f\",\"provider_name\":\"x\"}"),
            "/0/parts/0/content/0/provider_name", "PAI-1.5"),
        HMM(ITEM("{\"kind\":\"cache-point\",\"more\":1}"), "/0/parts/0/content/0/more", "PAI-1.0"),
    };
    CHECK(all_judged(rows, WB_LEN(rows)));
}

/* ---- Media and times ---------------------------------------------------------------------------------------- */

TEST(dialect_pydantic_names_media)
{
    static const struct {
        struct upp_media m;
        const char *name; /* NULL: no base64 */
    } rows[] = {
        {{.source = UPP_SOURCE_URL, .data = UPP_STR_INIT("https://x/a.png")}, "50173a"},
        {{.source = UPP_SOURCE_BASE64, .data = UPP_STR_INIT("+/8=")}, "4a2304"},
        {{.source = UPP_SOURCE_BASE64, .data = UPP_STR_INIT("+//+Pg==")}, "bc1da4"},
        {{.source = UPP_SOURCE_BASE64, .data = UPP_STR_INIT("")}, "da39a3"},
        {{.source = UPP_SOURCE_BASE64, .data = UPP_STR_INIT("!")}, NULL},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        char out[WD_PAI_IDENTIFIER];
        struct upp_err err = {0};
        struct upp_str name = wd_pai_identifier(&rows[i].m, out, &err);
        CHECK(err.code != UPP_ENOMEM);
        CHECK(rows[i].name ? wb_str_eq(name, wb_cstr(rows[i].name)) : !name.p && err.code == UPP_EINVALID);
    }
}

TEST(dialect_pydantic_guesses_types)
{
    static const struct {
        const char *url, *type;
        uint8_t kind;
    } rows[] = {
        {"https://x.org/a.PNG?size=2.gif#x.pdf", "image/png", UPP_PART_IMAGE},
        {"https://x.org/a.b/c", "application/octet-stream", UPP_PART_IMAGE},
        {"https://x.org", "application/octet-stream", UPP_PART_DOCUMENT},
        {"", "application/octet-stream", UPP_PART_DOCUMENT},
        {"a.", "application/octet-stream", UPP_PART_DOCUMENT},
        {"a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", UPP_PART_DOCUMENT},
        {"https://youtu.be/x", "video/mp4", UPP_PART_VIDEO},
        {"https://WWW.youtube.com:443/x", "video/mp4", UPP_PART_VIDEO},
        {"https://youtu.be/x", "application/octet-stream", UPP_PART_AUDIO},
        {"https://youtu.be.org/x", "application/octet-stream", UPP_PART_VIDEO},
        {"data:audio/wav;base64,AAAA", "audio/wav", UPP_PART_AUDIO},
        {"data:,a/b", "text/plain", UPP_PART_DOCUMENT},
        {"data:", "text/plain", UPP_PART_DOCUMENT},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        test_note("%s", rows[i].url);
        CHECK(wb_str_eq(wd_pai_media_type(wb_cstr(rows[i].url), rows[i].kind), wb_cstr(rows[i].type)));
    }
}

/* What stands beside a medium is as long as the document lets it be. */
TEST_WITH(dialect_pydantic_keeps_long_identifiers, .no_torture = "nothing but a long text")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(16 << 20), thread = WB_BUF(64 << 20), back = WB_BUF(64 << 20);
    struct upp_err err = {0};
    wb_buf_addf(&text,
                "[{\"parts\":[{\"content\":[{\"url\":\"https://example.org/a.png\",\"identifier\":\"%0*d\",\"kind\":"
                "\"image-url\"}],\"timestamp\":\"2026-01-01T00:00:00Z\",\"part_kind\":\"user-prompt\"}],\"kind\":"
                "\"request\"}]",
                2 << 20, 7);
    CHECK(wb_buf_check(&text, &err) == 0);
    CHECK_INT(test_convert(wb_buf_str(&text), &wd_document_pydantic, &wd_document_thread, &thread, NULL, &err), 0);
    CHECK_INT(test_convert(wb_buf_str(&thread), &wd_document_thread, &wd_document_pydantic, &back, NULL, &err), 0);
    CHECK(wb_str_eq(wb_buf_str(&back), wb_buf_str(&text)));
}

/* From another dialect: what Pydantic AI would say of it, as it would say it. */
TEST(dialect_pydantic_fills_in_what_pydantic_ai_says)
{
    static const char thread[] =
        "{\"version\":\"2.0.0\",\"thread_id\":\"t\",\"created_at\":" T ",\"updated_at\":" T ",\"agents\":{},"
        "\"turns\":[{\"turn_type\":\"user\",\"turn_id\":\"u\",\"submitted_at\":\"2026-02-03t04:05:06.5z\",\"parts\":["
        "{\"part_kind\":\"user-prompt\",\"content\":[{\"kind\":\"image-url\",\"url\":\"https://x/a.png\","
        "\"force_download\":7,\"vendor_metadata\":[]},{\"kind\":\"binary\",\"data\":\"+/8=\"}]}]}]}";
    static const char expected[] =
        "[{\"parts\":[{\"content\":[{\"url\":\"https://x/a.png\",\"force_download\":false,\"vendor_metadata\":null,"
        "\"kind\":\"image-url\",\"media_type\":\"image/png\",\"identifier\":\"50173a\"},{\"data\":\"-_8=\","
        "\"media_type\":\"application/octet-stream\",\"vendor_metadata\":null,\"kind\":\"binary\","
        "\"identifier\":\"4a2304\"}],\"timestamp\":\"2026-02-03T04:05:06.500000Z\",\"part_kind\":\"user-prompt\"}],"
        "\"timestamp\":\"2026-02-03T04:05:06.500000Z\",\"instructions\":null,\"kind\":\"request\",\"run_id\":null,"
        "\"conversation_id\":null,\"metadata\":null,\"state\":\"complete\"}]";
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20), back = WB_BUF(1 << 20);
    struct upp_err err = {0};
    CHECK(test_convert(wb_cstr(thread), &wd_document_thread, &wd_document_pydantic, &out, NULL, &err) == 0);
    CHECK(test_expect_str(wb_buf_str(&out), wb_cstr(expected), __FILE__, __LINE__, "filled in"));
    CHECK(test_convert(wb_cstr(expected), &wd_document_pydantic, &wd_document_pydantic, &back, NULL, &err) == 0);
    CHECK(test_expect_str(wb_buf_str(&back), wb_cstr(expected), __FILE__, __LINE__, "and comes back"));
}

/* Where the tools of calls come from: the words that are known are stored, what else is there comes back. */
TEST(dialect_pydantic_takes_known_sources_alone)
{
    static const char list[] =
        "[{\"kind\":\"response\",\"parts\":[{\"part_kind\":\"tool-call\",\"tool_name\":\"t\",\"tool_call_id\":\"a\"},"
        "{\"part_kind\":\"tool-call\",\"tool_name\":\"t\",\"tool_call_id\":\"b\"},"
        "{\"part_kind\":\"tool-call\",\"tool_name\":\"t\",\"tool_call_id\":\"c\"}],\"timestamp\":" T ",\"metadata\":"
        "{\"weft\":{\"sources\":{\"a\":{\"source\":\"mcp\",\"server\":\"s\",\"junk\":[1]},\"b\":{\"junk\":{\"x\":1}},"
        "\"c\":{\"source\":\"mcp\",\"server\":{\"junk\":2}}}}}}]";
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20), back = WB_BUF(1 << 20);
    struct upp_err err = {0};
    CHECK_INT(test_convert(wb_cstr(list), &wd_document_pydantic, &wd_document_upp, &out, NULL, &err), 0);
    CHECK(wb_str_find(wb_buf_str(&out), UPP_STR("\"weft\":{\"source\":\"mcp\",\"server\":\"s\"}"), 0) != SIZE_MAX);
    CHECK(wb_str_find(wb_buf_str(&out), UPP_STR("\"weft\":{\"source\":\"mcp\"}"), 0) != SIZE_MAX);
    CHECK(wb_str_find(wb_buf_str(&out), UPP_STR("junk"), 0) == SIZE_MAX);
    CHECK_INT(test_convert(wb_cstr(list), &wd_document_pydantic, &wd_document_pydantic, &back, NULL, &err), 0);
    CHECK_STR(wb_buf_str(&back), wb_cstr(list));
}

/* ---- Generated messages ------------------------------------------------------------------------------------- */

struct gen {
    uint64_t state;
    struct wb_buf out;
};

static uint32_t below(struct gen *g, uint32_t n)
{
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->state >> 33) % n;
}

static void put(struct gen *g, const char *text)
{
    wb_buf_add(&g->out, wb_cstr(text));
}

#define PICK(g, ...)                                                                                                   \
    pick((g), (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
static const char *pick(struct gen *g, const char *const *list, size_t n)
{
    return list[below(g, (uint32_t)n)];
}

/* A member most of the time, with one of these values; the comma is before it. */
#define MEMBER(g, name, ...) member((g), (name), PICK((g), __VA_ARGS__))
static void member(struct gen *g, const char *name, const char *json)
{
    if (below(g, 5)) {
        put(g, ",\"");
        put(g, name);
        put(g, "\":");
        put(g, json);
    }
}

#define TEXTS  "\"\"", "\"a\"", "\"{\\\"a\\\":1}\"", "\"\\u00e9\\ud83d\\ude00\"", "\"null\"", "\"two\\nlines\""
#define THINGS "null", "true", "7", "1.50", "1e400", "[]", "{}", "[1,{\"a\":null}]", "{\"b\":[],\"a\":\"x\"}", TEXTS
#define TIMES  T, "null", "\"2026-02-03T04:05:06.5+05:30\"", "\"2026-02-03\"", "1700000000", "\"never\""
#define IDS    "\"i1\"", "\"i2\"", "null", "\"\""

static void put_provider(struct gen *g)
{
    MEMBER(g, "id", "null", "\"x\"");
    MEMBER(g, "provider_name", "null", "\"openai\"");
    MEMBER(g, "provider_details", "null", "{}", "{\"a\":[1]}", "7");
    if (!below(g, 9))
        MEMBER(g, "tomorrow", THINGS);
}

static void put_item(struct gen *g)
{
    put(g,
        PICK(g, "\"\"", "\"a\"", "{\"kind\":\"cache-point\"}", "{\"kind\":\"tomorrow\",\"url\":\"u\"}", "null",
             "{\"kind\":\"binary\",\"data\":\"-_8=\",\"media_type\":\"image/png\",\"identifier\":\"4a2304\"}",
             "{\"kind\":\"binary\",\"data\":\"+/8\",\"media_type\":null}", "{\"kind\":\"binary\",\"data\":\"!\"}",
             "{\"kind\":\"image-url\",\"url\":\"https://x/a.png\",\"force_download\":\"allow-local\"}",
             "{\"url\":\"https://x/a\",\"force_download\":false,\"vendor_metadata\":{\"a\":1},\"kind\":\"audio-url\"}",
             "{\"kind\":\"text-content\",\"content\":\"x\",\"metadata\":null}"));
}

static void put_prompt(struct gen *g)
{
    put(g, "{\"part_kind\":\"user-prompt\"");
    if (below(g, 2))
        MEMBER(g, "content", TEXTS);
    else {
        put(g, ",\"content\":[");
        for (uint32_t i = 0, n = below(g, 4); i < n; i++) {
            put(g, i ? "," : "");
            put_item(g);
        }
        put(g, "]");
    }
    MEMBER(g, "timestamp", TIMES);
    put(g, "}");
}

static void put_request_part(struct gen *g)
{
    if (below(g, 3) == 0) {
        put_prompt(g);
        return;
    }
    put(g, "{\"part_kind\":");
    put(g, PICK(g, "\"tool-return\"", "\"tool-return\"", "\"retry-prompt\"", "\"system-prompt\"", "\"tomorrow\"",
                "\"text\"", "\"speech\""));
    MEMBER(g, "tool_name", "\"t\"", "\"u\"", "null");
    MEMBER(g, "content", THINGS);
    MEMBER(g, "tool_call_id", IDS);
    MEMBER(g, "metadata", THINGS);
    MEMBER(g, "outcome", "\"success\"", "\"denied\"", "\"failed\"", "\"lost\"", "null");
    MEMBER(g, "timestamp", TIMES);
    put(g, "}");
}

static void put_response_part(struct gen *g)
{
    put(g, "{\"part_kind\":");
    put(g, PICK(g, "\"text\"", "\"text\"", "\"thinking\"", "\"tool-call\"", "\"tool-call\"", "\"file\"",
                "\"compaction\"", "\"builtin-tool-call\"", "\"tool-return\"", "7"));
    MEMBER(g, "content", TEXTS, "null", "{\"kind\":\"binary\",\"data\":\"-_8=\",\"media_type\":\"a/b\"}");
    MEMBER(g, "tool_name", "\"t\"", "\"u\"", "null");
    MEMBER(g, "args", THINGS);
    MEMBER(g, "tool_call_id", IDS);
    MEMBER(g, "signature", "null", "\"s\"");
    put_provider(g);
    put(g, "}");
}

static void put_message(struct gen *g)
{
    bool request = below(g, 2);
    put(g, request ? "{\"kind\":\"request\",\"parts\":[" : "{\"kind\":\"response\",\"parts\":[");
    for (uint32_t i = 0, n = below(g, 5); i < n; i++) {
        put(g, i ? "," : "");
        if (request)
            put_request_part(g);
        else
            put_response_part(g);
    }
    put(g, "]");
    MEMBER(g, "timestamp", TIMES);
    MEMBER(g, "run_id", "null", "\"r1\"", "\"r2\"");
    MEMBER(g, "usage", "null", "{}", "{\"input_tokens\":3,\"details\":{\"reasoning_tokens\":2}}",
           "{\"request_tokens\":1.0,\"extra\":[]}");
    MEMBER(g, "finish_reason", "null", "\"stop\"", "\"tool_call\"", "\"tomorrow\"");
    MEMBER(g, "metadata", THINGS);
    MEMBER(g, "vendor_id", "null", "\"v\"");
    put_provider(g);
    put(g, "}");
}

/* The same text, its escapes and blanks as they are written here. */
static int compact(struct upp_str text, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 << 20);
    yyjson_val *v;
    int r = wj_read(&a, text, NULL, &v, err);
    return r < 0 ? r : wj_write(v, out, err);
}

static bool comes_back(uint64_t seed)
{
    struct gen g = {.state = seed, .out = WB_BUF(1 << 20)};
    WB_CLEANUP(wb_buf_done)
    struct wb_buf text = WB_BUF(1 << 20), same = WB_BUF(8 << 20), there = WB_BUF(8 << 20), back = WB_BUF(8 << 20),
                  was = WB_BUF(8 << 20);
    struct upp_err err = {0};
    put(&g, "[");
    for (uint32_t i = 0, n = below(&g, 7); i < n; i++) {
        put(&g, i ? "," : "");
        put_message(&g);
    }
    put(&g, "]");
    text = g.out;
    test_note("seed %llu: %.*s", (unsigned long long)seed, UPP_FMT(wb_buf_str(&text)));
    const struct wd_document_ops *mine = &wd_document_pydantic, *thread = &wd_document_thread;
    if (test_convert(wb_buf_str(&text), mine, mine, &same, NULL, &err) < 0 ||
        test_convert(wb_buf_str(&text), mine, thread, &there, NULL, &err) < 0 ||
        test_convert(wb_buf_str(&there), thread, mine, &back, NULL, &err) < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be read and written");
    }
    return EXPECT(compact(wb_buf_str(&text), &was, &err) >= 0) &&
           test_expect_str(wb_buf_str(&same), wb_buf_str(&was), __FILE__, __LINE__, "written back") &&
           test_expect_str(wb_buf_str(&back), wb_buf_str(&was), __FILE__, __LINE__, "there and back");
}

/* covers: TP-32 */
TEST_WITH(dialect_pydantic_gives_generated_messages_back,
          .no_torture = "hundreds of documents; the goldens are tortured")
{
    for (uint64_t seed = 1; seed <= 400; seed++)
        CHECK(comes_back(seed));
}
