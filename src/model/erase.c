/* model/erase.c — erases the content of a row.
 *
 * What others depend on stays: that there was an entry, its author and time; the ids and names of calls, and a result
 * for each. So every provider still accepts a history with erased messages.
 */
#include "base/buf.h"
#include "base/err.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/row.h"

static const struct upp_str NO_ARGUMENTS = UPP_STR_INIT("{}");
static const struct upp_str NO_RESULT = UPP_STR_INIT("\"erased\"");
static const struct upp_str NO_EVENT = UPP_STR_INIT("{\"type\":\"erased\"}");

static bool is_message(const struct wm_entry *e)
{
    return e->kind == WM_ENTRY_MESSAGE || e->kind == WM_ENTRY_REPAIR;
}

static bool is_named(const struct wm_erasing *what, struct upp_str call)
{
    for (size_t i = 0; i < what->n_calls; i++)
        if (wb_str_eq(what->calls[i], call))
            return true;
    return false;
}

/* Sets a text; returns 1 if it changed. */
static size_t replace_text(struct upp_str *to, struct upp_str text)
{
    if (wb_str_eq(*to, text) && !to->p == !text.p)
        return 0;
    *to = text;
    return 1;
}

/* ---- Entries ------------------------------------------------------------------------------------------- */

/* Keeps only a message's results and its calls, except cut ones, which have no result. */
static int erase_parts(struct wb_arena *a, struct upp_message *m, struct upp_err *err)
{
    size_t n = 0;
    struct upp_part *parts = m->n_parts ? wb_new_n(a, struct upp_part, m->n_parts) : NULL;
    if (m->n_parts && !parts)
        return wb_arena_check(a, err);
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        bool call = p->kind == UPP_PART_CALL && !p->cut;
        if (call || p->kind == UPP_PART_RESULT)
            parts[n++] = (struct upp_part){.kind = p->kind,
                                           .id = p->id,
                                           .name = p->name,
                                           .text = call ? NO_ARGUMENTS : NO_RESULT,
                                           .is_error = p->is_error};
    }
    m->parts = n ? parts : NULL;
    m->n_parts = n;
    m->metadata = (struct upp_str){0};
    return 0;
}

static int erase_entry(struct wb_arena *a, struct wm_entry *e, const struct wm_erased *mark, struct upp_err *err)
{
    e->erased = *mark;
    e->data = is_message(e) ? (struct upp_str){0} : NO_EVENT;
    return erase_parts(a, &e->message, err);
}

/* Erases the results of erased calls in a message. */
static int erase_results(struct wb_arena *a, struct wm_entry *e, const struct wm_erasing *what, size_t *n,
                         struct upp_err *err)
{
    struct upp_message *m = &e->message;
    size_t found = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        found += m->parts[i].kind == UPP_PART_RESULT && is_named(what, m->parts[i].id);
    if (!found)
        return 0;
    struct upp_part *parts = wb_new_n(a, struct upp_part, m->n_parts);
    if (!parts)
        return wb_arena_check(a, err);
    for (size_t i = 0; i < m->n_parts; i++) {
        parts[i] = m->parts[i];
        if (parts[i].kind == UPP_PART_RESULT && is_named(what, parts[i].id)) {
            *n += replace_text(&parts[i].text, NO_RESULT);
            parts[i].metadata = (struct upp_str){0};
            parts[i].media = NULL;
        }
    }
    m->parts = parts;
    return 0;
}

/* ---- Records ------------------------------------------------------------------------------------------- */

static int erase_pending(struct wb_arena *a, struct wm_event *ev, const struct wm_erasing *what, size_t *n,
                         struct upp_err *err)
{
    if (!ev->run.n_pending)
        return 0;
    struct wm_pending *list = wb_new_n(a, struct wm_pending, ev->run.n_pending);
    if (!list)
        return wb_arena_check(a, err);
    for (size_t i = 0; i < ev->run.n_pending; i++) {
        list[i] = ev->run.pending[i];
        if (what->all || (what->arguments && is_named(what, list[i].call)))
            *n += replace_text(&list[i].arguments, NO_ARGUMENTS);
    }
    ev->run.pending = list;
    return 0;
}

