/* cli/chat/paste.c — quotes the line ends and tabs of pasted text, and removes its other control characters. */
#include "cli/chat/paste.h"

enum { MARK = 6 };

static const char *mark(const struct cli_paste *p)
{
    return p->inside ? "\033[201~" : "\033[200~";
}

static size_t put_byte(struct cli_paste *p, unsigned char byte, unsigned char *keys)
{
    size_t n = 0;
    bool lf = byte == '\n' && p->cr;
    p->cr = p->inside && byte == '\r';
    if (lf || (p->inside && (byte < ' ' || byte == 0x7f) && byte != '\n' && byte != '\r' && byte != '\t'))
        return 0;
    if (p->inside && byte < ' ')
        keys[n++] = CLI_PASTE_QUOTE;
    keys[n++] = p->inside && byte == '\r' ? '\n' : byte;
    return n;
}

/* What was held is text. Of pasted text, the escape character that it begins with is left out. */
static size_t release(struct cli_paste *p, unsigned char *keys)
{
    size_t n = 0;
    for (size_t i = 0; i < p->held; i++)
        n += put_byte(p, (unsigned char)mark(p)[i], keys + n);
    p->held = 0;
    return n;
}

size_t cli_paste_keys(struct cli_paste *p, unsigned char byte, bool last, unsigned char keys[CLI_PASTE_KEYS])
{
    size_t n = 0;
    if (byte != (unsigned char)mark(p)[p->held])
        n = release(p, keys);
    if (byte != (unsigned char)mark(p)[p->held])
        return n + put_byte(p, byte, keys + n);
    if (++p->held == MARK) {
        p->held = 0;
        p->cr = false;
        p->inside = !p->inside;
    } else if (last && !p->inside)
        n += release(p, keys + n);
    return n;
}
