#include "json/shape.h"

#include "json/read.h"
#include "support/chat.h"
#include "support/test.h"

/* Texts that must come back byte for byte. */
TEST(shape_writes_back_what_it_read)
{
    static const char *const texts[] = {
        "{\"id\":\"c\",\"messages\":[]}",
        "{\"messages\":[],\"id\":\"c\"}",
        "{\"x\":1,\"id\":\"c\",\"y\":[{\"deep\":1e400}],\"messages\":[],\"z\":null}",
        "{\"id\":\"a\",\"id\":\"b\",\"messages\":[],\"id\":\"c\",\"u\":1,\"u\":2}",
        "{\"id\":\"c\",\"title\":null,\"version\":1.0,\"messages\":[],\"tags\":null,\"state\":null}",
        "{\"id\":\"c\",\"version\":18446744073709551615,\"messages\":[],\"tags\":[\"a\",\"\\u0000\"],\"state\":[1.50,-"
        "0]}",
        "{\"id\":\"c\",\"messages\":[{\"id\":\"1\",\"role\":\"user\",\"content\":\"hi\"},"
        "{\"role\":\"narrator\",\"id\":\"2\",\"content\":[{\"type\":\"text\",\"text\":\"\\ud83d\"},"
        "{\"type\":\"video\",\"v\":1.0},{\"text\":\"first\",\"type\":\"text\"},{\"no\":\"type\"},{}]}]}",
        "{\"id\":\"c\",\"messages\":[{\"id\":\"1\",\"role\":\"tool\",\"content\":null,\"usage\":{\"input_tokens\":-0,"
        "\"output_tokens\":null,\"cost\":0.10,\"exact\":1e999},\"metadata\":{\"a\":1,\"a\":2},\"vendor_id\":\"v\"}]}",
        "{\"id\":\"c\",\"messages\":[{\"id\":\"1\",\"role\":\"tool\",\"usage\":{\"request_tokens\":7,\"cost\":12E3}}]}",
        "{\"id\":\"c\",\"messages\":[{\"id\":\"1\",\"role\":\"tool\",\"usage\":{\"request_tokens\":7.0,"
        "\"input_tokens\":8,\"request_tokens\":9}}]}",
        "{\"id\":\"c\",\"messages\":[{\"id\":\"1\",\"role\":\"tool\",\"vendor_id\":null,\"content\":[{\"type\":"
        "\"tool_result\",\"id\":\"1\",\"content\":[\"a\",null]},{\"type\":\"tool_result\",\"id\":\"2\","
        "\"content\":null,\"failed\":null},{\"type\":\"tool_call\",\"id\":\"3\",\"name\":\"f\",\"args\":\"{\\\"a\\\": "
        "1}\"}"
        "]}]}",
    };
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf     b = WB_BUF(1u << 20);
        struct chat                               c;
        yyjson_val                               *v;
        struct upp_err                            err = {0};
        test_note("case %zu", i);
        CHECK(wj_read(&a, wb_cstr(texts[i]), NULL, &v, &err) == 0);
        int r = WJ_DECODE(&a, chat, v, NULL, &c, &err);
        test_note("case %zu: %s: %s", i, err.where, err.msg);
        CHECK(r == 0);
        CHECK(WJ_ENCODE(chat, &c, &b, &err) == 0);
        CHECK_STR(wb_buf_str(&b), wb_cstr(texts[i]));
    }
}