static int erase_record(struct wb_arena *a, struct wm_event *ev, const struct wm_erasing *what, size_t *n,
                        struct upp_err *err)
{
    bool is_call = ev->kind == WM_TOOL_STARTED || ev->kind == WM_TOOL_ENDED;
    bool call = is_call && (what->all || is_named(what, ev->call.id));
    switch (ev->kind) {
    case WM_TOOL_STARTED:
        if (call && (what->all || what->arguments) && !wm_is_branch(ev))
            *n += replace_text(&ev->tool_started.arguments, NO_ARGUMENTS);
        return 0;
    case WM_TOOL_ENDED:
        if (call && !wm_is_branch(ev))
            *n += replace_text(&ev->tool_ended.result, NO_RESULT);
        return 0;
    case WM_RUN:
        if (what->all)
            *n += replace_text(&ev->run.error, (struct upp_str){0}); /* errors may quote content */
        return erase_pending(a, ev, what, n, err);
    default:
        return 0;
    }
}

/* ---- The row ------------------------------------------------------------------------------------------- */

/* The message that the tape belongs to: see model/row.h. */
static size_t taped_entry(const struct wm_row *row)
{
    for (size_t i = 0; i < row->n_entries; i++)
        if (row->entries[i].kind == WM_ENTRY_MESSAGE && row->entries[i].message.role == UPP_ROLE_ASSISTANT)
            return i;
    return SIZE_MAX;
}

static int erase_tape(struct wm_row *row, const struct wm_erasing *what, size_t *n, struct upp_err *err)
{
    uint64_t events;
    bool erases = row->lost ? what->lost : what->entry != SIZE_MAX && what->entry == taped_entry(row);
    if ((!row->tape.n && !row->lost) || !(what->all || erases))
        return 0;
    int r = wm_row_events(row, &events, err);
    if (r < 0)
        return r;
    if (row->event)
        row->event += events - row->n_records;
    row->tape = (struct upp_str){0};
    row->lost = NULL;
    ++*n;
    return 0;
}

/* Does a summary cover this position of the path? Without "through" it covers everything before it. */
static int covers(struct wb_arena *a, const struct wm_entry *e, uint32_t position, struct upp_err *err)
{
    yyjson_val *v;
    uint64_t through;
    if (!e->data.p)
        return 1;
    int r = wj_read(a, e->data, NULL, &v, err);
    if (r < 0)
        return r;
    v = yyjson_obj_get(v, "through");
    return !v || !yyjson_is_raw(v) || !wb_str_u64(wj_text(v), &through) || through > position;
}

/* 1: must be erased. */
static int must_erase(struct wb_arena *a, const struct wm_erasing *what, const struct wm_entry *e, size_t i,
                      struct upp_err *err)
{
    if (what->all || i == what->entry)
        return 1;
    if (what->summed && e->audience == WM_AUDIENCE_MODEL)
        return covers(a, e, what->place, err);
    if (!is_message(e) || e->audience != WM_AUDIENCE_RUN)
        return 0;
    return (e->step == 0 && (what->asides || (what->rewritten && wb_str_eq(e->phase, UPP_STR("history"))))) ||
           (e->step != 0 && what->prompts && e->message.role == UPP_ROLE_USER);
}

/* Numbers stay: the run's progress and usage. The other members contain content. */
static int erase_plans(struct wb_arena *a, struct wm_row *row, size_t *n, struct upp_err *err)
{
    static const struct upp_str content_members[] = {UPP_STR_INIT("metadata"), UPP_STR_INIT("plan"),
                                                     UPP_STR_INIT("own"), UPP_STR_INIT("passing"),
                                                     UPP_STR_INIT("request")};
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WM_ROW_MAX);
    struct wj_writer w;
    yyjson_val *state, *name;
    size_t gone = 0;
    int r = row->state.p ? wj_read(a, row->state, NULL, &state, err) : 0;
    if (r < 0 || !row->state.p || !yyjson_is_obj(state))
        return r;
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    name = yyjson_obj_size(state) ? unsafe_yyjson_get_first(state) : NULL;
    for (size_t i = 0; i < yyjson_obj_size(state); i++, name = unsafe_yyjson_get_next(name + 1)) {
        bool drops = false;
        for (size_t k = 0; k < WB_LEN(content_members); k++)
            drops |= wb_str_eq(wj_text(name), content_members[k]);
        gone += drops;
        if (!drops)
            wj_put_member(&w, name);
    }
    wj_write_close(&w, '}');
    r = wj_writer_check(&w);
    if (r < 0 || !gone)
        return r;
    row->state = wb_arena_dup(a, wb_buf_str(&b));
    *n += gone;
    return wb_arena_check(a, err);
}

