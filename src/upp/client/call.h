/* upp/client/call.h — one call from the inside, of a tool (the value it gives back, the arguments it gets) or of a
 * model (its memory). */
#ifndef UPP_CALL_H
#define UPP_CALL_H

#include <upp/model.h>
#include <upp/thread.h>
#include <upp/tool.h>
#include <upp/turn.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/export.h"
#include "json/value.h"

enum { UPP__RESULT_BYTES = 16 << 20 };

/* Written into `spare`, then the two change places: what is written may come from `json`. */
struct upp_value {
    struct wb_buf json, spare;
    size_t        max; /* a longer text is truncated, with a mark; 0: UPP__RESULT_BYTES, and a longer one is refused */
    bool          set, is_error;
};
#define UPP__VALUE                                                                                                     \
    {                                                                                                                  \
        .json = WB_BUF(6u * UPP__RESULT_BYTES + 64), .spare = WB_BUF(6u * UPP__RESULT_BYTES + 64)                      \
    }

/* A call with what its arguments were read into. */
struct upp__call {
    struct upp_call pub;
    struct wb_arena scratch;
    yyjson_val     *args;
    struct upp_str  read; /* what args came from */
};

/* The memory of a step, reused by callers that take many in sequence. */
struct upp__room {
    void  *p;
    size_t size;
};
enum { UPP__ROOM_BYTES = 64 << 10 }; /* a larger one is freed */

WB_EXPORT_BEGIN

/* upp_step_open in this room, where it is free and large enough. The room outlives the step. */
int  upp__step_open(struct upp__room *room, const struct upp_model *m, const struct upp_request *req,
                    const struct upp_wait *wait, struct upp_step **ret, struct upp_err *err) UPP_MUST_CHECK;
void upp__room_done(struct upp__room *room);

void upp__value_done(struct upp_value *v);

/* Reads the arguments, once, into `args`: an object. */
int upp__call_read(struct upp__call *c, struct upp_err *err) UPP_MUST_CHECK;

/* Is the text of the arguments a JSON object? An empty text is taken as one without members. */
bool upp__arguments_ok(struct upp_str text);

/* Parameters as JSON Schema: JSON as it is, the short form made into it. */
int upp__parameters(struct wb_arena *a, struct upp_str text, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* A turn of this, which takes the arena that all of it lies in: nothing is copied. `list` are its messages, which get
 * ids and times where they have none; the texts of what the assistant said are followed by a NUL. Where it fails the
 * arena stays the caller's. */
int upp__turn_take(struct wb_arena *memory, struct upp_message *list, const struct upp_turn *of, struct upp_turn **ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* A thread is answered by one at a time. -UPP_EBUSY: it is being answered. From any thread of the process. */
int  upp__thread_take(struct upp_thread *t, struct upp_err *err) UPP_MUST_CHECK;
void upp__thread_leave(struct upp_thread *t);

WB_EXPORT_END

#endif
