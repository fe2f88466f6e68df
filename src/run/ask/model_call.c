/* run/ask/model_call.c — model calls: attempts, the open message, voids.
 *
 * A model's output is streamed at once. The message becomes part of the draft when it is complete, and is committed
 * with the start of its tools (C2) or the end of its step (C4).
 */
#include <upp/provider.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/uuid.h"
#include "fiber/loop.h"
#include "json/read.h"
#include "model/call_source.h"
#include "model/upp_json.h"
#include "run/ask/open_message.h"
#include "run/ask/structure.h"
#include "run/engine_state.h"
#include "run/event.h"
#include "run/middleware.h"
#include "run/settings/files.h"
#include "run/settings/settings.h"
#include "run/step.h"
#include "run/tools.h"
#include "run/turn.h"

enum {
    YIELD_BYTES = 16 << 10, /* yield to readers after this much output without a wait */
    YIELD_PARTS = 64,       /* and after this many deltas */
    STOP_MS     = 3000,     /* a server is told that nobody reads on: at most, all in all */
    CORRECTIONS = 2,        /* so often a model is told that its structured response does not fit */
};

/* Must middleware see a message whole before anybody receives it? */
static bool screened(const struct wr_run *run)
{
    return run->def->middleware && run->def->middleware->screen;
}

/* ---- The open message ------------------------------------------------------------------------------------ */

/* One call of the model. */
struct asking {
    struct wr_run              *run;
    const struct weft_ask_opts *opts;
    struct upp_str              phase;
    struct wr_open             *open;
    struct upp_request          request;
    struct wb_arena             files; /* what the request has of uploaded files */
    struct upp_step_event       end;   /* usage, stop, metadata, data */
    struct upp_usage            spent; /* on structured responses that did not fit */
    unsigned                    corrections;
    bool                        streams;    /* readers receive it while it grows */
    bool                        has_output; /* this attempt had output */
    bool                        capped;     /* it may have what is left of the run's max_completion_tokens */
    unsigned                    since;      /* deltas since the last yield */
    size_t                      bytes;
};

/* The message starts streaming with the first output: a call that fails before that leaves no trace. */
static void start_streaming(struct asking *a)
{
    struct wr_tree *t = a->run->tree;
    if (a->has_output)
        return;
    a->has_output = true;
    if (!a->streams)
        return;
    a->open->number = t->next;
    a->open->epoch  = t->epoch;
    t->open         = a->open;
}

static int open_message(struct asking *a, struct upp_err *err)
{
    struct wr_run *run = a->run;
    int            r   = wr_open_new(run->engine, &run->memory, &a->open, err);
    if (r < 0)
        return r;
    struct wr_open *o = a->open;
    o->source         = run->source;
    o->index          = run->end.length + (uint32_t)run->draft.entries.n;
    o->step           = run->pub.state.step + 1;
    o->entry.step     = o->step;
    o->entry.phase    = a->phase;
    o->entry.who      = run->def->name;
    o->entry.attempt  = (uint8_t)(run->attempt % WM_ATTEMPTS);
    if (a->opts && a->opts->scaffolding)
        o->entry.audience = WM_AUDIENCE_RUN;
    o->entry.message.time_ms = wr_now(run);
    if (!run->step.open)
        wm_tape_mark(&o->tape, WM_MARK_STEP, 0);
    wm_tape_mark(&o->tape, WM_MARK_OPEN, 0);
    return wb_buf_check(&o->tape.out, err);
}

static void drop_message(struct wr_run *run, struct wr_open **open)
{
    wr_readers_leave(run->tree, *open, true);
    if (run->tree->open == *open)
        run->tree->open = NULL;
    wr_open_free(run->engine, *open);
    *open = NULL;
}

/* A call id that is empty or taken in the run tree is replaced; the vendor's own stays in the part's metadata. */
static bool id_taken(const struct wr_run *run, struct upp_str id)
{
    for (const struct wr_run *up = run; up; up = up->parent)
        if (wr_ids_have(&up->ids, id))
            return true;
    return wr_ids_have(&run->tree->ids, id) || (run->row.depth && run->tree->resumed);
}

