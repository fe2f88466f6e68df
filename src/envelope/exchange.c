/* envelope/exchange.c — the state machine of an exchange (exchange_state.h): replies come in, requests go out.
 *
 * What follows from a reply is planned when the reply is there; requests are written when they are asked for, so that
 * those of a log keep their own ids.
 */
#include "envelope/exchange_state.h"

#include "base/err.h"
#include "json/value.h"

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ---- Planning --------------------------------------------------------------------------------------------- */

static struct we_chain *chain_add(struct we_exchange *x, uint32_t depth)
{
    struct we_chain *c = wb_new(x->a, struct we_chain);
    if (!c)
        return NULL;
    c->depth = depth;
    if (x->last_chain)
        x->last_chain->next = c;
    else
        x->chains = c;
    x->last_chain = c;
    return c;
}

static struct we_node *node_new(struct we_exchange *x, struct we_chain *c, enum we_kind kind, struct we_node *before)
{
    struct we_node *n = c ? wb_new(x->a, struct we_node) : NULL;
    if (n) {
        n->chain = c;
        n->kind = (uint8_t)kind;
        n->before = before;
    }
    return n;
}

static int node_add(struct we_exchange *x, struct we_node *n, struct upp_err *err)
{
    if (x->n_nodes >= WE_MAX_REQUESTS)
        return upp_fail(err, UPP_ELIMIT, "an exchange has more than %d requests", WE_MAX_REQUESTS);
    if (x->last_node)
        x->last_node->next = n;
    else
        x->nodes = n;
    x->last_node = n;
    x->n_nodes++;
    x->planned++;
    return 0;
}

static int plan_first(struct we_exchange *x, struct upp_err *err)
{
    struct we_chain *c = chain_add(x, 0);
    struct we_node *n = node_new(x, c, WE_ASK_FIRST, NULL);
    if (!n)
        return wb_arena_check(x->a, err);
    c->first = x->ingress;
    if (we_is_result(x->ingress)) {
        c->done = true;
        return 0;
    }
    struct upp_err no_route = {0};
    int r = -UPP_ENOTFOUND;
    if (x->limits->doubtful_reflects && we_is_doubted(x->ingress, x->limits->doubt))
        r = we_pick_reflector(x, n, x->ingress, x->ingress->model, &no_route);
    if (r == -UPP_ENOTFOUND) /* nobody reflects */
        r = we_pick(x, n, x->ingress, &no_route);
    if (r == -UPP_ENOTFOUND) {
        x->no_route = no_route;
        c->done = true;
        return 0;
    }
    if (r < 0) {
        if (err)
            *err = no_route;
        return r;
    }
    return node_add(x, n, err);
}

/* ---- Next actions ------------------------------------------------------------------------------------------ */

static bool may_act(struct we_exchange *x, const struct we_chain *from, size_t taken)
{
    uint64_t max = x->limits->actions.max_tokens;
    bool may = from->depth < x->limits->actions.depth && x->actions < x->limits->actions.count &&
               taken < x->limits->actions.fan_out && (!max || plus(x->input_tokens, x->output_tokens) < max);
    x->stopped = x->stopped || !may;
    return may;
}

/* The members of an action that rules look at. */
static struct we_envelope as_request(yyjson_val *action, const struct we_envelope *producer)
{
    struct we_envelope e = *producer;
    e.role = UPP_STR("system");
    e.agent_id = UPP_STR(WE_ORCHESTRATOR);
    e.intent_name = wj_text_at(action, "intent");
    e.intent = we_intent_find(e.intent_name);
    e.task = wj_text_at(action, "task");
    e.parameters = yyjson_obj_get(action, "args");
    return e;
}

static int plan_action(struct we_exchange *x, struct we_chain *from, const struct we_envelope *producer,
                       yyjson_val *action, struct upp_err *err)
{
    struct we_envelope as = as_request(action, producer);
    struct we_chain *c = wb_new(x->a, struct we_chain);
    struct we_node *n = node_new(x, c, WE_ASK_ACTION, NULL);
    if (!n)
        return wb_arena_check(x->a, err);
    int r = we_pick(x, n, &as, err);
    if (r == -UPP_ENOTFOUND) {
        x->unrouted = true;
        return 0;
    }
    if (r < 0)
        return r;
    c->depth = from->depth + 1;
    c->producer = producer;
    c->asked = from->first;
    c->action = action;
    x->last_chain->next = c; /* there is always the first */
    x->last_chain = c;
    from->spawned = true;
    x->actions++;
    r = node_add(x, n, err);
    return r < 0 ? r : 1;
}

