/* dialects/ui/stream.h — inside of the ui dialect's stream: its state, and who writes which chunks. */
#ifndef WD_UI_H
#define WD_UI_H

#include "dialects/core/calls.h"
#include "dialects/core/frame.h"
#include "dialects/core/open_message.h"

/* Where the stream is. A chunk is written only by a function that first goes to the stage it belongs to. */
enum ui_stage {
    UI_NEW,     /* nothing was sent */
    UI_STARTED, /* `start` was sent; no step is open */
    UI_STEP,    /* `start-step` was sent; blocks may be open */
    UI_PAUSED,  /* [DONE] was sent because the run waits: going on begins with `start` again */
    UI_ENDED,
};

/* Scaffolding: what was thought is shown as such, the rest is nobody's business. */
enum ui_aside { UI_SAID, UI_THOUGHT, UI_HIDDEN };

struct ui {
    uint8_t         target; /* 5, 6, 7 */
    uint8_t         stage;
    bool            children;
    bool            settled; /* the open step has what a reset must not take away */
    uint8_t         aside;   /* enum ui_aside: of the message that is said */
    bool            voided;  /* 5, 6: the open step has calls that were taken back */
    bool            told;    /* 5: the metadata name approvals that are waited for */
    uint8_t         stop;    /* of the last message: enum upp_stop */
    struct wb_uuid  turn;    /* the message's id; events of children do not know it */
    struct wd_open  open;
    struct wd_calls calls;
    struct wb_arena scratch;
    struct wb_buf   text; /* one value, for a moment */
};

/* States of a call. One with an outcome is forgotten. */
enum ui_call { UI_CALL_NEW, UI_CALL_STREAMING, UI_CALL_READY, UI_CALL_BAD };

/* ---- Stages (stream.c) ----------------------------------------------------------------------------------------------
 */

void ui_to_started(struct ui *u, const struct wm_event *ev, struct wd_out *o);
void ui_to_step(struct ui *u, const struct wm_event *ev, struct wd_out *o);
void ui_to_fresh_step(struct ui *u, const struct wm_event *ev, struct wd_out *o); /* one in which nothing is settled */
void ui_leave_step(struct ui *u, struct wd_out *o, const char *why);

void ui_simple(struct wd_out *o, struct upp_str chunk); /* all of a frame */

/* The engine broke the contract of events: no stream can show this. */
void ui_bug(struct wd_out *o, const struct wm_event *ev, const char *what, struct upp_str call);

/* ---- What a model says (stream_blocks.c)
 * ------------------------------------------------------------------------------- */

int  ui_message_open(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;
int  ui_part_open(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;
int  ui_delta(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;
int  ui_part_close(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;
void ui_message(struct ui *u, const struct wm_event *ev, struct wd_out *o);
void ui_attempt_void(struct ui *u, const struct wm_event *ev, struct wd_out *o);

/* Ends what is open of the message: blocks, and calls whose input was not finished. */
void ui_end_blocks(struct ui *u, struct wd_out *o, const char *why);

/* ---- Calls (stream_calls.c)
 * ------------------------------------------------------------------------------------------ */

/* The call with this id, or a new one; NULL: the writer has failed. */
struct wd_call *ui_call_add(struct ui *u, struct wd_out *o, struct upp_str id, struct upp_str name);

/* Its input will come in pieces; all of it is there; it cannot be used. */
void ui_call_streams(struct wd_call *c, struct wd_out *o);
void ui_call_ready(struct ui *u, struct wd_out *o, struct wd_call *c, struct upp_str arguments);
void ui_call_bad(struct ui *u, struct wd_out *o, struct wd_call *c, struct upp_str input, const char *why);

/* Who was asked about it has said; what came of it. Nothing more can come: no call is left without an outcome. */
void ui_call_answered(const struct ui *u, struct wd_out *o, struct wd_call *c, bool approved);
void ui_call_outcome(struct ui *u, const struct wm_event *ev, struct wd_out *o);
void ui_calls_fail(struct ui *u, struct wd_out *o, const char *why);

/* ---- Chunks that are not about order (stream_chunks.c)
 * ---------------------------------------------------------------- */

/* {"type":"TYPE" ; wd_frame_close("}") ends it. */
void ui_chunk(struct wd_out *o, const char *type);

/* Member `name` with the JSON in `text`, as the client can read it; false when it is not JSON: nothing was written. No
 * text is null. The client ends the stream at a member __proto__, and at a constructor with a prototype: a value with
 * these is sent as a string that holds it. */
bool ui_value(struct ui *u, struct wd_out *o, const char *name, struct upp_str text);

/* Member errorText: a JSON string's text, any other JSON as it is. */
void ui_error_text(struct ui *u, struct wd_out *o, struct upp_str json, const char *otherwise);

/* The same from a UPPError: its message. */
void ui_error_message(struct ui *u, struct wd_out *o, struct upp_str json, const char *otherwise);

void ui_file(struct ui *u, struct wd_out *o, const struct upp_media *media);
/* data-TYPE with the event's data, and who and when in the metadata, under its id. */
void ui_system(struct ui *u, struct wd_out *o, const struct wm_event *ev);
void ui_child(struct wd_out *o, const struct wm_event *ev); /* data-child */

#endif
