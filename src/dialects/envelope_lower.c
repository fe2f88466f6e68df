/* dialects/envelope_lower.c — the model as envelopes.
 *
 * Each part of a message is an envelope, and so is an event. The first of a message has the entry's id, the others name
 * it (weft.of). The parent of an envelope is the one before it; that of a result, the call.
 */
#include "base/base64.h"
#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/data_url.h"
#include "dialects/envelope.h"
#include "dialects/envelope_say.h"
#include "dialects/pai_media.h"
#include "json/value.h"

struct called {
    struct upp_str call, envelope;
};

struct writing {
    struct wd_lowering *l;
    struct upp_err     *err;
    uint32_t           *index;        /* of entries by their ids: a place in the list, from 1 */
    size_t              index_n, ids; /* ids: in it */
    uint8_t            *again;        /* by entry: one before has its id */
    WB_VEC(struct called) calls;
    struct upp_str last;  /* the id of the envelope before */
    struct upp_str time;  /* the last that was one as an envelope has it: often the next is the same */
    uint32_t       payer; /* the entry that has the cost of its turn; UINT32_MAX: none */
    struct upp_str who;   /* what was written of the agent that came last */

    const struct wm_doc_agent *who_of; /* and which that is; NULL: nobody */

    /* The entry, and its envelope. */
    uint32_t                   i, agent;
    const struct wm_doc_entry *e;
    const struct upp_part     *part; /* NULL: an event, or a message without parts */
    unsigned                   k;    /* of how many in the entry */
    const char                *slot;
    struct upp_str             first, id, task;
    struct wj_extent           task_at; /* in what is written, between its quotes */
    struct upp_usage           cost;
    bool                       has_cost, weft; /* weft: its object is open */
};

static bool is_event(const struct wm_doc_entry *e)
{
    return e->e.kind == WM_ENTRY_EVENT;
}

static struct upp_str or_else(struct upp_str text, const char *otherwise)
{
    return text.n ? text : wb_cstr(otherwise);
}

/* ---- Members --------------------------------------------------------------------------------------------- */

static struct upp_str time_of(struct writing *o)
{
    const struct upp_message *m = &o->e->e.message;
    char                      text[WB_TIME_TEXT];
    if (m->time_text.p && (wb_str_eq(m->time_text, o->time) || wd_envelope_is_time(m->time_text)))
        return o->time = m->time_text;
    struct wb_time t = wb_time_from_ms(m->time_ms);
    struct upp_str s = wb_time_pydantic(&t, text); /* as a thread would: what comes by way of one is not another time */
    return s.p ? wb_arena_dup(&o->l->scratch, s) : UPP_STR("1970-01-01T00:00:00Z");
}

enum role { AGENT, USER, TOOL, SYSTEM };

#define ROLE(name)                                                                                                     \
    {                                                                                                                  \
        UPP_STR_INIT(name), UPP_STR_INIT("{\"protocol\":\"" WD_ENVELOPE_PROTOCOL "\",\"role\":\"" name "\"")           \
    }
static const struct {
    struct upp_str name, head; /* head: of an envelope of that role */
} roles[] = {[AGENT] = ROLE("agent"), [USER] = ROLE("user"), [TOOL] = ROLE("tool"), [SYSTEM] = ROLE("system")};

static enum role wire_role(const struct writing *o)
{
    uint8_t part = o->part ? o->part->kind : 0;
    return is_event(o->e)                                                   ? SYSTEM
           : part == UPP_PART_RESULT                                        ? TOOL
           : o->e->e.message.role == UPP_ROLE_USER && part != UPP_PART_CALL ? USER
                                                                            : AGENT;
}

static struct upp_str agent_id(const struct wm_doc_agent *a)
{
    return a->id.n ? a->id : or_else(a->name, "agent");
}

static struct upp_str agent_name(const struct wm_doc_agent *a)
{
    return a->name.p ? a->name : agent_id(a);
}

static struct upp_str model_of(const struct writing *o, const struct wm_doc_agent *a)
{
    struct upp_str model = o->e->said.model.p ? o->e->said.model : a->model;
    return model.p ? model : UPP_STR(WD_ENVELOPE_NO_MODEL);
}