static int plan_actions(struct we_exchange *x, struct we_chain *from, const struct we_envelope *producer,
                        struct upp_err *err)
{
    yyjson_val *v;
    size_t i, n, taken = 0;
    int r = 0;
    if (!x->limits->actions.on || !producer || we_is_error(producer) || !producer->id.n)
        return 0;
    yyjson_arr_foreach(producer->actions, i, n, v)
    {
        if (r < 0 || !may_act(x, from, taken))
            break;
        r = plan_action(x, from, producer, v, err);
        taken += r > 0;
    }
    return r < 0 ? r : 0;
}

static int chain_end(struct we_exchange *x, struct we_chain *c, struct upp_err *err)
{
    c->done = true;
    return plan_actions(x, c, c->best, err);
}

/* ---- Replies ----------------------------------------------------------------------------------------------- */

static bool is_cancelled(const struct we_envelope *reply)
{
    struct upp_str code;
    bool retryable;
    return we_error_code(reply, &code, &retryable) && wb_str_eq(code, wb_cstr(upp_code_name(UPP_ECANCELED)));
}

/* The model that wrote a reply. */
static struct upp_str writer_of(const struct we_exchange *x, const struct we_node *n)
{
    bool known = n->reply.model.n && !wb_str_eq(n->reply.model, UPP_STR(WD_ENVELOPE_NO_MODEL));
    return known ? n->reply.model : x->host->model_of(x->host->arg, n->agent);
}

static int plan_reflection(struct we_exchange *x, struct we_node *doubted, struct upp_err *err)
{
    struct we_chain *c = doubted->chain;
    struct we_node *n = node_new(x, c, WE_ASK_REFLECTION, doubted);
    if (!n)
        return wb_arena_check(x->a, err);
    n->reflects = true;
    int r = we_pick_reflector(x, n, &doubted->reply, writer_of(x, doubted), err);
    if (r == -UPP_ENOTFOUND) {
        c->unreflected = true;
        return chain_end(x, c, err);
    }
    if (r < 0)
        return r;
    c->same_model = c->same_model || n->same_model;
    return node_add(x, n, err);
}

/* A failed reflection is tried again by another agent, on the same message. */
static int after_failure(struct we_exchange *x, struct we_node *n, struct upp_err *err)
{
    struct we_chain *c = n->chain;
    c->failed = &n->reply;
    if (is_cancelled(&n->reply)) {
        c->unreflected = n->reflects;
        return chain_end(x, c, err);
    }
    if (n->reflects)
        return plan_reflection(x, n->before, err);
    struct we_node *again = node_new(x, c, WE_ASK_FALLBACK, n);
    if (!again)
        return wb_arena_check(x->a, err);
    int r = we_pick(x, again, &n->request, err);
    return r == -UPP_ENOTFOUND ? chain_end(x, c, err) : r < 0 ? r : node_add(x, again, err);
}

static int after_reply(struct we_exchange *x, struct we_node *n, struct upp_err *err)
{
    struct we_chain *c = n->chain;
    bool doubted = we_is_doubted(&n->reply, x->limits->doubt);
    if (!doubted || !c->best || n->reply.score >= c->best->score)
        c->best = &n->reply;
    if (!doubted || !x->limits->reflections || !n->reply.id.n)
        return chain_end(x, c, err);
    if (c->reflections >= x->limits->reflections) {
        c->exhausted = true;
        return chain_end(x, c, err);
    }
    c->reflections++;
    c->n_tried = 0;
    return plan_reflection(x, n, err);
}

/* ---- Requests of the log ----------------------------------------------------------------------------------- */

static struct we_node *node_find(const struct we_exchange *x, struct upp_str id)
{
    for (struct we_node *n = x->nodes; n; n = n->next)
        if (n->state != WE_PLANNED && wb_str_eq(n->request.id, id))
            return n;
    return NULL;
}

