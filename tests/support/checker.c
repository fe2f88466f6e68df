#include "support/checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/checker_tree.h"
#include "support/fibers.h"

enum { MANY = 1 << 20 };

/* What anybody saw of one root run: by epoch, then by number. */
struct seen {
    struct upp_str text; /* no text: nobody saw it */
    uint8_t kind;
};
struct seen_epoch {
    WB_VEC(struct seen) by_number;
};
struct checker_run {
    struct wb_uuid id;
    WB_VEC(struct seen_epoch *) epochs;
};

static bool is_durable(const struct checker *c, const struct wm_run *run)
{
    return c->power_stays || run->durability == WM_SYNC || run->durability == WM_GROUP;
}

void checker_init(struct checker *c, struct wl_owner owner)
{
    *c = (struct checker){.owner = owner, .memory = WB_ARENA(256u << 20), .hash = 14695981039346656037u};
}

void checker_done(struct checker *c)
{
    for (size_t i = 0; i < c->runs.n; i++) {
        for (size_t k = 0; k < c->runs.p[i]->epochs.n; k++)
            if (c->runs.p[i]->epochs.p[k])
                wb_vec_done(&c->runs.p[i]->epochs.p[k]->by_number);
        wb_vec_done(&c->runs.p[i]->epochs);
    }
    wb_vec_done(&c->starts);
    wb_vec_done(&c->answers);
    wb_vec_done(&c->cancels);
    wb_vec_done(&c->excused);
    wb_vec_done(&c->deleted);
    wb_vec_done(&c->erased);
    wb_vec_done(&c->ran);
    wb_vec_done(&c->over);
    wb_vec_done(&c->runs);
    wb_arena_done(&c->memory);
}

static void stir(struct checker *c, struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        c->hash = (c->hash ^ (unsigned char)s.p[i]) * 1099511628211u;
}

/* ---- What was told -------------------------------------------------------------------------------------------- */

int checker_acked_start(struct checker *c, const struct checker_start *s)
{
    struct checker_start copy = *s;
    copy.input = wb_arena_dup(&c->memory, s->input);
    copy.key = wb_arena_dup(&c->memory, s->key);
    stir(c, wb_str((const char *)s->run.b, sizeof s->run.b));
    return wb_vec_push(&c->starts, copy, MANY) ? 0 : -UPP_ENOMEM;
}

int checker_acked_answer(struct checker *c, const struct checker_answer *a)
{
    struct checker_answer copy = *a;
    copy.call = wb_arena_dup(&c->memory, a->call);
    copy.result = wb_arena_dup(&c->memory, a->result);
    stir(c, a->call);
    return wb_vec_push(&c->answers, copy, MANY) ? 0 : -UPP_ENOMEM;
}

int checker_acked_cancel(struct checker *c, struct wb_uuid run)
{
    stir(c, UPP_STR("cancel"));
    return wb_vec_push(&c->cancels, run, MANY) ? 0 : -UPP_ENOMEM;
}

int checker_excuse(struct checker *c, struct wb_uuid thread)
{
    return wb_vec_push(&c->excused, thread, MANY) ? 0 : -UPP_ENOMEM;
}

int checker_acked_delete(struct checker *c, struct wb_uuid thread)
{
    return wb_vec_push(&c->deleted, thread, MANY) ? 0 : -UPP_ENOMEM;
}

int checker_acked_message_delete(struct checker *c, struct wb_uuid message)
{
    return wb_vec_push(&c->erased, message, MANY) ? 0 : -UPP_ENOMEM;
}

static bool is_excused(const struct checker *c, struct wb_uuid thread)
{
    for (size_t i = 0; i < c->excused.n; i++)
        if (wb_uuid_eq(c->excused.p[i], thread))
            return true;
    return false;
}

int checker_ran_key(struct checker *c, struct upp_str tool, struct upp_str key, uint8_t delivery)
{
    struct upp_str rest = wb_arena_dup(&c->memory, key), id, step;
    struct checker_ran ran = {.tool = wb_arena_dup(&c->memory, tool), .key = rest, .delivery = delivery};
    if (!wb_str_split(&rest, '/', &id) || !wb_uuid_parse(id, &ran.run) || !wb_str_split(&rest, '/', &step)) {
        snprintf(c->wrong, sizeof c->wrong, "a tool ran with the key '%.*s'", UPP_FMT(key));
        return -UPP_EBUG;
    }
    ran.call = rest;
    stir(c, rest);
    return wb_vec_push(&c->ran, ran, MANY) ? 0 : -UPP_ENOMEM;
}

void checker_ran(struct checker *c, struct upp_call *call, uint8_t delivery)
{
    (void)checker_ran_key(c, call->name, weft_call_key(call), delivery);
}

/* ---- Events ----------------------------------------------------------------------------------------------------- */

static void uuid_text(struct wb_buf *out, const char *what, struct wb_uuid u)
{
    char text[WB_UUID_TEXT + 1];
    wb_uuid_text(u, text);
    wb_buf_addf(out, " %s=%s", what, text);
}

