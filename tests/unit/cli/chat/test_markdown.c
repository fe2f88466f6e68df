/* Markdown as lines for a terminal. */
#include "cli/chat/markdown.h"

#include <locale.h>

#include "support/test.h"

static const char sample[] =
    "# Tokyo\n\nThe *weather* is **fine**, `code` and ~~not~~ [a link](https://example.org/x) and <https://e.org>.\n"
    "Second line of the same paragraph, which is long enough to be wrapped somewhere.\n\n"
    "## Things\n\n- one\n- two\n  1. nested\n  2. again\n     - deeper\n- three has a very long text that must go on "
    "in the "
    "next line, below its own\n\n3. third\n4. fourth\n\n   with a paragraph\n\n- [ ] open\n- [x] done\n\n"
    "> quoted\n> - item\n>\n> more\n\n"
    "```c\nint main(void)\n{\n    return 0; // a line that is far too long for a terminal of forty columns\n}\n```\n\n"
    "| City | Temp | Note |\n|:-----|-----:|:----:|\n| Tokyo | 18 | \xe6\x9d\xb1\xe4\xba\xac |\n"
    "| San Francisco | 7 | a note that does not fit at all |\n\n---\n\n<b>html</b> &amp; &lt;entity&gt;\n\nhard  "
    "\nbreak\n";

static int shown(const char *text, unsigned width, bool styled, bool utf8, struct wb_buf *out, struct upp_err *err)
{
    struct cli_markdown_opts o = {.width = width, .styled = styled, .utf8 = utf8};
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    return cli_markdown(wb_cstr(text), &o, out, err);
}

TEST(markdown_as_lines)
{
    static const struct {
        const char *file;
        unsigned width;
        bool styled, utf8;
    } cases[] = {{"cli/markdown-80.txt", 80, false, true},
                 {"cli/markdown-40.txt", 40, false, true},
                 {"cli/markdown-ascii.txt", 60, false, false},
                 {"cli/markdown-styled.txt", 72, true, true},
                 {"cli/markdown-narrow.txt", 12, false, true}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
        struct upp_err err = {0};
        test_note("%s", cases[i].file);
        int r = shown(sample, cases[i].width, cases[i].styled, cases[i].utf8, &out, &err);
        if (r == -UPP_ENOMEM)
            return;
        CHECK_INT(r, 0);
        CHECK_GOLDEN(cases[i].file, wb_buf_str(&out));
    }
}

/* Whatever stands in it, and wherever. */
TEST(markdown_lets_no_control_character_through)
{
    static const char *const wrap[] = {
        "%s",   "# %s",      "- %s",   "`%s`", "```%s\n%s\n```", "[%s](http://%s)", "| %s | b |\n|--|--|\n| %s | d |",
        "> %s", "![%s](%s)", "    %s", "<%s>", "&#27;%s",        "&#x202e;%s",      "[a](<%s>)"};
    static const char *const bad[] = {"\033]52;c;aGk=\a",
                                      "\033[2J",
                                      "\xc2\x9b"
                                      "31m",
                                      "\xe2\x80\xae"
                                      "abc",
                                      "\r\b\x7f",
                                      "\x9b"
                                      "1m"};
    for (size_t i = 0; i < WB_LEN(wrap) * WB_LEN(bad); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf in = WB_BUF(4096), out = WB_BUF(1 << 16);
        const char *b = bad[i / WB_LEN(wrap)], *w = wrap[i % WB_LEN(wrap)];
        for (; *w; w++)
            if (w[0] == '%' && w[1] == 's')
                wb_buf_add(&in, wb_cstr(b)), w++;
            else
                wb_buf_addc(&in, *w);
        wb_buf_addc(&in, '\0');
        if (in.failed)
            return;
        int r = shown(in.p, 60, false, true, &out, NULL);
        if (r == -UPP_ENOMEM)
            return;
        CHECK_INT(r, 0);
        for (size_t at = 0; at < out.n; at++)
            if (((unsigned char)out.p[at] < 0x20 && out.p[at] != '\n') || out.p[at] == 0x7f) {
                test_note("case %zu: byte %02x", i, (unsigned char)out.p[at]);
                CHECK(false);
            }
        CHECK(wb_str_find(wb_buf_str(&out), wb_cstr("\xe2\x80\xae"), 0) == SIZE_MAX);
        CHECK(wb_str_find(wb_buf_str(&out), wb_cstr("\xc2\x9b"), 0) == SIZE_MAX);
    }
}

TEST(markdown_nests_as_deep_as_one_likes)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf in = WB_BUF(1 << 16), out = WB_BUF(4 << 20);
    for (unsigned i = 0; i < 200; i++)
        wb_buf_add(&in, UPP_STR("> - "));
    for (unsigned i = 0; i < 100; i++)
        wb_buf_add(&in, UPP_STR("*_**["));
    wb_buf_add(&in, UPP_STR("x\n"));
    wb_buf_addc(&in, '\0');
    if (in.failed)
        return;
    int r = shown(in.p, 30, true, true, &out, NULL);
    CHECK(r == 0 || r == -UPP_ENOMEM);
}
