/* dialects/upp/lower.c — writes the model as UPP messages.
 *
 * An entry is one message. An entry with calls or results that its UPP type cannot have is split into several: the
 * first one, and continuations marked `more`.
 */
#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/upp/doc.h"
#include "model/upp_weft.h"
#include "json/read.h"
#include "json/value.h"
#include "model/upp_json.h"

void wd_upp_out_done(struct wd_upp_out *t)
{
    wd_upp_calls_done(&t->calls);
}

uint32_t wd_upp_first(const struct wd_lowering *l)
{
    uint32_t i = 0;
    while (i < l->doc->entries.n && wd_is_event(wd_entry_at(l, i)))
        i++;
    return i;
}

static void fail_writer(struct wd_lowering *l, int r)
{
    if (r < 0)
        wj_writer_fail(&l->w, r);
}

/* ---- Members of metadata.weft and of objects in it -------------------------------------------------------------- */

static void put_name(struct wd_upp_weft *o, struct upp_str name)
{
    if (!o->open)
        wd_upp_weft_open(o);
    wj_write_unescaped_name(&o->l->w, name.p, name.n);
}

static void put_text(struct wd_upp_weft *o, struct upp_str name, struct upp_str text)
{
    if (!text.p)
        return;
    put_name(o, name);
    wj_write_str(&o->l->w, text);
}

/* Writes JSON of the model. False: it is invalid, and omitted. */
static bool put_json(struct wd_upp_weft *o, struct upp_str name, struct upp_str json)
{
    yyjson_val *v = json.n ? wd_scratch_read(o->l, json) : NULL;
    if (!v)
        return !json.n;
    put_name(o, name);
    wj_write_value(&o->l->w, v);
    return true;
}

static void put_usage(struct wd_upp_weft *o, const struct upp_usage *u)
{
    put_name(o, UPP_STR("usage"));
    wm_usage_write_all(&o->l->w, u);
}

static struct upp_str agent_id(const struct wd_lowering *l, uint32_t agent)
{
    const struct wm_doc_agent *a = &l->doc->agents.p[agent];
    return a->id.p ? a->id : a->name;
}

/* Writes the author, unless a reader would assume it. */
static void put_agent(struct wd_upp_out *t, struct wd_upp_weft *o, uint32_t agent, bool user, bool always)
{
    bool nobody = agent == WM_NO_AGENT;
    if (nobody && user && !always)
        return;
    if (nobody) {
        put_name(o, UPP_STR("agent"));
        wj_write_null(&o->l->w);
        return;
    }
    struct upp_str id = agent_id(t->l, agent), name = t->l->doc->agents.p[agent].name;
    if (user || always || t->l->doc->agents.n > 1 || !wb_str_eq(id, t->agent))
        put_text(o, UPP_STR("agent"), id);
    if (name.p && !wb_str_eq(name, id))
        put_text(o, UPP_STR("name"), name);
}

/* ---- Turns ----------------------------------------------------------------------------------------------- */

static const struct wm_doc_turn *turn_at(struct wd_upp_out *t, uint32_t i)
{
    const struct wm_doc *d = t->l->doc;
    while (t->turn < d->turns.n && d->turns.p[t->turn].first + d->turns.p[t->turn].n <= i)
        t->turn++;
    return t->turn < d->turns.n ? &d->turns.p[t->turn] : NULL;
}

/* Does the turn begin with its first event? Only an agent's turn whose first message is that agent's; other turns are
 * recognized by their messages. Events before all messages belong to the first turn in any case. */
static bool has_first_event(const struct wd_upp_out *t, const struct wm_doc_turn *turn)
{
    uint32_t k = turn->first, end = turn->first + turn->n;
    while (k < end && (wd_is_event(wd_entry_at(t->l, k)) || !wm_is_visible(&wd_entry_at(t->l, k)->e)))
        k++;
    return t->turn && turn->agent != WM_NO_AGENT && k < end && wd_entry_at(t->l, k)->agent == turn->agent;
}

/* Is entry i the first one of the turn that is written? */
static bool begins(const struct wd_upp_out *t, const struct wm_doc_turn *turn, uint32_t i)
{
    bool events = has_first_event(t, turn);
    uint32_t k = turn->first;
    while (k < i && ((!events && wd_is_event(wd_entry_at(t->l, k))) || !wm_is_visible(&wd_entry_at(t->l, k)->e)))
        k++;
    return k == i && (events || !wd_is_event(wd_entry_at(t->l, i)));
}