/* The request whose reply has this id. */
static struct we_node *replied(const struct we_exchange *x, struct upp_str id)
{
    for (struct we_node *n = x->nodes; n && id.n; n = n->next)
        if (n->state == WE_REPLIED && wb_str_eq(n->reply.id, id))
            return n;
    return NULL;
}

static bool is_planned_as(const struct we_exchange *x, const struct we_node *n, const struct we_envelope *e)
{
    struct upp_str parent = we_parent(e);
    switch (n->kind) {
    case WE_ASK_FIRST:
        return x->ingress->id.n ? wb_str_eq(x->ingress->id, e->id) : wb_str_eq(x->ingress->task, e->task);
    case WE_ASK_FALLBACK:
        return wb_str_eq(parent, n->before->reply.id.n ? n->before->reply.id : n->before->request.id) &&
               e->intent == n->before->request.intent;
    case WE_ASK_REFLECTION:
        return e->intent == WE_REFLECT && wb_str_eq(parent, n->before->reply.id);
    default:
        return wb_str_eq(parent, n->chain->producer->id) &&
               wb_str_eq(e->intent_name, wj_text_at(n->chain->action, "intent")) &&
               wb_str_eq(e->task, wj_text_at(n->chain->action, "task"));
    }
}

/* A request that the rules would not send: a reflection of the chain it reflects on, or a chain of its own. */
static int node_other(struct we_exchange *x, const struct we_envelope *e, struct we_node **ret, struct upp_err *err)
{
    struct we_node *on = replied(x, we_parent(e));
    bool reflects = on && e->intent == WE_REFLECT;
    struct we_chain *c = reflects ? on->chain : chain_add(x, on ? on->chain->depth + 1 : 0);
    struct we_node *n = node_new(x, c, WE_ASK_OTHER, on);
    if (!n)
        return wb_arena_check(x->a, err);
    n->reflects = reflects;
    int r = node_add(x, n, err);
    if (r < 0)
        return r;
    if (!reflects && on)
        on->chain->spawned = true;
    c->done = false;
    *ret = n;
    return 1;
}

static void mark_sent(struct we_exchange *x, struct we_node *n, const struct we_envelope *e)
{
    n->request = *e;
    n->state = WE_SENT;
    if (!n->chain->first || n->kind == WE_ASK_FIRST)
        n->chain->first = &n->request;
    x->planned--;
    x->waiting++;
}

struct we_node *we_planned(const struct we_exchange *x, const struct we_envelope *e)
{
    struct we_node *n = x->nodes;
    while (n && (n->state != WE_PLANNED || !is_planned_as(x, n, e)))
        n = n->next;
    return n;
}

int we_take_sent(struct we_exchange *x, struct upp_str agent, const struct we_envelope *e, struct we_node **ret,
                 struct upp_err *err)
{
    struct we_node *n = we_planned(x, e);
    int r = 0;
    if (!e->id.n || node_find(x, e->id))
        return upp_fail(err, UPP_EINVALID, "a request of the log has %s", e->id.n ? "the id of another" : "no id");
    bool expected = n && wb_str_eq(n->agent, agent);
    if (!n)
        r = node_other(x, e, &n, err);
    if (r < 0)
        return r;
    n->agent = wb_arena_dup(x->a, agent);
    mark_sent(x, n, e);
    *ret = n;
    r = wb_arena_check(x->a, err);
    return r < 0 ? r : !expected;
}

int we_exchange_sent(struct we_exchange *x, struct upp_str agent, struct upp_str envelope, struct upp_err *err)
{
    struct we_envelope e;
    struct we_node *n;
    int r = we_read_any(x->a, envelope, NULL, &e, err);
    return r < 0 ? upp_wrap(err, r, "a request of the log") : we_take_sent(x, agent, &e, &n, err);
}

int we_read_ingress(struct wb_arena *a, struct upp_str text, const struct we_limits *limits,
                    struct wd_problems *problems, struct we_envelope *ret, struct upp_err *err)
{
    return limits->unknown_reflects ? we_read_any(a, text, problems, ret, err) : we_read(a, text, problems, ret, err);
}

/* ---- The interface ----------------------------------------------------------------------------------------- */

