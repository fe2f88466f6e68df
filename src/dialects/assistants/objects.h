/* dialects/assistants/objects.h — the objects of the Assistants API, as the stream and the routes send them.
 *
 * All keys are present, null if empty: clients in typed languages are strict about that. Each object has one writer, so
 * a stream and a poll return the same.
 */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "json/write.h"
#include "model/entry.h"
#include "model/run.h"

/* "run_" + 32 hex digits, as a JSON string; a UUID of zeros is null. */
void asst_id(struct wj_writer *w, const char *prefix, struct wb_uuid id);
void asst_put_id(struct wj_writer *w, const char *key, const char *prefix, struct wb_uuid id); /* as a member */

/* A member with milliseconds as whole seconds; 0 is null. */
void asst_put_seconds(struct wj_writer *w, const char *key, int64_t ms);

/* "queued", "in_progress" ...: clients loop forever on an unknown status. `n` calls are pending while the run waits. */
const char *asst_status(const struct wm_run *run, size_t n);

/* `a` holds what is parsed of the run's stored JSON. */
int asst_run_write(struct wj_writer *w, struct wb_arena *a, const struct wm_run *run, const struct wm_pending *pending,
                   size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* The parts that a message contains: texts, and images with an address. */
enum { ASST_SHOWN = 1 << UPP_PART_TEXT | 1 << UPP_PART_IMAGE };
bool asst_part_is_shown(uint8_t kind, const struct upp_media *media);

/* Does the API return the entry: a message of user or assistant with content? */
bool asst_is_visible(const struct wm_entry *e);

/* Why a message that was cut short is incomplete, by the status in which its run has ended. */
const char *asst_why_incomplete(uint8_t status);

struct asst_message {
    struct wb_uuid id, thread, run;
    struct upp_str assistant;                        /* empty: null */
    bool from_assistant;                             /* role assistant */
    int64_t created_ms, completed_ms, incomplete_ms; /* 0: null */
    const char *status;                              /* "in_progress", "completed", "incomplete" */
    const char *reason;                              /* why it is incomplete; NULL: it is complete */
    const struct upp_message *content;               /* NULL: none yet */
    yyjson_val *metadata;                            /* NULL: none */
};
void asst_message_write(struct wj_writer *w, const struct asst_message *m);

/* Writes the members of one content part, without its index, into the open object. */
void asst_part_members(struct wj_writer *w, const struct upp_part *p);

struct asst_call {
    struct upp_str id, name, arguments;
    struct upp_str output; /* NULL `.p`: none yet */
    bool is_error;
    bool json;    /* the output is the JSON of a value that is not a string */
    bool unknown; /* the output only says that there is none */
};

struct asst_step {
    struct wb_uuid id, thread, run, message; /* message: zeros in a step of calls */
    struct upp_str assistant;
    const char *status; /* "in_progress", "completed", "cancelled", "failed", "expired" */
    const char *error;  /* of a failed step; NULL: none */
    int64_t created_ms, ended_ms;
    const struct asst_call *calls;
    size_t n_calls;
    const struct upp_usage *usage; /* NULL: unknown */
};
void asst_step_write(struct wj_writer *w, const struct asst_step *s);

/* Writes a call's members into the open object; `output`: with that member, as in steps but not in required_action. */
void asst_call_members(struct wj_writer *w, const struct asst_call *c, bool output);

/* "name" and "arguments" of a call, into the open object. */
void asst_function_members(struct wj_writer *w, struct upp_str name, struct upp_str arguments);

/* What a call waits for: "approval", or "tool": a result of the client's tool. */
const char *asst_pending_kind(const struct wm_pending *p);

/* Parses a stored JSON object; *ret NULL: none is stored. */
int asst_stored(struct wb_arena *a, struct upp_str json, yyjson_val **ret, struct upp_err *err) UPP_MUST_CHECK;