/* Its id and its name. They mostly are those of the one before: then they are written as they were. */
static void put_who(struct writing *o, const struct wm_doc_agent *a)
{
    struct wd_lowering *l    = o->l;
    size_t              from = l->w.out->n;
    if (o->who_of == a && !l->w.match) {
        wj_write_raw(&l->w, o->who.p, o->who.n);
        return;
    }
    wj_write_open(&l->w, '{');
    wd_member(l, "id", agent_id(a));
    wd_member(l, "name", agent_name(a));
    if (l->w.match || l->w.out->failed)
        return;
    o->who    = wb_arena_dup(&l->keep, wb_str(l->w.out->p + from, l->w.out->n - from));
    o->who_of = o->who.p ? a : NULL;
}

static void put_agent(struct writing *o)
{
    struct wd_lowering *l = o->l;
    if (o->agent == WM_NO_AGENT)
        return;
    const struct wm_doc_agent *a = &l->doc->agents.p[o->agent];
    wd_name(l, "agent");
    put_who(o, a);
    wd_member(l, "model", model_of(o, a));
    wj_write_close(&l->w, '}');
}

static void put_call(struct writing *o)
{
    struct wd_lowering *l     = o->l;
    bool                none  = !o->part->text.n && !o->part->cut;
    struct upp_str      text  = none ? UPP_STR("{}") : o->part->text;
    bool                as_is = text.n && text.p[0] == '{' && wd_is_compact(text);
    yyjson_val         *args  = as_is ? NULL : wd_scratch_read(l, text);
    wj_write_open(&l->w, '{');
    wd_member(l, "id", o->part->id.p ? o->part->id : UPP_STR(""));
    wd_member(l, "name", o->part->name.p ? o->part->name : UPP_STR(""));
    wd_name(l, "arguments");
    if (as_is)
        wd_json_value(l, text);
    else if (yyjson_is_obj(args))
        wj_write_value(&l->w, args);
    else
        wj_write_str(&l->w, o->part->text.p ? o->part->text : UPP_STR(""));
    wj_write_close(&l->w, '}');
}

static void put_text(struct writing *o, struct upp_str text)
{
    enum { FEW = 32 }; /* so many are as soon written as copied */
    struct wj_writer *w  = &o->l->w;
    struct wj_extent  at = o->task_at;
    if (!text.p)
        return;
    wd_name(o->l, "text");
    if (w->match || w->out->failed || text.p != o->task.p || text.n < o->task.n || o->task.n <= FEW)
        wj_write_str(w, text);
    else
        wj_write_str_begun(w, text, o->task.n, wb_str(w->out->p + at.from, at.to - at.from));
}

static void put_content(struct writing *o, const struct wd_envelope_says *s)
{
    struct wd_lowering *l    = o->l;
    bool                call = o->part && o->part->kind == UPP_PART_CALL, event = is_event(o->e);
    wd_name(l, "content");
    wj_write_open(&l->w, '{');
    wd_member_word(l, "type", s->type);
    put_text(o, s->text);
    if (call || s->data || s->string.p || s->json.p || event)
        wd_name(l, "data");
    if (call)
        put_call(o);
    else if (s->json.p)
        wd_json_value(l, s->json);
    else if (s->string.p)
        wj_write_str(&l->w, s->string);
    else if (s->data)
        wj_write_value(&l->w, s->data);
    else if (event)
        wj_write_null(&l->w);
    wj_write_close(&l->w, '}');
}

/* What it is, or as far as one can tell. */
static struct upp_str mime_of(const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    return m->mime.n ? m->mime
                     : m->source == UPP_SOURCE_TEXT
               ? UPP_STR("text/plain")
           : m->source == UPP_SOURCE_URL ? wd_pai_media_type(m->data, p->kind)
                                         : UPP_STR("application/octet-stream");
}

/* "data:MIME;base64,..." */
static void put_bytes(struct writing *o, const struct upp_media *m)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(WD_DOC_BYTES);
    int                                   r   = wd_data_url(m, mime_of(o->part), &url, o->l->w.err);
    if (r < 0)
        wj_writer_fail(&o->l->w, r);
    wd_member(o->l, "uri", wb_buf_str(&url));
}

