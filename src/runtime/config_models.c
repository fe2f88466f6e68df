/* runtime/config_models.c — the section `models`. */
#include <upp/provider.h>

#include "base/file.h"
#include "base/secret.h"
#include "json/value.h"
#include "dialects/aitp/members.h"
#include "json/write.h"
#include "remote/remote.h"
#include "runtime/config_read.h"
#include "upp/providers/vendors.h"

enum { MAX_KEYS = 16, MAX_HEADERS = 16, MAX_PROVIDERS = 32 };

struct reading {
    struct wc_model *model;
    const struct wc_node *key;
    unsigned provider; /* 0: scripted */
    bool has_provider, echo;
    bool hidden; /* the script's path contains a variable */
    const char *vendor_model;
    const char *protocol; /* of an agent behind another server */
    struct upp_str actor; /* likewise: who calls it, as JSON; empty: not set */
    struct upp_provider_opts opts;
    struct upp_key keys[MAX_KEYS];
    struct upp_header headers[MAX_HEADERS];
    struct upp_retry_opts retry;
};

static void read_provider(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    const char *names[MAX_PROVIDERS + 1];
    size_t i = 0;
    for (; i < MAX_PROVIDERS && upp_provider_name(i); i++)
        names[i] = upp_provider_name(i);
    names[i] = NULL;
    m->has_provider = wc_word(r, n, "a provider", names, &m->provider);
}

static void read_script(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    struct upp_str path;
    if (!wc_text(r, n, "a script", &path))
        return;
    if (memchr(path.p, 0, path.n))
        wc_mistake(r, n, "a path holds no NUL");
    else
        m->model->script = wc_path(r, path);
    m->hidden = wb_str_find(n->text, UPP_STR("${"), 0) != SIZE_MAX;
}

static void read_params(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    if (wc_is(r, n, WC_MAP, "params"))
        (void)wc_json(r, n, "params", &m->model->params);
}

/* ---- Retries ---------------------------------------------------------------------------------------------- */

static void read_refill(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    (void)wc_decimal(r, n, "refill_per_second", 0.001, 1000000, &m->retry.refill_per_second);
}

static void read_retry(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const char *const words[] = {"none", "exponential", "linear", "token_bucket", "retry_after", NULL};
    static const struct wc_key keys[] = {
        WC_CHOICE(WC_ENUM, "strategy", struct reading, retry.kind, UPP_RETRY_NONE, "a retry strategy", words),
        WC_MEMBER(WC_U32, "max_attempts", struct reading, retry.max_attempts, 1, 100),
        WC_MEMBER(WC_U64, "base_delay_ms", struct reading, retry.base_delay_ms, 1, 3600000),
        WC_MEMBER(WC_U64, "max_delay_ms", struct reading, retry.max_delay_ms, 1, 3600000),
        WC_MEMBER(WC_U64, "retry_after_max_ms", struct reading, retry.retry_after_max_ms, 1, 86400000),
        WC_MEMBER(WC_F64, "max_tokens", struct reading, retry.max_tokens, 1, 1000000),
        {.name = "refill_per_second", .read = read_refill},
    };
    wc_map(r, n, "retry", keys, WB_LEN(keys), into);
}

/* Our default is shorter than the library's; the other strategies use theirs. */
static void default_delay(struct upp_retry_opts *o)
{
    if (o->kind == UPP_RETRY_EXPONENTIAL && !o->base_delay_ms)
        o->base_delay_ms = 500;
}

/* ---- Models of providers ---------------------------------------------------------------------------------- */

/* Reads a text that a scripted model does not use into the key's member. */
static void read_text(struct wc_reader *r, const struct wc_node *n, void *into)
{
    const struct wc_key *key = r->key;
    struct reading *m = into;
    struct upp_str s;
    if (m->has_provider && m->provider == 0)
        wc_mistake(r, n, "a scripted model has no use for this");
    else if (wc_text(r, n, key->what, &s)) {
        if (!s.n || memchr(s.p, 0, s.n))
            wc_mistake(r, n, "%s is a text that is not empty and holds no NUL", key->what);
        else
            *(const char **)((char *)into + key->at) = s.p;
    }
}

static bool read_secret(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *ret)
{
    const struct wb_secret *secret;
    if (!wc_secret(r, n, what, &secret, ret))
        return false;
    if (secret)
        *ret = wb_secret_reveal(secret); /* the configuration holds it until the model has a copy */
    return true;
}