static void message_text(struct wb_buf *out, const struct upp_message *m)
{
    wb_buf_addf(out, " [%u%s %lld", m->role, m->interrupted ? " interrupted" : "", (long long)m->time_ms);
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        wb_buf_addf(out, "; %u%s%s %.*s %.*s %.*s", p->kind, p->cut ? " cut" : "", p->is_error ? " error" : "",
                    UPP_FMT(p->id), UPP_FMT(p->name), UPP_FMT(p->text));
    }
    wb_buf_addf(out, " %.*s]", UPP_FMT(m->metadata));
}

static void usage_text(struct wb_buf *out, const struct upp_usage *u)
{
    wb_buf_addf(out, " usage=%llu,%llu", (unsigned long long)u->input, (unsigned long long)u->output);
}

void checker_event_text(struct wb_buf *out, const struct wm_event *ev)
{
    static const char *const kinds[] = {"?",        "RUN",        "MESSAGE", "TOOL_STARTED", "TOOL_ENDED",
                                        "STEP_END", "CHECKPOINT", "VOID",    "SYSTEM",       "APPROVED",
                                        "step",     "open",       "part",    "delta",        "close"};
    wb_buf_addf(out, "%u-%llu d%u s%u %s time=%lld", ev->from->epoch, (unsigned long long)ev->number, ev->from->depth,
                ev->step, ev->kind < WB_LEN(kinds) ? kinds[ev->kind] : "?", (long long)ev->time_ms);
    uuid_text(out, "run", ev->from->run);
    switch (ev->kind) {
    case WM_RUN:
        wb_buf_addf(out, " status=%u waits=%llu by='%.*s' key='%.*s' error='%.*s'", ev->run.status,
                    (unsigned long long)ev->run.waits_ms, UPP_FMT(ev->run.answered_by), UPP_FMT(ev->run.api_key),
                    UPP_FMT(ev->run.error));
        usage_text(out, &ev->run.usage);
        for (size_t i = 0; i < ev->run.n_pending; i++) {
            const struct wm_pending *p = &ev->run.pending[i];
            wb_buf_addf(out, " pending %.*s %.*s %.*s %d", UPP_FMT(p->call), UPP_FMT(p->name), UPP_FMT(p->arguments),
                        p->approval);
        }
        break;
    case WM_MESSAGE:
        wb_buf_addf(out, " stop=%u model='%.*s' provider='%.*s'", ev->message.stop, UPP_FMT(ev->message.model),
                    UPP_FMT(ev->message.provider));
        uuid_text(out, "id", ev->message.id);
        usage_text(out, &ev->message.usage);
        message_text(out, &ev->message.entry->message);
        break;
    case WM_TOOL_STARTED:
        wb_buf_addf(out, " call='%.*s' name='%.*s' arguments='%.*s'", UPP_FMT(ev->call.id), UPP_FMT(ev->call.name),
                    UPP_FMT(ev->tool_started.arguments));
        if (ev->tool_started.child_node)
            uuid_text(out, "child", ev->tool_started.child);
        break;
    case WM_TOOL_ENDED:
        wb_buf_addf(out, " call='%.*s' name='%.*s' result='%.*s' outcome=%u ms=%llu model_calls=%llu",
                    UPP_FMT(ev->call.id), UPP_FMT(ev->call.name), UPP_FMT(ev->tool_ended.result),
                    ev->tool_ended.outcome, (unsigned long long)ev->tool_ended.ms,
                    (unsigned long long)ev->tool_ended.model_calls);
        usage_text(out, &ev->tool_ended.usage);
        break;
    case WM_STEP_END:
        uuid_text(out, "id", ev->step_end.id);
        usage_text(out, &ev->step_end.usage);
        if (ev->step_end.results)
            message_text(out, &ev->step_end.results->message);
        break;
    case WM_CHECKPOINT:
        uuid_text(out, "id", ev->checkpoint.id);
        break;
    case WM_VOID:
        wb_buf_addf(out, " last=%llu", (unsigned long long)ev->voided.last);
        break;
    case WM_SYSTEM:
        uuid_text(out, "id", ev->system.id);
        message_text(out, &ev->system.entry->message);
        break;
    case WM_APPROVED:
        wb_buf_addf(out, " call='%.*s' name='%.*s'", UPP_FMT(ev->call.id), UPP_FMT(ev->call.name));
        break;
    case WM_STEP_START:
        uuid_text(out, "id", ev->step_start.id);
        wb_buf_addf(out, " plan_step='%.*s'", UPP_FMT(ev->step_start.plan_step));
        break;
    case WM_MESSAGE_OPEN:
        uuid_text(out, "id", ev->message_open.id);
        wb_buf_addf(out, " phase='%.*s' aside=%u", UPP_FMT(ev->message_open.phase), ev->message_open.aside);
        break;
    default:
        wb_buf_addf(out, " part=%u/%u call='%.*s' name='%.*s' text='%.*s'", ev->part.index, ev->part.kind,
                    UPP_FMT(ev->part.call), UPP_FMT(ev->part.name), UPP_FMT(ev->part.text));
    }
    wb_buf_addc(out, '\n');
}

