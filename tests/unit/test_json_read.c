#include "json/read.h"

#include "base/buf.h"
#include "json/write.h"
#include "support/test.h"

TEST(json_read_writes_back_what_it_read)
{
    static const char *const texts[] = {
        "{\"a\":[1,2.0,-0,1e400,123456789012345678901234567890],\"b\":null,\"b\":{}}",
        "\"\\ud800\"",
        "[\"\\udc00\\ud800\",\"a\\u0000b\"]",
        "0",
        "[[],[[]],{\"\":[]}]",
    };
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf     b = WB_BUF(1u << 20);
        yyjson_val                               *v;
        struct upp_err                            err = {0};
        test_note("%s", texts[i]);
        if (!EXPECT(wj_read(&a, wb_cstr(texts[i]), NULL, &v, &err) == 0)) {
            test_note("%s %s", err.msg, err.where);
        }
        CHECK(!test_failed());
        CHECK(wj_write(v, &b, &err) == 0);
        CHECK_STR(wb_buf_str(&b), wb_cstr(texts[i]));
    }
}
