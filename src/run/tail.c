/* run/tail.c — reads a path backwards, row by row, until the run has what it needs. */
#include "run/tail.h"

#include "base/hooks.h"
#include "run/engine_state.h"
#include "run/event.h"
#include "run/middleware.h"
#include "run/settings/settings.h"
#include "run/settings/window.h"

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
