/* server/members/transcript.h — the structured messages of a thread in the log, as dialects/aitp follows them. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "dialects/aitp/capabilities.h"
#include "json/write.h"
#include "log/log.h"

/* An AITP thread that has only the messages with something structured in them. */
struct sv_transcript {
    struct wb_buf json;
    struct wj_writer w;
    WB_VEC(struct wb_uuid) ids; /* of its messages, in order; all zero: not in the log yet */
};

void sv_transcript_begin(struct sv_transcript *s, const struct wl_thread *t, struct upp_err *err);
void sv_transcript_done(struct sv_transcript *s);

/* Has the message structured text? */
bool sv_transcript_wants(const struct upp_message *m);

/* Adds a message. */
int sv_transcript_add(struct sv_transcript *s, const struct wm_entry *e, struct wb_uuid id,
                      struct upp_err *err) UPP_MUST_CHECK;

/* Adds those of a thread. */
WEFT_SUSPENDS int sv_transcript_read(struct sv_transcript *s, struct wl_store *store, const struct wl_owner *o,
                                     const struct wl_thread *t, struct upp_err *err) UPP_MUST_CHECK;

/* Ends it: *ret is the thread, in the arena. */
int sv_transcript_end(struct sv_transcript *s, struct wb_arena *a, yyjson_val **ret,
                      struct upp_err *err) UPP_MUST_CHECK;