/* Protocols tell calls apart by where their tools come from, also in exports: the log has it. */
static int add_source(struct asking *a, struct upp_step_event *ev, struct upp_err *err)
{
    static const uint8_t sources[] = {
        [WR_SOURCE_PLUGIN] = WM_TOOL_PLUGIN, [WR_SOURCE_MCP] = WM_TOOL_MCP, [WR_SOURCE_COMPONENT] = WM_TOOL_COMPONENT};
    const struct wr_tool *t  = wr_tool_find(a->run, ev->name);
    struct wm_call_source of = {0};
    if (t && t->kind == WR_TOOL_CLIENT)
        of.source = WM_TOOL_CLIENT;
    else if (t)
        of = (struct wm_call_source){.source = sources[t->source], .server = t->server};
    return wm_call_source_write(&a->run->memory, of, &ev->metadata, err);
}

static int part_open(struct asking *a, struct upp_step_event *ev, struct upp_err *err)
{
    char id[5 + WB_UUID_HEX + 1] = "call_";
    if (ev->part_kind == UPP_PART_CALL && (!ev->id.n || id_taken(a->run, ev->id))) {
        struct wb_uuid u;
        int            r = wb_uuid_new(&u, err);
        if (r < 0)
            return r;
        wb_uuid_hex(u, id + 5);
        ev->id = wb_str(id, 5 + WB_UUID_HEX);
    }
    if (ev->part_kind == UPP_PART_CALL) {
        int bad = wr_ids_add(&a->run->ids, ev->id, err);
        if (bad >= 0 && a->run->row.depth) /* other children check only that set */
            bad = wr_ids_add(&a->run->tree->ids, ev->id, err);
        if (bad < 0)
            return bad;
    }
    int r = ev->part_kind == UPP_PART_CALL ? add_source(a, ev, err) : 0;
    if (r >= 0)
        r = wr_open_part(a->open, ev, err);
    if (r >= 0)
        start_streaming(a);
    return r;
}

static int ended(struct asking *a, const struct upp_step_event *ev, struct upp_err *err)
{
    struct wb_arena *m              = &a->run->memory;
    struct upp_str   metadata       = wb_arena_dup(m, ev->metadata);
    struct upp_str   data           = a->request.structure.n ? wb_arena_dup(m, ev->data) : (struct upp_str){0};
    a->end                          = *ev;
    a->end.metadata                 = metadata;
    a->end.data                     = data;
    a->open->entry.message.metadata = metadata;
    a->open->entry.data             = data;
    start_streaming(a);
    return wb_arena_check(m, err);
}

static int take(struct asking *a, struct upp_step_event *ev, struct upp_err *err)
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
static WEFT_SUSPENDS void stop_server(const struct asking *a, struct upp_step *step)
{
    struct upp_err why = {0};
    char           id[WB_UUID_TEXT + 1];
    if (!step || a->run->engine->closing)
        return;
    WEFT_SHIELD(STOP_MS);
    if (upp__step_stop(step, &why) < 0)
        wb_log(WB_WARN, "the server of a call that was given up could not be told",
               WB_LS("run", wb_uuid_text(a->run->row.id, id)), WB_LS("model", a->run->model->name),
               WB_LZ("why", why.msg));
}

/* One attempt: 0, or why it failed. */
static WEFT_SUSPENDS int attempt(struct asking *a, struct upp_err *err)
{
    UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
    const struct weft_fiber                      *self = weft_fiber_self();
    struct upp_step_event                         ev;
    struct wr_engine                             *e = a->run->engine;
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
                r        = weft_yield(err);
            }
        } else if (weft__canceled(self))
            r = upp_fail(err, UPP_ECANCELED, "cancelled");
    }
    if (r < 0 && r != -UPP_ENET)
        stop_server(a, step);
    return r;
}

/* ---- Attempts ---------------------------------------------------------------------------------------------- */

/* Is it worth another attempt, and after how long? A malformed response counts as a failure of the provider. */
static bool try_again(const struct asking *a, int r, const struct upp_err *why, unsigned tried, uint64_t *ms)
{
    struct upp_retry *retry = a->run->model->retry;
    struct upp_err    seen  = *why;
    if (a->run->model->once && (a->has_output || (r == -UPP_EPROVIDER && why->http < 500 && why->http != 409)))
        return false; /* 409: it has not begun, another call of the conversation is running */
    seen.code = r == -UPP_EPROTO ? UPP_EPROVIDER : -r;
    return upp_retry_failed(retry, &seen, tried, ms) > 0;
}

/* C5: the output since the last record is void, and the epoch increases. Later readers must get the same events as live
 * ones, or what dialects count and name would be different: so the row holds the output. */
