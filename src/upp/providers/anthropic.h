/* upp/providers/anthropic.h — what the files of this adapter know of each other. */
#ifndef UPP_PROVIDERS_ANTHROPIC_H
#define UPP_PROVIDERS_ANTHROPIC_H

#include "upp/adapter.h"

/* ---- anthropic_media.c: images and documents ---- */

/* Why the API does not take this; NULL: it does. */
const char *upp__anthropic_refuses(uint8_t kind, const struct upp_media *m);

/* The members of the block (it is open): of one that is not refused. -UPP_EINVALID: its bytes are no base64. */
int upp__anthropic_write_media(struct wj_writer *w, uint8_t kind, const struct upp_media *m,
                               struct upp_err *err) UPP_MUST_CHECK;

/* A block as UPP writes it in JSON, inside of a tool's result. */
struct upp__anthropic_shown {
    uint8_t          kind; /* text, image, document */
    struct upp_str   text;
    struct upp_media media;
};

/* False: this is none that a result can hold. */
bool upp__anthropic_read_shown(yyjson_val *v, struct upp__anthropic_shown *ret);
bool upp__anthropic_is_shown(yyjson_val *v); /* an array of blocks, and nothing but blocks? */

/* ---- anthropic_read.c: answers ---- */

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