static void add_key(struct wc_reader *r, const struct wc_node *n, struct reading *m)
{
    struct upp_str text;
    if (m->opts.keys.n == MAX_KEYS)
        wc_mistake(r, n, "at most %d keys", MAX_KEYS);
    else if (read_secret(r, n, "an api_key", &text)) {
        m->keys[m->opts.keys.n++] = (struct upp_key){.text = text};
        if (wc_hide(r, UPP_STR(""), text) && !wc_has_variables(n))
            wc_inline_secret(r, n);
    }
}

/* One key, or several that are used in turn. */
static void read_api_key(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    if (m->has_provider && m->provider == 0)
        wc_mistake(r, n, "a scripted model has no use for this");
    else if (n->kind != WC_LIST)
        add_key(r, n, m);
    else
        for (const struct wc_item *i = n->first; i; i = i->next)
            add_key(r, i->value, m);
    m->opts.keys.kind = UPP_KEYS_ROUND_ROBIN;
    m->opts.keys.list = m->keys;
}

static void read_headers(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    if (!wc_is(r, n, WC_MAP, "headers"))
        return;
    for (const struct wc_item *i = n->first; i; i = i->next) {
        struct upp_header h = {.name = i->key->text};
        if (wc_repeated(n, i))
            wc_mistake(r, i->key, "this header is there a second time");
        else if (m->opts.n_headers == MAX_HEADERS)
            wc_mistake(r, i->key, "at most %d headers", MAX_HEADERS);
        else if (wc_null(i->value) || read_secret(r, i->value, "a header", &h.value)) {
            m->headers[m->opts.n_headers++] = h;
            if (h.value.n && wc_is_secret_name(h.name) && wc_hide(r, UPP_STR(""), h.value) &&
                !wc_has_variables(i->value))
                wc_inline_secret(r, i->value);
        }
    }
    m->opts.headers = m->headers;
}

/* Reports libupp's error about the options, at the model's position; except out of memory. */
static void made(struct wc_reader *r, const struct reading *m, int code, const struct upp_err *err, const char *what)
{
    if (code == -UPP_ENOMEM)
        wc_fail(r, upp_fail(r->err, UPP_ENOMEM, "no memory for a model"));
    else if (code < 0)
        wc_mistake(r, m->key, "%s%s%s%s", what, m->hidden ? "" : err->where, !m->hidden && err->where[0] ? ": " : "",
                   err->msg);
}

/* If the file has no key, uses the provider's environment variable. Reads it now, not at the first call, so that it
 * need not stay in the environment. Warns if there is none: the model's first call would fail. */
static void take_key(struct wc_reader *r, struct reading *m)
{
    const struct upp__provider *p = NULL;
    if (m->opts.keys.kind || m->opts.keys.n ||
        upp__provider_find(upp_provider_name(m->provider), m->opts.api, &p, NULL) < 0 || !p->env)
        return;
    const char *value = wc_env(r, p->env);
    if ((!value || !*value) && !(p->habits & UPP__KEY_OPTIONAL))
        wc_warning(r, m->key, "this model has no 'api_key', and the environment variable %s is not set", p->env);
    if (!value || !*value || !wc_hide(r, wb_cstr(p->env), wb_cstr(value)))
        return;
    m->keys[m->opts.keys.n++] = (struct upp_key){.text = wb_cstr(value)}; /* the model makes its own copy */
    m->opts.keys.kind = UPP_KEYS_ROUND_ROBIN;
    m->opts.keys.list = m->keys;
}

static void make_vendor(struct wc_reader *r, struct reading *m)
{
    struct upp_err err = {0};
    if (!m->vendor_model) {
        wc_mistake(r, m->key, "a model of '%s' needs 'model: NAME'", upp_provider_name(m->provider));
        return;
    }
    if (m->model->script.p || m->echo)
        wc_mistake(r, m->key, "only a scripted model has a script or an echo");
    if (wb_arena_check(&r->config->arena, NULL) < 0)
        return;
    take_key(r, m);
    m->opts.size = sizeof m->opts;
    m->opts.retry.retry_after_max_ms = m->retry.retry_after_max_ms; /* also limits a Retry-After in a response */
    made(r, m,
         upp_model_new((struct upp_model_ref){upp_provider_name(m->provider), m->vendor_model, &m->opts},
                       &m->model->model, &err),
         &err, "");
}

