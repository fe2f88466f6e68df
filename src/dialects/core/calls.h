/* dialects/core/calls.h — the tool calls of a run that have no outcome yet, by id. */
#ifndef WD_CALLS_H
#define WD_CALLS_H

#include "base/str.h"
#include "base/vec.h"

struct wd_call {
    struct upp_str id, name; /* in the same block as the struct */
    uint8_t        state;    /* the owner's; a new one has 0 */
    bool           asked;    /* for an approval ... */
    bool           answered; /* ... and what was said was shown */
};

struct wd_calls {
    WB_VEC(struct wd_call *) list; /* in the order they were made */
};

enum { WD_CALLS_MAX = 4096 };

struct wd_call *wd_calls_find(const struct wd_calls *c, struct upp_str id); /* NULL: not known */

/* The one of this id, made if it is not known. NULL: err says why. */
struct wd_call *wd_calls_add(struct wd_calls *c, struct upp_str id, struct upp_str name, struct upp_err *err);

void wd_calls_drop(struct wd_calls *c, struct wd_call *call); /* frees it */
void wd_calls_done(struct wd_calls *c);

#endif
