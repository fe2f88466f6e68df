/* agent/middleware/budget.c — UAP-10.4: limits as middleware. run/budget.c counts, and ends runs. */
#include "agent/middleware/middleware.h"
#include "base/hooks.h"

static int make(const void *opts, void **own, struct upp_err *err)
{
    struct weft_budget *b = wb_calloc(1, sizeof *b);
    if (!b)
        return upp_fail(err, UPP_ENOMEM, "no memory for a budget");
    if (opts)
        *b = *(const struct weft_budget *)opts;
    bool priced = b->input_price > 0 || b->output_price > 0 || b->cache_read_price > 0 || b->cache_write_price > 0;
    if (b->max_cost > 0 && !priced) {
        wb_free(b);
        return upp_fail(err, UPP_EINVALID, "max_cost needs the prices of tokens");
    }
    *own = b;
    return 0;
}

static void drop(void *own)
{
    wb_free(own);
}

static const struct weft_budget *limits(const void *own)
{
    return own;
}

const struct weft_middleware_kind wa_budget = {.name = "budget", .make = make, .free = drop, .budget = limits};

struct weft_middleware weft_budget_with(const struct weft_budget *opts)
{
    return (struct weft_middleware){.name = "budget", .kind = &wa_budget, .opts = opts};
}
