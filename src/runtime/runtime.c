/* runtime/runtime.c — opens a configuration's store, makes its agents and models, and runs its engines. */
#include "runtime/runtime.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hooks.h"
#include "base/secret.h"
#include "fiber/fiber.h"
#include "fiber/loop_uv.h"
#include "stores/blobs/blobs.h"
#include "stores/blobs/cut.h"
#include "stores/outbox/outbox.h"
#include "stores/sealed/sealed.h"

/* ---- The store ------------------------------------------------------------------------------------------ */

/* The lock file names the owner's socket for readers with any current folder: the path is absolute. */
static int put_path(struct upp_str path, struct wrt_location *ret, struct upp_err *err)
{
    char here[WRT_PATH_MAX] = "";
    if (!path.n || path.n >= sizeof ret->path || memchr(path.p, 0, path.n))
        return upp_fail(err, UPP_EINVALID, "the path of a database has 1 to %d bytes", WRT_PATH_MAX - 1);
    if (path.p[0] != '/' && !getcwd(here, sizeof here - 1))
        return upp_fail(err, UPP_ENOTFOUND, "the current folder has no name");
    int n = snprintf(ret->path, sizeof ret->path, "%s%s%.*s", here, here[0] ? "/" : "", UPP_FMT(path));
    return (size_t)n < sizeof ret->path ? 0 : upp_fail(err, UPP_EINVALID, "the path of the database is too long");
}

int wrt_location_of(const struct wc_config *c, const char *url, struct wrt_location *ret, struct upp_err *err)
{
    ret->path[0] = 0;
    ret->key = NULL;
    ret->accept_loss = false;
    ret->index = c ? c->index : WL_INDEX_SAME;
    if (!url && !c)
        url = "memory:";
    if (!url) {
        ret->driver = c->store;
        return c->store->durable ? put_path(c->store_path, ret, err) : 0;
    }
    struct upp_str path;
    ret->driver = ws_driver_find(wb_cstr(url), &path);
    if (!ret->driver)
        return upp_fail(err, UPP_EINVALID, "'%s' is no store: it is memory: or sqlite:PATH", url);
    return ret->driver->durable ? put_path(path, ret, err) : 0;
}

static int parse_key(struct wb_secret *text, struct ws_master *ret, struct upp_err *err)
{
    int r = ws_master_parse(wb_secret_reveal(text), ret, err);
    wb_secret_free(text);
    return r;
}

/* An error names the file of the key, not the store that it is for. */
static int read_key_file(const struct wc_config *c, struct ws_master *ret, struct upp_err *err)
{
    char path[WRT_PATH_MAX];
    if (c->key_file.n >= sizeof path)
        return upp_fail(err, UPP_EINVALID, "the path of the key file is too long");
    memcpy(path, c->key_file.p, c->key_file.n);
    path[c->key_file.n] = 0;
    struct wb_secret *text;
    int r = wb_secret_file(path, &text, err);
    if (r < 0)
        return r;
    r = parse_key(text, ret, err);
    if (r < 0)
        wb_err_where(err, wb_cstr(path));
    return r;
}

static int read_key_text(const struct wrt_location *at, struct ws_master *ret, struct upp_err *err)
{
    struct wb_secret *text;
    int r = at->key ? wb_secret_new(wb_cstr(at->key), &text, err) : wb_secret_env("WEFT_ENCRYPTION_KEY", &text, err);
    if (r >= 0)
        r = parse_key(text, ret, err);
    if (r < 0)
        wb_err_where(err, wb_cstr(at->path));
    return r;
}

/* The master key: 1, or 0: there is none. */
static int find_key(const struct wc_config *c, const struct wrt_location *at, struct ws_master *ret,
                    struct upp_err *err)
{
    int r;
    if (at->key || (c && getenv("WEFT_ENCRYPTION_KEY")))
        r = read_key_text(at, ret, err);
    else if (c && c->key_file.p)
        r = read_key_file(c, ret, err);
    else
        return 0;
    return r < 0 ? upp_wrap(err, r, "the encryption key") : 1;
}

/* The same for a store that is open already, of which it takes ownership: puts encryption in front of it if the
 * location or the configuration has a key (stores/sealed/sealed.h). -UPP_EREFUSED: the key is wrong or missing, or
 * there is one and the store is not encrypted. */
