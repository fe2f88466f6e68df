/* server/doors/process/response.c — responses of runs that have begun: the object, and where it begins in the run's
 * events. See process.h. */
#include "server/doors/process/process.h"

#include "base/str.h"
#include "server/http/core.h"

/* A run has one response more than it had waits. If it waits now, its last response ends with that wait. */
int sv_process_from(struct sv_exchange *x, struct wb_uuid run, struct wr_from *ret, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *reader = NULL;
    struct wr_from before = {0}, last = {0};
    struct wm_event ev;
    bool waits = false;
    int r = wr_reader_open(x->core->engine, &x->owner, run, &before, &reader, err);
    while (r >= 0 && (r = wr_reader_try(reader, true, &ev, NULL, NULL, err)) > 0) {
        waits = ev.kind == WM_RUN && ev.run.status == WM_WAITING && ev.from->depth == 0;
        if (waits) {
            before = last;
            last = (struct wr_from){.epoch = ev.from->epoch, .number = ev.number};
        }
    }
    if (r < 0 && r != -UPP_EBUSY)
        return r;
    *ret = waits ? before : last;
    return 0;
}

static int keep_response(void *arg, const struct wm_event *ev, const char *name, struct upp_str frame,
                         struct upp_err *err)
{
    struct wb_buf *out = arg;
    (void)ev, (void)name;
    if (wb_str_find(wb_str_sub(frame, 0, 64), UPP_STR("\"object\":\"response\""), 0) == SIZE_MAX)
        return 0;
    wb_buf_clear(out);
    wb_buf_add(out, frame);
    return wb_buf_check(out, err);
}

int sv_process_result(struct sv_exchange *x, struct wb_uuid run, bool whole, struct wb_buf *out, struct upp_err *err)
{
    struct sv_run_stream s = {.ops = &wd_stream_agentapi, .opts.size = sizeof s.opts, .to_wait = true};
    unsigned tries = 0;
    int r;
    do
        r = sv_run_encode(x, run, &s, whole, keep_response, out, err);
    while (sv_try_again(x, r, err, &tries));
    return r;
}
