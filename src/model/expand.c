/* model/expand.c — reconstructs events from message and tape, for a stored row and for an open message. */
#include "json/number.h"
#include "model/doc_calls.h"
#include "model/id.h"
#include "model/row.h"

/* x->offset, by part: UNOPENED; for an open part 1 + the bytes delivered; CLOSED. */
enum { UNOPENED = 0, FIRST_OFFSETS = 8 };
#define CLOSED SIZE_MAX

static size_t assistant_entry(const struct wm_row *row)
{
    size_t i = 0;
    while (i < row->n_entries &&
           !(row->entries[i].kind == WM_ENTRY_MESSAGE && row->entries[i].message.role == UPP_ROLE_ASSISTANT))
        i++;
    return i;
}

/* The entry that the tape belongs to. A voided one would have followed those of the row. */
static size_t taped_entry(const struct wm_row *row)
{
    return row->lost ? row->n_entries : assistant_entry(row);
}

static const struct wm_entry *tool_entry(const struct wm_row *row)
{
    for (size_t i = 0; i < row->n_entries; i++)
        if (row->entries[i].message.role == UPP_ROLE_TOOL)
            return &row->entries[i];
    return NULL;
}

/* A tape without a message means that a step began and produced no output; its prompt has the phase. */
static const struct wm_entry *prompt_entry(const struct wm_row *row)
{
    for (size_t i = 0; row && i < row->n_entries; i++)
        if (row->entries[i].phase.n)
            return &row->entries[i];
    return NULL;
}

static const struct wm_entry *subject(const struct wm_expand *x)
{
    if (!x->row || x->row->lost)
        return x->row ? x->row->lost : x->open;
    return x->entry < x->row->n_entries ? &x->row->entries[x->entry] : NULL;
}

static struct wb_uuid id_of(const struct wm_expand *x, enum wm_noun noun, size_t entry, uint8_t attempt)
{
    return wm_id_uuid((struct wm_id){
        .node = x->from->node, .index = x->index + (uint32_t)entry, .noun = (uint8_t)noun, .attempt = attempt});
}

static int does_not_fit(struct upp_err *err, uint32_t part, const char *why)
{
    return upp_fail(err, UPP_ESTORE, "the tape does not fit its message: part %u %s", part, why);
}

/* Makes room for the offsets of all current parts. */
static __attribute__((noinline)) int grow(struct wm_expand *x, size_t n, struct upp_err *err)
{
    size_t more = WB_MAX(WB_MAX(n, 2 * x->n_offset), (size_t)FIRST_OFFSETS);
    size_t *p = wb_new_n(x->memory, size_t, more);
    if (!p)
        return wb_arena_check(x->memory, err);
    if (x->n_offset)
        memcpy(p, x->offset, x->n_offset * sizeof *p);
    x->offset = p;
    x->n_offset = more;
    return 0;
}

static int part_mark(struct wm_expand *x, const struct wm_entry *e, enum wm_mark mark, uint32_t index, uint64_t bytes,
                     struct wm_event *ev, struct upp_err *err)
{
    if (index >= e->message.n_parts)
        return does_not_fit(err, index, "is not in it");
    const struct upp_part *p = &e->message.parts[index];
    int r = e->message.n_parts > x->n_offset ? grow(x, e->message.n_parts, err) : 0;
    if (r < 0)
        return r;
    size_t *at = &x->offset[index], delivered = *at - 1; /* not open: more than any text has */
    ev->part.index = index;
    ev->part.kind = p->kind;
    ev->part.call = p->id;
    ev->part.name = p->name;
    if (WB_LIKELY(mark == WM_MARK_DELTA && delivered <= p->text.n && bytes <= p->text.n - delivered &&
                  p->kind != UPP_PART_RESULT)) {
        ev->kind = WM_DELTA;
        ev->part.text = wb_str(p->text.p + delivered, (size_t)bytes);
        *at += (size_t)bytes;
        return 1;
    }
    if (mark == WM_MARK_PART) {
        if (*at != UNOPENED)
            return does_not_fit(err, index, "is opened twice");
        *at = 1;
        ev->kind = WM_PART_OPEN;
        ev->part.media = p->media;
        ev->part.metadata = p->metadata;
        return 1;
    }
    if (*at == UNOPENED || *at == CLOSED)
        return does_not_fit(err, index, "is not open");
    if (mark == WM_MARK_CLOSE) {
        ev->kind = WM_PART_CLOSE;
        ev->part.text = wb_str(p->text.p, delivered);
        *at = CLOSED;
        return 1;
    }
    return does_not_fit(err, index, "has less text");
}