static WEFT_SUSPENDS int void_attempt(struct asking *a, struct upp_err *err)
{
    struct wr_run  *run   = a->run;
    struct wr_tree *t     = run->tree;
    uint32_t        tried = run->attempt + 1;
    (void)wr_now(run);
    run->attempt = tried;
    run->voids++;
    run->engine->counts.voids++;
    struct wm_event *ev = a->streams ? wr_draft_record(run, WM_VOID, err) : NULL;
    if (!ev) {
        drop_message(run, &a->open);
        return a->streams ? -UPP_ENOMEM : 0; /* else nobody has seen it */
    }
    ev->last        = t->next - 1;
    run->draft.open = a->open;
    run->draft.lost = true;
    a->open         = NULL;
    t->epoch++;
    wb_crashpoint("void.before");
    int r = wr_flush(run, NULL, err);
    wb_crashpoint("void.after");
    if (run->draft.lost) { /* it was not written, and does not belong to the next row */
        drop_message(run, &run->draft.open);
        run->draft.lost = false;
    }
    run->attempt = tried; /* also if a prompt was in the row: the answer's index is the same */
    return r;
}

static WEFT_SUSPENDS int monitored_attempt(struct asking *a, struct upp_err *err)
{
    const struct wr_monitor *m = a->run->engine->monitor;
    if (!m)
        return attempt(a, err);
    uint64_t from = weft__loop_clock(a->run->engine->loop);
    int      r    = attempt(a, err);
    m->model(m->arg, &(struct wr_model_note){.of       = wr_note_of(a->run),
                                             .model    = a->run->model->name,
                                             .provider = wb_cstr(a->run->model->ops->provider),
                                             .usage    = r < 0 ? NULL : &a->end.usage,
                                             .why      = r < 0 ? err : NULL,
                                             .stop     = a->end.stop,
                                             .ns       = weft__loop_clock(a->run->engine->loop) - from});
    return r;
}

static struct upp_str structure_of(const struct asking *a)
{
    if (a->opts && a->opts->structure.n)
        return a->opts->structure;
    bool none = a->opts && (a->opts->no_structure || a->opts->scaffolding);
    return none ? (struct upp_str){0} : a->run->def->structure;
}

/* Is a structured response checked? Not that of a strategy, which knows itself what it wants. */
static bool is_checked(const struct asking *a)
{
    return a->run->def->check_structure && structure_of(a).n && !(a->opts && a->opts->structure.n);
}

/* 1: the response fits its schema, or is no structured one. 0: it does not fit, and *why says where. */
static int fits(struct asking *a, struct upp_str *why, struct upp_err *err)
{
    if (!is_checked(a) || a->end.stop != UPP_STOP_END || upp_part_next(&a->open->entry.message, NULL, UPP_PARTS_CALLS))
        return 1;
    return wr_structure_fits(&a->run->memory, a->request.structure, a->end.data, why, err);
}

/* The model is told why. Nobody has seen what it said. */
static WEFT_SUSPENDS int correct(struct asking *a, struct upp_str why, struct upp_err *err)
{
    if (a->run->model->once || a->corrections++ == CORRECTIONS)
        return upp_fail(err, UPP_EPROTO, "the structured response does not fit: %.*s", UPP_FMT(why));
    int r = wr_structure_correct(&a->run->memory, &a->open->entry.message, why, &a->request, err);
    if (r < 0)
        return r;
    wm_usage_add(&a->spent, &a->end.usage);
    a->end        = (struct upp_step_event){0};
    a->has_output = false;
    return void_attempt(a, err);
}

static WEFT_SUSPENDS int attempts(struct asking *a, struct upp_err *err)
{
    struct upp_retry *retry = a->run->model->retry;
    struct upp_err    own, *why = err ? err : &own;
    for (unsigned n = a->run->voids + 1;; n++) {
        uint64_t wait_ms = upp_retry_before(retry);
        int      r       = a->open ? 0 : open_message(a, err);
        if (r >= 0 && wait_ms)
            r = weft_sleep_ms(wait_ms, err);
        if (r < 0)
            return r;
        a->request.attempt  = n;
        why->retry_after_ms = 0; /* a failure sets it */
        wb_crashpoint("ask.open");
        r = monitored_attempt(a, why);
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
            r             = void_attempt(a, err);
            a->has_output = false;
        } else
            r = 0;
        if (r >= 0)
            r = weft_sleep_ms(wait_ms, err);
        if (r < 0)
            return r;
    }
}

