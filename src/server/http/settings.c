/* server/http/settings.c — copies of what a configuration says about requests. */
#include "server/http/settings.h"

#include "base/hooks.h"
#include "server/http/server.h"

enum { LISTS = 4 << 20 /* bytes of names and networks */ };

static const char *const *copy_list(struct wb_arena *a, const char *const *list)
{
    size_t n = 0;
    if (!list)
        return NULL;
    while (list[n])
        n++;
    const char **copy = wb_new_n(a, const char *, n + 1);
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = wb_arena_dup(a, wb_cstr(list[i])).p;
    return copy;
}

static struct sv_proxies copy_proxies(struct wb_arena *a, struct sv_proxies from)
{
    struct wb_network *p = from.n ? wb_new_n(a, struct wb_network, from.n) : NULL;
    if (p)
        memcpy(p, from.p, from.n * sizeof *p);
    return (struct sv_proxies){p, p ? from.n : 0};
}

int sv_settings_new(const struct sv_server_opts *from, const struct sv_listener *listeners, size_t n_listeners,
                    struct sv_settings **ret, struct upp_err *err)
{
    struct sv_settings *s = wb_calloc(1, sizeof *s);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "no memory for the settings of requests");
    s->arena   = (struct wb_arena)WB_ARENA(LISTS);
    s->allowed = (struct sv_allowed){copy_list(&s->arena, from->hosts), copy_list(&s->arena, from->origins), listeners,
                                     n_listeners};
    s->proxies = copy_proxies(&s->arena, from->proxies);
    s->on_busy = from->on_busy;
    s->ai_sdk  = from->ai_sdk;
    s->no_instructions = from->no_instructions;
    s->heartbeats      = from->heartbeats;
    s->refs            = 1;
    int r              = wb_arena_check(&s->arena, err);
    if (r < 0) {
        sv_settings_unref(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct sv_settings *sv_settings_ref(struct sv_settings *s)
{
    s->refs++;
    return s;
}

void sv_settings_unref(struct sv_settings *s)
{
    if (!s || --s->refs)
        return;
    wb_arena_done(&s->arena);
    wb_free(s);
}
