/* runtime/config.c — reads the configuration file as a whole, and its sections of one line. */
#include "runtime/config.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/tool/command.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/mask.h"
#include "json/value.h"
#include "log/change.h"
#include "model/run.h"
#include "run/engine.h"
#include "runtime/config_read.h"
#include "stores/driver.h"

enum { ARENA_MAX = 64 << 20, REPORT_MAX = 256 << 10, MOST_DAYS = 36500, MOST_SECONDS = 86400 };

/* ---- store, log ... ------------------------------------------------------------------------------------------- */

static void read_store(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_config *c = into;
    struct upp_str text, path;
    if (!wc_text(r, n, "store", &text))
        return;
    if (wb_str_eq(text, UPP_STR("memory")))
        text = UPP_STR("memory:");
    const struct ws_driver *driver = ws_driver_find(text, &path);
    if (driver && (!driver->durable || (path.n && !memchr(path.p, 0, path.n)))) {
        c->store = driver;
        c->store_path = driver->durable ? wc_path(r, path) : (struct upp_str){0};
    } else if (wb_str_starts(text, UPP_STR("postgres:")) || wb_str_starts(text, UPP_STR("postgresql:")))
        wc_mistake(r, n, "the PostgreSQL store is not built yet");
    else
        wc_mistake(r, n, "store is 'memory:' or 'sqlite:FILE'");
}

static void read_key_file(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_config *c = into;
    struct upp_str text;
    if (!wc_text(r, n, "key_file", &text))
        return;
    if (text.n && !memchr(text.p, 0, text.n))
        c->key_file = wc_path(r, text);
    else
        wc_mistake(r, n, "key_file is the path of a file");
    if (c->key_file.p && !r->opts->no_files && wb_file_exposed(c->key_file.p))
        wc_warning(r, n, "others can read the file with the master key, so that no store is opened with it: chmod 600");
}

/* The file is read when the store is opened, not before. */
static void read_encryption(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {{.name = "key_file", .read = read_key_file}};
    struct wc_config *c = into;
    size_t before = r->report->errors;
    wc_map(r, n, "encryption", keys, WB_LEN(keys), into);
    if (!c->key_file.p && r->report->errors == before)
        wc_mistake(r, n, "encryption has no key_file");
}

static void read_retention(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_U32, "tapes_days", struct wc_retention, tapes_days, 1, MOST_DAYS),
        WC_MEMBER(WC_U32, "deleted_days", struct wc_retention, deleted_days, 1, MOST_DAYS),
        WC_MEMBER(WC_U32, "audit_days", struct wc_retention, audit_days, 1, MOST_DAYS),
        WC_MEMBER(WC_U32, "usage_days", struct wc_retention, usage_days, 1, MOST_DAYS),
        WC_MEMBER(WC_U32, "every_seconds", struct wc_retention, every_seconds, 1, MOST_SECONDS),
    };
    struct wc_config *c = into;
    wc_map(r, n, "retention", keys, WB_LEN(keys), &c->retention);
}

static void read_waits(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_DURATION, "tool", struct wc_waits, tool_ms, 1000, MOST_DAYS * WL_DAY_MS),
        WC_MEMBER(WC_DURATION, "approval", struct wc_waits, approval_ms, 1000, MOST_DAYS * WL_DAY_MS),
        WC_MEMBER(WC_DURATION, "provider", struct wc_waits, provider_ms, 1, MOST_DAYS * WL_DAY_MS),
    };
    struct wc_config *c = into;
    wc_map(r, n, "waits", keys, WB_LEN(keys), &c->waits);
}

static void read_level(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const char *const words[] = {"off", "error", "warn", "info", "debug", "trace", NULL};
    struct wc_config *c = into;
    unsigned which;
    if (wc_word(r, n, "a log level", words, &which)) {
        c->log_level = (enum wb_log_level)(WB_OFF + which);
        c->has_log_level = true;
    }
}

static void read_format(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const char *const words[] = {"text", "json", NULL};
    struct wc_config *c = into;
    unsigned which;
    if (wc_word(r, n, "a log format", words, &which))
        c->log_format = which ? WB_LOG_JSON : WB_LOG_TEXT;
}

