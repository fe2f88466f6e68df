/* cli/setup.c — loads the configuration of a command, reports its mistakes, and sets up the logger and the loop. */
#include "cli/setup.h"

#include <stdlib.h>

#include "base/defs.h"
#include "cli/table.h"

const char *cli_config_path(const char *given)
{
    const char *env = getenv("WEFT_CONFIG");
    return given ? given : env && env[0] ? env : "weft.yaml";
}

void cli_print_mistakes(FILE *out, const char *path, const struct wc_report *report)
{
    bool coloured = cli_colours(out);
    for (size_t i = 0; i < report->n; i++) {
        const struct wc_mistake *m = &report->list[i];
        cli_colour(out, coloured, CLI_BOLD);
        (void)fprintf(out, "%s:%u:%u: ", path, m->line, m->column);
        cli_colour(out, coloured, CLI_PLAIN);
        cli_colour(out, coloured, m->warning ? CLI_YELLOW : CLI_RED);
        (void)fprintf(out, "%s%.*s", m->warning ? "warning: " : "", UPP_FMT(m->text));
        cli_colour(out, coloured, CLI_PLAIN);
        (void)putc('\n', out);
    }
    if (report->left_out)
        (void)fprintf(out, "%s: and %zu more\n", path, report->left_out);
}

int cli_config_load(const char *given, enum cli_need need, struct wc_config **ret, struct upp_err *err)
{
    WB_CLEANUP(wc_report_done) struct wc_report report = {0};
    return cli_config_report(given, need, &report, ret, err);
}

int cli_config_quietly(const char *given, enum cli_need need, struct wc_report *report, struct wc_config **ret,
                       struct upp_err *err)
{
    int r = wc_config_load(cli_config_path(given),
                           UPP_OPTS(wc_opts, .makers = &wc_makers, .no_files = need != CLI_NEEDS_ALL,
                                    .only_store = need == CLI_NEEDS_STORE),
                           report, ret, err);
    if (r >= 0 && need != CLI_NEEDS_TEXT) /* else nothing is run with it, and the same variables may be read again */
        wc_config_wipe_environment(*ret); /* no thread has been started yet */
    return r;
}

int cli_config_mistakes(const char *given, const struct wc_report *report, int r, struct upp_err *err)
{
    const char *path = cli_config_path(given);
    if (r == -UPP_EINVALID && report->errors > 1) {
        cli_print_mistakes(stderr, path, report);
        return upp_fail(err, UPP_EINVALID, "%s has %zu mistakes", path, report->errors);
    }
    if (r == -UPP_ENOTFOUND && !given)
        return upp_fail(err, UPP_ENOTFOUND, "there is no %s: give one with --config FILE or WEFT_CONFIG", path);
    return r;
}

int cli_config_report(const char *given, enum cli_need need, struct wc_report *report, struct wc_config **ret,
                      struct upp_err *err)
{
    int r = cli_config_quietly(given, need, report, ret, err);
    return r < 0 ? cli_config_mistakes(given, report, r, err) : r;
}

int cli_no_config(struct wc_config **ret, struct upp_err *err)
{
    return wc_config_parse("weft.yaml", UPP_STR("store: 'memory:'\n"),
                           UPP_OPTS(wc_opts, .makers = &wc_makers, .no_files = true, .only_store = true), NULL, ret,
                           err);
}

int cli_store_find(const struct cli_source *from, struct wc_config **ret, struct wrt_location *place,
                   struct upp_err *err)
{
    const char *env = getenv("WEFT_CONFIG");
    int r = cli_config_load(from->config, CLI_NEEDS_STORE, ret, err);
    if (r == -UPP_ENOTFOUND && from->store && !from->config && !(env && env[0]))
        r = cli_no_config(ret, err);
    if (r >= 0)
        r = wrt_location_of(*ret, from->store, place, err);
    if (r >= 0)
        (void)cli_log_setup(*ret, NULL, WB_WARN);
    return r;
}

int cli_store_lasts(const struct wrt_location *place, struct upp_err *err)
{
    return place->driver->durable
               ? 0
               : upp_fail(err, UPP_ENOTFOUND,
                          "the store is memory:, which keeps nothing that another process could read");
}

void cli_log_report(const struct wc_report *report)
{
    for (size_t i = 0; i < report->n; i++) {
        const struct wc_mistake *m = &report->list[i];
        wb_log(m->warning ? WB_WARN : WB_ERROR, "configuration", WB_LU("line", m->line), WB_LU("column", m->column),
               WB_LS("text", m->text));
    }
}

int cli_take_key(struct wrt_location *place, struct wb_secret **ret, struct upp_err *err)
{
    static const char name[] = "WEFT_ENCRYPTION_KEY";
    int r = -UPP_ENOTFOUND;
    if (!place->key && place->driver->durable && getenv(name))
        r = wb_secret_env(name, ret, err);
    wb_env_wipe(name);
    if (r == 0)
        place->key = wb_secret_reveal(*ret).p;
    return r < 0 && r != -UPP_ENOTFOUND ? upp_wrap(err, r, "the encryption key") : 0;
}

const char *const cli_log_levels[] = {"off", "error", "warn", "info", "debug", "trace", NULL};

static bool level_of(const char *word, enum wb_log_level *ret)
{
    for (size_t i = 0; cli_log_levels[i]; i++)
        if (strcmp(cli_log_levels[i], word) == 0) {
            *ret = (enum wb_log_level)(WB_OFF + i);
            return true;
        }
    return false;
}

bool cli_log_setup(const struct wc_config *c, const char *level, enum wb_log_level otherwise)
{
    const char *env = getenv("LOG_LEVEL");
    enum wb_log_level used = otherwise;
    if (level && !level_of(level, &used))
        return false;
    if (!level && otherwise == WB_INFO && c->has_log_level)
        used = c->log_level;
    else if (!level && env)
        (void)level_of(env, &used); /* a variable of that name may be another program's */
    wb_log_setup(used, c->log_format, 2);
    return true;
}

int cli_on_loop(weft_fn *fn, void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *loop = NULL;
    int r = weft_loop_open(NULL, &loop, err);
    if (r >= 0)
        r = weft_fiber_report_overflow(err);
    return r < 0 ? r : weft_loop_run(loop, "command", fn, arg, err);
}
