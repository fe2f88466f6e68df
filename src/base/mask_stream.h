/* base/mask_stream.h — secrets masked in text that grows: what a model writes, and results of tools.
 *
 * Found is a whole secret of 16 bytes and more (base/mask.h), as it is, as in an address and as in JSON, however the
 * text is cut into pieces; in JSON also with escapes in place of its characters. A beginning that many keys share is no
 * secret. Only that much is held back as may be the beginning of one.
 *
 * One pass over the text, whatever and however much is hidden: Aho-Corasick.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* What was hidden at one moment. It never changes, and any thread may use it. */
struct wb_masks;

/* A text. All zero but for masks and json is its beginning. */
struct wb_mask_stream {
    const struct wb_masks *masks;
    bool json;   /* JSON, or the beginning of one */
    bool masked; /* something was */
    bool quoted, found;
    uint8_t n_escape;
    char escape[6];            /* one that is not complete */
    uint32_t at;               /* the state of the automaton */
    size_t from, to;           /* found: what of held is a secret */
    struct wb_buf held, sizes; /* bytes; of JSON, how many of them each character of one byte takes */
};

WB_EXPORT_BEGIN

/* Takes the masks of now; NULL in *ret: nothing is hidden. Costs one load then. */
int wb_masks_take(struct wb_masks **ret, struct upp_err *err) UPP_MUST_CHECK;
void wb_masks_give(struct wb_masks *m); /* accepts NULL */

/* Appends to out what of the text is certain. At its end: the rest, of which half a secret and more is masked, too.
 * Then another text may follow that readers see as its continuation. */
void wb_mask_stream_add(struct wb_mask_stream *s, struct upp_str text, struct wb_buf *out);
void wb_mask_stream_end(struct wb_mask_stream *s, struct wb_buf *out);
void wb_mask_stream_done(struct wb_mask_stream *s); /* frees what it holds */

/* A whole text. True: something was masked. */
bool wb_masks_add(const struct wb_masks *m, struct upp_str text, bool json, struct wb_buf *out);

/* A value that is JSON, without any secrets of now: a new text is in the arena. */
int wb_masks_value(struct wb_arena *a, struct upp_str *json, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
