/* support/ui_order.h — is this a stream that the UI client takes? Written from the client's rules, apart from the
 * encoder.
 *
 * Checked of each frame: it is JSON on one line, of a type and with members that the target's major knows, none of them
 * null that may not be. Of their order: docs/dialects/ui.md, rules 1 to 9, and what we promise beyond them: steps and
 * blocks are balanced, nothing comes between [DONE] and the next start, and at the end every call has an outcome.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

struct ui_order {
    unsigned target;
    struct wb_arena memory; /* ids */
    struct wb_arena scratch;
    struct upp_str message;
    bool started, step, finished, aborted, failed, ever;
    WB_VEC(struct ui_order_item {
        struct upp_str id;
        unsigned step;
        char what; /* 't', 'r': an open block; a call: 's' streaming, 'a' available, 'q' approval asked, 'o' outcome */
    })
    items;
    unsigned steps;
    char wrong[400]; /* the first rule that was broken; "" : none */
};

void ui_order_init(struct ui_order *c, unsigned target);
void ui_order_done(struct ui_order *c);

/* False once a rule was broken: see c->wrong. Out of memory is one, too ("out of memory"). */
bool ui_order_frame(struct ui_order *c, struct upp_str data);
bool ui_order_end(struct ui_order *c, bool ended); /* the stream is over; ended: the run is, too */
