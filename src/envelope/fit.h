/* envelope/fit.h — inside envelope/: whether a rule fits, and why not. */
#pragma once

#include "envelope/routes.h"

enum we_unfit {
    WE_FITS,
    WE_UNFIT_INTENT,
    WE_UNFIT_ROLE,
    WE_UNFIT_AGENT,
    WE_UNFIT_TYPE,
    WE_UNFIT_TAGS,
    WE_UNFIT_NO_SCORE,
    WE_UNFIT_SCORE,
    WE_UNFIT_COST,
};

/* Does the rule fit this envelope, taken as one of this intent? */
enum we_unfit we_rule_fits(const struct we_rule *r, const struct we_envelope *e, int intent);
