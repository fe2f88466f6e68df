/* envelope/replay.c — feeds a recorded log to new exchanges, and compares what they send with what was sent. */
#include "envelope/replay.h"

#include "base/defs.h"
#include "base/hooks.h"
#include "base/vec.h"
#include "envelope/exchange_state.h"
#include "model/names.h"

enum { ARENA = 64 << 20 /* of one exchange */, PAGE = 16 /* new requests that are asked for at a time */ };

/* An envelope of an open exchange, by the number of its id. */
struct known {
    struct we_node *request; /* it is this request; NULL: a reply */
    struct upp_str agent;    /* that the rules chose for it; empty: they do not send it */
};

/* An exchange that is open. */
struct open {
    struct wb_arena a;
    struct we_envelope ingress;
    struct we_exchange *x;
    struct wm_names ids;
    WB_VEC(struct known) known;
    uint64_t number, used;     /* used: the time of its last envelope, in envelopes */
    uint64_t recorded, unsent; /* tokens of the recorded replies, and of those to requests that the rules do not send */
};

struct we_replay {
    const struct we_replay_opts *o;
    struct we_host host;
    struct we_replayed sum;
    struct open open[WE_REPLAY_OPEN];
    struct open *recent; /* NULL: none */
};

struct upp_str we_difference_name(int kind)
{
    static const struct upp_str names[] = {UPP_STR_INIT("route"), UPP_STR_INIT("new"),    UPP_STR_INIT("unsent"),
                                           UPP_STR_INIT("order"), UPP_STR_INIT("prompt"), UPP_STR_INIT("reply"),
                                           UPP_STR_INIT("cost")};
    return names[kind];
}

/* ---- The world of a replayed exchange: no ids of its own, no time ---------------------------------------------- */

static struct upp_str model_of(void *arg, struct upp_str agent)
{
    const struct we_replay *p = arg;
    return p->o->model_of(p->o->arg, agent);
}

static int new_id(void *arg, struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    (void)arg;
    *ret = wb_arena_dup(a, UPP_STR("replay"));
    return wb_arena_check(a, err);
}

static int64_t now_ms(void *arg)
{
    (void)arg;
    return 0;
}

/* ---- Differences ------------------------------------------------------------------------------------------ */

static int differs(struct we_replay *p, const struct open *s, struct we_difference d, struct upp_err *err)
{
    p->sum.differences++;
    d.exchange = s->number;
    d.ingress = s->ingress.id;
    return p->o->differs ? p->o->differs(p->o->arg, &d, err) : 0;
}

static struct we_difference about(int kind, const struct we_envelope *e)
{
    return (struct we_difference){.kind = (uint8_t)kind, .id = e->id, .intent = e->intent_name, .task = e->task};
}

/* ---- Ends of exchanges --------------------------------------------------------------------------------------- */

/* What the rules send beyond the recording. After a request without a reply nobody knows. */
static int find_new(struct we_replay *p, struct open *s, struct upp_err *err)
{
    struct we_ask asks[PAGE];
    size_t n = 0;
    int r = we_exchange_next(s->x, asks, PAGE, &n, err);
    for (; r >= 0 && n; r = r < 0 ? r : we_exchange_next(s->x, asks, PAGE, &n, err))
        for (size_t i = 0; r >= 0 && i < n; i++) {
            struct we_difference d = about(WE_DIFFERENT_NEW, we_exchange_request(s->x, asks[i].id));
            d.id = (struct upp_str){0};
            d.replayed = asks[i].agent;
            d.why = asks[i].why;
            r = differs(p, s, d, err);
        }
    return r;
}

/* `tokens`: of all replies, those of an agent that ran anew instead of the recorded ones. */
static int find_cost(struct we_replay *p, struct open *s, uint64_t tokens, struct upp_err *err)
{
    struct we_difference d = {.kind = WE_DIFFERENT_COST};
    tokens -= s->unsent;
    p->sum.recorded_tokens += s->recorded;
    p->sum.replayed_tokens += tokens;
    if (tokens == s->recorded)
        return 0;
    d.recorded = wb_arena_printf(&s->a, "%llu tokens", (unsigned long long)s->recorded);
    d.replayed = wb_arena_printf(&s->a, "%llu tokens", (unsigned long long)tokens);
    int r = wb_arena_check(&s->a, err);
    return r < 0 ? r : differs(p, s, d, err);
}