static void put_artifact(struct writing *o)
{
    struct wd_lowering     *l = o->l;
    const struct upp_media *m = o->part->media;
    wd_name(l, "outputs");
    wj_write_open(&l->w, '{');
    wd_name(l, "artifacts");
    wj_write_open(&l->w, '[');
    wj_write_open(&l->w, '{');
    wd_member(l, "kind", o->part->kind == UPP_PART_DOCUMENT ? UPP_STR("report") : UPP_STR("dataset"));
    wd_member(l, "name", or_else(m->title, "medium"));
    if (m->source == UPP_SOURCE_URL)
        wd_member(l, "uri", m->data.p ? m->data : UPP_STR(""));
    else
        put_bytes(o, m);
    wj_write_close(&l->w, '}');
    wj_write_close(&l->w, ']');
    wj_write_close(&l->w, '}');
}

static struct upp_str parent_of(const struct writing *o)
{
    if (!o->part || o->part->kind != UPP_PART_RESULT)
        return o->last;
    for (size_t i = o->calls.n; i && o->calls.n - i < WD_ENVELOPE_FAR; i--)
        if (wb_str_eq(o->calls.p[i - 1].call, o->part->id))
            return o->calls.p[i - 1].envelope;
    return o->last;
}

static void put_trace(struct writing *o)
{
    struct wd_lowering *l      = o->l;
    struct upp_str      parent = parent_of(o);
    wd_name(l, "trace");
    wj_write_open(&l->w, '{');
    if (parent.p) {
        wd_name(l, "parents");
        wj_write_open(&l->w, '[');
        wj_write_str(&l->w, parent);
        wj_write_close(&l->w, ']');
    }
    wd_member(l, "id", o->id);
    if (o->has_cost && !o->k) {
        wd_name(l, "cost");
        wj_write_open(&l->w, '{');
        wd_member_u64(l, "input_tokens", o->cost.input);
        wd_member_u64(l, "output_tokens", o->cost.output);
        wj_write_close(&l->w, '}');
    }
    wj_write_close(&l->w, '}');
}

/* ---- What envelopes have no member for ------------------------------------------------------------------- */

static void weft_open(struct writing *o)
{
    if (o->weft)
        return;
    o->weft = true;
    wd_name(o->l, "weft");
    wj_write_open(&o->l->w, '{');
}

static void weft_text(struct writing *o, const char *name, struct upp_str text)
{
    if (!text.p)
        return;
    weft_open(o);
    wd_member(o->l, name, text);
}

static void weft_json(struct writing *o, const char *name, struct upp_str json)
{
    if (!json.n)
        return;
    weft_open(o);
    wd_member_json(o->l, name, json);
}

static void weft_true(struct writing *o, const char *name, bool is)
{
    if (is)
        weft_json(o, name, UPP_STR("true"));
}

/* What the part is, where the envelope alone would be read otherwise. */
static struct upp_str kind_of(const struct writing *o)
{
    return !o->part ? UPP_STR("nothing")
                    : o->part->media
        ? UPP_STR("medium")
        : o->part->kind == UPP_PART_REASONING
        ? UPP_STR("reasoning")
        : (struct upp_str){0};
}

/* Metadata that are more than what this dialect itself has put there, or shows: arguments that are a text. */
static bool has_metadata(struct writing *o)
{
    const struct upp_part *p   = o->part;
    yyjson_val            *v   = p->metadata.n ? wd_scratch_read(o->l, p->metadata) : NULL;
    yyjson_val            *pai = yyjson_obj_get(v, "pydantic_ai");
    if (!yyjson_is_obj(v) || yyjson_obj_size(v) != 1)
        return yyjson_is_obj(v);
    if (p->kind == UPP_PART_CALL && yyjson_obj_size(pai) == 1 && yyjson_is_true(yyjson_obj_get(pai, "raw_args")))
        return yyjson_is_obj(wd_scratch_read(o->l, p->text));
    return !((p->kind == UPP_PART_TEXT || p->kind == UPP_PART_REASONING) && yyjson_obj_get(v, "envelope"));
}

