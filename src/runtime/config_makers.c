/* runtime/config_makers.c — what a configuration can name, and who makes it.
 *
 * This is the one place where the lists of a file are handed to the layer of agents.
 */
#include "runtime/config.h"

const struct wc_makers wc_makers = {
    .loop = weft_loop_with,
};
