/* dialects/envelope/lower.c — the model as envelopes.
 *
 * Each part of a message is an envelope, and so is an event. The first envelope of a message has the entry's id, the
 * others refer to it (weft.of). The parent of an envelope is the one before it; of a result, its call.
 */
#include "base/err.h"
#include "base/vec_add.h"
#include "dialects/envelope/chains.h"
#include "dialects/envelope/envelope.h"
#include "dialects/envelope/write.h"

struct ids {
    struct wm_names own; /* the entries' ids */
    uint8_t *duplicate;  /* by entry: an earlier one has the same id */
};

struct lowering {
    struct wd_envelope_out o; /* the envelope being written */
    struct upp_err *err;
    struct ids ids;
    struct wm_names called;           /* the ids of the calls ... */
    WB_VEC(struct upp_str) envelopes; /* ... and of the envelopes that have them */
    struct upp_str last;              /* the id of the previous envelope */
    uint32_t payer;                   /* the entry that carries the usage of its turn; UINT32_MAX: none */
    bool routed;              /* the thread is an exchange of the router: what is an envelope is written as it is */
    struct wm_names recorded; /* the ids of those */
    struct wd_chains chains;  /* and the parents of the requests among them */
};

static int ids_init(struct ids *ids, struct wd_lowering *l, struct upp_err *err)
{
    const struct wm_doc *d = l->doc;
    int r = 0;
    ids->duplicate = wb_new_n(&l->keep, uint8_t, d->entries.n + 1);
    if (!ids->duplicate)
        return wb_arena_check(&l->keep, err);
    for (size_t i = 0; r >= 0 && i < d->entries.n; i++) {
        uint32_t number;
        if (!d->entries.p[i].id.n)
            continue;
        r = wm_names_add(&ids->own, d->entries.p[i].id, &number, err);
        ids->duplicate[i] = r == 0;
    }
    return r < 0 ? r : 0;
}

/* Changes a derived id until no entry has it. */
static struct upp_str unique_id(const struct ids *ids, struct wd_lowering *l, struct upp_str made)
{
    while (made.p && wm_names_find(&ids->own, made) != UINT32_MAX)
        made = wb_arena_join(&l->keep, (struct upp_str[]){made, UPP_STR("+")}, 2);
    return made;
}

/* The id of the entry's first envelope. A duplicate id is replaced. */
static struct upp_str id_of(const struct ids *ids, struct wd_lowering *l, uint32_t i)
{
    struct upp_str id = wd_entry_at(l, i)->id;
    return id.n && !ids->duplicate[i]
               ? id
               : unique_id(ids, l, wb_arena_numbered(&l->keep, UPP_STR("entry-"), l->before + i));
}

static struct upp_str id_of_part(const struct ids *ids, struct wd_lowering *l, struct upp_str first, unsigned k)
{
    if (!k)
        return first;
    struct upp_str head = wb_arena_join(&l->keep, (struct upp_str[]){first, UPP_STR(".")}, 2);
    return unique_id(ids, l, wb_arena_numbered(&l->keep, head, k));
}

static struct upp_str parent_of(const struct lowering *t, const struct upp_part *p)
{
    if (!p || p->kind != UPP_PART_RESULT)
        return t->last;
    uint32_t call = wm_names_find(&t->called, p->id);
    return call == UINT32_MAX ? t->last : t->envelopes.p[call];
}

/* Prepares the next envelope of the entry, for this part. */
static void step_to(struct lowering *t, const struct upp_part *p)
{
    struct wd_envelope_out *o = &t->o;
    struct upp_str slot = wd_envelope_slot(&o->l->keep, o->k);
    wb_arena_reset(&o->l->scratch);
    o->part = p;
    o->slot = slot.p ? slot.p : "envelope";
    o->id = id_of_part(&t->ids, o->l, o->first, o->k);
    o->parent = parent_of(t, p);
    t->last = o->id;
}

static int remember_call(struct lowering *t)
{
    uint32_t number;
    int r = wm_names_add(&t->called, t->o.part->id, &number, t->err);
    if (r > 0)
        return wb_vec_add(&t->envelopes, t->o.id, (size_t)WM_NAMES_MAX, "calls in a document", t->err);
    if (r == 0) /* a result answers the later one */
        t->envelopes.p[number] = t->o.id;
    return r;
}

/* An envelope that the router has recorded, as it is, once. 0: the part is none. */
static int put_recorded(struct lowering *t, const struct upp_part *p)
{
    struct wd_lowering *l = t->o.l;
    uint32_t number;
    wb_arena_reset(&l->scratch);
    yyjson_val *v = t->routed && p ? wd_envelope_recorded(&l->scratch, wd_envelope_part_text(p)) : NULL;
    int r = wb_arena_check(&l->scratch, t->err);
    if (r < 0 || !v)
        return r;
    struct upp_str id = wb_arena_dup(&l->keep, wd_envelope_id(v));
    r = wd_chains_part(&t->chains, &l->scratch, &t->o.e->e.message, p, v, &v, t->err);
    if (r >= 0)
        r = id.n ? wm_names_add(&t->recorded, id, &number, t->err) : 1;
    if (r > 0)
        wj_write_value(&l->w, v);
    t->last = id.n ? id : t->last;
    return r < 0 ? r : 1;
}