static void put_weft_part(struct writing *o)
{
    const struct upp_part *p = o->part;
    if (p->kind == UPP_PART_RESULT) {
        weft_text(o, "call", p->id.p ? p->id : UPP_STR(""));
        weft_text(o, "name", p->name.n ? p->name : (struct upp_str){0});
    }
    if (p->media) {
        weft_text(o, "mime", mime_of(p));
        weft_text(o, "title", p->media->title);
    }
    weft_true(o, "cut", p->cut);
    if (has_metadata(o))
        weft_json(o, "metadata", p->metadata);
}

static void put_weft(struct writing *o)
{
    const struct wm_doc_entry *e     = o->e;
    const struct wm_doc_agent *agent = o->agent == WM_NO_AGENT ? NULL : &o->l->doc->agents.p[o->agent];
    if (o->l->pure)
        return;
    if (o->k)
        weft_text(o, "of", o->first);
    weft_text(o, "kind", kind_of(o));
    if (agent && e->e.message.role == UPP_ROLE_USER)
        weft_text(o, "agent", agent_id(agent));
    if (!o->k)
        weft_text(o, "provider", e->said.provider);
    if (o->part)
        put_weft_part(o);
}

/* An agent by its id, however an event speaks of it. */
static void put_mention(struct writing *o, yyjson_val *v)
{
    uint32_t agent = yyjson_is_str(v) ? wm_doc_agent_find(o->l->doc, wj_text(v)) : WM_NO_AGENT;
    if (agent == WM_NO_AGENT)
        wj_write_value(&o->l->w, v);
    else
        wj_write_str(&o->l->w, agent_id(&o->l->doc->agents.p[agent]));
}

static void put_weft_event(struct writing *o, yyjson_val *event)
{
    yyjson_val *type = yyjson_obj_get(event, "type"), *source = yyjson_obj_get(event, "source");
    yyjson_val *targets = yyjson_obj_get(event, "targets"), *one;
    size_t      i, n;
    if (o->l->pure)
        return;
    weft_text(o, "event", type && yyjson_is_str(type) ? wj_text(type) : UPP_STR(""));
    if (source && yyjson_is_str(source)) {
        wd_name(o->l, "source");
        put_mention(o, source);
    }
    if (!yyjson_is_arr(targets))
        return;
    wd_name(o->l, "targets");
    wj_write_open(&o->l->w, '[');
    yyjson_arr_foreach(targets, i, n, one) put_mention(o, one);
    wj_write_close(&o->l->w, ']');
}

/* ---- Ids ------------------------------------------------------------------------------------------------- */

/* Where the entry of that id is, or would be, in the index. */
static uint32_t *place_of(const struct writing *o, struct upp_str id)
{
    uint64_t hash = wb_str_hash(id);
    size_t   k    = (size_t)(hash ^ hash >> 32) & (o->index_n - 1);
    while (o->index[k] && !wb_str_eq(o->l->doc->entries.p[o->index[k] - 1].id, id))
        k = (k + 1) & (o->index_n - 1);
    return &o->index[k];
}

static int find_again(struct writing *o, struct upp_err *err)
{
    const struct wm_doc *d = o->l->doc;
    for (o->index_n = 16; o->index_n < 2 * d->entries.n; o->index_n *= 2)
        ;
    o->index = wb_new_n(&o->l->keep, uint32_t, o->index_n);
    o->again = wb_new_n(&o->l->keep, uint8_t, d->entries.n + 1);
    if (!o->index || !o->again)
        return wb_arena_check(&o->l->keep, err);
    for (size_t i = 0; i < d->entries.n; i++) {
        uint32_t *at = d->entries.p[i].id.n ? place_of(o, d->entries.p[i].id) : NULL;
        if (at && *at)
            o->again[i] = 1;
        else if (at)
            *at = (uint32_t)i + 1;
        o->ids += at != NULL;
    }
    return 0;
}

/* An id that was made, and no entry's own. */
static struct upp_str unlike(const struct writing *o, struct upp_str made)
{
    while (made.p && o->ids && *place_of(o, made))
        made = wb_arena_join(&o->l->keep, (struct upp_str[]){made, UPP_STR("+")}, 2);
    return made;
}

