/* cli/init/cmd_init.c — weft init: a project of one's own, which runs at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/defs.h"
#include "cli/list.h"
#include "cli/init/project.h"
#include "cli/terminal.h"
#include "json/write.h"

static const char *const template_names[] = {"assistant", "weather", "approval", "plan", NULL};

struct init_options {
    const char *template;
    bool json;
};

static const struct cli_template *find_template(const struct cli_command *self, const char *name)
{
    size_t which;
    if (cli_word(self, "--template", name, template_names, &which))
        return NULL;
    for (size_t i = 0; i < cli_n_templates; i++)
        if (strcmp(cli_templates[i].name, template_names[which]) == 0)
            return &cli_templates[i];
    return NULL;
}

/* The folder's own name, for people. */
static struct upp_str title_of(const char *folder, char *room)
{
    char *full = realpath(folder, room);
    struct upp_str s = wb_cstr(full ? full : folder);
    while (s.n > 1 && s.p[s.n - 1] == '/')
        s.n--;
    size_t from = s.n;
    while (from && s.p[from - 1] != '/')
        from--;
    s = wb_str_sub(s, from, SIZE_MAX);
    return s.n ? s : UPP_STR("Agents");
}

static void tell(const struct cli_project *p, const char *folder)
{
    bool here = strcmp(folder, ".") == 0;
    (void)printf("Made ");
    cli_print_text(stdout, wb_cstr(folder), 0);
    (void)printf(" (template %s):\n", p->template->name);
    for (size_t i = 0; i < p->n; i++)
        (void)printf("  %s\n", p->files[i].path);
    if (p->variable)
        (void)printf("\nIts agents use the real model of %s, because %s is set.\n", p->provider, p->variable);
    else
        (void)printf("\nIts agents answer from a script, without a key. For a real model see weft.yaml.\n");
    (void)printf("\nTry it:\n");
    if (!here) {
        (void)printf("  cd ");
        cli_print_text(stdout, wb_cstr(folder), 0);
        (void)printf("\n");
    }
    (void)printf("  weft run %s \"%s\"\n  weft chat\n  weft serve\n", p->template->agent, p->template->ask);
}

static int tell_json(const struct cli_project *p, const char *folder, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "folder", wb_cstr(folder));
    wj_put_str(&w, "template", wb_cstr(p->template->name));
    wj_put_str(&w, "agent", wb_cstr(p->template->agent));
    wj_put_str(&w, "provider", wb_cstr(p->provider ? p->provider : "scripted"));
    wj_put_open(&w, "files", '[');
    for (size_t i = 0; i < p->n; i++)
        wj_write_str(&w, wb_cstr(p->files[i].path));
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return cli_line_out(stdout, &w);
}

static int run_init(const struct cli_command *self, int argc, char **argv)
{
    WB_CLEANUP(cli_project_done) struct cli_project p = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf room = WB_BUF(8192);
    struct init_options o = {.template = "assistant"};
    const char *folder = ".";
    size_t n;
    struct upp_err err = {0};
    int bad = cli_parse_some(self, argc, argv, &o, &folder, 1, &n);
    const struct cli_template *t = bad ? NULL : find_template(self, o.template);
    if (!t)
        return CLI_USAGE;
    if (!wb_buf_reserve(&room, 4096)) /* PATH_MAX */
        return cli_fail(self, &err);
    int r = cli_project_make(&p, t, title_of(folder, room.p), &err);
    if (r >= 0)
        r = cli_project_write(&p, folder, &err);
    if (r >= 0 && o.json)
        r = tell_json(&p, folder, &err);
    else if (r >= 0)
        tell(&p, folder);
    return r < 0 ? cli_fail(self, &err) : CLI_GOOD;
}

static const struct cli_option init_options[] = {
    CLI_VALUE_OF(
        "--template", "NAME", "the name of a template", struct init_options, template, CLI_CHOICE, template_names,
        "what the project shows: assistant keeps notes; weather has two agents and a handoff; approval asks a person "
        "before it pays; plan makes a plan with parallel steps"),
    CLI_FLAG("--json", struct init_options, json, "one JSON object: folder, template, agent, provider, files"),
};

const struct cli_command cli_init = {
    .name = "init",
    .usage = "[FOLDER] [--template assistant|weather|approval|plan] [--json]",
    .summary = "makes a project of your own",
    .help =
        "Writes a project to FOLDER (default: the current one): weft.yaml with an agent, a tool as a shell script, a\n"
        "scripted model that answers at once, .env.example, .gitignore and README.md. It overwrites nothing: if one "
        "of\n"
        "these files is there, it fails.\n"
        "If ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_API_KEY or GEMINI_API_KEY is set, the agents use the real model "
        "of\n"
        "that provider, and the command says so.",
    .run = run_init,
    CLI_OPTIONS(init_options),
    .examples = "weft init my-agent\n"
                "weft init --template approval    # in the current folder\n",
    .takes = CLI_FOLDER,
};
