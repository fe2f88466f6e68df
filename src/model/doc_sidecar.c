/* model/doc_sidecar.c — writes and reads the sidecars of threads, turns and entries. */
#include "model/doc_sidecar.h"

#include <upp/model.h>

#include "base/err.h"
#include "json/decode.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

static void put_usage(struct wj_writer *w, const struct upp_usage *u)
{
    const uint64_t counts[] = {u->input, u->output, u->cache_read, u->cache_write, u->reasoning};
    wj_put_open(w, "usage", '[');
    for (size_t i = 0; i < WB_LEN(counts); i++)
        wj_write_u64(w, counts[i]);
    wj_write_close(w, ']');
}

int wm_sidecar_thread(const struct wm_doc *d, struct wb_uuid thread, struct wb_buf *out, struct upp_err *err)
{
    char id[WB_UUID_TEXT + 1], config[sizeof WM_CONFIG_URN + WB_UUID_TEXT + 24];
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_text(&w, "thread", wb_uuid_text(thread, id));
    wj_put_text(&w, "dialect", d->dialect);
    wj_put_text(&w, "id", d->id);
    wj_put_text(&w, "created", d->created);
    wj_put_text(&w, "updated", d->updated);
    wj_put_text(&w, "parent", d->parent);
    if (d->parent_at)
        wj_put_u64(&w, "parentAt", d->parent_at);
    wj_put_open(&w, "agents", '[');
    for (size_t i = 0; i < d->agents.n; i++) {
        const struct wm_doc_agent *agent = &d->agents.p[i];
        wj_write_open(&w, '{');
        wj_put_text(&w, "id", agent->id);
        wj_put_text(&w, "name", agent->name);
        wj_put_text(&w, "model", agent->model);
        wj_put_text(&w, "provider", agent->provider);
        if (agent->prompted && !agent->config.n) {
            (void)snprintf(config, sizeof config, WM_CONFIG_URN "%s:%zu", id, i);
            wj_put_text(&w, "config", wb_cstr(config));
        } else {
            wj_put_text(&w, "config", agent->config);
        }
        wj_put_text(&w, "created", agent->created);
        wj_put_text(&w, "prompt", agent->prompt);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

int wm_sidecar_turn(const struct wm_doc_turn *t, struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    if (t->agent != WM_NO_AGENT)
        wj_put_u64(&w, "agent", t->agent);
    wj_put_text(&w, "id", t->id);
    wj_put_text(&w, "run", t->run);
    wj_put_text(&w, "started", t->started);
    wj_put_text(&w, "ended", t->ended);
    if (t->partial)
        wj_put_bool(&w, "partial", true);
    if (t->has_usage)
        put_usage(&w, &t->usage);
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

int wm_sidecar_entry(const struct wm_doc_entry *e, uint32_t turns_agent, struct wb_buf *out, struct upp_err *err)
{
    const struct wm_reply_info *reply = &e->said;
    struct wj_writer w;
    if (!e->id.p && e->agent == turns_agent && !reply->model.p && !reply->provider.p && !reply->response.p &&
        !reply->stop && !reply->has_usage)
        return 0;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_text(&w, "id", e->id);
    if (e->agent != turns_agent)
        wj_put_u64(&w, "agent", e->agent);
    wj_put_text(&w, "model", reply->model);
    wj_put_text(&w, "provider", reply->provider);
    wj_put_text(&w, "response", reply->response);
    if (reply->stop)
        wj_put_u64(&w, "stop", reply->stop);
    if (reply->has_usage)
        put_usage(&w, &reply->usage);
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

struct agent {
    struct wj_node node;
    struct upp_str id, name, model, provider, config, created, prompt;
};
static const struct wj_field agent_rows[] = {
    F_STR(struct agent, id, "id", 0),         F_STR(struct agent, name, "name", 0),
    F_STR(struct agent, model, "model", 0),   F_STR(struct agent, provider, "provider", 0),
    F_STR(struct agent, config, "config", 0), F_STR(struct agent, created, "created", 0),
    F_STR(struct agent, prompt, "prompt", 0),
};
WJ_SHAPE(agent, struct agent, agent_rows);

/* One shape for all three: no member has two meanings. */
struct sidecar {
    struct wj_node node;
    struct upp_str thread, dialect, id, created, updated, parent, run, started, ended, model, provider, response;
    uint64_t parent_at, agent, stop;
    bool partial;
    yyjson_val *usage;
    WJ_ARR(struct agent) agents;
};
static const struct wj_field rows[] = {
    F_STR(struct sidecar, thread, "thread", 0),
    F_STR(struct sidecar, dialect, "dialect", 0),
    F_STR(struct sidecar, id, "id", 0),
    F_STR(struct sidecar, created, "created", 0),
    F_STR(struct sidecar, updated, "updated", 0),
    F_STR(struct sidecar, parent, "parent", 0),
    F_U64(struct sidecar, parent_at, "parentAt", 0),
    F_LIST(struct sidecar, agents, "agents", 0, agent),
    F_U64(struct sidecar, agent, "agent", 0),
    F_STR(struct sidecar, run, "run", 0),
    F_STR(struct sidecar, started, "started", 0),
    F_STR(struct sidecar, ended, "ended", 0),
    F_BOOL(struct sidecar, partial, "partial", 0),
    F_STR(struct sidecar, model, "model", 0),
    F_STR(struct sidecar, provider, "provider", 0),
    F_STR(struct sidecar, response, "response", 0),
    F_U64(struct sidecar, stop, "stop", 0),
    F_ANY(struct sidecar, usage, "usage", 0),
};
WJ_SHAPE(sidecar, struct sidecar, rows);

static int read_text(struct wb_arena *a, struct upp_str text, struct sidecar *ret, struct upp_err *err)
{
    yyjson_val *v;
    int r = wj_read(a, text, UPP_OPTS(wj_read_opts, .max_bytes = text.n + 1), &v, err);
    if (r >= 0)
        r = WJ_DECODE(a, sidecar, v, NULL, ret, err);
    if (r != -UPP_EINVALID)
        return r < 0 ? r : 0;
    if (err)
        err->code = UPP_ESTORE;
    return -UPP_ESTORE;
}

static bool read_usage(yyjson_val *v, struct upp_usage *u)
{
    uint64_t *to[] = {&u->input, &u->output, &u->cache_read, &u->cache_write, &u->reasoning};
    if (!yyjson_is_arr(v) || unsafe_yyjson_get_len(v) != WB_LEN(to))
        return false;
    yyjson_val *n = unsafe_yyjson_get_first(v);
    for (size_t i = 0; i < WB_LEN(to); i++, n = unsafe_yyjson_get_next(n))
        if (!yyjson_is_raw(n) || !wb_str_u64(wj_text(n), to[i]))
            return false;
    return true;
}

static uint32_t agent_of(const struct sidecar *b, uint32_t fallback)
{
    return !yyjson_obj_get(b->node.from, "agent") ? fallback : (uint32_t)WB_MIN(b->agent, (uint64_t)WM_NO_AGENT);
}

int wm_sidecar_thread_read(struct wb_arena *a, struct upp_str text, struct wm_doc *d, struct wb_uuid *thread,
                           struct upp_err *err)
{
    struct sidecar b;
    uint32_t index;
    int r = read_text(a, text, &b, err);
    if (r >= 0 && !wb_uuid_parse(b.thread, thread))
        r = upp_fail(err, UPP_ESTORE, "what came with a document names no thread");
    for (size_t i = 0; r >= 0 && i < b.agents.n; i++) {
        const struct agent *from = &b.agents.p[i];
        struct wm_doc_agent one = {.id = from->id,
                                   .name = from->name,
                                   .model = from->model,
                                   .provider = from->provider,
                                   .config = from->config,
                                   .created = from->created,
                                   .prompt = from->prompt};
        r = wm_doc_agent_add(d, &one, &index, err);
    }
    if (r < 0)
        return r;
    d->dialect = b.dialect;
    d->id = b.id, d->created = b.created, d->updated = b.updated, d->parent = b.parent;
    d->parent_at = (uint32_t)WB_MIN(b.parent_at, (uint64_t)UINT32_MAX);
    return 0;
}

int wm_sidecar_turn_read(struct wb_arena *a, struct upp_str text, struct wm_doc_turn *t, struct upp_err *err)
{
    struct sidecar b;
    int r = read_text(a, text, &b, err);
    if (r < 0)
        return r;
    t->agent = agent_of(&b, WM_NO_AGENT);
    t->id = b.id, t->run = b.run, t->started = b.started, t->ended = b.ended;
    t->partial = b.partial;
    t->has_usage = read_usage(b.usage, &t->usage);
    return 0;
}

int wm_sidecar_entry_read(struct wb_arena *a, struct upp_str text, struct wm_doc_entry *e, struct upp_err *err)
{
    struct sidecar b;
    int r = read_text(a, text, &b, err);
    if (r < 0)
        return r;
    e->id = b.id;
    e->agent = agent_of(&b, e->agent);
    e->said.model = b.model;
    e->said.provider = b.provider;
    e->said.response = b.response;
    e->said.stop = (uint8_t)WB_MIN(b.stop, (uint64_t)UPP_STOP_ERROR);
    e->said.has_usage = read_usage(b.usage, &e->said.usage);
    return 0;
}
