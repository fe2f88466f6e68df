/* server/doors/system_text.c — takes, marks or refuses system messages of clients. */
#include "server/doors/system_text.h"

#include <stdio.h>
#include <string.h>

#include "json/pointer.h"
#include "json/value.h"
#include "server/http/error.h"

void sv_system_done(struct sv_system *s)
{
    wb_buf_done(&s->text);
}

int sv_system_text(struct wb_arena *a, const struct sv_system *s, struct upp_str *ret, struct upp_err *err)
{
    int r = wb_buf_check(&s->text, err);
    if (r < 0)
        return r;
    *ret = s->text.n ? wb_arena_dup(a, wb_buf_str(&s->text)) : (struct upp_str){NULL, 0};
    return wb_arena_check(a, err);
}

static bool is_exact(struct upp_str role)
{
    return wb_str_eq(role, UPP_STR("system")) || wb_str_eq(role, UPP_STR("developer"));
}

bool sv_system_role(struct upp_str role)
{
    struct upp_str word = wb_str_trim(role);
    return wb_str_eq_nocase(word, UPP_STR("system")) || wb_str_eq_nocase(word, UPP_STR("developer"));
}

static int refuse(const struct sv_body *b, yyjson_val *at, const struct wr_agent_def *agent, struct upp_err *err)
{
    yyjson_val *role = sv_member(at, UPP_STR("role"));
    char shown[WJ_QUOTED];
    struct upp_str who = agent ? agent->name : UPP_STR("the agent that this is for");
    bool alone = agent && agent->gateway && is_exact(wj_text_of(role));
    (void)wj_quote(wj_text_of(role), shown, sizeof shown);
    int r = alone
                ? upp_fail(err, UPP_EREFUSED,
                           "a message of role %s is taken from a client with the request that runs %.*s: a thread has "
                           "no system prompt",
                           shown, UPP_FMT(who))
                : upp_fail(err, UPP_EREFUSED,
                           "no message of role %s is taken from a client: the system prompt is what the agent's "
                           "definition says (and %.*s has neither gateway nor allow_client_system)",
                           shown, UPP_FMT(who));
    wj_pointer_err(err, b->root, role ? role : at);
    if (err)
        (void)snprintf(err->cause, sizeof err->cause, "%s", SV_CLIENT_SYSTEM);
    return r;
}

static int mark(struct wb_arena *a, struct upp_message *m, struct upp_err *err)
{
    struct upp_part *parts = wb_new_n(a, struct upp_part, m->n_parts + 1);
    if (!parts)
        return wb_arena_check(a, err);
    parts[0] = (struct upp_part){.kind = UPP_PART_TEXT, .text = UPP_STR(SV_SYSTEM_MARK)};
    if (m->n_parts)
        memcpy(parts + 1, m->parts, m->n_parts * sizeof *parts);
    m->role = UPP_ROLE_USER;
    m->parts = parts;
    m->n_parts++;
    return 1;
}

int sv_system_take(const struct sv_body *b, yyjson_val *at, const struct wr_agent_def *agent, struct wb_arena *a,
                   struct upp_message *m, struct sv_system *to, struct upp_err *err)
{
    bool exact = is_exact(wj_text_of(sv_member(at, UPP_STR("role"))));
    bool alone = agent && agent->gateway;
    if (!exact || !agent || (alone ? !to : !agent->allow_client_system))
        return refuse(b, at, agent, err);
    if (upp_part_next(m, NULL, UPP_PARTS_CONTENT & ~(1u << UPP_PART_TEXT)))
        return sv_body_wrong(b, at, err, "a system message consists of text");
    if (!alone)
        return mark(a, m, err);
    if (!to->first)
        to->first = at;
    if (to->text.n)
        wb_buf_add(&to->text, UPP_STR("\n\n"));
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, 1u << UPP_PART_TEXT));)
        wb_buf_add(&to->text, p->text);
    return wb_buf_check(&to->text, err);
}
