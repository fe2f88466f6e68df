/* run/event.c — system events: something that happened on a thread; no model writes or receives them. */
#include "base/vec_add.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "run/event.h"

enum { EVENT_BYTES = 1 << 20, TARGETS = 64, GRANTS = 4096, CARRIED_BYTES = 64 << 10, HELD = 64, NOTED = 65536 };
enum { ROW_EVENT_BYTES = 16 << 20 }; /* of a row, which has a message too, and at most WM_ROW_MAX */

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
    struct wj_writer w;
    yyjson_val *data = NULL;
    int r = ev->data.n ? wj_read(&run->memory, ev->data, NULL, &data, err) : 0;
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
    return wb_vec_add(&run->noted, event, (size_t)NOTED, "system events in one run", err);
}

/* Of the events that the next row will have. */
static size_t row_bytes(const struct wr_run *run)
{
    size_t n = 0;
    for (size_t i = 0; i < run->held_events.n; i++)
        n += run->held_events.p[i].n;
    for (size_t i = 0; i < run->draft.entries.n; i++)
        n += run->draft.entries.p[i].data.n;
    return n;
}

bool wr_event_fits(const struct wr_run *run, struct upp_str json)
{
    return row_bytes(run) + json.n <= ROW_EVENT_BYTES;
}

static int draft_event(struct wr_run *run, struct upp_str json, struct upp_err *err)
{
    struct wm_entry *e = wr_draft_entry(run, err);
    struct wm_event *ev = e ? wr_draft_record(run, WM_SYSTEM, err) : NULL;
    if (!ev) {
        int r = wr_draft_failed(run, err);
        run->draft.entries.n -= e != NULL;
        return r;
    }
    e->kind = WM_ENTRY_EVENT;
    e->who = run->def->name;
    e->data = json;
    ev->system.index = (uint32_t)(run->draft.entries.n - 1);
    return run->branch ? wr_event_note(run, json, err) : 0;
}

/* While a message is streaming nothing may come before it: its id encodes its position. */
int wr_event_add(struct wr_run *run, struct upp_str json, struct upp_err *err)
{
    if (!wr_event_fits(run, json))
        return upp_fail(err, UPP_ELIMIT, "more than %d MiB of system events before the next commit of the run",
                        ROW_EVENT_BYTES >> 20);
    if (run->asking)
        return wb_vec_add(&run->held_events, json, (size_t)HELD, "system events while a message streams", err);
    return draft_event(run, json, err);
}

int wr_events_due(struct wr_run *run, struct upp_err *err)
{
    int r = 0;
    if (!run->held_events.n)
        return 0;
    for (size_t i = 0; r >= 0 && i < run->held_events.n; i++)
        r = draft_event(run, run->held_events.p[i], err);
    run->held_events.n = 0;
    return r;
}

int weft_run_event(struct weft_run *pub, const struct weft_system_event *ev, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub)->hook_branch ? wr_of(pub)->hook_branch : wr_of(pub);
    struct weft_system_event from = *ev;
    struct upp_str json;
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

/* One grant per agent that the event names, or one for all. */
static int note_tool(struct wr_run *run, struct wr_grant g, yyjson_val *targets, struct upp_err *err)
{
    size_t n = targets ? yyjson_arr_size(targets) : 1;
    for (size_t i = 0; i < n; i++) {
        g.agent = targets ? wj_text_of(yyjson_arr_get(targets, i)) : (struct upp_str){0};
        if (targets && !g.agent.n)
            continue;
        int r = wb_vec_add(&run->grants, g, (size_t)GRANTS, "grants in one run", err);
        if (r < 0)
            return r;
    }
    return 0;
}

int wr_grant_note(struct wr_run *run, struct upp_str json, uint32_t step, struct upp_err *err)
{
    yyjson_val *v;
    int r = wj_read(&run->memory, json, NULL, &v, err);
    if (r < 0)
        return r;
    struct upp_str type = wj_text_of(yyjson_obj_get(v, "type"));
    yyjson_val *targets = yyjson_obj_get(v, "targets");
    bool given = wb_str_eq(type, UPP_STR("tool.grant"));
    if (!given && !wb_str_eq(type, UPP_STR("tool.revoke")))
        return 0;
    yyjson_val *tools = yyjson_obj_get(yyjson_obj_get(v, "data"), "tools");
    for (size_t i = 0, n = yyjson_arr_size(tools); r >= 0 && i < n; i++) {
        struct wr_grant g = {.tool = wj_text_of(yyjson_arr_get(tools, i)), .step = step, .given = given};
        r = g.tool.n ? note_tool(run, g, targets, err) : 0;
    }
    return r;
}

/* Does a later one say the same, or the contrary, of its tool and agent? */
static bool is_replaced(const struct wr_run *run, size_t i, size_t n)
{
    const struct wr_grant *g = &run->grants.p[i];
    for (size_t k = i + 1; k < n; k++) {
        const struct wr_grant *later = &run->grants.p[k];
        if (wb_str_eq(later->tool, g->tool) && (!later->agent.n || wb_str_eq(later->agent, g->agent)))
            return true;
    }
    return false;
}

int wr_grants_write(struct wr_run *run, size_t n, uint32_t before, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(CARRIED_BYTES);
    struct upp_err why = {0};
    struct wj_writer w;
    wj_writer_init(&w, &b, &why);
    wj_write_open(&w, '[');
    wj_write_u64(&w, before);
    for (size_t i = 0; i < n; i++) {
        const struct wr_grant *g = &run->grants.p[i];
        if (is_replaced(run, i, n))
            continue;
        wj_write_open(&w, '[');
        wj_write_str(&w, g->tool);
        wj_write_str(&w, g->agent.n ? g->agent : UPP_STR(""));
        wj_write_u64(&w, g->given);
        wj_write_close(&w, ']');
    }
    wj_write_close(&w, ']');
    *ret = (struct upp_str){0};
    int r = wj_writer_text(&w, &run->memory, ret);
    if (r == -UPP_ELIMIT)
        return 0;
    if (r < 0 && err)
        *err = why;
    return r;
}

bool wr_grants_before(struct wr_run *run, struct upp_str json, uint32_t *ret)
{
    yyjson_val *v;
    uint64_t n;
    if (wj_read(&run->memory, json, NULL, &v, NULL) < 0 || !yyjson_is_arr(v) || !yyjson_is_raw(yyjson_arr_get(v, 0)) ||
        !wb_str_u64(wj_text(yyjson_arr_get(v, 0)), &n) || n > UINT32_MAX)
        return false;
    *ret = (uint32_t)n;
    return true;
}

int wr_grants_read(struct wr_run *run, struct upp_str json, struct upp_err *err)
{
    yyjson_val *v;
    int r = wj_read(&run->memory, json, NULL, &v, err);
    for (size_t i = 1, n = r < 0 ? 0 : yyjson_arr_size(v); i < n; i++) {
        yyjson_val *item = yyjson_arr_get(v, i), *given = yyjson_arr_get(item, 2);
        struct wr_grant g = {.tool = wj_text_of(yyjson_arr_get(item, 0)), .agent = wj_text_of(yyjson_arr_get(item, 1))};
        if (!g.tool.n || !yyjson_is_raw(given))
            return upp_fail(err, UPP_ESTORE, "the state of a run has no fitting '" WM_STATE_GRANTS "'");
        g.given = wb_str_eq(wj_text(given), UPP_STR("1"));
        if (!wb_vec_push(&run->grants, g, GRANTS))
            return upp_fail(err, run->grants.n >= GRANTS ? UPP_ELIMIT : UPP_ENOMEM, "no room for a grant");
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
