#include "json/surrogate.h"

#include "base/defs.h"
#include "support/test.h"

TEST(json_surrogate_escapes_become_three_bytes)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"\"\"", "\"\""},
        {"\"\\ud800\"", "\"\xed\xa0\x80\""},
        {"\"\\uDFFF\"", "\"\xed\xbf\xbf\""},
        {"\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\""},
        {"\"\\ud83d\\ud83d\\ude00\"", "\"\xed\xa0\xbd\\ud83d\\ude00\""},
        {"\"\\ude00\\ud83d\"", "\"\xed\xb8\x80\xed\xa0\xbd\""},
        {"\"\\\\ud800\"", "\"\\\\ud800\""},
        {"\"\\\\\\ud800\"", "\"\\\\\xed\xa0\x80\""},
        {"\"\\ud800\\n\\u0041\\\"\"", "\"\xed\xa0\x80\\n\\u0041\\\"\""},
        {"[\"\\ud800\",\"\\udc00\"]", "[\"\xed\xa0\x80\",\"\xed\xb0\x80\"]"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        char out[64];
        size_t n = wj_surrogates_in(wb_cstr(cases[i].in), out);
        test_note("case %zu", i);
        CHECK_STR(wb_str(out, n), wb_cstr(cases[i].out));
    }
}
