/* runtime/config_models.c — the section `models`. */
#include "base/file.h"
#include "json/value.h"
#include "runtime/config_read.h"

/* Vendors that will be built; their keys are known already. */
static const char *const providers[] = {"scripted",   "anthropic", "openai", "google",
                                        "openrouter", "xai",       "ollama", NULL};

struct reading {
    struct wc_model      *model;
    const struct wc_node *key;
    unsigned              provider;
    bool                  has_provider, echo;
    bool                  hidden; /* the path of the script has a variable in it */
};

static void read_provider(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    m->has_provider   = wc_word(r, n, "a provider", providers, &m->provider);
    if (m->has_provider && m->provider)
        wc_mistake(r, n, "provider '%s' is not built yet", providers[m->provider]);
}

static void read_script(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    struct upp_str  path;
    if (!wc_text(r, n, "a script", &path))
        return;
    if (memchr(path.p, 0, path.n))
        wc_mistake(r, n, "a path holds no NUL");
    else
        m->model->script = wc_path(r, path);
    m->hidden = wb_str_find(n->text, UPP_STR("${"), 0) != SIZE_MAX;
}

static void read_echo(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    (void)wc_truth(r, n, "echo", &m->echo);
}

static void read_params(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    if (wc_is(r, n, WC_MAP, "params"))
        (void)wc_json(r, n, "params", &m->model->params);
}

static void read_retry_strategy(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const char *const words[] = {"exponential", "none", "linear", "token_bucket", "retry_after", NULL};
    struct reading          *m       = into;
    unsigned                 which;
    if (!wc_word(r, n, "a retry strategy", words, &which))
        return;
    if (which == 1)
        m->model->retry.max_attempts = 1;
    if (which > 1)
        wc_warning(r, n, "the retry strategy '%s' is not supported yet: it is exponential", words[which]);
}

static void read_attempts(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    uint64_t        v;
    if (wc_number(r, n, "max_attempts", 1, 100, &v) && m->model->retry.max_attempts != 1)
        m->model->retry.max_attempts = (unsigned)v;
}

static void read_base_delay(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *m = into;
    (void)wc_number(r, n, "base_delay_ms", 1, 30000, &m->model->retry.base_delay_ms);
}

static void read_retry(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        {"strategy", read_retry_strategy, 0},
        {"max_attempts", read_attempts, 0},
        {"base_delay_ms", read_base_delay, 0},
    };
    wc_map(r, n, "retry", keys, WB_LEN(keys), into);
}

/* Keys of vendors: their types are checked when the vendors are built. */
static void read_later(struct wc_reader *r, const struct wc_node *n, void *into)
{
    const struct reading *m = into;
    if (m->has_provider && m->provider == 0)
        wc_mistake(r, n, "a scripted model has no use for this");
}

static void read_timeout(struct wc_reader *r, const struct wc_node *n, void *into)
{
    uint64_t ms;
    (void)into;
    (void)wc_number(r, n, "timeout_ms", 1, 86400000, &ms);
}

static void make_scripted(struct wc_reader *r, struct reading *m)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(16u << 20);
    struct upp_err                        err  = {0};
    if (m->echo == (m->model->script.p != NULL)) {
        wc_mistake(r, m->key, "a scripted model has either 'script: FILE' or 'echo: true'");
        return;
    }
    if (r->opts->no_files || wb_arena_check(&r->config->arena, NULL) < 0)
        return;
    int code = m->echo ? 0 : wb_file_read(m->model->script.p, &text, &err);
    if (code == 0)
        code = upp_scripted_new(m->echo ? (struct upp_str){0} : wb_buf_str(&text), &m->model->model, &err);
    if (code == -UPP_ENOMEM)
        wc_fail(r, upp_fail(r->err, UPP_ENOMEM, "no memory for a model"));
    else if (code < 0)
        wc_mistake(r, m->key, "the script of this model cannot be used: %s%s%s", m->hidden ? "" : err.where,
                   !m->hidden && err.where[0] ? ": " : "", err.msg);
}

static void read_model(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, void *into)
{
    static const struct wc_key keys[] = {
        {"provider", read_provider, WC_REQUIRED},
        {"script", read_script, 0},
        {"echo", read_echo, 0},
        {"params", read_params, 0},
        {"retry", read_retry, 0},
        {"timeout_ms", read_timeout, 0},
        {"model", read_later, 0},
        {"api", read_later, 0},
        {"base_url", read_later, 0},
        {"api_key", read_later, 0},
    };
    struct wc_model *model = &r->config->models[r->config->n_models++];
    struct reading   m     = {.model = model, .key = key};
    (void)into;
    model->name = key->text;
    wc_map(r, value, "a model", keys, WB_LEN(keys), &m);
    if (!m.has_provider)
        return;
    model->provider = wb_cstr(providers[m.provider]);
    if (m.provider == 0)
        make_scripted(r, &m);
}

void wc_read_models(struct wc_reader *r, const struct wc_node *n, void *into)
{
    size_t room       = n->kind == WC_MAP && n->n <= WC_MAX_NAMED ? n->n : 0;
    r->config->models = wb_new_n(&r->config->arena, struct wc_model, room + 1);
    if (r->config->models)
        wc_named(r, n, "models", read_model, into);
}
