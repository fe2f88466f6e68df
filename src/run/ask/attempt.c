/* run/ask/attempt.c — calls a model until an attempt succeeds or may not be repeated. Output is streamed at once;
 * that of a failed attempt is void. */
#include "run/ask/attempt.h"

#include <upp/provider.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/uuid.h"
#include "fiber/loop.h"
#include "model/call_source.h"
#include "model/id.h"
#include "run/ask/structure.h"
#include "run/breaker.h"
#include "run/step.h"
#include "run/tools.h"

enum {
    YIELD_BYTES = 16 << 10, /* yield to readers after this much output without a wait */
    YIELD_PARTS = 64,       /* and after this many deltas */
    STOP_MS = 3000,         /* for telling a server that its answer is no longer wanted */
    CORRECTIONS = 2,        /* of a structured response that does not fit, at most */
};

/* ---- The open message ------------------------------------------------------------------------------------ */

/* The message starts streaming with the first output: a call that fails before that leaves no trace. */
static void start_streaming(struct wr_asking *a)
{
    struct wr_tree *t = a->run->tree;
    if (a->has_output)
        return;
    a->has_output = true;
    if (!a->streams)
        return;
    a->open->number = t->next;
    a->open->epoch = t->epoch;
    t->open = a->open;
}

int wr_asking_open(struct wr_asking *a, struct upp_err *err)
{
    struct wr_run *run = a->run;
    int r = wr_open_new(run->engine, &run->memory, &a->open, err);
    if (r < 0)
        return r;
    struct wr_open *o = a->open;
    o->source = run->source;
    o->index = run->end.length + (uint32_t)run->draft.entries.n;
    o->step = run->pub.state.step + 1;
    o->entry.step = o->step;
    o->entry.phase = a->phase;
    o->entry.who = run->def->name;
    o->entry.attempt = (uint8_t)(run->attempt % WM_ATTEMPTS);
    if (a->opts && a->opts->scaffolding)
        o->entry.audience = WM_AUDIENCE_RUN;
    o->entry.message.time_ms = wr_now(run);
    if (!run->step.open)
        wm_tape_mark(&o->tape, WM_MARK_STEP, 0);
    wm_tape_mark(&o->tape, WM_MARK_OPEN, 0);
    return wb_buf_check(&o->tape.out, err);
}

void wr_asking_drop(struct wr_run *run, struct wr_open **open)
{
    wr_readers_leave(run->tree, *open, true);
    if (run->tree->open == *open)
        run->tree->open = NULL;
    wr_open_free(run->engine, *open);
    *open = NULL;
}

/* A call id that is empty or taken in the run tree is replaced; the vendor's own stays in the part's metadata. Every id
 * may be taken in a part of the path that was not read: some vendors count the calls of each answer from 0. */
static bool id_taken(const struct wr_run *run, struct upp_str id)
{
    for (const struct wr_run *up = run; up; up = up->parent)
        if (up->unread || wr_ids_have(&up->ids, id))
            return true;
    return wr_ids_have(&run->tree->ids, id) || (run->row.depth && run->tree->resumed);
}

/* Protocols tell calls apart by where their tools come from, also in exports: the log has it. */
static int add_source(struct wr_asking *a, struct upp_step_event *ev, struct upp_err *err)
{
    static const uint8_t sources[] = {
        [WR_SOURCE_PLUGIN] = WM_TOOL_PLUGIN, [WR_SOURCE_MCP] = WM_TOOL_MCP, [WR_SOURCE_COMPONENT] = WM_TOOL_COMPONENT};
    const struct wr_tool *t = wr_tool_find(a->run, ev->name);
    struct wm_call_source of = {0};
    if (t && t->kind == WR_TOOL_CLIENT)
        of.source = WM_TOOL_CLIENT;
    else if (t)
        of = (struct wm_call_source){.source = sources[t->source], .server = t->server};
    return wm_call_source_write(&a->run->memory, of, &ev->metadata, err);
}

/* Ids of the log are given to calls of runs with WR_CALL_IDS, if there is a log. */
static int new_call_id(const struct wr_asking *a, uint32_t part, struct wb_uuid *ret, struct upp_err *err)
{
    const struct wr_open *o = a->open;
    if (!a->run->engine->store || !wr_names_calls(a->run) || part >= WM_PARTS)
        return wb_uuid_new(ret, err);
    *ret = wm_id_uuid((struct wm_id){.node = a->run->row.node,
                                     .index = o->index,
                                     .noun = WM_NOUN_PART,
                                     .attempt = o->entry.attempt,
                                     .part = (uint16_t)part});
    return 0;
}

