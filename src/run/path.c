/* run/path.c — the path of a run as its model receives it: the history, and the run's own messages behind it. */
#include "run/path.h"

#include "base/hooks.h"
#include "run/engine_state.h"
#include "run/event.h"
#include "run/middleware.h"
#include "run/tail.h"
#include "run/turn.h"

static int add_history(struct wr_run *run, const struct upp_message *m, size_t position, struct upp_err *err)
{
    if (!wb_vec_push(&run->positions, (uint32_t)position, UINT32_MAX))
        return upp_fail(err, UPP_ENOMEM, "no memory for the path");
    run->n_history++;
    return wr_path_add(run, m, err);
}

static int add_ids(struct wr_run *run, const struct upp_message *m, struct upp_err *err)
{
    int r = 0;
    for (const struct upp_part *p = NULL; r >= 0 && (p = upp_part_next(m, p, UPP_PARTS_CALLS));) {
        r = wr_ids_add(&run->ids, p->id, err);
        if (r >= 0 && run->row.depth)
            r = wr_ids_add(&run->tree->ids, p->id, err);
    }
    return r;
}

/* An answer needs a question before it: providers and chat templates refuse a history that begins with an answer, or
 * has two in a row. A placeholder replaces a question that the model does not get if there is no other. */
static int add_placeholder(struct wr_run *run, const struct wr_tail *tail, size_t i, struct upp_err *err)
{
    static const struct upp_part erased = {.kind = UPP_PART_TEXT, .text = UPP_STR_INIT("[erased]")};
    static const struct upp_part handoff = {.kind = UPP_PART_TEXT, .text = UPP_STR_INIT("[handed over]")};
    const struct wl_line *line = tail->lines[i];
    if (line->entry.audience != WM_AUDIENCE_ALL || line->entry.message.role != UPP_ROLE_USER ||
        (run->path.n && run->path.p[run->path.n - 1]->role != UPP_ROLE_ASSISTANT))
        return 0;
    size_t next = i + 1;
    while (next < tail->n && !wr_is_received(run, tail->lines[next]))
        next++;
    if (next == tail->n || tail->lines[next]->entry.message.role != UPP_ROLE_ASSISTANT)
        return 0;
    struct upp_message *m = wb_new(&run->memory, struct upp_message);
    struct upp_part *parts = wb_new(&run->memory, struct upp_part);
    if (!m || !parts)
        return wb_arena_check(&run->memory, err);
    *parts = wm_is_hidden(&line->entry) ? erased : handoff;
    *m = line->entry.message;
    m->metadata = (struct upp_str){0};
    m->parts = parts;
    m->n_parts = 1;
    return add_history(run, m, tail->from + i, err);
}

/* After how many of the run's own steps a grant holds: one of another run at once. A branch has the history of its run,
 * whose current step has not ended: its grants do not hold in the branch. */
static uint32_t grant_step(const struct wr_run *run, const struct wl_line *line)
{
    if (wb_uuid_eq(line->run, run->row.id))
        return line->entry.step;
    bool step_goes_on =
        run->branch && wb_uuid_eq(line->run, run->row.parent) && line->entry.step > run->parent->pub.state.step;
    return step_goes_on ? UINT32_MAX : 0;
}

static int load_event(struct wr_run *run, const struct wl_line *line, struct upp_err *err)
{
    bool mine = wb_uuid_eq(line->run, run->row.id) && !wr_is_context(&line->entry);
    int r = mine && run->branch ? wr_event_note(run, line->entry.data, err) : 0;
    return r < 0 ? r : wr_grant_note(run, line->entry.data, grant_step(run, line), err);
}

/* Adds one entry of the path, as the run's agent sees it. */
static int load_line(struct wr_run *run, const struct wl_line *line, size_t position, struct upp_err *err)
{
    const struct upp_message *m = &line->entry.message, *seen;
    bool mine = wb_uuid_eq(line->run, run->row.id);
    int r = 0;
    if (line->entry.kind == WM_ENTRY_EVENT)
        return load_event(run, line, err);
    if (!wr_is_received(run, line))
        return 0;
    if (mine && line->entry.audience == WM_AUDIENCE_ALL)
        r = wr_mine_note(run, m, err);
    if (mine && run->pub.state.step && line->entry.step <= run->pub.state.step) /* the first step has the input */
        run->step.from.messages = run->mine.n;
    if (r >= 0)
        r = wr_message_for_agent(run, m, line->entry.who, &seen, err);
    if (r >= 0)
        r = mine ? wr_path_add(run, seen, err) : add_history(run, seen, position, err);
    if (r >= 0 && mine && m->role == UPP_ROLE_ASSISTANT && wb_str_eq(line->entry.phase, UPP_STR("reason")))
        r = wr_reasoned(run, m, err);
    return r < 0 ? r : add_ids(run, m, err);
}