/* ---- Scripted models -------------------------------------------------------------------------------------- */

static void make_scripted(struct wc_reader *r, struct reading *m)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(16u << 20);
    struct upp_err err = {0};
    if (m->echo == (m->model->script.p != NULL)) {
        wc_mistake(r, m->key, "a scripted model has either 'script: FILE' or 'echo: true'");
        return;
    }
    if (r->opts->no_files || wb_arena_check(&r->config->arena, NULL) < 0)
        return;
    int code = m->echo ? 0 : wb_file_read(m->model->script.p, &text, &err);
    if (code == 0)
        code = upp_scripted_new(m->echo ? (struct upp_str){0} : wb_buf_str(&text), &m->model->model, &err);
    made(r, m, code, &err, "the script of this model cannot be used: ");
}

#define TEXT(name_, member_, what_)                                                                                    \
    {                                                                                                                  \
        .name = name_, .read = read_text, .at = offsetof(struct reading, member_), .what = (what_)                     \
    }

static void read_model(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, void *into)
{
    static const struct wc_key keys[] = {
        {.name = "provider", .read = read_provider, .flags = WC_REQUIRED},
        {.name = "script", .read = read_script},
        WC_MEMBER(WC_TRUTH, "echo", struct reading, echo, 0, 0),
        {.name = "params", .read = read_params},
        {.name = "retry", .read = read_retry},
        WC_MEMBER(WC_U64, "timeout_ms", struct reading, opts.timeout_ms, 1, 86400000),
        WC_MEMBER(WC_U64, "idle_ms", struct reading, opts.idle_ms, 1, 86400000),
        TEXT("model", vendor_model, "a model's name"),
        TEXT("api", opts.api, "an api"),
        TEXT("api_version", opts.api_version, "an api_version"),
        TEXT("auth", opts.auth, "auth"),
        TEXT("base_url", opts.base_url, "a base_url"),
        {.name = "api_key", .read = read_api_key},
        {.name = "headers", .read = read_headers},
    };
    struct wc_model *model = &r->config->models[r->config->n_models++];
    struct reading m = {.model = model, .key = key, .retry = {.kind = UPP_RETRY_EXPONENTIAL}};
    (void)into;
    model->name = key->text;
    wc_map(r, value, "a model", keys, WB_LEN(keys), &m);
    if (!m.has_provider)
        return;
    model->provider = wb_cstr(upp_provider_name(m.provider));
    if (m.provider == 0)
        make_scripted(r, &m);
    else
        make_vendor(r, &m);
    default_delay(&m.retry);
    if (model->model && m.retry.kind) {
        struct upp_err err = {0};
        made(r, &m, upp_retry_new(&m.retry, &model->model->retry, &err), &err, "");
    }
}

/* ---- Agents behind other servers --------------------------------------------------------------------------- */

static void read_protocol(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    if (wc_word(r, n, "a protocol", rm_protocols, &m->provider))
        m->protocol = rm_protocols[m->provider];
}

static void read_url(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    struct upp_str url;
    if (!wc_url(r, n, "a url", &url))
        return;
    if (memchr(url.p, 0, url.n) || memchr(url.p, '@', url.n))
        wc_mistake(r, n, "a url holds no NUL and no name and password: see 'api_key'");
    else
        m->opts.base_url = url.p;
}

struct actor {
    struct upp_str id;
    struct upp_str *capabilities;
    size_t n;
};

static void read_actor_capabilities(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct actor *a = into;
    (void)wc_texts(r, n, "capabilities", WD_AITP_CAPABILITIES_MAX, &a->capabilities, &a->n);
}

/* {"id", "capabilities": [{"schema"}]}, as the list of actors has it. */
static void read_actor(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_STR, "id", struct actor, id, 0, 0),
        {.name = "capabilities", .read = read_actor_capabilities},
    };
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct reading *m = into;
    struct actor a = {0};
    struct wj_writer w;
    wc_map(r, n, "actor", keys, WB_LEN(keys), &a);
    if (a.id.n > WD_AITP_ID_MAX)
        wc_mistake(r, n, "the id of an actor has at most %d bytes", WD_AITP_ID_MAX);
    wj_writer_init(&w, &out, NULL);
    wj_write_open(&w, '{');
    if (a.id.n)
        wj_put_str(&w, "id", a.id);
    wj_put_open(&w, "capabilities", '[');
    for (size_t i = 0; i < a.n; i++) {
        wj_write_open(&w, '{');
        wj_put_str(&w, "schema", a.capabilities[i]);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    if (wj_writer_text(&w, &r->config->arena, &m->actor) < 0)
        wc_mistake(r, n, "an actor is too long");
}

