/* server/doors/agent.c — see agent.h. */
#include "server/doors/agent.h"

#include "json/value.h"

int sv_agent_read(const struct sv_exchange *x, const struct sv_body *b, const char *member, struct upp_str *ret,
                  struct upp_err *err)
{
    struct upp_str named = {NULL, 0};
    char           shown[WJ_QUOTED];
    int            r = sv_body_str(b, b->root, wb_cstr(member), &named, err);
    if (r < 0)
        return r;
    if (r > 0 && x->agent.n && !wb_str_eq(named, x->agent))
        return sv_body_wrong(b, sv_member(b->root, wb_cstr(member)), err,
                             "the URL is that of the agent '%.*s', and '%s' names %s", UPP_FMT(x->agent), member,
                             wj_quote(named, shown, sizeof shown));
    *ret = x->agent.n ? x->agent : named;
    return x->agent.n || r > 0;
}
