/* runtime/embed.c — the runtime of a program with its own agents: a loop, an engine without a store, agents. */
#include <config.h> /* meson's: "config.h" would be the one of this folder */
#include <libfyaml.h>
#include <stddef.h>
#include <weft/runtime.h>

#include "agent/home.h"
#include "base/hooks.h"
#include "base/opts.h"
#include "base/secret.h"
#include "fiber/loop.h"
#include "runtime/runtime.h"
#include "fiber/loop_uv.h"
#include "stores/library.h"
#include "upp/http/curl.h"
#include <config.h> /* meson's: "config.h" would be the one of this folder */

struct weft_runtime {
    struct wa_home home;   /* first */
    struct weft_loop *own; /* NULL: the loop is the caller's */
    struct wrt_location place;
    struct wb_secret *key;  /* of the store, until that is open; NULL: none */
    struct wl_store *store; /* the store of home.kept */
    uint32_t max_depth;
    bool opening;            /* a fiber is opening the store ... */
    struct weft_cond opened; /* ... and signals the others */
};

/* Opens the sessions' engine when the first session is created: most programs have none. */
static WEFT_SUSPENDS int open_engine(struct wa_home *h, struct upp_err *err)
{
    struct weft_runtime *rt = WB_OUTER(h, struct weft_runtime, home);
    int r = 0;
    while (r >= 0 && rt->opening)
        r = weft_cond_wait(&rt->opened, err);
    if (r < 0 || h->kept)
        return r;
    rt->opening = true;
    if (!rt->store)
        r = wrt_store_open(NULL, &rt->place, &rt->store, err);
    if (r >= 0) {
        rt->place.key = NULL;
        rt->key = wb_secret_free(rt->key);
    }
    if (r >= 0)
        r = wr_engine_open(h->loop,
                           UPP_OPTS(wr_engine_opts, .store = rt->store, .agent = wa_home_def, .arg = h,
                                    .max_depth = rt->max_depth, .tool_wait_ms = UINT64_MAX,
                                    .approval_wait_ms = UINT64_MAX),
                           &h->kept, err);
    rt->opening = false;
    weft_cond_broadcast(&rt->opened);
    return r;
}

static int read_index(const char *name, uint8_t *ret, struct upp_err *err)
{
    for (uint8_t i = 0; name && wl_index_names[i]; i++)
        if (strcmp(name, wl_index_names[i]) == 0) {
            *ret = (uint8_t)(WL_INDEX_SUBSTRINGS + i);
            return 0;
        }
    return name ? upp_fail(err, UPP_EINVALID, "search is words, substrings or off, not '%s'", name) : 0;
}

int weft_runtime_open(const struct weft_runtime_opts *opts, struct weft_runtime **ret, struct upp_err *err)
{
    struct weft_runtime_opts o;
    wb_opts(&o, sizeof o, opts);
    struct weft_runtime *rt = wb_calloc(1, sizeof *rt);
    if (!rt)
        return upp_fail(err, UPP_ENOMEM, "no memory for a runtime");
    wb_list_init(&rt->home.all);
    rt->home.keep = open_engine;
    rt->max_depth = o.max_depth;
    int r = wb_uuid_new(&rt->home.ids, err);
    if (r >= 0)
        r = wrt_location_of(NULL, o.store, &rt->place, err);
    if (r >= 0)
        r = read_index(o.search, &rt->place.index, err);
    if (r >= 0 && o.encryption_key)
        r = wb_secret_new(wb_cstr(o.encryption_key), &rt->key, err);
    if (rt->key)
        rt->place.key = wb_secret_reveal(rt->key).p;
    if (!o.loop && weft_fiber_self()) /* one of its own could not run here */
        o.loop = weft_loop_current();
    if (r >= 0 && !o.loop)
        r = weft_loop_open(NULL, &rt->own, err);
    rt->home.loop = o.loop ? o.loop : rt->own;
    if (r >= 0)
        r = wr_engine_open(rt->home.loop,
                           UPP_OPTS(wr_engine_opts, .agent = wa_home_def, .arg = &rt->home, .max_depth = o.max_depth,
                                    .tool_wait_ms = UINT64_MAX, .approval_wait_ms = UINT64_MAX),
                           &rt->home.engine, err);
    if (r < 0) {
        weft_loop_close(rt->own);
        (void)wb_secret_free(rt->key);
        wb_free(rt);
        return r;
    }
    *ret = rt;
    return 0;
}

int weft_runtime_poll(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_loop *here = weft_loop_current();
    if (here == rt->home.loop && weft_fiber_self())
        return weft_yield(err);
    int r = here ? upp_fail(err, UPP_EINVALID, "weft_runtime_poll: the runtime is on another loop")
                 : weft_loop_poll(rt->home.loop, err);
    return r < 0 ? r : 0;
}

static WEFT_SUSPENDS int close_engine(void *arg, struct upp_err *err)
{
    struct weft_runtime *rt = arg;
    (void)err;
    wr_engine_close(WB_TAKE(rt->home.engine));
    wr_engine_close(WB_TAKE(rt->home.kept));
    if (rt->store)
        rt->store->ops->close(WB_TAKE(rt->store));
    return 0;
}

void weft_runtime_close(struct weft_runtime *rt)
{
    if (!rt)
        return;
    struct upp_err err = {0};
    if (!wr_engine_counts(rt->home.engine).working && !rt->store) /* then closing does not suspend */
        (void)close_engine(rt, NULL);
    else if (wa_home_do(&rt->home, "weft_runtime_close", close_engine, rt, &err) < 0)
        weft__die("%s, and runs of it still work", err.msg);
    wa_home_done(&rt->home);
    weft_loop_close(rt->own);
    (void)wb_secret_free(rt->key);
    wb_free(rt);
}

void weft_runtime_closep(struct weft_runtime **rt)
{
    weft_runtime_close(*rt);
}

int weft__libraries_use_hooks(struct upp_err *err)
{
    int r = weft__uv_use_hooks(err);
    if (r >= 0)
        r = weft__sqlite_use_hooks(err);
    if (r >= 0)
        r = upp__curl_use_hooks(err);
    return r;
}

int weft_global_init(const struct upp_hooks *hooks, struct upp_err *err)
{
    int r = upp_global_init(hooks, err);
    return r < 0 ? r : weft__libraries_use_hooks(err);
}

struct wb_library weft__yaml_library(void)
{
    return wb_library("libfyaml", WEFT_FYAML_VERSION, fy_library_version());
}
