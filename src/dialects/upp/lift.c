/* dialects/upp/lift.c — lifts UPP messages into the model. */
#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/upp/doc.h"
#include "model/upp_weft.h"
#include "json/value.h"
#include "model/upp_json.h"

void wd_upp_in_done(struct wd_upp_in *t)
{
    wd_upp_calls_done(&t->calls);
    wb_vec_done(&t->parts.list);
    wb_buf_done(&t->scratch);
}

static yyjson_val *object_at(yyjson_val *obj, const char *name)
{
    yyjson_val *v = yyjson_obj_get(obj, name);
    return yyjson_is_obj(v) ? v : NULL;
}

/* ---- Foreign metadata -------------------------------------------------------------------------------------- */

/* The foreign metadata of a message, and our members. Mostly there are only ours, in their order: a fast path. */
static int metadata_of(struct wd_upp_in *t, yyjson_val *map, yyjson_val **ours, struct upp_str *ret)
{
    yyjson_val *weft = map ? wm_weft_find(map) : NULL;
    bool only_ours = !map;
    if (weft)
        only_ours =
            wj_members_in_order(weft, wm_upp_message_names, WM_WEFT_NAMES, ours) && unsafe_yyjson_get_len(map) == 1;
    t->canonical &= only_ours && !(weft && !unsafe_yyjson_get_len(weft));
    if (map && !weft)
        return wj_value_text(t->l->a, map, ret, t->err);
    return only_ours ? 0 : wm_weft_foreign(t->l->a, &t->scratch, map, wm_upp_message_names, ret, t->err);
}

/* ---- Who ------------------------------------------------------------------------------------------------- */

/* Finds or adds the author. Without one it is the user, or the document's agent. */
static int agent_of(struct wd_upp_in *t, yyjson_val *value, yyjson_val *name, bool user, uint32_t *ret)
{
    struct upp_str id = wj_text_of(value);
    *ret = WM_NO_AGENT;
    if ((value && yyjson_is_null(value)) || (user && !id.p))
        return 0;
    int r = wd_agent_of(t->l, id.p ? id : t->agent, wj_text_of(name), ret, t->err);
    if (r < 0 || *ret != 0 || !t->nameless)
        return r;
    t->nameless = false;
    if (wj_text_of(name).p)
        t->l->doc->agents.p[0].name = wj_text_of(name);
    return 0;
}

static void usage_of(struct wd_upp_in *t, yyjson_val *v, bool *has, struct upp_usage *usage)
{
    yyjson_val *found[WM_USAGE_NAMES];
    uint64_t counts[WM_USAGE_NAMES] = {0};
    *has = yyjson_is_obj(v);
    t->canonical &= !v || *has;
    if (!*has)
        return;
    t->canonical &= wj_members_in_order(v, wm_upp_usage_names, WM_USAGE_NAMES, found);
    for (size_t i = 0; i < WM_USAGE_NAMES; i++)
        if (found[i] && yyjson_is_raw(found[i]))
            counts[i] = wd_number_of(wj_text(found[i]));
    *usage = (struct upp_usage){.input = counts[WM_USAGE_INPUT],
                                .output = counts[WM_USAGE_OUTPUT],
                                .cache_read = counts[WM_USAGE_CACHE_READ],
                                .cache_write = counts[WM_USAGE_CACHE_WRITE],
                                .reasoning = counts[WM_USAGE_REASONING]};
    t->canonical = t->canonical && wd_upp_is_canonical_usage(found, counts);
}

/* ---- Turns ----------------------------------------------------------------------------------------------- */

