/* agent/thread_doc.c — see thread_doc.h. */
#include "agent/thread_doc.h"

#include "base/defs.h"
#include "base/err.h"
#include "base/iso8601.h"

struct making {
    struct wl_store                 *store;
    const struct wl_owner           *owner;
    const struct wa_thread_doc_opts *opts;
    struct wb_arena                 *a;
    struct wm_doc                   *doc;
    struct wb_uuid                   run; /* of the turn that is open; all zero: none */
};

static struct upp_str time_text(struct wb_arena *a, int64_t ms)
{
    char           text[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(ms);
    return wb_arena_dup(a, wb_time_upp(&t, text));
}

static struct upp_str uuid_text(struct wb_arena *a, struct wb_uuid u)
{
    char text[WB_UUID_TEXT + 1];
    return wb_arena_dup(a, wb_uuid_text(u, text));
}

static bool is_shown(const struct wm_entry *e)
{
    return e->audience == WM_AUDIENCE_ALL && e->kind != WM_ENTRY_TURN && !wm_is_hidden(e);
}

/* Is it the user's? What a run was asked is, and what a client added; a run itself speaks for its agent. */
static bool is_users(const struct wl_line *line)
{
    return line->entry.kind == WM_ENTRY_MESSAGE && line->entry.message.role == UPP_ROLE_USER &&
           line->entry.origin != WM_ORIGIN_RUN;
}

static int agent_of(struct making *m, struct upp_str name, uint32_t *ret, struct upp_err *err)
{
    struct wm_doc_agent agent = {.name = name.n ? name : UPP_STR("agent")};
    for (size_t i = 0; i < m->doc->agents.n; i++)
        if (wb_str_eq(m->doc->agents.p[i].name, agent.name)) {
            *ret = (uint32_t)i;
            return 0;
        }
    if (m->opts && m->opts->agent)
        m->opts->agent(m->opts->arg, &agent);
    if (!agent.id.p)
        agent.id = agent.name;
    return wm_doc_agent_add(m->doc, &agent, ret, err);
}

/* Has its run ended? */
WEFT_SUSPENDS static int close_turn(struct making *m, struct upp_err *err)
{
    struct wm_run run;
    if (!m->doc->turns.n || wb_uuid_eq(m->run, (struct wb_uuid){{0}}))
        return 0;
    struct wm_doc_turn *turn = &m->doc->turns.p[m->doc->turns.n - 1];
    int                 r    = m->store->ops->run(m->store, m->owner, m->run, m->a, &run, err);
    if (r == -UPP_ENOTFOUND)
        return 0; /* it was swept away */
    if (r < 0)
        return r;
    turn->partial = !wm_status_ended(run.status);
    return 0;
}

/* The turn that the line belongs to; another run or agent begins another. */
WEFT_SUSPENDS static int open_turn(struct making *m, const struct wl_line *line, uint32_t agent, struct upp_err *err)
{
    struct wm_doc_turn *last = m->doc->turns.n ? &m->doc->turns.p[m->doc->turns.n - 1] : NULL;
    bool                same = wb_uuid_eq(m->run, line->run);
    if (last && agent == WM_NO_AGENT ? last->agent == WM_NO_AGENT : last && last->agent == agent && same)
        return 0;
    int r = last && !same ? close_turn(m, err) : 0;
    if (r < 0)
        return r;
    struct wm_doc_turn *turn = wm_doc_turn_add(m->doc, err);
    if (!turn)
        return err && err->code ? -err->code : -UPP_ENOMEM;
    m->run      = agent == WM_NO_AGENT ? (struct wb_uuid){{0}} : line->run;
    turn->agent = agent;
    if (!wb_uuid_eq(m->run, (struct wb_uuid){{0}}))
        turn->run = uuid_text(m->a, m->run);
    return 0;
}

/* Who says it. Results are nobody's: they belong to the agent whose turn it is. */
static int speaker(struct making *m, const struct wl_line *line, uint32_t *ret, struct upp_err *err)
{
    const struct wm_doc_turn *last = m->doc->turns.n ? &m->doc->turns.p[m->doc->turns.n - 1] : NULL;
    *ret                           = WM_NO_AGENT;
    if (is_users(line))
        return 0;
    if (!line->entry.who.n && last && last->agent != WM_NO_AGENT && wb_uuid_eq(m->run, line->run)) {
        *ret = last->agent;
        return 0;
    }
    return agent_of(m, line->entry.who, ret, err);
}

WEFT_SUSPENDS static int add_line(struct making *m, const struct wl_line *line, struct upp_err *err)
{
    uint32_t agent;
    int      r = speaker(m, line, &agent, err);
    if (r >= 0)
        r = open_turn(m, line, agent, err);
    struct wm_doc_entry *e = r < 0 ? NULL : wm_doc_entry_add(m->doc, err);
    if (!e)
        return r < 0 ? r : err && err->code ? -err->code : -UPP_ENOMEM;
    e->e     = line->entry;
    e->agent = agent;
    e->id    = uuid_text(m->a, line->id);
    m->doc->turns.p[m->doc->turns.n - 1].n++;
    return 0;
}

/* ---- What the models said of their answers ----------------------------------------------------------------------- */

/* Where the lines of the path have gone: by line, its entry and its turn. UINT32_MAX: it has none. */
struct places {
    uint32_t *entry, *turn;
    size_t    n;
};

static void add_usage(struct upp_usage *sum, const struct upp_usage *u)
{
    sum->input += u->input;
    sum->output += u->output;
    sum->cache_read += u->cache_read;
    sum->cache_write += u->cache_write;
}

/* Of an answer that nobody is shown the turn has the usage all the same. */
static void add_said(struct wm_doc *doc, const struct places *at, size_t line, const struct wm_event *ev)
{
    if (line >= at->n || at->turn[line] == UINT32_MAX)
        return;
    struct wm_doc_turn *turn = &doc->turns.p[at->turn[line]];
    bool                has  = ev->usage.input || ev->usage.output;
    turn->has_usage |= has;
    add_usage(&turn->usage, &ev->usage);
    if (at->entry[line] == UINT32_MAX)
        return;
    struct wm_said *said = &doc->entries.p[at->entry[line]].said;
    said->stop           = ev->stop;
    said->has_usage      = has;
    said->usage          = ev->usage;
}

WEFT_SUSPENDS static int read_said(struct making *m, const struct wl_span *span, const struct places *at,
                                   struct upp_err *err)
{
    struct wl_rows rows = {.more = true};
    for (uint64_t from = 0; rows.more;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena page = WB_ARENA(1u << 30);
        struct wl_range range = {.node = span->node, .from = from, .to = wl_pos(span->length, 0)};
        int             r     = m->store->ops->rows(m->store, m->owner, &range, &page, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            const struct wl_row *stored = &rows.p[i];
            struct wm_row        row;
            from = stored->pos + 1;
            r    = wm_row_read(&page, stored->format, stored->body, stored->tape, &row, err);
            for (size_t k = 0; r >= 0 && k < row.n_records; k++)
                if (row.records[k].kind == WM_MESSAGE && row.records[k].part < row.n_entries)
                    add_said(m->doc, at, (size_t)span->before + wl_pos_index(stored->pos) + row.records[k].part,
                             &row.records[k]);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* Every line that is shown becomes an entry. */
WEFT_SUSPENDS static int add_lines(struct making *m, const struct wl_line *lines, const struct places *at,
                                   struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < at->n; i++) {
        bool shown   = is_shown(&lines[i].entry);
        at->entry[i] = shown ? (uint32_t)m->doc->entries.n : UINT32_MAX;
        r            = shown ? add_line(m, &lines[i], err) : 0;
        at->turn[i]  = m->doc->turns.n ? (uint32_t)m->doc->turns.n - 1 : UINT32_MAX;
    }
    return r < 0 ? r : close_turn(m, err);
}

int wa_thread_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                  const struct wa_thread_doc_opts *opts, struct wb_arena *a, struct wm_doc *ret, struct upp_err *err)
{
    struct making   m = {.store = s, .owner = o, .opts = opts, .a = a, .doc = ret};
    struct wl_path  path;
    struct wl_line *lines;
    struct upp_err  why = {0};
    size_t          n   = 0;
    *ret                = (struct wm_doc){.id       = uuid_text(a, t->id),
                                          .title    = t->title,
                                          .metadata = t->metadata,
                                          .created  = time_text(a, t->created_ms),
                                          .updated  = time_text(a, t->updated_ms)};
    int r               = wl_thread_path(s, o, t, a, &path, &why);
    if (r >= 0)
        r = wl_path_tail(s, o, &path, path.length, path.length, a, &lines, &n, &why);
    struct places at = {wb_new_n(a, uint32_t, n), wb_new_n(a, uint32_t, n), n};
    if (r >= 0)
        r = wb_arena_check(a, &why);
    if (r >= 0)
        r = add_lines(&m, lines, &at, &why);
    for (size_t i = 0; r >= 0 && i < path.n; i++)
        r = read_said(&m, &path.spans[i], &at, &why);
    if (r >= 0 && ret->entries.n && ret->entries.p[ret->entries.n - 1].e.message.time_ms > t->updated_ms)
        ret->updated = time_text(a, ret->entries.p[ret->entries.n - 1].e.message.time_ms);
    if (r >= 0)
        r = wb_arena_check(a, &why);
    if (r < 0 && err)
        *err = why;
    return r;
}