static bool is_users(const struct wm_doc_entry *e)
{
    return e->e.message.role == UPP_ROLE_USER && e->agent == WM_NO_AGENT;
}

/* The turn's time, unless it is that of its message. */
static struct upp_str own_time(struct upp_str time, const struct upp_message *m)
{
    struct wb_time t;
    bool same = time.p && wb_time_parse(time, &t, NULL) >= 0 && wb_time_ms(&t) == m->time_ms;
    return same ? (struct upp_str){0} : time;
}

static void put_turn(struct wd_upp_out *t, struct wd_upp_weft *o, uint32_t i)
{
    const struct wm_doc_turn *turn = turn_at(t, i), *before = turn && t->turn ? turn - 1 : NULL;
    const struct wm_doc_entry *e = wd_entry_at(t->l, i);
    bool event = wd_is_event(e);
    if (!turn || !begins(t, turn, i))
        return;
    bool user = is_users(e);
    uint32_t by = user ? WM_NO_AGENT : e->agent;
    bool own = event || turn->agent != by; /* the turn's agent is not the message's */
    bool same = before && (user ? before->agent == WM_NO_AGENT
                                : before->agent != WM_NO_AGENT && (by == WM_NO_AGENT || by == before->agent));
    struct upp_str started = own_time(turn->started, &e->e.message);
    struct upp_str ended = own_time(turn->ended, &wd_entry_at(t->l, turn->first + turn->n - 1)->e.message);
    if (!turn->id.p && !turn->run.p && !started.p && !ended.p && !turn->has_usage && !turn->partial && !same && !own)
        return;
    struct wd_upp_weft in = {.l = o->l, .open = true};
    put_name(o, UPP_STR("turn"));
    wj_write_open(&in.l->w, '{');
    put_text(&in, UPP_STR("id"), turn->id);
    put_text(&in, UPP_STR("run"), turn->run);
    put_text(&in, UPP_STR("started"), started);
    put_text(&in, UPP_STR("ended"), ended);
    if (turn->has_usage)
        put_usage(&in, &turn->usage);
    if (turn->partial) {
        put_name(&in, UPP_STR("partial"));
        wj_write_bool(&in.l->w, true);
    }
    if (own)
        put_agent(t, &in, turn->agent, false, true);
    wj_write_close(&in.l->w, '}');
}

/* ---- Events ---------------------------------------------------------------------------------------------- */

static void put_event(struct wd_upp_out *t, struct wd_upp_weft *o, uint32_t i)
{
    const struct wm_doc_entry *e = wd_entry_at(t->l, i);
    struct wd_upp_weft in = {.l = o->l, .open = true};
    wb_arena_reset(&t->l->scratch);
    wj_write_open(&in.l->w, '{');
    put_text(&in, UPP_STR("id"), e->e.message.id.p ? e->e.message.id : e->id);
    put_agent(t, &in, e->agent, true, false);
    put_text(&in, UPP_STR("timestamp"), wd_upp_time(t->l, e->e.message.time_text, e->e.message.time_ms));
    if (!put_json(&in, UPP_STR("said"), e->e.data))
        wd_lose(t->l, i, "what an event said", "it is no JSON");
    put_turn(t, &in, i);
    wj_write_close(&in.l->w, '}');
}

static bool is_visible_event(const struct wd_lowering *l, uint32_t i)
{
    return wd_is_event(wd_entry_at(l, i)) && wm_is_visible(&wd_entry_at(l, i)->e);
}

/* Writes the events among n entries from `first` on. */
static void put_events(struct wd_upp_out *t, struct wd_upp_weft *o, uint32_t first, uint32_t n)
{
    bool any = false;
    for (uint32_t i = first; i < first + n; i++) {
        if (!is_visible_event(t->l, i))
            continue;
        if (!any) {
            put_name(o, UPP_STR("events"));
            wj_write_open(&o->l->w, '[');
        }
        any = true;
        put_event(t, o, i);
    }
    if (any)
        wj_write_close(&o->l->w, ']');
}

/* ---- Parts ----------------------------------------------------------------------------------------------- */

/* Does UPP have a block of this kind with this source? */
static bool has_form(const struct upp_part *p)
{
    uint8_t source = p->media->source;
    if (p->kind == UPP_PART_IMAGE)
        return source != UPP_SOURCE_TEXT;
    return p->kind == UPP_PART_DOCUMENT || source == UPP_SOURCE_BASE64 || source == UPP_SOURCE_BYTES;
}

