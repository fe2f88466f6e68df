/* run/path.c — the path of a run as its model receives it: the history, and the run's own messages behind it. */
#include "run/path.h"

#include "base/hooks.h"
#include "run/engine_state.h"
#include "run/event.h"
#include "run/middleware.h"
#include "run/run.h"
#include "run/settings/settings.h"
#include "run/settings/window.h"

/* ---- The end of the path: read backwards, row by row, until the run has what it needs ---------------------------- */

struct reading {
    struct wr_run *run;
    struct wr_tail *to;
    bool windowed;    /* the agent's memory, or the request's truncation, leaves only the end of the history */
    uint64_t tokens;  /* of the messages of the history that were read */
    size_t messages;  /* their number */
    uint64_t counted; /* of those before the newest user message: what truncation counts */
    bool begins;      /* there is a place among them where the model's list may begin */
    bool has_user;    /* a user message was read */
    uint32_t enough;  /* position from which on there is all that can be left of it; 0: not reached */
    WB_VEC(struct wl_line *) lines; /* newest first */
};

static void reading_done(struct reading *in)
{
    wb_vec_done(&in->lines);
}

bool wr_is_received(const struct wr_run *run, const struct wl_line *line)
{
    const struct wm_entry *e = &line->entry;
    if (wm_is_hidden(e) || wr_is_imported_prompt(e))
        return false;
    if ((e->kind != WM_ENTRY_MESSAGE && e->kind != WM_ENTRY_REPAIR) || wr_is_context(e))
        return false;
    /* Only its run (and that run's branches) sees scaffolding, and there only the agent that wrote it. */
    return e->audience != WM_AUDIENCE_RUN ||
           ((wb_uuid_eq(line->run, run->row.id) || wb_uuid_eq(line->run, run->row.parent)) &&
            (!e->who.n || !run->def || wb_str_eq(e->who, run->def->name)));
}

/* NULL: the run needs the whole history. */
static const struct wr_window *window_of(const struct wr_run *run)
{
    static const struct wr_window any = {.tokens = UINT64_MAX};
    const struct wr_agent_def *def = run->def;
    if (!def || def->reads_history || def->closing)
        return NULL;
    if (!def->middleware)
        return &any;
    return def->middleware->window.tokens ? &def->middleware->window : NULL;
}

/* May the end of the history be enough? */
static bool is_windowed(const struct wr_run *run)
{
    const struct wr_window *window = window_of(run);
    const struct wr_settings *s = run->settings;
    return window && (window->tokens < UINT64_MAX || (s && (s->max_prompt || s->last_messages)));
}

/* Memory leaves no more than what was read if the messages have more tokens than may stay, and the list may begin at
 * one of them without cutting into those that always stay. What a model receives of a message is never shorter than the
 * message. Truncation by the request counts back from the newest input, which may be the last user message. */
static bool is_enough(const struct reading *in)
{
    const struct wr_window *window = window_of(in->run);
    const struct wr_settings *s = in->run->settings;
    if (in->begins && in->tokens > window->tokens)
        return true;
    if (!s)
        return false;
    return (s->max_prompt && in->tokens > s->max_prompt) || (s->last_messages && in->counted >= s->last_messages);
}

static void count_message(struct reading *in, const struct wl_line *line, uint32_t at)
{
    const struct upp_message *m = &line->entry.message;
    if (!in->windowed || in->enough || at >= in->to->own || !wr_is_received(in->run, line))
        return;
    in->messages++;
    in->tokens += wr_message_tokens(m);
    if (in->has_user && wr_window_counts(m))
        in->counted++;
    if (m->role == UPP_ROLE_USER) {
        in->has_user = true;
        in->begins = in->begins || in->messages >= window_of(in->run)->keep;
    }
    if (is_enough(in))
        in->enough = at;
}

static int take_line(struct reading *in, struct wl_line *line, uint32_t at, struct upp_err *err)
{
    struct wr_tail *to = in->to;
    uint32_t position;
    if (!wb_vec_push(&in->lines, line, UINT32_MAX))
        return upp_fail(err, UPP_ENOMEM, "no memory for the path");
    if (!to->grants.n && line->grants.n && wr_grants_before(in->run, line->grants, &position) && position <= at) {
        to->grants = line->grants;
        to->granted = position;
    }
    if (!to->summary && wr_is_summary(in->run, line, at, &position)) {
        to->summary = line;
        to->through = position;
    }
    if (wr_counts_history(in->run, line)) /* its numbers are those of the whole history */
        in->windowed = false;
    count_message(in, line, at);
    return 0;
}

/* 0: the whole path is needed, as far as is known. */
static uint32_t first_needed(const struct reading *in)
{
    const struct wr_tail *to = in->to;
    uint32_t seen = in->windowed ? in->enough : 0;
    if (to->summary)
        seen = WB_MAX(seen, to->through);
    return WB_MIN(to->own, WB_MIN(to->granted, seen));
}

static WEFT_SUSPENDS int read_back(struct reading *in, const struct wl_path *path, uint32_t end, uint32_t max,
                                   struct upp_err *err)
{
    struct wr_run *run = in->run;
    struct wl_line *lines;
    size_t n;
    int r = wl_path_tail(run->engine->store, &run->tree->owner, path, end, max, &run->memory, &lines, &n, err);
    if (r < 0)
        return r;
    for (size_t i = n; i-- > 0;) {
        r = take_line(in, &lines[i], end - (uint32_t)(n - i), err);
        if (r < 0)
            return r;
    }
    in->to->from = end - (uint32_t)n;
    return 0;
}

static int put_in_order(const struct reading *in, struct upp_err *err)
{
    struct wr_tail *to = in->to;
    to->n = in->lines.n;
    to->lines = wb_new_n(&in->run->memory, struct wl_line *, to->n + 1);
    if (!to->lines)
        return wb_arena_check(&in->run->memory, err);
    for (size_t i = 0; i < to->n; i++)
        to->lines[i] = in->lines.p[to->n - 1 - i];
    return 0;
}

int wr_tail_read(struct wr_run *run, struct wr_tail *ret, struct upp_err *err)
{
    WB_CLEANUP(reading_done) struct reading in = {.run = run, .to = ret, .windowed = is_windowed(run)};
    struct wl_path path;
    struct wl_store *s = run->engine->store;
    int r = wl_path_open(s, &run->tree->owner, run->row.node, run->end.length, &run->memory, &path, err);
    if (r < 0)
        return r;
    *ret = (struct wr_tail){.from = path.length};
    ret->own = WB_MIN(path.spans[path.n - 1].before + wl_pos_index(run->row.first), path.length);
    uint32_t block = WR_TAIL_FIRST;
    for (uint32_t first = 0; ret->from > first; first = first_needed(&in)) {
        r = read_back(&in, &path, ret->from, first ? ret->from - first : block, err);
        if (r < 0)
            return r;
        block = block < path.length ? 2 * block : block;
    }
    return put_in_order(&in, err);
}

/* ---- The path ---------------------------------------------------------------------------------------------------- */

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
