/* cli/terminal.c — see terminal.h. */
#include "cli/terminal.h"

#include <limits.h>
#include <unistd.h>

void cli_print_text(FILE *out, struct upp_str text, unsigned indent)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c    = (unsigned char)text.p[i];
        bool          high = c == 0xc2 && i + 1 < text.n && ((unsigned char)text.p[i + 1] & 0xe0) == 0x80;
        if (high || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
            (void)putc('?', out);
            i += high; /* U+0080 to U+009F are control characters too */
            continue;
        }
        (void)putc(c, out);
        if (c == '\n')
            (void)fprintf(out, "%*s", (int)indent, "");
    }
}

enum { BAR = 40 };

void cli_progress_begin(struct cli_progress *p, size_t all)
{
    *p = (struct cli_progress){.out = all > 1 && isatty(2) ? stderr : NULL, .all = all, .shown = UINT_MAX};
}

/* Redraws only if the bar looks different. */
void cli_progress_step(struct cli_progress *p)
{
    static const char full[] = "########################################",
                      none[] = "........................................";
    p->done++;
    if (!p->out)
        return;
    unsigned now = (unsigned)((double)p->done / (double)p->all * 1000);
    if (now == p->shown)
        return;
    int marks = (int)(now * BAR / 1000);
    (void)fprintf(p->out, "\r[%.*s%.*s] %zu of %zu", marks, full, BAR - marks, none, p->done, p->all);
    (void)fflush(p->out);
    p->shown = now;
}

void cli_progress_hide(struct cli_progress *p)
{
    if (p->out && p->shown != UINT_MAX)
        (void)fprintf(p->out, "\r\033[K");
    p->shown = UINT_MAX;
}
