/* support/hooks.h — hooks that write down what they hear, a line a call. */
#pragma once

#include "support/race_rig.h"

struct heard {
    struct wb_buf lines;
    uint32_t stop_at; /* after so many steps it is enough; 0: never */
    bool metadata;    /* `stop` shows all of it, not the tokens alone */
    bool plan;        /* start and end show the ids of plan steps and their states */
    unsigned ms;      /* for the test */
};

struct weft_hooks heard_hooks(struct heard *h);
void heard_done(struct heard *h);

/* Waits for the run: it ends so. */
WEFT_SUSPENDS int heard_end(struct place *p, const struct wr_started *s, uint8_t status, struct upp_err *err);

/* What a reader observes of the run itself: "STEP:CALL=RESULT ... ;" a round. Live, or from the store alone. */
WEFT_SUSPENDS int observed_is(struct place *p, struct wb_uuid run, const char *want, struct upp_err *err);

/* All of it; its end. */
int heard_is(const struct heard *h, const char *want, struct upp_err *err);
int heard_ends(const struct heard *h, const char *want, struct upp_err *err);
