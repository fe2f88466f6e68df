/* dialects/aitp/lift.c — an AITP thread into the model.
 *
 * Each message is one entry. The creator of the thread is the user, even if it is an agent; all other actors are
 * agents. The role follows from the actor; the member `role` is used only if no actor is named.
 */
#include "base/err.h"
#include "dialects/aitp/aitp.h"
#include "dialects/core/usage.h"
#include "json/number.h"
#include "json/value.h"
#include "model/upp_weft.h"

struct lifting {
    struct wd_lifting *l;
    struct upp_err *err;
    struct upp_str user;  /* the creator; empty: unknown */
    struct upp_str agent; /* the only actor who is not the user, if there is exactly one */
    struct wd_parts texts;
    yyjson_val *actors;     /* the list of those on other services, for whom an agent stands; NULL: none */
    yyjson_arr_iter events; /* metadata.weft.events: those that are left, after ... */
    yyjson_val *event;      /* ... the next one; NULL: none */
};

/* ---- Actors ------------------------------------------------------------------------------------------------ */

/* By id only: names need not be unique. */
static int agent_of(struct lifting *t, struct upp_str id, uint32_t *ret)
{
    struct wm_doc *doc = t->l->doc;
    for (size_t i = 0; i < doc->agents.n; i++)
        if (wb_str_eq(doc->agents.p[i].id, id)) {
            *ret = (uint32_t)i;
            return 0;
        }
    return wm_doc_agent_add(doc, &(struct wm_doc_agent){.id = id, .name = id}, ret, t->err);
}

/* The agent that stands for an actor on another service; any other actor is itself. */
static struct upp_str standing_for(const struct lifting *t, struct upp_str actor)
{
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(t->actors, i, n, v)
    {
        struct upp_str agent = wj_text_at(yyjson_obj_get(v, "weft"), "agent");
        if (agent.n && wb_str_eq(wj_text_at(v, "id"), actor))
            return agent;
    }
    return actor;
}

static int lift_actor(struct lifting *t, yyjson_val *list, yyjson_val *v)
{
    struct upp_str id = wj_text_at(v, "id");
    yyjson_val *weft = yyjson_obj_get(v, "weft");
    size_t before = t->l->doc->agents.n;
    uint32_t agent;
    if (!id.p || (t->user.p && wb_str_eq(id, t->user)))
        return 0;
    if (wj_text_at(weft, "agent").n) {
        t->actors = list;
        return 0;
    }
    int r = agent_of(t, id, &agent);
    if (r < 0 || t->l->doc->agents.n == before)
        return r;
    struct wm_doc_agent *a = &t->l->doc->agents.p[agent];
    struct upp_str name = wj_text_at(weft, "name");
    a->name = name.p ? name : id;
    a->model = wj_text_at(weft, "model");
    a->provider = wj_text_at(weft, "provider");
    return 0;
}

static int lift_actors(struct lifting *t, yyjson_val *root)
{
    yyjson_val *list = wd_aitp_actors(root), *v;
    size_t i, n;
    int r = 0;
    yyjson_arr_foreach(list, i, n, v)
    {
        r = lift_actor(t, list, v);
        if (r < 0)
            return r;
    }
    if (t->l->doc->agents.n == 1)
        t->agent = t->l->doc->agents.p[0].id;
    return 0;
}

/* Finds the message's author. 0: unknown; the message is residue. */
static int attribute(struct lifting *t, yyjson_val *m, uint32_t *agent)
{
    struct upp_str actor = wd_aitp_actor(m), role = wj_text_at(m, "role");
    bool user = actor.p ? t->user.p && wb_str_eq(actor, t->user) : wb_str_eq(role, UPP_STR("user"));
    *agent = WM_NO_AGENT;
    if (user)
        return 1;
    if (!actor.p && !wb_str_eq(role, UPP_STR("assistant")))
        return 0;
    int r = actor.p      ? agent_of(t, standing_for(t, actor), agent)
            : t->agent.p ? agent_of(t, t->agent, agent)
                         : wd_agent_of(t->l, (struct upp_str){0}, (struct upp_str){0}, agent, t->err);
    return r < 0 ? r : 1;
}