/* Of the entry, and of its other parts. An id that comes again is not written again. */
static struct upp_str id_of(const struct writing *o, uint32_t i)
{
    struct upp_str id = o->l->doc->entries.p[i].id;
    return id.n && !o->again[i] ? id : unlike(o, wb_arena_numbered(&o->l->keep, UPP_STR("entry-"), i));
}

static struct upp_str id_of_part(const struct writing *o)
{
    if (!o->k)
        return o->first;
    struct upp_str head = wb_arena_join(&o->l->keep, (struct upp_str[]){o->first, UPP_STR(".")}, 2);
    return unlike(o, wb_arena_numbered(&o->l->keep, head, o->k));
}

/* ---- What was read --------------------------------------------------------------------------------------- */

/* Both are there and the same, or neither is. Most texts are the very bytes that were read. */
static bool same(struct upp_str a, struct upp_str b)
{
    return a.n == b.n && (a.p == b.p || (a.p && b.p && wj_same(a.p, b.p, a.n)));
}

static bool same_agent(const struct writing *o, const struct wd_envelope *e)
{
    if (o->agent == WM_NO_AGENT || o->e->e.message.role == UPP_ROLE_USER)
        return o->agent == WM_NO_AGENT && !e->agent;
    const struct wm_doc_agent *a = &o->l->doc->agents.p[o->agent];
    return e->agent && same(e->agent_id, agent_id(a)) && same(e->agent_name, agent_name(a)) &&
           same(e->model, model_of(o, a));
}

/* {"input_tokens", "output_tokens"}: the numbers as they are read. */
static bool same_cost(const struct writing *o, yyjson_val *cost)
{
    uint64_t input, output;
    if (!cost || !o->has_cost || o->k)
        return !cost && !(o->has_cost && !o->k);
    return wb_str_u64(wj_text(cost + 2), &input) && wb_str_u64(wj_text(cost + 4), &output) && input == o->cost.input &&
           output == o->cost.output;
}

static bool same_weft(const struct writing *o, const struct wd_envelope *e)
{
    const struct upp_part *p      = o->part;
    const struct upp_str   none   = {0};
    bool                   result = p->kind == UPP_PART_RESULT;
    return same(e->of, o->k ? o->first : none) && same(e->kind, kind_of(o)) &&
           same(e->provider, o->k ? none : o->e->said.provider) && same(e->call, result ? p->id : none) &&
           same(e->name, result && p->name.n ? p->name : none);
}

/* Would we write just this? Of what it says of its part that is known: it is settled. */
static bool is_as_written(void *arg, yyjson_val *was)
{
    struct writing    *o = arg;
    struct wd_envelope e;
    return wd_envelope_read_plain(was, &e) && same(e.role, roles[wire_role(o)].name) && same_agent(o, &e) &&
           same(e.timestamp, time_of(o)) && same(e.parent, parent_of(o)) && same(e.id, o->id) && same_cost(o, e.cost) &&
           same_weft(o, &e);
}

/* ---- Envelopes ------------------------------------------------------------------------------------------- */

/* The next envelope of the entry is of this part. */
static void step_to(struct writing *o, const struct upp_part *p)
{
    struct upp_str slot = wd_envelope_slot(&o->l->keep, o->k);
    wb_arena_reset(&o->l->scratch);
    o->part = p;
    o->slot = slot.p ? slot.p : "envelope";
    o->id   = id_of_part(o);
}

/* What it begins with is one text, where nothing is compared. */
static void put_head(struct writing *o)
{
    struct wd_lowering *l    = o->l;
    struct upp_str      head = roles[wire_role(o)].head;
    if (!l->w.match) {
        wj_write_raw(&l->w, head.p, head.n);
        return;
    }
    wj_write_open(&l->w, '{');
    wd_member_word(l, "protocol", UPP_STR(WD_ENVELOPE_PROTOCOL));
    wd_member_word(l, "role", roles[wire_role(o)].name);
}