/* Results that do not end their step get their own record; a step's end refers to those that do. */
static int record_results(struct wr_run *run, struct upp_err *err)
{
    const struct wr_draft *d = &run->draft;
    for (uint32_t i = 0; i < d->entries.n; i++) {
        size_t recorded = 0;
        while (recorded < d->records.n &&
               !(d->records.p[recorded].kind == WM_MESSAGE && d->records.p[recorded].part == i))
            recorded++;
        if (d->entries.p[i].message.role != UPP_ROLE_TOOL || recorded < d->records.n)
            continue;
        struct wm_event *ev = wr_draft_record(run, WM_MESSAGE, err);
        if (!ev)
            return -UPP_ENOMEM;
        ev->part = i;
    }
    return 0;
}

/* Commits what was done before new output. */
static WEFT_SUSPENDS int flush_before(struct wr_run *run, struct upp_err *err)
{
    int r = record_results(run, err);
    return r < 0 || wr_draft_empty(run) ? r : wr_flush(run, NULL, err);
}

/* ---- Complete messages ----------------------------------------------------------------------------------------- */

static int replay_part(struct wr_open *o, uint32_t i, const struct upp_part *p, struct upp_err *err)
{
    struct upp_step_event ev = {
        .kind = UPP_STEP_PART_OPEN, .part = i, .part_kind = p->kind, .id = p->id, .name = p->name, .media = p->media};
    bool call = p->kind == UPP_PART_CALL; /* its metadata has the source, which must be there from the start */
    if (call)
        ev.metadata = p->metadata;
    int r = wr_open_part(o, &ev, err);
    if (r >= 0 && p->text.n)
        r = wr_open_delta(o, i, p->text, err);
    return r < 0 ? r : wr_open_close(o, i, call ? (struct upp_str){0} : p->metadata, err);
}

static int into_draft(struct asking *a, struct wr_journal_reply **ret, struct upp_err *err);

int wr_message_add(struct wr_run *run, const struct upp_message *m, const char *phase, const struct upp_usage *used,
                   struct upp_str data, struct upp_err *err)
{
    struct asking            a         = {.run = run, .phase = wb_cstr(phase), .end = {.stop = UPP_STOP_END}};
    struct wr_journal_reply *journaled = NULL;
    int                      r         = flush_before(run, err);
    if (r >= 0)
        r = open_message(&a, err);
    if (r < 0) {
        wr_open_free(run->engine, a.open);
        return r;
    }
    if (used) { /* a model wrote it on a branch */
        a.end.usage       = *used;
        a.request.attempt = 1;
    }
    a.end.data = a.open->entry.data   = wb_arena_dup(&run->memory, data);
    a.open->entry.message.id          = wb_arena_dup(&run->memory, m->id);
    a.open->entry.message.metadata    = wb_arena_dup(&run->memory, m->metadata);
    a.open->entry.message.interrupted = m->interrupted;
    for (uint32_t i = 0; r >= 0 && i < m->n_parts; i++)
        r = replay_part(a.open, i, &m->parts[i], err);
    for (uint32_t i = 0; r >= 0 && i < m->n_parts; i++)
        a.open->entry.message.parts[i].cut = m->parts[i].cut;
    if (r >= 0)
        r = wb_arena_check(&run->memory, err);
    if (r >= 0)
        r = into_draft(&a, &journaled, err);
    if (r < 0) {
        wr_open_free(run->engine, a.open);
        return r;
    }
    return wb_vec_push(&run->journal.replies, journaled, WR_CALLS)
               ? 0
               : upp_fail(err, UPP_ENOMEM, "no memory for the journal");
}

/* ---- Into the draft ------------------------------------------------------------------------------------------ */

