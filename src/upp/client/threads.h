/* upp/client/threads.h — the inside of threads, for those who have many of them: trees and sessions. */
#ifndef UPP_THREADS_H
#define UPP_THREADS_H

#include <upp/thread.h>

#include "base/iso8601.h"
#include "model/upp_json.h"

struct upp__times {
    char created[WB_TIME_TEXT], updated[WB_TIME_TEXT];
};

WB_EXPORT_BEGIN

/* A thread of what was read. Nothing is copied: all of `from` must live as long as the thread does. What is added later
 * is the thread's own. Its id and messages are kept as they are; a time without text is that of now. */
int upp__thread_lend(const struct wm_thread_json *from, struct upp_thread **ret, struct upp_err *err) UPP_MUST_CHECK;

/* What it has, as it is written: good until it is changed. Times that were not read are written into the room. */
void upp__thread_view(const struct upp_thread *t, struct upp__times *room, struct wm_thread_json *ret);

WB_EXPORT_END

#endif