/* ---- Messages ---------------------------------------------------------------------------------------------- */

static void time_of(yyjson_val *m, yyjson_val *weft, struct upp_message *to)
{
    yyjson_val *v = yyjson_obj_get(m, "created_at");
    struct upp_str text = wj_text_at(weft, "time");
    int64_t seconds;
    if (!v || !yyjson_is_raw(v) || !wj_num_i64(wj_text(v), &seconds) || seconds < -(1ll << 40) || seconds > 1ll << 40)
        return;
    to->time_ms = seconds * 1000;
    if (!text.p)
        return;
    wd_entry_time(text, INT64_MIN, to);
    if (to->time_ms < seconds * 1000 || to->time_ms - seconds * 1000 > 999) { /* no time, or `created_at` was edited */
        to->time_ms = seconds * 1000;
        to->time_text = (struct upp_str){0};
    }
}

static int add_text(struct lifting *t, yyjson_val *item)
{
    struct upp_str text = wd_aitp_text(item);
    return text.p ? wd_parts_add(&t->texts, &(struct upp_part){.kind = UPP_PART_TEXT, .text = text}, t->err) : 0;
}

static int gather_texts(struct lifting *t, yyjson_val *content)
{
    yyjson_val *item;
    size_t i, n;
    int r = yyjson_is_arr(content) ? 0 : add_text(t, content);
    yyjson_arr_foreach(content, i, n, item)
    {
        if (r >= 0)
            r = add_text(t, item);
    }
    return r;
}

/* The whole message if metadata.weft has it, else its texts. */
static int lift_parts(struct lifting *t, yyjson_val *m, yyjson_val *weft, struct wm_doc_entry *e)
{
    struct upp_message *to = &e->e.message;
    t->texts.list.n = 0;
    int r = gather_texts(t, yyjson_obj_get(m, "content"));
    if (r >= 0)
        r = wd_aitp_read_whole(t->l->a, weft, &t->texts, to, t->err);
    if (r < 0)
        return r;
    if (to->role == UPP_ROLE_ASSISTANT) {
        e->said.model = wj_text_at(weft, "model");
        e->said.provider = wj_text_at(weft, "provider");
        e->said.response = wj_text_at(weft, "response");
        e->said.stop = wm_upp_stop_of(wj_text_at(weft, "stop"));
        e->said.has_usage = wd_usage_read(yyjson_obj_get(weft, "usage"), wd_usage_upp, &e->said.usage);
    }
    return r ? 0 : wd_parts_finish(t->l->a, &t->texts, to, t->err);
}

static bool are_texts(yyjson_val *list)
{
    yyjson_val *one;
    size_t i, n;
    bool texts = yyjson_is_arr(list);
    yyjson_arr_foreach(list, i, n, one) texts &= yyjson_is_str(one);
    return texts;
}

/* Only the members of an event; further ones are residue. */
static int lift_event(struct lifting *t, yyjson_val *event, struct wm_doc_entry *e)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer w;
    struct upp_str type = wj_text_at(event, "type");
    yyjson_val *data = yyjson_obj_get(event, "data");
    yyjson_val *source = yyjson_obj_get(event, "source"), *targets = yyjson_obj_get(event, "targets");
    e->e.kind = WM_ENTRY_EVENT;
    e->e.message.role = 0;
    wj_writer_init(&w, &b, t->err);
    wj_write_open(&w, '{');
    wj_put_str_or_empty(&w, "type", type);
    wj_write_name(&w, UPP_STR("data"));
    if (data)
        wj_write_value(&w, data);
    else
        wj_write_null(&w);
    if (source && yyjson_is_str(source))
        wj_put_value(&w, "source", source);
    if (are_texts(targets))
        wj_put_value(&w, "targets", targets);
    wj_write_close(&w, '}');
    return wj_writer_text(&w, t->l->a, &e->e.data);
}

