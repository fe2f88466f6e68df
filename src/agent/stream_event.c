/* agent/stream_event.c — translates each event of the engine to an AgentStreamEvent, with the state of each run of
 * the tree. */
#include "agent/stream_event.h"

#include <inttypes.h>

#include "base/hooks.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/upp_json.h"

enum { CALLS_MAX = 4096, RUNS_MAX = 256, RUN_BYTES = 64 << 20, SCRATCH_BYTES = 512 << 20, PLAN_STEP_BYTES = 1 << 16 };

/* ---- States of runs ------------------------------------------------------------------------------------------ */

static void run_state_init(struct wa_run_state *v, struct wb_uuid run)
{
    *v = (struct wa_run_state){
        .run = run, .ids = WB_ARENA(RUN_BYTES), .memory = WB_ARENA(RUN_BYTES), .plan_step = WB_BUF(PLAN_STEP_BYTES)};
}

static void run_state_done(struct wa_run_state *v)
{
    wb_vec_done(&v->calls);
    wb_arena_done(&v->ids);
    wb_arena_done(&v->memory);
    wb_buf_done(&v->plan_step);
}

/* The state of a child run, created if it is new. */
static int child_state(struct wa_translator *t, struct wb_uuid run, struct wa_run_state **ret, struct upp_err *err)
{
    for (size_t i = 0; i < t->others.n; i++)
        if (wb_uuid_eq(t->others.p[i]->run, run)) {
            *ret = t->others.p[i];
            return 0;
        }
    if (t->others.n == RUNS_MAX)
        return upp_fail(err, UPP_ELIMIT, "more than %d agents speak at once", RUNS_MAX);
    struct wa_run_state *v = wb_alloc(sizeof *v);
    if (!v || !wb_vec_push(&t->others, v, RUNS_MAX)) {
        wb_free(v);
        return upp_fail(err, UPP_ENOMEM, "no memory for a stream");
    }
    run_state_init(v, run);
    *ret = v;
    return 0;
}

static void run_state_drop(struct wa_translator *t, struct wa_run_state *v)
{
    for (size_t i = 0; i < t->others.n; i++)
        if (t->others.p[i] == v) {
            run_state_done(v);
            wb_free(v);
            t->others.p[i] = t->others.p[--t->others.n];
            return;
        }
}

void wa_translator_init(struct wa_translator *t, const struct weft_stream_opts *opts, bool structured, uint8_t points)
{
    *t = (struct wa_translator){.only = opts->only,
                                .children = opts->children,
                                .structured = structured,
                                .points = points,
                                .scratch = WB_ARENA(SCRATCH_BYTES)};
    run_state_init(&t->root, WB_UUID_NIL);
}

void wa_translator_done(struct wa_translator *t)
{
    while (t->others.n)
        run_state_drop(t, t->others.p[0]);
    wb_vec_done(&t->others);
    run_state_done(&t->root);
    wb_arena_done(&t->scratch);
}

/* ---- Emitting ---------------------------------------------------------------------------------------------------- */

/* The translation of one engine event. */
struct translation {
    struct wa_translator *t;
    const struct wm_event *ev;
    struct weft_event *first; /* NULL: already used */
};

static void format_id(struct wb_uuid id, struct wb_uuid *last, char text[WB_UUID_TEXT + 1])
{
    if (text[0] && wb_uuid_eq(id, *last))
        return;
    *last = id;
    (void)wb_uuid_text(id, text);
}

/* Returns the next event to fill in; NULL: the program does not want it. */
static inline struct weft_event *emit(struct translation *s, uint8_t source, uint8_t type)
{
    struct wa_translator *t = s->t;
    if (t->only && t->only != source)
        return NULL;
    struct weft_event *e = s->first ? s->first : &t->more[t->n_more++];
    s->first = NULL;
    *e = (struct weft_event){.source = source,
                             .type = source == WEFT_SOURCE_UAP ? type : 0,
                             .depth = s->ev->from->depth,
                             .step = s->ev->step,
                             .agent_id = wb_str(t->agent_text, WB_UUID_TEXT),
                             .run_id = wb_str(t->run_text, WB_UUID_TEXT),
                             .upp.type = source == WEFT_SOURCE_UPP ? type : 0};
    if (WB_UNLIKELY(e->depth)) {
        e->parent_agent_id = wb_str(t->parent_agent_text, WB_UUID_TEXT);
        e->parent_run_id = wb_str(t->parent_run_text, WB_UUID_TEXT);
    }
    return e;
}

