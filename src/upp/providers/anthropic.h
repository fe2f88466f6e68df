/* upp/providers/anthropic.h — what anthropic.c and anthropic_read.c know of each other. */
#ifndef UPP_PROVIDERS_ANTHROPIC_H
#define UPP_PROVIDERS_ANTHROPIC_H

#include "upp/adapter.h"

struct upp__anthropic_block;

/* What a reader knows of the answer so far. */
struct upp__anthropic_own {
    WB_VEC(struct upp__anthropic_block) blocks;
    struct upp_str model, stop_reason;                     /* in keep */
    yyjson_val    *usage;                                  /* in keep: the newest of each count */
    struct upp_str stop_sequence, stop_details, container; /* in keep, as JSON; no text: not said */
    struct wb_buf  json; /* what is being written, for a moment; at the end the metadata */
};

int  upp__anthropic_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err);
int  upp__anthropic_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err);
int  upp__anthropic_eof(struct upp__reader *r, struct upp_err *err);
void upp__anthropic_done(struct upp__reader *r);
void upp__anthropic_trouble(struct wb_arena *a, struct upp_str body, struct upp__trouble *t);

#endif
