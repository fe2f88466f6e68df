/* run/budget.c — budgets of a run and all runs below it: from its agent's rights, its parent's tool entry, and
 * middleware.
 *
 * Usage is counted in the run that causes it and, from that moment on, in all its ancestors (`below`); a child's usage
 * moves to the state of its parent when the child has ended. A run that exceeds a limit of its own or of an ancestor
 * ends with what it has: it is completed, and its metadata names the limit.
 *
 * Messages between agents are counted in the same way. Their limit ends nothing: run/rights.c refuses the next one.
 */
#include "fiber/loop.h"
#include "run/engine_state.h"
#include "run/settings/settings.h"
#include "run/step.h"
#include "run/strategy.h"
#include "run/run.h"

void wr_usage_add_above(struct wr_run *run, const struct upp_usage *u, uint32_t steps)
{
    for (struct wr_run *up = run->parent; up; up = up->parent) {
        wm_usage_add(&up->budget.below.usage, u);
        up->budget.below.steps += steps;
    }
}

static void subtract(uint64_t *from, uint64_t n)
{
    *from -= WB_MIN(*from, n);
}

void wr_usage_sub_below(struct wr_run *run, const struct upp_usage *u)
{
    struct upp_usage *below = &run->budget.below.usage;
    subtract(&below->input, u->input);
    subtract(&below->output, u->output);
    subtract(&below->cache_read, u->cache_read);
    subtract(&below->cache_write, u->cache_write);
    subtract(&below->reasoning, u->reasoning);
}

static uint64_t worked_ms(const struct wr_run *run)
{
    uint64_t now = weft__loop_clock(run->engine->loop);
    uint64_t began = run->budget.began_ns;
    return run->budget.worked_ms + (began && now > began ? (now - began) / 1000000 : 0);
}

uint64_t wr_worked_ms(const struct wr_run *run)
{
    return worked_ms(run);
}

/* Cache tokens are part of the input: each is paid once, at its own price if there is one. */
double wr_cost(const struct weft_budget *b, const struct upp_usage *u)
{
    double read = b->cache_read_price > 0 ? b->cache_read_price : b->input_price;
    double write = b->cache_write_price > 0 ? b->cache_write_price : b->input_price;
    uint64_t cached = u->cache_read + u->cache_write, fresh = u->input > cached ? u->input - cached : 0;
    return ((double)fresh * b->input_price + (double)u->output * b->output_price + (double)u->cache_read * read +
            (double)u->cache_write * write) /
           1e6;
}

static bool has_prices(const struct weft_budget *b)
{
    return b->input_price > 0 || b->output_price > 0;
}

const struct weft_budget *wr_prices(const struct wr_agent_def *def)
{
    if (def->rights && has_prices(&def->rights->budget))
        return &def->rights->budget;
    for (size_t i = 0; def->middleware && i < def->middleware->n_budgets; i++)
        if (has_prices(def->middleware->budgets[i]))
            return def->middleware->budgets[i];
    return NULL;
}

/* The limit that is exceeded; NULL: none. A run with all its steps used exceeds max_steps when it wants one more. */
static const char *exceeded(const struct wr_run *run, const struct weft_budget *b, bool goes_on)
{
    struct upp_usage u = run->pub.state.usage;
    uint64_t steps = (uint64_t)run->pub.state.step + run->budget.below.steps;
    wm_usage_add(&u, &run->budget.below.usage);
    if (b->max_tokens && u.input + u.output > b->max_tokens)
        return "max_tokens";
    if (b->max_cost > 0 && wr_cost(b, &u) > b->max_cost)
        return "max_cost";
    if (b->max_time_ms && worked_ms(run) >= b->max_time_ms)
        return "max_time";
    if (b->max_steps && steps + goes_on > b->max_steps)
        return "max_steps";
    return NULL;
}

