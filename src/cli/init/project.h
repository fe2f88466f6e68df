/* cli/init/project.h — the files of a new project, made from a template and written to a folder.
 *
 *     r = cli_project_make(&p, template, "my-agent", &err);
 *     r = cli_project_write(&p, "my-agent", &err);
 */
#pragma once

#include <upp/base.h>

#include "base/arena.h"

enum { CLI_PROJECT_FILES = 7 };

struct cli_project {
    struct wb_arena arena;
    const struct cli_template *template;
    const char *variable; /* of the environment, whose key its model uses; NULL: the model is scripted */
    const char *provider; /* of that model */
    struct cli_project_file {
        const char *path;
        unsigned mode;
        struct upp_str text;
    } files[CLI_PROJECT_FILES];
    size_t n;
};

/* title: for README.md. The model is that of the first provider whose key is in the environment, or scripted. */
int cli_project_make(struct cli_project *p, const struct cli_template *template, struct upp_str title,
                     struct upp_err *err) UPP_MUST_CHECK;

/* Creates the folder if it is not there. -UPP_EREFUSED: one of the files is there already; nothing was written. */
int cli_project_write(const struct cli_project *p, const char *folder, struct upp_err *err) UPP_MUST_CHECK;

void cli_project_done(struct cli_project *p);

/* The projects that `weft init` can write: files of the folder templates, inside the program.
 *
 * @models@ in a configuration stands for the models, @title@ and others in README.md for what the template says of
 * itself.
 */

struct cli_template {
    const char *name, *about;
    const char *agent, *ask; /* weft run AGENT "ASK" works at once */
    const char *next;        /* what to try then, for README.md; NULL: nothing */
    const char *program;     /* where its tool goes */
    const struct upp_str *yaml, *script, *tool;
};

extern const struct cli_template cli_templates[];
extern const size_t cli_n_templates;

/* Made by scripts/embed. */
extern const struct upp_str cli_template_all__env_example, cli_template_all__gitignore, cli_template_all_README_md;
extern const struct upp_str cli_template_assistant_weft_yaml, cli_template_assistant_script_json,
    cli_template_assistant_save_note_sh;
extern const struct upp_str cli_template_weather_weft_yaml, cli_template_weather_script_json,
    cli_template_weather_get_weather_sh;
extern const struct upp_str cli_template_approval_weft_yaml, cli_template_approval_script_json,
    cli_template_approval_pay_sh;
extern const struct upp_str cli_template_plan_weft_yaml, cli_template_plan_script_json, cli_template_plan_look_up_sh;