/* A line that the summary covers, or whose grants are known: nothing of it is needed but the ids of its calls. */
static bool is_covered(const struct wr_tail *tail, const struct wl_line *line, size_t position)
{
    return line->entry.kind == WM_ENTRY_EVENT ? position < tail->granted : tail->summary && position < tail->through;
}

static int load_position(struct wr_run *run, const struct wr_tail *tail, size_t i, struct upp_err *err)
{
    struct wl_line *line = tail->lines[i];
    size_t position = tail->from + i;
    if (is_covered(tail, line, position))
        return add_ids(run, &line->entry.message, err);
    run->time_ms = WB_MAX(run->time_ms, line->entry.message.time_ms);
    if (line->node == run->row.node && line->index == run->row.input && line->entry.message.role == UPP_ROLE_USER)
        run->pub.input = &line->entry.message;
    if (line->entry.kind != WM_ENTRY_EVENT && wb_uuid_eq(line->run, run->row.id))
        run->middleware.input_position = WB_MIN(run->middleware.input_position, (uint32_t)position);
    bool is_replaced = wm_is_hidden(&line->entry) || wr_is_imported_prompt(&line->entry);
    return is_replaced ? add_placeholder(run, tail, i, err) : load_line(run, line, position, err);
}

/* Its state has the grants before it, for the runs after it; but a branch is on no path that goes on. */
static int carry_grants(struct wr_run *run, const struct wr_tail *tail, size_t n, struct upp_err *err)
{
    run->carried = (struct upp_str){0};
    if (run->branch || tail->own < WR_TAIL_FIRST)
        return 0;
    return wr_grants_write(run, n, tail->own, &run->carried, err);
}

WEFT_SUSPENDS int wr_path_load(struct wr_run *run, struct upp_err *err)
{
    struct wr_tail tail;
    int r = wr_tail_read(run, &tail, err);
    if (r >= 0 && tail.summary) /* it replaces everything before it */
        r = add_history(run, &tail.summary->entry.message, UINT32_MAX, err);
    if (r >= 0 && tail.grants.n)
        r = wr_grants_read(run, tail.grants, err);
    if (r < 0)
        return r;
    size_t granted = run->grants.n;
    run->unread = tail.from;
    run->time_ms = WB_MAX(run->time_ms, run->end.time_ms);
    run->middleware.input_position = tail.from + (uint32_t)tail.n;
    for (size_t i = 0; i < tail.n; i++) {
        r = load_position(run, &tail, i, err);
        if (r < 0)
            return r;
        if (tail.from + i < tail.own)
            granted = run->grants.n;
    }
    r = carry_grants(run, &tail, granted, err);
    return r < 0 ? r : wr_context_restore(run, tail.lines, tail.n, err);
}

static struct upp_str speaker_of(const struct wr_run *run, size_t message)
{
    for (size_t i = 0; i < run->speakers.n; i++)
        if (message < run->speakers.p[i].until)
            return run->speakers.p[i].who;
    return (struct upp_str){0};
}

int wr_path_reload(struct wr_run *run, struct upp_err *err)
{
    if (run->engine->store) {
        run->path.n = run->mine.n = run->reasoning.n = run->grants.n = run->n_history = 0;
        run->positions.n = run->middleware.n_remembered = 0;
        run->middleware.input = NULL;
        wr_ids_clear(&run->ids);
        return wr_path_load(run, err);
    }
    /* Without a store the history is the caller's, and its authors are not known. */
    run->path.n = run->n_history;
    run->middleware.n_remembered = 0;
    for (size_t i = 0; i < run->mine.n; i++) {
        const struct upp_message *seen = run->mine.p[i];
        int r = wr_message_for_agent(run, run->mine.p[i], speaker_of(run, i), &seen, err);
        if (r >= 0)
            r = wr_path_add(run, i == 0 && run->middleware.input && run->pub.input ? run->middleware.input : seen, err);
        if (r < 0)
            return r;
    }
    return 0;
}