static int put_part(struct lowering *t, const struct upp_part *p)
{
    struct wd_envelope_out *o = &t->o;
    int r = put_recorded(t, p);
    if (r != 0)
        return r < 0 ? r : 0;
    step_to(t, p);
    wd_envelope_write_part(o);
    o->k++;
    return p && p->kind == UPP_PART_CALL ? remember_call(t) : 0;
}

static void lose_medium(struct wd_envelope_out *o, const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    if (m->width.p || m->height.p || m->duration.p)
        wd_lose(o->l, o->i, "how large or long a medium is", "there is no member for it");
    if (!m->mime.n)
        wd_lose(o->l, o->i, "that nobody knows what a medium is", "it has a media type");
}

static void lose_entry(struct wd_envelope_out *o)
{
    const struct upp_message *m = &o->e->e.message;
    const struct wm_reply_info *s = &o->e->said;
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].media)
            lose_medium(o, &m->parts[i]);
    if (m->interrupted)
        wd_lose(o->l, o->i, "that a message was interrupted", "there is no member for it");
    if (s->response.p || s->stop)
        wd_lose(o->l, o->i, "why the model stopped, and its id of what it said", "there is no member for it");
    if (s->has_usage && (s->usage.cache_read || s->usage.cache_write || s->usage.reasoning))
        wd_lose(o->l, o->i, "tokens of caches and of reasoning", "a cost has two numbers");
    if (o->e->e.message.metadata.n)
        wd_lose(o->l, o->i, "what a provider said beside the message", "there is no member for it");
}

/* The entry that carries the usage of its turn: the agent's last one, if no entry has a usage of its own. */
static uint32_t payer_of(const struct wm_doc *d, const struct wm_doc_turn *t)
{
    uint32_t last = UINT32_MAX;
    for (uint32_t i = t->first; t->has_usage && i < t->first + t->n; i++) {
        if (d->entries.p[i].said.has_usage)
            return UINT32_MAX;
        if (d->entries.p[i].e.message.role == UPP_ROLE_ASSISTANT && wm_is_visible(&d->entries.p[i].e))
            last = i;
    }
    return last;
}

static int put_entry(struct lowering *t, const struct wm_doc_turn *turn, uint32_t i)
{
    struct wd_envelope_out *o = &t->o;
    int r = 0;
    o->i = i;
    o->e = wd_entry_at(o->l, i);
    o->k = 0;
    o->agent = o->e->agent;
    o->first = id_of(&t->ids, o->l, i);
    if (o->agent == WM_NO_AGENT && (wd_is_event(o->e) || o->e->e.message.role != UPP_ROLE_USER))
        o->agent = turn->agent;
    lose_entry(o);
    o->has_cost = o->e->said.has_usage || i == t->payer;
    o->cost = i == t->payer ? turn->usage : o->e->said.usage;
    if (wd_is_event(o->e)) {
        step_to(t, NULL);
        wd_envelope_write_event(&t->o);
    } else if (!o->e->e.message.n_parts)
        r = put_part(t, NULL);
    for (size_t k = 0; r >= 0 && !wd_is_event(o->e) && k < o->e->e.message.n_parts && !o->l->w.failed; k++)
        r = put_part(t, &o->e->e.message.parts[k]);
    return r;
}

static int put_turns(struct lowering *t)
{
    struct wd_lowering *l = t->o.l;
    const struct wm_doc *d = l->doc;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < d->turns.n && !l->w.failed; i++) {
        const struct wm_doc_turn *turn = &d->turns.p[i];
        t->payer = payer_of(d, turn);
        for (uint32_t k = turn->first; r >= 0 && k < turn->first + turn->n && !l->w.failed; k++)
            if (wm_is_visible(&d->entries.p[k].e))
                r = put_entry(t, turn, k);
    }
    return r;
}

/* A single envelope that was not in a list when it was read, and is still the only one. */
static bool is_alone(struct wd_lowering *l)
{
    const struct wm_doc *d = l->doc;
    return d->entries.n == 1 && wd_span(l, 0, "alone", 0) == 1 && wm_is_visible(&d->entries.p[0].e) &&
           (wd_is_event(&d->entries.p[0]) || d->entries.p[0].e.message.n_parts <= 1);
}

/* Has the router written in it? */
static bool is_routed(const struct wm_doc *d)
{
    for (size_t i = 0; i < d->agents.n; i++)
        if (wb_str_eq(d->agents.p[i].name, UPP_STR(WD_ENVELOPE_ROUTER)))
            return true;
    return false;
}

int wd_envelope_lower(struct wd_lowering *l, struct upp_err *err)
{
    struct lowering t = {.o = {.l = l}, .err = err, .routed = is_routed(l->doc), .last = l->last};
    int r = ids_init(&t.ids, l, err);
    wd_implied(l, WD_IMPLIED_ID | WD_IMPLIED_THREAD | WD_IMPLIED_MADE | WD_IMPLIED_AGENTS | WD_IMPLIED_TURNS);
    if (r >= 0 && is_alone(l))
        r = put_turns(&t);
    else if (r >= 0) {
        wd_open(l, WD_THREAD, "list");
        wj_write_open(&l->w, '[');
        r = put_turns(&t);
        wj_write_close(&l->w, ']');
        wd_close(l);
    }
    l->last = t.last;
    wb_vec_done(&t.envelopes);
    wm_names_done(&t.called);
    wm_names_done(&t.ids.own);
    wm_names_done(&t.recorded);
    wd_chains_done(&t.chains);
    return r < 0 ? r : wb_arena_check(&l->keep, err);
}
