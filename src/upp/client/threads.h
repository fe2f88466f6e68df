/* upp/client/threads.h — internals of threads, for their owners: trees and sessions. */
#pragma once

#include <upp/thread.h>

#include "base/iso8601.h"
#include "model/upp_json.h"

struct upp__times {
    char created[WB_TIME_TEXT], updated[WB_TIME_TEXT];
};

WB_EXPORT_BEGIN

/* A thread from parsed JSON, without copying: all of `from` must outlive the thread. What is added later is the
 * thread's own. Its id and messages stay unchanged; a time without text becomes the current time. */
int upp__thread_lend(const struct wm_thread_json *from, struct upp_thread **ret, struct upp_err *err) UPP_MUST_CHECK;

/* The contents for writing, valid until the thread changes. Times without text are formatted into the room. */
void upp__thread_view(const struct upp_thread *t, struct upp__times *room, struct wm_thread_json *ret);

WB_EXPORT_END