WEFT_SUSPENDS static int seal_store(const struct wc_config *c, const struct wrt_location *at, struct wl_store *inner,
                                    struct wl_store **ret, struct upp_err *err)
{
    struct ws_master key;
    int has_key = find_key(c, at, &key, err);
    if (has_key < 0) {
        inner->ops->close(inner);
        return has_key;
    }
    int r;
    if (has_key) {
        r = ws_sealed_open(inner, &key, ret, err);
        ws_master_wipe(&key);
    } else {
        r = ws_sealed_check_plain(inner, err);
        if (r < 0)
            inner->ops->close(inner);
        else
            *ret = inner;
    }
    if (r < 0)
        wb_err_where(err, wb_cstr(at->path));
    return r;
}

int wrt_store_dress(const struct wc_config *c, const struct wrt_location *at, struct wl_store *inner,
                    struct wl_store **ret, struct upp_err *err)
{
    struct wl_store *sealed;
    int r = seal_store(c, at, inner, &sealed, err);
    return r < 0 ? r : ws_blobs_open(sealed, ret, err);
}

int wrt_store_open(const struct wc_config *c, const struct wrt_location *at, struct wl_store **ret, struct upp_err *err)
{
    enum { COMPANY_MS = 10 };
    struct wl_store *s;
    int r = at->driver->open(UPP_OPTS(ws_open_opts, .path = at->path, .accept_loss = at->accept_loss,
                                      .index = at->index, .cache_kib = c ? c->store_cache_mb << 10 : 0,
                                      .group_ms = c && c->durability == WM_GROUP ? COMPANY_MS : 0),
                             &s, err);
    if (r < 0)
        return r;
    return at->driver->durable ? wrt_store_dress(c, at, s, ret, err) : ws_blobs_open(s, ret, err);
}

struct wl_store *wrt_store_base(struct wl_store *s)
{
    while (s->inner)
        s = s->inner;
    return s;
}

const char *wrt_socket(const struct wrt_runtime *rt)
{
    return rt->driver->socket ? rt->driver->socket(wrt_store_base(rt->store)) : "";
}

/* ---- Agents --------------------------------------------------------------------------------------------- */

/* No agent has such a name. */
#define AGENT_IDS ":ids"

enum { MAX_NAME = 64, AGENTS_BYTES = 64 << 20 };

static WEFT_SUSPENDS int make_random_id(struct wl_store *s, const struct wl_owner *owner, struct wb_uuid *ret,
                                        struct upp_err *err)
{
    int r = wb_uuid_new(ret, err);
    if (r < 0)
        return r;
    struct wl_alias alias = {.kind = WL_ALIAS_AGENT, .text = UPP_STR(AGENT_IDS), .object = *ret};
    struct wl_change change = {.kind = WL_ADD_ALIAS, .alias = &alias};
    struct wl_commit commit = {.owner = *owner, .changes = &change, .n = 1, .flags = WL_SYNCED};
    return wl_store_commit(s, &commit, err);
}

static int digest_name(const struct wb_uuid *random, struct upp_str name, struct wb_uuid *ret, struct upp_err *err)
{
    char bytes[sizeof random->b + MAX_NAME];
    struct wl_blob_key hash;
    uint64_t high, low;
    if (name.n > MAX_NAME)
        return upp_fail(err, UPP_EINVALID, "the name of an agent has at most %d bytes", MAX_NAME);
    memcpy(bytes, random->b, sizeof random->b);
    memcpy(bytes + sizeof random->b, name.p, name.n);
    int r = ws_sha256(wb_str(bytes, sizeof random->b + name.n), &hash, err);
    if (r < 0)
        return r;
    memcpy(&high, hash.b, sizeof high);
    memcpy(&low, hash.b + sizeof high, sizeof low);
    *ret = wb_uuid_v4(be64toh(high), be64toh(low));
    return 0;
}

int wrt_agent_id(struct wl_store *s, struct upp_str name, bool makes, struct wb_uuid *ret, struct upp_err *err)
{
    struct wl_owner owner = {.tenant = UPP_STR(WRT_TENANT)};
    struct wb_uuid random;
    int r = wl_get_alias(s, &owner, WL_ALIAS_AGENT, name, ret, err);
    if (r != -UPP_ENOTFOUND)
        return r;
    r = wl_get_alias(s, &owner, WL_ALIAS_AGENT, UPP_STR(AGENT_IDS), &random, err);
    if (r == -UPP_ENOTFOUND && makes)
        r = make_random_id(s, &owner, &random, err);
    return r < 0 ? r : digest_name(&random, name, ret, err);
}