/* Budget number i of a run; NULL after the last. */
static const struct weft_budget *budget_of(const struct wr_run *run, size_t i)
{
    const struct wr_agent_def *def = run->def;
    if (run->given && i-- == 0)
        return &run->given->budget;
    if (def && def->rights && i-- == 0)
        return &def->rights->budget;
    return def && def->middleware && i < def->middleware->n_budgets ? def->middleware->budgets[i] : NULL;
}

/* Does this run or one of its ancestors have a budget? */
static bool limited(const struct wr_run *run)
{
    while (run && !budget_of(run, 0) && !(run->settings && run->settings->max_completion))
        run = run->parent;
    return run != NULL;
}

int wr_limit_reached(struct wr_run *run, const char *which, struct upp_err *err)
{
    struct upp_str json = wr_json_text(run, wb_cstr(which));
    int r = json.p ? weft_run_set_metadata(&run->pub, UPP_STR("budgetExceeded"), json, err) : -UPP_ENOMEM;
    if (r < 0)
        return r;
    run->budget.over = which;
    run->draft.state = true;
    return 1;
}

static __attribute__((noinline)) int check_limits(struct wr_run *run, bool goes_on, struct upp_err *err)
{
    const struct weft_budget *b;
    const char *which = run->budget.over;
    for (const struct wr_run *up = run; up && !which; up = up->parent) {
        which = wr_settings_limit(up);
        for (size_t i = 0; !which && (b = budget_of(up, i)); i++)
            which = exceeded(up, b, goes_on);
    }
    return !which || run->budget.over ? which != NULL : wr_limit_reached(run, which, err);
}

int wr_budget(struct wr_run *run, bool goes_on, struct upp_err *err)
{
    return limited(run) ? check_limits(run, goes_on, err) : run->budget.over != NULL;
}

uint64_t wr_budget_ms(const struct wr_run *run)
{
    const struct weft_budget *b;
    uint64_t least = UINT64_MAX;
    if (!limited(run))
        return least;
    for (const struct wr_run *up = run; up; up = up->parent)
        for (size_t i = 0; (b = budget_of(up, i)); i++)
            if (b->max_time_ms) {
                uint64_t had = worked_ms(up);
                least = WB_MIN(least, had < b->max_time_ms ? b->max_time_ms - had : 0);
            }
    return least;
}

uint32_t wr_steps_left(struct weft_run *pub)
{
    const struct weft_budget *b;
    uint64_t least = UINT32_MAX;
    for (const struct wr_run *up = wr_of(pub); up; up = up->parent)
        for (size_t i = 0; (b = budget_of(up, i)); i++)
            if (b->max_steps) {
                uint64_t had = (uint64_t)up->pub.state.step + up->budget.below.steps;
                least = WB_MIN(least, had < b->max_steps ? b->max_steps - had : 0);
            }
    return (uint32_t)least;
}

/* Did the strategy fail because a limit was reached? */
int wr_out_of_budget(struct wr_run *run, int result, struct upp_err *err)
{
    if (result == -UPP_ELIMIT && run->budget.over)
        return 1;
    struct upp_err why = {0};
    int r = result == -UPP_ETIMEOUT ? wr_budget(run, false, &why) : 0;
    if (r < 0 && err)
        *err = why;
    return r;
}

static void add_messages_above(struct wr_run *run, uint32_t n)
{
    for (struct wr_run *up = run->parent; up; up = up->parent)
        up->budget.below.messages += n;
}

void wr_agent_message(struct wr_run *run)
{
    run->budget.messages++;
    run->draft.state = true;
    add_messages_above(run, 1);
}

void wr_agent_messages_adopt(struct wr_run *run, uint32_t n)
{
    run->budget.below.messages -= WB_MIN(run->budget.below.messages, n);
    run->budget.messages += n;
    run->draft.state |= n > 0;
}

/* For a recovered run: restores `below`, and adds its usage, its steps and its messages to its ancestors. */
void wr_used_restore(struct wr_run *run)
{
    run->budget.below = run->budget.below_before;
    add_messages_above(run, run->budget.messages);
    wr_usage_add_above(run, &run->pub.state.usage, (run->branch ? 0 : run->pub.state.step) + run->budget.below.steps);
}
