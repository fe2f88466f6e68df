/* dialects/upp/doc.c — UPP 1.2 threads: {"id","messages","createdAt","updatedAt"}. */
#include "dialects/upp/doc.h"

#include "base/err.h"
#include "json/value.h"
#include "model/upp_weft.h"

int wd_upp_call_note(struct wd_upp_calls *c, const struct upp_part *call, struct upp_err *err)
{
    struct wd_upp_call one = {call->id, call->name};
    if (one.id.p && !wb_vec_push(&c->list, one, (size_t)WM_NAMES_MAX))
        return upp_fail(err, UPP_ENOMEM, "no memory for a call");
    return 0;
}

/* Adds the calls that are not in the hash table yet. False: out of memory. */
static bool index_calls(struct wd_upp_calls *c)
{
    for (; c->n_indexed < c->list.n; c->n_indexed++) {
        uint32_t at, index = (uint32_t)c->n_indexed;
        int r = wm_names_add(&c->ids, c->list.p[index].id, &at, NULL);
        if (r > 0 && !wb_vec_push(&c->last, index, (size_t)WM_NAMES_MAX)) {
            wm_names_drop_last(&c->ids);
            r = -1;
        }
        if (r < 0)
            return false;
        c->last.p[at] = index;
    }
    return true;
}

/* The last call with that id from `first` on; NULL: none. */
static const struct wd_upp_call *last_of(const struct wd_upp_calls *c, size_t first, struct upp_str id)
{
    for (size_t i = c->list.n; i > first; i--)
        if (wb_str_eq(c->list.p[i - 1].id, id))
            return &c->list.p[i - 1];
    return NULL;
}

struct upp_str wd_upp_call_tool(struct wd_upp_calls *c, struct upp_str id)
{
    enum { NEAR = 8 };
    size_t near = c->list.n - WB_MIN(c->list.n, (size_t)NEAR);
    const struct wd_upp_call *call = id.p ? last_of(c, near, id) : NULL;
    if (!call && id.p && near) {
        bool indexed = index_calls(c);
        uint32_t at = indexed ? wm_names_find(&c->ids, id) : UINT32_MAX;
        if (!indexed)
            call = last_of(c, 0, id); /* slower, but needs no memory */
        else if (at != UINT32_MAX)
            call = &c->list.p[c->last.p[at]];
    }
    return call ? call->tool : (struct upp_str){0};
}

void wd_upp_calls_done(struct wd_upp_calls *c)
{
    wb_vec_done(&c->list);
    wm_names_done(&c->ids);
    wb_vec_done(&c->last);
}

/* The author of messages if neither they nor the document name one. */
#define WD_UPP_AGENT UPP_STR("agent")

static bool is_message(yyjson_val *v)
{
    static const struct upp_str types[] = {UPP_STR_INIT("user"), UPP_STR_INIT("assistant"),
                                           UPP_STR_INIT("tool_result")};
    yyjson_val *type = yyjson_obj_get(v, "type");
    for (size_t i = 0; type && yyjson_is_str(type) && i < WB_LEN(types); i++)
        if (wj_named(type, types[i]))
            return true;
    return false;
}

static int detect(yyjson_val *root)
{
    yyjson_val *messages = wd_last_at(root, "messages"), *first = yyjson_arr_get_first(messages);
    if (!yyjson_is_arr(messages) || (first && !is_message(first)))
        return 0;
    bool named = yyjson_is_str(yyjson_obj_get(root, "id")), timed = yyjson_is_str(yyjson_obj_get(root, "updatedAt"));
    return !first ? named && timed : named ? 3 : 2;
}

static int lift_thread(struct wd_upp_in *t, yyjson_val *root)
{
    struct wm_doc *doc = t->l->doc;
    yyjson_val *list = wd_last_at(root, "messages"), *v;
    size_t i, n;
    doc->id = wj_text_at(root, "id");
    doc->created = wj_text_at(root, "createdAt");
    doc->updated = wj_text_at(root, "updatedAt");
    int r = wd_upp_lift_about(t, yyjson_obj_get(root, "metadata"));
    wd_upp_lift_reserve(t, yyjson_arr_size(list));
    yyjson_arr_foreach(list, i, n, v)
    {
        if (r >= 0)
            r = wd_upp_lift_message(t, v);
    }
    if (r >= 0)
        r = wd_upp_lift_end(t);
    wd_upp_lift_finish(t);
    return r < 0 ? r : wd_anchor(t->l, root, "thread", WD_THREAD, 0, t->err);
}

static int lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    struct upp_err why = {0};
    struct wd_upp_in t = {.l = l, .err = &why, .scratch = WB_BUF(WD_DOC_BYTES), .default_agent = WD_UPP_AGENT};
    int r = yyjson_is_arr(wd_last_at(root, "messages"))
                ? lift_thread(&t, root)
                : upp_fail(&why, UPP_EINVALID, "expected a thread of UPP: an object with 'messages'");
    wd_upp_in_done(&t);
    if (r < 0 && err)
        *err = why;
    return r;
}

