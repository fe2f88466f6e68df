/* cli/cmd_version.c — weft version. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static int run(const struct cli_command *self, int argc, char **argv)
{
    if (argc == 1)
        (void)printf("weft %s\n", upp_version());
    else if (argc == 2 && strcmp(argv[1], "--json") == 0)
        (void)printf("{\"name\":\"weft\",\"version\":\"%s\"}\n",
                     upp_version()); /* digits and dots: nothing to escape */
    else
        return cli_misuse(self, "does not take '%s'", argv[argc - 1]);
    return CLI_GOOD;
}

const struct cli_command cli_version = {
    .name    = "version",
    .usage   = "[--json]",
    .summary = "the version",
    .help    = "Prints the version, as text or as a JSON object.",
    .run     = run,
};
