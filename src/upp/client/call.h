/* upp/client/call.h — internals of calls: of a tool (its result value, its arguments) and of a model (its memory). */
#pragma once

#include <upp/model.h>
#include <upp/thread.h>
#include <upp/tool.h>
#include <upp/turn.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/export.h"
#include "json/value.h"

enum { UPP__RESULT_BYTES = 16 << 20 };

/* Values are written into `spare`, then the two are swapped: the input may point into `json`. */
struct upp_value {
    struct wb_buf json, spare;
    size_t max; /* a longer text is truncated, with a mark; 0: UPP__RESULT_BYTES, and a longer one is refused */
    bool set, is_error;
};
#define UPP__VALUE                                                                                                     \
    {                                                                                                                  \
        .json = WB_BUF(6u * UPP__RESULT_BYTES + 64), .spare = WB_BUF(6u * UPP__RESULT_BYTES + 64)                      \
    }

/* A call and its parsed arguments. */
struct upp__call {
    struct upp_call pub;
    struct wb_arena scratch;
    yyjson_val *args;
    struct upp_str read; /* the text that args was read from */
};

/* The memory of a step, reused by callers that take many in sequence. */
struct upp__room {
    void *p;
    size_t size;
};
enum { UPP__ROOM_BYTES = 64 << 10 }; /* a larger one is freed */

WB_EXPORT_BEGIN

/* upp_step_open in this room, if it is free and large enough. The room outlives the step. */
int upp__step_open(struct upp__room *room, const struct upp_model *m, const struct upp_request *req,
                   const struct upp_wait *wait, struct upp_step **ret, struct upp_err *err) UPP_MUST_CHECK;
void upp__room_done(struct upp__room *room);

/* After a failure, before the step is closed: what was held back of parts that are open, because it might have been the
 * beginning of a secret. 1: *ret is a delta. 0: there is no more. */
int upp__step_rest(struct upp_step *s, struct upp_step_event *ret);

/* Tells the server that nobody reads on (upp_model_ops.stop). 0 also if the model has no such function. */
int upp__step_stop(struct upp_step *s, struct upp_err *err) UPP_MUST_CHECK;

void upp__value_done(struct upp_value *v);

/* Parses the arguments, once, into `args`: an object. */
int upp__call_read(struct upp__call *c, struct upp_err *err) UPP_MUST_CHECK;

/* Parses the arguments and makes them canonical: one JSON object in which no object has a member twice, without blanks,
 * with escapes only where JSON requires them, numbers as they were written; an empty text is {}. Rules, approvals and
 * the tool see this text: what two readers could understand in two ways does not get there. A new text is in the arena.
 * -UPP_EINVALID: they are not that; err is for the model. */
int upp__call_take(struct upp__call *c, struct wb_arena *a, struct upp_err *err) UPP_MUST_CHECK;

/* Is the text of the arguments a JSON object? An empty text counts as {}. */
bool upp__arguments_ok(struct upp_str text);

/* Parameters as JSON Schema: JSON is used as it is, the short form is converted. */
int upp__parameters(struct wb_arena *a, struct upp_str text, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Makes a turn from `of` without copying: takes over the arena that holds all of it. `list` are its messages, which get
 * an id and a time if they have none; texts of the assistant are followed by a NUL. On failure the caller keeps the
 * arena. */
int upp__turn_take(struct wb_arena *memory, struct upp_message *list, const struct upp_turn *of, struct upp_turn **ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Locks a thread for one answer at a time. -UPP_EBUSY: it is being answered. Callable from any OS thread. */
int upp__thread_take(struct upp_thread *t, struct upp_err *err) UPP_MUST_CHECK;
void upp__thread_leave(struct upp_thread *t);

WB_EXPORT_END
