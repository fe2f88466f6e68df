/* dialects/thread_plain.c — messages and turns that say just what we would write: they need not be compared.
 *
 * Most are. What is not here is not wrong: it is written again and compared.
 */
#include "dialects/thread.h"

#include "json/value.h"

enum { DIGITS = 19 }; /* as many are a number of 64 bits, whatever they are */

#define BIT(row) ((uint64_t)1 << (row))

/* ---- Parts ------------------------------------------------------------------------------------------------- */

static bool is_plain_call(const struct wd_pai_part *p)
{
    return wj_came_as(&p->node, WJ_ORDER(WD_PAI_PART_KIND, WD_PAI_TOOL_NAME, WD_PAI_TOOL_CALL_ID, WD_PAI_ARGS)) &&
           unsafe_yyjson_is_ctn(p->args);
}

static bool is_plain_result(const struct wd_pai_part *p)
{
    return wj_came_as(&p->node, WJ_ORDER(WD_PAI_PART_KIND, WD_PAI_TOOL_NAME, WD_PAI_TOOL_CALL_ID, WD_PAI_STATUS,
                                         WD_PAI_CONTENT)) &&
           (wb_str_eq(p->status, UPP_STR("success")) || wb_str_eq(p->status, UPP_STR("error")));
}

static bool is_plain_part(const struct wd_pai_part *p, bool request)
{
    enum wd_pai_kind kind = wd_pai_kind(p->part_kind);
    if (!wd_pai_fits(kind, request))
        return false;
    if (kind == WD_PAI_TOOL_CALL)
        return is_plain_call(p);
    if (kind == WD_PAI_TOOL_RETURN)
        return is_plain_result(p);
    return (kind == WD_PAI_TEXT || kind == WD_PAI_THINKING || kind == WD_PAI_USER_PROMPT) &&
           wj_came_as(&p->node, WJ_ORDER(WD_PAI_PART_KIND, WD_PAI_CONTENT)) && unsafe_yyjson_is_str(p->content);
}

/* ---- Usage ------------------------------------------------------------------------------------------------- */

static bool is_plain_number(struct upp_str s)
{
    size_t i = 0;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    return i == s.n && s.n <= DIGITS;
}

/* A number that is not written when it is 0. */
static bool is_plain_count(struct upp_str s)
{
    return !s.p || (is_plain_number(s) && s.p[0] != '0');
}

static bool is_plain_usage(const struct wd_tp_usage *u, const struct upp_usage *is)
{
    return wj_came_rising(&u->node, BIT(WD_TP_INPUT) | BIT(WD_TP_OUTPUT) | BIT(WD_TP_TOTAL),
                          BIT(WD_TP_THINKING) | BIT(WD_TP_CACHE_READ) | BIT(WD_TP_CACHE_WRITE)) &&
           is_plain_number(u->input) && is_plain_number(u->output) && is_plain_number(u->total) &&
           is_plain_count(u->thinking) && is_plain_count(u->cache_read) && is_plain_count(u->cache_write) &&
           wd_number_of(u->total) == is->input + is->output;
}

/* ---- Messages and turns -------------------------------------------------------------------------------------- */

static bool is_plain_response(const struct wd_tp_message *m, const struct wm_said *said)
{
    return wj_came_rising(&m->node,
                          BIT(WD_TP_MESSAGE_TYPE) | BIT(WD_TP_TIMESTAMP) | BIT(WD_TP_AGENT_ID) | BIT(WD_TP_PARTS),
                          BIT(WD_TP_MODEL_NAME) | BIT(WD_TP_PROVIDER_NAME) | BIT(WD_TP_RESPONSE_ID) | BIT(WD_TP_USAGE) |
                              BIT(WD_TP_FINISH_REASON)) &&
           (!m->finish_reason.p || said->stop) && (!m->usage || is_plain_usage(m->usage, &said->usage));
}

bool wd_tp_is_plain_message(const struct wd_tp_message *m, const struct wm_doc *doc)
{
    const struct wm_doc_entry *e       = &doc->entries.p[doc->entries.n - 1];
    bool                       request = e->e.message.role != UPP_ROLE_ASSISTANT;
    if (request ? !wj_came_as(&m->node, WJ_ORDER(WD_TP_MESSAGE_TYPE, WD_TP_TIMESTAMP, WD_TP_AGENT_ID, WD_TP_PARTS))
                : !is_plain_response(m, &e->said))
        return false;
    for (size_t i = 0; i < m->parts.n; i++)
        if (!is_plain_part(&m->parts.p[i], request))
            return false;
    return wb_str_eq(doc->agents.p[e->agent].id, m->agent_id);
}

bool wd_tp_is_plain_prompt(const struct wd_tp_turn *turn)
{
    return wj_came_as(&turn->node, WJ_ORDER(WD_TP_TURN_TYPE, WD_TP_SUBMITTED_AT, WD_TP_PROMPTS)) &&
           turn->parts.n == 1 && is_plain_part(&turn->parts.p[0], true);
}
