/* support/assistants_order.h — is this a stream that the clients of the Assistants API take? Written from the rules of
 * the strictest of them, apart from the encoder.
 *
 * Checked of each frame: its name is one of the API's, its data has all members of its object, and the status says what
 * the name says. Of their order: docs/dialects/assistants.md, rules 1 to 9.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

struct assistants_order {
    struct wb_arena memory; /* ids */
    struct wb_arena scratch;
    bool created, going, last, ended, ever;
    struct upp_str message, step; /* that are open; no text: none */
    bool calls;                   /* the step is one of calls ... */
    bool known;                   /* ... and this segment has heard of it */
    size_t n_content, n_calls;
    WB_VEC(struct upp_str) made; /* ids of messages and steps */
    char wrong[400];             /* the first rule that was broken; "" : none */
};

void assistants_order_init(struct assistants_order *c);
void assistants_order_done(struct assistants_order *c);

/* False once a rule was broken: see c->wrong. Out of memory is one, too ("out of memory"). */
bool assistants_order_frame(struct assistants_order *c, const char *name, struct upp_str data);
bool assistants_order_end(struct assistants_order *c, bool ended); /* the stream is over; ended: the run is, too */
