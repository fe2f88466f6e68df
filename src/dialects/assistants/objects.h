/* dialects/assistants/objects.h — the objects of the Assistants API, as the stream and the routes show them.
 *
 * All keys are there, null when empty: clients in other languages are strict about that. One writer for one object, so
 * that what a stream tells and what a poll finds are the same.
 */
#ifndef WD_ASSISTANTS_H
#define WD_ASSISTANTS_H

#include <yyjson.h>

#include "base/arena.h"
#include "json/write.h"
#include "model/run.h"

/* "run_" + 32 hex digits, as a JSON string; a UUID of zeros is null. */
void asst_id(struct wj_writer *w, const char *prefix, struct wb_uuid id);

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* "queued", "in_progress" ...: clients know these words and spin on any other. The calls it waits for count only while
 * it waits: client tools are asked for, approvals have no place in this API, and metadata.weft_pending names them. */
const char *asst_status(const struct wm_run *run, const struct wm_pending *pending, size_t n);
bool        asst_asks_client(const struct wm_pending *pending, size_t n);

/* `a` is used for what the run has stored as JSON. */
int asst_run_write(struct wj_writer *w, struct wb_arena *a, const struct wm_run *run, const struct wm_pending *pending,
                   size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

/* What a message shows: texts, and images that have an address. */
enum { ASST_SHOWN = 1 << UPP_PART_TEXT | 1 << UPP_PART_IMAGE };
bool asst_part_is_shown(uint8_t kind, const struct upp_media *media);

struct asst_message {
    struct wb_uuid            id, thread, run;
    struct upp_str            assistant;                               /* no text: it is the user's */
    bool                      said;                                    /* by the assistant */
    int64_t                   created_ms, completed_ms, incomplete_ms; /* 0: null */
    const char               *status;                                  /* "in_progress", "completed", "incomplete" */
    const char               *reason;                                  /* why it is incomplete; NULL: it is not */
    const struct upp_message *content;                                 /* NULL: none yet */
    yyjson_val               *metadata;                                /* NULL: none */
};
void asst_message_write(struct wj_writer *w, const struct asst_message *m);

/* One part of a content, without its index: the members of the object that is open. */
void asst_part_members(struct wj_writer *w, const struct upp_part *p);

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

struct asst_call {
    struct upp_str id, name, arguments;
    struct upp_str output; /* no text: none yet */
    bool           is_error;
    bool           json; /* the output is the JSON of what is no string */
};

struct asst_step {
    struct wb_uuid          id, thread, run, message; /* message: zeros where it is one of calls */
    struct upp_str          assistant;
    const char             *status; /* "in_progress", "completed", "cancelled", "failed", "expired" */
    const char             *error;  /* of one that failed; NULL: none */
    int64_t                 created_ms, ended_ms;
    const struct asst_call *calls;
    size_t                  n_calls;
    const struct upp_usage *usage; /* NULL: not known */
};
void asst_step_write(struct wj_writer *w, const struct asst_step *s);

/* A call as an item of a list; `output`: the member is there, as it is in steps and not in required_action. */
void asst_call_members(struct wj_writer *w, const struct asst_call *c, bool output);

/* A JSON object of a record; NULL: it has none. */
int asst_stored(struct wb_arena *a, struct upp_str json, yyjson_val **ret, struct upp_err *err) UPP_MUST_CHECK;

void asst_usage(struct wj_writer *w, const struct upp_usage *u); /* NULL: null */

#endif
