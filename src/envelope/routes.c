/* envelope/routes.c — the rule that an envelope fits, and the agent it goes to. */
#include "envelope/routes.h"
#include "base/err.h"
#include "envelope/adapter.h"
#include "json/value.h"
#include "json/number.h"
#include "base/utf8.h"

static bool has_tags(const struct we_when *w, const struct we_envelope *e)
{
    for (size_t i = 0; i < w->n_tags; i++)
        if (!we_has_tag(e, w->tags[i]))
            return false;
    return true;
}

static uint64_t cost_of(const struct we_envelope *e)
{
    return e->input_tokens > UINT64_MAX - e->output_tokens ? UINT64_MAX : e->input_tokens + e->output_tokens;
}

/* Does the rule fit this envelope, taken as one of this intent? */
static enum we_unfit rule_fits(const struct we_rule *r, const struct we_envelope *e, int intent)
{
    const struct we_when *w = &r->when;
    if (intent < 0 || !(r->intents & 1u << intent))
        return WE_UNFIT_INTENT;
    if (!r->conditional)
        return WE_FITS;
    if (w->role.n && !wb_str_eq(w->role, e->role))
        return WE_UNFIT_ROLE;
    if (w->agent.n && !(e->agent_id.n && we_glob(w->agent, e->agent_id)))
        return WE_UNFIT_AGENT;
    if (w->type.n && !wb_str_eq(w->type, e->type))
        return WE_UNFIT_TYPE;
    if (!has_tags(w, e))
        return WE_UNFIT_TAGS;
    if ((w->has_below || w->has_above) && !e->has_score)
        return WE_UNFIT_NO_SCORE;
    if ((w->has_below && !(e->score < w->below)) || (w->has_above && !(e->score > w->above)))
        return WE_UNFIT_SCORE;
    if (w->has_cost && cost_of(e) <= w->cost_above)
        return WE_UNFIT_COST;
    return WE_FITS;
}

/* FNV-1a's high bits differ little between ids that end alike: they are mixed once more. */
static uint64_t spread(struct upp_str id)
{
    uint64_t h = wb_str_hash(id);
    h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
    return h ^ h >> 33;
}

static struct upp_str choose(const struct we_rule *r, struct upp_str id)
{
    uint64_t sum = 0, at;
    if (r->n_targets == 1)
        return r->targets[0].agent;
    for (size_t i = 0; i < r->n_targets; i++)
        sum += r->targets[i].weight;
    at = sum ? spread(id) % sum : 0;
    for (size_t i = 0; i < r->n_targets; i++) {
        if (at < r->targets[i].weight)
            return r->targets[i].agent;
        at -= r->targets[i].weight;
    }
    return r->targets[0].agent;
}

/* Is this an agent that rules name, or that may be a target? */
static bool has_agent(const struct we_routes *routes, struct upp_str agent)
{
    for (size_t i = 0; i < routes->n_agents; i++)
        if (wb_str_eq(routes->agents[i], agent))
            return true;
    for (size_t i = 0; !routes->agents && i < routes->n; i++) {
        const struct we_rule *r = &routes->rules[i];
        for (size_t k = 0; k < r->n_targets; k++)
            if (wb_str_eq(r->targets[k].agent, agent))
                return true;
        for (size_t k = 0; k < r->n_fallbacks; k++)
            if (wb_str_eq(r->fallbacks[k], agent))
                return true;
    }
    return false;
}

/* The first rule that fits; NULL: none. */
static const struct we_rule *find_rule(const struct we_routes *routes, const struct we_envelope *e, int intent)
{
    for (size_t i = 0; i < routes->n; i++)
        if (routes->rules[i].n_targets && rule_fits(&routes->rules[i], e, intent) == WE_FITS)
            return &routes->rules[i];
    return NULL;
}

static int no_route(const struct we_envelope *e, struct upp_err *err)
{
    return upp_fail(err, UPP_ENOTFOUND, "no rule fits the intent %.*s, and there is none for reflect",
                    UPP_FMT(e->intent_name));
}

int we_route(struct wb_arena *a, const struct we_routes *routes, const struct we_envelope *e, struct upp_str id,
             struct we_choice *ret, struct upp_err *err)
{
    struct upp_str target = wj_text_at(e->parameters, "target");
    const struct we_rule *rule = NULL;
    int intent = e->intent;
    const char *why = "by the rule of its intent";
    if (intent == WE_ROUTE && target.n) {
        char quoted[WJ_QUOTED];
        if (!has_agent(routes, target))
            return upp_fail(err, UPP_ENOTFOUND, "there is no agent %s to route to",
                            wj_quote(target, quoted, sizeof quoted));
        *ret =
            (struct we_choice){.agent = wb_arena_dup(a, target), .why = UPP_STR("named by inputs.parameters.target")};
        return wb_arena_check(a, err);
    }
    rule = find_rule(routes, e, intent);
    if (!rule && intent == WE_ROUTE && (rule = find_rule(routes, e, WE_PLAN)))
        why = "route without a target goes to the agent of plan";
    if (!rule && (rule = find_rule(routes, e, WE_REFLECT)))
        why = "no rule fits its intent: it goes to reflect";
    if (!rule)
        return no_route(e, err);
    *ret = (struct we_choice){.rule = rule,
                              .number = (size_t)(rule - routes->rules),
                              .agent = choose(rule, id.n ? id : e->id),
                              .why = wb_cstr(why)};
    return 0;
}

static void add_number(struct wb_buf *out, double v)
{
    char text[WJ_NUM_MAX];
    size_t n = wj_num_format(v, text);
    wb_buf_add(out, wb_str(text, n));
}

