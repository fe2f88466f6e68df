/* dialects/core/calls.h — the tool calls of a run that have no outcome yet, by id. */
#pragma once

#include "base/str.h"
#include "base/vec.h"

struct wd_call {
    struct upp_str id, name; /* allocated with the struct */
    uint8_t state;           /* used by the encoder; initially 0 */
    struct upp_str label;    /* the same; must outlive the call */
    bool asked;              /* an approval was requested ... */
    bool answered;           /* ... and its outcome sent */
};

struct wd_calls {
    WB_VEC(struct wd_call *) list; /* in the order of creation */
};

enum { WD_CALLS_MAX = 4096 };

struct wd_call *wd_calls_find(const struct wd_calls *c, struct upp_str id); /* NULL: none */

/* Finds or creates the call with this id. NULL: failed, see err. */
struct wd_call *wd_calls_add(struct wd_calls *c, struct upp_str id, struct upp_str name, struct upp_err *err);

void wd_calls_drop(struct wd_calls *c, struct wd_call *call); /* removes and frees it */
void wd_calls_done(struct wd_calls *c);