static struct checker_run *run_of(struct checker *c, struct wb_uuid id)
{
    for (size_t i = 0; i < c->runs.n; i++)
        if (wb_uuid_eq(c->runs.p[i]->id, id))
            return c->runs.p[i];
    struct checker_run *run = wb_new(&c->memory, struct checker_run);
    if (!run || !wb_vec_push(&c->runs, run, MANY))
        return NULL;
    run->id = id;
    return run;
}

static struct seen *place(struct checker *c, struct wb_uuid root, uint32_t epoch, uint64_t number)
{
    struct checker_run *run = run_of(c, root);
    while (run && run->epochs.n < epoch) {
        struct seen_epoch *e = wb_new(&c->memory, struct seen_epoch);
        if (!e || !wb_vec_push(&run->epochs, e, MANY))
            return NULL;
    }
    if (!run || !epoch || !number || number > MANY)
        return NULL;
    struct seen_epoch *e = run->epochs.p[epoch - 1];
    while (e->by_number.n < number)
        if (!wb_vec_push(&e->by_number, (struct seen){0}, MANY))
            return NULL;
    return &e->by_number.p[number - 1];
}

/* Numbers of one connection: one after the other, or back to a void of a later epoch. */
static int follows(const struct checker_view *v, const struct wm_event *ev, struct upp_err *err)
{
    bool same = ev->from->epoch == v->epoch || !v->epoch;
    if (same && ev->number == v->number + 1)
        return 0;
    if (ev->from->epoch > v->epoch && ev->kind == WM_VOID && ev->number <= v->number + 1 &&
        ev->voided.last + 1 == ev->number)
        return 0;
    /* A recovery that found nothing on the air, of a run that was read from the store: the void comes in its place. */
    return upp_fail(err, UPP_EBUG, "a reader had %u-%llu and then got %u-%llu (kind %u, last %llu)", v->epoch,
                    (unsigned long long)v->number, ev->from->epoch, (unsigned long long)ev->number, ev->kind,
                    (unsigned long long)ev->voided.last);
}

int checker_saw(struct checker *c, struct checker_view *v, const struct wm_event *ev, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(16u << 20);
    TRY(follows(v, ev, err));
    *v = (struct checker_view){ev->from->root, ev->from->epoch, ev->number};
    checker_event_text(&text, ev);
    TRY(wb_buf_check(&text, err));
    c->count.events++;
    struct seen *s = place(c, ev->from->root, ev->from->epoch, ev->number);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "no memory for what was seen");
    if (s->text.p && !wb_str_eq(s->text, wb_buf_str(&text)))
        return upp_fail(err, UPP_EBUG, "two readers saw different things: %.*s and %.*s", UPP_FMT(s->text),
                        UPP_FMT(wb_buf_str(&text)));
    if (s->text.p)
        return 0;
    stir(c, wb_buf_str(&text));
    s->kind = ev->kind;
    s->text = wb_arena_dup(&c->memory, wb_buf_str(&text));
    return wb_arena_check(&c->memory, err);
}

/* ---- Trees against what was seen ------------------------------------------------------------- */

struct checking {
    struct checker *c;
    struct wl_store *s;
    struct tree *t;
    bool last, durable;
    char id[WB_UUID_TEXT + 1];
};

static int wrong(struct checking *k, struct upp_err *err, const char *fmt, ...) UPP_PRINTF(3, 4);
static int wrong(struct checking *k, struct upp_err *err, const char *fmt, ...)
{
    char text[2000];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (getenv("WEFT_SEED"))
        fprintf(stderr, "# run %s: %s\n", k->id, text);
    return upp_fail(err, UPP_EBUG, "run %s: %s", k->id, text);
}

/* 3 */
static int check_numbers(struct checking *k, struct upp_err *err)
{
    uint64_t record = 0;
    uint32_t epoch = 1;
    for (size_t i = 0; i < k->t->events.n; i++) {
        const struct wm_event *ev = &k->t->events.p[i].ev;
        if (ev->number != i + 1)
            return wrong(k, err, "event %zu has number %llu", i + 1, (unsigned long long)ev->number);
        if (ev->from->epoch < epoch)
            return wrong(k, err, "the epoch falls from %u to %u at event %zu", epoch, ev->from->epoch, i + 1);
        if (ev->from->epoch > epoch && ev->kind != WM_VOID)
            return wrong(k, err, "epoch %u begins with kind %u at event %zu", ev->from->epoch, ev->kind, i + 1);
        if (ev->kind == WM_VOID && (ev->voided.last != record || ev->number != record + 1))
            return wrong(k, err, "the void at event %zu says last=%llu, and it is %llu", i + 1,
                         (unsigned long long)ev->voided.last, (unsigned long long)record);
        epoch = ev->from->epoch;
        if (wm_is_record(ev->kind))
            record = ev->number;
        k->c->count.voids += ev->kind == WM_VOID;
    }
    if (k->t->events.n && record != k->t->events.n)
        return wrong(k, err, "the last stored event is no record");
    return 0;
}

