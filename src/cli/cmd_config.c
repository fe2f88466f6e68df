/* cli/cmd_config.c — weft config check: prints every mistake in a configuration, with its line. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "cli/list.h"
#include "cli/setup.h"

struct config_options {
    const char *config;
    bool json;
};

static const char *many(size_t n)
{
    return n == 1 ? "" : "s";
}

static int write_check(const char *path, const struct wc_config *config, const struct wc_report *report,
                       struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "file", wb_cstr(path));
    wj_put_bool(&w, "good", config != NULL);
    if (config) {
        wj_put_u64(&w, "agents", config->n_agents);
        wj_put_u64(&w, "models", config->n_models);
        wj_put_u64(&w, "tools", config->n_tools);
    }
    wj_put_open(&w, "mistakes", '[');
    for (size_t i = 0; i < report->n; i++) {
        const struct wc_mistake *m = &report->list[i];
        wj_write_open(&w, '{');
        wj_put_u64(&w, "line", m->line);
        wj_put_u64(&w, "column", m->column);
        wj_put_bool(&w, "warning", m->warning);
        wj_put_str(&w, "text", m->text);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return cli_line_out(stdout, &w);
}

static int check_config(const struct cli_command *self, const char *path, bool json)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    WB_CLEANUP(wc_report_done) struct wc_report report = {0};
    struct upp_err err = {0};
    int r = wc_config_load(path, UPP_OPTS(wc_opts, .makers = &wc_makers), &report, &config, &err);
    if (r < 0 && !report.errors)
        return cli_fail(self, &err);
    if (json && write_check(path, config, &report, &err) < 0)
        return cli_fail(self, &err);
    if (!json)
        cli_print_mistakes(stdout, path, &report);
    if (r >= 0 && !json)
        (void)printf("%s: good: %zu agent%s, %zu model%s, %zu tool%s\n", path, config->n_agents, many(config->n_agents),
                     config->n_models, many(config->n_models), config->n_tools, many(config->n_tools));
    return r < 0 ? CLI_FAILED : CLI_GOOD;
}

static int print_schema(const struct cli_command *self)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct upp_err err = {0};
    if (wc_config_schema(&out, &err) < 0)
        return cli_fail(self, &err);
    (void)printf("%.*s\n", UPP_FMT(wb_buf_str(&out)));
    return CLI_GOOD;
}

static const char *const actions[] = {"check", "schema", NULL};

static int run_config(const struct cli_command *self, int argc, char **argv)
{
    struct config_options o = {0};
    const char *words[2];
    size_t n;
    int bad = cli_parse_some(self, argc, argv, &o, words, 2, &n);
    if (bad)
        return bad;
    size_t which;
    bad = cli_word(self, "an action", n ? words[0] : NULL, actions, &which);
    if (bad)
        return bad;
    if (which == 1)
        return n == 1 ? print_schema(self) : cli_misuse(self, "schema wants no more words");
    return check_config(self, n > 1 ? words[1] : cli_config_path(o.config), o.json);
}

static const struct cli_option config_options[] = {
    CLI_FLAG("--json", struct config_options, json,
             "one object: file, good, agents, models, tools, and mistakes: line, column, warning, text"),
    CLI_CONFIG_OPTION(struct config_options, config),
};

const struct cli_command cli_config = {
    .name = "config",
    .usage = "check [FILE] [--json] [--config FILE] | schema",
    .summary = "checks a configuration",
    .help = "check prints every mistake in the configuration as FILE:LINE:COLUMN: sentence. Exits 1 if there is one. "
            "Warnings\n"
            "are printed too; they do not count as mistakes.\n"
            "schema prints the JSON Schema of the file, for editors. It knows keys and values, not names of agents and "
            "tools.",
    .run = run_config,
    CLI_OPTIONS(config_options),
    .examples = "weft config check\n"
                "weft config check other.yaml --json\n",
    .words = actions,
    .takes = CLI_FILE,
};
