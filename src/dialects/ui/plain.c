/* dialects/ui/plain.c — UI messages that say just what we would write: they need not be compared.
 *
 * Most do. What is not here is not wrong: it is written again and compared.
 */
#include "dialects/ui/doc.h"
#include "json/value.h"

enum { NEAR = 16 }; /* parts of a step in which the id of a call is looked for */

/* ---- Parts ------------------------------------------------------------------------------------------------- */

static bool is_step(const struct wd_ui_part *p)
{
    return wj_came_as(&p->node, WJ_ORDER(WD_UI_TYPE)) && wb_str_eq(p->type, UPP_STR("step-start"));
}

static bool is_plain_text(const struct wd_ui_part *p)
{
    return wj_came_as(&p->node, WJ_ORDER(WD_UI_TYPE, WD_UI_TEXT, WD_UI_STATE)) &&
           (wb_str_eq(p->type, UPP_STR("text")) || wb_str_eq(p->type, UPP_STR("reasoning"))) &&
                      (wb_str_eq(p->state, UPP_STR("done")) || wb_str_eq(p->state, UPP_STR("streaming")));
}

static bool is_plain_tool(const struct wd_ui_part *p)
{
    if (!wb_str_starts(p->type, UPP_STR("tool-")))
        return false;
    if (wb_str_eq(p->state, UPP_STR("output-available")))
        return wj_came_as(&p->node, WJ_ORDER(WD_UI_TYPE, WD_UI_TOOL_CALL_ID, WD_UI_STATE, WD_UI_INPUT, WD_UI_OUTPUT));
    if (wb_str_eq(p->state, UPP_STR("output-error")))
        return wj_came_as(&p->node,
                          WJ_ORDER(WD_UI_TYPE, WD_UI_TOOL_CALL_ID, WD_UI_STATE, WD_UI_INPUT, WD_UI_ERROR_TEXT));
    return wb_str_eq(p->state, UPP_STR("input-available")) &&
                     wj_came_as(&p->node, WJ_ORDER(WD_UI_TYPE, WD_UI_TOOL_CALL_ID, WD_UI_STATE, WD_UI_INPUT));
}

/* Did a part of the step before this one have its id? Then the first result is the answer to both. */
static bool is_again(const struct wd_ui_part *step, const struct wd_ui_part *p)
{
    if (p - step > NEAR)
        return true; /* perhaps */
    for (; step < p; step++)
        if (wb_str_eq(step->tool_call_id, p->tool_call_id))
            return true;
    return false;
}

/* Each step begins with its own part, and says something. */
static bool are_plain_steps(const struct wd_ui_message *m)
{
    const struct wd_ui_part *step = NULL, *p = m->parts.p, *end = p + m->parts.n; /* step: the first part of it */
    for (; p < end; p++) {
        if (is_step(p)) {
            if (p == step)
                return false;
            step = p + 1;
        } else if (!step || (!is_plain_text(p) && (!is_plain_tool(p) || is_again(step, p))))
            return false;
    }
    return step && step < end;
}

static bool are_plain_prompts(const struct wd_ui_message *m)
{
    for (size_t i = 0; i < m->parts.n; i++)
        if (!wj_came_as(&m->parts.p[i].node, WJ_ORDER(WD_UI_TYPE, WD_UI_TEXT)) ||
            !wb_str_eq(m->parts.p[i].type, UPP_STR("text")))
            return false;
    return true;
}

/* ---- Messages ---------------------------------------------------------------------------------------------- */

/* What is said of an agent by default is not said, nor a time at which it began. */
static bool is_plain_about(const struct wd_ui_about *about, const struct wm_doc_agent *agent)
{
    bool known = wb_str_eq(agent->id, UPP_STR("agent")), named = !wb_str_eq(agent->name, agent->id);
    return known == !about->agent.p && named == !!about->name.p && (!named || wb_str_eq(agent->name, about->name)) &&
           !(about->ended.p && wb_str_eq(about->ended, about->time));
}

bool wd_ui_is_plain(const struct wd_ui_message *m, const struct wd_ui_about *about, const struct wm_doc_agent *agent)
{
    if (!about->plain || !wj_came_as(&m->node, WJ_ORDER(WD_UI_ID, WD_UI_ROLE, WD_UI_METADATA, WD_UI_PARTS)))
        return false;
    if (agent)
        return is_plain_about(about, agent) && are_plain_steps(m);
    return unsafe_yyjson_get_len(m->metadata) == 1 && are_plain_prompts(m);
}