/* A sidecar may quote its entry. Who had a turn, and when, stays. */
static size_t erase_sidecars(struct wm_row *row, const struct wm_erasing *what, size_t entry)
{
    size_t kept = 0, n = row->n_beside;
    for (size_t i = 0; i < n; i++) {
        const struct wm_sidecar *b = &row->beside[i];
        bool about = !b->thread && entry >= b->entry && entry - b->entry < WB_MAX(b->entries, 1u);
        if (!what->all && (!about || wm_is_turn(b)))
            row->beside[kept++] = *b;
    }
    row->n_beside = kept;
    return n - kept;
}

int wm_row_erase(struct wb_arena *a, struct wm_row *row, const struct wm_erasing *what, struct upp_err *err)
{
    size_t n = 0;
    int r = erase_tape(row, what, &n, err);
    if (what->all)
        n += erase_sidecars(row, what, 0);
    for (size_t i = 0; r >= 0 && i < row->n_entries; i++) {
        struct wm_entry *e = &row->entries[i];
        size_t before = n;
        int erases = wm_is_erased(e) ? 0 : must_erase(a, what, e, i, err);
        if (erases > 0) {
            r = erase_entry(a, e, &what->mark, err);
            n++;
        } else if (!what->all)
            r = erases < 0 ? erases : erase_results(a, e, what, &n, err);
        if (n != before)
            (void)erase_sidecars(row, what, i);
    }
    for (size_t i = 0; r >= 0 && i < row->n_records; i++)
        r = erase_record(a, &row->records[i], what, &n, err);
    if (what->all)
        n += replace_text(&row->state, (struct upp_str){0});
    else if (r >= 0 && what->plans)
        r = erase_plans(a, row, &n, err);
    return r < 0 ? r : (int)WB_MIN(n, (size_t)INT32_MAX);
}

/* ---- Retention ---------------------------------------------------------------------------------------- */

static bool asks_approval(const struct wm_event *ev)
{
    for (size_t i = 0; i < ev->run.n_pending; i++)
        if (ev->run.pending[i].approval)
            return true;
    return false;
}

static bool survives_sweep(const struct wm_event *ev)
{
    switch (ev->kind) {
    case WM_MESSAGE: /* for its usage */
    case WM_TOOL_ENDED:
    case WM_CHECKPOINT:
    case WM_SYSTEM:
    case WM_APPROVED:
        return true;
    case WM_TOOL_STARTED:
        return ev->tool_started.child_node != 0;
    case WM_RUN: /* who was asked for an approval and who answered: the audit has it for ever */
        return wm_status_ended(ev->run.status) || ev->run.answered_by.n || asks_approval(ev);
    default:
        return false;
    }
}

size_t wm_row_sweep(struct wm_row *row)
{
    size_t n = row->tape.n > 0, kept = 0;
    bool checkpoint = false;
    row->tape = (struct upp_str){0};
    row->lost = NULL;
    for (size_t i = 0; i < row->n_records; i++) {
        struct wm_event ev = row->records[i];
        if (!survives_sweep(&ev))
            continue;
        if (ev.kind == WM_TOOL_STARTED && !wm_is_branch(&ev))
            n += replace_text(&ev.tool_started.arguments, NO_ARGUMENTS);
        checkpoint |= ev.kind == WM_CHECKPOINT;
        row->records[kept++] = ev;
    }
    n += row->n_records - kept;
    row->n_records = kept;
    if (!checkpoint)
        n += replace_text(&row->state, (struct upp_str){0});
    if (n)
        row->event = 0; /* the events have no numbers any more */
    return n;
}
