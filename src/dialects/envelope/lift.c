/* dialects/envelope/lift.c — envelopes into the model.
 *
 * An envelope is an entry, or another part of the message before it (weft.of). Role user is the user; agent and tool
 * are the agent that the envelope names; system is an event. What an envelope has about its purpose, confidence and
 * lineage is residue, except its id and cost.
 */
#include "base/err.h"
#include "base/vec_add.h"
#include "dialects/envelope/envelope.h"
#include "dialects/core/lift.h"
#include "json/value.h"
#include "model/names.h"

/* A call that was read. */
struct called {
    struct upp_str call, name;
    bool answered;
};

struct lifting {
    struct wd_lifting *l;
    struct upp_err *err;
    /* The open message. */
    struct wd_parts parts;
    size_t entry;      /* SIZE_MAX: none is open */
    struct upp_str id; /* of its first envelope */
    uint32_t agent;
    uint8_t role;
    unsigned n;                  /* how many envelopes it has so far */
    struct wm_names called;      /* the ids of the envelopes with a call ... */
    WB_VEC(struct called) calls; /* ... and their calls, by the same number */
};

static bool is_word(struct upp_str s, const char *word)
{
    return wb_str_eq(s, wb_cstr(word));
}

/* ---- Texts ----------------------------------------------------------------------------------------------- */

/* A string as it is, any other value as its JSON. */
static int string_or_json(const struct lifting *t, yyjson_val *v, struct upp_str *ret)
{
    if (v && yyjson_is_str(v)) {
        *ret = wj_text(v);
        return 0;
    }
    return wj_value_text(t->l->a, v, ret, t->err);
}

/* Records in the part's metadata what the part cannot hold: the type, and data in addition to a text. */
static int about_text(const struct lifting *t, struct upp_str type, yyjson_val *data, struct upp_str *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer w;
    bool typed = type.p && !is_word(type, "text");
    if (!typed && !data)
        return 0;
    wj_writer_init(&w, &b, t->err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "envelope", '{');
    if (typed)
        wj_put_str(&w, "type", type);
    wj_put_value(&w, "data", data);
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    return wj_writer_text(&w, t->l->a, ret);
}

/* Is the content in `data`? It is for json and tool_result, and for code if `data` is a string; else in `text`. */
static bool is_data(const struct wd_envelope *e)
{
    if (!e->data)
        return false;
    return !e->text.p || is_word(e->type, "json") || is_word(e->type, "tool_result") ||
           (is_word(e->type, "code") && yyjson_is_str(e->data));
}

static int text_of(const struct lifting *t, const struct wd_envelope *e, struct upp_part *to)
{
    bool from = is_data(e);
    int r = 0;
    bool thought = is_word(e->kind, "reasoning") && !is_word(e->role, "user");
    to->kind = thought ? UPP_PART_REASONING : UPP_PART_TEXT;
    to->text = e->text;
    if (from)
        r = string_or_json(t, e->data, &to->text);
    if (!to->text.p)
        to->text = UPP_STR("");
    return r < 0 ? r : about_text(t, e->type, from ? NULL : e->data, &to->metadata);
}

/* ---- Calls and results ----------------------------------------------------------------------------------- */

static bool is_call(const struct wd_envelope *e)
{
    if (!is_word(e->intent, "tool.call") || is_word(e->role, "user") || !is_word(e->type, "json"))
        return false;
    yyjson_val *args = yyjson_obj_get(e->data, "arguments");
    return wj_text_at(e->data, "id").p && wj_text_at(e->data, "name").p && (yyjson_is_obj(args) || yyjson_is_str(args));
}

static int call_of(struct lifting *t, const struct wd_envelope *e, struct upp_part *to)
{
    struct called one = {.call = wj_text_at(e->data, "id"), .name = wj_text_at(e->data, "name")};
    uint32_t number;
    *to = (struct upp_part){.kind = UPP_PART_CALL, .id = one.call, .name = one.name};
    int r = e->id.p ? wm_names_add(&t->called, e->id, &number, t->err) : 0;
    if (r > 0)
        r = wb_vec_add(&t->calls, one, (size_t)WM_NAMES_MAX, "calls in a document", t->err);
    else if (r == 0 && e->id.p) /* a result refers to the later one */
        t->calls.p[number] = one;
    if (r < 0)
        return r;
    return string_or_json(t, yyjson_obj_get(e->data, "arguments"), &to->text);
}