/* Does the part's block contain its metadata? */
static bool has_metadata(const struct upp_part *p)
{
    return p->kind == UPP_PART_BINARY && (!p->media || has_form(p));
}

static bool is_media(const struct upp_part *p)
{
    return p->kind >= UPP_PART_IMAGE && p->kind <= UPP_PART_BINARY;
}

/* Converts a media part to what UPP can express. put_part writes the rest. */
static void convert_media(struct wd_lowering *l, struct upp_part *p)
{
    struct wj_syntax seen;
    if (!p->media) {
        p->kind = UPP_PART_TEXT;
        return;
    }
    if (!has_form(p))
        p->kind = UPP_PART_DOCUMENT;
    if (p->kind == UPP_PART_DOCUMENT && p->media->source == UPP_SOURCE_BYTES) {
        struct upp_media *m = wb_new(&l->keep, struct upp_media);
        if (m) {
            *m = *p->media;
            m->source = UPP_SOURCE_BASE64;
            p->media = m;
        }
    }
    if (p->metadata.p && wj_syntax(p->metadata, WJ_MAX_DEPTH, &seen, NULL) < 0)
        p->metadata = (struct upp_str){0};
}

/* The parts as UPP can express them: mostly unchanged. */
static struct upp_part *written_parts(struct wd_lowering *l, const struct upp_message *m)
{
    size_t k = 0;
    while (k < m->n_parts && !is_media(&m->parts[k]))
        k++;
    if (k == m->n_parts)
        return m->parts;
    struct upp_part *parts = wb_new_n(&l->keep, struct upp_part, m->n_parts);
    if (parts)
        memcpy(parts, m->parts, m->n_parts * sizeof *parts);
    for (; parts && k < m->n_parts; k++)
        if (is_media(&parts[k]))
            convert_media(l, &parts[k]);
    fail_writer(l, wb_arena_check(&l->keep, l->w.err));
    return parts;
}

/* Writes what UPP cannot express of a part, if anything. */
static void put_part(struct wd_upp_out *t, struct wd_upp_weft *o, size_t at, const struct upp_part *p, bool *any,
                     bool deep)
{
    bool media = p->media && is_media(p);
    bool kind = media && !has_form(p), metadata = deep && p->metadata.n && !has_metadata(p);
    struct upp_str none = {0}, title = media && p->kind != UPP_PART_DOCUMENT && !kind ? p->media->title : none;
    bool name = p->kind == UPP_PART_RESULT && p->name.p && !wb_str_eq(p->name, wd_upp_call_tool(&t->calls, p->id));
    struct wd_upp_weft in = {.l = o->l, .open = true};
    if (!kind && !title.p && !name && !metadata)
        return;
    if (!*any) {
        put_name(o, UPP_STR("parts"));
        wj_write_open(&o->l->w, '{');
    }
    *any = true;
    wj_write_name(&o->l->w, wb_arena_numbered(&t->l->keep, UPP_STR(""), at));
    wj_write_open(&in.l->w, '{');
    if (kind)
        put_text(&in, UPP_STR("kind"), wb_cstr(wm_upp_kinds[p->kind]));
    if (name)
        put_text(&in, UPP_STR("name"), p->name);
    put_text(&in, UPP_STR("title"), title);
    wb_arena_reset(&t->l->scratch);
    if (metadata)
        (void)put_json(&in, UPP_STR("metadata"), p->metadata);
    wj_write_close(&in.l->w, '}');
}

/* ---- One message ----------------------------------------------------------------------------------------- */

/* The message that is written: an entry, or the parts of it that fit one type. */
struct piece {
    struct wd_upp_out *t;
    uint32_t entry, n; /* number of entries, with the events after it */
    unsigned more;     /* 0: the first one */
    bool last;
    struct upp_message m;
    const struct upp_part *parts; /* unconverted */
};