/* 2 */
static int check_one_seen(struct checking *k, uint32_t epoch, uint64_t number, const struct seen *s,
                          struct upp_err *err)
{
    const struct tree_event *e = number <= k->t->events.n ? &k->t->events.p[number - 1] : NULL;
    if (!s->text.p || !k->durable)
        return 0;
    if (e && e->ev.from->epoch == epoch && wb_str_eq(e->text, s->text))
        return 0;
    if (e && e->ev.from->epoch == epoch)
        return wrong(k, err, "was seen: %.*s is stored: %.*s", UPP_FMT(s->text), UPP_FMT(e->text));
    if (wm_is_record(s->kind))
        return wrong(k, err, "a record was seen and is not stored: %.*s", UPP_FMT(s->text));
    if (e && e->ev.from->epoch < epoch)
        return wrong(k, err, "was seen in epoch %u, and epoch %u is stored at its number", epoch, e->ev.from->epoch);
    return 0;
}

static int check_seen(struct checking *k, struct upp_err *err)
{
    const struct checker_run *run = NULL;
    for (size_t i = 0; i < k->c->runs.n; i++)
        if (wb_uuid_eq(k->c->runs.p[i]->id, k->t->runs.p[0]->run.id))
            run = k->c->runs.p[i];
    for (size_t e = 0; run && e < run->epochs.n; e++)
        for (size_t i = 0; i < run->epochs.p[e]->by_number.n; i++)
            TRY(check_one_seen(k, (uint32_t)e + 1, i + 1, &run->epochs.p[e]->by_number.p[i], err));
    return 0;
}

/* 6: the statuses of one run of the tree, and its row. */
static int check_status(struct checking *k, const struct tree_run *r, struct upp_err *err)
{
    uint8_t status = 0;
    struct upp_usage said = {0}, total = {0}, ended = {0}, below = {0};
    bool branches = false;
    for (size_t i = 0; i < k->t->events.n; i++) {
        const struct wm_event *ev = &k->t->events.p[i].ev;
        if (!wb_uuid_eq(ev->from->run, r->run.id))
            continue;
        if (wm_status_ended(status))
            return wrong(k, err, "event %zu comes after the end", i + 1);
        if (!status && (ev->kind != WM_RUN || ev->run.status != WM_RUNNING))
            return wrong(k, err, "the first event of a run is kind %u", ev->kind);
        if (ev->kind == WM_MESSAGE) {
            said.input += ev->message.usage.input;
            said.output += ev->message.usage.output;
        }
        if (ev->kind == WM_TOOL_ENDED) {
            ended.input += ev->tool_ended.usage.input;
            ended.output += ev->tool_ended.usage.output;
        }
        if (ev->kind != WM_RUN)
            continue;
        if (ev->run.status == WM_WAITING && !ev->run.n_pending)
            return wrong(k, err, "it waits for nothing");
        if (ev->run.status == WM_QUEUED)
            return wrong(k, err, "a run is queued again");
        status = ev->run.status;
        total = ev->run.usage;
    }
    if (status && status != r->run.status)
        return wrong(k, err, "the row of a run at depth %u says status %u, its last record %u", r->run.depth,
                     r->run.status, status);
    if (!status && r->run.status != WM_QUEUED && !(r->run.status == WM_CANCELED && !r->run.started_ms))
        return wrong(k, err, "status %u without any record", r->run.status);
    for (size_t i = 0; i < k->t->runs.n; i++) /* what those below it used is its own too */
        if (wb_uuid_eq(k->t->runs.p[i]->run.parent, r->run.id)) {
            below.input += k->t->runs.p[i]->run.usage.input;
            below.output += k->t->runs.p[i]->run.usage.output;
            branches |= wb_str_starts(k->t->runs.p[i]->run.call, UPP_STR("branch_"));
        }
    if (!branches) /* those are adopted: messages bring their usage with them */
        ended = below;
    said.input += ended.input;
    said.output += ended.output;
    if (wm_status_ended(status) && (said.input != total.input || said.output != total.output))
        return wrong(k, err, "its messages and children used %llu and %llu tokens, it says %llu and %llu (depth %u)",
                     (unsigned long long)said.input, (unsigned long long)said.output, (unsigned long long)total.input,
                     (unsigned long long)total.output, r->run.depth);
    return 0;
}

