/* upp/providers/anthropic.h — what the files of this adapter know of each other. */
#ifndef UPP_PROVIDERS_ANTHROPIC_H
#define UPP_PROVIDERS_ANTHROPIC_H

#include "upp/providers/body.h"

/* ---- anthropic_media.c: images and documents ---- */

/* Why the API does not take this; NULL: it does. */
const char *upp__anthropic_refuses(uint8_t kind, const struct upp_media *m);

/* The members of the block (it is open): of one that is not refused. -UPP_EINVALID: its bytes are no base64. */
int upp__anthropic_write_media(struct wj_writer *w, uint8_t kind, const struct upp_media *m,
                               struct upp_err *err) UPP_MUST_CHECK;

/* ---- anthropic_blocks.c: the blocks of an answer ---- */

enum { UPP__ANTHROPIC_BYTES = 256 << 20 }; /* of a block's member, and of metadata; answers have a limit of their own */

struct upp__anthropic_block;

/* What a reader knows of the answer so far. */
struct upp__anthropic_own {
    WB_VEC(struct upp__anthropic_block) blocks;
    size_t         held;               /* 1 + the index of a call that has ended and has said no arguments; 0: none */
    struct upp_str model, stop_reason; /* in keep */
    yyjson_val    *usage;              /* in keep: the newest of each count */
    struct upp_str stop_sequence, stop_details, container; /* in keep, as JSON; no text: not said */
    struct wb_buf  json; /* usage, while it is put together */
};

/* `exact`: this is all of it, no deltas follow. */
int  upp__anthropic_block_start(struct upp__reader *r, uint64_t index, yyjson_val *block, bool exact,
                                struct upp_err *err) UPP_MUST_CHECK;
int  upp__anthropic_block_delta(struct upp__reader *r, uint64_t index, yyjson_val *delta,
                                struct upp_err *err) UPP_MUST_CHECK;
void upp__anthropic_block_stop(struct upp__reader *r, uint64_t index); /* of one that is not open: nothing */
void upp__anthropic_blocks_stop(struct upp__reader *r, bool cut);      /* all that are open; `cut`: so is the last */

/* The member "raw", where texts and calls do not say it all. */
void upp__anthropic_blocks_write(struct upp__reader *r, struct wj_writer *w);
void upp__anthropic_blocks_free(struct upp__reader *r);

/* ---- anthropic_read.c: answers ---- */

int  upp__anthropic_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err);
int  upp__anthropic_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err);
void upp__anthropic_done(struct upp__reader *r);
void upp__anthropic_error(yyjson_val *v, struct upp__trouble *t);

#endif
