/* cli/init/templates.c — the table of the projects that `weft init` offers. */
#include "cli/init/templates.h"

#include "base/defs.h"

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