static void put_weft(struct piece *p, struct wd_upp_weft *o, bool deep)
{
    struct wd_upp_out *t = p->t;
    const struct wm_doc_entry *e = wd_entry_at(t->l, p->entry);
    bool any = false;
    if (p->more) {
        put_name(o, UPP_STR("more"));
        wj_write_bool(&o->l->w, true);
    } else {
        put_agent(t, o, e->agent, e->e.message.role == UPP_ROLE_USER, false);
        put_turn(t, o, p->entry);
        put_text(o, UPP_STR("model"), e->said.model);
        put_text(o, UPP_STR("provider"), e->said.provider);
        put_text(o, UPP_STR("response"), e->said.response);
        if (e->said.stop && e->said.stop < WB_LEN(wm_upp_stops))
            put_text(o, UPP_STR("stop"), wb_cstr(wm_upp_stops[e->said.stop]));
        if (e->said.has_usage)
            put_usage(o, &e->said.usage);
        if (e->id.p && !wb_str_eq(e->id, p->m.id))
            put_text(o, UPP_STR("id"), e->id);
        if (p->m.role != e->e.message.role)
            put_text(o, UPP_STR("role"), wb_cstr(wm_upp_roles[e->e.message.role]));
    }
    for (size_t i = 0; i < p->m.n_parts; i++)
        put_part(t, o, i, &p->parts[i], &any, deep);
    if (any)
        wj_write_close(&o->l->w, '}');
    if (p->last && deep)
        put_events(t, o, p->entry + 1, p->n - 1);
}

enum { DEEPEST = WJ_MAX_DEPTH - 1 }; /* of a message's metadata */

/* Is JSON of the model too deep to be nested in metadata.weft, a list and an object? Invalid JSON is omitted anyway. */
static bool is_deep(struct upp_str json)
{
    enum { ENCLOSING = 4 };
    struct wj_syntax seen;
    return json.n && wj_syntax(json, WD_DOC_DEPTH, &seen, NULL) == 0 && seen.depth > DEEPEST - ENCLOSING;
}

/* Is anything in the metadata deeper than a message may be? */
static bool is_too_deep(const struct piece *p, const struct wd_upp_weft *o)
{
    bool deep = wd_upp_weft_depth(o) > DEEPEST;
    for (size_t i = 0; !deep && i < p->m.n_parts; i++)
        deep = !has_metadata(&p->parts[i]) && is_deep(p->parts[i].metadata);
    for (uint32_t i = p->entry + 1; !deep && p->last && i < p->entry + p->n; i++)
        deep = is_visible_event(p->t->l, i) && is_deep(wd_entry_at(p->t->l, i)->e.data);
    return deep;
}

static void put_metadata(struct piece *p, unsigned needs)
{
    struct wd_lowering *l = p->t->l;
    struct wd_upp_weft o = {.l = l, .names = wm_upp_message_names};
    if (!p->more)
        wd_upp_weft_others(&o, p->m.metadata, WD_DOC_DEPTH);
    bool deep = !is_too_deep(p, &o);
    if (!deep) {
        o = (struct wd_upp_weft){.l = l, .names = wm_upp_message_names};
        wd_lose(l, p->entry, "its metadata, and events after it", "they are nested too deep for a message");
    }
    put_weft(p, &o, deep);
    if (needs && !o.open)
        wd_upp_weft_open(&o);
    wm_weft_write(&l->w, &p->m, needs);
    wd_upp_weft_close(&o, false);
}

static void put_piece(struct piece *p)
{
    struct wd_lowering *l = p->t->l;
    const char *slot = p->more ? wb_arena_numbered(&l->keep, UPP_STR("more-"), p->more).p : "message";
    fail_writer(l, wb_arena_check(&l->keep, l->w.err));
    if (l->w.failed)
        return;
    wd_open(l, p->entry, slot);
    unsigned needs = wm_weft_needs(&p->m);
    wm_message_begin(&l->w, &p->m);
    put_metadata(p, needs);
    if (!wm_message_end(&l->w, &p->m, needs))
        wd_lose(l, p->entry, "that a result is a value", "it is too deep, or no JSON, and is a text");
    wd_close(l);
}

static void note_calls(struct wd_upp_out *t, const struct upp_message *m)
{
    for (size_t i = 0; i < m->n_parts && !t->l->w.failed; i++)
        if (m->parts[i].kind == UPP_PART_CALL)
            fail_writer(t->l, wd_upp_call_note(&t->calls, &m->parts[i], t->l->w.err));
}

