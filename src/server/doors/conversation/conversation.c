/* server/doors/conversation/conversation.c — finds the thread that a chat request continues. */
#include "server/doors/conversation/conversation.h"

#include "base/clock.h"
#include "dialects/responses/response.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"
#include "log/log.h"
#include "model/call_source.h"
#include "model/id.h"
#include "run/engine.h"
#include "server/doors/options.h"
#include "server/http/server.h"

enum { BATCH = 128, ANSWER_MAX = 64 << 20 };

static struct upp_str alias_of(struct sv_exchange *x, struct upp_str agent, const char *digest)
{
    return wb_arena_printf(&x->arena, "chat:%s:%.*s", digest, UPP_FMT(agent));
}

/* ---- What it answered -------------------------------------------------------------------------------------------- */

struct answer {
    struct wb_buf text; /* as dialects/chat sends it */
    uint64_t node;
    uint32_t index; /* of its last entry */
    bool any;
};

static int add_line(struct answer *a, const struct wl_line *line, struct wb_uuid run, struct upp_err *err)
{
    const struct wm_entry *e = &line->entry;
    if (!wb_uuid_eq(line->run, run))
        return 0;
    a->any = true;
    a->node = line->node;
    a->index = line->index;
    if (e->kind != WM_ENTRY_MESSAGE || e->audience != WM_AUDIENCE_ALL || e->message.role != UPP_ROLE_ASSISTANT)
        return 0;
    size_t before = a->text.n;
    if (before)
        wb_buf_add(&a->text, UPP_STR("\n\n"));
    size_t begun = a->text.n;
    int r = sv_conversation_text(&a->text, &e->message, err);
    if (a->text.n == begun)
        a->text.n = before;
    return r;
}

/* Reads the thread backwards to the run's first entry, then what it wrote in order. */
WEFT_SUSPENDS static int read_answer(struct sv_exchange *x, const struct wl_thread *t, const struct wm_run *run,
                                     struct answer *a, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_path path;
    struct wl_line *lines;
    size_t n = 0;
    uint32_t want = BATCH;
    int r = wl_thread_path(s, &x->owner, t, &x->arena, &path, err);
    for (bool found = false; r >= 0 && !found; want *= 4) {
        r = wl_path_tail(s, &x->owner, &path, path.length, want, &x->arena, &lines, &n, err);
        for (size_t i = 0; r >= 0 && i < n && !found; i++)
            found = wb_uuid_eq(lines[i].run, run->id) && i > 0 && !wb_uuid_eq(lines[i - 1].run, run->id);
        found = found || n < want || want > UINT32_MAX / 8;
    }
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = add_line(a, &lines[i], run->id, err);
    return r;
}

/* Is this what the run said? The answer to results is only what came after them. */
static bool is_answer(const struct sv_conversation_messages *m, struct upp_str given, struct upp_str said)
{
    bool after = m->next > 1 && m->list.p[m->next - 2].message.role == UPP_ROLE_TOOL;
    return after ? wb_str_ends(said, given) : wb_str_eq(said, given);
}

/* Where the thread goes on after a run that has ended. 0: the last answer in `m` is not what it said. m NULL: any is.
 */
WEFT_SUSPENDS static int continue_after(struct sv_exchange *x, const struct sv_conversation_messages *m,
                                        const struct wm_run *run, struct sv_conversation_place *place,
                                        struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf given = WB_BUF(SV_MAX_BODY);
    struct answer a = {.text = WB_BUF(ANSWER_MAX)};
    struct wl_thread from = place->thread;
    int r = m ? sv_conversation_text(&given, &m->list.p[m->next - 1].message, err) : 0;
    if (r >= 0)
        r = read_answer(x, &from, run, &a, err);
    bool same = r >= 0 && (!m || (a.any && is_answer(m, wb_buf_str(&given), wb_buf_str(&a.text))));
    wb_buf_done(&a.text);
    if (r < 0 || !same)
        return r < 0 ? r : 0;
    place->made = sv_made_thread(x, run);
    place->node = a.any ? a.node : 0;
    place->length = a.index + 1;
    return 1;
}

