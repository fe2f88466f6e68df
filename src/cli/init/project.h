/* cli/init/project.h — the files of a new project, made from a template and written to a folder.
 *
 *     r = cli_project_make(&p, template, "my-agent", &err);
 *     r = cli_project_write(&p, "my-agent", &err);
 */
#pragma once

#include "base/arena.h"
#include "cli/init/templates.h"

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
