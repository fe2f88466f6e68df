/* cli/print.c — see print.h. */
#include "cli/print.h"

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