static struct upp_event *emit_upp(struct translation *s, uint8_t type, uint32_t index)
{
    struct weft_event *e = emit(s, WEFT_SOURCE_UPP, type);
    if (e)
        e->upp.index = index;
    return e ? &e->upp : NULL;
}

/* An event of a step; names the plan step, if it is one. */
static struct weft_event *emit_step(struct translation *s, const struct wa_run_state *v, uint8_t type)
{
    struct weft_event *e = emit(s, WEFT_SOURCE_UAP, type);
    if (e)
        e->name = wb_buf_str(&v->plan_step);
    return e;
}

static struct weft_event *emit_id(struct translation *s, const struct wa_run_state *v, uint8_t type, struct wb_uuid id)
{
    struct weft_event *e = emit_step(s, v, type);
    if (e)
        e->id = wb_uuid_text(id, s->t->id_text);
    return e;
}

/* ---- Output of the model --------------------------------------------------------------------- */

static uint8_t delta_type(const struct translation *s)
{
    switch (s->ev->part.kind) {
    case UPP_PART_TEXT:
        return s->t->structured && !s->ev->from->depth ? UPP_OBJECT_DELTA : UPP_TEXT_DELTA;
    case UPP_PART_REASONING:
        return UPP_REASONING_DELTA;
    case UPP_PART_IMAGE:
        return UPP_IMAGE_DELTA;
    case UPP_PART_AUDIO:
        return UPP_AUDIO_DELTA;
    case UPP_PART_VIDEO:
        return UPP_VIDEO_DELTA;
    case UPP_PART_CALL:
        return UPP_TOOL_CALL_DELTA;
    default: /* documents and other files have no deltas */
        return 0;
    }
}

static void emit_delta(struct translation *s, struct upp_str text)
{
    uint8_t type = delta_type(s);
    struct upp_event *e = type ? emit_upp(s, type, s->ev->part.index) : NULL;
    if (!e)
        return;
    e->text = text;
    if (type == UPP_TOOL_CALL_DELTA) {
        e->id = s->ev->part.call;
        e->name = s->ev->part.name;
    }
}

static void part_open(struct translation *s)
{
    const struct upp_media *m = s->ev->part.media;
    (void)emit_upp(s, UPP_CONTENT_BLOCK_START, s->ev->part.index);
    if (m && (m->source == UPP_SOURCE_BASE64 || m->source == UPP_SOURCE_BYTES))
        emit_delta(s, m->data);
}

static void part_close(struct translation *s)
{
    if (s->ev->part.kind == UPP_PART_CALL && !s->ev->part.text.n) /* a call without arguments has a delta, too */
        emit_delta(s, UPP_STR(""));
    (void)emit_upp(s, UPP_CONTENT_BLOCK_STOP, s->ev->part.index);
}

static int remember_calls(struct wa_run_state *v, const struct upp_message *m, size_t *n, struct upp_err *err)
{
    v->calls.n = *n = 0;
    wb_arena_reset(&v->ids);
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CALLS));) {
        struct upp_str id = wb_arena_dup(&v->ids, p->id.p ? p->id : UPP_STR(""));
        *n += !p->cut;
        if (!id.p)
            return wb_arena_check(&v->ids, err);
        if (!wb_vec_push(&v->calls, id, CALLS_MAX))
            return upp_fail(err, v->calls.n == CALLS_MAX ? UPP_ELIMIT : UPP_ENOMEM, "no room for a call");
    }
    return 0;
}

static int message(struct translation *s, struct wa_run_state *v, struct upp_err *err)
{
    const struct wm_entry *entry = s->ev->message.entry;
    struct weft_event *e;
    if (entry && entry->message.role == UPP_ROLE_TOOL && (e = emit_step(s, v, WEFT_OBSERVATION)))
        e->message = &entry->message;
    if (!entry || entry->message.role != UPP_ROLE_ASSISTANT)
        return 0; /* the input is not a model's */
    const struct upp_message *m = &entry->message;
    size_t calls;
    int r = remember_calls(v, m, &calls, err);
    if (r < 0)
        return r;
    (void)emit_upp(s, UPP_MESSAGE_STOP, 0);
    if (wb_str_eq(entry->phase, UPP_STR("reason")) && (e = emit_step(s, v, WEFT_REASONING)))
        e->text = wm_message_text(&s->t->scratch, m);
    if (calls && (e = emit_step(s, v, WEFT_ACTION)))
        e->message = m;
    r = wb_arena_check(&s->t->scratch, err);
    if (r < 0 || !s->ev->from->depth)
        return r;
    wb_arena_reset(&v->memory);
    v->last = wm_message_text(&v->memory, m);
    return wb_arena_check(&v->memory, err);
}