/* Of a stored assistant whose own id is no UUID. */
#define BASE_ID "00000000-0000-4000-8000-000000000000"

/* OpenAI's API has no limit: max_completion_tokens of a run is one. */
static const struct weft_strategy_loop_opts base_rounds = {.max_iterations = 1000};

static WEFT_SUSPENDS int make_agents(const struct wrt_runtime *rt, struct wrt_generation *g, struct upp_err *err)
{
    const struct wc_config *c = g->config;
    g->base_strategy = weft_loop_with(&base_rounds);
    g->base = (struct wr_agent_def){.id = UPP_STR(BASE_ID), .strategy = &g->base_strategy, .owner = g, .base = true};
    g->agents = wb_new_n(&g->arena, struct wr_agent_def, c->n_agents ? c->n_agents : 1);
    for (size_t i = 0; g->agents && i < c->n_agents; i++) {
        struct wr_agent_def *def = &g->agents[i];
        *def = c->agents[i].def;
        def->owner = g;
        int r = wrt__add_tools(rt, g, &c->agents[i], def, err);
        if (r < 0)
            return r;
        if (def->id.n)
            continue;
        struct wb_uuid id;
        char text[WB_UUID_TEXT + 1];
        r = wrt_agent_id(rt->store, def->name, true, &id, err);
        if (r < 0)
            return upp_wrap(err, r, "the id of agent '%.*s'", UPP_FMT(def->name));
        def->id = wb_arena_dup(&g->arena, wb_uuid_text(id, text));
    }
    return wb_arena_check(&g->arena, err);
}

static double score_of(const void *arg, struct upp_str agent)
{
    return wc_agent_score(arg, agent);
}

static struct upp_str model_of(const void *arg, struct upp_str agent)
{
    const struct wc_agent *a = agent.n ? wc_config_agent(arg, agent) : NULL;
    return a ? wc_agent_model(a) : (struct upp_str){0};
}

static int make_router(struct wrt_generation *g, struct upp_err *err)
{
    const struct wc_config *c = g->config;
    struct we_router_opts opts = {.routes = &c->envelopes.routes,
                                  .adapters = &c->envelopes.adapters,
                                  .limits = &c->envelopes.limits,
                                  .announce = c->envelopes.announced_tokens,
                                  .agents = g->agents,
                                  .n_agents = c->n_agents,
                                  .model = model_of,
                                  .score = score_of,
                                  .budget = c->envelopes.budget,
                                  .arg = c};
    int r = we_router_make(&g->arena, &opts, &g->router, err);
    if (r >= 0)
        g->router->def.owner = g;
    return r;
}

void wrt__owned_unref(struct wrt_owned *o)
{
    if (!o || --o->users)
        return;
    wc_config_free(o->config);
    wb_free(o);
}

int wrt__generation_new(struct wrt_runtime *rt, struct wrt_owned *owned, const struct wc_config *c,
                        struct wrt_generation **ret, struct upp_err *err)
{
    struct wrt_generation *g = wb_calloc(1, sizeof *g);
    if (owned)
        owned->users++;
    if (!g) {
        wrt__owned_unref(owned);
        return upp_fail(err, UPP_ENOMEM, "no memory for agents");
    }
    g->config = c;
    g->owned = owned;
    g->arena = (struct wb_arena)WB_ARENA(AGENTS_BYTES);
    int r = wrt__lists_take(rt, g, err);
    if (r >= 0)
        r = make_agents(rt, g, err);
    if (r >= 0)
        r = make_router(g, err);
    if (r < 0)
        wrt__generation_free(g);
    else
        *ret = g;
    return r;
}

void wrt__generation_free(struct wrt_generation *g)
{
    if (!g)
        return;
    wrt__lists_unref(g->lists, g->n_lists);
    wb_arena_done(&g->arena);
    wrt__owned_unref(g->owned);
    wb_free(g);
}

