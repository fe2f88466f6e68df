/* dialects/aitp/lower.c — the model as an AITP thread.
 *
 * Each entry is a message, but those who came and went are in the metadata. Agents are actors, and so is the user, with
 * the id that the document had, else "user".
 */
#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/aitp/aitp.h"
#include "dialects/aitp/members.h"
#include "json/value.h"
#include "model/names.h"
#include "model/upp_json.h"
#include "model/upp_weft.h"

struct lowering {
    struct wd_lowering *l;
    struct upp_str user; /* the id of the user's actor */
    struct upp_str thread;
    bool members; /* the thread has a list of them */
};

static bool is_users(const struct wm_doc_entry *e)
{
    return e->e.kind != WM_ENTRY_EVENT && e->agent == WM_NO_AGENT && e->e.message.role == UPP_ROLE_USER;
}

/* The author. WM_NO_AGENT: the user. */
static uint32_t speaker(const struct wm_doc_entry *e, const struct wm_doc_turn *turn)
{
    return e->agent != WM_NO_AGENT || is_users(e) ? e->agent : turn->agent;
}

static bool has_user(const struct wm_doc *d)
{
    for (size_t i = 0; i < d->turns.n; i++) {
        const struct wm_doc_turn *turn = &d->turns.p[i];
        for (uint32_t k = turn->first; k < turn->first + turn->n; k++)
            if (wm_is_visible(&d->entries.p[k].e) && speaker(&d->entries.p[k], turn) == WM_NO_AGENT)
                return true;
    }
    return false;
}

/* ---- Actors ------------------------------------------------------------------------------------------------ */

static struct upp_str agent_id(const struct wm_doc_agent *a)
{
    return a->id.p ? a->id : a->name.p ? a->name : UPP_STR("agent");
}

static bool is_agent(const struct wm_doc *d, struct upp_str id, size_t below)
{
    for (size_t i = 0; i < below; i++)
        if (wb_str_eq(agent_id(&d->agents.p[i]), id))
            return true;
    return false;
}

static yyjson_val *metadata_of(struct wd_lowering *l)
{
    wb_arena_reset(&l->scratch);
    return l->doc->metadata.n ? wd_scratch_read(l, l->doc->metadata) : NULL;
}

/* An id that no agent has. */
static struct upp_str user_of(struct wd_lowering *l)
{
    struct upp_str original = wj_text_at(yyjson_obj_get(metadata_of(l), "weft"), "user");
    struct upp_str id = original.n ? wb_arena_dup(&l->keep, original) : UPP_STR(WD_AITP_USER);
    for (unsigned i = 2; is_agent(l->doc, id, l->doc->agents.n); i++)
        id = wb_arena_numbered(&l->keep, UPP_STR(WD_AITP_USER "-"), i);
    return id;
}

static void put_actor(struct wd_lowering *l, struct upp_str id, const struct wm_doc_agent *a)
{
    wj_write_open(&l->w, '{');
    wd_member(l, "id", id);
    wj_put_raw(&l->w, "capabilities", "[]", 2);
    bool named = a && a->name.p && !wb_str_eq(a->name, id);
    if (a && (named || a->model.p || a->provider.p)) {
        wj_put_open(&l->w, "weft", '{');
        if (named)
            wd_member(l, "name", a->name);
        wd_member(l, "model", a->model);
        wd_member(l, "provider", a->provider);
        wj_write_close(&l->w, '}');
    }
    wj_write_close(&l->w, '}');
}

/* The actor on another AITP service who wrote a message; empty: none, or the thread has members and it is not one. */
static struct upp_str remote_actor(struct lowering *t, const struct wm_doc_entry *e)
{
    const struct upp_message *m = &e->e.message;
    if (e->e.kind == WM_ENTRY_EVENT || m->role != UPP_ROLE_ASSISTANT ||
        wb_str_find(m->metadata, UPP_STR("\"" WD_AITP_REMOTE "\""), 0) == SIZE_MAX)
        return (struct upp_str){0};
    wb_arena_reset(&t->l->scratch);
    yyjson_val *note = yyjson_obj_get(wd_scratch_read(t->l, m->metadata), WD_AITP_REMOTE);
    struct upp_str id = wj_text_at(note, "actor");
    if (!id.n || !t->members)
        return id.n ? wb_arena_dup(&t->l->keep, id) : (struct upp_str){0};
    id = wb_arena_dup(&t->l->keep, id);
    struct wd_aitp_members members = wd_aitp_members_of(metadata_of(t->l));
    return wd_aitp_member(&members, id) ? id : (struct upp_str){0};
}

