/* runtime/config_tools.c — the section `tools`: programs, and tools of the client. */
#include <fcntl.h>
#include <stdio.h>

#include "agent/tool/command.h"
#include "base/file.h"
#include "base/hooks.h"
#include "model/limits.h"
#include "runtime/config_read.h"

enum { OUTPUT_KB = 8 << 10 };
_Static_assert((OUTPUT_KB + 64) * 1024 < WM_RESULTS_MAX, "the output of one program fits into a message of results");

struct reading {
    struct wc_tool tool;
    struct wa_command_opts command;
    struct wa_variable *env; /* room for those of every tool, plus WA_COMMAND_WORDS */
    uint64_t timeout_ms;
    bool unchecked;
};

/* Variables that every program gets; and the default PATH. */
static const char *const always[] = {"PATH", "HOME", "LANG"};
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static void read_parameters(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *t = into;
    const struct wc_node *type = wc_get(n, "type");
    if (type && !(type->kind == WC_SCALAR && wb_str_eq(type->text, UPP_STR("object"))))
        wc_mistake(r, type, "the arguments of a tool are always an object: 'type: object'");
    if (wc_schema(r, n, "parameters", &t->tool.tool.spec.parameters, &t->tool.schema))
        t->tool.tool.schema = t->tool.schema;
}

static void warn_if_missing(struct wc_reader *r, const struct wc_node *n, struct upp_str path)
{
    int fd = path.p ? WB_CALL(open)(path.p, O_PATH, 0) : -1;
    if (fd >= 0)
        (void)WB_CALL(close)(fd);
    else
        wc_warning(r, n, "there is no program at this path now");
}

static void read_command(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *t = into;
    if (!wc_is(r, n, WC_LIST, "a command"))
        return;
    if (n->n == 0 || n->n > WA_COMMAND_WORDS) {
        wc_mistake(r, n, "a command has 1 to %d words: the program and its arguments", WA_COMMAND_WORDS);
        return;
    }
    struct upp_str *words = wb_new_n(&r->config->arena, struct upp_str, n->n);
    size_t i = 0;
    for (const struct wc_item *item = n->first; words && item; item = item->next, i++) {
        struct upp_str none;
        if (item->value->kind == WC_SCALAR && item->value->text.n == 0 && !item->value->plain)
            words[i] = UPP_STR(""); /* an argument may be empty */
        else if (!wc_text(r, item->value, "a word of a command", i < n->n ? &words[i] : &none))
            return;
    }
    if (!words)
        return;
    if (words[0].n == 0)
        wc_mistake(r, n->first->value, "the first word of a command names a program");
    if (memchr(words[0].p, '/', words[0].n)) { /* without a slash it is looked up in PATH */
        words[0] = wc_path(r, words[0]);
        if (!r->opts->no_files)
            warn_if_missing(r, n->first->value, words[0]);
    }
    t->command.words = words;
    t->command.n_words = n->n;
}

/* Names of tools that may come later in the file: looked up when all are read. */
static void read_after(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *t = into;
    struct upp_str *names;
    size_t count;
    if (!wc_texts(r, n, "after", WC_MAX_AFTER, &names, &count))
        return;
    t->tool.tool.after = names;
    t->tool.tool.n_after = count;
    t->tool.after_at = n;
}

static void read_limits(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_U32, "seconds", struct reading, command.seconds, 1, 86400),
        WC_MEMBER(WC_U32, "memory_mb", struct reading, command.memory_mb, 16, 1 << 20),
        WC_MEMBER(WC_U32, "output_kb", struct reading, command.output_kb, 1, OUTPUT_KB),
        WC_MEMBER(WC_U32, "processes", struct reading, command.processes, 1, 32768),
    };
    wc_map(r, n, "limits", keys, WB_LEN(keys), into);
}

/* ---- The environment --------------------------------------------------------------------------------------------- */

static struct wa_variable *variable(struct reading *t, struct upp_str name)
{
    for (size_t i = 0; i < t->command.n_env; i++)
        if (wb_str_eq(t->env[i].name, name))
            return &t->env[i];
    return &t->env[t->command.n_env++];
}

static bool is_variable(struct wc_reader *r, const struct wc_node *n)
{
    if (!wc_is(r, n, WC_SCALAR, "the name of a variable"))
        return false;
    if (n->text.n && n->text.n < 128 && !memchr(n->text.p, '=', n->text.n) && !memchr(n->text.p, 0, n->text.n))
        return true;
    wc_mistake(r, n, "this is no name of a variable");
    return false;
}

/* env: [NAME, ...] copies variables from our environment; their values are always treated as secrets. */
static void pass_on(struct wc_reader *r, const struct wc_node *n, struct reading *t)
{
    char text[140];
    struct wc_node named = {.kind = WC_SCALAR, .line = n->line, .column = n->column};
    if (!is_variable(r, n))
        return;
    int len = snprintf(text, sizeof text, "${%.*s}", UPP_FMT(n->text));
    named.text = wb_str(text, (size_t)len);
    const struct wb_secret *secret;
    struct upp_str value = {0};
    if (wc_secret(r, &named, "a variable", &secret, &value))
        *variable(t, n->text) = (struct wa_variable){.name = n->text, .secret = secret};
}

