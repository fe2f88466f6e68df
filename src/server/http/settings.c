/* server/http/settings.c — copies of what a configuration says about requests. */
#include "server/http/settings.h"

#include "base/hooks.h"
#include "runtime/config.h"
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

static struct sv_names copy_names(struct wb_arena *a, struct sv_names from)
{
    struct wc_alias *p = from.n ? wb_new_n(a, struct wc_alias, from.n) : NULL;
    for (size_t i = 0; p && i < from.n; i++)
        p[i] = (struct wc_alias){wb_arena_dup(a, from.p[i].name), wb_arena_dup(a, from.p[i].agent)};
    return (struct sv_names){p, p ? from.n : 0};
}

/* Each '*' of the pattern takes as little as the rest allows: linear for one, and names are short. */
static bool fits(struct upp_str pattern, struct upp_str name)
{
    size_t at = 0, i = 0, star = SIZE_MAX, back = 0;
    while (i < name.n) {
        if (at < pattern.n && pattern.p[at] == '*') {
            star = at++;
            back = i;
        } else if (at < pattern.n && pattern.p[at] == name.p[i]) {
            at++;
            i++;
        } else if (star != SIZE_MAX) {
            at = star + 1;
            i = ++back;
        } else
            return false;
    }
    while (at < pattern.n && pattern.p[at] == '*')
        at++;
    return at == pattern.n;
}

struct upp_str sv_name_find(const struct sv_names *names, struct upp_str name)
{
    enum { LONGEST = 256 };
    for (size_t i = 0; i < names->n; i++)
        if (wb_str_eq(names->p[i].name, name))
            return names->p[i].agent;
    for (size_t i = 0; name.n <= LONGEST && i < names->n; i++)
        if (fits(names->p[i].name, name))
            return names->p[i].agent;
    return (struct upp_str){NULL, 0};
}

int sv_settings_new(const struct sv_server_opts *from, const struct sv_listener *listeners, size_t n_listeners,
                    struct sv_settings **ret, struct upp_err *err)
{
    struct sv_settings *s = wb_calloc(1, sizeof *s);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "no memory for the settings of requests");
    s->arena = (struct wb_arena)WB_ARENA(LISTS);
    s->allowed = (struct sv_allowed){copy_list(&s->arena, from->hosts), copy_list(&s->arena, from->origins), listeners,
                                     n_listeners};
    s->proxies = copy_proxies(&s->arena, from->proxies);
    s->names = copy_names(&s->arena, from->names);
    s->on_busy = from->on_busy;
    s->ai_sdk = from->ai_sdk;
    s->no_instructions = from->no_instructions;
    s->heartbeats = from->heartbeats;
    s->refs = 1;
    int r = wb_arena_check(&s->arena, err);
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