/* Actors on other services, each with the agent here that stands for it. */
static void put_remote_actors(struct lowering *t)
{
    WB_CLEANUP(wm_names_done) struct wm_names seen = {0};
    const struct wm_doc *d = t->l->doc;
    for (size_t i = 0; i < d->turns.n && !t->members && !t->l->w.failed; i++)
        for (uint32_t k = d->turns.p[i].first; k < d->turns.p[i].first + d->turns.p[i].n; k++) {
            uint32_t agent = speaker(&d->entries.p[k], &d->turns.p[i]), number;
            struct upp_str id =
                wm_is_visible(&d->entries.p[k].e) ? remote_actor(t, &d->entries.p[k]) : (struct upp_str){0};
            if (!id.n || agent == WM_NO_AGENT || is_agent(d, id, d->agents.n))
                continue;
            int r = wm_names_add(&seen, id, &number, t->l->w.err);
            if (r < 0)
                wj_writer_fail(&t->l->w, r);
            if (r != 1)
                continue;
            wj_write_open(&t->l->w, '{');
            wd_member(t->l, "id", id);
            wj_put_raw(&t->l->w, "capabilities", "[]", 2);
            wj_put_open(&t->l->w, "weft", '{');
            wd_member(t->l, "agent", agent_id(&d->agents.p[agent]));
            wj_write_close(&t->l->w, '}');
            wj_write_close(&t->l->w, '}');
        }
}

/* Members of a thread of the server, which has them in its metadata (members.h), are written as they are there; of
 * those who have left, only what they wrote is left. */
static void put_members(struct lowering *t)
{
    struct wd_aitp_members m = wd_aitp_members_of(metadata_of(t->l));
    yyjson_val *actor;
    size_t i, n;
    yyjson_arr_foreach(m.actors, i, n, actor) wd_aitp_put_member(&t->l->w, actor);
}

static void put_actors(struct lowering *t)
{
    const struct wm_doc *d = t->l->doc;
    bool more = false;
    wj_put_open(&t->l->w, "actors", '[');
    bool members = t->members;
    put_members(t);
    if (has_user(d) && !members)
        put_actor(t->l, t->user, NULL);
    for (size_t i = 0; i < d->agents.n && !t->l->w.failed; i++) {
        const struct wm_doc_agent *a = &d->agents.p[i];
        more |= a->config.p || a->prompt.p || a->created.p;
        if (!members && !is_agent(d, agent_id(a), i))
            put_actor(t->l, agent_id(a), a);
    }
    put_remote_actors(t);
    wj_write_close(&t->l->w, ']');
    if (more)
        wd_lose(t->l, WD_THREAD, "how and when the agents were made", "an actor has an id and capabilities");
}

/* ---- Messages ---------------------------------------------------------------------------------------------- */

