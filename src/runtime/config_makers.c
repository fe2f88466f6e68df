/* runtime/config_makers.c — constructors of the strategies and middleware that a configuration can name.
 *
 * Only this file connects the reader of the configuration to the layer of agents.
 */
#include "agent/middleware/middleware.h"
#include "runtime/config.h"

const struct wc_makers wc_makers = {
    .loop = weft_loop_with,
    .react = weft_react_with,
    .plan = weft_plan_with,
    .logging = weft_logging_with,
    .guardrails = weft_guardrails_with,
    .memory = weft_memory_with,
    .budget = weft_budget_with,
    .middleware = wa_middleware_new,
    .middleware_free = wa_middleware_free,
};
