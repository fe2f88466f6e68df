/* cli/progress.c — see progress.h. */
#include "cli/progress.h"

#include <limits.h>
#include <unistd.h>

#include "base/clock.h"

enum { BAR = 40 };

void cli_progress_begin(struct cli_progress *p, size_t all)
{
    *p = (struct cli_progress){
        .out = all > 1 && isatty(2) ? stderr : NULL, .all = all, .shown = UINT_MAX, .began_ms = wb_mono_ms()};
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
    int    marks   = (int)(now * BAR / 1000);
    double seconds = (double)(wb_mono_ms() - p->began_ms) / 1000, rate = seconds > 0 ? (double)p->done / seconds : 0;
    (void)fprintf(p->out, "\r[%.*s%.*s] %zu of %zu", marks, full, BAR - marks, none, p->done, p->all);
    if (seconds >= 1) /* before that it is a guess */
        (void)fprintf(p->out, ", %.0f/s, %.0f s left\033[K", rate, (double)(p->all - p->done) / rate);
    (void)fflush(p->out);
    p->shown = now;
}

void cli_progress_hide(struct cli_progress *p)
{
    if (p->out && p->shown != UINT_MAX)
        (void)fprintf(p->out, "\r\033[K");
    p->shown = UINT_MAX;
}