/* Begins a turn if the message has one (an object, or NULL), or if the author changes. */
static int turn_begin(struct wd_upp_in *t, yyjson_val *value, bool user, uint32_t agent)
{
    struct wm_doc *doc = t->l->doc;
    struct wm_doc_turn *turn = doc->turns.n ? &doc->turns.p[doc->turns.n - 1] : NULL;
    bool same = turn && (user ? turn->agent == WM_NO_AGENT
                              : turn->agent != WM_NO_AGENT && (agent == WM_NO_AGENT || agent == turn->agent));
    if (!user && agent == WM_NO_AGENT && !same && !value) {
        int r = agent_of(t, NULL, NULL, false, &agent);
        if (r < 0)
            return r;
    }
    if (same && !value)
        return 0;
    bool first = !turn;
    uint32_t owner = agent;
    yyjson_val *found[WM_TURN_NAMES] = {0};
    if (value)
        t->canonical = wj_members_in_order(value, wm_upp_turn_names, WM_TURN_NAMES, found) && t->canonical &&
                       wd_upp_is_canonical_turn(found);
    int r = found[WM_TURN_AGENT] ? agent_of(t, found[WM_TURN_AGENT], found[WM_TURN_NAME], user, &owner) : 0;
    if (r < 0)
        return r;
    turn = wm_doc_turn_add(doc, t->err);
    if (!turn)
        return -t->err->code;
    turn->agent = owner;
    turn->id = wj_text_of(found[WM_TURN_ID]);
    turn->run = wj_text_of(found[WM_TURN_RUN]);
    turn->started = wj_text_of(found[WM_TURN_STARTED]);
    turn->ended = wj_text_of(found[WM_TURN_ENDED]);
    turn->partial = yyjson_is_true(found[WM_TURN_PARTIAL]);
    usage_of(t, found[WM_TURN_USAGE], &turn->has_usage, &turn->usage);
    if (first) { /* the first turn gets the events before it */
        turn->n = turn->first;
        turn->first = 0;
    }
    return 0;
}

/* ---- Events ---------------------------------------------------------------------------------------------- */

static int lift_event(struct wd_upp_in *t, yyjson_val *v)
{
    yyjson_val *value = object_at(v, "said");
    uint32_t agent;
    if (!value)
        return 0;
    yyjson_val *turn = object_at(v, "turn"); /* a turn that begins with the event */
    int r = agent_of(t, yyjson_obj_get(v, "agent"), yyjson_obj_get(v, "name"), true, &agent);
    if (r >= 0 && turn && t->l->doc->turns.n)
        r = turn_begin(t, turn, true, WM_NO_AGENT);
    if (r < 0)
        return r;
    struct upp_str time = wj_text_at(v, "timestamp");
    struct wm_doc_entry *e = wd_entry_add(t->l, 0, agent, time, t->err);
    if (!e)
        return -t->err->code;
    if (wb_time_parse_upp(time, &e->e.message.time_ms)) /* canonical: no spelling to preserve */
        e->e.message.time_text = (struct upp_str){0};
    e->e.kind = WM_ENTRY_EVENT;
    e->e.message.id = wj_text_at(v, "id");
    return wj_value_text(t->l->a, value, &e->e.data, t->err);
}

static int lift_events(struct wd_upp_in *t, yyjson_val *list)
{
    yyjson_val *v;
    size_t i, n;
    int r = 0;
    yyjson_arr_foreach(list, i, n, v)
    {
        if (r >= 0)
            r = lift_event(t, v);
    }
    return r;
}

/* ---- Parts ----------------------------------------------------------------------------------------------- */

static int part_sidecar(struct wd_upp_in *t, yyjson_val *v, struct upp_part *p)
{
    struct upp_str name = wj_text_at(v, "name"), title = wj_text_at(v, "title");
    uint8_t kind = wm_upp_kind_of(wj_text_at(v, "kind"));
    if (kind && p->media)
        p->kind = kind;
    if (name.p && p->kind == UPP_PART_RESULT)
        p->name = name;
    if (title.p && p->media) {
        struct upp_media *media = wb_new(t->l->a, struct upp_media);
        if (!media)
            return wb_arena_check(t->l->a, t->err);
        *media = *p->media;
        media->title = title;
        p->media = media;
    }
    bool own = p->kind == UPP_PART_BINARY && !kind; /* its block has the metadata */
    return own ? 0 : wj_value_text(t->l->a, object_at(v, "metadata"), &p->metadata, t->err);
}

