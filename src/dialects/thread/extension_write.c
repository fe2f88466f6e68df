/* dialects/thread/extension_write.c — writes what the model has and ThreadProtocol's own members cannot express.
 *
 *     "x_weft": {"model": [{"entry": 0, "id": "msg_1", "metadata": {...}, "interrupted": true},
 *                          {"entry": 0, "part": 2, "metadata": {...}, "cut": true},
 *                          {"entry": 1, "new": true, "event": {...}}]}
 *
 * So a thread carries the whole model: what another dialect has in addition (metadata of any provider, a file's name,
 * where a part was cut) comes back whole. Most parts need nothing of it. A `new` one is in no member of the object;
 * `entry` and `part` count as if it were, and never decrease.
 */
#include "base/err.h"
#include "dialects/thread/extension.h"
#include "model/upp_weft.h"
#include "json/value.h"

struct entry {
    const struct wm_doc_entry *e;
    uint32_t at; /* index in its object */
    bool is_new, time, agent, who, reply, event;
};

static bool has_reply(const struct wm_reply_info *s)
{
    return s->model.p || s->provider.p || s->response.p || s->stop || s->has_usage;
}

static struct upp_str name_of(const struct wd_lowering *l, uint32_t agent)
{
    return agent == WM_NO_AGENT ? (struct upp_str){0} : l->doc->agents.p[agent].name;
}

/* Mostly the same pointer: the text of the same message, or of its agent. */
static bool is_same(struct upp_str a, struct upp_str b)
{
    return a.p == b.p ? a.n == b.n : wb_str_eq(a, b);
}

static struct entry entry_needs(struct wd_lowering *l, const struct wd_carry *c, uint32_t i, uint32_t at)
{
    const struct wm_doc_entry *e = &l->doc->entries.p[i];
    struct upp_str name = name_of(l, e->agent);
    struct entry x = {.e = e, .at = at, .is_new = wd_carried_is_new(l, c, i)};
    bool is = e->e.kind == WM_ENTRY_EVENT;
    x.time = !is_same(wd_pai_time_text(l, &e->e.message), c->time);
    x.agent = e->agent != c->agent;
    x.who = !!name.p != !!e->e.who.p || !is_same(name, e->e.who);
    x.reply = (x.is_new || c->is != WD_CARRY_RESPONSE) && has_reply(&e->said);
    x.event = is && (x.is_new || !wd_carried_event_is_expressed(l, e));
    return x;
}

/* Members that are always carried. */
static bool has_own(const struct wm_doc_entry *e)
{
    return e->id.p || e->e.message.id.p || e->e.message.metadata.n || e->e.message.interrupted;
}

static bool has_more(const struct entry *x)
{
    return has_own(x->e) || x->is_new || x->time || x->agent || x->who || x->reply || x->event;
}

static bool has_needs(struct wd_carried_needs n)
{
    return n.whole || n.metadata || n.text || n.title || n.cut || n.kind || n.source || n.size || n.data || n.error;
}

bool wd_carries_parts(struct wd_lowering *l, const struct wd_carry *c)
{
    uint32_t at = 0;
    for (uint32_t i = c->first; c->first != WD_THREAD && i < c->first + c->n; i++) {
        const struct upp_message *m = &l->doc->entries.p[i].e.message;
        if (!wm_is_visible(&l->doc->entries.p[i].e))
            continue;
        if (has_own(&l->doc->entries.p[i]))
            return true;
        struct entry x = entry_needs(l, c, i, at++);
        if (has_more(&x))
            return true;
        for (size_t k = 0; k < m->n_parts; k++)
            if (!wd_carried_is_expressed(l, m, &m->parts[k]) &&
                has_needs(wd_carried_needs(l, m, &m->parts[k], x.is_new)))
                return true;
    }
    return false;
}

static void put_time(struct wd_lowering *l, const struct upp_message *m)
{
    if (m->time_text.p || m->time_ms < 0)
        wd_member(l, "time", wd_pai_time_text(l, m));
    else
        wd_member_u64(l, "ms", (uint64_t)m->time_ms);
}

