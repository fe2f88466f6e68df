/* cli/chat/paste.h — bracketed paste: keys of a terminal, in which pasted text is marked.
 *
 * A line end that was pasted belongs to the text and does not send it, so it is quoted (Ctrl-V), as tabs are. Other
 * control characters of pasted text are left out: nobody has typed them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CLI_PASTE_ON  "\033[?2004h"
#define CLI_PASTE_OFF "\033[?2004l"

enum { CLI_PASTE_QUOTE = 0x16, CLI_PASTE_KEYS = 8 /* that one byte may become */ };

struct cli_paste {
    bool inside;
    bool cr;     /* the last byte was a carriage return: a line feed after it is the same line end */
    size_t held; /* bytes of a mark that may have begun */
};

/* The keys that a byte becomes. `last`: no other byte is there yet, so what was held is no mark. */
size_t cli_paste_keys(struct cli_paste *p, unsigned char byte, bool last, unsigned char keys[CLI_PASTE_KEYS]);
