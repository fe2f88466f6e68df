/* runtime/mux.c — weft/envelope.h: an exchange between functions and agents of a C program. */
#include <stdatomic.h>
#include <weft/agent.h>
#include <weft/envelope.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/opts.h"
#include "base/uuid.h"
#include "dialects/core/convert.h"
#include "envelope/exchange.h"
#include "runtime/config.h"

struct weft_mux {
    struct wb_arena a;
    struct weft_mux_rule *rules; /* the n-th is the n-th of routes */
    size_t n;
    struct we_routes routes;
    struct we_limits limits;
    struct wc_config *adapters; /* of agents; NULL: there are only functions */
    struct wb_uuid random;      /* ids are made of it and a number: a system call for each would cost most of a route */
    _Atomic uint64_t ids;
};

struct weft_mux_answer {
    struct wb_buf text;
};

/* One call of weft_mux_route. */
struct exchange {
    struct weft_mux *m;
    struct wb_arena a;
    struct we_host host;
    struct we_exchange *x;
};

int weft_mux_reply(struct weft_mux_answer *reply, struct upp_str text, struct upp_err *err)
{
    wb_buf_clear(&reply->text);
    wb_buf_add(&reply->text, text);
    return wb_buf_check(&reply->text, err);
}

/* ---- Rules ------------------------------------------------------------------------------------------------------ */

static struct upp_str name_of(const struct weft_mux_rule *r)
{
    return wb_cstr(r->name ? r->name : r->intent);
}

static struct upp_str model_name(const struct weft_mux_rule *r)
{
    const struct upp_model *m = r->agent ? weft_agent_model(r->agent) : NULL;
    return r->model ? wb_cstr(r->model) : m ? m->name : UPP_STR(WD_ENVELOPE_NO_MODEL);
}

/* The name of a target is its intent: no two rules have the same. */
static const struct weft_mux_rule *rule_of(const struct weft_mux *m, struct upp_str agent)
{
    for (size_t i = 0; i < m->n; i++)
        if (wb_str_eq(wb_cstr(m->rules[i].intent), agent))
            return &m->rules[i];
    return NULL;
}

static int add_rule(struct weft_mux *m, const struct weft_mux_rule *r, struct we_rule *rule, struct we_target *target,
                    struct upp_err *err)
{
    int intent = r->intent ? we_intent_find(wb_cstr(r->intent)) : -1;
    if (intent < 0)
        return upp_fail(err, UPP_EINVALID, "'%s' is not an intent", r->intent ? r->intent : "");
    if (!r->fn == !r->agent)
        return upp_fail(err, UPP_EINVALID, "the rule of %s has neither or both of a function and an agent", r->intent);
    if (rule_of(m, wb_cstr(r->intent)))
        return upp_fail(err, UPP_EINVALID, "%s has a second rule", r->intent);
    *target = (struct we_target){.agent = we_intent_name(intent), .weight = 1};
    *rule = (struct we_rule){.intents = 1u << intent, .targets = target, .n_targets = 1};
    m->rules[m->n++] = *r;
    return r->agent && !m->adapters ? wc_config_bare(&m->adapters, err) : 0;
}