/* A step without a message. The row was written when the step ended, so its step is this one. */
static int silent_step(struct wm_expand *x, struct wm_event *ev)
{
    const struct wm_entry *prompt = prompt_entry(x->row);
    ev->kind = WM_STEP_START;
    ev->step = x->row->step;
    x->step_id = ev->step_start.id = id_of(x, WM_NOUN_STEP, 0, x->row->n_entries ? x->row->entries[0].attempt : 0);
    if (prompt)
        ev->step_start.plan_step = wm_plan_step(prompt->phase);
    return 1;
}

/* The next event of the tape: 1; 0: no more. */
static int next_mark(struct wm_expand *x, struct wm_event *ev, struct upp_err *err)
{
    enum wm_mark mark = WM_MARK_STEP;
    uint64_t bytes = 0;
    uint32_t part = 0;
    int r = x->row ? wm_tape_next(x->row->tape, &x->at, &mark, &part, &bytes, err)
                   : wm_tape_follow(x->tape, &x->at, &mark, &part, &bytes, err);
    if (r <= 0)
        return r;
    const struct wm_entry *e = subject(x);
    if (!e && mark == WM_MARK_STEP)
        return silent_step(x, ev);
    if (!e)
        return upp_fail(err, UPP_ESTORE, "a tape without the message that it is about");
    ev->step = x->row ? e->step : x->step;
    if (WB_LIKELY(mark != WM_MARK_STEP && mark != WM_MARK_OPEN))
        return part_mark(x, e, mark, part, bytes, ev, err);
    size_t index = x->row ? x->entry : 0;
    if (mark == WM_MARK_STEP) {
        ev->kind = WM_STEP_START;
        ev->step_start.plan_step = wm_plan_step(e->phase);
        x->step_id = ev->step_start.id = id_of(x, WM_NOUN_STEP, index, e->attempt);
        return 1;
    }
    ev->kind = WM_MESSAGE_OPEN;
    ev->message_open = (struct wm_message_open){
        .id = id_of(x, WM_NOUN_ENTRY, index, e->attempt), .phase = e->phase, .aside = e->audience == WM_AUDIENCE_RUN};
    return 1;
}

static void next_record(struct wm_expand *x, struct wm_event *ev)
{
    const struct wm_row *row = x->row;
    *ev = row->records[x->record++];
    const struct wm_entry *e = wm_has_entry(ev->kind) ? ev->message.entry : NULL;
    if (e)
        ev->message.id = id_of(x, WM_NOUN_ENTRY, (size_t)(e - row->entries), e->attempt);
    if (ev->kind == WM_CHECKPOINT && wb_uuid_is_nil(ev->checkpoint.id)) /* earlier versions stored random ids */
        ev->checkpoint.id = wm_position_uuid((struct wm_position){
            .node = x->from->node, .length = x->index + (uint32_t)row->n_entries, .step = (uint16_t)ev->step});
    if (ev->kind == WM_STEP_END) {
        ev->step_end.results = tool_entry(row);
        ev->step_end.id = x->step_id;
        if (wb_uuid_is_nil(x->step_id))
            ev->step_end.id = id_of(x, WM_NOUN_STEP, 0, row->n_entries ? row->entries[0].attempt : 0);
    }
}

