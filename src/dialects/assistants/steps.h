/* dialects/assistants/steps.h — the steps of a run as objects, from its events.
 *
 * The stream encoder is the only author of steps: this lets it encode the run from its first event on and keeps the
 * last object of each step, so a list of steps has the ids and the bytes of the stream. Only a page of them is in
 * memory, however long the run is.
 */
#pragma once

#include "base/vec.h"
#include "dialects/assistants/stream.h"

/* Which steps are wanted. A cursor of zeros: none. */
struct asst_steps_page {
    struct wb_uuid only;          /* this one alone; the rest does not matter then */
    struct wb_uuid after, before; /* exclusive, in the order in which the run made them */
    bool newest;                  /* the newest `limit` of them, not the oldest */
    size_t limit;
};

struct asst_kept_step {
    struct wb_uuid id;
    struct wb_buf json;
};

struct asst_steps {
    struct asst_steps_page want;
    struct asst_stream stream;
    struct wd_frames frames;
    struct wb_uuid last; /* the newest step that was seen, wanted or not */
    bool has_after, has_before;
    WB_VEC(struct asst_kept_step)
    list; /* in the order in which they were made; one more than the limit if there are
             more */
};

/* opts as for wd_stream_assistants; its texts must outlive this. */
int asst_steps_begin(struct asst_steps *s, const struct asst_steps_page *want, const struct wd_stream_opts *opts,
                     struct upp_err *err) UPP_MUST_CHECK;
void asst_steps_done(struct asst_steps *s); /* also after a failure */

/* The run's events, in their order. 1: the page is full, and more events change nothing. */
int asst_steps_event(struct asst_steps *s, const struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;

/* There are no more events yet: the open step is kept as it is now. -UPP_EINVALID: a cursor names no step. */
int asst_steps_end(struct asst_steps *s, struct upp_err *err) UPP_MUST_CHECK;
