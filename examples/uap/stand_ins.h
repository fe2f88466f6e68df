/* examples/uap/stand_ins.h — stand-ins for what the specification's examples assume: tools (Bash, Read, Write ...) that
 * have no effect and always return the same, and a scripted model. The comments say what a real program uses instead.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <weft/agent.h>
#include <weft/runtime.h>

/* Turns JSON into a string literal, without escaped quotes. */
#define JSON(...) #__VA_ARGS__

/* Used as `.model = stand_in(script)`; a real program has `.model = upp_anthropic("claude-sonnet-4-20250514")`. */
static inline struct upp_model_ref stand_in(const char *script)
{
    return (struct upp_model_ref){.provider = "scripted", .name = script};
}

/* ---- Tools; those of a real program read files, run commands and call servers ---- */

static inline int stand_in_tool(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    return upp_value_text(ret, (struct upp_str){call->arg, __builtin_strlen(call->arg)}, err);
}

/* `arg` is not const, because a tool may write to it; these do not. */
#define STAND_IN(name_, about, params, answer)                                                                         \
    {                                                                                                                  \
        .name = (name_), .description = (about), .parameters = (params), .run = stand_in_tool, .arg = (char[])         \
        {                                                                                                              \
            answer                                                                                                     \
        }                                                                                                              \
    }

#define Bash       STAND_IN("Bash", "Runs a command", "{command: string}", "ok")
#define Read       STAND_IN("Read", "Reads a file", "{path: string}", "int main(void) { return x; }")
#define Write      STAND_IN("Write", "Writes a file", "{path: string, text: string}", "written")
#define Glob       STAND_IN("Glob", "Finds files by name", "{pattern: string}", "main.c util.c")
#define Grep       STAND_IN("Grep", "Finds lines", "{pattern: string}", "main.c:1")
#define Test       STAND_IN("Test", "Runs the tests", "{}", "3 passed")
#define WebSearch  STAND_IN("WebSearch", "Searches the web", "{query: string}", "2 pages")
#define Summarize  STAND_IN("Summarize", "Sums up a text", "{text: string}", "in short: yes")
#define calculator STAND_IN("calculator", "Calculates", "{expression: string}", "4")

/* ---- main ---- */

/* Opens a runtime, runs the example and prints its error, if any. */
static inline int run_example(int (*example)(struct weft_runtime *rt, struct upp_err *err))
{
    struct upp_err       err = {0};
    struct weft_runtime *rt  = NULL;
    int                  r   = weft_runtime_open(NULL, &rt, &err);
    if (r >= 0)
        r = example(rt, &err);
    if (r < 0)
        (void)fprintf(stderr, "%s: %s\n", upp_code_name(r), err.msg);
    weft_runtime_close(rt);
    return r < 0;
}
