/* envelope/exchange_ask.c — the envelopes that an exchange sends: the ingress, the same for a fallback, reflections on
 * a doubted reply, and next actions. */
#include "base/utf8.h"
#include "envelope/exchange_state.h"
#include "json/number.h"
#include "json/value.h"
#include "base/err.h"
#include "envelope/routes.h"

static struct upp_str cut_task(struct upp_str text)
{
    return wb_str_sub(text, 0, wb_utf16_cut(text, WD_ENVELOPE_TASK));
}

/* Tags: those of what it follows from, without the router's own. */

static bool is_ours(struct upp_str tag)
{
    return wb_str_starts(tag, UPP_STR("reflect:")) || wb_str_starts(tag, UPP_STR("actions:")) ||
           wb_str_eq(tag, UPP_STR(WE_FALLBACK));
}

static void add_tags(const struct we_envelope *from, struct upp_str *tags, size_t *n)
{
    yyjson_val *v;
    size_t i, max;
    if (!from)
        return;
    yyjson_arr_foreach(from->tags, i, max, v)
    {
        struct upp_str tag = wj_text_of(v);
        bool have = is_ours(tag);
        for (size_t k = 0; !have && k < *n; k++)
            have = wb_str_eq(tags[k], tag);
        if (!have && *n < WE_MAX_TAGS - 1)
            tags[(*n)++] = tag;
    }
}

static int put_trace(struct we_exchange *x, struct we_draft *d, struct upp_str parent, const struct we_envelope *first,
                     const struct we_envelope *second, struct upp_str tag, struct upp_err *err)
{
    struct upp_str *texts = wb_new_n(x->a, struct upp_str, WE_MAX_TAGS + 1);
    int r = wb_arena_check(x->a, err);
    if (r < 0)
        return r;
    texts[0] = parent;
    d->trace.parents = texts;
    d->trace.n_parents = 1;
    d->trace.tags = texts + 1;
    add_tags(first, texts + 1, &d->trace.n_tags);
    add_tags(second, texts + 1, &d->trace.n_tags);
    if (tag.n)
        texts[1 + d->trace.n_tags++] = tag;
    return x->host->new_id(x->host->arg, x->a, &d->trace.id, err);
}

static struct we_draft begin_draft(const struct we_exchange *x, struct upp_str intent, struct upp_str task)
{
    return (struct we_draft){.role = UPP_STR("system"),
                             .agent_id = UPP_STR(WE_ORCHESTRATOR),
                             .now_ms = x->host->now_ms(x->host->arg),
                             .intent = intent,
                             .task = task,
                             .not_parameter = UPP_STR("target")};
}

/* The content of the message it follows from. A result becomes plain data: a tool_result is never executed. */
static void give_content(struct we_draft *d, const struct we_envelope *of)
{
    bool result = wb_str_eq(of->type, UPP_STR("tool_result"));
    d->type = result ? (of->data ? UPP_STR("json") : UPP_STR("text")) : of->type;
    d->text = of->text;
    d->data = of->data;
    if (!d->text.p && !d->data)
        d->text = UPP_STR("");
}

enum { TAKEN = WE_MAX_CONTEXT + 4 /* bytes of one text: one that is too long shows in the end */ };

static struct upp_str beginning(struct upp_str text)
{
    return wb_str_sub(text, 0, wb_utf8_cut(text, TAKEN));
}

/* A context that is too long says so at its end. */
static int finish_context(struct we_exchange *x, struct wb_buf *b, struct upp_str *ret, struct upp_err *err)
{
    struct upp_str text = wb_buf_str(b), mark = UPP_STR("\n[cut: the context was longer]");
    if (b->failed == -UPP_ENOMEM)
        return wb_buf_check(b, err);
    *ret = (struct upp_str){0};
    if (b->failed || text.n > WE_MAX_CONTEXT) {
        struct upp_str parts[] = {wb_str_sub(text, 0, wb_utf8_cut(text, WE_MAX_CONTEXT - mark.n)), mark};
        *ret = wb_arena_join(x->a, parts, WB_LEN(parts));
    } else if (text.n)
        *ret = wb_arena_dup(x->a, text);
    return wb_arena_check(x->a, err);
}

static void add_line(struct wb_buf *b, struct upp_str text)
{
    if (!text.n)
        return;
    if (b->n)
        wb_buf_addc(b, '\n');
    wb_buf_add(b, beginning(text));
}

