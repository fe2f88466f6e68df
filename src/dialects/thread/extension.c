/* dialects/thread/extension.c — writes what a thread has no member for: the residue of other dialects, and of the
 * model.
 *
 *     "x_weft": {"residue": [{"dialect": "pydantic", "slot": "message", "entry": 0, "entries": 2, "said": NODE}]}
 *
 * `entry` counts from the first entry of the object that has the member.
 */
#include "dialects/thread/extension.h"

#include "base/err.h"
#include "json/read.h"
#include "json/value.h"
#include "model/upp_weft.h"

/* ---- Writing ------------------------------------------------------------------------------------------- */

struct entry {
    const struct wm_doc_entry *e;
    uint32_t at; /* index in its object */
    bool is_new, time, agent, who, reply, event;
};

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
    x.reply = (x.is_new || c->is != WD_CARRY_RESPONSE) && wm_has_reply(&e->said);
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

static bool carries_parts(struct wd_lowering *l, const struct wd_carry *c)
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
    if (x->time) {
        if (m->time_text.p || m->time_ms < 0)
            wd_member(l, "time", wd_pai_time_text(l, m));
        else
            wd_member_u64(l, "ms", (uint64_t)m->time_ms);
    }
    wd_member_json(l, "metadata", m->metadata);
    if (x->reply) {
        wj_put_open(&l->w, "said", '{');
        wd_member(l, "model_name", e->said.model);
        wd_member(l, "provider_name", e->said.provider);
        wd_member(l, "provider_response_id", e->said.response);
        if (e->said.has_usage)
            wd_tp_put_usage(l, "usage", &e->said.usage);
        if (wd_pai_finish(e->said.stop))
            wd_member(l, "finish_reason", wb_cstr(wd_pai_finish(e->said.stop)));
        wj_write_close(&l->w, '}');
    }
    if (m->interrupted)
        wj_put_bool(&l->w, "interrupted", true);
    wj_write_close(&l->w, '}');
}

static void write_parts(struct wd_lowering *l, const struct wd_carry *c)
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

/* ---- Residue ------------------------------------------------------------------------------------------- */

struct carried {
    struct wj_node node;
    struct upp_str dialect, slot;
    uint64_t entry, entries;
    yyjson_val *json;
};
static const struct wj_field rows[] = {
    F_STR(struct carried, dialect, "dialect", F_REQUIRED),
    F_STR(struct carried, slot, "slot", F_REQUIRED),
    F_U64(struct carried, entry, "entry", 0),
    F_U64(struct carried, entries, "entries", 0),
    F_ANY(struct carried, json, "said", 0),
};
WJ_SHAPE(carried, struct carried, rows);

/* Attaches one to its entry; anything else stays in the document like an unknown member. */
static int attach(struct wd_lifting *l, yyjson_val *v, const struct wd_carry *at, struct upp_err *err)
{
    struct carried c;
    if (!yyjson_is_obj(v) || WJ_DECODE(l->a, carried, v, NULL, &c, NULL) < 0)
        return wb_arena_check(l->a, err);
    if (at->first != WD_THREAD && c.entry >= at->n)
        return 0;
    struct wm_residue **to = &l->doc->residue, *residue = wb_new(l->a, struct wm_residue);
    struct upp_str json = {0};
    int r = wj_value_text(l->a, c.json, &json, err);
    if (r < 0 || !residue)
        return r < 0 ? r : wb_arena_check(l->a, err);
    if (at->first != WD_THREAD)
        to = &l->doc->entries.p[at->first + c.entry].residue;
    while (*to)
        to = &(*to)->next;
    *residue = (struct wm_residue){.dialect = c.dialect,
                                   .slot = c.slot,
                                   .entries = (uint32_t)WB_MIN(c.entries, (uint64_t)WM_DOC_ENTRIES),
                                   .json = json};
    *to = residue;
    return wb_arena_check(l->a, err);
}

int wd_carried_read(struct wd_lifting *l, yyjson_val *x_weft, struct wd_carry *c, struct upp_err *err)
{
    yyjson_val *list = yyjson_obj_get(x_weft, "residue"), *one;
    size_t i, max;
    int r = c->first == WD_THREAD ? 0 : wd_carried_parts_read(l, x_weft, c, err);
    yyjson_arr_foreach(list, i, max, one)
    {
        if (r >= 0)
            r = attach(l, one, c, err);
    }
    return r;
}

static bool is_other(const struct wd_lowering *l, const struct wm_residue *r)
{
    return !wb_str_eq(r->dialect, wb_cstr(l->dialect));
}

static bool has_other(const struct wd_lowering *l, const struct wm_residue *r)
{
    while (r && !is_other(l, r))
        r = r->next;
    return r;
}

static bool has_residue(const struct wd_lowering *l, const struct wd_carry *c)
{
    if (c->first == WD_THREAD)
        return has_other(l, l->doc->residue);
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        if (has_other(l, l->doc->entries.p[i].residue) && wm_is_visible(&l->doc->entries.p[i].e))
            return true;
    return false;
}

unsigned wd_carries(struct wd_lowering *l, const struct wd_carry *c)
{
    unsigned residue = has_residue(l, c) ? WD_CARRIES_RESIDUE : 0;
    return carries_parts(l, c) ? residue | WD_CARRIES_PARTS : residue;
}

static void put_residue(struct wd_lowering *l, uint32_t at, const struct wm_residue *r)
{
    for (; r; r = r->next) {
        if (!is_other(l, r))
            continue;
        wj_write_open(&l->w, '{');
        wd_member(l, "dialect", r->dialect);
        wd_member(l, "slot", r->slot);
        wd_member_u64(l, "entry", at);
        wd_member_u64(l, "entries", r->entries);
        wd_member_json(l, "said", r->json);
        wj_write_close(&l->w, '}');
    }
}

void wd_carried_write(struct wd_lowering *l, const struct wd_carry *c, unsigned what)
{
    if (what & WD_CARRIES_RESIDUE) {
        uint32_t at = 0;
        wj_put_open(&l->w, "residue", '[');
        if (c->first == WD_THREAD)
            put_residue(l, 0, l->doc->residue);
        for (uint32_t i = c->first; c->first != WD_THREAD && i < c->first + c->n; i++)
            if (wm_is_visible(&l->doc->entries.p[i].e))
                put_residue(l, at++, l->doc->entries.p[i].residue);
        wj_write_close(&l->w, ']');
    }
    if (what & WD_CARRIES_PARTS)
        write_parts(l, c);
}