static void put_entry(struct wd_upp_out *t, uint32_t i, uint32_t n)
{
    struct wd_lowering *l = t->l;
    const struct upp_message *m = &wd_entry_at(l, i)->e.message;
    struct upp_part *all = written_parts(l, m);
    uint8_t own = m->role && m->role < WB_LEN(wm_upp_roles) ? m->role : UPP_ROLE_USER;
    struct piece p = {.t = t, .entry = i, .n = n, .m = *m};
    size_t from = 0;
    if (l->w.failed)
        return;
    if (!p.m.id.p)
        p.m.id = wd_entry_at(l, i)->id.p ? wd_entry_at(l, i)->id : wb_arena_numbered(&l->keep, UPP_STR("message-"), i);
    p.m.time_text = wd_upp_time(l, m->time_text, m->time_ms);
    do {
        size_t end = from;
        uint8_t role = 0;
        for (; end < m->n_parts; end++) {
            uint8_t needs = wd_upp_part_role(&all[end]) ? wd_upp_part_role(&all[end]) : own;
            if (role && needs != role)
                break;
            role = needs;
        }
        p.m.role = role ? role : own;
        p.m.parts = m->n_parts ? all + from : NULL;
        p.parts = m->parts ? m->parts + from : NULL;
        p.m.n_parts = end - from;
        p.last = end == m->n_parts;
        p.m.interrupted = m->interrupted && p.last;
        if (l->w.failed)
            return;
        note_calls(t, &p.m); /* as the reader will see them */
        put_piece(&p);
        p.more++;
        from = end;
    } while (from < m->n_parts);
}

uint32_t wd_upp_put_message(struct wd_upp_out *t, uint32_t i)
{
    uint32_t all = (uint32_t)t->l->doc->entries.n, n = 1;
    while (i + n < all && (wd_is_event(wd_entry_at(t->l, i + n)) || !wm_is_visible(&wd_entry_at(t->l, i + n)->e)))
        n++;
    if (!wm_is_visible(&wd_entry_at(t->l, i)->e) || wd_is_event(wd_entry_at(t->l, i)))
        return n;
    if (wd_is_canonical(t->l, i, "message"))
        note_calls(t, &wd_entry_at(t->l, i)->e.message);
    else
        put_entry(t, i, n);
    return n;
}

/* ---- The document ---------------------------------------------------------------------------------------- */

/* When the agent was created; NULL: with the document. */
static struct upp_str created_of(const struct wd_upp_out *t, const struct wm_doc_agent *a)
{
    return wb_str_eq(a->created, t->l->doc->created) ? (struct upp_str){0} : a->created;
}

/* Is more known of the agents than messages express? */
static bool has_agents(const struct wd_upp_out *t)
{
    const struct wm_doc *d = t->l->doc;
    if (d->agents.n > 1)
        return true;
    for (size_t i = 0; i < d->agents.n; i++) {
        const struct wm_doc_agent *a = &d->agents.p[i];
        if (!wb_str_eq(a->name, agent_id(t->l, (uint32_t)i)) || a->model.p || a->provider.p || a->config.p ||
            created_of(t, a).p || a->prompt.p)
            return true;
    }
    return false;
}

static void put_agents(struct wd_upp_out *t, struct wd_upp_weft *o)
{
    const struct wm_doc *d = t->l->doc;
    if (!has_agents(t))
        return;
    put_name(o, UPP_STR("agents"));
    wj_write_open(&o->l->w, '[');
    for (size_t i = 0; i < d->agents.n; i++) {
        const struct wm_doc_agent *a = &d->agents.p[i];
        struct wd_upp_weft in = {.l = o->l, .open = true};
        wj_write_open(&in.l->w, '{');
        put_text(&in, UPP_STR("id"), agent_id(t->l, (uint32_t)i));
        put_text(&in, UPP_STR("name"), a->name);
        put_text(&in, UPP_STR("model"), a->model);
        put_text(&in, UPP_STR("provider"), a->provider);
        put_text(&in, UPP_STR("config"), a->config);
        put_text(&in, UPP_STR("created"), created_of(t, a));
        put_text(&in, UPP_STR("prompt"), a->prompt);
        wj_write_close(&in.l->w, '}');
    }
    wj_write_close(&o->l->w, ']');
}

static void put_parent(struct wd_upp_out *t, struct wd_upp_weft *o)
{
    if (!t->l->doc->parent.p)
        return;
    put_name(o, UPP_STR("parent"));
    wj_write_open(&o->l->w, '{');
    wj_put_str(&o->l->w, "id", t->l->doc->parent);
    wj_put_u64(&o->l->w, "at", t->l->doc->parent_at);
    wj_write_close(&o->l->w, '}');
}

void wd_upp_put_about(struct wd_upp_out *t, bool always)
{
    struct wd_lowering *l = t->l;
    struct wd_upp_weft o = {.l = l, .names = wm_upp_about_names};
    wd_upp_weft_others(&o, l->doc->metadata, WD_DOC_DEPTH - 1);
    put_text(&o, UPP_STR("title"), l->doc->title);
    put_parent(t, &o);
    put_agents(t, &o);
    put_events(t, &o, 0, wd_upp_first(l));
    wd_upp_weft_close(&o, always);
}
