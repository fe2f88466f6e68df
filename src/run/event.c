/* run/event.c — system events: lines of the log that say what happened beside the talk. */
#include "json/read.h"
#include "json/write.h"
#include "run/internal.h"

enum { EVENT_BYTES = 1 << 20, TARGETS = 64, LATER = 64 };

static int write_event(struct wr_run *run, const struct weft_system_event *ev, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(EVENT_BYTES);
    struct wj_writer                      w;
    yyjson_val                           *data = NULL;
    int                                   r    = ev->data.p ? wj_read(&run->memory, ev->data, NULL, &data, err) : 0;
    if (r < 0)
        return upp_wrap(err, r, "data of the event '%.*s'", UPP_FMT(ev->type));
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_write_name(&w, UPP_STR("type"));
    wj_write_str(&w, ev->type);
    wj_write_name(&w, UPP_STR("data"));
    if (data)
        wj_write_value(&w, data);
    else {
        wj_write_open(&w, '{');
        wj_write_close(&w, '}');
    }
    wj_write_name(&w, UPP_STR("source"));
    wj_write_str(&w, ev->source.p ? ev->source : run->row.agent);
    wj_write_name(&w, UPP_STR("targets"));
    wj_write_open(&w, '[');
    for (size_t i = 0; i < ev->n_targets; i++)
        wj_write_str(&w, ev->targets[i]);
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    r = wj_writer_check(&w);
    if (r < 0)
        return upp_wrap(err, r, "event '%.*s'", UPP_FMT(ev->type));
    *ret = wb_arena_dup(&run->memory, wb_buf_str(&b));
    return wb_arena_check(&run->memory, err);
}

/* While a message is being said nothing may come before it: its id has its place. */
int wr_event_entry(struct wr_run *run, struct upp_str data, struct upp_err *err)
{
    struct wm_entry entry = {.kind     = WM_ENTRY_EVENT,
                             .origin   = WM_ORIGIN_RUN,
                             .audience = WM_AUDIENCE_ALL,
                             .step     = run->pub.state.step + 1,
                             .who      = run->row.agent,
                             .data     = data};
    entry.message.time_ms = wr_now(run);
    if (run->asking)
        return wb_vec_push(&run->later, entry, LATER) ? 0 : upp_fail(err, UPP_ELIMIT, "too many events at once");
    struct wm_entry *e = wr_draft_entry(run, err);
    if (!e)
        return -UPP_ENOMEM;
    *e = entry;
    return 0;
}

int wr_events_due(struct wr_run *run, struct upp_err *err)
{
    size_t n     = run->later.n;
    run->later.n = 0;
    for (size_t i = 0; i < n; i++) {
        struct wm_entry *e = wr_draft_entry(run, err);
        if (!e)
            return -UPP_ENOMEM;
        *e = run->later.p[i];
    }
    return 0;
}

int weft_run_event(struct weft_run *pub, const struct weft_system_event *ev, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    struct upp_str data;
    if (!ev->type.n || ev->n_targets > TARGETS)
        return upp_fail(err, UPP_EINVALID, "an event has a type and at most %d targets", TARGETS);
    int r = write_event(run, ev, &data, err);
    return r < 0 ? r : wr_event_entry(run, data, err);
}