static void put_media(struct wd_lowering *l, const struct upp_media *m, struct wd_carried_needs needs)
{
    if (needs.source && m->source && m->source < WB_LEN(wd_carried_sources))
        wd_member(l, "source", wb_cstr(wd_carried_sources[m->source]));
    if (needs.source)
        wd_member(l, "mime", m->mime);
    if (needs.title)
        wd_member(l, "title", m->title);
    if (needs.data)
        wd_member(l, "data", m->data);
    wd_member_json(l, "duration", m->duration);
    wd_member_json(l, "width", m->width);
    wd_member_json(l, "height", m->height);
}

static void put_part(struct wd_lowering *l, uint32_t entry, size_t part, const struct upp_part *p,
                     struct wd_carried_needs needs)
{
    wj_write_open(&l->w, '{');
    wd_member_u64(l, "entry", entry);
    wd_member_u64(l, "part", part);
    if (needs.whole)
        wj_put_bool(&l->w, "new", true);
    if (needs.kind && p->kind && p->kind < WB_LEN(wd_carried_kinds))
        wd_member(l, "kind", wb_cstr(wd_carried_kinds[p->kind]));
    if (needs.whole) {
        wd_member(l, "id", p->id);
        wd_member(l, "name", p->name);
    }
    if (needs.text)
        wd_member(l, "text", p->text.p ? p->text : UPP_STR(""));
    if (needs.metadata)
        wd_member_json(l, "metadata", p->metadata);
    if (p->media)
        put_media(l, p->media, needs);
    if (needs.error)
        wj_put_bool(&l->w, "error", p->is_error);
    if (needs.cut)
        wj_put_bool(&l->w, "cut", true);
    wj_write_close(&l->w, '}');
}

static void put_reply(struct wd_lowering *l, const struct wm_reply_info *s)
{
    wj_put_open(&l->w, "said", '{');
    wd_member(l, "model_name", s->model);
    wd_member(l, "provider_name", s->provider);
    wd_member(l, "provider_response_id", s->response);
    if (s->has_usage)
        wd_tp_put_usage(l, "usage", &s->usage, s->reasoning);
    if (wd_pai_finish(s->stop))
        wd_member(l, "finish_reason", wb_cstr(wd_pai_finish(s->stop)));
    wj_write_close(&l->w, '}');
}

static void put_entry(struct wd_lowering *l, const struct entry *x)
{
    const struct wm_doc_entry *e = x->e;
    const struct upp_message *m = &e->e.message;
    wj_write_open(&l->w, '{');
    wd_member_u64(l, "entry", x->at);
    if (x->is_new)
        wj_put_bool(&l->w, "new", true);
    if (x->event)
        wd_member_json(l, "event", e->e.data);
    else if (x->is_new && m->role && m->role < WB_LEN(wm_upp_roles))
        wd_member(l, "role", wb_cstr(wm_upp_roles[m->role]));
    wd_member(l, "id", e->id);
    wd_member(l, "message", m->id);
    if (x->agent) {
        const struct wm_doc_agent *a = e->agent == WM_NO_AGENT ? NULL : &l->doc->agents.p[e->agent];
        wd_member_or_null(l, "agent", a ? a->id.p ? a->id : a->name : (struct upp_str){0});
    }
    if (x->who)
        wd_member_or_null(l, "who", e->e.who);
    if (x->time)
        put_time(l, m);
    wd_member_json(l, "metadata", m->metadata);
    if (x->reply)
        put_reply(l, &e->said);
    if (m->interrupted)
        wj_put_bool(&l->w, "interrupted", true);
    wj_write_close(&l->w, '}');
}

void wd_carried_parts_write(struct wd_lowering *l, const struct wd_carry *c)
{
    uint32_t at = 0;
    wj_put_open(&l->w, "model", '[');
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const struct upp_message *m = &l->doc->entries.p[i].e.message;
        if (!wm_is_visible(&l->doc->entries.p[i].e))
            continue;
        struct entry x = entry_needs(l, c, i, at++);
        if (has_more(&x))
            put_entry(l, &x);
        for (size_t k = 0; k < m->n_parts; k++) {
            if (!x.is_new && wd_carried_is_expressed(l, m, &m->parts[k]))
                continue;
            struct wd_carried_needs n = wd_carried_needs(l, m, &m->parts[k], x.is_new);
            if (has_needs(n))
                put_part(l, x.at, k, &m->parts[k], n);
        }
    }
    wj_write_close(&l->w, ']');
}