static void read_log(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {{.name = "level", .read = read_level},
                                         {.name = "format", .read = read_format},
                                         WC_MEMBER(WC_UNTRUTH, "access", struct wc_config, no_access_log, 0, 0)};
    wc_map(r, n, "log", keys, WB_LEN(keys), into);
}

static void nothing(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)r, (void)n, (void)into; /* read by hand, in the order in which they refer to each other */
}

/* The same; their readers tell what they accept. */
static void later_models(struct wc_reader *r, const struct wc_node *n, void *into)
{
    r->config->n_models = 0;
    if (r->describe)
        wc_read_models(r, n, into);
}

static void later_tools(struct wc_reader *r, const struct wc_node *n, void *into)
{
    r->config->n_tools = 0;
    if (r->describe)
        wc_read_tools(r, n, into);
}

static void later_agents(struct wc_reader *r, const struct wc_node *n, void *into)
{
    r->config->n_agents = 0;
    if (r->describe)
        wc_read_agents(r, n, into);
}

static void later_aliases(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)into;
    r->config->n_aliases = 0;
    if (r->describe)
        wc_read_aliases(r, n);
}

static void later_adapters(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)into;
    if (r->describe)
        wc_read_adapters(r, n);
}

static void later_routes(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)into;
    if (r->describe)
        wc_read_routes(r, n);
}

static void later_envelopes(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)into;
    if (r->describe)
        wc_read_envelopes(r, n);
}

/* ---- The file ------------------------------------------------------------------------------------------------ */

static void read_default(struct wc_reader *r, const struct wc_node *n)
{
    struct wc_config *c = r->config;
    struct upp_str name;
    struct wc_guess guess = {0};
    char quoted[WJ_QUOTED];
    if (!n || !wc_text(r, n, "default_agent", &name))
        return;
    for (size_t i = 0; i < c->n_agents; i++)
        wc_guess(&guess, n->text, c->agents[i].def.name);
    c->default_agent = name.n ? wc_config_agent(c, name) : NULL;
    if (!c->default_agent)
        wc_mistake(r, n, "there is no agent %s%s", wj_quote(n->text, quoted, sizeof quoted), wc_guessed(&guess));
    else if (!c->default_agent->model && !c->default_agent->wrong_model)
        wc_mistake(r, n, "the agent '%.*s' has no model of its own: others ask it", UPP_FMT(name));
}

static void forget_agents(struct wc_config *c)
{
    for (size_t i = 0; i < c->n_agents; i++) {
        if (c->agents[i].chain)
            c->makers->middleware_free(c->agents[i].chain);
        upp_model_free(c->agents[i].remote.model);
    }
    c->default_agent = NULL;
    c->n_agents = 0;
    c->n_aliases = 0;
}

static void read_file(struct wc_reader *r, const struct wc_node *root)
{
    static const char *const durability[] = {"sync", "group", "async", "exit", NULL};
    static const char *const on_busy[] = {"reject", "enqueue", "interrupt", "rollback", NULL};
    static const struct wc_key keys[] = {
        {.name = "server", .read = wc_read_server, .flags = WC_NOT_STORE},
        {.name = "store", .read = read_store},
        WC_MEMBER(WC_U32, "store_cache_mb", struct wc_config, store_cache_mb, 1, 65536),
        {.name = "encryption", .read = read_encryption},
        WC_CHOICE(WC_ENUM, "search", struct wc_config, index, WL_INDEX_SUBSTRINGS, NULL, wl_index_names),
        WC_CHOICE(WC_ENUM, "durability", struct wc_config, durability, WM_SYNC, NULL, durability),
        WC_CHOICE(WC_ENUM, "on_busy", struct wc_config, on_busy, WR_REJECT, NULL, on_busy),
        {.name = "retention", .read = read_retention, .flags = WC_NOT_STORE},
        {.name = "waits", .read = read_waits, .flags = WC_NOT_STORE},
        {.name = "log", .read = read_log, .flags = WC_NOT_STORE},
        {.name = "webhooks", .read = wc_read_webhooks, .flags = WC_NOT_STORE},
        {.name = "telemetry", .read = wc_read_telemetry, .flags = WC_NOT_STORE},
        {.name = "default_agent", .read = nothing},
        {.name = "aliases", .read = later_aliases},
        {.name = "models", .read = later_models},
        {.name = "tools", .read = later_tools},
        {.name = "agents", .read = later_agents},
        {.name = "adapters", .read = later_adapters},
        {.name = "routes", .read = later_routes},
        {.name = "envelopes", .read = later_envelopes},
    };
    struct wc_config *c = r->config;
    const struct wc_node *models = wc_get(root, "models"), *tools = wc_get(root, "tools"),
                         *agents = wc_get(root, "agents");
    r->agents = agents;
    wc_map(r, root, "the configuration", keys, WB_LEN(keys), c);
    if (r->describe)
        return;
    r->excuses = r->opts->only_store;
    if (models)
        wc_read_models(r, models, NULL);
    if (tools)
        wc_read_tools(r, tools, NULL);
    if (agents)
        wc_read_agents(r, agents, NULL);
    if (c->n_agents == 0 && r->report->errors == 0)
        wc_mistake(r, root, "there is no agent: 'agents' has none");
    read_default(r, wc_get(root, "default_agent"));
    if (!c->default_agent && c->n_agents == 1 && c->agents[0].model)
        c->default_agent = &c->agents[0];
    wc_read_aliases(r, wc_get(root, "aliases"));
    wc_read_adapters(r, wc_get(root, "adapters"));
    wc_read_routes(r, wc_get(root, "routes"));
    wc_read_envelopes(r, wc_get(root, "envelopes"));
    if (r->excused)
        forget_agents(c);
}

