/* dialects/upp/canonical.c — recognizes canonical messages, which need not be compared.
 *
 * Most messages are. Any other is valid too: it is written back and compared.
 */
#include "dialects/upp/doc.h"
#include "model/upp_weft.h"

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