/* Each user message is a turn, so that all dialects keep its time; consecutive messages of one agent are one turn. */
static int begin_turn(struct lifting *t, uint32_t agent)
{
    struct wm_doc *doc = t->l->doc;
    struct wm_doc_turn *turn = doc->turns.n ? &doc->turns.p[doc->turns.n - 1] : NULL;
    if (turn && agent != WM_NO_AGENT && agent == turn->agent)
        return 0;
    turn = wm_doc_turn_add(doc, t->err);
    if (!turn)
        return wd_error_of(t->err);
    turn->agent = agent;
    return 0;
}

/* Events belong to agents: other dialects cannot put them into a turn of the user. */
static int attribute_event(struct lifting *t, yyjson_val *m, uint32_t *agent)
{
    struct wm_doc *doc = t->l->doc;
    int r = wd_aitp_actor(m).p ? attribute(t, m, agent) : 1;
    if (r <= 0 || *agent != WM_NO_AGENT)
        return r;
    if (doc->turns.n)
        *agent = doc->turns.p[doc->turns.n - 1].agent;
    if (*agent == WM_NO_AGENT && doc->agents.n)
        *agent = 0;
    if (*agent == WM_NO_AGENT)
        r = wd_agent_of(t->l, (struct upp_str){0}, (struct upp_str){0}, agent, t->err);
    return r < 0 ? r : 1;
}

static int lift_message(struct lifting *t, yyjson_val *m)
{
    yyjson_val *content = yyjson_obj_get(m, "content"), *weft = yyjson_obj_get(yyjson_obj_get(m, "metadata"), "weft");
    yyjson_val *event = yyjson_obj_get(weft, "event");
    size_t at = t->l->doc->entries.n, turns = t->l->doc->turns.n;
    uint32_t agent = WM_NO_AGENT;
    bool has_content = yyjson_is_arr(content) || (content && yyjson_is_str(content));
    bool is_event = yyjson_is_obj(event) && (!has_content || !yyjson_arr_size(content)); /* added text wins */
    int r = is_event ? attribute_event(t, m, &agent) : has_content ? attribute(t, m, &agent) : 0;
    if (r > 0 && begin_turn(t, agent) < 0)
        return wd_error_of(t->err);
    if (r <= 0)
        return r;
    uint8_t role = agent == WM_NO_AGENT ? UPP_ROLE_USER : UPP_ROLE_ASSISTANT;
    struct wm_doc_entry *e = wd_entry_add(t->l, role, agent, (struct upp_str){0}, t->err);
    if (!e)
        return wd_error_of(t->err);
    e->id = wj_text_at(m, "id");
    if (agent == WM_NO_AGENT && !is_event)
        e->e.who = t->user;
    time_of(m, weft, &e->e.message);
    r = is_event ? lift_event(t, event, e) : lift_parts(t, m, weft, e);
    if (r >= 0 && !is_event && !e->e.message.n_parts && e->e.message.role != UPP_ROLE_ASSISTANT) {
        /* Removes an entry without parts that is not an agent's: no other dialect has such messages, so it is residue.
         */
        struct wm_doc *doc = t->l->doc;
        doc->entries.n--;
        if (doc->turns.n > turns)
            doc->turns.n = turns;
        else
            doc->turns.p[turns - 1].n--;
        return 0;
    }
    return r < 0 ? r : wd_anchor(t->l, m, "message", at, 1, t->err);
}

/* ---- Who came and went ------------------------------------------------------------------------------------- */

