/* dialects/thread/canonical.c — recognizes canonical messages and turns, which need not be compared.
 *
 * Most are. Any other is valid too: it is written back and compared.
 */
#include "dialects/thread/thread.h"

#include "json/value.h"

static bool is_canonical_call(const struct wd_pai_part *p)
{
    return wj_has_order(&p->node, WJ_ORDER(WD_PAI_PART_KIND, WD_PAI_TOOL_NAME, WD_PAI_TOOL_CALL_ID, WD_PAI_ARGS)) &&
           unsafe_yyjson_is_ctn(p->args);
}

static bool is_canonical_result(const struct wd_pai_part *p)
{
    return wj_has_order(&p->node, WJ_ORDER(WD_PAI_PART_KIND, WD_PAI_TOOL_NAME, WD_PAI_TOOL_CALL_ID, WD_PAI_STATUS,
                                           WD_PAI_CONTENT)) &&
           (wb_str_eq(p->status, UPP_STR("success")) || wb_str_eq(p->status, UPP_STR("error")));
}

static bool is_canonical_part(const struct wd_pai_part *p, bool request)
{
    enum wd_pai_kind kind = wd_pai_kind(p->part_kind);
    if (!wd_pai_fits(kind, request))
        return false;
    if (kind == WD_PAI_TOOL_CALL)
        return is_canonical_call(p);
    if (kind == WD_PAI_TOOL_RETURN)
        return is_canonical_result(p);
    return (kind == WD_PAI_TEXT || kind == WD_PAI_THINKING || kind == WD_PAI_USER_PROMPT) &&
           wj_has_order(&p->node, WJ_ORDER(WD_PAI_PART_KIND, WD_PAI_CONTENT)) && unsafe_yyjson_is_str(p->content);
}

/* A number that is omitted if it is 0. */
static bool is_canonical_count(struct upp_str s)
{
    return !s.p || (wd_is_canonical_number(s) && s.p[0] != '0');
}

static bool is_canonical_usage(const struct wd_tp_usage *u, const struct upp_usage *is)
{
    return wj_has_table_order(&u->node, WJ_BIT(WD_TP_INPUT) | WJ_BIT(WD_TP_OUTPUT) | WJ_BIT(WD_TP_TOTAL),
                              WJ_BIT(WD_TP_THINKING) | WJ_BIT(WD_TP_CACHE_READ) | WJ_BIT(WD_TP_CACHE_WRITE)) &&
           wd_is_canonical_number(u->input) && wd_is_canonical_number(u->output) && wd_is_canonical_number(u->total) &&
           is_canonical_count(u->thinking) && is_canonical_count(u->cache_read) && is_canonical_count(u->cache_write) &&
           wd_number_of(u->total) == is->input + is->output;
}

static bool is_canonical_response(const struct wd_tp_message *m, const struct wm_reply_info *reply)
{
    return wj_has_table_order(&m->node,
                              WJ_BIT(WD_TP_MESSAGE_TYPE) | WJ_BIT(WD_TP_TIMESTAMP) | WJ_BIT(WD_TP_AGENT_ID) |
                                  WJ_BIT(WD_TP_PARTS),
                              WJ_BIT(WD_TP_MODEL_NAME) | WJ_BIT(WD_TP_PROVIDER_NAME) | WJ_BIT(WD_TP_RESPONSE_ID) |
                                  WJ_BIT(WD_TP_USAGE) | WJ_BIT(WD_TP_FINISH_REASON)) &&
           (!m->finish_reason.p || reply->stop) && (!m->usage || is_canonical_usage(m->usage, &reply->usage));
}

bool wd_tp_is_canonical_message(const struct wd_tp_message *m, const struct wm_doc *doc)
{
    const struct wm_doc_entry *e = &doc->entries.p[doc->entries.n - 1];
    bool request = e->e.message.role != UPP_ROLE_ASSISTANT;
    if (e->e.kind != WM_ENTRY_MESSAGE)
        return false;
    if (request ? !wj_has_order(&m->node, WJ_ORDER(WD_TP_MESSAGE_TYPE, WD_TP_TIMESTAMP, WD_TP_AGENT_ID, WD_TP_PARTS))
                : !is_canonical_response(m, &e->said))
        return false;
    for (size_t i = 0; i < m->parts.n; i++)
        if (!is_canonical_part(&m->parts.p[i], request))
            return false;
    return wb_str_eq(doc->agents.p[e->agent].id, m->agent_id);
}

bool wd_tp_is_canonical_prompt(const struct wd_tp_turn *turn)
{
    return wj_has_order(&turn->node, WJ_ORDER(WD_TP_TURN_TYPE, WD_TP_SUBMITTED_AT, WD_TP_PROMPTS)) &&
           turn->parts.n == 1 && is_canonical_part(&turn->parts.p[0], true);
}