static void read_env(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *t = into;
    if (n->kind == WC_SCALAR) {
        wc_mistake(r, n, "env must be a list of names, or a map of names and values");
        return;
    }
    if (n->n > WA_COMMAND_WORDS - WB_LEN(always)) {
        wc_mistake(r, n, "env has more than %zu variables", WA_COMMAND_WORDS - WB_LEN(always));
        return;
    }
    for (const struct wc_item *i = n->first; i; i = i->next) {
        const struct wb_secret *secret;
        struct upp_str value = {0};
        if (!i->key)
            pass_on(r, i->value, t);
        else if (wc_repeated(n, i))
            wc_mistake(r, i->key, "this variable is there a second time");
        else if (is_variable(r, i->key) && wc_secret(r, i->value, "a variable", &secret, &value)) {
            *variable(t, i->key->text) = (struct wa_variable){.name = i->key->text, .value = value, .secret = secret};
            if (wc_is_secret_name(i->key->text) && wc_hide(r, UPP_STR(""), secret ? wb_secret_reveal(secret) : value) &&
                !secret)
                wc_inline_secret(r, i->value);
        }
    }
}

static void standard_env(struct wc_reader *r, struct reading *t)
{
    for (size_t i = 0; i < WB_LEN(always); i++) {
        const char *value = wc_env(r, always[i]);
        if (!value && i == 0)
            value = DEFAULT_PATH;
        if (value)
            t->env[t->command.n_env++] = (struct wa_variable){.name = wb_cstr(always[i]),
                                                              .value = wb_arena_dup(&r->config->arena, wb_cstr(value))};
    }
}

/* ---- Providers of one tool ----------------------------------------------------------------------------------- */

static int list_tool(struct wa_provider *p, struct wb_arena *a, struct wr_tool **ret, size_t *n, struct upp_err *err)
{
    (void)a, (void)err;
    *ret = &WB_OUTER(p, struct wc_tool, provider)->tool;
    *n = 1;
    return 0;
}

static void close_tool(struct wa_provider *p)
{
    struct wc_tool *t = WB_OUTER(p, struct wc_tool, provider);
    wa_command_free(t->command);
    upp_schema_free(t->schema);
}

static const struct wa_provider_ops commands = {
    .kind = "command", .list = list_tool, .call = wa_command_call, .close = close_tool};
static const struct wa_provider_ops client_tools = {.kind = "client", .list = list_tool, .close = close_tool};

/* ---- A tool -------------------------------------------------------------------------------------------------- */

static void make_command(struct wc_reader *r, const struct wc_node *key, struct reading *t)
{
    struct wr_tool *tool = &t->tool.tool;
    struct upp_err err = {0};
    if (wb_arena_check(&r->config->arena, NULL) < 0)
        return;
    t->command.size = sizeof t->command;
    t->command.env = t->env;
    t->command.folder = r->config->folder;
    t->command.reaper = r->opts->reaper;
    int code = wa_command_new(&t->command, &t->tool.command, &err);
    if (code == -UPP_ENOMEM)
        wc_fail(r, upp_fail(r->err, UPP_ENOMEM, "no memory for a command"));
    else if (code < 0)
        wc_mistake(r, key, "%s", err.msg);
    uint32_t seconds = t->command.seconds ? t->command.seconds : WA_COMMAND_SECONDS;
    uint32_t kb = t->command.output_kb ? t->command.output_kb : WA_COMMAND_OUTPUT_KB;
    tool->kind = WR_TOOL_FUNCTION;
    t->tool.provider.ops = &commands;
    tool->base.run = commands.call;
    tool->base.arg = t->tool.command;
    tool->timeout_ms = (uint64_t)seconds * 1000 + 20000; /* the program's own limit comes first, and ends it properly */
    if (t->timeout_ms)
        tool->timeout_ms = t->timeout_ms;
    tool->max_result = ((size_t)kb << 10) + (64u << 10);
}

