/* server/keys/elsewhere.h — a quota of one loop, for engines on other loops: they ask the loop that counts.
 *
 * They must have been closed before the quota is.
 */
#pragma once

#include "run/engine.h"

struct sv_elsewhere {
    struct wr_quota quota; /* for the others */
    const struct wr_quota *here;
    struct weft_loop *loop; /* of `here` */
};

void sv_elsewhere_init(struct sv_elsewhere *e, const struct wr_quota *here, struct weft_loop *loop);
