/* examples/uap/stand_ins.h — what the specification's examples take for granted, as small stand-ins: its tools (Bash,
 * Read, Write ...), which touch nothing and always answer the same, and a model that speaks from a script. What a real
 * program has in their place is said with each.
 */
#ifndef UAP_STAND_INS_H
#define UAP_STAND_INS_H

#include <stdio.h>
#include <stdlib.h>
#include <weft/agent.h>
#include <weft/runtime.h>

/* JSON without quoting every quote. */
#define JSON(...) #__VA_ARGS__

/* `.model = stand_in(script)`; a real program: `.model = upp_anthropic("claude-sonnet-4-20250514")`. */
static inline struct upp_model_ref stand_in(const char *script)
{
    return (struct upp_model_ref){.provider = "scripted", .name = script};
}

/* ---- Tools; a real program's read files, run commands and ask servers ---- */

static inline int stand_in_tool(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    return upp_value_text(ret, (struct upp_str){call->arg, __builtin_strlen(call->arg)}, err);
}

/* `arg` is not const: a tool may write to it. These do not. */
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

/* Opens a runtime, runs the example and says what went wrong. */
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

#endif