/* Adds what UPP's blocks cannot express, and the tool of each result. */
static int parts_sidecar(struct wd_upp_in *t, yyjson_val *map, struct upp_message *m)
{
    yyjson_val *key, *value;
    size_t i, n;
    int r = 0;
    for (size_t k = 0; r >= 0 && k < m->n_parts; k++) {
        if (m->parts[k].kind == UPP_PART_CALL)
            r = wd_upp_call_note(&t->calls, &m->parts[k], t->err);
        else if (m->parts[k].kind == UPP_PART_RESULT)
            m->parts[k].name = wd_upp_call_tool(&t->calls, m->parts[k].id);
    }
    if (!yyjson_is_obj(map))
        return r;
    yyjson_obj_foreach(map, i, n, key, value)
    {
        uint64_t at;
        if (r >= 0 && wb_str_u64(wj_text(key), &at) && at < m->n_parts)
            r = part_sidecar(t, value, &m->parts[at]);
    }
    return r;
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

static struct wm_reply_info reply_info(struct wd_upp_in *t, yyjson_val *const *weft)
{
    struct wm_reply_info s = {.model = wj_text_of(weft[WM_WEFT_MODEL]),
                              .provider = wj_text_of(weft[WM_WEFT_PROVIDER]),
                              .response = wj_text_of(weft[WM_WEFT_RESPONSE]),
                              .stop = wm_upp_stop_of(wj_text_of(weft[WM_WEFT_STOP]))};
    usage_of(t, weft[WM_WEFT_USAGE], &s.has_usage, &s.usage);
    return s;
}

static int add_parts(struct wd_upp_in *t, const struct upp_message *m)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < m->n_parts; i++)
        r = wd_parts_add(&t->parts, &m->parts[i], t->err);
    return r;
}

int wd_upp_lift_end(struct wd_upp_in *t)
{
    int r = 0;
    if (t->open && t->more)
        r = wd_parts_finish(t->l->a, &t->parts, &t->l->doc->entries.p[t->last].e.message, t->err);
    t->open = false;
    t->more = 0;
    return r;
}

/* Would these parts be written as one object of that type? */
static bool is_piece(const struct upp_message *m, uint8_t type, uint8_t own)
{
    for (size_t i = 0; i < m->n_parts; i++)
        if ((wd_upp_part_role(&m->parts[i]) ? wd_upp_part_role(&m->parts[i]) : own) != type)
            return false;
    return m->n_parts;
}

/* Does it continue the previous message, as the writer would? A `more` anywhere else is ignored. */
static bool goes_on(const struct wd_upp_in *t, yyjson_val *const *weft, const struct upp_message *m)
{
    return t->open && t->piece && yyjson_is_true(weft[WM_WEFT_MORE]) && m->role != t->piece &&
           is_piece(m, m->role, t->l->doc->entries.p[t->last].e.message.role);
}

static int lift_more(struct wd_upp_in *t, const struct upp_message *m)
{
    struct upp_message *to = &t->l->doc->entries.p[t->last].e.message;
    int r = t->more++ ? 0 : add_parts(t, to);
    wd_canonical(t->l, false); /* the previous object: its message has changed */
    t->canonical = false;
    to->interrupted |= m->interrupted;
    t->piece = m->role;
    return r < 0 ? r : add_parts(t, m);
}

static int lift_new(struct wd_upp_in *t, yyjson_val *const *weft, struct upp_message *m)
{
    struct upp_str id = wj_text_of(weft[WM_WEFT_ID]);
    uint8_t role = wm_upp_role_of(wj_text_of(weft[WM_WEFT_ROLE]));
    uint32_t agent;
    uint8_t type = m->role;
    if (role)
        m->role = role;
    t->piece = is_piece(m, type, m->role) ? type : 0;
    bool user = m->role == UPP_ROLE_USER;
    int r = agent_of(t, weft[WM_WEFT_AGENT], weft[WM_WEFT_NAME], user, &agent);
    if (r >= 0)
        r = turn_begin(t, yyjson_is_obj(weft[WM_WEFT_TURN]) ? weft[WM_WEFT_TURN] : NULL, user && agent == WM_NO_AGENT,
                       agent);
    if (r < 0)
        return r;
    struct wm_doc_entry *e = wd_entry_add(t->l, m->role, agent, (struct upp_str){0}, t->err);
    if (!e)
        return -t->err->code;
    e->e.message = *m;
    e->id = id.p ? id : m->id;
    if (m->role == UPP_ROLE_ASSISTANT)
        e->said = reply_info(t, weft);
    t->canonical = t->canonical && wd_upp_is_canonical_entry(t, weft, e);
    t->last = (uint32_t)(t->l->doc->entries.n - 1);
    t->open = true;
    return 0;
}

