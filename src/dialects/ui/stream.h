/* dialects/ui/stream.h — internals of the ui dialect's stream: its state, and which functions write which chunks. */
#pragma once

#include "dialects/core/open_message.h"
#include "dialects/core/frame.h"

/* The stage of the stream. A function that writes a chunk first moves the stream to the stage that the chunk needs. */
enum ui_stage {
    UI_NEW,     /* nothing was sent */
    UI_STARTED, /* `start` was sent; no step is open */
    UI_STEP,    /* `start-step` was sent; blocks may be open */
    UI_PAUSED,  /* [DONE] was sent because the run waits: it resumes with another `start` */
    UI_ENDED,
};

/* Scaffolding messages: output of the phase `reason` is sent as reasoning, the rest is hidden. */
enum ui_aside { UI_OUTPUT, UI_REASONING, UI_HIDDEN };

struct ui {
    uint8_t target; /* 5, 6, 7 */
    uint8_t stage;
    bool children;
    bool no_reset;     /* the open step has output that a reset must not remove */
    uint8_t aside;     /* enum ui_aside of the current message */
    bool voided;       /* 5, 6: the open step has calls of a voided attempt */
    bool pending_sent; /* 5: the metadata names pending approvals */
    uint8_t stop;      /* enum upp_stop of the last message */
    struct upp_str (*title_of)(void *arg, struct upp_str agent); /* NULL: an agent has no other name */
    void *arg;
    struct wb_uuid turn; /* the message's id; events of children do not have it */
    struct wd_open open;
    struct wd_calls calls;
    struct wd_calls over; /* calls of the open step that have an outcome */
    struct wb_arena scratch;
    struct wb_buf text; /* scratch space for one value */
};

/* States of a call. A call with an outcome is removed from the table. */
enum ui_call { UI_CALL_NEW, UI_CALL_STREAMING, UI_CALL_READY, UI_CALL_BAD };

void ui_to_started(struct ui *u, const struct wm_event *ev, struct wd_out *o);
void ui_to_fresh_step(struct ui *u, const struct wm_event *ev, struct wd_out *o); /* a step that may be reset */

void ui_simple(struct wd_out *o, struct upp_str chunk); /* a whole frame */

/* Fails with UPP_EBUG: the engine broke the event contract in a way that no stream can express. */
void ui_bug(struct wd_out *o, const struct wm_event *ev, const char *what, struct upp_str call);

int ui_message_open(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;
int ui_part_open(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;
int ui_delta(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;
int ui_part_close(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;
void ui_message(struct ui *u, const struct wm_event *ev, struct wd_out *o);
void ui_attempt_void(struct ui *u, const struct wm_event *ev, struct wd_out *o);

/* Ends the message's open blocks, and calls whose input is incomplete. */
void ui_end_blocks(struct ui *u, struct wd_out *o, const char *why);

/* The call with this id, or a new one; NULL: the writer has failed. */
struct wd_call *ui_call_add(struct ui *u, struct wd_out *o, struct upp_str id, struct upp_str name);

/* The call's input starts to stream; the input is complete; the input is unusable. */
void ui_call_streams(struct wd_call *c, struct wd_out *o);
void ui_call_ready(struct ui *u, struct wd_out *o, struct wd_call *c, struct upp_str arguments);
void ui_call_bad(struct ui *u, struct wd_out *o, struct wd_call *c, struct upp_str input, const char *why);

/* An approval was answered; the call has an outcome; every call without an outcome fails because the run has ended. */
void ui_call_answered(const struct ui *u, struct wd_out *o, struct wd_call *c, bool approved);
void ui_call_outcome(struct ui *u, const struct wm_event *ev, struct wd_out *o);
void ui_calls_fail(struct ui *u, struct wd_out *o, const char *why);

/* Chunks that are valid at any stage (stream_chunks.c). */

/* Writes {"type":"TYPE" ; wd_frame_close("}") ends it. */
void ui_chunk(struct wd_out *o, const char *type);

/* Writes member `name` with the JSON in `text`; empty text is null. False: `text` is not JSON, and nothing was
 * written. The client ends the stream at a member __proto__, and at a constructor with a prototype: a value that
 * contains these is sent as a string that holds its JSON. */
bool ui_value(struct ui *u, struct wd_out *o, const char *name, struct upp_str text);

/* Writes member errorText: a JSON string's text, any other JSON as it is. */
void ui_error_text(struct ui *u, struct wd_out *o, struct upp_str json, const char *otherwise);

/* The same from a UPPError: its message. */
void ui_error_message(struct ui *u, struct wd_out *o, struct upp_str json, const char *otherwise);

void ui_file(struct ui *u, struct wd_out *o, const struct upp_media *media);
/* data-TYPE with the event's data; its source, targets and time go to the metadata, under the event's id. */
void ui_system(struct ui *u, struct wd_out *o, const struct wm_event *ev);
void ui_child(struct wd_out *o, const struct wm_event *ev); /* data-child */