static void add_doubt(struct wb_buf *b, const struct we_envelope *doubted)
{
    yyjson_val *confidence = yyjson_obj_get(doubted->root, "confidence"), *v;
    struct upp_str rationale = wj_text_at(confidence, "rationale");
    char score[WJ_NUM_MAX];
    size_t i, n, len = wj_num_format(doubted->score, score);
    add_line(b, UPP_STR("The answer's confidence is "));
    wb_buf_add(b, wb_str(score, len));
    if (rationale.n) {
        wb_buf_add(b, UPP_STR(": "));
        wb_buf_add(b, beginning(rationale));
    }
    yyjson_arr_foreach(yyjson_obj_get(confidence, "risks"), i, n, v)
    {
        add_line(b, UPP_STR("Risk: "));
        wb_buf_add(b, beginning(wj_text_of(v)));
    }
}

static int reflection_context(struct we_exchange *x, const struct we_envelope *asked, const struct we_envelope *doubted,
                              struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(4 * WE_MAX_CONTEXT);
    add_line(&b, asked->context);
    if (asked->text.n && !wb_str_eq(asked->text, asked->task))
        add_line(&b, asked->text);
    add_doubt(&b, doubted);
    return finish_context(x, &b, ret, err);
}

static int write_reflection(struct we_exchange *x, struct we_node *n, struct upp_str *ret, struct upp_err *err)
{
    const struct we_envelope *asked = n->chain->first, *doubted = &n->before->reply;
    const struct upp_str head[] = {UPP_STR("Check the answer below and give a better one to: "), asked->task};
    struct we_draft d = begin_draft(x, we_intent_name(WE_REFLECT), cut_task(wb_arena_join(x->a, head, 2)));
    d.resources = asked->resources;
    d.parameters = asked->parameters;
    give_content(&d, doubted);
    int r = reflection_context(x, asked, doubted, &d.context, err);
    if (r >= 0)
        r = put_trace(x, &d, doubted->id, asked, doubted, n->same_model ? UPP_STR(WE_SAME_MODEL) : (struct upp_str){0},
                      err);
    return r < 0 ? r : we_write(x->a, &d, ret, err);
}

/* "plan price_tracker_plan: 1) Collect URLs": what the producer made, with its text or its place. */
static void add_artifacts(struct wb_buf *b, yyjson_val *artifacts)
{
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(artifacts, i, n, v)
    {
        struct upp_str text = wj_text_at(v, "inline"), uri = wj_text_at(v, "uri");
        add_line(b, wj_text_at(v, "kind"));
        wb_buf_addc(b, ' ');
        wb_buf_add(b, wj_text_at(v, "name"));
        wb_buf_add(b, UPP_STR(": "));
        wb_buf_add(b, text.p ? beginning(text) : uri);
    }
}

static int write_action(struct we_exchange *x, struct we_node *n, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(4 * WE_MAX_CONTEXT);
    const struct we_envelope *from = n->chain->producer, *asked = n->chain->asked;
    struct we_draft d = begin_draft(x, wj_text_at(n->chain->action, "intent"), wj_text_at(n->chain->action, "task"));
    d.not_parameter = (struct upp_str){0}; /* an action of intent route may name its target */
    d.parameters = yyjson_obj_get(n->chain->action, "args");
    d.resources = asked && asked->resources ? asked->resources : from->resources;
    give_content(&d, from);
    add_line(&b, asked ? asked->context : from->context);
    add_artifacts(&b, from->artifacts);
    int r = finish_context(x, &b, &d.context, err);
    if (r >= 0)
        r = put_trace(x, &d, from->id, asked, from, (struct upp_str){0}, err);
    return r < 0 ? r : we_write(x->a, &d, ret, err);
}

/* The ingress, and the same request for another agent. */

static int write_first(struct we_exchange *x, struct upp_str *ret, struct upp_err *err)
{
    struct upp_str id;
    *ret = x->ingress->json;
    if (x->ingress->id.n)
        return 0;
    int r = x->host->new_id(x->host->arg, x->a, &id, err);
    return r < 0 ? r : we_retrace(x->a, x->ingress, id, NULL, 0, NULL, 0, ret, err);
}

static int write_fallback(struct we_exchange *x, struct we_node *n, struct upp_str *ret, struct upp_err *err)
{
    static const struct upp_str tag = UPP_STR_INIT(WE_FALLBACK);
    const struct we_node *failed = n->before;
    struct upp_str id;
    const struct upp_str *parent = failed->reply.id.n ? &failed->reply.id : &failed->request.id;
    int r = x->host->new_id(x->host->arg, x->a, &id, err);
    return r < 0 ? r : we_retrace(x->a, &failed->request, id, parent, 1, &tag, 1, ret, err);
}

