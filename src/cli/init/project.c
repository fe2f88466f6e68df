/* cli/init/project.c — writes the files of a new project, with the first model whose API key is set. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/init/project.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "runtime/config.h"
#include "base/defs.h"

enum { FILE_MAX = 256 << 10, PATH_MOST = 4096 };

/* Models that a project can begin with; the first whose variable is set is used. */
static const struct {
    const char *variable, *provider, *model;
    const char *key; /* how the file names the key; NULL: the provider's own variable */
} models[] = {
    {"ANTHROPIC_API_KEY", "anthropic", "claude-sonnet-4-20250514", NULL},
    {"OPENAI_API_KEY", "openai", "gpt-4.1-mini", NULL},
    {"GOOGLE_API_KEY", "google", "gemini-2.5-flash", NULL},
    {"GEMINI_API_KEY", "google", "gemini-2.5-flash", "'${GEMINI_API_KEY}'"},
};

static size_t find_model(void)
{
    for (size_t i = 0; i < WB_LEN(models); i++) {
        const char *key = getenv(models[i].variable);
        if (key && key[0])
            return i;
    }
    return WB_LEN(models);
}

/* The section `models`: one line is used, the others are comments. */
static void write_models(struct wb_buf *out, size_t used)
{
    bool scripted = used == WB_LEN(models);
    wb_buf_addf(out,
                "  %smain: {provider: scripted, script: script.json} # answers from a script: no key, no network\n",
                scripted ? "" : "# ");
    wb_buf_addf(out, "  # %s. Its key: in the environment, or in .env (see .env.example).\n",
                scripted ? "A real model: one of these lines instead" : "Real models");
    for (size_t i = 0; i < WB_LEN(models); i++) {
        if (models[i].key && i != used)
            continue;
        wb_buf_addf(out, "  %smain: {provider: %s, model: %s%s%s} # %s\n", i == used ? "" : "# ", models[i].provider,
                    models[i].model, models[i].key ? ", api_key: " : "", models[i].key ? models[i].key : "",
                    models[i].variable);
    }
    wb_buf_addf(out, "  # main: {provider: ollama, model: llama3.2} # on this machine, without a key");
}

struct word {
    const char *name;
    struct upp_str is;
};

/* Replaces @NAME@. */
static void fill(struct wb_buf *out, struct upp_str text, const struct word *words, size_t n)
{
    for (size_t at = 0, next; at < text.n; at = next) {
        next = wb_str_find(text, UPP_STR("@"), at);
        next = next == SIZE_MAX ? text.n : next;
        wb_buf_add(out, wb_str_sub(text, at, next - at));
        size_t i = 0;
        while (next < text.n && i < n && !wb_str_starts(wb_str_sub(text, next, SIZE_MAX), wb_cstr(words[i].name)))
            i++;
        if (next < text.n && i < n) {
            wb_buf_add(out, words[i].is);
            next += strlen(words[i].name);
        } else if (next < text.n)
            wb_buf_addc(out, text.p[next++]);
    }
}

static void add(struct cli_project *p, const char *path, unsigned mode, struct upp_str text)
{
    p->files[p->n++] = (struct cli_project_file){path, mode, text};
}

static int add_filled(struct cli_project *p, const char *path, struct upp_str text, const struct word *words, size_t n,
                      struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(FILE_MAX);
    fill(&b, text, words, n);
    int r = wb_buf_check(&b, err);
    if (r >= 0)
        add(p, path, 0666, wb_arena_dup(&p->arena, wb_buf_str(&b)));
    return r < 0 ? r : wb_arena_check(&p->arena, err);
}

/* For editors: a copy of the project's own, so that it is there on every machine. */
static int add_schema(struct cli_project *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(FILE_MAX);
    int r = wc_config_schema(&b, err);
    wb_buf_addc(&b, '\n');
    if (r >= 0)
        r = wb_buf_check(&b, err);
    if (r >= 0)
        add(p, ".weft.schema.json", 0666, wb_arena_dup(&p->arena, wb_buf_str(&b)));
    return r < 0 ? r : wb_arena_check(&p->arena, err);
}

