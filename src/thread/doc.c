/* thread/doc.c — reads the rows of a thread, and makes turns, messages and events of them. */
#include "thread/doc.h"

#include "base/defs.h"
#include "base/err.h"
#include "thread/replies.h"
#include "thread/repair.h"
#include "base/iso8601.h"
#include "log/note.h"
#include "model/doc_sidecar.h"
#include "model/id.h"

/* What the rows know about a line of the path besides its entry. */
struct note {
    struct sidecar_item *first, *last; /* its sidecars; NULL: none */
    const struct wm_reply_info *reply; /* about the model's reply; NULL: unknown */
};

struct sidecar_item {
    struct sidecar_item *next;
    struct wm_sidecar b;
};

/* A call that was denied. Its result is the first one of that id from the line on. */
struct denied {
    struct denied *next;
    struct upp_str call;
    size_t line;
    bool found;
};

/* What replies that no document has (of scaffolding) cost, before the turn of their run begins. */
struct unspent {
    struct wb_uuid run;
    struct upp_usage usage;
};

/* An agent of the document, by its name in the log. */
struct known {
    struct known *next;
    struct upp_str name;
    uint32_t agent;
};

struct making {
    struct wl_store *store;
    const struct wl_owner *owner;
    const struct wa_thread_doc_opts *opts;
    struct wb_arena *a;
    struct wm_doc *doc;
    struct wb_uuid run;              /* of the open turn; all zero: none */
    const struct sidecar_item *turn; /* the turn that begins with the next imported line; NULL: none */
    struct note *notes;
    size_t n_notes;
    struct sidecar_item *all, *all_last; /* sidecars of the whole thread */
    struct known *known;
    struct denied *denied;
    const struct wl_line *lines;
    struct unspent *unspent; /* of `run` before its agent's turn begins; NULL: none */
    size_t shared;           /* number of lines that the parent thread has too */
    uint32_t author;         /* of the imported turn that is being read */
    uint32_t joined;         /* by_run: goes on in another agent's imported turn, after its prompt */
};