int sv_conversation_after(struct sv_exchange *x, const struct wm_run *run, struct sv_conversation_place *ret,
                          struct upp_err *err)
{
    *ret = (struct sv_conversation_place){.named = true};
    int r = wl_get_thread(x->server->opts.store, &x->owner, run->thread, &x->arena, &ret->thread, err);
    if (r >= 0 && run->status == WM_WAITING)
        ret->waits = run->id;
    else if (r >= 0 && wm_status_ended(run->status))
        r = continue_after(x, NULL, run, ret, err);
    return r < 0 ? r : 0;
}

/* Is it a call of a tool that the client runs? */
static bool is_clients(struct wb_arena *a, const struct upp_message *m, struct upp_str call)
{
    struct wm_call_source of;
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CALLS));)
        if (wb_str_eq(p->id, call))
            return wm_call_source_read(a, p->metadata, &of, NULL) >= 0 && of.source == WM_TOOL_CLIENT;
    return false;
}

/* Does the conversation go on there, after the results? */
static bool is_next(const struct wl_line *line)
{
    const struct wm_entry *e = &line->entry;
    return e->kind == WM_ENTRY_MESSAGE && e->audience == WM_AUDIENCE_ALL && e->message.role != UPP_ROLE_TOOL;
}

/* The results that the log has for the calls of an entry, before `end` of the same node. There may be system events
 * between them. */
WEFT_SUSPENDS static int read_results(struct sv_exchange *x, const struct wl_line *calls, uint32_t end,
                                      const struct upp_message **ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    bool over = false;
    int r = 0;
    for (uint32_t from = calls->index + 1; r >= 0 && !over && from < end; from += BATCH) {
        uint32_t n_batch = WB_MIN(end - from, (uint32_t)BATCH);
        struct wl_path path;
        struct wl_line *lines;
        size_t n = 0;
        r = wl_path_open(s, &x->owner, calls->node, from + n_batch, &x->arena, &path, err);
        if (r >= 0)
            r = wl_path_tail(s, &x->owner, &path, path.length, n_batch, &x->arena, &lines, &n, err);
        for (size_t i = 0; r >= 0 && i < n && !over; i++) {
            const struct wm_entry *e = &lines[i].entry;
            if (e->message.role == UPP_ROLE_TOOL && !wm_is_hidden(e))
                *ret = &e->message;
            over = *ret || is_next(&lines[i]);
        }
    }
    return r;
}

int sv_conversation_after_call(struct sv_exchange *x, const struct wm_run *run, struct upp_str call,
                               struct sv_conversation_place *place, struct upp_err *err)
{
    struct wl_line *line = wb_new(&x->arena, struct wl_line);
    struct wb_uuid entry;
    uint32_t part;
    if (!line)
        return wb_arena_check(&x->arena, err);
    if (!wm_status_ended(run->status) || !sv_call_entry(call, &entry, &part))
        return 0;
    int r = wl_entry_find(x->server->opts.store, &x->owner, entry, &x->arena, line, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    if (!wb_uuid_eq(line->run, run->id) || !is_clients(&x->arena, &line->entry.message, call))
        return 0;
    if (place->node == line->node)
        r = read_results(x, line, place->length, &place->results, err);
    place->calls = &line->entry.message;
    place->node = line->node;
    place->length = line->index + 1;
    return r < 0 ? r : 0;
}

/* Does the run wait for outputs of this message's calls, and for nothing else? */
static bool waits_for_outputs(struct wb_arena *a, const struct wr_run_info *look, const struct upp_message *m,
                              struct upp_str call)
{
    bool open = false;
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CALLS));)
        if (!is_clients(a, m, p->id))
            return false;
    for (size_t i = 0; i < look->n_pending; i++) {
        if (look->pending[i].approval || !wb_uuid_eq(look->pending[i].run, look->run.id))
            return false;
        open = open || wb_str_eq(look->pending[i].call, call);
    }
    return open;
}