/* Anchors the object, and lifts the events after it. */
static int anchor_message(struct wd_upp_in *t, yyjson_val *v, yyjson_val *events)
{
    const char *slot = t->more ? wb_arena_numbered(t->l->a, UPP_STR("more-"), t->more).p : "message";
    int r = wb_arena_check(t->l->a, t->err);
    if (r >= 0 && yyjson_is_arr(events)) {
        r = wd_upp_lift_end(t);
        if (r >= 0)
            r = lift_events(t, events);
    }
    if (r >= 0)
        r = wd_anchor(t->l, v, slot, t->last, t->l->doc->entries.n - t->last, t->err);
    if (r >= 0)
        wd_canonical(t->l, t->canonical);
    return r;
}

int wd_upp_lift_message(struct wd_upp_in *t, yyjson_val *v)
{
    struct upp_message m;
    struct wm_message_sidecar sidecar;
    struct upp_err why; /* set on failure; clearing it for each message would be measurable */
    yyjson_val *ours[WM_WEFT_NAMES] = {0};
    int r = wm_message_lift(t->l->a, &t->scratch, v, t->l->now_ms, &m, &sidecar, &why);
    if (r == -UPP_EINVALID)
        return wd_upp_lift_end(t); /* invalid: stays as residue */
    if (r < 0) {
        *t->err = why;
        return r;
    }
    t->canonical = sidecar.plain;
    r = metadata_of(t, sidecar.metadata, ours, &m.metadata);
    if (r >= 0)
        r = parts_sidecar(t, ours[WM_WEFT_PARTS], &m);
    bool more = r >= 0 && goes_on(t, ours, &m);
    if (r >= 0 && !more)
        r = wd_upp_lift_end(t);
    if (r >= 0)
        r = more ? lift_more(t, &m) : lift_new(t, ours, &m);
    return r < 0 ? r : anchor_message(t, v, ours[WM_WEFT_EVENTS]);
}

/* ---- The document ---------------------------------------------------------------------------------------- */

void wd_upp_lift_reserve(struct wd_upp_in *t, size_t messages)
{
    const struct wm_doc *doc = t->l->doc;
    wd_reserve(t->l, doc->turns.n + messages / 2, doc->entries.n + messages, t->l->anchors.n + messages + 2);
}

static int lift_agent(struct wd_upp_in *t, yyjson_val *v)
{
    struct wm_doc_agent a = {.id = wj_text_at(v, "id"),
                             .name = wj_text_at(v, "name"),
                             .model = wj_text_at(v, "model"),
                             .provider = wj_text_at(v, "provider"),
                             .config = wj_text_at(v, "config"),
                             .created = wj_text_at(v, "created"),
                             .prompt = wj_text_at(v, "prompt")};
    uint32_t at;
    for (size_t i = 0; a.id.p && i < t->l->doc->agents.n; i++)
        if (wb_str_eq(t->l->doc->agents.p[i].id, a.id))
            return 0; /* already known; compared by id, because another agent may have it as its name */
    if (!a.id.p)
        return 0;
    if (!a.name.p)
        a.name = a.id;
    return wm_doc_agent_add(t->l->doc, &a, &at, t->err);
}

int wd_upp_lift_events(struct wd_upp_in *t, yyjson_val *metadata)
{
    yyjson_val *weft = object_at(metadata, "weft");
    return weft ? lift_events(t, yyjson_obj_get(weft, "events")) : 0;
}

int wd_upp_lift_about(struct wd_upp_in *t, yyjson_val *metadata)
{
    struct wm_doc *doc = t->l->doc;
    yyjson_val *weft = object_at(metadata, "weft"), *v;
    yyjson_val *parent = object_at(weft, "parent");
    size_t i, n;
    int r = 0;
    if (yyjson_is_obj(metadata))
        r = wm_weft_foreign(t->l->a, &t->scratch, metadata, wm_upp_about_names, &doc->metadata, t->err);
    doc->title = wj_text_at(weft, "title");
    doc->parent = wj_text_at(parent, "id");
    doc->parent_at = (uint32_t)WB_MIN(wd_number_at(parent, "at"), (uint64_t)WM_DOC_ENTRIES);
    yyjson_arr_foreach(yyjson_obj_get(weft, "agents"), i, n, v)
    {
        if (r >= 0)
            r = lift_agent(t, v);
    }
    return r < 0 ? r : lift_events(t, yyjson_obj_get(weft, "events"));
}
