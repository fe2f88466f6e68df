/* cli/progress.c — draws the bar, at most every 50 ms, and prints lines of the log above it. */
#include "cli/progress.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/log.h"
#include "cli/terminal.h"

enum {
    BAR = 40,
    LEAST = 10,      /* a shorter bar tells nothing */
    REDRAW = 50,     /* ms: nobody sees more */
    GUESS_MS = 1000, /* before that, a rate is a guess */
    LINE = 160,
};

/* A line of the log, from any thread: the stream's lock is the bar's. */
static void log_line(void *arg, enum wb_log_level level, struct upp_str line)
{
    struct cli_progress *p = arg;
    (void)level;
    flockfile(stderr);
    cli_progress_hide(p);
    (void)fprintf(stderr, "%.*s\n", UPP_FMT(line));
    funlockfile(stderr);
}

static bool may_draw(const struct cli_command *self, uint64_t all)
{
    const char *term = getenv("TERM");
    return all != 1 && !self->json && !self->quiet && isatty(2) == 1 && term && strcmp(term, "dumb") != 0;
}

void cli_progress_begin(struct cli_progress *p, const struct cli_command *self, const char *what, uint64_t all)
{
    *p = (struct cli_progress){.out = may_draw(self, all) ? stderr : NULL,
                               .what = what,
                               .all = all,
                               .shown = UINT_MAX,
                               .began_ms = wb_mono_ms()};
    if (!p->out)
        return;
    wb_log_to(log_line, p);
    cli_progress_draw(p, 0);
}

/* "12 of 59", "1.5 of 20.0 MiB". */
static int put_amount(const struct cli_progress *p, char *to, size_t size)
{
    static const double mib = 1 << 20;
    if (!p->what && p->all)
        return snprintf(to, size, "%.1f of %.1f MiB", (double)p->done / mib, (double)p->all / mib);
    if (!p->what)
        return snprintf(to, size, "%.1f MiB", (double)p->done / mib);
    if (p->all)
        return snprintf(to, size, "%llu of %llu %s", (unsigned long long)p->done, (unsigned long long)p->all, p->what);
    return snprintf(to, size, "%llu %s", (unsigned long long)p->done, p->what);
}

/* ", 40/s, 3 s left" */
static void put_rate(const struct cli_progress *p, uint64_t now, char *to, size_t size)
{
    double seconds = (double)(now - p->began_ms) / 1000, rate = (double)p->done / seconds;
    double left = rate > 0 ? (double)(p->all - WB_MIN(p->done, p->all)) / rate : 0;
    int n = p->what ? snprintf(to, size, ", %.0f/s", rate) : snprintf(to, size, ", %.1f MiB/s", rate / (1 << 20));
    if (p->all && rate > 0 && n > 0 && (size_t)n < size)
        (void)snprintf(to + n, size - (size_t)n, left < 120 ? ", %.0f s left" : ", %.0f min left",
                       left < 120 ? left : left / 60);
}

static void print(struct cli_progress *p, unsigned thousandths, uint64_t now)
{
    static const char full[] = "########################################",
                      none[] = "........................................";
    char text[LINE];
    unsigned columns = cli_columns(p->out);
    int n = put_amount(p, text, sizeof text);
    if (n > 0 && (size_t)n < sizeof text && now - p->began_ms >= GUESS_MS)
        put_rate(p, now, text + n, sizeof text - (size_t)n);
    unsigned used = (unsigned)strlen(text) + 4; /* brackets, a blank, and the last column, which may wrap */
    unsigned bar = columns > used ? WB_MIN(columns - used, (unsigned)BAR) : 0;
    unsigned on = thousandths * bar / 1000;
    (void)putc('\r', p->out);
    if (p->all && bar >= LEAST)
        (void)fprintf(p->out, "[%.*s%.*s] ", (int)on, full, (int)(bar - on), none);
    (void)fprintf(p->out, "%.*s\033[K", (int)(columns > 1 ? columns - 1 : 1), text);
    (void)fflush(p->out);
}

void cli_progress_draw(struct cli_progress *p, uint64_t done)
{
    p->done = done;
    p->all = p->all ? WB_MAX(p->all, done) : 0; /* what grows meanwhile is never more than all */
    unsigned now = p->all ? (unsigned)((double)done / (double)p->all * 1000) : 0;
    if (p->all && now == p->shown)
        return;
    uint64_t ms = wb_mono_ms();
    if (ms - p->drawn_ms < REDRAW && !(p->all && done == p->all))
        return;
    flockfile(p->out);
    print(p, now, ms);
    p->shown = now;
    p->drawn_ms = ms;
    funlockfile(p->out);
}

void cli_progress_hide(struct cli_progress *p)
{
    if (!p->out)
        return;
    flockfile(p->out);
    if (p->shown != UINT_MAX)
        (void)fputs("\r\033[K", p->out);
    (void)fflush(p->out);
    p->shown = UINT_MAX;
    funlockfile(p->out);
}

void cli_progress_end(struct cli_progress *p)
{
    if (!p->out)
        return;
    wb_log_to(NULL, NULL);
    cli_progress_hide(p);
    p->out = NULL;
}
