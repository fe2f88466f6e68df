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
        char  *text = NULL, *line = NULL;
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
