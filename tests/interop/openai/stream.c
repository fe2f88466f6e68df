/* interop/openai/stream.c — the assistants dialect's stream of a named script, as the server would send it.
 *
 *     assistants_streams --list            the names
 *     assistants_streams NAME              SSE on standard output
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/core/dialect.h"
#include "support/events.h"

static int stream(const char *script)
{
    struct events e;
    struct wd_frames f;
    struct upp_err err = {0};
    void *state = calloc(1, wd_stream_assistants.state_size);
    events_init(&e);
    wd_frames_init(&f);
    int r = state ? events_play(&e, wb_cstr(script), &err) : -UPP_ENOMEM;
    if (r == 0)
        r = wd_stream_assistants.begin(state, UPP_OPTS(wd_stream_opts, .thread = wb_uuid_v8(4, 1)), &err);
    for (size_t i = 0; r == 0 && i < e.list.n; i++)
        r = wd_stream_assistants.event(state, &e.list.p[i], &f, &err);
    for (size_t i = 0; r == 0 && i < f.list.n; i++)
        (void)printf("event: %s\ndata: %.*s\n\n", f.list.p[i].name, (int)f.list.p[i].n, f.text.p + f.list.p[i].from);
    if (r < 0)
        (void)fprintf(stderr, "assistants_streams: %s\n", err.msg);
    if (state)
        wd_stream_assistants.done(state);
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
    for (size_t i = 0; argc == 2 && i < events_n_scripts; i++)
        if (strcmp(argv[1], events_scripts[i].name) == 0)
            return stream(events_scripts[i].text);
    (void)fprintf(stderr, "usage: assistants_streams --list | assistants_streams NAME\n");
    return 2;
}
