/* thread/doc.c — see doc.h. */
#include "thread/doc.h"

#include "base/defs.h"
#include "base/err.h"
#include "thread/event.h"
#include "thread/mend.h"
#include "base/iso8601.h"
#include "model/doc_sidecar.h"
#include "model/id.h"

/* What the rows say of a line of the path beside what it is. */
struct note {
    struct beside              *first, *last; /* what came with it; NULL: nothing */
    const struct wm_reply_info *said;         /* by the model that said it; NULL: nobody knows */
};

struct beside {
    struct beside    *next;
    struct wm_sidecar b;
};

/* An agent of the document by the name that the log has for it. */
struct known {
    struct known  *next;
    struct upp_str name;
    uint32_t       agent;
};

struct making {
    struct wl_store                 *store;
    const struct wl_owner           *owner;
    const struct wa_thread_doc_opts *opts;
    struct wb_arena                 *a;
    struct wm_doc                   *doc;
    struct wb_uuid                   run;  /* of the turn that is open; all zero: none */
    const struct beside             *turn; /* that the next line of a document begins; NULL: none */
    struct note                     *notes;
    size_t                           n_notes;
    struct beside                   *all, *all_last; /* what is about all of the thread */
    struct known                    *known;
    const struct wl_line            *lines;
    size_t                           shared; /* lines that the thread it was forked from has too */
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

static bool is_imported(const struct wm_entry *e)
{
    return e->origin == WM_ORIGIN_IMPORT;
}

/* What was mended of a document is not in it. */
static bool is_in_document(const struct wm_entry *e)
{
    return wm_is_visible(e) && !(e->kind == WM_ENTRY_REPAIR && is_imported(e));
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
    for (const struct known *k = m->known; k; k = k->next)
        if (wb_str_eq(k->name, agent.name)) {
            *ret = k->agent;
            return 0;
        }
    struct known *known = wb_new(m->a, struct known);
    if (!known)
        return wb_arena_check(m->a, err);
    *known = (struct known){.next = m->known, .name = agent.name, .agent = wm_doc_agent_find(m->doc, agent.name)};
    int r  = 0;
    if (known->agent == WM_NO_AGENT) { /* none of a document that was imported */
        if (m->opts && m->opts->agent)
            m->opts->agent(m->opts->arg, &agent);
        if (!agent.id.p)
            agent.id = agent.name;
        r = wm_doc_agent_add(m->doc, &agent, &known->agent, err);
    }
    m->known = known;
    *ret     = known->agent;
    return r;
}

/* Has its run ended? */
WEFT_SUSPENDS static int close_turn(struct making *m, struct upp_err *err)
{
    struct wm_run run;
    if (!m->doc->turns.n || wb_uuid_eq(m->run, (struct wb_uuid){{0}}))
        return 0;
    struct wm_doc_turn *turn = &m->doc->turns.p[m->doc->turns.n - 1];
    int                 r    = wl_get_run(m->store, m->owner, m->run, m->a, &run, err);
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

/* ---- What came with a document --------------------------------------------------------------------------------- */

static int failed(const struct upp_err *err)
{
    return err && err->code ? -err->code : -UPP_ENOMEM;
}

static bool is_own(const struct wm_sidecar *b, const char *slot)
{
    return wb_str_eq(b->dialect, UPP_STR(WM_SIDECAR_OWN)) && wb_str_eq(b->slot, wb_cstr(slot));
}

static int hang(struct making *m, struct wm_residue **to, const struct wm_sidecar *b, struct upp_err *err)
{
    struct wm_residue *x = wb_new(m->a, struct wm_residue);
    if (!x)
        return wb_arena_check(m->a, err);
    *x = (struct wm_residue){.dialect = b->dialect, .slot = b->slot, .entries = b->entries, .json = b->text};
    while (*to)
        to = &(*to)->next;
    *to = x;
    return 0;
}

/* Its agents come first, in their order: others refer to their places. A thread that only shares the document's
 * entries is none that was made of it. */
static int add_document(struct making *m, const struct wl_thread *t, struct upp_err *err)
{
    int r = 0;
    for (const struct beside *x = m->all; r >= 0 && x; x = x->next) {
        struct wm_doc  said = *m->doc;
        struct wb_uuid made;
        if (!is_own(&x->b, "thread")) {
            r = hang(m, &m->doc->residue, &x->b, err);
            continue;
        }
        r              = wm_sidecar_thread_read(m->a, x->b.text, &said, &made, err);
        m->doc->agents = said.agents;
        if (r < 0 || !wb_uuid_eq(made, t->id))
            continue;
        bool same         = m->opts && m->opts->dialect.n && wb_str_eq(m->opts->dialect, said.dialect);
        m->doc->id        = said.id.n || same ? said.id : m->doc->id;
        m->doc->created   = said.created.p || same ? said.created : m->doc->created;
        m->doc->updated   = said.updated.p || same ? said.updated : m->doc->updated;
        m->doc->parent    = said.parent;
        m->doc->parent_at = said.parent_at;
    }
    return r;
}

/* The turn of a document goes on until another begins, or somebody else says something. */
static int open_document_turn(struct making *m, struct upp_err *err)
{
    if (!m->turn)
        return 0;
    struct wm_doc_turn *turn = wm_doc_turn_add(m->doc, err);
    int                 r    = turn ? wm_sidecar_turn_read(m->a, m->turn->b.text, turn, err) : failed(err);
    if (r >= 0 && turn->agent >= m->doc->agents.n)
        turn->agent = WM_NO_AGENT;
    m->turn = NULL;
    m->run  = (struct wb_uuid){{0}};
    return r;
}

/* What its own members say, and what only its dialect has a place for. */
static int add_beside(struct making *m, const struct note *note, struct wm_doc_entry *e, struct upp_err *err)
{
    int r = 0;
    for (const struct beside *x = note->first; r >= 0 && x; x = x->next) {
        if (is_own(&x->b, "entry"))
            r = wm_sidecar_entry_read(m->a, x->b.text, e, err);
        else if (!wm_is_turn(&x->b))
            r = hang(m, &e->residue, &x->b, err);
    }
    if (e->agent >= m->doc->agents.n)
        e->agent = WM_NO_AGENT;
    return r;
}

static int add_imported(struct making *m, const struct wl_line *line, const struct note *note, struct upp_err *err)
{
    int                  r = open_document_turn(m, err);
    struct wm_doc_entry *e = r < 0 ? NULL : wm_doc_entry_add(m->doc, err);
    if (!e)
        return r < 0 ? r : failed(err);
    e->e                     = line->entry;
    struct wm_doc_turn *turn = &m->doc->turns.p[m->doc->turns.n - 1];
    e->agent                 = turn->agent;
    turn->n++;
    return add_beside(m, note, e, err);
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

static void add_usage(struct upp_usage *sum, const struct upp_usage *u)
{
    sum->input += u->input;
    sum->output += u->output;
    sum->cache_read += u->cache_read;
    sum->cache_write += u->cache_write;
    sum->reasoning += u->reasoning;
}

/* In a document events speak of agents by their ids. */
static int agent_id(void *arg, struct upp_str name, struct upp_str *ret, struct upp_err *err)
{
    struct making *m     = arg;
    uint32_t       agent = 0;
    int            r     = agent_of(m, name, &agent, err);
    *ret                 = r < 0 ? name : m->doc->agents.p[agent].id;
    return r;
}

/* What is known of an answer's model: of its message, of what was thought in it, and of its agent. */
static int tell_said(struct making *m, const struct wm_reply_info *said, struct wm_doc_entry *e, struct upp_err *err)
{
    struct wm_doc_agent *agent = e->agent == WM_NO_AGENT ? NULL : &m->doc->agents.p[e->agent];
    e->said                    = *said;
    if (!said->provider.n)
        return 0;
    e->said.response = e->e.message.id;
    if (agent && !agent->model.p) {
        agent->model    = said->model;
        agent->provider = said->provider;
    }
    int r = 0;
    for (size_t i = 0; r >= 0 && i < e->e.message.n_parts; i++) {
        struct upp_part *p = &e->e.message.parts[i];
        if (p->kind == UPP_PART_REASONING && !p->metadata.n)
            r = wa_thought_by(m->a, said->provider, &p->metadata, err);
    }
    return r;
}

WEFT_SUSPENDS static int add_said_line(struct making *m, const struct wl_line *line, struct upp_err *err)
{
    uint32_t agent;
    int      r = speaker(m, line, &agent, err);
    if (r >= 0)
        r = open_turn(m, line, agent, err);
    struct wm_doc_entry *e = r < 0 ? NULL : wm_doc_entry_add(m->doc, err);
    if (!e)
        return r < 0 ? r : failed(err);
    e->e     = line->entry;
    e->agent = agent;
    e->id    = uuid_text(m->a, line->id);
    m->doc->turns.p[m->doc->turns.n - 1].n++;
    if (agent != WM_NO_AGENT && e->e.who.n)
        e->e.who = m->doc->agents.p[agent].name;
    struct wa_event_doc of   = {.lines = m->lines, .n = m->n_notes, .id_of = agent_id, .arg = m};
    struct upp_str      data = e->e.data;
    if (e->e.kind != WM_ENTRY_EVENT)
        return 0;
    r = wa_event_doc(&of, m->a, &data, err); /* agents may be added, but no entries */
    m->doc->entries.p[m->doc->entries.n - 1].e.data = data;
    return r;
}

/* A message of an import that came without a document's turns (a session's) is like any other. */
WEFT_SUSPENDS static int add_line(struct making *m, const struct wl_line *line, const struct note *note,
                                  struct upp_err *err)
{
    for (const struct beside *x = note->first; x; x = x->next)
        if (wm_is_turn(&x->b))
            m->turn = x;
    bool shown = is_in_document(&line->entry);
    bool doc   = is_imported(&line->entry) && m->all && (m->turn || m->doc->turns.n);
    int  r     = !shown ? 0 : doc ? add_imported(m, line, note, err) : add_said_line(m, line, err);
    if (r < 0 || !note->said || !m->doc->turns.n)
        return r;
    struct wm_doc_turn *turn = &m->doc->turns.p[m->doc->turns.n - 1];
    turn->has_usage |= note->said->has_usage; /* also of an answer that nobody is shown */
    add_usage(&turn->usage, &note->said->usage);
    turn->reasoning += note->said->reasoning;
    return shown ? tell_said(m, note->said, &m->doc->entries.p[m->doc->entries.n - 1], err) : 0;
}

WEFT_SUSPENDS static int add_lines(struct making *m, const struct wl_line *lines, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < m->n_notes; i++) {
        if (i == m->shared)
            m->doc->parent_at = (uint32_t)m->doc->entries.n;
        r = add_line(m, &lines[i], &m->notes[i], err);
    }
    return r < 0 ? r : close_turn(m, err);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static int note_said(struct making *m, size_t line, const struct wm_event *ev, struct upp_err *err)
{
    struct wm_reply_info *said = line < m->n_notes ? wb_new(m->a, struct wm_reply_info) : NULL;
    if (!said)
        return line < m->n_notes ? wb_arena_check(m->a, err) : 0;
    *said               = (struct wm_reply_info){.model     = wb_arena_dup(m->a, ev->name),
                                                 .provider  = wb_arena_dup(m->a, ev->call),
                                                 .stop      = ev->stop,
                                                 .has_usage = ev->usage.input || ev->usage.output,
                                                 .usage     = ev->usage,
                                                 .reasoning = ev->usage.reasoning};
    m->notes[line].said = said;
    return wb_arena_check(m->a, err);
}

static int note_beside(struct making *m, size_t line, const struct wm_sidecar *b, struct upp_err *err)
{
    if (!b->thread && line + b->entry >= m->n_notes)
        return 0; /* behind what the thread has of the node */
    struct note   *note = b->thread ? NULL : &m->notes[line + b->entry];
    struct beside *x    = wb_new(m->a, struct beside);
    if (!x)
        return wb_arena_check(m->a, err);
    struct beside **first = note ? &note->first : &m->all, **last = note ? &note->last : &m->all_last;
    x->b         = *b;
    x->b.dialect = wb_arena_dup(m->a, b->dialect);
    x->b.slot    = wb_arena_dup(m->a, b->slot);
    x->b.text    = b->text.p ? wb_arena_dup(m->a, b->text) : b->text;
    if (*last)
        (*last)->next = x;
    else
        *first = x;
    *last = x;
    return wb_arena_check(m->a, err);
}

WEFT_SUSPENDS static int read_notes(struct making *m, const struct wl_span *span, struct upp_err *err)
{
    struct wl_rows rows = {.more = true};
    for (uint64_t from = 0; rows.more;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena page = WB_ARENA(1u << 30);
        struct wl_range range = {.node = span->node, .from = from, .to = wl_pos(span->length, span->length ? 0 : 1)};
        int             r     = m->store->ops->rows(m->store, m->owner, &range, &page, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            const struct wl_row *stored = &rows.p[i];
            size_t               line   = (size_t)span->before + wl_pos_index(stored->pos);
            struct wm_row        row;
            from = stored->pos + 1;
            r    = wm_row_read(&page, stored->format, stored->body, stored->tape, &row, err);
            for (size_t k = 0; r >= 0 && k < row.n_records; k++)
                if (row.records[k].kind == WM_MESSAGE && row.records[k].part < row.n_entries)
                    r = note_said(m, line + row.records[k].part, &row.records[k], err);
            for (size_t k = 0; r >= 0 && k < row.n_beside; k++)
                r = note_beside(m, line, &row.beside[k], err);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Calls of a run that waits --------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int add_results(struct making *m, const struct wl_span *last, struct upp_err *err)
{
    struct wm_doc_turn *turn  = m->doc->turns.n ? &m->doc->turns.p[m->doc->turns.n - 1] : NULL;
    struct wm_entry     entry = {.kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_RUN, .audience = WM_AUDIENCE_ALL};
    struct wm_id        place = {.node = last->node, .index = last->length, .noun = WM_NOUN_ENTRY};
    int                 r     = 0;
    if (turn && turn->partial)
        r = wa_results_waiting(m->store, m->owner, last->node, last->length, m->a, &entry.message, err);
    if (r <= 0)
        return r;
    struct wm_doc_entry *e = wm_doc_entry_add(m->doc, err);
    if (!e)
        return failed(err);
    e->e     = entry;
    e->agent = turn->agent;
    e->id    = uuid_text(m->a, wm_id_uuid(place));
    turn->n++;
    return 0;
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* The thread that it was forked from, or whose it is, and how much of that it has. */
WEFT_SUSPENDS static int find_parent(struct making *m, const struct wl_thread *t, const struct wl_path *path,
                                     struct upp_err *err)
{
    struct wl_thread parent;
    struct wl_path   theirs;
    uint32_t         n = 0;
    if (wb_uuid_eq(t->parent, (struct wb_uuid){{0}}))
        return 0;
    m->doc->parent = uuid_text(m->a, t->parent);
    int r          = wl_get_thread(m->store, m->owner, t->parent, m->a, &parent, err);
    if (r >= 0 && !wb_uuid_eq(parent.tree, t->tree))
        return 0; /* a tree of its own: it has nothing of it */
    if (r >= 0)
        r = wl_thread_path(m->store, m->owner, &parent, m->a, &theirs, err);
    if (r == -UPP_ENOTFOUND) { /* it was deleted: what came before the newest branch was its */
        m->shared = path->n ? path->spans[path->n - 1].before : 0;
        return 0;
    }
    if (r < 0)
        return r;
    for (size_t i = 0; i < path->n && i < theirs.n && path->spans[i].node == theirs.spans[i].node; i++) {
        n = path->spans[i].before + WB_MIN(path->spans[i].length, theirs.spans[i].length);
        if (path->spans[i].length != theirs.spans[i].length)
            break;
    }
    m->shared = n;
    return 0;
}

int wa_thread_doc(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                  const struct wa_thread_doc_opts *opts, struct wb_arena *a, struct wm_doc *ret, struct upp_err *err)
{
    struct making   m = {.store = s, .owner = o, .opts = opts, .a = a, .doc = ret, .shared = SIZE_MAX};
    struct wl_path  path;
    struct wl_line *lines = NULL;
    struct upp_err  why   = {0};
    size_t          n     = 0;
    *ret                  = (struct wm_doc){.id       = uuid_text(a, t->id),
                                            .title    = t->title,
                                            .metadata = t->metadata,
                                            .created  = time_text(a, t->created_ms),
                                            .updated  = time_text(a, t->updated_ms)};
    int r                 = wl_thread_path(s, o, t, a, &path, &why);
    if (r >= 0)
        r = wl_path_tail(s, o, &path, path.length, path.length, a, &lines, &n, &why);
    if (r >= 0)
        r = find_parent(&m, t, &path, &why);
    m.notes   = wb_new_n(a, struct note, n);
    m.lines   = lines;
    m.n_notes = n;
    if (r >= 0)
        r = wb_arena_check(a, &why);
    for (size_t i = 0; r >= 0 && i < path.n; i++)
        r = read_notes(&m, &path.spans[i], &why);
    if (r >= 0)
        r = add_document(&m, t, &why);
    if (r >= 0)
        r = add_lines(&m, lines, &why);
    if (r >= 0 && m.shared != SIZE_MAX && m.shared >= n)
        ret->parent_at = (uint32_t)ret->entries.n;
    if (r >= 0 && path.n && !t->at)
        r = add_results(&m, &path.spans[path.n - 1], &why);
    const struct wm_doc_entry *last = ret->entries.n ? &ret->entries.p[ret->entries.n - 1] : NULL;
    if (r >= 0 && last && (!is_imported(&last->e) || !m.all))
        ret->updated = time_text(a, WB_MAX(last->e.message.time_ms, t->updated_ms));
    if (r >= 0)
        r = wb_arena_check(a, &why);
    if (r < 0 && err)
        *err = why;
    return r;
}
