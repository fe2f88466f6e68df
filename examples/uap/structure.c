/* examples/uap/structure.c — structured output (UAP 4.6). */
#include "stand_ins.h"

static const char script[] = JSON({"replies": [{"data":
    {"issues": [{"file": "main.c", "line": 1, "severity": "error", "message": "x is not declared"}],
     "summary": "one error"}}]});

static const char issues[] = JSON({
    "type": "object",
    "properties": {
        "issues": {"type": "array", "items": {
            "type": "object",
            "properties": {"file": {"type": "string"}, "line": {"type": "number"},
                           "severity": {"type": "string", "enum": ["error", "warning", "info"]},
                           "message": {"type": "string"}},
            "required": ["file", "line", "severity", "message"]}},
        "summary": {"type": "string"}},
    "required": ["issues", "summary"]});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                           *analyzer;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = stand_in(script),
                                    .system = "You analyze code and report issues.", .structure = issues),
                           &analyzer, err);
    if (r < 0 || (r = weft_agent_run(analyzer, UPP_STR("Analyze this code: return x;"), &turn, err)) < 0)
        return r;
    printf("%.*s\n", UPP_FMT(turn->data));
    return 0;
}

int main(void)
{
    return run_example(example);
}
