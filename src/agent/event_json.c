/* agent/event_json.c — AgentStreamEvents as JSON (UAP 12.2), as the dialect `uap` writes them. */
#include <weft/agent.h>

#include "base/hooks.h"
#include "model/uap_json.h"
#include "model/upp_json.h"
#include "upp/client/talk.h"

enum { EVENT_BYTES = 256 << 20, SCRATCH_BYTES = 512 << 20 };

static const char *const names[] = {
    [WEFT_STEP_START] = "step_start",         [WEFT_STEP_END] = "step_end",
    [WEFT_REASONING] = "reasoning",           [WEFT_ACTION] = "action",
    [WEFT_OBSERVATION] = "observation",       [WEFT_CHECKPOINT] = "checkpoint",
    [WEFT_SYSTEM_EVENT] = "system_event",     [WEFT_ATTEMPT_VOID] = "attempt_void",
    [WEFT_SUBAGENT_START] = "subagent_start", [WEFT_SUBAGENT_END] = "subagent_end",
};

const char *weft_event_name(uint8_t type)
{
    return type < WB_LEN(names) && names[type] ? names[type] : "unknown";
}

struct out {
    struct wj_writer w;
    struct wb_arena scratch;
};

static void put_calls(struct out *o, const struct upp_message *m)
{
    wj_put_open(&o->w, "toolCalls", '[');
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CALLS));)
        if (!p->cut) {
            wj_write_open(&o->w, '{');
            (void)wm_uap_call(&o->w, &o->scratch, NULL, p->id, p->name, p->text);
            wj_write_close(&o->w, '}');
        }
    wj_write_close(&o->w, ']');
}

/* The source and the targets of a system event. */
static void put_parties(struct out *o, const struct weft_event *ev)
{
    if (ev->from.n)
        wj_put_str_or_empty(&o->w, "sourceAgent", ev->from);
    if (!ev->to.n)
        return;
    wj_write_name(&o->w, UPP_STR("targetAgents"));
    if (!wm_json_write(&o->w, &o->scratch, NULL, ev->to))
        wj_write_raw(&o->w, "[]", 2);
}

static void put_data(struct out *o, const struct weft_event *ev)
{
    switch (ev->type) {
    case WEFT_STEP_START:
        wj_put_u64(&o->w, "stepNumber", ev->step);
        wj_put_str_or_empty(&o->w, "stepId", ev->id);
        break;
    case WEFT_STEP_END:
        wj_put_u64(&o->w, "stepNumber", ev->step);
        wm_usage_put(&o->w, &ev->usage);
        break;
    case WEFT_REASONING:
        wj_put_str_or_empty(&o->w, "text", ev->text);
        break;
    case WEFT_ACTION:
        put_calls(o, ev->message);
        break;
    case WEFT_OBSERVATION:
        wm_uap_results(&o->w, &o->scratch, NULL, ev->message);
        break;
    case WEFT_CHECKPOINT:
        wj_put_str_or_empty(&o->w, "checkpointId", ev->id);
        break;
    case WEFT_ATTEMPT_VOID:
        wj_put_num(&o->w, "last", ev->text);
        break;
    case WEFT_SYSTEM_EVENT:
        wj_put_str_or_empty(&o->w, "eventType", ev->name);
        wj_write_name(&o->w, UPP_STR("eventData"));
        if (!ev->text.n || !wm_json_write(&o->w, &o->scratch, NULL, ev->text))
            wj_write_raw(&o->w, "{}", 2);
        put_parties(o, ev);
        break;
    case WEFT_SUBAGENT_START:
        wj_put_str_or_empty(&o->w, "prompt", ev->text);
        break;
    case WEFT_SUBAGENT_END:
        wj_put_bool(&o->w, "success", !ev->is_error);
        wj_put_str_or_empty(&o->w, ev->is_error ? "error" : "result", ev->text);
        wm_usage_put(&o->w, &ev->usage);
        break;
    default:
        break;
    }
}

/* The run of an event of a sub-agent. */
static void put_child(struct out *o, const struct weft_event *ev)
{
    wj_put_str_or_empty(&o->w, "runId", ev->run_id);
    wj_put_u64(&o->w, "depth", ev->depth);
    if (ev->parent_run_id.n) {
        wj_put_str_or_empty(&o->w, "parentAgentId", ev->parent_agent_id);
        wj_put_str_or_empty(&o->w, "parentTurnId", ev->parent_run_id);
    }
}

static void put_uap(struct out *o, const struct weft_event *ev)
{
    wj_put_open(&o->w, "uap", '{');
    wj_put_str_or_empty(&o->w, "type", wb_cstr(weft_event_name(ev->type)));
    wj_put_u64(&o->w, "step", ev->step);
    wj_put_str_or_empty(&o->w, "agentId", ev->agent_id);
    wj_put_open(&o->w, "data", '{');
    if (ev->depth)
        put_child(o, ev);
    struct upp_str planned = ev->type == WEFT_SYSTEM_EVENT ? ev->id : ev->name;
    if (planned.n)
        wj_put_str_or_empty(&o->w, "planStepId", planned);
    put_data(o, ev);
    wj_write_close(&o->w, '}');
    wj_write_close(&o->w, '}');
}

static void put_upp(struct out *o, const struct weft_event *ev)
{
    if (ev->depth) {
        wj_put_str_or_empty(&o->w, "agentId", ev->agent_id);
        put_child(o, ev);
    }
    wj_write_name(&o->w, UPP_STR("upp"));
    upp__event_write(&o->w, &ev->upp);
}

int weft_event_to_json(const struct weft_event *ev, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(EVENT_BYTES);
    struct out o = {.scratch = WB_ARENA(SCRATCH_BYTES)};
    wj_writer_init(&o.w, &b, err);
    wj_write_open(&o.w, '{');
    wj_put_str(&o.w, "source", ev->source == WEFT_SOURCE_UPP ? UPP_STR("upp") : UPP_STR("uap"));
    (ev->source == WEFT_SOURCE_UPP ? put_upp : put_uap)(&o, ev);
    wj_write_close(&o.w, '}');
    wb_arena_done(&o.scratch);
    int r = wj_writer_check(&o.w);
    return r < 0 ? r : upp__text_take(&b, ret, err);
}
