/* run/event.c — system events: something that happened on a thread; no model writes or receives them. */
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "run/event.h"

enum { EVENT_BYTES = 1 << 20, TARGETS = 64, GRANTS = 4096, HELD = 64, NOTED = 65536 };

static void write_targets(struct wj_writer *w, const struct weft_system_event *ev)
{
    if (!ev->n_targets)
        return;
    wj_put_open(w, "targets", '[');
    for (size_t i = 0; i < ev->n_targets; i++)
        wj_write_str(w, ev->targets[i]);
    wj_write_close(w, ']');
}

/* {"type":...,"data":...,"source":...,"targets":[...]} */
int wr_event_write(struct wr_run *run, const struct weft_system_event *ev, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(EVENT_BYTES);
    struct wj_writer                      w;
    yyjson_val                           *data = NULL;
    int                                   r    = ev->data.n ? wj_read(&run->memory, ev->data, NULL, &data, err) : 0;
    if (r < 0)
        return upp_wrap(err, r, "the data of the event");
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "type", ev->type);
    wj_write_name(&w, UPP_STR("data"));
    if (data)
        wj_write_value(&w, data);
    else
        wj_write_raw(&w, "{}", 2);
    w.comma = true;
    if (ev->source.n)
        wj_put_str(&w, "source", ev->source);
    write_targets(&w, ev);
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &run->memory, ret);
}

int wr_event_note(struct wr_run *run, struct upp_str json, struct upp_err *err)
{
    struct wr_noted event = {.json = json, .after = run->mine.n};
    if (wb_vec_push(&run->noted, event, NOTED))
        return 0;
    return upp_fail(err, run->noted.n >= NOTED ? UPP_ELIMIT : UPP_ENOMEM, "no room for an event");
}

/* While a message is streaming nothing may come before it: its id encodes its position. */
int wr_event_add(struct wr_run *run, struct upp_str json, struct upp_err *err)
{
    if (run->asking)
        return wb_vec_push(&run->held_events, json, HELD) ? 0 : upp_fail(err, UPP_ELIMIT, "too many events at once");
    struct wm_entry *e  = wr_draft_entry(run, err);
    struct wm_event *ev = e ? wr_draft_record(run, WM_SYSTEM, err) : NULL;
    if (!ev) {
        run->draft.entries.n -= e != NULL;
        return upp_fail(err, UPP_ENOMEM, "no memory for an event");
    }
    e->kind  = WM_ENTRY_EVENT;
    e->who   = run->def->name;
    e->data  = json;
    ev->part = (uint32_t)(run->draft.entries.n - 1);
    return run->branch ? wr_event_note(run, json, err) : 0;
}

int wr_events_due(struct wr_run *run, struct upp_err *err)
{
    int r = 0;
    if (!run->held_events.n)
        return 0;
    for (size_t i = 0; r >= 0 && i < run->held_events.n; i++)
        r = wr_event_add(run, run->held_events.p[i], err);
    run->held_events.n = 0;
    return r;
}

int weft_run_event(struct weft_run *pub, const struct weft_system_event *ev, struct upp_err *err)
{
    struct wr_run           *run  = wr_of(pub)->hook_branch ? wr_of(pub)->hook_branch : wr_of(pub);
    struct weft_system_event from = *ev;
    struct upp_str           json;
    if (!ev->type.n)
        return upp_fail(err, UPP_EINVALID, "a system event needs a type");
    if (ev->n_targets > TARGETS)
        return upp_fail(err, UPP_ELIMIT, "a system event has at most %d targets", TARGETS);
    if (!from.source.n)
        from.source = run->def->name;
    int r = wr_event_write(run, &from, &json, err);
    if (r >= 0)
        r = wr_event_add(run, json, err);
    return r < 0 ? r : wr_grant_note(run, json, run->pub.state.step + 1, err);
}

/* ---- Grants ---------------------------------------------------------------------------------------------- */

/* One grant per agent that the event names, or one for all. */
static int note_tool(struct wr_run *run, struct wr_grant g, yyjson_val *targets, struct upp_err *err)
{
    size_t n = targets ? yyjson_arr_size(targets) : 1;
    for (size_t i = 0; i < n; i++) {
        g.agent = targets ? wj_text_of(yyjson_arr_get(targets, i)) : (struct upp_str){0};
        if (targets && !g.agent.n)
            continue;
        if (!wb_vec_push(&run->grants, g, GRANTS))
            return upp_fail(err, run->grants.n >= GRANTS ? UPP_ELIMIT : UPP_ENOMEM, "no room for a grant");
    }
    return 0;
}

int wr_grant_note(struct wr_run *run, struct upp_str json, uint32_t step, struct upp_err *err)
{
    yyjson_val *v;
    int         r = wj_read(&run->memory, json, NULL, &v, err);
    if (r < 0)
        return r;
    struct upp_str type    = wj_text_of(yyjson_obj_get(v, "type"));
    yyjson_val    *targets = yyjson_obj_get(v, "targets");
    bool           given   = wb_str_eq(type, UPP_STR("tool.grant"));
    if (!given && !wb_str_eq(type, UPP_STR("tool.revoke")))
        return 0;
    yyjson_val *tools = yyjson_obj_get(yyjson_obj_get(v, "data"), "tools");
    for (size_t i = 0, n = yyjson_arr_size(tools); r >= 0 && i < n; i++) {
        struct wr_grant g = {.tool = wj_text_of(yyjson_arr_get(tools, i)), .step = step, .given = given};
        r                 = g.tool.n ? note_tool(run, g, targets, err) : 0;
    }
    return r;
}

bool wr_granted(const struct wr_run *run, const struct wr_tool *tool)
{
    bool offered = !tool->withheld;
    for (size_t i = 0; i < run->grants.n; i++) {
        const struct wr_grant *g = &run->grants.p[i];
        if (g->step <= run->pub.state.step && wb_str_eq(g->tool, tool->spec.name) &&
            (!g->agent.n || wb_str_eq(g->agent, run->def->name)))
            offered = g->given;
    }
    return offered;
}