static void read_keys(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, struct reading *t)
{
    static const char *const delivery[] = {
        [WEFT_AT_MOST_ONCE] = "at_most_once", [WEFT_IDEMPOTENT] = "idempotent", [WEFT_PURE] = "pure", NULL};
    static const char *const approval[] = {"never", "always", NULL};
    static const char *const source[] = {
        [WR_SOURCE_PLUGIN] = "plugin", [WR_SOURCE_MCP] = "mcp", [WR_SOURCE_COMPONENT] = "component", NULL};
    static const char *const of_commands[] = {"env", "limits", "timeout_ms", "as"}; /* not allowed for other tools */
    static const struct wc_key keys[] = {
        WC_CHOICE(WC_STR, "description", struct reading, tool.tool.spec.description, 0, "a description", NULL),
        {.name = "parameters", .read = read_parameters},
        {.name = "command", .read = read_command},
        WC_CHOICE(WC_ENUM, "delivery", struct reading, tool.tool.delivery, 0, NULL, delivery),
        WC_CHOICE(WC_ENUM, "approval", struct reading, tool.tool.approval, 0, NULL, approval),
        {.name = "limits", .read = read_limits},
        {.name = "env", .read = read_env},
        WC_MEMBER(WC_UNTRUTH, "check", struct reading, unchecked, 0, 0),
        WC_MEMBER(WC_TRUTH, "sequential", struct reading, tool.tool.sequential, 0, 0),
        {.name = "after", .read = read_after},
        WC_MEMBER(WC_TRUTH, "withheld", struct reading, tool.tool.withheld, 0, 0),
        WC_MEMBER(WC_U64, "timeout_ms", struct reading, timeout_ms, 1, 86400000),
        WC_CHOICE(WC_ENUM, "as", struct reading, tool.tool.source, 0, NULL, source),
        WC_MEMBER(WC_STR, "server_label", struct reading, tool.tool.server, 0, 0),
    };
    wc_map(r, value, "a tool", keys, WB_LEN(keys), t);
    if (t->unchecked)
        t->tool.tool.schema = NULL;
    bool mcp = t->tool.tool.source == WR_SOURCE_MCP;
    if (!mcp && wc_get(value, "server_label"))
        wc_mistake(r, wc_get(value, "server_label"), "only a tool 'as: mcp' has a server");
    else if (mcp && !t->tool.tool.server.n)
        t->tool.tool.server = UPP_STR("weft");
    if (t->command.words)
        make_command(r, key, t);
    for (size_t i = 0; !wc_get(value, "command") && i < WB_LEN(of_commands); i++)
        if (wc_get(value, of_commands[i]))
            wc_mistake(r, wc_get(value, of_commands[i]),
                       "a tool without a command is run by the client: '%s' has no meaning", of_commands[i]);
}

static void read_tool(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, void *into)
{
    struct reading t = {
        .tool.provider = {.ops = &client_tools, .name = key->text, .single = true},
        .tool.tool = {.spec = {.name = key->text, .parameters = UPP_STR("{\"type\":\"object\",\"properties\":{}}")},
                      .kind = WR_TOOL_CLIENT}};
    (void)into;
    t.env = wb_new_n(&r->config->arena, struct wa_variable, WA_COMMAND_WORDS + WB_LEN(always));
    if (!t.env)
        return;
    standard_env(r, &t);
    if (!wc_null(value)) /* `name:` alone is a client tool without arguments */
        read_keys(r, key, value, &t);
    r->config->tools[r->config->n_tools++] = t.tool;
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static void check_names(struct wc_reader *r, const struct wc_tool *t)
{
    size_t k = 0;
    for (const struct wc_item *i = t->after_at->first; i; i = i->next, k++) {
        struct wc_guess guess = {0};
        if (!wc_find_tool(r, t->tool.after[k], &guess) && !wc_find_agent(r, t->tool.after[k], &guess))
            (void)wc_no_such(r, i->value, "tool or agent", &guess);
    }
}

/* Are all tools placed that this one must follow? Agents always are. */
static bool has_place(const struct wc_reader *r, const struct wc_tool *t, const bool *placed)
{
    for (size_t k = 0; k < t->tool.n_after; k++) {
        struct wc_guess ignored = {0};
        const struct wc_tool *before = wc_find_tool(r, t->tool.after[k], &ignored);
        if (before && !placed[before - r->config->tools])
            return false;
    }
    return true;
}

/* A topological sort; tools that cannot be placed form a cycle. */
static void check_order(struct wc_reader *r)
{
    struct wc_config *c = r->config;
    bool *placed = wb_new_n(&c->arena, bool, c->n_tools + 1);
    for (bool more = placed != NULL; more;) {
        more = false;
        for (size_t i = 0; i < c->n_tools; i++)
            if (!placed[i] && has_place(r, &c->tools[i], placed))
                placed[i] = more = true;
    }
    for (size_t i = 0; placed && i < c->n_tools; i++)
        if (!placed[i]) {
            wc_mistake(r, c->tools[i].after_at, "'%.*s' would have to wait for itself",
                       UPP_FMT(c->tools[i].tool.spec.name));
            return;
        }
}

void wc_read_tools(struct wc_reader *r, const struct wc_node *n, void *into)
{
    size_t room = n->kind == WC_MAP && n->n <= WC_MAX_NAMED ? n->n : 0;
    r->config->tools = wb_new_n(&r->config->arena, struct wc_tool, room + 1);
    if (!r->config->tools)
        return;
    wc_named(r, n, "tools", read_tool, into);
    for (size_t i = 0; i < r->config->n_tools; i++)
        if (r->config->tools[i].after_at)
            check_names(r, &r->config->tools[i]);
    check_order(r);
}