static int lift_listed(struct lifting *t, yyjson_val *v)
{
    yyjson_val *event = yyjson_obj_get(v, "event");
    size_t at = t->l->doc->entries.n;
    uint32_t agent = WM_NO_AGENT;
    if (!yyjson_is_obj(event))
        return 0;
    int r = attribute_event(t, v, &agent);
    if (r > 0 && begin_turn(t, agent) < 0)
        return wd_error_of(t->err);
    if (r <= 0)
        return r;
    struct wm_doc_entry *e = wd_entry_add(t->l, UPP_ROLE_ASSISTANT, agent, (struct upp_str){0}, t->err);
    if (!e)
        return wd_error_of(t->err);
    e->id = wj_text_at(v, "id");
    time_of(v, v, &e->e.message);
    r = lift_event(t, event, e);
    return r < 0 ? r : wd_anchor(t->l, v, "event", at, 1, t->err);
}

/* Those that happened before this message; the list's order counts more than their numbers. */
static int lift_events(struct lifting *t, size_t message)
{
    int r = 0;
    while (r >= 0 && t->event && wd_number_at(t->event, "before") <= message) {
        r = lift_listed(t, t->event);
        t->event = yyjson_arr_iter_next(&t->events);
    }
    return r;
}

/* ---- The thread -------------------------------------------------------------------------------------------- */

static bool is_ours(yyjson_val *name)
{
    return wj_named(name, UPP_STR("parent_id")) || wj_named(name, UPP_STR("actors")) || wj_named(name, UPP_STR("weft"));
}

/* All metadata except members that the model has, plus the user's id. */
static int lift_metadata(struct lifting *t, yyjson_val *metadata)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer w;
    yyjson_val *key, *value;
    size_t i, n;
    wj_writer_init(&w, &b, t->err);
    wj_write_open(&w, '{');
    if (yyjson_is_obj(metadata))
        yyjson_obj_foreach(metadata, i, n, key, value)
        {
            if (!is_ours(key))
                wj_put_member(&w, key);
        }
    if (t->user.p && !wb_str_eq(t->user, UPP_STR(WD_AITP_USER))) {
        wj_put_open(&w, "weft", '{');
        wj_put_str(&w, "user", t->user);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0 || b.n == 2) /* {} */
        return r;
    t->l->doc->metadata = wb_arena_dup(t->l->a, wb_buf_str(&b));
    return wb_arena_check(t->l->a, t->err);
}

static int lift_thread(struct lifting *t, yyjson_val *root)
{
    yyjson_val *metadata = yyjson_obj_get(root, "metadata"), *messages = wd_last_at(root, "messages"), *m;
    yyjson_val *weft = yyjson_obj_get(metadata, "weft");
    struct wm_doc *doc = t->l->doc;
    size_t i, n;
    if (!yyjson_is_arr(messages))
        return upp_fail(t->err, UPP_EINVALID, "an AITP thread has a list of messages");
    doc->id = wj_text_at(root, "id");
    doc->title = wj_text_at(weft, "title");
    doc->parent = wd_aitp_parent(root);
    doc->parent_at = (uint32_t)WB_MIN(wd_number_at(weft, "parent_at"), UINT32_MAX);
    t->user = wd_aitp_creator(root);
    int r = lift_metadata(t, metadata);
    if (r >= 0)
        r = lift_actors(t, root);
    yyjson_val *events = wd_last_at(wd_last_at(wd_last_at(root, "metadata"), "weft"), "events");
    if (yyjson_arr_iter_init(events, &t->events))
        t->event = yyjson_arr_iter_next(&t->events);
    yyjson_arr_foreach(messages, i, n, m)
    {
        if (r >= 0)
            r = lift_events(t, i);
        if (r >= 0)
            r = lift_message(t, m);
    }
    if (r >= 0)
        r = lift_events(t, SIZE_MAX);
    return r < 0 ? r : wd_anchor(t->l, root, "thread", WD_THREAD, 0, t->err);
}

int wd_aitp_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    struct upp_err why = {0};
    struct lifting t = {.l = l, .err = &why};
    int r = lift_thread(&t, root);
    wb_vec_done(&t.texts.list);
    if (r < 0 && err)
        *err = why;
    return r;
}