/* ---- Tools ----------------------------------------------------------------------------------- */

/* A string member of an object; empty: absent. */
static struct upp_str member(struct wb_arena *a, struct upp_str json, const char *name)
{
    yyjson_val *v;
    if (wj_read(a, json, NULL, &v, NULL) < 0 || !(v = yyjson_obj_get(v, name)) || !yyjson_is_str(v))
        return (struct upp_str){0};
    return wj_text(v);
}

/* Prepares the state of a child run: subagent_start follows when it begins. */
static int expect_child(struct translation *s, struct upp_err *err)
{
    struct wa_run_state *v;
    int r = child_state(s->t, s->ev->tool_started.child, &v, err);
    if (r < 0)
        return r;
    v->parent_agent = s->ev->from->agent_id;
    v->parent_run = s->ev->from->run;
    struct upp_str all = wb_arena_dup(&v->memory, s->ev->tool_started.arguments);
    v->task = member(&v->memory, all, "task");
    if (!v->task.p)
        v->task = all;
    return wb_arena_check(&v->memory, err);
}

static struct upp_event *execution(struct translation *s, const struct wa_run_state *v, uint8_t type)
{
    uint32_t index = 0; /* for a call of no message */
    for (size_t i = 0; i < v->calls.n; i++)
        if (wb_str_eq(v->calls.p[i], s->ev->call.id)) {
            index = (uint32_t)i;
            break;
        }
    struct upp_event *e = emit_upp(s, type, index);
    if (e) {
        e->id = s->ev->call.id;
        e->name = s->ev->call.name;
        e->time_ms = s->ev->time_ms;
    }
    return e;
}

static int tool_started(struct translation *s, struct wa_run_state *v, struct upp_err *err)
{
    if (!wm_is_branch(s->ev)) /* a plan's branch is not a tool call */
        (void)execution(s, v, UPP_TOOL_EXECUTION_START);
    return s->t->children && s->ev->tool_started.child_node ? expect_child(s, err) : 0;
}

static void tool_ended(struct translation *s, const struct wa_run_state *v)
{
    struct upp_event *e = wm_is_branch(s->ev) ? NULL : execution(s, v, UPP_TOOL_EXECUTION_END);
    if (!e)
        return;
    e->result = s->ev->tool_ended.result;
    e->is_error = s->ev->tool_ended.outcome != WM_DONE;
}

/* ---- Steps and runs -------------------------------------------------------------------------- */

static int step_start(struct translation *s, struct wa_run_state *v, struct upp_err *err)
{
    v->step = s->ev->step;
    wb_buf_clear(&v->plan_step);
    wb_buf_add(&v->plan_step, s->ev->step_start.plan_step.p ? s->ev->step_start.plan_step : UPP_STR(""));
    (void)emit_id(s, v, WEFT_STEP_START, s->ev->step_start.id);
    return wb_buf_check(&v->plan_step, err);
}

static void step_end(struct translation *s, const struct wa_run_state *v)
{
    struct weft_event *e;
    if (s->ev->step_end.results && (e = emit_step(s, v, WEFT_OBSERVATION)))
        e->message = &s->ev->step_end.results->message;
    if ((e = emit_step(s, v, WEFT_STEP_END)))
        e->usage = s->ev->step_end.usage;
}

static void child_ended(struct translation *s, const struct wa_run_state *v)
{
    struct weft_event *e = emit(s, WEFT_SOURCE_UAP, WEFT_SUBAGENT_END);
    if (!e)
        return;
    e->is_error = s->ev->run.status != WM_COMPLETED;
    e->usage = s->ev->run.usage;
    e->text = s->ev->run.error.p ? member(&s->t->scratch, s->ev->run.error, "message") : v->last;
}

/* Checkpoints of sub-agents cannot be restored by this session. */
static void checkpoint(struct translation *s, const struct wa_run_state *v)
{
    struct wa_translator *t = s->t;
    if (s->ev->from->depth || t->points == WA_POINTS_NONE)
        return;
    if (t->points == WA_POINTS_STEPS)
        (void)emit_id(s, v, WEFT_CHECKPOINT, s->ev->checkpoint.id);
    t->point = s->ev->checkpoint.id;
    t->point_step = s->ev->step;
}

/* With WA_POINTS_TURN: emits the last checkpoint of the turn. */
static void turn_checkpoint(struct translation *s, const struct wa_run_state *v)
{
    struct wa_translator *t = s->t;
    struct weft_event *e = t->points == WA_POINTS_TURN && t->point_step ? emit_step(s, v, WEFT_CHECKPOINT) : NULL;
    if (!e)
        return;
    e->step = t->point_step;
    e->id = wb_uuid_text(t->point, t->id_text);
    t->point_step = 0;
}

