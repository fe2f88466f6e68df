/* support/aap_order.h — is a stream of the Agent API in order? One frame after the other; the first mistake is kept. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"

struct aap_order {
    struct wb_arena a;
    struct wb_buf text; /* of the deltas of the open content */
    int response;       /* enum wd_aap_status; -1: none yet */
    int message;        /* of the open one; -1: none */
    int content;
    size_t index;
    uint64_t sequence;
    struct upp_str id, whole;
    WB_VEC(struct upp_str) closed; /* ids of messages that are over */
    char wrong[160];
};

void aap_order_init(struct aap_order *c);
void aap_order_done(struct aap_order *c);

/* False: `wrong` says why, as it does for all that follow. */
bool aap_order_frame(struct aap_order *c, struct upp_str frame);
bool aap_order_end(struct aap_order *c, bool ended);
