/* support/command.h — running command tools in tests, and looking for what they left behind. */
#pragma once

#include "agent/tool/command.h"
#include "support/fibers.h"

/* One call of `sh -c script`. */
struct command_case {
    const char *script;
    struct upp_str arguments;
    struct wa_command_opts opts; /* words are filled in unless there are some */
    const char *key;             /* NULL: "key" */

    int result;                /* of wa_command_run */
    struct wa_command_end end; /* freed by the caller when result is 0 */
};

/* Runs it on the current loop. */
WEFT_SUSPENDS int test_command(struct command_case *c, struct upp_err *err);

/* How many processes have WEFT_CALL_KEY=key in their environment. */
unsigned test_processes(const char *key);

/* A key that no other call has. */
const char *test_key(char *to, size_t size);

/* Waits until there is no such process any more; the driver's limit for a hang is the limit here. */
void test_until_gone(const char *key);