const struct wr_agent_def *wrt_agent(const struct wrt_runtime *rt, struct upp_str name)
{
    const struct wrt_generation *g = rt->agents;
    const struct wc_config *c = g->config;
    const struct wr_agent_def *agents = g->agents;
    struct wb_uuid wanted, id;
    if (!name.n)
        return c->default_agent ? &agents[c->default_agent - c->agents] : NULL;
    for (size_t i = 0; i < c->n_agents; i++)
        if (wb_str_eq(agents[i].name, name))
            return &agents[i];
    if (wb_str_eq(name, g->router->def.name))
        return &g->router->def;
    if (wl_id_parse(name, UPP_STR("asst_"), &wanted))
        for (size_t i = 0; i < c->n_agents; i++)
            if (wb_uuid_parse(agents[i].id, &id) && wb_uuid_eq(id, wanted))
                return &agents[i];
    return wb_str_starts(name, UPP_STR("asst_")) ? &g->base : NULL;
}

static void hold_agent(void *arg, const struct wr_agent_def *def, bool begins)
{
    struct wrt_generation *g = def->owner;
    (void)arg;
    atomic_fetch_add_explicit(&g->runs, begins ? 1 : (size_t)-1, memory_order_acq_rel);
}

static const struct wr_agent_def *find_agent(void *arg, struct upp_str name)
{
    return wrt_agent(arg, name);
}

static const struct upp_model *find_model(void *arg, struct upp_str name, struct upp_str *params)
{
    const struct wrt_generation *g = ((const struct wrt_runtime *)arg)->agents;
    const struct wc_config *c = g->config;
    for (size_t i = 0; i < c->n_models; i++)
        if (wb_str_eq(c->models[i].name, name)) {
            *params = c->models[i].params;
            return c->models[i].model;
        }
    return NULL;
}

static const struct wr_agent_def *agent_at(void *arg, size_t i)
{
    const struct wrt_generation *g = ((const struct wrt_runtime *)arg)->agents;
    return i < g->config->n_agents ? &g->agents[i] : NULL;
}

static bool model_at(void *arg, size_t i, struct upp_str *name)
{
    const struct wrt_generation *g = ((const struct wrt_runtime *)arg)->agents;
    if (i < g->config->n_models)
        *name = g->config->models[i].name;
    return i < g->config->n_models;
}

/* ---- Opening and closing ---------------------------------------------------------------------------------- */

/* Every owner of the store records what webhooks have to report; only a server delivers it. */
static WEFT_SUSPENDS int open_outbox(struct wrt_runtime *rt, struct upp_err *err)
{
    unsigned kinds =
        (rt->config->on_end.url.p ? 1u << WS_DUE_END : 0) | (rt->config->on_wait.url.p ? 1u << WS_DUE_WAIT : 0);
    if (!kinds)
        return 0;
    struct wl_store *inner = WB_TAKE(rt->store);
    int r = ws_outbox_open(inner, kinds, &rt->store, err);
    rt->outbox = rt->store;
    return r;
}

static int open_engine(struct wrt_runtime *rt, struct weft_loop *loop, uint32_t home, uint32_t homes,
                       struct wr_engine **ret, struct upp_err *err)
{
    const struct wc_config *c = rt->config;
    return wr_engine_open(loop,
                          UPP_OPTS(wr_engine_opts, .store = rt->store, .agent = find_agent, .hold = hold_agent,
                                   .model = find_model, .agent_at = agent_at, .model_at = model_at, .arg = rt,
                                   .durability = c->durability, .tool_wait_ms = c->waits.tool_ms,
                                   .approval_wait_ms = c->waits.approval_ms, .provider_wait_ms = c->waits.provider_ms,
                                   .homes = homes, .home = home),
                          ret, err);
}

WEFT_SUSPENDS int wrt_runtime_open(struct weft_loop *loop, const struct wc_config *c, const struct wrt_location *at,
                                   struct wrt_runtime **ret, struct upp_err *err)
{
    UPP_CLEANUP(wrt_runtime_closep) struct wrt_runtime *rt = wb_calloc(1, sizeof *rt);
    if (!rt)
        return upp_fail(err, UPP_ENOMEM, "no memory for a runtime");
    rt->driver = at->driver;
    rt->start = rt->config = c;
    int r = wrt_store_open(c, at, &rt->store, err);
    if (r >= 0)
        r = open_outbox(rt, err);
    struct wrt_generation *first = NULL;
    if (r >= 0)
        r = wrt__generation_new(rt, NULL, c, &first, err);
    rt->agents = first;
    if (r >= 0)
        r = open_engine(rt, loop, 0, 1, &rt->engine, err);
    if (r >= 0)
        r = wrt__providers_open(rt, err);
    if (r < 0)
        return r;
    *ret = WB_TAKE(rt);
    return 0;
}