/* The open call of a result that names none: its parent's; NULL: none of those that were read. */
static struct called *find_call(const struct lifting *t, const struct wd_envelope *e)
{
    uint32_t parent = e->parent.p ? wm_names_find(&t->called, e->parent) : UINT32_MAX;
    return parent == UINT32_MAX || t->calls.p[parent].answered ? NULL : &t->calls.p[parent];
}

/* A result of whose call nobody knows anything, as the seed's third envelope, answers no call: it is what its agent
 * says.
 */
static bool is_result(const struct lifting *t, const struct wd_envelope *e)
{
    return (is_word(e->role, "tool") || is_word(e->type, "tool_result")) && (e->call.p || find_call(t, e));
}

/* The call that a result answers, and the tool: as our own envelopes say, else those of its parent. */
static void name_call(const struct lifting *t, const struct wd_envelope *e, struct upp_part *to)
{
    struct called *call = e->call.p ? NULL : find_call(t, e);
    to->id = e->call;
    to->name = e->name;
    if (!call)
        return;
    call->answered = true;
    to->id = call->call;
    if (!to->name.p)
        to->name = call->name;
}

static int result_of(const struct lifting *t, const struct wd_envelope *e, struct upp_part *to)
{
    bool from = e->data && (e->call.p || is_data(e));
    *to = (struct upp_part){.kind = UPP_PART_RESULT, .is_error = is_word(e->type, "error"), .text = UPP_STR("null")};
    name_call(t, e, to);
    int r = from        ? wj_value_text(t->l->a, e->data, &to->text, t->err)
            : e->text.p ? wd_string_text(t->l->a, e->text, &to->text, t->err)
                        : 0;
    if (r >= 0 && !from)
        r = about_text(t, (struct upp_str){0}, e->data, &to->metadata);
    return r < 0 ? r : wb_arena_check(t->l->a, t->err);
}

/* ---- Media ----------------------------------------------------------------------------------------------- */