/* Of an agent: the keys that say where it is. */
static const struct wc_key remote_keys[] = {
    {.name = "remote", .read = read_protocol},
    {.name = "url", .read = read_url, .flags = WC_REQUIRED},
    {.name = "retry", .read = read_retry},
    WC_MEMBER(WC_U64, "timeout_ms", struct reading, opts.timeout_ms, 1, 86400000),
    WC_MEMBER(WC_U64, "idle_ms", struct reading, opts.idle_ms, 1, 86400000),
    WC_MEMBER(WC_U64, "max_answer_bytes", struct reading, opts.max_answer, 1024, 1 << 30),
    {.name = "api_key", .read = read_api_key},
    {.name = "headers", .read = read_headers},
    {.name = "actor", .read = read_actor},
};

static bool is_remote_key(struct upp_str name)
{
    for (size_t i = 0; i < WB_LEN(remote_keys); i++)
        if (wb_str_eq(name, wb_cstr(remote_keys[i].name)))
            return true;
    return false;
}

/* Those of its keys, as a map of their own. */
static struct wc_node remote_part(struct wc_reader *r, const struct wc_node *agent)
{
    struct wc_node part = *agent;
    struct wc_item **last = &part.first;
    part.first = NULL;
    part.n = 0;
    for (const struct wc_item *i = agent->first; i; i = i->next) {
        struct wc_item *copy = is_remote_key(i->key->text) ? wb_new(&r->config->arena, struct wc_item) : NULL;
        if (!copy)
            continue;
        *copy = (struct wc_item){.key = i->key, .value = i->value};
        *last = copy;
        last = &copy->next;
        part.n++;
    }
    return part;
}

static void make_remote(struct wc_reader *r, struct reading *m, const struct wc_agent *a)
{
    struct upp_err err = {0};
    const char *name = wb_arena_dup(&r->config->arena, a->def.name).p;
    m->opts.size = sizeof m->opts;
    default_delay(&m->retry);
    m->opts.retry = m->retry;
    m->opts.retry.retry_after_max_ms = m->retry.retry_after_max_ms;
    if (wb_arena_check(&r->config->arena, NULL) == 0)
        made(r, m, rm_model_new(m->protocol, name, &m->opts, m->actor, &m->model->model, &err), &err, "");
}

void wc_read_remote(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, struct wc_agent *a)
{
    struct reading m = {.model = &a->remote, .key = key, .retry = {.kind = UPP_RETRY_EXPONENTIAL}};
    if (value->kind != WC_MAP)
        return;
    struct wc_node part = remote_part(r, value);
    if (!part.n)
        return;
    if (!wc_get(value, "remote")) {
        wc_mistake(r, part.first->key, "only an agent with 'remote: PROTOCOL' has '%.*s'",
                   UPP_FMT(part.first->key->text));
        return;
    }
    if (a->model || a->wrong_model)
        wc_mistake(r, wc_get(value, "model"), "an agent with 'remote' has the model of that server");
    wc_map(r, &part, "an agent with 'remote'", remote_keys, WB_LEN(remote_keys), &m);
    if (m.actor.n && m.protocol && strcmp(m.protocol, "aitp") != 0)
        wc_mistake(r, wc_get(value, "actor"), "only 'remote: aitp' has actors");
    a->wrong_model = true; /* until it is made */
    if (!m.protocol || !m.opts.base_url)
        return;
    make_remote(r, &m, a);
    a->remote.name = a->def.name;
    a->remote.provider = wb_cstr(m.protocol);
    a->model = &a->remote;
    a->def.model = a->remote.model;
    a->wrong_model = !a->remote.model;
}

void wc_read_models(struct wc_reader *r, const struct wc_node *n, void *into)
{
    size_t room = n->kind == WC_MAP && n->n <= WC_MAX_NAMED ? n->n : 0;
    r->config->models = wb_new_n(&r->config->arena, struct wc_model, room + 1);
    if (r->config->models)
        wc_named(r, n, "models", read_model, into);
}