static void add_list(struct wb_buf *out, const struct upp_str *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(out, "%s%.*s", i ? ", " : "", UPP_FMT(list[i]));
}

static void add_intents(struct wb_buf *out, uint32_t intents)
{
    const char *between = "";
    for (int i = 0; i < WE_INTENTS; i++)
        if (intents & 1u << i) {
            wb_buf_addf(out, "%s%.*s", between, UPP_FMT(we_intent_name(i)));
            between = ", ";
        }
}

static void add_conditions(struct wb_buf *out, const struct we_when *w)
{
    if (w->role.n)
        wb_buf_addf(out, ", role %.*s", UPP_FMT(w->role));
    if (w->agent.n)
        wb_buf_addf(out, ", agent %.*s", UPP_FMT(w->agent));
    if (w->type.n)
        wb_buf_addf(out, ", type %.*s", UPP_FMT(w->type));
    if (w->n_tags) {
        wb_buf_add(out, UPP_STR(", tags "));
        add_list(out, w->tags, w->n_tags);
    }
    if (w->has_below) {
        wb_buf_add(out, UPP_STR(", confidence below "));
        add_number(out, w->below);
    }
    if (w->has_above) {
        wb_buf_add(out, UPP_STR(", confidence above "));
        add_number(out, w->above);
    }
    if (w->has_cost)
        wb_buf_addf(out, ", cost above %llu", (unsigned long long)w->cost_above);
}

static void add_rule(struct wb_buf *out, const struct we_rule *r, size_t i)
{
    wb_buf_addf(out, "rule %zu", i + 1);
    if (r->line)
        wb_buf_addf(out, " (line %u)", r->line);
    else
        wb_buf_add(out, UPP_STR(" (default)"));
    wb_buf_add(out, UPP_STR(": "));
    add_intents(out, r->intents);
    add_conditions(out, &r->when);
    wb_buf_add(out, UPP_STR(" -> "));
    for (size_t k = 0; k < r->n_targets; k++) {
        wb_buf_addf(out, "%s%.*s", k ? ", " : "", UPP_FMT(r->targets[k].agent));
        if (r->n_targets > 1)
            wb_buf_addf(out, " (weight %u)", r->targets[k].weight);
    }
    if (r->n_fallbacks) {
        wb_buf_add(out, UPP_STR(", else "));
        add_list(out, r->fallbacks, r->n_fallbacks);
    }
    wb_buf_addc(out, '\n');
}

static void add_verdict(struct wb_buf *out, const struct we_rule *r, const struct we_envelope *e, bool taken)
{
    enum we_unfit why = rule_fits(r, e, e->intent);
    wb_buf_add(out, UPP_STR("    "));
    switch (why) {
    case WE_FITS:
        wb_buf_add(out, taken ? UPP_STR("fits: taken") : UPP_STR("fits, but an earlier one was taken"));
        break;
    case WE_UNFIT_INTENT:
        wb_buf_addf(out, "does not fit: the intent is %.*s", UPP_FMT(e->intent_name));
        break;
    case WE_UNFIT_ROLE:
        wb_buf_addf(out, "does not fit: the role is %.*s", UPP_FMT(e->role));
        break;
    case WE_UNFIT_AGENT:
        if (e->agent_id.n)
            wb_buf_addf(out, "does not fit: the agent is %.*s", UPP_FMT(e->agent_id));
        else
            wb_buf_add(out, UPP_STR("does not fit: it names no agent"));
        break;
    case WE_UNFIT_TYPE:
        wb_buf_addf(out, "does not fit: the content's type is %.*s", UPP_FMT(e->type));
        break;
    case WE_UNFIT_TAGS:
        wb_buf_add(out, UPP_STR("does not fit: it does not have all tags"));
        break;
    case WE_UNFIT_NO_SCORE:
        wb_buf_add(out, UPP_STR("does not fit: it has no confidence.score"));
        break;
    case WE_UNFIT_SCORE:
        wb_buf_add(out, UPP_STR("does not fit: its confidence is "));
        add_number(out, e->score);
        break;
    case WE_UNFIT_COST:
        wb_buf_addf(out, "does not fit: its cost is %llu",
                    (unsigned long long)e->input_tokens + (unsigned long long)e->output_tokens);
        break;
    }
    wb_buf_addc(out, '\n');
}

int we_explain(const struct we_routes *routes, const struct we_envelope *e, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct we_choice choice = {0};
    int r = we_route(&a, routes, e, (struct upp_str){0}, &choice, err);
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    for (size_t i = 0; i < routes->n; i++) {
        add_rule(out, &routes->rules[i], i);
        add_verdict(out, &routes->rules[i], e, r >= 0 && choice.rule == &routes->rules[i]);
    }
    if (we_is_result(e))
        wb_buf_add(out, UPP_STR("it is the result of a call: it is not executed again\n"));
    if (r >= 0)
        wb_buf_addf(out, "agent: %.*s (%.*s)\n", UPP_FMT(choice.agent), UPP_FMT(choice.why));
    else if (err)
        wb_buf_addf(out, "no route: %s\n", err->msg);
    int full = wb_buf_check(out, NULL);
    return full < 0 ? wb_buf_check(out, err) : r;
}

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool we_glob(struct upp_str pattern, struct upp_str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, from = 0; /* star: the last '*' seen; from: where its text ends at least */
    while (t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.n && pattern.p[p] == '?') {
            uint32_t c;
            size_t n = wb_wtf8_decode(text, t, &c);
            t += n ? n : 1;
            p++;
        } else if (p < pattern.n && fold(pattern.p[p]) == fold(text.p[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++from;
        } else
            return false;
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}