static void forget(struct open *s)
{
    wm_names_done(&s->ids);
    s->ids = (struct wm_names){0};
    s->known.n = 0;
    s->x = NULL;
    wb_arena_reset(&s->a);
}

static int finish_exchange(struct we_replay *p, struct open *s, struct upp_err *err)
{
    uint64_t input, output;
    size_t waiting = we_exchange_waiting(s->x);
    we_exchange_cost(s->x, &input, &output);
    p->sum.unanswered += waiting;
    int r = waiting ? 0 : find_new(p, s, err);
    if (r >= 0)
        r = find_cost(p, s, input + output, err);
    forget(s);
    if (p->recent == s)
        p->recent = NULL;
    return r;
}

/* ---- Where an envelope belongs ------------------------------------------------------------------------------- */

static struct known *known_in(struct open *s, struct upp_str id)
{
    uint32_t i = s->x && id.n ? wm_names_find(&s->ids, id) : UINT32_MAX;
    return i == UINT32_MAX ? NULL : &s->known.p[i];
}

/* The open exchange that has the envelope with this id. */
static struct open *exchange_of(struct we_replay *p, struct upp_str id)
{
    if (p->recent && known_in(p->recent, id))
        return p->recent;
    for (size_t i = 0; i < WE_REPLAY_OPEN; i++)
        if (known_in(&p->open[i], id))
            return &p->open[i];
    return NULL;
}

/* A free place: the exchange that nothing was heard of for the longest time ends for it. */
static int free_place(struct we_replay *p, struct open **ret, struct upp_err *err)
{
    struct open *oldest = &p->open[0];
    for (size_t i = 0; i < WE_REPLAY_OPEN && oldest->x; i++)
        if (!p->open[i].x || p->open[i].used < oldest->used)
            oldest = &p->open[i];
    *ret = oldest;
    return oldest->x ? finish_exchange(p, oldest, err) : 0;
}

static int note(struct open *s, struct upp_str id, struct we_node *request, struct upp_str agent, struct upp_err *err)
{
    uint32_t number;
    int r = wm_names_add(&s->ids, id, &number, err);
    if (r < 0)
        return r;
    if (r && !wb_vec_push(&s->known, ((struct known){request, agent}), 2 * (size_t)WE_MAX_REQUESTS + 2))
        return upp_fail(err, UPP_ENOMEM, "no memory for the envelopes of an exchange");
    return 0;
}

/* ---- Requests ------------------------------------------------------------------------------------------------ */

/* Both prompts as the agent's model gets them. */
static int compare_prompts(struct we_replay *p, struct open *s, struct we_node *n, const struct we_envelope *e,
                           struct upp_err *err)
{
    const struct we_adapter *adapter = we_adapter_for(p->o->adapters, model_of(p, n->agent));
    struct we_envelope now;
    struct we_prompt was, is;
    struct upp_str text;
    if (n->kind == WE_ASK_FIRST || !adapter)
        return 0;
    int r = we_ask_write(s->x, n, &text, err);
    if (r >= 0)
        r = we_read_any(&s->a, text, NULL, &now, err);
    if (r >= 0)
        r = we_prompt(&s->a, adapter, e, p->o->limits->strict, &was, err);
    if (r >= 0)
        r = we_prompt(&s->a, adapter, &now, p->o->limits->strict, &is, err);
    if (r < 0 || (wb_str_eq(was.user, is.user) && wb_str_eq(was.system, is.system)))
        return r;
    bool user = !wb_str_eq(was.user, is.user);
    struct we_difference d = about(WE_DIFFERENT_PROMPT, e);
    d.recorded = user ? was.user : was.system;
    d.replayed = user ? is.user : is.system;
    return differs(p, s, d, err);
}

static bool others_first(const struct we_exchange *x, const struct we_node *n)
{
    const struct we_node *first = x->nodes;
    while (first->state != WE_PLANNED)
        first = first->next;
    return first != n;
}

