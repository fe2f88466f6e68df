/* envelope/exchange_answer.c — the envelope that answers an exchange, with the tags of what happened. */
#include "base/err.h"
#include "envelope/exchange_state.h"

/* An envelope of ours: an error, or that nothing was to be done. */
static int write_error(struct we_exchange *x, const char *code, struct upp_str text, bool retryable,
                       struct upp_str *ret, struct upp_err *err)
{
    struct we_error e = {.request = x->chains->first,
                         .code = code,
                         .text = text,
                         .retryable = retryable,
                         .direct = x->limits->direct_parents,
                         .now_ms = x->host->now_ms(x->host->arg)};
    int r = x->host->new_id(x->host->arg, x->a, &e.id, err);
    return r < 0 ? r : we_write_error(x->a, &e, ret, err);
}

static int write_recorded(struct we_exchange *x, struct upp_str *ret, struct upp_err *err)
{
    const struct we_envelope *of = x->ingress;
    struct we_draft d = {.role = UPP_STR("system"),
                         .agent_id = UPP_STR(WE_ORCHESTRATOR),
                         .now_ms = x->host->now_ms(x->host->arg),
                         .intent = of->intent_name,
                         .task = of->task,
                         .type = UPP_STR("text"),
                         .text = UPP_STR("The result is recorded; a result is not executed again.")};
    int r = we_chain(x->a, of, x->limits->direct_parents, &d.trace.parents, &d.trace.n_parents, err);
    if (r >= 0)
        r = x->host->new_id(x->host->arg, x->a, &d.trace.id, err);
    return r < 0 ? r : we_write(x->a, &d, ret, err);
}

/* The last message that finalizes; else the last that nothing follows from; else the answer to the ingress. */
static const struct we_chain *answering(const struct we_exchange *x)
{
    const struct we_chain *leaf = NULL, *final = NULL;
    for (const struct we_chain *c = x->chains; c; c = c->next) {
        if (!c->best)
            continue;
        if (c->first && c->first->intent == WE_FINALIZE)
            final = c;
        if (!c->spawned || !leaf)
            leaf = c;
    }
    return final ? final : leaf ? leaf : x->chains;
}

/* Was something left to do when the exchange was cut? */
static bool is_left(const struct we_exchange *x)
{
    return x->cut && (x->planned || x->waiting || x->cut_reply || !answering(x)->best);
}

int we_exchange_answer(struct we_exchange *x, struct upp_str *ret, struct upp_err *err)
{
    struct upp_str tags[6];
    size_t n = 0;
    const struct we_chain *c = answering(x);
    const struct we_envelope *e = c->best ? c->best : c->failed;
    if (x->no_route.code)
        return write_error(x, "no_route", wb_cstr(x->no_route.msg), false, ret, err);
    if (!e && we_is_result(x->ingress))
        return write_recorded(x, ret, err);
    if (!e)
        return write_error(x, "unanswered", UPP_STR("the exchange ended before any agent answered"), true, ret, err);
    if (c->exhausted)
        tags[n++] = UPP_STR(WE_EXHAUSTED);
    if (c->unreflected)
        tags[n++] = UPP_STR(WE_NOT_REFLECTED);
    if (c->same_model)
        tags[n++] = UPP_STR(WE_SAME_MODEL);
    if (x->stopped)
        tags[n++] = UPP_STR(WE_ACTIONS_STOPPED);
    if (x->unrouted)
        tags[n++] = UPP_STR(WE_ACTIONS_UNROUTED);
    if (is_left(x))
        tags[n++] = UPP_STR(WE_CUT);
    *ret = e->json;
    return n ? we_retrace(x->a, e, (struct upp_str){0}, NULL, 0, tags, n, ret, err) : 0;
}

int we_exchange_cut(struct we_exchange *x, struct upp_str *ret, struct upp_err *err)
{
    x->cut = true;
    int r = we_exchange_answer(x, ret, err);
    return r < 0 ? r : is_left(x);
}
