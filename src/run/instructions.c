/* run/instructions.c — the system text of a run: its agent's, and what the request that began it was let say.
 *
 * As OpenAI has it: `instructions` stand in the place of the agent's, `additional_instructions` behind them. They are
 * for the agent that the request named, and for no other: not for agents below it, nor for one to whom the thread is
 * passed. Who may say them is the server's matter; here they are options that are kept with the run.
 */
#include "json/read.h"
#include "json/value.h"
#include "run/internal.h"

int wr_instruct(struct wr_run *run, struct upp_err *err)
{
    yyjson_val *v = NULL;
    run->system   = run->def ? run->def->system : (struct upp_str){0};
    if (!run->def || !run->row.options.n || run->row.depth || !wb_str_eq(run->def->name, run->row.agent))
        return 0;
    int r = wj_read(&run->memory, run->row.options, NULL, &v, err);
    if (r < 0)
        return r == -UPP_ENOMEM ? r : upp_fail(err, UPP_ESTORE, "the options of the run are no JSON");
    struct upp_str own = wj_text_at(v, "instructions"), more = wj_text_at(v, "additional_instructions");
    if (own.n)
        run->system = own;
    if (more.n)
        run->system = run->system.n ? wb_arena_printf(&run->memory, "%.*s\n\n%.*s", UPP_FMT(run->system), UPP_FMT(more))
                                    : more;
    return wb_arena_check(&run->memory, err);
}
