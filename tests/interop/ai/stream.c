/* interop/ai/stream.c — the ui dialect's stream of a named script, as the server would send it.
 *
 *     ui_streams --list            the names
 *     ui_streams TARGET NAME       SSE on standard output
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ui/doc.h"
#include "dialects/core/dialect.h"
#include "support/events.h"

static int stream(unsigned target, const char *script)
{
    struct events e;
    struct wd_frames f;
    struct upp_err err = {0};
    void *state = calloc(1, wd_stream_ui.state_size);
    events_init(&e);
    wd_frames_init(&f);
    int r = state ? events_play(&e, wb_cstr(script), &err) : -UPP_ENOMEM;
    if (r == 0)
        r = wd_stream_ui.begin(state, UPP_OPTS(wd_stream_opts, .own = &(struct wd_ui_opts){target}), &err);
    for (size_t i = 0; r == 0 && i < e.list.n; i++)
        r = wd_stream_ui.event(state, &e.list.p[i], &f, &err);
    for (size_t i = 0; r == 0 && i < f.list.n; i++)
        (void)printf("data: %.*s\n\n", (int)f.list.p[i].n, f.text.p + f.list.p[i].from);
    if (r < 0)
        (void)fprintf(stderr, "ui_streams: %s\n", err.msg);
    if (state)
        wd_stream_ui.done(state);
    free(state);
    wd_frames_done(&f);
    events_done(&e);
    return r < 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < events_n_scripts; i++)
            (void)puts(events_scripts[i].name);
        return 0;
    }
    for (size_t i = 0; argc == 3 && i < events_n_scripts; i++)
        if (strcmp(argv[2], events_scripts[i].name) == 0)
            return stream((unsigned)atoi(argv[1]), events_scripts[i].text);
    (void)fprintf(stderr, "usage: ui_streams --list | ui_streams TARGET NAME\n");
    return 2;
}