static int add_request(struct we_replay *p, struct open *s, const struct we_envelope *e, struct upp_err *err)
{
    struct we_node *n = we_planned(s->x, e);
    struct upp_str agent = n ? n->agent : (struct upp_str){0};
    int r = 0;
    p->sum.requests++;
    if (!n)
        r = differs(p, s, about(WE_DIFFERENT_UNSENT, e), err);
    else if (others_first(s->x, n))
        r = differs(p, s, about(WE_DIFFERENT_ORDER, e), err);
    if (r >= 0 && n)
        r = compare_prompts(p, s, n, e, err);
    if (r >= 0)
        r = we_take_sent(s->x, agent, e, &n, err);
    return r < 0 ? r : note(s, e->id, n, agent, err);
}

/* ---- Replies ------------------------------------------------------------------------------------------------- */

static bool is_model_of_any(struct we_replay *p, struct upp_str model)
{
    for (size_t i = 0; i < p->o->routes->n_agents; i++)
        if (wb_str_eq(model_of(p, p->o->routes->agents[i]), model))
            return true;
    return false;
}

/* May the agent have written it? Models that write envelopes make up names of their own: only the name or the model of
 * another agent tells that it did not. */
static bool is_by(struct we_replay *p, const struct we_envelope *reply, struct upp_str agent)
{
    if (!reply->agent_id.n || wb_str_eq(reply->agent_id, agent))
        return true;
    if (model_of(p, reply->agent_id).p)
        return false;
    return wb_str_eq(reply->model, model_of(p, agent)) || !is_model_of_any(p, reply->model);
}

static int compare_route(struct we_replay *p, struct open *s, const struct known *k, const struct we_envelope *reply,
                         struct upp_err *err)
{
    struct we_difference d = about(WE_DIFFERENT_ROUTE, &k->request->request);
    if (!k->agent.n || is_by(p, reply, k->agent))
        return 0;
    d.recorded = reply->agent_id;
    d.replayed = k->agent;
    d.why = k->request->why;
    return differs(p, s, d, err);
}

/* The reply of the agent that runs anew, in place of the recorded one. */
static WEFT_SUSPENDS int ask_live(struct we_replay *p, struct open *s, struct we_node *n, struct we_envelope *reply,
                                  struct upp_err *err)
{
    struct we_envelope recorded = *reply;
    struct upp_str text;
    int r = p->o->ask(p->o->arg, &n->request, &recorded, &s->a, &text, err);
    if (r >= 0)
        r = we_read_any(&s->a, text, NULL, reply, err);
    if (r < 0 || wb_str_eq(reply->text, recorded.text))
        return r;
    struct we_difference d = about(WE_DIFFERENT_REPLY, &n->request);
    d.recorded = recorded.text;
    d.replayed = reply->text;
    return differs(p, s, d, err);
}

static WEFT_SUSPENDS int add_reply(struct we_replay *p, struct open *s, const struct known *k,
                                   const struct we_envelope *e, struct upp_err *err)
{
    struct we_node *n = k->request;
    int r = compare_route(p, s, k, e, err);
    n->reply = *e;
    s->recorded += e->input_tokens + e->output_tokens;
    if (r >= 0 && p->o->live.n && wb_str_eq(k->agent.n ? k->agent : e->agent_id, p->o->live))
        r = ask_live(p, s, n, &n->reply, err);
    if (r >= 0 && e->id.n)
        r = note(s, e->id, NULL, (struct upp_str){0}, err);
    if (r < 0)
        return r;
    if (n->kind == WE_ASK_OTHER)
        s->unsent += n->reply.input_tokens + n->reply.output_tokens;
    return we_take_reply_of(s->x, n, err);
}

/* ---- The log ------------------------------------------------------------------------------------------------- */

static int begin_exchange(struct we_replay *p, struct open *s, const struct we_envelope *e, struct upp_err *err)
{
    s->ingress = *e;
    s->recorded = s->unsent = 0;
    int r = we_exchange_new(&s->a, &p->host, p->o->limits, &s->ingress, &s->x, err);
    if (r < 0)
        return r;
    s->number = ++p->sum.exchanges;
    p->recent = s;
    if (!s->x->planned) { /* no route, or a result: nothing is asked */
        r = note(s, e->id, NULL, (struct upp_str){0}, err);
        return r;
    }
    return add_request(p, s, e, err);
}