static WEFT_SUSPENDS int check_holder(struct checking *k, const struct tree_run *r, struct upp_err *err)
{
    struct wl_node n;
    if (r->run.status == WM_QUEUED || (wm_status_ended(r->run.status) && !r->run.started_ms))
        return 0;
    TRY(wl_get_node(k->s, &k->c->owner, r->run.node, &n, err));
    bool holds = wb_uuid_eq(n.holder, r->run.id);
    if (holds == wm_status_ended(r->run.status))
        return wrong(k, err, "status %u, and it %s its node", r->run.status, holds ? "holds" : "does not hold");
    if (wm_status_ended(k->t->runs.p[0]->run.status) && !wm_status_ended(r->run.status))
        return wrong(k, err, "the root has ended, a child has not");
    return 0;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static const struct wm_event *call_event(struct checking *k, struct wb_uuid run, struct upp_str call, uint8_t kind,
                                         size_t *n)
{
    const struct wm_event *found = NULL;
    *n = 0;
    for (size_t i = 0; i < k->t->events.n; i++) {
        const struct wm_event *ev = &k->t->events.p[i].ev;
        if (ev->kind != kind || !wb_uuid_eq(ev->from->run, run) || !wb_str_eq(ev->call.id, call))
            continue;
        found = ev;
        ++*n;
    }
    return found;
}

static bool in_tree(struct checking *k, struct wb_uuid run)
{
    for (size_t i = 0; i < k->t->runs.n; i++)
        if (wb_uuid_eq(k->t->runs.p[i]->run.id, run))
            return true;
    return false;
}

static int note_over(struct checking *k, struct wb_uuid run, struct upp_str call, struct upp_err *err)
{
    for (size_t i = 0; i < k->c->over.n; i++)
        if (wb_uuid_eq(k->c->over.p[i].run, run) && wb_str_eq(k->c->over.p[i].call, call))
            return 0;
    struct checker_over o = {run, wb_arena_dup(&k->c->memory, call), k->c->ran.n};
    return o.call.p && wb_vec_push(&k->c->over, o, MANY) ? 0 : upp_fail(err, UPP_ENOMEM, "no memory");
}

/* 4, the log's side: each call starts once and ends once. */
static int check_calls(struct checking *k, struct upp_err *err)
{
    for (size_t i = 0; i < k->t->events.n; i++) {
        const struct wm_event *ev = &k->t->events.p[i].ev;
        size_t started, ended;
        if (ev->kind != WM_TOOL_STARTED && ev->kind != WM_TOOL_ENDED)
            continue;
        (void)call_event(k, ev->from->run, ev->call.id, WM_TOOL_STARTED, &started);
        (void)call_event(k, ev->from->run, ev->call.id, WM_TOOL_ENDED, &ended);
        if (started > 1 || ended > 1)
            return wrong(k, err, "call '%.*s' started %zu times and ended %zu times", UPP_FMT(ev->call.id), started,
                         ended);
        if (wm_status_ended(k->t->runs.p[0]->run.status) && !ended)
            return wrong(k, err, "call '%.*s' never ended", UPP_FMT(ev->call.id));
        if (ev->kind == WM_TOOL_ENDED && k->durable)
            TRY(note_over(k, ev->from->run, ev->call.id, err));
    }
    return 0;
}

/* 4, the ledger's side, for the runs of this tree. */
static int check_ledger(struct checking *k, struct upp_err *err)
{
    struct checker *c = k->c;
    for (size_t i = 0; i < c->ran.n; i++) {
        struct checker_ran *a = &c->ran.p[i];
        size_t n;
        if (!in_tree(k, a->run))
            continue;
        a->found = true;
        (void)call_event(k, a->run, a->call, WM_TOOL_STARTED, &n);
        if (!n && (k->durable || a->delivery == WEFT_AT_MOST_ONCE))
            return wrong(k, err, "'%.*s' ran and its start is not stored (key %.*s)", UPP_FMT(a->tool),
                         UPP_FMT(a->key));
        for (size_t j = 0; j < i; j++) {
            const struct checker_ran *b = &c->ran.p[j];
            if (!wb_uuid_eq(a->run, b->run) || !wb_str_eq(a->call, b->call))
                continue;
            if (a->delivery == WEFT_AT_MOST_ONCE)
                return wrong(k, err, "'%.*s' ran twice (key %.*s)", UPP_FMT(a->tool), UPP_FMT(a->key));
            if (!wb_str_eq(a->key, b->key))
                return wrong(k, err, "'%.*s' ran with two keys", UPP_FMT(a->tool));
        }
        for (size_t j = 0; j < c->over.n; j++)
            if (wb_uuid_eq(a->run, c->over.p[j].run) && wb_str_eq(a->call, c->over.p[j].call) && i >= c->over.p[j].at)
                return wrong(k, err, "'%.*s' ran again after its result was stored", UPP_FMT(a->tool));
    }
    return 0;
}

/* ---- Paths ----------------------------------------------------------------------------------- */

/* The results of one message of calls: the next message, all of them, each once. */
static int check_pairs(struct checking *k, const struct upp_message *calls, const struct upp_message *next, bool open,
                       struct upp_err *err)
{
    size_t n = 0, have = 0;
    for (const struct upp_part *c = NULL; (c = upp_part_next(calls, c, UPP_PARTS_CALLS));) {
        size_t found = 0;
        n += !c->cut;
        for (const struct upp_part *p = NULL; next && (p = upp_part_next(next, p, UPP_PARTS_RESULTS));)
            found += wb_str_eq(p->id, c->id);
        if (!c->cut && found != 1 && !(open && !next))
            return wrong(k, err, "call '%.*s' has %zu results", UPP_FMT(c->id), found);
    }
    for (const struct upp_part *p = NULL; next && (p = upp_part_next(next, p, UPP_PARTS_RESULTS));)
        have++;
    if (next && n != have)
        return wrong(k, err, "%zu results for %zu calls", have, n);
    return 0;
}

/* 5 */
static int check_lines(struct checking *k, struct wl_line *lines, size_t n, bool open, struct upp_err *err)
{
    const struct upp_message *before = NULL;
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (lines[i].entry.kind == WM_ENTRY_MESSAGE || lines[i].entry.kind == WM_ENTRY_REPAIR)
            lines[m++] = lines[i];
    for (size_t i = 0; i < m; i++) {
        const struct upp_message *msg = &lines[i].entry.message;
        const struct upp_message *next = i + 1 < m ? &lines[i + 1].entry.message : NULL;
        if (msg->role == UPP_ROLE_ASSISTANT)
            TRY(check_pairs(k, msg, next, open, err));
        if (msg->role == UPP_ROLE_TOOL && (!before || before->role != UPP_ROLE_ASSISTANT))
            return wrong(k, err, "results without calls at %zu", i);
        if (before && msg->time_ms < before->time_ms)
            return wrong(k, err, "entry %zu is older than the one before", i);
        before = msg;
    }
    return 0;
}

static WEFT_SUSPENDS int check_path(struct checking *k, const struct tree_run *r, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_end end;
    struct wl_path path;
    struct wl_line *lines;
    struct wl_node node;
    size_t n;
    if (r->run.status == WM_QUEUED || (wm_status_ended(r->run.status) && !r->run.started_ms))
        return 0;
    TRY(wl_get_node(k->s, &k->c->owner, r->run.node, &node, err));
    TRY(wl_node_end(k->s, &k->c->owner, r->run.node, &end, err));
    TRY(wl_path_open(k->s, &k->c->owner, r->run.node, end.length, &a, &path, err));
    TRY(wl_path_tail(k->s, &k->c->owner, &path, path.length, path.length, &a, &lines, &n, err));
    return check_lines(k, lines, n, !wb_uuid_is_nil(node.holder), err);
}

static bool same_text(const struct upp_message *a, const struct upp_message *b)
{
    bool same = a->n_parts == b->n_parts && a->role == b->role && a->time_ms == b->time_ms;
    for (size_t i = 0; same && i < a->n_parts; i++)
        same = a->parts[i].kind == b->parts[i].kind && wb_str_eq(a->parts[i].text, b->parts[i].text) &&
               wb_str_eq(a->parts[i].id, b->parts[i].id);
    return same;
}

/* 7 */
static WEFT_SUSPENDS int check_ids(struct checking *k, struct upp_err *err)
{
    for (size_t i = 0; i < k->t->events.n; i++) {
        const struct wm_event *ev = &k->t->events.p[i].ev;
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wl_line line;
        if (ev->kind != WM_MESSAGE)
            continue;
        int r = wl_entry_find(k->s, &k->c->owner, ev->message.id, &a, &line, err);
        if (r == -UPP_ENOTFOUND || (r >= 0 && !same_text(&line.entry.message, &ev->message.entry->message)))
            return wrong(k, err, "the id of the message of event %zu does not lead to it", i + 1);
        TRY(r);
    }
    return 0;
}

/* ---- Acknowledgements ------------------------------------------------------------------------ */

/* 1: the input in its place in the log, or still in the row of a run that waits in the queue. */
static WEFT_SUSPENDS int check_input(struct checking *k, const struct checker_start *s, struct upp_err *err)
{
    const struct wm_run *run = &k->t->runs.p[0]->run;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_line line;
    if (!wb_uuid_eq(run->thread, s->thread))
        return wrong(k, err, "it is on another thread than was said");
    if (run->status == WM_QUEUED || !run->started_ms)
        return wb_str_find(run->options, s->input, 0) != SIZE_MAX ? 0 : wrong(k, err, "a queued run lost its input");
    struct wb_uuid id = wm_id_uuid((struct wm_id){.node = run->node, .index = run->input, .noun = WM_NOUN_ENTRY});
    int r = wl_entry_find(k->s, &k->c->owner, id, &a, &line, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? wrong(k, err, "its input is gone") : r;
    const struct upp_message *m = &line.entry.message;
    if (wm_is_erased(&line.entry))
        return is_excused(k->c, s->thread) ? 0 : wrong(k, err, "its input was erased, and nobody has asked for that");
    if (m->role != UPP_ROLE_USER || m->n_parts != 1 || !wb_str_eq(m->parts[0].text, s->input))
        return wrong(k, err, "its input is another");
    return 0;
}

static bool answers(const struct checker_answer *a, const struct wm_event *ended)
{
    return ended && (a->approval ? (ended->tool_ended.outcome == WM_DENIED) == !a->approved
                                 : wb_str_eq(ended->tool_ended.result, a->result));
}

static int check_answers(struct checking *k, struct upp_err *err)
{
    const struct wm_run *root = &k->t->runs.p[0]->run;
    for (size_t i = 0; i < k->c->answers.n; i++) {
        const struct checker_answer *a = &k->c->answers.p[i];
        const struct wm_event *ended = NULL;
        size_t n = 0;
        if (!wb_uuid_eq(a->run, root->id) || !k->durable)
            continue;
        for (size_t j = 0; j < k->t->runs.n && !answers(a, ended); j++) { /* ids are unique among open calls */
            const struct wm_event *ev = call_event(k, k->t->runs.p[j]->run.id, a->call, WM_TOOL_ENDED, &n);
            ended = ev ? ev : ended;
        }
        if (a->approval && a->approved) { /* it may not have run yet */
            if (ended && ended->tool_ended.outcome == WM_DENIED)
                return wrong(k, err, "the approval of '%.*s' was lost", UPP_FMT(a->call));
            if (k->last && root->status == WM_COMPLETED && !ended)
                return wrong(k, err, "'%.*s' was approved and never ran", UPP_FMT(a->call));
            continue;
        }
        if (!ended)
            return wrong(k, err, "the answer for '%.*s' was lost", UPP_FMT(a->call));
        if (!answers(a, ended))
            return wrong(k, err, "the answer for '%.*s' was %.*s (approval %d), it is %.*s (outcome %u)",
                         UPP_FMT(a->call), UPP_FMT(a->result), a->approval, UPP_FMT(ended->tool_ended.result),
                         ended->tool_ended.outcome);
    }
    for (size_t i = 0; i < k->c->cancels.n; i++)
        if (wb_uuid_eq(k->c->cancels.p[i], root->id) && k->durable &&
            !(root->status == WM_CANCELED || (!wm_status_ended(root->status) && root->cancel)))
            return wrong(k, err, "its cancel was acknowledged, and its status is %u", root->status);
    return 0;
}

/* One run for one key. */
static int check_keys(struct checker *c, struct upp_err *err)
{
    for (size_t i = 0; i < c->starts.n; i++)
        for (size_t j = 0; j < i && c->starts.p[i].key.p; j++)
            if (c->starts.p[j].durable && wb_str_eq(c->starts.p[i].key, c->starts.p[j].key) &&
                !wb_uuid_eq(c->starts.p[i].run, c->starts.p[j].run))
                return upp_fail(err, UPP_EBUG, "key '%.*s' gave two runs", UPP_FMT(c->starts.p[i].key));
    return 0;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static bool known(const struct checker *c, struct wb_uuid run)
{
    for (size_t i = 0; i < c->starts.n; i++)
        if (wb_uuid_eq(c->starts.p[i].run, run))
            return true;
    return false;
}

static WEFT_SUSPENDS int check_tree(struct checking *k, struct upp_err *err)
{
    k->c->count.runs += k->t->runs.n;
    k->c->count.stored += k->t->events.n;
    for (size_t i = 0; i < k->t->events.n; i++)
        stir(k->c, k->t->events.p[i].text);
    if (k->last && !wm_status_ended(k->t->runs.p[0]->run.status) && known(k->c, k->t->runs.p[0]->run.id))
        return wrong(k, err, "never came to an end: status %u", k->t->runs.p[0]->run.status);
    const struct wm_run *root = &k->t->runs.p[0]->run;
    const bool asked = is_excused(k->c, root->thread);
    if (root->swept && !wm_status_ended(root->status))
        return wrong(k, err, "it was swept before it ended");
    if (!root->swept) {
        TRY(check_numbers(k, err));
        TRY(check_calls(k, err));
        TRY(check_ledger(k, err));
    }
    if (!root->swept && !asked) {
        TRY(check_seen(k, err));
        TRY(check_answers(k, err));
    }
    TRY(check_ids(k, err));
    for (size_t i = 0; i < k->t->runs.n; i++) {
        if (!root->swept)
            TRY(check_status(k, k->t->runs.p[i], err));
        TRY(check_holder(k, k->t->runs.p[i], err));
        TRY(check_path(k, k->t->runs.p[i], err));
    }
    return 0;
}

static WEFT_SUSPENDS int check_root(struct checking *k, const struct wm_run *run, struct upp_err *err)
{
    struct tree t;
    wb_uuid_text(run->id, k->id);
    k->durable = is_durable(k->c, run);
    k->t = &t;
    int r = tree_load(k->s, &k->c->owner, run->id, &t, err);
    if (r >= 0)
        r = check_tree(k, err);
    for (size_t i = 0; r >= 0 && i < k->c->starts.n; i++)
        if (wb_uuid_eq(k->c->starts.p[i].run, run->id))
            r = check_input(k, &k->c->starts.p[i], err);
    tree_done(&t);
    return r;
}

static WEFT_SUSPENDS int check_threads(struct checking *k, size_t *roots, struct upp_err *err)
{
    struct wb_uuid after = {{0}};
    for (size_t n = 1; n;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
        struct wl_thread *threads;
        TRY(wl_list_threads(k->s, &k->c->owner, after, 100, &a, &threads, &n, err));
        for (size_t i = 0; i < n; i++) {
            struct wm_run *runs;
            size_t m;
            after = threads[i].id;
            TRY(wl_list_runs(k->s, &k->c->owner, threads[i].id, false, 10000, &a, &runs, &m, err));
            for (size_t j = 0; j < m; j++)
                if (!runs[j].depth) {
                    TRY(check_root(k, &runs[j], err));
                    ++*roots;
                }
        }
    }
    return 0;
}

static WEFT_SUSPENDS int check_starts(struct checking *k, struct upp_err *err)
{
    for (size_t i = 0; i < k->c->starts.n; i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wm_run run;
        if (!k->c->starts.p[i].durable || is_excused(k->c, k->c->starts.p[i].thread))
            continue;
        int r = wl_get_run(k->s, &k->c->owner, k->c->starts.p[i].run, &a, &run, err);
        wb_uuid_text(k->c->starts.p[i].run, k->id);
        if (r == -UPP_ENOTFOUND)
            return wrong(k, err, "its start was acknowledged, and it is gone");
        TRY(r);
    }
    return check_keys(k->c, err);
}

/* What was seen of runs that are not durable holds until the next crash alone. */
static WEFT_SUSPENDS int forget_unsure(struct checking *k, struct upp_err *err)
{
    for (size_t i = 0; i < k->c->runs.n; i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct checker_run *seen = k->c->runs.p[i];
        struct wm_run run;
        int r = wl_get_run(k->s, &k->c->owner, seen->id, &a, &run, err);
        if (r < 0 && r != -UPP_ENOTFOUND)
            return r;
        if (r >= 0 && is_durable(k->c, &run))
            continue;
        for (size_t e = 0; e < seen->epochs.n; e++)
            seen->epochs.p[e]->by_number.n = 0;
    }
    return 0;
}

/* 8 */
static WEFT_SUSPENDS int check_deleted(struct checking *k, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    for (size_t i = 0; i < k->c->deleted.n; i++) {
        struct wl_thread t;
        int r = wl_get_thread(k->s, &k->c->owner, k->c->deleted.p[i], &a, &t, err);
        if (r >= 0)
            return upp_fail(err, UPP_EBUG, "a thread was deleted, and it is there");
        if (r != -UPP_ENOTFOUND)
            return r;
    }
    for (size_t i = 0; i < k->c->erased.n; i++) {
        struct wl_line line;
        int r = wl_entry_find(k->s, &k->c->owner, k->c->erased.p[i], &a, &line, err);
        if (r >= 0 && !wm_is_erased(&line.entry))
            return upp_fail(err, UPP_EBUG, "a message was deleted, and it can be read");
        if (r < 0 && r != -UPP_ENOTFOUND)
            return r;
    }
    return 0;
}

int checker_check(struct checker *c, struct wl_store *s, bool last, struct upp_err *err)
{
    struct checking k = {.c = c, .s = s, .last = last};
    size_t roots = 0;
    c->count.checks++;
    if (c->wrong[0])
        return upp_fail(err, UPP_EBUG, "%s", c->wrong);
    TRY(check_starts(&k, err));
    if (!last)
        TRY(forget_unsure(&k, err));
    TRY(check_threads(&k, &roots, err));
    TRY(check_deleted(&k, err));
    for (size_t i = 0; i < c->ran.n; i++) /* a start is synced in every durability */
        if (!c->ran.p[i].found && c->ran.p[i].delivery == WEFT_AT_MOST_ONCE && !c->excused.n)
            return upp_fail(err, UPP_EBUG, "'%.*s' ran for a run that is not stored (key %.*s)",
                            UPP_FMT(c->ran.p[i].tool), UPP_FMT(c->ran.p[i].key));
    return 0;
}

int checker_stored(struct wl_store *s, const struct wl_owner *o, struct wb_uuid root, struct wb_buf *out,
                   struct upp_err *err)
{
    struct tree t;
    int r = tree_load(s, o, root, &t, err);
    for (size_t i = 0; r >= 0 && i < t.events.n; i++)
        wb_buf_add(out, t.events.p[i].text);
    tree_done(&t);
    return r < 0 ? r : wb_buf_check(out, err);
}