static int part_open(struct wr_asking *a, struct upp_step_event *ev, struct upp_err *err)
{
    char id[5 + WB_UUID_HEX + 1] = "call_";
    bool call = ev->part_kind == UPP_PART_CALL;
    if (call && (!ev->id.n || id_taken(a->run, ev->id) || wr_names_calls(a->run))) {
        struct wb_uuid u;
        int r = new_call_id(a, ev->part, &u, err);
        if (r < 0)
            return r;
        wb_uuid_hex(u, id + 5);
        ev->id = wb_str(id, 5 + WB_UUID_HEX);
    }
    if (call) {
        int bad = wr_ids_add(&a->run->ids, ev->id, err);
        if (bad >= 0 && a->run->row.depth) /* other children check only that set */
            bad = wr_ids_add(&a->run->tree->ids, ev->id, err);
        if (bad < 0)
            return bad;
    }
    int r = call ? add_source(a, ev, err) : 0;
    if (r >= 0)
        r = wr_open_part(a->open, ev, err);
    if (r >= 0)
        start_streaming(a);
    return r;
}

static int ended(struct wr_asking *a, const struct upp_step_event *ev, struct upp_err *err)
{
    struct wb_arena *m = &a->run->memory;
    struct upp_str metadata = wb_arena_dup(m, ev->metadata);
    struct upp_str data = a->request.structure.n ? wb_arena_dup(m, ev->data) : (struct upp_str){0};
    a->end = *ev;
    a->end.metadata = metadata;
    a->end.data = data;
    a->open->entry.message.metadata = metadata;
    a->open->entry.data = data;
    start_streaming(a);
    return wb_arena_check(m, err);
}

static int take(struct wr_asking *a, struct upp_step_event *ev, struct upp_err *err)
{
    switch (ev->kind) {
    case UPP_STEP_OPEN:
        a->open->entry.message.id = wb_arena_dup(&a->run->memory, ev->text);
        return wb_arena_check(&a->run->memory, err);
    case UPP_STEP_PART_OPEN:
        return part_open(a, ev, err);
    case UPP_STEP_DELTA:
        a->bytes += ev->text.n;
        a->since++;
        return wr_open_delta(a->open, ev->part, ev->text, err);
    case UPP_STEP_PART_CLOSE:
        return wr_open_close(a->open, ev->part, ev->metadata, err);
    default:
        return ended(a, ev, err);
    }
}

/* Some servers work on when nobody reads. They are told, unless the run will be recovered: then it asks again. */
static WEFT_SUSPENDS void stop_server(const struct wr_asking *a, struct upp_step *step)
{
    struct upp_err why = {0};
    char id[WB_UUID_TEXT + 1];
    if (!step || a->run->engine->closing)
        return;
    WEFT_SHIELD(STOP_MS);
    if (upp__step_stop(step, &why) < 0)
        wb_log(WB_WARN, "the server of a call that was given up could not be told",
               WB_LS("run", wb_uuid_text(a->run->row.id, id)), WB_LS("model", a->run->model->name),
               WB_LZ("why", why.msg));
}

/* One attempt: 0, or why it failed. */
static WEFT_SUSPENDS int attempt(struct wr_asking *a, struct upp_err *err)
{
    UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
    const struct weft_fiber *self = weft_fiber_self();
    struct upp_step_event ev;
    struct wr_engine *e = a->run->engine;
    int r = upp__step_open(&e->pools.room, a->run->model, &a->request, &e->wait, &step, err);
    while (r >= 0 && (r = upp_step_next(step, &ev, err)) > 0) {
        r = take(a, &ev, err);
        if (r < 0)
            break;
        if (!wb_list_empty(&a->run->tree->readers)) {
            if (a->streams)
                wr_readers_wake(a->run->tree);
            if (a->since >= YIELD_PARTS || a->bytes >= YIELD_BYTES) {
                a->since = 0;
                a->bytes = 0;
                r = weft_yield(err);
            }
        } else if (weft__canceled(self))
            r = upp_fail(err, UPP_ECANCELED, "cancelled");
    }
    while (r < 0 && step && upp__step_rest(step, &ev) && take(a, &ev, NULL) >= 0)
        ;
    if (r < 0 && r != -UPP_ENET)
        stop_server(a, step);
    return r;
}

/* ---- Attempts ---------------------------------------------------------------------------------------------- */

/* Is it worth another attempt, and after how long? A malformed response counts as a failure of the provider. */
static bool try_again(const struct wr_asking *a, int r, const struct upp_err *why, unsigned tried, uint64_t *ms)
{
    struct upp_retry *retry = a->run->model->retry;
    struct upp_err seen = *why;
    if (a->run->model->once && (a->has_output || (r == -UPP_EPROVIDER && why->http < 500 && why->http != 409)))
        return false; /* 409: it has not begun, another call of the conversation is running */
    seen.code = r == -UPP_EPROTO ? UPP_EPROVIDER : -r;
    return upp_retry_failed(retry, &seen, tried, ms) > 0;
}

/* C5: the output since the last record is void, and the epoch increases. Later readers must get the same events as live
 * ones, or what dialects count and name would be different: so the row holds the output. */