static int add_rules(struct weft_mux *m, const struct weft_mux_rule *rules, size_t n, struct upp_err *err)
{
    struct we_rule *list = wb_new_n(&m->a, struct we_rule, n);
    struct we_target *targets = wb_new_n(&m->a, struct we_target, n);
    m->rules = wb_new_n(&m->a, struct weft_mux_rule, n);
    int r = wb_arena_check(&m->a, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = add_rule(m, &rules[i], &list[i], &targets[i], err);
    m->routes = (struct we_routes){.rules = list, .n = n};
    return r;
}

static struct we_limits limits_of(const struct weft_mux_opts *o)
{
    struct we_limits l = {.doubt = o->doubt,
                          .reflections = o->reflections ? o->reflections : 2,
                          .direct_parents = o->direct_parents,
                          .strict = o->strict};
    l.unknown_reflects = o->unknown_reflects;
    l.doubtful_reflects = o->doubtful_reflects;
    l.actions.on = o->actions;
    l.actions.depth = o->depth ? o->depth : 4;
    l.actions.count = o->count ? o->count : 32;
    l.actions.fan_out = o->fan_out ? o->fan_out : 8;
    l.actions.max_tokens = o->max_tokens;
    return l;
}

static int check_opts(const struct weft_mux_opts *o, size_t n, struct upp_err *err)
{
    if (n > WEFT_MUX_RULES)
        return upp_fail(err, UPP_ELIMIT, "a mux has at most %d rules", WEFT_MUX_RULES);
    if (!(o->doubt >= 0 && o->doubt <= 1) || o->reflections > WE_MAX_REFLECTIONS)
        return upp_fail(err, UPP_EINVALID, "doubt is 0 to 1, and reflections are at most %d", WE_MAX_REFLECTIONS);
    if (o->depth > WE_MAX_DEPTH_OF_ACTIONS || o->count > WE_MAX_COUNT || o->fan_out > WE_MAX_FAN_OUT)
        return upp_fail(err, UPP_EINVALID, "depth, count and fan_out of actions are at most %d, %d and %d",
                        WE_MAX_DEPTH_OF_ACTIONS, WE_MAX_COUNT, WE_MAX_FAN_OUT);
    return 0;
}

int weft_mux_new(const struct weft_mux_rule *rules, size_t n, const struct weft_mux_opts *opts, struct weft_mux **ret,
                 struct upp_err *err)
{
    struct weft_mux_opts o;
    wb_opts(&o, sizeof o, opts);
    int r = check_opts(&o, n, err);
    if (r < 0)
        return r;
    UPP_CLEANUP(weft_mux_freep) struct weft_mux *m = wb_calloc(1, sizeof *m);
    if (!m)
        return upp_fail(err, UPP_ENOMEM, "no memory for a mux");
    m->a = (struct wb_arena)WB_ARENA(1u << 20);
    m->limits = limits_of(&o);
    r = add_rules(m, rules, n, err);
    if (r >= 0)
        r = wb_uuid_new(&m->random, err);
    if (r < 0)
        return r;
    *ret = WB_TAKE(m);
    return 0;
}

void weft_mux_free(struct weft_mux *m)
{
    if (!m)
        return;
    wc_config_free(m->adapters);
    wb_arena_done(&m->a);
    wb_free(m);
}

void weft_mux_freep(struct weft_mux **m)
{
    weft_mux_free(*m);
}

/* ---- The world of an exchange ------------------------------------------------------------------------------------ */

static struct upp_str model_of(void *arg, struct upp_str agent)
{
    struct exchange *e = arg;
    const struct weft_mux_rule *r = rule_of(e->m, agent);
    return r ? model_name(r) : (struct upp_str){0};
}

static int new_id(void *arg, struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    struct exchange *e = arg;
    char text[WB_UUID_TEXT + 1];
    *ret = wb_arena_dup(a, wb_uuid_text(wb_uuid_from(e->m->random, atomic_fetch_add(&e->m->ids, 1)), text));
    return wb_arena_check(a, err);
}

static int64_t now_ms(void *arg)
{
    (void)arg;
    return wb_wall_ms();
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int ask_agent(struct exchange *e, const struct weft_mux_rule *rule, const struct we_ask *ask,
                                   const struct we_adapter *adapter, struct we_replied *to, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct we_prompt p;
    int r = we_prompt(&e->a, adapter, we_exchange_request(e->x, ask->id), e->m->limits.strict, &p, err);
    if (r < 0)
        return r;
    const struct upp_str parts[] = {p.system, p.system.n ? UPP_STR("\n\n") : UPP_STR(""), p.user};
    r = weft_agent_run(rule->agent, wb_arena_join(&e->a, parts, WB_LEN(parts)), &turn, err);
    if (turn) {
        to->has_cost = true;
        to->input_tokens = turn->usage.input;
        to->output_tokens = turn->usage.output;
    }
    if (r < 0)
        return r;
    to->text = wb_arena_dup(&e->a, wb_cstr(upp_turn_text(turn)));
    return wb_arena_check(&e->a, err);
}

static WEFT_SUSPENDS int ask_function(struct exchange *e, const struct weft_mux_rule *rule, const struct we_ask *ask,
                                      struct we_replied *to, struct upp_err *err)
{
    struct weft_mux_answer reply = {.text = WB_BUF(WEFT_MUX_REPLY)};
    int r = rule->fn(rule->arg, ask->envelope, &reply, err);
    if (r >= 0)
        to->text = wb_arena_dup(&e->a, wb_buf_str(&reply.text));
    wb_buf_done(&reply.text);
    return r < 0 ? r : wb_arena_check(&e->a, err);
}

static WEFT_SUSPENDS int ask_one(struct exchange *e, const struct we_ask *ask, struct upp_err *err)
{
    const struct weft_mux_rule *rule = rule_of(e->m, ask->agent);
    const struct we_adapter *adapter = NULL;
    struct upp_err failure = {0};
    struct upp_str text;
    struct we_replied to = {.request = we_exchange_request(e->x, ask->id),
                            .agent_id = name_of(rule),
                            .agent_name = name_of(rule),
                            .model = model_name(rule),
                            .foreign = !rule->agent, /* the program's own functions say who they are */
                            .direct = e->m->limits.direct_parents};
    int r;
    if (rule->agent) {
        adapter = we_adapter_for(&e->m->adapters->envelopes.adapters, to.model);
        r = ask_agent(e, rule, ask, adapter, &to, &failure);
    } else
        r = ask_function(e, rule, ask, &to, &failure);
    if (r < 0 && !failure.code)
        (void)upp_fail(&failure, (enum upp_code) - r, "%s", upp_code_text(r));
    if (r == -UPP_ECANCELED) {
        if (err)
            *err = failure;
        return r;
    }
    to.failure = r < 0 ? &failure : NULL;
    to.now_ms = wb_wall_ms();
    r = new_id(e, &e->a, &to.id, err);
    if (r >= 0)
        r = we_take_reply(&e->a, adapter, &to, &text, err);
    return r < 0 ? r : we_exchange_reply(e->x, ask->id, text, err);
}

static WEFT_SUSPENDS int run_exchange(struct exchange *e, const struct we_envelope *ingress, struct upp_str *ret,
                                      struct upp_err *err)
{
    struct we_ask ask;
    size_t n;
    int r = we_exchange_new(&e->a, &e->host, &e->m->limits, ingress, &e->x, err);
    while (r >= 0) {
        r = we_exchange_next(e->x, &ask, 1, &n, err);
        if (r < 0 || !n)
            break;
        r = ask_one(e, &ask, err);
    }
    return r < 0 ? r : we_exchange_answer(e->x, ret, err);
}

/* An envelope with problems is answered by all of them. */
static int answer_problems(struct exchange *e, const struct wd_problems *problems, const struct upp_err *why,
                           struct upp_str *ret, struct upp_err *err)
{
    struct we_error of = {
        .code = upp_code_name(why->code), .text = wb_cstr(why->msg), .problems = problems, .now_ms = wb_wall_ms()};
    int r = new_id(e, &e->a, &of.id, err);
    return r < 0 ? r : we_write_error(&e->a, &of, ret, err);
}

static int give(struct upp_str text, struct upp_str *ret, struct upp_err *err)
{
    char *copy = wb_alloc(text.n + 1);
    if (!copy)
        return upp_fail(err, UPP_ENOMEM, "no memory for an envelope");
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    *ret = wb_str(copy, text.n);
    return 0;
}

int weft_mux_route(struct weft_mux *m, struct upp_str envelope, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wd_problems_done) struct wd_problems problems = {0};
    struct exchange e = {.m = m, .a = WB_ARENA(WE_MEMORY), .host = {.routes = &m->routes}};
    struct we_envelope ingress;
    struct upp_err why = {0};
    struct upp_str text;
    e.host.model_of = model_of;
    e.host.new_id = new_id;
    e.host.now_ms = now_ms;
    e.host.arg = &e;
    int r = we_read_ingress(&e.a, envelope, &m->limits, &problems, &ingress, &why);
    if (r >= 0)
        r = run_exchange(&e, &ingress, &text, err);
    else if (r == -UPP_EINVALID || r == -UPP_ELIMIT)
        r = answer_problems(&e, &problems, &why, &text, err);
    else if (err)
        *err = why;
    if (r >= 0)
        r = give(text, ret, err);
    wb_arena_done(&e.a);
    return r;
}
