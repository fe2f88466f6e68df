/* upp/providers/anthropic.h — shared by the files of the Anthropic adapter. */
#pragma once

#include "upp/providers/body.h"

/* ---- anthropic_media.c: images and documents ---- */

/* Why the API refuses this; NULL: it accepts it. */
const char *upp__anthropic_refuses(uint8_t kind, const struct upp_media *m);

/* Writes the members of the open block, for media that is not refused. -UPP_EINVALID: not base64. */
int upp__anthropic_write_media(struct wj_writer *w, uint8_t kind, const struct upp_media *m,
                               struct upp_err *err) UPP_MUST_CHECK;

/* ---- anthropic_blocks.c: the blocks of an answer ---- */

enum { UPP__ANTHROPIC_BYTES = 256 << 20 }; /* of a block's member, and of usage; answers have their own limit */

struct upp__anthropic_block;

/* State of a reader. */
struct upp__anthropic_own {
    WB_VEC(struct upp__anthropic_block) blocks;
    size_t held;                       /* 1 + the index of an ended call without arguments; 0: none */
    struct upp_str model, stop_reason; /* in keep */
    yyjson_val *usage;                 /* in keep: the latest of each count */
    struct upp_str stop_sequence, stop_details, container; /* in keep, as JSON; empty: absent */
    struct wb_buf json;                                    /* usage, while it is put together */
};

/* `exact`: it is complete, no deltas follow. */
int upp__anthropic_block_start(struct upp__reader *r, uint64_t index, yyjson_val *block, bool exact,
                               struct upp_err *err) UPP_MUST_CHECK;
int upp__anthropic_block_delta(struct upp__reader *r, uint64_t index, yyjson_val *delta,
                               struct upp_err *err) UPP_MUST_CHECK;
void upp__anthropic_block_stop(struct upp__reader *r, uint64_t index); /* ignored if it is not open */
void upp__anthropic_blocks_stop(struct upp__reader *r, bool cut);      /* all open ones; `cut`: the last is truncated */

/* The member "raw", if texts and calls do not contain everything. */
void upp__anthropic_blocks_write(struct upp__reader *r, struct wj_writer *w);
void upp__anthropic_blocks_free(struct upp__reader *r);

/* ---- anthropic_read.c: answers ---- */

int upp__anthropic_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err);
int upp__anthropic_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err);
void upp__anthropic_done(struct upp__reader *r);
void upp__anthropic_error(yyjson_val *v, struct upp__provider_error *t);