static int lower(struct wd_lowering *l, struct upp_err *err)
{
    struct wd_upp_out t = {.l = l, .agent = WD_UPP_AGENT};
    uint32_t n = (uint32_t)l->doc->entries.n;
    wd_open(l, WD_THREAD, "thread");
    wj_write_open(&l->w, '{');
    wd_member(l, "id", l->doc->id.p ? l->doc->id : UPP_STR("thread"));
    wj_put_open(&l->w, "messages", '[');
    for (uint32_t i = wd_upp_first(l); i < n && !l->w.failed && !l->w.out->failed;)
        i += wd_upp_put_message(&t, i);
    wj_write_close(&l->w, ']');
    wd_member(l, "createdAt", wd_upp_created(l));
    wd_member(l, "updatedAt", wd_upp_updated(l));
    wd_upp_put_about(&t, false);
    wj_write_close(&l->w, '}');
    wd_close(l);
    wd_upp_out_done(&t);
    return wb_arena_check(&l->keep, err);
}

const struct wd_document_ops wd_document_upp = {.name = "upp",
                                                .title = "thread of UPP 1.2",
                                                .detect = detect,
                                                .validate = wd_upp_validate,
                                                .half = WD_WARNING,
                                                .half_rule = "UPP-5",
                                                .lift = lift,
                                                .lower = lower};

static bool is_text(yyjson_val *v)
{
    return v && yyjson_is_str(v);
}

static bool is_text_or_none(yyjson_val *v)
{
    return !v || yyjson_is_str(v);
}

static bool is_canonical_number(yyjson_val *v)
{
    return v && yyjson_is_raw(v) && wd_is_canonical_number(wj_text(v));
}

bool wd_upp_is_canonical_usage(yyjson_val *const *found, const uint64_t *counts)
{
    for (size_t i = 0; i < WM_USAGE_REASONING; i++)
        if (!is_canonical_number(found[i]))
            return false;
    bool reasoned =
        !found[WM_USAGE_REASONING] || (is_canonical_number(found[WM_USAGE_REASONING]) && counts[WM_USAGE_REASONING]);
    return reasoned && counts[WM_USAGE_TOTAL] == counts[WM_USAGE_INPUT] + counts[WM_USAGE_OUTPUT];
}

bool wd_upp_is_canonical_turn(yyjson_val *const *found)
{
    bool something = found[WM_TURN_ID] || found[WM_TURN_RUN] || found[WM_TURN_USAGE];
    return something && is_text_or_none(found[WM_TURN_ID]) && is_text_or_none(found[WM_TURN_RUN]) &&
           !found[WM_TURN_STARTED] && !found[WM_TURN_ENDED] && !found[WM_TURN_PARTIAL] && !found[WM_TURN_AGENT] &&
           !found[WM_TURN_NAME];
}

/* A message without an agent is canonical if the writer omits the agent too: that is, until a second agent appears. */
static bool is_canonical_agent(struct wd_upp_in *t, yyjson_val *const *weft, const struct wm_doc_entry *e)
{
    const struct wm_doc *doc = t->l->doc;
    yyjson_val *agent = weft[WM_WEFT_AGENT], *name = weft[WM_WEFT_NAME];
    if (e->e.message.role == UPP_ROLE_USER)
        return e->agent == WM_NO_AGENT && !agent && !name;
    if (e->agent == WM_NO_AGENT)
        return false;
    const struct wm_doc_agent *a = &doc->agents.p[e->agent];
    bool named = a->name.p && !wb_str_eq(a->name, a->id);
    bool default_agent = doc->agents.n == 1 && wb_str_eq(a->id, t->default_agent);
    if (named ? !is_text(name) || !wj_named(name, a->name) : name != NULL)
        return false;
    t->agent_omitted |= default_agent && !agent;
    return default_agent ? !agent : is_text(agent);
}

static bool is_canonical_reply(yyjson_val *const *weft, const struct wm_doc_entry *e)
{
    if (e->e.message.role != UPP_ROLE_ASSISTANT)
        return !weft[WM_WEFT_MODEL] && !weft[WM_WEFT_PROVIDER] && !weft[WM_WEFT_RESPONSE] && !weft[WM_WEFT_STOP] &&
               !weft[WM_WEFT_USAGE];
    return is_text_or_none(weft[WM_WEFT_MODEL]) && is_text_or_none(weft[WM_WEFT_PROVIDER]) &&
           is_text_or_none(weft[WM_WEFT_RESPONSE]) && (!weft[WM_WEFT_STOP] || e->said.stop);
}

bool wd_upp_is_canonical_entry(struct wd_upp_in *t, yyjson_val *const *weft, const struct wm_doc_entry *e)
{
    for (size_t i = WM_WEFT_ID; i < WM_WEFT_NAMES; i++)
        if (weft[i])
            return false;
    return (!weft[WM_WEFT_TURN] || yyjson_is_obj(weft[WM_WEFT_TURN])) && is_canonical_reply(weft, e) &&
           is_canonical_agent(t, weft, e);
}

void wd_upp_lift_finish(struct wd_upp_in *t)
{
    if (!t->agent_omitted || t->l->doc->agents.n == 1)
        return;
    for (size_t i = 0; i < t->l->anchors.n; i++)
        t->l->anchors.p[i].settled = false;
}
