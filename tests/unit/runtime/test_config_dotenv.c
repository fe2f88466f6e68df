#include "runtime/config_read.h"

#include <string.h>

#include "support/test.h"

TEST(dotenv_lines)
{
    WB_CLEANUP(wc_dotenv_done) struct wc_dotenv d = {0};
    unsigned line = 0;
    struct upp_err err = {0};
    static const char text[] = "\xef\xbb\xbf# a comment\n\n  A=one \nexport B = 'two # words' # and a "
                               "comment\nC=\"x\\n\\t\\\"\\\\\\$y\"\r\nD=\nE=a#b\nA=last\n_1=''";
    CHECK(wc_dotenv_get(&d, "A") == NULL);
    CHECK(wc_dotenv_parse(&d, wb_cstr(text), &line, &err) == -UPP_EINVALID || err.code == UPP_ENOMEM); /* "B " */
    CHECK(line == 4);
    wc_dotenv_done(&d);
    static const char good[] = "\xef\xbb\xbf# a comment\n\n  A=one \nexport B= 'two # words' # and a "
                               "comment\nC=\"x\\n\\t\\\"\\\\\\$y\"\r\nD=\nE=a#b\nA=last\n_1=''";
    CHECK(wc_dotenv_parse(&d, wb_cstr(good), &line, &err) == 0);
    static const char *const values[][2] = {{"A", "last"}, {"B", "two # words"}, {"C", "x\n\t\"\\$y"},
                                            {"D", ""},     {"E", "a#b"},         {"_1", ""}};
    for (size_t i = 0; i < WB_LEN(values); i++) {
        const char *is = wc_dotenv_get(&d, values[i][0]);
        CHECK(is && strcmp(is, values[i][1]) == 0);
    }
    CHECK(!wc_dotenv_get(&d, "one") && !wc_dotenv_get(&d, ""));
}

TEST(dotenv_mistakes)
{
    static const char *const wrong[] = {"A",     "A B=1",     "-A=1",   "A=b c",  "A='b",
                                        "A=\"b", "A=\"\\x\"", "A='b'c", "A=\"b\\"};
    for (size_t i = 0; i < WB_LEN(wrong); i++) {
        WB_CLEANUP(wc_dotenv_done) struct wc_dotenv d = {0};
        unsigned line = 0;
        struct upp_err err = {0};
        int r = wc_dotenv_parse(&d, wb_cstr(wrong[i]), &line, &err);
        CHECK(r == -UPP_EINVALID && line == 1);
    }
    WB_CLEANUP(wc_dotenv_done) struct wc_dotenv d = {0};
    unsigned line = 0;
    struct upp_err err = {0};
    CHECK(wc_dotenv_parse(&d, UPP_STR("A=b\0c"), &line, &err) == -UPP_EINVALID);
}
