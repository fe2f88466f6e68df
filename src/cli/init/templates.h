/* cli/init/templates.h — the projects that `weft init` can write: files of the folder templates, inside the program.
 *
 * @models@ in a configuration stands for the models, @title@ and others in README.md for what the template says of
 * itself.
 */
#pragma once

#include <upp/base.h>

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