/* Where it stands is known then: most texts begin with it. */
static void put_task(struct writing *o, struct upp_str task)
{
    struct wj_writer *w = &o->l->w;
    wd_name(o->l, "task");
    o->task         = task;
    o->task_at.from = w->out->n + 1;
    wj_write_str(w, task);
    o->task_at.to = w->out->n - 1;
}

static void begin(struct writing *o, struct upp_str intent, struct upp_str task)
{
    struct wd_lowering *l = o->l;
    o->weft               = false;
    wd_open(l, o->i, o->slot);
    put_head(o);
    put_agent(o);
    wd_member_word(l, "timestamp", time_of(o));
    wd_member_word(l, "intent", intent);
    put_task(o, or_else(task, "(nothing)"));
}

static void end(struct writing *o)
{
    int r = wb_arena_check(&o->l->scratch, o->l->w.err);
    if (r < 0)
        wj_writer_fail(&o->l->w, r);
    if (o->weft)
        wj_write_close(&o->l->w, '}');
    wj_write_close(&o->l->w, '}');
    wd_close(o->l);
}

static int remember_call(struct writing *o)
{
    struct called one = {.call = o->part->id, .envelope = o->id};
    return wb_vec_push(&o->calls, one, (size_t)WM_DOC_ENTRIES) ? 0
                                                               : upp_fail(o->err, UPP_ENOMEM, "no memory for a call");
}

static void write_part(struct writing *o)
{
    struct wd_envelope_says s = {0};
    wd_envelope_say_part(o->l, o->part, o->e->e.message.role == UPP_ROLE_USER, &s);
    begin(o, s.intent, s.task);
    put_content(o, &s);
    if (o->part && o->part->media)
        put_artifact(o);
    put_trace(o);
    put_weft(o);
    end(o);
}

static int put_part(struct writing *o, const struct upp_part *p)
{
    step_to(o, p);
    if (!wd_settled_if(o->l, o->i, o->slot, is_as_written, o))
        write_part(o);
    o->last = o->id;
    o->k++;
    return p && p->kind == UPP_PART_CALL ? remember_call(o) : 0;
}

/* {"type": "envelope.INTENT", "data": {"task", "content"}}, as envelopes of role system are read. */
static bool is_own(yyjson_val *event, struct upp_str *intent, yyjson_val **task, yyjson_val **content)
{
    static const struct upp_str prefix = UPP_STR_INIT("envelope.");
    yyjson_val                 *type = yyjson_obj_get(event, "type"), *data = yyjson_obj_get(event, "data");
    *task    = yyjson_obj_get(data, "task");
    *content = yyjson_obj_get(data, "content");
    if (!yyjson_is_str(type) || !wb_str_starts(wj_text(type), prefix) || !yyjson_is_str(*task) ||
        !yyjson_is_obj(*content))
        return false;
    *intent = wb_str_sub(wj_text(type), prefix.n, SIZE_MAX);
    return wd_envelope_is_word(&wd_envelope_intents, *intent) && wj_text(*task).n;
}

static void put_event(struct writing *o)
{
    struct wd_envelope_says s = {0};
    yyjson_val             *event, *task, *content;
    struct upp_str          intent;
    step_to(o, NULL);
    event = wd_scratch_read(o->l, o->e->e.data);
    if (is_own(event, &intent, &task, &content)) {
        begin(o, intent, wj_text(task));
        wd_name(o->l, "content");
        wj_write_value(&o->l->w, content);
        put_trace(o);
    } else {
        wd_envelope_say_event(o->l, event, &s);
        begin(o, s.intent, s.task);
        put_content(o, &s);
        put_trace(o);
        put_weft_event(o, event);
    }
    end(o);
    o->last = o->id;
}

/* ---- Losses ---------------------------------------------------------------------------------------------- */

static void lose_medium(struct writing *o, const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    if (m->width.p || m->height.p || m->duration.p)
        wd_lose(o->l, o->i, "how large or long a medium is", "there is no member for it");
    if (!m->mime.n)
        wd_lose(o->l, o->i, "that nobody knows what a medium is", "it has a media type");
}

