/* run/ask/model_call.c — model calls: requests, complete messages, and what middleware sees of both.
 *
 * The message of a call (attempt.h) becomes part of the draft when it is complete, and is committed with the start of
 * its tools (C2) or the end of its step (C4).
 */
#include "base/log.h"
#include "base/uuid.h"
#include "base/vec_add.h"
#include "json/read.h"
#include "model/call_source.h"
#include "model/upp_json.h"
#include "run/ask/attempt.h"
#include "run/engine_state.h"
#include "run/event.h"
#include "run/middleware.h"
#include "run/settings/files.h"
#include "run/settings/settings.h"
#include "run/step.h"
#include "run/tools.h"
#include "run/run.h"

/* Must middleware see a message whole before anybody receives it? */
static bool screened(const struct wr_run *run)
{
    return run->def->middleware && run->def->middleware->screen;
}

/* Results that do not end their step get their own record; a step's end refers to those that do. */
static int record_results(struct wr_run *run, struct upp_err *err)
{
    const struct wr_draft *d = &run->draft;
    for (uint32_t i = 0; i < d->entries.n; i++) {
        size_t recorded = 0;
        while (recorded < d->records.n &&
               !(d->records.p[recorded].kind == WM_MESSAGE && d->records.p[recorded].message.index == i))
            recorded++;
        if (d->entries.p[i].message.role != UPP_ROLE_TOOL || recorded < d->records.n)
            continue;
        struct wm_event *ev = wr_draft_record(run, WM_MESSAGE, err);
        if (!ev)
            return wr_draft_failed(run, err);
        ev->message.index = i;
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

static int into_draft(struct wr_asking *a, struct wr_journal_reply **ret, struct upp_err *err);

int wr_message_add(struct wr_run *run, const struct upp_message *m, const char *phase, const struct upp_usage *used,
                   struct upp_str data, struct upp_err *err)
{
    struct wr_asking a = {.run = run, .phase = wb_cstr(phase), .end = {.stop = UPP_STOP_END}};
    struct wr_journal_reply *journaled = NULL;
    int r = flush_before(run, err);
    if (r >= 0)
        r = wr_asking_open(&a, err);
    if (r < 0) {
        wr_open_free(run->engine, a.open);
        return r;
    }
    if (used) { /* a model wrote it on a branch */
        a.end.usage = *used;
        a.request.attempt = 1;
    }
    a.end.data = a.open->entry.data = wb_arena_dup(&run->memory, data);
    a.open->entry.message.id = wb_arena_dup(&run->memory, m->id);
    a.open->entry.message.metadata = wb_arena_dup(&run->memory, m->metadata);
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
    return wb_vec_add(&run->journal.replies, journaled, (size_t)WR_CALLS, "messages of a model in one step", err);
}

/* ---- Into the draft ------------------------------------------------------------------------------------------ */

static int into_draft(struct wr_asking *a, struct wr_journal_reply **ret, struct upp_err *err)
{
    struct wr_run *run = a->run;
    (void)wr_now(run);
    struct wr_journal_reply *journaled = wb_new(&run->memory, struct wr_journal_reply);
    struct upp_message *m = wb_new(&run->memory, struct upp_message);
    struct wm_entry *entry = journaled && m ? wr_draft_entry(run, err) : NULL;
    struct wm_event *ev = entry ? wr_draft_record(run, WM_MESSAGE, err) : NULL;
    int r = ev ? wr_open_take(a->open, entry, err) : wr_draft_failed(run, err);
    if (r < 0) {
        run->draft.entries.n -= entry != NULL;
        run->draft.records.n -= ev != NULL;
        return r;
    }
    if ((a->opts && a->opts->no_tools) || (a->request.attempt && wr_settings_no_calls(run)))
        /* it had no tools: nobody runs the calls it made anyway */
        for (size_t i = 0; i < entry->message.n_parts; i++)
            entry->message.parts[i].cut |= entry->message.parts[i].kind == UPP_PART_CALL;
    *m = entry->message;
    if (a->request.attempt && run->model) { /* a model wrote it, not the program */
        ev->message.model = run->model->name;
        ev->message.provider = wb_cstr(run->model->ops->provider);
    }
    ev->message.usage = a->end.usage;
    ev->message.stop = a->end.stop;
    ev->message.index = (uint32_t)(run->draft.entries.n - 1);
    run->draft.open = a->open;
    a->open = NULL;
    run->step.open = run->step.dirty = true;
    run->voids = 0;
    *journaled = (struct wr_journal_reply){
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
static int reread_data(struct wr_asking *a, const struct upp_message *message, struct upp_err *err)
{
    yyjson_val *v;
    if (!a->end.data.n)
        return 0;
    struct upp_str text = wm_message_text(&a->run->memory, message);
    bool json = text.p && wj_read(&a->run->memory, text, NULL, &v, NULL) >= 0;
    a->end.data = json ? text : (struct upp_str){0};
    return wb_arena_check(&a->run->memory, err);
}

/* Builds the message again with other texts, one delta per part. */
static int rebuild_message(struct wr_asking *a, const struct upp_message *message, struct upp_err *err)
{
    struct upp_message old = a->open->entry.message;
    int r = reread_data(a, message, err);
    wr_asking_drop(a->run, &a->open);
    if (r >= 0)
        r = wr_asking_open(a, err);
    for (uint32_t i = 0; r >= 0 && i < message->n_parts; i++)
        r = replay_part(a->open, i, &message->parts[i], err);
    if (r < 0)
        return r;
    a->open->entry.message.id = old.id;
    a->open->entry.message.metadata = old.metadata;
    a->open->entry.data = a->end.data;
    return 0;
}

/* The rest may be a signature of the old text. */
static int only_source(struct wb_arena *a, struct upp_str *metadata, struct upp_err *err)
{
    struct wm_call_source source;
    int r = wm_call_source_read(a, *metadata, &source, err);
    return r < 0 ? r : wm_call_source_write(a, source, metadata, err);
}

/* Middleware sees the message before anybody else does. */
static WEFT_SUSPENDS int screen(struct wr_asking *a, struct upp_err *err)
{
    struct wr_run *run = a->run;
    const struct wr_middleware *m = run->def->middleware;
    struct upp_message message;
    bool changed = false;
    int r = wm_message_copy(&run->memory, &a->open->entry.message, &message, err);
    struct upp_str *were = r >= 0 ? wb_new_n(&run->memory, struct upp_str, message.n_parts + 1) : NULL;
    if (!were)
        return r < 0 ? r : wb_arena_check(&run->memory, err);
    for (size_t i = 0; i < message.n_parts; i++)
        were[i] = message.parts[i].text;
    r = m->screen(m->arg, &run->pub, &message, err);
    for (size_t i = 0; r >= 0 && i < message.n_parts; i++)
        if (!wb_str_eq(were[i], message.parts[i].text)) {
            r = only_source(&run->memory, &message.parts[i].metadata, err);
            changed = true;
        }
    return r >= 0 && changed ? rebuild_message(a, &message, err) : r;
}

/* ---- Asking ---------------------------------------------------------------------------------------------------- */

/* Reports a switch of providers in a thread once per run: the first call of its first step has the whole history. */
static void log_loss(void *arg, const struct upp_loss *loss)
{
    const struct wr_asking *a = arg;
    char id[WB_UUID_TEXT + 1];
    if (a->run->pub.state.step == 0 && a->request.attempt == 1)
        wb_log(WB_WARN, "something said earlier does not go to this model",
               WB_LS("run", wb_uuid_text(a->run->row.id, id)), WB_LU("message", loss->message),
               WB_LU("part", loss->part), WB_LZ("what", loss->what), WB_LZ("why", loss->why));
}

int weft_run_offered(struct weft_run *pub, const struct upp_tool_spec **ret, size_t *n, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    const struct wr_agent_def *agent = run->def;
    struct upp_tool_spec *specs = wb_new_n(&run->memory, struct upp_tool_spec, agent->n_tools + 1);
    bool bound = wr_has_rights(run);
    *n = 0;
    *ret = specs;
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
    struct wb_uuid from = wb_uuid_eq(run->row.thread, none) ? run->row.id : run->row.thread, session;
    char id[WB_UUID_TEXT + 1];
    uint64_t which = wb_str_hash(run->def->name) ^ run->row.node * UINT64_C(0x9e3779b97f4a7c15);
    if (!run->model->once)
        return (struct upp_str){0};
    session = wb_uuid_from(from, which);
    memcpy(session.b, from.b, 4);
    return wb_arena_dup(&run->memory, wb_uuid_text(session, id));
}

/* The agent whose sub-agent this is; a step of a plan is its agent's own. Empty: none. */
static struct upp_str caller_of(const struct wr_run *run)
{
    while (run->branch && run->parent)
        run = run->parent;
    if (!run->parent)
        return (struct upp_str){0};
    return run->parent->def ? run->parent->def->name : run->parent->row.agent;
}

static int make_request(struct wr_asking *a, struct upp_err *err)
{
    struct wr_run *run = a->run;
    a->request.system = run->system;
    a->request.params = run->params;
    a->request.on_loss = log_loss;
    a->request.on_loss_arg = a;
    a->request.traceparent = wr_traceparent(run);
    a->request.structure = wr_asking_structure(a);
    a->request.session = session_of(run);
    a->request.caller = caller_of(run);
    a->request.messages = run->path.p;
    a->request.n_messages = run->path.n;
    return a->opts && a->opts->no_tools ? 0 : weft_run_offered(&run->pub, &a->request.tools, &a->request.n_tools, err);
}

/* Written once, however often the phase is asked. */
int wr_prompt(struct wr_run *run, const struct upp_message *prompt, struct upp_str phase, struct upp_err *err)
{
    for (size_t i = 0; i < run->journal.prompted.n; i++)
        if (wb_str_eq(run->journal.prompted.p[i], phase))
            return 0;
    int r = wb_vec_add(&run->journal.prompted, phase, (size_t)WR_CALLS, "prompts in one step", err);
    if (r < 0)
        return r;
    struct wm_entry *e = wr_draft_entry(run, err);
    if (!e)
        return wr_draft_failed(run, err);
    e->audience = WM_AUDIENCE_RUN;
    e->phase = phase;
    e->who = run->def->name;
    r = wm_message_copy(&run->memory, prompt, &e->message, err);
    if (r < 0) {
        run->draft.entries.n--;
        return r;
    }
    e->message.time_ms = wr_now(run);
    struct upp_message *m = wb_new(&run->memory, struct upp_message);
    if (!m)
        return wb_arena_check(&run->memory, err);
    *m = e->message;
    return wr_path_add(run, m, err);
}

/* Middleware may send the model other messages than the path, and the settings of the run leave some out. */
static WEFT_SUSPENDS int view(struct wr_asking *a, struct upp_err *err)
{
    const struct wr_middleware *m = a->run->def->middleware;
    int r = m && m->view ? m->view(m->arg, &a->run->pub, &a->request, err) : 0;
    if (r < 0 || !a->run->settings)
        return r;
    bool plain = !a->opts || !(a->opts->no_structure || a->opts->scaffolding || a->opts->structure.n);
    r = wr_settings_request(a->run, plain, &a->request, &a->capped, err);
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

static WEFT_SUSPENDS int ask(struct wr_asking *a, struct upp_err *err)
{
    struct wr_run *run = a->run;
    int r = wr_budget(run, true, err);
    /* A child's message is delivered when it is complete, and so is one that middleware screens or that must fit. */
    a->streams = !run->row.depth && !screened(run) && !wr_asking_checked(a);
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
        r = wr_attempts(a, err);
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
        wr_asking_drop(run, &a->open);
    int due = run->asking ? 0 : wr_events_due(run, r < 0 ? NULL : err);
    if (r < 0 || due < 0)
        return r < 0 ? r : due;
    r = wr_cycle_add(run, &journaled->reply.usage, err);
    if (r >= 0 && a->capped && journaled->reply.stop == UPP_STOP_LENGTH)
        r = wr_limit_reached(run, "max_completion_tokens", err);
    if (r < 0)
        return r;
    return wb_vec_add(&run->journal.replies, journaled, (size_t)WR_CALLS, "messages of a model in one step", err);
}

int weft_run_ask(struct weft_run *pub, const char *phase, const struct weft_ask_opts *opts,
                 const struct weft_reply **ret, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    struct wr_asking a = {.run = run, .opts = opts, .phase = wb_cstr(phase), .files = WB_ARENA(4 * (size_t)WR_FILES)};
    for (size_t i = 0; i < run->journal.replies.n; i++)
        if (wb_str_eq(run->journal.replies.p[i]->phase, a.phase)) {
            *ret = &run->journal.replies.p[i]->reply;
            return 0;
        }
    if (!run->model)
        return upp_fail(err, UPP_EINVALID, "agent %.*s has no model", UPP_FMT(run->def->name));
    a.phase = wb_arena_dup(&run->memory, a.phase); /* the journal outlives the caller's text */
    int r = wb_arena_check(&run->memory, err);
    if (r >= 0)
        r = ask(&a, err);
    if (r < 0)
        return r;
    *ret = &run->journal.replies.p[run->journal.replies.n - 1]->reply;
    return 0;
}