static int by_place(const struct wc_mistake *a, const struct wc_mistake *b)
{
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

/* At most 100: in the order of the file; mistakes at one position in the order they were found. */
static void sort_mistakes(struct wc_report *p)
{
    for (size_t i = 1; i < p->n; i++)
        for (size_t j = i; j > 0 && by_place(&p->list[j - 1], &p->list[j]) > 0; j--) {
            struct wc_mistake m = p->list[j];
            p->list[j] = p->list[j - 1];
            p->list[j - 1] = m;
        }
}

/* The first mistake as an error. */
static int first_mistake(const struct wc_reader *r, struct upp_err *err)
{
    const struct wc_report *p = r->report;
    const struct wc_mistake *m = p->list;
    char where[128 + 32];
    for (size_t i = 0; m && i < p->n && m->warning; i++)
        m = &p->list[i];
    if (!m)
        return upp_fail(err, UPP_ENOMEM, "no memory to say what is wrong with the configuration");
    int code = p->errors > 1 ? upp_fail(err, UPP_EINVALID, "%.*s (and %zu more)", UPP_FMT(m->text), p->errors - 1)
                             : upp_fail(err, UPP_EINVALID, "%.*s", UPP_FMT(m->text));
    size_t n = r->config->file.n > 100 ? 100 : r->config->file.n;
    int len = snprintf(where, sizeof where, "%.*s:%u:%u", (int)n, r->config->file.p + (r->config->file.n - n), m->line,
                       m->column);
    wb_err_where(err, wb_str(where, (size_t)len));
    return code;
}

/* The folder of the file, as an absolute path: tools run in it. */
static int find_folder(struct wc_config *c, struct upp_err *err)
{
    char *here = wb_arena_alloc(&c->arena, PATH_MAX, 1);
    size_t n = c->file.n;
    if (!here)
        return wb_arena_check(&c->arena, err);
    while (n > 0 && c->file.p[n - 1] != '/')
        n--;
    struct upp_str folder = wb_str_sub(c->file, 0, n > 1 ? n - 1 : n);
    if (folder.n && folder.p[0] == '/')
        c->folder = wb_arena_dup(&c->arena, folder);
    else if (!getcwd(here, PATH_MAX))
        return upp_fail(err, UPP_ENOTFOUND, "the current folder has no name");
    else
        c->folder = wb_arena_printf(&c->arena, "%s%s%.*s", here, folder.n ? "/" : "", UPP_FMT(folder));
    return wb_arena_check(&c->arena, err);
}

static int read_text(struct wc_reader *r, struct upp_str text, struct upp_err *err)
{
    struct wc_config *c = r->config;
    const struct wc_node *root = NULL;
    struct wc_mark at;
    struct upp_err why = {0};
    int code = find_folder(c, err);
    if (code < 0)
        return code;
    c->store_path = wc_path(r, UPP_STR("weft.db")); /* unless the file names a store */
    code = wc_node_read(&c->arena, text, &root, &at, &why);
    if (code == -UPP_ENOMEM || wb_arena_check(&c->arena, NULL) < 0) {
        *err = why;
        return code < 0 ? code : wb_arena_check(&c->arena, err);
    }
    if (code < 0)
        wc_report_at(r, at, false, "%s", why.msg);
    else if (!root || wc_null(root))
        wc_report_at(r, (struct wc_mark){1, 1}, false, "the file is empty");
    else
        read_file(r, root);
    sort_mistakes(r->report);
    if (r->failed < 0)
        return r->failed;
    code = wb_arena_check(&c->arena, err);
    if (code == 0)
        code = wb_arena_check(&r->report->arena, err);
    if (code == 0 && r->report->errors)
        code = first_mistake(r, err);
    return code;
}

static int parse(const char *path, struct upp_str text, struct wc_dotenv *dotenv, const struct wc_opts *opts,
                 struct wc_report *report, struct wc_config **ret, struct upp_err *err)
{
    static const struct wc_opts none = {.size = sizeof none};
    WB_CLEANUP(wc_report_done) struct wc_report own = {0};
    WB_CLEANUP(wc_config_freep) struct wc_config *c = wb_calloc(1, sizeof *c);
    struct upp_err ignored;
    if (!c)
        return upp_fail(err, UPP_ENOMEM, "no memory for the configuration");
    if (!report)
        report = &own;
    report->arena = (struct wb_arena)WB_ARENA(REPORT_MAX);
    c->arena = (struct wb_arena)WB_ARENA(ARENA_MAX);
    c->file = wb_arena_dup(&c->arena, wb_cstr(path));
    c->host = UPP_STR("127.0.0.1");
    c->port = 8787;
    c->store = &ws_sqlite_driver;
    c->durability = WM_SYNC;
    c->on_busy = WR_REJECT;
    c->log_level = WB_INFO;
    c->makers = opts ? opts->makers : NULL;
    c->providers = opts ? opts->providers : NULL;
    c->n_providers = opts ? opts->n_providers : 0;
    struct wc_reader r = {.config = c, .report = report, .opts = opts ? opts : &none, .err = err ? err : &ignored};
    r.dotenv = dotenv;
    r.readable = !r.opts->no_files && wb_file_exposed(path);
    int code = wb_arena_check(&c->arena, r.err);
    if (code == 0)
        code = read_text(&r, text, r.err);
    if (code < 0)
        return code;
    *ret = WB_TAKE(c);
    return 0;
}

int wc_config_parse(const char *path, struct upp_str text, const struct wc_opts *opts, struct wc_report *report,
                    struct wc_config **ret, struct upp_err *err)
{
    return parse(path, text, NULL, opts, report, ret, err);
}

/* The file .env beside the configuration, if there is one. */
static int read_dotenv(const char *path, struct wc_dotenv *ret, struct upp_err *err)
{
    WB_CLEANUP(wc_dotenv_done) struct wc_dotenv raw = {.text = WB_BUF(WC_DOTENV_MAX)}; /* wiped as the values are */
    WB_CLEANUP(wb_buf_done) struct wb_buf place = WB_BUF(PATH_MAX);
    const char *slash = strrchr(path, '/');
    unsigned line = 0;
    wb_buf_addf(&place, "%.*s.env", slash ? (int)(slash + 1 - path) : 0, path);
    wb_buf_addc(&place, 0);
    int r = wb_buf_check(&place, err);
    if (r >= 0 && !wb_buf_reserve(&raw.text, WC_DOTENV_MAX)) /* no copy is left behind by growing */
        r = wb_buf_check(&raw.text, err);
    if (r >= 0)
        r = wb_file_read(place.p, &raw.text, err);
    if (r == -UPP_ENOTFOUND)
        return 0;
    if (r < 0)
        return r;
    ret->exposed = wb_file_exposed(place.p);
    r = wc_dotenv_parse(ret, wb_buf_str(&raw.text), &line, err);
    if (r == -UPP_EINVALID) {
        place.n--;
        wb_buf_addf(&place, ":%u", line);
        wb_err_where(err, wb_buf_str(&place));
    }
    return r;
}

int wc_config_load(const char *path, const struct wc_opts *opts, struct wc_report *report, struct wc_config **ret,
                   struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(WC_MAX_FILE);
    WB_CLEANUP(wc_dotenv_done) struct wc_dotenv dotenv = {0};
    struct upp_err why = {0};
    int r = wb_file_read(path, &text, &why);
    if (r >= 0)
        r = read_dotenv(path, &dotenv, &why);
    if (r >= 0)
        return parse(path, wb_buf_str(&text), &dotenv, opts, report, ret, err);
    if (err)
        *err = why;
    return r;
}

int wc_config_schema(struct wb_buf *out, struct upp_err *err)
{
    static const struct wc_opts opts = {.size = sizeof opts, .no_files = true};
    static const struct wc_node root = {.kind = WC_MAP, .line = 1, .column = 1};
    WB_CLEANUP(wc_config_freep) struct wc_config *c = wb_calloc(1, sizeof *c);
    WB_CLEANUP(wc_report_done) struct wc_report report = {.arena = WB_ARENA(REPORT_MAX)};
    WB_CLEANUP(wb_buf_done) struct wb_buf told = WB_BUF(1u << 20);
    struct upp_err why = {0};
    if (!c)
        return upp_fail(err, UPP_ENOMEM, "no memory for the configuration");
    c->arena = (struct wb_arena)WB_ARENA(ARENA_MAX);
    struct wc_reader r = {.config = c, .report = &report, .opts = &opts, .err = &why, .describe = &told};
    read_file(&r, &root);
    c->n_models = c->n_tools = c->n_agents = 0; /* there are none */
    wb_buf_addf(out, "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"weft.yaml\",%.*s",
                UPP_FMT(wb_str_sub(wb_buf_str(&told), 1, SIZE_MAX)));
    int code = wb_buf_check(&told, err);
    if (code >= 0)
        code = wb_arena_check(&c->arena, err);
    return code < 0 ? code : wb_buf_check(out, err);
}

int wc_config_bare(struct wc_config **ret, struct upp_err *err)
{
    static const struct wc_opts none = {.size = sizeof none};
    WB_CLEANUP(wc_report_done) struct wc_report report = {.arena = WB_ARENA(REPORT_MAX)};
    WB_CLEANUP(wc_config_freep) struct wc_config *c = wb_calloc(1, sizeof *c);
    struct upp_err ignored;
    if (!c)
        return upp_fail(err, UPP_ENOMEM, "no memory for the adapters");
    c->arena = (struct wb_arena)WB_ARENA(ARENA_MAX);
    struct wc_reader r = {.config = c, .report = &report, .opts = &none, .err = err ? err : &ignored};
    wc_read_adapters(&r, NULL);
    int code = r.failed < 0 ? r.failed : wb_arena_check(&c->arena, err);
    if (code < 0)
        return code;
    *ret = WB_TAKE(c);
    return 0;
}

static void wc_value_done(struct wc_value *v)
{
    wb_unhide(v->hidden);
    wb_secret_free(v->value);
}

void wc_config_free(struct wc_config *c)
{
    if (!c)
        return;
    forget_agents(c);
    for (size_t i = 0; i < c->n_tools; i++)
        c->tools[i].provider.ops->close(&c->tools[i].provider);
    upp_schema_free(c->handing);
    for (size_t i = 0; i < c->n_models; i++)
        upp_model_free(c->models[i].model);
    for (size_t i = 0; i < c->n_secrets; i++)
        wb_secret_free(c->secrets[i]);
    wb_free(c->secrets);
    for (size_t i = 0; i < c->n_values; i++)
        wc_value_done(&c->values[i]);
    wb_free(c->values);
    wb_arena_wipe(&c->arena); /* values of variables are in its texts */
    wb_free(c);
}

struct wc_agent *wc_config_agent(const struct wc_config *c, struct upp_str name)
{
    if (!name.n)
        return c->default_agent;
    for (size_t i = 0; i < c->n_agents; i++)
        if (wb_str_eq(c->agents[i].def.name, name))
            return &c->agents[i];
    return NULL;
}