/* A request of the router, not an envelope that came in. */
static bool is_ours(const struct we_envelope *e)
{
    return (wb_str_eq(e->role, UPP_STR("system")) && wb_str_eq(e->agent_id, UPP_STR(WE_ORCHESTRATOR))) ||
           we_has_tag(e, UPP_STR(WE_FALLBACK));
}

static WEFT_SUSPENDS int place(struct we_replay *p, struct open *s, const struct we_envelope *e, struct upp_err *err)
{
    struct known *parent = known_in(s, we_parent(e));
    if (parent && parent->request && parent->request->state == WE_SENT)
        return add_reply(p, s, parent, e, err);
    return add_request(p, s, e, err);
}

/* Does it continue the exchange that its last parent is of? */
static bool continues(struct open *s, const struct we_envelope *e)
{
    const struct known *parent = s ? known_in(s, we_parent(e)) : NULL;
    return parent && (is_ours(e) || (parent->request && parent->request->state == WE_SENT));
}

int we_replay_add(struct we_replay *p, struct upp_str envelope, struct upp_err *err)
{
    struct open *guess = p->recent, *s;
    struct we_envelope e;
    int r = guess && we_exchange_waiting(guess->x) ? 0 : free_place(p, &guess, err);
    if (r >= 0) /* most envelopes are of the exchange of the one before, and are read where they stay */
        r = we_read_any(&guess->a, envelope, NULL, &e, err);
    if (r < 0)
        return r;
    p->sum.envelopes++;
    if (we_is_handshake(&e))
        return 0;
    if (!e.id.n)
        return upp_fail(err, UPP_EINVALID, "an envelope of the log has no trace.id");
    if (exchange_of(p, e.id))
        return p->sum.repeated++, 0;
    s = exchange_of(p, we_parent(&e));
    if (!continues(s, &e)) {
        r = free_place(p, &s, err);
        if (r >= 0 && s != guess)
            r = we_read_any(&s->a, envelope, NULL, &e, err);
        s->used = p->sum.envelopes;
        return r < 0 ? r : begin_exchange(p, s, &e, err);
    }
    if (s != guess)
        r = we_read_any(&s->a, envelope, NULL, &e, err);
    s->used = p->sum.envelopes;
    p->recent = s;
    return r < 0 ? r : place(p, s, &e, err);
}

int we_replay_end(struct we_replay *p, struct we_replayed *ret, struct upp_err *err)
{
    int r = 0;
    for (uint64_t number = 0; r >= 0;) { /* in the order of the log */
        struct open *next = NULL;
        for (size_t i = 0; i < WE_REPLAY_OPEN; i++)
            if (p->open[i].x && (!next || p->open[i].number < next->number))
                next = &p->open[i];
        if (!next || next->number < number)
            break;
        number = next->number;
        r = finish_exchange(p, next, err);
    }
    *ret = p->sum;
    return r;
}

int we_replay_new(const struct we_replay_opts *opts, struct we_replay **ret, struct upp_err *err)
{
    struct we_replay *p = wb_calloc(1, sizeof *p);
    if (!p)
        return upp_fail(err, UPP_ENOMEM, "no memory for a replay");
    p->o = opts;
    p->host =
        (struct we_host){.routes = opts->routes, .model_of = model_of, .new_id = new_id, .now_ms = now_ms, .arg = p};
    for (size_t i = 0; i < WE_REPLAY_OPEN; i++)
        p->open[i].a = (struct wb_arena)WB_ARENA(ARENA);
    *ret = p;
    return 0;
}

void we_replay_free(struct we_replay *p)
{
    for (size_t i = 0; p && i < WE_REPLAY_OPEN; i++) {
        wm_names_done(&p->open[i].ids);
        wb_vec_done(&p->open[i].known);
        wb_arena_done(&p->open[i].a);
    }
    wb_free(p);
}

void we_replay_freep(struct we_replay **p)
{
    we_replay_free(*p);
}