static WEFT_SUSPENDS int void_attempt(struct wr_asking *a, struct upp_err *err)
{
    struct wr_run *run = a->run;
    struct wr_tree *t = run->tree;
    uint32_t tried = run->attempt + 1;
    (void)wr_now(run);
    run->attempt = tried;
    run->voids++;
    run->engine->counts.voids++;
    struct wm_event *ev = a->streams ? wr_draft_record(run, WM_VOID, err) : NULL;
    if (!ev) {
        wr_asking_drop(run, &a->open);
        return a->streams ? wr_draft_failed(run, err) : 0; /* else nobody has seen it */
    }
    ev->voided.last = t->next - 1;
    run->draft.open = a->open;
    run->draft.lost = run->draft.voids = true;
    a->open = NULL;
    wb_crashpoint("void.before");
    int r = wr_flush(run, NULL, err);
    wb_crashpoint("void.after");
    if (run->draft.lost) { /* it was not written, and does not belong to the next row */
        wr_asking_drop(run, &run->draft.open);
        run->draft.lost = false;
    }
    run->attempt = tried; /* also if a prompt was in the row: the answer's index is the same */
    return r;
}

static WEFT_SUSPENDS int monitored_attempt(struct wr_asking *a, struct upp_err *err)
{
    const struct wr_monitor *m = a->run->engine->monitor;
    if (!m)
        return attempt(a, err);
    uint64_t from = weft__loop_clock(a->run->engine->loop);
    int r = attempt(a, err);
    m->model(m->arg, &(struct wr_model_note){.of = wr_note_of(a->run),
                                             .model = a->run->model->name,
                                             .provider = wb_cstr(a->run->model->ops->provider),
                                             .usage = r < 0 ? NULL : &a->end.usage,
                                             .why = r < 0 ? err : NULL,
                                             .stop = a->end.stop,
                                             .ns = weft__loop_clock(a->run->engine->loop) - from});
    return r;
}

struct upp_str wr_asking_structure(const struct wr_asking *a)
{
    if (a->opts && a->opts->structure.n)
        return a->opts->structure;
    bool none = a->opts && (a->opts->no_structure || a->opts->scaffolding);
    return none ? (struct upp_str){0} : a->run->def->structure;
}

bool wr_asking_checked(const struct wr_asking *a)
{
    return a->run->def->check_structure && wr_asking_structure(a).n && !(a->opts && a->opts->structure.n);
}

/* 1: the response fits its schema, or is no structured one. 0: it does not fit, and *why says where. */
static int fits(struct wr_asking *a, struct upp_str *why, struct upp_err *err)
{
    if (!wr_asking_checked(a) || a->end.stop != UPP_STOP_END ||
        upp_part_next(&a->open->entry.message, NULL, UPP_PARTS_CALLS))
        return 1;
    return wr_structure_fits(&a->run->memory, a->request.structure, a->end.data, why, err);
}

/* Prepares another attempt, with the reasons in its request. Readers received nothing of this one: wr_asking_checked.
 */
static WEFT_SUSPENDS int correct(struct wr_asking *a, struct upp_str why, struct upp_err *err)
{
    if (a->run->model->once || a->corrections++ == CORRECTIONS)
        return upp_fail(err, UPP_EPROTO, "the structured response does not fit: %.*s", UPP_FMT(why));
    int r = wr_structure_correct(&a->run->memory, &a->open->entry.message, why, &a->request, err);
    if (r < 0)
        return r;
    wm_usage_add(&a->spent, &a->end.usage);
    a->end = (struct upp_step_event){0};
    a->has_output = false;
    return void_attempt(a, err);
}

int wr_attempts(struct wr_asking *a, struct upp_err *err)
{
    struct upp_retry *retry = a->run->model->retry;
    struct upp_err own, *why = err ? err : &own;
    for (unsigned n = a->run->voids + 1;; n++) {
        uint64_t wait_ms = upp_retry_before(retry);
        int r = a->open ? 0 : wr_asking_open(a, err);
        if (r >= 0 && wait_ms)
            r = weft_sleep_ms(wait_ms, err);
        if (r < 0)
            return r;
        a->request.attempt = n;
        why->retry_after_ms = 0; /* a failure sets it */
        wb_crashpoint("ask.open");
        r = monitored_attempt(a, why);
        if (r != -UPP_ETIMEOUT || wr_budget_ms(a->run) > 0) /* else it is the run's own limit */
            wr_breaker_note(a->run->engine, a->run->model, r, why);
        wb_crashpoint("ask.said");
        if (r >= 0) {
            struct upp_str wrong = {0};
            upp_retry_succeeded(retry);
            r = fits(a, &wrong, err);
            if (r != 0)
                return r < 0 ? r : 0;
            r = correct(a, wrong, err);
            if (r < 0)
                return r;
            continue;
        }
        if (!try_again(a, r, why, n, &wait_ms))
            return r;
        if (a->has_output) {
            r = void_attempt(a, err);
            a->has_output = false;
        } else
            r = 0;
        if (r >= 0)
            r = weft_sleep_ms(wait_ms, err);
        if (r < 0)
            return r;
    }
}