static int into_draft(struct asking *a, struct wr_journal_reply **ret, struct upp_err *err)
{
    struct wr_run *run = a->run;
    (void)wr_now(run);
    struct wr_journal_reply *journaled = wb_new(&run->memory, struct wr_journal_reply);
    struct upp_message      *m         = wb_new(&run->memory, struct upp_message);
    struct wm_entry         *entry     = journaled && m ? wr_draft_entry(run, err) : NULL;
    struct wm_event         *ev        = entry ? wr_draft_record(run, WM_MESSAGE, err) : NULL;
    int                      r         = ev ? wr_open_take(a->open, entry, err) : -UPP_ENOMEM;
    if (r < 0) {
        run->draft.entries.n -= entry != NULL;
        run->draft.records.n -= ev != NULL;
        return upp_fail(err, UPP_ENOMEM, "no memory for a message");
    }
    if ((a->opts && a->opts->no_tools) || (a->request.attempt && wr_settings_no_calls(run)))
        /* it had no tools: nobody runs the calls it made anyway */
        for (size_t i = 0; i < entry->message.n_parts; i++)
            entry->message.parts[i].cut |= entry->message.parts[i].kind == UPP_PART_CALL;
    *m = entry->message;
    if (a->request.attempt && run->model) { /* a model wrote it, not the program */
        ev->name = run->model->name;
        ev->call = wb_cstr(run->model->ops->provider);
    }
    ev->usage       = a->end.usage;
    ev->stop        = a->end.stop;
    ev->part        = (uint32_t)(run->draft.entries.n - 1);
    run->draft.open = a->open;
    a->open         = NULL;
    run->step.open = run->step.dirty = true;
    run->voids                       = 0;
    *journaled                       = (struct wr_journal_reply){
                              .phase = a->phase, .reply = {.message = m, .usage = a->end.usage, .stop = a->end.stop, .data = a->end.data}};
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CALLS));)
        journaled->reply.n_calls += !p->cut;
    *ret = journaled;
    if (entry->audience == WM_AUDIENCE_ALL) {
        if (a->end.data.n)
            run->data = a->end.data;
        return wr_mine_add(run, m, err);
    }
    int bad = wb_str_eq(a->phase, UPP_STR("reason")) ? wr_reasoned(run, m, err) : 0;
    return bad < 0 ? bad : wr_path_add(run, m, err);
}

/* ---- Screened ------------------------------------------------------------------------------------------------- */

/* The structured answer is the text now, if that is JSON; else there is none. */
static int reread_data(struct asking *a, const struct upp_message *message, struct upp_err *err)
{
    yyjson_val *v;
    if (!a->end.data.n)
        return 0;
    struct upp_str text = wm_message_text(&a->run->memory, message);
    bool           json = text.p && wj_read(&a->run->memory, text, NULL, &v, NULL) >= 0;
    a->end.data         = json ? text : (struct upp_str){0};
    return wb_arena_check(&a->run->memory, err);
}

/* Builds the message again with other texts, one delta per part. */
static int rebuild_message(struct asking *a, const struct upp_message *message, struct upp_err *err)
{
    struct upp_message old = a->open->entry.message;
    int                r   = reread_data(a, message, err);
    drop_message(a->run, &a->open);
    if (r >= 0)
        r = open_message(a, err);
    for (uint32_t i = 0; r >= 0 && i < message->n_parts; i++)
        r = replay_part(a->open, i, &message->parts[i], err);
    if (r < 0)
        return r;
    a->open->entry.message.id       = old.id;
    a->open->entry.message.metadata = old.metadata;
    a->open->entry.data             = a->end.data;
    return 0;
}

/* The rest may be a signature of the old text. */
static int only_source(struct wb_arena *a, struct upp_str *metadata, struct upp_err *err)
{
    struct wm_call_source source;
    int                   r = wm_call_source_read(a, *metadata, &source, err);
    return r < 0 ? r : wm_call_source_write(a, source, metadata, err);
}

/* Middleware sees the message before anybody else does. */
static WEFT_SUSPENDS int screen(struct asking *a, struct upp_err *err)
{
    struct wr_run              *run = a->run;
    const struct wr_middleware *m   = run->def->middleware;
    struct upp_message          message;
    bool                        changed = false;
    int                         r       = wm_message_copy(&run->memory, &a->open->entry.message, &message, err);
    struct upp_str             *were    = r >= 0 ? wb_new_n(&run->memory, struct upp_str, message.n_parts + 1) : NULL;
    if (!were)
        return r < 0 ? r : wb_arena_check(&run->memory, err);
    for (size_t i = 0; i < message.n_parts; i++)
        were[i] = message.parts[i].text;
    r = m->screen(m->arg, &run->pub, &message, err);
    for (size_t i = 0; r >= 0 && i < message.n_parts; i++)
        if (!wb_str_eq(were[i], message.parts[i].text)) {
            r       = only_source(&run->memory, &message.parts[i].metadata, err);
            changed = true;
        }
    return r >= 0 && changed ? rebuild_message(a, &message, err) : r;
}