int we_ask_write(struct we_exchange *x, struct we_node *n, struct upp_str *ret, struct upp_err *err)
{
    switch (n->kind) {
    case WE_ASK_FALLBACK:
        return write_fallback(x, n, ret, err);
    case WE_ASK_REFLECTION:
        return write_reflection(x, n, ret, err);
    case WE_ASK_ACTION:
        return write_action(x, n, ret, err);
    default:
        return write_first(x, ret, err);
    }
}

static bool was_tried(const struct we_chain *c, struct upp_str agent)
{
    for (size_t i = 0; i < c->n_tried; i++)
        if (wb_str_eq(c->tried[i], agent))
            return true;
    return false;
}

static struct upp_str model_of(const struct we_exchange *x, struct upp_str agent)
{
    return x->host->model_of(x->host->arg, agent);
}

static bool usable(const struct we_exchange *x, const struct we_chain *c, struct upp_str agent)
{
    return !was_tried(c, agent) && c->n_tried < WE_MAX_TRIED && model_of(x, agent).p;
}

static int take(struct we_node *n, struct upp_str agent, const struct we_rule *rule, struct upp_str why)
{
    n->agent = agent;
    n->rule = rule;
    n->why = why;
    n->chain->tried[n->chain->n_tried++] = agent;
    return 0;
}

int we_pick(struct we_exchange *x, struct we_node *n, const struct we_envelope *e, struct upp_err *err)
{
    struct we_choice choice;
    struct we_chain *c = n->chain;
    int r = we_route(x->a, x->host->routes, e, (struct upp_str){0}, &choice, err);
    if (r < 0)
        return r;
    if (usable(x, c, choice.agent))
        return take(n, choice.agent, choice.rule, choice.why);
    for (size_t i = 0; choice.rule && i < choice.rule->n_fallbacks; i++)
        if (usable(x, c, choice.rule->fallbacks[i]))
            return take(n, choice.rule->fallbacks[i], choice.rule, UPP_STR("a fallback of the rule"));
    return upp_fail(err, UPP_ENOTFOUND, "the agent %.*s is not there, and no fallback is", UPP_FMT(choice.agent));
}

/* Reflections: on a model other than the one that wrote it. */

/* Ruling 5: the names, trimmed and folded. */
static bool same_model(struct upp_str a, struct upp_str b)
{
    return wb_str_eq_nocase(wb_str_trim(a), wb_str_trim(b));
}

struct search {
    struct we_exchange *x;
    struct we_node *n;
    struct upp_str writer; /* the model */
};

static bool differs(const struct search *s, struct upp_str agent)
{
    return usable(s->x, s->n->chain, agent) && !same_model(model_of(s->x, agent), s->writer);
}

/* Of the agents of one rule, the first that differs; NULL text: none. */
static struct upp_str among(const struct search *s, const struct we_rule *r)
{
    for (size_t i = 0; i < r->n_targets; i++)
        if (differs(s, r->targets[i].agent))
            return r->targets[i].agent;
    for (size_t i = 0; i < r->n_fallbacks; i++)
        if (differs(s, r->fallbacks[i]))
            return r->fallbacks[i];
    return (struct upp_str){0};
}

static struct upp_str elsewhere(const struct search *s)
{
    const struct we_routes *routes = s->x->host->routes;
    struct upp_str found = {0};
    for (size_t i = 0; !found.p && i < routes->n; i++)
        found = among(s, &routes->rules[i]);
    return found;
}

int we_pick_reflector(struct we_exchange *x, struct we_node *n, const struct we_envelope *doubted,
                      struct upp_str writer, struct upp_err *err)
{
    struct search s = {.x = x, .n = n, .writer = writer};
    struct we_envelope as = *doubted; /* the rules see the doubted message, as one to reflect on */
    struct we_choice choice = {0};
    struct upp_str other;
    as.intent = WE_REFLECT;
    int r = we_route(x->a, x->host->routes, &as, (struct upp_str){0}, &choice, err);
    if (r < 0)
        return r;
    if (differs(&s, choice.agent))
        return take(n, choice.agent, choice.rule, UPP_STR("reflects: another model than the one that wrote it"));
    other = among(&s, choice.rule);
    if (other.p)
        return take(n, other, choice.rule, UPP_STR("reflects: the rule's other agent, of another model"));
    other = elsewhere(&s);
    if (other.p)
        return take(n, other, choice.rule, UPP_STR("reflects: an agent of another rule, of another model"));
    if (!usable(x, n->chain, choice.agent))
        return upp_fail(err, UPP_ENOTFOUND, "no agent is left to reflect");
    n->same_model = true;
    return take(n, choice.agent, choice.rule, UPP_STR("reflects: there is no other model"));
}