/* ---- Several loops ---------------------------------------------------------------------------------------- */

enum { RETRY_MS = 10 };

struct errand {
    struct wrt_runtime *rt;
    uint32_t i; /* of the engine among the others */
    size_t recovered;
};

static WEFT_SUSPENDS int open_there(void *arg, struct upp_err *err)
{
    struct errand *x = arg;
    return open_engine(x->rt, weft_loop_current(), x->i + 1, x->rt->n_others + 1, &x->rt->others[x->i], err);
}

static WEFT_SUSPENDS int close_there(void *arg, struct upp_err *err)
{
    struct errand *x = arg;
    (void)err;
    wr_engine_close(WB_TAKE(x->rt->others[x->i]));
    return 0;
}

static WEFT_SUSPENDS int recover_there(void *arg, struct upp_err *err)
{
    struct errand *x = arg;
    return wr_recover(x->rt->others[x->i], &x->recovered, err);
}

/* Runs fn on every other loop, one after the other. Shielded: the other side uses the runtime. */
static WEFT_SUSPENDS int on_others(struct wrt_runtime *rt, weft_fn *fn, size_t *recovered, struct upp_err *err)
{
    struct weft_shield shield = weft__shield_forever();
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < rt->n_others; i++) {
        int result = 0;
        struct errand *x = wb_calloc(1, sizeof *x);
        if (!x) {
            r = upp_fail(err, UPP_ENOMEM, "no memory for a call");
            break;
        }
        *x = (struct errand){.rt = rt, .i = i};
        r = weft_loop_call(weft_group_loop(rt->group, i), "runtime", fn, x, NULL, &result, err);
        if (recovered)
            *recovered += x->recovered;
        wb_free(x);
        r = r < 0 ? r : result;
    }
    weft_shield_end(&shield);
    return r;
}

WEFT_SUSPENDS int wrt_runtime_spread(struct wrt_runtime *rt, uint32_t n, struct upp_err *err)
{
    if (!n)
        n = WB_MIN(weft__uv_cores(), (uint32_t)WRT_LOOPS);
    if (n == 1)
        return 0;
    rt->others = wb_calloc(n - 1, sizeof *rt->others);
    if (!rt->others)
        return upp_fail(err, UPP_ENOMEM, "no memory for engines");
    int r = weft_group_open(UPP_OPTS(weft_group_opts, .loops = n - 1, .report_overflow = true), &rt->group, err);
    if (r < 0)
        return r;
    rt->n_others = n - 1;
    wr_engine_set_home(rt->engine, n, 0);
    return on_others(rt, open_there, NULL, err);
}

WEFT_SUSPENDS int wrt_runtime_recover(struct wrt_runtime *rt, size_t *ret, struct upp_err *err)
{
    int r = wr_recover(rt->engine, ret, err);
    return r < 0 ? r : on_others(rt, recover_there, ret, err);
}

/* A call to another loop may find no memory. No engine may outlive its loop, so it is tried again, also by a fiber that
 * is cancelled; engines that are closed already are NULL. */
WEFT_SUSPENDS void wrt_runtime_stop(struct wrt_runtime *rt)
{
    struct weft_shield shield = weft__shield_forever();
    weft_scope_close(&rt->background);
    for (int r = -1; r < 0;) {
        r = on_others(rt, close_there, NULL, NULL);
        if (r < 0 && weft_sleep_ms(RETRY_MS, NULL) < 0)
            continue; /* no memory for a timer either */
    }
    weft_shield_end(&shield);
    wr_engine_close(WB_TAKE(rt->engine));
}

WEFT_SUSPENDS void wrt_runtime_close(struct wrt_runtime *rt)
{
    if (!rt)
        return;
    wrt_runtime_stop(rt);
    if (rt->store)
        rt->store->ops->close(rt->store);
    weft_group_close(rt->group);
    wb_free(rt->others);
    for (struct wrt_generation *g = rt->agents, *older; g; g = older) {
        older = g->older;
        wrt__generation_free(g);
    }
    wrt__providers_close(rt);
    wb_free(rt);
}

WEFT_SUSPENDS void wrt_runtime_closep(struct wrt_runtime **rt)
{
    wrt_runtime_close(*rt);
}