/* ---- Asking ---------------------------------------------------------------------------------------------------- */

/* Reports a switch of providers in a thread once per run: the first call of its first step has the whole history. */
static void log_loss(void *arg, const struct upp_loss *loss)
{
    const struct asking *a = arg;
    char                 id[WB_UUID_TEXT + 1];
    if (a->run->pub.state.step == 0 && a->request.attempt == 1)
        wb_log(WB_WARN, "something said earlier does not go to this model",
               WB_LS("run", wb_uuid_text(a->run->row.id, id)), WB_LU("message", loss->message),
               WB_LU("part", loss->part), WB_LZ("what", loss->what), WB_LZ("why", loss->why));
}

int weft_run_offered(struct weft_run *pub, const struct upp_tool_spec **ret, size_t *n, struct upp_err *err)
{
    struct wr_run             *run   = wr_of(pub);
    const struct wr_agent_def *agent = run->def;
    struct upp_tool_spec      *specs = wb_new_n(&run->memory, struct upp_tool_spec, agent->n_tools + 1);
    bool                       bound = wr_has_rights(run);
    *n                               = 0;
    *ret                             = specs;
    if (!specs)
        return wb_arena_check(&run->memory, err);
    for (size_t i = 0; i < agent->n_tools; i++)
        if (wr_offers(run, &agent->tools[i]) && (!bound || wr_allowed(run, &agent->tools[i])))
            specs[(*n)++] = agent->tools[i].spec;
    return 0;
}

/* The agent's conversation on this branch: a fork, and a thread that was set back, have a node of their own. The id is
 * of the thread's family, so that ids which a model makes of it lead to the thread. */
static struct upp_str session_of(struct wr_run *run)
{
    static const struct wb_uuid none = {0};
    struct wb_uuid              from = wb_uuid_eq(run->row.thread, none) ? run->row.id : run->row.thread, session;
    char                        id[WB_UUID_TEXT + 1];
    uint64_t                    which = wb_str_hash(run->def->name) ^ run->row.node * UINT64_C(0x9e3779b97f4a7c15);
    if (!run->model->once)
        return (struct upp_str){0};
    session = wb_uuid_from(from, which);
    memcpy(session.b, from.b, 4);
    return wb_arena_dup(&run->memory, wb_uuid_text(session, id));
}

static int make_request(struct asking *a, struct upp_err *err)
{
    struct wr_run *run     = a->run;
    a->request.system      = run->system;
    a->request.params      = run->params;
    a->request.on_loss     = log_loss;
    a->request.on_loss_arg = a;
    a->request.traceparent = wr_traceparent(run);
    a->request.structure   = structure_of(a);
    a->request.session     = session_of(run);
    a->request.messages    = run->path.p;
    a->request.n_messages  = run->path.n;
    return a->opts && a->opts->no_tools ? 0 : weft_run_offered(&run->pub, &a->request.tools, &a->request.n_tools, err);
}

/* Written once, however often the phase is asked. */
int wr_prompt(struct wr_run *run, const struct upp_message *prompt, struct upp_str phase, struct upp_err *err)
{
    for (size_t i = 0; i < run->journal.prompted.n; i++)
        if (wb_str_eq(run->journal.prompted.p[i], phase))
            return 0;
    if (!wb_vec_push(&run->journal.prompted, phase, WR_CALLS))
        return upp_fail(err, UPP_ENOMEM, "no memory for the journal");
    struct wm_entry *e = wr_draft_entry(run, err);
    if (!e)
        return -UPP_ENOMEM;
    e->audience = WM_AUDIENCE_RUN;
    e->phase    = phase;
    e->who      = run->def->name;
    int r       = wm_message_copy(&run->memory, prompt, &e->message, err);
    if (r < 0) {
        run->draft.entries.n--;
        return r;
    }
    e->message.time_ms    = wr_now(run);
    struct upp_message *m = wb_new(&run->memory, struct upp_message);
    if (!m)
        return wb_arena_check(&run->memory, err);
    *m = e->message;
    return wr_path_add(run, m, err);
}