/* The time as text if whole seconds are not enough; empty: they are. */
static struct upp_str precise_time(struct wd_lowering *l, const struct upp_message *m)
{
    char text[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(m->time_ms);
    struct upp_str usual = wb_time_pydantic(&t, text);
    if (m->time_text.p)
        return m->time_ms % 1000 == 0 && wb_str_eq(m->time_text, usual) ? (struct upp_str){0} : m->time_text;
    return m->time_ms % 1000 ? wb_arena_dup(&l->keep, usual) : (struct upp_str){0};
}

/* Agents are written by id, however the event names them. */
static void put_mention(struct wd_lowering *l, yyjson_val *v)
{
    uint32_t agent = yyjson_is_str(v) ? wm_doc_agent_find(l->doc, wj_text(v)) : WM_NO_AGENT;
    if (agent == WM_NO_AGENT)
        wj_write_value(&l->w, v);
    else
        wj_write_str(&l->w, agent_id(&l->doc->agents.p[agent]));
}

static void put_event(struct wd_lowering *l, struct upp_str json)
{
    yyjson_val *key, *value, *one, *v;
    size_t i, n, k, m;
    wb_arena_reset(&l->scratch);
    v = wd_scratch_read(l, json.p ? json : UPP_STR(""));
    wj_put_open(&l->w, "event", '{');
    if (yyjson_is_obj(v))
        yyjson_obj_foreach(v, i, n, key, value)
        {
            wj_write_name(&l->w, wj_text(key));
            if (wj_named(key, UPP_STR("source")))
                put_mention(l, value);
            else if (wj_named(key, UPP_STR("targets")) && yyjson_is_arr(value)) {
                wj_write_open(&l->w, '[');
                yyjson_arr_foreach(value, k, m, one) put_mention(l, one);
                wj_write_close(&l->w, ']');
            } else
                wj_write_value(&l->w, value);
        }
    wj_write_close(&l->w, '}');
}

/* As in metadata.weft of UPP's messages. */
static void put_reply(struct wd_lowering *l, const struct wm_reply_info *s)
{
    wd_member(l, "model", s->model);
    wd_member(l, "provider", s->provider);
    wd_member(l, "response", s->response);
    if (s->stop && s->stop < WB_LEN(wm_upp_stops))
        wd_member(l, "stop", wb_cstr(wm_upp_stops[s->stop]));
    if (!s->has_usage)
        return;
    wj_write_name(&l->w, UPP_STR("usage"));
    wm_usage_write_all(&l->w, &s->usage);
}

static void put_weft(struct wd_lowering *l, uint32_t i, bool user)
{
    const struct wm_doc_entry *e = &l->doc->entries.p[i];
    const struct upp_message *m = &e->e.message;
    bool event = e->e.kind == WM_ENTRY_EVENT;
    bool whole = !event && wd_aitp_needs_whole(m, user ? UPP_ROLE_USER : UPP_ROLE_ASSISTANT);
    struct upp_str time = precise_time(l, m);
    bool reply = !event && m->role == UPP_ROLE_ASSISTANT && wm_has_reply(&e->said);
    if (!event && !whole && !time.p && !reply)
        return;
    wj_put_open(&l->w, "weft", '{');
    wd_member(l, "time", time);
    if (event)
        put_event(l, e->e.data);
    if (reply)
        put_reply(l, &e->said);
    if (whole)
        wd_aitp_put_whole(l, i, m);
    wj_write_close(&l->w, '}');
}

static void put_time(struct wd_lowering *l, const struct wm_doc_entry *e)
{
    int64_t ms = e->e.message.time_ms;
    wj_put_i64(&l->w, "created_at", ms / 1000 - (ms % 1000 < 0));
}

static struct upp_str actor_of(struct lowering *t, const struct wm_doc_entry *e, uint32_t agent)
{
    struct upp_str there = agent == WM_NO_AGENT ? (struct upp_str){0} : remote_actor(t, e);
    return agent == WM_NO_AGENT ? t->user : there.n ? there : agent_id(&t->l->doc->agents.p[agent]);
}

static void lose_owner(struct wd_lowering *l, uint32_t i, uint32_t agent)
{
    const struct wm_doc_entry *e = &l->doc->entries.p[i];
    if (e->e.kind == WM_ENTRY_EVENT && (e->agent == WM_NO_AGENT || e->agent != agent))
        wd_lose(l, i, "whose an event is", "a message has an actor, the user or an agent");
}

static void put_message(struct lowering *t, const struct wm_doc_turn *turn, uint32_t i)
{
    struct wd_lowering *l = t->l;
    const struct wm_doc_entry *e = &l->doc->entries.p[i];
    uint32_t agent = speaker(e, turn);
    bool user = agent == WM_NO_AGENT;
    lose_owner(l, i, agent);
    wd_open(l, i, "message");
    wj_write_open(&l->w, '{');
    wd_member(l, "id", e->id);
    put_time(l, e);
    wd_member(l, "thread_id", t->thread);
    const struct upp_part *p = NULL;
    wj_put_open(&l->w, "content", '[');
    while (e->e.kind != WM_ENTRY_EVENT && (p = upp_part_next(&e->e.message, p, 1 << UPP_PART_TEXT)))
        wj_write_str(&l->w, p->text.p ? p->text : UPP_STR(""));
    wj_write_close(&l->w, ']');
    wd_member(l, "role", user ? UPP_STR("user") : UPP_STR("assistant"));
    wj_put_open(&l->w, "metadata", '{');
    wd_member(l, "actor", actor_of(t, e, agent));
    put_weft(l, i, user);
    wj_write_close(&l->w, '}');
    wj_write_close(&l->w, '}');
    wd_close(l);
}

/* ---- Who came and went ------------------------------------------------------------------------------------- */

/* Nobody says these: they are not messages, but listed in metadata.weft.events with the position in `messages` before
 * which they happened. One that was read as a message with residue is written as one. */
static bool is_listed(struct wd_lowering *l, uint32_t i)
{
    const struct wm_entry *e = &l->doc->entries.p[i].e;
    if (e->kind != WM_ENTRY_EVENT || wb_str_find(e->data, UPP_STR("\"actor."), 0) == SIZE_MAX)
        return false;
    wb_arena_reset(&l->scratch);
    struct upp_str type = wj_text_at(wd_scratch_read(l, e->data), "type");
    bool ours = wb_str_eq(type, UPP_STR(WD_AITP_JOINED)) || wb_str_eq(type, UPP_STR(WD_AITP_LEFT));
    return ours && !wd_slot_like(l, i, "message").p;
}

static void put_listed(struct lowering *t, const struct wm_doc_turn *turn, uint32_t i, uint64_t before)
{
    struct wd_lowering *l = t->l;
    const struct wm_doc_entry *e = &l->doc->entries.p[i];
    uint32_t agent = speaker(e, turn);
    lose_owner(l, i, agent);
    wd_open(l, i, "event");
    wj_write_open(&l->w, '{');
    wj_put_u64(&l->w, "before", before);
    wd_member(l, "id", e->id);
    put_time(l, e);
    wd_member(l, "actor", actor_of(t, e, agent));
    wd_member(l, "time", precise_time(l, &e->e.message));
    put_event(l, e->e.data);
    wj_write_close(&l->w, '}');
    wd_close(l);
}

/* Calls one of the two for each visible entry: what is listed, or what is a message. How many there were. */
static size_t put_entries(struct lowering *t, bool listed, bool dry)
{
    struct wd_lowering *l = t->l;
    size_t n[2] = {0, 0};
    for (size_t i = 0; i < l->doc->turns.n && !l->w.failed; i++) {
        const struct wm_doc_turn *turn = &l->doc->turns.p[i];
        for (uint32_t k = turn->first; k < turn->first + turn->n && !l->w.failed; k++) {
            if (!wm_is_visible(&l->doc->entries.p[k].e))
                continue;
            bool event = is_listed(l, k);
            if (!dry && event && listed)
                put_listed(t, turn, k, n[false]);
            else if (!dry && !event && !listed)
                put_message(t, turn, k);
            n[event]++;
        }
    }
    return n[listed];
}

/* ---- The thread -------------------------------------------------------------------------------------------- */

static bool is_taken(yyjson_val *name)
{
    return wj_named(name, UPP_STR("parent_id")) || wj_named(name, UPP_STR("actors"));
}

static void put_others(struct wd_lowering *l)
{
    yyjson_val *v = metadata_of(l), *key, *value;
    size_t i, n;
    if (!yyjson_is_obj(v))
        return;
    yyjson_obj_foreach(v, i, n, key, value)
    {
        bool weft = wj_named(key, UPP_STR("weft")), ours = wj_named(key, UPP_STR("actors")) && yyjson_is_arr(value);
        bool user =
            weft && wj_text_at(value, "user").p && yyjson_obj_size(value) == 1 + !!yyjson_obj_get(value, "left");
        if ((is_taken(key) && !ours) || (weft && !user))
            wd_lose(l, WD_THREAD, "a member of the thread's metadata", "AITP has another one of that name");
        if (is_taken(key) || weft)
            continue;
        wj_put_member(&l->w, key);
    }
}

static void put_metadata(struct lowering *t)
{
    struct wd_lowering *l = t->l;
    const struct wm_doc *d = l->doc;
    wj_put_open(&l->w, "metadata", '{');
    wd_member_or_null(l, "parent_id", d->parent);
    put_actors(t);
    put_others(l);
    bool events = put_entries(t, true, true) > 0;
    if (d->title.p || (d->parent.p && d->parent_at) || events) {
        wj_put_open(&l->w, "weft", '{');
        wd_member(l, "title", d->title);
        if (d->parent.p && d->parent_at)
            wd_member_u64(l, "parent_at", d->parent_at);
        if (events) {
            wj_put_open(&l->w, "events", '[');
            (void)put_entries(t, true, false);
            wj_write_close(&l->w, ']');
        }
        wj_write_close(&l->w, '}');
    }
    wj_write_close(&l->w, '}');
}

int wd_aitp_lower(struct wd_lowering *l, struct upp_err *err)
{
    struct lowering t = {.l = l,
                         .user = user_of(l),
                         .members = wd_aitp_members_of(metadata_of(l)).actors != NULL,
                         .thread = l->doc->id.p ? l->doc->id : UPP_STR("thread")};
    wd_implied(l, WD_IMPLIED_MADE | WD_IMPLIED_TURNS);
    wd_open(l, WD_THREAD, "thread");
    wj_write_open(&l->w, '{');
    wd_member(l, "id", t.thread);
    put_metadata(&t);
    wj_put_open(&l->w, "messages", '[');
    (void)put_entries(&t, false, false);
    wj_write_close(&l->w, ']');
    wj_write_close(&l->w, '}');
    wd_close(l);
    return wb_arena_check(&l->keep, err);
}
