/* Bracketed paste: what was pasted does not send itself. */
#include "cli/chat/paste.h"

#include <string.h>

#include "base/buf.h"
#include "base/defs.h"
#include "support/test.h"

/* The keys of `bytes`, of which `chunk` arrive at a time. */
static void keys_of(const char *bytes, size_t chunk, struct wb_buf *out)
{
    struct cli_paste p = {0};
    size_t n = strlen(bytes);
    wb_buf_clear(out);
    for (size_t i = 0; i < n; i++) {
        unsigned char keys[CLI_PASTE_KEYS];
        size_t got = cli_paste_keys(&p, (unsigned char)bytes[i], i + 1 == n || (i + 1) % chunk == 0, keys);
        for (size_t k = 0; k < got; k++)
            if (keys[k] == CLI_PASTE_QUOTE)
                wb_buf_addc(out, '^');
            else if (keys[k] == 033)
                wb_buf_addc(out, '!');
            else
                wb_buf_addc(out, (char)keys[k]);
    }
}

TEST(chat_paste_quotes_line_ends)
{
    static const struct {
        const char *bytes, *keys;
    } cases[] = {
        {"hello\r", "hello\r"},
        {"\033[A\033\033[20x\t", "![A!![20x\t"},
        {"\033[200~one\rtwo\r\nthree\nfour\033[201~\r", "one^\ntwo^\nthree^\nfour\r"},
        {"\033[200~\r\r\n\n\033[201~x\n", "^\n^\n^\nx\n"},
        {"\033[200~a\tb\003\033[31mc\033[201~", "a^\tb[31mc"},
        {"\033[200~\xc3\xa9\033[200~\033[201~\033[201~", "\xc3\xa9[200~![201~"},
        {"\033[200~\033\033[201~y", "y"},
        {"a\033", "a!"},
    };
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        test_note("case %zu", i);
        keys_of(cases[i].bytes, SIZE_MAX, &out);
        CHECK_STR(wb_buf_str(&out), wb_cstr(cases[i].keys));
    }
}

/* The end of a paste may be cut anywhere; its beginning comes at once. */
TEST(chat_paste_ends_in_pieces)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
    for (size_t chunk = 6; chunk < 20; chunk++) {
        keys_of("\033[200~one\rtwo\033[201~\r", chunk, &out);
        CHECK_STR(wb_buf_str(&out), UPP_STR("one^\ntwo\r"));
    }
}
