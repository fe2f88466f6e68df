/* What a word is. */
#include "base/words.h"

#include <string.h>

#include "base/utf8.h"
#include "support/test.h"

TEST(words_of_a_text)
{
    static const struct {
        const char *text, *words; /* with | behind each */
    } cases[] = {
        {"", ""},
        {" \t.,;", ""},
        {"one", "one|"},
        {"the quick, brown fox_trot: don't 3.14", "the|quick|brown|fox|trot|don|t|3|14|"},
        {"\xc3\xbc"
         "ber den Flu\xc3\x9f \xd1\x80\xd0\xb5\xd0\xba\xd0\xb0",
         "\xc3\xbc"
         "ber|den|Flu\xc3\x9f|\xd1\x80\xd0\xb5\xd0\xba\xd0\xb0|"},
        {"\xe2\x80\x9cquoted\xe2\x80\x9d\xe2\x80\x94so", "quoted|so|"},
        {"\xe6\x9d\xb1\xe4\xba\xac"
         "ab\xe3\x80\x82\xe9\x83\xbd",
         "\xe6\x9d\xb1|\xe4\xba\xac|ab|\xe9\x83\xbd|"},
        {"a\xe0\xb8\x81\xe0\xb8\x82z", "a|\xe0\xb8\x81|\xe0\xb8\x82|z|"},
        {"x\xf0\x9f\x98\x80y", "x|\xf0\x9f\x98\x80|y|"},
        {"a\xff\xfe"
         "b\xc3",
         "a|b|"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        char got[128] = "";
        size_t at = 0, n = 0;
        struct upp_str text = wb_cstr(cases[i].text), word;
        while (wb_word_next(text, &at, &word)) {
            memcpy(got + n, word.p, word.n);
            n += word.n;
            got[n++] = '|';
            CHECK(wb_word_ends(text, (size_t)(word.p - text.p)) && wb_word_ends(text, at));
        }
        CHECK(at == text.n);
        CHECK_STR(wb_str(got, n), wb_cstr(cases[i].words));
    }
}

/* Between two letters of a word it does not end, and nowhere else. Every character once. */
TEST(words_end_where_they_end)
{
    static const char text[] = "ab, \xc3\xbc"
                               "c\xe6\x9d\xb1"
                               "d";
    static const bool ends[] = {true, false, true, true, true, false, false, true, false, false, true, true};
    struct upp_str s = wb_cstr(text);
    for (size_t i = 0; i <= s.n; i++)
        if (i == s.n || ((unsigned char)text[i] & 0xc0) != 0x80)
            CHECK_INT(wb_word_ends(s, i), ends[i]);
    for (uint32_t c = 0; c <= WB_CHAR_MAX; c++) {
        char p[6] = "a", got[4];
        size_t n = wb_utf8_encode(c, got), at = 0;
        struct upp_str word;
        memcpy(p + 1, got, n);
        p[n + 1] = 'b';
        struct upp_str all = wb_str(p, n + 2);
        bool one = wb_word_next(all, &at, &word) && word.n == all.n;
        if (one == wb_word_ends(all, 1) || one == wb_word_ends(all, n + 1))
            CHECK_INT(c, -1);
    }
}