/* Middleware may send the model other messages than the path, and the settings of the run leave some out. */
static WEFT_SUSPENDS int view(struct asking *a, struct upp_err *err)
{
    const struct wr_middleware *m = a->run->def->middleware;
    int                         r = m && m->view ? m->view(m->arg, &a->run->pub, &a->request, err) : 0;
    if (r < 0 || !a->run->settings)
        return r;
    bool plain = !a->opts || !(a->opts->no_structure || a->opts->scaffolding || a->opts->structure.n);
    r          = wr_settings_request(a->run, plain, &a->request, &a->capped, err);
    if (r > 0)
        r = wr_limit_reached(a->run, "max_prompt_tokens", err);
    return r > 0 ? upp_fail(err, UPP_ELIMIT, "the budget is used up: %s", a->run->budget.over) : r;
}

static WEFT_SUSPENDS int step_start(struct wr_run *run, struct upp_err *err)
{
    const struct weft_hooks *h = run->pub.hooks;
    if (run->step.dirty || run->step.start_reported)
        return 0;
    run->step.start_reported = true;
    wr_observe_step(run);
    if (!h || !h->on_step_start)
        return 0;
    int r = wr_count_tokens(run, err);
    return r < 0 ? r : h->on_step_start(h->arg, &run->pub, run->pub.state.step + 1, err);
}

static WEFT_SUSPENDS int ask(struct asking *a, struct upp_err *err)
{
    struct wr_run *run = a->run;
    int            r   = wr_budget(run, true, err);
    /* A child's message is delivered when it is complete, and so is one that middleware screens or that must fit. */
    a->streams = !run->row.depth && !screened(run) && !is_checked(a);
    if (r > 0)
        return upp_fail(err, UPP_ELIMIT, "the budget is used up: %s", run->budget.over);
    if (r >= 0)
        r = step_start(run, err);
    if (r >= 0)
        r = wr_repair_continuing(
            run, err); /* calls that the strategy did not run need a result before the next model call */
    if (r >= 0)
        r = flush_before(run, err);
    if (r >= 0)
        r = a->opts && a->opts->prompt ? wr_prompt(run, a->opts->prompt, a->phase, err) : 0;
    if (r >= 0)
        r = make_request(a, err);
    if (r >= 0)
        r = view(a, err);
    run->asking++;
    if (r >= 0)
        r = wr_files_fetch(run, &a->request, &a->files, err);
    if (r >= 0)
        r = attempts(a, err);
    wb_arena_done(&a->files);
    wm_usage_add(&a->end.usage, &a->spent);
    if (r >= 0 && screened(run))
        r = screen(a, err);
    run->asking--;
    struct wr_journal_reply *journaled = NULL;
    if (r >= 0)
        r = into_draft(a, &journaled, err);
    else if (a->open && a->has_output && !run->engine->closing && !screened(run)) {
        /* The last allowed attempt, or a cancel: the output so far is committed, and the run ends. */
        struct upp_err second = {0};
        if (wr_open_cut(a->open, &second) >= 0 && into_draft(a, &journaled, &second) >= 0)
            return r;
    }
    if (a->open)
        drop_message(run, &a->open);
    int due = run->asking ? 0 : wr_events_due(run, r < 0 ? NULL : err);
    if (r < 0 || due < 0)
        return r < 0 ? r : due;
    r = wr_cycle_add(run, &journaled->reply.usage, err);
    if (r >= 0 && a->capped && journaled->reply.stop == UPP_STOP_LENGTH)
        r = wr_limit_reached(run, "max_completion_tokens", err);
    if (r < 0)
        return r;
    if (!wb_vec_push(&run->journal.replies, journaled, WR_CALLS))
        return upp_fail(err, UPP_ENOMEM, "no memory for the journal");
    return 0;
}

int weft_run_ask(struct weft_run *pub, const char *phase, const struct weft_ask_opts *opts,
                 const struct weft_reply **ret, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    struct asking  a   = {.run = run, .opts = opts, .phase = wb_cstr(phase), .files = WB_ARENA(4 * (size_t)WR_FILES)};
    for (size_t i = 0; i < run->journal.replies.n; i++)
        if (wb_str_eq(run->journal.replies.p[i]->phase, a.phase)) {
            *ret = &run->journal.replies.p[i]->reply;
            return 0;
        }
    if (!run->model)
        return upp_fail(err, UPP_EINVALID, "agent %.*s has no model", UPP_FMT(run->def->name));
    a.phase = wb_arena_dup(&run->memory, a.phase); /* the journal outlives the caller's text */
    int r   = wb_arena_check(&run->memory, err);
    if (r >= 0)
        r = ask(&a, err);
    if (r < 0)
        return r;
    *ret = &run->journal.replies.p[run->journal.replies.n - 1]->reply;
    return 0;
}