/* Returns 1 if it is media. */
static int medium_of(const struct lifting *t, const struct wd_envelope *e, struct upp_part *to)
{
    if (!is_word(e->kind, "medium"))
        return 0;
    yyjson_val *artifact = yyjson_arr_get_first(yyjson_obj_get(e->outputs, "artifacts"));
    struct upp_str uri = wj_text_at(artifact, "uri"), mime = wj_text_at(e->weft, "mime");
    if (!uri.p || !mime.p)
        return 0;
    int r = wd_url_media(t->l->a, uri, mime, wj_text_at(e->weft, "title"), to, t->err);
    return r < 0 ? r : 1;
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

/* Finishes the open message. */
static int finish_message(struct lifting *t)
{
    size_t at = t->entry;
    t->entry = SIZE_MAX;
    return at == SIZE_MAX ? 0 : wd_parts_finish(t->l->a, &t->parts, &t->l->doc->entries.p[at].e.message, t->err);
}

/* By id only: another agent's name is not an id. An agent with an envelope without a model has no model of its own,
 * whatever models its other envelopes name. */
static int agent_of(struct lifting *t, const struct wd_envelope *e, uint32_t *ret)
{
    struct wm_doc *doc = t->l->doc;
    bool none = is_word(e->model, WD_ENVELOPE_NO_MODEL);
    if (!e->agent_id.n)
        return wd_agent_of(t->l, (struct upp_str){0}, (struct upp_str){0}, ret, t->err);
    for (size_t i = 0; i < doc->agents.n; i++)
        if (wb_str_eq(doc->agents.p[i].id, e->agent_id)) {
            if (none)
                doc->agents.p[i].model = (struct upp_str){0};
            *ret = (uint32_t)i;
            return 0;
        }
    const struct wm_doc_agent a = {.id = e->agent_id,
                                   .name = e->agent_name.p ? e->agent_name : e->agent_id,
                                   .model = none ? (struct upp_str){0} : e->model};
    return wm_doc_agent_add(doc, &a, ret, t->err);
}

/* Opens a turn for the next entry if needed: each user message is a turn, and so are consecutive entries of one
 * agent. */
static int turn_of(struct lifting *t, bool user, uint32_t agent)
{
    struct wm_doc *doc = t->l->doc;
    struct wm_doc_turn *last = doc->turns.n ? &doc->turns.p[doc->turns.n - 1] : NULL;
    int r = 0;
    if (!user && last && last->agent != WM_NO_AGENT && (agent == WM_NO_AGENT || agent == last->agent))
        return 0;
    if (!user && agent == WM_NO_AGENT)
        r = wd_agent_of(t->l, (struct upp_str){0}, (struct upp_str){0}, &agent, t->err);
    struct wm_doc_turn *turn = r < 0 ? NULL : wm_doc_turn_add(doc, t->err);
    if (!turn)
        return r < 0 ? r : wd_error_of(t->err);
    turn->agent = user ? WM_NO_AGENT : agent;
    return 0;
}

static void cost_of(yyjson_val *cost, struct wm_reply_info *reply)
{
    if (!yyjson_is_obj(cost))
        return;
    reply->has_usage = true;
    reply->usage =
        (struct upp_usage){.input = wd_number_at(cost, "input_tokens"), .output = wd_number_at(cost, "output_tokens")};
}

static uint8_t role_of(const struct wd_envelope *e, uint8_t part)
{
    return part == UPP_PART_RESULT ? UPP_ROLE_TOOL : is_word(e->role, "user") ? UPP_ROLE_USER : UPP_ROLE_ASSISTANT;
}

/* The author: the user, or the agent that the envelope names. */
static int author_of(struct lifting *t, const struct wd_envelope *e, bool user, uint32_t *ret)
{
    *ret = WM_NO_AGENT;
    if (user && !(e->within.p && wb_str_eq(e->within, e->agent_id))) /* except text to the model in an agent's turn */
        return 0;
    return agent_of(t, e, ret);
}

static int begin_entry(struct lifting *t, const struct wd_envelope *e, uint8_t role, uint32_t agent)
{
    struct wm_doc_entry *to;
    int r = turn_of(t, role == UPP_ROLE_USER && agent == WM_NO_AGENT, agent);
    if (r < 0)
        return r;
    to = wd_entry_add(t->l, role, agent, e->timestamp, t->err);
    if (!to)
        return wd_error_of(t->err);
    to->id = e->id;
    if (role == UPP_ROLE_ASSISTANT) {
        if (!is_word(e->model, WD_ENVELOPE_NO_MODEL))
            to->said.model = e->model;
        to->said.provider = e->provider;
        cost_of(e->cost, &to->said);
    }
    t->entry = t->l->doc->entries.n - 1;
    t->id = to->id;
    t->agent = agent;
    t->role = role;
    t->n = 0;
    return 0;
}

static int part_of(struct lifting *t, const struct wd_envelope *e, struct upp_part *to)
{
    yyjson_val *weft = e->canonical ? NULL : e->weft, *metadata = yyjson_obj_get(weft, "metadata");
    int r = 0;
    if (is_call(e))
        r = call_of(t, e, to);
    else if (is_result(t, e))
        r = result_of(t, e, to);
    else {
        r = medium_of(t, e, to);
        if (r == 0)
            r = text_of(t, e, to);
    }
    if (r >= 0 && yyjson_is_obj(metadata))
        r = wj_value_text(t->l->a, metadata, &to->metadata, t->err);
    to->cut = yyjson_is_true(yyjson_obj_get(weft, "cut"));
    return r;
}

static int anchor(struct lifting *t, yyjson_val *v)
{
    struct upp_str slot = wd_envelope_slot(t->l->a, t->n++);
    return slot.p ? wd_anchor(t->l, v, slot.p, t->l->doc->entries.n - 1, 1, t->err) : wb_arena_check(t->l->a, t->err);
}

static int lift_message(struct lifting *t, const struct wd_envelope *e)
{
    struct upp_part part = {0};
    uint32_t agent;
    int r = part_of(t, e, &part);
    if (r < 0)
        return r;
    uint8_t role = role_of(e, part.kind);
    bool none = is_word(e->kind, "nothing") && role == UPP_ROLE_ASSISTANT;
    r = author_of(t, e, role == UPP_ROLE_USER, &agent);
    bool more =
        t->entry != SIZE_MAX && !none && e->of.n && wb_str_eq(e->of, t->id) && role == t->role && agent == t->agent;
    if (r >= 0 && !more)
        r = finish_message(t);
    if (r >= 0 && !more)
        r = begin_entry(t, e, role, agent);
    if (r >= 0 && !none)
        r = wd_parts_add(&t->parts, &part, t->err);
    if (r >= 0)
        r = anchor(t, e->node.from);
    return r >= 0 && none ? finish_message(t) : r; /* a message without parts ends here */
}

/* ---- Events ---------------------------------------------------------------------------------------------- */

static bool are_texts(yyjson_val *list)
{
    bool good = yyjson_is_arr(list);
    yyjson_val *one;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, one) good &= yyjson_is_str(one);
    return good;
}

/* Writes an event of the model that came in an envelope, or one that stands for a system envelope: its task and
 * content. */
