/* dialects/ui.h — inside of the ui dialect's stream: its state, and the chunks that are not about order. */
#ifndef WD_UI_H
#define WD_UI_H

#include "dialects/calls.h"
#include "dialects/frame.h"
#include "dialects/open.h"

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