static void lose_entry(struct writing *o)
{
    const struct upp_message *m = &o->e->e.message;
    const struct wm_said     *s = &o->e->said;
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].media)
            lose_medium(o, &m->parts[i]);
    if (m->interrupted)
        wd_lose(o->l, o->i, "that a message was interrupted", "there is no member for it");
    if (s->response.p || s->stop)
        wd_lose(o->l, o->i, "why the model stopped, and its id of what it said", "there is no member for it");
    if (s->has_usage && (s->usage.cache_read || s->usage.cache_write || s->reasoning))
        wd_lose(o->l, o->i, "tokens of caches and of reasoning", "a cost has two numbers");
    if (o->e->e.message.metadata.n)
        wd_lose(o->l, o->i, "what a provider said beside the message", "there is no member for it");
}

/* ---- Entries --------------------------------------------------------------------------------------------- */

/* The entry that pays for its turn: the last of the agent's, where none says what it cost. */
static uint32_t payer_of(const struct wm_doc *d, const struct wm_doc_turn *t)
{
    uint32_t last = UINT32_MAX;
    for (uint32_t i = t->first; t->has_usage && i < t->first + t->n; i++) {
        if (d->entries.p[i].said.has_usage)
            return UINT32_MAX;
        if (d->entries.p[i].e.message.role == UPP_ROLE_ASSISTANT && wm_is_shown(&d->entries.p[i].e))
            last = i;
    }
    return last;
}

static int put_entry(struct writing *o, const struct wm_doc_turn *t, uint32_t i)
{
    int r    = 0;
    o->i     = i;
    o->e     = &o->l->doc->entries.p[i];
    o->k     = 0;
    o->agent = o->e->agent;
    o->first = id_of(o, i);
    if (o->agent == WM_NO_AGENT && (is_event(o->e) || o->e->e.message.role != UPP_ROLE_USER))
        o->agent = t->agent;
    lose_entry(o);
    o->has_cost = o->e->said.has_usage || i == o->payer;
    o->cost     = i == o->payer ? t->usage : o->e->said.usage;
    if (is_event(o->e))
        put_event(o);
    else if (!o->e->e.message.n_parts)
        r = put_part(o, NULL);
    for (size_t k = 0; r >= 0 && !is_event(o->e) && k < o->e->e.message.n_parts && !o->l->w.failed; k++)
        r = put_part(o, &o->e->e.message.parts[k]);
    return r;
}

static int put_turns(struct writing *o)
{
    const struct wm_doc *d = o->l->doc;
    int                  r = 0;
    for (size_t i = 0; r >= 0 && i < d->turns.n && !o->l->w.failed; i++) {
        const struct wm_doc_turn *t = &d->turns.p[i];
        o->payer                    = payer_of(d, t);
        for (uint32_t k = t->first; r >= 0 && k < t->first + t->n && !o->l->w.failed; k++)
            if (wm_is_shown(&d->entries.p[k].e))
                r = put_entry(o, t, k);
    }
    return r;
}

/* ---- The document ---------------------------------------------------------------------------------------- */

/* One envelope that was no list when it was read, and is one still. */
static bool is_alone(struct wd_lowering *l)
{
    const struct wm_doc *d = l->doc;
    return d->entries.n == 1 && wd_span(l, 0, "alone", 0) == 1 && wm_is_shown(&d->entries.p[0].e) &&
           (is_event(&d->entries.p[0]) || d->entries.p[0].e.message.n_parts <= 1);
}

int wd_envelope_lower(struct wd_lowering *l, struct upp_err *err)
{
    struct writing o = {.l = l, .err = err};
    int            r = find_again(&o, err);
    if (r < 0)
        return r;
    wd_unsaid(l, WD_UNSAID_ID | WD_UNSAID_THREAD | WD_UNSAID_MADE | WD_UNSAID_AGENTS | WD_UNSAID_TURNS);
    if (is_alone(l))
        r = put_turns(&o);
    else {
        wd_open(l, WD_THREAD, "list");
        wj_write_open(&l->w, '[');
        r = put_turns(&o);
        wj_write_close(&l->w, ']');
        wd_close(l);
    }
    wb_vec_done(&o.calls);
    return r < 0 ? r : wb_arena_check(&l->keep, err);
}