static void put_event(const struct lifting *t, const struct wd_envelope *e, struct wj_writer *w)
{
    struct upp_str type = wj_text_at(e->weft, "event");
    yyjson_val *source = yyjson_obj_get(e->weft, "source"), *targets = yyjson_obj_get(e->weft, "targets");
    wj_write_open(w, '{');
    wj_write_name(w, UPP_STR("type"));
    if (!type.p)
        wj_write_str(w, wb_arena_join(t->l->a, (struct upp_str[]){UPP_STR("envelope."), e->intent}, 2));
    else
        wj_write_str(w, type);
    if (type.p) {
        wj_write_name(w, UPP_STR("data"));
        if (e->data)
            wj_write_value(w, e->data);
        else
            wj_write_null(w); /* as in a thread */
        wj_put_value(w, "source", yyjson_is_str(source) ? source : NULL);
        wj_put_value(w, "targets", are_texts(targets) ? targets : NULL);
    } else {
        wj_put_open(w, "data", '{');
        wj_put_text(w, "task", e->task);
        wj_put_value(w, "content", e->content);
        wj_write_close(w, '}');
    }
    wj_write_close(w, '}');
}

static int lift_event(struct lifting *t, const struct wd_envelope *e)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer w;
    uint32_t agent = WM_NO_AGENT;
    int r = finish_message(t);
    if (r >= 0 && yyjson_is_obj(e->agent))
        r = agent_of(t, e, &agent);
    if (r >= 0)
        r = turn_of(t, false, agent);
    if (r < 0)
        return r;
    struct wm_doc_entry *to = wd_entry_add(t->l, 0, agent, e->timestamp, t->err);
    if (!to)
        return wd_error_of(t->err);
    wj_writer_init(&w, &b, t->err);
    put_event(t, e, &w);
    r = wj_writer_check(&w);
    if (r < 0)
        return r;
    to->id = e->id;
    to->e.kind = WM_ENTRY_EVENT;
    to->e.data = wb_arena_dup(t->l->a, wb_buf_str(&b));
    t->n = 0;
    return anchor(t, e->node.from);
}

/* ---- The document ---------------------------------------------------------------------------------------- */

/* 1: it is in the model. */
static int lift_one(struct lifting *t, yyjson_val *v)
{
    struct wd_envelope e;
    if (!yyjson_is_obj(v))
        return 0;
    int r = wd_envelope_read(t->l->a, v, &e, t->err);
    if (r < 0)
        return r;
    bool system = is_word(e.role, "system");
    if (!yyjson_is_obj(e.content) ||
        !(system || is_word(e.role, "user") || is_word(e.role, "agent") || is_word(e.role, "tool")))
        return 0;
    r = system ? lift_event(t, &e) : lift_message(t, &e);
    return r < 0 ? r : 1;
}

static int lift_list(struct lifting *t, yyjson_val *root)
{
    enum { VALUES = 16 }; /* an envelope has at least as many: limits what invalid items make us reserve */
    size_t i, n, most = wj_size(root) / VALUES;
    yyjson_val *v;
    most = WB_MIN(most, yyjson_arr_size(root));
    wd_reserve(t->l, most / 2, most, most + 1);
    yyjson_arr_foreach(root, i, n, v)
    {
        int r = lift_one(t, v);
        if (r == 0)
            r = finish_message(t); /* other items end a message */
        if (r < 0)
            return r;
    }
    return wd_anchor(t->l, root, "list", WD_THREAD, 0, t->err);
}

/* An additional anchor records that the envelope was not in a list. */
static int lift_alone(struct lifting *t, yyjson_val *root)
{
    int r = lift_one(t, root);
    if (r == 0)
        return upp_fail(t->err, UPP_EINVALID, "expected an envelope: a role and a content");
    return r < 0 ? r : wd_anchor(t->l, root, "alone", 0, 1, t->err);
}

int wd_envelope_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    struct upp_err why = {0};
    struct lifting t = {.l = l, .err = &why, .entry = SIZE_MAX};
    int r = yyjson_is_arr(root)   ? lift_list(&t, root)
            : yyjson_is_obj(root) ? lift_alone(&t, root)
                                  : upp_fail(&why, UPP_EINVALID, "expected an envelope, or a list of them");
    if (r >= 0)
        r = finish_message(&t);
    wb_vec_done(&t.parts.list);
    wb_vec_done(&t.calls);
    wm_names_done(&t.called);
    if (r < 0 && err)
        *err = why;
    return r;
}