int cli_project_make(struct cli_project *p, const struct cli_template *t, struct upp_str title, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf lines = WB_BUF(FILE_MAX);
    size_t used = find_model();
    *p = (struct cli_project){.arena = WB_ARENA(1u << 20), .template = t};
    if (used < WB_LEN(models)) {
        p->variable = models[used].variable;
        p->provider = models[used].provider;
    }
    write_models(&lines, used);
    int r = wb_buf_check(&lines, err);
    if (r < 0)
        return r;
    const struct word words[] = {
        {"@models@", wb_buf_str(&lines)},
        {"@title@", title},
        {"@about@", wb_cstr(t->about)},
        {"@agent@", wb_cstr(t->agent)},
        {"@ask@", wb_cstr(t->ask)},
        {"@tool@", wb_cstr(t->program)},
        {"@next@",
         t->next ? wb_cstr(t->next) : UPP_STR("The thread stays: `weft threads` lists it, and --thread continues it.")},
    };
    r = add_filled(p, "weft.yaml", *t->yaml, words, WB_LEN(words), err);
    if (r >= 0)
        r = add_filled(p, "README.md", cli_template_all_README_md, words, WB_LEN(words), err);
    if (r < 0)
        return r;
    add(p, t->program, 0777, *t->tool);
    add(p, "script.json", 0666, *t->script);
    add(p, ".env.example", 0666, cli_template_all__env_example);
    add(p, ".gitignore", 0666, cli_template_all__gitignore);
    return add_schema(p, err);
}

void cli_project_done(struct cli_project *p)
{
    wb_arena_done(&p->arena);
}

static int path_of(const char *folder, const char *path, struct wb_buf *ret, struct upp_err *err)
{
    wb_buf_clear(ret);
    wb_buf_addf(ret, "%s/%s", folder, path);
    wb_buf_addc(ret, 0);
    return wb_buf_check(ret, err);
}

static int make_folder(const char *path, struct upp_err *err)
{
    struct stat is;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &is) == 0 && S_ISDIR(is.st_mode)))
        return 0;
    return wb_fail_sys(err, -errno, UPP_EINVALID, "the folder %s cannot be made", path);
}

int cli_project_write(const struct cli_project *p, const char *folder, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf path = WB_BUF(PATH_MOST);
    struct stat is;
    int r = make_folder(folder, err);
    for (size_t i = 0; r >= 0 && i < p->n; i++) {
        r = path_of(folder, p->files[i].path, &path, err);
        if (r >= 0 && lstat(path.p, &is) == 0)
            r = upp_fail(err, UPP_EREFUSED, "%s is there already: nothing was written; name a new folder", path.p);
    }
    for (size_t i = 0; r >= 0 && i < p->n; i++) {
        const char *slash = strchr(p->files[i].path, '/');
        if (slash) {
            r = path_of(folder, p->files[i].path, &path, err);
            if (r >= 0) {
                path.p[strlen(folder) + 1 + (size_t)(slash - p->files[i].path)] = 0;
                r = make_folder(path.p, err);
            }
        }
        if (r >= 0)
            r = path_of(folder, p->files[i].path, &path, err);
        if (r >= 0)
            r = wb_file_write_unsynced(path.p, p->files[i].text, p->files[i].mode, err);
    }
    return r;
}

const struct cli_template cli_templates[] = {
    {
        .name = "assistant",
        .about = "An assistant that keeps notes with a tool.",
        .agent = "assistant",
        .ask = "Remember to buy milk",
        .program = "tools/save_note.sh",
        .yaml = &cli_template_assistant_weft_yaml,
        .script = &cli_template_assistant_script_json,
        .tool = &cli_template_assistant_save_note_sh,
    },
    {
        .name = "weather",
        .about = "Two agents: one knows the weather and hands over to one that plans trips.",
        .agent = "weather",
        .ask = "What's the weather like in Oslo?",
        .program = "tools/get_weather.sh",
        .yaml = &cli_template_weather_weft_yaml,
        .script = &cli_template_weather_script_json,
        .tool = &cli_template_weather_get_weather_sh,
    },
    {
        .name = "approval",
        .about = "An agent that pays, and must ask a person before each payment.",
        .agent = "bursar",
        .ask = "Pay 20 euros to Ada",
        .next = "The run waits: `weft approvals` lists what for, `weft approve RUN` or `weft deny RUN` answers, and "
                "the run\n"
                "continues.",
        .program = "tools/pay.sh",
        .yaml = &cli_template_approval_weft_yaml,
        .script = &cli_template_approval_script_json,
        .tool = &cli_template_approval_pay_sh,
    },
    {
        .name = "plan",
        .about = "An agent that makes a plan first and works on independent steps at the same time.",
        .agent = "planner",
        .ask = "Compare Oslo and Lisbon for a weekend",
        .next = "With `--events` one sees the steps.",
        .program = "tools/look_up.sh",
        .yaml = &cli_template_plan_weft_yaml,
        .script = &cli_template_plan_script_json,
        .tool = &cli_template_plan_look_up_sh,
    },
};
const size_t cli_n_templates = WB_LEN(cli_templates);
