/* dialects/ui/canonical.c — canonical UI messages: exactly what lower would write, so they need not be compared.
 *
 * Most messages are. Wrongly answering "no" is safe: the message is then written again and compared.
 */
#include "dialects/ui/doc.h"
#include "json/value.h"

enum { NEAR = 16 }; /* parts of a step that are searched for the same call id */

static bool is_step(const struct wd_ui_part *p)
{
    return wj_has_order(&p->node, WJ_ORDER(WD_UI_TYPE)) && wb_str_eq(p->type, UPP_STR("step-start"));
}

static bool is_canonical_text(const struct wd_ui_part *p)
{
    return wj_has_order(&p->node, WJ_ORDER(WD_UI_TYPE, WD_UI_TEXT, WD_UI_STATE)) &&
           (wb_str_eq(p->type, UPP_STR("text")) || wb_str_eq(p->type, UPP_STR("reasoning"))) &&
           (wb_str_eq(p->state, UPP_STR("done")) || wb_str_eq(p->state, UPP_STR("streaming")));
}

static bool is_canonical_tool(const struct wd_ui_part *p)
{
    if (!wb_str_starts(p->type, UPP_STR("tool-")))
        return false;
    if (wb_str_eq(p->state, UPP_STR("output-available")))
        return wj_has_order(&p->node, WJ_ORDER(WD_UI_TYPE, WD_UI_TOOL_CALL_ID, WD_UI_STATE, WD_UI_INPUT, WD_UI_OUTPUT));
    if (wb_str_eq(p->state, UPP_STR("output-error")))
        return wj_has_order(&p->node,
                            WJ_ORDER(WD_UI_TYPE, WD_UI_TOOL_CALL_ID, WD_UI_STATE, WD_UI_INPUT, WD_UI_ERROR_TEXT));
    return wb_str_eq(p->state, UPP_STR("input-available")) &&
           wj_has_order(&p->node, WJ_ORDER(WD_UI_TYPE, WD_UI_TOOL_CALL_ID, WD_UI_STATE, WD_UI_INPUT));
}

/* Does an earlier part of the step have the same call id? Then the first result is the answer to both. */
static bool is_duplicate_call(const struct wd_ui_part *step, const struct wd_ui_part *p)
{
    if (p - step > NEAR)
        return true; /* not searched any further: assume so */
    for (; step < p; step++)
        if (wb_str_eq(step->tool_call_id, p->tool_call_id))
            return true;
    return false;
}

/* Each step begins with a step-start and has at least one part. */
static bool are_canonical_steps(const struct wd_ui_message *m)
{
    const struct wd_ui_part *step = NULL, *p = m->parts.p, *end = p + m->parts.n; /* step: its first part */
    for (; p < end; p++) {
        if (is_step(p)) {
            if (p == step)
                return false;
            step = p + 1;
        } else if (!step || (!is_canonical_text(p) && (!is_canonical_tool(p) || is_duplicate_call(step, p))))
            return false;
    }
    return step && step < end;
}

static bool are_canonical_prompts(const struct wd_ui_message *m)
{
    for (size_t i = 0; i < m->parts.n; i++)
        if (!wj_has_order(&m->parts.p[i].node, WJ_ORDER(WD_UI_TYPE, WD_UI_TEXT)) ||
            !wb_str_eq(m->parts.p[i].type, UPP_STR("text")))
            return false;
    return true;
}

/* lower writes neither an agent's default id and name nor an end time equal to the start time. */
static bool is_canonical_about(const struct wd_ui_about *about, const struct wm_doc_agent *agent)
{
    bool known = wb_str_eq(agent->id, UPP_STR("agent")), named = !wb_str_eq(agent->name, agent->id);
    return known == !about->agent.p && named == !!about->name.p && (!named || wb_str_eq(agent->name, about->name)) &&
           !(about->ended.p && wb_str_eq(about->ended, about->time));
}

bool wd_ui_is_canonical(const struct wd_ui_message *m, const struct wd_ui_about *about,
                        const struct wm_doc_agent *agent)
{
    bool user = wb_str_eq(m->role, UPP_STR("user")); /* lower marks the agent's messages alone as partial */
    if (!about->canonical || (user && about->partial) ||
        !wj_has_order(&m->node, WJ_ORDER(WD_UI_ID, WD_UI_ROLE, WD_UI_METADATA, WD_UI_PARTS)))
        return false;
    if (agent)
        return is_canonical_about(about, agent) && are_canonical_steps(m);
    return unsafe_yyjson_get_len(m->metadata) == 1 && are_canonical_prompts(m);
}