int wm_expand_next(struct wm_expand *x, struct wm_event *ev, struct upp_err *err)
{
    bool first = x->row && x->at.at == 0 && x->at.left == 0 && x->record == 0;
    if (first) {
        x->entry = taped_entry(x->row);
        if (x->row->event)
            x->number = x->row->event;
    }
    *ev = (struct wm_event){0};
    int r = next_mark(x, ev, err);
    bool lost = r > 0 && x->row && x->row->lost;
    if (r < 0)
        return r;
    if (r == 0 && x->row && x->record < x->row->n_records) {
        if (x->row->lost && !x->record && x->row->event)
            x->number = x->row->event;
        next_record(x, ev);
        r = 1;
    }
    if (r > 0) {
        ev->from = lost && x->from_lost ? x->from_lost : x->from;
        ev->number = x->number++;
    }
    return r;
}

/* Skips the rest of a run of deltas, up to that number. */
static int pass_run(struct wm_expand *x, uint64_t number, struct upp_err *err)
{
    const struct upp_part *p = &subject(x)->message.parts[x->at.part];
    size_t *at = &x->offset[x->at.part];
    uint64_t times = WB_MIN(x->at.left, number - x->number);
    if (times > (p->text.n - (*at - 1)) / x->at.bytes)
        return does_not_fit(err, x->at.part, "has less text");
    *at += (size_t)(times * x->at.bytes);
    x->at.left -= times;
    x->number += times;
    return 0;
}

int wm_expand_pass(struct wm_expand *x, uint64_t number, struct upp_err *err)
{
    int r = 1;
    if (!x->row->event)
        return 0;
    x->entry = taped_entry(x->row);
    x->number = x->row->event;
    while (r > 0 && x->number < number) {
        struct wm_event ev = {0};
        r = next_mark(x, &ev, err);
        x->number += r > 0;
        if (r > 0 && ev.kind == WM_DELTA && pass_run(x, number, err) < 0)
            r = -UPP_ESTORE;
    }
    return r < 0 ? r : 0;
}

int wm_row_events(const struct wm_row *row, uint64_t *ret, struct upp_err *err)
{
    uint64_t n = 0, deltas = 0, text = 0;
    size_t entry = assistant_entry(row);
    int r = wm_tape_count(row->tape, &n, &deltas, err);

    const struct wm_entry *about = row->lost ? row->lost : entry < row->n_entries ? &row->entries[entry] : NULL;
    if (r < 0)
        return r;
    if (!about) { /* a step began, and nothing else happened */
        if (n > 1 || (n && row->tape.p[0] != WM_MARK_STEP))
            return upp_fail(err, UPP_ESTORE, "a tape without the message that it is about");
        *ret = n + row->n_records;
        return 0;
    }
    for (size_t i = 0; n && i < about->message.n_parts; i++)
        text += about->message.parts[i].text.n;
    if (deltas > text)
        return upp_fail(err, UPP_ESTORE, "the tape does not fit its message: it is about more text");
    *ret = (row->lost ? 0 : n) + row->n_records;
    return 0;
}

static const struct wm_event *ended_call(struct upp_str call, const struct wm_event *const *ended, size_t n)
{
    while (n-- > 0)
        if (ended[n]->kind == WM_TOOL_ENDED && wb_str_eq(ended[n]->call.id, call))
            return ended[n];
    return NULL;
}

int wm_entry_join(struct wb_arena *a, struct wm_entry *e, const struct wm_event *const *ended, size_t n,
                  struct upp_err *err)
{
    if (e->n_refs > WM_PARTS)
        return upp_fail(err, UPP_ELIMIT, "expected at most %d results in a message, found %zu", WM_PARTS, e->n_refs);
    if (e->n_refs == 0)
        return 0;
    struct upp_part *parts = wb_new_n(a, struct upp_part, e->n_refs);
    size_t found = 0;
    if (!parts)
        return wb_arena_check(a, err);
    for (size_t i = 0; i < e->n_refs; i++) {
        const struct wm_event *ev = ended_call(e->refs[i], ended, n);
        if (ev)
            parts[found++] = (struct upp_part){.kind = UPP_PART_RESULT,
                                               .is_error = ev->tool_ended.outcome != WM_DONE,
                                               .id = ev->call.id,
                                               .name = ev->call.name,
                                               .text = ev->tool_ended.result,
                                               .metadata = wm_result_metadata(ev->tool_ended.outcome)};
    }
    e->message.parts = parts;
    e->message.n_parts = found;
    return (int)(e->n_refs - found);
}