static struct upp_str time_text(struct wb_arena *a, int64_t ms)
{
    char text[WB_TIME_TEXT];
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

/* Repairs of imported documents are not exported. */
static bool is_in_document(const struct wm_entry *e)
{
    return wm_is_visible(e) && !(e->kind == WM_ENTRY_REPAIR && is_imported(e));
}

/* What an agent of strategy react thought before it acted: readers of the run saw it as reasoning. */
static bool is_thought(const struct wm_entry *e)
{
    return e->kind == WM_ENTRY_MESSAGE && e->message.role == UPP_ROLE_ASSISTANT && e->audience != WM_AUDIENCE_ALL &&
           !wm_is_hidden(e) && wb_str_eq(e->phase, UPP_STR("reason"));
}

/* What an agent of strategy plan wrote for itself alone: readers of the run saw a step that shows nothing. */
static bool is_silent_step(const struct making *m, const struct wm_entry *e)
{
    return m->opts && m->opts->by_run && e->kind == WM_ENTRY_MESSAGE && e->message.role == UPP_ROLE_ASSISTANT &&
           e->audience != WM_AUDIENCE_ALL && !wm_is_hidden(e) && !is_thought(e);
}

/* Its text is no vendor's reasoning: none takes it back as such. What the vendor itself called reasoning is marked as
 * the vendor's before. */
static int show_thought(struct wb_arena *a, struct wm_entry *e, struct upp_err *err)
{
    e->audience = WM_AUDIENCE_ALL;
    for (size_t i = 0; i < e->message.n_parts; i++)
        if (e->message.parts[i].kind == UPP_PART_TEXT)
            e->message.parts[i].kind = UPP_PART_REASONING;
    return wa_reasoning_mark(a, UPP_STR("weft"), &e->message, err);
}

/* True for the user's messages: inputs of runs, and messages that a client added. What a run itself adds is its
 * agent's. */
static bool is_users(const struct wl_line *line)
{
    return line->entry.kind == WM_ENTRY_MESSAGE && line->entry.message.role == UPP_ROLE_USER &&
           !wm_is_prompt(&line->entry);
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
    int r = 0;
    if (known->agent == WM_NO_AGENT) { /* not an agent of the imported document */
        if (m->opts && m->opts->agent) {
            m->opts->agent(m->opts->arg, &agent);
            agent.name = wb_arena_dup(m->a, agent.name); /* the configuration may be replaced while the rest is read */
            if (agent.id.p)
                agent.id = wb_arena_dup(m->a, agent.id);
            if (agent.prompt_now.n)
                agent.prompt_now = wb_arena_dup(m->a, agent.prompt_now);
        }
        if (!agent.id.p)
            agent.id = agent.name;
        r = wm_doc_agent_add(m->doc, &agent, &known->agent, err);
    }
    m->known = known;
    *ret = known->agent;
    return r;
}

/* A turn ends with its run, unless the next one had begun (an input that waited), and not before its last entry. */
static void set_end(struct making *m, struct wm_doc_turn *turn, const struct wm_run *run, int64_t next_ms)
{
    int64_t last = turn->n ? m->doc->entries.p[turn->first + turn->n - 1].e.message.time_ms : INT64_MAX;
    int64_t end = WB_MIN(run->ended_ms, next_ms);
    if (end > last)
        turn->ended = time_text(m->a, end);
}

/* Ends the last turn, or marks it as partial if its run has not ended. next_ms: when the next turn begins. */
WEFT_SUSPENDS static int close_turn(struct making *m, int64_t next_ms, struct upp_err *err)
{
    struct wm_run run;
    if (!m->doc->turns.n || wb_uuid_is_nil(m->run))
        return 0;
    struct wm_doc_turn *turn = &m->doc->turns.p[m->doc->turns.n - 1];
    int r = wl_get_run(m->store, m->owner, m->run, m->a, &run, err);
    if (r == -UPP_ENOTFOUND)
        return 0; /* the run was swept */
    if (r < 0)
        return r;
    turn->partial = !wm_status_ended(run.status);
    if (!turn->partial)
        set_end(m, turn, &run, next_ms);
    return 0;
}

/* A turn has one run and one agent; by_run, one run. */
static bool continues_turn(const struct making *m, const struct wm_doc_turn *last, const struct wl_line *line,
                           uint32_t agent)
{
    bool by_run = m->opts && m->opts->by_run;
    if (agent == WM_NO_AGENT || last->agent == WM_NO_AGENT)
        return agent == last->agent && !by_run;
    if (by_run && is_imported(&line->entry) && (agent == m->joined || wm_is_prompt(&line->entry)))
        return true;
    return wb_uuid_eq(m->run, line->run) && (last->agent == agent || (by_run && !wb_uuid_is_nil(line->run)));
}

/* The id of a turn by_run: of the message that the run's streams have, or the client's. */
WEFT_SUSPENDS static int turn_id(struct making *m, const struct wl_line *line, bool users, struct upp_str *ret,
                                 struct upp_err *err)
{
    struct wm_run run;
    if (users) {
        *ret = line->entry.message.id.n ? line->entry.message.id : *ret;
        return 0;
    }
    int r = wl_get_run(m->store, m->owner, line->run, m->a, &run, err);
    if (r >= 0)
        *ret = uuid_text(m->a, wm_id_uuid((struct wm_id){.node = run.node, .index = run.input, .noun = WM_NOUN_TURN}));
    return r == -UPP_ENOTFOUND ? 0 : r;
}

/* Opens the turn of a line, unless the line continues the last one. */
WEFT_SUSPENDS static int open_turn(struct making *m, const struct wl_line *line, uint32_t agent, struct upp_err *err)
{
    struct wm_doc_turn *last = m->doc->turns.n ? &m->doc->turns.p[m->doc->turns.n - 1] : NULL;
    struct upp_str id = {NULL, 0};
    if (last && continues_turn(m, last, line, agent)) {
        m->joined = agent == last->agent ? m->joined : agent;
        return 0;
    }
    int r = last && !wb_uuid_eq(m->run, line->run) ? close_turn(m, line->entry.message.time_ms, err) : 0;
    if (r >= 0 && m->opts && m->opts->by_run)
        r = turn_id(m, line, agent == WM_NO_AGENT, &id, err);
    if (r < 0)
        return r;
    struct wm_doc_turn *turn = wm_doc_turn_add(m->doc, err);
    if (!turn)
        return err && err->code ? -err->code : -UPP_ENOMEM;
    m->run = agent == WM_NO_AGENT ? WB_UUID_NIL : line->run;
    turn->agent = agent;
    turn->id = id;
    m->author = agent;
    m->joined = WM_NO_AGENT;
    if (!wb_uuid_is_nil(m->run))
        turn->run = uuid_text(m->a, m->run);
    return 0;
}

/* A system event that a client posted between runs: no agent wrote it. */
static bool is_posted_event(const struct wl_line *line)
{
    return line->entry.kind == WM_ENTRY_EVENT && line->entry.origin == WM_ORIGIN_CLIENT && !line->entry.who.n;
}

/* The next line that a run's agent wrote. Sets *answers: no input of the user comes before it. NULL: none. */
static const struct wl_line *next_reply(const struct making *m, const struct wl_line *from, bool *answers)
{
    *answers = true;
    for (const struct wl_line *line = from; line < m->lines + m->n_notes; line++) {
        if (is_users(line))
            *answers = false;
        else if (line->entry.who.n && is_in_document(&line->entry) && !is_imported(&line->entry))
            return line;
    }
    return NULL;
}

/* ThreadProtocol has events in turns of agents alone. A posted one ends the agent's turn before it, otherwise it begins
 * the one after it; in a thread without agents it is of the user's turn. */
WEFT_SUSPENDS static int open_event_turn(struct making *m, const struct wl_line *line, uint32_t *agent,
                                         struct upp_err *err)
{
    const struct wm_doc_turn *last = m->doc->turns.n ? &m->doc->turns.p[m->doc->turns.n - 1] : NULL;
    struct wl_line in_turn = *line;
    bool answers = false;
    *agent = last ? last->agent : WM_NO_AGENT;
    if (*agent != WM_NO_AGENT && !last->ended.p)
        return 0;
    const struct wl_line *reply = *agent == WM_NO_AGENT ? next_reply(m, line, &answers) : NULL;
    int r = reply ? agent_of(m, reply->entry.who, agent, err) : 0;
    if (answers && reply)
        in_turn.run = reply->run;
    if (r < 0 || (last && *agent == WM_NO_AGENT))
        return r;
    return open_turn(m, &in_turn, *agent, err);
}

/* The author of a line. Results have none: they belong to the agent whose turn it is. */
static int author_of(struct making *m, const struct wl_line *line, uint32_t *ret, struct upp_err *err)
{
    const struct wm_doc_turn *last = m->doc->turns.n ? &m->doc->turns.p[m->doc->turns.n - 1] : NULL;
    *ret = WM_NO_AGENT;
    if (is_users(line))
        return 0;
    if (!line->entry.who.n && last && last->agent != WM_NO_AGENT && wb_uuid_eq(m->run, line->run)) {
        *ret = last->agent;
        return 0;
    }
    return agent_of(m, line->entry.who, ret, err);
}

/* ---- What came with a document --------------------------------------------------------------------------------- */

static int error_code(const struct upp_err *err)
{
    return err && err->code ? -err->code : -UPP_ENOMEM;
}

static bool is_own(const struct wm_sidecar *b, const char *slot)
{
    return wb_str_eq(b->dialect, UPP_STR(WM_SIDECAR_OWN)) && wb_str_eq(b->slot, wb_cstr(slot));
}

static int add_residue(struct making *m, struct wm_residue **to, const struct wm_sidecar *b, struct upp_err *err)
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

/* Agents are added first and in their order: sidecars refer to them by index. A thread that only shares the imported
 * entries (a fork) does not get the document's id, times and parent. */
static int add_document(struct making *m, const struct wl_thread *t, struct upp_err *err)
{
    int r = 0;
    for (const struct sidecar_item *x = m->all; r >= 0 && x; x = x->next) {
        struct wm_doc imported = *m->doc;
        struct wb_uuid made;
        if (!is_own(&x->b, "thread")) {
            r = add_residue(m, &m->doc->residue, &x->b, err);
            continue;
        }
        r = wm_sidecar_thread_read(m->a, x->b.text, &imported, &made, err);
        m->doc->agents = imported.agents;
        if (r < 0 || !wb_uuid_eq(made, t->id))
            continue;
        bool same = m->opts && m->opts->dialect.n && wb_str_eq(m->opts->dialect, imported.dialect);
        m->doc->id = imported.id.n || same ? imported.id : m->doc->id;
        m->doc->created = imported.created.p || same ? imported.created : m->doc->created;
        m->doc->updated = imported.updated.p || same ? imported.updated : m->doc->updated;
        m->doc->parent = imported.parent;
        m->doc->parent_at = imported.parent_at;
    }
    return r;
}

/* by_run: was the imported turn written by the run of the one before? Its document says so, or it begins with what the
 * agent before asked this one. */
static bool is_of_last_run(const struct making *m, const struct wm_doc_turn *turn, const struct wl_line *line)
{
    const struct wm_doc_turn *last = m->doc->turns.n ? &m->doc->turns.p[m->doc->turns.n - 1] : NULL;
    if (!m->opts || !m->opts->by_run || !last || last->agent == WM_NO_AGENT || turn->agent == WM_NO_AGENT)
        return false;
    return wm_is_prompt(&line->entry) || (turn->run.n && wb_str_eq(turn->run, last->run));
}

static void join_turn(struct wm_doc_turn *last, const struct wm_doc_turn *turn)
{
    last->ended = turn->ended.p ? turn->ended : last->ended;
    last->partial |= turn->partial;
    last->has_usage |= turn->has_usage;
    wm_usage_add(&last->usage, &turn->usage);
}

/* An imported turn continues until the next one begins, or until a run's line. */
static int open_document_turn(struct making *m, const struct wl_line *line, struct upp_err *err)
{
    struct wm_doc_turn turn = {0};
    int r = m->turn ? wm_sidecar_turn_read(m->a, m->turn->b.text, &turn, err) : 0;
    if (r < 0 || !m->turn)
        return r;
    if (turn.agent >= m->doc->agents.n)
        turn.agent = WM_NO_AGENT;
    m->turn = NULL;
    m->run = WB_UUID_NIL;
    m->author = turn.agent;
    if (is_of_last_run(m, &turn, line)) {
        join_turn(&m->doc->turns.p[m->doc->turns.n - 1], &turn);
        return 0;
    }
    struct wm_doc_turn *added = wm_doc_turn_add(m->doc, err);
    if (!added)
        return error_code(err);
    turn.first = added->first;
    *added = turn;
    return 0;
}

/* Adds the entry's own sidecar and the residue of its dialect. */
static int add_sidecars(struct making *m, const struct note *note, struct wm_doc_entry *e, struct upp_err *err)
{
    int r = 0;
    for (const struct sidecar_item *x = note->first; r >= 0 && x; x = x->next) {
        if (is_own(&x->b, "entry"))
            r = wm_sidecar_entry_read(m->a, x->b.text, e, err);
        else if (!wm_is_turn(&x->b))
            r = add_residue(m, &e->residue, &x->b, err);
    }
    if (e->agent >= m->doc->agents.n)
        e->agent = WM_NO_AGENT;
    return r;
}

static int add_imported(struct making *m, const struct wl_line *line, const struct note *note, struct upp_err *err)
{
    int r = open_document_turn(m, line, err);
    struct wm_doc_entry *e = r < 0 ? NULL : wm_doc_entry_add(m->doc, err);
    if (!e)
        return r < 0 ? r : error_code(err);
    e->e = line->entry;
    struct wm_doc_turn *turn = &m->doc->turns.p[m->doc->turns.n - 1];
    e->agent = m->author;
    turn->n++;
    return add_sidecars(m, note, e, err);
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

/* Events of a document refer to agents by id. */
static int agent_id(void *arg, struct upp_str name, struct upp_str *ret, struct upp_err *err)
{
    struct making *m = arg;
    uint32_t agent = 0;
    int r = agent_of(m, name, &agent, err);
    *ret = r < 0 ? name : m->doc->agents.p[agent].id;
    return r;
}

/* Adds the reply's model to the entry, to its reasoning parts and to its agent. */
static int add_reply_info(struct making *m, const struct wm_reply_info *reply, struct wm_doc_entry *e,
                          struct upp_err *err)
{
    struct wm_doc_agent *agent = e->agent == WM_NO_AGENT ? NULL : &m->doc->agents.p[e->agent];
    e->said = *reply;
    if (!reply->provider.n)
        return 0;
    e->said.response = e->e.message.id;
    if (agent && !agent->model.p) {
        agent->model = reply->model;
        agent->provider = reply->provider;
    }
    return wa_reasoning_mark(m->a, reply->provider, &e->e.message, err);
}

static void spend(struct wm_doc_turn *turn, const struct upp_usage *u)
{
    turn->has_usage |= u->input || u->output;
    wm_usage_add(&turn->usage, u);
}

/* A reply costs the turn of its agent, also if no document has it. Before that turn begins, the cost waits for it. */
static int spend_reply(struct making *m, const struct wl_line *line, const struct upp_usage *u, struct upp_err *err)
{
    struct wm_doc_turn *turn = &m->doc->turns.p[m->doc->turns.n - 1];
    if (turn->agent != WM_NO_AGENT || wb_uuid_is_nil(line->run)) {
        spend(turn, u);
        return 0;
    }
    if (!m->unspent || !wb_uuid_eq(m->unspent->run, line->run)) {
        m->unspent = wb_new(m->a, struct unspent);
        if (!m->unspent)
            return wb_arena_check(m->a, err);
        m->unspent->run = line->run;
    }
    wm_usage_add(&m->unspent->usage, u);
    return 0;
}

/* Says in the metadata of results which calls were denied, where dialects that have a word for it look. */
static void mark_denied(const struct making *m, size_t line, struct upp_message *message)
{
    for (struct denied *d = m->denied; d; d = d->next)
        for (size_t i = 0; i < message->n_parts && !d->found && d->line <= line; i++) {
            struct upp_part *p = &message->parts[i];
            if (p->kind != UPP_PART_RESULT || !p->is_error || !wb_str_eq(p->id, d->call))
                continue;
            d->found = true;
            if (!p->metadata.n)
                p->metadata = UPP_STR("{\"pydantic_ai\":{\"outcome\":\"denied\"}}");
        }
}

WEFT_SUSPENDS static int add_run_line(struct making *m, const struct wl_line *line, struct upp_err *err)
{
    uint32_t agent;
    bool posted = is_posted_event(line);
    int r = posted ? open_event_turn(m, line, &agent, err) : author_of(m, line, &agent, err);
    if (r >= 0 && !posted)
        r = open_turn(m, line, agent, err);
    struct wm_doc_entry *e = r < 0 ? NULL : wm_doc_entry_add(m->doc, err);
    if (!e)
        return r < 0 ? r : error_code(err);
    e->e = line->entry;
    e->agent = agent;
    e->id = uuid_text(m->a, line->id);
    struct wm_doc_turn *turn = &m->doc->turns.p[m->doc->turns.n - 1];
    turn->n++;
    if (m->unspent && agent != WM_NO_AGENT && wb_uuid_eq(m->unspent->run, line->run)) {
        spend(turn, &m->unspent->usage);
        m->unspent = NULL;
    }
    if (agent != WM_NO_AGENT && e->e.who.n)
        e->e.who = m->doc->agents.p[agent].name;
    struct wa_event_doc of = {.lines = m->lines, .n = m->n_notes, .id_of = agent_id, .arg = m};
    struct upp_str data = e->e.data;
    if (e->e.kind != WM_ENTRY_EVENT) {
        mark_denied(m, (size_t)(line - m->lines), &e->e.message);
        return 0;
    }
    r = wa_event_doc(&of, m->a, &data, err); /* agents may be added, but no entries */
    m->doc->entries.p[m->doc->entries.n - 1].e.data = data;
    return r;
}

/* An imported message without turns (of a session document) is handled like any other. */
WEFT_SUSPENDS static int add_line(struct making *m, const struct wl_line *line, const struct note *note,
                                  struct upp_err *err)
{
    for (const struct sidecar_item *x = note->first; x; x = x->next)
        if (wm_is_turn(&x->b))
            m->turn = x;
    bool thought = is_thought(&line->entry), silent = is_silent_step(m, &line->entry);
    bool visible = thought || silent || is_in_document(&line->entry);
    bool doc = is_imported(&line->entry) && m->all && (m->turn || m->doc->turns.n);
    int r = !visible ? 0 : doc ? add_imported(m, line, note, err) : add_run_line(m, line, err);
    if (r >= 0 && note->reply && m->doc->turns.n)
        r = spend_reply(m, line, &note->reply->usage, err);
    if (r < 0 || !visible)
        return r;
    struct wm_doc_entry *e = &m->doc->entries.p[m->doc->entries.n - 1];
    if (note->reply)
        r = add_reply_info(m, note->reply, e, err);
    if (silent) {
        e->e.audience = WM_AUDIENCE_ALL;
        e->e.message.n_parts = 0;
    }
    return r >= 0 && thought ? show_thought(m->a, &e->e, err) : r;
}

WEFT_SUSPENDS static int add_lines(struct making *m, const struct wl_line *lines, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < m->n_notes; i++) {
        if (i == m->shared)
            m->doc->parent_at = (uint32_t)m->doc->entries.n;
        r = add_line(m, &lines[i], &m->notes[i], err);
    }
    return r < 0 ? r : close_turn(m, INT64_MAX, err);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static int note_reply(struct making *m, size_t line, const struct wm_event *ev, struct upp_err *err)
{
    return line < m->n_notes ? wa_reply_of(m->a, ev, &m->notes[line].reply, err) : 0;
}

static int note_sidecar(struct making *m, size_t line, const struct wm_sidecar *b, struct upp_err *err)
{
    if (!b->thread && line + b->entry >= m->n_notes)
        return 0; /* after the part of the node that the thread sees */
    struct note *note = b->thread ? NULL : &m->notes[line + b->entry];
    struct sidecar_item *x = wb_new(m->a, struct sidecar_item);
    if (!x)
        return wb_arena_check(m->a, err);
    struct sidecar_item **first = note ? &note->first : &m->all, **last = note ? &note->last : &m->all_last;
    x->b = *b;
    x->b.dialect = wb_arena_dup(m->a, b->dialect);
    x->b.slot = wb_arena_dup(m->a, b->slot);
    x->b.text = b->text.p ? wb_arena_dup(m->a, b->text) : b->text;
    if (*last)
        (*last)->next = x;
    else
        *first = x;
    *last = x;
    return wb_arena_check(m->a, err);
}

/* What the records of a row tell about its entries, and about results that follow. */
static int note_record(struct making *m, size_t line, const struct wm_row *row, const struct wm_event *ev,
                       struct upp_err *err)
{
    if (ev->kind == WM_MESSAGE)
        return note_reply(m, line + wa_reply_entry(row, ev), ev, err);
    if (ev->kind != WM_TOOL_ENDED || ev->tool_ended.outcome != WM_DENIED)
        return 0;
    struct denied *d = wb_new(m->a, struct denied);
    if (!d)
        return wb_arena_check(m->a, err);
    *d = (struct denied){.next = m->denied, .call = wb_arena_dup(m->a, ev->call.id), .line = line};
    m->denied = d;
    return wb_arena_check(m->a, err);
}

WEFT_SUSPENDS static int read_notes(struct making *m, const struct wl_span *span, struct upp_err *err)
{
    struct wl_rows rows = {.more = true};
    for (uint64_t from = 0; rows.more;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena page = WB_ARENA(1u << 30);
        struct wl_range range = {.node = span->node, .from = from, .to = wl_pos(span->length, span->length ? 0 : 1)};
        int r = wl_store_rows(m->store, m->owner, &range, &page, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            const struct wl_row *stored = &rows.p[i];
            size_t line = (size_t)span->before + wl_pos_index(stored->pos);
            struct wm_row row;
            from = stored->pos + 1;
            r = wm_row_read(&page, stored->format, stored->body, stored->tape, &row, err);
            for (size_t k = 0; r >= 0 && k < row.n_records; k++)
                r = note_record(m, line, &row, &row.records[k], err);
            for (size_t k = 0; r >= 0 && k < row.n_beside; k++)
                r = note_sidecar(m, line, &row.beside[k], err);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Calls of a run that waits --------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int add_results(struct making *m, const struct wl_span *last, struct upp_err *err)
{
    struct wm_doc_turn *turn = m->doc->turns.n ? &m->doc->turns.p[m->doc->turns.n - 1] : NULL;
    struct wm_entry entry = {.kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_RUN, .audience = WM_AUDIENCE_ALL};
    struct wm_id id = {.node = last->node, .index = last->length, .noun = WM_NOUN_ENTRY};
    int r = 0;
    if (turn && turn->partial)
        r = wa_results_waiting(m->store, m->owner, last->node, last->length, m->a, &entry.message, err);
    if (r <= 0)
        return r;
    struct wm_doc_entry *e = wm_doc_entry_add(m->doc, err);
    if (!e)
        return error_code(err);
    e->e = entry;
    e->agent = turn->agent;
    e->id = uuid_text(m->a, wm_id_uuid(id));
    turn->n++;
    return 0;
}

/* The turn of an agent that has not said anything yet: ThreadProtocol shows that it works (TP-51). */
WEFT_SUSPENDS static int add_silent_turn(struct making *m, struct upp_err *err)
{
    const struct wl_line *line = m->n_notes ? &m->lines[m->n_notes - 1] : NULL;
    const struct wm_doc_turn *last = m->doc->turns.n ? &m->doc->turns.p[m->doc->turns.n - 1] : NULL;
    struct wm_run run;
    uint32_t agent;
    if (!m->opts || !wb_str_eq(m->opts->dialect, UPP_STR("thread")) || !line || !last || last->agent != WM_NO_AGENT ||
        !last->n || wb_uuid_is_nil(line->run))
        return 0;
    int64_t asked = m->doc->entries.p[last->first + last->n - 1].e.message.time_ms;
    int r = wl_get_run(m->store, m->owner, line->run, m->a, &run, err);
    if (r < 0 || wm_status_ended(run.status) || run.status == WM_QUEUED)
        return r == -UPP_ENOTFOUND ? 0 : r;
    r = agent_of(m, run.agent, &agent, err);
    struct wm_doc_turn *turn = r < 0 ? NULL : wm_doc_turn_add(m->doc, err);
    if (!turn)
        return r < 0 ? r : error_code(err);
    turn->agent = agent;
    turn->partial = true;
    turn->run = uuid_text(m->a, line->run);
    turn->started = turn->ended = time_text(m->a, WB_MAX(run.started_ms, asked));
    return 0;
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* The thread from which it was forked, or whose sub-thread it is, and how many lines they share. */
WEFT_SUSPENDS static int find_parent(struct making *m, const struct wl_thread *t, const struct wl_path *path,
                                     struct upp_err *err)
{
    struct wl_thread parent;
    struct wl_path theirs;
    uint32_t n = 0;
    if (wb_uuid_is_nil(t->parent))
        return 0;
    m->doc->parent = uuid_text(m->a, t->parent);
    int r = wl_get_thread(m->store, m->owner, t->parent, m->a, &parent, err);
    if (r >= 0 && !wb_uuid_eq(parent.tree, t->tree))
        return 0; /* another tree: no lines are shared */
    if (r >= 0)
        r = wl_thread_path(m->store, m->owner, &parent, m->a, &theirs, err);
    if (r == -UPP_ENOTFOUND) { /* deleted: what precedes the newest branch was its */
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
    struct making m = {.store = s,
                       .owner = o,
                       .opts = opts,
                       .a = a,
                       .doc = ret,
                       .shared = SIZE_MAX,
                       .author = WM_NO_AGENT,
                       .joined = WM_NO_AGENT};
    struct wl_path path;
    struct wl_line *lines = NULL;
    struct upp_err why = {0};
    size_t n = 0;
    *ret = (struct wm_doc){.id = uuid_text(a, t->id),
                           .title = t->title,
                           .metadata = t->metadata,
                           .created = time_text(a, t->created_ms),
                           .updated = time_text(a, t->updated_ms)};
    int r = wl_thread_path(s, o, t, a, &path, &why);
    if (r >= 0)
        r = wl_path_tail(s, o, &path, path.length, path.length, a, &lines, &n, &why);
    if (r >= 0)
        r = wl_notes_read(s, o, lines, n, a, &why);
    if (r >= 0)
        r = find_parent(&m, t, &path, &why);
    m.notes = wb_new_n(a, struct note, n);
    m.lines = lines;
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
    if (r >= 0 && !t->at)
        r = add_silent_turn(&m, &why);
    const struct wm_doc_entry *last = ret->entries.n ? &ret->entries.p[ret->entries.n - 1] : NULL;
    if (r >= 0 && last && (!is_imported(&last->e) || !m.all))
        ret->updated = time_text(a, WB_MAX(last->e.message.time_ms, t->updated_ms));
    if (r >= 0)
        r = wb_arena_check(a, &why);
    if (r < 0 && err)
        *err = why;
    return r;
}
