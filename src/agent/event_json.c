/* agent/event_json.c — AgentStreamEvents as JSON, as UAP 12.2 has them and the dialect `uap` writes them. */
#include <weft/agent.h>

#include "base/arena.h"
#include "base/hooks.h"
#include "json/read.h"
#include "json/write.h"
#include "model/upp_json.h"

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
    struct wb_arena  scratch;
};

static void put_str(struct out *o, const char *name, struct upp_str s)
{
    wj_put_str_or_empty(&o->w, name, s);
}

static void put_u64(struct out *o, const char *name, uint64_t v)
{
    wj_put_u64(&o->w, name, v);
}

static void put_bool(struct out *o, const char *name, bool v)
{
    wj_put_bool(&o->w, name, v);
}

static void put_usage(struct out *o, const struct weft_event *ev)
{
    wj_write_name(&o->w, UPP_STR("usage"));
    wm_usage_write(&o->w, &ev->usage);
}

/* A text that should be JSON, token for token; false: it is none, and nothing was written. */
static bool put_json(struct out *o, struct upp_str text)
{
    yyjson_val *v;
    wb_arena_reset(&o->scratch);
    if (wj_read(&o->scratch, text, NULL, &v, NULL) < 0)
        return false;
    wj_write_value(&o->w, v);
    return true;
}

static void put_result(struct out *o, struct upp_str text)
{
    wj_write_name(&o->w, UPP_STR("result"));
    if (!text.p)
        wj_write_null(&o->w);
    else if (!put_json(o, text))
        wj_write_str(&o->w, text);
}

static void put_call(struct out *o, const struct upp_part *p)
{
    wj_write_open(&o->w, '{');
    put_str(o, "toolCallId", p->id);
    put_str(o, "toolName", p->name);
    wj_write_name(&o->w, UPP_STR("arguments"));
    if (!p->text.n)
        wj_write_raw(&o->w, "{}", 2);
    else if (!put_json(o, p->text)) { /* UPP wants an object; the text is kept beside it */
        wj_write_raw(&o->w, "{}", 2);
        put_str(o, "argumentsJson", p->text);
    }
    wj_write_close(&o->w, '}');
}

static void put_calls(struct out *o, const struct upp_message *m)
{
    wj_put_open(&o->w, "toolCalls", '[');
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CALLS));)
        if (!p->cut)
            put_call(o, p);
    wj_write_close(&o->w, ']');
}

static void put_results(struct out *o, const struct upp_message *m)
{
    wj_put_open(&o->w, "results", '[');
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_RESULTS));) {
        wj_write_open(&o->w, '{');
        put_str(o, "toolCallId", p->id);
        put_result(o, p->text);
        put_bool(o, "isError", p->is_error);
        wj_write_close(&o->w, '}');
    }
    wj_write_close(&o->w, ']');
}

/* Of a system event. */
static void put_parties(struct out *o, const struct weft_event *ev)
{
    if (ev->from.n)
        put_str(o, "sourceAgent", ev->from);
    if (!ev->to.n)
        return;
    wj_write_name(&o->w, UPP_STR("targetAgents"));
    if (!put_json(o, ev->to))
        wj_write_raw(&o->w, "[]", 2);
}

static void put_data(struct out *o, const struct weft_event *ev)
{
    switch (ev->type) {
    case WEFT_STEP_START:
        put_u64(o, "stepNumber", ev->step);
        put_str(o, "stepId", ev->id);
        break;
    case WEFT_STEP_END:
        put_u64(o, "stepNumber", ev->step);
        put_usage(o, ev);
        break;
    case WEFT_REASONING:
        put_str(o, "text", ev->text);
        break;
    case WEFT_ACTION:
        put_calls(o, ev->message);
        break;
    case WEFT_OBSERVATION:
        put_results(o, ev->message);
        break;
    case WEFT_CHECKPOINT:
        put_str(o, "checkpointId", ev->id);
        break;
    case WEFT_ATTEMPT_VOID:
        wj_put_num(&o->w, "last", ev->text);
        break;
    case WEFT_SYSTEM_EVENT:
        put_str(o, "eventType", ev->name);
        wj_write_name(&o->w, UPP_STR("eventData"));
        if (!ev->text.n || !put_json(o, ev->text))
            wj_write_raw(&o->w, "{}", 2);
        put_parties(o, ev);
        break;
    case WEFT_SUBAGENT_START:
        put_str(o, "prompt", ev->text);
        break;
    case WEFT_SUBAGENT_END:
        put_bool(o, "success", !ev->is_error);
        put_str(o, ev->is_error ? "error" : "result", ev->text);
        put_usage(o, ev);
        break;
    default:
        break;
    }
}

/* Whose event it is, where it is not the agent's own. */
static void put_child(struct out *o, const struct weft_event *ev)
{
    put_str(o, "runId", ev->run_id);
    put_u64(o, "depth", ev->depth);
    if (ev->parent_run_id.n) {
        put_str(o, "parentAgentId", ev->parent_agent_id);
        put_str(o, "parentTurnId", ev->parent_run_id);
    }
}

static void put_uap(struct out *o, const struct weft_event *ev)
{
    wj_put_open(&o->w, "uap", '{');
    put_str(o, "type", wb_cstr(weft_event_name(ev->type)));
    put_u64(o, "step", ev->step);
    put_str(o, "agentId", ev->agent_id);
    wj_put_open(&o->w, "data", '{');
    if (ev->depth)
        put_child(o, ev);
    struct upp_str planned = ev->type == WEFT_SYSTEM_EVENT ? ev->id : ev->name;
    if (planned.n)
        put_str(o, "planStepId", planned);
    put_data(o, ev);
    wj_write_close(&o->w, '}');
    wj_write_close(&o->w, '}');
}

static int put_upp(struct out *o, const struct weft_event *ev, struct upp_err *err)
{
    struct upp_str json;
    int            r = upp_event_to_json(&ev->upp, &json, err);
    if (r < 0)
        return r;
    if (ev->depth) {
        put_str(o, "agentId", ev->agent_id);
        put_child(o, ev);
    }
    wj_put_raw(&o->w, "upp", json.p, json.n);
    upp_text_free(json);
    return 0;
}

int weft_event_to_json(const struct weft_event *ev, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(EVENT_BYTES);
    struct out                            o = {.scratch = WB_ARENA(SCRATCH_BYTES)};
    int                                   r = 0;
    wj_writer_init(&o.w, &b, err);
    wj_write_open(&o.w, '{');
    put_str(&o, "source", ev->source == WEFT_SOURCE_UPP ? UPP_STR("upp") : UPP_STR("uap"));
    if (ev->source == WEFT_SOURCE_UPP)
        r = put_upp(&o, ev, err);
    else
        put_uap(&o, ev);
    wj_write_close(&o.w, '}');
    wb_arena_done(&o.scratch);
    if (r >= 0)
        r = wj_writer_check(&o.w);
    wb_buf_addc(&b, 0);
    if (r >= 0)
        r = wb_buf_check(&b, err);
    if (r < 0)
        return r;
    *ret = wb_str(b.p, b.n - 1);
    b    = (struct wb_buf)WB_BUF(EVENT_BYTES);
    return 0;
}