int we_exchange_new(struct wb_arena *a, const struct we_host *host, const struct we_limits *limits,
                    const struct we_envelope *ingress, struct we_exchange **ret, struct upp_err *err)
{
    struct we_exchange *x = wb_new(a, struct we_exchange);
    if (!x)
        return wb_arena_check(a, err);
    x->a = a;
    x->host = host;
    x->limits = limits;
    x->ingress = ingress;
    int r = plan_first(x, err);
    if (r >= 0 && we_is_result(ingress)) { /* nothing is executed, but its next actions may be picked up */
        x->chains->best = ingress;
        r = plan_actions(x, x->chains, ingress, err);
        x->chains->best = NULL;
    }
    if (r < 0)
        return r;
    *ret = x;
    return 0;
}

/* What the agent sent is no envelope: its failure, as an envelope. */
static int read_failure(struct we_exchange *x, struct we_node *n, const struct upp_err *why, struct upp_err *err)
{
    struct upp_str text;
    struct we_error e = {.request = &n->request,
                         .code = upp_code_name(UPP_EPROTO),
                         .text = wb_cstr(why->msg),
                         .now_ms = x->host->now_ms(x->host->arg),
                         .direct = x->limits->direct_parents};
    int r = we_write_error(x->a, &e, &text, err);
    return r < 0 ? r : we_read_any(x->a, text, NULL, &n->reply, err);
}

int we_exchange_reply(struct we_exchange *x, struct upp_str request, struct upp_str envelope, struct upp_err *err)
{
    struct we_node *n = node_find(x, request);
    struct upp_err why = {0};
    char quoted[WJ_QUOTED];
    if (!n || n->state != WE_SENT)
        return upp_fail(err, UPP_ENOTFOUND, "no request %s waits for a reply",
                        wj_quote(request, quoted, sizeof quoted));
    int r = we_read_any(x->a, envelope, NULL, &n->reply, &why);
    if (r >= 0 && n->reply.intent == WE_UNKNOWN && !wb_str_eq(n->reply.intent_name, n->request.intent_name))
        r = we_read(x->a, envelope, NULL, &n->reply, &why); /* says what is wrong */
    if (r == -UPP_EINVALID || r == -UPP_ELIMIT)
        r = read_failure(x, n, &why, err);
    else if (r < 0 && err)
        *err = why;
    return r < 0 ? r : we_take_reply_of(x, n, err);
}

int we_take_reply_of(struct we_exchange *x, struct we_node *n, struct upp_err *err)
{
    n->state = WE_REPLIED;
    x->waiting--;
    x->cut_reply = x->cut_reply || we_has_tag(&n->reply, UPP_STR(WE_CUT));
    x->input_tokens = plus(x->input_tokens, n->reply.input_tokens);
    x->output_tokens = plus(x->output_tokens, n->reply.output_tokens);
    return we_is_error(&n->reply) ? after_failure(x, n, err) : after_reply(x, n, err);
}

static int send(struct we_exchange *x, struct we_node *n, struct we_ask *ret, struct upp_err *err)
{
    struct upp_str text;
    struct we_envelope e;
    int r = we_ask_write(x, n, &text, err);
    if (r >= 0 && text.p == x->ingress->json.p)
        e = *x->ingress;
    else if (r >= 0)
        r = we_read_any(x->a, text, NULL, &e, err);
    if (r < 0)
        return r;
    mark_sent(x, n, &e);
    *ret = (struct we_ask){
        .id = e.id, .agent = n->agent, .envelope = e.json, .kind = n->kind, .rule = n->rule, .why = n->why};
    return 0;
}

int we_exchange_next(struct we_exchange *x, struct we_ask *asks, size_t max, size_t *n, struct upp_err *err)
{
    *n = 0;
    for (struct we_node *one = x->nodes; one && *n < max && x->planned; one = one->next) {
        if (one->state != WE_PLANNED)
            continue;
        int r = send(x, one, &asks[*n], err);
        if (r < 0)
            return r;
        ++*n;
    }
    return 0;
}

size_t we_exchange_waiting(const struct we_exchange *x)
{
    return x->waiting;
}

void we_exchange_cost(const struct we_exchange *x, uint64_t *input, uint64_t *output)
{
    *input = x->input_tokens;
    *output = x->output_tokens;
}

const struct we_envelope *we_exchange_request(const struct we_exchange *x, struct upp_str id)
{
    const struct we_node *n = node_find(x, id);
    return n ? &n->request : NULL;
}