int sv_conversation_take_over(struct sv_exchange *x, struct upp_str call, struct sv_conversation_place *place,
                              struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_line *line = wb_new(&x->arena, struct wl_line);
    struct wr_run_info look;
    struct wb_uuid entry;
    uint32_t part;
    if (!line)
        return wb_arena_check(&x->arena, err);
    if (!sv_call_entry(call, &entry, &part))
        return 0;
    int r = wr_get(x->core->engine, &x->owner, place->waits, &x->arena, &look, err);
    if (r >= 0)
        r = wl_entry_find(s, &x->owner, entry, &x->arena, line, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    if (!wb_uuid_eq(line->run, look.run.id) || !waits_for_outputs(&x->arena, &look, &line->entry.message, call))
        return 0;
    r = wr_is_unstored(s, &x->owner, place->thread.id, err);
    if (r != 0)
        return r < 0 ? r : 0;
    place->ends = place->waits;
    place->waits = WB_UUID_NIL;
    place->made = sv_made_thread(x, &look.run);
    place->calls = &line->entry.message;
    place->node = line->node;
    place->length = line->index + 1;
    return 1;
}

int sv_conversation_add_results(struct wb_arena *a, const struct sv_conversation_place *place,
                                struct sv_conversation_messages *m, struct upp_err *err)
{
    struct upp_message *to = m->list.n ? &m->list.p[0].message : NULL;
    if (!place->results || !to || to->role != UPP_ROLE_TOOL)
        return 0;
    struct upp_part *parts = wb_new_n(a, struct upp_part, to->n_parts + place->results->n_parts);
    size_t n = to->n_parts;
    if (!parts)
        return wb_arena_check(a, err);
    memcpy(parts, to->parts, n * sizeof *parts);
    for (const struct upp_part *p = NULL; (p = upp_part_next(place->results, p, UPP_PARTS_RESULTS));)
        if (!sv_conversation_count(to, UPP_PARTS_RESULTS, p->id))
            parts[n++] = *p;
    to->parts = parts;
    to->n_parts = n;
    return 0;
}

/* ---- The run that waits ------------------------------------------------------------------------------------------ */

bool sv_call_entry(struct upp_str call, struct wb_uuid *entry, uint32_t *part)
{
    struct wb_uuid u;
    struct wm_id id;
    if (!wb_str_starts(call, UPP_STR("call_")) || !wb_uuid_parse(wb_str_sub(call, 5, SIZE_MAX), &u) ||
        !wm_id_parse(u, &id) || id.noun != WM_NOUN_PART)
        return false;
    *part = id.part;
    *entry = wm_id_within(u, WM_NOUN_ENTRY, 0);
    return true;
}

/* Has the run begun with this conversation, or gone on with it? 1: yes. */
WEFT_SUSPENDS static int is_of_run(struct sv_exchange *x, const struct wm_run *run, const char *digest,
                                   struct upp_err *err)
{
    yyjson_val *v = NULL;
    struct wb_uuid id;
    if (run->options.n && wj_read(&x->arena, run->options, NULL, &v, NULL) >= 0 &&
        wb_str_eq(wj_text_at(v, SV_CONVERSATION), wb_cstr(digest)))
        return 1;
    struct upp_str name = alias_of(x, run->agent, digest);
    int r = wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = wl_get_alias(x->server->opts.store, &x->owner, WL_ALIAS_RUN, name, &id, err);
    return r == -UPP_ENOTFOUND ? 0 : r < 0 ? r : wb_uuid_eq(id, run->id);
}

/* The root of the run that made a call. */
WEFT_SUSPENDS static int get_caller(struct sv_exchange *x, struct wb_uuid entry, struct wm_run *ret,
                                    struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_line line;
    int r = wl_entry_find(s, &x->owner, entry, &x->arena, &line, err);
    if (r >= 0)
        r = wl_get_run(s, &x->owner, line.run, &x->arena, ret, err);
    if (r >= 0 && !wb_uuid_eq(ret->root, ret->id))
        r = wl_get_run(s, &x->owner, ret->root, &x->arena, ret, err);
    return r;
}

/* The run that waits for what the request answers, in this conversation and no other. 1; 0: there is none. */
WEFT_SUSPENDS static int find_wait(struct sv_exchange *x, struct upp_str agent,
                                   const struct sv_conversation_messages *m, struct upp_str call, bool approves,
                                   struct sv_conversation_place *ret, struct upp_err *err)
{
    struct wb_uuid entry;
    struct wl_thread t;
    struct wm_run run;
    uint32_t part;
    int r = sv_call_entry(call, &entry, &part) ? get_caller(x, entry, &run, err) : -UPP_ENOTFOUND;
    if (r >= 0 && (run.status != WM_WAITING || !wb_str_eq(run.agent, agent)))
        return 0;
    if (r >= 0)
        r = wl_get_thread(x->server->opts.store, &x->owner, run.thread, &x->arena, &t, err);
    if (r < 0 || !wb_str_eq(t.owner.user, x->owner.user))
        return r == -UPP_ENOTFOUND || r >= 0 ? 0 : r;
    r = m->next ? is_of_run(x, &run, m->before, err) : 0;
    if (r == 0 && approves) /* the run may have shown no message yet */
        r = is_of_run(x, &run, m->all, err);
    if (r > 0)
        *ret = (struct sv_conversation_place){.thread = t, .waits = run.id};
    return r;
}

static bool begins_with_results(const struct sv_conversation_messages *m)
{
    return m->next < m->list.n && m->list.p[m->next].message.role == UPP_ROLE_TOOL;
}

static struct upp_str first_answer(const struct sv_conversation_messages *m, const struct sv_answers *answers)
{
    if (answers && answers->n)
        return answers->p[0].call;
    return begins_with_results(m) ? m->list.p[m->next].message.parts[0].id : (struct upp_str){NULL, 0};
}

int sv_conversation_find_place(struct sv_exchange *x, struct upp_str agent, const struct sv_conversation_messages *m,
                               const struct sv_answers *answers, struct sv_conversation_place *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct upp_str call = first_answer(m, answers);
    struct upp_str name;
    struct wb_uuid id;
    struct wm_run run;
    *ret = (struct sv_conversation_place){0};
    int r = call.n ? find_wait(x, agent, m, call, answers && answers->n, ret, err) : 0;
    if (r != 0 || !m->next || begins_with_results(m)) /* in a thread whose calls do not wait they have results */
        return r < 0 ? r : 0;
    name = alias_of(x, agent, m->before);
    r = wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = wl_get_alias(s, &x->owner, WL_ALIAS_RUN, name, &id, err);
    if (r >= 0)
        r = wl_get_run(s, &x->owner, id, &x->arena, &run, err);
    if (r >= 0)
        r = wl_get_thread(s, &x->owner, run.thread, &x->arena, &ret->thread, err);
    if (r >= 0 && wm_status_ended(run.status))
        r = continue_after(x, m, &run, ret, err);
    else if (r >= 0)
        r = 0;
    if (r <= 0)
        *ret = (struct sv_conversation_place){0};
    return r == -UPP_ENOTFOUND || r >= 0 ? 0 : r;
}

/* ---- Without storing ----------------------------------------------------------------------------------------- */

int sv_conversation_unstored(struct sv_exchange *x, struct sv_conversation_place *place, struct sv_start *s,
                             struct upp_err *err)
{
    struct wl_store *store = x->server->opts.store;
    int r = wb_uuid_is_nil(place->waits) ? 0 : wr_is_unstored(store, &x->owner, place->thread.id, err);
    if (r != 0)
        return r < 0 ? r : 0;
    if (place->named)
        return upp_fail(err, UPP_EINVALID,
                        "with 'store': false nothing is kept, and what it would continue is stored: send all messages");
    *place = (struct sv_conversation_place){0};
    r = wj_merge(&x->arena, s->run.options, UPP_STR("{\"" RESP_OPTION_UNSTORED "\":true}"), &s->run.options, err);
    if (r >= 0)
        r = sv_start_new_thread(x, s, NULL, err);
    return r < 0 ? r : wr_unstored_note(store, &x->owner, s->thread_opts.id, err);
}

void sv_conversation_erase(struct sv_exchange *x, const struct sv_start *s)
{
    wr_unstored_end(x->server->opts.store, &x->owner, s->new_thread ? s->thread_opts.id : s->thread.id);
}

/* Are all answers for calls that wait, and of the kind that they wait for? */
static bool are_open(const struct wr_run_info *look, const struct sv_answers *a)
{
    bool all = look->run.status == WM_WAITING && a->n > 0;
    for (size_t i = 0; all && i < a->n; i++) {
        bool found = false;
        for (size_t k = 0; !found && k < look->n_pending; k++)
            found = wb_str_eq(look->pending[k].call, a->p[i].call) && look->pending[k].approval == !a->p[i].result.p;
        all = found;
    }
    return all;
}

/* The conversation is new: what the client says about calls is its own word. */
WEFT_SUSPENDS static int begin_anew(struct sv_exchange *x, const struct sv_conversation_messages *m, struct sv_start *s,
                                    struct wb_uuid *run, struct upp_err *err)
{
    if (!m->list.n || s->unstored)
        return upp_fail(err, UPP_EINVALID,
                        m->list.n ? "the calls are not open any more" : "there is nothing to answer");
    s->thread = (struct wl_thread){0};
    s->new_thread = true;
    s->made_thread = true;
    s->thread_opts = (struct wl_thread_opts){.size = sizeof s->thread_opts};
    s->answers = (struct sv_answers){0};
    s->messages = m->list;
    return sv_start_run(x, s, run, err);
}

/* The run of an earlier request with the same messages: the one that left the alias. -UPP_ENOTFOUND. */
WEFT_SUSPENDS static int recall_run(struct sv_exchange *x, struct upp_str agent,
                                    const struct sv_conversation_messages *m, struct wm_run *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct upp_str name = alias_of(x, agent, m->all);
    struct wb_uuid id;
    int r = wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = wl_get_alias(s, &x->owner, WL_ALIAS_RUN, name, &id, err);
    return r < 0 ? r : wl_get_run(s, &x->owner, id, &x->arena, ret, err);
}

/* The run does not wait any more, or not for that: the same request was first, if the conversation has its name. */
WEFT_SUSPENDS static int join_first(struct sv_exchange *x, const struct sv_conversation_place *place,
                                    const struct sv_conversation_messages *m, struct sv_start *s, struct wb_uuid *run,
                                    struct upp_err *err)
{
    struct wm_run had;
    if (sv_key_is_used(x, &s->run)) {
        s->joined = true;
        *run = x->run = place->waits;
        return 0;
    }
    int r = m->list.n ? recall_run(x, s->run.agent, m, &had, err) : -UPP_ENOTFOUND;
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    if (r < 0 || !wb_uuid_eq(had.id, place->waits))
        return begin_anew(x, m, s, run, err);
    s->joined = true;
    *run = x->run = had.id;
    return 0;
}

/* Lets the run that waits continue. Another request may have answered meanwhile. */
WEFT_SUSPENDS static int answer_wait(struct sv_exchange *x, const struct sv_conversation_place *place,
                                     const struct sv_conversation_messages *m, struct sv_start *s, struct wr_from *from,
                                     struct wb_uuid *run, struct upp_err *err)
{
    struct wr_run_info look;
    if (place->named && !s->answers.n)
        return upp_fail(err, UPP_EINVALID, "the run waits for results or approvals, and the request has none");
    int r = wr_get(x->core->engine, &x->owner, place->waits, &x->arena, &look, err);
    if (r >= 0 && !place->named && !are_open(&look, &s->answers))
        return join_first(x, place, m, s, run, err);
    if (r >= 0)
        r = sv_next_options(x, &look.run, s, &s->answers.options, err);
    s->answers.request = &s->run;
    if (r >= 0)
        r = sv_answer_calls_as(x, place->waits, &s->answers, s->run.alias, err);
    s->joined = r > 0;
    if (r == -UPP_EINVALID && !place->named)
        return join_first(x, place, m, s, run, err);
    *run = x->run = place->waits;
    if (r >= 0)
        *from = (struct wr_from){look.epoch, look.last, 0}; /* the client has what came before the wait */
    return r;
}

int sv_conversation_start(struct sv_exchange *x, const struct sv_conversation_place *place,
                          const struct sv_conversation_messages *m, struct sv_start *s, struct wr_from *from,
                          struct wb_uuid *run, struct upp_err *err)
{
    if (m->list.n)
        s->run.alias = alias_of(x, s->run.agent, m->all);
    s->run.alias_moves = true;
    s->calls_by_id = true;
    s->conversation = place->named ? NULL : m->all;
    int r = wb_arena_check(&x->arena, err);
    if (r < 0)
        return r;
    if (!wb_uuid_is_nil(place->waits))
        return answer_wait(x, place, m, s, from, run, err);
    s->run.node = place->node;
    s->run.length = place->length;
    s->run.ends = place->ends;
    s->run.forks = place->node != 0 && wb_uuid_is_nil(place->ends);
    return sv_start_run(x, s, run, err);
}

enum { RECENT_MS = 60000 }; /* a client that repeats itself does so at once, or after seconds */

bool sv_join_repeated(const struct sv_exchange *x)
{
    size_t n;
    uint64_t count = 0;
    struct upp_str text = sv_http_header(x->request, UPP_STR("x-stainless-retry-count"), &n);
    return n == 1 && wb_str_u64(text, &count) && count > 0;
}

int sv_join_key(struct sv_exchange *x, const struct wr_start *start, struct sv_joining *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_key used;
    *ret = (struct sv_joining){0};
    int r = start->key.n ? wl_get_key(s, &x->owner, start->route, start->key, &used, err) : -UPP_ENOTFOUND;
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    if (memcmp(used.body, start->body, sizeof used.body) != 0)
        return upp_fail(err, UPP_EREFUSED, "the idempotency key was used with another request");
    ret->started_ms = used.created_ms;
    r = wl_get_run(s, &x->owner, used.object, &x->arena, &ret->run, err);
    return r == -UPP_ENOTFOUND ? 0 : r < 0 ? r : 1;
}

bool sv_join_recent(const struct wm_run *run)
{
    return !wm_status_ended(run->status) ||
           (run->status == WM_COMPLETED && wb_wall_ms() - run->ended_ms < (int64_t)RECENT_MS);
}

int sv_join_messages(struct sv_exchange *x, struct upp_str agent, const struct sv_conversation_messages *m,
                     struct sv_joining *ret, struct upp_err *err)
{
    *ret = (struct sv_joining){.results = m->next < m->list.n && m->list.p[m->next].message.role == UPP_ROLE_TOOL};
    if (!m->list.n || (!ret->results && !sv_join_repeated(x)))
        return 0;
    int r = recall_run(x, agent, m, &ret->run, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    return sv_join_recent(&ret->run);
}

/* The waits before an event of the run. */
struct waits {
    struct wr_from last, before; /* the last one, and the one before it */
    bool now;                    /* the last event is one */
};

static void note_wait(struct waits *w, const struct wm_event *ev)
{
    w->now = ev->run.status == WM_WAITING;
    if (!w->now)
        return;
    w->before = w->last;
    w->last = (struct wr_from){ev->from->epoch, ev->number, 0};
}

int sv_join_from(struct sv_exchange *x, const struct sv_joining *j, struct sv_run_stream *ret, struct upp_err *err)
{
    struct wr_reader *reader = NULL;
    struct waits waits = {0};
    struct wm_event ev;
    ret->from = (struct wr_from){0};
    ret->segment = j->started_ms != 0;
    if (!j->results && j->started_ms <= j->run.created_ms)
        return 0; /* it is the request that began the run: nothing is read to find that */
    int r = wr_reader_open(x->core->engine, &x->owner, j->run.id, &ret->from, &reader, err);
    while (r >= 0 && (r = wr_reader_try(reader, true, &ev, NULL, NULL, err)) > 0) {
        if (ev.from->depth || ev.kind != WM_RUN)
            continue;
        if (j->started_ms && ev.time_ms > j->started_ms) /* after the record of the request's own commit */
            break;
        note_wait(&waits, &ev);
    }
    wr_reader_close(reader);
    ret->from = waits.now ? waits.before : waits.last;
    return r == -UPP_EBUSY ? 0 : r < 0 ? r : 0;
}

int sv_join_go(struct sv_exchange *x, const struct sv_joining *j, sv_handler *answer, struct upp_err *err)
{
    return sv_run_at_home(x, j->run.id, answer, err);
}

int sv_join_other(struct sv_exchange *x, const struct wr_start *start, struct wb_uuid run, struct sv_joining *j,
                  sv_handler *answer, struct upp_err *err)
{
    struct sv_joining keyed;
    int r = sv_join_key(x, start, &keyed, err);
    if (r < 0)
        return r;
    if (r > 0)
        *j = keyed;
    else
        j->run.id = run;
    return sv_join_go(x, j, answer, err);
}

int sv_join_failed(struct sv_exchange *x, int r, const struct wr_start *start, struct sv_joining *j, sv_handler *answer,
                   struct upp_err *err)
{
    if (r >= 0 || x->done || x->reply.sent || !sv_key_is_used(x, start))
        return r;
    return sv_join_other(x, start, WB_UUID_NIL, j, answer, err);
}