static int run_changed(struct translation *s, struct wa_run_state *v, struct upp_err *err)
{
    struct weft_event *e;
    if (!s->ev->from->depth) {
        if (wm_status_ended(s->ev->run.status))
            turn_checkpoint(s, v);
        return 0;
    }
    if (!v->begun && (e = emit(s, WEFT_SOURCE_UAP, WEFT_SUBAGENT_START))) {
        e->text = wb_arena_dup(&s->t->scratch, v->task);
        wb_arena_reset(&v->memory);
    }
    v->begun = true;
    if (wm_status_ended(s->ev->run.status)) {
        child_ended(s, v);
        s->t->ended = v;
    }
    return wb_arena_check(&s->t->scratch, err);
}

static int system_event(struct translation *s, const struct wa_run_state *v, struct upp_err *err)
{
    struct wb_arena *a = &s->t->scratch;
    struct weft_event *e = s->ev->system.entry ? emit(s, WEFT_SOURCE_UAP, WEFT_SYSTEM_EVENT) : NULL;
    yyjson_val *data, *type, *source;
    int r = e ? wj_read(a, s->ev->system.entry->data, NULL, &data, err) : 0;
    if (r < 0 || !e)
        return r;
    type = yyjson_obj_get(data, "type");
    source = yyjson_obj_get(data, "source");
    if (yyjson_is_str(type))
        e->name = wj_text(type);
    if (yyjson_is_str(source))
        e->from = wj_text(source);
    if (v->plan_step.n && v->step == s->ev->step)
        e->id = wb_buf_str(&v->plan_step);
    r = wj_value_text(a, yyjson_obj_get(data, "data"), &e->text, err);
    return r < 0 ? r : wj_value_text(a, yyjson_obj_get(data, "targets"), &e->to, err);
}

static int attempt_void(struct translation *s, struct upp_err *err)
{
    struct weft_event *e = emit(s, WEFT_SOURCE_UAP, WEFT_ATTEMPT_VOID);
    if (e)
        e->text = wb_arena_printf(&s->t->scratch, "%" PRIu64, s->ev->voided.last);
    return wb_arena_check(&s->t->scratch, err);
}

static int translate_other(struct translation *s, struct wa_run_state *v, struct upp_err *err)
{
    switch (s->ev->kind) {
    case WM_RUN:
        return run_changed(s, v, err);
    case WM_MESSAGE:
        return message(s, v, err);
    case WM_TOOL_STARTED:
        return tool_started(s, v, err);
    case WM_TOOL_ENDED:
        tool_ended(s, v);
        return 0;
    case WM_STEP_START:
        return step_start(s, v, err);
    case WM_STEP_END:
        step_end(s, v);
        return 0;
    case WM_CHECKPOINT:
        checkpoint(s, v);
        return 0;
    case WM_SYSTEM:
        return system_event(s, v, err);
    case WM_VOID:
        return attempt_void(s, err);
    case WM_MESSAGE_OPEN:
        (void)emit_upp(s, UPP_MESSAGE_START, 0);
        return 0;
    case WM_PART_OPEN:
        part_open(s);
        return 0;
    case WM_PART_CLOSE:
        part_close(s);
        return 0;
    default:
        return 0; /* not for programs */
    }
}

int wa_translate(struct wa_translator *t, const struct wm_event *ev, struct weft_event *ret, struct upp_err *err)
{
    struct translation s = {.t = t, .ev = ev, .first = ret};
    struct wa_run_state *v = &t->root;
    t->at = t->n_more = 0;
    if (ev->from->depth && !t->children)
        return 0;
    if (WB_LIKELY(ev->kind == WM_DELTA)) {
        emit_delta(&s, ev->part.text);
        return s.first == NULL;
    }
    format_id(ev->from->agent_id, &t->agent, t->agent_text); /* a delta belongs to the run of the event before it */
    format_id(ev->from->run, &t->run, t->run_text);
    wb_arena_reset(&t->scratch);
    if (t->ended)
        run_state_drop(t, WB_TAKE(t->ended));
    int r = ev->from->depth ? child_state(t, ev->from->run, &v, err) : 0;
    if (r >= 0 && ev->from->depth) {
        format_id(v->parent_agent, &t->parent_agent, t->parent_agent_text);
        format_id(v->parent_run, &t->parent_run, t->parent_run_text);
    }
    if (r >= 0)
        r = translate_other(&s, v, err);
    if (r < 0)
        return r;
    return s.first == NULL;
}
